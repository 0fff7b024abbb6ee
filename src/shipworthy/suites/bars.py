"""Bars: gates from numbers rather than from their written form, and numbers as people write them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from ..errors import UsageError
from ..gates import Bound, Gate

Number = Fraction | float | str
_WRITTEN = re.compile(r"\d{1,12}(?:\.\d{0,18})?|\.\d{1,18}|\d{1,12}/0*[1-9]\d{0,11}")


def bar(metric: str, op: str, number: Fraction) -> Gate:
    """`bar("pass_rate", ">=", Fraction(7, 10))` is the gate `pass_rate >= 0.70`."""
    return Gate(metric, op, Bound(written(number), number))


def written(number: Fraction) -> str:
    """A number in two decimals or as many as it has; a fraction where it has no end."""
    if number.denominator == 1:
        return str(number.numerator)
    for digits in range(2, 19):
        scaled = number * 10**digits
        if scaled.denominator == 1:
            figures = str(scaled.numerator).rjust(digits + 1, "0")
            return f"{figures[:-digits]}.{figures[-digits:]}"
    return str(number)


def exact(name: str, value: Number, most: int | None = 1) -> Fraction:
    """A bar's number exactly as it was written, checked for its range."""
    number = as_written(value)
    if number is None or number < 0 or (most is not None and number > most):
        span = f"between 0 and {most}" if most is not None else "of 0 or more"
        raise UsageError(
            f"{name} can't be {str(value)[:40]!r}", hint=f"Write a number {span}, such as 0.65.", code="bar"
        )
    return number


def as_written(value: object) -> Fraction | None:
    """A number exactly as it was written; None for what is none, or has an exponent that would take for ever."""
    if isinstance(value, Fraction) or (isinstance(value, int) and not isinstance(value, bool)):
        return Fraction(value)
    if isinstance(value, float):
        return Fraction(str(value)) if math.isfinite(value) else None
    text = value.strip() if isinstance(value, str) else ""
    return Fraction(text) if _WRITTEN.fullmatch(text) else None
