"""Options of the guard: the bars that a report must clear."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import msgspec

from ...core.options import Opt
from ..bars import Bar, BarOptions

BARS = {
    "min_pass_rate": Bar("pass_rate", ">=", Fraction(80, 100)),
    "min_overall": Bar("average_overall", ">=", Fraction(72, 100)),
    "min_grounding": Bar("factual_grounding", ">=", Fraction(62, 100)),
    "min_actionability": Bar("actionability", ">=", Fraction(65, 100)),
    "min_usefulness": Bar("usefulness", ">=", Fraction(68, 100)),
    "min_contradiction": Bar("contradiction_handling", ">=", Fraction(50, 100)),
    "max_error_rate": Bar("error_rate", "<=", Fraction(5, 100)),
    "max_empty_content_rate": Bar("empty_rate", "<=", Fraction(2, 100)),
    "max_hard_failure_rate": Bar("hard_failure_rate", "<=", Fraction(10, 100)),
    "min_cases": Bar("cases", ">=", Fraction(20)),
}


def _share(name: str) -> Opt:
    return Opt(f"[default: {float(BARS[name].default)}]", "SHARE", kind="number", shown=False)


class Options(BarOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Every bar of the guard; one that is not named keeps its default."""

    BARS = BARS
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


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
