"""Amounts: numbers, units, times, dates and ranges in the one form in which an expected text is searched.

    text → what is said → one spelling → numeric dates, times → scales → units → ranges, bounds → base units

It goes further than one spelling, which keeps what a sentence says about a number; here 45.16 km is 45160 metre.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

from .spelling import Form, Step, number, rewritten, said, spelled
from .tables import table, words_of

NUM = r"(?<![\d.])\d+(?:\.\d+)?"  # never begun inside a number, so that digits are read once
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}  # of no fixed length in days
_LETTERS = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "b": 10**9, "bn": 10**9, "t": 10**12, "tn": 10**12}
_LETTERS |= {"lakh": 10**5, "crore": 10**7}
_SHORT = {"g": "gram", "m": "metre", "l": "litre", "mcg": "microgram", "μg": "microgram", "ug": "microgram"}
_SIDES = {
    name: short
    for short, names in (
        ("km", "kilometres kilometers kilometre kilometer km"),
        ("cm", "centimetres centimeters centimetre centimeter cm"),
        ("mm", "millimetres millimeters millimetre millimeter mm"),
        ("mi", "miles mile mi"),
        ("ft", "feet foot ft"),
        ("in", "inches inch in"),
        ("m", "metres meters metre meter m"),
    )
    for name in names.split()
}
_PER = {"h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "yr": "year", "wk": "week"}
_LONE = re.compile(r"(?<![\w.,])(\d{1,3})[. \u00a0\u2009\u202f](\d{3})(?![\d.,]*\d)")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\d.,]*\d)")
_DOTTED = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3}){2,})(?![\d.,]*\d)")
_THIN = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_POWER = re.compile(r"(?<=[A-Za-z])\^(?=[23](?!\w))")
_DMY = re.compile(r"(?<![\w.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\w/-]|\.\d)")
_YMD = re.compile(r"(?<![\w.,/-])(\d{4})([./])(\d{1,2})\2(\d{1,2})(?![\w/-]|\.\d)")
_YM = re.compile(r"(?<![\w.,/-])(\d{4})-(0[1-9]|1[0-2])(?![\w/-])")


def compared(text: str, lone_is_group: bool = False, english: bool = True) -> str:
    """The text in the form in which it is searched; a separator before three digits may be one of thousands."""
    text = _POWER.sub("", _THIN.sub("", said(text)))
    text = _DECIMAL_COMMA.sub(lambda match: match[1].replace(".", "") + "." + match[2], text)
    text = _DOTTED.sub(lambda match: match[1].replace(".", ""), text)
    if lone_is_group:
        text = _LONE.sub(r"\1\2", text)
    text = spelled(_YMD.sub(_year_first, _DMY.sub(_day_first, text)), english)
    return _added(_PLUS, _based(rewritten(text, _forms(english))))


def is_ambiguous(text: str) -> bool:
    """Whether a number in it can be read in two ways."""
    return _LONE.search(text) is not None


@cache
def _forms(english: bool) -> list[Step]:
    months, bounds = words_of("words", "months"), table("contradiction")["bounds"]
    per = "|".join(sorted({*_PER, *_PER.values(), "day", "month", "week"}, key=len, reverse=True))
    ordinal = {word: n for n, word in enumerate(words_of("words", "ordinals"))}
    money = rf"[$€£]?-?{NUM}(?::\d\d|e-?\d+)?"
    decade = "".join(
        rf"(?<!\b{word})" for word in ("the ", "his ", "her ", "their ", "my ", "early ", "late ", "mid ", "mid-")
    )

    def form(pattern: str, put: str | Callable[[re.Match[str]], str]) -> Form:
        return pattern, put  # compiled when a text has a hint of it

    general: list[Step] = [
        ("-", [(_YM, lambda match: f"{months[int(match[2]) - 1]} {match[1]}")]),
        (("minus", "negative"), [form(r"\b(?:minus|negative) (?=\d)", "-")]),
        (("am", "pm"), [form(r"(?<![\w.:,])(\d{1,2})(?:[:.](\d\d))? ([ap])m\b", _clock)]),
        (":", [form(r"(?<![\w.:,])0(?=\d:\d\d)", "")]),
        ("^", [form(rf"({NUM}) ?[x×*·] ?10\^\(?(-?\d+)\)?", r"\1e\2")]),
        ("+", [form(rf"({NUM})e\+(?=\d)", r"\1e")]),
        ("$€£", [form(rf"(?<=[$€£])({NUM}) ?(k|m|mn|mln|b|bn|t|tn)\b", _scaled)]),
        (
            ("k", "bn", "mn", "mln", "lakh", "crore"),
            [form(rf"(?<![\w.,])({NUM})(?:(k)| ?(bn|mn|mln|lakh|crore)s?)\b", _scaled)],
        ),
        (
            ("dollar", "euro"),
            [
                form(
                    rf"(?<![\w.,$€£])({NUM}) (us dollars?|dollars?|euros?)\b",
                    lambda match: ("€" if "eur" in match[2] else "$") + match[1],
                )
            ],
        ),
        (("°", "deg"), [form(rf"({NUM}) ?(?:°|deg(?:rees?)?) ?(c|f)(?:elsius|ahrenheit)?\b", r"\1 °\2")]),
        (("",), [form(rf"({NUM}) ?({'|'.join(_SHORT)})(?![\w'])", lambda match: f"{match[1]} {_SHORT[match[2]]}")]),
        (("square ", "sq", "cubic "), [form(rf"({NUM}) (square|sq\.?|cubic) ?({'|'.join(_SIDES)})\b", _raised)]),
        ("§", [form(r"§+ ?(?=\d)", "section ")]),
        (("s",), [form(rf"(?<![\w.,']){decade}(\d{{1,3}}(?:\.\d+)?) ?s(?![\w'])", r"\1 second")]),
        (("mph", "hour"), [form(rf"({NUM}) ?(?:mph\b|miles? an hour\b)", r"\1 mile/hour")]),
        (("km", "kph"), [form(rf"({NUM}) ?(?:km ?/ ?h|kph|kmh)\b", r"\1 kilometre/hour")]),
        (
            ("/", " per "),
            [form(rf"(?<=[a-z])(?: ?/ ?| per )({per})\b", lambda match: "/" + _PER.get(match[1], match[1]))],
        ),
        (("between",), [form(rf"\bbetween ({money}(?: [a-z]+)?) and (?=[$€£]?-?\d)", r"\1 to ")]),
        (
            ("until", "till", "through"),
            [form(rf"\bfrom ({money}(?: [a-z]+)?) (?:until|till|through) (?=[$€£]?-?\d)", r"\1 to ")],
        ),
        (("from",), [form(rf"\bfrom (?={money}(?: [a-z]+)? to [$€£]?-?\d)", "")]),
        ("-", [form(rf"(?<![\w.,/-])({money}) ?- ?({money})(?![\w/-])", r"\1 to \2")]),
        ("v", [form(r"\b(?:version |v)(?=\d)", "")]),
        ("·⋅", [form(r"(?<=[a-z])[·⋅](?=[a-z])", "")]),
    ]
    if not english:
        return general
    names = {name[:3]: name for name in months} | {"sept": "september"}
    units = "|".join(unit for unit in _units()[1] if unit.isalpha())
    before: list[Step] = [
        ((" half",), [form(rf"\b(?:an?|1) ({units}) and an? half\b", r"1.5 \1")]),
        ((" half",), [form(rf"({NUM}) and an? half (?:({units})s?\b)?", r"\1.5 \2")]),
        (("half a",), [form(rf"\bhalf an? ({units})\b", r"0.5 \1")]),
        ((" past ", " to "), [form(r"\b(half|quarter) (past|to) (\d{1,2})\b", _past)]),
        ((" in the ",), [form(r"(\d{1,2}:\d\d|\d{1,2}) in the (morning|afternoon|evening)\b", _by_day)]),
        (("below",), [form(rf"({NUM}) (degrees(?: \w+)?|°.?) below (?:zero|0)\b", r"-\1 \2")]),
        (("'",), [form(r"(?<!\w)(\d)' ?(\d{1,2})(?:\"|'')", r"\1 foot \2 inch")]),
        ((".",), [form(rf"\b({'|'.join(names)})\.(?!\w)", lambda match: names[match[1]])]),
        (
            tuple(names),
            [
                form(
                    rf"\b({'|'.join((*months, *names))}) (\d{{1,2}}) ?(?:-|to) ?(\d{{1,2}})(?![\w:%/-])",
                    lambda match: f"{match[2]} to {match[3]} {names.get(match[1], match[1])}",
                )
            ],
        ),
        ((" bce", " ce"), [form(r"(?<=\d) bce\b", " bc"), form(r"(?<=\d) ce\b", " ad")]),
    ]
    ordinals = rf"\b(?:(\d0)[ -])?({'|'.join(ordinal)})\b(?<!\d second)"
    return [
        *before,
        *general,
        *(
            (("",), [form(rf"\b(?:{_listed(bounds[name])}) (?=[$€£]?\d)", f"{name.replace('_', ' ')} ")])
            for name in ("at_least", "at_most")
        ),
        (
            ("ths", "quarters", "thirds"),
            [
                form(
                    r"\b(\d+) (third|fourth|quarter|fifth|sixth|eighth|tenth)s\b",
                    lambda match: f"{match[1]}/{ordinal.get(match[2], 4)}",
                )
            ],
        ),
        (tuple(ordinal), [form(ordinals, lambda match: ordinal_of(int(match[1] or 0) + ordinal[match[2]]))]),
        (("quarter", "q"), [form(r"\b(?:([1-4])(?:st|nd|rd|th) quarter|q([1-4])) (?:of )?(?=\d{4}\b)", r"q\1\2 ")]),
    ]


def _raised(match: re.Match[str]) -> str:
    return f"{match[1]} {_SIDES[match[3]]}{3 if match[2] == 'cubic' else 2}"


def _past(match: re.Match[str]) -> str:
    """Half past nine, quarter to nine."""
    hour, minutes = int(match[3]), 30 if match[1] == "half" else 15
    return f"{hour}:{minutes}" if match[2] == "past" else f"{(hour - 2) % 12 + 1}:{60 - minutes}"


def _by_day(match: re.Match[str]) -> str:
    return f"{match[1]} {'am' if match[2] == 'morning' else 'pm'}"


def _listed(lines: list[str]) -> str:
    names = [re.escape(name.strip()) for line in lines for name in line.split(",")]
    return "|".join(sorted(names, key=len, reverse=True))


def ordinal_of(value: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(value % 10 if value % 100 not in (11, 12, 13) else 0, "th")
    return f"{value}{ending}"


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
    return f"{hour}:{match[2] or '00'}" if int(match[1]) in range(1, 13) else match[0]


def _scaled(match: re.Match[str]) -> str:
    letter = next(name for name in match.groups()[1:] if name)
    return number(f"{Decimal(match[1]) * _LETTERS[letter]:f}")


# --- dates in figures ---


def _day_first(match: re.Match[str]) -> str:
    """A date in figures where only one reading is a date, or where full stops say that the day comes first."""
    one, other = int(match[1]), int(match[3])
    if match[2] == "." or other <= 12 < one or one == other:
        return date_of(match[0], match[4], other, one)
    return date_of(match[0], match[4], one, other) if one <= 12 < other else match[0]


def _year_first(match: re.Match[str]) -> str:
    return date_of(match[0], match[1], int(match[3]), int(match[4]))


def date_of(written: str, year: str, month: int, day: int) -> str:
    return f"{year}-{month:02}-{day:02}" if 0 < month <= 12 and 0 < day <= 31 else written


# --- amounts in the smallest unit of their kind ---


_PLUS = re.compile(rf"(?<![\w.,-])({NUM}) (second|metre|gram|month) (?:and )?({NUM}) \2\b(?!/)")


def _added(pattern: re.Pattern[str], text: str) -> str:
    """6 feet 2 inches is one amount."""
    return pattern.sub(lambda match: f"{written_number(Fraction(match[1]) + Fraction(match[3]))} {match[2]}", text)


def _based(text: str) -> str:
    return _units()[0].sub(lambda match: _in_base(match[1], match[2]), text)


@lru_cache(maxsize=4096)
def _in_base(number: str, unit: str) -> str:
    base, factor = _units()[1][unit]
    return f"{written_number(Fraction(number) * factor)} {base}"


def written_number(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return number(f"{exact:.9f}") if Fraction(exact) != value else number(f"{exact:f}")


@cache
def _units() -> tuple[re.Pattern[str], Mapping[str, tuple[str, Fraction]]]:
    """The units with the name and factor of the one that they are counted in."""
    units: dict[str, tuple[str, Fraction]] = {}
    for kind, lines in table("contradiction")["units"].items():
        rows = [(Fraction(factor), names.split(", ")) for factor, _, names in (line.partition(" ") for line in lines)]
        base = next((names[0] for factor, names in rows if factor == 1), kind)
        units |= {name: (base, factor) for factor, names in rows for name in names}
    known = {line.split()[0] for line in words_of("words", "units")} | {"microgram", "microsecond", "nanosecond"}
    kept = {name: units[name] for name in units if name in known and name not in MONTHS}
    kept |= {name: ("month", Fraction(count)) for name, count in MONTHS.items()}
    return re.compile(rf"(?<![\w.,])({NUM}) ({'|'.join(sorted(kept, key=len, reverse=True))})\b(?!/)"), kept
