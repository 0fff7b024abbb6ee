"""The terminal board: the finding first, failing gates, items to fix, where to look; the verdict again at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO, TextIO

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..text import first_few, inert, plural, visible
from . import views, words
from .terminal_gates import gates, other_metrics
from .terminal_layout import LONGEST, STYLES, Layout, Paint, wrapped

# counts that stand below the first line
_CARD_LINES = 3  # of a question or an answer
_COLOUR = rf"(\x1b\[(?:0|{'|'.join(STYLES.values())})m)"


def render(shown: Decision | Board, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """A decision or a board as text."""
    layout = Layout(Paint(colour), width, verbose)
    lines = _suites(shown, layout) if isinstance(shown, Board) else _whole(shown, layout)
    return inert("\n".join(_line(line, colour) for line in lines)) + "\n"


def _line(text: str, colour: bool) -> str:
    """One line, whatever stands in it: only the colours that were asked for are obeyed."""
    if not colour:
        return visible(text)
    return "".join(part if re.fullmatch(_COLOUR, part) else visible(part) for part in re.split(_COLOUR, text))


def for_stream(shown: Decision | Board, stream: TextIO, verbose: bool = False) -> str:
    """The text as the stream wants it: coloured or not, as wide as the terminal."""
    return render(shown, wants_colour(stream), _width() if stream.isatty() else 100, verbose)


def _width() -> int:
    """As wide as the terminal, within what reads well."""
    from shutil import get_terminal_size  # only for people: a pipe starts sooner without it

    return max(min(get_terminal_size((100, 24)).columns, 120), 60)


def wants_colour(stream: IO[str]) -> bool:
    """Colour for people: NO_COLOR switches it off, FORCE_COLOR on, else a terminal decides."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


# --- several suites ---


def _suites(board: Board, layout: Layout) -> Iterator[str]:
    """The finding, one line a suite, then the details of those that do not ship; the verdict again at the end."""
    headline = _finding(board)
    yield from _headline(board.verdict, headline, layout)
    yield from _questions(board, layout)
    yield ""
    names = [*(decision.suite for decision in board.decisions), *board.failures]
    size = max((len(name) for name in names), default=0)
    for decision in sorted(board.decisions, key=lambda decision: decision.ships):
        yield from _suite(decision, size, layout, headline)
    for suite, why in board.failures.items():
        yield from _row("NO VERDICT", views.failed(suite), suite.ljust(size), visible(why, LONGEST), layout)
    yield from _list("Notes", board.notes, layout)
    for decision in board.decisions:
        if layout.verbose or not (decision.ships or _all_said(decision, headline)):
            yield ""
            yield layout.paint("dim", "─" * layout.width)
            yield from _board(decision, layout, headline)
    yield ""
    yield from _headline(board.verdict, views.scope(board), layout)


def _all_said(decision: Decision, headline: str) -> bool:
    """Whether no question was judged, and the headline says why: there is nothing to show."""
    return decision.nothing_judged and all(reason in headline for reason in views.reasons(decision))


def _questions(shown: Decision | Board, layout: Layout) -> Iterator[str]:
    """Questions lost and gained since the baseline, and those that fail, by name."""
    for one in views.questions(shown):
        yield from wrapped(str(one), "  ", layout.width, "- ")


def _finding(board: Board) -> str:
    """What stops the board, in words: the first reason of the first suite that stops it."""
    stopping = [decision for decision in board.decisions if decision.verdict == board.verdict]
    unrun = [suite for suite in board.failures if suite != "controls"]
    if unrun and not stopping:
        return f"{', '.join(unrun)} could not be run; {views.scope(board)}"
    if board.verdict == "SHIP" or not stopping:
        return views.scope(board)
    reasons = stopping[0].reasons or [views.worst_gate(stopping[0])]
    suites = ", ".join(one.suite for one in stopping if one is stopping[0] or one.reasons[:1] == reasons[:1])
    return f"{suites}: {_ended(visible(reasons[0], LONGEST))} {views.scope(board)}"


