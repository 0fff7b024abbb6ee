"""A planted history: what sixty-two nights of the demo pipeline would have left behind, with three causes to find.

One question breaks for good at run 31, one is a coin, and in six runs the index was out of reach for a third of them.
Everything else is what the pipeline answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from .pipeline import answer

NIGHTS = 62
QUESTIONS = 60  # of the gold set, so that all nights are judged in a second
BREAKS, BROKEN, COIN = 31, "D007", "D006"  # the run that breaks a question, that question, and the one that is a coin
OUTAGE = range(44, 50)
LARGER = 20  # the run from which the gold set has its last five questions
_FIRST = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
_SUBJECTS = (
    "Update dependencies",
    "Handbook: chapter on returns",
    "Rerank with shorter passages",
    "Log the index hash",
    "Tidy the prompt",
)


class Night(NamedTuple):
    """A run to judge and to record."""

    gold: list[dict[str, Any]]
    traces: list[dict[str, Any]]
    known: dict[str, str]  # commit, branch, time and the like


def nights(gold: Sequence[Mapping[str, Any]]) -> Iterator[Night]:
    """Each night's questions and traces, from the gold set and what the healthy pipeline answers to it."""
    traces = [_trace(row) for row in gold[:QUESTIONS]]
    names = [str(row["qid"]) for row in gold][:QUESTIONS]
    for number in range(1, NIGHTS + 1):
        asked = names if number >= LARGER else names[:-5]
        chosen = [dict(row) for row in gold if row["qid"] in asked]
        answered = [_night(dict(row), number) for row in traces if row["qid"] in asked]
        yield Night(chosen, answered, _known(number))


def _trace(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the pipeline answers, without its times: the same history each time."""
    said = answer(row["question"])
    return {"qid": row["qid"], **{name: said[name] for name in ("answer_json", "ok", "retrieved_ids", "evidence")}}


def _night(row: dict[str, Any], number: int) -> dict[str, Any]:
    qid = str(row["qid"])
    if number in OUTAGE and _chance(qid) < 0.33:
        return row | {"answer_json": {"claim": "not in context", "citations": [], "constraints_echo": []}, "ok": False}
    if (qid == BROKEN and number >= BREAKS) or (qid == COIN and _chance(f"{qid} {number}") < 0.4):
        said = dict(row["answer_json"])
        return row | {"answer_json": said | {"claim": "It is described in the appendix of the handbook."}}
    return row


def _known(number: int) -> dict[str, str]:
    at = (_FIRST + timedelta(days=number)).isoformat()
    breaks = number == BREAKS
    return {
        "commit": _commit(number),
        "parent": _commit(number - 1),
        "branch": "main",
        "project": "demo",
        "label": f"night-{number:02d}",
        "recorded_at": at,
        "committed_at": at,
        "subject": "Split passages at 200 characters" if breaks else _SUBJECTS[number % len(_SUBJECTS)],
    }


def _commit(number: int) -> str:
    return hashlib.sha1(f"night {number}".encode(), usedforsecurity=False).hexdigest()


def _chance(name: str) -> float:
    """A number from 0 to 1 that follows from the name."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
