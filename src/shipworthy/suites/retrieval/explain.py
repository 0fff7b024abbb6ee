"""What a report says about retrieval beyond its gates: what the data lacks, diagnosis, comparison, text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice

import msgspec

from ... import stats
from ...core.decision import number
from ...core.evaluate import measure_all, slice_measures
from ...core.evidence import Row, Rows
from ...core.gates import Gate, Outcome, parse_gates
from ...core.metrics import Measure, Words, decimal
from ...core.suite import Explanation, Findings, Reference
from ...core.tally import NAMED, Tally
from ...errors import UsageError
from ...text import plural, visible
from ..ranking.metrics import WORDS
from ..ranking.options import Choices
from .judge import BAD, BETTER, DISTANCES, HIT_GAINED, HIT_LOST, ITEM, WORSE, Context
from .metrics import DIFFERENCE, GAINED, LIVE, LIVE_REFERENCE, LOST, REFERENCE, aliases, metrics
from .places import STATES
from .survey import LogNotes, notes_on

SEED = 0  # of the permutation test, so that the same logs give the same p
SLIP = Fraction(2, 100)
SHOWN = 10
HARDLY = Fraction(1, 10)  # a smaller share of questions with any gold id in the log is no retrieval, but other ids
_HEADS = {"citation_accuracy": "cited place"}  # so that the table fits 80 columns
_COUNTED = (
    *("items", "rankable", "no_relevant", "placeless", "citable", "missing", "runs", "failed_runs", "answered_runs"),
    *("groups_converged", "groups_split", "groups_undecided"),
)
Slices = Mapping[str, Mapping[str, Measure]]


Live = tuple[Mapping[str, Measure], Slices]  # what the index that serves measures, over everything and by slice
Fall = tuple[str, Fraction, Fraction]  # a slice whose metric fell, to what, and from what


def baseline(findings: Findings) -> dict[str, Fraction]:
    """Live's value for each gate that asks for one, on the gate's own slice."""
    tally, values = findings.evidence.part(LIVE), {}
    for gate in findings.gates if findings.context.compared else ():
        measure = findings.known[gate.metric].measure(tally.slice(gate.slice) if gate.slice else tally)
        if gate.bound.sign and measure.value is not None:
            values[gate.key] = measure.value
    return values


def explain(findings: Findings) -> Explanation:
    context: Context = findings.context
    tally, rows = findings.tally, findings.evidence.rows.of_kind(ITEM)
    live, unknown = _live(findings) if context.compared else None, findings.gathered.unknown_of("shadow")
    metric = f"recall@{context.choices.canary_k}"
    falls = falls_of(findings.slices, live[1], metric) if live else []
    measures = {name: one for name, one in findings.measures.items() if _worth_showing(name, findings)}
    headline = _headline(findings, measures)
    sections = _sections(tally, rows, context.logs["shadow"].made_with)
    if context.plain and not tally["read_states"]:
        sections["lambda"] = {"states": {}, "derived": 0, "read": 0}
    if live is not None:
        sections["comparison"] = _comparison(findings, live, metric)
    sections["details"] = details(headline["settings"], context.choices.canary_k, findings.slices, sections)
    return Explanation(
        counts={name: tally[name] for name in _COUNTED}
        | {"superseded": tally["superseded_lines"], "unknown_qid": unknown.lines},
        named={
            "bad_qids": _names(findings.evidence.rows, BAD),  # all of them
            **{name: tally.named(name) for name in ("missing", "no_relevant", "undecided_groups")},
            "unknown_qids": unknown.names,
        },
        diagnosis=diagnose(findings, falls),
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


def _headline(findings: Findings, measures: Mapping[str, Measure]) -> Row:
    """The keys that existing checks read from the top level of the report."""
    choices = findings.context.choices
    names = [
        *("coverage", "citation_accuracy", "delta_s_median", "delta_s_p90", "delta_s_within", "delta_s_max"),
        *("lambda_convergent", "anchor_proximity", "answer_rate", "mrr", "map"),
        *(f"{kind}@{k}" for k in choices.k for kind in ("precision", "recall", "ndcg")),
    ]
    shown = {name: number(measures[name].value) if name in measures else None for name in names}
    return shown | {"bad_qids": _names(findings.evidence.rows, BAD), "settings": choices.header}


def _names(rows: Rows, kind: int) -> list[str]:
    """The questions of which a report just lists the names, in order."""
    return [row["qid"] for row in rows.of_kind(kind)]


# --- shadow beside live ---


def _live(findings: Findings) -> Live:
    tally, known = findings.evidence.part(LIVE), findings.known
    return measure_all(tally, known, ())[0], slice_measures(tally, known)


def _comparison(findings: Findings, live: Live, metric: str) -> Row:
    """The questions that changed, in the order of the gold set, the paired tests, and every metric on both sides.

    Distances are compared only where one embedder made them.
    """
    tally, rows, (measures, slices) = findings.tally, findings.evidence.rows, live
    pairs, lost, gained = tally["pairs"], tally[LOST], tally[GAINED]
    differences = {Fraction(value): count for value, count in tally.values(DIFFERENCE).items()}
    total = sum((value * count for value, count in differences.items()), Fraction(0))
    made_with = {log.made_with for log in findings.context.logs.values()}
    return {
        "metric": metric,
        "pairs": pairs,
        "difference": number(total / pairs) if pairs else None,
        "worse": list(rows.of_kind(WORSE)),
        "better": list(rows.of_kind(BETTER)),
        "hits_lost": _names(rows, HIT_LOST),
        "hits_gained": _names(rows, HIT_GAINED),
        "mcnemar_two_sided_p": float(stats.mcnemar_two_sided(lost, gained)),
        "mcnemar_drop_p": float(stats.mcnemar_one_sided(lost, gained)),
        "permutation_p": stats.paired_permutation(differences, SEED) if pairs else None,
        "permutation_seed": SEED,
        "metrics": {
            name: _both(measure, measures[name])
            for name, measure in findings.measures.items()
            if len(made_with) == 1 or not name.startswith("delta_s")
        },
        "slices": {
            name: _both(own[metric], slices[name][metric]) for name, own in findings.slices.items() if name in slices
        },
    }


def _both(shadow: Measure, live: Measure) -> Row:
    return {"shadow": number(shadow.value), "live": number(live.value)}


def falls_of(slices: Slices, live: Slices, metric: str) -> list[Fall]:
    """Slices whose metric fell by more than the slip, deepest fall first."""
    falls = []
    for name, measures in slices.items():
        now = measures[metric].value
        before = live[name][metric].value if name in live else None
        if now is not None and before is not None and before - now > SLIP:
            falls.append((name, now, before))
    return sorted(falls, key=lambda fall: (fall[1] - fall[2], fall[0]))


# --- diagnosis: which way to look ---

_DRIFT = (
    "{n} of {all} answered runs cite the right section, but at offsets outside every gold range. "
    "Offsets may have shifted (OCR, normalisation), or are not in bytes."
)
_MEANING = "{n} cited a similar but wrong text. The embeddings do not separate the topics well enough."
_ORDER = "{n} had the relevant block at different ranks from run to run. Check the reranker."
_LEAK = "{n} cited a section next to or below the right one. Check section detection and chunk boundaries."
_TYPED = "Only {slices} {verb}. Index tables, code and figures as blocks of their own type, not as prose."
_MIGRATED = "Hardly any gold id is in the log. If the index has new ids, migrate the gold set, or use --match offsets."


def diagnose(findings: Findings, falls: Sequence[Fall]) -> list[str]:
    """What the pattern of failures points to, in words."""
    tally: Tally = findings.tally
    failed = any(outcome.state.startswith("FAIL") for outcome in findings.outcomes)
    hints = [_MIGRATED] if findings.context.choices.match == "ids" and hardly_any(tally) else []
    hints += _fall_hints(falls, findings.slices)
    drifted, answered = tally["drifted_runs"], tally["answered_runs"]
    if drifted and 10 * drifted >= answered:
        hints.append(_DRIFT.format(n=drifted, all=answered))
    for fact, words in (("near_but_wrong", _MEANING), ("order_flips", _ORDER), ("leaks", _LEAK)):
        if tally[fact] and failed and 20 * tally[fact] >= tally["items"]:
            hints.append(words.format(n=plural(tally[fact], "question")))
    return hints


def _fall_hints(falls: Sequence[Fall], slices: Slices) -> list[str]:
    """The slices that fell against live; where these are types, the others stand, and the type is the cause."""
    hints = [f"{name} fell from {decimal(before)} (live) to {decimal(now)} (shadow)." for name, now, before in falls]
    types = [name for name, _, _ in falls if name.startswith("type=")]
    known = [name for name in slices if name.startswith("type=")]
    blamed = [name.removeprefix("type=") for name in types]
    if blamed and len(types) < len(known) and {"table", "code", "figure"} >= set(blamed):
        hints.append(_TYPED.format(slices=" and ".join(blamed), verb="fail" if len(blamed) > 1 else "fails"))
    return hints


def hardly_any(tally: Tally) -> bool:
    """Whether gold ids turn up in fewer than a tenth of the questions that have some."""
    return tally["searched"] > 0 and tally["retrieved"] < HARDLY * tally["searched"]


# --- what the data lacks to be judged, and what a reader should know before believing the numbers ---


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """What makes the data unfit to judge."""
    return findings.outcomes, list(_lacking(findings))


def _lacking(findings: Findings) -> Iterator[str]:
    """What live lacks to be a baseline even where questions may go missing, and what the grid of runs lacks."""
    holes = findings.evidence.part(LIVE)["missing"]
    if 0 < holes <= findings.context.options.allow_missing and any(gate.bound.sign for gate in findings.gates):
        among = plural(findings.tally["items"], "question")
        yield f"{holes} of {among} have no line in live's log, so live is not a fair baseline"
    yield from seeds_lacking(findings)
    if any(gate.metric == "lambda_convergent" for gate in findings.gates):
        yield from _holes(findings.tally, len(notes_on(findings.gathered, "shadow").seeds))


def seeds_lacking(findings: Findings) -> Iterator[str]:
    for name, seeds in _seeds(findings).items():
        if seeds < (least := findings.context.options.min_seeds):
            yield f"the log {name} has {plural(seeds, 'seed')}; --min-seeds asks for {least}"


def _seeds(findings: Findings) -> dict[str, int]:
    return {name: len(notes_on(findings.gathered, name).seeds) for name in findings.context.logs}


def _holes(tally: Tally, seeds: int) -> Iterator[str]:
    if undecided := tally["groups_undecided"]:
        groups = plural(undecided, "group")
        yield f"{groups} of paraphrases are too small to say whether they converge"
    run = tally["groups_converged"] + tally["groups_split"] + undecided
    if holes := seeds * tally["grouped"] - run:
        yield f"{holes} of {seeds * tally['items']} groups of paraphrases were not run"


def remarks(findings: Findings) -> Iterator[str]:
    context: Context = findings.context
    shadow, superseded = notes_on(findings.gathered, "shadow"), findings.tally["superseded_lines"]
    yield from log_warnings("run" if context.plain else "shadow", shadow, superseded, context.choices)
    yield from _about_gold(findings, context)
    few = [name for name, seeds in _seeds(findings).items() if seeds == 1]
    if few and any(gate.metric == "lambda_convergent" for gate in findings.gates):
        yield (
            f"{' and '.join(few)}: only one seed, so nothing shows whether another seed finds the same. "
            "Run at least two (--min-seeds 2 insists on it) [seeds-few]"
        )
    made_with = context.logs["shadow"].made_with
    if len(shadow.embedders) > 1:
        yield f"the log has distances of several embedders: {made_with} [delta-mixed]"
    if any(gate.severity == "warn" and gate.metric.startswith("delta_s_") for gate in findings.gates):
        yield (
            f"semantic distance (ΔS) was computed with {made_with}; the default thresholds are for a sentence model "
            "and don't block. Find your own with `retrieval calibrate` [delta-uncalibrated]"
        )
    if context.compared:
        yield from _about_live(findings, context)


def _about_gold(findings: Findings, context: Context) -> Iterator[str]:
    """Where gold and log don't fit together."""
    tally, choices = findings.tally, context.choices
    if choices.match == "ids" and hardly_any(tally):
        yield (
            "gold ids occur in fewer than a tenth of the lists. After re-chunking, use --match offsets or --match text "
            "[ids-hardly-match]"
        )
    if placeless := tally["placeless"]:
        yield (
            f"{placeless} questions have relevant blocks without what --match {choices.match} needs; they are left out "
            "[gold-placeless]"
        )
    if unknown := tally["unknown_section"]:
        first = tally.named("unknown_sections")[0].partition(" ")[2]
        yield (
            f"the section of {plural(unknown, 'retrieved block')} is unknown ({visible(first, 60)!r} is the first); "
            "they don't count as inside the anchor. Log section_id, or give --sections [section-unknown]"
        )
    for field in choices.by:
        if not any(name.startswith(f"{field}=") for name in findings.slices):
            yield f"no gold item has the field {visible(field, 60)!r} that --by names [by-unknown]"


