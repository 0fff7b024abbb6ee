"""What the stability suite counts, the metrics made of those counts, and the gates that hold by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ... import stats
from ...gates import Gate
from ...metrics import Count, Mean, Measure, Metric, Rate
from ...tally import Fact, Tally
from ..bars import bar
from .verdict import BARS, KS, Verdict

ALIASES = {"rcr": "refusal_rate", "ned": "ned50", "scu": "scu_cons"}
DEFAULT_BARS = ("acr >= 0.95", "cghc >= 0.95", "css >= 0.70", "ned50 <= 0.20", "scu_cons >= 1", "refusal_rate >= 0.98")
LAMBDA_GATES = ("lambda_convergent >= 0.80", "lambda_collapse <= 0", "lambda_split <= 0.10")
_MEANS = {
    "acr": "the mean over answerable questions of runs with a right claim",
    "cghc": "the mean over answerable questions of runs with a citation hit",
    "css": "the mean over questions of citations that all answers share",
    "css_all": "the same over all runs, refusals included",
    "jaccard": "the mean over questions of the overlap of two answers' citations",
    "ned50": "the mean over questions of the median edit distance",
    "iaa": "the mean over questions of pairs of answers with the same wording",
    "rcr": "the mean over questions of the larger of refusals and answers",
    "refusal_rate": "the mean over unanswerable questions of runs that refuse",
}


def facts(verdict: Verdict) -> Iterator[Fact]:
    """The facts of a verdict under the names that the metrics use."""
    yield "items"
    yield "answerable" if verdict.answerable else "unanswerable"
    if not verdict.runs:
        yield "missing"
        return
    yield "judged"
    yield "failing" if verdict.failed else "undecided" if verdict.undefined else "passing"
    yield from (f"failing_{name}" for name in verdict.failed)
    if verdict.flips:
        yield "flipped"
    yield from _runs(verdict)
    for name, value in verdict.values.items():
        if value is not None and (name != "refusal_rate" or not verdict.answerable):
            yield name, value
    if len(verdict.answered) > 1:
        yield "compared"
        if len({run.claim for run in verdict.answered}) == 1:
            yield "identical_claims"
        if len({run.citations for run in verdict.answered}) == 1:
            yield "identical_citations"


def _runs(verdict: Verdict) -> Iterator[Fact]:
    for run in verdict.runs:
        yield "runs"
        yield f"runs_{run.status}"
        yield f"lambda_{run.lambda_state}"
    yield from ("flips" for _ in verdict.flips)
    for state in ("→", "<>"):
        share = sum(run.lambda_state == state for run in verdict.runs)
        yield f"lambda_{state}", Fraction(share, len(verdict.runs))


def slices(verdict: Verdict) -> tuple[str, ...]:
    return verdict.slices


class Share(Metric, frozen=True, kw_only=True):
    """Runs with a fact, of all runs; how sure that is depends on the questions, for their runs are one cluster each."""

    of: str

    def measure(self, tally: Tally) -> Measure:
        k, n = tally[self.of], tally["runs"]
        if not n:
            return Measure(self.name, "mean", None, 0, missing="there is no run")
        shares = {Fraction(share): count for share, count in tally.values(self.of).items()}
        spread = stats.mean_interval_of_counts(shares)
        return Measure(
            self.name, "mean", Fraction(k, n), tally["judged"], interval=spread, bounds=spread or (None, None)
        )


def metrics() -> dict[str, Metric]:
    """Every metric of the suite by name; the bars of single questions stand among them so that gates can name them."""
    found: list[Metric] = [
        Count("failing", "questions that miss a bar", "lower", high=None, of=("failing",)),
        Rate("fail_rate", "questions that miss a bar, of those with runs", "lower", of="failing", among="judged"),
        *(Count(f"{name}_failing", f"questions that miss the bar of {name}", "lower", high=None, of=(f"failing_{name}",))
          for name in BARS),
        *(Mean(f"mean_{name}", says, "lower" if name == "ned50" else "higher", of=name) for name, says in _MEANS.items()),
        *(Mean(f"pass^{k}", f"the chance that {k} random runs of a question all pass", of=f"pass^{k}") for k in KS),
        Rate("identical_answers", "questions whose answers are all worded alike", of="identical_claims", among="compared"),
        Rate("identical_citations", "questions whose answers all cite the same", of="identical_citations", among="compared"),
        Rate("flipped", "questions of which some run differs from the majority", "lower", of="flipped", among="judged"),
        Share("lambda_convergent", "runs that converge on the evidence", of="lambda_→"),
        Count("lambda_collapse", "runs of questions that no run finds evidence for", "lower", high=None, of=("lambda_×",)),
        Share("lambda_split", "runs that miss evidence which another run of the question finds", "lower", of="lambda_<>"),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


def bar_metrics() -> dict[str, Metric]:
    """The metrics of single questions, under their own names."""
    return {name: Mean(name, each.says, each.better, of=name) for name, each in BARS.items()}  # type: ignore[arg-type]


def default_bars() -> list[Gate]:
    return [Gate.parse(text) for text in DEFAULT_BARS]


def gates(bars: Sequence[Gate], max_fail_rate: Fraction, paraphrased: bool) -> list[Gate]:
    """The gates of the whole: how many questions may fail, and λ where there are paraphrases.

    A line for each bar goes along for information; which questions miss it is what a reader asks first. Without any
    bar no question can fail, and there is nothing to count.
    """
    allowed = bar("fail_rate", "<=", max_fail_rate) if max_fail_rate else Gate.parse("failing <= 0")
    found = [allowed] if bars else []
    found += [Gate.parse(f"{each.metric}_failing <= 0", severity="info") for each in bars]
    return found + [Gate.parse(text) for text in LAMBDA_GATES if paraphrased]
