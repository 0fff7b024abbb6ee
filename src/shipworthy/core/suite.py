"""Suite: the one contract. A suite is data and pure functions; nothing else in the program knows one by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from .decision import Display
from .evidence import Counts, Evidence, Judged, Order, Outline, Row
from .gates import Gate, Outcome, parse_gates
from .inputs import Input, Stream
from .join import Case, Keep, Once, RunOf, Survey
from .metrics import Measure, Metric, Words
from .options import SuiteOptions
from .sources import Watch

if TYPE_CHECKING:
    from .control import Control, Setup

Sources = Mapping[str, Any]  # input → a path, or the records themselves


class InputSpec(msgspec.Struct, frozen=True):
    """One thing that a suite reads, as flags and config keys name it."""

    name: str
    help: str
    required: bool = True
    flags: tuple[str, ...] = ()  # spellings on the command line; `--name` where there is none
    driven: bool = False  # `check --run` can have it written by asking a target
    many: bool = False  # a glob or a folder of files will do as well
    table: bool = False  # looked things up in, such as texts by id; controls keep it and replace the rest


class Material(msgspec.Struct, kw_only=True):
    """What a suite makes of its inputs before a record is judged."""

    context: Any  # what every judgement shares; can be pickled, has `options`
    streams: dict[str, Stream]  # records by input
    gold: Stream | None = None  # the questions; None: the records make the cases
    watch: Callable[[], Watch] | None = None  # told of every gold item
    last_wins: bool = False  # of two gold items of one qid, as the original scripts had it
    by_records: bool = False  # the records make the cases, and gold only names questions that should have some
    reads: dict[str, Input] = {}  # filled while the streams are read
    keep: dict[str, Keep] = {}  # which of several records of a question count; all where nothing is said
    once: dict[str, Once] = {}  # inputs in which a record may not be repeated
    runs: dict[str, RunOf] = {}  # inputs with several runs of a question, of each of which the last record counts
    closed: bool = False  # a record of an unknown question is an error
    incomplete: list[str] = []  # what is known already to make the data unfit to judge
    warnings: list[str] = []
    subset: dict[str, Any] | None = None  # where only some of the questions are judged: which, and how many


class Findings(msgspec.Struct, kw_only=True):
    """Everything that is known when a decision is explained."""

    context: Any
    material: Material
    gathered: Any  # evaluate.Gathered
    evidence: Evidence
    known: dict[str, Metric]
    gates: list[Gate]
    defaults: frozenset[str] = frozenset()  # the keys of the gates that nobody named
    part: str = ""  # the part of the evidence that decides
    baseline: Mapping[str, Fraction] = {}
    measures: dict[str, Measure] = {}
    slices: dict[str, dict[str, Measure]] = {}
    outcomes: list[Outcome] = []
    incomplete: list[str] = []
    verdict: str = ""
    reasons: list[str] = []

    @property
    def tally(self) -> Any:
        return self.evidence.part(self.part)

    @property
    def ships(self) -> bool:
        return self.verdict == "SHIP"


class Explanation(msgspec.Struct, kw_only=True):
    """What a suite says about a decision beyond its gates."""

    counts: dict[str, int] = {}
    named: Mapping[str, Sequence[str]] = {}
    diagnosis: list[str] = []
    offenders: list[Row] = []
    cards: Sequence[Row] | None = None  # in place of the evidence's cards
    sections: dict[str, Any] = {}
    headline: dict[str, Any] = {}
    compat: dict[str, Any] | None = None
    warnings: list[str] = []
    first: list[str] = []  # what a reader must know before any reason
    reasons: list[str] | None = None  # in place of the gates' own
    measures: dict[str, Measure] | None = None  # in place of all that was measured
    slices: dict[str, dict[str, Measure]] | None = None  # in place of every slice
    items: Sequence[Row] | None = None  # in place of the evidence's rows


class Reference(msgspec.Struct, kw_only=True):
    """What the original script of a suite prints and decides."""

    measures: dict[str, Measure]  # unrounded
    headline: dict[str, Any]
    gates: list[Gate]  # those of the gates in force that it knows
    baseline: Mapping[str, Fraction] = {}
    sections: dict[str, Any] = {}
    items: Sequence[Row] = []
    incomplete: list[str] = []


# What a suite does where it says nothing else. Functions, not lambdas, so that a suite can be pickled.


def no_aliases(options: object) -> Mapping[str, str]:
    return {}


def no_gates(context: object) -> list[Gate]:
    return []


def no_terms() -> Mapping[str, Words]:
    return {}


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """One way to judge a pipeline."""

    name: str
    description: str
    inputs: tuple[InputSpec, ...]
    options: type[SuiteOptions]
    read: Callable[[Sources, Any], Material]
    judge: Callable[[Case, Any], Iterable[Judged]]  # (case, context); pure, top-level, picklable
    fact_names: Callable[[Any], Iterable[str]]  # (options): every fact that is counted where metrics are measured
    metrics: Callable[[Any], dict[str, Metric]]  # (options)
    explain: Callable[[Findings], Explanation]
    gates: Callable[[Any], list[Gate]] = no_gates  # (context): the defaults
    facts: Callable[[Outline, Any], Iterable[Counts]] | None = None  # (outline, context), asked once for each outline
    card: Callable[[Case, Any, str, Order], Row] | None = None  # (case, context, kind and place among the worst)
    brief: bool = False  # only reports read the rows of items that pass
    complete: Callable[[Any, Sources], Any] | None = None  # (options, inputs) → options with what the inputs decide
    survey: Callable[[Any], Survey | None] | None = None  # (context)
    settle: Callable[[Any, Any, Material], Any] | None = None  # (context, evaluate.Gathered, material) → context
    shown: Callable[[Any], Mapping[str, Any]] = no_aliases  # (context): what options stand for once files are read
    aliases: Callable[[Any], Mapping[str, str]] = no_aliases
    wanted: Callable[[Any], list[Gate]] | None = None  # gates that the options name; default: those of `gates`
    gate_key: Callable[[Gate], str] = attrgetter("key")  # gates of one key replace each other
    part: Callable[[Findings], str] | None = None  # which part of the evidence decides, where there are several
    compared: Callable[[Findings, Gate], Iterable[str]] | None = None  # the parts that a gate is about, if not that one
    slice_values: Mapping[str, str] = {}  # field that slices are named by → the value of a run that tells it
    asides: tuple[str, ...] = ()  # parts of the evidence that no metric is made of
    baseline: Callable[[Findings], Mapping[str, Fraction]] | None = None
    review: Callable[[Findings], tuple[list[Outcome], list[str]]] | None = None  # what only it can hold against them
    reference: Callable[[Findings], Reference] | None = None
    controls: Callable[[Setup], Iterable[Control]] | None = None  # runs that are known to be good or bad
    configurable: bool = True  # whether a config may name it
    terms: Callable[[], Mapping[str, Words]] = no_terms  # of values that are no metric by default
    display: Display = Display()
    refers_to: str = ""  # the suite that decides about wrong answers, where `check` runs both

    def named_gates(self, options: SuiteOptions) -> list[Gate]:
        """The gates that somebody asked for, checked against the suite's metrics."""
        if self.wanted is not None:
            return self.wanted(options)
        if not options.gates:
            return []
        return parse_gates(options.gates, self.metrics(options), self.aliases(options))
