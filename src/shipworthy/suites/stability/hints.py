"""Where to look when answers are not stable, and the reasons of a decision in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...text import plural
from .verdict import Verdict

GOOD = 0.95  # acr and cghc from here on are good enough to call a difference one of wording
_WORDS = {
    "steady": "Some questions are wrong in every run, and alike: that is not instability. Look at them with the answers suite.",
    "retrieval": "Claims or citations are right in some runs only: the retrieval context is unstable. Look at ties in the "
                 "ranking, at approximate search, and at what a rewording does to the query.",
    "evidence": "Answers cite different blocks for the same question: near-duplicate evidence competes. Deduplicate it, or "
                "fix the order of equals.",
    "wording": "Answers agree in substance and differ in wording only: lower the temperature, or shape the claim.",
    "refusal": "Unanswerable questions are refused in some runs only: the refusal token drifts. Look at the refusal rule "
               "and at near-refusals.",
    "constraints": "Constraints are lost in some runs: they are not re-injected at each stage.",
}  # fmt: skip


def reasons(verdicts: Sequence[Verdict], tally: Mapping[str, int]) -> list[str]:
    """Which bars the failing questions miss."""
    failing = [verdict for verdict in verdicts if verdict.failed]
    if not failing:
        return []
    missed = Counter(name for verdict in failing for name in verdict.failed)
    bars = ", ".join(
        f"{name} in {count}" for name, count in sorted(missed.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    verb = "misses" if len(failing) == 1 else "miss"
    return [f"{len(failing)} of {plural(tally['judged'], 'question')} {verb} a bar: {bars}"]


def diagnose(verdicts: Sequence[Verdict], tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    missed = Counter(_cause(name, verdict) for verdict in verdicts for name in verdict.failed)
    found = [words for cause, words in _WORDS.items() if missed[cause]]
    return found + _culprits(tables) + _prompts(verdicts)


def _cause(name: str, verdict: Verdict) -> str:
    if not verdict.flips and verdict.values["pass^1"] == 0:
        return "steady"
    if name == "ned50":
        rates = [verdict.values["acr"], verdict.values["cghc"]]
        steady = all(rate is None or rate >= GOOD for rate in rates)
        return "wording" if steady else "retrieval"
    return {"css": "evidence", "css_all": "evidence", "jaccard": "evidence", "iaa": "wording", "refusal_rate": "refusal",
            "scu_cons": "constraints"}.get(name, "retrieval")  # fmt: skip


def _culprits(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Which jitters and seeds cause the flips, most harmful first; the first is named alone where it stands out."""
    found = []
    for axis, rows in tables.items():
        harmful = [row for row in rows if row["flips"]]
        if not harmful or len(rows) < 2:
            continue
        if harmful[0]["rate"] >= 2 * rows[1]["rate"]:
            worst = harmful[0]
            found.append(f"The {axis} {worst[axis]} breaks {worst['questions_flipped']} of "
                         f"{plural(worst['questions'], 'question')} ({worst['flips']} of {worst['runs']} runs).")  # fmt: skip
            continue
        shown = ", ".join(f"{row[axis]} {row['questions_flipped']}/{row['questions']}" for row in harmful[:6])
        found.append(f"Questions broken by {axis}: {shown}; none stands out.")
    return found


def _prompts(verdicts: Iterable[Verdict]) -> list[str]:
    told = [verdict for verdict in verdicts if verdict.effective_runs is not None and verdict.runs]
    runs, effective = sum(len(verdict.runs) for verdict in told), sum(verdict.effective_runs or 0 for verdict in told)
    if not told or effective == runs:
        return []
    return [f"{runs} runs are {effective} different ones: some jitters leave their question unchanged, and the same text "
            "went out again under the same seed."]  # fmt: skip
