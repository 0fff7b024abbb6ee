"""Start-up: `shipworthy --help` and scores of 30 items beside the bare interpreter, and what they import.

    python benchmarks/startup.py [--repeats 40]

Milliseconds of CPU (user + system) and by the clock, each the best of forty, taken in turn; byte code is compiled
beforehand. The command is the installed `shipworthy`, as people type it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import shipworthy


def files(folder: Path, wrong: int = 0) -> tuple[str, str]:
    """Thirty questions, ten of them unanswerable, all answered well but the last few."""
    gold, trace = folder / "gold.jsonl", folder / f"trace{wrong}.jsonl"
    with gold.open("w") as golds, trace.open("w") as traces:
        for n in range(30):
            known = n % 3 != 0
            item = {
                "qid": f"Q{n}",
                "question": f"Question {n}?",
                "answerable": known,
                "gold_claim_substr": [f"value {n} holds"] if known else [],
                "gold_citations": [f"d{n}"] if known else [],
            }
            claim = f"Here value {n + (n >= 30 - wrong)} holds." if known else "not in context"
            answer = {"claim": claim, "citations": [f"d{n}"] if known else []}
            golds.write(json.dumps(item) + "\n")
            traces.write(json.dumps({"qid": f"Q{n}", "retrieved_ids": [f"d{n}", "x"], "answer_json": answer}) + "\n")
    return str(gold), str(trace)


def times(command: list[str]) -> tuple[float, float]:
    """Milliseconds of CPU, and by the clock."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * cpu, 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(str(Path(shipworthy.__file__).parent), quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        gold, trace = files(Path(folder))
        run = [str(Path(sys.executable).with_name("shipworthy"))]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import click, msgspec": [sys.executable, "-c", "import click, msgspec"],
            "shipworthy --help": [*run, "--help"],
            "30 items that pass": [*run, "score", "--gold", gold, "--trace", trace],
            "30 items that fail": [*run, "score", "--gold", gold, "--trace", files(Path(folder), wrong=12)[1]],
        }
        best = dict.fromkeys(commands, (float("inf"), float("inf")))
        for _ in range(repeats):
            for name, command in commands.items():
                cpu, wall = times(command)
                best[name] = min(best[name][0], cpu), min(best[name][1], wall)
        bare = best["python -c pass"]
        for name, (cpu, wall) in best.items():
            print(
                f"  {name:28} CPU {cpu:6.1f} ms {cpu / bare[0]:5.2f} x   clock {wall:6.1f} ms {wall / bare[1]:5.2f} x"
            )
        shown = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "shipworthy", "score", "--gold", gold, "--trace", trace],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
        names = {line.split("|")[-1].strip().split(".")[0] for line in shown.splitlines() if "|" in line}
        third = sorted(
            names & {"click", "msgspec", "rich", "jinja2", "rapidfuzz", "aiohttp", "starlette", "numpy", "asyncio"}
        )
        print(f"  score imports {len(names)} top-level modules; of the dependencies: {', '.join(third)}")


if __name__ == "__main__":
    main()
