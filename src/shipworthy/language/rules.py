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

_SIDES = r"[^|]*\w[^|]*\|[^|]*\w[^|]*"
# Each table with the shape of its lines and an example, in the order in which they are applied.
SHAPES = {
    "synonyms": (r".*\w.*=.*\w.*", "sofa = couch"),
    "words": (r".*\w.*", "solely, exclusively"),
    "bounds": (r".*\w.*", "at most, up to"),
    "predicates": (_SIDES, "accept, allow | reject, deny"),
    "opposites": (_SIDES, "warm, hot | cold"),
    "exclusive": (r".*\w.*,.*\w.*", "red, green, blue"),
    "units": (r"(?:[1-9]\d*(?:/[1-9]\d*)?|\d+\.\d*[1-9]\d*) +\S.*", "60 minute, min"),
}
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
        self.longest: dict[str, int] = {}  # first word of a phrase → words in the longest one
        order = list(SHAPES)
        for kind, label, text in sorted(lines, key=lambda line: order.index(line[0])):
            self._read(kind, label, text)
        for stems, term in self.terms.items():  # a synonym does what the first of its line does
            self.terms[stems] = self.terms.get(term.name, term)

    def _read(self, kind: str, label: str, text: str) -> None:
        if kind == "units":
            factor, _, names = text.partition(" ")
            self.units.update((stems_of(name), (label, Fraction(factor))) for name in _split(names))
        elif kind == "synonyms":
            first, *others = text.split("=")
            self._know([first, *others], Term(self._name(first)))
        elif kind in ("words", "bounds"):
            self._know(_split(text), Term("", kind, label))
        elif kind == "exclusive":
            self._exclude([[word] for word in _split(text)])
        else:
            yes, no = map(_split, text.split("|"))
            if kind == "predicates":
                self._know(yes, Term("", "yes", label))
                self._know(no, Term("", "no", label))
            self._exclude([yes, no])

    def _exclude(self, sides: Sequence[Sequence[str]]) -> None:
        """No two words of different sides can stand in one place."""
        for side in sides:
            self._know(side, Term(""))
        named = [set(map(self._name, side)) for side in sides]
        for names in named:
            for name in names:
                self.rivals[name] |= set().union(*named) - names

    def _know(self, words: Iterable[str], term: Term) -> None:
        """Add the words, with what is new about them."""
        for word in words:
            stems = stems_of(word)
            known = self.terms.get(stems, Term(stems))
            self.terms[stems] = Term(term.name or known.name, term.kind or known.kind, term.label or known.label)
            first, *rest = stems.split()
            self.longest[first] = max(self.longest.get(first, 1), len(rest) + 1)

    def _name(self, word: str) -> str:
        return self.terms.get(stems := stems_of(word), Term(stems)).name

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


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
