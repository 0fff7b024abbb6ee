"""Evaluate retrieval: the shadow log against a gold set, beside the live log where there is one, and decide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from .. import stats
from ..contracts import GoldSet, GoldSource, Input, TraceSource, load_gold, stream_traces
from ..decision import Decision, decide, number
from ..embedders import Embedder, make_embedder
from ..engines import inline
from ..errors import DataError, UsageError
from ..evaluation import (
    choose_gates,
    gold_inputs,
    measure_all,
    read_chunks,
    slice_fields,
    slice_measures,
    uncollected,
    warnings,
)
from ..gates import Gate, compare
from ..goldlock import lock_problems
from ..metrics import Measure, Metric
from ..suites import retrieval
from ..suites.retrieval import Context, LogLine, Options, Side, Verdict
from ..suites.retrieval.board import details
from ..suites.retrieval.judge import delta_texts, wanted_metrics
from ..tally import Tally
from ..text import plural, visible
from .rankings import evaluate_ids, evaluate_trec

__all__ = ["evaluate_ids", "evaluate_retrieval", "evaluate_trec", "read_texts"]

SLIP = Fraction(2, 100)
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
    embedder: Embedder | str | None = "lexical",
    embed_url: str = "",
    embed_model: str = "",
    embed_key_env: str | None = None,
    embed_cache: str | None = None,
    lenient: bool = False,
    offenders: int = 10,
    require_proof: bool = False,
    tick: Callable[[int], None] | None = None,
    **choices: Any,
) -> Decision:
    """Score a shadow index, hold it beside the live one, and say whether it may take traffic.

    `choices` are the named options (denominator, order, ties, duplicates, missing_query, no_relevant, recall, rel_level,
    depth, min_overlap, window, offset_match); what is not chosen is as the preset has it. `embedder`, one of your own or a
    name (precomputed, lexical, http, local), makes ΔS where the log has none and texts are at hand; with None it is only read.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    options = retrieval.make_options(preset, k=k, match=match, by=_beyond_type(by, wanted), profile=profile, **choices)
    known = retrieval.metrics(options)
    defaults = retrieval.gates(options, live is not None)
    chosen = choose_gates(defaults, wanted, known, _aliases(options), only_gates, require_proof)
    asked = {gate.key for gate in choose_gates([], wanted, known, _aliases(options))} if wanted else set()
    if isinstance(embedder, str):
        embedder = make_embedder(embedder, url=embed_url, model=embed_model, key_env=embed_key_env, cache=embed_cache)
    gold_set = load_gold(gold, lenient=lenient, by=options.by)
    context = Context(options, _sections(sections), read_texts(texts))
    with uncollected():
        here = _read(gold_set, shadow, context, known, embedder, lenient, tick)
        there = _read(gold_set, live, context, known, embedder, lenient, tick) if live is not None else None
    if profile == "reference":
        return _reference_decision(gold_set, here, there, chosen, asked, known, context)
    chosen = _softened(chosen, asked, here.embedder)
    incomplete = [*lock_problems(gold), *_incomplete(here, there, chosen, options)]
    decision = _decision(gold_set, here, there, chosen, known, options, offenders, incomplete)
    decision.sections["details"] = details(decision)
    return decision


def _read(
    gold: GoldSet, source: TraceSource, context: Context, known: Mapping[str, Metric], embedder: Embedder | None,
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
    gold: GoldSet, here: _Read, there: _Read | None, gates: list[Gate], known: Mapping[str, Metric], options: Options,
    most: int, incomplete: list[str],
) -> Decision:  # fmt: skip
    baseline = _baseline(gates, there)
    measures, outcomes = measure_all(here.tally, known, gates, baseline)
    measures = {name: measure for name, measure in measures.items() if _worth_showing(name, measures)}
    verdict, reasons = decide(outcomes, incomplete)
    metric = f"recall@{options.canary_k}"
    fallen = retrieval.fallen_slices(here.slices, there.slices, metric, SLIP) if there else []
    logs = _logs(here, there)
    return Decision(
        "retrieval", "strict", verdict, reasons, outcomes, measures,
        slices=here.slices,
        counts=retrieval.counts(here.tally, here.side),
        named=retrieval.named(here.verdicts, here.side),
        diagnosis=retrieval.diagnose(outcomes, here.verdicts, here.tally, options, here.slices, fallen),
        offenders=retrieval.offenders(here.verdicts, most),
        items=retrieval.items(here.verdicts, options),
        sections=retrieval.sections(here.tally, here.verdicts, options, here.embedder) | _compared(here, there, options),
        headline=retrieval.headline(measures, here.verdicts, options),
        options=options.shown(),
        inputs=gold_inputs(gold, **logs),
        warnings=[*warnings(gold.source, *logs.values()), *_remarks(here, there, gates, options)],
        incomplete=incomplete,
        partial=any(source.bad for source in (gold.source, *logs.values())),
        run={"gold": gold.source.path} | {name: source.path for name, source in logs.items()},
    )  # fmt: skip


def _logs(here: _Read, there: _Read | None) -> dict[str, Input]:
    return {"shadow": here.source} | ({"live": there.source} if there is not None else {})


def _worth_showing(name: str, measures: Mapping[str, Measure]) -> bool:
    """trec_eval's P_k only where some list is shorter than k, so that it differs from precision@k."""
    return not name.startswith("P_") or measures[name].value != measures[f"precision@{name[2:]}"].value


