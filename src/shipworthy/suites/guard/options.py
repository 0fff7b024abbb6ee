"""Options of the guard: the bars that a report must clear."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import msgspec

from ...core.gates import Gate, exact, gate_of
from ...core.options import Opt, SuiteOptions

# name of the bar → the metric, its side and its default
BARS: dict[str, tuple[str, str, Fraction]] = {
    "min_pass_rate": ("pass_rate", ">=", Fraction(80, 100)),
    "min_overall": ("average_overall", ">=", Fraction(72, 100)),
    "min_grounding": ("factual_grounding", ">=", Fraction(62, 100)),
    "min_actionability": ("actionability", ">=", Fraction(65, 100)),
    "min_usefulness": ("usefulness", ">=", Fraction(68, 100)),
    "min_contradiction": ("contradiction_handling", ">=", Fraction(50, 100)),
    "max_error_rate": ("error_rate", "<=", Fraction(5, 100)),
    "max_empty_content_rate": ("empty_rate", "<=", Fraction(2, 100)),
    "max_hard_failure_rate": ("hard_failure_rate", "<=", Fraction(10, 100)),
    "min_cases": ("cases", ">=", Fraction(20)),
}


def _share(name: str) -> Opt:
    return Opt(f"[default: {float(BARS[name][2])}]", "SHARE", kind="number", shown=False)


class Options(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Every bar of the guard; one that is not named keeps its default."""

    min_pass_rate: Annotated[str | None, _share("min_pass_rate")] = None
    min_overall: Annotated[str | None, _share("min_overall")] = None
    min_grounding: Annotated[str | None, _share("min_grounding")] = None
    min_actionability: Annotated[str | None, _share("min_actionability")] = None
    min_usefulness: Annotated[str | None, _share("min_usefulness")] = None
    min_contradiction: Annotated[str | None, _share("min_contradiction")] = None
    max_error_rate: Annotated[str | None, _share("max_error_rate")] = None
    max_empty_content_rate: Annotated[str | None, _share("max_empty_content_rate")] = None
    max_hard_failure_rate: Annotated[str | None, _share("max_hard_failure_rate")] = None
    min_cases: Annotated[int | None, Opt("[default: 20]", least=0, shown=False)] = None

    def __post_init__(self) -> None:
        self.bars()

    def bars(self) -> list[Gate]:
        """The bars that were named, as gates."""
        given = {name: getattr(self, name) for name in BARS}
        numbers = {
            name: exact(name, value, None if name == "min_cases" else 1)
            for name, value in given.items()
            if value is not None
        }
        return [gate_of(*BARS[name][:2], number) for name, number in numbers.items()]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
