"""Rates: exact binomial tails, the tests and intervals that rest on them, and how many items a proof needs.

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
from typing import Literal

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


# --- a rate: the interval to show, the exact test that proves a bound, and the state that a gate ends in ---

Direction = Literal[">=", "<="]
State = Literal["PASS", "PASS-BUT-UNPROVEN", "FAIL-BUT-CLOSE", "FAIL", "NO-DATA"]

Z_TWO_SIDED = 1.959963984540054  # standard normal quantile of 0.975


def wilson(k: int, n: int) -> tuple[float, float] | None:
    """95 % score interval (r + z²/2n ± z√(r(1-r)/n + z²/4n²)) / (1 + z²/n), r = k/n; None without items."""
    check_counts(k, n, Fraction(0))
    if n == 0:
        return None
    rate, square = k / n, Z_TWO_SIDED**2
    middle = rate + square / (2 * n)
    reach = Z_TWO_SIDED * math.sqrt(rate * ((n - k) / n) / n + square / (4 * n) / n)
    scale = 1 + square / n
    low = 0.0 if k == 0 else max(0.0, (middle - reach) / scale)
    high = 1.0 if k == n else min(1.0, (middle + reach) / scale)
    return low, high


def prove_p(k: int, n: int, bound: Fraction, direction: Direction) -> Fraction:
    """How often a system exactly at the bound does this well: P[Bin(n, bound) >= k], or <= k for "<="."""
    return tail(*towards_more(k, n, bound, direction))


def refute_p(k: int, n: int, bound: Fraction, direction: Direction) -> Fraction:
    """How often a system exactly at the bound does this badly: P[Bin(n, bound) <= k], or >= k for "<="."""
    return prove_p(k, n, bound, opposite(direction))


def proven(k: int, n: int, bound: Fraction, direction: Direction, alpha: Fraction = ALPHA) -> bool:
    """prove_p <= alpha: the exact one-sided binomial test rejects the other side of the bound."""
    return tail_within(*towards_more(k, n, bound, direction), alpha)


def refuted(k: int, n: int, bound: Fraction, direction: Direction, alpha: Fraction = ALPHA) -> bool:
    """refute_p <= alpha: the miss is proven."""
    return proven(k, n, bound, opposite(direction), alpha)


def met(k: int, n: int, bound: Fraction, direction: Direction) -> bool:
    """k/n >= bound (or <=), compared as whole numbers."""
    count, n, rate = towards_more(k, n, bound, direction)
    return count * rate.denominator >= rate.numerator * n


def verdict_state(k: int, n: int, bound: Fraction, direction: Direction) -> State:
    """Met and proven, met, missed, missed and proven at 5 %, or nothing to judge (n = 0)."""
    if n == 0:
        return "NO-DATA"
    if met(k, n, bound, direction):
        return "PASS" if proven(k, n, bound, direction) else "PASS-BUT-UNPROVEN"
    return "FAIL" if refuted(k, n, bound, direction) else "FAIL-BUT-CLOSE"


def clopper_pearson_lower(k: int, n: int, alpha: float = 0.05) -> float | None:
    """One-sided lower bound: the rate p with P[Bin(n, p) >= k] = alpha; 0 for k = 0, None without items."""
    check_counts(k, n, Fraction(0))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} must lie strictly between 0 and 1")
    if n == 0:
        return None
    return 0.0 if k == 0 else _rate_with_tail(k, n, alpha)


def clopper_pearson_upper(k: int, n: int, alpha: float = 0.05) -> float | None:
    """One-sided upper bound: the rate p with P[Bin(n, p) <= k] = alpha; 1 for k = n, None without items."""
    lower = clopper_pearson_lower(n - k, n, alpha)
    return None if lower is None else 1.0 - lower


def towards_more(k: int, n: int, bound: Fraction, direction: Direction) -> tuple[int, int, Fraction]:
    """The same question asked with ">=": at most k of n is at least n-k of n at 1 - bound."""
    return (k, n, bound) if direction == ">=" else (n - k, n, 1 - bound)


def opposite(direction: Direction) -> Direction:
    """The other side of a bound."""
    return "<=" if direction == ">=" else ">="


def _rate_with_tail(k: int, n: int, alpha: float) -> float:
    """Newton's method in a shrinking bracket; the slope of the tail is k/p · P[Bin(n, p) = k]."""
    low, high = 0.0, 1.0
    rate = (k + 0.5) / (n + 1)
    for _ in range(100):
        excess = float(near_tail(k, n, Fraction(rate))) - alpha
        low, high = (low, rate) if excess > 0 else (rate, high)
        slope = k / rate * float(point(k, n, Fraction(rate)))
        step = rate - excess / slope if slope else low
        following = step if low <= step <= high else (low + high) / 2
        if abs(following - rate) <= 1e-13 * rate:
            break
        rate = following
    return rate


