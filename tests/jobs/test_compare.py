"""Comparing two runs: flips by name, exact tests, slips, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable
from conftest import write_lines as write
from shipworthy import evaluate, stats
from shipworthy.core.decision import digest, report
from shipworthy.errors import DataError
from shipworthy.jobs.compare import compare, compare_reports, comparison_dict, incomparable, sentence

GOLD = [gold(f"Q{index:03}") for index in range(200)] + [unanswerable("U1"), unanswerable("U2")]


def scored(
    wrong: set[int] = frozenset(), leaks: int = 0, drop: set[str] = frozenset(), **options: Any
) -> dict[str, Any]:  # type: ignore[assignment]
    traces = [trace(f"Q{index:03}", cite=("d2",) if index in wrong else ("d1",)) for index in range(200)]
    traces += [trace("U1") if leaks > 0 else refusal("U1"), trace("U2") if leaks > 1 else refusal("U2")]
    return report(evaluate(GOLD, [one for one in traces if one["qid"] not in drop], **options))


def written(suite: str, metrics: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    """The least that a report has, with the digest that it was written with."""
    about = {"report": 1, "definitions": "1", "suite": suite}
    body = {"shipworthy": about, "decision": "SHIP", "metrics": metrics, "items": items, "outcomes": []}
    return body | {"digest": digest(body)}


def change(found: Any, name: str) -> Any:
    return next(one for one in found.changes if one.metric == name)


def test_the_drop_of_the_worked_example() -> None:
    """9 lost and 1 gained of 200: p = 0.011."""
    found = compare(scored({100}), scored(set(range(9))))
    precision = change(found, "precision")
    assert precision.answer == "regressed" and found.verdict == "regressed"
    assert precision.worse == Fraction(8, 200)
    assert precision.lost == [f"Q{index:03}" for index in range(9)] and precision.gained == ["Q100"]
    assert round(precision.p, 3) == 0.011 and precision.within_noise is False
    assert found.lost == precision.lost and found.gained == ["Q100"]


def test_not_shown_and_not_excluded() -> None:
    """2 lost and 1 gained of 200: a drop up to 2.5 points is still possible; 255 items could tell."""
    found = compare(scored({100}), scored({1, 2}))
    precision = change(found, "precision")
    assert precision.answer == "inconclusive" and precision.n_needed == 255
    assert round(-precision.interval[0], 5) == 0.02537
    assert precision.within_noise is True
    assert "inconclusive: about 255 questions are needed to rule out a drop of more than 0.02" in sentence(precision)


def test_no_regression_beyond_the_slip() -> None:
    found = compare(scored({1, 2}), scored({1, 2, 3}), slips={"precision": Fraction(1, 10)})
    assert change(found, "precision").answer == "no regression beyond the slip"
    assert found.regressed == []


def test_an_improvement_is_called_one_and_says_when_it_is_within_noise() -> None:
    found = compare(scored({1}), scored())
    precision = change(found, "precision")
    assert precision.answer == "improved" and found.verdict == "improved"
    assert precision.within_noise is True and "could be chance (p = " in sentence(precision)
    clear = change(compare(scored(set(range(12))), scored()), "precision")
    assert clear.answer == "improved" and clear.within_noise is False and clear.p_gain < 0.001


def test_an_improvement_is_not_hidden_by_metrics_that_are_inconclusive() -> None:
    found = compare(scored({1, 2, 3, 4, 5, 6, 7, 8, 9}, leaks=1), scored({20}, leaks=1))
    assert found.verdict == "improved"
    assert len(found.gained) > len(found.lost) > 0


def test_a_few_flips_both_ways_are_inconclusive_whatever_else_improved() -> None:
    found = compare(scored({1, 2}), scored({3, 4}))
    assert change(found, "precision").answer == "inconclusive"
    assert found.verdict == "inconclusive"


def test_unchanged_is_called_unchanged_even_where_few_items_prove_little() -> None:
    head = scored({1})
    head["warnings"] = ["another remark"]  # else the two are the same bytes, and nothing has to be compared
    head["digest"] = digest(head)
    found = compare(scored({1}), head)
    assert found.verdict == "unchanged"
    assert {one.answer for one in found.changes} <= {"unchanged", None}
    assert not found.proven  # under_refusal has two items, which exclude nothing


def test_a_drop_beyond_the_slip_may_be_noise_and_says_so() -> None:
    found = compare(scored({100, 101, 102}), scored({1, 2, 3, 4, 5, 6, 7, 8}), slips={"precision": Fraction(1, 100)})
    precision = change(found, "precision")
    assert precision.answer == "regressed" and precision.within_noise is True
    assert "could be chance" in sentence(precision)


def test_lower_is_better_for_refusals() -> None:
    found = compare(scored(), scored(leaks=1))
    leaked = change(found, "under_refusal")
    assert leaked.answer == "regressed" and leaked.worse == Fraction(1, 2) and leaked.lost == ["U1"]
    better = change(compare(scored(leaks=1), scored()), "under_refusal")
    assert better.worse == Fraction(-1, 2) and better.gained == ["U1"]


def test_a_case_that_is_gone_is_a_regression() -> None:
    found = compare(scored(), scored(drop={"Q007"}))
    assert found.absent == ["Q007"] and found.verdict == "regressed"
    assert compare(scored(drop={"Q007"}), scored(drop={"Q007"}, wrong={1})).absent == []


def test_flips_both_ways_point_to_the_environment() -> None:
    found = compare(scored({1, 2, 3}), scored({7, 8, 9}))
    assert any("fragmented index" in note for note in found.notes)
    assert not compare(scored(), scored({7, 8, 9})).notes


def test_the_same_run_twice() -> None:
    found = compare(scored(), scored())
    assert found.verdict == "unchanged" and found.notes == ["the two runs are identical"]


@pytest.mark.parametrize(
    ("options", "what"),
    [({"gates": ["precision >= 0.9"]}, "gates"), ({"k": 3}, "options"), ({"profile": "reference"}, "profiles")],
)
def test_different_terms_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        compare(scored(), scored({1}, **options))
    assert caught.value.code == "compare-different" and caught.value.exit_code == 3


def test_another_gold_set_is_refused_and_a_reordered_one_is_not() -> None:
    traces = [trace(f"Q{index:03}") for index in range(200)] + [refusal("U1"), refusal("U2")]
    reordered = report(evaluate(GOLD[::-1], traces))
    assert incomparable(scored({1}), reordered) == []
    other = report(evaluate([*GOLD[1:], gold("Q000", notes="edited")], traces))
    assert incomparable(scored({1}), other) == ["gold sets"]


def test_another_definitions_version_is_refused() -> None:
    old = scored()
    old["shipworthy"] = old["shipworthy"] | {"definitions": "0"}
    old["digest"] = digest(old)
    with pytest.raises(DataError, match="definitions versions"):
        compare(old, scored({1}))


def test_scored_again_from_traces_that_are_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold_file = write(tmp_path / "gold.jsonl", GOLD[:3])
    base_file = write(tmp_path / "base.jsonl", [trace("Q000"), trace("Q001"), trace("Q002")])
    head_file = write(tmp_path / "head.jsonl", [trace("Q000"), trace("Q001"), trace("Q002", cite=("d2",))])
    base = report(evaluate(str(gold_file), str(base_file)))
    head = report(evaluate(str(gold_file), str(head_file), gates=["precision >= 0.6"]))
    found = compare(base, head)
    assert found.lost == ["Q002"] and "scored again" in found.notes[0]
    with pytest.raises(DataError, match="gates"):
        compare(base, head, rescore=False)
    write(base_file, [trace("Q000")])  # not the traces that the report was made from
    with pytest.raises(DataError, match="gates"):
        compare(base, head)


def test_two_trace_files(tmp_path: Path) -> None:
    gold_file = write(tmp_path / "gold.jsonl", GOLD[:2])
    sides = [
        write(tmp_path / name, rows)
        for name, rows in (("a.jsonl", [trace("Q000"), trace("Q001")]), ("b.jsonl", [trace("Q000"), refusal("Q001")]))
    ]
    found = compare(*map(str, sides), gold=str(gold_file))
    assert found.lost == ["Q001"] and found.regressed == ["over_refusal"]


def test_recall_is_paired_where_any_and_all_are_the_same_items() -> None:
    def recalled(lost: set[int]) -> dict[str, Any]:
        traces = [trace(f"Q{index:03}", found=("d2",) if index in lost else ("d1", "d2")) for index in range(200)]
        return report(evaluate(GOLD, [*traces, refusal("U1"), refusal("U2")]))

    recall = change(compare(recalled({100}), recalled(set(range(9)))), "recall@5")
    assert (recall.pairs, len(recall.lost), recall.gained) == (200, 9, ["Q100"]) and round(recall.p, 3) == 0.011


def test_metrics_whose_items_do_not_add_up_have_an_interval_of_their_own() -> None:
    def scattered(found: int) -> dict[str, Any]:
        items = [gold(f"Q{index}", cite=("d1", "d9")) for index in range(20)]
        traces = [trace(f"Q{index}", found=("d1", "d9") if index < found else ("d1",)) for index in range(20)]
        return report(evaluate(items, traces))

    recall = change(compare(scattered(10), scattered(9)), "recall@5")
    assert recall.pairs == 0 and recall.method == "difference of two 95 % intervals"
    assert recall.interval[0] < -0.05 < recall.interval[1]


def test_a_metric_that_became_undefined_regressed() -> None:
    items, traces = [gold("A1"), gold("A2")], [trace("A1"), trace("A2")]
    before = report(evaluate(items, traces))
    after = report(evaluate(items, [refusal("A1"), refusal("A2")]))
    assert change(compare(before, after), "precision").answer == "regressed"


def test_percentiles_may_rise_by_fifteen_per_cent() -> None:
    def latency(value: int) -> dict[str, Any]:
        measure = {"kind": "percentile", "value": value, "n": 100, "exact": str(value), "better": "lower", "unit": "ms"}
        return written("latency", {"p95": measure}, [])

    assert compare(latency(1000), latency(1150)).regressed == []
    assert compare(latency(1000), latency(1151)).regressed == ["p95"]


def test_values_for_each_item_are_compared_in_pairs() -> None:
    def retrieval(values: list[float]) -> dict[str, Any]:
        mean = sum(map(Fraction, map(str, values)), Fraction(0)) / len(values)
        rows = [{"qid": f"Q{index}", "recall@5": value, "reason": ""} for index, value in enumerate(values)]
        measure = {"kind": "mean", "value": float(mean), "n": len(values), "exact": str(mean), "better": "higher"}
        return written("retrieval", {"recall@5": measure}, rows)

    found = change(compare(retrieval([0.5] * 12), retrieval([0.5] * 6 + [0.25] * 6)), "recall@5")
    assert found.answer == "regressed" and found.pairs == 12
    assert found.p == 2 / 2**6  # all six differences have the same sign
    assert found.method.startswith("mean of paired differences")


def test_the_command_line(tmp_path: Path, cli: Cli) -> None:
    for name, made in (("old.json", scored({100})), ("new.json", scored(set(range(9))))):
        (tmp_path / name).write_text(json.dumps(made))
    ran = cli("compare", tmp_path / "old.json", tmp_path / "new.json")
    assert ran.code == 1
    assert ran.out.startswith(
        "REGRESSED  answers: 1 better, 9 worse of 202 questions; precision, chr, citation_precision regressed\n"
    )
    assert "Passed before, fail now (9): Q000, Q001" in ran.out and "p = 0.011 (exact McNemar)" in ran.out
    plain = cli("compare", tmp_path / "old.json", tmp_path / "new.json", "--json").json
    assert plain["verdict"] == "regressed" and plain["gained"] == ["Q100"]
    back = cli("compare", tmp_path / "new.json", tmp_path / "old.json")
    assert back.code == 0 and back.out.startswith("IMPROVED  answers: 9 better, 1 worse of 202 questions\n")
    assert cli("compare", tmp_path / "new.json", tmp_path / "old.json", "--proven").code == 1
    assert cli("compare", tmp_path / "old.json", tmp_path / "new.json", "--slip", "precision").code == 2
    (tmp_path / "junk.json").write_text("[]")
    assert cli("compare", tmp_path / "old.json", tmp_path / "junk.json").code == 3


def test_plain_values_are_json() -> None:
    assert json.loads(json.dumps(comparison_dict(compare(scored(), scored({1})))))["lost"] == ["Q001"]


def test_an_unpaired_interval_is_newcombes_with_each_arm_on_its_own_side() -> None:
    """Rates without rows: the worked example of Newcombe (1998, method 10), 56/70 against 48/80.

    The lower limit of new - old takes the lower arm of the new rate and the upper arm of the old one.
    """

    def of(k: int, n: int) -> dict[str, Any]:
        stated = report(evaluate(GOLD, [trace(item["qid"]) for item in GOLD]))
        low, high = stats.wilson(k, n)  # type: ignore[misc]
        measure = {"kind": "rate", "value": k / n, "n": n, "numerator": k, "denominator": n, "better": "higher"}
        return stated | {"metrics": {"precision": measure | {"interval95": [low, high]}}, "items": []}

    (change,) = compare_reports(of(48, 80), of(56, 70)).changes
    assert change.interval == pytest.approx((0.0524, 0.3339), abs=5e-5)
    (change,) = compare_reports(of(56, 70), of(48, 80)).changes
    assert change.interval == pytest.approx((-0.3339, -0.0524), abs=5e-5)


def test_the_page_has_gates_and_both_answers_with_what_changed(tmp_path: Path, cli: Cli) -> None:
    """Also with hostile texts: nothing in it comes alive."""
    items = [gold("Q1", ["forty-two days"]), gold("<b>Q2</b>"), gold("Q3"), gold("Q4")]
    sides = {
        "base": [trace("Q1", "It is forty-two days."), trace("<b>Q2</b>", "No <i>idea</i>."), trace("Q3"), trace("Q4")],
        "head": [trace("Q1", "It is sixty days."), trace("<b>Q2</b>"), trace("Q3"), trace("Q4", "")],
    }
    write(tmp_path / "gold.jsonl", items)
    for name, traces in sides.items():
        path = write(tmp_path / f"{name}.jsonl", traces)
        cli("score", "--gold", tmp_path / "gold.jsonl", "--trace", path, "-o", tmp_path / f"{name}.json")
    page = tmp_path / "compare.html"
    ran = cli("compare", tmp_path / "base.json", tmp_path / "head.json", "-o", page)
    assert ran.code == 1, ran.err
    text = page.read_text("utf-8")
    assert "It is <del>forty-two</del> days." in text and "It is <ins>sixty</ins> days." in text
    assert "<h1" in text and "REGRESSED" in text and "Failed before, pass now" in text
    assert "&lt;b&gt;Q2&lt;/b&gt;" in text and "<i>idea</i>" not in text and "<b>Q2</b>" not in text
    assert "precision &gt;= 0.80" in text and "wrong answer (containment)" in text
    assert "-BUT-" not in text and ("(within noise)" in text or "(not certain)" in text)  # states in words
    again = cli(
        "compare", tmp_path / "base.jsonl", tmp_path / "head.jsonl", "--gold", tmp_path / "gold.jsonl", "-o", page
    )
    assert again.code == 1 and "<ins>sixty</ins>" in page.read_text("utf-8")
    same = cli("compare", tmp_path / "base.json", tmp_path / "base.json", "-o", page)
    assert same.code == 0 and "UNCHANGED" in page.read_text("utf-8")
    refused = cli("compare", tmp_path / "base.json", tmp_path / "head.json", "-o", tmp_path / "x.pdf")
    assert refused.code == 2 and "[report-format]" in refused.err
