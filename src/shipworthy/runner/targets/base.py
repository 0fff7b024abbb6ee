"""The seam: a Target is asked one question and gives back the fields of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from ..plan import Ask
from ..redact import Secrets


class Target(Protocol):
    """What the runner can ask. `replays` targets bring their own latencies along.

    One that has to start something first may have `async def ready()`: it is awaited before the clock starts. One whose
    answer can't depend on the name of a jitter says `by_wording = True`: an unchanged question is not sent again.
    """

    name: str
    replays: bool

    async def ask(self, ask: Ask) -> dict[str, object]: ...
    async def close(self) -> None: ...


@runtime_checkable
class MappedTarget(Protocol):
    """A target whose responses are mapped, and that notes which fields came."""

    def unmatched(self) -> dict[str, tuple[str, str]]: ...


class TargetOptions(msgspec.Struct, kw_only=True):
    """How a target is asked; each kind takes what concerns it."""

    headers: Mapping[str, str] = {}
    mapping: Mapping[str, str] | Sequence[str] = {}
    method: str = ""  # POST, or GET where the query carries the question and there is no body
    query: Mapping[str, str] = {}  # values may hold placeholders
    body: Any = None  # a template: JSON text, @FILE or a parsed tree; None sends the runner's own request
    proxy: str = ""
    trust_env: bool = False  # use the proxies of the environment
    ca_file: str = ""  # certificates to trust besides the system's
    allow_redirects: bool = False
    max_response_bytes: int = 4_000_000
    connections: int = 64  # calls at a time: processes of a Python function at most
    start_seconds: float = 120.0  # for a process to import a Python function
    model: str = ""
    evidence: str = ""
    secrets: Secrets = msgspec.field(default_factory=Secrets)


class Timed(dict[str, Any]):
    """A trace whose target knows better than we how long the answer took."""

    elapsed_ms: float | None = None
    ttft_ms: float | None = None  # to the first text of a stream


def request_of(ask: Ask) -> dict[str, object]:
    """The body that is sent for an Ask where no template says otherwise."""
    body = {"q": ask.question, "qid": ask.qid, "seed": ask.seed, "jitter": ask.jitter, "knobs": ask.knobs}
    further = {"temperature": ask.temperature, "history": ask.history or None}
    return body | {name: value for name, value in further.items() if value is not None}
