"""Langfuse: trace downloads, observations of the API and of blob exports, and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import Item, Late, Score, Span
from ..values import first, loosened, mapping, nanoseconds, number, objects, text_of

_TRACE = ("traceId", "trace_id")
_TYPES = {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}


def matches(record: Mapping[str, object]) -> bool:
    trace = record.get("trace")
    download = isinstance(trace, Mapping) and isinstance(record.get("observations"), list)
    return download or _is_trace(record) or _is_observation(record) or _is_listing(record)


def matches_scores(record: Mapping[str, object]) -> bool:
    return _is_score(record) or any(_is_score(part) for part in _posted(record))


def _is_trace(record: Mapping[str, object]) -> bool:
    """A trace with its observations, or, as in a list of traces, with their ids or without them."""
    known = "projectId" in record or "project_id" in record or "htmlPath" in record
    whole = isinstance(record.get("observations"), list) or ("input" in record and "output" in record)
    return known and whole and "timestamp" in record and first(record, _TRACE) is None


def _is_observation(record: Mapping[str, object]) -> bool:
    kind = record.get("type")  # Opik, which is alike, writes its types in small letters
    return first(record, _TRACE) is not None and isinstance(kind, str) and kind in _TYPES


def _is_listing(record: Mapping[str, object]) -> bool:
    """An answer of the API: a page of observations or of traces."""
    data = record.get("data")
    page = data[0] if isinstance(data, list) and data else None
    return isinstance(page, Mapping) and (_is_observation(page) or _is_trace(page))


def _is_score(record: object) -> bool:
    if not isinstance(record, Mapping) or first(record, _TRACE) is None or "name" not in record:
        return False
    return first(record, ("value", "stringValue", "string_value")) is not None and "type" not in record


def _posted(record: Mapping[str, object]) -> list[object]:
    """The scores of an API answer, or of a request to the ingestion API."""
    listed = first(record, ("body", "batch", "data"))
    listed = listed if isinstance(listed, list) else []
    return [part.get("body", part) if isinstance(part, Mapping) else part for part in listed]


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        for entry in objects(record["data"]) if _is_listing(record) else [record]:
            yield from [_observation(entry, where)] if _is_observation(entry) else _download(entry, where)


def read_scores(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from (_late(entry, where) for entry in objects([record] if _is_score(record) else _posted(record)))


def _download(record: Mapping[str, object], where: str) -> Iterator[Item]:
    """A trace stands above its observations: what went in and came out of the whole run is said there."""
    trace = mapping(record.get("trace")) or dict(record)
    name = text_of(trace.get("id"))
    top = Span(name, where, f"trace:{name}", name=text_of(trace.get("name")), kind="chain", root=True)
    top.inputs, top.outputs = _given(trace, "input"), _given(trace, "output")
    top.meta = _metadata(trace)
    top.start = nanoseconds(trace.get("timestamp"))
    latency = number(trace.get("latency"))
    top.end = None if latency is None or top.start is None else top.start + round(latency * 1e9)
    observations = objects(record.get("observations"))
    known = {text_of(part.get("id")) for part in observations}
    for part in observations:
        span = _observation(part, where)
        span.parent = span.parent if span.parent in known else top.id
        top.error = top.error or (span.error if span.parent == top.id and not top.outputs else "")
        yield span
    yield top
    for score in [*objects(trace.get("scores")), *objects(record.get("scores") if "trace" in record else None)]:
        yield _late(score, where)


def _observation(entry: Mapping[str, object], where: str) -> Span:
    usage = mapping(first(entry, ("usageDetails", "usage_details", "usage")))
    costs = mapping(first(entry, ("costDetails", "cost_details")))
    failed = text_of(entry.get("level")).upper() == "ERROR"
    return Span(
        trace=text_of(first(entry, _TRACE)),
        where=where,
        id=text_of(entry.get("id")),
        parent=text_of(first(entry, ("parentObservationId", "parent_observation_id"))),
        name=text_of(entry.get("name")),
        kind=kind_of(entry.get("type")),
        root=first(entry, ("isRootObservation", "is_root_observation", "isAppRoot", "is_app_root")) is True,
        start=nanoseconds(first(entry, ("startTime", "start_time"))),
        end=nanoseconds(first(entry, ("endTime", "end_time"))),
        error=(text_of(first(entry, ("statusMessage", "status_message"))) or "failed") if failed else "",
        inputs=_given(entry, "input"),
        outputs=_given(entry, "output"),
        meta=_metadata(entry),
        model=text_of(first(entry, ("model", "providedModelName", "provided_model_name"))),
        tokens_in=number(first(usage, ("input", "promptTokens"))),
        tokens_out=number(first(usage, ("output", "completionTokens"))),
        cost=number(first(entry, ("totalCost", "total_cost")) or costs.get("total")),
    )


def _given(entry: Mapping[str, object], name: str) -> list[object]:
    value = loosened(entry.get(name))
    return [] if value is None or value == "" else [value]


def _metadata(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: loosened(value) for key, value in mapping(entry.get("metadata")).items()}


def _late(entry: Mapping[str, object], where: str) -> Late:
    label = first(entry, ("stringValue", "string_value"))
    value = number(entry.get("value"))
    boolean = text_of(first(entry, ("dataType", "data_type"))) == "BOOLEAN" and value is not None
    scored = bool(value) if boolean else value if value is not None else label
    scored = entry.get("value") if scored is None and isinstance(entry.get("value"), (str, bool)) else scored
    kind = {"EVAL": "LLM", "ANNOTATION": "HUMAN", "API": "CODE"}.get(text_of(entry.get("source")), "")
    scores = [Score(text_of(entry.get("name")), scored, kind)] if isinstance(scored, (float, int, bool, str)) else []
    span = text_of(first(entry, ("observationId", "observation_id")))
    return Late(text_of(first(entry, _TRACE)), where, span, scores)
