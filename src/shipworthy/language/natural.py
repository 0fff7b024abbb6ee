"""Natural refusals: an answer that says first, or only, that there is no answer, and gives none after that.

    answer → sentences → what each does (patterns, as data) → what later ones add to the question → refusal?

How assistants say so is in `data/refusals.toml`. What a later statement adds is no list: whatever is neither in the
question nor an offer, a pointer, a way to go about it or a word on the sources was added.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .packs import glance
from .tables import quick_words, table, word_set

REFUSAL, DOUBTFUL, ANSWER = "refusal", "doubtful", "answer"

READ = 6000  # characters of an answer that are read; a refusal has said so by then
SENTENCE = 400  # characters of a sentence
EXPLAINED = 8  # words of a statement that explains
LACKING = ("unable", "silent", "model", "asks")
_WORD = re.compile(r"n/a\b|[a-z]+")
_NAME = re.compile(r"\{[a-z]+\}")
_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”")
_CITED = re.compile(r"\[[^\]\s]{1,80}\]")
_MARKS = re.compile(r"^(?:[^\w\"'(\[$€£]|\d{1,2}[.)]\s)+")  # bullets, list numbers, emoji
_NAMED = re.compile(r"(?<=[a-z,;:)] )[A-Z][\w'&-]+")  # in the middle of a sentence that is not all in capitals
_DIGITS = re.compile(r"\d+(?!\d*-[a-z]\b)")  # not the number in 10-K
_WHETHER = re.compile(r"\s*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|may|must)\b", re.I)
_HEADING = re.compile(r"(?m)^\s*#+ +(.*[^\s:])[\s:]*$")
_LABEL = re.compile(r"^[^.:!?]{1,60}: ")  # "Price: not stated"
_CODE = re.compile(r"`[^`]+`")
# Where another statement may begin inside of a sentence. One that only goes on ("which …") adds what it names alone.
_CLAUSE = re.compile(
    r"; | [—–] |—|(?:: | -+ )(?=(?:it|he|she|they|this|that|the|you|but) )"
    r"|,? (?=(?:but|though|although|however|yet|while|so) )|, (?=(?:probably|maybe|perhaps|possibly) )"
    r"|[,.] (?=(?:it|he|she|they|this|that) (?:is|are|was|were|has|had|will|can) )"
)
_CONCEDED = re.compile(r",? (?:although|though|even though) ")
_GOES_ON = re.compile(r", (?=(?:which|who|whose) (?:is|are|was|were|has|had|will) )")


class Sentence(NamedTuple):
    """A sentence without the courtesy that it opens with; its words, and the names of the lists that they are in."""

    text: str
    has: set[str]
    item: bool = False  # of a list


def refuses(claim: str, question: str = "") -> bool:
    """Whether the answer is a refusal in natural words: it says first that there is no answer, and gives none after."""
    return read(claim, question) == REFUSAL


def read(claim: str, question: str = "") -> str:
    """`refusal`, `answer`, or `doubtful`: it refuses, and then says something that may be what was asked for."""
    claim = claim[:READ]
    if claim.endswith(("?", "—", "–", "-")) and _says_nothing(claim, question):
        return REFUSAL
    if not glance(claim).lacks:
        return ANSWER
    # quotes are somebody else's words
    text = _QUOTED.sub("x", _written_out(claim.lower().strip().strip('"')))
    if quick_words("signs").isdisjoint(_WORD.findall(text)):
        return ANSWER
    text = _HEADING.sub(r"\1:", text) if "#" in text else text
    from .sentences import sentences  # most answers lack nothing, and are read no further

    said = [_read(" ".join(span.text[:SENTENCE].split())) for span in sentences(text)]
    lacking = [_lack(sentence) for sentence in said]
    if not any(kind for kind, _ in lacking):
        return ANSWER
    told = [kind or _kind(sentence, "preamble", "gives")[0] for (kind, _), sentence in zip(lacking, said, strict=True)]
    # what the sources are about may come first, too
    about = (n for n, kind in enumerate(told) if kind != "preamble" and (kind or not _is(said[n], "describes")))
    first = next(about, 0)
    if told[first] not in LACKING:
        first = _conclusion(told, said)
        if not first:
            return ANSWER
    return _added(claim, question, said[first:], lacking[first:])


def _says_nothing(claim: str, question: str) -> bool:
    """Whether it is a dash or the like, or nothing but a question back; the user's own question repeated is neither."""
    if claim[-1] == "?" and any(map(str.isalnum, claim)):
        from .sentences import sentences

        new = set(_WORD.findall(claim.lower())) - set(_WORD.findall(question.lower())) - word_set("words", "stop")
        return bool(new) and all(span.text.endswith("?") for span in sentences(claim))
    return not any(map(str.isalnum, claim))


