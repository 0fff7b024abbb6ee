"""Ranking metrics: the order of a list, the ranks at which it hits, and every number that follows from those ranks.

The numbers are exact fractions, but for nDCG, whose logarithms are floating point: its gains are added with
`math.fsum` in rank order and divided once; that value is then carried on exactly.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import gcd, lcm
from operator import gt
from typing import NamedTuple, cast

import msgspec

from ... import stats
from ...core.gates import Gate, parse_gates
from ...core.metrics import Count, Mean, Measure, Metric, Words
from ...core.tally import Tally
from ...errors import UsageError
from .options import Choices, Options, choices_of

LISTS = "lists"  # the fact whose values are the ranked lists of a question
Ratio = tuple[int, int]  # numerator and denominator


class Ranked(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """What a metric may know of one list: how long it is, where it hits, and what there was to find."""

    returned: int
    relevant: int
    hits: tuple[int, ...]  # ranks of relevant blocks, counted from one
    news: tuple[int, ...] = ()  # per hit, how many gold places it is the first to cover; () when each covers one
    gains: tuple[int, ...] = ()  # per rank, its grade, where relevance is graded; the list's tail may be cut off
    ideal: tuple[int, ...] = ()  # all grades that there are, best first


class RankedList(msgspec.Struct, gc=False):
    """A list of which nothing but its ranks is kept; equal lists share theirs."""

    qid: str
    ranked: Ranked


class Wanted(NamedTuple):
    """A metric by kind and depth; its name depends on the preset, so that a number is never ambiguous."""

    kind: str  # precision, recall, ndcg, mrr, map, success
    k: int | None = None

    def name(self, preset: str = "native") -> str:
        if preset == "native":
            return self.kind if self.k is None else f"{self.kind}@{self.k}"
        plain, cut = _TREC_NAMES[self.kind]
        return plain if self.k is None else f"{cut}_{self.k}"


_TREC_NAMES = {
    "precision": ("set_P", "P"),
    "recall": ("set_recall", "recall"),
    "ndcg": ("ndcg", "ndcg_cut"),
    "mrr": ("recip_rank", "recip_rank_cut"),
    "map": ("map", "map_cut"),
    "success": ("success", "success"),
}
_SHORT = {"precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "MRR", "map": "MAP", "success": "success"}
_KINDS = {
    "p": "precision",
    "precision": "precision",
    "r": "recall",
    "recall": "recall",
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg",
    "mrr": "mrr",
    "rr": "mrr",
    "recip_rank": "mrr",
    "map": "map",
    "ap": "map",
    "map_cut": "map",
    "success": "success",
    "hit": "success",
    "hits": "success",
}
_WANTED = re.compile(r"(?P<kind>[a-z_]*[a-z])(?:[@_](?P<k>[1-9]\d{0,8}))?", re.ASCII)
_NEEDS_K = ("precision", "recall", "success")


def parse_wanted(text: str) -> list[Wanted]:
    """`P@5,R@10,nDCG@10,MRR,MAP`, also in trec_eval's spelling: `P_5 recall_10 ndcg_cut_10 recip_rank map`."""
    named = [_parse_one(part) for part in text.replace(",", " ").split()]
    if not named:
        raise UsageError(
            "no metric is named", hint="Write --metrics P@5,R@10,nDCG@10,MRR,MAP.", code="retrieval-metric"
        )
    return list(dict.fromkeys(named))


def at_depths(depths: Iterable[int]) -> str:
    """The ranking metrics of TREC files, as --metrics would name them."""
    return ",".join([f"{kind}@{k}" for kind in ("P", "R", "nDCG") for k in depths] + ["MRR", "MAP"])


def default_metrics(k: Iterable[int]) -> tuple[Wanted, ...]:
    """The ranking metrics that are reported where none are named, in the order of the report."""
    depths = tuple(k)
    cut = [Wanted(kind, depth) for kind in ("precision", "recall", "ndcg") for depth in depths]
    return (*cut, Wanted("mrr"), Wanted("map"))


