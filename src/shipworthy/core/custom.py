"""Custom metrics: a fact or a mean that a config defines, from scores in traces or from a Python function."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import cast

import msgspec

from .. import stats
from ..errors import DataError, UsageError
from ..text import plural, visible
from .metrics import Better, Mean, Measure, Metric, Words
from .tally import Tally


class CustomKey(msgspec.Struct, frozen=True):
    """What a key of a metric's table takes, and what it means."""

    kind: str  # text, real, words
    says: str
    choices: tuple[str, ...] = ()


AMONG = ("answered", "shipped", "correct", "refused", "answerable", "unanswerable", "items")
_GOLD_SAYS = ("answerable", "unanswerable", "items")  # groups that the gold set decides, not the run
MISSING = ("no-data", "fail", "leave-out")
SOURCES = ("judge", "human", "code")

KEYS = {
    "from": CustomKey("text", "Where the value is in a trace, such as scores.faithfulness."),
    "py": CustomKey("text", "A function that gives the value, module:function, called with (gold, trace)."),
    "at_least": CustomKey("real", "Values from this number on pass. Without a threshold, the metric is a mean."),
    "at_most": CustomKey("real", "The value passes up to here."),
    "equals": CustomKey("words", "Texts that pass, where the value is a text."),
    "among": CustomKey("text", "Which items it is about.", AMONG),
    "missing": CustomKey(
        "text", "What an item without a value does: no verdict by this metric, a fail, or left out.", MISSING
    ),
    "better": CustomKey("text", "Which way is better; a gate points the same way.", ("higher", "lower")),
    "low": CustomKey("real", "The smallest value that there can be; a mean needs both limits to be proven."),
    "high": CustomKey("real", "The largest."),
    "source": CustomKey("text", "Who gave the scores, where the traces don't say.", SOURCES),
}
CALIBRATION = {
    "labels": CustomKey("path", "Labels of people, JSON lines with qid, label and the score of the same answer."),
    "at_least": CustomKey("real", "Cohen's kappa between score and label from which the score may block."),
    "items": CustomKey("whole", "Labels that it takes at least."),
}
KAPPA, LABELS = "0.6", 20  # what a calibration asks for where it does not say

_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_PLACE = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
_REAL = r"-?[0-9]{1,12}(?:\.[0-9]{1,18})?"


class CalibrationBar(msgspec.Struct, frozen=True, kw_only=True):
    """Labels of people that a judge's score is held against."""

    labels: str
    at_least: str = KAPPA
    items: int = LABELS


class Custom(msgspec.Struct, frozen=True, kw_only=True):
    """One metric as it was defined; numbers stay as they were written, so that none is rounded."""

    name: str
    score: str = ""  # its name in `scores` of a trace
    py: str = ""
    at_least: str = ""
    at_most: str = ""
    equals: tuple[str, ...] = ()
    among: str = "answered"
    missing: str = "no-data"
    better: str = "higher"
    low: str = ""
    high: str = ""
    source: str = ""
    calibration: CalibrationBar | None = None
    folder: str = ""  # where the module of `py` is looked for first

    @property
    def fact(self) -> bool:
        """Whether a bar makes a fact of every value."""
        return bool(self.at_least or self.at_most or self.equals)

    @property
    def value(self) -> str:
        """Where the value comes from, as people would look for it."""
        return f"scores.{self.score}" if self.score else self.py

    @property
    def value_name(self) -> str:
        return f"score {self.score}" if self.score else f"value of {self.py}"

    def table(self, shown: bool = False) -> dict[str, object]:
        """As a config writes it, without what is the default; `shown` leaves paths out, which no report says."""
        table: dict[str, object] = {"from": f"scores.{self.score}"} if self.score else {"py": self.py}
        for name in ("at_least", "at_most", "low", "high", "source"):
            if getattr(self, name):
                table[name] = getattr(self, name)
        table |= {"equals": list(self.equals)} if self.equals else {}
        table |= {"among": self.among, "missing": self.missing, "better": self.better}
        if self.calibration is not None:
            bar: dict[str, object] = {"at_least": self.calibration.at_least, "items": self.calibration.items}
            table["calibration"] = bar if shown else {"labels": self.calibration.labels, **bar}
        if self.folder and not shown:
            table["folder"] = self.folder
        return table


