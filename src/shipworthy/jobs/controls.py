"""Controls: runs with known truth, made from the user's own gold set, held against the gates in force.

A configuration that lets a known-bad run ship, or stops a known-good one, is broken.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ..config import Config, SuiteConfig
from ..core.control import Control, Setup
from ..core.custom import parse_metrics
from ..core.decision import Decision
from ..core.gates import Gate
from ..core.options import fields_of, make_options
from ..core.policy import apply_policy
from ..core.sources import GoldSource, load_gold, require_answerable
from ..core.suite import Suite
from ..errors import ShipworthyError, UsageError
from ..suites import SUITES, load_suite
from .evaluate import run_suite

SKIPPED = "SKIPPED"
# What says where data comes from or how much is printed: the controls bring their own data, under the gold's own ids.
_NOT_OURS = frozenset({"map", "id_map", "sweep", "arm", "arms", "offenders", "custom_metrics", "where", "quarantine"})


class ControlResult(msgspec.Struct, frozen=True):
    """One control held against the gates in force."""

    suite: str
    name: str
    good: bool
    expected: str  # SHIP, or stopped: NO-SHIP or NO VERDICT
    verdict: str  # SHIP, NO-SHIP, NO VERDICT, SKIPPED
    as_expected: bool | None  # None where it was skipped
    why: str
    stopped_by: tuple[str, ...] = ()  # the gates that stopped it

    @property
    def broken(self) -> bool:
        return self.as_expected is False

    @property
    def skipped(self) -> bool:
        return self.verdict == SKIPPED

    def __str__(self) -> str:
        return f"{self.suite}: {self.name} {'is stopped' if self.good else 'ships'}"


class Results(list[ControlResult]):
    """The results of one configuration; printed, they are their summary."""

    @property
    def ran(self) -> list[ControlResult]:
        return [one for one in self if not one.skipped]

    @property
    def sound(self) -> bool:
        """Every control went as it should, and there was at least one: nothing tried is not a pass."""
        return bool(self.ran) and not any(one.broken for one in self)

    def __str__(self) -> str:
        """`12 of 12 bad controls stopped, 5 of 5 good ones shipped`, and by name what should not have happened."""
        bad, good = ([one for one in self.ran if one.good is kind] for kind in (False, True))
        parts = [
            f"{sum(not one.broken for one in bad)} of {len(bad)} bad controls stopped",
            f"{sum(not one.broken for one in good)} of {len(good)} good ones shipped",
        ]
        if len(self.ran) < len(self):
            parts.append(f"{len(self) - len(self.ran)} skipped")
        broken = "; ".join(str(one) for one in self if one.broken)
        return ", ".join(parts) + (f". The configuration is broken: {broken}" if broken else "")

    def report(self) -> dict[str, object]:
        """The results as plain values."""
        return {
            "summary": str(self),
            "passed": self.sound,
            "broken": [str(one) for one in self if one.broken],
            "skipped": len(self) - len(self.ran),
            "controls": [msgspec.to_builtins(one) for one in self],
        }


def result(suite: str, control: Control, verdict: str, why: str, stopped_by: Iterable[str] = ()) -> ControlResult:
    expected = "SHIP" if control.good else "stopped"
    as_expected = None if verdict == SKIPPED else (verdict == "SHIP") == control.good
    return ControlResult(suite, control.name, control.good, expected, verdict, as_expected, why, tuple(stopped_by))


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """One suite as it is configured: what decides whether a run ships."""

    suite: Suite
    inputs: Mapping[str, Any] = {}  # the gold set among them, the demo's where there is none
    gates: Sequence[str | Gate] = ()
    policies: Sequence[Gate] = ()  # severities that are laid on the gates
    options: Mapping[str, Any] = {}
    named: bool = True


def with_controls() -> list[str]:
    """The suites that have controls."""
    return [name for name in SUITES if load_suite(name).controls is not None]


def run_controls(
    suite: str | Config | None = None,
    *,
    gold: GoldSource | None = None,
    gates: str | Iterable[str | Gate] = (),
    options: Mapping[str, object] | None = None,
) -> Results:
    """Hold the control runs of a suite (of every suite; of every suite of a config) against its gates.

    `gold` is what the runs are made of, the demo's where there is none. `options` are the suite's own
    (scu_enforced, only_gates, k, budget_ms …), and its tables by name, such as `fixture` for reasoning.
    """
    if isinstance(suite, Config):
        return _run_config(suite)
    wanted = (gates,) if isinstance(gates, (str, Gate)) else tuple(gates)
    if suite is None:
        if wanted:
            raise UsageError(
                "gates belong to a suite", hint=f"Name it: {', '.join(with_controls())}.", code="controls-suite"
            )
        return _run_all(gold, options or {})
    if suite not in with_controls():
        hint = f"Use one of {', '.join(with_controls())}."
        raise UsageError(f"there are no controls for a suite {suite!r}", hint=hint, code="suite-unknown")
    setting = _configured(load_suite(suite), gold, options or {}, gates=wanted)
    make_options(setting.suite.options, setting.options, suite)  # one that it does not have is told before it runs
    return Results(_run(setting))


def _configured(suite: Suite, gold: GoldSource | None, given: Mapping[str, object], **more: Any) -> Configuration:
    """A suite with its tables and its options, which are given together."""
    tables = _tables(suite)
    inputs: dict[str, object] = {} if gold is None else {"gold": gold}
    inputs |= {name: value for name, value in given.items() if name in tables}
    options = {name: value for name, value in given.items() if name not in tables}
    return Configuration(suite=suite, inputs=inputs, options=options, **more)


def _tables(suite: Suite) -> set[str]:
    return {spec.name for spec in suite.inputs if spec.table}


def _run_all(gold: GoldSource | None, options: Mapping[str, Any]) -> Results:
    """Every suite, each with the options that it has."""
    if "profile" in options:
        hint = f"Name it: {', '.join(with_controls())}."
        raise UsageError("a profile belongs to a suite", hint=hint, code="controls-suite")
    results = Results()
    items = (
        None
        if gold is None
        else list(load_gold(gold, by=options.get("by") or (), map=options.get("map") or ()).items.values())
    )
    for name in with_controls():
        suite = load_suite(name)
        known = {*_tables(suite), *fields_of(suite.options)}
        own = {key: value for key, value in options.items() if key in known}
        results += _run(_configured(suite, items, own, named=False))
    return results


def _run_config(config: Config) -> Results:
    """Every suite of a config as `check` would judge it, without waivers: they excuse a gate and don't change it."""
    results = Results()
    for suite in config.suites:
        try:
            results += _run(_configuration(suite))
        except (ShipworthyError, OSError) as error:
            results.append(result(suite.name, Control(name="all"), SKIPPED, str(error)))
    return results