def _about_live(findings: Findings, context: Context) -> Iterator[str]:
    live, superseded = notes_on(findings.gathered, "live"), findings.evidence.part(LIVE)["superseded_lines"]
    yield from log_warnings("live", live, superseded, context.choices)
    yield from pair_warnings(notes_on(findings.gathered, "shadow"), live)
    made_with = {name: log.made_with for name, log in context.logs.items()}
    if made_with["shadow"] != made_with["live"]:
        yield (
            f"semantic distance (ΔS) is not compared: shadow has {made_with['shadow']}, live {made_with['live']} "
            "[delta-embedders]"
        )


def log_warnings(name: str, notes: LogNotes, superseded: int, choices: Choices) -> Iterator[str]:
    """What a reader should know about a log before believing its numbers."""
    if len(notes.hashes) > 1:
        counts = ", ".join(
            f"{visible(value, 40)} ({plural(count, 'line')})" for value, count in sorted(notes.hashes.items())[:4]
        )
        yield f"{name}: the log mixes {len(notes.hashes)} values of index_hash: {counts} [index-mixed]"
    if len(notes.rerankers) > 1:
        yield f"{name}: the log mixes rerankers: {_listed(notes.rerankers)} [reranker-mixed]"
    if superseded:
        yield (
            f"{name}: {plural(superseded, 'line')} replaced by a later one with the same qid, paraphrase and seed "
            "[log-repeated]"
        )
    if notes.negative_scores:
        yield (
            f"{name}: negative scores that rise along the list in {plural(notes.negative_scores, 'line')}; "
            "they may be distances [scores-negative]"
        )
    if notes.out_of_order and choices.order == "list":
        yield (
            f"{name}: scores rise along the list in {plural(notes.out_of_order, 'line')}; the list's order "
            "counts (--order score to rank by score) [scores-order]"
        )


