"""Fixtures: the cases a reasoner is asked, what may be said, and the bars to clear."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ...errors import DataError
from ...reading.decimals import exact_json, read_bytes

DIMENSIONS = ("actionability", "factual_grounding", "contradiction_handling", "usefulness")
DEFAULT_WEIGHTS = dict(zip(DIMENSIONS, map(Fraction, ("3/10", "3/10", "3/20", "1/4")), strict=True))
DEFAULT_MINIMUMS = dict(zip(DIMENSIONS, map(Fraction, ("11/20", "1/2", "1/2", "3/5")), strict=True))
DEFAULT_AVERAGES = dict(zip(DIMENSIONS, map(Fraction, ("3/5", "11/20", "1/2", "13/20")), strict=True))
ALIASES = {"prompts": "cases", "weights": "dimension_weights", "query": "prompt"}
_PATH = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<field>[^`]*)`)?", re.DOTALL)
Converted = TypeVar("Converted")


def _not_blank(struct: msgspec.Struct, name: str, *others: str) -> None:
    if not getattr(struct, name).strip():
        raise ValueError(f"the {name} is blank")
    if not all(text.strip() for text in others):
        raise ValueError("a phrase is blank")


def _in_range(**values: Fraction | None) -> None:
    for name, value in values.items():
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} is {float(value):g}, outside 0 to 1")


class Expectation(msgspec.Struct, frozen=True):
    """What a case expects of one dimension."""

    terms: tuple[str, ...] = msgspec.field(default=(), name="must_include_any")
    min_hits: int = 1
    min_score: Fraction | None = None
    required: bool | None = None
    min_words: int | None = None

    def __post_init__(self) -> None:
        _in_range(min_score=self.min_score)


class Note(msgspec.Struct, frozen=True):
    """One piece of what the reasoner was given."""

    id: str
    source: str = ""
    text: str = ""
    line: int | None = None
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        _not_blank(self, "id")


class Binding(msgspec.Struct, frozen=True):
    """A value, what it is about, who says it, and who says otherwise."""

    value: str
    source: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    rivals_values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _not_blank(self, "value", *self.about, *self.rivals_values)


class ReasonArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of a reasoner, in the order in which they stand on the command line."""

    recursive: bool | None = None
    max_iterations: int | None = None
    max_depth: int | None = None
    max_context: int | None = None
    max_tokens: int | None = None


REASON_ARGS = ReasonArgs.__struct_fields__


class ReasonCase(msgspec.Struct, frozen=True):
    """One prompt with its evidence and the truth about it."""

    id: str
    prompt: str
    preset: str | None = None
    project: str | None = None
    model: str | None = None
    embed: str | None = None
    args: ReasonArgs = msgspec.field(default=ReasonArgs(), name="reason_args")
    expected: dict[str, Expectation] = msgspec.field(default_factory=dict, name="expected_signals")
    evidence: tuple[Note, ...] = ()
    answerable: bool = True
    bindings: tuple[Binding, ...] = ()
    actions: tuple[str, ...] = ()
    expected_resolution: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _not_blank(self, "prompt", *self.actions, *self.expected_resolution, *self.forbidden)

    @property
    def reason_args(self) -> dict[str, object]:
        return msgspec.to_builtins(self.args)  # type: ignore[no-any-return] # a struct's fields make a dict

    def expectation(self, dimension: str) -> Expectation:
        return self.expected.get(dimension, Expectation())

    def minimum(self, dimension: str) -> Fraction:
        own = self.expectation(dimension).min_score
        return DEFAULT_MINIMUMS[dimension] if own is None else own


class Thresholds(msgspec.Struct, frozen=True):
    case_min_overall: Fraction = Fraction(13, 20)
    suite_min_pass_rate: Fraction = Fraction(7, 10)
    dimension_min_average: dict[str, Fraction] = msgspec.field(default_factory=DEFAULT_AVERAGES.copy)

    def __post_init__(self) -> None:
        _in_range(case_min_overall=self.case_min_overall, suite_min_pass_rate=self.suite_min_pass_rate)
        _in_range(**self.dimension_min_average)


class Fixture(msgspec.Struct, frozen=True):
    cases: tuple[ReasonCase, ...]
    name: str = "unnamed"
    version: str = ""
    weights: dict[str, Fraction] = msgspec.field(default_factory=DEFAULT_WEIGHTS.copy, name="dimension_weights")
    thresholds: Thresholds = Thresholds()
    path: str = ""  # where it was read, and what its bytes add up to
    digest: str = ""


FixtureSource = str | os.PathLike[str] | Mapping[str, object] | Fixture


def load_fixture(path: str | Path) -> Fixture:
    """The fixture in a file; every problem names the file, the case and the field."""
    where = str(path)
    raw = read_bytes(path, "the fixture", "Give the path of a JSON fixture.", "fixture-unreadable")
    digest = hashlib.sha256(raw).hexdigest()
    return msgspec.structs.replace(parse_fixture(_decoded(raw, where), where), path=where, digest=digest)


def read_fixture(source: FixtureSource | None) -> Fixture:
    """A fixture from wherever it is; the one of the package where nothing is named."""
    if source is None or isinstance(source, Fixture):
        return bundled_fixture() if source is None else source
    if isinstance(source, (str, os.PathLike)):
        return load_fixture(os.fspath(source))
    return msgspec.structs.replace(parse_fixture(source), path="<fixture>")


