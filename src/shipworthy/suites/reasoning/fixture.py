"""Fixtures: the cases a reasoner is asked, what may be said, and the bars to clear."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from ...errors import DataError, UsageError
from ...reading.strict import no_repeats

DIMENSIONS = ("actionability", "factual_grounding", "contradiction_handling", "usefulness")
DEFAULT_WEIGHTS = dict(
    zip(DIMENSIONS, (Fraction(3, 10), Fraction(3, 10), Fraction(3, 20), Fraction(1, 4)), strict=True)
)
DEFAULT_MINIMUMS = dict(
    zip(DIMENSIONS, (Fraction(11, 20), Fraction(1, 2), Fraction(1, 2), Fraction(3, 5)), strict=True)
)
DEFAULT_AVERAGES = dict(
    zip(DIMENSIONS, (Fraction(3, 5), Fraction(11, 20), Fraction(1, 2), Fraction(13, 20)), strict=True)
)
# In the order in which they stand on the command line; a flag without a value is True.
REASON_ARGS = ("recursive", "max_iterations", "max_depth", "max_context", "max_tokens")


class Expectation(msgspec.Struct, frozen=True):
    """What a case expects of one dimension."""

    terms: tuple[str, ...] = ()
    min_hits: int = 1
    min_score: Fraction | None = None
    required: bool | None = None
    min_words: int | None = None


class Note(msgspec.Struct, frozen=True):
    """One piece of what the reasoner was given."""

    id: str
    source: str
    text: str
    line: int | None = None
    confidence: Fraction | None = None


class Binding(msgspec.Struct, frozen=True):
    """A value, who says it, and who says otherwise."""

    value: str
    source: tuple[str, ...]
    rivals: tuple[str, ...] = ()


class ReasonCase(msgspec.Struct, frozen=True):
    """One prompt with its evidence and the truth about it."""

    id: str
    prompt: str
    preset: str | None = None
    project: str | None = None
    model: str | None = None
    embed: str | None = None
    reason_args: dict[str, object] = {}
    expected: dict[str, Expectation] = {}
    evidence: tuple[Note, ...] = ()
    answerable: bool = True
    bindings: tuple[Binding, ...] = ()
    expected_resolution: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def expectation(self, dimension: str) -> Expectation:
        return self.expected.get(dimension, Expectation())

    def minimum(self, dimension: str) -> Fraction:
        own = self.expectation(dimension).min_score
        return DEFAULT_MINIMUMS[dimension] if own is None else own


class Thresholds(msgspec.Struct, frozen=True):
    case_min_overall: Fraction = Fraction(13, 20)
    suite_min_pass_rate: Fraction = Fraction(7, 10)
    dimension_min_average: dict[str, Fraction] = msgspec.field(default_factory=lambda: dict(DEFAULT_AVERAGES))


class Fixture(msgspec.Struct, frozen=True):
    name: str
    version: str
    cases: tuple[ReasonCase, ...]
    weights: dict[str, Fraction] = msgspec.field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    thresholds: Thresholds = Thresholds()
    path: str = ""  # where it was read, and what its bytes add up to
    digest: str = ""


FixtureSource = str | os.PathLike[str] | Mapping[str, object] | Fixture


def load_fixture(path: str | Path) -> Fixture:
    """The fixture in a file; every problem names the file, the case and what to do."""
    where = str(path)
    raw = read_bytes(path, "the fixture", "Give the path of a JSON fixture.", "fixture-unreadable")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_json(where, f"it is not UTF-8 (byte {error.start})") from error
    return msgspec.structs.replace(
        parse_fixture(decode(text, where), where), path=where, digest=hashlib.sha256(raw).hexdigest()
    )


def read_fixture(source: FixtureSource | None) -> Fixture:
    """A fixture from wherever it is; the one of the package where nothing is named."""
    if source is None or isinstance(source, Fixture):
        return bundled_fixture() if source is None else source
    if isinstance(source, (str, os.PathLike)):
        return load_fixture(os.fspath(source))
    return msgspec.structs.replace(parse_fixture(source), path="<fixture>")


def read_bytes(path: str | os.PathLike[str], what: str, hint: str, code: str) -> bytes:
    """The bytes of a file that was named, or an error that says what it should have been."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{what} can't be read ({error.strerror or error})", where=os.fspath(path), hint=hint, code=code
        ) from error


def bundled_fixture() -> Fixture:
    """The 30 cases that come with the package."""
    with as_file(files("shipworthy.suites.reasoning") / "data" / "reason-v1.json") as path:
        return msgspec.structs.replace(load_fixture(path), path="")


def decode(text: str, where: str) -> object:
    """JSON with decimals as they are written, so that 0.30 + 0.30 + 0.15 + 0.25 is 1."""
    try:
        return json.loads(text, parse_float=_exact, parse_constant=_no_constant, object_pairs_hook=no_repeats)
    except (ValueError, RecursionError) as error:
        raise _not_json(where, str(error)) from error


