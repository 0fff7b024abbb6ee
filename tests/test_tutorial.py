"""The tutorial: every command of the page, in order, against a plain HTTP service in a process of its own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from conftest import ROOT, Cli

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (shipworthy .+)$", PAGE, re.MULTILINE)


def test_the_service_knows_nothing_of_us() -> None:
    program = (ROOT / "examples" / "service" / "plain_service.py").read_text("utf-8")
    assert "import shipworthy" not in program and "answer_json" not in program and "not in context" not in program


def test_every_command_of_the_page_does_what_it_says(
    service: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    table = re.search(r"<!-- file: gold.csv -->\n```csv\n(.*?)```", PAGE, re.DOTALL)
    assert table is not None
    Path("gold.csv").write_text(table[1])
    typed = [shlex.split(command.replace("localhost:8000", f"127.0.0.1:{service}"))[1:] for command in COMMANDS]
    connect, connect_by_hand, run, again, lower = typed

    ran = cli(*connect)
    assert ran.code == 0, ran.err
    for line in PAGE.split("    Understood:")[1].split("Below each field")[0].splitlines()[1:]:
        assert line.strip() in ran.out, line
    ran = cli(*connect)
    assert ran.code == 2 and "[init-exists]" in ran.err
    assert cli(*connect_by_hand).code == 0
    assert cli(*connect, "--force").code == 0

    ran = cli(*run)
    assert ran.code == 0, ran.out
    assert "SHIP" in ran.out.splitlines()[0] and Path("runs/trace.jsonl").is_file()

    Path("gold.csv").write_text(table[1].replace("49 dollars", "59 dollars").replace("30 days", "60 days"))
    ran = cli(*again)
    assert ran.code == 1 and all(text in ran.out for text in ("Q1", "59 dollars", "Q2", "60 days"))
    assert cli(*lower).code == 0
