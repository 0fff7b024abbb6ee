"""Paired comparisons: the same items before and after, b of them lost (pass to fail) and c gained."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction

from .rates import MOST_ITEMS, first_true, tail

_HALF = Fraction(1, 2)
_Z_ONE_SIDED = Decimal("1.6448536269514722")  # standard normal quantile of 0.95
_DIGITS = Context(prec=50, traps=[InvalidOperation, DivisionByZero, Overflow])
_ENUMERATED = 16  # up to this many differences every sign pattern is counted


def mcnemar_one_sided(b: int, c: int) -> Fraction:
    """Exact p of a drop: sum over i >= b of C(b+c, i) / 2^(b+c)."""
    return tail(b, b + c, _HALF)


def mcnemar_two_sided(b: int, c: int) -> Fraction:
    """Exact p of any change: min(1, 2 · sum over i >= max(b, c) of C(b+c, i) / 2^(b+c))."""
    return min(Fraction(1), 2 * tail(max(b, c), b + c, _HALF))


def tango_upper(b: int, c: int, n: int) -> float | None:
    """Largest drop still possible (95 %): d with (b-c-nd) / √(n(2q+d(1-d))) = -z; None without items."""
    _check_pairs(b, c, n)
    if n == 0:
        return None
    low, high = Fraction(b - c, n), Fraction(1)
    while high - low > Fraction(1, 2**50):
        middle = (low + high) / 2
        low, high = (low, middle) if excludes_drop(b, c, n, middle) else (middle, high)
    return float(high)


def excludes_drop(b: int, c: int, n: int, slip: Fraction) -> bool:
    """Whether Tango's upper bound is <= slip: (n·slip - b + c)² >= z² n (2q + slip(1-slip)), in 50 digits."""
    _check_pairs(b, c, n)
    if not -1 <= slip <= 1:
        raise ValueError(f"a drop of {slip} is not a difference of two rates: it must lie between -1 and 1")
    gap = n * slip - (b - c)
    if n == 0 or gap <= 0:
        return False
    with localcontext(_DIGITS):
        variance = n * (2 * _constrained_gain(b, c, n, slip) + _decimal(slip * (1 - slip)))
        return _decimal(gap) ** 2 >= _Z_ONE_SIDED**2 * variance


def more_for_no_regression(b: int, c: int, n: int, slip: Fraction) -> int | None:
    """Fewest further items, none lost or gained, until excludes_drop(b, c, n', slip); None if too far."""
    _check_pairs(b, c, n)
    if slip <= 0:
        return 0 if excludes_drop(b, c, n, slip) else None
    return first_true(lambda more: excludes_drop(b, c, n + more, slip), 0, 0, MOST_ITEMS)


def paired_permutation(
    differences: Iterable[Fraction | float] | Mapping[Fraction, int], seed: int, draws: int = 10_000
) -> float:
    """Two-sided sign-flip test of a mean difference: (1 + #{|S*| >= |S|}) / (1 + draws); all flips when few.

    Differences may be given as counts. Sums are exact, and the order of the differences does not matter. Signs are the
    bits of SHAKE-128, a standard, so that every release of Python draws the same ones.
    """
    values = _whole_numbers(Counter(differences))
    observed = abs(sum(value * count for value, count in values.items()))
    sizes: Counter[int] = Counter()
    for value, count in values.items():
        sizes[abs(value)] += count
    if sizes.total() <= _ENUMERATED:
        flips = _signed_sums(sorted(sizes.elements()))
        return sum(abs(flip) >= observed for flip in flips) / len(flips)
    return (1 + sum(abs(total) >= observed for total in _drawn_sums(sizes, seed, draws))) / (1 + draws)


def _drawn_sums(sizes: Mapping[int, int], seed: int, draws: int) -> Iterator[int]:
    """Sums of all sizes under random signs. A byte gives eight of them: of equal sizes only their number matters."""
    equal = [(size, count // 8) for size, count in sorted(sizes.items()) if count >= 8]
    others = [size for size, count in sorted(sizes.items()) for _ in range(count % 8)]
    tables = [_signed_sums(others[start : start + 8]) for start in range(0, len(others), 8)]
    split = sum(length for _, length in equal)
    for draw in range(draws):
        signs = hashlib.shake_128(b"%d %d" % (seed, draw)).digest(split + len(tables))
        total, start = 0, 0
        for size, length in equal:
            positive = int.from_bytes(signs[start : start + length], "big").bit_count()
            total += size * (2 * positive - 8 * length)
            start += length
        yield total + sum([table[byte % len(table)] for table, byte in zip(tables, signs[split:], strict=True)])


def _constrained_gain(b: int, c: int, n: int, slip: Fraction) -> Decimal:
    """q, the likeliest rate of gains if the drop is `slip`: (√(B²-8nC) - B) / 4n, with B and C as below."""
    linear = -b - c + (2 * n - b + c) * slip
    constant = -c * slip * (1 - slip)
    root = _decimal(linear**2 - 8 * n * constant).sqrt()
    return max(Decimal(0), (root - _decimal(linear)) / (4 * n))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _check_pairs(b: int, c: int, n: int) -> None:
    if min(b, c) < 0 or b + c > n:
        raise ValueError(f"{b} lost and {c} gained do not fit into {n} items")


def _whole_numbers(counts: Mapping[Fraction | float, int]) -> Counter[int]:
    """The values other than 0 over their common denominator, and how often each of them is there."""
    exact = {Fraction(value): count for value, count in counts.items() if value}
    common = math.lcm(*(value.denominator for value in exact))
    return Counter({value.numerator * (common // value.denominator): count for value, count in exact.items()})


def _signed_sums(values: Sequence[int]) -> list[int]:
    """The 2^n sums ±v1 ±v2 …, in a fixed order."""
    sums = [0]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums
