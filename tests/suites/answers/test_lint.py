"""Gold lint: what can never pass, what always passes, what is too small to prove."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Ran, gold, trace, unanswerable, write_lines
from shipworthy import UsageError, evaluate
from shipworthy.suites.answers.lint import lint

FINDINGS: list[tuple[dict[str, Any], str, str]] = [
    (gold("A", []), "gold-vacuous", "warning"),
    ({"qid": "A", "question": "?", "answerable": True, "gold_citations": ["d"]}, "gold-no-substr", "error"),
    (gold("A", ["in context"]), "gold-token", "error"),
    (gold("A", ["question a"]), "gold-echo", "warning"),
    (unanswerable("A", gold_citations=["d"]), "gold-cited-refusal", "warning"),
    (unanswerable("A", gold_claim_substr=["something"]), "gold-cited-refusal", "warning"),
    ({"qid": "A", "question": "What?"}, "gold-answerable", "error"),
    (gold("A", question="  "), "gold-no-question", "warning"),
    (gold("A", paraphrases=["QUESTION  a?"]), "gold-paraphrase", "warning"),
    (gold("A", negatives=["d1"]), "gold-negative", "error"),
    (gold("A", ["red", "blue"], question="Which two colours are there?"), "gold-several", "warning"),
    (gold("A", ["red", "blue"], question="List the colours."), "gold-several", "warning"),
    (gold("A", ["yes"], question="Is it so?"), "gold-yes-or-no", "info"),
]


@pytest.mark.parametrize(("item", "code", "severity"), FINDINGS)
def test_each_finding(item: dict[str, Any], code: str, severity: str) -> None:
    found = {(finding.code, finding.severity) for finding in lint([item])}
    assert (code, severity) in found


def test_a_question_without_sources_is_named_where_others_have_them() -> None:
    found = {(one.qid, one.severity) for one in lint([gold("A", cite=()), gold("B")]) if one.code == "gold-uncited"}
    assert found == {("A", "warning")}


def test_where_no_question_has_sources_that_is_one_remark() -> None:
    found = [one for one in lint([gold("A", cite=()), gold("B", cite=())]) if one.code == "gold-uncited"]
    assert [(one.qid, one.severity) for one in found] == [("", "info")] and "cites = false" in found[0].says
    assert not [one for one in lint([unanswerable("U")]) if one.code == "gold-uncited"]


def test_a_good_item_has_no_finding_of_its_own() -> None:
    assert not [finding for finding in lint([gold("A"), unanswerable("U")]) if finding.qid]


@pytest.mark.parametrize(
    "item",
    [
        gold("A", ["red", "blue"], question="Which two colours are there?", match="all"),
        gold("A", ["red"], question="Which two colours are there?"),
        gold("A", ["red", "crimson"], question="Which colour is it?"),
        gold("A", ["yes"], question="Is it so?", gold_claim="It is so."),
    ],
)
def test_one_thing_and_a_gold_claim_need_no_remark(item: dict[str, Any]) -> None:
    assert not {finding.code for finding in lint([item])} & {"gold-several", "gold-yes-or-no"}


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


def test_what_lint_says_of_a_gate_is_what_a_perfect_run_says() -> None:
    """Both count the same questions: those of a gate on citations must have some."""
    golds = [gold(f"A{n}") for n in range(8)] + [gold(f"B{n}", cite=()) for n in range(5)]
    golds += [unanswerable(f"U{n}") for n in range(36)]
    perfect = [trace(f"A{n}") for n in range(8)] + [trace(f"B{n}", cite=()) for n in range(5)]
    perfect += [trace(f"U{n}", "not in context", cite=()) for n in range(36)]
    gates = ["recall@5=0.9", "over_refusal=0.02", "precision=0.99"]
    decision = evaluate(golds, perfect, gates=gates)
    assert decision.ships
    needed = {
        str(outcome.gate): outcome.more_best
        for outcome in decision.outcomes
        if outcome.state == "PASS-BUT-UNPROVEN" and outcome.more_best
    }
    said = [finding.says for finding in lint(golds, gates=gates) if finding.code == "gold-size"]
    assert {says.partition(" can't")[0]: int(says.split(" ")[-2]) for says in said} == needed
    assert len(needed) >= 5 and any("8 cited answerable items" in says for says in said)


# --- near-duplicates ---


def test_templated_questions_are_one_remark(cli: Callable[..., Ran], tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "gold.jsonl",
        [gold(f"T{n:02d}", question=f"What is the refund window of product number {n:02d}?") for n in range(40)],
    )
    ran = cli("gold", "lint", path)
    near = [line for line in ran.out.splitlines() if "gold-near-duplicate" in line]
    assert len(near) == 1 and "T01: is nearly the same question as T00" in near[0] and "and 30 more" in near[0]
    assert len(ran.out.splitlines()) < 10


def test_groups_of_duplicates_are_bounded_and_the_largest_come_first() -> None:
    words = ["apple", "bridge", "candle", "dragon", "engine", "forest", "guitar", "hammer"]
    items = [
        gold(f"{word}-{n}", question=f"{word} " * 9 + suffix)
        for place, word in enumerate(words)
        for n, suffix in enumerate("ab" if place else "abc")
    ]
    items += [gold(f"{word}-again", question=f"{word.upper()} " * 9 + "a") for word in words[:3]]
    found = lint(items)
    near = [finding for finding in found if finding.code == "gold-near-duplicate"]
    assert len(near) == 6 and near[0].qid == "apple-1" and "apple-0" in near[0].says and "apple-2" in near[0].says
    assert near[-1].says == "3 more groups of 6 questions are nearly the same." and not near[-1].qid
    same = {finding.qid: finding.says for finding in found if finding.code == "gold-duplicate"}
    assert list(same) == ["apple-again", "bridge-again", "candle-again"]
    assert all(says.startswith(f"is the same question as {qid.partition('-')[0]}-0") for qid, says in same.items())


def test_many_questions_are_compared_with_their_neighbours() -> None:
    items = [gold(f"N{n}", question=f"{n:04d} " * 3 + "ways to leave") for n in range(1501)]
    items.append(gold("M", question="0700 " * 3 + "ways to leave!"))
    found = [finding for finding in lint(items) if finding.code == "gold-near-duplicate"]
    assert any({"N700", "M"} <= {finding.qid, *finding.says.replace(":", "").split()} for finding in found)


# --- gold sets for retrieval ---


def block(n: int, **more: Any) -> dict[str, Any]:
    place = {"id": f"b{n}", "offsets": [n * 100, n * 100 + 80], "section_id": f"S.{n}"}
    item = {
        "qid": f"R{n:03d}",
        "question": f"{n * 7919:b} where is it",
        "paraphrases": [f"{n} one", f"{n} two", f"{n} three"],
        "relevant": [place],
        "anchor_section": f"S.{n}",
        "negatives": [f"x{n}"],
    }
    return {name: value for name, value in (item | more).items() if value is not None}


def codes(items: list[dict[str, Any]], **more: Any) -> set[str]:
    return {finding.code for finding in lint(items, **more)}


def test_a_retrieval_gold_set_is_not_asked_whether_it_is_answerable(cli: Callable[..., Ran], tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gold.jsonl", [block(n) for n in range(200)])
    ran = cli("gold", "lint", path)
    first, last = (line for line in ran.out.splitlines() if "near-duplicate" not in line)
    assert ran.code == 0 and "checked as a retrieval gold set" in first and first.startswith("info: ")
    assert "relevant, paraphrases, anchor_section, negatives" in first and "neither answerable" in first
    assert last.startswith("0 errors")
    shown = cli("gold", "lint", path, "--json").json
    assert shown[0]["code"] == "gold-retrieval" and shown[0]["severity"] == "info"


@pytest.mark.parametrize(("size", "told"), [(199, True), (200, False), (400, False), (401, True)])
def test_a_retrieval_gold_set_has_200_to_400_questions(size: int, told: bool) -> None:
    assert ("gold-size" in codes([block(n) for n in range(size)])) is told


def test_a_lone_note_of_what_was_checked_is_no_warning(cli: Callable[..., Ran], tmp_path: Path) -> None:
    questions = [f"{hashlib.sha256(str(n).encode()).hexdigest()}?" for n in range(200)]
    path = write_lines(tmp_path / "gold.jsonl", [block(n, question=text) for n, text in enumerate(questions)])
    ran = cli("gold", "lint", path, "--strict")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "0 errors, 0 warnings")


@pytest.mark.parametrize(
    ("lack", "code"),
    [
        ({"paraphrases": ["only", "two"]}, "gold-few-paraphrases"),
        ({"paraphrases": None}, "gold-few-paraphrases"),
        ({"negatives": None}, "gold-no-negatives"),
        ({"negatives": []}, "gold-no-negatives"),
        ({"relevant": ["b1"]}, "gold-no-offsets"),
        ({"relevant": [{"id": "b1"}]}, "gold-no-offsets"),
        ({"relevant": [{"id": "b1", "offsets": [5, 5]}]}, "gold-no-offsets"),
        ({"relevant": [{"id": "b1", "offsets": [0, 9]}, {"id": "b9"}]}, "gold-no-offsets"),
        ({"relevant": None}, "gold-no-relevant"),
        ({"anchor_section": None}, "gold-no-anchor"),
    ],
)
def test_what_a_retrieval_gold_set_lacks_is_one_remark_with_names(lack: dict[str, Any], code: str) -> None:
    whole = [block(n) for n in range(40)]
    assert code not in codes(whole)
    found = lint([*whole[:20], *(block(n, **lack) for n in range(20, 40))])
    (one,) = (finding for finding in found if finding.code == code)
    assert one.severity == "warning" and one.says.startswith("20 of 40 questions")
    assert "R020, R021" in one.says and "and 12 more" in one.says


def test_ids_of_a_retrieval_gold_set_must_be_in_the_chunk_file() -> None:
    found = lint([block(1), block(2)], chunks={"b1": "", "x1": "", "x2": ""})
    assert [(finding.qid, finding.says) for finding in found if finding.code == "gold-unknown-id"] == [
        ("R002", "'b2' is not in the chunk file.")
    ]


def test_gates_of_a_retrieval_gold_set_are_those_of_retrieval() -> None:
    golds = [block(n) for n in range(40)]
    said = [finding.says for finding in lint(golds, gates=["citation_accuracy=0.95", "coverage=0.7"])]
    wanted = "citation_accuracy >= 0.95 can't be proven with 40 questions: even a perfect run needs 59, 19 more."
    assert wanted in said and not any(says.startswith("coverage") for says in said)
    # A percentile is not proven by a count of hits.
    assert not any(finding.says.startswith("delta_s") for finding in lint(golds, gates=["delta_s_p90=0.55"]))
    with pytest.raises(UsageError, match="gate-unknown"):
        lint(golds, gates=["under_refusal=0.05"])


@pytest.mark.parametrize(
    "item",
    [
        gold("A", relevant=["b1"], paraphrases=["x"]),
        block(1, gold_claim_substr=["thirty days"]),
        block(1, answerable=True),
    ],
)
def test_one_item_that_is_about_answers_makes_it_a_set_for_answers(item: dict[str, Any]) -> None:
    found = lint([item, block(2)])
    assert "gold-retrieval" not in {finding.code for finding in found}
    assert ("gold-answerable", "R002") in {(finding.code, finding.qid) for finding in found}
