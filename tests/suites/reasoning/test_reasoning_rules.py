"""Each rule of the grounded profile once, through the public interface; properties; hostile text; labelled answers."""

from __future__ import annotations

import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import REAL_DATA, Cli
from counting import calls
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import BAD, GOOD, control_answers

NOTES = [
    {
        "id": "n1",
        "source": "runbooks/gateway.md",
        "line": 4,
        "text": "The gateway retries a declined card 3 times.",
        "confidence": 0.7,
    },
    {
        "id": "n2",
        "source": "decisions/march.md",
        "line": 9,
        "confidence": 0.95,
        "text": "Since release 4.2 the gateway retries a declined card 5 times, because 40 of 160 retries succeeded.",
    },
    {"id": "n3", "source": "backlog.md", "line": 14, "text": "Priya Nair to update the retry table by 2025-03-14."},
    {
        "id": "n4",
        "source": "backlog.md",
        "line": 22,
        "text": "Spare parts cost between $400-$500 and the plates are 4x4.",
    },
]
PROMPT = "How often does the gateway retry a declined card?"
RIGHT = "Since release 4.2 the gateway retries a declined card 5 times [n2]."


def judge(answer: Any, **case: Any) -> dict[str, Any]:
    """The result of one answer to one case."""
    body = {"id": "c", "prompt": PROMPT, "evidence": NOTES} | case
    report = evaluate("reasoning", fixture={"cases": [body]}, answers={"c": answer}).report()
    result: dict[str, Any] = report["results"][0]
    return result


def failures(answer: Any, **case: Any) -> set[str]:
    return {*judge(answer, **case)["hard_failures"]}


# --- support ---


def test_support_is_the_mean_of_three_shares():
    facts = judge("The gateway retries a declined card 5 times. Somebody bribed the bank manager yesterday.")["facts"]
    parts = (1 - facts["new_words"]) + (1 - facts["weakest_sentence"]) + facts["shared_pairs"]
    assert facts["support"] == pytest.approx(parts / 3)
    assert facts["weakest_sentence"] == 1 and 0 < facts["new_words"] < 1 and 0 < facts["shared_pairs"] < 1
    assert facts["unsupported_sentences"] == ["Somebody bribed the bank manager yesterday."]


def test_an_answer_that_the_evidence_says_reaches_1_without_a_citation():
    result = judge("The gateway retries a declined card 3 times.")
    assert result["dimension_scores"]["factual_grounding"] == 1 and result["facts"]["citations"] == []


def test_a_case_that_asks_for_sources_wants_one():
    uncited = judge("The gateway retries a declined card 3 times.", prompt=PROMPT + " Cite the source.")
    cited = judge("The gateway retries a declined card 3 times [n1].", prompt=PROMPT + " Cite the source.")
    assert uncited["dimension_scores"]["factual_grounding"] < cited["dimension_scores"]["factual_grounding"] == 1


def test_words_that_only_the_question_has_are_new():
    """An answer is not grounded in its question."""
    asked = judge("The turbine retries a declined card 3 times.", prompt="What about the turbine?")
    known = judge("The gateway retries a declined card 3 times.", prompt="What about it?")
    assert [result["facts"]["new_words"] for result in (known, asked)] == [0, pytest.approx(1 / 6)]


# --- citations ---


@pytest.mark.parametrize(
    "reference",
    [
        "[n2]",
        "[n1, n2]",
        "[N2]",
        "[2]",
        "(decisions/march.md:9)",
        "(march.md:9)",
        "[0.95]",
        "[confidence 0.95]",
        "(backlog.md:14, :22)",
        "(backlog.md:10-15)",
        "[sic]",
        "per n2",
        "[notes](http://x.test)",
    ],
)
def test_citations_that_resolve(reference):
    assert "fabrication" not in failures(f"The gateway retries a declined card 5 times {reference}.")


