"""Opposites: the evidence's own words the other way round: denied, miscounted, one in the other's place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, islice, pairwise

import msgspec

from ...language.contradiction import contradicts
from .anchors import MEASURES, is_small
from .antonyms import is_same_by_negation, reversed_verbs
from .clauses import COLON, Clause, read
from .fixture import Note
from .places import COUNT, exchanged
from .statements import Statement
from .words import full_names, norms, stem, tokens, vocabulary

LEAST_DENIED = 3  # words of the evidence that a denial has in it
_ARTICLES = ("the", "a", "an")
_EMPHATIC = re.compile(r"\b(?:do|does|did|indeed|actually|always)\b", re.IGNORECASE)
_PERMITS = re.compile(r"\b(?:may|must|should|can|could|need|shall|will|would)(?: not\b|n't\b|not\b)", re.I)
_NEGATION = re.compile(r"\b(?:not|never|no|nor|neither|nobody|none|without)\b|n't\b", re.IGNORECASE)
_POLAR = re.compile(rf"{_NEGATION.pattern}|\bonly\b", re.IGNORECASE)  # without it the rules have nothing to turn
_NOT_VERB = re.compile(r"(?:\b(?:did|does|do|was|were|has|have|had) not|n't) (\w+)", re.IGNORECASE)
_ALL_BUT = re.compile(r"\ball but (\d{1,9})\b", re.IGNORECASE)
_COMPARING = frozenset(map(stem, vocabulary("over under above below before after late early")))
_DATE = re.compile(r"(?:\d{4}-)?\d\d-\d\d")
_WAS_DONE = re.compile(
    r"\b(?:was|were|has been|have been)(?: last| already)? (\w+ed)\b(?: \w+){0,3} on ((?:\d{4}-)?\d\d-\d\d)"
)
_DONE = vocabulary("had has have did was were been")
_NOT_YET = vocabulary("since until only before still unless")
_TURNING = vocabulary("by from instead place for after compared versus against")


def turned_round(said: list[Statement], evidence: Collection[Note], prompt: str) -> list[str]:
    """Sentences that say the opposite in the evidence's words: denied, `7 of 52` for `9 of 52`, A for B and B for A."""
    readings = [read(item.text) for item in evidence]
    sources = [clause for reading in readings for clause in reading.clauses]
    pairs = [pair for reading in readings for clauses in _sentences(reading.clauses) for pair in _pairs(clauses)]
    held = [s.clause for s in said if not any(s.clause.retracted) and not s.clause.hedged]
    wrong = [
        c.text for c in held if any(_denies(c, one) or _miscounts(c, one) or _told_as_done(c, one) for one in sources)
    ]
    wrong += _against_the_cited(said, evidence)
    notes = {item.id: reading.clauses for item, reading in zip(evidence, readings, strict=True)}
    wrong += reversed_verbs(said, notes, tokens(prompt))
    wrong += _of_other_things([_counted(reading.clauses) for reading in readings], _counted(s.clause for s in said))
    wrong += exchanged(sources, (s.clause for s in said))
    return wrong + [
        " ".join(clause.text for clause in clauses)
        for clauses in _sentences(s.clause for s in said)
        if any(one.is_exchanged(other) for other in _pairs(clauses) for one in pairs)
    ]


def _against_the_cited(said: list[Statement], evidence: Collection[Note]) -> Iterator[str]:
    """Clauses that can't hold together with the note that they cite."""
    texts = {item.id: item.text for item in evidence}
    for statement in said:
        clause = statement.clause
        cited = {item for citation in statement.citations for item in citation.items}
        if any(clause.retracted) or clause.hedged or _NOT_YET & {t.raw.casefold() for t in clause.tokens}:
            continue
        near = (item for item in sorted(cited & texts.keys()) if _POLAR.search(f"{clause.text} {texts[item]}"))
        against = (item for item in near if contradicts(texts[item], clause.text))
        if any(not is_same_by_negation(clause, read(texts[item]).clauses) for item in against):
            yield clause.text


