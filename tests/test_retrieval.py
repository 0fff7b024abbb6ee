"""Retrieval: the shadow index beside the live one, from the definitions to the decision."""

from __future__ import annotations

import json
import math
import random
import re
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipworthy.contracts import Gold, Place
from shipworthy.decision import report
from shipworthy.embedders import Lexical
from shipworthy.errors import DataError, ShipworthyError, UsageError
from shipworthy.scoring.calibration import calibrate
from shipworthy.scoring.retrieval import evaluate_retrieval
from shipworthy.suites import retrieval
from shipworthy.suites.retrieval.citations import ranges_fit
from shipworthy.suites.retrieval.lambda_states import Run, converged, derive
from shipworthy.suites.retrieval.matching import shares_text
from shipworthy.tally import Tally

HALF = Fraction(1, 2)


def question(qid: str = "q", relevant: Any = ("a", "b"), **more: Any) -> dict[str, Any]:
    return {"qid": qid, "question": f"What is {qid}?", "relevant": list(relevant), **more}


def line(qid: str = "q", found: Any = ("a", "x", "b"), cites: Any = ("a",), **more: Any) -> dict[str, Any]:
    topk = [{"id": block} if isinstance(block, str) else block for block in found]
    return {"qid": qid, "topk": topk, "answer_citations": list(cites), **more}


def score(gold: Any, shadow: Any, live: Any = None, **choices: Any) -> Any:
    gold, shadow = (value if isinstance(value, list) else [value] for value in (gold, shadow))
    return evaluate_retrieval(gold, shadow, live, **choices)


def value(decision: Any, name: str) -> Fraction | None:
    return decision.measures[name].value


def test_precision_recall_and_ranks_of_one_list() -> None:
    found = score(question(), line())
    assert value(found, "precision@1") == 1
    assert value(found, "precision@3") == Fraction(2, 3) == value(found, "precision@5")
    assert value(found, "P_5") == Fraction(2, 5)
    assert (value(found, "recall@1"), value(found, "recall@3")) == (HALF, 1)
    assert (value(found, "mrr"), value(found, "map")) == (1, Fraction(5, 6))
    assert float(value(found, "ndcg@3") or 0) == pytest.approx(1.5 / (1 + 1 / 1.584962500721156))
    assert found.items[0]["short"] == "precision@5 0.667 of 3 returned; trec P_5 0.400"
    assert found.sections["short_lists"] == {"q": "precision@5 0.667 of 3 returned; trec P_5 0.400"}


def test_repeated_ids_count_at_their_first_rank() -> None:
    found = score(question(), line(found=("a", "a", "x", "b")))
    assert value(found, "recall@3") == 1 and value(found, "precision@3") == Fraction(2, 3)
    slots = score(question(), line(found=("a", "a", "x", "b")), duplicates="occupy_slot")
    assert value(slots, "recall@3") == HALF and value(slots, "precision@3") == Fraction(1, 3)
    with pytest.raises(DataError, match=r"'a' twice.*\[retrieval-duplicate\]"):
        score(question(), line(found=("a", "a")), duplicates="error")


def test_nothing_retrieved_is_zero_and_nothing_relevant_is_left_out_and_listed() -> None:
    found = score([question("q1"), question("q2", relevant=())], [line("q1", found=()), line("q2", cites=())])
    assert value(found, "precision@5") == value(found, "recall@5") == value(found, "mrr") == 0
    assert found.measures["recall@5"].n == 1
    assert found.named["no_relevant"] == ["q2"]
    zero = score([question("q1"), question("q2", relevant=())], [line("q1"), line("q2")], no_relevant="zero")
    assert value(zero, "recall@5") == HALF
    with pytest.raises(DataError, match=r"\[retrieval-no-relevant\]"):
        score(question(relevant=()), line(), no_relevant="error")


@pytest.mark.parametrize(("recall", "expected"), [("fraction", HALF), ("all", 0), ("any", 1)])
def test_three_kinds_of_recall(recall: str, expected: Fraction) -> None:
    assert value(score(question(), line(found=("a",)), recall=recall), "recall@5") == expected


def test_a_question_is_the_mean_of_its_runs_and_the_suite_of_its_questions() -> None:
    runs = [line("q1", found=("a", "b"), seed=seed) for seed in range(3)] + [line("q1", found=("x",), seed=3)]
    found = score([question("q1"), question("q2")], [*runs, line("q2", found=("x",))])
    assert value(found, "recall@5") == Fraction(3, 8)
    assert found.measures["recall@5"].n == 2


def test_the_last_of_several_lines_of_one_run_counts() -> None:
    found = score(question(), [line(found=("x",), seed=0), line(found=("a", "b"), seed=0)])
    assert value(found, "recall@5") == 1
    assert any("[log-repeated]" in warning for warning in found.warnings)


def test_anchor_hits_and_hard_negatives() -> None:
    gold = question(relevant=["S.4.2.p.Bk001"], anchor_section="4.2", negatives=["n1", "n2"])
    found = score(gold, line(found=("n1", "S.4.2.1.p.Bk009", "n2", "S.4.2.p.Bk001")))
    assert (value(found, "anchor_hit@1"), value(found, "anchor_hit@3")) == (0, 1)
    assert (value(found, "negative_rate@3"), value(found, "negative_first")) == (Fraction(2, 3), 1)
    assert value(score(gold, line(found=("S.4.20.p.Bk001",))), "anchor_hit@10") == 0


