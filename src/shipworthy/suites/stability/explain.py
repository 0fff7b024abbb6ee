"""What a report says about stability beyond its gates: totals, details and rows by question, tables, remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ... import stats
from ...core.decision import number
from ...core.evidence import Row
from ...core.gates import Outcome, written
from ...core.join import Unknown
from ...core.suite import Explanation, Findings
from ...core.tally import HAS, NAMED, Tally
from ...text import first_few, plural
from ..answers import judge as answers
from ..answers.explain import judging_shown
from ..answers.hints import lines, unread_lines
from .grid import StabilitySurvey
from .judge import CITED, Context
from .metrics import ASIDE, AXES, POOLED, RATES, SENSITIVITY, first_holes
from .options import BARS, CITING, names_rcr
from .reference import compat

_DETAILS = ("runs", "answered", "distinct_prompts", "effective_runs", "failed", "undefined", "flips")
_COUNTED = (
    *("items", "answerable", "unanswerable", "judged", "missing", "passing", "failing", "undecided"),
    *("runs", "runs_answered", "runs_refused", "runs_error", "flips"),
)
_STATES = {"convergent": "→", "backward": "←", "split": "<>", "collapse": "×"}
_FEW = 8  # names in a sentence; the report has more of them


def explain(findings: Findings) -> Explanation:
    tally, evidence = findings.tally, findings.evidence
    shown, first = sections(findings), first_lines(findings)
    kinds = [""] if not first.keys().isdisjoint(answers.CITING) else ["", CITED]
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
        warnings=list(warnings(findings)),
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


def _survey(findings: Findings) -> StabilitySurvey:
    surveyed = findings.gathered.survey
    assert isinstance(surveyed, StabilitySurvey)
    return surveyed


def _unknown(findings: Findings) -> Unknown:
    """Runs of questions that the gold set does not have, in the sweep that is judged."""
    return _survey(findings).chosen(findings.context.sweep).unknown


# --- what makes the data unfit to judge ---


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, list(_incomplete(findings.tally, findings.evidence.part(ASIDE)))


def _incomplete(tally: Tally, aside: Tally) -> Iterator[str]:
    if holes := total(aside, "holes"):
        names = first_few(first_holes(aside), total=holes)
        yield f"{plural(holes, 'run')} missing from the grid of seeds and rewordings: {names}"
    if vague := tally["undecided"]:
        bars = sorted(name for name in BARS if aside[f"undefined_{name}"])
        yield (
            f"{', '.join(bars)} can't be computed for {plural(vague, 'question')} with fewer than two answers: "
            f"{first_few(tally.named('undecided'), total=vague)}"
        )


# --- one row a question, as details and as a line of a table ---


def details(row: Row) -> Row:
    return {**row["values"], **{name: row[name] for name in _DETAILS}}


def item(row: Row) -> Row:
    return {
        **{name: row[name] for name in ("qid", "state", "answerable", "runs")},
        **row["values"],
        "flips": len(row["flips"]),
        "distinct_prompts": row["distinct_prompts"],
        "failed": " ".join(row["failed"]),
        "question": row["question"],
    } | ({"slices": row["slices"]} if row["slices"] else {})


# --- sections and top-level keys ---


def headline(findings: Findings) -> dict[str, object]:
    tally, bars = findings.tally, findings.context.bars
    totals = {"answerable": "answerable", "unanswerable": "unanswerable", "pass": "passing", "fail": "failing"}
    return {
        "totals": {name: tally[fact] for name, fact in totals.items()},
        "gates": {bar.metric: number(bar.bound.number) for bar in bars},
        "details": {row["qid"]: details(row) for row in findings.evidence.rows},
    }


def sections(findings: Findings) -> Row:
    tally, evidence = findings.tally, findings.evidence
    aside, runs = evidence.part(ASIDE), tally["runs"]
    prompts = {name: _total(aside, name, tally["judged"]) for name in ("distinct_prompts", "effective_runs")}
    states = {name: tally[f"lambda_{state}"] for name, state in _STATES.items()}
    read = aside["lambda_read"]
    return {
        "sensitivity": sensitivity(evidence.part(SENSITIVITY)),
        "pooled": pooled(evidence.part(POOLED)),
        "prompts": {"runs": runs, **prompts},
        "lambda": {"distribution": states, "read": read, "derived": runs - read},
        "sweep": {"id": findings.context.sweep, "left_out": _survey(findings).sweeps.left_out(findings.context.sweep)},
    }


def _total(aside: Tally, name: str, questions: int) -> int | None:
    """None as soon as one trace does not say what was sent."""
    known = sum(aside.values(name).values())
    return total(aside, name) if known and known == questions else None


# --- which jitter and which seed cause the flips, and rates over all runs ---


def sensitivity(tally: Tally) -> dict[str, list[Row]]:
    """A table for the jitters and one for the seeds, most harmful first."""
    places: dict[str, dict[str, Counter[str]]] = {axis: {} for axis in AXES}
    for fact, count in tally.counts.items():
        axis, what, value = str(fact).split(" ", 2)
        places[axis].setdefault(value, Counter())[what] += count
    tables = {axis: [_row(axis, value, counted) for value, counted in rows.items()] for axis, rows in places.items()}
    return {axis: sorted(rows, key=lambda row: (-row["rate"], str(row[axis]))) for axis, rows in tables.items()}


def _row(axis: str, value: str, counted: Mapping[str, int]) -> Row:
    """Rates of runs and of questions: only questions are independent of each other, so theirs is the honest one."""
    runs, flipped = counted["runs"], counted["flips"]
    asked, broken = counted["questions"], counted["questions_flipped"]
    return {
        axis: int(value) if axis == "seed" else value,
        "runs": runs,
        "flips": flipped,
        "rate": flipped / runs,
        "interval95": _interval(flipped, runs),
        "questions": asked,
        "questions_flipped": broken,
        "questions_interval95": _interval(broken, asked),
    }


def _interval(k: int, n: int) -> list[float | None] | None:
    interval = stats.wilson(k, n)
    return None if interval is None else list(map(_round, interval))


def pooled(tally: Tally) -> dict[str, object]:
    groups: dict[str, dict[tuple[int, int], int]] = {name: {} for name in RATES}
    for fact, questions in tally.counts.items():
        name, share = str(fact).split(" ")
        having, runs = map(int, share.split("/"))
        groups[name][having, runs] = questions
    return {name: _shown(clusters) for name, clusters in groups.items()}


def _shown(clusters: Mapping[tuple[int, int], int]) -> dict[str, object] | None:
    clustered = stats.cluster_se_of_counts(clusters)
    if clustered is None:
        return None
    mean = float(clustered.mean)
    edge = None if clustered.cluster_se is None else 1.959964 * clustered.cluster_se
    return {
        "rate": number(clustered.mean),
        "runs": sum(runs * questions for (_, runs), questions in clusters.items()),
        "questions": sum(clusters.values()),
        "cluster_se": _round(clustered.cluster_se),
        "naive_se": _round(clustered.naive_se),
        "design_effect": _round(clustered.deff),
        "effective_items": _round(clustered.n_eff),
        "interval95": None if edge is None else [_round(max(0.0, mean - edge)), _round(min(1.0, mean + edge))],
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


# --- remarks ---


def warnings(findings: Findings) -> Iterator[str]:
    context, aside, left_out = findings.context, findings.evidence.part(ASIDE), _survey(findings).sweeps.left_out
    if count := aside["repeated"]:
        yield f"{plural(count, 'run')} with the same question, seed and rewording; the last one counts. [run-repeated]"
    if count := aside["distance_bounded"]:
        yield (
            f"the answers to {plural(count, 'question')} are too long to compare in full: the difference in wording "
            "(ned50) is an upper bound. [claims-long]"
        )
    if others := ", ".join(
        f"{name or '(none)'}: {plural(count, 'line')}" for name, count in left_out(context.sweep).items()
    ):
        yield (
            f"sweep {context.sweep or '(none)'} was judged; other sweeps in the file were left out ({others}). Choose "
            "one with --sweep ID, or use all with --sweep all. [sweep-mixed]"
        )
    if names_rcr(context.options.gates):
        yield (
            "the threshold for rcr was applied to refusal_rate, because rcr also passes a pipeline that always "
            "answers. --profile reference gates rcr itself. [gate-rcr]"
        )
    unknown = _unknown(findings)
    if unknown.lines:
        # How many other names there are is not counted beyond those that are kept.
        few = len(unknown.names) < NAMED
        names = first_few(unknown.names) if few else f"{', '.join(unknown.names[:_FEW])} and others"
        yield f"{plural(unknown.lines, 'run')} for questions that are not in the gold set: {names}. [trace-unknown]"


# --- where to look when answers are not stable, and the reasons of a decision in words ---

_WORDS = {
    "steady": "Some questions are wrong in every run in the same way. That is not instability: look at them with "
    "`shipworthy score`.",
    "retrieval": "Answers or citations are right in some runs only: retrieval is unstable. Check ties in the ranking, "
    "approximate search, and what a rewording does to the query.",
    "answer": "Answers are right in some runs only, although all runs cite the same sources: the model differs, not "
    "retrieval. Lower the temperature, or constrain the answer.",
    "evidence": "Answers cite different blocks for the same question: near-duplicate evidence competes. Remove "
    "duplicates, or fix the order of equal scores.",
    "wording": "Answers agree in substance and differ in wording only: lower the temperature, or constrain the format.",
    "refusal": "Unanswerable questions are refused in some runs only. Check the refusal rule and near refusals.",
    "constraints": "Constraints are lost in some runs: repeat them at each stage of the pipeline.",
}
_AXIS = {"jitter": "rewording", "seed": "seed"}


def titled(name: str) -> str:
    """`citation-set stability (css)`."""
    return BARS[name].title(name)


def reasons(tally: Tally) -> list[str]:
    """Which thresholds the failing questions miss."""
    if not tally["failing"]:
        return []
    missed = {name: tally[f"failing_{name}"] for name in BARS}
    by_count = sorted((-count, name) for name, count in missed.items() if count)
    bars = ", ".join(f"{titled(name)} {-count}" for count, name in by_count)
    return [f"questions that miss each threshold: {bars}"]


def diagnose(aside: Tally, tables: Mapping[str, Sequence[Row]]) -> list[str]:
    missed = [words for cause, words in _WORDS.items() if aside[f"cause_{cause}"]]
    return missed + _referred(aside["referred"]) + _culprits(tables) + _prompts(aside)


def _referred(count: int) -> list[str]:
    if not count:
        return []
    are = "question is" if count == 1 else "questions are"
    return [f"{count} {are} wrong in every run in the same way. Judge them with `shipworthy score`."]


def _culprits(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Which jitters and seeds cause the flips, most harmful first; the first is named alone where it stands out."""
    culprits = []
    for axis, rows in tables.items():
        harmful = [row for row in rows if row["flips"]]
        if not harmful or len(rows) < 2:
            continue
        if harmful[0]["rate"] >= 2 * rows[1]["rate"]:
            worst = harmful[0]
            culprits.append(
                f"The {_AXIS[axis]} {worst[axis]} changes {worst['questions_flipped']} of "
                f"{plural(worst['questions'], 'question')} ({worst['flips']} of {worst['runs']} runs)."
            )
            continue
        shown = ", ".join(f"{row[axis]} {row['questions_flipped']}/{row['questions']}" for row in harmful[:6])
        culprits.append(f"Questions changed by each {_AXIS[axis]}: {shown}; none is much worse than the others.")
    return culprits


def _prompts(aside: Tally) -> list[str]:
    runs, effective = total(aside, "runs_told_apart"), total(aside, "effective_runs")
    if effective == runs:
        return []
    return [
        f"{runs - effective:,} of the {runs:,} runs were duplicates: some rewordings changed nothing, so their text "
        "and seed are those of another run."
    ]


def total(tally: Tally, name: str) -> int:
    """The sum of the whole numbers seen under a name."""
    return sum(int(value) * count for value, count in tally.values(name).items())
