"""Every program in examples/ runs as it is and says what it should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SAYS = {
    "answers.py": "SHIP because all 5 gates pass; 4 of them are not statistically certain",
    "custom_gate_policy.py": "NO-SHIP · the waiver of over_refusal by Ada expired on 2026-12-31",
    "notebook.py": "precision >= 0.80        2/2 (1.000)      PASS-BUT-UNPROVEN",
    "retrieval_comparison.py": "worse: ['q3'] better: []",
    "stability_of_http_service.py": "18 runs, 4 distinct prompts",
}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def test_every_example_is_known_here() -> None:
    assert sorted(SAYS) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"
