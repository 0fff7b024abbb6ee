"""Cards: an offender with its claim, its gold and its evidence side by side; and the rows of the items' table."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...core.decision import Decision
from ...core.evidence import Row
from ...text import fold, visible
from .. import views
from ..json import printable
from .highlight import Piece, pieces
from .tables import figure, spoken

LONGEST = 8000  # characters shown of one text
STATIC = 500  # rows that are in the page without its script
_LONG_CELL = 160
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_SHOWN = {
    "qid",
    "reason",
    "says",
    "question",
    "claim",
    "citations",
    "retrieved_ids",
    "gold_rank",
    "gold_claim_substr",
    "gold_found",
    "gold_citations",
    "constraints",
    "evidence",
}


class Chip(NamedTuple):
    """An id, and what there is to say of it."""

    text: str
    note: str = ""
    tone: str = ""


class Card(NamedTuple):
    anchor: str
    name: str
    reason: str
    says: str
    question: str
    claim: list[Piece] | None
    cited: list[Chip] | None  # None where the suite says nothing of citations
    substrings: list[Chip]
    wanted: list[Chip]
    constraints: list[str]
    retrieved: list[Chip]
    evidence: list[tuple[Chip, list[Piece]]]  # what is gold of it, or the first where none is
    others: list[tuple[Chip, list[Piece]]]  # the rest, folded away
    more: list[tuple[str, str]]


def anchor(name: str, prefix: str = "") -> str:
    """The fragment that leads to an item: its name where that is plain, else a digest of it."""
    slug = name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"item-{prefix}{slug}"


def offender_cards(decision: Decision, prefix: str) -> list[Card]:
    seen: set[str] = set()
    found = []
    for offender in decision.offenders:
        card = _card(offender, prefix)
        found.append(card._replace(anchor="") if card.anchor in seen else card)  # an id stands once in a page
        seen.add(card.anchor)
    return found


def _card(offender: Row, prefix: str) -> Card:
    name = str(offender.get("qid", ""))
    substrings = _strings(offender.get("gold_claim_substr"))
    cited, wanted = _strings(offender.get("citations")), _strings(offender.get("gold_citations"))
    retrieved = _strings(offender.get("retrieved_ids"))
    claim, found = offender.get("claim"), offender.get("gold_found") or {}
    shown, others = _evidence(offender.get("evidence") or [], wanted, substrings)
    place = _Places(
        cited if "citations" in offender else None,
        retrieved if "retrieved_ids" in offender else None,
        wanted,
        offender.get("gold_rank"),
    )
    return Card(
        anchor(name, prefix),
        visible(name, 120),
        visible(str(offender.get("reason", "")), 60),
        visible(str(offender.get("says", "")), 1000),
        views.legible(str(offender.get("question") or ""), LONGEST),
        pieces(str(claim), [one for one in substrings if found.get(one) in (None, "found", "denied")], LONGEST)
        if claim or (claim == "" and substrings)
        else None,
        [place.cited(one) for one in cited] if "citations" in offender else None,
        [_substring(one, claim, found.get(one)) for one in substrings] or _refusal(offender),
        [place.wanted(one) for one in wanted],
        [views.legible(one, 1000) for one in _strings(offender.get("constraints"))],
        [
            Chip(visible(one, 200), "gold" if one in wanted else "", "good" if one in wanted else "")
            for one in retrieved[:20]
        ],
        shown,
        others,
        [
            (spoken(key), figure(value))
            for key, value in offender.items()
            if key not in _SHOWN and value not in (None, "", []) and not _told(value, offender)
        ],
    )


class _Places(NamedTuple):
    """Where gold and cited ids stand; nothing is said of what the suite does not tell (None)."""

    citations: Sequence[str] | None
    retrieved: Sequence[str] | None
    gold: Sequence[str]
    gold_rank: int | None

    @property
    def renamed(self) -> bool:
        """Gold was found, though not under its own id: the blocks were cut or named anew, and ids prove nothing."""
        return bool(self.gold_rank) and not any(name in (self.retrieved or ()) for name in self.gold)

    def cited(self, name: str) -> Chip:
        if name in self.gold:
            return Chip(visible(name, 200), "gold", "good")
        note = "not retrieved" if self.retrieved and name not in self.retrieved else "not gold" if self.gold else ""
        return Chip(visible(name, 200), *((note, "bad") if note and not self.renamed else ("", "")))

    def wanted(self, name: str) -> Chip:
        if self.renamed:
            return Chip(visible(name, 200), f"found under another id, first at rank {self.gold_rank}")
        notes = []
        if self.citations is not None:
            notes.append("cited" if name in self.citations else "not cited")
        if self.retrieved is not None:
            notes.append(f"rank {self.retrieved.index(name) + 1}" if name in self.retrieved else "not retrieved")
        tone = ("good" if name in (self.citations or ()) else "bad") if notes else ""
        return Chip(visible(name, 200), ", ".join(notes), tone)


def _told(value: object, offender: Row) -> bool:
    """Whether the sentence above repeats it; a short value may stand there by chance."""
    return len(figure(value)) > 8 and figure(value) in str(offender.get("says", ""))


def _refusal(offender: Row) -> list[Chip]:
    return [Chip("not in context", "the only right answer")] if offender.get("reason") == "leak" else []


def _substring(text: str, claim: object, state: str | None) -> Chip:
    """An expected text, and what the judge found of it; by the plain rule where a suite does not say."""
    if claim is None:
        return Chip(visible(text, 500))
    state = state or ("found" if fold(text) in fold(str(claim)) else "missing")
    return Chip(visible(text, 500), _STATES[state], "good" if state == "found" else "bad")


_STATES = {
    "found": "in the claim",
    "denied": "denied in the claim",
    "inside": "only inside a longer number or word",
    "missing": "not in the claim",
}


Shown = list[tuple[Chip, list[Piece]]]


def _evidence(found: Sequence[Row], wanted: Sequence[str], substrings: Sequence[str]) -> tuple[Shown, Shown]:
    """The texts that are gold, or the first where none is; then the others."""
    told: dict[bool, Shown] = {True: [], False: []}
    for one in found:
        name = str(one.get("id", ""))
        gold = name in wanted
        chip = Chip(visible(name, 200), "gold" if gold else "", "good" if gold else "")
        told[gold].append((chip, pieces(str(one.get("text", "")), substrings, LONGEST)))
    return (told[True], told[False]) if told[True] else (told[False][:1], told[False][1:])


def _strings(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


class ItemRows(NamedTuple):
    """The items' table: failing ones first, then in their own order."""

    columns: list[str]
    rows: list[list[object]]
    anchors: list[str]
    failing: int


