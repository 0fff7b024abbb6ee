"""Stability: every hole in the grid is named, and sweeps and arms are not mixed."""

from __future__ import annotations

import pytest
from stability_helpers import grid, score

from conftest import gold, trace
from shipworthy.core.decision import report
from shipworthy.errors import DataError
from shipworthy.suites.stability.grid import Sweeps


def test_holes_are_named_and_leave_no_verdict() -> None:
    runs = [row for row in grid("a") + grid("b") if (row["qid"], row["seed"], row["jitter"]) != ("b", 2, "punct")]
    decision = score([gold("a"), gold("b")], runs)
    assert decision.exit_code == 3
    assert decision.reasons == ["1 run missing from the grid of seeds and rewordings: b#seed=2;j=punct"]
    assert decision.named["holes"] == ["b#seed=2;j=punct"]


def test_a_question_without_runs_is_incomplete_and_a_failing_bar_still_decides() -> None:
    lost = "1 of 2 questions could not be judged, because the run is missing or failed: b"
    found = score([gold("a"), gold("b")], grid("a"))
    assert found.reasons == [f"{lost}. Run them again, or allow them with --allow-missing 1"]
    assert found.named["missing"] == ["b"]
    failing = score([gold("a"), gold("b")], grid("a", "wrong"))
    assert failing.verdict == "NO-SHIP" and failing.named["missing"] == ["b"]


def test_the_grid_that_was_asked_for_must_be_there() -> None:
    decision = score([gold("a")], grid("a"), seeds=(0, 1, 2, 3), jitters=("none", "ws"))
    assert decision.reasons == ["2 runs missing from the grid of seeds and rewordings: a#seed=3;j=none, a#seed=3;j=ws"]
    assert decision.counts["runs"] == 6  # punct was not asked for


@pytest.mark.parametrize("number", [7, 3, -1, "7"])
def test_a_wording_outside_of_the_grid_fills_no_hole(number: int | str) -> None:
    item = gold("a", paraphrases=["One?", "Two?"])

    def runs(*wordings: int | str) -> list[dict[str, object]]:
        return [
            {**trace("a"), "seed": seed, "jitter": "none", "paraphrase": one} for seed in (0, 1) for one in wordings
        ]

    assert score([item], runs(0, 1, 2)).counts["holes"] == 0
    lacking = score([item], runs(0, 1, number))
    assert lacking.exit_code == 3 and lacking.counts["holes"] == 2
    assert lacking.named["holes"] == ["a#seed=0;j=none;p=2", "a#seed=1;j=none;p=2"]
    assert score([item], runs(0, 1, 2, number)).counts["holes"] == 0  # more than was asked for is no hole


def test_one_answer_is_not_enough_to_compare() -> None:
    decision = score([gold("a")], [{**trace("a"), "seed": 0, "jitter": "none"}])
    assert decision.exit_code == 3 and "ned50 can't be computed for 1 question" in decision.reasons[0]


def test_sweeps_are_not_mixed_unless_asked() -> None:
    old = [{**row, "sweep_id": "s1"} for row in grid("a", "wrong")]
    new = [{**row, "sweep_id": "s2"} for row in grid("a")]
    decision = score([gold("a")], old + new)
    assert decision.verdict == "SHIP" and decision.counts["runs"] == 9
    assert report(decision)["sweep"] == {"id": "s2", "left_out": {"s1": 9}}
    assert any("s1: 9 lines" in remark for remark in decision.warnings)
    assert score([gold("a")], old + new, sweep="s1").verdict == "NO-SHIP"
    mixed = score([gold("a")], old + new, sweep="all")
    assert mixed.counts["repeated"] == 9
    with pytest.raises(DataError, match="s1, s2"):
        score([gold("a")], old + new, sweep="s3")


def test_arms_are_not_mixed() -> None:
    runs = [{**row, "arm": "x"} for row in grid("a")] + [{**row, "arm": "y"} for row in grid("a", "wrong")]
    with pytest.raises(DataError, match="2 arms: x, y"):
        score([gold("a")], runs)
    assert score([gold("a")], runs, arm="x").verdict == "SHIP"
    with pytest.raises(DataError, match="arm-without-traces"):
        score([gold("a")], runs, arm="z")


