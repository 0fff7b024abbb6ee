"""What the retrieval suite counts, the metrics that follow, and the canary gates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import msgspec

from ... import stats
from ...core.evidence import Counts
from ...core.gates import Gate
from ...core.metrics import Better, Computed, Count, Mean, Measure, Metric, Percentile, Words
from ...core.suite import Findings
from ...core.tally import HAS, Fact, Tally, group, held, lacks_of
from ..ranking.metrics import NO_LIST, OF_K, default_metrics, spellings, words_of
from ..ranking.options import Choices, Options, choices_of, distance_limit
from .judge import Context, InLog, Outline, band

CITED = "cited_answers"  # answerable questions whose answer cites something
LIVE = "live"  # the part of the evidence that counts what the index that serves does
REFERENCE = "reference"  # the parts that count what the original pseudocode does
LIVE_REFERENCE = "live reference"

ALIASES = {
    "lambda": "lambda_convergent",
    "citation": "citation_accuracy",
    "dS_median": "delta_s_median",
    "dS_p90": "delta_s_p90",
}
CANARY = (
    "coverage >= 0.70",
    "citation_accuracy >= 0.95",
    "delta_s_median <= 0.40",
    "delta_s_p90 <= 0.55",
    "lambda_convergent >= 0.95",
)


def aliases(options: Options) -> dict[str, str]:
    """Other spellings of the metrics, such as trec_eval's."""
    choices = choices_of(options)
    spelt = {name: one.name() for one in default_metrics(choices.k) for name in spellings(one)}
    kept = {f"P_{k}": f"P_{k}" for k in choices.k}  # trec_eval's precision is a metric of its own here
    shallow = {name: f"{name}@{choices.canary_k}" for name in ("precision", "recall")}
    return ALIASES | spelt | kept | shallow


# --- facts ---


def facts(outline: Outline | tuple[()], context: Context) -> Iterator[Counts]:
    if not outline:  # of a row that only names a question
        return
    slices, shadow, live = outline.slices, outline.shadow, outline.live
    named = [name for name, applies in (("missing", not shadow.lines), ("no_relevant", not shadow.ranked)) if applies]
    yield Counts(log_facts(shadow), slices, named=named)
    yield Counts(change_facts(outline))
    yield from _particulars(outline)
    yield _values_held(shadow, slices)
    if live is not None:
        yield Counts(log_facts(live), slices, LIVE)
        yield _values_held(live, slices, LIVE)
    if context.options.profile == "reference":
        yield Counts(shadow.reference, part=REFERENCE)
        yield Counts(live.reference if live is not None else (), part=LIVE_REFERENCE)


def _values_held(found: InLog, slices: tuple[str, ...], part: str = "") -> Counts:
    """What its runs have and lack of the values that gates may need; a question lacks what one of its runs lacks."""
    has, lacks = ({value for line in found.lines for value in getattr(line, name)} for name in ("has", "lacks"))
    facts = held(has, lacks)
    return Counts(facts, slices, part, named=lacks_of(facts))


def _particulars(outline: Outline) -> Iterator[Counts]:
    """Names of parts of a question: groups that can't be decided, and its first block of unknown section."""
    for seed, converged in outline.shadow.groups.items():
        if converged is None:
            yield Counts((), name=f"{outline.qid} seed {seed or '-'}", named=("undecided_groups",))
    unknown = [block for line in outline.shadow.lines for block in line.unknown_sections]
    if unknown:
        # The smallest names are kept, so the place in the gold set goes first: then the first block of all is kept.
        yield Counts((), name=f"{outline.place:012} {unknown[0]}", named=("unknown_sections",))


def log_facts(found: InLog) -> Iterator[Fact]:
    """The facts of a question in one log, under the names that the metrics use."""
    yield "items"
    if not found.lines:
        yield "missing"
    if found.target.citable:
        yield "citable"
        if any(place.offsets is not None for place in found.target.places):
            yield "ranged"
    yield "rankable" if found.ranked else "no_relevant"
    if found.target.placeless:
        yield "placeless"
    if found.target.answerable and any(line.cited for line in found.lines):
        yield CITED
    for name, worth in found.values.items():  # most are 0 or 1, which as integers are counted far quicker
        yield name, worth.numerator if worth.denominator == 1 else worth
    yield from ["superseded_lines"] * found.superseded
    yield from _run_facts(found)
    yield from _group_facts(found)
    yield from hint_facts(found)
    if found.bad:
        yield "bad_qid"


