"""Strict JSON: the definition of what is accepted. No repeated keys, finite numbers, bounded depth, UTF-8."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from ..text import visible
from .limits import MAX_DEPTH, MAX_DIGITS

if TYPE_CHECKING:
    import json


Record = TypeVar("Record")


class Refused(ValueError):
    """Why a text is not accepted."""

    def __init__(self, what: str, code: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.code, self.hint = what, code, hint


def strict_object(line: bytes) -> dict[str, object]:
    """The definition of an acceptable line: one JSON object, strictly read."""
    value = strict_json(line)
    if not isinstance(value, dict):
        raise Refused(f"expected a JSON object, found {kind(value)}", "not-object", 'One object a line: {"qid": …}.')
    return cast(dict[str, Any], value)


def strict_json(data: bytes, *, nonfinite_is_null: bool = False) -> Any:
    """One JSON value of any kind, strictly read; `Refused` says what is wrong with it.

    Exports of other tools may hold NaN for a number that is not there: `nonfinite_is_null`.
    """
    import json

    text = _decoded(data)
    try:
        value = json.loads(
            text,
            object_pairs_hook=no_repeats,
            parse_constant=_null if nonfinite_is_null else _no_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except json.JSONDecodeError as error:
        raise Refused(*_syntax(text, error)) from None
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise _too_deep()
    return value


def as_record(value: Any, record: type[Record]) -> Record:
    """The value as a record of the given type; `Refused` says which field is wrong."""
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        raise Refused(field_first(str(error)), "type") from None
    except UnicodeEncodeError:  # texts may have half a surrogate pair; where a key or a fixed word stands, none may
        raise Refused("a key has half of a surrogate pair in it", "encoding", "Write the key as UTF-8.") from None


def _decoded(data: bytes) -> str:
    if b"\x00" in data:
        raise Refused(*_nul(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "It looks like UTF-16: save it as UTF-8." if utf16 else "Save the file as UTF-8."
        what = f"not UTF-8: byte 0x{data[error.start]:02x} at column {error.start + 1}"
        raise Refused(what, "encoding", hint) from None


def _too_deep() -> Refused:
    return Refused(f"nested deeper than {MAX_DEPTH} levels", "too-deep")


def _deeper(value: object, most: int) -> bool:
    """Whether arrays and objects stand in each other deeper than `most`, level by level."""
    level = [value]
    for _ in range(most):
        parts = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [part for part in chain.from_iterable(parts) if isinstance(part, (dict, list))]
        if not level:
            return False
    return True


def kind(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        (str, "a string"),
        ((int, float), "a number"),
        (list, "an array"),
        (dict, "an object"),
    )
    for types, name in names:
        if isinstance(value, types):
            return name
    return "null"


def no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """For `object_pairs_hook` of the standard library's parser, which would keep the last of two silently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                what = f"the key {visible(repr(key), 80)} occurs twice in one object"
                raise Refused(what, "repeated-key", "Keep one of the two.")
            seen.add(key)
    return found


def _no_constant(name: str) -> object:
    raise Refused(f"{name} is not a number in JSON", "nonfinite", "Write null, or leave the field out.")


def _null(_name: str) -> None:
    return None


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Refused(f"the number {visible(digits, 40)} is out of range", "nonfinite", "")
    return number


def _bounded(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise Refused(f"an integer of {len(digits.lstrip('-'))} digits", "json", "Write it as a string.")
    return int(digits)


def _nul(line: bytes) -> tuple[str, str, str]:
    if line[:2] in (b"\xff\xfe", b"\xfe\xff") or line[1:2] == b"\x00" != line[:1]:
        return "not UTF-8: it looks like UTF-16", "encoding", "Save the file as UTF-8."
    return f"a NUL byte at column {line.index(0) + 1}", "nul", "The file was damaged: write it again."


def _syntax(text: str, error: json.JSONDecodeError) -> tuple[str, str, str]:
    # A reader that stops at the very end met a line that was cut off, usually by a crash of the writer.
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return f"the line is cut off at column {len(text)}", "truncated", "Finish the line, or remove it."
    found = visible(text[error.pos : error.pos + 20])
    return f"not JSON: {error.msg.lower()} at column {error.pos + 1}: {found}", "json", "One JSON object a line."


def field_first(message: str) -> str:
    """msgspec's "Expected `str`, got `int` - at `$.a.b`" as "a.b: expected str, got int"."""
    what, _, place = message.partition(" - at `$")
    what = what.replace("`", "").replace(" | null", "")
    what = what[:1].lower() + what[1:]
    field = place.rstrip("`").lstrip(".")
    return f"{field}: {what}" if field else what
