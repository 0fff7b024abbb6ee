"""Trackers of experiments: Braintrust, Opik, TruLens, Weave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...text import visible
from ..container import Records
from ..dialects import describe, kind_of
from ..spans import ExpectedAnswer, Item, Late, Score, Span
from ..values import column, first, given, last_line, loosened, mapping, nanoseconds, number, objects, sequence, text_of
from .telemetry import error_of, events_of

# Braintrust: events of experiments and of logs, and the rows of datasets

_LISTS = ("events", "data")  # of a page of the API
_SCORERS = ("score", "scorer")
_KINDS = {"llm": "llm", "tool": "tool", "eval": "chain", "task": "chain"}  # a function may be the retriever


def matches_braintrust(record: Mapping[str, object]) -> bool:
    return _is_event(record) or _page(record) is not None


def _is_event(record: Mapping[str, object]) -> bool:
    traced = "root_span_id" in record and ("span_attributes" in record or "span_id" in record)
    return "input" in record and (traced or "_xact_id" in record)


def _page(record: Mapping[str, object]) -> list[object] | None:
    listed = first(record, _LISTS)
    first_one = listed[0] if isinstance(listed, list) and listed else None
    return listed if isinstance(first_one, Mapping) and _is_event(first_one) else None


def read_braintrust(records: Records) -> Iterator[Item]:
    for where, record in records:
        for event in [record] if _is_event(record) else objects(_page(record)):
            yield _braintrust_span(event, where)


def _braintrust_span(event: Mapping[str, object], where: str) -> Span:
    told, spent = mapping(event.get("span_attributes")), mapping(event.get("metrics"))
    parents = [text_of(name) for name in sequence(event.get("span_parents"))]
    name = text_of(event.get("span_id")) or text_of(event.get("id"))
    root = not parents and text_of(event.get("root_span_id")) in ("", name)
    kind = text_of(told.get("type")).casefold()
    failed = event.get("error")
    metadata = mapping(event.get("metadata"))
    example = text_of(event.get("dataset_record_id")) or text_of(mapping(event.get("origin")).get("id"))
    dataset = ("dataset_id" in event and "span_id" not in event) or not ({"output", "error"} & set(event))
    expected = event.get("expected")
    return Span(
        "" if dataset else text_of(event.get("root_span_id")) or name,
        where,
        id=name,
        parent=next(iter(parents), ""),
        name=text_of(told.get("name")),
        kind="evaluator" if kind in _SCORERS or told.get("purpose") == "scorer" else _KINDS.get(kind, ""),
        root=root,
        start=nanoseconds(spent.get("start")) or nanoseconds(event.get("created")),
        end=nanoseconds(spent.get("end")),
        error=last_line(text_of(failed) or ("failed" if failed else "")),
        inputs=given(event.get("input")),
        outputs=given(event.get("output")),
        meta=metadata,
        names=[example] if example else [],
        scores=[
            Score(label, value)
            for label, part in mapping(event.get("scores")).items()
            if (value := number(part)) is not None
        ],
        expected=_expected(expected) if expected is not None else None,
        model=text_of(metadata.get("model")),
        tokens_in=number(spent.get("prompt_tokens")),
        tokens_out=number(spent.get("completion_tokens")),
        cost=number(spent.get("estimated_cost")),
        dataset=dataset,
    )


def _expected(value: object) -> ExpectedAnswer:
    """A text, or an object with the answer under one of the usual names."""
    named = first(mapping(value), ("answer", "expected", "output", "text")) if not isinstance(value, str) else value
    if text_of(named):
        return ExpectedAnswer(reference=text_of(named))
    return ExpectedAnswer(dropped=["expected value that is no text"])


# Opik: traces and their spans, in one file or in two, and feedback scores


def matches_opik(record: Mapping[str, object]) -> bool:
    trace = record.get("trace")
    export = isinstance(trace, Mapping) and isinstance(record.get("spans"), list) and "start_time" in trace
    return export or _is_trace(record) or _is_span(record)


def matches_scores(record: Mapping[str, object]) -> bool:
    return {"name", "value", "source", "id"} <= set(record) and "category_name" in record


def _is_trace(record: Mapping[str, object]) -> bool:
    known = "project_name" in record or "project_id" in record
    return (
        known and "start_time" in record and "input" in record and "trace_id" not in record and "run_type" not in record
    )


def _is_span(record: Mapping[str, object]) -> bool:
    known = "project_name" in record or "project_id" in record
    return known and "trace_id" in record and "type" in record and "start_time" in record and "op_name" not in record


def read_opik(records: Records) -> Iterator[Item]:
    for where, record in records:
        if isinstance(record.get("trace"), Mapping):
            yield _trace(record["trace"], where)
            yield from (_opik_span(part, where) for part in objects(record.get("spans")))
        else:
            yield _opik_span(record, where) if "trace_id" in record else _trace(record, where)


def read_scores(records: Records) -> Iterator[Item]:
    for where, record in records:
        name = text_of(record.get("id"))
        yield Late(name, where, name, list(_scores([record])))


def _trace(trace: Mapping[str, object], where: str) -> Span:
    """A trace stands above its spans; it has an id of another kind than theirs."""
    span = _step(trace, where)
    span.trace, span.id, span.root = span.id, f"trace:{span.id}", True
    return span


def _opik_span(entry: Mapping[str, object], where: str) -> Span:
    span = _step(entry, where)
    span.trace = text_of(entry.get("trace_id"))
    span.parent = text_of(entry.get("parent_span_id")) or f"trace:{span.trace}"
    span.kind = kind_of(entry.get("type")) if entry.get("type") != "general" else ""
    return span


def _step(entry: Mapping[str, object], where: str) -> Span:
    usage, failure = mapping(entry.get("usage")), mapping(entry.get("error_info"))
    given, gave = entry.get("input"), entry.get("output")
    return Span(
        trace="",
        where=where,
        id=text_of(entry.get("id")),
        name=text_of(entry.get("name")),
        start=nanoseconds(entry.get("start_time")),
        end=nanoseconds(entry.get("end_time")),
        error=(text_of(first(failure, ("message", "exception_type"))) or "failed") if failure else "",
        inputs=[given] if given else [],
        outputs=[gave] if gave else [],
        meta=mapping(entry.get("metadata")),
        model=text_of(entry.get("model")),
        tokens_in=number(usage.get("prompt_tokens")),
        tokens_out=number(usage.get("completion_tokens")),
        cost=number(first(entry, ("total_estimated_cost", "total_cost"))),
        scores=list(_scores(objects(entry.get("feedback_scores")))),
    )


def _scores(entries: Iterable[Mapping[str, object]]) -> Iterator[Score]:
    for entry in entries:
        if (value := number(entry.get("value"))) is not None:
            kind = {"ui": "HUMAN", "online_scoring": "LLM"}.get(text_of(entry.get("source")), "")
            yield Score(text_of(entry.get("name")), value, kind)


# TruLens: the event table of its OpenTelemetry spans, and the table of records

_OWN = "ai.observability."
_RECORD_KEYS = {"record_id", "input", "output", "app_id"}
_RECORD_NUMBERS = {
    "latency",
    "total_tokens",
    "total_cost",
    "eval_cost",
    "eval_cost_snowflake",
    "num_events",
    "ts",
    "sample_rate",
}


def matches_trulens(record: Mapping[str, object]) -> bool:
    lower = {key.casefold(): value for key, value in record.items()}
    held = lower.get("record_attributes")
    return _OWN in (held if isinstance(held, str) else " ".join(held) if isinstance(held, Mapping) else "")


def matches_records(record: Mapping[str, object]) -> bool:
    return set(record) >= _RECORD_KEYS


def read_trulens(records: Records) -> Iterator[Item]:
    hint = "Write the event table as JSON."
    for where, record in records:
        row = {
            key.casefold(): column(value, f"column {visible(key, 60)}", where, hint) for key, value in record.items()
        }
        attributes = mapping(row.get("record_attributes"))
        if text_of(attributes.get(f"{_OWN}span_type")) in ("eval", "eval_root"):
            yield from _judged(attributes, where)
        else:
            yield _trulens_span(row, attributes, where)


def _judged(attributes: Mapping[str, object], where: str) -> Iterator[Item]:
    """A span of a feedback function is no step of the run: it carries the score."""
    name = text_of(first(attributes, (f"{_OWN}eval_root.metric_name", f"{_OWN}eval.metric_name")))
    value = number(attributes.get(f"{_OWN}eval_root.score"))
    record = text_of(first(attributes, (f"{_OWN}eval.target_record_id", f"{_OWN}record_id")))
    if name and value is not None:
        kind = "LLM" if f"{_OWN}eval.llm_judge_name" in attributes else ""
        yield Late(record, where, scores=[Score(name, value, kind)])


def _trulens_span(row: Mapping[str, object], attributes: Mapping[str, object], where: str) -> Span:
    record, trace = mapping(row.get("record")), mapping(row.get("trace"))
    events = events_of(record)
    span = Span(
        trace=text_of(attributes.get(f"{_OWN}record_id")) or text_of(trace.get("trace_id")),
        where=where,
        id=text_of(trace.get("span_id")) or text_of(row.get("event_id")),
        parent=text_of(first(record, ("parent_span_id",))) or text_of(trace.get("parent_id")),
        name=text_of(record.get("name")),
        root=attributes.get(f"{_OWN}span_type") == "record_root",
        start=nanoseconds(row.get("start_timestamp")),
        end=nanoseconds(row.get("timestamp")),
        error=error_of({"code": record.get("status")}, events),
    )
    describe(span, attributes, events)
    if truth := text_of(attributes.get(f"{_OWN}record_root.ground_truth_output")):
        span.expected = ExpectedAnswer(reference=truth)
    return span


def read_records(records: Records) -> Iterator[Item]:
    """The table of records has no contexts: what was retrieved is not in it."""
    for where, record in records:
        span = Span("", where, inputs=given(record.get("input")), outputs=given(record.get("output")))
        span.names = [name for name in [text_of(record.get("input_id"))] if name]
        spent = number(record.get("latency"))
        span.e2e_ms = None if spent is None else spent * 1000
        span.cost = number(record.get("total_cost"))
        span.start = nanoseconds(record.get("ts"))
        span.scores = [
            Score(name, value)
            for name, value in record.items()
            if isinstance(value, float) and name not in _RECORD_NUMBERS and not name.endswith((" cost", "_cost"))
        ]
        yield span


# Weave: calls. They have no kinds; the assembler knows a retriever by its output


def matches_weave(record: Mapping[str, object]) -> bool:
    return "op_name" in record and "started_at" in record


def read_weave(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _weave_span(record, where)


def _weave_span(call: Mapping[str, object], where: str) -> Span:
    attributes, summary = mapping(call.get("attributes")), mapping(call.get("summary"))
    inputs = call.get("inputs")
    span = Span(
        trace=text_of(call.get("trace_id")),
        where=where,
        id=text_of(call.get("id")),
        parent=text_of(call.get("parent_id")),
        name=text_of(call.get("op_name")),
        kind=kind_of(attributes.get("kind")),
        start=nanoseconds(call.get("started_at")),
        end=nanoseconds(call.get("ended_at")),
        error=_failure(call.get("exception")),
        inputs=[inputs] if inputs else [],
        outputs=given(call.get("output")),
        meta={key: value for key, value in attributes.items() if key != "weave"},
        scores=list(_feedback(summary)),
    )
    for model, usage in mapping(summary.get("usage")).items():
        counts = mapping(usage)
        span.model = span.model or model
        span.tokens_in = number(counts.get("prompt_tokens") or counts.get("input_tokens"))
        span.tokens_out = number(counts.get("completion_tokens") or counts.get("output_tokens"))
    return span


def _failure(exception: object) -> str:
    told = loosened(exception)
    if isinstance(told, Mapping):
        return text_of(told.get("message")) or text_of(told.get("type")) or "failed"
    return text_of(told)


def _feedback(summary: Mapping[str, object]) -> Iterator[Score]:
    for entry in objects(mapping(summary.get("weave")).get("feedback")):
        payload = mapping(entry.get("payload"))
        value = payload.get("output", payload.get("value"))
        name = text_of(entry.get("feedback_type")).rsplit(".", 1)[-1]
        scored = value if isinstance(value, (bool, str)) else number(value)
        if name and scored is not None:
            yield Score(name, scored)
