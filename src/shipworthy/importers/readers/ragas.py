"""ragas: evaluation datasets and results, with the column names of today and of 0.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import DataError
from ...text import visible
from ..container import Records
from ..spans import ExpectedAnswer, Item, Score, Span, paired
from ..values import cell, first, given, number, text_of, texts_in

_ANSWERS = ("response", "answer")
_QUESTIONS = ("user_input", "question")
_CONTEXTS = ("retrieved_contexts", "contexts")
_REFERENCES = ("reference", "ground_truth", "ground_truths", "grading_notes")
_KNOWN = {
    *_ANSWERS,
    *_QUESTIONS,
    *_CONTEXTS,
    *_REFERENCES,
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "id",
    "qid",
}


def matches(record: Mapping[str, object]) -> bool:
    current = "user_input" in record and ({"response", "retrieved_contexts", "reference"} & set(record))
    older = (
        "question" in record and "contexts" in record and ({"answer", "ground_truth", "ground_truths"} & set(record))
    )
    dataset = {"id", "question", "grading_notes"} <= set(record)
    return bool(current or older or dataset)


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _span(record, where)


def _span(record: Mapping[str, object], where: str) -> Span:
    asked = first(record, _QUESTIONS)
    if isinstance(cell(asked, where), list):
        raise DataError(
            "a multi-turn conversation: `user_input` is a list of messages",
            where=visible(where),
            hint="One question and one answer are scored. Export single turns.",
            code="import-multi-turn",
        )
    answer = first(record, _ANSWERS)
    texts = texts_in(first(record, _CONTEXTS), where)
    ids = texts_in(record.get("retrieved_context_ids"), where)
    span = Span("", where, inputs=given(asked), outputs=given(answer))
    span.names = [name for name in [text_of(record.get("id"))] if name]
    span.meta = {"qid": record.get("qid")}
    span.documents = paired(ids, texts) or list(texts) or None
    span.dataset = answer is None and not texts and not ids
    references = texts_in(first(record, _REFERENCES), where)
    cited = texts_in(record.get("reference_context_ids"), where)
    span.expected = ExpectedAnswer(citations=cited, reference=references[0] if references else "")
    span.scores = [
        Score(name, value)
        for name, part in record.items()
        if name and name not in _KNOWN and (value := _score(part)) is not None
    ]
    return span


def _score(part: object) -> float | None:
    return number(part) if not isinstance(part, str) or part.strip()[:1].isdigit() else None
