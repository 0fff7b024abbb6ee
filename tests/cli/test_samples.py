"""Samples of output on the pages are what the program prints.

A sample is a block with a line `$ shipworthy …`. The commands of a page run one after the other in a folder of its own,
and the text under each must be its output. `…` stands for any text: lines that are left out, a time, a run's id. How
lines are broken does not matter.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import ROOT, Cli, gold, trace
from golden.runner import INPUTS
from shipworthy.demo import gold_path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
VERDICT = re.compile(r"(SHIP|NO-SHIP|NO VERDICT|MEASURED)  \S")
_BLOCK = re.compile(r"^```(?:console|text)\n((?:.*\n)*?)```|(?:^(?:    .*|[ ]*)\n)+", re.MULTILINE)


class Sample(NamedTuple):
    """A command as it is written on a page, and the lines that it should print."""

    command: str
    lines: list[str]


def blocks(page: Path) -> Iterator[list[str]]:
    """The lines of each block of code, without their indentation."""
    for match in _BLOCK.finditer(page.read_text("utf-8")):
        text = match[1] if match[1] is not None else re.sub(r"^    ", "", match[0], flags=re.MULTILINE)
        yield text.splitlines()


def samples(page: Path) -> list[Sample]:
    found: list[Sample] = []
    for block in blocks(page):
        inside = False
        for line in block:
            if line.startswith("$ "):
                inside = line.startswith("$ shipworthy ")
                if inside:
                    found.append(Sample(line.removeprefix("$ shipworthy "), []))
            elif inside and line.strip():
                found[-1].lines.append(line.rstrip())
    return found


def missing_part(wanted: list[str], printed: str) -> str:
    """The first part of a sample that the output does not have behind those before it; nothing if it has all."""
    text, position = " ".join(printed.split()), 0
    for words in " ".join(wanted).split("…"):
        part = " ".join(words.split())
        place = text.find(part, position)
        if place < 0:
            return part
        position = place + len(part)
    return ""


# Pages that are replayed file by file, or after several builds, have a test of their own.
SAMPLED = [page for page in PAGES if samples(page) and not page.name.startswith(("from-", "gold-in", "red-build"))]


@pytest.mark.parametrize("page", SAMPLED, ids=lambda page: page.name)
def test_samples_are_what_the_program_prints(
    page: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SHIPWORTHY_HISTORY", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_SHA", "GITHUB_REF_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    PREPARE.get(page.stem, demo_run)(tmp_path, cli)
    for sample in samples(page):
        for start, change in BEFORE.get(page.stem, {}).items():
            if sample.command.startswith(start):
                change(tmp_path, cli)
        ran = cli(*shlex.split(sample.command, comments=True))
        printed = ran.err + ran.out
        lost = missing_part(sample.lines, printed)
        assert not lost, f"{page.name}: $ shipworthy {sample.command}\ndoes not print\n{lost}\nbut\n{printed}"
        assert ran.code in (0, 1, 2, 3), sample.command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_output_on_a_page_has_its_command(page: Path) -> None:
    """A verdict that no command stands above can't be checked."""
    for block in blocks(page):
        shown = [line for line in block if VERDICT.match(line)]
        assert not shown or any(line.startswith("$ shipworthy ") for line in block), f"{page.name}: {shown[0]}"


def test_a_sample_in_old_words_is_noticed() -> None:
    printed = "SHIP  all 5 gates pass\n  answers · 3 questions\n\nRun 12ab, 0.3 s\n"
    assert not missing_part(["SHIP  all 5 gates", "pass", "…", "Run …, … s"], printed)
    assert missing_part(["SHIP  5 gates hold"], printed) == "SHIP 5 gates hold"
    assert missing_part(["SHIP  all 5 gates pass", "Run …, … s"], printed) == "SHIP all 5 gates pass Run"
    assert missing_part(["Run … s …", "SHIP  all 5 gates pass"], printed) == "SHIP all 5 gates pass"


# --- what the folder of a page has before its first command, or before a later one ---


