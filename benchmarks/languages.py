"""What is read right in each language with a pack, on answers that were written for this project by somebody else.

Split by a hash of the item's id before anybody looked: packs were corrected on one half, and are reported on the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from shipworthy.core.contracts import Gold
from shipworthy.language.refusal import counts, load_rule
from shipworthy.suites.answers import matching

DATA = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
KINDS = {"correct": "found", "denial": "denied", "refusal": "refused", "wrong-number": "numbers", "leak": "leaks"}


def main() -> int:
    rule = load_rule("natural")
    for half, building in (("corrected on", True), ("reported", False)):
        right: Counter[tuple[str, str]] = Counter()
        total: Counter[tuple[str, str]] = Counter()
        for row in _rows():
            if built_on(row["id"]) == building:
                for group in (row["lang"], "all"):
                    total[group, KINDS[row["kind"]]] += 1
                    right[group, KINDS[row["kind"]]] += _called(row, rule) == row["label"]
        print(f"{half:<14}" + "".join(f"{name:>10}" for name in KINDS.values()) + f"{'all':>12}")
        for lang in dict.fromkeys(lang for lang, _ in total):
            cells = [f"{right[lang, name]}/{total[lang, name]}" for name in KINDS.values()]
            sums = [sum(table[lang, name] for name in KINDS.values()) for table in (right, total)]
            print(f"{lang:<14}" + "".join(f"{cell:>10}" for cell in cells) + f"{sums[0]:>8}/{sums[1]}")
    return 0


def built_on(name: str) -> bool:
    """The half of the items that the packs were corrected on."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def _called(row: dict, rule: object) -> str:  # type: ignore[type-arg]
    gold = msgspec.convert({"qid": row["id"], "question": row["question"], **row["gold"]}, Gold)
    if counts(rule.reads(row["answer"], row["question"]), bool(gold.answerable)):  # type: ignore[attr-defined]
        return "refusal"
    found = gold.answerable and matching.state(matching.wanted(gold), row["answer"]) == matching.FOUND
    return "correct" if found else "wrong"


def _rows() -> Iterator[dict]:  # type: ignore[type-arg]
    path = DATA / "written" / "languages.jsonl"
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


if __name__ == "__main__":
    sys.exit(main())