def _ended(text: str) -> str:
    """A clause with a semicolon, sentences with a full stop."""
    return f"{text}." if ". " in text else f"{text};"


def _suite(decision: Decision, size: int, layout: Layout, headline: str) -> Iterator[str]:
    held, among = views.gates_held(decision)
    name = f"{decision.suite.ljust(size)}  {held}/{among} gates"
    worst = views.worst_gate(decision)
    worst = "" if worst in headline else worst  # said there
    if len(name) + len(worst) + 16 > layout.width:
        worst = views.worst_gate(decision, brief=True)
    yield from _row(decision.verdict, views.word(decision.verdict), name, worst, layout)


def _row(verdict: str, word: str, name: str, rest: str, layout: Layout) -> Iterator[str]:
    """One line, or several where the terminal is narrow."""
    head = f"  {layout.paint(verdict, word.ljust(10))}  {layout.paint('bold', name)}"
    taken = 14 + len(name) + 2
    if taken + len(rest) <= layout.width:
        yield f"{head}  {rest}".rstrip()
    else:
        yield head
        yield from wrapped(rest, " " * 14, layout.width)


# --- one suite ---


def _whole(decision: Decision, layout: Layout) -> Iterator[str]:
    yield from _board(decision, layout)
    yield ""
    yield from _headline(decision.verdict, _summary(decision), layout)


def _summary(decision: Decision) -> str:
    held, among = views.gates_held(decision)
    every = all(outcome.gate.severity == "block" for outcome in decision.outcomes)
    kind = "gate" if every else "blocking gate"
    gates = f"{held} of {plural(among, kind)} pass{'es' if among == 1 else ''}" if among else "no gate applies"
    return f"{decision.suite}: {gates if decision.outcomes else 'no gate was set'}"


def _headline(verdict: str, finding: str, layout: Layout) -> Iterator[str]:
    """The verdict with its finding beside it, and below where it is long."""
    indent = " " * (len(verdict) + 2)
    first, *more = wrapped(finding, indent, layout.width)
    yield f"{layout.paint(verdict, verdict)}  {first[len(indent) :]}".rstrip()
    yield from more


def _board(decision: Decision, layout: Layout, headline: str = "") -> Iterator[str]:
    """Everything about one suite; `headline` is what was said already."""
    paint, width = layout.paint, layout.width
    reasons = [reason for reason in views.reasons(decision) if reason not in headline]
    first, *others = reasons or [""]
    if first or not headline:
        yield from _headline(decision.verdict, first, layout)
        yield f"  {_scope(decision, paint)}"
    else:
        yield f"{paint(decision.verdict, decision.verdict)}  {_scope(decision, paint)}"
    yield from _questions(decision, layout) if not headline else ()
    for reason in others:
        yield from wrapped(reason, "  ", width, "- ")
    yield from _fixes(decision, layout)
    yield ""
    yield from gates(decision, layout)
    yield from other_metrics(decision, layout)
    for line in decision.sections.get("details", ()):  # tables that a suite lays out itself
        yield from _fitted(visible(line), width)
    yield from _offenders(decision, paint, width)
    yield from _list("Where to look", decision.diagnosis, layout)
    yield from _list("Warnings", views.problems(decision), layout)
    if layout.verbose:
        yield from _small_print(decision, layout)


def _scope(decision: Decision, paint: Paint) -> str:
    counts, display = decision.counts, decision.display
    parts = [paint("bold", decision.suite)]
    if "items" in counts:
        parts.append(plural(counts["items"], display.item))
        parts += [f"{counts[name]} {word}" for name, word in display.counts.items() if counts.get(name)]
    elif decision.profile != "strict":
        parts.append(f"{decision.profile} profile")
    if decision.partial:
        parts.append(paint("odd", "partial data: bad lines were skipped"))
    return " · ".join(parts)