def copied(**files: str) -> Callable[[Path, Cli], None]:
    """Pinned inputs under the names of the page; two underscores are a slash, one before the ending a dot."""

    def prepare(folder: Path, cli: Cli) -> None:
        for name, source in files.items():
            path = folder / re.sub(r"_(?=\w+$)", ".", name.replace("__", "/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(INPUTS / source, path)

    return prepare


def demo_run(folder: Path, cli: Cli) -> None:
    """The built-in pipeline's questions and its answers to them."""
    shutil.copy(gold_path(), folder / "gold.jsonl")
    shutil.copytree(ROOT / "examples" / "hello", folder / "examples" / "hello")
    assert cli("run", "--gold", "gold.jsonl", "--target", "demo", "--out", "runs/trace.jsonl").code == 0


def started(folder: Path, cli: Cli) -> None:
    """A starter project."""
    assert cli("init").code == 0


def retrieval_gold(folder: Path, cli: Cli) -> None:
    """Forty questions about retrieval, with nothing that makes it hard."""
    wordings = ["Where is it?", "Its place?", "Where would I find it?"]
    rows = [
        {"qid": f"R{n:02}", "question": f"Where is block {n}?", "relevant": [f"S.{n}.p.Bk001"], "paraphrases": wordings}
        for n in range(40)
    ]
    written(folder / "eval/retrieval.jsonl", rows)


def regressed(folder: Path, cli: Cli) -> None:
    """A starter project whose run on Monday is the baseline, and whose traces got worse since."""
    started(folder, cli)
    assert cli("check", "--label", "monday").code == 0
    assert cli("baseline", "bless", "main", "last", "--by", "Ada", "--reason", "first release").code == 0
    traces = [json.loads(line) for line in (folder / "eval/trace.jsonl").read_text("utf-8").splitlines()]
    next(row for row in traces if row["qid"] == "S2")["answer_json"]["claim"] = "It takes a while."
    written(folder / "eval/trace.jsonl", traces)


def regressed_twice(folder: Path, cli: Cli) -> None:
    regressed(folder, cli)
    cli("check", "--label", "tuesday")


def nights(folder: Path, cli: Cli) -> None:
    """Eight runs of ten questions: Q0 is lost for good in the last three, Q1 comes and goes."""
    (folder / ".shipworthy/history.db").unlink()
    items = [gold(f"Q{number}") for number in range(10)]
    written(folder / "gold.jsonl", items)
    for night in range(8):
        lost = [name for name, fails in (("Q0", night > 4), ("Q1", night % 2)) if fails]
        claims = {item["qid"]: "no idea" if item["qid"] in lost else "right answer" for item in items}
        written(folder / "trace.jsonl", [trace(qid, claim) for qid, claim in claims.items()])
        cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "-o", "night.json")
        assert cli("history", "record", "night.json", "--label", f"night {night}").code == 0


def changed_gold(folder: Path, cli: Cli) -> None:
    path = folder / "eval/gold.jsonl"
    path.write_text(path.read_text("utf-8").replace("24 months", "36 months"), "utf-8")


def edited_documents(folder: Path, cli: Cli) -> None:
    """The demo's gold set with its places, and its handbook after an edit."""
    corpus = ROOT / "src" / "shipworthy" / "demo"
    shutil.copytree(corpus / "corpus", folder / "handbook")
    shutil.copy(corpus / "gold.jsonl", folder / "gold.jsonl")
    assert cli("gold", "anchor", folder / "gold.jsonl", "--docs", folder / "handbook").code == 0
    page = folder / "handbook" / "1-handbook.md"
    text = (
        page.read_text("utf-8")
        .replace("has 27 days", "has 28 days")
        .replace("Laptops are replaced every four years.", "")
    )
    page.write_text(text, "utf-8")


def bomb(folder: Path, cli: Cli) -> None:
    demo_run(folder, cli)
    with gzip.open(folder / "bomb.jsonl.gz", "wb", compresslevel=9) as file:
        for _ in range(80):
            file.write(b" " * 1_000_000)


def other_names(folder: Path, cli: Cli) -> None:
    (folder / "gold.csv").write_text(
        "qid,question,answerable,gold_claim_substr\nQ1,How much?,true,49 dollars\n", "utf-8"
    )
    rows = [{"qid": "Q1", "answer": "It costs 49 dollars.", "contexts": [{"id": "doc1"}]}]
    (folder / "answers.json").write_text(json.dumps(rows, indent=1), "utf-8")


def two_runs(folder: Path, cli: Cli) -> None:
    """Forty questions, of which four are wrong in the first run and nine in the second."""
    (folder / "runs").mkdir()
    written(folder / "gold.jsonl", [gold(f"A{number:02d}") for number in range(40)])
    for name, wrong in (("a", 4), ("b", 9)):
        rows = [trace(f"A{number:02d}", "no idea" if number < wrong else "right answer") for number in range(40)]
        written(folder / f"runs/{name}.jsonl", rows)
    cli("score", "--gold", "gold.jsonl", "--trace", "runs/a.jsonl", "-o", "report.json")


def mistaken(folder: Path, cli: Cli) -> None:
    started(folder, cli)
    text = '[suites.answers]\ngold = "eval/gold.jsonl"\ntrace = "eval/trace.jsonl"\nkk = 5\n'
    gates = 'gates = [\n  "precision >= 0.85",\n  { gate = "chr >= 0.75", severty = "warn" },\n]\n'
    (folder / "shipworthy.toml").write_text(text + gates, "utf-8")


def rated(folder: Path, cli: Cli) -> None:
    """The textbook example of four raters and twelve items, with seven ratings missing."""
    demo_run(folder, cli)
    table = {"A": "123321412...", "B": "1233224125..", "C": ".33323422513", "D": "12332441251."}
    rows = [
        {"qid": f"U{unit:02d}", "rater": rater, "label": int(label)}
        for rater, labels in table.items()
        for unit, label in enumerate(labels, 1)
        if label != "."
    ]
    written(folder / "ratings.jsonl", rows)


def written(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def nothing(folder: Path, cli: Cli) -> None:
    """The page starts in an empty folder."""


PREPARE: dict[str, Callable[[Path, Cli], None]] = {
    "agreement": rated,
    "check": regressed,
    "compare": copied(last_json="answers/base.json", now_json="answers/head.json"),
    "config": mistaken,
    "demo": nothing,
    "gold": started,
    "flaky": regressed_twice,
    "history": regressed_twice,
    "latency": copied(gold_jsonl="latency/gold.jsonl", runs__latency_jsonl="latency/slower.jsonl"),
    "limits": bomb,
    "map": other_names,
    "outcomes": copied(outcomes_jsonl="outcomes/rows.jsonl", report_json="reasoning/report.json"),
    "power": two_runs,
    "reasoning": nothing,
}
BEFORE = {
    "gold": {"gold lint eval/retrieval": retrieval_gold, "gold verify": changed_gold, "gold refresh": edited_documents},
    "flaky": {"history flaky": nights},
    "history": {"history nightly": nights},
}
