"""Write expected/ anew from what the command line does now: `python tests/golden/make.py [CASE...]`."""

from __future__ import annotations

import shutil
import sys

from runner import EXPECTED, load_cases, rewrite


def run(names: list[str]) -> None:
    """Rewrite the named cases, or all of them; what belongs to no case any more is removed."""
    cases = load_cases()
    known = {case.name for case in cases}
    for unknown in set(names) - known:
        sys.exit(f"there is no case {unknown!r} in cases.toml")
    for case in cases:
        if not names or case.name in names:
            rewrite(case)
    for folder in EXPECTED.iterdir():
        if folder.name not in known:
            shutil.rmtree(folder)


if __name__ == "__main__":
    run(sys.argv[1:])
