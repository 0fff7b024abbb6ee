"""What a report says about stability: totals, details and rows by question, tables, the reference's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from ...cases import Joined
from ...contracts import Gold, Trace
from ...decision import number
from ...gates import Gate
from ...tally import NAMED, Tally
from .reference import DEFAULT_GATES, reference
from .sensitivity import sensitivity
from .verdict import KS, Options, Run, Verdict

_DETAILS = ("rcr", "refusal_rate", "acr", "cghc", "css", "css_all", "jaccard", "ned50", "iaa", "scu_cons",
            *(f"pass^{k}" for k in KS))  # fmt: skip
_STATES = {"convergent": "→", "backward": "←", "split": "<>", "collapse": "×"}
_POOLED = {  # rate → (which questions, which runs)
    "acr": (True, lambda run: run.contained),
    "cghc": (True, lambda run: bool(run.cited)),
    "pass": (None, lambda run: run.passed),
    "refusal_rate": (False, lambda run: run.status == "refused"),
}


def counts(tally: Tally) -> dict[str, int]:
    names = ("items", "answerable", "unanswerable", "judged", "missing", "passing", "failing", "undecided", "runs",
             "runs_answered", "runs_refused", "runs_error", "flips")  # fmt: skip
    return {name: tally[name] for name in names}


def named(verdicts: Iterable[Verdict], joined: Joined, holes: Sequence[str]) -> dict[str, list[str]]:
    judged = list(verdicts)
    found = {
        "failing": sorted(verdict.qid for verdict in judged if verdict.failed),
        "undecided": sorted(verdict.qid for verdict in judged if verdict.undefined and not verdict.failed),
        "missing": sorted(verdict.qid for verdict in judged if not verdict.runs),
        "holes": list(holes),
        "unknown_qids": sorted(joined.unknown),
    }
    return {name: names[:NAMED] for name, names in found.items() if names}


def headline(verdicts: Sequence[Verdict], tally: Tally, bars: Iterable[Gate]) -> dict[str, Any]:
    totals = {"answerable": tally["answerable"], "unanswerable": tally["unanswerable"],
              "pass": tally["passing"], "fail": tally["failing"]}  # fmt: skip
    shown = {verdict.qid: details(verdict) for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)}
    return {"totals": totals, "gates": {bar.metric: number(bar.bound.number) for bar in bars}, "details": shown}


def details(verdict: Verdict) -> dict[str, Any]:
    """Everything about one question."""
    return {
        **{name: number(verdict.values[name]) for name in _DETAILS},
        "runs": len(verdict.runs), "answered": len(verdict.answered), "distinct_prompts": verdict.distinct_prompts,
        "effective_runs": verdict.effective_runs, "failed": list(verdict.failed), "undefined": list(verdict.undefined),
        "flips": [{"run": str(flip.cell), "differs": list(flip.differs)} for flip in verdict.flips],
    }  # fmt: skip


def items(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """One row a question, by qid."""
    return [_row(verdict) for verdict in sorted(verdicts, key=lambda verdict: verdict.qid)]


def _row(verdict: Verdict) -> dict[str, Any]:
    state = (
        "missing" if not verdict.runs else "fail" if verdict.failed else "undefined" if verdict.undefined else "pass"
    )
    return {
        "qid": verdict.qid, "state": state, "answerable": verdict.answerable, "runs": len(verdict.runs),
        **{name: number(verdict.values[name]) for name in _DETAILS},
        "flips": len(verdict.flips), "distinct_prompts": verdict.distinct_prompts, "failed": " ".join(verdict.failed),
    }  # fmt: skip


def offenders(verdicts: Iterable[Verdict], gold: Mapping[str, Gold], most: int) -> list[dict[str, Any]]:
    """Failing questions, those that miss most bars first, then those with most flips."""
    failing = [verdict for verdict in verdicts if verdict.failed]
    failing.sort(key=lambda verdict: (-len(verdict.failed), -len(verdict.flips), verdict.qid))
    return [_offender(verdict, gold[verdict.qid]) for verdict in failing[:most]]


def _offender(verdict: Verdict, gold: Gold) -> dict[str, Any]:
    misses = ", ".join(f"{name} {float(verdict.values[name] or 0):.3f}" for name in verdict.failed)
    flips = [f"{flip.cell} ({', '.join(flip.differs)})" for flip in verdict.flips]
    more = f" and {len(flips) - 3} more" if len(flips) > 3 else ""
    where = f"; differs from the majority: {', '.join(flips[:3])}{more}" if flips else ""
    return {
        "qid": verdict.qid, "reason": verdict.failed[0], "says": f"{misses} over {len(verdict.runs)} runs{where}",
        "question": gold.question, "gold_claim_substr": gold.substrings, "gold_citations": gold.citations,
        "runs": len(verdict.runs), "flips": flips,
    }  # fmt: skip


def sections(verdicts: Sequence[Verdict], tally: Tally) -> dict[str, Any]:
    judged = [verdict for verdict in verdicts if verdict.runs]
    prompts = [verdict.distinct_prompts for verdict in judged]
    effective = [verdict.effective_runs for verdict in judged]
    states = {name: tally[f"lambda_{state}"] for name, state in _STATES.items()}
    read = sum(run.logged is not None for verdict in judged for run in verdict.runs)
    return {
        "sensitivity": sensitivity(judged),
        "pooled": pooled(judged),
        "prompts": {"runs": tally["runs"], "distinct_prompts": _total(prompts), "effective_runs": _total(effective)},
        "lambda": {"distribution": states, "read": read, "derived": tally["runs"] - read},
    }


def _total(values: Sequence[int | None]) -> int | None:
    """None as soon as one trace does not say what was sent."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def pooled(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Rates over all runs; the runs of one question are one cluster, never as many items."""
    judged = list(verdicts)
    return {name: _pooled([verdict.runs for verdict in judged if known in (None, verdict.answerable)], passes)
            for name, (known, passes) in _POOLED.items()}  # fmt: skip


