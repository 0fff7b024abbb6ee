"""What the stability suite knows: what judgements share, a question made ready, the facts about runs and questions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ...core.contracts import Gold, Trace
from ...core.gates import Gate
from ...core.tally import Fact
from ..answers import judge as answers
from ..retrieval.places import Section
from .grid import Axes, Cell, Holes, asked_for
from .options import Options
from .sweeps import in_sweep

KS = (1, 2, 3, 5)
SAID = 300  # characters of an answer that a card may show


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    judging: answers.Judging
    bars: tuple[Gate, ...]  # what each question must clear
    bounds: Mapping[str, Fraction]  # what it must clear for the original script
    referred: frozenset[str] = frozenset()  # bars that a question which never flips can't miss here
    paraphrased: bool = False  # whether the gold set has paraphrases
    sweep: str = ""
    axes: Axes = Axes()

    def judges(self, trace: Trace) -> bool:
        """Whether a run belongs to the sweep, the arm and the grid that are judged."""
        return in_sweep(trace.sweep_id, self.sweep) and asked_for(trace, self.options)


class ExpectedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A gold item made ready for all its runs."""

    expected: answers.Expected
    relevant: frozenset[str]  # what a run may cite to have arrived
    anchor: Section | None
    plain: bool  # whether the original script compares with it as we do
    cites: bool  # whether runs are judged by what they cite: gold names citations, and the service has some

    @property
    def gold(self) -> Gold:
        return self.expected.gold


class RunFacts(msgspec.Struct, frozen=True):
    """The facts about one run."""

    cell: Cell
    status: str  # answered, refused, error
    contained: bool
    cited: bool | None  # None where the gold item has no citation to hit
    kept: bool | None  # None without constraints, or without an answer
    passed: bool
    claim: str  # in canonical form
    said: str  # the answer or the refusal as it came, in short
    citations: frozenset[str]
    asked: str
    arrived: bool = False  # cites something relevant, or within the anchor section
    logged: str | None = None  # λ as the log has it
    held: tuple[Fact, ...] = ()  # which values that gates may need it has and lacks
    unread: str = ""  # its language, where denials and refusals can't be read in it


class Flip(NamedTuple):
    """A run that differs from the majority of its question's runs, and in what."""

    cell: Cell
    differs: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one question."""

    question: ExpectedRuns
    runs: list[RunFacts]
    values: dict[str, Fraction | None]
    states: list[str] = []  # λ of each run
    distinct_prompts: int | None = None
    effective_runs: int | None = None
    flips: list[Flip] = []
    failed: tuple[str, ...] = ()  # bars that were not cleared
    undefined: tuple[str, ...] = ()  # bars whose metric has no value
    referred: tuple[str, ...] = ()  # bars that it misses alike in every run, which the answers suite decides about
    holes: Holes = Holes()
    repeated: int = 0  # runs that a later one at the same place replaced
    slices: tuple[str, ...] = ()  # names of the parts that it belongs to, such as type=table
    reference: tuple[str, ...] = ()  # what the original script counts for it

    @property
    def qid(self) -> str:
        return self.question.gold.qid

    @property
    def answerable(self) -> bool:
        return bool(self.question.gold.answerable)

    @property
    def answered(self) -> list[RunFacts]:
        return [run for run in self.runs if run.status == "answered"]

    @property
    def state(self) -> str:
        if not self.runs:
            return "missing"
        return "fail" if self.failed else "undefined" if self.undefined else "pass"
