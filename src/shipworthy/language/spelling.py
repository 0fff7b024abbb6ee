"""One spelling: text in the form in which it is compared, whoever wrote it.

    text → letters → Markdown → numbers → units → dates → white space

Every step is a search that never goes back over what it has read, so time grows with the text and no faster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from .tables import word_set, words_of

SIGNS: dict[int, str] = {ord(char): "'" for char in "‘’‚‛′´ʼ＇"}
SIGNS |= {ord(char): '"' for char in "“”„‟″«»"}
SIGNS |= {ord(char): "-" for char in "‐‑‒–—―−﹣"}
BLANK = {ord(char): " " for char in "\t\v\f\x1c\x1d\x1e\x1f\x85"}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES = SCALES | {"dozen": 12}
PASSES = 6  # more than any text that people write needs; each reads the text once

_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_LINE_MARK = re.compile(r"(?m)^[ ]*(?:(?:#{1,6}|[*+•-])[ ]+)+")
_EMPHASIS = re.compile(r"\*+(?=\S)|(?<=\S)\*+|(?<![^\W_])_+|_+(?![^\W_])|~~+|`+")
_GROUPED = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+)(?![\d,]*\d)")
_BARE_FRACTION = re.compile(r"(?<![\w.,])\.(?=\d)")
_ZEROS = re.compile(r"((?<!\w)(?:\w{1,12}[ ]){1,2})?(?<![\w.])(\d{1,30})\.(\d{1,30})(?![\d.]*\d)(?![^\W\d_])")
_SCALED = re.compile(r"(?<![\w.,])(\d{1,15}(?:\.\d{1,15})?)[ -](hundred|thousand|million|billion|trillion)\b")
_HYPHEN = re.compile(r"(?<=\d)-(?=[^\W\d_]{2})")
_PERCENT = re.compile(r"(?<=\d)[ ]?(?:%|per cent\b|percent\b|percentage points?\b)")
_BEFORE = re.compile(r"(?:us[ ]?\$|\$|\busd|€|\beur|£|\bgbp)[ ]?(?=\d)")
_AFTER = re.compile(
    r"(?<![\w.,$€£])(\d[\d.]{0,30})[ ]?(us dollars?|dollars?|usd|euros?|eur|€|£|gbp|pounds sterling)(?!\w)"
)
_CLOCK = re.compile(r"(?<=\d)[ ]?([ap])\.?m\b\.?(?!\w)")
_MONEY = {"$": "$", "us$": "$", "us $": "$", "usd": "$", "dollar": "$", "us dollar": "$"}
_MONEY |= {"€": "€", "eur": "€", "euro": "€", "£": "£", "gbp": "£", "pounds sterling": "£"}


def spelled(text: str) -> str:
    """The text in one spelling: letters, signs, Markdown, numbers, units and dates in one form."""
    for _ in range(PASSES):  # one form may uncover another: `**thirty**-day` is a number only without its stars
        plain = letters(text)
        bare = " ".join(_markdown(plain).split())
        text = bare
        if _DIGIT.search(bare) or _any(bare, _number_starts()):
            text = " ".join(_values(bare).split())
        if text == plain:
            break
    return text


_DIGIT = re.compile(r"\d")
_DATED = re.compile(r"\d-\d\d-\d|\d(?:st|nd|rd|th)? (?:of )?[a-z]{3}|[a-z]\.? \d")


def letters(text: str) -> str:
    """NFKC and case folded; quotes, dashes and blanks as ASCII writes them, invisible characters gone."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = unicodedata.normalize("NFKC", text.translate(SIGNS))
    return "".join(char for char in text if char.isprintable() or char.isspace())


def _markdown(text: str) -> str:
    """Without emphasis, code marks, bullets, headings and the targets of links."""
    text = text.translate(BLANK).replace("\r", "\n")
    if "](" in text:
        text = _LINK.sub(r"\1", text).replace("](", "] (")
    if any(sign in text for sign in ("*", "_", "`", "~~")):
        text = _EMPHASIS.sub("", text)
    return _LINE_MARK.sub("", text)


def _values(text: str) -> str:
    """Numbers, money, units and dates in one form; what a text can't have is not looked for."""
    if _any(text, _number_starts()):
        text = _number_words().sub(_digits, text)
    if "," in text:
        text = _GROUPED.sub(lambda match: match[1].replace(",", ""), text)
    if _any(text, tuple(SCALES)):
        text = _SCALED.sub(_scaled, text)
    if "." in text:
        text = _ZEROS.sub(_without_zeros, _BARE_FRACTION.sub("0.", text))
    if "-" in text:
        text = _HYPHEN.sub(" ", text)
    if _any(text, ("%", "per")):
        text = _PERCENT.sub("%", text)
    if _any(text, ("$", "€", "£", "usd", "eur", "gbp", "dollar", "sterling")):
        text = _BEFORE.sub(lambda match: _MONEY[match[0].strip()], text)
        text = _AFTER.sub(lambda match: _MONEY[match[2].removesuffix("s")] + match[1], text)
    if _any(text, ("am", "pm", ".m")):
        text = _CLOCK.sub(r" \1m", text)
    pattern, names = _units()
    text = pattern.sub(lambda match: f"{match[1]} {names[match[2]]}", text)
    return _dates().sub(_dated, text) if _DATED.search(text) else text


