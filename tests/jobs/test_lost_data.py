"""The invariant: no verdict unless every question that gold, plan or fixture names was judged, or may be missing.

Each test is a way in which a run with lost data once shipped; none of them may, in any suite, profile or policy.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import check, evaluate
from shipworthy.core.decision import Decision
from shipworthy.reading.lock import freeze
from shipworthy.report import render
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import control_answers

GOLD = [gold(f"a{n:02}", relevant=["d1"]) for n in range(40)] + [
    unanswerable(f"u{n:02}", relevant=["d1"]) for n in range(10)
]
TRACES = [trace(item["qid"]) if item["answerable"] else refusal(item["qid"]) for item in GOLD]
RUNS = [{**one, "seed": seed, "jitter": "none", "q": one["q"]} for one in TRACES for seed in (0, 1)]
LOGS = [{"qid": item["qid"], "topk": [{"id": "d1"}], "answer_citations": ["d1"]} for item in GOLD]
TIMED = [{**one, "e2e_ms": 100} for one in TRACES]
FIXTURE = read_fixture()
ANSWERS = {name: answer.content for name, answer in control_answers(FIXTURE, "terse right answers").items()}

Score = Callable[..., Decision]


def answers(kept: int = 50, **options: Any) -> Decision:
    return evaluate("answers", gold=GOLD, trace=TRACES[:kept], **options)


def stability(kept: int = 50, **options: Any) -> Decision:
    return evaluate("stability", gold=GOLD, runs=RUNS[: 2 * kept], **options)


def latency(kept: int = 50, **options: Any) -> Decision:
    return evaluate("latency", gold=GOLD, trace=TIMED[:kept], **options)


def retrieval(kept: int = 50, **options: Any) -> Decision:
    return evaluate("retrieval", gold=GOLD, shadow=LOGS[:kept], **options)


def ranked(kept: int = 50, **options: Any) -> Decision:
    return evaluate("retrieval", gold=GOLD, shadow=LOGS[:kept], metrics="R@5", **options)


def agreement(kept: int = 50, **options: Any) -> Decision:
    return evaluate("agreement", gold=GOLD, trace=TRACES[:kept], **options)


def reasoning(kept: int = 50, **options: Any) -> Decision:
    given = dict(list(ANSWERS.items())[: kept - 20])  # thirty cases
    return evaluate("reasoning", fixture=FIXTURE, answers=given, **options)


# suite → how it is scored, and one lax gate that says nothing of missing runs
SUITES: dict[str, tuple[Score, str]] = {
    "answers": (answers, "precision>=0.1"),
    "stability": (stability, "mean_acr>=0.1"),
    "latency": (latency, "p95<=100000"),
    "retrieval": (retrieval, "recall@5>=0.1"),
    "ranked": (ranked, "R@5>=0.1"),
    "agreement": (agreement, "percent_agreement>=0.1"),
    "reasoning": (reasoning, "average_overall>=0.1"),
}
# gates that reference profiles know
REFERENCE = {
    "answers": "precision>=0.1,under_refusal<=1,over_refusal<=1,chr>=0.1",
    "stability": "acr=0.1",
    "retrieval": "coverage>=0",
    "agreement": "pa=0.1,kappa=0,abstain=1",
}


def every(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("name", sorted(table))


def stopped(found: Decision, lost: int) -> None:
    assert (found.verdict, found.exit_code) == ("NO VERDICT", 3)
    assert found.reasons[0].startswith(f"{lost} of ") and "could not be judged" in found.reasons[0]
    assert f"--allow-missing {lost}" in found.reasons[0] and found.reasons[0] in found.incomplete


# --- gates, waivers and profiles ---


@every(SUITES)
def test_naming_other_gates_than_missing_does_not_ship_lost_questions(name: str) -> None:
    score, gate = SUITES[name]
    assert score(only_gates=True, gates=gate).verdict == "SHIP"
    for kept in (49, 21):
        stopped(score(kept, only_gates=True, gates=gate), 50 - kept)


@every(SUITES)
def test_a_run_that_failed_is_as_lost_as_one_that_was_never_made(name: str) -> None:
    _, gate = SUITES[name]
    failed = {"error": "timeout"}
    traces = [*TRACES[:-1], {"qid": "u09", **failed}]
    sources: dict[str, dict[str, Any]] = {
        "answers": {"gold": GOLD, "trace": traces},
        "agreement": {"gold": GOLD, "trace": traces},
        "latency": {"gold": GOLD, "trace": [{**one, "e2e_ms": 100} for one in traces]},
        "stability": {"gold": GOLD, "runs": [*RUNS[:-1], {**RUNS[-1], **failed, "answer_json": None}]},
        "retrieval": {"gold": GOLD, "shadow": [*LOGS[:-1], {"qid": "u09", **failed}]},
        "reasoning": {"fixture": FIXTURE, "answers": ANSWERS | {FIXTURE.cases[-1].id: failed}},
    }
    if name == "ranked":  # an empty list counts as nothing found, the worst that a list can be
        found = evaluate("retrieval", **sources["retrieval"], metrics="R@5", only_gates=True, gates="R@5>=1")
        assert found.verdict == "NO-SHIP"
    else:
        stopped(evaluate(name, **sources[name], only_gates=True, gates=gate), 1)


@every({name: gate for name, gate in REFERENCE.items() if name != "stability"})
def test_the_reference_profile_keeps_its_pass_and_the_decision_obeys(name: str) -> None:
    score, _ = SUITES[name]
    whole = score(profile="reference", only_gates=True, gates=REFERENCE[name])
    assert (whole.verdict, whole.report()["pass"]) == ("SHIP", True), whole.reasons
    lost = score(49, profile="reference", only_gates=True, gates=REFERENCE[name])
    stopped(lost, 1)
    assert lost.report()["pass"] is True and lost.report()["exit_code"] == 3


def test_one_run_of_fifty_questions_does_not_ship_under_the_original_rules_of_stability() -> None:
    assert stability(profile="reference").verdict == "SHIP"
    for options in ({}, {"gates": "acr=0.9,cghc=0.9"}, {"gates": "failing<=0", "only_gates": True}):
        found = evaluate("stability", gold=GOLD, runs=RUNS[:1], profile="reference", **options)
        stopped(found, 49)
        assert found.headline["pass"] is True and found.report()["pass"] is True


def test_a_failed_run_that_the_original_rules_count_as_consistent_is_lost() -> None:
    runs = [one for one in RUNS if one["qid"] != "u09"]
    runs += [{"qid": "u09", "seed": seed, "error": "timeout", "answer_json": None} for seed in (0, 1)]
    found = evaluate("stability", gold=GOLD, runs=runs, profile="reference")
    stopped(found, 1)
    assert found.headline["details"]["u09"]["rcr"] == 1 and found.headline["pass"] is True


def test_failed_runs_do_not_take_an_outlier_along() -> None:
    """A later run at the same place replaces the earlier one: a failed run must not hide an answer that differed."""
    items, only = [gold("a")], {"only_gates": True, "gates": "mean_ned50<=0.2"}
    runs = [{**trace("a", "The right answer."), "seed": seed, "jitter": "none"} for seed in range(3)]
    odd = {**trace("a", "Quite another text, and long."), "seed": 3, "jitter": "none"}
    assert evaluate("stability", gold=items, runs=[*runs, odd], **only).verdict == "NO-SHIP"
    hidden = {**odd, "error": "timeout", "answer_json": None}
    stopped(evaluate("stability", gold=items, runs=[*runs, odd, hidden], **only), 1)


@pytest.mark.parametrize("gate", ["missing", "answers:missing"])
def test_a_waiver_of_missing_does_not_ship(tmp_path: Path, gate: str) -> None:
    write_lines(tmp_path / "gold.jsonl", GOLD)
    write_lines(tmp_path / "trace.jsonl", TRACES[:49])
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
        f'[[waivers]]\ngate = "{gate}"\nowner = "Ada"\nreason = "later"\nexpires = 2099-01-01\n'
    )
    board = check(tmp_path / "shipworthy.toml", record=False)
    assert (board.verdict, board.exit_code) == ("NO VERDICT", 3)
    stopped(board.decisions[0], 1)


@pytest.mark.parametrize("severity", ["warn", "info"])
def test_a_gate_on_missing_that_only_warns_does_not_ship(tmp_path: Path, severity: str) -> None:
    write_lines(tmp_path / "gold.jsonl", GOLD)
    write_lines(tmp_path / "trace.jsonl", TRACES[:49])
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
        f'gates = [{{gate = "missing <= 0", severity = "{severity}"}}, "missing[lang=en] <= 50"]\n'
    )
    assert check(tmp_path / "shipworthy.toml", record=False).verdict == "NO VERDICT"
    assert answers(49, gates="missing<=50").verdict == "NO VERDICT"


# --- what was frozen, planned or cut ---


@pytest.mark.parametrize("profile", ["strict", "reference"])
@pytest.mark.parametrize("name", ["answers", "stability", "retrieval", "agreement"])
def test_a_frozen_gold_that_was_changed_ships_under_no_profile(tmp_path: Path, name: str, profile: str) -> None:
    inputs = {"answers": "trace", "stability": "runs", "retrieval": "shadow", "agreement": "trace"}
    rows = {"answers": TRACES, "stability": RUNS, "retrieval": LOGS, "agreement": TRACES}[name]
    path = write_lines(tmp_path / "gold.jsonl", GOLD)
    freeze(path, "1.0", "Ada")
    options: dict[str, Any] = {"profile": profile}
    gates = REFERENCE[name] if profile == "reference" else SUITES[name][1]
    options |= {} if (name, profile) == ("stability", "reference") else {"only_gates": True, "gates": gates}
    assert evaluate(name, gold=path, **{inputs[name]: rows}, **options).verdict == "SHIP"
    write_lines(path, GOLD[:-1])
    found = evaluate(name, gold=path, **{inputs[name]: rows}, **options)
    assert found.verdict == "NO VERDICT" and any("signed off" in reason for reason in found.reasons), found.reasons


def test_reasoning_means_do_not_rise_when_the_worst_answers_are_deleted() -> None:
    """Usefulness 0.64 was NO-SHIP; with 9 of 30 answers lost it was 1.00, and shipped."""
    names = [case.id for case in FIXTURE.cases if case.answerable][:9]
    poor = ANSWERS | dict.fromkeys(names, "Perhaps.")
    assert evaluate("reasoning", fixture=FIXTURE, answers=poor).verdict == "NO-SHIP"
    kept = {name: text for name, text in poor.items() if name not in names}
    for profile in ("grounded", "signals"):
        found = evaluate(
            "reasoning", fixture=FIXTURE, answers=kept, profile=profile, only_gates=True, gates="usefulness>=0"
        )
        stopped(found, 9)


@pytest.mark.parametrize("word", ["planned", "plan_size"])
@pytest.mark.parametrize("name", ["answers", "stability", "latency", "retrieval", "agreement"])
def test_a_journal_that_ends_before_its_plan_does_not_ship(tmp_path: Path, name: str, word: str) -> None:
    """Each question was asked at the first load; the run was killed before the second."""
    inputs = {"answers": "trace", "stability": "runs", "latency": "trace", "retrieval": "shadow", "agreement": "trace"}
    rows = {"answers": TRACES, "stability": RUNS, "latency": TIMED, "retrieval": LOGS, "agreement": TRACES}[name]
    header = {"shipworthy_journal": 1, word: 200}
    path = write_lines(tmp_path / "journal.jsonl", [header, *rows])
    gate = {"only_gates": True, "gates": SUITES[name][1]}
    found = evaluate(name, gold=GOLD, **{inputs[name]: path}, **gate)
    assert found.verdict == "NO VERDICT"
    assert f"has {len(rows)} of 200 planned runs" in found.reasons[0]
    write_lines(path, [{**header, word: len(rows)}, *rows])
    assert evaluate(name, gold=GOLD, **{inputs[name]: path}, **gate).verdict == "SHIP"


def test_a_latency_journal_of_a_hundred_that_holds_sixty(tmp_path: Path, cli: Cli) -> None:
    again = [{**row, "run_id": "second"} for row in TIMED[:10]]
    path = write_lines(tmp_path / "trace.jsonl", [{"shipworthy_journal": 1, "plan_size": 100}, *TIMED, *again])
    gold_file = write_lines(tmp_path / "gold.jsonl", GOLD)
    ran = cli("latency", "score", "--gold", gold_file, "--trace", path, "--json")
    assert ran.code == 3 and "has 60 of 100 planned runs" in ran.json["reasons"][0]
    allowed = ("latency", "score", "--gold", gold_file, "--trace", path, "--allow-missing")
    assert cli(*allowed, 39).code == 3 and cli(*allowed, 40).code == 0


# --- what is allowed, and said ---


@every(SUITES)
def test_so_many_may_be_missing_and_not_one_more(name: str) -> None:
    score, gate = SUITES[name]
    lax = {"only_gates": True, "gates": gate}
    stopped(score(47, **lax, allow_missing=2), 3)
    shipped = score(47, **lax, allow_missing=3)
    questions = 30 if name == "reasoning" else 50
    assert shipped.verdict == "SHIP"
    assert shipped.reasons[0] == f"3 of {questions} questions not judged, as --allow-missing 3 permits"
    assert shipped.report()["reasons"][0] == shipped.reasons[0]
    assert score(50, **lax, allow_missing=3).reasons[0] != shipped.reasons[0]  # nothing to say where nothing is lost


@every(SUITES)
def test_what_is_allowed_stands_in_the_first_lines_of_every_report(name: str) -> None:
    score, gate = SUITES[name]
    found = score(49, only_gates=True, gates=gate, allow_missing=1)
    note = found.reasons[0]
    text = render(found, "text").decode().splitlines()
    assert any(note in line for line in text[:4]), text[:6]
    marked = render(found, "markdown").decode().splitlines()
    assert any(note in line.replace("\\", "") for line in marked[:4]), marked[:6]
    page = render(found, "html").decode()
    assert page.index(note) < page.index("<table")
    assert note in render(found, "github").decode().replace("%25", "%")


def test_a_board_that_ships_says_what_it_was_allowed_to_lose(tmp_path: Path) -> None:
    write_lines(tmp_path / "gold.jsonl", GOLD)
    write_lines(tmp_path / "trace.jsonl", TRACES[:49])
    write_lines(tmp_path / "runs.jsonl", RUNS)
    config = (
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\nallow_missing = {}\n'
        'gates = ["precision >= 0.99", {{gate = "missing <= 0", severity = "warn"}}]\n'
        '[suites.stability]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n'
        '[[waivers]]\ngate = "precision"\nowner = "Ada"\nreason = "later"\nexpires = 2099-01-01\n'
    )
    write_lines(tmp_path / "trace.jsonl", [trace("a00", cite=("d2",)), *TRACES[1:49]])
    (tmp_path / "shipworthy.toml").write_text(config.format(1))
    board = check(tmp_path / "shipworthy.toml", record=False)
    note = "1 of 50 questions not judged, as --allow-missing 1 permits"
    assert board.verdict == "SHIP" and board.decisions[0].reasons[0] == note  # a waiver in use does not displace it
    assert note in render(board, "text").decode().splitlines()[0]
    assert note in render(board, "markdown").decode().splitlines()[0].replace("\\", "")
    page = render(board, "html").decode()
    assert page.index(note) < page.index("<table")
    (tmp_path / "shipworthy.toml").write_text(config.format(0))
    assert check(tmp_path / "shipworthy.toml", record=False).verdict == "NO VERDICT"


@every(SUITES)
def test_the_count_is_the_same_however_the_data_is_dealt_out(name: str) -> None:
    from engines.scattered import scattered
    from shipworthy.core import evaluate as core
    from shipworthy.core.options import make_options
    from shipworthy.suites import load_suite

    score, gate = SUITES[name]
    whole = score(41, only_gates=True, gates=gate)
    suite = load_suite("retrieval" if name == "ranked" else name)
    sources: dict[str, Any] = {
        "answers": {"gold": GOLD, "trace": TRACES[:41]},
        "agreement": {"gold": GOLD, "trace": TRACES[:41]},
        "latency": {"gold": GOLD, "trace": TIMED[:41]},
        "stability": {"gold": GOLD, "runs": RUNS[:82]},
        "retrieval": {"gold": GOLD, "shadow": LOGS[:41]},
        "ranked": {"gold": GOLD, "shadow": LOGS[:41]},
        "reasoning": {"fixture": FIXTURE, "answers": dict(list(ANSWERS.items())[:21])},
    }[name]
    more = {"metrics": "R@5"} if name == "ranked" else {}
    options = make_options(suite.options, {"only_gates": True, "gates": gate, **more})
    for seed in range(3):
        assert core.evaluate(suite, sources, options, scattered(seed)).reasons == whole.reasons


def test_the_exit_code_of_the_command_line_obeys_too(tmp_path: Path, cli: Cli) -> None:
    paths = ("--gold", write_lines(tmp_path / "gold.jsonl", GOLD), "--trace")
    lost = write_lines(tmp_path / "trace.jsonl", TRACES[:49])
    for flags in (
        ("--only-gates", "--gates", "precision=0.1"),
        ("--profile", "reference", "--gates", "precision=0.1,chr=0.1,over=1,under=1"),
        ("--gates", "missing<=50"),
        ("--lenient",),
    ):
        ran = cli("score", *paths, lost, *flags, "--json")
        assert ran.code == 3 and json.loads(ran.out)["decision"] == "NO VERDICT", flags
    assert cli("score", *paths, lost, "--allow-missing", 1).code == 0
    assert cli("score", *paths, lost, "--allow-missing", 0).code == 3
    assert cli("score", *paths, lost, "--allow-missing", -1).code == 2
