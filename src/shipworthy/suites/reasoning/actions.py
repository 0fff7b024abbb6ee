"""Actions: what an answer tells someone to do, with who and when."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from shipworthy.suites.reasoning.affirmed import Statement
from shipworthy.suites.reasoning.anchors import Store
from shipworthy.suites.reasoning.words import Token, stem, tokens

DIRECTIVES = frozenset(
    stem(verb)
    for verb in """add adjust align alert analyse analyze announce apply approve archive ask assign audit automate avoid
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
    watch wire withdraw write""".split()
)
_MODALS = frozenset("should must will shall let's please ought needs need has have can".split())
_LINKS = frozenset("to is are be and then for now also keep step action plan help helps next left remains".split())
_ADVICE = frozenset("recommend recommends suggest suggests propose proposes consider advise".split())
_PLACEHOLDERS = frozenset("tbd tba todo operator owner someone somebody anyone team none unknown na person user".split())
_TIME = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:morning|week|month|sprint)|next (?:week|month|sprint)|immediately|nightly|daily"
    r"|weekly|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|end of (?:day|week|month)|\d{4}-\d\d-\d\d"
    r"|within \d+ \w+|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2})\b",
    re.IGNORECASE,
)
_LABEL_END = re.compile(r"[:–—-]\s*$")
SAME = 4, 5  # shared words of two actions, as a share of all of theirs, from which they are one


@dataclass(frozen=True)
class Action:
    """Something to be done that touches the evidence."""

    words: frozenset[str]
    owned: bool
    timed: bool


def find_actions(said: list[Statement], store: Store) -> list[Action]:
    """The actions of an answer, near-duplicates once."""
    names = evidence_names(store)
    topic = _topic(store) - names
    found: list[Action] = []
    for statement in said:
        verb = _directive(statement, names)
        if verb is None:
            continue
        sentence = [s for s in said if s.clause.sentence == statement.clause.sentence]
        action = _action(verb, statement, sentence, names, topic)
        if action and not any(_is_same(action, other) for other in found):
            found.append(action)
    return found


def evidence_names(store: Store) -> set[str]:
    """People and things with capital letters in the evidence, folded, placeholders aside."""
    names: set[str] = set()
    for item in store.evidence:
        words = tokens(item.text)
        for position, token in enumerate(words):
            follower = words[position + 1] if position + 1 < len(words) else None
            paired = follower is not None and follower.is_name and follower.start == token.end + 1
            if token.is_name and (position or paired):
                names.add(token.norm)
    return names - _PLACEHOLDERS


def _action(
    verb: int, statement: Statement, sentence: list[Statement], names: set[str], topic: Collection[str]
) -> Action | None:
    own = {t.norm for t in statement.clause.tokens[verb + 1 :] + statement.clause.tokens[:verb]}
    around = {t.norm for s in sentence for t in s.clause.tokens}
    cited = any(c.items for s in sentence for c in s.citations)
    touched = own & set(topic) - {statement.clause.tokens[verb].norm}
    if len(touched) + cited < 2 or not touched:
        return None
    text = " ".join(s.clause.text for s in sentence)
    return Action(frozenset(own), bool(around & names), bool(_TIME.search(text)))


def _directive(statement: Statement, names: set[str]) -> int | None:
    """The position of the first verb that tells someone to act, if the clause has one that is not negated."""
    clause = statement.clause
    words = clause.tokens
    for position, token in enumerate(words):
        if token.norm not in DIRECTIVES or clause.negated[position] or token.raw.casefold().endswith("n't"):
            continue
        if _is_told(clause.text, words, position, names):
            return position
    return None


def _is_told(text: str, words: list[Token], position: int, names: set[str]) -> bool:
    token = words[position]
    raw = token.raw.casefold()
    before = [t.raw.casefold() for t in words[max(0, position - 3) : position]]
    is_base = not raw.endswith(("ed", "ing")) or raw in ("need", "embed", "feed")
    after_label = bool(_LABEL_END.search(text[: token.start].rstrip("[(* ")))
    if not before or after_label:
        return is_base and not _is_noun_use(text, token)
    previous = words[position - 1]
    if previous.norm in names:
        return is_base and not raw.endswith("ss")
    if set(before) & _ADVICE:
        return True
    if set(before) & _MODALS:
        return is_base or "be" in before
    if before[-1] == "to":
        return is_base and (len(before) == 1 or before[-2] in _LINKS or words[position - 2].norm in names)
    return is_base and before[-1] in ("then", "please", "and") and _told_earlier(text, words, position, names)


def _told_earlier(text: str, words: list[Token], position: int, names: set[str]) -> bool:
    return any(
        words[i].norm in DIRECTIVES and _is_told(text, words, i, names) for i in range(position - 1)
    )


def _is_noun_use(text: str, token: Token) -> bool:
    """`Change: …` and `Fix` alone are labels."""
    return not text[token.end :].strip(" :.*-") or text[token.end :].lstrip("* ").startswith(":")


def _topic(store: Store) -> set[str]:
    return {t.norm for item in store.evidence for t in tokens(item.text) if t.is_content}


def _is_same(one: Action, other: Action) -> bool:
    share, of = SAME
    return of * len(one.words & other.words) >= share * len(one.words | other.words)