def _parse_one(text: str) -> Wanted:
    match = _WANTED.fullmatch(text.lower())
    kind = _KINDS.get(match["kind"]) if match else None
    if match is None or kind is None:
        raise UsageError(
            f"there is no metric {text!r}",
            hint="Known: P@k, R@k, nDCG[@k], MRR[@k], MAP[@k], success@k.",
            code="retrieval-metric",
        )
    if kind in _NEEDS_K and not match["k"]:
        raise UsageError(f"{text} needs a depth", hint=f"Write {text}@5.", code="retrieval-metric")
    return Wanted(kind, int(match["k"]) if match["k"] else None)


def spellings(one: Wanted) -> list[str]:
    """The names under which a gate may ask for a metric: ours, trec_eval's, and the short one of --metrics."""
    short = f"{_SHORT[one.kind]}@{one.k}" if one.k is not None else _SHORT[one.kind]
    return [one.name(), one.name("trec"), short, short.lower()]


class Duplicate(ValueError):
    """A list has a duplicate id although the choices call that an error."""


def fall(scores: Sequence[float]) -> bool:
    """Whether scores fall all along the list, as they mostly do."""
    return all(map(gt, scores, scores[1:]))


def sort_keys(scores: Sequence[float], choices: Choices) -> Sequence[float]:
    return array("f", scores).tolist() if choices.score_bits == 32 else scores


def arrange(ids: Sequence[object], scores: Sequence[float] | None, choices: Choices) -> list[int] | None:
    """Positions in the order of their ranks; None when that is the order in which they came, all of them."""
    order: list[int] | None = None
    if choices.order == "score" and scores:
        keys = sort_keys(scores, choices)
        if fall(keys):
            order = None
        elif choices.ties == "docid_desc":
            order = [place for _, _, place in sorted(zip(keys, ids, range(len(ids)), strict=True), reverse=True)]
        else:
            order = sorted(range(len(ids)), key=keys.__getitem__, reverse=True)
    if choices.duplicates != "occupy_slot" and len(set(ids)) < len(ids):
        if choices.duplicates == "error":
            raise Duplicate(next(name for place, name in enumerate(ids) if name in ids[:place]))
        first: dict[object, int] = {}
        for place in order or range(len(ids)):
            first.setdefault(ids[place], place)
        order = list(first.values())
    if choices.depth is not None and choices.depth < len(ids):
        order = (order or list(range(len(ids))))[: choices.depth]
    return order


def value(wanted: Wanted, ranked: Ranked, denominator: str = "returned", recall: str = "fraction") -> Fraction:
    """The metric of one list; nothing relevant to find, or nothing retrieved, gives 0."""
    return _fraction(*rule(wanted, denominator, recall)(ranked))


_fraction = lru_cache(maxsize=1 << 16)(Fraction)


@lru_cache
def rule(wanted: Wanted, denominator: str = "returned", recall: str = "fraction") -> Callable[[Ranked], Ratio]:
    """What makes a metric's number of a list, chosen once for all lists: two integers without a common divisor."""
    k = wanted.k
    if wanted.kind == "precision":
        return lambda ranked: _precision(ranked, ranked.returned if k is None else k, denominator)
    if wanted.kind == "ndcg":
        return lambda ranked: _ndcg(ranked, k)
    scores: dict[str, Callable[[Ranked, int], Ratio]] = {
        "recall": partial(_recall, recall=recall),
        "map": _average_precision,
        "mrr": _reciprocal,
        "success": _success,
    }
    score = scores[wanted.kind]
    return lambda ranked: score(ranked, ranked.returned if k is None else k) if ranked.relevant else (0, 1)


def ratio(one: Wanted, lists: Sequence[Ranked], denominator: str, recall: str) -> Ratio:
    """The metric of one question: the mean over its lists, 0 where it has none."""
    if len(lists) == 1:
        return rule(one, denominator, recall)(lists[0])
    return mean_value(one, lists, denominator, recall).as_integer_ratio()


def mean_value(one: Wanted, lists: Sequence[Ranked], denominator: str, recall: str = "fraction") -> Fraction:
    """The metric of one question: the mean over its lists, 0 where it has none."""
    return mean([value(one, ranked, denominator, recall) for ranked in lists])


