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

from shipworthy.calls import call
from shipworthy.errors import UsageError
from shipworthy.receipts import verify
from shipworthy.report import render
from shipworthy.scoring.guard import evaluate_guard
from shipworthy.scoring.reasoning import evaluate_reasoning
from shipworthy.suites.bars import written
from shipworthy.suites.reasoning import Answer, Judged, bundled_fixture, facts, judge, slices
from shipworthy.suites.reasoning.controls import answer_anyway, controls
from shipworthy.tally import Tally

RAW = {
    "name": "small",
    "thresholds": {"suite_min_pass_rate": 0.5},
    "cases": [
        {
            "id": f"c{n}",
            "prompt": f"How large is disk {n}?",
            "preset": "odd" if n % 2 else "even",
            "answerable": n != 5,
            "evidence": [{"id": f"m{n}", "source": "disks.md", "line": n, "text": f"Kim must replace disk {n} of {n}0 GB today."}],
            "bindings": [{"value": f"{n}0 GB", "source": [f"m{n}"]}] if n != 5 else [],
        }
        for n in range(1, 7)
    ],
}  # fmt: skip
ANSWERS = {f"c{n}": f"Disk {n} has {n}0 GB [m{n}]. Kim must replace disk {n} today." for n in range(1, 5)} | {
    "c5": "not in context"
}
NASTY = '<script>alert("x")</script> [link](javascript:alert(1)) | `code` \x1b[31mred\x1b[0m\n# forged\n::error::forged \u202e \ud800'


def test_the_gates_are_the_bars_of_the_fixture():
    decision = evaluate_reasoning(RAW, answers=ANSWERS, fail_on_errors=True)
    assert [str(outcome.gate) for outcome in decision.outcomes] == [
        "pass_rate >= 0.50", "actionability >= 0.60", "factual_grounding >= 0.55", "contradiction_handling >= 0.50",
        "usefulness >= 0.65", "answer_overlap <= 0.30", "under_refusal <= 0.05", "errors <= 0",
    ]  # fmt: skip
    assert decision.verdict == "NO-SHIP" and decision.reasons == ["errors 1 is above 0"]
    assert evaluate_reasoning(RAW, answers=ANSWERS).ships


def test_gates_that_are_named_go_before_those_of_the_fixture():
    assert not evaluate_reasoning(RAW, answers=ANSWERS, gates="pass_rate=0.95").ships
    alone = evaluate_reasoning(RAW, answers={}, gates="error_rate<=1", only_gates=True)
    assert alone.ships and [str(outcome.gate) for outcome in alone.outcomes] == ["error_rate <= 1"]
    part = evaluate_reasoning(RAW, answers=ANSWERS, gates=["pass_rate[preset=even]=0.9"], only_gates=True)
    assert part.reasons == ["pass_rate[preset=even] 2/3 (0.667) is below 0.9: 1 more would turn it"]
    with pytest.raises(UsageError, match="gate-unknown"):
        evaluate_reasoning(RAW, answers=ANSWERS, gates="precision=0.9")


def test_that_no_case_may_end_in_an_error_can_be_proven():
    answers = ANSWERS | {"c6": "not in context"}
    decision = evaluate_reasoning(RAW, answers=answers, gates="errors<=0", only_gates=True, require_proof=True)
    assert decision.ships and decision.outcomes[0].state == "PASS"


def test_who_answers_what_nobody_can_answer_does_not_ship():
    fixture = bundled_fixture()
    right = next(c for c in controls(fixture) if c.name == "terse right answers").answers
    leaks = {case.id: Answer(answer_anyway(case)) for case in fixture.cases}
    assert evaluate_reasoning(fixture, answers=right).ships
    decision = evaluate_reasoning(fixture, answers=leaks)
    assert decision.measures["pass_rate"].value == Fraction(25, 30)
    assert decision.reasons == ["under_refusal 5/5 (1.000) is above 0.05: 5 fewer would turn it"]
    leak = next(row for row in decision.items if row["reason"] == "under_refusal")
    assert leak["passed"] is False and leak["overall"] == 0


def test_the_summary_says_the_bars_in_force():
    decision = evaluate_reasoning(RAW, answers={"c1": "no"}, gates="actionability=0.9", suite_min_pass_rate="0.75")
    summary = decision.report()["summary"]
    assert summary["thresholds"]["suite_min_pass_rate"] == 0.75
    assert summary["thresholds"]["dimension_min_average"]["actionability"] == 0.9
    assert "actionability" in summary["dimension_threshold_failures"] and summary["reasons"] == decision.reasons
    assert summary["passed"] is decision.ships is False


