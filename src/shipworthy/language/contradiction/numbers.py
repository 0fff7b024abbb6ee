"""Numbers: digits and number words as exact fractions."""

from __future__ import annotations

from fractions import Fraction

CARDINALS = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
CARDINALS |= {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "dozen": 12,
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ORDINALS = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        start=1,
    )
}
ORDINALS |= {
    "thirtieth": 30,
    "fortieth": 40,
    "fiftieth": 50,
    "sixtieth": 60,
    "seventieth": 70,
    "eightieth": 80,
}
ORDINALS |= {"ninetieth": 90, "hundredth": 100, "thousandth": 1000}


def read_digits(text: str) -> Fraction | None:
    """The value, or None for what only looks like a number: a version, or more digits than we read."""
    try:
        return Fraction(text)
    except ValueError:
        return None


def combined(before: Fraction, value: Fraction, word: str) -> Fraction | None:
    """The value of two number words in a row, if they are one number: "two hundred", "twenty five"."""
    if word in SCALES:
        return before * value
    if word in CARDINALS and before.denominator == 1 and before % 10 == 0 and 0 < value < 10 and before >= 20:
        return before + value
    return None
