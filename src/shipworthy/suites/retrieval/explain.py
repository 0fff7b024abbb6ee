"""What a report says about retrieval beyond its gates: states, bands, short lists, the comparison, top-level keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice

from ...core.decision import number
from ...core.evidence import Row, Rows
from ...core.metrics import Measure, decimal
from ...core.suite import Explanation, Findings
from ...core.tally import NAMED, Tally
from .board import details
from .hints import diagnose
from .judge import Context
from .lambda_states import STATES
from .metrics import LIVE
from .pairs import Live, compare_logs, compare_measures, fallen_slices, measure_live
from .remarks import list_remarks, remarks
from .rows import ITEM, bad, changed

_COUNTED = (
    "items",
    "rankable",
    "no_relevant",
    "placeless",
    "citable",
    "missing",
    "runs",
    "failed_runs",
    "answered_runs",
    "groups_converged",
    "groups_split",
    "groups_undecided",
)


def explain(findings: Findings) -> Explanation:
    return _explain_lists(findings) if findings.context.ids_only else _explain_logs(findings)


def baseline(findings: Findings) -> dict[str, Fraction]:
    """Live's value for each gate that asks for one, on the gate's own slice."""
    tally, values = findings.evidence.part(LIVE), {}
    for gate in findings.gates if findings.context.compared else ():
        measure = findings.known[gate.metric].measure(tally.slice(gate.slice) if gate.slice else tally)
        if gate.bound.sign and measure.value is not None:
            values[gate.key] = measure.value
    return values


# --- lists of ids ---


def _explain_lists(findings: Findings) -> Explanation:
    context: Context = findings.context
    tally, measures = findings.tally, findings.measures
    unknown = findings.gathered.unknown_of("shadow")
    names = [one.name(context.choices.preset) for one in context.wanted]
    return Explanation(
        counts={name: tally[name] for name in ("items", "scored", "missing", "no_relevant")}
        | {"unknown_qid": unknown.lines},
        named={name: tally.named(name) for name in ("missing", "no_relevant")} | {"unknown_qids": unknown.names},
        headline={name: number(measures[name].value) for name in names} | {"settings": context.choices.header},
        warnings=list(list_remarks(findings)),
    )


# --- logs ---


def _explain_logs(findings: Findings) -> Explanation:
    context: Context = findings.context
    tally, rows = findings.tally, findings.evidence.rows.of_kind(ITEM)
    live = measure_live(findings.evidence.part(LIVE), findings.known) if context.compared else None
    metric = f"recall@{context.choices.canary_k}"
    fallen = fallen_slices(findings.slices, live.slices, metric) if live else []
    measures = {name: one for name, one in findings.measures.items() if _worth_showing(name, findings)}
    headline = _headline(findings, measures)
    sections = _sections(tally, rows, context.logs["shadow"].made_with)
    if context.plain and not tally["read_states"]:
        sections["lambda"] = {"states": {}, "derived": 0, "read": 0}
    if live is not None:
        sections["comparison"] = _comparison(findings, live, metric)
    sections["details"] = details(headline["settings"], context.choices.canary_k, findings.slices, sections)
    return Explanation(
        counts=_counts(findings),
        named=_named(findings),
        diagnosis=diagnose(findings, fallen),
        offenders=findings.evidence.offenders(),
        sections=sections,
        headline=headline,
        warnings=list(remarks(findings)),
        measures=measures,
        items=rows if context.options.per_question else [],
        reasons=_plain_reasons(findings) if context.plain and findings.verdict == "MEASURED" else None,
    )


def _plain_reasons(findings: Findings) -> list[str]:
    """How good the retriever is, in counts, and how to make a decision of it."""
    k = findings.context.choices.canary_k
    name = f"recall@{k}"
    values = findings.tally.values(name)
    found = sum(count for value, count in values.items() if value > 0)
    known = ((one, findings.measures[one].value) for one in (name, "mrr") if one in findings.measures)
    figures = ", ".join(f"{one} {decimal(value)}" for one, value in known if value is not None)
    return [
        f"{found} of {sum(values.values())} questions have a relevant block in the first {k} ({figures})",
        f"no gate was set; to decide, add --gates {name}=0.90",
        *findings.incomplete,
    ]


def _worth_showing(name: str, findings: Findings) -> bool:
    """trec_eval's P_k only where it differs from precision@k; of a single log only what it has values for."""
    measures, context = findings.measures, findings.context
    if context.plain and not any(gate.metric == name for gate in findings.gates):
        if name == "lambda_convergent" and not findings.tally["read_states"]:
            return False
        if measures[name].value is None or name == "bad_qids":
            return False
    return not name.startswith("P_") or measures[name].value != measures[f"precision@{name[2:]}"].value


def _counts(findings: Findings) -> dict[str, int]:
    tally = findings.tally
    unknown = findings.gathered.unknown_of("shadow")
    return {name: tally[name] for name in _COUNTED} | {
        "superseded": tally["superseded_lines"],
        "unknown_qid": unknown.lines,
    }


def _named(findings: Findings) -> dict[str, Sequence[str]]:
    """Names behind the counts; bad_qids are all listed."""
    few = {name: findings.tally.named(name) for name in ("missing", "no_relevant", "undecided_groups")}
    unknown = findings.gathered.unknown_of("shadow").names
    return {"bad_qids": bad(findings.evidence.rows), **few, "unknown_qids": unknown}


def _sections(tally: Tally, rows: Rows, made_with: str) -> Row:
    """The distribution of λ states, the bands of ΔS, and the questions with lists shorter than k."""
    states = {state: tally[f"state {state}"] for state in STATES}
    bands = {band: tally[f"delta_s {band}"] for band in ("stable", "transitional", "risk")}
    short = islice(((row["qid"], row["short"]) for row in rows if row.get("short")), NAMED)
    return {
        "lambda": {"states": states, "derived": tally["derived_states"], "read": tally["read_states"]},
        "delta_s": {"embedder": made_with, "bands": bands},
        "short_lists": dict(short),
        "unknown_sections": tally["unknown_section"],
    }


def _comparison(findings: Findings, live: Live, metric: str) -> Row:
    logs = findings.context.logs
    one_embedder = logs["shadow"].made_with == logs["live"].made_with
    return compare_logs(findings.tally, changed(findings.evidence.rows), metric) | compare_measures(
        findings.measures, findings.slices, live, metric, one_embedder
    )


def _headline(findings: Findings, measures: Mapping[str, Measure]) -> Row:
    """The keys that existing checks read from the top level of the report."""
    choices = findings.context.choices
    names = [
        *("coverage", "citation_accuracy", "delta_s_median", "delta_s_p90", "delta_s_within", "delta_s_max"),
        *("lambda_convergent", "anchor_proximity", "answer_rate", "mrr", "map"),
        *(f"{kind}@{k}" for k in choices.k for kind in ("precision", "recall", "ndcg")),
    ]
    shown = {name: number(measures[name].value) if name in measures else None for name in names}
    return shown | {"bad_qids": bad(findings.evidence.rows), "settings": choices.header}


def shown(context: Context) -> Row:
    """Every choice, those of the preset among them."""
    return context.choices.shown()
