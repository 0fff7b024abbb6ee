"""Shapes: pick a trace's fields out of another system's JSON, and refuse what is not a trace."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ..core.contracts import DetailedTrace
from ..errors import UsageError
from ..reading.jsonl import Refused, field_first, kind, strict_object
from ..text import visible
from .failures import SEEN, AskFailed

_STEP = re.compile(r'\.?([^.\[\]"]+)|\[(\*|\d+)\]|\["([^"]+)"\]')
_ANSWER_FIELDS = ("claim", "citations", "constraints_echo")
_ABSENT = object()


class JsonPath(NamedTuple):
    """A dotted path like `data.answer.text`, `docs[*].id`, `choices[0]["a.b"]`."""

    written: str
    steps: tuple[str | int | None, ...]  # None stands for [*]

    @classmethod
    def parse(cls, written: str) -> JsonPath:
        steps: list[str | int | None] = []
        position = 0
        while match := _STEP.match(written, position):
            name, index, quoted = match.groups()
            steps.append(name or quoted or (None if index == "*" else int(index)))
            position = match.end()
        if position != len(written) or not steps or written.startswith("."):
            raise UsageError(
                f"{written!r} is not a path",
                where="--map",
                hint="Write it like data.answer.text or docs[*].id.",
                code="map-path",
            )
        return cls(written, tuple(steps))

    def of(self, value: Any) -> Any:
        """What stands at the path, or None where nothing does."""
        inner = _follow(value, self.steps)
        return None if inner is _ABSENT else inner


def parse_mapping(pairs: Mapping[str, str]) -> dict[str, JsonPath]:
    """`{"claim": "data.answer.text"}` as paths; claim, citations and constraints_echo belong to answer_json."""
    mapping = {}
    for field, written in pairs.items():
        name = f"answer_json.{field}" if field in _ANSWER_FIELDS else field
        mapping[name] = JsonPath.parse(written)
    if mapping and "answer_json" not in mapping and "answer_json.claim" not in mapping:
        raise UsageError("the mapping has no claim", where="--map", hint="Add --map claim=PATH.", code="map-path")
    return mapping


def mapped(body: dict[str, Any], mapping: Mapping[str, JsonPath]) -> dict[str, Any]:
    """The body itself, or the fields that the mapping names."""
    if not mapping:
        return body
    trace: dict[str, Any] = {}
    for field, path in mapping.items():
        value = path.of(body)
        if value is None and field == "answer_json.claim":
            raise AskFailed("wrong-shape", f"nothing stands at {path.written}, where the claim was expected")
        if value is not None:
            outer, _, inner = field.partition(".")
            if inner:
                trace.setdefault(outer, {})[inner] = value
            else:
                trace[outer] = value
    return trace


def parsed(raw: bytes, what: str = "the response") -> dict[str, Any]:
    """One JSON object, strictly read."""
    try:
        return strict_object(raw.strip())
    except Refused as refusal:
        problem = refusal.what if raw.strip() else "it is empty"
        seen = raw.decode("utf-8", "replace")[:SEEN]
        raise AskFailed("bad-json", f"{what} is not a JSON object: {problem}", seen=seen) from None


def checked(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace, if the contract accepts it: one bad response must not spoil the file for the reader."""
    if trace.get("error"):
        return _failed(trace, trace["error"])
    if "answer_json" not in trace:
        names = visible(", ".join(sorted(map(str, trace))) or "nothing", 80)
        raise AskFailed("wrong-shape", f"no answer_json (there is {names}); --map claim=PATH reads another shape")
    if not isinstance(trace["answer_json"], dict):
        raise AskFailed("wrong-shape", f"answer_json: expected an object, got {kind(trace['answer_json'])}")
    problem = _problem(trace)
    if problem:
        raise AskFailed("wrong-shape", problem)
    return trace


def _failed(trace: dict[str, Any], error: Any) -> dict[str, Any]:
    """A failure that the target reports itself; what else it says is kept if it can be read."""
    said = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    whole = {**trace, "error": f"target: {said}"}
    return whole if _problem(whole) is None else {"error": whole["error"]}


def _problem(trace: dict[str, Any]) -> str | None:
    try:
        msgspec.convert({**trace, "qid": "-"}, DetailedTrace)
    except msgspec.ValidationError as error:
        return field_first(str(error))
    return None


def _follow(value: Any, steps: tuple[str | int | None, ...]) -> Any:
    for number, step in enumerate(steps):
        if step is None:
            if not isinstance(value, list):
                return _ABSENT
            inner = [_follow(item, steps[number + 1 :]) for item in value]
            return [item for item in inner if item is not _ABSENT]
        if isinstance(value, str):
            return _ABSENT
        try:
            value = value[step]  # a name on an array and a number on an object are both a step into nothing
        except (IndexError, KeyError, TypeError):
            return _ABSENT
    return value
