"""Comparison: two runs on the same gold set, what got worse or better by name, and whether noise could explain it."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from msgspec.structs import replace

from .. import stats
from ..core.decision import report as report_of
from ..errors import DataError
from ..reading.reports import check_report, exact_value, load_report
from ..suites import passing_rule
from ..text import plural, visible
from .changes import Change, Comparison, answer_of, chance, comparison_dict, sentence, worse_than
from .evaluate import evaluate
from .pairing import Pairs, Rows, SideBySide, Value, narrowed, rows_of
from .verify import Reach, file_digest, recompute

__all__ = [
    "Change",
    "Comparison",
    "Rows",
    "chance",
    "compare",
    "compare_loaded",
    "compare_reports",
    "comparison_dict",
    "incomparable",
    "narrowed",
    "sentence",
    "worse_than",
]

SLIP = Fraction("0.02")  # a rate may drop by so much
SLIP_P95 = Fraction("0.15")  # and a latency rise by this share
SEED = 20_261_115  # of the permutation test, so that the same runs give the same p


def compare(
    base: Mapping[str, object] | str | os.PathLike[str],
    head: Mapping[str, object] | str | os.PathLike[str],
    *,
    gold: str = "",
    map: Sequence[str] = (),
    slips: Mapping[str, Fraction] | None = None,
    only: Sequence[str] = (),
    rescore: bool = True,
) -> Comparison:
    """Compare two reports of one suite, or two trace files with the gold set that both are to be scored by.

    Different gold sets, gates, options or definitions are refused, unless the base can be scored again from its traces.
    """
    if gold:
        base, head = (report_of(evaluate("answers", gold=gold, trace=side, map=tuple(map))) for side in (base, head))
    before, after = (
        narrowed(check_report(dict(side)) if isinstance(side, Mapping) else load_report(side, keep=Rows))
        for side in (base, head)
    )
    reach = Reach("" if isinstance(head, Mapping) else os.fspath(head))
    return compare_loaded(before, after, slips=slips, only=only, rescore=rescore, reach=reach)


def compare_loaded(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    slips: Mapping[str, Fraction] | None = None,
    only: Sequence[str] = (),
    rescore: bool = True,
    reach: Reach | None = None,
) -> Comparison:
    """The same of two reports that are known to be as they were written."""
    notes = []
    if before["digest"] == after["digest"]:
        items = sum(1 for _ in rows_of(after))
        suite = str(after["shipworthy"].get("suite"))
        return Comparison(suite, [], [], [], [], [], items, 1.0, ["the two runs are identical"])
    if differences := incomparable(before, after):
        if not rescore:
            raise _refusal(differences)
        before, note = _rescored(before, after, differences, reach or Reach())
        notes.append(note)
    return _comparison(before, after, dict(slips or {}), only, notes)


def compare_reports(base: Mapping[str, object], head: Mapping[str, object], only: Sequence[str] = ()) -> Comparison:
    """Two reports that are known to be comparable and as they were written."""
    return _comparison(base, head, {}, only, [])


def incomparable(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[str]:
    """Why two reports can't be compared; empty when they can."""
    for side in (base, head):
        if "suites" in side:
            raise DataError(
                "is a report of several suites",
                hint="Compare the reports of one suite, or name it with --suite.",
                code="compare-board",
            )
    checks = [
        ("suites", base["shipworthy"].get("suite"), head["shipworthy"].get("suite")),
        ("profiles", base["shipworthy"].get("profile"), head["shipworthy"].get("profile")),
        ("definitions versions", base["shipworthy"].get("definitions"), head["shipworthy"].get("definitions")),
        ("gold sets", *_gold_digests(base, head)),
        ("gates", _gates(base), _gates(head)),
        ("options", _options(base), _options(head)),
    ]
    return [name for name, old, new in checks if old != new]


