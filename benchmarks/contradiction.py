"""Precision and recall of the contradiction rule on sentence pairs that people have labelled.

The pairs are split by a hash: the rule was built on one half, and is reported on the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import timeit
from collections import Counter
from functools import partial
from pathlib import Path

from shipworthy import stats
from shipworthy.language.contradiction import Contradiction, contradicts

FOLDER = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = ("breaking_nli", "negation_snli", "conjnli_dev")
TYPICAL = (
    ("The service rejects null keys.", "Null keys are accepted by the service."),
    ("The service rejects null keys.", "The service stores every key in the region of its owner."),
    ("The timeout is at most 30 seconds.", "The timeout of the gateway is 45 seconds."),
    ("Only admins can delete projects.", "Audit logs are exported every night."),
)
Pair = dict[str, str]


def main() -> int:
    if not (FOLDER / "nli").exists():
        print(f"skipped: no nli under {FOLDER} (SHIPWORTHY_DATA)")
        return 0
    print(f"{'half':<10}{'pairs':<15}{'n':>6}  {'precision':<32}{'recall':<32}false alarms on pairs that agree")
    for half, building in (("built on", True), ("reported", False)):
        rules: Counter[tuple[str, bool]] = Counter()
        for name in FILES:
            pairs = [pair for pair in _rows(FOLDER / "nli" / f"{name}.jsonl") if built_on(_key(pair)) == building]
            print(f"{half:<10}{name:<15}{len(pairs):>6}  {_figures(pairs, rules)}")
        print(f"{half:<10}answers against the passage that they answer from: {_running_text(building)}")
        print(f"{half:<10}hits by rule, right and wrong: {_by_rule(rules)}")
    for constraint, claim in TYPICAL:
        run = partial(contradicts, constraint, claim)
        seconds = min(timeit.repeat(run, timer=time.process_time, number=1000, repeat=5)) / 1000
        print(f"{1e6 * seconds:6.1f} µs  {constraint} / {claim}")
    return 0


def built_on(key: str) -> bool:
    return int(hashlib.sha256(key.encode()).hexdigest()[0], 16) % 2 == 0


def _key(pair: Pair) -> str:
    return f"{pair['premise']}\n{pair['hypothesis']}"


def _figures(pairs: list[Pair], rules: Counter[tuple[str, bool]]) -> str:
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for pair in pairs:
        flagged, right = contradicts(pair["premise"], pair["hypothesis"]), pair["label"] == "contradiction"
        outcomes[flagged is not None, right] += 1
        if flagged is not None:
            rules[_rule(flagged), right] += 1
    hits, alarms = outcomes[True, True], outcomes[True, False]
    opposed, agreed = hits + outcomes[False, True], alarms + outcomes[False, False]
    return f"{_share(hits, hits + alarms):<32}{_share(hits, opposed):<32}{_share(alarms, agreed)}"


def _rule(flagged: Contradiction) -> str:
    """Which of the rules speaks, by what it says."""
    if flagged.why.startswith(("negation", "must", "only")):
        return flagged.why.split()[0]
    return "amount" if any(char.isdigit() for char in flagged.why) else "opposite"


def _by_rule(rules: Counter[tuple[str, bool]]) -> str:
    names = sorted({name for name, _ in rules})
    return ", ".join(f"{name} {rules[name, True]}/{rules[name, False]}" for name in names)


def _share(part: int, whole: int) -> str:
    interval = stats.wilson(part, whole)
    return "-" if interval is None else f"{part}/{whole} {part / whole:.3f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def _running_text(building: bool) -> str:
    """Answers that mostly follow their passage: nearly every flag is a false one."""
    folder = FOLDER / "clapnq_rag"
    passages = {row["id"]: row["text"] for row in _rows(folder / "chunks.jsonl")}
    rows = [json.loads(line) for path in sorted(folder.glob("trace.*.jsonl")) for line in path.open(encoding="utf-8")]
    pairs = [
        (passages[row["retrieved_ids"][0]], row["answer_json"]["claim"])
        for row in rows
        if built_on(row["q"]) == building
    ]
    return _share(sum(contradicts(*pair) is not None for pair in pairs), len(pairs))


def _rows(path: Path) -> list[Pair]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
