"""Antonyms: what the evidence lets rise and the answer lets fall, in one's own words for the same thing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .clauses import Clause
from .places import COUNT
from .statements import Statement
from .words import Token, stem, vocabulary

LEAST_SHARED = 2  # words that clause and note have in common beside the opposite ones
_TOWARDS = vocabulary("to from at by")
Mark = tuple[str, ...]  # one word, or two that stand together

# Sides that shut each other out in the same place; `went_through` is two words.
OPPOSITES = """
    rose rise risen rises increased increases grew grown climbed climbs jumped doubled went_up
        | fell fall fallen falls decreased decreases shrank shrunk dropped drops halved sank went_down \
            down_to brought_down
    raised raise raises lifted lift extended extend widened widen
        | lowered lower lowers cut cuts reduced reduce shortened shorten tightened tighten
    failed fails fail broke crashed aborted | succeeded succeeds completed passed pass went_through ran_through finished
    confirmed confirm upheld | rejected refuted dismissed overturned threw_out turned_down denied
    let lets allow allows permit permits | stop stops prevent prevents forbid forbids bar bars ban bans
    deleted delete deletes removed remove purge erased | keep keeps kept restore restores restored retain retained
    accepted accept | refused refuse rejected reject
    gain improvement improved improve better | loss worse worsened deterioration
    legitimate genuine | fraudulent bogus
    rerun restart | cancel cancels cancelled
    full | empty
    add adds added | remove removes removed drop drops dropped
    split splits | merge merges join joins combine combines
    slow slower | fast faster
    later | sooner
    over above exceeded exceeds | within under below
"""


def _side(words: str) -> frozenset[Mark]:
    return frozenset(tuple(map(stem, word.split("_"))) for word in vocabulary(words))


def _sides() -> Iterator[tuple[frozenset[Mark], frozenset[Mark]]]:
    lines = OPPOSITES.replace("\n        |", " |").strip().splitlines()
    for line in lines:
        left, _, right = line.partition("|")
        yield _side(left), _side(right)
        yield _side(right), _side(left)


SIDES = tuple(_sides())


def reversed_verbs(said: Sequence[Statement], notes: Mapping[str, Sequence[Clause]], prompt: list[Token]) -> list[str]:
    """Clauses that put the opposite of what their note has, where nobody else uses that word.

    The note is the one that is cited, else the one that has most of the clause's words.
    """
    spoken = set(_marks(prompt)).union(*(_marks(clause.tokens) for clauses in notes.values() for clause in clauses))
    wrong = []
    for statement in said:
        clause = statement.clause
        if clause.hedged or clause.asked or any(clause.retracted):
            continue
        if any(_is_reversed(clause, source, spoken) for source in _spoken_of(statement, notes)):
            wrong.append(clause.text)
    return wrong + _reversed_counts([s.clause for s in said], notes, spoken)


def is_same_by_negation(clause: Clause, sources: Iterable[Clause]) -> bool:
    """`did not pass` where the note says `failed`."""
    said = {mark for mark, i in _marks(clause.tokens).items() if clause.negated[i]}
    stated = {mark for source in sources for mark, i in _marks(source.tokens).items() if not source.negated[i]}
    return any(side & stated and other & (said - stated) and not side & said for side, other in SIDES)


def _reversed_counts(said: list[Clause], notes: Mapping[str, Sequence[Clause]], spoken: Collection[Mark]) -> list[str]:
    """`rejected 7 and confirmed 2` for `confirmed 7`: the opposite word right before the count."""
    known = {pair for clauses in notes.values() for clause in clauses for pair in _before_counts(clause)}
    return [
        f"{word} {count}"
        for clause in said
        if not clause.hedged and not any(clause.retracted)
        for word, count in _before_counts(clause)
        for side, opposite in SIDES
        if (word,) in opposite
        and (word,) not in spoken
        and any((stated,) in side for stated, of in known if of == count)
    ]


def _before_counts(clause: Clause) -> Iterator[tuple[str, str]]:
    """Each count with the word that it follows, straight or as in `raised to 40`, unless that is denied."""
    for i, token in enumerate(clause.tokens):
        before = i - 2 if i > 1 and clause.tokens[i - 1].norm in _TOWARDS else i - 1
        if before >= 0 and COUNT.fullmatch(token.norm) and not clause.negated[before]:
            yield clause.tokens[before].norm, token.norm


def _spoken_of(statement: Statement, notes: Mapping[str, Sequence[Clause]]) -> Iterable[Clause]:
    cited = {item for citation in statement.citations for item in citation.items}
    if cited:
        return [clause for item in sorted(cited & notes.keys()) for clause in notes[item]]
    words = _content(statement.clause)
    shared = {item: len(words & set().union(*map(_content, clauses))) for item, clauses in notes.items()}
    most = max(shared.values(), default=0)
    nearest = [item for item, count in shared.items() if count == most]
    return notes[nearest[0]] if len(nearest) == 1 else ()


def _is_reversed(clause: Clause, source: Clause, spoken: Collection[Mark]) -> bool:
    said, stated = _marks(clause.tokens), _marks(source.tokens)
    for side, other in SIDES:
        there, here = side & stated.keys(), (other & said.keys()) - set(spoken)
        if not there or not here or other & stated.keys() or side & said.keys():
            continue
        turned = any(source.negated[stated[mark]] for mark in there) or any(clause.negated[said[mark]] for mark in here)
        common = (_content(clause) & _content(source)) - {word for mark in there | here for word in mark}
        if not turned and len(common) >= LEAST_SHARED:
            return True
    return False


def _marks(words: Sequence[Token]) -> dict[Mark, int]:
    """Each word, and each two that follow each other, with the place of the first."""
    marks: dict[Mark, int] = {(token.norm,): i for i, token in enumerate(words)}
    return marks | {(words[i].norm, words[i + 1].norm): i for i in range(len(words) - 1)}


def _content(clause: Clause) -> set[str]:
    return {token.norm for token in clause.tokens if token.is_content}
