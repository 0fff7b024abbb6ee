"""Pairs: what two validators said about one answer, and the shapes in which that arrives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from ...core.contracts import Answer, Place, ids_of
from ...core.inputs import Input, Records, Stream, raise_later
from ...core.join import Once
from ...core.sources import read_records
from ...reading.jsonl import Problem

LABELS = ("VALID", "NOT_IN_CONTEXT", "REJECT", "ABSTAIN")
_READ_AS = {"INVALID": "REJECT"} | {label: label for label in LABELS}


class Judgement(msgspec.Struct):
    """A validator's word on one answer."""

    label: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.label not in _READ_AS:
            raise ValueError(f"label: expected one of {', '.join(LABELS)}, got {self.label!r}")
        self.label = _READ_AS[self.label]

    @property
    def because(self) -> str:
        return f" ({self.reason})" if self.reason else ""


FLAGS = ("provenance_violation", "constraints_mismatch")


class Flags(msgspec.Struct):
    """What disqualifies an answer whatever the validators say."""

    provenance_violation: bool | None = None
    constraints_mismatch: bool | None = None

    @property
    def hard(self) -> bool:
        return bool(self.provenance_violation or self.constraints_mismatch)


def merged(one: Flags | None, other: Flags | None) -> Flags | None:
    """A flag that either validator raises is raised."""
    if one is None or other is None:
        return one or other
    return Flags(*(_either(getattr(one, name), getattr(other, name)) for name in FLAGS))


def _either(one: bool | None, other: bool | None) -> bool | None:
    return other if one is None else one if other is None else one or other


class Pair(msgspec.Struct):
    """One answer with both judgements."""

    qid: str | int
    scholar: Judgement
    auditor: Judgement
    answer_json: Answer | None = None
    retrieved_ids: list[str | Place] | None = None
    flags: Flags | None = None

    @property
    def sides(self) -> tuple[tuple[str, Judgement], ...]:
        return ("scholar", self.scholar), ("auditor", self.auditor)

    @property
    def hard_flag(self) -> bool:
        return self.flags is not None and self.flags.hard

    @property
    def citations(self) -> list[str]:
        return ids_of(self.answer_json.citations) if self.answer_json else []

    @property
    def out_of_scope(self) -> bool:
        """Some citation is not among what was retrieved; unknown where the pair has no answer."""
        return not set(self.citations) <= set(ids_of(self.retrieved_ids or []))

    @property
    def agreed(self) -> bool:
        return self.scholar.label == self.auditor.label


class OneSided(msgspec.Struct):
    """A line of one validator's own file: the judgement stands in the line, or under the validator's name."""

    qid: str | int
    label: str | None = None
    reason: str = ""
    scholar: Judgement | None = None
    auditor: Judgement | None = None
    flags: Flags | None = None

    def judgement(self, role: str) -> Judgement:
        nested: Judgement | None = getattr(self, role)
        if nested is not None:
            return nested
        if self.label is None:
            raise ValueError(f"label: expected one of {', '.join(LABELS)}, found none")
        return Judgement(self.label, self.reason)


class SideLine(msgspec.Struct, frozen=True):
    """The same made ready. The reference lists disagreements in the order of the file, so its place comes along."""

    qid: str
    place: int
    judgement: Judgement
    flags: Flags | None = None


def stream_pairs(source: object, read: Input) -> Stream:
    """Pairs one by one; bad lines are raised together when all of them are known."""
    return Stream(source, read, Records(_pairs, _name), raise_later)


def stream_side(source: object, role: str, read: Input) -> Stream:
    """One validator's labels, likewise."""
    return Stream(source, read, Records(partial(_side, role=role), _name), raise_later)


def one_each(lenient: bool) -> Once:
    """One line for an answer: a repeated qid is a problem that names both lines."""
    return Once(_qid, "duplicate qid {!r}", "Give each answer one line.", "pair-repeated", lenient)


def _pairs(source: object, read: Input) -> Iterator[tuple[int, Pair]]:
    return read_records(source, Pair, read, "pairs", read.found, label_code="label")


def _side(source: object, read: Input, role: str) -> Iterator[tuple[int, SideLine]]:
    for place, line in read_records(source, OneSided, read, role, read.found, label_code="label"):
        try:
            judgement = line.judgement(role)
        except ValueError as error:
            read.found.add(Problem(read.path, place, str(error), "", "label"))
            continue
        yield place, SideLine(str(line.qid), place, judgement, line.flags)


def _name(line: Pair | SideLine) -> str:
    return str(line.qid)


def _qid(line: Pair | SideLine) -> tuple[str]:
    return (str(line.qid),)
