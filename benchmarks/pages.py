"""Page times and sizes over 10,000 runs × 400 items, a site of a year, and many readers and uploaders at once.

python benchmarks/pages.py
python benchmarks/pages.py --only load --url postgresql://… --seconds 60
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shipworthy.history import History, _insert
from shipworthy.history.records import rows_of
from shipworthy.history.store import opened
from shipworthy.pages.data import reading
from shipworthy.pages.render import base_of
from shipworthy.pages.routes import find
from shipworthy.pages.site import write_site
from shipworthy.pages.tokens import add_token
from shipworthy.reading.reports import digest
from shipworthy.stats import wilson

BATCH = 200  # runs in a transaction
GATES = ("precision", "chr", "scu", "recall@5", "citation_precision")


def reports(runs: int, items: int, seed: int = 7) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Reports as `check` would record them: most questions pass, one breaks, one is a coin, a few runs are outages."""
    chance = random.Random(seed)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    commits = [hashlib.sha1(str(number).encode()).hexdigest() for number in range(runs + 1)]
    for number in range(runs):
        rows, passed = [], 0
        for item in range(items):
            fails = (
                chance.random() < 0.004 or (item == 7 and number * 2 >= runs) or (item == 12 and chance.random() < 0.4)
            )
            passed += not fails
            claim = (
                f"It is {item} dollars a year" if fails else f"It is {100 + item} dollars a month, says the handbook"
            )
            rows.append(
                {
                    "qid": f"Q{item:03d}",
                    "status": "shipped",
                    "reason": "containment" if fails else "",
                    "question": f"What is the limit of plan {item}, and where is it written down?",
                    "claim": claim,
                    "slices": [f"type={'table' if item % 3 else 'prose'}"],
                }
            )
        holds = passed >= 0.98 * items
        rate = {"kind": "rate", "value": passed / items, "n": items, "numerator": passed, "denominator": items}
        rate |= {"interval95": [round(edge, 6) for edge in wilson(passed, items)]}
        failing = [row for row in rows if row["reason"]]
        told = {"says": "the answer does not contain the expected text", "gold_claim_substr": ["dollars a month"]}
        found = {"citations": ["S.4.1"], "gold_citations": ["S.4.2"], "retrieved_ids": ["S.4.2", "S.4.1", "S.9.3"]}
        texts = [
            {"id": name, "text": f"{name} says: {'the limit of a plan is written here. ' * 6}"}
            for name in ("S.4.2", "S.9.3")
        ]
        outcome = {
            "gate": "precision >= 0.98",
            "metric": "precision",
            "slice": "",
            "severity": "block",
            "state": "PASS" if holds else "FAIL",
            "holds": holds,
            "bound": 0.98,
            "value": passed / items,
            "n": items,
            "k": passed,
            "says": f"{passed} of {items} answers were correct (precision {passed / items:.3f})",
            "waived": "",
        }
        body = {
            "shipworthy": {"report": 1, "suite": "answers", "profile": "strict", "definitions": "1"},
            "decision": "SHIP" if holds else "NO-SHIP",
            "reasons": [outcome["says"]],
            "inputs": {"gold": {"sha256": "a" * 64, "content": "b" * 64, "records": items}},
            "metrics": dict.fromkeys(GATES, rate),
            "outcomes": [outcome | {"gate": f"{name} >= 0.98", "metric": name} for name in GATES],
            "diagnosis": [
                "The expected evidence is retrieved, but other sources are cited. Check how the prompt asks."
            ],
            "offenders": [row | told | found | {"evidence": texts} for row in failing[:10]],
            "items": rows,
        }
        known = {
            "commit": commits[number + 1],
            "branch": "main",
            "label": "",
            "recorded_at": (start + timedelta(hours=6 * number)).isoformat(),
            "project": "bench/large",
            "committed_at": (start + timedelta(hours=6 * number)).isoformat(),
            "subject": f"change {number}",
            "parent": commits[number],
        }
        yield {**body, "digest": digest(body)}, known


def build(url: str, runs: int, items: int) -> None:
    batch = []
    for one in reports(runs, items):
        batch.append(one)
        if len(batch) == BATCH:
            write(url, batch)
            batch = []
    write(url, batch)


def write(url: str, batch: list[tuple[dict[str, Any], dict[str, str]]]) -> None:
    """Many runs in one transaction: to record 10,000 one by one would take longer than to look at them."""
    with opened(url, 60) as store:
        for report, known in batch:
            row, metrics, gates = rows_of(report, known)
            _insert(store, row, metrics, gates, report, "failing")


