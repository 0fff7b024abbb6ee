"""What the stability suite counts, the metrics made of those counts, and the gates that hold by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import msgspec

from ... import stats
from ...core.evidence import Counts
from ...core.gates import Gate, gate_of, parse_gates
from ...core.metrics import Better, Count, Mean, Measure, Metric, Rate, Words, without
from ...core.tally import HAS, Fact, Tally, group, lacks_of
from ...errors import UsageError
from ..answers.judge import CITES, CLAIM, RETRIEVED
from ..answers.metrics import NOT_CITING
from . import reference
from .judge import VALUES as JUDGED
from .judge import Context, Outline, RunFacts
from .options import ACCURACY, BARS, CITING, KS, LOWER, Options, default_bars
from .spread import too_long

ALIASES = {"rcr": "refusal_rate", "ned": "ned50", "scu": "scu_cons"}
LAMBDA_GATES = ("lambda_convergent >= 0.80", "lambda_collapse <= 0", "lambda_split <= 0.10")
ASIDE = "aside"  # the part of the evidence that no metric is made of
RCR = Words(
    "refusal consistency",
    "The share of runs that refuse or that answer, whichever is larger: 1 if all runs decide alike.",
    "max(refusals, answers) / runs of the question",
)
_MEANS = ("acr", "cghc", "css", "css_all", "jaccard", "ned50", "iaa", "rcr", "refusal_rate")
_MISSED = Words(
    "missed {NAME}",
    "Questions that miss the threshold for {NAME}.",
    "count of such questions",
    "questions",
    "missed the threshold for {NAME}",
    family="{NAME}_failing",
)
REASONS = {name: _MISSED.fill(NAME=words.plain) for name, words in BARS.items()}
_MEAN = Words(
    "average {NAME}",
    "The {NAME} of single questions, averaged over the questions it applies to.",
    "sum over questions / number of questions",
    family="mean_{NAME}",
)
_PASS = Words(
    "chance that all of {k} runs pass",
    "The chance that every one of {k} runs of a question, chosen at random, is correct.",
    "mean over questions of C(passing runs, {k}) / C(runs, {k})",
    family="pass^{k}",
)


# --- facts ---


def facts(outline: Outline, context: Context) -> Iterator[Counts]:
    """What is counted of a question."""
    if context.options.profile == "reference":
        yield Counts(outline.reference, part=reference.PART)
        yield Counts(("items", *outline.held), named=lacks_of(outline.held))
        return
    state = {"fail": "failing", "undefined": "undecided", "missing": "missing"}.get(outline.state)
    yield Counts(tuple(question_facts(outline)), outline.slices, named=[state] if state else ())
    yield Counts(outline.held, outline.slices, named=lacks_of(outline.held))
    yield Counts(_aside(outline), part=ASIDE)
    yield Counts(flip_facts(outline), part=SENSITIVITY)
    yield Counts(pooled_facts(outline), part=POOLED)
    for number, hole in enumerate(outline.holes.first):
        yield Counts((), (), ASIDE, _in_order(outline.place, number, hole), ("holes",))
    differs = [fact for fact in outline.reference if fact == "differs"]
    yield Counts(outline.reference, part=reference.PART, named=differs)


def question_facts(outline: Outline) -> Iterator[Fact]:
    """The facts of a question under the names that the metrics use."""
    yield "items"
    yield "answerable" if outline.answerable else "unanswerable"
    if not outline.runs:
        yield "missing"
        return
    yield "judged"
    yield {"fail": "failing", "undefined": "undecided", "pass": "passing"}[outline.state]
    yield from (f"failing_{name}" for name in outline.failed)
    if outline.flips:
        yield "flipped"
    yield from _runs(outline)
    for name, value in zip(JUDGED, outline.values, strict=True):
        if value is not None and (name != "refusal_rate" or not outline.answerable):
            yield name, value
    answered = outline.answered
    if len(answered) > 1:
        yield "compared"
        if len({run.claim for run in answered}) == 1:
            yield "identical_claims"
        if len({run.citations for run in answered}) == 1:
            yield "identical_citations"


def _runs(outline: Outline) -> Iterator[Fact]:
    for run, state in zip(outline.runs, outline.states, strict=True):
        yield "runs"
        yield f"runs_{run.status}"
        if run.status == "answered" and run.citations:
            yield "runs_citing"
        if run.unread:
            yield f"unread {run.unread}"
        yield f"lambda_{state}"
    yield from ("flips" for _ in outline.flips)
    for state in ("→", "<>"):
        yield group(f"lambda_{state}", (outline.states.count(state), len(outline.runs)))


def _aside(outline: Outline) -> Iterator[Fact]:
    """What sections, hints and remarks are made of."""
    yield from ("repeated" for _ in range(outline.repeated))
    yield from ("lambda_read" for run in outline.runs if run.logged is not None)
    yield from (f"undefined_{name}" for name in outline.undefined)
    yield from (f"cause_{cause}" for cause in causes(outline))
    if outline.referred:
        yield "referred"
    if too_long(run.claim for run in outline.answered):
        yield "distance_bounded"
    if outline.holes.total:
        yield "holes", outline.holes.total
    distinct, effective = outline.prompts
    if distinct is not None:
        yield "distinct_prompts", distinct
    if effective is not None:
        yield "effective_runs", effective
        yield "runs_told_apart", len(outline.runs)


_CAUSES = {
    "css": "evidence",
    "css_all": "evidence",
    "jaccard": "evidence",
    "iaa": "wording",
    "refusal_rate": "refusal",
    "scu_cons": "constraints",
}
GOOD = 0.95  # acr and cghc from here on are good enough to call a difference one of wording


def causes(outline: Outline) -> Iterator[str]:
    """What is behind each threshold that a question misses."""
    return (_cause(name, outline) for name in outline.failed)


def _cause(name: str, outline: Outline) -> str:
    if not outline.flips and outline.value("pass^1") == 0:
        return "steady"
    if name == "ned50":
        rates = [outline.value("acr"), outline.value("cghc")]
        steady = all(rate is None or rate >= GOOD for rate in rates)
        return "wording" if steady else _unsteady(outline)
    return _CAUSES.get(name) or _unsteady(outline)


def _unsteady(outline: Outline) -> str:
    """Where every run cites the same sources, retrieval is not what differs."""
    return "answer" if outline.value("css_all") == 1 else "retrieval"


def _in_order(place: int, number: int, hole: str) -> str:
    """A name that sorts by its place in the gold set and in the grid."""
    return f"{place:09d} {number:06d} {hole}"


def first_holes(tally: Tally) -> list[str]:
    """The first few holes, in the order of the gold set and of the grid."""
    return [name.split(" ", 2)[2] for name in tally.named("holes")]


# --- runs that differ from the majority, counted along each axis ---

SENSITIVITY = "sensitivity"  # the part of the evidence that is counted along the axes
AXES = ("jitter", "seed")


def flip_facts(outline: Outline) -> Iterator[str]:
    """`jitter runs punct`, `seed flips 3`: each run and each question once for its place on each axis."""
    for axis in AXES:
        runs = [str(value) for run in outline.runs if (value := getattr(run.cell, axis)) is not None]
        flipped = [str(value) for flip in outline.flips if (value := getattr(flip.cell, axis)) is not None]
        yield from (f"{axis} runs {value}" for value in runs)
        yield from (f"{axis} flips {value}" for value in flipped)
        yield from (f"{axis} questions {value}" for value in set(runs))
        yield from (f"{axis} questions_flipped {value}" for value in set(flipped))


# --- rates over all runs; the runs of one question are one cluster, never as many items ---

POOLED = "pooled"  # the part of the evidence that counts how many runs of a question have something


# Rate of runs → which questions it is about (None: all), and whether a run has it.
RATES: dict[str, tuple[bool | None, Callable[[RunFacts], bool]]] = {
    "acr": (True, lambda run: run.contained),
    "cghc": (True, lambda run: bool(run.cited)),
    "pass": (None, lambda run: run.passed),
    "refusal_rate": (False, lambda run: run.status == "refused"),
}


def pooled_facts(outline: Outline) -> Iterator[str]:
    """`acr 7/9`: 7 of the 9 runs of a question."""
    for name, (answerable, has) in RATES.items():
        if outline.runs and answerable in (None, outline.answerable):
            yield f"{name} {sum(map(has, outline.runs))}/{len(outline.runs)}"


VALUES = (CLAIM, CITES)


def fact_names(options: Options) -> set[str]:
    """Every fact that is counted of a question; what sections are made of is counted aside."""
    names = {"answerable", "unanswerable", "missing", "judged", "failing", "undecided", "passing", "flipped", "flips"}
    names |= {"runs", "runs_*", "unread *", "lambda_*", "compared", "identical_claims", "identical_citations"}
    names |= {*_MEANS, *BARS, *(f"pass^{k}" for k in KS), *(f"failing_{name}" for name in BARS)}
    return names | {HAS + value for value in (*VALUES, RETRIEVED)}


# --- metrics ---


class RunShare(Metric, frozen=True, kw_only=True):
    """Runs with a fact, of all runs; how sure that is depends on the questions, for their runs are one cluster each."""

    of: str

    def measure(self, tally: Tally) -> Measure:
        k, n = tally[self.of], tally["runs"]
        if not n:
            return Measure(self.name, "mean", None, 0, missing="there are no runs")
        groups = {(part, whole): count for (part, whole), count in tally.groups(self.of).items()}
        interval, bounds = stats.pooled_spread(groups) or (None, (None, None))
        return Measure(self.name, "mean", Fraction(k, n), tally["judged"], interval=interval, bounds=bounds)


def metrics(options: Options) -> dict[str, Metric]:
    """Every metric of the whole by name, in the order of the report."""
    listed = [*_failing(), *_means(), *_agreeing(), *_lambda()]
    needs = VALUES if options.cites else (CLAIM,)
    listed = [msgspec.structs.replace(metric, needs=needs, optional=True) for metric in listed]
    absent = [*(f"mean_{name}" for name in CITING), *(f"{name}_failing" for name in CITING), "identical_citations"]
    listed = without(listed, {} if options.cites else dict.fromkeys(absent, NOT_CITING))
    return {metric.name: metric for metric in listed}


def _failing() -> Iterator[Metric]:
    yield Count(
        "failing",
        Words(
            "unstable questions",
            "Questions that miss at least one threshold over all their runs.",
            "count of such questions",
            "questions",
            "missed a threshold",
            "failing <= 0",
        ),
        "lower",
        of=("failing",),
    )
    yield Rate(
        "fail_rate",
        Words(
            "share of unstable questions",
            "Of the questions with runs, the share that misses at least one threshold.",
            "questions that miss a threshold / questions with runs",
            "questions",
            "missed a threshold",
            "with --max-fail-rate",
        ),
        "lower",
        of="failing",
        among="judged",
    )
    for name, words in REASONS.items():
        yield Count(f"{name}_failing", words, "lower", of=(f"failing_{name}",))


def question_words() -> dict[str, Words]:
    """The words of what is measured of single questions."""
    return {**BARS, "rcr": RCR}


def _means() -> Iterator[Metric]:
    words = question_words()
    for name in _MEANS:
        yield Mean(
            f"mean_{name}",
            _MEAN.fill(NAME=words[name].plain),
            _better(name),
            of=name,
        )
    for k in KS:
        yield Mean(f"pass^{k}", _PASS.fill(k=k), of=f"pass^{k}")


def _agreeing() -> Iterator[Metric]:
    yield Rate(
        "identical_answers",
        Words(
            "questions with identical answers",
            "Of the questions with several answers, the share whose answers all have the same wording.",
            "questions with one wording / questions with at least two answers",
            "questions with several answers",
            "were always answered in the same words",
        ),
        of="identical_claims",
        among="compared",
    )
    yield Rate(
        "identical_citations",
        Words(
            "questions with identical citations",
            "Of the questions with several answers, the share whose answers all cite the same sources.",
            "questions with one set of citations / questions with at least two answers",
            "questions with several answers",
            "were always answered with the same citations",
        ),
        of="identical_citations",
        among="compared",
    )
    yield Rate(
        "flipped",
        Words(
            "questions that flip",
            "Of the questions with runs, the share where some run differs from the majority of runs.",
            "questions with a differing run / questions with runs",
            "questions",
            "flipped between runs",
        ),
        "lower",
        of="flipped",
        among="judged",
    )


def _lambda() -> Iterator[Metric]:
    yield RunShare(
        "lambda_convergent",
        Words(
            "convergence (λ)",
            "The share of runs that reach the expected evidence.",
            "runs in state → / runs",
            gate="lambda_convergent >= 0.80, where the gold set has paraphrases",
        ),
        of="lambda_→",
    )
    yield Count(
        "lambda_collapse",
        Words(
            "collapsed runs (λ)",
            "Runs of questions for which no run reaches the expected evidence.",
            "count of such runs",
            gate="lambda_collapse <= 0, where the gold set has paraphrases",
        ),
        "lower",
        of=("lambda_×",),
    )
    yield RunShare(
        "lambda_split",
        Words(
            "split runs (λ)",
            "The share of runs that miss evidence which another run of the same question reaches.",
            "runs in state <> / runs",
            gate="lambda_split <= 0.10, where the gold set has paraphrases",
        ),
        "lower",
        of="lambda_<>",
    )


def bar_metrics() -> dict[str, Metric]:
    """The metrics of single questions, under their own names, so that gates can name them."""
    return {name: Mean(name, words, _better(name), of=name) for name, words in BARS.items()}


def _better(name: str) -> Better:
    return "lower" if name in LOWER else "higher"


# --- gates ---


def split_gates(options: Options) -> tuple[list[Gate], list[Gate]]:
    """Bars that each question must clear, and gates on the whole that somebody named."""
    named = parse_gates(options.gates, bar_metrics() | metrics(options), ALIASES)
    bars = {} if options.only_gates else default_bars()
    bars |= {gate.metric: gate for gate in named if gate.metric in BARS}
    if not bars and not named:
        raise UsageError("no gates are left", hint="Name at least one with --gates.", code="gate-none")
    relative = next((bar for bar in bars.values() if bar.bound.sign or bar.slice), None)
    if relative:
        raise UsageError(
            f"{relative} can't be a threshold for single questions",
            code="gate-bound",
            hint=f"Give a number, or gate mean_{relative.metric}.",
        )
    return list(bars.values()), [gate for gate in named if gate.metric not in BARS]


def wanted(options: Options) -> list[Gate]:
    """The gates on the whole that the options name; a bar that is named asks for the count of those that miss it."""
    bars, named = split_gates(options)
    return [*_on_bars(bars, options), *named] if options.only_gates else named


def gates(context: Context) -> list[Gate]:
    """How many questions may fail, and λ where there are paraphrases."""
    # What runs cite says which way they point.
    states = [Gate.parse(text) for text in LAMBDA_GATES if context.paraphrased and context.options.cites]
    if context.options.accuracy == "refer":  # evidence that no run reaches is not unstable
        states = [
            gate if gate.metric == "lambda_split" else msgspec.structs.replace(gate, severity="info") for gate in states
        ]
    return _on_bars(context.bars, context.options) + states


def referred_bars(options: Options) -> frozenset[str]:
    """The default bars on accuracy, where another suite decides about it; one that was named by hand stays."""
    if options.accuracy == "gate":
        return frozenset()
    named = {gate.metric for gate in parse_gates(options.gates, bar_metrics() | metrics(options), ALIASES)}
    return frozenset(ACCURACY) - named


def _on_bars(bars: Sequence[Gate], options: Options) -> list[Gate]:
    """A line for each bar goes along for information; which questions miss it is what a reader asks first.

    Without any bar no question can fail, and there is nothing to count.
    """
    if not bars:
        return []
    share = options.most_failing
    allowed = gate_of("fail_rate", "<=", share) if share else Gate.parse("failing <= 0")
    return [allowed, *(Gate.parse(f"{bar.metric}_failing <= 0", severity="info") for bar in bars)]
