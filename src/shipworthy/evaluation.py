"""Evaluate: read, join, judge, count, measure, compare, decide — the calls in a row; the file to read first."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec

from .cases import Case, Joined, Keep, join
from .contracts import GoldSet, GoldSource, Input, TraceSource, load_gold, stream_traces
from .decision import Decision, decide
from .engines import inline
from .errors import DataError, UsageError
from .gates import Gate, Outcome, compare, parse_gates
from .goldlock import content_digest, lock_problems
from .jsonl import read_objects
from .metrics import Measure, Metric
from .policy import turns
from .refusal import load_rule
from .suites import answers
from .suites.answers import Options, Verdict
from .tally import Tally

if TYPE_CHECKING:
    from .contradiction import Rules
    from .idscheme import IdMap

Tick = Callable[[int], None]
PROFILES = ("strict", "reference")


def evaluate(
    gold: GoldSource,
    traces: TraceSource,
    *,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    k: int | Iterable[int] = 5,
    profile: str = "strict",
    scu_enforced: bool = False,
    min_substr: int = 5,
    on_duplicate: Keep = "last",
    closed: bool = False,
    lenient: bool = False,
    by: Iterable[str] = (),
    refusal: str = "exact",
    refusal_phrases: Iterable[str] = (),
    id_map: str | IdMap | None = None,
    chunks: str | Mapping[str, str] | None = None,
    rules: Rules | None = None,
    offenders: int = 10,
    require_proof: bool = False,
    tick: Tick | None = None,
) -> Decision:
    """Score the traces of a question-answering pipeline against a gold set, and decide.

    `gold` and `traces` are paths, or iterables of dicts or of typed records.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    options = Options(
        k=depths(k), min_substr=min_substr, scu_enforced=scu_enforced, keep=on_duplicate, closed=closed,
        by=slice_fields(by, wanted), id_map=_id_map(id_map),
        chunks=read_chunks(chunks) if isinstance(chunks, str) else chunks, declared=refusal != "exact", rules=rules,
        rule=load_rule("natural" if refusal == "exact" else refusal, refusal_phrases),
    )  # fmt: skip
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"Use {' or '.join(PROFILES)}.", code="profile")
    reference = profile == "reference"
    known = answers.metrics(options)
    chosen = choose_gates(answers.gates(options), wanted, known, answer_aliases(options), only_gates, require_proof)
    gold_set = load_gold(gold, lenient=lenient, last_wins=reference, by=options.by)
    require_answerable(gold_set)
    read = Input()
    stream = stream_traces(traces, read, lenient=lenient, unnamed=reference)
    with uncollected():
        joined = join(gold_set, _ticking(stream, tick), options.keep, options.closed)
    if reference:
        return _reference_decision(joined, gold_set, read, chosen, options, lock_problems(gold))
    return _strict_decision(joined, gold_set, read, chosen, known, options, offenders, lock_problems(gold))


def _strict_decision(
    joined: Joined, gold_set: GoldSet, read: Input, gates: list[Gate], known: dict[str, Metric], options: Options, most: int,
    incomplete: list[str],
) -> Decision:  # fmt: skip
    def judge(case: Case) -> Verdict:
        verdict = answers.judge(case, options)
        verdict.slices = slices_of(case, options.by)
        return verdict

    tally, verdicts = inline.tally(joined.cases, judge, lambda verdict: answers.facts(verdict, options), answers.slices)
    tally.counts["superseded"] = joined.superseded
    tally.counts["unknown_qid"] = sum(joined.unknown.values())
    measures, outcomes = measure_all(tally, known, gates)
    verdict, reasons = decide(outcomes, incomplete)
    bad = gold_set.source.bad + read.bad
    decision = Decision(
        "answers", "strict", verdict, reasons, outcomes, measures,
        slices=slice_measures(tally, known),
        counts=answers.counts(tally),
        named=answers.named(verdicts, joined),
        diagnosis=answers.diagnose(outcomes, measures, tally, verdicts, gold_set.items, options),
        offenders=answers.offenders(verdicts, gold_set.items, most),
        items=answers.items(verdicts),
        sections=answers.sections(tally, verdicts),
        headline=answers.headline(measures, tally, options, gates),
        options=options.shown(),
        inputs=gold_inputs(gold_set, trace=read),
        compat=answers.compat(joined.cases, measures, options),
        warnings=warnings(gold_set.source, read),
        incomplete=incomplete,
        partial=bad > 0,
        run={"gold": gold_set.source.path, "trace": read.path},
    )  # fmt: skip
    if nearest := turns(decision):
        decision.sections["turns"] = nearest
    return decision


def _reference_decision(
    joined: Joined, gold_set: GoldSet, read: Input, gates: list[Gate], options: Options, incomplete: list[str]
) -> Decision:
    shown, exact = answers.reference(joined.cases, options.k[0])
    measures = {name: Measure(name, "coefficient", value, int(shown["answered"])) for name, value in exact.items()}  # type: ignore[call-overload]
    known = answers.metrics(options)
    gated = [gate for gate in gates if gate.metric in exact]
    outcomes = [compare(gate, known[gate.metric], measures[gate.metric], True) for gate in gated]
    verdict, reasons = decide(outcomes, incomplete)
    return Decision(
        "answers", "reference", verdict, reasons, outcomes, measures,
        headline=shown | {"gates": answers.gate_texts(gated)}, options=options.shown(),
        incomplete=incomplete, inputs=gold_inputs(gold_set, trace=read), warnings=warnings(gold_set.source, read),
        run={"gold": gold_set.source.path, "trace": read.path},
    )  # fmt: skip


