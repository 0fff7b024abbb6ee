"""Attempts: a task whose error comes back as its result, because tasks before it may have failed too."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import EnvironmentFailure

FEWER = "Was the memory enough? Use fewer processes (--jobs), or one (--engine inline)."


class Failed(NamedTuple):
    """An error that a task ended with, kept until all tasks before it are done."""

    error: Exception


def attempt(work: Callable[..., object], *given: object) -> object:
    """What the work gives, or how it failed."""
    try:
        return work(*given)
    except MemoryError:
        what = f"a worker ran out of memory at {named(given[-1])}"
        return Failed(EnvironmentFailure(what, hint=FEWER, code="worker-died"))
    except Exception as error:  # whatever it is, whoever asked has to know
        return Failed(error)


def named(task: object) -> str:
    return str(getattr(task, "label", "a group of questions"))
