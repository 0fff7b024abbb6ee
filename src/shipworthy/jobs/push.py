"""Push: the results of a report, written to the traces of a platform as its own kind of judgement."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from ..errors import DataError
from ..importers.platforms import Address, Api
from ..reading.formats import raw_rows
from ..reading.reports import load_report, reason_of, reports_of, row_name
from ..suites import passing_rule
from ..text import visible

TOGETHER = 100  # results in one request, where a platform takes several
_SPACE = uuid.UUID("6f0d6f0a-4d0e-5f0e-8c53-2f6a5d9f7c11")


class Result(NamedTuple):
    """What is written to one trace."""

    trace: str
    name: str  # shipworthy.SUITE
    passed: bool
    says: str

    @property
    def id(self) -> str:
        """The same result of the same trace has the same id: a push that is repeated writes nothing twice."""
        return str(uuid.uuid5(_SPACE, f"{self.trace} {self.name}"))

    @property
    def label(self) -> str:
        return "pass" if self.passed else "fail"


def push(report: str, trace: str, address: Address, *, seconds: float) -> int:
    """Write every item of the report whose trace is known to the platform; how many were written."""
    found = results(load_report(report), trace)
    if not found:
        what = "no item of the report has a trace of a platform"
        hint = "Give the traces that `shipworthy import` wrote from it: --trace FILE."
        raise DataError(what, where=visible(trace), hint=hint, code="push-nothing")
    api = Api(address, seconds)
    for start in range(0, len(found), TOGETHER):
        _WRITE[address.kind](api, found[start : start + TOGETHER])
    return len(found)


def results(report: Mapping[str, Any], trace: str | os.PathLike[str]) -> list[Result]:
    """The items of all suites, by the trace that was judged: the last one of each question."""
    traces: dict[str, str] = {}
    for _, row in raw_rows(trace):
        source = row.get("source")
        if isinstance(source, Mapping) and isinstance(source.get("trace"), str):
            traces[str(row.get("qid"))] = source["trace"]
    return [
        Result(traces[name], f"shipworthy.{suite}", passed, f"{report_verdict}: {says}")
        for suite, report_verdict, name, passed, says in _items(report)
        if name in traces
    ]


def _items(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, bool, str]]:
    for one in reports_of(report):
        passes, cards = passing_rule(one), {row_name(card): card for card in one.get("offenders", [])}
        for row in one.get("items", []):
            card = cards.get(row_name(row), {})
            reason = str(card.get("says") or reason_of(row))
            passed = passes(row)
            says = "passes" if passed else visible(reason, 500) or "fails"
            name = str(row.get("qid", row.get("id", "")))
            yield one["shipworthy"]["suite"], str(one["decision"]), name, passed, says


def _to_phoenix(api: Api, some: Sequence[Result]) -> None:
    data = [
        {
            "trace_id": one.trace,
            "name": one.name,
            "annotator_kind": "CODE",
            "result": {"label": one.label, "score": int(one.passed), "explanation": one.says},
            "identifier": "shipworthy",
        }
        for one in some
    ]
    api.ask("POST", "/v1/trace_annotations?sync=true", {"data": data})


def _to_mlflow(api: Api, some: Sequence[Result]) -> None:
    for one in some:
        path = f"/api/3.0/mlflow/traces/{quote(one.trace, safe='')}"
        source = {"source_type": "CODE", "source_id": "shipworthy"}
        said = {"trace_id": one.trace, "feedback": {"value": one.passed}, "rationale": one.says}
        # It gives ids itself, so what an earlier push wrote is looked for and changed.
        info = ((api.get(path) or {}).get("trace") or {}).get("trace_info") or {}
        mine = (old for old in info.get("assessments", []) if old.get("assessment_name") == one.name)
        if old := next((old for old in mine if old.get("source") == source), None):
            changed = {
                "assessment": said | {"assessment_id": old["assessment_id"]},
                "update_mask": "feedback,rationale",
            }
            api.ask("PATCH", f"{path}/assessments/{quote(str(old['assessment_id']), safe='')}", changed)
        else:
            new = said | {"assessment_name": one.name, "source": source}
            api.ask("POST", f"{path}/assessments", {"assessment": new})


def _to_langfuse(api: Api, some: Sequence[Result]) -> None:
    for one in some:
        body = {"id": one.id, "traceId": one.trace, "name": one.name, "value": int(one.passed), "dataType": "BOOLEAN"}
        api.ask("POST", "/api/public/scores", body | {"comment": one.says})


def _to_langsmith(api: Api, some: Sequence[Result]) -> None:
    for one in some:
        body = {"id": one.id, "run_id": one.trace, "trace_id": one.trace, "key": one.name, "score": int(one.passed)}
        told = {"value": one.label, "comment": one.says, "feedback_source": {"type": "api", "metadata": {}}}
        api.ask("POST", "/api/v1/feedback", body | told)


_WRITE = {"phoenix": _to_phoenix, "mlflow": _to_mlflow, "langfuse": _to_langfuse, "langsmith": _to_langsmith}
