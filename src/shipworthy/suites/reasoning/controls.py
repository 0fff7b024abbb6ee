"""Controls: answers with known truth, made from a fixture's own cases, to see whether its bars tell them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...core.control import Control, Setup
from ...language.refusal import TOKEN
from .actions import find_actions
from .affirmed import occurrences
from .anchors import NoteIndex
from .clauses import read
from .fixture import Binding, Fixture, Note, ReasonCase, read_fixture
from .signals import ACTION_TERMS, CONTRADICTION_TERMS, PROVENANCE_WORDS, RESOLUTION_TERMS, SUMMARY_WORDS
from .statements import statements
from .verdict import ReasonerAnswer
from .words import tokens

Make = Callable[[ReasonCase], str]
PANCAKES = """## Summary
A good pancake depends on rest and heat. The decision is simple, the risk is small and the impact is large, because
a batter that rests for 30 minutes gives 12 even pancakes. Two cooks disagree about the milk, a real conflict.

## Evidence
- Source: the kitchen notebook, a fact from memory, confidence high [0.90]
- Evidence: cookbook.md:12 and recipes.txt:40 agree on 250 g of flour
- Provenance: unknown for the vanilla, so it is uncertain and likely optional

## Contradiction
- However, on the other hand, one recipe is inconsistent: verify, confirm and reconcile it; the newer one supersedes