def item_rows(decision: Decision, prefix: str) -> ItemRows:
    columns = list(dict.fromkeys(column for item in decision.items for column in item))
    columns.sort(key=lambda column: column != "qid")  # the first names the row, and links to it
    failing = views.failing_items(decision)
    ordered = [*failing, *(item for item in decision.items if not views.failing(item))]
    rows = [[_cell(item.get(column)) for column in columns] for item in ordered]
    return ItemRows(columns, rows, [anchor(_item_name(item), prefix) for item in ordered], len(failing))


def _item_name(item: Row) -> str:
    """Arms answer the same questions, so that a question's name alone would not be one item's."""
    name = views.name_of(item)
    return f"{item['arm']}:{name}" if item.get("arm") else name


def _cell(value: object) -> object:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return round(value, 4)
    return visible(figure(value) if not isinstance(value, str) else value, _LONG_CELL)


def embedded(tables: Iterable[tuple[str, ItemRows, Sequence[Card]]]) -> str:
    """The rows as JSON that can stand inside a script element: nothing in it ends the element or begins another."""
    data = {}
    for prefix, found, shown in tables:
        data[prefix] = {
            "columns": found.columns,
            "rows": found.rows,
            "failing": found.failing,
            "anchors": _anchors(found, prefix),
            "cards": [card.anchor for card in shown],
        }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return printable(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _anchors(found: ItemRows, prefix: str) -> list[str] | None:
    """None where each follows from the first cell of its row, which spares a large page a lot."""
    pairs = zip(found.anchors, found.rows, strict=True)
    return None if all(name == f"item-{prefix}{row[0]}" for name, row in pairs) else found.anchors