def pair_warnings(shadow: LogNotes, live: LogNotes) -> Iterator[str]:
    """What makes a comparison of two logs doubtful."""
    if shared := sorted(set(shadow.hashes) & set(live.hashes)):
        yield (
            f"shadow and live have the same index_hash {visible(shared[0], 40)}: this may be the same index twice "
            "[index-same]"
        )
    if set(shadow.rerankers) != set(live.rerankers):
        names = [_listed(notes.rerankers) or "none named" for notes in (shadow, live)]
        yield f"the rerankers differ: shadow {names[0]}; live {names[1]} [reranker-differs]"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(visible(name, 40) for name in sorted(names)[:4])


# --- text below the gates, from nothing but what the report says ---


def details(settings: str, depth: int, slices: Slices, sections: Row) -> list[str]:
    """Lines of text, from nothing but what the report says; empty ones part its tables."""
    return [
        "",
        f"Settings: {settings}",
        *_slices(slices, depth),
        *_states(sections["lambda"], sections["delta_s"]),
        *_short(sections["short_lists"]),
        *_comparison_lines(sections.get("comparison")),
    ]


def _slices(slices: Slices, depth: int) -> Iterator[str]:
    names = (f"precision@{depth}", f"recall@{depth}", f"ndcg@{depth}", "coverage", "citation_accuracy")
    if not slices:
        return
    yield ""
    yield "By slice".ljust(18) + "".join(_HEADS.get(name, name).rjust(12) for name in names)
    for slice_name, measures in slices.items():
        yield "  " + visible(slice_name, 16).ljust(16) + "".join(_cell(measures, name).rjust(12) for name in names)


