"""False alarms and power of `history nightly`, by simulation.

    python benchmarks/nightly.py [--histories 2000] [--nights 90] [--items 200] [--seed 1] [--jobs 2] [--quick]

False alarms: histories in which nothing changes, looked at after every night. Power: 5 % of the items break for good
after 10 or 30 nights; how many nights until the alarm. Beside it the rule that was used before: items unanimous in five
runs, a flip counts after two confirmations, fair-coin evidence of 20. Needs numpy; each cell has its own seed, so that
any of them can be repeated. A sample of every cell is computed again by the product's own code.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from shipworthy import stats
from shipworthy.history.nightly import FIRST, nightly
from shipworthy.stats.sequential import FACTORS, LOOK_BACK, QUIET

Array = Any  # numpy's arrays: histories × nights × items of results, or histories × nights of numbers
PASS_RATES = (0.5, 0.8, 0.95, 1.0)
FLAKINESS = (0.0, 0.05, 0.2, 0.5)
OUTAGES_AT = 0.95  # the pass rate at which bad nights are simulated
BROKEN = 0.05  # of the items
BREAKS = (10, 30)  # quiet nights before they break
WATCHED = 30  # nights after the break
AGAIN = 3  # histories of each cell that the product's code computes too


def some_flaky(rng: Any, shape: tuple[int, int], rate: float, flakiness: float) -> Array:
    """A share of the items is flaky, each with a chance of its own; the others always pass or always fail."""
    steady = (rng.random(shape) < rate).astype(float)
    return np.where(rng.random(shape) < flakiness, rng.random(shape), steady)


def all_flip(rng: Any, shape: tuple[int, int], rate: float, flakiness: float) -> Array:
    """Every result of every night is flipped with the same chance."""
    return np.where(rng.random(shape) < rate, 1 - flakiness, flakiness)


def bad_nights(rng: Any, results: Array) -> Array:
    """One night in ten, a fifth of the items fails together."""
    histories, nights, items = results.shape
    down = rng.random((histories, nights, 1)) < 0.1
    return results & ~(down & (rng.random((histories, nights, items)) < 0.2))


MODELS: dict[str, tuple[Callable[..., Array], bool]] = {
    "a share of the items is flaky": (some_flaky, False),
    "every result may flip": (all_flip, False),
    "a share is flaky, and bad nights": (some_flaky, True),
}


def histories_of(
    rng: Any, model: str, rate: float, flakiness: float, size: tuple[int, int, int], broken_after: int | None = None
) -> Array:
    histories, _, items = size
    chances, outages = MODELS[model]
    pass_chance = chances(rng, (histories, items), rate, flakiness)
    results = rng.random(size) < pass_chance[:, None, :]
    results = bad_nights(rng, results) if outages else results
    if broken_after is None:
        return results
    broken = np.argsort(rng.random((histories, items)), axis=1)[:, : round(items * BROKEN)]
    for one, which in enumerate(broken):
        results[one, broken_after:, which] = False
    return results


def drop_evidence(scores: Array) -> Array:
    """`stats.drop_evidence` for many histories at once."""
    histories, nights = scores.shape
    found = np.zeros((histories, nights))
    for night in range(QUIET + 1, nights + 1):
        order = np.argsort(scores[:, :night], axis=1, kind="stable").T
        changes = np.arange(max(QUIET, night - LOOK_BACK), night)
        ranks = changes - QUIET + 1
        ratios = _apart(order, changes) + _worse(order, changes)
        found[:, night - 1] = (ratios / ((ranks * (ranks + 1))[:, None] * (len(FACTORS) + 1))).sum(axis=0)
    return found


def _worse(order: Array, changes: Array) -> Array:
    later = np.zeros((len(changes), order.shape[1]))  # how many of the nights so far come after the change
    ratios = [np.ones_like(later) for _ in FACTORS]
    for place, night in enumerate(order[::-1], start=1):
        later += night[None, :] >= changes[:, None]
        for ratio, factor in zip(ratios, FACTORS, strict=True):
            ratio *= place / (place + (factor - 1) * later)
    return sum(ratio * factor**later for ratio, factor in zip(ratios, FACTORS, strict=True))


def _apart(order: Array, changes: Array) -> Array:
    nights = len(order)
    worst = np.minimum.accumulate(order, axis=0)
    return np.stack([np.where(worst[nights - c - 1] >= c, float(math.comb(nights, nights - c)), 0.0) for c in changes])


def evidence(results: Array) -> Array:
    """What `history nightly` shows after every night."""
    of_all = drop_evidence(results.sum(axis=2))
    held = results[:, :FIRST].all(axis=1)
    of_held = drop_evidence((results & held[:, None, :]).sum(axis=2)[:, FIRST:])
    of_all[:, FIRST:] = np.maximum(of_all[:, FIRST:], of_held)
    return of_all / 2


def former_evidence(results: Array) -> Array:
    """The rule before: a stable item counts once, after three nights in a row; a fair coin between lost and gained."""
    first = results[:, :FIRST]
    passed, failed = first.all(axis=1), ~first.any(axis=1)
    streak = np.zeros(passed.shape, int)
    lost, gained = np.zeros_like(passed), np.zeros_like(passed)
    found = np.zeros(results.shape[:2])
    for night in range(FIRST, results.shape[1]):
        turned = (passed & ~results[:, night]) | (failed & results[:, night])
        streak = np.where(turned, streak + 1, 0)
        lost, gained = lost | (passed & (streak >= 3)), gained | (failed & (streak >= 3))
        counts = zip(lost.sum(axis=1), gained.sum(axis=1), strict=True)
        found[:, night] = [float(stats.e_value(int(b), int(c))) for b, c in counts]
    return found


def check_again(results: Array, found: Array) -> None:
    """The product's own code gives the same numbers."""
    for one in range(min(AGAIN, len(results))):
        runs = [
            (str(n), {str(i): bool(passed) for i, passed in enumerate(night)}) for n, night in enumerate(results[one])
        ]
        own = [night.evidence for night in nightly(runs).nights]
        assert np.allclose(own, found[one], rtol=1e-9, atol=1e-12), one


