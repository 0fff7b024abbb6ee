"""The reference profile: what the original script prints about stability, number for number, mistakes included.

It goes through the traces, so a gold item without runs is not seen, and an unknown qid counts as unanswerable.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...contracts import Gold, Trace, ids_of
from ...refusal import TOKEN
from .spread import distance_and_agreement

_DELETED = str.maketrans("", "", string.punctuation)
_NOBODY = Gold(qid="-", answerable=False)
DEFAULT_GATES = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20, "rcr": 0.98}


def canon(text: str) -> str:
    """Lower case, ASCII punctuation deleted, white space collapsed; a blank that punctuation leaves in front stays."""
    return re.sub(r"\s+", " ", text.strip().lower().translate(_DELETED))


def details(gold: Gold, runs: Sequence[Trace]) -> dict[str, Fraction | int | None]:
    """The numbers of one question, exact."""
    n = len(runs)
    refused = [_refused(run) for run in runs]
    sets = [set(ids_of(run.answer.citations)) for run in runs]
    union, shared = set[str]().union(*sets), set.intersection(*sets)
    said = [canon(run.answer.claim) for run, gone in zip(runs, refused, strict=True) if not gone and run.answer.claim]
    ned50, _ = distance_and_agreement(said)
    return {
        "acr": Fraction(sum(_contained(gold, run) for run in runs), n),
        "cghc": Fraction(sum(_hit(gold, run) for run in runs), n),
        "css": Fraction(len(shared), len(union)) if union else Fraction(1),
        "ned50": Fraction(0) if ned50 is None else ned50,
        "rcr": Fraction(max(sum(refused), n - sum(refused)), n),
        "scu_cons": _constraints(gold, runs, refused),
    }


def reference(
    gold: Mapping[str, Gold], runs: Mapping[str, Sequence[Trace]], gates: Mapping[str, Fraction]
) -> dict[str, Any]:
    """The report of the original script: totals, pass, details rounded to four places."""
    totals = {"answerable": 0, "unanswerable": 0, "fail": 0, "pass": 0}
    shown = {}
    for qid, own in runs.items():
        item = gold.get(qid, _NOBODY)
        exact = details(item, own)
        totals["answerable" if item.answerable else "unanswerable"] += 1
        totals["pass" if _passes(item, exact, gates) else "fail"] += 1
        shown[qid] = {name: _rounded(value) for name, value in exact.items()}
    return {"totals": totals, "pass": totals["fail"] == 0, "details": shown}


def _passes(gold: Gold, exact: Mapping[str, Fraction | int | None], gates: Mapping[str, Fraction]) -> bool:
    if not gold.answerable:
        return exact["rcr"] >= gates["rcr"]  # type: ignore[operator]
    lower = all(exact[name] >= gates[name] for name in ("acr", "cghc", "css"))  # type: ignore[operator]
    return lower and exact["ned50"] <= gates["ned50"] and exact["scu_cons"] in (None, 1)  # type: ignore[operator]


def _refused(run: Trace) -> bool:
    return run.answer.claim.strip().lower() == TOKEN


def _contained(gold: Gold, run: Trace) -> bool:
    """A missing list and an empty one are both vacuous here; a length is that of the text before canon."""
    if not gold.substrings:
        return True
    claim = canon(run.answer.claim)
    return any(len(text) >= 5 and canon(text) in claim for text in gold.substrings)


def _hit(gold: Gold, run: Trace) -> bool:
    cited, wanted = set(ids_of(run.answer.citations)), set(gold.citations)
    if not wanted:
        return not cited
    return bool(wanted & cited) and cited <= set(run.retrieved)


def _constraints(gold: Gold, runs: Sequence[Trace], refused: Sequence[bool]) -> int | None:
    if not gold.constraints:
        return None
    answered = (run for run, gone in zip(runs, refused, strict=True) if not gone)
    return int(all(run.answer.constraints_echo == gold.constraints for run in answered))


def _rounded(value: Fraction | int | None) -> float | int | None:
    """The script divides in floating point and rounds that; rounding the fraction could differ in the last place."""
    if not isinstance(value, Fraction):
        return value
    return round(value.numerator / value.denominator, 4)
