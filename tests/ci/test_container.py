"""The image: read line by line where there is no builder; built, measured and run where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT
from shipworthy.cli import COMMANDS

yaml = pytest.importorskip("yaml")
LARGEST = 150_000_000  # bytes


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    return found[max(at for at, (word, _) in enumerate(found) if word == "FROM") :]


def test_it_ends_as_a_user_without_rights_and_runs_a_command_that_there_is() -> None:
    stage = dict(last_stage())
    assert re.fullmatch(r"[1-9]\d*", stage["USER"]), "a number, so that Kubernetes can see that it is not root"
    assert json.loads(stage["ENTRYPOINT"]) == ["shipworthy"]
    assert json.loads(stage["CMD"])[0] in COMMANDS and "serve" in COMMANDS
    words = [word for word, _ in last_stage()]
    assert words.index("USER") > max(at for at, word in enumerate(words) if word in ("RUN", "COPY"))


def test_nothing_is_compiled_and_no_build_tools_stay() -> None:
    every = " ".join(value for word, value in instructions() if word == "RUN")
    assert "--only-binary=:all:" in every and "--no-cache-dir" in every
    assert not re.search(r"\b(apk|apt-get|apt|gcc|make|curl|wget|sudo)\b", every)
    assert not any("pip" in value for word, value in last_stage() if word == "RUN")
    assert not [word for word, _ in instructions() if word in ("ADD", "VOLUME", "SHELL")]
    assert not re.search(
        r"(?i)(token|password|secret|key)=", " ".join(value for word, value in instructions() if word in ("ENV", "ARG"))
    )


def test_bases_are_pinned_and_run_a_python_that_the_package_supports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bases = [value.split()[0] for word, value in instructions() if word == "FROM"]
    assert len(set(bases)) == 1, "wheels are for the base that they were chosen on"
    version = re.fullmatch(r"python:(3\.\d+)-alpine", bases[0])
    assert version and f"Programming Language :: Python :: {version[1]}" in project["classifiers"]
    extras = re.search(r"whl\)\[([\w,]+)\]", " ".join(value for _, value in instructions()))
    assert extras and set(extras[1].split(",")) <= set(project["optional-dependencies"])


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*", (
        "all but what is named stays out: histories and traces of a checkout are nobody's business"
    )
    for word, value in instructions():
        if word == "COPY" and not value.startswith("--from"):
            for name in value.split()[:-1]:
                assert (ROOT / name).exists() and f"!{name}" in ignored, name


def test_snippets_and_hooks() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    azure = yaml.safe_load(re.search(r"```yaml\n(# azure-pipelines.yml.*?)```", page, re.DOTALL)[1])
    assert [step["condition"] for step in azure["steps"][-2:]] == ["succeededOrFailed()"] * 2
    for command in re.findall(r"shipworthy (check|serve) ([^\n'\"]*)", page):
        assert command[0] in COMMANDS
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert set(action["branding"]) == {"icon", "color"}
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")):
        seen = [
            name
            for name in ("gold.csv", "eval/gold.jsonl", "gold_de.csv", "golden/trace.csv")
            if re.search(hook["files"], name)
        ]
        assert seen == ["gold.csv", "eval/gold.jsonl", "gold_de.csv"]


def test_the_hook_reads_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.csv").write_text(
        "qid,question,answerable,gold_claim_substr\nQ1,How long?,true,30 days\nQ1,Who?,perhaps,\n"
    )
    ran = cli("gold", "lint", "gold.csv")
    assert ran.code and "gold.csv" in ran.out + ran.err


@pytest.mark.slow
def test_a_linter_has_no_complaint() -> None:
    linter = ROOT / ".bench" / "hadolint" / "bin" / "hadolint"
    if not (ROOT / ".bench" / "hadolint" / "ready").exists():
        pytest.skip(
            "hadolint is not installed in .bench/hadolint; `python benchmarks/environments.py hadolint` does that"
        )
    ran = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stdout


@pytest.mark.slow
def test_every_dependency_has_a_wheel_for_the_base_and_all_of_it_is_small(tmp_path: Path) -> None:
    every = " ".join(value for _, value in instructions())
    extras = re.search(r"whl\)(\[[\w,]+\])", every)
    version = re.search(r"python:(3\.\d+)-alpine", every)
    assert extras and version
    musl = ("--platform", "musllinux_1_2_x86_64", "--platform", "musllinux_1_1_x86_64")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--target", str(tmp_path)]
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        f"{tmp_path}/wheel",
        str(ROOT),
    ]
    subprocess.run(wheel, check=True)
    (built,) = (tmp_path / "wheel").iterdir()
    ran = subprocess.run(
        [*command, *musl, "--python-version", version[1], f"{built}{extras[1]}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode and "No matching distribution" not in ran.stderr:
        pytest.skip(f"the registry can't be reached: {ran.stderr[-200:]}")
    assert not ran.returncode, ran.stderr
    base = 60_000_000  # bytes of the base image, on the safe side
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) + base <= LARGEST


def has_builder() -> bool:
    return (
        bool(shutil.which("docker"))
        and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    )


@pytest.mark.slow
def test_the_image_builds_is_small_and_scores(tmp_path: Path) -> None:
    if not has_builder():
        pytest.skip("there is no container builder here")
    name = "shipworthy-test"
    subprocess.run(["docker", "build", "--quiet", "--tag", name, str(ROOT)], check=True, timeout=900)
    size = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Size}}", name], capture_output=True, check=True
    )
    assert int(size.stdout) <= LARGEST
    hello = ROOT / "examples" / "hello"
    command = ["docker", "run", "--rm", "--network", "none", "-v", f"{hello}:/project:ro", name]
    ran = subprocess.run(
        [*command, "score", "--gold", "gold.jsonl", "--trace", "trace.jsonl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0 and ran.stdout.startswith("SHIP"), ran.stderr
    tools = subprocess.run(
        [*command[:-1], "--entrypoint", "sh", name, "-c", "id -u; command -v gcc make"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert tools.stdout.split() == ["10001"]
