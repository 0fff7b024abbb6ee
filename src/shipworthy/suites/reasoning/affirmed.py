"""Affirmed: whether an answer says that a value or a phrase holds, denies it, or ties it to the wrong source."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations, groupby, pairwise
from typing import Literal

import msgspec

from shipworthy.suites.reasoning.anchors import (
    MEASURES,
    Citation,
    Store,
    find_citations,
    in_brackets,
    is_small_count,
    labels,
    plain_anchors,
)
from shipworthy.suites.reasoning.clauses import Clause, Reading, read
from shipworthy.suites.reasoning.fixture import Binding, Evidence
from shipworthy.suites.reasoning.words import FUNCTION_STEMS, Token, stem, tokens, vocabulary

Standing = Literal["bound", "elsewhere", "uncited", "misbound", "denied", "doubted", "absent"]
Affirmed = Literal["yes", "reported", "no"]
SHORT_CLAUSE = 5  # content words; a terser clause need not repeat the question


class Statement(msgspec.Struct, frozen=True):
    """A clause of the answer with the citations in it."""

    clause: Clause
    citations: tuple[Citation, ...]


def statements(reading: Reading, store: Store) -> list[Statement]:
    return [Statement(c, tuple(_speaking(c, store))) for c in reading.clauses if not c.word_list]


def _speaking(clause: Clause, store: Store) -> Iterator[Citation]:
    """The citations of a clause, without the files that someone shall change: these are objects, not sources."""
    change = _CHANGES.search(clause.text)
    for citation in find_citations(clause.text, store):
        is_object = bool(change and change.end() <= citation.start)
        is_object = is_object or bool(_TO_BE_CHANGED.match(clause.text, citation.end))
        is_object = is_object and not citation.bracketed and ":" not in citation.text
        if not is_object or not re.search(r"[./]", citation.text):
            yield citation


def standing(binding: Binding, said: list[Statement], store: Store) -> Standing:
    """How the answer treats a bound value: the worst of wrong, else the best of right."""
    own, rivals = _ids(binding.source, store), _ids(binding.rivals, store)
    holds = _reader_of(binding, own, store)
    spoken = {word for item in own for word in store.words[item]}
    found: set[Standing] = set()
    for statement in said:
        for span in occurrences(binding.value, statement.clause.tokens, spoken):
            if statement.clause.hedged:
                continue
            attribution = _attribution(statement, span, said, own, rivals)
            if attribution == "misbound" and statement.clause.retracted[span[0]]:
                continue  # the rival's word, taken back
            if _is_turned(statement.clause, binding, own, store):
                found.add("misbound")
            elif any(holds(statement.clause, position) for position in range(span[0], span[1] + 1)):
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


def misattributed(said: list[Statement], store: Store) -> list[str]:
    """Numbers, dates and times given as the word of items that don't have them, though another item has."""
    wrong = []
    for statement in said:
        gone = any(statement.clause.retracted)
        for token in plain_anchors(statement.clause.text, list(statement.citations)):
            if not token.norm[:1].isdigit() or is_small_count(statement.clause.text, token):
                continue
            # When something gave way is the word of what it gave way to.
            if _YEAR.fullmatch(token.norm) or (gone and "-" in token.norm):
                continue
            same = {token.norm, token.norm.rstrip("%"), token.norm + "%"}
            holders = {item for item, words in store.words.items() if same & words}
            cited = _cited_for(statement, token, said)
            if cited and holders and not holders & cited and not same & store.asked:
                wrong.append(token.raw)
        wrong += _misnamed(statement, said, store)
        wrong += _mislabelled(statement, said, store)
        wrong += [] if gone else _misplaced(statement, store)
    return wrong


def _together(citations: Sequence[Citation]) -> Iterator[Citation]:
    """The first citation and what is joined to it: `[n1] [n2]`, `(n1, n2)`, `n1 and n2`."""
    end = citations[0].end
    for citation in citations:
        if citation.start - end > JOINED:
            return
        yield citation
        end = citation.end


def _misplaced(statement: Statement, store: Store) -> list[str]:
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


