"""Power: how many questions the gates in force need before a pipeline of a given rate is likely to be proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from .. import stats
from ..core.gates import Gate, check_gate
from ..core.metrics import decimal
from ..errors import UsageError
from ..reading.reports import exact_value, reports_of
from ..suites import load_suite
from ..text import plural, visible

POWER = Fraction(4, 5)
_NONE = "no number of questions proves this bound: 1 can't be shown to be reached, nor 0 to be kept"


class Need(msgspec.Struct, frozen=True):
    """What one gate needs."""

    suite: str
    gate: str
    rate: Fraction | None  # observed or assumed
    assumed: bool
    n: int | None  # items of the metric now
    smallest: int | None  # items that prove it if all pass
    items: int | None  # items for the wanted power at this rate
    questions: int | None  # the same in questions of the gold set
    power: Fraction | None  # chance of a proof with the items of now
    why: str = ""  # why there is no number

    def line(self) -> str:
        """In words."""
        head = f"{self.gate}: "
        if self.rate is None or self.items is None:
            first = f"; {self.smallest} items if all pass" if self.smallest else ""
            return f"{head}{self.why}{first}"
        origin = "assumed" if self.assumed else f"observed, n = {self.n}"
        questions = f" ({plural(self.questions, 'question')})" if self.questions not in (None, self.items) else ""
        now = f"; now {float(self.power):.0%} likely" if self.power is not None else ""
        rate = f"at the rate {decimal(self.rate)} ({origin})"
        return f"{head}{self.items} items{questions} {rate}; {self.smallest} if all pass{now}"


def power_of_report(report: Mapping[str, object], rates: Mapping[str, Fraction], power: Fraction = POWER) -> list[Need]:
    """What each gate of a report, or of a board's reports, needs."""
    return [
        _of_outcome(str(one["shipworthy"].get("suite", "")), outcome, one, rates, power)
        for one in reports_of(report)
        for outcome in one.get("outcomes", [])
    ]


def power_of_gates(gates: Iterable[str], rates: Mapping[str, Fraction], power: Fraction = POWER) -> list[Need]:
    """What gates need that nobody has measured yet, at rates that are assumed."""
    return [_need("", gate, rates.get(gate.metric), True, None, None, power) for gate in map(_directed, gates)]


def _directed(text: str) -> Gate:
    """A gate as it was written; `=` points the way of the answers suite's metric of that name."""
    gate, suite = Gate.parse(text), load_suite("answers")
    known, aliases = suite.metrics(suite.options()), suite.aliases(suite.options())
    if gate.op == "=" or aliases.get(gate.metric, gate.metric) in known:
        return check_gate(gate, known, aliases)
    return gate


def parse_rates(texts: Iterable[str]) -> dict[str, Fraction]:
    """`precision=0.9` by metric."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            rate = Fraction(value)
        except (ValueError, ZeroDivisionError):
            rate = Fraction(-1)
        if not name or not 0 <= rate <= 1 or len(value) > 20:
            what = f"{visible(text, 60)!r} is not a rate"
            raise UsageError(what, where="--rate", hint="Write METRIC=RATE, such as precision=0.9.", code="power-rate")
        found[name] = rate
    return found


def _of_outcome(
    suite: str, outcome: Mapping[str, object], report: Mapping[str, Any], rates: Mapping[str, Fraction], power: Fraction
) -> Need:
    gate = Gate.parse(str(outcome["gate"]))
    measures = report.get("slices", {}).get(gate.slice, {}) if gate.slice else report.get("metrics", {})
    measure = measures.get(gate.metric, {})
    if measure.get("kind") != "rate":
        why = "not a rate, so more questions don't prove it"
        return Need(suite, str(gate), None, False, None, None, None, None, None, why)
    assumed = gate.metric in rates
    rate = rates.get(gate.metric, exact_value(measure) if measure.get("value") is not None else None)
    total = int(report.get("counts", {}).get("items") or len(report.get("items", [])))
    return _need(suite, gate, rate, assumed, int(measure.get("n") or 0), total, power)


def _need(
    suite: str, gate: Gate, rate: Fraction | None, assumed: bool, n: int | None, total: int | None, power: Fraction
) -> Need:
    if gate.bound.sign:
        why = "relative to a baseline, so that its bound is not known here"
        return Need(suite, str(gate), rate, assumed, n, None, None, None, None, why)
    direction: stats.Direction = "<=" if gate.op == "<=" else ">="
    bound, smallest = gate.bound.number, stats.smallest_n(gate.bound.number, 0, direction)
    if rate is None:
        return Need(suite, str(gate), None, assumed, n, smallest, None, None, None, "needs a rate: --rate METRIC=RATE")
    bar, true = (bound, rate) if direction == ">=" else (1 - bound, 1 - rate)
    items = stats.n_for_power(bar, true, power)
    chance = stats.power_at(n, bar, true) if n else None
    questions = None if items is None or not n or not total else -(-items * total // n)
    why = "" if items is not None else _why(bar, true)
    return Need(suite, str(gate), rate, assumed, n, smallest, items, questions, chance, why)


def _why(bar: Fraction, true: Fraction) -> str:
    if bar == 1:
        return _NONE
    return "this rate misses the threshold" if true <= bar else f"more than {stats.MOST_ITEMS} items"
