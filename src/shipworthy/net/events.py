"""Streams: server-sent events, JSON lines and lines with a prefix, put together to one object as their parts arrive."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

MOST_EVENTS = 100_000  # of one stream
KEPT_EVENTS = 2_000  # that `body` lists, of those that hold more than a piece of the text
_DONE = "[DONE]"
_TEXT_KEYS = ("content", "text", "token", "delta", "answer", "response")  # break ties between fields that vary
_KINDS = re.compile(r"(^|_)(type|event|kind|object)$|[a-z](Type|Event|Kind)$")
_ASIDE = re.compile(r"reason|think|thought|tool|argument|partial_json|(^|[._])(id|uuid|created\w*|time\w*|ts)$", re.I)
_TAGGED = re.compile(r"\[([A-Z][A-Z_]{2,30})\][ \t]+(?=\S)")  # [SOURCE] {…}: what the data is, before it
_BYTES = re.compile(
    r"""b'(?:[ -&(-\[\]-~]|\\[\\'nrt]|\\x[0-9a-f]{2})*'|b"(?:[ -!#-\[\]-~]|\\[\\nrt]|\\x[0-9a-f]{2})*\""""
)
_PREFIXED = re.compile(r'([0-9a-z]{1,2}):(?=["\[{])')
_DEEPEST = 6

_Place = tuple[str, str]  # the kind of event, and the path within it
_BARE: _Place = ("", "")  # data that is a text and nothing else


class _Piece(NamedTuple):
    event: int  # which of them it is from
    place: _Place
    text: str
    when: float


