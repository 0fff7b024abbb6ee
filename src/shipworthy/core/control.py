"""Controls: runs with known truth that a suite makes from the user's own data, to see whether the gates would tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from .gates import Gate

SEED = 20_011  # every draw starts here, so that a control is the same run today and tomorrow


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A run with known truth: the inputs to give the suite, or why it can't be made here."""

    name: str
    good: bool = False
    data: dict[str, Any] = {}  # input → records
    skip: str = ""
    needs: tuple[str, ...] = ()  # metrics of which one must be gated, else it says nothing about this configuration


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite's controls are made from: the gold items, the other inputs, and how the suite is configured."""

    gold: Sequence[Any] = ()  # Gold items; empty where the suite needs none
    inputs: Mapping[str, Any] = {}  # the configured inputs by name, such as a fixture or a file of pairs
    options: Mapping[str, Any] = {}
    gates: Sequence[str | Gate] = ()
    named: bool = True  # whether somebody asked for this suite by name, and not for all of them


def with_gold(gold: Sequence[object], controls: Iterable[Control]) -> Iterator[Control]:
    """Controls that are judged by the gold set that they were made from."""
    for control in controls:
        yield msgspec.structs.replace(control, data={"gold": gold, **control.data})


def draws(length: int, choices: int) -> list[int]:
    """So many seeded draws below `choices`; only random() is promised to stay the same in every Python."""
    import random  # only controls draw, and scoring starts sooner without it

    source = random.Random(SEED)
    return [int(source.random() * choices) for _ in range(length)]
