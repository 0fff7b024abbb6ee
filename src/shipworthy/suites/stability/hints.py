"""Where to look when answers are not stable, and the reasons of a decision in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...core.evidence import Row
from ...core.tally import Tally
from ...text import plural
from .options import BARS
from .verdict import Verdict

GOOD = 0.95  # acr and cghc from here on are good enough to call a difference one of wording
_WORDS = {
    "steady": "Some questions are wrong in every run, and alike: that is not instability. Look at them with the "
    "answers suite.",
    "retrieval": "Claims or citations are right in some runs only: the retrieval context is unstable. Look at ties in "
    "the ranking, at approximate search, and at what a rewording does to the query.",
    "evidence": "Answers cite different blocks for the same question: near-duplicate evidence competes. Deduplicate "
    "it, or fix the order of equals.",
    "wording": "Answers agree in substance and differ in wording only: lower the temperature, or shape the claim.",
    "refusal": "Unanswerable questions are refused in some runs only: the refusal token drifts. Look at the refusal "
    "rule and at near-refusals.",
    "constraints": "Constraints are lost in some runs: they are not re-injected at each stage.",
}
_CAUSES = {
    "css": "evidence",
    "css_all": "evidence",
    "jaccard": "evidence",
    "iaa": "wording",
    "refusal_rate": "refusal",
    "scu_cons": "constraints",
}


def causes(verdict: Verdict) -> Iterator[str]:
    """What is behind each bar that a question misses."""
    return (_cause(name, verdict) for name in verdict.failed)


def _cause(name: str, verdict: Verdict) -> str:
    if not verdict.flips and verdict.values["pass^1"] == 0:
        return "steady"
    if name == "ned50":
        rates = [verdict.values["acr"], verdict.values["cghc"]]
        steady = all(rate is None or rate >= GOOD for rate in rates)
        return "wording" if steady else "retrieval"
    return _CAUSES.get(name, "retrieval")


def reasons(tally: Tally) -> list[str]:
    """Which bars the failing questions miss."""
    failing = tally["failing"]
    if not failing:
        return []
    missed = {name: tally[f"failing_{name}"] for name in BARS}
    by_count = sorted((-count, name) for name, count in missed.items() if count)
    bars = ", ".join(f"{name} in {-count}" for count, name in by_count)
    verb = "misses" if failing == 1 else "miss"
    return [f"{failing} of {plural(tally['judged'], 'question')} {verb} a bar: {bars}"]


def diagnose(aside: Tally, tables: Mapping[str, Sequence[Row]]) -> list[str]:
    missed = [words for cause, words in _WORDS.items() if aside[f"cause_{cause}"]]
    return missed + _culprits(tables) + _prompts(aside)


def _culprits(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Which jitters and seeds cause the flips, most harmful first; the first is named alone where it stands out."""
    culprits = []
    for axis, rows in tables.items():
        harmful = [row for row in rows if row["flips"]]
        if not harmful or len(rows) < 2:
            continue
        if harmful[0]["rate"] >= 2 * rows[1]["rate"]:
            worst = harmful[0]
            culprits.append(
                f"The {axis} {worst[axis]} breaks {worst['questions_flipped']} of "
                f"{plural(worst['questions'], 'question')} ({worst['flips']} of {worst['runs']} runs)."
            )
            continue
        shown = ", ".join(f"{row[axis]} {row['questions_flipped']}/{row['questions']}" for row in harmful[:6])
        culprits.append(f"Questions broken by {axis}: {shown}; none stands out.")
    return culprits


def _prompts(aside: Tally) -> list[str]:
    runs, effective = total(aside, "runs_told_apart"), total(aside, "effective_runs")
    if effective == runs:
        return []
    return [
        f"{runs} runs are {effective} different ones: some jitters leave their question unchanged, and the same text "
        "went out again under the same seed."
    ]


def total(tally: Tally, name: str) -> int:
    """The sum of the whole numbers seen under a name."""
    return sum(int(value) * count for value, count in tally.values(name).items())
