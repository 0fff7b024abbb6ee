"""Guard: the bars that a finished report must clear before anyone may rely on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shipworthy.contracts import Input
from shipworthy.decision import number
from shipworthy.errors import DataError
from shipworthy.gates import Gate, Outcome
from shipworthy.metrics import Metric
from shipworthy.suites.bars import bar
from shipworthy.suites.reasoning.facts import metrics as all_metrics
from shipworthy.suites.reasoning.fixture import DIMENSIONS, decode, read_bytes
from shipworthy.tally import Fact

# name of the bar → the metric, its side and its default
BARS: dict[str, tuple[str, str, Fraction]] = {
    "min_pass_rate": ("pass_rate", ">=", Fraction(80, 100)),
    "min_overall": ("average_overall", ">=", Fraction(72, 100)),
    "min_grounding": ("factual_grounding", ">=", Fraction(62, 100)),
    "min_actionability": ("actionability", ">=", Fraction(65, 100)),
    "min_usefulness": ("usefulness", ">=", Fraction(68, 100)),
    "min_contradiction": ("contradiction_handling", ">=", Fraction(50, 100)),
    "max_error_rate": ("error_rate", "<=", Fraction(5, 100)),
    "max_empty_content_rate": ("empty_rate", "<=", Fraction(2, 100)),
    "max_hard_failure_rate": ("hard_failure_rate", "<=", Fraction(10, 100)),
    "min_cases": ("cases", ">=", Fraction(20)),
}
# Reports round to four places at most, so a summary may differ by half of the last one.
ROUNDED = Fraction(5, 100_000)
WANTED = "Give the file that `reason run --output` wrote."


def load_report(path: str | os.PathLike[str], read: Input | None = None) -> dict[str, Any]:
    """A report file, decoded and checked for its two parts; `read` learns what was read."""
    where = os.fspath(path)
    raw = read_bytes(path, "the report", WANTED, "report-unreadable")
    try:
        report = decode(raw.decode("utf-8-sig"), where)
    except UnicodeDecodeError as error:
        raise _refused("the report is not UTF-8", where) from error
    except DataError as error:
        raise _refused("the report is not JSON", where) from error
    if not isinstance(report, dict) or not isinstance(report.get("summary"), dict):
        raise _refused("the report has no summary", where)
    results = report.get("results")
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise _refused("the report has no list of results", where)
    if read is not None:
        read.path, read.digest, read.records = where, hashlib.sha256(raw).hexdigest(), len(results)
    return report


def gates(bars: Mapping[str, Fraction]) -> list[Gate]:
    """Every bar as a gate, those that were given in place of the defaults."""
    return [bar(metric, op, bars.get(name, default)) for name, (metric, op, default) in BARS.items()]


def metrics() -> dict[str, Metric]:
    """Those metrics of the suite that a report's results tell."""
    known = all_metrics()
    return {metric: known[metric] for metric, _, _ in BARS.values()}


def facts(result: Mapping[str, Any]) -> Iterator[Fact]:
    """What one result of a report says; blank is empty, whatever the token count says."""
    yield "items"
    if result.get("passed") is True:
        yield "passed"
    if result.get("hard_failures"):
        yield "hard_failure"
    overall = _number(result.get("overall_score"))
    if _is_error(result):
        yield "error"
    elif overall is not None:
        yield "overall", overall
    if not _is_error(result) and not str(result.get("answer") or "").strip():
        yield "empty"
    for name in DIMENSIONS:
        if _asks(result, name) and (score := _score(result, name)) is not None:
            yield f"asks_{name}"
            yield name, score


def checks(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The bars under the names of their flags; a gate of another metric goes by its own."""
    names = {metric: name for name, (metric, _, _) in BARS.items()}
    return [
        {
            "bar": names.get(outcome.gate.key, outcome.gate.key),
            "value": number(outcome.measure.value),
            "bound": number(outcome.bound),
            "n": outcome.measure.n,
            "holds": outcome.holds,
        }
        for outcome in outcomes
    ]


def items(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a result, by id."""
    rows = [
        {"qid": str(result.get("id", "")), "status": str(result.get("status", "")), "passed": result.get("passed") is True,
         "overall": number(_number(result.get("overall_score"))), "hard_failures": _strings(result.get("hard_failures"))}
        for result in results
    ]  # fmt: skip
    return sorted(rows, key=lambda row: str(row["qid"]))


def verify_summary(summary: Mapping[str, Any], results: Sequence[Mapping[str, Any]], where: str) -> None:
    """Refuse a report whose summary is not what its results add up to."""
    total = len(results)
    passed = sum(r.get("passed") is True for r in results)
    errors = sum(map(_is_error, results))
    _same("total_cases", summary.get("total_cases"), (Fraction(total),), where)
    _same("passed_cases", summary.get("passed_cases"), (Fraction(passed),), where)
    _same("error_cases", summary.get("error_cases"), (Fraction(errors),), where)
    # Some reports count errors among the failed cases.
    _same(
        "failed_cases",
        summary.get("failed_cases"),
        (Fraction(total - passed - errors), Fraction(total - passed)),
        where,
    )
    _same("pass_rate", summary.get("pass_rate"), (Fraction(passed, total) if total else None,), where)
    overall, _ = _mean([_number(r.get("overall_score")) for r in results if not _is_error(r)])
    _same("average_overall_score", summary.get("average_overall_score"), (overall,), where)
    averages = summary.get("dimension_averages") or {}
    for name in DIMENSIONS:
        every, _ = _mean([_score(r, name) for r in results])
        asked, _ = _dimension(results, name)
        _same(f"dimension_averages.{name}", averages.get(name), (every, asked), where)


def _same(name: str, stated: Any, expected: tuple[Fraction | None, ...], where: str) -> None:
    if stated is None and (None in expected or name.startswith("dimension_averages")):
        return
    value = _number(stated)
    if value is not None and any(e is not None and abs(value - e) <= ROUNDED for e in expected):
        return
    shown = "nothing" if stated is None else f"{float(value):g}" if value is not None else repr(stated)
    counted = "undefined" if expected[0] is None else f"{float(expected[0]):g}"
    raise DataError(
        f"the summary says {name} is {shown}, its results say {counted}",
        where=where,
        hint="The report was changed or cut; run it again.",
        code="report-disagrees",
    )


def _dimension(results: Sequence[Mapping[str, Any]], name: str) -> tuple[Fraction | None, int]:
    """The mean over the results that ask for the dimension."""
    return _mean([_score(r, name) for r in results if _asks(r, name)])


def _asks(result: Mapping[str, Any], name: str) -> bool:
    """A report that does not say what was asked for asks for everything."""
    return not isinstance(result.get("required"), list) or name in result["required"]


def _score(result: Mapping[str, Any], name: str) -> Fraction | None:
    scores = result.get("dimension_scores")
    value = scores.get(name) if isinstance(scores, dict) else None
    return _number(value.get("score") if isinstance(value, dict) else value)


def _is_error(result: Mapping[str, Any]) -> bool:
    return result.get("status") == "error" or bool(result.get("error"))


def _mean(values: Sequence[Fraction | None]) -> tuple[Fraction | None, int]:
    known = [value for value in values if value is not None]
    return (sum(known, Fraction(0)) / len(known) if known else None), len(known)


def _number(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _strings(values: Any) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _refused(what: str, where: str) -> DataError:
    return DataError(what, where=where, hint=WANTED, code="report-unreadable")