def choose_gates(
    defaults: list[Gate], wanted: Sequence[str | Gate], known: Mapping[str, Metric], aliases: Mapping[str, str],
    only: bool = False, require_proof: bool = False,
) -> list[Gate]:  # fmt: skip
    """The default gates with the wanted ones in their place; `only` drops the defaults."""
    named = [
        gate for text in wanted for gate in (parse_gates([text], known, aliases) if isinstance(text, str) else [text])
    ]
    chosen: dict[str, Gate] = {} if only else {gate.key: gate for gate in defaults}
    chosen |= {gate.key: gate for gate in named}
    if not chosen:
        raise UsageError("no gate is left to decide by", hint="Name one with --gates.", code="gate-none")
    if require_proof:
        return [msgspec.structs.replace(gate, on_unproven="fail") for gate in chosen.values()]
    return list(chosen.values())


def measure_all(
    tally: Tally, known: Mapping[str, Metric], gates: Iterable[Gate], baseline: Mapping[str, Fraction] | None = None
) -> tuple[dict[str, Measure], list[Outcome]]:
    """Every metric measured over everything, and every gate compared, the sliced ones on their slice."""
    measures = {name: _measure(metric, tally) for name, metric in known.items()}
    outcomes = []
    for gate in gates:
        part = tally.slice(gate.slice) if gate.slice else tally
        measure = _measure(known[gate.metric], part) if gate.slice else measures[gate.metric]
        base = (baseline or {}).get(gate.key)
        # A slice that nobody is in is most likely misspelt: that is missing data, not a gate that does not apply.
        applies = known[gate.metric].applies(part) or (bool(gate.slice) and gate.slice not in tally.slices)
        outcomes.append(compare(gate, known[gate.metric], measure, applies, base))
    return measures, outcomes


def _measure(metric: Metric, tally: Tally) -> Measure:
    return msgspec.structs.replace(metric.measure(tally), better=metric.better)


def slice_measures(tally: Tally, known: Mapping[str, Metric]) -> dict[str, dict[str, Measure]]:
    return {
        name: {metric.name: _measure(metric, tally.slice(name)) for metric in known.values()}
        for name in sorted(tally.slices)
    }


def inputs(**read: Input) -> dict[str, dict[str, Any]]:
    """What was read, without its path: digest, records, and how many were bad."""
    return {
        name: {
            "sha256": source.digest or None,
            "records": source.records,
            "bad": source.bad,
            "problems": source.problems,
        }
        for name, source in read.items()
    }


def gold_inputs(gold: GoldSet, **read: Input) -> dict[str, dict[str, Any]]:
    """As `inputs`, with the digest of the gold set's content, which the order of its lines does not change."""
    found = inputs(gold=gold.source, **read)
    found["gold"]["content"] = content_digest(gold)
    return found


def warnings(*read: Input) -> list[str]:
    return [str(warned) for source in read for warned in source.warnings]


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cyclic collector: what is read has no cycles, and it would look at each record in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _ticking(stream: Iterable[Any], tick: Tick | None) -> Iterable[Any]:
    if tick is None:
        return stream
    return _ticks(stream, tick)


def _ticks(stream: Iterable[Any], tick: Tick) -> Iterable[Any]:
    for count, pair in enumerate(stream):
        if not count & 0x3FFF:
            tick(count)
        yield pair


def slices_of(case: Case, by: Iterable[str]) -> tuple[str, ...]:
    gold = case.gold
    values = ((field, getattr(gold, field, None) or gold.fields.get(field)) for field in by)
    return tuple(f"{field}={value}" for field, value in values if isinstance(value, str))


def slice_fields(by: Iterable[str], wanted: Iterable[str | Gate]) -> tuple[str, ...]:
    """The fields to slice by: those asked for, and those that a gate names."""
    named = [field for gate in wanted for field in re.findall(r"\[(\w+)=", str(gate))]
    return tuple(dict.fromkeys([*by, *named]))


def depths(k: int | Iterable[int]) -> tuple[int, ...]:
    ks = (k,) if isinstance(k, int) else tuple(dict.fromkeys(k))
    if not ks or any(value < 1 for value in ks):
        raise UsageError("k must be at least 1", hint="Write --k 5 or --k 1,3,5,10.", code="k-range")
    return ks


def answer_aliases(options: Options) -> dict[str, str]:
    first = options.k[0]
    short = {"recall": f"recall@{first}", "recall@k": f"recall@{first}", "recall_any@k": f"recall_any@{first}"}
    return answers.ALIASES | short | {"chr@k": f"chr@{first}"}


def require_answerable(gold: GoldSet) -> None:
    """An item that does not say whether it is answerable can't be judged, and nobody guesses."""
    for qid, item in gold.items.items():
        if item.answerable is None:
            raise DataError(f"qid {qid!r} does not say whether it is answerable",
                            where=f"{gold.source.path}:{gold.lines[qid]}", hint='Add "answerable": true or false.',
                            code="gold-answerable")  # fmt: skip


def _id_map(id_map: str | IdMap | None) -> IdMap | None:
    if not isinstance(id_map, str):
        return id_map
    from .idscheme import parse_id_map

    return parse_id_map(id_map)


def read_chunks(path: str) -> dict[str, str]:
    """Texts by id, from JSON lines with `id` and `text`."""
    found: dict[str, str] = {}
    for line, row in read_objects(path):
        if not isinstance(row.get("id"), str) or not isinstance(row.get("text"), str):
            raise DataError("a chunk needs an id and a text, both strings", where=f"{path}:{line}", code="chunk")
        found[row["id"]] = row["text"]
    return found