def _cell(measures: Mapping[str, Measure], name: str) -> str:
    measure = measures.get(name)
    return "–" if measure is None or measure.value is None else f"{decimal(measure.value)} n={measure.n}"


def _states(converging: Row, distance: Row) -> Iterator[str]:
    if not any(converging["states"].values()):
        return
    states = "  ".join(f"{state} {count}" for state, count in converging["states"].items())
    yield ""
    yield f"Convergence (λ): {states}  ({converging['read']} read from the log, {converging['derived']} derived)"
    if any(distance["bands"].values()):
        bands = ", ".join(f"{name} {count}" for name, count in distance["bands"].items())
        yield f"Semantic distance (ΔS) by {visible(distance['embedder'])}: {bands}"


def _short(short: Mapping[str, str]) -> Iterator[str]:
    if short:
        yield ""
        yield "Result lists shorter than k"
    for qid, text in list(short.items())[:SHOWN]:
        yield f"  {visible(qid, 40)}  {text}"


def _comparison_lines(compared: Row | None) -> Iterator[str]:
    if not compared:
        return
    lost, gained = len(compared["hits_lost"]), len(compared["hits_gained"])
    difference, p = compared["difference"], compared["permutation_p"]
    yield ""
    yield (
        f"Shadow against live on {plural(compared['pairs'], 'question')}: {compared['metric']} "
        f"{'–' if difference is None else f'{difference:+.3f}'} (permutation test p = "
        f"{'–' if p is None else f'{p:.3g}'}); hits lost {lost}, "
        f"gained {gained} (exact McNemar p = {compared['mcnemar_two_sided_p']:.3g})"
    )
    for name in ("worse", "better"):
        rows = compared[name]
        for row in rows[:SHOWN]:
            types = f" ({visible(', '.join(row['type']), 40)})" if row["type"] else ""
            yield f"  {name}  {visible(row['qid'], 40)}{types}  {row['live']:.3f} → {row['shadow']:.3f}"
        if len(rows) > SHOWN:
            yield f"  … and {len(rows) - SHOWN} more are {name}; the JSON report lists all"


