"""Shapes: pick a trace's fields out of another system's JSON, and refuse what is not a trace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import msgspec

from ..core.contracts import DetailedTrace
from ..errors import UsageError
from ..reading.jsonl import Refused, field_first, kind, strict_object
from ..reading.mapping import SHARED, FieldMap
from ..reading.proposal import fields_of, flags, propose
from ..reading.values import MapError
from ..text import visible
from .failures import SEEN, AskFailed

_HTML = re.compile(rb"\s*(?:<!doctype html|<html|<head|<body|<!--)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


def parse_mapping(given: Mapping[str, str] | Iterable[str]) -> FieldMap:
    """A mapping of responses; it must at least say where the claim is."""
    mapping = FieldMap.parse(given)
    for name in SHARED:  # the plan knows what it asked
        mapping.sources.pop(name, None)
    if mapping and not {"answer_json", "claim", "refused"} & set(mapping.sources):
        raise UsageError("the mapping has no claim", where="--map", hint="Add --map claim=PATH.", code="map-path")
    return mapping


def mapped(body: dict[str, object], mapping: FieldMap) -> dict[str, object]:
    """The body itself, or the fields that the mapping names. A claim that is not there says what is."""
    if not mapping:
        return body
    try:
        trace = mapping.trace(body)
    except MapError as error:
        raise AskFailed("wrong-shape", str(error)) from None
    if "claim" in mapping.sources and "claim" not in (trace.get("answer_json") or {}) and not body.get("error"):
        path = mapping.sources["claim"].written
        raise AskFailed("wrong-shape", f"nothing at {path} for the claim{_came(body)}")
    if "answer_json" not in trace and body.get("error"):
        trace["error"] = body["error"]
    return trace


def _came(body: dict[str, object]) -> str:
    """What came instead, and the mapping that would read it."""
    likely = propose(body)
    hint = f". Try {flags(likely)}" if "claim" in likely else ""
    return f"; the response has {fields_of(body)}{hint}"


def parsed(raw: bytes, what: str = "the response") -> dict[str, object]:
    """One JSON object, strictly read."""
    try:
        return strict_object(raw.strip())
    except Refused as refusal:
        seen = raw.decode("utf-8", "replace")[:SEEN]
        if _HTML.match(raw[:1000]):
            raise AskFailed("bad-json", f"{what} is an HTML page{_titled(raw)}, not a JSON object", seen=seen) from None
        problem = refusal.what if raw.strip() else "it is empty"
        raise AskFailed("bad-json", f"{what} is not a JSON object: {problem}", seen=seen) from None


def _titled(raw: bytes) -> str:
    title = _TITLE.search(raw[:20_000])
    return f" ({visible(title[1].decode('utf-8', 'replace').strip(), 60)!r})" if title else ""


def checked(trace: dict[str, object]) -> dict[str, object]:
    """The trace, if the contract accepts it: one bad response must not spoil the file for the reader."""
    if trace.get("error"):
        return _failed(trace, trace["error"])
    if "answer_json" not in trace:
        raise AskFailed("wrong-shape", f"no answer_json{_came(trace)}")
    if not isinstance(trace["answer_json"], dict):
        raise AskFailed("wrong-shape", f"answer_json: expected an object, got {kind(trace['answer_json'])}")
    problem = _problem(trace)
    if problem:
        raise AskFailed("wrong-shape", problem)
    return trace


def _failed(trace: dict[str, object], error: object) -> dict[str, object]:
    """A failure that the target reports itself; what else it says is kept if it can be read."""
    said = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    whole = {**trace, "error": f"target: {said}"}
    return whole if _problem(whole) is None else {"error": whole["error"]}


def _problem(trace: dict[str, object]) -> str | None:
    try:
        msgspec.convert({**trace, "qid": "-"}, DetailedTrace)
    except msgspec.ValidationError as error:
        return field_first(str(error))
    return None
