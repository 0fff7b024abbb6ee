"""The judge of the stability suite: one question with all its runs in, the facts about their spread out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from ...cases import Case
from ...contracts import Gold, Trace, ids_of
from ...gates import Gate
from ...text import canon
from .. import answers
from .grid import cell_of
from .sensitivity import flips
from .spread import citation_overlap, distance_and_agreement
from .states import arrived, set_states
from .verdict import BARS, KS, Options, Run, Verdict


def judge(case: Case, options: Options) -> Verdict:
    """The verdict on one question from all its runs."""
    gold = case.gold
    runs = sorted((_judge_run(gold, trace, options) for trace in case.traces), key=_place)
    verdict = Verdict(str(gold.qid), bool(gold.answerable), runs, _values(gold, runs))
    _set_prompts(verdict)
    set_states(verdict)
    verdict.flips = flips(runs)
    if runs:
        _compare(verdict, gold, options.bars)
    return verdict


def _judge_run(gold: Gold, trace: Trace, options: Options) -> Run:
    found = answers.judge(Case(gold, [trace]), options.answers)
    status = {"refused": "refused", "error": "error"}.get(found.status, "answered")
    answered = status == "answered"
    kept = found.constraint == "ok" if answered and gold.constraints else None
    right = found.correct and kept is not False if gold.answerable else status == "refused"
    cited = ids_of(trace.answer.citations)
    if options.answers.id_map is not None:
        cited = [options.answers.id_map.trace(name) for name in cited]
    hittable = bool(gold.citations)
    return Run(
        cell_of(trace), status, bool(gold.answerable and found.contained), bool(found.cited) if hittable else None, kept,
        right, canon(trace.answer.claim) if answered else "", frozenset(cited), trace.asked,
        arrived(gold, trace, cited, options.answers.id_map), trace.lambda_state,
    )  # fmt: skip


def _place(run: Run) -> tuple[object, ...]:
    """Grid order; runs without a place are told apart by what they said, never by the order of lines."""
    return (*run.cell.order, run.status, run.claim, sorted(run.citations))


def _values(gold: Gold, runs: Sequence[Run]) -> dict[str, Fraction | None]:
    """Every number about one question; None where it is undefined."""
    answered = [run for run in runs if run.status == "answered"]
    refused = sum(run.status == "refused" for run in runs)
    known = bool(gold.answerable)
    overlap = citation_overlap([run.citations for run in answered])
    ned50, iaa = distance_and_agreement(run.claim for run in answered)
    passed = sum(run.passed for run in runs)
    values = {
        "rcr": _share(max(refused, len(answered)), runs),
        "refusal_rate": _share(refused, runs),
        "acr": _share(sum(run.contained for run in runs), runs) if known else None,
        "cghc": _share(sum(bool(run.cited) for run in runs), runs) if known and gold.citations else None,
        "css": overlap.shared,
        "css_all": citation_overlap([run.citations for run in runs]).shared,
        "jaccard": overlap.pairwise,
        "ned50": ned50,
        "iaa": iaa,
        "scu_cons": Fraction(all(run.kept is not False for run in runs)) if gold.constraints and runs else None,
    }
    return values | {f"pass^{k}": _all_pass(passed, len(runs), k) for k in KS}


def _share(count: int, runs: Sequence[Run]) -> Fraction | None:
    return Fraction(count, len(runs)) if runs else None


def _all_pass(passed: int, runs: int, k: int) -> Fraction | None:
    """The chance that k of the runs, drawn without putting back, all pass."""
    return Fraction(comb(passed, k), comb(runs, k)) if runs >= k else None


def _set_prompts(verdict: Verdict) -> None:
    """20 runs of 2 prompts are not 20: how many texts were sent, and how many runs differ in text, seed or temperature."""
    if all(run.asked for run in verdict.runs) and verdict.runs:
        verdict.distinct_prompts = len({run.asked for run in verdict.runs})
        if all(run.cell.labelled for run in verdict.runs):
            told = {(run.asked, run.cell.seed, run.cell.temperature) for run in verdict.runs}
            verdict.effective_runs = len(told)


def _compare(verdict: Verdict, gold: Gold, bars: Sequence[Gate]) -> None:
    failed, undefined = [], []
    for bar in bars:
        name, value = bar.metric, verdict.values[bar.metric]
        if not _applies(name, gold):
            continue
        if value is None:
            undefined.append(name)
        elif not (value >= bar.bound.number if bar.op == ">=" else value <= bar.bound.number):
            failed.append(name)
    verdict.failed, verdict.undefined = tuple(failed), tuple(undefined)


def _applies(name: str, gold: Gold) -> bool:
    if BARS[name].on != ("answerable" if gold.answerable else "unanswerable"):
        return False
    if name == "scu_cons":
        return bool(gold.constraints)
    return bool(gold.citations) or name not in ("cghc", "css", "jaccard", "css_all")
