"""Stability: bars of single questions, gates on the whole, and what is said about a decision."""

from __future__ import annotations

from fractions import Fraction

import pytest
from stability_helpers import JITTERS, SEEDS, grid, only, score

from conftest import gold, trace, unanswerable
from shipworthy.core.decision import report
from shipworthy.errors import UsageError


def test_a_steady_pipeline_ships_and_every_number_is_at_its_best() -> None:
    decision = score([gold("a"), unanswerable("u")], grid("a") + grid("u", "not in context"))
    assert decision.verdict == "SHIP"
    assert decision.compat is not None and decision.compat["agrees"]
    shown = only(decision, "a")
    for name in ("acr", "cghc", "css", "css_all", "jaccard", "iaa", "pass^1", "pass^5"):
        assert shown[name] == 1, name
    assert shown["ned50"] == 0 and shown["scu_cons"] is None and shown["flips"] == []
    assert report(decision)["totals"] == {"answerable": 1, "unanswerable": 1, "pass": 2, "fail": 0}


def test_a_jitter_that_breaks_questions_is_named_with_its_counts() -> None:
    flipped = {f"{seed}/punct": "not in context" for seed in SEEDS}
    runs = grid("a", **flipped) + grid("b", **flipped) + grid("c")
    decision = score([gold("a"), gold("b"), gold("c")], runs)
    assert decision.verdict == "NO-SHIP"
    assert "The rewording punct changes 2 of 3 questions (6 of 9 runs)." in decision.diagnosis
    worst = report(decision)["sensitivity"]["jitter"][0]
    assert (worst["jitter"], worst["runs"], worst["flips"], worst["questions_flipped"]) == ("punct", 9, 6, 2)
    assert worst["interval95"][0] < worst["rate"] < worst["interval95"][1]
    assert {row["flips"] for row in report(decision)["sensitivity"]["seed"]} == {2}
    flips = only(decision, "a")["flips"]
    assert flips[0] == {"run": "seed=0;j=punct", "differs": ["status", "containment", "citation"]}
    assert (
        "questions that miss each threshold: answer correctness rate (acr) 2, citation hit consistency (cghc) 2"
        in decision.reasons
    )


@pytest.mark.parametrize(
    ("gates", "left"),
    [
        (["mean_acr >= 0.5"], ["mean_acr >= 0.5"]),
        (["acr >= 0.5"], ["failing <= 0", "acr_failing <= 0"]),
        (["acr >= 0.5", "mean_iaa >= 0.1"], ["failing <= 0", "acr_failing <= 0", "mean_iaa >= 0.1"]),
    ],
)
def test_only_gates_leaves_the_named_ones_alone(gates: list[str], left: list[str]) -> None:
    items = [gold("a", paraphrases=["Other?"])]
    decision = score(items, grid("a", cite=("d2",)), gates=gates, only_gates=True)
    assert [str(outcome.gate) for outcome in decision.outcomes] == left
    assert decision.verdict == "SHIP"  # it cites the wrong block every time, and nobody asked


def test_slices_of_questions_are_measured_and_gated() -> None:
    items = [gold("a", type="table"), gold("b", type="prose")]
    runs = grid("a", "wrong") + grid("b")
    decision = score(items, runs, by=["type"], gates=["mean_acr[type=table] >= 0.5"], max_fail_rate=1)
    assert decision.slices["type=table"]["mean_acr"].value == 0 and decision.slices["type=prose"]["mean_acr"].value == 1
    assert "mean_acr[type=table] 0.000 < 0.5" in decision.reasons[0]


def test_a_run_without_a_jitter_was_sent_as_it_is() -> None:
    plain = [
        {key: value for key, value in row.items() if key != "jitter"} for row in grid("a") if row["jitter"] == "none"
    ]
    named = score([gold("a")], plain, seeds=SEEDS, jitters=["none"])
    assert (named.verdict, named.counts["holes"], named.counts["runs"]) == ("SHIP", 0, len(SEEDS))
    mixed = plain + [row for row in grid("b") if row["jitter"] == "none"]
    for options in ({}, {"jitters": ["none"]}):
        both = score([gold("a"), gold("b")], mixed, **options)
        assert (both.verdict, both.counts["holes"], both.counts["runs"]) == ("SHIP", 0, 2 * len(SEEDS))
    other = score([gold("a")], [*plain, *(row for row in grid("a") if row["jitter"] == "ws")], jitters=["ws"])
    assert other.counts["runs"] == len(SEEDS)  # one that was sent as it is was not sent as `ws`
    for rows in (mixed[1:], mixed[:-1]):
        assert score([gold("a"), gold("b")], rows).counts["holes"] == 1


def test_an_unanswerable_question_has_no_claim_to_differ_in() -> None:
    decision = score([unanswerable("u")], grid("u", "not in context", **{"0/ws": "blue"}))
    assert only(decision, "u")["flips"] == [{"run": "seed=0;j=ws", "differs": ["status"]}]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match=r"can't be 'original'.*one of strict, reference"):
        score([gold("a")], grid("a"), profile="original")


