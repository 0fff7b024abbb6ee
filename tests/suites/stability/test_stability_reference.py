"""Stability: the reference profile, and what it would say beside the strict one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stability_helpers import JITTERS, SEEDS, grid, only, score

from conftest import EFFORT, VECTORS, gold, trace, unanswerable
from shipworthy.core.decision import report

CASES = json.loads((VECTORS / "stability.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_reference_profile_prints_what_the_original_script_printed(case: dict[str, Any]) -> None:
    gates = ",".join(f"{name}={value}" for name, value in case["gates"].items())
    found = report(score(case["gold"], case["runs"], profile="reference", gates=gates))
    for key in ("totals", "pass", "details", "gates"):
        assert found[key] == case["reference"][key], key


def test_the_reference_does_not_see_a_question_without_runs_and_takes_an_unknown_one_for_unanswerable() -> None:
    found = report(score([gold("a"), gold("b")], grid("a") + grid("z"), profile="reference"))
    assert sorted(found["details"]) == ["a", "z"]
    assert found["totals"] == {"answerable": 1, "unanswerable": 1, "fail": 0, "pass": 2}


def test_a_pipeline_that_always_answers_passes_the_reference_and_fails_here() -> None:
    items, runs = [unanswerable("u")], grid("u", "Surely blue.")
    assert score(items, runs, profile="reference").verdict == "SHIP"
    strict = score(items, runs)
    assert strict.verdict == "NO-SHIP"
    assert only(strict, "u")["rcr"] == 1 and only(strict, "u")["refusal_rate"] == 0
    assert strict.compat is not None and strict.compat["differs"] == ["pass", "fail"]


def test_no_run_at_all_never_ships_in_either_profile() -> None:
    for profile in ("strict", "reference"):
        assert score([gold("a")], [], profile=profile).exit_code == 3


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, 1),
        ({"0/ws": trace("a", echo=["B.", "A."])}, 1),  # another order
        ({"0/ws": trace("a", echo=["A.", "B.", "A."])}, 1),  # one of them twice
        ({"0/ws": trace("a", echo=["A."])}, 0),
        ({"0/ws": trace("a")}, 0),  # an absent echo is an empty one
        ({"0/ws": trace("a", "not in context", (), echo=["A.", "B."])}, 1),
        ({"0/ws": trace("a", "not in context", ())}, 0),  # a refusal has to echo as well
        ({"0/ws": trace("a", "not in context", (), echo=["a.", "b."])}, 0),
    ],
)
def test_the_reference_compares_constraints_as_sets_in_every_run(changed: dict[str, Any], kept: int) -> None:
    every = {f"{seed}/{jitter}": trace("a", echo=["A.", "B."]) for seed in SEEDS for jitter in JITTERS}
    decision = score([gold("a", constraints=["A.", "B."])], grid("a", **(every | changed)), profile="reference")
    assert only(decision, "a")["scu_cons"] == kept


def test_what_the_reference_has_from_the_gold_set_is_shown() -> None:
    found = report(score([gold("a")], grid("a"), profile="reference", gates="acr=0.5,rcr=0.7"))
    assert found["gates"] == {"acr": 0.5, "cghc": 0.95, "css": 0.7, "ned50": 0.2, "rcr": 0.7}
    assert "acr >= 0.5" in found["options"]["bars"] and "refusal_rate >= 0.7" in found["options"]["bars"]


# --- compat: what it would say beside the strict profile ---


CLAIMS = (
    "The right answer.",
    "the RIGHT answer",
    "-right answer-",
    "right  answer\t(3.14)",
    "rightanswer",
    "right-answer",
    "not in context",
    " Not in Context",
    "not in context.",
    "",
    " ",
    "blue",
    "straße right answer",
)
SUBSTRINGS = ("right answer", "right-answer", "answer", "context", "the right", "blue.", "3.14 ", "ue")
_traces = st.builds(
    lambda claim, cite, echo, failed: trace("a", claim, cite, echo=echo) | ({"error": "no"} if failed else {}),
    st.sampled_from(CLAIMS),
    st.lists(st.sampled_from(["d1", "d2", "d3"]), max_size=2),
    st.sampled_from([[], ["A."], ["A.", "B."], ["B.", "A."]]),
    st.sampled_from([False] * 9 + [True]),
)


@settings(max_examples=100 * EFFORT, deadline=None)
@given(
    st.lists(_traces, min_size=1, max_size=5),
    st.lists(st.sampled_from(SUBSTRINGS), max_size=2),
    st.lists(st.sampled_from(["d1", "d2"]), max_size=1),
    st.booleans(),
    st.sampled_from([[], ["A.", "B."]]),
)
def test_compat_says_what_the_profile_itself_says(
    traces: list[dict[str, Any]], substr: list[str], cite: list[str], answerable: bool, locked: list[str]
) -> None:
    item = gold("a", substr, cite, answerable=answerable, constraints=locked)
    runs = [{**row, "seed": number} for number, row in enumerate(traces)]
    strict, own = score([item], runs), report(score([item], runs, profile="reference"))
    assert strict.compat is not None and strict.compat["reference"] == own["totals"]
    names = ("acr", "cghc", "css", "ned50", "scu_cons") if answerable else ("rcr",)
    ours, theirs = only(strict, "a"), own["details"]["a"]
    rounded = {name: None if ours[name] is None else round(ours[name], 4) for name in names}
    assert strict.compat["questions"] == (["a"] if any(rounded[name] != theirs[name] for name in names) else [])
