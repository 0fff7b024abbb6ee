"""Contradiction: does a claim say the opposite of a locked constraint? Decided by rules, without a model.

    constraint, claim → sentences and clauses → terms → negation | duty | only | opposites | amounts

It favours precision: two statements are compared only where one is about all that the other is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ..text import fold
from .clauses import cues, parts
from .rules import Rules, load_rules, read_rules
from .sentences import sentences
from .spelling import spelled
from .words import Token, is_content, stem, tokens

__all__ = ["Contradiction", "Rules", "contradicts", "load_rules", "read_rules"]

LOCKED = 50  # sentences of one constraint
COMPARED = 200  # sentences of one claim that share a word with the constraint
_REPLY = re.compile(r"^(?:no|yes)\s*[,;:.!-]\s*")  # "No, it can't": the reply to a question denies nothing that follows
_PRICE = re.compile(r"([$€£])(\d+(?:\.\d+)?)")
_WORD = re.compile(r"[^\W\d_]+")
_WHOLE = re.compile(r"\d+(?:\.\d+)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
LONGEST = 60  # terms of a statement; what is longer is no statement
MONTHS = ("in", "of", "since", "until", "by", "this", "last", "next", "every", "late", "early", "mid")


class Contradiction(NamedTuple):
    """The two sentences that can't both hold, and why."""

    constraint: str
    claim: str
    why: str


class Amount(NamedTuple):
    """A number as the range that it allows, what it counts, and how it reads."""

    dimension: str
    bound: str
    low: Fraction | float
    high: Fraction | float
    text: str


class Statement(NamedTuple):
    """A sentence or clause: what it is about, and everything that gives it a direction."""

    content: frozenset[str]
    negative: bool
    least: int  # words that a denial must share with it; 0 for a sentence of several clauses, one of which is denied
    roles: dict[str, str]  # must, optional, possible, only, any, conditions → the term that follows
    predicates: dict[str, str]  # family → the word that says yes or no
    cases: frozenset[str]  # words that narrow it to a case: if, unless, after
    amounts: list[Amount]
    years: frozenset[str]


def contradicts(constraint: str, claim: str, rules: Rules | None = None) -> Contradiction | None:
    """The first contradiction between a constraint and a claim, or None."""
    rules = rules or load_rules()
    locked = _locked(constraint, rules)
    matter = {word for _, listed in locked for each in listed for term in each.content for word in term.split()}
    repeated = {fold(text) for text, _ in locked}
    compared = 0
    for sentence in sentences(claim):
        words = map(stem, _WORD.findall(sentence.text[: 20 * LONGEST].lower()))
        if matter.isdisjoint(rules.names.get(word, word) for word in words) or fold(sentence.text) in repeated:
            continue
        compared += 1
        for said in _statements(sentence.text, rules) if compared <= COMPARED else ():
            for text, listed in locked:
                why = next((why for statement in listed if (why := _why(statement, said, rules))), None)
                if why:
                    return Contradiction(text, sentence.text, why)
    return None


@lru_cache(maxsize=1024)
def _locked(constraint: str, rules: Rules) -> list[tuple[str, list[Statement]]]:
    spans = sentences(constraint)[:LOCKED]
    return [(span.text, _statements(span.text, rules)) for span in spans]


def _why(one: Statement, other: Statement, rules: Rules) -> str | None:
    shared = one.content & other.content
    if not shared or not _same_case(one.cases, other.cases):
        return None
    if one.years and other.years and one.years.isdisjoint(other.years):
        return None
    checks = (_negation, _duty, _only, _opposite, _amount)
    return next((why for check in checks if (why := check(one, other, rules))), None)