def mean(values: Sequence[Fraction]) -> Fraction:
    if len(values) == 1:
        return values[0]
    return Fraction(sum(values, Fraction(0)), len(values)) if values else Fraction(0)


def _precision(ranked: Ranked, k: int, denominator: str) -> Ratio:
    return _lowest(bisect_right(ranked.hits, k), k if denominator == "k" else min(k, ranked.returned))


def _reciprocal(ranked: Ranked, k: int) -> Ratio:
    return (1, ranked.hits[0]) if ranked.hits and ranked.hits[0] <= k else (0, 1)


def _success(ranked: Ranked, k: int) -> Ratio:
    return _reciprocal(ranked, k)[0], 1


def _reduced(part: int, whole: int) -> Ratio:
    shared = gcd(part, whole)
    return (part // shared, whole // shared) if whole else (0, 1)


_lowest = lru_cache(maxsize=1 << 12)(_reduced)  # for counts, which are few


def _recall(ranked: Ranked, k: int, recall: str) -> Ratio:
    within = bisect_right(ranked.hits, k)
    covered = sum(ranked.news[:within]) if ranked.news else within
    if recall == "all":
        return int(covered == ranked.relevant), 1
    return (int(covered > 0), 1) if recall == "any" else _lowest(covered, ranked.relevant)


def _needed(ranked: Ranked) -> int:
    """How many blocks it takes to cover what there is: a block that covers two gold places saves one."""
    return ranked.relevant - sum(count - 1 for count in ranked.news if count) if ranked.news else ranked.relevant


def _found(ranked: Ranked, k: int | None) -> Sequence[int]:
    """The ranks up to k at which gold places are found for the first time."""
    hits = ranked.hits if k is None else ranked.hits[: bisect_right(ranked.hits, k)]
    return [rank for rank, count in zip(hits, ranked.news, strict=False) if count] if ranked.news else hits


def _average_precision(ranked: Ranked, k: int) -> Ratio:
    ranks = _found(ranked, k)
    common = lcm(*ranks)
    return _reduced(sum([nth * (common // rank) for nth, rank in enumerate(ranks, 1)]), common * _needed(ranked))


def _ndcg(ranked: Ranked, k: int | None) -> Ratio:
    """DCG over that of the best possible list, which without a cut-off is as long as what there is to find."""
    if ranked.ideal:
        best = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked.ideal[:k], 1))
        got = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked.gains[:k], 1) if gain)
        return (got / best if best else 0.0).as_integer_ratio()
    needed = _needed(ranked)
    return _ungraded(tuple(_found(ranked, k)), min(k or needed, needed)) if needed else (0, 1)


@lru_cache(maxsize=1 << 14)
def _ungraded(ranks: tuple[int, ...], best: int) -> Ratio:
    return (math.fsum(map(_discount, ranks)) / _best(best)).as_integer_ratio()


@lru_cache(maxsize=1 << 16)
def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


@lru_cache(maxsize=1 << 12)
def _best(ranks: int) -> float:
    return math.fsum(map(_discount, range(1, ranks + 1)))


# --- what the suite measures ---

WORDS = {
    "precision": Words(
        "retrieval precision at {k}",
        "Of the first {k} blocks retrieved, the share that is relevant.",
        "relevant blocks in the first {k} / blocks returned in the first {k}",
        "questions",
        "had only relevant blocks in the first {k}",
        family="precision@{k}",
    ),
    "recall": Words(
        "retrieval recall at {k}",
        "Of the relevant blocks of a question, the share among the first {k} retrieved.",
        "mean over questions of relevant blocks in the first {k} / relevant blocks",
        "questions",
        "had their relevant blocks in the first {k}",
        "recall@5 >= baseline - 0.02, where live is given",
        family="recall@{k}",
    ),
    "ndcg": Words(
        "nDCG at {k}",
        "Ranking quality: relevant blocks count more the higher they rank; 1 is the best possible order.",
        "discounted gain of the first {k} / that of the best order",
        "questions",
        "had the best possible order",
        family="ndcg@{k}",
    ),
    "mrr": Words(
        "mean reciprocal rank",
        "How early the first relevant block comes: 1 at rank 1, 1/2 at rank 2, 0 if never.",
        "mean over questions of 1 / rank of the first relevant block",
        "questions",
        "had a relevant block at rank 1",
    ),
    "map": Words(
        "mean average precision",
        "Precision at the rank of each relevant block, averaged over blocks and questions.",
        "mean over questions of average precision",
        "questions",
        "had all relevant blocks first",
    ),
    "success": Words(
        "success at {k}",
        "The share of questions with at least one relevant block in the first {k}.",
        "questions with a relevant block in the first {k} / questions",
        "questions",
        "had a relevant block in the first {k}",
        family="success@{k}",
    ),
}
OF_K = Words(
    "precision at {k}, as in trec_eval",
    "Relevant blocks in the first {k} divided by {k}, however many were returned.",
    "relevant blocks in the first {k} / {k}",
    "questions",
    "had only relevant blocks in the first {k}",
    family="P_{k}",
)
NO_LIST = Words(
    "questions without a result list",
    "Gold questions without a line in the log.",
    "count of such questions",
    "gold questions",
    "had no result list",
)


def words_of(one: Wanted, preset: str = "native") -> Words:
    """Its words; the definition alone where it goes by a name of trec_eval's, or has no depth that others have."""
    general = OF_K if one.kind == "precision" and preset != "native" else WORDS[one.kind]
    words = general.fill(k=one.k)
    usual = general.family.format(k=one.k) or one.kind
    return words if usual == one.name(preset) else Words(definition=words.definition)


def terms() -> dict[str, Words]:
    """The words of whatever --metrics may name."""
    every = metrics(Options(metrics="P@1,R@1,nDCG@1,MRR,MAP,success@1"))
    return {name: metric.words for name, metric in every.items()}


def fact_names(options: Options) -> set[str]:
    return {"items", "missing", "no_relevant", "scored", LISTS} | set(metrics(options))


def metrics(options: Options) -> dict[str, Metric]:
    """The metrics that were named, and whether every question has a list."""
    choices, named = choices_of(options), dict[str, Metric]()
    for one in parse_wanted(options.metrics or ""):
        name = one.name(choices.preset)
        named[name] = MeanOfLists(name, words_of(one, choices.preset), of=name, wanted=one, choices=choices)
    missing = Count("missing", NO_LIST, "lower", of=("missing",), completes=True)
    return named | {"missing": missing}


def aliases(options: Options) -> dict[str, str]:
    """Other spellings of the metrics, such as trec_eval's."""
    preset = choices_of(options).preset
    return {spelling: one.name(preset) for one in parse_wanted(options.metrics or "") for spelling in spellings(one)}


def named_gates(options: Options) -> list[Gate]:
    """The gates that the options name. With --metrics, which names its own depths, another depth is named there."""
    try:
        return parse_gates(options.gates, metrics(options), aliases(options))
    except UsageError as error:
        if options.metrics == at_depths(choices_of(options).k) or "--k " not in error.hint:
            raise
        raise UsageError(error.what, hint="Name it in --metrics too.", code=error.code) from None


class MeanOfLists(Mean, frozen=True, kw_only=True):
    """A mean over questions of what their lists are worth; lists that many questions have are valued once."""

    wanted: Wanted
    choices: Choices

    def measure(self, tally: Tally) -> Measure:
        how, values = (self.choices.denominator, self.choices.recall), dict[Ratio, int]()
        one = rule(self.wanted, *how)
        for lists, count in cast(dict[Sequence[Ranked], int], tally.groups(LISTS)).items():
            worth = one(lists[0]) if len(lists) == 1 else ratio(self.wanted, lists, *how)
            values[worth] = values.get(worth, 0) + count
        spread = stats.ratio_spread(values)
        if spread is None:  # no value, or an nDCG that is above 1 in its last bit
            return super().measure(Tally({(self.of, Fraction(*worth)): count for worth, count in values.items()}))
        n = sum(values.values())
        return Measure(self.name, "mean", stats.ratio_sum(values) / n, n, None, spread.interval, spread.bounds)
