"""Run the controls: which suites, on which gold, through which gates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from .. import calls
from ..config import Config, SuiteConfig
from ..contracts import Gold, GoldSource, load_gold
from ..decision import Decision
from ..errors import ShipworthyError, UsageError
from ..evaluation import require_answerable
from ..gates import Gate
from ..jsonl import read_objects
from ..policy import settle
from ..scoring.reasoning import read_fixture
from ..suites.reasoning import PROFILES
from . import agreement, answers, latency, reasoning, retrieval, stability
from .results import SKIPPED, Control, ControlResult, Results, result

SUITES = ("answers", "retrieval", "stability", "latency", "agreement", "reasoning")
BUDGET_MS = 2000
# What says where data comes from or how much is printed: the controls bring their own data, under the gold's own ids.
_NOT_OURS = frozenset({"id_map", "sweep", "arm", "arms", "baseline", "offenders", "fixture"})
_DATA = frozenset(
    {"gold", "gates", "traces", "trace", "runs", "shadow", "live", "pairs", "scholar", "auditor", "answers"}
)
_WITHOUT_GOLD = ("agreement", "reasoning")  # agreement takes only the number of its pairs from the gold set


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """One suite as it is configured: what decides whether a run ships."""

    suite: str
    gold: GoldSource | None = None
    gates: Sequence[str | Gate] = ()
    policies: Sequence[Gate] = ()  # severities that are laid on the gates
    options: dict[str, Any] = {}
    compared: bool = True  # retrieval is held beside live
    pairs: str | None = None  # the labels of two validators, where there is no gold set


def run_controls(
    suite: str | Config | None = None,
    *,
    gold: GoldSource | None = None,
    gates: str | Iterable[str | Gate] = (),
    options: Mapping[str, Any] | None = None,
) -> Results:
    """Hold the control runs of a suite (of every suite; of every suite of a config) against its gates.

    `gold` is what the runs are made of, the demo's where there is none. `options` are those of the suite's function
    (scu_enforced, only_gates, k, budget_ms …), and `fixture` for reasoning.
    """
    if isinstance(suite, Config):
        return _run_config(suite)
    wanted = [gates] if isinstance(gates, str) else list(gates)
    if suite is None:
        if wanted:
            raise UsageError("gates belong to a suite", hint=f"Name it: {', '.join(SUITES)}.", code="controls-suite")
        return _run_all(gold, options or {})
    if suite not in SUITES:
        raise UsageError(f"there are no controls for a suite {suite!r}", hint=f"Use one of {', '.join(SUITES)}.",
                         code="suite-unknown")  # fmt: skip
    return Results(_run(Configuration(suite=suite, gold=gold, gates=wanted, options=_checked(suite, options or {}))))


def _run_all(gold: GoldSource | None, options: Mapping[str, Any]) -> Results:
    """Every suite, each with the options that it has."""
    if "profile" in options:
        raise UsageError("a profile belongs to a suite", hint=f"Name it: {', '.join(SUITES)}.", code="controls-suite")
    found = Results()
    items = load_gold(gold, by=options.get("by") or ()).items.values() if gold is not None else None
    for name in SUITES:
        if name == "retrieval" and items is not None and not any(item.relevant for item in items):
            why = "no item of the gold set has relevant blocks; name the suite to judge by gold_citations"
            found.append(result(name, Control(name="all", skip=why), SKIPPED, why))
            continue
        own = {key: value for key, value in options.items() if key in _known(name)}
        found += _run(Configuration(suite=name, gold=items, options=own))
    return found


def _run_config(config: Config) -> Results:
    """Every suite of a config as `check` would judge it. Waivers are left out: they excuse a gate, and don't change it."""
    found = Results()
    for suite in config.suites:
        try:
            found += _run(_configuration(suite, config))
        except (ShipworthyError, OSError) as error:
            found.append(result(suite.name, Control(name="all"), SKIPPED, str(error)))
    return found


def _configuration(suite: SuiteConfig, config: Config) -> Configuration:
    if suite.name not in SUITES:
        raise UsageError("what people did can't be made up, so this suite has no controls", code="controls-none")
    options = dict(suite.options)
    if config.contradiction and suite.name == "answers":
        options["contradiction_rules"] = config.contradiction
    kept = ("chunks", "sections", "texts", "fixture")
    options |= {name: suite.inputs[name] for name in kept if name in suite.inputs}
    return Configuration(
        suite=suite.name, gold=suite.inputs.get("gold"), gates=suite.gates, policies=suite.policies, options=options,
        compared="live" in suite.inputs, pairs=suite.inputs.get("pairs") or suite.inputs.get("scholar"),
    )  # fmt: skip


