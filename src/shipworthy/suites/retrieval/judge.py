"""The judge of the retrieval suite: one question with all its log lines in, the facts about it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from ... import stats
from ...core.contracts import Gold, Place, ids_of
from ...core.join import Case
from ...core.tally import Fact
from ...language import refusal
from ..answers.judge import slices_of
from ..ranking.lists import arrange_list
from ..ranking.metrics import Ranked, Wanted, mean, mean_value
from ..ranking.options import Choices, Options
from . import places
from .log import LogLine, runs_of
from .places import GoldPlaces, StatedRun, converged, covered, in_anchor, states, text_of, wordings_needed

if TYPE_CHECKING:
    from .embedders import Embedder

RISK, STABLE = Fraction(6, 10), Fraction(4, 10)


def band(delta: Fraction) -> str:
    """The band of a ΔS: stable below 0.40, risk from 0.60 on, transitional between them."""
    return "stable" if delta < STABLE else "transitional" if delta < RISK else "risk"


class LogContext(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one log as a whole when its lines are judged."""

    cites: bool = True  # some line says what its answer cites
    embedder: Embedder | None = None  # makes ΔS where the log has none
    made_with: str = "none"  # what its ΔS come from


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    choices: Choices
    wanted: tuple[Wanted, ...]  # the ranking metrics, in the order of the report
    plain: bool = False  # one log against a gold set, without the canary gates
    sections: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    embedder: Embedder | None = None
    logs: dict[str, LogContext] = {}  # by input, once every line was seen

    @property
    def compared(self) -> bool:
        return "live" in self.logs


class Expected(msgspec.Struct, frozen=True):
    """A gold item made ready for comparing."""

    gold: Gold
    number: int  # its place in the gold set
    target: GoldPlaces
    slices: tuple[str, ...] = ()


class Line(msgspec.Struct):
    """The facts about one run."""

    paraphrase: str
    seed: str
    ranked: Ranked
    blocks: tuple[str, ...]
    anchor_rank: int | None = None
    negatives: tuple[int, ...] = ()  # ranks of hard negatives
    cited: tuple[str, ...] = ()
    covered: bool = False
    accurate: bool | None = None  # None where nothing is cited, or the gold has no byte range
    proximity: int | None = None
    delta: Fraction | None = None  # ΔS of the cited snippet
    unknown_sections: tuple[str, ...] = ()  # blocks of which nobody can say whether they lie in the anchor
    drifted: bool = False
    failed: bool = False
    unsaid: bool = False  # it does not say what its answer cites
    has: tuple[str, ...] = ()  # values that gates may need and this run is about
    lacks: tuple[str, ...] = ()
    state: str = ""  # none where the log says neither what was cited nor the state
    derived: bool = True


class LogVerdict(msgspec.Struct):
    """One question in one log: its lines, and each metric's mean over them (absent where undefined)."""

    expected: Expected
    lines: list[Line]
    superseded: int = 0  # lines that gave way to a later one of the same run
    values: dict[str, Fraction] = {}
    groups: dict[str, bool | None] = {}
    hit: bool = False  # each of its runs has something relevant within the canary depth
    reason: str = ""
    reference: tuple[Fact, ...] = ()  # what the original pseudocode counts for it

    @property
    def target(self) -> GoldPlaces:
        return self.expected.target

    @property
    def ranked(self) -> bool:
        """Whether there was something to find."""
        return bool(self.target.places)

    @property
    def far(self) -> bool:
        """Whether the cited text is too far from the question: beyond 0.60. A band of risk, at 0.60, is not yet far."""
        return self.values.get("delta_s", Fraction(0)) > RISK


class Verdict(msgspec.Struct):
    """The facts about one question, on the index under test and on the one that serves."""

    qid: str
    expected: Expected
    shadow: LogVerdict
    live: LogVerdict | None = None


def expect(case: Case, choices: Choices, texts: Mapping[str, str]) -> Expected:
    """The gold item made ready, once for all its lines."""
    target = places.prepare(case.gold, choices, texts)
    types = tuple(f"type={name}" for name in target.types)
    return Expected(case.gold, case.place, target, types + slices_of(case.gold, choices.by))


