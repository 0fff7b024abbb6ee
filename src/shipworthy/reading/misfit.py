"""Misfits: what a file is that does not have the fields it was read for, and how it can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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
    what = f"{missing or _missing(merged, kind)}; found {fields_of(merged)}"
    return DataError(what, where=f"{where}:{rows[0][0]}", hint=_hint(merged, kind, where), code=_CODES[kind])


_QID = ("qid", "q_id", "id")


def _missing(row: Mapping[str, object], kind: str) -> str:
    nameless = kind == "trace" and not set(_QID) & set(row) and "qid" not in propose(row, kind, file=True)
    return "no record has a qid, which says which question it answers" if nameless else _MISSING[kind]


def _hint(row: Mapping[str, object], kind: str, where: str) -> str:
    """The mapping that would read the file, or what else is probably wrong with it."""
    likely = propose(row, kind, file=True)
    wanted = {field: path for field, path in likely.items() if field != path}
    if kind == "trace" and not set(_QID) & set(row) and "qid" not in likely and likely:
        return f"Add the qid of its gold question to each record. Then map the rest: {flags(wanted)}"
    answers = propose(row, "trace", file=True) if kind == "gold" else {}
    if {"claim", "retrieved_ids"} <= set(answers):
        return f"These look like responses: are --gold and --trace swapped? If not, map them: {flags(wanted)}"
    if wanted:
        return f"Map them: {flags(wanted)}"
    return _about_layout(row, where) or f"Needed: {', '.join(_WANTED[kind])}."


def _about_layout(row: Mapping[str, object], where: str) -> str:
    """What is wrong with the layout of a file: another separator, no header, records within an object."""
    names = list(row)
    if where.endswith((".csv", ".tsv")):
        other = next((sign for sign in ";\t|," if len(names) == 1 and sign in names[0]), "")
        if other:
            shown = "tabs" if other == "\t" else f"{other!r}"
            return f"The cells are separated by {shown}: save the file with commas, or with tabs as .tsv."
        return "Is the first line a header? Write the field names there, such as qid,question,answerable."
    inner = [name for name, value in row.items() if isinstance(value, list) and value and isinstance(value[0], Mapping)]
    if len(inner) == 1 and _plain_name(inner[0]) and where.endswith(".json"):
        return f"The records are inside {inner[0]}. Save that list alone: jq .{inner[0]} {where} > records.json"
    return ""


def _plain_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name.isascii()


def unmapped(source: object, pairs: Iterable[str]) -> str:
    """The flags that would also read the sources of a trace file whose mapping leaves them out; nothing if none."""
    given = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    rows = _first_rows(source) if given else []
    if not rows:
        return ""
    merged = _merged(rows)
    own = {*given, *merged, *(name.removeprefix("trace.") for name in given)}
    claim = given.get("claim", given.get("answer", ""))
    likely = propose(merged, "trace", file=True, claim_path=claim)
    return flags({name: likely[name] for name in ("retrieved_ids", "citations") if name in likely and name not in own})


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
