"""Stability: what seeds and rewordings change, measured exactly, with every hole in the grid named."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import VECTORS, gold, trace, unanswerable, write_lines
from shipworthy.cases import Case
from shipworthy.contracts import Trace, load_gold
from shipworthy.decision import Decision, report
from shipworthy.errors import DataError, UsageError
from shipworthy.jsonl import BadLines
from shipworthy.scoring.stability import evaluate_stability
from shipworthy.suites import stability
from shipworthy.tally import Tally
from shipworthy.text import canon

CASES = json.loads((VECTORS / "stability.json").read_text("utf-8"))
SEEDS, JITTERS = (0, 1, 2), ("none", "ws", "punct")


def grid(
    qid: str, claim: str = "The right answer.", cite: tuple[str, ...] = ("d1",), **changed: Any
) -> list[dict[str, Any]]:
    """All runs of a question; `changed` maps "seed/jitter" to another claim, or to a whole trace."""
    rows = []
    for seed in SEEDS:
        for jitter in JITTERS:
            other = changed.get(f"{seed}/{jitter}", claim)
            row = other if isinstance(other, dict) else trace(qid, other, () if other == "not in context" else cite)
            rows.append({**row, "qid": qid, "seed": seed, "jitter": jitter, "q": f"{jitter} {qid}"})
    return rows


def only(decision: Decision, qid: str) -> dict[str, Any]:
    return report(decision)["details"][qid]


# --- the reference profile ---


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_reference_profile_prints_what_the_original_script_printed(case: dict[str, Any]) -> None:
    gates = ",".join(f"{name}={value}" for name, value in case["gates"].items())
    found = report(evaluate_stability(case["gold"], case["runs"], profile="reference", gates=gates))
    for key in ("totals", "pass", "details", "gates"):
        assert found[key] == case["reference"][key], key


def test_the_reference_does_not_see_a_question_without_runs_and_takes_an_unknown_one_for_unanswerable() -> None:
    found = report(evaluate_stability([gold("a"), gold("b")], grid("a") + grid("z"), profile="reference"))
    assert sorted(found["details"]) == ["a", "z"]
    assert found["totals"] == {"answerable": 1, "unanswerable": 1, "fail": 0, "pass": 2}


def test_a_pipeline_that_always_answers_passes_the_reference_and_fails_here() -> None:
    items, runs = [unanswerable("u")], grid("u", "Surely blue.")
    assert evaluate_stability(items, runs, profile="reference").verdict == "SHIP"
    strict = evaluate_stability(items, runs)
    assert strict.verdict == "NO-SHIP"
    assert only(strict, "u")["rcr"] == 1 and only(strict, "u")["refusal_rate"] == 0
    assert strict.compat is not None and strict.compat["differs"] == ["pass", "fail"]


def test_no_run_at_all_never_ships_in_either_profile() -> None:
    for profile in ("strict", "reference"):
        assert evaluate_stability([gold("a")], [], profile=profile).exit_code == 3


# --- decisions ---


def test_a_steady_pipeline_ships_and_every_number_is_at_its_best() -> None:
    decision = evaluate_stability([gold("a"), unanswerable("u")], grid("a") + grid("u", "not in context"))
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
    decision = evaluate_stability([gold("a"), gold("b"), gold("c")], runs)
    assert decision.verdict == "NO-SHIP"
    assert "The jitter punct breaks 2 of 3 questions (6 of 9 runs)." in decision.diagnosis
    worst = report(decision)["sensitivity"]["jitter"][0]
    assert (worst["jitter"], worst["runs"], worst["flips"], worst["questions_flipped"]) == ("punct", 9, 6, 2)
    assert worst["interval95"][0] < worst["rate"] < worst["interval95"][1]
    assert {row["flips"] for row in report(decision)["sensitivity"]["seed"]} == {2}
    flips = only(decision, "a")["flips"]
    assert flips[0] == {"run": "seed=0;j=punct", "differs": ["status", "containment", "citation"]}
    assert "2 of 3 questions miss a bar: acr in 2, cghc in 2" in decision.reasons


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
    decision = evaluate_stability(items, grid("a", cite=("d2",)), gates=gates, only_gates=True)
    assert [str(outcome.gate) for outcome in decision.outcomes] == left
    assert decision.verdict == "SHIP"  # it cites the wrong block every time, and nobody asked


def test_slices_of_questions_are_measured_and_gated() -> None:
    items = [gold("a", type="table"), gold("b", type="prose")]
    runs = grid("a", "wrong") + grid("b")
    decision = evaluate_stability(items, runs, by=["type"], gates=["mean_acr[type=table] >= 0.5"], max_fail_rate=1)
    assert decision.slices["type=table"]["mean_acr"].value == 0 and decision.slices["type=prose"]["mean_acr"].value == 1
    assert decision.reasons[0].startswith("mean_acr[type=table] 0.000 is below 0.5")


def test_a_run_without_a_jitter_was_sent_as_it_is() -> None:
    plain = [
        {key: value for key, value in row.items() if key != "jitter"} for row in grid("a") if row["jitter"] == "none"
    ]
    assert evaluate_stability([gold("a")], plain, seeds=SEEDS, jitters=["none"]).counts["holes"] == 0
    mixed = plain + [row for row in grid("b") if row["jitter"] == "none"]
    assert evaluate_stability([gold("a"), gold("b")], mixed).counts["holes"] == 0


def test_an_unanswerable_question_has_no_claim_to_differ_in() -> None:
    decision = evaluate_stability([unanswerable("u")], grid("u", "not in context", **{"0/ws": "blue"}))
    assert only(decision, "u")["flips"] == [{"run": "seed=0;j=ws", "differs": ["status"]}]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no profile 'original'"):
        evaluate_stability([gold("a")], grid("a"), profile="original")


def test_max_fail_rate_lets_some_questions_fail() -> None:
    items, runs = [gold(name) for name in "abcd"], grid("a", "wrong") + grid("b") + grid("c") + grid("d")
    assert evaluate_stability(items, runs).verdict == "NO-SHIP"
    assert evaluate_stability(items, runs, max_fail_rate="0.25").verdict == "SHIP"
    assert evaluate_stability(items, runs, max_fail_rate=0.24).verdict == "NO-SHIP"
    for bad in ("-0.1", "1.5", "many", "1/0", "1e999999999", float("nan")):
        with pytest.raises(UsageError, match="max_fail_rate can't be"):
            evaluate_stability(items, runs, max_fail_rate=bad)


def test_bars_keep_their_default_unless_named_and_only_gates_drops_them() -> None:
    items, runs = [gold("a")], grid("a", **{"0/ws": "wrong"})  # acr 8/9
    assert evaluate_stability(items, runs).verdict == "NO-SHIP"
    assert evaluate_stability(items, runs, gates="acr=0.88").verdict == "SHIP"
    assert evaluate_stability(items, runs, gates="cghc=0.9", only_gates=True).verdict == "SHIP"
    assert evaluate_stability(items, runs, gates="acr=0.88,mean_iaa=0.9").verdict == "NO-SHIP"
    for wrong in ("acr<=0.5", "ned50>=0.2", "acr=95", "arc=0.9", "acr>=baseline-0.1"):
        with pytest.raises(UsageError):
            evaluate_stability(items, runs, gates=wrong)


def test_a_bar_is_compared_exactly() -> None:
    items, runs = [gold("a")], grid("a", **{"0/ws": "wrong"})
    exactly = Fraction(8, 9)
    assert evaluate_stability(items, runs, gates=f"acr={float(exactly) - 1e-12:.15f}").verdict == "SHIP"
    assert evaluate_stability(items, runs, gates=f"acr={float(exactly) + 1e-12:.15f}").verdict == "NO-SHIP"


def test_rcr_sets_the_bar_of_refusal_rate_and_says_so() -> None:
    decision = evaluate_stability(
        [unanswerable("u")], grid("u", "not in context", **{"0/ws": "blue"}), gates="rcr=0.80"
    )
    assert decision.verdict == "SHIP"
    assert any("gate-rcr" in remark for remark in decision.warnings)


def test_constraints_count_where_there_are_any() -> None:
    items = [gold("a", constraints=["Keep keys sorted."])]
    kept = trace("a", echo=["Keep keys sorted."])
    lost = trace("a", echo=[])
    good = grid("a", **{f"{seed}/{name}": kept for seed in SEEDS for name in JITTERS})
    assert evaluate_stability(items, good).verdict == "SHIP"
    bad = evaluate_stability(items, [*good[:-1], {**good[-1], **lost, "q": "x"}])
    assert bad.verdict == "NO-SHIP" and only(bad, "a")["scu_cons"] == 0
    assert any("re-injected" in hint for hint in bad.diagnosis)


def test_a_failed_run_is_a_run_and_it_failed() -> None:
    runs = grid("a", **{"1/ws": {"error": "timeout: no answer"}})
    decision = evaluate_stability([gold("a")], runs)
    assert decision.verdict == "NO-SHIP" and decision.counts["runs_error"] == 1 and decision.counts["holes"] == 0
    assert only(decision, "a")["acr"] == pytest.approx(8 / 9)


def test_questions_wrong_in_every_run_are_told_apart_from_unstable_ones() -> None:
    decision = evaluate_stability([gold("a")], grid("a", "Steadily wrong."))
    assert any("not instability" in hint for hint in decision.diagnosis)


def test_wording_only_is_diagnosed_as_such() -> None:
    runs = grid("a", **{f"{seed}/{name}": f"The right answer {'x' * (3 + 7 * number)}"
                        for number, (seed, name) in enumerate((s, j) for s in SEEDS for j in JITTERS)})  # fmt: skip
    decision = evaluate_stability([gold("a")], runs)
    assert [hint for hint in decision.diagnosis if "wording only" in hint]
    assert decision.offenders[0]["reason"] == "ned50"


# --- grids, sweeps, arms ---


def test_holes_are_named_and_leave_no_verdict() -> None:
    runs = [row for row in grid("a") + grid("b") if (row["qid"], row["seed"], row["jitter"]) != ("b", 2, "punct")]
    decision = evaluate_stability([gold("a"), gold("b")], runs)
    assert decision.exit_code == 3
    assert decision.reasons == ["the grid has 1 hole: b#seed=2;j=punct"]
    assert decision.named["holes"] == ["b#seed=2;j=punct"]


def test_a_question_without_runs_is_incomplete_and_a_failing_bar_still_decides() -> None:
    assert evaluate_stability([gold("a"), gold("b")], grid("a")).reasons == ["1 question without any run: b"]
    failing = evaluate_stability([gold("a"), gold("b")], grid("a", "wrong"))
    assert failing.verdict == "NO-SHIP" and failing.named["missing"] == ["b"]


def test_the_grid_that_was_asked_for_must_be_there() -> None:
    decision = evaluate_stability([gold("a")], grid("a"), seeds=(0, 1, 2, 3), jitters=("none", "ws"))
    assert decision.reasons == ["the grid has 2 holes: a#seed=3;j=none, a#seed=3;j=ws"]
    assert decision.counts["runs"] == 6  # punct was not asked for


def test_one_answer_is_not_enough_to_compare() -> None:
    decision = evaluate_stability([gold("a")], [{**trace("a"), "seed": 0, "jitter": "none"}])
    assert decision.exit_code == 3 and "ned50 undefined for 1 question" in decision.reasons[0]


def test_sweeps_are_not_mixed_unless_asked() -> None:
    old = [{**row, "sweep_id": "s1"} for row in grid("a", "wrong")]
    new = [{**row, "sweep_id": "s2"} for row in grid("a")]
    decision = evaluate_stability([gold("a")], old + new)
    assert decision.verdict == "SHIP" and decision.counts["runs"] == 9
    assert report(decision)["sweep"] == {"id": "s2", "left_out": {"s1": 9}}
    assert any("s1: 9 lines" in remark for remark in decision.warnings)
    assert evaluate_stability([gold("a")], old + new, sweep="s1").verdict == "NO-SHIP"
    mixed = evaluate_stability([gold("a")], old + new, sweep="all")
    assert mixed.counts["repeated"] == 9
    with pytest.raises(DataError, match="s1, s2"):
        evaluate_stability([gold("a")], old + new, sweep="s3")


def test_arms_are_not_mixed() -> None:
    runs = [{**row, "arm": "x"} for row in grid("a")] + [{**row, "arm": "y"} for row in grid("a", "wrong")]
    with pytest.raises(DataError, match="2 arms: x, y"):
        evaluate_stability([gold("a")], runs)
    assert evaluate_stability([gold("a")], runs, arm="x").verdict == "SHIP"
    with pytest.raises(DataError, match="arm-without-traces"):
        evaluate_stability([gold("a")], runs, arm="z")


def test_runs_of_unknown_questions_are_listed_or_refused() -> None:
    decision = evaluate_stability([gold("a")], grid("a") + grid("z"))
    assert decision.verdict == "SHIP" and decision.named["unknown_qids"] == ["z"]
    assert any("9 runs for questions that the gold set does not have: z" in remark for remark in decision.warnings)
    with pytest.raises(DataError, match="trace-unknown"):
        evaluate_stability([gold("a")], grid("z"), closed=True)


def test_a_repeated_place_of_the_grid_counts_once_the_last_time() -> None:
    runs = grid("a")
    decision = evaluate_stability([gold("a")], [{**runs[0], **trace("a", "wrong"), "q": "x"}, *runs])
    assert decision.verdict == "SHIP" and decision.counts["repeated"] == 1 and decision.counts["runs"] == 9


def test_runs_that_do_not_say_which_they_were_are_all_counted_and_must_be_as_many() -> None:
    runs = [trace("a"), trace("a"), trace("a"), trace("b"), trace("b")]
    decision = evaluate_stability([gold("a"), gold("b")], runs)
    assert decision.counts["runs"] == 5 and decision.named["holes"] == ["b#run=3"]


def test_paraphrases_are_an_axis_of_the_grid_and_lambda_is_gated() -> None:
    items = [gold("a", paraphrases=["One?", "Two?"])]
    runs = [{**trace("a"), "seed": 0, "jitter": "none", "paraphrase": number} for number in (0, 1)]
    decision = evaluate_stability(items, runs)
    assert decision.named["holes"] == ["a#seed=0;j=none;p=2"]
    whole = evaluate_stability(items, [*runs, {**runs[0], "paraphrase": 2}])
    assert whole.verdict == "SHIP"
    assert {outcome.gate.metric for outcome in whole.outcomes} >= {
        "lambda_convergent",
        "lambda_collapse",
        "lambda_split",
    }


def test_the_jitter_para_is_no_axis_of_its_own() -> None:
    runs = [{**trace("a"), "seed": seed, "jitter": "para", "paraphrase": seed + 1} for seed in (0, 1)]
    assert evaluate_stability([gold("a", paraphrases=["One?", "Two?"])], runs).verdict == "SHIP"


def test_twenty_runs_of_two_prompts_do_not_look_like_twenty() -> None:
    runs = [{**row, "q": "same" if row["jitter"] != "punct" else "same ?"} for row in grid("a")]
    decision = evaluate_stability([gold("a")], runs)
    assert report(decision)["prompts"] == {"runs": 9, "distinct_prompts": 2, "effective_runs": 6}
    assert any("9 runs are 6 different ones" in hint for hint in decision.diagnosis)


# --- λ ---


def states(items: list[dict[str, Any]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    return report(evaluate_stability(items, runs))["lambda"]


def test_lambda_is_derived_where_the_log_does_not_carry_it() -> None:
    mixed = grid("a", **{"0/none": trace("a", cite=("d2",)), "0/ws": "not in context"})
    assert states([gold("a")], mixed) == {
        "distribution": {"convergent": 7, "backward": 1, "split": 1, "collapse": 0}, "read": 0, "derived": 9,
    }  # fmt: skip
    assert states([gold("a")], grid("a", cite=("d2",)))["distribution"]["collapse"] == 9
    leaks = grid("u", "not in context", **{"0/ws": "blue"})
    assert states([unanswerable("u")], leaks)["distribution"] == {
        "convergent": 8,
        "backward": 0,
        "split": 1,
        "collapse": 0,
    }
    assert states([unanswerable("u")], grid("u", "blue"))["distribution"]["collapse"] == 9


def test_lambda_is_read_under_its_other_names() -> None:
    runs = [{**row, "λ_observe": "collapse"} for row in grid("a")]
    decision = evaluate_stability([gold("a", paraphrases=["Other?"])], runs)
    assert report(decision)["lambda"]["read"] == 9
    assert decision.verdict == "NO-SHIP" and any("lambda_collapse 9 is above 0" in why for why in decision.reasons)


def test_an_anchor_section_named_by_the_citation_converges() -> None:
    cited = {"answer_json": {"claim": "The right answer.", "citations": [{"id": "d2", "section_id": "4.2"}]}}
    item = gold("a", anchor_section="4.2")
    assert states([item], [{**row, **cited} for row in grid("a")])["distribution"]["convergent"] == 9


@pytest.mark.parametrize(
    ("cited", "arrives"), [("S.4.2.p.Bk011", True), ("S.4.2.1.p.Bk011", True), ("S.4.20.p.Bk011", False), ("d2", False)]
)
def test_an_id_that_tells_its_section_converges_on_the_anchor(cited: str, arrives: bool) -> None:
    found = states([gold("a", anchor_section="S.4.2")], grid("a", cite=(cited,)))["distribution"]
    assert found == {"convergent": 9 * arrives, "backward": 0, "split": 0, "collapse": 9 * (not arrives)}


def test_a_failed_run_points_backwards_on_any_question() -> None:
    failed = {**trace("u"), "answer_json": None, "error": "timeout"}
    found = states([unanswerable("u")], grid("u", "not in context", **{"0/ws": failed}))["distribution"]
    assert found == {"convergent": 8, "backward": 1, "split": 0, "collapse": 0}


def test_states_of_the_log_stand_beside_derived_ones() -> None:
    first, *rest = grid("a")
    found = states([gold("a")], [{**first, "lambda_state": "×"}, *rest])
    assert found == {
        "distribution": {"convergent": 8, "backward": 0, "split": 0, "collapse": 1}, "read": 1, "derived": 8,
    }  # fmt: skip


def test_the_certainty_of_a_lambda_share_comes_from_questions_and_not_from_runs() -> None:
    items = [gold(name, paraphrases=["Other?"]) for name in "abcdef"]
    decision = evaluate_stability(items, [row for name in "abcde" for row in grid(name)] + grid("f", cite=("d2",)))
    share = decision.measures["lambda_convergent"]
    assert share.value == Fraction(5, 6) and share.n == 6 and share.interval is not None
    state = next(outcome.state for outcome in decision.outcomes if outcome.gate.metric == "lambda_convergent")
    assert state == "PASS-BUT-UNPROVEN"  # 45 of 54 runs, but 5 of 6 questions


# --- distances and overlap ---


def edits(one: str, other: str) -> int:
    """The textbook table, one row at a time."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aé東😀 b", max_size=8), min_size=2, max_size=7))
