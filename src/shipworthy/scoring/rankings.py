"""Rankings scored from file to numbers, one pass, without more detail than the metrics need."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ..contracts import Input, Warned
from ..decision import Decision, number
from ..errors import DataError
from ..evaluation import choose_gates, inputs, measure_all, uncollected, warnings
from ..gates import Gate
from ..goldlock import lock_problems
from ..jsonl import Problem, Problems, Reader
from ..metrics import Count, Mean, Metric
from ..suites.retrieval import Duplicate, Options, Ranked, Wanted, arrange, make_options, parse_wanted, spellings, value
from ..suites.retrieval.trec import Block, Scattered, name_of, read_qrels, read_run, read_whole_run
from ..tally import NAMED, Tally
from ..text import plural
from ._common import decide_or_measure

METRICS = "P@1,P@3,P@5,P@10,R@1,R@3,R@5,R@10,nDCG@10,MRR,MAP"


class Slot(msgspec.Struct, gc=False):
    """What one question has to find, and what its list has found."""

    wanted: tuple[Any, ...] | frozenset[Any]
    grades: dict[Any, int] | None = None  # only where relevance is graded
    found: Ranked | None = None
    more: list[Ranked] | None = None  # of further lists of the same question

    @property
    def lists(self) -> list[Ranked]:
        return [] if self.found is None else [self.found, *(self.more or ())]


class _Name(msgspec.Struct):
    id: str


class _GoldIds(msgspec.Struct):
    qid: str | int = ""
    q_id: str | int | UnsetType = UNSET
    id: str | int | UnsetType = UNSET
    relevant: list[str | _Name] = []
    gold_citations: list[str | _Name] = []


class _Scored(msgspec.Struct):
    id: str
    score: float | None = None


class _LogIds(msgspec.Struct):
    qid: str | int = ""
    q_id: str | int | UnsetType = UNSET
    retrieved_ids: list[str | _Scored] | UnsetType = UNSET
    topk: list[_Scored] | UnsetType = UNSET
    error: str | None = None


Slots = dict[Any, Slot]
_STRINGS = frozenset((str,))
Lists = Iterable[tuple[Any, list[Any], list[float] | None]]


def evaluate_trec(
    qrels: str | os.PathLike[str],
    run: str | os.PathLike[str],
    metrics: str | Iterable[Wanted] = METRICS,
    *,
    preset: str = "trec",
    gates: str | Iterable[str | Gate] = (),
    require_proof: bool = False,
    per_question: bool = True,
    **choices: Any,
) -> Decision:
    """Score a TREC run against qrels. `choices` are the named options; they stand above the preset's."""
    options = make_options(preset, **choices)
    wanted = parse_wanted(metrics) if isinstance(metrics, str) else list(metrics)
    gold, log = Input(), Input()
    path = os.fspath(run)
    with uncollected():
        try:
            slots = qrels_slots(os.fspath(qrels), gold, options)
            unknown = rank_all(slots, read_run(path, log, options.score_bits), options)
        except Scattered:
            log = Input()
            slots = qrels_slots(os.fspath(qrels), gold, options)
            unknown = rank_all(slots, read_whole_run(path, log, options.score_bits), options)
    return _decision(slots, unknown, wanted, options, (gold, log), gates, require_proof, per_question)


def evaluate_ids(
    gold: str | os.PathLike[str],
    log: str | os.PathLike[str],
    metrics: str | Iterable[Wanted] = METRICS,
    *,
    preset: str = "native",
    gates: str | Iterable[str | Gate] = (),
    require_proof: bool = False,
    per_question: bool = True,
    lenient: bool = False,
    **choices: Any,
) -> Decision:
    """Score retrieved ids against relevant ids, both JSON lines, by the metrics named and nothing else."""
    options = make_options(preset, **choices)
    wanted = parse_wanted(metrics) if isinstance(metrics, str) else list(metrics)
    problems, read = Problems(), (Input(path=os.fspath(gold)), Input(path=os.fspath(log)))
    with uncollected():
        slots = _gold_slots(read[0], problems)
        read[0].bad = problems.total
        unknown = rank_all(slots, _log_lists(read[1], problems), options)
        read[1].bad = problems.total - read[0].bad
    for source in read:
        source.problems = [str(problem) for problem in problems.first if problem.path == source.path]
    if not lenient:
        problems.raise_any()
    locked = lock_problems(gold)
    return _decision(slots, unknown, wanted, options, read, gates, require_proof, per_question, locked)


def qrels_slots(path: str, read: Input, options: Options) -> Slots:
    """What there is to find for each query of the qrels."""
    judged = read_qrels(path, read)
    slots: Slots = {}
    for qid in list(judged):
        grades = judged.pop(qid)
        graded = options.rel_level > 1 or max(grades.values(), default=0) > 1
        names = [name for name, level in grades.items() if level >= options.rel_level] if graded else list(grades)
        slots[qid] = Slot(tuple(names) if len(names) < 9 else frozenset(names), grades if graded else None)
    return slots


