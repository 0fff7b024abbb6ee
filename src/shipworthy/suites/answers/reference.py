"""The reference profile: what the original scripts print, number for number, known mistakes included."""

from __future__ import annotations

from fractions import Fraction

from ...core.tally import Tally

REFERENCE = "reference"  # the part of the evidence that counts what the original script counts


def numbers(tally: Tally, k: int) -> tuple[dict[str, int | float], dict[str, Fraction]]:
    """The reference's report and, unrounded, the numbers that its gates compare."""
    shipped, known, unknown = tally["answered"], tally["answerable"], tally["unanswerable"]
    exact = {
        "precision": _over(tally["correct"], shipped, 1),
        "chr": _over(tally["hit"], shipped, 1),
        "under_refusal": _over(tally["under"], unknown, 0),
        "over_refusal": _over(tally["over"], known, 0),
        "recall@k": _over(tally["recalled"], known, 0),
    }
    counts = {"answered": shipped, "refused": tally["refused"], "answerable": known, "unanswerable": unknown}
    # The scripts divide in floating point and round that; rounding the fraction could differ in the last place.
    rounded = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return counts | rounded | {"k": k}, exact


def _over(k: int, n: int, otherwise: int) -> Fraction:
    return Fraction(k, n) if n else Fraction(otherwise)
