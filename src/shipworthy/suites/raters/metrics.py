"""What the raters suite counts: how often each label was given to an item, and what each two raters said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import cast

from ... import stats
from ...core.evidence import Counts
from ...core.metrics import Computed, Measure, Metric, Words
from ...core.tally import Fact, Tally
from ...text import plural
from .judge import CompleteOptions, Context, Options, Said, agreement, label_counts_of

ALIASES = {
    "pa": "percent_agreement",
    "k": "kappa",
    "fleiss": "fleiss_kappa",
    "randolph": "free_marginal",
    "krippendorff": "alpha",
}
FEW_RATERS, FEW_LABELS = 20, 50  # beyond which pairs of raters are not looked at one by one
ONE_LABEL = "all ratings have the same label, so agreement beyond chance can't be measured"
LabelCounts = list[int]  # how many raters gave each label to an item
Coefficient = Callable[[Sequence[Sequence[int]]], Fraction | None]
Cells = Counter[tuple[int, int]]  # the labels of two raters → items


def aliases(options: Options) -> Mapping[str, str]:
    return ALIASES


def facts(said: Said, context: Context) -> tuple[Counts]:
    named = ["rated_once"] if len(said) == 1 else []
    return (Counts(tuple(item_facts(said, pairwise(context.complete))), named=named),)


def item_facts(said: Said, by_pair: bool) -> Iterator[Fact]:
    counts, share = label_counts_of(said), agreement(said)
    yield "items"
    yield "row " + " ".join(f"{label}:{count}" for label, count in counts.items())
    for rater, _ in said:
        yield f"by {rater}"
    if share is None:
        yield "rated_once"
        return
    yield "agreement", share
    for rater, label in said:
        yield f"with {rater}", Fraction(counts[label] - 1, len(said) - 1)
    if by_pair:
        for (one, label), (other, its) in combinations(said, 2):
            yield f"pair {one} {other} {label} {its}"


def fact_names(options: Options) -> tuple[str, ...]:
    """Labels and raters are the data's own, so that most names are families."""
    return ("rated_once", "agreement", "row *", "by *", "with *", "pair *")


def pairwise(options: CompleteOptions) -> bool:
    """Two raters are a pair whatever the number of labels."""
    return len(options.raters) == 2 or (len(options.raters) <= FEW_RATERS and len(options.scale) <= FEW_LABELS)


def rows(tally: Tally) -> Iterator[tuple[dict[int, int], int]]:
    """What was given to an item, by label, and to how many items."""
    for fact, count in tally.counts.items():
        if isinstance(fact, str) and fact.startswith("row "):
            yield {int(label): int(given) for label, given in (cell.split(":") for cell in fact[4:].split())}, count


def label_counts(tally: Tally) -> Counter[int]:
    """How often each label was given."""
    given: Counter[int] = Counter()
    for row, count in rows(tally):
        given.update({label: times * count for label, times in row.items()})
    return given


def table(tally: Tally, labels: int) -> list[LabelCounts]:
    """A row for each item: how many raters gave it each label."""
    table_rows: list[LabelCounts] = []
    for given, count in rows(tally):
        table_rows += [[given.get(label, 0) for label in range(labels)]] * count
    return table_rows


def pairs(tally: Tally) -> dict[tuple[int, int], Cells]:
    """For each two raters, what both said of the items that both rated."""
    cells: dict[tuple[int, int], Cells] = {}
    for fact, count in tally.counts.items():
        if isinstance(fact, str) and fact.startswith("pair "):
            one, other, label, its = map(int, fact[5:].split())
            cells.setdefault((one, other), Counter())[label, its] += count
    return cells


def agreements(tally: Tally) -> dict[int, tuple[Fraction, int]]:
    """For each rater the mean share of the others who said the same, and over how many items."""
    totals: dict[int, Fraction] = {}
    items: Counter[int] = Counter()
    for fact, count in tally.counts.items():
        if isinstance(fact, tuple) and fact[0].startswith("with "):
            rater = int(fact[0][5:])
            totals[rater] = totals.get(rater, Fraction(0)) + fact[1] * count
            items[rater] += count
    return {rater: (total / items[rater], items[rater]) for rater, total in totals.items()}


def square(cells: Cells, labels: int) -> list[LabelCounts]:
    return [[cells[one, other] for other in range(labels)] for one in range(labels)]


