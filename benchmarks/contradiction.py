"""Precision and recall of the contradiction rule on sentence pairs that people have labelled."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shipworthy.language.contradiction import contradicts

FOLDER = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
DATA = FOLDER / "nli"
PASSAGES = FOLDER / "clapnq_rag"
FILES = ("breaking_nli", "negation_snli", "conjnli_dev")
HALVED = "breaking_nli"  # the words were chosen with one half in view; the other half tells what that is worth
SEED = 20240501
Pair = dict[str, Any]


def main() -> int:
    parts = dict(_parts())
    if not parts:
        print(f"skipped: no nli under {DATA} (SHIPWORTHY_DATA)")
        return 0
    print(f"{'pairs':38}{'precision':>22}{'recall':>22}")
    for name, pairs in parts.items():
        for phenomenon, counts in sorted(_counts(pairs).items()):
            print(f"{name + ' ' + phenomenon:38}{_precision(counts):>22}{_recall(counts):>22}")
    if PASSAGES.exists():
        print("answers flagged against the passage that they answer from:", _running_text())
    return 0


def _parts() -> Iterator[tuple[str, list[Pair]]]:
    for name in FILES:
        path = DATA / f"{name}.jsonl"
        if not path.exists():
            continue
        pairs = _rows(path)
        yield name, pairs
        if name == HALVED:
            seen = _first_half(pairs)
            yield f"{name} tuned", [pair for pair in pairs if pair["premise"] in seen]
            yield f"{name} kept aside", [pair for pair in pairs if pair["premise"] not in seen]


def _first_half(pairs: list[Pair]) -> set[str]:
    """Half of the premises: the pairs of one premise stay together, or the halves would know each other."""
    premises = sorted({pair["premise"] for pair in pairs})
    random.Random(SEED).shuffle(premises)
    return set(premises[: len(premises) // 2])


def _counts(pairs: list[Pair]) -> dict[str, Counter[tuple[bool, bool]]]:
    """(flagged, contradictory) → pairs, over all and for each phenomenon."""
    counts: dict[str, Counter[tuple[bool, bool]]] = {"": Counter()}
    for pair in pairs:
        flagged = contradicts(pair["premise"], pair["hypothesis"]) is not None
        outcome = (flagged, pair["label"] == "contradiction")
        counts[""][outcome] += 1
        counts.setdefault(pair["phenomenon"], Counter())[outcome] += 1
    return counts


def _precision(counts: Counter[tuple[bool, bool]]) -> str:
    return _ratio(counts[True, True], counts[True, True] + counts[True, False])


def _recall(counts: Counter[tuple[bool, bool]]) -> str:
    return _ratio(counts[True, True], counts[True, True] + counts[False, True])


def _ratio(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:.3f}" if whole else "0/0 undefined"


def _running_text() -> str:
    """Answers that mostly follow their passage: nearly every flag is a false one."""
    passages = {row["id"]: row["text"] for row in _rows(PASSAGES / "chunks.jsonl")}
    traces = [trace for path in sorted(PASSAGES.glob("trace.*.jsonl")) for trace in _rows(path)]
    pairs = [(passages[trace["retrieved_ids"][0]], trace["answer_json"]["claim"]) for trace in traces]
    return f"{sum(contradicts(*pair) is not None for pair in pairs)}/{len(pairs)}"


def _rows(path: Path) -> list[Pair]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
