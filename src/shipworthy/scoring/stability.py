"""Score the stability of a pipeline: the runs of each question under seeds and rewordings, compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ..cases import Case, Joined, join
from ..contracts import DetailedTrace, GoldSet, GoldSource, Input, Trace, TraceSource, load_gold, stream_traces
from ..decision import Decision, decide, number
from ..engines import inline
from ..errors import UsageError
from ..evaluation import (
    choose_gates,
    gold_inputs,
    measure_all,
    require_answerable,
    slice_fields,
    slice_measures,
    slices_of,
    warnings,
)
from ..gates import Gate, compare, parse_gates
from ..goldlock import lock_problems
from ..metrics import Measure, Metric
from ..suites import bars as written_bars
from ..suites import stability
from ..suites.stability import Options, Verdict
from ..text import plural
from ._common import check_profile, judging, some


def evaluate_stability(
    gold: GoldSource,
    runs: TraceSource,
    *,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    max_fail_rate: Fraction | float | str = 0,
    seeds: Sequence[int] = (),
    jitters: Sequence[str] = (),
    sweep: str | None = None,
    arm: str | None = None,
    profile: str = "strict",
    min_substr: int = 5,
    closed: bool = False,
    lenient: bool = False,
    refusal: str = "exact",
    refusal_phrases: Iterable[str] = (),
    id_map: str | None = None,
    by: Iterable[str] = (),
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Decide whether seeds and harmless rewording change the answers.

    `seeds` and `jitters` name the grid that must be complete; without them it is every one that occurs.
    """
    check_profile(profile)
    wanted = [gates] if isinstance(gates, str) else list(gates)
    bars, named = _split(wanted, only_gates)
    options = Options(
        answers=judging(refusal, refusal_phrases, id_map, min_substr=min_substr, closed=closed, by=slice_fields(by, wanted)),
        bars=tuple(bars), max_fail_rate=written_bars.exact("max_fail_rate", max_fail_rate), seeds=tuple(seeds),
        jitters=tuple(jitters),
    )  # fmt: skip
    reference = profile == "reference"
    gold_set = load_gold(gold, lenient=lenient, last_wins=reference, by=options.answers.by)
    read = Input()
    traces = list(stream_traces(runs, read, record=DetailedTrace, lenient=lenient, unnamed=reference))
    if reference:
        return _reference_decision(gold_set, [trace for _, trace in traces], read, options)
    require_answerable(gold_set)
    kept, chosen, left_out = stability.one_sweep(traces, sweep)
    kept = list(stability.in_grid(stability.one_arm(kept, arm), seeds, jitters))
    joined = join(gold_set, kept, "all", closed)
    known = stability.metrics()
    paraphrased = not only_gates and any(item.paraphrases for item in gold_set.items.values())
    defaults = stability.gates(bars, options.max_fail_rate, paraphrased)
    chosen_gates = choose_gates(defaults, named, known, {}, require_proof=require_proof)
    decision = _strict_decision(joined, gold_set, read, chosen_gates, known, options, offenders)
    decision.sections["sweep"] = {"id": chosen, "left_out": left_out}
    decision.warnings += _left_out(chosen, left_out) + _aliased(wanted) + _unknown(joined)
    return decision


def _strict_decision(
    joined: Joined, gold_set: GoldSet, read: Input, gates: list[Gate], known: dict[str, Metric], options: Options, most: int
) -> Decision:  # fmt: skip
    def judge(case: Case) -> Verdict:
        verdict = stability.judge(case, options)
        verdict.slices = slices_of(case, options.answers.by)
        return verdict

    as_read = {str(case.gold.qid): list(case.traces) for case in joined.cases if case.traces}
    repeated = _settle(joined.cases)
    tally, verdicts = inline.tally(joined.cases, judge, stability.facts, stability.slices)
    holes = stability.holes(joined.cases, options.seeds, options.jitters)
    measures, outcomes = measure_all(tally, known, gates)
    incomplete = [*lock_problems(gold_set.source.path), *_incomplete(verdicts, holes)]
    verdict, reasons = decide(outcomes, incomplete)
    sections = stability.sections(verdicts, tally)
    return Decision(
        "stability", "strict", verdict, _reasons(verdict, reasons, verdicts, tally.counts), outcomes, measures,
        slices=slice_measures(tally, known),
        counts=stability.counts(tally) | {"holes": len(holes), "repeated": repeated,
                                          "unknown_qid": sum(joined.unknown.values())},
        named=stability.named(verdicts, joined, holes),
        diagnosis=stability.diagnose(verdicts, sections["sensitivity"]),
        offenders=stability.offenders(verdicts, gold_set.items, most),
        items=stability.items(verdicts),
        sections=sections,
        headline=stability.headline(verdicts, tally, options.bars),
        options=options.shown(),
        inputs=gold_inputs(gold_set, runs=read),
        incomplete=incomplete,
        compat=stability.compat(gold_set.items, as_read, verdicts, tally, options),
        warnings=warnings(gold_set.source, read) + _repeated(repeated),
        partial=gold_set.source.bad + read.bad > 0,
        run={"gold": gold_set.source.path, "runs": read.path},
    )  # fmt: skip


