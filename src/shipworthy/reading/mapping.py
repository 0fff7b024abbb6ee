r"""Mapping: where the fields of a trace or a gold item are in another system's record.

claim=data.answer.text            a path: names and positions
retrieved_ids=sources[*].id       [*] is each element of a list
messages[-1].content              the last element; parts[type=text].text: those of a kind, [type=text][-1] the last
claim=parts[0].cited||parts[0].text   the first of these paths that leads to something
citations=markers@answer          the markers in the text at a path, such as [1] or 【2†source】
citations=re:\[(\w+)\]@answer     a pattern, searched in the text at a path
claim=bare@answer                 the text without its markers
retrieved_ids=digest@docs[*].text digests of texts that have no ids
passages.*.text, keys@passages    objects under their ids: each of them, and the ids
docs[used=true].id                those that have a flag
refused=empty@answer              true where nothing is in the field, or in what it is a field of
refused=not@answered              true where a flag is false
citations=from0:cited[*].index    numbers that count from 0
citations=markers@a by docs[*].n  numbers or names that the documents have beside their ids

One mapping serves HTTP responses, trace files, gold files, retrieval logs and imported tables; `gold.qid=…` and
`trace.qid=…` are for one of the two. A path that is the name of a field as a whole is that field: `input.value`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..text import fold, visible
from .markers import read_markers, resolved, without_markup
from .values import GOLD, KINDS, OWN_CELLS, TRACE, MapError, convert, flat, json_in_cell, named, nested, without_nulls

if TYPE_CHECKING:
    import regex

PATTERN_SECONDS = 1.0  # for one pattern on one text
_STEP = re.compile(r'\.?([^.\[\]"]+)|\[(\*|-?\d+)\]|\["([^"]+)"\]|\[([\w.-]+)=([^\[\]"]*)\]')
_READ = ("markers@", "bare@", "digest@", "empty@", "keys@", "not@")  # how the text at a path is read
_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_SENTINEL = re.compile(r"<\|\w{1,40}\|>")  # as models and some streams part what they send
_ABSENT = object()
_NOTHING: tuple[object, ...] = (None, "", [])

ALIASES = {
    "q": "question",
    "answer": "claim",
    "latency": "e2e_ms",
    "cost": "cost_usd",
    "refusal": "refused",
    "texts": "evidence",
    "reference": "gold_claim",
}
Decode = Callable[[str], Any]  # the list or object that a text holds, or the text itself
# Names of one thing: where a field is mapped, a record's own other names for it no longer count.
_SAME = {"qid": ("q_id", "id"), "question": ("q", "query"), "e2e_ms": ("latency_ms", "latency_total_ms")}


class OfKind(NamedTuple):
    """[name=value]: the elements of a list whose field has that value."""

    name: str
    value: str

    def fits(self, element: object) -> bool:
        value = element.get(self.name) if isinstance(element, dict) else None
        return value == self.value or (isinstance(value, bool) and str(value).lower() == self.value)


Step = str | int | OfKind | None  # None is [*]


class JsonPath(NamedTuple):
    """A dotted path like `data.answer.text`, `docs[*].id`, `choices[0]["a.b"]`; of `a||b` the first that is there."""

    written: str
    steps: tuple[Step, ...]
    otherwise: JsonPath | None = None

    @classmethod
    def parse(cls, written: str, where: str = "--map") -> JsonPath:
        written, either, rest = written.partition("||")
        otherwise = cls.parse(rest.strip(), where) if either else None
        written = written.strip() if either else written
        steps: list[Step] = []
        position = 0
        while match := _STEP.match(written, position):
            name, index, quoted, field, value = match.groups()
            kind = OfKind(field, value) if field else None
            steps.append(name or quoted or (kind if index in (None, "*") else int(index)))
            position = match.end()
        if position != len(written) or not steps or written.startswith("."):
            raise UsageError(
                f"{visible(written, 80)!r} is not a path",
                where=where,
                hint="Write it like data.answer.text or docs[*].id.",
                code="map-path",
            )
        return cls(written, tuple(steps), otherwise)

    def of(self, value: object, decode: Decode = str) -> object:
        """The value at the path, or None; `decode` opens a text that the path leads into."""
        inner = self._inner(value, decode)
        if self.otherwise is not None and (inner is _ABSENT or inner in _NOTHING):
            return self.otherwise.of(value, decode)
        return None if inner is _ABSENT else inner

    def is_empty(self, value: object, decode: Decode = str) -> bool:
        """Whether nothing is in the field, or in what it is a field of."""
        ways = (self.steps[:number] for number in range(1, len(self.steps) + 1))
        return any(_follow(value, way, decode) in (*_NOTHING, {}) for way in ways)

    def _inner(self, value: object, decode: Decode) -> object:
        if isinstance(value, dict) and self.written in value:
            return value[self.written]
        return _follow(value, self.steps, decode)


class Source(NamedTuple):
    """Where one field comes from: a path, or a pattern searched in the text at a path."""

    path: JsonPath
    pattern: regex.Pattern[str] | None = None
    written: str = ""
    how: str = ""  # one of `_READ`
    start: int = 1  # what a number counts from
    by: Source | None = None  # where documents have the names by which they are cited

    @classmethod
    def parse(cls, written: str, where: str = "--map") -> Source:
        whole, by, labels = written.partition(" by ") if not written.startswith("re:") else (written, "", "")
        if by:
            return cls.parse(whole, where)._replace(by=cls.parse(labels.strip(), where), written=written)
        rest = written.removeprefix("from0:")
        start = 0 if rest != written else 1
        if how := next((how for how in _READ if rest.startswith(how)), ""):
            return cls(JsonPath.parse(rest.removeprefix(how), where), None, written, how, start)
        if not rest.startswith("re:"):
            return cls(JsonPath.parse(rest, where), None, written, "", start)
        pattern, at, path = rest[3:].rpartition("@")
        if not at or not pattern:
            raise UsageError(
                f"{visible(written, 80)!r} does not say where to search",
                where=where,
                hint=r"Write re:PATTERN@PATH, such as re:\[(\w+)\]@answer.",
                code="map-path",
            )
        return cls(JsonPath.parse(path, where), _compiled(pattern, where), written, "", start)

    def of(self, record: object, kind: str, decode: Decode = str) -> object:
        if self.how == "empty@":
            return self.path.is_empty(record, decode)
        value = self.path.of(record, decode)
        if self.how == "not@":
            return value is False
        if self.how == "keys@" and value is not None:
            return [name for part in flat(value) if isinstance(part, dict) for name in part]
        if self.how == "digest@" and value is not None:
            return [digest(text) for text in flat(value) if isinstance(text, str)]
        if self.how == "markers@" and value is not None:
            return [answer_text(value)]  # for `cited`, which knows what was retrieved
        if self.pattern is None:
            return value
        if value is None:
            return False if kind == "flag" else None  # nothing is there that could match
        parts = value if isinstance(value, list) else [value]
        return _matched([part for part in parts if isinstance(part, str)], self.pattern, kind, self.written)


class FieldMap:
    """The mapping of one kind of record. Empty: records are taken as they are."""

    def __init__(self, sources: Mapping[str, Source], kind: str = "trace") -> None:
        self.sources, self.kind = dict(sources), kind

    @classmethod
    def parse(cls, given: Iterable[str] | Mapping[str, str], kind: str = "trace", where: str = "--map") -> FieldMap:
        """`claim=answer`, … as sources; fields of the other kind are checked and left out."""
        sources: dict[str, Source] = {}
        for name, written in _pairs(given, where):
            only, dot, inner = name.partition(".")
            field = ALIASES.get(inner if dot else name, inner if dot else name)
            kinds = (only,) if dot else tuple(each for each in KINDS if field in KINDS[each])
            if (dot and only not in KINDS) or not any(field in KINDS.get(each, ()) for each in kinds):
                raise _unknown_field(name, where)
            source = Source.parse(written, where)
            if kind in kinds:
                sources[field] = source
        return cls(sources, kind)

    def __bool__(self) -> bool:
        return bool(self.sources)

    def picked(self, record: object, cells: bool = False) -> dict[str, object]:
        """The mapped fields that the record has, flat. `cells`: values are texts of a table."""
        fields = KINDS[self.kind]
        found: dict[str, object] = {}
        for field, source in self.sources.items():
            value = source.of(record, fields[field], json_in_cell)
            if field == "claim" and not cells:
                value = answer_text(value)
            if value is not None:
                converted = convert(value, fields[field], field, cells)
                if converted is not None:
                    found[field] = converted
        by = self.sources["citations"].by if self.kind == "trace" and "citations" in self.sources else None
        labels = by.of(record, "ids", json_in_cell) if by else None
        return self.cited(found, [str(one) for one in flat(labels or [])]) if self.kind == "trace" else found

    def trace(self, record: Any) -> dict[str, Any]:
        """The fields of a trace that the mapping picks out of a record, in the contract's shape."""
        picked = self.picked(record)
        return nested(picked, picked)

    def row(self, record: Mapping[str, object], cells: bool = False, found: Callable[[str], object] = str) -> object:
        """A record of a file in the contract's shape: its own fields, and over them the mapped ones.

        A run that our own runner wrote is in shape already, and not mapped.
        """
        own = without_nulls(dict(record))
        mapped = {} if own.get("sweep_id") else self.picked(record, cells)
        if cells:
            fields = OWN_CELLS[self.kind]
            read = ((name, convert(text, fields.get(name, "text"), name, True)) for name, text in own.items())
            own = {name: value for name, value in read if value is not None}  # a blank cell is nothing
        for field, value in mapped.items():
            if value != [] and not (value is False and self.sources[field].path.of(record) is None):
                found(field)
            for other in _SAME.get(field, ()):
                own.pop(other, None)
        whole = without_nulls(own | mapped)
        return nested(named(whole), mapped) if self.kind == "trace" else whole

    def cited(self, found: dict[str, Any], labels: Sequence[str] = ()) -> dict[str, Any]:
        """Citations as ids: a number is a rank in what was retrieved. Inline markers are taken out of the claim."""
        source, claim = self.sources.get("citations"), self.sources.get("claim")
        retrieved = found.get("retrieved_ids", [])
        known = [*retrieved, *labels]
        text = found.get("claim")
        if source is not None and "citations" in found:
            cited = found["citations"]
            if source.how == "markers@":
                cited = [name for one in cited for name in read_markers(one, known).names]
            named = dict(zip(labels, retrieved, strict=False))
            cited = [named.get(str(name), name) for name in cited]
            found["citations"] = resolved(cited, retrieved, source.start, source.how == "markers@")
        if claim is None or not isinstance(text, str):
            return found
        here = source is not None and not claim.pattern and claim.path.steps == source.path.steps
        if claim.how == "bare@" or (here and source and source.how == "markers@"):
            found["claim"] = read_markers(text, [*known, *found.get("citations", [])]).text
        elif here and source and source.pattern:
            found["claim"] = without_markers(text, source.pattern)
        if here:
            found.setdefault("citations", [])
        return found


