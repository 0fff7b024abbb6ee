"""Agreement of two raters on one table of counts, and how well a score separates two classes."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction

from .proportions import Z_TWO_SIDED

Table = Sequence[Sequence[int]]


def kappa(table: Table) -> Fraction | None:
    """Cohen's (Po - Pe) / (1 - Pe), Pe = sum of row share · column share; None if Pe = 1 or empty."""
    rows, columns, total = _margins(table)
    if total == 0:
        return None
    observed = Fraction(sum(table[i][i] for i in range(len(table))), total)
    expected = Fraction(sum(r * c for r, c in zip(rows, columns, strict=True)), total**2)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def kappa_interval(table: Table) -> tuple[float, float, float] | None:
    """(SE, low, high): κ ± z·SE, SE² = (A+B-C) / (n(1-Pe)²) of Fleiss, Cohen and Everitt; None if κ is."""
    value = kappa(table)
    if value is None:
        return None
    error = math.sqrt(_kappa_variance(table, value))
    reach = Z_TWO_SIDED * error
    return error, max(-1.0, float(value) - reach), min(1.0, float(value) + reach)


def gwet_ac1(table: Table) -> Fraction | None:
    """(Po - Pe) / (1 - Pe), Pe = sum of π(1-π) / (q-1), π the mean share of each of q labels; or None."""
    rows, columns, total = _margins(table)
    labels = len(table)
    if total == 0 or labels < 2:
        return None
    observed = Fraction(sum(table[i][i] for i in range(labels)), total)
    shares = [Fraction(r + c, 2 * total) for r, c in zip(rows, columns, strict=True)]
    expected = sum((share * (1 - share) for share in shares), Fraction(0)) / (labels - 1)
    return (observed - expected) / (1 - expected)


def auc(pos: Sequence[Fraction | float], neg: Sequence[Fraction | float]) -> Fraction | None:
    """(#{pos > neg} + ½ #{pos = neg}) / (|pos| · |neg|); None if either side is empty."""
    if not pos or not neg:
        return None
    ordered = sorted(neg)
    halves = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in pos)
    return Fraction(halves, 2 * len(pos) * len(neg))


def _kappa_variance(table: Table, value: Fraction) -> Fraction:
    """(A + B - C) / (n (1-Pe)²), whose A is about agreements, B about disagreements, C about chance."""
    rows, columns, total = _margins(table)
    labels = range(len(table))
    row, column = [Fraction(r, total) for r in rows], [Fraction(c, total) for c in columns]
    expected = sum((row[i] * column[i] for i in labels), Fraction(0))
    rest = 1 - value
    agreed = sum((table[i][i] * (1 - (row[i] + column[i]) * rest) ** 2 for i in labels), Fraction(0))
    apart = sum((table[i][j] * (column[i] + row[j]) ** 2 for i in labels for j in labels if i != j), Fraction(0))
    chance = (value - expected * rest) ** 2
    return ((agreed + rest**2 * apart) / total - chance) / (total * (1 - expected) ** 2)


def _margins(table: Table) -> tuple[list[int], list[int], int]:
    if any(len(row) != len(table) for row in table):
        raise ValueError("an agreement table needs as many columns as rows, in the same order of labels")
    rows = [sum(row) for row in table]
    return rows, [sum(column) for column in zip(*table, strict=True)], sum(rows)