def _gold_digests(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[object, object]:
    """What tells gold sets apart, the same kind for both: content, else bytes; a fixture stands for gold."""
    sides = [side.get("inputs", {}).get("gold") or side.get("inputs", {}).get("fixture") or {} for side in (base, head)]
    kind = "content" if all("content" in side for side in sides) else "sha256"
    return sides[0].get(kind), sides[1].get(kind)


def _options(report: Mapping[str, Any]) -> dict[str, object]:
    """What the numbers hang on; by which fields they are also taken apart changes none of them."""
    return {name: value for name, value in report.get("options", {}).items() if name != "by"}


def _gates(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((str(one["gate"]), str(one.get("severity", ""))) for one in report.get("outcomes", []))


def _refusal(differences: Sequence[str]) -> DataError:
    return DataError(
        f"the two runs can't be compared: they have different {' and '.join(differences)}",
        hint="Score both with the same gold set and gates: compare BASE.jsonl HEAD.jsonl --gold GOLD.",
        code="compare-different",
    )


def _rescored(
    base: Mapping[str, Any], head: Mapping[str, Any], differences: list[str], reach: Reach
) -> tuple[dict[str, object], str]:
    """The base scored again with the head's gold set, gates and options, where its own traces are at hand unchanged."""
    suite = head["shipworthy"].get("suite")
    if base["shipworthy"].get("suite") != suite:
        raise _refusal(differences)
    stated = {name: given for name, given in base.get("inputs", {}).items() if name not in ("gold", "fixture")}
    run = base.get("run", {})
    called = (run.get("call") or {}).get("inputs", {})
    paths = {name: str(called.get(name) or run.get(name, "")) for name in stated}
    reach.check(suite, {name: path for name, path in paths.items() if path}, {})
    usable = all(
        os.path.isfile(path) and file_digest(path) == stated[name].get("sha256") for name, path in paths.items()
    )
    if not usable or not paths:
        raise _refusal(differences)
    again = report_of(recompute(head, paths, reach))
    if again["inputs"].get("gold") != head.get("inputs", {}).get("gold"):
        raise _refusal(differences)
    return again, f"the base was scored again from its traces, because the {' and '.join(differences)} differ"


def _comparison(
    base: Mapping[str, object],
    head: Mapping[str, object],
    slips: dict[str, Fraction],
    only: Sequence[str],
    notes: list[str],
) -> Comparison:
    """The comparison, or one clear error: both have the shape of reports, but what is in them may be anything."""
    try:
        return _compared(base, head, slips, only, notes)
    except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"the numbers of the two reports can't be compared: {visible(str(error), 100)}",
            hint="One of them was edited; score again.",
            code="report-invalid",
        ) from error


def _compared(
    base: Mapping[str, Any], head: Mapping[str, Any], slips: dict[str, Fraction], only: Sequence[str], notes: list[str]
) -> Comparison:
    items = SideBySide(rows_of(base), rows_of(head))
    sides = items.base.kinds, items.head.kinds
    rules = passing_rule(base), passing_rule(head)
    before, after = ([passes(row) for row in side] for passes, side in zip(rules, sides, strict=True))
    lost, gained = items.changed(before, after, (True, False)), items.changed(before, after, (False, True))
    ran, runs = ([_ran(row) for row in side] for side in sides)
    absent = [*(name for name, kind in items.alone if kind is not None), *items.changed(ran, runs, (True, False))]
    names = [name for name in head["metrics"] if name in base["metrics"] and (not only or name in only)]
    changes = [_change(name, base, head, items, slips.get(name)) for name in names]
    p = float(stats.mcnemar_one_sided(len(lost), len(gained)))
    return Comparison(
        str(head["shipworthy"]["suite"]),
        changes,
        lost,
        gained,
        sorted(absent),
        [name for name, kind in items.alone if kind is None],
        len(items),
        p,
        [*notes, *_diagnosis(base, head, lost, gained)],
    )


def _ran(row: Mapping[str, Any]) -> bool:
    """Whether the run has more of an item than that it has no trace, or one that failed."""
    return not {"missing", "error"} & {str(row.get("status")), str(row.get("state"))}


def _change(
    name: str, base: Mapping[str, Any], head: Mapping[str, Any], items: SideBySide, slip: Fraction | None
) -> Change:
    measures = base["metrics"][name], head["metrics"][name]
    old, new = (exact_value(measure) for measure in measures)
    sign = _direction(name, base, head)
    unit, kind = str(measures[1].get("unit", "")), str(measures[1].get("kind", ""))
    if old is None or new is None or sign is None:
        lost = sign is not None and old is not None and new is None
        return Change(name, old, new, answer="regressed" if lost else None, unit=unit, kind=kind)
    change = Change(name, old, new, (old - new) * sign, _slip(name, measures[0], old, slip))
    pairs = items.pairs(name)
    if pairs.counts and change.slip is not None and set(chain.from_iterable(pairs.counts)) <= {0, 1}:
        return _paired(change, pairs, sign)
    return _unpaired(replace(change, unit=unit, kind=kind), measures, pairs, sign)


def _paired(change: Change, pairs: Pairs, sign: int) -> Change:
    """A rate whose items are known one by one: McNemar for a drop, Tango for the absence of one."""
    assert change.worse is not None and change.slip is not None
    lost = [item for item, was, now in pairs.moved if (was - now) * sign > 0]
    gained = [item for item, was, now in pairs.moved if (now - was) * sign > 0]
    b, c, n = len(lost), len(gained), pairs.counts.total()
    high, low = stats.tango_upper(b, c, n), stats.tango_upper(c, b, n)
    assert high is not None and low is not None
    excluded = stats.excludes_drop(b, c, n, change.slip)
    answer = answer_of(change.worse, change.slip, bool(b or c), excluded)
    more = None if excluded or answer == "regressed" else stats.more_for_no_regression(b, c, n, change.slip)
    return replace(
        change,
        answer=answer,
        interval=(-high, low) if sign > 0 else (-low, high),
        method="Tango, both one-sided 95 % bounds",
        lost=lost,
        gained=gained,
        pairs=n,
        p=float(stats.mcnemar_one_sided(b, c)),
        n_needed=None if more is None else n + more,
        p_gain=float(stats.mcnemar_one_sided(c, b)),
        excluded=excluded,
    )


def _unpaired(
    change: Change, measures: tuple[Mapping[str, object], Mapping[str, object]], pairs: Pairs, sign: int
) -> Change:
    """A metric without a pass or fail for each item: its interval says whether a drop beyond the slip is excluded."""
    p, interval, method = None, _newcombe(measures), "difference of two 95 % intervals"
    if pairs.counts:
        differences: Counter[Value] = Counter()
        for (was, now), count in pairs.counts.items():
            differences[now - was] += count
        interval, method = stats.mean_interval_of_counts(differences), "mean of paired differences, 95 %"
        p = stats.paired_permutation(differences, SEED)
    if change.slip is not None and change.worse is not None:
        if change.kind == "count":
            excluded, interval = change.worse <= change.slip, None
        else:
            reach = None if interval is None else (-interval[0] if sign > 0 else interval[1])
            excluded = reach is not None and reach <= change.slip
        answer = answer_of(change.worse, change.slip, bool(pairs.moved), excluded)
        change = replace(change, answer=answer, excluded=excluded)
    return replace(change, interval=interval, method=method if interval else "", pairs=pairs.counts.total(), p=p)


def _newcombe(measures: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[float, float] | None:
    """The interval of new - old from the two intervals, each distance added as squares are."""
    intervals = [measure.get("interval95") for measure in measures]
    if None in intervals:
        return None
    (low1, high1), (low2, high2) = intervals  # type: ignore[misc]
    old, new = (float(measure["value"]) for measure in measures)
    low, high = math.hypot(new - low2, high1 - old), math.hypot(high2 - new, old - low1)
    return new - old - low, new - old + high


def _slip(name: str, measure: Mapping[str, object], old: Fraction, given: Fraction | None) -> Fraction | None:
    """How much worse a metric may get: 0.02 for rates and means from 0 to 1, 15 % for latencies, nothing for counts."""
    if given is not None:
        return given
    if measure.get("kind") == "percentile":
        return old * SLIP_P95
    if measure.get("kind") == "count":
        return Fraction(0) if name == "missing" else None
    return SLIP if measure.get("kind") in ("rate", "mean", "coefficient") and not measure.get("unit") else None


def _direction(name: str, base: Mapping[str, Any], head: Mapping[str, Any]) -> int | None:
    """1 where more is better, -1 where less is; None where neither report says."""
    for report in (head, base):
        if better := report["metrics"][name].get("better"):
            return 1 if better == "higher" else -1
        for outcome in report.get("outcomes", []):
            if outcome["metric"] == name:
                return 1 if ">=" in outcome["gate"] else -1
    return None


def _diagnosis(base: Mapping[str, object], head: Mapping[str, object], lost: list[str], gained: list[str]) -> list[str]:
    """Both ways at once, on the same gold set: the environments differ rather than the pipeline."""
    if len(lost) >= 2 and len(gained) >= 2 and min(len(lost), len(gained)) * 3 >= max(len(lost), len(gained)):
        return [
            f"{plural(len(lost), 'item')} lost and {len(gained)} gained: results that flip between environments "
            "point to a fragmented index, or to text that is normalised differently"
        ]
    return []
