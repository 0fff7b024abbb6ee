"""Evaluate: read, join, survey, judge, add, measure, compare, decide. The only place that runs a suite and decides.

`--where`, quarantine, `--closed`, unknown and missing questions are the business of this place alone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from ..errors import DataError, UsageError
from ..reading.lock import item_digest
from ..text import visible
from .decision import Decision, decide
from .evidence import Evidence, Facts
from .gates import Gate, compare
from .inputs import FILE, Format, Input, Numbered, Refusal, Refusals, relative
from .join import Case, Choice, Engine, Joined, Keep, Once, Question, RunOf, Survey, Unknown, hash_of, open_all
from .measuring import choose_gates, lost_data, measure, measure_all, slice_measures, tolerated
from .options import SuiteOptions, shown
from .records import Contract
from .rows import MEMORY, Order, Row, Rows, digest_of_names
from .sources import Watch, shows, wrong
from .suite import Explanation, Findings, Material, Reference, Sources, Suite
from .tally import FactNames

__all__ = ["choose_gates", "evaluate", "gc_paused", "measure_all", "slice_measures"]

Tick = Callable[[int], None]
GOLD = "gold"
OWN_FACTS = ("items", "superseded", "unknown_qid")  # what is counted here, and the one fact that every suite has


def evaluate(
    suite: Suite,
    sources: Sources,
    options: SuiteOptions,
    engine: Engine,
    tick: Tick | None = None,
    *,
    reports: bool = True,
) -> Decision:
    """Run a suite on its inputs and decide; quarantined questions are judged too, and count for no gate.

    Without `reports` the decision has no rows of items that pass, where the suite itself can do without them.
    """
    with gc_paused():
        options = options if suite.complete is None else suite.complete(options, sources)
        wanted = suite.named_gates(options)  # first, because a misspelt gate should not cost a run
        quarantined = tuple(getattr(options, "quarantine", ()))
        left, subset = frozenset[str](), None
        if getattr(options, "where", ()) or quarantined:
            from .subset import left_out, require_gold  # most runs judge every question

            sources = require_gold(sources)
            left, subset = left_out(sources, options)
        material = suite.read(sources, options)
        material.subset = subset
        streams = ({} if material.gold is None else {GOLD: material.gold}) | material.streams
        job = Job(
            suite=suite,
            context=material.context,
            formats={name: stream.format for name, stream in streams.items()},
            sources=tuple(material.streams),
            keep=material.keep,
            once=material.once,
            runs=material.runs,
            watch=material.watch,
            last_wins=material.last_wins,
            by_records=material.gold is None or material.by_records,
            checks=material.gold is not None and isinstance(material.gold.format, Contract),
            left=left,
            apart=frozenset(quarantined),
            whole=reports or bool(quarantined) or not suite.brief,
        )
        with engine(streams, material.keep, tick) as joined:
            gathered = _look_over(suite, material, job, joined)
            conclude = partial(_conclude, suite, material, gathered, wanted)
            if not quarantined:
                return conclude(gathered.total.evidence)
            return _set_apart(conclude, gathered.total, quarantined, options)


def _set_apart(
    conclude: Callable[[Evidence], Decision], total: Pass, quarantined: Sequence[str], options: SuiteOptions
) -> Decision:
    """The decision without the quarantined questions, with what they did and what the gates say of all questions."""
    from .policy import set_apart

    if not total.evidence.questions:
        hint = "Leave at least one question to decide by."
        raise UsageError("every question is quarantined", where="[[quarantine]]", hint=hint, code="quarantine-all")
    whole = Evidence(options.offenders)
    whole += total.evidence
    whole += total.apart
    whole.make_card = total.evidence.make_card
    return set_apart(conclude(total.evidence), conclude(whole), quarantined)


def _look_over(suite: Suite, material: Material, job: Job, joined: Joined) -> Gathered:
    """Everything that is known of the questions once all of them were judged."""
    room, survey = getattr(joined, "room", MEMORY), None
    two = suite.settle is not None and (suite.survey is None or suite.survey(job.context) is not None)
    if suite.settle is not None and two:
        first = msgspec.structs.replace(job, survey=True, judges=False)
        total = joined.over(partial(look, first), Pass(first, room))
        _close(material, job, total)
        survey = total.survey
        material.context = suite.settle(material.context, Gathered(joined, job, total, survey), material)
        job = msgspec.structs.replace(job, context=material.context, notes=False)
    total = joined.over(partial(look, job), Pass(job, room))
    if not two:
        _close(material, job, total)
    elif total.error is not None:
        raise total.error[1]
    total.evidence.make_card = partial(make_card, job)
    return Gathered(joined, job, total, survey)


# --- a pass over questions: any batch of them, anywhere; what comes out adds up ---


class Job(msgspec.Struct, frozen=True):
    """What looking at questions takes. It can be pickled, and is the same for all of them."""

    suite: Suite
    context: Any
    formats: dict[str, Format]  # by input
    sources: tuple[str, ...]  # the inputs that records come from
    keep: dict[str, Keep]
    once: dict[str, Once]
    runs: dict[str, RunOf]
    watch: Callable[[], Watch] | None
    last_wins: bool
    by_records: bool
    checks: bool  # gold is read by its contract, and not made here
    left: frozenset[str]  # questions that nobody asked about
    apart: frozenset[str]  # … and those that count for no gate
    whole: bool = True  # whether reports ask for every row, and for the digest of what gold says
    notes: bool = True  # whether this pass is the one that checks gold
    survey: bool = False
    judges: bool = True

    def choose(self, name: str, placed: Mapping[str, list[Numbered]], choice: Choice) -> dict[str, list[Numbered]]:
        """The records of a question that count, by input."""
        chosen = {}
        for source in self.sources:
            some = placed.get(source, [])
            if len(some) > 1:
                keep, once, run_of = self.keep.get(source, "all"), self.once.get(source), self.runs.get(source)
                some = choice.records(name, source, some, keep, once, run_of)
            chosen[source] = some
        return chosen

    def case(self, name: str, gold: Numbered | None, chosen: Mapping[str, list[Numbered]]) -> Case:
        place, item = (0, None) if gold is None else gold
        if self.by_records:
            place = min((placed[0][0] for placed in chosen.values() if placed), default=0)
        return Case(name, item, {source: [one for _, one in placed] for source, placed in chosen.items()}, place)


class Pass:
    """What a look at some questions amounts to; `+=` of any split is the whole."""

    def __init__(self, job: Job, room: int = MEMORY) -> None:
        evidence = partial(
            Evidence, job.context.options.offenders, room, whole=job.whole, passes=job.suite.display.passes
        )
        self.evidence = evidence()
        self.apart = evidence()  # of questions in quarantine
        self.choice = Choice()
        self.refused: dict[str, Refusals] = {}  # by input: lines that can't be read
        self.survey = job.suite.survey(job.context) if job.survey and job.suite.survey else None
        self.watch = job.watch() if job.notes and job.watch is not None else None
        self.items = 0  # of the gold set …
        self.digests = Rows(room=room)  # … and what they say
        self.error: tuple[int, DataError] | None = None  # the first, by the place of its question
        self.unfit: set[str] = set()  # questions that can't be judged, of which gold says why

    def refuse(self, source: str, refusal: Refusal) -> None:
        self.refused.setdefault(source, Refusals()).add(refusal)

    def fail(self, place: int, error: DataError) -> None:
        if self.error is None or place < self.error[0]:
            self.error = place, error

    def gold_of(self, job: Job, placed: list[Numbered]) -> Numbered | None:
        """The gold item of a question; what is wrong with the others is noted."""
        gold: Numbered | None = None
        for place, item in placed:
            odd = job.checks and (gold is not None or not shows(item))
            if odd and (what := wrong(item, None if gold is None else gold[0] % FILE, job.last_wins)):
                if job.notes:
                    self.refuse(GOLD, Refusal(place, *what, counted=True))
                continue
            gold = place, item
        if gold is not None and job.notes and job.checks:
            self.items += 1
            if job.whole:
                self.digests.add((gold[1].qid,), item_digest(gold[1]).encode())
            if self.watch is not None and self.watch.meet(gold[1], gold[0]) is False:
                self.unfit.add(gold[1].qid)
        return gold

    def __iadd__(self, other: Pass) -> Pass:
        self.evidence += other.evidence
        self.apart += other.apart
        self.choice += other.choice
        for source, refused in other.refused.items():
            own = self.refused.setdefault(source, Refusals())
            own += refused
        if self.survey is not None:
            self.survey += other.survey
        if self.watch is not None:
            self.watch += other.watch
        self.items += other.items
        self.digests += other.digests
        if other.error is not None:
            self.fail(*other.error)
        return self


def look(job: Job, batches: Iterable[Sequence[Question]]) -> Pass:
    """Survey or judge some questions."""
    found, suite, context = Pass(job), job.suite, job.context
    facts_of = suite.facts
    facts: Facts | None = None if facts_of is None else lambda outline: facts_of(outline, context)
    single = [source for source, keep in job.keep.items() if keep in ("last", "first", "worst")]
    refuse = found.refuse if job.notes else _ignore
    for question, placed in chain.from_iterable(open_all(some, job.formats, refuse) for some in batches):
        name = question.name
        if name in job.left:
            if job.notes and GOLD in placed:  # the gold set is the whole set, whoever chooses among its questions
                found.gold_of(job, placed[GOLD])
            continue
        gold = found.gold_of(job, placed[GOLD]) if GOLD in placed else None
        if gold is None and not job.by_records:
            _meet_unknown(job, question, placed, found)
            continue
        evidence = found.apart if name in job.apart else found.evidence
        chosen = job.choose(name, placed, found.choice)
        recorded = any(chosen.values())
        if gold is not None:
            evidence.questions += 1
            evidence.without_record += not recorded
        for source in single:
            if placed.get(source):
                evidence.superseded += question.slots[source].replaced + len(placed[source]) - 1
        if found.survey is not None:
            _survey(found.survey, placed | {source: chosen[source] for source in job.once}, job.sources, True)
        if job.by_records and not recorded:
            evidence.miss(name)
        elif job.judges and name not in found.unfit:
            try:
                for judged in suite.judge(job.case(name, gold, chosen), context):
                    evidence.add(judged, name, question, facts)
            except DataError as error:  # raised when all are known, so that the first is told whoever meets it
                found.fail(gold[0] if gold is not None else 0, error)
    return found


def _ignore(source: str, refusal: Refusal) -> None: ...


def _let_go(refusal: Refusal) -> None: ...


def _meet_unknown(job: Job, question: Question, placed: Mapping[str, list[Numbered]], found: Pass) -> None:
    for source in job.sources:
        if source in question.slots:
            slot = question.slots[source]
            if lines := slot.replaced + len(placed[source]):
                found.evidence.meet_unknown(source, slot.first, question.name, lines)
    if found.survey is not None:
        _survey(found.survey, placed, job.sources, False)


def _survey(survey: Survey, placed: Mapping[str, list[Numbered]], sources: Iterable[str], known: bool) -> None:
    for source in sources:
        for place, record in placed.get(source, ()):
            survey.add(source, place, record, known)


def cases_of(job: Job, questions: Sequence[Question]) -> Iterator[Case]:
    """Questions as cases, where nothing has to be noted any more."""
    job = msgspec.structs.replace(job, notes=False, survey=False, judges=False)
    nothing = Pass(job)
    for question, placed in open_all(questions, job.formats, _ignore):
        gold = nothing.gold_of(job, placed[GOLD]) if GOLD in placed else None
        chosen = job.choose(question.name, placed, nothing.choice)
        if any(chosen.values()) if job.by_records else gold is not None:
            yield job.case(question.name, gold, chosen)


def make_card(job: Job, kind: str, order: Order, question: Question) -> Row:
    """A failing item in detail, from its lines."""
    (case,) = cases_of(job, [question])
    assert job.suite.card is not None
    return job.suite.card(case, job.context, kind, order)


def _close(material: Material, job: Job, total: Pass) -> None:
    """Raise what is wrong with the inputs as a whole: gold first, as it would be read first."""
    if material.gold is not None:
        read = material.gold.read
        if job.checks:
            read.items = total.items
            read.content = digest_of_names(total.digests) if job.whole else ""
        material.gold.close(total.refused.get(GOLD))
        if total.watch is not None:
            total.watch.require(read)
            material.warnings = [*total.watch.warnings(), *material.warnings]
    for name, stream in material.streams.items():
        stream.close(total.refused.get(name))
    for name, once in material.once.items():
        read = material.reads[name]
        repeated = total.choice.repeated.get(name)
        if repeated is not None:
            read.found = once.problems(read.files or [read.path], read.found, repeated)
        read.close(read.found, once.lenient)
    if total.choice.undecided:
        total.choice.refuse(job.keep, job.runs, {name: read.files for name, read in material.reads.items()})
    if material.closed:
        unknown = Unknown()
        for met in total.evidence.unknown.values():
            unknown += met
        unknown.refuse()
    if total.choice.second:
        total.choice.refuse_second()
    if total.error is not None:
        raise total.error[1]


class Gathered:
    """What a suite may ask of all questions, once they were looked at."""

    def __init__(self, joined: Joined, job: Job, total: Pass, survey: Any) -> None:
        self._joined, self._job, self.total, self.survey = joined, job, total, survey
        self.watch = total.watch

    def unknown_of(self, source: str) -> Unknown:
        return self.total.evidence.unknown.get(source) or Unknown()

    @property
    def unknown_total(self) -> int:
        return sum(met.lines for met in self.total.evidence.unknown.values())

    def cases(self, sample: int = 0) -> Iterator[Case]:
        """The questions as cases, in any order; or a sample of about so many, or up to twice as many."""
        for batch in self._batches(sample, self._job.left | self._job.apart):
            yield from cases_of(self._job, batch)

    def golds(self, sample: int) -> Iterator[Any]:
        """The gold items of such a sample alone."""
        for batch in self._batches(sample, self._job.left):
            lines = [one.slots[GOLD].lines[0] for one in batch if GOLD in one.slots]
            yield from (item for item in self._job.formats[GOLD].records(lines, _let_go) if item is not None)

    def _batches(self, sample: int, left: Collection[str]) -> Iterator[Sequence[Question]]:
        """Which questions are in a sample is told by their names, so that it is the same one on every engine."""
        every = self.total.evidence.questions // sample if sample else 1
        if not left and every < 2:
            return self._joined.batches()
        return self._joined.batches(lambda name: name not in left and (every < 2 or not hash_of(name) % every))


# --- from evidence to the decision ---


def _conclude(suite: Suite, material: Material, gathered: Gathered, wanted: list[Gate], evidence: Evidence) -> Decision:
    context = material.context
    names = FactNames((*OWN_FACTS, *suite.fact_names(context.options)))
    for name, tally in evidence.tallies.items():
        if name not in suite.asides:  # refuse facts that the suite does not declare, wherever metrics are made of them
            tally.declare(names)
    gates = choose_gates(suite, suite.gates(context), wanted, context.options)
    named = {suite.gate_key(gate) for gate in wanted}
    findings = Findings(
        context=context,
        material=material,
        gathered=gathered,
        evidence=evidence,
        known=suite.metrics(context.options),
        gates=gates,
        defaults=frozenset(gate.key for gate in gates if suite.gate_key(gate) not in named),
    )
    if getattr(context.options, "profile", "") == "reference" and suite.reference is not None:
        return _decision(suite, findings, _by_reference(suite, findings, suite.reference(findings)))
    measure(suite, findings)
    return _decision(suite, findings, suite.explain(findings))


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


def _decision(suite: Suite, findings: Findings, explanation: Explanation) -> Decision:
    material, options = findings.material, findings.context.options
    reads, allowed = material.reads, [*explanation.first, *tolerated(suite, findings)]
    where = {"where": material.subset["where"]} if material.subset else {}
    notes = [_unpathed(str(note), name, read) for name, read in reads.items() for note in read.warnings]
    decision = Decision(
        suite=suite.name,
        profile=getattr(options, "profile", "strict"),
        verdict=findings.verdict,
        reasons=[*allowed, *(findings.reasons if explanation.reasons is None else explanation.reasons)],
        outcomes=findings.outcomes,
        measures=findings.measures if explanation.measures is None else explanation.measures,
        slices=findings.slices if explanation.slices is None else explanation.slices,
        counts=explanation.counts,
        named={name: names for name, names in explanation.named.items() if names},
        diagnosis=explanation.diagnosis,
        offenders=explanation.offenders,
        cards=findings.evidence.cards() if explanation.cards is None else explanation.cards,
        items=findings.evidence.rows if explanation.items is None else explanation.items,
        sections=explanation.sections | ({"subset": material.subset} if material.subset else {}),
        headline=explanation.headline,
        options={**shown(options), **suite.shown(findings.context), **where},
        inputs={name: input_block(name, read) for name, read in reads.items()},
        compat=explanation.compat,
        warnings=[*notes, *material.warnings, *explanation.warnings],
        incomplete=findings.incomplete,
        tolerated=allowed,
        partial=any(read.bad for read in reads.values()),
        run={name: read.path for name, read in reads.items() if read.path},
        display=suite.display,
    )
    if decision.verdict == "NO-SHIP":
        from .policy import nearest_to_passing

        if nearest := nearest_to_passing(decision):
            decision.sections["turns"] = nearest
    return decision


def input_block(name: str, read: Input) -> dict[str, Any]:
    """What was read, by its name and not by its path: digest, records, and how many were bad."""
    problems = [_unpathed(problem, name, read) for problem in read.problems]
    block = {"sha256": read.digest or None, "records": read.records, "bad": read.bad, "problems": problems}
    return block | ({"content": read.content} if read.content else {})


def _unpathed(text: str, name: str, read: Input) -> str:
    """`trace:3: …` for `/home/me/trace.jsonl:3: …`: where a file lies must not change what a report says."""
    for path in (read.path, visible(read.path)):
        if path and text.startswith(f"{path}:"):
            return f"{name}{text.removeprefix(path)}"
    for path in read.files:
        if text.startswith((f"{path}:", f"{visible(path)}:")):
            return f"{name}/{relative(path, read)}{text.removeprefix(path).removeprefix(visible(path))}"
    return text


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
