"""The reasoning suite as a decision: gates, splits and orders, every format, and text that means harm."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engines.scattered import scattered
from shipworthy.core import evaluate as core
from shipworthy.core.control import Setup
from shipworthy.core.gates import written
from shipworthy.core.options import make_options
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.jobs.verify import verify
from shipworthy.report import render
from shipworthy.suites.reasoning.contracts import ReasonerAnswer, parse_fixture, read_fixture
from shipworthy.suites.reasoning.controls import BAD, GOOD, answer_anyway, control_answers, controls
from shipworthy.suites.reasoning.suite import SUITE

RAW = {
    "name": "small",
    "thresholds": {"suite_min_pass_rate": 0.5},
    "cases": [
        {
            "id": f"c{n}",
            "prompt": f"How large is disk {n}?",
            "preset": "odd" if n % 2 else "even",
            "answerable": n != 5,
            "evidence": [
                {"id": f"m{n}", "source": "disks.md", "line": n, "text": f"Kim must replace disk {n} of {n}0 GB today."}
            ],
            "bindings": [{"value": f"{n}0 GB", "source": [f"m{n}"]}] if n != 5 else [],
        }
        for n in range(1, 7)
    ],
}
ANSWERS = {f"c{n}": f"Disk {n} has {n}0 GB [m{n}]. Kim must replace disk {n} today." for n in range(1, 5)} | {
    "c5": "not in context"
}
NASTY = (
    '<script>alert("x")</script> [link](javascript:alert(1)) | `code` '
    "\x1b[31mred\x1b[0m\n# forged\n::error::forged \u202e \ud800"
)


def test_the_gates_are_the_bars_of_the_fixture():
    decision = evaluate("reasoning", fixture=RAW, answers=ANSWERS, fail_on_errors=True)
    assert [str(outcome.gate) for outcome in decision.outcomes] == [
        "pass_rate >= 0.50",
        "actionability >= 0.60",
        "factual_grounding >= 0.55",
        "contradiction_handling >= 0.50",
        "usefulness >= 0.65",
        "answer_overlap <= 0.30",
        "under_refusal <= 0.05",
        "errors <= 0",
    ]
    lost = "1 of 6 questions could not be judged, because the run is missing or failed: c6"
    allowed = "Run them again, or allow them with --allow-missing 1"
    assert decision.verdict == "NO-SHIP" and decision.reasons == [
        "cases with an error: 1; none allowed (errors 1 > 0)",
        f"{lost}. {allowed}",
    ]
    assert evaluate("reasoning", fixture=RAW, answers=ANSWERS).reasons == [f"{lost}. {allowed}"]
    assert evaluate("reasoning", fixture=RAW, answers=ANSWERS, allow_missing=1).ships


def test_gates_that_are_named_go_before_those_of_the_fixture():
    assert not evaluate("reasoning", fixture=RAW, answers=ANSWERS, gates="pass_rate=0.95").ships
    alone = evaluate("reasoning", fixture=RAW, answers={}, gates="error_rate<=1", only_gates=True)
    assert alone.verdict == "NO VERDICT" and [str(outcome.gate) for outcome in alone.outcomes] == ["error_rate <= 1"]
    assert evaluate("reasoning", fixture=RAW, answers={}, gates="error_rate<=1", only_gates=True, allow_missing=6).ships
    wrong = ANSWERS | {"c6": "Disk 6 has 99 GB."}
    part = evaluate("reasoning", fixture=RAW, answers=wrong, gates=["pass_rate[preset=even]=0.9"], only_gates=True)
    assert part.verdict == "NO-SHIP" and part.reasons == [
        "2 of 3 cases with preset=even passed; at least 3 must (pass_rate[preset=even] 0.667 < 0.9)"
    ]
    with pytest.raises(UsageError, match="gate-unknown"):
        evaluate("reasoning", fixture=RAW, answers=ANSWERS, gates="precision=0.9")


def test_that_no_case_may_end_in_an_error_can_be_proven():
    answers = ANSWERS | {"c6": "not in context"}
    decision = evaluate(
        "reasoning", fixture=RAW, answers=answers, gates="errors<=0", only_gates=True, require_proof=True
    )
    assert decision.ships and decision.outcomes[0].state == "PASS"


def test_who_answers_what_nobody_can_answer_does_not_ship():
    fixture = read_fixture()
    right = control_answers(fixture, "terse right answers")
    leaks = {case.id: ReasonerAnswer(answer_anyway(case)) for case in fixture.cases}
    assert evaluate("reasoning", fixture=fixture, answers=right).ships
    decision = evaluate("reasoning", fixture=fixture, answers=leaks)
    assert decision.measures["pass_rate"].value == Fraction(25, 30)
    assert decision.reasons == ["5 of 5 unanswerable cases were answered; none may be (under_refusal 1.000 > 0.05)"]
    leak = next(row for row in decision.items if row["reason"] == "under_refusal")
    assert leak["passed"] is False and leak["overall"] == 0


def test_the_summary_says_the_bars_in_force():
    decision = evaluate(
        "reasoning", fixture=RAW, answers={"c1": "no"}, gates="usefulness=0.9", suite_min_pass_rate="0.75"
    )
    summary = decision.report()["summary"]
    assert summary["thresholds"]["suite_min_pass_rate"] == 0.75
    assert summary["thresholds"]["dimension_min_average"]["usefulness"] == 0.9
    assert "usefulness" in summary["dimension_threshold_failures"] and summary["reasons"] == decision.reasons
    assert summary["passed"] is decision.ships is False


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"profile": "vibes"}, "option-value"),
        ({"case_min_overall": 65}, "bar"),
        ({"case_min_overall": "most"}, "bar"),
        ({"suite_min_pass_rate": -1}, "bar"),
        ({"max_cases": 0}, "option-value"),
        ({"min_cases": 3}, "option-unknown"),
    ],
)
def test_options_that_make_no_sense(options, code):
    with pytest.raises(UsageError, match=code):
        evaluate("reasoning", fixture=RAW, answers={}, **options)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("7/10", "0.70"),
        ("13/20", "0.65"),
        ("29/40", "0.725"),
        ("1", "1"),
        ("0", "0"),
        ("2/3", "2/3"),
        ("1/1000", "0.001"),
    ],
)
def test_bars_are_written_as_people_write_them(number, text):
    assert written(Fraction(number)) == text and Fraction(text) == Fraction(number)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 1000))
def test_any_split_and_order_gives_the_same_report(shuffler: random.Random, seed: int):
    cases, answers = RAW["cases"][:], list(ANSWERS.items())
    shuffler.shuffle(cases)
    shuffler.shuffle(answers)
    whole = evaluate("reasoning", fixture=RAW, answers=ANSWERS).report()
    shuffled = {"fixture": RAW | {"cases": cases}, "answers": dict(answers)}
    assert evaluate("reasoning", **shuffled).report()["digest"] == whole["digest"]
    options = make_options(SUITE.options, {})
    assert core.evaluate(SUITE, shuffled, options, scattered(seed)).report()["digest"] == whole["digest"]


def test_the_overlap_is_of_the_answers_refusals_aside():
    fixture = read_fixture()
    answers = control_answers(fixture, "structured right answers")
    overlap = evaluate("reasoning", fixture=fixture, answers=answers).measures["answer_overlap"]
    assert overlap.n == 25 and 0 < overlap.value < Fraction(3, 10)
    backwards = replace(fixture, cases=fixture.cases[::-1])
    assert evaluate("reasoning", fixture=backwards, answers=answers).measures["answer_overlap"] == overlap
    alone = evaluate("reasoning", fixture=RAW, answers={"c1": ANSWERS["c1"], "c5": ANSWERS["c5"]})
    assert alone.measures["answer_overlap"].missing == "there are no two answers"


def test_answers_are_read_by_id(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "c1", "content": "1"}\n{"id": "zz", "content": "?"}\n')
    decision = evaluate("reasoning", fixture=RAW, answers=path)
    assert decision.headline["results"][0]["answer"] == "1"
    assert decision.inputs["answers"]["records"] == 2 and len(decision.inputs["answers"]["sha256"]) == 64
    assert decision.warnings == ["1 answer with an id that no case has"]
    path.write_text('{"id": "a", "content": "1"}\n{"content": "1"}\n{"id": null}\nno\n')
    with pytest.raises(DataError) as refusal:
        evaluate("reasoning", fixture=RAW, answers=path)
    assert str(refusal.value).count("answer-id") == 2 and "answers.jsonl:4" in str(refusal.value)


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


RIGHT_ROWS = [{"id": id_, "content": text} for id_, text in ANSWERS.items()] + [
    {"id": "c6", "content": "Disk 6 has 60 GB [m6]."}
]


@pytest.mark.parametrize("again", [0, 2, 5])
def test_a_second_answer_to_a_case_is_an_error_that_names_both_lines(tmp_path, cli, again):
    fixture, path = tmp_path / "f.json", tmp_path / "answers.jsonl"
    fixture.write_text(json.dumps(RAW))
    path.write_text(lines(*RIGHT_ROWS))
    assert cli("reason", "score", "--fixture", fixture, "--answers", path).code == 0
    path.write_text(lines({"id": RIGHT_ROWS[again]["id"], "content": "Something wrong."}, *RIGHT_ROWS))
    ran = cli("reason", "score", "--fixture", fixture, "--answers", path)
    place = f"answers.jsonl:{again + 2}: duplicate case id 'c{again + 1}' (first on line 1)"
    assert ran.code == 3 and place in ran.err and "[answer-repeated]" in ran.err


def test_a_second_answer_in_another_file_is_named_by_its_own_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines(*RIGHT_ROWS[:4]))
    (tmp_path / "b.jsonl").write_text(lines(*RIGHT_ROWS[4:], RIGHT_ROWS[1], RIGHT_ROWS[4]))
    with pytest.raises(DataError) as refusal:
        evaluate("reasoning", fixture=RAW, answers=str(tmp_path / "*.jsonl"))
    first, second = str(refusal.value).splitlines()
    assert "b.jsonl:3: duplicate case id 'c2' (first on line 2 of " in first and "a.jsonl)" in first
    assert "b.jsonl:4: duplicate case id 'c5' (first on line 1)." in second


def test_a_fixture_with_two_cases_of_one_id_is_an_error(tmp_path, cli):
    fixture, path = tmp_path / "f.json", tmp_path / "answers.jsonl"
    fixture.write_text(json.dumps(RAW | {"cases": [*RAW["cases"], RAW["cases"][2]]}))
    path.write_text(lines(*RIGHT_ROWS))
    ran = cli("reason", "score", "--fixture", fixture, "--answers", path)
    assert ran.code == 3 and "duplicate case id 'c3'" in ran.err


@pytest.mark.parametrize("said", ["error", {"code": 504}])
def test_an_error_beside_content_is_an_error(tmp_path, cli, said):
    fixture, path = tmp_path / "f.json", tmp_path / "answers.jsonl"
    fixture.write_text(json.dumps(RAW))
    for text in ("content", "answer"):
        path.write_text(lines({"id": "c1", text: ANSWERS["c1"], "error": said}, *RIGHT_ROWS[1:]))
        ran = cli("reason", "score", "--fixture", fixture, "--answers", path, "--json")
        result = ran.json["results"][0]
        assert (ran.code, ran.json["decision"], result["status"]) == (3, "NO VERDICT", "error")
        assert result["hard_failures"] == [] and ran.json["summary"]["error_cases"] == 1
        assert result["error"] == (said if isinstance(said, str) else '{"code": 504}')


@pytest.mark.parametrize("none", [None, "", False])
def test_an_error_that_says_nothing_is_none(none):
    answers = {row["id"]: {"content": row["content"], "error": none} for row in RIGHT_ROWS}
    assert evaluate("reasoning", fixture=RAW, answers=answers).ships


# --- cases that ended in an error ---


def shipped(failed=(), wrong=()):
    """Answers of the demo's reasoner to the shipped cases, some of them errors and some of them wrong."""
    from shipworthy.demo.reasoner import load_notes, reason

    cases = read_fixture().cases
    answers = {case.id: dict(reason(case.prompt, load_notes(project=case.project))) for case in cases}
    for place in failed:
        answers[cases[place].id] = {"error": "timed out"}
    for place in wrong:
        answers[cases[place].id]["content"] = "Pancakes want flour, milk and patience."
    return answers


