"""Any split and any order of the records and cases gives the same bytes, for every suite and every pinned case."""

from __future__ import annotations

import pytest
from scattered import scattered

from golden.runner import Case, load_cases, produce
from shipworthy.jobs import evaluate as door

SCORING = ("score", "stability", "latency", "retrieval", "agreement", "reason", "outcomes", "check")
CASES = [case for case in load_cases() if case.run.split()[0] in SCORING and not case.plain]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_engine(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = produce(case)
    for seed in (1, 2):
        monkeypatch.setattr(door, "engine_named", lambda name, seed=seed: scattered(seed))
        assert produce(case) == whole
