"""Runs per second, memory and resume time of the runner.

python benchmarks/runner.py                 a stub that answers after 50 ms, and the embedded server
python benchmarks/runner.py --memory 200000 memory over so many runs, and how long a resume of them takes
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shipworthy import Gold, run
from shipworthy.demo import gold_path

DELAY = 0.05
REPEATS = 3  # the best is shown: what else runs on the machine only ever slows it down
STUB = """
import asyncio, json, sys
BODY = json.dumps({"answer_json": {"claim": "Alpha holds 42 units.", "citations": ["d1#2"]},
                   "retrieved_ids": ["d1#2", "d3#1"]}).encode()
RESPONSE = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(BODY) + BODY

class Stub(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data, self.loop = transport, b"", asyncio.get_running_loop()
    def data_received(self, data):
        self.data += data
        head, mark, body = self.data.partition(b"\\r\\n\\r\\n")
        fields = [line for line in head.lower().split(b"\\r\\n") if line.startswith(b"content-length:")]
        if mark and len(body) >= (int(fields[0][15:]) if fields else 0):
            self.data = b""
            self.loop.call_later(float(sys.argv[2]), self.transport.write, RESPONSE)

async def main():
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", int(sys.argv[1]), backlog=512)
    await server.serve_forever()

asyncio.run(main())
"""
DEMO = "import sys; from shipworthy.demo.server import serve; serve(port=int(sys.argv[1]))"


class Instant:
    """A target without latency: what is left is the runner's own work. Notes the memory at every tenth of the way."""

    name, replays = "instant", False

    def __init__(self, total: int) -> None:
        self.asked, self.total = 0, total

    async def ask(self, ask: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.asked % max(1, self.total // 10) == 0:
            print(f"{self.asked:>8} runs  {resident():6.1f} MB")
        self.asked += 1
        return {"answer_json": {"claim": "Alpha holds 42 units.", "citations": ["d1#2"]}, "retrieved_ids": ["d1#2"]}

    async def close(self) -> None:
        pass


def questions(count: int) -> list[Gold]:
    return [Gold(qid=f"q{n}", question=f"What is the capacity of unit {n}?") for n in range(count)]


def demo_questions() -> list[Gold]:
    rows = (json.loads(line) for line in gold_path().read_text("utf-8").splitlines())
    return [Gold(qid=row["qid"], question=row["question"]) for row in rows]


@contextmanager
def serving(code: str, *arguments: str) -> Iterator[int]:
    """A server in a process of its own, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", code, str(port), *arguments])
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def runner_rate(gold: list[Gold], url: str, concurrency: int, folder: Path) -> tuple[float, float]:
    """Runs per second, and milliseconds of our own CPU for each."""
    warm = folder / "warm.jsonl"
    run(gold[:concurrency], url, warm, concurrency=concurrency, overwrite=True)  # imports and first connections
    found = []
    for _ in range(REPEATS):
        cpu, began = time.process_time(), time.monotonic()
        summary = run(gold, url, folder / "t.jsonl", concurrency=concurrency, overwrite=True)
        if summary.failed:
            sys.exit(f"{summary.failed} of {summary.planned} runs failed: {summary.first_error}")
        seconds = time.monotonic() - began
        found.append((summary.finished / seconds, (time.process_time() - cpu) / summary.finished * 1000))
    return max(found)


def sequential_rate(gold: list[Gold], url: str) -> float:
    """What a plain loop of the standard library does."""
    began = time.monotonic()
    for item in gold:
        body = json.dumps({"q": item.question, "qid": item.qid, "seed": 0, "jitter": "none", "knobs": {}}).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            json.load(response)
    return len(gold) / (time.monotonic() - began)


def throughput(folder: Path, cycles: int) -> None:
    print(f"{'target':<22} {'client':<24} {'runs/s':>8} {'ideal':>7} {'share':>6} {'CPU ms/run':>10}")
    with serving(STUB, str(DELAY)) as port:
        url = f"http://127.0.0.1:{port}/qa"
        rate = sequential_rate(questions(40), url)
        print(f"{'stub, 50 ms':<22} {'urllib, one by one':<24} {rate:8.1f} {1 / DELAY:7.0f} {rate * DELAY:6.3f}")
        for concurrency in (1, 16, 64):
            rate, cpu = runner_rate(questions(concurrency * cycles), url, concurrency, folder)
            ideal = concurrency / DELAY
            client = f"runner, {concurrency} at a time"
            print(f"{'stub, 50 ms':<22} {client:<24} {rate:8.1f} {ideal:7.0f} {rate / ideal:6.3f} {cpu:10.3f}")
    gold = demo_questions()
    with serving(DEMO) as port:
        url = f"http://127.0.0.1:{port}/qa"
        print(f"{'embedded server':<22} {'urllib, one by one':<24} {sequential_rate(gold, url):8.1f}")
        for concurrency in (1, 16, 64):
            rate, cpu = runner_rate(gold, url, concurrency, folder)
            client = f"runner, {concurrency} at a time"
            print(f"{'embedded server':<22} {client:<24} {rate:8.1f} {'':7} {'':6} {cpu:10.3f}")


def memory(folder: Path, count: int) -> None:
    """One long run, then a resume of it when it is complete."""
    out, gold = folder / "m.jsonl", questions(count)
    began = time.monotonic()
    run(gold, Instant(count), out, concurrency=64)
    print(f"{count:>8} runs  {resident():6.1f} MB at the end, {count / (time.monotonic() - began):.0f} runs/s")
    began = time.monotonic()
    summary = run(gold, Instant(count), out, concurrency=64, resume=True)
    print(f"resume of {summary.resumed} finished runs: {time.monotonic() - began:.2f} s, {resident():.1f} MB")


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memory", type=int, default=0, metavar="RUNS")
    parser.add_argument("--cycles", type=int, default=60, help="requests for each one in flight")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.memory:
            memory(Path(folder), given.memory)
        else:
            throughput(Path(folder), given.cycles)


if __name__ == "__main__":
    main()
