"""The judge of the retrieval suite: one question with all its log lines in, the facts about it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import msgspec

from ... import refusal
from ...contracts import Gold, Place
from ...errors import DataError
from . import citations
from .lambda_states import Run, converged, states, wordings_needed
from .log import LogLine
from .matching import Target, covered, in_anchor, prepare, text_of
from .options import Options
from .ranking import Duplicate, Ranked, Wanted, arrange, value

Distance = Callable[[str, str], Fraction]


class Context(msgspec.Struct):
    """What a verdict depends on besides the question and its runs."""

    options: Options
    sections: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    distance: Distance | None = None  # makes ΔS where the log has none
    cites: bool = True  # some line of this log says what its answer cites


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
    state: str = ""  # none where the log says neither what was cited nor the state
    derived: bool = True


class Verdict(msgspec.Struct):
    """The facts about one question: its lines, and each metric's mean over them (absent where undefined)."""

    qid: str
    gold: Gold
    target: Target
    lines: list[Line]
    values: dict[str, Fraction] = {}
    groups: dict[str, bool | None] = {}
    hit: bool = False  # each of its runs has something relevant within the canary depth
    short: bool = False  # some list is shorter than the deepest k
    slices: tuple[str, ...] = ()
    reason: str = ""

    @property
    def ranked(self) -> bool:
        """Whether there was something to find."""
        return bool(self.target.places)


def judge(gold: Gold, runs: Sequence[LogLine], context: Context) -> Verdict:
    """A verdict on one question from all its runs."""
    options = context.options
    target = prepare(gold, options, context.texts)
    _check(gold, target, runs, options)
    lines = [_judge_line(target, line, gold, context) for line in runs]
    verdict = Verdict(str(gold.qid), gold, target, lines)
    _converge(verdict, runs, context)
    verdict.values = _values(verdict, context)
    depth = options.canary_k
    verdict.hit = bool(lines) and all(line.ranked.hits and line.ranked.hits[0] <= depth for line in lines)
    verdict.short = any(line.ranked.returned < max(options.k) for line in lines)
    verdict.reason = _reason(verdict)
    return verdict


def _check(gold: Gold, target: Target, runs: Sequence[LogLine], options: Options) -> None:
    if not runs and options.missing_query == "error":
        raise DataError(f"qid {gold.qid!r} has no log line", hint="Run it, or choose --missing-query zero or skip.",
                        code="retrieval-missing")  # fmt: skip
    if not target.places and options.no_relevant == "error":
        raise DataError(f"qid {gold.qid!r} has no relevant block", hint="Add one, or choose --no-relevant skip or zero.",
                        code="retrieval-no-relevant")  # fmt: skip


def _judge_line(target: Target, line: LogLine, gold: Gold, context: Context) -> Line:
    options = context.options
    blocks = _in_order(line, options)
    paraphrase, seed = line.key
    judged = Line(paraphrase, seed, _ranked(target, blocks, context), tuple(block.id for block in blocks))
    judged.failed = bool(line.error)
    inside = [in_anchor(target, block, context.sections) for block in blocks]
    judged.anchor_rank = next((rank for rank, found in enumerate(inside, 1) if found), None)
    if target.anchor is not None:
        judged.unknown_sections = tuple(block.id for block, found in zip(blocks, inside, strict=True) if found is None)
    judged.negatives = tuple(rank for rank, block in enumerate(blocks, 1) if block.id in target.negatives)
    cited = [] if judged.failed else line.cited
    if cited:
        judged.cited = tuple(place.id for place in cited)
        judged.covered = citations.covers_gold(target, cited, options, context.sections, context.texts)
        judged.accurate = citations.accurate(target, cited, options, context.sections)
        judged.proximity = citations.proximity(target, cited, context.sections)
        judged.drifted = citations.drifted(target, cited, options, context.sections)
        judged.delta = _delta(line, cited, gold, context)
    return judged


def _in_order(line: LogLine, options: Options) -> list[Place]:
    """The blocks by rank: list or score order, duplicates as the options say."""
    blocks = line.blocks
    ids = [block.id for block in blocks]
    scores = [block.score for block in blocks] if options.order == "score" else None
    if scores is not None and None in scores:
        raise DataError(f"a block of qid {line.qid!r} has no score", hint="Give each topk block a score, or use --order list.",
                        code="retrieval-no-score")  # fmt: skip
    try:
        order = arrange(ids, scores, options)  # type: ignore[arg-type]
    except Duplicate as repeated:
        raise DataError(f"qid {line.qid!r} retrieved {str(repeated)!r} twice", code="retrieval-duplicate",
                        hint="Remove it, or choose --duplicates first or occupy_slot.") from None  # fmt: skip
    return blocks if order is None else [blocks[place] for place in order]


def _ranked(target: Target, blocks: Sequence[Place], context: Context) -> Ranked:
    hits, news = [], []
    seen: set[int] = set()
    names: set[str] = set()
    for rank, block in enumerate(blocks, 1):
        if block.id in names:  # a repeated block keeps its slot and adds nothing
            continue
        names.add(block.id)
        if found := covered(target, block, context.options, context.texts):
            hits.append(rank)
            news.append(len(set(found) - seen))
            seen.update(found)
    plain = all(count == 1 for count in news)
    return Ranked(len(blocks), len(target.places), tuple(hits), () if plain else tuple(news))


