"""Calls: each suite's library function by name, so that a config or a receipt can run it."""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from .decision import Decision
from .errors import UsageError


class Call(NamedTuple):
    """Where a suite's function is, and what its inputs are called there."""

    module: str
    function: str
    inputs: dict[str, str]  # our name → its parameter


SUITES: dict[str, Call] = {
    "answers": Call("evaluation", "evaluate", {"gold": "gold", "trace": "traces", "chunks": "chunks"}),
    "stability": Call("scoring.stability", "evaluate_stability", {"gold": "gold", "runs": "runs"}),
    "retrieval": Call("scoring.retrieval", "evaluate_retrieval", {
        "gold": "gold", "shadow": "shadow", "live": "live", "sections": "sections", "texts": "texts"}),
    "latency": Call("scoring.latency", "evaluate_latency", {"gold": "gold", "trace": "traces", "baseline": "baseline"}),
    "agreement": Call("scoring.agreement", "evaluate_agreement", {
        "pairs": "pairs", "scholar": "scholar", "auditor": "auditor", "gold": "gold", "trace": "trace"}),
    "reasoning": Call("scoring.reasoning", "evaluate_reasoning", {"answers": "answers", "fixture": "fixture"}),
    "outcomes": Call("scoring.outcomes", "evaluate_outcomes", {"outcomes": "outcomes", "report": "report"}),
}  # fmt: skip
# Raters are about the making of a gold set, not about a pipeline: a receipt can call for them, a config does not.
CALLS = SUITES | {"raters": Call("scoring.raters", "evaluate_raters", {"ratings": "ratings"})}


def call(
    suite: str, inputs: Mapping[str, str], options: Mapping[str, Any] | None = None, gates: Sequence[Any] = ()
) -> Decision:
    """Run a suite on files. What it was called with stands in the decision's `run`, so that it can be called again."""
    if suite not in CALLS:
        raise UsageError(f"there is no suite {suite!r}", hint=f"Use one of {', '.join(CALLS)}.", code="suite-unknown")
    given = dict(options or {})
    named = {CALLS[suite].inputs[name]: path for name, path in inputs.items()}
    decision = function(suite)(**named, **prepared(given), **({"gates": list(gates)} if gates else {}))
    paths = {name: os.path.abspath(path) for name, path in inputs.items()}
    decision.run = decision.run | {"call": {"inputs": paths, "options": given, "gates": [str(gate) for gate in gates]}}
    return decision


def function(suite: str) -> Callable[..., Decision]:
    """The suite's library function, imported only now."""
    found: Callable[..., Decision] = getattr(
        import_module(f".{CALLS[suite].module}", __package__), CALLS[suite].function
    )
    return found


def parameters(suite: str) -> set[str]:
    """The names of what a suite's function takes."""
    return set(inspect.signature(function(suite)).parameters)


def prepared(options: dict[str, Any]) -> dict[str, Any]:
    """Options as the functions take them: files of phrases and rules read."""
    ready = dict(options)
    if phrases := ready.pop("refusal_phrases", None):
        from .refusal import read_phrases

        ready |= {"refusal": "phrases", "refusal_phrases": read_phrases(phrases)}
    if rules := ready.pop("contradiction_rules", None):
        from .contradiction import load_rules

        with open(rules, "rb") as stream:
            ready["rules"] = load_rules(tomllib.load(stream))
    return ready
