"""The judge of the stability suite: one question with all its runs in, the facts about their spread out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

import msgspec

from ...core.contracts import Gold, Place, Trace, ids_of
from ...core.decision import number
from ...core.evidence import Judged, Order, Row, brief
from ...core.gates import Gate
from ...core.join import Case
from ...core.tally import Fact, more_held
from ...text import canon
from ..answers import judge as answers
from ..retrieval.places import Section, StatedRun, inside, parse_section, section_of
from ..retrieval.places import states as states_of
from . import reference
from .grid import Axes, Cell, Holes, asked_for, cell_of, holes, in_sweep, one_per_cell
from .options import BARS, CITING, KS, ON_UNANSWERABLE, Options
from .spread import citation_overlap, distance_and_agreement, shared_of_all

# Every number about one question, in the order of the report.
VALUES = (
    *("rcr", "refusal_rate", "acr", "cghc", "css", "css_all", "jaccard", "ned50", "iaa", "scu_cons"),
    *(f"pass^{k}" for k in KS),
)
SAID = 300  # characters of an answer that a card may show
CITED = "cited"  # the kind of questions that miss nothing but thresholds on citations
_ANSWERS = 3  # that a card shows side by side
# What a run can differ in, where that stands in the run, and what it is called.
_ASPECTS = {"status": "status", "containment": "contained", "citation": "cited", "constraint": "kept"}
_DIFFERS = {"status": "answered or refused", "containment": "expected text", "constraint": "constraints"}


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    judging: answers.Judging
    bars: tuple[Gate, ...]  # what each question must clear
    bounds: Mapping[str, Fraction]  # what it must clear for the original script
    referred: frozenset[str] = frozenset()  # bars that a question which never flips can't miss here
    paraphrased: bool = False  # whether the gold set has paraphrases
    sweep: str = ""
    axes: Axes = Axes()

    def judges(self, trace: Trace) -> bool:
        """Whether a run belongs to the sweep, the arm and the grid that are judged."""
        return in_sweep(trace.sweep_id, self.sweep) and asked_for(trace, self.options)


class ExpectedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A gold item made ready for all its runs."""

    expected: answers.Expected
    relevant: frozenset[str]  # what a run may cite to have arrived
    anchor: Section | None
    cites: bool  # whether runs are judged by what they cite: gold names citations, and the service has some

    @property
    def gold(self) -> Gold:
        return self.expected.gold


class RunFacts(msgspec.Struct, frozen=True):
    """The facts about one run."""

    cell: Cell
    status: str  # answered, refused, error
    contained: bool
    cited: bool | None  # None where the gold item has no citation to hit
    kept: bool | None  # None without constraints, or without an answer
    passed: bool
    claim: str  # in canonical form
    said: str  # the answer or the refusal as it came, in short
    citations: frozenset[str]
    asked: str
    arrived: bool = False  # cites something relevant, or within the anchor section
    logged: str | None = None  # λ as the log has it
    held: tuple[Fact, ...] = ()  # which values that gates may need it has and lacks
    unread: str = ""  # its language, where denials and refusals can't be read in it


class Flip(NamedTuple):
    """A run that differs from the majority of its question's runs, and in what."""

    cell: Cell
    differs: tuple[str, ...]


class QuestionRow(msgspec.Struct, kw_only=True):
    """The verdict on one question. The report has it as details and, in short, as an item."""

    qid: str
    state: str  # pass, fail, undefined, missing
    answerable: bool
    runs: int
    answered: int
    distinct_prompts: int | None
    effective_runs: int | None
    failed: tuple[str, ...]  # bars that were not cleared
    undefined: tuple[str, ...]  # bars whose metric has no value
    question: str
    slices: tuple[str, ...]  # names of the parts that it belongs to, such as type=table
    flips: list[Row]
    values: dict[str, float | int | None]


