"""The plan: its order, its run ids, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from shipworthy.cli.run import command
from shipworthy.errors import DataError, UsageError
from shipworthy.runner import Arm, make_plan, read_arms
from shipworthy.runner.plan import gold_digest, run_id_of


def item(qid: str, question: str = "Explain it?", paraphrases: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(qid=qid, question=question, paraphrases=paraphrases)


def ids(plan: Any) -> list[str]:
    return [ask.run_id for ask in plan]


def test_fixed_order_and_run_ids() -> None:
    plan = make_plan([item("A"), item("B")], seeds=(2, 0), jitters=("none", "punct"))
    assert ids(plan) == [
        "A#seed=2;j=none",
        "A#seed=2;j=punct",
        "A#seed=0;j=none",
        "A#seed=0;j=punct",
        "B#seed=2;j=none",
        "B#seed=2;j=punct",
        "B#seed=0;j=none",
        "B#seed=0;j=punct",
    ]
    assert len(plan) == 8
    assert ids(plan) == ids(plan)


def test_run_ids_are_extended_only_where_things_vary() -> None:
    one = make_plan([item("A")], arms=[Arm("fast", {"k": 3})])
    assert ids(one) == ["A#seed=0;j=none"]
    assert next(iter(one)).knobs == {"k": 3}
    both = make_plan([item("A", paraphrases=("Say it?",))], paraphrases=True, arms={"fast": {"k": 3}, "slow": {"k": 9}})
    assert ids(both) == [
        "A#seed=0;j=none;arm=fast",
        "A#seed=0;j=none;arm=slow",
        "A#seed=0;j=none;p=1;arm=fast",
        "A#seed=0;j=none;p=1;arm=slow",
    ]
    assert [ask.question for ask in both] == ["Explain it?", "Explain it?", "Say it?", "Say it?"]


def test_strange_qids_can_not_be_confused() -> None:
    names = ["a#b", "a;b", "a%23b", "a\nb", "日本", "\ud800", "a#seed=0;j=none"]
    made = {run_id_of(name, 0, "none") for name in names}
    assert len(made) == len(names)
    assert all(run_id.count("#") == 1 and run_id.isprintable() for run_id in made)
    assert run_id_of("日本", 0, "none") == "日本#seed=0;j=none"


def test_para_rotates_with_the_seeds_and_leaves_no_hole() -> None:
    plan = make_plan([item("A", paraphrases=("x?", "y?")), item("B")], seeds=(5, 6, 7), jitters=("para",))
    assert [(ask.question, ask.paraphrase) for ask in plan][:3] == [("x?", 1), ("y?", 2), ("x?", 1)]
    assert [ask.question for ask in plan][3:] == ["Explain it?"] * 3
    assert len(set(ids(plan))) == len(plan) == 6


def test_distinct_prompts_are_counted() -> None:
    plan = make_plan([item("A", "Explain it?")], seeds=range(5), jitters=("none", "ws", "punct", "syn"))
    assert (len(plan), plan.distinct_prompts()) == (20, 3)


def test_questions_may_be_absent_where_paraphrases_are_given() -> None:
    assert [ask.question for ask in make_plan([item("A", "", ("x?", "y?"))])] == ["x?"]
    assert [ask.question for ask in make_plan([item("A", "", ("x?", "y?"))], paraphrases=True)] == ["x?", "y?"]


@pytest.mark.parametrize(
    ("gold", "further", "code"),
    [
        ([], {}, "gold-empty"),
        ([item("A"), item("A")], {}, "gold-repeated"),
        ([item("A", "  ")], {}, "gold-no-question"),
    ],
)
def test_gold_that_can_not_be_asked(gold: list[Any], further: dict[str, Any], code: str) -> None:
    with pytest.raises(DataError, match=code):
        make_plan(gold, **further)


@pytest.mark.parametrize(
    "grid",
    [
        {"seeds": ()},
        {"seeds": (1, 1)},
        {"jitters": ("none", "none")},
        {"jitters": ("what",)},
        {"paraphrases": True, "jitters": ("para",)},
        {"arms": [Arm("a", {}), Arm("a", {})]},
    ],
)
def test_grids_that_make_no_sense(grid: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make_plan([item("A")], **grid)


def test_the_gold_digest_follows_what_is_asked() -> None:
    assert gold_digest([item("A")]) == gold_digest([item("A")])
    assert (
        len({gold_digest(gold) for gold in ([item("A")], [item("B")], [item("A", "x")], [item("A"), item("B")])}) == 4
    )


def test_arms_file(tmp_path: Path) -> None:
    path = tmp_path / "arms.toml"
    path.write_text("[arms.fast]\nk_lex = 5\n[arms.deep]\nrerank_depth = 40\n", "utf-8")
    assert read_arms(path) == (Arm("fast", {"k_lex": 5}), Arm("deep", {"rerank_depth": 40}))
    for bad in ("", "arms = 3", "[arms]\nfast = 1", "[broken"):
        path.write_text(bad, "utf-8")
        with pytest.raises(UsageError, match=r"arms\.toml"):
            read_arms(path)
    with pytest.raises(UsageError, match="arms-file"):
        read_arms(tmp_path / "absent.toml")


def test_dry_run_prints_the_plan_and_asks_nothing(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        json.dumps(
            {
                "qid": "A",
                "question": "Explain it?",
                "answerable": True,
                "gold_claim_substr": ["x"],
                "gold_citations": ["d1"],
            }
        )
        + "\n",
        "utf-8",
    )
    arguments = [
        "--gold",
        str(gold),
        "--target",
        "http://127.0.0.1:9/never",
        "--seeds",
        "0-1",
        "--jitters",
        "none,punct",
    ]
    result = CliRunner().invoke(command, [*arguments, "--dry-run"])
    assert result.exit_code == 0, result.output
    lines = [msgspec.json.decode(line) for line in result.output.splitlines()]
    assert [line["run_id"] for line in lines] == [
        "A#seed=0;j=none",
        "A#seed=0;j=punct",
        "A#seed=1;j=none",
        "A#seed=1;j=punct",
    ]
    assert lines[1]["question"] == "Explain it ?"
    assert set(lines[0]) == {"qid", "run_id", "seed", "jitter", "paraphrase", "arm", "question"}
