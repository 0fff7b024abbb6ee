"""Worker: the process in which a Python function of the pipeline under test runs. Started as a program, not imported.

Whatever the function does (exit, crash, loop, print, close files) happens here and not in the judge. Requests come as
lines of JSON on standard input and results leave as lines of JSON on standard output, as with any command; both are
moved out of the pipeline's way first. Nothing of the package is imported, so that a worker starts fast and the
pipeline finds its own modules.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

if TYPE_CHECKING:
    import asyncio

NO_CHANNEL = 70  # exit code: the result has nowhere to go
_HIGH = 200  # a number that open() won't give away again when a pipeline has closed "all" files
_TEXT = 2000  # characters of an exception that are sent
_LAST_WORDS = 2.0  # seconds for clean-up once the judge has hung up


class Channel:
    """What standard input and output were, out of the way of whatever the pipeline does with its files."""

    def __init__(self) -> None:
        self._in, self._out = os.fdopen(_moved(0), "rb"), _moved(1)
        self._owner, self._identity = os.getpid(), _identity(self._out)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)  # what is printed is noise
        os.close(nothing)

    def read(self) -> dict[str, Any]:
        """The next request; EOFError when the judge has hung up."""
        line = self._in.readline()
        if not line:
            raise EOFError
        request: dict[str, object] = json.loads(line)
        return request

    def write(self, line: bytes) -> None:
        if os.getpid() != self._owner:
            os._exit(0)  # a fork of the pipeline's that came back here: its parent answers
        rest = memoryview(line.replace(b"\n", b" ") + b"\n")
        try:
            if _identity(self._out) != self._identity:
                os._exit(NO_CHANNEL)
            while rest:
                rest = rest[os.write(self._out, rest) :]
        except OSError:
            os._exit(NO_CHANNEL)


class Calls:
    """The function, called with one request after the other; a coroutine runs on one loop that lasts."""

    def __init__(self, function: Callable[..., object], accepts: list[str] | None, drops: bool, limit: int) -> None:
        self._function, self._drops, self._limit = function, drops, limit
        self._accepts: frozenset[str] | None = None if accepts is None else _accepted(function, accepts)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def takes(self) -> list[str]:
        """The names that are passed along; all are where none was to be chosen."""
        return sorted(self._accepts or ())

    def reply(self, request: Mapping[str, Any]) -> bytes:
        """The line that answers a request, whatever the function does in Python."""
        try:
            value = encoded(self._result(request), self._drops)
            if len(value) > self._limit:
                return _failed(request, "too-large", f"the result is larger than {self._limit:,} bytes")
            return b'{"id":"%s","value":%s}' % (request["id"].encode(), value)
        except NoResult as wrong:
            return _failed(request, "wrong-shape", str(wrong))
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: a pipeline can't end the judge
            return _failed(request, "python", text_of(error))

    def _result(self, request: Mapping[str, Any]) -> object:
        given = request["given"]
        if self._accepts is not None:
            given = {name: value for name, value in given.items() if name in self._accepts}
        result = self._function(request["question"], **given)
        if not inspect.isawaitable(result):
            return result
        if self._loop is None or self._loop.is_closed():
            import asyncio  # who gives coroutines has imported it already; the others need not wait for it

            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(_awaited(result))


class NoResult(Exception):
    """What the function gave is not an answer."""


def main() -> None:
    """Answer requests until the judge hangs up."""
    channel = Channel()
    start = channel.read()
    requests: queue.SimpleQueue[dict[str, object] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, requests), daemon=True).start()
    try:
        sys.path[:], sys.argv = start["path"], [start["place"]]
        _codec()  # ours, before the pipeline's folder is looked at
        function = found(start["place"])
    except BaseException as error:  # a module may well call sys.exit
        channel.write(json.dumps({"refused": _refusal(error)}).encode())
        return
    calls = Calls(function, start["accepts"], start["drops"], start["limit"])
    channel.write(json.dumps({"ready": True, "takes": calls.takes}).encode())
    while (request := requests.get()) is not None:
        channel.write(calls.reply(request))


def found(place: str) -> Callable[..., object]:
    """The function that `module:function` names, from the working directory too."""
    module, _, attribute = place.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does, so that a script beside you can be named
    function: Any = importlib.import_module(module)
    for part in attribute.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise NoResult("is not a function")
    return function  # type: ignore[no-any-return]


def encoded(result: object, drops: bool = False) -> bytes:
    """A string, or what JSON calls an object; `drops` leaves out fields that have no JSON form."""
    if isinstance(result, str):
        return _written(str.__str__(result)) or b""
    value = dict(result) if isinstance(result, Mapping) else result
    written = _written(value)
    if written is None and isinstance(value, dict):
        if not drops:
            raise NoResult("the function's result has no JSON form")
        written = _written({name: inner for name, inner in value.items() if _written({name: inner})})
    if written is None or not written.startswith(b"{"):
        raise NoResult(f"the function gave {type(result).__name__}, expected a dict or a string")
    return written


def text_of(error: BaseException) -> str:
    """The name of an exception and what it says, if it can."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = ""
    return f"{name}: {text}"[:_TEXT] if text else name


def _written(value: object) -> bytes | None:
    """JSON, with tuples as lists and NaN as null; half a surrogate pair is written as an escape."""
    msgspec = _codec()
    try:
        return bytes(msgspec.json.encode(value))
    except UnicodeEncodeError:
        pass
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None
    try:
        return json.dumps(msgspec.to_builtins(value), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None


@functools.cache
def _codec() -> Any:
    """Kept, so that a pipeline which empties sys.modules does not take it away."""
    return importlib.import_module("msgspec")


def _accepted(function: Callable[..., object], offered: list[str]) -> frozenset[str]:
    """Those of the offered arguments that the function has a parameter for, besides the question."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return frozenset(offered)
    return frozenset(parameter.name for parameter in parameters[1:])


async def _awaited(result: Any) -> Any:
    return await result


def _listen(channel: Channel, requests: queue.SimpleQueue[dict[str, object] | None]) -> None:
    """Hand requests to the main thread. When the judge is gone nothing stays behind, not even an endless call."""
    try:
        while True:
            requests.put(channel.read())
    except (OSError, EOFError, ValueError):
        requests.put(None)
    time.sleep(_LAST_WORDS)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _failed(request: Mapping[str, object], kind: str, why: str) -> bytes:
    return json.dumps({"id": request["id"], "failed": kind, "why": why}).encode()


def _refusal(error: BaseException) -> str:
    return str(error) if isinstance(error, NoResult) else f"can't be imported: {text_of(error)}"


def _moved(fd: int) -> int:
    """The same file under a high number, which no child inherits."""
    if fcntl is not None:
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        except OSError:  # so few files are allowed that there is no high number
            pass
    return os.dup(fd)


def _identity(fd: int) -> tuple[int, int]:
    if fcntl is None:
        return 0, 0
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


if __name__ == "__main__":
    main()
