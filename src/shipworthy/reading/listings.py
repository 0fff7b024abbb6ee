"""Listings: the lists in a record of any shape, with their columns, which of these may be ids, and which is the text.

Ids are own ids, else names of sources, else whatever is distinct and looks like a name. Names only break ties.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .mapping import OfKind, Step
from .values import json_in_cell

LIST_NAMES = (
    *("documents", "context", "contexts", "source_documents", "source_nodes", "retrieved_contexts", "docs", "nodes"),
    *("results", "matches", "chunks", "passages", "retrieved_documents", "retrieved_docs", "hits", "retrieved"),
    *("sources", "references", "search_results", "retrieval_results", "source_chunks", "resources"),
)
OWN_IDS = ("id", "_id", "chunk_id", "doc_id", "node_id", "id_", "document_id", "source_id", "uuid", "doc_key")
NAMED_AFTER = (
    *("source", "file_name", "filename", "file", "file_path", "document_name", "doc_name", "document_title", "title"),
    *("name", "uri", "url", "link", "path", "source_uri", "key", "doc", "document"),
)
TEXT_NAMES = ("content", "page_content", "text", "document", "page_content", "chunk", "passage", "body", "snippet")
CALLED_CITED = re.compile(r"cite|citation|annotation|grounding_?support|attribution|footnote", re.IGNORECASE)
_ONE_SOURCE = re.compile(rf"^(source|reference|evidence|quelle|beleg)$|{CALLED_CITED.pattern}", re.IGNORECASE)
_KIND = re.compile(r"^(\w*_)?(type|kind|event)$|^[a-z]+(Type|Kind|Event)$")
LIKE_A_NAME = re.compile(
    r"[^\s/]\S*\.[A-Za-z]\w{1,4}(#\S+)?|[a-z][a-z0-9+.-]*://\S+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_CODE = re.compile(r"[^\W\d_]{1,10}[-_:./]?\d{1,10}")  # M-03, whatever its field is called
_NO_ID = re.compile(
    r"type|score|lang|session|owner|user|collection|dataset|corpus|run|index|count|model|date|time|icon", re.IGNORECASE
)
_LIKE_A_KEY = re.compile(r".|(?=.*[\d./:]).{1,200}")
_LETTERS = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"  # Thai to Chinese: no blanks
_UNSPACED = re.compile(_LETTERS)
_PAIRS = re.compile(f"(?=({_LETTERS}{{2}}))")
KEY = "~"  # the column of names under which objects stand; none in a path
_DEPTH = 10  # levels that are looked into
_NODES = 20_000  # values that are looked at


class Listing(NamedTuple):
    """Lists at one path, put together, and their columns: relative path → one value an element, or None."""

    steps: tuple[Step, ...]
    elements: list[Any]
    columns: dict[tuple[Step, ...], list[Any]]
    text: tuple[Step, ...] | None

    @property
    def texts(self) -> list[str]:
        return (
            [value if isinstance(value, str) else "" for value in self.columns[self.text]]
            if self.text is not None
            else []
        )


def listings_of(record: Any) -> list[Listing]:
    """Every list in a record, those at one path together; of objects of several kinds also each kind by itself."""
    groups: dict[tuple[Step, ...], list[Any]] = {}
    keyed = set[tuple[Step, ...]]()
    for steps, value in walk(record):
        way = enumerate(steps)
        path = tuple(None if isinstance(step, int) else "*" if steps[:at] in keyed else step for at, step in way)
        if isinstance(value, Mapping) and steps and _is_keyed(value):
            keyed.add(steps)
            named = (({"": part} if isinstance(part, str) else part) | {KEY: name} for name, part in value.items())
            groups.setdefault((*path, "*"), []).extend(named)
        elif isinstance(value, Mapping) and value and steps and _ONE_SOURCE.search(str(steps[-1])):
            groups.setdefault(path, []).append(value)
        if not isinstance(value, list) or not value:
            continue
        groups.setdefault((*path, None), []).extend(value)
        kinds = {kind for one in value if (kind := kind_of(one))}
        for kind in sorted(kinds) if len(kinds) > 1 else ():
            groups.setdefault((*path, kind), []).extend(one for one in value if kind_of(one) == kind)
    return [listing for steps, elements in groups.items() if (listing := _listing(steps, elements)) is not None]


def _is_keyed(value: Mapping[str, Any]) -> bool:
    """Whether it is objects or texts under their ids, rather than the fields of one object."""
    parts = list(value.values())
    if not parts or not all(map(_LIKE_A_KEY.fullmatch, value)):
        return False
    return all(isinstance(one, Mapping) and one for one in parts) or all(isinstance(one, str) for one in parts)


def _listing(steps: tuple[Step, ...], elements: list[Any]) -> Listing | None:
    if all(isinstance(one, str) for one in elements):
        prose = sum(blanks(one.strip()) > 0 and len(one) > 15 for one in elements) * 2 > len(elements)
        return Listing(steps, elements, {(): elements}, () if prose else None)
    if all(type(one) is int for one in elements):
        return Listing(steps, elements, {(): elements}, None)
    pairs = all(isinstance(one, list) and len(one) == len(elements[0]) < 5 for one in elements)
    pairs = pairs and (len(elements) > 1 or any(isinstance(one, Mapping) for one in elements[0]))
    if not pairs and not all(isinstance(one, Mapping) for one in elements):
        return None
    found: dict[tuple[Step, ...], list[Any]] = {}
    for place, element in enumerate(elements):
        for inner, value in _columns(element):
            found.setdefault(inner, [None] * len(elements))[place] = value
    text = _text_column(found)
    return Listing(steps, elements, found, text) if text is not None or not pairs else None


def _columns(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    for name, given in value.items() if isinstance(value, Mapping) else enumerate(value):
        part = json_in_cell(given) if isinstance(given, str) else given
        if isinstance(part, list) and len(part) == 1 and isinstance(part[0], (str, Mapping)):
            name, part = (name, None), part[0]
        else:
            name = (name,)
        name = () if name == ("",) else name
        if isinstance(part, Mapping) and len(steps) < 4:
            yield from _columns(part, (*steps, *name))
        elif isinstance(part, (str, int)) or (
            isinstance(part, list) and part and all(type(one) is int for one in part)
        ):
            yield (*steps, *name), part


def _text_column(columns: Mapping[tuple[Step, ...], list[Any]]) -> tuple[Step, ...] | None:
    """The column of texts: prose, by name, then by length."""
    best, most = None, (0.0, 0.0)
    for column, values in columns.items():
        texts = [one for one in values if isinstance(one, str) and one.strip()]
        if len(texts) * 2 <= len(values) or (tier_of(column) in (0, 0.5, 1) and not any(" " in one for one in texts)):
            continue
        named = plainly(last_name(column)) in _TEXTS
        prose = sum(blanks(one) >= 2 for one in texts) * 2 > len(texts)
        if not prose and not (named and len(column) == 1 and tier_of(column) >= 3):
            continue
        rank = (2.0 if named else 0.0) + prose - 0.1 * len(column), sum(map(len, texts)) / len(texts)
        if rank > most:
            best, most = column, rank
    return best


def walk(
    value: Any, steps: tuple[Step, ...] = (), left: list[int] | None = None
) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every value with the way to it, also inside JSON that stands in a text."""
    left = left if left is not None else [_NODES]
    left[0] -= 1
    if left[0] < 0 or len(steps) > _DEPTH:
        return
    inner = json_in_cell(value) if isinstance(value, str) else value
    yield steps, inner
    if isinstance(inner, Mapping):
        for name, part in inner.items():
            if isinstance(name, str) and name and '"' not in name:
                yield from walk(part, (*steps, name), left)
    elif isinstance(inner, list):
        for place, part in enumerate(inner):
            yield from walk(part, (*steps, place), left)