class Outline(NamedTuple):
    """All that counts about a question."""

    place: int = 0  # in the gold set
    state: str = ""
    answerable: bool = False
    runs: tuple[RunFacts, ...] = ()
    values: tuple[Fraction | None, ...] = ()  # in the order of VALUES
    states: tuple[str, ...] = ()  # λ of each run
    prompts: tuple[int | None, int | None] = (None, None)  # distinct ones, and runs that differ in anything
    flips: tuple[Flip, ...] = ()
    failed: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    referred: bool = False  # it misses bars alike in every run, which the answers suite decides about
    holes: Holes = Holes()
    repeated: int = 0  # runs that a later one at the same place replaced
    slices: tuple[str, ...] = ()
    held: tuple[Fact, ...] = ()  # which values that gates may need its runs have and lack
    reference: tuple[str, ...] = ()  # what the original script counts for it

    @property
    def answered(self) -> list[RunFacts]:
        return [run for run in self.runs if run.status == "answered"]

    def value(self, name: str) -> Fraction | None:
        return self.values[VALUES.index(name)]


def judge(case: Case, context: Context) -> tuple[Judged]:
    """Everything about one question."""
    if context.options.profile == "reference":
        return _judge_reference(case, context)
    outline = judge_runs(case, context)
    row = QuestionRow(
        qid=case.key,
        state=outline.state,
        answerable=outline.answerable,
        runs=len(outline.runs),
        answered=len(outline.answered),
        distinct_prompts=outline.prompts[0],
        effective_runs=outline.prompts[1],
        failed=outline.failed,
        undefined=outline.undefined,
        question=brief(case.gold.question),
        slices=outline.slices,
        flips=[{"run": str(flip.cell), "differs": list(flip.differs)} for flip in outline.flips],
        values=dict(zip(VALUES, map(number, outline.values), strict=True)),
    )
    # A question that the judged sweep has no run of, or a run that failed, says nothing about the others.
    lost = not outline.runs or any(run.status == "error" for run in outline.runs)
    worst: tuple[tuple[str, Order], ...] = ()
    if outline.failed:  # those that miss most bars first, then those with most flips
        kind = CITED if set(outline.failed) <= set(CITING) else ""
        worst = ((kind, (-len(outline.failed), -len(outline.flips), case.key)),)
    return (Judged(row, outline, (case.key,), worst, lost),)


def _judge_reference(case: Case, context: Context) -> tuple[Judged]:
    """What the original script makes of a question; it starts from the runs, so gold may not have the question."""
    traces, gold = case.records["runs"], case.gold or reference.NOBODY
    exact = reference.details(gold, traces)
    values: tuple[Fact, ...] = ()
    for trace in traces:
        if not trace.error:
            values = more_held((*values, *answers.held_by(trace, reference.is_refusal(trace))))
    outline = Outline(held=values, reference=reference.facts(gold, exact, context.bounds))
    row = {"qid": case.key} | {name: reference.rounded(value) for name, value in exact.items()}
    lost = case.gold is not None and any(trace.error for trace in traces)  # a run of a question of the gold set failed
    return (Judged(row, outline, (case.place, case.key), lost=lost),)


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    """Which thresholds a question misses, by how much, and which of its runs differ."""
    outline, gold = judge_runs(case, context), case.gold
    missed = [f"{BARS[name].title(name)} {float(outline.value(name) or 0):.3f}" for name in outline.failed]
    flips = [f"{flip.cell} ({', '.join(_DIFFERS.get(fact, fact) for fact in flip.differs)})" for flip in outline.flips]
    more = f" and {len(flips) - 3} more" if len(flips) > 3 else ""
    where = f"; runs that differ from the majority: {', '.join(flips[:3])}{more}" if flips else ""
    return {
        "qid": case.key,
        "reason": outline.failed[0],
        "says": f"{', '.join(missed)} over {len(outline.runs)} runs{where}",
        "question": gold.question,
        "claim": _answers(outline.runs),
        "gold_claim_substr": gold.substrings,
        "gold_citations": gold.citations,
        "runs": len(outline.runs),
        "flips": flips,
    }


def _answers(runs: Sequence[RunFacts]) -> str:
    """The answers that differ, the commonest first, each with how many runs gave it and one of them."""
    groups: dict[tuple[str, str], list[RunFacts]] = {}
    for run in runs:
        groups.setdefault((run.status, run.claim), []).append(run)
    ranked = sorted(groups.values(), key=lambda group: -len(group))
    shown = [
        f"{len(group)} of {len(runs)} runs ({group[0].cell}): "
        f"{'failed' if group[0].status == 'error' else brief(group[0].said) or 'nothing'}"
        for group in ranked[:_ANSWERS]
    ]
    more = [f"{len(ranked) - _ANSWERS} more"] if len(ranked) > _ANSWERS else []
    return " | ".join([*shown, *more])