def judge_logs(case: Case, context: Context) -> Verdict:
    """A verdict on one question from all its lines."""
    expected = expect(case, context.choices, context.texts)
    shadow, live = (
        _judge_log(expected, case.records[name], context, context.logs[name]) if name in case.records else None
        for name in ("shadow", "live")
    )
    assert shadow is not None
    return Verdict(case.key, expected, shadow, live)


def _judge_log(expected: Expected, records: Sequence[LogLine], context: Context, log: LogContext) -> LogVerdict:
    runs = runs_of(records)
    lines = [_judge_line(expected, line, context, log) for line in runs]
    verdict = LogVerdict(expected, lines, len(records) - len(runs))
    _converge(verdict, runs, context, log)
    verdict.values = _values(verdict, context, log)
    depth = context.choices.canary_k
    verdict.hit = bool(lines) and all(line.ranked.hits and line.ranked.hits[0] <= depth for line in lines)
    verdict.reason = _reason(verdict)
    if context.options.profile == "reference":
        last = runs[-1] if runs else None
        verdict.reference = tuple(reference_facts(expected.gold, last, context.choices, context.sections))
    return verdict


def _judge_line(expected: Expected, line: LogLine, context: Context, log: LogContext) -> Line:
    choices, target = context.choices, expected.target
    blocks = in_order(line, choices)
    paraphrase, seed = line.key
    judged = Line(paraphrase, seed, _ranked(target, blocks, context), tuple(block.id for block in blocks))
    judged.failed = bool(line.error)
    judged.unsaid = not judged.failed and not line.says_what_it_cites
    _place(judged, target, blocks, context.sections)
    judged.negatives = tuple(rank for rank, block in enumerate(blocks, 1) if block.id in target.negatives)
    cited = [] if judged.failed else line.cited
    if cited:
        judged.cited = tuple(place.id for place in cited)
        judged.covered = places.covers_gold(target, cited, choices, context.sections, context.texts)
        judged.accurate = places.accurate(target, cited, choices, context.sections)
        judged.proximity = places.proximity(target, cited, context.sections)
        judged.drifted = places.drifted(target, cited, choices, context.sections)
        judged.delta = _delta(line, cited, expected.gold, context, log)
    if not judged.failed:
        held = _held(judged, line, target, blocks, context)
        judged.has = tuple(value for value, there in held.items() if there)
        judged.lacks = tuple(value for value, there in held.items() if not there)
    return judged


def _held(
    judged: Line, line: LogLine, target: GoldPlaces, blocks: Sequence[Place], context: Context
) -> dict[str, bool]:
    """Whether the run has each value that it could have."""
    held = {"answer_citations": not judged.unsaid}
    if judged.cited and target.answerable:
        held["delta_s"] = judged.delta is not None
        if any(place.offsets is not None for place in target.places):
            held["offsets"] = judged.accurate is not None
        if target.anchor is not None:
            held["section_id"] = judged.proximity is not None
    if context.options.profile == "reference":  # which takes the distances of everything retrieved
        held["delta_s"] = line.delta_s is not None
    if context.choices.match == "offsets":
        held["topk.offsets"] = all(block.offsets is not None for block in blocks)
    if context.choices.match == "text":
        held["topk.text"] = all(text_of(block, context.texts) is not None for block in blocks)
    return held


def _place(judged: Line, target: GoldPlaces, blocks: Sequence[Place], sections: Mapping[str, str]) -> None:
    """Where the anchor section is met first, and which blocks may lie in it unknown to us."""
    if target.anchor is None:
        return
    inside = [(rank, block.id, in_anchor(target, block, sections)) for rank, block in enumerate(blocks, 1)]
    judged.anchor_rank = next((rank for rank, _, is_inside in inside if is_inside), None)
    judged.unknown_sections = tuple(name for _, name, is_inside in inside if is_inside is None)


