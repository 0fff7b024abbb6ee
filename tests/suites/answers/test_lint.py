"""Gold lint: what can never pass, what always passes, what is too small to prove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Ran, gold, unanswerable, write_lines
from shipworthy.suites.answers.lint import lint

FINDINGS: list[tuple[dict[str, Any], str, str]] = [
    (gold("A", []), "gold-vacuous", "warning"),
    ({"qid": "A", "question": "?", "answerable": True, "gold_citations": ["d"]}, "gold-no-substr", "error"),
    (gold("A", ["in context"]), "gold-token", "error"),
    (gold("A", ["question a"]), "gold-echo", "warning"),
    (gold("A", cite=()), "gold-uncited", "warning"),
    (unanswerable("A", gold_citations=["d"]), "gold-cited-refusal", "warning"),
    (unanswerable("A", gold_claim_substr=["something"]), "gold-cited-refusal", "warning"),
    ({"qid": "A", "question": "What?"}, "gold-answerable", "error"),
    (gold("A", question="  "), "gold-no-question", "warning"),
    (gold("A", paraphrases=["QUESTION  a?"]), "gold-paraphrase", "warning"),
    (gold("A", negatives=["d1"]), "gold-negative", "error"),
]


@pytest.mark.parametrize(("item", "code", "severity"), FINDINGS)
def test_each_finding(item: dict[str, Any], code: str, severity: str) -> None:
    found = {(finding.code, finding.severity) for finding in lint([item])}
    assert (code, severity) in found


def test_a_good_item_has_no_finding_of_its_own() -> None:
    assert not [finding for finding in lint([gold("A"), unanswerable("U")]) if finding.qid]


def test_duplicates_are_found_letter_for_letter_and_nearly() -> None:
    items = [
        gold("A", question="How long is the refund window?"),
        gold("B", question="how long  is the refund window?"),
        gold("C", question="How long is the refund window then?"),
        gold("D", question="Who pays for shipping?"),
    ]
    found = {(finding.qid, finding.code) for finding in lint(items)}
    assert ("B", "gold-duplicate") in found or ("A", "gold-duplicate") in found
    assert any(code == "gold-near-duplicate" for _, code in found)
    assert not any(qid == "D" and code.endswith("duplicate") for qid, code in found)


def test_cited_ids_must_be_in_the_chunk_file() -> None:
    found = lint([gold("A", cite=["d1", "gone"])], chunks={"d1": "text"})
    assert [finding.says for finding in found if finding.code == "gold-unknown-id"] == [
        "'gone' is not in the chunk file."
    ]


def test_gates_that_can_not_be_proven_say_how_many_items_are_missing() -> None:
    items = [gold(f"A{n}") for n in range(40)] + [unanswerable(f"U{n}") for n in range(36)]
    says = [finding.says for finding in lint(items) if finding.code == "gold-size"]
    assert says == [
        "under_refusal <= 0.05 can't be proven with 36 unanswerable items: even a perfect run needs 59, 23 more."
    ]
    assert any("precision >= 0.99" in finding.says for finding in lint(items, gates=["precision=0.99"]))


def test_no_unanswerable_item_is_said() -> None:
    assert "gold-no-refusals" in {finding.code for finding in lint([gold("A")])}


def test_the_command_exits_one_on_errors_only(cli: Callable[..., Ran], tmp_path: Path) -> None:
    warned = write_lines(tmp_path / "w.jsonl", [gold("A", [])])
    assert cli("gold", "lint", warned).code == 0
    assert cli("gold", "lint", warned, "--strict").code == 1
    wrong = cli("gold", "lint", write_lines(tmp_path / "e.jsonl", [gold("A", ["in context"])]))
    assert wrong.code == 1
    assert "e.jsonl:1: A: a substring is part of the refusal token" in wrong.out
    assert cli("gold", "lint", warned, "--json").json[0]["code"] == "gold-vacuous"