def _of_other_things(units: list[set[tuple[str, str]]], said: set[tuple[str, str]]) -> Iterator[str]:
    """Counts with each other's words, and counts of things given as a measure: `212 days` for `212 requests`."""
    for known in map(sorted, units):  # in an order, since what is found goes into reports
        yield from (
            f"{one[0]} {other[1]}" for one in known for other in known if _crossed(one, other, set(known), said)
        )
    measured = {count for known in units for count, unit in known if unit in MEASURES}
    counts = {count for known in units for count, _ in known if not is_small(count)} - measured
    yield from (f"{count} {unit}" for count, unit in sorted(said) if unit in MEASURES and count in counts)


def _counted(clauses: Iterable[Clause]) -> set[tuple[str, str]]:
    """Numbers with the word behind them: `4 hours`, `6 shards`."""
    pairs = (pair for clause in clauses for pair in pairwise(clause.tokens))
    return {
        (one.norm, other.norm)
        for one, other in pairs
        if COUNT.fullmatch(one.norm) and other.raw.isalpha() and other.is_content
    }


def _crossed(
    one: tuple[str, str], other: tuple[str, str], known: set[tuple[str, str]], said: set[tuple[str, str]]
) -> bool:
    """`4 shards` and `6 hours` for `4 hours` and `6 shards`."""
    crossed = {(one[0], other[1]), (other[0], one[1])}
    return one[0] < other[0] and one[1] != other[1] and crossed <= said and not crossed & known


def _sentences(clauses: Iterable[Clause]) -> list[list[Clause]]:
    return [list(group) for _, group in groupby(clauses, key=lambda clause: clause.sentence)]


def _denies(clause: Clause, source: Clause) -> bool:
    """Most of the clause's words are a statement of the evidence, and it denies at least three of them."""
    if any(source.negated):
        return _affirms_denied(clause, source)
    if not any(clause.negated) or _NOT_YET & {t.raw.casefold() for t in clause.tokens}:
        return False
    if _is_task(source) or _PERMITS.search(clause.text) or is_same_by_negation(clause, [source]):
        return False
    stated = {t.norm for t in source.tokens if t.is_content}
    if not _denied_verbs(clause) & stated:
        return False
    near = _end_of_denial(clause)
    words = [(t, gone) for t, gone in zip(clause.tokens, clause.negated, strict=True) if t.is_content]
    known = [(t.norm[:1].isdigit(), gone, t.start < near) for t, gone in words if t.norm in stated]
    denied = sum(gone and not is_number for is_number, gone, _ in known)
    counted = sum(gone or (is_number and close) for is_number, gone, close in known)
    return denied > 1 and counted >= LEAST_DENIED and 3 * len(known) >= 2 * len(words)


def _denied_verbs(clause: Clause) -> set[str]:
    """The words right behind a negation: who did not make it through has not been said not to have failed."""
    found = set()
    for match in _NEGATION.finditer(clause.text):
        following = (t for t in clause.tokens if t.start >= match.end() and t.is_content and not t.is_anchor)
        found |= {token.norm for token in islice(following, 1)}
    return found


def _end_of_denial(clause: Clause) -> int:
    """Where the part between colons ends that has the last negated word: `it did not finish: at 02:14 it failed`."""
    last = max(token.start for token, gone in zip(clause.tokens, clause.negated, strict=True) if gone)
    colon = COLON.search(clause.text, last)
    return colon.start() if colon else len(clause.text)


def _affirms_denied(clause: Clause, source: Clause) -> bool:
    """`did read them` for the evidence's `did not read`: an emphatic verb, most words the evidence's; or its count."""
    if _affirms_of_count(clause, source):
        return True
    if not _EMPHATIC.search(clause.text):
        return False
    stated = {t.norm for t in source.tokens if t.is_content}
    words = [t.norm for t, gone in zip(clause.tokens, clause.negated, strict=True) if t.is_content and not gone]
    known = sum(norm in stated for norm in words)
    return known > LEAST_DENIED and 3 * known >= 2 * len(words)


