"""Calibration: a judge's score held against the labels of people, before it may stop a release."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import msgspec

from ... import stats
from ...core.custom import Custom
from ...core.metrics import decimal
from ...core.sources import Input, read_records
from ...core.tally import Tally
from ...errors import DataError
from ...reading.jsonl import Problems
from ...text import plural

Scored = float | bool | str
CELLS = ((True, True), (True, False), (False, True), (False, False))  # label, score


class Labelled(msgspec.Struct):
    """One answer that a person looked at; without a score, the one of this run's answer to the question."""

    qid: str
    label: Scored
    score: Scored | None = None


class Labels(msgspec.Struct, frozen=True):
    """What people said: pairs of label and score, and labels whose score this run has."""

    counts: dict[tuple[bool, bool], int]
    pending: dict[str, bool]


class Agreed(msgspec.Struct, frozen=True):
    """How a score agrees with people."""

    kappa: Fraction | None
    n: int
    unused: int
    interval: tuple[float, float] | None
    at_least: str
    items: int

    @property
    def shortfall(self) -> str:
        """Why the score may not block; empty where it may."""
        if self.n < self.items:
            return f"its calibration has {plural(self.n, 'label')} of the {self.items} that it takes"
        if self.kappa is None:
            return "its kappa with people is undefined: all labels, or all scores, are the same"
        if self.kappa < Fraction(self.at_least):
            shown = decimal(self.kappa, against=Fraction(self.at_least))
            return f"its kappa with people is {shown} (n = {self.n}), below {self.at_least}"
        return ""

    def block(self) -> dict[str, object]:
        """As a report shows it."""
        return {
            "kappa": None if self.kappa is None else float(self.kappa),
            "n": self.n,
            "unused_labels": self.unused,
            "interval95": None if self.interval is None else [round(edge, 6) for edge in self.interval],
            "at_least": self.at_least,
            "items_at_least": self.items,
            "passes": not self.shortfall,
        }


def read_labels(path: str, read: Input, judged: Callable[[object, str], object]) -> Labels:
    """Labels and scores, both judged by the metric's own bar; two labels of one question without a score are one too
    many.
    """
    problems = Problems()
    counts = dict.fromkeys(CELLS, 0)
    pending: dict[str, bool] = {}
    for line, row in read_records(path, Labelled, read, "labels", problems):
        where = f"{read.path}:{line}"
        label = row.label if isinstance(row.label, bool) else judged(row.label, where)
        if row.score is not None:
            counts[(bool(label), bool(judged(row.score, where)))] += 1
        elif row.qid in pending:
            hint = "Give the score of each answer that was labelled, or keep one label."
            raise DataError(
                f"a second label of {row.qid!r} without a score", where=where, hint=hint, code="metric-labels"
            )
        else:
            pending[row.qid] = bool(label)
    read.close(problems, lenient=False)
    return Labels(counts, pending)


def agreed(spec: Custom, labels: Labels, tally: Tally) -> Agreed:
    """Cohen's kappa over the pairs of the file and those that this run's scores complete."""
    assert spec.calibration is not None
    seen = {cell: tally[f"{spec.name}: label {cell[0]} score {cell[1]}"] for cell in CELLS}
    cells = [labels.counts[cell] + seen[cell] for cell in CELLS]
    table = [cells[:2], cells[2:]]
    spread = stats.kappa_spread(table)
    return Agreed(
        stats.kappa(table),
        sum(cells),
        len(labels.pending) - sum(seen.values()),
        None if spread is None else spread.interval,
        spec.calibration.at_least,
        spec.calibration.items,
    )
