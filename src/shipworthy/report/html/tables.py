"""Blocks: a heading, a sentence, a picture and a table with the same numbers; and tables from values of any shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...text import visible

MOST_ROWS = 60
_LONGEST = 300


class TableCell(NamedTuple):
    """What a table's cell says, and the tone of its background: good, bad, or h0 to h5 of a heat map."""

    text: str
    tone: str = ""


class Table(NamedTuple):
    """A table; the first cell of each row names the row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    more: int = 0  # rows that were left out
    heat: bool = False


class Block(NamedTuple):
    """A part of a suite's report that only this suite has."""

    title: str
    words: str = ""
    svg: str = ""
    tables: Sequence[Table] = ()


def figure(value: object) -> str:
    """Any value as short text: what is undefined is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return (
            _measured(value)
            or " · ".join(f"{spoken(str(name))} {figure(part)}" for name, part in value.items())[:_LONGEST]
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _listed(value)
    return visible(str(value), _LONGEST)


def _listed(values: Sequence[object]) -> str:
    if len(values) == 2 and all(isinstance(value, float) for value in values):
        return f"{figure(values[0])} to {figure(values[1])}"
    more = f" and {len(values) - 8} more" if len(values) > 8 else ""
    return ", ".join(map(figure, values[:8])) + more


def _measured(value: Mapping[str, object]) -> str:
    """A measure of the canonical report, or a count among so many: `45/50 (0.900)`, `812 ms`."""
    if {"count", "n", "rate"} <= value.keys():
        return _share(value["count"], value["n"], value["rate"])
    if "kind" not in value or "value" not in value:
        return ""
    if value["kind"] == "rate":
        return _share(value.get("numerator"), value.get("denominator"), value["value"])
    if value["value"] is None:
        return "–"
    return f"{figure(value['value'])} {visible(str(value.get('unit', '')))}".strip()


def _share(count: object, among: object, rate: object) -> str:
    return f"{figure(count)}/{figure(among)} ({f'{rate:.3f}' if isinstance(rate, (int, float)) else '–'})"


def spoken(name: str) -> str:
    """`answered_rate_interval95` as words."""
    return visible(name, 120).replace("_", " ").replace("interval95", "interval").strip()


def cells(*values: object) -> list[TableCell]:
    return [value if isinstance(value, TableCell) else TableCell(figure(value)) for value in values]


def records(caption: str, rows: Sequence[Mapping[str, object]], most: int = MOST_ROWS) -> Table:
    """Rows that are mappings, under all the names that occur and say something."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if any(row.get(name) not in (None, "", [], {}) for row in rows)]
    if len(rows) == 1 and len(names) > 4:
        return Table(caption, ["", "value"], [cells(spoken(name), rows[0][name]) for name in names if name])
    shown = [cells(*(row.get(name) for name in names)) for row in rows[:most]]
    return Table(caption, [spoken(name) for name in names], shown, max(len(rows) - most, 0))


def generic(name: str, value: object) -> Block | None:
    """A readable table of a section that nobody drew a picture for; None where it says nothing."""
    title = spoken(name).capitalize()
    if value in (None, 0, "", [], {}, ()):
        return None
    if isinstance(value, Mapping):
        return Block(title, tables=_mapping(title, value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(row, Mapping) for row in value):
            return Block(title, tables=[records(title, value)])
        rows = [cells(row) for row in value[:MOST_ROWS]]
        return Block(title, tables=[Table(title, [title], rows, max(len(value) - MOST_ROWS, 0))])
    return Block(title, words=figure(value))


def _mapping(title: str, value: Mapping[str, object]) -> list[Table]:
    """Mappings of mappings have a table with a row for each; lists of records one of their own; the rest is pairs."""
    inner = {name: part for name, part in value.items() if isinstance(part, Mapping) and part and not _measured(part)}
    lists = {
        name: part
        for name, part in value.items()
        if isinstance(part, list) and part and all(isinstance(row, Mapping) for row in part)
    }
    plain = {
        name: part
        for name, part in value.items()
        if name not in inner and name not in lists and part not in ("", [], {})
    }
    found = [records(f"{title}: {spoken(name)}", part) for name, part in lists.items()]
    if len(inner) > 1:
        found.append(records(title, [{"": name, **part} for name, part in inner.items()]))
    else:
        found += [
            Table(spoken(name), ["", "value"], [cells(spoken(str(key)), one) for key, one in part.items()][:MOST_ROWS])
            for name, part in inner.items()
        ]
    if plain:
        rows = [cells(spoken(str(name)), part) for name, part in list(plain.items())[:MOST_ROWS]]
        found.append(Table(title, ["", "value"], rows, max(len(plain) - MOST_ROWS, 0)))
    return found
