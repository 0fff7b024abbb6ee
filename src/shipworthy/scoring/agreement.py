"""Score the agreement of two validators: from pairs, from one file each, or from labels derived by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from ..cases import Case, join
from ..contracts import GoldSource, Input, Trace, TraceSource, load_gold, stream_traces
from ..decision import Decision, decide
from ..engines import inline
from ..errors import DataError, UsageError
from ..evaluation import choose_gates, inputs, measure_all, require_answerable, warnings
from ..gates import Gate, compare
from ..goldlock import lock_problems
from ..jsonl import Problem, Problems
from ..metrics import Measure
from ..refusal import load_rule
from ..suites import agreement, answers
from ..suites.agreement import Judgement, OneSided, Options, Pair, Verdict
from ..text import plural
from ._common import Source, check_profile, read_records, some

Record = TypeVar("Record", Pair, OneSided)


class Gathered(msgspec.Struct):
    """The pairs, what they were made of, and the qids that stand on one side only."""

    pairs: list[Pair]
    reads: dict[str, Input]
    source: str
    one_sided: dict[str, list[str]] = {}


def evaluate_agreement(
    *,
    pairs: Source | None = None,
    scholar: Source | None = None,
    auditor: Source | None = None,
    gold: GoldSource | None = None,
    trace: TraceSource | None = None,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    profile: str = "strict",
    min_substr: int = 5,
    lenient: bool = False,
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Decide whether two validators agree well enough, and say what becomes of every answer.

    Give `pairs`; or `scholar` and `auditor`, with `trace` for the answers; or `gold` and `trace`.
    """
    check_profile(profile)
    wanted = [gates] if isinstance(gates, str) else list(gates)
    known = agreement.metrics()
    chosen = choose_gates(agreement.gates(), wanted, known, agreement.ALIASES, only_gates, require_proof)
    gathered = _gather(pairs, scholar, auditor, gold, trace, min_substr, lenient)
    if not gathered.pairs:
        raise DataError(
            "there is no pair to compare", hint="Each line is one answer with both labels.", code="pairs-none"
        )
    options = Options(profile=profile, source=gathered.source)
    tally, verdicts = inline.tally(gathered.pairs, lambda pair: agreement.judge(pair, options), agreement.facts,
                                   agreement.slices)  # fmt: skip
    if profile == "reference":
        return _reference_decision(verdicts, gathered, chosen, options)
    measures, outcomes = measure_all(tally, known, chosen)
    incomplete = [*lock_problems(gold), *_incomplete(gathered)]
    verdict, reasons = decide(outcomes, incomplete)
    return Decision(
        "agreement", "strict", verdict, reasons, outcomes, measures,
        counts={"items": tally["items"], "disagreements": tally["disagreed"], "review": tally["final_REVIEW"]},
        named=agreement.named(verdicts, gathered.one_sided),
        diagnosis=agreement.diagnose(outcomes, measures, tally),
        offenders=agreement.offenders(verdicts, offenders),
        items=agreement.items(verdicts),
        sections=agreement.sections(tally),
        headline=agreement.headline(measures, tally, chosen),
        options=options.shown(),
        inputs=inputs(**gathered.reads),
        incomplete=incomplete,
        compat=agreement.compat(verdicts, measures),
        warnings=warnings(*gathered.reads.values()) + _unanswered(gathered),
        partial=any(read.bad for read in gathered.reads.values()),
        run={name: read.path for name, read in gathered.reads.items()},
    )  # fmt: skip


def _reference_decision(
    verdicts: Sequence[Verdict], gathered: Gathered, gates: Iterable[Gate], options: Options
) -> Decision:
    shown, exact = agreement.reference(verdicts)
    known = agreement.metrics()
    gated = [gate for gate in gates if gate.metric in exact]
    measures = {name: Measure(name, "coefficient", value, len(verdicts)) for name, value in exact.items()}
    outcomes = [compare(gate, known[gate.metric], measures[gate.metric], True) for gate in gated]
    verdict, reasons = decide(outcomes, _incomplete(gathered))
    apart = agreement.arbitration(verdicts)
    return Decision(
        "agreement", "reference", verdict, reasons, outcomes, measures,
        headline=shown | {"disagreements": len(apart), "gates": agreement.gate_numbers(gated)},
        sections={"arbitration": apart}, items=agreement.items(verdicts), options=options.shown(),
        inputs=inputs(**gathered.reads), warnings=warnings(*gathered.reads.values()),
        run={name: read.path for name, read in gathered.reads.items()},
    )  # fmt: skip


def _gather(
    pairs: Source | None, scholar: Source | None, auditor: Source | None, gold: GoldSource | None,
    trace: TraceSource | None, min_substr: int, lenient: bool,
) -> Gathered:  # fmt: skip
    if pairs is not None and scholar is None and auditor is None and gold is None and trace is None:
        return _from_pairs(pairs, lenient)
    if pairs is None and scholar is not None and auditor is not None and gold is None:
        return _from_two(scholar, auditor, trace, lenient)
    if pairs is None and scholar is None and auditor is None and gold is not None and trace is not None:
        return _derived(gold, trace, min_substr, lenient)
    raise UsageError("what shall be compared?", code="agreement-inputs",
                     hint="Give --pairs; or --scholar and --auditor (with --trace); or --gold and --trace.")  # fmt: skip


