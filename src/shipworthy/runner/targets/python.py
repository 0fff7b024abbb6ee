"""Python: a function of the pipeline under test, named by text and run in worker processes; and the demo, run here."""

from __future__ import annotations

import importlib

from ...errors import UsageError
from ..failures import AskFailed
from ..plan import Ask
from ..shape import checked, mapped, parse_mapping, parsed
from .base import TargetOptions
from .function import Function
from .pool import Workers
from .worker import encoded

_OFFERED = ("qid", "seed", "jitter", "knobs")
_WHERE_GIVEN = ("temperature", "history")


def _offered(ask: Ask) -> dict[str, object]:
    """What a function may take by name; the rarer things only where the plan has them."""
    given = {name: getattr(ask, name) for name in _OFFERED}
    return given | {name: value for name in _WHERE_GIVEN if (value := getattr(ask, name)) not in (None, [])}


class PythonTarget:
    """`module:function`, called with the question and those of qid, seed, jitter and knobs that it has a name for.

    It gives back a trace's fields, or a string, which is the claim.
    """

    replays = False

    def __init__(self, place: str, options: TargetOptions) -> None:
        self.name, self._mapping = f"py:{place}", parse_mapping(options.mapping)
        self._workers = Workers(place, options, accepts=(*_OFFERED, *_WHERE_GIVEN))

    @property
    def by_wording(self) -> bool:
        return "jitter" not in (self._workers.takes or ())

    async def ready(self) -> None:
        await self._workers.ready()

    async def ask(self, ask: Ask) -> dict[str, object]:
        value = await self._workers.ask(ask.question, _offered(ask))
        return checked(mapped({"answer_json": {"claim": value}} if isinstance(value, str) else value, self._mapping))

    async def close(self) -> None:
        await self._workers.close()


class DemoTarget:
    """The embedded pipeline, in this process: it is part of the package and not under test."""

    replays = False
    by_wording = True

    def __init__(self, faults: str, options: TargetOptions) -> None:
        named = tuple(fault.strip() for fault in faults.split(",") if fault.strip())
        self.name = f"demo:{faults}" if named else "demo"
        self._mapping, self._fixed = parse_mapping(options.mapping), {"faults": named} if named else {}
        # It lives beside the runner, so it is found by name and not imported at the top.
        self._function = Function(importlib.import_module("shipworthy.demo").answer, options.secrets)

    async def ask(self, ask: Ask) -> dict[str, object]:
        given = {name: getattr(ask, name) for name in _OFFERED} | self._fixed
        try:
            result = await self._function.result(ask.question, given)
        except AskFailed as failed:
            if isinstance(failed.__cause__, UsageError):  # the demo lacks that fault or knob: no run can go well
                raise failed.__cause__ from None
            raise
        return checked(mapped(parsed(encoded(result), "the result"), self._mapping))

    async def close(self) -> None:
        """Nothing stays open between questions."""
