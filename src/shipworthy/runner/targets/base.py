"""The seam: a Target is asked one question and gives back the fields of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from ..plan import Ask
from ..redact import Secrets


class Target(Protocol):
    """What the runner can ask. `replays` targets bring their own latencies along.

    One that has to start something first may have `async def ready()`: it is awaited before the clock starts.
    """

    name: str
    replays: bool

    async def ask(self, ask: Ask) -> dict[str, Any]: ...
    async def close(self) -> None: ...


class TargetOptions(msgspec.Struct, kw_only=True):
    """How a target is asked; each kind takes what concerns it."""

    headers: Mapping[str, str] = {}
    mapping: Mapping[str, str] = {}
    allow_redirects: bool = False
    max_response_bytes: int = 4_000_000
    connections: int = 64  # idle connections that are kept open, and processes of a Python function at most
    start_seconds: float = 120.0  # for a process to import a Python function
    model: str = ""
    evidence: str = ""
    secrets: Secrets = msgspec.field(default_factory=Secrets)


def request_of(ask: Ask) -> dict[str, Any]:
    """The body that is sent for an Ask."""
    return {"q": ask.question, "qid": ask.qid, "seed": ask.seed, "jitter": ask.jitter, "knobs": ask.knobs}
