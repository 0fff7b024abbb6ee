"""What ARCHITECTURE.md promises a newcomer, done exactly so in a copy of the package: a metric, a suite, an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, gold, trace, write_lines


class Copy:
    """The package in a folder of its own, and a way to run it there."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "src" / "shipworthy"
        shutil.copytree(ROOT / "src" / "shipworthy", self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.folder = folder

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.package / path).read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} should be in {path} once"
        (self.package / path).write_text(text.replace(old, new), "utf-8")

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        surroundings = {**os.environ, "PYTHONPATH": str(self.package.parent), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "shipworthy", *args]
        return subprocess.run(
            command, cwd=self.folder, env=surroundings, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B")])
    write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B", "The right answer is a rather long one.")])
    return Copy(tmp_path)


def test_a_metric_is_one_file(copy: Copy) -> None:
    copy.edit(
        "suites/answers/metrics.py",
        "    own: tuple[Fact, ...] = _custom_facts(verdict, context) if context.custom else ()\n",
        "    own: tuple[Fact, ...] = _custom_facts(verdict, context) if context.custom else ()\n"
        "    if len(verdict.claim) > 20:\n"
        '        own += ("wordy",)\n',
    )
    copy.edit(
        "suites/answers/metrics.py",
        "    defined: tuple[Custom, ...] =",
        '    listed.append(Rate("wordiness", "answers that are long", "lower", of="wordy", among="answered"))\n'
        "    defined: tuple[Custom, ...] =",
    )
    ran = copy.run(
        "score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--by", "type", "--gates", "wordiness<=0.4", "--json"
    )
    report = json.loads(ran.stdout)
    assert report["metrics"]["wordiness"]["numerator"] == 1 and report["metrics"]["wordiness"]["denominator"] == 2
    assert ran.returncode == 1 and "wordiness is 1 of 2" in report["reasons"][0]


SUITE = '''"""Toy: are enough of the marbles green?"""

from typing import Annotated, Any

import msgspec

from ...core.evidence import Counted
from ...core.gates import Gate
from ...core.metrics import Rate
from ...core.options import Opt, ReadingOptions
from ...core.sources import Input, read_records
from ...core.suite import Explanation, InputSpec, Material, Suite
from ...reading.jsonl import Problems


class Marble(msgspec.Struct):
    qid: str
    colour: str


class Options(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    colour: Annotated[str, Opt("The colour that counts.", "NAME")] = "green"


class Context(msgspec.Struct, frozen=True):
    options: Options


def read(sources: Any, options: Options) -> Material:
    marbles, problems = Input(), Problems()
    records = list(read_records(sources["marbles"], Marble, marbles, "marbles", problems))
    marbles.close(problems, options.lenient)
    return Material(context=Context(options), streams={"marbles": records}, reads={"marbles": marbles})


def judge(case: Any, context: Context) -> tuple[str, bool]:
    return case.key, case.records["marbles"][-1].colour == context.options.colour


def facts(verdict: tuple[str, bool], context: Context) -> Any:
    yield Counted(("items", "right") if verdict[1] else ("items",))


def rows(verdict: tuple[str, bool], context: Context) -> Any:
    yield (verdict[0],), {"qid": verdict[0], "passed": verdict[1]}


def metrics(options: Options) -> Any:
    return {"share": Rate("share", "marbles of the right colour", of="right", among="items")}


def gates(context: Context) -> Any:
    return [Gate.parse("share >= 0.5")]


def explain(findings: Any) -> Explanation:
    return Explanation(counts={"items": findings.tally["items"]})


SUITE = Suite(
    name="toy",
    description="Are enough of the marbles green?",
    inputs=(InputSpec("marbles", "Marbles, JSON lines."),),
    options=Options,
    read=read,
    judge=judge,
    facts=facts,
    rows=rows,
    metrics=metrics,
    gates=gates,
    explain=explain,
)
'''


def test_a_suite_is_one_folder_and_one_line(copy: Copy) -> None:
    folder = copy.package / "suites" / "toy"
    folder.mkdir()
    (folder / "__init__.py").write_text("", "utf-8")
    (folder / "suite.py").write_text(SUITE, "utf-8")
    copy.edit("suites/__init__.py", "SUITES = {\n", 'SUITES = {\n    "toy": "Are enough of the marbles green?",\n')
    rows = [{"qid": "a", "colour": "green"}, {"qid": "b", "colour": "red"}, {"qid": "c", "colour": "red"}]
    write_lines(copy.folder / "marbles.jsonl", rows)
    assert "Are enough of the marbles green?" in copy.run("--help").stdout
    assert "--colour NAME" in copy.run("toy", "--help").stdout
    green = copy.run("toy", "--marbles", "marbles.jsonl", "-o", "toy.json", "-o", "toy.html")
    assert green.returncode == 1 and "share" in green.stdout
    assert copy.run("toy", "--marbles", "marbles.jsonl", "--colour", "red").returncode == 0
    assert copy.run("verify", "toy.json").stdout.startswith("AGREES  toy")
    (copy.folder / "shipworthy.toml").write_text('[suites.toy]\nmarbles = "marbles.jsonl"\ncolour = "red"\n', "utf-8")
    board = copy.run("check", "--no-record", "--json")
    assert board.returncode == 0 and json.loads(board.stdout)["suites"]["toy"]["options"] == {"colour": "red"}
    schema = json.loads(copy.run("schema", "config").stdout)
    assert "colour" in schema["properties"]["suites"]["properties"]["toy"]["properties"]


ENGINE = '''"""Backwards: the last record first."""

from ..core.evaluate import gather, judged


def run(suite, material):
    streams = {name: list(stream)[::-1] for name, stream in material.streams.items()}
    return judged(suite, material, gather(suite, material, streams))
'''


def test_an_engine_is_one_file_and_one_line(copy: Copy) -> None:
    (copy.package / "engines" / "backwards.py").write_text(ENGINE, "utf-8")
    copy.edit("engines/__init__.py", "ENGINES = {", 'ENGINES = {"backwards": "the last record first", ')
    usual, backwards = (
        json.loads(copy.run("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--json", *engine).stdout)
        for engine in ([], ["--engine", "backwards"])
    )
    assert backwards["digest"] == usual["digest"] and backwards["run"]["engine"] == "backwards"
