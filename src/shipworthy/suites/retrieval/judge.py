"""The judge of the retrieval suite: one question with all its log lines in, the facts about it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ... import stats
from ...core.contracts import Gold, Place, ids_of
from ...core.decision import number
from ...core.evidence import Judged, Order, Row, brief
from ...core.join import Case
from ...core.metrics import Words, decimal
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

# What a row is about: the question itself, its change against live, or just its name in a list of the report.
ITEM, WORSE, BETTER, HIT_LOST, HIT_GAINED, BAD = range(6)

RETRIEVED = 10  # retrieved ids that are shown of what failed
REASONS = {  # the most severe first
    "missing": Words("no usable response", "The log has no line for the question.", did="the log has no line for it"),
    "error": Words("failed run", "Every run of the question failed.", did="every run failed"),
    "uncited": Words("no citation", "The answer cites nothing.", did="the answer cites nothing"),
    "uncovered": Words(
        "wrong source",
        "The answer cites neither a relevant block nor the right section.",
        did="cites neither a relevant block nor the right section",
    ),
    "far": Words(
        "cited text far from the question",
        "The semantic distance (ΔS) between the question and the cited text is too large.",
        did="the cited text is far from the question",
    ),
    "answered": Words(
        "cites a source for an unanswerable question",
        "The documents have no answer to the question, and a source was cited all the same.",
        did="cites a source although it is unanswerable",
    ),
    "not-retrieved": Words(
        "nothing relevant retrieved", "No relevant block is in the result list.", did="nothing relevant was retrieved"
    ),
    "off-place": Words(
        "wrong place cited",
        "No citation is in the gold section and its byte range.",
        did="no citation is in the gold section and byte range",
    ),
}
SEVERITY = {reason: rank for rank, reason in enumerate(REASONS)}
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


class InLog(msgspec.Struct, eq=False):
    """A question in one log: its lines, and each metric's mean over them (absent where undefined)."""

    target: GoldPlaces
    lines: list[Line]
    superseded: int = 0  # lines that gave way to a later one of the same run
    values: dict[str, Fraction] = {}
    groups: dict[str, bool | None] = {}  # by seed, whether its runs converge
    hit: bool = False  # each of its runs has something relevant within the canary depth
    reason: str = ""
    reference: tuple[Fact, ...] = ()  # what the original pseudocode counts for it

    @property
    def ranked(self) -> bool:
        """Whether there was something to find."""
        return bool(self.target.places)

    @property
    def far(self) -> bool:
        """Whether the cited text is too far from the question: beyond 0.60. A band of risk, at 0.60, is not yet far."""
        return self.values.get("delta_s", Fraction(0)) > RISK

    @property
    def bad(self) -> bool:
        """Nothing that it should cite is cited, or the cited snippet is far from the question."""
        return self.values.get("coverage") == 0 or self.far

    @property
    def first_rank(self) -> int | None:
        """Where the first expected block stands in the first run that has one; None where no run does."""
        return next((line.ranked.hits[0] for line in self.lines if line.ranked.hits), None)

    @property
    def telling(self) -> Line | None:
        """The run to show: the farthest where distance is the fault, else the first that covers nothing, else any."""
        if self.reason == "far":
            return max(self.lines, key=lambda line: line.delta or Fraction(0))
        return next((line for line in self.lines if not line.covered), self.lines[0] if self.lines else None)


class Outline(NamedTuple):
    """All that counts about a question, on the index under test and on the one that serves."""

    qid: str
    place: int  # in the gold set
    slices: tuple[str, ...]
    shadow: InLog
    live: InLog | None
    change: tuple[Fraction, Fraction] | None  # the canary metric now and on live, where both have it


def judge(case: Case, context: Context) -> Iterator[Judged]:
    """The worst questions first; a question that a log has no run of, or a run that failed for good, is lost."""
    outline, logs = outline_of(case, context), case.records.values()
    reason, lost = outline.shadow.reason, not all(logs) or any(run.error for lines in logs for run in runs_of(lines))
    worst = (("", (SEVERITY[reason], case.key)),) if reason else ()
    row = row_of(outline, case.gold, context.choices)
    yield Judged(row, outline, (ITEM, case.key), worst, lost)
    yield from _rows_about(outline)


def outline_of(case: Case, context: Context) -> Outline:
    target = places.prepare(case.gold, context.choices, context.texts)
    types = tuple(f"type={name}" for name in target.types)
    found = {
        name: _judge_log(case.gold, target, lines, context, context.logs[name]) for name, lines in case.records.items()
    }
    shadow, live, metric = found["shadow"], found.get("live"), f"recall@{context.choices.canary_k}"
    change = None
    if live is not None and metric in shadow.values and metric in live.values:
        change = shadow.values[metric], live.values[metric]
    slices = types + slices_of(case.gold, context.choices.by)
    return Outline(case.key, case.place, slices, shadow, live, change)


def _judge_log(gold: Gold, target: GoldPlaces, records: Sequence[LogLine], context: Context, log: LogContext) -> InLog:
    runs = runs_of(records)
    lines = [_judge_line(gold, target, line, context, log) for line in runs]
    found = InLog(target, lines, len(records) - len(runs))
    found.groups = _converge(gold, lines, runs, context, log)
    found.values = _values(target, lines, context, log)
    depth = context.choices.canary_k
    found.hit = bool(lines) and all(line.ranked.hits and line.ranked.hits[0] <= depth for line in lines)
    found.reason = _reason(found)
    if context.options.profile == "reference":
        last = runs[-1] if runs else None
        found.reference = tuple(reference_facts(gold, last, context.choices, context.sections))
    return found


