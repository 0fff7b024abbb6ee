"""Sweeps: which runs of a file belong together, and which of several sweeps is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...core.inputs import FILE
from ...core.join import Dated, in_file, one_of
from ...errors import DataError
from ...text import visible

EVERY_SWEEP = "all"


class Sweeps:
    """How many lines each sweep has, and which sweep the last lines are of; parts of files add up in any order."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self._last: dict[int, Dated] = {}  # the last line of each file, with its sweep

    def add(self, place: int, sweep_id: str | None, ts: object = None) -> None:
        name = sweep_id or ""
        self.lines[name] += 1
        self._meet(Dated(place, ts, name))

    def _meet(self, line: Dated) -> None:
        file = line.place // FILE
        if file not in self._last or line.place > self._last[file].place:
            self._last[file] = line

    def __iadd__(self, other: Sweeps) -> Sweeps:
        self.lines.update(other.lines)
        for line in other._last.values():
            self._meet(line)
        return self

    def choose(self, wanted: str | None = None, paths: Sequence[str] = ()) -> str:
        """The sweep to judge: the wanted one, or else that of the last line; `all` mixes them."""
        if not self.lines:
            return ""
        if wanted == EVERY_SWEEP:
            return EVERY_SWEEP
        chosen = self._last_sweep(paths) if wanted is None else wanted
        if chosen not in self.lines:
            known = ", ".join(sorted(name or "(none)" for name in self.lines))
            raise DataError(
                f"there are no runs of sweep {chosen!r}", hint=f"The file has: {known}.", code="sweep-unknown"
            )
        return chosen

    def _last_sweep(self, paths: Sequence[str]) -> str:
        one, other = one_of(self._last.values(), "last")
        if other is not None:
            raise DataError(
                f"{in_file(one.place, paths)} is of sweep {visible(one.content) or '(none)'}, "
                f"{in_file(other.place, paths)} of sweep {visible(other.content) or '(none)'}, "
                "and no ts tells which is the last one",
                hint="Choose one with --sweep, or write ts in every record.",
                code="trace-order",
            )
        return str(one.content)

    def left_out(self, chosen: str) -> dict[str, int]:
        """How many lines of which other sweeps are not judged."""
        if chosen == EVERY_SWEEP:
            return {}
        return {name: count for name, count in sorted(self.lines.items()) if name != chosen}


def in_sweep(sweep_id: str | None, chosen: str) -> bool:
    """Whether a run of this sweep is judged."""
    return chosen in (EVERY_SWEEP, sweep_id or "")
