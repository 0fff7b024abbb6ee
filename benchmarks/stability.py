"""NED50 of 400 questions × 50 runs of about 200 characters, beside the plain dynamic-programming loop on a sample.

    python benchmarks/stability.py [--questions 400] [--runs 50] [--sample 40]

Prints processor time per pair for both, their ratio, and the peak memory of the whole.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, islice
from statistics import median
from typing import TypeVar

from shipworthy import evaluate
from shipworthy.suites.stability.judge import distance_and_agreement

SENTENCE = (
    "the limit of a request is thirty seconds unless keys are rotated weekly by whoever owns an index in Straße 東京"
)
WORDS = SENTENCE.split()
Result = TypeVar("Result")


def plain_distance(one: str, other: str) -> int:
    """The textbook table, one row at a time: what a script without a library does."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def claims_of(number: int, runs: int) -> list[str]:
    """Runs of one question: one sentence of about 200 characters with a few words changed each time."""
    rng = random.Random(number)
    base = [rng.choice(WORDS) for _ in range(36)]
    claims = []
    for _ in range(runs):
        words = base[:]
        for place in rng.sample(range(len(words)), 6):
            words[place] = rng.choice(WORDS)
        claims.append(" ".join(words))
    return claims


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Processor time, and what the work gave."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--sample", type=int, default=40, help="pairs for the plain loop")
    given = parser.parse_args()
    every = [claims_of(number, given.runs) for number in range(given.questions)]
    pairs = given.questions * given.runs * (given.runs - 1) // 2
    distance_and_agreement(every[0][:3])  # the library is imported once, outside the clock
    ours, distances = timed(lambda: [distance_and_agreement(claims)[0] or Fraction(0) for claims in every])
    sample = list(islice(combinations(every[0], 2), given.sample))
    plain, _ = timed(lambda: [plain_distance(one, other) for one, other in sample])
    few = every[1][:6]
    assert distance_and_agreement(few)[0] == median(
        Fraction(plain_distance(a, b), max(len(a), len(b), 1)) for a, b in combinations(few, 2)
    )
    print(f"{given.questions} questions × {given.runs} runs of {sum(map(len, every[0])) / given.runs:.0f} characters")
    print(
        f"ned50       {ours:8.2f} s   {ours / pairs * 1e6:10.2f} µs a pair   "
        f"{pairs} pairs, median of all {float(median(distances)):.4f}"
    )
    print(f"plain loop  {plain:8.2f} s   {plain / len(sample) * 1e6:10.2f} µs a pair   {len(sample)} pairs")
    print(f"ratio       {plain / len(sample) / (ours / pairs):8.0f} ×")
    gold, runs = traffic(every)
    whole, _ = timed(lambda: evaluate("stability", gold=gold, runs=runs))
    print(f"whole suite {whole:8.2f} s   {whole / given.questions / given.runs * 1e6:10.2f} µs a run")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")


def traffic(every: list[list[str]]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    gold = [
        {
            "qid": f"q{number}",
            "question": "What is the limit?",
            "answerable": True,
            "gold_claim_substr": [claims[0][:20]],
            "gold_citations": ["d1"],
        }
        for number, claims in enumerate(every)
    ]
    runs = [
        {
            "qid": f"q{number}",
            "seed": seed,
            "jitter": "none",
            "q": "What is the limit?",
            "retrieved_ids": ["d1"],
            "answer_json": {"claim": claim, "citations": ["d1"]},
        }
        for number, claims in enumerate(every)
        for seed, claim in enumerate(claims)
    ]
    return gold, runs


if __name__ == "__main__":
    main()
