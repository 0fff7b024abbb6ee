"""Rules: what can be checked in an answer mechanically, each a function of its sentences and the evidence."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from ...core.evidence import Row
from ...language.clauses import Clause, clauses
from ...language.contradiction import contradicts
from ...language.reader import DIGITS, Sentence, names_of, read_note, read_phrase
from ...language.tables import words_of
from ...language.words import is_content, stem, tokens
from .contracts import Binding, Note, load_data

# --- evidence, and how much of an answer it supports ---

LEAST_WORDS = 4  # content words from which a sentence is judged on its own
FLOOR = Fraction(1, 2)  # a sentence with a larger share of new words is listed as unsupported
_JOINTS = re.compile(r"[/._]")


class Store:
    """What the evidence and the question say, ready to look things up in."""

    def __init__(self, evidence: Sequence[Note], prompt: str) -> None:
        self.evidence, self.prompt = evidence, prompt
        self.told = {note.id: read_note(note.text) for note in evidence}
        self.asked = read_note(prompt)
        self.sentences = [sentence for said in self.told.values() for sentence in said]
        # A source is named after its day: `mail/2025-05-09.md` is "the mail of 9 May".
        self.labels = [read_phrase(_JOINTS.sub(" ", f"{note.source} {note.id} {note.line or ''}")) for note in evidence]
        self.words = {word for sentence in (*self.sentences, *self.labels) for word in sentence.words}

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        return {pair for sentence in self.sentences for pair in pairwise(sentence.words)}

    @cached_property
    def spelled(self) -> str:
        """All that may be repeated: texts, their sources, ids and lines, and the question."""
        sources = [note.source for note in self.evidence]
        return "\n".join([*(one.text for one in (*self.sentences, *self.asked, *self.labels)), *sources])

    @cached_property
    def raw(self) -> str:
        return "\n".join([self.prompt, *(note.text for note in self.evidence)]).casefold()

    def naming(self, reference: str) -> set[str]:
        """The ids of the notes that a reference names: an id, a source, or the end of its path."""
        wanted = reference.strip().casefold()
        paths = {note.id: note.source.casefold() for note in self.evidence if wanted}
        return {id_ for id_, path in paths.items() if wanted in (id_.casefold(), path) or path.endswith(f"/{wanted}")}


def measure_support(said: Sequence[Sentence], store: Store) -> Row:
    """How much of an answer the evidence says, by three shares. An answer without a content word says nothing."""
    counted = [(sum(word not in store.words for word in one.content), len(one.content), one.raw) for one in said]
    total = sum(size for _, size, _ in counted)
    new_words = Fraction(sum(new for new, _, _ in counted), total) if total else Fraction(1)
    shares = [(Fraction(new, size), raw) for new, size, raw in counted if size >= LEAST_WORDS]
    weakest = max((share for share, _ in shares), default=new_words)
    pairs = [pair in store.pairs for sentence in said for pair in pairwise(sentence.words)]
    shared = Fraction(sum(pairs), len(pairs)) if pairs and total else Fraction(0)
    return {
        "support": ((1 - new_words) + (1 - weakest) + shared) / 3,
        "new_words": new_words,
        "weakest_sentence": weakest,
        "shared_pairs": shared,
        "unsupported_sentences": [raw for share, raw in shares if share > FLOOR],
    }


# --- citations: ids in brackets, path:line and confidence tags ---

_PLACE = r"([\w./-]{1,200}\.[A-Za-z]\w{0,4}):L?(\d{1,7}(?:-\d{1,7})?(?:, ?:\d{1,7})*)"
_CITED = re.compile(rf"\[([^\[\]\n]{{1,200}})\](?!\()|(?<![\w./:-]){_PLACE}(?![\w:])")
_TAG = re.compile(r"[01]\.\d{1,3}")
_WORDS_BEFORE = re.compile(r"(?:confidence|conf|see|source|sources|note|notes|id|ids|cf)[.:]?\s+", re.IGNORECASE)
_LOOKS_CITED = re.compile(r"(?!.*://)\S*(?:\d|\w[/.]\w)\S*")  # `n99`, `12`, `notes/old.md`; not `sic`, not `4 of 9`


class Citation(NamedTuple):
    """A reference as it is written, where, and the notes that it names; none: it is made up."""

    text: str
    start: int
    end: int
    notes: set[str]


def find_citations(text: str, store: Store) -> Iterator[Citation]:
    """`[n1]`, `[n1, n2]`, `[2]`, `[0.95]`, `path:4-9`, `path:4, :9`; other words in brackets are no citation."""
    for match in _CITED.finditer(text):
        inside = match[1] or match[0]
        is_place = re.fullmatch(_PLACE, inside) is not None
        is_quoted = match[0].casefold() in store.raw  # the evidence itself has it
        for part in [inside] if is_place else re.split(r"[,;]", inside):
            reference = _WORDS_BEFORE.sub("", part.strip()).strip("'\"`#^ ")
            notes = _resolved(reference, store)
            if notes or (not is_quoted and (is_place or _LOOKS_CITED.fullmatch(reference))):
                yield Citation(reference, *match.span(), notes)


def _resolved(reference: str, store: Store) -> set[str]:
    """The notes of a place, a confidence tag, an id or source, or of a position where no note has that id."""
    if place := re.fullmatch(_PLACE, reference):
        ids = store.naming(place[1])
        named = [note for note in store.evidence if note.id in ids]
        found = [
            {note.id for note in named if note.line is None or int(first) <= note.line <= int(last or first)}
            for first, _, last in (part.partition("-") for part in re.split(r", ?:", place[2]))
        ]
        return set().union(*found) if all(found) else set()  # every line must be one of the evidence
    if _TAG.fullmatch(reference):
        tag = Fraction(reference)
        return {n.id for n in store.evidence if n.confidence is not None and abs(n.confidence - tag) * 200 < 1}
    position = int(reference) if reference.isascii() and reference.isdigit() and len(reference) < 5 else 0
    return store.naming(reference) or {note.id for note in store.evidence[position - 1 : position] if position}


def without(text: str, citations: Sequence[Citation]) -> str:
    """The text with blanks in place of its citations, so that everything else stays where it is."""
    chars = list(text)
    for _, start, end, _ in citations:
        chars[start:end] = " " * (end - start)
    return "".join(chars)


def by_sentence(said: Sequence[Sentence], citations: Sequence[Citation]) -> list[set[str]]:
    """The notes cited in each sentence; a citation after a full stop belongs to the sentence before it."""
    starts = [sentence.start for sentence in said]
    cited: list[set[str]] = [set() for _ in said]
    for citation in citations if said else ():
        cited[max(0, bisect_right(starts, citation.start) - 1)] |= citation.notes
    return cited


# --- numbers: in the evidence or the question, or following from two numbers there ---

SMALL = 12  # counts up to a dozen, written as words, are speech: "these two notes"
MOST = 300  # numbers of the evidence, and unknown ones of an answer, that are compared with each other
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,15})?")


def check_numbers(said: Sequence[Sentence], store: Store, bound: Sequence[str] = ()) -> Row:
    """How many numbers and dates an answer has, and which of them nobody gave; what an author bound was given."""
    told = "\n".join([store.spelled, *(read_phrase(text).text for text in bound)])
    known = set(DIGITS.findall(told))
    anchors = 0
    unknown: dict[str, str] = {}  # number → the sign behind it: `%`, or the `s` of the 1990s
    for sentence in said:
        dates, rest = _dates().findall(sentence.text), _dates().sub(" ", sentence.text)
        numbers = DIGITS.findall(rest)
        if not known.issuperset(numbers):
            spoken = _spoken(sentence)
            numbers = [digits for digits in numbers if digits in known or digits not in spoken]
        anchors += len(dates) + len(numbers)
        unknown |= {date: "" for date in dates if date not in told}
        unknown |= {digits: rest.partition(digits)[2][:1] for digits in numbers if digits not in known}
    values = sorted({Fraction(digits) for digits in known if _PLAIN.fullmatch(digits)})[:MOST] if unknown else []
    following = {digits for digits, sign in [*unknown.items()][:MOST] if _follows(digits, sign, values)}
    return {"anchors": anchors, "unsupported_anchors": [digits for digits in unknown if digits not in following]}


def _spoken(sentence: Sentence) -> set[str]:
    """The small numbers that the sentence has as words, and 1."""
    words = (token.number for token in tokens(sentence.raw) if token.number and token.norm.isalpha())
    return {"1", *(number for number in words if int(number) <= SMALL)}


@cache
def _dates() -> re.Pattern[str]:
    return re.compile(rf"\b\d{{1,2}} (?:{'|'.join(words_of('words', 'months'))})\b")


def is_computed(text: str, told: Sequence[Sentence]) -> bool:
    """Whether a text has a number that these sentences do not have, and that follows from two numbers there."""
    spelled, known = read_phrase(text).text, {digits for sentence in told for digits in sentence.numbers}
    values = sorted({Fraction(digits) for digits in known if _PLAIN.fullmatch(digits)})[:MOST]
    unknown = [digits for digits in DIGITS.findall(spelled) if digits not in known]
    return bool(unknown) and all(_follows(digits, spelled.partition(digits)[2][:1], values) for digits in unknown)


def _follows(digits: str, sign: str, values: Sequence[Fraction]) -> bool:
    """Whether a number rounds one of these, or is the sum, difference, product or percentage of two."""
    if not _PLAIN.fullmatch(digits):
        return False
    value, half = Fraction(digits), Fraction(1, 2 * 10 ** len(digits.partition(".")[2]))
    wanted = [(value + 5, Fraction(5)) if sign == "s" else (value, half)]
    wanted += [(other, Fraction(0)) for a in values if a for other in (value - a, value + a, value / a)]
    if sign == "%":  # this much of another number, or that much more or less than it
        shares = (value, 100 + value, 100 - value)
        wanted += [(share * a / 100, half * a / 100) for a in values if a for share in shares]
    return any(_is_near(middle, distance, values) for middle, distance in wanted)


def _is_near(value: Fraction, distance: Fraction, values: Sequence[Fraction]) -> bool:
    """Whether one of the values is at most so far away."""
    n = bisect_left(values, value - distance)
    return n < len(values) and 0 < values[n] <= value + distance


# --- bindings ---

Standing = Literal["given", "missing", "denied", "misbound"]


class Bound:
    """One binding in the form in which sentences are searched for it."""

    def __init__(self, binding: Binding, store: Store) -> None:
        self.binding = binding
        self.value = read_phrase(binding.value).words
        self.about = [set(term.content or term.words) for term in map(read_phrase, binding.about)]
        self.source = {note for reference in binding.source for note in store.naming(reference)}
        self.rivals = {note for reference in binding.rivals for note in store.naming(reference)} - self.source
        self.rival_values = [read_phrase(value).words for value in binding.rivals_values]
        # A source that denies the value itself is repeated by a denial: "did not read 13 of 21" denies no 13.
        told = [sentence for note in self.source for sentence in store.told[note] if sentence.places(self.value)]
        self.is_deniable = all(sentence.affirms(self.value) for sentence in told)

    def is_about(self, sentence: Sentence) -> bool:
        return any(term.issubset(sentence.words) for term in self.about)

    def is_replaced(self, sentence: Sentence, others: Sequence[Bound]) -> bool:
        """Whether a sentence about this value has a wrong one, or that of another binding, in its place."""
        if sentence.is_question or not self.is_about(sentence) or sentence.places(self.value):
            return False
        return any(sentence.affirms(value) for value in (*self.rival_values, *(other.value for other in others)))

    def is_cited_to_rival(self, sentence: Sentence, notes: set[str]) -> bool:
        """Whether the value is given as what a source says that says otherwise."""
        from_rival = bool(notes & self.rivals) and not notes & self.source
        return from_rival and not any(sentence.affirms(value) for value in self.rival_values)


def standing(bound: Bound, others: Sequence[Bound], said: Sequence[Sentence], cited: Sequence[set[str]]) -> Standing:
    """How an answer treats a bound value. What it says beside the right value may be a report of what was."""
    named = [bound.is_about(sentence) for sentence in said]
    understood = not any(named)  # a terse answer leaves out what the question is about
    near = [understood or here or before for here, before in zip(named, [False, *named], strict=False)]
    placed = [n for n, sentence in enumerate(said) if near[n] and sentence.places(bound.value)]
    affirmed = [n for n in placed if not bound.is_deniable or said[n].affirms(bound.value)]
    if affirmed:
        return "misbound" if any(bound.is_cited_to_rival(said[n], cited[n]) for n in affirmed) else "given"
    if any(bound.is_replaced(sentence, others) for sentence in said):
        return "misbound"
    return "denied" if placed else "missing"


# --- actions ---

REACH = 3  # words between "should" and what should be done


def find_actions(said: Sequence[Sentence], store: Store) -> Row:
    """How many sentences direct somebody to do something about the evidence, and whether they say who and when."""
    people = [(names_of(one.raw) & store.words) - listed("placeholders") - listed("times") for one in said]
    found = [
        (one, named)
        for one, named in zip(said, people, strict=True)
        if not one.is_question and any(_directs(part, named, store) for part in clauses(one.text))
    ]
    return {
        "actions": len(found),
        "owned": any(named for _, named in found),
        "timed": any(not listed("times").isdisjoint(one.words) for one, _ in found),
    }


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list and their stems."""
    words = load_data("directives")[name].split()
    return frozenset({*words, *map(stem, words)})


