"""Gates: a threshold that a metric must meet, compared without rounding; the written form is the object."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Literal, cast

import msgspec

from .. import stats
from ..errors import UsageError
from ..text import visible
from .metrics import Measure, Metric, Words, decimal

State = Literal["PASS", "PASS-BUT-UNPROVEN", "FAIL-BUT-CLOSE", "FAIL", "NO-DATA", "NOT-APPLICABLE"]
Severity = Literal["block", "warn", "info"]

# Patterns are compiled at first use (by `re`, which keeps them): a small run needs few of them. No two parts of one
# match the same blanks, so that none takes more than one pass over a long text; digits are ASCII and not too many.
_GATE = r"(?P<metric>[\w@^.]+)\s*(?:\[(?P<slice>[^\]]+)\]\s*)?(?P<op>>=|<=|==?|≥|≤)\s*(?P<bound>\S.*)"
_NUMBER = r"[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}"
_RELATIVE = rf"baseline(?:\s*(?P<sign>[-+*])\s*(?P<number>{_NUMBER}))?"
_LISTED = r"[^\s,=<>≥≤\[]+\s*(?:\[[^\]]+\]\s*)?(?:>=|<=|==?|≥|≤)\s*(?:baseline(?:\s*[-+*]\s*[^\s,]+)?|[^\s,]+)"
_SHOWN = 80  # characters of a text that is no gate


class Bound(msgspec.Struct, frozen=True):
    """A number as it was written, or a number relative to the baseline."""

    text: str
    number: Fraction
    sign: str = ""  # "" absolute; "=", "+", "-", "*" relative to the baseline

    @classmethod
    def parse(cls, text: str) -> Bound:
        text = " ".join(text.split())
        if text.startswith("baseline") and (relative := re.fullmatch(_RELATIVE, text)):
            return cls(text, Fraction(relative["number"] or 0), relative["sign"] or "=")
        if not re.fullmatch(_NUMBER, text):
            raise UsageError(
                f"{visible(text, _SHOWN)!r} is not a bound",
                hint="Write a number such as 0.80, or baseline - 0.02.",
                code="gate-bound",
            )
        return cls(text, Fraction(text))

    def against(self, baseline: Fraction | None) -> Fraction | None:
        """The number to compare with; None when it is relative and there is no baseline."""
        if not self.sign:
            return self.number
        if baseline is None:
            return None
        return {"=": baseline, "+": baseline + self.number, "-": baseline - self.number, "*": baseline * self.number}[
            self.sign
        ]


class Gate(msgspec.Struct, frozen=True):
    """`precision >= 0.80`, `precision[type=table] >= 0.75`, `recall@5 >= baseline - 0.02`."""

    metric: str
    op: str
    bound: Bound
    slice: str = ""
    severity: Severity = "block"
    on_unproven: Literal["pass", "fail"] = "pass"

    @classmethod
    def parse(cls, text: str, **policy: str) -> Gate:
        found = re.fullmatch(_GATE, text.strip())
        if not found:
            raise UsageError(
                f"{visible(text, _SHOWN)!r} is not a gate",
                hint="Write name>=value or name=value, such as precision>=0.80.",
                code="gate-syntax",
            )
        op = {"≥": ">=", "≤": "<=", "==": "="}.get(found["op"], found["op"])
        bound = Bound.parse(found["bound"])
        return cls(found["metric"], op, bound, (found["slice"] or "").strip(), **policy)  # type: ignore[arg-type]

    def __str__(self) -> str:
        where = f"[{self.slice}]" if self.slice else ""
        return f"{self.metric}{where} {self.op} {self.bound.text}"

    @property
    def key(self) -> str:
        """What it is about, without its bound: a later gate with the same key replaces an earlier one."""
        return f"{self.metric}[{self.slice}]" if self.slice else self.metric


class Outcome(msgspec.Struct, frozen=True):
    """A gate compared with its measure, and how sure that is."""

    gate: Gate
    measure: Measure
    state: State
    bound: Fraction | None
    turn: int | None = None  # how many cases would have to change for a miss to pass
    waived: str = ""
    capped: str = ""  # why it can only warn, whatever severity it is given

    @property
    def _tested(self) -> bool:
        """Whether it was decided by a binomial test, which does not hold where cases are not independent."""
        known = self.state not in ("NO-DATA", "NOT-APPLICABLE") and self.measure.k is not None
        return known and self.measure.kind == "rate" and _edge(self.gate.op, self.measure, self.met) is None

    @property
    def p_prove(self) -> float | None:
        """How likely so good a result is where the true rate is only just on the bar."""
        return float(stats.prove_p(*_test(self.gate, self.measure, self.bound))) if self._tested else None

    @property
    def more(self) -> tuple[int | None, int | None]:
        """How many further cases would prove it: if all of them pass, and at the present rate."""
        if not self._tested or self.state != "PASS-BUT-UNPROVEN":
            return None, None
        return stats.more_items(*_test(self.gate, self.measure, self.bound))

    @property
    def more_best(self) -> int | None:
        return self.more[0]

    @property
    def more_at_rate(self) -> int | None:
        return self.more[1]

    @property
    def met(self) -> bool:
        return self.state in ("PASS", "PASS-BUT-UNPROVEN", "NOT-APPLICABLE")

    @property
    def holds(self) -> bool:
        """Met, and proven where the gate asks for proof."""
        return self.met and not (self.state == "PASS-BUT-UNPROVEN" and self.gate.on_unproven == "fail")


def parse_gates(texts: Iterable[str | Gate], metrics: Mapping[str, Metric], aliases: Mapping[str, str]) -> list[Gate]:
    """`name=value` gates separated by commas, spaces or both, checked against the metrics that there are."""
    gates = []
    for text in texts:
        if isinstance(text, Gate):
            gates.append(check_gate(text, metrics, aliases))
            continue
        rest = text.strip(" ,\t\n")
        while rest:
            found = re.match(_LISTED, rest)
            gates.append(check_gate(Gate.parse(found[0] if found else rest), metrics, aliases))
            rest = rest[found.end() :].lstrip(" ,\t\n") if found else ""
    return gates


def check_repeated(gates: Iterable[Gate], key: Callable[[Gate], str]) -> None:
    """Refuse gates that were named twice: the later one would hide the earlier, which may be the stricter."""
    named: dict[str, Gate] = {}
    for gate in gates:
        first = named.setdefault(key(gate), gate)
        if first is not gate:
            raise UsageError(
                f"{key(gate)} has two gates: {first} and {gate}", hint="Keep one of the two.", code="gate-repeated"
            )


def _other_depth(metric: str, known: Iterable[str]) -> str:
    """What to write where a metric is measured, but at other depths: `recall@3` beside recall@5."""
    asked = re.fullmatch(r"(.+@|P_)([1-9][0-9]{0,3})", metric)
    if asked is None:
        return ""
    depths = {int(one[len(asked[1]) :]) for one in known if re.fullmatch(re.escape(asked[1]) + "[0-9]+", one)}
    listed = sorted(depths | {int(asked[2])})
    flag, key = ",".join(map(str, listed)), ", ".join(map(str, listed))
    return f"Measure it at that depth too: --k {flag} (in the config: k = [{key}])." if depths else ""


def check_gate(gate: Gate, metrics: Mapping[str, Metric], aliases: Mapping[str, str]) -> Gate:
    """The gate under its metric's own name and direction, or an error that says what would be right."""
    name = aliases.get(gate.metric, gate.metric)
    if name not in metrics:
        from difflib import get_close_matches

        near = get_close_matches(gate.metric[:_SHOWN], [*metrics, *aliases], 1, 0.5)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(metrics))}."
        hint = _other_depth(gate.metric, {*metrics, *aliases}) or hint
        what = f"there is no metric {visible(gate.metric, _SHOWN)!r} to gate on"
        raise UsageError(what, hint=hint, code="gate-unknown")
    metric = metrics[name]
    if gate.op not in ("=", metric.op):
        raise UsageError(
            f"{gate} points the wrong way: a {metric.better} {name} is better",
            hint=f"Write {name} {metric.op} {gate.bound.text}.",
            code="gate-direction",
        )
    if not gate.bound.sign and not _in_range(gate.bound.number, metric):
        span = f"at least {metric.low}" if metric.high is None else f"between {metric.low} and {metric.high}"
        raise UsageError(
            f"{gate} is out of range: {name} is {span}", hint="A rate is a fraction: 0.80 for 80 %.", code="gate-range"
        )
    return msgspec.structs.replace(gate, metric=name, op=metric.op)


