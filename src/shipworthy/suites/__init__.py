"""Suites: one folder each behind one contract (`core/suite.py`); this table is all that the program knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..reading.reports import Passing

if TYPE_CHECKING:
    from ..core.decision import Display
    from ..core.suite import Sources, Suite

# name → the question that it answers, as `shipworthy --help` says it; the folder of that name has `suite.SUITE`
SUITES = {
    "answers": "Answers: precision, citations, refusals, constraints, recall.",
    "stability": "Do seeds and harmless rewording change the answers?",
    "latency": "Is it fast enough for how right it is?",
    "agreement": "Do two validators, or any number of raters, agree well enough?",
    "retrieval": "May the shadow index replace the live one?",
    "reasoning": "Reasoning quality: run, score, guard, lint.",
    "outcomes": "Did people accept and act on it?",
    "raters": "Do any number of raters give the same labels?",
    "guard": "May a finished reasoning report be relied on?",
}


def passing_rule(report: Mapping[str, Any]) -> Passing:
    """How the rows of a report tell whether their items passed."""
    return display_of(report).passes


def display_of(report: Mapping[str, Any]) -> Display:
    """How the suite that made a report is shown."""
    from ..core.decision import Display

    about = report.get("shipworthy")
    name = about.get("suite") if isinstance(about, Mapping) else None
    return load_suite(name).display if isinstance(name, str) and name in SUITES else Display()


def reason_words(suite: str, reason: str) -> str:
    """`wrong answer (containment)`; a reason without other words stays as it is."""
    found = load_suite(suite).display.reasons.get(reason) if suite in SUITES else None
    return found.title(reason) if found else reason


def load_suite(name: str) -> Suite:
    """A suite by name, imported only now."""
    if name not in SUITES:
        from difflib import get_close_matches

        near = get_close_matches(name, SUITES, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(SUITES)}."
        raise UsageError(f"there is no suite {name!r}", hint=hint, code="suite-unknown")
    suite: Suite = import_module(f".{name}.suite", __name__).SUITE
    return suite


def suite_for(suite: Suite, options: Any, sources: Sources) -> Suite:
    """The suite that judges these inputs: `retrieval`, as users name it, leaves lists of ids to `ranking`."""
    if suite.name != "retrieval":
        return suite
    from .ranking.options import ranks_ids
    from .ranking.suite import SUITE

    return SUITE if ranks_ids(options, sources) else suite
