"""Agreement: do two validators say the same about an answer, and what becomes of it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING

from ... import stats
from ...core.control import Control, Setup, draws
from ...core.decision import Display, number
from ...core.evidence import Row
from ...core.gates import Outcome
from ...core.inputs import Stream
from ...core.metrics import Measure, Words, decimal
from ...core.records import is_path
from ...core.sources import ANSWERS, Answerable, Input, file_input, gold_stream, stream_traces
from ...core.suite import Explanation, Findings, InputSpec, Material, Reference, Sources, Suite
from ...core.tally import HAS, Tally
from ...errors import DataError, UsageError
from ...reading.jsonl import read_objects
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ...text import first_few, plural
from ..answers.explain import judging_shown
from ..answers.hints import lines, unread_lines
from ..answers.judge import RETRIEVED, Judging
from ..answers.options import id_map_file
from .judge import LABELS, Context, Options, card, judge, one_each, stream_pairs, stream_side
from .metrics import FINALS, SIDES, aliases, cell, fact_names, facts, gate_numbers, gates, metrics, table, wanted

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


def read(sources: Sources, options: Options) -> Material:
    """Pairs; or two validators' labels, with traces for the answers; or gold and traces to derive both labels from."""
    given = {name for name, source in sources.items() if source is not None}
    if given in ({"pairs"}, {"scholar", "auditor"}, {"scholar", "auditor", "trace"}):
        return _labelled(sources, given, options)
    if given == {"gold", "trace"}:
        return _derived(sources, options)
    raise UsageError(
        "no labels were given to compare",
        code="agreement-inputs",
        hint="Give --pairs; or --scholar and --auditor (with --trace); or --gold and --trace.",
    )


def _labelled(sources: Sources, given: set[str], options: Options) -> Material:
    """Pairs as they are written, or joined from two files, with traces for the answers."""
    reads: dict[str, Input] = {name: Input() for name in ("pairs", "scholar", "auditor", "trace") if name in given}
    streams: dict[str, Stream] = {}
    for name, read in reads.items():
        if name == "trace":
            streams[name] = stream_traces(sources[name], read, lenient=options.lenient, map=options.map)
        else:
            one_file = name == "pairs"
            streams[name] = stream_pairs(sources[name], read) if one_file else stream_side(sources[name], name, read)
    return Material(
        context=Context(options=options, source="pairs" if "pairs" in given else "two files"),
        streams=streams,
        reads=reads,
        keep={"trace": "last"},
        once={name: one_each(options.lenient) for name in reads if name != "trace"},
    )


