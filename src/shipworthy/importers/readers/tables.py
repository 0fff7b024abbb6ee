"""Tables by column names, and rankings without answers: BEIR and TREC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from ...errors import DataError, UsageError
from ...reading.mapping import FieldMap
from ...reading.proposal import fields_of
from ...reading.values import TRACE, MapError
from ...text import visible
from ..container import Records
from ..spans import ExpectedAnswer, Item, Query, RelevantDocument, Span, Text, paired
from ..values import cell, given, loosened, number, refuse_formula, text_of, texts_in

# Tables: any file of records, read by column names that are known or by the mapping of --map


# our field → the column names that mean it without being told
COLUMNS = {
    "qid": ("qid", "q_id", "question_id"),
    "question": ("q", "question", "query", "user_input"),
    "claim": ("claim", "answer", "response"),
    "citations": ("citations", "cited_ids"),
    "retrieved_ids": ("retrieved_ids",),
    "evidence": ("contexts", "texts"),
    "error": ("error",),
    "e2e_ms": ("e2e_ms", "latency_ms"),
    "arm": ("arm",),
    "gold_claim": ("reference", "expected_answer", "ground_truth"),
}


def parse_map(pairs: tuple[str, ...]) -> FieldMap:
    """`--map claim=answer` for the fields that an import reads; gold_claim is material for a gold draft."""
    sources = FieldMap.parse(pairs, "gold").sources | FieldMap.parse(pairs).sources
    for field in sources:
        if field not in COLUMNS:
            raise UsageError(
                f"an import does not read {visible(field, 60)!r}",
                where="--map",
                hint=f"It reads {', '.join(COLUMNS)}. `shipworthy score --map` reads every field.",
                code="import-map",
            )
    return FieldMap(sources)


def read_table(records: Records, mapped: FieldMap, separator: str = ";") -> Iterator[Item]:
    for index, (where, record) in enumerate(records):
        if not index:
            _check_columns(record, mapped, where)
        try:
            yield _span(record, where, mapped, separator)
        except MapError as error:
            raise DataError(str(error), where=visible(where), hint="Check --map.", code="map-value") from None


def _check_columns(record: Mapping[str, object], mapped: FieldMap, where: str) -> None:
    """A column that the first record does not have is probably a slip; null values vanish later, not here."""
    for field, source in mapped.sources.items():
        if source.path.written not in record and source.path.steps[0] not in record:
            raise DataError(
                f"{field}={visible(source.written, 60)} matches nothing; there are {fields_of(record)}",
                where=visible(where),
                hint="Check the path.",
                code="map-nothing",
            )


def _span(record: Mapping[str, object], where: str, mapped: FieldMap, separator: str) -> Span:
    def opened(text: str) -> object:
        return cell(loosened(text), where)

    def value(field: str) -> object:
        if field in mapped.sources:
            return mapped.sources[field].of(record, TRACE.get(field, "text"), opened)
        return next((record[name] for name in COLUMNS[field] if record.get(name) is not None), None)

    def texts(field: str) -> list[str]:
        return texts_in(value(field), where, separator)

    asked, answer = value("question"), value("claim")
    for part in (asked, answer):
        refuse_formula(text_of(part), where)
    ids, contents = texts("retrieved_ids"), texts_in(value("evidence"), where)
    span = Span("", where, qid=text_of(value("qid")), inputs=given(asked))
    if answer is not None:
        span.outputs = [_answer(answer, texts("citations"), ids, mapped) if value("citations") is not None else answer]
    span.documents = paired(ids, contents) if ids else list(contents) or None
    span.error = text_of(value("error"))
    span.e2e_ms = number(value("e2e_ms"))
    span.arm = text_of(value("arm"))
    span.dataset = answer is None and "claim" not in mapped.sources and not ids and not contents and not span.error
    span.expected = ExpectedAnswer(reference=text_of(value("gold_claim")))
    return span


def _answer(claim: object, citations: list[str], ids: list[str], mapped: FieldMap) -> dict[str, object]:
    """Claim and citations; where a pattern found these in the claim, its markers are taken out."""
    found = mapped.cited({"claim": claim, "citations": citations, "retrieved_ids": ids})
    return {"claim": found["claim"], "citations": found["citations"]}


# BEIR and TREC: corpora, queries, judgements, and rankings without answers

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
