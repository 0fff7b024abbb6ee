"""Say: the one way in which a command writes to standard output and standard error.

Text for people goes through `say`, a line at a time, and is escaped here. What is rendered elsewhere (reports, JSON) is
made safe by its own format and goes through `write_out`. Where nobody reads any more, nobody is told, and the exit code
stays what it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO, cast

from ..text import one_line


def say(text: str, err: bool = False) -> None:
    """One line for people. Whatever it quotes can't start another line, hide, colour or give orders to a CI system."""
    if err:
        tell(f"{one_line(text)}\n")
    else:
        write_out(f"{one_line(text)}\n")


def say_json(value: object, indent: int | None = 2) -> None:
    from ..report.json import dumps

    write_out(dumps(value, indent) + b"\n")


def write_out(data: str | bytes | Iterable[bytes]) -> None:
    """Rendered output, whole. A reader that has gone, such as `head`, is no error; a full disk is one."""
    stream = sys.stdout
    try:
        if not isinstance(data, str) and hasattr(stream, "buffer"):
            stream.flush()
            for piece in [data] if isinstance(data, bytes) else data:
                stream.buffer.write(piece)
        else:
            text = data if isinstance(data, str) else b"".join([data] if isinstance(data, bytes) else data).decode()
            stream.write(_encodable(text, stream))
        stream.flush()
    except BrokenPipeError:
        _let_go(stream)
    except OSError:
        _let_go(stream)  # else the interpreter tries once more when it ends, and makes an exit code of its own
        raise


def tell(text: str) -> None:
    """Standard error, also for progress that is drawn over. Where even that can't be written nobody is left to tell."""
    try:
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()
    except (OSError, ValueError):
        _let_go(sys.stderr)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _let_go(stream: TextIO) -> None:
    """Send what is still in the stream's buffer nowhere."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def open_streams() -> None:
    """Give closed standard streams (`>&-`) a place, so that no file of ours gets their number and their output."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")


def _nowhere(mode: str) -> TextIO:
    return cast(TextIO, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def reader_left() -> bool:
    """Whether standard output is a pipe that nobody reads any more; if so, nothing is written to it again."""
    import select

    try:
        poll = select.poll()
        poll.register(sys.stdout, 0)
        left = any(events & select.POLLERR for _, events in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # no pipe, or a system without `poll`
        return False
    if left:
        _let_go(sys.stdout)
    return left


def flushed() -> bool:
    """Whether everything that was printed has left; a reader that has gone counts as served."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go(sys.stdout)
    except (OSError, ValueError):
        _let_go(sys.stdout)
        return False
    return True