def test_ned50_is_the_exact_median_of_all_pairs_in_code_points(claims: list[str]) -> None:
    ned50, iaa = stability.distance_and_agreement(claims)
    pairs = list(combinations(claims, 2))
    assert ned50 == median(Fraction(edits(a, b), max(len(a), len(b), 1)) for a, b in pairs)
    assert iaa == Fraction(sum(a == b for a, b in pairs), len(pairs))


def test_ned50_needs_two_answers() -> None:
    assert stability.distance_and_agreement([]) == (None, None)
    assert stability.distance_and_agreement(["one"]) == (None, None)
    assert stability.distance_and_agreement(["", ""]) == (Fraction(0), Fraction(1))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=6))
def test_citation_overlap_is_intersection_over_union(sets: list[frozenset[str]]) -> None:
    whole, pairwise = stability.citation_overlap(sets)
    union = frozenset().union(*sets)
    assert whole == (Fraction(len(frozenset.intersection(*sets)), len(union)) if union else None)
    each = [Fraction(len(a & b), len(a | b)) for a, b in combinations(sets, 2) if a | b]
    assert pairwise == (sum(each, Fraction(0)) / len(each) if each else None)


def test_css_leaves_refusals_out_and_css_all_does_not() -> None:
    shown = only(evaluate_stability([gold("a")], grid("a", **{"0/ws": "not in context"})), "a")
    assert (shown["css"], shown["css_all"]) == (1, 0)


