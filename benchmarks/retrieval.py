"""P@{1,3,5,10} and R@{1,3,5,10} from file to numbers, beside other tools, each in a process of its own.

    python benchmarks/retrieval.py --size 100000
    python benchmarks/retrieval.py --size 1000000 --tools shipworthy-jsonl,shipworthy-trec

Ten retrieved ids and one to three relevant ones a question, the same data as JSON lines and as TREC files. Each tool
has an environment of its own; one that can't be installed is skipped by name. They take turns, and the best run counts.
Start and imports are not counted. Peak memory is that of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environments import HOME, interpreter

DEPTHS = (1, 3, 5, 10)
METRICS = ",".join(f"{kind}@{k}" for kind in ("P", "R") for k in DEPTHS)


def make(folder: Path, size: int) -> None:
    """Write the four files."""
    draw = random.Random(7)
    names = [folder / name for name in ("gold.jsonl", "log.jsonl", "qrels.txt", "run.txt")]
    with names[0].open("w") as gold, names[1].open("w") as log, names[2].open("w") as qrels, names[3].open("w") as run:
        for number in range(size):
            qid = f"q{number}"
            pool = [f"d{draw.randrange(1_000_000)}" for _ in range(12)]
            retrieved = list(dict.fromkeys(pool))[:10]
            relevant = sorted(set(draw.sample(pool, draw.randint(1, 3))))
            gold.write(json.dumps({"qid": qid, "relevant": relevant}) + "\n")
            log.write(json.dumps({"qid": qid, "retrieved_ids": retrieved}) + "\n")
            qrels.writelines(f"{qid} 0 {name} 1\n" for name in relevant)
            run.writelines(f"{qid} Q0 {name} {rank} {1 - rank / 100:.4f} t\n" for rank, name in enumerate(retrieved, 1))


def shipworthy_jsonl(folder: Path) -> dict[str, float]:
    from shipworthy import evaluate

    decision = evaluate(
        "retrieval",
        gold=folder / "gold.jsonl",
        shadow=folder / "log.jsonl",
        metrics=METRICS,
        denominator="k",
        per_question=False,
    )
    return {
        f"{kind}@{k}": float(decision.measures[f"{name}@{k}"].value or 0)
        for kind, name in (("P", "precision"), ("R", "recall"))
        for k in DEPTHS
    }


def shipworthy_trec(folder: Path) -> dict[str, float]:
    from shipworthy import evaluate

    decision = evaluate(
        "retrieval", qrels=folder / "qrels.txt", run=folder / "run.txt", metrics=METRICS, per_question=False
    )
    return {
        f"{kind}@{k}": float(decision.measures[f"{name}_{k}"].value or 0)
        for kind, name in (("P", "P"), ("R", "recall"))
        for k in DEPTHS
    }


def pytrec_eval(folder: Path) -> dict[str, float]:
    import pytrec_eval as peer

    with (folder / "qrels.txt").open() as qrels, (folder / "run.txt").open() as run:
        judged, ranked = peer.parse_qrel(qrels), peer.parse_run(run)
    depths = ",".join(map(str, DEPTHS))
    rows = peer.RelevanceEvaluator(judged, {f"P.{depths}", f"recall.{depths}"}).evaluate(ranked)
    return {
        f"{kind}@{k}": sum(row[f"{name}_{k}"] for row in rows.values()) / len(rows)
        for kind, name in (("P", "P"), ("R", "recall"))
        for k in DEPTHS
    }


def ir_measures(folder: Path) -> dict[str, float]:
    import ir_measures as peer

    wanted = [peer.parse_measure(name) for name in METRICS.split(",")]
    qrels = peer.read_trec_qrels(str(folder / "qrels.txt"))
    run = peer.read_trec_run(str(folder / "run.txt"))
    return {str(name): value for name, value in peer.calc_aggregate(wanted, qrels, run).items()}


def ranx(folder: Path) -> dict[str, float]:
    import ranx as peer

    wanted = [f"{name}@{k}" for name in ("precision", "recall") for k in DEPTHS]
    qrels = peer.Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
    run = peer.Run.from_file(str(folder / "run.txt"), kind="trec")
    found = peer.evaluate(qrels, run, wanted)
    return {
        f"{'P' if name.startswith('p') else 'R'}@{name.partition('@')[2]}": float(value)
        for name, value in found.items()
    }


TOOLS: dict[str, Callable[[Path], dict[str, float]]] = {
    "shipworthy-jsonl": shipworthy_jsonl,
    "shipworthy-trec": shipworthy_trec,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
}


def measure(tool: str, folder: Path) -> None:
    """Run one tool in this process and print what it took as JSON."""
    wall, cpu = time.perf_counter(), time.process_time()
    values = TOOLS[tool](folder)
    used = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"values": values, **used, "peak_mb": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000, help="questions")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--home", type=Path, default=HOME, help="where the tools' environments are kept")
    parser.add_argument("--measure", nargs=2, metavar=("TOOL", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], Path(given.measure[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), given.size)
        commands = {tool: command(tool, folder, given.home) for tool in given.tools.split(",")}
        compare({tool: found for tool, found in commands.items() if found}, given.size, given.repeats)


def command(tool: str, folder: str, home: Path) -> list[str] | None:
    python = sys.executable if tool.startswith("shipworthy") else interpreter(tool, home)
    return [python, "-W", "ignore", __file__, "--measure", tool, folder] if python else None


def compare(commands: dict[str, list[str]], size: int, repeats: int) -> None:
    best: dict[str, dict[str, Any]] = {}
    for _ in range(repeats):
        for tool, call in commands.items():
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{tool} failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            best[tool] = min(best.get(tool, found), found, key=lambda ran: ran["cpu_s"])
    first = next(iter(best.values()))["values"]
    print(f"{size:,} questions, best of {repeats}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| | CPU s | questions per CPU s | MB | values |\n|---|---|---|---|---|")
    for tool, ran in best.items():
        agrees = all(abs(ran["values"][name] - value) < 1e-9 for name, value in first.items())
        rate = f"{ran['cpu_s']:.2f} | {size / ran['cpu_s']:,.0f} | {ran['peak_mb']:.0f}"
        print(f"| {tool} | {rate} | {'agree' if agrees else 'DIFFER'} |")


if __name__ == "__main__":
    main()