class Beyond(Computed, frozen=True, kw_only=True):
    """Agreement beyond chance has nothing to say where one label is all there is."""

    def applies(self, tally: Tally) -> bool:
        return len({label for given, _ in rows(tally) if sum(given.values()) > 1 for label in given}) > 1


def metrics(options: Options) -> dict[str, Metric]:
    """The metrics; they can be measured once the options are complete."""
    complete = cast(CompleteOptions, options)
    listed = [
        Computed(
            "percent_agreement",
            Words(
                "percent agreement",
                "How often two raters gave the same item the same label.",
                "mean over items of pairs of raters with equal labels / pairs of raters",
            ),
            formula=_percent,
        ),
        _beyond(
            "kappa",
            Words(
                "Cohen's kappa",
                "Agreement of two raters beyond chance: 0 is chance, 1 is perfect.",
                "(observed agreement − chance agreement) / (1 − chance agreement)",
            ),
            partial(_kappa, complete),
        ),
        _beyond(
            "fleiss_kappa",
            Words(
                "Fleiss' kappa",
                "Agreement beyond chance of any number of raters, with the same number of ratings on every item.",
                "(observed agreement − chance agreement) / (1 − chance agreement)",
            ),
            partial(_of_table, "fleiss_kappa", stats.fleiss_kappa, complete),
        ),
        _beyond(
            "free_marginal",
            Words(
                "Randolph's kappa",
                "Agreement beyond chance if every label were equally likely.",
                "(observed agreement − 1/labels) / (1 − 1/labels)",
            ),
            partial(_of_table, "free_marginal", stats.free_marginal_kappa, complete),
        ),
        _beyond(
            "alpha",
            Words(
                "Krippendorff's alpha",
                "Agreement beyond chance of any number of raters, even if ratings are missing: 0 is chance, 1 is "
                "perfect.",
                "1 − observed disagreement / expected disagreement",
            ),
            partial(_of_table, "alpha", stats.krippendorff_alpha, complete),
        ),
    ]
    return {metric.name: metric for metric in listed}


def _beyond(name: str, words: Words, formula: Callable[[Tally], Measure]) -> Metric:
    return Beyond(name, words, low=Fraction(-1), formula=formula)


def _percent(tally: Tally) -> Measure:
    shares = {Fraction(share): count for share, count in tally.values("agreement").items()}
    n = sum(shares.values())
    if not n:
        return _undefined("percent_agreement", "no item has two ratings", 0, "mean")
    value = sum((share * count for share, count in shares.items()), Fraction(0)) / n
    return _measure("percent_agreement", value, n, stats.shares_spread(shares), "mean")


def _kappa(options: CompleteOptions, tally: Tally) -> Measure:
    if len(options.raters) != 2:
        return _undefined(
            "kappa", f"Cohen's kappa needs exactly 2 raters, and there are {len(options.raters)}; use alpha", 0
        )
    counted = square(pairs(tally).get((0, 1), Counter()), len(options.scale))
    value, n = stats.kappa(counted, options.weights), sum(map(sum, counted))
    if value is None:
        return _undefined("kappa", ONE_LABEL, n)
    return _measure("kappa", value, n, stats.kappa_spread(counted, options.weights))


def _of_table(name: str, coefficient: Coefficient, options: CompleteOptions, tally: Tally) -> Measure:
    counted = table(tally, len(options.scale))
    n = sum(sum(row) > 1 for row in counted)
    value = coefficient(counted)
    if value is not None:
        return _measure(name, value, n, stats.raters_spread(counted, coefficient))
    sizes = {sum(row) for row in counted}
    if name == "alpha" or (len(sizes) == 1 and n):
        return _undefined(name, ONE_LABEL if n else "no item has two ratings", n)
    if len(sizes) == 1:
        return _undefined(name, "no item has two ratings", n)
    span = f"{min(sizes)} to {plural(max(sizes), 'rating')}"
    return _undefined(name, f"items have {span}, but need the same number; use alpha", n)


def _measure(name: str, value: Fraction, n: int, spread: stats.Spread | None, kind: str = "coefficient") -> Measure:
    if spread is None:
        return Measure(name, kind, value, n)
    return Measure(name, kind, value, n, interval=spread.interval, bounds=spread.bounds)


def _undefined(name: str, why: str, n: int, kind: str = "coefficient") -> Measure:
    return Measure(name, kind, None, n, missing=why)
