"""Precision, recall and F1 of the natural-refusal rule on answers that other people labelled, beside a phrase list.

The sets are split by a hash of the question: the rule was built on one half, and is reported on the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shipworthy import stats
from shipworthy.language.refusal import load_rule

DATA = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
# What anybody would write down in five minutes.
NAIVE = (
    "don't know",
    "do not know",
    "sorry",
    "cannot answer",
    "unable to",
    "no information",
    "no mention",
    "not mentioned",
    "not specified",
    "not provided",
    "not clear",
    "does not provide",
    "does not mention",
    "does not contain",
    "do not have",
    "don't have",
    "as an ai",
    "cannot determine",
    "not possible to",
)
TYPICAL = (
    "Audit logs are kept for thirty days and can be exported by an administrator.",
    "The trial does not need a credit card; it ends after 30 days.",
    "I'm sorry, but the provided context does not contain any information about the refund period.",
)


class Labelled(NamedTuple):
    """An answer, the question it was given to, and whether people called it a refusal."""

    name: str
    question: str
    answer: str
    refusal: bool


def main() -> int:
    rows = [*_financebench(), *_clapnq(), *_delucionqa()]
    natural = load_rule("natural")
    rules: dict[str, Callable[[str, str], bool]] = {
        "phrase list": _naive,
        "natural": natural.matches,
        "or in doubt": lambda answer, question: natural.reads(answer, question) != "answer",
    }
    columns = ("half", 9), ("data set", 13), ("rule", 13), ("n", 6), ("refusals", 10)
    print("".join(f"{name:<{width}}" for name, width in columns) + f"  {'precision':<31}{'recall':<31}F1")
    for half, building in (("built on", True), ("reported", False)):
        for name in sorted({row.name for row in rows}):
            chosen = [row for row in rows if row.name == name and built_on(row.question) == building]
            for rule, matches in rules.items():
                print(f"{half:<9}{name:<13}{rule:<13}{_figures(chosen, matches)}")
    for text in TYPICAL:
        seconds = min(timeit.repeat(partial(natural.matches, text), timer=time.process_time, number=2000)) / 2000
        print(f"{1e6 * seconds:6.1f} µs  {text}")
    return 0


def built_on(question: str) -> bool:
    """The half of the questions that the rule was built on."""
    return int(hashlib.sha256(question.encode()).hexdigest()[0], 16) % 2 == 0


def _naive(answer: str, question: str) -> bool:
    text = answer.lower().replace("’", "'")
    return any(phrase in text for phrase in NAIVE)


def _figures(rows: list[Labelled], matches: Callable[[str, str], bool]) -> str:
    verdicts = [(matches(row.answer, row.question), row.refusal) for row in rows]
    hits = verdicts.count((True, True))
    flagged, refusals = sum(flag for flag, _ in verdicts), sum(label for _, label in verdicts)
    f1 = 2 * hits / (flagged + refusals) if flagged + refusals else 0.0
    return f"{len(rows):>6}{refusals:>10}  {share(hits, flagged):<31}{share(hits, refusals):<31}{f1:.3f}"


def share(part: int, whole: int) -> str:
    interval = stats.wilson(part, whole)
    if interval is None:
        return "-"
    return f"{part}/{whole} {part / whole:.3f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def _financebench() -> Iterator[Labelled]:
    for row in _rows(DATA / "refusals" / "financebench_build.jsonl"):
        yield Labelled("financebench", row["question"], row["answer"], row["human_label"] == "Refusal")


def _clapnq() -> Iterator[Labelled]:
    """The published verdict `... Negative` says that the answer was taken for a refusal."""
    folder = DATA / "clapnq_rag"
    ratings = {(row["qid"], row["model"]): row for row in _rows(folder / "human_ratings.jsonl")}
    for model in ("gpt", "llama", "mistral"):
        for row in _rows(folder / f"trace.{model}.jsonl"):
            refusal = ratings[row["qid"], model]["answerability_accuracy"].endswith("Negative")
            yield Labelled("clapnq", row["q"], row["answer_json"]["claim"], refusal)


def _delucionqa() -> Iterator[Labelled]:
    """Labelled by its authors' own rule, which many refusals slip through: read the precision with that in mind."""
    for row in _rows(DATA / "delucionqa" / "answers.train_dev.jsonl"):
        yield Labelled("delucionqa", row["question"], row["answer"], row["does_not_answer"])


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


if __name__ == "__main__":
    sys.exit(main())
