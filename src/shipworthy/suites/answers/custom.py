"""Custom metrics of the answers suite: what each says of an item, and whether a judge's score may stop a release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ...core.contracts import Gold, Trace
from ...core.custom import Custom
from ...core.gates import Outcome
from ...core.sources import Input
from ...core.tally import Fact
from ...errors import DataError, UsageError
from ...text import plural, visible

if TYPE_CHECKING:  # most runs have none of it
    from ...core.suite import Findings
    from .calibration import Agreed, Labels
    from .functions import FunctionSource

Value = bool | Fraction | None
SAMPLE = 50  # about so many items are run twice; all of them where there are fewer


class Ready(msgspec.Struct, frozen=True):
    """A metric made ready: the source of its function, the labels of its calibration."""

    spec: Custom
    source: FunctionSource | None = None
    labels: Labels | None = None
    every: int = 1  # one item in so many is run twice


def prepare(metrics: Iterable[Custom], taken: Iterable[str], reads: dict[str, Input]) -> tuple[Ready, ...]:
    """The metrics made ready, and what was read for them; a name that a report uses already is refused."""
    used, ready = set(taken), []
    for spec in metrics:
        if spec.name in used:
            what = f"the name {spec.name} is taken"
            raise UsageError(what, where=f"[metrics.{spec.name}]", hint="Choose another.", code="metric-definition")
        used.add(spec.name)
        source = labels = None
        if spec.py:
            from .functions import find_source

            source = find_source(spec)
            reads[f"py {spec.name}"] = Input(path=source.path, digest=source.digest, records=1)
        if spec.calibration is not None:
            from .calibration import read_labels

            read = reads[f"labels {spec.name}"] = Input()
            labels = read_labels(spec.calibration.labels, read, partial(judged, spec))
        ready.append(Ready(spec, source, labels))
    return tuple(ready)


def sampled(metrics: Iterable[Ready], items: int) -> tuple[Ready, ...]:
    """The same, now that it is known how many items there are to choose a sample from."""
    return tuple(msgspec.structs.replace(one, every=max(1, items // SAMPLE)) for one in metrics)


def shown(metrics: Iterable[Ready]) -> dict[str, object]:
    """The definitions as a report shows them, functions with the digest of their source."""
    return {
        one.spec.name: one.spec.table(shown=True) | ({"source_sha256": one.source.digest} if one.source else {})
        for one in metrics
    }


# --- one item ---


def judge_custom(
    metrics: Iterable[Ready], item: Any, trace: Trace | None, gold: Gold
) -> tuple[dict[str, object], tuple[tuple[Fact, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """The row with what the metrics say of it; and what counts: facts, those that it fails, values held and lacked."""
    values = {one.spec.name: _value(one, trace, gold) for one in metrics if among(one.spec.among, item)}
    failing = tuple(name for name, value in values.items() if value is False or value is None)
    has, lacks = held(metrics, values) if trace is not None and not trace.error else ((), ())
    row = msgspec.to_builtins(item) | columns(metrics, values)
    return row, (tuple(facts(metrics, values, gold.qid, trace)), failing, has, lacks)


def among(group: str, item: Any) -> bool:
    """Whether an item (`judge.ItemRow`) is one of those that a metric is about."""
    if group in ("answerable", "unanswerable"):
        return bool(item.answerable) == (group == "answerable")
    if group == "answered":
        return item.status in ("shipped", "empty")
    if group == "correct":
        return bool(item.correct)
    return group in ("items", item.status)


def _value(one: Ready, trace: Trace | None, gold: Gold) -> Value:
    """What a metric says of an item that it is about; None where a value is missing."""
    spec = one.spec
    if trace is None or trace.error:
        return None
    where = f"{spec.name}, item {visible(gold.qid, 60)!r}"
    if one.source is None:
        return judged(spec, _scores(trace, where).get(spec.score), where)
    from .functions import call

    return judged(spec, call(spec, one.source, gold, trace, one.every), where)


def _scores(trace: Trace, where: str) -> Mapping[str, object]:
    if trace.scores is None:
        return {}
    if not isinstance(trace.scores, dict):
        raise _wrong("scores is not an object of scores by name", where, 'Write {"NAME": 0.9}.')
    return trace.scores


def judged(spec: Custom, value: object, where: str) -> Value:
    """A value as a fact where there is a bar, else as it is: true, false, or a number within its limits."""
    if value is None or (isinstance(value, bool) and not spec.fact):
        return value
    if isinstance(value, str):
        if not spec.equals:
            raise _wrong(f"the text {visible(value, 40)!r} is not a number", where, "Name the texts that pass: equals.")
        return value in spec.equals
    number = _number(value, where)
    if spec.equals:
        raise _wrong(f"{visible(str(value), 40)} is not a text", where, "Use at_least or at_most in place of equals.")
    if (spec.low and number < Fraction(spec.low)) or (spec.high and number > Fraction(spec.high)):
        raise _wrong(
            f"{visible(str(value), 40)} is not between low and high", where, "Correct the score or the limits."
        )
    if not spec.fact:
        return number
    return not (spec.at_least and number < Fraction(spec.at_least)) and not (
        spec.at_most and number > Fraction(spec.at_most)
    )


def _number(value: object, where: str) -> Fraction:
    if isinstance(value, (bool, int, Fraction)):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(str(value))
    raise _wrong(f"{visible(repr(value), 40)} is not a finite number", where, "")


def _wrong(what: str, where: str, hint: str) -> DataError:
    return DataError(what, where=where, hint=hint, code="metric-value")


def facts(metrics: Iterable[Ready], values: Mapping[str, Value], qid: str, trace: Trace | None) -> Iterator[Fact]:
    """What is counted of an item."""
    for one in metrics:
        name = one.spec.name
        if name not in values:
            continue
        value = values[name]
        if isinstance(value, Fraction):
            yield name, value
        else:
            yield f"{name}: {'missing' if value is None else 'passes' if value else 'fails'}"
        if value is not None and _by_judge(one.spec, trace):
            yield f"{name}: by a judge"
        if isinstance(value, bool) and one.labels is not None and qid in one.labels.pending:
            yield f"{name}: label {one.labels.pending[qid]} score {value}"


def held(metrics: Iterable[Ready], values: Mapping[str, Value]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The metrics that must have a value and do, and those that don't; a missing run lacks nothing besides."""
    strict = {one.spec.name: one.spec.value for one in metrics if one.spec.missing == "no-data"}
    told = [(strict[name], value is not None) for name, value in values.items() if name in strict]
    return tuple(value for value, there in told if there), tuple(value for value, there in told if not there)