def _affirms_of_count(clause: Clause, source: Clause) -> bool:
    """`had read them in 13 of those 21` where 13 of 21 is how often it did not."""
    denial = _NOT_VERB.search(source.text)
    counts = {t.norm for t in source.tokens if COUNT.fullmatch(t.norm)}
    if denial is None or not counts & {t.norm for t in clause.tokens}:
        return False
    verb = norms(denial[1])[0]
    return any(
        token.norm == verb and not clause.negated[i] and clause.tokens[i - 1].raw.casefold() in _DONE
        for i, token in enumerate(clause.tokens)
        if i
    )


def _told_as_done(clause: Clause, source: Clause) -> bool:
    """`was reviewed on 28 March` where somebody has to review by then."""
    done = _WAS_DONE.search(clause.text)
    dates = {t.norm for t in source.tokens if _DATE.fullmatch(t.norm)}
    if done is None or not _is_task(source) or done[2] not in dates or clause.negated[0]:
        return False
    return norms(done[1])[0] in {t.norm for t in source.tokens}


def _is_task(clause: Clause) -> bool:
    """`Ana Ruiz to file …`, `must file`: what shall be is no statement that could be denied."""
    words = clause.tokens
    told = any(later.norm == "to" and earlier.is_name for earlier, later in pairwise(words))
    return told or any(token.norm in ("must", "should") for token in words)


def _miscounts(clause: Clause, source: Clause) -> bool:
    """`7 of 52` where the evidence has `9 of 52`; the rest, `43 of 52`, may be meant; `all but 9` is the rest."""
    if any(_behind(count, clause) & _behind(count, source) for count in _ALL_BUT.findall(clause.text)):
        return True
    stated = {whole: part for part, whole in _shares(source)}
    return any(
        whole in stated and part not in (stated[whole], whole - stated[whole]) for part, whole in _shares(clause)
    )


def _behind(count: str, clause: Clause) -> set[str]:
    """The words that a count is followed by."""
    position = next((i for i, token in enumerate(clause.tokens) if token.norm == count), len(clause.tokens))
    return {token.norm for token in clause.tokens[position + 1 :] if token.is_content or token.norm in _COMPARING}


def _shares(clause: Clause) -> Iterator[tuple[int, int]]:
    """`9 of 52`, `9 of the 52` as pairs of numbers."""
    words = [token.norm for token in clause.tokens if token.norm != "the"]
    for one, of, other in zip(words, words[1:], words[2:], strict=False):
        if of == "of" and one.isdecimal() and other.isdecimal():
            yield int(one), int(other)


class _Pair(msgspec.Struct, frozen=True):
    """Two names or two numbers of a sentence, in their order, and the words between them."""

    first: str
    second: str
    between: frozenset[str]

    def is_exchanged(self, other: _Pair) -> bool:
        """The other has the two in reverse, around the same words."""
        turned = (self.first, self.second) == (other.second, other.first)
        return turned and self.between <= other.between and not (other.between - self.between) & _TURNING


def _pairs(clauses: list[Clause]) -> Iterator[_Pair]:
    """The only two full names of a sentence, its only two numbers, and the numbers of `from X to Y`."""
    words = [token for clause in clauses for token in clause.tokens]
    for i, token in enumerate(words[:-3]):
        if token.norm == "from" and words[i + 1].is_anchor and words[i + 2].norm == "to" and words[i + 3].is_anchor:
            yield _Pair(words[i + 1].norm, words[i + 3].norm, frozenset())
    names = full_names(words)
    names = [i for i in names if i - 1 not in names]
    if len(names) == 2:
        full = [f"{words[i].norm} {words[i + 1].norm}" for i in names]
        between = frozenset(t.norm for t in words[names[0] + 2 : names[1]] if t.norm not in _ARTICLES)
        if between:
            yield _Pair(full[0], full[1], between)
    counts = [i for i, token in enumerate(words) if COUNT.fullmatch(token.norm)]
    for one, other in pairwise(counts):
        # Units belong to the numbers, not to what stands between them.
        start = one + 2 if one + 1 < other and words[one + 1].norm in MEASURES else one + 1
        between = frozenset(t.norm for t in words[start:other] if t.norm not in _ARTICLES and not t.is_anchor)
        if between:
            yield _Pair(words[one].norm, words[other].norm, between)
