"""A flag that is a share: 0 to 1, taken exactly as it is written."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # the class takes a type argument only in newer releases
    FractionType = click.ParamType[Fraction]
else:
    FractionType = click.ParamType


class Share(FractionType):
    """`0.80`, `4/5` or `1`."""

    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        from ..suites.bars import as_written

        share = as_written(value)
        if share is None:
            self.fail(f"{value!r} is not a number such as 0.80 or 4/5.", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not between 0 and 1.", param, ctx)
        return share


SHARE = Share()
