"""Contradiction: does a claim say the opposite of a locked constraint? Decided by rules, without a model.

    constraint, claim → sentences → clauses → statements → negation | duty | only | opposites | amounts

It favours precision: two statements are compared only where one is about all that the other is about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..text import fold
from .clauses import parts
from .packs import english
from .rules import Rules, load_rules, read_rules, stems_of
from .sentences import sentences
from .spelling import SCALES, letters, number_words, spelled
from .statements import DUTIES, Statement, clash, joined
from .words import stem, tokens

__all__ = ["Contradiction", "Rules", "contradicts", "load_rules", "read_rules"]

LOCKED = 50  # sentences of one constraint
COMPARED = 200  # sentences of one claim that share a word with the constraint
LONGEST = 1200  # characters of a sentence that are read
_REPLY = re.compile(
    r"^(?:no|yes)\s*[,;:.!-]\s*"
)  # "No, it can't": the first word answers the question, and denies nothing
_AVOID = re.compile(r"(?<!\bto )(?:,? and )?\b(?:avoid(?:ing)?|refrain(?:ing)? from) ")
_SIDED = re.compile(r"\b(?:in|out-of|on|off|pre|post)-(?=[a-z])", re.I)  # in-network is not out-of-network
_PRICE = re.compile(r"[$€£](\d+(?:\.\d+)?)")
# "1. Rinse", "(2) Dry", "Step 3:", "## 4 Care", "[5]": numbers of lists, headings and citations count nothing
_LIST_NUMBER = re.compile(
    r"^\s*(?:[-*+•#>]+\s*)*(?:\*\*)?(?:step|section|chapter|part|item)?\s*[(\[]?\d{1,3}(?:\.\d{1,2})*[.):\]]+(?!\d)\s*",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")


class Contradiction(NamedTuple):
    """The two sentences that can't both hold, and why."""

    constraint: str
    claim: str
    why: str


class Locked(NamedTuple):
    """A constraint made ready, with the words that a claim must have to contradict it."""

    sentences: list[tuple[str, list[Statement]]]
    folded: set[str]
    matter: set[str]  # what it is about: one of these words,
    turns: set[str]  # and one of these, or a number if it counts something; empty where any claim may contradict it
    counts: bool


def contradicts(constraint: str, claim: str, rules: Rules | None = None) -> Contradiction | None:
    """The first contradiction between a constraint and a claim, or None."""
    rules = rules or load_rules()
    locked = _locked(constraint, rules)
    compared = 0
    for sentence in sentences(claim):
        text = sentence.text[:LONGEST]
        if not _may_oppose(locked, text) or fold(sentence.text) in locked.folded:
            continue
        compared += 1
        read = _statements(text, rules) if compared <= COMPARED else []
        for said in read:
            for locked_text, statements in locked.sentences:
                for one in statements:
                    if (why := _why(one, said, rules)) and not _also_agree(one, said, statements, read):
                        return Contradiction(locked_text, sentence.text, why)
    return None


def _also_agree(one: Statement, other: Statement, ones: list[Statement], others: list[Statement]) -> bool:
    """Whether one of the two sentences says both: then it can't be told which of them counts."""
    return any(_agrees(one, clause) for clause in others) or any(_agrees(other, clause) for clause in ones)


def _agrees(locked: Statement, said: Statement) -> bool:
    """Whether a clause says what is locked, whatever the others say: "one bolt a side, so a total of four bolts"."""
    if locked.negative != said.negative or not locked.content <= said.content or not locked.cases <= said.cases:
        return False
    return set(locked.amounts) <= set(said.amounts) and locked.roles <= said.roles and len(locked.content) > 1


def _may_oppose(locked: Locked, text: str) -> bool:
    """Whether the sentence has the words that a contradiction needs; most don't, and are not read any further."""
    words = set(map(stem, _WORD.findall(letters(text))))
    if locked.matter.isdisjoint(words):
        return False
    return not locked.turns or not locked.turns.isdisjoint(words) or (locked.counts and bool(_DIGIT.search(text)))