def _any(text: str, parts: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, parts))


# --- number words ---


@cache
def number_words() -> Mapping[str, int]:
    """The words that name a number below a hundred."""
    small = {word: value for value, word in enumerate(words_of("words", "cardinals"))}
    return small | {word: 10 * value for value, word in enumerate(words_of("words", "tens"), start=2)}


@cache
def _number_starts() -> tuple[str, ...]:
    """What every text with a number word has in it; most texts have none of it."""
    return (*number_words(), *SCALES, "dozen")


@cache
def _number_words() -> re.Pattern[str]:
    names = "|".join(sorted([*number_words(), *SCALES, "dozen"], key=len, reverse=True))
    several = "hundred|thousand|million|billion|dozen"
    return re.compile(rf"\b(?:an?[ ](?={several}))?(?:{names})(?:[ -](?:and[ ])?(?:{names}))*\b")


def _digits(match: re.Match[str]) -> str:
    """A run of number words as digits: each number that the run holds."""
    if match[0] in SCALES and re.search(r"\d[ -]$", match.string[max(0, match.start() - 2) : match.start()]):
        return match[0]  # "5 million" is read with its digits
    written: list[str] = []
    total = current = 0
    last = ""
    for word in re.split(r"[ -]", match[0].removeprefix("a ").removeprefix("an ")):
        scale = _SCALES.get(word, 0)
        ended = last != "" and not _joins(total, current, last, word, scale)
        if ended:
            written.append(str(total + current))
            total = current = 0
        if word == "and":
            written += ["and"] if ended else []
            last = "" if ended else word
            continue
        if scale > 100:
            total, current = total + max(current, 1) * scale, 0
        else:
            current = max(current, 1) * scale if scale else current + number_words()[word]
        last = word
    return " ".join([*written, str(total + current)])


def _joins(total: int, current: int, last: str, word: str, scale: int) -> bool:
    """Whether a word goes on with the number before it: twenty five, two hundred and six, two thousand ten."""
    if word == "and":
        return last in SCALES
    if scale:
        return last != "and" and 0 < current < min(scale, 1000) and (not total or total >= 1000 * scale)
    value = number_words()[word]
    return current % 100 == 0 or (last != "and" and current % 100 >= 20 and current % 10 == 0 and 0 < value < 10)


def _scaled(match: re.Match[str]) -> str:
    return number(str(Decimal(match[1]) * SCALES[match[2]]))


# --- digits, units, dates ---


def number(digits: str) -> str:
    """A number in one spelling: no thousands separators, no zeros that say nothing."""
    plain = digits.replace(",", "")
    if plain.count(".") != 1:
        return plain
    whole, _, fraction = plain.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _without_zeros(match: re.Match[str]) -> str:
    before = match[1] or ""
    kept = match[3].strip("0") and not word_set("words", "versioned").isdisjoint(before.split())
    return match[0] if kept else before + number(f"{match[2]}.{match[3]}")


@cache
def _units() -> tuple[re.Pattern[str], Mapping[str, str]]:
    names = {name: line.split()[0] for line in words_of("words", "units") for name in line.split()}
    listed = "|".join(sorted(names, key=len, reverse=True))
    names |= {"s": "second", "-s": "second"}
    return re.compile(rf"(\d)(?:[ ]?(?={listed})|[ ](?=s\b))({listed}|s)(?![\w'])"), names


@cache
def _months() -> Mapping[str, str]:
    full = words_of("words", "months")
    return {name: name for name in full} | {name[:3]: name for name in full} | {"sept": "september"}


@cache
def _dates() -> re.Pattern[str]:
    month = "|".join(sorted(_months(), key=len, reverse=True))
    day = r"(?:0?[1-9]|[12]\d|3[01])"
    year = r"(?:,?[ ](?P<{}>\d{{4}})(?![\w-]))?"
    return re.compile(
        rf"(?<![\w.,/-])(?:(?P<iso>\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?![\w-])"
        rf"|(?P<d>{day})(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<m>{month})\b\.?{year.format('y')}"
        rf"|(?P<m2>{month})\b\.?[ ](?P<d2>{day})(?:st|nd|rd|th)?(?![\w:%/-])(?![.,]\d){year.format('y2')})"
    )


def _dated(match: re.Match[str]) -> str:
    """Day, month, year: the form in which day and month alone, and month and year alone, are parts of the whole."""
    if match["iso"]:
        year, month, day = match["iso"].split("-")
        return f"{int(day)} {words_of('words', 'months')[int(month) - 1]} {year}"
    day, month, year = match["d"] or match["d2"], match["m"] or match["m2"], match["y"] or match["y2"]
    return f"{int(day)} {_months()[month]}" + (f" {year}" if year else "")
