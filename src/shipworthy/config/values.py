"""Values: each key of a config table checked against what it takes; every mistake is kept, with its path."""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..core.custom import parse_metric
from ..core.gates import Gate, check_repeated
from ..errors import UsageError
from ..text import visible
from .keys import CALIBRATED, GATE, METRIC, Key

Path = tuple[str | int, ...]


class Mistake(NamedTuple):
    """One thing wrong with a config file: where in it, what, what next."""

    path: Path
    what: str
    hint: str
    code: str


MOST = 10**15  # of a whole number; a longer one is a slip, and Python would not even print the longest

_EXPECTED = {
    "text": "a text",
    "path": "a path",
    "flag": "true or false",
    "whole": "a whole number of at least 0",
    "number": "a number of at least 0",
    "real": "a number",
    "numbers": "a whole number or a list of them",
    "words": "a list of texts",
    "texts": "a table of texts",
    "gates": "a list of gates",
    "template": "JSON text or a table",
    "day": "a date such as 2026-12-31",
}


def check_table(table: object, keys: Mapping[str, Key], path: Path, mistakes: list[Mistake]) -> dict[str, Any]:
    """The values of a table that are right; what is not goes to `mistakes`."""
    if not isinstance(table, dict):
        mistakes.append(Mistake(path, f"expected a table, found {named(table)}", "", "config-type"))
        return {}
    found = {}
    for name, value in table.items():
        if name not in keys:
            mistakes.append(unknown((*path, name), name, keys))
        elif fits(value, keys[name]):
            found[name] = value
        else:
            mistakes.append(_misfit((*path, name), value, keys[name]))
    for name, key in keys.items():
        if key.required and name not in table:
            mistakes.append(
                Mistake(
                    path, f"{name} is missing: {key.says[0].lower()}{key.says[1:]}", f"Add {name} = …", "config-missing"
                )
            )
    return found


def fits(value: object, key: Key) -> bool:
    """Whether a value is of the kind that the key takes."""
    if key.kind in ("text", "path"):
        return isinstance(value, str) and (not key.choices or value in key.choices)
    if key.kind == "flag":
        return isinstance(value, bool)
    if key.kind == "whole":
        return _whole(value, key.least)
    if key.kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST
    if key.kind == "real":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST
    if key.kind == "numbers":
        listed = value if isinstance(value, list) else [value]
        return bool(listed) and all(_whole(one, key.least) for one in listed)
    if key.kind == "texts":
        return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    if key.kind == "template":
        return isinstance(value, (str, dict, list))
    if key.kind == "day":
        return day_of(value) is not None
    return isinstance(value, list) and (key.kind == "gates" or all(isinstance(word, str) for word in value))


