"""A finished report held against its guardrails: its bars, and what is no report or contradicts itself."""

from __future__ import annotations

import json

import pytest

from shipworthy.core.options import fields_of
from shipworthy.demo.reasoner import load_notes, reason
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.jobs.verify import verify
from shipworthy.suites.guard.options import BARS, Options
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import control_answers


@pytest.fixture(scope="module")
def good_report():
    fixture = read_fixture()
    answers = {case.id: reason(case.prompt, load_notes(project=case.project)) for case in fixture.cases}
    return json.loads(json.dumps(evaluate("reasoning", answers=answers).report()))


def write(tmp_path, body):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(body))
    return path


def guard(report, **bars):
    return evaluate("guard", report=report, **bars)


def test_a_good_report_is_held_to_every_bar(good_report):
    decision = guard(good_report)
    assert decision.ships and decision.headline["passed"]
    rows = {row["bar"]: row for row in decision.headline["checks"]}
    assert list(rows) == list(BARS)
    assert rows["min_contradiction"]["n"] == 10 and rows["min_cases"]["value"] == 30
    assert not guard(good_report, min_cases=31).ships
    assert decision.counts["items"] == 30 and [item["qid"] for item in decision.items] == sorted(
        result["id"] for result in good_report["results"]
    )


def test_bars_are_taken_exactly_and_in_the_place_of_their_defaults():
    answers = control_answers(read_fixture(), "terse right answers")
    plain = evaluate("reasoning", answers=answers).report()
    assert guard(plain).ships
    decision = guard(plain, min_overall="0.9999", max_error_rate="1/3")
    assert not decision.ships and [str(o.gate) for o in decision.outcomes if not o.holds] == [
        "average_overall >= 0.9999"
    ]
    assert [outcome.gate.metric for outcome in decision.outcomes] == [metric for metric, _, _ in BARS.values()]
    assert "error_rate <= 1/3" in [str(outcome.gate) for outcome in decision.outcomes]


def test_gates_may_be_named_by_their_metrics_too(good_report):
    decision = guard(good_report, gates="overall=0.999, cases=31", only_gates=True)
    assert {str(outcome.gate) for outcome in decision.outcomes} == {"cases >= 31", "average_overall >= 0.999"}
    with pytest.raises(UsageError, match="gate-repeated"):  # by its flag and by its name
        guard(good_report, gates="cases=31", min_cases=2)
    with pytest.raises(UsageError, match="gate-unknown"):
        guard(good_report, gates="answer_overlap=0.3")


@pytest.mark.parametrize(
    ("bars", "code"),
    [
        ({"min_pass_rate": 80}, "bar"),
        ({"min_overall": "high"}, "bar"),
        ({"max_error_rate": -0.1}, "bar"),
        ({"min_cases": -1}, "option-value"),
        ({"min_words": 3}, "option-unknown"),
    ],
)
def test_bars_that_make_no_sense(bars, code):
    with pytest.raises(UsageError, match=code):
        guard({"summary": {}, "results": []}, **bars)


def test_the_help_says_the_bars_that_hold():
    said = {name: field.opt.help for name, field in fields_of(Options).items() if name in BARS}
    assert {name: float(text.removeprefix("[default: ").rstrip("]")) for name, text in said.items()} == {
        name: float(default) for name, (_, _, default) in BARS.items()
    }


def test_a_report_that_asks_for_no_contradiction_handling_is_not_held_to_it(good_report):
    rows = [r | {"required": [d for d in r["required"] if d[0] != "c"]} for r in good_report["results"]]
    averages = {n: v for n, v in good_report["summary"]["dimension_averages"].items() if n[0] != "c"}
    summary = good_report["summary"] | {"dimension_averages": averages}
    decision = guard({"summary": summary, "results": rows})
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["contradiction_handling"] == "NOT-APPLICABLE" and decision.ships


def test_blank_content_counts_whatever_the_tokens_say(good_report):
    body = json.loads(json.dumps(good_report))
    body["results"][0] |= {"answer": "  ", "tokens_out": 500}
    held = {check["bar"]: check["holds"] for check in guard(body).headline["checks"]}
    assert not held["max_empty_content_rate"] and held["max_error_rate"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("passed_cases", 29),
        ("pass_rate", 0.9),
        ("total_cases", 31),
        ("error_cases", 1),
        ("failed_cases", 7),
        ("average_overall_score", 0.5),
        ("average_overall_score", None),
    ],
)
def test_a_summary_that_disagrees_is_refused(tmp_path, good_report, key, value):
    body = good_report | {"summary": good_report["summary"] | {key: value}}
    with pytest.raises(DataError, match=f"report.json.*{key}.*report-disagrees"):
        guard(write(tmp_path, body))


def test_a_changed_dimension_average_is_refused_and_a_rounded_one_is_not(good_report):
    averages = good_report["summary"]["dimension_averages"]
    rounded = {name: round(value, 4) for name, value in averages.items()}
    guard(good_report | {"summary": good_report["summary"] | {"dimension_averages": rounded}})
    changed = averages | {"actionability": averages["actionability"] - 0.001}
    with pytest.raises(DataError, match=r"dimension_averages\.actionability"):
        guard(good_report | {"summary": good_report["summary"] | {"dimension_averages": changed}})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"summary": {}, "results": 3}', '{"summary": {}, "results": [1]}'])
def test_what_is_no_report_is_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(DataError, match="report-unreadable"):
        guard(path)


def test_an_empty_report_does_not_pass():
    summary = {"total_cases": 0, "passed_cases": 0, "failed_cases": 0, "error_cases": 0}
    assert guard({"summary": summary, "results": []}).verdict == "NO-SHIP"


def test_results_under_one_id_count_one_by_one():
    result = {"id": "a", "passed": True, "overall_score": 1, "answer": "x", "dimension_scores": {}}
    worse = result | {"passed": False, "overall_score": 0.5, "hard_failures": ["invented"]}
    summary = {"total_cases": 2, "passed_cases": 1, "failed_cases": 1, "error_cases": 0}
    summary |= {"pass_rate": 0.5, "average_overall_score": 0.75}
    decision = guard({"summary": summary, "results": [result, worse]})
    assert decision.counts["items"] == 2 and [row["passed"] for row in decision.items] == [True, False]
    assert decision.items[1]["hard_failures"] == ["invented"]


def test_a_decision_of_the_guard_can_be_computed_again(tmp_path, good_report, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, good_report)
    for bars in ({}, {"min_cases": 31, "min_overall": "0.9"}, {"gates": "pass_rate=0.9"}):
        decision = guard(path, **bars)
        (receipt,) = verify(json.loads(json.dumps(decision.report())))
        assert receipt.agrees, receipt.differences
    path.write_text(json.dumps(good_report) + " ")
    assert not verify(decision.report())[0].agrees


def test_the_command(tmp_path, good_report, cli):
    path = write(tmp_path, good_report)
    assert cli("reason", "guard", "--report", path).code == 0
    assert cli("reason", "guard", "--report", path, "--min-cases", 31).code == 1
    ran = cli("reason", "guard", "--report", path, "--min-overall", "0.9", "--json")
    assert ran.code == 0 and ran.json["checks"][1]["bound"] == 0.9
    path.write_text("{}")
    assert cli("reason", "guard", "--report", path).code == 3
