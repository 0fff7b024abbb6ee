"""Explain: what a metric, an error code or one question of the last report means, as lines for people."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ..codes import CODES
from ..core.contracts import ids_of
from ..core.sources import Input, read_gold, stream_traces
from ..errors import ShipworthyError, UsageError
from ..glossary import find_reasons, find_terms, names
from ..reading.reports import load_report, reason_of, reports_of, row_name
from ..suites import passing_rule
from ..text import first_few

FOLDERS = (".", "runs", "eval", "reports", "build")  # where a newest report is looked for
Report = Mapping[str, Any]


Last = Callable[[], tuple[Report, float]]  # the last run of the history, and when it was recorded


def explain(name: str, report: str = "", last: Last | None = None) -> list[str]:
    """Lines about a metric, an error code, or a question of a report.

    `report` names the report to look the question up in. Without one it is the newest JSON report in the usual
    folders or the last run of the history, whichever is newer.
    """
    code = name.strip("[]")
    lines = [] if report else [*_about_metric(name), *_about_reason(name), *_about_code(code)]
    if lines:
        return lines
    chosen, place = _report(report, last)
    lines = [line for one in reports_of(chosen) for line in _about_item(name, one)] if chosen else []
    if lines:
        return [f"From {place}:", *lines]
    raise UsageError(
        f"{name!r} is no metric, reason or error code" + (f", and {place} has no such question" if chosen else ""),
        hint=_suggestion(name, chosen),
        code="explain-unknown",
    )


def _suggestion(name: str, report: Report | None) -> str:
    known = [*names(), *CODES]
    known += [row_name(row) for one in reports_of(report) for row in one.get("items", [])] if report else []
    near = get_close_matches(name, known, 1, 0.6)
    if near:
        return f"Did you mean {near[0]}?"
    return "" if report else "For a question, write a report first (-o report.json) or name one with --report."


# --- metrics and codes ---


def _about_metric(name: str) -> Iterator[str]:
    for term in find_terms(name):
        yield f"{term.title}: a metric of {' and '.join(term.suites)}"
        yield f"  {term.words.definition}"
        if term.words.formula:
            yield f"  Formula: {term.words.formula}"
        if term.words.gate:
            yield f"  Default gate: {term.words.gate}"


def _about_reason(name: str) -> Iterator[str]:
    for reason in find_reasons(name):
        yield f"{reason.title}: a reason for a failing item of {' and '.join(reason.suites)}"
        yield f"  {reason.words.definition}"


def _about_code(code: str) -> Iterator[str]:
    if code in CODES:
        yield f"{code}: an error or warning code"
        yield f"  {CODES[code]}"


# --- one question ---


def _report(path: str, last: Last | None) -> tuple[Report | None, str]:
    """The report to look in, and where it is."""
    if path:
        return load_report(path), path
    newest = newest_report()
    try:
        recorded, when = last() if last else (None, 0.0)
    except ShipworthyError:
        recorded, when = None, 0.0
    if newest and (recorded is None or os.path.getmtime(newest) >= when):
        return load_report(newest), newest
    return recorded, "the last run of the history" if recorded else ""


def newest_report() -> str:
    """The JSON report that was written last, among the folders where reports usually are."""
    paths = [path for folder in FOLDERS for path in glob.glob(os.path.join(folder, "*.json"))]
    for path in sorted(paths, key=os.path.getmtime, reverse=True):
        try:
            if _begins_like_one(path):
                load_report(path, edited=True)
                return os.path.normpath(path)
        except (ShipworthyError, OSError):
            continue
    return ""


def _begins_like_one(path: str) -> bool:
    """Whether the file begins as reports do, before all of it is read: it may be gigabytes of somebody's answers."""
    with open(path, "rb") as stream:
        return b'"shipworthy"' in stream.read(200)


def _about_item(qid: str, report: Report) -> Iterator[str]:
    rows = [row for row in report.get("items", []) if qid in (row_name(row), str(row.get("qid", row.get("id"))))]
    cards = [card for card in report.get("offenders", []) if str(card.get("qid", card.get("id"))) == qid]
    suite = report["shipworthy"].get("suite", "")
    for row in rows or cards[:1]:
        card = _card(qid, cards, report)
        passes = passing_rule(report)(row)
        yield f"{suite}: {row_name(row)} {'passes' if passes else 'fails'}"
        yield from (f"  {label.ljust(9)} {text}" for label, text in _lines(row, card, passes) if text)


def _card(qid: str, cards: list[Report], report: Report) -> Report:
    """What the report tells of the question; where that is its verdict alone, what the input files tell."""
    if cards:
        return cards[0]
    run = report.get("run", {})
    paths = {**run, **((run.get("call") or {}).get("inputs") or {})}
    fields = report.get("options", {}).get("map") or ()
    try:
        return {**_expected(qid, paths.get("gold"), fields), **_answered(qid, paths.get("trace"), fields)}
    except (ShipworthyError, OSError):
        return {}


def _expected(qid: str, path: object, fields: Any) -> dict[str, object]:
    if not isinstance(path, str) or not os.path.isfile(path):
        return {}
    gold = next((item for item in read_gold(path, fields) if item.qid == qid), None)
    if gold is None:
        return {}
    return {"question": gold.question, "gold_claim_substr": gold.substrings, "gold_citations": gold.citations}


def _answered(qid: str, path: object, fields: Any) -> dict[str, object]:
    if not isinstance(path, str) or not os.path.isfile(path):
        return {}
    traces = [trace for _, trace in stream_traces(path, Input(), lenient=True, map=fields) if trace.qid == qid]
    if not traces:
        return {}
    last = traces[-1]
    return {"claim": last.answer.claim, "citations": ids_of(last.answer.citations), "retrieved_ids": last.retrieved}


def _lines(row: Report, card: Report, passes: bool) -> Iterator[tuple[str, str]]:
    yield "question", str(card.get("question") or row.get("prompt") or "")
    yield "answer", str(card.get("claim") or row.get("answer") or "")
    yield "expected", _expectation(row, card)
    yield "cited", _cited(card)
    retrieved = card.get("retrieved_ids")
    yield "retrieved", first_few([str(one) for one in retrieved]) if isinstance(retrieved, list) else ""
    yield "why", _why(row, card, passes)


def _cited(card: Report) -> str:
    """`doc4 (expected doc9)`."""
    cited, expected = card.get("citations"), ", ".join(map(str, card.get("gold_citations") or ()))
    if not isinstance(cited, list) or not card.get("claim"):
        return ""
    shown = ", ".join(map(str, cited)) or "nothing"
    return f"{shown} (expected {expected})" if expected else shown


def _expectation(row: Report, card: Report) -> str:
    if row.get("answerable") is False:
        return "a refusal"
    return " | ".join(map(str, card.get("gold_claim_substr") or ()))


def _why(row: Report, card: Report, passes: bool) -> str:
    if card.get("says"):
        return str(card["says"])
    if passes:
        return "correctly refused" if row.get("status") == "refused" else "passes every check of this suite"
    failed = row.get("hard_failures") if not row.get("reason") else None
    return ", ".join(map(str, failed)) if isinstance(failed, list) and failed else reason_of(row)