@pytest.mark.parametrize(
    ("options", "code"),
    [({"profile": "vibes"}, "reason-profile"), ({"case_min_overall": 65}, "bar"), ({"max_cases": 0}, "bar")],
)
def test_options_that_make_no_sense(options, code):
    with pytest.raises(UsageError, match=code):
        evaluate_reasoning(RAW, answers={}, **options)


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
@given(st.randoms(use_true_random=False), st.integers(0, 6))
def test_any_split_and_order_gives_the_same_tally_and_report(shuffler: random.Random, cut: int):
    cases, answers = RAW["cases"][:], list(ANSWERS.items())
    shuffler.shuffle(cases)
    shuffler.shuffle(answers)
    whole = evaluate_reasoning(RAW, answers=ANSWERS).report()
    assert evaluate_reasoning(RAW | {"cases": cases}, answers=dict(answers)).report()["digest"] == whole["digest"]
    fixture = bundled_fixture()
    verdicts = [judge(case, Answer("6 hours [n1]"), fixture) for case in fixture.cases[:6]]
    parts, total = [Tally(), Tally()], Tally()
    for verdict in verdicts:
        total.count(facts(verdict), slices(verdict))
    shuffler.shuffle(verdicts)
    for position, verdict in enumerate(verdicts):
        parts[position >= cut].count(facts(verdict), slices(verdict))
    assert parts[0] + parts[1] == total


def test_the_overlap_does_not_hang_on_the_order():
    fixture = bundled_fixture()
    answers = controls(fixture)[-1].answers
    verdicts = [judge(case, answers[case.id], fixture) for case in fixture.cases]
    assert (
        Judged(fixture, "grounded", answers, verdicts).alikeness()
        == Judged(fixture, "grounded", answers, verdicts[::-1]).alikeness()
    )


@pytest.mark.parametrize("form", ["text", "json", "tsv", "markdown", "junit", "github", "html"])
def test_every_format_renders_the_decision_and_the_guard(form):
    decision = evaluate_reasoning(RAW, answers=ANSWERS)
    report = decision.report()
    for shown in (decision, evaluate_guard(report)):
        text = render(shown, form).decode()
        assert shown.suite in text or form == "tsv"
        assert "c6" in text or form == "github" or (shown.suite, form) in (("guard", "text"), ("guard", "markdown"))
    assert json.loads(render(decision, "json"))["summary"]["total_cases"] == 6


def _hostile(form: str) -> str:
    raw = RAW | {"cases": [case | {"id": NASTY[:40] + case["id"], "prompt": NASTY} for case in RAW["cases"]]}
    raw = json.loads(json.dumps(raw))
    answers = {case["id"]: Answer(NASTY, meta={"model": NASTY}) for case in raw["cases"][:-1]}
    answers[raw["cases"][-1]["id"]] = Answer(error=NASTY, seen=NASTY)
    return render(evaluate_reasoning(raw, answers=answers), form).decode()


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
    text = render(evaluate_reasoning(RAW, answers=ANSWERS), "html").decode()
    assert "Averages over the cases that ask for the dimension" in text and "<svg" in text


def test_a_report_can_be_computed_again_from_its_files(tmp_path):
    fixture, answers = tmp_path / "f.json", tmp_path / "a.jsonl"
    fixture.write_text(json.dumps(RAW))
    answers.write_text("".join(json.dumps({"id": id_, "content": text}) + "\n" for id_, text in ANSWERS.items()))
    by_call = call("reasoning", {"fixture": str(fixture), "answers": str(answers)}, {"fail_on_errors": True})
    by_hand = evaluate_reasoning(fixture, answers=answers, case_min_overall=0.7, offenders=1)
    for decision in (by_call, by_hand, evaluate_reasoning(answers=answers)):
        (receipt,) = verify(decision.report())
        assert receipt.agrees, receipt.differences
    assert by_hand.inputs["fixture"]["sha256"] and by_hand.inputs["answers"]["records"] == 5


def test_scoring_starts_without_what_only_asking_needs():
    code = "import sys, shipworthy.cli.reason, shipworthy.scoring.reasoning; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert loaded.isdisjoint({"httpx2", "jinja2", "rich", "subprocess", "selectors", "asyncio", "ssl"})


def test_offenders_say_what_was_wrong_and_what_was_cited():
    raw = RAW | {"cases": RAW["cases"][:5]}
    answers = ANSWERS | {"c1": "Disk 1 has 10 GB [m99]. Kim must replace disk 1 today.", "c5": "50 GB [m5]."}
    first, second = evaluate_reasoning(raw, answers=answers).offenders
    assert (first["qid"], first["reason"], first["citations"]) == ("c5", "under_refusal", ["m5"])
    assert (second["qid"], second["reason"], second["citations"]) == ("c1", "fabrication", ["m99"])
    assert "m99" in second["says"] and second["gold_claim_substr"] == ["10 GB"] and second["evidence"][0]["id"] == "m1"
