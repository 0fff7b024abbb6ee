"""Words: gates and metrics as people say them, the finding first, then the metric and its numbers."""

from __future__ import annotations

from fractions import Fraction

from ..core.decision import Decision
from ..core.gates import Outcome, sentence
from ..core.metrics import Measure, decimal
from ..text import plural, visible
from . import views

# What the abbreviations of the metrics stand for. A name that is not here is plain already.
_NAMES = {
    "chr": "citation hit rate",
    "scu": "constraint integrity",
    "scu_violations": "constraint violations",
    "scu_cons": "constraint integrity",
    "acr": "answer consistency",
    "cghc": "citation hit consistency",
    "css": "citation-set stability",
    "css_all": "citation-set stability over all runs",
    "ned50": "median edit distance",
    "rcr": "refusal consistency",
    "iaa": "identical answers",
    "jaccard": "citation overlap",
    "ac1": "Gwet's AC1",
    "kappa": "Cohen's kappa",
    "mrr": "mean reciprocal rank",
    "map": "mean average precision",
    "ndcg": "normalised discounted gain",
    "delta_s_median": "median semantic distance (ΔS)",
    "delta_s_p90": "90th percentile of semantic distance (ΔS)",
    "lambda_convergent": "convergence (λ)",
    "lambda_collapse": "collapse (λ)",
    "lambda_split": "split (λ)",
    "p50": "median latency",
    "p95": "95th percentile of latency",
    "p99": "99th percentile of latency",
}
# What a failing case of a rate is: the cases, what is wrong with them, and how many of them may be so.
_FAULTS = {
    "precision": ("answers", "were wrong or wrongly cited", "may be"),
    "chr": ("answers", "did not cite the expected evidence", "may miss it"),
    "under_refusal": ("unanswerable questions", "were answered", "may be"),
    "over_refusal": ("answerable questions", "were refused", "may be"),
    "recall": ("answerable questions", "lacked some expected evidence among the first results", "may"),
    "recall_any": ("answerable questions", "had no expected evidence among the first results", "may"),
    "scu": ("answers with locked constraints", "dropped or contradicted one", "may"),
    "cite_support": ("answers", "said more than their cited text", "may"),
    "fail_rate": ("questions", "missed a stability threshold", "may"),
    "flipped": ("questions", "had a run that differed from the majority", "may"),
    "identical_answers": ("questions", "got answers in different words", "may"),
    "identical_citations": ("questions", "got answers with different citations", "may"),
    "failed_runs": ("runs", "failed", "may"),
    "percent_agreement": ("pairs", "got different labels", "may"),
    "review_rate": ("pairs", "need a person's decision", "may"),
    "coverage": ("questions", "got an answer that cites nothing relevant", "may"),
    "citation_accuracy": ("answers", "cite another place than the expected one", "may"),
    "answer_rate": ("questions", "got an answer without a citation", "may"),
    "lambda_convergent": ("groups of rewordings", "did not converge on the same evidence", "may"),
    "pass_rate": ("cases", "failed", "may"),
    "error_rate": ("cases", "ended in an error", "may"),
    "empty_rate": ("cases", "got a blank answer", "may"),
    "hard_failure_rate": ("cases", "have a hard failure", "may"),
    "accept_rate": ("answers", "were not accepted as they are", "may be"),
    "edited_rate": ("answers", "were edited", "may be"),
}
_STATES = {"FAIL-BUT-CLOSE": "FAIL (within noise)", "NO-DATA": "NO DATA", "NOT-APPLICABLE": "n/a"}


def definition(measure: Measure) -> str:
    """What a metric counts, in one line: the only place that reports take it from."""
    return visible(measure.says[:1].upper() + measure.says[1:], 300)


def described(measure: Measure) -> str:
    """The definition behind the plain name, where the metric's own name is an abbreviation."""
    words, text = plain_name(measure.name).removesuffix(f" ({measure.name})"), definition(measure)
    if words == measure.name or not text or text.casefold().startswith(words.casefold()):
        return text or ("" if words == measure.name else words)
    return f"{words[:1].upper()}{words[1:]}: {text[:1].lower()}{text[1:]}"


def plain_name(metric: str) -> str:
    """`citation hit rate (chr)`; a name that says what it is stays alone."""
    base, depth = _parts(metric)
    mean = base.removeprefix("mean_")
    words = _NAMES.get(base) or (f"mean {_NAMES[mean]}" if mean != base and mean in _NAMES else "")
    if not words:
        return metric
    return f"{words}{f' at {depth}' if depth else ''} ({metric})"


def _parts(metric: str) -> tuple[str, str]:
    base, _, depth = metric.partition("@")
    return base, depth


def state(outcome: Outcome) -> str:
    """The state as people read it: PASS, FAIL (within noise), NO DATA, n/a."""
    if outcome.state == "PASS-BUT-UNPROVEN":
        return f"PASS ({uncertain(outcome)})"
    if outcome.state == "FAIL-BUT-CLOSE" and _without_interval(outcome):
        return "FAIL"
    return _STATES.get(outcome.state, outcome.state)