def _run_facts(found: InLog) -> Iterator[Fact]:
    for line in found.lines:
        yield "runs"
        if line.state:
            yield f"state {line.state}"
            yield "derived_states" if line.derived else "read_states"
        if line.failed:
            yield "failed_runs"
        if line.cited:
            yield "answered_runs"
        if line.delta is not None:
            yield f"delta_s {band(line.delta)}"
        if line.drifted:
            yield "drifted_runs"
        yield from ["unknown_section"] * len(line.unknown_sections)


def _group_facts(found: InLog) -> Iterator[Fact]:
    decided = [converged for converged in found.groups.values() if converged is not None]
    for converged in found.groups.values():
        yield "groups_undecided" if converged is None else "groups_converged" if converged else "groups_split"
    if found.groups:
        yield "grouped"
    if decided:
        yield group("groups_of_question", (sum(decided), len(decided)))


def hint_facts(found: InLog) -> Iterator[str]:
    """What the diagnosis counts."""
    if found.ranked and found.lines:
        yield "searched"
        if any(line.ranked.hits for line in found.lines):
            yield "retrieved"
    if any(
        line.cited and not line.covered and line.delta is not None and band(line.delta) == "stable"
        for line in found.lines
    ):
        yield "near_but_wrong"
    if _order_flips(found):
        yield "order_flips"
    if any(line.proximity in (1, 2) and not line.covered for line in found.lines):
        yield "leaks"


def _order_flips(found: InLog) -> bool:
    """One wording, several seeds, and another rank each time: the question did not change, the order did."""
    ranks: dict[str, set[tuple[int, ...]]] = {}
    for line in found.lines:
        if not line.failed:
            ranks.setdefault(line.paraphrase, set()).add(line.ranked.hits[:1])
    return any(len(first) > 1 for first in ranks.values())


def change_facts(outline: Outline) -> Iterator[Fact]:
    """What the paired tests count."""
    if outline.change is None or outline.live is None:
        return
    now, before = outline.change
    yield "pairs"
    if now != before:
        yield DIFFERENCE, now - before
    if outline.shadow.hit != outline.live.hit:
        yield GAINED if outline.shadow.hit else LOST


DIFFERENCE, LOST, GAINED = "live difference", "live hit lost", "live hit gained"  # facts of the comparison
VALUES = ("answer_citations", "delta_s", "offsets", "section_id", "topk.offsets", "topk.text")


def fact_names(options: Options) -> set[str]:
    """Every fact that is counted of a question, on either side."""
    per_question = {metric.of for metric in metrics(options).values() if isinstance(metric, Mean)}
    return {
        *per_question,
        *("searched", "retrieved", "near_but_wrong", "order_flips", "leaks"),
        *("pairs", DIFFERENCE, LOST, GAINED),
        *(HAS + value for value in VALUES),
        *("delta_s", "delta_s *", "state *", "missing", "citable", "ranged", "rankable", "no_relevant", "placeless"),
        *("superseded_lines", "runs", "failed_runs", "answered_runs", "drifted_runs", "derived_states", "read_states"),
        *("groups_converged", "groups_split", "groups_undecided", "grouped", "groups_of_question"),
        *("cited_answers", "unknown_section", "bad_qid"),
    }


def compared(findings: Findings, gate: Gate) -> tuple[str, ...]:
    """A gate against live is about both logs."""
    return ("", LIVE) if gate.bound.sign and findings.context.compared else ("",)


# --- metrics ---


def metrics(options: Options) -> dict[str, Metric]:
    """Every metric of the suite by name, in the order of the report."""
    choices = choices_of(options)
    listed = [*_cited_metrics(choices, distance_limit(options.delta_s_limit)), *_ranking_metrics(choices), *_counts()]
    return {metric.name: metric for metric in listed}


def _absent(choices: Choices) -> tuple[str, ...]:
    """The reasons of items that count as 0 because there is nothing to judge."""
    return ("error",) if choices.missing_query == "skip" else ("missing", "error")