def _added(claim: str, question: str, said: list[Sentence], lacking: list[tuple[str, int]]) -> str:
    """What an answer that begins with a lack is, by what it says besides."""
    others: list[tuple[str, bool]] = []  # statements, and whether each stands by itself
    last = 0  # how many of them stand before the last lack
    known = [question.lower()]
    offered = False  # a list of what the speaker can do
    for sentence, (kind, end) in zip(said, lacking, strict=True):
        offered = (offered and sentence.item) or (sentence.text[-1:] == ":" and _is(sentence, "pointer"))
        if offered:
            continue
        clause, *more = _CLAUSE.split(sentence.text[end:])
        if kind:
            last = len(others)
            lacked, *goes_on = _GOES_ON.split(clause)
            begin = 0
            if (conceded := _CONCEDED.search(sentence.text, 0, end)) and not _kind(sentence, "describes", "reports")[0]:
                begin = conceded.start()  # "it was in 1871, although the text does not say so"
                others.append((sentence.text[:begin], False))
            known += sentence.text[begin:end], lacked
            others += [(part, False) for part in goes_on]
        else:
            others.append((clause, True))
        others += [(part, True) for part in more]
    if not others:
        return REFUSAL
    added = _Added(claim, question, " ".join(known))
    weights = [added.weight(*statement, n == 0) for n, statement in enumerate(others)]
    if not any(weights):
        return REFUSAL
    return ANSWER if 2 in weights[last:] else DOUBTFUL


def _is(sentence: Sentence, name: str) -> bool:
    """Whether a sentence that need not lack anything is of that kind, and has no value."""
    return bool(_kind(_read(sentence.text, whole=True), name)[0]) and not _kind(sentence, "value")[0]


class _Added:
    """What a statement adds to the question."""

    def __init__(self, claim: str, question: str, known: str) -> None:
        self.asks_whether = _WHETHER.match(question) is not None
        asked = _read(_written_out(question), whole=True)
        self.asks_value = not self.asks_whether and bool(_kind(asked, "asks_value")[0])
        self.digits = set(_DIGITS.findall(known.replace(",", "")))
        self.words = set(_WORD.findall(known))
        names = {name.lower().removesuffix("'s") for name in _NAMED.findall(claim.replace("*", ""))}
        self.names = names - self.words - set(_WORD.findall(claim))  # a word that is in lower case elsewhere is none

    def weight(self, text: str, whole: bool, first: bool) -> int:
        """0: nothing; 1: something, perhaps what was asked for; 2: a value or a name, in words of its own."""
        sentence = _read(text, whole=True)
        bare = sentence.text
        if not bare.strip(" .!") or bare.endswith("?") or _lack(sentence)[0]:
            return 0
        if _kind(sentence, "affirms")[0]:
            return 2
        value = self._values(bare)
        if self.asks_value and not value and whole and self._explains(sentence):
            return 0
        if not value and _kind(sentence, "conditional")[0]:
            return 0
        if _kind(sentence, "pointer", "method", "describes")[0]:
            return 2 if value and _kind(sentence, "value")[0] else 0
        if not whole:
            return 2 * value
        if not value and self._restates(sentence):
            return int(self.asks_whether)
        if (value or first) and _kind(sentence, "gives")[0]:
            return 2
        if _kind(sentence, "reports")[0]:
            return 1 if value or " that " in bare else 0
        return 2 if value else 0 if _kind(sentence, "speaker")[0] else 1

    def _values(self, text: str) -> bool:
        """Whether it has a number, a name or code that the question does not have."""
        if not self.digits.issuperset(_DIGITS.findall(_CITED.sub("", text).replace(",", ""))):
            return True
        return not self.names.isdisjoint(_WORD.findall(text)) or _CODE.search(text) is not None

    def _explains(self, sentence: Sentence) -> bool:
        """Whether a statement beside a question for a value is too long and too general to be one."""
        from .spelling import SCALES, number_words

        named = (sentence.has - self.words) & {*number_words(), *SCALES, *_lists()["{worded}"]} - {"one"}
        return not named and len(sentence.text.split()) >= EXPLAINED and not _kind(sentence, "points")[0]

    def _restates(self, sentence: Sentence) -> bool:
        from .words import stem

        new = {word for word in sentence.has if word[0] != "{"} - self.words
        new -= word_set("words", "stop") | _lists()["{joint}"]
        return {stem(word) for word in self.words}.issuperset(map(stem, new))


