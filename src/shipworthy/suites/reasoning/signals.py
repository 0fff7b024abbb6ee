"""Profile `signals`: the original keyword heuristics, number for number; a format lint, not a judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .contracts import DIMENSIONS, Dimension, ReasonCase, load_data

DEFAULT_MIN_WORDS, LEAST_MIN_WORDS = 100, 40
_WORD = re.compile(r"\b\w+\b")


def terms(name: str) -> list[str]:
    """One of the original lists of words."""
    return load_data("signals")["terms"][name]  # type: ignore[no-any-return] # the file has lists of words


def score(case: ReasonCase, answer: str) -> dict[Dimension, Fraction | None]:
    """The four scores, each rounded to four places as the original rounds them."""
    lower = answer.lower()
    return {name: _rounded(_score(case, name, answer, lower)) for name in DIMENSIONS}


def overall(scores: Mapping[Dimension, Fraction | None], weights: Mapping[Dimension, Fraction]) -> Fraction:
    """Σ w·s / Σ w in binary floating point, because the original's last digit depends on it."""
    total = sum(float(weights.get(name, 0)) for name in DIMENSIONS)
    gained = sum(float(weights.get(name, 0)) * float(scores[name] or 0) for name in DIMENSIONS)
    return _rounded(gained / total) if total else Fraction(0)


def is_required(case: ReasonCase, dimension: Dimension) -> bool:
    """Every dimension unless the case says otherwise; contradiction handling where the case or its prompt asks."""
    required = case.expectation(dimension).required
    if dimension == "contradiction_handling" and required is None:
        return bool(re.search(load_data("signals")["patterns"]["conflict"], case.prompt.lower()))
    return required is not False


def _score(case: ReasonCase, name: Dimension, answer: str, lower: str) -> float:
    if name == "contradiction_handling" and not is_required(case, name):
        return 1.0
    rule, expectation = load_data("signals")[name], case.expectation(name)
    layout = 0.0
    for part in rule["parts"]:
        layout += _gain(part, lower)
    keywords = _hits(lower, expectation.terms or terms(rule["fallback"])) / expectation.min_hits
    wanted = DEFAULT_MIN_WORDS if expectation.min_words is None else expectation.min_words
    length = len(_WORD.findall(answer)) / max(LEAST_MIN_WORDS, wanted) if rule["length"] else 0.0
    parts = ((rule["length"], length), (rule["keywords"], keywords), (rule["layout"], layout))
    first, second, third = (weight * min(1.0, share) for weight, share in parts)
    return float(first + second + third)


def _gain(part: Mapping[str, Any], lower: str) -> float:
    patterns, count = load_data("signals")["patterns"], 0
    for name in part["counts"]:
        count += len(re.findall(patterns[name], lower)) if name in patterns else _hits(lower, terms(name))
    return next((gain for least, gain in part["steps"] if count >= least), 0.0)


def _hits(lower: str, words: Sequence[str]) -> int:
    """How many of the words occur as substrings, each counted once."""
    return sum(word in lower for word in dict.fromkeys(word.lower() for word in words))


def _rounded(value: float) -> Fraction:
    return Fraction(str(round(value, 4)))
