"""Python: a function in this process, sync (in a thread of its own) or async."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...errors import UsageError
from ...text import visible
from ..failures import AskFailed
from ..plan import Ask
from ..redact import Secrets
from ..shape import checked, mapped, parse_mapping
from .base import TargetOptions

_OFFERED = ("qid", "seed", "jitter", "knobs")


class PythonTarget:
    """`module:function`, called with the question and those of qid, seed, jitter and knobs that it has a name for.

    It gives back a trace's fields, or a string, which is the claim.
    """

    replays = False

    def __init__(self, place: str, options: TargetOptions, *, name: str = "", **fixed: Any) -> None:
        self.name = name or f"py:{place}"
        self._mapping, self._secrets, self._fixed = parse_mapping(options.mapping), options.secrets, fixed
        self._function = imported(place)
        self._accepts = _accepted(self._function)

    async def ask(self, ask: Ask) -> dict[str, Any]:
        offered = {name: getattr(ask, name) for name in _OFFERED}
        arguments = {name: value for name, value in offered.items() if name in self._accepts}
        try:
            result = await result_of(self._function, ask.question, arguments | self._fixed, self._secrets)
        except AskFailed as failed:
            if isinstance(failed.__cause__, UsageError):  # the demo lacks that fault or knob: no run can go well
                raise failed.__cause__ from None
            raise
        return checked(mapped(_plain(result), self._mapping))

    async def close(self) -> None:
        """Nothing stays open between questions."""


async def result_of(
    function: Callable[..., Any], question: str, arguments: Mapping[str, Any], secrets: Secrets | None = None
) -> Any:
    """What a function gives for a question, sync or async; whatever it raises is an AskFailed."""
    try:
        if inspect.iscoroutinefunction(function):
            return await function(question, **arguments)
        result = await _in_thread(lambda: function(question, **arguments))
        return await result if inspect.isawaitable(result) else result
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise AskFailed("python", visible(secrets.hide(text) if secrets else text, 200)) from error


def demo_target(faults: str, options: TargetOptions) -> PythonTarget:
    """The embedded pipeline; it lives beside the runner, so it is found by name and not imported."""
    named = tuple(fault.strip() for fault in faults.split(",") if fault.strip())
    fixed = {"faults": named} if named else {}
    return PythonTarget("shipworthy.demo:answer", options, name=f"demo:{faults}" if named else "demo", **fixed)


def imported(place: str) -> Callable[..., Any]:
    """The function that `module:function` names, from the working directory too."""
    module, _, attribute = place.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does, so that a script beside you can be named
    try:
        function: Any = importlib.import_module(module)
        for part in attribute.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"can't be imported: {error}", where=f"py:{place}", hint="Write py:package.module:function.", code="target"
        ) from None
    if not callable(function):
        raise UsageError("is not a function", where=f"py:{place}", code="target")
    return function  # type: ignore[no-any-return]


def _accepted(function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return frozenset(_OFFERED)
    return frozenset(parameter.name for parameter in parameters[1:])


async def _in_thread(call: Callable[[], Any]) -> Any:
    """A daemon thread for each call: a call that never returns can then not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def resolve(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        try:
            outcome = (future.set_result, call())
        except BaseException as error:  # carried over to the loop
            if isinstance(error, StopIteration):
                error = RuntimeError("StopIteration")  # a future can't carry it
            outcome = (future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(resolve, *outcome)

    threading.Thread(target=work, name="ask", daemon=True).start()
    return await future


def wrong_result(result: Any) -> AskFailed:
    return AskFailed("wrong-shape", f"the function gave {type(result).__name__}, expected a dict or a string")


def _plain(result: Any) -> dict[str, Any]:
    """What the function gave, as it would come back from a file: tuples are lists, NaN is null."""
    if isinstance(result, str):
        return {"answer_json": {"claim": result}}
    try:
        plain = msgspec.json.decode(msgspec.json.encode(dict(result) if isinstance(result, Mapping) else result))
    except UnicodeEncodeError:
        plain = result  # half a surrogate pair: JSON has an escape for it
    except (TypeError, ValueError, RecursionError, OverflowError):
        plain = None
    if not isinstance(plain, dict):
        raise wrong_result(result)
    return plain
