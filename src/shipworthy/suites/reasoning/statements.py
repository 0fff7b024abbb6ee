"""Statements: the clauses of an answer with what they cite, and which citation covers which word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from .anchors import Citation, NoteIndex, find_citations
from .clauses import Clause, Reading
from .words import Token, stem, vocabulary

LEAST_REPORTING = 6  # such words, each counted once
_REPORTING = frozenset(
    map(
        stem,
        vocabulary("""evidence source owner risk next step confidence impact status finding action item priority summary
    recommendation recommended decision follow-up timeline mitigation context conclusion insight stakeholder deadline
    outcome overview assessment"""),
    )
)
JOINED = 6  # characters between two citations that are one
CONTRAST = re.compile(r"(?:but|whereas|while|although|though|however)\b", re.IGNORECASE)
_COMPARED = re.compile(r"\b(?:up from|down from|instead of|rather than|compared|versus|vs)\b", re.IGNORECASE)
_NAMES_SOURCE = re.compile(r"(?:that|this)(?:'s| is| was| comes)\b|source:", re.IGNORECASE)
_TO_BE_CHANGED = re.compile(r"\s+(?:should|must|needs? to|has to|have to|is to|are to|will)\b", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:commit|put|writ|copy|carr|align|updat|chang|correct|fix|set|bring|edit|amend|rewrit|adjust|replac|swap"
    r"|mend|repair|clean|delet|remov)\w{0,4}\b",
    re.IGNORECASE,
)


class Statement(msgspec.Struct, frozen=True):
    """A clause of the answer with the citations in it."""

    clause: Clause
    citations: tuple[Citation, ...]


def statements(reading: Reading, store: NoteIndex) -> list[Statement]:
    if _is_only_reporting(reading, store):
        return []
    return [Statement(c, tuple(_speaking(c, store))) for c in reading.clauses if not c.word_list]


def _is_only_reporting(reading: Reading, store: NoteIndex) -> bool:
    """Whether words of reporting that nobody asked for, labels aside, make up much of what is said."""
    words = [(c, t) for c in reading.clauses for t in c.tokens if t.is_content and not t.is_anchor]
    told = [t.norm for c, t in words if t.norm in _REPORTING - store.known and c.text[t.end : t.end + 1] != ":"]
    return len(set(told)) >= LEAST_REPORTING and 4 * len(told) >= len(words)


def _speaking(clause: Clause, store: NoteIndex) -> Iterator[Citation]:
    """The citations of a clause, without the files that someone shall change: these are objects, not sources."""
    change = _CHANGES.search(clause.text)
    for citation in find_citations(clause.text, store):
        is_object = bool(change and change.end() <= citation.start)
        is_object = is_object or bool(_TO_BE_CHANGED.match(clause.text, citation.end))
        is_object = is_object and not citation.bracketed and ":" not in citation.text
        if not is_object or not re.search(r"[./]", citation.text):
            yield citation


def cited_for(
    statement: Statement, token: Token, said: list[Statement], back: bool = False, nearest: bool = False
) -> set[str]:
    """What a clause cites; where nothing is cited behind the word, also what the sentence cites next.

    A clause without citations may mean what was cited before it as well; with `back` that is enough.
    """
    behind = [citation for citation in statement.citations if citation.start >= token.start]
    own = {item for citation in statement.citations for item in citation.items}
    if behind and nearest and all(citation.bracketed for citation in statement.citations):
        # In brackets they stand behind what they cover: the nearest one, with those beside it.
        return {item for citation in _together(behind) for item in citation.items}
    if behind and not any(statement.clause.retracted):
        return own
    same = [s for s in said if s.clause.sentence == statement.clause.sentence]
    place = next(i for i, other in enumerate(same) if other is statement)
    cited = [{item for c in other.citations for item in c.items} for other in same]
    following: set[str] = set()
    for other, items in zip(same[place + 1 :], cited[place + 1 :], strict=True):
        if _COMPARED.search(other.clause.text):  # `1200 EUR, up from 900 [n1], by 19 March [n2]`
            continue
        if items or CONTRAST.match(other.clause.text):
            following = set() if CONTRAST.match(other.clause.text) else items
            break
    preceding: set[str] = next((items for items in reversed(cited[:place]) if items), set())
    following = following or _named_next(said, statement)
    if not own and not following and not back:
        return set()
    return own | following | (set() if own else preceding)


def _named_next(said: list[Statement], statement: Statement) -> set[str]:
    """`… at most 70%. That's the memo of July (n4)`: the next sentence names the source."""
    following = next((s for s in said if s.clause.sentence == statement.clause.sentence + 1), None)
    if following is None or not _NAMES_SOURCE.match(following.clause.text):
        return set()
    return {item for citation in following.citations for item in citation.items}


def _together(citations: Sequence[Citation]) -> Iterator[Citation]:
    """The first citation and what is joined to it: `[n1] [n2]`, `(n1, n2)`, `n1 and n2`."""
    end = citations[0].end
    for citation in citations:
        if citation.start - end > JOINED:
            return
        yield citation
        end = citation.end
