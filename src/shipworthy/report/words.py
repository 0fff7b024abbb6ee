"""Words: what reports say of gates and metrics. The sentences are the decision's, the definitions the glossary's."""

from __future__ import annotations

from ..core.decision import Decision
from ..core.gates import Outcome, certainty, sentence, state_in_words
from ..core.metrics import Measure
from ..text import visible
from . import views


def definition(measure: Measure) -> str:
    """What a metric counts, in one line."""
    return _sentence_case(visible(measure.words.definition, 300))


def plain_name(measure: Measure) -> str:
    """`cited right (chr)`; a name that says what it is stays alone."""
    return measure.words.title(measure.name)


def other_name(measure: Measure) -> str:
    """The plain name where it says more than the metric's own; blank for `under-refusal` of `under_refusal`."""
    plain = measure.words.plain or measure.name
    return "" if plain.replace("-", " ") == measure.name.replace("_", " ") else plain


def gate_text(outcome: Outcome) -> str:
    """`cited right (chr) >= 0.75`: the gate behind its plain name."""
    gate, measure = outcome.gate, outcome.measure
    named = other_name(measure)
    return visible(f"{measure.words.title(gate.key)} {gate.op} {gate.bound.text}" if named else str(gate))


def reason(name: object, decision: Decision) -> str:
    """`wrong answer (containment)`: why an item fails; a reason that has no other words stays as it is."""
    known = decision.display.reasons.get(str(name))
    return known.title(str(name)) if known else visible(str(name), 60)


def described(measure: Measure) -> str:
    """The definition behind the plain name, where the metric's own name is another."""
    plain, text = other_name(measure), definition(measure)
    return _sentence_case(f"{plain}: {text[:1].lower()}{text[1:]}") if plain and text else text


def state(outcome: Outcome) -> str:
    return visible(state_in_words(outcome), 300)


def finding(outcome: Outcome) -> str:
    """A gate that does not hold, as a sentence: what was found, what is allowed, the numbers, what to fix."""
    told = _sentence_case(_with_name(visible(sentence(outcome), 2000), outcome))
    if outcome.met:
        return f"{told}, but it is {certainty(outcome)}."
    fix = _sentence_case(views.to_fix(outcome)) if outcome.turn else _fix_count(outcome)
    return f"{told}. {fix}." if fix else f"{told}."


def _fix_count(outcome: Outcome) -> str:
    """`Fix all 12`: of a count, whatever is beyond its bound."""
    value, bound = outcome.measure.value, outcome.bound
    if outcome.measure.kind != "count" or outcome.gate.op != "<=" or value is None or bound is None or value < 1:
        return ""
    if outcome.state == "NO-DATA":
        return ""
    return f"Fix {value - bound} of these {value}" if bound else "Fix it" if value == 1 else f"Fix all {value}"


def _with_name(told: str, outcome: Outcome) -> str:
    """The sentence with the plain name, `(Gwet's AC1, ac1 0.616 < 0.75)`, unless it says as much."""
    key, plain = outcome.gate.key, other_name(outcome.measure)
    if not plain or outcome.measure.words.did or outcome.measure.kind == "count" or plain.casefold() in told.casefold():
        return told
    return told.replace(f"({key} ", f"({plain}, {key} ", 1)


def findings(decision: Decision) -> list[str]:
    """Every gate that stops the release, the worst first, then whatever else does: lost data, regressions, waivers."""
    return [*first_reasons(decision), *map(finding, views.stopping(decision)), *other_reasons(decision)]


def first_reasons(decision: Decision) -> list[str]:
    """What comes before any gate: what is not judged, and why."""
    return [_sentence_case(visible(reason, 2000)) for reason in decision.tolerated]


def other_reasons(decision: Decision) -> list[str]:
    """The other reasons that are no gate's."""
    told = (*decision.tolerated, *(sentence(outcome) for outcome in decision.outcomes))
    return [_sentence_case(visible(reason, 2000)) for reason in decision.reasons if not reason.startswith(told)]


def near(decision: Decision, outcome: Outcome) -> list[str]:
    """The failing items that lack least."""
    turns = {turn["gate"]: turn["nearest"] for turn in decision.sections.get("turns", ())}
    return [str(name) for name in turns.get(str(outcome.gate), ())]


def _sentence_case(text: str) -> str:
    """A capital letter first, unless the first word is a name such as `p95`."""
    first = text.partition(" ")[0]
    return text if "_" in first or not first.isalpha() else text[:1].upper() + text[1:]
