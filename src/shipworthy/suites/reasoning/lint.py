"""Lint: what a fixture's author should look at, because the case can't fail or can't pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ...language.reader import DIGITS, read_phrase
from .contracts import Fixture, FixtureSource, ReasonCase, ReasonerAnswer, read_fixture
from .controls import GOOD, control_answer
from .judge import judge_answer
from .rules import Bound, Store, is_computed
from .signals import is_required

Found = tuple[str, str, str]


class Finding(msgspec.Struct, frozen=True):
    """One thing about one case: an `error` can never be right, a `warning` is worth a look."""

    severity: str
    case: str
    what: str
    code: str

    def __str__(self) -> str:
        return f"{self.case}: {self.what} [{self.code}]"


def lint(source: FixtureSource | None) -> list[Finding]:
    """Findings in the order of the cases."""
    fixture = read_fixture(source)
    found = [(case.id, one) for case in fixture.cases for one in (*_seen(case), *_tried(case, fixture))]
    return [Finding(severity, id_, what, code) for id_, (severity, what, code) in found]


def _seen(case: ReasonCase) -> Iterator[Found]:
    """What can be seen in the case itself."""
    store = Store(case.evidence, case.prompt)
    if not case.evidence:
        yield "warning", "no evidence: only answers that bring their own can be judged", "case-no-evidence"
    if not case.answerable and (case.bindings or case.expected_resolution):
        yield "error", "it is unanswerable, but binds values or expects a resolution", "case-unanswerable"
    if case.answerable and not (case.bindings or case.expected_resolution or case.forbidden):
        yield "warning", "nothing is bound: any answer about the evidence passes", "case-could-not-fail"
    yield from _resolutions(case, store)
    for bound in (Bound(binding, store) for binding in case.bindings):
        value = bound.binding.value
        for reference in (*bound.binding.source, *bound.binding.rivals):
            if not store.naming(reference):
                yield "error", f"{reference!r} names no note of the evidence", "case-source"
        told = [sentence for note in bound.source for sentence in store.told[note]]
        if told and not any(sentence.places(bound.value) for sentence in told) and not is_computed(value, told):
            yield "error", f"the value {value!r} does not occur in its source", "case-value"
        if not bound.about and any(sentence.places(bound.value) for sentence in store.asked):
            yield "warning", f"the value {value!r} is in the prompt: whoever repeats it gives it", "case-could-not-fail"


def _resolutions(case: ReasonCase, store: Store) -> Iterator[Found]:
    """What can be seen in the expected resolutions."""
    for phrase in case.expected_resolution:
        if not read_phrase(phrase).content:
            yield "error", f"the resolution {phrase!r} has no word that can be looked for", "case-resolution"
        elif any(sentence.asserts(phrase) for sentence in store.asked):
            yield "warning", f"the prompt itself states the resolution {phrase!r}", "case-could-not-fail"
        elif contrary := next((one for one in case.forbidden if _agree(phrase, one)), None):
            yield "error", f"the resolution {phrase!r} is forbidden too: {contrary!r}", "case-resolution"
    if case.expected_resolution and not is_required(case, "contradiction_handling"):
        what = "a missing resolution is only shown, not failed: set contradiction_handling to required to gate on it"
        yield "warning", what, "case-resolution-shown"


def _agree(one: str, other: str) -> bool:
    """Whether whoever says the one says the other."""
    return read_phrase(one).asserts(other)


def _tried(case: ReasonCase, fixture: Fixture) -> Iterator[Found]:
    """What trying shows: a right answer that does not pass, or wrong ones that do."""
    store = Store(case.evidence, case.prompt)
    # no note has the words of a value that was worked out
    computed = any(is_computed(binding.value, store.sentences) for binding in case.bindings)
    for name in GOOD if case.evidence and case.answerable and not computed else ():
        verdict = judge_answer(case, ReasonerAnswer(control_answer(name, case)), fixture)
        if not verdict.passed:
            why = ", ".join(verdict.kinds)
            yield "error", f"an answer in the evidence's own words ({name}) does not pass: {why}", "case-own-words"
            return
    for binding in (one for one in case.bindings if not one.about):
        others = (one for one in _exchanges(case, binding.value) if judge_answer(case, one[1], fixture).passed)
        if found := next(others, None):
            what = f"{binding.value!r} could change places with {found[0]!r} and nobody would see it: add about"
            yield "warning", what, "case-could-not-fail"


def _exchanges(case: ReasonCase, value: str) -> Iterator[tuple[str, ReasonerAnswer]]:
    """Answers in the evidence's words in which another number of it has changed places with the bound one."""
    told = [sentence.raw for sentence in Store(case.evidence, "").sentences]
    for own in DIGITS.findall(value)[:1]:
        for other in dict.fromkeys(DIGITS.findall(" ".join(told))):
            if other != own:
                yield other, ReasonerAnswer(_exchanged(told, own, other))


def _exchanged(told: list[str], own: str, other: str) -> str:
    pattern = re.compile(rf"(?<![\d.-])(?:{re.escape(own)}|{re.escape(other)})(?![.-]?\d)")
    changed = [pattern.sub(lambda match: other if match[0] == own else own, text) for text in told]
    return " ".join(after for before, after in zip(told, changed, strict=True) if before != after)
