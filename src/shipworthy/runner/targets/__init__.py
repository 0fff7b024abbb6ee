"""Targets: the systems that can be asked, told apart by how they are written.

http://… https://…   POST one JSON object, get one back
chat:http://…        an OpenAI-compatible chat endpoint, shown evidence only
cmd:./x --json       a command, started once a question
py:package.module:fn a Python function, sync or async, in processes of its own
replay:file.jsonl    a trace file
demo, demo:fault,…   the embedded pipeline, in this process
"""

from __future__ import annotations

from ...errors import UsageError
from ..failures import AskFailed
from ..redact import without_password
from .base import Target, TargetOptions

__all__ = ["AskFailed", "Target", "TargetOptions", "parse_target"]


def parse_target(spec: str, options: TargetOptions | None = None) -> Target:
    """The target that a specification names, ready to be asked. Only the kind that is needed is imported."""
    options = options or TargetOptions()
    kind, _, rest = spec.partition(":")
    if kind in ("http", "https"):
        from .http import HttpTarget

        return HttpTarget(spec, options)
    if kind == "chat":
        from .chat import ChatTarget

        return ChatTarget(rest, options)
    if kind == "cmd":
        from .command import CommandTarget

        return CommandTarget(rest, options)
    if kind == "replay":
        from .replay import ReplayTarget

        return ReplayTarget(rest, options)
    if kind in ("py", "demo"):
        from .python import DemoTarget, PythonTarget

        return DemoTarget(rest, options) if kind == "demo" else PythonTarget(rest, options)
    raise UsageError(
        f"{without_password(spec).partition('?')[0]!r} is not a target",
        where="--target",
        code="target",
        hint="Write http(s)://…, chat:http://…, cmd:…, py:module:function, replay:FILE or demo.",
    )