def _directs(clause: Clause, people: set[str], store: Store) -> bool:
    """An imperative, `X should …`, `X has to …` or `NAME to …`, not denied, that shares a word with the evidence."""
    norms = [token.norm for token in clause.tokens]
    content = [n for n, token in enumerate(clause.tokens) if is_content(token)]
    if clause.negated or store.words.isdisjoint(stem(norms[n]) for n in content):
        return False
    if next((norm for norm in norms if norm not in listed("openers")), "") in listed("verbs"):
        return True
    if any(not listed("modals").isdisjoint(norms[max(0, n - REACH) : n]) for n in content):
        return True
    before = [stem(norm) for norm, after in pairwise(norms[:-1]) if after == "to"]
    return not (listed("before_to") | people).isdisjoint(before)


# --- copying ---

SPAN = 5
GRAMMAR_FROM = 25  # words; a shorter text may be a list
LEAST_GRAMMAR = 0.1  # share of joining words; English prose has four in ten, terse notes two
ON_TOPIC_FROM = 3  # content words from which an answer should share one with the evidence
Gram = tuple[str, ...]


def grams(*texts: Sequence[str]) -> frozenset[Gram]:
    """All runs of five words in lists of words; a shorter list is one run."""
    return frozenset(
        tuple(words[n : n + SPAN]) for words in texts for n in range(max(1, len(words) - SPAN + 1)) if words
    )


