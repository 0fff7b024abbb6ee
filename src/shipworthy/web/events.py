"""Server-sent events: a stream put together to one object and one text, as its parts arrive."""

from __future__ import annotations

import json
from typing import Any

MOST_EVENTS = 100_000  # of one stream that are looked into
_DONE = "[DONE]"
_TEXT_KEYS = ("token", "content", "text")


class EventStream:
    """`text` is all pieces in a row; `body` holds the fields of the JSON events, later ones over earlier ones."""

    def __init__(self) -> None:
        self.body: dict[str, object] = {}
        self._pieces: list[str] = []
        self._rest, self._data = b"", list[str]()
        self._events = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def feed(self, chunk: bytes) -> bool:
        """Take in what arrived; whether there is any text yet."""
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            self._line(line)
        return bool(self._pieces)

    def whole(self) -> dict[str, object]:
        """The stream as one object, once it has ended: its fields, and the text under `text`."""
        self._line(self._rest)
        self._line(b"")
        self._rest = b""
        return {**self.body, "text": self.text}

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
        elif not line and self._data:
            self._event("\n".join(self._data))
            self._data = []

    def _event(self, data: str) -> None:
        self._events += 1
        if data.strip() == _DONE or self._events > MOST_EVENTS:
            return
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            self._pieces.append(data)
            return
        if isinstance(value, dict):
            self._pieces += filter(None, [_piece(value)])
            self.body |= value
        elif isinstance(value, str):
            self._pieces.append(value)
        else:
            self._pieces.append(data)


def _piece(event: dict[str, Any]) -> str:
    """The piece of text that an event adds: an OpenAI or Anthropic delta, or a field that is usually one."""
    choices = event.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        event = {"delta": choices[0].get("delta") or choices[0].get("text")}
    delta = event.get("delta")
    if isinstance(delta, str):
        return delta
    place = delta if isinstance(delta, dict) else event
    return next((place[key] for key in _TEXT_KEYS if isinstance(place.get(key), str)), "")
