"""Misfits: what a file is that does not have the fields it was read for, and how it can be read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice

from ..errors import DataError, ShipworthyError
from ..text import visible
from .formats import foreign_rows, raw_rows
from .proposal import fields_of, flags, foreign, propose

_LOOKED_AT = 50  # rows
_SWAPPED = {
    "gold": (("answer_json", "retrieved_ids"), "This looks like a trace file: are --gold and --trace swapped?"),
    "trace": (
        ("answerable", "gold_claim_substr", "gold_citations"),
        "This looks like a gold file: are --gold and --trace swapped?",
    ),
}
_CODES = {"gold": "gold-fields", "trace": "trace-fields"}
_WANTED = {"gold": ("qid", "question", "answerable"), "trace": ("qid", "claim")}
_MISSING = {"gold": "no record has qid and answerable", "trace": "no record has an answer (answer_json)"}


def misfit(source: object, kind: str, missing: str = "") -> DataError | None:
    """Why none of a file's records fits; None where the file has no objects to look at."""
    rows = _first_rows(source)
    if not rows:
        return None
    where = visible(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else f"<{kind}>"
    merged = _merged(rows)
    if isinstance(source, (str, os.PathLike)) and (tool := foreign(merged)):
        return foreign_rows(os.fspath(source), tool)
    names, hint = _SWAPPED[kind]
    if set(names) & set(merged) and not _looks_like(merged, kind):
        return DataError(f"found {fields_of(merged)}", where=where, hint=hint, code="files-swapped")
    likely = propose(merged, kind, file=True)
    wanted = {field: path for field, path in likely.items() if field != path}
    hint = f"Map them: {flags(wanted)}" if wanted else f"Needed: {', '.join(_WANTED[kind])}."
    if not wanted and where.endswith((".csv", ".tsv")):
        hint += " Is the first line a header?"
    what = f"{missing or _MISSING[kind]}; found {fields_of(merged)}"
    return DataError(what, where=f"{where}:{rows[0][0]}", hint=hint, code=_CODES[kind])


def _looks_like(row: Mapping[str, object], kind: str) -> bool:
    other = "trace" if kind == "gold" else "gold"
    return bool(set(_SWAPPED[other][0]) & set(row))


def _first_rows(source: object) -> list[tuple[int, dict[str, object]]]:
    try:
        if isinstance(source, (str, os.PathLike)):
            if not os.path.isfile(source):
                return []
            return [pair for pair in islice(raw_rows(source), _LOOKED_AT) if "shipworthy_journal" not in pair[1]]
    except ShipworthyError:
        pass
    return []


def _merged(rows: list[tuple[int, dict[str, object]]]) -> dict[str, object]:
    """All fields of the rows; of each the first value that is not empty."""
    merged: dict[str, object] = {}
    for _, row in rows:
        for name, value in row.items():
            if not merged.get(name):
                merged[name] = value
    return merged
