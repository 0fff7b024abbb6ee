"""What the retrieval suite counts, the metrics that follow, and the canary gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import cast

import msgspec

from ... import stats
from ...core.evidence import Counted
from ...core.gates import Gate
from ...core.metrics import Better, Computed, Count, Mean, Measure, Metric, Percentile
from ...core.tally import Fact, Tally
from .hints import hint_facts
from .judge import RISK, STABLE, Context, ListVerdict, LogVerdict, Verdict
from .options import Choices, Options, choices_of
from .pairs import change_facts, change_of
from .ranking import Ranked, Ratio, Wanted, default_metrics, mean_ratio, parse_wanted, rule, spellings

LISTS = "lists"  # the fact whose values are the ranked lists of a question
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
    if options.metrics is not None:
        wanted = parse_wanted(options.metrics)
        return {spelling: one.name(choices.preset) for one in wanted for spelling in spellings(one)}
    spelt = {name: one.name() for one in default_metrics(choices.k) for name in spellings(one)}
    kept = {f"P_{k}": f"P_{k}" for k in choices.k}  # trec_eval's precision is a metric of its own here
    shallow = {name: f"{name}@{choices.canary_k}" for name in ("precision", "recall")}
    return ALIASES | spelt | kept | shallow


# --- facts ---


def facts(verdict: Verdict | ListVerdict, context: Context) -> Iterable[Counted]:
    if isinstance(verdict, ListVerdict):  # there may be millions of them, so no generator is made for each
        return (_counted_lists(verdict),)
    return _counted(verdict, context)


def _counted_lists(verdict: ListVerdict) -> Counted:
    # What was seen of the question is its lists themselves; many questions of a large file share theirs with others.
    scored = ("scored", cast(Fact, (LISTS, verdict.lists))) if verdict.scored else ()
    if verdict.lists and verdict.relevant:
        return Counted(("items", *scored))
    named = [name for name, there in (("missing", verdict.lists), ("no_relevant", verdict.relevant)) if not there]
    return Counted(("items", *named, *scored), name=verdict.qid, named=named)


def _counted(verdict: Verdict, context: Context) -> Iterator[Counted]:
    qid, slices, shadow, live = verdict.qid, verdict.expected.slices, verdict.shadow, verdict.live
    named = [name for name, applies in _named(shadow) if applies]
    yield Counted(log_facts(shadow), slices, "", qid, named)
    yield Counted(change_facts(change_of(verdict, context)))
    yield from _particulars(verdict)
    if live is not None:
        yield Counted(log_facts(live), slices, LIVE)
    if context.options.profile == "reference":
        yield Counted(shadow.reference, part=REFERENCE)
        yield Counted(live.reference if live is not None else (), part=LIVE_REFERENCE)


def _named(verdict: LogVerdict) -> tuple[tuple[str, bool], ...]:
    """The facts whose items somebody will want to look up."""
    return (("missing", not verdict.lines), ("no_relevant", not verdict.ranked))


def _particulars(verdict: Verdict) -> Iterator[Counted]:
    """Names of parts of a question: groups that can't be decided, and its first block of unknown section."""
    for seed, converged in verdict.shadow.groups.items():
        if converged is None:
            yield Counted((), name=f"{verdict.qid} seed {seed or '-'}", named=("undecided_groups",))
    unknown = [block for line in verdict.shadow.lines for block in line.unknown_sections]
    if unknown:
        # The smallest names are kept, so the place in the gold set goes first: then the first block of all is kept.
        yield Counted((), name=f"{verdict.expected.number:012} {unknown[0]}", named=("unknown_sections",))


def log_facts(verdict: LogVerdict) -> Iterator[Fact]:
    """The facts of a question in one log, under the names that the metrics use."""
    yield "items"
    if not verdict.lines:
        yield "missing"
    if verdict.target.citable:
        yield "citable"
        if any(place.offsets is not None for place in verdict.target.places):
            yield "ranged"
    yield "rankable" if verdict.ranked else "no_relevant"
    if verdict.target.placeless:
        yield "placeless"
    for name, worth in verdict.values.items():  # most are 0 or 1, which as integers are counted far quicker
        yield name, worth.numerator if worth.denominator == 1 else worth
    yield from ["superseded_lines"] * verdict.superseded
    yield from _run_facts(verdict)
    yield from _group_facts(verdict)
    yield from hint_facts(verdict)
    if is_bad(verdict):
        yield "bad_qid"


