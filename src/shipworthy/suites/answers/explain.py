"""What a report says about answers beyond its gates: rows, matrix, curve, top-level keys, offenders, where to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec
from msgspec import UNSET

from ... import stats
from ...core.contracts import Gold, Trace, ids_of
from ...core.decision import number
from ...core.evidence import Order, Row
from ...core.gates import Gate
from ...core.join import Case
from ...core.metrics import Measure, Words
from ...core.suite import Explanation, Findings, Reference
from ...core.tally import Tally
from ...text import first_few, fold, plural, visible
from . import matching
from .hints import diagnose, first_lines
from .judge import CITING, Context, Expected, Judging, Verdict, constraint, expect, judge_traces, wrong
from .metrics import RECALL
from .options import JudgingOptions, Options
from .reference import REFERENCE, numbers

CHUNKS = 5  # retrieved chunks whose text a card shows
_COUNTED = (
    "items",
    "answerable",
    "unanswerable",
    "shipped",
    "refused",
    "empty",
    "missing",
    "error",
    "superseded",
    "unknown_qid",
)
SCOPE = {"shipped": "answered", "refused": "refused", "empty": "empty", "missing": "missing", "error": "failed"}
NAMED_FACTS = (
    "refusal_drift",
    "near_refusals",
    "wider_refusals",
    "doubtful_refusals",
    "out_of_scope_citations",
    "denied_claims",
    "missing",
)
REASONS = {
    "leak": Words(
        "answered an unanswerable question",
        "The documents have no answer to the question, and the pipeline gave one instead of refusing.",
        did="answered an unanswerable question",
    ),
    "containment": Words(
        "wrong answer",
        "The answer does not state what the gold question expects: no text of gold_claim_substr is in it.",
    ),
    "denied": Words(
        "denied",
        "The answer contains the expected text, but says that it is not so.",
        did="contains the expected text but denies it",
    ),
    "unclear": Words(
        "unclear yes or no",
        "It can't be told whether the answer says yes or no.",
        did="it can't be told whether it says yes or no (add gold_claim, a correct answer in one sentence)",
    ),
    "contradicts-gold": Words(
        "opposite answer",
        "The answer says the opposite of the correct one that the gold question gives.",
        did="says the opposite of the correct answer",
    ),
    "forbidden": Words(
        "forbidden statement",
        "The answer says something that the gold question rules out.",
        did="makes a forbidden statement",
    ),
    "wrong-citation": Words(
        "wrong citation", "The answer cites none of the expected sources.", did="cites none of the expected sources"
    ),
    "out-of-scope": Words(
        "cites what was not retrieved",
        "The answer cites a source that retrieval did not return, or the trace does not say what was retrieved.",
        did="cites a source that was not retrieved",
    ),
    "constraint": Words(
        "broken constraint", "The answer breaks a locked constraint of the question.", did="breaks a locked constraint"
    ),
    "constraint-echo": Words(
        "constraint not repeated",
        "The answer does not repeat a locked constraint in constraints_echo.",
        did="does not repeat a locked constraint in constraints_echo",
    ),
    "over-refusal": Words(
        "refused an answerable question",
        "The documents have the answer to the question, and the pipeline refused.",
        did="refused an answerable question",
    ),
    "empty": Words("empty answer", "The response has no answer text.", did="the answer is empty"),
    "missing": Words(
        "no usable response",
        "The question has no trace or log line, or only one of a failed run.",
        did="no response: the question has no trace",
    ),
}
# Rates at the top level of a report → the metric
RATES = {name: name for name in ("precision", "chr", "under_refusal", "over_refusal")}
RATES |= {"under": "under_refusal", "over": "over_refusal"}


def explain(findings: Findings) -> Explanation:
    context: Context = findings.context
    tally = findings.tally
    names = {name: tally.named(name) for name in (*NAMED_FACTS, *(one.spec.name for one in context.custom))}
    notes, calibration = _custom(findings) if context.custom else ([], {})
    first = first_lines(findings)
    kinds = shown_kinds(first)
    return Explanation(
        counts={name: tally[name] for name in _COUNTED},
        named=names | {"unknown_qids": findings.gathered.unknown_of("trace").names},
        diagnosis=[*diagnose(findings, context.options.k, context.judging), *_custom_failing(findings)],
        first=list(first.values()),
        offenders=findings.evidence.offenders(*kinds),
        cards=findings.evidence.cards(*kinds),
        sections=sections(tally) | calibration,
        warnings=notes,
        headline=headline(findings.measures, tally, context.options, findings.gates),
        compat=compat(findings),
    )


def _custom_failing(findings: Findings) -> list[str]:
    """The items behind each metric of the config whose gate fails."""
    missed = {outcome.gate.metric for outcome in findings.outcomes if not outcome.holds}
    own = (one.spec.name for one in findings.context.custom)
    found = ((name, findings.tally.named(name)) for name in own if name in missed)
    return [f"{name} fails for {plural(len(names), 'item')}: {first_few(names)}." for name, names in found if names]


def _custom(findings: Findings) -> tuple[list[str], dict[str, object]]:
    """What metrics of the config add: warnings, and how well judges agree with people."""
    from .custom import calibrations, warnings

    found = {name: one.block() for name, one in calibrations(findings).items()}
    return warnings(findings), {"calibration": found} if found else {}


def shown(context: Context) -> dict[str, object]:
    own = judging_shown(context.options, context.judging)
    if not context.custom:
        return own
    from .custom import shown as definitions

    return own | {"custom_metrics": definitions(context.custom)}


def judging_shown(options: JudgingOptions, judging: Judging) -> dict[str, object]:
    """What the options stand for once their files are read; paths are no part of a report."""
    known: dict[str, object] = {"refusal": options.rule_name, "id_map": str(judging.id_map) if judging.id_map else None}
    return known | {name: False for name in ("cites", "logs_retrieval") if not getattr(options, name)}


# --- the worst questions ---


def shown_kinds(first: Mapping[str, str]) -> list[str]:
    """The kinds of offences that are shown one by one: not what the first line says of them all."""
    return ["", *(reason for reason in CITING if reason not in first)]


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    expected = expect(case.gold, context.judging)
    return answer_card(judge_traces(expected, case.records["trace"], context.judging), expected, context.judging)


def answer_card(verdict: Verdict, expected: Expected, judging: Judging) -> Row:
    """What was asked, said, cited and expected, and the one reason."""
    row, trace = verdict.row, verdict.trace
    gold, answer = expected.gold, trace.answer if trace else None
    also = {} if row.also is UNSET else {"also": row.also}
    return {
        "qid": row.qid,
        "reason": row.reason,
        **also,
        "says": "; also ".join(
            _in_words(verdict, expected, judging, reason) for reason in (row.reason, *also.values())
        ),
        "question": gold.question or (trace.asked if trace else ""),
        "claim": answer.claim if answer else None,
        **({"citations": ids_of(answer.citations) if answer else []} if judging.cites else {}),
        "retrieved_ids": trace.retrieved if trace else [],
        "gold_rank": row.recall_rank,
        "gold_claim_substr": gold.substrings,
        **({"gold_found": found} if answer and (found := _found(expected, answer.claim)) else {}),
        "gold_citations": gold.citations,
        "constraints": gold.constraints,
        "evidence": evidence_of(trace, gold, judging.chunks or {}),
    }


def evidence_of(trace: Trace | None, gold: Gold, chunks: Mapping[str, str]) -> list[Row]:
    """What the answerer was shown; where the trace does not say, the chunks that were expected, cited and retrieved."""
    if trace and trace.evidence:
        return [{"id": block.id, "text": block.text} for block in trace.evidence]
    cited = ids_of(trace.answer.citations) if trace and not trace.error else []
    names = dict.fromkeys([*gold.citations, *cited, *(trace.retrieved if trace else ())[:CHUNKS]])
    return [{"id": name, "text": chunks[name]} for name in names if name in chunks]


def _in_words(verdict: Verdict, expected: Expected, judging: Judging, reason: str) -> str:
    """A reason in words, with what is particular to the item."""
    outline, trace = verdict.outline, verdict.trace
    claim, gold = trace.answer.claim if trace else "", expected.gold
    if outline.status == "error" and trace is not None:
        return f"the run failed: {trace.error}"
    if outline.doubtful and reason in ("leak", "over-refusal"):
        return "says that it can't answer, and then something that may be an answer"
    if reason == "leak" and outline.wider:
        return "refused in other words, but only the refusal token counts (accept them: --refusal natural)"
    if reason == "out-of-scope" and not outline.logged:
        return "its citation can't be confirmed: the trace does not say what was retrieved"
    if reason == "containment":
        return _lacking(expected, claim)
    if reason == "denied" and matching.expects_yes_or_no(gold):
        return f"does not say {gold.substrings[0]!r}, but the opposite"
    words = REASONS[reason].did
    if reason == "denied" and (shown := matching.denial(expected.wanted, claim)):
        return f"{words}: {visible(shown, 60)!r}"
    why = _why(reason, expected, trace, judging) if trace else ""
    return f"{words} ({why})" if why else words


def _why(reason: str, expected: Expected, trace: Trace, judging: Judging) -> str:
    """What shows that a constraint is broken, or that a statement is wrong whatever else is said."""
    claim = trace.answer.claim
    if reason in ("constraint", "constraint-echo"):
        return constraint(expected, claim, trace.answer.constraints_echo, judging.rules)[1]
    return wrong(expected, claim, judging.rules)[1] if reason in ("forbidden", "contradicts-gold") else ""


def _found(expected: Expected, claim: str) -> dict[str, str]:
    """What became of each expected text, where a plain look at the claim would show something else."""
    found = matching.states(expected.wanted, claim)
    plain = all((fold(text) in fold(claim)) == (state == matching.FOUND) for text, state in found.items())
    return {} if plain else found


def _lacking(expected: Expected, claim: str) -> str:
    """What the claim lacks, by the way in which the gold item is matched."""
    gold = expected.gold
    if not gold.substrings:
        return "the gold question names no expected text"
    found = matching.states(expected.wanted, claim)
    absent = [text for text, state in found.items() if state != matching.FOUND]
    if inside := [text for text in absent if found[text] == matching.INSIDE]:
        word = visible(matching.longer(inside[0], claim), 60)
        kind = "number" if any(map(str.isdigit, inside[0])) else "word"
        return f"the answer does not contain {inside[0]!r}" + (f": {word!r} is another {kind}" if word else "")
    if elsewhere := [text for text in absent if found[text] == matching.ELSEWHERE]:
        return f"the answer has {elsewhere[0]!r}, but not in a sentence about {first_few(gold.about)}"
    if not absent and gold.exact_list:
        return f"the answer lists something further: {visible(matching.extra(expected.wanted, claim), 80)!r}"
    if gold.match == "all" and len(absent) < len(found):
        return f"the answer lacks {first_few([repr(text) for text in absent])}"
    return _LACKING.get(gold.match, _LACKING["any"])


_LACKING = {
    "any": "the answer does not contain the expected text",
    "regex": "the answer does not match the expected pattern",
    "number": "the answer does not state the expected number with its unit",
}


# --- sections and top-level keys ---


def sections(tally: Tally) -> dict[str, object]:
    shown: dict[str, object] = {"refusals": matrices(tally)}
    if curve := risk_coverage(tally):
        shown["risk_coverage"] = curve
    return shown


def matrices(tally: Tally) -> dict[str, object]:
    """Answerable by answered, for the exact rule and for the wider one."""
    return {
        rule: {side: _cell(*(tally[f"{rule} {side} {what}"] for what in ("answered", "refused"))) for side in _SIDES}
        for rule in ("exact", "wider")
    }


_SIDES = ("answerable", "unanswerable")


def _cell(answered: int, refused: int) -> dict[str, object]:
    interval = stats.wilson(answered, answered + refused)
    shown = None if interval is None else [round(edge, 6) for edge in interval]
    return {"answered": answered, "refused": refused, "answered_rate_interval95": shown}


def risk_coverage(tally: Tally) -> list[dict[str, float]]:
    """How the share of wrong answers grows as less confident ones are let through, where traces say how confident."""
    right, wrong = tally.values("confident_right"), tally.values("confident_wrong")
    total = sum(right.values()) + sum(wrong.values())
    points, answered, missed = [], 0, 0
    for confidence in sorted({**right, **wrong}, reverse=True):  # ties enter together
        missed += wrong.get(confidence, 0)
        answered += right.get(confidence, 0) + wrong.get(confidence, 0)
        points.append(
            {
                "confidence": float(confidence),
                "answered": answered,
                "wrong": missed,
                "coverage": answered / total,
                "risk": missed / answered,
            }
        )
    return points


def headline(
    measures: Mapping[str, Measure], tally: Tally, options: Options, gates: Iterable[Gate]
) -> dict[str, object]:
    """The keys that existing checks read from the top level of the report."""
    first = options.k[0]
    shown: dict[str, object] = {name: tally[name] for name in ("answered", "refused", "answerable", "unanswerable")}
    shown |= {key: number(measures[name].value) for key, name in RATES.items()}
    shown |= {"recall@k": number(measures[f"recall@{first}"].value)}
    shown |= {f"recall@{k}": number(measures[f"recall@{k}"].value) for k in options.k}
    return shown | {"k": first if len(options.k) == 1 else list(options.k), "gates": gate_texts(gates)}


def gate_texts(gates: Iterable[Gate]) -> dict[str, str]:
    """Bounds as they were written, under the short names of old."""
    short = {"under_refusal": "under", "over_refusal": "over"}
    return {short.get(gate.key, gate.key): gate.bound.text for gate in gates}


# --- the reference profile ---


def reference(findings: Findings) -> Reference:
    """The decision on the reference's numbers; gates on what it does not know are left out."""
    tally = findings.evidence.part(REFERENCE)
    shown, exact = numbers(tally, findings.context.options.k[0])
    gates = [gate for gate in findings.gates if gate.metric in exact]
    measures = {name: Measure(name, "coefficient", value, tally["answered"]) for name, value in exact.items()}
    measures["recall@k"] = msgspec.structs.replace(measures["recall@k"], words=RECALL.fill(k="k"))
    return Reference(
        measures=measures,
        headline=shown | {"gates": gate_texts(gates)},
        gates=gates,
    )


def compat(findings: Findings) -> dict[str, object] | None:
    """The reference's numbers where they differ from ours, or the word that they agree; None where it can't say."""
    options = findings.context.options
    if not findings.context.compat:
        return None
    shown, exact = numbers(findings.evidence.part(REFERENCE), options.k[0])
    ours = _ours(findings.measures, options.k[0])
    differ = sorted(name for name, value in exact.items() if ours[name] != value)
    return {"agrees": not differ, "differs": differ, "reference": shown}


def _ours(measures: Mapping[str, Measure], k: int) -> dict[str, Fraction | None]:
    names = {"recall@k": f"recall@{k}"} | {name: name for name in ("precision", "chr", "under_refusal", "over_refusal")}
    return {name: measures[own].value for name, own in names.items()}
