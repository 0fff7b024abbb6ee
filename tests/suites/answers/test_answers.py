"""The answers suite, rule by rule, through the one public call."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import VECTORS, gold, refusal, trace, unanswerable
from shipworthy import DataError, Gold, Trace, UsageError, evaluate
from shipworthy.core.decision import encode
from shipworthy.report import render


def item(golds: list[dict[str, Any]], traces: list[dict[str, Any]], qid: str = "A", **options: Any) -> dict[str, Any]:
    rows = {row["qid"]: row for row in evaluate(golds, traces, **options).items}
    return rows[qid]


def measured(decision: Any, name: str) -> tuple[int | None, int]:
    measure = decision.measures[name]
    return measure.k, measure.n


CONTAINMENT = [
    ("THE  RIGHT\nANSWER is this", ["right answer"], True),
    ("Die Straße", ["STRASSE"], True),
    ("cafe\u0301 noir", ["Café noir"], True),
    ("wrong", ["right answer"], False),
    ("a year: 2024", ["2024"], True),  # shorter than five characters: whole words only
    ("a code: 20245", ["2024"], False),
    ("anything", [], True),  # explicitly empty: vacuous
    ("one of two", ["nothing like it", "of two"], True),
]


@pytest.mark.parametrize(("claim", "substr", "contained"), CONTAINMENT)
def test_containment(claim: str, substr: list[str], contained: bool) -> None:
    assert item([gold("A", substr)], [trace("A", claim)])["contained"] is contained


def test_the_minimum_length_is_a_setting_and_counts_the_compared_form() -> None:
    assert item([gold("A", ["2024"])], [trace("A", "in 2024")], min_substr=4)["contained"]
    assert item([gold("A", ["Straß"])], [trace("A", "STRASSE")])["contained"]  # six letters once folded


def test_match_all_asks_for_every_substring() -> None:
    golds = [gold("A", ["alpha one", "beta two"], match="all")]
    assert not item(golds, [trace("A", "alpha one")])["contained"]
    assert item(golds, [trace("A", "beta two and alpha one")])["contained"]


def test_an_absent_list_is_never_contained() -> None:
    golds = [gold("A")]
    del golds[0]["gold_claim_substr"]
    assert item(golds, [trace("A")])["contained"] is False


HITS = [
    (["d1"], ["d1", "d2"], True),
    (["d1", "d2"], ["d1", "d2"], True),
    (["d2"], ["d1", "d2"], False),
    (["d1", "d9"], ["d1", "d2"], False),  # one citation lies outside what was retrieved
    ([], ["d1"], False),
    (["D1"], ["D1"], False),
]


@pytest.mark.parametrize(("cited", "found", "hit"), HITS)
def test_citation_hit(cited: list[str], found: list[str], hit: bool) -> None:
    assert item([gold("A")], [trace("A", cite=cited, found=found)])["cited"] is hit


def test_an_item_without_gold_citations_needs_no_hit_and_leaves_chr() -> None:
    decision = evaluate([gold("A", cite=()), gold("B")], [trace("A", cite=()), trace("B")])
    assert measured(decision, "precision") == (2, 2)
    assert measured(decision, "chr") == (1, 1)
    assert measured(decision, "recall@5") == (1, 1)


def test_retrieved_ids_follow_from_topk() -> None:
    row = {
        "qid": "A",
        "topk": [{"id": "d1", "score": 0.9}],
        "answer_json": {"claim": "right answer", "citations": [{"id": "d1"}]},
    }
    assert item([gold("A")], [row])["cited"] is True


STATUSES = [
    (trace("A"), "shipped"),
    (refusal("A"), "refused"),
    (refusal("A", " Not In Context\n"), "refused"),
    (trace("A", "The answer is not in context."), "shipped"),
    (trace("A", "not in context."), "shipped"),
    (trace("A", " \t"), "empty"),
    ({"qid": "A"}, "empty"),
    (trace("A", error="timeout"), "error"),
    ({"qid": "A", "answer_json": None, "error": "HTTP 500"}, "error"),
]


@pytest.mark.parametrize(("row", "status"), STATUSES)
def test_status(row: dict[str, Any], status: str) -> None:
    assert item([gold("A")], [row])["status"] == status


def test_missing_is_neither_shipped_nor_refused() -> None:
    decision = evaluate([gold("A"), gold("B")], [trace("A")])
    assert decision.verdict == "NO VERDICT"
    assert decision.exit_code == 3
    assert measured(decision, "precision") == (1, 1)
    assert measured(decision, "over_refusal") == (0, 2)
    assert decision.measures["missing"].value == 1
    assert decision.named["missing"] == ["B"]


def test_an_error_counts_with_missing_and_an_empty_claim_as_shipped_and_wrong() -> None:
    golds = [gold("A"), gold("B"), gold("C")]
    decision = evaluate(golds, [trace("A", error="boom"), trace("B", ""), trace("C")])
    assert decision.measures["missing"].value == 1
    assert decision.measures["errors"].value == 1
    assert decision.measures["empty"].value == 1
    assert measured(decision, "precision") == (1, 2)
    assert measured(decision, "chr") == (1, 2)


def test_refusals_over_under_drift_and_near() -> None:
    golds = [gold("A"), gold("B"), unanswerable("U"), unanswerable("V"), unanswerable("W")]
    rows = [
        trace("A"),
        refusal("B"),
        refusal("U", "NOT in context"),
        trace("V"),
        trace("W", "It is not in context here."),
    ]
    decision = evaluate(golds, rows)
    assert measured(decision, "over_refusal") == (1, 2)
    assert measured(decision, "under_refusal") == (2, 3)
    assert measured(decision, "precision") == (1, 3)
    assert decision.named["refusal_drift"] == ["U"]
    assert decision.named["near_refusals"] == ["W"]
    assert decision.sections["refusals"]["exact"]["unanswerable"]["refused"] == 1


def test_the_wider_rule_is_shown_always_and_counts_when_declared() -> None:
    golds = [unanswerable("U"), gold("A")]
    rows = [
        trace("U", "I'm sorry, but the provided documents do not contain information about that.", cite=()),
        trace("A"),
    ]
    watched = evaluate(golds, rows)
    assert measured(watched, "under_refusal") == (1, 1)
    assert watched.measures["wider_refusals"].value == 1
    assert watched.sections["refusals"]["wider"]["unanswerable"]["refused"] == 1
    assert measured(evaluate(golds, rows, refusal="natural"), "under_refusal") == (0, 1)
    declared = evaluate(golds, rows, refusal_phrases=["i'm sorry*"])
    assert measured(declared, "under_refusal") == (0, 1)
    assert declared.options["refusal"] == "phrases"


LOCKED = "The client must not retry failed payments."
CONSTRAINTS = [
    ([LOCKED], "The right answer.", "ok"),
    ([f"  {LOCKED} "], "The right answer.", "ok"),
    ([], "The right answer.", "echo"),
    ([LOCKED, LOCKED], "The right answer.", "echo"),
    ([LOCKED], "The right answer: the client must retry failed payments.", "contradiction"),
]


@pytest.mark.parametrize(("echo", "claim", "state"), CONSTRAINTS)
def test_constraints(echo: list[str], claim: str, state: str) -> None:
    golds = [gold("A", constraints=[LOCKED])]
    rows = [trace("A", claim, echo=echo)]
    assert item(golds, rows)["constraint"] == state
    assert item(golds, rows)["correct"] is True  # shown, and deciding nothing
    enforced = evaluate(golds, rows, scu_enforced=True)
    assert enforced.items[0]["correct"] is (state == "ok")
    assert enforced.measures["scu_violations"].value == (state != "ok")
    assert (enforced.verdict == "SHIP") is (state == "ok")


def test_the_order_of_an_echo_does_not_matter() -> None:
    golds = [gold("A", constraints=["One rule.", "Another rule."])]
    assert item(golds, [trace("A", echo=["Another rule.", "One rule."])])["constraint"] == "ok"


def test_recall_counts_a_repeated_id_once_at_its_first_rank() -> None:
    golds = [gold("A", cite=["g1", "g2"])]
    rows = [trace("A", cite=["g1"], found=["x", "x", "g1", "g1", "g2"])]
    decision = evaluate(golds, rows, k=[1, 2, 3])
    assert [decision.measures[f"recall@{k}"].k for k in (1, 2, 3)] == [0, 0, 1]
    assert [decision.measures[f"recall_any@{k}"].k for k in (1, 2, 3)] == [0, 1, 1]
    assert [decision.measures[f"chr@{k}"].k for k in (1, 2, 3)] == [0, 1, 1]
    assert decision.items[0]["recall_rank"] == 2


@pytest.mark.parametrize(
    ("found", "first"), [(["x", "x", "g1"], 2), (["x", "y", "x", "g1", "g1"], 3), (["g1", "x", "g1"], 1)]
)
def test_recall_of_one_citation_counts_a_repeated_id_once_too(found: list[str], first: int) -> None:
    """A single gold citation is looked up by a path of its own."""
    decision = evaluate([gold("A", cite=["g1"])], [trace("A", cite=["g1"], found=found)], k=[1, 2, 3])
    reached = [int(k >= first) for k in (1, 2, 3)]
    assert [decision.measures[f"recall@{k}"].k for k in (1, 2, 3)] == reached
    assert [decision.measures[f"recall_any@{k}"].k for k in (1, 2, 3)] == reached
    assert [decision.measures[f"chr@{k}"].k for k in (1, 2, 3)] == reached
    assert decision.items[0]["recall_rank"] == first


@pytest.mark.parametrize(
    ("keep", "correct", "superseded"), [("last", False, 1), ("first", True, 1), ("worst", False, 1)]
)
def test_several_traces_of_a_question(keep: Any, correct: bool, superseded: int) -> None:
    decision = evaluate([gold("A")], [trace("A"), trace("A", "wrong")], on_duplicate=keep)
    assert decision.items[0]["correct"] is correct
    assert decision.measures["duplicates"].value == superseded


def test_duplicates_and_unknown_questions_can_be_errors() -> None:
    with pytest.raises(DataError, match="another trace") as caught:
        evaluate([gold("A")], [trace("A"), trace("A")], on_duplicate="error")
    assert caught.value.code == "trace-repeated"
    assert evaluate([gold("A")], [trace("A"), trace("Z")]).named["unknown_qids"] == ["Z"]
    with pytest.raises(DataError, match="'Z'"):
        evaluate([gold("A")], [trace("A"), trace("Z")], closed=True)


def test_nothing_shipped_is_undefined_and_never_a_pass() -> None:
    decision = evaluate([unanswerable("U")], [refusal("U")])
    assert decision.measures["precision"].value is None
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["precision"] == "NOT-APPLICABLE"  # no question could have a correct answer
    assert states["under_refusal"].startswith("PASS") and decision.verdict == "SHIP"  # what applies holds
    all_refused = evaluate([gold("A"), unanswerable("U")], [refusal("A"), refusal("U")])
    assert all_refused.verdict == "NO-SHIP"
    assert all_refused.report()["precision"] is None


def test_no_unanswerable_item_makes_that_gate_not_applicable() -> None:
    decision = evaluate([gold("A")], [trace("A")])
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["under_refusal"] == "NOT-APPLICABLE"
    assert decision.verdict == "SHIP"


def test_gates_named_here_replace_their_default_and_others_stay() -> None:
    golds, rows = [gold(f"A{n}") for n in range(4)], [trace("A0"), trace("A1"), trace("A2"), trace("A3", "wrong")]
    assert evaluate(golds, rows).verdict == "NO-SHIP"
    assert evaluate(golds, rows, gates="precision=0.75").verdict == "SHIP"
    only = evaluate(golds, rows, gates=["recall=0.5"], only_gates=True)
    assert [str(outcome.gate) for outcome in only.outcomes] == ["recall@5 >= 0.5"]


def test_proof_can_be_required() -> None:
    golds, rows = [gold(f"A{n}") for n in range(13)], [trace(f"A{n}") for n in range(13)]
    assert evaluate(golds, rows).verdict == "SHIP"
    assert evaluate(golds, rows, gates="precision=0.80,over=0.99", require_proof=True).verdict == "NO-SHIP"


def test_slices_are_measured_and_gated() -> None:
    golds = [gold("A", type="table"), gold("B", type="prose"), gold("C", lang="de")]
    rows = [trace("A", "wrong"), trace("B"), trace("C")]
    decision = evaluate(golds, rows, by=["lang"], gates=["precision=0.5", "precision[type=table]>=0.75"])
    assert set(decision.slices) == {"lang=de", "type=prose", "type=table"}
    assert decision.slices["type=table"]["precision"].value == 0
    assert decision.verdict == "NO-SHIP"
    assert "precision[type=table]" in decision.reasons[0]


def test_a_gate_on_a_slice_that_nobody_has_is_no_pass() -> None:
    decision = evaluate([gold("A", type="prose")], [trace("A")], gates="precision[type=tabel]>=0.75")
    assert decision.verdict == "NO VERDICT"


def test_citation_support_looks_into_the_cited_text() -> None:
    chunks = {"d1": "Here is the right answer, given in 2021.", "d2": "Something else."}
    golds = [gold("A", cite=["d1", "d2"]), gold("B", cite=["d1", "d2"]), gold("C", [], ["d1"]), gold("D", [], ["d1"])]
    rows = [trace("A"), trace("B", cite=["d2"]), trace("C", "It was 2021."), trace("D", "It was 2022.")]
    decision = evaluate(golds, rows, chunks=chunks)
    assert measured(decision, "cite_support") == (2, 4)
    assert evaluate(golds, rows).measures["cite_support"].value is None


def test_offenders_come_worst_first_with_one_reason() -> None:
    golds = [gold(q) for q in "BCDEFH"] + [unanswerable("G"), gold("A", constraints=["Never call twice."])]
    rows = [
        trace("A"),
        trace("B", cite=["d9"]),
        trace("C", cite=["d2"]),
        trace("D", "wrong"),
        refusal("E"),
        trace("F", ""),
        trace("G"),
    ]
    decision = evaluate(golds, rows, offenders=20)
    assert [(row["qid"], row["reason"]) for row in decision.offenders] == [
        ("G", "leak"),
        ("A", "constraint-echo"),
        ("D", "containment"),
        ("B", "out-of-scope"),
        ("C", "wrong-citation"),
        ("E", "over-refusal"),
        ("F", "empty"),
        ("H", "missing"),
    ]
    assert len(evaluate(golds, rows, offenders=3).offenders) == 3
    assert decision.offenders[2]["gold_rank"] == 1


@pytest.mark.parametrize(
    ("claim", "cite", "more", "reason", "also"),
    [
        ("wrong", ["d2"], {}, "containment", "wrong-citation"),
        ("wrong", ["d9"], {}, "containment", "out-of-scope"),
        ("wrong", [], {}, "containment", "wrong-citation"),
        ("wrong", ["d1"], {}, "containment", None),
        ("the grace period is not five days", ["d2"], {}, "denied", "wrong-citation"),
        ("five days, and nine on request", ["d2"], {"forbidden": ["nine"]}, "forbidden", "wrong-citation"),
        ("five days", ["d2"], {}, "wrong-citation", None),
        ("five days", ["d1", "d9"], {}, "out-of-scope", None),
        ("five days", ["d2"], {"constraints": ["Never call twice."]}, "constraint-echo", "wrong-citation"),
        ("", ["d2"], {}, "empty", None),
    ],
)
def test_what_an_answer_says_comes_before_what_it_cites(
    claim: str, cite: list[str], more: dict[str, Any], reason: str, also: str | None
) -> None:
    expected = gold("A", ["five days"], **more)
    decision = evaluate([expected], [trace("A", claim, cite)])
    row, card = decision.items[0], decision.offenders[0]
    assert (row["reason"], row.get("also")) == (card["reason"], card.get("also")) == (reason, also)
    assert ("; also " in card["says"]) == (also is not None)
    for form in ("text", "markdown", "html", "junit", "github"):
        shown = " ".join(render(decision, form).decode().split())  # lines are cut at the width of the terminal
        assert ("; also cites " in shown) == (also is not None), form
    assert json.loads(render(decision, "json"))["items"][0].get("also") == also


def test_a_miscited_wrong_answer_is_among_those_that_count_against_citing() -> None:
    decision = evaluate([gold("A"), gold("B")], [trace("A", "wrong", ["d2"]), trace("B", "wrong")])
    near = {turn["gate"]: turn["nearest"] for turn in decision.sections["turns"]}
    assert near == {"precision >= 0.80": ["B", "A"], "chr >= 0.75": ["A"]}


def test_an_answer_that_should_be_a_refusal_also_says_that_it_invents_a_source() -> None:
    cards = evaluate(
        [gold("A"), unanswerable("G"), unanswerable("H")], [trace("A"), trace("G", cite=["d9"]), trace("H")]
    ).offenders
    assert [(card["qid"], card["reason"], card.get("also")) for card in cards] == [
        ("G", "leak", "out-of-scope"),
        ("H", "leak", None),
    ]


DIAGNOSES = [
    ([trace("A", "no", ["d2"])], "answers are not grounded"),
    ([trace("A", "no")], "answers miss the expected text"),
    ([trace("A", cite=["d2"])], "other sources are cited"),
    ([trace("A", cite=["d2"], found=["d2"])], "Recall is low"),
    ([trace("A"), trace("U")], "refusal rule is too weak"),
    ([refusal("A")], "guard is too strict"),
    ([refusal("A", found=["d7"])], "split across chunks"),
]


@pytest.mark.parametrize(("rows", "words"), DIAGNOSES)
def test_diagnosis(rows: list[dict[str, Any]], words: str) -> None:
    decision = evaluate([gold("A"), unanswerable("U")], [refusal("U"), *rows])
    assert any(words in hint for hint in decision.diagnosis), decision.diagnosis


def test_where_most_answers_cite_nothing_that_is_said() -> None:
    rows = [refusal("U"), trace("A", cite=[]), trace("B", cite=[]), trace("C")]
    decision = evaluate([gold("A"), gold("B"), gold("C"), unanswerable("U")], rows)
    assert any("2 of 3 answers cite nothing" in hint for hint in decision.diagnosis)


def test_wrong_answers_are_named_before_wrong_citations() -> None:
    """Also where they are few: of the others, the expected text is there and the citation is not."""
    rows = [refusal("U"), trace("A", "wrong", ["d2"]), *(trace(name, cite=["d2"]) for name in "BCD")]
    decision = evaluate([*(gold(name) for name in "ABCD"), unanswerable("U")], rows)
    assert decision.diagnosis[0].startswith("1 of 4 answers do not say what is expected")
    assert "other sources are cited" in decision.diagnosis[1]


def low_precision(golds: list[dict[str, Any]], rows: list[dict[str, Any]], **options: Any) -> list[str]:
    decision = evaluate(golds, rows, **options)
    assert "precision" in {outcome.gate.metric for outcome in decision.outcomes if not outcome.holds}
    return decision.diagnosis


def test_where_only_echoes_are_missing_no_text_is_said_to_be() -> None:
    golds = [gold(f"q{number}", constraints=["Null keys are rejected."]) for number in range(10)]
    silent = [trace(f"q{number}") for number in range(10)]
    assert low_precision(golds, silent, scu_enforced=True) == [
        "Precision is low because 10 of 10 answers do not repeat their locked constraints in constraints_echo; none "
        "contradicts one. Log constraints_echo, and repeat the constraints at each stage."
    ]
    against = [trace("q0", "The right answer: null keys are accepted.", echo=["Null keys are rejected."]), *silent[1:]]
    assert (
        "10 of 10 answers do not keep their locked constraints: 1 contradict one, 9 do not repeat them"
        in (low_precision(golds, against, scu_enforced=True)[0])
    )
    mixed = [trace(f"q{number}", "wrong") for number in range(6)] + silent[6:]
    told = low_precision(golds, mixed, scu_enforced=False)
    assert "answers miss the expected text" in told[0] and not any("onstraints" in hint for hint in told)


def test_the_cause_of_low_precision_is_the_one_that_most_answers_have() -> None:
    golds = [gold(f"q{number}", gold_claim="The key is required.") for number in range(10)]
    right, elsewhere = (
        [trace(f"q{number}") for number in range(10)],
        [trace("q0", cite=["d2"]), trace("q1", cite=["d2"])],
    )
    rows = [*elsewhere, trace("q2", "wrong"), *right[3:]]
    told = low_precision(golds, rows)
    assert told == [
        "Precision is low because 2 of 10 answers cite none of the expected sources, or one that was not retrieved. "
        "Check how the prompt asks for citations."
    ]
    opposed = [trace(f"q{number}", "The right answer: the key is optional.") for number in range(3)]
    assert (
        "3 of 10 answers deny the expected text, contradict it, or say what is forbidden"
        in (low_precision(golds, [*opposed, *right[3:]])[0])
    )


def test_a_broken_constraint_and_one_that_is_not_repeated_have_reasons_of_their_own() -> None:
    golds = [gold("A", constraints=["Never call twice."]), gold("B", constraints=["Null keys are rejected."])]
    broken = trace("B", f"{trace('B')['answer_json']['claim']} Null keys are accepted.")
    broken["answer_json"]["constraints_echo"] = ["Null keys are rejected."]
    cards = {card["qid"]: card for card in evaluate(golds, [trace("A"), broken]).offenders}
    assert cards["A"]["reason"] == "constraint-echo"
    assert "does not repeat a locked constraint" in cards["A"]["says"]
    assert cards["B"]["reason"] == "constraint"
    assert "breaks a locked constraint" in cards["B"]["says"]


def test_without_gold_citations_chr_is_not_applicable_and_precision_needs_the_text_alone() -> None:
    golds = [gold("A", cite=[]), gold("B", cite=[]), unanswerable("U")]
    decision = evaluate(golds, [trace("A", cite=[]), trace("B", cite=["d9"]), trace("U")])
    outcome = next(outcome for outcome in decision.outcomes if outcome.gate.metric == "chr")
    assert outcome.state == "NOT-APPLICABLE"
    assert decision.measures["chr"].value is None
    assert "no gold question names citations" in decision.measures["chr"].missing
    assert "No gold question names citations" in decision.diagnosis[0]
    assert not any("cite nothing" in hint for hint in decision.diagnosis)
    assert evaluate(golds, [trace("A", cite=[]), trace("B", cite=[]), refusal("U")]).verdict == "SHIP"


def test_one_gold_citation_is_enough_for_chr_to_apply() -> None:
    decision = evaluate([gold("A"), gold("B", cite=[])], [trace("A"), trace("B", cite=[])])
    assert measured(decision, "chr") == (1, 1)


def unlogged(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("retrieved_ids", "topk")}


def test_without_retrieved_ids_recall_is_not_applicable_and_the_report_says_so() -> None:
    golds, rows = [gold("A"), gold("B")], [unlogged(trace("A")), unlogged(trace("B"))]
    decision = evaluate(golds, rows, gates=["recall@5=0.9"])
    outcome = next(outcome for outcome in decision.outcomes if outcome.gate.metric == "recall@5")
    assert outcome.state == "NOT-APPLICABLE"
    assert decision.reasons[0].startswith("no trace says what was retrieved (retrieved_ids)")
    lower = evaluate(golds, rows, gates=["recall@5=0.9"], only_gates=True)  # where no citation decides, below
    assert any("No trace says what was retrieved" in hint for hint in lower.diagnosis)


def test_an_index_that_returns_nothing_is_a_recall_of_zero_not_an_excuse() -> None:
    decision = evaluate([gold("A")], [trace("A", found=[])], gates=["recall@5=0.9"])
    assert measured(decision, "recall@5") == (0, 1)


def test_refusals_in_other_words_are_the_first_hint_with_an_example_and_the_setting() -> None:
    words = "I don't know based on the provided documents."
    golds = [gold("A"), *(unanswerable(f"U{n}") for n in range(4))]
    rows = [trace("A"), *(trace(f"U{n}", words, []) for n in range(2)), refusal("U2"), refusal("U3")]
    decision = evaluate(golds, rows)
    assert "2 of 4 unanswerable questions were refused in other words" in decision.diagnosis[0]
    assert "I don't know based on" in decision.diagnosis[0]
    assert 'refusal = "natural"' in decision.diagnosis[0]
    natural = evaluate(golds, rows, refusal="natural")
    assert natural.verdict == "SHIP"
    assert not any("refused in other words" in hint for hint in natural.diagnosis)


def test_a_single_odd_refusal_among_many_is_not_the_first_hint() -> None:
    golds = [unanswerable(f"U{n}") for n in range(8)]
    rows = [trace("U0", "I don't know based on the provided documents.", []), *(refusal(f"U{n}") for n in range(1, 8))]
    assert not any("were refused in other words" in hint for hint in evaluate(golds, rows).diagnosis)


def test_where_reachable_citations_are_hit_the_diagnosis_names_retrieval_and_gold() -> None:
    golds = [gold(f"A{n}") for n in range(10)]
    rows = [trace(f"A{n}") if n < 5 else trace(f"A{n}", cite=["d7"], found=["d7"]) for n in range(10)]
    decision = evaluate(golds, rows)
    assert any(
        "5 of 5 answers whose evidence was retrieved cite it (100 %): citing works. 5 answers had no" in hint
        for hint in decision.diagnosis
    )
    assert not any("not grounded" in hint for hint in decision.diagnosis)


def test_a_correct_refusal_is_neither_correct_nor_wrong() -> None:
    rows = evaluate([unanswerable("U"), gold("A")], [refusal("U"), trace("A")]).items
    assert {row["qid"]: row["correct"] for row in rows} == {"U": None, "A": True}


def test_an_id_scheme_mismatch_is_named_and_mapped_on_request() -> None:
    golds = [gold(f"A{n}", cite=[f"doc{n}.pdf#page={n + 1}"]) for n in range(12)]
    rows = [trace(f"A{n}", cite=[f"doc{n}.pdf"], found=[f"doc{n}.pdf"]) for n in range(12)]
    decision = evaluate(golds, rows)
    assert decision.verdict == "NO-SHIP"
    assert "drop-page" in decision.diagnosis[0]
    assert evaluate(golds, rows, id_map="drop-page").verdict == "SHIP"


def test_confidence_gives_a_risk_coverage_curve() -> None:
    golds = [gold(f"A{n}") for n in range(3)]
    rows = [trace("A0", confidence=0.9), trace("A1", "wrong", confidence=0.2), trace("A2", confidence=0.5)]
    curve = evaluate(golds, rows).sections["risk_coverage"]
    assert [(point["answered"], point["wrong"]) for point in curve] == [(1, 0), (2, 0), (3, 1)]


def test_typed_records_dicts_and_files_are_the_same(tmp_path: Path) -> None:
    golds, rows = [gold("A"), unanswerable("U")], [trace("A"), refusal("U")]
    paths = [tmp_path / "gold.jsonl", tmp_path / "trace.jsonl"]
    for path, lines in zip(paths, (golds, rows), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in lines))
    typed = evaluate(
        [Gold(**row) for row in golds], [Trace(qid="A", retrieved_ids=["d1"], answer_json=None, error="x")]
    )
    assert typed.items[0]["status"] == "error"
    assert evaluate(*paths).items == evaluate(golds, rows).items


@pytest.mark.parametrize("k", [0, -1, [], [5, 0]])
def test_k_below_one_is_refused(k: Any) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        evaluate([gold("A")], [trace("A")], k=k)


def test_an_item_that_does_not_say_whether_it_is_answerable_is_refused() -> None:
    row = gold("A")
    del row["answerable"]
    with pytest.raises(DataError, match="answerable"):
        evaluate([row], [trace("A")])


# --- properties ---

QIDS = [f"Q{n}" for n in range(6)]
CLAIMS = ["right answer", "wrong", "", "not in context", "Not in context.", "RIGHT ANSWER ß"]
ROW = st.builds(
    trace,
    st.sampled_from([*QIDS, "unknown"]),
    st.sampled_from(CLAIMS),
    st.lists(st.sampled_from(["d1", "d2", "d9"]), max_size=2),
    st.lists(st.sampled_from(["d1", "d2", "d3"]), max_size=4),
)
GOLDS = [gold(qid) if n % 3 else unanswerable(qid) for n, qid in enumerate(QIDS)]


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, max_size=15), st.randoms(use_true_random=False))
def test_the_order_of_gold_and_of_different_questions_changes_nothing(
    rows: list[dict[str, Any]], shuffler: random.Random
) -> None:
    last = list({row["qid"]: row for row in rows if row["qid"] != "unknown"}.values())
    golds = GOLDS[:]
    shuffler.shuffle(golds)
    shuffled = last[:]
    shuffler.shuffle(shuffled)
    one, other = evaluate(GOLDS, last), evaluate(golds, shuffled)
    assert one.report()["digest"] == other.report()["digest"]


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, max_size=15))
def test_losing_a_trace_never_turns_a_stop_into_a_ship(rows: list[dict[str, Any]]) -> None:
    if evaluate(GOLDS, rows).verdict != "SHIP" and rows:
        qid = rows[0]["qid"]
        assert evaluate(GOLDS, [row for row in rows if row["qid"] != qid] or []).verdict != "SHIP" or qid == "unknown"


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=15), st.integers(0, 100), st.integers(0, 100))
def test_raising_the_bar_never_helps(rows: list[dict[str, Any]], one: int, other: int) -> None:
    easy, hard = sorted((one, other))
    verdicts = [evaluate(GOLDS, rows, gates=f"precision={bound / 100}").verdict for bound in (easy, hard)]
    assert verdicts != ["NO-SHIP", "SHIP"]
    assert verdicts != ["NO VERDICT", "SHIP"]


def test_the_same_input_gives_the_same_bytes() -> None:
    golds = [*GOLDS, gold("Z \udcff", question="half a character: \ud800?")]
    rows = [trace("Q1", "wrong \ud800"), refusal("Q0"), trace("Q2")]
    first = encode(evaluate(golds, rows).report())
    assert first == encode(evaluate(golds, rows).report())
    first.decode("utf-8")


# --- the reference profile ---

REFERENCE = json.loads((VECTORS / "answers.json").read_text("utf-8"))
FOLDING = {"clean-006", "clean-014", "clean-018", "clean-020", "clean-028"}  # where ß and İ fold, and lower() does not


@pytest.mark.parametrize("vector", REFERENCE, ids=lambda vector: vector["name"])
def test_the_reference_profile_prints_what_the_scripts_print(vector: dict[str, Any]) -> None:
    found = evaluate(vector["gold"], vector["traces"], k=vector["k"], profile="reference").report()
    assert {key: found[key] for key in vector["reference"]} == vector["reference"]


@pytest.mark.parametrize("vector", [v for v in REFERENCE if v["name"].startswith("clean")], ids=lambda v: v["name"])
def test_on_clean_input_the_profiles_agree_or_say_where_not(vector: dict[str, Any]) -> None:
    strict = evaluate(vector["gold"], vector["traces"], k=vector["k"])
    assert strict.compat is not None
    assert strict.compat["agrees"] is (vector["name"] not in FOLDING)
    assert strict.compat["reference"]["precision"] == vector["reference"]["precision"]
    if strict.compat["agrees"]:
        assert round(float(strict.measures["precision"].value or Fraction(1)), 4) == vector["reference"]["precision"]


def test_a_refusal_in_doubt_counts_against_the_pipeline_on_both_sides_and_is_named() -> None:
    """Nothing that is said after a lack turns a leak into a refusal, or a refusal into an answer."""
    doubtful, leak = "I don't know. Blue.", "I'm unable to find the salary. It's $5M."
    golds = [unanswerable("U1"), unanswerable("U2"), unanswerable("U3"), gold("A1", ["green"]), gold("A2", ["$5M"])]
    rows = [trace("U1", doubtful), trace("U2", leak), trace("U3", "I don't know. Please contact support.")]
    rows += [trace("A1", doubtful), trace("A2", leak)]
    decision = evaluate(golds, rows, refusal="natural")
    assert {row["qid"]: row["status"] for row in decision.items} == {
        "A1": "refused",
        "A2": "shipped",
        "U1": "shipped",
        "U2": "shipped",
        "U3": "refused",
    }
    assert decision.named["doubtful_refusals"] == ["A1", "U1"]
    assert decision.measures["doubtful_refusals"].value == 2
    assert (measured(decision, "under_refusal"), measured(decision, "over_refusal")) == ((2, 3), (1, 2))
    assert {row["qid"]: row["says"] for row in decision.offenders}["U1"].startswith("says that it can't answer, and")


def test_what_the_question_names_is_no_answer_wherever_the_question_stands() -> None:
    said = "I don't know. The 2022 price was not given. Leiden in 2022."
    asked = "What was the price in Leiden in 2022?"
    plain = {"qid": "U", "answerable": False}
    for golds, rows in (
        ([plain | {"question": asked}], [trace("U", said)]),
        ([plain], [trace("U", said) | {"q": asked}]),
    ):
        assert item(golds, rows, "U", refusal="natural")["status"] == "refused"
    assert item([plain], [trace("U", said)], "U", refusal="natural")["status"] == "shipped"