def _cited_metrics(choices: Choices, limit: Fraction) -> Iterator[Metric]:
    absent = _absent(choices)
    yield _share(
        "coverage",
        Words(
            "coverage",
            "Of the questions, the share whose answer cites a relevant block or the right section.",
            "questions with such a citation / questions with relevant blocks",
            "questions",
            "were answered from a relevant block or the right section",
            "coverage >= 0.70",
        ),
        could="citable",
        why=_UNSAID,
        against=(*absent, "uncited", "uncovered"),
        needs=_CITES,
    )
    yield _share(
        "citation_accuracy",
        Words(
            "citation accuracy",
            "Of the answered questions with a gold byte range, the share whose citation points at that place.",
            "questions with a citation in the right section and byte range / such questions",
            "questions with a gold byte range",
            "were cited at the right place",
            "citation_accuracy >= 0.95",
        ),
        could="ranged",
        why="no answer to a question with a gold byte range cites a byte range",
        against=("off-place",),
        needs=(*_CITES, "offsets"),
    )
    yield _share(
        "answer_rate",
        Words(
            "answer rate",
            "The share of questions whose answer cites anything.",
            "questions with a citation / questions",
            "questions",
            "had any citation",
        ),
        why=_UNSAID,
        against=(*absent, "uncited"),
        needs=_CITES,
    )
    median = Words(
        "median semantic distance (ΔS)",
        "How far the typical cited text is from its question: 0 is the same meaning, 1 is unrelated.",
        "median of 1 − cosine(question, cited text)",
        gate="delta_s_median <= 0.40",
    )
    p90 = Words(
        "90th percentile of semantic distance (ΔS)",
        "Nine of ten cited texts are at most this far from their question.",
        "percentile 90 of 1 − cosine(question, cited text)",
        gate="delta_s_p90 <= 0.55",
    )
    for name, words, p in (("delta_s_median", median, 50), ("delta_s_p90", p90, 90)):
        yield Distance(name, words, "lower", needs=_DISTANCES, optional=True, of="delta_s", p=Fraction(p))
    yield Computed(
        "delta_s_within",
        Words(
            "cited texts near the question (ΔS)",
            "Of the questions whose answer cites something, the share whose cited text is close enough to the "
            "question.",
            "answered questions with ΔS of the cited text ≤ 0.45 (--delta-s-limit) / answered questions",
            "answered questions",
            "were near their cited text",
        ),
        needs=_DISTANCES,
        optional=True,
        formula=partial(_within, limit),
    )
    yield Computed(
        "delta_s_max",
        Words(
            "largest semantic distance (ΔS)",
            "How far the farthest cited text is from its question: 0 is the same meaning, 1 is unrelated.",
            "maximum of 1 − cosine(question, cited text)",
        ),
        "lower",
        needs=_DISTANCES,
        optional=True,
        formula=_farthest,
    )
    yield Computed(
        "lambda_convergent",
        Words(
            "convergence (λ)",
            "Of the questions asked in several wordings, the share where every wording reaches the same evidence.",
            "groups of one question and seed that converge / groups that can be judged",
            "groups of paraphrases",
            "converged",
            "lambda_convergent >= 0.95",
        ),
        needs=_CITES,
        optional=True,
        formula=_convergent,
    )
    needs = (*_CITES, "section_id")
    yield Mean(
        "anchor_proximity",
        Words(
            "distance from the right section",
            "Steps in the table of contents between the cited section and the right one.",
            "mean of steps up and down the tree of titles",
        ),
        "lower",
        high=None,
        needs=needs,
        optional=True,
        of="anchor_proximity",
    )


def _ranking_metrics(choices: Choices) -> Iterator[Metric]:
    against = (*_absent(choices), "not-retrieved")
    needs = {"offsets": ("topk.offsets",), "text": ("topk.text",)}.get(choices.match, ())
    for wanted in default_metrics(choices.k):
        yield _share(wanted.name(), words_of(wanted), could="rankable", against=against, needs=needs)
    for k in choices.k:
        yield _share(f"P_{k}", OF_K.fill(k=k), could="rankable", against=against, needs=needs)
        yield _share(f"anchor_hit@{k}", _ANCHOR_HIT.fill(k=k))
        yield _share(f"negative_rate@{k}", _NEGATIVE_RATE.fill(k=k), "lower")


def _counts() -> Iterator[Metric]:
    yield _share(
        "negative_first",
        Words(
            "hard negative on top",
            "The share of questions where a misleading block outranks every relevant one.",
            "such questions / questions",
            "questions",
            "had a hard negative above every relevant block",
        ),
        "lower",
    )
    yield Count("missing", NO_LIST, "lower", of=("missing",), completes=True, against=("missing",))
    yield Count(
        "bad_qids",
        Words(
            "questions to look at",
            "Questions with coverage 0, or whose cited text is far from the question.",
            "count of such questions",
        ),
        "lower",
        needs=_DISTANCES,
        optional=True,
        of=("bad_qid",),
    )


