"""An engine for tests: lines and questions in random parts and orders, through pickles; the bytes must not change."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from shipworthy.core.inputs import Stream
from shipworthy.core.join import Joined, Keep, Lot, Question, Slot, merge


def scattered(seed: int):  # type: ignore[no-untyped-def]
    """An engine whose splits and orders come from the seed."""
    chance = random.Random(seed)

    @contextmanager
    def run(
        streams: Mapping[str, Stream], keep: Mapping[str, Keep], tick: Callable[[int], None] | None
    ) -> Iterator[Joined]:
        found: dict[str, dict[str, Slot]] = {}
        for source, stream in streams.items():
            for lot in _lots(stream, keep.get(source, "all"), chance):
                for name in lot.names:
                    slots, slot = found.setdefault(name, {}), lot.slot(name)
                    assert slot is not None
                    known = slots.get(source)
                    slots[source] = slot if known is None else merge(known, slot, keep.get(source, "all"))
        yield _Scattered([Question(name, slots) for name, slots in found.items()], chance)

    return run


def _lots(stream: Stream, keep: Keep, chance: random.Random) -> Iterator[Lot]:
    """The lines in the order of the file, a few at a time."""
    for places, names, lines in stream.blocks():
        at = 0
        while at < len(names):
            lot, some = Lot(keep), slice(at, at + chance.randint(1, 9))
            lot.take(places[some], names[some], lines[some])
            yield lot
            at = some.stop


class _Scattered:
    def __init__(self, questions: list[Question], chance: random.Random) -> None:
        self._questions, self._chance = questions, chance

    def over(self, work: Any, total: Any) -> Any:
        for batch in self.batches():
            total += pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))([pickle.loads(pickle.dumps(batch))])))
        return total

    def batches(self, wanted: Callable[[str], bool] | None = None) -> Iterator[Sequence[Question]]:
        """Every question once, in one to seven parts, none of them in order."""
        parts: list[list[Question]] = [[] for _ in range(self._chance.randint(1, 7))]
        for question in self._chance.sample(self._questions, len(self._questions)):
            if wanted is None or wanted(question.name):
                self._chance.choice(parts).append(question)
        return iter(parts)
