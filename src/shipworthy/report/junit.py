"""JUnit XML: a test case for each gate and for each failing item, with everything in the failure's text too."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as tree

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome, certainty, sentence
from ..text import inert, visible
from . import views

_TEXT = 4000  # characters of one claim or question


def render(shown: views.Shown) -> bytes:
    """Well-formed XML 1.0 whatever the traces hold: `visible` spells out all that XML does not allow."""
    suites = [suite for decision in views.decisions(shown) for suite in (_gates(decision), _items(decision))]
    if isinstance(shown, Board) and shown.failures:
        cases = [_case("suites", suite, "error", views.failed(suite), why) for suite, why in shown.failures.items()]
        suites.append(_suite("suites", cases))
    root = tree.Element("testsuites", {"name": "shipworthy", **_total(suites)})
    root.extend(suites)
    tree.indent(root)
    text = inert(tree.tostring(root, "unicode"))  # the text of a failure has lines of its own
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode() + b"\n"


def _gates(decision: Decision) -> tree.Element:
    return _suite(f"{decision.suite} gates", [_gate(decision.suite, outcome) for outcome in decision.outcomes])


def _gate(suite: str, outcome: Outcome) -> tree.Element:
    words = sentence(outcome)
    text = "\n".join(filter(None, (words, certainty(outcome), _bounds(outcome))))
    kind = _gate_kind(outcome)
    if kind == "skipped":
        excuse = f"waived: {outcome.waived}" if outcome.waived else outcome.gate.severity
        words = words if outcome.state == "NOT-APPLICABLE" else f"{excuse}: {words}"
    return _case(f"{suite}.gates", str(outcome.gate), kind, words, text, outcome.state)


def _gate_kind(outcome: Outcome) -> str:
    """What stops the release is a failure, what could not be judged an error, what is excused is skipped."""
    if outcome.state == "NOT-APPLICABLE":
        return "skipped"
    if outcome.holds:
        return ""
    if outcome.waived or outcome.gate.severity != "block":
        return "skipped"
    return "error" if outcome.state == "NO-DATA" else "failure"


def _bounds(outcome: Outcome) -> str:
    interval = views.interval(outcome.measure)
    return f"95 % interval {interval}" if interval else ""


def _items(decision: Decision) -> tree.Element:
    """Failing items; those of a decision that stops nothing are skipped, so that no reader of the XML does."""
    told = {offender.get("qid"): offender for offender in decision.offenders}
    cases = [_item(decision, item, told.get(views.name_of(item), {})) for item in views.failing_items(decision)]
    return _suite(f"{decision.suite} items", cases)


def _item(decision: Decision, item: Row, offender: Row) -> tree.Element:
    facts = {key: value for key, value in {**item, **offender}.items() if value not in (None, "", [])}
    reason = str(facts.get("reason") or facts.get("failed") or facts.get("state") or "fails")
    message = str(facts.get("says") or reason)
    text = "\n".join(f"{key}: {_value(value)}" for key, value in facts.items())
    broken = item.get("status") in ("missing", "error")
    kind = "skipped" if decision.exit_code == 0 else "error" if broken else "failure"
    message = f"within the gates: {message}" if decision.ships else message
    return _case(f"{decision.suite}.items", views.name_of(item), kind, message, text, reason)


def _value(value: object) -> str:
    text = " | ".join(map(str, value)) if isinstance(value, list) else str(value)
    return views.legible(text, _TEXT)


def _case(classname: str, name: str, kind: str, message: str, text: str, sort: str = "") -> tree.Element:
    case = tree.Element("testcase", classname=visible(classname), name=visible(name, 200), time="0")
    if kind:
        found = tree.SubElement(case, kind, message=visible(message, 500))
        if sort and kind != "skipped":
            found.set("type", visible(sort, 80))
        found.text = views.legible(text)
    return case


def _suite(name: str, cases: Sequence[tree.Element]) -> tree.Element:
    counted = {
        f"{kind}s" if kind != "skipped" else kind: str(sum(case.find(kind) is not None for case in cases))
        for kind in ("failure", "error", "skipped")
    }
    suite = tree.Element("testsuite", {"name": visible(name), "tests": str(len(cases)), **counted, "time": "0"})
    suite.extend(cases)
    return suite


def _total(suites: Sequence[tree.Element]) -> dict[str, str]:
    return {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
