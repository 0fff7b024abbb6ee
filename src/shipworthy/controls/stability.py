"""Controls of the stability suite: coin flips, constant answers, a jitter that breaks; and the right answer every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..contracts import Gold
from .material import Material, Row, draws, least_length
from .results import Control

SEEDS = (1, 2, 3)
JITTERS = ("none", "ws", "punct")


class Place(NamedTuple):
    """Which run of a question."""

    number: int
    seed: int
    jitter: str


def build(items: Iterable[Gold], options: Mapping[str, Any]) -> Iterator[Control]:
    """The runs over the grid that the options name, or over three seeds and three jitters."""
    made = Material(items, least_length(options))
    seeds, jitters = options.get("seeds") or SEEDS, options.get("jitters") or JITTERS
    grid = [Place(n, *cell) for n, cell in enumerate((s, j) for s in seeds for j in jitters)]

    def runs(answer: Callable[[Gold, Place], Row]) -> dict[str, Any]:
        return {"runs": [answer(item, place) | {"seed": place.seed, "jitter": place.jitter}
                         for item in made.items for place in grid]}  # fmt: skip

    yield Control(name="the same right answer in every run", good=True, data=runs(lambda item, _: made.right(item)))
    yield Control(name="coin flips", data=runs(_coins(made, len(grid))),
                  skip="" if len(grid) > 1 else "the grid has one run, and nothing to differ from it")  # fmt: skip
    yield Control(name="constant answers", data=runs(lambda item, _: made.right(item) if item.answerable else made.wrong(item)),
                  skip="" if made.unanswerable else "the gold set has no unanswerable question")  # fmt: skip
    spoilt = sum(map(made.can_be_wrong, made.answerable))
    yield Control(name="the same wrong answer in every run", skip=made.too_few(spoilt, "have a claim that can be missed"),
                  data=runs(lambda item, _: made.wrong(item) if item.answerable else made.refusal(item)))  # fmt: skip
    last = jitters[-1]
    broken = runs(lambda item, place: made.refusal(item) if place.jitter == last else made.right(item))
    yield Control(name="one jitter breaks", data=broken, skip=_no_jitter(made, jitters))


def _coins(made: Material, runs: int) -> Callable[[Gold, Place], Row]:
    """Answer or refuse, whichever the coin says; no question gets the same side throughout."""
    thrown = iter(draws(len(made.items) * runs, 2))
    sides: dict[str, list[int]] = {}
    for item in made.items:
        own = [next(thrown) for _ in range(runs)]
        sides[item.qid] = [1 - own[-1], *own[1:]]

    def answer(item: Gold, place: Place) -> Row:
        if not sides[item.qid][place.number]:
            return made.refusal(item)
        return made.right(item) if item.answerable else made.wrong(item)

    return answer


def _no_jitter(made: Material, jitters: Iterable[str]) -> str:
    if len(list(jitters)) < 2:
        return "the grid has one jitter, and no other to differ from it"
    return "" if made.answerable else "the gold set has no answerable question"
