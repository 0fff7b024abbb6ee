"""Options of the outcomes suite."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from ...core.gates import Gate, exact, gate_of
from ...core.options import Opt, SuiteOptions

# name of the bar → its metric and its default
BARS: dict[str, tuple[str, Fraction]] = {
    "min_samples": ("samples", Fraction(20)),
    "min_accept_rate": ("accept_rate", Fraction(70, 100)),
    "min_action_rate": ("action_rate", Fraction(55, 100)),
    "min_useful_rate": ("useful_rate", Fraction(65, 100)),
}


class Options(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the outcomes suite."""

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

    def __post_init__(self) -> None:
        self.bars()

    def bars(self) -> list[Gate]:
        """The bars that were given, as gates."""
        given = {name: getattr(self, name) for name in BARS}
        numbers = {
            name: exact(name, value, None if name == "min_samples" else 1)
            for name, value in given.items()
            if value is not None
        }
        return [gate_of(BARS[name][0], ">=", number) for name, number in numbers.items()]
