"""The reference profile: the original pseudocode made runnable, one log per question, its choices kept.

Differs from the strict numbers: only the answer's first citation counts; coverage and citation accuracy are over all
gold items; ΔS is over the first 5 retrieved; repeated ids keep their slots; a gold item without relevant ids scores 0.
"""

from __future__ import annotations

from fractions import Fraction

from ... import stats
from ...core.gates import Gate, parse_gates
from ...core.metrics import Measure
from ...core.suite import Findings, Reference
from ...core.tally import Tally
from ...errors import UsageError
from ..ranking.options import Choices
from .explain import seeds_lacking
from .judge import DISTANCES, Context
from .metrics import LIVE_REFERENCE, REFERENCE, aliases, metrics


def numbers(tally: Tally, choices: Choices) -> dict[str, Fraction | None]:
    """Every number of the pseudocode, exactly; None where there was no value at all."""
    items, logged = tally["items"], tally["logged_states"]
    exact: dict[str, Fraction | None] = {}
    for k in choices.k:
        exact |= {name: _mean(tally, name) for name in (f"precision@{k}", f"recall@{k}")}
    exact |= {name: Fraction(tally[name], items or 1) for name in ("coverage", "citation_accuracy")}
    exact |= {name: stats.percentile_of_counts(_fractions(tally, name), 50) for name, _ in DISTANCES}
    return exact | {"lambda_convergent": Fraction(tally["lambda_convergent"], logged) if logged else None}


def _fractions(tally: Tally, name: str) -> dict[Fraction, int]:
    return {Fraction(value): count for value, count in tally.values(name).items()}


def _mean(tally: Tally, name: str) -> Fraction:
    values = _fractions(tally, name)
    return sum((value * count for value, count in values.items()), Fraction(0)) / (sum(values.values()) or 1)


def reference(findings: Findings) -> Reference:
    """The decision on the pseudocode's numbers, beside live's where there is a live log."""
    context: Context = findings.context
    tally, live = findings.evidence.part(REFERENCE), findings.evidence.part(LIVE_REFERENCE)
    exact = numbers(tally, context.choices)
    before = numbers(live, context.choices) if context.compared else {}
    return Reference(
        measures={name: _measure(name, value, tally["items"]) for name, value in exact.items()},
        headline={name: None if value is None else round(float(value), 4) for name, value in exact.items()},
        gates=_known_gates(findings, exact),
        baseline={name: value for name, value in before.items() if value is not None},
        incomplete=list(seeds_lacking(findings)),
    )


def _known_gates(findings: Findings, exact: dict[str, Fraction | None]) -> list[Gate]:
    """The gates that it can judge; one that somebody asked for and it can't is an error."""
    options = findings.context.options
    asked = {gate.key for gate in parse_gates(options.gates, metrics(options), aliases(options))}
    gates = [gate for gate in findings.gates if gate.metric in exact and not gate.slice]
    if lost := [gate for gate in findings.gates if gate.key in asked and gate not in gates]:
        raise UsageError(
            f"the reference profile has no {lost[0].key}",
            where="--gates",
            code="gate-unknown",
            hint=f"It has {', '.join(exact)}, each over everything.",
        )
    return gates


def _measure(name: str, value: Fraction | None, n: int) -> Measure:
    if value is None:
        return Measure(name, "coefficient", None, n, missing="nothing was logged")
    if name in ("coverage", "citation_accuracy"):  # a question either is covered or it is not
        k = int(value * n)
        return Measure(name, "rate", value, n, k, stats.wilson(k, n))
    return Measure(name, "coefficient", value, n)
