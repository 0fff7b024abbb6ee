"""No flag that names a file to write replaces a file that the same command reads."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import pytest
from test_json_errors import commands

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import evaluate
from shipworthy.cli import group
from shipworthy.cli._output import FILES, FOLDERS, is_output
from shipworthy.reading.lock import freeze

WRITES = re.compile(r"\b(write|save|goes|go\.|keep vectors)\b", re.I)
NAMES = (type(click.STRING), click.Path)
READ_ONLY = {"--map", "--qid", "--memory-limit"}  # where something is in a record


def test_every_flag_that_names_a_file_to_write_is_known() -> None:
    """A new one is found by what its help says, so that it can't be forgotten."""
    found = set()
    for path, command in commands(group):
        for param in command.params:
            if not isinstance(param, click.Option) or param.is_flag or type(param.type) not in NAMES:
                continue
            if WRITES.search(param.help or "") and READ_ONLY.isdisjoint(param.opts):
                assert is_output(param), (path, param.opts)
            if is_output(param):
                found |= {*param.opts}
    assert found >= FILES | FOLDERS.keys()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    items = [gold("A"), gold("B"), unanswerable("U")]
    traces = [trace("A", e2e_ms=5), trace("B", e2e_ms=5), refusal("U") | {"e2e_ms": 5}]
    write_lines(tmp_path / "gold.jsonl", items)
    write_lines(tmp_path / "trace.jsonl", traces)
    (tmp_path / "gold.json").write_text(json.dumps(items))
    (tmp_path / "trace.json").write_text(json.dumps(traces))
    (tmp_path / "run.txt").write_text("A Q0 d1 1 0.9 x\n")
    (tmp_path / "base.json").write_text(json.dumps(evaluate("latency", gold=items, trace=traces).report()))
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "gold.json"\ntrace = "trace.json"\n[history]\nurl = "h.db"\n'
    )
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text(json.dumps(traces))
    freeze(tmp_path / "gold.json", "1", "Ada")
    os.symlink("gold.json", tmp_path / "soft.json")
    os.link(tmp_path / "gold.json", tmp_path / "hard.json")
    return tmp_path


SCORE = "score --gold gold.json --trace trace.json -o "
REPLACING = [
    SCORE + "gold.json",
    SCORE + "./logs/../gold.json",
    SCORE + "soft.json",
    SCORE + "hard.json",
    SCORE + "trace.json",
    "score --gold soft.json --trace trace.json -o gold.json",
    "score --gold gold.json --trace logs -o logs/a.json",
    "score --gold gold.json --trace logs/*.json -o logs/a.json",
    "score --gold gold.json --trace trace.json -o new.json -o trace.json",
    "check --no-record -o gold.json",
    "check --no-record -o trace.json",
    "check --no-record --comment gold.json",
    "check --no-record --comment gold.lock",
    "check --no-record --comment shipworthy.toml",
    "import trace.jsonl --out trace.jsonl",
    "import trace.jsonl --gold gold.jsonl --out gold.jsonl",
    "import trace.jsonl --gold gold.jsonl --out new.jsonl --draft-gold gold.jsonl",
    "run --gold gold.jsonl --target demo: --out gold.jsonl",
    "run --gold gold.jsonl --target demo: --out gold.jsonl --overwrite",
    "stability run --gold gold.jsonl --target demo: --stability gold.jsonl --overwrite",
    "stability score --gold gold.json --stability trace.json -o gold.json",
    "latency run --gold gold.jsonl --target demo: --trace gold.jsonl --overwrite",
    "latency run --gold gold.jsonl --target demo: --trace new.jsonl --csv gold.jsonl",
    "latency score --gold gold.json --trace trace.json --baseline base.json -o base.json",
    "agreement score --gold gold.json --trace trace.json --tsv trace.json",
    "agreement score --gold gold.json --trace trace.json --disagreements gold.json",
    "retrieval score --gold gold.json --shadow run.txt --write-trec .",
    "retrieval score --gold gold.json --shadow trace.json -o gold.json",
    "retrieval score --gold gold.json --shadow trace.json --embed-cache gold.json",
    "reason score --fixture gold.json --answers trace.json -o trace.json",
    "reason run --fixture gold.json --url http://127.0.0.1:9/ --out gold.json",
    "reason guard --report base.json -o base.json",
    "outcomes --input trace.json -o trace.json",
    "history report -o shipworthy.toml",
]


@pytest.mark.parametrize("call", REPLACING)
def test_an_input_is_not_replaced(cli: Cli, folder: Path, call: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = cli(*call.split())
    assert ran.code == 2 and "[output-is-input]" in ran.err, ran
    assert re.search(r"--[a-z-]+ would replace \S+, which this command reads\. Give another file\.", ran.err)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_file_that_is_not_an_input_is_replaced(cli: Cli, folder: Path) -> None:
    (folder / "old.json").write_text("{}")
    assert cli(*SCORE.split(), "old.json").code == cli(*SCORE.split(), "old.json").code != 2
    assert json.loads((folder / "old.json").read_bytes())["shipworthy"]["suite"] == "answers"
    copy = folder / "copy.json"
    copy.write_bytes((folder / "gold.json").read_bytes())  # the same bytes, and another file
    assert "output-is-input" not in cli(*SCORE.split(), copy).err
    assert "output-is-input" not in cli(*SCORE.split(), "/dev/null.json").err


# --- a verdict alone makes no rows of what passes: it must not show ---


@pytest.mark.parametrize("wrong", [0, 3, 40])
@pytest.mark.parametrize(
    "command",
    [
        ("score",),
        ("score", "--engine", "disk"),
        ("score", "-v", "--by", "type", "--gates", "tone=0.9"),
        ("score", "--offenders", "2", "--on-duplicate", "worst"),
        ("latency", "score", "--budget-ms", "90"),
    ],
    ids=" ".join,
)
def test_the_verdict_alone_reads_like_the_one_beside_a_report(
    cli: Cli, tmp_path: Path, command: tuple[str, ...], wrong: int
) -> None:
    golds = write_lines(tmp_path / "gold.jsonl", [gold(f"q{n:02}", type="ab"[n % 2]) for n in range(40)])
    claims = ["wrong" if n < wrong else "The right answer." for n in range(40)]
    rows = [trace(f"q{n:02}", claim, e2e_ms=80 + n, scores={"tone": n % 2}) for n, claim in enumerate(claims)]
    given = ["--gold", str(golds), "--trace", str(write_lines(tmp_path / "trace.jsonl", rows))]
    if "tone=0.9" in command:
        metric = '[metrics.tone]\nfrom = "scores.tone"\nat_least = 1\nsource = "code"\n'
        (tmp_path / "metrics.toml").write_text(metric, "utf-8")
        given += ["--custom-metrics", str(tmp_path / "metrics.toml")]
    alone = cli(*command, *given)
    beside = cli(*command, *given, "-o", str(tmp_path / "report.json"))
    assert alone.code == beside.code in (0, 1) and alone.out == beside.out, alone.err


def test_what_a_command_writes_is_named_by_o_everywhere(cli: Cli, folder: Path) -> None:
    write_lines(folder / "gold.jsonl", [gold("Q01")])
    ran = cli("run", "--gold", "gold.jsonl", "--target", "demo", "-o", "runs/t.jsonl")
    assert ran.code == 0 and (folder / "runs/t.jsonl").exists()
    for words in (("import",), ("gold", "build"), ("gold", "review"), ("gold", "anchor"), ("gold", "next")):
        assert "-o, --out" in cli(*words, "--help").out
