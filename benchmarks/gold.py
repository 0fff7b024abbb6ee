"""How good are candidates, how fast is building and reviewing, how true is refresh, how many labels does next save?

    python benchmarks/gold.py [--histories 400]

Reads the demo's handbook, and real chunk files where they are (SHIPWORTHY_DATA).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from rapidfuzz import fuzz

from shipworthy.core.gates import Gate
from shipworthy.core.sources import read_gold
from shipworthy.documents import read_documents
from shipworthy.documents.places import refresh
from shipworthy.gold.build import build
from shipworthy.gold.next import Bet
from shipworthy.gold.review import Review
from shipworthy.gold.upkeep import anchor, write_anchors
from shipworthy.text import fold

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "src" / "shipworthy" / "demo"
DATA = Path(os.environ.get("SHIPWORTHY_DATA", ROOT.parent / "shared" / "data"))
SETS = {
    "demo handbook": DEMO / "corpus",
    "SQuAD paragraphs": DATA / "squad_mini" / "chunks.jsonl",
    "ClapNQ passages": DATA / "clapnq_rag" / "chunks.jsonl",
    "HR documents (northwind200)": DATA / "azure_rag" / "northwind200" / "chunks.jsonl",
    "HR documents (northwind50)": DATA / "azure_rag" / "northwind50" / "chunks.jsonl",
}


def candidates() -> None:
    print("set                           candidates  verbatim  near-duplicates")
    for name, path in SETS.items():
        if not path.exists():
            continue
        documents = read_documents(path)
        made = [draft for draft in build(documents, count=300) if "anchor" in draft]
        verbatim = sum(
            draft["gold_claim_substr"][0]
            in documents.by_name[draft["anchor"]["doc"]].text[draft["anchor"]["start"] : draft["anchor"]["end"]]
            for draft in made
        )
        texts = [fold(f"{draft['anchor']['text']} {draft['gold_claim_substr'][0]}") for draft in made]
        pairs = ((text, texts[:at]) for at, text in enumerate(texts))
        alike = sum(any(fuzz.ratio(text, other, score_cutoff=90) for other in before) for text, before in pairs)
        print(f"{name:<30}{len(made):>8}  {verbatim / len(made):>9.1%}  {alike / len(made):>9.1%}")


def page(number: int, order: random.Random) -> str:
    """A page of some 3,000 characters, none like another."""
    firsts, lasts = ("stone", "river", "cloud", "lamp", "field", "gear"), ("work", "side", "line", "house")
    words = [f"{first}{middle}{last}" for first in firsts for middle in "aeiouy" for last in lasts]
    lines = [f"# Manual {number}"]
    for part in range(5):
        lines.append(f"\n## Part {part} of {order.choice(words)}\n")
        for _ in range(6):
            one, two, three, four, five = order.sample(words, 5)
            days = order.randrange(2, 5000)
            lines.append(f"The {one} of the {two} lasts {days} days and needs the {three} beside {four} and {five}.")
    return "\n".join(lines)


def pages() -> None:
    with tempfile.TemporaryDirectory() as folder:
        order = random.Random(1)
        for number in range(10_000):
            Path(folder, f"{number}.md").write_text(page(number, order))
        program = (
            "import resource, sys, time; from shipworthy.gold.build import build; start = time.perf_counter(); "
            f"made = build({folder!r}, count=int(sys.argv[1])); print(len(made), time.perf_counter() - start, "
            "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
        )
        for count in ("100", "5000"):
            done = subprocess.run([sys.executable, "-c", program, count], capture_output=True, text=True, check=True)
            made, seconds, memory = done.stdout.split()
            print(f"10,000 pages: {made} candidates in {float(seconds):.1f} s, {memory} MB")


def reviewing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        drafts = build(DEMO / "corpus", count=60)
        rows = [{**drafts[n % len(drafts)], "qid": f"q{n}"} for n in range(5000)]
        draft = Path(folder, "draft.jsonl")
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        review = Review(draft, Path(folder, "gold.jsonl"), docs=DEMO / "corpus", reviewer="bench")
        spent = []
        for n in range(200):
            qid = review.waiting()[0]
            start = time.perf_counter()
            review.decide(qid, "unanswerable", question=f"Question {n}?")
            review.next()
            spent.append(1000 * (time.perf_counter() - start))
        print(
            f"review of 5,000: decision saved and next item ready in {statistics.median(spent):.0f} ms "
            f"(95 % in {sorted(spent)[190]:.0f} ms)"
        )


def edits() -> None:
    """The demo's gold set under edits of its handbook whose effect is known."""

    def sections(text: str) -> list[str]:
        return re.split(r"(?m)^(?=## )", text if text.endswith("\n\n") else text + "\n")

    def swap(text: str, order: random.Random) -> str:
        head, *rest = sections(text)
        order.shuffle(rest)
        return head + "".join(rest)

    def delete(text: str, order: random.Random) -> str:
        return "".join(one for one in sections(text) if order.random() > 0.3)

    def reword(text: str, order: random.Random) -> str:
        return "\n".join(
            re.sub(r"\d+", lambda found: str(int(found[0]) + 1), line) if order.random() < 0.35 else line
            for line in text.split("\n")
        )

    def split(text: str, order: random.Random) -> str:
        return re.sub(r"\n\n(?=[A-Z])", lambda _: "\n\n## New\n\n" if order.random() < 0.4 else "\n\n", text)

    def merge(text: str, order: random.Random) -> str:
        return re.sub(r"(?m)^## .*\n\n", lambda found: "" if order.random() < 0.5 else found[0], text)

    print("edit      unchanged+moved  precision  recall  changed  gone")
    with tempfile.TemporaryDirectory() as folder:
        gold = Path(folder, "gold.jsonl")
        gold.write_bytes((DEMO / "gold.jsonl").read_bytes())
        write_anchors(str(gold), anchor(gold, DEMO / "corpus").anchors)
        items = {item.qid: item for item in read_gold(gold) if item.anchor is not None}
        for edit in (swap, delete, reword, split, merge):
            rows = []
            for seed in range(20):
                order = random.Random(seed)
                paths = sorted((DEMO / "corpus").glob("*.md"))
                docs = {path.name: edit(path.read_text("utf-8"), order) for path in paths}
                found, whole = refresh(gold, docs), "\n".join(docs.values())
                there = {qid for qid, item in items.items() if item.anchor.text in whole}
                sure = {*found.unchanged, *found.moved}
                rows.append((len(sure), len(sure & there), len(there), len(found.changed), len(found.gone)))
            sure, right, there, changed, gone = map(sum, zip(*rows, strict=True))
            precision, recall = right / sure, right / there
            print(f"{edit.__name__:<10}{sure:>15}  {precision:>9.3f}  {recall:>6.3f}  {changed:>7}  {gone:>4}")