def judge_runs(case: Case, context: Context) -> Outline:
    """One question from all its runs that count."""
    traces = [trace for trace in case.records["runs"] if context.judges(trace)]
    question, kept = prepare(case.gold, context.judging), one_per_cell(traces)
    gold, answerable = question.gold, bool(question.gold.answerable)
    runs = sorted((judge_run(question, trace, context.judging) for trace in kept), key=_place)
    values = _values(question, runs)
    failed, undefined = _missed(values, question, context.bars) if runs else ((), ())
    flipped, referred = flips(runs), False
    if context.referred and not flipped:  # wrong in every run alike is no instability
        referred = not context.referred.isdisjoint(failed)
        failed, undefined = tuple(name for name in failed if name not in context.referred), ()
    return Outline(
        place=case.place,
        state="missing" if not runs else "fail" if failed else "undefined" if undefined else "pass",
        answerable=answerable,
        runs=tuple(runs),
        values=tuple(values.values()),
        states=tuple(_states(runs, answerable)),
        prompts=_prompts(runs),
        flips=tuple(flipped),
        failed=failed,
        undefined=undefined,
        referred=referred,
        holes=holes(gold, [run.cell for run in runs], context.axes),
        repeated=len(traces) - len(kept),
        slices=answers.slices_of(gold, context.options.by),
        held=more_held(fact for run in runs for fact in run.held),
        reference=reference.compare(gold, traces, values, context.bounds) if runs else (),
    )


def prepare(gold: Gold, judging: answers.Judging) -> ExpectedRuns:
    """The gold item made ready, once for all its runs."""
    relevant = [*gold.citations, *ids_of(gold.relevant)]
    return ExpectedRuns(
        expected=answers.expect(gold, judging),
        relevant=frozenset(relevant if judging.id_map is None else map(judging.id_map.gold, relevant)),
        anchor=None if gold.anchor_section is None else parse_section(gold.anchor_section),
        cites=bool(gold.citations) and judging.cites,
    )


def judge_run(question: ExpectedRuns, trace: Trace, judging: answers.Judging) -> RunFacts:
    gold = question.gold
    answer = answers.judge_trace(question.expected, trace, judging).outline
    status = {"refused": "refused", "error": "error"}.get(answer.status, "answered")
    answered = status == "answered"
    kept = answer.constraint == "ok" if answered and gold.constraints else None
    cited = ids_of(trace.answer.citations)
    if judging.id_map is not None:
        cited = [judging.id_map.trace(name) for name in cited]
    return RunFacts(
        cell=cell_of(trace),
        status=status,
        contained=bool(gold.answerable and answer.contained),
        cited=bool(answer.cited) if question.cites else None,
        kept=kept,
        passed=answer.correct and kept is not False if gold.answerable else status == "refused",
        claim=canon(trace.answer.claim) if answered else "",
        said=trace.answer.claim[:SAID],
        citations=frozenset(cited),
        asked=trace.asked,
        arrived=_arrived(question, trace, cited),
        logged=trace.lambda_state,
        held=() if trace.error else answers.held_by(trace, status == "refused"),
        unread=answer.unread,
    )


def _arrived(question: ExpectedRuns, trace: Trace, cited: Iterable[str]) -> bool:
    """Whether a run cites something relevant, or a place within the anchor section."""
    if not question.relevant.isdisjoint(cited):
        return True
    return question.anchor is not None and _within(trace, question.anchor)


def _within(trace: Trace, anchor: Section) -> bool:
    places = (Place(id=place) if isinstance(place, str) else place for place in trace.answer.citations)
    sections = (section_of(place.id, place.section_id, {}) for place in places)
    return any(section is not None and inside(section, anchor) for section in sections)


def _states(runs: Sequence[RunFacts], answerable: bool) -> list[str]:
    """The state of each run, given all the runs of its question."""
    pointed = [_pointed(run, answerable) for run in runs]
    return [state for state, _ in states_of(pointed, answerable)]


