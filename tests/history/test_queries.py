"""What pages and reports ask of history: branches, questions by runs, since when each question fails."""

from __future__ import annotations

from typing import Any

import pytest
from histories import recorded_before
from test_items import planted

from conftest import gold, trace
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.history import History, RecordedRun
from shipworthy.jobs.record import Since, failing_in, newest_run
from shipworthy.pages.data import Cell, bring_up_to_date, reading

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed


def asked(number: int, **passes: bool) -> dict[str, Any]:
    """A report of some questions."""
    traces = [
        trace(qid, claim="The right answer." if right else "It is 60 days.", ts=number) for qid, right in passes.items()
    ]
    return report(evaluate([gold(qid) for qid in passes], traces))


def failing_since(history: History, **where: Any) -> dict[str, Since]:
    """The questions that fail in the newest run, and since when."""
    run = newest_run(history, suite="answers", **where)
    return {} if run is None else failing_in(history, run)


def matrix(url: str, last: int = 60) -> tuple[list[RecordedRun], dict[str, list[Cell | None]]]:
    """The last runs, and each question in them, as pages show them."""
    bring_up_to_date(url)
    with reading(url) as source:
        branch = source.branch("", "main")
        return branch.full["answers"][-last:], branch.strips("answers", list(branch.now("answers")), last)


def test_a_break_a_coin_and_what_never_changed(url: str) -> None:
    history = History(url)
    planted(history, 40)
    runs, rows = matrix(url, 12)
    since = failing_since(history, branch="main")
    assert [run.seq for run in runs] == list(range(29, 41)) and list(rows) == ["Q0", "Q1", "Q2"]
    strips = {name: "".join("✓" if cell and cell.passed else "✗" for cell in row) for name, row in rows.items()}
    assert strips == {"Q0": "✓" * 12, "Q1": "✓✗✓✓✗✓✓✗✓✓✗✓", "Q2": "✓✓" + "✗" * 10}
    turned = [cell.turned_in(run.seq) for run, cell in zip(runs, rows["Q2"], strict=True) if cell]
    assert turned == [False, False, True, *[False] * 9]
    assert {cell.since for cell in rows["Q0"] if cell} == {-1}  # it never ended otherwise
    assert {name: (one.run, one.commit) for name, one in since.items()} == {"Q2": (31, f"{31:040x}")}
    (item,) = history.item("Q2")
    digests = [one.answer for one in item.runs if not one.passed]
    assert history.texts_of(digests).popitem()[1] == "It is 60 days, Q2."


def test_the_questions_that_a_run_turned(url: str) -> None:
    history = History(url)
    for number, passes in enumerate(
        [{"Q0": True, "Q1": False}, {"Q0": False, "Q1": False, "Q9": True}, {"Q0": False, "Q1": True, "Q9": False}], 1
    ):
        history.record(asked(number, **passes), branch="main")
    runs = history.runs()
    with reading(url) as source:
        found = source.branch("", "main").changes_of([run.seq for run in runs])
    assert [(one.new, one.repaired) for one in found.values()] == [([], []), (["Q0"], []), (["Q9"], ["Q1"])]
    first, _, last = ({name: since.run for name, since in failing_in(history, run).items()} for run in runs)
    assert first == {"Q1": 1} and last == {"Q0": 2, "Q9": 3}


def test_series_are_apart_and_a_pull_request_begins_where_its_base_is(url: str) -> None:
    history = History(url)
    history.record(asked(1, Q0=False, Q1=True), branch="main", project="a", commit="a" * 40)
    history.record(asked(2, Q0=True, Q1=False), branch="main", project="b")
    history.record(asked(3, Q0=False, Q1=False), branch="main", project="a", commit="b" * 40)
    found = failing_since(history, branch="fix", project="a", base="main")
    assert {name: (since.run, since.commit[:1]) for name, since in found.items()} == {"Q0": (1, "a"), "Q1": (3, "b")}
    assert failing_since(history, branch="fix", project="a") == {}
    history.record(asked(4, Q0=True, Q1=False), branch="fix", project="a")
    found = failing_since(history, branch="fix", project="a", base="main")
    assert {name: since.run for name, since in found.items()} == {"Q1": 4}
    assert failing_since(history, branch="main", project="a", before=3).keys() == {"Q0"}
    with reading(url) as source:
        branches = {name: source.branch(*name) for name in source.names}
        counts = {name: (len(branch.runs), branch.verdict) for name, branch in branches.items()}
    assert counts == {("a", "fix"): (1, "NO-SHIP"), ("a", "main"): (2, "NO-SHIP"), ("b", "main"): (1, "NO-SHIP")}


