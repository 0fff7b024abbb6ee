"""Quantities: numbers with their unit and bound, as intervals that two sentences may or may not share."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from .clauses import Sentence, is_content, other_thing
from .rules import Rules
from .tokens import Token

EXTREMES = frozenset(("maximum", "max", "minimum", "min"))
CURRENCIES = "$€£"  # written before the number, and so part of it
TOLERANCE = Fraction(1, 10)  # "about 30" leaves room for a tenth


class Quantity(NamedTuple):
    """An interval of a dimension; a missing end is open to infinity."""

    text: str
    dimension: str  # of the unit, or the counted noun
    low: Fraction | None
    high: Fraction | None
    open_ended: bool  # the finite end itself is left out ("more than", "less than")

    @property
    def exact(self) -> bool:
        return self.low is not None and self.low == self.high


def conflict(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    """The two quantities that can't both hold, when the sentences speak of the same thing."""
    locked, said = _single(constraint, rules), _single(claim, rules)
    if not locked or not said or not _same_matter(constraint, claim, rules):
        return None
    clashes = [
        f"{ours.text} ↔ {theirs.text}"
        for dimension, theirs in said.items()
        if (ours := locked.get(dimension)) and _at_odds(ours, theirs, constraint, claim, rules)
    ]
    others = [dimension for dimension in said if dimension in locked and locked[dimension][1:] != said[dimension][1:]]
    # Two amounts that differ may be one rate: 4 in 24 hours, 2 in 12 hours.
    return clashes[0] if clashes and len(others) == 1 else None


def _single(sentence: Sentence, rules: Rules) -> dict[str, Quantity]:
    """The quantities by dimension; with several of a kind there is no telling which belongs to which."""
    found = quantities(sentence.tokens, rules)
    kinds = [quantity.dimension for quantity in found]
    return {quantity.dimension: quantity for quantity in found if kinds.count(quantity.dimension) == 1}


def _at_odds(locked: Quantity, said: Quantity, constraint: Sentence, claim: Sentence, rules: Rules) -> bool:
    return _excludes(locked, said) or _loosens(locked, said, constraint, claim, rules)


def apart(constraint: Sentence, claim: Sentence, rules: Rules) -> bool:
    """Whether the sentences name amounts of one kind that never meet, and so speak of different cases."""
    said = quantities(claim.tokens, rules)
    return any(
        one.dimension == other.dimension and _excludes(one, other)
        for one in quantities(constraint.tokens, rules)
        for other in said
    )


def _same_matter(constraint: Sentence, claim: Sentence, rules: Rules) -> bool:
    one, other = set(constraint.content), set(claim.content)
    shared = len(one & other)
    smaller = min(len(one), len(other))
    if any(clause.hedged for clause in claim.clauses) or _mood(constraint) != _mood(claim):
        return False
    if other_thing(constraint.tokens, claim.tokens, rules) or _other_end(constraint, claim, rules):
        return False
    if _numbers(constraint) & _numbers(claim):
        return False  # the claim repeats a number; which one the other belongs to can't be told
    close = shared * 3 >= smaller * 2 and shared * 3 >= max(len(one), len(other))
    return shared >= 1 and close and (shared >= 2 or smaller == 1)


def _numbers(sentence: Sentence) -> set[Fraction]:
    return {token.number for token in sentence.tokens if token.number is not None and not token.ordinal}


def _other_end(constraint: Sentence, claim: Sentence, rules: Rules) -> bool:
    """Whether one sentence names the maximum and the other the minimum."""
    ends = [{token.stem for token in sentence.tokens} & EXTREMES for sentence in (constraint, claim)]
    return any((one, other) in rules.opposites for one in ends[0] for other in ends[1])


def _mood(sentence: Sentence) -> tuple[bool, bool]:
    """Whether the sentence denies something, and whether it leaves something open: other cases, other amounts."""
    denials = sum(not clause.positive for clause in sentence.clauses)
    return denials % 2 == 1, any(clause.waived for clause in sentence.clauses)


def _excludes(one: Quantity, other: Quantity) -> bool:
    return _below(one, other) or _below(other, one)


def _below(one: Quantity, other: Quantity) -> bool:
    if one.high is None or other.low is None:
        return False
    touching = one.high == other.low and (one.open_ended or other.open_ended)
    return one.high < other.low or touching


