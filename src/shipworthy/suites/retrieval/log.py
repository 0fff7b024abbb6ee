"""Log lines: traces of a retrieval index, the runs of one question among them, and TREC files as logs and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from ...core.contracts import NO_BLOCKS, Answer, DetailedTrace, Gold, Place
from ...core.inputs import Input, Stream
from ...core.sources import gold_stream, read_gold, stream_traces
from ...errors import DataError
from ...language import refusal
from ...text import visible
from ..ranking.lists import grades_of, name_of, read_qrels, read_whole_run


class LogLine(DetailedTrace):
    """One run of one question on one index."""

    reranker: str | None = None
    embedder: str | None = None  # what made the logged delta_s

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topk is UNSET and self.retrieved_ids is UNSET and not self.error:
            raise ValueError(NO_BLOCKS)
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
        """Whether it does, if only that a refusal cites nothing; two fields that contradict each other don't."""
        if self.answer_citations is not UNSET:
            return bool(self.answer_citations) or not self.answer.citations
        if not isinstance(self.answer_json, Answer):
            return False
        return self.answer_json.says_what_it_cites or refusal.is_exact(self.answer_json.claim)

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
    missing = {
        name: getattr(block, name)
        for name in ("offsets", "section_id", "type", "text", "doc")
        if getattr(citation, name) is None
    }
    return msgspec.structs.replace(citation, **missing)


def runs_of(lines: Iterable[LogLine]) -> list[LogLine]:
    """The runs of one question, the last of each key, in the order of their keys."""
    kept = {line.key: line for line in lines}
    return list(kept.values()) if len(kept) < 2 else [kept[key] for key in sorted(kept, key=_natural)]


def _natural(key: tuple[str, str]) -> tuple[tuple[int, int, str], ...]:
    """Numbers as numbers, and before words; 1 before 01."""
    return tuple((0, int(part), part) if _is_number(part) else (1, 0, part) for part in key)


def _is_number(text: str) -> bool:
    return text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 19


# --- TREC files ---


def gold_of_qrels(path: str, read: Input, rel_level: int = 1) -> Stream:
    """Qrels as a gold set: the documents of at least `rel_level` are relevant."""
    judged = Input()
    items = [
        Gold(qid=name_of(qid), relevant=[name_of(name) for name, grade in grades_of(one).items() if grade >= rel_level])
        for qid, one in read_qrels(path, judged).items()
    ]
    stream = gold_stream(items, read)
    read.path, read.digest = path, judged.digest
    return stream


def log_of_run(path: str, read: Input) -> Iterator[tuple[int, LogLine]]:
    """A run as log lines, one a query."""
    lists = 0
    for qid, names, scores in read_whole_run(path, read):
        lists += 1
        topk = [Place(id=name_of(name), score=score) for name, score in zip(names, scores, strict=True)]
        yield lists, LogLine(qid=name_of(qid), topk=topk)
    read.records = lists


def qrels_text(gold: str) -> bytes:
    """A file of gold items as qrels."""
    return "".join(qrels_lines(read_gold(gold))).encode()


def run_text(log: str) -> bytes:
    """A log as a run; where paraphrases or seeds give several lists a question, the first."""
    first: dict[str, LogLine] = {}
    for _, line in stream_traces(log, Input(), record=LogLine):
        assert isinstance(line, LogLine)
        first.setdefault(line.qid, line)
    return "".join(run_lines(first.values(), "shipworthy")).encode()


def qrels_lines(gold: Iterable[Gold]) -> Iterator[str]:
    """Gold items as qrels; ids with white space can't be written."""
    for item in gold:
        for place in item.relevant or item.citations:
            yield f"{_column(str(item.qid))} 0 {_column(_id(place))} 1\n"


def run_lines(log: Iterable[LogLine], tag: str) -> Iterator[str]:
    """Log lines as a run, one list a question; a list without scores gets falling ones, so that its order is kept."""
    for line in log:
        blocks = line.blocks
        scored = all(block.score is not None for block in blocks)
        for rank, block in enumerate(blocks, 1):
            score = block.score if scored else len(blocks) - rank + 1
            yield f"{_column(str(line.qid))} Q0 {_column(block.id)} {rank} {score!r} {tag}\n"


def _column(name: str) -> str:
    if name.split() != [name]:
        what = f"the id {visible(name, 80)!r} has white space, which a TREC file can't represent"
        raise DataError(what, hint="Rename it, or keep to JSON lines.", code="trec-space")
    return name
