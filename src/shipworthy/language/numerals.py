"""Numerals: numbers, dates, times and units of a language with a pack, in the form in which English ones are compared.

    text → letters → separators → number words → dates → times → per cent → units

One grammar of number words serves all: a power of ten multiplies what is smaller than it, other words are added where
there is room.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import NamedTuple

from .amounts import compared, date_of, written_number
from .packs import LETTER, Pack, branches, pack
from .spelling import said, spelled
from .tables import words_of

LONGEST = 14  # words of one number
LITERAL = r"\d+(?:\.\d+)?"
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ '\u00a0\u2009\u202f]\d{3})+(?!\d)")
_SEPARATED = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)+(?![\w]*[.,]\d)")
_LONE = re.compile(r"(?<![\d.,])\d{1,3}[.,٫٬]\d{3}(?![\d.,]*\d)")
_INDIAN = re.compile(r"\d{1,2}(?:,\d\d)*,\d{3}")
_NUMERIC_DATE = re.compile(r"(?<![\w.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\w/-]|\.\d)")
_OF_HUNDRED = "\x00"


class Word(NamedTuple):
    """A number word: what it counts, whether it multiplies, and whether it means something else when alone."""

    value: Fraction
    multiplies: bool
    doubtful: bool


class Grammar:
    """The expressions of one pack."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.words: dict[str, Word] = {}
        for line in pack.lists.get("numbers", ()):
            value, *names = line.split()
            number = Fraction(value.strip("*+"))
            power = number >= 10 and set(value) == {"1", "0"}
            for name in names:
                text = pack.fold(name.rstrip("?")).replace("_", " ")
                self.words[text] = Word(number, power or value[0] == "*", name[-1] == "?")
        starred = [re.escape(word).replace(r"\*", r"\w{0,5}") for word in self.words if word[-1] == "*"]
        one = "|".join(filter(None, [branches({word for word in self.words if word[-1] != "*"}), *starred]))
        joint = "|".join(map(re.escape, pack.words("and"))) or "(?!)"
        self.part = re.compile(rf"(?P<literal>{LITERAL})|(?P<word>{one or '(?!)'})|(?P<joint>{joint})")
        gap = rf"(?:[ -]?(?:{joint})[ -]?|[ -]?)"
        start, end = (
            (rf"(?<![{LETTER}])", rf"(?![{LETTER}])")
            if pack.spaced
            else ("" if not pack.hangul else r"(?<![^\W\d])", "")
        )
        some = rf"(?:{LITERAL}|{one or '(?!)'})"
        self.run = re.compile(rf"{start}(?<![\d.]){some}(?:{gap}{some}){{0,{LONGEST}}}{end}")
        self.units = {name: line.split()[0] for line in pack.lists.get("units", ()) for name in _folded(pack, line)[1:]}
        self.counted = _any([*self.units, *pack.words("counters"), *_plain_percent(pack)], pack.spaced)
        of = "|".join(map(re.escape, pack.words("of"))) or "(?!)"
        edge = r"(?<![\w.])" if pack.spaced else r"(?<![\d.])"
        self.unit = re.compile(rf"{edge}({LITERAL})(?: (?:{of}))? ?({_any(self.units, pack.spaced)})")
        self.at_least = re.compile(pack.slot("at_least").pattern)
        self.minus = re.compile(rf"(?:{pack.slot('minus').pattern}) ?(?=\d)")
        self.to = re.compile(rf"(?<=\d) ?(?:{pack.slot('to').pattern}) ?(?=\d)")
        first, joint = (pack.words("between") or ["(?!)", ""])[:2]
        self.between = re.compile(rf"(?<!\w){first} ({LITERAL}) {joint} (?=\d)")
        self.months = {name: n for n, line in enumerate(pack.lists.get("months", ())) for name in _folded(pack, line)}
        self.dates = [self._template(text) for text in pack.lists.get("dates", ())]
        self.times = [self._template(text) for text in pack.lists.get("times", ())]
        self.hours = {name: n for n, name in enumerate(pack.words("hours"), start=1)}
        self.eras = [
            (int(year), _any(names, False))
            for year, *names in (_folded(pack, row) for row in pack.lists.get("eras", ()))
        ]
        self.of_hundred = [word.partition("{")[0].strip() for word in pack.words("percent") if "{" in word]
        self.percent = re.compile(rf"(?:(?<=\d) )?{_any(_plain_percent(pack), pack.spaced)}")
        digits = (
            ""
            if pack.spaced
            else "".join(word for word in self.words if len(word) == 1 and self.words[word].value < 10)
        )
        self.year = re.compile(rf"[{digits}]{{4}}(?=年)" if "〇" in digits else "(?!)")

    def _template(self, text: str) -> re.Pattern[str]:
        """An expression for dates or times with the groups that its names stand for."""
        pack = self.pack
        groups = {
            "d": r"(?<!\d)(?P<d>0?[1-9]|[12]\d|3[01])(?!\d)",
            "m": r"(?<!\d)(?P<m>1[0-2]|0?[1-9])(?!\d)",
            "y": r"(?P<y>\d{4})(?!\d)",
            "mon": rf"(?P<mon>{_any(sorted(self.months, key=len, reverse=True), False)})",
            "h": r"(?<![\d.:])(?P<h>\d{1,2})(?!\d)",
            "n": r"(?P<n>\d\d)(?!\d)",
            "n2": r"(?P<n2>\d\d)(?!\d)",
            "half": r"(?P<half>\.5|半|반|ครึ่ง)(?!\d)",
            "before": r"(?P<before>\d{1,2})(?!\d)",
            "am": f"(?P<am>{_any(pack.words('am'), False)})",
            "pm": f"(?P<pm>{_any(pack.words('pm'), False)})",
            "hword": f"(?P<hword>{_any(pack.words('hours'), False)})",
        }
        edge = r"(?<![^\W\d])" if pack.spaced else ""
        text = pack.fold(text)
        for name, group in groups.items():
            first, found, rest = text.partition(f"{{{name}}}")
            text = first + group + rest.replace(f"{{{name}}}", group.replace(f"?P<{name}>", "?:")) if found else text
        return re.compile(edge + text)


