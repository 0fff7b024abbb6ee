"""Refusals: the exact token that gates count, claims that nearly say it, and wider rules one may declare."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from ..errors import UsageError
from ..text import fold
from .natural import ANSWER, DOUBTFUL, REFUSAL, read
from .packs import language

if TYPE_CHECKING:
    import os

TOKEN = "not in context"
MODES = ("exact", "natural", "phrases")
LONGEST_PHRASE = 1000
# Letters, small capitals and digits that look like letters of the token; NFKD sees to accents and full-width letters.
LOOKALIKES = {"c": "сϲⲥᴄ", "e": "еεⲉᴇ", "i": "іιıⲓɪl1", "n": "пոռɴ", "o": "оοօⲟᴏ0", "t": "тτⲧᴛ", "x": "хχⲭ"}
FILLERS = "\u115f\u1160"  # letters that show as a blank


def is_exact(claim: str) -> bool:
    """The default rule, and the one that precision is gated on: the token, after strip and case fold."""
    text = claim.strip()
    return len(text) <= len(TOKEN) and text.casefold() == TOKEN  # case folding makes no text shorter


def is_drifted(claim: str) -> bool:
    """A refusal whose bytes are not exactly the token: other case, or white space around it."""
    return claim != TOKEN and is_exact(claim)


def is_near(claim: str) -> bool:
    """The claim has the token in it, whatever its case, spacing, punctuation or letters, but is not it."""
    if "x" not in claim and "X" not in claim and _is_latin(claim):  # as most, it has nothing that looks like an x
        return False
    plain = claim.isascii() and claim.replace("\n", "").isprintable()
    if plain and "ntext" not in claim.lower():  # nothing is disguised, and it is not there
        return False
    skeleton = " ".join(claim.translate(_SKELETON).split())
    return f" {TOKEN} " in f" {skeleton} " and not is_exact(claim)


def _is_latin(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode("latin-1"))
    except UnicodeEncodeError:
        return False


class RefusalRule(msgspec.Struct, frozen=True):
    """A declared rule: the exact token always matches, and whatever else the rule calls a refusal."""

    name: str
    whole: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()

    def matches(self, claim: str, question: str = "", lang: str = "") -> bool:
        return is_exact(claim) or self.reads(claim, question, lang) == REFUSAL

    def reads(self, claim: str, question: str = "", lang: str = "") -> str:
        """What it takes a claim for that is not the token: `refusal`, `answer`, or `doubtful`."""
        if self.name == "natural":
            return read_in(language(claim, question, lang), claim, question)
        return REFUSAL if _has_phrase(claim, self.whole, self.starts) else ANSWER


def read_in(lang: str, claim: str, question: str) -> str:
    """What a claim in that language is; nothing is read into one without a pack."""
    if lang == "en":
        return read(claim, question)
    from . import meaning, packs

    found = packs.pack(lang)
    return meaning.read(claim, question, found) if found else ANSWER


def counts(read_as: str, in_doubt: bool) -> bool:
    """Whether what was read is counted as a refusal, where those in doubt are or are not."""
    return read_as == REFUSAL or (in_doubt and read_as == DOUBTFUL)


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


def in_token(text: str) -> bool:
    """Whether a folded text is words of the refusal token: `context` is, the `no` of a yes or no is not."""
    return bool(text.strip()) and f" {text.strip()} " in f" {TOKEN} "
