"""Refusals: the exact token that gates count, claims that nearly say it, and wider rules one may declare.

A natural refusal says first, or only, that there is no answer, and nothing after that gives one. How assistants
say so is data: `data/refusals.toml`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..errors import UsageError
from ..text import fold
from .tables import ascii_words, lines_of, table

if TYPE_CHECKING:
    import os

TOKEN = "not in context"
MODES = ("exact", "natural", "phrases")
LONGEST_PHRASE = 1000
# Letters, small capitals and digits that look like letters of the token; NFKD sees to accents and full-width letters.
LOOKALIKES = {"c": "сϲⲥᴄ", "e": "еεⲉᴇ", "i": "іιıⲓɪl1", "n": "пոռɴ", "o": "оοօⲟᴏ0", "t": "тτⲧᴛ", "x": "хχⲭ"}
FILLERS = "\u115f\u1160"  # letters that show as a blank
READ = 6000  # characters of an answer that are read; a refusal has said so by then
SENTENCE = 400  # characters of a sentence
LACKING = ("unable", "silent", "model", "asks")
_WORD = re.compile(r"n/a\b|[a-z]+")
_NAME = re.compile(r"\{[a-z]+\}")
_REWRITTEN = "'’*\"“/"  # characters whose reading may join or change words
_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”")


def is_exact(claim: str) -> bool:
    """The default rule, and the one that precision is gated on: the token, after strip and case fold."""
    return claim.strip().casefold() == TOKEN


def is_drifted(claim: str) -> bool:
    """A refusal whose bytes are not exactly the token: other case, or white space around it."""
    return claim != TOKEN and is_exact(claim)


def is_near(claim: str) -> bool:
    """The claim has the token in it, whatever its case, spacing, punctuation or letters, but is not it."""
    plain = claim.isascii() and claim.replace("\n", "").isprintable()
    if plain and "ntext" not in claim.lower():  # nothing is disguised, and it is not there
        return False
    skeleton = " ".join(claim.translate(_SKELETON).split())
    return f" {TOKEN} " in f" {skeleton} " and not is_exact(claim)


class RefusalRule(msgspec.Struct, frozen=True):
    """A declared rule: the exact token always matches, and whatever else the rule calls a refusal."""

    name: str
    whole: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()

    def matches(self, claim: str) -> bool:
        if is_exact(claim):
            return True
        return refuses(claim) if self.name == "natural" else _has_phrase(claim, self.whole, self.starts)


def load_rule(mode: str, phrases: Iterable[str] = ()) -> RefusalRule:
    """The rule `exact` (nothing wider), `natural` (the phrases shipped here) or `phrases` (those given)."""
    if mode not in MODES:
        hint = f"Use one of {', '.join(MODES)}."
        raise UsageError(f"{mode!r} is not a refusal rule", hint=hint, code="refusal-rule-unknown")
    if mode != "phrases":
        return RefusalRule(mode)
    checked = [_checked(phrase, where="") for phrase in phrases]
    starts = tuple(sorted({_canonical(phrase) for phrase in checked if phrase.endswith("*")}))
    return RefusalRule("phrases", frozenset(_canonical(each) for each in checked if not each.endswith("*")), starts)


def read_phrases(path: str | os.PathLike[str]) -> list[str]:
    """The phrases of a file: one a line, `#` starts a comment line, blank lines are skipped."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [(number, line.strip()) for number, line in enumerate(file, start=1)]
    except (OSError, UnicodeDecodeError) as problem:
        message = f"the phrases can't be read: {getattr(problem, 'strerror', None) or 'it is not UTF-8 text'}"
        hint = "Give a UTF-8 text file with one phrase a line."
        raise UsageError(message, where=str(path), hint=hint, code="refusal-phrases-unreadable") from None
    phrases = [_checked(line, f"{path}:{number}") for number, line in lines if line and not line.startswith("#")]
    if not phrases:
        hint = "Write one refusal wording a line, or drop the option to use the exact token only."
        raise UsageError("no phrase in the file", where=str(path), hint=hint, code="refusal-phrases-empty")
    return phrases


# --- natural: what each sentence does, in order ---


class Sentence(NamedTuple):
    """A sentence without the courtesy that it opens with; its words, and the names of the lists that they are in."""

    text: str
    has: set[str]


def refuses(claim: str) -> bool:
    """Whether the answer is a refusal in natural words: it says first that there is no answer, and gives none after."""
    claim = claim[:READ].lower()
    if _signs_of_letters().isdisjoint(ascii_words(claim)) and not any(map(claim.__contains__, _REWRITTEN)):
        return False
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
def _signs_of_letters() -> frozenset[bytes]:
    """The signs as a quick look finds them; one with a stroke is looked for where there is a stroke."""
    return frozenset(sign.encode() for sign in lines_of("signs") if sign.isalpha())


@cache
def _lists() -> dict[str, frozenset[str]]:
    """The word lists by their names in patterns, such as {source}."""
    return {f"{{{name}}}": frozenset(words.split()) for name, words in table("refusals")["words"].items()}


# --- near: a skeleton of the text, made one character at a time so that hostile input stays linear ---


class _Skeleton(dict[int, str]):
    """What each character looks like: a plain lower-case letter, a space, or nothing at all."""

    def __missing__(self, point: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(point)).casefold()
        look = "".join(_look(character) for character in plain)
        if len(self) < 10_000:  # text in every script of the world must not make the table a leak
            self[point] = look
        return look


def _look(character: str) -> str:
    if character in FILLERS or character.isspace():
        return " "
    if character.isalnum():
        return next((letter for letter, alike in LOOKALIKES.items() if character in alike), character)
    # Marks (accents), format characters (zero-width joiners, direction marks) and controls are not seen.
    return "" if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc") else " "


_SKELETON = _Skeleton()


def _has_phrase(claim: str, whole: frozenset[str], starts: tuple[str, ...]) -> bool:
    """The whole claim is a phrase, or it begins with one that ends in `*`."""
    # Phrases are short, so the claim's beginning decides and a huge claim costs nothing.
    text = claim.strip()
    head = _canonical(text[: 8 * LONGEST_PHRASE])
    if len(text) <= 8 * LONGEST_PHRASE and head in whole:
        return True
    return any(head.startswith(start) and not head[len(start) : len(start) + 1].isalnum() for start in starts)


def _checked(phrase: str, where: str) -> str:
    phrase = phrase.strip()
    if len(phrase) <= LONGEST_PHRASE and _canonical(phrase):
        return phrase
    message = f"a refusal phrase needs letters or digits and at most {LONGEST_PHRASE:,} characters"
    hint = "Write the wording as the system says it; end it with * to match how a claim begins."
    raise UsageError(message, where=where, hint=hint, code="refusal-phrase-invalid")


def _canonical(text: str) -> str:
    """Folded, with straight apostrophes and without punctuation at the end."""
    folded = fold(text.replace("\u2019", "'"))
    return folded[: next((end for end in range(len(folded), 0, -1) if folded[end - 1].isalnum()), 0)]
