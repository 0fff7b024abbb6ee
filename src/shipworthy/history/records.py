"""Records: a run as it is kept, from a report to rows and back."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ..core.metrics import decimal
from ..errors import DataError, EnvironmentFailure
from ..reading.reports import Passing, passing, passing_in, refuse_edited
from ..reading.reports import exact_value as read_exactly
from ..text import visible
from .store import BUILD_COLUMNS, COMMIT_COLUMNS, DatabaseRow, Values, masked

Report = Mapping[str, Any]  # the canonical report of one suite
SUBSET = " (subset)"  # after the decision of a run on some of the questions
SHORT_COMMIT = 8
LONGEST_NAME = 500  # characters; PostgreSQL's index takes 2,704 bytes
Recorded = dict[str, Any]  # JSON that the database gives back: a report, or its inputs


class RecordedRun(msgspec.Struct, frozen=True):
    """A recorded run, without its report."""

    seq: int
    id: str
    recorded_at: str
    suite: str
    profile: str
    decision: str
    definitions: str
    digest: str
    inputs: dict[str, dict[str, Any]]
    commit: str
    branch: str
    label: str
    project: str = ""
    committed_at: str = ""
    subject: str = ""  # of the commit
    parent: str = ""
    author: str = ""  # only with `[history] author = true`
    gold_release: str = ""
    commit_url: str = ""
    run_url: str = ""  # of the CI
    pull_url: str = ""

    @property
    def where(self) -> str:
        """`run 31 (9f3c2a1b)`."""
        return f"run {self.seq}" + (f" ({self.commit[:SHORT_COMMIT]})" if self.commit else "")

    def beside(self, other: RecordedRun) -> bool:
        """Whether it is of the same project and branch; a run that an earlier version recorded is of any project."""
        return self.branch == other.branch and (self.project == other.project or not self.project or not other.project)

    @property
    def subset(self) -> bool:
        """Whether only some of the questions were judged."""
        return self.decision.endswith(SUBSET)

    @property
    def gold(self) -> str:
        return gold_of(self.inputs)


class RunRef(msgspec.Struct, frozen=True):
    """What is shown of a run where there are ten thousand of them."""

    seq: int
    id: str
    recorded_at: str
    suite: str
    decision: str
    commit: str
    branch: str
    label: str
    project: str
    subject: str
    commit_url: str
    gold: str

    @property
    def where(self) -> str:
        """`run 31 (9f3c2a1b)`."""
        return f"run {self.seq}" + (f" ({self.commit[:SHORT_COMMIT]})" if self.commit else "")


def git_log(before: RecordedRun | RunRef, after: RecordedRun | RunRef) -> str:
    """The command that lists the commits among which a cause is; blank where they are not known."""
    old, new = before.commit, after.commit
    if not old or not new or old == new or not (old + new).isalnum():
        return ""
    return f"git log --oneline {old[:SHORT_COMMIT]}..{new[:SHORT_COMMIT]}"


def gold_of(inputs: Mapping[str, Any]) -> str:
    """What the gold set was, whatever the order of its lines where the report says so."""
    gold = inputs.get("gold") or {}
    return str(gold.get("content") or gold.get("sha256") or "")


_INPUTS = RecordedRun.__struct_fields__.index("inputs")


class TrendPoint(msgspec.Struct, frozen=True):
    """A metric in one run; num and den are whole numbers, so that nothing is rounded by a database."""

    run: RecordedRun
    kind: str
    num: int | None
    den: int | None

    @property
    def value(self) -> Fraction | None:
        return None if self.num is None or not self.den else Fraction(self.num, self.den)

    def __str__(self) -> str:
        if self.value is None:
            return "undefined"
        counts = f" ({self.num}/{self.den})" if self.kind == "rate" else ""
        return str(self.value) if self.kind == "count" else decimal(self.value) + counts


class Baseline(msgspec.Struct, frozen=True):
    """A run that somebody blessed under a name."""

    name: str
    suite: str
    run_id: str
    blessed_by: str
    blessed_at: str
    reason: str


class GateHealth(msgspec.Struct, frozen=True):
    """A gate over the recorded runs: one that never fails, or never holds, measures nothing."""

    suite: str
    gate: str
    runs: int
    held: int

    @property
    def says(self) -> str:
        if self.held == self.runs:
            return "never failed"
        return "never held" if not self.held else ""


def run_id(digest: str, commit: str, branch: str, label: str) -> str:
    """A name that follows from what is recorded, so that recording twice is recording once."""
    parts = [digest, commit, branch, label]
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def exact_value(measure: Report) -> Fraction | None:
    """A metric of a report as a fraction: its counts, its exact form, or at least the digits that are shown."""
    pair = _fraction(measure)
    return None if pair is None else Fraction(*pair)


def rows_of(report: Report, known: Mapping[str, str]) -> tuple[Values, list[Values], list[Values]]:
    """What is kept of a report, which must be as it was written: the run itself, its metrics, its gates."""
    try:
        head = report["shipworthy"]
        # a database takes no NUL, a reader no escapes
        place = [visible(known.get(key, "")) for key in ("commit", "branch", "label")]
        name = run_id(str(report["digest"]), *place)
        # the JSON is ASCII with escapes
        run: Values = (
            name,
            visible(known["recorded_at"]),
            *(visible(str(text)) for text in (head["suite"], head.get("profile", ""), _decided(report))),
            *(visible(str(text)) for text in (head.get("definitions", ""), report["digest"])),
            json.dumps(dict(report.get("inputs", {})), sort_keys=True),
            *place,
            *(visible(known.get(key, ""), LONGEST_NAME) for key in (*COMMIT_COLUMNS, *BUILD_COLUMNS)),
        )
        metrics, gates = _metric_rows(name, report), _gate_rows(name, report)
        refuse_edited(report)
        return run, metrics, gates
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise DataError(
            "is not a report of one suite",
            hint="Record the report that `score --json` or `check` writes.",
            code="history-not-report",
        ) from None


def shown_name(name: str) -> str:
    """A metric's or a gate's name as it is kept: without escapes, and no longer than a database's index takes."""
    text = visible(name)
    return text if len(text) <= LONGEST_NAME else _told_apart(text, name)


