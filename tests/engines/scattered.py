"""An engine for tests: records and cases in random parts and orders, through pickles; the bytes must not change."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from typing import TypeVar

from shipworthy.core.evaluate import gather, judge, settle
from shipworthy.core.evidence import Evidence
from shipworthy.core.suite import Judged, Material, Suite
from shipworthy.engines.units import Plan, merge, read_unit

T = TypeVar("T")


def scattered(seed: int):  # type: ignore[no-untyped-def]
    """An engine whose splits and orders come from the seed."""
    chance = random.Random(seed)

    def run(suite: Suite, material: Material) -> Judged:
        # Reading stays in one piece, as the digest of a file is of the whole file; what was read is dealt out.
        records = [(source, pair) for source, stream in material.streams.items() for pair in stream]
        parts = [gather(suite, material, _by_source(material, part)) for part in _dealt(records, chance)]
        whole = gather(suite, material, dict.fromkeys(material.streams, ()))
        for part in parts:
            whole.merge(pickle.loads(pickle.dumps(part)), material.keep)
        context = pickle.loads(pickle.dumps(settle(suite, material, whole)))
        again = pickle.loads(pickle.dumps(suite))
        evidence = Evidence(context.options.offenders)
        for cases in _dealt(list(whole.cases(material.expected)), chance):
            evidence += pickle.loads(pickle.dumps(judge(again, pickle.loads(pickle.dumps(cases)), context)))
        return Judged(context, whole, evidence)

    return run


def cut(part: int, seed: int):  # type: ignore[no-untyped-def]
    """An engine that reads parts of so many bytes in the order of the seed, as other processes would."""

    def run(suite: Suite, material: Material) -> Judged:
        plan = Plan(material, part)
        units = list(enumerate(plan))
        random.Random(seed).shuffle(units)
        read = ((number, pickle.loads(pickle.dumps(read_unit(suite, material, unit)))) for number, unit in units)
        gathered = merge(suite, material, plan, read, [])
        context = settle(suite, material, gathered)
        return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))

    return run


def _by_source(
    material: Material, part: Iterable[tuple[str, tuple[int, object]]]
) -> dict[str, list[tuple[int, object]]]:
    streams: dict[str, list[tuple[int, object]]] = {source: [] for source in material.streams}
    for source, pair in part:
        streams[source].append(pair)
    return streams


def _dealt(things: list[T], chance: random.Random) -> list[list[T]]:
    """Everything once, in one to seven parts, none of them in order."""
    parts: list[list[T]] = [[] for _ in range(chance.randint(1, 7))]
    for thing in chance.sample(things, len(things)):
        chance.choice(parts).append(thing)
    return parts