def bundled_fixture() -> Fixture:
    """The 30 cases that come with the package."""
    with as_file(files("shipworthy.suites.reasoning") / "data" / "reason-v1.json") as path:
        return msgspec.structs.replace(load_fixture(path), path="")


def parse_fixture(raw: object, where: str = "fixture") -> Fixture:
    """A checked fixture; `prompts`, `weights` and `query` are accepted for `cases`, `dimension_weights`, `prompt`."""
    body = _tidy(_mapping(raw, "the fixture", where))
    entries, defaults = body.get("cases"), _tidy(_mapping(body.get("defaults", {}), "defaults", where))
    if not isinstance(entries, list) or not entries:
        hint = "Add a non-empty list named cases (or prompts)."
        raise DataError("the fixture has no cases", where=where, hint=hint, code="fixture-no-cases")
    cases = tuple(_case(entry, defaults, where, n) for n, entry in enumerate(entries, 1))
    _check_unique([case.id for case in cases], where)
    fixture = _convert({**body, "cases": (), "path": "", "digest": ""}, Fixture, where)
    _check_dimensions((*fixture.weights, *fixture.thresholds.dimension_min_average), where)
    averages = DEFAULT_AVERAGES | fixture.thresholds.dimension_min_average
    return msgspec.structs.replace(
        fixture,
        cases=cases,
        weights=_checked_weights({name: fixture.weights.get(name, Fraction(0)) for name in DIMENSIONS}, where),
        thresholds=msgspec.structs.replace(fixture.thresholds, dimension_min_average=averages),
    )


def parse_case(raw: object, where: str = "case") -> ReasonCase:
    """One case on its own, without a fixture's defaults."""
    return _case(raw, {}, where, 1)


def parse_evidence(raw: object, where: str) -> tuple[Note, ...]:
    """The evidence list of an answer line."""
    return _convert([_tidy(item) for item in raw] if isinstance(raw, list) else raw, tuple[Note, ...], where)


def _case(raw: object, defaults: dict[str, Any], where: str, position: int) -> ReasonCase:
    entry = _tidy(_mapping(raw, "the case", f"{where}: case {position}"))
    entry.setdefault("id", str(position))
    place = f"{where}: case {position} ({entry['id']})"
    for name in ("evidence", "bindings"):
        if isinstance(entry.get(name), list):
            entry[name] = [_tidy(item) for item in entry[name]]
    args = [source.get("reason_args", {}) for source in (defaults, entry)]
    merged = {"reason_args": args[0] | args[1]} if all(isinstance(one, dict) for one in args) else {}
    case = _convert(defaults | entry | merged, ReasonCase, place)
    _check_dimensions(case.expected, place)
    return case


def _tidy(raw: Any) -> Any:
    """An object under the names of today, without nulls; numbers where a name is wanted are text, one id is a list."""
    if not isinstance(raw, Mapping):
        return raw
    body = {ALIASES.get(name, name): value for name, value in raw.items() if value is not None}
    for name in ("id", "version", "value"):
        if isinstance(body.get(name), int | Fraction) and not isinstance(body[name], bool):
            body[name] = str(body[name]) if isinstance(body[name], int) else f"{float(body[name]):g}"
    for name in ("source", "rivals") if "value" in body else ():
        body[name] = [body[name]] if isinstance(body.get(name), str) else body.get(name, [])
    return body


def _convert(raw: object, kind: type[Converted], where: str) -> Converted:
    try:
        return msgspec.convert(raw, kind, dec_hook=_fraction)
    except msgspec.ValidationError as error:
        match = _PATH.fullmatch(str(error))
        what, field = (match["what"], match["field"]) if match else (str(error), "")
        hint = "See the page on writing cases."
        raise DataError(f"{field}: {what}" if field else what, where=where, hint=hint, code="fixture-field") from error


def _fraction(kind: type, value: object) -> Fraction:
    if kind is not Fraction or isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ValueError(f"expected a number, got {type(value).__name__}")
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _mapping(raw: object, what: str, where: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        hint = "See the page on writing cases."
        raise DataError(f"{what} is not an object", where=where, hint=hint, code="fixture-field")
    return raw


def _checked_weights(weights: dict[str, Fraction], where: str) -> dict[str, Fraction]:
    for name, weight in weights.items():
        if weight < 0:
            what, hint = f"the weight of {name} is negative ({float(weight):g})", "Give weights of 0 or more."
            raise DataError(what, where=where, hint=hint, code="fixture-negative-weight")
    if (total := sum(weights.values())) != 1:
        hint = "Change dimension_weights so that they sum to exactly 1."
        what = f"the weights sum to {float(total):g}, not 1"
        raise DataError(what, where=where, hint=hint, code="fixture-weights-sum")
    return weights


def _check_dimensions(names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in DIMENSIONS:
            hint = f"Known: {', '.join(DIMENSIONS)}."
            raise DataError(f"unknown dimension {name!r}", where=where, hint=hint, code="fixture-unknown-dimension")


def _check_unique(ids: list[str], where: str) -> None:
    for repeated in (id_ for id_, count in Counter(ids).items() if count > 1):
        hint = "Give every case an id of its own."
        raise DataError(f"duplicate case id {repeated!r}", where=where, hint=hint, code="fixture-duplicate-id")


def _decoded(raw: bytes, where: str) -> object:
    try:
        return exact_json(raw)
    except ValueError as error:
        what, hint = f"it is not JSON: {error}", "Check it with a JSON linter."
        raise DataError(what, where=where, hint=hint, code="fixture-not-json") from error
