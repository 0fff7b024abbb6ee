"""What people can choose about agreement: short gates, how answers are judged, profiles; and what is kept of it."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import gold, refusal, trace, unanswerable
from engines.scattered import scattered
from shipworthy.core import evaluate as core
from shipworthy.core.decision import Decision
from shipworthy.core.options import make_options
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.agreement.suite import SUITE


def agree(**given: Any) -> Decision:
    return evaluate("agreement", **given)


def pairs(*labels: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [{"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}} for qid, one, other in labels]


def bounds(decision: Decision) -> dict[str, str]:
    return {outcome.gate.metric: outcome.gate.bound.text for outcome in decision.outcomes}


SOME = pairs(("a", "VALID", "VALID"), ("b", "REJECT", "VALID"))


# --- gates that have an option of their own ---


def test_short_gates_replace_the_defaults_and_named_ones_replace_them() -> None:
    assert bounds(agree(pairs=SOME, pa_gate="0.50", kappa_gate=0.25, abstain_gate=0)) == {
        "percent_agreement": "0.50",
        "kappa": "0.25",
        "abstain_rate": "0",
        "flagged_agreements": "0",
    }
    assert bounds(agree(pairs=SOME, gates="pa=0.7"))["percent_agreement"] == "0.7"
    with pytest.raises(UsageError, match="gate-repeated"):  # by its flag and by its name: which one was meant?
        agree(pairs=SOME, pa_gate="0.5", gates="pa=0.7")
    assert bounds(agree(pairs=SOME, kappa_gate="0.5", only_gates=True)) == {"kappa": "0.50"}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("pa_gate", "90", "gate-range"),
        ("kappa_gate", "high", "gate-bound"),
        ("abstain_gate", "", "gate-syntax"),
        ("pa_gate", ["0.5"], "option-value"),
    ],
)
def test_a_short_gate_that_is_no_bar_is_refused(name: str, value: Any, code: str) -> None:
    with pytest.raises(UsageError, match=rf"\[{code}\]"):
        agree(pairs=SOME, **{name: value})


def test_short_gates_can_be_computed_again_and_are_no_part_of_what_two_runs_must_share() -> None:
    decision = agree(pairs=SOME, pa_gate="0.5")
    assert decision.run["call"]["options"] == {"pa_gate": "0.50"}
    assert decision.options == agree(pairs=SOME).options


# --- how answers are judged, where labels are derived ---


def derived(item: dict[str, Any], run: dict[str, Any], **options: Any) -> tuple[str, str, str]:
    (row,) = agree(gold=[item], trace=[run], **options).items
    return row["scholar"], row["auditor"], row["why"]


def test_a_declared_refusal_rule_shapes_derived_labels() -> None:
    item, run = unanswerable("a"), refusal("a", "Sorry, nobody knows where the harbour is.")
    assert derived(item, run)[0] == "REJECT"
    phrases = ["Sorry, nobody knows where the harbour is"]
    assert derived(item, run, refusal_phrases=phrases) == ("NOT_IN_CONTEXT", "REJECT", "auditor_veto")
    natural = refusal("a", "The provided context does not contain that information.")
    assert derived(item, natural)[0] == "REJECT"
    assert derived(item, natural, refusal="natural")[0] == "NOT_IN_CONTEXT"


def test_ids_are_mapped_before_they_are_compared_and_shown_as_they_were_logged() -> None:
    item, run = gold("a", cite=("d1",)), trace("a", cite=("D1",), found=("d1", "d2"))
    assert derived(item, run) == ("REJECT", "REJECT", "hard_flag")
    assert derived(item, run, id_map="casefold") == ("VALID", "VALID", "auditor_ok")
    wrong = trace("a", "wrong", cite=("D1",), found=("d1",))
    decision = agree(gold=[item], trace=[wrong], id_map="casefold")
    assert decision.offenders[0]["citations"] == ["D1"]
    assert decision.options["id_map"] == "casefold"


def test_a_table_of_ids_is_an_input_and_its_path_no_option(tmp_path: Any) -> None:
    table = tmp_path / "ids.tsv"
    table.write_text("X1\td1\n")
    decision = agree(gold=[gold("a")], trace=[trace("a", cite=("X1",), found=("X1",))], id_map=str(table))
    assert decision.items[0]["final"] == "VALID"
    assert decision.inputs["id_map"]["sha256"] and str(tmp_path) not in str(decision.options)
    assert agree(pairs=SOME, id_map=str(table)).options["id_map"] is None  # nothing is mapped there


def test_a_trace_beyond_a_closed_gold_set_is_an_error_and_else_named() -> None:
    given = {"gold": [gold("a")], "trace": [trace("a"), trace("x"), trace("x"), trace("b")]}
    assert agree(**given).named["trace_only"] == ["b", "x"]
    with pytest.raises(DataError, match=r"line 2 has qid 'x'.*\[trace-unknown\]"):
        agree(**given, closed=True)


def test_the_report_says_where_labels_come_from() -> None:
    sides = {role: [{"qid": "a", "label": "VALID"}] for role in ("scholar", "auditor")}
    for source, given in {
        "pairs": {"pairs": SOME},
        "two files": sides,
        "derived": {"gold": [gold("a")], "trace": [trace("a")]},
    }.items():
        for profile in ("strict", "reference"):
            assert agree(**given, profile=profile).options == {
                "min_substr": 5,
                "closed": False,
                "allow_missing": 0,
                "refusal": "exact",
                "refusal_phrases": [],
                "id_map": None,
                "source": source,
            }


# --- what is missing ---


def test_many_questions_on_one_side_are_counted_and_the_first_of_them_named() -> None:
    both = [{"qid": "both", "label": "VALID"}]
    alone = [{"qid": f"q{number:02}", "label": "VALID"} for number in range(30)]
    decision = agree(scholar=[*alone[::-1], *both], auditor=both)
    first = ", ".join(f"q{number:02}" for number in range(8))
    assert decision.incomplete == [f"only the scholar labelled 30 questions: {first} and 22 more"]
    assert decision.named["scholar_only"] == [f"q{number:02}" for number in range(20)]
    assert decision.counts["items"] == 1 and [row["qid"] for row in decision.items] == ["both"]


def test_a_trace_that_nobody_labelled_is_no_concern() -> None:
    sides = {role: [{"qid": "a", "label": "VALID"}] for role in ("scholar", "auditor")}
    decision = agree(**sides, trace=[trace("z"), trace("a")])
    assert decision.counts["items"] == 1 and not decision.incomplete and not decision.named
    with pytest.raises(DataError, match="pairs-none"):
        agree(scholar=[{"qid": "a", "label": "VALID"}], auditor=[{"qid": "b", "label": "VALID"}], trace=[trace("a")])
    with pytest.raises(DataError, match="pairs-none"):
        agree(gold=[gold("a")], trace=[trace("b")])


def test_the_last_trace_of_a_question_brings_its_answer() -> None:
    sides = {role: [{"qid": "a", "label": "VALID"}] for role in ("scholar", "auditor")}
    traces = [trace("a", cite=("d9",)), trace("a")]
    assert agree(**sides, trace=traces).items[0]["final"] == "VALID"
    assert agree(**sides, trace=traces[::-1]).items[0]["why"] == "citation_out_of_scope"


# --- the order of the file ---

APART = ("z", "a", "m", "k")


@pytest.mark.parametrize(
    "given",
    [
        {"pairs": pairs(*((qid, "VALID", "REJECT") for qid in APART))},
        {
            "scholar": [{"qid": qid, "label": "VALID"} for qid in APART],
            "auditor": [{"qid": qid, "label": "REJECT"} for qid in sorted(APART)],
        },
        {"gold": [gold(qid) for qid in APART], "trace": [trace(qid, "wrong") for qid in sorted(APART)]},
    ],
    ids=["pairs", "two files", "derived"],
)
def test_the_reference_lists_disagreements_in_the_order_of_the_file(given: dict[str, Any]) -> None:
    options = make_options(SUITE.options, {"profile": "reference"})
    decisions = [agree(**given, profile="reference")]
    decisions += [core.evaluate(SUITE, given, options, scattered(seed)) for seed in range(5)]
    for decision in decisions:
        assert [qid for qid, *_ in decision.sections["arbitration"]] == list(APART)
        assert [row["qid"] for row in decision.items] == sorted(APART)
    assert [row["qid"] for row in agree(**given).items] == sorted(APART)


def test_bad_lines_of_one_validator_are_told_in_their_order() -> None:
    scholar = [
        {"qid": "a", "label": "MAYBE"},
        {"qid": "b"},
        {"qid": "c", "label": "VALID"},
        {"qid": "c", "label": "REJECT"},
        {"qid": "d", "label": "SURE"},
        {"qid": "a", "label": "VALID"},  # the first of its qid that can be read
    ]
    decision = agree(scholar=scholar, auditor=[{"qid": "c", "label": "VALID"}], lenient=True)
    assert decision.partial and decision.counts["items"] == 1
    problems = decision.inputs["scholar"]["problems"]
    assert [problem.split(": ")[0].rpartition(":")[2] for problem in problems] == ["1", "2", "4", "5"]
    assert "duplicate qid 'c' (first on line 3)" in problems[2]
    assert decision.named["scholar_only"] == ["a"]
