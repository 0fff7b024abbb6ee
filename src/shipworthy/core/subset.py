"""Subset: only those questions of the gold set that have a field; a decision on them says so first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ShipworthyError, UsageError
from ..reading.jsonl import read_objects
from ..text import first_few, plural, visible
from .cases import Numbered
from .contracts import Gold
from .records import is_path
from .sources import load_gold

if TYPE_CHECKING:
    from .suite import Material, Sources


def keep_gold(sources: Sources) -> Sources:
    """The sources with a gold set that can be read twice."""
    gold = sources.get("gold")
    if gold is None:
        hint = "Give --gold, or leave out --where."
        raise UsageError("this suite reads no gold set, so no questions can be chosen", hint=hint, code="where-gold")
    return sources if is_path(gold) or isinstance(gold, Sequence) else {**sources, "gold": list(gold)}


def kept(sources: Sources) -> Sources:
    """The sources, each of which can be read twice."""
    again = (str, bytes, Mapping, Sequence)
    return {
        name: source if is_path(source) or source is None or isinstance(source, again) else list(source)
        for name, source in sources.items()
    }


def narrow(material: Material, sources: Sources, options: Any, key: Callable[[Any], str]) -> None:
    """Leave only the chosen questions in the material, and records of the others out; unknown ones stay unknown."""
    wanted = parse_where(options.where)
    lenient, last_wins = options.lenient, getattr(options, "profile", "") == "reference"
    gold = load_gold(sources["gold"], lenient=lenient, last_wins=last_wins, by=wanted, map=options.map)
    apart = set(options.quarantine)
    within = choose(gold.items.values(), wanted, sources["gold"])
    chosen = {item.qid for item in within if item.qid not in apart}
    if not chosen:
        hint = "Leave at least one question to decide by."
        raise UsageError("every question is quarantined", where="[[quarantine]]", hint=hint, code="quarantine-all")
    left = gold.items.keys() - chosen
    if material.expected is not None:
        material.expected = _only(material.expected, chosen)
    material.named = [name for name in material.named if name in chosen]
    material.streams = {name: _without(stream, left, key) for name, stream in material.streams.items()}
    if not wanted:
        return
    shown = sorted(f"{field}={value}" for field, values in wanted.items() for value in values)
    material.subset = {"where": shown, "questions": len(within), "of": len(gold.items)}


def _only(expected: Mapping[str, object], chosen: set[str]) -> Mapping[str, object]:
    only: Callable[[set[str]], Mapping[str, object]] | None = getattr(expected, "only", None)  # of a set on disk
    return {qid: item for qid, item in expected.items() if qid in chosen} if only is None else only(chosen)


def _without(stream: Iterable[Numbered], left: Collection[str], key: Callable[[object], str]) -> Iterator[Numbered]:
    return (numbered for numbered in stream if key(numbered[1]) not in left)


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