_ANCHOR_HIT = Words(
    "right section in the first {k}",
    "The share of questions with a block of the right section among the first {k}.",
    "questions with such a block / questions",
    "questions",
    "had a block of the right section in the first {k}",
    family="anchor_hit@{k}",
)
_NEGATIVE_RATE = Words(
    "hard negatives in the first {k}",
    "Of the first {k} blocks, the share that the gold set names as misleading.",
    "hard negatives in the first {k} / blocks in the first {k}",
    "questions",
    "had nothing but hard negatives in the first {k}",
    family="negative_rate@{k}",
)
_CITES = ("answer_citations",)
_DISTANCES = (*_CITES, "delta_s")
_UNSAID = "no line of the log says what its answer cites (answer_citations)"


def _no_distance(tally: Tally) -> str:
    """Why there is no ΔS."""
    if tally[CITED]:
        return "the log has no delta_s, and no text of a cited block to compute it from (--texts)"
    return "no answer to an answerable question cites anything" if tally.values("answer_rate") else _UNSAID


class Distance(Percentile, frozen=True, kw_only=True):
    """A percentile of ΔS, which says what it lacks where there is none."""

    def measure(self, tally: Tally) -> Measure:
        measure = super().measure(tally)
        return measure if measure.n else msgspec.structs.replace(measure, missing=_no_distance(tally))


def _within(limit: Fraction, tally: Tally) -> Measure:
    """Questions whose ΔS is at most a limit, among those that have one."""
    values = tally.values("delta_s")
    k, n = sum(count for value, count in values.items() if value <= limit), sum(values.values())
    if not n:
        return Measure("delta_s_within", "rate", None, 0, 0, missing=_no_distance(tally))
    return Measure("delta_s_within", "rate", Fraction(k, n), n, k, stats.wilson(k, n))


def _farthest(tally: Tally) -> Measure:
    """The largest ΔS: other questions may be farther off, none of them makes this one nearer."""
    values = tally.values("delta_s")
    if not values:
        return Measure("delta_s_max", "coefficient", None, 0, missing=_no_distance(tally))
    farthest = Fraction(max(values))
    return Measure("delta_s_max", "coefficient", farthest, sum(values.values()), bounds=(float(farthest), None))


class MeanShare(Mean, frozen=True, kw_only=True):
    """A mean over questions; where each is 0 or 1 it is a rate, with the exact tests that a rate has."""

    could: str = "items"  # gold items that the metric could be about
    why: str = ""  # why there is no value, where there is none

    def measure(self, tally: Tally) -> Measure:
        values = tally.values(self.of)
        if not values or not set(values) <= {0, 1}:
            measure = super().measure(tally)
            return msgspec.structs.replace(measure, missing=self.why) if self.why and not values else measure
        k, n = values.get(1, 0), sum(values.values())
        return Measure(self.name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))


def _share(
    name: str,
    words: Words,
    better: Better = "higher",
    *,
    could: str = "items",
    why: str = "",
    against: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> MeanShare:
    return MeanShare(name, words, better, of=name, could=could, why=why, against=against, needs=needs, optional=True)


def _convergent(tally: Tally) -> Measure:
    """Converged among decided groups; several seeds of one question are one cluster, and prove no more than one."""
    name = "lambda_convergent"
    k, n = tally["groups_converged"], tally["groups_converged"] + tally["groups_split"]
    groups = {(part, whole): count for (part, whole), count in tally.groups("groups_of_question").items()}
    if not n:
        return Measure(name, "rate", None, 0, 0, missing="no group of paraphrases is complete enough to judge")
    if n == sum(groups.values()):
        return Measure(name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))
    interval, bounds = stats.pooled_spread(groups) or (None, (None, None))
    return Measure(name, "mean", Fraction(k, n), n, k, interval, bounds)


# --- gates ---


def gates(context: Context) -> list[Gate]:
    """The canary gates; the last asks that recall falls at most 0.02 below live's. A single log has none."""
    if context.plain:
        return []
    compared = [f"recall@{context.choices.canary_k} >= baseline - 0.02"] if context.compared else []
    return [_softened(Gate.parse(text), context) for text in (*CANARY, *compared)]


def _softened(gate: Gate, context: Context) -> Gate:
    """The default bars of ΔS are a sentence model's: a lexical distance is held against them, but does not block."""
    foreign = "lexical" in context.logs["shadow"].made_with and context.options.profile == "strict"
    if foreign and gate.metric.startswith("delta_s_"):
        return msgspec.structs.replace(gate, severity="warn")
    return gate