def parse_fixture(raw: object, where: str = "fixture") -> Fixture:
    """A checked fixture; `prompts` and `weights` are accepted for `cases` and `dimension_weights`."""
    read = _Reader(where)
    body = read.mapping(raw, "the fixture")
    entries = body.get("cases", body.get("prompts"))
    if not isinstance(entries, list) or not entries:
        raise DataError(
            "the fixture has no cases",
            where=where,
            hint="Add a non-empty list named cases (or prompts).",
            code="fixture-no-cases",
        )
    defaults = read.mapping(body.get("defaults") or {}, "defaults")
    cases = tuple(_case(_Reader(f"{where}: case {n}"), entry, defaults) for n, entry in enumerate(entries, 1))
    _unique([case.id for case in cases], where)
    return Fixture(
        name=read.text(body.get("name"), "name") or "unnamed",
        version=read.text(body.get("version"), "version") or "",
        cases=cases,
        weights=_weights(read, body.get("dimension_weights", body.get("weights"))),
        thresholds=_thresholds(read, body.get("thresholds")),
    )


def parse_case(raw: object, where: str = "case") -> ReasonCase:
    """One case on its own, without a fixture's defaults."""
    return _case(_Reader(where), raw, {})


def parse_evidence(raw: object, where: str) -> tuple[Note, ...]:
    """The evidence list of a case or of an answer line."""
    read = _Reader(where)
    return tuple(_evidence(read, item) for item in read.list(raw, "evidence"))


def _case(read: _Reader, raw: object, defaults: dict[str, object]) -> ReasonCase:
    entry = read.mapping(raw, "the case")
    id_ = read.text(entry.get("id"), "id") or ""
    prompt = read.text(entry.get("prompt", entry.get("query")), "prompt") or ""
    if not prompt.strip():
        raise read.error("the case has no prompt", "Add prompt (or query).")
    answerable = entry.get("answerable", True)
    if not isinstance(answerable, bool):
        raise read.error("answerable is not true or false", "Write true or false.")
    args = read.mapping(defaults.get("reason_args") or {}, "defaults.reason_args")
    args = args | read.mapping(entry.get("reason_args") or {}, "reason_args")
    return ReasonCase(
        id=id_ or read.where.rpartition(" ")[2],
        prompt=prompt,
        preset=read.text(entry.get("preset", defaults.get("preset")), "preset"),
        project=read.text(entry.get("project", defaults.get("project")), "project"),
        model=read.text(entry.get("model", defaults.get("model")), "model"),
        embed=read.text(entry.get("embed", defaults.get("embed")), "embed"),
        reason_args=_reason_args(read, args),
        expected=_expectations(read, entry.get("expected_signals")),
        evidence=parse_evidence(entry.get("evidence"), read.where),
        answerable=answerable,
        bindings=tuple(_binding(read, item) for item in read.list(entry.get("bindings"), "bindings")),
        expected_resolution=read.texts(entry.get("expected_resolution"), "expected_resolution"),
        forbidden=read.texts(entry.get("forbidden"), "forbidden"),
    )


def _reason_args(read: _Reader, args: dict[str, object]) -> dict[str, object]:
    for name, value in args.items():
        if name not in REASON_ARGS:
            raise read.error(f"reason_args has the unknown name {name!r}", f"Known: {', '.join(REASON_ARGS)}.")
        wanted = bool if name == "recursive" else int
        if type(value) is not wanted:
            raise read.error(f"reason_args.{name} is not {'true or false' if wanted is bool else 'an integer'}")
    return args


def _expectations(read: _Reader, raw: object) -> dict[str, Expectation]:
    signals = read.mapping(raw or {}, "expected_signals")
    _known(signals, read.where, "expected_signals")
    return {name: _expectation(read, read.mapping(entry or {}, name)) for name, entry in signals.items()}


def _expectation(read: _Reader, entry: dict[str, object]) -> Expectation:
    required = entry.get("required")
    if required is not None and not isinstance(required, bool):
        raise read.error("required is not true or false", "Write true or false.")
    min_score = entry.get("min_score")
    return Expectation(
        terms=read.texts(entry.get("must_include_any"), "must_include_any"),
        min_hits=max(1, read.integer(entry.get("min_hits", 1), "min_hits")),
        min_score=None if min_score is None else read.share(min_score, "min_score"),
        required=required,
        min_words=None if entry.get("min_words") is None else read.integer(entry["min_words"], "min_words"),
    )


def _evidence(read: _Reader, raw: object) -> Note:
    item = read.mapping(raw, "an evidence item")
    line, confidence = item.get("line"), item.get("confidence")
    return Note(
        id=read.name(item.get("id"), "evidence id"),
        source=read.text(item.get("source"), "evidence source") or "",
        text=read.text(item.get("text"), "evidence text") or "",
        line=None if line is None else read.integer(line, "evidence line"),
        confidence=None if confidence is None else read.number(confidence, "evidence confidence"),
    )


