"""Retrieval: precision, recall and ranks, from the definitions to a question's value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from retrieval_helpers import HALF, line, question, score, value

from shipworthy.errors import DataError


def test_precision_recall_and_ranks_of_one_list() -> None:
    found = score(question(), line())
    assert value(found, "precision@1") == 1
    assert value(found, "precision@3") == Fraction(2, 3) == value(found, "precision@5")
    assert value(found, "P_5") == Fraction(2, 5)
    assert (value(found, "recall@1"), value(found, "recall@3")) == (HALF, 1)
    assert (value(found, "mrr"), value(found, "map")) == (1, Fraction(5, 6))
    assert float(value(found, "ndcg@3") or 0) == pytest.approx(1.5 / (1 + 1 / 1.584962500721156))
    assert found.items[0]["short"] == "precision@5 0.667 with 3 returned; trec_eval P_5 0.400"
    assert found.sections["short_lists"] == {"q": "precision@5 0.667 with 3 returned; trec_eval P_5 0.400"}


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


def test_every_metric_of_a_small_case_is_what_paper_says() -> None:
    """Two questions, one of them with two runs; every figure below was worked out by hand."""
    gold = [
        question(
            "q1",
            [{"id": "S.4.2.p.Bk001", "offsets": [100, 200]}, "S.4.2.p.Bk002"],
            anchor_section="4.2",
            negatives=["n"],
            paraphrases=["What?"],
        ),
        question("q2", ["S.5.p.Bk001"], anchor_section="S.5", paraphrases=["What?"]),
    ]
    runs = [
        line(
            "q1",
            ["n", {"id": "S.4.2.p.Bk001", "offsets": [150, 250]}, "S.9.p.Bk009", "S.4.2.p.Bk002"],
            ["S.4.2.p.Bk001"],
            seed=0,
            delta_s=[0.9, 0.2, 0.9, 0.9],
        ),
        line("q1", ["S.4.1.p.Bk007"], ["S.4.1.p.Bk007"], seed=1, delta_s=[0.5]),
        line("q2", ["S.5.1.p.Bk003", "S.5.p.Bk001"], ["S.5.1.p.Bk003"], seed=0, delta_s=[0.3, 0.1]),
    ]
    found = score(gold, runs)
    log3, log5 = math.log2(3), math.log2(5)
    expected = {
        "precision@1": 0,
        "precision@3": Fraction(1, 6) / 2 + Fraction(1, 4),
        "precision@5": Fraction(1, 8) + Fraction(1, 4),
        "recall@1": 0,
        "recall@3": (Fraction(1, 4) + 1) / 2,
        "recall@5": (Fraction(1, 2) + 1) / 2,
        "mrr": (Fraction(1, 4) + Fraction(1, 2)) / 2,
        "map": (Fraction(1, 4) + Fraction(1, 2)) / 2,
        "P_3": (Fraction(1, 6) + Fraction(1, 3)) / 2,
        "P_5": (Fraction(1, 5) + Fraction(1, 5)) / 2,
        "anchor_hit@1": Fraction(1, 2),
        "anchor_hit@3": (Fraction(1, 2) + 1) / 2,
        "negative_rate@1": Fraction(1, 2),
        "negative_rate@3": Fraction(1, 6),
        "negative_rate@5": Fraction(1, 8),
        "negative_first": Fraction(1, 2),
        "coverage": (Fraction(1, 2) + 1) / 2,
        "citation_accuracy": Fraction(1, 2),
        "answer_rate": 1,
        "anchor_proximity": (Fraction(2, 2) + 1) / 2,
        "delta_s_median": (Fraction(35, 100) + Fraction(3, 10)) / 2,
        "lambda_convergent": Fraction(2, 3),
        "missing": 0,
        "bad_qids": 0,
    }
    assert {name: value(found, name) for name in expected} == expected
    first = (1 / log3 + 1 / log5) / (1 + 1 / log3)
    assert float(value(found, "ndcg@5")) == pytest.approx((first / 2 + 1 / log3) / 2, abs=1e-12)
    assert found.sections["lambda"]["states"] == {"→": 2, "←": 0, "<>": 1, "×": 0}
