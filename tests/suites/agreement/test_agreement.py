"""Agreement of two validators: κ beside what κ hides, and a final word on every answer."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, VECTORS, gold, refusal, trace, unanswerable, write_lines
from engines.scattered import scattered
from shipworthy import stats
from shipworthy.core import evaluate as core
from shipworthy.core.decision import Decision, report
from shipworthy.core.options import make_options
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.reading.jsonl import BadLines
from shipworthy.suites.agreement.judge import LABELS
from shipworthy.suites.agreement.suite import SUITE

CASES = json.loads((VECTORS / "agreement.json").read_text("utf-8"))


def agree(**given: Any) -> Decision:
    return evaluate("agreement", **given)


def pair(qid: str, scholar: str = "VALID", auditor: str = "VALID", cite: Any = ("d1",), **more: Any) -> dict[str, Any]:
    row = {
        "qid": qid,
        "scholar": {"label": scholar, "reason": ""},
        "auditor": {"label": auditor, "reason": ""},
        "answer_json": {"claim": "It is so.", "citations": list(cite)},
        "retrieved_ids": ["d1", "d2"],
    }
    return row | more


def agreeing(valid: int = 40, refused: int = 20) -> list[dict[str, Any]]:
    rows = [pair(f"v{number:02}") for number in range(valid)]
    return rows + [pair(f"n{number:02}", "NOT_IN_CONTEXT", "NOT_IN_CONTEXT", ()) for number in range(refused)]


def without_answer(scholar: str, auditor: str) -> dict[str, Any]:
    return {name: value for name, value in pair("a", scholar, auditor).items() if name != "answer_json"}


def final(row: dict[str, Any], profile: str = "strict") -> tuple[str, str]:
    (judged,) = agree(pairs=[row], profile=profile).items
    return judged["final"], judged["why"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_reference_profile_prints_what_the_original_script_printed(case: dict[str, Any]) -> None:
    found = report(agree(pairs=case["pairs"], profile="reference"))
    for key, expected in case["reference"].items():
        assert found[key] == expected, key


def test_two_validators_that_agree_ship() -> None:
    decision = agree(pairs=agreeing())
    body = report(decision)
    assert decision.verdict == "SHIP"
    assert (body["n"], body["percent_agreement"], body["kappa"], body["abstain_rate"], body["disagreements"]) == (
        60,
        1,
        1,
        0,
        0,
    )
    assert body["gates"] == {"pa": 0.9, "kappa": 0.75, "abstain": 0.02, "flagged": 0}
    assert decision.compat == {
        "agrees": True,
        "differs": [],
        "reference": {"n": 60, "percent_agreement": 1.0, "kappa": 1.0, "abstain_rate": 0.0},
    }


def test_kappa_has_its_interval_and_proof() -> None:
    rows = [pair(f"a{n}") for n in range(40)] + [pair(f"b{n}", "VALID", "REJECT") for n in range(5)]
    rows += [pair(f"c{n}", "REJECT", "VALID") for n in range(3)] + [
        pair(f"d{n}", "REJECT", "REJECT") for n in range(12)
    ]
    kappa = agree(pairs=rows).measures["kappa"]
    assert float(kappa.value or 0) == pytest.approx(0.659574, abs=1e-6)
    low, high, chance = stats.clopper_pearson_lower(52, 60, 0.025), stats.clopper_pearson_upper(52, 60, 0.025), 0.608333
    assert low is not None and high is not None
    edges = [(edge - chance) / (1 - chance) for edge in (low, high)]
    assert kappa.interval == pytest.approx(edges, abs=1e-5)


# Labels whose true κ is exactly the bound: one label of each kind with these chances, and disagreement by chance alone.
DRAWN = {
    "two labels": (0.5, 0.5, 0, 0),
    "skewed": (0.8, 0.2, 0, 0),
    "very skewed": (0.9, 0.1, 0, 0),
    "four labels": (0.25, 0.25, 0.25, 0.25),
    "four, skewed": (0.7, 0.2, 0.07, 0.03),
}


@pytest.mark.parametrize("n", [40, 100])
@pytest.mark.parametrize("shares", DRAWN.values(), ids=DRAWN)
def test_kappa_at_its_bound_is_proven_in_at_most_5_percent_of_draws(shares: tuple[float, ...], n: int) -> None:
    rng, draws, bound = random.Random(n), 400, 0.75
    wrong = {"PASS": 0, "FAIL": 0}
    for _ in range(draws):
        table = [[0] * 4 for _ in range(4)]
        for _ in range(n):
            one = rng.choices(range(4), shares)[0]
            other = one if rng.random() < bound else rng.choices(range(4), shares)[0]
            table[one][other] += 1
        spread = stats.kappa_spread(table)
        low, high = spread.bounds if spread else (None, None)
        wrong["PASS"] += low is not None and low >= bound
        wrong["FAIL"] += high is not None and high < bound
    assert all(count <= draws * 0.083 for count in wrong.values()), wrong  # 5 % and 3 standard errors


def test_forty_pairs_that_were_called_certain_are_not() -> None:
    """Two of 40 pairs differ: κ is 0.9 and κ - z·SE 0.79, but a κ of 0.75 gives as few in one draw of nine."""
    rows = [pair(f"v{n}") for n in range(19)] + [pair(f"r{n}", "REJECT", "REJECT") for n in range(19)]
    rows += [pair("x", "VALID", "REJECT"), pair("y", "REJECT", "VALID")]
    found = next(one for one in agree(pairs=rows).outcomes if one.gate.metric == "kappa")
    assert float(found.measure.value or 0) == pytest.approx(0.9) and found.state == "PASS-BUT-UNPROVEN"


def test_the_larger_of_two_abstentions_is_called_too_large_with_care() -> None:
    """Either of two validators may abstain often by luck: 4 of 60 are certain for one, not for the larger."""
    assert stats.refuted(4, 60, Fraction(2, 100), "<=") and not stats.refuted(3, 60, Fraction(2, 100), "<=")
    for abstained, state in ((4, "FAIL-BUT-CLOSE"), (5, "FAIL")):
        rows = [*agreeing(60 - abstained, 0), *(pair(f"x{n}", "ABSTAIN", "REJECT") for n in range(abstained))]
        found = next(one for one in agree(pairs=rows).outcomes if one.gate.metric == "abstain_rate")
        assert found.state == state


def test_a_few_pairs_that_all_agree_prove_little() -> None:
    def kappa(valid: int, refused: int) -> Any:
        outcomes = agree(pairs=agreeing(valid, refused)).outcomes
        return next(outcome for outcome in outcomes if outcome.gate.metric == "kappa")

    few, many = kappa(3, 3), kappa(40, 40)
    assert few.measure.value == many.measure.value == 1
    assert few.state == "PASS-BUT-UNPROVEN" and few.measure.interval[0] < 0.2
    assert many.state == "PASS" and 0.9 < many.measure.interval[0] < 1 == many.measure.interval[1]


def test_one_label_leaves_kappa_undefined_and_holds_here_where_the_reference_fails() -> None:
    rows = [pair(f"a{number}") for number in range(60)]
    strict = agree(pairs=rows)
    assert strict.verdict == "SHIP" and report(strict)["kappa"] is None
    assert [outcome.state for outcome in strict.outcomes if outcome.gate.metric == "kappa"] == ["NOT-APPLICABLE"]
    reference = agree(pairs=rows, profile="reference")
    assert reference.verdict == "NO-SHIP" and report(reference)["kappa"] == 0


def test_kappa_collapses_when_one_label_dominates_and_ac1_does_not() -> None:
    rows = [pair(f"a{n}") for n in range(96)] + [pair("x", "VALID", "REJECT"), pair("y", "REJECT", "VALID")]
    decision = agree(pairs=rows)
    assert decision.verdict == "NO-SHIP"
    assert float(decision.measures["kappa"].value or 0) < 0
    assert float(decision.measures["ac1"].value or 0) > 0.97
    assert any("one label dominates" in hint for hint in decision.diagnosis)


def test_abstentions_are_those_of_the_one_who_abstains_more() -> None:
    rows = [*agreeing(), pair("x", "VALID", "ABSTAIN"), pair("y", "REJECT", "ABSTAIN"), pair("z", "ABSTAIN", "VALID")]
    measure = agree(pairs=rows).measures["abstain_rate"]
    assert (measure.k, measure.n) == (2, 63)
    assert report(agree(pairs=rows, profile="reference"))["abstain_rate"] == round(1 / 63, 4)


def test_agreement_on_something_flagged_is_a_gate() -> None:
    rows = [*agreeing(), pair("x", flags={"provenance_violation": True})]
    decision = agree(pairs=rows)
    assert decision.reasons == [
        "answers accepted despite a hard flag: 1; none allowed (flagged_agreements 1 > 0)"
    ] and decision.named["flagged_agreements"] == ["x"]
    assert decision.offenders[0]["reason"] == "flagged-agreement"


@pytest.mark.parametrize(
    ("row", "strict", "reference"),
    [
        (pair("a"), ("VALID", "auditor_ok"), None),
        (pair("a", "NOT_IN_CONTEXT", "NOT_IN_CONTEXT", ()), ("NOT_IN_CONTEXT", "both_refuse"), None),
        (pair("a", flags={"constraints_mismatch": True}), ("REJECT", "hard_flag"), None),
        (
            pair("a", "NOT_IN_CONTEXT", "NOT_IN_CONTEXT", flags={"provenance_violation": True}),
            ("REJECT", "hard_flag"),
            None,
        ),
        (pair("a", cite=("d9",)), ("REJECT", "citation_out_of_scope"), None),
        (pair("a", "VALID", "NOT_IN_CONTEXT"), ("REJECT", "auditor_veto"), None),
        (pair("a", "REJECT", "REJECT"), ("REJECT", "auditor_veto"), None),
        (pair("a", "VALID", "ABSTAIN"), ("REJECT", "auditor_veto"), None),
        (pair("a", "NOT_IN_CONTEXT", "VALID"), ("REVIEW", "scholar_refuses"), ("VALID", "auditor_ok")),
        (pair("a", "REJECT", "VALID"), ("REJECT", "incoherent_pair"), None),
        (pair("a", "ABSTAIN", "VALID"), ("REJECT", "incoherent_pair"), None),
        (pair("a", cite=()), ("REJECT", "uncited"), None),
        (pair("a", "NOT_IN_CONTEXT", "VALID", cite=()), ("REJECT", "uncited"), None),
        (pair("a", "NOT_IN_CONTEXT", "NOT_IN_CONTEXT", cite=()), ("NOT_IN_CONTEXT", "both_refuse"), None),
        (pair("a", "VALID", "REJECT", cite=()), ("REJECT", "auditor_veto"), None),
        (pair("a", "REJECT", "VALID", cite=()), ("REJECT", "incoherent_pair"), None),
        (without_answer("VALID", "VALID"), ("VALID", "auditor_ok"), ("REJECT", "uncited")),
        (without_answer("NOT_IN_CONTEXT", "VALID"), ("REVIEW", "scholar_refuses"), ("REJECT", "uncited")),
        (without_answer("NOT_IN_CONTEXT", "NOT_IN_CONTEXT"), ("NOT_IN_CONTEXT", "both_refuse"), None),
        (without_answer("VALID", "REJECT"), ("REJECT", "auditor_veto"), None),
        (pair("a", "INVALID", "INVALID"), ("REJECT", "auditor_veto"), None),
    ],
)
def test_every_row_gets_a_final_word(
    row: dict[str, Any], strict: tuple[str, str], reference: tuple[str, str] | None
) -> None:
    assert final(row) == strict
    assert final(row, "reference") == (reference or strict)


def test_the_report_has_a_row_for_every_pair_and_the_matrix() -> None:
    rows = [*agreeing(3, 2), pair("x", "VALID", "REJECT")]
    body = report(agree(pairs=rows))
    assert [row["final"] for row in body["items"]] == [
        "NOT_IN_CONTEXT",
        "NOT_IN_CONTEXT",
        "VALID",
        "VALID",
        "VALID",
        "REJECT",
    ]
    assert body["confusion"][0] == {"scholar": "VALID", "VALID": 3, "NOT_IN_CONTEXT": 0, "REJECT": 1, "ABSTAIN": 0}
    assert body["finals"] == {"VALID": 3, "NOT_IN_CONTEXT": 2, "REJECT": 1, "REVIEW": 0}


# --- two files ---


def test_two_files_are_joined_on_qid_and_traces_bring_the_answers() -> None:
    scholar = [
        {"qid": "a", "label": "VALID"},
        {"qid": "b", "label": "VALID", "reason": "fine"},
        {"qid": "c", "label": "INVALID"},
    ]
    auditor = [
        {"qid": "c", "auditor": {"label": "REJECT"}},
        {"qid": "a", "label": "VALID"},
        {"qid": "b", "label": "VALID"},
    ]
    traces = [trace("a"), trace("b", cite=("d9",)), trace("c")]
    decision = agree(scholar=scholar, auditor=auditor, trace=traces)
    assert {row["qid"]: row["why"] for row in decision.items} == {
        "a": "auditor_ok",
        "b": "citation_out_of_scope",
        "c": "auditor_veto",
    }
    bare = agree(scholar=scholar, auditor=auditor)
    assert any("pair-unanswered" in remark for remark in bare.warnings)


def test_a_flag_that_either_validator_raises_counts() -> None:
    calm, raised = {"flags": {}}, {"flags": {"provenance_violation": True}}
    for first, second in ((calm, raised), (raised, calm), ({}, raised), (raised, {})):
        scholar, auditor = ([{"qid": "a", "label": "VALID"} | more] for more in (first, second))
        decision = agree(scholar=scholar, auditor=auditor)
        assert decision.counts["items"] == 1 and decision.measures["flagged_agreements"].value == 1
        assert decision.items[0]["final"] == "REJECT" and not decision.items[0]["passed"]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--profile: can't be 'original'\. Write one of strict, reference"):
        agree(pairs=agreeing(), profile="original")


def test_questions_on_one_side_only_are_listed_and_leave_no_verdict() -> None:
    both = [{"qid": f"q{n}", "label": "VALID" if n % 2 else "REJECT"} for n in range(60)]
    decision = agree(scholar=[*both, {"qid": "x", "label": "VALID"}], auditor=[*both, {"qid": "y", "label": "VALID"}])
    assert decision.exit_code == 3
    assert decision.reasons == ["only the scholar labelled 1 question: x", "only the auditor labelled 1 question: y"]
    assert decision.named["scholar_only"] == ["x"] and decision.named["auditor_only"] == ["y"]
    without = agree(scholar=both, auditor=both, trace=[trace(f"q{n}") for n in range(59)])
    assert without.exit_code == 3 and without.reasons == ["no trace for 1 question: q59"]


# --- labels derived by rule ---


def derived(item: dict[str, Any], run: dict[str, Any]) -> tuple[str, str]:
    row = agree(gold=[item], trace=[run]).items[0]
    return row["scholar"], row["auditor"]


@pytest.mark.parametrize(
    ("item", "run", "labels"),
    [
        (gold("a"), trace("a"), ("VALID", "VALID")),
        (gold("a"), trace("a", "wrong"), ("REJECT", "VALID")),
        (gold("a"), trace("a", cite=("d2",)), ("REJECT", "VALID")),
        (gold("a"), trace("a", cite=("d9",)), ("REJECT", "REJECT")),
        (gold("a"), trace("a", cite=()), ("REJECT", "REJECT")),
        (gold("a"), trace("a", ""), ("REJECT", "REJECT")),
        (gold("a"), refusal("a"), ("REJECT", "NOT_IN_CONTEXT")),
        (gold("a", constraints=["Must be short."]), trace("a", echo=[]), ("VALID", "REJECT")),
        (gold("a", constraints=["Must be short."]), trace("a", echo=["Must be short."]), ("VALID", "VALID")),
        (unanswerable("a"), refusal("a"), ("NOT_IN_CONTEXT", "NOT_IN_CONTEXT")),
        (unanswerable("a"), refusal("a", "Not in context"), ("NOT_IN_CONTEXT", "REJECT")),
        (unanswerable("a"), trace("a", "The answer is not in context."), ("REJECT", "REJECT")),
        (unanswerable("a"), trace("a", "Blue."), ("REJECT", "VALID")),
        (gold("a"), {"qid": "a", "error": "timeout"}, ("ABSTAIN", "ABSTAIN")),
    ],
)
def test_labels_are_derived_from_gold_and_traces(
    item: dict[str, Any], run: dict[str, Any], labels: tuple[str, str]
) -> None:
    assert derived(item, run) == labels


def test_a_gold_item_without_a_trace_leaves_no_verdict() -> None:
    items = [gold(f"a{n}") for n in range(40)] + [unanswerable(f"u{n}") for n in range(20)]
    runs = [trace(f"a{n}") for n in range(40)] + [refusal(f"u{n}") for n in range(20)]
    assert agree(gold=items, trace=runs).verdict == "SHIP"
    decision = agree(gold=items, trace=runs[1:])
    lost = "1 of 60 questions could not be judged, because the run is missing or failed: a0"
    assert decision.exit_code == 3
    assert decision.reasons == [f"{lost}. Run them again, or allow them with --allow-missing 1"]


# --- bad input ---


@pytest.mark.parametrize("label", ["MAYBE", "valid", "", " VALID", "VALID\u200b"])
def test_a_label_outside_the_four_is_an_error_with_its_line(label: str, tmp_path: Any) -> None:
    path = write_lines(tmp_path / "pairs.jsonl", [pair("a"), pair("b", label), pair("c")])
    with pytest.raises(BadLines, match=r"pairs\.jsonl:2: .*\[label\]"):
        agree(pairs=str(path))
    lenient = agree(pairs=str(path), lenient=True)
    assert lenient.partial and report(lenient)["n"] == 2
    with pytest.raises(BadLines, match=r"<scholar>:1: .*label"):
        agree(scholar=[{"qid": "a", "label": label}], auditor=[{"qid": "a", "label": "VALID"}])


@pytest.mark.parametrize(
    "row",
    [
        {"qid": "a"},
        pair("a") | {"scholar": "VALID"},
        pair("a") | {"scholar": {}},
        pair("a") | {"flags": {"provenance_violation": "no"}},
        pair("a") | {"answer_json": []},
        pair("a") | {"retrieved_ids": "d1"},
        {"scholar": {"label": "VALID"}},
    ],
)
def test_ill_shaped_pairs_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(BadLines):
        agree(pairs=[row])


def test_a_repeated_question_names_both_lines_and_no_pair_is_an_error(tmp_path: Any) -> None:
    with pytest.raises(BadLines, match=r"<pairs>:3: duplicate qid 'a' \(first on line 1\)"):
        agree(pairs=[pair("a"), pair("b"), pair("a")])
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for source in ([], str(empty)):
        with pytest.raises(DataError, match="pairs-none"):
            agree(pairs=source)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"qid": "a"\n' + json.dumps(pair("b")) + "\n")
    with pytest.raises(BadLines, match=r"broken\.jsonl:1"):
        agree(pairs=str(broken))


def test_it_must_be_clear_what_is_compared() -> None:
    for given_ in ({}, {"scholar": []}, {"gold": [gold("a")]}, {"pairs": [pair("a")], "gold": [gold("a")]}):
        with pytest.raises(UsageError, match="agreement-inputs"):
            agree(**given_)


# --- numbers, order ---

TABLES = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40)


@settings(max_examples=17 * EFFORT, deadline=None)
@given(TABLES, st.integers(0, 1000))
def test_any_split_and_order_counts_the_same(labels: list[tuple[str, str]], seed: int) -> None:
    pairs = [pair(str(n), *both) for n, both in enumerate(labels)]
    whole = report(agree(pairs=pairs))
    parts = core.evaluate(SUITE, {"pairs": pairs}, make_options(SUITE.options, {}), scattered(seed))
    assert report(parts)["digest"] == whole["digest"]
    n = len(labels)
    counted = [[row[label] for label in LABELS] for row in whole["confusion"]]
    observed = sum(a == b for a, b in labels) / n
    chance = sum(sum(a == label for a, _ in labels) * sum(b == label for _, b in labels) for label in LABELS) / n**2
    kappa = stats.kappa(counted)
    assert kappa is None if chance == 1 else float(kappa or 0) == pytest.approx((observed - chance) / (1 - chance))
    assert whole["kappa"] == (None if kappa is None else float(kappa))


def test_the_order_of_lines_changes_nothing() -> None:
    rows = CASES[4]["pairs"][:]
    first = report(agree(pairs=rows))["digest"]
    random.Random(3).shuffle(rows)
    assert report(agree(pairs=rows))["digest"] == first


def test_published_kappas_are_reproduced(real_data: Any) -> None:
    cases = json.loads((real_data("iaa") / "published_kappas.json").read_text("utf-8"))
    sas = next(case for case in cases if case["name"] == "sas_3x3")
    assert float(stats.kappa(sas["data"]) or 0) == pytest.approx(sas["published"]["cohen_kappa"], abs=5e-5)
    error, low, high = stats.kappa_interval(sas["data"]) or (0, 0, 0)
    assert (error, low, high) == pytest.approx((0.138, *sas["published"]["ci95"]), abs=5e-4)
    anxiety = next(case for case in cases if case["name"] == "anxiety_20x3")
    ratings = [(row[1], row[2]) for row in anxiety["data"]]
    labels = sorted({label for both in ratings for label in both})
    counted = [[ratings.count((one, other)) for other in labels] for one in labels]
    assert float(stats.kappa(counted) or 0) == pytest.approx(-0.006289308, abs=1e-8)


# --- command line ---


def test_the_command_decides_and_always_rewrites_the_table(cli: Any, tmp_path: Any) -> None:
    table = tmp_path / "apart.tsv"
    mixed = write_lines(tmp_path / "mixed.jsonl", [*agreeing(), pair("=x", "VALID", "REJECT")])
    ran = cli(
        "agreement",
        "score",
        "--pairs",
        mixed,
        "--pa_gate",
        "0.90",
        "--kappa_gate",
        "0.75",
        "--abstain_gate",
        "0.02",
        "--disagreements",
        table,
        "--json",
    )
    assert ran.code == 0 and ran.json["disagreements"] == 1
    assert table.read_text("utf-8").splitlines() == [
        "qid\tscholar\tauditor\tfinal\twhy",
        "'=x\tVALID\tREJECT\tREJECT\tauditor_veto",
    ]
    same = write_lines(tmp_path / "same.jsonl", agreeing())
    assert cli("agreement", "score", "--pairs", same, "--tsv", table).code == 0
    assert table.read_text("utf-8") == "qid\tscholar\tauditor\tfinal\twhy\n"


def test_wrong_arguments_are_usage_errors(cli: Any, tmp_path: Any) -> None:
    same = write_lines(tmp_path / "same.jsonl", agreeing())
    assert cli("agreement", "score").code == 2
    assert cli("agreement", "score", "--pairs", same, "--pa-gate", "90").code == 2
    assert cli("agreement", "score", "--pairs", same, "--gates", "kapa=0.5").code == 2
    assert cli("agreement", "score", "--pairs", same, "--pa-gate", "0.5", "--kappa-gate", "0.99").code == 0
