"""Items: one question over the recorded runs. Since when does it fail, at which commit, and what did it say?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec

from ..reading.reports import reason_of, row_name
from ..suites import passing_rule, reason_words
from ..text import plural, visible
from .records import LONGEST_NAME, SHORT_COMMIT, SUBSET, RecordedRun, RunRef, git_log, gold_of, shown_name
from .store import HistoryStore

ANSWERS = 10  # different answers that are shown with their text, the newest
ALIKE = 0.3  # share of the words in common from which on two texts are shown as one that was changed
MOST_WORDS = 1500  # of a text that is compared word by word, which takes its square
LONGEST_REASON = 200  # characters
LONGEST_TEXT = 20_000  # characters of an answer that are kept beside its digest
NONE, FAILING, ALL = TEXTS = ("none", "failing", "all")  # which answers are kept as text
COMPLETE = 2  # of a run in the column has_items: its items are kept, and since when each ended so
_PRIOR = 20  # runs on a part of the questions that are looked at, until the last one on all of them


class KeptItem(NamedTuple):
    """What is kept of an item of a report."""

    passed: bool
    reason: str
    answer: str  # digest
    text: str


def items_of(report: Mapping[str, Any]) -> dict[str, KeptItem]:
    """The items of a report by name: one each, since what somebody made up must not stop a migration."""
    passes = passing_rule(report)
    rows = {}
    for row in report.get("items") or ():
        passed = passes(row)
        reason = "" if passed else visible(reason_of(row))
        text = visible(row["claim"], LONGEST_TEXT) if isinstance(row.get("claim"), str) else ""
        rows[shown_name(row_name(row))] = KeptItem(passed, reason[:LONGEST_REASON], answer_digest(row), text)
    return rows


def insert_items(store: HistoryStore, seq: int, report: Mapping[str, Any], texts: str = FAILING) -> None:
    """Keep the items of a run. Items of all runs before it are kept already: `since` follows from the last of them.

    It is the run that turned the question; negative where none did: the first that has it.
    """
    before, items = standing(store, seq), items_of(report)
    rows = []
    for name, item in items.items():
        was, since = before.get(name, (item.passed, -seq))
        rows.append((seq, name, int(item.passed), item.reason, item.answer, since if was == item.passed else seq))
    store.rows("DELETE FROM shipworthy_items WHERE run = ?", (seq,))  # of a version that did not know since when
    store.many("INSERT INTO shipworthy_items (run, qid, passed, reason, answer, since) VALUES (?, ?, ?, ?, ?, ?)", rows)
    wanted = {
        item.answer: item.text
        for item in items.values()
        if item.text and texts != NONE and not (texts != ALL and item.passed)
    }
    store.many(
        "INSERT INTO shipworthy_texts (answer, text) VALUES (?, ?) ON CONFLICT (answer) DO NOTHING",
        sorted(wanted.items()),
    )
    gold = visible(gold_of(report.get("inputs") or {}), LONGEST_NAME)
    store.rows(f"UPDATE shipworthy_runs SET has_items = {COMPLETE}, gold = ? WHERE seq = ?", (gold, seq))


def standing(store: HistoryStore, seq: int) -> dict[str, tuple[bool, int]]:
    """How each question ended before a run, in the runs of its project, branch and suite, and since which run.

    A run without a project, which an earlier version recorded, belongs to any.
    """
    runs = store.rows(
        "SELECT b.seq, b.decision FROM shipworthy_runs a JOIN shipworthy_runs b ON b.branch = a.branch "
        "AND b.suite = a.suite AND b.seq < a.seq AND (b.project = a.project OR b.project = '' OR a.project = '') "
        f"WHERE a.seq = ? ORDER BY b.seq DESC LIMIT {_PRIOR}",
        (seq,),
    )
    found: dict[str, tuple[bool, int]] = {}
    for number, decision in runs:
        for name, passed, since in store.rows(
            "SELECT qid, passed, since FROM shipworthy_items WHERE run = ?", (number,)
        ):
            found.setdefault(name, (bool(passed), since))
        if not decision.endswith(SUBSET):
            break
    return found


def answer_digest(row: Mapping[str, Any]) -> str:
    """What two rows with the same answer have in common; blank where the suite's rows have no answer."""
    claim = row.get("claim")
    return hashlib.sha256(claim.encode("utf-8", "backslashreplace")).hexdigest()[:16] if isinstance(claim, str) else ""