def _derived(sources: Sources, options: Options) -> Material:
    gold, trace, judging = Input(), Input(), Judging.of(options)
    table = id_map_file(options)
    return Material(
        context=Context(options=options, source="derived", judging=judging),
        gold=gold_stream(sources["gold"], gold, lenient=options.lenient, map=options.map),
        watch=Answerable,
        streams={
            "trace": stream_traces(sources["trace"], trace, lenient=options.lenient, map=options.map, needs=ANSWERS)
        },
        reads={"gold": gold, "trace": trace} | ({"id_map": file_input(table)} if table else {}),
        keep={"trace": "last"},
        closed=options.closed,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """Nothing is decided on nothing: some question has both of its sides."""
    sides = ("scholar", "auditor") if context.source == "two files" else tuple(material.streams)
    if not any(all(case.records[side] for side in sides) for case in gathered.cases()):
        raise DataError(
            "there are no pairs to compare",
            hint='Write lines like {"qid": …, "scholar": {"label": …}, "auditor": {"label": …}}.',
            code="pairs-none",
        )
    return context


# --- controls: chance, prevalence, acceptance against a flag, silence; and perfect agreement ---

DRAWN = ("VALID", "NOT_IN_CONTEXT", "REJECT")
ENOUGH = 10  # pairs from which chance does not agree often
RARE = 25  # one in so many answers is rejected, by each validator another one


def controls(setup: Setup) -> Iterator[Control]:
    """Labels for as many answers as the user has: agreement on three pairs proves less than on three hundred."""
    qids = _qids(setup)
    count = len(qids)
    balanced = [DRAWN[number % len(DRAWN)] for number in range(count)]
    yield Control(name="perfect agreement", good=True, data=_pairs(qids, balanced, balanced))
    thrown = [DRAWN[draw] for draw in draws(2 * count, len(DRAWN))]
    yield Control(
        name="random labels",
        data=_pairs(qids, thrown[:count], thrown[count:]),
        skip="" if count >= ENOUGH else f"{count} pairs may agree by chance",
    )
    scholar, auditor = ([_rarely(number, turn) for number in range(count)] for turn in (0, RARE // 2))
    yield Control(
        name="both say VALID out of habit",
        data=_pairs(qids, scholar, auditor),
        skip="" if count >= RARE else f"{count} pairs are too few for a habit to show",
    )
    yield from _accepting(qids, balanced)
    often = ["ABSTAIN" if number % 5 == 0 else label for number, label in enumerate(balanced)]
    yield Control(name="abstains one time in five", data=_pairs(qids, often, often))


def _accepting(qids: Sequence[str], balanced: Sequence[str]) -> Iterator[Control]:
    flags = {"provenance_violation": True}
    valid, silent = ["VALID"] * len(qids), ["ABSTAIN"] * len(qids)
    yield Control(name="always VALID against hard flags", data=_pairs(qids, valid, valid, flags))
    yield Control(name="accepts against hard flags", data=_pairs(qids, balanced, balanced, flags))
    yield Control(name="always abstain", data=_pairs(qids, silent, silent))


def _rarely(number: int, turn: int) -> str:
    return "REJECT" if number % RARE == turn else "VALID"


def _qids(setup: Setup) -> list[str]:
    """The questions of the gold set, or of the labels where there is none."""
    labels = setup.inputs.get("pairs") or setup.inputs.get("scholar")
    if setup.gold or not labels:
        return [item.qid for item in setup.gold]
    rows = (row for _, row in read_objects(labels)) if is_path(labels) else labels
    return list(dict.fromkeys(str(row.get("qid")) for row in rows))


def _pairs(
    qids: Sequence[str], scholar: Sequence[str], auditor: Sequence[str], flags: dict[str, bool] | None = None
) -> dict[str, list[Row]]:
    rows = zip(qids, scholar, auditor, strict=True)
    return {
        "pairs": [
            {"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}, "flags": flags}
            for qid, one, other in rows
        ]
    }


REASONS = {
    "disagreement": Words("disagreement", "Raters gave the same item different labels."),
    "flagged-agreement": Words(
        "accepted despite a hard flag",
        "Both validators accept the answer although a hard flag is set: a wrong citation or a broken constraint.",
    ),
}
COLUMNS = ("qid", "scholar", "auditor", "final", "why")


def explain(findings: Findings) -> Explanation:
    tally = findings.tally
    return Explanation(
        counts={"items": tally["items"], "disagreements": tally["disagreed"], "review": tally["final_REVIEW"]},
        named={
            "flagged_agreements": tally.named("flagged_agreement"),
            "review": tally.named("final_REVIEW"),
            **one_sided(findings),
        },
        diagnosis=diagnose(findings.outcomes, findings.measures, tally),
        offenders=findings.evidence.offenders(),
        sections=sections(tally),
        first=_first_lines(findings),
        headline=headline(findings),
        compat=compat(findings),
        warnings=_unanswered(findings),
    )


def _first_lines(findings: Findings) -> list[str]:
    """Where labels are derived: what is not judged, or why no citation counts."""
    context, tally = findings.context, findings.tally
    if context.judging is None:
        return []
    found = lines(
        context.options,
        answered=tally["derived"],
        citing=tally["citing"],
        logged=bool(tally[HAS + RETRIEVED]),
        judged=True,  # two labels that agree may both be wrong for want of a citation
    )
    return list((unread_lines(tally) | found).values())


def shown(context: Context) -> dict[str, object]:
    """Where the labels come from; how answers are judged matters only where they are derived."""
    if context.judging is None:
        return {"source": context.source, "id_map": None}
    return {"source": context.source} | judging_shown(context.options, context.judging)


def headline(findings: Findings) -> dict[str, object]:
    measures, tally = findings.measures, findings.tally
    shown = {name: number(measures[name].value) for name in ("percent_agreement", "kappa", "ac1", "abstain_rate")}
    return {
        "n": tally["items"],
        **shown,
        "disagreements": tally["disagreed"],
        "gates": gate_numbers(findings.gates),
    }


def sections(tally: Tally) -> dict[str, object]:
    matrix = [
        {"scholar": scholar, **dict(zip(LABELS, counts, strict=True))}
        for scholar, counts in zip(LABELS, table(tally), strict=True)
    ]
    finals = {final: tally[f"final_{final}"] for final in FINALS}
    return {"confusion": matrix, "finals": finals}


def _unanswered(findings: Findings) -> list[str]:
    without = findings.tally["unanswered"]
    if not without or "without_trace" in findings.evidence.seen:
        return []
    return [
        f"{plural(without, 'pair')} without an answer, so citations could not be checked. Add --trace. "
        "[pair-unanswered]"
    ]


def disagreements(items: Iterable[Mapping[str, object]]) -> list[Row]:
    """The rows on which the validators differ."""
    return [dict(item) for item in items if item["scholar"] != item["auditor"]]


# --- questions that only one validator labelled, or that lack their trace ---

_LACKING = {
    "scholar_only": "only the scholar labelled",
    "auditor_only": "only the auditor labelled",
    "gold_only": "no trace for",
    "without_trace": "no trace for",
}


def one_sided(findings: Findings) -> dict[str, list[str]]:
    """What each kind of gap is about, and the traces beyond the gold set; the first names of each."""
    gaps = findings.evidence.part(SIDES)
    named = {name: gaps.named(name) for name in _LACKING if gaps[name]}
    return named | {"trace_only": findings.gathered.unknown_of("trace").names}


def incomplete(findings: Findings) -> list[str]:
    """Pairs that lack a side can't agree or disagree; traces beyond the gold set are only remarked on.

    Gold items without a trace are left out: core says of every suite which questions could not be judged.
    """
    gaps = findings.evidence.part(SIDES)
    return [
        f"{_LACKING[name]} {plural(gaps[name], 'question')}: {first_few(qids, total=gaps[name])}"
        for name, qids in one_sided(findings).items()
        if name in _LACKING and name != "gold_only"
    ]


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, incomplete(findings)


# --- diagnosis: which way to look, from the pattern of gates that failed ---

FEW = 30  # below that κ says little


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally) -> list[str]:
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    agreed, kappa, ac1 = (measures[name].value for name in ("percent_agreement", "kappa", "ac1"))
    hints = []
    if "kappa" in failed and "percent_agreement" not in failed and ac1 is not None and kappa is not None:
        hints.append(
            f"The validators agree, but kappa is low ({decimal(kappa)}) because one label dominates. "
            f"AC1, which allows for that, is {decimal(ac1)}. Add pairs with rarer labels before you trust either."
        )
    if failed & {"kappa", "percent_agreement"}:
        hints += _where_they_differ(tally)
    if "abstain_rate" in failed:
        hints.append("One validator abstains too often. Check its instructions, and the pairs without an answer.")
    if "flagged_agreements" in failed:
        hints.append("Both validators accepted an answer with a hard flag. Make them check citations and constraints.")
    if agreed is not None and tally["items"] < FEW:
        hints.append(f"Only {plural(tally['items'], 'pair')}: too few for a reliable kappa. Use at least {FEW}.")
    return hints


def _where_they_differ(tally: Tally) -> list[str]:
    apart = [(scholar, auditor) for scholar in LABELS for auditor in LABELS if scholar != auditor]
    count, (scholar, auditor) = max((tally[cell(*labels)], labels) for labels in apart)
    if count < 2:  # one of each kind is no pattern
        return []
    return [f"Most common disagreement: scholar {scholar}, auditor {auditor} ({count} of {tally['disagreed']})."]


# --- the reference profile: κ of one label is 0, and abstentions are the scholar's ---


def numbers(tally: Tally) -> tuple[dict[str, float], dict[str, Fraction]]:
    """The reference's numbers to four places, and unrounded. They are made of the same counts as ours."""
    n = tally["items"]
    exact = {
        "percent_agreement": Fraction(tally["agreed"], n),
        "kappa": stats.kappa(table(tally)) or Fraction(0),
        "abstain_rate": Fraction(tally["scholar_abstained"], n),
    }
    # The script divides in floating point and rounds that; rounding the fraction could differ in the last place.
    shown = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return {"n": n, **shown}, exact


def reference(findings: Findings) -> Reference:
    """The decision on the reference's numbers; gates on what it does not know are left out."""
    shown, exact = numbers(findings.tally)
    gates = [gate for gate in findings.gates if gate.metric in exact]
    rows = findings.evidence.rows  # in the order of the file
    arbitration = [[row["qid"], row["final"], row["why"]] for row in rows if row["scholar"] != row["auditor"]]
    return Reference(
        measures={name: Measure(name, "coefficient", value, findings.tally["items"]) for name, value in exact.items()},
        headline=shown | {"disagreements": len(arbitration), "gates": gate_numbers(gates)},
        gates=gates,
        sections={"arbitration": arbitration},
        items=sorted(rows, key=itemgetter("qid")),
        incomplete=incomplete(findings),
    )


def compat(findings: Findings) -> dict[str, object]:
    """The reference's numbers, and which of them are not ours."""
    shown, exact = numbers(findings.tally)
    differs = sorted(name for name, value in exact.items() if findings.measures[name].value != value)
    return {"agrees": not differs, "differs": differs, "reference": shown}


SUITE = Suite(
    name="agreement",
    description="Do two validators agree beyond chance?",
    inputs=(
        InputSpec("pairs", "Answers with both labels, JSON lines.", required=False),
        InputSpec("scholar", "The scholar's labels, JSON lines (qid, label, reason).", required=False),
        InputSpec(
            "auditor", "The auditor's labels, in the same format; joined with the scholar's by qid.", required=False
        ),
        InputSpec(
            "trace",
            "Traces: with --scholar and --auditor the labelled answers, with --gold the answers to label.",
            required=False,
            many=True,
        ),
        InputSpec("gold", "Gold set: with --trace, both labels are derived from fixed rules.", required=False),
    ),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    asides=(SIDES,),
    settle=settle,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    review=review,
    explain=explain,
    shown=shown,
    reference=reference,
    controls=controls,
    display=Display(passes=Passing("passed", True), reasons=REASONS, pictures={"confusion": "labels"}),
)