def in_order(line: LogLine, choices: Choices) -> list[Place]:
    """The blocks by rank: list or score order, duplicates as was chosen."""
    blocks = line.blocks
    scores = [block.score for block in blocks if block.score is not None] if choices.order == "score" else []
    known = scores if len(scores) == len(blocks) else None
    order = arrange_list(line.qid, [block.id for block in blocks], known, choices)
    return blocks if order is None else [blocks[place] for place in order]


def _ranked(target: GoldPlaces, blocks: Sequence[Place], context: Context) -> Ranked:
    hits, news = [], []
    seen: set[int] = set()
    names: set[str] = set()
    for rank, block in enumerate(blocks, 1):
        if block.id in names:  # a repeated block keeps its slot and adds nothing
            continue
        names.add(block.id)
        if numbers := covered(target, block, context.choices, context.texts):
            hits.append(rank)
            news.append(len(set(numbers) - seen))
            seen.update(numbers)
    plain = all(count == 1 for count in news)
    return Ranked(len(blocks), len(target.places), tuple(hits), () if plain else tuple(news))


def _delta(line: LogLine, cited: Sequence[Place], gold: Gold, context: Context, log: LogContext) -> Fraction | None:
    """ΔS of the first cited block: as logged, or made from the texts; to four places."""
    first = cited[0]
    if line.delta_s is not None:
        at = next((place for place, block in enumerate(line.blocks) if block.id == first.id), None)
        return None if at is None or at >= len(line.delta_s) else Fraction(str(round(line.delta_s[at], 4)))
    pair = delta_texts(line, gold, context.texts) if log.embedder is not None else None
    return None if pair is None or log.embedder is None else log.embedder.distance(*pair)


def delta_texts(line: LogLine, gold: Gold, texts: Mapping[str, str]) -> tuple[str, str] | None:
    """The question and the text of the first cited block; None where either is not at hand."""
    cited = [] if line.error else line.cited
    if not cited:
        return None
    text = text_of(cited[0], texts)
    if text is None:
        text = next((part.text for part in line.evidence or () if part.id == cited[0].id), None)
    question = line.asked or gold.question
    return None if text is None or not question else (question, text)


def _converge(verdict: LogVerdict, runs: Sequence[LogLine], context: Context, log: LogContext) -> None:
    # A run that says neither its state nor what it cites has none to derive.
    told = [
        (run, line)
        for run, line in zip(runs, verdict.lines, strict=True)
        if run.lambda_state is not None or (log.cites and not line.unsaid)
    ]
    known = [
        StatedRun(
            line.seed,
            line.paraphrase,
            run.lambda_state,
            line.failed,
            _refused(run, line),
            line.covered,
            places.first_place([] if line.failed else run.cited, context.sections),
        )
        for run, line in told
    ]
    gold = verdict.expected.gold
    stated = states(known, gold.answerable is not False)
    for (_, line), (state, derived) in zip(told, stated, strict=True):
        line.state, line.derived = state, derived
    verdict.groups = converged(known, stated, wordings_needed(len(gold.paraphrases)))


def _refused(run: LogLine, line: Line) -> bool:
    return not line.cited or refusal.is_exact(run.answer.claim)


def _values(verdict: LogVerdict, context: Context, log: LogContext) -> dict[str, Fraction]:
    """Each metric's value for the question: the mean over its runs for which it is defined."""
    choices, lines, target = context.choices, verdict.lines, verdict.target
    if not lines and choices.missing_query == "skip":
        return {}
    values: dict[str, Fraction] = {}
    if target.places or choices.no_relevant == "zero":
        lists = tuple([line.ranked for line in lines])
        values |= _ranking_values(lists, context.wanted, choices.k, choices.denominator, choices.recall)
    for k in choices.k if target.anchor is not None else ():
        values[f"anchor_hit@{k}"] = mean(
            [Fraction(line.anchor_rank is not None and line.anchor_rank <= k) for line in lines]
        )
    if lines and target.negatives and choices.match == "ids":
        values |= _negatives(lines, choices)
    said = [line for line in lines if not line.unsaid]
    return values | _cited_values(verdict.target, said) if log.cites and (said or not lines) else values


