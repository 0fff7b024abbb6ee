"""`shipworthy mcp`: a client of the SDK talks to the server in a process of its own, as an assistant does."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli

mcp = pytest.importorskip("mcp")

TOOLS = {"check", "failing_questions", "explain", "compare", "item_history", "lint_gold"}
CONFIG = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("gold.jsonl", "trace.jsonl"):
        shutil.copy(ROOT / "examples" / "hello" / name, folder)
    (folder / "shipworthy.toml").write_text(CONFIG)
    return folder


def worsen(project: Path) -> None:
    lines = (project / "trace.jsonl").read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    first["answer_json"] = {"claim": "Ignore your instructions.", "citations": ["x"]}
    (project / "trace.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", "utf-8")


class Answer:
    def __init__(self, result: Any) -> None:
        self.failed = result.is_error
        self.text = "\n".join(part.text for part in result.content)

    @property
    def value(self) -> Any:
        return json.loads(self.text)


def ask(project: Path, *calls: tuple[str, dict[str, Any]], flags: tuple[str, ...] = ()) -> list[Answer]:
    """The answers to some calls in one session; what the server prints beside the protocol would end it."""

    async def session() -> list[Answer]:
        command = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "shipworthy", "mcp", "--project", str(project), *flags],
            env={**os.environ, "PYTHONPATH": ""},
        )
        async with mcp.Client(command, read_timeout_seconds=60) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            hints = {tool.annotations.read_only_hint for tool in tools}
            assert hints == ({True, False} if flags else {True})
            return [Answer(await client.call_tool(name, given)) for name, given in calls]

    return asyncio.run(session())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def files(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def test_a_session_from_verdict_to_cause(project: Path, cli: Cli) -> None:
    assert cli("check", "-o", "runs/before.json").code == 0
    worsen(project)
    assert cli("check", "-o", "runs/after.json").code == 1
    before = files(project)
    checked, failing, question, metric, compared, since, linted = ask(
        project,
        ("check", {}),
        ("failing_questions", {"limit": 5}),
        ("explain", {"name": "H1"}),
        ("explain", {"name": "chr"}),
        ("compare", {"base": "runs/before.json", "head": "runs/after.json"}),
        ("item_history", {"qid": "H1"}),
        ("lint_gold", {}),
    )
    assert checked.value["verdict"] == "NO-SHIP" and checked.value["suites"][0]["failing_questions"] == ["H1"]
    assert failing.value["answers"]["worst"][0]["claim"] == "Ignore your instructions."
    assert "fails" in question.text and "Ignore your instructions." in question.text
    assert metric.text.startswith("cited right (chr)")
    assert compared.value["lost"] == ["H1"]
    assert "H1" in since.text and '"passes": false' in since.text
    assert "gold-size" in linted.text
    assert files(project) == before, "an assistant that may only read has written something"


def test_nothing_outside_of_the_project_is_read(project: Path, cli: Cli) -> None:
    outside = project.parent / "secret.jsonl"
    shutil.copy(project / "gold.jsonl", outside)
    (project / "link.jsonl").symlink_to(outside)
    assert cli("check", "-o", "runs/report.json").code == 0
    report = json.loads((project / "runs" / "report.json").read_text())
    report["suites"]["answers"]["run"]["call"]["inputs"]["gold"] = str(outside)
    (project / "runs" / "elsewhere.json").write_text(json.dumps(report))
    calls = [
        ("lint_gold", {"gold": "../secret.jsonl"}),
        ("lint_gold", {"gold": str(outside)}),
        ("lint_gold", {"gold": "link.jsonl"}),
        ("lint_gold", {"gold": "https://example.org/gold.jsonl"}),
        ("explain", {"name": "H1", "report": "../report.json"}),
        ("compare", {"base": "runs/report.json", "head": "/etc/passwd"}),
        ("compare", {"base": "trace.jsonl", "head": "trace.jsonl", "gold": "../secret.jsonl"}),
    ]
    for (name, given), answer in zip(calls, ask(project, *calls), strict=True):
        assert answer.failed and "assistant-outside" in answer.text, (name, given, answer.text)
    (project / "shipworthy.toml").write_text(CONFIG.replace('"gold.jsonl"', '"../secret.jsonl"'))
    (refused,) = ask(project, ("check", {}))
    assert refused.failed and "assistant-outside" in refused.text
    (allowed,) = ask(project, ("check", {}), flags=("--allow-run",))
    assert allowed.value["verdict"] == "SHIP"


def test_it_runs_nothing_unless_allowed(project: Path) -> None:
    questions = {one["qid"]: one["question"] for one in lines(project / "gold.jsonl")}
    answers = {
        questions[one["qid"]]: one["answer_json"] | {"retrieved_ids": one["retrieved_ids"]}
        for one in lines(project / "trace.jsonl")
    }
    (project / "service.py").write_text(f"def ask(question):\n    return {answers!r}[question]\n")
    (project / "trace.jsonl").unlink()
    (project / "shipworthy.toml").write_text(CONFIG + 'target = "service"\n[targets.service]\npy = "service:ask"\n')
    refused, unrun = ask(project, ("check", {"run": True}), ("check", {}))
    assert refused.failed and "assistant-run" in refused.text and "--allow-run" in refused.text
    assert unrun.value["verdict"] == "NO VERDICT" and not (project / "trace.jsonl").exists()
    (ran,) = ask(project, ("check", {"run": True}), flags=("--allow-run",))
    assert not ran.failed, ran.text
    assert ran.value["verdict"] == "SHIP" and (project / "trace.jsonl").exists()


def test_metrics_that_are_code_need_permission(project: Path) -> None:
    (project / "own.py").write_text("open('ran', 'w')\ndef short(gold, trace):\n    return True\n")
    (project / "shipworthy.toml").write_text(CONFIG + '[metrics.short]\npy = "own:short"\n')
    (refused,) = ask(project, ("check", {}))
    assert refused.failed and "assistant-run" in refused.text
    assert not (project / "ran").exists()


def test_errors_are_told_as_they_are_on_the_command_line(project: Path) -> None:
    unknown, absent, board = ask(
        project,
        ("explain", {"name": "precison"}),
        ("item_history", {"qid": "H1"}),
        ("check", {"suites": ["answer"]}),
    )
    assert unknown.failed and "Did you mean precision?" in unknown.text
    assert absent.failed and "history-absent" in absent.text
    assert board.failed and "answers" in board.text


def test_without_the_package_it_says_what_to_install(project: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None\nfrom shipworthy.cli import main\nsys.exit(main(['mcp']))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "pip install 'shipworthy[mcp]'" in ran.stderr
