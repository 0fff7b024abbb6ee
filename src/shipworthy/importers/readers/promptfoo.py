"""promptfoo: results of an evaluation, as JSON, JSON Lines or a shared evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from ...errors import DataError
from ...text import visible
from ..container import Records
from ..spans import ExpectedAnswer, Item, Score, Span, paired
from ..values import first, given, loosened, mapping, number, sequence, text_of
from .promptfoo_config import expected_of

KNOWN_VERSIONS = ("1", "2", "3", "4")
_CRASHED = 2  # failureReason: 0 none, 1 an assertion, 2 an error of the run


def matches(record: Mapping[str, object]) -> bool:
    return _rows(record) is not None or _is_row(record)


def version(record: Mapping[str, object]) -> str:
    holder = mapping(record.get("data")) or record
    return text_of(first(mapping(holder.get("results")), ("version",)) or holder.get("version"))


def _rows(record: Mapping[str, object]) -> list[object] | None:
    """The rows of an evaluation: `results.results` of the file, of a share, or `results` of a newer share."""
    holder = record.get("data") if isinstance(record.get("data"), Mapping) else record
    results = holder.get("results") if isinstance(holder, Mapping) else None
    rows = results.get("results") if isinstance(results, Mapping) else results
    return rows if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) and _is_row(rows[0]) else None


def _is_row(record: Mapping[str, object]) -> bool:
    answered = "response" in record or "providerResponse" in record or "error" in record
    return answered and "prompt" in record and ("vars" in record or "testCase" in record) and "success" in record


def read(records: Records) -> Iterator[Item]:
    seen: dict[str, set[int]] = {}
    numbers = count(1)  # a long list of rows comes in pieces
    for where, record in records:
        rows = _rows(record)
        for row in [record] if rows is None else rows:
            number_ = next(numbers)
            if not isinstance(row, Mapping) or not _is_row(row):
                what = f"row {number_} is not a promptfoo result like the first one"
                raise DataError(what, where=visible(where), hint="Export it again.", code="import-mixed")
            yield _span(row, where, seen)


def _span(row: Mapping[str, object], where: str, seen: dict[str, set[int]]) -> Span:
    case, answered = mapping(row.get("testCase")), mapping(first(row, ("response", "providerResponse")))
    asked = {**mapping(case.get("vars")), **mapping(row.get("vars"))}
    told = {**mapping(case.get("metadata")), **mapping(row.get("metadata")), **mapping(answered.get("metadata"))}
    output = answered.get("output")
    failed = row.get("failureReason") == _CRASHED or (output is None and "failureReason" not in row)
    usage = mapping(first(answered, ("tokenUsage",)) or row.get("tokenUsage"))
    span = Span(
        trace="",
        where=where,
        inputs=[value for value in (asked, mapping(row.get("prompt")).get("raw")) if value],
        outputs=given(output),
        meta={**asked, **told},
        names=[name for name in [text_of(case.get("description"))] if name],
        arm=_arm(row, seen),
        e2e_ms=number(row.get("latencyMs")),
        cost=number(first(row, ("cost",)) or answered.get("cost")),
        tokens_in=number(usage.get("prompt")),
        tokens_out=number(usage.get("completion")),
        scores=list(_scores(row)),
        expected=_expected(case, asked, told),
    )
    if failed or (output is None and row.get("error")):
        span.error = text_of(first(answered, ("error",)) or row.get("error")) or "failed"
    span.documents = _documents({**asked, **told})
    return span


def _expected(case: Mapping[str, object], asked: Mapping[str, object], told: Mapping[str, object]) -> ExpectedAnswer:
    expected = expected_of(sequence(case.get("assert")), asked)
    expected.citations = [name for name in map(text_of, sequence(told.get("gold_citations"))) if name]
    return expected


def _documents(told: Mapping[str, object]) -> list[object] | None:
    """What a provider says it retrieved: ids and texts side by side, or either."""
    ids = [text_of(name) for name in sequence(first(told, ("retrieved_ids", "retrieved_context_ids")))]
    texts = loosened(first(told, ("context", "contexts", "documents", "retrieved_contexts")))
    listed = [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []
    return paired(ids, listed if all(isinstance(text, str) for text in listed) else ()) or listed or None


def _arm(row: Mapping[str, object], seen: dict[str, set[int]]) -> str:
    """The provider's label; with the number of the prompt where one provider has several."""
    provider = row.get("provider")
    told = mapping(provider)
    label = text_of(first(told, ("label", "id"))) or text_of(provider)
    index = row.get("promptIdx")
    prompts = seen.setdefault(label, set())
    if isinstance(index, int):
        prompts.add(index)
    return label if len(prompts) < 2 else f"{label} × prompt {index}"


def _scores(row: Mapping[str, object]) -> Iterator[Score]:
    for name, value in mapping(row.get("namedScores")).items():
        if (scored := number(value)) is not None:
            yield Score(name, scored, "CODE")
