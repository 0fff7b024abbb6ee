"""Measuring: metrics from counts, gates from metrics, and whether the data is complete enough for a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ..errors import UsageError
from ..text import first_few, plural, visible
from .decision import NOTHING_JUDGED, UNJUDGED, decide
from .gates import Gate, Outcome, check_repeated, compare
from .inputs import Input
from .metrics import Measure, Metric
from .options import SuiteOptions
from .suite import Findings, Suite
from .tally import HAS, Tally


def choose_gates(suite: Suite, defaults: list[Gate], wanted: list[Gate], options: SuiteOptions) -> list[Gate]:
    """The default gates with the wanted ones in their place; `only_gates` drops the defaults."""
    if len(wanted) > 1:
        check_repeated(wanted, suite.gate_key)
    chosen: dict[str, Gate] = {} if options.only_gates else {suite.gate_key(gate): gate for gate in defaults}
    chosen |= {suite.gate_key(gate): gate for gate in wanted}
    if not chosen and (defaults or options.only_gates):
        raise UsageError("no gate is left to decide by", hint="Name one with --gates.", code="gate-none")
    if options.require_proof:
        return [msgspec.structs.replace(gate, on_unproven="fail") for gate in chosen.values()]
    return list(chosen.values())


def measure(suite: Suite, findings: Findings) -> None:
    """Measures, outcomes, verdict and reasons, in that order, each from what came before."""
    findings.part = "" if suite.part is None else suite.part(findings)
    findings.baseline = {} if suite.baseline is None else suite.baseline(findings)
    tally, known = findings.tally, findings.known
    tally.counts["superseded"] = findings.evidence.superseded
    tally.counts.setdefault("unknown_qid", findings.gathered.unknown_total)  # unless the suite leaves some out
    findings.measures, findings.outcomes = measure_all(
        tally, known, findings.gates, findings.baseline, findings.defaults
    )
    findings.slices = slice_measures(tally, known)
    found: list[str] = []
    if suite.review is not None:
        findings.outcomes, found = suite.review(findings)
    findings.incomplete = [*findings.material.incomplete, *lost_data(suite, findings, findings.gates), *found]
    if findings.outcomes:
        findings.verdict, findings.reasons = decide(findings.outcomes, findings.incomplete)
    else:  # no gate was named, and the suite has none of its own
        none = "no gate was set: these are measurements, not a decision"
        findings.verdict, findings.reasons = "MEASURED", [none, *findings.incomplete]


def measure_all(
    tally: Tally,
    known: Mapping[str, Metric],
    gates: Iterable[Gate],
    baseline: Mapping[str, Fraction] | None = None,
    defaults: Collection[str] = (),
) -> tuple[dict[str, Measure], list[Outcome]]:
    """Every metric measured over everything, and every gate compared, the sliced ones on their slice.

    `defaults` are the keys of gates that nobody named.
    """
    measures = {name: _measured(metric, tally) for name, metric in known.items()}
    outcomes = []
    for gate in gates:
        metric, part = known[gate.metric], tally.slice(gate.slice) if gate.slice else tally
        measure = _measured(metric, part) if gate.slice else measures[gate.metric]
        # A slice that nobody is in is most likely misspelt: that is missing data, not a gate that does not apply.
        applies = metric.applies(part) or (bool(gate.slice) and gate.slice not in tally.slices)
        if metric.optional and gate.key in defaults:  # it takes a value that this pipeline may not record at all
            applies = applies and all(part[HAS + value] for value in metric.needs)
        outcomes.append(compare(gate, metric, measure, applies, (baseline or {}).get(gate.key)))
    return measures, outcomes


def _measured(metric: Metric, tally: Tally) -> Measure:
    return msgspec.structs.replace(
        metric.measure(tally),
        better=metric.better,
        against=metric.against,
        words=metric.words,
    )


def slice_measures(tally: Tally, known: Mapping[str, Metric]) -> dict[str, dict[str, Measure]]:
    slices = ((name, tally.slice(name)) for name in sorted(tally.slices))
    return {name: {metric.name: _measured(metric, part) for metric in known.values()} for name, part in slices}


# --- nothing lost ---


def lost_data(suite: Suite, findings: Findings, gates: Iterable[Gate]) -> list[str]:
    """The invariant: no verdict unless the data is complete, or the user allows what is missing.

    Complete is: every question that gold, plan or fixture names was judged, from every run that was planned, with
    every value that a gate in force needs. It holds for every suite, profile and policy: no gate has to ask for it,
    and no waiver, severity or choice of gates gets around it.
    """
    lost = _lost(suite, findings, gates)
    sentences = _unjudged(findings, lost) if lost.total > _allowed(findings) else []
    if any(read.plans for read in findings.material.reads.values()):
        sentences += _unfinished(findings)
    return sentences


class Lack(NamedTuple):
    """A value that gates need and some questions lack."""

    value: str
    part: str  # of the evidence
    questions: int
    names: list[str]
    gates: list[str]


def _unjudged(findings: Findings, lost: Lost) -> list[str]:
    count, total = lost.unjudged, findings.evidence.questions
    allow = f", or allow them with --allow-missing {lost.total}" if lost.total < total else ""  # never all of them
    sentences = []
    if count:
        names = first_few(findings.evidence.unjudged.named("unjudged"), total=count)
        why = f", because the run is missing or failed: {names}. Run them again{allow}"
        if count == total and (cause := _common_cause(findings)):
            why = NOTHING_JUDGED + cause
        sentences.append(f"{count} of {plural(total, 'question')} {UNJUDGED}{why}")
    for lack in lost.values:
        items = findings.evidence.part(lack.part)["items"]
        where = f" of {lack.part}" if lack.part and lack.part != findings.part else ""
        sentences.append(
            f"{lack.value} is missing for {lack.questions} of {plural(items, 'question')}{where}, "
            f"and {first_few(lack.gates)} {'needs' if len(lack.gates) == 1 else 'need'} it: "
            f"{first_few(lack.names, total=lack.questions)}. Record it for every run{allow}"
        )
    return sentences


def _common_cause(findings: Findings) -> str:
    """Why no question could be judged: the error that all runs have in common, or that there is no run.

    Blank where some run of a question succeeded: its other runs are then the question's own matter.
    """
    texts: dict[str, str] = {}  # by the kind of error, the first in order: questions come in any order
    counts: Counter[str] = Counter()
    for case in findings.gathered.cases():
        for record in (record for records in case.records.values() for record in records):
            if error := getattr(record, "error", None):
                kind, _, text = str(error).partition(": ")
                counts[kind] += 1
                texts[kind] = min(texts.get(kind, text or kind), text or kind)
            else:
                return ""
    if not counts:
        return "none has a run. Check that gold and runs name the same questions"
    commonest = min(counts, key=lambda kind: (-counts[kind], kind))
    shown = visible(texts[commonest], 300)
    if len(counts) == 1:
        return f"every run failed: {shown}. Fix that, and run them again"
    return f"every run failed, for {len(counts)} reasons, such as: {shown}. Fix them, and run again"


class Lost(NamedTuple):
    """Questions that were not judged at all, and those that lack a value; no question counts twice in one part."""

    unjudged: int
    total: int
    values: list[Lack]


def _lost(suite: Suite, findings: Findings, gates: Iterable[Gate]) -> Lost:
    needed: dict[tuple[str, str], dict[str, list[str]]] = {}  # part and slice → value → the gates that need it
    for gate in gates:
        for part in (findings.part,) if suite.compared is None else suite.compared(findings, gate):
            tally = findings.evidence.part(part)
            metric, field = findings.known[gate.metric], suite.slice_values.get(gate.slice.partition("=")[0])
            values = [(value, gate.slice) for value in metric.needs if not metric.optional or tally[HAS + value]]
            values += [(field, "")] if field and gate.slice else []
            for value, within in values:
                needed.setdefault((part, within), {}).setdefault(value, []).append(gate.key)
    lacking, lacks = 0, []
    for (part, within), wanted in needed.items():
        whole = findings.evidence.part(part)
        tally = whole.slice(within) if within else whole
        if within:  # what a gate on everything needs is counted there
            wanted = {value: keys for value, keys in wanted.items() if value not in needed.get((part, ""), {})}
        lacking += sum(tally.lacking(wanted).values())
        for value, keys in wanted.items():
            if facts := tally.lacking([value]):
                names = sorted({name for fact in facts for name in whole.named(fact)})
                lacks.append(Lack(value, part, sum(facts.values()), names, keys))
    unjudged = findings.evidence.unjudged["unjudged"]
    return Lost(unjudged, unjudged + lacking, lacks)


def _unfinished(findings: Findings) -> list[str]:
    """Plans that are not complete, each on its own: what was never sent can't have failed.

    Questions that may be missing take their own runs along, and no others.
    """
    chosen = getattr(findings.context.options, "sweep", None)
    return [
        f"{name} has {plan.held} of {plural(plan.planned, 'planned run')}{_plan_named(sweep, read)}: "
        "finish the run, or repeat it"
        for name, read in findings.material.reads.items()
        for sweep, plan in sorted(read.plans.items())
        if plan.held < plan.planned - _runs_of_missing(findings, plan.planned) and chosen in (None, "", "all", sweep)
    ]


def _runs_of_missing(findings: Findings, planned: int) -> int:
    """How many of the planned runs are of questions that have no record at all, where so many may be missing."""
    questions, missing = findings.evidence.questions, findings.evidence.without_record
    if not _allowed(findings) or not questions:
        return 0
    return missing * (planned // questions) if missing <= _allowed(findings) else 0


def _plan_named(sweep: str, read: Input) -> str:
    """Which of several plans it is."""
    return f" of sweep {visible(sweep)}" if len(read.plans) > 1 else ""


def _allowed(findings: Findings) -> int:
    return int(getattr(findings.context.options, "allow_missing", 0))


def tolerated(suite: Suite, findings: Findings) -> list[str]:
    """What the user allowed to be lost, for the report's first line."""
    first = []
    if findings.material.subset:
        from .subset import said

        first = [said(findings.material.subset)]
    allowed = _allowed(findings)
    lost = _lost(suite, findings, findings.gates) if allowed else None
    if lost is None or not lost.total or lost.total > allowed:
        return first
    total = plural(findings.evidence.questions, "question")
    parts = [f"{lost.unjudged} of {total} not judged"] if lost.unjudged else []
    parts += [f"{lack.value} missing for {plural(lack.questions, 'question')}" for lack in lost.values]
    return [*first, f"{' and '.join(parts)}, as --allow-missing {allowed} permits"]
