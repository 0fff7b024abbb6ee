"""JSON with decimals as they are written, as typed data: 0.30 + 0.30 + 0.15 + 0.25 is 1."""

from __future__ import annotations

import hashlib
import json
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import msgspec

from ..errors import DataError, UsageError
from .strict import no_repeats

Typed = TypeVar("Typed")


class Share(Fraction):
    """A number from 0 to 1, exactly as it was written."""


def read_exact(
    path: str | os.PathLike[str], what: str, hint: str, unreadable: str, malformed: str
) -> tuple[object, str]:
    """The JSON value in a file and the digest of its bytes; the last two arguments are codes of errors."""
    raw = read_bytes(path, what, hint, unreadable)
    try:
        return exact_json(raw), hashlib.sha256(raw).hexdigest()
    except ValueError as error:
        raise DataError(f"{what} is not JSON: {error}", where=os.fspath(path), hint=hint, code=malformed) from error


def as_typed(raw: object, kind: type[Typed], where: str, hint: str, code: str) -> Typed:
    """Untyped data as a struct; what does not fit is an error that names the field."""
    try:
        return msgspec.convert(raw, kind, dec_hook=_share)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        field = place.replace("`", "").replace("$.", "").removeprefix("$")
        raise DataError(f"{field}: {what}" if field else what, where=where, hint=hint, code=code) from error


def _share(kind: type, value: object) -> Share:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= 1:
        raise ValueError(f"expected a number from 0 to 1, got {value!r}")
    return Share(str(value)) if isinstance(value, float) else Share(value)


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
