"""Score reasoning answers: the scorecard of a fixture as a decision like any other suite's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from ..contracts import Input
from ..decision import Decision, decide, number
from ..errors import UsageError
from ..evaluation import choose_gates, inputs, measure_all, slice_measures
from ..gates import Gate
from ..metrics import Count, Mean, Metric, Rate
from ..suites import reasoning
from ..suites.reasoning import DIMENSIONS, PROFILES, Answer, Fixture, Scorecard, Verdict
from ..suites.reasoning.copying import MOST_ALIKE
from ..suites.reasoning.run import read_answers
from ..tally import Fact, Tally
from ..text import plural

ALIASES = {"grounding": "factual_grounding", "contradiction": "contradiction_handling", "overall_score": "overall"}


def evaluate_reasoning(
    answers: str | os.PathLike[str] | Mapping[str, Answer],
    fixture: str | os.PathLike[str] | Fixture | None = None,
    *,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    profile: str = "grounded",
    case_min_overall: float | str | None = None,
    suite_min_pass_rate: float | str | None = None,
    fail_on_errors: bool = False,
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Decide whether a reasoner's recorded answers are good enough; without a fixture by the bundled one.

    The fixture's own thresholds are the default gates. A case that nobody answered leaves the data incomplete.
    """
    if profile not in PROFILES:
        raise UsageError(
            f"there is no profile {profile!r}", hint=f"Use one of {', '.join(PROFILES)}.", code="reason-profile"
        )
    cases, source = _fixture(fixture)
    cases = _with_bars(cases, case_min_overall, suite_min_pass_rate)
    found, read, remarks = _answers(answers, cases)
    card = reasoning.score(cases, found, profile, fail_on_errors)
    known = _metrics()
    wanted = [gates] if isinstance(gates, str) else list(gates)
    chosen = choose_gates(_gates(card), wanted, known, ALIASES, only_gates, require_proof)
    return _decision(card, known, chosen, {"fixture": source, "answers": read}, remarks, offenders)


def _decision(
    card: Scorecard, known: dict[str, Metric], gates: list[Gate], read: dict[str, Input], remarks: list[str], most: int
) -> Decision:
    tally = Tally()
    presets = {case.id: case.preset for case in card.fixture.cases}
    for one in card.verdicts:
        tally.count(_facts(one, card), [f"preset={presets[one.case_id]}"] if presets[one.case_id] else [])
    alike = card.alikeness()
    if alike is not None:
        tally.count([("answer_overlap", alike)])
    measures, outcomes = measure_all(tally, known, gates)
    incomplete = _unanswered(card)
    verdict, reasons = decide(outcomes, incomplete)
    whole = reasoning.report(card)
    return Decision(
        "reasoning", card.profile, verdict, reasons, outcomes, measures,
        slices=slice_measures(tally, known),
        counts={"items": len(card.verdicts), "passed": card.passed, "error": card.errors},
        offenders=_offenders(card, most),
        items=[_row(one) for one in sorted(card.verdicts, key=lambda one: one.case_id)],
        sections={"summary": whole["summary"], "results": whole["results"]},
        options={"profile": card.profile, "fail_on_errors": card.fail_on_errors, "fixture_name": card.fixture.name,
                 "fixture_version": card.fixture.version,
                 "case_min_overall": str(card.fixture.thresholds.case_min_overall),
                 "suite_min_pass_rate": str(card.fixture.thresholds.suite_min_pass_rate)},
        inputs=inputs(**read),
        warnings=[*remarks, *([whole["note"]] if whole["note"] else [])],
        incomplete=incomplete,
        run={name: source.path for name, source in read.items() if source.path},
    )  # fmt: skip


def _facts(verdict: Verdict, card: Scorecard) -> Iterator[Fact]:
    yield "items"
    yield verdict.status
    if verdict.passed:
        yield "passed"
    if verdict.status == "error" or (verdict.hard_failures and not _only_low(verdict)):
        yield "hard_failure"
    if verdict.overall is not None:
        yield ("overall", verdict.overall)
    for name in DIMENSIONS:
        score = verdict.scores.get(name)
        if score is not None:
            yield (name, score)
    answerable = next(case.answerable for case in card.fixture.cases if case.id == verdict.case_id)
    yield "answerable" if answerable else "unanswerable"
    if answerable and verdict.status == "refused":
        yield "over_refused"
    if not answerable and verdict.status in ("answered", "empty"):
        yield "under_refused"


def _only_low(verdict: Verdict) -> bool:
    """Whether all that is held against it is a dimension below its minimum."""
    return all(name in DIMENSIONS for name in verdict.hard_failures)


