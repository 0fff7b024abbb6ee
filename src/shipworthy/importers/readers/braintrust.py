"""Braintrust: events of experiments and of logs, and the rows of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..spans import ExpectedAnswer, Item, Score, Span
from ..values import first, given, last_line, mapping, nanoseconds, number, objects, sequence, text_of

_LISTS = ("events", "data")  # of a page of the API
_SCORERS = ("score", "scorer")
_KINDS = {"llm": "llm", "tool": "tool", "eval": "chain", "task": "chain"}  # a function may be the retriever


def matches(record: Mapping[str, object]) -> bool:
    return _is_event(record) or _page(record) is not None


def _is_event(record: Mapping[str, object]) -> bool:
    traced = "root_span_id" in record and ("span_attributes" in record or "span_id" in record)
    return "input" in record and (traced or "_xact_id" in record)


def _page(record: Mapping[str, object]) -> list[object] | None:
    listed = first(record, _LISTS)
    first_one = listed[0] if isinstance(listed, list) and listed else None
    return listed if isinstance(first_one, Mapping) and _is_event(first_one) else None


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        for event in [record] if _is_event(record) else objects(_page(record)):
            yield _span(event, where)


def _span(event: Mapping[str, object], where: str) -> Span:
    told, spent = mapping(event.get("span_attributes")), mapping(event.get("metrics"))
    parents = [text_of(name) for name in sequence(event.get("span_parents"))]
    name = text_of(event.get("span_id")) or text_of(event.get("id"))
    root = not parents and text_of(event.get("root_span_id")) in ("", name)
    kind = text_of(told.get("type")).casefold()
    failed = event.get("error")
    metadata = mapping(event.get("metadata"))
    example = text_of(event.get("dataset_record_id")) or text_of(mapping(event.get("origin")).get("id"))
    dataset = ("dataset_id" in event and "span_id" not in event) or not ({"output", "error"} & set(event))
    expected = event.get("expected")
    return Span(
        "" if dataset else text_of(event.get("root_span_id")) or name,
        where,
        id=name,
        parent=next(iter(parents), ""),
        name=text_of(told.get("name")),
        kind="evaluator" if kind in _SCORERS or told.get("purpose") == "scorer" else _KINDS.get(kind, ""),
        root=root,
        start=nanoseconds(spent.get("start")) or nanoseconds(event.get("created")),
        end=nanoseconds(spent.get("end")),
        error=last_line(text_of(failed) or ("failed" if failed else "")),
        inputs=given(event.get("input")),
        outputs=given(event.get("output")),
        meta=metadata,
        names=[example] if example else [],
        scores=[
            Score(label, value)
            for label, part in mapping(event.get("scores")).items()
            if (value := number(part)) is not None
        ],
        expected=_expected(expected) if expected is not None else None,
        model=text_of(metadata.get("model")),
        tokens_in=number(spent.get("prompt_tokens")),
        tokens_out=number(spent.get("completion_tokens")),
        cost=number(spent.get("estimated_cost")),
        dataset=dataset,
    )


def _expected(value: object) -> ExpectedAnswer:
    """A text, or an object with the answer under one of the usual names."""
    named = first(mapping(value), ("answer", "expected", "output", "text")) if not isinstance(value, str) else value
    if text_of(named):
        return ExpectedAnswer(reference=text_of(named))
    return ExpectedAnswer(dropped=["expected value that is no text"])