def without_echo(said: Sequence[Sentence], store: Store) -> list[Sentence]:
    """The sentences that do not just repeat half of the question or more; a shorter part may be what is asserted."""
    asked, size = grams(*(one.words for one in store.asked)), sum(len(one.words) for one in store.asked)
    return [one for one in said if 2 * len(one.words) < size or not grams(one.words) <= asked]


def find_faults(said: Sequence[Sentence], store: Store) -> Iterator[str]:
    """Why a text is not an answer."""
    found = [token for sentence in said for token in sentence.tokens if token.number is None]
    joints = sum(not is_content(token) for token in found)
    content = [word for sentence in said for word in sentence.content]
    if _is_dump(said, store):
        yield "evidence_dump"
    if len(found) >= GRAMMAR_FROM and joints < LEAST_GRAMMAR * len(found):
        yield "no_grammar"
    if len(content) >= ON_TOPIC_FROM and store.words.isdisjoint(content):
        yield "off_topic"


def _is_dump(said: Sequence[Sentence], store: Store) -> bool:
    """Whether nearly all notes are copied, and the answer is little else. Of two notes one can only quote both."""
    notes = [grams(*(one.words for one in told)) for told in store.told.values() if told]
    own = grams(*(one.words for one in said))
    copied = sum(5 * len(note & own) >= 4 * len(note) for note in notes)
    return 5 * copied > 4 * len(notes) > 8 and 5 * len(own & grams(*(one.words for one in store.sentences))) >= 4 * len(
        own
    )