G = {"id": "S.1.p.Bk001", "offsets": [100, 200]}


@pytest.mark.parametrize(
    ("block", "relevant"),
    [
        ([100, 200], True), ([0, 150], True), ([0, 149], False), ([150, 400], True), ([151, 400], False),
        ([120, 130], True), ([195, 205], True), ([194, 199], True), ([196, 216], False), ([200, 300], False), ([150, 150], False),
    ],
)  # fmt: skip
def test_a_block_is_relevant_by_its_bytes(block: list[int], relevant: bool) -> None:
    found = score(question(relevant=[G]), line(found=[{"id": "new", "offsets": block}]), match="offsets")
    assert value(found, "recall@1") == relevant


def test_offsets_of_another_document_do_not_match_and_the_overlap_can_be_set() -> None:
    there = {"id": "new", "offsets": [100, 200], "doc": "other"}
    assert value(score(question(relevant=[{**G, "doc": "one"}]), line(found=[there]), match="offsets"), "recall@1") == 0
    part = line(found=[{"id": "new", "offsets": [100, 175]}, {"id": "y", "offsets": [170, 900]}])
    assert (
        value(score(question(relevant=[G]), part, match="offsets", min_overlap=0.9, k=1), "recall@1") == 1
    )  # all of itself
    assert value(score(question(relevant=[G]), part, match="offsets", min_overlap=0.3), "precision@3") == 1


def test_several_blocks_on_one_gold_range_count_once_for_recall() -> None:
    gold = question(relevant=[G, {"id": "h", "offsets": [300, 400]}])
    halves = [{"id": "n1", "offsets": [100, 150]}, {"id": "n2", "offsets": [150, 200]}]
    found = score(gold, line(found=halves), match="offsets")
    assert (value(found, "recall@3"), value(found, "precision@3")) == (HALF, 1)
    merged = score(gold, line(found=[{"id": "n", "offsets": [90, 410]}]), match="offsets")
    assert value(merged, "recall@1") == value(merged, "map") == value(merged, "ndcg@1") == 1


def test_gold_without_places_is_named() -> None:
    with pytest.raises(DataError, match=r"no relevant block has offsets.*\[retrieval-no-offsets\]"):
        score(question(), line(), match="offsets")
    with pytest.raises(DataError, match=r"no retrieved block has offsets.*\[retrieval-no-offsets\]"):
        score(question(relevant=[G]), line(), match="offsets")
    found = score(question(relevant=[G, "b"]), line(found=[G]), match="offsets")
    assert value(found, "recall@1") == 1
    assert any("[gold-placeless]" in warning for warning in found.warnings)


def test_text_matches_across_a_new_cut() -> None:
    gold = question(relevant=[{"id": "a", "text": "The  limit is TWELVE kilos."}])
    texts = {
        "n1": "Before. the limit is twelve kilos. After.",
        "n2": "the limit is",
        "n3": "kilos. Something else entirely here.",
    }
    found = score(gold, line(found=("n3", "n1", "n2")), match="text", texts=texts, k=(1, 3))
    assert (value(found, "recall@1"), value(found, "recall@3"), value(found, "precision@3")) == (0, 1, Fraction(2, 3))


@settings(max_examples=60)
@given(
    st.text("ab", min_size=1, max_size=30),
    st.integers(0, 29),
    st.integers(1, 30),
    st.integers(0, 29),
    st.integers(1, 30),
)
def test_two_cuts_of_one_text_share_what_their_ranges_share(text: str, a: int, b: int, c: int, d: int) -> None:
    one, other = range(a % len(text), min(a + b, len(text))), range(c % len(text), min(c + d, len(text)))
    shared = min(one.stop, other.stop) - max(one.start, other.start)
    if not one or not other or 2 * shared < min(len(one), len(other)):
        return
    assert shares_text(text[one.start : one.stop], text[other.start : other.stop], HALF)


@pytest.mark.parametrize(
    ("cited", "overlap", "contained", "endpoints"),
    [
        ((100, 200), True, True, True), ((70, 230), True, True, True), ((69, 230), True, False, False), ((0, 70), False, False, False),
        ((0, 71), True, False, False), ((229, 300), True, False, False), ((230, 300), False, False, False), ((120, 150), True, True, False),
    ],
)  # fmt: skip
def test_a_cited_range_against_the_widened_gold_range(
    cited: tuple[int, int], overlap: bool, contained: bool, endpoints: bool
) -> None:
    found = [ranges_fit((100, 200), cited, 30, how) for how in ("overlap", "contained", "endpoints")]
    assert found == [overlap, contained, endpoints]


def test_coverage_citation_accuracy_and_proximity() -> None:
    gold = [
        question(name, relevant=[{**G, "section_id": "4.2"}], anchor_section="4.2") for name in ("q1", "q2", "q3", "q4")
    ]
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
    assert any("offsets drift" in hint for hint in found.diagnosis)


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
    assert value(score(question(), line(), texts=texts, embedder=None), "delta_s_median") is None
    evidence = score(question(), line(evidence=[{"id": "a", "text": "What is q?"}]))
    assert value(evidence, "delta_s_median") == 0


def test_distances_of_different_embedders_are_not_compared() -> None:
    here, there = line(delta_s=[0.1, 0.2, 0.3], embedder="m1"), line(delta_s=[0.2, 0.2, 0.3], embedder="m2")
    found = score(question(), here, [there])
    assert "delta_s_median" not in found.sections["comparison"]["metrics"]
    assert any("[delta-embedders]" in warning for warning in found.warnings)
    same = score(question(), here, [line(delta_s=[0.2, 0.2, 0.3], embedder="m1")])
    assert same.sections["comparison"]["metrics"]["delta_s_median"] == {"shadow": 0.1, "live": 0.2}


