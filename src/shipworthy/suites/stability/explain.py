"""What a report says about stability beyond its gates: totals, details and rows by question, tables, remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...core.decision import number
from ...core.evidence import Judged, Order, Row, brief
from ...core.gates import Outcome, written
from ...core.join import Case, Unknown
from ...core.suite import Explanation, Findings
from ...core.tally import HAS, NAMED, Tally
from ...text import first_few, plural
from ..answers import judge as answers
from ..answers.explain import judging_shown
from ..answers.hints import lines, unread_lines
from . import pooled, reference, sensitivity
from .hints import diagnose, reasons, titled, total
from .judge import judge_runs
from .metrics import ASIDE, counts_of, first_holes
from .options import BARS, CITING, names_rcr
from .reference import compat
from .survey import StabilitySurvey
from .verdict import KS, Context, RunFacts, Verdict

_VALUES = (
    "rcr",
    "refusal_rate",
    "acr",
    "cghc",
    "css",
    "css_all",
    "jaccard",
    "ned50",
    "iaa",
    "scu_cons",
    *(f"pass^{k}" for k in KS),
)
_DETAILS = (*_VALUES, "runs", "answered", "distinct_prompts", "effective_runs", "failed", "undefined", "flips")
_COUNTED = (
    "items",
    "answerable",
    "unanswerable",
    "judged",
    "missing",
    "passing",
    "failing",
    "undecided",
    "runs",
    "runs_answered",
    "runs_refused",
    "runs_error",
    "flips",
)
_STATES = {"convergent": "→", "backward": "←", "split": "<>", "collapse": "×"}
_ANSWERS = 3  # that a card shows side by side
_FEW = 8  # names in a sentence; the report has more of them


def explain(findings: Findings) -> Explanation:
    tally, evidence = findings.tally, findings.evidence
    shown, first = sections(findings), first_lines(findings)
    kinds = [""] if not first.keys().isdisjoint(answers.CITING) else ["", _CITED]
    return Explanation(
        counts=counts(findings),
        named=named(findings),
        diagnosis=diagnose(evidence.part(ASIDE), shown["sensitivity"]),
        first=list(first.values()),
        offenders=evidence.offenders(*kinds),
        cards=evidence.cards(*kinds),
        items=list(map(item, evidence.rows)),
        sections=shown,
        headline=headline(findings),
        compat=compat(findings),
        warnings=warnings(findings),
        reasons=findings.reasons if findings.ships else [*findings.reasons, *reasons(tally)],
    )


def first_lines(findings: Findings) -> dict[str, str]:
    """What is not judged, or why no citation counts: see the answers suite."""
    tally = findings.tally
    return unread_lines(tally) | lines(
        findings.context.options,
        answered=tally["runs_answered"],
        citing=tally["runs_citing"],
        logged=bool(tally[HAS + answers.RETRIEVED]),
        judged=any(tally[f"failing_{name}"] for name in CITING),
    )


def shown(context: Context) -> dict[str, object]:
    """What the options stand for: bars among the gates, numbers as they are written, files as what is in them."""
    return {
        "bars": [str(bar) for bar in context.bars],
        "max_fail_rate": written(context.options.most_failing),
        **judging_shown(context.options, context.judging),
        **({"accuracy": "refer"} if context.options.accuracy == "refer" else {}),
    }


def counts(findings: Findings) -> dict[str, int]:
    tally, aside = findings.tally, findings.evidence.part(ASIDE)
    unknown = _unknown(findings).lines
    return {name: tally[name] for name in _COUNTED} | {
        "holes": total(aside, "holes"),
        "repeated": aside["repeated"],
        "unknown_qid": unknown,
    }


def named(findings: Findings) -> dict[str, list[str]]:
    names = {fact: findings.tally.named(fact) for fact in ("failing", "undecided", "missing")}
    holes = first_holes(findings.evidence.part(ASIDE))
    return names | {"holes": holes, "unknown_qids": _unknown(findings).names}


def _unknown(findings: Findings) -> Unknown:
    """Runs of questions that the gold set does not have, in the sweep that is judged."""
    surveyed = findings.gathered.survey
    assert isinstance(surveyed, StabilitySurvey)
    return surveyed.chosen(findings.context.sweep).unknown


# --- what makes the data unfit to judge ---


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, list(_incomplete(findings.tally, findings.evidence.part(ASIDE)))


def _incomplete(tally: Tally, aside: Tally) -> Iterator[str]:
    if holes := total(aside, "holes"):
        names = _listed(first_holes(aside), holes)
        yield f"{plural(holes, 'run')} missing from the grid of seeds and rewordings: {names}"
    if vague := tally["undecided"]:
        bars = sorted(name for name in BARS if aside[f"undefined_{name}"])
        yield (
            f"{', '.join(bars)} can't be computed for {plural(vague, 'question')} with fewer than two answers: "
            f"{_listed(tally.named('undecided'), vague)}"
        )


def _listed(names: Sequence[str], count: int) -> str:
    """The first few of so many names."""
    more = f" and {count - _FEW} more" if count > _FEW else ""
    return ", ".join(names[:_FEW]) + more


# --- one row a question, and the worst of them ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """Everything about one question; the report has it as details and, in short, as an item."""
    if context.options.profile == "reference":
        return reference.judge(case, context)
    verdict = judge_runs(case, context)
    row = {
        "qid": verdict.qid,
        "state": verdict.state,
        "answerable": verdict.answerable,
        **{name: number(verdict.values[name]) for name in _VALUES},
        "runs": len(verdict.runs),
        "answered": len(verdict.answered),
        "distinct_prompts": verdict.distinct_prompts,
        "effective_runs": verdict.effective_runs,
        "failed": list(verdict.failed),
        "undefined": list(verdict.undefined),
        "question": brief(verdict.question.gold.question),
        "slices": list(verdict.slices),
        "flips": [{"run": str(flip.cell), "differs": list(flip.differs)} for flip in verdict.flips],
    }
    # A question that the judged sweep has no run of, or a run that failed, says nothing about the others.
    lost = not verdict.runs or any(run.status == "error" for run in verdict.runs)
    return (Judged(row, tuple(counts_of(verdict, case.place)), (verdict.qid,), _worst(verdict), lost),)


def item(row: Row) -> Row:
    """The question in one line of a table."""
    return {
        "qid": row["qid"],
        "state": row["state"],
        "answerable": row["answerable"],
        "runs": row["runs"],
        **{name: row[name] for name in _VALUES},
        "flips": len(row["flips"]),
        "distinct_prompts": row["distinct_prompts"],
        "failed": " ".join(row["failed"]),
        "question": row["question"],
    } | ({"slices": row["slices"]} if row["slices"] else {})


def _worst(verdict: Verdict) -> tuple[tuple[str, Order], ...]:
    """Failing questions, those that miss most bars first, then those with most flips."""
    if not verdict.failed:
        return ()
    kind = _CITED if set(verdict.failed) <= set(CITING) else ""
    return ((kind, (-len(verdict.failed), -len(verdict.flips), verdict.qid)),)


_CITED = "cited"  # the kind of questions that miss nothing but thresholds on citations
# What differs between runs, in words.
_DIFFERS = {"status": "answered or refused", "containment": "expected text", "constraint": "constraints"}


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    """Which thresholds a question misses, by how much, and which of its runs differ."""
    verdict, gold = judge_runs(case, context), case.gold
    misses = ", ".join(f"{titled(name)} {float(verdict.values[name] or 0):.3f}" for name in verdict.failed)
    flips = [f"{flip.cell} ({', '.join(_DIFFERS.get(fact, fact) for fact in flip.differs)})" for flip in verdict.flips]
    more = f" and {len(flips) - 3} more" if len(flips) > 3 else ""
    where = f"; runs that differ from the majority: {', '.join(flips[:3])}{more}" if flips else ""
    return {
        "qid": verdict.qid,
        "reason": verdict.failed[0],
        "says": f"{misses} over {len(verdict.runs)} runs{where}",
        "question": gold.question,
        "claim": _answers(verdict),
        "gold_claim_substr": gold.substrings,
        "gold_citations": gold.citations,
        "runs": len(verdict.runs),
        "flips": flips,
    }


def _answers(verdict: Verdict) -> str:
    """The answers that differ, the commonest first, each with how many runs gave it and one of them."""
    groups: dict[tuple[str, str], list[RunFacts]] = {}
    for run in verdict.runs:
        groups.setdefault((run.status, run.claim), []).append(run)
    ranked = sorted(groups.values(), key=lambda group: -len(group))
    shown = [
        f"{len(group)} of {len(verdict.runs)} runs ({group[0].cell}): "
        f"{'failed' if group[0].status == 'error' else brief(group[0].said) or 'nothing'}"
        for group in ranked[:_ANSWERS]
    ]
    more = [f"{len(ranked) - _ANSWERS} more"] if len(ranked) > _ANSWERS else []
    return " | ".join([*shown, *more])


# --- sections and top-level keys ---


def headline(findings: Findings) -> dict[str, object]:
    tally, bars = findings.tally, findings.context.bars
    totals = {"answerable": "answerable", "unanswerable": "unanswerable", "pass": "passing", "fail": "failing"}
    return {
        "totals": {name: tally[fact] for name, fact in totals.items()},
        "gates": {bar.metric: number(bar.bound.number) for bar in bars},
        "details": {row["qid"]: {name: row[name] for name in _DETAILS} for row in findings.evidence.rows},
    }


def sections(findings: Findings) -> Row:
    tally, evidence = findings.tally, findings.evidence
    aside, runs = evidence.part(ASIDE), tally["runs"]
    prompts = {name: _total(aside, name, tally["judged"]) for name in ("distinct_prompts", "effective_runs")}
    states = {name: tally[f"lambda_{state}"] for name, state in _STATES.items()}
    read = aside["lambda_read"]
    return {
        "sensitivity": sensitivity.sensitivity(evidence.part(sensitivity.PART)),
        "pooled": pooled.pooled(evidence.part(pooled.PART)),
        "prompts": {"runs": runs, **prompts},
        "lambda": {"distribution": states, "read": read, "derived": runs - read},
        "sweep": {"id": findings.context.sweep, "left_out": _left_out(findings)},
    }


def _total(aside: Tally, name: str, questions: int) -> int | None:
    """None as soon as one trace does not say what was sent."""
    known = sum(aside.values(name).values())
    return total(aside, name) if known and known == questions else None


def _left_out(findings: Findings) -> dict[str, int]:
    surveyed = findings.gathered.survey
    assert isinstance(surveyed, StabilitySurvey)
    return surveyed.sweeps.left_out(findings.context.sweep)


# --- remarks ---


def warnings(findings: Findings) -> list[str]:
    context: Context = findings.context
    return [
        *_repeated(findings.evidence.part(ASIDE)["repeated"]),
        *_bounded(findings.evidence.part(ASIDE)["distance_bounded"]),
        *_other_sweeps(context.sweep, _left_out(findings)),
        *_aliased(names_rcr(context.options.gates)),
        *_of_unknown(_unknown(findings)),
    ]


def _repeated(count: int) -> Iterable[str]:
    if count:
        yield f"{plural(count, 'run')} with the same question, seed and rewording; the last one counts. [run-repeated]"


def _bounded(count: int) -> Iterable[str]:
    if count:
        yield (
            f"the answers to {plural(count, 'question')} are too long to compare in full: the difference in wording "
            "(ned50) is an upper bound. [claims-long]"
        )


def _other_sweeps(chosen: str, left_out: Mapping[str, int]) -> Iterator[str]:
    if left_out:
        others = ", ".join(f"{name or '(none)'}: {plural(count, 'line')}" for name, count in left_out.items())
        yield (
            f"sweep {chosen or '(none)'} was judged; other sweeps in the file were left out ({others}). Choose one "
            "with --sweep ID, or use all with --sweep all. [sweep-mixed]"
        )


def _aliased(named_rcr: bool) -> Iterator[str]:
    if named_rcr:
        yield (
            "the threshold for rcr was applied to refusal_rate, because rcr also passes a pipeline that always "
            "answers. --profile reference gates rcr itself. [gate-rcr]"
        )


def _some(unknown: Unknown) -> str:
    """The first names; how many others there are is not counted beyond those that are kept."""
    listed = unknown.names
    return first_few(listed) if len(listed) < NAMED else f"{', '.join(listed[:_FEW])} and others"


def _of_unknown(unknown: Unknown) -> Iterator[str]:
    if unknown.lines:
        runs = plural(unknown.lines, "run")
        yield f"{runs} for questions that are not in the gold set: {_some(unknown)}. [trace-unknown]"