def _fixes(decision: Decision, layout: Layout) -> Iterator[str]:
    """How many items to fix for each gate that fails, and those closest to passing."""
    near = {turn["gate"]: turn["nearest"] for turn in decision.sections.get("turns", ())}
    for outcome in decision.outcomes:
        if not outcome.turn or str(outcome.gate) not in near:
            continue
        names = near[str(outcome.gate)]
        closest = f" Closest to passing: {', '.join(names)}." if names else ""
        told = f"To pass {outcome.gate}, {views.to_fix(outcome)}.{closest}"
        yield from (layout.paint("dim", line) for line in wrapped(visible(told, LONGEST), "  ", layout.width))


def _fitted(line: str, width: int) -> list[str]:
    return [line] if len(line) <= width else wrapped(line, "", width)


def _small_print(decision: Decision, layout: Layout) -> Iterator[str]:
    lines = [*_compat(decision)]
    if decision.outcomes and not decision.display.production:
        lines.append("Intervals are 95 % and describe questions like those in the gold set, not production traffic.")
    for line in lines:
        yield ""
        yield from (layout.paint("dim", part) for part in wrapped(line, "", layout.width))


def _offenders(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    if not decision.offenders or decision.nothing_judged:
        return
    failing = views.failing_count(decision) or len(decision.offenders)
    yield ""
    yield paint("bold", f"Failing items, worst first ({len(decision.offenders)} of {failing})")
    for offender in decision.offenders:
        yield from _offender(offender, decision, paint, width)


def _offender(offender: Row, decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    qid, told = visible(offender["qid"], 40), visible(offender["says"], 300)
    reason = words.reason(offender["reason"], decision)
    told = "" if reason.startswith(f"{told} (") else told
    head = f"  {paint('bold', qid)}  {paint('bad', reason)}"
    if len(qid) + len(reason) + len(told) + 6 <= width:
        yield f"{head}  {told}".rstrip()
    else:
        yield head
        yield from wrapped(told, "      ", width)
    lines = [
        ("question", offender.get("question")),
        ("answer", offender.get("claim")),
        ("expected", " | ".join(offender.get("gold_claim_substr") or [])),
        ("cited", _cited(offender)),
        ("retrieved", _retrieved(offender)),
    ]
    for label, text in lines:
        first, *more = wrapped(visible(str(text or ""), _CARD_LINES * (width - 20)), " " * 16, width) or [""]
        if first:
            yield f"      {paint('dim', label.ljust(9))} {first[16:]}"
            yield from more


def _cited(offender: Row) -> str:
    if "citations" not in offender or not (offender.get("claim") or offender["citations"]):
        return ""
    cited = ", ".join(offender["citations"]) or "nothing"
    wanted = ", ".join(offender.get("gold_citations") or [])
    rank = offender.get("gold_rank")
    if not wanted:
        return cited
    unknown = "not retrieved" if offender.get("retrieved_ids") else "nothing retrieved is logged"
    return f"{cited} (expected {wanted}, {f'retrieved at rank {rank}' if rank else unknown})"


def _retrieved(offender: Row) -> str:
    """The ids in their order; what is expected too, unless what is cited has it already."""
    retrieved = offender.get("retrieved_ids")
    if not retrieved:
        return ""
    wanted = "" if _cited(offender) else ", ".join(offender.get("gold_citations") or [])
    return first_few(retrieved) + (f" (expected {wanted})" if wanted else "")


def _list(title: str, lines: list[str], layout: Layout) -> Iterator[str]:
    if lines:
        yield ""
        yield layout.paint("bold", title)
    for line in lines:
        yield from wrapped(visible(line, LONGEST), "  ", layout.width, "- ")


def _compat(decision: Decision) -> Iterator[str]:
    reference = (decision.compat or {}).get("reference", {})
    differs = [name for name in (decision.compat or {}).get("differs", ()) if decision.headline.get(name) is not None]
    if differs:
        numbers = ", ".join(f"{name} {reference[name]}" for name in differs)
        yield f"The reference scripts would print other numbers here: {numbers} (--profile reference)."
