"""Tokens: a sentence as words, numbers and marks, with the phrases of the rules as one token each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from .numbers import CARDINALS, ORDINALS, SCALES, combined, read_digits
from .rules import Rules
from .stems import stems

# Not after an initial or an abbreviation: "Washington D.C. is", "No. 4".
SENTENCE_END = re.compile(
    r"(?<=[.!?;])(?=\s)(?<!\b[A-Z]\.)(?<!\bNo\.)(?<!\b[MD]r\.)(?<!\bvs\.)(?<!e\.g\.)(?<!i\.e\.)\s+|[\n\r]+|(?<=\w);"
)
# "Record: access logs; Kept for: 13 months" is a table row: its cells speak of one thing, and stay together.
NEXT_CELL = re.compile(r";(?=\s*[^;:.!?\n]{1,40}:\s)")
TOKEN = re.compile(
    r"(?P<number>[$€£]?\d+(?:[.,]\d+)*)(?P<unit>%|°[a-z]|(?:st|nd|rd|th)\b|(?:[^\W\d_]{1,3}\b)(?!['-]))?"
    r"|(?P<word>[^\W\d_]\w*(?:[-/'.]\w+)*)"
    r"|(?P<mark><=|>=|[<>≤≥~≈%$€£,:()—])",
    re.IGNORECASE,
)
WIDEST = 1000  # characters of one sentence
PIECE = re.compile(r"\S.{0,980}(?!\S)|\S{1,1000}", re.DOTALL)
LONGEST_PHRASE = 6
LONGEST = 120  # tokens of one sentence that are looked at together
CONTRACTIONS = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "dont": "do not",
}
CONTRACTIONS |= {
    "doesnt": "does not",
    "isnt": "is not",
    "arent": "are not",
    "cant": "can not",
    "ain't": "is not",
}
MARKS = frozenset(",:()—")
DETERMINERS = stems(
    "a", "an", "the", "this", "that", "these", "those", "his", "her", "its", "their", "my", "our", "your"
)
MONTH_BEFORE = frozenset(
    [
        "in",
        "since",
        "by",
        "until",
        "of",
        "during",
        "last",
        "next",
        "early",
        "late",
        "mid",
        "this",
        "every",
        "before",
        "after",
        "from",
        "to",
        "through",
    ]
)


class Token(NamedTuple):
    """A word or phrase: as written, and as it is compared."""

    text: str
    stem: str
    number: Fraction | None = None
    ordinal: bool = False
    unit: bool = False  # of the number before it

    @property
    def key(self) -> str:
        if self.number is None:
            return self.stem
        return f"{'@' if self.ordinal else '#'}{self.number}"


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text without their end marks; a text without ends is cut at a space."""
    whole = NEXT_CELL.sub(",", unicodedata.normalize("NFC", text).replace("’", "'"))
    for part in SENTENCE_END.split(whole):
        for piece in PIECE.findall(part) if len(part) > WIDEST else (part,):
            sentence = piece.strip().rstrip(".!?;").rstrip()
            if sentence:
                yield sentence


def tokenise(sentence: str, rules: Rules) -> list[Token]:
    """The tokens of one sentence, numbers read and phrases joined."""
    tokens = _join_phrases(_join_numbers(list(_words(sentence, rules))), rules)
    for index in range(1, len(tokens)):
        before, token = tokens[index - 1], tokens[index]
        if before.number is not None and (token.stem in rules.units or token.text in rules.units):
            tokens[index] = token._replace(unit=True)
    return tokens


def _words(sentence: str, rules: Rules) -> Iterator[Token]:
    for match in TOKEN.finditer(sentence):
        if match["mark"]:
            yield Token(match["mark"], match["mark"])
        elif match["number"]:
            yield from _number(match["number"], match["unit"], rules)
        else:
            yield from _word(match["word"], rules)


