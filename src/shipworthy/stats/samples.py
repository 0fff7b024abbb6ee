"""Sample sizes: how many items a proof needs, and how likely a run is to get one."""

from __future__ import annotations

from fractions import Fraction

from .binomial import ALPHA, critical_k, first_true, point, tail, tail_within
from .proportions import Direction, proven, towards_more

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
