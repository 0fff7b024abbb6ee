r"""Mapping: where the fields of a trace or a gold item are in another system's record.

claim=data.answer.text            a path: names and positions
retrieved_ids=sources[*].id       [*] is each element of a list
citations=re:\[(\w+)\]@answer     a pattern, searched in the text at a path

One mapping serves HTTP responses, trace files, gold files, retrieval logs and imported tables; `gold.qid=…` and
`trace.qid=…` are for one of the two. A path that is the name of a field as a whole is that field: `input.value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..text import visible
from .values import MapError, convert, json_in_cell

if TYPE_CHECKING:
    import regex

PATTERN_SECONDS = 1.0  # for one pattern on one text
REFUSED = "not in context"  # what a mapped refusal flag makes of the claim: the contract's refusal token
_STEP = re.compile(r'\.?([^.\[\]"]+)|\[(\*|\d+)\]|\["([^"]+)"\]')
_ABSENT = object()

# field → how its value is read
SHARED = {"qid": "text", "question": "text"}
TRACE = SHARED | {
    "claim": "text",
    "citations": "ids",
    "constraints_echo": "texts",
    "refused": "flag",
    "retrieved_ids": "ids",
    "evidence": "passages",
    "error": "text",
    "e2e_ms": "number",
    "latency_ms": "number",
    "latency_total_ms": "number",
    "cost_usd": "number",
    "confidence": "number",
    "score": "number",
    "temperature": "number",
    "load_rps": "number",
    "seed": "whole",
    "paraphrase": "whole",
    "stage_ms": "object",
    "tokens": "object",
    "knobs": "object",
    "answer_json": "object",
    "topk": "list",
    "delta_s": "list",
    "answer_citations": "list",
    "ok": "flag",
    "warmup": "flag",
    **dict.fromkeys(
        ("run_id", "sweep_id", "jitter", "arm", "ts", "reason", "lambda_state", "anchor", "index_hash", "reused_from"),
        "text",
    ),
}
GOLD = SHARED | {
    "answerable": "flag",
    "gold_claim_substr": "texts",
    "gold_claim": "text",
    "gold_citations": "ids",
    "forbidden": "texts",
    "match": "text",
    "tolerance": "text",
    "constraints": "texts",
    "paraphrases": "texts",
    "relevant": "ids",
    "negatives": "ids",
    "anchor_section": "text",
    "type": "text",
    "notes": "text",
    "history": "list",
}
KINDS = {"trace": TRACE, "gold": GOLD}
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
_ANSWER = ("claim", "citations", "constraints_echo")
MOVED = frozenset((*_ANSWER, "refused", "evidence"))


class JsonPath(NamedTuple):
    """A dotted path like `data.answer.text`, `docs[*].id`, `choices[0]["a.b"]`."""

    written: str
    steps: tuple[str | int | None, ...]  # None is [*]

    @classmethod
    def parse(cls, written: str, where: str = "--map") -> JsonPath:
        steps: list[str | int | None] = []
        position = 0
        while match := _STEP.match(written, position):
            name, index, quoted = match.groups()
            steps.append(name or quoted or (None if index == "*" else int(index)))
            position = match.end()
        if position != len(written) or not steps or written.startswith("."):
            raise UsageError(
                f"{visible(written, 80)!r} is not a path",
                where=where,
                hint="Write it like data.answer.text or docs[*].id.",
                code="map-path",
            )
        return cls(written, tuple(steps))

    def of(self, value: object, decode: Decode = str) -> object:
        """The value at the path, or None; `decode` opens a text that the path leads into."""
        if isinstance(value, dict) and self.written in value:
            return value[self.written]
        inner = _follow(value, self.steps, decode)
        return None if inner is _ABSENT else inner


class Source(NamedTuple):
    """Where one field comes from: a path, or a pattern searched in the text at a path."""

    path: JsonPath
    pattern: regex.Pattern[str] | None = None
    written: str = ""

    @classmethod
    def parse(cls, written: str, where: str = "--map") -> Source:
        if not written.startswith("re:"):
            return cls(JsonPath.parse(written, where), None, written)
        pattern, at, path = written[3:].rpartition("@")
        if not at or not pattern:
            raise UsageError(
                f"{visible(written, 80)!r} does not say where to search",
                where=where,
                hint=r"Write re:PATTERN@PATH, such as re:\[(\w+)\]@answer.",
                code="map-path",
            )
        return cls(JsonPath.parse(path, where), _compiled(pattern, where), written)

    def of(self, record: object, kind: str, decode: Decode = str) -> object:
        value = self.path.of(record, decode)
        if self.pattern is None or value is None:
            return value
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
            value = source.of(record, fields[field], json_in_cell if cells else str)
            if value is not None:
                converted = convert(value, fields[field], field, cells)
                if converted is not None:
                    found[field] = converted
        return self.cited(found) if self.kind == "trace" else found

    def trace(self, record: Any) -> dict[str, Any]:
        """The fields of a trace that the mapping picks out of a record, in the contract's shape."""
        return nested(self.picked(record))

    def row(self, record: Mapping[str, object], cells: bool = False, found: Callable[[str], object] = str) -> object:
        """A record of a file in the contract's shape: its own fields, and over them the mapped ones."""
        own = {name: value for name, value in record.items() if value is not None}
        if cells:
            fields = KINDS[self.kind]
            read = ((name, convert(text, fields.get(name, "text"), name, True)) for name, text in own.items())
            own = {name: value for name, value in read if value is not None}  # a blank cell is nothing
        mapped = self.picked(record, cells)
        for field, value in mapped.items():
            if value != []:
                found(field)
            for other in _SAME.get(field, ()):
                own.pop(other, None)
        whole = own | mapped
        return nested(whole) if self.kind == "trace" else whole

    def cited(self, found: dict[str, Any]) -> dict[str, Any]:
        """Citations as ids: a number is a rank in what was retrieved. Inline markers are taken out of the claim."""
        source = self.sources.get("citations")
        if source is not None and "citations" in found:
            found["citations"] = _resolved(found["citations"], found.get("retrieved_ids", []))
        claim = self.sources.get("claim")
        if source and source.pattern and claim and not claim.pattern and claim.path.steps == source.path.steps:
            if isinstance(found.get("claim"), str):
                found["claim"] = without_markers(found["claim"], source.pattern)
            found.setdefault("citations", [])
        return found