def _run_facts(verdict: LogVerdict) -> Iterator[Fact]:
    for line in verdict.lines:
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


def _group_facts(verdict: LogVerdict) -> Iterator[Fact]:
    decided = [converged for converged in verdict.groups.values() if converged is not None]
    for converged in verdict.groups.values():
        yield "groups_undecided" if converged is None else "groups_converged" if converged else "groups_split"
    if verdict.groups:
        yield "grouped"
    if decided:
        yield ("lambda_share", Fraction(sum(decided), len(decided)))


def band(delta: Fraction) -> str:
    return "stable" if delta < STABLE else "transitional" if delta < RISK else "risk"


def is_bad(verdict: LogVerdict) -> bool:
    """Nothing that it should cite is cited, or the cited snippet is far from the question."""
    values = verdict.values
    return values.get("coverage") == 0 or (verdict.target.answerable and values.get("delta_s", Fraction(0)) > RISK)


# --- metrics ---


def metrics(options: Options) -> dict[str, Metric]:
    """Every metric of the suite by name, in the order of the report."""
    choices = choices_of(options)
    if options.metrics is not None:
        return _list_metrics(parse_wanted(options.metrics), choices)
    listed = [*_cited_metrics(choices), *_ranking_metrics(choices), *_counts()]
    return {metric.name: metric for metric in listed}


def _list_metrics(wanted: Iterable[Wanted], choices: Choices) -> dict[str, Metric]:
    """The metrics that were named, and whether every question has a list."""
    named: dict[str, Metric] = {}
    for one in wanted:
        name = one.name(choices.preset)
        named[name] = MeanOfLists(name, _OF_LISTS[one.kind], of=name, wanted=one, choices=choices)
    missing = Count("missing", "questions without a result list", "lower", high=None, of=("missing",), completes=True)
    return named | {"missing": missing}


_OF_LISTS = {
    "precision": "share of retrieved blocks that are relevant",
    "recall": "share of relevant blocks that were retrieved",
    "ndcg": "discounted gain",
    "mrr": "1 / rank of the first relevant block",
    "map": "average precision",
    "success": "share of questions with a relevant block",
}


def _absent(choices: Choices) -> tuple[str, ...]:
    """The reasons of items that count as 0 because there is nothing to judge."""
    return ("error",) if choices.missing_query == "skip" else ("missing", "error")


def _cited_metrics(choices: Choices) -> Iterator[Metric]:
    absent = _absent(choices)
    cites = "share of questions whose answer cites a relevant block or the right section"
    yield _share("coverage", cites, could="citable", why=_UNSAID, against=(*absent, "uncited", "uncovered"))
    yield _share(
        "citation_accuracy",
        "share of answered questions whose citation is in the gold section and byte range",
        could="ranged",
        why="no answer to a question with a gold byte range cites anything",
        against=("off-place",),
    )
    yield _share("answer_rate", "share of questions with any citation", why=_UNSAID, against=(*absent, "uncited"))
    median = "median distance between the cited text and the question"
    yield Distance("delta_s_median", median, "lower", of="delta_s", p=Fraction(50))
    yield Distance("delta_s_p90", "90th percentile of that distance", "lower", of="delta_s", p=Fraction(90))
    groups = "share of questions whose paraphrases all reach the same evidence"
    yield Computed("lambda_convergent", groups, formula=_convergent)
    steps = "steps in the table of contents between the cited section and the right one"
    yield Mean("anchor_proximity", steps, "lower", high=None, of="anchor_proximity")


def _ranking_metrics(choices: Choices) -> Iterator[Metric]:
    against = (*_absent(choices), "not-retrieved")
    for wanted in default_metrics(choices.k):
        yield _share(wanted.name(), _OF_BLOCKS[wanted.kind], could="rankable", against=against)
    for k in choices.k:
        divided = f"relevant blocks among the first {k}, divided by {k} as trec_eval does"
        yield _share(f"P_{k}", divided, could="rankable", against=against)
        yield _share(f"anchor_hit@{k}", f"share of questions with a block of the right section in the first {k}")
        yield _share(f"negative_rate@{k}", f"share of hard negatives among the first {k}", "lower")


