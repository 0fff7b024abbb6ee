"""What the tests of retrieval share: a gold item and a log line in a few words, and the suite as a function."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import files
from typing import Any

from shipworthy.core.contracts import Gold
from shipworthy.core.decision import Decision
from shipworthy.core.sources import read_gold
from shipworthy.jobs.evaluate import evaluate

HALF = Fraction(1, 2)
RANGED = {"id": "S.1.p.Bk001", "offsets": [100, 200]}  # a gold block that says where it stands


def question(qid: str = "q", relevant: Any = ("a", "b"), **more: Any) -> dict[str, Any]:
    return {"qid": qid, "question": f"What is {qid}?", "relevant": list(relevant), **more}


def line(qid: str = "q", found: Any = ("a", "x", "b"), cites: Any = ("a",), **more: Any) -> dict[str, Any]:
    topk = [{"id": block} if isinstance(block, str) else block for block in found]
    return {"qid": qid, "topk": topk, "answer_citations": list(cites), **more}


def score(gold: Any, shadow: Any, live: Any = None, **options: Any) -> Decision:
    gold, shadow = ([one] if isinstance(one, dict) else one for one in (gold, shadow))
    return evaluate("retrieval", gold=gold, shadow=shadow, live=live, **options)


def value(decision: Decision, name: str) -> Fraction | None:
    return decision.measures[name].value


def demo_gold() -> list[Gold]:
    return read_gold(str(files("shipworthy.demo") / "gold.jsonl"))
