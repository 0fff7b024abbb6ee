"""Actions: what an answer tells someone to do, with who and when."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import groupby, pairwise

import msgspec

from .anchors import NoteIndex
from .statements import Statement
from .words import Token, content, stem, tokens, vocabulary

DIRECTIVES = frozenset(
    stem(verb)
    for verb in vocabulary("""
    add adjust align alert analyse analyze announce apply approve archive ask assign audit automate avoid
    backfill ban batch begin block build bump cache cancel cap change check clarify clean clear close collect compare
    complete confirm consolidate contact continue convert coordinate correct create cut deactivate decide declare
    decommission delete deploy deprecate disable discard document double drop edit enable enforce escalate evict
    examine expand expire export extend extract file finish fix flag flush free freeze gate give grant halt hold
    implement import improve increase inform inspect install instrument introduce investigate invite isolate keep
    launch let limit lock log lower make mark measure merge migrate mirror mitigate monitor move notify open page patch
    pause pin plan post prepare prevent prioritise prioritize probe profile promote propose protect prune publish purge
    put queue raise read rebuild recalibrate reconcile record recover redeploy redesign reduce refactor refresh reindex
    reject release reload remove rename renew reopen repair replace reply report request rerun reschedule reserve
    reset resolve restart restore restrict retain retest retire retrain retry return reuse revert review revise revoke
    rewrite roll rotate route run scale scan schedule secure send separate set shift ship shorten show shrink shut sign
    simplify skip split stage start stop store submit suspend swap switch sync tag tell test throttle tighten trace
    track train transfer treat trigger trim try tune turn unblock unify update upgrade use validate verify wait warn
    watch wire withdraw write go look take bring discuss agree meet call arrange organise organize ensure address
    follow work enter define agree allow require amend book catch chase clarify combine deliver draft drive fetch
    fill fit
    get handle hand ignore insert instruct lead lift link list loosen nominate note offer order pack paint pay pick ping
    place point press print pull push quote recheck recalibrate redo reinstall relabel remeasure remind repeat reprogram
    rerun resend reword sand seal search sell serve settle share sort spell spot strike strip supply survey swap sweep
    tackle talk tie top total touch translate unpack visit warn weigh widen wipe wrap""")
)
_MODALS = vocabulary("should must will shall let's please ought needs need has have can")
_LINKS = vocabulary("to is are be and then for now also keep step action plan help helps next left remains due")
_OBLIGATIONS = vocabulary("has have needs need ought had")
_STATES = vocabulary("be have remain stay exist know contain mean depend apply matter seem also always never only not")
_CONNECTORS = vocabulary(
    "so then therefore and please next now first second third finally also thus hence today immediately lastly"
)
_ADVICE = vocabulary("recommend recommends suggest suggests propose proposes consider advise")
_OFFERS = re.compile(
    r"\b(?:i'd|i would|we'd|we would|let's|let us|worth|suggest|propose|recommend|could (?:you|she|he|they|we))\b"
    r"|\b(?:check|look|review|measurement|count|test)\b.{0,40}\bwould\b",
    re.IGNORECASE,
)
_PROPOSAL = re.compile(
    r"\b(?:i'd|i would|we'd|we would|let's|worth|make sure|(?:could|can|would|will) (?:you|she|he|they|we|someone"
    r"|somebody)"
    r"|(?:thing|move|job|step|win|idea|action)(?: to do)?(?: now| next)? (?:is|would be)(?: to)?|have (?:him|her|them"
    r"|someone|somebody))"
    r"(?: \S+){0,4} ?$",
    re.IGNORECASE,
)
_PLACEHOLDERS = vocabulary("tbd tba todo operator owner someone somebody anyone team none unknown na person user")
_TIME = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:morning|week|month|sprint)|next (?:week|month|sprint)|immediately|nightly"
    r"|daily"
    r"|weekly|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|end of (?:day|week|month)|\d{4}-\d\d-\d\d"
    r"|within \d+ \w+|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2})\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:\d{4}-)?\d\d-\d\d|\d{1,2}:\d\d")
_AFTER_A_NAME = vocabulary("should must will shall to can may has is owns needs")
_CALENDAR = frozenset(
    map(
        stem,
        vocabulary("""monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december"""),
    )
)
_JOINTS = re.compile(r"[/._-]")
_CONTINUES = re.compile(r"(?:her|his|their|she|he|they|due|deadline|until|that's due|it's due)\b", re.IGNORECASE)
_PRONOUNS = vocabulary("she he they")
_LABEL_END = re.compile(r"[:–—-]\s*$")
SHORT_LINE = 10  # words of a line that is part of a list
SAME = 4, 5  # shared words of two actions, as a share of all of theirs, from which they are one


class Action(msgspec.Struct, frozen=True):
    """Something to be done that touches the evidence."""

    words: frozenset[str]
    owned: bool
    timed: bool
    cited: bool


def find_actions(said: list[Statement], store: NoteIndex) -> list[Action]:
    """The actions of an answer, near-duplicates once."""
    names = evidence_names(store)
    topic = _topic(store) - names
    asked = content(store.prompt)
    verbs = DIRECTIVES | _evidence_verbs(store)
    found: list[Action] = []
    for statement in said:
        verb = _directive(statement, names, verbs)
        if verb is None:
            continue
        sentence = [s for s in said if s.clause.sentence == statement.clause.sentence]
        action = _action(verb, statement, sentence, names)
        if action and not _touches(statement, verb, action, topic, asked):
            continue
        if action and not any(_is_same(action, other) for other in found):
            found.append(action)
    return found + [action for action in _taken_up(said, store, names) if not any(_is_same(action, o) for o in found)]


def proposes(clause: str) -> bool:
    """Whether a clause offers something of the speaker's own: `I'd look again on Friday`."""
    return bool(_OFFERS.search(clause))


def _taken_up(said: list[Statement], store: NoteIndex, names: set[str]) -> list[Action]:
    """Tasks of the evidence that the answer hands on, in any grammar: `Next: nightly pruning, Ines, by Friday [n3]`.

    The words of the task with its owner, its date or its citation; or owner and date without the words.
    """
    found = []
    verbs = DIRECTIVES | _evidence_verbs(store)
    groups = _told_together(said)
    for item in store.evidence:
        words = tokens(item.text)
        told = any(later.norm == "to" and earlier.is_name for earlier, later in pairwise(words))
        if not told and not _Told(item.text, words, names, verbs).positions():
            continue
        owners = {t.norm for t in words if t.norm in names}
        dates = {t.norm for t in words if _TIME.fullmatch(t.raw) or _DATE.fullmatch(t.raw)}
        subject = {t.norm for t in words if t.is_content} - owners - dates
        for group in groups:
            action = _hand_over(group, item.id, owners, dates, subject)
            if action:
                found.append(action)
                break
    return found


def _told_together(said: list[Statement]) -> list[list[Statement]]:
    """Sentences, and short lines that follow each other: what, who and when of one task, a line each."""
    sentences = [list(group) for _, group in groupby(said, key=lambda s: s.clause.sentence)]
    short = [sum(len(s.clause.tokens) for s in sentence) <= SHORT_LINE for sentence in sentences]
    runs = [
        [statement for sentence in sentences[i : i + 3] for statement in sentence]
        for i in range(len(sentences) - 1)
        if all(short[i : i + 3])
    ]
    pairs = [one + other for one, other in pairwise(sentences) if _CONTINUES.match(other[0].clause.text)]
    return sentences + runs + pairs


def _hand_over(
    sentence: list[Statement], item: str, owners: set[str], dates: set[str], subject: set[str]
) -> Action | None:
    clauses = [s.clause for s in sentence if not s.clause.hedged]
    # What is to be changed is often called old: that retracts nothing of the task.
    held = {t.norm for c in clauses for i, t in enumerate(c.tokens) if not c.negated[i]}
    signs = [
        bool(held & owners or held & _PRONOUNS),
        bool(held & dates),
        any(item in citation.items for s in sentence for citation in s.citations),
    ]
    shared = held & subject
    if sum(signs) + (len(shared) >= 2) < 2 + (len(shared) < 2) and not (signs[0] and signs[1]):
        return None
    return Action(frozenset(shared | (held & owners)), signs[0], signs[1], signs[2])


def evidence_names(store: NoteIndex) -> set[str]:
    """People and things with capital letters in the evidence, folded, placeholders aside."""
    names: set[str] = set()
    for item in store.evidence:
        words = tokens(item.text)
        for position, token in enumerate(words):
            follower = words[position + 1] if position + 1 < len(words) else None
            paired = follower is not None and follower.is_name and follower.start == token.end + 1
            told = follower is not None and follower.raw in _AFTER_A_NAME
            if token.is_name and (position or paired or told):
                names.add(token.norm)
    return {name for name in names - _PLACEHOLDERS if not _TIME.fullmatch(name)} - _CALENDAR


def _action(verb: int, statement: Statement, sentence: list[Statement], names: set[str]) -> Action:
    own = {t.norm for i, t in enumerate(statement.clause.tokens) if i != verb and t.is_content}
    around = {t.norm for s in sentence for t in s.clause.tokens}
    text = " ".join(s.clause.text for s in sentence)
    cited = any(c.items for s in sentence for c in s.citations)
    return Action(frozenset(own), bool(around & names), bool(_TIME.search(text)), cited)


def _touches(statement: Statement, verb: int, action: Action, topic: set[str], asked: Collection[str]) -> bool:
    """Two words in common with the evidence; a file counts double, the verb, the question and a citation as one."""
    shared = action.words & topic
    if not shared:
        return False
    verb_known = statement.clause.tokens[verb].norm in topic
    files = sum("/" in word or "." in word for word in shared)
    return len(shared) + files + verb_known + action.cited + bool((action.words - shared) & set(asked)) >= 2


def _directive(statement: Statement, names: set[str], verbs: Collection[str]) -> int | None:
    """The position of the first verb that tells someone to act, if the clause has one that is not negated."""
    clause = statement.clause
    told = _Told(clause.text, clause.tokens, names, verbs).positions()
    return next((position for position in told if not clause.negated[position]), None)


class _Told:
    """Which words of a clause tell someone to act."""

    def __init__(self, text: str, words: list[Token], names: set[str], verbs: Collection[str]) -> None:
        self.text, self.words, self.names, self.verbs = text, words, names, verbs
        self.raw = [token.raw.casefold() for token in words]
        self.found: list[int] = []

    def positions(self) -> list[int]:
        for position, token in enumerate(self.words):
            known = token.norm in self.verbs and self._stands_as_verb(position)
            if known or obliged(self.words, position):
                self.found.append(position)
        return self.found

    def _stands_as_verb(self, position: int) -> bool:
        token, raw = self.words[position], self.raw[position]
        before = self.raw[max(0, position - 3) : position]
        is_base = not raw.endswith(("ed", "ing")) or raw in ("need", "embed", "feed")
        after_label = bool(_LABEL_END.search(self.text[: token.start].rstrip("[(* ")))
        if after_label or all(word in _CONNECTORS for word in self.raw[:position]):
            return is_base and not _is_noun_use(self.text, token)
        if self.words[position - 1].norm in self.names:
            return is_base and not raw.endswith("ss")
        if set(before) & _ADVICE or _PROPOSAL.search(self.text[: token.start]):
            return True
        if set(before) & _MODALS:
            return is_base or "be" in before
        if before[-1] == "to":
            return is_base and (len(before) == 1 or before[-2] in _LINKS or self.words[position - 2].norm in self.names)
        return is_base and before[-1] in _CONNECTORS and bool(self.found)


def obliged(words: list[Token], position: int) -> bool:
    """`must label`, `has to label`, `should be labelled`: an obligation makes a verb of any word."""
    word = words[position].raw.casefold()
    before = [token.raw.casefold() for token in words[max(0, position - 3) : position]]
    if not words[position].is_content or words[position].is_anchor or word in _STATES or not before:
        return False
    if before[-1] == "be":
        return word.endswith("ed") and len(before) > 1 and before[-2] in ("should", "must")
    return before[-1] in ("should", "must") or (before[-1] == "to" and len(before) > 1 and before[-2] in _OBLIGATIONS)


def _evidence_verbs(store: NoteIndex) -> set[str]:
    """What the evidence itself obliges someone to do."""
    texts = [tokens(item.text) for item in store.evidence]
    return {words[i].norm for words in texts for i in range(len(words)) if obliged(words, i)}


def _is_noun_use(text: str, token: Token) -> bool:
    """`Change: …` and `Fix` alone are labels."""
    return not text[token.end :].strip(" :.*-") or text[token.end :].lstrip("* ").startswith(":")


def _topic(store: NoteIndex) -> set[str]:
    """The words of the evidence, those inside paths and identifiers as well."""
    words = {t.norm for item in store.evidence for t in tokens(item.text) if t.is_content}
    parts = {part for item in store.evidence for part in content(_JOINTS.sub(" ", f"{item.text} {item.source}"))}
    return words | parts


def _is_same(one: Action, other: Action) -> bool:
    share, of = SAME
    return of * len(one.words & other.words) >= share * len(one.words | other.words)
