"""Flags: made from declared options, of suites and of runs alike; and the kinds that verbs declare themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ..core.options import Field
from ..errors import UsageError

F = TypeVar("F", bound=Callable[..., object])


def together(flags: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    """Several flags as one, in this order."""
    listed = list(flags)

    def decorate(command: F) -> F:
        for flag in reversed(listed):
            command = flag(command)
        return command

    return decorate


def text(
    names: str, metavar: str, help: str, *, default: str | None = None, required: bool = False
) -> Callable[[F], F]:
    """A flag that takes a text, such as a file; `names` are its spellings, perhaps with the argument's."""
    if required:  # without a default: None would be one, and the flag could be left out
        return click.option(*names.split(), metavar=metavar, help=help, required=True)
    shown = default not in (None, "")
    return click.option(*names.split(), metavar=metavar, help=help, default=default, show_default=shown)


def many(names: str, metavar: str, help: str) -> Callable[[F], F]:
    """A flag that may be given several times."""
    return click.option(*names.split(), metavar=metavar, help=help, multiple=True)


def switch(names: str, help: str) -> Callable[[F], F]:
    return click.option(*names.split(), help=help, is_flag=True)


def whole(
    names: str,
    least: int,
    help: str,
    *,
    most: int | None = None,
    default: int | None = None,
    metavar: str | None = None,
) -> Callable[[F], F]:
    """A flag that takes a whole number."""
    kind, shown = click.IntRange(least, most), default is not None
    return click.option(*names.split(), type=kind, help=help, default=default, show_default=shown, metavar=metavar)


print_json = switch("--json as_json", "Print JSON.")


def flag_of(field: Field, **changes: Any) -> Callable[[F], F]:
    """The flag of an option; `changes` are what click shall be told otherwise, such as the default."""
    kinds: dict[str, dict[str, Any]] = {
        "flag": {"is_flag": True, "flag_value": field.default is not True},
        "whole": {"type": click.IntRange(field.opt.least, field.opt.most)},
        "amount": {"type": click.FloatRange(0, min_open=True)},
        "amounts": {"type": AmountList()},
        "numbers": {"type": NumberList()},
        "words": {"multiple": True, "callback": _words},
        "gates": {"multiple": True, "metavar": "NAME=VALUE,…"},
        "pairs": {"multiple": True},
        "texts": {"multiple": True, "callback": _pairs},
        "mapping": {"multiple": True, "callback": _mapping},
    }
    kind = {"type": click.Choice(field.choices)} if field.choices else kinds.get(field.kind, {})
    names = (*dict.fromkeys((field.flag, *field.opt.flags)), field.name)
    return click.option(*names, **{"metavar": field.opt.metavar or None, "help": field.opt.help, **kind, **changes})


def _pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE options as a dict. A bad one is not shown: it may be a secret."""
    if any("=" not in pair or not pair.partition("=")[0].strip() for pair in given):
        raise click.BadParameter(f"expected {option.metavar}.")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in given)}


def _words(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _mapping(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """A mapping that can't be read is refused before anything is sent."""
    from ..reading.mapping import FieldMap

    try:
        FieldMap.parse(given)
    except UsageError as error:
        raise click.BadParameter(f"{error.what}. {error.hint} [{error.code}]", context, option) from None
    return given


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
