"""What the answers suite counts, the metrics that divide those counts, and the gates that hold by default."""

from __future__ import annotations

from collections.abc import Iterator

from ...gates import Gate
from ...metrics import Count, Metric, Rate
from ...tally import Fact
from .judge import Options, Verdict

ALIASES = {
    "under": "under_refusal", "over": "over_refusal", "near_refusal": "near_refusals", "error": "errors",
}  # fmt: skip


def facts(verdict: Verdict, options: Options) -> Iterator[Fact]:
    """The facts of a verdict under the names that the metrics use."""
    yield "items"
    answerable, status = verdict.answerable, verdict.status
    yield "answerable" if answerable else "unanswerable"
    yield status
    if status in ("missing", "error"):
        yield "absent"
    if answerable and verdict.has_citations:
        yield "recallable"
        for k in options.k:
            if verdict.all_rank is not None and verdict.all_rank <= k:
                yield f"recalled@{k}"
            if verdict.any_rank is not None and verdict.any_rank <= k:
                yield f"recalled_any@{k}"
    if verdict.wider:
        yield "wider_refusal"
    if status == "refused":
        yield from _refused(verdict)
    elif status in ("shipped", "empty"):
        yield from _answered(verdict, options)


def _refused(verdict: Verdict) -> Iterator[Fact]:
    if verdict.answerable:
        yield "over_refused"
    if verdict.drifted:
        yield "refusal_drift"


def _answered(verdict: Verdict, options: Options) -> Iterator[Fact]:
    yield "answered"
    if verdict.correct:
        yield "correct"
    if not verdict.answerable:
        yield "under_refused"
    if verdict.cited is not None:
        yield "citable"
        if verdict.cited:
            yield "citation_hit"
        for k in options.k:
            if verdict.any_rank is not None and verdict.any_rank <= k:
                yield f"citable@{k}"
    if verdict.constraint:
        yield "constrained"
        yield "constraint_kept" if verdict.constraint == "ok" else "constraint_broken"
    if verdict.supported is not None:
        yield "supportable"
        if verdict.supported:
            yield "supported"
    for name in ("vacuous", "out_of_scope", "near", "uncited"):
        if getattr(verdict, name):
            yield name


def slices(verdict: Verdict) -> tuple[str, ...]:
    return verdict.slices


def metrics(options: Options) -> dict[str, Metric]:
    """Every metric of the suite by name, in the order of the report."""
    found: list[Metric] = [
        Rate("precision", "shipped answers that are right and rightly cited", of="correct", among="answered"),
        Rate("chr", "citation hit rate: shipped answers that cite gold evidence within what was retrieved",
             of="citation_hit", among="citable"),
        Rate("under_refusal", "unanswerable questions that were answered", "lower",
             of="under_refused", among="unanswerable", could="unanswerable"),
        Rate("over_refusal", "answerable questions that were refused", "lower",
             of="over_refused", among="answerable", could="answerable"),
    ]  # fmt: skip
    for k in options.k:
        found += [
            Rate(f"recall@{k}", f"answerable questions with all gold evidence in the first {k}",
                 of=f"recalled@{k}", among="recallable", could="recallable"),
            Rate(f"recall_any@{k}", f"answerable questions with some gold evidence in the first {k}",
                 of=f"recalled_any@{k}", among="recallable", could="recallable"),
            Rate(f"chr@{k}", f"shipped answers that could cite gold evidence from the first {k}",
                 of=f"citable@{k}", among="citable"),
        ]  # fmt: skip
    found += [
        Rate("scu", "constrained answers that echo and keep their constraints",
             of="constraint_kept", among="constrained", could="constrained"),
        Rate("cite_support", "shipped answers whose cited text contains what they say",
             of="supported", among="supportable", could="supportable"),
        *(Count(name, says, "lower", high=None, of=of, completes=name == "missing") for name, says, of in _COUNTS),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


_COUNTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("missing", "gold items without a usable trace: none at all, or one that says the run failed", ("absent",)),
    ("errors", "gold items whose run failed", ("error",)),
    ("empty", "shipped answers without a claim", ("empty",)),
    ("scu_violations", "constrained answers that break or don't echo a constraint", ("constraint_broken",)),
    ("refusal_drift", "refusals whose bytes are not exactly the token", ("refusal_drift",)),
    ("near_refusals", "answers that contain the refusal token but are not it", ("near",)),
    ("wider_refusals", "answers that only the wider refusal rule takes for refusals", ("wider_refusal",)),
    ("out_of_scope_citations", "answers that cite something that was not retrieved", ("out_of_scope",)),
    ("uncited", "shipped answers without any citation", ("uncited",)),
    ("vacuous_containment", "answers to items with an explicitly empty list of substrings", ("vacuous",)),
    ("unknown_qids", "traces for questions that the gold set does not have", ("unknown_qid",)),
    ("duplicates", "trace lines that another line for the same question superseded", ("superseded",)),
)


def gates(options: Options) -> list[Gate]:
    """The default gates."""
    texts = ["precision >= 0.80", "chr >= 0.75", "under_refusal <= 0.05", "over_refusal <= 0.10", "missing <= 0"]
    if options.scu_enforced:
        texts.append("scu_violations <= 0")
    return [Gate.parse(text) for text in texts]
