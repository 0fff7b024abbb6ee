"""Power and A/A: how many questions the gates need, and how often the same pipeline would be decided otherwise."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import DataError, evaluate, stats
from shipworthy.jobs.power import DRAWS, flips

ITEMS = [*(gold(f"A{i:02}") for i in range(40)), unanswerable("U1")]


def run(*wrong: int) -> list[dict[str, Any]]:
    rows = [trace(f"A{i:02}", "no idea at all" if i in wrong else "The right answer.") for i in range(40)]
    return [*rows, refusal("U1")]


def report(*wrong: int, gates: str = "precision>=0.8") -> dict[str, Any]:
    return evaluate(ITEMS, run(*wrong), gates=[gates], only_gates=True).report()


# --- power ---


def test_power_of_gates_at_assumed_rates(cli: Cli) -> None:
    ran = cli("power", "--gates", "precision>=0.8,under=0.05", "--rate", "precision=0.9", "--json")
    first, second = json.loads(ran.out)
    assert first["items"] == stats.n_for_power(Fraction(4, 5), Fraction(9, 10)) and first["smallest"] == 14
    assert second["gate"] == "under_refusal <= 0.05" and second["items"] is None and "--rate" in second["why"]
    ran = cli("power", "--gates", "under_refusal<=0.05", "--rate", "under_refusal=0.01")
    items = stats.n_for_power(Fraction(19, 20), Fraction(99, 100))
    assert f"under_refusal <= 0.05: {items} items at the rate 0.010 (assumed)" in ran.out


def test_power_of_a_report_at_the_observed_rate(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(evaluate(ITEMS, run(1, 2)).report()))
    needs = {one["gate"]: one for one in json.loads(cli("power", path, "--json").out)}
    need = needs["precision >= 0.80"]
    assert need["rate"] == 0.95 and need["n"] == 40 and not need["assumed"]
    assert need["items"] == stats.n_for_power(Fraction(4, 5), Fraction(19, 20))
    assert need["questions"] == -(-need["items"] * 41 // 40)
    assert need["power"] == pytest.approx(float(stats.power_at(40, Fraction(4, 5), Fraction(19, 20))))
    assert "not a rate" in needs["missing <= 0"]["why"]
    assert "precision >= 0.80" in cli("power", path, "--rate", "precision=0.9").out


def test_power_of_a_config(tmp_path: Path, cli: Cli) -> None:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", run(1, 2))
    config = tmp_path / "shipworthy.toml"
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\ngates = ["precision >= 0.9"]\n')
    assert "answers precision >= 0.9: " in cli("power", "--config", config).out
    assert not (tmp_path / ".shipworthy").exists()
    (tmp_path / "trace.jsonl").unlink()
    assert "power-nothing" in cli("power", "--config", config).err


def test_what_no_number_of_questions_proves(cli: Cli) -> None:
    assert "no number of questions proves" in cli("power", "--gates", "precision>=1", "--rate", "precision=0.99").out
    wrong = cli("power", "--gates", "precision>=0.9", "--rate", "precision=0.8").out
    assert "this rate misses the threshold; 29 items if all pass" in wrong
    for rate in ("precision", "precision=2", "precision=1/0", "=0.5"):
        assert cli("power", "--gates", "precision>=0.9", "--rate", rate).code == 2


# --- A/A ---


def test_a_decision_that_hangs_on_three_questions_exactly() -> None:
    # 31 are right in both runs and 3 in the first alone: k = 31 + Bin(3, 1/2), and 32 of 40 are needed.
    found = flips(report(*range(6)), report(*range(9)))
    assert found.decisions == ("SHIP", "NO-SHIP") and found.differ == ["A06", "A07", "A08"]
    assert found.exact and found.mixtures == 8
    assert found.ships == Fraction(7, 8) and found.flips == 2 * Fraction(7, 8) * Fraction(1, 8)
    assert [one.holds for one in found.gates] == [Fraction(7, 8)]


def test_runs_that_are_the_same_never_flip() -> None:
    found = flips(report(1), report(1))
    assert (found.ships, found.flips, found.mixtures, found.differ) == (1, 0, 1, [])


def test_many_differences_are_drawn_the_same_every_time() -> None:
    first, second = report(*range(8)), report(*range(8, 24))
    found, again = flips(first, second), flips(first, second)
    assert not found.exact and found.mixtures == DRAWS and found == again
    exact = sum(Fraction(1, 2**24) * comb(24, k) for k in range(25) if 16 + k >= 32)  # 16 right in both
    assert abs(float(found.ships) - float(exact)) < 0.02


def test_a_question_that_is_answered_in_one_run_only_moves_the_denominator() -> None:
    refused = [refusal("A00"), *run(1)[1:]]
    first = evaluate(ITEMS, run(0, 1), gates=["precision>=0.96"], only_gates=True).report()
    second = evaluate(ITEMS, refused, gates=["precision>=0.96"], only_gates=True).report()
    assert flips(first, second).ships == Fraction(1, 2)


def test_gates_that_rows_do_not_tell_are_taken_as_they_were() -> None:
    first, second = (evaluate(ITEMS, run(*wrong)).report() for wrong in ((1,), (2,)))
    told = {one.gate: one.told for one in flips(first, second).gates}
    assert told["precision >= 0.80"] and not told["missing <= 0"]


def test_aa_from_the_command_line(tmp_path: Path, cli: Cli) -> None:
    golds = write_lines(tmp_path / "gold.jsonl", ITEMS)
    one, two = (write_lines(tmp_path / f"{i}.jsonl", run(*range(i))) for i in (6, 9))
    ran = cli("aa", one, two, "--gold", golds)
    assert ran.code == 0 and "3 of 41 questions differ: A06, A07, A08" in ran.out
    assert "two runs would decide differently in 21.9% of cases" in ran.out
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, wrong in zip(paths, (6, 9), strict=True):
        path.write_text(json.dumps(report(*range(wrong))))
    assert cli("aa", *paths, "--json").json["flips"] == pytest.approx(0.21875)


def test_runs_on_other_terms_are_refused(tmp_path: Path, cli: Cli) -> None:
    with pytest.raises(DataError, match="different gates"):
        flips(report(1), report(1, gates="precision>=0.9"))
    (tmp_path / "x.json").write_text("{}")
    assert cli("aa", tmp_path / "x.json", tmp_path / "x.json").code == 3
