"""A finished report held against its guardrails: its bars, and what is no report or contradicts itself."""

from __future__ import annotations

import json

import pytest

from shipworthy.core.options import fields_of
from shipworthy.demo.reasoner import load_notes, reason
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.jobs.verify import verify
from shipworthy.reading.reports import digest
from shipworthy.suites.guard.suite import BARS, Options
from shipworthy.suites.reasoning.contracts import DIMENSIONS, read_fixture
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


def sealed(changed):
    """A report whose digest is that of what it says now."""
    return changed | {"digest": digest(changed)}


def test_an_edited_report_of_ours_is_refused(tmp_path, good_report):
    """The numbers still add up: only the digest tells."""
    body = json.loads(json.dumps(good_report))
    body["results"][0] |= {"answer": "Something else."}
    for source in (write(tmp_path, body), body):
        with pytest.raises(DataError, match="report-edited"):
            guard(source)
    del body["shipworthy"], body["digest"]  # as the original script writes it
    assert guard(write(tmp_path, body)).verdict == "SHIP"


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
    held = {check["bar"]: check["holds"] for check in guard(sealed(body)).headline["checks"]}
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
    guard(sealed(good_report | {"summary": good_report["summary"] | {"dimension_averages": rounded}}))
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


def test_results_under_one_id_are_refused(tmp_path, good_report):
    body = good_report | {"results": [*good_report["results"], good_report["results"][7]]}
    with pytest.raises(DataError, match=r"report\.json.*duplicate case id.*answer-repeated"):
        guard(write(tmp_path, body))


def test_a_report_of_the_original_script_tells_blank_answers_in_its_own_way():
    """It has no answer text: `empty_content` says it, or `response_chars`."""
    full, empty = {"empty_content": False, "response_chars": 640}, {"empty_content": True, "response_chars": 0}
    short = {"response_chars": 12}
    for told, blank in (
        ([full] * 30, 0),
        ([full] * 29 + [empty], 1),
        ([short] * 30, 0),
        ([short] * 28 + [{"response_chars": 0}, {"empty_content": True}], 2),
        ([full | {"answer": " ", "tokens_out": 500}] * 2 + [full] * 28, 2),  # where there is text, it decides
        ([empty | {"answer": "Kim must act."}] * 30, 0),
        ([{}] + [full] * 29, 1),  # a result that says nothing of its answer has none
    ):
        decision = guard(original(told))
        checks = {check["bar"]: check for check in decision.headline["checks"]}
        assert checks["max_empty_content_rate"]["value"] == pytest.approx(blank / 30), told[-1]
        assert decision.ships is (blank == 0)


def test_errors_of_a_report_of_the_original_script_are_left_out_within_their_rate(tmp_path, cli):
    ran = cli("reason", "guard", "--report", write(tmp_path, original([{"response_chars": 640}] * 29, errors=1)))
    assert ran.code == 0 and ran.out.startswith("SHIP  judged without 1 of 30 cases, which ended in an error")
    two = write(tmp_path, original([{"response_chars": 640}] * 28, errors=2))
    assert cli("reason", "guard", "--report", two).code == 1
    assert cli("reason", "guard", "--report", two, "--max-error-rate", "1/15").code == 0
    # Choosing other gates lets no more of them pass.
    chosen = ["--only-gates", "--gates", "pass_rate=0.8"]
    assert cli("reason", "guard", "--report", two, *chosen).code == 3
    one = write(tmp_path, original([{"response_chars": 640}] * 29, errors=1))
    assert cli("reason", "guard", "--report", one, *chosen).code == 0
    # The script calls an error a hard failure, which it is not.
    assert cli("reason", "guard", "--report", one, "--max-hard-failure-rate", "0").code == 0


def original(told, errors=0):
    """A report as the original script writes it: one object a dimension, no answer text, no status."""
    dims = {name: {"score": 0.9, "rubric": 3, "min": 0.5, "passed": True} for name in DIMENSIONS}
    scored = {"passed": True, "overall_score": 0.9, "hard_failures": [], "dimension_scores": dims, "tokens_out": 0}
    results = [{"id": f"case-{n:02d}", "prompt": "p", **scored, **about} for n, about in enumerate(told)]
    failed = {
        "passed": False,
        "overall_score": 0.0,
        "hard_failures": ["error"],
        "dimension_scores": {},
        "error": "timed out",
    }
    results += [{"id": f"error-{n}", "prompt": "p", **failed} for n in range(errors)]
    total, passed = len(results), len(told)
    summary = {"total_cases": total, "passed_cases": passed, "failed_cases": errors, "error_cases": errors}
    summary |= {"pass_rate": round(passed / total, 4), "average_overall_score": 0.9}
    return {"summary": summary | {"dimension_averages": dict.fromkeys(DIMENSIONS, 0.9)}, "results": results}


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


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"summary": {}},
        {"summary": []},
        {"results": []},
        {"summary": None, "results": []},
        {"summary": {}, "results": None},
        {"summary": {}, "results": {}},
        {"summary": {}, "results": [{}, 7]},
    ],
)
def test_what_is_no_report_is_refused_alike_as_a_file_and_as_a_dict(tmp_path, body):
    errors = []
    for source in (write(tmp_path, body), body):
        with pytest.raises(DataError) as caught:
            guard(source)
        errors.append((caught.value.what, caught.value.hint, caught.value.code, caught.value.exit_code))
    assert errors[0] == errors[1] and errors[0][2] == "report-unreadable"
