"""Score reasoning: every answer held against its case's evidence, all of them against the fixture's bars."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ..contracts import Input
from ..decision import Decision, decide
from ..engines import inline
from ..errors import UsageError
from ..evaluation import choose_gates, inputs, measure_all, slice_measures
from ..gates import Gate
from ..suites import reasoning
from ..suites.bars import Number, exact, written
from ..suites.reasoning import Fixture, Judged
from ..suites.reasoning.answers import AnswerSource, gather_answers

FixtureSource = str | os.PathLike[str] | Mapping[str, Any] | Fixture


def evaluate_reasoning(
    fixture: FixtureSource | None = None,
    *,
    answers: AnswerSource,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    profile: str = "grounded",
    fail_on_errors: bool = False,
    max_cases: int | None = None,
    case_min_overall: Number | None = None,
    suite_min_pass_rate: Number | None = None,
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Judge the answers to a fixture's cases, and decide.

    `fixture` is a path, a dict or a Fixture, and the one of the package where it is absent; `answers` is a path, or a
    mapping from a case's id to an Answer, to a reasoner's output object or to plain text.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    if profile not in reasoning.PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"Use one of {', '.join(reasoning.PROFILES)}.",
                         code="reason-profile")  # fmt: skip
    cases = _selected(read_fixture(fixture), max_cases, case_min_overall, suite_min_pass_rate)
    known = reasoning.metrics()
    bars = reasoning.gates(cases.thresholds, profile, fail_on_errors)
    chosen = choose_gates(bars, wanted, known, reasoning.ALIASES, only_gates, require_proof)
    given, read, remarks = gather_answers(answers, cases)
    tally, verdicts = inline.tally(
        cases.cases,
        lambda case: reasoning.judge(case, given.get(case.id, reasoning.MISSING), cases, profile),
        reasoning.facts,
        reasoning.slices,
    )
    judged = Judged(cases, profile, given, verdicts)
    if (overlap := judged.alikeness()) is not None:
        tally.count([("answer_overlap", overlap)])
    measures, outcomes = measure_all(tally, known, chosen)
    verdict, reasons = decide(outcomes)
    source = Input(path=cases.path, digest=cases.digest, records=len(cases.cases))
    return Decision(
        "reasoning", profile, verdict, reasons, outcomes, measures,
        slices=slice_measures(tally, known),
        counts=reasoning.counts(tally),
        named=reasoning.named(judged),
        diagnosis=reasoning.diagnose(outcomes, measures, tally, judged),
        offenders=reasoning.offenders(judged, offenders),
        items=reasoning.items(judged),
        sections=reasoning.sections(judged, measures, outcomes),
        headline=reasoning.headline(judged, measures, outcomes, verdict == "SHIP", reasons),
        options={
            "fail_on_errors": fail_on_errors, "max_cases": max_cases,
            "case_min_overall": written(cases.thresholds.case_min_overall) if case_min_overall is not None else None,
        },
        inputs=inputs(fixture=source, answers=read),
        warnings=([reasoning.FORMAT_LINT] if profile == "signals" else []) + remarks,
        run={"answers": read.path} | ({"fixture": cases.path} if cases.path else {}),
    )  # fmt: skip


def read_fixture(source: FixtureSource | None) -> Fixture:
    """A fixture from wherever it is; the one of the package where nothing is named."""
    if source is None or isinstance(source, Fixture):
        return reasoning.bundled_fixture() if source is None else source
    if isinstance(source, (str, os.PathLike)):
        return reasoning.load_fixture(os.fspath(source))
    return replace(reasoning.parse_fixture(source), path="<fixture>")


def _selected(fixture: Fixture, most: int | None, case_bar: Number | None, suite_bar: Number | None) -> Fixture:
    """The first so many cases, under the bars that were overwritten."""
    if most is not None and most < 1:
        raise UsageError("max_cases must be at least 1", hint="Leave it out to judge all cases.", code="bar")
    bars = {"case_min_overall": case_bar, "suite_min_pass_rate": suite_bar}
    given: Any = {name: exact(name, value) for name, value in bars.items() if value is not None}
    return replace(fixture, cases=fixture.cases[:most], thresholds=replace(fixture.thresholds, **given))
