"""Runs: candidates for a gold set from real questions, in whatever file `import` reads."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ..core.contracts import Trace
from ..core.inputs import Input
from ..core.sources import stream_traces
from ..errors import DataError
from ..importers import Importer
from ..importers import Options as ImportOptions
from ..importers.drafts import material_of
from ..language.refusal import load_rule
from ..text import fold
from .build import Alike, Draft

STRATA = ("nothing retrieved", "refused", "answered and cited", "answered and uncited", "failed")


class Asked(msgspec.Struct):
    """A question that people asked, how often, and one run of it."""

    question: str
    trace: Trace
    stratum: str
    count: int = 1


def read_runs(path: str | os.PathLike[str], map: Iterable[str] = ()) -> list[Trace]:
    """The runs of a trace file, or of an export of any tool that `import` reads."""
    try:
        importer = Importer([os.fspath(path)], options=ImportOptions(maps=tuple(map), drafts=False))
        known = set(Trace.__struct_encode_fields__)
        rows = ({name: one[name] for name in one if name in known} for one in importer.traces())
        runs = [msgspec.convert(row, Trace, strict=False) for row in rows]
        if not any(run.asked for run in runs):
            importer.refuse_nothing()
        return runs
    except DataError as error:
        if error.code != "import-format":
            raise
    read = Input()
    return [trace for _, trace in stream_traces(path, read, map=tuple(map))]


def stratum_of(trace: Trace) -> str:
    """What became of a question, as far as its run tells."""
    claim = trace.answer.claim.strip()
    if trace.error or not claim:
        return "failed"
    if _RULE.matches(claim, trace.asked):
        return "refused"
    if trace.logs_retrieval and not trace.retrieved:
        return "nothing retrieved"
    return "answered and cited" if trace.answer.citations else "answered and uncited"


_RULE = load_rule("natural")


def questions(runs: Iterable[Trace]) -> list[Asked]:
    """The questions of the runs; those that are nearly the same count as one."""
    alike, found = Alike(numbers=True), list[Asked]()
    for trace in runs:
        text = " ".join(trace.asked.split())
        if not text:
            continue
        same = alike.same(text)
        if same is not None:
            found[same].count += 1
            continue
        alike.add(text)
        found.append(Asked(text, trace, stratum_of(trace)))
    return found


def draft_runs(
    path: str | os.PathLike[str], *, count: int = 100, seed: int = 0, map: Iterable[str] = ()
) -> list[Draft]:
    """Candidates from real questions: as many of each stratum as there are, within the count, drawn at random."""
    asked = questions(read_runs(path, map))
    if not asked:
        raise DataError(
            "no run has a question",
            where=os.fspath(path),
            hint="Say where the question is: --map question=PATH.",
            code="gold-no-question",
        )
    return [draft(one) for one in _drawn(asked, count, random.Random(seed))]


def _drawn(asked: list[Asked], count: int, order: random.Random) -> Iterator[Asked]:
    """In turn one of each stratum, so that rare ones are not lost among the usual."""
    groups = [[one for one in asked if one.stratum == name] for name in STRATA]
    for group in groups:
        order.shuffle(group)
    left = count
    while left > 0 and any(groups):
        for group in groups:
            if group and left > 0:
                left -= 1
                yield group.pop()


def draft(asked: Asked) -> Draft:
    """What a reviewer is shown of a question."""
    trace = asked.trace
    refused = asked.stratum in ("refused", "nothing retrieved")
    name = hashlib.sha256(fold(asked.question).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    shown: dict[str, Any] = {
        "proposal": "unanswerable" if refused else "answerable",
        "kind": "question",
        "stratum": asked.stratum,
        "count": asked.count,
    }
    return {
        "qid": f"t-{name}",
        "question": asked.question,
        "answerable": None,
        "provenance": "trace",
        "draft": shown | material_of(msgspec.to_builtins(trace)),
    }
