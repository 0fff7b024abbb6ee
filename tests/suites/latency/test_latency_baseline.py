"""An earlier report as the baseline: exact guards, the same gold set, gates beside the budget."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from latency_runs import GOLD, score, served

from conftest import gold, trace, write_lines
from shipworthy.core.decision import report
from shipworthy.errors import DataError, UsageError
from shipworthy.reading.reports import digest


@pytest.fixture
def before(tmp_path: Any) -> tuple[str, str]:
    """A gold file and the report of an earlier run on it."""
    items = write_lines(tmp_path / "gold.jsonl", GOLD)
    earlier = score(str(items), served(1000, 6, cost_usd=0.01))
    path = tmp_path / "last.json"
    path.write_text(json.dumps(report(earlier)), "utf-8")
    return str(items), str(path)


def test_the_same_numbers_hold_against_their_own_baseline(before: tuple[str, str]) -> None:
    decision = score(before[0], served(1000, 6, cost_usd=0.01), baseline=before[1])
    assert decision.verdict == "SHIP"
    assert [str(outcome.gate) for outcome in decision.outcomes][-5:] == [
        "p95 <= baseline * 1.15",
        "precision >= baseline - 0.02",
        "p50 <= baseline * 1.2",
        "p90 <= baseline * 1.5",
        "cost_per_correct <= baseline * 1.3",
    ]


def test_each_guard_against_the_baseline_is_exact(before: tuple[str, str]) -> None:
    def misses(**changed: Any) -> list[str]:
        rows = served(**{"ms": 1000, "wrong": 6, "cost_usd": 0.01} | changed)
        decision = score(before[0], rows, baseline=before[1])
        return [outcome.gate.metric for outcome in decision.outcomes if not outcome.holds]

    assert misses(ms=1150) == []
    assert misses(ms=1150.001) == ["p95"]
    assert misses(wrong=7, cost_usd=0.009) == []  # 53/60 is 1/60 below 54/60
    assert misses(wrong=8, cost_usd=0.009) == ["precision"]
    assert misses(cost_usd=0.01301) == ["cost_per_correct"]
    assert misses(ms=lambda number: 1201 if number < 40 else 1000, wrong=6) == ["p95", "p50"]


def test_accuracy_up_but_latency_over_is_said_in_those_words(before: tuple[str, str]) -> None:
    decision = score(before[0], served(1500, 0), baseline=before[1], gates="p95=1200")
    assert decision.verdict == "NO-SHIP"
    assert decision.reasons[0].startswith("accuracy up but latency over → NO-SHIP: precision 0.900 → 1.000")


def test_proof_is_asked_of_the_guards_too(before: tuple[str, str]) -> None:
    decision = score(before[0], served(1000, 6, cost_usd=0.01), baseline=before[1], require_proof=True)
    missed = {str(outcome.gate) for outcome in decision.outcomes if not outcome.holds}
    assert decision.verdict == "NO-SHIP" and "precision >= baseline - 0.02" in missed


def test_a_part_is_held_against_the_same_part_of_the_baseline(tmp_path: Any) -> None:
    earlier = report(score(GOLD, served(100, load_rps=1) + served(1000, load_rps=5)))
    runs = served(100, load_rps=1) + served(1101, load_rps=5)
    decision = score(GOLD, runs, baseline=earlier, gates="p95[load=5]<=baseline*1.1")
    assert [outcome.gate.key for outcome in decision.outcomes if not outcome.holds] == ["p95[load=5]"]


def test_a_baseline_keeps_numbers_that_have_no_end() -> None:
    rows = served(lambda number: number / 7)
    earlier = report(score(GOLD, rows))
    decision = score(GOLD, rows, baseline=json.loads(json.dumps(earlier)), gates="tail_amplification<=baseline")
    outcome = next(one for one in decision.outcomes if str(one.gate) == "tail_amplification <= baseline")
    assert outcome.bound == outcome.measure.value and outcome.met


def test_a_baseline_is_known_by_the_content_of_its_gold_set() -> None:
    earlier = report(score(GOLD, served()))
    assert score(GOLD[::-1], served(), baseline=earlier).verdict == "SHIP"
    with pytest.raises(DataError, match="baseline-gold"):
        score([*GOLD, gold("new")], [*served(), trace("new") | {"e2e_ms": 1}], baseline=earlier)


def sealed(changed: dict[str, Any]) -> dict[str, Any]:
    """A report whose digest is that of what it says now."""
    return changed | {"digest": digest(changed)}


@pytest.mark.parametrize("inputs", [{}, {"gold": {"sha256": None}}])
def test_a_baseline_that_does_not_tell_its_gold_set_is_refused(inputs: Any) -> None:
    earlier = sealed(report(score(GOLD, served())) | {"inputs": inputs})
    with pytest.raises(DataError, match="baseline-gold"):
        score(GOLD, served(), baseline=earlier)


def test_an_edited_baseline_is_not_believed(before: tuple[str, str]) -> None:
    """From a file and from Python: a slower baseline, and one without the metric that would stop this run."""
    slow = served(1600, 6, cost_usd=0.01)
    stated = json.loads(Path(before[1]).read_bytes())
    assert score(before[0], slow, baseline=before[1]).verdict == "NO-SHIP"
    slower = json.loads(json.dumps(stated).replace('"exact": "1000"', '"exact": "9000"'))
    without = stated | {"metrics": {name: one for name, one in stated["metrics"].items() if name != "p95"}}
    for edited in (slower, without):
        assert edited != stated
        Path(before[1]).write_text(json.dumps(edited))
        for baseline in (before[1], edited):
            with pytest.raises(DataError, match="report-edited") as error:
                score(before[0], slow, baseline=baseline)
            assert "edited after it was written" in str(error.value)


@pytest.mark.parametrize("name", ["p95", "precision", "p50", "p90", "cost_per_correct"])
def test_a_baseline_without_a_guarded_metric_is_refused(name: str) -> None:
    earlier = report(score(GOLD, served()))
    earlier = sealed(earlier | {"metrics": {key: one for key, one in earlier["metrics"].items() if key != name}})
    with pytest.raises(DataError, match=rf"the baseline has no {name} to compare with.*baseline-report"):
        score(GOLD, served(), baseline=earlier)


def test_a_baseline_that_measured_nothing_of_a_guard_gives_no_verdict() -> None:
    earlier = report(score(GOLD, served()))
    undefined = {"kind": "rate", "value": None, "n": 0, "undefined": "there are no answers"}
    found = score(GOLD, served(), baseline=sealed(earlier | {"metrics": earlier["metrics"] | {"precision": undefined}}))
    assert found.verdict == "NO VERDICT" and "no baseline to compare with" in found.reasons[0]
    untimed = earlier["metrics"]["p95"] | {"value": None, "exact": None}
    with pytest.raises(DataError, match="the baseline has no p95"):
        score(GOLD, served(), baseline=sealed(earlier | {"metrics": earlier["metrics"] | {"p95": untimed}}))


def test_costs_are_guarded_where_the_baseline_has_them() -> None:
    earlier = report(score(GOLD, served()))
    assert score(GOLD, served(cost_usd=0.01), baseline=earlier).verdict == "SHIP"


def test_a_baseline_of_another_gold_set_is_refused(before: tuple[str, str], tmp_path: Any) -> None:
    other = write_lines(tmp_path / "other.jsonl", [*GOLD, gold("new")])
    with pytest.raises(DataError, match="baseline-gold"):
        score(str(other), served(), baseline=before[1])


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"shipworthy": {"suite": "answers"}, "metrics": {}}'])
def test_a_baseline_must_be_a_latency_report(text: str, tmp_path: Any) -> None:
    path = tmp_path / "base.json"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match="baseline-report"):
        score(GOLD, served(), baseline=str(path))
    with pytest.raises(DataError, match="baseline-report"):
        score(GOLD, served(), baseline=str(tmp_path / "absent.json"))


def test_a_gate_of_ones_own_against_the_baseline_stands_beside_the_budget(before: tuple[str, str]) -> None:
    decision = score(before[0], served(1100, 6, cost_usd=0.01), baseline=before[1], gates="p95<=baseline*1.05")
    gates = [str(outcome.gate) for outcome in decision.outcomes if outcome.gate.metric == "p95"]
    assert gates == ["p95 <= 2000", "p95 <= baseline*1.05"] and decision.verdict == "NO-SHIP"
    assert score(before[0], served(), gates="p95<=baseline*1.05").exit_code == 3  # nothing to compare with


def test_only_gates_leaves_the_named_ones_alone(before: tuple[str, str]) -> None:
    def gates(**given: Any) -> list[str]:
        decision = score(before[0], served(1000), only_gates=True, **given)
        return [str(outcome.gate) for outcome in decision.outcomes]

    assert gates(gates="p99=5000", baseline=before[1]) == ["p99 <= 5000"]
    assert gates(gates="p95<=baseline*1.1", baseline=before[1]) == ["p95 <= baseline*1.1"]
    with pytest.raises(UsageError, match="gate-none"):
        gates(baseline=before[1])


def test_gates_with_numbers_stand_before_the_guards(before: tuple[str, str]) -> None:
    decision = score(before[0], served(1000, 6, cost_usd=0.01), baseline=before[1], gates="p99=5000,p50<=baseline")
    assert [str(outcome.gate) for outcome in decision.outcomes][-6:] == [
        "p99 <= 5000",
        "p95 <= baseline * 1.15",
        "precision >= baseline - 0.02",
        "p50 <= baseline",
        "p90 <= baseline * 1.5",
        "cost_per_correct <= baseline * 1.3",
    ]


def test_the_baseline_is_an_input_with_its_digest(before: tuple[str, str]) -> None:
    decision = score(before[0], served(), baseline=before[1])
    with open(before[1], "rb") as file:
        assert decision.inputs["baseline"]["sha256"] == hashlib.sha256(file.read()).hexdigest()
    assert decision.run["call"]["inputs"]["baseline"] == before[1]
