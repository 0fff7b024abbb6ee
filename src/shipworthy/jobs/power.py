"""Power: how many questions the gates need, and how often a further run of the same pipeline would decide otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import msgspec

from .. import stats
from ..core.gates import Gate, check_gate
from ..core.metrics import decimal
from ..errors import DataError, UsageError
from ..reading.reports import exact_value, passing, reports_of
from ..suites import load_suite, passing_rule
from ..text import first_few, plural, visible
from .compare import Rows, Value, incomparable

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


# --- A/A: runs of the same pipeline ---

EXACT = 4096  # mixtures of the runs, up to which each is looked at: those of two runs with 12 questions that differ
DRAWS = 10_000
SEED = 20_261_116  # so that the same runs give the same share


class GateFlips(msgspec.Struct, frozen=True):
    """One gate over the mixtures of the runs."""

    gate: str
    first: bool  # whether it held in the first run
    second: bool  # … and in all others
    holds: Fraction  # share of mixtures in which it holds
    told: bool = True  # False: the rows don't tell it item by item, so that it is taken as it was
    low: Fraction | None = None  # of its metric, over the mixtures
    high: Fraction | None = None

    def thresholds(self) -> str:
        """Which bounds no mixture crosses; nothing where the metric is the same in all, or is not known."""
        if self.low is None or self.high is None or self.low == self.high:
            return ""
        # Rounded to the safe side: the bound that is shown is one that holds.
        down, up = Fraction(self.low * 1000 // 1, 1000), Fraction(-(-self.high * 1000 // 1), 1000)
        steady = f"up to {decimal(down)}" if ">=" in self.gate else f"from {decimal(up)}"
        return f"{decimal(self.low)} to {decimal(self.high)} by chance alone, so a threshold {steady} does not flip"


class Flips(msgspec.Struct, frozen=True):
    """How often the decision would flip."""

    decisions: tuple[str, ...]
    questions: int
    differ: list[str]
    gates: list[GateFlips]
    ships: Fraction  # share of mixtures that ship
    mixtures: int
    exact: bool

    @property
    def flips(self) -> Fraction:
        """The chance that two further runs decide differently."""
        return 2 * self.ships * (1 - self.ships)

    def lines(self) -> Iterator[str]:
        runs = "two runs" if len(self.decisions) == 2 else f"{len(self.decisions)} runs"
        yield f"{' and '.join(self.decisions)}: {runs}, {plural(self.questions, 'question')}"
        named = f": {first_few(self.differ)}" if self.differ else ""
        yield f"{len(self.differ)} of {plural(self.questions, 'question')} differ{named}"
        how = f"all {self.mixtures} mixtures" if self.exact else f"{self.mixtures} mixtures drawn"
        yield f"another run would ship in {float(self.ships):.1%} of cases ({how} of the {runs}, per question)"
        yield f"two runs would decide differently in {float(self.flips):.1%} of cases"
        for one in self.gates:
            note = "" if one.told else " (not known per question: assumed unchanged)"
            if steady := one.thresholds():
                note = f"; {steady}"
            yield f"  {one.gate}: passes in {float(one.holds):.1%}{note}"


def flips(first: Mapping[str, Any], *others: Mapping[str, Any]) -> Flips:
    """Mix reports of one suite: each question is as in one of the runs, with equal chance."""
    runs = (first, *others)
    for other in others:
        if different := incomparable(first, other):
            raise DataError(
                f"the two runs have different {' and '.join(different)}: they are not of the same pipeline and gates",
                hint="Score both with the same gold set, gates and options.",
                code="aa-different",
            )
    gates = [_Tracked(outcome, runs) for outcome in first.get("outcomes", [])]
    passed = [passing(run, passing_rule(run)) for run in runs]
    every = sorted(set(passed[0]).intersection(*passed[1:]))
    differ = [name for name in every if len({run[name] for run in passed}) > 1]
    moving = sorted({name for gate in gates for name in gate.moving} | set(differ))
    exact = len(runs) ** len(moving) <= EXACT
    picks = product(range(len(runs)), repeat=len(moving)) if exact else _drawn(len(moving), len(runs))
    count, ships = 0, 0
    for pick in picks:
        chosen = dict(zip(moving, pick, strict=True))
        held = [gate.meet(chosen) or not gate.blocks for gate in gates]
        count, ships = count + 1, ships + all(held)
    return Flips(
        tuple(str(run["decision"]) for run in runs),
        len(every),
        differ,
        [gate.summary(count) for gate in gates],
        Fraction(ships, count),
        count,
        exact,
    )


def _drawn(length: int, runs: int) -> Iterator[tuple[int, ...]]:
    import random  # only random() is promised to stay the same in every Python

    source = random.Random(SEED)
    for _ in range(DRAWS):
        yield tuple(int(source.random() * runs) for _ in range(length))


class _Tracked:
    """A gate whose value can be worked out for any mixture of the runs."""

    def __init__(self, outcome: Mapping[str, object], runs: Sequence[Mapping[str, Any]]) -> None:
        self.gate = Gate.parse(str(outcome["gate"]))
        self.states = (bool(outcome["holds"]), all(_held(run, str(outcome["gate"])) for run in runs[1:]))
        self.blocks = outcome.get("severity") == "block" and not outcome.get("waived")
        self.proof = outcome.get("on_unproven") == "fail"
        sides = [Rows(report).values(self.gate.metric) for report in runs]
        measures = [report["metrics"].get(self.gate.metric, {}) for report in runs]
        plain = not self.gate.slice and not self.gate.bound.sign and not self.proof
        whole = all(_adds_up(side, measure) for side, measure in zip(sides, measures, strict=True))
        self.told = plain and whole
        self.sides = sides if self.told else [{} for _ in runs]
        names = set[str]().union(*self.sides)
        self.moving = [name for name in names if len({side.get(name) for side in self.sides}) > 1]
        moved = set(self.moving)
        self._still = [value for name, value in self.sides[0].items() if name not in moved]
        self._sum = sum(self._still, Fraction(0))
        self._held, self._values = 0, set[Fraction]()

    def meet(self, pick: Mapping[str, int]) -> bool:
        """Whether it holds in a mixture, which is counted."""
        held = self._met(pick) if self.told else all(self.states)
        self._held += held
        return held

    def _met(self, pick: Mapping[str, int]) -> bool:
        drawn: list[Value] = [one for name in self.moving if (one := self.sides[pick[name]].get(name)) is not None]
        if not self._still and not drawn:
            return False  # nothing to divide by: no data
        value = Fraction(self._sum + sum(drawn)) / (len(self._still) + len(drawn))
        self._values.add(value)
        bound = self.gate.bound.number
        return value >= bound if self.gate.op == ">=" else value <= bound

    def summary(self, count: int) -> GateFlips:
        low, high = (min(self._values), max(self._values)) if self._values else (None, None)
        return GateFlips(str(self.gate), *self.states, Fraction(self._held, count), self.told, low, high)


def _held(report: Mapping[str, Any], gate: str) -> bool:
    outcomes: Iterable[Mapping[str, object]] = report.get("outcomes", [])
    return any(one["gate"] == gate and one["holds"] for one in outcomes)


def _adds_up(side: Mapping[str, Value], measure: Mapping[str, object]) -> bool:
    """Whether the rows give the metric's own value: only then do they tell what it would be."""
    return bool(side) and Fraction(sum(side.values()), len(side)) == exact_value(measure)
