"""Bars: gates that have an option of their own, and keep their default unless they are named."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from ..core.gates import Gate, exact, gate_of, parse_gates
from ..core.metrics import Metric
from ..core.options import Opt, SuiteOptions


class Bar(NamedTuple):
    """The metric behind an option, its side and its default."""

    metric: str
    op: str
    default: Fraction


def share(help: str, metavar: str = "SHARE", **more: Any) -> Opt:
    """The declaration of an option that is a bar; reports show it among the gates."""
    return Opt(help, metavar, kind="number", shown=False, **more)


class BarOptions(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Options of which some are bars."""

    BARS: ClassVar[Mapping[str, Bar]] = {}

    def __post_init__(self) -> None:
        self.bars()

    def bars(self) -> list[Gate]:
        """The bars that were named, as gates; a whole number counts, every other one is a share."""
        given = {name: getattr(self, name) for name in self.BARS}
        return [
            gate_of(bar.metric, bar.op, exact(name, value, None if bar.default > 1 else 1))
            for name, bar in self.BARS.items()
            if (value := given[name]) is not None
        ]


def named_gates(options: BarOptions, metrics: Mapping[str, Metric], aliases: Mapping[str, str]) -> list[Gate]:
    """The bars that were named, and gates by their metrics' names."""
    return [*options.bars(), *parse_gates(options.gates, metrics, aliases)]


def default_gates(bars: Mapping[str, Bar]) -> list[Gate]:
    """Every bar at its default."""
    return [gate_of(*bar) for bar in bars.values()]