def _reference_decision(gold_set: GoldSet, traces: Sequence[Trace], read: Input, options: Options) -> Decision:
    grouped: dict[str, list[Trace]] = {}
    for trace in traces:
        grouped.setdefault(str(trace.qid), []).append(trace)
    bounds = {"rcr" if bar.metric == "refusal_rate" else bar.metric: bar.bound.number for bar in options.bars}
    bounds = {name: Fraction(str(value)) for name, value in stability.DEFAULT_GATES.items()} | bounds
    shown = stability.reference(gold_set.items, grouped, bounds)
    metric = stability.metrics()["failing"]
    failing = shown["totals"]["fail"]
    measure = Measure("failing", "count", Fraction(failing), len(grouped), failing)
    outcomes = [compare(Gate.parse("failing <= 0"), metric, measure, True)]
    verdict, reasons = decide(outcomes, [] if grouped else ["there is no run to judge"])
    bars = {name: number(bound) for name, bound in bounds.items() if name in stability.DEFAULT_GATES}
    headline = {"totals": shown["totals"], "gates": bars, "details": shown["details"]}
    return Decision(
        "stability", "reference", verdict, reasons, outcomes, {"failing": measure}, headline=headline,
        items=[{"qid": qid, **row} for qid, row in shown["details"].items()], options=options.shown(),
        inputs=gold_inputs(gold_set, runs=read), warnings=warnings(gold_set.source, read),
        run={"gold": gold_set.source.path, "runs": read.path},
    )  # fmt: skip


def _split(wanted: Sequence[str | Gate], only: bool) -> tuple[list[Gate], list[Gate]]:
    """Bars that each question must clear, and gates on the whole."""
    bars, whole = stability.bar_metrics(), stability.metrics()
    named: list[Gate] = []
    for text in wanted:
        named += parse_gates([text], bars | whole, stability.ALIASES) if isinstance(text, str) else [text]
    chosen = {} if only else {bar.metric: bar for bar in stability.default_bars()}
    chosen |= {gate.metric: gate for gate in named if gate.metric in bars}
    if not chosen and not named:
        raise UsageError("no gate is left to decide by", hint="Name one with --gates.", code="gate-none")
    relative = next((gate for gate in chosen.values() if gate.bound.sign or gate.slice), None)
    if relative:
        raise UsageError(f"{relative} can't be a bar for single questions", code="gate-bound",
                         hint=f"Give a number, or gate mean_{relative.metric}.")  # fmt: skip
    return list(chosen.values()), [gate for gate in named if gate.metric not in bars]


def _settle(cases: Iterable[Case]) -> int:
    """Keep one trace for each place in the grid, the last; say how many others there were."""
    repeated = 0
    for case in cases:
        kept = stability.settled(case.traces)
        repeated += len(case.traces) - len(kept)
        case.traces = kept
    return repeated


def _incomplete(verdicts: Sequence[Verdict], holes: Sequence[str]) -> list[str]:
    found = []
    if missing := sorted(verdict.qid for verdict in verdicts if not verdict.runs):
        found.append(f"{plural(len(missing), 'question')} without any run: {some(missing)}")
    if holes:
        found.append(f"the grid has {plural(len(holes), 'hole')}: {some(holes)}")
    vague = sorted(verdict.qid for verdict in verdicts if verdict.undefined and not verdict.failed)
    if vague:
        bars = sorted({name for verdict in verdicts for name in verdict.undefined})
        found.append(f"{', '.join(bars)} undefined for {plural(len(vague), 'question')}, with fewer than two answers to "
                     f"compare: {some(vague)}")  # fmt: skip
    return found


def _reasons(verdict: str, reasons: list[str], verdicts: Sequence[Verdict], counts: Any) -> list[str]:
    return reasons if verdict == "SHIP" else [*reasons, *stability.reasons(verdicts, counts)]


def _left_out(chosen: str, left_out: dict[str, int]) -> list[str]:
    if not left_out:
        return []
    others = ", ".join(f"{name or '(none)'}: {plural(count, 'line')}" for name, count in left_out.items())
    return [f"judged is sweep {chosen or '(none)'}; lines of other sweeps were left out ({others}). Choose with --sweep ID, "
            "or mix them with --sweep all. [sweep-mixed]"]  # fmt: skip


def _aliased(wanted: Iterable[str | Gate]) -> list[str]:
    if not any("rcr" in str(text).replace("mean_rcr", "") for text in wanted):
        return []
    return ["the bar of rcr was set on refusal_rate: rcr also passes a pipeline that always answers. "
            "--profile reference gates rcr itself. [gate-rcr]"]  # fmt: skip


def _repeated(count: int) -> list[str]:
    return (
        [f"{plural(count, 'run')} repeated a place of the grid; the last line counts. [run-repeated]"] if count else []
    )


def _unknown(joined: Joined) -> list[str]:
    if not joined.unknown:
        return []
    names = some(sorted(joined.unknown))
    return [f"{plural(sum(joined.unknown.values()), 'run')} for questions that the gold set does not have: {names}. "
            "[trace-unknown]"]  # fmt: skip