def _pooled(groups: Sequence[Sequence[Run]], passes: Any) -> dict[str, Any] | None:
    found = stats.cluster_se([[Fraction(passes(run)) for run in runs] for runs in groups])
    if found is None:
        return None
    mean = float(found.mean)
    edge = None if found.cluster_se is None else 1.959964 * found.cluster_se
    return {
        "rate": number(found.mean), "runs": sum(map(len, groups)), "questions": len(groups),
        "cluster_se": _round(found.cluster_se), "naive_se": _round(found.naive_se), "design_effect": _round(found.deff),
        "effective_items": _round(found.n_eff),
        "interval95": None if edge is None else [_round(max(0.0, mean - edge)), _round(min(1.0, mean + edge))],
    }  # fmt: skip


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def compat(
    gold: Mapping[str, Gold], runs: Mapping[str, Sequence[Trace]], verdicts: Iterable[Verdict], tally: Tally, options: Options
) -> dict[str, Any]:  # fmt: skip
    """The reference's totals, and which questions it gives other numbers for."""
    bounds = {name: Fraction(str(value)) for name, value in DEFAULT_GATES.items()}
    bounds |= {_OLD.get(bar.metric, bar.metric): bar.bound.number for bar in options.bars}
    theirs = reference(gold, runs, bounds)
    ours = {verdict.qid: verdict for verdict in verdicts}
    totals = {"pass": tally["passing"], "fail": tally["failing"], "answerable": tally["answerable"],
              "unanswerable": tally["unanswerable"]}  # fmt: skip
    differs = [name for name, value in totals.items() if theirs["totals"][name] != value]
    other = sorted(qid for qid, shown in theirs["details"].items() if _differs(shown, ours.get(qid)))
    return {"agrees": not differs and not other, "differs": differs, "questions": other[:NAMED],
            "questions_that_differ": len(other), "reference": theirs["totals"]}  # fmt: skip


_OLD = {"refusal_rate": "rcr"}


def _differs(shown: Mapping[str, Any], verdict: Verdict | None) -> bool:
    """Whether one of the numbers that decide about the question is another one."""
    if verdict is None:
        return True
    names = ("acr", "cghc", "css", "ned50", "scu_cons") if verdict.answerable else ("rcr",)
    return any(shown[name] != _four(verdict.values[name]) for name in names)


def _four(value: Fraction | None) -> float | None:
    return None if value is None else round(value.numerator / value.denominator, 4)
