"""Words: how the demo reads text — normalised, stemmed, and with synonyms folded into one concept."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ..language.words import stem

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_THOUSANDS = re.compile(r"(?<=\d),\s?(?=\d{3}(?!\d))")
_CLOCK = re.compile(r"(?<=\b\d\d):\s?(?=\d\d\b)")
_TOKEN = re.compile(r"[^\W_]+")
_PHRASES = {"at most": "maximum", "up to": "maximum", "upper bound": "maximum", "at least": "minimum"}
_PHRASE = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b")
_GO = re.compile(r"\bGo\b")  # the language, not the verb
_REQUESTS = re.compile(
    r",?\s*\b(?:with citations|with sources|in one sentence|in short|at the latest|briefly|please)\b"
)

# Words of asking: they say how the answer is wanted, not what it is about.
_ASKING = """
a about after all am an and any anybody anyone are as at back be been before being both bring but by came can
come comes could counted did do does doing done due during each either every for from get gets give gives given
go goes got had happen happens has have having he her here how i if in include included includes into is it its itself
just know large least length less let like long many may me mean meaning means meant more most much must my
named need needed needs new no not number of on once one only or our out over own pass passes per person place
possible provide provides put run runs running s she should since so some soon such than that the their them
then there these they this those through to too under until up us use used uses want was way we well were what
when where whether which while who whom whose why will with within without would you your
name tell show shows explain describe list enumerate compare contrast display
amount apply applies become becomes case call called code command different existed allow allowed another
far fast frequently high make made often whole
"""

# Each line is one concept: the first word stands for all of them.
_SYNONYMS = """
price cost costs costing fee
phone telephone
expire expires expired expiry
keep kept keeps retain retains retained retention
weigh weighs weight heavy
location located stands
holiday holidays vacation vacations
store stored stores storage
silent silence silenced
pay pays paid
write writes written wrote
newest latest
last lasts life
take takes taken
percent percentage
start starts started begin begins
founder founders founded founding
employee employees
update updates updated
lead leads leader
tell tells told telling
send sends sent sending
own owns owner owners
tall taller
hold holds held
"""
STOP_WORDS = frozenset(_ASKING.split())


def normalise(text: str) -> str:
    """The text without what jitter changes: case, dashes, digit grouping, spacing, request clauses."""
    text = unicodedata.normalize("NFKC", _GO.sub("golang", text)).casefold().translate(_DASHES)
    text = _CLOCK.sub(":", _THOUSANDS.sub("", text))
    text = " ".join(_REQUESTS.sub(" ", text).split())
    return _PHRASE.sub(lambda phrase: _PHRASES[phrase[0]], text)


def tokens(text: str) -> list[str]:
    """Every word of the text as its concept, in order."""
    return [concept(word) for word in _TOKEN.findall(normalise(text))]


def key_terms(question: str) -> list[str]:
    """What the question is about: its concepts without the words of asking, each once, in order."""
    words = [word for word in _TOKEN.findall(normalise(question)) if word not in STOP_WORDS]
    return list(dict.fromkeys(concept(word) for word in words))


def leading_terms(phrase: str) -> set[str]:
    """The concepts that a phrase begins with, up to its first word of asking."""
    words = _TOKEN.findall(normalise(phrase))
    end = next((n for n, word in enumerate(words) if word in STOP_WORDS), len(words))
    return {concept(word) for word in words[:end]}


@lru_cache(maxsize=8192)
def concept(word: str) -> str:
    stemmed = stem(word)
    return CONCEPTS.get(stemmed, stemmed)


CONCEPTS = {stem(word): stem(line.split()[0]) for line in _SYNONYMS.strip().splitlines() for word in line.split()}
