"""Latency against accuracy: how long a validated answer takes, on each arm, and what that time buys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from ... import stats
from ...core.contracts import Trace
from ...core.control import Control, Setup, with_gold
from ...core.decision import Display, measure_dict, number
from ...core.evidence import Cards, Row
from ...core.gates import Outcome, parse_gates
from ...core.metrics import Measure, Metric, Words, decimal
from ...core.sources import ANSWERS, Answerable, Input, file_input, gold_stream, stream_traces
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...core.tally import Tally
from ...reading.lock import lock_problems
from ...text import plural
from ..answers import explain as answers
from ..answers.explain import RATES, SCOPE, judging_shown, shown_kinds
from ..answers.hints import diagnose as answer_hints
from ..answers.hints import first_lines
from ..answers.judge import Judging
from ..answers.material import ControlAnswers, least_length
from ..answers.options import id_map_file
from . import arms
from .arms import (
    ArmNumbers,
    ArmPoint,
    Choice,
    choice,
    frontier,
    measure_arms,
    misses,
    points,
    remarks,
    shown_gates,
    survey_of,
)
from .judge import SLOW, WRONG, card, ids_kind, judge, kind_on
from .metrics import (
    ACCURACY,
    E2E,
    LOAD,
    PERCENTILES,
    TIMES,
    aliases,
    compared,
    fact_names,
    gate_key,
    gates,
    grouped,
    metrics,
)
from .options import Context, Options
from .times import STAGES, in_ticks, problem_of


def read(sources: Sources, options: Options) -> Material:
    """Gold and timed traces as lines."""
    options = msgspec.structs.replace(options, k=tuple(dict.fromkeys(options.k)))
    budget = _budget(options)
    judging = Judging.of(options)
    gold, trace = Input(), Input()
    reads = {"gold": gold, "trace": trace}
    if sources.get("baseline") is not None:
        reads["baseline"] = Input()  # read when the gold set is known, which must be the same
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    return Material(
        context=Context(
            options=options,
            judging=judging,
            budget_ms=budget,
            slow_after=in_ticks(Fraction(budget)),
            baseline_source=sources.get("baseline"),
        ),
        gold=gold_stream(sources["gold"], gold, lenient=options.lenient, map=options.map),
        watch=Answerable,
        streams={
            "trace": stream_traces(
                sources["trace"], trace, lenient=options.lenient, map=options.map, needs=ANSWERS, check=untimed
            )
        },
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def _budget(options: Options) -> str:
    """A p95 gate that was given by hand is the budget; of several the last one is in force."""
    named = parse_gates(options.gates, metrics(options), aliases(options))
    given = [gate.bound.text for gate in named if gate.key == "p95" and not gate.bound.sign]
    return given[-1] if given else options.budget


def untimed(trace: Trace) -> tuple[str, str, str] | None:
    """A trace whose numbers are no numbers is a bad line like any other."""
    problem = problem_of(trace)
    return (problem, "Write latencies in milliseconds.", "latency-number") if problem else None


# --- controls: slow, untimed, fast but wrong; and fast and right ---

BUDGET_MS = 2000.0
FAST_MS = 10.0  # within any budget of a pipeline that has something to do
SLOWNESS = 3.0  # times the budget
STAGE_SHARES = {"retrieval": 0.2, "rerank": 0.1, "llm": 0.6, "guard": 0.1}  # shares of the whole
COST = 0.001


def controls(setup: Setup) -> Iterator[Control]:
    """The runs, the good one first; they are well within what the user calls fast enough, or well beyond."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made, budget = ControlAnswers(setup.gold, least_length(setup.options)), _fast_enough(setup)
    fast = min(FAST_MS, budget / 4)
    right = [made.right(item) for item in made.items]
    yield Control(name="fast and right", good=True, data=_timed(right, [fast] * len(right)))
    # Every fifth run is slow: the median looks well, the 95th percentile does not.
    times = [SLOWNESS * budget if number % 5 == 0 else fast for number in range(len(right))]
    yield Control(name="slow p95", data=_timed(right, times))
    rows, skip = made.claims_wrong()
    yield Control(name="fast but wrong", data=_timed(rows, [fast] * len(rows)), skip=skip)
    yield Control(name="runs without times", data={"trace": right})