def _from_pairs(source: Source, lenient: bool) -> Gathered:
    read, problems = Input(), Problems()
    found = _read(source, Pair, read, "pairs", problems)
    read.close(problems, lenient)
    return Gathered([pair for _, pair in found.values()], {"pairs": read}, "pairs")


def _from_two(scholar: Source, auditor: Source, trace: TraceSource | None, lenient: bool) -> Gathered:
    """Two files joined on qid; what only one of them has is kept by name."""
    reads = {"scholar": Input(), "auditor": Input()}
    sides = {role: _side(source, reads[role], role, lenient)
             for role, source in (("scholar", scholar), ("auditor", auditor))}  # fmt: skip
    traces = _last_traces(trace, reads, lenient)
    joined = [_joined(qid, one, sides["auditor"][qid], traces)
              for qid, one in sides["scholar"].items() if qid in sides["auditor"]]  # fmt: skip
    only = {"scholar_only": [qid for qid in sides["scholar"] if qid not in sides["auditor"]],
            "auditor_only": [qid for qid in sides["auditor"] if qid not in sides["scholar"]]}  # fmt: skip
    if trace is not None:
        only["without_trace"] = [str(pair.qid) for pair in joined if pair.answer_json is None]
    return Gathered(joined, reads, "two files", {name: qids for name, qids in only.items() if qids})


def _side(source: Source, read: Input, role: str, lenient: bool) -> dict[str, tuple[Judgement, OneSided]]:
    problems, found = Problems(), {}
    for qid, (number, line) in _read(source, OneSided, read, role, problems).items():
        try:
            found[qid] = line.judgement(role), line
        except ValueError as error:
            problems.add(Problem(read.path, number, str(error), "", "label"))
    read.close(problems, lenient)
    return found


def _joined(
    qid: str, scholar: tuple[Judgement, OneSided], auditor: tuple[Judgement, OneSided], traces: Mapping[str, Trace]
) -> Pair:
    trace = traces.get(qid)
    flags = agreement.merged(scholar[1].flags, auditor[1].flags)
    if trace is None:
        return Pair(qid, scholar[0], auditor[0], flags=flags)
    return Pair(qid, scholar[0], auditor[0], trace.answer, list(trace.retrieved), flags)


def _last_traces(source: TraceSource | None, reads: dict[str, Input], lenient: bool) -> dict[str, Trace]:
    if source is None:
        return {}
    read = reads["trace"] = Input()
    return {str(trace.qid): trace for _, trace in stream_traces(source, read, lenient=lenient)}


def _derived(gold: GoldSource, trace: TraceSource, min_substr: int, lenient: bool) -> Gathered:
    """Labels by rule: scholar from containment and citations, auditor from scope, constraints and token discipline."""
    gold_set, read = load_gold(gold, lenient=lenient), Input()
    require_answerable(gold_set)
    joined = join(gold_set, stream_traces(trace, read, lenient=lenient), "last")
    options = answers.Options(rule=load_rule("natural"), min_substr=min_substr)
    pairs, missing = [], []
    for case in joined.cases:
        if not case.traces:
            missing.append(str(case.gold.qid))
            continue
        found = answers.judge(Case(case.gold, case.traces[:1]), options)
        pairs.append(agreement.derive(case.gold, case.traces[0], found))
    one_sided = {"gold_only": missing, "trace_only": sorted(joined.unknown)}
    return Gathered(pairs, {"gold": gold_set.source, "trace": read}, "derived",
                    {name: qids for name, qids in one_sided.items() if qids})  # fmt: skip


def _read(
    source: Source, record: type[Record], read: Input, name: str, problems: Problems
) -> dict[str, tuple[int, Record]]:
    """Records by qid with their lines; a repeated qid is a problem that names both lines."""
    found: dict[str, tuple[int, Record]] = {}
    for number, line in read_records(source, record, read, name, problems, label_code="label"):
        qid = str(line.qid)
        if qid in found:
            what = f"qid {qid!r} stands in line {found[qid][0]} already"
            problems.add(Problem(read.path, number, what, "Give each answer one line.", "pair-repeated"))
            continue
        found[qid] = number, line
    return found


def _incomplete(gathered: Gathered) -> list[str]:
    """Pairs that lack a side can't agree or disagree; traces beyond the gold set are only remarked on."""
    words = {"scholar_only": "only scholar labelled", "auditor_only": "only auditor labelled",
             "gold_only": "no trace for", "without_trace": "no trace for"}  # fmt: skip
    return [f"{words[name]} {plural(len(qids), 'question')}: {some(sorted(qids))}"
            for name, qids in gathered.one_sided.items() if name in words]  # fmt: skip


def _unanswered(gathered: Gathered) -> list[str]:
    without = sum(pair.answer_json is None for pair in gathered.pairs)
    if not without or "without_trace" in gathered.one_sided:
        return []
    return [f"{plural(without, 'pair')} without an answer: their citations could not be looked at. Add --trace. "
            "[pair-unanswered]"]  # fmt: skip
