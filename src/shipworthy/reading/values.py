"""Values: what was found at a mapped place, or in a cell of a table, as the field takes it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from ..text import visible
from .strict import Refused, strict_json

_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "source_id", "source")
_TEXT_KEYS = ("text", "content", "page_content", "snippet")


class MapError(ValueError):
    """A mapped value that the field can't take."""


def convert(value: object, kind: str, field: str, cells: bool = False) -> object:
    """A value as its field takes it; `cells`: a text of a table, where a blank is nothing. None: nothing is there."""
    if cells and isinstance(value, str):
        read_cell = _CELLS.get(kind)
        if read_cell is None:
            return value or None
        return read_cell(value.strip(), field) if value.strip() else None
    read_value = _VALUES.get(kind)
    return read_value(value, field) if read_value else value


def _text(value: object, field: str) -> object:
    """A name may be written as a number; whether a claim is a text is for the contract to say."""
    return str(value) if field in ("qid", "run_id") and type(value) is int else value


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise MapError(f"{field}: expected true or false, found {visible(json.dumps(value, default=str), 40)}")
    return value


def _ids(value: object, field: str) -> list[object] | None:
    return None if _is_blank(value) else [_id(one, field) for one in flat(value)]


def _id(value: object, field: str) -> str:
    if isinstance(value, dict):
        inner = next((value[key] for key in _ID_KEYS if isinstance(value.get(key), (str, int))), None)
        if inner is None:
            keys = visible(", ".join(map(str, value)), 80) or "nothing"
            raise MapError(f"{field}: expected ids, found objects with {keys}; add the key to the path: …[*].KEY")
        value = inner
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise MapError(f"{field}: expected ids, found {visible(json.dumps(value, default=str), 40)}")
    return str(value)


def _texts(value: object, field: str) -> list[object] | None:
    return None if _is_blank(value) else flat(value)


def _is_blank(value: object) -> bool:
    """A text without anything in it, in the place of a list: nothing, as a blank cell is."""
    return isinstance(value, str) and not value.strip()


def _passages(value: object, field: str) -> list[object]:
    """Texts, or objects with an id and a text under one of the usual names."""
    return [_passage(one, place, field) for place, one in enumerate(flat(value), 1)]


def _passage(value: object, place: int, field: str) -> object:
    if not isinstance(value, dict):
        if not isinstance(value, str):
            raise MapError(f"{field}: expected texts, found {visible(json.dumps(value, default=str), 40)}")
        return value
    name = next((value[key] for key in _ID_KEYS if isinstance(value.get(key), (str, int))), place)
    text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)), "")
    return {"id": str(name), "text": text}


def flat(value: object) -> list[object]:
    """A list without lists in it; one value is a list of one."""
    if not isinstance(value, list):
        return [value]
    return [part for one in value for part in (flat(one) if isinstance(one, list) else [one])]


def _number_cell(text: str, field: str) -> object:
    if text.startswith("{"):  # times by stage
        return _json_cell(text, field)
    number = _number(text)
    if number is None:
        raise MapError(f"{field}: expected a number, found {visible(text, 40)!r}")
    return number


def _number(text: str) -> int | float | None:
    """A finite number in plain digits; None where the text is none."""
    if not text.isascii() or "_" in text:
        return None
    try:
        number = int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _amount_cell(text: str, field: str) -> object:
    """A number, or a text such as 5%."""
    number = _number(text)
    return text if number is None else number


def _numbers_cell(text: str, field: str) -> object:
    if text.startswith("["):
        return _json_cell(text, field)
    return [_number_cell(part.strip(), field) for part in text.split(";") if part.strip()]


def _whole_cell(text: str, field: str) -> object:
    return int(text) if text.isascii() and text.lstrip("-").isdigit() and len(text) < 19 else text


def _flag_cell(text: str, field: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise MapError(f"{field}: expected true or false, found {visible(text, 40)!r}")
    return text.lower() == "true"


def _list_cell(text: str, field: str) -> object:
    """A list as JSON, or separated by semicolons."""
    if text.startswith("["):
        return _json_cell(text, field)
    return [part.strip() for part in text.split(";") if part.strip()]


def _ids_cell(text: str, field: str) -> object:
    return _ids(_list_cell(text, field), field)


def json_in_cell(text: str, field: str = "") -> object:
    """The list or object that a cell holds as JSON; else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return _json_cell(text, field)
    except MapError:
        return text


def _json_cell(text: str, field: str) -> object:
    """As strictly read as a line: a repeated key would make readers disagree about its value."""
    try:
        return strict_json(text.encode("utf-8", "surrogatepass"))
    except Refused as refusal:
        raise MapError(f"{field}: expected JSON, found {visible(text, 40)!r}: {refusal.what}") from None


_VALUES: dict[str, Callable[[Any, str], Any]] = {
    "text": _text,
    "flag": _flag,
    "ids": _ids,
    "texts": _texts,
    "passages": _passages,
}
_CELLS: dict[str, Callable[[str, str], Any]] = {
    "flag": _flag_cell,
    "ids": _ids_cell,
    "texts": _list_cell,
    "passages": _list_cell,
    "list": _list_cell,
    "numbers": _numbers_cell,
    "number": _number_cell,
    "amount": _amount_cell,
    "whole": _whole_cell,
    "object": _json_cell,
    "any": json_in_cell,
}


_SCALARS = frozenset((str, int, float, bool))  # looked at here, because a call for each value takes longer


def without_nulls(value: Any) -> Any:
    """The value without its nulls at any depth: a field that is null is absent. Elements of lists stay as they are."""
    if isinstance(value, dict):
        return {
            key: part if type(part) in _SCALARS else without_nulls(part)
            for key, part in value.items()
            if part is not None
        }
    if isinstance(value, list):
        return [part if type(part) in _SCALARS else without_nulls(part) for part in value]
    return value