@pytest.mark.parametrize(("passed", "runs"), [(0, 3), (2, 5), (4, 5), (5, 5), (3, 3)])
def test_pass_k_is_the_share_of_k_subsets_that_all_pass(passed: int, runs: int) -> None:
    rows = [
        {**trace("a", "The right answer." if number < passed else "wrong"), "seed": number} for number in range(runs)
    ]
    shown = only(evaluate_stability([gold("a")], rows), "a")
    for k in (1, 2, 3, 5):
        subsets = list(combinations(range(runs), k))
        expected = sum(all(n < passed for n in chosen) for chosen in subsets) / len(subsets) if subsets else None
        assert shown[f"pass^{k}"] == (expected if expected is None else pytest.approx(expected))


def test_pooled_rates_know_that_runs_of_one_question_are_one_cluster() -> None:
    runs = grid("a") + grid("b", "wrong") + grid("c") + grid("d")
    pooled = report(evaluate_stability([gold(name) for name in "abcd"], runs))["pooled"]["acr"]
    assert pooled["rate"] == 0.75 and pooled["runs"] == 36 and pooled["questions"] == 4
    assert pooled["design_effect"] > 8 and pooled["effective_items"] < 5


# --- order, parts, digests ---


def test_the_order_of_lines_changes_nothing() -> None:
    runs = grid("a", **{"0/ws": "wrong"}) + grid("b", cite=("d1", "d2")) + grid("u", "not in context")
    items = [gold("a"), gold("b"), unanswerable("u")]
    first = report(evaluate_stability(items, runs))["digest"]
    for number in range(5):
        shuffled = runs[:]
        random.Random(number).shuffle(shuffled)
        assert report(evaluate_stability(items, shuffled))["digest"] == first


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "u"]), unique=True), st.integers(0, 4))
def test_facts_of_parts_add_up_to_the_whole(order: list[str], cut: int) -> None:
    from shipworthy.gates import Gate
    from shipworthy.refusal import load_rule
    from shipworthy.suites import answers

    options = stability.Options(answers=answers.Options(rule=load_rule("natural")), bars=(Gate.parse("acr >= 0.95"),))
    items = load_gold([gold("a"), gold("b"), gold("c"), unanswerable("u")]).items
    runs = {"a": grid("a"), "b": grid("b", **{"0/ws": "wrong"}), "c": grid("c", "wrong"), "u": grid("u", "blue")}
    import msgspec

    def tally(names: list[str]) -> Tally:
        total = Tally()
        for name in names:
            case = Case(items[name], [msgspec.convert(row, Trace) for row in runs[name]])
            total.count(stability.facts(stability.judge(case, options)))
        return total

    assert tally(order[:cut]) + tally(order[cut:]) == tally(sorted(order))


