"""Evaluate retrieval: the shadow log against a gold set, beside the live log where there is one, and decide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ..contracts import GoldSet, GoldSource, Input, TraceSource, load_gold, stream_traces
from ..decision import Decision, decide, number
from ..embedders import Embedder, Lexical
from ..engines import inline
from ..errors import DataError
from ..evaluation import choose_gates, inputs, measure_all, slice_measures, warnings
from ..gates import Gate, Outcome, compare
from ..jsonl import read_objects
from ..metrics import Measure, Metric
from ..suites import retrieval
from ..suites.retrieval import Context, LogLine, Options, Side, Verdict
from ..suites.retrieval.judge import delta_texts
from ..tally import Tally
from .rankings import evaluate_ids, evaluate_trec

__all__ = ["evaluate_ids", "evaluate_retrieval", "evaluate_trec", "read_texts"]

SLIP = Fraction(2, 100)
LEXICAL = Lexical()
Texts = Mapping[str, str] | str | os.PathLike[str]


class _Read(msgspec.Struct):
    """One log, judged."""

    source: Input
    side: Side
    runs: dict[str, list[LogLine]]
    tally: Tally
    verdicts: list[Verdict]
    measures: dict[str, Measure]
    slices: dict[str, dict[str, Measure]]
    embedder: str


def evaluate_retrieval(
    gold: GoldSource,
    shadow: TraceSource,
    live: TraceSource | None = None,
    *,
    k: int | Iterable[int] = (1, 3, 5, 10),
    match: str = "ids",
    preset: str = "native",
    by: Iterable[str] = (),
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    profile: str = "strict",
    sections: Mapping[str, str] | str | None = None,
    texts: Texts | None = None,
    embedder: Embedder | None = LEXICAL,
    lenient: bool = False,
    offenders: int = 10,
    require_proof: bool = False,
    tick: Callable[[int], None] | None = None,
    **choices: Any,
) -> Decision:
    """Score a shadow index, hold it beside the live one, and say whether it may take traffic.

    `choices` are the named options (denominator, order, ties, duplicates, missing_query, no_relevant, recall, rel_level,
    depth, min_overlap, window, offset_match); what is not chosen is as the preset has it. `embedder` makes ΔS where the
    log has none and texts are at hand; with None it is only read.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    options = retrieval.make_options(preset, k=k, match=match, by=_fields(by, wanted), profile=profile, **choices)
    known = retrieval.metrics(options)
    defaults = retrieval.gates(options, live is not None)
    chosen = choose_gates(defaults, wanted, known, _aliases(options), only_gates, require_proof)
    gold_set = load_gold(gold, lenient=lenient, by=options.by)
    context = Context(options, _sections(sections), read_texts(texts))
    here = _read("shadow", gold_set, shadow, context, known, embedder, lenient, tick)
    if profile == "reference":
        return _reference_decision(gold_set, here, chosen, known, context)
    there = _read("live", gold_set, live, context, known, embedder, lenient, tick) if live is not None else None
    return _decision(gold_set, here, there, chosen, wanted, known, options, offenders)


def _read(
    name: str, gold: GoldSet, source: TraceSource, context: Context, known: Mapping[str, Metric], embedder: Embedder | None,
    lenient: bool, tick: Callable[[int], None] | None,
) -> _Read:  # fmt: skip
    """Read a log, group it by question, judge and count."""
    read, side = Input(), Side()
    runs: dict[str, list[LogLine]] = {qid: [] for qid in gold.items}
    for count, (_, line) in enumerate(stream_traces(source, read, record=LogLine, lenient=lenient)):
        if tick is not None and not count & 0x3FFF:
            tick(count)
        assert isinstance(line, LogLine)
        if str(line.qid) not in runs:
            side.unknown[str(line.qid)] = side.unknown.get(str(line.qid), 0) + 1
            continue
        retrieval.notice(side, line)
        runs[str(line.qid)].append(line)
    runs = {qid: retrieval.group(lines, side) for qid, lines in runs.items()}
    _check(read, side, gold, context)
    used = _with_distance(gold, runs, side, msgspec.structs.replace(context, cites=side.cites), embedder)
    options = context.options

    def judge(qid: str) -> Verdict:
        verdict = retrieval.judge(gold.items[qid], runs[qid], used)
        verdict.slices = _slices(verdict, options.by)
        return verdict

    def facts(verdict: Verdict) -> Any:
        return retrieval.facts(verdict, options)

    tally, verdicts = inline.tally(gold.items, judge, facts, retrieval.slices)
    measures, _ = measure_all(tally, known, ())
    return _Read(
        read, side, runs, tally, verdicts, measures, slice_measures(tally, known), _embedder_id(side, used, embedder)
    )


