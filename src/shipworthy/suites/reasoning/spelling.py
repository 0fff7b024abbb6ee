"""Spelling: one way to write a date, a number, a duration and an amount, so that `18 March` meets `2025-03-18`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from ...language.contradiction.numbers import CARDINALS

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b(?:\.(?=,?[ -]\d))?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_FIRST = re.compile(rf"(?<!week )\b{_DAY}(?: of)?[ -]{_MONTH}(?:,?[ -]((?:19|20)\d\d)\b)?", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY}\b(?!:\d)(?:,? ((?:19|20)\d\d)\b)?", re.IGNORECASE)
_ISO = re.compile(r"(?<![\w/-])(\d{4})-(\d\d)-(\d\d)(?![\w/-]|\.\w)")
_DOTTED = re.compile(r"(?<![\w.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?![\w]|\.\d)")
_ANY_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_ORDINAL = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?", re.IGNORECASE)
_SPACED_PERCENT = re.compile(r"(?<=\d) (?=%)%")
_SMALL_PERCENT = re.compile(rf"\b({'|'.join(CARDINALS)}) (?:percent|per cent)\b", re.IGNORECASE)
_SHORT_HOUR = re.compile(r"(?<![\w:./-])(\d:\d\d)(?![\w:])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PER = re.compile(r"(?<![\w/.-])(\d+(?:\.\d+)?)/(day|week|month|year|hour|minute|min|h|s)\b", re.IGNORECASE)
_SIGNED = re.compile(r"([$€£]) ?(\d+(?:\.\d+)?)")
_NAMED = re.compile(r"(?<=\d )(dollars?|euros?|pounds?|gigabytes?|megabytes?|terabytes?)\b", re.IGNORECASE)
_CURRENCY = {"$": "USD", "€": "EUR", "£": "GBP"}
_SHORT = {"dollar": "USD", "euro": "EUR", "pound": "GBP", "gigabyte": "GB", "megabyte": "MB", "terabyte": "TB"}
_HOURS = re.compile(r"\b(?:a (quarter) of|(half)) an hour\b", re.IGNORECASE)
_IDIOMS = (
    *(
        (re.compile(rf"\b(?:every|each) {unit}\b", re.IGNORECASE), often)
        for unit, often in (
            ("hour", "hourly"),
            ("day", "daily"),
            ("night", "nightly"),
            ("week", "weekly"),
            ("month", "monthly"),
            ("year", "yearly"),
        )
    ),
    (re.compile(r"\bi\.e\.,?", re.IGNORECASE), "that is"),  # without a dot that looks like a sentence's end
    (re.compile(r"\be\.g\.,?", re.IGNORECASE), "such as"),
    (re.compile(r"\bnoon\b", re.IGNORECASE), "12:00"),
    (re.compile(r"\bmidnight\b", re.IGNORECASE), "00:00"),
)
_UNITS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hr": 3_600_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_DURATION = re.compile(
    r"(?<![\w.,/:-])(\d{1,9}(?:\.\d{1,6})?)[ -]?(ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?"
    r"|days?|weeks?)\b",
    re.IGNORECASE,
)
_SCALES = {"hundred": 100, "thousand": 1000}
_WORD = rf"(?:{'|'.join([*CARDINALS, *_SCALES])})"
_NUMBER_WORDS = re.compile(rf"\b{_WORD}(?:(?:[ -]| and )(?:{_WORD})\b)*\b", re.IGNORECASE)
_RANGE = re.compile(rf"\b(\d{{1,2}})(?: to | ?[-–] ?)(?=\d{{1,2}} {_MONTH})", re.IGNORECASE)
_LINE = re.compile(r"([\w/-][\w./-]{0,200}\.[a-z]{1,5}),? \(?line (\d{1,7})\b\)?", re.IGNORECASE)
_NEXT_LINE = re.compile(r"([\w/-][\w./-]{0,200}\.[a-z]{1,5}):(\d{1,7})(,? and |, ?):(\d{1,7})\b", re.IGNORECASE)
_OUT_OF = re.compile(r"(?<![\w/.-])(\d{1,6})(?:/| out of (?:the )?)(?=\d{1,6}(?![\w/.-]))")
_QUOTED = re.compile(r'("[^"\n]{2,400}"|“[^”\n]{2,400}”)')


class Spelling:
    """How one case writes things: its own dates and durations decide between spellings of the same."""

    def __init__(self, texts: Iterable[str], sources: Iterable[str] = ()) -> None:
        plain = [_numbers(text) for text in texts]
        self.years: dict[tuple[int, int], set[int | None]] = {}
        for text in [*plain, *sources]:
            for year, month, day in _dates(text):
                self.years.setdefault((month, day), set()).add(year)
        self.durations: dict[Fraction, str] = {}
        for text in plain:
            for match in _DURATION.finditer(text):
                self.durations.setdefault(_milliseconds(match), match.group())

    def of(self, text: str) -> str:
        """The text in the case's spelling; what stands in quotes stays as it is."""
        parts = _QUOTED.split(text)
        return "".join(part if number % 2 else self._plain(part) for number, part in enumerate(parts))

    def _plain(self, text: str) -> str:
        text = _NEXT_LINE.sub(r"\1:\2\3\1:\4", text)
        text = _RANGE.sub(lambda m: f"{m[1]} {m[2]} to ", _LINE.sub(r"\1:\2", text))
        text = _DURATION.sub(self._duration, _HOURS.sub(self._part_of_an_hour, _numbers(text)))
        text = _DOTTED.sub(lambda m: self._date(int(m[3]), int(m[2]), int(m[1]), m[0]), text)
        text = _ISO.sub(lambda m: self._date(int(m[1]), int(m[2]), int(m[3]), m[0]), text)
        text = _DAY_FIRST.sub(lambda m: self._date(_year(m[3]), _month(m[2]), int(m[1]), m[0]), text)
        text = _MONTH_FIRST.sub(lambda m: self._date(_year(m[3]), _month(m[1]), int(m[2]), m[0]), text)
        return _ORDINAL.sub(self._ordinal, text)

    def _date(self, year: int | None, month: int, day: int, written: str) -> str:
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return written
        known = self.years.get((month, day), set())
        own = {one for one in known if one is not None}
        if year is None and len(own) == 1:
            year = next(iter(own))
        if year is None or (known and not own):
            return f"{month:02}-{day:02}"
        return f"{year:04}-{month:02}-{day:02}"

    def _ordinal(self, match: re.Match[str]) -> str:
        """`the 22nd`, if the case has one date with that day."""
        days = [(month, day) for month, day in self.years if day == int(match[1])]
        return self._date(None, *days[0], match[0]) if len(days) == 1 else match[0]

    def _part_of_an_hour(self, match: re.Match[str]) -> str:
        return self.durations.get(Fraction(900_000 if match[1] else 1_800_000), match[0])

    def _duration(self, match: re.Match[str]) -> str:
        return self.durations.get(_milliseconds(match), match[0])


