"""What ARCHITECTURE.md promises a newcomer, done exactly so in a copy of the package.

A metric in each suite, a field of a trace, a suite, a report format, an engine.
"""

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
        return self.python("-m", "shipworthy", *args)

    def python(self, *args: str) -> subprocess.CompletedProcess[str]:
        surroundings = {**os.environ, "PYTHONPATH": str(self.package.parent), "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, *args],
            cwd=self.folder,
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B")])
    write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B", "The right answer is a rather long one.")])
    return Copy(tmp_path)


MARKED = (
    'Count("marked", Words("marked questions", "Questions that were marked.", "count of such questions"), '
    '"lower", high=None, of=("marked",))'
)
ITEMS = '    yield "items"\n'
# suite → its metrics.py, and in it: where a fact is counted, declared, and made a metric of
RECIPES = {
    "answers": (
        "suites/answers/metrics.py",
        (f"{ITEMS}    answerable, status", f'{ITEMS}    yield "marked"\n    answerable, status'),
        ('    names = {"answerable", ', '    names = {"marked", "answerable", '),
        ('        Count(\n            "missing",', f'        {MARKED},\n        Count(\n            "missing",'),
    ),
    "retrieval": (
        "suites/retrieval/metrics.py",
        (f"{ITEMS}    if not found.lines:", f'{ITEMS}    yield "marked"\n    if not found.lines:'),
        ('*("cited_answers", ', '*("marked", "cited_answers", '),
        (
            "def _counts() -> Iterator[Metric]:\n",
            f"def _counts() -> Iterator[Metric]:\n    yield {MARKED}\n",
        ),
    ),
    "stability": (
        "suites/stability/metrics.py",
        (f'{ITEMS}    yield "answerable" if', f'{ITEMS}    yield "marked"\n    yield "answerable" if'),
        ('    names = {"answerable", ', '    names = {"marked", "answerable", '),
        ("def _failing() -> Iterator[Metric]:\n", f"def _failing() -> Iterator[Metric]:\n    yield {MARKED}\n"),
    ),
    "agreement": (
        "suites/agreement/metrics.py",
        (f"{ITEMS}    yield cell(", f'{ITEMS}    yield "marked"\n    yield cell('),
        ('{"agreed", "disagreed", ', '{"marked", "agreed", "disagreed", '),
        (
            '        Count(\n            "disagreements",',
            f'        {MARKED},\n        Count(\n            "disagreements",',
        ),
    ),
    "raters": (
        "suites/raters/metrics.py",
        (f'{ITEMS}    yield "row "', f'{ITEMS}    yield "marked"\n    yield "row "'),
        ('return ("rated_once", ', 'return ("marked", "rated_once", '),
        ("    listed = [\n", f"    from ...core.metrics import Count, Words\n\n    listed = [\n        {MARKED},\n"),
    ),
    "reasoning": (
        "suites/reasoning/metrics.py",
        ('("items", verdict.status, asked)', '("items", "marked", verdict.status, asked)'),
        ('    names = {"answered", ', '    names = {"marked", "answered", '),
        ('        Count("cases", ', f'        {MARKED},\n        Count("cases", '),
    ),
    "guard": (
        "suites/guard/suite.py",
        (f"{ITEMS}    if not result.judged", f'{ITEMS}    yield "marked"\n    if not result.judged'),
        ("    names = {", '    names = {"marked", '),
        (
            "    told = {metric: known[metric] for metric, _, _ in BARS.values()}\n",
            "    from ...core.metrics import Count, Words\n\n"
            f'    told = {{metric: known[metric] for metric, _, _ in BARS.values()}} | {{"marked": {MARKED}}}\n',
        ),
    ),
    "outcomes": (
        "suites/outcomes/metrics.py",
        ("    if row.accepted:", '    yield "marked"\n    if row.accepted:'),
        ('    names = {"accepted", ', '    names = {"marked", "accepted", '),
        ('        Count(\n            "samples",', f'        {MARKED},\n        Count(\n            "samples",'),
    ),
}
# The lists of ids that `retrieval` leaves to the ranking suite: all its facts are lists, and the number of questions.
LISTED = (
    "suites/ranking/metrics.py",
    (
        '    return named | {"missing": missing}\n',
        '    return named | {"missing": missing, "marked": '
        + MARKED.replace('of=("marked",)', 'of=("items",)')
        + "}\n",
    ),
)
RECIPES["latency"] = RECIPES["answers"]  # whose metrics and facts it takes over, both or neither
PAIR = {"scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}
RATED = [{"qid": qid, "rater": rater, "label": qid} for qid in "AB" for rater in ("ana", "ben")]
USED = {"prompt_id": "p", "accepted_without_edits": True, "action_taken": True}
INPUTS = {
    "answers": {"gold": [gold("A"), gold("B")], "trace": [trace("A"), trace("B")]},
    "latency": {"gold": [gold("A"), gold("B")], "trace": [trace("A", e2e_ms=5), trace("B", e2e_ms=6)]},
    "retrieval": {"gold": [gold("A"), gold("B")], "shadow": [{"qid": q, "retrieved_ids": ["d1"]} for q in "AB"]},
    "stability": {"gold": [gold("A"), gold("B")], "runs": [trace(q, seed=seed) for q in "AB" for seed in (0, 1)]},
    "agreement": {"pairs": [{"qid": qid, **PAIR} for qid in "AB"]},
    "raters": {"ratings": RATED},
    "reasoning": {"answers": {"a": "x", "b": "y"}},
    "guard": {"answers": {"a": "x", "b": "y"}},
    "outcomes": {"outcomes": [USED | {"prompt_id": "q"}, USED]},
}
SCRIPT = """
import json, sys
from shipworthy import evaluate
given = json.load(open("inputs.json"))
if "answers" in given:
    given["fixture"] = {"cases": [{"id": i, "prompt": "What?", "evidence": [{"id": "n", "text": "x y"}]} for i in "ab"]}
if sys.argv[1] == "guard":
    given = {"report": evaluate("reasoning", **given).report(), "min_cases": 1}
decision = evaluate(sys.argv[1], **given, only_gates=True, gates="marked<=0")
print(json.dumps([decision.verdict, decision.measures["marked"].k]))
"""


def mark(copy: Copy, suite: str, *, declared: bool = True) -> subprocess.CompletedProcess[str]:
    """Add a metric as ARCHITECTURE.md says, perhaps without declaring its fact, and gate on it."""
    path, count, declare, name = RECIPES[suite]
    for old, new in (count, declare, name) if declared else (count, name):
        copy.edit(path, old, new)
    (copy.folder / "inputs.json").write_text(json.dumps(INPUTS[suite]), "utf-8")
    return copy.python("-c", SCRIPT, suite)


def test_a_metric_of_lists_of_ids_is_one_file(copy: Copy) -> None:
    path, name = LISTED
    copy.edit(path, *name)
    run = [{"qid": qid, "retrieved_ids": ["d1"]} for qid in "AB"]
    given = {"gold": [gold("A"), gold("B")], "run": run, "metrics": "MRR"}
    (copy.folder / "inputs.json").write_text(json.dumps(given), "utf-8")
    told(copy, copy.python("-c", SCRIPT, "retrieval"), "retrieval")


@pytest.mark.parametrize("suite", sorted(RECIPES))
def test_a_metric_is_one_file(copy: Copy, suite: str) -> None:
    told(copy, mark(copy, suite), suite)


def told(copy: Copy, ran: subprocess.CompletedProcess[str], suite: str) -> None:
    """The metric decides, and glossary and `explain` know it."""
    assert json.loads(ran.stdout or "[]") == ["NO-SHIP", 2], ran.stderr
    explained = copy.run("explain", "marked").stdout
    assert explained.startswith("marked questions (marked): a metric of ") and suite in explained
    assert "Questions that were marked." in explained
    listed = copy.python("-c", "from shipworthy.glossary import terms; print([term.title for term in terms()])")
    assert "marked questions (marked)" in listed.stdout, listed.stderr


@pytest.mark.parametrize("suite", sorted(RECIPES))
def test_a_fact_that_nobody_declared_is_refused(copy: Copy, suite: str) -> None:
    ran = mark(copy, suite, declared=False)
    assert ran.returncode and "no fact is called 'marked'" in ran.stderr


def test_a_fact_that_is_counted_for_no_metric_must_be_declared_too(copy: Copy) -> None:
    path, count, _, _ = RECIPES["answers"]
    copy.edit(path, *count)
    ran = copy.run("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert ran.returncode == 4 and "no fact is called 'marked'" in ran.stderr


def test_a_metric_of_a_fact_that_nobody_counts_is_refused(copy: Copy) -> None:
    """Misspelt, it would be 0 of n, and pass every gate that asks for little."""
    copy.edit("suites/answers/metrics.py", 'of="under_refused",', 'of="under_refussed",')
    ran = copy.run("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert ran.returncode == 4 and "under_refussed" in ran.stderr


SUITE = '''"""Toy: are enough of the marbles green?"""

from typing import Annotated, Any

import msgspec

from ...core.evidence import Counts, Judged
from ...core.gates import Gate
from ...core.metrics import Rate, Words
from ...core.options import Opt, ReadingOptions
from ...core.decision import Display
from ...core.inputs import Input, Records, Stream
from ...core.sources import read_records
from ...core.suite import Explanation, InputSpec, Material, Suite
from ...reading.reports import Passing


class Marble(msgspec.Struct):
    qid: str
    colour: str


class Options(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    colour: Annotated[str, Opt("The colour that counts.", "NAME")] = "green"


class Context(msgspec.Struct, frozen=True):
    options: Options


def marbles_in(source: Any, read: Input) -> Any:
    return read_records(source, Marble, read, "marbles", read.found)


def name_of(marble: Marble) -> str:
    return marble.qid


def read(sources: Any, options: Options) -> Material:
    marbles = Input()
    stream = Stream(sources["marbles"], marbles, Records(marbles_in, name_of))
    return Material(context=Context(options), streams={"marbles": stream}, reads={"marbles": marbles})


class MarbleRow(msgspec.Struct):
    qid: str
    passed: bool


def judge(case: Any, context: Context) -> tuple[Judged]:
    right = case.records["marbles"][-1].colour == context.options.colour
    return (Judged(MarbleRow(case.key, right), (right,), (case.key,)),)


def fact_names(options: Options) -> Any:
    return ["right"]


def facts(outline: tuple[bool], context: Context) -> Any:
    yield Counts(("items", "right") if outline[0] else ("items",))


def metrics(options: Options) -> Any:
    words = Words("right ones", "Marbles of the right colour.", "right ones / marbles", "marbles", "were right")
    return {"share": Rate("share", words, of="right", among="items")}


def gates(context: Context) -> Any:
    return [Gate.parse("share >= 0.5")]


def explain(findings: Any) -> Explanation:
    tally = findings.tally
    return Explanation(
        counts={"items": tally["items"], "right": tally["right"]},
        sections={"colours": {"green": {"average": 0.5, "at_least": None, "n": 2}}},
    )


SUITE = Suite(
    name="toy",
    description="Are enough of the marbles green?",
    inputs=(InputSpec("marbles", "Marbles, JSON lines."),),
    options=Options,
    read=read,
    judge=judge,
    fact_names=fact_names,
    facts=facts,
    metrics=metrics,
    gates=gates,
    explain=explain,
    display=Display(
        item="marble",
        counts={"right": "right"},
        passes=Passing("passed", True),
        pictures={"colours": "averages"},
    ),
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
    assert green.returncode == 1 and "1 of 3 marbles was right; at least 2 must be (share 0.333 < 0.5)" in green.stdout
    assert "toy · 3 marbles · 1 right" in green.stdout
    told = copy.run("explain", "b", "--report", "toy.json").stdout
    assert "toy: b fails" in told and "toy: a passes" in copy.run("explain", "a", "--report", "toy.json").stdout
    assert "<svg" in (copy.folder / "toy.html").read_text("utf-8").partition("Dimensions")[2]
    assert "right ones (share): a metric of toy" in copy.run("explain", "share").stdout
    assert "Marbles of the right colour." in (copy.folder / "toy.html").read_text("utf-8")
    assert copy.run("toy", "--marbles", "marbles.jsonl", "--colour", "red").returncode == 0
    assert copy.run("verify", "toy.json").stdout.startswith("AGREES  toy")
    (copy.folder / "shipworthy.toml").write_text('[suites.toy]\nmarbles = "marbles.jsonl"\ncolour = "red"\n', "utf-8")
    board = copy.run("check", "--no-record", "--json")
    assert board.returncode == 0 and json.loads(board.stdout)["suites"]["toy"]["options"] == {"colour": "red"}
    schema = json.loads(copy.run("schema", "config").stdout)
    assert "colour" in schema["properties"]["suites"]["properties"]["toy"]["properties"]


def test_a_field_of_a_trace_is_one_line(copy: Copy) -> None:
    """It is checked where traces are read, and the schema has it."""
    write_lines(copy.folder / "odd.jsonl", [trace("A", mood="calm"), trace("B", mood=5)])
    score = ("score", "--gold", "gold.jsonl", "--trace", "odd.jsonl")
    assert copy.run(*score).returncode == 0  # nobody knows the field
    copy.edit(
        "core/contracts.py",
        "    ok: bool | None = None\n    reason",
        "    ok: bool | None = None\n    mood: str | None = None\n    reason",
    )
    ran = copy.run(*score)
    assert ran.returncode == 3 and "odd.jsonl:2: mood: expected str, got int. [type]" in ran.stderr
    assert '"mood"' in copy.run("schema", "trace").stdout
    write_lines(copy.folder / "felt.jsonl", [trace("A", felt={"as": "calm"}), trace("B", felt={"as": 5})])
    ran = copy.run("score", "--gold", "gold.jsonl", "--trace", "felt.jsonl", "--map", "mood=felt.as")
    assert ran.returncode == 3 and "felt.jsonl:2: mood: expected str, got int. [type]" in ran.stderr
    ran = copy.run("score", "--gold", "gold.jsonl", "--trace", "felt.jsonl", "--map", "mood=felt.was")
    assert ran.returncode == 3 and "mood=felt.was matches nothing" in ran.stderr


FORMAT = '''"""Telegram: the verdict, and who says so."""

from . import views


def render(shown):
    return "".join(f"{one.suite} {one.verdict} STOP\\n" for one in views.decisions(shown))
'''


def test_a_report_format_is_one_module_and_one_line(copy: Copy) -> None:
    (copy.package / "report" / "telegram.py").write_text(FORMAT, "utf-8")
    copy.edit(
        "report/__init__.py", "_ALL = {\n", '_ALL = {\n    "telegram": Format("telegram", ".wire", printed=True),\n'
    )
    score = ("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    assert copy.run(*score, "-o", "report.wire", "--format", "telegram").stdout == "answers SHIP STOP\n"
    assert (copy.folder / "report.wire").read_text("utf-8") == "answers SHIP STOP\n"
    assert "telegram" in copy.run("score", "--help").stdout


ENGINE = '''"""Backwards: the last question first."""

from contextlib import contextmanager

from ..core.join import Lot, questions_of


@contextmanager
def run(streams, keep, tick):
    lots = {name: Lot(keep.get(name, "all")) for name in streams}
    for name, stream in streams.items():
        for block in stream.blocks():
            lots[name].take(*block)
    yield Backwards(lots)


class Backwards:
    def __init__(self, lots):
        self.lots = lots

    def over(self, work, total):
        for batch in self.batches():
            total += work([batch])
        return total

    def batches(self, wanted=None):
        names = {name for lot in self.lots.values() for name in lot.names if wanted is None or wanted(name)}
        yield list(questions_of(self.lots, sorted(names, reverse=True)))
'''


def test_an_engine_is_one_file_and_one_line(copy: Copy) -> None:
    (copy.package / "engines" / "backwards.py").write_text(ENGINE, "utf-8")
    copy.edit("engines/__init__.py", "ENGINES = {", 'ENGINES = {"backwards": "the last question first", ')
    usual, backwards = (
        json.loads(copy.run("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--json", *engine).stdout)
        for engine in ([], ["--engine", "backwards"])
    )
    assert backwards["digest"] == usual["digest"] and backwards["run"]["engine"] == "backwards"