def _fast_enough(setup: Setup) -> float:
    """What the user calls fast enough: the budget, else their p95 gate, else the default."""
    given = setup.options.get("budget_ms")
    if given is not None:
        return float(given)
    written = re.findall(r"(?<![\w.])p95\s*(?:<=|≤|==?)\s*([0-9.]+)", " ".join(map(str, setup.gates)))
    return float(written[-1]) if written else BUDGET_MS


def _timed(rows: Iterable[Row], times: Iterable[float]) -> dict[str, list[Row]]:
    return {"trace": [_with_time(row, ms) for row, ms in zip(rows, times, strict=True)]}


def _with_time(row: Row, ms: float) -> Row:
    stages = {name: ms * share for name, share in STAGE_SHARES.items()}
    return row | {"e2e_ms": ms, "stage_ms": stages, "cost_usd": COST}


REASONS = answers.REASONS | {"slow": Words("slow", "The run took longer than the budget allows.")}
_COUNTED = (
    *("items", "answerable", "unanswerable", "shipped", "refused", "empty", "missing", "error"),
    *("runs", "runs_failed", "runs_untimed", "runs_summed"),
)


def explain(findings: Findings) -> Explanation:
    context: Context = findings.context
    arms = measure_arms(findings)
    chosen = choice(arms, context)
    return Explanation(
        first=list(first_lines(findings).values()),
        reasons=[*_trade(findings), *findings.reasons, *_about(findings, chosen)],
        counts=_counts(findings, context),
        named={"missing": findings.tally.named("missing")},
        diagnosis=diagnose(findings, arms, chosen),
        offenders=_cards(findings)[: findings.evidence.limit],
        cards=_cards(findings),
        sections=sections(findings, arms, chosen),
        headline=_headline(findings),
        warnings=[*remarks(findings.gathered, context), *context.options.doubts],
    )


def shown(context: Context) -> dict[str, object]:
    """What the options stand for: budgets in their canonical form, rules and tables by name."""
    budgets = {"budget_ms": context.budget_ms, "relaxed_budget_ms": context.options.relaxed_budget}
    referred = {"accuracy": "refer"} if context.options.accuracy == "refer" else {}
    return judging_shown(context.options, context.judging) | budgets | referred


def _counts(findings: Findings, context: Context) -> dict[str, int]:
    tally, counts = findings.tally, survey_of(findings.gathered).chosen(context.sweep)
    left_out = {"warm_up": counts.warm_up, "unknown_qid": counts.unknown.lines}
    left_out |= {"reused": counts.reused} if counts.reused else {}
    return {name: tally[name] for name in _COUNTED} | {"arms": len(context.arms)} | left_out


def _headline(findings: Findings) -> dict[str, object]:
    """The keys that existing checks read from the top level of the report, of the arm that decides."""
    measures, tally = findings.measures, findings.tally
    return {
        "arm": findings.part,
        **{name: number(measures[name].value) for name in TIMES},
        "samples": measures["p95"].n,
        "answered": tally["answered"],
        "refused": tally["refused"],
        **{key: number(measures[name].value) for key, name in RATES.items()},
        "gates": shown_gates(findings.gates),
    }


# --- reasons ---


def _trade(findings: Findings) -> list[str]:
    """Accuracy never pays for time that the budget does not have."""
    before, now = findings.baseline.get("precision"), findings.measures["precision"].value
    over = next(filter(_over_time, findings.outcomes), None)
    if before is None or now is None or now <= before or over is None:
        return []
    late = f"{over.gate.key} {decimal(over.measure.value or Fraction(0), 1)} ms"
    return [f"accuracy up but latency over → NO-SHIP: precision {decimal(before)} → {decimal(now)}, {late}"]


def _over_time(outcome: Outcome) -> bool:
    return outcome.gate.metric in TIMES and outcome.state.startswith("FAIL")


def _about(findings: Findings, chosen: Choice) -> list[str]:
    arm, arms = findings.part, findings.context.arms
    if len(arms) == 1:
        return []
    compared = f"{len(arms)} arms compared"
    if chosen.interactive is None:
        return [f"{compared}; no arm passes every accuracy gate, so arm {arm} was judged"]
    fastest = "the fastest that passes every accuracy gate"
    role = fastest if arm == chosen.interactive else "as requested"
    return [f"{compared}; arm {arm} was judged, {role}"]


