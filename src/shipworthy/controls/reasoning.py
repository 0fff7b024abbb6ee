"""Controls of the reasoning suite: the answers that it makes from a fixture's own cases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import as_file, files

from ..suites.reasoning import Fixture, load_fixture
from ..suites.reasoning.controls import controls
from .results import Control


def build(fixture: Fixture) -> Iterator[Control]:
    """The suite's own controls, the good ones first."""
    for control in sorted(controls(fixture), key=lambda one: not one.good):
        yield Control(name=control.name, good=control.good, data={"answers": control.answers, "fixture": fixture})


def read_fixture(path: str | os.PathLike[str] | None = None) -> Fixture:
    """A fixture of the user's, or the one that comes with the package."""
    if path:
        return load_fixture(os.fspath(path))
    with as_file(files("shipworthy") / "data" / "reason-v1.json") as bundled:
        return load_fixture(bundled)
