"""Affirmed: whether an answer says that a value or a phrase holds, denies it, or ties it to the wrong source."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from shipworthy.suites.reasoning.anchors import Citation, Store, find_citations
from shipworthy.suites.reasoning.clauses import Clause, Reading, read
from shipworthy.suites.reasoning.fixture import Binding
from shipworthy.suites.reasoning.words import FUNCTION_STEMS, Token, tokens

Standing = Literal["bound", "elsewhere", "uncited", "misbound", "denied", "absent"]
SHORT_CLAUSE = 5  # content words; a terser clause need not repeat the question


@dataclass(frozen=True)
class Statement:
    """A clause of the answer with the citations in it."""

    clause: Clause
    citations: tuple[Citation, ...]


def statements(reading: Reading, store: Store) -> list[Statement]:
    return [Statement(c, tuple(find_citations(c.text, store))) for c in reading.clauses if not c.word_list]


def standing(binding: Binding, said: list[Statement], store: Store) -> Standing:
    """How the answer treats a bound value: the worst of wrong, else the best of right."""
    own, rivals = _ids(binding.source, store), _ids(binding.rivals, store)
    denial_counts = _asserted_by(binding, own, store)
    found: set[Standing] = set()
    for statement in said:
        for span in occurrences(binding.value, statement.clause.tokens):
            if statement.clause.hedged:
                continue
            if denial_counts and not statement.clause.asserts(span[0]):
                found.add("denied")
            else:
                found.add(_attribution(statement, span, said, own, rivals))
    cited = any(set(c.items) & own for s in said for c in s.citations)
    if "uncited" in found and cited:
        found.add("elsewhere")
    order: tuple[Standing, ...] = ("misbound", "bound", "elsewhere", "uncited", "denied")
    # A value that is denied once and affirmed nowhere is denied; one that is both is the answer's correction.
    return next((kind for kind in order if kind in found), "absent")


def occurrences(value: str, words: list[Token]) -> list[tuple[int, int]]:
    """Where a value stands among the words: in full, a name by one half, a number without its unit."""
    wanted = [token for token in tokens(value) if token.is_content] or tokens(value)
    if not wanted:
        return []
    norms = [token.norm for token in wanted]
    size = len(norms)
    content = [(i, t) for i, t in enumerate(words) if t.is_content or t.norm in norms]
    found = [
        (content[i][0], content[i + size - 1][0])
        for i in range(len(content) - size + 1)
        if [t.norm for _, t in content[i : i + size]] == norms
    ]
    if found or size == 1:
        return found
    if all(token.is_name for token in wanted):
        return [(i, i) for i, t in enumerate(words) if t.norm == norms[0] and t.raw[:1].isupper()]
    if size == 2 and wanted[0].norm[:1].isdigit() and not wanted[1].is_anchor:
        return [(i, i) for i, t in enumerate(words) if t.norm == norms[0] and not _has_other_unit(words, i)]
    return []


def affirms(phrase: str, said: list[Statement], prompt_words: Collection[str]) -> bool:
    """Whether some clause says what the phrase says, with the same polarity.

    Words that the question already has need not be repeated; numbers, identifiers and names must be there.
    """
    pattern = _Pattern(phrase, prompt_words)
    return any(pattern.matches(statement.clause) for statement in said)


class _Pattern:
    def __init__(self, phrase: str, prompt_words: Collection[str]) -> None:
        words: dict[str, bool] = {}
        self.anchors: set[str] = set()
        for clause in read(phrase).clauses:
            for position, token in enumerate(clause.tokens):
                if token.is_content and not _is_cue(token):
                    words[token.norm] = clause.asserts(position)
                    if token.is_anchor or token.norm.isdigit() or (token.is_name and position):
                        self.anchors.add(token.norm)
        own = {norm: polarity for norm, polarity in words.items() if norm not in prompt_words}
        self.own = own or words
        self.shared = {} if not own else {n: p for n, p in words.items() if n in prompt_words}

    def matches(self, clause: Clause) -> bool:
        if clause.hedged or not self.own:
            return False
        said: dict[str, set[bool]] = {}
        for position, token in enumerate(clause.tokens):
            said.setdefault(token.norm, set()).add(clause.asserts(position))
        hits = {norm for norm, polarity in self.own.items() if polarity in said.get(norm, ())}
        if not (self.anchors & self.own.keys()) <= hits or 3 * len(hits) < 2 * len(self.own):
            return False
        context = any(norm in said for norm in self.shared) or len(hits) > 1
        return context or not self.shared or sum(t.is_content for t in clause.tokens) <= SHORT_CLAUSE


def _attribution(
    statement: Statement, span: tuple[int, int], said: list[Statement], own: set[str], rivals: set[str]
) -> Standing:
    """Whose word the value is given as: the citation attached to it, else any in the same sentence."""
    attached = set(_attached(statement, span))
    if not attached:
        same = [s for s in said if s.clause.sentence == statement.clause.sentence]
        attached = {item for s in same for c in s.citations for item in c.items if _covers(s, c, statement)}
    if attached & own:
        return "bound"
    if attached & rivals:
        return "misbound"
    return "elsewhere" if attached else "uncited"


def _covers(other: Statement, citation: Citation, statement: Statement) -> bool:
    """A citation of another clause covers this one unless that clause speaks of something retracted."""
    if other is statement:
        return True
    return not any(other.clause.retracted)


def _attached(statement: Statement, span: tuple[int, int]) -> Iterator[str]:
    """A bracketed citation covers what stands before it, a bare one what stands nearest."""
    first, last = statement.clause.tokens[span[0]], statement.clause.tokens[span[1]]
    after = [c for c in statement.citations if c.start >= last.end]
    before = [c for c in statement.citations if c.end <= first.start]
    bracketed = [c for c in after if c.bracketed]
    leading = [c for c in before if not c.bracketed or not statement.clause.text[: c.start].strip("[( ")]
    candidates = [(c.start - last.end, c) for c in bracketed[:1]]
    candidates += [(c.start - last.end, c) for c in after if not c.bracketed][:1]
    candidates += [(first.start - c.end, c) for c in leading[-1:]]
    if bracketed and any(c.bracketed for c in leading):
        candidates = [pair for pair in candidates if pair[1] not in leading]
    if not candidates:
        return
    nearest = min(distance for distance, _ in candidates)
    chosen = next(c for distance, c in candidates if distance == nearest)
    yield from chosen.items
    # [n1] [n2] and [n1, n2] are one reference.
    for citation in after:
        if citation.bracketed and chosen.bracketed and 0 <= citation.start - chosen.end <= 3:
            yield from citation.items
            chosen = citation


def _asserted_by(binding: Binding, own: set[str], store: Store) -> bool:
    """Whether the value's own source states it plainly; if it is itself a denial, either wording is right."""
    for item in store.evidence:
        if item.id in own:
            for clause in read(item.text).clauses:
                for span in occurrences(binding.value, clause.tokens):
                    return clause.asserts(span[0])
    return True


def _ids(references: Collection[str], store: Store) -> set[str]:
    return {item for reference in references for item in store.naming(reference)}


def _has_other_unit(words: list[Token], position: int) -> bool:
    following = words[position + 1] if position + 1 < len(words) else None
    if following is None or following.start > words[position].end + 1:
        return False
    return following.norm not in FUNCTION_STEMS and not following.is_anchor


def _is_cue(token: Token) -> bool:
    return token.raw.casefold() in _CUES


_CUES = frozenset(
    "superseded outdated stale obsolete older old former previous longer date deprecated wrong incorrect replaced".split()
)
