"""Diagnosis: which way to look, from the pattern of gates that failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...contracts import Gold, ids_of
from ...gates import Outcome
from ...metrics import Measure
from ...tally import Tally
from ...text import plural
from .judge import Options, Verdict

RECALL_IS_HIGH = 0.80  # a guide for the words below, not a gate


def diagnose(
    outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally, verdicts: Collection[Verdict],
    gold: Mapping[str, Gold], options: Options,
) -> list[str]:  # fmt: skip
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    recall = measures[f"recall@{max(options.k)}"].value
    scheme = _ids(verdicts, gold, options) if failed else []
    hints = [*scheme, *_uncited(tally)]
    # Ids that can't match explain low recall and missed citations; nothing else is worth saying about them.
    known_recall = None if recall is None or scheme else float(recall)
    hints += [words for applies, words in _patterns(failed, known_recall, bool(hints)) if applies]
    return hints + _side_remarks(tally, options)


def _patterns(failed: set[str], recall: float | None, explained: bool) -> list[tuple[bool, str]]:
    precision, hits = "precision" in failed, "chr" in failed
    high = recall is not None and recall >= RECALL_IS_HIGH
    low = recall is not None and not high
    return [
        (hits and high and not explained,
         "The right evidence is retrieved and other ids are cited. Look at how the answerer is told to cite."),
        (precision and hits and not explained,
         "Precision and citation hits are both low: grounding is broken. Look at the guard, at the intersection of "
         "lexical and semantic retrieval, and at the reranker."),
        (precision and not hits,
         "Precision is low while citations hit: the claims' wording misses the gold substrings. Look at the claim "
         "schema, or at the gold."),
        (low and bool(failed),
         "Recall is low: look for index or manifest drift, and at the chunking."),
        ("under_refusal" in failed,
         "Unanswerable questions get answers: the refusal rule is too weak."),
        ("over_refusal" in failed and high,
         "Answerable questions are refused although their evidence is retrieved: the guard is too strict."),
        ("over_refusal" in failed and low,
         "Answerable questions are refused and their evidence is not retrieved: facts are split across chunks, or "
         "retrieval misses them."),
        ("scu_violations" in failed or "scu" in failed,
         "Constraints are dropped or contradicted: lock them, and echo them at each stage."),
    ]  # fmt: skip


def _ids(verdicts: Collection[Verdict], gold: Mapping[str, Gold], options: Options) -> list[str]:
    """Hardly any id in common, and one transformation that would explain it."""
    if options.id_map is not None:
        return []
    from ...idscheme import mismatch

    wanted = {name for item in gold.values() for name in item.citations}
    seen: set[str] = set()
    for verdict in verdicts:
        if verdict.trace:
            seen.update(verdict.trace.retrieved)
            seen.update(ids_of(verdict.trace.answer.citations))
    found = mismatch(wanted, seen) if wanted and seen else None
    return [found.sentence] if found else []


def _uncited(tally: Tally) -> list[str]:
    uncited, answered = tally["uncited"], tally["answered"]
    if not answered or 2 * uncited < answered:
        return []
    return [f"{uncited} of {answered} shipped answers cite nothing: the answerer ignores its sources, or its citations "
            "are not passed on."]  # fmt: skip


def _side_remarks(tally: Tally, options: Options) -> list[str]:
    remarks = []
    if wide := tally["wider_refusal"]:
        if options.declared:
            remarks.append(
                f"{plural(wide, 'refusal')} count only by the declared rule ({options.rule.name}), not by the exact token."
            )
        else:
            remarks.append(f"{plural(wide, 'answer')} read like a refusal in other words, and count as answers. If they are "
                           "meant as refusals, use the exact token, or declare the wording (--refusal natural).")  # fmt: skip
    if near := tally["near"]:
        remarks.append(f"{plural(near, 'answer')} contain the refusal token without being it, and count as answers.")
    return remarks