def test_a_case_that_ended_in_an_error_is_left_out_where_it_may_be_missing(tmp_path, cli):
    path, report = tmp_path / "answers.jsonl", tmp_path / "r.json"
    path.write_text(lines(*({"id": id_} | body for id_, body in shipped(failed=[3], wrong=[0]).items())))
    alone = cli("reason", "score", "--answers", path)
    assert alone.code == 3 and "allow them with --allow-missing 1" in " ".join(alone.out.split())
    ran = cli("reason", "score", "--answers", path, "--allow-missing", 1, "-o", report)
    assert ran.code == 0 and ran.out.startswith("SHIP  1 of 30 questions not judged, as --allow-missing 1 permits")
    body = json.loads(report.read_text())
    summary = body["summary"]
    assert (summary["total_cases"], summary["passed_cases"], summary["failed_cases"]) == (30, 28, 1)
    assert (summary["error_cases"], summary["pass_rate"]) == (1, 28 / 29)
    assert body["metrics"]["pass_rate"]["denominator"] == body["metrics"]["hard_failure_rate"]["denominator"] == 29
    failed = next(result for result in body["results"] if result["status"] == "error")
    assert failed["hard_failures"] == [] and not failed["passed"]
    assert body["metrics"]["hard_failure_rate"]["numerator"] == 1  # the pancakes
    guarded = cli("reason", "guard", "--report", report, "--json")
    assert guarded.code == 0 and guarded.json["reasons"][0] == "judged without 1 of 30 cases, which ended in an error"
    checks = {check["bar"]: check for check in guarded.json["checks"]}
    assert checks["min_pass_rate"]["value"] == summary["pass_rate"] and checks["max_hard_failure_rate"]["n"] == 29
    # The report that `score` could not decide on is guarded in the same way.
    cli("reason", "score", "--answers", path, "-o", report)
    assert cli("reason", "guard", "--report", report).code == 0
    assert cli("reason", "guard", "--report", report, "--max-error-rate", "0.03").code == 1