def parse_metrics(given: object) -> tuple[Custom, ...]:
    """Metrics by name as a config or a report writes them; every mistake says what would be right."""
    if isinstance(given, Iterable) and not isinstance(given, (str, Mapping)):
        listed = tuple(given)
        if all(isinstance(one, Custom) for one in listed):
            return cast(tuple[Custom, ...], listed)
    if not isinstance(given, Mapping):
        raise _wrong("metrics", "expected a table of metrics by name")
    return tuple(parse_metric(str(name), table) for name, table in given.items())


def parse_metric(name: str, table: object) -> Custom:
    """One metric from its table."""
    if isinstance(table, Custom):
        return table
    if not re.fullmatch(_NAME, name, re.ASCII):
        raise _wrong(name, "a metric's name is a word of letters, digits and _")
    if not isinstance(table, Mapping):
        raise _wrong(name, "expected a table")
    values = {key: _valued(name, key, value) for key, value in table.items() if key not in ("calibration", "folder")}
    spec = Custom(
        name=name,
        score=_score(name, str(values.pop("from", ""))),
        calibration=_calibration(name, table.get("calibration")),
        folder=str(table.get("folder") or os.getcwd()) if "py" in table else "",
        **values,  # type: ignore[arg-type]  # checked against KEYS, which name the fields
    )
    _check(spec)
    return spec


def _score(name: str, place: str) -> str:
    if not place:
        return ""
    if not place.startswith("scores.") or place == "scores.":
        raise _wrong(name, f"can't read {visible(place, 60)!r}", 'Write from = "scores.NAME".')
    return place.removeprefix("scores.")


def _valued(name: str, key: str, value: object) -> object:
    if key not in KEYS:
        from difflib import get_close_matches

        near = get_close_matches(str(key), KEYS, 1, 0.6)
        hint = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(KEYS)}."
        raise _wrong(name, f"there is no key {visible(str(key), 60)!r}", hint)
    known = KEYS[key]
    if known.kind == "real":
        return _real(name, key, value)
    if known.kind == "words":
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, (list, tuple)) or not words or not all(isinstance(word, str) for word in words):
            raise _wrong(name, f"{key} takes a list of texts")
        return tuple(words)
    if not isinstance(value, str) or (known.choices and value not in known.choices):
        wanted = f"one of {', '.join(known.choices)}" if known.choices else "a text"
        raise _wrong(name, f"{key} takes {wanted}")
    return value


