"""Answers: what a reasoner gave, from its output object, from lines of a file, or from a mapping."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shipworthy.contracts import Input
from shipworthy.errors import DataError
from shipworthy.jsonl import Problem, Problems, Reader
from shipworthy.suites.reasoning.fixture import Fixture, parse_evidence
from shipworthy.suites.reasoning.verdict import Answer
from shipworthy.text import plural

AnswerSource = str | os.PathLike[str] | Mapping[str, Answer | Mapping[str, Any] | str]
SEEN = 400  # characters of what came instead of an answer
META = ("model", "provider", "memories_used", "facts_used", "tokens_in", "tokens_out", "duration")


class NoAnswer(Exception):
    """Why one case got no answer, and what was seen instead."""

    def __init__(self, why: str, seen: str = "") -> None:
        super().__init__(why)
        self.why, self.seen = why, seen[:SEEN]


def gather_answers(source: AnswerSource, fixture: Fixture) -> tuple[dict[str, Answer], Input, list[str]]:
    """The answers to the cases of a fixture, what was read, and remarks on lines that don't count."""
    read = Input(path="<answers>")
    known = {case.id for case in fixture.cases}
    answers: dict[str, Answer] = {}
    superseded = unknown = 0
    for id_, output in _outputs(source, read):
        read.records += 1
        if id_ not in known:
            unknown += 1
            continue
        superseded += id_ in answers
        answers[id_] = _answer(output)
    remarks = []
    if superseded:
        remarks.append(f"{plural(superseded, 'answer')} superseded by a later line for the same case")
    if unknown:
        remarks.append(f"{plural(unknown, 'answer')} with an id that no case has")
    return answers, read, remarks


def read_output(output: Any) -> Answer:
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
    return Answer(
        content=content,
        evidence=evidence,
        repaired=_is_set(output.get("repaired")),
        degraded=_is_set(output.get("degraded")),
        meta={name: _shown(output[name]) for name in META if name in output},
    )


def _outputs(source: AnswerSource, read: Input) -> Iterable[tuple[str, Any]]:
    return _lines(source, read) if isinstance(source, (str, os.PathLike)) else source.items()


def _lines(path: str | os.PathLike[str], read: Input) -> Iterator[tuple[str, Any]]:
    """The id and the object of each line; lines that can't be read are raised together at the end."""
    problems = Problems()
    read.path = os.fspath(path)
    reader = Reader(path, dict, problems)
    for line, row in reader:
        id_ = row.get("id")
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if isinstance(id_, str):
            yield id_, row
        else:
            problems.add(Problem(read.path, line, "the line has no id", "Add the id of its case.", "answer-id"))
    read.digest = reader.digest
    problems.raise_any()


def _answer(output: Any) -> Answer:
    if isinstance(output, Answer):
        return output
    try:
        return Answer(output) if isinstance(output, str) else read_output(output)
    except NoAnswer as problem:
        return Answer(error=problem.why, seen=problem.seen)


def _is_set(value: Any) -> bool:
    return bool(value) and value not in ("false", "no", "0")


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | int | None) else float(value) if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
