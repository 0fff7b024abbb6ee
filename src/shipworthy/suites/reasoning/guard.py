"""Guard: the bars that a finished report must clear before anyone may rely on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from shipworthy.errors import DataError, UsageError
from shipworthy.suites.reasoning.fixture import DIMENSIONS, decode

# name of the bar → its default; `max_` bars bound from above
BARS: dict[str, Fraction] = {
    "min_pass_rate": Fraction(80, 100),
    "min_overall": Fraction(72, 100),
    "min_grounding": Fraction(62, 100),
    "min_actionability": Fraction(65, 100),
    "min_usefulness": Fraction(68, 100),
    "min_contradiction": Fraction(50, 100),
    "max_error_rate": Fraction(5, 100),
    "max_empty_content_rate": Fraction(2, 100),
    "max_hard_failure_rate": Fraction(10, 100),
    "min_cases": Fraction(20),
}
# Reports round to four places at most, so a summary may differ by half of the last one.
ROUNDED = Fraction(5, 100_000)


@dataclass(frozen=True)
class Check:
    """One bar: what was measured, over how many cases, and whether it holds."""

    name: str
    value: Fraction | None
    bound: Fraction
    n: int

    @property
    def holds(self) -> bool:
        """An undefined value holds only for a dimension that no case asks for."""
        if self.value is None:
            return self.name == "min_contradiction"
        return self.value <= self.bound if self.name.startswith("max_") else self.value >= self.bound

    def __str__(self) -> str:
        sign = "<=" if self.name.startswith("max_") else ">="
        value = "undefined" if self.value is None else f"{float(self.value):.4f}"
        metric = self.name.split("_", 1)[1]
        return f"{metric} {value} {sign} {float(self.bound):g} (n={self.n})"


def load_report(path: str | Path) -> dict[str, Any]:
    """A report file, decoded and checked for its two parts."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"the report can't be read ({error.strerror or error})",
            where=str(path),
            hint="Give the file that `reason run --output` wrote.",
            code="report-unreadable",
        ) from error
    except UnicodeDecodeError as error:
        raise _refused("the report is not UTF-8", str(path), "report-unreadable") from error
    try:
        report = decode(text, str(path))
    except DataError as error:
        raise _refused("the report is not JSON", str(path), "report-unreadable") from error
    if not isinstance(report, dict) or not isinstance(report.get("summary"), dict):
        raise _refused("the report has no summary", str(path), "report-unreadable")
    results = report.get("results")
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise _refused("the report has no list of results", str(path), "report-unreadable")
    return report


def guard(report: Mapping[str, Any], bars: Mapping[str, Fraction] | None = None, where: str = "report") -> list[Check]:
    """Every bar compared with what the results say; a summary that says otherwise is refused."""
    results = report["results"]
    verify_summary(report["summary"], results, where)
    total = len(results)
    measured: dict[str, tuple[Fraction | None, int]] = {
        "min_pass_rate": (_share(results, lambda r: r.get("passed") is True), total),
        "min_overall": _mean([_number(r.get("overall_score")) for r in results if not _is_error(r)]),
        "min_grounding": _dimension(results, "factual_grounding"),
        "min_actionability": _dimension(results, "actionability"),
        "min_usefulness": _dimension(results, "usefulness"),
        "min_contradiction": _dimension(results, "contradiction_handling"),
        "max_error_rate": (_share(results, _is_error), total),
        "max_empty_content_rate": (_share(results, _is_blank), total),
        "max_hard_failure_rate": (_share(results, lambda r: bool(r.get("hard_failures"))), total),
        "min_cases": (Fraction(total), total),
    }
    wanted = BARS | dict(bars or {})
    return [Check(name, value, wanted[name], n) for name, (value, n) in measured.items()]


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
    asked = [r for r in results if not isinstance(r.get("required"), list) or name in r["required"]]
    return _mean([_score(r, name) for r in asked])


def _score(result: Mapping[str, Any], name: str) -> Fraction | None:
    scores = result.get("dimension_scores")
    value = scores.get(name) if isinstance(scores, dict) else None
    return _number(value.get("score") if isinstance(value, dict) else value)


def _is_error(result: Mapping[str, Any]) -> bool:
    return result.get("status") == "error" or bool(result.get("error"))


def _is_blank(result: Mapping[str, Any]) -> bool:
    """Blank is empty, whatever the token count says; an error is counted as an error."""
    return not _is_error(result) and not str(result.get("answer") or "").strip()


def _share(results: Sequence[Mapping[str, Any]], holds: Callable[[Mapping[str, Any]], bool]) -> Fraction | None:
    return Fraction(sum(map(holds, results)), len(results)) if results else None


def _mean(values: Sequence[Fraction | None]) -> tuple[Fraction | None, int]:
    known = [value for value in values if value is not None]
    return (sum(known, Fraction(0)) / len(known) if known else None), len(known)


def _number(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _refused(what: str, where: str, code: str) -> DataError:
    return DataError(what, where=where, hint="Give the file that `reason run --output` wrote.", code=code)
