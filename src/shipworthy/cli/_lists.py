"""Lists of numbers, as flags take them."""

from __future__ import annotations

import click


class NumberList(click.ParamType[tuple[int, ...]]):
    """`5`, `1,3,5,10` or `0-4`."""

    name = "N[,N…]"
    most = 10_000  # 0-999999999 is a slip of the finger

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        numbers: list[int] = []
        try:
            for part in str(value).replace(",", " ").split():
                first, dash, last = part.partition("-")
                numbers += range(int(first), min(int(last), int(first) + self.most) + 1) if dash else [int(first)]
        except ValueError:
            self.fail(f"{value!r} is not a number or a list of numbers such as 1,3,5.", param, ctx)
        if len(numbers) > self.most:
            self.fail(f"more than {self.most} numbers.", param, ctx)
        return tuple(numbers)


class AmountList(click.ParamType[tuple[float, ...]]):
    """`0.2` or `0,0.2,1`."""

    name = "N[,N…]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            amounts = tuple(float(part) for part in str(value).replace(",", " ").split())
        except ValueError:
            amounts = (-1.0,)
        if not all(0 <= amount < float("inf") for amount in amounts):
            self.fail(f"expected numbers like 0,0.2, got {str(value)[:80]!r}.", param, ctx)
        return amounts
