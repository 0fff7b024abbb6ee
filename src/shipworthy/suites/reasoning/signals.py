"""Profile `signals`: the original keyword heuristics, number for number; a format lint, not a judge."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib.resources import files

from .fixture import DIMENSIONS, ReasonCase

DEFAULT_MIN_WORDS, LEAST_MIN_WORDS = 100, 40

# Only counted, so the blanks of other lines and all of a path but its last letter need no match: hostile text stays
# linear.
_BULLET = re.compile(r"^[^\S\n]*(?:[-*]|\d+\.)\s+", re.MULTILINE)
_HEADING = re.compile(r"^(?:#{1,3}\s+|\*\*[^*\n]+\*\*)", re.MULTILINE)
_CUE = re.compile(r"\b(?:owner|who|by\s+\w+|today|tomorrow|this week|next week|next sprint|due)\b")
_TAG = re.compile(r"\[[01]\.\d{2}\]")
_FILE = re.compile(r"[\w./-]\.(?:md|txt|json|yaml|yml|go|py):\d+", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?%?")
_WORD = re.compile(r"\b\w+\b")
_CONFLICT_PROMPT = re.compile(r"\b(?:conflict|contradict|inconsistent|mismatch|trade-off|disagree)\b")


@cache
def terms(name: str) -> tuple[str, ...]:
    """One of the original lists of words."""
    lists = tomllib.loads((files("shipworthy.suites.reasoning") / "data" / "signals.toml").read_text("utf-8"))
    return tuple(lists[name])


def score(case: ReasonCase, answer: str) -> dict[str, Fraction]:
    """The four scores, each rounded to four places as the original rounds them."""
    lower = answer.lower()
    values = (
        _actionability(case, answer, lower),
        _grounding(case, answer, lower),
        _contradiction(case, lower),
        _usefulness(case, answer, lower),
    )
    return {name: _rounded(value) for name, value in zip(DIMENSIONS, values, strict=True)}


def overall(scores: dict[str, Fraction], weights: dict[str, Fraction]) -> Fraction:
    """Σ w·s / Σ w in binary floating point, because the original's last digit depends on it."""
    total = sum(float(weights[name]) for name in DIMENSIONS)
    gained = sum(float(weights[name]) * float(scores[name]) for name in DIMENSIONS)
    return _rounded(gained / total) if total else Fraction(0)


def contradiction_required(case: ReasonCase) -> bool:
    """Whether the case asks for contradiction handling, by its own word or by its prompt."""
    required = case.expectation("contradiction_handling").required
    return bool(_CONFLICT_PROMPT.search(case.prompt.lower())) if required is None else required


def is_required(case: ReasonCase, dimension: str) -> bool:
    """The original requires every dimension unless the case says otherwise, contradiction handling by its own rule."""
    if dimension == "contradiction_handling":
        return contradiction_required(case)
    return case.expectation(dimension).required is not False


def _actionability(case: ReasonCase, answer: str, lower: str) -> float:
    heuristic = _step(len(_BULLET.findall(answer)), (2, 0.35), (1, 0.20))
    heuristic += _step(_hits(lower, terms("action")), (3, 0.35), (1, 0.20))
    heuristic += 0.30 if _CUE.search(lower) else 0.0
    return 0.35 * _keywords(case, "actionability", lower, terms("action")) + 0.65 * min(1.0, heuristic)


def _grounding(case: ReasonCase, answer: str, lower: str) -> float:
    references = len(_TAG.findall(answer)) + len(_FILE.findall(answer))
    heuristic = _step(references, (2, 0.50), (1, 0.30))
    heuristic += _step(_hits(lower, terms("provenance")), (2, 0.30), (1, 0.15))
    heuristic += 0.20 if _hits(lower, terms("doubt")) else 0.0
    return 0.65 * _keywords(case, "factual_grounding", lower, terms("grounding")) + 0.35 * min(1.0, heuristic)


def _contradiction(case: ReasonCase, lower: str) -> float:
    if not contradiction_required(case):
        return 1.0
    heuristic = 0.50 if _hits(lower, terms("resolution")) else 0.20
    heuristic += 0.30 if _hits(lower, terms("contradiction_doubt")) else 0.0
    heuristic += _step(_hits(lower, terms("contradiction")), (2, 0.20), (1, 0.10))
    keywords = _keywords(case, "contradiction_handling", lower, terms("contradiction"))
    return 0.50 * keywords + 0.50 * min(1.0, heuristic)


def _usefulness(case: ReasonCase, answer: str, lower: str) -> float:
    wanted = case.expectation("usefulness").min_words
    min_words = max(LEAST_MIN_WORDS, DEFAULT_MIN_WORDS if wanted is None else wanted)
    words = min(1.0, len(_WORD.findall(answer)) / min_words)
    heuristic = 0.25 if _HEADING.search(answer) else 0.0
    heuristic += _step(len(_BULLET.findall(answer)), (3, 0.25), (1, 0.10))
    heuristic += _step(len(_NUMBER.findall(answer)), (2, 0.25), (1, 0.10))
    heuristic += _step(_hits(lower, terms("summary")), (2, 0.25), (1, 0.10))
    keywords = _keywords(case, "usefulness", lower, terms("usefulness"))
    return 0.35 * words + 0.20 * keywords + 0.45 * min(1.0, heuristic)


def _keywords(case: ReasonCase, dimension: str, lower: str, fallback: Sequence[str]) -> float:
    expectation = case.expectation(dimension)
    return min(1.0, _hits(lower, expectation.terms or fallback) / expectation.min_hits)


def _hits(lower: str, terms: Sequence[str]) -> int:
    """How many of the terms occur as substrings, each counted once."""
    return sum(term in lower for term in dict.fromkeys(term.lower() for term in terms))


def _step(count: int, *steps: tuple[int, float]) -> float:
    return next((gain for least, gain in steps if count >= least), 0.0)


def _rounded(value: float) -> Fraction:
    return Fraction(str(round(value, 4)))
