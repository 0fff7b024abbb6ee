"""Diagnosis: which way to look, from the pattern of gates that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from ...core.contracts import Gold, ids_of
from ...core.names import Names
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural, visible
from .judge import Expected, Judging
from .metrics import LOGGED, MISSED, SOURCED

SAMPLED = 20_000  # gold items whose ids are compared with those of the traces; more would say the same
REFUSALS = "refusals"  # texts that refuse unanswerable questions in other words

RECALL_IS_HIGH = 0.80  # a guide for the words below, not a gate
MANY_REFUSALS = 4  # one in so many unanswerable questions refused in other words is a large part


def diagnose(findings: Findings, k: Sequence[int], judging: Judging) -> list[str]:
    outcomes, tally = findings.outcomes, findings.tally
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    recall = findings.measures[f"recall@{max(k)}"].value
    scheme = _ids(findings, judging) if failed else []
    unmeasured = _unmeasured(tally)
    hints = [*unmeasured, *scheme, *_uncited(tally)]
    bound = next((outcome.bound for outcome in outcomes if outcome.gate.key == "chr"), None)
    if "chr" in failed and bound is not None and not hints:
        hints += _unreachable(tally, max(k), bound)
    # Ids that can't match explain low recall and missed citations; nothing else is worth saying about them.
    known_recall = None if recall is None or scheme else float(recall)
    other = _other_refusals(findings, judging)
    if other and tally["under_refused"] == _refused_in_other_words(tally):
        failed.discard("under_refusal")  # no question was really answered
    if "precision" in failed and _only_leaks(findings):
        failed.discard("precision")
        hints.append(_leaks(tally))
    elif "precision" in failed and "chr" not in failed:
        hints.append(_missed(tally))
    wrong = tally["answered"] - tally["under_refused"] - tally["correct"]
    grounded = bool(hints) or 2 * tally[MISSED] < wrong  # most of the wrong answers state the expected text
    hints += [words for applies, words in _patterns(failed, known_recall, bool(hints), grounded) if applies]
    return [*other, *hints, *_side_remarks(tally, judging, bool(other))]


def _only_leaks(findings: Findings) -> bool:
    """Whether precision would pass if the unanswerable questions had been refused."""
    tally = findings.tally
    bound = next((outcome.bound for outcome in findings.outcomes if outcome.gate.key == "precision"), None)
    answerable = tally["answered"] - tally["under_refused"]
    return bound is not None and bool(answerable) and tally["correct"] >= bound * answerable


def _missed(tally: Tally) -> str:
    cited = " although citations are right" if tally[SOURCED] else ""
    return f"Precision is low{cited}: answers miss the expected text. Check the answer format, or the gold set."


def _leaks(tally: Tally) -> str:
    leaks, answered = tally["under_refused"], tally["answered"]
    return (
        f"Precision is low because {leaks} of {answered} answers went to unanswerable questions; "
        f"{tally['correct']} of the other {answered - leaks} are correct."
    )


def _patterns(failed: set[str], recall: float | None, explained: bool, grounded: bool) -> list[tuple[bool, str]]:
    precision, hits = "precision" in failed, "chr" in failed
    high = recall is not None and recall >= RECALL_IS_HIGH
    low = recall is not None and not high
    return [
        (
            hits and high and not explained,
            "The expected evidence is retrieved, but other sources are cited. Check how the prompt asks for citations.",
        ),
        (
            precision and hits and not grounded,
            "Precision and citation hit rate are both low: answers are not grounded. Check the guard, retrieval "
            "(lexical and semantic together) and the reranker.",
        ),
        (low and bool(failed), "Recall is low: check the index, its manifest and the chunking."),
        ("under_refusal" in failed, "Unanswerable questions are answered: the refusal rule is too weak."),
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
            "Constraints are dropped or contradicted: lock them, and repeat them at each stage.",
        ),
    ]


def _other_refusals(findings: Findings, judging: Judging) -> list[str]:
    """The first thing to say where the pipeline refuses, but not with the token."""
    tally = findings.tally
    refused = _refused_in_other_words(tally)
    unanswerable = tally["unanswerable"]
    if judging.declared or not refused or refused * MANY_REFUSALS < unanswerable:
        return []
    text = min(findings.evidence.seen.get(REFUSALS, ()), key=lambda text: (len(text), text), default="")
    example = f", such as {visible(text, 80)!r}" if text else ""
    return [
        f"{refused} of {unanswerable} unanswerable questions were refused in other words{example}, and count as "
        'answered. Accept natural refusals with --refusal natural (refusal = "natural" in the config), or list '
        "your wording with --refusal-phrases FILE."
    ]


def _refused_in_other_words(tally: Tally) -> int:
    return int(tally["wider unanswerable refused"] - tally["exact unanswerable refused"])


def _unreachable(tally: Tally, k: int, bound: Fraction) -> list[str]:
    """Where the answers that could cite gold evidence meet the gate, citing is not what is wrong: say what is."""
    hits, reachable = tally["citation_hit"], tally[f"citable@{k}"]
    if not reachable or hits < bound * reachable:
        return []
    leaks = tally["under_refused"]
    lost = max(tally["citable"] - leaks - reachable, 0)
    causes = []
    if lost:
        missed = f"{plural(lost, 'answer')} had no expected evidence in the first {k}"
        causes.append(f"{missed}: check retrieval, or whether the gold set names the right sources")
    if leaks:
        causes.append(f"{plural(leaks, 'answer')} went to unanswerable questions, which have nothing to cite")
    share = f"{100 * min(hits, reachable) / reachable:.0f} %"
    cited = f"{min(hits, reachable)} of {reachable} answers whose evidence was retrieved cite it"
    return [f"{cited} ({share}): citing works." + "".join(f" {cause[0].upper()}{cause[1:]}." for cause in causes)]


def _unmeasured(tally: Tally) -> list[str]:
    """What can't be measured with this gold set and these traces, and what that means for the rest."""
    remarks = []
    if tally["items"] and not tally[SOURCED]:
        remarks.append(
            "No gold question names citations: the citation hit rate (chr) is n/a, and precision counts correct "
            "answers whatever they cite. Add gold_citations to check sources."
        )
    elif tally["answered"] and not tally[LOGGED]:
        remarks.append(
            "No trace says what was retrieved, so recall is n/a and no citation can be confirmed. Log retrieved_ids, "
            "or map the field that has them: --map 'retrieved_ids=PATH'. If your system can't tell, leave "
            "gold_citations out of the gold set: citations are then not judged."
        )
    return remarks


