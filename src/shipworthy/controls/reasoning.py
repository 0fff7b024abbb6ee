"""Controls of the reasoning suite: the answers that it makes from a fixture's own cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..refusal import TOKEN
from ..suites.reasoning import Answer, Fixture
from ..suites.reasoning.controls import answer_anyway, controls
from .results import Control


def build(fixture: Fixture) -> Iterator[Control]:
    """The suite's own controls, the good ones first; then who refuses everything, and who answers everything."""
    refusals = {case.id: Answer(TOKEN) for case in fixture.cases}
    # A bad run has one fault: it refuses where it should, so that the gate on that does not hide a bar that is too low.
    rightly = {case.id: refusals[case.id] for case in fixture.cases if not case.answerable}
    nothing_to_answer = "no answerable case" if len(rightly) == len(fixture.cases) else ""
    for control in sorted(controls(fixture), key=lambda one: not one.good):
        if control.good:
            yield _control(fixture, control.name, control.answers, good=True)
        else:
            yield _control(fixture, control.name, {**control.answers, **rightly}, nothing_to_answer)
    yield _control(fixture, "all-refuse", refusals, nothing_to_answer)
    always = {case.id: Answer(answer_anyway(case)) for case in fixture.cases}
    yield _control(fixture, "all-answer", always, "" if rightly else "no unanswerable case")


def _control(fixture: Fixture, name: str, answers: Mapping[str, Answer], skip: str = "", good: bool = False) -> Control:
    return Control(name=name, good=good, skip=skip, data={"answers": answers, "fixture": fixture})
