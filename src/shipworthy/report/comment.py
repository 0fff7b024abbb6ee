"""Comment: what a pull request shows. The verdict, what stops it in words, and the questions lost and gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.board import Board
from ..core.decision import Decision
from ..text import inert, plural
from . import views, words
from .markdown import (
    SIGNS,
    build_line,
    code,
    first_cells,
    prose,
    question,
    question_lines,
    since_head,
    suite_head,
    table,
    what_is_wrong,
)

LIMIT = 60_000  # characters; hosts refuse a comment of more than 65,536
_NAMES = 30  # questions that are named of one kind
_FAILING = 30  # of all suites


def marker(name: str) -> str:
    """A line nobody sees, by which a later run finds this comment and updates it. One a config."""
    import hashlib

    return f"<!-- shipworthy:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]} -->"


def render(board: Board, name: str) -> str:
    """The comment of a board; `name` is that of its config. Nothing that a trace holds can become markup."""
    head = [marker(name), f"## {SIGNS[board.verdict]} {board.verdict}: {views.scope(board)}"]
    blocks = [block for block in _blocks(board) if block]
    text = inert("\n\n".join([*head, *blocks])) + "\n"
    return text if len(text) <= LIMIT else _cut(head, blocks)


def _cut(head: Sequence[str], blocks: Sequence[str]) -> str:
    """As many whole lines as fit, and a word that there is more; the marker is always there."""
    end, closing = "\n\nThe rest did not fit: see the report.\n", "\n\n</details>"
    text = inert("\n\n".join([*head, *blocks]))[: LIMIT - len(end) - len(closing)]
    text = text[: text.rfind("\n")]
    return text + (closing if text.count("<details>") > text.count("</details>") else "") + end


def _blocks(board: Board) -> Iterator[str]:
    yield build_line(board)
    yield question_lines(board, _NAMES)
    stopped: dict[tuple[str, str], list[str]] = {}  # suites that the same stops
    for decision in board.decisions:
        if decision.exit_code:
            stopped.setdefault((decision.verdict, _stopped(decision)), []).append(decision.suite)
    for (verdict, lines), suites in stopped.items():
        yield f"**{prose(', '.join(suites))}**: {verdict}\n\n{lines}"
    for name, why in board.failures.items():
        yield f"**{prose(name)}**: {views.failed(name)}. {prose(why, 400)}"
    yield _failing(board)
    if board.decisions:
        yield _gates(board.decisions)
    if board.notes:
        yield "\n".join(f"- {prose(note, 400)}" for note in board.notes[:_NAMES])


def _stopped(decision: Decision) -> str:
    """What stops the release, each gate in a sentence."""
    return "\n".join(f"- {prose(reason, 800)}" for reason in words.findings(decision))


def _failing(board: Board) -> str:
    """The worst answers of the suites that do not ship, folded away."""
    found = [(decision, card) for decision, card in views.failing_cards(board) if not decision.ships]
    if not found:
        return ""
    rows = [
        (
            *first_cells(one, decision, board),
            question(one),
            code(str(one.get("claim") or "")),
            what_is_wrong(one, decision),
        )
        for decision, one in found[:_FAILING]
    ]
    head = ("Item", *suite_head(board), *since_head(board), "Question", "Answer", "What is wrong")
    suites = ", ".join(dict.fromkeys(decision.suite for decision, _ in found))
    named = f"{plural(views.failing_total(found), 'failing question')} of {prose(suites)}"
    return f"<details>\n<summary>{named}</summary>\n\n{table(head, rows)}\n\n</details>"


def _gates(decisions: Sequence[Decision]) -> str:
    rows = [
        (
            views.MARKS[outcome.state],
            prose(decision.suite),
            code(words.gate_text(outcome)),
            views.value(outcome),
            prose(words.state(outcome)),
        )
        for decision in decisions
        for outcome in decision.outcomes
    ]
    body = table(("", "Suite", "Gate", "Value", "State"), rows)
    return f"<details>\n<summary>All gates</summary>\n\n{body}\n\n</details>" if rows else ""
