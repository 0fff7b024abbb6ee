"""What people did with the answers: rows, rates, weeks, gates, and the score beside acceptance."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from engines.scattered import scattered
from shipworthy.core import evaluate as core
from shipworthy.core.decision import Decision
from shipworthy.core.options import make_options
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.jobs.verify import verify
from shipworthy.report import render
from shipworthy.stats import wilson
from shipworthy.suites.outcomes.suite import SUITE


def row(day="2025-03-11", prompt="p1", accepted=True, acted=True, **more):
    return {
        "timestamp": f"{day}T09:00:00Z",
        "prompt_id": prompt,
        "accepted_without_edits": accepted,
        "action_taken": acted,
    } | more


@pytest.fixture
def outcomes(tmp_path):
    def write(*rows):
        path = tmp_path / "outcomes.jsonl"
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
        return path

    return write


def evaluate_feedback(source, **more) -> Decision:
    return evaluate("outcomes", outcomes=source, **more)


def body(source, **more):
    return evaluate_feedback(source, **more).report()


def test_rates_over_all_rows_and_over_the_rows_that_say(outcomes):
    path = outcomes(
        row(useful="yes"), row(prompt="p2", accepted="n", useful=0), row(prompt="p3", acted=0, edited="TRUE")
    )
    rates = body(path)["rates"]
    assert (rates["accept_rate"]["count"], rates["accept_rate"]["n"]) == (2, 3)
    assert (rates["action_rate"]["count"], rates["action_rate"]["n"]) == (2, 3)
    assert (rates["useful_rate"]["count"], rates["useful_rate"]["n"]) == (1, 2)
    assert (rates["edited_rate"]["count"], rates["edited_rate"]["n"]) == (1, 1)
    assert rates["accept_rate"]["interval"] == list(wilson(2, 3))


def test_identical_rows_count_once_in_any_key_order(outcomes):
    one = row()
    decision = evaluate_feedback(outcomes(one, dict(reversed(one.items())), row(notes="other"), row(prompt="p2")))
    assert decision.counts == {"samples": 3, "rows": 4, "repeated": 1, "joined": 0}
    assert (decision.headline["rows"], decision.headline["repeated_rows"]) == (4, 1)
    assert [(item["qid"], item["n"]) for item in decision.items] == [("p1", 2), ("p2", 1)]


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", "true", "True", "yes", "Y", " y "])
def test_ways_to_say_yes(outcomes, value):
    assert evaluate_feedback(outcomes(row(accepted=value))).items[0]["accepted"] == 1


@pytest.mark.parametrize("value", [False, 0, "0", "false", "NO", "n"])
def test_ways_to_say_no(outcomes, value):
    assert evaluate_feedback(outcomes(row(accepted=value))).items[0]["accepted"] == 0


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (row(acted=None), "outcome-missing"),
        (row(accepted=None), "outcome-missing"),
        ({k: v for k, v in row().items() if k != "prompt_id"}, "outcome-missing"),
        ({}, "outcome-missing"),
        (row() | {"timestamp": "last Tuesday"}, "outcome-date"),
        (row() | {"timestamp": "2025-13-01"}, "outcome-date"),
        (row() | {"timestamp": 1741683600}, "outcome-date"),
        (row(accepted="maybe"), "outcome-flag"),
        (row(accepted=2), "outcome-flag"),
        (row(useful=[]), "outcome-flag"),
        (row(prompt=["p"]), "outcome-field"),
        (row(prompt=" "), "outcome-field"),
        ("not json", "json"),
        ("[1]", "not-object"),
    ],
)
def test_a_bad_row_is_an_error_with_its_line(outcomes, bad, code):
    with pytest.raises(DataError) as refusal:
        evaluate_feedback(outcomes(row(), bad))
    assert "outcomes.jsonl:2:" in str(refusal.value)
    assert f"[{code}]" in str(refusal.value)


def test_all_bad_rows_are_listed_together(outcomes):
    with pytest.raises(DataError) as refusal:
        evaluate_feedback(outcomes(row(accepted="maybe"), row(), row() | {"timestamp": "x"}))
    assert "outcomes.jsonl:1:" in str(refusal.value) and "outcomes.jsonl:3:" in str(refusal.value)


def test_weeks_are_iso_weeks(outcomes):
    # 30 December 2024 is in the first week of 2025, 3 January 2027 in the last of 2026
    found = body(outcomes(row("2024-12-30"), row("2025-01-05", "p2"), row("2027-01-03"), row("2025-01-06")))["weeks"]
    assert [(w["week"], w["n"]) for w in found] == [("2025-W01", 2), ("2025-W02", 1), ("2026-W53", 1)]
    assert found[0]["accept_rate"]["interval"] == list(wilson(2, 2))


def test_many_rows_of_one_prompt_are_one_prompt(outcomes):
    """All 60 rows are accepted: that proves the rate of 60 prompts, and says little of 6."""

    def state(prompts, rows):
        given = [row(prompt=f"p{n % prompts}", reviewer=f"r{n}") for n in range(rows)]
        decision = evaluate_feedback(outcomes(*given), gates="accept_rate>=0.9", only_gates=True)
        assert decision.counts["samples"] == rows
        return decision.outcomes[0].state

    assert state(60, 60) == "PASS"
    assert state(6, 60) == "PASS-BUT-UNPROVEN"
    assert state(60, 180) == "PASS"


def test_trend_needs_two_weeks_and_intervals_that_do_not_touch(outcomes):
    def many(day, accepted, count, start=0):
        return [row(day, f"p{n}", accepted) for n in range(start, start + count)]

    assert body(outcomes(row()))["trend"]["direction"] == "undefined"
    fallen = evaluate_feedback(outcomes(*many("2025-03-03", True, 40), *many("2025-03-10", False, 40)))
    down = fallen.sections["trend"]
    assert (down["direction"], down["week"], down["change"]) == ("down", "2025-W11", -1.0)
    assert "fell in the last week: 2025-W10 40/40 (1.000), 2025-W11 0/40 (0.000)" in fallen.diagnosis[0]
    flat = body(outcomes(row("2025-03-03"), row("2025-03-10", accepted=False)))["trend"]
    assert flat["direction"] == "flat"


def test_groups_by_model_and_preset(outcomes):
    found = body(outcomes(row(model="m1"), row(model="m2", accepted=0), row(preset="x")))
    assert {name: group["n"] for name, group in found["by_model"].items()} == {"(none)": 1, "m1": 1, "m2": 1}
    assert found["by_model"]["m2"]["accept_rate"]["rate"] == 0
    assert found["by_preset"]["x"]["n"] == 1


def test_a_gate_may_be_about_one_model(outcomes):
    path = outcomes(*(row(prompt=f"p{n}", accepted=n % 2, model=f"m{n % 2}") for n in range(40)))
    found = evaluate_feedback(path, gates="accept_rate[model=m1]=0.9, accept_rate[model=m0]=0.9", only_gates=True)
    assert [(o.gate.slice, o.holds) for o in found.outcomes] == [("model=m1", True), ("model=m0", False)]


def test_gates_compare_exactly(outcomes):
    path = outcomes(*(row(prompt=f"p{n}", accepted=n < 14, acted=n < 11) for n in range(20)))
    found = evaluate_feedback(path)
    assert found.ships and found.headline["passed"]  # 14/20 = .70 and 11/20 = .55 are on the bar
    assert [gate["holds"] for gate in found.headline["gates"]] == [True] * 4
    assert evaluate_feedback(path, min_accept_rate=Fraction(71, 100)).verdict == "NO-SHIP"
    assert evaluate_feedback(path, min_accept_rate="0.7", min_action_rate=0.55).ships
    assert evaluate_feedback(path, min_samples=21).reasons == [
        "outcomes recorded: 20; at least 21 needed (samples 20 < 21)"
    ]
    assert not evaluate_feedback(path, gates="accept_rate=0.71").ships


@pytest.mark.parametrize("bad", ["lots", 1.5, -1, float("nan"), True, "1e999999", "1/0", ""])
def test_a_bar_that_is_no_share_is_refused(outcomes, bad):
    with pytest.raises(UsageError, match=r"min[_-]accept[_-]rate"):
        evaluate_feedback(outcomes(row()), min_accept_rate=bad)


def test_a_useful_gate_does_not_apply_where_no_row_says(outcomes, cli):
    path = outcomes(*(row(prompt=f"p{n}", useful=None) for n in range(20)))
    for asked in ({}, {"min_useful_rate": "0.65"}, {"gates": "useful_rate=0.01"}, {"require_useful": False}):
        found = evaluate_feedback(path, **asked)
        assert found.ships and found.outcomes[-1].state == "NOT-APPLICABLE"
    assert cli("outcomes", "--input", path, "--min-useful-rate", "0.65").code == 0
    alone = evaluate_feedback(path, gates="useful_rate=0.01", only_gates=True)
    assert (alone.verdict, alone.reasons) == ("NO VERDICT", ["no gate applies to this data"])
    # One row that says is enough for it to decide.
    told = outcomes(*(row(prompt=f"p{n}") for n in range(20)), row(prompt="told", useful=False))
    assert cli("outcomes", "--input", told, "--min-useful-rate", "0.65").code == 1


def test_a_useful_rate_that_is_required_needs_rows_that_say(outcomes):
    path = outcomes(*(row(prompt=f"p{n}") for n in range(20)))
    found = evaluate_feedback(path, require_useful=True)
    assert (found.verdict, found.exit_code, found.outcomes[-1].state) == ("NO VERDICT", 3, "NO-DATA")
    assert found.headline["gates"][-1] == found.headline["gates"][-1] | {"value": None, "holds": False}


# The three fields that are required; two rows that are alike, as real logs without a time have them.
PLAIN = [{"prompt_id": f"p{n % 7}", "accepted_without_edits": n > 2, "action_taken": n > 4} for n in range(24)]


def test_rows_without_a_timestamp_count_everywhere_but_by_week(outcomes, cli):
    ran = cli("outcomes", "--input", outcomes(*PLAIN), "--json")
    assert ran.code == 0, ran.err
    report = ran.json
    assert (report["samples"], report["rows"], report["repeated_rows"], report["undated_rows"]) == (24, 24, 0, 24)
    assert (report["weeks"], report["trend"]["direction"]) == ([], "undefined")
    assert (report["rates"]["accept_rate"]["count"], report["rates"]["accept_rate"]["n"]) == (21, 24)
    dated = [row("2025-03-03"), row("2025-03-10", accepted=False)]
    mixed = body(outcomes(*PLAIN, *dated, row() | {"timestamp": None, "prompt_id": "p9"}))
    assert [(week["week"], week["n"]) for week in mixed["weeks"]] == [("2025-W10", 1), ("2025-W11", 1)]
    assert (mixed["samples"], mixed["undated_rows"]) == (27, 25)
    assert any("25 rows without a timestamp" in warning for warning in mixed["warnings"])
    assert not any("without a timestamp" in warning for warning in body(outcomes(*dated))["warnings"])


def test_identical_rows_are_one_event_only_where_a_time_or_a_run_says_so(outcomes):
    bare = PLAIN[0]
    run = bare | {"run_id": "r1"}
    timed = bare | {"timestamp": "2025-03-11T09:00:00Z"}
    rows = [bare, bare, bare | {"run_id": None, "timestamp": None}, run, run, run | {"useful": None}, timed, timed]
    found = evaluate_feedback(outcomes(*rows, run | {"run_id": ""}, run | {"run_id": "r2"}))
    # Four rows of nobody's run, and one each of r1, r2 and the time.
    assert (found.counts["samples"], found.counts["repeated"], found.counts["rows"]) == (7, 3, 10)


@pytest.mark.parametrize(
    ("timestamp", "week"),
    [
        ("2025-03-10T00:30+02:00", "2025-W11"),  # still Sunday of W10 in UTC
        ("2025-03-09T23:30:00-02:00", "2025-W10"),  # already Monday of W11 in UTC
        ("2025-03-10T00:30:00Z", "2025-W11"),
        ("2025-03-09", "2025-W10"),
    ],
)
def test_the_week_is_the_one_where_the_row_was_written(outcomes, timestamp, week):
    assert [found["week"] for found in body(outcomes(row() | {"timestamp": timestamp}))["weeks"]] == [week]


def test_a_prompt_that_half_of_its_people_accept_passes(outcomes):
    def prompt(name, accepted, total):
        return [row(prompt=name, accepted=n < accepted, notes=str(n)) for n in range(total)]

    found = evaluate_feedback(outcomes(*prompt("half", 1, 2), *prompt("less", 2, 5), *prompt("more", 3, 5)))
    assert {item["qid"]: item["reason"] for item in found.items} == {"half": "", "less": "unaccepted", "more": ""}


def test_an_empty_file_does_not_pass(outcomes):
    found = evaluate_feedback(outcomes())
    assert found.verdict == "NO-SHIP" and found.headline["rates"]["accept_rate"]["rate"] is None


def test_the_prompts_that_people_reject_come_first(outcomes):
    rows = [
        row(prompt=p, accepted=a, notes=str(n)) for n, (p, a) in enumerate([("b", 0), ("b", 0), ("a", 0), ("c", 1)])
    ]
    found = evaluate_feedback(outcomes(*rows))
    assert [(o["qid"], o["says"][:15]) for o in found.offenders] == [("b", "accepted 0 of 2"), ("a", "accepted 0 of 1")]
    assert [(i["qid"], i["reason"]) for i in found.items] == [("a", "unaccepted"), ("b", "unaccepted"), ("c", "")]


REPORT = {
    "run_id": "r1",
    "summary": {},
    "results": [
        {"id": "p1", "overall_score": 0.9},
        {"id": "p2", "overall_score": 0.3},
        {"id": "p3", "overall_score": None},
    ],
}


def test_the_score_beside_acceptance(outcomes):
    path = outcomes(
        row(prompt="p1", accepted=True, run_id="r1"),
        row(prompt="p2", accepted=False),
        row(prompt="p2", accepted=True),
        row(prompt="p1", accepted=False, run_id="r0"),
        row(prompt="p3"),
        row(prompt="unknown"),
    )
    decision = evaluate_feedback(path, report=REPORT, gates="auc=0.6")
    found = decision.sections["calibration"]
    assert decision.measures["auc"].value == Fraction(3, 4)
    # accepted .9 and .3 against unaccepted .3: one win and one tie of two
    assert (found["joined"], found["not_joined"], found["auc"]) == (3, 3, 0.75)
    assert [(b["from"], b["accept_rate"]["count"], b["accept_rate"]["n"]) for b in found["table"]] == [
        (0.2, 1, 2),
        (0.8, 1, 1),
    ]


def test_a_score_that_foresees_nothing_is_called_so(outcomes):
    path = outcomes(row(prompt="p1", accepted=False), row(prompt="p2", accepted=True))
    found = evaluate_feedback(path, report=REPORT)
    assert found.sections["calibration"]["auc"] == 0 and "don't gate on it" in found.diagnosis[-1]
    alone = evaluate_feedback(outcomes(row(prompt="p1")), report=REPORT)
    assert alone.sections["calibration"]["auc"] is None and alone.measures["auc"].missing


def test_the_command(outcomes, tmp_path, cli):
    path = outcomes(*(row(prompt=f"p{n}", useful=1) for n in range(20)))
    ran = cli("outcomes", "--input", path)
    assert ran.code == 0 and "SHIP" in ran.out
    assert cli("outcomes", "--input", path, "--min-samples", 21).code == 1
    out = tmp_path / "o.json"
    ran = cli("outcomes", "--input", path, "--json", "--output", out)
    assert ran.code == 0 and ran.json == json.loads(out.read_text())
    report = tmp_path / "r.json"
    report.write_text(json.dumps(REPORT))
    ran = cli("outcomes", "--input", path, "--report", report)
    assert ran.code == 0 and "AUC" in ran.out
    assert cli("outcomes", "--input", outcomes("{}")).code == 3
    assert cli("outcomes", "--input", tmp_path / "none.jsonl").code == 2


def test_a_report_can_be_computed_again_from_its_files(outcomes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, scores = outcomes(*PEOPLE), tmp_path / "r.json"
    scores.write_text(json.dumps(REPORT))
    for options in ({}, {"min_accept_rate": "2/5", "min_samples": 3}, {"require_useful": False, "gates": "useful=0.4"}):
        (receipt,) = verify(evaluate_feedback(path, report=scores, **options).report())
        assert receipt.agrees, receipt.differences


def test_what_the_report_says_of_the_useful_rate_is_what_was_decided(outcomes):
    path = outcomes(row())
    shown = [
        evaluate_feedback(path, **asked).options
        for asked in ({}, {"gates": "useful=0.5"}, {"min_useful_rate": 0}, {"require_useful": True})
    ]
    assert shown == [{"require_useful": needed} for needed in (False, False, False, True)]


@settings(max_examples=10 * EFFORT, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.booleans()), max_size=30))
def test_the_weeks_add_up_to_the_whole(tmp_path_factory, entries):
    from datetime import date, timedelta

    path = tmp_path_factory.mktemp("o") / "o.jsonl"
    lines = [
        json.dumps(row((date(2025, 1, 1) + timedelta(days)).isoformat(), f"p{n}", accepted, acted))
        for n, (days, accepted, acted) in enumerate(entries)
    ]
    path.write_text("\n".join(lines))
    found = body(path)
    assert sum(week["accept_rate"]["count"] for week in found["weeks"]) == found["rates"]["accept_rate"]["count"]
    assert sum(week["n"] for week in found["weeks"]) == found["samples"] == len(entries)


PEOPLE = [
    row(
        f"2025-03-{1 + n % 20:02d}",
        f"p{n % 3}",
        n % 3 > 0,
        n % 2,
        useful=[None, 0, 1][n % 3],
        model=f"m{n % 2}",
        notes=str(n),
    )
    for n in range(24)
]


@settings(max_examples=7 * EFFORT, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 1000))
def test_any_split_and_order_gives_the_same_report(shuffler: random.Random, seed: int):
    shuffled = [*PEOPLE, PEOPLE[3]]
    shuffler.shuffle(shuffled)
    whole = evaluate_feedback([*PEOPLE, PEOPLE[3]], report=REPORT).report()
    assert evaluate_feedback(shuffled, report=REPORT).report()["digest"] == whole["digest"]
    sources, options = {"outcomes": shuffled, "report": REPORT}, make_options(SUITE.options, {})
    assert core.evaluate(SUITE, sources, options, scattered(seed)).report()["digest"] == whole["digest"]


@pytest.mark.parametrize("form", ["text", "json", "tsv", "markdown", "junit", "github", "html"])
def test_every_format_renders_whatever_people_wrote(form):
    nasty = "<script>alert(1)</script>\x1b[31m|\u202e"
    found = evaluate_feedback(
        [row(prompt=nasty, accepted=0, model=nasty, preset=nasty), row(prompt="p2")], report=REPORT
    )
    text = render(found, form).decode()
    assert "\x1b" not in text and ("<script>alert" not in text or form in ("text", "tsv", "json", "github"))
    assert "\u202e" not in text or form == "json"
