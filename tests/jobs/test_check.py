"""Check: one board from a config, with baselines, waivers, controls and history that never changes a verdict."""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable
from conftest import write_lines as write
from shipworthy import Suite, UsageError, check, compare, verify
from shipworthy.config import load_config
from shipworthy.config.keys import configurable, inputs_of, options_of
from shipworthy.core.control import Setup
from shipworthy.core.options import fields_of
from shipworthy.history import History
from shipworthy.jobs import check as checking
from shipworthy.jobs import record as recording
from shipworthy.jobs.check import drive
from shipworthy.reading.lock import freeze
from shipworthy.report import render, views
from shipworthy.suites import load_suite

CONFIG = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
{answers}

[suites.stability]
gold = "gold.jsonl"
runs = "runs.jsonl"
{rest}
"""
ITEMS = [gold("A1"), gold("A2"), unanswerable("U1")]
GOOD = [trace("A1"), trace("A2"), refusal("U1")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "gold.jsonl", ITEMS)
    write(tmp_path / "trace.jsonl", GOOD)
    write(tmp_path / "runs.jsonl", [{**one, "seed": seed, "jitter": "none"} for one in GOOD for seed in (0, 1)])
    configure(tmp_path)
    return tmp_path


def configure(folder: Path, answers: str = "", rest: str = "") -> Path:
    path = folder / "shipworthy.toml"
    path.write_text(CONFIG.format(answers=answers, rest=rest))
    return path


def run(folder: Path, **options: Any) -> Any:
    return check(folder / "shipworthy.toml", **options)


def test_every_suite_on_one_board(project: Path) -> None:
    board = run(project)
    assert [(one.suite, one.verdict) for one in board.decisions] == [("answers", "SHIP"), ("stability", "SHIP")]
    assert (board.verdict, board.exit_code, board.failures) == ("SHIP", 0, {})
    assert set(board.run["history"]) == {"answers", "stability"}


def test_a_board_on_which_nothing_is_gated_does_not_ship(tmp_path: Path, cli: Cli) -> None:
    write(tmp_path / "gold.jsonl", [{"qid": "A1", "question": "A1?", "relevant": ["d1"]}])
    write(tmp_path / "run.jsonl", [{"qid": "A1", "retrieved_ids": ["d1"]}])
    config = tmp_path / "shipworthy.toml"
    config.write_text('[suites.retrieval]\ngold = "gold.jsonl"\nrun = "run.jsonl"\n')
    ran = cli("check", "--config", config, "--json")
    assert (ran.code, ran.json["decision"], ran.json["pass"]) == (3, "NO VERDICT", False)
    assert ran.json["suites"]["retrieval"]["decision"] == "MEASURED"
    config.write_text(config.read_text() + 'gates = ["recall@5>=0.9"]\n')
    ran = cli("check", "--config", config, "--json")
    assert (ran.code, ran.json["decision"]) == (0, "SHIP")


def test_a_suite_that_fails_does_not_hide_another(project: Path) -> None:
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    board = run(project)
    assert [one.verdict for one in board.decisions] == ["NO-SHIP", "SHIP"] and board.exit_code == 1


def test_a_suite_that_can_not_be_read_is_named_and_the_other_is_judged(project: Path) -> None:
    (project / "runs.jsonl").write_text("{broken")
    board = run(project)
    assert [one.suite for one in board.decisions] == ["answers"]
    assert "runs.jsonl:1" in board.failures["stability"] and board.exit_code == 3
    (project / "runs.jsonl").unlink()
    assert run(project).exit_code == 2
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    assert run(project).exit_code == 1  # a gate that fails decides


def test_a_fault_of_ours_is_a_failure_of_that_suite(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(suite: Suite, *rest: Any, **more: Any) -> Any:
        return run_suite(suite, *rest, **more) if suite.name == "answers" else 1 / 0

    run_suite = checking.run_suite
    monkeypatch.setattr(checking, "run_suite", broken)
    board = run(project)
    assert "ZeroDivisionError" in board.failures["stability"] and board.exit_codes["stability"] == 4
    assert board.decisions[0].ships


def test_only_the_suites_that_were_asked_for(project: Path) -> None:
    assert [one.suite for one in run(project, suites=["stability"]).decisions] == ["stability"]
    with pytest.raises(UsageError, match="It has: answers, stability"):
        run(project, suites=["latency"])


def test_any_engine_gives_the_same_board(project: Path) -> None:
    (project / "runs.jsonl").write_text("{broken")
    alone = run(project, record=False, engine="memory").report()
    apart = run(project, record=False, engine="disk", jobs=2).report()
    assert alone["digest"] == apart["digest"] and alone["failures"] == apart["failures"]
    with pytest.raises(UsageError, match="engine-setting"):
        run(project, record=False, engine="dask", jobs=2)


def test_waivers_of_the_config(project: Path) -> None:
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    entry = '[[waivers]]\ngate = "{}"\nowner = "Ada"\nreason = "later"\nexpires = 2026-11-15\n'
    configure(project, rest=entry.format("precision") + entry.format("answers:chr"))
    board = run(project, today=datetime.date(2026, 11, 15))
    assert board.verdict == "SHIP"
    assert "waiver of precision is in use; it expires on 2026-11-15 (Ada: later)" in board.notes
    late = run(project, today=datetime.date(2026, 11, 16))
    assert late.verdict == "NO-SHIP" and any("expired on 2026-11-15 and blocks" in note for note in late.notes)
    configure(project, rest=entry.format("precicion"))
    with pytest.raises(UsageError, match="waiver-unknown"):
        run(project)


def test_severities_of_the_config(project: Path) -> None:
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    configure(
        project, 'gates = [{gate = "precision >= 0.8", severity = "warn"}, {gate = "chr >= 0.75", severity = "info"}]'
    )
    assert run(project).verdict == "SHIP"


@pytest.mark.parametrize("severity", ["warn", "info"])
def test_a_suite_none_of_whose_gates_blocks_has_no_verdict(project: Path, severity: str) -> None:
    gates = ", ".join(f'{{gate = "{gate}", severity = "{severity}"}}' for gate in ("precision >= 0.8", "chr >= 0.75"))
    configure(project, f"gates = [{gates}]\nonly_gates = true")
    board = run(project)
    assert (board.verdict, board.exit_code) == ("NO VERDICT", 3)
    configure(project, f'gates = [{gates}, "over_refusal <= 0.5"]\nonly_gates = true')
    assert run(project).verdict == "SHIP"


def test_proof_can_be_required(project: Path) -> None:
    board = run(project, require_proof=True)
    assert board.verdict == "NO-SHIP" and "not statistically certain" in board.decisions[0].reasons[0]


def test_what_would_make_it_pass_is_on_the_board(project: Path) -> None:
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    answers = run(project).decisions[0]
    assert {"gate": "precision >= 0.80", "turn": 1, "nearest": ["A1"]} in answers.sections["turns"]
    shown = render(answers, "text").decode()
    assert "To pass precision >= 0.80, fix the one that fails. Closest to passing: A1." in shown


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("precison >= 0.8", "Did you mean precision?"),
        ("chr <= 0.8", "points the wrong way"),
        ("chr >= 80", "out of range"),
    ],
)
def test_a_gate_that_only_the_suite_knows_to_be_wrong_is_told_with_its_line(
    project: Path, gate: str, says: str
) -> None:
    path = configure(project, f'gates = [\n  "recall@5 >= 0.5",\n  "{gate}",\n]')
    told = run(project).failures["answers"]
    assert told.startswith(f"{path}:7: ") and says in told


def test_a_gate_against_a_baseline_that_nobody_named_says_what_to_do(project: Path) -> None:
    configure(project, 'gates = ["recall@5 >= baseline - 0.02"]')
    board = run(project)
    assert board.decisions[0].verdict == "NO VERDICT"
    assert any(
        note.startswith("answers: a gate compares with a baseline, but none") or "no baseline is named" in note
        for note in board.notes
    )


def test_a_broken_lock_is_what_the_board_says_of_its_suite(project: Path) -> None:
    freeze(project / "gold.jsonl", "1", "Ada")
    write(project / "gold.jsonl", [*ITEMS[:1], gold("A2", notes="changed"), *ITEMS[2:]])
    board = run(project)
    assert board.exit_code == 3
    assert views.worst_gate(board.decisions[0]) == "1 item changed since the gold set was frozen: A2"


def test_a_further_slice_leaves_the_baseline_comparable(project: Path) -> None:
    write(project / "gold.jsonl", [{**one, "type": "table"} for one in ITEMS])
    run(project)
    blessed(project)
    configure(project, 'gates = ["recall@5 >= baseline - 0.02", "precision[type=table] >= 0.5"]')
    board = run(project, baseline="main")
    assert board.decisions[0].verdict == "SHIP" and not any("not compared" in note for note in board.notes)


def blessed(project: Path, suite: str = "answers") -> None:
    run(project, label="first", suites=[suite])
    History(project / ".shipworthy" / "history.db").bless("main", "first", by="Ada", reason="released")


def told(board: Any) -> list[str]:
    """Whatever the board says, in its reasons or beside them: each sentence is there once."""
    texts = [*board.notes, *(reason for one in board.decisions for reason in one.reasons)]
    assert len(texts) == len(set(texts))
    return texts


def test_a_regression_against_the_baseline_stops_the_ship(project: Path) -> None:
    configure(project, 'gates = ["precision >= 0.4", "chr >= 0.4"]')
    blessed(project)
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    assert run(project).verdict == "SHIP"
    board = run(project, baseline="main")
    assert board.decisions[0].verdict == "NO-SHIP"
    worse = "correct and cited (precision) and cited right (chr) are 50.0 points worse than main (2.0 allowed)"
    assert board.decisions[0].reasons[0].startswith(worse)
    configure(
        project, 'gates = ["precision >= 0.4", "chr >= 0.4"]', '[baseline]\nname = "main"\non_regression = "warn"'
    )
    board = run(project, suites=["answers"])
    assert board.verdict == "SHIP" and any("worse than main" in note for note in board.notes)


def test_a_waived_metric_that_fell_against_the_baseline_does_not_block(project: Path) -> None:
    """Precision falls and is waived; chr falls beside it and is not, until it is waived too."""
    entry = '[[waivers]]\ngate = "{}"\nowner = "Ada"\nreason = "later"\nexpires = 2026-11-15\n'
    gates, day = 'gates = ["precision >= 0.8", "chr >= 0.8"]', datetime.date(2026, 11, 15)
    configure(project, gates)
    blessed(project)
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])

    def stopped(*waived: str) -> list[str]:
        configure(project, gates, "".join(map(entry.format, waived)))
        reasons = run(project, baseline="main", suites=["answers"], today=day).decisions[0].reasons
        return [
            word
            for word in ("precision", "chr")
            if any(f"({word})" in reason and "worse than main" in reason for reason in reasons)
        ]

    assert stopped() == ["precision", "chr"]
    assert stopped("precision") == ["chr"]
    assert stopped("precision", "chr") == []
    assert run(project, baseline="main", suites=["answers"], today=day).verdict == "SHIP"


@pytest.mark.parametrize("rule", ["", 'on_incomparable = "no-verdict"\n', 'on_incomparable = "warn"\n'])
def test_a_baseline_without_a_run_of_a_suite_decides_nothing_unless_that_is_only_a_warning(
    project: Path, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    blessed(project)
    configure(project, rest=f'[baseline]\nname = "main"\n{rule}')
    board = run(project)
    verdicts = [one.verdict for one in board.decisions]
    assert verdicts == ["SHIP", "SHIP" if "warn" in rule else "NO VERDICT"]
    assert board.exit_code == (0 if "warn" in rule else 3)
    assert any("the baseline main has no run of this suite" in text for text in told(board))
    assert [one.differences for one in verify(board.report())] == [[], []]


def test_of_a_baseline_on_another_gold_set_the_shared_items_are_shown(project: Path) -> None:
    blessed(project)
    write(project / "gold.jsonl", [*ITEMS, unanswerable("U2")])
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), *GOOD[1:], refusal("U2")])
    configure(project, 'gates = ["precision >= 0.4", "chr >= 0.4"]')
    board = run(project, baseline="main", suites=["answers"])
    assert board.verdict == "NO VERDICT" and board.exit_code == 3
    assert board.decisions[0].reasons == ["not compared with the baseline main, because the gold sets differ"]
    assert "answers: of 3 items that both have, lost: A1" in board.notes


def test_a_baseline_that_was_edited_in_the_history_is_not_compared(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A digest that was pasted over another content could hide what got worse."""
    blessed(project)
    history = History(project / ".shipworthy" / "history.db")
    kept = history.baseline("main")
    kept["answers"]["metrics"]["precision"] |= {"numerator": 0}
    monkeypatch.setattr(History, "baseline", lambda self, name: kept)
    board = run(project, baseline="main", suites=["answers"])
    assert board.verdict == "NO VERDICT" and "was edited" in board.decisions[0].reasons[0]


