"""TREC files as gold sets and logs, for what is judged beyond their ids."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.contracts import Gold, Place
from ...core.inputs import Input, Stream
from ...core.sources import gold_stream
from .log import LogLine
from .trec import grades_of, name_of, read_qrels, read_whole_run


def gold_of_qrels(path: str, read: Input, rel_level: int = 1) -> Stream:
    """Qrels as a gold set: the documents of at least `rel_level` are relevant."""
    judged = Input()
    items = [
        Gold(
            qid=name_of(qid), relevant=[name_of(name) for name, grade in grades_of(known).items() if grade >= rel_level]
        )
        for qid, known in read_qrels(path, judged).items()
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
