"""Precision, recall and F1 of the refusal rules, on answers written for this and on real ones with published labels."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shipworthy.language.refusal import is_exact, load_rule

WRITTEN = Path(__file__).parents[1] / "tests" / "refusals_written.jsonl"
DATA = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
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
)
Labelled = list[tuple[str, bool]]


def main() -> int:
    sets = {**_written(), **_delucionqa(), **_clapnq()}
    rules: dict[str, Callable[[str], bool]] = {
        "exact": is_exact,
        "naive list": lambda claim: any(phrase in claim.lower() for phrase in NAIVE),
        "natural": load_rule("natural").matches,
    }
    print(f"{'data set':<18} {'rule':<11} {'n':>5} {'refusals':>8} {'precision':>16} {'recall':>16} {'F1':>6}")
    for name, rows in sets.items():
        for rule, matches in rules.items():
            print(_line(name, rule, rows, matches))
    return 0


def _line(name: str, rule: str, rows: Labelled, matches: Callable[[str], bool]) -> str:
    verdicts = [(matches(claim), label) for claim, label in rows]
    hits = verdicts.count((True, True))
    flagged = sum(flag for flag, _ in verdicts)
    refusals = sum(label for _, label in verdicts)
    f1 = _share(2 * hits, flagged + refusals).split()[-1]
    counts = f"{_share(hits, flagged):>16} {_share(hits, refusals):>16} {f1:>6}"
    return f"{name:<18} {rule:<11} {len(rows):>5} {refusals:>8} {counts}"


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:.3f}" if whole else f"{part}/0 undefined"


def _written() -> dict[str, Labelled]:
    sets: dict[str, Labelled] = {}
    for row in _rows(WRITTEN):
        sets.setdefault(f"written {row['set']}", []).append((row["answer"], row["refusal"]))
    return sets


def _delucionqa() -> dict[str, Labelled]:
    path = DATA / "delucionqa" / "answers.train_dev.jsonl"
    sets: dict[str, Labelled] = {}
    for row in _rows(path):
        sets.setdefault(f"delucionqa {row['split']}", []).append((row["answer"], row["does_not_answer"]))
    return sets


def _clapnq() -> dict[str, Labelled]:
    """The published verdict `... Negative` says that the answer was taken for a refusal."""
    ratings = {(row["qid"], row["model"]): row for row in _rows(DATA / "clapnq_rag" / "human_ratings.jsonl")}
    sets: dict[str, Labelled] = {}
    for model in ("gpt", "llama", "mistral"):
        for row in _rows(DATA / "clapnq_rag" / f"trace.{model}.jsonl"):
            label = ratings[row["qid"], model]["answerability_accuracy"].endswith("Negative")
            sets.setdefault(f"clapnq {model}", []).append((row["answer_json"]["claim"], label))
    if sets:
        sets["clapnq all"] = [row for rows in list(sets.values()) for row in rows]
    return sets


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


if __name__ == "__main__":
    sys.exit(main())
