"""The scripts of the action, run as they are by bash, with inputs of a stranger's choice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from shipworthy.config import load_config
from shipworthy.config.starter import write_starter, write_workflow
from waiting import wait_until

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a\ntouch pwned\n",
    "${{ github.token }}",
    "--help",
    "-o/etc/passwd",
    "a b.toml",
    "*",
]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout, and a PATH on which `shipworthy` is this package and `gh` writes down how it was called."""
    write_starter(tmp_path)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    program(bin_ / "shipworthy", f'exec "{sys.executable}" -m shipworthy "$@"')
    program(
        bin_ / "gh",
        f'printf "%s\\n" "$@" >>"{tmp_path}/gh.log"; printf -- "--\\n" >>"{tmp_path}/gh.log"\n'
        f'if [ -e "{tmp_path}/forbidden" ]; then exit 1; fi\n'
        f'case "$*" in *--paginate*) cat "{tmp_path}/known" 2>/dev/null;; esac; exit 0',
    )
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def script(job: Path, name: str, **given: str) -> subprocess.CompletedProcess[str]:
    known = {
        "PATH": f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "RUNNER_TEMP": str(job),
        "GITHUB_OUTPUT": str(job / "output"),
        "GITHUB_ACTION_PATH": str(ROOT),
        **given,
    }
    command = ["bash", str(ROOT / "ci" / name)]
    return subprocess.run(command, cwd=job, env=known, capture_output=True, text=True, check=False, timeout=60)


def outputs(job: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (job / "output").read_text().splitlines())


def break_answers(job: Path) -> None:
    path = job / "eval" / "trace.jsonl"
    traces = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for trace in traces:
        trace["answer_json"]["claim"] = "nobody knows"
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces))


def test_a_check_that_ships(job):
    done = script(job, "check.sh")
    assert done.returncode == 0, done.stderr
    told = outputs(job)
    assert (told["decision"], told["exit-code"]) == ("SHIP", "0")
    files = {path.name for path in Path(told["reports"]).iterdir()}
    assert files == {"report.html", "report.json", "junit.xml", "comment.md", "badge.svg", "metrics.prom"}


def test_a_check_that_does_not_ship_still_leaves_its_reports(job):
    break_answers(job)
    done = script(job, "check.sh")
    assert done.returncode == 1
    assert outputs(job)["decision"] == "NO-SHIP"
    assert (Path(outputs(job)["reports"]) / "report.html").exists()


SERVICE = """
import http.server, json, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(405)
    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        open("requests", "a").write("x")
        text = ("It takes nine days." if os.path.exists("bad") else "It takes 3 days.") if "long" in question else (
            "It is blue." if "colour is it" in question else "not in context")
        reply = json.dumps({"answer": text, "sources": [{"id": "d1"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)
    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
QUESTIONS = [
    {"qid": "A", "question": "How long?", "answerable": True, "gold_claim_substr": ["3 days"]},
    {"qid": "B", "question": "What colour is it?", "answerable": True, "gold_claim_substr": ["blue"]},
    {"qid": "U", "question": "Who?", "answerable": False},
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """An empty checkout with a gold set and a service that does not run yet; what was started is ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "service.py").write_text(SERVICE)
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    yield tmp_path, str(port)
    if (tmp_path / "service.pid").exists():
        os.kill(int((tmp_path / "service.pid").read_text()), signal.SIGTERM)


def _listens(port: str) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", int(port))) == 0


