"""Slots: two sentences that are alike but for one place, filled with terms that shut each other out."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

from .clauses import Sentence, is_content
from .quantities import apart
from .rules import Rules
from .tokens import DETERMINERS, MARKS, Token

NEAR = 5  # words in which a verb is taken to speak of the slot
Change = tuple[list[Token], list[Token], int, int]  # locked words, said words, where they begin


def conflict(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    """The two terms that can't both stand in the slot."""
    locked, said = _frame(constraint.tokens), _frame(claim.tokens)
    changes, kept = _changes(locked, said, rules)
    if not changes or kept < 1:
        return None
    clashes: list[str] = []
    loose, numbers = 0, False
    for ours, theirs, at_ours, at_theirs in changes:
        verdict = _verdict(ours, theirs, rules)
        opposite = (ours[0].stem, theirs[0].stem) in rules.opposites if verdict else False
        if verdict and not opposite and ours[0].number is None and _among_others(locked, at_ours, rules):
            return None
        if verdict is None and any(_turns(token, rules) for token in (*ours, *theirs)):
            return None  # a matter of polarity
        if verdict is None:
            loose += sum(is_content(token, rules) for token in (*ours, *theirs))
        elif verdict and not (_stated(locked, at_ours, rules) and _stated(said, at_theirs, rules)):
            return None
        elif verdict and not _converted(locked[at_ours + 1 :], said[at_theirs + 1 :], rules):
            clashes.append(verdict)
            numbers |= ours[0].number is not None
    if not numbers and apart(constraint, claim, rules):
        return None
    if len(set(clashes)) % 2 == 0 or loose * 4 > kept or _swapped(locked, said):
        return None  # two turns make it right again: "without a key, rejected", "with a key, accepted"
    return clashes[0]


def _turns(token: Token, rules: Rules) -> bool:
    """Whether the token decides what the sentence says yes or no to."""
    kinds = ("negators", "conditions", "only", "lacking")
    turning = any(token.stem in rules.words[kind] for kind in kinds)
    return turning or token.stem in rules.denying or token.stem in rules.affirming


def _frame(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.stem not in MARKS and token.stem not in DETERMINERS]


def _changes(locked: list[Token], said: list[Token], rules: Rules) -> tuple[list[Change], int]:
    """The places where the sentences differ, and how many content words they keep."""
    ours = [rules.canonical(token.key) for token in locked]
    theirs = [rules.canonical(token.key) for token in said]
    changes: list[Change] = []
    kept = 0
    for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            kept += sum(is_content(token, rules) for token in locked[a:b])
        elif b - a == d - c:
            changes += [([locked[a + i]], [said[c + i]], a + i, c + i) for i in range(b - a)]
        else:
            changes.append((locked[a:b], said[c:d], a, c))
    return changes, kept


def _verdict(ours: list[Token], theirs: list[Token], rules: Rules) -> str | None:
    """The clash in words, "" if the change is harmless, None if nothing is known of it."""
    if len(ours) != 1 or len(theirs) != 1:
        return None
    one, other = ours[0], theirs[0]
    if one.number is not None and other.number is not None and one.ordinal == other.ordinal:
        return f"{one.text} ↔ {other.text}" if one.number != other.number else ""
    if rules.canonical(one.stem) == rules.canonical(other.stem):
        return ""
    return f"{one.text} ↔ {other.text}" if rules.exclusive(one.stem, other.stem) else None


def _stated(frame: list[Token], index: int, rules: Rules) -> bool:
    """Whether the slot is asserted: not denied, not a sample of a list, not one of two choices."""
    before = [token.stem for token in frame[:index]]
    if frame[index].number is not None and not frame[index].ordinal and _bounded(frame, index, rules):
        return False  # a bound is no exact number; the quantities compare it
    if any(stem in rules.words["negators"] or stem in rules.words["lacking"] for stem in before[-6:]):
        return False
    return not any(stem in rules.words["samples"] for stem in before[-4:]) and "or" not in _neighbours(frame, index)


def _among_others(frame: list[Token], index: int, rules: Rules) -> bool:
    """Whether the slot is only one of the possible ones: "accepts euros" leaves room for dollars."""
    around = frame[max(0, index - NEAR) : index + NEAR]
    return any(token.stem in rules.affirming or token.stem in rules.words["possible"] for token in around)


def _bounded(frame: list[Token], index: int, rules: Rules) -> bool:
    around = (*frame[max(0, index - 2) : index], *frame[index + 1 : index + 3])
    return any(token.stem in names for token in around for names in rules.bounds.values())


def _neighbours(frame: list[Token], index: int) -> list[str]:
    return [token.stem for token in (*frame[max(0, index - 1) : index], *frame[index + 1 : index + 2])]


def _converted(locked: list[Token], said: list[Token], rules: Rules) -> bool:
    """Whether the numbers before these words are of different units; the quantities compare those."""
    one, other = ("".join(token.stem for token in after[:1]) for after in (locked, said))
    return one != other and (one in rules.units or other in rules.units)


def _swapped(locked: list[Token], said: list[Token]) -> bool:
    """Whether the claim only names the same things in another order."""
    return Counter(token.key for token in locked) == Counter(token.key for token in said)
