"""Questions: all of them by runs, and one over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ..history import RecordedRun
from ..history.flaky import FAILURES, failures
from ..history.items import days_between, side_by_side
from ..history.records import SHORT_COMMIT, git_log
from ..suites import reason_words
from . import pictures
from .addresses import part
from .data import STRIP, WINDOW, Branch, Cell, Step
from .render import (
    ROOM,
    TEXT,
    At,
    Page,
    brief,
    cut,
    numbered,
    page,
    rendered,
    run_json,
    run_name,
)

ROWS = 300  # questions on a page
LINKED = 100  # runs of a question's strip that lead to their pages
ENDINGS = 15  # different answers that the page of a question shows
SPANS = 12  # stretches of runs that are named of each


class Rows(NamedTuple):
    """Rows of a suite on a page of questions."""

    suite: str
    anchor: str
    runs: int
    totals: str
    rows: list[str]
    data: list[dict[str, Any]]


def items(branch: Branch, number: int = 1) -> Page | None:
    """Questions × runs."""
    pages = all_item_pages(branch)
    if not 1 <= number <= len(pages):
        return None
    at = At(f"items/{numbered(number)}", branch)
    everything = [row for groups in pages for group in groups for row in group.data]
    reasons = sorted({(row["reason"], row["suite"]) for row in everything if row["reason"]})
    words = {code: reason_words(suite, code) for code, suite in reasons}
    data = {
        "pages": len(pages),
        "runs": {group.suite: [one.seq for one in branch.full[group.suite]][-STRIP:] for group in pages[number - 1]},
        "items": [row for group in pages[number - 1] for row in group.data],
    }
    return page(
        "items",
        at,
        data,
        groups=pages[number - 1],
        several=len(branch.latest) > 1,
        counts={
            "all": len(everything),
            **{kind: sum(row[kind] for row in everything) for kind in ("failing", "new", "flaky")},
        },
        reasons=sorted(words.items())[:100],
        slices=sorted({one for row in everything for one in row["slices"]})[:200],
        number=number,
        pages=len(pages),
    )


def all_item_pages(branch: Branch) -> list[list[Rows]]:
    """All rows, cut into pages by their number and size."""
    if branch.item_pages is None:
        pages: list[list[Rows]] = [[]]
        room, left = ROOM, ROWS
        for suite in branch.latest:
            rows = _item_rows(branch, suite)
            start = 0
            while start < len(rows.rows) or start == 0:
                count = 0
                for row in rows.rows[start:]:
                    if count == left or room < len(row):
                        break
                    room -= len(row.encode("utf-8", "replace"))
                    count += 1
                if not count and pages[-1]:
                    pages.append([])
                    room, left = ROOM, ROWS
                    continue
                count = max(count, 1)
                end = start + count
                pages[-1].append(rows._replace(rows=rows.rows[start:end], data=rows.data[start:end]))
                start, left = end, left - count
                if start < len(rows.rows):
                    pages.append([])
                    room, left = ROOM, ROWS
        branch.item_pages = pages
    found: list[list[Rows]] = branch.item_pages
    return found


def _item_rows(branch: Branch, suite: str) -> Rows:
    now = branch.now(suite)
    strips = branch.grid(suite)
    latest = branch.latest[suite]
    texts = branch.source.items_of(latest)
    at = At("items/index.html", branch)
    found: list[tuple[dict[str, Any], Sequence[Cell | None], Mapping[str, Any]]] = []
    for qid, cell in now.items():
        cells = strips[qid]
        row = texts.get(qid, {})
        seen = [one.passed for one in cells if one is not None]
        flaky, new = branch.is_flaky(suite, qid), not cell.passed and cell.turned_in(latest.seq)
        data = {
            "suite": suite,
            "qid": qid,
            "passed": cell.passed,
            "failing": not cell.passed,
            "new": new,
            "flaky": flaky,
            "reason": cell.reason,
            "since": abs(cell.since),
            "changes": sum(one != two for one, two in pairwise(seen)),
            "slices": [brief(one, 40) for one in row.get("slices") or ()][:20],
            "results": "".join("-" if one is None else "p" if one.passed else "f" for one in cells),
        }
        found.append((data, cells, row))
    found.sort(
        key=lambda one: (one[0]["passed"], -one[0]["changes"], one[0]["passed"] or -one[0]["since"], one[0]["qid"])
    )
    rows = []
    for told, strip, row in found:
        kinds = [kind for kind in ("failing", "new", "flaky") if told[kind]]
        shown = told | {
            "classes": " ".join(kinds),
            "since": branch.run(told["since"]) if not told["passed"] else None,
            "always": now[told["qid"]].since < 0,
            "turns": told["changes"],
            "slices": "|".join(told["slices"])[:300],
            "question": brief(row.get("question") or "", 80),
            "strip": pictures.strip_of(branch, suite, told["qid"], strip),
        }
        rows.append(rendered("item_row", one=shown, at=at))
    counts = [failed for failed, _ in branch.failed_in_each(suite)]
    totals = pictures.totals(counts, len(now), f"questions that failed in each of the last {len(counts)} runs")
    return Rows(suite, f"suite-{part(suite)}", len(counts), totals, rows, [data for data, _, _ in found])


def item(branch: Branch, suite: str, qid: str) -> Page | None:
    """One question over time."""
    steps = branch.steps(suite, qid)
    if not steps:
        return None
    at = At(f"items/{part(suite)}/{part(qid)}/index.html", branch)
    last = steps[-1]
    seen = {step.run.seq: step for step in steps}
    since = branch.run(abs(last.since))
    before = _step_before(branch, suite, qid, last, seen)
    stretches = [list(group) for _, group in groupby(steps, key=lambda step: (step.passed, step.reason, step.answer))]
    texts, question, slices = _answers(branch, qid, steps, since, before)
    whole = [step for step in steps if not step.run.subset]
    recent = [step.passed for step in whole[-STRIP:]]
    # The grid is looked at only where it may be.
    flaky = failures(recent) >= FAILURES and branch.is_flaky(suite, qid)
    turn, same = _turn(branch, since, before, seen, texts)
    endings: dict[tuple[object, ...], list[list[Step]]] = {}  # each different one with its stretches, newest first
    for stretch in reversed(stretches):
        endings.setdefault((stretch[0].passed, stretch[0].reason, stretch[0].answer), []).append(stretch)
    rows: list[dict[str, Any]] = [
        {
            "passed": passed,
            "reason": reason,
            "text": texts.get(str(answer), ""),
            "count": sum(map(len, found)),
            "spans": [(stretch[0].run, stretch[-1].run) for stretch in found[:SPANS]],
            "more": max(len(found) - SPANS, 0),
        }
        for (passed, reason, answer), found in endings.items()
    ]
    marks = [place for place, (one, two) in enumerate(pairwise(steps), 1) if one.run.gold != two.run.gold]
    strip = pictures.linked_strip(
        [
            pictures.LinkedCell(
                "p" if step.passed else "f",
                at.run(step.run),
                f"{run_name(step.run)} {step.run.commit[:SHORT_COMMIT]}: {_ended(step)}",
            )
            for step in steps[-LINKED:]
        ],
        f"Each of the last {min(len(steps), LINKED)} runs",
        [mark - max(len(steps) - LINKED, 0) for mark in marks if mark > len(steps) - LINKED],
    )
    older = steps[:-LINKED]
    if older:
        words = f"The {len(older)} runs before"
        strip = (
            pictures.strip(["p" if step.passed else "f" for step in older], words, [m for m in marks if m < len(older)])
            + strip
        )
    data = {
        "suite": suite,
        "qid": qid,
        "question": question,
        "passes": last.passed,
        "reason": last.reason,
        "since": run_json(since) if since else {"run": abs(last.since)},
        "never_otherwise": last.since < 0,
        "before": run_json(before) if before else None,
        "git_log": git_log(before, since) if before and since else "",
        "flaky": flaky,
        "stretches": [
            {
                "first": stretch[0].run.seq,
                "last": stretch[-1].run.seq,
                "runs": len(stretch),
                "passed": stretch[0].passed,
                "reason": stretch[0].reason,
                "answer": stretch[0].answer,
            }
            for stretch in reversed(stretches)
        ],
        "answers": {key: text for key, text in texts.items() if text},
    }
    return page(
        "item",
        at,
        data,
        question=cut(question, TEXT),
        slices=slices,
        since=since,
        before=before,
        before_pruned=0 if last.since < 0 or before else abs(last.since),
        streak=branch.count_since(suite, abs(last.since)),
        days=days_between(since, last.run) if since else "",
        reason=_reason(suite, last),
        failures=failures(recent),
        strip_length=len(recent),
        strip=strip,
        passed=sum(step.passed for step in steps),
        total=len(steps),
        changes=sum(one.passed != two.passed for one, two in pairwise(steps)),
        left_out=len(branch.series[suite]) == WINDOW,
        gold_changed=[steps[mark].run for mark in marks][-5:],
        turn=turn,
        same_answer=same,
        answers=any(texts.values()),
        endings=rows[:ENDINGS],
        more_endings=max(len(rows) - ENDINGS, 0),
    )


def _ended(step: Step) -> str:
    return "passed" if step.passed else f"failed {step.reason}"


def _reason(suite: str, step: Step) -> str:
    return brief(reason_words(suite, step.reason), 100) if step.reason else ""


def _step_before(branch: Branch, suite: str, qid: str, last: Step, seen: Mapping[int, Step]) -> RecordedRun | None:
    """The last run that ended otherwise."""
    if last.since < 0:
        return None
    earlier = [seq for seq, step in seen.items() if seq < last.since and step.passed != last.passed]
    return seen[max(earlier)].run if earlier else branch.last_before(suite, qid, last.since, not last.passed)


def _answers(
    branch: Branch, qid: str, steps: Sequence[Step], since: RecordedRun | None, before: RecordedRun | None
) -> tuple[dict[str, str], str, list[str]]:
    """The texts of the newest different answers by digest, the question, and its slices."""
    newest = branch.source.items_of(steps[-1].run).get(qid, {})
    question = str(newest.get("question") or "")
    slices = [str(one) for one in newest.get("slices") or ()][:10]
    if branch.source.redact:
        return {}, question, slices
    last = {step.answer: step.run for step in steps if step.answer}
    wanted = list(dict.fromkeys(step.answer for step in reversed(steps) if step.answer))[:10]
    turn = {run.seq for run in (since, before) if run}
    wanted += [step.answer for step in steps if step.run.seq in turn and step.answer and step.answer not in wanted]
    texts = {key: cut(text, TEXT) for key, text in branch.kept_texts(wanted).items()}
    for key in wanted:
        if key not in texts:
            claim = branch.source.items_of(last[key]).get(qid, {}).get("claim")
            texts[key] = cut(claim, TEXT) if isinstance(claim, str) else ""
    return {key: texts[key] for key in wanted}, question, slices


def _turn(
    branch: Branch,
    since: RecordedRun | None,
    before: RecordedRun | None,
    seen: Mapping[int, Step],
    texts: Mapping[str, str],
) -> tuple[dict[str, Any] | None, bool]:
    """The last answer that ended otherwise beside the first that ended as now; whether they are the same."""
    if not since or not before or since.seq not in seen or before.seq not in seen:
        return None, False
    old, new = seen[before.seq].answer, seen[since.seq].answer
    if old == new:
        return None, bool(old) and old in texts
    if old not in texts or new not in texts:
        return None, False
    left, right = side_by_side(texts[old], texts[new])
    return {"before": before, "after": since, "left": left, "right": right}, False
