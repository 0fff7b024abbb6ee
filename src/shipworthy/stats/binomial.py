"""Binomial tails: exact while that is cheap, and beyond that correct to thirty decimals on every machine.

A decision hangs on `tail`, so no platform's `exp` or `lgamma` takes part in it. Up to `EXACT_LIMIT` items
the sum is done in integers. Above, the first term comes from decimals of 80 digits (whose ln and exp are
correctly rounded), the others from it by whole-number ratios in units of 2^-160: the result is within
`TAIL_ERROR` for any n up to 10^12. `tail_within` goes back to integers when the result is closer than that
to the level it is compared with.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from functools import lru_cache

ALPHA = Fraction(1, 20)  # the level of every one-sided proof
EXACT_LIMIT = 2000
TAIL_ERROR = Fraction(1, 10**30)

_UNIT = 2**160
_DIGITS = Context(prec=80, traps=[InvalidOperation, DivisionByZero, Overflow])
# B(2j) / (2j (2j-1)): with x >= 1000 the first term left out is below 10^-60.
_STIRLING = (
    (1, 12),
    (-1, 360),
    (1, 1260),
    (-1, 1680),
    (1, 1188),
    (-691, 360360),
    (1, 156),
    (-3617, 122400),
    (43867, 244188),
    (-174611, 125400),
)


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """P[Bin(n, p) >= k] = sum over i >= k of C(n, i) p^i (1-p)^(n-i)."""
    check_counts(k, n, p)
    if n <= EXACT_LIMIT:
        return Fraction(*_exact_tail(k, n, p))
    return near_tail(k, n, p)


def tail_within(k: int, n: int, p: Fraction, alpha: Fraction) -> bool:
    """Whether P[Bin(n, p) >= k] <= alpha, decided exactly."""
    check_counts(k, n, p)
    if n > EXACT_LIMIT:
        near = near_tail(k, n, p)
        if abs(near - alpha) > TAIL_ERROR:
            return near < alpha
    numerator, denominator = _exact_tail(k, n, p)
    return numerator * alpha.denominator <= alpha.numerator * denominator


def critical_k(n: int, p: Fraction, alpha: Fraction = ALPHA) -> int | None:
    """The smallest k with P[Bin(n, p) >= k] <= alpha; None when not even k = n is that rare."""
    check_counts(0, n, p)
    spread = math.isqrt(int(n * p * (1 - p)))
    guess = min(n, int(n * p) + 2 * spread)
    return first_true(lambda k: tail_within(k, n, p, alpha), guess, 0, n)


def first_true(holds: Callable[[int], bool], guess: int, low: int, high: int | None) -> int | None:
    """The smallest i in low..high where `holds` turns true for good, found by doubling steps from a guess."""
    step, probe = 1, guess
    if holds(probe):
        while probe > low and holds(max(low, probe - step)):
            probe, step = max(low, probe - step), step * 2
        bottom, top = max(low, probe - step), probe
    else:
        while not holds(probe):
            if high is not None and probe >= high:
                return None
            bottom, probe = probe + 1, probe + step if high is None else min(high, probe + step)
            step *= 2
        top = probe
    return bottom + bisect_left(range(bottom, top), True, key=holds)


@lru_cache(maxsize=64)
def point(k: int, n: int, p: Fraction) -> Decimal:
    """P[Bin(n, p) = k] = C(n, k) p^k (1-p)^(n-k), to fifty significant digits; p strictly between 0 and 1."""
    with localcontext(_DIGITS):
        ways = _ln_factorial(n) - _ln_factorial(k) - _ln_factorial(n - k)
        hit, miss = p.numerator, p.denominator - p.numerator
        logs = k * Decimal(hit).ln() + (n - k) * Decimal(miss).ln() - n * Decimal(p.denominator).ln()
        return (ways + logs).exp()


def near_tail(k: int, n: int, p: Fraction) -> Fraction:
    """P[Bin(n, p) >= k] within TAIL_ERROR, summed away from the mean so that the terms only fall."""
    if k > n:
        return Fraction(0)
    if p in (0, 1) or k == 0:
        return Fraction(int(k == 0 or p == 1))
    if k <= n * p:
        return 1 - near_tail(n - k + 1, n, 1 - p)
    with localcontext(_DIGITS):
        term = int(point(k, n, p) * _UNIT)
    hit, miss = p.numerator, p.denominator - p.numerator
    total = 0
    while term:
        total += term
        term = term * ((n - k) * hit) // ((k + 1) * miss)
        k += 1
    return Fraction(total, _UNIT)


def check_counts(k: int, n: int, p: Fraction) -> None:
    """Refuse counts and rates that no binomial has."""
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a count: 0 <= k <= n is needed")
    if not 0 <= p <= 1:
        raise ValueError(f"{p} is not a rate: it must lie between 0 and 1")


def _exact_tail(k: int, n: int, p: Fraction) -> tuple[int, int]:
    """The tail as numerator and denominator, summed over its shorter side."""
    hit, miss = p.numerator, p.denominator - p.numerator
    whole = p.denominator**n
    if not hit or not miss:
        return (whole if k == 0 or not miss else 0), whole
    if n - k < k:
        return _sum_to(n - k, n, miss, hit), whole
    return whole - _sum_to(k - 1, n, hit, miss), whole


def _sum_to(last: int, n: int, hit: int, miss: int) -> int:
    """Sum over i <= last of C(n, i) hit^i miss^(n-i), each term from the last (divisions leave no rest)."""
    term, total = miss**n, 0
    for i in range(last + 1):
        total += term
        term = term * ((n - i) * hit) // ((i + 1) * miss)
    return total


@lru_cache(maxsize=64)
def _ln_factorial(x: int) -> Decimal:
    """ln x! by Stirling's series; small ones from the factorial itself."""
    if x < 1000:
        return Decimal(math.factorial(x)).ln()
    value = Decimal(x)
    half_ln_tau = (2 * _PI).ln() / 2
    series = sum((Decimal(a) / b / value ** (2 * j + 1) for j, (a, b) in enumerate(_STIRLING)), Decimal(0))
    return (value + Decimal("0.5")) * value.ln() - value + half_ln_tau + series


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