def run(seed: str = "0", paraphrase: str = "0", **more: Any) -> Run:
    known = {"logged": None, "failed": False, "refused": False, "arrived": True, "section": ((("", 4)),)}
    return Run(seed, paraphrase, **known | more)


def test_lambda_is_derived_from_what_the_runs_cite() -> None:
    lost = {"arrived": False}
    assert derive([run(), run(**lost), run(failed=True), run(refused=True)], True) == ["→", "<>", "←", "←"]
    assert derive([run(**lost), run(**lost)], True) == ["×", "×"]
    assert derive([run(refused=True), run()], False) == ["→", "<>"]
    assert derive([run(), run()], False) == ["×", "×"]


def test_a_group_converges_when_all_its_paraphrases_arrive_at_one_section() -> None:
    three = [run(paraphrase=str(number)) for number in range(3)]
    arrived = [("→", True)] * 3
    assert converged(three, arrived, 3) == {"0": True}
    assert converged(three[:2], arrived[:2], 3) == {"0": None}
    assert converged(three, [("→", True), ("<>", True), ("→", True)], 3) == {"0": False}
    assert converged([*three[:2], run(paraphrase="2", section=None)], arrived, 3) == {"0": False}


def test_states_are_read_where_the_log_has_them_and_holes_are_incomplete() -> None:
    gold = question(paraphrases=["one?", "two?", "three?"])
    runs = [
        line(paraphrase=number, seed=0, lambda_state=state) for number, state in enumerate(("->", "convergent", "→"))
    ]
    full = score(gold, runs, only_gates=True, gates="lambda_convergent>=0.95")
    assert full.verdict == "SHIP" and full.sections["lambda"]["read"] == 3
    short = score(gold, runs[:2], only_gates=True, gates="lambda_convergent>=0.95")
    assert short.verdict == "NO VERDICT" and short.exit_code == 3
    assert any("too few paraphrases" in reason for reason in short.reasons)
    split = score(
        gold, [*runs[:2], line(paraphrase=2, seed=0, λ="×")], only_gates=True, gates="lambda_convergent>=0.95"
    )
    assert split.verdict == "NO-SHIP"


def test_a_seed_that_was_run_for_some_questions_only_is_a_hole() -> None:
    runs = [line("q1", seed=0), line("q1", seed=1), line("q2", seed=0)]
    found = score([question("q1"), question("q2")], runs, only_gates=True, gates="lambda_convergent>=0.95")
    assert found.verdict == "NO VERDICT" and "1 of 4 groups" in found.reasons[0]


def test_missing_questions_count_as_zero_and_make_the_data_incomplete() -> None:
    gold = [question("q1"), question("q2")]
    found = score(gold, line("q1"), only_gates=True, gates="recall@5>=0.4")
    assert value(found, "recall@5") == HALF and found.verdict == "NO VERDICT"
    assert found.named["missing"] == ["q2"]
    skipped = score(gold, line("q1"), only_gates=True, gates="recall@5>=0.4", missing_query="skip")
    assert value(skipped, "recall@5") == 1 and skipped.verdict == "SHIP"
    with pytest.raises(DataError, match=r"\[retrieval-missing\]"):
        score(gold, line("q1"), missing_query="error")


def test_live_is_the_baseline_and_changes_are_named_with_paired_tests() -> None:
    gold = [
        question(f"q{number:02}", relevant=[{"id": "a", "type": "table" if number < 5 else "prose"}])
        for number in range(20)
    ]
    live = [line(f"q{number:02}", found=["a"]) for number in range(20)]
    shadow = [line(f"q{number:02}", found=["x" if number < 5 else "a"]) for number in range(20)]
    found = score(gold, shadow, live, only_gates=True, gates="recall@5>=baseline-0.02")
    assert found.verdict == "NO-SHIP" and "0.980 (baseline-0.02)" in found.reasons[0]
    compared = found.sections["comparison"]
    assert [row["qid"] for row in compared["worse"]] == [f"q0{number}" for number in range(5)] == compared["hits_lost"]
    assert compared["mcnemar_two_sided_p"] == 2 / 2**5 == compared["permutation_p"]
    assert compared["slices"] == {
        "type=prose": {"shadow": 1.0, "live": 1.0},
        "type=table": {"shadow": 0.0, "live": 1.0},
    }
    assert any("Only table fails" in hint for hint in found.diagnosis)
    sliced = score(gold, shadow, live, only_gates=True, gates="recall@5[type=prose]>=baseline-0.02")
    assert sliced.verdict == "SHIP"


def test_a_drop_of_exactly_the_slip_holds() -> None:
    gold = [question(f"q{number:02}", relevant=["a"]) for number in range(50)]
    live = [line(f"q{number:02}", found=["a"]) for number in range(50)]
    for lost, verdict in ((1, "SHIP"), (2, "NO-SHIP")):
        shadow = [line(f"q{number:02}", found=["x" if number < lost else "a"]) for number in range(50)]
        assert score(gold, shadow, live, only_gates=True, gates="recall@5>=baseline-0.02").verdict == verdict


