"""Items: one question over the recorded runs. Since when does it fail, at which commit, and what did it say?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any

import msgspec

from ..reading.reports import reason_of, row_name
from ..suites import passing_rule
from ..text import visible
from .records import RecordedRun, shown_name

ANSWERS = 10  # different answers that are shown with their text, the newest
SHORT_COMMIT = 8
LONGEST_REASON = 200  # characters


def item_rows(seq: int, report: Mapping[str, Any]) -> Iterator[tuple[int, str, int, str, str]]:
    """What is kept of each item of a report: run, question, whether it passed, why not, and a digest of its answer."""
    passes = passing_rule(report)
    rows = {}  # by name: a report has one row for each, and what somebody made up must not stop a migration
    for row in report.get("items") or ():
        passed = passes(row)
        reason = "" if passed else visible(reason_of(row))
        rows[shown_name(row_name(row))] = (int(passed), reason[:200], answer_digest(row))
    return ((seq, name, *rest) for name, rest in rows.items())


def answer_digest(row: Mapping[str, Any]) -> str:
    """What two rows with the same answer have in common; blank where the suite's rows have no answer."""
    claim = row.get("claim")
    return hashlib.sha256(claim.encode("utf-8", "backslashreplace")).hexdigest()[:16] if isinstance(claim, str) else ""


class ItemRun(msgspec.Struct, frozen=True):
    """One question in one run."""

    run: RecordedRun
    passed: bool
    reason: str
    answer: str  # digest

    @property
    def where(self) -> str:
        """`run 31 (9f3c2a1b)`."""
        return f"run {self.run.seq}" + (f" ({self.run.commit[:SHORT_COMMIT]})" if self.run.commit else "")


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
        return f"{state} since {since.where}, {since.run.recorded_at[:10]}, {span}; last {last} in {before.where}"

    @property
    def git_log(self) -> str:
        """The command that lists the commits among which the cause is; blank where they are not known."""
        before, since = self.before, self.since
        if before is None or not before.run.commit or not since.run.commit or before.run.commit == since.run.commit:
            return ""
        return f"git log --oneline {before.run.commit[:SHORT_COMMIT]}..{since.run.commit[:SHORT_COMMIT]}"

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
            yield f"Answers ({len(self.answers)} different{', newest last' if len(self.answers) > 1 else ''})"
            for answer in self.answers:
                verdict = "passed" if answer.passed else f"failed: {answer.reason}" if answer.reason else "failed"
                yield f"  runs {spans(answer.runs)}  {verdict}"
                yield f"    {answer.text}"

    def _turn(self) -> Iterator[str]:
        """The last passing answer beside the first failing one, or the other way round."""
        before, since = self.before, self.since
        if before is None or before.answer == since.answer:
            return
        old, new = self.texts.get(before.answer), self.texts.get(since.answer)
        if old is None or new is None:
            return
        yield ""
        yield f"{before.where}, {'passed' if before.passed else 'failed'} → {since.where}, " + (
            "passed" if since.passed else f"failed: {since.reason}" if since.reason else "failed"
        )
        yield f"  {word_diff(old, new)}"


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


def spans(numbers: Sequence[int]) -> str:
    """`1–30, 33`: what follows without a gap is one span."""
    found = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        span = [number for _, number in group]
        found.append(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}")
    return ", ".join(found)


def word_diff(old: str, new: str) -> str:
    """Both texts as one, as git shows it: `within [-30-] {+60+} days`."""
    before, after = old.split(), new.split()
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(" ".join(before[a:b]))
            continue
        if b > a:
            parts.append(f"[-{' '.join(before[a:b])}-]")
        if d > c:
            parts.append(f"{{+{' '.join(after[c:d])}+}}")
    return " ".join(parts)