def _conclusion(told: list[str], said: list[Sentence]) -> int:
    """Where an answer that begins with how one would go about it says that it can't, if it gave no value before."""
    last = max((n for n, kind in enumerate(told) if kind in ("unable", "model")), default=0)
    drawn = "preamble" in told[:last] or _kind(said[last], "concluding")[0]
    if not drawn or any(_kind(sentence, "value")[0] for sentence in said[:last]):
        return 0
    return last


def _read(text: str, whole: bool = False) -> Sentence:
    plain = _MARKS.sub("", text)
    bare = _patterns("courtesy")[0][1].sub("", plain, count=1)
    has = set(_WORD.findall(bare))
    if whole or not has.isdisjoint(quick_words("signs")):  # else it lacks nothing, and no list is looked for
        has.update(*map(_lists_of().__getitem__, _lists_of().keys() & has))
    return Sentence(bare, has, plain != text)


def _lack(sentence: Sentence) -> tuple[str, int]:
    """How the sentence says that there is no answer, and where that ends; yes or no before it is an answer."""
    if quick_words("signs").isdisjoint(sentence.has):
        return "", 0
    kind, end = _kind(sentence, *LACKING)
    if not kind and ": " in sentence.text and (label := _LABEL.match(sentence.text)):
        kind, end = _kind(_read(sentence.text[label.end() :]), *LACKING)
        end += label.end()
    return ("", 0) if kind and _kind(sentence, "answering")[0] else (kind, end)


def _kind(sentence: Sentence, *names: str) -> tuple[str, int]:
    """The first of the kinds that the sentence is of, or nothing, and where the words end that say so."""
    for name in names:
        for needed, pattern in _patterns(name):
            if needed <= sentence.has and (match := pattern.search(sentence.text)):
                return name, match.end()
    return "", 0


def _written_out(text: str) -> str:
    """Lower case, straight apostrophes, contractions in full, without stars."""
    text = text.lower().replace("’", "'").replace("*", "")
    if " " not in text.strip():
        text = text.replace("_", " ")  # INSUFFICIENT_CONTEXT
    for short, pattern, full in _contractions() if "'" in text else ():
        text = pattern.sub(full, text) if short in text else text
    return text


@cache
def _contractions() -> list[tuple[str, re.Pattern[str], str]]:
    """Whole words such as "it's", and endings such as "n't"."""
    written = {short: rf"{short}\b" for short in table("refusals")["contractions"]}
    written |= {short: rf"\b{text}" for short, text in written.items() if short[0] not in "n'"}
    return [(short, re.compile(written[short]), full) for short, full in table("refusals")["contractions"].items()]


@cache
def _patterns(name: str) -> list[tuple[frozenset[str], re.Pattern[str]]]:
    """The expressions of one kind, each with the words and word lists that no match can do without."""
    return [(_needed(text), re.compile(_NAME.sub(_filled, text))) for text in table("refusals")["patterns"][name]]


def _filled(match: re.Match[str]) -> str:
    gaps = {"{gap}": r"[^.!?]{0,80}?", "{near}": r"[^.!?,]{0,80}?"}
    return gaps.get(match[0]) or f"(?:{'|'.join(sorted(_lists()[match[0]], key=len, reverse=True))})"


def _needed(text: str) -> frozenset[str]:
    """The words and the names of lists that stand outside of every bracket."""
    while (shorter := re.sub(r"[\[(][^()\[\]]*[\])]", "~", text)) != text:
        text = shorter
    words = re.findall(r"(?<![^ ^])(?:[a-z]+|\{[a-z]+\})(?= |$)", re.sub(r"\\b|\{gap\}|\{near\}", " ", text))
    return frozenset() if "|" in text else frozenset(words)


@cache
def _lists_of() -> dict[str, frozenset[str]]:
    """The names of the lists that a word is in."""
    words = frozenset().union(*_lists().values())
    return {word: frozenset(name for name, listed in _lists().items() if word in listed) for word in words}


@cache
def _lists() -> dict[str, frozenset[str]]:
    """The word lists by their names in patterns, such as {source}."""
    return {f"{{{name}}}": frozenset(words.split()) for name, words in table("refusals")["words"].items()}