def test_max_fail_rate_lets_some_questions_fail() -> None:
    items, runs = [gold(name) for name in "abcd"], grid("a", "wrong") + grid("b") + grid("c") + grid("d")
    assert score(items, runs).verdict == "NO-SHIP"
    assert score(items, runs, max_fail_rate="0.25").verdict == "SHIP"
    assert score(items, runs, max_fail_rate=0.24).verdict == "NO-SHIP"
    for bad in ("-0.1", "1.5", "many", "1/0", "1e999999999", float("nan")):
        with pytest.raises(UsageError, match=r"max.fail.rate.* can't be"):
            score(items, runs, max_fail_rate=bad)


def test_bars_keep_their_default_unless_named_and_only_gates_drops_them() -> None:
    items, runs = [gold("a")], grid("a", **{"0/ws": "wrong"})  # acr 8/9
    assert score(items, runs).verdict == "NO-SHIP"
    assert score(items, runs, gates="acr=0.88").verdict == "SHIP"
    assert score(items, runs, gates="cghc=0.9", only_gates=True).verdict == "SHIP"
    assert score(items, runs, gates="acr=0.88,mean_iaa=0.9").verdict == "NO-SHIP"
    for wrong in ("acr<=0.5", "ned50>=0.2", "acr=95", "arc=0.9", "acr>=baseline-0.1"):
        with pytest.raises(UsageError):
            score(items, runs, gates=wrong)


def test_a_bar_is_compared_exactly() -> None:
    items, runs = [gold("a")], grid("a", **{"0/ws": "wrong"})
    exactly = Fraction(8, 9)
    assert score(items, runs, gates=f"acr={float(exactly) - 1e-12:.15f}").verdict == "SHIP"
    assert score(items, runs, gates=f"acr={float(exactly) + 1e-12:.15f}").verdict == "NO-SHIP"


def test_rcr_sets_the_bar_of_refusal_rate_and_says_so() -> None:
    decision = score([unanswerable("u")], grid("u", "not in context", **{"0/ws": "blue"}), gates="rcr=0.80")
    assert decision.verdict == "SHIP"
    assert any("gate-rcr" in remark for remark in decision.warnings)


def test_constraints_count_where_there_are_any() -> None:
    items = [gold("a", constraints=["Keep keys sorted."])]
    kept = trace("a", echo=["Keep keys sorted."])
    lost = trace("a", echo=[])
    good = grid("a", **{f"{seed}/{name}": kept for seed in SEEDS for name in JITTERS})
    assert score(items, good).verdict == "SHIP"
    bad = score(items, [*good[:-1], {**good[-1], **lost, "q": "x"}])
    assert bad.verdict == "NO-SHIP" and only(bad, "a")["scu_cons"] == 0
    assert any("Constraints are lost" in hint for hint in bad.diagnosis)


def test_a_failed_run_is_a_run_and_it_failed() -> None:
    runs = grid("a", **{"1/ws": {"error": "timeout: no answer"}})
    decision = score([gold("a")], runs)
    assert decision.verdict == "NO-SHIP" and decision.counts["runs_error"] == 1 and decision.counts["holes"] == 0
    assert only(decision, "a")["acr"] == pytest.approx(8 / 9)


def test_questions_wrong_in_every_run_are_told_apart_from_unstable_ones() -> None:
    decision = score([gold("a")], grid("a", "Steadily wrong."))
    assert any("not instability" in hint for hint in decision.diagnosis)


def test_wording_only_is_diagnosed_as_such() -> None:
    runs = grid(
        "a",
        **{
            f"{seed}/{name}": f"The right answer {'x' * (3 + 7 * number)}"
            for number, (seed, name) in enumerate((s, j) for s in SEEDS for j in JITTERS)
        },
    )
    decision = score([gold("a")], runs)
    assert [hint for hint in decision.diagnosis if "wording only" in hint]
    assert decision.offenders[0]["reason"] == "ned50"


def test_a_card_shows_the_answers_that_differ_side_by_side() -> None:
    other = {"1/ws": "Something else.", "2/none": "not in context", "2/ws": trace("q1", error="timeout")}
    decision = score([gold("q1")], grid("q1", "The right answer!", **other))
    (card,) = decision.offenders
    common, *others = str(card["claim"]).split(" | ")
    assert common == "6 of 9 runs (seed=0;j=none): The right answer!"
    assert others[0].startswith("1 of 9 runs") and len(others) == 3 and others[-1] == "1 more"


@pytest.mark.parametrize(("cite", "blamed"), [("d1", False), ("d9", True)])
def test_retrieval_is_not_blamed_where_every_run_cites_the_same(cite: str, blamed: bool) -> None:
    wrong = trace("q1", "Something else.", (cite,))
    decision = score([gold("q1")], grid("q1", **{f"{seed}/ws": wrong for seed in range(3)}))
    told = " ".join(decision.diagnosis)
    assert ("retrieval is unstable" in told) == blamed and ("the model differs, not" in told) != blamed
