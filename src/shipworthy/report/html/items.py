"""Items: the table of all items, and everything that the page's script draws from, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...core.decision import Decision
from ...core.evidence import Row
from ...core.metrics import EVERY
from ...text import visible
from .. import views
from ..json import printable
from .cards import Card, anchor, slices_of
from .tables import figure

STATIC = 100  # rows that are in the page without its script
STATIC_CARDS = 10
_CELL, _CROWDED_CELL, _CROWDED = 240, 120, 2000  # characters of a cell; of one where there are so many rows
_FIRST = ("qid", "arm", "reason", "failed", "state", "question", "claim")
_NAMES = {"claim": "answer"}


class ItemRows(NamedTuple):
    """The items' table: failing ones first, then in their own order."""

    columns: list[str]
    rows: list[list[object]]
    anchors: list[str]
    failing: int
    first: int  # columns that are always shown; the others where they are asked for
    slices: list[list[str]]
    reason: int  # the column of the reason, -1 where there is none


def item_rows(decision: Decision, prefix: str) -> ItemRows:
    known = dict.fromkeys(column for item in decision.items for column in item if column != "slices")
    first = [name for name in _FIRST if name in known]
    brief = "question" in known and any(item.get("question") for item in decision.items)
    columns = [*first, *(name for name in known if name not in first)]
    failing = views.failing_items(decision)
    ordered = [*failing, *(item for item in decision.items if not views.failing(item))]
    most = _CELL if len(ordered) <= _CROWDED else _CROWDED_CELL
    return ItemRows(
        [_NAMES.get(name, name) for name in columns],
        [[_cell(item.get(column), most) for column in columns] for item in ordered],
        [anchor(item_name(item), prefix) for item in ordered],
        len(failing),
        len(first) if brief else len(columns),
        [slices_of(item) for item in ordered],
        next((columns.index(name) for name in ("reason", "failed", "state") if name in columns), -1),
    )


def item_name(item: Row) -> str:
    """Arms answer the same questions, so that a question's name alone would not be one item's."""
    name = views.name_of(item)
    return f"{item['arm']}:{name}" if item.get("arm") else name


def _cell(value: object, most: int) -> object:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return round(value, 4)
    return visible(figure(value) if not isinstance(value, str) else value, most)


def against(decision: Decision) -> dict[str, list[str]]:
    """The reasons that count against each gate that stops the release, to filter by."""
    stopping = [outcome for outcome in decision.outcomes if views.stops(outcome)]
    return {
        outcome.gate.metric: list(outcome.measure.against)
        for outcome in stopping
        if outcome.measure.against and outcome.measure.against != EVERY
    }


def embedded(tables: Iterable[tuple[str, Decision, ItemRows, Sequence[Card]]]) -> str:
    """The items as JSON that can stand inside a script element: nothing in it ends the element or begins another."""
    texts: dict[str, int] = {}
    data: dict[str, object] = {}
    for prefix, decision, found, shown in tables:
        data[prefix] = {
            "rows": found.rows,
            "failing": found.failing,
            "first": found.first,
            "reason": found.reason,
            "anchors": _anchors(found, prefix),
            "slices": found.slices if any(found.slices) else None,
            "cards": [_compact(card, texts) for card in shown],
            "against": against(decision),
        }
    text = json.dumps({"suites": data, "texts": list(texts)}, ensure_ascii=False, separators=(",", ":"))
    return printable(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _compact(card: Card, texts: dict[str, int]) -> Card:
    """The card with its evidence as places in a list of texts: what many items were shown is there once."""

    def pooled(shown: Sequence[tuple[object, str]]) -> list[tuple[object, int]]:
        return [(chip, texts.setdefault(text, len(texts))) for chip, text in shown]

    return card._replace(evidence=pooled(card.evidence), others=pooled(card.others))  # type: ignore[arg-type] # as JSON


def _anchors(found: ItemRows, prefix: str) -> list[str] | None:
    """None where each follows from the first cell of its row, which spares a large page a lot."""
    pairs = zip(found.anchors, found.rows, strict=True)
    return None if all(name == f"item-{prefix}{row[0]}" for name, row in pairs) else found.anchors