@pytest.mark.parametrize(
    "reference",
    ["[n9]", "[n2, n9]", "[7]", "(march.md:10)", "(backlog.md:14, :23)", "(minutes.md:9)", "[0.85]", "[old/notes.md]"],
)
def test_citations_that_do_not(reference):
    result = judge(f"The gateway retries a declined card 5 times {reference}.")
    assert "fabrication" in result["hard_failures"] and result["facts"]["unresolved"]
    assert result["dimension_scores"]["factual_grounding"] <= 0.35


@pytest.mark.parametrize(
    ("confidence", "resolves"), [(0.95, True), (0.9451, True), (0.945, False), (0.9549, True), (0.955, False)]
)
def test_a_confidence_tag_names_a_note_less_than_half_a_hundredth_away(confidence, resolves):
    notes = [NOTES[0], NOTES[1] | {"confidence": confidence}]
    found = failures("The gateway retries a declined card 5 times [0.95].", evidence=notes)
    assert ("fabrication" not in found) is resolves


# --- numbers ---


@pytest.mark.parametrize(
    "text",
    [
        "five times",
        "8 times",
        "2 times more",
        "25% of the retries",
        "120 retries failed",
        "a third of 4.2",
        "15 in all",
        "$400 to $500",
        "a 4x4 plate",
        "14 March",
        "2025-03-14",
        "March 14th, 2025",
        "release 4.2",
        "these two notes",
        "in gateway.md",
        "0.5 seconds less than",
    ],
)
def test_numbers_that_the_evidence_has_or_that_follow_from_it(text):
    known = "invented" not in failures(f"The gateway retries a declined card, {text}.")
    assert known is (text != "0.5 seconds less than")


def test_a_number_that_nobody_gave_is_invented():
    result = judge("The gateway retries a declined card 5 times, for 9731 customers, until 15 March.")
    assert "invented" in result["hard_failures"]
    assert result["facts"]["unsupported_anchors"] == ["15 march", "9731"] and result["facts"]["anchors"] == 3
    report = evaluate(
        "reasoning",
        fixture={"cases": [{"id": "c", "prompt": PROMPT, "evidence": NOTES}]},
        answers={"c": "5 times, 9731 customers, until 15 March."},
    ).report()
    assert report["summary"]["unsupported_anchors"]["rate"] == pytest.approx(2 / 3)


# --- bindings ---

FIVE = {"value": "5", "about": ["retries", "card"], "source": ["n2"], "rivals": ["n1"], "rivals_values": ["3"]}
TABLE = {"value": "Priya Nair", "about": ["table"], "source": ["n3"]}


@pytest.mark.parametrize(
    ("answer", "standing"),
    [
        (RIGHT, "given"),
        ("The gateway retries a declined card. It does so five times.", "given"),
        ("The runbook is silent. The gateway retries often.", "missing"),
        ("The gateway retries. Then it rained. There were 5.", "missing"),  # not in a sentence about it, nor the next
        ("5 times [n2].", "given"),  # a terse answer leaves out what the question is about
        ("The gateway retries a declined card 5 times instead of 3 times.", "given"),
        ("The gateway retries a declined card not 5 times.", "denied"),
        ("The gateway retries a declined card 3 times.", "misbound"),
        ("The gateway retries a declined card 5 times [n1].", "misbound"),
        ("The gateway retries a declined card 5 times [n2]. The runbook's 3 retries [n1] are old.", "given"),
        ("Does the gateway retry a card 3 times? The gateway retries 5 times.", "given"),
    ],
)
def test_a_bound_value_is_given_missing_denied_or_misbound(answer, standing):
    result = judge(answer, bindings=[FIVE])
    assert result["facts"]["bindings"] == [standing]
    assert ({"denied", "misbound"} & {*result["hard_failures"]}) == ({standing} & {"denied", "misbound"})
    if standing == "missing":
        assert result["dimension_scores"]["factual_grounding"] == 0 and not result["passed"]


