"""Quick lines: most lines of a log have the same keys, and then one typed decode a line is enough.

The keys of one line are learnt, and the lines that follow are decoded with all of them required. A block that has as
many colons as required keys then has each of them once and no other: none is repeated, misspelt or nested. Whatever
does not fit is read in the ordinary way. So this decides how long reading takes, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from .keys import Keys

_PLAIN = str | bool | int | float | list[str | bool | int | float | None] | None
MISSES = 4  # blocks in a row of other shapes, after which there is nothing to gain from trying


class Shape:
    """Lines with the keys of one line that was read in the ordinary way."""

    def __init__(self, keys: int, decode: Callable[[bytes], Any]) -> None:
        self._keys, self._decode = keys, decode

    def read(self, text: bytes, lines: list[bytes]) -> list[Any] | None:
        """The records of lines that have this shape, each key once; None where one has not, or may have not."""
        keys = self._keys * len(lines)
        if text.count(b":") != keys and (text.count(b'":') != keys or _parted(text)):
            return None
        try:
            return list(map(self._decode, lines))
        except (ValueError, RecursionError):
            return None


def _parted(text: bytes) -> bool:
    """Whether a colon may stand apart from its key, where counting would miss it; hardly any writer does that."""
    return any(sign in text and b'"' + sign + b":" in text for sign in (b"\t", b"\r", b" "))


def learn(value: Mapping[str, Any], record: type[Any], keys: Keys | None) -> Shape | None:
    """The shape of an object that was accepted as a record; None where it nests, or where a key is in doubt."""
    if not issubclass(record, msgspec.Struct) or (keys is not None and keys.suspect([dict(value)])):
        return None
    required = _required(value, record)
    if required is None:
        return None
    nested = sum(len(part) for part in value.values() if isinstance(part, dict))
    return Shape(len(value) + nested, msgspec.json.Decoder(required).decode)


def _required(value: Mapping[str, Any], record: type[msgspec.Struct]) -> type[Any] | None:
    """The record's type with every key of the object required; it is pickled as the record itself."""
    hints, fields = get_type_hints(record), []
    named = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
    for key, part in value.items():
        if named.get(key, key) != key or not key.isidentifier() or key.startswith("__"):
            return None  # written under another name than the field has
        kind = _kind(part, hints[key]) if key in named else _PLAIN
        if kind is None:
            return None
        fields.append((key, kind))
    try:
        return msgspec.defstruct(
            record.__name__, fields, bases=(record,), kw_only=True, namespace={"__reduce__": _as_record}
        )
    except (TypeError, ValueError):  # a key that can't be a field
        return None


def _kind(part: Any, hint: Any) -> Any:
    """A field's type where the object has it; None where what it takes can hide something from counting."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if isinstance(part, dict):
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)), None)
        return None if inner is None or any(isinstance(one, dict) for one in part.values()) else _required(part, inner)
    if isinstance(part, list) and any(str in _elements(kind) for kind in kinds):
        return list[str]  # objects in the list would not be counted; a line that has some is read in the ordinary way
    return None if "Any" in str(hint) else hint


def _elements(kind: Any) -> tuple[Any, ...]:
    """What the elements of a list may be."""
    inner = get_args(kind)[0] if get_origin(kind) is list else None
    return get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)


def _as_record(self: msgspec.Struct) -> tuple[Any, ...]:
    record: Any = type(self).__mro__[1]
    return record, tuple(getattr(self, name) for name in record.__struct_fields__)
