"""A/A: two runs of the same pipeline, and how often a further run would decide otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import msgspec

from ..core.gates import Gate
from ..errors import DataError
from ..reading.reports import exact_value, passing
from ..text import first_few, plural
from .compare import incomparable
from .compare.pairing import values_of

EXACT = 12  # questions that differ, up to which every mixture of the two runs is looked at
DRAWS = 10_000
SEED = 20_261_116  # so that the same runs give the same share


class GateFlips(msgspec.Struct, frozen=True):
    """One gate over the mixtures of two runs."""

    gate: str
    first: bool  # whether it held in the first run
    second: bool
    holds: Fraction  # share of mixtures in which it holds
    told: bool = True  # False: the rows don't tell it item by item, so that it is taken as it was


class Flips(msgspec.Struct, frozen=True):
    """How often the decision would flip."""

    decisions: tuple[str, str]
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
        yield f"{self.decisions[0]} and {self.decisions[1]}: two runs, {plural(self.questions, 'question')}"
        named = f": {first_few(self.differ)}" if self.differ else ""
        yield f"{len(self.differ)} of {plural(self.questions, 'question')} differ{named}"
        how = f"all {self.mixtures} mixtures" if self.exact else f"{self.mixtures} mixtures drawn"
        yield f"another run would ship in {float(self.ships):.1%} of cases ({how} of the two runs, per question)"
        yield f"two runs would decide differently in {float(self.flips):.1%} of cases"
        for one in self.gates:
            note = "" if one.told else " (not known per question: assumed unchanged)"
            yield f"  {one.gate}: passes in {float(one.holds):.1%}{note}"


def flips(first: Mapping[str, Any], second: Mapping[str, object]) -> Flips:
    """Mix two reports of one suite: each question is as in the first run or as in the second, with equal chance."""
    if different := incomparable(first, second):
        raise DataError(
            f"the two runs have different {' and '.join(different)}: they are not of the same pipeline and gates",
            hint="Score both with the same gold set, gates and options.",
            code="aa-different",
        )
    gates = [_Tracked(outcome, first, second) for outcome in first.get("outcomes", [])]
    before, after = passing(first), passing(second)
    both = sorted(before.keys() & after.keys())
    moving = sorted(
        {name for gate in gates for name in gate.moving} | {one for one in both if before[one] != after[one]}
    )
    exact = len(moving) <= EXACT
    picks = list(product((0, 1), repeat=len(moving))) if exact else list(_drawn(len(moving)))
    held = [[gate.holds(dict(zip(moving, pick, strict=True))) for gate in gates] for pick in picks]
    blocking = [index for index, gate in enumerate(gates) if gate.blocks]
    ships = Fraction(sum(all(row[index] for index in blocking) for row in held), len(picks))
    return Flips(
        (str(first["decision"]), str(second["decision"])),
        len(both),
        [name for name in both if before[name] != after[name]],
        [gate.summary(Fraction(sum(row[index] for row in held), len(picks))) for index, gate in enumerate(gates)],
        ships,
        len(picks),
        exact,
    )


def _drawn(length: int) -> Iterator[tuple[int, ...]]:
    import random  # only random() is promised to stay the same in every Python

    source = random.Random(SEED)
    for _ in range(DRAWS):
        yield tuple(int(source.random() * 2) for _ in range(length))


class _Tracked:
    """A gate whose value can be worked out for any mixture of two runs."""

    def __init__(self, outcome: Mapping[str, object], first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
        self.gate = Gate.parse(str(outcome["gate"]))
        self.states = (bool(outcome["holds"]), _held(second, str(outcome["gate"])))
        self.blocks = outcome.get("severity") == "block" and not outcome.get("waived")
        self.proof = outcome.get("on_unproven") == "fail"
        sides = [values_of(self.gate.metric, report) for report in (first, second)]
        measures = [report["metrics"].get(self.gate.metric, {}) for report in (first, second)]
        plain = not self.gate.slice and not self.gate.bound.sign and not self.proof
        whole = all(_adds_up(side, measure) for side, measure in zip(sides, measures, strict=True))
        self.told = plain and whole
        self.sides = sides if self.told else [{}, {}]
        names = self.sides[0].keys() | self.sides[1].keys()
        self.moving = [name for name in names if self.sides[0].get(name) != self.sides[1].get(name)]
        moved = set(self.moving)
        self._still = [value for name, value in self.sides[0].items() if name not in moved]

    def holds(self, pick: Mapping[str, int]) -> bool:
        if not self.told:
            return all(self.states)
        drawn = [self.sides[pick[name]].get(name) for name in self.moving]
        return self._met([*self._still, *(value for value in drawn if value is not None)])

    def _met(self, values: Sequence[Fraction]) -> bool:
        if not values:
            return False  # nothing to divide by: no data
        value, bound = Fraction(sum(values), len(values)), self.gate.bound.number
        return value >= bound if self.gate.op == ">=" else value <= bound

    def summary(self, share: Fraction) -> GateFlips:
        return GateFlips(str(self.gate), *self.states, share, self.told)


def _held(report: Mapping[str, Any], gate: str) -> bool:
    outcomes: Iterable[Mapping[str, object]] = report.get("outcomes", [])
    return any(one["gate"] == gate and one["holds"] for one in outcomes)


def _adds_up(side: Mapping[str, Fraction], measure: Mapping[str, object]) -> bool:
    """Whether the rows give the metric's own value: only then do they tell what it would be."""
    return bool(side) and Fraction(sum(side.values()), len(side)) == exact_value(measure)
