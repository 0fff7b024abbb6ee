"""How CPU time and memory grow with the data, for five kinds of run from the command line.

    python benchmarks/growth.py [--largest 1000000] [--suites answers,latency]

Each size is ten times the one before. Where time is linear, the last column stays the same. Memory is that of the
process tree. `--memory-limit` is the run that keeps all but a part of the records on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from million import make

from engines import make_trec, measured

SENTENCE = "the limit of a request is thirty seconds unless keys are rotated weekly by whoever owns an index"
WORDS = SENTENCE.split()
RUNS = 20  # of each question, in stability
LIMIT = ["--memory-limit", "128MB"]


def make_runs(folder: Path, runs: int) -> tuple[Path, Path]:
    """Questions with twenty runs each, of which some say something else."""
    questions = max(1, runs // RUNS)
    gold, log = folder / "gold.jsonl", folder / "runs.jsonl"
    with gold.open("w") as items, log.open("w") as lines:
        for number in range(questions):
            items.write(json.dumps(_item(number)) + "\n")
        for seed in range(RUNS):
            lines.writelines(json.dumps(_run(number, seed)) + "\n" for number in range(questions))
    return gold, log


def _claim(number: int) -> list[str]:
    chance = random.Random(number)
    return [chance.choice(WORDS) for _ in range(16)]


def _item(number: int) -> dict[str, object]:
    return {
        "qid": f"q{number}",
        "question": "What is the limit?",
        "answerable": number % 10 != 0,
        "gold_claim_substr": [" ".join(_claim(number)[:4])],
        "gold_citations": [f"d{number % 97}"],
    }


def _run(number: int, seed: int) -> dict[str, object]:
    chance = random.Random(number * 1_000 + seed)
    words = _claim(number)
    if chance.random() < 0.4:
        words[chance.randrange(16)] = chance.choice(WORDS)
    cited = f"d{number % 97}" if chance.random() < 0.9 else f"d{chance.randrange(97)}"
    return {
        "qid": f"q{number}",
        "seed": seed,
        "jitter": "none",
        "q": "What is the limit?",
        "retrieved_ids": [f"d{number % 97}", f"d{chance.randrange(97)}"],
        "answer_json": {"claim": " ".join(words) if chance.random() < 0.95 else "not in context", "citations": [cited]},
        "e2e_ms": chance.randrange(50, 3_000),
    }


def make_logs(folder: Path, questions: int) -> tuple[Path, Path, Path]:
    """A shadow index that finds something else than live for seven questions in ten, and cites it."""
    paths = gold, shadow, live = folder / "gold.jsonl", folder / "shadow.jsonl", folder / "live.jsonl"
    with gold.open("w") as items, shadow.open("w") as after, live.open("w") as before:
        for number in range(questions):
            chance = random.Random(number)
            relevant = chance.sample(range(1_000), chance.randint(1, 5))
            item = {
                "qid": f"q{number:07}",
                "question": "What is the limit?",
                "relevant": [f"d{doc}" for doc in relevant],
            }
            items.write(json.dumps(item) + "\n")
            for log in (after, before):
                found = chance.sample(relevant, chance.randint(0, len(relevant))) + chance.sample(range(1_000), 5)
                ids = [f"d{doc}" for doc in found]
                line = {"qid": item["qid"], "topk": [{"id": doc} for doc in ids], "answer_citations": ids[:1]}
                log.write(json.dumps(line) + "\n")
    return paths


def commands(suite: str, folder: Path, size: int) -> Iterator[tuple[str, list[str]]]:
    call = [sys.executable, "-m", "shipworthy"]
    if suite == "answers":
        gold, trace = make(folder, size, 400)
        score = [*call, "score", "--gold", str(gold), "--trace", str(trace)]
        yield "answers, 400 questions, inline", [*score, "--engine", "memory"]
        yield "answers, 400 questions, disk", [*score, "--engine", "disk", "--jobs", "2"]
    elif suite == "retrieval":
        qrels, run = make_trec(folder, size // 10)
        yield (
            "retrieval, a tenth as many queries",
            [
                *(*call, "retrieval", "score", "--qrels", str(qrels), "--run", str(run)),
                *("--metrics", "P@10,R@10,nDCG@10,MRR,MAP"),
            ],
        )
    elif suite == "live":
        gold, shadow, live = make_logs(folder, size // 10)
        score = [*call, "retrieval", "score", "--gold", str(gold), "--shadow", str(shadow), "--live", str(live)]
        score += ["-o", str(folder / "report.json"), "--engine", "memory"]
        yield "retrieval beside live, a tenth as many questions, seven in ten changed", score
        yield f"the same, {' '.join(LIMIT)}", [*score, *LIMIT]
    else:
        gold, log = make_runs(folder, size)
        flag = "--runs" if suite == "stability" else "--trace"
        score = [*call, suite, "score", "--gold", str(gold), flag, str(log), "--engine", "memory"]
        yield f"{suite}, {RUNS} runs a question", score
        yield f"{suite}, {' '.join(LIMIT)}", [*score, *LIMIT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="records of the largest run")
    parser.add_argument("--suites", default="answers,stability,latency,retrieval,live")
    chosen = parser.parse_args()
    print("| | records | CPU s | time s | MB | load | µs a record |\n|---|---|---|---|---|---|---|")
    for suite in chosen.suites.split(","):
        size = 10_000
        while size <= chosen.largest:
            with tempfile.TemporaryDirectory() as folder:
                for name, command in commands(suite, Path(folder), size):
                    ran = measured(command)
                    shown = f"{ran.cpu:.2f} | {ran.seconds:.1f} | {ran.megabytes:.0f} | {os.getloadavg()[0]:.1f}"
                    print(f"| {name} | {size:,} | {shown} | {ran.cpu / size * 1e6:.1f} |", flush=True)
            size *= 10


if __name__ == "__main__":
    main()