class ItemRun(msgspec.Struct, frozen=True):
    """One question in one run."""

    run: RunRef
    passed: bool
    reason: str
    answer: str  # digest

    @property
    def where(self) -> str:
        """`run 31 (9f3c2a1b)`."""
        return self.run.where


class ItemAnswer(msgspec.Struct, frozen=True):
    """One of the different answers to a question, and the runs that gave it."""

    text: str
    passed: bool
    reason: str
    runs: list[int]  # their numbers


class ItemHistory(msgspec.Struct):
    """One question over the runs of one branch, oldest first."""

    qid: str
    suite: str
    project: str
    branch: str
    runs: list[ItemRun]
    answers: list[ItemAnswer] = []  # newest last
    texts: dict[str, str] = {}  # digest → answer

    @property
    def passes(self) -> bool:
        return self.runs[-1].passed

    @property
    def since(self) -> ItemRun:
        """The first run of those that ended like the newest one, without one that ended otherwise in between."""
        streak = self.runs[-1]
        for one in reversed(self.runs):
            if one.passed != streak.passed:
                break
            streak = one
        return streak

    @property
    def before(self) -> ItemRun | None:
        """The last run that ended otherwise."""
        return next((one for one in reversed(self.runs) if one.passed != self.passes), None)

    @property
    def changes(self) -> int:
        return sum(one.passed != two.passed for one, two in pairwise(self.runs))

    @property
    def gold_changes(self) -> list[int]:
        """The runs before which the gold set changed."""
        return [two.run.seq for one, two in pairwise(self.runs) if one.run.gold != two.run.gold]

    @property
    def streak(self) -> int:
        """How many runs ended like the newest one since then."""
        return sum(one.run.seq >= self.since.run.seq for one in self.runs)

    @property
    def sentence(self) -> str:
        """Since when it fails or passes, in words."""
        since, before, runs = self.since, self.before, self.streak
        state = "passing" if self.passes else "failing"
        span = "1 run" if runs == 1 else f"{runs} runs"
        if before is None:
            return (
                f"{state} in all {span} that are recorded" if runs > 1 else f"{state} in the only run that is recorded"
            )
        last = "failed" if self.passes else "passed"
        known = (since.run.commit[:SHORT_COMMIT], days_between(since.run, self.runs[-1].run), span)
        where = f"run {since.run.seq} ({', '.join(filter(None, known))})"
        return f"{state} since {where}; last {last} in {before.where}"

    @property
    def git_log(self) -> str:
        return git_log(self.before.run, self.since.run) if self.before else ""

    def strip(self, width: int = 60) -> str:
        """The last runs as one character each, oldest first."""
        return "".join("✓" if one.passed else "✗" for one in self.runs[-width:])

    def lines(self, width: int = 60) -> Iterator[str]:
        """For the terminal."""
        of = " · ".join(part for part in (self.suite, self.project, self.branch) if part)
        shown = min(width, len(self.runs))
        yield f"{self.qid}  {'PASSES' if self.passes else 'FAILS'}  {of}"
        yield f"  {self.sentence}"
        yield f"  {self.strip(width)}  last {shown} of {len(self.runs)} runs, oldest first"
        if self.changes > 1:
            yield f"  It changed {self.changes} times: a flaky question, or several causes."
        if self.gold_changes:
            numbers = ", ".join(map(str, self.gold_changes[-5:]))
            yield f"  The gold set changed before run {numbers}: a result may have changed with it."
        if self.git_log:
            yield f"  What changed: {self.git_log}"
        yield from self._turn()
        if self.answers:
            yield ""
            yield f"What it answered{', newest last' if len(self.answers) > 1 else ''}"
            for answer in self.answers:
                runs = "runs" if len(answer.runs) > 1 else "run"
                yield f"  {runs} {spans(answer.runs)}  {self._result(answer)}"
                yield f"    {answer.text}"

    def _result(self, one: ItemRun | ItemAnswer) -> str:
        why = f": {reason_words(self.suite, one.reason)}" if one.reason else ""
        return "passed" if one.passed else f"failed{why}"

    def _turn(self) -> Iterator[str]:
        """The last passing answer beside the first failing one, or the other way round."""
        before, since = self.before, self.since
        if before is None:
            return
        old, new = self.texts.get(before.answer), self.texts.get(since.answer)
        if old is None or new is None:
            return
        yield ""
        yield f"{before.where}, {'passed' if before.passed else 'failed'} → {since.where}, {self._result(since)}"
        yield "  The answer is the same in both." if before.answer == since.answer else f"  {word_diff(old, new)}"


