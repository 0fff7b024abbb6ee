"""Workflow annotations: the worst nine and a tenth that says how many more, because only ten of a kind are shown."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.board import Board
from ..core.decision import Decision
from ..text import one_line, plural
from . import views, words

MOST = 10  # of each kind, in one step
_TEXT = 400
_FAILED = {
    "NOT RUN": "could not be run",
    "UNREADABLE": "could not be read",
    "BROKEN": "show that the gates can't be trusted",
}


def render(shown: views.Shown) -> str:
    """Annotations on lines of their own; what is not ours never starts one."""
    decisions = views.decisions(shown)
    told = [_said("notice", "Questions", str(one)) for one in views.questions(shown)]
    unjudged: dict[str, list[str]] = {}  # suites that have no verdict for the same reasons
    for decision in decisions:
        if decision.verdict == "NO VERDICT":
            unjudged.setdefault("; ".join(decision.reasons), []).append(decision.suite)
    errors = [_said("error", f"NO VERDICT {', '.join(suites)}", why) for why, suites in unjudged.items()]
    if isinstance(shown, Board):
        errors += [
            _said("error", f"{suite} {_FAILED[views.failed(suite)]}", why) for suite, why in shown.failures.items()
        ]
    errors += [line for decision in decisions if decision.verdict == "NO-SHIP" for line in _gates(decision, "block")]
    errors += [line for decision in decisions if decision.verdict == "NO-SHIP" for line in _others(decision)]
    errors += [line for decision in decisions if decision.verdict == "NO-SHIP" for line in _items(decision)]
    warnings = [line for decision in decisions for line in _gates(decision, "warn")]
    notices = [
        _said("notice", f"{decision.verdict} {decision.suite}", "; ".join(decision.reasons))
        for decision in decisions
        if decision.exit_code == 0
    ]
    lines = [*_cut(told, "notice"), *_cut(errors, "error"), *_cut(warnings, "warning"), *_cut(notices, "notice")]
    return "".join(f"{line}\n" for line in lines)


def _gates(decision: Decision, severity: str) -> Iterator[str]:
    for outcome in views.worst_first(decision.outcomes):
        if outcome.gate.severity == severity and not outcome.holds and not outcome.waived:
            kind = "error" if severity == "block" else "warning"
            yield _said(kind, f"{decision.verdict} {decision.suite}", words.finding(outcome))


def _others(decision: Decision) -> Iterator[str]:
    """What stops the release and is no gate, such as a regression."""
    yield from (_said("error", f"{decision.verdict} {decision.suite}", why) for why in words.other_reasons(decision))


def _items(decision: Decision) -> Iterator[str]:
    told = views.cards_by_name(decision)
    for item in views.failing_items(decision):
        name = views.name_of(item)
        offender = told.get(name, {})
        reason = offender.get("reason") or item.get("reason") or item.get("failed") or "fails"
        says = offender.get("says") or str(reason)
        question = f": {offender['question']}" if offender.get("question") else ""
        yield _said("error", f"{name} {words.reason(reason, decision)}", f"{says}{question}")


def _cut(lines: list[str], kind: str) -> list[str]:
    if len(lines) <= MOST:
        return lines
    rest = len(lines) - MOST + 1
    return [*lines[: MOST - 1], _said(kind, "and more", f"and {plural(rest, 'more finding')}: see the report")]


def _said(kind: str, title: str, message: str) -> str:
    title, body = (one_line(text, most) for text, most in ((title, 120), (message, _TEXT)))
    return f"::{kind} title={_property(title)}::{_data(body)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
