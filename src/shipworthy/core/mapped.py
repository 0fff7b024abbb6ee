"""Mapped rows: the records of a file brought into the contract's shape before they are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import DataError
from ..reading.jsonl import Problem, Problems
from ..reading.mapping import FieldMap
from ..reading.proposal import fields_of, flags, propose
from ..reading.values import MapError
from ..text import plural, visible

_ANSWER = {"claim", "citations", "constraints_echo"}
_FLAT = _ANSWER | {"refused"}
_MAY_BE_ABSENT = ("error", "refused", "qid", "question", "cost_usd", "e2e_ms", "confidence")


def mapped_rows(
    rows: Iterable[tuple[int, Any]], kind: str, pairs: Iterable[str], path: str, problems: Problems
) -> Iterator[tuple[int, Any]]:
    """Rows with their mapped fields in place. Traces that our own runner wrote are in shape already.

    A field that is mapped and that no row has, under its path or its own name, is an error.
    """
    mapping, cells = FieldMap.parse(pairs, kind), bool(getattr(rows, "cells", False))
    matched: set[str] = set()
    own: set[str] = set()
    count = 0
    example: dict[str, Any] = {}
    for number, row in rows:
        if not isinstance(row, Mapping) or "sweep_id" in row:
            yield number, row
            continue
        if not mapping and not cells and not _FLAT & row.keys():
            yield number, row
            continue
        count += 1
        example = example or dict(row)
        try:
            shaped = mapping.row(row, cells, matched.add)
        except MapError as error:
            problems.add(Problem(path, number, str(error), "", "map-value"))
            continue
        own.update(row)
        yield number, shaped
    if count:
        _check_matched(mapping, matched | own | (_ANSWER if "answer_json" in own else set()), count, example, path)


def _check_matched(mapping: FieldMap, found: set[str], count: int, example: Mapping[str, Any], path: str) -> None:
    for field, source in mapping.sources.items():
        if field in _MAY_BE_ABSENT or field in found:
            continue
        likely = propose(example, mapping.kind, file=True).get(field)
        raise DataError(
            f"{field}={visible(source.written, 60)} matches nothing in {plural(count, 'record')}; "
            f"they have {fields_of(example)}",
            where=visible(path),
            hint=f"Try {flags({field: likely})}." if likely else "Check the path.",
            code="map-nothing",
        )