def test_runs_of_unknown_questions_are_listed_or_refused() -> None:
    decision = score([gold("a")], grid("a") + grid("z"))
    assert decision.verdict == "SHIP" and decision.named["unknown_qids"] == ["z"]
    assert any("9 runs for questions that are not in the gold set: z" in remark for remark in decision.warnings)
    with pytest.raises(DataError, match="trace-unknown"):
        score([gold("a")], grid("z"), closed=True)


def test_a_repeated_place_of_the_grid_counts_once_the_last_time() -> None:
    runs = grid("a")
    decision = score([gold("a")], [{**runs[0], **trace("a", "wrong"), "q": "x"}, *runs])
    assert decision.verdict == "SHIP" and decision.counts["repeated"] == 1 and decision.counts["runs"] == 9


def test_runs_that_do_not_say_which_they_were_are_all_counted_and_must_be_as_many() -> None:
    runs = [trace("a"), trace("a"), trace("a"), trace("b"), trace("b")]
    decision = score([gold("a"), gold("b")], runs)
    assert decision.counts["runs"] == 5 and decision.named["holes"] == ["b#run=3"]


def test_paraphrases_are_an_axis_of_the_grid_and_lambda_is_gated() -> None:
    items = [gold("a", paraphrases=["One?", "Two?"])]
    runs = [{**trace("a"), "seed": 0, "jitter": "none", "paraphrase": number} for number in (0, 1)]
    decision = score(items, runs)
    assert decision.named["holes"] == ["a#seed=0;j=none;p=2"]
    whole = score(items, [*runs, {**runs[0], "paraphrase": 2}])
    assert whole.verdict == "SHIP"
    assert {outcome.gate.metric for outcome in whole.outcomes} >= {
        "lambda_convergent",
        "lambda_collapse",
        "lambda_split",
    }


def test_the_jitter_para_is_no_axis_of_its_own() -> None:
    runs = [{**trace("a"), "seed": seed, "jitter": "para", "paraphrase": seed + 1} for seed in (0, 1)]
    assert score([gold("a", paraphrases=["One?", "Two?"])], runs).verdict == "SHIP"


def test_twenty_runs_of_two_prompts_do_not_look_like_twenty() -> None:
    runs = [{**row, "q": "same" if row["jitter"] != "punct" else "same ?"} for row in grid("a")]
    decision = score([gold("a")], runs)
    assert report(decision)["prompts"] == {"runs": 9, "distinct_prompts": 2, "effective_runs": 6}
    assert any("3 of the 9 runs were duplicates" in hint for hint in decision.diagnosis)


def test_the_sweep_of_the_last_line_is_judged_whichever_part_saw_it() -> None:
    first, second = Sweeps(), Sweeps()
    for place, name in ((1, None), (4, "new")):
        first.add(place, name)
    for place, name in ((3, "new"), (5, "old"), (2, None)):
        second.add(place, name)
    first += second
    assert first.choose() == "old" and first.left_out("old") == {"": 2, "new": 2}
    assert first.choose("all") == "all" and first.left_out("all") == {}
    assert Sweeps().choose("old") == ""  # no line at all is said elsewhere


def test_what_other_sweeps_and_arms_have_does_not_shape_the_grid() -> None:
    own = [{**row, "sweep_id": "new", "arm": "x"} for row in grid("a")]
    other = {**trace("z"), "seed": 7, "jitter": "syn", "temperature": 0.5, "paraphrase": 2}
    strange = [{**other, "sweep_id": "old", "arm": "x"}, {**other, "sweep_id": "new", "arm": "y"}]
    strange += [{**row, "qid": "a"} for row in strange]
    decision = score([gold("a")], strange + own, arm="x")
    assert decision.verdict == "SHIP"
    assert (decision.counts["holes"], decision.counts["unknown_qid"]) == (0, 0)
    assert score([gold("a")], strange + own, arm="x", closed=True).verdict == "SHIP"


def test_holes_are_named_in_the_order_of_the_gold_set_and_of_the_grid() -> None:
    runs = grid("b") + grid("a")
    decision = score([gold("b"), gold("a")], runs, seeds=(10, 2))
    wanted = [f"{qid}#seed={seed};j={jitter}" for qid in "ba" for seed in (2, 10) for jitter in ("none", "punct", "ws")]
    expected = [name for name in wanted if "seed=10" in name]
    assert decision.named["holes"] == expected
    many = score([gold(f"q{n:02}") for n in range(30, 0, -1)], [r for n in range(1, 31) for r in grid(f"q{n:02}")][:-1])
    assert many.named["holes"] == ["q30#seed=2;j=punct"]
