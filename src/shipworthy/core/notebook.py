"""Notebook: a decision for people who program. What fails, one item in detail, and the decision as a piece of HTML.

The HTML has no script, no style and no address, so that it is shown alike under any content policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import UsageError
from ..reading.reports import row_name
from ..text import first_few, plural, visible
from .gates import Outcome, state_in_words
from .rows import failing_count, failing_rows

_FEW = 10  # failing items that are shown
_LONGEST = 300  # characters of a text that are shown


def failures(decision: Any) -> list[dict[str, Any]]:
    """Every item that fails, in detail where the decision has it, the worst first."""
    rows = {row_name(row): row for row in failing_rows(decision.items, decision.display.passes)}
    found = [{**rows.pop(_card_name(card, rows), {}), **card} for card in decision.cards]
    return [*found, *rows.values()]


def _card_name(card: Mapping[str, Any], rows: Mapping[str, Any]) -> str:
    name = row_name(card)
    return name if name in rows else str(card.get("qid", card.get("id", name)))


def item(decision: Any, name: str) -> dict[str, Any]:
    """The row of one item, with its card where it fails."""
    matches = [row for row in decision.items if row_name(row) == name]
    matches = matches or [row for row in decision.items if name in (row.get("qid"), row.get("id"))]
    if len(matches) == 1:
        own = row_name(matches[0])
        cards = (card for card in decision.cards if _card_name(card, {own: None}) in (own, name))
        return {**matches[0], **next(cards, {})}
    if matches:
        hint = f"Choose one of {visible(first_few([row_name(row) for row in matches]), 300)}."
        raise UsageError(f"{visible(name, 60)!r} has several rows", hint=hint, code="item-unknown")
    import difflib

    names = {row_name(row).casefold(): row_name(row) for row in decision.items}
    near = difflib.get_close_matches(name.casefold(), names, 1)
    listed = visible(first_few(list(names.values())), 300)
    hint = f"Did you mean {visible(names[near[0]], 60)}?" if near else f"There are {listed}."
    raise UsageError(f"there is no item {visible(name, 60)!r}", hint=hint, code="item-unknown")


def board_html(board: Any) -> str:
    lost = "".join(f"<p>{_text(name)} could not be run: {_text(why)}</p>" for name, why in board.failures.items())
    return f"<p><strong>{_text(board.verdict)}</strong></p>{lost}{''.join(map(decision_html, board.decisions))}"


def decision_html(decision: Any) -> str:
    """Verdict and reasons, a table of the gates, and the worst of the items that fail."""
    first, *others = decision.reasons or [""]
    parts = [f"<p><strong>{_text(decision.verdict)}</strong> {_text(decision.suite)}: {_text(first)}</p>"]
    if others:
        parts.append(f"<ul>{''.join(f'<li>{_text(reason)}</li>' for reason in others)}</ul>")
    parts.append(_table(("gate", "measured", "result"), map(_gate, decision.outcomes)))
    count = failing_count(decision.items, decision.display.passes)
    if count:
        shown = failures(decision)[:_FEW] if len(decision.cards) < 10_000 else decision.cards[:_FEW]
        noun = f"{plural(count, decision.display.item)} fail{'' if count > 1 else 's'}"
        parts.append(f"<p>{noun}{f', the worst {len(shown)}' if count > len(shown) else ''}:</p>")
        parts.append(
            _table((decision.display.item, "why", "asked", "answer"), (_failure(decision, row) for row in shown))
        )
    return f"<div>{''.join(parts)}</div>"


def _gate(outcome: Outcome) -> tuple[str, str, str]:
    gate, measure = outcome.gate, outcome.measure
    return f"{measure.words.title(gate.key)} {gate.op} {gate.bound.text}", str(measure), state_in_words(outcome)


def _failure(decision: Any, row: Mapping[str, Any]) -> Iterator[str]:
    reason = str(row.get("reason") or row.get("failed") or row.get("state") or "")
    known = decision.display.reasons.get(reason)
    yield row_name(row)
    yield str(row.get("says") or (known.title(reason) if known else reason))
    yield str(row.get("question") or row.get("q") or "")
    yield str(row.get("claim") or row.get("answer") or "")


def _table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_text(part)}</td>' for part in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    from html import escape  # scoring starts sooner without it

    return escape(visible(text, _LONGEST))