def test_an_error_of_an_unanswerable_case_does_not_dilute_under_refusal():
    cases = [case.id for case in read_fixture().cases if not case.answerable]
    answers = shipped()
    answers[cases[0]] = {"error": "timed out"}
    refusals = evaluate("reasoning", answers=answers, allow_missing=1).measures["under_refusal"]
    assert (refusals.k, refusals.n) == (0, len(cases) - 1)
    answers |= {id_: {"error": "timed out"} for id_ in cases}
    lost = evaluate("reasoning", answers=answers, allow_missing=5)
    states = {outcome.gate.metric: outcome.state for outcome in lost.outcomes}
    assert lost.verdict == "NO VERDICT" and states["under_refusal"] == "NO-DATA"


def test_a_run_in_which_everything_failed_decides_nothing():
    answers = {case.id: {"error": "no route"} for case in read_fixture().cases}
    decision = evaluate("reasoning", answers=answers)
    assert decision.verdict == "NO VERDICT" and decision.measures["pass_rate"].value is None
    assert evaluate("reasoning", answers=answers, allow_missing=30).verdict == "NO VERDICT"


# --- without evidence ---

# As the original documents have it: signals, and neither evidence nor bindings.
DOCUMENTED = {
    "name": "documented",
    "cases": [
        {
            "id": f"d{n:02d}",
            "prompt": f"What should the team do about shelf {n}?",
            "expected_signals": {
                "actionability": {"must_include_any": ["next step", "owner"], "min_hits": 1},
                "factual_grounding": {"must_include_any": ["source", "log"], "min_hits": 1, "min_score": 0.5},
            },
        }
        for n in range(30)
    ],
}
SHELVES = {f"d{n:02d}": f"Shelf {n} is full. Owner Kim must empty shelf {n} by Friday." for n in range(30)}