def _real(name: str, key: str, value: object) -> str:
    """A number as it was written."""
    written = str(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else ""
    if not re.fullmatch(_REAL, written, re.ASCII):
        raise _wrong(name, f"{key} takes a number such as 0.7")
    return written


def _calibration(name: str, given: object) -> CalibrationBar | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not isinstance(given.get("labels"), str) or given.keys() - CALIBRATION.keys():
        raise _wrong(name, "calibration takes labels (a file), at_least and items")
    items = given.get("items", LABELS)
    if not isinstance(items, int) or isinstance(items, bool) or items < 1:
        raise _wrong(name, "items takes a whole number of at least 1")
    bar = _real(name, "at_least", given.get("at_least", KAPPA))
    return CalibrationBar(labels=os.path.abspath(given["labels"]), at_least=bar, items=items)


def _check(spec: Custom) -> None:
    """What single keys can't tell."""
    if bool(spec.score) == bool(spec.py):
        raise _wrong(spec.name, "a metric has one of from and py")
    if spec.py and not re.fullmatch(_PLACE, spec.py):
        raise _wrong(spec.name, f"{visible(spec.py, 60)!r} names no function", 'Write py = "module:function".')
    if spec.py and spec.source not in ("", "code"):
        raise _wrong(spec.name, "a function is code, whatever source says")
    if spec.equals and (spec.at_least or spec.at_most):
        raise _wrong(spec.name, "equals is for texts, at_least and at_most are for numbers")
    if spec.calibration is not None and not (spec.fact and spec.score):
        raise _wrong(spec.name, "a calibration needs a score that passes or fails", "Add at_least, at_most or equals.")
    if spec.low and spec.high and Fraction(spec.low) >= Fraction(spec.high):
        raise _wrong(spec.name, "low is not below high")


def _wrong(name: str, what: str, hint: str = "") -> UsageError:
    return UsageError(what, where=f"[metrics.{visible(name, 60)}]", hint=hint, code="metric-definition")


def runs_code(given: object) -> bool:
    """Whether metrics as a report has them would run a function."""
    tables = given.values() if isinstance(given, Mapping) else ()
    return any(not isinstance(table, Mapping) or "py" in table for table in tables)


def label_files(given: object) -> dict[str, str]:
    """The files of labels that metrics as a report has them would read, by metric."""
    tables = given.items() if isinstance(given, Mapping) else ()
    found = {name: table.get("calibration") for name, table in tables if isinstance(table, Mapping)}
    return {f"labels of {name}": str(one["labels"]) for name, one in found.items() if isinstance(one, Mapping)}


class CustomMetric(Metric, frozen=True, kw_only=True):
    """A rate where every value passes or fails, a mean where values are numbers without a bar."""

    spec: Custom

    def applies(self, tally: Tally) -> bool:
        among = self.spec.among
        return tally[among if among in _GOLD_SAYS else "items"] > 0

    def measure(self, tally: Tally) -> Measure:
        spec, name = self.spec, self.name
        passed, missing = tally[f"{name}: passes"], tally[f"{name}: missing"]
        judged = passed + tally[f"{name}: fails"]
        values = tally.values(name)
        if judged and values:
            what = f"{name} has values that are true or false, and others that are numbers"
            raise DataError(what, hint="Set at_least or at_most for it.", code="metric-value")
        n = judged + sum(values.values()) + (missing if spec.missing != "leave-out" else 0)
        kind = "mean" if values else "rate"
        if missing and spec.missing == "no-data":
            why = f"{missing} of {plural(n, 'item')} among {spec.among} lack the {spec.value_name}"
            return Measure(name, kind, None, n, passed if kind == "rate" else None, missing=why)
        if not n:
            return Measure(name, kind, None, 0, 0, missing=f"there is no item among {spec.among}")
        return self._mean(values, missing) if values else _rate(name, passed, n)

    def _mean(self, values: dict[int | Fraction, int], missing: int) -> Measure:
        spec, counted = self.spec, dict(values)
        if missing and spec.missing == "fail":
            worst = spec.low if spec.better == "higher" else spec.high
            if not worst:
                what = f"{self.name} counts missing values as failing, and no limit says what that is"
                raise UsageError(what, hint="Set low and high.", code="metric-definition")
            counted[Fraction(worst)] = counted.get(Fraction(worst), 0) + missing
        plain = Mean(self.name, self.words, self.better, self.low, self.high, of=self.name)
        return plain.measure(Tally({(self.name, value): count for value, count in counted.items()}))


def _rate(name: str, k: int, n: int) -> Measure:
    return Measure(name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))


def metric_of(spec: Custom) -> CustomMetric:
    """The metric that a definition makes; a fact is a rate, and has a rate's range."""
    low = Fraction(0) if spec.fact else Fraction(spec.low) if spec.low else None
    high = Fraction(1) if spec.fact else Fraction(spec.high) if spec.high else None
    bar = " and ".join(
        f"{word} {value}" for word, value in (("at least", spec.at_least), ("at most", spec.at_most)) if value
    )
    bar = bar or " or ".join(map(repr, spec.equals))
    says = f"{spec.value_name}{f' {bar}' if bar else ''}, among {spec.among}"
    needs = (spec.value,) if spec.missing == "no-data" else ()
    return CustomMetric(spec.name, Words(definition=says), cast(Better, spec.better), low, high, needs=needs, spec=spec)
