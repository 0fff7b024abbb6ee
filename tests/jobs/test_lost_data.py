"""The invariant: no verdict unless every question that gold, plan or fixture names was judged, or may be missing.

Each test is a way in which a run with lost data once shipped; none of them may, in any suite, profile or policy.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, planned, refusal, trace, unanswerable, write_lines
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
    every = found.reasons[0].startswith(f"{lost} of {lost} ")  # which nobody should allow
    assert (f"--allow-missing {lost}" in found.reasons[0]) is not every and found.reasons[0] in found.incomplete


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
def test_in_the_reference_profile_pass_follows_the_exit_code_and_the_scripts_own_word_is_in_compat(name: str) -> None:
    score, _ = SUITES[name]
    whole = score(profile="reference", only_gates=True, gates=REFERENCE[name])
    assert (whole.verdict, whole.report()["pass"]) == ("SHIP", True), whole.reasons
    assert whole.report()["compat"] == {"pass": True}
    lost = score(49, profile="reference", only_gates=True, gates=REFERENCE[name])
    stopped(lost, 1)
    assert lost.report()["pass"] is False and lost.report()["exit_code"] == 3
    assert lost.report()["compat"] == {"pass": True}


def test_one_run_of_fifty_questions_does_not_ship_under_the_original_rules_of_stability() -> None:
    assert stability(profile="reference").verdict == "SHIP"
    for options in ({}, {"gates": "acr=0.9,cghc=0.9"}, {"gates": "failing<=0", "only_gates": True}):
        found = evaluate("stability", gold=GOLD, runs=RUNS[:1], profile="reference", **options)
        stopped(found, 49)
        assert found.report()["compat"]["pass"] is True and found.report()["pass"] is False


def test_a_failed_run_that_the_original_rules_count_as_consistent_is_lost() -> None:
    runs = [one for one in RUNS if one["qid"] != "u09"]
    runs += [{"qid": "u09", "seed": seed, "error": "timeout", "answer_json": None} for seed in (0, 1)]
    found = evaluate("stability", gold=GOLD, runs=runs, profile="reference")
    stopped(found, 1)
    assert found.headline["details"]["u09"]["rcr"] == 1 and found.report()["compat"]["pass"] is True


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


@pytest.mark.parametrize("word", ["", "planned", "plan_size"])
@pytest.mark.parametrize("name", ["answers", "stability", "latency", "retrieval", "agreement"])
def test_a_journal_that_ends_before_its_plan_does_not_ship(tmp_path: Path, name: str, word: str) -> None:
    """Each question was asked at the first load; the run was killed before the second.

    Each line says so, or the header of an older file.
    """
    inputs = {"answers": "trace", "stability": "runs", "latency": "trace", "retrieval": "shadow", "agreement": "trace"}
    rows = {"answers": TRACES, "stability": RUNS, "latency": TIMED, "retrieval": LOGS, "agreement": TRACES}[name]

    def written(runs: int) -> Path:
        header = {"shipworthy_journal": 1, "sweep_id": "s", word: runs}
        lines = [{**row, "planned_runs": None} for row in planned(rows, runs)]
        return write_lines(tmp_path / "journal.jsonl", [header, *lines] if word else planned(rows, runs))

    path = written(200)
    gate = {"only_gates": True, "gates": SUITES[name][1]}
    found = evaluate(name, gold=GOLD, **{inputs[name]: path}, **gate)
    assert found.verdict == "NO VERDICT"
    assert f"has {len(rows)} of 200 planned runs" in found.reasons[0]
    written(len(rows))
    assert evaluate(name, gold=GOLD, **{inputs[name]: path}, **gate).verdict == "SHIP"


def test_a_latency_journal_of_a_hundred_that_holds_sixty(tmp_path: Path, cli: Cli) -> None:
    again = [{**row, "run_id": f"again {number}"} for number, row in enumerate(TIMED[:10])]
    path = write_lines(tmp_path / "trace.jsonl", planned([*TIMED, *again], 100))
    gold_file = write_lines(tmp_path / "gold.jsonl", GOLD)
    ran = cli("latency", "score", "--gold", gold_file, "--trace", path, "--json")
    assert ran.code == 3 and "has 60 of 100 planned runs" in ran.json["reasons"][0]
    # Questions may be missing, and none is: that forgives no run of a question that is there.
    assert cli("latency", "score", "--gold", gold_file, "--trace", path, "--allow-missing", 40).code == 3


def test_a_question_that_may_be_missing_takes_its_own_planned_runs_along_and_no_others(tmp_path: Path) -> None:
    def verdict(rows: list[Any], allow_missing: int) -> str:
        path = write_lines(tmp_path / "runs.jsonl", planned(rows, len(RUNS)))
        return evaluate("stability", gold=GOLD, runs=path, allow_missing=allow_missing).verdict

    named = [{**row, "run_id": str(number)} for number, row in enumerate(RUNS)]
    assert verdict(named, 0) == "SHIP"
    assert verdict(named[:-4], 2) == "SHIP" and verdict(named[:-4], 1) == "NO VERDICT"  # two questions, two runs each
    assert verdict(named[:-5], 2) == "NO VERDICT"  # and one run of a third


# --- values that gates need ---

CUT = ({"id": "S.4.2.p.Bk001", "offsets": [100, 150]}, {"id": "S.4.2.p.Bk001", "offsets": [900, 950]})
PLACES = [
    gold(f"r{n:02}", relevant=[{"id": "S.4.2.p.Bk001", "offsets": [100, 200]}], anchor_section="4.2", paraphrases=["?"])
    for n in range(40)
]


def canary(bad: int = 6) -> list[Any]:
    """A log whose last few answers cite the wrong bytes of a text that is far from the question."""
    return [
        {
            "qid": item["qid"],
            "topk": [CUT[wrong]],
            "delta_s": [0.8 if wrong else 0.1],
            "answer_citations": [CUT[wrong]],
            "answer_json": {"claim": "It is so.", "citations": ["S.4.2.p.Bk001"]},
        }
        for place, item in enumerate(PLACES)
        for wrong in [place >= len(PLACES) - bad]
    ]


def losing(rows: list[Any], field: str, bad: int = 6, value: Any = None) -> list[Any]:
    """The rows, of which the last few have lost a field, or have another value in its place."""
    lost = [
        {**row, field: value} if value is not None else {k: v for k, v in row.items() if k != field} for row in rows
    ]
    return [*rows[:-bad], *lost[-bad:]]


def test_the_canary_does_not_ship_because_bad_lines_lost_what_is_gated() -> None:
    def decided(rows: list[Any], **options: Any) -> Decision:
        return evaluate("retrieval", gold=PLACES, shadow=rows, **options)

    assert decided(canary()).verdict == "NO-SHIP" and decided(canary(0)).verdict == "SHIP"
    far = [{**row, "topk": [CUT[0]], "answer_citations": [CUT[0]]} for row in canary()]
    assert decided(far).verdict == "NO-SHIP"
    for field, rows in (("delta_s", far), ("answer_citations", losing(canary(), "answer_json"))):
        found = decided(losing(rows, field))
        assert found.verdict == "NO VERDICT" and f"{field} is missing for 6 of 40 questions" in found.reasons[0]
        assert "r34, r35, r36" in found.reasons[0] and "--allow-missing 6" in found.reasons[0]
    cut = [{**row, "topk": [{"id": "S.4.2.p.Bk001"}], "answer_citations": ["S.4.2.p.Bk001"]} for row in canary()]
    found = decided([*canary()[:-6], *({**row, "delta_s": [0.1]} for row in cut[-6:])])
    assert found.verdict == "NO VERDICT" and "offsets is missing for 6 of 40 questions" in found.reasons[0]


def test_an_emptied_list_of_citations_beside_an_answer_that_cites_is_missing_data() -> None:
    emptied = losing(canary(), "answer_citations", value=[])
    found = evaluate("retrieval", gold=PLACES, shadow=emptied)
    assert found.verdict == "NO VERDICT" and "answer_citations is missing for 6 of 40" in found.reasons[0]
    refused = [{**row, "answer_json": {"claim": "not in context", "citations": []}} for row in emptied[-6:]]
    assert evaluate("retrieval", gold=PLACES, shadow=[*emptied[:-6], *refused]).verdict == "NO-SHIP"  # it does not cite


def test_what_no_line_has_does_not_apply_unless_it_was_asked_for() -> None:
    bare = [{name: value for name, value in row.items() if name != "delta_s"} for row in canary(0)]
    found = evaluate("retrieval", gold=PLACES, shadow=bare)
    states = {outcome.gate.metric: outcome.state for outcome in found.outcomes}
    assert found.verdict == "SHIP" and states["delta_s_p90"] == states["delta_s_median"] == "NOT-APPLICABLE"
    asked = evaluate("retrieval", gold=PLACES, shadow=bare, gates="delta_s_median<=0.4")
    assert asked.verdict == "NO VERDICT"


@pytest.mark.parametrize(
    "policy", [{}, {"only_gates": True, "gates": "p95<=2000"}, {"only_gates": True, "gates": "p95<=2000,untimed<=99"}]
)
def test_a_run_without_its_time_is_missing_whatever_gates_are_in_force(policy: dict[str, Any]) -> None:
    slow = [{**row, "e2e_ms": 3000 if place > 45 else 100, "stage_ms": {"llm": 50}} for place, row in enumerate(TIMED)]
    assert evaluate("latency", gold=GOLD, trace=slow, **policy).verdict == "NO-SHIP"
    found = evaluate("latency", gold=GOLD, trace=losing(slow, "e2e_ms", 4), **policy)
    assert found.verdict == "NO VERDICT" and "e2e_ms is missing for 4 of 50 questions" in found.reasons[0]
    allowed = evaluate("latency", gold=GOLD, trace=losing(slow, "e2e_ms", 4), allow_missing=4, **policy)
    assert allowed.verdict == "SHIP"
    assert allowed.reasons[0] == "e2e_ms missing for 4 questions, as --allow-missing 4 permits"


def test_a_gate_on_a_stage_needs_the_stage_of_every_run() -> None:
    rows = [{**row, "stage_ms": {"llm": 900 if place > 45 else 50}} for place, row in enumerate(TIMED)]
    assert evaluate("latency", gold=GOLD, trace=rows, gates="llm_p95<=500").verdict == "NO-SHIP"
    found = evaluate("latency", gold=GOLD, trace=losing(rows, "stage_ms", 4), gates="llm_p95<=500")
    assert found.verdict == "NO VERDICT" and "stage_ms.llm is missing for 4 of 50" in found.reasons[0]


def test_times_are_summed_only_where_no_run_has_its_own_and_all_have_the_same_stages() -> None:
    def p95(stages: Callable[[int], dict[str, int]]) -> Decision:
        rows = [{**one, "stage_ms": stages(place)} for place, one in enumerate(TRACES)]
        return evaluate("latency", gold=GOLD, trace=rows)

    assert p95(lambda place: {"retrieval": 10, "llm": 90}).measures["p95"].value == 100
    found = p95(lambda place: {"retrieval": 10} if place == 3 else {"retrieval": 10, "llm": 90})
    assert found.verdict == "NO VERDICT" and "e2e_ms is missing for 1 of 50 questions" in found.reasons[0]


@pytest.mark.parametrize("severity", ["warn", "info"])
def test_a_gate_that_only_warns_needs_its_value_too(tmp_path: Path, cli: Cli, severity: str) -> None:
    write_lines(tmp_path / "gold.jsonl", GOLD)
    write_lines(tmp_path / "trace.jsonl", losing(TIMED, "e2e_ms", 4))
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.latency]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
        f'gates = [{{ gate = "p95 <= 2000", severity = "{severity}" }}]\n'
    )
    ran = cli("check", "--config", tmp_path / "shipworthy.toml", "--no-record", "--json")
    assert ran.code == 3 and "e2e_ms is missing for 4 of 50" in ran.out


def test_a_claim_that_was_lost_is_no_answer_and_an_empty_one_is() -> None:
    """A refusal of an answerable question that lost its words would be one refusal less."""
    rows = [refusal(f"a{n:02}") if n < 6 else row for n, row in enumerate(TRACES)]
    assert answers_of(rows).verdict == "NO-SHIP"  # 6 of 40 refused
    for lost in ({"answer_json": {"citations": []}}, {"answer_json": None}):
        fewer = [{**row, **lost} if n < 3 else row for n, row in enumerate(rows)]
        fewer = [{k: v for k, v in row.items() if v is not None} for row in fewer]
        found = answers_of(fewer)
        assert found.verdict == "NO VERDICT" and "answer_json.claim is missing for 3 of 50" in found.reasons[0]
    blank = [{**row, "answer_json": {"claim": "", "citations": []}} if n < 3 else row for n, row in enumerate(TRACES)]
    assert answers_of(blank).verdict == "SHIP"  # the pipeline said nothing, which counts as wrong


def answers_of(rows: list[Any]) -> Decision:
    return evaluate("answers", gold=GOLD, trace=rows)


def test_a_score_that_is_missing_leaves_no_verdict_even_where_its_gate_warns(tmp_path: Path, cli: Cli) -> None:
    write_lines(tmp_path / "gold.jsonl", GOLD)
    scored = [{**row, "scores": {"tone": 0.9}} for row in TRACES]
    write_lines(tmp_path / "trace.jsonl", losing(scored, "scores", 2))
    (tmp_path / "shipworthy.toml").write_text(
        '[metrics.tone]\nfrom = "scores.tone"\nat_least = 0.5\namong = "items"\n'
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
        'gates = [{ gate = "tone >= 0.5", severity = "warn" }]\n'
    )
    ran = cli("check", "--config", tmp_path / "shipworthy.toml", "--no-record", "--json")
    assert ran.code == 3 and "scores.tone is missing for 2 of 50" in ran.out


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
    from shipworthy.suites import load_suite, suite_for

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
    suite = suite_for(suite, options, sources)
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
