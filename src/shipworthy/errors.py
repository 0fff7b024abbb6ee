"""Errors: the ways we say no, each with where, what, what next and a stable code.

ShipworthyError
├── UsageError          exit 2   a flag, a gate or the config is wrong
├── DataError           exit 3   the data can't be judged
└── EnvironmentFailure  exit 4   disk, permission, lock, database, unreachable target
"""

from __future__ import annotations

from collections.abc import Sequence


class ShipworthyError(Exception):
    """A refusal to go on, written for the person who has to fix it."""

    exit_code = 4
    lines: Sequence[str] = ()  # of an error that is several: each is told on a line of its own

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str) -> None:
        self.where, self.what, self.hint, self.code = where, what, hint, code
        super().__init__(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)  # from a worker process

    def __str__(self) -> str:
        what = self.what if self.what.endswith((".", "?", "!")) else self.what + "."
        parts = [f"{self.where}: {what}" if self.where else what, self.hint, f"[{self.code}]"]
        return " ".join(part for part in parts if part)


class UsageError(ShipworthyError):
    exit_code = 2


class DataError(ShipworthyError):
    exit_code = 3


class EnvironmentFailure(ShipworthyError):
    exit_code = 4


def needs_extra(what: str, extra: str, where: str = "") -> UsageError:
    """A package is missing that one of our extras brings."""
    return UsageError(what, where=where, hint=f"pip install 'shipworthy[{extra}]'", code="needs-extra")


def _restored(kind: type[ShipworthyError], args: tuple[object, ...], state: dict[str, object]) -> ShipworthyError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
