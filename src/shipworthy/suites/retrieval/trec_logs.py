"""TREC files as gold sets and logs, for what is judged beyond their ids; on disk where there is a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...core import spill
from ...core.contracts import Gold, Place
from ...core.sources import GoldSet, Input, load_gold
from .log import LogLine
from .spans import blocks_in_order, judged_in_order
from .trec import grades_of, name_of, read_qrels, read_whole_run


def gold_of_qrels(path: str, rel_level: int = 1) -> GoldSet:
    """Qrels as a gold set: the documents of at least `rel_level` are relevant."""
    judged, store = Input(), spill.active()
    found = read_qrels(path, judged).items() if store is None else judged_in_order(store, path, judged)
    gold = load_gold(
        Gold(
            qid=name_of(qid), relevant=[name_of(name) for name, grade in grades_of(known).items() if grade >= rel_level]
        )
        for qid, known in found
    )
    gold.source.path, gold.source.digest = path, judged.digest
    return gold


def log_of_run(path: str, read: Input) -> Iterator[tuple[int, LogLine]]:
    """A run as log lines, one a query."""
    lists, store = 0, spill.active()
    for qid, names, scores in read_whole_run(path, read) if store is None else blocks_in_order(store, path, read):
        lists += 1
        topk = [Place(id=name_of(name), score=score) for name, score in zip(names, scores, strict=True)]
        yield lists, LogLine(qid=name_of(qid), topk=topk)
    read.records = lists