def _mislabelled(statement: Statement, said: list[Statement], store: Store) -> Iterator[str]:
    """`hive 6` given as the word of a note on `hive 2`, `E5` of a note on `E3`: another thing of the same kind."""
    words = statement.clause.tokens
    spans = [(citation.start, citation.end) for citation in statement.citations]
    for kind, name, token in labels(words):
        aside = in_brackets(statement.clause.text, token.start)  # `(that is W-5531, another claim)`
        if aside or any(start <= token.start < end for start, end in spans):
            continue
        cited = _cited_for(statement, token, said)
        theirs = [store.labels[item] for item in cited]
        others = {other for found in theirs for one, other in found if one == kind}
        known = any((kind, name) in found for found in store.labels.values())
        if known and others and name not in others and name not in store.asked:
            yield token.raw


def _misnamed(statement: Statement, said: list[Statement], store: Store) -> Iterator[str]:
    """Full names given as the word of items that don't have them, though another item has."""
    words = statement.clause.tokens
    for i in range(len(words) - 1):
        if words[i].is_name and words[i + 1].is_name and _adjoin(words, i):
            full = {words[i].norm, words[i + 1].norm}
            holders = {item for item, known in store.words.items() if full <= known}
            cited = _cited_for(statement, words[i], said, nearest=True)
            if cited and holders and not holders & cited and not full <= store.asked:
                yield f"{words[i].raw} {words[i + 1].raw}"


def turned_round(said: list[Statement], evidence: Collection[Evidence]) -> list[str]:
    """Sentences that say the opposite in the evidence's own words: denied, `7 of 52` for `9 of 52`, A for B and B for A."""
    readings = [read(item.text) for item in evidence]
    sources = [clause for reading in readings for clause in reading.clauses]
    pairs = [pair for reading in readings for clauses in _sentences(reading.clauses) for pair in _pairs(clauses)]
    held = [s.clause for s in said if not any(s.clause.retracted) and not s.clause.hedged]
    wrong = [c.text for c in held if any(_denies(c, one) or _miscounts(c, one) for one in sources)]
    units = [_counted(reading.clauses) for reading in readings]
    said_units = _counted(s.clause for s in said)
    wrong += [
        f"{one[0]} {other[1]}"
        for known in units
        for one in known
        for other in known
        if _crossed(one, other, known, said_units)
    ]
    wrong += _in_each_others_place(readings, [s.clause for s in said])
    return wrong + [
        " ".join(clause.text for clause in clauses)
        for clauses in _sentences(s.clause for s in said)
        if any(one.is_exchanged(other) for other in _pairs(clauses) for one in pairs)
    ]


def _counted(clauses: Iterable[Clause]) -> set[tuple[str, str]]:
    """Numbers with the word behind them: `4 hours`, `6 shards`."""
    pairs = (pair for clause in clauses for pair in pairwise(clause.tokens))
    return {
        (one.norm, other.norm)
        for one, other in pairs
        if _COUNT.fullmatch(one.norm) and other.raw.isalpha() and other.is_content
    }


def _crossed(
    one: tuple[str, str], other: tuple[str, str], known: set[tuple[str, str]], said: set[tuple[str, str]]
) -> bool:
    """`4 shards` and `6 hours` for `4 hours` and `6 shards`."""
    crossed = {(one[0], other[1]), (other[0], one[1])}
    return one[0] < other[0] and one[1] != other[1] and crossed <= said and not crossed & known


def _in_each_others_place(readings: Iterable[Reading], said: list[Clause]) -> list[str]:
    """Two numbers of one note, each among the words that stand around the other there, and none of its own."""
    wrong = []
    around = [(_only_count(clause), _plain_words(clause)) for clause in said]
    for reading in readings:
        places = [(number, _plain_words(clause)) for clause in reading.clauses if (number := _only_count(clause))]
        for (one, near), (other, far) in combinations(places, 2):
            first = any(number == one and not words & near and len(words & far) > 1 for number, words in around)
            second = any(number == other and not words & far and words & near for number, words in around)
            third = any(number == other and not words & far and len(words & near) > 1 for number, words in around)
            fourth = any(number == one and not words & near and words & far for number, words in around)
            if one != other and ((first and second) or (third and fourth)):
                wrong.append(f"{one} and {other}")
    return wrong


def _only_count(clause: Clause) -> str | None:
    counts = [token.norm for token in clause.tokens if _COUNT.fullmatch(token.norm)]
    return counts[0] if len(counts) == 1 else None


def _plain_words(clause: Clause) -> set[str]:
    return {t.norm for t in clause.tokens if t.is_content and not t.norm[:1].isdigit() and t.norm not in MEASURES}