def _check(read: Input, side: Side, gold: GoldSet, context: Context) -> None:
    if not side.lines:
        unknown = f"; its {sum(side.unknown.values())} lines are about other questions" if side.unknown else ""
        raise DataError(f"the log has no line for any question of the gold set{unknown}", where=read.path,
                        hint="Do gold and log belong together?", code="log-empty")  # fmt: skip
    if context.options.match == "offsets":
        places = [place for item in gold.items.values() for place in item.relevant if not isinstance(place, str)]
        if not any(place.offsets is not None for place in places):
            raise DataError("no relevant block has offsets to match by", where=gold.source.path, code="retrieval-no-offsets",
                            hint='Write relevant as {"id": …, "offsets": [start, end]}, or use --match ids.')  # fmt: skip
        if not side.has_offsets:
            raise DataError("no retrieved block has offsets to match by", where=read.path, code="retrieval-no-offsets",
                            hint="Log topk with offsets in bytes, or use --match ids.")  # fmt: skip


def _with_distance(
    gold: GoldSet, runs: Mapping[str, Sequence[LogLine]], side: Side, context: Context, embedder: Embedder | None
) -> Context:
    """Let ΔS be made where the log has none at all; logged and made distances are never mixed."""
    if side.read_deltas or embedder is None:
        return context
    pairs = [
        found for qid, lines in runs.items() for line in lines if (found := delta_texts(line, gold.items[qid], context))
    ]
    if not pairs:
        return context
    embedder.prepare(text for pair in pairs for text in pair)
    return msgspec.structs.replace(context, distance=embedder.distance)


def _embedder_id(side: Side, context: Context, embedder: Embedder | None) -> str:
    if side.read_deltas:
        named = sorted(name for name in side.embedders if name)
        return f"precomputed: {', '.join(named)}" if named else "precomputed (the log does not name it)"
    return embedder.id if context.distance is not None and embedder is not None else "none"


def _decision(
    gold: GoldSet, here: _Read, there: _Read | None, gates: list[Gate], wanted: Sequence[str | Gate],
    known: Mapping[str, Metric], options: Options, most: int,
) -> Decision:  # fmt: skip
    gates = _softened(gates, wanted, here.embedder)
    baseline = _baseline(gates, there)
    measures, outcomes = measure_all(here.tally, known, gates, baseline)
    measures = {name: measure for name, measure in measures.items() if _worth_showing(name, measures)}
    verdict, reasons = decide(outcomes, _incomplete(here, gates, options))
    metric = f"recall@{options.canary_k}"
    fallen = retrieval.fallen_slices(here.slices, there.slices, metric, SLIP) if there else []
    sources = [gold.source, here.source, *([there.source] if there else [])]
    return Decision(
        "retrieval", "strict", verdict, reasons, outcomes, measures,
        slices=here.slices,
        counts=retrieval.counts(here.tally, here.side),
        named=retrieval.named(here.verdicts, here.side),
        diagnosis=retrieval.diagnose(outcomes, here.verdicts, here.tally, options, here.slices, fallen),
        offenders=retrieval.offenders(here.verdicts, most),
        items=retrieval.items(here.verdicts, options),
        sections=retrieval.sections(here.tally, here.verdicts, options, here.embedder) | _compared(here, there, options, outcomes),
        headline=retrieval.headline(measures, here.verdicts, options),
        options=options.shown(),
        inputs=inputs(gold=gold.source, shadow=here.source, **({"live": there.source} if there else {})),
        warnings=[*warnings(*sources), *_remarks(here, there, gates, options)],
        partial=any(source.bad for source in sources),
        run={"gold": gold.source.path, "shadow": here.source.path} | ({"live": there.source.path} if there else {}),
    )  # fmt: skip


def _worth_showing(name: str, measures: Mapping[str, Measure]) -> bool:
    """trec_eval's P_k only where some list is shorter than k, so that it differs from precision@k."""
    return not name.startswith("P_") or measures[name].value != measures[f"precision@{name[2:]}"].value


def _softened(gates: list[Gate], wanted: Sequence[str | Gate], embedder: str) -> list[Gate]:
    """The default bars of ΔS are a sentence model's: a lexical distance is held against them, but does not block."""
    if "lexical" not in embedder:
        return gates
    asked = {gate.key for text in wanted for gate in ([text] if isinstance(text, Gate) else [])}
    written = " ".join(str(text) for text in wanted)
    return [
        msgspec.structs.replace(gate, severity="warn")
        if gate.metric.startswith("delta_s_") and gate.key not in asked and gate.metric not in written else gate
        for gate in gates
    ]  # fmt: skip


def _baseline(gates: Iterable[Gate], there: _Read | None) -> dict[str, Fraction]:
    """Live's value for each gate that asks for one, on the gate's own slice."""
    found: dict[str, Fraction] = {}
    for gate in gates if there is not None else ():
        assert there is not None
        measures = there.slices.get(gate.slice, {}) if gate.slice else there.measures
        if gate.bound.sign and gate.metric in measures and (value := measures[gate.metric].value) is not None:
            found[gate.key] = value
    return found


def _incomplete(here: _Read, gates: Iterable[Gate], options: Options) -> list[str]:
    """What the grid of questions × seeds × paraphrases lacks."""
    found = []
    missing = here.tally["missing"]
    if missing and options.preset == "native" and options.missing_query == "zero":
        found.append(f"{missing} of {len(here.verdicts)} questions have no log line, and count as 0")
    if any(gate.metric == "lambda_convergent" for gate in gates):
        if undecided := here.tally["groups_undecided"]:
            found.append(
                f"{undecided} groups of one question and seed have too few paraphrases to say whether they converge"
            )
        seeds = len(here.side.seeds)
        holes = sum(seeds - len(verdict.groups) for verdict in here.verdicts if verdict.groups)
        if holes:
            found.append(f"{holes} of {seeds * len(here.verdicts)} groups of one question and seed were not run")
    return found