def _run(setting: Configuration) -> Iterator[ControlResult]:
    options = {key: value for key, value in setting.options.items() if key not in _NOT_OURS}
    items = _items(setting, options)
    base: dict[str, Fraction] | None = None
    for control in _build(setting, items, options):
        if control.skip:
            yield result(setting.suite, control, SKIPPED, control.skip)
            continue
        decision = _decide(setting, control, items, options, base)
        if control.good:
            base = _measured(decision)
            decision = _settled(setting, decision, base)
        yield _held(setting.suite, control, decision)


def _build(setting: Configuration, items: Sequence[Gold], options: Mapping[str, Any]) -> Iterator[Control]:
    """The suite's controls; the good one comes first, and stands in for the baseline of gates that ask for one."""
    if setting.suite == "reasoning":
        return reasoning.build(read_fixture(setting.options.get("fixture")))
    if setting.suite == "agreement":
        return agreement.build(_qids(setting, items))
    if setting.suite == "retrieval":
        return retrieval.build(items, options, setting.compared)
    if setting.suite == "latency":
        return latency.build(items, {**options, "budget_ms": _budget(setting)})
    return (answers.build if setting.suite == "answers" else stability.build)(items, options)


def _decide(
    setting: Configuration, control: Control, items: Sequence[Gold], options: Mapping[str, Any],
    base: Mapping[str, Fraction] | None,
) -> Decision:  # fmt: skip
    given = {} if setting.suite in _WITHOUT_GOLD else {"gold": items}
    decision = calls.function(setting.suite)(
        **given, **control.data, **calls.prepared(dict(options)), gates=list(setting.gates)
    )
    return _settled(setting, decision, base)


def _settled(setting: Configuration, decision: Decision, base: Mapping[str, Fraction] | None) -> Decision:
    return settle(decision, policies=setting.policies, baseline=base, today=datetime.date.min)


def _measured(decision: Decision) -> dict[str, Fraction]:
    values = {outcome.gate.key: outcome.measure.value for outcome in decision.outcomes}
    return {key: value for key, value in values.items() if value is not None}


def _held(suite: str, control: Control, decision: Decision) -> ControlResult:
    blocking = [outcome for outcome in decision.outcomes if outcome.gate.severity == "block"]
    if control.needs and not any(outcome.gate.metric in control.needs for outcome in blocking):
        return result(suite, control, SKIPPED, f"no gate in force is about {' or '.join(control.needs)}")
    # Where a gate fails, that is what stops; gates without data only do so where none fails.
    failed = [outcome for outcome in blocking if not outcome.holds and outcome.state != "NO-DATA"]
    empty = [outcome for outcome in blocking if outcome.state == "NO-DATA"]
    stopped = [str(outcome.gate) for outcome in failed or empty]
    return result(suite, control, decision.verdict, "; ".join(decision.reasons), stopped)


# --- what the runs are made of ---


def _items(setting: Configuration, options: Mapping[str, Any]) -> list[Gold]:
    if setting.suite == "reasoning" or (setting.gold is None and setting.pairs):
        return []
    source = Path(str(files("shipworthy") / "demo" / "gold.jsonl")) if setting.gold is None else setting.gold
    found = load_gold(source, lenient=bool(options.get("lenient")), by=_fields(setting))
    if setting.suite in ("answers", "stability", "latency"):
        require_answerable(found)
    return list(found.items.values())


def _fields(setting: Configuration) -> list[str]:
    """Fields that the options or the gates slice by, to be kept while reading."""
    named = [field for gate in setting.gates for field in re.findall(r"\[(\w+)=", str(gate))]
    return [*(setting.options.get("by") or ()), *named]


def _qids(setting: Configuration, items: Sequence[Gold]) -> list[str]:
    if items or not setting.pairs:
        return [item.qid for item in items]
    return list(dict.fromkeys(str(row.get("qid")) for _, row in read_objects(setting.pairs)))


def _budget(setting: Configuration) -> float | str:
    """What the user calls fast enough: the budget, else their p95 gate, else the default."""
    if "budget_ms" in setting.options:
        found: float | str = setting.options["budget_ms"]
        return found
    written = re.findall(r"(?<![\w.])p95\s*(?:<=|≤|==?)\s*([0-9.]+)", " ".join(map(str, setting.gates)))
    return written[-1] if written else BUDGET_MS


def _known(suite: str) -> set[str]:
    return (calls.parameters(suite) | {"refusal_phrases", "contradiction_rules"}) - _DATA


def _checked(suite: str, options: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in _known(suite):
            raise UsageError(f"{suite} has no option {name!r}", hint=f"It has: {', '.join(sorted(_known(suite)))}.",
                             code="controls-option")  # fmt: skip
    profiles = PROFILES if suite == "reasoning" else ("strict", "reference")
    if options.get("profile", profiles[0]) not in profiles:
        raise UsageError(f"{suite} has no profile {options['profile']!r}", hint=f"It has: {', '.join(profiles)}.",
                         code="controls-option")  # fmt: skip
    return dict(options)
