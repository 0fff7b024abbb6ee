"""Replay: a trace file as a target, so that a run can be repeated without the pipeline."""

from __future__ import annotations

from ...errors import DataError
from ...reading.jsonl import read_objects
from ...reading.mapping import FieldMap
from ..failures import AskFailed
from ..plan import Ask
from ..shape import checked, mapped
from .base import OneByOne, TargetOptions

_OF_THE_RUN = (
    "qid",
    "q_id",
    "q",
    "query",
    "question",
    "run_id",
    "sweep_id",
    "planned_runs",
    "ts",
    "seed",
    "jitter",
    "paraphrase",
)


class ReplayTarget(OneByOne):
    """Answers from a trace file: by run_id, else by qid, the first trace of it."""

    replays = True

    def __init__(self, path: str, options: TargetOptions) -> None:
        self.name = f"replay:{path}"
        self._by_run: dict[str, dict[str, object]] = {}
        self._by_qid: dict[str, dict[str, object]] = {}
        for _, trace in read_objects(path):
            qid = trace.get("qid", trace.get("q_id"))
            self._by_qid.setdefault(str(qid), trace)
            if isinstance(trace.get("run_id"), str):
                self._by_run.setdefault(trace["run_id"], trace)
        if not self._by_qid:
            raise DataError("there is no trace to replay", where=path, code="replay-empty")

    async def ask(self, ask: Ask) -> dict[str, object]:
        trace = self._by_run.get(ask.run_id) or self._by_qid.get(ask.qid)
        if trace is None:
            raise AskFailed("not-recorded", f"the file has no trace of {ask.qid!r}")
        return checked(mapped({name: value for name, value in trace.items() if name not in _OF_THE_RUN}, FieldMap({})))
