"""Engines: how evidence is gathered, never what it means. `inline` is one process; each engine is one file here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..core.suite import Engine

ENGINES = {"inline": "one process, one case after the other"}


def engine(name: str = "inline") -> Engine:
    """An engine by name, imported only now."""
    if name not in ENGINES:
        raise UsageError(
            f"there is no engine {name!r}", hint=f"Use one of {', '.join(ENGINES)}.", code="engine-unknown"
        )
    run: Engine = import_module(f".{name}", __name__).run
    return run
