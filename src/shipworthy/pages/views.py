"""Views: each kind of page as a function of a branch. `site` writes what these return, `serve` sends it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ..core.gates import short_state
from ..history import SHORT, RecordedRun
from ..history.items import side_by_side
from ..history.records import SHORT_COMMIT, git_log, shown_name
from ..report.html import Room, content
from ..report.stored import decision_of
from ..text import visible
from . import pictures
from .addresses import part
from .data import (
    STRIP,
    WINDOW,
    Branch,
    Cell,
    Check,
    Source,
    key_of,
    number_of,
    op_of,
    rows_of,
    texts_of,
)
from .render import (
    GATE_MOODS,
    LARGEST,
    TEXT,
    TEXTS,
    At,
    Page,
    base_of,
    brief,
    cut,
    mood,
    numbered,
    page,
    rendered,
    run_json,
    run_name,
    web_address,
    weight,
    when,
)

CHECKS = 50  # on a page of runs
LISTED = 100  # failing questions of the overview
BRANCHES = 200  # on the first page
CARDS = 40_000  # bytes of failing questions that the report of a run shows in detail


# The first page


class BranchRow(NamedTuple):
    """A branch on the first page."""

    project: str
    name: str
    verdict: str
    run: RecordedRun
    failing: int
    new: int
    strip: str


def projects(source: Source) -> Page:
    """Every project with its branches, the one that ran last first."""
    at = At("index.html")
    newest = source.rows("SELECT project, branch, max(seq) FROM shipworthy_runs GROUP BY project, branch")
    last = {(project, branch): int(seq) for project, branch, seq in newest}
    known = sorted(source.names, key=lambda name: -last.get(name, 0))
    rows = [row for row in (_branch_row(source.branch(*name, STRIP)) for name in known[:BRANCHES]) if row]
    order = dict.fromkeys(row.project for row in rows)
    groups = [(project, [row for row in rows if row.project == project]) for project in order]
    data = [
        {
            "project": row.project,
            "branch": row.name,
            "verdict": row.verdict,
            "failing": row.failing,
            "new": row.new,
            "last": run_json(row.run),
            "page": f"{base_of(row.project, row.name)}/index.html",
        }
        for row in rows
    ]
    more = max(len(known) - BRANCHES, 0)
    return page("projects", at, {"branches": data}, rows=groups, more=more)


def _branch_row(branch: Branch) -> BranchRow | None:
    if not branch.checks:
        return None
    checks = [check for check in branch.checks if not check.newest.subset][-STRIP:]
    failing = {(suite, qid): cell for suite in branch.latest for qid, cell in failing_now(branch, suite)}
    new = sum(cell.turned_in(branch.latest[suite].seq) for (suite, _), cell in failing.items())
    stopped = sum(check.verdict == "NO-SHIP" for check in checks)
    words = f"{stopped} of the last {len(checks)} checks were NO-SHIP"
    return BranchRow(
        branch.project,
        branch.name,
        branch.verdict,
        branch.checks[-1].newest,
        len(failing),
        new,
        pictures.strip([_verdict_state(check.verdict) for check in checks], words),
    )


def _verdict_state(verdict: str) -> str:
    return {"SHIP": "p", "NO-SHIP": "f"}.get(verdict, "o")


def failing_now(branch: Branch, suite: str) -> list[tuple[str, Cell]]:
    return [(qid, cell) for qid, cell in branch.now(suite).items() if not cell.passed]


# A branch


def overview(branch: Branch) -> Page:
    """What is red, since when, and the gates over time."""
    at = At("index.html", branch)
    reports = {suite: branch.source.report(run) for suite, run in branch.latest.items()}
    suites: list[dict[str, Any]] = [
        {
            "run": run,
            "mood": mood(run.decision),
            "reasons": [cut(one, 400) for one in texts_of(reports[suite], "reasons")],
        }
        for suite, run in branch.latest.items()
    ]
    found = [(suite, qid, cell) for suite in branch.latest for qid, cell in sorted(failing_now(branch, suite))]
    found.sort(key=lambda one: (-abs(one[2].since), one[0]))
    questions = {suite: branch.source.items_of(run) for suite, run in branch.latest.items()}
    failing = [_failing_row(branch, *one, questions[one[0]]) for one in found[:LISTED]]
    gates = [gate for suite in branch.latest for gate in _gate_cards(branch, suite, reports[suite], at)]
    gates.sort(key=lambda gate: gate["mood"] != "bad")
    changes = branch.changes_of([run.seq for run in branch.latest.values()])
    newest = branch.checks[-1].newest
    data = {
        "verdict": branch.verdict,
        "suites": [run_json(one["run"]) | {"reasons": one["reasons"]} for one in suites],
        "failing": [
            {key: one[key] for key in ("suite", "qid", "reason", "runs", "new", "flaky", "always")}
            | {"since": run_json(one["since"]) if one["since"] else None}
            for one in failing
        ],
        "failing_count": len(found),
        "gates": [{key: gate[key] for key in ("suite", "key", "gate", "value", "state", "waived")} for gate in gates],
    }
    return page(
        "overview",
        at,
        data,
        branch=branch,
        newest=newest,
        links=_links(newest),
        suites=suites,
        changed={
            kind: [(suite, names) for suite, run in branch.latest.items() if (names := getattr(changes[run.seq], kind))]
            for kind in ("new", "repaired")
        },
        failing=failing,
        gates=gates,
        several=len(branch.latest) > 1,
        strip_length=min(STRIP, max(map(len, branch.full.values()), default=0)),
    )


def _failing_row(
    branch: Branch, suite: str, qid: str, cell: Cell, texts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "suite": suite,
        "qid": qid,
        "reason": cell.reason,
        "since": branch.run(abs(cell.since)),
        "always": cell.since < 0,
        "runs": branch.count_since(suite, abs(cell.since)),
        "new": cell.turned_in(branch.latest[suite].seq),
        "flaky": branch.is_flaky(suite, qid),
        "question": brief(texts.get(qid, {}).get("question") or "", 80),
        "strip": pictures.strip_of(branch, suite, qid, branch.grid(suite)[qid]),
    }


def _gate_cards(branch: Branch, suite: str, report: Mapping[str, Any], at: At) -> list[dict[str, Any]]:
    """The gates of the newest run over the last runs."""
    outcomes = {key: outcome for outcome in rows_of(report, "outcomes") if (key := key_of(outcome))}
    points = branch.points(suite, list(outcomes))
    found = []
    for key, outcome in outcomes.items():
        state = str(outcome.get("state", ""))
        if outcome.get("severity") == "info" or state == "NOT-APPLICABLE":
            continue
        found.append(
            {
                "suite": suite,
                "key": key,
                "gate": str(outcome.get("gate", "")),
                "value": number_of(points[key][-1]),
                "state": state,
                "waived": str(outcome.get("waived") or ""),
                "mood": GATE_MOODS.get(state, "good"),
                "svg": pictures.gate_chart(
                    f"{suite} {key}", points[key], op_of(outcome), lambda point: at.run(point.run)
                ),
            }
        )
    return found


def _links(run: RecordedRun) -> list[tuple[str, str]]:
    """Where the build is, outside."""
    found = (("CI run", web_address(run.run_url)), ("pull request", web_address(run.pull_url)))
    return [one for one in found if one[1]]


# Runs


def check_pages(branch: Branch) -> int:
    return max(-(-len(branch.checks) // CHECKS), 1)


def runs(branch: Branch, number: int = 1) -> Page | None:
    """Checks with new and repaired questions, newest first."""
    pages = check_pages(branch)
    if not 1 <= number <= pages:
        return None
    at = At(f"runs/{numbered(number)}", branch)
    chosen = list(reversed(branch.checks))[(number - 1) * CHECKS : number * CHECKS]
    changes = branch.changes_of([run.seq for check in chosen for run in check.runs])
    rows: list[dict[str, Any]] = []
    for check in chosen:
        by_suite = [(run.suite, changes[run.seq]) for run in check.runs]
        rows.append(
            {
                "runs": check.runs,
                "newest": check.newest,
                "verdict": check.verdict,
                "failing": len({name for _, one in by_suite for name in one.failing}),
                "new": [(suite, one.new) for suite, one in by_suite if one.new],
                "repaired": [(suite, one.repaired) for suite, one in by_suite if one.repaired],
            }
        )
    data = {
        "pages": pages,
        "checks": [
            {
                "verdict": row["verdict"],
                "runs": [run_json(run) for run in row["runs"]],
                "failing": {run.suite: len(changes[run.seq].failing) for run in row["runs"]},
                "new": dict(row["new"]),
                "repaired": dict(row["repaired"]),
            }
            for row in rows
        ],
    }
    return page(
        "runs",
        at,
        data,
        checks=rows,
        several=len(branch.series) > 1,
        number=number,
        pages=pages,
        cut=any(len(one) == WINDOW for one in branch.series.values()),
        window=WINDOW,
    )


def run(branch: Branch, found: RecordedRun) -> Page:
    """The report of one run, with links to the questions, the gates and the runs beside it."""
    at = At(f"runs/{found.id[:SHORT]}/index.html", branch)
    report = branch.source.report(found)
    changes = branch.changes_of([found.seq])[found.seq]
    before = branch.before(found)
    check = next((one for one in branch.checks if found in one.runs), Check((found,)))
    data = run_json(found) | {
        "digest": found.digest,
        "gold": found.gold,
        "reasons": texts_of(report, "reasons"),
        "gates": [
            {name: outcome.get(name) for name in ("gate", "state", "severity", "value", "n", "says", "waived")}
            for outcome in rows_of(report, "outcomes")[:100]
        ],
        "new": changes.new,
        "repaired": changes.repaired,
        "failing": changes.failing,
        "before": run_json(before) if before else None,
    }
    notes = rendered(
        "run_notes",
        at=at,
        run=found,
        before=before,
        new=changes.new,
        repaired=changes.repaired,
        others=[one for one in check.runs if one != found],
        redact=branch.source.redact,
    )
    known = {"build": _build(found), "since": {"failing": _since(branch, found)}}
    decision = decision_of(report, known, redact=branch.source.redact)
    room = Room(
        rows=False,
        texts=CARDS,
        item=lambda name: at.item(found.suite, shown_name(name)),
        gate=lambda key: at.gate(found.suite, key) if at.has_gate(found.suite, key) else "",
        notes=notes,
    )
    for fitting in (room, room._replace(blocks=False, texts=CARDS // 2)):
        shown = content(decision, fitting)
        made = page("run", at, data, run=found, content=shown.html, script_data=shown.data)
        if len(made.html) <= LARGEST:
            break
    return made


def _build(found: RecordedRun) -> dict[str, str]:
    """What the report says of a build, as history knows it."""
    known = {"commit": found.commit, "time": when(found.recorded_at), "label": brief(found.label, 60)}
    addresses = {name: web_address(getattr(found, name)) for name in ("commit_url", "run_url", "pull_url")}
    return known | {"gold_release": brief(found.gold_release, 60)} | addresses


def _since(branch: Branch, found: RecordedRun) -> dict[str, dict[str, Any]]:
    """Since when each question that fails in a run did so then."""
    told = {}
    for qid, cell in branch.cells(found).items():
        if not cell.passed:
            first = branch.run(abs(cell.since))
            name = {"name": run_name(first), "commit": first.commit} if first else {}
            told[qid] = {"new": cell.since == found.seq, "run": abs(cell.since), **name}
    return told


def compare(branch: Branch, a: RecordedRun, b: RecordedRun) -> Page:
    """Two runs of a suite side by side."""
    name = f"{a.id[:SHORT]}..{b.id[:SHORT]}"
    at = At(f"compare/{name}/index.html", branch)
    left, right = branch.cells(a), branch.cells(b)
    texts = (branch.source.items_of(a), branch.source.items_of(b))
    both = [qid for qid in left if qid in right]
    lost = [qid for qid in both if left[qid].passed and not right[qid].passed]
    gained = [qid for qid in both if right[qid].passed and not left[qid].passed]
    room = TEXTS
    shown: dict[str, list[dict[str, Any]]] = {"lost": [], "gained": []}
    for kind, names, reasons in (("lost", lost, right), ("gained", gained, left)):
        for qid in names:
            one = _beside(qid, texts, reasons[qid].reason)
            room -= 1000 + weight(one.values())
            if room < 0:
                break
            shown[kind].append(one)
    notes = []
    if a.gold != b.gold:
        notes.append("The gold set is not the same in both: a result may have changed with it.")
    if (a.definitions, a.profile) != (b.definitions, b.profile):
        notes.append("The definitions or the profile differ: a result may have changed with them.")
    data = {
        "before": run_json(a),
        "after": run_json(b),
        "lost": lost,
        "gained": gained,
        "only_before": [qid for qid in left if qid not in right],
        "only_after": [qid for qid in right if qid not in left],
        "gates": _beside_gates(branch, a, b),
        "notes": notes,
    }
    return page(
        "compare",
        at,
        data,
        a=a,
        b=b,
        git_log=git_log(a, b),
        both=len(both),
        lost=shown["lost"],
        gained=shown["gained"],
        more_lost=len(lost) - len(shown["lost"]),
        more_gained=len(gained) - len(shown["gained"]),
        only_a=data["only_before"],
        only_b=data["only_after"],
        redact=branch.source.redact,
    )


def _beside(qid: str, texts: tuple[Mapping[str, Any], Mapping[str, Any]], reason: str) -> dict[str, Any]:
    old, new = (rows.get(qid, {}) for rows in texts)
    found: dict[str, Any] = {"qid": qid, "reason": reason, "question": cut(new.get("question") or "", 400)}
    if isinstance(old.get("claim"), str) and isinstance(new.get("claim"), str):
        found["left"], found["right"] = side_by_side(cut(old["claim"], TEXT), cut(new["claim"], TEXT))
    else:
        found["left"] = found["right"] = None
    return found


def _beside_gates(branch: Branch, a: RecordedRun, b: RecordedRun) -> list[dict[str, Any]]:
    sides = []
    for one in (a, b):
        outcomes = {key: row for row in rows_of(branch.source.report(one), "outcomes") if (key := key_of(row))}
        sides.append(
            {
                key: {
                    "value": _rounded(row.get("value")),
                    "state": brief(short_state(str(row.get("state", ""))), 24),
                    "mood": GATE_MOODS.get(str(row.get("state")), "good"),
                }
                for key, row in outcomes.items()
            }
        )
    keys = dict.fromkeys([*sides[1], *sides[0]])
    return [{"key": key, "left": sides[0].get(key), "right": sides[1].get(key)} for key in list(keys)[:100]]


def _rounded(value: object) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else brief(value, 24)


# The feed


def feed(branch: Branch) -> Page:
    """Atom: every change of the verdict, newest first."""
    at = At("feed.xml", branch)
    checks = [check for check in branch.checks if not check.newest.subset]
    changes = [(one, two) for one, two in pairwise(checks) if one.verdict != two.verdict]
    if checks:
        changes = [(None, checks[0]), *changes]  # type: ignore[list-item]
    title = visible(f"{branch.project or 'shipworthy'} {branch.name}: verdict", 200)
    updated = _time(changes[-1][1].newest.recorded_at if changes else "")
    entries = "".join(_entry(at, one, two) for one, two in reversed(changes[-50:]))
    sign = part(f"{branch.project}/{branch.name}")
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{escape(title)}</title>\n<id>urn:shipworthy:branch:{sign}</id>\n<updated>{updated}</updated>\n"
        f'<author><name>shipworthy</name></author>\n<link href="index.html"/>\n{entries}</feed>\n'
    )
    return Page(at.here, text.encode("utf-8", "backslashreplace"), b"")


def _entry(at: At, before: Check | None, after: Check) -> str:
    run = after.newest
    told = f"{before.verdict} → {after.verdict}" if before else after.verdict
    title = visible(f"{told}: {run_name(run)} {run.commit[:SHORT_COMMIT]}", 200)
    return (
        f"<entry><title>{escape(title)}</title><id>urn:shipworthy:run:{escape(run.id[:64])}</id>"
        f"<updated>{_time(run.recorded_at)}</updated><link href={quoteattr(at.run(run))}/>"
        f"<summary>{escape(visible(run.subject, 300))}</summary></entry>\n"
    )


def _time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat(timespec="seconds").replace("+00:00", "Z")
    except ValueError:
        return "1970-01-01T00:00:00Z"
