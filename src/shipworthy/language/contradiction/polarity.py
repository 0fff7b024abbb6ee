"""Polarity: two clauses on the same matter, one saying yes and the other no."""

from __future__ import annotations

from .clauses import PREPOSITIONS, Clause, Sentence, content_of, other_thing
from .quantities import apart
from .rules import Rules

PAST = frozenset(("was", "were", "previously", "formerly", "once"))


def conflict(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    """Why some clause of the claim says the opposite of some clause of the constraint."""
    if apart(constraint, claim, rules):
        return None
    locked, said = _differing(constraint, claim), _differing(claim, constraint)
    for ours in locked:
        for theirs in said:
            if _unclear(ours) or _unclear(theirs) or other_thing(ours.tokens, theirs.tokens, rules):
                continue
            why = _denied(ours, theirs, constraint, rules) or _necessity(ours, theirs, rules)
            why = why or _lacked(ours, theirs)
            if why:
                return why
    return None


def _unclear(clause: Clause) -> bool:
    """Whether the clause states nothing on its own: a guess, a fragment, a clause without its subject or object."""
    dangling = bool(clause.tokens) and clause.tokens[-1].stem in PREPOSITIONS
    return clause.hedged or clause.relative or dangling or not clause.content


def _differing(sentence: Sentence, other: Sentence) -> list[Clause]:
    """The clauses that the other sentence does not repeat word for word."""
    repeated = {tuple(token.key for token in clause.tokens) for clause in other.clauses}
    return [clause for clause in sentence.clauses if tuple(token.key for token in clause.tokens) not in repeated]


def _denied(ours: Clause, theirs: Clause, constraint: Sentence, rules: Rules) -> str | None:
    if ours.positive == theirs.positive or ours.waived or theirs.waived:
        return None
    if _other_case(ours, theirs) or _other_subject(ours, theirs, rules):
        return None
    denying, affirming = (theirs, ours) if ours.positive else (ours, theirs)
    if "no longer" in denying.triggers and any(token.text in PAST for token in affirming.tokens):
        return None
    if denying.families and not (affirming.families or affirming.granted):
        return None  # to mention what is rejected is not to accept it
    denied = [word for word in denying.content if any(rules.is_kind(other, word) for other in affirming.content)]
    if len(denied) < 2 and not (denied and len(denied) >= len(constraint.content)):
        return None
    if not _about(denying, affirming, denied, rules, claimed=denying is theirs):
        return None
    if affirming.families and not _covers(affirming.focus, [*denying.content, *_kinds(affirming, denied, rules)]):
        return None
    return _reason(ours, theirs)


def _kinds(clause: Clause, words: list[str], rules: Rules) -> list[str]:
    return [other for other in clause.content if any(rules.is_kind(other, word) for word in words)]


def _about(denying: Clause, affirming: Clause, denied: list[str], rules: Rules, *, claimed: bool) -> bool:
    """Whether what is denied is what the other side affirms."""
    if denying.choices and set(affirming.content) <= set(denying.content):
        return True
    unsaid = not claimed and denying.focus[:1] and denying.focus[0] in rules.words["saying"]
    if not denying.families and not unsaid and denying.focus[:1] and denying.focus[0] not in denied:
        return False  # the denied verb is not the one that the other side speaks of
    if claimed and not denying.families:
        # Denying something more special than the constraint says is no contradiction.
        return bool(denying.focus) and set(denying.content) <= set(denied)
    return _covers(denying.focus, denied)


def _reason(ours: Clause, theirs: Clause) -> str:
    one, other = " ".join(ours.triggers[:3]), " ".join(theirs.triggers[:3])
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
    one, other = _named(ours, theirs, rules), _named(theirs, ours, rules)
    if not one or not other or one & set(theirs.content) or other & set(ours.content):
        return False
    return not any(rules.is_kind(left, right) or rules.is_kind(right, left) for left in one for right in other)


def _named(clause: Clause, other: Clause, rules: Rules) -> set[str]:
    """Whom the clause speaks of; without an auxiliary it is what stands before the verb of the other clause."""
    words = clause.subject
    if not clause.triggers and not words and other.triggers and other.focus:
        stems = [rules.canonical(token.stem) for token in clause.tokens]
        verb = stems.index(other.focus[0]) if other.focus[0] in stems else 0
        words = content_of(clause.tokens[:verb], rules)
    return {word for word in words if word not in rules.words["generic"]}


def _necessity(ours: Clause, theirs: Clause, rules: Rules) -> str | None:
    """Must against may, required against optional."""
    if ours.necessity * theirs.necessity >= 0 or ours.positive != theirs.positive or _other_case(ours, theirs):
        return None
    if _other_subject(ours, theirs, rules):
        return None
    shared = _shared(ours.content, theirs.content)
    enough = shared >= 2 or (shared and shared == len(ours.content))
    if not enough or not _covers(ours.focus, theirs.content) or not _covers(theirs.focus, ours.content):
        return None
    return "must ↔ optional" if ours.necessity > 0 else "optional ↔ must"


def _lacked(ours: Clause, theirs: Clause) -> str | None:
    """Needed or given on one side, done without on the other."""
    for one, other in ((ours, theirs), (theirs, ours)):
        if not one.lacked or other.lacked or not other.positive or not one.positive or one.conditional:
            continue
        if (
            _covers(one.lacked, other.focus)
            and _covers(other.focus, one.lacked)
            and other.necessity > 0
            and _shared(one.content, other.content)
        ):
            return "without ↔ required"
    return None
