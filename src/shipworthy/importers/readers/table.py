"""Tables: any file of records, with the fields named by --map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import DataError, UsageError
from ...text import first_few, visible
from ..cells import cell, refuse_formula, texts_in
from ..container import Records
from ..spans import Expected, Item, Span
from ..values import loosened, number, text_of

# our field → the column names that mean it without being told
FIELDS = {
    "qid": ("qid", "q_id", "question_id"),
    "q": ("q", "question", "query", "user_input"),
    "claim": ("claim", "answer", "response"),
    "citations": ("citations", "cited_ids"),
    "retrieved_ids": ("retrieved_ids",),
    "texts": ("contexts", "texts"),
    "error": ("error",),
    "e2e_ms": ("e2e_ms", "latency_ms"),
    "arm": ("arm",),
    "reference": ("reference", "expected_answer", "ground_truth"),
}


def parse_map(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--map claim=answer` as a mapping from our fields to paths."""
    mapped: dict[str, str] = {}
    for pair in pairs:
        field, equals, path = pair.partition("=")
        if not equals or field not in FIELDS or not path:
            raise UsageError(
                f"{visible(pair, 60)!r} names no field",
                where="--map",
                hint=f"Write FIELD=COLUMN with a field of: {', '.join(FIELDS)}.",
                code="import-map",
            )
        mapped[field] = path
    return mapped


def read(records: Records, mapped: Mapping[str, str], separator: str = ";") -> Iterator[Item]:
    for index, (line, record) in enumerate(records):
        where = f"{records.path}:{line}"
        if not index:
            _check_columns(record, mapped, where)
        yield _span(record, where, mapped, separator)


def _check_columns(record: Mapping[str, object], mapped: Mapping[str, str], where: str) -> None:
    """A column that the first record does not have is probably a slip; null values vanish later, not here."""
    for path in mapped.values():
        if path not in record and path.split(".")[0].partition("[")[0] not in record:
            raise DataError(
                f"there is no column {visible(path, 60)!r}; there are {visible(first_few(list(record)), 200)}",
                where=visible(where),
                hint="Check --map.",
                code="import-map",
            )


def _span(record: Mapping[str, object], where: str, mapped: Mapping[str, str], separator: str) -> Span:
    def value(field: str) -> object:
        if field in mapped:
            return at(record, mapped[field])
        return next((record[name] for name in FIELDS[field] if record.get(name) is not None), None)

    def texts(field: str) -> list[str]:
        return texts_in(value(field), where, separator)

    asked, answer = value("q"), value("claim")
    for part in (asked, answer):
        refuse_formula(text_of(part), where)
    span = Span("", where, qid=text_of(value("qid")), inputs=[asked] if asked is not None else [])
    if answer is not None:
        span.outputs = [answer if value("citations") is None else {"claim": answer, "citations": texts("citations")}]
    ids, contents = texts("retrieved_ids"), texts_in(value("texts"), where)
    if ids:
        paired = contents if len(contents) == len(ids) else [""] * len(ids)
        span.documents = [{"id": name, "text": text} for name, text in zip(ids, paired, strict=True)]
    else:
        span.documents = list(contents) or None
    span.error = text_of(value("error"))
    span.e2e_ms = number(value("e2e_ms"))
    span.arm = text_of(value("arm"))
    span.dataset = answer is None and "claim" not in mapped and not ids and not contents and not span.error
    span.expected = Expected(reference=text_of(value("reference")))
    return span


def at(record: object, path: str) -> object:
    """The value at a dotted path; `[*]` takes every element of a list, `[0]` one of them."""
    if isinstance(record, Mapping) and path in record:
        return record[path]
    head, _, rest = path.partition(".")
    name, bracket, index = head.partition("[")
    value = loosened(record.get(name)) if isinstance(record, Mapping) and name else record
    value = cell(value, path) if bracket else value
    if bracket and isinstance(value, list):
        index = index.rstrip("]")
        if index == "*":
            return [at(part, rest) if rest else part for part in value]
        value = value[int(index)] if index.isdigit() and int(index) < len(value) else None
    return at(value, rest) if rest else value
