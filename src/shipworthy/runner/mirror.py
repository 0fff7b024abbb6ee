"""Mirror: ask two retrieval endpoints the same questions and write a log of each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import msgspec

from ..core.contracts import Gold, Trace
from ..core.sources import Input, stream_traces
from ..errors import DataError
from ..reading.jsonl import field_first
from ..suites.retrieval.log import LogLine
from .failures import AskFailed
from .plan import Ask
from .shape import parsed
from .sweep import RunSummary, run
from .targets.base import TargetOptions, chosen
from .targets.http import HttpClient


class RetrieveTarget:
    """An endpoint that takes `{"q", "qid", "seed", "index"}` and gives back one log line."""

    replays = False

    def __init__(self, url: str, index: str, options: TargetOptions, where: str = "--target") -> None:
        self.name = url.partition("?")[0] + (f"#{index}" if index else "")
        self._client, self._index = HttpClient(url, options, where), index

    async def ask(self, ask: Ask) -> dict[str, object]:
        body: dict[str, object] = {"q": ask.question, "qid": ask.qid, "seed": ask.seed}
        line = parsed(await self._client.post(body | ({"index": self._index} if self._index else {})))
        try:
            msgspec.convert({**line, "qid": "-"}, LogLine)
        except msgspec.ValidationError as error:
            raise AskFailed("wrong-shape", field_first(str(error))) from None
        return line

    async def close(self) -> None:
        await self._client.close()


def mirror(
    questions: Iterable[Gold],
    live: str,
    shadow: str,
    live_out: str | os.PathLike[str],
    shadow_out: str | os.PathLike[str],
    *,
    live_index: str = "",
    shadow_index: str = "",
    **given: Any,
) -> tuple[RunSummary, RunSummary]:
    """Send every question × paraphrase × seed to both endpoints; each log is a journal that a later call can resume.

    What is given by name besides are run options.
    """
    asked = list(questions)
    sides = (("live", live, live_index, live_out), ("shadow", shadow, shadow_index, shadow_out))
    options = [chosen(None, {"paraphrases": True} | given) for _ in sides]  # each has secrets of its own
    # Both addresses are looked at before the first question is asked.
    targets = [
        RetrieveTarget(url, index, each, f"--{side}")
        for (side, url, index, _), each in zip(sides, options, strict=True)
    ]
    done = [
        run(asked, target, out, options=each) for (*_, out), target, each in zip(sides, targets, options, strict=True)
    ]
    return done[0], done[1]


def questions_of_log(path: str) -> list[Gold]:
    """What a log asked, by question: the first wording, and the others as paraphrases."""
    wordings: dict[str, dict[str, None]] = {}
    for _, line in stream_traces(path, Input(), record=Trace):
        if line.asked.strip():
            wordings.setdefault(str(line.qid), {})[line.asked] = None
    if not wordings:
        raise DataError(
            "no line of the log has the question that was sent",
            where=path,
            hint="Lines need q, query or question.",
            code="log-no-question",
        )
    return [Gold(qid=qid, question=first, paraphrases=rest) for qid, (first, *rest) in wordings.items()]
