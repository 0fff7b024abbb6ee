"""Raters: do any number of people give the same labels to the same items, beyond chance?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from ... import stats
from ...core.decision import Display, number
from ...core.evidence import Row
from ...core.metrics import Words, decimal
from ...core.sources import Input
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...core.tally import Tally
from ...errors import DataError, UsageError
from ...reading.reports import Passing
from ...text import fold, plural, visible
from .judge import CompleteOptions, Context, Options, RatingSurvey, card, judge, one_each, stream_ratings
from .metrics import (
    FEW_LABELS,
    FEW_RATERS,
    ONE_LABEL,
    agreements,
    aliases,
    fact_names,
    facts,
    label_counts,
    metrics,
    pairs,
    pairwise,
    rows,
    square,
)

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


def read(sources: Sources, options: Options) -> Material:
    ratings = Input()
    return Material(
        context=Context(options=options),
        streams={"ratings": stream_ratings(sources["ratings"], ratings, options.labels)},
        reads={"ratings": ratings},
        once={"ratings": one_each(options.lenient)},
    )


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """Everybody's place and every label's, now that all of them are known."""
    seen = gathered.survey
    assert isinstance(seen, RatingSurvey)
    raters = tuple(sorted(seen.raters))
    _require_two(raters, gathered, material.reads["ratings"].path)
    scale = _scale(seen.labels, context.options)
    return Context(
        options=CompleteOptions.of(context.options, raters, scale),
        raters={name: place for place, name in enumerate(raters)},
        labels={label: place for place, label in enumerate(scale)},
    )


def _require_two(raters: tuple[str, ...], gathered: Gathered, path: str) -> None:
    """An error where nobody could agree with anybody."""
    if not raters:
        raise DataError(
            "there are no ratings to compare",
            where=path,
            code="ratings-none",
            hint='Each line is one rating: {"qid": …, "rater": …, "label": …}.',
        )
    if len(raters) == 1:
        raise DataError(
            f"all ratings are by {raters[0]!r}; agreement needs two raters",
            where=path,
            hint="Add the ratings of another rater.",
            code="raters-one",
        )
    if all(len(case.records["ratings"]) < 2 for case in gathered.cases()):
        raise DataError(
            f"no item was rated by more than one of the {len(raters)} raters",
            where=path,
            code="raters-apart",
            hint="Check that all raters use the same item ids (qid).",
        )


def _scale(seen: set[str | int], options: Options) -> tuple[str, ...]:
    """The labels in the declared order, else numbers by size and strings by their letters."""
    if options.labels is not None:
        return options.labels
    words = sorted(label for label in seen if isinstance(label, str))
    if not words:
        return tuple(str(number) for number in sorted(label for label in seen if isinstance(label, int)))
    scale = tuple(sorted({str(label) for label in seen}))
    if options.weights:
        raise UsageError(
            f"{options.weights} weights need ordered labels, and labels such as {words[0]!r} have no order",
            where="--weights",
            hint=f"List the labels in order: --labels {','.join(scale[:5])}.",
            code="weights-order",
        )
    return scale


REASONS = {
    "disagreement": Words("disagreement", "Raters gave the same item different labels."),
}


def explain(findings: Findings) -> Explanation:
    tally, options = findings.tally, findings.context.complete
    return Explanation(
        counts=counts(tally, options),
        named={"rated_once": tally.named("rated_once")},
        diagnosis=diagnose(findings, options),
        offenders=findings.evidence.offenders(),
        sections=sections(tally, options),
        headline=headline(findings, options),
        warnings=list(_alike(options)),
    )


def counts(tally: Tally, options: CompleteOptions) -> dict[str, int]:
    return {
        "items": tally["items"],
        "raters": len(options.raters),
        "ratings": label_counts(tally).total(),
        "rated_once": tally["rated_once"],
    }


def headline(findings: Findings, options: CompleteOptions) -> dict[str, object]:
    return {
        "n": findings.tally["items"],
        **{name: number(measure.value) for name, measure in findings.measures.items()},
        "labels_from": "seen" if options.labels is None else "declared",
        "gates": {gate.key: number(gate.bound.number) for gate in findings.gates},
    }


def _alike(options: CompleteOptions) -> Iterator[str]:
    """`Good` and `good` are two labels, and hardly meant to be."""
    spelt: dict[str, str] = {}
    for label in options.scale:
        first = spelt.setdefault(fold(label), label)
        if first != label:
            yield (
                f"ratings: the labels {first!r} and {label!r} differ in case or white space only, and count as two "
                "[label-alike]"
            )


# --- sections ---


def sections(tally: Tally, options: CompleteOptions) -> dict[str, object]:
    shown = {"labels": _labels(tally, options), "by_rater": _raters(tally, options)}
    if pairwise(options):
        shown["by_pair"] = _pairs(tally, options)
    return {**shown, "details": list(details(shown, options))}


def _labels(tally: Tally, options: CompleteOptions) -> list[Row]:
    """How often each label was given, in the order of the labels."""
    given = label_counts(tally)
    total = given.total()
    return [
        {"label": label, "ratings": given[place], "share": given[place] / total}
        for place, label in enumerate(options.scale)
    ]


def _raters(tally: Tally, options: CompleteOptions) -> list[Row]:
    """Each rater's agreement with the others, the mean over the items that another rated too; lowest first."""
    shared, listed = agreements(tally), []
    for place, rater in enumerate(options.raters):
        value, n = shared.get(place, (None, 0))
        listed.append({"rater": rater, "ratings": tally[f"by {place}"], "shared": n, "agreement": number(value)})
    return sorted(listed, key=lambda row: (row["agreement"] is None, row["agreement"], row["rater"]))


