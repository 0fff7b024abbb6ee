"""Write today's verdicts on the pinned answers again: python tests/suites/reasoning/pinned/make.py

The answers were written to try the shipped cases. They are a pin against change, never a measure of how good the
rules are: earlier rules were fitted to them.
"""

from __future__ import annotations

import json
from pathlib import Path

from shipworthy.jobs.evaluate import evaluate

PINNED = Path(__file__).with_name("answers.jsonl")


def verdicts(rows: list[dict[str, object]]) -> list[list[str]]:
    """What stops each answer; nothing where it passes. Cases repeat, so that each answer is judged by itself."""
    stopped = []
    for row in rows:
        report = evaluate("reasoning", answers={str(row["id"]): str(row["content"])}).report()
        result = next(one for one in report["results"] if one["id"] == row["id"])
        stopped.append([] if result["passed"] else result["hard_failures"] + result["below_minimum"] or ["overall"])
    return stopped


def read() -> list[dict[str, object]]:
    return [json.loads(line) for line in PINNED.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    rows = read()
    lines = [
        json.dumps(row | {"stopped": why}, ensure_ascii=False) for row, why in zip(rows, verdicts(rows), strict=True)
    ]
    PINNED.write_text("\n".join(lines) + "\n", encoding="utf-8")
