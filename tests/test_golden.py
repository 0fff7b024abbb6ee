"""Every byte of every report, as it was when it was last agreed on.

SHIPWORTHY_REWRITE_GOLDEN=1 takes what is written now.
Only the command line is called, so that these hold however the package is organised inside.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from itertools import islice

import pytest

from golden.runner import EXPECTED, Case, expected, load_cases, produce, rewrite

SHOWN = 40  # lines of a difference
CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_reports_are_as_they_were(case: Case) -> None:
    if os.environ.get("SHIPWORTHY_REWRITE_GOLDEN"):
        rewrite(case)
    wanted, found = expected(case), produce(case)
    apart = [_difference(name, wanted.get(name), found.get(name)) for name in sorted({*wanted, *found})]
    assert not any(apart), f"shipworthy {case.run}\n" + "\n".join(filter(None, apart))


def test_every_folder_belongs_to_a_case() -> None:
    assert sorted(folder.name for folder in EXPECTED.iterdir()) == sorted(case.name for case in CASES)


def _difference(name: str, wanted: str | None, found: str | None) -> str:
    """The first lines in which two files differ; nothing where they don't."""
    if wanted == found:
        return ""
    if wanted is None or found is None:
        return f"{name} is {'written and was not' if wanted is None else 'not written any more'}"
    lines = unified_diff(wanted.splitlines(), found.splitlines(), f"{name} expected", f"{name} now", lineterm="", n=1)
    return "\n".join(islice(lines, SHOWN)) or f"{name}: the ends of lines differ"