def _without_interval(outcome: Outcome) -> bool:
    return outcome.measure.kind != "rate" and outcome.measure.bounds == (None, None)


def uncertain(outcome: Outcome) -> str:
    """Why a gate that passes is not certain, and what would make it so."""
    more = outcome.more_best
    if not more:
        return "not statistically certain"
    return f"not statistically certain: {plural(more, 'more passing question')} would prove it"


def finding(outcome: Outcome) -> str:
    """A gate that does not hold, as a sentence: what was found, what is allowed, the numbers, what to fix."""
    measure, bound = outcome.measure, outcome.bound
    if outcome.state == "NOT-APPLICABLE":
        return f"{plain_name(outcome.gate.key)} is n/a: {measure.missing or 'the gold set has no such question'}."
    if measure.value is None:
        return f"No data for {plain_name(outcome.gate.key)}: {measure.missing or 'nothing was counted'}."
    if bound is None:
        return f"{outcome.gate} has no baseline to compare with."
    if outcome.met:
        return f"{plain_name(outcome.gate.key)} passes with {number(outcome)}, but is {uncertain(outcome)}."
    return _where(outcome) + _told(outcome, bound)


def _where(outcome: Outcome) -> str:
    return f"In {outcome.gate.slice}: " if outcome.gate.slice else ""


def _told(outcome: Outcome, bound: Fraction) -> str:
    measure = outcome.measure
    if measure.kind == "rate" and measure.k is not None:
        return _rate(outcome, bound)
    if measure.kind == "count" and measure.value is not None:
        what = measure.says.partition(":")[0] or measure.name.replace("_", " ")
        limit = f"at most {views.bound_text(outcome)} allowed" if bound else "none allowed"
        least = measure.value - bound
        fix = f" {_fix(int(least), int(measure.value))}." if least.denominator == 1 and bound >= 0 else ""
        return f"{measure.value} {what}; {limit} ({compared(outcome)}).{fix}"
    side = "at least" if outcome.gate.op == ">=" else "at most"
    name = plain_name(outcome.gate.metric)
    return f"{name[:1].upper()}{name[1:]} is {number(outcome)}; it must be {side} {views.bound_text(outcome)}."


def _rate(outcome: Outcome, bound: Fraction) -> str:
    measure = outcome.measure
    assert measure.k is not None
    higher = outcome.gate.op == ">="
    faulty = measure.n - measure.k if higher else measure.k
    allowed = max(faulty - (outcome.turn or 0), 0)
    fix = f" {_fix(outcome.turn, faulty)}." if outcome.turn else ""
    cases, fault, may = _FAULTS.get(_parts(outcome.gate.metric)[0], ("cases", "", "may"))
    if not fault:
        what = f": {measure.says}" if measure.says else ""
        side = "at least" if higher else "at most"
        name = plain_name(outcome.gate.metric)
        head = f"{name[:1].upper()}{name[1:]} is {number(outcome)} ({measure.k} of {measure.n}{what})"
        return f"{head}; it must be {side} {views.bound_text(outcome)}.{fix}"
    head = f"{faulty} of {measure.n} {cases} {fault}"
    limit = f"at most {allowed} {may}" if allowed else f"none {may}"
    return f"{head}; {limit} ({compared(outcome)}).{fix}"


def _fix(least: int, faulty: int) -> str:
    """`Fix 12 of these 16`."""
    if least < faulty:
        return f"Fix {least} of these {faulty}"
    return "Fix it" if faulty == 1 else f"Fix all {faulty}"


def compared(outcome: Outcome) -> str:
    """`under_refusal 0.184 > 0.05`, abbreviations with their name."""
    sign = {(">=", False): "<", ("<=", False): ">"}.get((outcome.gate.op, outcome.met), outcome.gate.op)
    metric = outcome.gate.metric
    words = plain_name(metric).removesuffix(f" ({metric})")
    name = metric if words == metric else f"{words}, {metric}"
    return f"{name} {number(outcome)} {sign} {views.bound_text(outcome)}"


def number(outcome: Outcome) -> str:
    value = outcome.measure.value
    if value is None:
        return "–"
    if outcome.measure.kind == "count":
        return str(value)
    return decimal(value, against=outcome.bound) + outcome.measure.unit


def findings(decision: Decision) -> list[str]:
    """Every gate that stops the release, the worst first, then whatever else does: lost data, regressions, waivers."""
    stopping = [outcome for outcome in views.worst_first(decision.outcomes) if views.stops(outcome)]
    return [*(finding(outcome) for outcome in stopping), *other_reasons(decision)]


def other_reasons(decision: Decision) -> list[str]:
    """The reasons that are no gate's."""
    gates = tuple(sentence(outcome) for outcome in decision.outcomes)
    return [visible(reason, 2000) for reason in decision.reasons if not reason.startswith(gates)]


def near(decision: Decision, outcome: Outcome) -> list[str]:
    """The failing items that lack least."""
    turns = {turn["gate"]: turn["nearest"] for turn in decision.sections.get("turns", ())}
    return [str(name) for name in turns.get(str(outcome.gate), ())]
