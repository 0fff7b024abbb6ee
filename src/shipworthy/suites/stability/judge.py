"""The judge of the stability suite: one question with all its runs in, the facts about their spread out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb

from ...core.contracts import Gold, Trace, ids_of
from ...core.gates import Gate
from ...core.join import Case
from ...text import canon
from ..answers import judge as answers
from ..retrieval.places import parse_section
from .grid import cell_of, holes, one_per_cell
from .options import BARS, CITING
from .reference import compared, is_plain
from .sensitivity import flips
from .spread import citation_overlap, distance_and_agreement, shared_of_all
from .states import arrived, states
from .verdict import KS, SAID, Context, ExpectedRuns, RunFacts, Verdict


def prepare(gold: Gold, judging: answers.Judging) -> ExpectedRuns:
    """The gold item made ready, once for all its runs."""
    relevant = [*gold.citations, *ids_of(gold.relevant)]
    return ExpectedRuns(
        expected=answers.expect(gold, judging),
        relevant=frozenset(relevant if judging.id_map is None else map(judging.id_map.gold, relevant)),
        anchor=None if gold.anchor_section is None else parse_section(gold.anchor_section),
        plain=is_plain(gold, judging),
        cites=bool(gold.citations) and judging.cites,
    )


def judge_runs(case: Case, context: Context) -> Verdict:
    """The verdict on one question from all its runs that count."""
    traces: list[Trace] = case.records["runs"]
    question = prepare(case.gold, context.judging)
    return judge_question(question, [trace for trace in traces if context.judges(trace)], context)


def judge_question(question: ExpectedRuns, traces: Sequence[Trace], context: Context) -> Verdict:
    gold, kept = question.gold, one_per_cell(traces)
    judged = [(trace, judge_run(question, trace, context.judging)) for trace in kept]
    runs = sorted((run for _, run in judged), key=_place)
    values = _values(question, runs)
    failed, undefined = _missed(values, question, context.bars) if runs else ((), ())
    flipped = flips(runs)
    referred: tuple[str, ...] = ()
    if context.referred and not flipped:  # wrong in every run alike is no instability
        referred = tuple(name for name in failed if name in context.referred)
        failed, undefined = tuple(name for name in failed if name not in context.referred), ()
    distinct_prompts, effective_runs = _prompts(runs)
    return Verdict(
        question=question,
        runs=runs,
        values=values,
        states=states(runs, bool(gold.answerable)),
        distinct_prompts=distinct_prompts,
        effective_runs=effective_runs,
        flips=flipped,
        failed=failed,
        undefined=undefined,
        referred=referred,
        holes=holes(gold, [run.cell for run in runs], context.axes),
        repeated=len(traces) - len(kept),
        slices=answers.slices_of(gold, context.options.by),
        reference=compared(question, traces, judged, values, context) if runs else (),
    )


def judge_run(question: ExpectedRuns, trace: Trace, judging: answers.Judging) -> RunFacts:
    gold = question.gold
    answer = answers.judge_trace(question.expected, trace, judging).outline
    status = {"refused": "refused", "error": "error"}.get(answer.status, "answered")
    answered = status == "answered"
    kept = answer.constraint == "ok" if answered and gold.constraints else None
    cited = ids_of(trace.answer.citations)
    if judging.id_map is not None:
        cited = [judging.id_map.trace(name) for name in cited]
    return RunFacts(
        cell=cell_of(trace),
        status=status,
        contained=bool(gold.answerable and answer.contained),
        cited=bool(answer.cited) if question.cites else None,
        kept=kept,
        passed=answer.correct and kept is not False if gold.answerable else status == "refused",
        claim=canon(trace.answer.claim) if answered else "",
        said=trace.answer.claim[:SAID],
        citations=frozenset(cited),
        asked=trace.asked,
        arrived=arrived(question, trace, cited),
        logged=trace.lambda_state,
        held=() if trace.error else answers.held_by(trace, status == "refused"),
        unread=answer.unread,
    )


def _place(run: RunFacts) -> tuple[object, ...]:
    """Grid order; runs without a place are told apart by what they said, never by the order of lines."""
    return (*run.cell.order, run.status, run.claim, sorted(run.citations), run.said)


def _values(question: ExpectedRuns, runs: Sequence[RunFacts]) -> dict[str, Fraction | None]:
    """Every number about one question; None where it is undefined."""
    gold = question.gold
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
        "cghc": _share(sum(bool(run.cited) for run in runs), runs) if known and question.cites else None,
        "css": overlap.shared,
        "css_all": shared_of_all([run.citations for run in runs]),
        "jaccard": overlap.pairwise,
        "ned50": ned50,
        "iaa": iaa,
        "scu_cons": Fraction(all(run.kept is not False for run in runs)) if gold.constraints and runs else None,
    }
    return values | {f"pass^{k}": _all_pass(passed, len(runs), k) for k in KS}


def _share(count: int, runs: Sequence[RunFacts]) -> Fraction | None:
    return Fraction(count, len(runs)) if runs else None


def _all_pass(passed: int, runs: int, k: int) -> Fraction | None:
    """The chance that k of the runs, drawn without putting back, all pass."""
    return Fraction(comb(passed, k), comb(runs, k)) if runs >= k else None


def _prompts(runs: Sequence[RunFacts]) -> tuple[int | None, int | None]:
    """How many texts were sent, and how many runs differ in text, seed or temperature; 20 runs of 2 prompts are few."""
    if not runs or not all(run.asked for run in runs):
        return None, None
    distinct = len({run.asked for run in runs})
    if not all(run.cell.labelled for run in runs):
        return distinct, None
    return distinct, len({(run.asked, run.cell.seed, run.cell.temperature) for run in runs})


def _missed(
    values: Mapping[str, Fraction | None], question: ExpectedRuns, bars: Sequence[Gate]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The bars that the question does not clear, and those whose metric has no value."""
    failed, undefined = [], []
    for bar in bars:
        name, value = bar.metric, values[bar.metric]
        if not _applies(name, question):
            continue
        if value is None:
            undefined.append(name)
        elif not (value >= bar.bound.number if bar.op == ">=" else value <= bar.bound.number):
            failed.append(name)
    return tuple(failed), tuple(undefined)


def _applies(name: str, question: ExpectedRuns) -> bool:
    gold = question.gold
    if BARS[name].on != ("answerable" if gold.answerable else "unanswerable"):
        return False
    if name == "scu_cons":
        return bool(gold.constraints)
    return question.cites or name not in CITING