def _gold_slots(read: Input, problems: Problems) -> Slots:
    slots: Slots = {}
    reader = Reader(read.path, _GoldIds, problems, guarded=(b'"qid"', b'"relevant"'))
    for line, item in reader:
        qid = item.qid or (item.q_id if item.q_id is not UNSET else item.id)
        given: Any = item.relevant or item.gold_citations
        names = dict.fromkeys(_names(given))
        if qid in (UNSET, "") or str(qid) in slots:
            problems.add(Problem(read.path, line, f"qid {qid!r} is missing or stands twice", "Give each question its own qid.",
                                 "gold-repeated"))  # fmt: skip
            continue
        slots[str(qid)] = Slot(tuple(names) if len(names) < 9 else frozenset(names))
    read.digest, read.records = reader.digest, len(slots)
    if not slots and not problems.total:
        raise DataError(
            "there is no gold item to judge by", where=read.path, hint="Write at least one question.", code="gold-empty"
        )
    return slots


def _log_lists(read: Input, problems: Problems) -> Iterator[tuple[str, list[str], list[float] | None]]:
    reader = Reader(read.path, _LogIds, problems, guarded=(b'"qid"', b'"retrieved_ids"', b'"topk"'))
    for line, run in reader:
        read.records += 1
        qid = run.qid or run.q_id
        given: Any = run.topk if run.topk is not UNSET else run.retrieved_ids
        if qid in (UNSET, "") or (given is UNSET and not run.error):
            what = "qid: expected a name for the question, found none" if given is not UNSET else (
                "topk: expected the retrieved blocks, found neither topk nor retrieved_ids")  # fmt: skip
            problems.add(Problem(read.path, line, what, "", "type"))
            continue
        places = [] if given is UNSET else given
        if _STRINGS.issuperset(map(type, places)):
            yield str(qid), places, None
        else:
            scores: list[Any] = [getattr(place, "score", None) for place in places]
            yield str(qid), _names(places), None if None in scores else scores
    read.digest = reader.digest


def _names(places: list[Any]) -> list[str]:
    if _STRINGS.issuperset(map(type, places)):
        return places
    return [place if type(place) is str else place.id for place in places]


def rank_all(slots: Slots, lists: Lists | Iterator[Block], options: Options) -> dict[str, int]:
    """Put what each list hits into its question's slot; queries that the gold does not have are counted and left."""
    unknown: dict[str, int] = {}
    shared: dict[Ranked, Ranked] = {}
    by_score, keeps_slots = options.order == "score", options.duplicates == "occupy_slot"
    for qid, names, scores in lists:
        slot = slots.get(qid)
        if slot is None:
            shown = _shown(qid)
            unknown[shown] = unknown.get(shown, 0) + 1
            continue
        if by_score and scores is None:
            raise DataError(f"a block of qid {_shown(qid)!r} has no score", hint="Give each topk block a score, or use --order list.",
                            code="retrieval-no-score")  # fmt: skip
        try:
            order = arrange(names, scores, options)
        except Duplicate as repeated:
            raise DataError(f"qid {_shown(qid)!r} retrieved {_shown(repeated.args[0])!r} twice", code="retrieval-duplicate",
                            hint="Remove it, or choose --duplicates first or occupy_slot.") from None  # fmt: skip
        names = names if order is None else [names[place] for place in order]
        ranked = _ranked(slot, names, keeps_slots and len(set(names)) < len(names))
        ranked = shared.setdefault(ranked, ranked)
        if slot.found is None:
            slot.found = ranked
        else:
            slot.more = [*(slot.more or ()), ranked]
    return unknown


def _ranked(slot: Slot, names: list[Any], repeats: bool) -> Ranked:
    wanted = slot.wanted
    hits = [rank for rank, name in enumerate(names, 1) if name in wanted]
    if repeats:  # a repeated id keeps its slots, and hits once
        hits = [rank for rank in hits if names.index(names[rank - 1]) == rank - 1]
    if slot.grades is None:
        return Ranked(len(names), len(wanted), tuple(hits))
    once = [name if not repeats or names.index(name) == place else None for place, name in enumerate(names)]
    gains = tuple(slot.grades.get(name, 0) for name in once)
    return Ranked(len(names), len(wanted), tuple(hits), (), gains, tuple(sorted(slot.grades.values(), reverse=True)))


def _shown(qid: str | bytes) -> str:
    return name_of(qid) if isinstance(qid, bytes) else qid


