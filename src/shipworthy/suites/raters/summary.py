"""What a report says about raters: labels, raters and pairs of them, the items they differ on, where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from ...decision import number
from ...gates import Gate, Outcome
from ...metrics import Measure, decimal
from ...tally import NAMED, Tally
from ...text import plural, visible
from .facts import FEW_LABELS, FEW_RATERS, ONE_LABEL, agreements, pairs, pairwise, rows, square
from .judge import Options, Verdict

FEW = 30  # items; fewer say little
POOR = Fraction(2, 3)  # below that alpha is customarily not relied on
HIGH = Fraction(9, 10)  # share of agreeing pairs
SHARED = 5  # items that a rater must share with others before anything is said of them
_LINES = 12  # of a table in the terminal


def counts(tally: Tally, options: Options) -> dict[str, int]:
    ratings = sum(sum(given.values()) * count for given, count in rows(tally))
    return {
        "items": tally["items"],
        "raters": len(options.raters),
        "ratings": ratings,
        "rated_once": tally["rated_once"],
    }


def headline(measures: Mapping[str, Measure], tally: Tally, options: Options, gates: Iterable[Gate]) -> dict[str, Any]:
    shown = {name: number(measure.value) for name, measure in measures.items()}
    source = {"labels_from": "declared" if options.declared else "seen"}
    return {"n": tally["items"], **shown, **source, "gates": {gate.key: number(gate.bound.number) for gate in gates}}


def items(verdicts: Iterable[Verdict], options: Options) -> list[dict[str, Any]]:
    """One row an item, by qid; it fails where two raters differ."""
    raters, labels = list(options.raters), list(options.labels)
    return [
        {
            "qid": verdict.qid, "ratings": verdict.ratings,
            "labels": [f"{labels[label]}={count}" for label, count in verdict.counts.items()],
            "majority": "" if verdict.majority is None else labels[verdict.majority],
            "agreement": number(verdict.agreement),
            "said": [f"{raters[rater]}={labels[label]}" for rater, label in verdict.said],
            "passed": verdict.agreeing == verdict.pairs,
        }
        for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)
    ]  # fmt: skip


def named(verdicts: Iterable[Verdict]) -> dict[str, list[str]]:
    once = sorted(verdict.qid for verdict in verdicts if verdict.ratings == 1)
    return {"rated_once": once[:NAMED]} if once else {}


def offenders(verdicts: Iterable[Verdict], options: Options, most: int) -> list[dict[str, Any]]:
    """The items with the least agreement first, of equal ones those that more raters looked at."""
    apart = [(verdict.agreement, verdict) for verdict in verdicts if verdict.agreement is not None]
    bad = sorted((share, -verdict.ratings, verdict.qid, verdict) for share, verdict in apart if share < 1)
    return [{"qid": qid, "reason": "disagreement", "says": _says(verdict, options)} for *_, qid, verdict in bad[:most]]


def _says(verdict: Verdict, options: Options) -> str:
    """Who said what, the label of most raters first."""
    raters, labels = list(options.raters), list(options.labels)
    camps: dict[int, list[str]] = {}
    for rater, label in verdict.said:
        camps.setdefault(label, []).append(raters[rater])
    ordered = sorted(camps.items(), key=lambda camp: (-len(camp[1]), camp[0]))
    said = "; ".join(f"{labels[label]} by {', '.join(names)}" for label, names in ordered)
    return f"{verdict.agreeing} of {plural(verdict.pairs, 'pair')} agree{'s' * (verdict.pairs == 1)}: {said}"


def sections(tally: Tally, options: Options) -> dict[str, Any]:
    found = {"labels": _labels(tally, options), "by_rater": _raters(tally, options)}
    if pairwise(options):
        found["by_pair"] = _pairs(tally, options)
    return {**found, "details": list(_details(found, options))}


def _labels(tally: Tally, options: Options) -> list[dict[str, Any]]:
    """How often each label was given, in the order of the labels."""
    given: Counter[int] = Counter()
    for row, count in rows(tally):
        given.update({label: times * count for label, times in row.items()})
    return [{"label": label, "ratings": given[place], "share": given[place] / given.total()}
            for label, place in options.labels.items()]  # fmt: skip


def _raters(tally: Tally, options: Options) -> list[dict[str, Any]]:
    """Each rater's agreement with the others, the mean over the items that another rated too; lowest first."""
    told, found = agreements(tally), []
    for rater, place in options.raters.items():
        value, n = told.get(place, (None, 0))
        found.append({"rater": rater, "ratings": tally[f"by {place}"], "shared": n, "agreement": number(value)})
    return sorted(found, key=lambda row: (row["agreement"] is None, row["agreement"], row["rater"]))