@lru_cache(maxsize=1024)  # a constraint is the same for all runs
def _locked(constraint: str, rules: Rules) -> Locked:
    texts = [span.text for span in sentences(constraint)[:LOCKED]]
    read = [(text, _statements(text[:LONGEST], rules)) for text in texts]
    statements = [statement for _, listed in read for statement in listed]
    about = {name for statement in statements for name in statement.content}
    matter = {word for stems in about | rules.stems_of_names(about) for word in stems.split()}
    counts = any(statement.amounts for statement in statements)
    return Locked(read, set(map(fold, texts)), matter, _turns(statements, about, counts, rules), counts)


def _turns(statements: list[Statement], about: set[str], counts: bool, rules: Rules) -> set[str]:
    """The longest word of each term that denies, limits, obliges, counts or is an opposite of what is said."""
    if any(statement.negative or statement.chosen for statement in statements):
        return set()
    labels = {"negators", "only", *(DUTIES if any(statement.duty for statement in statements) else ())}
    terms = {stems for stems, term in rules.terms.items() if term.kind == "no" or term.label in labels}
    terms |= rules.stems_of_names({rival for name in about for rival in rules.rivals.get(name, ())})
    terms |= {stems_of(cue) for cue in english("negators") | english("nominal")} | {"t"}  # the last letter of n't
    terms |= set(map(stem, (*number_words(), *SCALES, "dozen"))) if counts else set()
    return {max(stems.split(), key=len) for stems in terms}


@lru_cache(maxsize=256)  # a claim is held against several constraints
def _statements(text: str, rules: Rules) -> list[Statement]:
    """What a sentence says as a whole and, if it has several clauses, what each says under the same conditions."""
    text = _SIDED.sub(_as_one_word, _LIST_NUMBER.sub("", text, count=1))
    text = _PRICE.sub(r"\1 dollar ", _AVOID.sub(" ; do not ", _REPLY.sub("", spelled(text))).replace("%", " percent"))
    cut = list(parts(text, tokens(text)))
    if len(cut) == 1:
        return [Statement(cut[0], rules, least=2)]
    read = [Statement(part, rules, least=3) for part in cut]
    # "if the claim is denied, …" says of no claim that it is
    clauses = [statement for statement, part in zip(read, cut, strict=True) if len(part) > 1 and not statement.supposed]
    whole = joined(read, rules, least=2 if len(clauses) < 2 else LONGEST)
    for clause in clauses:
        clause.cases, clause.years, clause.partial = whole.cases, whole.years, whole.partial
    return [whole, *clauses] if len(clauses) > 1 else [whole]


def _as_one_word(match: re.Match[str]) -> str:
    return match[0].replace("-", "")


def _why(one: Statement, other: Statement, rules: Rules) -> str | None:
    if one.content.isdisjoint(other.content) or not _same_case(one.cases, other.cases):
        return None
    if one.years and other.years and one.years.isdisjoint(other.years):
        return None
    if "or" in one.joints ^ other.joints:  # "A or B" says nothing about A alone
        return None
    checks = (_negation, _duty, _only, _opposite, _amount)
    return next((why for check in checks if (why := check(one, other, rules))), None)


def _same_case(one: set[str], other: set[str]) -> bool:
    """Whether both have the same conditions; a time such as "after 90 days" may be missing from one of them."""
    return one == other or (not (one and other) and all(case.endswith("#") for case in one | other))


def _same(one: set[str], other: set[str]) -> bool:
    """Whether one is about all that the other is about, and not about much more."""
    small, large = sorted((one, other), key=len)
    return bool(small) and small <= large and len(large) <= len(small) + 2


# --- the five ways to say the opposite ---


