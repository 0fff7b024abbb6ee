"""What the scoring functions of several suites share: reading, how answers are judged, profiles, names cut short."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..contracts import Input
from ..decision import decide
from ..errors import UsageError
from ..evaluation import PROFILES
from ..gates import Outcome
from ..idscheme import parse_id_map
from ..jsonl import Problem, Problems, Reader, field_first
from ..refusal import load_rule
from ..suites import answers

SHOWN = 8  # names in a sentence; the report has more of them

Source = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
Record = TypeVar("Record")


def read_records(
    source: Source, record: type[Record], read: Input, name: str, problems: Problems, *,
    guarded: tuple[bytes, ...] = (b'"qid"',), label_code: str = "type",
) -> Iterator[tuple[int, Record]]:  # fmt: skip
    """Records of a file or an iterable with their lines; what is none is a problem. `name` stands for a missing path."""
    for number, value in _numbered(source, read, name, problems, guarded):
        read.records += 1
        try:
            found = value if isinstance(value, record) else msgspec.convert(value, record)
        except msgspec.ValidationError as error:
            code = label_code if "label" in str(error) else "type"
            problems.add(Problem(read.path, number, field_first(str(error)), "", code))
            continue
        yield number, found


def _numbered(
    source: Source, read: Input, name: str, problems: Problems, guarded: tuple[bytes, ...]
) -> Iterator[tuple[int, Any]]:
    if not isinstance(source, (str, os.PathLike)):
        read.path = f"<{name}>"
        yield from enumerate(source, 1)
        return
    read.path = os.fspath(source)
    reader = Reader(source, dict, problems, guarded=guarded, warn=read.warn)
    yield from reader
    read.digest = reader.digest


def decide_or_measure(outcomes: list[Outcome], incomplete: list[str]) -> tuple[str, list[str]]:
    """The decision of a suite that has no gates of its own: without any it is no decision."""
    if outcomes:
        return decide(outcomes, incomplete)
    return "MEASURED", ["no gate was named: these are numbers, not a decision", *incomplete]


def judging(refusal: str, refusal_phrases: Iterable[str], id_map: str | None, **more: Any) -> answers.Options:
    """The options of the answers suite's judge, from what a caller writes."""
    return answers.Options(
        declared=refusal != "exact",
        rule=load_rule("natural" if refusal == "exact" else refusal, refusal_phrases),
        id_map=parse_id_map(id_map) if id_map else None,
        **more,
    )


def check_profile(profile: str) -> None:
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"Use {' or '.join(PROFILES)}.", code="profile")


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
