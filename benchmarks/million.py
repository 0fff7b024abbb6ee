"""A million-line trace file: shipworthy beside a plain standard-library script that makes the same counts.

    python benchmarks/million.py [--lines 1000000] [--gold 400]

Both run as processes of their own, in turn, and the best of five is shown; times are CPU seconds (user + system).
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
from pathlib import Path

SENTENCE = "the client retries a failed call after thirty seconds and logs every attempt of the worker in order"
WORDS = SENTENCE.split()
SCORE = [sys.executable, "-m", "shipworthy", "score"]


def make(folder: Path, lines: int, items: int) -> tuple[Path, Path]:
    """A gold set, and traces that are mostly right; every third row has Unicode, every twentieth refuses."""
    chance = random.Random(7)
    gold, trace = folder / "gold.jsonl", folder / "trace.jsonl"
    with gold.open("w", encoding="utf-8") as out:
        for n in range(items):
            row = {
                "qid": f"Q{n:07d}",
                "question": f"Question {n}?",
                "answerable": n % 10 != 0,
                "gold_claim_substr": [f"value {n} holds"],
                "gold_citations": [f"doc{n % 97}#{n % 7}"],
            }
            out.write(json.dumps(row) + "\n")
    with trace.open("w", encoding="utf-8") as out:
        for line in range(lines):
            n = line % items
            claim = (
                "not in context"
                if chance.random() < 0.05
                else f"{' '.join(chance.sample(WORDS, 12))}: value {n} holds."
            )
            claim += " Größe" if line % 3 == 0 else ""
            found = [f"doc{n % 97}#{n % 7}", *(f"doc{chance.randrange(97)}#{k}" for k in range(9))]
            row = {
                "qid": f"Q{n:07d}",
                "q": f"Question {n}?",
                "ts": 1700000000 + line,
                "retrieved_ids": found,
                "answer_json": {"claim": claim, "citations": found[:1]},
                "e2e_ms": chance.randrange(2000),
            }
            out.write(json.dumps(row, ensure_ascii=line % 2 == 0) + "\n")
    return gold, trace


PLAIN = """
import json, sys
gold = {}
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    gold[row["qid"]] = row
last = {}
for line in open(sys.argv[2], encoding="utf-8"):
    row = json.loads(line)
    last[row["qid"]] = row
S = R = A = U = correct = hits = under = over = recalled = 0
for qid, item in gold.items():
    row = last.get(qid, {})
    answer = row.get("answer_json", {})
    claim, cited, found = answer.get("claim", "").strip(), answer.get("citations", []), row.get("retrieved_ids", [])
    wanted = set(item["gold_citations"])
    shipped = claim.lower() != "not in context"
    A += item["answerable"]; U += not item["answerable"]; S += shipped; R += not shipped
    recalled += item["answerable"] and wanted <= set(found[:5])
    if shipped:
        hit = bool(wanted & set(cited)) and set(cited) <= set(found)
        contained = any(len(text) >= 5 and text.lower() in claim.lower() for text in item["gold_claim_substr"])
        hits += hit; correct += item["answerable"] and hit and contained; under += not item["answerable"]
    elif item["answerable"]:
        over += 1
print(S, R, A, U, correct, hits, under, over, recalled)
"""


def cpu(command: list[str]) -> tuple[float, float, str]:
    """CPU seconds, peak megabytes and output of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *command], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, int(done.stderr.split()[-1]) / 1024, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--gold", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        gold, trace = make(Path(folder), chosen.lines, chosen.gold)
        contenders = {
            "standard-library script": [sys.executable, "-c", PLAIN, str(gold), str(trace)],
            "shipworthy score": [*SCORE, "--gold", str(gold), "--trace", str(trace), "--json"],
        }
        best: dict[str, tuple[float, float, str]] = {}
        for _ in range(chosen.repeats):
            for name, command in contenders.items():
                ran = cpu(command)
                best[name] = min(best.get(name, ran), ran, key=lambda found: found[0])
        size = trace.stat().st_size / 1e6
        print(
            f"{chosen.lines:,} lines ({size:.0f} MB), {chosen.gold:,} gold items; CPU seconds, best of {chosen.repeats}"
        )
        base = best["standard-library script"][0]
        for name, (seconds, peak, _) in best.items():
            print(
                f"  {name:26} {seconds:7.2f} s  {base / seconds:5.2f} x  {peak:7.0f} MB  "
                f"{chosen.lines / seconds:10,.0f} lines/s"
            )
        report = json.loads(best["shipworthy score"][2])
        counts = [report["answered"], report["refused"], report["answerable"], report["unanswerable"]]
        counts += [report["metrics"]["precision"]["numerator"]]
        print("  same counts:", counts == list(map(int, best["standard-library script"][2].split()[:5])))


if __name__ == "__main__":
    main()
