"""Quarantine of a config: [[quarantine]], each with who answers for it, why, and until when."""

from __future__ import annotations

from ..core.policy import Quarantined
from .keys import QUARANTINE
from .values import Mistake, check_table, day_of


def check_quarantine(table: object, mistakes: list[Mistake]) -> list[Quarantined]:
    """The entries that are right; a question twice is a mistake, since the later day would hide the earlier."""
    if not isinstance(table, list):
        hint = "Write the name in double brackets."
        mistakes.append(Mistake(("quarantine",), "expected [[quarantine]]", hint, "config-type"))
        return []
    found: dict[str, Quarantined] = {}
    for index, given in enumerate(table):
        path = ("quarantine", index)
        values = check_table(given, QUARANTINE, path, mistakes)
        blank = [name for name in ("qid", "owner", "reason") if name in values and not values[name].strip()]
        hint = "Name the owner of the quarantine."
        mistakes.extend(Mistake((*path, name), "is blank", hint, "config-value") for name in blank)
        if values.keys() < QUARANTINE.keys():
            continue
        day = day_of(values["expires"])
        assert day is not None
        if values["qid"] in found:
            mistakes.append(Mistake((*path, "qid"), "is quarantined twice", "Keep one of the two.", "config-value"))
        found[values["qid"]] = Quarantined(values["qid"], values["owner"], values["reason"], day)
    return list(found.values())
