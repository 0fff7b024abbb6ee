"""Metrics of a config: the tables [metrics.NAME], checked key by key and then as a whole."""

from __future__ import annotations

import os
import tomllib

from ..core.custom import parse_metric
from ..errors import UsageError
from ..text import visible
from .keys import CALIBRATED, METRIC
from .values import Mistake, check_table


def check_metrics(table: object, folder: str, mistakes: list[Mistake]) -> dict[str, dict[str, object]]:
    """The metrics by name, with the paths of the file as they are to be opened."""
    if not isinstance(table, dict):
        mistakes.append(Mistake(("metrics",), "expected tables [metrics.NAME]", "", "config-type"))
        return {}
    return {name: _checked(name, given, folder, mistakes) for name, given in table.items()}


def _checked(name: str, given: object, folder: str, mistakes: list[Mistake]) -> dict[str, object]:
    path, before = ("metrics", name), len(mistakes)
    plain = {key: value for key, value in given.items() if key != "calibration"} if isinstance(given, dict) else given
    words = plain.get("equals") if isinstance(plain, dict) else None
    if isinstance(words, str):
        plain = {**plain, "equals": [words]}  # type: ignore[dict-item]  # a table: it has equals
    values = check_table(plain, METRIC, path, mistakes)
    if isinstance(given, dict) and "calibration" in given:
        bar = check_table(given["calibration"], CALIBRATED, (*path, "calibration"), mistakes)
        if "labels" in bar:
            bar["labels"] = os.path.normpath(os.path.join(folder, bar["labels"]))
        values["calibration"] = bar
    if "py" in values:
        values["folder"] = os.path.abspath(folder)
    if len(mistakes) == before:
        try:
            parse_metric(name, values)
        except UsageError as error:
            mistakes.append(Mistake(path, error.what, error.hint, error.code))
    return values


def read_metrics(path: str) -> dict[str, dict[str, object]]:
    """The metrics of a TOML file, such as a config, whose other tables are left alone."""
    where = visible(path)
    try:
        with open(path, "rb") as stream:
            table = tomllib.load(stream)
    except FileNotFoundError:
        raise UsageError("no such file", where=where, hint="Check the path.", code="no-file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"is not TOML: {visible(str(error), 200)}", where=where, code="config-syntax") from None
    mistakes: list[Mistake] = []
    found = check_metrics(table.get("metrics", {}), os.path.dirname(path) or ".", mistakes)
    if mistakes:
        first = mistakes[0]
        raise UsageError(
            f"{'.'.join(map(str, first.path))}: {first.what}", where=where, hint=first.hint, code=first.code
        )
    if not found:
        raise UsageError("has no table [metrics.NAME]", where=where, code="metric-definition")
    return found
