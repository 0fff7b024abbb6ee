"""Subset: only those questions of the gold set that have a field; a decision on them says so first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ShipworthyError, UsageError
from ..reading.jsonl import read_objects
from ..text import first_few, plural, visible
from .contracts import Gold
from .records import is_path
from .sources import load_gold

if TYPE_CHECKING:
    from .suite import Sources


def left_out(sources: Sources, options: Any) -> tuple[frozenset[str], dict[str, Any] | None]:
    """The questions that `--where` leaves out, and what a report says of those that it keeps."""
    wanted = parse_where(getattr(options, "where", ()))
    if not wanted:
        return frozenset(), None
    last_wins = getattr(options, "profile", "") == "reference"
    gold = load_gold(sources["gold"], lenient=options.lenient, last_wins=last_wins, by=wanted, map=options.map)
    chosen = {item.qid for item in choose(gold.items.values(), wanted, sources["gold"])}
    shown = sorted(f"{field}={value}" for field, values in wanted.items() for value in values)
    subset = {"where": shown, "questions": len(chosen), "of": len(gold.items)}
    return frozenset(gold.items.keys() - chosen), subset


def require_gold(sources: Sources) -> Sources:
    """The sources with a gold set that can be read twice: where questions are chosen, their fields are read first."""
    gold = sources.get("gold")
    if gold is None:
        hint = "Give --gold, or leave out --where."
        raise UsageError("this suite reads no gold set, so no questions can be chosen", hint=hint, code="where-gold")
    return sources if is_path(gold) or isinstance(gold, Sequence) else {**sources, "gold": list(gold)}


def said(subset: Mapping[str, Any]) -> str:
    """The first line of a report on a subset."""
    where = ", ".join(visible(text, 80) for text in subset["where"])
    return f"a subset: {where}, {subset['questions']} of {plural(subset['of'], 'question')}; not the whole verdict"


def parse_where(texts: Iterable[str]) -> dict[str, list[str]]:
    """`tier=smoke` by field; several values of one field are alternatives."""
    wanted: dict[str, list[str]] = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not sign or not field.strip() or not value.strip():
            what = f"{visible(text, 60)!r} chooses nothing"
            raise UsageError(what, where="--where", hint="Write FIELD=VALUE, such as tier=smoke.", code="where-syntax")
        wanted.setdefault(field.strip(), []).append(value.strip())
    return wanted


def choose(items: Iterable[Gold], wanted: Mapping[str, Collection[str]], source: Any = ()) -> list[Gold]:
    """The items that have one of the values in every field; none at all is a mistake, most likely of spelling.

    `source` is what the items were read from, to name its fields.
    """
    listed = list(items)
    found = [item for item in listed if all(_value(item, field) in values for field, values in wanted.items())]
    if not found:
        asked = ", ".join(f"{field}={'|'.join(values)}" for field, values in wanted.items())
        known = {field: sorted({value for item in listed if (value := _value(item, field))}) for field in wanted}
        has = "; ".join(f"{field}: {first_few(values)}" for field, values in known.items() if values)
        if strange := [field for field, values in known.items() if not values]:
            has = f"no field {first_few(strange)}; its fields are: {first_few(_field_names(source), 20)}"
        raise DataError(
            f"no question has {visible(asked, 100)}",
            where="--where",
            hint=f"The gold set has {visible(has, 400)}.",
            code="where-none",
        )
    return found


def _field_names(source: Any) -> list[str]:
    """The fields that questions can be chosen by: those of text, and flags."""
    try:
        rows = (row for _, row in read_objects(source)) if is_path(source) else iter(source)
        found = {name for row in islice(rows, 1000) for name, value in row.items() if isinstance(value, (str, bool))}
    except (ShipworthyError, OSError, AttributeError):  # a table, or items that were read before
        found = set()
    return sorted({"answerable", *found} - {"qid", "q_id", "question", "q"})


def _value(item: Gold, field: str) -> str:
    value = getattr(item, field) if field in Gold.__struct_fields__ else item.fields.get(field)
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""
