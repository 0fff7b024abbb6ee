"""Rankings: the order of a list, the ranks at which it hits, and every metric that follows from those ranks.

The numbers are exact fractions, but for nDCG, whose logarithms are floating point: its gains are added with
`math.fsum` in rank order and divided once; that value is then carried on exactly.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ...errors import UsageError
from .options import Choices


class Ranked(NamedTuple):
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
    """An id stands twice in a list although the choices call that an error."""


def arrange(ids: Sequence[object], scores: Sequence[float] | None, choices: Choices) -> list[int] | None:
    """Positions in the order of their ranks; None when that is the order in which they came, all of them.

    No scores at all mean that they fall along the list.
    """
    order: list[int] | None = None
    if choices.order == "score" and scores:
        keys = array("f", scores).tolist() if choices.score_bits == 32 else list(scores)
        if sorted(set(keys), reverse=True) == keys:
            order = None  # the scores fall along the list, as they mostly do
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


@lru_cache(maxsize=1 << 16)
def value(wanted: Wanted, ranked: Ranked, denominator: str = "returned", recall: str = "fraction") -> Fraction:
    """The metric of one list; nothing relevant to find, or nothing retrieved, gives 0."""
    k = wanted.k if wanted.k is not None else ranked.returned
    if wanted.kind == "precision":
        among = k if denominator == "k" else min(k, ranked.returned)
        return Fraction(_within(ranked.hits, k), among) if among else Fraction(0)
    if not ranked.relevant and wanted.kind != "ndcg":
        return Fraction(0)
    if wanted.kind == "recall":
        return _recall(ranked, k, recall)
    if wanted.kind == "success":
        return Fraction(bool(ranked.hits) and ranked.hits[0] <= k)
    if wanted.kind == "mrr":
        return Fraction(1, ranked.hits[0]) if ranked.hits and ranked.hits[0] <= k else Fraction(0)
    if wanted.kind == "map":
        return _average_precision(ranked, k)
    return Fraction(_ndcg(ranked, wanted.k))


def mean_value(one: Wanted, lists: Sequence[Ranked], denominator: str, recall: str = "fraction") -> Fraction:
    """The metric of one question: the mean over its lists, 0 where it has none."""
    return mean([value(one, ranked, denominator, recall) for ranked in lists])


def mean(values: Sequence[Fraction]) -> Fraction:
    if len(values) == 1:
        return values[0]
    return Fraction(sum(values, Fraction(0)), len(values)) if values else Fraction(0)


LISTS = "lists "


@lru_cache(maxsize=1 << 16)
def fact_of_lists(lists: tuple[Ranked, ...]) -> str:
    """The lists of a question as a fact to be counted; most questions of a large file share theirs with others."""
    return LISTS + msgspec.json.encode(lists).decode()


@lru_cache(maxsize=1 << 16)
def lists_of_fact(fact: str) -> tuple[Ranked, ...]:
    return msgspec.json.decode(fact[len(LISTS) :], type=tuple[Ranked, ...])


def _within(ranks: Sequence[int], k: int) -> int:
    return sum(1 for rank in ranks if rank <= k)


def _news(ranked: Ranked) -> list[tuple[int, int]]:
    """Rank and number of gold places that are found there for the first time, without the ranks that add none."""
    if not ranked.news:
        return [(rank, 1) for rank in ranked.hits]
    return [(rank, count) for rank, count in zip(ranked.hits, ranked.news, strict=True) if count]


def _recall(ranked: Ranked, k: int, recall: str) -> Fraction:
    covered = sum(count for rank, count in _news(ranked) if rank <= k)
    if recall == "all":
        return Fraction(covered == ranked.relevant)
    return Fraction(bool(covered)) if recall == "any" else Fraction(covered, ranked.relevant)


def _needed(ranked: Ranked) -> int:
    """How many blocks it takes to cover what there is: a block that covers two gold places saves one."""
    return ranked.relevant - sum(count - 1 for _, count in _news(ranked))


def _average_precision(ranked: Ranked, k: int) -> Fraction:
    precisions = [Fraction(nth, rank) for nth, (rank, _) in enumerate(_news(ranked), 1) if rank <= k]
    return sum(precisions, Fraction(0)) / _needed(ranked)


def _ndcg(ranked: Ranked, k: int | None) -> float:
    """DCG over that of the best possible list, which without a cut-off is as long as what there is to find."""
    if ranked.ideal:
        best = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked.ideal[:k], 1))
        got = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked.gains[:k], 1) if gain)
        return got / best if best else 0.0
    needed = _needed(ranked)
    if not needed:
        return 0.0
    best = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k or needed, needed) + 1))
    return math.fsum(1 / math.log2(rank + 1) for rank, _ in _news(ranked) if k is None or rank <= k) / best
