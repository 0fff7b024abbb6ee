"""Attempts: a task whose error comes back as its result, because tasks before it may have failed too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import EnvironmentFailure

FEWER = "Was the memory enough? Use fewer processes (--jobs), or one (--engine inline)."


class Failed(NamedTuple):
    """An error that a task ended with, kept until all tasks before it are done."""

    error: Exception


def attempt(work: Callable[..., object], *given: object) -> object:
    """The result of the work, or the error that it raised."""
    try:
        return work(*given)
    except MemoryError:
        what = f"a worker ran out of memory at {named(given[-1])}"
        return Failed(EnvironmentFailure(what, hint=FEWER, code="worker-died"))
    except Exception as error:  # any error must reach the caller
        return Failed(error)


def in_order(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Results in the order of their tasks, however they come; the first error is raised."""
    ready: dict[int, Any] = {}
    following = 0
    for number, result in results:
        if isinstance(result, Failed):
            raise result.error
        ready[number] = result
        while following in ready:
            yield ready.pop(following)
            following += 1


def named(task: object) -> str:
    return str(getattr(task, "label", "a group of questions"))