def test_values_that_change_places_are_misbound():
    bindings = [
        {"value": "160", "about": ["tried"], "source": ["n2"]},
        {"value": "40", "about": ["succeeded"], "source": ["n2"]},
    ]
    assert judge("We tried 160 and 40 succeeded.", bindings=bindings)["facts"]["bindings"] == ["given", "given"]
    assert "misbound" in failures("We tried 40. In the end 160 succeeded.", bindings=bindings)


def test_what_the_source_itself_denies_is_not_denied_by_repeating_it():
    evidence = [{"id": "a", "source": "r.md", "text": "The agent did not read the files in 13 of 21 tickets."}]
    binding = {"value": "13", "source": ["a"]}
    assert "denied" not in failures(
        "The agent did not read the files in 13 tickets.", evidence=evidence, bindings=[binding]
    )


def test_a_date_is_the_same_in_every_spelling():
    facts = judge("The table is due on March 14th, 2025.", bindings=[{"value": "2025-03-14", "source": ["n3"]}])[
        "facts"
    ]
    assert facts["bindings"] == ["given"]


# --- the right side and the wrong one ---

SIDES = {
    "prompt": "The notes disagree on how often the gateway retries a declined card.",
    "bindings": [FIVE],
    "expected_resolution": ["the gateway retries a declined card 5 times"],
    "forbidden": ["the gateway retries a declined card 3 times"],
}


@pytest.mark.parametrize(
    ("answer", "resolved", "forbidden"),
    [
        (RIGHT, True, False),
        ("The gateway retries a declined card 3 times.", False, True),
        ("The gateway does not retry a declined card 3 times.", False, False),
        ("Does the gateway retry a declined card 3 times?", False, False),
        ("Five times [n2].", False, False),  # the words of the resolution are needed
        (RIGHT + " The runbook says that the gateway retries a declined card 3 times [n1].", True, True),
        ("The gateway retries a declined card 3 times, as the runbook says [n1]. " + RIGHT, True, True),
    ],
)
def test_a_side_is_taken_by_saying_it(answer, resolved, forbidden):
    result = judge(answer, **SIDES)
    assert result["facts"]["resolved"] is resolved and ("forbidden" in result["hard_failures"]) is forbidden
    if forbidden:
        assert result["dimension_scores"]["contradiction_handling"] == 0


def test_a_sentence_that_asserts_both_sides_takes_the_right_one():
    result = judge("The gateway retries a declined card 5 times, where it was 3 times.", **SIDES)
    assert result["hard_failures"] == [] and result["facts"]["resolved"]


def test_sides_are_left_out_where_nobody_wrote_down_which_one_is_right():
    assert judge(RIGHT, prompt=SIDES["prompt"])["dimension_scores"]["contradiction_handling"] is None


# --- actions ---


def test_actions_count_only_where_they_are_asked_for():
    assert judge(RIGHT)["dimension_scores"]["actionability"] is None
    report = evaluate(
        "reasoning", fixture={"cases": [{"id": "c", "prompt": PROMPT, "evidence": NOTES}]}, answers={"c": RIGHT}
    ).report()
    assert (
        report["summary"]["dimension_n"]["actionability"] == 0 and report["summary"]["dimension_n"]["usefulness"] == 1
    )


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (RIGHT, 0),
        ("Update the retry table.", 0.7),
        ("Somebody should update the retry table.", 0.7),
        ("The retry table must be updated by Friday.", 0.85),
        ("Priya Nair to update the retry table by 2025-03-14.", 1),
        ("Priya updates the table by 14 March.", 0),  # no directive
        ("Do not update the retry table.", 0),
        ("Buy flour and whisk eggs today.", 0),
        ("TBD should update the retry table.", 0.7),
    ],
)
def test_an_action_touches_the_evidence_and_owners_and_times_add(answer, score):
    asked = {"expected_signals": {"actionability": {}}}
    assert judge(answer, **asked)["dimension_scores"]["actionability"] == pytest.approx(score)


