"""Standards: what runs are held to: one gate over time, and the versions of the gold set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from ..history import RecordedRun
from . import pictures
from .addresses import part
from .data import STRIP, WINDOW, Branch, key_of, number_of, op_of, rows_of
from .render import GATE_MOODS, At, Page, cut, definition, metric_words, page, run_json

RELEASES = 40  # versions of a gold set that are listed


def gate(branch: Branch, suite: str, key: str) -> Page | None:
    """One gate over time, its health and its waivers."""
    if (suite, key) not in branch.gates:
        return None
    points = branch.points(suite, [key], WINDOW)[key]
    judged = [point for point in points if point.holds is not None]
    if not judged:
        return None
    name = part(f"{suite}.{key}")
    at = At(f"gates/{name}/index.html", branch)
    outcomes = rows_of(branch.source.report(branch.full[suite][-1]), "outcomes")
    outcome = next((one for one in outcomes if key_of(one) == key), {})
    held = sum(bool(point.holds) for point in judged)
    thresholds = [
        (f"{bound:g}", next(group).run)
        for bound, group in groupby(judged, key=lambda point: point.bound)
        if bound is not None
    ]
    rows = [
        {
            "run": point.run,
            "value": number_of(point),
            "interval": f"{point.interval[0]:.3f} to {point.interval[1]:.3f}" if point.interval else "",
            "bound": "" if point.bound is None else f"{point.bound:g}",
            "mood": "dim" if point.holds is None else "good" if point.holds else "bad",
            "state": "n/a" if point.holds is None else "passed" if point.holds else "failed",
        }
        for point in reversed(points)
    ]
    data = {
        "suite": suite,
        "gate": str(outcome.get("gate", key)),
        "runs": len(judged),
        "held": held,
        "waived": str(outcome.get("waived") or ""),
        "points": [
            {
                "run": point.run.seq,
                "id": point.run.id,
                "numerator": None if point.value is None else point.value.numerator,
                "denominator": None if point.value is None else point.value.denominator,
                "interval": point.interval,
                "bound": point.bound,
                "holds": point.holds,
            }
            for point in points
        ],
    }
    return page(
        "gate",
        at,
        data,
        key=key,
        definition=definition(suite, key),
        says=cut(outcome.get("says") or "", 500),
        mood_now=GATE_MOODS.get(str(outcome.get("state")), "good"),
        svg=pictures.gate_chart(
            f"{suite} {metric_words(suite, key)}", points, op_of(outcome), lambda point: at.run(point.run), (960, 260)
        ),
        judged=len(judged),
        health=_health(held, len(judged)),
        thresholds=thresholds,
        waived=cut(outcome.get("waived") or "", 500),
        excused=[point.run for point in judged if point.excused],
        rows=rows[:STRIP],
    )


def _health(held: int, judged: int) -> str:
    if judged < 5 or 0 < held < judged:
        return ""
    return "it never failed" if held else "it never passed"


def gold(branch: Branch) -> Page:
    """Versions of the gold set, and what changed with each."""
    at = At("gold/index.html", branch)
    groups = []
    for suite, every in branch.full.items():
        versions = [list(runs) for _, runs in groupby(every, key=lambda one: one.gold)]
        if any(version[0].gold for version in versions):
            newest = list(pairwise([[], *versions]))[: -RELEASES - 1 : -1]
            groups.append((suite, [_release(branch, one, two) for one, two in newest]))
    data = {
        "suites": {
            suite: [
                {key: run_json(value) if key in ("first", "last") else value for key, value in one.items()}
                for one in releases
            ]
            for suite, releases in groups
        },
    }
    return page("gold", at, data, groups=groups)


def _release(branch: Branch, before: Sequence[RecordedRun], runs: Sequence[RecordedRun]) -> dict[str, Any]:
    first, about = runs[0], runs[-1].inputs.get("gold") or {}
    old, new = (
        ({qid: _gist(row) for qid, row in branch.source.items_of(one).items()} if one else {})
        for one in (before[-1] if before else None, first)
    )
    reviewed = about.get("reviewed")
    return {
        "release": runs[-1].gold_release,
        "digest": first.gold,
        "records": about.get("records", ""),
        "review": f"{reviewed} reviewed by a person" if isinstance(reviewed, int) else "",
        "count": len(runs),
        "added": sorted(new.keys() - old.keys()) if before else [],
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(qid for qid in new.keys() & old.keys() if new[qid] != old[qid]),
        "first": first,
        "last": runs[-1],
    }


def _gist(row: Mapping[str, Any]) -> tuple[object, ...]:
    """What a report tells of a question of the gold set."""
    return row.get("question"), row.get("answerable"), tuple(map(str, row.get("slices") or ()))
