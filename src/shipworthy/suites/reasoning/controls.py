"""Controls: answers with known truth, made from a fixture's own cases, to see whether its bars tell them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files

from ...core.control import Control, Setup
from ...language.refusal import TOKEN
from ...language.sentences import sentences
from .actions import find_actions
from .asserted import value_forms
from .fixture import Binding, Fixture, Note, ReasonCase, read_fixture
from .reading import Store, read_sentence, read_text
from .signals import terms
from .verdict import ReasonerAnswer

Make = Callable[[ReasonCase], str]


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


@cache
def _text(name: str) -> str:
    return (files("shipworthy.suites.reasoning") / "data" / f"{name}.md").read_text("utf-8")


# --- bad ones ---


def _salad(case: ReasonCase) -> str:
    values = [binding.value for binding in case.bindings] + [item.id for item in case.evidence]
    return " ".join([*_signals(case), *values, *terms("resolution")])


def _signals(case: ReasonCase) -> list[str]:
    own = [term for expectation in case.expected.values() for term in expectation.terms]
    return [*own, *terms("action"), *terms("provenance"), *terms("contradiction"), *terms("summary")]


def _negation(case: ReasonCase) -> str:
    denied = [f"- The answer is not {b.value} [{b.source[0]}]." for b in case.bindings if b.source]
    return "\n".join(["## Summary", *(f"- There is no {term}." for term in _signals(case)), *denied])


def _inverted(case: ReasonCase) -> str:
    """The right answer with the sides exchanged, or with other numbers and denials where there are no sides."""
    lines = []
    for binding in case.bindings:
        own, rival = _cited(case, binding.source), _cited(case, binding.rivals)
        cite = f" [{own.id}]" if own else ""
        if rival is not None:
            lines.append(f"{_sentence(rival)} [{rival.id}]. This supersedes {binding.value}{cite}.")
        elif re.search(r"\d", binding.value):
            lines.append(f"It is {re.sub(r'[0-9]', _other_digit, binding.value)}{cite}.")
        else:
            lines.append(f"It is not {binding.value}{cite}.")
    lines += [f"{_capital(phrase)}." for phrase in case.forbidden[:1]]
    return " ".join([*lines, *_todo(case)]) or _text("template")


def _other_digit(match: re.Match[str]) -> str:
    return str((int(match[0]) + 3) % 10)


def _invented(case: ReasonCase) -> str:
    ghost = case.evidence[0].id + "99" if case.evidence else "x99"
    return f"{answer_anyway(case)} This was confirmed later [{ghost}] (archive/minutes.md:88)."


def _dump(case: ReasonCase) -> str:
    return "\n".join(f"{item.text} [{item.id}]" for item in case.evidence)


# --- good ones ---


def _terse(case: ReasonCase) -> str:
    return " ".join([*(f"{_capital(phrase)} [{source}]." for phrase, source in _findings(case)), *_todo(case)])


def _prose(case: ReasonCase) -> str:
    found = [f"according to {_place(case, source)}, {phrase}" for phrase, source in _findings(case)]
    lines = [f"From what was noted, {'; and '.join(found)}."] if found else []
    lines += [f"What {_place(case, item.id)} says is out of date." for item in _outdated(case)]
    return " ".join([*lines, *_todo(case)])


def _structured(case: ReasonCase) -> str:
    lines = ["## Findings", *(f"- {_capital(phrase)} [{source}]" for phrase, source in _findings(case))]
    lines += [f"- Superseded: {item.id}" for item in _outdated(case)]
    return "\n".join([*lines, "", "## Next steps", *(f"- {todo}" for todo in _todo(case))])


def _right(make: Make) -> Make:
    """A right answer where there is one, else the refusal."""
    return lambda case: make(case) if case.answerable else TOKEN


def answer_anyway(case: ReasonCase) -> str:
    """A right answer where there is one, else what the evidence says about something else."""
    if case.answerable:
        return _terse(case)
    return f"{_sentence(case.evidence[0])} [{case.evidence[0].id}]." if case.evidence else "Yes."


def _outdated(case: ReasonCase) -> list[Note]:
    """The first note that says otherwise, where the case forbids what it says."""
    return [item for b in case.bindings if (item := _cited(case, b.rivals)) and case.forbidden][:1]


def _findings(case: ReasonCase) -> list[tuple[str, str]]:
    """What a right answer says, with the id that says it: the evidence on each bound value, else the resolution."""
    found = []
    for binding in case.bindings:
        if item := _cited(case, binding.source):
            found.append((_extract(item, binding), item.id))
    resolution = next(iter(case.expected_resolution), "")
    if case.evidence and resolution and not any(_says(phrase, resolution) for phrase, _ in found):
        found.append((resolution, found[0][1] if found else case.evidence[0].id))
    if not found and case.evidence:
        found.append((_sentence(case.evidence[0]), case.evidence[0].id))
    return list(dict.fromkeys(found))


def _says(text: str, phrase: str) -> bool:
    return set(read_sentence(phrase).content) <= set(read_sentence(text).words)


def _extract(item: Note, binding: Binding) -> str:
    """The sentence of the evidence that has the value, or the whole of it."""
    forms = value_forms(binding.value)
    for span in sentences(item.text):
        sentence = read_sentence(span.text)
        if any(any(sentence.places(form)) for form in forms):
            return span.text.rstrip(". ")
    return _sentence(item)


def _todo(case: ReasonCase) -> list[str]:
    """What the evidence says is to be done, with its id; else to confirm what was found."""
    rivals = {item.id for b in case.bindings if (item := _cited(case, b.rivals))}
    for item in case.evidence:
        if item.id not in rivals and find_actions(read_text(item.text), Store([item], "")):
            return [f"{_sentence(item)} [{item.id}]."]
    if not case.evidence:
        return []
    item = next((i for b in case.bindings if (i := _cited(case, b.source))), case.evidence[0])
    return [f"Confirm with the owner that {_sentence(item)[:1].lower()}{_sentence(item)[1:]} [{item.id}]."]


def _cited(case: ReasonCase, references: tuple[str, ...]) -> Note | None:
    ids = {item for reference in references for item in Store(case.evidence, "").naming(reference)}
    return next((item for item in case.evidence if item.id in ids), None)


def _place(case: ReasonCase, id_: str) -> str:
    item = next(item for item in case.evidence if item.id == id_)
    return f"{item.source}:{item.line}" if item.source and item.line is not None else item.id


def _sentence(item: Note) -> str:
    return item.text.strip().rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


BAD: Mapping[str, Make] = {
    "empty text": lambda case: "",
    "keyword salad": _salad,
    "negation of every signal": _negation,
    "off-topic text in perfect layout": lambda case: _text("pancakes"),
    "inverted conflict": _inverted,
    "invented citations": _invented,
    "evidence dump": _dump,
    "canned template": lambda case: _text("template"),
}
GOOD: Mapping[str, Make] = {
    "terse right answers": _right(_terse),
    "prose right answers": _right(_prose),
    "structured right answers": _right(_structured),
}
