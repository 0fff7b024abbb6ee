"""LangSmith and LangChain: runs as they are listed, posted or collected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import Item, Score, Span
from ..values import first, last_line, mapping, nanoseconds, number, objects, text_of


def matches(record: Mapping[str, object]) -> bool:
    return "run_type" in record and ("inputs" in record or "outputs" in record or "trace_id" in record)


def matches_events(record: Mapping[str, object]) -> bool:
    return text_of(record.get("event")).startswith("on_") and "run_id" in record


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from _spans(record, where, "")


def _spans(run: Mapping[str, object], where: str, trace: str) -> Iterator[Span]:
    """A run, and those that it holds where they are nested."""
    span = _span(run, where, trace)
    yield span
    for child in objects(run.get("child_runs")):
        for below in _spans(child, where, span.trace):
            below.parent = below.parent or span.id
            yield below


def _span(run: Mapping[str, object], where: str, trace: str) -> Span:
    extra = mapping(run.get("extra"))
    outputs, inputs = run.get("outputs"), run.get("inputs")
    failed = text_of(run.get("error")) or ("failed" if run.get("status") == "error" else "")
    example = text_of(run.get("reference_example_id"))
    span = Span(
        trace=text_of(run.get("trace_id")) or trace or text_of(run.get("id")),
        where=where,
        id=text_of(run.get("id")),
        parent=text_of(run.get("parent_run_id")),
        name=text_of(run.get("name")),
        kind=kind_of(run.get("run_type")),
        start=nanoseconds(run.get("start_time")),
        end=nanoseconds(run.get("end_time")),
        error=last_line(failed),
        inputs=[inputs] if inputs else [],
        outputs=[outputs] if outputs else [],
        names=[example] if example else [],
        tokens_in=number(run.get("prompt_tokens")),
        tokens_out=number(run.get("completion_tokens")),
        cost=number(run.get("total_cost")),
        scores=list(_feedback(run)),
    )
    metadata = mapping(extra.get("metadata"))
    # Of the metadata only what the assembler asks for: it also holds environment variables of the machine.
    span.meta = {
        key: value for key, value in metadata.items() if not key.upper().startswith(("LANGSMITH_", "LANGCHAIN_"))
    }
    span.model = text_of(first(metadata, ("ls_model_name", "model_name")))
    return span


def _feedback(run: Mapping[str, object]) -> Iterator[Score]:
    for name, stats in mapping(run.get("feedback_stats")).items():
        value = number(stats.get("avg")) if isinstance(stats, Mapping) else None
        if value is not None:
            yield Score(name, value)
