"""BEIR and TREC: corpora, queries, judgements, and rankings without answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from ...errors import DataError
from ...text import visible
from ..container import Records
from ..spans import Item, Query, RelevantDocument, Span, Text
from ..values import number, text_of

_QRELS_HEADER = {"query-id", "corpus-id", "score"}


def matches_corpus(record: Mapping[str, object]) -> bool:
    return "_id" in record and "text" in record and "title" in record


def matches_queries(record: Mapping[str, object]) -> bool:
    return "_id" in record and "text" in record and "title" not in record


def matches_qrels(record: Mapping[str, object]) -> bool:
    return set(record) >= _QRELS_HEADER or set(record) == {"qid", "iteration", "docno", "relevance"}


def matches_trec_run(record: Mapping[str, object]) -> bool:
    return set(record) == {"qid", "iteration", "docno", "rank", "score", "tag"}


def matches_results(record: Mapping[str, object]) -> bool:
    """BEIR's results: an object by query, in it the score of each document."""
    rankings = list(record.values())[:20]
    return bool(rankings) and all(
        isinstance(ranking, Mapping) and ranking and all(number(score) is not None for score in ranking.values())
        for ranking in rankings
    )


def read_corpus(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield Text(_named(record, "_id", where), text_of(record.get("text")))


def read_queries(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield Query(_named(record, "_id", where), text_of(record.get("text")))


def read_qrels(records: Records) -> Iterator[Item]:
    for where, record in records:
        query, document = ("query-id", "corpus-id") if "query-id" in record else ("qid", "docno")
        grade = number(record.get("score", record.get("relevance")))
        if grade is None:
            raise DataError(
                "the relevance is not a number", where=visible(where), hint="Write 0 or 1.", code="import-number"
            )
        yield RelevantDocument(_named(record, query, where), _named(record, document, where), grade)


def read_results(records: Records) -> Iterator[Item]:
    for where, record in records:
        for qid, ranking in record.items():
            if isinstance(ranking, Mapping):
                scored = [(name, number(score)) for name, score in ranking.items()]
                yield _ranked(qid, [(name, score) for name, score in scored if score is not None], where)


def read_trec_run(records: Records) -> Iterator[Item]:
    for qid, group in groupby(records, key=lambda entry: text_of(entry[1].get("qid"))):
        scored, where = [], ""
        for where, record in group:
            score = number(record.get("score"))
            if score is None:
                hint = "Is it a TREC run?"
                raise DataError("the score is not a number", where=visible(where), hint=hint, code="import-number")
            scored.append((_named(record, "docno", where), score))
        yield _ranked(qid, scored, where)


def _ranked(qid: str, scored: list[tuple[str, float]], where: str) -> Span:
    """Highest score first; equal ones in the order of the file."""
    ordered = sorted(scored, key=lambda pair: -pair[1])
    documents: list[object] = [{"id": name, "score": score} for name, score in ordered]
    return Span("", where, qid=qid, documents=documents, ranked_only=True)


def _named(record: Mapping[str, object], key: str, where: str) -> str:
    if name := text_of(record.get(key)):
        return name
    raise DataError(f"{key} is missing", where=visible(where), hint="", code="import-mixed")