def labels(histories: int) -> None:
    """1,000 questions, 40 % unanswerable; the gate under_refusal <= 0.05; labels until it is decided."""
    gate = Gate.parse("under_refusal <= 0.05")
    print("true rate  judge  false  median labels of 1,000  undecided after all draws")
    for rate in (0.0, 0.01, 0.03, 0.05, 0.055, 0.08, 0.1, 0.2, 0.4):
        for judge in (0.0, 0.9):
            wrong = open_ = 0
            needed = []
            for seed in range(histories):
                answer, labelled = history(rate, gate, judge, seed)
                holds = Fraction(round(400 * rate), 400) <= gate.bound.number
                wrong += answer == ("refuted" if holds else "proven")
                open_ += not answer
                needed.append(labelled)
            told = f"{judge:.0%} right" if judge else "none"
            shares = f"{wrong / histories:>5.1%}  {statistics.median(needed):>8.0f}  {open_ / histories:>8.0%}"
            print(f"{rate:>9}  {told:<9}  {shares}")


def history(rate: float, gate: Gate, judge: float, seed: int) -> tuple[str, int]:
    order, bad = random.Random(seed), round(400 * rate)
    population = [(1, 1)] * bad + [(0, 1)] * (400 - bad) + [(0, 0)] * 600
    odds = [1.0] * 1000
    if judge:
        doubts = [0.8 if (order.random() < judge) == (one == (1, 1)) else 0.1 for one in population]
        odds = [0.5 + 500 * doubt / sum(doubts) for doubt in doubts]
    total = sum(odds)
    weights = [Fraction(total / 1000 / one).limit_denominator(100) for one in odds]
    bet = Bet(gate, 1000, heaviest=2 if judge else 1)
    seen = set()
    for drawn in order.choices(range(1000), odds, k=1500):
        seen.add(drawn)
        bet.add(bet.value(*population[drawn], weights[drawn]))
        if bet.answer:
            break
    return bet.answer, len(seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100)
    given = parser.parse_args()
    candidates()
    pages()
    reviewing()
    edits()
    if given.histories:
        labels(given.histories)
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
