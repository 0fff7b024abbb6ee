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
from ...core.evidence import Counts, Judged
from ...core.gates import Gate
from ...core.join import Case
from ...core.metrics import Measure
from ...core.suite import Findings, Reference
from ...core.tally import Fact, Tally, lacks_of, more_held
from ...language.refusal import TOKEN
from ..answers.judge import Judging, held_by
from .spread import distance_and_agreement
from .verdict import Context, ExpectedRuns, RunFacts

PART = "reference"  # the part of the evidence that counts what the original script counts
DEFAULT_GATES = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20, "rcr": 0.98}
LEAST = 5  # the original's shortest substring
_DELETED = str.maketrans("", "", string.punctuation)
_BLANKS = re.compile(r"\s+")
_NOBODY = Gold(qid="-", answerable=False)
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
        canon(trace.answer.claim) for trace in traces if trace.answer.claim and not _refused(trace)
    )
    return {
        "acr": Fraction(sum(_contained(gold, trace) for trace in traces), n),
        "cghc": Fraction(sum(_hit(gold, trace) for trace in traces), n),
        "css": Fraction(len(shared), len(union)) if union else Fraction(1),
        "ned50": Fraction(0) if ned50 is None else ned50,
        "rcr": _rcr(traces),
        "scu_cons": _constraints(gold, traces),
    }


def _refused(trace: Trace) -> bool:
    return trace.answer.claim.strip().lower() == TOKEN


def _rcr(traces: Sequence[Trace]) -> Fraction:
    refused = sum(map(_refused, traces))
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


def _facts(gold: Gold, exact: Details, context: Context) -> tuple[str, str]:
    return (
        "answerable" if gold.answerable else "unanswerable",
        "pass" if _passes(gold, exact, context.bounds) else "fail",
    )


def _rounded(value: Fraction | int | None) -> float | int | None:
    """The script divides in floating point and rounds that; rounding the fraction could differ in the last place."""
    if not isinstance(value, Fraction):
        return value
    return round(value.numerator / value.denominator, 4)


# --- the profile itself ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """What the original script makes of a question; it starts from the runs, so gold may not have the question."""
    traces, gold = case.records["runs"], case.gold or _NOBODY
    exact = details(gold, traces)
    shown = {name: _rounded(value) for name, value in exact.items()}
    values: tuple[Fact, ...] = ()
    for trace in traces:
        if not trace.error:
            values = more_held((*values, *held_by(trace, _refused(trace))))
    counts = (
        Counts(_facts(gold, exact, context), part=PART),
        Counts(("items", *values), named=lacks_of(values)),
    )
    lost = case.gold is not None and any(trace.error for trace in traces)  # a run of a question of the gold set failed
    return (Judged({"qid": case.key, **shown}, counts, (case.place, case.key), lost=lost),)


def reference(findings: Findings) -> Reference:
    """The decision of the original script: no question may fail."""
    context: Context = findings.context
    shown = _totals(findings.evidence.part(PART))
    rows, failing = findings.evidence.rows, shown["fail"]
    limits = {name: number(context.bounds[name]) for name in DEFAULT_GATES}
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


def is_plain(gold: Gold, judging: Judging) -> bool:
    """Whether both profiles hold a claim and its citations against the same texts and ids, in the same way."""
    return (
        judging.min_substr == LEAST
        and judging.id_map is None
        and judging.cites
        and judging.logs_retrieval
        and not judging.declared
        and gold.match == "any"
        and bool(gold.citations)
        and bool(gold.substrings)
        and all(text.isascii() and text == " ".join(text.split()) for text in gold.substrings)
    )


def compared(
    question: ExpectedRuns,
    traces: Sequence[Trace],
    judged: Sequence[tuple[Trace, RunFacts]],
    values: Mapping[str, Fraction | None],
    context: Context,
) -> tuple[str, ...]:
    """What the original script counts for the question, and whether a number that decides about it differs."""
    exact = _exact(question, traces, judged, values)
    names = _COMPARED if question.gold.answerable else ("rcr",)
    differs = any(_rounded(exact[name]) != _rounded(values[name]) for name in names)
    return (*_facts(question.gold, exact, context), *(["differs"] if differs else []))


def _exact(
    question: ExpectedRuns,
    traces: Sequence[Trace],
    judged: Sequence[tuple[Trace, RunFacts]],
    values: Mapping[str, Fraction | None],
) -> Details:
    """Its numbers; the traces are walked again only where the two profiles can read them differently."""
    if not question.gold.answerable:
        return {"rcr": _rcr(traces)}  # all that it looks at
    if not question.plain or len(judged) < len(traces) or not all(_reads_alike(question, *pair) for pair in judged):
        return details(question.gold, traces)
    return {
        **values,
        "css": Fraction(1) if values["css_all"] is None else values["css_all"],
        "ned50": values["ned50"] or Fraction(0),
        "scu_cons": _constraints(question.gold, traces),
    }


def _reads_alike(question: ExpectedRuns, trace: Trace, run: RunFacts) -> bool:
    """Whether the strict facts about a run of a plain question are those of the original script."""
    claim = trace.answer.claim
    if run.status == "error" or not claim.isascii() or not claim.strip():
        return False
    if run.status == "refused":
        return not run.citations and not _contained(question.gold, trace)
    # The two read a claim differently: one spelling and its guards here, deleted punctuation there.
    return canon(claim) == run.claim and run.contained == _contained(question.gold, trace)


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
