"""Glossary: what the name of a metric, or of a reason for a failing item, means in words.

The terminal (`-v`), `shipworthy explain`, the sentences about gates and docs/glossary.md are all made from it.
"""

from __future__ import annotations

import re

import msgspec

from .terms import REASONS, TERMS, Reason, Term, beside

__all__ = ["REASONS", "TERMS", "Reason", "Term", "beside", "find_reason", "find_term", "find_terms", "names"]

_BY_NAME: dict[str, list[Term]] = {}
for _term in TERMS:
    _BY_NAME.setdefault(_term.metric, []).append(_term)
_PATTERNS = (
    (r"(?P<stem>.+@|pass\^|P_)(?P<k>\d+)", r"\g<stem>k"),
    (r"p(?P<k>\d+)", "pN"),
    (r"(?P<name>\w+)_p(?P<k>\d+)", "STAGE_pN"),
    (r"(?P<name>\w+)_failing", "NAME_failing"),
    (r"mean_(?P<name>\w+)", "mean_NAME"),
)


def find_term(metric: str, suite: str = "") -> Term | None:
    """The term of a metric, `recall@5` by way of `recall@k`; of several suites' the one that was asked for."""
    if metric in _BY_NAME:
        return _of_suite(_BY_NAME[metric], suite)
    for pattern, general in _PATTERNS:
        if (matched := re.fullmatch(pattern, metric)) and (terms := _BY_NAME.get(matched.expand(general))):
            return _filled_in(_of_suite(terms, suite), metric, matched.groupdict())
    return None


def find_reason(name: str, suite: str = "") -> Reason | None:
    """What a reason for a failing item means, by its short or its plain name; `suite` breaks a tie."""
    found = [reason for reason in REASONS if name in (reason.name, reason.plain)]
    return next((reason for reason in found if suite in reason.suites), found[0] if found else None)


def find_terms(metric: str) -> list[Term]:
    """Every meaning of a metric's short or plain name, one for each suite that defines it."""
    found = find_term(metric)
    if found is None:
        return [term for term in TERMS if term.plain == metric]
    name = next(general for general in [metric, *_generals(metric)] if general in _BY_NAME)
    return [term for own in _BY_NAME[name] if (term := find_term(metric, own.suites[0]))]


def _generals(metric: str) -> list[str]:
    return [matched.expand(general) for pattern, general in _PATTERNS if (matched := re.fullmatch(pattern, metric))]


def _of_suite(terms: list[Term], suite: str) -> Term:
    return next((term for term in terms if suite in term.suites), terms[0])


def _filled_in(term: Term, metric: str, parts: dict[str, str]) -> Term:
    """The term with its number and name in place: `the first 5`, `average citation overlap`."""

    def fill(text: str) -> str:
        text = re.sub(r"\bk\b|\bN(?=th\b|\b)", parts["k"], text) if "k" in parts else text
        text = re.sub(r"\b1 runs\b", "1 run", text)
        return re.sub(r"\b(?:NAME|STAGE)\b", name, text) if name else text

    name = parts.get("name", "")
    inner = find_term(name, term.suites[0])  # `css` in words: `citation-set stability`
    name = inner.plain if inner else name

    return msgspec.structs.replace(
        term,
        metric=metric,
        plain=fill(term.plain),
        definition=fill(term.definition),
        formula=fill(term.formula),
        among=fill(term.among),
        did=fill(term.did),
    )


def names() -> list[str]:
    """Every name that has a term, for suggestions."""
    return [*_BY_NAME, *(reason.name for reason in REASONS)]
