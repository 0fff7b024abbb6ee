"""The engines beside the reference loop and a bare decode: CPU seconds, time, and memory of the whole process tree.

    python benchmarks/engines.py [--lines 1000000] [--pairs 200000] [--queries 100000] [--repeats 3]

Contenders run as processes of their own, in turn, and the best of several is shown with its ratio to the first. The
loop is of this project's own writing, in plain Python; the bare decode reads the same lines into typed records and
does nothing with them. pytrec_eval has an environment of its own, and is skipped by name where it can't be installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from environments import interpreter
from million import SCORE, make, yardstick

DECODE = """
import sys, msgspec
class Answer(msgspec.Struct):
    claim: str = ""
    citations: list[str] = []
class Trace(msgspec.Struct):
    qid: str
    retrieved_ids: list[str] = []
    answer_json: Answer | None = None
decode = msgspec.json.Decoder(Trace).decode
count = 0
for line in open(sys.argv[1], "rb"):
    decode(line)
    count += 1
print(count)
"""
PYTREC = """
import sys, pytrec_eval
with open(sys.argv[1]) as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open(sys.argv[2]) as lines:
    run = pytrec_eval.parse_run(lines)
found = pytrec_eval.RelevanceEvaluator(qrels, {"P_10", "recall_10", "ndcg_cut_10", "recip_rank", "map"}).evaluate(run)
print(len(found), sum(one["map"] for one in found.values()) / len(found))
"""


class Ran(NamedTuple):
    cpu: float
    seconds: float
    megabytes: float


def measured(command: list[str]) -> Ran:
    """One run of a command, with everything that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        watch = Peak(process.pid)
        process.wait()
        seconds = time.monotonic() - start
        peak = watch.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1, 3):
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    return Ran(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds, peak)


class Peak:
    """The most memory that a process and its children had together; shared pages are counted once (Linux)."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._going = pid, 0.0, True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._going:
            self._most = max(self._most, sum(map(_megabytes, [self._pid, *_children(self._pid)])))
            time.sleep(0.1)

    def stop(self) -> float:
        self._going = False
        self._thread.join()
        return self._most


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000
    except (OSError, IndexError):
        return 0.0


def race(title: str, contenders: dict[str, list[str]], records: int, repeats: int) -> dict[str, Ran]:
    """Every contender in turn, several times; the best of each is printed and given back."""
    best: dict[str, Ran] = {}
    for _ in range(repeats):
        for name, command in contenders.items():
            ran = measured(command)
            old = best.get(name, ran)
            best[name] = Ran(min(old.cpu, ran.cpu), min(old.seconds, ran.seconds), max(old.megabytes, ran.megabytes))
    print(f"\n{title}; best of {repeats}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| | CPU s | CPU ratio | time s | time ratio | MB | records/CPU s |\n|---|---|---|---|---|---|---|")
    first = next(iter(best.values()))
    for name, ran in best.items():
        ratios = f"{first.cpu / ran.cpu:.2f} | {ran.seconds:.2f} | {first.seconds / ran.seconds:.2f}"
        print(f"| {name} | {ran.cpu:.2f} | {ratios} | {ran.megabytes:.0f} | {records / ran.cpu:,.0f} |", flush=True)
    return best


def scored(folder: Path, gold: Path, trace: Path, *engine: str) -> list[str]:
    """The command that prints the decision and writes one JSON report, with a row for each item."""
    out = str(folder / "report.json")
    return [*SCORE, "--gold", str(gold), "--trace", str(trace), "-o", out, "--engine", *engine]


def answers(folder: Path, lines: int, items: int, repeats: int) -> None:
    folder.mkdir()
    gold, trace = make(folder, lines, items)
    base, command = yardstick(gold, trace)
    contenders = {
        base: command,
        "bare typed decode": [sys.executable, "-c", DECODE, str(trace)],
        "memory": scored(folder, gold, trace, "memory"),
        "disk, 2": scored(folder, gold, trace, "disk", "--jobs", "2"),
    }
    if importlib.util.find_spec("pyarrow"):
        contenders["memory, Parquet"] = scored(folder, gold, to_parquet(trace), "memory")
    contenders["memory, --memory-limit 128MB"] = [*contenders["memory"], "--memory-limit", "128MB"]
    race(f"{items:,} gold items, {lines:,} traces, JSON report written", contenders, lines, repeats)


def to_parquet(trace: Path) -> Path:
    import pyarrow.json
    import pyarrow.parquet

    path = trace.with_suffix(".parquet")
    pyarrow.parquet.write_table(pyarrow.json.read_json(trace), path, row_group_size=50_000)
    return path


def trec(folder: Path, queries: int, repeats: int) -> None:
    folder.mkdir()
    qrels, run = make_trec(folder, queries)
    files = ["--qrels", str(qrels), "--run", str(run), "--metrics", "P@10,R@10,nDCG@10,MRR,MAP"]
    ours = [sys.executable, "-m", "shipworthy", "retrieval", "score", *files]
    contenders = {"shipworthy, printed": ours, "shipworthy, JSON with a row for each query": [*ours, "--json"]}
    if python := interpreter("pytrec_eval"):
        contenders = {"pytrec_eval": [python, "-c", PYTREC, str(qrels), str(run)]} | contenders
    race(f"TREC files, {queries:,} queries, 30 ranks", contenders, queries, repeats)


def make_trec(folder: Path, queries: int) -> tuple[Path, Path]:
    """Lists of 30 documents, and one to six relevant ones of which a quarter was not retrieved: few lists are alike."""
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    chance = random.Random(7)
    with qrels.open("w") as judged, run.open("w") as ranked:
        for query in range(queries):
            docs = chance.sample(range(100_000), 40)
            relevant = chance.sample(docs, chance.randint(1, 6))
            judged.writelines(f"q{query} 0 d{doc} 1\n" for doc in relevant)
            score = 20.0
            for rank, doc in enumerate(docs[:30], 1):
                score -= chance.random() / 2 + 0.001
                ranked.write(f"q{query} Q0 d{doc} {rank} {score:.4f} bm25\n")
    return qrels, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("lines", 1_000_000), ("pairs", 200_000), ("queries", 100_000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        answers(Path(folder) / "many", chosen.lines, 400, chosen.repeats)
        answers(Path(folder) / "pairs", chosen.pairs, chosen.pairs, chosen.repeats)
        trec(Path(folder) / "trec", chosen.queries, chosen.repeats)


if __name__ == "__main__":
    main()
