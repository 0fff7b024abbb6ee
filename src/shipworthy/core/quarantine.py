"""Quarantine: questions that no gate counts for a while, judged and shown all the same, and named in the first line."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import msgspec

from ..reading.reports import row_name
from ..text import first_few, plural, visible
from .decision import Decision


class Quarantined(msgspec.Struct, frozen=True):
    """A question that need not pass until a day, because somebody answers for it."""

    qid: str
    owner: str
    reason: str
    expires: datetime.date

    def expired(self, today: datetime.date) -> bool:
        """It holds through its last day."""
        return today > self.expires


def set_apart(counted: Decision, whole: Decision, quarantined: Iterable[str]) -> Decision:
    """The decision without the quarantined questions, with what they did and what the gates say of all questions."""
    apart = set(quarantined)
    rows = [row for row in whole.items if str(row.get("qid", row_name(row))) in apart]
    if not rows:
        return counted
    names = list(dict.fromkeys(str(row.get("qid", row_name(row))) for row in rows))
    failing = sum(not whole.display.passes(row) for row in rows)
    note = (
        f"{plural(len(names), 'question')} quarantined and counted by no gate: "
        f"{first_few([visible(name, 60) for name in names])}; {failing} of {len(rows)} fail; "
        f"with them the decision is {whole.verdict}"
    )
    block: dict[str, object] = {
        "questions": len(names),
        "failing": failing,
        "decision_on_all": whole.verdict,
        "items": rows,
    }
    return msgspec.structs.replace(
        counted,
        reasons=[note, *counted.reasons],
        tolerated=[note, *counted.tolerated],
        counts=counted.counts | {"quarantined": len(names)},
        named=counted.named | {"quarantined": names},
        sections=counted.sections | {"quarantine": block},
        options=counted.options | {"quarantine": sorted(names)},
    )


def quarantine_notes(
    entries: Iterable[Quarantined], decisions: Sequence[Decision], today: datetime.date
) -> tuple[list[str], list[str]]:
    """Every quarantine in words, the expired ones first; and the questions that no suite has."""
    passed: dict[str, bool] = {}
    counted: dict[str, bool] = {}
    for one in decisions:
        apart = one.sections.get("quarantine", {}).get("items", [])
        for into, rows in ((passed, apart), (counted, one.items)):
            into |= {str(row.get("qid", row_name(row))): one.display.passes(row) for row in rows}
    expired, running, unknown = [], [], []
    for entry in entries:
        who = f"({entry.owner}: {entry.reason})"
        if entry.expired(today):
            state = "" if counted.get(entry.qid, True) else " and fails"
            expired.append(f"quarantine of {entry.qid} EXPIRED on {entry.expires}: it counts again{state} {who}")
        elif entry.qid in passed:
            state = "passes" if passed[entry.qid] else "fails"
            running.append(f"quarantine of {entry.qid}, which {state} now, until {entry.expires} {who}")
        else:
            unknown.append(entry.qid)
    return expired + running, unknown