def pages(url: str) -> None:
    """Each kind of page from the database, as `serve` makes it: the best and the worst of five."""
    with reading(url) as source:
        branch = source.branch("bench/large", "main")
        suite, run = next(iter(branch.latest.items()))
        before = branch.before(run)
        assert before is not None
    base = base_of("bench/large", "main")
    kinds = {
        "projects": "index.html",
        "overview": f"{base}/index.html",
        "runs": f"{base}/runs/index.html",
        "run": f"{base}/runs/{run.id[:12]}/index.html",
        "questions": f"{base}/items/index.html",
        "question that broke": f"{base}/items/{suite}/Q007/index.html",
        "question that is a coin": f"{base}/items/{suite}/Q012/index.html",
        "compare": f"{base}/compare/{before.id[:12]}..{run.id[:12]}/index.html",
        "gate": f"{base}/gates/{suite}.precision/index.html",
        "gold": f"{base}/gold/index.html",
    }
    for kind, path in kinds.items():
        times = []
        for _ in range(5):
            began = time.process_time(), time.perf_counter()
            with reading(url) as source:
                page = find(source, path)
            times.append((time.process_time() - began[0], time.perf_counter() - began[1]))
        assert page is not None
        cpu, wall = (min(one[place] for one in times) * 1000 for place in (0, 1))
        worst = max(one[1] for one in times) * 1000
        print(f"  {kind:<24} {wall:6.0f} ms (worst {worst:.0f}, CPU {cpu:.0f})  {len(page.html) / 1000:6.1f} kB")


def load(url: str, seconds: float, readers: int, uploaders: int) -> None:
    """Readers and uploaders at once, each over its own connections; every run that was answered 201 must be there."""
    _, token = add_token(url, "bench/load")
    command = [sys.executable, "-m", "shipworthy", "serve", "--history", url, "--port", "0", "--quiet"]
    server = subprocess.Popen([*command, "--uploads-per-minute", "1000000"], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().split()[0].rpartition(":")[2])
    end = time.monotonic() + seconds
    added, times, wrong = list[str](), list[float](), list[int]()

    def add(name: str) -> None:
        for number, (report, known) in enumerate(reports(1_000_000, 60, seed=hash(name))):
            if time.monotonic() > end:
                return
            label = f"{name}-{number}"
            body = json.dumps({"report": report, **known, "project": "bench/load", "label": label})
            status, _ = ask(port, "POST", "/api/runs", body, {"Authorization": f"Bearer {token}"})
            (added if status == 201 else wrong).append(label if status == 201 else status)  # type: ignore[arg-type]

    def look(place: int) -> None:
        base = f"/{base_of('bench/load', 'main')}"
        paths = ["/", f"{base}/", f"{base}/items/", f"{base}/items/answers/Q007/", f"{base}/runs/"]
        while time.monotonic() < end:
            began = time.perf_counter()
            status, _ = ask(port, "GET", paths[place % len(paths)], None, {})
            times.append(time.perf_counter() - began)
            if status not in (200, 404):  # 404 before the first run is there
                wrong.append(status)
            place += 1

    crowd = [threading.Thread(target=look, args=(number,)) for number in range(readers)]
    crowd += [threading.Thread(target=add, args=(f"u{number}",)) for number in range(uploaders)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    server.terminate()
    server.wait(30)
    kept = {run.label for run in History(url).runs(project="bench/load")}
    ordered = sorted(times)
    middle, high = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    told = f"{len(times)} pages (median {middle * 1000:.0f} ms, 95 % {high * 1000:.0f} ms), {len(added)} runs added"
    print(f"  {readers} readers, {uploaders} uploaders, {seconds:.0f} s: {told}")
    print(f"  {len(set(added) - kept)} lost, {len(wrong)} errors")


def ask(port: int, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--url", default="", help="a history that is built, or kept from an earlier call")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--uploaders", type=int, default=10)
    parser.add_argument("--only", choices=["pages", "site", "load"], default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.only in ("", "pages"):
            url = given.url or str(Path(folder) / "history.db")
            began = time.perf_counter()
            if not Path(url).exists():
                build(url, given.runs, given.items)
                size = Path(url).stat().st_size / 1e6
                took = time.perf_counter() - began
                print(f"built {given.runs:,} runs of {given.items} items in {took:.0f} s, {size:.0f} MB")
            pages(url)
        if given.only in ("", "site"):
            build(year := str(Path(folder) / "year.db"), 365, 230)
            for what in ("all of it", "again", "after one more run"):
                began = time.process_time(), time.perf_counter()
                done = write_site(year, Path(folder) / "site")
                cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
                print(
                    f"  site of 365 × 230, {what}: {wall:.1f} s (CPU {cpu:.1f}), {done.pages} pages, "
                    f"{done.size / 1e6:.1f} MB, {done.changed} files written"
                )
                if what == "again":
                    write(year, list(reports(366, 230))[-1:])
        if given.only in ("", "load"):
            load(
                given.url if given.only else str(Path(folder) / "load.db"),
                given.seconds,
                given.readers,
                given.uploaders,
            )


if __name__ == "__main__":
    main()