def test_indexes_and_rerankers_are_watched() -> None:
    gold = [question("q1"), question("q2")]
    shadow = [line("q1", index_hash="h1", reranker="r1"), line("q2", index_hash="h2", reranker="r1")]
    live = [line("q1", index_hash="h1", knobs={"reranker": "r2"}), line("q2", index_hash="h1")]
    text = " ".join(score(gold, shadow, live).warnings)
    for code in ("index-mixed", "index-same", "reranker-differs"):
        assert f"[{code}]" in text


def test_ids_that_hardly_match_are_pointed_out() -> None:
    gold = [question(f"q{number}", relevant=["S.1.p.Bk001"]) for number in range(3)]
    found = score(gold, [line(f"q{number}", found=["S.1.p.Bk101"], cites=()) for number in range(3)])
    assert any("[ids-hardly-match]" in warning for warning in found.warnings)
    assert any("migrate the ids" in hint for hint in found.diagnosis)


def test_scores_that_contradict_the_list_are_pointed_out() -> None:
    rising = line(found=[{"id": "x", "score": -2}, {"id": "a", "score": -1}])
    found = score(question(), rising)
    assert value(found, "precision@1") == 0
    assert all(
        any(f"[{code}]" in warning for warning in found.warnings) for code in ("scores-order", "scores-negative")
    )
    assert value(score(question(), rising, order="score"), "precision@1") == 1
    with pytest.raises(DataError, match=r"\[retrieval-no-score\]"):
        score(question(), line(), preset="trec")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"qid": "q"}, r"topk: expected the retrieved blocks, found neither topk nor retrieved_ids"),
        ({"qid": "q", "topk": [{"id": "a"}], "delta_s": [0.1, 0.2]}, r"delta_s has 2 values and topk 1 blocks"),
        (
            {"qid": "q", "topk": [{"id": "a"}], "delta_s": [1.5]},
            r"delta_s: expected distances clipped to 0 … 1, got 1.5",
        ),
        ({"qid": "q", "topk": [{"id": "a", "offsets": [9, 3]}]}, r"offsets \[9, 3\] are reversed or negative"),
        ({"qid": "q", "topk": [{"id": "a", "offsets": [-1, 3]}]}, r"reversed or negative"),
        ({"qid": "q", "topk": [{"id": "a", "offsets": [0.5, 3.5]}]}, r"topk\[0\]\.offsets"),
        ({"qid": "q", "topk": [{"id": "a", "score": "high"}]}, r"topk\[0\]\.score"),
        ({"qid": "q", "topk": [{"id": "a"}], "lambda_state": "sideways"}, r"lambda_state: expected one of"),
        ({"qid": "q", "topk": "a"}, r"topk: expected array"),
    ],
)
def test_bad_lines_name_line_field_and_what_was_expected(tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line()) + "\n" + json.dumps(bad) + "\n")
    with pytest.raises(ShipworthyError, match=rf"log\.jsonl:2: .*{message}"):
        evaluate_retrieval([question()], path)
    found = evaluate_retrieval([question()], path, lenient=True)
    assert found.partial and found.inputs["shadow"]["bad"] == 1


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"qid": "q", "topk": [{"id": "a", "score": NaN}]}\n')
    with pytest.raises(DataError, match=r"log\.jsonl:1: NaN is not a number.*\[nonfinite\]"):
        evaluate_retrieval([question()], path)


def test_a_log_about_other_questions_is_an_error_and_a_failed_run_is_a_run() -> None:
    with pytest.raises(DataError, match=r"\[log-empty\]"):
        score(question(), line("other"))
    failed = score([question("q1"), question("q2")], [line("q1"), {"qid": "q2", "error": "timeout"}, line("q9")])
    assert value(failed, "recall@5") == HALF and failed.sections["lambda"]["states"]["←"] == 1
    assert failed.counts["failed_runs"] == 1 and failed.named["unknown_qids"] == ["q9"]


def test_a_log_that_never_says_what_it_cites_has_no_coverage_to_judge() -> None:
    found = score(question(), {"qid": "q", "retrieved_ids": ["a", "b"]})
    assert value(found, "coverage") is None and found.verdict == "NO VERDICT"
    assert value(found, "recall@5") == 1


def test_slices_by_type_and_by_any_field() -> None:
    gold = [question("q1", relevant=[{"id": "a", "type": "table"}], team="x"), question("q2", relevant=["S.1.c.Bk001"], team="y"),
            question("q3", relevant=["a"], type="prose", team="x")]  # fmt: skip
    found = score(gold, [line(name) for name in ("q1", "q2", "q3")], by=["team"])
    assert list(found.slices) == ["team=x", "team=y", "type=code", "type=prose", "type=table"]
    assert found.slices["type=code"]["recall@5"].value == 0
    gated = score(gold, [line(name) for name in ("q1", "q2", "q3")], only_gates=True, gates="recall@5[type=code]>=0.5")
    assert gated.verdict == "NO-SHIP"


def test_the_reference_profile() -> None:
    gold = [question("q1", relevant=[G], anchor_section="1"), question("q2", relevant=[])]
    runs = [line("q1", found=("x",), seed=0), line("q1", found=("x", "x", "S.1.p.Bk001"), cites=["x", {**G}], seed=1,
            delta_s=[0.1, 0.2, 0.6], lambda_state="→"), line("q2", found=("x",), cites=[])]  # fmt: skip
    found = score(gold, runs, profile="reference", k=(1, 3))
    shown = {name: float(measure.value) for name, measure in found.measures.items()}
    assert shown["precision@3"] == pytest.approx(1 / 6) and shown["recall@3"] == 0.5
    assert (shown["coverage"], shown["citation_accuracy"]) == (0, 0)
    assert (shown["delta_s_median"], shown["delta_s_p90"], shown["lambda_convergent"]) == (0.2, 0.52, 1)