def _cards(findings: Findings) -> Cards:
    """Of the deciding arm: wrong answers where a gate on accuracy is missed and decides, then slow runs."""
    evidence, arm = findings.evidence, findings.part
    deciding = [outcome for outcome in findings.outcomes if outcome.gate.severity == "block"]
    slow = evidence.cards(kind_on(arm, SLOW))
    wrong = [kind_on(arm, f"{WRONG} {kind}".strip()) for kind in shown_kinds(first_lines(findings))]
    return evidence.cards(*wrong) + slow if misses(deciding, ACCURACY) else slow


# --- the tables and the curve: arms, loads, lengths of questions ---

SHOWN_TIMES = (*TIMES, "tail_amplification")
Measures = Mapping[str, Measure]


def sections(findings: Findings, arms: Mapping[str, ArmNumbers], choice: Choice) -> dict[str, object]:
    marks = points(arms)
    front = {point.arm for point in frontier(marks)}
    tallies = {arm: findings.evidence.part(arm) for arm in arms}
    recalls = [name for name in findings.known if name.startswith("recall@")]
    return {
        "arms": [_arm(arm, one.measures, tallies[arm], arm in front, recalls) for arm, one in arms.items()],
        "choice": choice._asdict(),
        "curve": _curve(marks, front, arms, findings.context),
        "loads": list(_parts(tallies, findings.known, "load=")),
        "lengths": list(_parts(tallies, findings.known, "length=")),
    }


def _arm(arm: str, own: Measures, tally: Tally, on_front: bool, recalls: Sequence[str]) -> Row:
    stages = [stage for stage in STAGES if own[f"{stage}_p50"].n]
    shown = ("cost_per_correct", *ACCURACY, *recalls)
    return {
        "arm": arm,
        "n": tally["runs"],
        "questions": tally["items"],
        "failed": tally["runs_failed"],
        **{name: measure_dict(own[name]) for name in (*SHOWN_TIMES, *shown)},
        "stages": {stage: {f"p{p}": number(own[f"{stage}_p{p}"].value) for p in PERCENTILES} for stage in stages},
        "lower_bound": tally["runs_summed"] > 0,
        "frontier": on_front,
        "notes": notes(own, tally),
    }


def notes(own: Measures, tally: Tally) -> list[str]:
    """Percentiles that too few questions stand behind, however often each of them was asked."""
    remarks = []
    groups = tally.groups(grouped(E2E))
    for p in (95, 99):
        needed, n = stats.min_n_for_quantile(Fraction(p, 100)), own[f"p{p}"].n
        n -= sum((len(group) - 1) * count for group, count in groups.items())
        if needed is not None and 0 < n < needed:
            remarks.append(f"p{p} has no upper confidence bound: {plural(n, 'question')}, at least {needed} needed")
    return remarks


def _curve(
    marks: Sequence[ArmPoint], front: set[str], arms: Mapping[str, ArmNumbers], context: Context
) -> dict[str, object]:
    """The points of the pictures: p95 and p99 against precision and chr, which are on the frontier, and the budget."""
    shown = [
        {
            "arm": point.arm,
            "p95_ms": number(point.p95),
            "p99_ms": number(arms[point.arm].measures["p99"].value),
            "precision": number(point.precision),
            "chr": number(arms[point.arm].measures["chr"].value),
            "frontier": point.arm in front,
        }
        for point in sorted(marks, key=lambda point: (point.p95, point.arm))
    ]
    return {
        "points": shown,
        "budget_ms": number(Fraction(context.budget_ms)),
        "relaxed_budget_ms": number(Fraction(context.options.relaxed_budget)),
    }


def _parts(tallies: Mapping[str, Tally], known: Mapping[str, Metric], prefix: str) -> Iterator[Row]:
    """Percentiles and precision of each part of each arm: each load, each bucket of question length."""
    for arm, tally in tallies.items():
        for name in sorted((name for name in tally.slices if name.startswith(prefix)), key=_part_order):
            part = tally.slice(name)
            if not part["runs"]:
                continue
            row = {"arm": arm, prefix.rstrip("="): name.removeprefix(prefix), "n": part["runs"]}
            # A load is a matter of runs, not of questions.
            shown = (*SHOWN_TIMES, "precision") if part["items"] else SHOWN_TIMES
            yield row | {metric: number(known[metric].measure(part).value) for metric in shown}


def _part_order(name: str) -> tuple[float, str]:
    value = name.partition("=")[2]
    order = {"short": 0.0, "medium": 1.0, "long": 2.0}
    return (order[value] if value in order else float(value), name)


# --- diagnosis: how the arms compare, and which way to look when the time is over ---

