"""What a report says about answers beyond its gates: items, matrix, curve, top-level keys, the reference's numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ... import stats
from ...cases import Case, Joined
from ...decision import number
from ...gates import Gate
from ...metrics import Measure
from ...tally import NAMED, Tally
from .judge import Options, Verdict
from .reference import reference

COLUMNS = (
    "qid",
    "status",
    "correct",
    "contained",
    "cited",
    "constraint",
    "recall_rank",
    "reason",
    "answerable",
    "all_rank",
)
_COUNTED = ("items", "answerable", "unanswerable", "shipped", "refused", "empty", "missing", "error", "superseded",
            "unknown_qid")  # fmt: skip
_NAMED = {"refusal_drift": "drifted", "near_refusals": "near", "wider_refusals": "wider",
          "out_of_scope_citations": "out_of_scope"}  # fmt: skip


def counts(tally: Tally) -> dict[str, int]:
    return {name: tally[name] for name in _COUNTED}


def named(verdicts: Iterable[Verdict], joined: Joined) -> dict[str, list[str]]:
    """A few names behind each count that someone will want to look up."""
    found = {name: sorted(verdict.qid for verdict in verdicts if getattr(verdict, fact))[:NAMED]
             for name, fact in _NAMED.items()}  # fmt: skip
    found["missing"] = sorted(verdict.qid for verdict in verdicts if verdict.status in ("missing", "error"))[:NAMED]
    found["unknown_qids"] = sorted(joined.unknown)[:NAMED]
    return {name: qids for name, qids in found.items() if qids}


def items(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """One row a question, by qid."""
    return [row(verdict) for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)]


def row(verdict: Verdict) -> dict[str, Any]:
    answered = verdict.status in ("shipped", "empty")  # whether an answer is right is undefined where there is none
    values = (verdict.qid, verdict.status, verdict.correct if answered else None, verdict.contained, verdict.cited, verdict.constraint,
              verdict.any_rank, verdict.reason, verdict.answerable, verdict.all_rank)  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def sections(tally: Tally, verdicts: Collection[Verdict]) -> dict[str, Any]:
    found: dict[str, Any] = {"refusals": matrices(verdicts)}
    if curve := risk_coverage(verdicts):
        found["risk_coverage"] = curve
    return found


def matrices(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Answerable by answered, for the exact rule and for the wider one."""
    cells: dict[str, dict[str, list[int]]] = {
        rule: {"answerable": [0, 0], "unanswerable": [0, 0]} for rule in ("exact", "wider")
    }
    for verdict in verdicts:
        if verdict.status in ("missing", "error"):
            continue
        row = "answerable" if verdict.answerable else "unanswerable"
        exact_refusal = verdict.status == "refused" and not verdict.wider
        cells["exact"][row][exact_refusal] += 1
        cells["wider"][row][exact_refusal or verdict.wider] += 1
    return {rule: {name: _cell(*pair) for name, pair in rows.items()} for rule, rows in cells.items()}


def _cell(answered: int, refused: int) -> dict[str, Any]:
    interval = stats.wilson(answered, answered + refused)
    shown = None if interval is None else [round(edge, 6) for edge in interval]
    return {"answered": answered, "refused": refused, "answered_rate_interval95": shown}


def risk_coverage(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """How the share of wrong answers grows as less confident ones are let through, where traces say how confident."""
    sure = sorted(
        ((verdict.confidence, verdict.correct) for verdict in verdicts
         if verdict.confidence is not None and verdict.status in ("shipped", "empty")),
        key=lambda pair: -pair[0],
    )  # fmt: skip
    points, wrong = [], 0
    for count, (confidence, correct) in enumerate(sure, 1):
        wrong += not correct
        if count == len(sure) or sure[count][0] != confidence:  # ties enter together
            points.append({"confidence": confidence, "answered": count, "wrong": wrong,
                           "coverage": count / len(sure), "risk": wrong / count})  # fmt: skip
    return points


def headline(measures: Mapping[str, Measure], tally: Tally, options: Options, gates: Iterable[Gate]) -> dict[str, Any]:
    """The keys that existing checks read from the top level of the report."""
    first = options.k[0]
    shown: dict[str, Any] = {name: tally[name] for name in ("answered", "refused", "answerable", "unanswerable")}
    rates = {"precision": "precision", "chr": "chr", "under_refusal": "under_refusal", "over_refusal": "over_refusal",
             "under": "under_refusal", "over": "over_refusal", "recall@k": f"recall@{first}"}  # fmt: skip
    shown |= {key: number(measures[name].value) for key, name in rates.items()}
    shown |= {f"recall@{k}": number(measures[f"recall@{k}"].value) for k in options.k}
    return shown | {"k": first if len(options.k) == 1 else list(options.k), "gates": gate_texts(gates)}


def gate_texts(gates: Iterable[Gate]) -> dict[str, str]:
    """Bounds as they were written, under the short names of old."""
    short = {"under_refusal": "under", "over_refusal": "over"}
    return {short.get(gate.key, gate.key): gate.bound.text for gate in gates}


def compat(cases: Iterable[Case], measures: Mapping[str, Measure], options: Options) -> dict[str, Any] | None:
    """The reference's numbers where they differ from ours, or the word that they agree; None where it can't say."""
    if options.keep != "last":
        return None
    shown, exact = reference(cases, options.k[0])
    ours = {name: measures[f"recall@{options.k[0]}" if name == "recall@k" else name].value for name in exact}
    differ = sorted(name for name, value in exact.items() if ours[name] != value)
    return {"agrees": not differ, "differs": differ, "reference": shown}