def shelf(n):
    text = f"Inventory: shelf {n} is full since Monday and holds {n} crates. Kim must empty shelf {n} by Friday."
    return [{"id": f"s{n}", "source": "shelves.md", "line": n + 1, "text": text}]


def with_evidence(places):
    cases = [case | ({"evidence": shelf(n)} if n in places else {}) for n, case in enumerate(DOCUMENTED["cases"])]
    return DOCUMENTED | {"cases": cases}


@pytest.mark.parametrize("answers", [SHELVES, SHELVES | {"d00": "", "d01": "not in context"}], ids=["full", "blanks"])
def test_without_any_evidence_there_is_no_verdict_and_the_way_out(tmp_path, cli, answers):
    fixture, path, report = tmp_path / "f.json", tmp_path / "a.jsonl", tmp_path / "r.json"
    fixture.write_text(json.dumps(DOCUMENTED))
    path.write_text(lines(*({"id": id_, "content": text} for id_, text in answers.items())))
    ran = cli("reason", "score", "--fixture", fixture, "--answers", path, "-o", report)
    said = " ".join(ran.out.split())
    assert ran.code == 3 and "no case has evidence and no answer brought any" in said
    assert "Add `evidence` to the cases, let the reasoner return it" in said and "--profile signals" in said
    body = json.loads(report.read_text())
    assert body["diagnosis"] == [] and body["offenders"] == [] and body["summary"]["failed_cases"] == 0
    assert body["metrics"]["pass_rate"]["value"] is None and body["summary"]["average_overall_score"] is None
    assert not any(result["hard_failures"] for result in body["results"])
    # Nothing that is allowed or chosen makes a verdict of it, save the ways out.
    for more in (["--allow-missing", 30], ["--only-gates", "--gates", "errors<=0"]):
        assert cli("reason", "score", "--fixture", fixture, "--answers", path, *more).code == 3
    assert cli("reason", "guard", "--report", report).code != 0
    assert cli("reason", "score", "--fixture", fixture, "--answers", path, "--profile", "signals").code in (0, 1)
    brought = {id_: {"content": text, "evidence": shelf(int(id_[1:]))} for id_, text in SHELVES.items()}
    assert evaluate("reasoning", fixture=DOCUMENTED, answers=brought).counts["passed"] == 30


