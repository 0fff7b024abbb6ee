"""The same bytes under every hash seed, locale and time zone; and every suite without a network."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from golden.runner import INPUTS, Case, call, load_cases
from harness.determinism import SURROUNDINGS, under_each
from harness.nosockets import no_sockets
from harness.nowrites import no_writes_outside
from shipworthy.suites import SUITES

SCORED = [case for case in load_cases() if not case.plain and not case.name.startswith("error-")]


def test_one_check_gives_the_same_bytes_everywhere(tmp_path: Path) -> None:
    shutil.copytree(INPUTS, tmp_path / "inputs")
    folder = tmp_path / "inputs" / "check"
    found = under_each(["check", "--config", "shipworthy.toml", "--no-record"], folder)
    assert len(found) == len(SURROUNDINGS) and len(set(found.values())) == 1, found


def test_the_cases_are_of_every_suite() -> None:
    verbs = {case.run.split()[0] for case in SCORED} | {" ".join(case.run.split()[:2]) for case in SCORED}
    assert {"score", "stability", "latency", "retrieval", "outcomes", "check"} <= verbs
    assert {"agreement score", "agreement raters", "reason score", "reason guard"} <= verbs and len(SUITES) == 9


@pytest.mark.parametrize("case", SCORED, ids=lambda case: case.name)
def test_scoring_needs_no_network_and_writes_only_what_was_asked_for(case: Case, tmp_path: Path) -> None:
    args = shlex.split(case.run.replace("{out}", str(tmp_path)))
    with no_sockets(), no_writes_outside(tmp_path):
        ran = call(*args, "-o", str(tmp_path / "report.json"), "-o", str(tmp_path / "report.html"))
    assert ran.code in (0, 1, 3) and "[internal]" not in ran.err
