"""Only: a constraint that leaves one choice, and a claim that takes another or any."""

from __future__ import annotations

from .clauses import Clause, Sentence, content_of
from .rules import Rules
from .tokens import Token


def conflict(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    for ours in constraint.clauses:
        for theirs in claim.clauses:
            if not (ours.positive and theirs.positive) or theirs.hedged:
                continue
            why = _broken(ours, theirs, rules) or _narrowed(ours, theirs, rules)
            if why:
                return why
    return None


def _broken(ours: Clause, theirs: Clause, rules: Rules) -> str | None:
    """The claim opens what the constraint keeps for one choice."""
    place = _only_at(ours, rules)
    if place is None or _only_at(theirs, rules) is not None:
        return None
    slot = _slot(ours.tokens, place, rules)
    rest = [word for word in ours.content if word not in slot]
    words = set(theirs.content)
    if not slot or not rest or words & set(slot) or not set(rest) <= words:
        return None
    added = [word for word in theirs.content if word not in rest]
    rival = next((word for word in added if any(rules.rivals(word, member) for member in slot)), None)
    opened = theirs.universal and len(added) <= 2
    if opened or rival or (len(rest) >= 2 and 1 <= len(added) <= 3 and not _grouped(slot, rules)):
        return f"only {' '.join(slot)} ↔ {rival or ('any' if opened else ' '.join(added))}"
    return None


def _narrowed(ours: Clause, theirs: Clause, rules: Rules) -> str | None:
    """The claim keeps for one choice what the constraint opens to all."""
    place = _only_at(theirs, rules)
    if place is None or not ours.universal or _only_at(ours, rules) is not None:
        return None
    slot = _slot(theirs.tokens, place, rules)
    rest = [word for word in theirs.content if word not in slot]
    if not slot or len(rest) < 1 or not set(rest) <= set(ours.content):
        return None
    return f"any ↔ only {' '.join(slot)}"


def _only_at(clause: Clause, rules: Rules) -> int | None:
    for index, token in enumerate(clause.tokens):
        if token.stem in rules.words["only"]:
            return index
    return None


def _slot(tokens: list[Token], place: int, rules: Rules) -> list[str]:
    """What "only" keeps: the words up to the next verb or preposition that follows a word."""
    words: list[str] = []
    for token in tokens[place + 1 :]:
        content = content_of([token], rules)
        if not content and words and token.stem not in ("and", "or"):
            break
        words += content
    # "only CSV files" keeps CSV among the files
    return [word for word in words if _grouped([word], rules)] or words


def _grouped(slot: list[str], rules: Rules) -> bool:
    return any(word in rules.groups or word in rules.alternatives for word in slot)
