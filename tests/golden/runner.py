"""The golden cases: how they are listed, run through the command line, and made the same on every machine."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from shipworthy.cli import main

HERE = Path(__file__).parent
INPUTS, EXPECTED, CASES = HERE / "inputs", HERE / "expected", HERE / "cases.toml"
REPORTS = ("report.json", "items.tsv", "report.md", "junit.xml")
FIXED = {
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "SOURCE_DATE_EPOCH": "1767225600",
    "GITHUB_SHA": "c0ffee" * 6 + "c0de",
    "GITHUB_REF_NAME": "main",
}
# how click calls the program that it is in: make.py, pytest, python -m pytest
PROGRAM = re.compile(
    r"^(Usage: |Try ').*?(?= (?:score|stability|latency|retrieval|agreement|reason|outcomes|check)\b)", re.M
)
WIDTH = 240  # of a line of JSON
UNSET = ("FORCE_COLOR", "GITHUB_HEAD_REF", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI", "SHIPWORTHY_HISTORY")


class Case(NamedTuple):
    """One call of the command line; paths are relative to `inputs/`, and {out} is a folder for what it writes."""

    name: str
    run: str
    html: bool = False  # also keep the page and the annotations for GitHub
    plain: bool = False  # a command without -o: keep what it prints, and nothing else


class Ran(NamedTuple):
    """How a call ended and what it said."""

    code: int
    out: str
    err: str


def load_cases() -> list[Case]:
    """The cases of cases.toml, in its order."""
    return [Case(**entry) for entry in tomllib.loads(CASES.read_text("utf-8"))["case"]]


def call(*args: str, cwd: Path = INPUTS) -> Ran:
    """Run the command line in this process, as if its output went into a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    code = 0
    with _surroundings(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(args))
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Ran(code, *(_written(stream) for stream in (out, err)))


def produce(case: Case) -> dict[str, str]:
    """Everything that a case writes, file name → text, normalised."""
    with tempfile.TemporaryDirectory() as folder:
        args = shlex.split(case.run.replace("{out}", folder))
        wanted = () if case.plain else (*REPORTS, *(["report.html"] if case.html else []))
        flags = [part for name in wanted for part in ("-o", os.path.join(folder, name))]
        ran = call(*args, *flags)
        files = {"exit": f"{ran.code}\n{ran.err}", "out.txt": ran.out}
        if case.html:
            files["github.txt"] = call(*args, "--format", "github").out
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                files[path.relative_to(folder).as_posix()] = path.read_bytes().decode("utf-8")
        return {name: normalised(name, text, folder) for name, text in sorted(files.items()) if text}


def expected(case: Case) -> dict[str, str]:
    """The files that the case should write."""
    folder = EXPECTED / case.name
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8") for path in found}


def rewrite(case: Case) -> None:
    """Take what the case writes now as what it should write."""
    folder, files = EXPECTED / case.name, produce(case)
    for name in expected(case).keys() - files.keys():
        (folder / name).unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


def normalised(name: str, text: str, folder: str) -> str:
    """The text without what depends on the machine or on the release: folders, the `run` block, the version."""
    if name.endswith(".json"):
        text = _laid_out(_without_runs(json.loads(text))) + "\n"
    if name.endswith(".html"):
        text = _bare_page(text)
    if name == "exit":
        text = PROGRAM.sub(r"\1shipworthy", text)
    for place, sign in ((folder, "{out}"), (str(INPUTS), "{inputs}"), (str(HERE.parents[1]), "{root}")):
        text = text.replace(place, sign)
    return text


def _without_runs(body: dict[str, Any]) -> dict[str, Any]:
    """A report, and each suite's report on a board, without `run`: clocks, paths and versions, outside the digest."""
    suites = {name: _without_runs(suite) for name, suite in body.get("suites", {}).items()}
    kept = {name: value for name, value in body.items() if name != "run"}
    return kept | {"suites": suites} if suites else kept


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON for people and for diffs: what fits into a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(one, inner)}" for name, one in value.items()]
        start, end = "{", "}"
    else:
        parts = [_laid_out(one, inner) for one in value]
        start, end = "[", "]"
    return start + "".join(f"\n{inner}{part}," for part in parts).rstrip(",") + f"\n{indent}{end}"


def _bare_page(page: str) -> str:
    """A page without its styles, its scripts, their digests and the version that made it."""
    page = re.sub(r"(<(style|script)\b[^>]*>).*?(</\2>)", r"\1…\3", page, flags=re.DOTALL)
    page = re.sub(r"sha256-[\w+/]+=*", "sha256-…", page)
    return page.replace(f"shipworthy {_version()}", "shipworthy VERSION")


@cache
def _version() -> str:
    return call("--version").out.split()[-1]


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


@contextmanager
def _surroundings(cwd: Path) -> Iterator[None]:
    """The same folder and environment for every call; both are put back."""
    before, environment = Path.cwd(), dict(os.environ)
    for name in UNSET:
        os.environ.pop(name, None)
    os.environ.update(FIXED)
    os.chdir(cwd)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