def test_some_cases_without_evidence_are_counted_and_named():
    fixture = with_evidence({*range(30)} - {4, 9})
    lost = evaluate("reasoning", fixture=fixture, answers=SHELVES, gates="overlap<=1")
    assert (lost.verdict, lost.counts["no_evidence"]) == ("NO VERDICT", 2)
    assert "2 of 30" in lost.reasons[0] and "d04, d09" in lost.reasons[0] and "evidence" in lost.reasons[0]
    assert lost.measures["pass_rate"].n == 28 and lost.report()["summary"]["no_evidence_cases"] == 2
    assert evaluate("reasoning", fixture=fixture, answers=SHELVES, gates="overlap<=1", allow_missing=1).exit_code == 3
    allowed = evaluate("reasoning", fixture=fixture, answers=SHELVES, gates="overlap<=1", allow_missing=2)
    assert allowed.ships and "2" in allowed.reasons[0] and "--allow-missing 2 permits" in allowed.reasons[0]
    # An error beside them counts too.
    failed = SHELVES | {"d11": {"error": "timed out"}}
    for allowance, code in ((2, 3), (3, 0)):
        found = evaluate("reasoning", fixture=fixture, answers=failed, gates="overlap<=1", allow_missing=allowance)
        assert found.exit_code == code, found.reasons


def test_an_answer_that_was_shown_nothing_is_no_missing_data():
    """Whoever answers from an empty hand, where the case has evidence, has made it up."""
    answers = {id_: {"content": text, "evidence": []} for id_, text in SHELVES.items()}
    decision = evaluate("reasoning", fixture=with_evidence(range(30)), answers=answers)
    assert decision.verdict == "NO-SHIP" and decision.counts["passed"] == 0
    assert decision.report()["results"][0]["hard_failures"] == ["no_evidence"]


# --- without bindings ---

LOOSE = "The rack by the window has run out of room, so a colleague ought to clear shelf {n} before the weekend."


