"""What a report says about agreement: matrix, rows, disagreements, top-level keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from operator import itemgetter

from ... import stats
from ...core.decision import number
from ...core.evidence import Row
from ...core.gates import Outcome
from ...core.metrics import Measure, Words, decimal
from ...core.suite import Explanation, Findings, Reference
from ...core.tally import HAS, Tally
from ...text import first_few, plural
from ..answers.explain import judging_shown
from ..answers.hints import lines, unread_lines
from ..answers.judge import RETRIEVED
from .judge import LABELS, Context
from .metrics import FINALS, SIDES, cell, gate_numbers, table

REASONS = {
    "disagreement": Words("disagreement", "Raters gave the same item different labels."),
    "flagged-agreement": Words(
        "accepted despite a hard flag",
        "Both validators accept the answer although a hard flag is set: a wrong citation or a broken constraint.",
    ),
}
COLUMNS = ("qid", "scholar", "auditor", "final", "why")


def explain(findings: Findings) -> Explanation:
    tally = findings.tally
    return Explanation(
        counts={"items": tally["items"], "disagreements": tally["disagreed"], "review": tally["final_REVIEW"]},
        named={
            "flagged_agreements": tally.named("flagged_agreement"),
            "review": tally.named("final_REVIEW"),
            **one_sided(findings),
        },
        diagnosis=diagnose(findings.outcomes, findings.measures, tally),
        offenders=findings.evidence.offenders(),
        sections=sections(tally),
        first=_first_lines(findings),
        headline=headline(findings),
        compat=compat(findings),
        warnings=_unanswered(findings),
    )


def _first_lines(findings: Findings) -> list[str]:
    """Where labels are derived: what is not judged, or why no citation counts."""
    context, tally = findings.context, findings.tally
    if context.judging is None:
        return []
    found = lines(
        context.options,
        answered=tally["derived"],
        citing=tally["citing"],
        logged=bool(tally[HAS + RETRIEVED]),
        judged=True,  # two labels that agree may both be wrong for want of a citation
    )
    return list((unread_lines(tally) | found).values())


def shown(context: Context) -> dict[str, object]:
    """Where the labels come from; how answers are judged matters only where they are derived."""
    if context.judging is None:
        return {"source": context.source, "id_map": None}
    return {"source": context.source} | judging_shown(context.options, context.judging)


def headline(findings: Findings) -> dict[str, object]:
    measures, tally = findings.measures, findings.tally
    shown = {name: number(measures[name].value) for name in ("percent_agreement", "kappa", "ac1", "abstain_rate")}
    return {
        "n": tally["items"],
        **shown,
        "disagreements": tally["disagreed"],
        "gates": gate_numbers(findings.gates),
    }


def sections(tally: Tally) -> dict[str, object]:
    matrix = [
        {"scholar": scholar, **dict(zip(LABELS, counts, strict=True))}
        for scholar, counts in zip(LABELS, table(tally), strict=True)
    ]
    finals = {final: tally[f"final_{final}"] for final in FINALS}
    return {"confusion": matrix, "finals": finals}


def _unanswered(findings: Findings) -> list[str]:
    without = findings.tally["unanswered"]
    if not without or "without_trace" in findings.evidence.seen:
        return []
    return [
        f"{plural(without, 'pair')} without an answer, so citations could not be checked. Add --trace. "
        "[pair-unanswered]"
    ]


def disagreements(items: Iterable[Mapping[str, object]]) -> list[Row]:
    """The rows on which the validators differ."""
    return [dict(item) for item in items if item["scholar"] != item["auditor"]]


# --- questions that only one validator labelled, or that lack their trace ---

_LACKING = {
    "scholar_only": "only the scholar labelled",
    "auditor_only": "only the auditor labelled",
    "gold_only": "no trace for",
    "without_trace": "no trace for",
}


def one_sided(findings: Findings) -> dict[str, list[str]]:
    """What each kind of gap is about, and the traces beyond the gold set; the first names of each."""
    gaps = findings.evidence.part(SIDES)
    named = {name: gaps.named(name) for name in _LACKING if gaps[name]}
    return named | {"trace_only": findings.gathered.unknown_of("trace").names}


def incomplete(findings: Findings) -> list[str]:
    """Pairs that lack a side can't agree or disagree; traces beyond the gold set are only remarked on.

    Gold items without a trace are left out: core says of every suite which questions could not be judged.
    """
    gaps = findings.evidence.part(SIDES)
    return [
        f"{_LACKING[name]} {plural(gaps[name], 'question')}: {first_few(qids, total=gaps[name])}"
        for name, qids in one_sided(findings).items()
        if name in _LACKING and name != "gold_only"
    ]


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, incomplete(findings)


# --- diagnosis: which way to look, from the pattern of gates that failed ---

FEW = 30  # below that κ says little


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally) -> list[str]:
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    agreed, kappa, ac1 = (measures[name].value for name in ("percent_agreement", "kappa", "ac1"))
    hints = []
    if "kappa" in failed and "percent_agreement" not in failed and ac1 is not None and kappa is not None:
        hints.append(
            f"The validators agree, but kappa is low ({decimal(kappa)}) because one label dominates. "
            f"AC1, which allows for that, is {decimal(ac1)}. Add pairs with rarer labels before you trust either."
        )
    if failed & {"kappa", "percent_agreement"}:
        hints += _where_they_differ(tally)
    if "abstain_rate" in failed:
        hints.append("One validator abstains too often. Check its instructions, and the pairs without an answer.")
    if "flagged_agreements" in failed:
        hints.append("Both validators accepted an answer with a hard flag. Make them check citations and constraints.")
    if agreed is not None and tally["items"] < FEW:
        hints.append(f"Only {plural(tally['items'], 'pair')}: too few for a reliable kappa. Use at least {FEW}.")
    return hints


def _where_they_differ(tally: Tally) -> list[str]:
    apart = [(scholar, auditor) for scholar in LABELS for auditor in LABELS if scholar != auditor]
    count, (scholar, auditor) = max((tally[cell(*labels)], labels) for labels in apart)
    if count < 2:  # one of each kind is no pattern
        return []
    return [f"Most common disagreement: scholar {scholar}, auditor {auditor} ({count} of {tally['disagreed']})."]


# --- the reference profile: κ of one label is 0, and abstentions are the scholar's ---


def numbers(tally: Tally) -> tuple[dict[str, float], dict[str, Fraction]]:
    """The reference's numbers to four places, and unrounded. They are made of the same counts as ours."""
    n = tally["items"]
    exact = {
        "percent_agreement": Fraction(tally["agreed"], n),
        "kappa": stats.kappa(table(tally)) or Fraction(0),
        "abstain_rate": Fraction(tally["scholar_abstained"], n),
    }
    # The script divides in floating point and rounds that; rounding the fraction could differ in the last place.
    shown = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return {"n": n, **shown}, exact


def reference(findings: Findings) -> Reference:
    """The decision on the reference's numbers; gates on what it does not know are left out."""
    shown, exact = numbers(findings.tally)
    gates = [gate for gate in findings.gates if gate.metric in exact]
    rows = findings.evidence.rows  # in the order of the file
    arbitration = [[row["qid"], row["final"], row["why"]] for row in rows if row["scholar"] != row["auditor"]]
    return Reference(
        measures={name: Measure(name, "coefficient", value, findings.tally["items"]) for name, value in exact.items()},
        headline=shown | {"disagreements": len(arbitration), "gates": gate_numbers(gates)},
        gates=gates,
        sections={"arbitration": arbitration},
        items=sorted(rows, key=itemgetter("qid")),
        incomplete=incomplete(findings),
    )


def compat(findings: Findings) -> dict[str, object]:
    """The reference's numbers, and which of them are not ours."""
    shown, exact = numbers(findings.tally)
    differs = sorted(name for name, value in exact.items() if findings.measures[name].value != value)
    return {"agrees": not differs, "differs": differs, "reference": shown}
