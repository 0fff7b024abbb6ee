"""What the grounded profile sees: sources, values, sides, actions, copies, refusals, and the controls on all of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shipworthy.jobs.evaluate import evaluate
from shipworthy.stats import auc
from shipworthy.suites.reasoning import copying
from shipworthy.suites.reasoning.clauses import read
from shipworthy.suites.reasoning.controls import BAD, GOOD, control_answers
from shipworthy.suites.reasoning.copying import alikeness, grams, is_dump, strip_echo
from shipworthy.suites.reasoning.fixture import bundled_fixture, load_fixture, parse_evidence, parse_fixture
from shipworthy.suites.reasoning.grounded import LONGEST
from shipworthy.suites.reasoning.judge import judge_answer
from shipworthy.suites.reasoning.verdict import ReasonerAnswer
from shipworthy.suites.reasoning.words import norms

SHIPPED = bundled_fixture()
TESTS = Path(__file__).parents[2]
BACKUPS = {
    "id": "backups",
    "prompt": "The two runbooks contradict each other about the interval. Which one is right and what do we do?",
    "expected_signals": {"contradiction_handling": {"required": True}},
    "evidence": [
        {
            "id": "m12",
            "source": "ops/backup.md",
            "line": 4,
            "text": "Backups run every 6 hours since the May change.",
            "confidence": 0.9,
        },
        {"id": "m07", "source": "ops/old.md", "line": 9, "text": "Backups run every 24 hours.", "confidence": 0.4},
        {"id": "m31", "source": "plan.md", "text": "Lena should delete the stale page ops/old.md before Friday."},
    ],
    "bindings": [{"value": "6 hours", "source": ["m12"], "rivals": ["m07"]}],
    "expected_resolution": ["backups run every 6 hours"],
    "forbidden": ["backups run every 24 hours"],
}
FIXTURE = parse_fixture({"cases": [BACKUPS]})
CASE = FIXTURE.cases[0]
DO = "Lena should delete ops/old.md before Friday [m31]."


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (TESTS / name).read_text(encoding="utf-8").splitlines()]


def on(text, case=CASE, **more):
    return judge_answer(case, ReasonerAnswer(text, **more), FIXTURE)


@pytest.mark.parametrize(
    "text",
    [
        f"Every 6 hours [m12]; m07 is outdated. {DO}",
        f"Backups run every six hours (ops/backup.md:4), and the 24 hours of m07 no longer hold. {DO}",
        f"m07 (24 hours) is superseded by m12: 6 hours. {DO}",
        f"ops/old.md:9 says 24 hours, m12 says 6 hours. The newer note wins, so backups run every 6 hours. {DO}",
        f"## Current\n- 6h [m12] [0.90]\n\n## Outdated\n- 24h [m07] [0.40]\n\n## To do\n- {DO}",
        f'The change of May holds: "every 6 hours" [m12], not 24 hours [m07]. {DO}',
        f"Two numbers: 24 hours in the old runbook (m07), 6 in the new one (m12). It runs every 6 hours. {DO}",
        f"The page still promises 24 hours (m07), whereas backups run every 6 hours (m12), and that holds. {DO}",
        f"- 24 hours – old page, outdated [m07]\n- 6 hours – since May, holds [m12]\n- {DO}",
        f"It went down from 24 hours to 6 hours in May [m12]. {DO}",
        f"| Source | Says | Status |\n|---|---|---|\n| m12 | 6 h | in force |\n| m07 | 24 h | outdated |\n\n{DO}",
        f"- Old page: 24 hours, no date [m07]\n- Backups run every 6 hours since May [m12]\n- {DO}",
        f"- Runbook – 24 hours, undated (m07)\n- Backups run every 6 hours since May (m12)\n- {DO}",
        f"**Which holds?** m12: every 6 hours.\n**Which does not hold?** m07: 24 hours.\n\n{DO}",
        f"Every 6 hours (m12); the new runbook calls the 24 hours of the old one (m07) outdated. {DO}",
        f"Backups run every 6 hours (m12), which is newer than the 24 hours in the old note (m07). {DO}",
        f"Doesn't the old page say something else? It does: 24 hours [m07]. Backups run every 6 hours [m12]. {DO}",
        "Every 6 hours [m12]; m07 is outdated. It is Lena who deletes the stale page; her deadline is Friday [m31].",
        f"Conflict? Yes: 24 hours in ops/old.md:9, six in ops/backup.md:4.\n\nBackups run every 6 hours [m12]. {DO}",
        f"Backups run every 6 hours [m12], which takes the place of the 24 hours of m07. {DO}",
        f"Every 6 hours [m12]. Its rival's 24 hours (m07) carry no date. {DO}",
        f"Every 6 hours (m12) - the 24 of m07 is old. {DO}",
        "Every 6 hours [m12]; m07 is outdated. Lena has it: ops/old.md gets deleted before Friday (m31).",
        (
            "Every 6 hours [m12]; m07 is outdated.\n\nTo do:\n- delete ops/old.md\n- who: Lena\n- when: before "
            "Friday [m31]"
        ),
    ],
)
def test_right_answers_pass_whatever_their_shape(text):
    verdict = on(text)
    assert verdict.passed, (verdict.hard_failures, verdict.facts)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (f"Every 6 hours [m99]. {DO}", "fabrication"),
        (f"Every 6 hours (ops/backup.md:44). {DO}", "fabrication"),
        (f"Every 6 hours [m12] [0.55]. {DO}", "fabrication"),
        (f'Every 6 hours [m12]: "the interval was agreed with the customer". {DO}', "fabrication"),
        (f"Every 6 hours [m12], see https://example.org/backup. {DO}", "fabrication"),
        (f"Every 6 hours [m07]. {DO}", "misbound"),
        (f"It is not 6 hours [m12]. {DO}", "misbound"),
        (f"Backups run every 24 hours [m07]; the 6 hours of [m12] are superseded. {DO}", "forbidden"),
        (f"m07 says 24 hours and m12 says 6 hours. {DO}", "forbidden"),
        (f"It is uncertain whether it is 6 hours or 24 hours. {DO}", "contradiction_handling"),
        ("Every 6 hours [m12]; m07 is outdated.", "actionability"),
        ("Every 6 hours [m12]; m07 is outdated. Lena should not delete ops/old.md [m31].", "actionability"),
        ("Every 6 hours [m12]; m07 is outdated. Whisk the eggs today.", "actionability"),
        ("  \n\t", "empty"),
        ("not in context", "over_refusal"),
        ("The notes do not say.", "over_refusal"),
    ],
)
def test_wrong_answers_fail_for_the_right_reason(text, failure):
    verdict = on(text)
    assert not verdict.passed
    assert failure in verdict.hard_failures, (verdict.hard_failures, verdict.facts)


def test_a_fabrication_caps_grounding():
    assert on(f"Every 6 hours [m12] [m99]. {DO}").scores["factual_grounding"] <= Fraction(35, 100)
    assert on(f"Every 6 hours [m12]. {DO}").scores["factual_grounding"] == 1


def test_invented_numbers_are_listed_and_cost_grounding():
    verdict = on(f"Every 6 hours [m12], which saves 4711 EUR. {DO}")
    assert verdict.facts["unsupported_anchors"] == ["4711"]
    assert verdict.scores["factual_grounding"] < 1


def test_one_anchor_that_nobody_knows_casts_doubt_on_the_others():
    verdict = on(f"Every 6 hours [m12], as the job XK9 does; m07 is outdated. {DO}")
    assert (verdict.facts["anchors"], verdict.facts["unsupported_anchors"]) == (5, ["XK9"])
    assert verdict.scores["factual_grounding"] == Fraction(4, 5) ** 2  # everything else is right


def test_owners_and_times_are_extra_and_placeholders_are_no_owners():
    bare = on("6 hours [m12]; m07 is outdated. Delete ops/old.md.").scores["actionability"]
    placeholder = on("6 hours [m12]; m07 is outdated. Operator: delete ops/old.md.").scores["actionability"]
    owned = on("6 hours [m12]; m07 is outdated. Lena: delete ops/old.md.").scores["actionability"]
    timed = on("6 hours [m12]; m07 is outdated. Lena: delete ops/old.md before Friday.").scores["actionability"]
    assert bare == placeholder < owned < timed


def test_near_duplicate_actions_count_once():
    once = on("6 hours [m12]. Delete the stale page ops/old.md.")
    thrice = on(
        "6 hours [m12]. Delete the stale page ops/old.md. Delete the stale page ops/old.md. Delete stale page "
        "ops/old.md."
    )
    assert once.facts["actions"] == thrice.facts["actions"] == 1


def test_layout_and_length_earn_nothing():
    plain = on(f"Every 6 hours [m12]; m07 is outdated. {DO}")
    laid_out = on(f"# Summary\n\n**Answer**\n- Every 6 hours [m12]\n- m07 is outdated\n\n# Next steps\n1. {DO}")
    assert plain.overall == laid_out.overall


def test_an_endless_answer_is_of_no_use():
    assert on(f"Every 6 hours [m12]; m07 is outdated. {DO} " * 60).scores["usefulness"] == 0


def test_the_echo_of_the_question_is_no_answer():
    verdict = on(CASE.prompt * 3)
    assert verdict.overall == 0
    assert strip_echo("a b c d e f stays", "x a b c d e f y").strip() == "stays"


def test_a_dimension_that_is_not_asked_for_is_left_out():
    raw = BACKUPS | {
        "expected_signals": {"contradiction_handling": {"required": False}, "actionability": {"required": False}}
    }
    fixture = parse_fixture({"cases": [raw]})
    verdict = judge_answer(fixture.cases[0], ReasonerAnswer("Every 6 hours [m12]."), fixture)
    assert verdict.scores["contradiction_handling"] is verdict.scores["actionability"] is None
    assert verdict.overall > Fraction(95, 100) and verdict.passed
    decision = evaluate("reasoning", fixture=fixture, answers={"backups": "Every 6 hours [m12]."})
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["actionability"] == states["contradiction_handling"] == "NOT-APPLICABLE" and decision.ships
    summary = decision.report()["summary"]
    assert summary["dimension_n"]["actionability"] == 0
    assert summary["dimension_averages"]["actionability"] is None


def test_a_dimension_asked_for_only_by_cases_in_error_has_no_data():
    plain = BACKUPS | {"id": "plain", "expected_signals": {"contradiction_handling": {"required": False}}}
    fixture = parse_fixture({"cases": [plain, BACKUPS], "thresholds": {"suite_min_pass_rate": 0.5}})
    decision = evaluate("reasoning", fixture=fixture, answers={"plain": f"Every 6 hours [m12]. {DO}"})
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["contradiction_handling"] == "NO-DATA" and states["actionability"].startswith("PASS")
    assert decision.verdict == "NO VERDICT" and decision.exit_code == 3


def test_only_a_refusal_passes_an_unanswerable_case():
    case = replace(CASE, answerable=False)
    assert on("not in context", case).passed and on("  Not In Context.", case).passed
    assert on("The notes do not mention it.", case).passed
    assert on("This speaks of intervals and of a page to delete. I am therefore unable to name a cost.", case).passed
    costs = replace(case, prompt="What do the backups cost a month, and who pays for the storage?")
    assert on("I went through it all: storage has not got a payer, and cost isn't among the figures.", costs).passed
    assert not on("They cost nothing, nobody pays for storage.", costs).passed
    for text in (
        "Every 6 hours [m12].",
        "",
        "The notes do not say, but it is probably 12 hours [m12].",
        "It costs 480 EUR a month. The notes do not mention more.",
        "The notes don't say it outright, but from 6 and 24 hours it comes to 18.",
        "Every 6 hours [m99]. The notes do not say more.",
    ):
        assert not on(text, case).passed


def test_a_forbidden_phrase_without_a_number_is_forbidden_as_a_whole():
    case = replace(CASE, forbidden=("the interval of the backups grew",), expected_resolution=())
    right = f"The interval of the backups shrank: every 6 hours [m12], m07 is outdated. {DO}"
    assert on(right, case).passed
    assert "forbidden" in on(right.replace("shrank", "grew"), case).hard_failures


def test_what_is_quoted_from_the_question_is_the_questions():
    case = replace(CASE, prompt="Is it true that backups run every 24 hours? What must be corrected?")
    assert on(f'## Claim: "backups run every 24 hours"\nOutdated. Every 6 hours [m12]. {DO}', case).passed
    assert not on(f'"Backups run daily at 24 hours" holds. Every 6 hours [m12]. {DO}', case).passed


def test_two_notes_that_disagree_do_not_both_say_it():
    assert "misbound" in on(f"m12 and m07 both say 6 hours. {DO}").hard_failures


def test_who_gives_every_bound_value_has_not_refused():
    assert on(f"I'm afraid the notes don't agree: it is every 6 hours [m12], m07 is outdated. {DO}").passed
    assert "over_refusal" in on("I'm afraid the notes don't say which one is right.").hard_failures


def test_refusals_are_reported_as_rates():
    fixture = parse_fixture({"cases": [BACKUPS, BACKUPS | {"id": "no", "answerable": False}]})
    decision = evaluate(
        "reasoning", fixture=fixture, answers={"backups": "not in context", "no": "Every 6 hours [m12]."}
    )
    rates = {name: decision.measures[name] for name in ("under_refusal", "over_refusal")}
    assert {name: (rate.k, rate.n) for name, rate in rates.items()} == {"under_refusal": (1, 1), "over_refusal": (1, 1)}
    assert decision.headline["summary"]["refusals"]["over_refusal"]["count"] == 1


@pytest.mark.parametrize("kind", ["repaired", "degraded"])
def test_a_repaired_answer_fails_in_its_own_way(kind):
    right = f"Every 6 hours [m12]; m07 is outdated. {DO}"
    verdict = on(right, **{kind: True})
    assert verdict.hard_failures == (kind,) and verdict.overall == on(right).overall


def test_evidence_of_the_answer_goes_before_that_of_the_case():
    brought = parse_evidence([{"id": "k1", "source": "k.md", "text": "Backups run every 6 hours, says Lena."}], "")
    assert "fabrication" in on(f"Every 6 hours [m12]. {DO}", evidence=brought).hard_failures
    assert "fabrication" not in on("Every 6 hours [k1].", evidence=brought).hard_failures


def test_a_case_without_evidence_can_not_be_grounded():
    assert on("Every 6 hours.", replace(CASE, evidence=())).hard_failures[0] == "no_evidence"


def test_dumps_and_templates():
    evidence = CASE.evidence
    assert is_dump("\n".join(f"{item.text} [{item.id}]" for item in evidence), evidence)
    assert is_dump("\n".join(f"* {item.id} ({item.source}, l. {item.line}) {item.text}" for item in evidence), evidence)
    assert not is_dump(f"Every 6 hours. {DO}", evidence)
    assert alikeness(["a b c d e f"] * 3) == 1
    assert alikeness(["one"]) is None
    assert alikeness(["a b c d e f", "u v w x y z"]) == 0
    assert alikeness(["", "", "a b c d e f"]) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abc ", max_size=40), min_size=2, max_size=6))
def test_the_overlap_is_the_mean_of_all_pairs(answers):
    sets = [grams(norms(answer), 5) for answer in answers]
    pairs = [Fraction(len(a & b), len(a | b) or 1) for a, b in combinations(sets, 2)]
    assert alikeness(answers) == sum(pairs, Fraction(0)) / len(pairs)


def test_the_overlap_of_many_answers_takes_no_sets_and_no_fractions_by_pair(monkeypatch):
    made = {"grams": 0, "Fraction": 0}

    def counting(name: str, function: Callable) -> Callable:
        def call(*args):
            made[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(copying, "grams", counting("grams", grams))
    monkeypatch.setattr(copying, "Fraction", counting("Fraction", Fraction))
    template = [f"word{i}" for i in range(60)]
    answers = [" ".join([*template[: n % 60], f"slot{n}", *template[n % 60 :]]) for n in range(1000)]
    assert alikeness(answers) > Fraction(1, 2)
    # Of 499,500 pairs: a set for each answer, a fraction for each size that two of them have together.
    assert made["grams"] == 1000 and made["Fraction"] < 100


def test_one_answer_to_every_question_does_not_ship():
    cases = [BACKUPS | {"id": f"c{n}"} for n in range(4)]
    fixture = parse_fixture({"cases": cases})
    right = f"Every 6 hours [m12]; m07 is outdated. {DO}"
    decision = evaluate(
        "reasoning", fixture=fixture, answers={case.id: ReasonerAnswer(right) for case in fixture.cases}
    )
    assert decision.counts["passed"] == 4 and decision.verdict == "NO-SHIP"
    assert decision.reasons == ["answer_overlap 1.000 is above 0.30"]
    assert "template" in decision.diagnosis[0]


@pytest.mark.parametrize(
    ("text", "value", "asserted"),
    [
        ("It is 5.", "5", True),
        ("It is not 5.", "5", False),
        ("There is no limit of 5.", "5", False),
        ("No, it is 5.", "5", True),
        ("5 is superseded.", "5", False),
        ("5, which is superseded, was the limit.", "5", False),
        ("7 supersedes 5.", "5", False),
        ("5 supersedes 7.", "5", True),
        ("5 is superseded by 7.", "7", True),
        ("7 rather than 5.", "5", False),
        ("It is not only 5.", "5", True),
        ("It isn't 5.", "5", False),
        ("No room is left on disk 5.", "5", True),
    ],
)
def test_polarity_of_a_word(text, value, asserted):
    found = [
        clause.asserts(i)
        for clause in read(text).clauses
        for i, token in enumerate(clause.tokens)
        if token.norm == value
    ]
    assert found == [asserted]


@pytest.mark.parametrize("name", [*BAD, *GOOD])
def test_the_bars_tell_good_controls_from_bad_ones_on_every_case(name):
    decision = evaluate("reasoning", fixture=SHIPPED, answers=control_answers(SHIPPED, name))
    assert decision.ships is (name in GOOD)
    assert decision.counts["passed"] == (len(SHIPPED.cases) if name in GOOD else 0)


def test_the_original_lets_a_pancake_recipe_pass_everything():
    pancakes = control_answers(SHIPPED, "off-topic text in perfect layout")
    decision = evaluate("reasoning", fixture=SHIPPED, answers=pancakes, profile="signals")
    assert decision.ships and decision.counts["passed"] == 30 and decision.measures["average_overall"].value == 1


def test_held_back_answers_are_told_apart():
    cases = {case.id: case for case in SHIPPED.cases}
    good, bad = [], []
    rows = lines("reason_heldback.jsonl")
    for row in rows:
        verdict = judge_answer(cases[row["id"]], ReasonerAnswer(row["content"]), SHIPPED)
        (good if row["good"] else bad).append(verdict)
    assert len(good) + len(bad) >= 60 and len({row["id"] for row in rows}) >= 10
    assert auc([v.overall for v in good], [v.overall for v in bad]) >= Fraction(98, 100)
    assert not any(v.passed for v in bad)
    assert sum(v.passed for v in good) >= 41


def test_answers_of_other_domains_are_told_apart():
    fixture = load_fixture(TESTS / "reason_other_domains.json")
    cases = {case.id: case for case in fixture.cases}
    wrong = []
    for row in lines("reason_other_domains.jsonl"):
        if judge_answer(cases[row["id"]], ReasonerAnswer(row["content"]), fixture).passed is not row["good"]:
            wrong.append(row["content"])
    assert wrong == []


def test_the_controls_hold_on_other_domains_too():
    fixture = load_fixture(TESTS / "reason_other_domains.json")
    for name in (*BAD, *GOOD):
        decision = evaluate("reasoning", fixture=fixture, answers=control_answers(fixture, name))
        assert decision.ships is (name in GOOD), (name, decision.reasons, decision.named)


def test_the_shipped_fixture_is_what_it_says():
    presets = [case.preset for case in SHIPPED.cases]
    assert len(presets) == 30 and {presets.count(name) for name in presets} == {6}
    assert sum(not case.answerable for case in SHIPPED.cases) >= 5
    for case in SHIPPED.cases:
        ids = {item.id for item in case.evidence}
        assert ids and all(set(b.source) | set(b.rivals) <= ids for b in case.bindings)
        assert bool(case.bindings) is case.answerable


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400) | st.text(alphabet='m1270 []()".,:;-#*n\n ot', max_size=400))
def test_any_text_gets_a_verdict_in_range(text):
    verdict = on(text)
    assert verdict.overall is not None and 0 <= verdict.overall <= 1
    assert all(value is None or 0 <= value <= 1 for value in verdict.scores.values())
    assert on(text) == verdict


def calls_made(function: Callable[[], object]) -> int:
    """How many calls of Python and of C it takes: work that is the same on every machine."""
    made = 0

    def count(frame, event, argument):
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize("piece", ["a", "1.", "[m12] ", "not ", "[", "x.md:1 ", "所有者"])
def test_hostile_text_costs_no_more_than_its_length(piece):
    text = piece * 10**5
    verdict = on(text)
    assert not verdict.passed and verdict == on(text[:LONGEST])  # nobody reads more
    half, whole = text[: LONGEST // 8], text[: LONGEST // 4]
    on(whole)  # what is remembered between answers is paid for once
    assert calls_made(lambda: on(whole)) < 3 * calls_made(lambda: on(half))


def test_the_report_has_the_keys_that_others_read():
    body = evaluate("reasoning", fixture=SHIPPED, answers={}).report()
    assert {
        "total_cases",
        "passed_cases",
        "failed_cases",
        "error_cases",
        "pass_rate",
        "average_overall_score",
        "dimension_averages",
        "thresholds",
        "dimension_threshold_failures",
        "passed",
    } <= set(body["summary"])
    assert body["summary"]["error_cases"] == 30 and body["summary"]["average_overall_score"] is None
    keys = {"id", "prompt", "preset", "passed", "overall_score", "hard_failures", "dimension_scores", "answer"}
    assert keys <= set(body["results"][0])
    json.dumps(body, allow_nan=False)


@pytest.mark.slow
def test_answers_of_all_rounds_are_told_apart():
    """Right and wrong answers by many hands, on the shipped cases and on others; docs/reasoning.md has the figures."""
    rounds = load_fixture(TESTS / "reason_rounds.json")
    cases = {case.id: case for case in (*SHIPPED.cases, *rounds.cases)}
    good, bad = [], []
    for row in lines("reason_rounds.jsonl"):
        verdict = judge_answer(cases[row["id"]], ReasonerAnswer(row["content"]), rounds)
        (good if row["good"] else bad).append(verdict)
    assert len(good) >= 2600 and len(bad) >= 4400
    assert auc([v.overall for v in good], [v.overall for v in bad]) >= Fraction(99, 100)
    assert 100 * sum(not v.passed for v in good) <= len(good)
    assert 100 * sum(v.passed for v in bad) <= len(bad)
