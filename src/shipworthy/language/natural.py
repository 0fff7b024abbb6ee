"""Natural refusals: an answer that says first, or only, that there is no answer, and gives none after that.

    answer → sentences → what each does (patterns, as data) → refusal?

How assistants say so is in `data/refusals.toml`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..text import folded_claim
from .tables import letter_signs, lines_of, table, telling_words

READ = 6000  # characters of an answer that are read; a refusal has said so by then
SENTENCE = 400  # characters of a sentence
LACKING = ("unable", "silent", "model", "asks")
_WORD = re.compile(r"n/a\b|[a-z]+")
_NAME = re.compile(r"\{[a-z]+\}")
_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”")


class Sentence(NamedTuple):
    """A sentence without the courtesy that it opens with; its words, and the names of the lists that they are in."""

    text: str
    has: set[str]


def refuses(claim: str) -> bool:
    """Whether the answer is a refusal in natural words: it says first that there is no answer, and gives none after."""
    claim = claim[:READ]
    if letter_signs().isdisjoint(telling_words(folded_claim(claim))) and not _rewritten(claim):
        return False
    claim = claim.lower()
    text = _QUOTED.sub("x", _written_out(claim.strip().strip('"')))  # quotes are somebody else's words
    if lines_of("signs").isdisjoint(_WORD.findall(text)):
        return False
    from .sentences import sentences  # most answers lack nothing, and are read no further

    said = [_read(" ".join(span.text[:SENTENCE].split())) for span in sentences(text)]
    lacking = [_lack(sentence) for sentence in said]
    if not any(lacking):
        return False
    told = [lack or _kind(sentence, "preamble", "gives")[0] for lack, sentence in zip(lacking, said, strict=True)]
    kinds = [kind for kind in told if kind != "preamble"]
    said_more = kinds[1:2] != ["gives"] or any(kind in LACKING for kind in kinds[1:])
    return said_more if kinds[0] in LACKING else _concludes(told, said)


def _rewritten(text: str) -> bool:
    """Whether it has a character whose reading may join or change words."""
    if "'" in text or '"' in text or "*" in text or "/" in text:
        return True
    return not text.isascii() and ("’" in text or "“" in text)


def _concludes(told: list[str], said: list[Sentence]) -> bool:
    """Whether an answer that begins with how one would go about it ends with not being able to, and gives no value."""
    last = max((n for n, kind in enumerate(told) if kind in ("unable", "model")), default=0)
    drawn = "preamble" in told[:last] or _kind(said[last], "concluding")[0]
    if not (last and drawn) or "gives" in told[last:]:
        return False
    return not any(_kind(sentence, "value")[0] for sentence in said[:last])


def _read(text: str) -> Sentence:
    bare = _patterns("courtesy")[0][1].sub("", text, count=1)
    has = set(_WORD.findall(bare))
    if not has.isdisjoint(lines_of("signs")):  # else it lacks nothing, and no list is looked for
        has |= {name for name, words in _lists().items() if not has.isdisjoint(words)}
    return Sentence(bare, has)


def _lack(sentence: Sentence) -> str:
    """How the sentence says that there is no answer; one with yes or no before it, or a number after, does not."""
    kind, end = _kind(sentence, *LACKING) if not lines_of("signs").isdisjoint(sentence.has) else ("", 0)
    (_, before), (_, after) = _patterns("answering")
    return "" if kind and (before.search(sentence.text) or after.search(sentence.text, end)) else kind


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
def _lists() -> dict[str, frozenset[str]]:
    """The word lists by their names in patterns, such as {source}."""
    return {f"{{{name}}}": frozenset(words.split()) for name, words in table("refusals")["words"].items()}