def _configuration(suite: SuiteConfig) -> Configuration:
    loaded = load_suite(suite.name)
    if loaded.controls is None:
        raise UsageError("what people did can't be made up, so this suite has no controls", code="controls-none")
    return Configuration(
        suite=loaded, inputs=suite.inputs, gates=suite.gates, policies=suite.policies, options=suite.options
    )


def _run(setting: Configuration) -> Iterator[ControlResult]:
    setting = _without_custom(setting)
    suite = setting.suite
    assert suite.controls is not None
    options = {key: value for key, value in setting.options.items() if key not in _NOT_OURS}
    setup = Setup(
        gold=_items(setting), inputs=setting.inputs, options=options, gates=setting.gates, named=setting.named
    )
    tables = {name: source for name, source in setting.inputs.items() if name in _tables(suite)}
    base: dict[str, Fraction] | None = None
    for control in suite.controls(setup):  # the good one comes first, and stands in for the baseline of gates
        if control.skip:
            yield result(suite.name, control, SKIPPED, control.skip)
            continue
        decision = run_suite(suite, tables | control.data, options | {"gates": list(setting.gates)})
        if control.good:
            base = _measured(decision)
        decision = apply_policy(decision, policies=setting.policies, baseline=base, today=datetime.date.min)
        yield _judged(suite.name, control, decision)


def _without_custom(setting: Configuration) -> Configuration:
    """Without gates on metrics of the config's own: nobody scored the runs that the controls make up."""
    custom = {one.name for one in parse_metrics(setting.options.get("custom_metrics") or {})}
    if not custom:
        return setting
    own = [gate for gate in setting.gates if _metric(gate) not in custom]
    return msgspec.structs.replace(
        setting, gates=own, policies=[gate for gate in setting.policies if gate.metric not in custom]
    )


def _metric(gate: str | Gate) -> str:
    return (gate if isinstance(gate, Gate) else Gate.parse(gate)).metric


def _measured(decision: Decision) -> dict[str, Fraction]:
    values = {outcome.gate.key: outcome.measure.value for outcome in decision.outcomes}
    return {key: value for key, value in values.items() if value is not None}


def _judged(suite: str, control: Control, decision: Decision) -> ControlResult:
    blocking = [outcome for outcome in decision.outcomes if outcome.gate.severity == "block"]
    if control.needs and not any(outcome.gate.metric in control.needs for outcome in blocking):
        return result(suite, control, SKIPPED, f"no gate in force is about {' or '.join(control.needs)}")
    # Where a gate fails, that is what stops; gates without data only do so where none fails.
    failed = [outcome for outcome in blocking if not outcome.holds and outcome.state != "NO-DATA"]
    empty = [outcome for outcome in blocking if outcome.state == "NO-DATA"]
    stopped = [str(outcome.gate) for outcome in failed or empty]
    reasons = [*decision.reasons, *_shown_by(control, decision)]
    return result(suite, control, decision.verdict, "; ".join(reasons), stopped)


def _shown_by(control: Control, decision: Decision) -> list[str]:
    """The item that shows what is broken: the worst one of a good run that is stopped, one that a bad run passes."""
    if control.good and not decision.ships:
        return [f"{card['qid']}: {card['says']}" for card in decision.offenders[:1] if card.get("says")]
    if not control.good and decision.ships:
        return [
            f"{row['qid']} passes"
            for row in decision.items
            if row.get("passed") is True and row.get("status") == "answered"
        ][:1]
    return []


def _items(setting: Configuration) -> list[object]:
    """The gold items that the runs are made of; the demo's where the suite has no other input to make them from."""
    inputs = setting.inputs
    reads_gold = any(spec.name == "gold" for spec in setting.suite.inputs)
    if not reads_gold or ("gold" not in inputs and ("pairs" in inputs or "scholar" in inputs)):
        return []
    source = inputs.get("gold", Path(str(files("shipworthy.demo") / "gold.jsonl")))
    given = setting.options
    gold = load_gold(source, lenient=bool(given.get("lenient")), by=_fields(setting), map=given.get("map") or ())
    if any(spec.name == "gold" and spec.required for spec in setting.suite.inputs):
        require_answerable(gold)
    return list(gold.items.values())


def _fields(setting: Configuration) -> list[str]:
    """Fields that the options or the gates slice by, to be kept while reading."""
    named = [field for gate in setting.gates for field in re.findall(r"\[(\w+)=", str(gate))]
    by = setting.options.get("by") or ()
    return [*([by] if isinstance(by, str) else by), *named]