def _numbers(text: str) -> str:
    """Digits without separators, number words above twelve as digits, amounts with their unit behind them."""
    for idiom, plain in _IDIOMS:
        text = idiom.sub(plain, text)
    text = _NUMBER_WORDS.sub(_spelled, _THOUSANDS.sub("", text))
    text = _SMALL_PERCENT.sub(lambda m: f"{CARDINALS[m[1].casefold()]}%", _SPACED_PERCENT.sub("%", text))
    text = _SIGNED.sub(lambda m: f"{m[2]} {_CURRENCY[m[1]]}", _PER.sub(r"\1 / \2", text))
    text = _NAMED.sub(lambda m: _SHORT[m[1].casefold().removesuffix("s")], text)
    return _OUT_OF.sub(r"\1 of ", _SHORT_HOUR.sub(r"0\1", _CLOCK.sub(_clock, text)))


def _spelled(match: re.Match[str]) -> str:
    """The number that the words make; of `fifty-one ten`, the longest one that they begin with."""
    parts = re.split(r"([ -])", match[0])
    for end in range(len(parts), 0, -2):
        value = _value([part.casefold() for part in parts[:end:2]])
        if value is not None:
            rest = "".join(parts[end:])
            head = str(value) if value > 12 else "".join(parts[:end])
            return head + _NUMBER_WORDS.sub(_spelled, rest)
    return match[0]


def _value(words: list[str]) -> int | None:
    if words[-1] == "and":
        return None
    total = group = 0
    last = 1000  # what the next word must stay below
    for word in words:
        if word == "and":
            continue
        if word in _SCALES:
            if not group:
                return None
            total, group, last = total + group * _SCALES[word], 0, _SCALES[word]
            continue
        value = CARDINALS[word]
        if value >= last or (group and (group % 10 or value >= 10)):
            return None
        group += value
    return total + group


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3].casefold() == "p" else 0)
    return f"{hour:02}:{match[2] or '00'}" if int(match[1]) <= 12 else match[0]


def _dates(text: str) -> Iterable[tuple[int | None, int, int]]:
    for match in _ANY_ISO.finditer(text):
        yield int(match[1]), int(match[2]), int(match[3])
    found: list[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[int | None, int, int]]]] = [
        (_DAY_FIRST, lambda m: (_year(m[3]), _month(m[2]), int(m[1]))),
        (_MONTH_FIRST, lambda m: (_year(m[3]), _month(m[1]), int(m[2]))),
    ]
    for pattern, reading in found:
        yield from map(reading, pattern.finditer(text))


def _milliseconds(match: re.Match[str]) -> Fraction:
    unit = match[2].casefold()
    return Fraction(match[1]) * (_UNITS.get(unit) or _UNITS[unit.removesuffix("s")])


def _month(name: str) -> int:
    return _MONTHS.index(name.casefold()[:3]) + 1


def _year(text: str | None) -> int | None:
    return int(text) if text else None