def as_json(item: ItemHistory) -> dict[str, Any]:
    """The same for programs."""
    before = item.before
    return {
        "qid": item.qid,
        "suite": item.suite,
        "project": item.project,
        "branch": item.branch,
        "passes": item.passes,
        "since": _run_json(item.since),
        "streak": item.streak,
        "before": None if before is None else _run_json(before),
        "changes": item.changes,
        "gold_changes": item.gold_changes,
        "git_log": item.git_log,
        "runs": [_run_json(one) for one in item.runs],
        "answers": msgspec.to_builtins(item.answers),
    }


def _run_json(one: ItemRun) -> dict[str, Any]:
    return {
        "run": one.run.seq,
        "id": one.run.id,
        "recorded_at": one.run.recorded_at,
        "commit": one.run.commit,
        "subject": one.run.subject,
        "decision": one.run.decision,
        "passed": one.passed,
        "reason": one.reason,
        "answer": one.answer,
    }


def days_between(first: RunRef | RecordedRun, last: RunRef | RecordedRun) -> str:
    """For how long: `3 days`, as far as the times of the runs can be read."""
    try:
        span = datetime.fromisoformat(last.recorded_at) - datetime.fromisoformat(first.recorded_at)
    except (ValueError, TypeError):
        return ""
    return plural(span.days, "day") if span.days > 0 else ""


def spans(numbers: Sequence[int]) -> str:
    """`1–30, 33`: what follows without a gap is one span."""
    found = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        span = [number for _, number in group]
        found.append(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}")
    return ", ".join(found)


def side_by_side(old: str, new: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Each text in pieces, `gone` or `come` where only this one has them; none is marked where they are not alike."""
    parts = changed_words(old, new)
    if not any(kind == "same" for kind, _ in parts):
        return [("same", old)] if old else [], [("same", new)] if new else []
    return [part for part in parts if part[0] != "come"], [part for part in parts if part[0] != "gone"]


def word_diff(old: str, new: str) -> str:
    """Both texts as one, as git shows it: `within [-30-] {+60+} days`."""
    signs = {"same": ("", ""), "gone": ("[-", "-]"), "come": ("{+", "+}")}
    return " ".join(f"{signs[kind][0]}{text}{signs[kind][1]}" for kind, text in changed_words(old, new))


def changed_words(old: str, new: str) -> list[tuple[str, str]]:
    """Both texts as one, in pieces: what is the same, what is gone and what came instead. Long texts only as wholes."""
    before, after = old.split(), new.split()
    if max(len(before), len(after)) > MOST_WORDS:
        return [(kind, text) for kind, text in (("gone", old), ("come", new)) if text]
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(("same", " ".join(before[a:b])))
            continue
        if b > a:
            parts.append(("gone", " ".join(before[a:b])))
        if d > c:
            parts.append(("come", " ".join(after[c:d])))
    same = sum(len(text.split()) for kind, text in parts if kind == "same")
    if same < ALIKE * max(len(before), len(after)):  # two texts, not one that was changed
        return [(kind, " ".join(words)) for kind, words in (("gone", before), ("come", after)) if words]
    return parts
