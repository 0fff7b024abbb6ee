"""Changes: a metric before and after, and everything that changed between two runs; in words and as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from .. import stats
from ..core.metrics import decimal
from ..glossary import metric_title
from ..text import first_few

Answer = Literal["improved", "regressed", "no regression beyond the slip", "unchanged", "inconclusive"]


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
    changes = [
        {
            **{
                name: getattr(change, name)
                for name in change.__struct_fields__
                if name not in ("old", "new", "worse", "slip")
            },
            **{name: _number(getattr(change, name)) for name in ("old", "new", "worse", "slip")},
            "within_noise": change.within_noise,
            "says": sentence(change),
        }
        for change in comparison.changes
    ]
    plain: dict[str, object] = msgspec.to_builtins(
        {
            "verdict": comparison.verdict,
            "suite": comparison.suite,
            "regressed": comparison.regressed,
            "changes": changes,
            **{name: getattr(comparison, name) for name in ("lost", "gained", "absent", "new", "items", "p", "notes")},
        }
    )
    return plain


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