def _ids(findings: Findings, judging: Judging) -> list[str]:
    """Hardly any id in common, and one transformation that would explain it."""
    if judging.id_map is not None:
        return []
    from ...reading.idmap import HARDLY_ANY, meet, mismatch

    wanted, seen = Names(), Names()
    for item in islice(_golds(findings), SAMPLED):
        wanted.update(item.citations)
    for count, ids in enumerate(_used(findings) if wanted else (), 1):
        seen.update(ids)
        if not count & (count - 1) and wanted.shared_with(seen) >= HARDLY_ANY * len(wanted):
            return []  # looked at now and then: once enough are shared, more traces can't change that
    if not wanted or meet(len(wanted), len(seen), wanted.shared_with(seen)):
        return []
    explained = mismatch(set(wanted), set(seen))
    return [explained.sentence] if explained else []


def _golds(findings: Findings) -> Iterable[Gold | Expected]:
    """Every gold item, or what it was made ready as; a set on disk need not be made ready for this."""
    expected = findings.material.expected or {}
    golds: Callable[[], Iterable[Gold]] | None = getattr(expected, "golds", None)
    return expected.values() if golds is None else golds()


def _used(findings: Findings) -> Iterator[Iterable[str]]:
    """The ids that traces use; where another suite asks, those that it has seen."""
    if "ids" in findings.evidence.seen:
        yield findings.evidence.seen["ids"]
        return
    for case in findings.gathered.some_cases(findings.material.expected):
        for trace in case.records["trace"]:
            yield trace.retrieved
            yield ids_of(trace.answer.citations)


def _uncited(tally: Tally) -> list[str]:
    uncited, answered = tally["uncited"], tally["answered"]
    if not answered or 2 * uncited < answered or not tally[SOURCED]:
        return []
    return [
        f"{uncited} of {answered} answers cite nothing: the model ignores its sources, or its citations are not logged."
    ]


def _side_remarks(tally: Tally, judging: Judging, told: bool) -> list[str]:
    """What else is worth a look; `told`: refusals in other words were mentioned before."""
    remarks = []
    if wide := tally["wider_refusal"]:
        if judging.declared:
            remarks.append(
                f"{plural(wide, 'refusal')} in the pipeline's own words, accepted by the rule {judging.rule.name!r}."
            )
        elif not told:
            remarks.append(
                f"{plural(wide, 'answer')} read like a refusal in other words, but counted as answers. If they are "
                "refusals, use the exact token or --refusal natural."
            )
    if near := tally["near"]:
        remarks.append(f"{plural(near, 'answer')} with other text around the refusal token counted as answers.")
    return remarks