def test_without_bindings_grounding_ranks_and_does_not_stop():
    fixture = with_evidence(range(30))
    loose = {f"d{n:02d}": LOOSE.format(n=n) for n in range(30)}
    near = evaluate("reasoning", fixture=fixture, answers=SHELVES, gates="overlap<=1")
    far = evaluate("reasoning", fixture=fixture, answers=loose, gates="overlap<=1, actionability=0")
    assert near.ships and far.measures["pass_rate"].value == 1
    first = {name: found.report()["results"][0] for name, found in (("near", near), ("far", far))}
    scores = {name: result["dimension_scores"]["factual_grounding"] for name, result in first.items()}
    assert scores["far"] < 0.5 < scores["near"]
    assert first["far"]["clean_below"] < first["near"]["clean_below"] < 1
    assert not any("factual_grounding" in result["required"] for result in first.values())
    states = {outcome.gate.metric: outcome.state for outcome in far.outcomes}
    assert states["factual_grounding"] == "NOT-APPLICABLE" and far.ships
    assert far.report()["summary"]["support"] == {
        "average": pytest.approx(float(far.measures["support"].value)),
        "n": 30,
        "clean_below": first["far"]["clean_below"],
    }
    assert any("cases that bind no values" in hint and "clean answers" in hint for hint in far.diagnosis)
    assert evaluate("guard", report=far.report(), only_gates=True, min_grounding="0.62").verdict == "NO VERDICT"
    # Whoever wants it to stop says so.
    assert not evaluate("reasoning", fixture=fixture, answers=loose, gates="overlap<=1, support=0.5").ships


def test_with_bindings_grounding_has_its_minimum_and_it_is_no_hard_failure():
    fixture = with_evidence(range(30))
    bound = fixture | {
        "cases": [
            case | {"bindings": [{"value": f"{n} crates", "source": [f"s{n}"]}]}
            for n, case in enumerate(fixture["cases"])
        ]
    }
    decision = evaluate("reasoning", fixture=bound, answers=SHELVES, gates="overlap<=1")
    result = decision.report()["results"][0]
    assert decision.verdict == "NO-SHIP" and not result["passed"] and "factual_grounding" in result["required"]
    assert result["hard_failures"] == [] and "factual_grounding" in result["below_minimum"]
    assert decision.items[0]["reason"] == "factual_grounding" and decision.measures["hard_failure_rate"].k == 0
    assert decision.offenders[0]["reason"] == "factual_grounding" and "0 crates" in decision.offenders[0]["says"]


def test_answers_may_be_a_mapping_of_anything_that_is_an_answer():
    given = {"a": {"answer": "x", "tokens_out": 3}, "b": ReasonerAnswer("y"), "c": "z", "d": {"content": None}, "e": 7}
    fixture = parse_fixture({"cases": [{"id": name, "prompt": "p"} for name in "abcdef"]})
    results = {r["id"]: r for r in evaluate("reasoning", fixture=fixture, answers=given).report()["results"]}
    assert [results[name]["answer"] for name in "abc"] == ["x", "y", "z"] and results["a"]["tokens_out"] == 3
    assert [results[name]["status"] for name in "def"] == ["error"] * 3
    assert "null" in results["d"]["error"] and "no answer for this case" in results["f"]["error"]


def test_what_a_reasoner_says_of_itself_changes_no_row():
    boasting = ReasonerAnswer("no", meta={"passed": True, "tokens_out": 10**30})
    decision = evaluate("reasoning", fixture=RAW, answers={"c1": boasting})
    assert decision.items[0]["passed"] is False and decision.headline["results"][0]["tokens_out"] == 10**30


def test_the_controls_are_the_good_ones_first_and_those_who_never_and_always_answer():
    made = list(controls(Setup(inputs={"fixture": RAW})))
    assert [control.name for control in made] == [*GOOD, *BAD, "all-refuse", "all-answer"]
    assert [control.good for control in made] == [True] * 3 + [False] * 10
    assert all(control.data["answers"]["c5"].content == "not in context" for control in made[:-1])
    answerable = RAW | {"cases": RAW["cases"][:4]}
    assert [c.name for c in controls(Setup(inputs={"fixture": answerable})) if c.skip] == ["all-answer"]


