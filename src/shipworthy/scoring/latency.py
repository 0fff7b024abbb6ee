"""Score latency against accuracy: every arm on the same questions, percentiles beside the answers suite's own verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ..contracts import Gold, GoldSet, GoldSource, Input, Trace, TraceSource, load_gold, stream_traces
from ..decision import Decision, decide
from ..errors import DataError, UsageError
from ..evaluation import answer_aliases, depths, gold_inputs, measure_all, require_answerable, slice_measures, warnings
from ..gates import Gate, Outcome, parse_gates
from ..goldlock import content_digest, lock_problems
from ..jsonl import Problem, Problems
from ..metrics import Measure, Metric, decimal
from ..suites import answers, latency, stability
from ..suites.bars import written
from ..suites.latency import Choice, Options, Verdict
from ..tally import NAMED, Tally
from ..text import plural
from ._common import judging, some

TIMES = ("p50", "p90", "p95", "p99")
_MILLISECONDS = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
Grouped = dict[str, dict[str, list[Trace]]]  # arm → qid → traces


class Measured(msgspec.Struct):
    """Everything that was measured, arm by arm."""

    known: dict[str, Metric]
    gates: list[Gate]
    baseline: dict[str, Fraction]
    verdicts: dict[str, list[Verdict]] = {}
    tallies: dict[str, Tally] = {}
    measures: dict[str, dict[str, Measure]] = {}
    outcomes: dict[str, list[Outcome]] = {}


def evaluate_latency(
    gold: GoldSource,
    traces: TraceSource,
    *,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    budget_ms: float | str = 2000,
    relaxed_budget_ms: float | str | None = None,
    baseline: str | Mapping[str, Any] | None = None,
    arms: Sequence[str] = (),
    arm: str | None = None,
    sweep: str | None = None,
    k: int | Sequence[int] = 5,
    scu_enforced: bool = False,
    min_substr: int = 5,
    closed: bool = False,
    lenient: bool = False,
    refusal: str = "exact",
    refusal_phrases: Iterable[str] = (),
    id_map: str | None = None,
    offenders: int = 10,
    require_proof: bool = False,
    doubts: Sequence[str] = (),
) -> Decision:
    """Decide whether a pipeline is fast enough for how right it is.

    `arms` must all have traces; `arm` names the one to decide about (default: the only one, else the interactive one).
    `doubts` say why the measured times may be too long by our own fault: then a gate on time can hold, but not fail.
    """
    budget = _budget(budget_ms)
    options = Options(
        answers=judging(refusal, refusal_phrases, id_map, k=depths(k), min_substr=min_substr, scu_enforced=scu_enforced,
                        closed=closed),
        budget_ms=budget, arms=tuple(arms),
        relaxed_ms=_budget(relaxed_budget_ms) if relaxed_budget_ms is not None else written(Fraction(budget) * 5 / 4),
    )  # fmt: skip
    known = latency.metrics(options)
    absolute, relative = _split(
        [gates] if isinstance(gates, str) else list(gates), known, answer_aliases(options.answers) | latency.ALIASES
    )
    defaults = [] if only_gates else latency.gates(options)
    options = _with_budget(options, absolute)
    gold_set = load_gold(gold, lenient=lenient)
    require_answerable(gold_set)
    base = (
        latency.read_baseline(baseline, gold_set.source.digest, content_digest(gold_set))
        if baseline is not None
        else {}
    )
    usual = [] if only_gates else latency.baseline_gates(base)
    chosen = [*_chosen(defaults, absolute), *_chosen(usual, relative)]
    if not chosen:
        raise UsageError("no gate is left to decide by", hint="Name one with --gates.", code="gate-none")
    if require_proof:
        chosen = [msgspec.structs.replace(gate, on_unproven="fail") for gate in chosen]
    read = Input()
    grouped, remarks, left_out = _grouped(gold_set, _usable(traces, read, lenient), options, sweep)
    measured = _measure(gold_set.items, grouped, Measured(known, chosen, base), options)
    incomplete = (
        lock_problems(gold) + _incomplete(measured, options) + (list(doubts) if _doubted(measured, doubts) else [])
    )
    return _decision(measured, gold_set, read, options, arm, offenders, remarks + list(doubts), left_out, incomplete)


def _decision(
    measured: Measured, gold_set: GoldSet, read: Input, options: Options, wanted: str | None, most: int,
    remarks: list[str], left_out: dict[str, int], incomplete: list[str],
) -> Decision:  # fmt: skip
    choice = _choice(measured, options)
    arm = _deciding(measured, choice, wanted)
    own, outcomes, tally = measured.measures[arm], measured.outcomes[arm], measured.tallies[arm]
    verdict, reasons = decide(outcomes, incomplete)
    verdicts = measured.verdicts[arm]
    found = [one.answer for one in verdicts]
    slow = latency.slowest(verdicts, gold_set.items, Fraction(options.budget_ms), most)
    wrong = answers.offenders(found, gold_set.items, most) if _missed(outcomes, latency.ACCURACY) else []
    return Decision(
        "latency", "strict", verdict, [*_trade(own, outcomes, measured.baseline), *reasons, *_about(measured, arm, choice)],
        outcomes, own,
        slices=slice_measures(tally, measured.known),
        counts=latency.counts(tally, len(measured.tallies), left_out),
        named=_named(found),
        diagnosis=latency.compare_arms(measured.measures, choice)
        + latency.diagnose(outcomes, own, tally)
        + answers.diagnose(outcomes, own, tally, found, gold_set.items, options.answers),
        offenders=(wrong + slow)[:most],
        items=latency.items(measured.verdicts, Fraction(options.budget_ms)),
        sections=latency.sections(measured.measures, measured.tallies, measured.known, choice, options),
        headline={"arm": arm, "gates": {gate.key: gate.bound.text for gate in measured.gates if not gate.bound.sign}},
        options=options.shown(),
        inputs=gold_inputs(gold_set, trace=read),
        incomplete=incomplete,
        warnings=warnings(gold_set.source, read) + remarks,
        partial=gold_set.source.bad + read.bad > 0,
        run={"gold": gold_set.source.path, "trace": read.path},
    )  # fmt: skip


def _measure(gold: Mapping[str, Gold], grouped: Grouped, measured: Measured, options: Options) -> Measured:
    for arm in sorted(grouped):
        tally, verdicts = Tally(), []
        for qid, item in gold.items():
            verdict = latency.judge(item, grouped[arm].get(qid, []), options)
            tally.count(answers.facts(verdict.answer, options.answers), verdict.answer.slices)
            for run in verdict.runs:
                tally.count(latency.run_facts(run), run.slices)
            verdicts.append(verdict)
        measured.verdicts[arm], measured.tallies[arm] = verdicts, tally
        measured.measures[arm], measured.outcomes[arm] = measure_all(
            tally, measured.known, measured.gates, measured.baseline
        )
    return measured


def _doubted(measured: Measured, doubts: Sequence[str]) -> bool:
    """Whether a miss in time may be our own; such a gate has no data, for lateness only ever adds to a latency."""
    found = False
    for arm, outcomes in measured.outcomes.items() if doubts else ():
        missed = [_about_time(one.gate.metric) and one.state.startswith("FAIL") for one in outcomes]
        found = found or any(missed)
        measured.outcomes[arm] = [
            msgspec.structs.replace(one, state="NO-DATA") if late else one
            for one, late in zip(outcomes, missed, strict=True)
        ]
    return found


def _usable(traces: TraceSource, read: Input, lenient: bool) -> Iterator[tuple[int, Trace]]:
    """The traces whose numbers are numbers; the others are bad lines like any other."""
    problems = Problems()
    for number, trace in stream_traces(traces, read, lenient=lenient):
        what = latency.problem_of(trace)
        if what:
            problems.add(Problem(read.path, number, what, "Latencies are milliseconds.", "latency-number"))
        else:
            yield number, trace
    read.bad += problems.total
    read.problems = [*read.problems, *map(str, problems.first)]
    if not lenient:
        problems.raise_any()


def _grouped(
    gold: GoldSet, stream: Iterable[tuple[int, Trace]], options: Options, sweep: str | None
) -> tuple[Grouped, list[str], dict[str, int]]:
    """Traces by arm and question; what was left out is said."""
    kept, _, others = stability.one_sweep(list(stream), sweep)
    grouped: Grouped = {}
    knobs: dict[str, set[bytes]] = {}
    counted = {"warm_up": 0, "unknown_qid": 0}
    for number, trace in kept:
        if trace.warmup:
            counted["warm_up"] += 1
        elif str(trace.qid) not in gold.items:
            counted["unknown_qid"] += 1
            _refuse_unknown(trace, number, options)
        else:
            name = latency.arm_of(trace)
            grouped.setdefault(name, {}).setdefault(str(trace.qid), []).append(trace)
            knobs.setdefault(name, set()).add(msgspec.json.encode(trace.knobs, order="sorted"))
    if not grouped:
        raise DataError("there is no trace to judge", hint="Check --trace and --sweep.", code="trace-none")
    remarks = [f"arm {name} was run with {len(seen)} different sets of knobs. [arm-knobs]"
               for name, seen in sorted(knobs.items()) if len(seen) > 1]  # fmt: skip
    if others:
        remarks.append(
            f"{plural(sum(others.values()), 'line')} of other sweeps were left out; --sweep chooses. [sweep-mixed]"
        )
    if counted["unknown_qid"]:
        remarks.append(f"{plural(counted['unknown_qid'], 'trace')} for questions that the gold set does not have. "
                       "[trace-unknown]")  # fmt: skip
    return grouped, remarks, counted


def _refuse_unknown(trace: Trace, number: int, options: Options) -> None:
    if options.answers.closed:
        raise DataError(f"line {number} has qid {trace.qid!r}, which the gold set does not have",
                        hint="Add it to the gold set, or leave out --closed.", code="trace-unknown")  # fmt: skip


def _choice(measured: Measured, options: Options) -> Choice:
    accurate = {arm: not _missed(outcomes, _accuracy(measured)) for arm, outcomes in measured.outcomes.items()}
    return latency.choose(latency.points(measured.measures), accurate, Fraction(options.relaxed_ms))


def _accuracy(measured: Measured) -> list[str]:
    """The gated metrics that are about answers, not about time or money."""
    return [gate.metric for gate in measured.gates if gate.metric in measured.known and not _about_time(gate.metric)]


def _about_time(metric: str) -> bool:
    timed = metric in ("tail_amplification", "cost_per_correct", "failed_runs", "untimed")
    return timed or metric.rpartition("_")[2] in TIMES


def _missed(outcomes: Iterable[Outcome], metrics: Sequence[str]) -> bool:
    return any(not outcome.holds for outcome in outcomes if outcome.gate.metric in metrics)


def _deciding(measured: Measured, choice: Choice, wanted: str | None) -> str:
    """The arm that was asked for, the interactive one, or else the most precise on the frontier."""
    if wanted is not None:
        if wanted not in measured.tallies:
            raise DataError(f"arm {wanted!r} has no trace", hint=f"There are: {', '.join(sorted(measured.tallies))}.",
                            code="arm-without-traces")  # fmt: skip
        return wanted
    if choice.interactive is not None:
        return choice.interactive
    front = latency.frontier(latency.points(measured.measures))
    best = max(front, key=lambda point: (point.precision, -point.p95), default=None)
    return best.arm if best else min(measured.tallies)


def _incomplete(measured: Measured, options: Options) -> list[str]:
    found = [f"arm {arm} has no trace" for arm in options.arms if arm not in measured.tallies]
    if len(measured.tallies) > 1:
        for arm, verdicts in measured.verdicts.items():
            gone = sorted(one.qid for one in verdicts if not one.runs)
            if gone:
                found.append(f"arm {arm} has no trace for {plural(len(gone), 'question')}: {some(gone)}")
    return found


def _trade(own: Mapping[str, Measure], outcomes: Iterable[Outcome], baseline: Mapping[str, Fraction]) -> list[str]:
    """Accuracy never pays for time that the budget does not have."""
    before, now = baseline.get("precision"), own["precision"].value
    over = [outcome for outcome in outcomes if outcome.gate.metric in TIMES and outcome.state.startswith("FAIL")]
    if before is None or now is None or now <= before or not over:
        return []
    late = ", ".join(
        f"{outcome.gate.key} {decimal(outcome.measure.value or Fraction(0), 1)} ms" for outcome in over[:1]
    )
    return [f"accuracy up but latency over → NO-SHIP: precision {decimal(before)} → {decimal(now)}, {late}"]


def _about(measured: Measured, arm: str, choice: Choice) -> list[str]:
    if len(measured.tallies) == 1:
        return []
    if choice.interactive is None:
        return [f"no arm on the frontier passes every accuracy gate; the gates are those of {arm}"]
    role = (
        "the fastest on the frontier that passes every accuracy gate" if arm == choice.interactive else "as asked for"
    )
    return [f"judged is arm {arm}, {role}; {plural(len(measured.tallies), 'arm')} compared"]


def _named(found: Sequence[answers.Verdict]) -> dict[str, list[str]]:
    missing = sorted(verdict.qid for verdict in found if verdict.status in ("missing", "error"))
    return {"missing": missing[:NAMED]} if missing else {}


def _split(
    wanted: Sequence[str | Gate], known: Mapping[str, Metric], aliases: Mapping[str, str]
) -> tuple[list[Gate], list[Gate]]:
    """Gates with a number, and gates against the baseline: a metric may have one of each."""
    named: list[Gate] = []
    for text in wanted:
        named += parse_gates([text], known, aliases) if isinstance(text, str) else [text]
    return [gate for gate in named if not gate.bound.sign], [gate for gate in named if gate.bound.sign]


def _chosen(usual: Iterable[Gate], named: Iterable[Gate]) -> list[Gate]:
    return list(({gate.key: gate for gate in usual} | {gate.key: gate for gate in named}).values())


def _with_budget(options: Options, gates: Iterable[Gate]) -> Options:
    """A p95 gate that was given by hand is the budget."""
    budget = next((gate.bound.text for gate in gates if gate.key == "p95"), options.budget_ms)
    return msgspec.structs.replace(options, budget_ms=budget)


def _budget(value: float | str) -> str:
    text = str(value).strip()
    if not _MILLISECONDS.fullmatch(text) or not Fraction(text):
        raise UsageError(f"{text!r} is not a latency budget", hint="Write milliseconds, such as --budget-ms 2000.",
                         code="budget")  # fmt: skip
    return written(Fraction(text))