def _counts() -> Iterator[Metric]:
    yield _share("negative_first", "share of questions where a hard negative outranks every relevant block", "lower")
    absent = "questions without a log line"
    yield Count("missing", absent, "lower", high=None, of=("missing",), completes=True, against=("missing",))
    bad = "questions with coverage 0, or a cited text far from the question"
    yield Count("bad_qids", bad, "lower", high=None, of=("bad_qid",))


_OF_BLOCKS = {
    "precision": "relevant blocks among those retrieved",
    "recall": "gold places found",
    "ndcg": "discounted gain",
    "mrr": "1 / rank of the first relevant block",
    "map": "average precision",
}
_UNSAID = "no line of the log says what its answer cites (answer_citations)"


class Distance(Percentile, frozen=True, kw_only=True):
    """A percentile of ΔS, which says what it lacks where there is none."""

    def measure(self, tally: Tally) -> Measure:
        measure = super().measure(tally)
        why = "the log has no delta_s, and no text of a cited block to compute it from (--texts)"
        return measure if measure.n else msgspec.structs.replace(measure, missing=why)


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

    def applies(self, tally: Tally) -> bool:
        return tally[self.could] > 0


class MeanOfLists(Mean, frozen=True, kw_only=True):
    """A mean over questions of what their lists are worth; lists that many questions have are valued once."""

    wanted: Wanted
    choices: Choices

    def measure(self, tally: Tally) -> Measure:
        denominator, recall = self.choices.denominator, self.choices.recall
        values: dict[Ratio, int] = {}
        one = rule(self.wanted, denominator, recall)
        for lists, count in _lists(tally):
            several = len(lists) != 1
            worth = mean_ratio(self.wanted, lists, denominator, recall) if several else one(lists[0])
            values[worth] = values.get(worth, 0) + count
        spread = stats.ratio_spread(values)
        if spread is None:  # no value, or an nDCG that is above 1 in its last bit
            return super().measure(Tally({(self.of, Fraction(*worth)): count for worth, count in values.items()}))
        n = sum(values.values())
        return Measure(self.name, "mean", stats.ratio_sum(values) / n, n, None, spread.interval, spread.bounds)


def _lists(tally: Tally) -> Iterator[tuple[tuple[Ranked, ...], int]]:
    seen = ((fact[1], count) for fact, count in tally.counts.items() if fact[0] == LISTS)
    return cast(Iterator[tuple[tuple[Ranked, ...], int]], seen)


def _share(
    name: str,
    description: str,
    better: Better = "higher",
    *,
    could: str = "items",
    why: str = "",
    against: tuple[str, ...] = (),
) -> MeanShare:
    return MeanShare(name, description, better, of=name, could=could, why=why, against=against)


def _convergent(tally: Tally) -> Measure:
    """Converged among decided groups; several seeds of one question are one cluster, and prove no more than one."""
    name = "lambda_convergent"
    k, n = tally["groups_converged"], tally["groups_converged"] + tally["groups_split"]
    shares = {Fraction(share): count for share, count in tally.values("lambda_share").items()}
    if not n:
        return Measure(name, "rate", None, 0, 0, missing="no group of paraphrases is complete enough to judge")
    if n == sum(shares.values()):
        return Measure(name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))
    interval, bounds = stats.mean_spread(shares, 0, 1) or (None, (None, None))
    return Measure(name, "mean", Fraction(k, n), n, k, interval, bounds)


# --- gates ---


def gates(context: Context) -> list[Gate]:
    """The canary gates; the last asks that recall falls at most 0.02 below live's. A single log has none."""
    if context.ids_only or context.plain:
        return []
    compared = [f"recall@{context.choices.canary_k} >= baseline - 0.02"] if context.compared else []
    return [_softened(Gate.parse(text), context) for text in (*CANARY, *compared)]


def _softened(gate: Gate, context: Context) -> Gate:
    """The default bars of ΔS are a sentence model's: a lexical distance is held against them, but does not block."""
    foreign = "lexical" in context.logs["shadow"].made_with and context.options.profile == "strict"
    if foreign and gate.metric.startswith("delta_s_"):
        return msgspec.structs.replace(gate, severity="warn")
    return gate
