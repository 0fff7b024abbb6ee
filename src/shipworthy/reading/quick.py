"""Quick lines: most lines of a log have the same keys, and then one typed decode a line is enough.

The keys of one line are learnt, and the lines that follow are decoded with all of them required. A block that has as
many colons as required keys, besides those in the texts that were decoded, then has each of them once and no other:
none is repeated, misspelt or nested. Whatever does not fit is read in the ordinary way. So this decides how long
reading takes, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, repeat
from operator import attrgetter
from types import UnionType
from typing import Any, Protocol, TypeGuard, Union, get_args, get_origin, get_type_hints

import msgspec

from .keys import Keys

_PLAIN = str | bool | int | float | list[str | bool | int | float | None] | None
MISSES = 4  # consecutive blocks of other shapes before giving up


class Shape:
    """The keys and types of a line, by which similar lines are decoded."""

    def __init__(self, kind: type[object], learnt: tuple[Mapping[str, object], type[object]]) -> None:
        self._learnt = learnt
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
        leaves = list(_leaves(learnt[0]))
        nested = sum(isinstance(part, dict) for part in learnt[0].values())
        self._keys = len(leaves) + nested
        self.planned = "sweep_id" in learnt[0]  # whether its lines are runs of a plan
        self._leaves = [attrgetter(leaf) for leaf in leaves]  # those whose texts had colons come first

    def read(self, text: bytes, lines: list[bytes]) -> list[Any] | None:
        """The records, if every line has this shape and no duplicate key; None if not, or if in doubt."""
        more = text.count(b":") - self._keys * len(lines)
        try:
            records = list(map(self.decode, lines)) if more >= 0 else []
            return records if more == 0 or (more > 0 and self._in_texts(more, text, records)) else None
        except (ValueError, RecursionError, TypeError):  # the last: a value that JSON has no form for, in doubt too
            return None

    def _in_texts(self, colons: int, text: bytes, records: list[Any]) -> bool:
        """Whether the values account for this many colons. The colons of a duplicate key are in no value."""
        # An escaped colon would be in a value but not in the text. Searching backwards stops only at backslashes.
        if b"\\" in text and text.rfind(b"\\u003") >= 0:
            return False
        for leaf in tuple(self._leaves):
            if found := _colons(list(map(leaf, records))):
                self._leaves.remove(leaf)
                self._leaves.insert(0, leaf)
                colons -= found
                if colons <= 0:
                    return True
        return False

    def __reduce__(self) -> tuple[object, ...]:
        value, record = self._learnt
        return _learnt_again, (msgspec.json.encode(value), record)


def _colons(values: list[Any]) -> int:
    """How many colons the values contain as JSON."""
    try:
        return "".join(values).count(":")
    except TypeError:  # not all of them are texts
        return _encode(values).count(b":")


def _leaves(value: Mapping[str, object]) -> Iterator[str]:
    """The attribute paths of an object's values."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from (f"{key}.{inner}" for inner in part)
        else:
            yield key


_encode = msgspec.json.Encoder().encode


def learn(value: Mapping[str, object], record: type[object], keys: Keys | None) -> Shape | None:
    """The shape of an accepted object; None if it nests too deep, or if a key is suspicious."""
    if not issubclass(record, msgspec.Struct) or (keys is not None and keys.suspect([dict(value)])):
        return None
    stricter = vars(record)["__lean__"](value) if "__lean__" in vars(record) else None
    required = _required(value, record) if stricter is None else _lean(value, record, stricter)
    if required is None:
        return None
    return Shape(required, (value, record))


@lru_cache
def _learnt_again(value: bytes, record: type[object]) -> Shape | None:
    """A shape in another process."""
    return learn(msgspec.json.decode(value), record, None)


class Lines:
    """Checked lines of one shape, with their names; records are decoded on demand."""

    def __init__(
        self,
        first: int,
        lines: list[bytes],
        names: list[str],
        shape: Shape,
        records: list[Any] | None = None,
        size: int = 0,
    ) -> None:
        self.first, self.names, self.size = first, names, size
        self._lines, self._shape, self._records = lines, shape, records

    def join(self, following: Lines) -> Lines:
        """These lines, with those that follow them and have the same shape."""
        self.names += following.names
        self._lines += following._lines
        self.size += following.size
        return self

    @property
    def records(self) -> list[Any]:
        """The records, decoded now unless they were kept while checking."""
        return list(map(self._shape.decode, self._lines)) if self._records is None else self._records

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return zip(count(self.first), map(self._shape.decode, self._lines), strict=False)

    def latest(self) -> dict[str, tuple[int, bytes, Shape]]:
        """The last line of each name, with its position and its decoder."""
        places = dict(zip(self.names, range(len(self.names)), strict=True))
        return {name: (self.first + place, self._lines[place], self._shape) for name, place in places.items()}

    def packed(self) -> Iterator[tuple[int, bytes, Shape]]:
        """The same for every line."""
        return zip(count(self.first), self._lines, repeat(self._shape), strict=False)

    def moved(self, by: int) -> Lines:
        """The same lines at later positions."""
        return Lines(self.first + by, self._lines, self.names, self._shape) if by else self


