"""Open-loop accuracy: a server with a known latency distribution and one stall, measured by us and by a closed loop.

    python benchmarks/open_loop.py [--seconds 20] [--rps 100]

The server takes 5 to 45 ms a request (known per request), and for two seconds answers nobody: every request that is
due in that window waits for its end. The truth is computed from the schedule. A closed loop asks one after the other,
so it sends a single request into the stall and does not see what everybody else would have felt.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from shipworthy import Gold
from shipworthy.runner import run_load
from shipworthy.stats import percentile

STALL = 2.0


class Server:
    """A plain HTTP/1.1 server on a free port; requests due in the stall wait for its end, then take their own time."""

    def __init__(self, stall_after: float) -> None:
        self.stall_after = stall_after
        self.began: float | None = None
        self.port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, daemon=True).start()
        self._ready.wait()

    def _serve(self) -> None:
        async def main() -> None:
            server = await asyncio.start_server(self._handle, "127.0.0.1", 0, backlog=1024)
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await server.serve_forever()

        self._loop.run_until_complete(main())

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                body = json.loads(await reader.readexactly(length))
                await asyncio.sleep(self._held() + own_time(body["qid"]))
                answer = json.dumps(
                    {"answer_json": {"claim": "not in context", "citations": []}, "retrieved_ids": []}
                ).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(answer), answer)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _held(self) -> float:
        now = time.monotonic()
        if self.began is None:
            self.began = now
        into = now - self.began - self.stall_after
        return STALL - into if 0 <= into < STALL else 0.0


def own_time(qid: str) -> float:
    return random.Random(qid).uniform(0.005, 0.045)


def p99(milliseconds: list[float]) -> float:
    found = percentile(sorted(milliseconds), 99)
    assert found is not None
    return float(found)


def closed_loop(port: int, golds: list[Gold], seconds: float) -> list[float]:
    seen, until = [], time.monotonic() + seconds
    for item in golds * 100:
        if time.monotonic() > until:
            break
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/qa", json.dumps({"q": "?", "qid": item.qid}).encode()
        )
        start = time.monotonic()
        urllib.request.urlopen(request).read()
        seen.append((time.monotonic() - start) * 1000)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rps", type=float, default=100)
    chosen = parser.parse_args()
    count = int(chosen.seconds * chosen.rps)
    golds = [Gold(qid=f"Q{n:05d}", question=f"Question {n}?", answerable=False) for n in range(count)]
    stall_after = chosen.seconds / 2
    with tempfile.TemporaryDirectory() as folder:
        server = Server(stall_after)
        out = Path(folder) / "load.jsonl"
        summary = run_load(golds, f"http://127.0.0.1:{server.port}/qa", out, loads=(chosen.rps,), warmup=0)
        rows: list[dict[str, Any]] = [json.loads(line) for line in out.read_text().splitlines()]
    ours = [row["e2e_ms"] for row in rows]
    truth = []
    for position, row in enumerate(rows):
        into = position / chosen.rps - stall_after
        held = STALL - into if 0 <= into < STALL else 0.0
        truth.append((held + own_time(row["qid"])) * 1000)
    closed = closed_loop(Server(stall_after).port, golds, chosen.seconds)
    print(f"{len(rows)} requests at {chosen.rps:g}/s, one stall of {STALL:g} s; p99 in ms")
    for name, values in (("truth", truth), ("open loop (shipworthy)", ours), ("closed loop (urllib)", closed)):
        print(f"  {name:24} {p99(values):8.1f}  {p99(values) / p99(truth) - 1:+7.1%}  n={len(values)}")
    print(f"  {summary.steps[0]}")


if __name__ == "__main__":
    main()