def _judge_line(gold: Gold, target: GoldPlaces, line: LogLine, context: Context, log: LogContext) -> Line:
    choices = context.choices
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
        judged.delta = _delta(line, cited, gold, context, log)
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


def _converge(
    gold: Gold, lines: Sequence[Line], runs: Sequence[LogLine], context: Context, log: LogContext
) -> dict[str, bool | None]:
    """Each line gets its state; whether they converge is told by seed."""
    # A run that says neither its state nor what it cites has none to derive.
    told = [
        (run, line)
        for run, line in zip(runs, lines, strict=True)
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
    stated = states(known, gold.answerable is not False)
    for (_, line), (state, derived) in zip(told, stated, strict=True):
        line.state, line.derived = state, derived
    return converged(known, stated, wordings_needed(len(gold.paraphrases)))


def _refused(run: LogLine, line: Line) -> bool:
    return not line.cited or refusal.is_exact(run.answer.claim)


def _values(target: GoldPlaces, lines: Sequence[Line], context: Context, log: LogContext) -> dict[str, Fraction]:
    """Each metric's value for the question: the mean over its runs for which it is defined."""
    choices = context.choices
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
    return values | _cited_values(target, said) if log.cites and (said or not lines) else values


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


def _reason(found: InLog) -> str:
    """The one thing that is wrong, the most severe first; empty when nothing is."""
    lines, values = found.lines, found.values
    if not lines:
        return "missing"
    if all(line.failed for line in lines):
        return "error"
    if values.get("coverage") == 0:
        return "uncovered" if values["answer_rate"] else "uncited"
    if not found.target.answerable:
        return "answered" if any(line.cited for line in lines) else ""
    if found.far:
        return "far"
    if found.ranked and not any(line.ranked.hits for line in lines):
        return "not-retrieved"
    return "off-place" if values.get("citation_accuracy") == 0 else ""


# --- rows and cards ---


def row_of(outline: Outline, gold: Gold, choices: Choices) -> Row:
    """The verdict on a question, as a report has it; its columns are those of the depths that were chosen."""
    shadow, values = outline.shadow, outline.shadow.values
    shown: Row = {"qid": outline.qid, "type": " ".join(shadow.target.types), "runs": len(shadow.lines)}
    shown["states"] = " ".join(line.state for line in shadow.lines)
    names = [f"{kind}@{k}" for kind in ("precision", "recall", "ndcg") for k in choices.k]
    names += ["mrr", "map", "coverage", "citation_accuracy", "anchor_proximity", "delta_s"]
    shown |= {name: number(values.get(name)) for name in names}
    return shown | {
        "short": _short_list(shadow, choices),
        "reason": shadow.reason,
        "question": brief(gold.question),
        **({"retrieved_ids": list(line.blocks[:RETRIEVED])} if shadow.reason and (line := shadow.telling) else {}),
    }


def _rows_about(outline: Outline) -> Iterator[Judged]:
    """What else a report lists of a question: that it is bad, and how it changed against live."""
    qid, place, shadow, live = outline.qid, outline.place, outline.shadow, outline.live
    if shadow.bad:
        yield Judged({"qid": qid}, order=(BAD, qid))
    if outline.change is None or live is None:
        return
    now, before = outline.change
    if now != before:
        changed = {
            "qid": qid,
            "type": list(shadow.target.types),
            "shadow": number(now),
            "live": number(before),
            "hit": [live.hit, shadow.hit],
            "rank": [live.first_rank, shadow.first_rank],
        }
        yield Judged(changed, order=(BETTER if now > before else WORSE, place))
    if shadow.hit != live.hit:
        yield Judged({"qid": qid}, order=(HIT_GAINED if shadow.hit else HIT_LOST, place))


def _short_list(shadow: InLog, choices: Choices) -> str:
    """`precision@5 0.667 with 3 returned; trec_eval P_5 0.400` for the shallowest k that a list does not fill."""
    lengths = [line.ranked.returned for line in shadow.lines]
    k = next((k for k in choices.k if lengths and min(lengths) < k), None)
    if k is None or choices.denominator == "k" or f"precision@{k}" not in shadow.values:
        return ""
    value, trec = shadow.values[f"precision@{k}"], shadow.values[f"P_{k}"]
    return f"precision@{k} {decimal(value)} with {min(lengths)} returned; trec_eval P_{k} {decimal(trec)}"


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    gold, shadow = case.gold, outline_of(case, context).shadow
    line, says = shadow.telling, REASONS[shadow.reason].did
    if shadow.reason == "far":
        says += f" (semantic distance ΔS {float(shadow.values['delta_s']):.2f})"
    if len(shadow.lines) > 1:
        says += f"; {len(shadow.lines)} runs"
    return {
        "qid": case.key,
        "reason": shadow.reason,
        "says": says,
        "question": gold.question,
        "claim": "" if line else None,
        "citations": list(line.cited) if line else [],
        "retrieved_ids": list(line.blocks[:RETRIEVED]) if line else [],
        "gold_rank": line.ranked.hits[0] if line and line.ranked.hits else None,
        "gold_citations": ids_of(gold.relevant) or gold.citations,
        "anchor_section": gold.anchor_section,
    }


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