def _delta(line: LogLine, cited: Sequence[Place], gold: Gold, context: Context) -> Fraction | None:
    """ΔS of the first cited block: as logged, or made from the texts; to four places."""
    first = cited[0]
    if line.delta_s is not None:
        at = next((place for place, block in enumerate(line.blocks) if block.id == first.id), None)
        return None if at is None or at >= len(line.delta_s) else Fraction(str(round(line.delta_s[at], 4)))
    found = delta_texts(line, gold, context) if context.distance is not None else None
    return None if found is None or context.distance is None else context.distance(*found)


def delta_texts(line: LogLine, gold: Gold, context: Context) -> tuple[str, str] | None:
    """The question and the text of the first cited block; None where either is not at hand."""
    cited = [] if line.error else line.cited
    if not cited:
        return None
    text = text_of(cited[0], context.texts)
    if text is None:
        text = next((part.text for part in line.evidence or () if part.id == cited[0].id), None)
    question = line.asked or gold.question
    return None if text is None or not question else (question, text)


def _converge(verdict: Verdict, runs: Sequence[LogLine], context: Context) -> None:
    if not context.cites and all(line.lambda_state is None for line in runs):
        return
    known = [
        Run(line.seed, line.paraphrase, run.lambda_state, line.failed, _refused(run, line), line.covered,
            citations.first_place([] if line.failed else run.cited, context.sections))
        for run, line in zip(runs, verdict.lines, strict=True)
    ]  # fmt: skip
    found = states(known, verdict.gold.answerable is not False)
    for line, (state, derived) in zip(verdict.lines, found, strict=True):
        line.state, line.derived = state, derived
    verdict.groups = converged(known, found, wordings_needed(len(verdict.gold.paraphrases)))


def _refused(run: LogLine, line: Line) -> bool:
    return not line.cited or refusal.is_exact(run.answer.claim)


def _values(verdict: Verdict, context: Context) -> dict[str, Fraction]:
    """Each metric's value for the question: the mean over its runs for which it is defined."""
    options, lines, target = context.options, verdict.lines, verdict.target
    if not lines and options.missing_query == "skip":
        return {}
    found: dict[str, Fraction] = {}
    if target.places or options.no_relevant == "zero":
        for wanted in wanted_metrics(options):
            found[wanted.name()] = _mean(
                [value(wanted, line.ranked, options.denominator, options.recall) for line in lines]
            )
        for k in options.k:
            found[f"P_{k}"] = _mean([value(Wanted("precision", k), line.ranked, "k") for line in lines])
    for k in options.k if target.anchor is not None else ():
        found[f"anchor_hit@{k}"] = _mean(
            [Fraction(line.anchor_rank is not None and line.anchor_rank <= k) for line in lines]
        )
    if lines and target.negatives and options.match == "ids":
        found |= _negatives(lines, options)
    if context.cites:
        found |= _cited_values(verdict)
    return found


def _negatives(lines: Sequence[Line], options: Options) -> dict[str, Fraction]:
    found = {}
    for k in options.k:
        shares = [
            Fraction(sum(rank <= k for rank in line.negatives), min(k, line.ranked.returned) or 1) for line in lines
        ]
        found[f"negative_rate@{k}"] = _mean(shares)
    outranks = [
        Fraction(bool(line.negatives) and line.negatives[0] < min(line.ranked.hits, default=1 << 60)) for line in lines
    ]
    return found | {"negative_first": _mean(outranks)}


def _cited_values(verdict: Verdict) -> dict[str, Fraction]:
    lines = verdict.lines
    found = {"answer_rate": _mean([Fraction(bool(line.cited)) for line in lines])}
    if verdict.target.citable:
        found["coverage"] = _mean([Fraction(line.covered) for line in lines])
    if not verdict.target.answerable:
        return found
    optional = {
        "citation_accuracy": [Fraction(line.accurate) for line in lines if line.accurate is not None],
        "anchor_proximity": [Fraction(line.proximity) for line in lines if line.proximity is not None],
        "delta_s": [line.delta for line in lines if line.delta is not None],
    }
    return found | {name: _mean(values) for name, values in optional.items() if values}


def wanted_metrics(options: Options) -> list[Wanted]:
    """The ranking metrics of the suite, in the order of the report."""
    depths = [Wanted(kind, k) for kind in ("precision", "recall", "ndcg") for k in options.k]
    return [*depths, Wanted("mrr"), Wanted("map")]


def _mean(values: Sequence[Fraction]) -> Fraction:
    if len(values) == 1:
        return values[0]
    return Fraction(sum(values, Fraction(0)), len(values)) if values else Fraction(0)


def _reason(verdict: Verdict) -> str:
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
    if values.get("delta_s", Fraction(0)) > RISK:
        return "far"
    if verdict.ranked and not any(line.ranked.hits for line in lines):
        return "not-retrieved"
    return "off-place" if values.get("citation_accuracy") == 0 else ""


RISK = Fraction(6, 10)  # ΔS from here on is risk; below 0.40 it is stable, between them transitional
STABLE = Fraction(4, 10)