# --- suspicions: shown as "check by hand", failing nothing unless gated ---

LEAST_QUOTE = 5  # words
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,400})[\"”]")


def suspicions(said: Sequence[Sentence], cited: Sequence[set[str]], store: Store) -> list[str]:
    """One line for each suspicion about a sentence that cites, the same one once."""
    pairs = [(sentence, notes) for sentence, notes in zip(said, cited, strict=True) if notes]
    return list(dict.fromkeys(line for sentence, notes in pairs for line in _suspicions(sentence, notes, store)))


def _suspicions(sentence: Sentence, notes: set[str], store: Store) -> Iterator[str]:
    told, names = [one for note in notes for one in store.told[note]], ", ".join(sorted(notes))
    for match in _QUOTED.finditer(sentence.raw):
        words = read_phrase(match[1]).words
        if len(words) >= LEAST_QUOTE and not any(one.places(words) for one in told):
            yield f"not a quote of {names}: {match[0]}"
    known = {digits for one in (*told, *store.asked) for digits in one.numbers}
    others = {digits for one in store.sentences for digits in one.numbers}
    for digits in sentence.numbers:
        if digits in others - known:
            yield f"{digits} is not in {names}: {sentence.raw}"
    # What only repeats the words of a note can't contradict it.
    repeats = any(set(sentence.words).issubset(one.words) for one in told)
    if len(notes) == 1 and not repeats and contradicts(" ".join(one.raw for one in told), sentence.raw):
        yield f"seems to contradict {names}, which it cites: {sentence.raw}"
