"""Mutations of JSON: any value of a valid document replaced by one of another type or size, moved, or taken away.

    for what, body in mutations(report, seed=1, count=300):
        ...

The same seed gives the same mutations; `what` says where and how, for the message of a test that fails.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

PATHS = (
    "/etc/passwd",
    "../../../etc/passwd",
    "/dev/zero",
    "/proc/self/environ",
    "a\0b",
    "\ud800",
    "~",
    ".",
    "",
    "C:\\x",
)
TEXTS = (
    "NaN",
    "Infinity",
    "1/0",
    "1e999999999",
    "9" * 5000,
    "-1/3",
    "\n::error::forged\nAGREES  answers  0",
    "\x1b[2J",
    "http://127.0.0.1:9/x",
    "module:function",
    "missing <= 0",
    "p95 >= baseline * 2",
)
NUMBERS = (
    0,
    -1,
    1,
    2**63,
    -(2**64),
    10**400,
    1e308,
    -0.0,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
)


def nested(depth: int, kind: str = "list") -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


def mutations(document: Any, seed: int, count: int) -> Iterator[tuple[str, Any]]:
    """So many mutated copies, each with what was done to it."""
    chance = random.Random(seed)
    places = list(_places(document))
    for _ in range(count):
        body = copy.deepcopy(document)
        done = [_mutate(body, chance.choice(places), chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        yield "; ".join(done), body


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where everything stands; of long lists the first three, so that the head of a report is not outnumbered."""
    if path:
        yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, below in steps:
        yield from _places(below, (*path, key))


def _mutate(body: Any, path: tuple[Any, ...], chance: random.Random) -> str:
    holder = body
    try:
        for step in path[:-1]:
            holder = holder[step]
        old = holder[path[-1]]
    except (KeyError, IndexError, TypeError):
        return "nothing, because an earlier change took the place away"
    where = ".".join(map(str, path))
    if chance.random() < 0.12:
        del holder[path[-1]]
        return f"{where} taken away"
    new = _replacement(old, chance)
    holder[path[-1]] = new
    return f"{where} = {_shown(new)}"


def _shown(value: Any) -> str:
    try:
        return repr(value)[:60]
    except RecursionError:
        return "something nested deep"


def _replacement(old: Any, chance: random.Random) -> Any:
    kind = chance.randrange(9)
    if kind == 0:
        return None
    if kind == 1:
        return chance.choice(NUMBERS)
    if kind == 2:
        return chance.choice(TEXTS)
    if kind == 3:
        return chance.choice(PATHS)
    if kind == 4:
        return chance.choice(([], [None], [1, "a"], [[]], [{}], [old], [old] * 3))
    if kind == 5:
        return chance.choice(({}, {"": old}, {"a": 1}, {"qid": []}, {"value": {}}))
    if kind == 6:
        return nested(chance.choice((50, 300, 900, 990)), chance.choice(("list", "dict")))
    if kind == 7:
        return str(old)
    return _bent(old, chance)


def _bent(old: Any, chance: random.Random) -> Any:
    """The same type, another value."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, (int, float)):
        return chance.choice((-old, old + 1, old * 10**6, 0))
    if isinstance(old, str):
        return chance.choice((old[::-1], old + "\n", old.upper(), old[:1], ""))
    if isinstance(old, list):
        return old[::-1]
    return {str(key): value for key, value in reversed(old.items())} if isinstance(old, dict) else "null"