def _in_range(number: Fraction, metric: Metric) -> bool:
    return (metric.low is None or number >= metric.low) and (metric.high is None or number <= metric.high)


def compare(gate: Gate, metric: Metric, measure: Measure, applies: bool, baseline: Fraction | None = None) -> Outcome:
    """Hold a measure against its gate."""
    bound = gate.bound.against(baseline)
    if not applies and measure.value is None:
        return Outcome(gate, measure, "NOT-APPLICABLE", bound)
    if measure.value is None or bound is None:
        return Outcome(gate, measure, "NO-DATA", bound)
    met = measure.value >= bound if gate.op == ">=" else measure.value <= bound
    if metric.completes and not met:
        return Outcome(gate, measure, "NO-DATA", bound)
    turn = None
    if measure.kind == "rate" and measure.k is not None:
        turn = None if met else _turn(measure.k, measure.n, bound, gate.op)
        if _edge(gate.op, measure, met) is None:
            return Outcome(gate, measure, stats.verdict_state(*_test(gate, measure, bound)), bound, turn)
    return Outcome(gate, measure, _state(gate.op, measure, bound, met), bound, turn)


def _test(gate: Gate, measure: Measure, bound: Fraction | None) -> tuple[int, int, Fraction, stats.Direction]:
    """What a binomial test takes: k of n against a bound between 0 and 1."""
    assert measure.k is not None and bound is not None
    return measure.k, measure.n, min(max(bound, Fraction(0)), Fraction(1)), cast(stats.Direction, gate.op)


