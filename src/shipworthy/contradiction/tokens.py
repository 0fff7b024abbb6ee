"""Tokens: a sentence as words, numbers and marks, with the phrases of the rules as one token each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from shipworthy.contradiction.rules import Rules

SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|[\n\r]+|(?<=\w);")
TOKEN = re.compile(
    r"(?P<number>[$€£]?\d+(?:[.,]\d+)*)(?P<unit>%|°[a-z]|(?:st|nd|rd|th)\b|(?:[^\W\d_]{1,3}\b)(?!['-]))?"
    r"|(?P<word>[^\W\d_]\w*(?:[-/'.]\w+)*)"
    r"|(?P<mark><=|>=|[<>≤≥~≈%$€£,:()—])",
    re.IGNORECASE,
)
LONGEST = 120  # tokens of one sentence that are looked at together
CONTRACTIONS = {"cannot": "can not", "can't": "can not", "won't": "will not", "shan't": "shall not", "dont": "do not"}
CONTRACTIONS |= {"doesnt": "does not", "isnt": "is not", "arent": "are not", "cant": "can not", "ain't": "is not"}
MARKS = frozenset(",:()—")
DETERMINERS = frozenset(("a", "an", "the", "this", "that", "these", "those", "his", "her", "its", "their", "my", "our", "your"))
MONTH_BEFORE = frozenset("in since by until of during last next early late mid this every before after from to through".split())
CARDINALS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen twenty".split()
    )
}
CARDINALS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ORDINALS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
        " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
}
ORDINALS |= {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80}
ORDINALS |= {"ninetieth": 90, "hundredth": 100, "thousandth": 1000}


class Token(NamedTuple):
    """A word or phrase: as written, and as it is compared."""

    text: str
    stem: str
    number: Fraction | None = None
    ordinal: bool = False

    @property
    def key(self) -> str:
        if self.number is None:
            return self.stem
        return f"{'@' if self.ordinal else '#'}{self.number}"


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; marks of the end stay out of them."""
    for part in SENTENCE_END.split(unicodedata.normalize("NFC", text).replace("’", "'")):
        if part.strip():
            yield part.strip().rstrip(".!?;").rstrip()


def tokenise(sentence: str, rules: Rules) -> list[Token]:
    """The tokens of one sentence, numbers read and phrases joined."""
    return _join_phrases(_join_numbers(list(_words(sentence, rules))), rules)


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
    value = _fraction(plain)
    if value is None:
        yield Token(digits, digits)
        return
    suffix = (unit or "").casefold()
    ordinal = suffix in ("st", "nd", "rd", "th")
    yield Token(digits, plain, value, ordinal)
    if currency or (suffix and not ordinal):
        yield Token(currency or suffix, currency or suffix)


def _fraction(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None


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
            scaled = _combined(before.number, value, token.text)
            if scaled is not None:
                joined[-1] = Token(f"{before.text} {token.text}", str(scaled), scaled)
                continue
        ordinal = token.ordinal or token.text in ORDINALS
        joined.append(Token(token.text, str(value), value, ordinal))
    return joined


def _combined(before: Fraction, value: Fraction, word: str) -> Fraction | None:
    if word in SCALES:
        return before * value
    if word in CARDINALS and before.denominator == 1 and before % 10 == 0 and 0 < value < 10 and before >= 20:
        return before + value
    return None


def _word_value(token: Token, before: Token | None) -> Fraction | None:
    if token.number is not None:
        return token.number
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
    for words in rules.phrases.get(stems[index], ()):
        if tuple(stems[index : index + len(words)]) == words:
            return len(words)
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
