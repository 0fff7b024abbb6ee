"""Lint: what a fixture's author should look at, because the case can't fail or can't pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from .asserted import Bound, asserts
from .controls import GOOD, control_answers
from .fixture import FixtureSource, ReasonCase, read_fixture
from .grounded import is_required
from .judge import judge_answer
from .reading import Sentence, Store, read_phrase, read_text
from .signals import contradiction_required

Severity = Literal["error", "warning"]


class Finding(msgspec.Struct, frozen=True):
    """One thing about one case."""

    severity: Severity
    case: str
    what: str
    code: str

    def __str__(self) -> str:
        return f"{self.case}: {self.what} [{self.code}]"


def lint(source: FixtureSource | None) -> list[Finding]:
    """Findings in the order of the cases."""
    fixture = read_fixture(source)
    right = {name: control_answers(fixture, name) for name in GOOD}
    found: list[Finding] = []
    for case in fixture.cases:
        found += [Finding(severity, case.id, what, code) for severity, what, code in _findings(case)]
        for name, answers in right.items():
            verdict = judge_answer(case, answers[case.id], fixture)
            if not verdict.passed and case.evidence:
                why = ", ".join(verdict.hard_failures or ("overall",))
                what = f"an answer in the evidence's own words ({name}) does not pass: {why}"
                found.append(Finding("error", case.id, what, "case-own-words"))
                break
    return found


def _findings(case: ReasonCase) -> Iterator[tuple[Severity, str, str]]:
    store = Store(case.evidence, case.prompt)
    if not case.evidence:
        yield "warning", "no evidence: only answers that bring their own can pass", "case-no-evidence"
    if not case.answerable:
        if case.bindings or case.expected_resolution:
            yield "error", "it is unanswerable, but binds values or expects a resolution", "case-unanswerable"
        return
    if not (case.bindings or case.expected_resolution or case.forbidden):
        yield "warning", "nothing is bound: any answer in the evidence's words passes", "case-nothing-bound"
    if contradiction_required(case) and not is_required(case, "contradiction_handling"):
        yield "warning", "the prompt speaks of a conflict, but no right or wrong side is written down", "case-no-side"
    for n, bound in enumerate(Bound(binding, store) for binding in case.bindings):
        yield from _binding(bound, case, n, store)
    yield from _phrases(case, store)


def _binding(bound: Bound, case: ReasonCase, position: int, store: Store) -> Iterator[tuple[Severity, str, str]]:
    value, others = bound.binding.value, [b.value for n, b in enumerate(case.bindings) if n != position]
    told = [sentence for note in bound.source for sentence in store.told[note]]
    for reference in (*bound.binding.source, *bound.binding.rivals):
        if not store.naming(reference):
            yield "error", f"{reference!r} names no note of the evidence", "case-source"
    if bound.source and not any(bound.places(sentence) for sentence in told):
        yield "error", f"the value {value!r} does not occur in its source", "case-value"
    if bound.about and told and not any(bound.is_about(s) for s in told if bound.places(s)):
        what = f"no term of about ({', '.join(bound.binding.about)}) is near {value!r} in its source"
        yield "warning", what, "case-about"
    if any(bound.places(sentence) for sentence in store.asked) and not bound.about:
        yield "warning", f"the value {value!r} is in the prompt: whoever repeats it gives it", "case-value-in-prompt"
    if not bound.about and not case.forbidden and _could_be_swapped(value, others, store):
        what = f"{value!r} could be swapped with another value and nobody would see it: add about"
        yield "warning", what, "case-could-not-fail"
    if len(read_phrase(value).content) == 0:
        yield "error", f"the value {value!r} has no content word", "case-value-empty"


def _could_be_swapped(value: str, others: list[str], store: Store) -> bool:
    """Numbers beside numbers: the evidence or the case has another one that could stand in this one's place."""
    if not read_phrase(value).numbers:
        return False
    own = set(read_phrase(value).numbers)
    told = {digits for said in store.told.values() for one in said for digits in one.numbers}
    return any(set(read_phrase(other).numbers) - own for other in others) or len(told - own) > 2


def _phrases(case: ReasonCase, store: Store) -> Iterator[tuple[Severity, str, str]]:
    rivals = {n for b in case.bindings for r in b.rivals for n in store.naming(r)}
    for phrase in (*case.expected_resolution, *case.forbidden, *case.actions):
        if not read_phrase(phrase).content:
            yield "error", f"{phrase!r} has no content word: nothing could assert it", "case-phrase-empty"
    for phrase in case.expected_resolution:
        if not set(read_phrase(phrase).content) - store.prompt_words:
            yield "warning", f"{phrase!r} has only words of the prompt", "case-resolution"
    for phrase in case.forbidden:
        asserting = [note for note, said in store.told.items() if note not in rivals and _said(said, phrase)]
        if asserting:
            yield (
                "error",
                f"forbidden {phrase!r} is what {', '.join(asserting)} says, and no rival",
                "case-forbidden-said",
            )
        if len(set(read_phrase(phrase).content)) < 3:
            what = f"forbidden {phrase!r} is so short that reporting the other side may assert it: write a statement"
            yield "warning", what, "case-forbidden-short"
        if any(_said(read_text(right), phrase) for right in case.expected_resolution):
            yield "error", f"forbidden {phrase!r} is part of an expected resolution", "case-forbidden-expected"


def _said(said: tuple[Sentence, ...] | list[Sentence], phrase: str) -> bool:
    return any(asserts(sentence, phrase) for sentence in said)
