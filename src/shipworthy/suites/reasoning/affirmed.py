"""Affirmed: whether an answer says that a value or a phrase holds, denies it, or ties it to the wrong source."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

from .anchors import MEASURES, Citation, NoteIndex
from .antonyms import is_same_by_negation
from .clauses import WRITTEN, Clause, read
from .fixture import Binding
from .statements import CONTRAST, Statement, cited_for
from .words import FUNCTION_STEMS, NUMBER_WORDS, Token, tokens, vocabulary

Standing = Literal["bound", "elsewhere", "uncited", "misbound", "denied", "doubted", "absent"]
Affirmed = Literal["yes", "reported", "no"]
SHORT_CLAUSE = 5  # content words; a terser clause need not repeat the question
NEAR = 8  # words between the two numbers of `9 of 52`
_AGAINST = re.compile(r"\b(?:against|versus|vs)\b", re.IGNORECASE)
_SAYS = re.compile(
    r"\b(?:says?|said|gives?|gave|names?|lists?|claims?|promises?|speaks?|shows?|puts?|states?|has|had)\b", re.I
)
_SETTLES = re.compile(r"\b(?:wins|prevails|takes precedence|later word|overrides?|supersedes?)\b", re.IGNORECASE)
_EXPECTED = re.compile(
    r"\b(?:instead of|rather than) the (?:promised|agreed|planned|allowed|permitted|targeted|budgeted|expected"
    r"|required|intended)"
    r"(?: \w+){0,2} $",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\bboth (?:say|state|give|have|name|agree)", re.IGNORECASE)
_PLACED = re.compile(
    rf"(?:[\w.'-]+ ){{0,2}}(?:\d[\w.,%]*|{'|'.join(NUMBER_WORDS)})(?: [\w°]+){{0,2}}"
    r" (?:on|in|per|at|from|by|according to)"
    r" (?:(?:the |our )?[\w./ '-]{2,40}[\[(]|\S{1,200}\.\w{2,5}:\d)"
    rf"|(?:\w+ ){{0,3}}{WRITTEN}(?: \w+)?(?::| –) \d",
    re.IGNORECASE,
)
_ENDORSES = re.compile(
    r"\b(?:holds|stands|wins|prevails|applies|counts|operative|authoritative|binding|still (?:true|right|correct"
    r"|valid|current)"
    r"|is (?:true|right|correct|valid|current|in force)|go with|stick with|stay with|trust|follow|remains?)\b",
    re.IGNORECASE,
)


def standing(binding: Binding, said: list[Statement], store: NoteIndex) -> Standing:
    """How the answer treats a bound value: the worst of wrong, else the best of right."""
    own, rivals = _ids(binding.source, store), _ids(binding.rivals, store)
    holds = _reader_of(binding, own, store)
    sources = [clause for item in store.evidence if item.id in own for clause in read(item.text).clauses]
    spoken = {word for item in own for word in store.words[item]}
    found: set[Standing] = set()
    for statement in said:
        for span in occurrences(binding.value, statement.clause.tokens, spoken):
            if statement.clause.hedged:
                continue
            attribution = _attribution(statement, span, said, own, rivals)
            if attribution == "bound" and _EXPECTED.search(
                statement.clause.text, 0, statement.clause.tokens[span[0]].start
            ):
                found.add(attribution)  # `22 minutes instead of the promised 15 [n217]`
                continue
            if attribution == "misbound" and statement.clause.retracted[span[0]]:
                continue  # the rival's word, taken back
            said_so = any(holds(statement.clause, position) for position in range(span[0], span[1] + 1))
            if said_so or is_same_by_negation(statement.clause, sources):
                found.add(attribution)
            else:
                found.add("denied" if attribution == "bound" else "doubted")
    if not found:
        found |= _in_one_sentence(binding, said, own)
    if "uncited" in found and any(set(c.items) & own for s in said for c in s.citations):
        found.add("elsewhere")
    order: tuple[Standing, ...] = ("misbound", "denied", "bound", "elsewhere", "uncited", "doubted")
    # What is doubted in one place and affirmed in another is the answer's own correction.
    return next((kind for kind in order if kind in found), "absent")


def _in_one_sentence(binding: Binding, said: list[Statement], own: set[str]) -> set[Standing]:
    """`25 of 31 in time, 6 late` has the two numbers of `6 of 31`, in two clauses."""
    wanted = {token.norm for token in tokens(binding.value) if token.is_content}
    if len(wanted) != 2 or not all(norm.isdecimal() for norm in wanted):
        return set()
    for number in sorted({s.clause.sentence for s in said}):
        same = [s for s in said if s.clause.sentence in (number, number + 1)]
        held = {t.norm for s in same for i, t in enumerate(s.clause.tokens) if s.clause.asserts(i)}
        if wanted <= held:
            return {"bound" if any(set(c.items) & own for s in same for c in s.citations) else "uncited"}
    return set()


def occurrences(value: str, words: list[Token], spoken: Collection[str] = ()) -> list[tuple[int, int]]:
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
        return [
            (i, i)
            for i, t in enumerate(words)
            if t.norm == norms[0] and not _has_other_unit(words, i, wanted[1], spoken)
        ]
    if size == 2 and all(token.norm.isdecimal() for token in wanted):  # `9 flags on 52 requests` for `9 of 52`
        places = [next((i for i, t in content if t.norm == norm), None) for norm in norms]
        if None not in places and abs((places[0] or 0) - (places[1] or 0)) <= NEAR:
            return [(min(places[0] or 0, places[1] or 0), max(places[0] or 0, places[1] or 0))]
    return []


def affirms(
    phrase: str,
    said: list[Statement],
    prompt_words: Collection[str],
    speakers: Collection[str] = (),
    since: int | None = None,
    whole: bool = False,
) -> Affirmed:
    """Whether some clause says what the phrase says, with the same polarity, on its own account or a source's.

    Words that the question already has need not be repeated; numbers, identifiers and names must be there, and of the
    other words two in three, or with `whole` all where there is no number or name to hold on to. What comes
    after the statement `since`, is cited to one of the speakers and is not put as holding is theirs.
    """
    pattern = _Pattern(phrase, prompt_words, whole)
    found = []
    for index, statement in enumerate(said):
        position = pattern.position(statement.clause)
        if position is not None:
            late = since is not None and index > since
            theirs = (late and _is_theirs(statement, statement.clause.tokens[position], said, speakers)) or (
                since is not None and _is_only_placed(statement, said, speakers)
            )
            theirs = theirs or (bool(speakers) and bool(_AGAINST.search(statement.clause.text)) and since is not None)
            found.append(theirs or _is_report(statement, position, since is not None))
    if not found:
        return "no"
    return "reported" if all(found) else "yes"


def settles(clause: str) -> bool:
    """Whether a clause says which side has it: `the amendment wins`."""
    return bool(_SETTLES.search(clause))


def first_affirming(phrases: Iterable[str], said: list[Statement], prompt_words: Collection[str]) -> int | None:
    """The index of the first statement that says on its own account what one of the phrases says."""
    patterns = [_Pattern(phrase, prompt_words) for phrase in phrases]
    for index, statement in enumerate(said):
        places = (pattern.position(statement.clause) for pattern in patterns)
        if any(position is not None and not _is_report(statement, position) for position in places):
            return index
    return None


def _is_report(statement: Statement, position: int, named: bool = False) -> bool:
    """Handed on as what someone says; unless `named`, that takes a citation in the clause."""
    named_before = any(c.start < statement.clause.tokens[position].start for c in statement.citations)
    if statement.clause.hands_on:
        return True
    return (named or bool(statement.citations)) and statement.clause.reports(position, named or named_before)


def _is_theirs(statement: Statement, token: Token, said: list[Statement], speakers: Collection[str]) -> bool:
    cited = cited_for(statement, token, said, back=True)
    same = [s.clause for s in said if s.clause.sentence == statement.clause.sentence]
    text = " ".join(clause.text for clause in same)
    distant = any(any(c.retracted) or any(c.negated) or c.hands_on or _SAYS.search(c.text) for c in same)
    return bool(cited) and cited <= set(speakers) and distant and not _ENDORSES.search(text)


def _is_only_placed(statement: Statement, said: list[Statement], speakers: Collection[str]) -> bool:
    """`14 days on the policy page (n110)`, `Policy page: 14 days`: where it stands, without a verb, says nothing."""
    cited = cited_for(statement, statement.clause.tokens[0], said)
    sentence = " – ".join(s.clause.text for s in said if s.clause.sentence == statement.clause.sentence)
    placed = _PLACED.match(statement.clause.text) or _PLACED.match(sentence)
    return bool(cited) and cited <= set(speakers) and bool(placed)


class _Pattern:
    def __init__(self, phrase: str, prompt_words: Collection[str], whole: bool = False) -> None:
        words: dict[str, bool] = {}
        self.prompt_words = frozenset(prompt_words)
        self.anchors: set[str] = set()
        for clause in read(phrase).clauses:
            for position, token in enumerate(clause.tokens):
                if token.is_content and not _is_cue(token):
                    words[token.norm] = clause.asserts(position)
                    if token.is_anchor or token.norm.isdigit() or (token.is_name and position):
                        self.anchors.add(token.norm)
        own = {norm: polarity for norm, polarity in words.items() if norm not in prompt_words}
        self.own = own or words
        self.least = len(self.own) if whole and not self.anchors else -(-2 * len(self.own) // 3)
        self.shared = {} if not own else {n: p for n, p in words.items() if n in prompt_words}

    def position(self, clause: Clause) -> int | None:
        """Where in the clause the phrase is affirmed, by its first word there."""
        if not self._matches(clause):
            return None
        return next(i for i, token in enumerate(clause.tokens) if token.norm in self.own)

    def _matches(self, clause: Clause) -> bool:
        if clause.hedged or clause.asked or not self.own:
            return False
        said: dict[str, set[bool]] = {}
        for position, token in enumerate(clause.tokens):
            said.setdefault(token.norm, set()).add(clause.asserts(position))
        hits = {norm for norm, polarity in self.own.items() if polarity in said.get(norm, ())}
        if not (self.anchors & self.own.keys()) <= hits:
            return False
        if self.anchors & hits and self._is_all_of(clause):
            return True
        if len(hits) < self.least:
            return False
        context = any(norm in said for norm in self.shared) or len(hits) > 1
        terse = bool(self.anchors & hits) and sum(t.is_content for t in clause.tokens) <= SHORT_CLAUSE
        return context or not self.shared or terse

    def _is_all_of(self, clause: Clause) -> bool:
        """A terse clause, `Every 6 hours [n12]`, has nothing in it that the phrase or the question has not."""
        known = self.own.keys() | self.shared.keys() | self.prompt_words
        return all(
            token.is_anchor or token.norm in known or _is_cue(token) for token in clause.tokens if token.is_content
        )


def _attribution(
    statement: Statement, span: tuple[int, int], said: list[Statement], own: set[str], rivals: set[str]
) -> Standing:
    """Whose word the value is given as: the citation attached to it, else any in the same sentence."""
    attached = set(_attached(statement, span))
    if not attached:
        same = [s for s in said if s.clause.sentence == statement.clause.sentence]
        attached = {item for s in same for c in s.citations for item in c.items if _covers(s, statement)}
    cited = {item for citation in statement.citations for item in citation.items}
    if cited & rivals and _BOTH.search(statement.clause.text):  # `n110 and n111 both say 30`
        return "misbound"
    if attached & own:
        return "bound"
    if attached & rivals:
        return "misbound"
    return "elsewhere" if attached else "uncited"


def _covers(other: Statement, statement: Statement) -> bool:
    """A citation of another clause covers this one unless either speaks against the other."""
    if other is statement:
        return True
    return not any(other.clause.retracted) and not (other.clause.hands_on and CONTRAST.match(statement.clause.text))


def _attached(statement: Statement, span: tuple[int, int]) -> Iterator[str]:
    """A bracketed citation covers what stands before it, a bare one what stands nearest."""
    first, last = statement.clause.tokens[span[0]], statement.clause.tokens[span[1]]
    citations = [c for c in statement.citations if _stands_with(c, statement.clause, span[0])]
    after = [c for c in citations if c.start >= last.end]
    before = [c for c in citations if c.end <= first.start]
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


def _stands_with(citation: Citation, clause: Clause, position: int) -> bool:
    """A source that gave way does not speak for a value that holds."""
    if clause.retracted[position]:
        return True
    return not any(
        gone and token.start == citation.start for token, gone in zip(clause.tokens, clause.retracted, strict=True)
    )


def _reader_of(binding: Binding, own: set[str], store: NoteIndex) -> Callable[[Clause, int], bool]:
    """How to read the value in an answer, given how its own source says it.

    A source that is itself a denial may be put either way; one that speaks of old things makes `old` no retraction.
    """
    for item in store.evidence:
        if item.id in own:
            for clause in read(item.text).clauses:
                for first, _ in occurrences(binding.value, clause.tokens):
                    if any(clause.negated):
                        return lambda clause, position: True
                    if clause.retracted[first]:
                        return lambda clause, position: not clause.negated[position]
    return Clause.asserts


def _ids(references: Collection[str], store: NoteIndex) -> set[str]:
    return {item for reference in references for item in store.naming(reference)}


def _has_other_unit(words: list[Token], position: int, unit: Token, spoken: Collection[str]) -> bool:
    """Whether something else is counted than the value counts; what its source speaks of may be meant."""
    rest = [token for token in words[position + 1 : position + 3] if token.raw.casefold() not in ("degree", "degrees")]
    following = rest[0] if rest else None
    if following is None or (following is words[position + 1] and following.start > words[position].end + 1):
        return False
    spelled = unit.raw.casefold(), following.raw.casefold()
    if (
        _abbreviates(*spelled)
        or _abbreviates(*spelled[::-1])
        or (following.norm in spoken and following.norm not in MEASURES)
    ):
        return False
    return following.norm not in FUNCTION_STEMS and not following.is_anchor and following.raw not in _VERBS


def _abbreviates(short: str, long: str) -> bool:
    """`hl` and `hectolitres`, `c` and `celsius`."""
    rest = iter(long)
    return len(short) <= 3 and short[:1] == long[:1] and all(letter in rest for letter in short)


def _is_cue(token: Token) -> bool:
    return token.raw.casefold() in _CUES


_VERBS = vocabulary("holds applies stands wins counts prevails governs rules beats replaces supersedes")
_CUES = vocabulary(
    "superseded outdated stale obsolete older old former previous longer date deprecated wrong incorrect replaced "
    "says say said states reports shows lists has newer current force"
)