def _folded(pack: Pack, line: str) -> list[str]:
    return [pack.fold(word).replace("_", " ") for word in line.split()]


def _plain_percent(pack: Pack) -> list[str]:
    return [word for word in pack.words("percent") if "{" not in word] + ["%"]


def _any(words: object, whole: bool) -> str:
    """Any of the words, the longest first; `*` at the end of one stands for more letters."""
    listed = [re.escape(word).replace(r"\*", r"\w{0,5}") for word in sorted(words, key=len, reverse=True)]  # type: ignore[call-overload]
    edge = rf"(?![{LETTER}])" if whole else ""
    return f"(?:{'|'.join(listed)}){edge}" if listed else "(?!)"


@cache
def _grammar(lang: str) -> Grammar | None:
    found = pack(lang)
    return Grammar(found) if found and "numbers" in found.lists else None


def localised(text: str, lang: str, other: bool = False) -> str:
    """The text with its values as English writes them; `other` reads a lone separator in the less likely way."""
    grammar = _grammar(lang)
    if grammar is None:
        return text
    pack = grammar.pack
    text = " ".join(pack.fold(said(text).replace("*", "").replace("`", "")).split())
    text = _SPACED.sub(lambda match: re.sub(r"\D", "", match[0]), text)
    text = _SEPARATED.sub(lambda match: _separated(match[0], pack.decimal, other), text)
    for mark in grammar.of_hundred:
        text = text.replace(mark, _OF_HUNDRED)
    text = grammar.percent.sub("%", text)
    text = grammar.year.sub(lambda match: "".join(str(grammar.words[char].value) for char in match[0]), text)
    text = grammar.run.sub(lambda match: _numbers(match, grammar), text)
    for years, names in grammar.eras:
        text = re.sub(rf"{names} ?(\d+|元)", partial(_era, years), text)
    text = grammar.at_least.sub("at least", text)
    text = grammar.between.sub(r"\1 to ", grammar.to.sub(" to ", grammar.minus.sub("-", text)))
    if pack.order == "dmy":
        text = _NUMERIC_DATE.sub(_numeric_date, text)
    for pattern in grammar.dates:
        text = pattern.sub(lambda match: _date(match, grammar), text)
    for pattern in grammar.times:
        text = pattern.sub(lambda match: _time(match, grammar), text)
    text = grammar.to.sub(" to ", " ".join(text.split()))  # from one time to another
    text = re.sub(rf"{_OF_HUNDRED} ?({LITERAL})", r"\1%", text)
    text = grammar.unit.sub(lambda match: _counted(match[1], grammar.units[match[2]]), text)
    return " ".join(text.split()) if pack.spaced else _spaced(text)


