"""Rows and cards: one row a question, the change against live where there is one, and the worst questions in detail."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ...core.contracts import ids_of
from ...core.decision import number
from ...core.evidence import Judged, Order, Row, Rows, brief
from ...core.join import Case
from ...core.metrics import Words, decimal
from ..ranking.options import Choices
from .judge import Context, Line, LogVerdict, Verdict, judge_logs

# What a row is about: the question itself, its change against live, or just its name in a list of the report.
ITEM, WORSE, BETTER, HIT_LOST, HIT_GAINED, BAD = range(6)

RETRIEVED = 10  # retrieved ids that are shown of what failed
REASONS = {  # the most severe first
    "missing": Words("no usable response", "The log has no line for the question.", did="the log has no line for it"),
    "error": Words("failed run", "Every run of the question failed.", did="every run failed"),
    "uncited": Words("no citation", "The answer cites nothing.", did="the answer cites nothing"),
    "uncovered": Words(
        "wrong source",
        "The answer cites neither a relevant block nor the right section.",
        did="cites neither a relevant block nor the right section",
    ),
    "far": Words(
        "cited text far from the question",
        "The semantic distance (ΔS) between the question and the cited text is too large.",
        did="the cited text is far from the question",
    ),
    "answered": Words(
        "cites a source for an unanswerable question",
        "The documents have no answer to the question, and a source was cited all the same.",
        did="cites a source although it is unanswerable",
    ),
    "not-retrieved": Words(
        "nothing relevant retrieved", "No relevant block is in the result list.", did="nothing relevant was retrieved"
    ),
    "off-place": Words(
        "wrong place cited",
        "No citation is in the gold section and its byte range.",
        did="no citation is in the gold section and byte range",
    ),
}
SEVERITY = {reason: rank for rank, reason in enumerate(REASONS)}


class Change(NamedTuple):
    """A question that both logs answer: the metric on both sides, and whether every run hit something."""

    now: Fraction
    before: Fraction
    hit: bool
    was_hit: bool


def change_of(verdict: Verdict, context: Context) -> Change | None:
    """The question beside live; None where one of them has no value."""
    shadow, live, metric = verdict.shadow, verdict.live, f"recall@{context.choices.canary_k}"
    if live is None or metric not in shadow.values or metric not in live.values:
        return None
    return Change(shadow.values[metric], live.values[metric], shadow.hit, live.hit)


def is_bad(verdict: LogVerdict) -> bool:
    """Nothing that it should cite is cited, or the cited snippet is far from the question."""
    return verdict.values.get("coverage") == 0 or verdict.far


def row_of(verdict: Verdict, choices: Choices) -> Row:
    shadow, values = verdict.shadow, verdict.shadow.values
    shown: Row = {"qid": verdict.qid, "type": " ".join(shadow.target.types), "runs": len(shadow.lines)}
    shown["states"] = " ".join(line.state for line in shadow.lines)
    names = [f"{kind}@{k}" for kind in ("precision", "recall", "ndcg") for k in choices.k]
    names += ["mrr", "map", "coverage", "citation_accuracy", "anchor_proximity", "delta_s"]
    shown |= {name: number(values.get(name)) for name in names}
    return shown | {
        "short": _short_list(shadow, choices),
        "reason": shadow.reason,
        "question": brief(verdict.expected.gold.question),
        **({"retrieved_ids": list(line.blocks[:RETRIEVED])} if shadow.reason and (line := _telling(shadow)) else {}),
    }


def rows_about(verdict: Verdict, context: Context) -> Iterator[Judged]:
    """What else a report lists of a question: that it is bad, and how it changed against live."""
    qid, change, place = verdict.qid, change_of(verdict, context), verdict.expected.number
    if is_bad(verdict.shadow):
        yield Judged({"qid": qid}, order=(BAD, qid))
    if change is None:
        return
    if change.now != change.before:
        yield Judged(_changed(verdict, change), order=(BETTER if change.now > change.before else WORSE, place))
    if change.hit != change.was_hit:
        yield Judged({"qid": qid}, order=(HIT_GAINED if change.hit else HIT_LOST, place))


def _changed(verdict: Verdict, change: Change) -> Row:
    return {
        "qid": verdict.qid,
        "type": list(verdict.shadow.target.types),
        "shadow": number(change.now),
        "live": number(change.before),
        "hit": [change.was_hit, change.hit],
        "rank": [_first_rank(verdict.live), _first_rank(verdict.shadow)],
    }


def _first_rank(verdict: LogVerdict | None) -> int | None:
    """Where the first expected block stands in the first run that has one; None where no run does."""
    hits = (line.ranked.hits[0] for line in verdict.lines if line.ranked.hits) if verdict else iter(())
    return next(hits, None)


def changed(rows: Rows) -> Row:
    """The questions that changed against live, in the order of the gold set."""
    return {
        "worse": list(rows.of_kind(WORSE)),
        "better": list(rows.of_kind(BETTER)),
        "hits_lost": _names(rows, HIT_LOST),
        "hits_gained": _names(rows, HIT_GAINED),
    }


def bad(rows: Rows) -> list[str]:
    """The qids of the bad questions, in order."""
    return _names(rows, BAD)


def _names(rows: Rows, kind: int) -> list[str]:
    return [row["qid"] for row in rows.of_kind(kind)]


def _short_list(verdict: LogVerdict, choices: Choices) -> str:
    """`precision@5 0.667 with 3 returned; trec_eval P_5 0.400` for the shallowest k that a list does not fill."""
    lengths = [line.ranked.returned for line in verdict.lines]
    k = next((k for k in choices.k if lengths and min(lengths) < k), None)
    if k is None or choices.denominator == "k" or f"precision@{k}" not in verdict.values:
        return ""
    value, trec = verdict.values[f"precision@{k}"], verdict.values[f"P_{k}"]
    return f"precision@{k} {decimal(value)} with {min(lengths)} returned; trec_eval P_{k} {decimal(trec)}"


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    verdict = judge_logs(case, context)
    gold, shadow = verdict.expected.gold, verdict.shadow
    line = _telling(shadow)
    return {
        "qid": verdict.qid,
        "reason": shadow.reason,
        "says": _reason_in_words(shadow, line),
        "question": gold.question,
        "claim": "" if line else None,
        "citations": list(line.cited) if line else [],
        "retrieved_ids": list(line.blocks[:RETRIEVED]) if line else [],
        "gold_rank": line.ranked.hits[0] if line and line.ranked.hits else None,
        "gold_citations": ids_of(gold.relevant) or gold.citations,
        "anchor_section": gold.anchor_section,
    }


def _telling(verdict: LogVerdict) -> Line | None:
    """The run to show: the farthest where distance is the fault, else the first that covers nothing, else the first."""
    lines = verdict.lines
    if verdict.reason == "far":
        return max(lines, key=lambda line: line.delta or Fraction(0))
    return next((line for line in lines if not line.covered), lines[0] if lines else None)


def _reason_in_words(verdict: LogVerdict, line: Line | None) -> str:
    words = REASONS[verdict.reason].did
    if verdict.reason == "far":
        words += f" (semantic distance ΔS {float(verdict.values['delta_s']):.2f})"
    return words if line is None or len(verdict.lines) < 2 else f"{words}; {len(verdict.lines)} runs"
