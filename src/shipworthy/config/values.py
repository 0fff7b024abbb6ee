"""Values: each key of a config table checked against what it takes; every mistake is kept, with its path."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..core.gates import Gate, check_repeated
from ..errors import UsageError
from .keys import GATE, Key
from .lines import Path


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
