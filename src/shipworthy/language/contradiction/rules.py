"""The contradiction rules: the bundled tables and the user's additions, checked and made ready for look-up."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from ...errors import UsageError
from .stems import Stemmer

CODE = "contradiction-rule"
SIDED = ("predicates", "opposites", "kinds")  # "left | right"
NAMED = ("exclusive", "alternatives", "synonyms")  # "one, two = second name"
LISTED = ("words", "bounds")
TABLES = (*LISTED, "lemmas", *SIDED, *NAMED, "units")

Tables = dict[str, dict[str, list[str]]]  # table → name → lines
Pairs = set[tuple[str, str]]
Groups = dict[str, dict[str, str]]  # term → group → the member it names


@dataclass
class Rules:
    """Every table with its terms as stems, so that a look-up is one dictionary access."""

    stemmer: Stemmer
    words: dict[str, frozenset[str]] = field(default_factory=dict)
    bounds: dict[str, frozenset[str]] = field(default_factory=dict)
    affirming: dict[str, str] = field(default_factory=dict)  # term → family
    denying: dict[str, str] = field(default_factory=dict)
    opposites: Pairs = field(default_factory=set)
    kinds: Pairs = field(default_factory=set)  # (narrower, broader)
    groups: Groups = field(default_factory=dict)
    alternatives: Groups = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # term → the first of its synonyms
    units: dict[str, tuple[str, Fraction]] = field(default_factory=dict)  # name → dimension, factor
    grammar: frozenset[str] = frozenset()  # every word that carries no subject matter
    phrases: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)  # first word → phrases

    def canonical(self, term: str) -> str:
        return self.names.get(term, term)

    def is_kind(self, narrow: str, broad: str) -> bool:
        """Whether what is said of the broad term is said of the narrow one too."""
        return self.canonical(narrow) == self.canonical(broad) or (narrow, broad) in self.kinds

    def exclusive(self, left: str, right: str) -> bool:
        """Whether the two terms can't both fill one slot."""
        if self.is_kind(left, right) or self.is_kind(right, left):
            return False
        return (left, right) in self.opposites or _rivals(self.groups, left, right)

    def rivals(self, left: str, right: str) -> bool:
        """Whether the terms are two choices for one slot, which may exclude each other or not."""
        return self.exclusive(left, right) or _rivals(self.alternatives, left, right)


def _rivals(groups: Groups, left: str, right: str) -> bool:
    there = groups.get(right, {})
    shared = any(group in there and there[group] != name for group, name in groups.get(left, {}).items())
    return shared and not _holds(left, right)


def _holds(left: str, right: str) -> bool:
    """Whether one term is the other with a word before it, as an acoustic guitar is a guitar."""
    return f" {left}".endswith(f" {right}") or f" {right}".endswith(f" {left}")


def load_rules(extra: Mapping[str, object] | None = None) -> Rules:
    """The bundled rules, with the user's tables added to them."""
    if not extra:
        return _bundled_rules()
    return _compile(_merge(_bundled_tables(), _checked(extra)))


def read_rules(path: str | os.PathLike[str]) -> Rules:
    """The bundled rules with those of a TOML file."""
    import tomllib

    with open(path, "rb") as stream:
        return load_rules(tomllib.load(stream))


@cache
def _bundled_rules() -> Rules:
    return _compile(_bundled_tables())


def _bundled_tables() -> Tables:
    return _checked(_file())


@cache
def _file() -> dict[str, Mapping[str, object]]:
    # Imported here: reading the rules is needed only once a constraint is compared.
    import tomllib

    folder = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(folder, "data", "contradiction.toml"), "rb") as stream:
        return tomllib.load(stream)


def _checked(tables: Mapping[str, object]) -> Tables:
    checked: Tables = {}
    for table, rows in tables.items():
        _check_name(table, TABLES, "table")
        if not isinstance(rows, Mapping):
            raise _mistake(table, "is not a table", f"Write [{table}] with one name per line.")
        checked[table] = {str(name): _lines(f"{table}.{name}", lines) for name, lines in rows.items()}
        for name, lines in checked[table].items():
            _check_lines(table, name, lines)
    return checked


def _lines(where: str, lines: object) -> list[str]:
    if isinstance(lines, str):
        return [lines]
    if isinstance(lines, list | tuple) and all(isinstance(line, str) for line in lines):
        return list(lines)
    raise _mistake(where, "is neither a text nor a list of texts", "Put the terms in quotation marks.")


