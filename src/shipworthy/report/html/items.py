"""Items: the table of the items that have no card, and everything that the page's script draws from, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ...core.decision import Decision
from ...core.evidence import Row
from ...core.metrics import EVERY
from ...text import plural, visible
from .. import views
from ..json import printable
from ..tsv import columns_of
from .cards import Card, anchor, slices_of
from .tables import figure

STATIC = 100  # rows that are in the page without its script
STATIC_CARDS = 25  # rows of failing items at a time, those of all suites together
MOST = 20_000  # items that a page has; a browser takes no more
_CELL, _CROWDED_CELL, _CROWDED = 240, 120, 2000  # characters of a cell; of one where there are so many rows
_FIRST = ("qid", "arm", "reason", "also", "failed", "state", "question", "claim")
_NAMES = {"claim": "answer"}


class ItemRows(NamedTuple):
    """The table of the items that are not in the list above: failing ones first, then in their own order."""

    columns: list[str]
    rows: list[list[object]]
    anchors: list[str]
    failing: int
    first: int  # columns that are always shown; the others where they are asked for
    slices: list[list[str]]
    reason: int  # the column of the reason, -1 where there is none
    also: int  # that of what else is wrong
    left_out: str = ""  # what the page has no room for


NO_ROWS = ItemRows([], [], [], 0, 0, [], -1, -1)


def item_rows(decision: Decision, prefix: str, cards: Iterable[Card] = ()) -> ItemRows:
    listed = {card.anchor for card in cards}
    room = max(MOST - len(listed), 0)
    every = views.failing_items(decision, MOST)
    failing = [item for item in every if anchor(item_name(item), prefix) not in listed][:room]
    passing = (item for item in decision.items if decision.display.passes(item))
    ordered = [*failing, *islice(passing, room - len(failing))]
    known = [column for column in columns_of(decision.items) if column not in ("slices", "retrieved_ids")]  # on cards
    first = [name for name in _FIRST if name in known and any(item.get(name) for item in ordered)]
    brief = "question" in first
    columns = [*first, *(name for name in known if name not in first and name not in _FIRST)]
    most = _CELL if len(ordered) <= _CROWDED else _CROWDED_CELL
    return ItemRows(
        [_NAMES.get(name, name) for name in columns],
        [[_cell(item.get(column), most) for column in columns] for item in ordered],
        [anchor(item_name(item), prefix) for item in ordered],
        len(failing),
        len(first) if brief else len(columns),
        [slices_of(item) for item in ordered],
        next((columns.index(name) for name in ("reason", "failed", "state") if name in columns), -1),
        columns.index("also") if "also" in columns else -1,
        _left_out(decision, len(failing) + len(listed), len(ordered) + len(listed)),
    )


def _left_out(decision: Decision, failing: int, shown: int) -> str:
    """What a page of a huge run does not have, in a sentence."""
    total = len(decision.items)
    if shown == total:
        return ""
    more = views.failing_count(decision) - failing
    which = f"{plural(more, 'failing item')} and " if more else ""
    return (
        f"{which}{plural(total - shown - more, 'passing item')} of {total:,} left out of this page: the JSON, TSV and "
        "CSV reports have all of them. Numbers and gates count every item."
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


def reasons_of(decisions: Iterable[Decision]) -> dict[str, str]:
    """Why items of these suites may fail, in words."""
    return {name: words.title(name) for decision in decisions for name, words in decision.display.reasons.items()}


def embedded(
    tables: Iterable[tuple[str, Decision, ItemRows]], cards: Sequence[Card], reasons: Mapping[str, str]
) -> str:
    """What the page's script draws and is not in the page, as JSON that can stand inside a script element.

    Nothing in it ends the element or begins another.
    """
    texts: dict[str, int] = {}
    data: dict[str, object] = {}
    counted: dict[str, object] = {}
    for prefix, decision, found in tables:
        counted[visible(decision.suite, 60)] = against(decision)
        data[prefix] = {
            "suite": visible(decision.suite, 60),
            "rows": found.rows,
            "failing": found.failing,
            "first": found.first,
            "reason": found.reason,
            "also": found.also,
            "anchors": _anchors(found, prefix),
            "slices": found.slices if any(found.slices) else None,
        }
    drawn = [_compact(card, texts) for card in cards]
    whole = {"suites": data, "cards": drawn, "texts": list(texts), "reasons": reasons, "against": counted}
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
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