def _decision(
    slots: Slots, unknown: dict[str, int], wanted: list[Wanted], options: Options, read: tuple[Input, Input],
    gates: str | Iterable[str | Gate], require_proof: bool, per_question: bool, locked: Iterable[str] = (),
) -> Decision:  # fmt: skip
    names = {one: one.name(options.preset) for one in wanted}
    tally, missing, nothing = _tally(slots, names, options)
    if not tally["scored"]:
        raise DataError(f"no question is left to score: of {len(slots)}, {len(missing)} have no list and {len(nothing)} nothing relevant; "
                        f"{plural(sum(unknown.values()), 'list')} of other questions", where=read[1].path,
                        hint="Do the two files belong together?", code="log-empty")  # fmt: skip
    known: dict[str, Metric] = {name: Mean(name, _SAYS[one.kind], of=name) for one, name in names.items()}
    known["missing"] = Count("missing", "questions without a list", "lower", high=None, of=("missing",), completes=True)
    named_gates = [gates] if isinstance(gates, str) else list(gates)
    aliases = {spelt: name for one, name in names.items() for spelt in spellings(one)}
    chosen = choose_gates([], named_gates, known, aliases, require_proof=require_proof) if named_gates else []
    measures, outcomes = measure_all(tally, known, chosen)
    incomplete = [*locked]
    if missing and options.preset == "native" and options.missing_query == "zero":
        incomplete.append(f"{len(missing)} of {plural(len(slots), 'question')} have no list, and count as 0")
    verdict, reasons = decide_or_measure(outcomes, incomplete)
    if missing:
        read[1].warnings.append(Warned(read[1].path, _missing_says(len(missing), options), "retrieval-missing"))
    found = {"missing": missing[:NAMED], "no_relevant": nothing[:NAMED], "unknown_qids": sorted(unknown)[:NAMED]}
    return Decision(
        "retrieval", "strict", verdict, reasons, outcomes, measures,
        counts={"items": len(slots), "scored": tally["scored"], "missing": len(missing), "no_relevant": len(nothing),
                "unknown_qid": sum(unknown.values())},
        named={name: qids for name, qids in found.items() if qids},
        items=_items(slots, names, options) if per_question else [],
        headline={name: number(measures[name].value) for name in names.values()} | {"settings": options.header},
        options=options.shown(), inputs=inputs(gold=read[0], shadow=read[1]), warnings=warnings(*read),
        incomplete=incomplete, partial=any(source.bad for source in read), run={"gold": read[0].path, "shadow": read[1].path},
    )  # fmt: skip


_SAYS = {"precision": "relevant among retrieved", "recall": "relevant that were retrieved", "ndcg": "discounted gain",
         "mrr": "reciprocal rank of the first relevant", "map": "average precision", "success": "some relevant retrieved"}  # fmt: skip


def _missing_says(count: int, options: Options) -> str:
    how = "counts as 0" if options.missing_query == "zero" else "is left out"
    return f"{plural(count, 'question')} without a list; each {how} (--missing-query)"


def _tally(slots: Slots, names: Mapping[Wanted, str], options: Options) -> tuple[Tally, list[str], list[str]]:
    """Every value counted; questions with the same hits are valued once."""
    same: Counter[Ranked] = Counter()
    tally, missing, nothing = Tally(), [], []
    for qid, slot in slots.items():
        if not slot.wanted:
            nothing.append(_shown(qid))
        if slot.found is None:
            missing.append(_shown(qid))
        if not _counts(qid, slot, options):
            continue
        if slot.found is not None and slot.more is None:
            same[slot.found] += 1
        else:
            tally.count(["scored", *((name, worth(one, slot, options)) for one, name in names.items())])
    for ranked, count in same.items():
        tally.counts["scored"] += count
        for one, name in names.items():
            tally.counts[(name, value(one, ranked, options.denominator, options.recall))] += count
    tally.counts["missing"], tally.counts["items"] = len(missing), len(slots)
    return tally, sorted(missing), sorted(nothing)


def _counts(qid: Any, slot: Slot, options: Options) -> bool:
    """Whether the question takes part in the means."""
    if slot.found is not None and slot.wanted:
        return True
    rules = (
        (slot.found is None, options.missing_query, "no list", "retrieval-missing"),
        (not slot.wanted, options.no_relevant, "no relevant block", "retrieval-no-relevant"),
    )
    for applies, rule, what, code in rules:
        if applies and rule == "error":
            raise DataError(f"qid {_shown(qid)!r} has {what}", hint="Add it, or choose skip or zero.", code=code)
        if applies and rule == "skip":
            return False
    return True


def worth(one: Wanted, slot: Slot, options: Options) -> Fraction:
    """A question's value: the mean over its lists, 0 where it has none."""
    values = [value(one, ranked, options.denominator, options.recall) for ranked in slot.lists]
    return Fraction(sum(values, Fraction(0)), len(values)) if values else Fraction(0)


def _items(slots: Slots, names: Mapping[Wanted, str], options: Options) -> list[dict[str, Any]]:
    rows = []
    for qid, slot in slots.items():
        scored = _counts(qid, slot, options)
        row: dict[str, Any] = {"qid": _shown(qid), "relevant": len(slot.wanted), "returned": _returned(slot)}
        rows.append(row | {name: number(worth(one, slot, options)) if scored else None for one, name in names.items()})
    return sorted(rows, key=lambda row: str(row["qid"]))


def _returned(slot: Slot) -> int:
    return max((ranked.returned for ranked in slot.lists), default=0)
