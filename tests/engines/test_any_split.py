"""Any split, order and engine gives the same bytes, for every suite and every pinned case."""

from __future__ import annotations

import pytest
from under import ENGINES, use_engine

from golden.runner import Case, load_cases, produce

SCORING = ("score", "stability", "latency", "retrieval", "agreement", "reason", "outcomes", "check")
CASES = [case for case in load_cases() if case.run.split()[0] in SCORING and not case.plain]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    use_engine(request.param, monkeypatch)


_whole: dict[str, dict[str, str]] = {}


@pytest.fixture
def whole(case: Case) -> dict[str, str]:
    """What one process makes of a case."""
    if case.name not in _whole:
        _whole[case.name] = produce(case)
    return _whole[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_engine(case: Case, whole: dict[str, str], engine: None) -> None:
    assert produce(case) == whole