def _pairs(tally: Tally, options: CompleteOptions) -> list[Row]:
    """Cohen's kappa of each two raters who share an item, lowest first, undefined last."""
    listed = [_pair(both, cells, options) for both, cells in pairs(tally).items()]
    return sorted(listed, key=lambda row: (row["kappa"] is None, row["kappa"], row["rater"], row["other"]))


def _pair(both: tuple[int, int], cells: Counter[tuple[int, int]], options: CompleteOptions) -> Row:
    one, other = (options.raters[place] for place in both)
    n = cells.total()
    kappa = stats.kappa(square(cells, len(options.scale)), options.weights)
    same = Fraction(sum(count for (label, its), count in cells.items() if label == its), n)
    return {"rater": one, "other": other, "n": n, "agreement": number(same), "kappa": number(kappa)}


# --- the same as tables, as the terminal shows them ---

_LINES = 12  # of a table


def details(shown: Mapping[str, Sequence[Row]], options: CompleteOptions) -> Iterator[str]:
    if options.weights:
        yield ""
        yield f"kappa uses {options.weights} weights by the order of the labels; the other coefficients are unweighted."
    source = "from the ratings" if options.labels is None else "declared"
    rated = [(row["label"], f"{row['ratings']:>9}{row['share']:>10.3f}") for row in shown["labels"]]
    yield from _listed(f"Labels ({len(options.scale)}, {source})", f"{'ratings':>9}{'share':>10}", rated)
    if len(options.raters) == 2:
        return  # all that is to say of the two is said above
    agreed = [(row["rater"], f"{row['ratings']:>9}{_cell(row['agreement'])}") for row in shown["by_rater"]]
    yield from _listed("Raters", f"{'ratings':>9}{'agreement':>12} with the others", agreed)
    pairs = [
        (
            f"{visible(row['rater'], 14)} · {visible(row['other'], 14)}",
            f"{row['n']:>9}{_cell(row['agreement'])}{_cell(row['kappa'])}",
        )
        for row in shown.get("by_pair", ())
    ]
    yield from _listed("Pairs of raters", f"{'items':>9}{'agreement':>12}{'kappa':>12}", pairs)


def _cell(value: float | None) -> str:
    return f"{'–':>12}" if value is None else f"{value:>12.3f}"


def _listed(title: str, head: str, lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield f"{title:<32}{head}"
    yield from (f"  {visible(name, 30):<30}{figures}" for name, figures in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"  … and {len(lines) - _LINES} more"


# --- diagnosis: which rater and which labels to look at where agreement is poor ---

FEW = 30  # items; fewer say little
POOR = Fraction(2, 3)  # below that alpha is customarily not relied on
HIGH = Fraction(9, 10)  # share of agreeing pairs
SHARED = 5  # items that a rater must share with others before anything is said of them


def diagnose(findings: Findings, options: CompleteOptions) -> list[str]:
    tally, measures = findings.tally, findings.measures
    failed = any(outcome.state.startswith("FAIL") for outcome in findings.outcomes)
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


def _dominated(tally: Tally, options: CompleteOptions, alpha: Fraction, agreed: Fraction) -> str:
    given = label_counts(tally)
    most = max(range(len(options.scale)), key=lambda place: given[place])  # of equal ones the first
    return (
        f"The raters agree ({decimal(agreed)}) and alpha is low ({decimal(alpha)}): {options.scale[most]} has "
        f"{given[most] / given.total():.0%} of the ratings, and agreement on it is what chance gives. "
        "Add items with rarer labels."
    )


def _odd_one(tally: Tally, options: CompleteOptions) -> list[str]:
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


def _confused(tally: Tally, options: CompleteOptions) -> list[str]:
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


SUITE = Suite(
    name="raters",
    description="Do any number of raters give the same labels, beyond chance?",
    inputs=(InputSpec("ratings", "One rating a line, JSON lines (qid, rater, label)."),),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    survey=RatingSurvey,
    settle=settle,
    metrics=metrics,  # without gates: how well raters must agree depends on what their labels are for
    aliases=aliases,
    explain=explain,
    configurable=False,
    display=Display(
        item="item",
        counts={"raters": "raters", "ratings": "ratings", "rated_once": "rated only once"},
        passes=Passing("passed", True),
        reasons=REASONS,
    ),
)
