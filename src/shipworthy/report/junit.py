"""JUnit XML: a test case for each gate and each failing item, the first 500, with everything in the failure's text."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as tree

from ..core.board import Board
from ..core.decision import Decision
from ..text import inert, visible
from . import views
from .cases import ReportedCase, gate_cases, item_case

MOST_ITEMS = 500  # of all suites: readers load the whole file


def render(shown: views.Shown) -> bytes:
    """Well-formed XML 1.0 whatever the traces hold: `visible` spells out all that XML does not allow."""
    suites = [*map(_gates, views.decisions(shown)), *_items(shown)]
    if isinstance(shown, Board) and shown.failures:
        cases = [_case("suites", suite, "error", views.failed(suite), why) for suite, why in shown.failures.items()]
        suites.append(_suite("suites", cases))
    if (told := [str(one) for one in views.questions(shown)]) and suites:
        tree.SubElement(suites[0], "system-out").text = "\n".join(told)
    root = tree.Element("testsuites", {"name": "shipworthy", **_total(suites)})
    root.extend(suites)
    tree.indent(root)
    text = inert(tree.tostring(root, "unicode"))  # the text of a failure has lines of its own
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode() + b"\n"


def _gates(decision: Decision) -> tree.Element:
    return _suite(f"{decision.suite} gates", list(map(_as_case, gate_cases(decision))))


def _items(shown: views.Shown) -> list[tree.Element]:
    """Failing items; those of a decision that stops nothing are skipped, so that no reader of the XML does."""
    decisions = views.decisions(shown)
    listed = [(decision, views.failing_items(decision, MOST_ITEMS)) for decision in decisions]
    told = {decision.suite: views.cards_by_name(decision) for decision in decisions}
    cases = [
        item_case(decision, item, told[decision.suite].get(views.name_of(item), {}))
        for decision, item in views.in_one_list(listed, name=views.name_of)[:MOST_ITEMS]
    ]
    if cases and (more := sum(map(views.failing_count, decisions)) - len(cases)) > 0:
        named = f"{more} more failing items"
        text = f"{named}, which the JSON and the TSV report have."
        cases.append(ReportedCase(cases[0].suite, "items", named, cases[0].kind, named, text, "more"))
    name = "items" if views.several(shown) else f"{decisions[0].suite} items" if decisions else ""
    return [_suite(name, list(map(_as_case, cases)))] if name else []


def _as_case(case: ReportedCase) -> tree.Element:
    return _case(f"{case.suite}.{case.group}", case.name, case.kind, case.message, case.text, case.sort)


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
