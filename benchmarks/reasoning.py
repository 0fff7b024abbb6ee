"""The reasoning controls in both profiles, the held-back answers, and the time that scoring takes.

python benchmarks/reasoning.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

from shipworthy.stats import auc
from shipworthy.suites.reasoning import Answer, Fixture, judge, load_fixture, score
from shipworthy.suites.reasoning.controls import controls

HELD_BACK = Path(__file__).parents[1] / "tests" / "reason_heldback.jsonl"
FIXTURE = Path(str(files("shipworthy") / "data" / "reason-v1.json"))


def main() -> None:
    fixture = load_fixture(FIXTURE)
    print_controls(fixture)
    print_held_back(fixture)
    print_time(fixture)


def print_controls(fixture: Fixture) -> None:
    print(f"{'control':<34} {'truth':<5} {'signals':>8} {'':>6} {'grounded':>9} {'':>6}   ships")
    for control in controls(fixture):
        cells = []
        for profile in ("signals", "grounded"):
            card = score(fixture, control.answers, profile)
            mean, _ = card.overall()
            cells.append((float(mean or 0), card.passed, "SHIP" if card.ships else "no"))
        (s_mean, s_passed, s_ships), (g_mean, g_passed, g_ships) = cells
        truth = "good" if control.good else "bad"
        print(
            f"{control.name:<34} {truth:<5} {s_mean:>8.4f} {s_passed:>3}/30 {g_mean:>9.4f} {g_passed:>3}/30   "
            f"signals {s_ships}, grounded {g_ships}"
        )


def print_held_back(fixture: Fixture) -> None:
    cases = {case.id: case for case in fixture.cases}
    rows = [json.loads(line) for line in HELD_BACK.read_text(encoding="utf-8").splitlines()]
    for profile in ("signals", "grounded"):
        scores: dict[str, tuple[list[Fraction], list[Fraction]]] = {}
        passed = {True: 0, False: 0}
        for row in rows:
            verdict = judge(cases[row["id"]], Answer(row["content"]), fixture, profile)
            scores.setdefault(row["id"], ([], []))[not row["good"]].append(verdict.overall or Fraction(0))
            passed[row["good"]] += verdict.passed
        areas = [area for good, bad in scores.values() if (area := auc(good, bad)) is not None]
        good = [value for pair in scores.values() for value in pair[0]]
        bad = [value for pair in scores.values() for value in pair[1]]
        print(
            f"held back, {profile}: AUC {float(auc(good, bad) or 0):.4f}, lowest case {float(min(areas)):.4f}; "
            f"{passed[True]} of {len(good)} good pass, {passed[False]} of {len(bad)} bad pass"
        )


def print_time(fixture: Fixture) -> None:
    answers = controls(fixture)[-1].answers
    start = time.perf_counter()
    score(fixture, answers)
    scoring = time.perf_counter() - start
    print(f"scoring 30 cases {scoring:.3f} s; python -c pass {_bare_python():.3f} s")


def _bare_python() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