def test_ugly_claims_are_compared_all_the_same() -> None:
    claims = ["", " ", "\u202e\u0000", "e\u0301" * 50, "😀" * 300, "-5 %", "İstanbul"]
    runs = [{**trace("a", claim), "seed": number} for number, claim in enumerate(claims)]
    shown = only(evaluate_stability([gold("a")], runs), "a")
    assert shown["answered"] == len(claims) and 0 < shown["ned50"] <= 1
    assert canon("e\u0301") == canon("é")


# --- bad input, files, command line ---


def test_ill_typed_runs_are_refused_with_their_line(tmp_path: Any) -> None:
    rows = [*grid("a"), {"qid": "a", "seed": "two", "answer_json": {"claim": "x"}}, {"qid": "a", "answer_json": None}]
    path = write_lines(tmp_path / "runs.jsonl", rows)
    with pytest.raises(BadLines) as error:
        evaluate_stability([gold("a")], str(path))
    assert "runs.jsonl:10" in str(error.value) and "runs.jsonl:11" in str(error.value)
    lenient = evaluate_stability([gold("a")], str(path), lenient=True)
    assert lenient.partial and lenient.verdict == "SHIP"


def test_gold_must_say_whether_it_is_answerable() -> None:
    with pytest.raises(DataError, match="gold-answerable"):
        evaluate_stability([{"qid": "a", "question": "?"}], grid("a"))