def test_options_and_presets_are_shown_checked_and_part_of_the_digest() -> None:
    one, two = (report(score(question(), line(), **choices)) for choices in ({}, {"denominator": "k"}))
    assert one["options"]["denominator"] == "returned" and "denominator returned" in one["settings"]
    assert one["digest"] != two["digest"]
    for choices in (
        {"preset": "bm25"},
        {"match": "vibes"},
        {"k": 0},
        {"min_overlap": 0},
        {"window": -1},
        {"ties": "coin"},
    ):
        with pytest.raises(UsageError):
            score(question(), line(), **choices)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_any_order_and_any_split_give_the_same_tally_and_report(shuffled: random.Random, cut: int) -> None:
    draw = random.Random(5)
    gold = [
        question(f"q{number}", relevant=draw.sample("abcdef", 2), type=draw.choice(("prose", "table")))
        for number in range(12)
    ]
    log = [line(item["qid"], found=draw.sample("abcdefgh", 5), cites=draw.sample("abc", 1), seed=seed)
           for item in gold for seed in (0, 1)]  # fmt: skip
    expected = evaluate_retrieval(gold, log)
    other = list(log)
    shuffled.shuffle(other)
    assert report(evaluate_retrieval(gold, other)) == report(expected)
    options = retrieval.make_options()
    context = retrieval.Context(options)
    verdicts = [retrieval.judge(Gold(**item), [retrieval.LogLine(qid=item["qid"], topk=[Place(id=block["id"]) for block in row["topk"]])
                for row in log if row["qid"] == item["qid"]][:1], context) for item in gold]  # fmt: skip
    whole, first, second = Tally(), Tally(), Tally()
    for number, verdict in enumerate(verdicts):
        whole.count(retrieval.facts(verdict, options), verdict.target.types)
        (first if number < cut else second).count(retrieval.facts(verdict, options), verdict.target.types)
    assert first + second == whole == second + first


def test_calibration_suggests_bars_from_relevant_blocks_and_negatives() -> None:
    gold = [
        Gold(qid=f"q{number}", question="How heavy is the crate?", relevant=["a"], negatives=["n"])
        for number in range(30)
    ]
    texts = {"a": "The crate is heavy: 12 kg.", "n": "Opening hours are nine to five."}
    found = calibrate(gold, texts, Lexical())
    assert found.auc == 1 and found.relevant_median == found.delta_s_median == found.risk < found.negative_median
    assert (found.relevant, found.negative, found.without_text) == (30, 30, 0)
    with pytest.raises(DataError, match=r"\[calibrate-texts\]"):
        calibrate(gold, {}, Lexical())


def demo_log(index: str, path: Path) -> Path:
    from shipworthy.contracts import read_gold
    from shipworthy.demo.pipeline import retrieve

    with path.open("w") as file:
        for item in demo_gold(read_gold):
            for number, text in enumerate([item.question, *item.paraphrases]):
                found = retrieve(text, index=index, k=10, seed=0)
                file.write(json.dumps({"paraphrase": number, **found, "qid": item.qid}) + "\n")
    return path


def demo_gold(read_gold: Any) -> list[Gold]:
    from importlib.resources import files

    path = files("shipworthy.demo") / "gold.jsonl"
    return read_gold(str(path))


def test_the_demo_index_is_eligible_when_healthy_and_refused_when_tables_break(tmp_path: Path) -> None:
    pytest.importorskip("shipworthy.demo.pipeline")
    from shipworthy.contracts import read_gold

    gold = demo_gold(read_gold)
    live, shadow, broken = (
        demo_log(index, tmp_path / f"{index}.jsonl") for index in ("live", "shadow", "shadow-degraded")
    )
    healthy = evaluate_retrieval(gold, shadow, live, match="offsets")
    assert healthy.verdict == "SHIP", healthy.reasons
    degraded = evaluate_retrieval(gold, broken, live, match="offsets")
    assert degraded.verdict == "NO-SHIP"
    slices = degraded.sections["comparison"]["slices"]
    fallen = [name for name, pair in slices.items() if pair["live"] - pair["shadow"] > 0.02]
    assert fallen == ["type=table"]
    assert any("Only table fails" in hint for hint in degraded.diagnosis)
    by_ids = evaluate_retrieval(gold, shadow, live)
    assert by_ids.verdict == "NO-SHIP" and any("[ids-hardly-match]" in warning for warning in by_ids.warnings)