_ROLES = {"interactive": "for interactive use", "batch": "for batch work", "knee": "as the best trade-off (knee)"}


def diagnose(findings: Findings, arms: Mapping[str, ArmNumbers], choice: Choice) -> list[str]:
    """The arms, the time, and what the answers suite says about the deciding arm's answers."""
    context: Context = findings.context
    about_answers = answer_hints(_of_one_arm(findings), context.options.k, context.judging)
    return [*_compare_arms(arms, choice), *_about_time(findings), *about_answers]


def _of_one_arm(findings: Findings) -> Findings:
    """The findings as the answers suite reads them: the ids of the deciding arm are the only ones."""
    evidence = findings.evidence.counts_alone()
    evidence.seen = {"ids": findings.evidence.seen.get(ids_kind(findings.part), set())}
    return msgspec.structs.replace(findings, evidence=evidence)


def _compare_arms(arms: Mapping[str, ArmNumbers], choice: Choice) -> list[str]:
    """The arms in one line, fastest first, and the three choices; nothing where there is one arm."""
    if len(arms) < 2:
        return []
    marks = sorted(points(arms), key=lambda point: (point.p95, point.arm))
    front = {point.arm for point in frontier(marks)}
    shown = [
        f"{point.arm} {decimal(point.p95, 1)} ms at {decimal(point.precision)}{' *' if point.arm in front else ''}"
        for point in marks
    ]
    chosen = ", ".join(f"{arm or 'none'} {_ROLES[role]}" for role, arm in choice._asdict().items())
    return [
        f"p95 and precision of each arm: {'; '.join(shown)}. No arm is both faster and more precise than one with *.",
        f"Best arm: {chosen}.",
    ]


def _about_time(findings: Findings) -> list[str]:
    failed = {outcome.gate.metric for outcome in findings.outcomes if outcome.state.startswith("FAIL")}
    hints = []
    if failed & {"p50", "p90", "p95", "p99"}:
        hints += _stage_hint(findings.measures) + _tail_hint(findings.measures, "p50" in failed)
    if "cost_per_correct" in failed:
        hints.append("A correct answer costs more than allowed. Check the context size and the retries.")
    return [*hints, *_run_hints(findings.tally), *notes(findings.measures, findings.tally)]


def _run_hints(tally: Tally) -> list[str]:
    hints = []
    if summed := tally["runs_summed"]:
        hints.append(
            f"{plural(summed, 'run')} have stage times but no total. The sum of the stages was used; it may be too low."
        )
    if failed := tally["runs_failed"]:
        hints.append(f"{plural(failed, 'run')} failed. Percentiles cover successful runs only.")
    return hints


def _stage_hint(own: Measures) -> list[str]:
    """The stage with the largest p95, where stages are known."""
    known = [(own[f"{stage}_p95"].value, stage) for stage in STAGES if own[f"{stage}_p95"].value is not None]
    if not known:
        return ["The traces have no stage times. Log stage_ms to see where the time goes."]
    value, stage = max(known, key=lambda pair: (pair[0] or Fraction(0), pair[1]))
    return [f"The slowest stage is {stage}: its p95 is {decimal(value or Fraction(0), 1)} ms."]


def _tail_hint(own: Measures, median_over: bool) -> list[str]:
    tail = own["tail_amplification"].value
    if median_over or tail is None or tail < 3:
        return []
    return [
        f"The median is fine, but p99 is {decimal(tail, 1)} times p50: a few runs are very slow. "
        "Check queues, retries, cold caches and long contexts."
    ]


SUITE = Suite(
    name="latency",
    description="Is it fast enough, and what does speed cost in accuracy?",
    inputs=(
        InputSpec("gold", "Gold set, JSON lines."),
        InputSpec("trace", "Traces with latencies (e2e_ms, or stage_ms), JSON lines.", many=True),
        InputSpec("baseline", "Earlier latency report (JSON) on the same gold set, to compare with.", False),
    ),
    options=Options,
    read=read,
    survey=arms.LatencySurvey,
    settle=arms.settle,
    judge=judge,
    card=card,
    brief=True,
    fact_names=fact_names,
    compared=compared,
    slice_values={"load": LOAD},
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    gate_key=gate_key,
    part=arms.part,
    baseline=arms.baseline,
    review=arms.review,
    explain=explain,
    shown=shown,
    controls=controls,
    refers_to="answers",
    display=Display(counts=SCOPE, reasons=REASONS, pictures={"curve": "speed by quality"}),
)