def _by_judge(spec: Custom, trace: Trace | None) -> bool:
    """Whether the score is neither a person's nor a script's; what nobody vouches for is a judge's."""
    sources = trace.score_sources if trace is not None and isinstance(trace.score_sources, dict) else {}
    stated = sources.get(spec.score) or spec.source
    return not spec.py and str(stated).casefold() not in ("human", "code")


def columns(metrics: Iterable[Ready], values: Mapping[str, Value]) -> dict[str, object]:
    """The values for the item's row; a missing one that counts as failing is shown as that."""
    row: dict[str, object] = {}
    for one in metrics:
        value = values.get(one.spec.name)
        if value is None and one.spec.name in values and one.spec.missing == "fail":
            value = False
        row[one.spec.name] = float(value) if isinstance(value, Fraction) else value
    return row


# --- the whole ---


def calibrations(findings: Findings) -> dict[str, Agreed]:
    """How well each calibrated score agrees with people."""
    if not any(one.labels for one in findings.context.custom):
        return {}
    from .calibration import agreed

    return {
        one.spec.name: agreed(one.spec, one.labels, findings.tally)
        for one in findings.context.custom
        if one.labels is not None
    }


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """The outcomes, with the gates on a judge's score that is not calibrated only warning."""
    known = calibrations(findings)
    caps = {
        one.spec.name: known[one.spec.name].shortfall if one.spec.name in known else "it has no calibration"
        for one in findings.context.custom
        if findings.tally[f"{one.spec.name}: by a judge"]
    }
    return [_capped(outcome, caps) for outcome in findings.outcomes], []


def _capped(outcome: Outcome, caps: Mapping[str, str]) -> Outcome:
    why = caps.get(outcome.gate.metric, "")
    if not why or outcome.gate.severity == "info":
        return outcome
    gate = msgspec.structs.replace(outcome.gate, severity="warn")
    return msgspec.structs.replace(outcome, gate=gate, capped=f"a judge's score can only warn: {why}")


def warnings(findings: Findings) -> list[str]:
    """What a reader must know of the metrics: capped gates, and values that are missing."""
    capped = dict.fromkeys(
        f"{outcome.gate.metric}: {outcome.capped}" for outcome in findings.outcomes if outcome.capped
    )
    return [*capped, *(note for one in findings.context.custom if (note := _missing(one.spec, findings)))]


def _missing(spec: Custom, findings: Findings) -> str:
    count = findings.tally[f"{spec.name}: missing"]
    if not count or spec.missing == "no-data":
        return ""  # the measure itself says so
    became = "count as failing" if spec.missing == "fail" else "are left out"
    return f"{spec.name}: {plural(count, 'item')} among {spec.among} without the {spec.value_name} {became}"