def test_a_case_that_the_baseline_has_and_this_run_has_not(project: Path) -> None:
    configure(project, 'gates = ["missing <= 5"]')
    blessed(project)
    write(project / "trace.jsonl", GOOD[1:])
    board = run(project, baseline="main", suites=["answers"])
    assert (
        board.verdict == "NO-SHIP"
        and "1 case of the baseline main missing from this run: A1" in board.decisions[0].reasons
    )


def test_gates_relative_to_the_baseline(project: Path) -> None:
    configure(project, 'gates = ["recall@5 >= baseline - 0.02"]')
    board = run(project, suites=["answers"])
    assert board.verdict == "NO VERDICT" and "no baseline" in board.decisions[0].reasons[0]
    blessed(project)
    assert run(project, baseline="main", suites=["answers"]).verdict == "SHIP"
    write(project / "trace.jsonl", [trace("A1", cite=("d2",), found=("d2",)), trace("A2"), refusal("U1")])
    board = run(project, baseline="main", suites=["answers"])
    assert any("baseline - 0.02 = 0.98" in reason for reason in board.decisions[0].reasons)


def test_a_baseline_on_another_gold_set_is_not_compared(project: Path) -> None:
    configure(project, 'gates = ["recall@5 >= baseline - 0.02"]')
    blessed(project)
    write(project / "gold.jsonl", [*ITEMS, unanswerable("U2")])
    write(project / "trace.jsonl", [*GOOD, refusal("U2")])
    board = run(project, baseline="main", suites=["answers"])
    assert board.verdict == "NO VERDICT"  # a bound from other questions is no bound
    assert any("not compared with the baseline main, because the gold sets differ" in text for text in told(board))


