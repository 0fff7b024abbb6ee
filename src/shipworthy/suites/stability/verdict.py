"""What the stability suite knows: options, the facts about one run, the facts about one question."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import msgspec

from ...gates import Gate
from .. import answers
from ..bars import written
from .grid import Cell

KS = (1, 2, 3, 5)


class Bar(NamedTuple):
    """A metric of one question that a gate may set a bar for."""

    says: str
    better: str
    on: str  # which questions it is about: answerable, unanswerable


BARS = {
    "acr": Bar("runs whose claim contains a gold substring", "higher", "answerable"),
    "cghc": Bar("runs that cite gold evidence within what was retrieved", "higher", "answerable"),
    "css": Bar("citations that all answered runs share, of those that any has", "higher", "answerable"),
    "ned50": Bar("median edit distance between two answers", "lower", "answerable"),
    "scu_cons": Bar("1 if every answer keeps the constraints", "higher", "answerable"),
    "refusal_rate": Bar("runs that refuse", "higher", "unanswerable"),
    "iaa": Bar("pairs of answers with the same wording", "higher", "answerable"),
    "jaccard": Bar("mean overlap of the citations of two answers", "higher", "answerable"),
    "css_all": Bar("citations that all runs share, refusals included", "higher", "answerable"),
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a verdict; it is printed in the report and is part of its digest."""

    answers: answers.Options
    bars: tuple[Gate, ...]
    max_fail_rate: Fraction = Fraction(0)
    seeds: tuple[int, ...] = ()
    jitters: tuple[str, ...] = ()

    def shown(self) -> dict[str, object]:
        return {
            "bars": [str(bar) for bar in self.bars], "max_fail_rate": written(self.max_fail_rate),
            "seeds": list(self.seeds), "jitters": list(self.jitters), "by": list(self.answers.by),
            "min_substr": self.answers.min_substr,
            "refusal": self.answers.rule.name if self.answers.declared else "exact", "closed": self.answers.closed,
            "id_map": str(self.answers.id_map) if self.answers.id_map else None,
        }  # fmt: skip


class Run(msgspec.Struct):
    """The facts about one run."""

    cell: Cell
    status: str  # answered, refused, error
    contained: bool
    cited: bool | None  # None where the gold item has no citation to hit
    kept: bool | None  # None without constraints, or without an answer
    passed: bool
    claim: str  # in canonical form
    citations: frozenset[str]
    asked: str
    arrived: bool = False  # cites something relevant, or within the anchor section
    logged: str | None = None  # λ as the log has it
    lambda_state: str = ""


class Flip(NamedTuple):
    """A run that differs from the majority of its question's runs, and in what."""

    cell: Cell
    differs: tuple[str, ...]


class Verdict(msgspec.Struct):
    """The facts about one question."""

    qid: str
    answerable: bool
    runs: list[Run]
    values: dict[str, Fraction | None]
    distinct_prompts: int | None = None
    effective_runs: int | None = None
    flips: list[Flip] = []
    failed: tuple[str, ...] = ()  # bars that were not cleared
    undefined: tuple[str, ...] = ()  # bars whose metric has no value
    slices: tuple[str, ...] = ()  # names of the parts that it belongs to, such as type=table

    @property
    def answered(self) -> list[Run]:
        return [run for run in self.runs if run.status == "answered"]