def in_shape(record: Mapping[str, object]) -> bool:
    """Whether a trace has nothing that `nested` would move, and no null that stands for an absent field."""
    return MOVED.isdisjoint(record) and None not in record.values()


def nested(fields: Mapping[str, object]) -> dict[str, object]:
    """Flat fields as a trace has them: claim and citations within answer_json, passages with their ids."""
    trace = {name: value for name, value in fields.items() if name not in (*_ANSWER, "refused")}
    answer = {name: fields[name] for name in _ANSWER if name in fields}
    if fields.get("refused") is True:
        answer |= {"claim": REFUSED, "citations": []}
    if answer:
        own = trace.get("answer_json")
        trace["answer_json"] = (own if isinstance(own, dict) else {}) | answer
    evidence = trace.get("evidence")
    if isinstance(evidence, list) and any(isinstance(one, str) for one in evidence):
        ids = trace.get("retrieved_ids")
        names = ids if isinstance(ids, list) and len(ids) == len(evidence) else range(1, len(evidence) + 1)
        trace["evidence"] = [{"id": str(name), "text": text} for name, text in zip(names, evidence, strict=True)]
    return trace


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


def _resolved(cited: list[object], retrieved: list[object]) -> list[object]:
    known = {name for name in retrieved if isinstance(name, str)}
    ids: list[object] = []
    for name in cited:
        parts = [name] if not isinstance(name, str) or name in known else re.split(r"\s*[,;]\s*", name.strip())
        for part in filter(None, parts):
            number = int(part) if isinstance(part, str) and part.isascii() and part.isdigit() and len(part) < 5 else 0
            ids.append(retrieved[number - 1] if part not in known and 0 < number <= len(retrieved) else part)
    return list(dict.fromkeys(ids))


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


def _follow(value: Any, steps: tuple[str | int | None, ...], decode: Decode) -> Any:
    for number, step in enumerate(steps):
        if isinstance(value, str):
            value = decode(value)
        if step is None:
            if not isinstance(value, list):
                return _ABSENT
            inner = [_follow(item, steps[number + 1 :], decode) for item in value]
            return [item for item in inner if item is not _ABSENT and item is not None]
        if isinstance(value, str):
            return _ABSENT
        try:
            value = value[step]  # a name on a list and a number on an object both lead nowhere
        except (IndexError, KeyError, TypeError):
            return _ABSENT
    return value