def _word(word: str, rules: Rules) -> Iterator[Token]:
    text = word.casefold().rstrip(".'")
    text = text.removesuffix("'s")
    if text in CONTRACTIONS or text.endswith("n't"):
        for part in CONTRACTIONS.get(text, text.removesuffix("n't") + " not").split():
            yield Token(part, rules.stemmer.stem(part))
        return
    parts = re.split(r"[-/]", text)
    spaced = tuple(rules.stemmer.stem(part) for part in parts)
    if len(parts) > 1 and (spaced in rules.phrases.get(spaced[0], ()) or rules.grammar.isdisjoint(spaced)):
        for part, stem in zip(parts, spaced, strict=True):
            yield Token(part, stem)
        return
    # The case of the word decides whether "May" is the month.
    yield Token(word if text == "may" else text, rules.stemmer.stem(text))


def _number(digits: str, unit: str | None, rules: Rules) -> Iterator[Token]:
    currency = digits[0] if digits[0] in "$€£" else ""
    plain = re.sub(r",(?=\d{3}\b)", "", digits.lstrip("$€£"))
    value = read_digits(plain)
    if value is None:
        yield Token(digits, digits)
        return
    suffix = (unit or "").casefold()
    ordinal = suffix in ("st", "nd", "rd", "th")
    yield Token(digits, plain, value, ordinal)
    if currency or (suffix and not ordinal):
        yield Token(currency or suffix, currency or suffix)


def _join_numbers(tokens: list[Token]) -> list[Token]:
    """Numbers in words become numbers: "twenty five", "two hundred", "third"."""
    joined: list[Token] = []
    for index, token in enumerate(tokens):
        value = _word_value(token, tokens[index - 1] if index else None)
        if value is None:
            joined.append(token)
            continue
        before = joined[-1] if joined else None
        if before and before.number and not before.ordinal and not token.ordinal and token.number is None:
            scaled = combined(before.number, value, token.text)
            if scaled is not None:
                joined[-1] = Token(f"{before.text} {token.text}", str(scaled), scaled)
                continue
        ordinal = token.ordinal or token.text in ORDINALS
        joined.append(Token(token.text, str(value), value, ordinal))
    return joined


def _word_value(token: Token, before: Token | None) -> Fraction | None:
    if token.number is not None:
        return token.number
    if token.text == "one" and before is not None and before.text in ("no", "any", "every", "some"):
        return None
    if token.text in ORDINALS:
        counted = token.text == "second" and before is not None and (before.number is not None or before.text == "per")
        return None if counted else Fraction(ORDINALS[token.text])
    value = CARDINALS.get(token.text, SCALES.get(token.text))
    return None if value is None else Fraction(value)


def _join_phrases(tokens: list[Token], rules: Rules) -> list[Token]:
    joined: list[Token] = []
    index = 0
    stems = [token.stem for token in tokens]
    while index < len(tokens):
        token = tokens[index]
        length = _phrase_length(stems, index, rules)
        if length > 1 and token.number is None:
            part = tokens[index : index + length]
            joined.append(Token(" ".join(word.text for word in part), " ".join(stems[index : index + length])))
        else:
            joined.append(_month(tokens, index) if token.stem == "may" else token)
        index += max(length, 1)
    return joined


def _phrase_length(stems: list[str], index: int, rules: Rules) -> int:
    known = rules.phrases.get(stems[index])
    if known:
        for length in range(min(LONGEST_PHRASE, len(stems) - index), 1, -1):
            if tuple(stems[index : index + length]) in known:
                return length
    return 1


def _month(tokens: list[Token], index: int) -> Token:
    """The month of May is a name, not a permission."""
    before = tokens[index - 1].text.casefold() if index else ""
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    dated = after is not None and after.number is not None
    capital = tokens[index].text == "May"
    if dated or (capital and (index > 0 or before in MONTH_BEFORE)) or (before in MONTH_BEFORE and after is None):
        return Token("may", "may#month")
    return Token("may", "may")
