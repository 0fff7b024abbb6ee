"""Controls of the agreement suite: chance, prevalence, acceptance against a flag, silence; and perfect agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.control import Control, Setup, draws
from ...core.evidence import Row
from ...core.records import is_path
from ...reading.jsonl import read_objects

LABELS = ("VALID", "NOT_IN_CONTEXT", "REJECT")
ENOUGH = 10  # pairs from which chance does not agree often
RARE = 25  # one in so many answers is rejected, by each validator another one


def controls(setup: Setup) -> Iterator[Control]:
    """Labels for as many answers as the user has: agreement on three pairs proves less than on three hundred."""
    qids = _qids(setup)
    count = len(qids)
    balanced = [LABELS[number % len(LABELS)] for number in range(count)]
    yield Control(name="perfect agreement", good=True, data=_pairs(qids, balanced, balanced))
    thrown = [LABELS[draw] for draw in draws(2 * count, len(LABELS))]
    yield Control(
        name="random labels",
        data=_pairs(qids, thrown[:count], thrown[count:]),
        skip="" if count >= ENOUGH else f"{count} pairs may agree by chance",
    )
    scholar, auditor = ([_rarely(number, turn) for number in range(count)] for turn in (0, RARE // 2))
    yield Control(
        name="both say VALID out of habit",
        data=_pairs(qids, scholar, auditor),
        skip="" if count >= RARE else f"{count} pairs are too few for a habit to show",
    )
    yield from _accepting(qids, balanced)
    often = ["ABSTAIN" if number % 5 == 0 else label for number, label in enumerate(balanced)]
    yield Control(name="abstains one time in five", data=_pairs(qids, often, often))


def _accepting(qids: Sequence[str], balanced: Sequence[str]) -> Iterator[Control]:
    flags = {"provenance_violation": True}
    valid, silent = ["VALID"] * len(qids), ["ABSTAIN"] * len(qids)
    yield Control(name="always VALID against hard flags", data=_pairs(qids, valid, valid, flags))
    yield Control(name="accepts against hard flags", data=_pairs(qids, balanced, balanced, flags))
    yield Control(name="always abstain", data=_pairs(qids, silent, silent))


def _rarely(number: int, turn: int) -> str:
    return "REJECT" if number % RARE == turn else "VALID"


def _qids(setup: Setup) -> list[str]:
    """The questions of the gold set, or of the labels where there is none."""
    labels = setup.inputs.get("pairs") or setup.inputs.get("scholar")
    if setup.gold or not labels:
        return [item.qid for item in setup.gold]
    rows = (row for _, row in read_objects(labels)) if is_path(labels) else labels
    return list(dict.fromkeys(str(row.get("qid")) for row in rows))


def _pairs(
    qids: Sequence[str], scholar: Sequence[str], auditor: Sequence[str], flags: dict[str, bool] | None = None
) -> dict[str, list[Row]]:
    rows = zip(qids, scholar, auditor, strict=True)
    return {
        "pairs": [
            {"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}, "flags": flags}
            for qid, one, other in rows
        ]
    }