def one_spelling(text: str, lang: str) -> str:
    """What a text says, in one spelling."""
    return spelled(said(text)) if lang == "en" else localised(text, lang)


def is_ambiguous(text: str) -> bool:
    """Whether a number in it can be read in two ways."""
    return _LONE.search(text) is not None


def canonical(text: str, lang: str, other: bool = False) -> str:
    """The text in the form in which an expected text is searched in it."""
    return compared(localised(text, lang, other), english=False)


def _era(years: int, match: re.Match[str]) -> str:
    """The year of an era as a year of the common one; the first is written 元."""
    return str(years + int(match[1].replace("元", "1")))


def _counted(number: str, unit: str) -> str:
    return f" {unit}{number} " if len(unit) == 1 else f"{number} {unit} "


_HAN_GAP = re.compile(r"(?<=[\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff]) (?=[\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff])")
_BESIDE_DIGIT = re.compile(r"(?<=\d)(?=[^\W\d_\u0000-\u0dff])|(?<=[^\W\d_\u0000-\u0dff])(?=\d)")


def _spaced(text: str) -> str:
    """A blank between digits and letters of scripts without spaces, and none between two Han or Kana letters."""
    return " ".join(_BESIDE_DIGIT.sub(" ", _HAN_GAP.sub("", text)).split())


def _separated(digits: str, decimal: str, other: bool) -> str:
    """A number with one kind of separators or both, without those of thousands."""
    last = max(digits.rfind("."), digits.rfind(","))
    kinds = {char for char in digits if not char.isdigit()}
    groups = re.split("[.,]", digits)
    if len(kinds) == 2:
        whole = re.sub(r"\D", "", digits[:last])
        return f"{whole}.{digits[last + 1 :]}"
    if len(groups) > 2:
        grouped = all(len(group) == 3 for group in groups[1:]) or _INDIAN.fullmatch(digits)
        return "".join(groups) if grouped else digits
    ambiguous = len(groups[1]) == 3 and len(groups[0]) < 4 and groups[0] != "0"
    fraction = not ambiguous or (kinds == {decimal}) != other
    return ".".join(groups) if fraction else "".join(groups)


# --- number words ---


def _numbers(match: re.Match[str], grammar: Grammar) -> str:
    return _number_run(match[0], match.string[match.end() : match.end() + 30], grammar)


