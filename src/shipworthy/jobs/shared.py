"""Files that several suites of a board read: which they are, and that all suites found the same in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from ..config import SuiteConfig
from ..core.board import Board
from ..core.policy import with_incomplete
from ..errors import ShipworthyError
from ..reading.files import Files, expanded


def shared_files(suites: Sequence[SuiteConfig]) -> set[str]:
    """The files that several suites read."""
    named = Counter(path for suite in suites for path in set(map(str, suite.inputs.values())))
    found: set[str] = set()
    for path, times in named.items():
        if times > 1:
            with suppress(ShipworthyError):  # the suites say what is wrong with it
                files = expanded(path)
                found.update(files.paths if isinstance(files, Files) else (str(files),))
    return found


def refuse_changed(board: Board) -> None:
    """Suites that read a file too large to share may find it changed in between: then they judge different runs."""
    found: dict[str, set[object]] = {}
    for decision in board.decisions:
        for name, block in decision.inputs.items():
            found.setdefault(decision.run.get(name, ""), set()).add(block["sha256"])
    changed = {path for path, digests in found.items() if path and len(digests) > 1}
    for index, decision in enumerate(board.decisions):
        for name in decision.inputs:
            if decision.run.get(name) in changed:
                what = f"{name} changed while the suites were reading it: run check again when nothing writes to it"
                board.notes.append(f"{decision.suite}: {what}")
                if decision.verdict == "SHIP":
                    board.decisions[index] = with_incomplete(decision, [what])