def _decided(report: Report) -> str:
    return f"{report.get('decision', '')}{SUBSET if report.get('subset') else ''}"


def _apart(report: Report) -> str:
    """What keeps the numbers of a subset apart from those of the whole gold set: `precision{tier=smoke}`."""
    subset = report.get("subset")
    return "{" + ",".join(map(str, subset["where"])) + "}" if subset else ""


def _metric_rows(run: str, report: Report) -> list[Values]:
    apart = _apart(report)
    measures = {f"{name}{apart}": measure for name, measure in report.get("metrics", {}).items()}
    for part, sliced in report.get("slices", {}).items():
        measures |= {f"{metric}[{part}]{apart}": measure for metric, measure in sliced.items()}
    return [
        (run, shown, visible(str(measures[name].get("kind", ""))), *_written(_fraction(measures[name])))
        for name, shown in _shown_names(measures).items()
    ]


def _gate_rows(run: str, report: Report) -> list[Values]:
    outcomes = {f"{outcome['gate']}{_apart(report)}": outcome for outcome in report.get("outcomes", [])}
    return [
        (run, shown, visible(str(outcomes[gate]["state"])), int(outcomes[gate]["holds"]))
        for gate, shown in _shown_names(outcomes).items()
    ]


def _shown_names(names: Iterable[str]) -> dict[str, str]:
    """Each name as it is kept. Where two look the same once they are escaped, the plainer one keeps the name."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (visible(name) != name, name)):
        text = shown_name(name)
        found[name] = text if text not in taken else _told_apart(text, name)
        taken.add(found[name])
    return found


def _told_apart(text: str, name: str) -> str:
    """The text with a sign that follows from the name itself."""
    sign = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{text[: LONGEST_NAME - len(sign) - 1]}#{sign}"


def run_of(row: DatabaseRow, url: str) -> RecordedRun:
    values = list(row)
    values[_INPUTS] = stored(row[_INPUTS], url)
    return RecordedRun(*values)


def stored(value: object, url: str) -> Recorded:
    """JSON that the database gave back; a page that went bad may give anything."""
    try:
        # A decoder that takes less: of ten thousand runs the inputs are read at once.
        found = _decoded(value) if isinstance(value, str) else json.loads(_text(value))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise damaged(url)
    return found


def _decoded(text: str) -> object:
    """JSON by the faster decoder, which does not know half a surrogate pair."""
    try:
        return msgspec.json.decode(text)
    except ValueError:
        return json.loads(text)


def stored_results(value: object, url: str, passes: Passing) -> dict[str, bool]:
    """Which items of a recorded report pass; of its rows, only what says so is decoded."""
    try:
        found = passing_in(_text(value), passes)
    except ValueError:
        found = None
    return passing(stored(value, url), passes) if found is None else found


def _text(value: object) -> str | bytes:
    """A report as text: compressed, or as a database that nobody wrote to since it was made by an earlier version."""
    if isinstance(value, str):
        return value
    try:
        return zlib.decompress(value)  # type: ignore[arg-type]
    except (TypeError, zlib.error):
        raise ValueError("not what was recorded") from None


def damaged(url: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "is damaged: a recorded run is not what was recorded",
        where=masked(url),
        hint="It is left as it is: restore it, or move it away.",
        code="history-corrupt",
    )


def _fraction(measure: Report) -> tuple[int, int] | None:
    over, under = measure.get("numerator"), measure.get("denominator")
    if measure.get("value") is not None and isinstance(over, int) and isinstance(under, int) and under > 0:
        return over, under  # 4 of 8 stays 4 of 8
    value = read_exactly(measure) if measure.get("value") is not None else None
    return None if value is None else (value.numerator, value.denominator)


def _written(pair: tuple[int, int] | None) -> tuple[str | None, str | None]:
    return (None, None) if pair is None else (str(pair[0]), str(pair[1]))