def day_of(value: object) -> datetime.date | None:
    """A TOML date, or a text that is one."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def check_gates(
    entries: Iterable[object], path: Path, mistakes: list[Mistake], key: Callable[[Gate], str]
) -> tuple[list[str], list[Gate]]:
    """Gates as texts for the suite, and those with a policy of their own as objects; `key` is what a gate is about."""
    gates: dict[str, Gate] = {}
    policies = []
    for index, entry in enumerate(entries):
        where = (*path, index)
        given = {"gate": entry} if isinstance(entry, str) else check_table(entry, GATE, where, mistakes)
        text = given.pop("gate", None)
        if not isinstance(text, str):
            continue
        try:
            gate = Gate.parse(text, **given)
            check_repeated([*gates.values(), gate], key)
        except UsageError as error:
            mistakes.append(Mistake(where, error.what, error.hint, error.code))
            continue
        gates[str(gate)] = gate
        if given:
            policies.append(gate)
    return list(gates), policies


def unknown(path: Path, name: str, known: Iterable[str]) -> Mistake:
    """A key that is not there, with the one that was probably meant."""
    names = list(known)
    near = get_close_matches(name, names, 1, 0.6)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."
    return Mistake(path, f"there is no key {name!r} here", hint, "config-key")


def named(value: object) -> str:
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or a time")


def _misfit(path: Path, value: object, key: Key) -> Mistake:
    if key.choices and isinstance(value, str):
        near = get_close_matches(value, key.choices, 1, 0.5)
        hint = f"Did you mean {near[0]}?" if near else ""
        return Mistake(path, f"expected one of {', '.join(key.choices)}, found {value!r}", hint, "config-value")
    if key.kind == "whole" and _whole(value, -MOST):
        return Mistake(path, f"expected a whole number of at least {key.least}, found {value}", "", "config-value")
    return Mistake(path, f"expected {_EXPECTED[key.kind]}, found {named(value)}", "", "config-type")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST


# --- the tables [metrics.NAME], checked key by key and then as a whole ---


def check_metrics(table: object, folder: str, mistakes: list[Mistake]) -> dict[str, dict[str, object]]:
    """The metrics by name, with the paths of the file as they are to be opened."""
    if not isinstance(table, dict):
        mistakes.append(Mistake(("metrics",), "expected tables [metrics.NAME]", "", "config-type"))
        return {}
    return {name: _checked(name, given, folder, mistakes) for name, given in table.items()}


def _checked(name: str, given: object, folder: str, mistakes: list[Mistake]) -> dict[str, object]:
    path, before = ("metrics", name), len(mistakes)
    plain = {key: value for key, value in given.items() if key != "calibration"} if isinstance(given, dict) else given
    words = plain.get("equals") if isinstance(plain, dict) else None
    if isinstance(words, str):
        plain = {**plain, "equals": [words]}  # type: ignore[dict-item]  # a table: it has equals
    values = check_table(plain, METRIC, path, mistakes)
    if isinstance(given, dict) and "calibration" in given:
        bar = check_table(given["calibration"], CALIBRATED, (*path, "calibration"), mistakes)
        if "labels" in bar:
            bar["labels"] = os.path.normpath(os.path.join(folder, bar["labels"]))
        values["calibration"] = bar
    if "py" in values:
        values["folder"] = os.path.abspath(folder)
    if len(mistakes) == before:
        try:
            parse_metric(name, values)
        except UsageError as error:
            mistakes.append(Mistake(path, error.what, error.hint, error.code))
    return values


def read_metrics(path: str) -> dict[str, dict[str, object]]:
    """The metrics of a TOML file, such as a config, whose other tables are left alone."""
    where = visible(path)
    try:
        with open(path, "rb") as stream:
            table = tomllib.load(stream)
    except FileNotFoundError:
        raise UsageError("no such file", where=where, hint="Check the path.", code="no-file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"is not TOML: {visible(str(error), 200)}", where=where, code="config-syntax") from None
    mistakes: list[Mistake] = []
    found = check_metrics(table.get("metrics", {}), os.path.dirname(path) or ".", mistakes)
    if mistakes:
        first = mistakes[0]
        raise UsageError(
            f"{'.'.join(map(str, first.path))}: {first.what}", where=where, hint=first.hint, code=first.code
        )
    if not found:
        raise UsageError("has no table [metrics.NAME]", where=where, code="metric-definition")
    return found


# --- where in a TOML text a key stands, which the standard library's parser does not tell ---

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_WORD = re.compile(_PART)


def line_of(text: str, path: Path) -> int:
    """The line of the key at `path`, or of the nearest table or key above it that the text names."""
    places = dict(_places(text.splitlines()))
    for length in range(len(path), 0, -1):
        if found := places.get(path[:length]):
            return _within(text.splitlines(), found, path[length:])
    return 1


def _places(lines: list[str]) -> Iterator[tuple[Path, int]]:
    """Each key and table header with its line, the later ones first to be overwritten by the earlier."""
    found: dict[Path, int] = {}
    table: Path = ()
    repeats: dict[Path, int] = {}
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                repeats[table] = repeats.get(table, -1) + 1
                found.setdefault(table, number)
                table = (*table, repeats[table])
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], number)
        elif key := _KEY.match(line):
            parts = _parts(key[1])
            for length in range(1, len(parts) + 1):
                found.setdefault((*table, *parts[:length]), number)
    yield from found.items()


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _WORD.findall(dotted))


def _within(lines: list[str], start: int, rest: Path) -> int:
    """Further down in an array or an inline table: the element's line by counting, the key's by its name."""
    line = start
    for step in rest:
        if isinstance(step, int):
            line = _element(lines, line, step)
        else:
            named = re.compile(rf"(?<![\w-]){re.escape(step)}\s*=")
            line = next((number for number in range(line, len(lines) + 1) if named.search(lines[number - 1])), line)
    return line


def _element(lines: list[str], start: int, index: int) -> int:
    """The line of an array's element, by counting commas outside of quotes and inner brackets."""
    depth, seen, quote = 0, 0, ""
    for number in range(start, len(lines) + 1):
        line = lines[number - 1]
        column = line.index("=") + 1 if number == start and "=" in line else 0
        while column < len(line):
            char = line[column]
            if quote:
                column += 1 if char == "\\" and quote == '"' else 0
                quote = "" if char == quote else quote
            elif char == "#":
                break
            elif char == "," and depth == 1:
                seen += 1
            else:
                if depth == 1 and seen == index and not char.isspace():
                    return number
                quote = char if char in "\"'" else ""
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(char, 0)
            column += 1
    return start
