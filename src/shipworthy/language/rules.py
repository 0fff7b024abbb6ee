"""The contradiction rules: the bundled tables and a project's additions, checked and made ready for look-up."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache

from ..errors import UsageError
from .tables import table
from .words import stem

SIDED = ("predicates", "opposites")  # "left, left | right, right"
TABLES = (*SIDED, "exclusive", "synonyms", "words", "bounds", "units")
Tables = dict[str, dict[str, list[str]]]  # table → name → lines


class Rules:
    """Every term by its stems: what it is called, which side of which pair it stands on, what it does to a clause."""

    def __init__(self, tables: Tables) -> None:
        self.names: dict[str, str] = {}  # term → the first of its synonyms
        self.roles: dict[str, tuple[str, str]] = {}  # term → kind and name, such as ("words", "only")
        self.pairs: set[frozenset[str]] = set()  # terms that can't both fill one place
        self.units: dict[str, tuple[str, Fraction]] = {}  # name → dimension and factor
        self.longest: dict[str, int] = {}  # first word of a phrase → words in the longest one
        for line in _lines(tables, "synonyms"):
            first, *others = map(term, line.split("="))
            self.names.update((other, self.names.get(first, first)) for other in others)
        for kind in ("words", "bounds"):
            for name, listed in tables[kind].items():
                self.roles.update((term(word), (kind, name)) for line in listed for word in line.split(","))
        self._sides(tables)
        for name, listed in tables["units"].items():
            for line in listed:
                factor, names = _unit(name, line)
                self.units.update((term(unit), (name, factor)) for unit in names)
        for phrase in [*self.names, *self.roles, *(word for pair in self.pairs for word in pair)]:
            first, *rest = phrase.split()
            if rest:
                self.longest[first] = max(self.longest.get(first, 0), len(rest) + 1)

    def _sides(self, tables: Tables) -> None:
        for kind in SIDED:
            for family, lines in tables[kind].items():
                for line in lines:
                    left, right = ([self.name(word) for word in _split(side)] for side in line.split("|"))
                    self.pairs |= {frozenset((one, other)) for one in left for other in right if one != other}
                    if kind == "predicates":
                        self.roles.update((word, ("yes", family)) for word in left)
                        self.roles.update((word, ("no", family)) for word in right)
        for name, lines in tables["exclusive"].items():
            members = [self.name(member) for line in lines for member in _split(line)]
            if len(members) < 2:
                raise _mistake(f"exclusive.{name}", "names fewer than two members", "Write 'red, green, blue'.")
            self.pairs |= {frozenset((one, other)) for one in members for other in members if one != other}

    def name(self, word: str) -> str:
        return self.names.get(stems := term(word), stems)


def term(text: str) -> str:
    """A word or phrase as its stems."""
    return " ".join(map(stem, text.lower().split()))


def load_rules(extra: Mapping[str, object] | None = None) -> Rules:
    """The bundled rules, with a project's tables added to them."""
    if not extra:
        return _bundled()
    merged = _checked(table("contradiction"))
    for name, rows in _checked(extra).items():
        for row, lines in rows.items():
            merged[name].setdefault(row, []).extend(lines)
    return Rules(merged)


def read_rules(path: str | os.PathLike[str]) -> Rules:
    """The bundled rules with those of a TOML file."""
    import tomllib

    with open(path, "rb") as stream:
        return load_rules(tomllib.load(stream))


@cache
def _bundled() -> Rules:
    return Rules(_checked(table("contradiction")))


def _checked(tables: Mapping[str, object]) -> Tables:
    checked: Tables = {name: {} for name in TABLES}
    for name, rows in tables.items():
        _known(name, TABLES, "table")
        if not isinstance(rows, Mapping):
            raise _mistake(name, "is not a table", f"Write [{name}] with one name per line.")
        for row, lines in rows.items():
            listed = [lines] if isinstance(lines, str) else lines
            if not isinstance(listed, list | tuple) or not all(isinstance(line, str) for line in listed):
                raise _mistake(
                    f"{name}.{row}", "is neither a text nor a list of texts", "Put the terms in quotation marks."
                )
            checked[name][str(row)] = list(listed)
            _check_lines(name, str(row), list(listed))
    return checked


def _check_lines(name: str, row: str, lines: list[str]) -> None:
    where = f"{name}.{row}"
    if name in ("words", "bounds"):
        bundled = table("contradiction")[name]
        assert isinstance(bundled, Mapping)
        _known(row, bundled, f"list in [{name}]")
    for line in lines:
        if not line.strip(" ,|="):
            raise _mistake(where, "has an empty line", "Remove it or name the terms.")
        if name in SIDED and line.count("|") != 1:
            raise _mistake(where, f"'{line}' has not exactly one '|'", "Write 'accept, allow | reject, deny'.")
        if name == "synonyms" and "=" not in line:
            raise _mistake(where, f"'{line}' has no '='", "Write 'sofa = couch'.")
        if name == "units":
            _unit(where, line)


def _known(name: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(names)}."
        raise _mistake(name, f"is no {what} of the contradiction rules", hint)


def _mistake(where: str, what: str, hint: str) -> UsageError:
    return UsageError(f"{where} {what}", where="contradiction rules", hint=hint, code="contradiction-rule")


def _unit(where: str, line: str) -> tuple[Fraction, list[str]]:
    factor, _, names = line.strip().partition(" ")
    try:
        value = Fraction(factor)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value <= 0 or not _split(names):
        raise _mistake(where, f"'{line}' is no unit", "Write the factor and the names: '60 minute, min'.")
    return value, _split(names)


def _lines(tables: Tables, name: str) -> list[str]:
    return [line for lines in tables[name].values() for line in lines]


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
