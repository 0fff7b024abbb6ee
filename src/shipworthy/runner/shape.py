"""Shapes: pick a trace's fields out of another system's JSON, and refuse what is not a trace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ..core.contracts import DetailedTrace
from ..errors import UsageError
from ..net.events import EventStream
from ..reading.jsonl import Refused, field_first, kind, strict_object
from ..reading.mapping import FieldMap
from ..reading.proposal import fields_of, flags, propose
from ..reading.strict import strict_json
from ..reading.values import MOVED, SHARED, MapError, json_in_cell, shaped, without_nulls
from ..text import visible
from .failures import SEEN, AskFailed

_HTML = re.compile(rb"\s*(?:<!doctype html|<html|<head|<body|<!--)", re.IGNORECASE)
_RUN_TOGETHER = re.compile(rb"\}[ \t]*\{")  # objects of a stream without a line between them
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


def parse_mapping(given: Mapping[str, str] | Iterable[str]) -> FieldMap:
    """A mapping of responses; it must at least say where the claim is, or what was retrieved where nothing answers."""
    mapping = FieldMap.parse(given)
    for name in SHARED:  # the plan knows what it asked
        mapping.sources.pop(name, None)
    if mapping and not {"answer_json", "claim", "refused", "retrieved_ids"} & set(mapping.sources):
        raise UsageError("the mapping has no claim", where="--map", hint="Add --map claim=PATH.", code="map-path")
    return mapping


def mapped(body: dict[str, object], mapping: FieldMap) -> dict[str, object]:
    """The body, or the fields that the mapping names and those of an answer; a claim that is not there says what is."""
    if not mapping and MOVED.isdisjoint(body):
        return body
    own = {name: body[name] for name in ("retrieved_ids", *MOVED) if name in body and name not in mapping.sources}
    try:
        trace = shaped(own | mapping.trace(body) if mapping else body, "trace")
    except MapError as error:
        raise AskFailed("wrong-shape", str(error)) from None
    answer = trace.get("answer_json")
    if "claim" in mapping.sources and not (isinstance(answer, dict) and "claim" in answer) and not body.get("error"):
        path = mapping.sources["claim"].written
        raise AskFailed("wrong-shape", f"nothing at {path} for the claim{_came(body)}")
    if body.get("error") and not trace.get("error"):
        trace["error"] = body["error"]  # what came beside it is not an answer
    return trace


def _came(body: dict[str, object]) -> str:
    """What came instead, and the mapping that would read it."""
    likely = propose(body)
    hint = f". Try {flags(likely)}" if "claim" in likely else ""
    return f"; the response has {fields_of(body)}{hint}"


def parsed(
    raw: bytes, what: str = "the response", reads: Callable[[dict[str, object]], bool] | None = None
) -> dict[str, object]:
    """The object that came. Anything else is a failure, unless `reads` accepts it.

    A list is then `items`, a text is `text`, and lines of JSON are a stream.
    """
    try:
        return strict_object(raw.strip())
    except Refused as refusal:
        seen = raw.decode("utf-8", "replace")[:SEEN]
        if _HTML.match(raw[:1000]):
            raise AskFailed("bad-json", f"{what} is an HTML page{_titled(raw)}, not a JSON object", seen=seen) from None
        if reads is not None and (body := _otherwise(raw.strip())) is not None and reads(body):
            return body
        problem = refusal.what if raw.strip() else "it is empty"
        raise AskFailed("bad-json", f"{what} is not a JSON object: {problem}", seen=seen) from None


def _otherwise(raw: bytes) -> dict[str, object] | None:
    """A body that is no object; None where it is one that is broken, or nothing at all."""
    try:
        value = strict_json(raw)
    except Refused as refusal:
        if refusal.code not in ("json", "truncated"):
            return None  # JSON that is not accepted, such as NaN or a key that occurs twice
        stream = EventStream()
        stream.feed(_RUN_TOGETHER.sub(b"}\n{", raw) if raw[:1] == b"{" else raw)
        body = stream.whole()
        if stream.is_one and not stream.lacking:
            return body
        broken = raw[:1] in (b"{", b"[", b'"', b"") or b"\0" in raw
        text = raw.decode("utf-8", "replace")
        return None if broken or "\ufffd" in text else _parted(text)
    return {"items": value} if isinstance(value, list) else {"text": value} if isinstance(value, str) else None


def _parted(text: str) -> dict[str, object]:
    """A text, and the JSON after it on lines of its own. A line between them, such as ---SOURCES---, is neither."""
    lines = text.splitlines()
    for place in [place for place, line in enumerate(lines) if line[:1] in ("[", "{")][:3]:
        value = json_in_cell("\n".join(lines[place:]))
        if not isinstance(value, str):
            before = [line for line in lines[:place] if line.strip()]
            rule = len(before) > 1 and re.fullmatch(r"\W*\w{0,30}\W*", before[-1][:60])
            return {"text": "\n".join(before[:-1] if rule else before), "data": value}
    return {"text": text}


def _titled(raw: bytes) -> str:
    title = _TITLE.search(raw[:20_000])
    return f" ({visible(title[1].decode('utf-8', 'replace').strip(), 60)!r})" if title else ""


def reads(mapping: FieldMap, body: dict[str, object]) -> bool:
    """Whether the mapping finds something in a body, or the body has a field of ours."""
    own = {"answer_json", "error", "retrieved_ids", *MOVED}
    return not own.isdisjoint(body) or any(
        source.path.of(body, json_in_cell) is not None for source in mapping.sources.values()
    )


def only_retrieves(mapping: FieldMap) -> bool:
    """Whether a mapping is that of a service that searches and does not answer."""
    return "retrieved_ids" in mapping.sources and not {"answer_json", "claim", "refused"} & set(mapping.sources)


def checked(trace: dict[str, object], answers: bool = True) -> dict[str, object]:
    """The trace, if the contract accepts it: one bad response must not spoil the file for the reader."""
    if trace.get("error"):
        return _failed(trace, trace["error"])
    if not answers and "answer_json" not in trace:
        return trace
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
        msgspec.convert(without_nulls({**trace, "qid": "-"}), DetailedTrace)
    except msgspec.ValidationError as error:
        return field_first(str(error))
    return None