def _turn(k: int, n: int, bound: Fraction, op: str) -> int:
    """How many of the n cases would have to change sides for the bar to be met."""
    needed = -(-bound.numerator * n // bound.denominator) if op == ">=" else bound.numerator * n // bound.denominator
    return needed - k if op == ">=" else k - needed


def _state(op: str, measure: Measure, bound: Fraction, met: bool) -> State:
    """Proof from one-sided bounds, for means, percentiles and coefficients; a count is what it is."""
    if measure.kind == "count":
        return "PASS" if met else "FAIL"
    edge = _edge(op, measure, met)
    if met:
        proven = edge is not None and (edge >= bound if op == ">=" else edge <= bound)
        return "PASS" if proven else "PASS-BUT-UNPROVEN"
    refuted = edge is not None and (edge < bound if op == ">=" else edge > bound)
    return "FAIL" if refuted else "FAIL-BUT-CLOSE"


def _edge(op: str, measure: Measure, met: bool) -> float | None:
    """The one-sided bound that would have to lie beyond the gate's, too, for its outcome to be proven."""
    low, high = measure.bounds
    return low if (op == ">=") == met else high


def sentence(outcome: Outcome) -> str:
    """The outcome in words and counts, then the metric.

    `16 of 87 unanswerable questions were answered; at most 4 may be (under_refusal 0.184 > 0.05)`
    """
    gate, measure, bound = outcome.gate, outcome.measure, outcome.bound
    name = measure.words.title(gate.key)
    if outcome.state == "NOT-APPLICABLE":
        return f"{name} is n/a: {measure.missing or 'no gold question is of that kind'}"
    if measure.value is None:
        return f"{name} has no value: {measure.missing or 'there is nothing to count'}"
    if bound is None:
        return f"{name} has no baseline to compare with: {gate}"
    return f"{_in_words(outcome, bound, measure.words)} ({_in_figures(outcome, bound)})"


def _in_words(outcome: Outcome, bound: Fraction, words: Words) -> str:
    """What was found, and how much is allowed."""
    gate, measure = outcome.gate, outcome.measure
    of_slice = f" with {gate.slice}" if gate.slice else ""
    if measure.kind in ("rate", "count") and measure.k is not None and words.did:
        did = words.did.replace("were ", "was ", 1) if measure.k == 1 else words.did
        share = bound if measure.kind == "rate" else bound / max(measure.n, 1)
        return f"{measure.k} of {measure.n} {words.cases}{of_slice} {did}; {_allowed(gate.op, measure.n, share, words)}"
    plain = (words.plain or gate.metric) + of_slice
    least = "at least" if gate.op == ">=" else "at most"
    needed = "needed" if gate.op == ">=" else "allowed"
    if measure.kind == "count":
        return f"{plain}: {measure.value}; {f'{least} {written(bound)}' if bound else 'none'} {needed}"
    counted = measure.kind == "rate" and measure.k is not None
    value = f"{measure.k} of {measure.n}" if counted else decimal(measure.value or Fraction(0), against=bound)
    return f"{plain} is {value}{measure.unit}; {least} {_rounded(bound)}{measure.unit} is {needed}"


def _allowed(op: str, n: int, bound: Fraction, words: Words) -> str:
    """`at most 4 may be`, `at least 96 must be`, in whole cases."""
    verb = " be" if words.did.startswith("were ") else ""
    if op == ">=":
        return f"at least {min(-(-bound.numerator * n // bound.denominator), n)} must{verb}"
    most = max(bound.numerator * n // bound.denominator, 0)
    return f"at most {most} may{verb}" if most else f"none may{verb}"


def _in_figures(outcome: Outcome, bound: Fraction) -> str:
    """`under_refusal 0.184 > 0.05`."""
    gate, measure = outcome.gate, outcome.measure
    assert measure.value is not None
    value = str(measure.value) if measure.kind == "count" else decimal(measure.value, against=bound)
    met = measure.value >= bound if gate.op == ">=" else measure.value <= bound
    sign = gate.op if met else {">=": "<", "<=": ">"}[gate.op]
    limit = f"{gate.bound.text} = {_rounded(bound)}" if gate.bound.sign else gate.bound.text
    return f"{gate.key} {value} {sign} {limit}"


def _rounded(bound: Fraction) -> str:
    """A bound as it was written, or cut to three places where it was worked out."""
    text = written(bound)
    return text if len(text) < 8 else decimal(bound)


def certainty(outcome: Outcome) -> str:
    """How sure the outcome is, in words."""
    measure = outcome.measure
    if measure.kind == "count":
        return ""
    if outcome.state == "FAIL-BUT-CLOSE" and measure.kind != "rate" and measure.bounds == (None, None):
        return "no interval for this metric"
    by = f" with n = {measure.n}" if measure.kind == "mean" else ""
    if outcome.state == "PASS-BUT-UNPROVEN":
        return f"not statistically certain{by}{_proof(outcome)}"
    return {
        "PASS": f"statistically certain{by}",
        "FAIL": f"statistically certain{by}",
        "NO-DATA": "no data",
        "NOT-APPLICABLE": "n/a",
        "FAIL-BUT-CLOSE": "within noise",
    }[outcome.state]


def _proof(outcome: Outcome) -> str:
    """How many more cases would prove it, at best and at the present rate."""
    best, rate = outcome.more
    if best is None:
        return ""
    more = "1 more passing question" if best == 1 else f"{best} more passing questions"
    at_rate = f", or about {rate} at this rate," if rate and rate != best else ""
    return f": {more}{at_rate} would prove it"


def state_in_words(outcome: Outcome) -> str:
    """The state as people read it: `FAIL (within noise)`, `NO DATA`, `n/a`."""
    if outcome.state in ("PASS-BUT-UNPROVEN", "FAIL-BUT-CLOSE"):
        return f"{outcome.state.partition('-')[0]} ({certainty(outcome)})"
    return {"NO-DATA": "NO DATA", "NOT-APPLICABLE": "n/a"}.get(outcome.state, outcome.state)


def short_state(state: str) -> str:
    """A state that a report has, in words, where there is no room for why."""
    short = {"PASS-BUT-UNPROVEN": "PASS (not certain)", "FAIL-BUT-CLOSE": "FAIL (within noise)"}
    return (short | {"NO-DATA": "NO DATA", "NOT-APPLICABLE": "n/a"}).get(state, state)


# --- gates from numbers rather than from their written form, and numbers as people write them ---

Number = Fraction | float | str
_WRITTEN = r"[0-9]{1,12}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}|[0-9]{1,12}/0{0,12}[1-9][0-9]{0,11}"


def gate_of(metric: str, op: str, number: Fraction) -> Gate:
    """`gate_of("pass_rate", ">=", Fraction(7, 10))` is the gate `pass_rate >= 0.70`."""
    return Gate(metric, op, Bound(written(number), number))


def written(number: Fraction) -> str:
    """A number in two decimals or as many as it has; a fraction where it has no end."""
    if number.denominator == 1:
        return str(number.numerator)
    for digits in range(2, 19):
        scaled = number * 10**digits
        if scaled.denominator == 1:
            figures = str(scaled.numerator).rjust(digits + 1, "0")
            return f"{figures[:-digits]}.{figures[-digits:]}"
    return str(number)


def exact(name: str, value: Number, most: int | None = 1) -> Fraction:
    """A threshold's number exactly as it was written, checked for its range."""
    number = as_written(value)
    if number is None or number < 0 or (most is not None and number > most):
        span = f"between 0 and {most}" if most is not None else "of 0 or more"
        raise UsageError(
            f"{name} can't be {str(value)[:40]!r}", hint=f"Write a number {span}, such as 0.65.", code="bar"
        )
    return number


def as_written(value: object) -> Fraction | None:
    """A number exactly as it was written; None for other values, and for exponents, which could take for ever."""
    if isinstance(value, Fraction) or (isinstance(value, int) and not isinstance(value, bool)):
        return Fraction(value)
    if isinstance(value, float):
        return Fraction(str(value)) if math.isfinite(value) else None
    text = value.strip() if isinstance(value, str) else ""
    return Fraction(text) if re.fullmatch(_WRITTEN, text) else None