def _pointed(run: RunFacts, answerable: bool) -> StatedRun:
    """An answer without citations leads nowhere; where there is nothing to cite, only a refusal is one."""
    refused = run.status == "refused" or (answerable and not run.citations)
    return StatedRun("", "", run.logged, run.status == "error", refused, run.arrived, None)


def flips(runs: Sequence[RunFacts]) -> list[Flip]:
    """The runs that differ from the majority, and in what; a tie is won by the value that comes first in grid order."""
    usual = {aspect: _majority([getattr(run, field) for run in runs]) for aspect, field in _ASPECTS.items()}
    flipped = []
    for run in runs:
        differs = tuple(aspect for aspect, field in _ASPECTS.items() if getattr(run, field) != usual[aspect])
        if differs:
            flipped.append(Flip(run.cell, differs))
    return flipped


def _majority(values: Sequence[object]) -> object:
    counted = Counter(values)  # keeps the order of first occurrence, so that most_common settles ties by it
    return counted.most_common(1)[0][0] if counted else None


def _place(run: RunFacts) -> tuple[object, ...]:
    """Grid order; runs without a place are told apart by what they said, never by the order of lines."""
    return (*run.cell.order, run.status, run.claim, sorted(run.citations), run.said)


def _values(question: ExpectedRuns, runs: Sequence[RunFacts]) -> dict[str, Fraction | None]:
    """The number of each name; None where it is undefined."""
    gold = question.gold
    answered = [run for run in runs if run.status == "answered"]
    refused = sum(run.status == "refused" for run in runs)
    known = bool(gold.answerable)
    overlap = citation_overlap([run.citations for run in answered])
    ned50, iaa = distance_and_agreement(run.claim for run in answered)
    passed = sum(run.passed for run in runs)
    values = {
        "rcr": _share(max(refused, len(answered)), runs),
        "refusal_rate": _share(refused, runs),
        "acr": _share(sum(run.contained for run in runs), runs) if known else None,
        "cghc": _share(sum(bool(run.cited) for run in runs), runs) if known and question.cites else None,
        "css": overlap.shared,
        "css_all": shared_of_all([run.citations for run in runs]),
        "jaccard": overlap.pairwise,
        "ned50": ned50,
        "iaa": iaa,
        "scu_cons": Fraction(all(run.kept is not False for run in runs)) if gold.constraints and runs else None,
    }
    return values | {f"pass^{k}": _all_pass(passed, len(runs), k) for k in KS}


def _share(count: int, runs: Sequence[RunFacts]) -> Fraction | None:
    return Fraction(count, len(runs)) if runs else None


def _all_pass(passed: int, runs: int, k: int) -> Fraction | None:
    """The chance that k of the runs, drawn without putting back, all pass."""
    return Fraction(comb(passed, k), comb(runs, k)) if runs >= k else None


def _prompts(runs: Sequence[RunFacts]) -> tuple[int | None, int | None]:
    """How many texts were sent, and how many runs differ in text, seed or temperature; 20 runs of 2 prompts are few."""
    if not runs or not all(run.asked for run in runs):
        return None, None
    distinct = len({run.asked for run in runs})
    if not all(run.cell.labelled for run in runs):
        return distinct, None
    return distinct, len({(run.asked, run.cell.seed, run.cell.temperature) for run in runs})


def _missed(
    values: Mapping[str, Fraction | None], question: ExpectedRuns, bars: Sequence[Gate]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The bars that the question does not clear, and those whose metric has no value."""
    failed, undefined = [], []
    for bar in bars:
        name, value = bar.metric, values[bar.metric]
        if not _applies(name, question):
            continue
        if value is None:
            undefined.append(name)
        elif not (value >= bar.bound.number if bar.op == ">=" else value <= bar.bound.number):
            failed.append(name)
    return tuple(failed), tuple(undefined)


def _applies(name: str, question: ExpectedRuns) -> bool:
    gold = question.gold
    if bool(gold.answerable) == (name in ON_UNANSWERABLE):
        return False
    if name == "scu_cons":
        return bool(gold.constraints)
    return question.cites or name not in CITING