def test_a_case_that_lists_actions_asks_for_them():
    listed = {"actions": ["update the retry table"]}
    assert judge("Please update the retry table.", **listed)["dimension_scores"]["actionability"] == pytest.approx(0.7)
    without = judge(RIGHT, **listed)
    assert (without["hard_failures"], without["below_minimum"]) == ([], ["actionability"]) and not without["passed"]


# --- refusals, and what is no answer ---


def test_unanswerable_cases_want_a_refusal_and_answerable_ones_do_not():
    refusal = "I'm sorry, but the notes do not mention how many customers left."
    asked = {"prompt": "How many customers left?", "answerable": False}
    assert judge(refusal, **asked)["passed"] and judge("not in context", **asked)["passed"]
    assert failures("312 customers left.", **asked) == {"under_refusal"}
    assert "under_refusal" in failures(refusal + " The answer is 312 customers [n9].", **asked)
    assert "over_refusal" in failures(refusal)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (" ".join(note["text"] for note in NOTES), "evidence_dump"),
        (
            "gateway card retries runbook table release decision source evidence owner priority risk impact fact "
            "memory summary recommendation timeline mitigation fix ship implement confirm verify reconcile parts",
            "no_grammar",
        ),
        ("Pancakes want flour, milk and patience.", "off_topic"),
        ({"content": RIGHT, "repaired": True}, "repaired"),
        ({"content": RIGHT, "degraded": True}, "degraded"),
    ],
)
def test_what_is_no_answer(answer, kind):
    assert kind in failures(answer)


def test_the_question_repeated_earns_nothing():
    echo = judge(PROMPT)
    assert echo["facts"]["words"] == 0 and not echo["passed"]
    assert judge(f"{PROMPT} {RIGHT}")["dimension_scores"] == judge(RIGHT)["dimension_scores"]


def test_length_is_not_rewarded_and_an_endless_answer_is_of_no_use():
    assert judge(RIGHT)["dimension_scores"]["usefulness"] == 1
    assert judge(" ".join([RIGHT] * 80))["dimension_scores"]["usefulness"] == 0


def test_one_text_for_every_case_stops_the_suite():
    cases = [{"id": str(n), "prompt": PROMPT, "evidence": NOTES} for n in range(4)]
    decision = evaluate("reasoning", fixture={"cases": cases}, answers={str(n): RIGHT for n in range(4)})
    assert decision.counts["passed"] == 4 and not decision.ships and "answer_overlap" in decision.reasons[0]


# --- notes for people ---


def test_suspicions_are_counted_shown_and_fail_nothing_unless_gated():
    answer = (
        'The gateway retries a declined card 5 times [n2]. The table says "we never update this table at all" [n3]. '
    )
    answer += "Release 4.2 is in the backlog [n3]."
    case = {"cases": [{"id": "c", "prompt": PROMPT, "evidence": NOTES}]}
    decision = evaluate("reasoning", fixture=case, answers={"c": answer})
    result = decision.report()["results"][0]
    assert result["passed"] and len(result["facts"]["suspicions"]) == 2
    assert decision.report()["summary"]["suspicions"] == 2
    assert not evaluate("reasoning", fixture=case, answers={"c": answer}, gates="suspicions<=0").ships


# --- the shipped fixture ---


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_controls_of_the_shipped_fixture_go_as_they_should(name):
    fixture = read_fixture()
    assert evaluate("reasoning", answers=control_answers(fixture, name)).ships is (name in GOOD)


def test_the_demo_reasoner_passes_the_shipped_fixture():
    from shipworthy.demo.reasoner import load_notes, reason

    notes = load_notes()
    answers = {case.id: reason(case.prompt, notes) for case in read_fixture().cases}
    decision = evaluate("reasoning", answers=answers)
    assert decision.ships and decision.counts["passed"] == 30


def test_pinned_answers_are_judged_as_before():
    """A pin against change, not a measure: python tests/suites/reasoning/pinned/make.py writes it again."""
    spec = util.spec_from_file_location("make", Path(__file__).parent / "pinned" / "make.py")
    assert spec is not None and spec.loader is not None
    make = util.module_from_spec(spec)
    spec.loader.exec_module(make)
    rows = make.read()[::4]
    assert len(make.read()) <= 150 and make.verdicts(rows) == [row["stopped"] for row in rows]


