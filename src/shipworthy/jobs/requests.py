"""Requests: the body or the query that a service takes, found by what it describes and by what it says is missing."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..errors import ShipworthyError
from ..net.client import RequestFailed
from ..net.once import fetch

FIELDS = ("question", "query", "q", "input", "prompt", "message", "text")
CHAT = {"messages": [{"role": "user", "content": "{question}"}]}
CHAT_PATH = re.compile(r"/(chat/)?completions/?$|/chat/?$")
_Q = "{question}"
_QUESTION = re.compile(r"quer|question|prompt|input|message|utterance|ask|search|content|text|^q$", re.IGNORECASE)
_LOC = re.compile(r"""["']loc["']\s*:\s*[\[(]([^\])]*)[\])]""")
_NAMES = (
    r"""["'](\w+)["'] (?:is|must|failed|can|should|parameter)""",
    r"""Either ["'](\w+)["'] or ["'](\w+)["']""",
    r"([A-Z]\w+ \w+) (?:is|are) (?:required|missing)",
    r"([\w.]*\w) (?:is|are) (?:a )?(?:required|missing|mandatory)",
    r"(\w+) (?:is|are) not (?:specified|given|provided|set)",
    r"""(?:field|parameter|property|argument)(?: called| named)? ["'`](\w+)["'`]""",
    r"""["']pointer["']\s*:\s*["']/([\w/]+)["']""",
    r"(?:required|missing)[\w ]*: *[\"']?(\w+)",
    r"(\w+): [Ff]ield required",
    r"""["']field_errors["']\s*:\s*\{\s*["'](\w+)""",
    r"(?:provide|specify|send) (?:a|an|the) ([\w ]+?)(?: parameter| field|[.\"]|$)",
    r"[Nn]o ([\w ]+?) (?:received|given|provided|found)",
)
_DEEPEST = 6


def named_missing(error: str) -> list[tuple[str, ...]]:
    """Where the fields are that an error says are missing, outermost name first; `query:` marks those of the URL."""
    places = [tuple(re.findall(r"[\w.-]+", found)) for found in _LOC.findall(error.replace('\\"', '"'))]
    if places:
        outer = [
            ("query:", *place[1:]) if place[0] == "query" and len(place) > 1 else place for place in places if place
        ]
        return list(
            dict.fromkeys(place[1:] if place[0] == "body" else place for place in outer if place[-1:] != ("body",))
        )
    words = [word for pattern in _NAMES for found in re.findall(pattern, error) for word in _each(found)]
    spelled = [form for word in words for form in ([word] if " " not in word else [word.replace(" ", "_").lower()])]
    return [tuple(re.split(r"[./]", name)) for name in dict.fromkeys(spelled) if name.lower() not in _PROSE]


_PROSE = {
    "field",
    "value",
    "it",
    "body",
    "json",
    "request",
    "argument",
    "arguments",
    "parameter",
    "member",
    "api",
    "key",
}


def bodies_for(error: str, sent: object) -> Iterator[object]:
    """Bodies that have what the error names, built upon what was sent where that had some of it already."""
    places = [place for place in named_missing(error) if place and place[0] != "query:"]
    wanted = [place for place in places if place[-1] != "model"]
    if not wanted:
        return
    kept: Any = sent if isinstance(sent, dict) and _is_built(sent) else {}
    body: Any = dict(kept)
    for place in wanted:
        if all(name.isidentifier() or name.isdigit() for name in place):
            body = _with(body, place, _value(place[-1], _QUESTION.search(place[-1]) is not None or not _asks(body)))
    if _asks(body):
        yield body
    for place in wanted[:3]:
        if len(place) == 1 and place[0] != "messages":
            name = place[0]
            yield from ({**kept, name: form} for form in ({"text": _Q}, {name: _Q}, [{"input": _Q}], [_Q]))


def queries_for(error: str) -> Iterator[dict[str, str]]:
    """Queries that have what the error names."""
    for place in named_missing(error):
        if place[-1].isidentifier():
            yield {place[-1]: _Q}


def described(url: str, seconds: float) -> Iterator[tuple[str, Any]]:
    """Method and body, or query, by the service's own description at /openapi.json."""
    parts, sink = urlsplit(url), io.BytesIO()
    try:
        status, _ = fetch(f"{parts.scheme}://{parts.netloc}/openapi.json", sink, min(seconds, 5.0))
        api = json.loads(sink.getvalue()) if status == 200 else {}
    except (RequestFailed, ShipworthyError, ValueError, RecursionError, OSError):
        return
    paths = api.get("paths") if isinstance(api, dict) else None
    operations = paths.get(parts.path) or paths.get(parts.path.rstrip("/")) if isinstance(paths, dict) else None
    for method, operation in operations.items() if isinstance(operations, dict) else ():
        if isinstance(operation, dict):
            yield from _of_operation(method, operation, api)


def _of_operation(method: str, operation: Mapping[str, Any], api: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    content = _at(operation, "requestBody", "content", "application/json", "schema")
    if isinstance(content, dict):
        body = _example(content, api, "", 0)
        if isinstance(body, dict) and body:
            yield method.upper(), body if _asks(body) else body | {_best(body): _Q}
    parameters = operation.get("parameters")
    names = [
        one["name"] for one in parameters or () if isinstance(one, dict) and one.get("in") == "query" and "name" in one
    ]
    if names and not content:
        yield method.upper(), {"query:": {_best(names): _Q}}


def _example(schema: Mapping[str, Any], api: Mapping[str, Any], name: str, depth: int) -> Any:
    """A value that a schema accepts, with the question where it belongs."""
    if isinstance(ref := schema.get("$ref"), str):
        inner = _at(api, *ref.removeprefix("#/").split("/"))
        return _example(inner, api, name, depth + 1) if isinstance(inner, dict) and depth < _DEEPEST else {}
    for key in ("default", "const"):
        if schema.get(key) is not None and not _QUESTION.search(name):
            return schema[key]
    kind, properties = schema.get("type"), schema.get("properties")
    if isinstance(properties, dict) and properties and depth < _DEEPEST:
        required = schema.get("required")
        needed = required if isinstance(required, list) and required else [_best(properties)]
        return {
            one: _example(properties[one], api, one, depth + 1)
            for one in needed
            if isinstance(properties.get(one), dict)
        }
    if kind == "array":
        return CHAT["messages"] if name == "messages" else []
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return False
    return _value(name, _QUESTION.search(name) is not None) if kind == "string" else {}


def _value(name: str, asks: bool) -> Any:
    if name == "messages":
        return CHAT["messages"]
    known = {"stream": False, "max_tokens": 300, "temperature": 0, "top_k": 5, "k": 5}
    return known.get(name, _Q if asks else "shipworthy")


def _with(body: Any, place: tuple[str, ...], value: Any) -> Any:
    """The body with a value at a place in it."""
    if not place:
        return value
    if place[0].isdigit():
        return [_with(body[0] if isinstance(body, list) and body else {}, place[1:], value)]
    return {
        **(body if isinstance(body, dict) else {}),
        place[0]: _with(body.get(place[0]) if isinstance(body, dict) else {}, place[1:], value),
    }


def _asks(body: object) -> bool:
    return _Q in json.dumps(body)


def _is_built(body: Mapping[str, Any]) -> bool:
    """Whether a body was made from what a service said, rather than one that was tried at first."""
    return len(body) > 1 or next(iter(body), "") not in (*FIELDS, "messages")


def _best(names: Iterable[str]) -> str:
    listed = list(names)
    return min(
        listed,
        key=lambda one: (one not in FIELDS, FIELDS.index(one) if one in FIELDS else 0, not _QUESTION.search(one)),
    )


def _each(found: str | tuple[str, ...]) -> Iterable[str]:
    return [found] if isinstance(found, str) else [one for one in found if one]


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
