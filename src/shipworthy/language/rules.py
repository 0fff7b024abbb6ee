"""The contradiction rules: the bundled tables and a project's additions, checked and made ready for look-up."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from .tables import table
from .words import stem

if TYPE_CHECKING:
    import os

_SIDE = r"[^|=]*\w[^|=]*"
# Each table with the shape of its lines and an example, in the order in which they are applied.
SHAPES = {
    "synonyms": (f"{_SIDE}(?:={_SIDE})+", "sofa = couch"),
    "words": (_SIDE, "solely, exclusively"),
    "bounds": (_SIDE, "at most, up to"),
    "predicates": (rf"{_SIDE}\|{_SIDE}", "accept, allow | reject, deny"),
    "opposites": (rf"{_SIDE}\|{_SIDE}", "warm, hot | cold"),
    "exclusive": (r".*\w.*,.*\w.*", "red, green, blue"),
    "units": (r"(?:[1-9]\d*(?:/[1-9]\d*)?|\d+\.\d*[1-9]\d*) +\S.*", "60 minute, min"),
}
DOES = {"words": ("words",), "bounds": ("bounds",), "predicates": ("yes", "no")}  # what each side of a line does
Line = tuple[str, str, str]  # table, name, text


class Term(NamedTuple):
    """A word or phrase: its stems or the first of its synonyms, and what it does to a statement."""

    name: str
    kind: str = ""  # words, bounds, yes, no; nothing for a word that only says what it is about
    label: str = ""  # the list that it is in


class Rules:
    """Every term by its stems: what it is called, what it does, and which terms can't stand in its place."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.terms: dict[str, Term] = {}
        self.rivals: defaultdict[str, set[str]] = defaultdict(set)
        self.units: dict[str, tuple[str, Fraction]] = {}  # name → dimension and factor
        for kind, label, text in sorted(lines, key=lambda line: list(SHAPES).index(line[0])):
            factor, _, names = text.partition(" ")
            if kind == "units":
                self.units.update((stems, (label, Fraction(factor))) for stems in _listed(names))
            elif kind == "exclusive":
                self._know([[stems] for stems in _listed(text)], kind, label)
            else:
                self._know([_listed(side) for side in re.split("[|=]", text)], kind, label)
        self.longest: dict[str, int] = {}  # first word of a phrase → words in the longest one
        for stems, term in self.terms.items():
            self.terms[stems] = self.terms.get(term.name, term)  # a synonym does what the first of its line does
            first, *rest = stems.split()
            self.longest[first] = max(self.longest.get(first, 1), len(rest) + 1)

    def _know(self, sides: list[list[str]], kind: str, label: str) -> None:
        """Add the terms of a line; no two of different sides can stand in one place, unless they are synonyms."""
        known = {stems: self.terms.get(stems, Term(stems)) for side in sides for stems in side}
        for does, side in zip(DOES.get(kind, ("",) * len(sides)), sides, strict=True):
            self.terms.update((stems, Term(known[stems].name, does, label) if does else known[stems]) for stems in side)
        if kind == "synonyms":
            self.terms.update((stems, term._replace(name=known[sides[0][0]].name)) for stems, term in known.items())
            return
        named = [{known[stems].name for stems in side} for side in sides]
        for names in named if len(named) > 1 else ():
            for name in names:
                self.rivals[name] |= set().union(*named) - names

    def stems_of_names(self, names: Container[str]) -> set[str]:
        """Every term that goes by one of the names."""
        return {stems for stems, term in self.terms.items() if term.name in names}

    def term_at(self, stems: Sequence[str], n: int) -> tuple[int, Term]:
        """The longest term that begins here, and how many words it has."""
        for length in range(self.longest.get(stems[n], 1), 1, -1):
            if term := self.terms.get(" ".join(stems[n : n + length])):
                return min(length, len(stems) - n), term
        return 1, self.terms.get(stems[n]) or Term(stems[n])


def stems_of(text: str) -> str:
    """A word or phrase as its stems."""
    return " ".join(map(stem, text.lower().split()))


def load_rules(extra: Mapping[str, Any] | None = None) -> Rules:
    """The bundled rules, with a project's tables added to them."""
    return Rules([*_lines(table("contradiction")), *_lines(extra)]) if extra else _bundled()


def read_rules(path: str | os.PathLike[str]) -> Rules:
    """The bundled rules with those of a TOML file."""
    import tomllib

    with open(path, "rb") as stream:
        return load_rules(tomllib.load(stream))


@cache
def _bundled() -> Rules:
    return Rules(_lines(table("contradiction")))


def _lines(tables: Mapping[str, Any]) -> Iterator[Line]:
    """Every line of the tables, with its place; a mistake is refused with the place and the right shape."""
    for kind, rows in tables.items():
        _check_name(kind, SHAPES, "table")
        shape, example = SHAPES[kind]
        if not isinstance(rows, Mapping):
            raise _mistake(kind, "is not a table", f"Write [{kind}], and below it a name = ['{example}'].")
        for label, value in rows.items():
            if kind in ("words", "bounds"):
                _check_name(label, table("contradiction")[kind], f"list in [{kind}]")
            for text in value if isinstance(value, list) else [value]:
                if not isinstance(text, str) or not re.fullmatch(shape, text):
                    raise _mistake(f"{kind}.{label}", f"can't be read: {text!r}", f"Write '{example}'.")
                yield kind, label, text


def _check_name(name: str, known: Iterable[str], what: str) -> None:
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."
        raise _mistake(name, f"is not a {what} of the contradiction rules", hint)


def _mistake(where: str, what: str, hint: str) -> UsageError:
    return UsageError(f"{where} {what}", where="contradiction rules", hint=hint, code="contradiction-rule")


def _listed(text: str) -> list[str]:
    return [stems for part in text.split(",") if (stems := stems_of(part))]