def written(steps: Iterable[Step]) -> str:
    way = tuple(steps)
    if way[-1:] == (KEY,):
        return f"keys@{written(way[:-2])}"
    path = ""
    for step in way:
        if isinstance(step, OfKind):
            path += f"[{step.name}={step.value}]"
        elif isinstance(step, str):
            path += (f".{step}" if path else step) if is_simple(step) else f'["{step}"]'
        else:
            path += "[*]" if step is None else f"[{step}]"
    return path.removesuffix("[*]") if path.count("[*]") == 1 else path


def begins(steps: tuple[Step, ...], start: tuple[Step, ...]) -> bool:
    """Whether a way leads into a list, whichever of its elements."""
    pairs = zip(steps, start, strict=False)
    return len(steps) >= len(start) and all(
        isinstance(one, int) if other is None or isinstance(other, OfKind) else other in (one, "*")
        for one, other in pairs
    )


def last_name(steps: Iterable[Step]) -> str:
    return next((step for step in reversed(list(steps)) if isinstance(step, str) and step != "*"), "")


def plainly(name: str) -> str:
    """A name without case and joints: docId, doc_id and DocID are one."""
    return re.sub(r"[_-]", "", name).casefold()


def is_simple(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r'[^.\[\]"]+', name) is not None


def tier_of(column: tuple[Step, ...]) -> float:
    """How much a field is called like an id: 0 an own id, 1 another id, 2 the name of a source, 3 perhaps, 9 not."""
    plain = plainly(last_name(column))
    if not plain or plain in _IDS or plain == KEY:
        return 0 if len(column) < 2 else 0.5
    if plain in ("title", "name", "documenttitle"):
        return 2.2  # a file's name or an address says more
    if plain in _AFTER or (plain.startswith(("doc", "source", "file", "chunk")) and plain.endswith(("name", "title"))):
        return 2
    if _NO_ID.search(plain):
        return 9
    if plain.endswith(("id", "key", "identifier")):
        return 1
    return 3 if re.search(r"uri|url|source|file|title|name|doc|ref|link|page", plain) else 9