@pytest.fixture
def files(tmp_path: Any) -> tuple[str, str]:
    items = write_lines(tmp_path / "gold.jsonl", [gold("a"), unanswerable("u")])
    runs = write_lines(tmp_path / "runs.jsonl", grid("a") + grid("u", "not in context"))
    return str(items), str(runs)


def test_the_command_scores_and_mode_is_another_spelling(cli: Any, files: tuple[str, str]) -> None:
    items, runs = files
    ran = cli("stability", "score", "--gold", items, "--stability", runs, "--json")
    assert ran.code == 0 and {"totals", "gates", "pass", "details"} <= ran.json.keys()
    other = cli("stability", "--mode", "score", "--gold", items, "--stability", runs, "--json")
    assert other.json["digest"] == ran.json["digest"]
    spelled = cli("stability", "--gold", items, "--mode=score", "--stability", runs, "--gates",
                  "acr=0.95,cghc=0.95,css=0.70,ned50=0.20,rcr=0.98")  # fmt: skip
    assert spelled.code == 0 and spelled.out.startswith("SHIP")


@pytest.mark.parametrize(
    "wrong", [["--jitters", "none,punkt"], ["--seeds", "one"], ["--gates", "acr=2"], ["--max-fail-rate", "x"], ["--mode", "x"]]
)  # fmt: skip
def test_wrong_arguments_are_usage_errors(cli: Any, files: tuple[str, str], wrong: list[str]) -> None:
    mode = wrong if wrong[0] == "--mode" else ["score", *wrong]
    ran = cli("stability", *mode, "--gold", files[0], "--stability", files[1])
    assert ran.code == 2 and not ran.out


