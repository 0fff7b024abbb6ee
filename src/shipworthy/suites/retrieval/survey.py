"""The survey of retrieval logs: what the judge and the reader must know of each log as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import UNSET

from ...text import plural, visible
from .log import LogLine
from .options import Choices

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


class Noticed:
    """What was noticed about one log; it adds up in any order."""

    def __init__(self) -> None:
        self.lines = 0
        self.cites = False  # some line says what its answer cites
        self.has_offsets = False
        self.hashes: Counter[str] = Counter()
        self.rerankers: Counter[str] = Counter()
        self.embedders: Counter[str] = Counter()
        self.read_deltas = 0
        self.negative_scores = 0
        self.out_of_order = 0  # lines whose scores rise along the list
        self.seeds: set[str] = set()

    def add(self, line: LogLine) -> None:
        self.lines += 1
        self.seeds.add(line.key[1])
        self.cites = self.cites or line.says_what_it_cites
        for name, counter in ((line.index_hash, self.hashes), (line.reranker_name, self.rerankers)):
            if name is not None:
                counter[name] += 1
        if line.delta_s is not None:
            self.read_deltas += 1
            self.embedders[line.embedder or ""] += 1
        if line.topk is UNSET:
            return
        scores = [place.score for place in line.topk if place.score is not None]
        rising = any(after > before for before, after in pairwise(scores))
        self.out_of_order += rising
        self.negative_scores += rising and any(score < 0 for score in scores)  # falling ones are a reranker's
        self.has_offsets = self.has_offsets or any(place.offsets is not None for place in line.topk)

    def __iadd__(self, other: Noticed) -> Noticed:
        self.lines += other.lines
        self.cites = self.cites or other.cites
        self.has_offsets = self.has_offsets or other.has_offsets
        self.hashes += other.hashes
        self.rerankers += other.rerankers
        self.embedders += other.embedders
        self.read_deltas += other.read_deltas
        self.negative_scores += other.negative_scores
        self.out_of_order += other.out_of_order
        self.seeds |= other.seeds
        return self

    @property
    def embedder_names(self) -> str:
        """What made the distances that the log carries."""
        named = sorted(name for name in self.embedders if name)
        return f"precomputed: {', '.join(named)}" if named else "precomputed (the log does not name it)"


class LogSurvey:
    """What was noticed about each log, in lines about questions of the gold set."""

    def __init__(self) -> None:
        self.logs: dict[str, Noticed] = {}

    def add(self, source: str, place: int, record: LogLine, known: bool) -> None:
        if known:
            self.of(source).add(record)

    def of(self, source: str) -> Noticed:
        return self.logs.setdefault(source, Noticed())

    def __iadd__(self, other: LogSurvey) -> LogSurvey:
        for source, noticed in other.logs.items():
            own = self.of(source)
            own += noticed
        return self


def noticed_in(gathered: Gathered, source: str) -> Noticed:
    assert isinstance(gathered.survey, LogSurvey)
    return gathered.survey.of(source)


def log_warnings(name: str, noticed: Noticed, superseded: int, choices: Choices) -> Iterator[str]:
    """What a reader should know about a log before believing its numbers."""
    if len(noticed.hashes) > 1:
        counts = ", ".join(
            f"{visible(value, 40)} ({plural(count, 'line')})" for value, count in sorted(noticed.hashes.items())[:4]
        )
        yield f"{name}: the log mixes {len(noticed.hashes)} values of index_hash: {counts} [index-mixed]"
    if len(noticed.rerankers) > 1:
        yield f"{name}: the log mixes rerankers: {_listed(noticed.rerankers)} [reranker-mixed]"
    if superseded:
        yield (
            f"{name}: {plural(superseded, 'line')} replaced by a later one with the same qid, paraphrase and seed "
            "[log-repeated]"
        )
    if noticed.negative_scores:
        yield (
            f"{name}: negative scores that rise along the list in {plural(noticed.negative_scores, 'line')}; "
            "they may be distances [scores-negative]"
        )
    if noticed.out_of_order and choices.order == "list":
        yield (
            f"{name}: scores rise along the list in {plural(noticed.out_of_order, 'line')}; the list's order "
            "counts (--order score to rank by score) [scores-order]"
        )


def pair_warnings(shadow: Noticed, live: Noticed) -> Iterator[str]:
    """What makes a comparison of two logs doubtful."""
    if shared := sorted(set(shadow.hashes) & set(live.hashes)):
        yield (
            f"shadow and live have the same index_hash {visible(shared[0], 40)}: this may be the same index twice "
            "[index-same]"
        )
    if set(shadow.rerankers) != set(live.rerankers):
        names = [_listed(noticed.rerankers) or "none named" for noticed in (shadow, live)]
        yield f"the rerankers differ: shadow {names[0]}; live {names[1]} [reranker-differs]"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(visible(name, 40) for name in sorted(names)[:4])