def test_an_unknown_baseline_is_an_error(project: Path) -> None:
    run(project)
    with pytest.raises(UsageError, match="baseline-absent"):
        run(project, baseline="mian")


def test_a_baseline_that_can_not_be_read_is_a_failure_and_the_suites_are_still_judged(project: Path) -> None:
    blessed(project)
    (project / ".shipworthy" / "history.db").write_bytes(b"junk" * 5000)
    board = run(project, baseline="main", record=False)
    assert [one.verdict for one in board.decisions] == ["SHIP", "SHIP"]
    assert "history-corrupt" in board.failures["baseline"] and (board.verdict, board.exit_code) == ("NO VERDICT", 4)


def test_extra_contradiction_rules_reach_the_judge(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    locked = gold("A1", constraints=["The filter is gremlish."])
    write(project / "gold.jsonl", [locked, *ITEMS[1:]])
    said = trace("A1", "The filter is brindly. That is the right answer.", echo=["The filter is gremlish."])
    write(project / "trace.jsonl", [said, *GOOD[1:]])
    (project / "rules.toml").write_text('[opposites]\nshop = "gremlish | brindly"\n')
    configure(project, "scu_enforced = true")
    assert run(project, suites=["answers"]).verdict == "SHIP"
    configure(project, "scu_enforced = true", '[contradiction]\nrules = "rules.toml"\n')
    board = run(project, suites=["answers"])
    assert board.decisions and board.decisions[0].offenders[0]["reason"] == "constraint", board.failures
    assert verify(board.report())[0].agrees
    (project / "rules.toml").write_text("[nonsense]\na = 1\n")
    assert "contradiction-rule" in run(project, suites=["answers"]).failures["answers"]


def test_the_board_has_the_trend_of_each_gated_metric(project: Path) -> None:
    run(project, label="one")
    write(project / "trace.jsonl", [trace("A1", cite=("d2",)), trace("A2"), refusal("U1")])
    board = run(project, label="two")
    assert [(one["label"], one["value"]) for one in board.trends["answers precision"]] == [("one", 1.0), ("two", 0.5)]
    assert (
        board.report()["digest"] == run(project, record=False).report()["digest"]
    )  # what came before is no part of it


def test_controls_are_asked_for(project: Path) -> None:
    configure(project, rest="[controls]\nrun = true\n")
    assert any("bad controls stopped" in note for note in run(project).notes)


@pytest.mark.parametrize("damage", ["locked", "corrupt", "newer", "folder"])
def test_trouble_with_history_never_changes_a_verdict(
    project: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = project / ".shipworthy" / "history.db"
    monkeypatch.setattr(recording, "RECORD_TIMEOUT", 0.2)
    if damage == "folder":
        (project / ".shipworthy").write_text("a file in the way")
    else:
        run(project, label="before")
    if damage == "corrupt":
        database.write_bytes(b"not a database at all, but long enough to look at" * 100)
    holder = sqlite3.connect(database, isolation_level=None) if damage in ("locked", "newer") else None
    if damage == "newer":
        holder.execute("INSERT INTO shipworthy_schema (version) VALUES (99)")  # type: ignore[union-attr]
    if damage == "locked":
        holder.execute("BEGIN EXCLUSIVE")  # type: ignore[union-attr]
    before = database.read_bytes() if damage == "corrupt" else b""
    board = run(project, label="after")
    assert (board.verdict, board.exit_code) == ("SHIP", 0)
    assert board.run["warnings"] and "not in history" in board.run["warnings"][0]
    if holder:
        holder.close()
    if damage == "corrupt":
        assert database.read_bytes() == before  # left in place
    if damage == "locked":  # nothing was lost: the next run records what was kept beside
        assert len(list((project / ".shipworthy" / "history.spool").iterdir())) == 2
        run(project, label="later")
        assert [one.label for one in History(database).runs()] == ["before"] * 2 + ["after"] * 2 + ["later"] * 2


def test_the_same_input_gives_the_same_bytes(project: Path) -> None:
    first, second = (run(project, record=False, today=datetime.date(2026, 11, day)).report() for day in (1, 2))
    assert first["digest"] == second["digest"]
    assert {key: value for key, value in first.items() if key not in ("run", "suites")} == {
        key: value for key, value in second.items() if key not in ("run", "suites")
    }


def test_drive_asks_the_targets_of_the_config(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "app.py").write_text(
        "def ask(question, qid):\n    right = qid == 'A1'\n"
        "    claim = 'The right answer.' if right else 'No idea at all.'\n"
        "    return {'answer_json': {'claim': claim, 'citations': ['d1']}, 'retrieved_ids': ['d1']}\n"
    )
    monkeypatch.syspath_prepend(str(project))
    configure(project, 'target = "app"', '[targets.app]\npy = "app:ask"\n')
    config = load_config(project / "shipworthy.toml")
    (line,) = drive(config)
    assert "3 responses saved in" in line and line.endswith("0 failed")
    report = run(project, suites=["answers"], record=False).report()
    assert report["decision"] == "NO-SHIP"
    write(
        project / "trace.jsonl", [trace("A1", "Kept as it was: the right answer."), trace("A2", "wrong"), refusal("U1")]
    )
    drive(config, failing={"A2"})
    lines = [json.loads(text) for text in (project / "trace.jsonl").read_text().splitlines()]
    assert [one["qid"] for one in lines] == ["A1", "U1", "A2"]
    assert lines[0]["answer_json"]["claim"].startswith("Kept") and lines[2]["answer_json"]["claim"] == "No idea at all."
    assert not (project / "trace.jsonl.rerun").exists()
    configure(project)
    with pytest.raises(UsageError, match="run-no-target"):
        drive(load_config(project / "shipworthy.toml"))


@pytest.mark.parametrize("name", configurable())
def test_a_config_has_a_key_for_each_parameter_of_a_suite_and_no_other(name: str) -> None:
    driving = {"target", "seeds", "jitters", "paraphrases"}
    suite = load_suite(name)
    hidden = {field.name for field in fields_of(suite.options).values() if not field.opt.config}
    parameters = {spec.name for spec in suite.inputs} | set(fields_of(suite.options))
    assert {*inputs_of(name), *options_of(name)} - driving == parameters - driving - hidden


def test_the_command_line(project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "deep").mkdir()
    ran = cli("check", "-o", "report.json", "--label", "one")
    assert ran.code == 0 and ran.out.startswith("SHIP")
    assert json.loads((project / "report.json").read_text())["decision"] == "SHIP"
    monkeypatch.chdir(project / "deep")
    assert cli("check", "--json").json["decision"] == "SHIP"  # found above
    assert cli("check", "--suite", "nope").code == 2
    assert cli("check", "--filter-failing", "../report.json").code == 2
    assert cli("check", "--proven").code == 1
    monkeypatch.chdir(project)
    (project / "shipworthy.toml").write_text("[suites.answrs]\n")
    ran = cli("check")
    assert ran.code == 2 and "Did you mean answers?" in ran.err
    os.unlink(project / "shipworthy.toml")
    assert cli("check").code == 2


REFERRING = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
[suites.stability]
gold = "gold.jsonl"
runs = "runs.jsonl"
{stability}
[suites.latency]
gold = "gold.jsonl"
trace = "timed.jsonl"
{latency}
"""


def wrong_alike(project: Path, stability: str = "", latency: str = "") -> dict[str, str]:
    """The verdicts where one question is wrong in every run in the same way, and nothing else is amiss."""
    answers = [trace("A1", "something else"), trace("A2"), refusal("U1")]
    write(project / "trace.jsonl", answers)
    write(project / "runs.jsonl", [{**one, "seed": seed, "jitter": "none"} for one in answers for seed in (0, 1)])
    write(project / "timed.jsonl", [{**one, "e2e_ms": 100} for one in answers])
    (project / "shipworthy.toml").write_text(REFERRING.format(stability=stability, latency=latency))
    return {one.suite: one.verdict for one in run(project).decisions}


def test_one_fault_makes_one_suite_red(project: Path, cli: Cli) -> None:
    assert wrong_alike(project) == {"answers": "NO-SHIP", "stability": "SHIP", "latency": "SHIP"}
    board = run(project)
    stability, latency = board.decisions[1:]
    assert any("wrong in every run" in hint for hint in stability.diagnosis)
    accuracy = {one.gate.metric: one.gate.severity for one in latency.outcomes}
    assert (accuracy["precision"], accuracy["missing"], accuracy["p95"]) == ("info", "block", "block")


def test_alone_each_suite_keeps_its_gates_on_accuracy(project: Path, cli: Cli) -> None:
    wrong_alike(project)
    gold_file, runs, timed = (project / name for name in ("gold.jsonl", "runs.jsonl", "timed.jsonl"))
    assert cli("stability", "score", "--gold", gold_file, "--runs", runs).code == 1
    assert cli("latency", "score", "--gold", gold_file, "--trace", timed).code == 1
    assert [one.verdict for one in run(project, suites=["stability"]).decisions] == ["NO-SHIP"]


def test_a_threshold_that_was_set_by_hand_still_decides(project: Path) -> None:
    assert wrong_alike(project, stability='gates = ["acr >= 0.95"]')["stability"] == "NO-SHIP"
    assert wrong_alike(project, latency='gates = ["precision >= 0.80"]')["latency"] == "NO-SHIP"
    assert wrong_alike(project, stability='accuracy = "gate"')["stability"] == "NO-SHIP"


def test_answers_that_flip_are_unstable_whoever_decides_about_accuracy(project: Path) -> None:
    runs = [{**one, "seed": seed, "jitter": "none"} for one in GOOD for seed in (0, 1)]
    runs[0] = {**trace("A1", "something else"), "seed": 0, "jitter": "none"}
    write(project / "runs.jsonl", runs)
    assert [one.verdict for one in run(project).decisions] == ["SHIP", "NO-SHIP"]


def test_a_question_that_every_run_refuses_is_stable(project: Path) -> None:
    answers = [refusal("A1"), trace("A2"), refusal("U1")]
    write(project / "runs.jsonl", [{**one, "seed": seed, "jitter": "none"} for one in answers for seed in (0, 1)])
    assert [one.verdict for one in run(project).decisions] == ["SHIP", "SHIP"]


def test_a_referring_report_can_be_verified(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_alike(project)
    monkeypatch.chdir(project)
    (project / "board.json").write_text(json.dumps(run(project).report(), default=str))
    assert all(receipt.agrees for receipt in verify(str(project / "board.json")))


ALL = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
k = [1, 5]
[suites.stability]
gold = "gold.jsonl"
runs = "runs.jsonl"
seeds = [0, 1]
[suites.latency]
gold = "gold.jsonl"
trace = "timed.jsonl"
budget_ms = 1500
[suites.retrieval]
gold = "relevant.jsonl"
shadow = "shadow.jsonl"
live = "live.jsonl"
k = [1, 5]
only_gates = true
gates = ["recall@5 >= 0.5"]
[suites.agreement]
pairs = "pairs.jsonl"
[suites.reasoning]
answers = "reasoned.jsonl"
[suites.outcomes]
outcomes = "outcomes.jsonl"
gates = ["samples >= 3"]
"""


def test_all_seven_suites_from_one_config_each_with_a_receipt(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    write(project / "timed.jsonl", [{**one, "e2e_ms": 900 + index} for index, one in enumerate(GOOD)])
    write(
        project / "relevant.jsonl", [{"qid": f"R{index}", "question": "q?", "relevant": ["b1"]} for index in range(4)]
    )
    log = [
        {"qid": f"R{index}", "q": "q?", "topk": [{"id": "b1", "score": 0.9}, {"id": "b2", "score": 0.1}]}
        for index in range(4)
    ]
    write(project / "shadow.jsonl", log)
    write(project / "live.jsonl", log)
    label = {"label": "VALID", "reason": ""}
    answer = {"answer_json": {"claim": "c", "citations": ["d1"]}, "retrieved_ids": ["d1"]}
    write(
        project / "pairs.jsonl",
        [{"qid": f"P{index}", "scholar": label, "auditor": label, **answer} for index in range(5)],
    )
    right = next(control.data["answers"] for control in load_suite("reasoning").controls(Setup()) if control.good)
    write(project / "reasoned.jsonl", [{"id": name, "content": answer.content} for name, answer in right.items()])
    row = {"accepted_without_edits": True, "action_taken": True}
    write(
        project / "outcomes.jsonl",
        [{"timestamp": f"2026-11-0{day}T10:00:00Z", "prompt_id": f"p{day}", **row} for day in range(1, 5)],
    )
    (project / "shipworthy.toml").write_text(ALL)
    board = run(project, label="all")
    assert board.failures == {}
    assert {one.suite: one.verdict for one in board.decisions} == dict.fromkeys(configurable(), "SHIP"), [
        one.reasons for one in board.decisions
    ]
    receipts = verify(board.report())
    assert [(one.suite, one.differences) for one in receipts] == [
        (name, []) for name in (one.suite for one in board.decisions)
    ]
    history = History(project / ".shipworthy" / "history.db")
    assert {one.suite for one in history.runs()} == set(configurable())
    for one in history.runs():
        assert compare(history.report(one.id), history.report(one.id)).verdict == "unchanged"


@pytest.mark.parametrize("limit", [None, "64MB"])
def test_a_pipe_that_several_suites_read_is_kept_for_them(project: Path, limit: str | None) -> None:
    os.mkfifo(project / "pipe.jsonl")
    both = [f'[suites.{name}]\ngold = "gold.jsonl"\ntrace = "pipe.jsonl"\n' for name in ("answers", "latency")]
    (project / "shipworthy.toml").write_text("".join(both))
    lines = "".join(json.dumps({**one, "e2e_ms": 5}) + "\n" for one in GOOD)
    writer = Thread(target=(project / "pipe.jsonl").write_text, args=(lines,), daemon=True)
    writer.start()
    board = run(project, record=False, memory_limit=limit)
    writer.join()
    if limit is None:
        assert [one.verdict for one in board.decisions] == ["SHIP", "SHIP"]
    else:
        assert board.exit_code == 2 and set(board.failures) == {"answers", "latency"}
        assert all("it can be read only once" in why and "[read-once]" in why for why in board.failures.values())