def test_a_run_on_a_part_of_the_questions_does_not_hide_the_others(url: str) -> None:
    history = History(url)
    history.record(asked(1, Q0=False, Q1=False), branch="main")
    whole = [gold("Q0", type="a"), gold("Q1", type="b")]
    part = report(evaluate(whole, [trace("Q0", ts=2)], where=["type=a"]))
    history.record(part, branch="main")
    history.record(asked(3, Q0=False, Q1=False), branch="main", label="again")
    found = failing_since(history, branch="main")
    assert {name: since.run for name, since in found.items()} == {"Q0": 3, "Q1": 1}
    newest = newest_run(history, suite="answers", branch="main")
    assert newest is not None and newest.seq == 3


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_earlier_versions_are_brought_up_to_date_in_order(url: str, version: int) -> None:
    """A run that is recorded before anybody asks waits for its turn: since when follows from the runs before."""
    recorded_before(url, [asked(number, Q0=number < 4, Q1=True) for number in range(1, 30)], version)
    history = History(url)
    assert failing_since(history, branch="main") == {}  # not known yet; nothing is written
    history.record(asked(30, Q0=False, Q1=False), branch="main", label="later")
    assert not history.knows_since()
    assert not history.fill_items(within=0) and history.fill_items()
    found = failing_since(history, branch="main")
    assert {name: since.run for name, since in found.items()} == {"Q0": 4, "Q1": 30}
    assert len(matrix(url)[0]) == 30


@pytest.mark.parametrize(("texts", "kept"), [("none", set()), ("failing", {"bad"}), ("all", {"good", "bad"})])
def test_which_answers_are_kept_as_text(url: str, texts: str, kept: set[str]) -> None:
    history = History(url, texts=texts)
    planted(history, 32)
    (one,) = history.item("Q2")
    digests = {"good" if run.passed else "bad": run.answer for run in one.runs}
    known = history.texts_of(digests.values())
    assert {name for name, digest in digests.items() if digest in known} == kept
    # what is not kept is in the reports
    assert [answer.text for answer in one.answers] == ["The right answer.", "It is 60 days, Q2."]
    history.prune(1)
    assert len(history.texts_of(digests.values())) == len(kept - {"good"} if texts != "all" else kept)


def test_a_pruned_run_is_still_the_one_since_when(url: str) -> None:
    history = History(url)
    planted(history, 40)
    history.prune(3)
    (since,) = failing_since(history, branch="main").values()
    assert since == Since(31, "", "")


def test_a_server_that_goes_away_in_the_middle_is_told_and_comes_back(server: str) -> None:
    import psycopg

    from shipworthy.errors import EnvironmentFailure

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS gone")
        connection.execute("CREATE DATABASE gone")
    history = History(server.replace("/postgres?", "/gone?"), timeout=2)
    planted(history, 3)

    def read_twice() -> None:
        with history.reading():
            assert len(history.runs()) == 3
            with psycopg.connect(server, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'gone'")
            failing_since(history, branch="main")

    with pytest.raises(EnvironmentFailure) as caught:
        read_twice()
    assert caught.value.code == "history-unusable" and "tester" in (caught.value.where or "")
    assert len(history.runs()) == 3
    assert history.record(asked(9, Q0=True, Q1=True, Q2=True), branch="main")


@pytest.mark.parametrize(
    "qid", ["../../etc/passwd", "a' OR 1=1 --", "%00", "Q (", "\u202eQ\x00", "x" * 5000, "日本 😀"]
)
def test_hostile_names_are_kept_apart_and_found(url: str, qid: str) -> None:
    history = History(url)
    for number, right in enumerate((True, False, False)):
        history.record(asked(number, **{qid: right, "Q1": True}), branch="main", label=str(number))
    (series,) = [one for one in history.item(qid) if not one.passes]
    assert series.strip() == "✓✗✗" and series.since.run.seq == 2
    (name,) = failing_since(history, branch="main")
    assert matrix(url)[1].keys() == {name, "Q1"}
