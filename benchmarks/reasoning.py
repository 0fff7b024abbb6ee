"""The reasoning controls in both profiles, the held-back answers, and the time that scoring takes.

python benchmarks/reasoning.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from shipworthy import evaluate
from shipworthy.stats import auc
from shipworthy.suites.reasoning.controls import BAD, GOOD, control_answers
from shipworthy.suites.reasoning.fixture import Fixture, ReasonCase, bundled_fixture, load_fixture
from shipworthy.suites.reasoning.judge import judge_answer
from shipworthy.suites.reasoning.verdict import ReasonerAnswer

TESTS = Path(__file__).parents[1] / "tests"
Rows = list[dict[str, Any]]


def main() -> None:
    fixture = bundled_fixture()
    print_controls(fixture)
    cases = {case.id: case for case in (*fixture.cases, *load_fixture(TESTS / "reason_rounds.json").cases)}
    shipped = {case.id for case in fixture.cases}
    for name, rows in written(shipped).items():
        print_area(name, rows, cases, fixture)
    print_time(fixture)


def print_controls(fixture: Fixture) -> None:
    print(f"{'control':<34} {'truth':<5} {'signals':>8} {'':>6} {'grounded':>9} {'':>6}   ships")
    for control in (*BAD, *GOOD):
        cells = []
        for profile in ("signals", "grounded"):
            answers = control_answers(fixture, control)
            decision = evaluate("reasoning", fixture=fixture, answers=answers, profile=profile)
            mean = decision.measures["average_overall"].value
            cells.append((float(mean or 0), decision.counts["passed"], "SHIP" if decision.ships else "no"))
        (s_mean, s_passed, s_ships), (g_mean, g_passed, g_ships) = cells
        truth = "good" if control in GOOD else "bad"
        print(
            f"{control:<34} {truth:<5} {s_mean:>8.4f} {s_passed:>3}/30 {g_mean:>9.4f} {g_passed:>3}/30   "
            f"signals {s_ships}, grounded {g_ships}"
        )


def written(shipped: set[str]) -> dict[str, Rows]:
    """The answers that were written to be told apart: the first hundred, and the rounds, shipped cases and others."""
    sets: dict[str, Rows] = {"held back": _lines(TESTS / "reason_heldback.jsonl")}
    for row in _lines(TESTS / "reason_rounds.jsonl"):
        kind = "shipped cases" if row["id"] in shipped else "other domains"
        sets.setdefault(f"round {row['round']}, {kind}", []).append(row)
    return sets


def _lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def print_area(name: str, rows: Rows, cases: Mapping[str, ReasonCase], fixture: Fixture) -> None:
    for profile in ("signals", "grounded"):
        scores: dict[str, tuple[list[Fraction], list[Fraction]]] = {}
        passed = {True: 0, False: 0}
        for row in rows:
            verdict = judge_answer(cases[row["id"]], ReasonerAnswer(row["content"]), fixture, profile)
            scores.setdefault(row["id"], ([], []))[not row["good"]].append(verdict.overall or Fraction(0))
            passed[row["good"]] += verdict.passed
        areas = [area for good, bad in scores.values() if (area := auc(good, bad)) is not None]
        good = [value for pair in scores.values() for value in pair[0]]
        bad = [value for pair in scores.values() for value in pair[1]]
        print(
            f"{name:<24} {profile:<9} AUC {float(auc(good, bad) or 0):.4f}, "
            f"{sum(area == 1 for area in areas)} of {len(areas)} cases 1.0; "
            f"{passed[True]} of {len(good)} good pass, {passed[False]} of {len(bad)} bad pass"
        )


def print_time(fixture: Fixture) -> None:
    answers = control_answers(fixture, "structured right answers")
    start = time.perf_counter()
    evaluate("reasoning", fixture=fixture, answers=answers)
    print(f"scoring 30 cases {time.perf_counter() - start:.3f} s, best of 10 runs of the command line, CPU:")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonl"
        lines = [json.dumps({"id": id_, "content": answer.content}) for id_, answer in answers.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
        score = cpu_time("-m", "shipworthy", "reason", "score", "--answers", str(path))
    print(f"  reason score {score:.3f} s, python -c pass {cpu_time('-c', 'pass'):.3f} s")


def cpu_time(*arguments: str, runs: int = 10) -> float:
    """Processor seconds of a Python command, the best of several runs."""
    best = float("inf")
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


if __name__ == "__main__":
    main()
