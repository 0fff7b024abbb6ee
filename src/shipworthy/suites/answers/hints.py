"""Diagnosis: which way to look, from the pattern of gates that failed."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from .judge import Judging

RECALL_IS_HIGH = 0.80  # a guide for the words below, not a gate


def diagnose(findings: Findings, k: Iterable[int], judging: Judging) -> list[str]:
    outcomes, tally = findings.outcomes, findings.tally
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    recall = findings.measures[f"recall@{max(k)}"].value
    scheme = _ids(findings, judging) if failed else []
    hints = [*scheme, *_uncited(tally)]
    # Ids that can't match explain low recall and missed citations; nothing else is worth saying about them.
    known_recall = None if recall is None or scheme else float(recall)
    hints += [words for applies, words in _patterns(failed, known_recall, bool(hints)) if applies]
    return hints + _side_remarks(tally, judging)


def _patterns(failed: set[str], recall: float | None, explained: bool) -> list[tuple[bool, str]]:
    precision, hits = "precision" in failed, "chr" in failed
    high = recall is not None and recall >= RECALL_IS_HIGH
    low = recall is not None and not high
    return [
        (
            hits and high and not explained,
            "The right evidence is retrieved and other ids are cited. Look at how the answerer is told to cite.",
        ),
        (
            precision and hits and not explained,
            "Precision and citation hits are both low: grounding is broken. Look at the guard, at the intersection of "
            "lexical and semantic retrieval, and at the reranker.",
        ),
        (
            precision and not hits,
            "Precision is low while citations hit: the claims' wording misses the gold substrings. Look at the claim "
            "schema, or at the gold.",
        ),
        (low and bool(failed), "Recall is low: look for index or manifest drift, and at the chunking."),
        ("under_refusal" in failed, "Unanswerable questions get answers: the refusal rule is too weak."),
        (
            "over_refusal" in failed and high,
            "Answerable questions are refused although their evidence is retrieved: the guard is too strict.",
        ),
        (
            "over_refusal" in failed and low,
            "Answerable questions are refused and their evidence is not retrieved: facts are split across chunks, or "
            "retrieval misses them.",
        ),
        (
            "scu_violations" in failed or "scu" in failed,
            "Constraints are dropped or contradicted: lock them, and echo them at each stage.",
        ),
    ]


def _ids(findings: Findings, judging: Judging) -> list[str]:
    """Hardly any id in common, and one transformation that would explain it."""
    if judging.id_map is not None:
        return []
    from ...reading.idmap import mismatch

    expected = findings.material.expected or {}
    wanted = {name for item in expected.values() for name in item.citations}
    seen = findings.evidence.seen.get("ids", set())
    explained = mismatch(wanted, seen) if wanted and seen else None
    return [explained.sentence] if explained else []


def _uncited(tally: Tally) -> list[str]:
    uncited, answered = tally["uncited"], tally["answered"]
    if not answered or 2 * uncited < answered:
        return []
    return [
        f"{uncited} of {answered} shipped answers cite nothing: the answerer ignores its sources, or its citations "
        "are not passed on."
    ]


def _side_remarks(tally: Tally, judging: Judging) -> list[str]:
    remarks = []
    if wide := tally["wider_refusal"]:
        if judging.declared:
            remarks.append(
                f"{plural(wide, 'refusal')} count only by the declared rule ({judging.rule.name}), "
                "not by the exact token."
            )
        else:
            remarks.append(
                f"{plural(wide, 'answer')} read like a refusal in other words, and count as answers. If they are "
                "meant as refusals, use the exact token, or declare the wording (--refusal natural)."
            )
    if near := tally["near"]:
        remarks.append(f"{plural(near, 'answer')} contain the refusal token without being it, and count as answers.")
    return remarks