def _softened(gates: list[Gate], asked: set[str], embedder: str) -> list[Gate]:
    """The default bars of ΔS are a sentence model's: a lexical distance is held against them, but does not block."""
    if "lexical" not in embedder:
        return gates
    return [
        msgspec.structs.replace(gate, severity="warn")
        if gate.metric.startswith("delta_s_") and gate.key not in asked else gate
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


def _incomplete(here: _Read, there: _Read | None, gates: Sequence[Gate], options: Options) -> list[str]:
    """What the grid of questions × seeds × paraphrases lacks, and what live lacks to be a baseline."""
    among, zero = len(here.verdicts), options.preset == "native" and options.missing_query == "zero"
    found = []
    if zero and (missing := here.tally["missing"]):
        found.append(f"{missing} of {plural(among, 'question')} have no log line, and count as 0")
    if zero and there is not None and any(gate.bound.sign for gate in gates) and (missing := there.tally["missing"]):
        found.append(
            f"{missing} of {plural(among, 'question')} have no line in live's log: a baseline that counts them as 0 is too low"
        )
    if any(gate.metric == "lambda_convergent" for gate in gates):
        if undecided := here.tally["groups_undecided"]:
            found.append(
                f"{plural(undecided, 'group')} of one question and seed: too few paraphrases to say whether they converge"
            )
        seeds = len(here.side.seeds)
        if holes := sum(seeds - len(verdict.groups) for verdict in here.verdicts if verdict.groups):
            found.append(f"{holes} of {seeds * among} groups of one question and seed were not run")
    return found


def _compared(here: _Read, there: _Read | None, options: Options) -> dict[str, Any]:
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
    if unknown := [block for verdict in here.verdicts for line in verdict.lines for block in line.unknown_sections]:
        found.append(f"the section of {plural(len(unknown), 'retrieved block')} is unknown ({visible(unknown[0], 60)!r} is the first); "
                     "they don't count as inside the anchor. Log section_id, or give --sections [section-unknown]")  # fmt: skip
    found += [f"no gold item has the field {visible(field, 60)!r} that --by names [by-unknown]" for field in options.by
              if not any(name.startswith(f"{field}=") for name in here.slices)]  # fmt: skip
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
    gold: GoldSet, here: _Read, there: _Read | None, gates: list[Gate], asked: set[str], known: Mapping[str, Metric],
    context: Context,
) -> Decision:  # fmt: skip
    def exactly(side: _Read) -> dict[str, Fraction | None]:
        runs = [(item, side.runs[qid]) for qid, item in gold.items.items()]
        return retrieval.reference(runs, context.options, context.sections)

    exact, base = exactly(here), exactly(there) if there is not None else {}
    measures = {name: _reference_measure(name, value, len(gold.items)) for name, value in exact.items()}
    gated = [gate for gate in gates if gate.metric in exact and not gate.slice]
    if lost := [gate for gate in gates if gate.key in asked and gate not in gated]:
        raise UsageError(f"the reference profile has no {lost[0].key}", where="--gates", code="gate-unknown",
                         hint=f"It has {', '.join(exact)}, each over everything.")  # fmt: skip
    outcomes = [compare(gate, known[gate.metric], measures[gate.metric], True, base.get(gate.metric)) for gate in gated]
    verdict, reasons = decide(outcomes)
    logs = _logs(here, there)
    return Decision(
        "retrieval", "reference", verdict, reasons, outcomes, measures,
        headline={name: None if value is None else round(float(value), 4) for name, value in exact.items()},
        options=context.options.shown(), inputs=gold_inputs(gold, **logs),
        warnings=warnings(gold.source, *logs.values()),
        run={"gold": gold.source.path} | {name: source.path for name, source in logs.items()},
    )  # fmt: skip


def _reference_measure(name: str, value: Fraction | None, n: int) -> Measure:
    if value is None:
        return Measure(name, "coefficient", None, n, missing="nothing was logged")
    if name in ("coverage", "citation_accuracy"):  # a question either is covered or it is not
        k = int(value * n)
        return Measure(name, "rate", value, n, k, stats.wilson(k, n))
    return Measure(name, "coefficient", value, n)


def _slices(verdict: Verdict, by: Iterable[str]) -> tuple[str, ...]:
    gold = verdict.gold
    found = [f"type={name}" for name in verdict.target.types]
    for field in by:
        value = getattr(gold, field, None) or gold.fields.get(field)
        if field != "type" and isinstance(value, str):
            found.append(f"{field}={value}")
    return tuple(found)


def _beyond_type(by: Iterable[str], wanted: Iterable[str | Gate]) -> tuple[str, ...]:
    """The fields to slice by; the type is always one, from the relevant blocks."""
    return tuple(name for name in slice_fields(by, wanted) if name != "type")


def _aliases(options: Options) -> dict[str, str]:
    spelt = {name: one.name() for one in wanted_metrics(options) for name in retrieval.spellings(one)}
    kept = {f"P_{k}": f"P_{k}" for k in options.k}  # trec_eval's precision is a metric of its own here
    shallow = {name: f"{name}@{options.canary_k}" for name in ("precision", "recall")}
    return retrieval.ALIASES | spelt | kept | shallow


def _sections(given: Mapping[str, str] | str | None) -> Mapping[str, str]:
    return retrieval.read_sections(given) if isinstance(given, str) else given or {}


def read_texts(given: Texts | None) -> Mapping[str, str]:
    """Texts of blocks by id, from a mapping or from JSON lines with `id` and `text`."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    return read_chunks(os.fspath(given))