## Next steps
1. Recommendation: whisk 3 eggs today, owner: the cook, priority high, due this week
2. Fix the heat, implement the resting time, ship the first batch by noon; follow-up and mitigation tomorrow
"""
TEMPLATE = """Summary: the evidence was reviewed and the most relevant findings were taken into account.
The sources agree in the main, and where they are in conflict the newer one should be confirmed with the owner.
Recommendation: the owner should follow up this week, verify the facts against the source, and mitigate the risk.
Decision: proceed with high priority, because the impact is large and the risk can be kept small."""


def controls(setup: Setup) -> Iterator[Control]:
    """The good runs first; then the bad ones, who refuses everything, and who answers everything."""
    fixture = read_fixture(setup.inputs.get("fixture"))
    refusals = {case.id: ReasonerAnswer(TOKEN) for case in fixture.cases}
    # A bad run has one fault: it refuses where it should, so that the gate on that does not hide a bar that is too low.
    rightly = {case.id: refusals[case.id] for case in fixture.cases if not case.answerable}
    nothing_to_answer = "no answerable case" if len(rightly) == len(fixture.cases) else ""
    for name in GOOD:
        yield _control(fixture, name, control_answers(fixture, name), good=True)
    for name in BAD:
        yield _control(fixture, name, control_answers(fixture, name) | rightly, nothing_to_answer)
    yield _control(fixture, "all-refuse", refusals, nothing_to_answer)
    always = {case.id: ReasonerAnswer(answer_anyway(case)) for case in fixture.cases}
    yield _control(fixture, "all-answer", always, "" if rightly else "no unanswerable case")


def control_answers(fixture: Fixture, name: str) -> dict[str, ReasonerAnswer]:
    """What the control of that name, one of GOOD and BAD, answers to every case."""
    make = {**GOOD, **BAD}[name]
    return {case.id: ReasonerAnswer(make(case)) for case in fixture.cases}


def _control(
    fixture: Fixture, name: str, answers: Mapping[str, ReasonerAnswer], skip: str = "", good: bool = False
) -> Control:
    return Control(name=name, good=good, skip=skip, data={"answers": answers, "fixture": fixture})


def _empty(case: ReasonCase) -> str:
    return ""


def _salad(case: ReasonCase) -> str:
    terms = [term for expectation in case.expected.values() for term in expectation.terms]
    values = [binding.value for binding in case.bindings] + [item.id for item in case.evidence]
    return " ".join([*terms, *values, *ACTION_TERMS, *PROVENANCE_WORDS, *RESOLUTION_TERMS, *SUMMARY_WORDS])


def _negation(case: ReasonCase) -> str:
    terms = [term for expectation in case.expected.values() for term in expectation.terms]
    signals = [*terms, *ACTION_TERMS, *PROVENANCE_WORDS, *CONTRADICTION_TERMS, *SUMMARY_WORDS]
    denied = [f"- The answer is not {b.value} [{b.source[0]}]." for b in case.bindings if b.source]
    return "\n".join(["## Summary", *(f"- There is no {term}." for term in signals), *denied])


def _off_topic(case: ReasonCase) -> str:
    return PANCAKES


def _inverted(case: ReasonCase) -> str:
    """The right answer with the sides exchanged, or with other numbers and denials where there are no sides."""
    lines = []
    for binding in case.bindings:
        own, rival = _cited(case, binding.source), _cited(case, binding.rivals)
        cite = f" [{own.id}]" if own else ""
        if rival is not None:
            lines.append(f"{_sentence(rival)} [{rival.id}]. This supersedes {binding.value}{cite}.")
        elif any(c.isdigit() for c in binding.value):
            lines.append(f"It is {re.sub(r'[0-9]', _other_digit, binding.value)}{cite}.")
        else:
            lines.append(f"It is not {binding.value}{cite}.")
    lines += [f"{_capital(phrase)}." for phrase in case.forbidden[:1]]
    return " ".join([*lines, *_todo(case)]) or TEMPLATE


def _other_digit(match: re.Match[str]) -> str:
    return str((int(match.group()) + 3) % 10)


def _invented(case: ReasonCase) -> str:
    ghost = case.evidence[0].id + "99" if case.evidence else "x99"
    return f"{answer_anyway(case)} This was confirmed later [{ghost}] (archive/minutes.md:88)."


def _dump(case: ReasonCase) -> str:
    return "\n".join(f"{item.text} [{item.id}]" for item in case.evidence)


def _template(case: ReasonCase) -> str:
    return TEMPLATE


def _terse(case: ReasonCase) -> str:
    return " ".join([*(f"{phrase} [{source}]." for phrase, source in _findings(case)), *_todo(case)])


def _prose(case: ReasonCase) -> str:
    found = [f"according to {_place(case, source)}, {phrase}" for phrase, source in _findings(case)]
    rivals = [item for b in case.bindings if (item := _cited(case, b.rivals)) and case.forbidden]
    lines = [f"From what was noted, {'; and '.join(found)}."] if found else []
    lines += [f"What {_place(case, item.id)} says is out of date." for item in rivals[:1]]
    return " ".join([*lines, *_todo(case)])


def _structured(case: ReasonCase) -> str:
    rivals = [item for b in case.bindings if (item := _cited(case, b.rivals)) and case.forbidden]
    lines = ["## Findings", *(f"- {_capital(phrase)} [{source}]" for phrase, source in _findings(case))]
    lines += [f"- Superseded: {item.id}" for item in rivals[:1]]
    return "\n".join([*lines, "", "## Next steps", *(f"- {todo}" for todo in _todo(case))])


def _right(make: Make) -> Make:
    """A right answer where there is one, else the refusal."""
    return lambda case: make(case) if case.answerable else TOKEN


def answer_anyway(case: ReasonCase) -> str:
    """A right answer where there is one, else what the evidence says about something else."""
    if case.answerable:
        return _terse(case)
    return f"{_sentence(case.evidence[0])} [{case.evidence[0].id}]." if case.evidence else "Yes."


def _findings(case: ReasonCase) -> list[tuple[str, str]]:
    """What a right answer says, with the id that says it: the resolution first, then each bound value."""
    found = []
    resolution = next(iter(case.expected_resolution), "")
    for binding in case.bindings:
        item = _cited(case, binding.source)
        if item is None:
            continue
        covers = bool(occurrences(binding.value, tokens(resolution)))
        found.append((resolution if covers else _extract(item, binding), item.id))
    if not case.bindings and resolution and case.evidence:
        found.append((resolution, case.evidence[0].id))
    if not found and case.evidence:
        found.append((_sentence(case.evidence[0]), case.evidence[0].id))
    return list(dict.fromkeys(found))


def _extract(item: Note, binding: Binding) -> str:
    """The clause of the evidence that has the value, or the whole of it."""
    for clause in read(item.text).clauses:
        if occurrences(binding.value, clause.tokens) and len(clause.tokens) >= 4:
            return clause.text.rstrip(" .")
    return _sentence(item)


def _todo(case: ReasonCase) -> list[str]:
    """What the evidence says is to be done, with its id; else to confirm what was found."""
    rivals = {item.id for b in case.bindings if (item := _cited(case, b.rivals))}
    for item in case.evidence:
        store = NoteIndex([item], "")
        if item.id not in rivals and find_actions(statements(read(item.text), store), store):
            return [f"{_sentence(item)} [{item.id}]."]
    if not case.evidence:
        return []
    item = next((i for b in case.bindings if (i := _cited(case, b.source))), case.evidence[0])
    return [f"Confirm with the owner that {_sentence(item)[:1].lower()}{_sentence(item)[1:]} [{item.id}]."]


def _cited(case: ReasonCase, references: tuple[str, ...]) -> Note | None:
    store = NoteIndex(case.evidence, "")
    ids = {item for reference in references for item in store.naming(reference)}
    return next((item for item in case.evidence if item.id in ids), None)


def _place(case: ReasonCase, id_: str) -> str:
    item = next(item for item in case.evidence if item.id == id_)
    return f"{item.source}:{item.line}" if item.source and item.line is not None else item.id


def _sentence(item: Note) -> str:
    return item.text.strip().rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


BAD: Mapping[str, Make] = {
    "empty text": _empty,
    "keyword salad": _salad,
    "negation of every signal": _negation,
    "off-topic text in perfect layout": _off_topic,
    "inverted conflict": _inverted,
    "invented citations": _invented,
    "evidence dump": _dump,
    "canned template": _template,
}
GOOD: Mapping[str, Make] = {
    "terse right answers": _right(_terse),
    "prose right answers": _right(_prose),
    "structured right answers": _right(_structured),
}