def _sentences(clauses: Iterable[Clause]) -> list[list[Clause]]:
    return [list(group) for _, group in groupby(clauses, key=lambda clause: clause.sentence)]


def _denies(clause: Clause, source: Clause) -> bool:
    """Most of the clause's words are a statement of the evidence, and it denies at least three of them."""
    if any(source.negated):
        return _affirms_denied(clause, source)
    if not any(clause.negated) or _NOT_YET & {t.raw.casefold() for t in clause.tokens}:
        return False
    if _is_task(source) or _PERMITS.search(clause.text):
        return False
    stated = {t.norm for t in source.tokens if t.is_content}
    words = [(t.norm, gone) for t, gone in zip(clause.tokens, clause.negated, strict=True) if t.is_content]
    known = [(norm[:1].isdigit(), gone) for norm, gone in words if norm in stated]
    denied = sum(gone and not is_number for is_number, gone in known)
    counted = sum(gone or is_number for is_number, gone in known)
    return denied > 1 and counted >= LEAST_DENIED and 3 * len(known) >= 2 * len(words)


def _affirms_denied(clause: Clause, source: Clause) -> bool:
    """`did read them` where the evidence says `did not read`: an emphatic verb, and most words the evidence's."""
    if not _EMPHATIC.search(clause.text):
        return False
    stated = {t.norm for t in source.tokens if t.is_content}
    words = [t.norm for t, gone in zip(clause.tokens, clause.negated, strict=True) if t.is_content and not gone]
    known = sum(norm in stated for norm in words)
    return known > LEAST_DENIED and 3 * known >= 2 * len(words)


def _is_task(clause: Clause) -> bool:
    """`Ana Ruiz to file …`, `must file`: what shall be is no statement that could be denied."""
    words = clause.tokens
    told = any(later.norm == "to" and earlier.is_name for earlier, later in pairwise(words))
    return told or any(token.norm in ("must", "should") for token in words)


def _miscounts(clause: Clause, source: Clause) -> bool:
    """`7 of 52` where the evidence has `9 of 52`; the rest, `43 of 52`, may be meant."""
    stated = {whole: part for part, whole in _shares(source)}
    return any(
        whole in stated and part not in (stated[whole], whole - stated[whole]) for part, whole in _shares(clause)
    )


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
    names = [i for i in range(len(words) - 1) if words[i].is_name and words[i + 1].is_name and _adjoin(words, i)]
    names = [i for i in names if i - 1 not in names]
    if len(names) == 2:
        full = [f"{words[i].norm} {words[i + 1].norm}" for i in names]
        between = frozenset(t.norm for t in words[names[0] + 2 : names[1]] if t.norm not in _ARTICLES)
        if between:
            yield _Pair(full[0], full[1], between)
    counts = [i for i, token in enumerate(words) if _COUNT.fullmatch(token.norm)]
    for one, other in pairwise(counts):
        # Units belong to the numbers, not to what stands between them.
        start = one + 2 if one + 1 < other and words[one + 1].norm in MEASURES else one + 1
        between = frozenset(t.norm for t in words[start:other] if t.norm not in _ARTICLES and not t.is_anchor)
        if between:
            yield _Pair(words[one].norm, words[other].norm, between)


def _adjoin(words: list[Token], position: int) -> bool:
    return words[position + 1].start == words[position].end + 1