def _binding(read: _Reader, raw: object) -> Binding:
    item = read.mapping(raw, "a binding")
    source, rivals = item.get("source"), item.get("rivals")
    return Binding(
        value=read.name(item.get("value"), "binding value"),
        source=read.texts([source] if isinstance(source, str) else source, "binding source"),
        rivals=read.texts([rivals] if isinstance(rivals, str) else rivals, "binding rivals"),
    )


def _weights(read: _Reader, raw: object) -> dict[str, Fraction]:
    if raw is None:
        return dict(DEFAULT_WEIGHTS)
    given = read.mapping(raw, "dimension_weights")
    _known(given, read.where, "dimension_weights")
    weights = {name: read.number(given.get(name, 0), f"weight of {name}") for name in DIMENSIONS}
    for name, weight in weights.items():
        if weight < 0:
            raise DataError(
                f"the weight of {name} is negative ({float(weight):g})",
                where=read.where,
                hint="Give weights of 0 or more.",
                code="fixture-negative-weight",
            )
    total = sum(weights.values())
    if total != 1:
        raise DataError(
            f"the weights sum to {float(total):g}, not 1",
            where=read.where,
            hint="Change dimension_weights so that they sum to exactly 1.",
            code="fixture-weights-sum",
        )
    return weights


def _thresholds(read: _Reader, raw: object) -> Thresholds:
    given = read.mapping(raw or {}, "thresholds")
    averages = read.mapping(given.get("dimension_min_average") or {}, "dimension_min_average")
    _known(averages, read.where, "dimension_min_average")
    base = Thresholds()
    return Thresholds(
        read.share(given.get("case_min_overall", base.case_min_overall), "case_min_overall"),
        read.share(given.get("suite_min_pass_rate", base.suite_min_pass_rate), "suite_min_pass_rate"),
        DEFAULT_AVERAGES | {name: read.share(bar, name) for name, bar in averages.items()},
    )


class _Reader:
    """Typed access to raw JSON; every complaint carries the same place."""

    def __init__(self, where: str) -> None:
        self.where = where

    def error(self, what: str, hint: str = "See the page on writing cases.") -> DataError:
        return DataError(what, where=self.where, hint=hint, code="fixture-field")

    def mapping(self, value: object, what: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.error(f"{what} is not an object")
        return value

    def list(self, value: object, what: str) -> list[object]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(f"{what} is not a list")
        return value

    def text(self, value: object, what: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if what in ("id", "version") and isinstance(value, int | Fraction) and not isinstance(value, bool):
            return f"{float(value):g}" if isinstance(value, Fraction) else str(value)
        raise self.error(f"{what} is not text")

    def name(self, value: object, what: str) -> str:
        """A value that must be there; integers are taken as written."""
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{what} is missing or blank")
        return value.strip()

    def texts(self, value: object, what: str) -> tuple[str, ...]:
        return tuple(self.name(item, f"an entry of {what}") for item in self.list(value, what))

    def integer(self, value: object, what: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(f"{what} is not a whole number of 0 or more")
        return value

    def number(self, value: object, what: str) -> Fraction:
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise self.error(f"{what} is not a number")
        return Fraction(str(value)) if isinstance(value, float) else Fraction(value)

    def share(self, value: object, what: str) -> Fraction:
        number = self.number(value, what)
        if not 0 <= number <= 1:
            raise self.error(f"{what} is {float(number):g}, outside 0 to 1")
        return number


def _known(names: dict[str, object], where: str, what: str) -> None:
    for name in names:
        if name not in DIMENSIONS:
            raise DataError(
                f"{what} has the unknown dimension {name!r}",
                where=where,
                hint=f"Known: {', '.join(DIMENSIONS)}.",
                code="fixture-unknown-dimension",
            )


def _unique(ids: list[str], where: str) -> None:
    seen: set[str] = set()
    for id_ in ids:
        if id_ in seen:
            raise DataError(
                f"two cases have the id {id_!r}",
                where=where,
                hint="Give every case an id of its own.",
                code="fixture-duplicate-id",
            )
        seen.add(id_)


def _exact(digits: str) -> Fraction:
    # A huge exponent would build a huge integer, so such numbers go through float.
    approximate = float(digits)
    if not math.isfinite(approximate):
        raise ValueError(f"the number {digits[:20]} is out of range")
    return Fraction(approximate) if len(digits) > 30 or "e" in digits.lower() else Fraction(digits)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _not_json(where: str, why: str) -> DataError:
    return DataError(
        f"it is not JSON: {why}", where=where, hint="Check it with a JSON linter.", code="fixture-not-json"
    )
