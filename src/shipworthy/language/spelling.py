"""One spelling: text in the form in which it is compared, whoever wrote it.

    text → letters → Markdown → numbers → units → dates → white space

Every step is a search that never goes back over what it has read, so time grows with the text and no faster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache

from .tables import word_set, words_of

SIGNS: dict[int, str] = {ord(char): "'" for char in "‘’‚‛′´ʼ＇"}
SIGNS |= {ord(char): '"' for char in "“”„‟″«»"}
SIGNS |= {ord(char): "-" for char in "‐‑‒–—―−﹣"}
BLANK = {ord(char): " " for char in "\t\v\f\x1c\x1d\x1e\x1f\x85"}
# Digits of every script as ASCII writes them; Arabic and Hebrew without the marks that most people leave out, and the
# dot that is left of a Turkish capital.
SIGNS |= {0x2044: "/", 0x0640: "", 0x0307: ""} | {
    point: "" for low, high in ((0x591, 0x5C8), (0x64B, 0x653)) for point in range(low, high)
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
PASSES = 6  # more than any text that people write needs; each reads the text once

_DIGIT = re.compile(r"\d")
_SIGN = re.compile(f"[{''.join(map(chr, SIGNS))}]")
_MAY_COUNT = re.compile("[^\0-\u065f]")  # no digit but those of ASCII stands before; a class of all others is slow
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_LINE_MARK = re.compile(r"(?m)^[ ]*(?:(?:#{1,6}|[*+•-])[ ]+)+")
_EMPHASIS = re.compile(r"\*+(?=\S)|(?<=\S)\*+|(?<![^\W_])_+|_+(?![^\W_])|~~+|`+")
_GROUPED = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?![\d,]*\d)")
_BARE_FRACTION = re.compile(r"(?<![\w.,])\.(?=\d)")
_ZEROS = re.compile(r"((?<!\w)(?:\w{1,12}[ ]){1,2})?(?<![\w.])(\d{1,30})\.(\d{1,30})(?![\d.]*\d)(?![^\W\d_])")
_SCALED = re.compile(rf"(?<![\w.,])(\d{{1,15}}(?:\.\d{{1,15}})?)[ -]({'|'.join(SCALES)})\b")
_HYPHEN = re.compile(r"(?<=\d)-(?=[^\W\d_]{2})")
_PERCENT = re.compile(r"(?<=\d)[ ]?(?:%|per cent\b|percent\b)")
_BEFORE = re.compile(r"(?:us[ ]?\$|\$|\busd|€|\beur|£|\bgbp)[ ]?(?=\d)")
_AFTER = re.compile(
    r"(?<![\w.,$€£])(\d[\d.]{0,30})[ ]?(us dollars?|dollars?|usd|euros?|eur|€|£|gbp|pounds sterling)(?!\w)"
)
_CLOCK = re.compile(r"(?<=\d)[ ]?([ap])\.?m\b\.?(?!\w)")
# Other currencies go behind the number by their code, as units do; the names of some are in data/words.toml.
_SIGNED = {"¥": "jpy", "₹": "inr", "₩": "krw", "₽": "rub", "₺": "try", "₫": "vnd", "฿": "thb", "zł": "pln", "r$": "brl"}
_CODES = "aed aud brl cad chf clp cny czk dkk hkd huf idr ils inr jpy krw mxn nok nzd pln rub sar sek sgd thb twd zar"
_CODE = "|".join(map(re.escape, [*_SIGNED, *_CODES.split()]))
_CODED = re.compile(rf"(?<!\w)({_CODE})[ ]?(\d[\d.]{{0,30}})(?![\w.,/-]*\d)")
_MONEY = {"$": "$", "us$": "$", "us $": "$", "usd": "$", "dollar": "$", "us dollar": "$"}
_MONEY |= {"€": "€", "eur": "€", "euro": "€", "£": "£", "gbp": "£", "pounds sterling": "£"}
Form = tuple[str | re.Pattern[str], str | Callable[[re.Match[str]], str]]  # what is read, and what is put there
Step = tuple[Sequence[str], list[Form]]  # which letters a text needs to have any of the forms


@lru_cache(maxsize=16)  # a text is looked at for its words, and then for its amounts
def spelled(text: str, english: bool = True) -> str:
    """The text in one spelling: letters, signs, Markdown, numbers, units and dates in one form."""
    for _ in range(PASSES):  # one form may uncover another: `**thirty**-day` is a number only without its stars
        plain = letters(text)
        text = " ".join(_markdown(plain).split())
        if _DIGIT.search(text) or (english and any(map(text.__contains__, _number_hints()))):
            text = " ".join(_values(text, english).split())
        if text == plain:
            break
    return text


def letters(text: str) -> str:
    """NFKC and case folded; quotes, dashes and blanks as ASCII writes them, invisible characters gone."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if _SIGN.search(text):
        text = unicodedata.normalize("NFKC", text.translate(SIGNS))
    if not text.isprintable():
        text = "".join(char for char in text if char.isprintable() or char.isspace())
    if _MAY_COUNT.search(text):
        text = _OTHER_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)
    return text


