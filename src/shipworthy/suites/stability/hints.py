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
    "steady": "Some questions are wrong in every run in the same way. That is not instability: look at them with "
    "`shipworthy score`.",
    "retrieval": "Answers or citations are right in some runs only: retrieval is unstable. Check ties in the ranking, "
    "approximate search, and what a rewording does to the query.",
    "answer": "Answers are right in some runs only, although all runs cite the same sources: the model differs, not "
    "retrieval. Lower the temperature, or constrain the answer.",
    "evidence": "Answers cite different blocks for the same question: near-duplicate evidence competes. Remove "
    "duplicates, or fix the order of equal scores.",
    "wording": "Answers agree in substance and differ in wording only: lower the temperature, or constrain the format.",
    "refusal": "Unanswerable questions are refused in some runs only. Check the refusal rule and near refusals.",
    "constraints": "Constraints are lost in some runs: repeat them at each stage of the pipeline.",
}
_CAUSES = {
    "css": "evidence",
    "css_all": "evidence",
    "jaccard": "evidence",
    "iaa": "wording",
    "refusal_rate": "refusal",
    "scu_cons": "constraints",
}


_AXIS = {"jitter": "rewording", "seed": "seed"}


def titled(name: str) -> str:
    """`citation-set stability (css)`."""
    return BARS[name].words.title(name)


def causes(verdict: Verdict) -> Iterator[str]:
    """What is behind each threshold that a question misses."""
    return (_cause(name, verdict) for name in verdict.failed)


def _cause(name: str, verdict: Verdict) -> str:
    if not verdict.flips and verdict.values["pass^1"] == 0:
        return "steady"
    if name == "ned50":
        rates = [verdict.values["acr"], verdict.values["cghc"]]
        steady = all(rate is None or rate >= GOOD for rate in rates)
        return "wording" if steady else _unsteady(verdict)
    return _CAUSES.get(name) or _unsteady(verdict)


def _unsteady(verdict: Verdict) -> str:
    """Where every run cites the same sources, retrieval is not what differs."""
    return "answer" if verdict.values.get("css_all") == 1 else "retrieval"


def reasons(tally: Tally) -> list[str]:
    """Which thresholds the failing questions miss."""
    if not tally["failing"]:
        return []
    missed = {name: tally[f"failing_{name}"] for name in BARS}
    by_count = sorted((-count, name) for name, count in missed.items() if count)
    bars = ", ".join(f"{titled(name)} {-count}" for count, name in by_count)
    return [f"questions that miss each threshold: {bars}"]


def diagnose(aside: Tally, tables: Mapping[str, Sequence[Row]]) -> list[str]:
    missed = [words for cause, words in _WORDS.items() if aside[f"cause_{cause}"]]
    return missed + _referred(aside["referred"]) + _culprits(tables) + _prompts(aside)


def _referred(count: int) -> list[str]:
    if not count:
        return []
    are = "question is" if count == 1 else "questions are"
    return [f"{count} {are} wrong in every run in the same way. Judge them with `shipworthy score`."]


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
                f"The {_AXIS[axis]} {worst[axis]} changes {worst['questions_flipped']} of "
                f"{plural(worst['questions'], 'question')} ({worst['flips']} of {worst['runs']} runs)."
            )
            continue
        shown = ", ".join(f"{row[axis]} {row['questions_flipped']}/{row['questions']}" for row in harmful[:6])
        culprits.append(f"Questions changed by each {_AXIS[axis]}: {shown}; none is much worse than the others.")
    return culprits


def _prompts(aside: Tally) -> list[str]:
    runs, effective = total(aside, "runs_told_apart"), total(aside, "effective_runs")
    if effective == runs:
        return []
    return [
        f"{runs - effective:,} of the {runs:,} runs were duplicates: some rewordings changed nothing, so their text "
        "and seed are those of another run."
    ]


def total(tally: Tally, name: str) -> int:
    """The sum of the whole numbers seen under a name."""
    return sum(int(value) * count for value, count in tally.values(name).items())
