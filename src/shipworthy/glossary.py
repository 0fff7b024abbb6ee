"""Glossary: what the name of a metric, or of a reason for a failing item, means. The words are the suites' own.

`shipworthy explain`, docs/glossary.md and what reports say of reasons are made from it. A suite is loaded when it is
asked about; of all of them only where nobody says whose a name is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import msgspec

from .core.metrics import Words
from .suites import SUITES, load_suite

_NUMBERS, _PART = ("k", "N"), r"\{(\w+)\}"


class Term(msgspec.Struct, frozen=True):
    """A name, the suites that mean the same by it, and what that is."""

    name: str
    suites: tuple[str, ...]
    words: Words

    @property
    def title(self) -> str:
        """The plain name with the short one: `cited right (chr)`."""
        return self.words.title(self.name)


@cache
def _metrics(suite: str) -> Mapping[str, Words]:
    """The words of a suite's metrics, and of other values that it shows."""
    if suite not in SUITES:
        return {}
    loaded = load_suite(suite)
    measured = {name: metric.words for name, metric in loaded.metrics(loaded.options()).items()}
    return {name: words for name, words in (measured | dict(loaded.terms())).items() if words.definition}


def _reasons(suite: str) -> Mapping[str, Words]:
    return load_suite(suite).display.reasons if suite in SUITES else {}


def terms() -> list[Term]:
    """Every metric once, under the name of its family where it has one: `recall@k`."""
    return _together(
        (re.sub(_PART, r"\1", words.family) or name, suite, _general(words.general or words))
        for suite in SUITES
        for name, words in _metrics(suite).items()
    )


def _general(words: Words) -> Words:
    """The words of a family with the names of its parts in their places: `the first k`."""
    return words.fill(**{part: part for part in re.findall(_PART, words.family)}) if words.family else words


def reasons() -> list[Term]:
    """Every reason for a failing item."""
    return _together((name, suite, words) for suite in SUITES for name, words in _reasons(suite).items())


def _together(found: Iterable[tuple[str, str, Words]]) -> list[Term]:
    suites: dict[tuple[str, Words], list[str]] = {}
    for name, suite, words in found:
        of_term = suites.setdefault((name, words), [])
        of_term += [suite] if suite not in of_term else []
    return [Term(name, tuple(of_term), words) for (name, words), of_term in suites.items()]


def find_term(metric: str, suite: str) -> Term | None:
    """What a suite means by a metric's name; `recall@7` by way of its family."""
    words = _metrics(suite).get(metric) or _of_family(metric, suite)
    return Term(metric, (suite,), words) if words else None


def metric_title(metric: str, suite: str) -> str:
    """`cited right (chr)`; a metric that has no other words stays as it is."""
    term = find_term(metric, suite)
    return term.title if term else metric


def find_terms(metric: str) -> list[Term]:
    """Every meaning of a metric's short or plain name."""
    exact = {suite: words for suite in SUITES if (words := _metrics(suite).get(metric))}
    found = exact or {suite: words for suite in SUITES if (words := _of_family(metric, suite))}
    named = [term for term in terms() if metric in (term.name, term.words.plain)]
    return _together((metric, suite, words) for suite, words in found.items()) or named


def _of_family(metric: str, suite: str) -> Words | None:
    for words in _metrics(suite).values():
        pattern = re.sub(_PART, _pattern, re.sub(r"([@^])", r"\\\1", words.family))
        if words.general and (matched := re.fullmatch(pattern, metric)):
            parts = {part: _plain(text, suite) for part, text in matched.groupdict().items()}
            return words.general.fill(**parts)
    return None


def _pattern(part: re.Match[str]) -> str:
    return f"(?P<{part[1]}>{'[0-9]+' if part[1] in _NUMBERS else '[a-z_0-9]+'})"


def _plain(name: str, suite: str) -> str:
    """`css` in words: `citation-set stability`."""
    words = _metrics(suite).get(name)
    return words.plain if words else name


def find_reasons(name: str) -> list[Term]:
    """Every meaning of a reason's short or plain name."""
    return [term for term in reasons() if name in (term.name, term.words.plain)]


def names() -> Iterator[str]:
    """Every name that has a meaning, for suggestions."""
    return (term.name for term in (*terms(), *reasons()))