def cell(work: tuple[int, str, float, float, tuple[int, int, int]]) -> tuple[float, float, list[str]]:
    """False alarms now and before, and the nights that a break takes to be found: median and share within 30."""
    seed, model, rate, flakiness, size = work
    rng = np.random.default_rng(seed)
    results = histories_of(rng, model, rate, flakiness, size)
    found = evidence(results)
    check_again(results, found)
    false = (found >= stats.ALARM).any(axis=1).mean()
    before = (former_evidence(results) >= stats.ALARM).any(axis=1).mean()
    power = []
    for quiet in BREAKS:
        fewer = (min(size[0], 400), quiet + WATCHED, size[2])
        alarms = evidence(histories_of(rng, model, rate, flakiness, fewer, quiet)) >= stats.ALARM
        alarms = alarms[~alarms[:, :quiet].any(axis=1)]
        nights = np.where(alarms.any(axis=1), alarms.argmax(axis=1) + 1 - quiet, WATCHED + 1)
        middle = int(np.median(nights))
        power.append(f"{middle if middle <= WATCHED else '>30':>3} ({(nights <= WATCHED).mean():4.0%})")
    return float(false), float(before), power


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("histories", 2000), ("nights", 90), ("items", 200), ("seed", 1), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--quick", action="store_true", help="100 histories of 40 nights")
    given = parser.parse_args()
    size = (100, 40, given.items) if given.quick else (given.histories, given.nights, given.items)
    cells = [(model, rate, flakiness) for model in MODELS for rate in PASS_RATES for flakiness in FLAKINESS]
    cells = [one for one in cells if not MODELS[one[0]][1] or one[1] == OUTAGES_AT]
    work = [(given.seed * 1000 + number, *one, size) for number, one in enumerate(cells)]
    histories, nights, items = size
    print(f"{histories} unchanged histories of {nights} nights, {items} items; {BROKEN:.0%} break after …\n")
    print("| model | pass rate | flakiness | false alarms | before | nights to find it, break after 10 | after 30 |")
    print("|---|---|---|---|---|---|---|")
    most = 0.0
    with ProcessPoolExecutor(given.jobs) as pool:
        for (model, rate, flakiness), (false, before, power) in zip(cells, pool.map(cell, work), strict=True):
            most = max(most, false)
            print(f"| {model} | {rate} | {flakiness} | {false:.1%} | {before:.1%} | {' | '.join(power)} |", flush=True)
    error = 3.09 * math.sqrt(0.05 * 0.95 / histories)
    print(f"\nmost false alarms in any cell: {most:.1%}; 5.0 % would show as at most {0.05 + error:.1%} (99.9 %)")


if __name__ == "__main__":
    main()
