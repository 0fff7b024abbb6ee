"""P@{1,3,5,10} and R@{1,3,5,10} from file to numbers, beside other tools, each in a process of its own.

    python benchmarks/retrieval.py --size 100000
    python benchmarks/retrieval.py --size 1000000 --tools shipworthy-jsonl,shipworthy-trec

Ten retrieved ids and one to three relevant ones a question, the same data as JSON lines and as TREC files. Tools that
are not installed are named and left out. Peak memory is that of the process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

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


TOOLS: dict[str, tuple[str, Callable[[Path], dict[str, float]]]] = {
    "shipworthy-jsonl": ("shipworthy", shipworthy_jsonl),
    "shipworthy-trec": ("shipworthy", shipworthy_trec),
    "pytrec_eval": ("pytrec_eval", pytrec_eval),
    "ir_measures": ("ir_measures", ir_measures),
    "ranx": ("ranx", ranx),
}


def measure(tool: str, folder: Path) -> None:
    """Run one tool in this process and print what it took as JSON."""
    wall, cpu = time.perf_counter(), time.process_time()
    values = TOOLS[tool][1](folder)
    used = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"values": values, **used, "peak_mb": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000, help="questions")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument(
        "--python", action="append", default=[], metavar="TOOL=PATH", help="another interpreter for a tool"
    )
    parser.add_argument("--measure", nargs=2, metavar=("TOOL", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], Path(given.measure[1]))
        return
    interpreters = dict(pair.split("=", 1) for pair in given.python)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), given.size)
        compare(given.tools.split(","), folder, given.size, interpreters)


def compare(tools: list[str], folder: str, size: int, interpreters: dict[str, str]) -> None:
    first: dict[str, float] | None = None
    print(f"{'tool':18} {'wall s':>8} {'CPU s':>8} {'questions per CPU-s':>20} {'peak MB':>9}  values")
    for tool in tools:
        if tool not in interpreters and find_spec(TOOLS[tool][0]) is None:
            print(f"{tool:18} not installed")
            continue
        command = [interpreters.get(tool, sys.executable), __file__, "--measure", tool, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{tool:18} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found["values"]
        agrees = all(abs(found["values"][name] - value) < 1e-9 for name, value in first.items())
        print(
            f"{tool:18} {found['wall_s']:8.2f} {found['cpu_s']:8.2f} {size / found['cpu_s']:20,.0f} "
            f"{found['peak_mb']:9.0f}  {'agree' if agrees else 'DIFFER'}"
        )


if __name__ == "__main__":
    main()