class Decodes(Protocol):
    """Decodes bytes into a record."""

    @property
    def decode(self) -> Callable[[bytes], Any]: ...


class Checked(Protocol):
    """A batch of checked records that are decoded on demand."""

    first: int
    names: list[str]

    @property
    def records(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[tuple[int, Any]]: ...
    def latest(self) -> Mapping[str, tuple[int, bytes, Decodes]]: ...
    def packed(self) -> Iterator[tuple[int, bytes, Decodes]]: ...
    def moved(self, by: int) -> Checked: ...


def is_checked(batch: object) -> TypeGuard[Checked]:
    return hasattr(batch, "latest")


def _required(value: Mapping[str, object], record: type[msgspec.Struct]) -> type[object] | None:
    """The record's type with every key of the object required; it is pickled as the record itself."""
    fields = _fields(value, record)
    return None if fields is None else _defined(record, fields, bases=(record,), namespace=_pickled(record))


def _lean(
    value: Mapping[str, object], record: type[msgspec.Struct], stricter: Mapping[str, object]
) -> type[object] | None:
    """A type with the object's keys alone, all required, that looks like the record, and is pickled as one.

    What is absent is an attribute of the type, so that it takes neither time nor room. The types in `stricter` say
    what the record's own check would say.
    """
    fields = _fields(value, record)
    if fields is None:
        return None
    if any(len(field) > 2 for field in fields):
        return None
    present = dict(fields) | {name: kind for name, kind in stricter.items() if name in value}
    ordered = sorted(present, key=list(record.__struct_fields__).index) if _only_own(present, record) else present
    looks = _looks(record, present) | {"__defaults__": _written_defaults(record, present)}
    return _defined(record, [(name, present[name]) for name in ordered], namespace=looks, gc=False)


def _only_own(names: Collection[str], record: type[msgspec.Struct]) -> bool:
    return set(names) <= set(record.__struct_fields__)


def _written_defaults(record: type[msgspec.Struct], present: Collection[str]) -> tuple[bytes, ...] | None:
    """How JSON has a field with its default value, which the record leaves out; None where it has other fields."""
    if not _only_own(present, record):
        return None
    defaults = _defaults(record)
    written = {name: value for name, value in defaults.items() if name in present and value is not msgspec.UNSET}
    return tuple(msgspec.json.encode({name: value})[1:-1] for name, value in written.items())


def _defaults(record: type[msgspec.Struct]) -> dict[str, Any]:
    """The values of fields that are absent; a list or a table among them is shared, and nobody changes it."""
    pairs = zip(record.__struct_fields__, record.__struct_defaults__, strict=True)
    made = {name: default.factory() if hasattr(default, "factory") else default for name, default in pairs}
    return {name: value for name, value in made.items() if value is not msgspec.NODEFAULT}


def lean_type(record: type[msgspec.Struct], names: Sequence[str]) -> type[Any]:
    """A type that looks like the record and has these of its fields alone; it can be made of their values in order."""
    hints, defaults = get_type_hints(record), _defaults(record)
    fields = [(name, hints[name], *([defaults[name]] if name in defaults else [])) for name in names]
    return msgspec.defstruct(record.__name__, fields, namespace=_looks(record, names), gc=False)


def _looks(record: type[msgspec.Struct], present: Collection[str]) -> dict[str, object]:
    """What makes a type look like the record that has only these fields."""
    absent = {name: default for name, default in _defaults(record).items() if name not in present}
    own = {name: part for name, part in vars(record).items() if isinstance(part, property)}
    return absent | own | _pickled(record)


def _fields(value: Mapping[str, object], record: type[msgspec.Struct]) -> list[tuple[Any, ...]] | None:
    """The object's keys with their types; None where one can't be a field, or can hide something from counting."""
    hints, fields = get_type_hints(record), []
    named = dict(zip(record.__struct_encode_fields__, record.__struct_fields__, strict=True))
    for key, part in value.items():
        name = named.get(key, key)
        if not key.isidentifier() or key.startswith("__") or (name != key and not hasattr(record, key)):
            return None  # written under another name than the field has, and not to be had under that either
        kind = _kind(part, hints[name]) if key in named else _PLAIN
        if kind is None:
            return None
        fields.append((name, kind) if name == key else (name, kind, msgspec.field(name=key)))
    return fields


def _defined(record: type[msgspec.Struct], fields: list[tuple[Any, ...]], **how: Any) -> type[Any] | None:
    try:
        return msgspec.defstruct(record.__name__, fields, **{"kw_only": True} | how)
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


def _elements(kind: object) -> tuple[object, ...]:
    """What the elements of a list may be."""
    inner = get_args(kind)[0] if get_origin(kind) is list else None
    return get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)


def _pickled(record: type[msgspec.Struct]) -> dict[str, object]:
    values = attrgetter(*record.__struct_fields__)
    return {"__reduce__": lambda self: (record, values(self)), "__full__": lambda self: record(*values(self))}


def full(record: object) -> object:
    """The record in its own type, whatever it was decoded as."""
    return record.__full__() if hasattr(record, "__full__") else record
