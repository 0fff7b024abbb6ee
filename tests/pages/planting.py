"""Histories to look at: planted ones with causes to find, and hostile ones with a text in every field."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from shipworthy.history import History
from shipworthy.reading.reports import digest

NIGHTS, BREAKS, OUTAGE = 61, 31, range(44, 50)
BROKEN, COIN = "Q07", "Q12"


def fails(question: int, night: int) -> bool:
    """One question breaks for good, one is a coin, and six nights are an outage of every third."""
    chance = hashlib.sha256(f"{question} {night}".encode()).digest()[0] / 256
    return (
        (question == 7 and night >= BREAKS)
        or (question == 12 and chance < 0.4)
        or (night in OUTAGE and question % 3 == 0)
    )


def report(
    night: int, *, questions: int = 24, failing: Callable[[int, int], bool] = fails, **more: Any
) -> dict[str, Any]:
    """A report as `check` records it, in little."""
    rows = [
        {
            "qid": f"Q{number:02d}",
            "status": "shipped",
            "reason": "containment" if failing(number, night) else "",
            "question": f"What is the limit of plan {number}?",
            "claim": f"It is {number} dollars a year"
            if failing(number, night)
            else f"It is {number}00 dollars a month",
            "slices": ["type=table" if number % 2 else "type=prose"],
        }
        for number in range(questions)
    ]
    right = sum(not row["reason"] for row in rows)
    holds = right * 10 >= questions * 8
    says = f"{right} of {questions} answers were correct; at least {questions * 8 // 10} must be"
    body = {
        "shipworthy": {"report": 1, "suite": "answers", "profile": "strict", "definitions": "1"},
        "decision": "SHIP" if holds else "NO-SHIP",
        "reasons": ["all gates pass" if holds else says],
        "metrics": {
            "precision": {
                "kind": "rate",
                "value": right / questions,
                "n": questions,
                "numerator": right,
                "denominator": questions,
            }
        },
        "outcomes": [
            {
                "gate": "precision >= 0.80",
                "metric": "precision",
                "slice": "",
                "severity": "block",
                "state": "PASS" if holds else "FAIL",
                "holds": holds,
                "bound": 0.8,
                "value": right / questions,
                "n": questions,
                "k": right,
                "says": says,
                "waived": "",
            }
        ],
        "inputs": {"gold": {"sha256": "a" * 64, "content": "b" * 64, "records": questions}},
        "diagnosis": [],
        "items": rows,
    }
    return sealed(body | more)


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "digest": digest(body)}


def known(night: int, **more: str) -> dict[str, str]:
    return {
        "commit": commit(night),
        "parent": commit(night - 1),
        "branch": "main",
        "project": "acme/qa",
        "label": f"night-{night}",
        "recorded_at": f"2026-{1 + night // 28:02d}-{1 + night % 28:02d}T02:30:00+00:00",
        "subject": f"change {night}",
    } | more


def commit(night: int) -> str:
    return hashlib.sha1(str(night).encode()).hexdigest()


def plant(url: str, nights: Sequence[int] = range(1, NIGHTS + 1)) -> str:
    """The history of those nights; the URL again."""
    history = History(url)
    for night in nights:
        history.record(report(night), **known(night))
    return url


def hostile(url: str, texts: Sequence[str]) -> str:
    """Runs with each text in every field that a report or a client can fill."""
    history = History(url)
    for place, text in enumerate(texts):
        for night in (1, 2):
            body = report(night, questions=3, failing=lambda number, at: number == 1 and at == 2)
            del body["digest"]
            for number, row in enumerate(body["items"]):
                row |= {"qid": f"{text}{number}", "question": text, "claim": f"{text} {night}", "slices": [text]}
                row["reason"] = text if row["reason"] else ""
            body |= {"reasons": [text], "diagnosis": [text]}
            body["outcomes"][0] |= {"says": text, "waived": text}
            body["inputs"]["gold"] |= {"content": f"{text}{night}"}
            body["shipworthy"] |= {"profile": text}
            history.record(
                sealed(body),
                commit=f"{text}{night}",
                branch=text,
                label=f"{text}{night}",
                project=f"{text}{place}",
                subject=text,
                parent=text,
                committed_at=text,
                recorded_at=f"2026-01-0{night}T00:00:00+00:00",
                commit_url=f"javascript:{text}",
                run_url=text,
                pull_url=f"https://example.invalid/{text}",
                gold_release=text,
            )
    return url