def _compared(here: _Read, there: _Read | None, options: Options, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    if there is None:
        return {}
    left = {name: measure for name, measure in here.measures.items() if _comparable(name, here, there)}
    found = retrieval.compare_logs(here.verdicts, there.verdicts, options, left, there.measures)
    metric = found["metric"]
    found["slices"] = {
        name: {"shadow": number(measures[metric].value), "live": number(there.slices[name][metric].value)}
        for name, measures in here.slices.items() if name in there.slices
    }  # fmt: skip
    return {"comparison": found}


def _comparable(name: str, here: _Read, there: _Read) -> bool:
    """Distances of two embedders are not compared."""
    return not name.startswith("delta_s") or here.embedder == there.embedder


def _remarks(here: _Read, there: _Read | None, gates: Iterable[Gate], options: Options) -> list[str]:
    found = retrieval.side_warnings("shadow", here.side, options)
    if options.match == "ids" and retrieval.hardly_any(here.verdicts):
        found.append("gold ids turn up in fewer than a tenth of the lists: were the blocks cut anew? --match offsets or --match text "
                     "judges by place [ids-hardly-match]")  # fmt: skip
    if placeless := here.tally["placeless"]:
        found.append(f"{placeless} questions have relevant blocks that --match {options.match} can't see; these are left out "
                     "[gold-placeless]")  # fmt: skip
    if len(here.side.embedders) > 1:
        found.append(f"the log mixes distances of several embedders: {here.embedder} [delta-mixed]")
    if any(gate.severity == "warn" and gate.metric.startswith("delta_s_") for gate in gates):
        found.append(f"delta_s was made with {here.embedder}; its default bars are a sentence model's and don't block. Find bars "
                     "of your own with `retrieval calibrate` and name them with --gates [delta-uncalibrated]")  # fmt: skip
    if there is not None:
        found += [
            *retrieval.side_warnings("live", there.side, options),
            *retrieval.pair_warnings(here.side, there.side),
        ]
        if here.embedder != there.embedder:
            found.append(
                f"delta_s is not compared: shadow has {here.embedder}, live {there.embedder} [delta-embedders]"
            )
    return found


def _reference_decision(
    gold: GoldSet, here: _Read, gates: list[Gate], known: Mapping[str, Metric], context: Context
) -> Decision:
    runs = [(item, here.runs[qid]) for qid, item in gold.items.items()]
    exact = retrieval.reference(runs, context.options, context.sections)
    measures = {name: Measure(name, "coefficient", value, len(runs), missing="" if value is not None else "nothing was logged")
                for name, value in exact.items()}  # fmt: skip
    gated = [gate for gate in gates if gate.metric in exact and not gate.slice and not gate.bound.sign]
    outcomes = [compare(gate, known[gate.metric], measures[gate.metric], True) for gate in gated]
    verdict, reasons = decide(outcomes)
    return Decision(
        "retrieval", "reference", verdict, reasons, outcomes, measures,
        headline={name: None if value is None else round(float(value), 4) for name, value in exact.items()},
        options=context.options.shown(), inputs=inputs(gold=gold.source, shadow=here.source),
        warnings=warnings(gold.source, here.source), run={"gold": gold.source.path, "shadow": here.source.path},
    )  # fmt: skip


def _slices(verdict: Verdict, by: Iterable[str]) -> tuple[str, ...]:
    gold = verdict.gold
    found = [f"type={name}" for name in verdict.target.types]
    for field in by:
        value = getattr(gold, field, None) or gold.fields.get(field)
        if field != "type" and isinstance(value, str):
            found.append(f"{field}={value}")
    return tuple(found)


def _fields(by: Iterable[str], wanted: Iterable[str | Gate]) -> tuple[str, ...]:
    """The fields to slice by: those asked for, and those that a gate names."""
    named = [part.partition("=")[0] for gate in wanted for part in str(gate).split("[")[1:]]
    return tuple(dict.fromkeys(name for name in [*by, *named] if name != "type"))


def _aliases(options: Options) -> dict[str, str]:
    return retrieval.ALIASES | {"recall": f"recall@{options.canary_k}", "precision": f"precision@{options.canary_k}"}


def _sections(given: Mapping[str, str] | str | None) -> Mapping[str, str]:
    return retrieval.read_sections(given) if isinstance(given, str) else given or {}


def read_texts(given: Texts | None) -> Mapping[str, str]:
    """Texts of blocks by id, from a mapping or from JSON lines with `id` and `text`."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    found: dict[str, str] = {}
    for line, row in read_objects(given):
        if not isinstance(row.get("id"), str) or not isinstance(row.get("text"), str):
            raise DataError("a block needs an id and a text, both strings", where=f"{given}:{line}", code="chunk")
        found[row["id"]] = row["text"]
    return found
