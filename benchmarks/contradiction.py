"""Precision and recall of the contradiction rule on sentence pairs that people have labelled.

The pairs are split by a hash: the rule was built on one half, and is reported on the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from shipworthy import stats
from shipworthy.language import contradiction
from shipworthy.language.contradiction import Contradiction, contradicts

FOLDER = Path(os.environ.get("SHIPWORTHY_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = ("breaking_nli", "negation_snli", "conjnli_dev")
TYPICAL = (
    ("The service rejects null keys.", "Null keys are accepted by the service."),
    ("The service rejects null keys.", "The service stores every key in the region of its owner."),
    ("The timeout is at most 30 seconds.", "The timeout of the gateway is 45 seconds."),
    ("Only admins can delete projects.", "Audit logs are exported every night."),
)
# What anybody would write in five minutes: one of the two has a word of denial, and they share half of their words.
DENIAL = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|cannot)\b|n['’]t\b")
Pair = dict[str, str]
Rule = Callable[[str, str], object]


def main() -> int:
    if not (FOLDER / "nli").exists():
        print(f"skipped: no nli under {FOLDER} (SHIPWORTHY_DATA)")
        return 0
    columns = ("half", 10), ("pairs", 15), ("rule", 8)
    print("".join(f"{name:<{width}}" for name, width in columns), end="")
    print(f"{'n':>6}  {'precision':<32}{'recall':<32}false alarms on pairs that agree")
    named: dict[str, Rule] = {"naive": naive, "ours": contradicts}
    for half, building in (("built on", True), ("reported", False)):
        hits: Counter[tuple[str, bool]] = Counter()
        for name in FILES:
            pairs = [pair for pair in _rows(FOLDER / "nli" / f"{name}.jsonl") if built_on(_key(pair)) == building]
            for rule, decide in named.items():
                counted = hits if rule == "ours" else Counter()
                print(f"{half:<10}{name:<15}{rule:<8}{len(pairs):>6}  {_figures(pairs, decide, counted)}")
        answers = _running_text(building)
        for rule, decide in named.items():
            flagged = sum(bool(decide(*pair)) for pair in answers)
            print(
                f"{half:<10}answers against the passage that they answer from, {rule}: {_share(flagged, len(answers))}"
            )
        pairs_of_answers = _true_answers(building)
        flagged = sum(bool(contradicts(*pair)) for pair in pairs_of_answers)
        print(f"{half:<10}true answers to one question, ours: {_share(flagged, len(pairs_of_answers))}")
        print(f"{half:<10}hits by rule, right and wrong: {_by_rule(hits)}")
    _speed()
    return 0


def naive(constraint: str, claim: str) -> bool:
    one, other = (set(re.findall(r"\w+", text.lower())) for text in (constraint, claim))
    denied = bool(DENIAL.search(constraint.lower())) != bool(DENIAL.search(claim.lower()))
    return denied and 2 * len(one & other) >= min(len(one), len(other))


def _speed() -> None:
    """Microseconds a pair. Constraints have been read before, as those of a gold set are; claims have not."""
    for pair in TYPICAL:
        print(f"{_microseconds([pair]):6.1f} µs  {pair[0]} / {pair[1]}")
    for name in FILES:
        rows = [pair for pair in _rows(FOLDER / "nli" / f"{name}.jsonl") if built_on(_key(pair))][:500]
        pairs = [(row["premise"], row["hypothesis"]) for row in rows]
        others = [(premise, pairs[n - 50][1]) for n, (premise, _) in enumerate(pairs)]
        print(
            f"{_microseconds(pairs):6.1f} µs  {name}, labelled pairs; {_microseconds(others):.1f} µs for unrelated ones"
        )


def _microseconds(pairs: Sequence[tuple[str, str]]) -> float:
    rounds = []
    for _ in range(max(5, 500 // len(pairs))):
        contradiction._statements.cache_clear()
        begin = time.process_time()
        for pair in pairs:
            contradicts(*pair)
        rounds.append(time.process_time() - begin)
    return 1e6 * min(rounds) / len(pairs)


def built_on(key: str) -> bool:
    return int(hashlib.sha256(key.encode()).hexdigest()[0], 16) % 2 == 0


def _key(pair: Pair) -> str:
    return f"{pair['premise']}\n{pair['hypothesis']}"


def _figures(pairs: list[Pair], decide: Rule, hits: Counter[tuple[str, bool]]) -> str:
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for pair in pairs:
        flagged, right = decide(pair["premise"], pair["hypothesis"]), pair["label"] == "contradiction"
        outcomes[bool(flagged), right] += 1
        if isinstance(flagged, Contradiction):
            hits[_rule(flagged), right] += 1
    found, alarms = outcomes[True, True], outcomes[True, False]
    opposed, agreed = found + outcomes[False, True], alarms + outcomes[False, False]
    return f"{_share(found, found + alarms):<32}{_share(found, opposed):<32}{_share(alarms, agreed)}"


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


def _running_text(building: bool) -> list[tuple[str, str]]:
    """Answers that mostly follow their passage: nearly every flag is a false one."""
    folder = FOLDER / "clapnq_rag"
    passages = {row["id"]: row["text"] for row in _rows(folder / "chunks.jsonl")}
    rows = [json.loads(line) for path in sorted(folder.glob("trace.*.jsonl")) for line in path.open(encoding="utf-8")]
    return [
        (passages[row["retrieved_ids"][0]], row["answer_json"]["claim"])
        for row in rows
        if built_on(row["q"]) == building
    ]


def _true_answers(building: bool) -> list[tuple[str, str]]:
    """Two answers without a hallucination to the same question; some say yes and no, and are flagged rightly."""
    by_question: dict[str, list[str]] = {}
    for row in _rows(FOLDER / "delucionqa" / "answers.train_dev.jsonl"):
        if not row["hallucinated"] and not row["does_not_answer"] and built_on(row["question"]) == building:
            by_question.setdefault(row["question"], []).append(row["answer"])
    return [pair for answers in by_question.values() for pair in combinations(dict.fromkeys(answers), 2)]


def _rows(path: Path) -> list[Pair]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
