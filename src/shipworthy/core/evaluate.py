"""Evaluate: read, survey, judge, add, measure, compare, decide. The only place that runs a suite and decides."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice, repeat
from typing import Any, NamedTuple

import msgspec

from ..errors import UsageError
from ..text import first_few, plural, visible
from .cases import Gathered, Numbered
from .decision import NOTHING_JUDGED, UNJUDGED, Decision, decide
from .evidence import Evidence
from .gates import Gate, Outcome, check_repeated, compare
from .inputs import Input, relative
from .metrics import Measure, Metric
from .options import SuiteOptions, shown
from .policy import nearest_to_passing
from .suite import Engine, Explanation, Findings, Judged, Material, Reference, Sources, Suite
from .tally import HAS, FactNames, Tally

Tick = Callable[[int], None]
_SAMPLED = 1000  # questions whose errors are looked at where every run failed
OWN_FACTS = ("items", "superseded", "unknown_qid")  # what is counted here, and the one fact that every suite has


def evaluate(
    suite: Suite, sources: Sources, options: SuiteOptions, engine: Engine, tick: Tick | None = None
) -> Decision:
    """Run a suite on its inputs and decide; quarantined questions are judged too, and count for no gate."""
    quarantined = getattr(options, "quarantine", ())
    if not quarantined:
        with gc_paused():
            return _evaluated(suite, sources, options, engine, tick)
    from .quarantine import set_apart  # these two here and below: most runs judge every question
    from .subset import kept

    sources = kept(sources)
    with gc_paused():
        counted = _evaluated(suite, sources, options, engine, tick)
        whole = _evaluated(suite, sources, _all_counted(options), engine, None)
    return set_apart(counted, whole, quarantined)


def _all_counted(options: SuiteOptions) -> SuiteOptions:
    return msgspec.structs.replace(options, quarantine=())


def _evaluated(suite: Suite, sources: Sources, options: SuiteOptions, engine: Engine, tick: Tick | None) -> Decision:
    options = suite.complete(options, sources)
    wanted = suite.named_gates(options)  # first, because a misspelt gate should not cost a run
    material = _read(suite, sources, options)
    material.tick = tick
    judged = engine(suite, material)
    _miss_named(material, judged)
    _declare(suite, judged)
    gates = choose_gates(suite, suite.gates(judged.context), wanted, options)
    named = {suite.gate_key(gate) for gate in wanted}
    findings = Findings(
        context=judged.context,
        material=material,
        gathered=judged.gathered,
        evidence=judged.evidence,
        known=suite.metrics(judged.context.options),
        gates=gates,
        defaults=frozenset(gate.key for gate in gates if suite.gate_key(gate) not in named),
    )
    if getattr(options, "profile", "") == "reference" and suite.reference is not None:
        return _decision(suite, findings, _by_reference(suite, findings, suite.reference(findings)))
    _measure(suite, findings)
    return _decision(suite, findings, suite.explain(findings))


def _read(suite: Suite, sources: Sources, options: SuiteOptions) -> Material:
    """What the suite makes of its inputs, narrowed to the questions that the options choose."""
    if not (getattr(options, "where", ()) or getattr(options, "quarantine", ())):
        return suite.read(sources, options)
    from .subset import keep_gold, narrow

    sources = keep_gold(sources)
    material = suite.read(sources, options)
    narrow(material, sources, options, suite.key)
    return material


def _declare(suite: Suite, judged: Judged) -> None:
    """Refuse facts that the suite does not declare, wherever metrics are made of them."""
    names = FactNames((*OWN_FACTS, *suite.fact_names(judged.context.options)))
    for name, tally in judged.evidence.tallies.items():
        if name not in suite.asides:
            tally.declare(names)


# --- the steps that an engine puts together ---


def gather(suite: Suite, material: Material, streams: Mapping[str, Iterable[Numbered]]) -> Gathered:
    """Records by question, and the survey of them."""
    gathered = Gathered(
        material.expected, suite.survey(material) if suite.survey else None, material.once, material.runs
    )
    for source, records in streams.items():
        gathered.take(source, records, material.keep.get(source, "all"), suite.key, material.tick)
    return gathered


def settle(suite: Suite, material: Material, gathered: Gathered) -> Any:
    """The context with what only the whole data can tell; errors of the data as a whole are raised here."""
    gathered.drop_repeated()
    for name, once in material.once.items():
        read = material.reads[name]
        read.close(once.problems(read.files or [read.path], read.found, gathered.repeated[name]), once.lenient)
    refuse(material, gathered)
    return suite.settle(material.context, gathered, material)


def refuse(material: Material, gathered: Gathered) -> None:
    """Raise the errors that only all records together show."""
    gathered.refuse(material.keep, material.closed, {name: read.files for name, read in material.reads.items()})


def judge(suite: Suite, cases: Iterable[Any], context: Any, evidence: Evidence | None = None) -> Evidence:
    """The evidence of some cases, added to what there is."""
    evidence = Evidence(context.options.offenders) if evidence is None else evidence
    for case, times in _times(suite, cases, context):
        verdict = suite.judge(case, context)
        evidence.add(suite, verdict, context, times)
        if suite.unjudged(case, verdict):
            evidence.miss(case.key)
    return evidence


def _times(suite: Suite, cases: Iterable[Any], context: Any) -> Iterable[tuple[Any, int]]:
    """Each case with how often it counts."""
    return zip(cases, repeat(1), strict=False) if suite.alike is None else _alike(suite.alike, cases, context)


def _alike(kind_of: Callable[[Any, Any], Any], cases: Iterable[Any], context: Any) -> Iterator[tuple[Any, int]]:
    """Each case once with 1, but one of each kind with how many there are of it."""
    first: dict[object, object] = {}
    counts: dict[object, int] = {}
    for case in cases:
        kind = kind_of(case, context)
        if kind is None:
            yield case, 1
        elif kind in counts:
            counts[kind] += 1
        else:
            first[kind], counts[kind] = case, 1
    yield from ((case, counts[kind]) for kind, case in first.items())


def judged(suite: Suite, material: Material, gathered: Gathered) -> Judged:
    """Everything that follows once all records are gathered, in one process."""
    context = settle(suite, material, gathered)
    return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))


# --- gates and measures ---


def choose_gates(suite: Suite, defaults: list[Gate], wanted: list[Gate], options: SuiteOptions) -> list[Gate]:
    """The default gates with the wanted ones in their place; `only_gates` drops the defaults."""
    check_repeated(wanted, suite.gate_key)
    chosen: dict[str, Gate] = {} if options.only_gates else {suite.gate_key(gate): gate for gate in defaults}
    chosen |= {suite.gate_key(gate): gate for gate in wanted}
    if not chosen and (defaults or options.only_gates):
        raise UsageError("no gate is left to decide by", hint="Name one with --gates.", code="gate-none")
    if options.require_proof:
        return [msgspec.structs.replace(gate, on_unproven="fail") for gate in chosen.values()]
    return list(chosen.values())


def _measure(suite: Suite, findings: Findings) -> None:
    """Measures, outcomes, verdict and reasons, in that order, each from what came before."""
    findings.part = suite.part(findings)
    findings.baseline = suite.baseline(findings)
    tally, known = findings.tally, findings.known
    tally.counts["superseded"] = findings.gathered.superseded
    tally.counts.setdefault("unknown_qid", findings.gathered.unknown_total)  # unless the suite leaves some out
    findings.measures, findings.outcomes = measure_all(
        tally, known, findings.gates, findings.baseline, findings.defaults
    )
    findings.slices = slice_measures(tally, known)
    findings.outcomes, found = suite.review(findings)
    findings.incomplete = [*findings.material.incomplete, *lost_data(suite, findings, findings.gates), *found]
    findings.verdict, findings.reasons = decide_or_measure(findings.outcomes, findings.incomplete)


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
        part = tally.slice(gate.slice) if gate.slice else tally
        measure = _measured(known[gate.metric], part) if gate.slice else measures[gate.metric]
        base = (baseline or {}).get(gate.key)
        # A slice that nobody is in is most likely misspelt: that is missing data, not a gate that does not apply.
        applies = known[gate.metric].applies(part) or (bool(gate.slice) and gate.slice not in tally.slices)
        applies = applies and not (gate.key in defaults and _nobody_has(known[gate.metric], part))
        outcomes.append(compare(gate, known[gate.metric], measure, applies, base))
    return measures, outcomes


def _nobody_has(metric: Metric, tally: Tally) -> bool:
    """Whether the metric takes a value that this pipeline does not record at all."""
    return metric.optional and any(not tally[HAS + value] for value in metric.needs)


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


def decide_or_measure(outcomes: list[Outcome], incomplete: list[str]) -> tuple[str, list[str]]:
    """The decision; where no gate was named and the suite has none of its own, there is nothing to decide."""
    if outcomes:
        return decide(outcomes, incomplete)
    return "MEASURED", ["no gate was set: these are measurements, not a decision", *incomplete]


# --- nothing lost ---


def lost_data(suite: Suite, findings: Findings, gates: Iterable[Gate]) -> list[str]:
    """The invariant: no verdict unless the data is complete, or the user allows what is missing.

    Complete is: every question that gold, plan or fixture names was judged, from every run that was planned, with
    every value that a gate in force needs. It holds for every suite, profile and policy: no gate has to ask for it,
    and no waiver, severity or choice of gates gets around it.
    """
    return [*_unjudged(suite, findings, gates), *_unfinished(findings)]


def _miss_named(material: Material, judged: Judged) -> None:
    """Where the records make the cases, a question without a record makes none, and is missed all the same."""
    for name in judged.gathered.lacking(material.named):
        judged.evidence.miss(name)


class Lack(NamedTuple):
    """A value that gates need and some questions lack."""

    value: str
    part: str  # of the evidence
    questions: int
    names: list[str]
    gates: list[str]


def _unjudged(suite: Suite, findings: Findings, gates: Iterable[Gate]) -> list[str]:
    lost = _lost(suite, findings, gates)
    if lost.total <= _allowed(findings):
        return []
    count, total = lost.unjudged, _questions(findings)
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
    errors: dict[str, str] = {}  # by the kind of error, the first
    for case in islice(findings.gathered.some_cases(findings.material.expected), _SAMPLED):
        for record in (record for records in case.records.values() for record in records):
            if error := getattr(record, "error", None):
                kind, _, text = str(error).partition(": ")
                errors.setdefault(kind, text or kind)
            else:
                return ""
    if not errors:
        return "none has a run. Check that gold and runs name the same questions"
    shown = visible(next(iter(errors.values())), 300)
    if len(errors) == 1:
        return f"every run failed: {shown}. Fix that, and run them again"
    return f"every run failed, for {len(errors)} reasons, such as: {shown}. Fix them, and run again"


class Lost(NamedTuple):
    """Questions that were not judged at all, and those that lack a value; no question counts twice in one part."""

    unjudged: int
    lacking: int
    values: list[Lack]

    @property
    def total(self) -> int:
        return self.unjudged + self.lacking


def _lost(suite: Suite, findings: Findings, gates: Iterable[Gate]) -> Lost:
    needed: dict[tuple[str, str], dict[str, list[str]]] = {}  # part and slice → value → the gates that need it
    for gate in gates:
        for part in suite.compared(findings, gate):
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
    return Lost(findings.evidence.unjudged["unjudged"], lacking, lacks)


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
    names: Collection[str] = findings.material.expected or findings.material.named
    if not _allowed(findings) or not names:
        return 0
    missing = sum(1 for _ in findings.gathered.lacking(names))
    return missing * (planned // len(names)) if missing <= _allowed(findings) else 0


def _plan_named(sweep: str, read: Input) -> str:
    """Which of several plans it is."""
    return f" of sweep {visible(sweep)}" if len(read.plans) > 1 else ""


def _questions(findings: Findings) -> int:
    return len(findings.material.expected or findings.material.named)


def _allowed(findings: Findings) -> int:
    return int(getattr(findings.context.options, "allow_missing", 0))


def _tolerated(suite: Suite, findings: Findings) -> list[str]:
    """What the user allowed to be lost, for the report's first line."""
    first = [_subset(findings.material.subset)] if findings.material.subset else []
    lost, allowed = _lost(suite, findings, findings.gates), _allowed(findings)
    if not lost.total or lost.total > allowed:
        return first
    total = plural(_questions(findings), "question")
    said = [f"{lost.unjudged} of {total} not judged"] if lost.unjudged else []
    said += [f"{lack.value} missing for {plural(lack.questions, 'question')}" for lack in lost.values]
    return [*first, f"{' and '.join(said)}, as --allow-missing {allowed} permits"]


