"""Contracts: the fixture with its cases, evidence and thresholds, and the answers that a reasoner gave."""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, field
from msgspec.structs import replace

from ...core.decision import number
from ...core.evidence import Row
from ...core.gates import exact
from ...core.inputs import Input, Records, Stream, numbered_rows
from ...core.options import AllowMissing, Opt, SuiteOptions
from ...errors import DataError
from ...reading.decimals import Share, as_typed, read_exact
from ...reading.jsonl import Problem


class Options(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the reasoning suite."""

    profile: Annotated[
        Literal["grounded", "signals"], Opt("grounded decides; signals is the original format lint.", shown=False)
    ] = "grounded"
    case_min_overall: Annotated[str | None, Opt("Replace the fixture's case minimum.", "SHARE", kind="number")] = None
    suite_min_pass_rate: Annotated[
        str | None, Opt("Replace the fixture's suite minimum.", "SHARE", kind="number", shown=False)
    ] = None
    fail_on_errors: Annotated[bool, Opt("Any case that ended in an error stops the suite.")] = False
    allow_missing: AllowMissing = 0
    max_cases: Annotated[int | None, Opt("Only the first so many cases.", least=1)] = None

    def __post_init__(self) -> None:
        self.bars()

    def bars(self) -> dict[str, Fraction]:
        """The fixture's thresholds that were overwritten, exactly as they were written."""
        names = ("case_min_overall", "suite_min_pass_rate")
        return {name: exact(name, given) for name in names if (given := getattr(self, name)) is not None}


Dimension = Literal["actionability", "factual_grounding", "contradiction_handling", "usefulness"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
# Settings of a reasoner, in the order in which the command line has them.
ReasonArg = Literal["recursive", "max_iterations", "max_depth", "max_context", "max_tokens"]
REASON_ARGS: tuple[ReasonArg, ...] = get_args(ReasonArg)
DATA = Path(__file__).parent / "data"
ALIASES = {"prompts": "cases", "weights": "dimension_weights", "query": "prompt"}
SEEN = 400  # characters of what came instead of an answer
META = ("model", "provider", "memories_used", "facts_used", "tokens_in", "tokens_out", "duration")
convert = partial(as_typed, hint="See the page on writing cases.", code="fixture-field")
Text = Annotated[str, Meta(min_length=1)]


def _by_dimension(*numbers: str) -> dict[Dimension, Share]:
    return {name: Share(number) for name, number in zip(DIMENSIONS, numbers, strict=True)}


DEFAULT_WEIGHTS = _by_dimension("0.30", "0.30", "0.15", "0.25")
DEFAULT_MINIMUMS = _by_dimension("0.55", "0.50", "0.50", "0.60")
DEFAULT_AVERAGES = _by_dimension("0.60", "0.55", "0.50", "0.65")


class Expectation(msgspec.Struct, frozen=True):
    """What a case expects of one dimension."""

    terms: tuple[str, ...] = field(default=(), name="must_include_any")
    min_hits: Annotated[int, Meta(ge=1)] = 1
    min_score: Share | None = None
    required: bool | None = None
    min_words: int | None = None


class Note(msgspec.Struct, frozen=True):
    """One piece of what the reasoner was given."""

    id: Text
    source: str = ""
    text: str = ""
    line: int | None = None
    confidence: Share | None = None


class Binding(msgspec.Struct, frozen=True):
    """A value, what it is about, who says it, and who says otherwise."""

    value: Text
    source: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    about: tuple[Text, ...] = ()
    rivals_values: tuple[Text, ...] = ()


class ReasonCase(msgspec.Struct, frozen=True):
    """One prompt with its evidence and the truth about it."""

    id: str
    prompt: Text
    preset: str | None = None
    project: str | None = None
    model: str | None = None
    embed: str | None = None
    reason_args: dict[ReasonArg, bool | int] = {}
    expected: dict[Dimension, Expectation] = field(default_factory=dict, name="expected_signals")
    evidence: tuple[Note, ...] = ()
    answerable: bool = True
    bindings: tuple[Binding, ...] = ()
    actions: tuple[Text, ...] = ()
    expected_resolution: tuple[Text, ...] = ()
    forbidden: tuple[Text, ...] = ()

    def expectation(self, dimension: Dimension) -> Expectation:
        return self.expected.get(dimension, Expectation())

    def minimum(self, dimension: Dimension) -> Fraction:
        own = self.expectation(dimension).min_score
        return DEFAULT_MINIMUMS[dimension] if own is None else own


class Thresholds(msgspec.Struct, frozen=True):
    """The least overall score of a case, pass rate of the suite, and average of each dimension."""

    case_min_overall: Share = Share("0.65")
    suite_min_pass_rate: Share = Share("0.70")
    dimension_min_average: dict[Dimension, Share] = field(default_factory=DEFAULT_AVERAGES.copy)


class Fixture(msgspec.Struct, frozen=True):
    """All cases, how much each dimension weighs, and the thresholds."""

    cases: Annotated[tuple[ReasonCase, ...], Meta(min_length=1)]
    name: str = "unnamed"
    version: str = ""
    weights: dict[Dimension, Share] = field(default_factory=DEFAULT_WEIGHTS.copy, name="dimension_weights")
    thresholds: Thresholds = Thresholds()
    path: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        if (total := sum(self.weights.values())) != 1:
            raise ValueError(f"the dimension_weights sum to {float(total):g}, not 1")
        for id_, count in Counter(case.id for case in self.cases).items():
            if count > 1:
                raise ValueError(f"duplicate case id {id_!r}: give every case its own")


FixtureSource = str | os.PathLike[str] | Mapping[str, object] | Fixture


def read_fixture(source: FixtureSource | None = None) -> Fixture:
    """A fixture from wherever it is; without a source, the 30 cases that come with the package."""
    if isinstance(source, Fixture):
        return source
    if isinstance(source, Mapping):
        return replace(parse_fixture(source), path="<fixture>")
    path, hint = source or DATA / "reason-v1.json", "Give the path of a JSON fixture."
    body, digest = read_exact(path, "the fixture", hint, "fixture-unreadable", "fixture-not-json")
    fixture = parse_fixture(body, os.fspath(path))
    return replace(fixture, path=os.fspath(source) if source else "", digest=digest)


def parse_fixture(raw: object, where: str = "fixture") -> Fixture:
    """A checked fixture; `prompts`, `weights` and `query` are accepted for `cases`, `dimension_weights`, `prompt`."""
    body = convert(tidy(raw), dict[str, Any], where)
    entries = convert(body.get("cases", []), list[dict[str, Any]], f"{where}: cases")
    defaults = convert(body.get("defaults", {}), dict[str, Any], f"{where}: defaults")
    cases = [_case(entry, defaults, where, n) for n, entry in enumerate(entries, 1)]
    return convert({**body, "cases": cases, "path": "", "digest": ""}, Fixture, where)


def _case(entry: dict[str, object], defaults: dict[str, object], where: str, position: int) -> ReasonCase:
    entry = {"id": str(position), **defaults, **entry}
    place = f"{where}: case {position} ({entry['id']})"
    args = [convert(one.get("reason_args", {}), dict[str, Any], place) for one in (defaults, entry)]
    return convert(entry | {"reason_args": args[0] | args[1]}, ReasonCase, place)


def tidy(raw: Any) -> Any:
    """Objects under their present names, without nulls; a number where text is wanted is text, one source is a list."""
    if isinstance(raw, list | tuple):
        return [tidy(item) for item in raw]
    if not isinstance(raw, Mapping):
        return raw
    body = {ALIASES.get(name, name): tidy(value) for name, value in raw.items() if value is not None}
    for name in ("id", "version", "value"):
        if isinstance(body.get(name), int | float | Fraction) and not isinstance(body[name], bool):
            body[name] = str(body[name]) if isinstance(body[name], int) else f"{float(body[name]):g}"
    for name in ("source", "rivals") if "value" in body else ():
        body[name] = [body[name]] if isinstance(body.get(name), str) else body.get(name, [])
    return body


@cache
def load_data(name: str) -> Any:
    """The tables of `data/NAME.toml`."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


# --- answers ---


class ReasonerAnswer(msgspec.Struct, frozen=True):
    """What a reasoner gave for one case; `error` says why there is nothing."""

    content: str = ""
    evidence: tuple[Note, ...] | None = None
    repaired: bool = False
    degraded: bool = False
    error: str | None = None
    seen: str = ""  # the beginning of what came instead of an answer
    meta: dict[str, Any] = {}
    case_id: str = ""


AnswerSource = str | os.PathLike[str] | Mapping[str, ReasonerAnswer | Mapping[str, object] | str]


def stream_answers(source: AnswerSource, read: Input) -> Stream:
    """Answers with their places; lines that can't be read are raised together at the end."""
    return Stream(source, read, Records(_records, attrgetter("case_id")))


def _records(source: AnswerSource, read: Input) -> Iterator[tuple[int, ReasonerAnswer]]:
    for place, row in numbered_rows(source.items() if isinstance(source, Mapping) else source, read, "answers"):
        id_, output = row if isinstance(row, tuple) else (tidy(row).get("id"), row)
        if isinstance(id_, str):
            read.records += 1
            yield place, replace(read_output(output), case_id=id_)
        else:
            read.found.add(Problem(read.path, place, "the line has no id", "Add the id of its case.", "answer-id"))


def read_output(output: object) -> ReasonerAnswer:
    """The answer in a reasoner's output object; what can't be read is an error of that case."""
    if isinstance(output, ReasonerAnswer | str):
        return ReasonerAnswer(output) if isinstance(output, str) else output
    body = tidy(output)
    if isinstance(body, dict):
        # An error beside content is an error: what came before it broke off is no answer.
        failed = bool(body.get("error")) or ("error" in body and "content" not in body)
        if failed and not isinstance(body["error"], str):
            body["error"] = json.dumps(output["error"], ensure_ascii=False, default=str)[:SEEN]  # type: ignore[index]
        names = ("error", "seen") if failed else ("evidence", "repaired", "degraded")
        plain = {name: body[name] for name in META if name in body}
        meta = {name: value if isinstance(value, str | int | float) else str(value) for name, value in plain.items()}
        content = "" if failed else body.get("content", body.get("answer"))
        body = {name: body[name] for name in names if name in body} | {"content": content, "meta": meta}
    try:
        return convert(body, ReasonerAnswer, "")
    except DataError as problem:
        seen = json.dumps(output, ensure_ascii=False, default=str)[:SEEN]
        return ReasonerAnswer(error=f"the output can't be read: {problem.what}", seen=seen)


def answer_row(case_id: str, answer: ReasonerAnswer) -> dict[str, object]:
    """An answer as a line of a file, from which it is read back as it is; a failed case says why."""
    if answer.error is not None:
        return {"id": case_id, "error": answer.error, "seen": answer.seen}
    marks = {name: True for name in ("repaired", "degraded") if getattr(answer, name)}
    evidence = {} if answer.evidence is None else {"evidence": msgspec.to_builtins(answer.evidence, enc_hook=number)}
    return {"id": case_id, "content": answer.content, **evidence, **marks, **answer.meta}


def what_came(error: str | None, seen: str) -> str:
    """The error with the last line of what was seen, which is where programs say why they stopped."""
    last = next((line.strip() for line in reversed(seen.split("\n")) if line.strip()), "")
    return f"{error}: {last[:200]}" if last else error or ""


# --- what is judged, and what is known of it then ---

LONGEST = 20_000  # characters of an answer that are read
Scores = dict[Dimension, Fraction | None]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    fixture: Fixture  # its name, weights and thresholds; each case comes with what is judged


class Verdict(msgspec.Struct, frozen=True):
    """Facts about one answer; a score of None means that the case does not require the dimension."""

    status: str  # answered, refused, empty, error, no_evidence
    passed: bool
    overall_score: Fraction | None
    dimension_scores: Scores
    hard_failures: tuple[str, ...]  # rules that were broken, whatever the scores
    below_minimum: tuple[str, ...]  # dimensions that the case asks for and that score too little
    facts: Row
    asked: list[Dimension]  # the dimensions that the case asks for

    @property
    def kinds(self) -> tuple[str, ...]:
        return kinds_of(self.status, self.hard_failures, self.below_minimum, self.passed)


def kinds_of(status: str, hard_failures: Iterable[str], below_minimum: Iterable[str], passed: bool) -> tuple[str, ...]:
    """Every way in which a case fails; the overall score only where nothing else does."""
    if status in ("error", "no_evidence"):
        return (status,)
    found = tuple(dict.fromkeys((*hard_failures, *below_minimum)))
    return found or (() if passed else ("overall",))
