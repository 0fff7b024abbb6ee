"""Which answer to label next: gates decided from a few labels, at any look, rarely falsely."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_lines
from shipworthy.core.gates import Gate
from shipworthy.core.sources import read_gold
from shipworthy.gold.next import Bet, Next, chances
from shipworthy.stats.means import evidence

WORDS = ["apple", "river", "stone", "cloud", "tiger", "lemon", "piano", "cabin", "ocean", "maple", "robin", "cedar"]


def runs(tmp_path: Path, answerable: int, refused: int, leaked: int) -> tuple[Path, set[str]]:
    """Traces of a system, and the questions that its documents do not answer."""
    rows, lacking = [], set()
    for number in range(answerable + refused + leaked):
        text = " ".join(random.Random(number).sample(WORDS, 5)) + f" {number}?"
        claim = "It is 30 days." if number < answerable or number >= answerable + refused else "not in context"
        if number >= answerable:
            lacking.add(text)
        rows.append(
            {
                "qid": f"r{number}",
                "q": text,
                "topk": [{"id": "d1", "text": "The period is 30 days."}],
                "answer_json": {"claim": claim, "citations": ["d1"] if claim != "not in context" else []},
            }
        )
    return write_lines(tmp_path / "traces.jsonl", rows), lacking


def label(labelling: Next, lacking: set[str], most: int = 10_000) -> int:
    """An honest reviewer, who decides until nothing is asked for any more."""
    done = 0
    while done < most and (item := labelling.next()["item"]):
        if item["question"] in lacking:
            labelling.decide(item["qid"], "unanswerable", question=item["question"])
        else:
            picked = {"id": "d1", "text": "The period is 30 days.", "start": 14, "end": 21}
            labelling.decide(item["qid"], "accept", question=item["question"], selection=picked)
        done += 1
    return done


def opened(tmp_path: Path, path: Path, **more: Any) -> Next:
    return Next(path, tmp_path / "labels.jsonl", gates=["under_refusal=0.05"], reviewer="Ada", **more)


def test_a_gate_is_refuted_long_before_everything_is_labelled(tmp_path: Path) -> None:
    path, lacking = runs(tmp_path, 120, 60, 60)
    labelling = opened(tmp_path, path)
    done = label(labelling, lacking)
    assert labelling.verdicts() == [f"{done} answers labelled of 240: under_refusal <= 0.05 is refuted"]
    assert done < 80 and labelling.exit_code == 1
    assert len(read_gold(tmp_path / "labels.jsonl")) == done, "labels are a gold set"


def test_it_goes_on_where_it_stopped_and_asks_the_same(tmp_path: Path) -> None:
    path, lacking = runs(tmp_path, 60, 30, 30)
    first = opened(tmp_path, path)
    label(first, lacking, most=1)
    assert first.exit_code == 3 and "not decided yet" in first.verdicts()[0]
    waiting = first.waiting()
    again = opened(tmp_path, path)
    assert again.waiting() == waiting and again.labelled == 1
    label(again, lacking)
    assert again.exit_code == 1


def test_when_everything_is_labelled_the_gate_is_decided_exactly(tmp_path: Path) -> None:
    path, lacking = runs(tmp_path, 5, 19, 1)  # 1 of 20: exactly at the bound
    labelling = opened(tmp_path, path)
    assert label(labelling, lacking) == 25 and labelling.exit_code == 0


def test_a_dropped_question_counts_for_nothing(tmp_path: Path) -> None:
    path, _ = runs(tmp_path, 0, 2, 2)
    labelling = opened(tmp_path, path)
    while item := labelling.next()["item"]:
        labelling.decide(item["qid"], "drop")
    assert labelling.exit_code == 0 and not (tmp_path / "labels.jsonl").exists()


def test_the_page_never_shows_the_answer_that_is_labelled(tmp_path: Path) -> None:
    path, _ = runs(tmp_path, 3, 0, 0)
    assert "It is 30 days" not in str(opened(tmp_path, path).next())


def test_the_command_tells_what_the_labels_decide(tmp_path: Path, cli: Cli) -> None:
    path, lacking = runs(tmp_path, 20, 10, 30)
    command = ("gold", "next", "--traces", path, "--gates", "under_refusal=0.05", "--out", tmp_path / "labels.jsonl")
    ran = cli(*command, "--status")
    assert ran.code == 3 and "0 answers labelled of 60: under_refusal <= 0.05 is not decided yet" in ran.out
    done = label(opened(tmp_path, path), lacking)
    ran = cli(*command, "--status")
    assert ran.code == 1 and f"{done} answers labelled of 60: under_refusal <= 0.05 is refuted" in ran.out
    for gate in ("under_refusal[type=x] <= 0.05", "nonsense=3"):
        assert cli("gold", "next", "--traces", path, "--gates", gate, "--out", tmp_path / "x.jsonl").code == 2


def decided(rate: float, seed: int, judge: bool = False, most: int = 500) -> tuple[str, int]:
    """One history of labelling a population of 600, 40 % of it unanswerable."""
    order, bad = random.Random(seed), round(240 * rate)
    population = [(1, 1)] * bad + [(0, 1)] * (240 - bad) + [(0, 0)] * 360
    odds = [1.0] * 600
    if judge:  # right in nine of ten cases
        odds = [0.5 + 0.5 * (1.6 if (order.random() < 0.9) == (one == (1, 1)) else 0.4) for one in population]
        odds = [min(max(one, 0.5), 5.0) for one in odds]
    total = sum(odds)
    weights = [Fraction(total / 600 / one).limit_denominator(200) for one in odds]
    bet = Bet(Gate.parse("under_refusal <= 0.05"), 600, heaviest=2)
    for number, drawn in enumerate(order.choices(range(600), odds, k=most), 1):
        bet.add(bet.value(*population[drawn], weights[drawn]))
        if bet.answer:
            return bet.answer, number
    return "", most


@pytest.mark.parametrize(("rate", "false"), [(0.05, "refuted"), (0.055, "proven")])
@pytest.mark.parametrize("judge", [False, True])
def test_false_decisions_are_rare_however_often_one_looks(rate: float, false: str, judge: bool) -> None:
    histories = 25
    wrong = sum(decided(rate, seed, judge, 150)[0] == false for seed in range(histories))
    assert wrong <= 4, "at most 1 in 20, and a few for chance: more than 4 of 25 has a chance of 0.7 %"


def test_clear_cases_are_decided() -> None:
    assert all(decided(0.4, seed)[0] == "refuted" for seed in range(10))
    assert all(decided(0.0, seed, most=900)[0] == "proven" for seed in range(3))


def test_scores_steer_and_weights_undo_it() -> None:
    from shipworthy.core.contracts import Trace
    from shipworthy.gold.runs import Asked

    scores: list[Any] = [{"judge": 0.0}, {"judge": 1.0}, {"judge": "bad"}, None]
    asked = [Asked(f"q{n}", Trace(qid=f"q{n}", scores=score), "refused") for n, score in enumerate(scores)]
    found = chances(asked, "judge")
    assert sum(found) == 1 and found[0] > found[2] == found[3] > found[1] > 0
    values = [Fraction(3), Fraction(5), Fraction(7), Fraction(11)]
    steered = sum(one * (Fraction(1, 4) / one) * value for one, value in zip(found, values, strict=True))
    assert steered == sum(values) / 4 and max(Fraction(1, 4) / one for one in found) <= 2


def test_evidence_at_fixed_stakes() -> None:
    above, below = evidence({Fraction(1): 60}, 0, 1, Fraction(1, 2), 1000)
    assert above > 20 and below < 0
    assert evidence({}, 0, 1, Fraction(1, 2), 10) == (0.0, 0.0)