def _subset(subset: Mapping[str, object]) -> str:
    from .subset import said

    return said(subset)


# --- the decision ---


def _by_reference(suite: Suite, findings: Findings, reference: Reference) -> Explanation:
    """The decision that the original script takes, on its own numbers."""
    known, measures = findings.known, reference.measures
    findings.measures = {
        name: one if one.words.plain or name not in known else msgspec.structs.replace(one, words=known[name].words)
        for name, one in measures.items()
    }
    findings.slices = {}
    findings.outcomes = [
        compare(gate, known[gate.metric], findings.measures[gate.metric], True, reference.baseline.get(gate.key))
        for gate in reference.gates
    ]
    findings.incomplete = [
        *findings.material.incomplete,
        *lost_data(suite, findings, reference.gates),
        *reference.incomplete,
    ]
    findings.verdict, findings.reasons = decide(findings.outcomes, findings.incomplete)
    # The original script's own word, which knows nothing of lost data; decision, `pass` and exit code do.
    passed = decide(findings.outcomes, reference.incomplete)[0] == "SHIP"
    return Explanation(
        headline=reference.headline,
        sections=reference.sections,
        items=reference.items,
        cards=[],
        compat={"pass": passed},
    )


def _decision(suite: Suite, findings: Findings, told: Explanation) -> Decision:
    material, options = findings.material, findings.context.options
    reads, tolerated = material.reads, [*told.first, *_tolerated(suite, findings)]
    decision = Decision(
        suite=suite.name,
        profile=getattr(options, "profile", "strict"),
        verdict=findings.verdict,
        reasons=[*tolerated, *(findings.reasons if told.reasons is None else told.reasons)],
        outcomes=findings.outcomes,
        measures=findings.measures if told.measures is None else told.measures,
        slices=findings.slices if told.slices is None else told.slices,
        counts=told.counts,
        named={name: names for name, names in told.named.items() if names},
        diagnosis=told.diagnosis,
        offenders=told.offenders,
        cards=findings.evidence.cards() if told.cards is None else told.cards,
        items=findings.evidence.rows if told.items is None else told.items,
        sections=told.sections | ({"subset": material.subset} if material.subset else {}),
        headline=told.headline,
        options={**shown(options), **suite.shown(findings.context), **_where(material)},
        inputs={name: input_block(name, read) for name, read in reads.items()},
        compat=told.compat,
        warnings=[*_reading_notes(reads), *material.warnings, *told.warnings],
        incomplete=findings.incomplete,
        tolerated=tolerated,
        partial=any(read.bad for read in reads.values()),
        run={name: read.path for name, read in reads.items() if read.path},
        display=suite.display,
    )
    if nearest := nearest_to_passing(decision):
        decision.sections["turns"] = nearest
    return decision


