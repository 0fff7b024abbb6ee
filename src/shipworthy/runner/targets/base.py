"""The seam: a Target is asked one question and gives back the fields of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from ...core.options import make_options
from ...core.run_options import RunOptions
from ..plan import Ask
from ..redact import Secrets


class Target(Protocol):
    """What the runner can ask. `replays` targets bring their own latencies along.

    One that has to start something first may have `async def ready()`: it is awaited before anything is written, and
    before the clock of each call starts. One whose answer can't depend on the name of a jitter says
    `by_wording = True`: an unchanged question is not sent again.
    """

    name: str
    replays: bool

    async def ask(self, ask: Ask) -> dict[str, object]: ...
    async def close(self) -> None: ...


class OneByOne:
    """A target of which nothing stays open between questions."""

    replays = False

    async def close(self) -> None:
        """There is nothing to close."""


@runtime_checkable
class MappedTarget(Protocol):
    """A target whose responses are mapped, and that notes which fields came."""

    def unmatched(self) -> dict[str, tuple[str, str]]: ...


class TargetOptions(RunOptions, kw_only=True):
    """The run options, and the secrets of the run; each kind of target takes what concerns it."""

    secrets: Secrets = msgspec.field(default_factory=Secrets)


def chosen(options: TargetOptions | None, given: Mapping[str, Any]) -> TargetOptions:
    """The options with what was given by name; None is the default, and a misspelt name is an error."""
    made = make_options(TargetOptions, given, "a run")
    if options is None:
        return made
    return msgspec.structs.replace(options, **{name: getattr(made, name) for name in given if given[name] is not None})


class Timed(dict[str, Any]):
    """A trace whose target knows better than we how long the answer took."""

    elapsed_ms: float | None = None
    ttft_ms: float | None = None  # to the first text of a stream


def request_of(ask: Ask) -> dict[str, object]:
    """The body that is sent for an Ask where no template says otherwise."""
    body = {"q": ask.question, "qid": ask.qid, "seed": ask.seed, "jitter": ask.jitter, "knobs": ask.knobs}
    further = {"temperature": ask.temperature, "history": ask.history or None}
    return body | {name: value for name, value in further.items() if value is not None}