def _negation(one: Statement, other: Statement, rules: Rules) -> str | None:
    """One denies what the other says: all that the denial is about is in the statement."""
    if one.negative == other.negative or "not" in one.content | other.content or one.partial or other.partial:
        return None
    if one.guarded != other.guarded and (one if one.guarded else other).negative:  # "may not be" leaves "is" open
        return None
    denial, statement = (one, other) if one.negative else (other, one)
    if "optional" in statement.roles and "must" not in denial.roles and "not" not in statement.content:
        return None  # who need not accept it may not accept it
    least = 2 if one.content == other.content else max(one.least, other.least)
    if len(one.content & other.content) < least:
        return None
    spare = denial.predicates.keys() if "possible" in statement.roles else ()
    if denial.content.difference(statement.content, spare) or not set(denial.amounts) <= set(statement.amounts):
        return None
    said = [(word, other.predicates.get(family, word)) for family, word in sorted(one.predicates.items())]
    why = next((f"{left} ↔ {right}" for left, right in said if left != right), "negation")
    return None if _pair(one, other, rules) else why


def _duty(one: Statement, other: Statement, rules: Rules) -> str | None:
    """One requires what the other leaves open."""
    if one.partial or other.partial:
        return None
    several = any(len(statement.roles.intersection(DUTIES)) > 1 for statement in (one, other))  # "may have to"
    duties = {one.duty, other.duty} if one.roles and other.roles and not several else ()
    # "can" tells a way to do it, and leaves nothing open
    left_open = duties == {"must", "optional"} or (duties == {"must", "possible"} and "may" in one.roles | other.roles)
    if one.negative or other.negative or not left_open:
        return None
    alike = _same(one.content, other.content) and set(one.amounts) == set(other.amounts)
    return "must ↔ optional" if alike else None


def _only(one: Statement, other: Statement, rules: Rules) -> str | None:
    """One allows a single thing only, and the other says the same of something else."""
    if bool(one.chosen) == bool(other.chosen) or one.negative or other.negative:
        return None
    strict, wide = (one, other) if one.chosen else (other, one)
    rest = strict.content - {strict.chosen}
    if strict.chosen in wide.content or len(rest) < 2 or not rest <= wide.content:
        return None
    others = wide.content - strict.content  # one thing in the place of another, or the two speak of different matters
    rival = "any" if "any" in wide.roles else min(others, default="") if len(others) == 1 else ""
    return f"only {strict.chosen} ↔ {rival}" if rival else None


def _opposite(one: Statement, other: Statement, rules: Rules) -> str | None:
    """Both say the same, but with opposite words in one place."""
    pair = _pair(one, other, rules) if one.negative == other.negative else None
    if pair and _same(one.content - {pair[0]}, other.content - {pair[1]}):
        return f"{pair[0]} ↔ {pair[1]}"
    return None


def _pair(one: Statement, other: Statement, rules: Rules) -> tuple[str, str] | None:
    """A word of each that are opposites of each other."""
    theirs = other.content - one.content
    paired = sorted((one.content - other.content) & rules.rivals.keys())
    return next(((word, min(met)) for word in paired if (met := rules.rivals[word] & theirs)), None)


def _amount(one: Statement, other: Statement, rules: Rules) -> str | None:
    """Both say the same, but with amounts that exclude each other; the amount of A and B is not that of A."""
    if not (one.amounts and other.amounts) or one.negative != other.negative or one.joints != other.joints:
        return None
    if ("optional" in one.roles) != ("optional" in other.roles) or not _same(one.content, other.content):
        return None
    if len(one.content & other.content) < 2 and one.content != other.content:
        return None
    for amount in one.amounts:
        alike = [each for each in (*one.amounts, *other.amounts) if each.dimension == amount.dimension]
        if len(alike) == 2 and alike[1] in other.amounts and clash(*alike):
            return f"{alike[0].text} ↔ {alike[1].text}"
    return None