# --- lint ---


def lint(cli: Cli, tmp_path: Path, **case: Any) -> dict[str, str]:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": [{"id": "c", "prompt": PROMPT, "evidence": NOTES} | case]}))
    ran = cli("reason", "lint", "--fixture", str(path), "--json")
    found = {finding["code"]: finding["severity"] for finding in json.loads(ran.out)}
    assert ran.code == ("error" in found.values())
    return found


@pytest.mark.parametrize(
    ("case", "code", "severity"),
    [
        ({}, "case-could-not-fail", "warning"),
        ({"bindings": [{"value": "7 times", "source": ["n2"]}]}, "case-value", "error"),
        ({"bindings": [{"value": "5 times", "source": ["n7"]}]}, "case-source", "error"),
        ({"bindings": [{"value": "5", "source": ["n2"]}]}, "case-could-not-fail", "warning"),
        ({"bindings": [{"value": "card", "source": ["n2"]}]}, "case-could-not-fail", "warning"),
        ({"prompt": "Do they disagree?", "expected_resolution": ["it is so"]}, "case-own-words", "error"),
        (
            {"bindings": [FIVE], "forbidden": ["Since release 4.2 the gateway retries a card"]},
            "case-own-words",
            "error",
        ),
        ({"prompt": "Do they disagree?", "expected_resolution": ["is it"]}, "case-resolution", "error"),
        (
            {"expected_resolution": ["the new release retries more"], "forbidden": ["the new release retries"]},
            "case-resolution",
            "error",
        ),
        ({"bindings": [FIVE], "expected_resolution": ["retries 5 times"]}, "case-resolution-shown", "warning"),
        ({"answerable": False, "bindings": [FIVE]}, "case-unanswerable", "error"),
        ({"evidence": []}, "case-no-evidence", "warning"),
    ],
)
def test_lint_points_out_what_an_author_should_look_at(cli, tmp_path, case, code, severity):
    assert lint(cli, tmp_path, **case).get(code) == severity


def test_lint_is_content_with_a_value_that_is_bound_to_what_it_is_about(cli, tmp_path):
    assert lint(cli, tmp_path, bindings=[FIVE]) == {}


def test_the_shipped_fixture_has_no_findings(cli):
    ran = cli("reason", "lint", "--strict")
    assert ran.code == 0 and ran.out == "0 errors, 0 warnings\n"


def test_broken_controls_name_the_case_and_the_phrase(cli, tmp_path):
    case = {
        "id": "odd",
        "prompt": PROMPT,
        "evidence": NOTES,
        "bindings": [FIVE],
        "forbidden": ["the gateway retries a declined card 5 times"],
    }
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": [case]}))
    ran = cli("controls", "--suite", "reasoning", "--fixture", str(path))
    broken = next(line for line in ran.out.splitlines() if "BROKEN" in line and "terse" in line)
    assert ran.code == 1 and "odd: asserts what the case forbids: the gateway retries a declined card 5 times" in broken


# --- properties, hostile text, real answers ---


@given(st.text(max_size=300))
def test_scores_stay_between_0_and_1_for_any_text(text):
    result = judge(text, bindings=[FIVE], expected_signals={"actionability": {}})
    assert all(score is None or 0 <= score <= 1 for score in result["dimension_scores"].values())
    assert 0 <= result["overall_score"] <= 1


@given(
    st.lists(st.sampled_from([RIGHT, "", "not in context", "9731 customers.", "The runbook says 3 [n9]."]), max_size=6)
)
def test_an_answer_that_is_dropped_makes_no_other_one_better(answers):
    cases = [{"id": str(n), "prompt": PROMPT, "evidence": NOTES} for n in range(6)]
    whole = {str(n): answer for n, answer in enumerate(answers)}
    before = evaluate("reasoning", fixture={"cases": cases}, answers=whole)
    after = evaluate("reasoning", fixture={"cases": cases}, answers=dict(list(whole.items())[1:]))
    assert not (after.ships and not before.ships)
    assert after.counts["passed"] <= before.counts["passed"]
    told = {result["id"]: result for result in before.report()["results"]}
    assert all(result == told[result["id"]] for result in after.report()["results"] if result["status"] != "error")


