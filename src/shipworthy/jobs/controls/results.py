"""Results: what became of each control, and whether that is what a sound configuration does."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...core.control import Control

SKIPPED = "SKIPPED"


class ControlResult(msgspec.Struct, frozen=True):
    """One control held against the gates in force."""

    suite: str
    name: str
    good: bool
    expected: str  # SHIP, or stopped: NO-SHIP or NO VERDICT
    verdict: str  # SHIP, NO-SHIP, NO VERDICT, SKIPPED
    as_expected: bool | None  # None where it was skipped
    why: str
    stopped_by: tuple[str, ...] = ()  # the gates that stopped it

    @property
    def broken(self) -> bool:
        return self.as_expected is False

    @property
    def skipped(self) -> bool:
        return self.verdict == SKIPPED

    def __str__(self) -> str:
        return f"{self.suite}: {self.name} {'is stopped' if self.good else 'ships'}"


class Results(list[ControlResult]):
    """The results of one configuration; printed, they are their summary."""

    def __str__(self) -> str:
        return summary(self)

    @property
    def sound(self) -> bool:
        """Every control went as it should, and there was at least one."""
        return sound(self)


def result(suite: str, control: Control, verdict: str, why: str, stopped_by: Iterable[str] = ()) -> ControlResult:
    expected = "SHIP" if control.good else "stopped"
    as_expected = None if verdict == SKIPPED else (verdict == "SHIP") == control.good
    return ControlResult(suite, control.name, control.good, expected, verdict, as_expected, why, tuple(stopped_by))


def summary(results: Iterable[ControlResult]) -> str:
    """`12 of 12 bad controls stopped, 5 of 5 good ones shipped`, and by name what should not have happened."""
    found = list(results)
    ran = [one for one in found if not one.skipped]
    bad, good = [one for one in ran if not one.good], [one for one in ran if one.good]
    parts = [
        f"{sum(not one.broken for one in bad)} of {len(bad)} bad controls stopped",
        f"{sum(not one.broken for one in good)} of {len(good)} good ones shipped",
    ]
    if len(ran) < len(found):
        parts.append(f"{len(found) - len(ran)} skipped")
    broken = "; ".join(str(one) for one in ran if one.broken)
    return ", ".join(parts) + (f". The configuration is broken: {broken}" if broken else "")


def report(results: Iterable[ControlResult]) -> dict[str, object]:
    """The results as plain values."""
    found = list(results)
    return {
        "summary": summary(found),
        "passed": sound(found),
        "broken": [str(one) for one in found if one.broken],
        "skipped": sum(one.skipped for one in found),
        "controls": [msgspec.to_builtins(one) for one in found],
    }


def sound(results: Iterable[ControlResult]) -> bool:
    """Every control went as it should, and there was at least one: nothing tried is not a pass."""
    ran = [one for one in results if not one.skipped]
    return bool(ran) and not any(one.broken for one in ran)
