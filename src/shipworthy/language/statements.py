"""Statements: a clause read for what it is about, and for everything that gives it a direction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import NamedTuple

from .clauses import cues
from .rules import Rules, Term
from .words import Token, is_content, stem

LONGEST = 120  # words of a clause that are read
_WHOLE = re.compile(r"\d+(?:\.\d+)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
DUTIES = ("optional", "must", "possible")
RELATIVE = 3  # words before a negation in which "that" makes it one of the things: "services that are not covered"
REPORTING = ("says", "say", "said", "states", "stated", "is", "was", "means", "claims", "know", "note")
PARTIAL = ("some", "certain", "several", "many", "most", "sometimes", "often", "usually", "typically")
GUARDED, BE = ("may", "might"), ("be", "have")
BEFORE_MONTH = ("in", "of", "since", "until", "by", "this", "last", "next", "every", "late", "early", "mid")


class Amount(NamedTuple):
    """A number as the range that it allows, what it counts, and how it reads."""

    dimension: str
    bound: str
    low: Fraction | float
    high: Fraction | float
    text: str


def clash(one: Amount, other: Amount) -> bool:
    """Whether the second amount lies outside of the first, or is a wider limit of the same kind."""
    if one.bound == other.bound and one.bound:
        return one.high < other.high or other.low < one.low
    return one.high < other.low or other.high < one.low


class Statement:
    """A clause, read once, term by term."""

    def __init__(self, found: Sequence[Token], rules: Rules, least: int) -> None:
        self.least = least  # words that it must share with a denial of something else
        self.content: set[str] = set()
        self.negative = False
        self.partial = False  # of some things only
        self.roles: set[str] = set()  # must, optional, possible, only, any
        self.chosen = ""  # what "only" allows
        self.predicates: dict[str, str] = {}  # family → the word that says yes or no
        self.supposed = False  # begins with if or when: a case, of which nothing is said
        self.cases: set[str] = set()  # words that narrow it to a case: if, unless, after
        self.amounts: list[Amount] = []
        self.years: set[str] = set()
        self.joints: set[str] = set()  # and, or
        self._found, self._rules = found[:LONGEST], rules
        self.partial = any(token.norm in PARTIAL for token in self._found)
        self.guarded = any(one.norm in GUARDED and other.norm in BE for one, other in pairwise(self._bare()))
        self._stems = [stem(token.norm) for token in self._found]
        self._denied = dict(cues(self._found))
        self._bound, self._choosing = "", False
        after = 0  # the first word that has not been taken in
        for n, (token, stemmed) in enumerate(zip(self._found, self._stems, strict=True)):
            if n < after:
                continue
            if stemmed in rules.longest or token.number is not None or n in self._denied:
                after = n + self._take(n)
            else:
                self._take_content(token, stemmed)

    def _bare(self) -> list[Token]:
        return [token for token in self._found if token.norm != "not"]

    @property
    def duty(self) -> str:
        """The strongest of what it obliges to, if anything."""
        return next((name for name in DUTIES if name in self.roles), "")

    def _take(self, n: int) -> int:
        """Take in the term that begins here, and say how many words it has."""
        length, term = self._rules.term_at(self._stems, n)
        token = self._found[n]
        if term.kind == "bounds":
            self._bound = "" if term.label.startswith("after_") else term.label
        elif term.kind in ("yes", "no"):
            self.negative ^= term.kind == "no"
            self.content.add(term.label)
            self.predicates[term.label] = token.text
        elif term.kind == "words" and term.label != "idle" and not _is_month(self._found, n):
            self._take_role(n, term)
        elif n in self._denied and not term.kind:
            self._take_negation(n)
            length = max(length, self._denied[n] - n)
        elif token.number is not None:
            length = self._take_number(n)
        elif length > 1:
            self.content.add(term.name)
        else:
            self._take_content(token, term.name)
        return length

    def _take_negation(self, n: int) -> None:
        """A negation denies the statement, unless it only says which things or which case are meant."""
        window = self._found[max(0, n - RELATIVE) : n]
        of_things = any(
            other.norm in ("that", "which", "who") and is_content(one) and one.norm not in REPORTING
            for one, other in pairwise(window)
        )
        if self.cases:
            self.cases.add("not")
        elif of_things or self._is_attribute(n):
            self.content.add("not")
        else:
            self.partial |= self.negative and "and" in self.joints  # "not for A and not for B" denies both
            self.negative = not self.negative

    def _is_attribute(self, n: int) -> bool:
        """ "Services not ordered by a doctor": the negation follows what it is about, and no verb stands before it."""
        before, after = self._found[n - 1 : n], self._found[n + 1 : n + 2]
        return bool(before and after) and is_content(before[0]) and after[0].norm.endswith("ed")

    def _take_content(self, token: Token, name: str) -> None:
        if is_content(token):
            self.content.add(name)
            if self._choosing and not self.chosen:
                self.chosen = name
        elif name in ("and", "or"):
            self.joints.add(name)

    def _take_role(self, n: int, term: Term) -> None:
        if term.label == "negators":
            self.negative = not self.negative
        elif term.label in ("conditions", "exceptions"):
            timed = n + 1 < len(self._found) and self._found[n + 1].number
            self.cases.add(f"{term.name} #" if timed else term.name)
            self.supposed |= not n
        elif term.label != "only" or not n or self._found[n - 1].norm != "not":
            self.roles.update((term.label, "may") if self._found[n].norm == "may" else (term.label,))
            self._choosing = term.label == "only"

    def _take_number(self, n: int) -> int:
        """Take in the amount that a number begins, with its unit and its bound."""
        found, stems, rules = self._found, self._stems, self._rules
        last = _last_joined(found, n)
        self.years.update(token.norm for token in found[n : last + 1] if _YEAR.fullmatch(token.norm))
        counted = last + 1 < len(found) and is_content(found[last + 1]) and found[last + 1].number is None
        unit = stems[last + 1] if counted else ""
        after = rules.terms.get(" ".join(stems[last + 2 : last + 4]))
        bound = self._bound or (after.label.removeprefix("after_") if after and after.kind == "bounds" else "")
        ends = _range(found, n, last)
        if ends and unit and bound != "about":
            dimension, factor = rules.units.get(unit, (unit, Fraction(1)))
            low = ends[0] * factor if bound not in ("at_most", "below") else -inf
            high = ends[1] * factor if bound not in ("at_least", "above") else inf
            text = f"{bound.replace('_', ' ')} {found[last].text} {found[last + 1].text}".strip()
            self.amounts.append(Amount(dimension, bound, low, high, text))
        self._bound = ""
        return last - n + (2 if unit in rules.units else 1)


def joined(clauses: Sequence[Statement], rules: Rules, least: int) -> Statement:
    """What the clauses say together; two of them that deny cancel out."""
    whole = Statement((), rules, least)
    # of several denials, as "not for A, and not for B", the whole has no polarity
    whole.partial = sum(clause.negative for clause in clauses) > 1
    for clause in clauses:
        whole.negative ^= clause.negative
        whole.chosen = whole.chosen or clause.chosen
        whole.predicates |= clause.predicates
        whole.amounts += clause.amounts
        whole.partial, whole.guarded = whole.partial or clause.partial, whole.guarded or clause.guarded
        for name in ("content", "roles", "cases", "years", "joints"):
            getattr(whole, name).update(getattr(clause, name))
    return whole


def _last_joined(found: Sequence[Token], n: int) -> int:
    """The last of the numbers that are joined with this one: "3 to 5", "2023-24", "30 and 19"."""
    while True:
        joint = 1 if n + 2 < len(found) and found[n + 1].norm in ("to", "and", "or") else 0
        if n + joint + 1 >= len(found) or found[n + joint + 1].number is None:
            return n
        n += joint + 1


def _range(found: Sequence[Token], n: int, last: int) -> tuple[Fraction, Fraction] | None:
    """The ends of a number or a range ("3 to 5", "between 3 and 5"); one of several numbers has none."""
    low, high = _value(found[n].number or ""), _value(found[last].number or "")
    if low is None or high is None:
        return None
    if last == n:
        return low, high
    between = n > 0 and found[n - 1].norm == "between"
    several = last > n + 2 or (last == n + 2 and found[n + 1].norm != ("and" if between else "to"))
    return None if several or low > high else (low, high)


@lru_cache(maxsize=1024)
def _value(number: str) -> Fraction | None:
    """The value of a number; a version such as 1.2.3 has none."""
    return Fraction(number) if _WHOLE.fullmatch(number) else None


def _is_month(found: Sequence[Token], n: int) -> bool:
    """Whether "may" is the month: a number beside it, or a word before it that goes with a date."""
    beside = found[max(0, n - 1) : n + 2]
    dated = any(token.number for token in beside) or (n > 0 and beside[0].norm in BEFORE_MONTH)
    return found[n].norm == "may" and dated
