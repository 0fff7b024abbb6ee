"""Retrieval: what is missing, bad or unknown in the data, and what a report says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retrieval_helpers import HALF, line, question, score, value

from shipworthy.core.decision import report
from shipworthy.errors import DataError, ShipworthyError, UsageError


def test_missing_questions_count_as_zero_and_make_the_data_incomplete() -> None:
    gold = [question("q1"), question("q2")]
    found = score(gold, line("q1"), only_gates=True, gates="recall@5>=0.4")
    assert value(found, "recall@5") == HALF and found.verdict == "NO VERDICT"
    assert found.named["missing"] == ["q2"]
    skipped = score(gold, line("q1"), only_gates=True, gates="recall@5>=0.4", missing_query="skip")
    assert value(skipped, "recall@5") == 1 and skipped.verdict == "NO VERDICT"  # how it counts is not whether it may
    allowed = score(gold, line("q1"), only_gates=True, gates="recall@5>=0.4", missing_query="skip", allow_missing=1)
    assert allowed.verdict == "SHIP" and allowed.reasons[0].startswith("1 of 2 questions not judged")
    with pytest.raises(DataError, match=r"\[retrieval-missing\]"):
        score(gold, line("q1"), missing_query="error")


def test_ids_that_hardly_match_are_pointed_out() -> None:
    gold = [question(f"q{number}", relevant=["S.1.p.Bk001"]) for number in range(3)]
    found = score(gold, [line(f"q{number}", found=["S.1.p.Bk101"], cites=()) for number in range(3)])
    assert any("[ids-hardly-match]" in warning for warning in found.warnings)
    assert any("migrate the gold set" in hint for hint in found.diagnosis)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"qid": "q"}, r"topk: expected the retrieved blocks, found neither topk nor retrieved_ids"),
        ({"qid": "q", "topk": [{"id": "a"}], "delta_s": [0.1, 0.2]}, r"delta_s has 2 values, but topk has 1 blocks"),
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
        score([question()], path)
    found = score([question()], path, lenient=True)
    assert found.partial and found.inputs["shadow"]["bad"] == 1


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"qid": "q", "topk": [{"id": "a", "score": NaN}]}\n')
    with pytest.raises(DataError, match=r"log\.jsonl:1: NaN is not a number.*\[nonfinite\]"):
        score([question()], path)


def test_a_log_about_other_questions_is_an_error_and_a_failed_run_is_a_run() -> None:
    with pytest.raises(DataError, match=r"\[log-empty\]"):
        score(question(), line("other"))
    failed = score([question("q1"), question("q2")], [line("q1"), {"qid": "q2", "error": "timeout"}, line("q9")])
    assert value(failed, "recall@5") == HALF and failed.sections["lambda"]["states"]["←"] == 1
    assert failed.counts["failed_runs"] == 1 and failed.named["unknown_qids"] == ["q9"]


def test_slices_by_type_and_by_any_field() -> None:
    gold = [
        question("q1", relevant=[{"id": "a", "type": "table"}], team="x"),
        question("q2", relevant=["S.1.c.Bk001"], team="y"),
        question("q3", relevant=["a"], type="prose", team="x"),
    ]
    found = score(gold, [line(name) for name in ("q1", "q2", "q3")], by=["team"])
    assert list(found.slices) == ["team=x", "team=y", "type=code", "type=prose", "type=table"]
    assert found.slices["type=code"]["recall@5"].value == 0
    gated = score(gold, [line(name) for name in ("q1", "q2", "q3")], only_gates=True, gates="recall@5[type=code]>=0.5")
    assert gated.verdict == "NO-SHIP"


def test_options_and_presets_are_shown_checked_and_part_of_the_digest() -> None:
    one, two = (report(score(question(), line(), **choices)) for choices in ({}, {"denominator": "k"}))
    assert one["options"]["denominator"] == "returned" and "denominator returned" in one["settings"]
    assert one["digest"] != two["digest"]


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"preset": "bm25"}, "option-value"),
        ({"match": "vibes"}, "option-value"),
        ({"k": 0}, "k-range"),
        ({"min_overlap": 0}, "retrieval-option"),
        ({"min_overlap": "much"}, "retrieval-option"),
        ({"window": -1}, "option-value"),
        ({"rel_level": 0}, "option-value"),
        ({"depth": 0}, "option-value"),
        ({"ties": "coin"}, "option-value"),
        ({"embedder": "word2vec"}, "embedder-setting"),
        ({"embed_url": "http://x"}, "embedder-setting"),
        ({"kk": 3}, "option-unknown"),
        ({"metrics": "P"}, "retrieval-metric"),
    ],
    ids=str,
)
def test_what_can_not_be_chosen_is_refused(choice: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError, match=rf"\[{code}\]"):
        score(question(), line(), **choice)


def test_every_choice_of_a_preset_stands_in_the_report() -> None:
    shown = score(question(), line(found=[{"id": "a", "score": 1}]), preset="trec-c", ties="list").options
    assert (shown["missing_query"], shown["ties"], shown["score_bits"]) == ("zero", "list", 32)
    assert not {"embedder", "embed_url", "embed_key_env", "per_question"} & set(shown)


def test_rows_can_be_left_out() -> None:
    one = score(question(), line())
    assert len(one.items) == 1 and one.sections["short_lists"]
    none = score(question(), line(), per_question=False)
    assert not none.items and none.sections["short_lists"] == one.sections["short_lists"]


def test_a_gold_set_that_changed_since_it_was_frozen_has_no_verdict(tmp_path: Path) -> None:
    from shipworthy.reading.lock import freeze

    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps(question(answerable=True, gold_citations=["a"])) + "\n")
    log = [line(delta_s=[0.1, 0.1, 0.1])]
    freeze(gold, "1.0", "Ada")
    held = score(gold, log)
    assert held.verdict == "SHIP" and held.inputs["gold"]["content"]
    gold.write_text(json.dumps(question(answerable=True, gold_citations=["a"], negatives=["n"])) + "\n")
    found = score(gold, log)
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
