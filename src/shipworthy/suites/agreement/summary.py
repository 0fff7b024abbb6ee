"""What a report says about agreement: matrix, rows, disagreements, where to look, the reference's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...decision import number
from ...gates import Gate, Outcome
from ...metrics import Measure, decimal
from ...tally import NAMED, Tally
from ...text import plural
from .facts import table
from .judge import Verdict
from .pairs import LABELS
from .reference import reference

COLUMNS = ("qid", "scholar", "auditor", "final", "why")
FEW = 30  # below that κ says little
_SHORT = {"percent_agreement": "pa", "abstain_rate": "abstain", "flagged_agreements": "flagged"}


def headline(measures: Mapping[str, Measure], tally: Tally, gates: Iterable[Gate]) -> dict[str, Any]:
    shown = {name: number(measures[name].value) for name in ("percent_agreement", "kappa", "ac1", "abstain_rate")}
    return {"n": tally["items"], **shown, "disagreements": tally["disagreed"], "gates": gate_numbers(gates)}


def gate_numbers(gates: Iterable[Gate]) -> dict[str, Any]:
    return {_SHORT.get(gate.key, gate.key): number(gate.bound.number) for gate in gates}


def items(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """One row a pair, by qid."""
    return [row(verdict) for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)]


def row(verdict: Verdict) -> dict[str, Any]:
    passed = verdict.agreed and not verdict.flagged_agreement
    return {name: getattr(verdict, name) for name in COLUMNS} | {"passed": passed}


def disagreements(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows on which the validators differ."""
    return [dict(item) for item in items if item["scholar"] != item["auditor"]]


def sections(tally: Tally) -> dict[str, Any]:
    matrix = [{"scholar": scholar, **dict(zip(LABELS, counts, strict=True))}
              for scholar, counts in zip(LABELS, table(tally), strict=True)]  # fmt: skip
    finals = {final: tally[f"final_{final}"] for final in ("VALID", "NOT_IN_CONTEXT", "REJECT", "REVIEW")}
    return {"confusion": matrix, "finals": finals}


def named(verdicts: Iterable[Verdict], one_sided: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    judged = list(verdicts)
    found = {
        "flagged_agreements": sorted(verdict.qid for verdict in judged if verdict.flagged_agreement),
        "review": sorted(verdict.qid for verdict in judged if verdict.final == "REVIEW"),
        **{name: sorted(qids) for name, qids in one_sided.items()},
    }
    return {name: qids[:NAMED] for name, qids in found.items() if qids}


def offenders(verdicts: Iterable[Verdict], most: int) -> list[dict[str, Any]]:
    """Flagged agreements first, then disagreements in which an answer was accepted by one side."""
    bad = [verdict for verdict in verdicts if verdict.flagged_agreement or not verdict.agreed]
    bad.sort(
        key=lambda verdict: (
            not verdict.flagged_agreement,
            "VALID" not in (verdict.scholar, verdict.auditor),
            verdict.qid,
        )
    )
    return [_offender(verdict) for verdict in bad[:most]]


def _offender(verdict: Verdict) -> dict[str, Any]:
    reason = "flagged-agreement" if verdict.flagged_agreement else "disagreement"
    said = f"scholar {verdict.scholar}{_because(verdict.reasons[0])}, auditor {verdict.auditor}{_because(verdict.reasons[1])}"
    return {"qid": verdict.qid, "reason": reason, "says": f"{said}: {verdict.final} ({verdict.why})",
            "claim": verdict.claim or None, "citations": verdict.citations}  # fmt: skip


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally) -> list[str]:
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    agreed, kappa, ac1 = (measures[name].value for name in ("percent_agreement", "kappa", "ac1"))
    found = []
    if "kappa" in failed and "percent_agreement" not in failed and ac1 is not None and kappa is not None:
        found.append(f"The validators agree and κ is low ({decimal(kappa)}): one label dominates, and κ collapses. AC1 is "
                     f"{decimal(ac1)}. Add pairs with the rarer labels before trusting either.")  # fmt: skip
    if failed & {"kappa", "percent_agreement"}:
        found += _where_they_differ(tally)
    if "abstain_rate" in failed:
        found.append("A validator abstains often: look at its instructions, and at pairs without an answer.")
    if "flagged_agreements" in failed:
        found.append("Both validators accept what a hard flag forbids: neither looks at provenance or constraints.")
    if agreed is not None and tally["items"] < FEW:
        found.append(
            f"κ of {plural(tally['items'], 'pair')} is hardly more than a guess; {FEW} are the least to judge by."
        )
    return found


def _where_they_differ(tally: Tally) -> list[str]:
    apart = Counter({(scholar, auditor): tally[f"{scholar}/{auditor}"]
                     for scholar in LABELS for auditor in LABELS if scholar != auditor})  # fmt: skip
    (scholar, auditor), count = max(apart.items(), key=lambda pair: (pair[1], pair[0]))
    if not count:
        return []
    return [f"They differ most where scholar says {scholar} and auditor {auditor}: {count} of "
            f"{plural(tally['disagreed'], 'disagreement')}."]  # fmt: skip


def compat(verdicts: Sequence[Verdict], measures: Mapping[str, Measure]) -> dict[str, Any]:
    """The reference's numbers, and which of them are not ours."""
    shown, exact = reference(verdicts)
    differs = sorted(name for name, value in exact.items() if measures[name].value != value)
    return {"agrees": not differs, "differs": differs, "reference": shown}