def _pairs(tally: Tally, options: Options) -> list[dict[str, Any]]:
    """Cohen's kappa of each two raters who share an item, lowest first, undefined last."""
    names, found = list(options.raters), []
    for (one, other), cells in pairs(tally).items():
        n = cells.total()
        kappa = stats.kappa(square(cells, len(options.labels)), options.weights)
        same = Fraction(sum(count for (label, its), count in cells.items() if label == its), n)
        found.append(
            {"rater": names[one], "other": names[other], "n": n, "agreement": number(same), "kappa": number(kappa)}
        )
    return sorted(found, key=lambda row: (row["kappa"] is None, row["kappa"], row["rater"], row["other"]))


# --- tables for the terminal ---


def _details(found: Mapping[str, Sequence[Mapping[str, Any]]], options: Options) -> Iterator[str]:
    if options.weights:
        yield ""
        yield f"kappa has {options.weights} weights by the order of the labels; the other coefficients have none."
    source = "declared" if options.declared else "as seen"
    rated = [(row["label"], f"{row['ratings']:>9}{row['share']:>10.3f}") for row in found["labels"]]
    yield from _listed(f"Labels ({len(options.labels)}, {source})", f"{'ratings':>9}{'share':>10}", rated)
    if len(options.raters) == 2:
        return  # all that is to say of the two is said above
    agreed = [(row["rater"], f"{row['ratings']:>9}{_cell(row['agreement'])}") for row in found["by_rater"]]
    yield from _listed("Raters", f"{'ratings':>9}{'agreement':>12} with the others", agreed)
    pairs = [(f"{visible(row['rater'], 14)} · {visible(row['other'], 14)}",
              f"{row['n']:>9}{_cell(row['agreement'])}{_cell(row['kappa'])}") for row in found.get("by_pair", ())]  # fmt: skip
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


# --- where to look ---


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally, options: Options) -> list[str]:
    failed = any(outcome.state.startswith("FAIL") for outcome in outcomes)
    alpha, agreed = measures["alpha"].value, measures["percent_agreement"]
    poor = failed or (alpha is not None and alpha < POOR)
    found = []
    if poor and alpha is not None and agreed.value is not None and agreed.value >= HIGH:
        found.append(_dominated(tally, options, alpha, agreed.value))
    if poor:
        found += [*_odd_one(tally, options), *_confused(tally, options)]
    if measures["alpha"].missing == ONE_LABEL:
        found.append("One label is all there is: gate percent_agreement, or add items that deserve another label.")
    if agreed.n < FEW:
        found.append(f"{plural(agreed.n, 'item')} with two ratings or more: {FEW} are the least to judge by.")
    if not pairwise(options):
        found.append(f"Pairs of raters are listed for at most {FEW_RATERS} raters and {FEW_LABELS} labels.")
    return found


def _dominated(tally: Tally, options: Options, alpha: Fraction, agreed: Fraction) -> str:
    most = max(_labels(tally, options), key=lambda row: row["ratings"])
    return (f"The raters agree ({decimal(agreed)}) and alpha is low ({decimal(alpha)}): {most['label']} has "
            f"{most['share']:.0%} of the ratings, and agreement on it is what chance gives. Add items with rarer labels.")  # fmt: skip


def _odd_one(tally: Tally, options: Options) -> list[str]:
    """The rater who agrees least with the others; of two nobody is the odd one."""
    names = list(options.raters)
    ranked = sorted((value, n, names[place]) for place, (value, n) in agreements(tally).items() if n >= SHARED)
    if len(names) < 3 or len(ranked) < 2 or ranked[0][0] == ranked[1][0]:
        return []
    (value, n, rater), (following, *_) = ranked[:2]
    return [f"{rater} agrees least with the others: {decimal(value)} in the mean of {plural(n, 'item')}; "
            f"the next is at {decimal(following)}."]  # fmt: skip


def _confused(tally: Tally, options: Options) -> list[str]:
    """The two labels that raters give to one item most often."""
    apart: Counter[tuple[int, int]] = Counter()
    for given, count in rows(tally):
        places = sorted(given)
        apart.update(
            {(one, other): given[one] * given[other] * count for one in places for other in places if one < other}
        )
    if not apart:
        return []
    names = list(options.labels)
    (one, other), count = max(apart.items(), key=lambda pair: (pair[1], pair[0]))
    return [
        f"They differ most between {names[one]} and {names[other]}: {count} of {plural(apart.total(), 'disagreement')}."
    ]
