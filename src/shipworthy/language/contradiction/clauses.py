"""Clauses: what a sentence says yes or no to, who it speaks of and under which condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from .rules import Rules
from .stems import stems
from .tokens import DETERMINERS, MARKS, Token

AUXILIARIES = stems(
    "be", "have", "do", "will", "would", "can", "could", "may", "might", "must", "shall", "should", "not", "never", "no"
)
PREPOSITIONS = stems("for", "in", "at", "to", "of", "from", "on", "with", "by")
PRONOUNS = stems("i", "you", "he", "she", "it", "we", "they", "there")
RELATIVES = stems("which", "who", "whose", "where", "that", "than", "as", "though", "although")
GRANTS = stems("can", "may", "could")
STATE_BEFORE = stems("be", "stay", "remain", "default", "to", "always", "turn", "switch", "keep", "set", "left")
STATE_AFTER = stems("by", "for", "in", "at", "when", "if", "after", "during", "until")


@dataclass
class Clause:
    """One statement of a sentence."""

    tokens: list[Token]
    positive: bool = True
    triggers: list[str] = field(default_factory=list)  # the words that decided the polarity, as written
    families: list[str] = field(default_factory=list)
    subject: list[str] = field(default_factory=list)  # content before the deciding word
    focus: list[str] = field(default_factory=list)  # content that is affirmed or denied
    content: list[str] = field(default_factory=list)
    lacked: list[str] = field(default_factory=list)  # content after "without"
    condition: list[str] = field(default_factory=list)
    conditional: bool = False
    excepted: bool = False  # the condition is an exception: "unless"
    hedged: bool = False
    necessity: int = 0  # 1 must, -1 optional
    granted: bool = False  # "can", "may"
    waived: bool = False  # left open without being granted: "need not"
    choices: bool = False  # "neither … nor"
    universal: bool = False
    relative: bool = False  # opened by "which" or the like; without a subject it hangs on another clause


@dataclass
class Sentence:
    text: str
    tokens: list[Token]
    clauses: list[Clause]
    content: list[str]  # in order, each once


def content_of(tokens: Iterable[Token], rules: Rules) -> list[str]:
    """The words that carry the subject matter, by their canonical name, each once."""
    words = (rules.canonical(token.stem) for token in tokens if is_content(token, rules))
    return list(dict.fromkeys(words))


def is_content(token: Token, rules: Rules) -> bool:
    if token.number is not None or not token.stem[0].isalnum() or token.unit:
        return False
    return token.stem not in rules.grammar


def other_thing(ours: list[Token], theirs: list[Token], rules: Rules) -> bool:
    """Whether the same place holds another thing: red shirts and blue ones, test data and production data."""
    one, other = set(content_of(ours, rules)), set(content_of(theirs, rules))
    left, right = one - other, other - one
    if any(rules.rivals(word, rival) for word in left for rival in right):
        return True
    return bool(_places(ours, left, rules) & _places(theirs, right, rules))


def _places(tokens: list[Token], words: set[str], rules: Rules) -> set[str]:
    """What the words stand before, and which preposition they stand after."""
    places = set()
    for index, token in enumerate(tokens):
        if rules.canonical(token.stem) not in words or not is_content(token, rules):
            continue
        if index + 1 < len(tokens) and is_content(tokens[index + 1], rules):
            places.add(rules.canonical(tokens[index + 1].stem))
        if index and tokens[index - 1].stem in PREPOSITIONS:
            places.add(f"{tokens[index - 1].stem} …")
    return places


def read_sentence(text: str, tokens: list[Token], rules: Rules) -> Sentence:
    clauses = [read_clause(part, rules, opener) for opener, part in split_clauses(tokens, rules)]
    for before, clause in pairwise(clauses):
        if before.conditional and not before.tokens and not clause.conditional:
            # "If the token is stale, requests are rejected": the condition belongs to what follows
            clause.conditional, clause.excepted, clause.condition = True, before.excepted, before.condition
    return Sentence(text, tokens, clauses, content_of(tokens, rules))


def split_clauses(tokens: list[Token], rules: Rules) -> list[tuple[str, list[Token]]]:
    """Cut at clause words, and at commas and "and" where a new verb follows; each with the word that opens it."""
    parts: list[tuple[str, list[Token]]] = [("", [])]
    for index, token in enumerate(tokens):
        if token.stem == "that" and index and _truth(tokens[index - 1], rules):
            continue  # "it is not true that" denies what follows
        joins = token.stem in (",", "and") and _verb_follows(tokens, index, parts[-1][1], rules)
        if joins or token.stem in rules.words["clauses"] or token.stem in "()—:":
            parts.append((token.stem, []))
        elif token.stem not in MARKS:
            parts[-1][1].append(token)
    return [(opener, part) for opener, part in parts if part]


def _truth(token: Token, rules: Rules) -> bool:
    return "truth" in (rules.affirming.get(token.stem), rules.denying.get(token.stem))


def _verb_follows(tokens: list[Token], index: int, before: list[Token], rules: Rules) -> bool:
    if tokens[index].stem == "," and index + 1 < len(tokens) and tokens[index + 1].stem in PRONOUNS:
        return True
    if not any(_is_verb(token, rules) for token in before):
        return False
    span = tokens[index + 1 : index + (8 if tokens[index].stem == "," else 4)]
    for token in span:
        if token.stem == ",":
            return False
        if _is_verb(token, rules):
            return True
    return False


def _is_verb(token: Token, rules: Rules) -> bool:
    return token.stem in AUXILIARIES or token.stem in rules.denying or token.stem in rules.affirming


def read_clause(tokens: list[Token], rules: Rules, opener: str = "") -> Clause:
    main, condition = _without_condition(tokens, rules)
    clause = Clause(main, conditional=len(main) < len(tokens), condition=content_of(condition, rules))
    clause.excepted = any(token.stem in rules.words["exceptions"] for token in tokens[len(main) :])
    decided = -1
    passive = False
    for index, token in enumerate(main):
        if not _supposed(main, index) and _note_mood(clause, token, rules):
            decided = index
        role = _role(main, index, rules)
        if not role:
            continue
        clause.triggers.append(token.text)
        decided = index
        if role == "no":
            # "neither … nor" is one negation
            clause.positive = token.stem != "nor" and not clause.positive
        family = rules.denying.get(token.stem) or rules.affirming.get(token.stem)
        if family or token.stem in ("on", "off"):
            clause.families.append(family or "switch")
            passive = _after_be(main, index)
    _fill_content(clause, decided, passive, rules)
    clause.relative = opener in RELATIVES and not clause.subject
    return clause


def _without_condition(tokens: list[Token], rules: Rules) -> tuple[list[Token], list[Token]]:
    for index, token in enumerate(tokens):
        if token.stem in rules.words["conditions"]:
            if index:
                return tokens[:index], tokens[index:]
            return [], tokens
    return tokens, []


def _supposed(tokens: list[Token], index: int) -> bool:
    """Whether it is a guess: "must have been", "may have been"."""
    return [token.stem for token in tokens[index + 1 : index + 3]] == [*stems("have"), "be"]


def _note_mood(clause: Clause, token: Token, rules: Rules) -> bool:
    words = rules.words
    clause.hedged |= token.stem in words["hedges"]
    clause.granted |= token.stem in GRANTS
    clause.choices |= token.stem == "neither"
    clause.universal |= token.stem in words["universals"]
    if token.stem in words["optional"]:
        clause.necessity = -1
        clause.waived = token.stem != "may"
    elif token.stem in words["must"] and not clause.necessity:
        # "is not required" leaves it open; "must not" comes the other way round and forbids
        clause.necessity, clause.positive = (1, True) if clause.positive else (-1, True)
    else:
        return False
    return True


def _role(tokens: list[Token], index: int, rules: Rules) -> str:
    """Whether the token says "no", says "yes", or neither."""
    token = tokens[index]
    if token.stem in rules.words["negators"]:
        numbered = index + 1 < len(tokens) and token.stem == "no" and tokens[index + 1].number is not None
        return "" if numbered or index + 1 == len(tokens) else "no"
    if token.stem in ("on", "off"):
        return {"on": "yes", "off": "no"}[token.stem] if _is_state(tokens, index) else ""
    if index and tokens[index - 1].stem in DETERMINERS:
        return ""  # "a block", "the support": a thing, not a verdict
    if token.stem in rules.denying:
        return "no"
    return "yes" if token.stem in rules.affirming else ""


def _is_state(tokens: list[Token], index: int) -> bool:
    before = tokens[index - 1].stem if index else ""
    after = tokens[index + 1].stem if index + 1 < len(tokens) else ""
    return before in STATE_BEFORE and (not after or after in STATE_AFTER)


def _after_be(tokens: list[Token], index: int) -> bool:
    return any(token.stem in ("be", "become", "stay", "remain") for token in tokens[max(0, index - 3) : index])


def _fill_content(clause: Clause, decided: int, passive: bool, rules: Rules) -> None:
    lacking = [index for index, token in enumerate(clause.tokens) if token.stem in rules.words["lacking"]]
    end = lacking[0] if lacking else len(clause.tokens)
    clause.lacked = content_of(clause.tokens[end:], rules)
    words = [token.stem for token in clause.tokens]
    verb = decided if decided >= 0 else next((i for i, stem in enumerate(words) if stem in AUXILIARIES), 0)
    before = content_of(clause.tokens[:verb], rules)
    after = content_of(clause.tokens[decided + 1 : end], rules)
    clause.content = content_of(clause.tokens[:end], rules)
    clause.subject = before
    clause.focus = before if before and (passive or not after) else after
