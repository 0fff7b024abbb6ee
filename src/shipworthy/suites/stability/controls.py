"""Controls of the stability suite: coin flips, constant answers, a jitter that breaks; and the same right answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...core.contracts import Gold
from ...core.control import Control, Setup, draws, with_gold
from ...core.evidence import Row
from ..answers.material import ControlAnswers, least_length

SEEDS = (1, 2, 3)
JITTERS = ("none", "ws", "punct")


class GridPlace(NamedTuple):
    """Which run of a question."""

    number: int
    seed: int
    jitter: str


def controls(setup: Setup) -> Iterator[Control]:
    """The runs over the grid that the options name, or over three seeds and three jitters; the good one first."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made = ControlAnswers(setup.gold, least_length(setup.options))
    seeds, jitters = setup.options.get("seeds") or SEEDS, setup.options.get("jitters") or JITTERS
    grid = [GridPlace(n, *cell) for n, cell in enumerate((seed, jitter) for seed in seeds for jitter in jitters)]

    def runs(answer: Callable[[Gold, GridPlace], Row]) -> dict[str, list[Row]]:
        return {
            "runs": [
                answer(item, place) | {"seed": place.seed, "jitter": place.jitter}
                for item in made.items
                for place in grid
            ]
        }

    yield Control(name="the same right answer in every run", good=True, data=runs(lambda item, _: made.right(item)))
    yield Control(
        name="coin flips",
        data=runs(_coins(made, len(grid))),
        skip="" if len(grid) > 1 else "the grid has one run, and nothing to differ from it",
    )
    yield Control(
        name="constant answers",
        data=runs(lambda item, _: made.right(item) if item.answerable else made.wrong(item)),
        skip="" if made.unanswerable else "the gold set has no unanswerable question",
    )
    spoilt = sum(map(made.can_be_wrong, made.answerable))
    yield Control(
        name="the same wrong answer in every run",
        skip=made.too_few(spoilt, "have a claim that can be missed"),
        data=runs(lambda item, _: made.wrong(item) if item.answerable else made.refusal(item)),
    )
    last = jitters[-1]
    broken = runs(lambda item, place: made.refusal(item) if place.jitter == last else made.right(item))
    yield Control(name="one jitter breaks", data=broken, skip=_no_jitter(made, jitters))


def _coins(made: ControlAnswers, runs: int) -> Callable[[Gold, GridPlace], Row]:
    """Answer or refuse, whichever the coin says; no question gets the same side throughout."""
    thrown = iter(draws(len(made.items) * runs, 2))
    sides: dict[str, list[int]] = {}
    for item in made.items:
        own = [next(thrown) for _ in range(runs)]
        sides[item.qid] = [1 - own[-1], *own[1:]]

    def answer(item: Gold, place: GridPlace) -> Row:
        if not sides[item.qid][place.number]:
            return made.refusal(item)
        return made.right(item) if item.answerable else made.wrong(item)

    return answer


def _no_jitter(made: ControlAnswers, jitters: Iterable[str]) -> str:
    if len(list(jitters)) < 2:
        return "the grid has one jitter, and no other to differ from it"
    return "" if made.answerable else "the gold set has no answerable question"