# What is in a text and is not said by it: struck-out text, images, the targets of links, tags with their attributes.
_UNSAID = re.compile(
    r"~~(?=\S)[^~\n]{1,500}~~|<(s|del|strike)>[^<]{0,500}</\1>|!\[[^\[\]\n]*\]\([^()\n]*\)|</?[a-z][^<>\n]{0,1000}>",
    re.I,
)
_RAISING = re.compile(r"(?<=\w)<sup>(-?\d+)</sup>", re.I)
_POWER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED = re.compile(r"(?<=[\w)])[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_STYLED = re.compile(r"\\(?:mathrm|mathbf|mathit|text|textbf|textit|operatorname)\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([a-z]+|[^a-z\s])", re.I)
_LATEX = {
    "times": "×",
    "cdot": "×",
    "%": "%",
    "$": "$",
    "circ": "°",
    "pm": "±",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
}


def unsaid(text: str) -> bool:
    """Whether a text may have anything in it that it does not say; most have not."""
    return "~~" in text or "](" in text or "<" in text


def said(text: str) -> str:
    """What a text shows to a reader: no struck-out text, images, targets or tags; entities and LaTeX written out."""
    if unsaid(text):
        text = _LINK.sub(r"\1", _UNSAID.sub(" ", _RAISING.sub(r"^\1", text)))
    if "&" in text and ";" in text:
        from html import unescape

        text = unescape(text)
    if "\\" in text:
        text = _STYLED.sub(r"\1", _FRACTION.sub(r"\1/\2", text))
        text = _COMMAND.sub(lambda match: _LATEX.get(match[1], " "), text)
    if "^{" in text:
        text = re.sub(r"\^\{([^{}]*)\}", r"^\1", text)
    return text if text.isascii() else _RAISED.sub(lambda match: "^" + match[0].translate(_POWER), text)


def _markdown(text: str) -> str:
    """Without emphasis, code marks, bullets, headings and the targets of links."""
    if not text.isprintable():
        text = text.translate(BLANK).replace("\r", "\n")
    if "](" in text:
        text = _LINK.sub(r"\1", text).replace("](", "] (")
    if any(map(text.__contains__, "*_`~")):
        text = _EMPHASIS.sub("", text)
    return _LINE_MARK.sub("", text) if any(map(text.__contains__, "#*+•-")) else text


def _values(text: str, english: bool) -> str:
    """Numbers, money, units and dates in one form."""
    return rewritten(text, _steps() if english else [step for step in _steps() if step[0] is not _number_hints()])


def rewritten(text: str, steps: Iterable[Step]) -> str:
    """The text with each form put in place of what it stands for; most texts have a hint of few."""
    for hints, forms in steps:
        if any(map(text.__contains__, hints)):
            for pattern, form in forms:
                text = _compiled(pattern).sub(form, text)
    return text


@cache
def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """An expression, made when a text first has a hint of it."""
    return re.compile(pattern)


@cache
def _steps() -> tuple[Step, ...]:
    """What is put into one form, in order; the first of each says which letters a text needs to have any of it."""
    units, names = _units()
    scaled: Form = (_SCALED, lambda match: number(str(Decimal(match[1]) * SCALES[match[2]])))
    before: Form = (_BEFORE, lambda match: _MONEY[match[0].strip()])
    after: Form = (_AFTER, lambda match: _MONEY[match[2].removesuffix("s")] + match[1])
    return (
        ((",",), [(_GROUPED, lambda match: match[1].replace(",", ""))]),
        (_number_hints(), [(_number_words(), _digits), scaled]),
        (tuple(f".{digit}" for digit in range(10)), [(_BARE_FRACTION, "0."), (_ZEROS, _without_zeros)]),
        (("-",), [(_HYPHEN, " ")]),
        (("%", "per"), [(_PERCENT, "%")]),
        (("$", "€", "£", "usd", "eur", "gbp", "dollar", "sterling"), [before, after]),
        (("",), [(_CODED, lambda match: f"{match[2]} {_SIGNED.get(match[1], match[1])}")]),
        (("am", "pm", ".m"), [(_CLOCK, r" \1m")]),
        (("",), [(units, lambda match: f"{match[1]} {names[match[2]]}")]),
        (("-", *(name[:3] for name in words_of("words", "months"))), [(_dates(), _dated)]),
    )


# --- number words ---


@cache
def number_words() -> Mapping[str, int]:
    """The words that name a number below a hundred."""
    small = {word: value for value, word in enumerate(words_of("words", "cardinals"))}
    return small | {word: 10 * value for value, word in enumerate(words_of("words", "tens"), start=2)}


@cache
def _number_hints() -> tuple[str, ...]:
    """The number words that have no other one inside: a text with any number word has one of these."""
    words = {*number_words(), *SCALES, "dozen"}
    return tuple(sorted(word for word in words if not any(other in word for other in words - {word})))


@cache
def _number_words() -> str:
    """One number in words: "thirty", "two hundred and six", "a million", "two dozen"; never "5 million"."""
    small, tens = "|".join(words_of("words", "cardinals")[::-1]), "|".join(words_of("words", "tens"))
    below_100 = rf"(?:(?:{tens})(?:[ -](?:{'|'.join(words_of('words', 'cardinals')[1:10])})\b)?|(?:{small})\b)"
    several = rf"(?:(?:{below_100}|an?)[ -]|(?<!\d[ -]))"
    below_1000 = rf"(?:{several}hundred\b(?:[ -](?:and[ ])?{below_100})?|{below_100})"
    scale, joint = r"(?:thousand|[mbt]r?illion)\b", "[ -](?:and[ ])?"
    large = (
        rf"(?:(?:{below_1000}|an?)[ -]|(?<!\d[ -])){scale}(?:{joint}{below_1000}[ -]{scale})*(?:{joint}{below_1000})?"
    )
    first = "|".join([*number_words(), *SCALES, "dozen", "an?[ -]"])
    return rf"\b(?={first})(?:{several}dozen|{large}|{below_1000})\b"


def _digits(match: re.Match[str]) -> str:
    """A number in words as digits."""
    total = current = 0
    for word in re.split("[ -]", match[0]):
        scale = SCALES.get(word, 12 if word == "dozen" else 0)
        if scale > 100:
            total, current = total + max(current, 1) * scale, 0
        else:
            current = max(current, 1) * scale if scale else current + number_words().get(word, 0)
    return str(total + current)


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
def _units() -> tuple[str, Mapping[str, str]]:
    names = {name: line.split()[0] for line in words_of("words", "units") for name in line.split()}
    listed = "|".join(sorted(names, key=len, reverse=True))
    names |= {"s": "second", "-s": "second"}
    return rf"(\d)(?:[ ]?(?={listed})|[ ](?=s\b))({listed}|s)(?!'?\w)", names


@cache
def _months() -> Mapping[str, str]:
    full = words_of("words", "months")
    return {name: name for name in full} | {name[:3]: name for name in full} | {"sept": "september"}


@cache
def _dates() -> str:
    month = "|".join(sorted(_months(), key=len, reverse=True))
    day = r"(?:0?[1-9]|[12]\d|3[01])"
    year = r"(?:,?[ ](?P<{}>\d{{4}})(?![\w-]))?"
    return (
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