HOSTILE = [
    "[" * 100_000,
    "[n" * 50_000,
    "a.md:1, :" * 11_000,
    "1 " * 50_000,
    "not " * 25_000,
    '"' * 100_000,
    "1,2" * 33_000,
    "Priya Nair to " * 7_000,
    "x/" * 50_000,
    "\u202e" * 50_000,
    "9" * 100_000,
]


@pytest.mark.parametrize("piece", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_takes_steps_that_grow_with_it_and_no_faster(piece):
    half, whole = (calls(lambda size=size: judge(piece[:size], bindings=[FIVE])) for size in (8_000, 16_000))
    assert whole < 3 * half + 100_000
    judge(piece, bindings=[FIVE])


def test_grounding_tells_labelled_answers_apart():
    path = REAL_DATA / "grounding" / "begin_tc_dev.jsonl"
    if not path.exists():
        pytest.skip("grounding/begin_tc_dev.jsonl is not there")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()][:120]
    cases = [
        {
            "id": row["id"],
            "prompt": row["question"] or "?",
            "evidence": [{"id": "p", "text": " ".join(row["evidence"])}],
        }
        for row in rows
    ]
    report = evaluate(
        "reasoning", fixture={"cases": cases}, answers={row["id"]: row["answer"] for row in rows}
    ).report()
    scores = {result["id"]: result["dimension_scores"]["factual_grounding"] for result in report["results"]}
    good = [scores[row["id"]] for row in rows if not row["bad"]]
    bad = [scores[row["id"]] for row in rows if row["bad"]]
    assert sum(good) / len(good) > sum(bad) / len(bad) + 0.2
    # Where nothing is bound, a low score alone stops none of the answers that people found no fault with.
    clean = {row["id"] for row in rows if not row["bad"]}
    assert all(result["passed"] for result in report["results"] if result["id"] in clean)
    assert any(scores[id_] < 0.55 for id_ in clean)


# --- values that an author has worked out, and resolutions ---

PLAN = [{"id": "n1", "source": "a.md", "text": "The plan has 4 seats. Each seat costs 12 dollars a month."}]
COST = {"prompt": "What does the plan cost?", "evidence": PLAN, "expected_resolution": [], "forbidden": []}


def test_a_computed_value_that_the_author_bound_is_known() -> None:
    answer = "The plan with 4 seats costs 577 dollars."
    bound = [{"value": "577 dollars", "source": ["n1"]}]
    assert "invented" not in failures(answer, **{**COST, "bindings": bound})
    assert "invented" in failures(answer, **{**COST, "bindings": []})


def test_lint_accepts_a_computed_value(cli: Cli, tmp_path: Path) -> None:
    found = lint(cli, tmp_path, **{**COST, "bindings": [{"value": "48 dollars", "about": ["plan"], "source": ["n1"]}]})
    assert not {"case-value", "case-own-words"} & set(found)
    assert "case-value" in lint(cli, tmp_path, **{**COST, "bindings": [{"value": "577 dollars", "source": ["n1"]}]})


def test_a_missing_resolution_is_shown_and_stops_only_where_it_is_required() -> None:
    case = {**COST, "bindings": [], "expected_resolution": ["each seat costs 12 dollars"]}
    answer = "The plan has 4 seats, and the price is 12 dollars a month."
    found = judge(answer, **case)
    assert any("expected resolutions" in line for line in found["facts"]["suspicions"])
    assert "contradiction_handling" not in found["below_minimum"]
    required = {"contradiction_handling": {"required": True}}
    assert "contradiction_handling" in judge(answer, **case, expected_signals=required)["below_minimum"]
