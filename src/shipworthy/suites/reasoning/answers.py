"""Answers: what a reasoner gave, from its output object, from lines of a file, or from a mapping."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ...core.decision import number
from ...core.sources import Input, Stream
from ...errors import DataError
from ...reading.jsonl import Problem, Reader
from .fixture import parse_evidence
from .verdict import ReasonerAnswer

AnswerSource = str | os.PathLike[str] | Mapping[str, ReasonerAnswer | Mapping[str, object] | str]
SEEN = 400  # characters of what came instead of an answer
META = ("model", "provider", "memories_used", "facts_used", "tokens_in", "tokens_out", "duration")


class NoAnswer(Exception):
    """Why one case got no answer, and what was seen instead."""

    def __init__(self, why: str, seen: str = "") -> None:
        super().__init__(why)
        self.why, self.seen = why, seen[:SEEN]


class CaseAnswer(NamedTuple):
    """An answer and the case that it is for."""

    case_id: str
    answer: ReasonerAnswer


def stream_answers(source: AnswerSource, read: Input) -> Stream:
    """Answers with their places; lines that can't be read are raised together at the end."""
    return Stream(source, read, _records, _close)


def _close(source: AnswerSource, read: Input) -> None:
    read.found.raise_any()


def _records(source: AnswerSource, read: Input) -> Iterator[tuple[int, CaseAnswer]]:
    if isinstance(source, (str, os.PathLike)):
        numbered = _lines(source, read)
    else:
        read.path = "<answers>"
        numbered = ((place, id_, output) for place, (id_, output) in enumerate(source.items(), 1))
    for place, id_, output in numbered:
        read.records += 1
        yield place, CaseAnswer(id_, _answer(output))


def read_output(output: object) -> ReasonerAnswer:
    """The answer in a reasoner's output object."""
    seen = json.dumps(output, ensure_ascii=False, default=str)[:SEEN]
    if not isinstance(output, Mapping):
        raise NoAnswer("the output is JSON but not an object", seen)
    key = "content" if output.get("content") is not None or "answer" not in output else "answer"
    content = output.get(key)
    if not isinstance(content, str):
        what = "missing" if key not in output else "null" if content is None else "not text"
        raise NoAnswer(f"{key} is {what}", seen)
    try:
        evidence = None if output.get("evidence") is None else parse_evidence(output["evidence"], "evidence")
    except DataError as problem:
        raise NoAnswer(f"the evidence can't be read: {problem.what}", seen) from problem
    return ReasonerAnswer(
        content=content,
        evidence=evidence,
        repaired=_is_set(output.get("repaired")),
        degraded=_is_set(output.get("degraded")),
        meta={name: _shown(output[name]) for name in META if name in output},
    )


def answer_row(case_id: str, answer: ReasonerAnswer) -> dict[str, object]:
    """An answer as a line of a file, from which it is read back as it is; a failed case says why."""
    if answer.error is not None:
        return {"id": case_id, "error": answer.error, "seen": answer.seen}
    marks = {name: True for name in ("repaired", "degraded") if getattr(answer, name)}
    evidence = {} if answer.evidence is None else {"evidence": msgspec.to_builtins(answer.evidence, enc_hook=number)}
    return {"id": case_id, "content": answer.content, **evidence, **marks, **answer.meta}


def _lines(path: str | os.PathLike[str], read: Input) -> Iterator[tuple[int, str, object]]:
    """The number, the id and the object of each line."""
    read.path = os.fspath(path)
    reader = Reader(path, dict, read.found)
    for line, row in reader:
        id_ = row.get("id")
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if isinstance(id_, str):
            yield line, id_, row
        else:
            read.found.add(Problem(read.path, line, "the line has no id", "Add the id of its case.", "answer-id"))
    read.learn(reader)


def _answer(output: object) -> ReasonerAnswer:
    if isinstance(output, ReasonerAnswer):
        return output
    if isinstance(output, Mapping) and isinstance(output.get("error"), str) and "content" not in output:
        return ReasonerAnswer(error=output["error"], seen=str(output.get("seen", ""))[:SEEN])
    try:
        return ReasonerAnswer(output) if isinstance(output, str) else read_output(output)
    except NoAnswer as problem:
        return ReasonerAnswer(error=problem.why, seen=problem.seen)


def _is_set(value: object) -> bool:
    return bool(value) and value not in ("false", "no", "0")


def _shown(value: Any) -> str | int | float | None:
    return value if isinstance(value, str | int | None) else float(value) if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
