"""Outputs that pipelines give back and people log as they are: Haystack, LlamaIndex, LangChain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..spans import Item, Span
from ..values import last_line, text_of

_PARTS = ("documents", "replies", "answers")


def matches_haystack(record: Mapping[str, object]) -> bool:
    """`Pipeline.run` gives one object a component."""
    parts = [part for part in record.values() if isinstance(part, Mapping)]
    return any(isinstance(part.get(key), list) for part in parts for key in _PARTS)


def matches_llamaindex(record: Mapping[str, object]) -> bool:
    return "response" in record and isinstance(record.get("source_nodes"), list)


def matches_langchain(record: Mapping[str, object]) -> bool:
    """What retrieval chains give back: `answer` with `context`, or `result` with `source_documents`."""
    chain = "answer" in record and isinstance(record.get("context"), list)
    return (chain and ("question" in record or "input" in record)) or (
        "result" in record and isinstance(record.get("source_documents"), list)
    )


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        failure = record.get("error")
        given = {key: value for key, value in record.items() if isinstance(value, str) and key != "error"}
        asked = {key: given[key] for key in ("question", "query", "q", "user_input", "input", "prompt") if key in given}
        answered = {key: value for key, value in record.items() if key not in {*asked, "error", "qid", "id"}}
        yield Span(
            "",
            where,
            inputs=[asked] if asked else [],
            outputs=[answered] if answered else [],
            meta={"qid": record.get("qid"), "seed": record.get("seed")},
            names=[name for name in [text_of(record.get("id"))] if name],
            error=last_line(text_of(failure)) if failure else "",
        )
