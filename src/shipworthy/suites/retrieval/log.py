"""Log lines: traces of a retrieval index, grouped by question, with what is odd about them noticed on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import msgspec

from ...contracts import UNSET, DetailedTrace, Place
from ...text import plural, visible
from .options import Options


class LogLine(DetailedTrace):
    """One run of one question on one index."""

    reranker: str | None = None
    embedder: str | None = None  # what made the logged delta_s

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topk is UNSET and self.retrieved_ids is UNSET and not self.error:
            raise ValueError("topk: expected the retrieved blocks, found neither topk nor retrieved_ids")
        for number in self.delta_s or ():
            if not 0 <= number <= 1:
                raise ValueError(f"delta_s: expected distances clipped to 0 … 1, got {number}")

    @property
    def blocks(self) -> list[Place]:
        """What was retrieved, with as much detail as the line has."""
        if self.topk is not UNSET:
            return self.topk
        if self.retrieved_ids is UNSET:
            return []
        return [Place(id=place) if isinstance(place, str) else place for place in self.retrieved_ids]

    @property
    def cited(self) -> list[Place]:
        """What the answer cites; details that a citation lacks are those of the retrieved block of that id."""
        given = self.answer.citations if self.answer_citations is UNSET else self.answer_citations
        if not given:
            return []
        known = {place.id: place for place in reversed(self.blocks)}
        return [
            _detailed(Place(id=place) if isinstance(place, str) else place, known.get(_id(place))) for place in given
        ]

    @property
    def says_what_it_cites(self) -> bool:
        return self.answer_citations is not UNSET or self.answer_json is not UNSET

    @property
    def key(self) -> tuple[str, str]:
        """Which run of the question: paraphrase and seed."""
        return ("" if self.paraphrase is None else str(self.paraphrase), "" if self.seed is None else str(self.seed))

    @property
    def reranker_name(self) -> str | None:
        named = self.reranker or (self.knobs or {}).get("reranker")
        return None if named is None else str(named)


def _id(place: str | Place) -> str:
    return place if isinstance(place, str) else place.id


def _detailed(citation: Place, block: Place | None) -> Place:
    if block is None:
        return citation
    missing = {name: getattr(block, name) for name in ("offsets", "section_id", "type", "text", "doc")
               if getattr(citation, name) is None}  # fmt: skip
    return msgspec.structs.replace(citation, **missing)


class Side(msgspec.Struct):
    """What was noticed about one log as a whole."""

    lines: int = 0
    superseded: int = 0
    cites: bool = False  # some line says what its answer cites
    has_offsets: bool = False
    hashes: Counter[str] = msgspec.field(default_factory=Counter)
    rerankers: Counter[str] = msgspec.field(default_factory=Counter)
    embedders: Counter[str] = msgspec.field(default_factory=Counter)
    read_deltas: int = 0
    negative_scores: int = 0
    out_of_order: int = 0  # lines whose scores rise along the list
    seeds: set[str] = set()
    unknown: dict[str, int] = {}


def notice(side: Side, line: LogLine) -> None:
    """Count what the whole log will be asked about."""
    side.lines += 1
    side.seeds.add(line.key[1])
    side.cites = side.cites or line.says_what_it_cites
    for name, counter in ((line.index_hash, side.hashes), (line.reranker_name, side.rerankers)):
        if name is not None:
            counter[name] += 1
    if line.delta_s is not None:
        side.read_deltas += 1
        side.embedders[line.embedder or ""] += 1
    if line.topk is UNSET:
        return
    scores = [place.score for place in line.topk if place.score is not None]
    rising = any(after > before for before, after in pairwise(scores))
    side.out_of_order += rising
    side.negative_scores += rising and any(score < 0 for score in scores)  # falling ones are a reranker's
    side.has_offsets = side.has_offsets or any(place.offsets is not None for place in line.topk)


def side_warnings(name: str, side: Side, options: Options) -> list[str]:
    """What a reader should know about a log before believing its numbers."""
    found = []
    if len(side.hashes) > 1:
        counts = ", ".join(
            f"{visible(value, 40)} ({plural(count, 'line')})" for value, count in sorted(side.hashes.items())[:4]
        )
        found.append(f"{name}: the log mixes {len(side.hashes)} values of index_hash: {counts} [index-mixed]")
    if len(side.rerankers) > 1:
        found.append(f"{name}: the log mixes rerankers: {_some(side.rerankers)} [reranker-mixed]")
    if side.superseded:
        found.append(
            f"{name}: {plural(side.superseded, 'line')} gave way to a later one with the same qid, paraphrase and seed [log-repeated]"
        )
    if side.negative_scores:
        found.append(
            f"{name}: negative scores that rise along the list in {plural(side.negative_scores, 'line')}; are they distances? [scores-negative]"
        )
    if side.out_of_order and options.order == "list":
        found.append(f"{name}: scores rise along the list in {plural(side.out_of_order, 'line')}; the list's order counts "
                     "(--order score for the other) [scores-order]")  # fmt: skip
    return found


def pair_warnings(shadow: Side, live: Side) -> list[str]:
    """What makes a comparison of two logs doubtful."""
    found = []
    if shared := sorted(set(shadow.hashes) & set(live.hashes)):
        found.append(
            f"shadow and live have the same index_hash {visible(shared[0], 40)}: is this the same index twice? [index-same]"
        )
    if set(shadow.rerankers) != set(live.rerankers):
        names = [_some(side.rerankers) or "none named" for side in (shadow, live)]
        found.append(f"the rerankers differ: shadow {names[0]}; live {names[1]} [reranker-differs]")
    return found


def _some(names: Iterable[str]) -> str:
    return ", ".join(visible(name, 40) for name in sorted(names)[:4])


def group(lines: Iterable[LogLine], side: Side) -> list[LogLine]:
    """The runs of one question, the last of each key, in the order of their keys."""
    kept: dict[tuple[str, str], LogLine] = {}
    for line in lines:
        side.superseded += line.key in kept
        kept[line.key] = line
    return [kept[key] for key in sorted(kept, key=_natural)]


def _natural(key: tuple[str, str]) -> tuple[tuple[int, int, str], ...]:
    """Numbers as numbers, and before words."""
    return tuple((0, int(part), "") if _is_number(part) else (1, 0, part) for part in key)


def _is_number(text: str) -> bool:
    return text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 19
