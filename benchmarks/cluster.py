"""A Dask cluster of one worker and of two on this machine: time of the whole command, start included.

    python benchmarks/cluster.py [--lines 2000000] [--repeats 3]

The clusters are up before the clock starts and take turns; every report must have the same digest. Time by the clock
means something only on a machine that does nothing else: the load is printed with each run.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from million import SCORE, make


def timed(gold: Path, trace: Path, *engine: str) -> tuple[float, str]:
    command = [*SCORE, "--gold", str(gold), "--trace", str(trace), "--json", "--engine", *engine]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    return time.monotonic() - start, json.loads(done.stdout)["digest"]


def race(gold: Path, trace: Path, repeats: int) -> None:
    from distributed import LocalCluster

    logging.disable(logging.INFO)  # what clusters say when they are closed
    clusters = {
        n: LocalCluster(
            n_workers=n,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        )
        for n in (1, 2)
    }
    engines = {f"dask, {n}": ("dask", "--scheduler", one.scheduler_address) for n, one in clusters.items()}
    engines |= {"memory": ("memory",), "disk, 2": ("disk", "--jobs", "2")}
    digests = set()
    for _ in range(repeats):
        for name, engine in engines.items():
            seconds, digest = timed(gold, trace, *engine)
            digests.add(digest)
            print(f"{name:12} {seconds:7.2f} s   load {os.getloadavg()[0]:.1f}", flush=True)
    print("same report:", len(digests) == 1)
    for one in clusters.values():
        one.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    try:
        import distributed  # noqa: F401 — only to see whether it is there
    except ImportError:
        sys.exit("skipped: the package distributed (extra: dask) is not installed")
    with tempfile.TemporaryDirectory() as folder:
        race(*make(Path(folder), chosen.lines, 400), chosen.repeats)


if __name__ == "__main__":
    main()