@lru_cache(maxsize=4096)
def _number_run(run: str, rest: str, grammar: Grammar) -> str:
    """The numbers of a run of words; words that may mean something else are left where nothing is counted with them."""
    parts = list(grammar.part.finditer(run))
    if not any(part["word"] for part in parts):
        return run
    out, begin, total, joint, known, size, scaled = [], 0, None, False, False, 0, False
    digits = False  # whether the number consists of digits so far

    def close(end: int) -> None:
        text = run[begin:end]
        gap = text[len(text.rstrip(" -")) :]
        follows = re.match(rf" ?{grammar.counted}", run[end:] + rest)
        pack = grammar.pack
        sure = known or follows or (size > 1 and scaled and (pack.spaced or not pack.hangul))
        out.append(written_number(total) + (gap or " " * (end < len(run))) if total is not None and sure else text)

    for n, part in enumerate(parts):
        if part["joint"] and not part["word"]:
            joint = True
            continue
        word = _word(part["word"], grammar) if part["word"] else None
        after = _word(parts[n + 1]["word"], grammar) if n + 1 < len(parts) and parts[n + 1]["word"] else None
        value = word.value if word else Fraction(part[0])
        room = total is not None and _room(total, value, word, joint, bool(after and after.multiplies and not word))
        if digits and word:  # behind digits alone stands what they are multiplied with, or half; not one more digit
            room = word.multiplies or value < 1
        if total is None or not room:
            if total is not None:
                close(part.start())
            total, begin, known, size, scaled = Fraction(0), part.start(), False, 0, False
        if word and word.multiplies and digits and room:
            total *= value
            scaled = True
        elif word and word.multiplies:
            low = total % word.value
            total += (low or 1) * word.value - low
            scaled = scaled or size > 0
        else:
            total += value
        known, joint, size = known or word is None or not word.doubtful, False, size + 1
        digits = word is None and size == 1
    close(len(run))
    return "".join(out)


def _word(text: str, grammar: Grammar) -> Word:
    if text in grammar.words:
        return grammar.words[text]
    return next(word for name, word in grammar.words.items() if name[-1] == "*" and text.startswith(name[:-1]))


def _room(total: Fraction, value: Fraction, word: Word | None, joint: bool, scales: bool) -> bool:
    """Whether a value can go on with a number: a hundred and five, five and twenty, 3 million 5 thousand."""
    if word is None:
        return scales and value < 10**4 and total % 10**4 == 0
    if word.multiplies:
        return total % (100 if value == 20 else 10 * value) < value
    if 0 < value < 1:
        return joint and total.denominator == 1
    if value < 10:
        return total % 10 == 0
    if value < 20:
        return total % 100 in (0, 60, 80)
    if value < 100:
        return total % 100 == 0 or (joint and total % 100 < 10)
    return total % 1000 == 0


# --- dates and times ---


def _numeric_date(match: re.Match[str]) -> str:
    day, month = int(match[1]), int(match[3])
    if month > 12 >= day:
        day, month = month, day
    return date_of(match[0], match[4], month, day)


def _date(match: re.Match[str], grammar: Grammar) -> str:
    """Day, month and year as they are written in English; those that are not there are left out."""
    found = match.groupdict()
    month = _month(found["mon"], grammar) if found.get("mon") else int(found["m"]) - 1
    parts = (str(int(found["d"])) if found.get("d") else "", words_of("words", "months")[month], found.get("y") or "")
    return f" {' '.join(filter(None, parts))} "


def _month(name: str, grammar: Grammar) -> int:
    if name in grammar.months:
        return grammar.months[name]
    return next(n for written, n in grammar.months.items() if written[-1] == "*" and name.startswith(written[:-1]))


def _time(match: re.Match[str], grammar: Grammar) -> str:
    found = match.groupdict()
    half = found.get("half") or found.get("before")
    hour = grammar.hours[found["hword"]] if found.get("hword") else int(found.get("h") or found["before"])
    hour -= bool(found.get("before"))  # half nine is half past eight
    minute = found.get("n") or found.get("n2") or ("30" if half else "00")
    if hour > 24 or int(minute) > 59:
        return match[0]
    hour = hour + 12 if found.get("pm") and hour < 12 else hour % 12 if found.get("am") else hour
    return f" {hour}:{minute} "
