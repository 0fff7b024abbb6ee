"""JSON with decimals as they are written: 0.30 + 0.30 + 0.15 + 0.25 is 1."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from pathlib import Path

from ..errors import UsageError
from .strict import no_repeats


def read_bytes(path: str | os.PathLike[str], what: str, hint: str, code: str) -> bytes:
    """The bytes of a file that was named, or an error that says what it should have been."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{what} can't be read ({why})", where=os.fspath(path), hint=hint, code=code) from error


def exact_json(raw: bytes) -> object:
    """One JSON value, its decimals as fractions; a ValueError says what is wrong with it."""
    try:
        text = raw.decode("utf-8-sig")
        return json.loads(text, parse_float=_exact, parse_constant=_no_constant, object_pairs_hook=no_repeats)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _exact(digits: str) -> Fraction:
    # A huge exponent would build a huge integer, so such numbers go through float.
    approximate = float(digits)
    if not math.isfinite(approximate):
        raise ValueError(f"the number {digits[:20]} is out of range")
    return Fraction(approximate) if len(digits) > 30 or "e" in digits.lower() else Fraction(digits)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")