@lru_cache(maxsize=1 << 14)  # many questions are found at the same ranks
def _ranking_values(
    lists: tuple[Ranked, ...], wanted: tuple[Wanted, ...], depths: tuple[int, ...], denominator: str, recall: str
) -> dict[str, Fraction]:
    """The ranking metrics, and precision as trec_eval has it."""
    values = {one.name(): mean_value(one, lists, denominator, recall) for one in wanted}
    return values | {f"P_{k}": mean_value(Wanted("precision", k), lists, "k") for k in depths}


def _negatives(lines: Sequence[Line], choices: Choices) -> dict[str, Fraction]:
    rates = {
        f"negative_rate@{k}": mean(
            [Fraction(sum(rank <= k for rank in line.negatives), min(k, line.ranked.returned) or 1) for line in lines]
        )
        for k in choices.k
    }
    outranks = [
        Fraction(bool(line.negatives) and line.negatives[0] < min(line.ranked.hits, default=1 << 60)) for line in lines
    ]
    return rates | {"negative_first": mean(outranks)}


def _cited_values(target: GoldPlaces, lines: Sequence[Line]) -> dict[str, Fraction]:
    values = {"answer_rate": mean([Fraction(bool(line.cited)) for line in lines])}
    if target.citable:
        values["coverage"] = mean([Fraction(line.covered) for line in lines])
    if not target.answerable:
        return values
    optional = {
        "citation_accuracy": [Fraction(line.accurate) for line in lines if line.accurate is not None],
        "anchor_proximity": [Fraction(line.proximity) for line in lines if line.proximity is not None],
        "delta_s": [line.delta for line in lines if line.delta is not None],
    }
    return values | {name: mean(each) for name, each in optional.items() if each}


def _reason(verdict: LogVerdict) -> str:
    """The one thing that is wrong, the most severe first; empty when nothing is."""
    lines, values = verdict.lines, verdict.values
    if not lines:
        return "missing"
    if all(line.failed for line in lines):
        return "error"
    if values.get("coverage") == 0:
        return "uncovered" if values["answer_rate"] else "uncited"
    if not verdict.target.answerable:
        return "answered" if any(line.cited for line in lines) else ""
    if verdict.far:
        return "far"
    if verdict.ranked and not any(line.ranked.hits for line in lines):
        return "not-retrieved"
    return "off-place" if values.get("citation_accuracy") == 0 else ""


# --- the original pseudocode ---

DISTANCES = (("delta_s_median", 50), ("delta_s_p90", 90))


def reference_facts(gold: Gold, line: LogLine | None, choices: Choices, sections: Mapping[str, str]) -> Iterator[Fact]:
    """What the pseudocode counts for one item, from its last run."""
    yield "items"
    for k in choices.k:
        hits, returned, wanted = _hits(gold, line, k)
        yield f"precision@{k}", Fraction(hits, max(1, returned))
        yield f"recall@{k}", Fraction(hits, max(1, wanted))
    target, cited = places.prepare(gold, choices, {}), line.cited[:1] if line else []
    if places.covers_gold(target, cited, choices, sections, {}):
        yield "coverage"
    if places.accurate(target, cited, choices, sections):
        yield "citation_accuracy"
    if line and line.delta_s:
        distances = sorted(Fraction(str(distance)) for distance in line.delta_s[: choices.canary_k])
        for name, p in DISTANCES:
            value = stats.percentile(distances, p)
            assert value is not None
            yield name, value
    if line and line.lambda_state is not None:
        yield "logged_states"
        if line.lambda_state == "→":
            yield "lambda_convergent"


def _hits(gold: Gold, line: LogLine | None, k: int) -> tuple[int, int, int]:
    wanted = set(ids_of(gold.relevant) or gold.citations)
    retrieved = [block.id for block in line.blocks[:k]] if line else []
    return len(wanted & set(retrieved)), len(retrieved), len(wanted)
