"""What the retrieval suite counts, the metrics that follow, and the canary gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import msgspec

from ... import stats
from ...gates import Gate
from ...metrics import Better, Computed, Count, Mean, Measure, Metric, Percentile
from ...tally import Fact, Tally
from .judge import RISK, STABLE, Verdict, wanted_metrics
from .options import Options

ALIASES = {
    "lambda": "lambda_convergent",
    "citation": "citation_accuracy",
    "dS_median": "delta_s_median",
    "dS_p90": "delta_s_p90",
}
CANARY = ("coverage >= 0.70", "citation_accuracy >= 0.95", "delta_s_median <= 0.40", "delta_s_p90 <= 0.55",
          "lambda_convergent >= 0.95")  # fmt: skip


def facts(verdict: Verdict, options: Options) -> Iterator[Fact]:
    """The facts of a verdict under the names that the metrics use."""
    yield "items"
    if not verdict.lines:
        yield "missing"
    if verdict.target.citable:
        yield "citable"
        if any(place.offsets is not None for place in verdict.target.places):
            yield "ranged"
    if verdict.ranked:
        yield "rankable"
        yield "hit" if verdict.hit else "no_hit"
    else:
        yield "no_relevant"
    if verdict.target.placeless:
        yield "placeless"
    for name, value in verdict.values.items():  # most are 0 or 1, which as integers are counted far quicker
        yield name, value.numerator if value.denominator == 1 else value
    yield from _runs(verdict)
    if is_bad(verdict):
        yield "bad_qid"


def _runs(verdict: Verdict) -> Iterator[Fact]:
    for line in verdict.lines:
        yield "runs"
        if line.state:
            yield f"state {line.state}"
        if line.failed:
            yield "failed_runs"
        if line.cited:
            yield "answered_runs"
        if line.delta is not None:
            yield f"delta_s {band(line.delta)}"
        if line.drifted:
            yield "drifted_runs"
    decided = [found for found in verdict.groups.values() if found is not None]
    for found in verdict.groups.values():
        yield "groups_undecided" if found is None else "groups_converged" if found else "groups_split"
    if decided:
        yield ("lambda_share", Fraction(sum(decided), len(decided)))


def band(delta: Fraction) -> str:
    return "stable" if delta < STABLE else "transitional" if delta < RISK else "risk"


def is_bad(verdict: Verdict) -> bool:
    """Nothing that it should cite is cited, or the cited snippet is far from the question."""
    values = verdict.values
    return values.get("coverage") == 0 or (verdict.target.answerable and values.get("delta_s", Fraction(0)) > RISK)


def slices(verdict: Verdict) -> tuple[str, ...]:
    return verdict.slices


def metrics(options: Options) -> dict[str, Metric]:
    """Every metric of the suite by name, in the order of the report."""
    found: list[Metric] = [
        _share("coverage", "questions whose answer cites a relevant block or the anchor section", could="citable",
               without=_UNSAID),
        _share("citation_accuracy", "answered questions whose citation has the gold section and byte range", could="ranged",
               without="no answer to a question with a gold byte range cites anything"),
        _share("answer_rate", "questions with any citation", without=_UNSAID),
        Distance("delta_s_median", "median distance of the cited snippet from the question", "lower", of="delta_s", p=Fraction(50)),
        Distance("delta_s_p90", "90th percentile of that distance", "lower", of="delta_s", p=Fraction(90)),
        Computed("lambda_convergent", "groups of one question and seed whose paraphrases all converge", formula=_convergent),
        Mean("anchor_proximity", "steps in the title tree between the cited section and the anchor", "lower", high=None,
             of="anchor_proximity"),
    ]  # fmt: skip
    for wanted in wanted_metrics(options):
        found.append(_share(wanted.name(), _SAYS[wanted.kind], could="rankable"))
    for k in options.k:
        found += [
            _share(
                f"P_{k}", f"relevant blocks among the first {k}, divided by {k} as trec_eval does", could="rankable"
            ),
            _share(f"anchor_hit@{k}", f"some block of the first {k} lies in the anchor section"),
            _share(f"negative_rate@{k}", f"hard negatives among the first {k}", "lower"),
        ]
    found += [
        _share("negative_first", "a hard negative outranks every relevant block", "lower"),
        Count("missing", "questions without a log line", "lower", high=None, of=("missing",), completes=True),
        Count("bad_qids", "questions with coverage 0 or a cited snippet in the risk band", "lower", high=None, of=("bad_qid",)),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


_SAYS = {
    "precision": "relevant blocks among those retrieved", "recall": "gold places found", "ndcg": "discounted gain",
    "mrr": "reciprocal rank of the first relevant block", "map": "average precision",
}  # fmt: skip


_UNSAID = "no line of the log says what its answer cites (answer_citations)"


class Distance(Percentile, frozen=True, kw_only=True):
    """A percentile of ΔS, which says what it lacks where there is none."""

    def measure(self, tally: Tally) -> Measure:
        found = super().measure(tally)
        why = "delta_s is not logged, and there is no text of a cited block to make it from"
        return found if found.n else msgspec.structs.replace(found, missing=why)


class Share(Computed, frozen=True, kw_only=True):
    """A mean over questions; where each is 0 or 1 it is a rate, with the exact tests that a rate has."""

    could: str = "items"

    def applies(self, tally: Tally) -> bool:
        return tally[self.could] > 0


def _share(name: str, says: str, better: Better = "higher", could: str = "items", without: str = "") -> Share:
    return Share(name, says, better, formula=_mean_of(name, without), could=could)


def _mean_of(name: str, without: str) -> Callable[[Tally], Measure]:
    mean = Mean(name, "", of=name)

    def formula(tally: Tally) -> Measure:
        values = tally.values(name)
        if not values or not set(values) <= {0, 1}:
            found = mean.measure(tally)
            return msgspec.structs.replace(found, missing=without) if without and not values else found
        k, n = values.get(1, 0), sum(values.values())
        return Measure(name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))

    return formula


def _convergent(tally: Tally) -> Measure:
    """Converged among decided groups; several seeds of one question are one cluster, so they prove no more than one."""
    name = "lambda_convergent"
    k, n = tally["groups_converged"], tally["groups_converged"] + tally["groups_split"]
    shares = {Fraction(share): count for share, count in tally.values("lambda_share").items()}
    if not n:
        return Measure(name, "rate", None, 0, 0, missing="no group of paraphrases is complete enough to judge")
    if n == sum(shares.values()):
        return Measure(name, "rate", Fraction(k, n), n, k, stats.wilson(k, n))
    interval = stats.mean_interval_of_counts(shares)
    return Measure(name, "mean", Fraction(k, n), n, k, interval, interval or (None, None))


def gates(options: Options, compared: bool) -> list[Gate]:
    """The canary gates; the last asks that recall falls at most 0.02 below live's."""
    texts = [*CANARY, f"recall@{options.canary_k} >= baseline - 0.02"] if compared else CANARY
    return [Gate.parse(text) for text in texts]