def test_the_table_has_a_row_a_question(cli: Any, files: tuple[str, str], tmp_path: Any) -> None:
    out = tmp_path / "rows.tsv"
    cli("stability", "score", "--gold", files[0], "--stability", files[1], "-o", out)
    rows = [line.split("\t") for line in out.read_text("utf-8").splitlines()]
    assert rows[0][:2] == ["qid", "state"] and [row[:2] for row in rows[1:]] == [["a", "pass"], ["u", "pass"]]


def test_run_asks_the_whole_grid_and_scores_it(cli: Any, tmp_path: Any) -> None:
    items = write_lines(
        tmp_path / "gold.jsonl", [gold("a", substr=["founded in 2014"], question="When was it founded?")]
    )
    replay = write_lines(tmp_path / "replay.jsonl", [trace("a", "It was founded in 2014.", e2e_ms=5)])
    ran = cli("stability", "run", "--gold", items, "--target", f"replay:{replay}", "--seeds", "0,1", "--jitters", "none,punct",
              "--out", tmp_path / "new" / "runs.jsonl", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["details"]["a"]["runs"] == 4
    again = cli("stability", "score", "--gold", items, "--stability", tmp_path / "new" / "runs.jsonl", "--json")
    assert again.json["details"] == ran.json["details"]
    assert cli("stability", "run", "--gold", items).code == 2


def test_reading_the_suite_does_not_import_the_edit_distance() -> None:
    code = "import sys, shipworthy.scoring.stability; sys.exit('rapidfuzz' in sys.modules or 'httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_four_published_runs_of_one_configuration(real_data: Any) -> None:
    folder = real_data("azure_rag/northwind50")
    rows = []
    for number, path in enumerate(sorted(folder.glob("runs/*/trace.jsonl"))):
        rows += [
            {**json.loads(line), "seed": number, "jitter": "none"} for line in path.read_text("utf-8").splitlines()
        ]
    decision = evaluate_stability(str(folder / "gold.jsonl"), rows)
    assert decision.verdict == "NO-SHIP"
    identical, worded = decision.measures["identical_citations"], decision.measures["identical_answers"]
    assert (identical.k, identical.n, worded.k) == (15, 50, 0)
    assert float(decision.measures["mean_css"].value or 0) == pytest.approx(0.585, abs=0.001)
    assert float(decision.measures["mean_ned50"].value or 0) == pytest.approx(0.449, abs=0.001)