@pytest.mark.parametrize("form", ["text", "json", "tsv", "markdown", "junit", "github", "html"])
def test_every_format_renders_the_decision_and_the_guard(form):
    decision = evaluate("reasoning", fixture=RAW, answers=ANSWERS)
    report = decision.report()
    for shown in (decision, evaluate("guard", report=report)):
        text = render(shown, form).decode()
        assert shown.suite in text or form == "tsv"
        assert "c6" in text or form == "github" or (shown.suite, form) in (("guard", "text"), ("guard", "markdown"))
    assert json.loads(render(decision, "json"))["summary"]["total_cases"] == 6


def _hostile(form: str) -> str:
    raw = RAW | {"cases": [case | {"id": NASTY[:40] + case["id"], "prompt": NASTY} for case in RAW["cases"]]}
    raw = json.loads(json.dumps(raw))
    answers = {case["id"]: ReasonerAnswer(NASTY, meta={"model": NASTY}) for case in raw["cases"][:-1]}
    answers[raw["cases"][-1]["id"]] = ReasonerAnswer(error=NASTY, seen=NASTY)
    return render(evaluate("reasoning", fixture=raw, answers=answers), form).decode()


def test_hostile_text_is_spelled_out_in_the_terminal():
    text = _hostile("text")
    assert "\x1b" not in text and "\u202e" not in text and "\\x1b[31m" in text
    assert not any(line.startswith(("::", "# forged")) for line in text.splitlines())


def test_hostile_text_is_inert_in_markdown():
    from markdown_it import MarkdownIt

    text = _hostile("markdown")
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)
    assert "<script" not in html and "javascript:" not in html.replace("&quot;", "").split("<code>")[0]
    assert 'href="javascript' not in html and "<h1>forged" not in html and "\x1b" not in text


def test_hostile_text_is_escaped_in_html():
    text = _hostile("html")
    assert "<script>alert" not in text and "\x1b" not in text and 'href="javascript' not in text
    assert "&lt;script&gt;alert" in text


def test_the_dimensions_are_drawn_in_the_page():
    text = render(evaluate("reasoning", fixture=RAW, answers=ANSWERS), "html").decode()
    assert "Average score of each dimension" in text and "<svg" in text


def test_a_report_can_be_computed_again_from_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fixture, answers = tmp_path / "f.json", tmp_path / "a.jsonl"
    fixture.write_text(json.dumps(RAW))
    answers.write_text("".join(json.dumps({"id": id_, "content": text}) + "\n" for id_, text in ANSWERS.items()))
    paths = {"fixture": fixture, "answers": answers}
    strict = evaluate("reasoning", **paths, fail_on_errors=True)
    by_hand = evaluate("reasoning", **paths, case_min_overall=0.7, offenders=1)
    for decision in (strict, by_hand, evaluate("reasoning", answers=answers)):
        (receipt,) = verify(decision.report())
        assert receipt.agrees, receipt.differences
    assert by_hand.inputs["fixture"]["sha256"] and by_hand.inputs["answers"]["records"] == 5


def test_scoring_starts_without_what_only_asking_needs():
    code = "import sys, shipworthy.jobs.evaluate, shipworthy.suites.reasoning.suite; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert loaded.isdisjoint({"aiohttp", "jinja2", "rich", "subprocess", "selectors", "asyncio", "ssl"})


def test_offenders_say_what_was_wrong_and_what_was_cited():
    raw = RAW | {"cases": RAW["cases"][:5]}
    answers = ANSWERS | {"c1": "Disk 1 has 10 GB [m99]. Kim must replace disk 1 today.", "c5": "50 GB [m5]."}
    first, second = evaluate("reasoning", fixture=raw, answers=answers).offenders
    assert (first["qid"], first["reason"], first["citations"]) == ("c5", "under_refusal", ["m5"])
    assert (second["qid"], second["reason"], second["citations"]) == ("c1", "fabrication", ["m99"])
    assert "m99" in second["says"] and second["gold_claim_substr"] == ["10 GB"] and second["evidence"][0]["id"] == "m1"
