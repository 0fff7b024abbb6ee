"""The original heuristics, number for number, and the fixture contract that both profiles share."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import VECTORS as FOLDER
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.reasoning.contracts import (
    DEFAULT_WEIGHTS,
    DIMENSIONS,
    ReasonCase,
    ReasonerAnswer,
    parse_fixture,
    read_fixture,
)
from shipworthy.suites.reasoning.judge import judge_answer, label
from shipworthy.suites.reasoning.signals import overall
from shipworthy.suites.reasoning.signals import score as signal_scores

VECTORS = json.loads((FOLDER / "reason.json").read_text(encoding="utf-8"))
CASE = {"id": "a", "prompt": "What next?"}


def parse_case(raw: dict[str, object]) -> ReasonCase:
    return parse_fixture({"cases": [raw]}).cases[0]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_every_number_of_the_vectors(vector):
    fixture = parse_fixture({"cases": [vector["case"] | {"id": "v"}], "weights": VECTORS["weights"]})
    verdict = judge_answer(fixture.cases[0], ReasonerAnswer(vector["answer"]), fixture, "signals")
    expect = vector["expect"]
    assert float(verdict.overall_score) == expect["overall"]
    assert label(verdict.overall_score) == expect["overall_rubric"]
    assert verdict.passed is expect["passed"]
    assert list(verdict.hard_failures) == expect["hard_failures"]
    for name, dimension in expect["dims"].items():
        assert float(verdict.dimension_scores[name]) == dimension["score"]
        assert label(verdict.dimension_scores[name]) == dimension["rubric"]
        assert float(fixture.cases[0].minimum(name)) == dimension["min"]


def test_labels_change_at_their_thresholds():
    assert [label(Fraction(n, 10000)) for n in (8500, 8499, 6500, 6499, 4000, 3999)] == [3, 2, 2, 1, 1, 0]
    assert label(None) is None


def test_a_prompt_asks_for_contradiction_handling_by_whole_words():
    hinted = signal_scores(parse_case({"id": "a", "prompt": "Where do they disagree?"}), "")
    unhinted = signal_scores(parse_case({"id": "a", "prompt": "Any disagreements, conflicting notes?"}), "")
    assert float(hinted["contradiction_handling"]) == 0.1
    assert unhinted["contradiction_handling"] == 1


def test_a_case_minimum_and_min_words_are_taken_from_the_case():
    raw = CASE | {
        "expected_signals": {"usefulness": {"min_score": 0, "min_words": 3}, "actionability": {"min_score": 1}}
    }
    case = parse_case(raw)
    assert case.minimum("usefulness") == 0 and case.minimum("actionability") == 1
    # 40 words are the least that can be asked for: 4 of 40 at .35
    assert float(signal_scores(case, "one two three four")["usefulness"]) == 0.035


@pytest.mark.parametrize(
    ("text", "gained"),
    [
        ("# a", 25),
        ("### a", 25),
        ("#a", 0),
        ("#### a", 0),
        (" # a", 0),
        ("x\n## a", 25),
        ("**a** b", 25),
        (" **a** b", 0),
        ("- **a**", 10),
        ("x **a**", 0),
        ("- a", 10),
        ("  * a", 10),
        ("12. a", 20),
        ("12) a", 10),
        ("-a", 0),
        ("+ a", 0),
        ("- a\n- b\n\t- c", 25),
        ("7", 10),
        ("7 8.5%", 25),
        ("p95", 0),
        ("risk", 10),
        ("no risk, no impact", 25),
    ],
)
def test_what_layout_earns(text, gained):
    case = parse_case(CASE | {"expected_signals": {"usefulness": {"must_include_any": ["zzz"], "min_words": 100}}})
    words = len(re.findall(r"\w+", text))
    expected = 0.35 * words / 100 + 0.45 * gained / 100
    assert float(signal_scores(case, text)["usefulness"]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    "text", ["-" * 200_000, "a." * 100_000, "\n" * 200_000, "1" * 200_000, "*" * 200_000, " by" * 70_000]
)
def test_hostile_text_comes_to_an_end(text):
    """Each of these took minutes with a pattern that looks at a text again from every place in it."""
    assert all(0 <= value <= 1 for value in signal_scores(parse_case(CASE), text).values())


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("a.md:1", 1),
        (".md:1", 0),
        ("docs/a-b.yaml:12 x.GO:3", 2),
        ("a.md:1b.md:2", 2),
        ("a.md:1.md:2", 1),
        ("a.rs:1", 0),
        ("a.md:x", 0),
    ],
)
def test_file_references(text, references):
    case = parse_case(CASE | {"expected_signals": {"factual_grounding": {"must_include_any": ["zzz"]}}})
    expected = {0: 0, 1: 0.105, 2: 0.175}[references]
    assert float(signal_scores(case, text)["factual_grounding"]) == expected


def test_a_dimension_that_is_not_required_fails_no_case():
    free = {"usefulness": {"required": False}, "factual_grounding": {"required": False}}
    fixture = parse_fixture({"cases": [CASE | {"expected_signals": free}]})
    assert judge_answer(fixture.cases[0], ReasonerAnswer("x"), fixture, "signals").hard_failures == ("actionability",)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_scores_stay_between_0_and_1_for_any_text(text):
    scores = signal_scores(parse_case(CASE), text)
    assert set(scores) == set(DIMENSIONS)
    assert all(0 <= value <= 1 for value in scores.values())
    assert 0 <= overall(scores, DEFAULT_WEIGHTS) <= 1


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "cases: Expected `array` of length >= 1"),
        ({"cases": []}, "cases: Expected `array` of length >= 1"),
        ({"cases": {}}, "cases: Expected `array`, got `object`"),
        ([], "Expected `object`, got `array`"),
        ({"cases": [CASE], "weights": {"brevity": 1}}, "dimension_weights: Invalid enum value 'brevity'"),
        ({"cases": [CASE | {"expected_signals": {"tone": {}}}]}, "expected_signals: Invalid enum value 'tone'"),
        ({"cases": [CASE], "weights": {"usefulness": 0.9}}, "sum to 0.9, not 1"),
        ({"cases": [CASE], "weights": {"usefulness": 1.5, "actionability": -0.5}}, "from 0 to 1, got 1.5"),
        ({"cases": [CASE], "weights": {"usefulness": "1"}}, "from 0 to 1, got '1'"),
        ({"cases": [CASE], "weights": {"usefulness": True}}, "from 0 to 1, got True"),
        ({"cases": [CASE, CASE]}, "duplicate case id 'a'"),
        ({"cases": [{"id": "a"}]}, "case 1 (a): Object missing required field `prompt`"),
        ({"cases": ["a"]}, "cases: [0]: Expected `object`, got `str`"),
        ({"cases": [CASE | {"answerable": "no"}]}, "case 1 (a): answerable: Expected `bool`"),
        ({"cases": [CASE | {"reason_args": {"depth": 1}}]}, "reason_args: Invalid enum value 'depth'"),
        ({"cases": [CASE | {"bindings": [{"source": ["n1"]}]}]}, "bindings[0]: Object missing"),
        ({"cases": [CASE | {"forbidden": [""]}]}, "forbidden[0]: Expected `str` of length >= 1"),
        ({"cases": [CASE], "thresholds": {"case_min_overall": 65}}, "from 0 to 1, got 65"),
    ],
)
def test_a_bad_fixture_is_refused_with_its_reason(raw, words):
    with pytest.raises(DataError) as refusal:
        parse_fixture(raw, "f.json")
    assert refusal.value.code == "fixture-field"
    assert words in str(refusal.value) and str(refusal.value).startswith("f.json")


@pytest.mark.parametrize("text", ["", "{", "[1,", '{"cases": NaN}', "\x00", "[" * 100_000, '{"weights": 1e999}'])
def test_what_is_not_json_is_refused(tmp_path, text):
    path = tmp_path / "f.json"
    path.write_text(text)
    with pytest.raises(DataError) as refusal:
        read_fixture(path)
    assert refusal.value.code == "fixture-not-json"


def test_a_missing_or_undecodable_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="fixture-unreadable"):
        read_fixture(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(DataError, match="not UTF-8"):
        read_fixture(tmp_path / "bytes.json")


def test_aliases_and_defaults():
    fixture = parse_fixture(
        {
            "weights": {"usefulness": 1},
            "defaults": {"preset": "p", "embed": "e", "reason_args": {"max_depth": 2, "recursive": True}},
            "prompts": [{"id": 7, "query": "Why?", "preset": "own", "reason_args": {"max_depth": 3}}],
        }
    )
    (case,) = fixture.cases
    assert (case.id, case.prompt, case.preset, case.embed) == ("7", "Why?", "own", "e")
    assert case.reason_args == {"max_depth": 3, "recursive": True}
    assert fixture.weights == {"usefulness": 1}


def test_decimals_are_summed_as_written(tmp_path):
    path = tmp_path / "f.json"
    weights = '{"actionability": 0.1, "factual_grounding": 0.2, "contradiction_handling": 0.3, "usefulness": 0.4}'
    path.write_text('{"cases": [{"id": "a", "prompt": "p"}], "weights": ' + weights + "}")
    assert sum(read_fixture(path).weights.values()) == 1


def test_a_signals_report_says_that_it_is_a_format_lint():
    decision = evaluate("reasoning", fixture={"cases": [CASE]}, answers={"a": "Next steps."}, profile="signals")
    body = decision.report()
    assert body["profile"] == "signals" and "format lint" in body["note"]
    assert any("format lint" in warning for warning in decision.warnings)
    assert "answer_overlap" not in {outcome.gate.metric for outcome in decision.outcomes}
