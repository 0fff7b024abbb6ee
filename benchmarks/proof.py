"""How often a gate ends as statistically certain on systems that lie exactly on its bound: at most 5 % is promised.

    python benchmarks/proof.py [--draws 500] [--only PART]

Each line is one setting: how often a pass and how often a miss was called certain, each with its Monte Carlo error.
Runs of one question are all alike, strongly alike (four of five times the same as the question's first) or independent.
Exits 1 if any rate is above 5 % and 3 standard errors. Without options it takes about two minutes.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from shipworthy.core.gates import Gate, compare
from shipworthy.core.metrics import Measure, Metric, Percentile, Rate, Words
from shipworthy.core.tally import Tally, group
from shipworthy.stats import fleiss_kappa, kappa, kappa_spread, krippendorff_alpha, raters_spread
from shipworthy.suites.retrieval.metrics import MeanShare
from shipworthy.suites.stability.metrics import RunShare

LEVEL = 0.05
ALIKE = {"alike": 1.0, "strongly alike": 0.8, "independent": 0.0}
LABELS = {
    "2 labels": (0.5, 0.5),
    "2 labels 80:20": (0.8, 0.2),
    "2 labels 90:10": (0.9, 0.1),
    "2 labels 95:5": (0.95, 0.05),
    "4 labels": (0.25, 0.25, 0.25, 0.25),
    "4 labels skewed": (0.7, 0.2, 0.07, 0.03),
}
Draw = Callable[[random.Random], tuple[Metric, Measure]]


def questions_of(rng: random.Random, questions: int, runs: int, alike: float, chance: float) -> list[list[bool]]:
    """Whether each run of each question is good, with the given chance; alike is the chance to be like the first."""
    rows = []
    for _ in range(questions):
        first = rng.random() < chance
        rows.append([first, *(first if rng.random() < alike else rng.random() < chance for _ in range(runs - 1))])
    return rows


def uneven(rows: Sequence[list[bool]], rng: random.Random) -> list[list[bool]]:
    """Every second question with a single run."""
    return [row if rng.random() < 0.5 else row[:1] for row in rows]


def percentile(questions: int, runs: int, alike: float, p: int, mixed: bool = False) -> Draw:
    """Good runs take 100 ms or less and the others more, so that the percentile lies on the edge of 100 ms."""
    metric = Percentile("p", Words(), "lower", high=None, of="e2e", p=Fraction(p), groups="e2e_of_question")

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        tally, rows = Tally(), questions_of(rng, questions, runs, alike, p / 100)
        for row in uneven(rows, rng) if mixed else rows:
            times = [rng.randint(1, 100) if good else rng.randint(101, 200) for good in row]
            tally.count([("e2e", ms) for ms in times])
            if len(times) > 1:
                tally.count([group("e2e_of_question", tuple(sorted(times)))])
        return metric, metric.measure(tally)

    return draw


def share_of_runs(questions: int, runs: int, alike: float, chance: float, mixed: bool = False) -> Draw:
    metric = Rate("share", Words(), of="good", among="runs", groups="runs_of_question")

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        tally, rows = Tally(), questions_of(rng, questions, runs, alike, chance)
        for row in uneven(rows, rng) if mixed else rows:
            tally.count(["runs" for _ in row] + ["good" for good in row if good])
            if len(row) > 1:
                tally.count([group("runs_of_question", (sum(row), len(row)))])
        return metric, metric.measure(tally)

    return draw


def mean_of_questions(questions: int, runs: int, alike: float, chance: float) -> Draw:
    metric = MeanShare("mean", Words(), of="recall")

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        tally = Tally()
        for row in questions_of(rng, questions, runs, alike, chance):
            worth = Fraction(sum(row), len(row))
            tally.count([("recall", worth.numerator if worth.denominator == 1 else worth)])
        return metric, metric.measure(tally)

    return draw


def lambda_share(questions: int, runs: int, alike: float, chance: float) -> Draw:
    metric = RunShare("lambda", Words(), of="lambda_→")

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        tally = Tally()
        for row in questions_of(rng, questions, runs, alike, chance):
            tally.count(["judged", group("lambda_→", (sum(row), runs))])
            tally.count(["runs" for _ in row] + ["lambda_→" for good in row if good])
        return metric, metric.measure(tally)

    return draw


def cohen(n: int, shares: Sequence[float], bound: float, weights: str | None = None) -> Draw:
    """The second rater says the same, or with a chance of 1 - κ whatever comes: the true κ is the bound."""
    metric, labels = Metric("kappa", Words(), low=Fraction(-1)), range(len(shares))

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        table = [[0] * len(shares) for _ in labels]
        for one in rng.choices(labels, shares, k=n):
            table[one][one if rng.random() < bound else rng.choices(labels, shares)[0]] += 1
        spread = kappa_spread(table, weights)  # type: ignore[arg-type]
        bounds = spread.bounds if spread else (None, None)
        return metric, Measure("kappa", "coefficient", kappa(table, weights), n, bounds=bounds)  # type: ignore[arg-type]

    return draw


def raters(n: int, shares: Sequence[float], bound: float, several: int, coefficient: Callable[..., object]) -> Draw:
    """Each rater says what is true with a chance of √κ, or whatever comes: any two agree beyond chance by κ."""
    metric, labels = Metric("alpha", Words(), low=Fraction(-1)), range(len(shares))

    def draw(rng: random.Random) -> tuple[Metric, Measure]:
        table = []
        for true in rng.choices(labels, shares, k=n):
            said = [true if rng.random() < math.sqrt(bound) else rng.choices(labels, shares)[0] for _ in range(several)]
            table.append([said.count(label) for label in labels])
        spread = raters_spread(table, coefficient)  # type: ignore[arg-type]
        bounds = spread.bounds if spread else (None, None)
        return metric, Measure("alpha", "coefficient", coefficient(table), n, bounds=bounds)  # type: ignore[arg-type]

    return draw


def settings() -> Iterator[tuple[str, str, str, Draw]]:
    """(part, what, the gate at the truth, a draw)."""
    for runs in (1, 3, 5, 10):
        for alike, same in ALIKE.items():
            if runs == 1 and alike != "alike":
                continue
            how = f"{runs} run{'s, ' + alike if runs > 1 else ''}"
            for questions in (20, 60, 100):
                yield "p95", f"p95, {questions} questions × {how}", "p <= 100", percentile(questions, runs, same, 95)
            yield "p50", f"p50, 60 questions × {how}", "p <= 100", percentile(60, runs, same, 50)
            for chance in ("0.95", "0.5"):
                what = f"60 questions × {how}, true share {chance}"
                number = float(chance)
                yield "rate", f"share of runs, {what}", f"share >= {chance}", share_of_runs(60, runs, same, number)
                yield (
                    "mean",
                    f"mean of questions, {what}",
                    f"mean >= {chance}",
                    mean_of_questions(60, runs, same, number),
                )
            yield (
                "lambda",
                f"λ, 60 questions × {how}, true share 0.8",
                "lambda >= 0.8",
                lambda_share(60, runs, same, 0.8),
            )
    for runs in (3, 10):
        what = f"60 questions × 1 or {runs} runs, alike"
        yield "p95", f"p90, {what}", "p <= 100", percentile(60, runs, 1.0, 90, mixed=True)
        yield "rate", f"share of runs, {what}", "share >= 0.8", share_of_runs(60, runs, 1.0, 0.8, mixed=True)
    for n in (20, 40, 100, 200):
        for name, shares in LABELS.items():
            yield "kappa", f"κ at 0.75, {n} pairs, {name}", "kappa >= 0.75", cohen(n, shares, 0.75)
    for weights in ("linear", "quadratic"):
        what = f"κ at 0.6 with {weights} weights, 40 pairs, 4 labels"
        yield "kappa", what, "kappa >= 0.6", cohen(40, LABELS["4 labels"], 0.6, weights)
    for name in ("2 labels", "2 labels 90:10", "4 labels skewed"):
        for title, coefficient in (("Fleiss' κ", fleiss_kappa), ("α", krippendorff_alpha)):
            draw = raters(40, LABELS[name], 0.6, 3, coefficient)
            yield "kappa", f"{title} at 0.6, 40 items, 3 raters, {name}", "alpha >= 0.6", draw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--only", help="p95, p50, rate, mean, lambda or kappa")
    given = parser.parse_args()
    error = math.sqrt(LEVEL * (1 - LEVEL) / given.draws)
    print(f"{given.draws} draws each; 5 % has a Monte Carlo error of {error:.1%}\n")
    print("| system on its bound | pass called certain | miss called certain |\n|---|---|---|")
    worst, over = 0.0, []
    for number, (part, what, gate, draw) in enumerate(settings()):
        if given.only and part != given.only:
            continue
        rng, ends = random.Random(number), Counter[str]()
        for _ in range(given.draws):
            metric, measure = draw(rng)
            ends[compare(Gate.parse(gate), metric, measure, True).state] += 1
        rates = [ends[state] / given.draws for state in ("PASS", "FAIL")]
        shown = [f"{rate:.1%} ± {math.sqrt(rate * (1 - rate) / given.draws):.1%}" for rate in rates]
        print(f"| {what} | {shown[0]} | {shown[1]} |", flush=True)
        worst = max(worst, *rates)
        over += [what] if max(rates) > LEVEL + 3 * error else []
    print(f"\nhighest {worst:.1%}; above 5 % and 3 errors: {', '.join(over) or 'none'}")
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
