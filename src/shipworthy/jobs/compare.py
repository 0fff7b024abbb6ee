"""Comparison: two runs on the same gold set, what got worse or better by name, and whether noise could explain it."""

from __future__ import annotations

import json
import math
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import lt
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from .. import stats
from ..core.decision import report as report_of
from ..core.metrics import decimal
from ..errors import DataError
from ..glossary import metric_title
from ..reading.reports import check_report, exact_value, load_report, row_name
from ..suites import display_of, passing_rule
from ..text import first_few, plural, visible
from .evaluate import evaluate
from .verify import Reach, file_digest, recompute

Answer = Literal["improved", "regressed", "no regression beyond the slip", "unchanged", "inconclusive"]
Value = int | Fraction  # most are yes or no

SLIP = Fraction("0.02")  # a rate may drop by so much
SLIP_P95 = Fraction("0.15")  # and a latency rise by this share
SEED = 20_261_115  # of the permutation test, so that the same runs give the same p
_TOLD = ("status", "state", "reason", "cited", "correct", "recall_rank")  # what the rules of a display read


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
    return compare_reports(before, after, only, slips, notes)


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


def compare_reports(
    base: Mapping[str, object],
    head: Mapping[str, object],
    only: Sequence[str] = (),
    slips: Mapping[str, Fraction] | None = None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Two reports that can be compared; one clear error where they have the shape of reports, but not the content."""
    try:
        return _compared(base, head, slips or {}, only, notes)
    except (ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"the numbers of the two reports can't be compared: {visible(str(error), 100)}",
            hint="One of them was edited; score again.",
            code="report-invalid",
        ) from error


def _compared(
    base: Mapping[str, Any],
    head: Mapping[str, Any],
    slips: Mapping[str, Fraction],
    only: Sequence[str],
    notes: Sequence[str],
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


# --- what changed, in words and as plain values ---


class Change(msgspec.Struct, frozen=True):
    """A metric before and after."""

    metric: str
    old: Fraction | None
    new: Fraction | None
    worse: Fraction | None = None  # how much worse it got, in the metric's own unit; below 0 it got better
    slip: Fraction | None = None  # how much worse it may get
    answer: Answer | None = None  # None where it can't get worse: a metric without a direction
    interval: tuple[float, float] | None = None  # of new - old
    method: str = ""
    lost: list[str] = []
    gained: list[str] = []
    pairs: int = 0
    p: float | None = None  # of a drop
    n_needed: int | None = None  # items that could show that there is none
    unit: str = ""
    kind: str = ""
    p_gain: float | None = None  # of an improvement, where the items are known one by one
    excluded: bool | None = None  # whether a drop beyond the slip is excluded; None where nothing tests it

    @property
    def within_noise(self) -> bool | None:
        """Whether noise could explain the difference; None where nothing tests it."""
        p = self.p_gain if self.answer == "improved" and self.p_gain is not None else self.p
        if not self.worse or p is None:
            return None if p is None else True
        return p > float(stats.ALPHA)


def answer_of(worse: Fraction, slip: Fraction, flips: bool, excluded: bool) -> Answer:
    """One of five answers. A metric that got better improved, however much it may have slipped elsewhere."""
    if worse > slip:
        return "regressed"
    if worse < 0:
        return "improved"
    if not worse and not flips:
        return "unchanged"
    return "no regression beyond the slip" if excluded else "inconclusive"


class Comparison(msgspec.Struct, frozen=True):
    """Everything that changed between two runs of a suite."""

    suite: str
    changes: list[Change]
    lost: list[str]  # passed before, fails now
    gained: list[str]
    absent: list[str]  # in the base and not in the head: regressions
    new: list[str]  # in the head alone
    items: int
    p: float  # exact McNemar over all items, of a drop
    notes: list[str] = []

    @property
    def regressed(self) -> list[str]:
        return [change.metric for change in self.changes if change.answer == "regressed"]

    @property
    def verdict(self) -> Answer:
        """Any regression decides; more items gained than lost are an improvement; a doubtful drop is inconclusive."""
        if self.regressed or self.absent:
            return "regressed"
        answers = {change.answer for change in self.changes}
        if "improved" in answers and ("inconclusive" not in answers or len(self.gained) > len(self.lost)):
            return "improved"
        if "inconclusive" in answers:
            return "inconclusive"
        return "no regression beyond the slip" if "no regression beyond the slip" in answers else "unchanged"

    @property
    def proven(self) -> bool:
        """Whether a drop beyond the slip is excluded for every metric that has one."""
        return all(change.excluded is not False for change in self.changes) and self.verdict != "regressed"


def sentence(change: Change) -> str:
    """A change in words: old, new, difference, items, and what follows."""
    old, new = (_shown(value, change) for value in (change.old, change.new))
    if change.old is None or change.new is None:
        return f"{change.metric} {old} → {new}"
    difference = float(change.new - change.old)
    parts = [
        f"{change.metric} {old} → {new} ({difference:+g})"
        if change.kind == "count"
        else f"{change.metric} {old} → {new} ({difference:+.3f})"
    ]
    if change.pairs and (change.lost or change.gained):
        parts.append(f"{len(change.lost)} lost, {len(change.gained)} gained of {change.pairs}")
    p = change.p_gain if change.answer == "improved" else change.p
    if p is not None and change.worse and (change.lost or change.gained or not change.pairs):
        parts.append(f"could be chance ({chance(p)})" if change.within_noise else chance(p))
    if change.answer:
        parts.append(_in_words(change))
    return "; ".join(parts)


def worse_than(changes: Iterable[Change], baseline: str, suite: str) -> list[str]:
    """What is worse than in the baseline, a sentence for each cause: rates that lost the same questions share one."""
    causes: dict[object, list[Change]] = {}
    for change in changes:
        cause = (*change.lost, None, *change.gained) if change.lost and change.worse is not None else change.metric
        causes.setdefault(cause, []).append(change)
    return [_worse(group, baseline, suite) for group in causes.values()]


def _worse(group: Sequence[Change], baseline: str, suite: str) -> str:
    """`precision is 3.9 points worse than main (2.0 allowed). Could be chance: 2 lost, 1 gained. Look at Q07, Q12.`"""
    first = group[0]
    title = " and ".join(metric_title(change.metric, suite) for change in group)
    if first.worse is None or first.slip is None:
        return f"{title} was {_shown(first.old, first)} in {baseline} and is {_shown(first.new, first)} now"
    if first.kind not in ("rate", ""):
        limit = f"may get worse by {_shown(first.slip, first)}" if first.slip else "may not get worse"
        luck = ". Could be chance" if first.within_noise else ""
        was, now = (_shown(value, first) for value in (first.old, first.new))
        return f"{title} is {now}; it was {was} in {baseline}, and {limit}{luck}"
    points = " and ".join(dict.fromkeys(f"{100 * float(change.worse or 0):.1f}" for change in group))
    slips = " and ".join(dict.fromkeys(f"{100 * float(change.slip or 0):.1f}" for change in group))
    verb = "is" if len(group) == 1 else "are"
    told = f"{title} {verb} {points} points worse than {baseline} ({slips} allowed)"
    if not first.lost:
        return told
    luck = "Could be chance: " if first.within_noise else "More than chance: " if first.p is not None else ""
    return f"{told}. {luck}{len(first.lost)} lost, {len(first.gained)} gained. Look at {first_few(first.lost)}"


def chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _shown(value: Fraction | None, change: Change) -> str:
    if value is None:
        return "n/a"
    return str(value) if change.kind == "count" else decimal(value) + change.unit


def _in_words(change: Change) -> str:
    if change.answer != "inconclusive" or change.slip is None:
        return str(change.answer)
    if not change.n_needed:
        return f"inconclusive: a drop of more than {float(change.slip):g} is not ruled out"
    return (
        f"inconclusive: about {change.n_needed} questions are needed to rule out a drop of more than "
        f"{float(change.slip):g}"
    )


def comparison_dict(comparison: Comparison) -> dict[str, object]:
    """Plain values for JSON, in a fixed order."""
    exact = ("old", "new", "worse", "slip")
    names = [*(name for name in Change.__struct_fields__ if name not in exact), *exact]
    changes = [
        {name: getattr(change, name) for name in names}
        | {"within_noise": change.within_noise, "says": sentence(change)}
        for change in comparison.changes
    ]
    plain: dict[str, object] = msgspec.to_builtins(
        {
            "verdict": comparison.verdict,
            "suite": comparison.suite,
            "regressed": comparison.regressed,
            "changes": changes,
            **{name: getattr(comparison, name) for name in ("lost", "gained", "absent", "new", "items", "p", "notes")},
        },
        enc_hook=float,
    )
    return plain


# --- what each item says about a metric, in both runs ---


class Rows:
    """What a comparison reads of a report's rows: of each its name, and the number of its kind.

    In what is read most rows are alike: each kind is kept once. An item takes eight bytes, and those of its name.
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        """`report` may be one without items, which are added later."""
        self._tells = display_of(report).tells
        self._metrics: Mapping[str, Any] = report.get("metrics", {})
        self._read = {*_TOLD, display_of(report).passes.field, *self._metrics}
        self.kinds: list[Mapping[str, Any]] = []
        self._numbers: dict[bytes | str, int] = {}  # of the kinds, by what they say
        self._names: list[bytes] = []  # as JSON, many at a time
        self._kind_of = array("I")
        self._last, self._ascending = "", True
        self.add(report.get("items", []))

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        names = [row_name(row) for row in rows]
        self._ascending = self._ascending and all(map(lt, (self._last, *names), names))
        self._last = names[-1] if names else self._last
        self._names.append(json.dumps(names).encode())
        self._kind_of.extend([self._number({key: row[key] for key in row if key in self._read}) for row in rows])

    def _number(self, told: Mapping[str, Any]) -> int:
        try:
            key: bytes | str = msgspec.json.encode(told)
        except (UnicodeEncodeError, OverflowError):
            key = repr(told)
        number = self._numbers.setdefault(key, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(told)
        return number

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The name and the kind of each item, in the order of the names."""
        named = zip(chain.from_iterable(map(json.loads, self._names)), self._kind_of, strict=True)
        return named if self._ascending else iter(sorted(dict(named).items()))

    def alike(self, other: Rows) -> dict[int, int | None]:
        """For each kind, the number that it has in another report."""
        return {number: other._numbers.get(key) for key, number in self._numbers.items()}

    def told(self, name: str) -> list[Value | None]:
        """What each kind says about a metric; for a rate nothing, unless the items add up to its counts exactly."""
        rule = None if self._tells is None else self._tells(name)
        values = [_number(rule(row) if rule is not None and name not in row else row.get(name)) for row in self.kinds]
        measure = self._metrics.get(name, {})
        if measure.get("kind") != "rate":
            return values
        each = [(value, self._each[number]) for number, value in enumerate(values) if value is not None]
        sums = sum(value * count for value, count in each), sum(count for _, count in each)
        adds_up = (measure.get("numerator"), measure.get("denominator")) == sums
        return values if adds_up else [None] * len(values)

    @cached_property
    def _each(self) -> Counter[int]:
        """How many items there are of each kind."""
        return Counter(number for _, number in self)

    def values(self, name: str) -> dict[str, Value]:
        """What each item says about a metric, where it says anything."""
        told = self.told(name)
        return {item: value for item, number in self if (value := told[number]) is not None}


def _number(value: object) -> Value | None:
    if isinstance(value, int):  # or yes and no
        return value
    return Fraction(str(value)) if isinstance(value, float) else None


def narrowed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with as much of its rows as a comparison reads: questions and answers are most of a large one."""
    return {**report, "items": rows_of(report)}


def rows_of(report: Mapping[str, Any]) -> Rows:
    found = report.get("items")
    return found if isinstance(found, Rows) else Rows(report)


class Pairs(NamedTuple):
    """A metric in both runs: how often each two values meet, and by name the items of which they differ."""

    counts: Counter[tuple[Value, Value]]
    moved: list[tuple[str, Value, Value]]


class SideBySide:
    """The items of two runs: how often each two kinds meet, and by name those that are not alike or in one run only."""

    def __init__(self, base: Rows, head: Rows) -> None:
        self.base, self.head = base, head
        self._counts: Counter[tuple[int, int]] = Counter()
        self.moved: list[tuple[str, int, int]] = []
        self.alone: list[tuple[str, int | None]] = []  # with the kind in the base, None if it is in the head
        alike, old, new = base.alike(head), iter(base), iter(head)
        was, now = next(old, None), next(new, None)
        while was or now:
            if now is None or (was is not None and was[0] < now[0]):
                assert was is not None
                self.alone.append(was)
                was = next(old, None)
            elif was is None or now[0] < was[0]:
                self.alone.append((now[0], None))
                now = next(new, None)
            else:
                (name, before), (_, after) = was, now
                self._counts[before, after] += 1
                if alike[before] != after:
                    self.moved.append((name, before, after))
                was, now = next(old, None), next(new, None)

    def __len__(self) -> int:
        """How many items are in both runs."""
        return self._counts.total()

    def changed(self, was: Sequence[object], now: Sequence[object], how: tuple[object, object]) -> list[str]:
        """The items of whose kinds one thing was said before, and another now."""
        return [name for name, before, after in self.moved if (was[before], now[after]) == how]

    def pairs(self, name: str) -> Pairs:
        """The metric's value for each item that has one in both runs; none where the rows don't tell."""
        old, new = self.base.told(name), self.head.told(name)
        counts: Counter[tuple[Value, Value]] = Counter()
        for (before, after), count in self._counts.items():
            was, now = old[before], new[after]
            if was is not None and now is not None:
                counts[was, now] += count
        moved = []
        for item, before, after in self.moved:
            was, now = old[before], new[after]
            if was is not None and now is not None and was != now:
                moved.append((item, was, now))
        return Pairs(counts, moved)
