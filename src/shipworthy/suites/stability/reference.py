"""The reference profile: what the original script prints about stability, number for number, mistakes included.

It goes through the traces, so a gold item without runs is not seen, and an unknown qid counts as unanswerable.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from ...core.contracts import Gold, Trace, ids_of
from ...core.decision import number
from ...core.gates import Gate
from ...core.metrics import Measure
from ...core.suite import Findings, Reference
from ...core.tally import Tally
from ...language.refusal import TOKEN
from .spread import distance_and_agreement

PART = "reference"  # the part of the evidence that counts what the original script counts
DEFAULT_GATES = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20, "rcr": 0.98}
LEAST = 5  # the original's shortest substring
_DELETED = str.maketrans("", "", string.punctuation)
_BLANKS = re.compile(r"\s+")
NOBODY = Gold(qid="-", answerable=False)
_COMPARED = ("acr", "cghc", "css", "ned50", "scu_cons")  # what decides about an answerable question

Details = Mapping[str, Fraction | int | None]


@lru_cache(maxsize=1 << 10)  # what is expected is read for each run of a question, a claim twice
def canon(text: str) -> str:
    """Lower case, ASCII punctuation deleted, white space collapsed; a blank that punctuation leaves in front stays."""
    return _BLANKS.sub(" ", text.strip().lower().translate(_DELETED))


def details(gold: Gold, traces: Sequence[Trace]) -> dict[str, Fraction | int | None]:
    """The numbers of one question, exact, from its traces alone."""
    n = len(traces)
    sets = [set(ids_of(trace.answer.citations)) for trace in traces]
    union, shared = set[str]().union(*sets), set.intersection(*sets)
    ned50, _ = distance_and_agreement(
        canon(trace.answer.claim) for trace in traces if trace.answer.claim and not is_refusal(trace)
    )
    return {
        "acr": Fraction(sum(_contained(gold, trace) for trace in traces), n),
        "cghc": Fraction(sum(_hit(gold, trace) for trace in traces), n),
        "css": Fraction(len(shared), len(union)) if union else Fraction(1),
        "ned50": Fraction(0) if ned50 is None else ned50,
        "rcr": _rcr(traces),
        "scu_cons": _constraints(gold, traces),
    }


def is_refusal(trace: Trace) -> bool:
    return trace.answer.claim.strip().lower() == TOKEN


def _rcr(traces: Sequence[Trace]) -> Fraction:
    refused = sum(map(is_refusal, traces))
    return Fraction(max(refused, len(traces) - refused), len(traces))


def _contained(gold: Gold, trace: Trace) -> bool:
    """A missing list and an empty one are both vacuous here; a length is that of the text before canon."""
    if not gold.substrings:
        return True
    claim = canon(trace.answer.claim)
    return any(len(text) >= LEAST and canon(text) in claim for text in gold.substrings)


def _hit(gold: Gold, trace: Trace) -> bool:
    cited, wanted = set(ids_of(trace.answer.citations)), set(gold.citations)
    if not wanted:
        return not cited
    return bool(wanted & cited) and cited <= set(trace.retrieved)


def _constraints(gold: Gold, traces: Sequence[Trace]) -> int | None:
    """Every run counts, refusals included; what is echoed twice or in another order is the same set."""
    if not gold.constraints:
        return None
    locked = set(gold.constraints)
    return int(all(set(trace.answer.constraints_echo) == locked for trace in traces))


def bounds(bars: Sequence[Gate]) -> dict[str, Fraction]:
    """The bounds of the original script, with those of the bars in their place."""
    known = {name: Fraction(str(value)) for name, value in DEFAULT_GATES.items()}
    return known | {"rcr" if bar.metric == "refusal_rate" else bar.metric: bar.bound.number for bar in bars}


def _passes(gold: Gold, exact: Details, limits: Mapping[str, Fraction]) -> bool:
    if not gold.answerable:
        return exact["rcr"] >= limits["rcr"]  # type: ignore[operator]
    lower = all(exact[name] >= limits[name] for name in ("acr", "cghc", "css"))  # type: ignore[operator]
    return lower and exact["ned50"] <= limits["ned50"] and exact["scu_cons"] in (None, 1)  # type: ignore[operator]


def facts(gold: Gold, exact: Details, limits: Mapping[str, Fraction]) -> tuple[str, str]:
    return "answerable" if gold.answerable else "unanswerable", "pass" if _passes(gold, exact, limits) else "fail"


def rounded(value: Fraction | int | None) -> float | int | None:
    """The script divides in floating point and rounds that; rounding the fraction could differ in the last place."""
    if not isinstance(value, Fraction):
        return value
    return round(value.numerator / value.denominator, 4)


# --- the profile itself ---


def reference(findings: Findings) -> Reference:
    """The decision of the original script: no question may fail."""
    known: Mapping[str, Fraction] = findings.context.bounds
    shown = _totals(findings.evidence.part(PART))
    rows, failing = findings.evidence.rows, shown["fail"]
    limits = {name: number(known[name]) for name in DEFAULT_GATES}
    printed = {row["qid"]: {name: value for name, value in row.items() if name != "qid"} for row in rows}
    return Reference(
        measures={"failing": Measure("failing", "count", Fraction(failing), len(rows), failing)},
        headline={"totals": shown, "gates": limits, "details": printed},
        gates=[Gate.parse("failing <= 0")],
        items=rows,
        incomplete=[] if rows else ["there is no run to judge"],
    )


def _totals(tally: Tally) -> dict[str, int]:
    return {name: tally[name] for name in ("answerable", "unanswerable", "fail", "pass")}


# --- what it would say beside the strict profile ---


def compare(
    gold: Gold, traces: Sequence[Trace], values: Mapping[str, Fraction | None], limits: Mapping[str, Fraction]
) -> tuple[str, ...]:
    """What the original script counts for the question, and whether a number that decides about it differs."""
    names = _COMPARED if gold.answerable else ("rcr",)
    exact = details(gold, traces) if gold.answerable else {"rcr": _rcr(traces)}  # all that it looks at
    differs = any(rounded(exact[name]) != rounded(values[name]) for name in names)
    return (*facts(gold, exact, limits), *(["differs"] if differs else []))


def compat(findings: Findings) -> dict[str, object]:
    """The original script's totals, and which questions it has other numbers for."""
    tally, theirs = findings.tally, findings.evidence.part(PART)
    ours = {"pass": "passing", "fail": "failing", "answerable": "answerable", "unanswerable": "unanswerable"}
    differs = [name for name, fact in ours.items() if theirs[name] != tally[fact]]
    return {
        "agrees": not differs and not theirs["differs"],
        "differs": differs,
        "questions": theirs.named("differs"),
        "questions_that_differ": theirs["differs"],
        "reference": _totals(theirs),
    }
