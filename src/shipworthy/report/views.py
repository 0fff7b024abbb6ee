"""Views: what every report says of a decision or a board, worked out once so that no two reports disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias, TypeVar

from ..core import rows
from ..core.board import Board
from ..core.decision import Decision, is_explained
from ..core.evidence import Row
from ..core.gates import Outcome, sentence
from ..core.metrics import Measure, decimal
from ..reading.reports import row_name
from ..text import first_few, plural, visible

Shown: TypeAlias = Decision | Board
T = TypeVar("T")

MARKS = {
    "PASS": "✓",
    "PASS-BUT-UNPROVEN": "✓",
    "FAIL": "✗",
    "FAIL-BUT-CLOSE": "✗",
    "NO-DATA": "?",
    "NOT-APPLICABLE": "–",
}
_WORST_FIRST = ("FAIL", "FAIL-BUT-CLOSE", "NO-DATA", "PASS-BUT-UNPROVEN", "PASS", "NOT-APPLICABLE")


def decisions(shown: Shown) -> list[Decision]:
    return shown.decisions if isinstance(shown, Board) else [shown]


def several(shown: Shown) -> bool:
    """Whether there is more than one suite, so that what is said of a question says in which."""
    return len(decisions(shown)) > 1


def word(verdict: str) -> str:
    """A suite's verdict on a board, in one word."""
    return "INCOMPLETE" if verdict == "NO VERDICT" else verdict


def failed(name: str) -> str:
    """What became of a suite that gave no decision; of controls that show the gates to be wrong; of the baseline."""
    return {"controls": "BROKEN", "baseline": "UNREADABLE"}.get(name, "NOT RUN")


def scope(board: Board) -> str:
    """How many suites ship, and of how many, and what those did not judge; controls and baseline are no suites."""
    ships = sum(decision.ships for decision in board.decisions)
    among = len(board.decisions) + sum(name not in ("controls", "baseline") for name in board.failures)
    lost = "".join(
        f"; {decision.suite}: {note}" for decision in board.decisions if decision.ships for note in decision.tolerated
    )
    return f"{ships} of {plural(among, 'suite')} ship{'s' if 1 in (ships, among) else ''}{lost}"


class Questions(NamedTuple):
    """Questions of which the same is to be said: `2 questions passed before and fail now`."""

    told: str
    names: list[str]
    suites: list[str]  # in which; none where there is but one

    def __str__(self) -> str:
        where = f" ({', '.join(self.suites)})" if self.suites else ""
        return f"{self.told}: {first_few([visible(name, 60) for name in self.names], NAMED)}{where}"


NAMED = 20  # questions that are named of one kind


def questions(shown: Shown) -> list[Questions]:
    """Questions by name, each once, whatever suites they fail in: lost and gained since the baseline, then the others.

    A decision of its own shows what fails as cards, unless it ships.
    """
    if any(decision.nothing_judged for decision in decisions(shown)):
        return []  # none of them fails for a reason of its own
    if isinstance(shown, Decision):
        failing = {name: [shown.suite] for name in _failing_names(shown)} if shown.ships else {}
        return _told(failing, _WITHIN, shown)
    lost, gained = (_by_question(_changed(shown, kind)) for kind in ("lost", "gained"))
    when = "before"
    if not shown.changes:  # no baseline: the last run that history has
        lost, gained = (_by_question(_turned(shown, kind)) for kind in ("new", "repaired"))
        when = "in the run before"
    failing = _by_question((decision.suite, _failing_names(decision)) for decision in shown.decisions)
    others = {name: suites for name, suites in failing.items() if name not in lost}
    stopped = {decision.suite for decision in shown.decisions if decision.exit_code}
    within = {name: suites for name, suites in others.items() if not stopped.intersection(suites)}
    shared = {name: suites for name, suites in others.items() if name not in within and len(suites) > 1}
    return [
        *_told(lost, (f"passed {when} and fails now", f"passed {when} and fail now"), shown),
        *_told(gained, (f"failed {when} and passes now", f"failed {when} and pass now"), shown),
        *_told(shared, ("fails in more than one suite", "fail in more than one suite"), shown),
        *_told(within, _WITHIN, shown),
    ]


_WITHIN = "fails within the gates", "fail within the gates"


