"""Spans: what every reader gives, whatever tool wrote the file. All rules about them are in the assembler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

Scored = float | bool | str


class Score(msgspec.Struct, frozen=True):
    """What a judge, a person or a script said about a run."""

    name: str
    value: Scored
    kind: str = ""  # HUMAN, LLM, CODE, as far as the source says so


class ExpectedAnswer(msgspec.Struct):
    """What a source says about the right answer: material for a gold draft, never used for scoring here."""

    substrings: list[str] = []
    citations: list[str] = []
    reference: str = ""
    match: str = ""  # all, regex; else any of the texts is enough
    forbidden: list[str] = []
    answerable: bool | None = None  # only where the source says so
    notes: list[str] = []
    dropped: list[str] = []  # what it says beside that, which gold can't say


class Joined(msgspec.Struct, frozen=True):
    """Documents that a tool wrote as one text, with a separator that may also be part of a document."""

    text: str
    separator: str
    whole: bool = False  # where it can't be split, it is one document


class Span(msgspec.Struct):
    """One step of one run; a row of a table is a run with a single step."""

    trace: str  # groups the steps of a run; empty for a row, which is a run of its own
    where: str
    id: str = ""
    parent: str = ""
    name: str = ""
    kind: str = ""  # retriever, reranker, llm, embedding, tool, evaluator, chain; empty where nobody says
    root: bool = False
    start: int | None = None  # nanoseconds since 1970
    end: int | None = None
    error: str = ""
    inputs: list[Any] = []  # what went in, the best source first; undecoded
    outputs: list[Any] = []
    documents: list[Any] | Joined | None = None
    query: str = ""
    qid: str = ""  # said by the source to be the question's id
    names: list[str] = []  # counts as a qid only where the gold set has it
    meta: dict[str, Any] = {}
    scores: list[Score] = []
    expected: ExpectedAnswer | None = None
    arm: str = ""
    model: str = ""
    seed: int | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    cost: float | None = None
    e2e_ms: float | None = None
    dataset: bool = False  # a question that no pipeline has answered yet
    ranked_only: bool = False  # a ranking without answers, as in TREC runs


class Late(msgspec.Struct):
    """Something about a span that stands elsewhere: a score, or the content that a log record carries."""

    trace: str
    where: str
    span: str = ""
    scores: list[Score] = []
    inputs: list[Any] = []
    outputs: list[Any] = []
    kind: str = ""
    time: int | None = None


class Text(msgspec.Struct, frozen=True):
    """A document of a corpus."""

    id: str
    text: str


class Query(msgspec.Struct, frozen=True):
    """A query of a retrieval set."""

    qid: str
    text: str


class RelevantDocument(msgspec.Struct, frozen=True):
    """A document that is relevant to a query."""

    qid: str
    id: str
    grade: float


Item = Span | Late | Text | Query | RelevantDocument


def paired(ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
    """Documents from their ids, with the texts where there are as many."""
    if len(ids) != len(texts):
        return [{"id": name} for name in ids]
    return [{"id": name, "text": text} for name, text in zip(ids, texts, strict=True)]