class EventStream:
    """`text` is the pieces of the field that varies; `body` holds the fields of the JSON events, put together.

    `framed`: the response says itself where it ends, so that reaching its end means that all of it came. Of two fields
    at one path the later one counts, but nothing empty takes the place of something.
    """

    def __init__(self, framed: bool = True) -> None:
        self.body: dict[str, Any] = {}
        self.lacking = ""  # why it is not whole, once it has ended
        self._framed, self._ended = framed, False
        self._pieces: list[_Piece] = []
        self._listed: list[tuple[int, dict[str, Any]]] = []
        self._rest, self._data, self._name = b"", list[str](), ""
        self._now = 0.0
        self._events = self._strays = 0

    @property
    def text(self) -> str:
        return _joined([piece.text for piece in self._told()])

    @property
    def since(self) -> float | None:
        """When the first piece of the text came."""
        return min((piece.when for piece in self._told()), default=None)

    @property
    def is_one(self) -> bool:
        """Whether what came is a stream at all: events, and nothing but events."""
        return self._events > 0 and not self._strays

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take in what arrived, and when."""
        self._now = now
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            self._line(line)

    def whole(self) -> dict[str, object]:
        """The stream as one object, once it has ended: its fields, the text under `text`, and `events`."""
        unfinished = bool(self._rest or self._data)
        self._line(self._rest)
        last = "\n".join(self._data)
        self._line(b"")
        self._rest = b""
        if self._events > MOST_EVENTS:
            self.lacking = f"the stream has more than {MOST_EVENTS:,} events"
        elif unfinished and ((not self._framed and not self._ended) or _is_broken(last)):
            self.lacking = "the stream ended in the middle of an event"
        elif not self._framed and not self._ended and "choices" in self.body:
            self.lacking = "the stream ended without its last event"
        told = {piece.event for piece in self._told()}
        kinds = _kinds_by_form(self._pieces)
        events = [
            {"event": kinds[number], **event} if number in kinds else event
            for number, event in self._listed
            if number not in told
        ][:KEPT_EVENTS]
        return {**self.body, "text": self.text, **({"events": events} if len(events) > 1 else {})}

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")
        elif not line.strip():
            if self._data:
                self._event("\n".join(self._data), self._name)
            self._data, self._name = [], ""
        elif not line.startswith((b":", b"id:", b"retry:")):
            self._bare(line.decode("utf-8", "replace").strip())

    def _bare(self, line: str) -> None:
        """A line that is an event by itself: JSON, or JSON after a short prefix."""
        prefix = _PREFIXED.match(line)
        try:
            json.loads(line[prefix.end() :] if prefix else line)
        except (ValueError, RecursionError):
            self._strays += 1
            return
        self._event(line[prefix.end() :] if prefix else line, prefix[1] if prefix else "")

    def _event(self, data: str, name: str) -> None:
        self._events += 1
        if data.strip() == _DONE or self._events > MOST_EVENTS:
            self._ended = True
            return
        if _BYTES.fullmatch(data):  # a Python service that forgot to decode what it sends
            data = ast.literal_eval(data).decode("utf-8", "replace")
        if tagged := _TAGGED.match(data):
            data, name = data[tagged.end() :], tagged[1]
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = data
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, dict):
            value = {field: _inside(part) for field, part in value.items()}
            kind = _kind(value) or name
            for path, text in _texts(value):
                self._piece((kind, path), text)
            self.body = _merged(self.body, value)
            self._list(value if _kind(value) or not name else {"event": name, **value})
            self._ended = self._ended or _is_last(value)
        elif isinstance(value, str):
            self._piece((name, ""), value)
            if name:
                self._list({"event": name, "data": value})
        elif isinstance(value, list):
            self.body = _merged(self.body, {name or "items": value})
        else:
            self._piece(("", ""), data)

    def _list(self, event: dict[str, Any]) -> None:
        if len(self._listed) < MOST_EVENTS // 10:
            self._listed.append((self._events, event))

    def _piece(self, place: _Place, text: str) -> None:
        if text:
            self._pieces.append(_Piece(self._events, place, text, self._now))

    def _told(self) -> list[_Piece]:
        """The pieces of the text."""
        pieces = self._pieces
        if kinds := _kinds_by_form(pieces):  # what each event is, under a name that does not say so
            pieces = [one._replace(place=(kinds.get(one.event, ""), one.place[1])) for one in pieces]
        places = self._places(pieces)
        return [one for one in pieces if one.place in places]

    @staticmethod
    def _places(pieces: list[_Piece]) -> set[_Place]:
        """Where the text is: the field that varies between events, and data that is nothing but text."""
        series: dict[_Place, list[str]] = {}
        for piece in pieces:
            series.setdefault(piece.place, []).append(piece.text)
        bare = series.pop(_BARE, [])
        best = max(series, key=lambda place: _variation(place, series[place]), default=_BARE)
        if best == _BARE or not any(_variation(best, series[best])):
            return {_BARE} if bare else set()
        if bare and ("".join(bare) in "".join(series[best]) or len(bare) > 2 * len(series[best])):
            return {_BARE}
        return {_BARE, best} if bare else {best}


def _kinds_by_form(pieces: list[_Piece]) -> dict[int, str]:
    """Event → what it is, by a field that every event has: a word of few, or any word where another field has prose."""
    series: dict[str, list[_Piece]] = {}
    for piece in pieces:
        series.setdefault(piece.place[1], []).append(piece)
    for path, found in series.items() if not any(piece.place[0] for piece in pieces) else ():
        words = {piece.text for piece in found}
        most = max(len(others) for others in series.values())
        few = len(words) <= len(found) / 2 or (
            path.rpartition(".")[2] not in _TEXT_KEYS and _prose_beside(path, series)
        )
        if path and len(words) > 1 and few and len(found) == most and all(map(str.isidentifier, words)):
            return {piece.event: piece.text for piece in found}
    return {}


def _prose_beside(path: str, series: dict[str, list[_Piece]]) -> bool:
    if path.rpartition(".")[2] in _TEXT_KEYS:
        return False
    others = ("".join(piece.text for piece in found) for place, found in series.items() if place != path)
    return any(re.search(r"\s|[.!?。]$", text) for text in others)


def _variation(place: _Place, pieces: list[str]) -> tuple[int, int]:
    """How much like the text of an answer a field is: by its number of pieces; names break ties."""
    kind, path = place
    key = path.rpartition(".")[2]
    usual = not path or any(step in _TEXT_KEYS for step in re.split(r"[.\[\]\d]+", path))
    constant = len(pieces) > 1 and len(set(pieces)) == 1
    if (
        constant
        or _KINDS.search(key)
        or (path and (_ASIDE.search(path) or _ASIDE.search(kind)))
        or (len(pieces) == 1 and not usual)
    ):
        return 0, 0
    named = len(_TEXT_KEYS) - _TEXT_KEYS.index(key) if key in _TEXT_KEYS else 0
    return len(pieces) * (3 if usual else 1), named


def _joined(pieces: list[str]) -> str:
    """The pieces in a row; the last of them where each, or it alone, repeats the ones before it."""
    if len(pieces) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(pieces)):
        return pieces[-1] if len(set(pieces)) > 1 else "".join(pieces)
    growing = pieces[-3:]  # after something else, such as the question
    if len(set(growing)) == 3 and all(
        len(earlier) > 3 and later.startswith(earlier) for earlier, later in pairwise(growing)
    ):
        return pieces[-1]
    before = "".join(pieces[:-1])
    return before if len(pieces) > 2 and pieces[-1].strip() == before.strip() else "".join(pieces)


def _inside(value: Any) -> Any:
    """An object that was sent as a text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            pass
    return value


def _kind(event: dict[str, Any]) -> str:
    """What an event says that it is, at the top or one level down."""
    for holder in (event, *(part for part in event.values() if isinstance(part, dict))):
        for key, value in holder.items():
            if isinstance(value, str) and _KINDS.search(key):
                return value
    return ""


def _texts(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text of an event by its path; of a list only a single element can be a piece."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, part in value.items():
            yield from _texts(part, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and len(value) == 1 and depth < _DEEPEST:
        yield from _texts(value[0], f"{path}[0]", depth + 1)


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old[name], part) if name in old else part for name, part in new.items()}}
    if new in (None, "", [], {}) or (isinstance(old, (dict, list)) and old and not isinstance(new, (dict, list))):
        return old if old is not None else new
    return new


def _is_broken(data: str) -> bool:
    """Whether it begins as an object, and is none."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return data.lstrip().startswith("{")
    return False


def _is_last(event: dict[str, Any]) -> bool:
    """Whether it is the event by which an OpenAI or Anthropic stream says that it is done."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    return bool(first.get("finish_reason")) or event.get("type") == "message_stop"