def test_the_command_line_scores_writes_and_measures(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from shipworthy.cli.retrieval import command

    gold, shadow = tmp_path / "gold.jsonl", tmp_path / "shadow.jsonl"
    gold.write_text(json.dumps(question()) + "\n")
    shadow.write_text(json.dumps(line(delta_s=[0.1, 0.2, 0.3])) + "\n")
    call = [
        "score",
        "--gold",
        str(gold),
        "--shadow",
        str(shadow),
        "--live",
        str(shadow),
        "--write-trec",
        str(tmp_path / "trec"),
    ]
    assert command.main([*call, "--json"], standalone_mode=False) == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["decision"] == "SHIP" and shown["recall@5"] == 1 and shown["comparison"]["worse"] == []
    states = {outcome["metric"]: outcome["state"] for outcome in shown["outcomes"]}
    assert states["citation_accuracy"] == "NOT-APPLICABLE"  # no gold block has a byte range
    assert command.main(call, standalone_mode=False) == 0
    text = capfd.readouterr().out
    assert (
        "Settings: preset native, match ids" in text
        and "trec P_5 0.400" in text
        and "Against live, 1 question:" in text
    )
    trec = [
        "score",
        "--qrels",
        str(tmp_path / "trec" / "qrels.txt"),
        "--run",
        str(tmp_path / "trec" / "run.txt"),
        "--metrics",
        "P@5,MRR",
    ]
    assert command.main(trec, standalone_mode=False) == 0
    assert re.search(r"P_5 +0\.400", capfd.readouterr().out)
    with pytest.raises(UsageError, match=r"\[retrieval-inputs\]"):
        command.main(["score", "--gold", str(gold)], standalone_mode=False)


def test_mirror_asks_both_endpoints_and_writes_two_logs(tmp_path: Path) -> None:
    import socket
    import threading
    import time

    uvicorn = pytest.importorskip("uvicorn")
    server_module = pytest.importorskip("shipworthy.demo.server")
    from shipworthy.cli.retrieval import command
    from shipworthy.contracts import read_gold
    from shipworthy.runner.mirror import mirror, questions_of_log

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(server_module.create_app(), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    url, gold = f"http://127.0.0.1:{port}/retrieve", demo_gold(read_gold)[:2]
    live, shadow = tmp_path / "live.jsonl", tmp_path / "shadow.jsonl"
    try:
        done = mirror(gold, url, url, live, shadow, live_index="live", shadow_index="shadow", seeds=(0, 1))
        assert [summary.complete and summary.failed == 0 for summary in done] == [True, True]
        wrong = mirror(gold[:1], url, url, tmp_path / "a.jsonl", tmp_path / "b.jsonl", live_index="nowhere", retries=0)
        assert wrong[0].failed == wrong[0].planned
        call = [
            "mirror",
            "--from-log",
            str(live),
            "--live",
            url,
            "--shadow",
            url,
            "--shadow-index",
            "shadow",
            "--out",
            str(tmp_path / "t"),
        ]
        assert command.main([*call, "--format", "trec"], standalone_mode=False) == 0
        written = (tmp_path / "t" / "shadow.run.txt").read_text().splitlines()
        assert {row.split()[0] for row in written} == {item.qid for item in gold}
        assert all(len(row.split()) == 6 for row in written)
    finally:
        server.should_exit = True
        thread.join(10)
    found = evaluate_retrieval(gold, shadow, live, match="offsets")
    assert found.counts["missing"] == 0 and value(found, "recall@5") == 1
    assert found.counts["runs"] == sum(2 * (1 + len(item.paraphrases)) for item in gold)
    again = questions_of_log(str(live))
    assert {item.qid for item in again} == {item.qid for item in gold}
    assert all(len(item.paraphrases) == 3 for item in again)


def test_every_metric_of_a_small_case_is_what_paper_says() -> None:
    """Two questions, one of them with two runs; every figure below was worked out by hand."""
    gold = [
        question("q1", [{"id": "S.4.2.p.Bk001", "offsets": [100, 200]}, "S.4.2.p.Bk002"], anchor_section="4.2", negatives=["n"],
                 paraphrases=["What?"]),
        question("q2", ["S.5.p.Bk001"], anchor_section="S.5", paraphrases=["What?"]),
    ]  # fmt: skip
    runs = [
        line("q1", ["n", {"id": "S.4.2.p.Bk001", "offsets": [150, 250]}, "S.9.p.Bk009", "S.4.2.p.Bk002"],
             ["S.4.2.p.Bk001"], seed=0, delta_s=[0.9, 0.2, 0.9, 0.9]),
        line("q1", ["S.4.1.p.Bk007"], ["S.4.1.p.Bk007"], seed=1, delta_s=[0.5]),
        line("q2", ["S.5.1.p.Bk003", "S.5.p.Bk001"], ["S.5.1.p.Bk003"], seed=0, delta_s=[0.3, 0.1]),
    ]  # fmt: skip
    found = score(gold, runs)
    log3, log5 = math.log2(3), math.log2(5)
    expected = {
        "precision@1": 0, "precision@3": Fraction(1, 6) / 2 + Fraction(1, 4), "precision@5": Fraction(1, 8) + Fraction(1, 4),
        "recall@1": 0, "recall@3": (Fraction(1, 4) + 1) / 2, "recall@5": (Fraction(1, 2) + 1) / 2,
        "mrr": (Fraction(1, 4) + Fraction(1, 2)) / 2, "map": (Fraction(1, 4) + Fraction(1, 2)) / 2,
        "P_3": (Fraction(1, 6) + Fraction(1, 3)) / 2, "P_5": (Fraction(1, 5) + Fraction(1, 5)) / 2,
        "anchor_hit@1": Fraction(1, 2), "anchor_hit@3": (Fraction(1, 2) + 1) / 2,
        "negative_rate@1": Fraction(1, 2), "negative_rate@3": Fraction(1, 6), "negative_rate@5": Fraction(1, 8),
        "negative_first": Fraction(1, 2),
        "coverage": (Fraction(1, 2) + 1) / 2, "citation_accuracy": Fraction(1, 2), "answer_rate": 1,
        "anchor_proximity": (Fraction(2, 2) + 1) / 2,
        "delta_s_median": (Fraction(35, 100) + Fraction(3, 10)) / 2, "lambda_convergent": Fraction(2, 3),
        "missing": 0, "bad_qids": 0,
    }  # fmt: skip
    assert {name: value(found, name) for name in expected} == expected
    first = (1 / log3 + 1 / log5) / (1 + 1 / log3)
    assert float(value(found, "ndcg@5")) == pytest.approx((first / 2 + 1 / log3) / 2, abs=1e-12)
    assert found.sections["lambda"]["states"] == {"→": 2, "←": 0, "<>": 1, "×": 0}


@pytest.mark.parametrize(
    ("cites", "answerable", "states"),
    [
        ((["a"], ["a"]), True, "→ →"),
        ((["a"], ["z"]), True, "→ <>"),
        ((["z"], ["y"]), True, "× ×"),
        ((["z"], []), True, "× ←"),
        (([], []), True, "← ←"),
        (([], []), False, "→ →"),
        ((["z"], []), False, "<> →"),
        ((["z"], ["y"]), False, "× ×"),
    ],
)
def test_each_rule_of_lambda(cites: tuple[list[str], list[str]], answerable: bool, states: str) -> None:
    runs = [line(cites=cited, paraphrase=number) for number, cited in enumerate(cites)]
    found = score(question(relevant=["a"] if answerable else [], answerable=answerable), runs)
    assert found.items[0]["states"] == states


def test_runs_that_fail_or_refuse_an_answerable_question_do_not_converge() -> None:
    refused = line(paraphrase=1) | {"answer_json": {"claim": "not in context", "citations": []}}
    runs = [line(paraphrase=0, error="timeout"), refused, line(paraphrase=2)]
    assert score(question(), runs).items[0]["states"] == "← ← →"


def test_blocks_of_unknown_section_converge_only_on_the_same_block() -> None:
    gold = question(paraphrases=["x", "y"])
    apart = score(gold, [line(cites=["a"], paraphrase=0), line(cites=["b"], paraphrase=1)])
    same = score(gold, [line(cites=["a"], paraphrase=0), line(cites=["a"], paraphrase=1)])
    known = score(
        gold, [line(cites=["a"], paraphrase=0), line(cites=["b"], paraphrase=1)], sections={"a": "4", "b": "4"}
    )
    assert [value(found, "lambda_convergent") for found in (apart, same, known)] == [0, 1, 1]


@pytest.mark.parametrize("match", ["offsets", "text"])
def test_one_id_may_have_several_places(match: str) -> None:
    """Gold that names a document and several passages of it."""
    gold = question(relevant=[{"id": "doc", "offsets": [0, 9], "text": "the first passage"},
                              {"id": "doc", "offsets": [50, 59], "text": "another one of them"}])  # fmt: skip
    found = score(
        gold, line(found=[{"id": "c7", "offsets": [48, 62], "text": "so, another one of them, and on"}]), match=match
    )
    assert value(found, "recall@5") == Fraction(1, 2)


def test_text_of_any_length_is_compared_in_time() -> None:
    """The worst case for comparing ends with beginnings, and a long text that matches nothing."""
    start = time.monotonic()
    assert not shares_text("a" * 40_000 + "b", "c" + "a" * 30_000 + "d", HALF)
    assert shares_text("x" * 10 + "ab" * 9_000, "ab" * 9_000 + "y" * 10, HALF)
    assert time.monotonic() - start < 5


def test_a_live_log_with_holes_is_no_baseline() -> None:
    gold = [question(name) for name in ("q1", "q2")]
    both = [line(name, delta_s=[0.1, 0.1, 0.1]) for name in ("q1", "q2")]
    poor = [line("q1", ["x"], delta_s=[0.1]), line("q2", delta_s=[0.1] * 3)]
    assert score(gold, both, both).verdict == "SHIP"
    found = score(gold, poor, both[1:], only_gates=True, gates="recall@5>=baseline-0.02")
    assert found.verdict == "NO VERDICT" and "1 of 2 questions have no line in live's log" in found.incomplete[0]
    assert score(gold, both, both[1:], only_gates=True, gates="recall@5>=0.9").verdict == "SHIP"  # no baseline, no hole


def test_a_bar_of_ones_own_blocks_under_whatever_name_it_was_given() -> None:
    gold, log = question(), line(found=[{"id": "a", "text": "nothing in common here"}], cites=["a"])
    for gate in ("dS_median<=0.10", "delta_s_median<=0.10", "delta_s_median=0.10"):
        found = score(gold, log, gates=gate)
        assert found.verdict == "NO-SHIP", gate
    assert [outcome.gate.severity for outcome in found.outcomes if outcome.gate.metric == "delta_s_p90"] == ["warn"]


def test_a_gold_set_that_changed_since_it_was_frozen_has_no_verdict(tmp_path: Path) -> None:
    from shipworthy.goldlock import freeze

    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps(question(answerable=True, gold_citations=["a"])) + "\n")
    log = [line(delta_s=[0.1, 0.1, 0.1])]
    freeze(gold, "1.0", "Ada")
    held = evaluate_retrieval(gold, log)
    assert held.verdict == "SHIP" and held.inputs["gold"]["content"]
    gold.write_text(json.dumps(question(answerable=True, gold_citations=["a"], negatives=["n"])) + "\n")
    found = evaluate_retrieval(gold, log)
    assert found.verdict == "NO VERDICT" and any("signed off" in sentence for sentence in found.incomplete)


def test_unknown_sections_and_unknown_fields_are_pointed_out() -> None:
    found = score(question(anchor_section="4.2"), line(found=["a", "S.4.2.p.Bk001"]), by=["language"])
    told = "\n".join(found.warnings)
    assert "the section of 1 retrieved block is unknown ('a' is the first)" in told and "[section-unknown]" in told
    assert "no gold item has the field 'language'" in told
    assert found.sections["unknown_sections"] == 1
    quiet = score(
        question(anchor_section="4.2", language="en"), line(found=["a"]), sections={"a": "4.2"}, by=["language"]
    )
    assert not quiet.warnings or "unknown" not in "".join(quiet.warnings)


def test_the_farthest_run_is_shown_where_distance_is_the_fault() -> None:
    runs = [line(paraphrase=number, cites=[name], delta_s=[0.7, 0.9, 0.7]) for number, name in enumerate(("a", "x"))]
    found = score(question(), [*runs, line(paraphrase=2, cites=[])])
    assert (found.offenders[0]["reason"], found.offenders[0]["citations"]) == ("far", ["x"])


def test_details_are_lines_of_the_decision_without_control_characters() -> None:
    gold = question("q\x1b[31m", type="ta\x1b]0;x\x07ble")
    found = score(gold, line("q\x1b[31m", ["x"], delta_s=[0.1]), [line("q\x1b[31m", delta_s=[0.1] * 3)])
    assert any(text.startswith("Settings: preset native") for text in found.sections["details"])
    assert not any("\x1b" in text or "\x07" in text for text in found.sections["details"])


def test_flags_without_effect_are_refused(tmp_path: Path) -> None:
    from shipworthy.cli.retrieval import _CHOICES, command
    from shipworthy.suites.retrieval import CHOICES

    for flag, values, _ in _CHOICES:
        assert CHOICES[flag[2:].replace("-", "_")] == values
    gold, log = ["--gold", "g", "--shadow", "s"], ["--qrels", "q", "--run", "r"]
    for call, flag in [
        ([*log, "--match", "offsets"], "--match"), ([*log, "--profile", "reference"], "--profile"), ([*log, "--by", "x"], "--by"),
        ([*gold, "--rel-level", "2"], "--rel-level"), ([*gold, "--metrics", "P@5", "--k", "3"], "--k"),
        ([*gold, "--metrics", "P@5", "--live", "l"], "--metrics"), ([*log, "--write-trec", "d"], "--write-trec"),
    ]:  # fmt: skip
        with pytest.raises(UsageError, match=rf"{flag}.*\[retrieval-inputs\]"):
            command.main(["score", *call], standalone_mode=False)
    with pytest.raises(UsageError, match=r"no metric is named"):
        command.main(["score", *log, "--metrics", ""], standalone_mode=False)


def test_both_addresses_are_looked_at_before_anything_is_asked(tmp_path: Path) -> None:
    from shipworthy.contracts import Gold
    from shipworthy.runner.mirror import mirror

    with pytest.raises(UsageError, match=r"--shadow.*\[target-address\]"):
        mirror([Gold(qid="q", question="?")], "http://127.0.0.1:1/x", "ftp://x", tmp_path / "live", tmp_path / "shadow")
    assert not list(tmp_path.iterdir())


def test_the_reference_profile_holds_recall_beside_live_and_refuses_gates_that_it_can_not_judge() -> None:
    gold, good, poor = question(), [line(delta_s=[0.1] * 3)], [line(found=["x"], cites=["a"], delta_s=[0.1])]
    states = {outcome.gate.metric: outcome.state for outcome in score(gold, poor, good, profile="reference").outcomes}
    assert states["recall@5"].startswith("FAIL") and states["coverage"] == "PASS-BUT-UNPROVEN"
    with pytest.raises(UsageError, match=r"no mrr.*\[gate-unknown\]"):
        score(gold, good, profile="reference", gates="mrr>=0.5")


def test_calibration_takes_citations_for_relevant_and_says_what_it_lacks() -> None:
    gold = [Gold(qid="q", question="How heavy is a lantern?", gold_citations=["a"], answerable=True)]
    texts = {"a": "A lantern is three kilograms heavy.", "n": "Ships sail on Monday."}
    with pytest.raises(DataError, match=r"no negative block.*as negatives in the gold set.*\[calibrate-texts\]"):
        calibrate(gold, texts, Lexical())
    found = calibrate([msgspec.structs.replace(gold[0], negatives=["n"])], texts, Lexical())
    assert (found.relevant, found.negative, found.without_text) == (1, 1, 0)
    assert found.relevant_median < found.negative_median


def test_nothing_but_the_report_is_printed_where_nobody_watches(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from shipworthy.cli import _shared
    from shipworthy.cli.retrieval import command

    gold, shadow = tmp_path / "gold.jsonl", tmp_path / "shadow.jsonl"
    gold.write_text(json.dumps(question()) + "\n")
    shadow.write_text(json.dumps(line(delta_s=[0.1, 0.2, 0.3])) + "\n")
    seconds = iter(range(0, 1000, 2))
    monkeypatch.setattr(_shared.time, "monotonic", lambda: next(seconds))  # as slow as a large file
    command.main(["score", "--gold", str(gold), "--shadow", str(shadow), "--json"], standalone_mode=False)
    shown = capfd.readouterr()
    assert shown.err == "" and json.loads(shown.out)["decision"] == "SHIP"
