"""Attribution: numbers, names and whole clauses given as the word of a note that does not have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .anchors import NoteIndex, in_brackets, is_small_count, labels, plain_anchors
from .statements import Statement, cited_for
from .words import full_names

FOREIGN = 3  # words that another note has more of
_YEAR = re.compile(r"(?:19|20)\d\d")


def misattributed(said: list[Statement], store: NoteIndex) -> list[str]:
    """Numbers, dates and times given as the word of items that don't have them, though another item has."""
    wrong = []
    for statement in said:
        gone = any(statement.clause.retracted)
        former = {
            t.start for t, taken in zip(statement.clause.tokens, statement.clause.retracted, strict=True) if taken
        }
        for token in plain_anchors(statement.clause.text, list(statement.citations)):
            if not token.norm[:1].isdigit() or is_small_count(statement.clause.text, token):
                continue
            # When something gave way is the word of what it gave way to.
            if _YEAR.fullmatch(token.norm) or token.start in former or (gone and "-" in token.norm):
                continue
            same = {token.norm, token.norm.rstrip("%"), token.norm + "%"}
            holders = {item for item, words in store.words.items() if same & words}
            cited = cited_for(statement, token, said)
            if cited and holders and not holders & cited and not same & store.asked:
                wrong.append(token.raw)
        wrong += _misnamed(statement, said, store)
        wrong += _mislabelled(statement, said, store)
        wrong += [] if gone else _misplaced(statement, store)
    return wrong


def _misplaced(statement: Statement, store: NoteIndex) -> list[str]:
    """A clause that is cited to one note and made of the words of another: three more of them than of its own."""
    cited = {item for citation in statement.citations for item in citation.items}
    if not cited:
        return []
    end = max(citation.start for citation in statement.citations)
    told = [t for t in statement.clause.tokens if t.start < end and t.is_content]
    words = {token.norm for token in told if not token.norm[:1].isdigit()}
    own = max(len(words & store.words[item]) for item in cited)
    other = max((len(words & known) for item, known in store.words.items() if item not in cited), default=0)
    return [statement.clause.text] if other - own >= FOREIGN else []


def _mislabelled(statement: Statement, said: list[Statement], store: NoteIndex) -> Iterator[str]:
    """`hive 6` given as the word of a note on `hive 2`, `E5` of a note on `E3`: another thing of the same kind."""
    words = statement.clause.tokens
    spans = [(citation.start, citation.end) for citation in statement.citations]
    for kind, name, token in labels(words):
        aside = in_brackets(statement.clause.text, token.start)  # `(that is W-5531, another claim)`
        if aside or any(start <= token.start < end for start, end in spans):
            continue
        cited = cited_for(statement, token, said)
        theirs = [store.labels[item] for item in cited]
        others = {other for found in theirs for one, other in found if one == kind}
        known = any((kind, name) in found for found in store.labels.values())
        if known and others and name not in others and name not in store.asked:
            yield token.raw


def _misnamed(statement: Statement, said: list[Statement], store: NoteIndex) -> Iterator[str]:
    """Full names given as the word of items that don't have them, though another item has."""
    words = statement.clause.tokens
    names = full_names(words)
    for i in names:
        full = {words[i].norm, words[i + 1].norm}
        holders = {item for item, known in store.words.items() if full <= known}
        cited = cited_for(statement, words[i], said, nearest=len(names) > 1)
        if cited and holders and not holders & cited and not full <= store.asked:
            yield f"{words[i].raw} {words[i + 1].raw}"