def step(folder: Path, port: str, **given: str) -> subprocess.CompletedProcess[str]:
    """The step of the written workflow that starts the service, with the command that a user fills in."""
    workflow = yaml.safe_load((folder / ".github/workflows/shipworthy.yml").read_text("utf-8"))
    start = next(one for one in workflow["jobs"]["gate"]["steps"] if one.get("name") == "Start the service")
    assert start["env"]["SERVICE"] == f"http://127.0.0.1:{port}/" and start["env"]["START"] == ""
    env = {**os.environ, **start["env"], **given}
    return subprocess.run(
        ["bash", "-e", "-c", start["run"]], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_workflow_of_a_connected_service_gates_a_pull_request_from_the_start(service, cli):
    folder, port = service
    command = f'echo $$ >service.pid; exec "{sys.executable}" service.py {port}'
    started = subprocess.Popen([sys.executable, "service.py", port], cwd=folder)
    try:
        wait_until(lambda: _listens(port))
        asked = cli("init", folder, "--url", f"http://127.0.0.1:{port}/ask")
    finally:
        started.terminate()
        started.wait()
    assert asked.code == 0 and "shipworthy baseline save" in asked.out, asked.err
    told = step(folder, port)
    assert told.returncode == 1 and "Set START in .github/workflows/shipworthy.yml" in told.stdout
    assert step(folder, port, START=command).returncode == 0

    (folder / "requests").unlink()
    program_ = folder / "bin"
    program_.mkdir()
    program(program_ / "shipworthy", f'exec "{sys.executable}" -m shipworthy "$@"')
    job = yaml.safe_load((folder / ".github/workflows/shipworthy.yml").read_text("utf-8"))["jobs"]["gate"]
    given = job["steps"][-1]["with"]
    inputs = {"SHIPWORTHY_RUN": given["run"], "SHIPWORTHY_BASELINE": given["baseline"]}
    assert job["steps"][-1]["uses"].startswith("shipworthy/shipworthy@") and "env" not in job

    early = script(folder, "check.sh", **inputs)
    assert early.returncode == 2 and "shipworthy baseline save baseline.json" in early.stderr
    assert not (folder / "requests").exists()  # nothing was sent

    config = folder / "shipworthy.toml"
    assert cli("check", "--config", config, "--run").code in (0, 1)
    assert cli("baseline", "save", folder / "baseline.json", "--config", config).code == 0
    same = script(folder, "check.sh", **inputs)
    assert "regressed" not in same.stdout and (folder / "requests").read_text() == "xxx" * 2
    (folder / "bad").touch()
    worse = script(folder, "check.sh", **inputs)
    assert worse.returncode == 1 and outputs(folder)["decision"] == "NO-SHIP"
    comment = (Path(outputs(folder)["reports"]) / "comment.md").read_text("utf-8")
    assert "passed before" in comment and "`A`" in comment


def test_the_workflow_of_a_service_elsewhere_starts_nothing_and_has_its_secrets(tmp_path):
    (tmp_path / "shipworthy.toml").write_text(
        '[target]\nurl = "https://user@rag.example.com:8443/ask?key=${KEY}"\n'
        'headers = { "Authorization" = "Bearer ${RAG_TOKEN}", "X-Other" = "${RAG_TOKEN}" }\n'
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
    )
    path, created = write_workflow(load_config(tmp_path / "shipworthy.toml"))
    job = yaml.safe_load(Path(path).read_text("utf-8"))["jobs"]["gate"]
    assert created and [one["uses"] for one in job["steps"]] == ["actions/checkout@v4", "shipworthy/shipworthy@v0"]
    assert job["env"] == {"KEY": "${{ secrets.KEY }}", "RAG_TOKEN": "${{ secrets.RAG_TOKEN }}"}
    assert "rag.example.com" not in Path(path).read_text("utf-8")
    Path(path).write_text("mine")
    assert not write_workflow(load_config(tmp_path / "shipworthy.toml")).created and Path(path).read_text() == "mine"
    Path(path).unlink()
    write_starter(tmp_path)
    assert write_workflow(load_config(tmp_path / "shipworthy.toml")).created  # the starter's is made way for


@pytest.mark.parametrize("name", ["SHIPWORTHY_CONFIG", "SHIPWORTHY_BASELINE", "SHIPWORTHY_RUN", "SHIPWORTHY_VERSION"])
@pytest.mark.parametrize("text", HOSTILE)
def test_inputs_are_never_run(job, name, text):
    done = script(job, "check.sh", **{name: text})
    assert done.returncode in ((0,) if name == "SHIPWORTHY_RUN" else (2, 3, 4))
    assert not (job / "pwned").exists()
    if name != "SHIPWORTHY_VERSION":
        assert outputs(job)["exit-code"] == str(done.returncode)
        assert set(outputs(job)) == {"decision", "exit-code", "reports"}


@pytest.mark.parametrize("text", [name for name in HOSTILE if "/" not in name])
def test_file_names_of_a_stranger_are_only_names(job, text):
    (job / text).write_text((job / "shipworthy.toml").read_text())
    done = script(job, "check.sh", SHIPWORTHY_CONFIG=text)
    assert done.returncode in (0, 2)
    assert not (job / "pwned").exists()


def posted(job: Path) -> list[list[str]]:
    log = (job / "gh.log").read_text() if (job / "gh.log").exists() else ""
    return [call.strip("\n").split("\n") for call in log.split("--\n") if call.strip() and "api" in call]


def commented(job: Path, **given: str) -> subprocess.CompletedProcess[str]:
    script(job, "check.sh")
    known = {"REPORTS": outputs(job)["reports"], "PULL_REQUEST": "7", "GITHUB_REPOSITORY": "o/r", **given}
    return script(job, "comment.sh", **known)


def test_a_first_comment_is_posted(job):
    assert commented(job).returncode == 0
    log = (job / "gh.log").read_text()
    assert "POST\nrepos/o/r/issues/7/comments" in log
    assert "PATCH" not in log


def test_a_later_comment_updates_the_first(job):
    (job / "known").write_text("123\n")
    assert commented(job).returncode == 0
    assert "PATCH\nrepos/o/r/issues/comments/123" in (job / "gh.log").read_text()


def test_a_comment_that_may_not_be_posted_changes_nothing(job):
    (job / "forbidden").write_text("")
    done = commented(job)
    assert done.returncode == 0
    assert "forks" in done.stderr


@pytest.mark.parametrize("name", ["PULL_REQUEST", "GITHUB_REPOSITORY"])
@pytest.mark.parametrize("text", [*HOSTILE, "", "7/../../x", "o/r/../.."])
def test_where_to_comment_is_checked(job, name, text):
    done = commented(job, **{name: text})
    assert done.returncode == 0
    assert not (job / "gh.log").exists()
    assert not (job / "pwned").exists()


def test_a_forged_comment_file_is_not_posted(job):
    reports = job / "forged"
    reports.mkdir()
    (reports / "comment.md").write_text("<!-- shipworthy:$(touch pwned) -->\nhello\n")
    done = script(job, "comment.sh", REPORTS=str(reports), PULL_REQUEST="7", GITHUB_REPOSITORY="o/r")
    assert done.returncode == 0
    assert not (job / "gh.log").exists()
    assert not (job / "pwned").exists()


def test_the_action_writes_no_input_into_a_script():
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    check, upload, comment = action["runs"]["steps"][1:]
    assert upload["if"].startswith("always()")
    assert comment["if"].startswith("always()")
    assert set(action["outputs"]) == {"decision", "exit-code", "reports"}
    names = {"SHIPWORTHY_CONFIG", "SHIPWORTHY_BASELINE", "SHIPWORTHY_RUN", "SHIPWORTHY_VERSION"}
    assert names == set(check["env"])


def test_the_gitlab_template_keeps_its_reports(job):
    template = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text("utf-8"))["shipworthy"]
    assert set(template["artifacts"]["reports"]) == {"junit", "metrics", "annotations"}
    known = {"PATH": f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    known |= {"CI_JOB_URL": "https://gitlab.example/o/r/-/jobs/1", "SHIPWORTHY_CONFIG": "shipworthy.toml"}
    for line in [template["script"][1], template["after_script"][0]]:
        subprocess.run(["sh", "-ec", line], cwd=job, env=known, check=True, capture_output=True)
    link = json.loads((job / "annotations.json").read_text())["shipworthy"][0]["external_link"]
    assert link["url"].startswith("https://gitlab.example/o/r/-/jobs/1/artifacts")
    for name in [*template["artifacts"]["paths"], "junit.xml", "metrics.prom"]:
        assert (job / name).exists()


def test_the_hooks_take_every_file_that_they_are_given(job):
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["gold-lint", "gold-verify"]
    files = ["eval/gold.jsonl", "eval/gold.jsonl"]
    known = {"PATH": f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    for hook, code in zip(hooks, (0, 2), strict=True):  # nothing was frozen yet
        done = subprocess.run(
            [*hook["entry"].split(), *files], cwd=job, env=known, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
