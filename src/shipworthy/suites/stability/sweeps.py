"""Sweeps: which runs of a file belong together, and which of several sweeps is judged."""

from __future__ import annotations

from collections import Counter

from ...errors import DataError

EVERY_SWEEP = "all"


class Sweeps:
    """How many lines each sweep has, and which sweep the last line is of; parts of a file add up in any order."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self._last = (-1, "")  # the last place, and its sweep

    def add(self, place: int, sweep_id: str | None) -> None:
        name = sweep_id or ""
        self.lines[name] += 1
        if place > self._last[0]:
            self._last = (place, name)

    def __iadd__(self, other: Sweeps) -> Sweeps:
        self.lines.update(other.lines)
        self._last = max(self._last, other._last)
        return self

    def choose(self, wanted: str | None = None) -> str:
        """The sweep to judge: the wanted one, or else that of the last line; `all` mixes them."""
        if not self.lines:
            return ""
        if wanted == EVERY_SWEEP:
            return EVERY_SWEEP
        chosen = self._last[1] if wanted is None else wanted
        if chosen not in self.lines:
            known = ", ".join(sorted(name or "(none)" for name in self.lines))
            raise DataError(
                f"there are no runs of sweep {chosen!r}", hint=f"The file has: {known}.", code="sweep-unknown"
            )
        return chosen

    def left_out(self, chosen: str) -> dict[str, int]:
        """How many lines of which other sweeps are not judged."""
        if chosen == EVERY_SWEEP:
            return {}
        return {name: count for name, count in sorted(self.lines.items()) if name != chosen}


def in_sweep(sweep_id: str | None, chosen: str) -> bool:
    """Whether a run of this sweep is judged."""
    return chosen in (EVERY_SWEEP, sweep_id or "")
