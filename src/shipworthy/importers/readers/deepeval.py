"""deepeval: goldens, test runs, evaluation results and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import ExpectedAnswer, Item, Joined, Score, Span
from ..values import (
    cell,
    first,
    given,
    mapping,
    nanoseconds,
    number,
    objects,
    refuse_formula,
    sequence,
    text_of,
)

_CASES = ("testCases", "test_results", "test_cases")
_TREE = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")
_ANSWER = ("actual_output", "actualOutput")
_RETRIEVED = ("retrieval_context", "retrievalContext")
_REFERENCE = ("expected_output", "expectedOutput")


def matches(record: Mapping[str, object]) -> bool:
    return any(isinstance(record.get(key), list) for key in _CASES) or _is_case(record) or _is_tree(record)


def _is_case(record: Mapping[str, object]) -> bool:
    named = any(key in record for key in (*_ANSWER, *_RETRIEVED, *_REFERENCE))
    return "input" in record and named


def _is_tree(record: Mapping[str, object]) -> bool:
    return "uuid" in record and sum(isinstance(record.get(key), list) for key in _TREE) > 1


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        if _is_tree(record):
            yield from _tree(record, where)
            continue
        cases = first(record, _CASES)
        for case in objects(cases if isinstance(cases, list) else [record]):
            yield _span(case, where, records.shape == "table")


def _span(case: Mapping[str, object], where: str, in_table: bool) -> Span:
    asked, answer = case.get("input"), first(case, _ANSWER)
    if in_table:
        for text in (asked, answer):
            refuse_formula(text_of(text), where)
    told = cell(first(case, ("additional_metadata", "additionalMetadata", "metadata")), where)
    cited = first(case, _RETRIEVED)
    span = Span("", where, inputs=[asked] if asked else [], outputs=[answer] if answer else [])
    # deepeval joins contexts with | in CSV and in JSON Lines; the sign may also be part of one
    span.documents = Joined(cited, "|") if isinstance(cited, str) and cited else sequence(cited) or None
    if cited is None:  # it may stand in the trace of the case
        steps = sequence(mapping(case.get("trace")).get("retrieverSpans"))
        span.documents = [one for step in steps for one in sequence(mapping(step).get("output"))] or None
    span.meta = mapping(told)
    span.names = [name for name in [text_of(case.get("name"))] if name]
    span.dataset = answer is None and cited is None
    span.expected = ExpectedAnswer(reference=text_of(first(case, _REFERENCE)))
    span.cost = number(first(case, ("token_cost", "tokenCost")))
    spent = number(first(case, ("completion_time", "completionTime")))
    span.e2e_ms = None if spent is None else spent * 1000
    span.tokens_in = number(first(case, ("input_token_count", "inputTokenCount")))
    span.tokens_out = number(first(case, ("output_token_count", "outputTokenCount")))
    span.scores = [
        Score(text_of(metric.get("name")), scored, "LLM" if first(metric, _JUDGES) else "CODE")
        for metric in objects(first(case, ("metricsData", "metrics_data")))
        if (scored := number(metric.get("score"))) is not None
    ]
    return span


_JUDGES = ("evaluationModel", "evaluation_model")


def _tree(record: Mapping[str, object], where: str) -> Iterator[Span]:
    """A trace whose spans stand in lists by their kind."""
    name = text_of(record.get("uuid"))
    top = _step(record, name, where)
    top.id, top.root = f"trace:{name}", True
    yield top
    for key in _TREE:
        for entry in objects(record.get(key)):
            span = _step(entry, name, where)
            span.parent = text_of(entry.get("parentUuid")) or top.id
            span.kind = kind_of(entry.get("type")) or kind_of(key.removesuffix("Spans"))
            yield span


def _step(entry: Mapping[str, object], trace: str, where: str) -> Span:
    failed = text_of(entry.get("status")).upper() in ("ERRORED", "ERROR")
    return Span(
        trace,
        where,
        id=text_of(entry.get("uuid")),
        name=text_of(entry.get("name")),
        start=nanoseconds(entry.get("startTime")),
        end=nanoseconds(entry.get("endTime")),
        error=(text_of(entry.get("error")) or "failed") if failed else "",
        inputs=given(cell(entry.get("input"), where)),
        outputs=given(cell(entry.get("output"), where)),
        documents=sequence(first(entry, _RETRIEVED)) or None,
        model=text_of(entry.get("model")),
        tokens_in=number(entry.get("inputTokenCount")),
        tokens_out=number(entry.get("outputTokenCount")),
        meta=mapping(entry.get("metadata")),
    )
