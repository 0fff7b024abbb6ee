"""Markdown: the verdict and its findings first, then gates and failing items; text from traces stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome
from ..text import first_few, inert, plural, visible
from . import views, words

MOST_ITEMS = 50  # failing items shown
MOST_TEXT = 160  # characters of a claim in a table's cell
SIGNS = {"SHIP": "✅", "NO-SHIP": "❌", "NO VERDICT": "⚠️", "MEASURED": "📏"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>~&$])")
_LEADING = re.compile(r"^(\s*)(?:([#+=:-])|(\d+)(?=[.)]))")  # would open a heading, a list or a rule
# A host's autolinks, mentions and issue links are made from rendered text, where a backslash is gone: a zero-width
# space breaks them for good.
_LIVE = re.compile(r"(?<=@)(?=\S)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=#)(?=\d)|(?<=\bGH)(?=-\d)", re.IGNORECASE)


def render(shown: views.Shown) -> str:
    """A decision or a board as GitHub-flavoured Markdown."""
    blocks = _board(shown) if isinstance(shown, Board) else _decision(shown, "#")
    return inert("\n\n".join(block for block in blocks if block)) + "\n"


def prose(text: str, limit: int | None = None) -> str:
    """Text that reads as it was written: no markup, link, image, mention or HTML can come of it."""
    shown = _SPECIAL.sub(r"\\\1", _LIVE.sub("\u200b", visible(text, limit))).replace("|", "&#124;")
    return _LEADING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[2] else f"{found[1]}{found[3]}\u200b", shown)


def code(text: str, limit: int = MOST_TEXT) -> str:
    """Text as a code span; the fence is longer than any run of backticks inside.

    Parsers disagree on a pipe after a backslash in a table, and a cell that ends early would set the rest free:
    text with a pipe is escaped prose instead.
    """
    shown = visible(text, limit)
    if "|" in shown:
        return prose(shown)
    if not shown.strip():
        return "–" if not shown else f"`{shown}`"
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith(("`", "\\")) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _board(board: Board) -> Iterator[str]:
    yield f"# {SIGNS[board.verdict]} {board.verdict}: {views.scope(board)}"
    yield build_line(board)
    yield question_lines(board)
    rows = [
        (
            f"{SIGNS[decision.verdict]} {views.word(decision.verdict)}",
            prose(decision.suite),
            _held(decision),
            prose(words.in_short(decision)),
        )
        for decision in board.decisions
    ]
    rows += [(f"⚠️ {views.failed(suite)}", prose(suite), "–", prose(why, 400)) for suite, why in board.failures.items()]
    yield table(("Verdict", "Suite", "Gates passed", "Finding"), rows)
    yield _list("Notes", board.notes, "##")
    for decision in sorted(board.decisions, key=lambda one: not one.exit_code):
        yield from _decision(decision, "##")
    yield from _failing(board, "##")


def build_line(shown: views.Shown) -> str:
    """What was judged: commit, branch, time, label, release of the gold set."""
    known, links = views.build(shown.run), views.links(shown.run)
    named = [
        f"{name} [{code(text)}]({links[name]})" if name in links else f"{name} {code(text)}" for name, text in known
    ]
    return " · ".join([*named, *(f"[{name}]({url})" for name, url in links.items() if name != "commit")])


def question_lines(shown: views.Shown, most: int = views.NAMED) -> str:
    """The questions that changed or fail, by name: a line for each group."""
    return "\n".join(
        f"- {one.told}: {first_few([code(name, 80) for name in one.names], most)}"
        + (f" ({prose(', '.join(one.suites))})" if one.suites else "")
        for one in views.questions(shown)
    )


def _decision(decision: Decision, level: str) -> Iterator[str]:
    below = f"{level}#"
    partial = " (partial data)" if decision.partial else ""
    yield f"{level} {SIGNS[decision.verdict]} {decision.verdict}: {prose(decision.suite)}{partial}"
    yield build_line(decision) if level == "#" else ""
    yield "\n".join(_finding_lines(decision))
    yield question_lines(decision) if level == "#" else ""
    yield _gates(decision, below)
    yield _list("Where to look", decision.diagnosis, below)
    yield from _failing(decision, below) if level == "#" else ()
    yield from _slices(decision, below)
    yield _list("Noticed while reading", views.problems(decision), below)
    yield _inputs(decision)


def _finding_lines(decision: Decision) -> Iterator[str]:
    """What stops the release, each gate in a sentence with the items closest to passing."""
    yield from (f"- {prose(reason)}" for reason in words.first_reasons(decision))
    for outcome in views.stopping(decision):
        near = ", ".join(code(name, 60) for name in words.near(decision, outcome))
        yield f"- {prose(words.finding(outcome))}" + (f" Closest to passing: {near}." if near else "")
    yield from (f"- {prose(reason)}" for reason in words.other_reasons(decision))


def _held(decision: Decision) -> str:
    held, among = views.gates_held(decision)
    return f"{held} of {among}"


def _gates(decision: Decision, level: str) -> str:
    if not decision.outcomes:
        return _numbers(decision, level)
    head = ("", "Gate", "Value", "Counts", "95 % interval", "State")
    return f"{level} Gates\n\n" + table(head, [_gate(outcome) for outcome in views.worst_first(decision.outcomes)])


def _numbers(decision: Decision, level: str) -> str:
    """What was measured, where no gate says what it should be."""
    rows = [
        (
            prose(words.plain_name(measure)),
            views.number(measure),
            views.counts(measure) or "–",
            views.interval(measure) or prose(f"n/a: {measure.missing}" if measure.missing else "–"),
        )
        for name, measure in views.numbers(decision).items()
    ]
    return f"{level} Numbers\n\n" + table(("Metric", "Value", "Counts", "95 % interval"), rows) if rows else ""


def _gate(outcome: Outcome) -> tuple[str, ...]:
    measure = outcome.measure
    state = words.state(outcome) + (f", waived: {outcome.waived}" if outcome.waived else "")
    severity = "" if outcome.gate.severity == "block" else f" ({outcome.gate.severity})"
    mark = "w" if outcome.waived else views.MARKS[outcome.state]
    return (
        mark,
        code(words.gate_text(outcome)) + severity,
        views.value(outcome),
        views.counts(measure),
        views.interval(measure) or "–",
        prose(state, 300),
    )


def _failing(shown: views.Shown, level: str) -> Iterator[str]:
    """Failing items, those of all suites in one table."""
    cards = views.failing_cards(shown)
    if not cards:
        return
    failing = views.failing_total(cards)
    shown_cards = cards[:MOST_ITEMS]
    most = len(shown_cards)
    some = f"the worst {most} of {plural(failing, 'item')}" if most < failing else plural(failing, "item")
    yield f"{level} Failing items: {some}"
    retrieves = any(card.get("retrieved_ids") for _, card in shown_cards)
    head = ("Item", *suite_head(shown), *since_head(shown), "Question", "What is wrong", "Answer", "Expected", "Cited")
    yield table(
        (*head, "Expected evidence", "Retrieved") if retrieves else (*head, "Expected evidence"),
        [
            (
                *first_cells(card, decision, shown),
                question(card),
                what_is_wrong(card, decision),
                _texts([card.get("claim")]),
                _texts(card.get("gold_claim_substr")),
                _texts(card.get("citations")),
                _texts(card.get("gold_citations")),
                *([_texts(card.get("retrieved_ids"), 8)] if retrieves else []),
            )
            for decision, card in shown_cards
        ],
    )


def first_cells(card: Row, decision: Decision, shown: views.Shown) -> list[str]:
    """The item, its suite where there are several, and since when it fails where history knows."""
    named = [code(str(card.get("qid", "")), 60), *([prose(decision.suite)] if suite_head(shown) else [])]
    told = views.since(decision, str(card.get("qid", ""))).removeprefix("since ")
    return [*named, prose(told) or "–"] if since_head(shown) else named


def what_is_wrong(card: Row, decision: Decision) -> str:
    """`wrong answer (containment): the answer does not contain the expected text`."""
    reason, told = words.reason(card.get("reason") or "", decision), str(card.get("says") or "")
    return prose(reason if reason.startswith(f"{told} (") else ": ".join(filter(None, (reason, told))), 300)


def suite_head(shown: views.Shown) -> tuple[str, ...]:
    return ("Suite",) if views.several(shown) else ()


def since_head(shown: views.Shown) -> tuple[str, ...]:
    """The column that says since when a question fails, where history knows."""
    return ("Since",) if any(decision.run.get("since") for decision in views.decisions(shown)) else ()


def question(card: Row) -> str:
    return prose(str(card.get("question") or "–"), MOST_TEXT)


def _texts(values: object, most: int = 3) -> str:
    found = [code(str(value)) for value in values if value not in (None, "")] if isinstance(values, list) else []
    return first_few(found, most) or "–"


def _slices(decision: Decision, level: str) -> Iterator[str]:
    names = views.slice_metrics(decision)
    if names:
        rows = [
            (code(name), *(prose(str(measures[metric])) for metric in names))
            for name, measures in decision.slices.items()
        ]
        yield f"{level} By slice\n\n" + table(("Slice", *(code(name) for name in names)), rows)


def _list(title: str, lines: Sequence[str], level: str) -> str:
    body = "\n".join(f"- {prose(line, 2000)}" for line in lines)
    return f"{level} {title}\n\n{body}" if body else ""


def _inputs(decision: Decision) -> str:
    read = [
        f"{prose(name)} {code(str(source['sha256'])[:12])} ({source.get('records', 0)} records)"
        for name, source in decision.inputs.items()
        if source.get("sha256")
    ]
    return "Read: " + ", ".join(read) if read else ""