def _where(material: Material) -> dict[str, object]:
    return {"where": material.subset["where"]} if material.subset else {}


def input_block(name: str, read: Input) -> dict[str, Any]:
    """What was read, by its name and not by its path: digest, records, and how many were bad."""
    problems = [_unpathed(problem, name, read) for problem in read.problems]
    block = {"sha256": read.digest or None, "records": read.records, "bad": read.bad, "problems": problems}
    return block | ({"content": read.content} if read.content else {})


def _reading_notes(reads: Mapping[str, Input]) -> list[str]:
    return [_unpathed(str(note), name, read) for name, read in reads.items() for note in read.warnings]


def _unpathed(text: str, name: str, read: Input) -> str:
    """`trace:3: …` for `/home/me/trace.jsonl:3: …`: where a file lies must not change what a report says."""
    for path in (read.path, visible(read.path)):
        if path and text.startswith(f"{path}:"):
            return f"{name}{text.removeprefix(path)}"
    for path in read.files:
        if text.startswith((f"{path}:", f"{visible(path)}:")):
            return f"{name}/{relative(path, read)}{text.removeprefix(path).removeprefix(visible(path))}"
    return text


# --- reading ---


@contextmanager
def gc_paused() -> Iterator[None]:
    """Without the cyclic collector: what is read has no cycles, and it would look at each record in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def ticking(stream: Iterable[Numbered], tick: Tick) -> Iterator[Numbered]:
    """The stream, with the count of what has gone by told now and then."""
    for count, pair in enumerate(stream):
        if not count & 0x3FFF:
            tick(count)
        yield pair
