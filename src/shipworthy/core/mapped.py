"""Mapped rows: records brought into the contract's shape before they are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..errors import DataError
from ..reading.jsonl import Problem, Problems
from ..reading.mapping import FieldMap
from ..reading.proposal import fields_of, flags, propose
from ..reading.values import MapError, shaped
from ..text import plural, visible
from .inputs import Input, Mapped

_ANSWER = {"claim", "citations", "constraints_echo"}
_MAY_BE_ABSENT = ("error", "refused", "qid", "question", "cost_usd", "e2e_ms", "confidence")


def mapped_rows(
    rows: Iterable[tuple[int, object]], kind: str, pairs: Iterable[str], read: Input, problems: Problems
) -> Iterator[tuple[int, object]]:
    """Rows in the contract's shape, with their mapped fields in place."""
    seen, cells = Mapped(kind, tuple(pairs)), bool(getattr(rows, "cells", False))
    mapping, as_they_are = FieldMap.parse(seen.pairs, kind), not (seen.pairs or cells)
    if seen.pairs:
        read.mapped = seen
    for number, row in rows:
        if not isinstance(row, Mapping):
            yield number, row
            continue
        try:
            yield number, shaped(row, kind) if as_they_are else mapping.row(row, cells, seen.found.add)
        except MapError as error:
            problems.add(Problem(read.path, number, str(error), "", "map-value"))
        if seen.pairs and not row.get("sweep_id"):
            seen.count += 1
            seen.example = seen.example or dict(row)
            seen.found.update(row, _ANSWER if "answer_json" in row else ())


def check_matched(seen: Mapped, path: str) -> None:
    """A field that is mapped and that no row has, under its path or its own name, is an error."""
    if seen.count:
        mapping = FieldMap.parse(seen.pairs, seen.kind)
        _check(mapping, seen.found, seen.count, seen.example, path)


def _check(mapping: FieldMap, found: set[str], count: int, example: Mapping[str, object], path: str) -> None:
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
