"""What a report says about agreement: matrix, rows, disagreements, top-level keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.decision import number
from ...core.evidence import Judged, Order, Row, brief
from ...core.join import Case
from ...core.metrics import Words
from ...core.suite import Explanation, Findings
from ...core.tally import HAS, Tally
from ...text import plural
from ..answers.explain import judging_shown
from ..answers.hints import lines, unread_lines
from ..answers.judge import RETRIEVED
from .hints import diagnose
from .judge import Context, Verdict, verdict_on
from .metrics import FINALS, counts_of, gate_numbers, table
from .pairs import LABELS
from .reference import compat
from .sides import one_sided

# The rule that decided about a pair, in words.
WHY = {
    "hard_flag": "a hard flag is set (wrong citation or broken constraint)",
    "citation_out_of_scope": "cites a source that was not retrieved",
    "both_refuse": "both say that the context has no answer",
    "auditor_veto": "the auditor does not accept it",
    "incoherent_pair": "the auditor accepts it, the scholar does not",
    "uncited": "the answer cites nothing",
    "scholar_refuses": "the scholar finds no answer in the context, the auditor accepts it",
    "auditor_ok": "the auditor accepts it",
}
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
        named=_named(findings),
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


def _named(findings: Findings) -> dict[str, list[str]]:
    tally = findings.tally
    return {
        "flagged_agreements": tally.named("flagged_agreement"),
        "review": tally.named("final_REVIEW"),
        **one_sided(findings),
    }


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


# --- one row a pair, and the worst of them ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """By qid; the reference goes through them in the order of the file."""
    verdict = verdict_on(case, context)
    # A gold item without a trace, or whose run failed: two validators who abstain would agree about nothing.
    traces = case.records.get("trace", ())
    lost = case.gold is not None and (not traces or bool(traces[0].error))
    order = verdict.place if context.options.profile == "reference" else 0, verdict.qid
    counts, worst = tuple(counts_of(verdict)), _worst(verdict)
    return (Judged(row(verdict) if verdict.compared else None, counts, order, worst, lost),)


def row(verdict: Verdict) -> Row:
    passed = verdict.agreed and not verdict.flagged_agreement
    told = {"question": brief(verdict.question), "claim": brief(verdict.claim)}
    return {name: getattr(verdict, name) for name in COLUMNS} | {"passed": passed} | told


def disagreements(items: Iterable[Mapping[str, object]]) -> list[Row]:
    """The rows on which the validators differ."""
    return [dict(item) for item in items if item["scholar"] != item["auditor"]]


def _worst(verdict: Verdict) -> tuple[tuple[str, Order], ...]:
    """Flagged agreements first, then disagreements in which an answer was accepted by one side."""
    if verdict.agreed and not verdict.flagged_agreement:
        return ()
    accepted = "VALID" in (verdict.scholar, verdict.auditor)
    return (("", (not verdict.flagged_agreement, not accepted, verdict.qid)),)


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    """Both labels with their reasons, and the resulting label with the rule behind it."""
    verdict = verdict_on(case, context)
    scholar, auditor = verdict.reasons
    labels = f"scholar {verdict.scholar}{_because(scholar)}, auditor {verdict.auditor}{_because(auditor)}"
    return {
        "qid": verdict.qid,
        "reason": "flagged-agreement" if verdict.flagged_agreement else "disagreement",
        "says": f"{labels}; result {verdict.final}: {WHY[verdict.why]}",
        "question": verdict.question,
        "claim": verdict.claim or None,
        "citations": verdict.citations,
    }


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""
