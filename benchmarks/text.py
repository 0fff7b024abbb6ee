"""How answers are read: sets that were written for this project by authors who had seen neither code nor rules.

    python benchmarks/text.py

The rules were corrected on `text_sets/built_on`, which says nothing about other text. `text_sets/reported` was written
after that, and measured once. `built_on_2` and `reported_2` are halves of one more set, split by a hash of the id; its
author corrected the rules afterwards, on the misses of the first half. Labels are what a careful reader would say; the
authors are a language model, and nobody else has checked them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import msgspec

from shipworthy.core.contracts import Gold
from shipworthy.language.refusal import counts, load_rule
from shipworthy.suites.answers import matching

SETS = Path(__file__).parent / "text_sets"


def main() -> int:
    for folder in ("built_on", "reported", "built_on_2", "reported_2"):
        for name, by in (
            ("matching_en", "kind"),
            ("refusals_en", "kind"),
            ("languages", "kind"),
            ("languages", "lang"),
        ):
            _print(f"{folder} {name} by {by}", SETS / folder / f"{name}.jsonl", by, refusals=name != "matching_en")
    return 0


def _print(title: str, path: Path, by: str, refusals: bool) -> None:
    rule = load_rule("natural")
    found: Counter[tuple[str, str]] = Counter()
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        gold = msgspec.convert({"qid": row["id"], "question": row["question"], **row["gold"]}, Gold)
        if refusals and counts(rule.reads(row["answer"], row["question"]), bool(gold.answerable)):
            said = "refusal"
        else:
            asserts = gold.answerable and matching.state(matching.wanted(gold), row["answer"]) == matching.FOUND
            said = "correct" if asserts else "wrong"
        passes = {"correct"} if gold.answerable else {"refusal"}
        kind = "right" if said == row["label"] else "false pass" if said in passes else "false fail"
        for group in (row[by], "all"):
            found[group, kind] += 1
            found[group, "n"] += 1
    print(f"{title:<34}{'n':>6}{'right':>8}{'false pass':>12}{'false fail':>12}")
    for group in dict.fromkeys(group for group, _ in found):
        cells = [found[group, name] for name in ("n", "right", "false pass", "false fail")]
        print(f"  {group:<32}{cells[0]:>6}{cells[1]:>8}{cells[2]:>12}{cells[3]:>12}")


if __name__ == "__main__":
    sys.exit(main())
