"""A finished report as it is read: its results, checked against what its summary says of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ...core.sources import Input
from ...errors import DataError
from ...reading.decimals import read_exact
from ...reading.reports import load_report, refuse_edited
from ..reasoning.contracts import DIMENSIONS

Report = Mapping[str, Any]  # of the reasoning suite, as JSON has it
ReportSource = str | os.PathLike[str] | Report
# Reports round to four places at most, so a summary may differ by half of the last one.
ROUNDED = Fraction(5, 100_000)
OVERALL, HARD = "overall_score", "hard_failures"  # values of a result that bars need, besides its scores
WANTED = "Give the file that `reason run --output` wrote."


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a report says about one case."""

    id: str
    status: str
    passed: bool
    error: bool
    judged: bool  # neither an error nor a case without evidence
    blank: bool  # whatever the token count says
    overall: Fraction | None
    hard_failures: tuple[str, ...]
    failed_hard: bool
    says_hard: bool  # whether it has hard failures at all, if only an empty list of them
    scores: dict[str, Fraction | None]
    asked: tuple[str, ...]  # dimensions; a report that does not say what was asked for asks for everything

    @property
    def held(self) -> dict[str, bool]:
        """Whether it has each value that bars need and a result that was judged could have."""
        held = {OVERALL: self.overall is not None, HARD: self.says_hard}
        return held | {score_value(name): self.scores[name] is not None for name in self.asked}


def score_value(dimension: str) -> str:
    return f"dimension_scores.{dimension}"


def load_reasoning_report(path: str | os.PathLike[str], read: Input | None = None) -> Report:
    """A report file, decoded and checked for its two parts; `read` learns what was read."""
    where = os.fspath(path)
    report, digest = read_exact(path, "the report", WANTED, "report-unreadable", "report-unreadable")
    checked = _with_both_parts(report, where)
    if read is not None:
        read.path, read.digest, read.records = where, digest, len(checked["results"])
    return checked


def _with_both_parts(report: object, where: str) -> Report:
    if not isinstance(report, Mapping) or not isinstance(report.get("summary"), Mapping):
        raise _refused("the report has no summary", where)
    results = report.get("results")
    if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
        raise _refused("the report has no list of results", where)
    return report


def read_results(source: ReportSource, read: Input) -> list[Result]:
    """The results of a report; one whose summary is not what they add up to is refused."""
    report = _with_both_parts(source, read.path) if isinstance(source, Mapping) else load_reasoning_report(source, read)
    results = [result_of(result) for result in report["results"]]
    for id_, count in Counter(result.id for result in results).items():
        if count > 1:
            raise DataError(
                f"duplicate case id {id_!r} in the results",
                where=read.path,
                hint="Run the evaluation again with one answer to each case.",
                code="answer-repeated",
            )
    verify_summary(report["summary"], results, read.path)
    if "shipworthy" in report:  # those of the original script have no digest
        refuse_edited(source if isinstance(source, Mapping) else load_report(source, edited=True), read.path)
    return results


def result_of(body: Report) -> Result:
    asked = body.get("required")
    hard, error = body.get("hard_failures"), body.get("status") == "error" or bool(body.get("error"))
    judged = not error and body.get("status") != "no_evidence"
    return Result(
        id=str(body.get("id", "")),
        status=str(body.get("status", "")),
        passed=body.get("passed") is True,
        error=error,
        judged=judged,
        blank=_is_blank(body),
        overall=_number(body.get("overall_score")),
        hard_failures=tuple(map(str, hard)) if isinstance(hard, list) else (),
        says_hard=isinstance(hard, list),
        failed_hard=judged and bool(hard),  # older reports call an error a hard failure
        scores={name: _score(body, name) for name in DIMENSIONS},
        asked=tuple(name for name in DIMENSIONS if not isinstance(asked, list) or name in asked),
    )


def _is_blank(body: Report) -> bool:
    """By the answer's text, else by what a report of the original script says about it: it has none."""
    for name in ("answer", "content"):
        if isinstance(body.get(name), str):
            return not body[name].strip()
    if isinstance(body.get("empty_content"), bool):
        return bool(body["empty_content"])
    return not _number(body.get("response_chars"))


def verify_summary(summary: Report, results: Sequence[Result], where: str) -> None:
    """Refuse a report whose summary is not what its results add up to."""
    averages = summary.get("dimension_averages") or {}
    stated = {name: summary.get(name) for name in ("total_cases", "passed_cases", "error_cases", "failed_cases")}
    stated |= {name: summary.get(name) for name in ("pass_rate", "average_overall_score")}
    stated |= {f"dimension_averages.{name}": averages.get(name) for name in DIMENSIONS}
    for name, allowed in _counted(results).items():
        _require_same(name, stated[name], allowed, where)


def _counted(results: Sequence[Result]) -> dict[str, tuple[Fraction | None, ...]]:
    """What each number of a summary may be."""
    total, passed = len(results), sum(result.passed for result in results)
    errors, judged = sum(result.error for result in results), sum(result.judged for result in results)
    counted: dict[str, tuple[Fraction | None, ...]] = {
        "total_cases": (Fraction(total),),
        "passed_cases": (Fraction(passed),),
        "error_cases": (Fraction(errors),),
        # Some reports count errors among the failed cases, or among the cases of the pass rate.
        "failed_cases": (Fraction(judged - passed), Fraction(total - passed)),
        "pass_rate": tuple(Fraction(passed, among) if among else None for among in (judged, total)),
        "average_overall_score": (
            _mean(result.overall for result in results if result.judged),
            _mean(result.overall for result in results),
        ),
    }
    for name in DIMENSIONS:
        asked = _mean(result.scores[name] for result in results if name in result.asked)
        counted[f"dimension_averages.{name}"] = (_mean(result.scores[name] for result in results), asked)
    return counted


def _require_same(name: str, stated: object, allowed: tuple[Fraction | None, ...], where: str) -> None:
    if stated is None and (None in allowed or name.startswith("dimension_averages")):
        return
    value = _number(stated)
    if value is not None and any(one is not None and abs(value - one) <= ROUNDED for one in allowed):
        return
    shown = "nothing" if stated is None else f"{float(value):g}" if value is not None else repr(stated)
    counted = "undefined" if allowed[0] is None else f"{float(allowed[0]):g}"
    raise DataError(
        f"the summary says {name} is {shown}, its results say {counted}",
        where=where,
        hint="The report was changed or cut; run it again.",
        code="report-disagrees",
    )


def _score(body: Report, name: str) -> Fraction | None:
    scores = body.get("dimension_scores")
    value = scores.get(name) if isinstance(scores, dict) else None
    return _number(value.get("score") if isinstance(value, dict) else value)


def _mean(values: Iterable[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def _number(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _refused(what: str, where: str) -> DataError:
    return DataError(what, where=where, hint=WANTED, code="report-unreadable")