def _metrics() -> dict[str, Metric]:
    found: list[Metric] = [
        Rate("pass_rate", "cases that pass", of="passed", among="items"),
        Mean("overall", "mean overall score", of="overall"),
        *(Mean(name, f"mean {name.replace('_', ' ')} over the cases that ask for it", of=name) for name in DIMENSIONS),
        Mean("answer_overlap", "how much the answers resemble each other", "lower", of="answer_overlap"),
        Rate("error_rate", "cases that ended in an error", "lower", of="error", among="items"),
        Rate("empty_rate", "cases with a blank answer", "lower", of="empty", among="items"),
        Rate("hard_failure_rate", "cases that failed whatever their score", "lower", of="hard_failure", among="items"),
        Rate("under_refusal", "unanswerable cases that were answered", "lower", of="under_refused", among="unanswerable",
             could="unanswerable"),
        Rate("over_refusal", "answerable cases that were refused", "lower", of="over_refused", among="answerable",
             could="answerable"),
        Count("errors", "cases that ended in an error", "lower", high=None, of=("error",)),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


def _gates(card: Scorecard) -> list[Gate]:
    """The fixture's thresholds; a dimension that no case asks for has none."""
    bars = card.fixture.thresholds
    texts = [f"pass_rate >= {_text(bars.suite_min_pass_rate)}"]
    texts += [f"{name} >= {_text(bar)}" for name, bar in bars.dimension_min_average.items() if card.average(name)[1]]
    if card.profile == "grounded" and card.alikeness() is not None:
        texts.append(f"answer_overlap <= {_text(MOST_ALIKE)}")
    if card.fail_on_errors:
        texts.append("errors <= 0")
    return [Gate.parse(text) for text in texts]


def _text(bar: Fraction) -> str:
    return f"{float(bar):g}"


def _unanswered(card: Scorecard) -> list[str]:
    absent = sorted(case.id for case in card.fixture.cases if case.id not in card.answers)
    named = ", ".join(absent[:10]) + (" …" if len(absent) > 10 else "")
    return [f"{plural(len(absent), 'case')} of the fixture without an answer: {named}"] if absent else []


def _row(verdict: Verdict) -> dict[str, Any]:
    scores = {name: number(verdict.scores.get(name)) for name in DIMENSIONS}
    return {"qid": verdict.case_id, "status": verdict.status, "passed": verdict.passed, "overall": number(verdict.overall),
            **scores, "reason": _reason(verdict)}  # fmt: skip


def _reason(verdict: Verdict) -> str:
    if verdict.passed:
        return ""
    return ", ".join(verdict.hard_failures) or "below the bar"


def _offenders(card: Scorecard, most: int) -> list[dict[str, Any]]:
    """Cases that fail, the lowest score first."""
    failing = sorted((one for one in card.verdicts if not one.passed),
                     key=lambda one: (one.overall is not None, one.overall or 0, one.case_id))  # fmt: skip
    prompts = {case.id: case.prompt for case in card.fixture.cases}
    return [
        {"qid": one.case_id, "reason": _reason(one), "says": f"overall {number(one.overall)}", "question": prompts[one.case_id],
         "claim": card.answers[one.case_id].content if one.case_id in card.answers else None}
        for one in failing[:most]
    ]  # fmt: skip


def _fixture(given: str | os.PathLike[str] | Fixture | None) -> tuple[Fixture, Input]:
    if isinstance(given, Fixture):
        return given, Input(records=len(given.cases))
    if given is not None:
        found = reasoning.load_fixture(os.fspath(given))
        return found, Input(path=os.fspath(given), digest=_digest(os.fspath(given)), records=len(found.cases))
    with as_file(files("shipworthy") / "data" / "reason-v1.json") as bundled:
        found = reasoning.load_fixture(bundled)
        return found, Input(digest=_digest(str(bundled)), records=len(found.cases))


def _with_bars(fixture: Fixture, case: float | str | None, suite: float | str | None) -> Fixture:
    bars = fixture.thresholds
    return replace(fixture, thresholds=replace(
        bars,
        case_min_overall=bars.case_min_overall if case is None else Fraction(str(case)),
        suite_min_pass_rate=bars.suite_min_pass_rate if suite is None else Fraction(str(suite)),
    ))  # fmt: skip


def _answers(
    given: str | os.PathLike[str] | Mapping[str, Answer], fixture: Fixture
) -> tuple[Mapping[str, Answer], Input, list[str]]:
    if isinstance(given, Mapping):
        return given, Input(records=len(given)), []
    path = os.fspath(given)
    found, counts = read_answers(path, fixture)
    remarks = [f"{count} {name.replace('_', ' ')} among the answers" for name, count in counts.items() if count]
    return found, Input(path=path, digest=_digest(path), records=len(found) + sum(counts.values())), remarks


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
