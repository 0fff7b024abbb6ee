"""A million-line trace file: shipworthy beside the original script, or a loop in plain Python with the same counts.

    SHIPWORTHY_REFERENCE=FOLDER python benchmarks/million.py [--lines 1000000] [--gold 400]

FOLDER holds the original script, score_eval.py; without it the loop below stands for it. Each runs as a process of its
own, in turn; times are CPU seconds (user + system). The ratio is the median of the ratios within a round, because other
work on the machine changes from minute to minute and slows both.
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
from statistics import median

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


# The loop that the original script makes, in this project's own words: gold by qid, the last trace of each, one pass
# over the gold set, rates rounded to four places, gates on what is not rounded, one JSON object printed. It is inside a
# function, as in the script: at module level, with names that are globals, the same loop takes 1.6 times the CPU.
REFERENCE = """
import json, sys

def rows(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if line:
                yield json.loads(line)

def main(gold_path, trace_path):
    gold = {row["qid"]: row for row in rows(gold_path)}
    last = {}
    for row in rows(trace_path):
        qid = row.get("qid")
        if qid:
            last[qid] = row

    answered = refused = answerable = unanswerable = correct = hits = under = over = recalled = 0
    for qid, item in gold.items():
        row = last.get(qid) or {}
        answer = row.get("answer_json") or {}
        claim = (answer.get("claim") or "").strip()
        cited, found = answer.get("citations") or [], row.get("retrieved_ids") or []
        wanted, texts, known = item.get("gold_citations") or [], item.get("gold_claim_substr"), item.get("answerable")
        if known:
            answerable += 1
        else:
            unanswerable += 1
        if known is True and set(wanted) <= set(found[:5]):
            recalled += 1
        if claim.lower() == "not in context":
            refused += 1
            if known is True:
                over += 1
            continue
        answered += 1
        if known is False:
            under += 1
        if not known:
            continue
        hit = bool(set(cited) & set(wanted)) and set(cited) <= set(found) if wanted else cited == []
        lowered = claim.lower()
        contained = any(len(text.lower()) >= 5 and text.lower() in lowered for text in texts or []) or texts == []
        if hit:
            hits += 1
            if contained:
                correct += 1

    rates = {
        "precision": correct / answered if answered else 1.0,
        "chr": hits / answered if answered else 1.0,
        "under_refusal": under / unanswerable if unanswerable else 0.0,
        "over_refusal": over / answerable if answerable else 0.0,
        "recall@k": recalled / answerable if answerable else 0.0,
    }
    passed = rates["precision"] >= 0.8 and rates["chr"] >= 0.75
    passed = passed and rates["under_refusal"] <= 0.05 and rates["over_refusal"] <= 0.1
    counts = {"answered": answered, "refused": refused, "answerable": answerable, "unanswerable": unanswerable}
    print(json.dumps({**counts, **{name: round(rate, 4) for name, rate in rates.items()}, "k": 5, "pass": passed}))

main(sys.argv[1], sys.argv[2])
"""


def yardstick(gold: Path, trace: Path) -> tuple[str, list[str]]:
    """What scoring is measured against: the original script in the folder SHIPWORTHY_REFERENCE, else our loop."""
    folder = os.environ.get("SHIPWORTHY_REFERENCE", "")
    script = Path(folder) / "score_eval.py"
    if folder and script.is_file():
        return "original script", [sys.executable, str(script), "--gold", str(gold), "--trace", str(trace)]
    return "reference loop", [sys.executable, "-c", REFERENCE, str(gold), str(trace)]


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
        base, command = yardstick(gold, trace)
        contenders = {
            base: command,
            "reference loop": [sys.executable, "-c", REFERENCE, str(gold), str(trace)],
            "shipworthy score": [*SCORE, "--gold", str(gold), "--trace", str(trace), "--json"],
        }
        rounds = [{name: cpu(command) for name, command in contenders.items()} for _ in range(chosen.repeats)]
        size = trace.stat().st_size / 1e6
        print(f"{chosen.lines:,} lines ({size:.0f} MB), {chosen.gold:,} gold items; CPU seconds, {len(rounds)} rounds")
        for name in contenders:
            seconds, peak, _ = min((one[name] for one in rounds), key=lambda found: found[0])
            ratios = [one[base][0] / one[name][0] for one in rounds]
            print(
                f"  {name:20} {seconds:7.2f} s  {median(ratios):5.2f} x ({min(ratios):.2f} to {max(ratios):.2f})  "
                f"{peak:7.0f} MB  {chosen.lines / seconds:10,.0f} lines/s"
            )
        last = {name: json.loads(found[2]) for name, found in rounds[-1].items()}
        expected = {key: value for key, value in last[base].items() if key not in ("pass", "gates")}  # not the decision
        print("  same numbers:", last["shipworthy score"]["compat"]["reference"] == expected)


if __name__ == "__main__":
    main()