def _same_case(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether both speak of the same case; a time such as "after 90 days" is none beside a statement without one."""
    return one == other or (not (one and other) and all(case.endswith("#") for case in one | other))


# --- the five ways to say the opposite ---


def _negation(one: Statement, other: Statement, rules: Rules) -> str | None:
    """One denies what the other says: all that the denial is about is in the statement."""
    if one.negative == other.negative:
        return None
    denial, statement = (one, other) if one.negative else (other, one)
    spare = denial.predicates.keys() if "possible" in statement.roles else ()
    shared = len(one.content & other.content)
    enough = shared >= max(one.least, other.least) and one.least and other.least
    if denial.content.difference(statement.content, spare) or not set(denial.amounts) <= set(statement.amounts):
        return None
    if not (enough or (one.content == other.content and shared > 1)):
        return None
    if _pair(one, other, rules):
        return None
    said = {(one.predicates[name], other.predicates[name]) for name in one.predicates.keys() & other.predicates.keys()}
    return next((f"{left} ↔ {right}" for left, right in sorted(said) if left != right), "negation")


def _duty(one: Statement, other: Statement, rules: Rules) -> str | None:
    """What must be is optional for the other."""
    duties = [
        next((name for name in ("optional", "must", "possible") if name in each.roles), "") for each in (one, other)
    ]
    if one.negative or other.negative or "must" not in duties or duties[0] == duties[1] or "" in duties:
        return None
    alike = _same(one.content, other.content) and set(one.amounts) == set(other.amounts)
    return "must ↔ optional" if alike else None


def _only(one: Statement, other: Statement, rules: Rules) -> str | None:
    """Only one may, and another one does."""
    if ("only" in one.roles) == ("only" in other.roles) or one.negative or other.negative:
        return None
    strict, wide = (one, other) if "only" in one.roles else (other, one)
    chosen = strict.roles["only"]
    rest = strict.content - {chosen}
    if chosen in wide.content or len(rest) < 2 or not rest <= wide.content:
        return None
    another = sorted(wide.content - strict.content)
    rival = "any" if "any" in wide.roles else next(iter(another), "")
    return f"only {chosen} ↔ {rival}" if rival else None


def _opposite(one: Statement, other: Statement, rules: Rules) -> str | None:
    """The same said with an opposite word in one place."""
    pair = _pair(one, other, rules)
    if pair is None or one.negative != other.negative:
        return None
    return f"{pair[0]} ↔ {pair[1]}" if _same(one.content - {pair[0]}, other.content - {pair[1]}) else None


def _pair(one: Statement, other: Statement, rules: Rules) -> tuple[str, str] | None:
    mine, theirs = one.content - other.content, other.content - one.content
    pairs = ((left, right) for left in sorted(mine) for right in sorted(theirs))
    return next((pair for pair in pairs if frozenset(pair) in rules.pairs), None)


def _amount(one: Statement, other: Statement, rules: Rules) -> str | None:
    """The same said with an amount that the other does not allow."""
    shared = len(one.content & other.content)
    alike = (shared > 1 or one.content == other.content) and ("optional" in one.roles) == ("optional" in other.roles)
    if one.negative != other.negative or not alike or not _same(one.content, other.content):
        return None
    for amount in one.amounts:
        rivals = [rival for rival in other.amounts if rival.dimension == amount.dimension]
        alone = len(rivals) == 1 and sum(each.dimension == amount.dimension for each in one.amounts) == 1
        if alone and _clash(amount, rivals[0]):
            return f"{amount.text} ↔ {rivals[0].text}"
    return None


def _clash(one: Amount, other: Amount) -> bool:
    """Whether the second amount lies outside of the first, or is a wider limit of the same kind."""
    if one.bound == other.bound and one.bound:
        return one.high < other.high or other.low < one.low
    return one.high < other.low or other.high < one.low


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one is about all that the other is about, and not about much more."""
    small, large = sorted((one, other), key=len)
    return bool(small) and small <= large and len(large) <= len(small) + 2


# --- reading a sentence ---


def _statements(text: str, rules: Rules) -> list[Statement]:
    """The sentence as a whole, and each of its clauses where it has several."""
    text = _PRICE.sub(r"\2 dollar ", _REPLY.sub("", spelled(text)).replace("%", " percent"))
    found = tokens(text)[: 2 * LONGEST]
    listed = [part for part in parts(text, found) if len(part) > 1]
    if len(listed) < 2:
        return [_statement(found, 2, rules)]
    whole = _statement(found, 0, rules)
    return [whole, *(_statement(part, 3, rules)._replace(cases=whole.cases) for part in listed)]


def _statement(found: Sequence[Token], least: int, rules: Rules) -> Statement:
    content: list[str] = []
    roles: dict[str, str] = {}
    predicates: dict[str, str] = {}
    cases: set[str] = set()
    amounts: list[Amount] = []
    negative = False
    waiting = ""  # a role whose term is the next word of content
    stems = [stem(token.norm) for token in found]
    denied = dict(cues(found))
    bound, n = "", 0
    while n < len(found):
        length, name, role = _term(stems, n, rules)
        kind, label = role
        if kind == "bounds":
            bound = "" if label.startswith("after_") else label
        elif kind == "words" and label in ("conditions", "exceptions"):
            cases.add(f"{name} #" if n + 1 < len(found) and found[n + 1].number else name)
        elif kind == "words" and label not in ("negators", "idle") and not _is_month(found, n):
            roles.setdefault(label, "")
            waiting = label
        elif kind in ("yes", "no"):
            negative ^= kind == "no"
            content.append(label)
            predicates[label] = found[n].text
        elif label == "negators" or (n in denied and kind != "words"):
            negative = not negative
            length = max(length, denied.get(n, n + 1) - n)
        elif found[n].number is not None:
            amount, length = _amount_at(found, stems, n, bound, rules)
            amounts += [amount] if amount else []
            bound = ""
        elif length > 1 or is_content(found[n]):
            content.append(name)
            if waiting and not roles[waiting]:
                roles[waiting] = name
        n += length
    years = frozenset(token.norm for token in found if token.number and _YEAR.fullmatch(token.norm))
    return Statement(frozenset(content), negative, least, roles, predicates, frozenset(cases), amounts, years)


def _term(stems: list[str], n: int, rules: Rules) -> tuple[int, str, tuple[str, str]]:
    """The longest term of the tables that begins here: its length, its name, and what it does."""
    for length in range(rules.longest.get(stems[n], 1), 0, -1):
        words = " ".join(stems[n : n + length])
        name = rules.names.get(words, words)
        if length == 1 or name != words or words in rules.roles or words in _phrases(rules):
            return length, name, rules.roles.get(name, ("", ""))
    return 1, stems[n], ("", "")


@lru_cache(maxsize=8)
def _phrases(rules: Rules) -> frozenset[str]:
    return frozenset(word for pair in rules.pairs for word in pair if " " in word)


def _is_month(found: Sequence[Token], n: int) -> bool:
    """Whether "may" is the month: a number beside it, or a word before it that goes with a date."""
    if found[n].norm != "may":
        return False
    beside = [found[k] for k in (n - 1, n + 1) if 0 <= k < len(found)]
    return any(token.number for token in beside) or (n > 0 and found[n - 1].norm in MONTHS)


def _range_end(found: Sequence[Token], n: int) -> int:
    """Where a range such as "3 to 5 days" ends; 0 where the number is none."""
    for k in (n + 1, n + 2):
        if k < len(found) and _WHOLE.fullmatch(found[k].number or ""):
            return k if k == n + 1 or found[n + 1].norm in ("to", "and") else 0
    return 0


def _amount_at(found: Sequence[Token], stems: list[str], n: int, bound: str, rules: Rules) -> tuple[Amount | None, int]:
    """The amount that a number begins, with its unit and its bound, and how many words that takes."""
    first = n
    try:
        value = Fraction(found[n].number or "")
    except ValueError:  # a version such as 1.2.3
        return None, 1
    top = _range_end(found, n)
    n = top or n
    counted = n + 1 < len(stems) and is_content(found[n + 1]) and found[n + 1].number is None
    unit = stems[n + 1] if counted else ""
    dimension, factor = rules.units.get(unit, (unit, Fraction(1)))
    kind, after = rules.roles.get(" ".join(stems[n + 2 : n + 4]), ("", ""))
    kind = bound or (after.removeprefix("after_") if kind == "bounds" else "")
    if kind == "about" or not unit:
        return None, n - first + 1
    value *= factor
    low = value if kind not in ("at_most", "below") else -inf
    high = value if kind not in ("at_least", "above") else inf
    high = Fraction(found[top].number or "0") * factor if top else high
    text = f"{kind.replace('_', ' ')} {found[n].text} {found[n + 1].text}".strip()
    return Amount(dimension, kind, low, high, text), n - first + (2 if unit in rules.units else 1)