# --- the reference profile: the original pseudocode made runnable, one log per question, its choices kept ---
# Differs from the strict numbers: only the answer's first citation counts; coverage and citation accuracy are over
# all gold items; ΔS is over the first 5 retrieved; repeated ids keep their slots; a gold item without relevant ids
# scores 0.


def numbers(tally: Tally, choices: Choices) -> dict[str, Fraction | None]:
    """Every number of the pseudocode, exactly; None where there was no value at all."""
    items, logged = tally["items"], tally["logged_states"]
    exact: dict[str, Fraction | None] = {}
    for k in choices.k:
        exact |= {name: _mean(tally, name) for name in (f"precision@{k}", f"recall@{k}")}
    exact |= {name: Fraction(tally[name], items or 1) for name in ("coverage", "citation_accuracy")}
    exact |= {name: tally.ordered(name).percentile(50) for name, _ in DISTANCES}
    return exact | {"lambda_convergent": Fraction(tally["lambda_convergent"], logged) if logged else None}


def _fractions(tally: Tally, name: str) -> dict[Fraction, int]:
    return {Fraction(value): count for value, count in tally.values(name).items()}


def _mean(tally: Tally, name: str) -> Fraction:
    values = _fractions(tally, name)
    return sum((value * count for value, count in values.items()), Fraction(0)) / (sum(values.values()) or 1)


def reference(findings: Findings) -> Reference:
    """The decision on the pseudocode's numbers, beside live's where there is a live log."""
    context: Context = findings.context
    tally, live = findings.evidence.part(REFERENCE), findings.evidence.part(LIVE_REFERENCE)
    exact = numbers(tally, context.choices)
    before = numbers(live, context.choices) if context.compared else {}
    return Reference(
        measures={name: _measure(name, value, tally["items"]) for name, value in exact.items()},
        headline={name: None if value is None else round(float(value), 4) for name, value in exact.items()},
        gates=_known_gates(findings, exact),
        baseline={name: value for name, value in before.items() if value is not None},
        incomplete=list(seeds_lacking(findings)),
    )


def _known_gates(findings: Findings, exact: dict[str, Fraction | None]) -> list[Gate]:
    """The gates that it can judge; one that somebody asked for and it can't is an error."""
    options = findings.context.options
    asked = {gate.key for gate in parse_gates(options.gates, metrics(options), aliases(options))}
    gates = [gate for gate in findings.gates if gate.metric in exact and not gate.slice]
    if lost := [gate for gate in findings.gates if gate.key in asked and gate not in gates]:
        raise UsageError(
            f"the reference profile has no {lost[0].key}",
            where="--gates",
            code="gate-unknown",
            hint=f"It has {', '.join(exact)}, each over everything.",
        )
    return gates


def _measure(name: str, value: Fraction | None, n: int) -> Measure:
    if value is None:
        return Measure(name, "coefficient", None, n, missing="nothing was logged")
    if name in ("coverage", "citation_accuracy"):  # a question either is covered or it is not
        k = int(value * n)
        return Measure(name, "rate", value, n, k, stats.wilson(k, n))
    kind, _, depth = name.partition("@")  # the pseudocode calls it just recall
    words = (
        msgspec.structs.replace(WORDS["recall"].fill(k=depth), plain=f"recall at {depth}")
        if kind == "recall"
        else Words()
    )
    return Measure(name, "coefficient", value, n, words=words)