def _cited_for(
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
    if behind:
        return own
    same = [s for s in said if s.clause.sentence == statement.clause.sentence]
    place = next(i for i, other in enumerate(same) if other is statement)
    cited = [{item for c in other.citations for item in c.items} for other in same]
    following: set[str] = set()
    for other, items in zip(same[place + 1 :], cited[place + 1 :], strict=True):
        if items or _CONTRAST.match(other.clause.text):
            following = set() if _CONTRAST.match(other.clause.text) else items
            break
    preceding: set[str] = next((items for items in reversed(cited[:place]) if items), set())
    if not own and not following and not back:
        return set()
    return own | following | (set() if own else preceding)


def affirms(
    phrase: str,
    said: list[Statement],
    prompt_words: Collection[str],
    speakers: Collection[str] = (),
    since: int | None = None,
) -> Affirmed:
    """Whether some clause says what the phrase says, with the same polarity, on its own account or a source's.

    Words that the question already has need not be repeated; numbers, identifiers and names must be there. What comes
    after the statement `since`, is cited to one of the speakers and is not put as holding is theirs.
    """
    pattern = _Pattern(phrase, prompt_words)
    found = []
    for index, statement in enumerate(said):
        position = pattern.position(statement.clause)
        if position is not None:
            late = since is not None and index > since
            theirs = late and _is_theirs(statement, statement.clause.tokens[position], said, speakers)
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
    cited = _cited_for(statement, token, said, back=True)
    same = [s.clause for s in said if s.clause.sentence == statement.clause.sentence]
    text = " ".join(clause.text for clause in same)
    distant = any(any(c.retracted) or any(c.negated) or c.hands_on or _SAYS.search(c.text) for c in same)
    return bool(cited) and cited <= set(speakers) and distant and not _ENDORSES.search(text)


class _Pattern:
    def __init__(self, phrase: str, prompt_words: Collection[str]) -> None:
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
        if 3 * len(hits) < 2 * len(self.own):
            return False
        context = any(norm in said for norm in self.shared) or len(hits) > 1
        return context or not self.shared or sum(t.is_content for t in clause.tokens) <= SHORT_CLAUSE

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


def _reader_of(binding: Binding, own: set[str], store: Store) -> Callable[[Clause, int], bool]:
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


def _is_turned(clause: Clause, binding: Binding, own: set[str], store: Store) -> bool:
    """Whether the answer lets rise what the source lets fall, or the other way round."""
    said = _directions(clause)
    for item in store.evidence:
        if item.id in own:
            for source in read(item.text).clauses:
                if occurrences(binding.value, source.tokens):
                    stated = _directions(source)
                    return len(said) == len(stated) == 1 and said != stated
    return False


def _directions(clause: Clause) -> set[str]:
    words = {token.norm for token in clause.tokens}
    return {name for name, verbs in _DIRECTIONS.items() if words & verbs}


def _ids(references: Collection[str], store: Store) -> set[str]:
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


NEAR = 8  # words between the two numbers of `9 of 52`
_COUNT = re.compile(r"\d{1,9}(?:\.\d{1,6})?%?")
_ARTICLES = ("the", "a", "an")
_CONTRAST = re.compile(r"(?:but|whereas|while|although|though|however)\b", re.IGNORECASE)
_AGAINST = re.compile(r"\b(?:against|versus|vs)\b", re.IGNORECASE)
_SAYS = re.compile(
    r"\b(?:says?|said|gives?|gave|names?|lists?|claims?|promises?|speaks?|shows?|puts?|states?|has|had)\b", re.I
)
_SETTLES = re.compile(r"\b(?:wins|prevails|takes precedence|later word|overrides?|supersedes?)\b", re.IGNORECASE)
_ENDORSES = re.compile(
    r"\b(?:holds|stands|wins|prevails|applies|counts|operative|authoritative|binding|still (?:true|right|correct|valid|current)"
    r"|is (?:true|right|correct|valid|current|in force)|go with|stick with|stay with|trust|follow|remains?)\b",
    re.IGNORECASE,
)
_EMPHATIC = re.compile(r"\b(?:do|does|did|indeed|actually|always)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PERMITS = re.compile(r"\b(?:may|must|should|can|could|need|shall|will|would)(?: not\b|n't\b|not\b)", re.I)
_TO_BE_CHANGED = re.compile(r"\s+(?:should|must|needs? to|has to|have to|is to|are to|will)\b", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:commit|put|writ|copy|carr|align|updat|chang|correct|fix|set|bring|edit|amend|rewrit|adjust|replac|swap|mend|repair|clean|delet|remov)\w{0,4}\b",
    re.IGNORECASE,
)
JOINED = 6  # characters between two citations that are one
FOREIGN = 3  # words that another note has more of
LEAST_DENIED = 3  # words of the evidence that a denial has in it
_NOT_YET = vocabulary("since until only before still unless")
_TURNING = vocabulary("by from instead place for")
_VERBS = vocabulary("holds applies stands wins counts prevails governs rules beats replaces supersedes")
_DIRECTIONS = {
    "up": frozenset(
        map(stem, vocabulary("rose rise risen rises increased increases grew grown climbed climbs jumped doubled"))
    ),
    "down": frozenset(
        map(stem, vocabulary("fell fall fallen falls decreased decreases shrank shrunk dropped drops halved sank"))
    ),
}
_CUES = vocabulary(
    "superseded outdated stale obsolete older old former previous longer date deprecated wrong incorrect replaced says say said states reports shows lists has newer current force"
)