def _loosens(locked: Quantity, said: Quantity, constraint: Sentence, claim: Sentence, rules: Rules) -> bool:
    """Whether the claim states a wider limit of the same kind: up to 20 MB, where up to 10 MB is locked."""
    stated = {token.stem for token in (*constraint.tokens, *claim.tokens)}
    if stated.isdisjoint(rules.words["limits"]):
        return False
    if locked.low is None and said.low is None and locked.high is not None and said.high is not None:
        return said.high > locked.high
    if locked.high is None and said.high is None and locked.low is not None and said.low is not None:
        return said.low < locked.low
    return False


def quantities(tokens: list[Token], rules: Rules) -> list[Quantity]:
    found: list[Quantity] = []
    skip = -1
    for index, token in enumerate(tokens):
        if token.number is None or token.ordinal or index <= skip:
            continue
        if token.text == "one" and not any(after.unit for after in tokens[index + 1 : index + 2]):
            continue  # a pronoun as often as a number
        span = _range_end(tokens, index)
        last = span or index
        skip = last
        quantity = _quantity(tokens, index, last, rules)
        if quantity and not _one_of_several(tokens, index, last):
            found.append(quantity)
    return found


def _one_of_several(tokens: list[Token], first: int, last: int) -> bool:
    """Whether the number is a choice or a member: "four or six wheels", "2009 and 2011"."""
    before = [token.stem for token in tokens[max(0, first - 2) : first]]
    after = tokens[last + 1 : last + 3]
    joined = len(after) == 2 and after[0].stem in ("or", "and") and after[1].number is not None
    return joined or (before[-1:] in (["or"], ["and"]) and len(before) == 2 and tokens[first - 2].number is not None)


def _range_end(tokens: list[Token], index: int) -> int | None:
    """The second number of "between 5 and 10" or "5 to 10"."""
    if index + 2 < len(tokens) and tokens[index + 2].number is not None and not tokens[index + 2].ordinal:
        between = index > 0 and tokens[index - 1].stem == "between"
        if tokens[index + 1].stem == "to" or (between and tokens[index + 1].stem == "and"):
            return index + 2
    return None


def _quantity(tokens: list[Token], first: int, last: int, rules: Rules) -> Quantity | None:
    unit = _unit(tokens, last, rules)
    if unit is None:
        return None
    dimension, factor, width = unit
    start, end = tokens[first].number, tokens[last].number
    if start is None or end is None:
        return None
    low, high, open_ended, begin, stop = _bounded(tokens, first, last + width, rules)
    text = " ".join(token.text for token in tokens[begin : stop + 1] if token.text not in CURRENCIES)
    bottom = start * factor * (1 - TOLERANCE) if low == "about" else start * factor
    top = end * factor * (1 + TOLERANCE) if low == "about" else end * factor
    return Quantity(text, dimension, bottom if low else None, top if high else None, open_ended)


def _unit(tokens: list[Token], last: int, rules: Rules) -> tuple[str, Fraction, int] | None:
    """Dimension, factor, and how many tokens after the number belong to it."""
    if last + 1 >= len(tokens):
        return None
    token = tokens[last + 1]
    if token.unit:
        dimension, factor = rules.units.get(token.text) or rules.units[token.stem]
        return dimension, factor, 1
    if is_content(token, rules):
        return f"count of {rules.canonical(token.stem)}", Fraction(1), 1
    return None


def _bounded(tokens: list[Token], first: int, stop: int, rules: Rules) -> tuple[str, str, bool, int, int]:
    """Which ends are closed in: (low, high, open, first token, last token)."""
    bounds = rules.bounds
    for begin in (first - 1, first - 2):
        word = tokens[begin].stem if begin >= 0 else ""
        negated = begin > 0 and tokens[begin - 1].stem in rules.words["negators"]
        at_most, at_least = word in bounds["at_most"], word in bounds["at_least"]
        below, above = word in bounds["below"], word in bounds["above"]
        if at_most or (above and negated):
            return "", "high", False, begin, stop
        if at_least or (below and negated):
            return "low", "", False, begin, stop
        if below:
            return "", "high", True, begin, stop
        if above:
            return "low", "", True, begin, stop
        if word in bounds["about"]:
            return "about", "high", False, begin, stop
    after = tokens[stop + 1].stem if stop + 1 < len(tokens) else ""
    inner = tokens[first + 1].stem if first + 1 < len(tokens) else ""
    if after in bounds["after_at_most"] or inner in bounds["after_at_most"]:
        return "", "high", False, first, stop + (after in bounds["after_at_most"])
    if after in bounds["after_at_least"] or inner in bounds["after_at_least"]:
        return "low", "", False, first, stop + (after in bounds["after_at_least"])
    return "low", "high", False, first, stop