# --- how many items a proof needs, and how likely a run is to get one ---

MOST_ITEMS = 100_000  # further than this nobody looks: the answer is None
STEADY = 10  # power must hold for this many n in a row
_ALPHA = float(ALPHA)
_DOUBT = 1e-6  # far above the rounding of 100,000 steps (below 1e-7); inside it the exact test is asked


def smallest_n(bound: Fraction, failures: int = 0, direction: Direction = ">=") -> int | None:
    """The first n with P[Bin(n, bound) >= n - failures] <= 5 %; None if no n can (>= 1, <= 0)."""
    _, _, rate = towards_more(0, 0, bound, direction)
    if rate == 1:
        return None
    first = failures + 1
    guess = max(first, int(failures / (1 - rate)))  # where that many failures are expected
    return first_true(lambda n: tail_within(n - failures, n, rate, ALPHA), guess, first, None)


def more_items(k: int, n: int, bound: Fraction, direction: Direction) -> tuple[int | None, int | None]:
    """Further items until proven: if all pass, and at this rate (⌊k n'/n⌋ good of n'); None if never.

    The second is the first crossing of a saw-toothed line, so it should be printed as "about".
    """
    if proven(k, n, bound, direction):
        return 0, 0
    good, n, rate = towards_more(k, n, bound, direction)
    enough = smallest_n(rate, n - good)
    best = None if enough is None or enough - n > MOST_ITEMS else enough - n
    return best, _more_at_rate(good, n, rate)


def power_at(n: int, bound: Fraction, true: Fraction) -> Fraction:
    """Chance that a system at the true rate is proven >= bound: P[Bin(n, true) >= critical_k(n, bound)]."""
    needed = critical_k(n, bound)
    return Fraction(0) if needed is None else tail(needed, n, true)


def n_for_power(bound: Fraction, true: Fraction, power: Fraction = Fraction(4, 5)) -> int | None:
    """The first n where power_at(m, bound, true) >= power for STEADY n in a row; None beyond MOST_ITEMS.

    Power is saw-toothed in n: a run of them keeps a lucky single n from being named.
    """
    n = None if true <= bound else smallest_n(bound)
    if n is None or n > MOST_ITEMS:
        return None
    if bound == 0 or true == 1:
        return first_true(lambda m: power_at(m, bound, true) >= power, n, n, MOST_ITEMS)
    at_bound, at_truth = _Walk(n, n, bound), _Walk(n, n, true)
    run = 0
    while at_truth.n <= MOST_ITEMS:
        run = run + 1 if at_truth.reaches(power) else 0
        if run == STEADY:
            return at_truth.n - STEADY + 1
        hit = not at_bound.proven_after_miss()
        at_bound.step(hit)
        at_truth.step(hit)
    return None


class _Walk:
    """P[Bin(n, p) >= k] carried from one n to the next by a hit (k+1) or a miss, in constant time a step."""

    def __init__(self, k: int, n: int, p: Fraction) -> None:
        self.k, self.n, self.p = k, n, p
        self._rate, self._rest = float(p), float(1 - p)
        self._tail, self._point = float(tail(k, n, p)), float(point(k, n, p))

    def step(self, hit: bool) -> None:
        self.n += 1
        if hit:
            self.k += 1
            self._tail -= self._point * self._rest
            self._point *= self._rate * self.n / self.k
        else:
            missed = self._point * self._rest / (self.n - self.k)
            self._tail += missed * self.k
            self._point = missed * self.n

    def proven(self) -> bool:
        return self._below(self._tail, self.n)

    def proven_after_miss(self) -> bool:
        return self._below(self._tail + self._point * self._rest * self.k / (self.n + 1 - self.k), self.n + 1)

    def reaches(self, level: Fraction) -> bool:
        if abs(self._tail - float(level)) > _DOUBT:
            return self._tail > level
        return tail(self.k, self.n, self.p) >= level

    def _below(self, chance: float, n: int) -> bool:
        if abs(chance - _ALPHA) > _DOUBT:
            return chance < _ALPHA
        return tail_within(self.k, n, self.p, ALPHA)


def _more_at_rate(good: int, n: int, rate: Fraction) -> int | None:
    """The first m > n where ⌊good m/n⌋ of m is proven, less n; None if the rate does not beat the bound."""
    if n == 0 or good * rate.denominator <= rate.numerator * n:
        return None
    walk = _Walk(good, n, rate)
    for more in range(1, MOST_ITEMS + 1):
        walk.step(hit=good * (n + more) // n > walk.k)
        if walk.proven():
            return more
    return None