def _check_lines(table: str, name: str, lines: list[str]) -> None:
    if table in LISTED:
        _check_name(name, _file()[table], f"list in [{table}]")
    for line in lines:
        where = f"{table}.{name}"
        if table in SIDED and line.count("|") != 1:
            raise _mistake(where, f"'{line}' has not exactly one '|'", "Write 'accept, allow | reject, deny'.")
        if table == "synonyms" and "=" not in line:
            raise _mistake(where, f"'{line}' has no '='", "Write 'sofa = couch'.")
        if table == "units":
            _unit(where, line)
        if not line.strip(" ,|="):
            raise _mistake(where, "has an empty line", "Remove it or name the terms.")


def _check_name(name: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(names)}."
    raise _mistake(name, f"is no {what} of the contradiction rules", hint)


def _mistake(where: str, what: str, hint: str) -> UsageError:
    return UsageError(f"{where} {what}", where="contradiction rules", hint=hint, code=CODE)


def _unit(where: str, line: str) -> tuple[Fraction, list[str]]:
    factor, _, names = line.strip().partition(" ")
    try:
        value = Fraction(factor)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value <= 0 or not _split(names):
        raise _mistake(where, f"'{line}' is no unit", "Write the factor and the names: '60 minute, min'.")
    return value, _split(names)


def _merge(base: Tables, extra: Tables) -> Tables:
    merged = {table: {name: list(lines) for name, lines in rows.items()} for table, rows in base.items()}
    for table, rows in extra.items():
        for name, lines in rows.items():
            merged.setdefault(table, {}).setdefault(name, []).extend(lines)
    return merged


def _split(text: str, mark: str = ",") -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _compile(tables: Tables) -> Rules:
    forms = {form: lemma for lemma, lines in tables["lemmas"].items() for line in lines for form in _split(line)}
    rules = Rules(Stemmer(forms))
    term = rules.stemmer.term
    for kind in LISTED:
        lists = {name: frozenset(map(term, lines)) for name, lines in tables[kind].items()}
        setattr(rules, kind, lists)
    _compile_names(tables, rules)
    _compile_sides(tables, rules)
    for dimension, lines in tables["units"].items():
        for line in lines:
            factor, names = _unit(dimension, line)
            for name in names:
                for form in (name.casefold(), term(name)):
                    rules.units.setdefault(form, (dimension, factor))
    grammar = [names for kind, names in rules.words.items() if kind not in ("generic", "samples", "possible", "saying")]
    rules.grammar = frozenset().union(*grammar, *rules.bounds.values(), rules.affirming, rules.denying)
    _compile_phrases(rules)
    return rules


def _compile_sides(tables: Tables, rules: Rules) -> None:
    term = rules.stemmer.term
    rows = [(table, family, line) for table in SIDED for family, lines in tables[table].items() for line in lines]
    for table, family, line in rows:
        left, right = ([term(name) for name in _split(side)] for side in line.split("|"))
        if table == "predicates":
            rules.affirming.update(dict.fromkeys(left, family))
            rules.denying.update(dict.fromkeys(right, family))
        pairs = {(one, other) for one in left for other in right}
        if table == "kinds":
            rules.kinds |= pairs | {(rules.canonical(one), rules.canonical(other)) for one, other in pairs}
        else:
            rules.opposites |= pairs | {(other, one) for one, other in pairs}


def _compile_names(tables: Tables, rules: Rules) -> None:
    term = rules.stemmer.term
    for table, groups in (("exclusive", rules.groups), ("alternatives", rules.alternatives)):
        for group, lines in tables[table].items():
            _compile_group(f"{table}.{group}", group, lines, groups, term)
    for lines in tables["synonyms"].values():
        for line in lines:
            names = [term(name) for name in _split(line, "=")]
            first = rules.names.get(names[0], names[0])
            for name in names:
                rules.names.setdefault(name, first)


def _compile_group(where: str, group: str, lines: list[str], groups: Groups, term: Callable[[str], str]) -> None:
    members = [member for line in lines for member in _split(line)]
    if len(members) < 2:
        raise _mistake(where, "names fewer than two members", "Write 'red, green, blue'.")
    for member in members:
        names = [term(name) for name in _split(member, "=")]
        for name in names:
            groups.setdefault(name, {})[group] = names[0]


def _compile_phrases(rules: Rules) -> None:
    terms: set[str] = {*rules.groups, *rules.alternatives, *rules.names, *rules.affirming, *rules.denying}
    terms.update(name for pair in rules.opposites | rules.kinds for name in pair)
    for lists in (rules.words, rules.bounds):
        terms.update(name for names in lists.values() for name in names)
    for name in terms:
        words = tuple(name.split())
        if len(words) > 1:
            rules.phrases.setdefault(words[0], set()).add(words)
