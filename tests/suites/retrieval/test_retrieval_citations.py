"""Retrieval: what an answer cites, at which bytes, and how far from the question."""

from __future__ import annotations

from fractions import Fraction

import pytest
from retrieval_helpers import HALF, RANGED, line, question, score, value

from shipworthy.suites.retrieval.embedders import Lexical
from shipworthy.suites.retrieval.places import ranges_fit


@pytest.mark.parametrize(
    ("cited", "overlap", "contained", "endpoints"),
    [
        ((100, 200), True, True, True),
        ((70, 230), True, True, True),
        ((69, 230), True, False, False),
        ((0, 70), False, False, False),
        ((0, 71), True, False, False),
        ((229, 300), True, False, False),
        ((230, 300), False, False, False),
        ((120, 150), True, True, False),
    ],
)
def test_a_cited_range_against_the_widened_gold_range(
    cited: tuple[int, int], overlap: bool, contained: bool, endpoints: bool
) -> None:
    found = [ranges_fit((100, 200), cited, 30, how) for how in ("overlap", "contained", "endpoints")]
    assert found == [overlap, contained, endpoints]


def test_coverage_citation_accuracy_and_proximity() -> None:
    place = {**RANGED, "section_id": "4.2"}
    gold = [question(name, relevant=[place], anchor_section="4.2") for name in ("q1", "q2", "q3", "q4")]
    shadow = [
        line("q1", cites=[{"id": "z", "offsets": [190, 260], "section_id": "S.4.2"}]),
        line("q2", cites=[{"id": "z", "offsets": [190, 260], "section_id": "4.3"}]),
        line("q3", cites=[{"id": "z", "offsets": [900, 960], "section_id": "4.2"}]),
        line("q4", cites=[]),
    ]
    found = score(gold, shadow)
    assert value(found, "coverage") == HALF and value(found, "answer_rate") == Fraction(3, 4)
    assert value(found, "citation_accuracy") == Fraction(1, 3)
    assert value(found, "anchor_proximity") == Fraction(2, 3)
    assert found.named["bad_qids"] == ["q2", "q4"] == found.headline["bad_qids"]
    assert any("Offsets may have shifted" in hint for hint in found.diagnosis)


def test_a_citation_takes_its_place_from_the_retrieved_block_and_an_unknown_section_is_not_guessed() -> None:
    gold = question(relevant=[{"id": "S.4.2.p.Bk001", "offsets": [100, 200]}], anchor_section="4.2")
    known = line(found=[{"id": "S.4.2.p.Bk007", "offsets": [150, 250]}], cites=["S.4.2.p.Bk007"])
    assert value(score(gold, known), "citation_accuracy") == 1
    unknown = line(found=[{"id": "chunk-7", "offsets": [150, 250]}], cites=["chunk-7"])
    found = score(gold, unknown)
    assert value(found, "citation_accuracy") == 0 and value(found, "anchor_proximity") is None
    assert found.sections["unknown_sections"] == 1
    assert value(score(gold, unknown, sections={"chunk-7": "4.2"}), "citation_accuracy") == 1


def test_unanswerable_questions_have_nothing_to_cite() -> None:
    gold = [question("q1"), question("q2", relevant=(), anchor_section="4.2", answerable=False)]
    refused = {"qid": "q2", "topk": [], "answer_json": {"claim": "not in context"}}
    found = score(gold, [line("q1"), refused])
    assert value(found, "coverage") == 1 and found.measures["coverage"].n == 1
    assert found.sections["lambda"]["states"] == {"→": 2, "←": 0, "<>": 0, "×": 0}
    answered = score(gold, [line("q1"), line("q2")])
    assert answered.sections["lambda"]["states"]["×"] == 1
    assert [item["reason"] for item in answered.items] == ["", "answered"]


def test_delta_s_is_that_of_the_cited_block_and_its_bands_decide_bad_qids() -> None:
    gold = [question(f"q{number}") for number in range(4)]
    deltas = ([0.1, 0.9, 0.9], [0.39996, 0.9, 0.9], [0.5, 0.1, 0.1], [0.61, 0.1, 0.1])
    shadow = [line(f"q{number}", delta_s=values, embedder="m") for number, values in enumerate(deltas)]
    found = score(gold, shadow)
    assert value(found, "delta_s_median") == Fraction("0.45")
    assert found.sections["delta_s"] == {
        "embedder": "precomputed: m",
        "bands": {"stable": 1, "transitional": 2, "risk": 1},
    }
    assert found.named["bad_qids"] == ["q3"]


@pytest.mark.parametrize("name", ["ΔS", "∆S", "deltaS", "ΔS_list"])
def test_the_other_names_of_delta_s_are_read(name: str) -> None:
    assert value(score(question(), line(**{name: [0.25, 1, 1]})), "delta_s_median") == Fraction(1, 4)


def test_delta_s_is_made_from_texts_labelled_and_does_not_block_by_foreign_bars() -> None:
    texts = {"a": "zzz yyy", "x": "none", "b": "What is q?"}
    found = score(question(), line(), texts=texts)
    assert value(found, "delta_s_median") == 1 == Lexical().distance("What is q?", "zzz yyy")
    assert found.sections["delta_s"]["embedder"] == "lexical:char3-5"
    assert found.verdict == "SHIP" and any("[delta-uncalibrated]" in warning for warning in found.warnings)
    asked = score(question(), line(), texts=texts, gates="delta_s_median<=0.5")
    assert asked.verdict == "NO-SHIP"
    assert value(score(question(), line(), texts=texts, embedder="precomputed"), "delta_s_median") is None
    evidence = score(question(), line(evidence=[{"id": "a", "text": "What is q?"}]))
    assert value(evidence, "delta_s_median") == 0


def test_a_bar_of_ones_own_blocks_under_whatever_name_it_was_given() -> None:
    gold, log = question(), line(found=[{"id": "a", "text": "nothing in common here"}], cites=["a"])
    for gate in ("dS_median<=0.10", "delta_s_median<=0.10", "delta_s_median=0.10"):
        found = score(gold, log, gates=gate)
        assert found.verdict == "NO-SHIP", gate
    assert [outcome.gate.severity for outcome in found.outcomes if outcome.gate.metric == "delta_s_p90"] == ["warn"]


def test_the_farthest_run_is_shown_where_distance_is_the_fault() -> None:
    runs = [line(paraphrase=number, cites=[name], delta_s=[0.7, 0.9, 0.7]) for number, name in enumerate(("a", "x"))]
    found = score(question(), [*runs, line(paraphrase=2, cites=[])])
    assert (found.offenders[0]["reason"], found.offenders[0]["citations"]) == ("far", ["x"])


def test_a_log_that_never_says_what_it_cites_has_no_coverage_to_judge() -> None:
    found = score(question(), {"qid": "q", "retrieved_ids": ["a", "b"]})
    assert value(found, "coverage") is None and found.verdict == "NO VERDICT"
    assert value(found, "recall@5") == 1
