"""What a report says about retrieval beyond its gates: items, offenders, states, short lists, top-level keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...contracts import ids_of
from ...decision import number
from ...metrics import Measure, decimal
from ...tally import NAMED, Tally
from .facts import is_bad
from .judge import Line, Verdict
from .lambda_states import STATES
from .log import Side
from .options import Options

_COUNTED = ("items", "rankable", "no_relevant", "placeless", "citable", "missing", "runs", "failed_runs", "answered_runs",
            "groups_converged", "groups_split", "groups_undecided")  # fmt: skip
_SEVERITY = ("missing", "error", "uncited", "uncovered", "far", "answered", "not-retrieved", "off-place")
_WORDS = {
    "missing": "there is no log line", "error": "every run failed", "uncited": "the answer cites nothing",
    "uncovered": "cites nothing relevant and nothing in the anchor section",
    "far": "the cited snippet is in the risk band",
    "answered": "cites something although it is unanswerable",
    "not-retrieved": "nothing relevant was retrieved", "off-place": "no citation fits the gold section and byte range",
}  # fmt: skip


def counts(tally: Tally, side: Side) -> dict[str, int]:
    found = {name: tally[name] for name in _COUNTED}
    return found | {"superseded": side.superseded, "unknown_qid": sum(side.unknown.values())}


def named(verdicts: Iterable[Verdict], side: Side) -> dict[str, list[str]]:
    """Names behind the counts; bad_qids are all listed."""
    verdicts = list(verdicts)
    found = {
        "bad_qids": sorted(verdict.qid for verdict in verdicts if is_bad(verdict)),
        "missing": sorted(verdict.qid for verdict in verdicts if not verdict.lines)[:NAMED],
        "no_relevant": sorted(verdict.qid for verdict in verdicts if not verdict.ranked)[:NAMED],
        "undecided_groups": sorted(f"{verdict.qid} seed {seed or '-'}" for verdict in verdicts
                                   for seed, found in verdict.groups.items() if found is None)[:NAMED],
        "unknown_qids": sorted(side.unknown)[:NAMED],
    }  # fmt: skip
    return {name: qids for name, qids in found.items() if qids}


def items(verdicts: Iterable[Verdict], options: Options) -> list[dict[str, Any]]:
    """One row a question, by qid."""
    return [row(verdict, options) for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)]


def row(verdict: Verdict, options: Options) -> dict[str, Any]:
    values = verdict.values
    shown: dict[str, Any] = {"qid": verdict.qid, "type": " ".join(verdict.target.types), "runs": len(verdict.lines)}
    shown |= {"states": " ".join(line.state for line in verdict.lines)}
    names = [f"{kind}@{k}" for kind in ("precision", "recall", "ndcg") for k in options.k]
    names += ["mrr", "map", "coverage", "citation_accuracy", "anchor_proximity", "delta_s"]
    shown |= {name: number(values.get(name)) for name in names}
    return shown | {"short": short_list(verdict, options), "reason": verdict.reason}


def short_list(verdict: Verdict, options: Options) -> str:
    """`precision@5 0.667 of 3 returned; trec P_5 0.400` for the shallowest k that a list does not fill."""
    lengths = [line.ranked.returned for line in verdict.lines]
    k = next((k for k in options.k if lengths and min(lengths) < k), None)
    if k is None or options.denominator == "k" or f"precision@{k}" not in verdict.values:
        return ""
    value, trec = verdict.values[f"precision@{k}"], verdict.values[f"P_{k}"]
    return f"precision@{k} {decimal(value)} of {min(lengths)} returned; trec P_{k} {decimal(trec)}"


def offenders(verdicts: Iterable[Verdict], most: int) -> list[dict[str, Any]]:
    """The worst questions first."""
    failing = [verdict for verdict in verdicts if verdict.reason]
    failing.sort(key=lambda verdict: (_SEVERITY.index(verdict.reason), verdict.qid))
    return [_offender(verdict) for verdict in failing[:most]]


def _offender(verdict: Verdict) -> dict[str, Any]:
    gold, line = verdict.gold, _telling(verdict)
    retrieved = list(line.blocks) if line else []
    return {
        "qid": verdict.qid, "reason": verdict.reason, "says": _says(verdict, line), "question": gold.question,
        "claim": "" if line else None, "citations": list(line.cited) if line else [], "retrieved_ids": retrieved[:10],
        "gold_rank": line.ranked.hits[0] if line and line.ranked.hits else None,
        "gold_citations": ids_of(gold.relevant) or gold.citations, "anchor_section": gold.anchor_section,
    }  # fmt: skip


def _telling(verdict: Verdict) -> Line | None:
    """The run to show: the farthest where distance is the fault, else the first that covers nothing, else the first."""
    lines = verdict.lines
    if verdict.reason == "far":
        return max(lines, key=lambda line: line.delta or Fraction(0))
    return next((line for line in lines if not line.covered), lines[0] if lines else None)


def _says(verdict: Verdict, line: Line | None) -> str:
    words = _WORDS[verdict.reason]
    if verdict.reason == "far":
        words += f" (ΔS {float(verdict.values['delta_s']):.4f})"
    return words if line is None or len(verdict.lines) < 2 else f"{words} ({len(verdict.lines)} runs)"


def sections(tally: Tally, verdicts: Sequence[Verdict], options: Options, embedder: str) -> dict[str, Any]:
    """The distribution of λ states, the bands of ΔS, and the questions with lists shorter than k."""
    lines = [line for verdict in verdicts for line in verdict.lines]
    sources = {
        "derived": sum(bool(line.state) and line.derived for line in lines),
        "read": sum(not line.derived for line in lines),
    }
    short = {verdict.qid: text for verdict in verdicts if (text := short_list(verdict, options))}
    return {
        "lambda": {"states": {state: tally[f"state {state}"] for state in STATES}, **sources},
        "delta_s": {"embedder": embedder, "bands": {band: tally[f"delta_s {band}"] for band in ("stable", "transitional", "risk")}},
        "short_lists": dict(sorted(short.items())[:NAMED]),
        "unknown_sections": sum(len(line.unknown_sections) for line in lines),
    }  # fmt: skip


def headline(measures: Mapping[str, Measure], verdicts: Iterable[Verdict], options: Options) -> dict[str, Any]:
    """The keys that existing checks read from the top level of the report."""
    names = ("coverage", "citation_accuracy", "delta_s_median", "delta_s_p90", "lambda_convergent", "anchor_proximity",
             "answer_rate", "mrr", "map")  # fmt: skip
    shown: dict[str, Any] = {name: number(measures[name].value) for name in names}
    for k in options.k:
        shown |= {name: number(measures[name].value) for name in (f"precision@{k}", f"recall@{k}", f"ndcg@{k}")}
    return shown | {
        "bad_qids": sorted(verdict.qid for verdict in verdicts if is_bad(verdict)),
        "settings": options.header,
    }
