"""Polarity: two clauses on the same matter, one saying yes and the other no."""

from __future__ import annotations

from shipworthy.contradiction.clauses import Clause, Sentence
from shipworthy.contradiction.quantities import apart
from shipworthy.contradiction.rules import Rules


def conflict(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    """Why some clause of the claim says the opposite of some clause of the constraint."""
    if apart(constraint, claim, rules):
        return None
    locked, said = _differing(constraint, claim), _differing(claim, constraint)
    for ours in locked:
        for theirs in said:
            if theirs.hedged or ours.hedged or not ours.content:
                continue
            why = _denied(ours, theirs, constraint, rules) or _necessity(ours, theirs)
            why = why or _lacked(ours, theirs)
            if why:
                return why
    return None


def _differing(sentence: Sentence, other: Sentence) -> list[Clause]:
    """The clauses that the other sentence does not repeat word for word."""
    repeated = {tuple(token.key for token in clause.tokens) for clause in other.clauses}
    return [clause for clause in sentence.clauses if tuple(token.key for token in clause.tokens) not in repeated]


def _denied(ours: Clause, theirs: Clause, constraint: Sentence, rules: Rules) -> str | None:
    if ours.positive == theirs.positive or ours.waived or theirs.waived:
        return None
    if _other_case(ours, theirs) or _other_subject(ours, theirs, rules) or _other_thing(ours, theirs, rules):
        return None
    shared = _shared(ours.content, theirs.content)
    if shared < 2 and not (shared and shared == len(constraint.content)):
        return None
    denying, affirming = (theirs, ours) if ours.positive else (ours, theirs)
    if not _about(denying, affirming, denying is theirs):
        return None
    if affirming.families and not _covers(affirming.focus, denying.content):
        return None
    return _reason(ours, theirs)


def _about(denying: Clause, affirming: Clause, claimed: bool) -> bool:
    """Whether what is denied is what the other side affirms."""
    if denying.choices and set(affirming.content) <= set(denying.content):
        return True
    if claimed and not denying.families:
        # Denying something more special than the constraint says is no contradiction.
        return bool(denying.focus) and set(denying.content) <= set(affirming.content)
    return _covers(denying.focus, affirming.content)


def _other_thing(ours: Clause, theirs: Clause, rules: Rules) -> bool:
    """Whether the clauses differ in terms that shut each other out: red shirts against blue ones."""
    one = [word for word in ours.content if word not in theirs.content]
    other = [word for word in theirs.content if word not in ours.content]
    return any(rules.exclusive(left, right) for left in one for right in other)


def _reason(ours: Clause, theirs: Clause) -> str:
    one, other = " ".join(ours.triggers), " ".join(theirs.triggers)
    return f"{one} ↔ {other}" if one and other else "negation"


def _shared(one: list[str], other: list[str]) -> int:
    return len(set(one) & set(other))


def _covers(focus: list[str], content: list[str]) -> bool:
    """Whether two thirds of what is affirmed or denied is spoken of on the other side too."""
    return bool(focus) and 3 * _shared(focus, content) >= 2 * len(focus)


def _other_case(ours: Clause, theirs: Clause) -> bool:
    """Whether one of them speaks of a case or an exception that the other leaves out."""
    if ours.lacked != theirs.lacked:
        return True
    if not ours.conditional and not theirs.conditional:
        return False
    if ours.conditional and theirs.conditional and ours.excepted != theirs.excepted:
        return True  # "not unless it is damaged" and "if it is damaged" agree
    if theirs.conditional:
        return not _covers(theirs.condition, [*ours.condition, *ours.content]) or not ours.conditional
    return _shared(ours.condition, theirs.content) > 0


def _other_subject(ours: Clause, theirs: Clause, rules: Rules) -> bool:
    one, other = _named(ours, rules), _named(theirs, rules)
    return bool(one) and bool(other) and not one & set(theirs.content) and not other & set(ours.content)


def _named(clause: Clause, rules: Rules) -> set[str]:
    return {word for word in clause.subject if word not in rules.words["generic"]}


def _necessity(ours: Clause, theirs: Clause) -> str | None:
    """Must against may, required against optional."""
    if ours.necessity * theirs.necessity >= 0 or ours.positive != theirs.positive or _other_case(ours, theirs):
        return None
    shared = _shared(ours.content, theirs.content)
    enough = shared >= 2 or (shared and shared == len(ours.content))
    if not enough or 3 * shared < 2 * min(len(ours.content), len(theirs.content)):
        return None
    return "must ↔ optional" if ours.necessity > 0 else "optional ↔ must"


def _lacked(ours: Clause, theirs: Clause) -> str | None:
    """Needed or given on one side, done without on the other."""
    for one, other in ((ours, theirs), (theirs, ours)):
        if not one.lacked or other.lacked or not other.positive or not one.positive or one.conditional:
            continue
        if _covers(one.lacked, other.content) and other.necessity > 0 and _shared(one.content, other.content):
            return "without ↔ required"
    return None
