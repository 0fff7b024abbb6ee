"""OpenMetrics: the verdict, the gates and the metrics as text that monitoring systems and GitLab read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.decision import Decision, number
from ..text import visible
from . import views

_FAMILIES = (
    ("shipworthy_ships", "Whether the decision is SHIP."),
    ("shipworthy_gate_holds", "Whether a gate passes; absent if it does not apply."),
    ("shipworthy_metric", "The value of a metric."),
    ("shipworthy_metric_items", "How many items a metric is based on."),
)
Sample = tuple[str, dict[str, str], float | int]


def render(shown: views.Shown) -> str:
    """One family after the other, as the format demands, ended by its end mark."""
    samples = [sample for decision in views.decisions(shown) for sample in _samples(decision)]
    samples.insert(0, ("shipworthy_ships", {"suite": "all"}, int(shown.verdict == "SHIP")))
    lines: list[str] = []
    for family, meaning in _FAMILIES:
        lines += [f"# TYPE {family} gauge", f"# HELP {family} {meaning}"]
        lines += _lines(sample for sample in samples if sample[0] == family)
    return "\n".join([*lines, "# EOF"]) + "\n"


def _samples(decision: Decision) -> Iterator[Sample]:
    suite = {"suite": decision.suite}
    yield "shipworthy_ships", suite, int(decision.ships)
    for outcome in decision.outcomes:
        if outcome.state != "NOT-APPLICABLE":
            yield "shipworthy_gate_holds", {**suite, "gate": str(outcome.gate)}, int(outcome.holds)
    for name, measure in decision.measures.items():
        value = number(measure.value)
        if value is not None:
            yield "shipworthy_metric", {**suite, "metric": name}, value
            yield "shipworthy_metric_items", {**suite, "metric": name}, measure.n


def _lines(samples: Iterable[Sample]) -> Iterator[str]:
    """Each set of labels once: a second sample with the same labels would make the whole text invalid."""
    seen: set[str] = set()
    for family, labels, value in samples:
        listed = ",".join(f'{name}="{_label(text)}"' for name, text in labels.items())
        if listed not in seen:
            seen.add(listed)
            yield f"{family}{{{listed}}} {value}"


def _label(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
