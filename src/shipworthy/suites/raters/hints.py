"""Diagnosis: which rater and which labels to look at where agreement is poor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations

from ...core.gates import Outcome
from ...core.metrics import Measure, decimal
from ...core.tally import Tally
from ...text import plural
from .metrics import FEW_LABELS, FEW_RATERS, ONE_LABEL, agreements, label_counts, pairwise, rows
from .options import SettledOptions

FEW = 30  # items; fewer say little
POOR = Fraction(2, 3)  # below that alpha is customarily not relied on
HIGH = Fraction(9, 10)  # share of agreeing pairs
SHARED = 5  # items that a rater must share with others before anything is said of them


def diagnose(
    outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally, options: SettledOptions
) -> list[str]:
    failed = any(outcome.state.startswith("FAIL") for outcome in outcomes)
    alpha, agreed = measures["alpha"].value, measures["percent_agreement"]
    poor = failed or (alpha is not None and alpha < POOR)
    hints = []
    if poor and alpha is not None and agreed.value is not None and agreed.value >= HIGH:
        hints.append(_dominated(tally, options, alpha, agreed.value))
    if poor:
        hints += [*_odd_one(tally, options), *_confused(tally, options)]
    if measures["alpha"].missing == ONE_LABEL:
        hints.append("All ratings have the same label. Gate percent_agreement instead, or add items with other labels.")
    if agreed.n < FEW:
        hints.append(
            f"Only {plural(agreed.n, 'item')} with two or more ratings: too few to rely on. Use at least {FEW}."
        )
    if not pairwise(options):
        hints.append(f"Pairs of raters are listed for at most {FEW_RATERS} raters and {FEW_LABELS} labels.")
    return hints


def _dominated(tally: Tally, options: SettledOptions, alpha: Fraction, agreed: Fraction) -> str:
    given = label_counts(tally)
    most = max(range(len(options.scale)), key=lambda place: given[place])  # of equal ones the first
    return (
        f"The raters agree ({decimal(agreed)}) and alpha is low ({decimal(alpha)}): {options.scale[most]} has "
        f"{given[most] / given.total():.0%} of the ratings, and agreement on it is what chance gives. "
        "Add items with rarer labels."
    )


def _odd_one(tally: Tally, options: SettledOptions) -> list[str]:
    """The rater who agrees least with the others; of two nobody is the odd one."""
    names = options.raters
    ranked = sorted((value, n, names[place]) for place, (value, n) in agreements(tally).items() if n >= SHARED)
    if len(names) < 3 or len(ranked) < 2 or ranked[0][0] == ranked[1][0]:
        return []
    (value, n, rater), (following, *_) = ranked[:2]
    return [
        f"{rater} agrees least with the others: {decimal(value)} on average over {plural(n, 'item')}; "
        f"the next lowest is {decimal(following)}."
    ]


def _confused(tally: Tally, options: SettledOptions) -> list[str]:
    """The two labels that raters give to one item most often."""
    apart: Counter[tuple[int, int]] = Counter()
    for given, count in rows(tally):
        apart.update({both: given[both[0]] * given[both[1]] * count for both in combinations(sorted(given), 2)})
    if not apart:
        return []
    (one, other), count = max(apart.items(), key=lambda pair: (pair[1], pair[0]))
    return [
        f"Raters disagree most between {options.scale[one]} and {options.scale[other]}: {count} of "
        f"{plural(apart.total(), 'disagreement')}."
    ]