def _changed(board: Board, kind: str) -> Iterable[tuple[str, Iterable[str]]]:
    return ((suite, map(_question, changes.get(kind, ()))) for suite, changes in board.changes.items())


def _turned(board: Board, kind: str) -> Iterable[tuple[str, Iterable[str]]]:
    """What is new or repaired since the run before, as history has it."""
    for decision in board.decisions:
        known = decision.run.get("since", {})
        new = (name for name, told in known.get("failing", {}).items() if told.get("new"))
        yield decision.suite, map(_question, new if kind == "new" else known.get("repaired", ()))


def since(decision: Decision, name: str) -> str:
    """`new`, or `since run 31 (9f3c2a1b)`: since when a question fails, where history knows; else blank."""
    failing = decision.run.get("since", {}).get("failing", {})
    told = failing.get(name) or failing.get(f"{name} ({decision.headline.get('arm')})")
    if told is None:
        return ""
    commit = visible(str(told.get("commit", "")), 40)[:8]
    name = told.get("name") or f"run {told.get('run')}"
    return "new" if told.get("new") else f"since {name}" + (f" ({commit})" if commit else "")


def _by_question(by_suite: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """The suites of each question."""
    found: dict[str, list[str]] = {}
    for suite, names in by_suite:
        for name in names:
            found.setdefault(name, []).append(suite)
    return found


def _told(found: Mapping[str, list[str]], verbs: tuple[str, str], shown: Shown) -> list[Questions]:
    if not found:
        return []
    suites = dict.fromkeys(suite for suites in found.values() for suite in suites)
    told = f"{plural(len(found), 'question')} {verbs[len(found) > 1]}"
    return [Questions(told, list(found), list(suites) if several(shown) else [])]


def _failing_names(decision: Decision) -> Iterable[str]:
    failing_rows = rows.failing_rows(decision.items, decision.display.passes)
    return dict.fromkeys(_question(row_name(row)) for row in failing_rows)


def _question(name: str) -> str:
    """The question of a row: where nobody named arms, there is but one, and it goes without saying."""
    return name.removesuffix(" (default)")


def style(verdict: str) -> str:
    return {"SHIP": "good", "NO-SHIP": "bad", "MEASURED": "dim"}.get(verdict, "odd")


def mood(outcome: Outcome) -> str:
    """good, bad, odd or dim: the colour of an outcome, always beside its word."""
    if outcome.state == "NOT-APPLICABLE":
        return "dim"
    if outcome.waived or outcome.state == "NO-DATA":
        return "odd"
    if outcome.holds:
        return "good"
    return "bad" if outcome.gate.severity == "block" else "odd"


def worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Gates that stop the release first, the farthest from its bound before the others."""
    return sorted(outcomes, key=_standing)


def _standing(outcome: Outcome) -> tuple[bool, bool, int, float, str]:
    excused = outcome.gate.severity != "block" or bool(outcome.waived)
    return (outcome.holds, excused, _WORST_FIRST.index(outcome.state), _margin(outcome), str(outcome.gate))


def _margin(outcome: Outcome) -> float:
    """How far on the good side of its bound a value lies, as a share of the bound; negative on the bad side.

    A count that is met is no near miss: none missing of none allowed is as good as it gets.
    """
    value, bound = outcome.measure.value, outcome.bound
    if value is None or bound is None:
        return 0.0
    if outcome.measure.kind == "count" and outcome.holds:
        return float("inf")
    gap = value - bound if outcome.gate.op == ">=" else bound - value
    return float(gap / (abs(bound) or 1))


def build(run: object) -> list[tuple[str, str]]:
    """What was judged, as far as `run` tells: commit, branch, time, label, release of the gold set."""
    known = _build(run)
    names = [name for name in ("commit", "branch", "time", "label", "gold_release") if known.get(name)]
    return [(name.replace("_", " "), visible(str(known[name])[: 12 if name == "commit" else 120])) for name in names]


def links(run: object) -> dict[str, str]:
    """The addresses of the commit, the CI run and the pull request, by what they are called."""
    names = {"commit": "commit_url", "CI run": "run_url", "pull request": "pull_url"}
    found = {name: _build(run).get(key) for name, key in names.items()}
    return {
        name: url for name, url in found.items() if isinstance(url, str) and url.startswith(("https://", "http://"))
    }


def _build(run: object) -> Mapping[str, object]:
    known = run.get("build") if isinstance(run, Mapping) else None
    return known if isinstance(known, Mapping) else {}


def gates_held(decision: Decision) -> tuple[int, int]:
    """How many of the gates that decide hold, and how many there are."""
    blocking = [
        outcome
        for outcome in decision.outcomes
        if outcome.gate.severity == "block" and not outcome.waived and outcome.state != "NOT-APPLICABLE"
    ]
    return sum(outcome.holds and outcome.state != "NO-DATA" for outcome in blocking), len(blocking)


def worst_gate(decision: Decision, brief: bool = False) -> str:
    """The gate nearest to stopping the release, or the one that stops it, in words; `brief` leaves out its figures.

    A gate for information is named only where there is no other; a miss that does not stop the release says so. Data
    that can't be judged comes before any gate.
    """
    if decision.verdict == "NO VERDICT" and decision.incomplete:
        return visible(decision.incomplete[0], 300)
    if decision.verdict == "NO-SHIP" and not any(map(stops, decision.outcomes)) and decision.reasons:
        return visible(decision.reasons[0], 300)  # a regression
    applying = [outcome for outcome in decision.outcomes if outcome.state != "NOT-APPLICABLE"]
    ordered = worst_first([one for one in applying if one.gate.severity != "info"] or applying)
    if not ordered:
        return "no gate was set" if decision.verdict == "MEASURED" else "no gate applies"
    words = sentence(ordered[0])
    return visible(words.rpartition(" (")[0] or words if brief else words) + _excuse(ordered[0])


def _excuse(outcome: Outcome) -> str:
    if outcome.holds:
        return " (not statistically certain)" if outcome.state == "PASS-BUT-UNPROVEN" else ""
    if outcome.waived:
        return " (waived)"
    return "" if outcome.gate.severity == "block" else f" ({outcome.gate.severity} only)"


def reasons(decision: Decision) -> list[str]:
    """The reasons, safe to show."""
    return [visible(reason, 2000) for reason in decision.reasons]


def to_fix(outcome: Outcome) -> str:
    """`fix 12 of these 16`: how many of the cases that count against a rate must change for its gate to pass."""
    measure = outcome.measure
    against = measure.k if outcome.gate.op == "<=" else measure.n - (measure.k or 0)
    falling = outcome.gate.op == "<="  # the sentence before counts those that fail, else those that pass
    if against != outcome.turn:
        return f"fix {outcome.turn} of these {against}" if falling else f"fix {outcome.turn} of the {against} that fail"
    if against != 1:
        return f"fix all {against}" if falling else f"fix all {against} that fail"
    return "fix that one" if falling else "fix the one that fails"


def value(outcome: Outcome) -> str:
    return number(outcome.measure, outcome)


def number(measure: Measure, outcome: Outcome | None = None) -> str:
    """The value in figures, never rounded towards its bound."""
    if measure.value is None:
        return "–"
    if measure.kind == "count":
        return str(measure.value)
    return decimal(measure.value, against=outcome.bound if outcome else None) + measure.unit


def counts(measure: Measure) -> str:
    if measure.kind == "rate":
        return f"{measure.k}/{measure.n}"
    return "" if measure.kind == "count" else f"n={measure.n}"


def interval(measure: Measure) -> str:
    """The 95 % interval in figures."""
    if measure.interval is None:
        return ""
    digits = 3 if max(abs(edge) for edge in measure.interval) < 100 else 0
    low, high = (f"{edge:.{digits}f}" for edge in measure.interval)
    return f"{low} to {high}{measure.unit}"


def stops(outcome: Outcome) -> bool:
    """Whether this gate alone would stop the release."""
    return not outcome.holds and not outcome.waived and outcome.gate.severity == "block"


def stopping(decision: Decision) -> list[Outcome]:
    """The gates that stop the release, the worst first, without what only follows from questions that were lost."""
    outcomes = worst_first(decision.outcomes)
    return [one for one in outcomes if stops(one) and not is_explained(one, decision.incomplete)]


def failing_items(decision: Decision, most: int | None = None) -> list[Row]:
    """The rows that fail, or the first of them: the offenders in their order, then the others."""
    rank = {offender.get("qid"): place for place, offender in enumerate(decision.offenders)}
    passes = decision.display.passes
    first = [item for item in rows.failing_rows(decision.items, passes) if _qid(item) in rank]
    others = (item for item in rows.failing_rows(decision.items, passes) if _qid(item) not in rank)
    return [*sorted(first, key=lambda item: rank[_qid(item)]), *islice(others, most)][:most]


def failing_count(decision: Decision) -> int:
    return rows.failing_count(decision.items, decision.display.passes)


def cards(decision: Decision) -> Sequence[Row]:
    """Every failing item in detail, worst first; the few offenders where there is no more."""
    return decision.cards or decision.offenders


def in_one_list(by_suite: Iterable[tuple[Decision, Iterable[T]]], name: Callable[[T], str]) -> list[tuple[Decision, T]]:
    """What fails in any suite as one list, each with its suite.

    Suites that stop the release come first; of each the worst before the second worst of any. What is of one question
    stands together, because it often has one cause.
    """
    listed = [(decision, list(found)) for decision, found in by_suite]
    pairs = [(decision, one) for decision, found in listed for one in found]
    if len(listed) < 2:
        return pairs
    first: dict[str, tuple[bool, int]] = {}
    for decision, found in listed:
        for place, one in enumerate(found):
            rank = (not decision.exit_code, place)
            first[name(one)] = min(first.get(name(one), rank), rank)
    return sorted(pairs, key=lambda pair: (first[name(pair[1])], name(pair[1])))


def failing_cards(shown: Shown) -> list[tuple[Decision, Row]]:
    """Every failing item of every suite in detail, as one list; of a suite that judged nothing there is none."""
    judged = ((decision, cards(decision)) for decision in decisions(shown) if not decision.nothing_judged)
    return in_one_list(judged, name=lambda card: _question(str(card.get("qid", ""))))


def failing_total(found: Sequence[tuple[Decision, Row]]) -> int:
    """How many items fail in the suites of a list, also where not each has a card."""
    suites = {decision.suite: decision for decision, _ in found}
    listed = Counter(decision.suite for decision, _ in found)
    return sum(max(failing_count(decision), listed[name]) for name, decision in suites.items())


def cards_by_name(decision: Decision) -> dict[str, Row]:
    """The worst card of each failing item."""
    named: dict[str, Row] = {}
    for card in cards(decision):
        named.setdefault(str(card.get("qid")), card)
    return named


def name_of(item: Row) -> str:
    """What an item is called: its qid, or the first value of its row."""
    return str(_qid(item) if _qid(item) is not None else next(iter(item.values()), ""))


def _qid(item: Row) -> object:
    return next((item[key] for key in ("qid", "id", "case") if key in item), None)


def problems(decision: Decision) -> list[str]:
    """Bad lines and warnings: what was noticed while reading."""
    return [
        *(problem for source in decision.inputs.values() for problem in source.get("problems", [])),
        *decision.warnings,
    ]


def legible(text: str, limit: int | None = None) -> str:
    """Text of several lines with every other control and format character spelled out; a cut says how much is gone."""
    rest = len(text) - limit if limit is not None else 0
    if limit is not None and rest > 0:
        text = text[:limit]
    shown = "\n".join(visible(line) for line in text.replace("\r\n", "\n").split("\n"))
    return f"{shown}… ({rest:,} more characters)" if rest > 0 else shown


def numbers(decision: Decision) -> dict[str, Measure]:
    """Metrics without a gate that have a value, without counts of nothing.

    Where there is no gate at all, also those that are undefined and say why.
    """
    gated = {outcome.gate.metric for outcome in decision.outcomes if not outcome.gate.slice}
    return {
        name: measure
        for name, measure in decision.measures.items()
        if name not in gated
        and (measure.kind != "count" or measure.value)
        and (measure.value is not None or (measure.missing and not decision.outcomes))
    }


def slice_metrics(decision: Decision, most: int = 5) -> list[str]:
    """The metrics worth a column when there are slices: those with gates, else the first that have a value."""
    if not decision.slices:
        return []
    known = [
        name
        for name in decision.measures
        if any(name in measures and measures[name].value is not None for measures in decision.slices.values())
    ]
    gated = {outcome.gate.metric for outcome in decision.outcomes}
    chosen = [name for name in known if name in gated and decision.measures[name].kind != "count"]
    return (chosen or known)[:most]
