"""Options of the outcomes suite."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from ...core.options import Opt
from ..bars import Bar, BarOptions

BARS = {
    "min_samples": Bar("samples", ">=", Fraction(20)),
    "min_accept_rate": Bar("accept_rate", ">=", Fraction(70, 100)),
    "min_action_rate": Bar("action_rate", ">=", Fraction(55, 100)),
    "min_useful_rate": Bar("useful_rate", ">=", Fraction(65, 100)),
}


class Options(BarOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the outcomes suite."""

    BARS = BARS
    min_samples: Annotated[
        int | None, Opt("Fewest rows allowed; identical rows count once.  [default: 20]", least=0, shown=False)
    ] = None
    min_accept_rate: Annotated[
        str | None,
        Opt(
            "Lowest share of answers accepted without edits.  [default: 0.70]",
            "SHARE",
            kind="number",
            shown=False,
        ),
    ] = None
    min_action_rate: Annotated[
        str | None,
        Opt("Lowest share of answers that people acted on.  [default: 0.55]", "SHARE", kind="number", shown=False),
    ] = None
    min_useful_rate: Annotated[
        str | None,
        Opt(
            "Lowest share of answers called useful.  [default: 0.65, if rows have the field]",
            "SHARE",
            kind="number",
            shown=False,
        ),
    ] = None
    require_useful: Annotated[bool, Opt("Require the useful rate to have data.", cli=False)] = False
