"""The canonical JSON report, and JSON that can be printed: readable text, nothing hidden, no orders to a CI system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ..core.board import Board
from ..core.decision import Decision, body_of, encode, in_json, item_batches, joined
from ..core.decision import digest_of as decision_digest
from ..core.rows import TOGETHER, batched
from ..reading.reports import digest

# A CI system that reads its log would obey `##[`, `##vso[` and `##teamcity[`; escaped, the value is the same.
_COMMAND = re.compile(r"##(?=\w*\[)")
# Characters that are not seen and may change how others are: C1 controls, bidi and other format characters, line
# separators, fillers, tags, non-characters. Fixed here, not asked of `unicodedata`: each Python has another Unicode.
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
    + "]"
)


_UNSEEN = bytes(
    (*range(0x7F, 0xA0), 0xAD)
)  # of these the letters of western Europe; JSON escapes lower controls itself


def pieces(shown: Decision | Board) -> Iterator[bytes]:
    """The report bit by bit, so that a million items are never in memory at once."""
    yield from _decision(shown) if isinstance(shown, Decision) else _board(shown)
    yield b"\n"


def digest_of(shown: Decision | Board) -> str:
    """The digest that the report has."""
    if isinstance(shown, Decision):
        return decision_digest(shown)
    suites = {decision.suite: {"digest": decision_digest(decision)} for decision in shown.decisions}
    return digest(shown.body() | {"suites": suites})


def _board(board: Board) -> Iterator[bytes]:
    members = _dumped(board.body() | {"digest": digest_of(board), "run": board.run})
    members["suites"] = _members({decision.suite: _decision(decision) for decision in board.decisions})
    return _members(members)


def _decision(decision: Decision) -> Iterator[bytes]:
    members = _dumped(body_of(decision)) | {"items": _items(decision)}
    return _members(members | _dumped({"digest": decision_digest(decision), "run": decision.run}))


def _dumped(values: Mapping[str, object]) -> dict[str, Iterable[bytes]]:
    return {key: _value(value) for key, value in values.items()}


def _value(value: Any) -> Iterable[bytes]:
    """A long list or table, or one that holds such, in pieces."""
    if isinstance(value, list) and len(value) > TOGETHER:
        return joined((_inside(in_json(some)) for some in batched(value, TOGETHER)), b"[", b",", b"\n]")
    if isinstance(value, dict) and len(value) > TOGETHER:
        return joined((_inside(in_json(dict(some))) for some in batched(value.items(), TOGETHER)), b"{", b",", b"\n}")
    if isinstance(value, dict) and any(
        isinstance(each, (list, dict)) and len(each) > TOGETHER for each in value.values()
    ):
        return _members(_dumped(value))
    return (dumps(value),)


def _items(decision: Decision) -> Iterator[bytes]:
    return joined(map(_inside, item_batches(decision)), b"[", b",", b"\n]")


def _inside(batch: bytes) -> bytes:
    """What an array or an object holds, as `dumps` has it."""
    return dumped(batch)[1:-2]


def _members(members: Mapping[str, Iterable[bytes]]) -> Iterator[bytes]:
    """An object as `dumps` has it, whose values come in pieces."""
    for number, (key, value) in enumerate(members.items()):
        yield (b"," if number else b"{") + _BREAK + dumps(key) + b": "
        yield from map(_deeper, value)
    yield b"\n}" if members else b"{}"


_BREAK = b"\n  "


def _deeper(data: bytes) -> bytes:
    """JSON moved to the right; a string in JSON has no line breaks of its own."""
    return data.replace(b"\n", _BREAK)


def dumps(value: object, indent: int | None = 2) -> bytes:
    """JSON as bytes. Hidden characters are escaped, which leaves every value, and so a report's digest, as it is."""
    return _printable(encode(value, indent=indent))


def dumped(data: bytes) -> bytes:
    """The same of a value that is JSON already, without fractions."""
    try:
        return _printable(msgspec.json.format(data, indent=2))
    except msgspec.DecodeError:  # half of a surrogate pair
        import json

        return dumps(json.loads(data))


def _printable(data: bytes) -> bytes:
    if data.isascii() and b"\x7f" not in data and b"##" not in data:  # as nearly all reports are, and some are large
        return data
    text = data.decode("utf-8")
    return data if _is_plain_latin(text) else printable(text).encode("utf-8")


def _is_plain_latin(text: str) -> bool:
    """A quick look at all lines: letters of western Europe, none of which is hidden or part of an order."""
    try:
        letters = text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return b"##" not in letters and len(letters.translate(None, _UNSEEN)) == len(letters)


def printable(text: str) -> str:
    """JSON text of the same value with nothing hidden in it, and nothing that a CI system would obey."""
    return "\n".join(line if _is_harmless(line) else _made_plain(line) for line in text.split("\n"))


def _is_harmless(line: str) -> bool:
    """A quick look, line by line: a report of a million items has a few lines that need a second one."""
    return line.isascii() and "\x7f" not in line and "##" not in line


def _made_plain(line: str) -> str:
    return _COMMAND.sub(r"\\u0023#", _HIDDEN.sub(_escaped, line))


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")  # two for a character beyond U+FFFF, as JSON wants it
    return "".join(f"\\u{units[place] << 8 | units[place + 1]:04x}" for place in range(0, len(units), 2))