def id_columns(listing: Listing) -> Iterator[tuple[Step, ...]]:
    """Columns that may be ids, best first: own ids, then the names of sources, then anything that is distinct."""
    ranked = []
    for place, (column, values) in enumerate(listing.columns.items()):
        known = [
            one for one in values if isinstance(one, (str, int)) and not isinstance(one, bool) and str(one).strip()
        ]
        tier = tier_of(column)
        like_a_name = all(LIKE_A_NAME.fullmatch(str(one)) for one in known)
        code = tier == 9 and all(_CODE.fullmatch(str(one)) for one in known) and not _NO_ID.search(last_name(column))
        tier = 2 if tier == 2.2 and like_a_name else 2.7 if tier == 9 and like_a_name else 2.8 if code else tier
        if column == listing.text or not known or len(known) < len(values) or tier > 3:
            continue
        if any(isinstance(one, str) and (len(one) > 300 or blanks(one) > 8) for one in known):
            continue
        distinct = len(set(map(str, known)))
        number = all(str(one).isdigit() and int(one) <= len(known) for one in known if len(str(one)) < 5)
        if len(known) > 1 and distinct == 1 and (number or tier == 3):
            continue
        if number and all(len(str(one)) < 5 for one in known) and (tier or len(known) > 1):
            tier = 2.5  # a place in the list rather than an id
        elif (
            tier < 1
            and len(known) > 1
            and all(re.fullmatch(rf"\D{{0,2}}0*{rank}", str(one)) for rank, one in enumerate(known, 1))
        ):
            tier = 1.5  # r1, r2, r3: perhaps a place, where there is another id
        ranked.append((distinct < len(known), tier, len(column), place, column))
    yield from (one[-1] for one in sorted(ranked, key=lambda one: one[:4]))


def all_ids(listing: Listing) -> list[Any]:
    columns = [listing.columns[column] for column in id_columns(listing)]
    return [one for values in columns for one in values if isinstance(one, str) and not one.isdigit()]


def id_column(
    listing: Listing, names: Sequence[str], shared: tuple[Step, ...] | None = None
) -> tuple[Step, ...] | None:
    """The column of the ids: the one that has what the markers name, else the best of those that are distinct."""
    columns = list(id_columns(listing))
    for column in columns:
        if names and set(names) & {str(one) for one in listing.columns[column]}:
            return column
    return shared or (columns[0] if columns else None)


def blanks(text: str) -> int:
    """How many blanks a text has between its words, or would have in a script that writes them."""
    return text.count(" ") + len(_UNSPACED.findall(text)) // 4


def words_in(text: str, least: int) -> set[str]:
    """The words of a text; of a script without blanks, each two letters that follow each other."""
    return {*re.findall(rf"\w{{{least},}}", _UNSPACED.sub(" ", text)), *_PAIRS.findall(text)}


def kind_of(element: object) -> OfKind | None:
    """What an element of a list says that it is: `type`, `messageType`, `kind`."""
    for name, value in element.items() if isinstance(element, Mapping) else ():
        if _KIND.search(name) and isinstance(value, str) and re.fullmatch(r"[\w.-]+", value):
            return OfKind(name, value)
    return None


def ids_beside(listing: Listing, listings: list[Listing]) -> tuple[str, list[str]] | None:
    """Path and values of the ids that stand beside a list of texts, one for one."""
    for other in listings:
        same = _parent(other.steps) == _parent(listing.steps) and other is not listing
        if not same or len(other.elements) != len(listing.elements) or other.text == ():
            continue
        if (column := next(id_columns(other), None)) is not None:
            return written((*other.steps, *column)), [str(one) for one in other.columns[column]]
    return None


def _parent(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The way to a list without its own name."""
    place = max((place for place, step in enumerate(steps) if isinstance(step, str)), default=0)
    return *steps[:place], *steps[place + 1 :]


def speaks(listing: Listing) -> bool:
    """Whether it is a conversation rather than documents."""
    keys = ("role", "sender")
    return any(
        isinstance(one, Mapping) and any(isinstance(one.get(key), str) for key in keys) for one in listing.elements
    )


PLAIN_LISTS = {plainly(name) for name in LIST_NAMES}
_IDS = {plainly(name) for name in OWN_IDS}
_AFTER = {plainly(name) for name in NAMED_AFTER}
_TEXTS = {plainly(name) for name in TEXT_NAMES}