def answer_text(value: object) -> object:
    """An answer as one text: parts put together, and without the thoughts that a model wrote before it."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in flat(value)):
        value = _put_together([str(part) for part in flat(value)])
    if not isinstance(value, str):
        return value
    value = without_markup(_THOUGHT.sub("", value)) if "</" in value else value
    return _SENTINEL.sub("", value) if "<|" in value else value


def _put_together(parts: list[str]) -> str:
    """Pieces of one sentence in a row, whole sentences on lines of their own."""
    whole = ""
    for part in filter(None, parts):
        seam = (
            whole[-1:].isspace() or part[:1].isspace() or not part[:1].isalnum() or not re.search(r"[.!?:]\W?$", whole)
        )
        whole += part if seam or not whole else f"\n{part}"
    return whole


def digest(text: str) -> str:
    """An id for a text that has none."""
    return "sha256:" + hashlib.sha256(fold(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def without_markers(text: str, pattern: regex.Pattern[str]) -> str:
    """A text without its citation markers, and without the blanks that they leave behind."""
    try:
        bare = pattern.sub("", text, timeout=PATTERN_SECONDS)
    except TimeoutError:
        raise _too_slow(pattern.pattern) from None
    if bare == text:
        return text
    bare = re.sub(r"[ \t]+([.,;:!?])", r"\1", bare)
    return re.sub(r"[ \t]{2,}", " ", bare).strip()


def _matched(texts: list[str], pattern: regex.Pattern[str], kind: str, written: str) -> object:
    try:
        matches = [match for text in texts for match in pattern.finditer(text, timeout=PATTERN_SECONDS)]
    except TimeoutError:
        raise _too_slow(written) from None
    if kind == "flag":
        return bool(matches)
    found = [value.strip() for match in matches if (value := match[1] if pattern.groups else match[0])]
    if kind in ("ids", "texts", "list", "passages"):
        return found
    return found[0] if found else None


def _too_slow(written: str) -> MapError:
    return MapError(f"the pattern {visible(written, 80)} took longer than {PATTERN_SECONDS:g} s on one text")


def _compiled(pattern: str, where: str) -> regex.Pattern[str]:
    import regex  # only where somebody maps by pattern

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise UsageError(
            f"the pattern {visible(pattern, 80)!r} does not compile: {visible(str(error), 100)}",
            where=where,
            hint="Check the brackets; a literal [ is written \\[.",
            code="map-pattern",
        ) from None


def _pairs(given: Iterable[str] | Mapping[str, str], where: str) -> Iterable[tuple[str, str]]:
    if isinstance(given, Mapping):
        yield from given.items()
        return
    for text in given:
        name, equals, written = text.partition("=")
        if not equals or not name.strip() or not written.strip():
            raise UsageError(
                f"{visible(text, 80)!r} is not FIELD=PATH", where=where, hint="Write claim=answer.", code="map-path"
            )
        yield name.strip(), written.strip()


def _unknown_field(name: str, where: str) -> UsageError:
    from difflib import get_close_matches

    names = [*TRACE, *GOLD, *ALIASES]
    near = get_close_matches(name.rpartition(".")[2], names, 1, 0.6)
    common = "claim, citations, retrieved_ids, evidence, refused, qid, question, gold_claim_substr, gold_citations"
    hint = f"Did you mean {near[0]}?" if near else f"Fields are, among others: {common}."
    return UsageError(f"there is no field {visible(name, 60)!r} to map", where=where, hint=hint, code="map-field")


def _follow(value: Any, steps: tuple[Step, ...], decode: Decode) -> Any:
    for number, step in enumerate(steps):
        if isinstance(value, str):
            value = decode(value)
        if isinstance(value, dict) and step == "*" and "*" not in value:
            step, value = None, list(value.values())
        if step is None or isinstance(step, OfKind):
            if not isinstance(value, list):
                return _ABSENT
            if step is not None:
                value = [one for one in value if step.fits(one)]
                if isinstance(next(iter(steps[number + 1 :]), None), int):
                    continue  # which of them
            inner = [_follow(item, steps[number + 1 :], decode) for item in value]
            return [item for item in inner if item is not _ABSENT and item is not None]
        if isinstance(value, str):
            return _ABSENT
        try:
            value = value[step]  # a name on a list and a number on an object both lead nowhere
        except (IndexError, KeyError, TypeError):
            return _ABSENT
    return value
