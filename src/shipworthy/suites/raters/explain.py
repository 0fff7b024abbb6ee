"""What a report says about raters: labels, raters and pairs of them, and the items that they differ on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from ... import stats
from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.join import Case
from ...core.metrics import Words
from ...core.suite import Explanation, Findings
from ...core.tally import Tally
from ...text import fold, plural
from .hints import diagnose
from .judge import Context, Verdict, verdict_on
from .metrics import agreements, facts, label_counts, pairs, pairwise, square
from .options import SettledOptions
from .tables import details

REASONS = {
    "disagreement": Words("disagreement", "Raters gave the same item different labels."),
}


def explain(findings: Findings) -> Explanation:
    tally, options = findings.tally, findings.context.settled
    return Explanation(
        counts=counts(tally, options),
        named={"rated_once": tally.named("rated_once")},
        diagnosis=diagnose(findings.outcomes, findings.measures, tally, options),
        offenders=findings.evidence.offenders(),
        sections=sections(tally, options),
        headline=headline(findings, options),
        warnings=list(_alike(options)),
    )


def counts(tally: Tally, options: SettledOptions) -> dict[str, int]:
    return {
        "items": tally["items"],
        "raters": len(options.raters),
        "ratings": label_counts(tally).total(),
        "rated_once": tally["rated_once"],
    }


def headline(findings: Findings, options: SettledOptions) -> dict[str, object]:
    return {
        "n": findings.tally["items"],
        **{name: number(measure.value) for name, measure in findings.measures.items()},
        "labels_from": "seen" if options.labels is None else "declared",
        "gates": {gate.key: number(gate.bound.number) for gate in findings.gates},
    }


def _alike(options: SettledOptions) -> Iterator[str]:
    """`Good` and `good` are two labels, and hardly meant to be."""
    spelt: dict[str, str] = {}
    for label in options.scale:
        first = spelt.setdefault(fold(label), label)
        if first != label:
            yield (
                f"ratings: the labels {first!r} and {label!r} differ in case or white space only, and count as two "
                "[label-alike]"
            )


# --- one row an item, and the worst of them ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """The items with the least agreement are the worst, of equal ones those that more raters looked at."""
    verdict, options = verdict_on(case, context), context.settled
    share = verdict.agreement
    worst = (("", (share, -verdict.ratings, verdict.qid)),) if share is not None and share < 1 else ()
    return (Judged(row(verdict, options), (facts(verdict, options),), (verdict.qid,), worst),)


def row(verdict: Verdict, options: SettledOptions) -> Row:
    """An item fails where two raters differ."""
    raters, labels = options.raters, options.scale
    return {
        "qid": verdict.qid,
        "ratings": verdict.ratings,
        "labels": [f"{labels[label]}={count}" for label, count in verdict.counts.items()],
        "majority": "" if verdict.majority is None else labels[verdict.majority],
        "agreement": number(verdict.agreement),
        "said": [f"{raters[rater]}={labels[label]}" for rater, label in verdict.said],
        "passed": verdict.agreeing == verdict.pairs,
    }


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    said = _who_said_what(verdict_on(case, context), context.settled)
    return {"qid": case.key, "reason": "disagreement", "says": said}


def _who_said_what(verdict: Verdict, options: SettledOptions) -> str:
    """The label of most raters first."""
    camps: dict[int, list[str]] = {}
    for rater, label in verdict.said:
        camps.setdefault(label, []).append(options.raters[rater])
    ordered = sorted(camps.items(), key=lambda camp: (-len(camp[1]), camp[0]))
    labels = "; ".join(f"{options.scale[label]} by {', '.join(names)}" for label, names in ordered)
    return f"rated {labels} ({verdict.agreeing} of {plural(verdict.pairs, 'pair')} of raters agree)"


# --- sections ---


def sections(tally: Tally, options: SettledOptions) -> dict[str, object]:
    shown = {"labels": _labels(tally, options), "by_rater": _raters(tally, options)}
    if pairwise(options):
        shown["by_pair"] = _pairs(tally, options)
    return {**shown, "details": list(details(shown, options))}


def _labels(tally: Tally, options: SettledOptions) -> list[Row]:
    """How often each label was given, in the order of the labels."""
    given = label_counts(tally)
    total = given.total()
    return [
        {"label": label, "ratings": given[place], "share": given[place] / total}
        for place, label in enumerate(options.scale)
    ]


def _raters(tally: Tally, options: SettledOptions) -> list[Row]:
    """Each rater's agreement with the others, the mean over the items that another rated too; lowest first."""
    shared, listed = agreements(tally), []
    for place, rater in enumerate(options.raters):
        value, n = shared.get(place, (None, 0))
        listed.append({"rater": rater, "ratings": tally[f"by {place}"], "shared": n, "agreement": number(value)})
    return sorted(listed, key=lambda row: (row["agreement"] is None, row["agreement"], row["rater"]))


def _pairs(tally: Tally, options: SettledOptions) -> list[Row]:
    """Cohen's kappa of each two raters who share an item, lowest first, undefined last."""
    listed = [_pair(both, cells, options) for both, cells in pairs(tally).items()]
    return sorted(listed, key=lambda row: (row["kappa"] is None, row["kappa"], row["rater"], row["other"]))


def _pair(both: tuple[int, int], cells: Counter[tuple[int, int]], options: SettledOptions) -> Row:
    one, other = (options.raters[place] for place in both)
    n = cells.total()
    kappa = stats.kappa(square(cells, len(options.scale)), options.weights)
    same = Fraction(sum(count for (label, its), count in cells.items() if label == its), n)
    return {"rater": one, "other": other, "n": n, "agreement": number(same), "kappa": number(kappa)}
