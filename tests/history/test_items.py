"""One question over time: since when it fails, which commit, what it said, in SQLite and a real PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from histories import recorded_before, schema_of

from conftest import Cli, gold, trace, write_lines
from shipworthy import UsageError, evaluate
from shipworthy.core.decision import report
from shipworthy.history import History
from shipworthy.history.items import spans, word_diff

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed
BREAK = 31  # the first run in which Q2 is wrong


def ran(number: int, broken: bool, coin: bool, **options: Any) -> dict[str, Any]:
    """Three questions: one always right, one a coin, one that breaks."""
    answers = {"Q0": True, "Q1": coin, "Q2": not broken}
    traces = [
        trace(qid, claim="The right answer." if right else f"It is 60 days, {qid}.", ts=number)
        for qid, right in answers.items()
    ]
    return report(evaluate([gold(qid) for qid in answers], traces, **options))


def planted(history: History, runs: int = 61, **known: str) -> None:
    for number in range(1, runs + 1):
        made = ran(number, broken=number >= BREAK, coin=number % 3 > 0)
        day = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        about = {"label": f"n{number}", "recorded_at": day.isoformat(), **known}
        history.record(made, commit=f"{number:040x}", branch="main", **about)


def test_the_run_and_the_commit_since_when_it_fails(url: str) -> None:
    history = History(url)
    planted(history)
    (one,) = history.item("Q2")
    assert not one.passes and one.since.run.seq == BREAK and one.streak == 31 and one.changes == 1
    assert one.before is not None and one.before.run.commit == f"{BREAK - 1:040x}"
    assert one.strip(5) == "✗✗✗✗✗" and one.strip(100) == "✓" * 30 + "✗" * 31
    assert [(answer.passed, spans(answer.runs)) for answer in one.answers] == [(True, "1–30"), (False, "31–61")]
    assert one.answers[1].text == "It is 60 days, Q2."
    shown = "\n".join(one.lines())
    assert f"failing since run {BREAK} (00000000, 30 days, 31 runs); last passed in run 30" in shown
    assert "[-The right answer.-] {+It is 60 days, Q2.+}" in shown


def test_passing_coin_and_only_run(url: str) -> None:
    history = History(url)
    planted(history, 5)
    (steady,), (coin,) = history.item("Q0"), history.item("Q1")
    assert steady.sentence == "passing in all 5 runs that are recorded" and steady.before is None
    assert coin.changes == 2 and "It changed 2 times" in "\n".join(coin.lines())
    (last,) = history.item("Q0", limit=1)
    assert last.sentence == "passing in the only run that is recorded"


def test_branches_and_projects_are_apart(url: str) -> None:
    history = History(url)
    for number, (branch, project) in enumerate([("main", "a"), ("fix", "a"), ("main", "b"), ("main", "a")], 1):
        history.record(ran(number, broken=number == 4, coin=True), branch=branch, project=project, label=str(number))
    series = history.item("Q2")
    assert [(one.project, one.branch, one.strip()) for one in series] == [
        ("a", "fix", "✓"),
        ("a", "main", "✓✗"),
        ("b", "main", "✓"),
    ]
    assert [one.strip() for one in history.item("Q2", branch="main", project="a")] == ["✓✗"]
    points = history.trend("precision", branch="main", project="a")
    assert [point.run.label for point in points] == ["1", "4"]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_runs_that_an_earlier_version_recorded_are_found(url: str, version: int) -> None:
    reports = [ran(number, broken=number > 2, coin=True) for number in range(1, 26)]
    recorded_before(url, reports, version)
    history = History(url)
    assert len(history.runs(project="any")) == 25
    assert schema_of(url) == version or version == 1  # who only reads changes nothing, where it can be read
    (one,) = history.item("Q2")
    assert one.strip() == "✓✓" + "✗" * 23 and one.since.run.label == "r2"
    history.record(ran(26, broken=False, coin=True), branch="main", label="new")
    (one,) = history.item("Q2")
    assert one.passes and one.since.run.label == "new" and one.before is not None
    assert [history.report(f"r{index}") for index in range(25)] == reports


def test_pruned_runs_take_their_items_along(url: str) -> None:
    history = History(url)
    planted(history, 6)
    history.prune(2)
    (one,) = history.item("Q0")
    assert [run.run.seq for run in one.runs] == [5, 6]


def test_exported_runs_keep_what_is_known_of_their_commit(url: str, tmp_path: Path) -> None:
    history = History(url)
    history.record(ran(1, True, True), commit="c" * 40, project="shop", subject="Raise the limit", parent="b" * 40)
    other = History(tmp_path / "other.db")
    other.import_runs(iter([json.loads(json.dumps(row)) for row in history.export()]))
    (run,) = other.runs()
    assert (run.project, run.subject, run.parent) == ("shop", "Raise the limit", "b" * 40)
    assert other.item("Q2")[0].strip() == "✗"


def test_a_question_that_no_run_has(url: str, tmp_path: Path) -> None:
    history = History(url)
    history.record(ran(1, True, True))
    with pytest.raises(UsageError) as caught:
        history.item("Q9")
    assert caught.value.code == "history-no-item" and "'Q9'" in caught.value.what
    with pytest.raises(UsageError) as caught:
        History(tmp_path / "none.db").item("Q1")
    assert caught.value.code == "history-absent" and not (tmp_path / "none.db").exists()


def test_hostile_names_and_answers_are_escaped(tmp_path: Path, cli: Cli) -> None:
    qid = "a\x1b[31m'; DROP TABLE shipworthy_items; --\u202e"
    made = report(evaluate([gold(qid)], [trace(qid, claim="no \x07 bell ##vso[task]\n::error::x")]))
    path = tmp_path / "h.db"
    History(path).record(made)
    (one,) = History(path).item(qid)
    assert one.strip() == "✗"
    ran_ = cli("history", "item", qid, "--history", path)
    assert ran_.code == 0 and "\x1b" not in ran_.out and "\x07" not in ran_.out and "\n::error" not in ran_.out


def test_a_question_of_several_arms_is_several_series(tmp_path: Path) -> None:
    from shipworthy.jobs.evaluate import evaluate as by_suite

    traces = [trace("Q0") | {"arm": arm, "e2e_ms": 100} for arm in ("fast", "deep")]
    history = History(tmp_path / "h.db")
    history.record(report(by_suite("latency", gold=[gold("Q0")], trace=traces)))
    assert [one.qid for one in history.item("Q0")] == ["Q0 (deep)", "Q0 (fast)"]


def test_from_the_command_line_after_checks(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/shop")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    monkeypatch.delenv("GITHUB_HEAD_REF", raising=False)
    write_lines(tmp_path / "gold.jsonl", [gold(f"Q{index}") for index in range(3)])
    (tmp_path / "shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    for commit, cite in (("a" * 40, "d1"), ("b" * 40, "d2"), ("c" * 40, "d2")):
        monkeypatch.setenv("GITHUB_SHA", commit)
        write_lines(tmp_path / "trace.jsonl", [trace("Q0", ts=1), trace("Q1", ts=1), trace("Q2", cite=(cite,), ts=1)])
        cli("check")
    ran_ = cli("history", "item", "Q2")
    assert ran_.code == 0, ran_.err
    assert "Q2  FAILS  answers · acme/shop · main" in ran_.out
    assert "  run 1  passed\n" in ran_.out and "runs 2–3  failed: wrong citation (wrong-citation)\n" in ran_.out
    assert "The answer is the same in both." in ran_.out  # it cites something else
    assert "failing since run 2 (bbbbbbbb, 2 runs)" in ran_.out and "git log --oneline aaaaaaaa..bbbbbbbb" in ran_.out
    (found,) = cli("history", "item", "Q2", "--json").json
    assert found["since"]["commit"] == "b" * 40 and found["streak"] == 2 and found["before"]["run"] == 1


def test_words_that_changed() -> None:
    assert word_diff("within 30 days of buying", "within 60 days of buying") == "within [-30-] {+60+} days of buying"
    assert word_diff("", "now") == "{+now+}" and word_diff("gone", "") == "[-gone-]"
    assert spans([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"
