"""Retrieval: do the runs of a question arrive at the same place?"""

from __future__ import annotations

from typing import Any

import pytest
from retrieval_helpers import line, question, score, value

from shipworthy.suites.retrieval.places import StatedRun, converged, derive


def run(seed: str = "0", paraphrase: str = "0", **more: Any) -> StatedRun:
    known = {"logged": None, "failed": False, "refused": False, "arrived": True, "section": ((("", 4)),)}
    return StatedRun(seed, paraphrase, **known | more)


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
    assert any("too small to say whether they converge" in reason for reason in short.reasons)
    split = score(
        gold, [*runs[:2], line(paraphrase=2, seed=0, λ="×")], only_gates=True, gates="lambda_convergent>=0.95"
    )
    assert split.verdict == "NO-SHIP"


def test_a_seed_that_was_run_for_some_questions_only_is_a_hole() -> None:
    runs = [line("q1", seed=0), line("q1", seed=1), line("q2", seed=0)]
    found = score([question("q1"), question("q2")], runs, only_gates=True, gates="lambda_convergent>=0.95")
    assert found.verdict == "NO VERDICT" and "1 of 4 groups" in found.reasons[0]


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
