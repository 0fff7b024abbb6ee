"""Controls: answers with known truth, made from a fixture's own cases, to see whether its thresholds tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.control import Control, Setup
from ...language.reader import read_note, read_phrase
from ...language.refusal import TOKEN
from .contracts import Binding, Fixture, Note, ReasonCase, ReasonerAnswer, load_data, read_fixture
from .rules import Store, find_actions
from .signals import terms

Member = dict[str, str]
GOOD, BAD = (tuple(load_data("controls")[kind]) for kind in ("good", "bad"))


def controls(setup: Setup) -> Iterator[Control]:
    """The good runs first; then the bad ones, who refuses everything, and who answers everything."""
    fixture = read_fixture(setup.inputs.get("fixture"))
    unanswerable = [case.id for case in fixture.cases if not case.answerable]
    nothing_to_answer = "no answerable case" if len(unanswerable) == len(fixture.cases) else ""
    refusals = {case.id: ReasonerAnswer(TOKEN) for case in fixture.cases}
    always = {case.id: ReasonerAnswer(answer_anyway(case)) for case in fixture.cases}
    runs = [(name, control_answers(fixture, name), nothing_to_answer if name in BAD else "") for name in (*GOOD, *BAD)]
    runs.append(("all-refuse", refusals, nothing_to_answer))
    runs.append(("all-answer", always, "" if unanswerable else "no unanswerable case"))
    for name, answers, skip in runs:
        yield Control(name=name, good=name in GOOD, skip=skip, data={"answers": answers, "fixture": fixture})


def control_answers(fixture: Fixture, name: str) -> dict[str, ReasonerAnswer]:
    """What a control answers to every case. It refuses where it should, so that a bad one has no other fault."""
    return {case.id: ReasonerAnswer(control_answer(name, case) if case.answerable else TOKEN) for case in fixture.cases}


def answer_anyway(case: ReasonCase) -> str:
    """A right answer where there is one, else what the evidence says about something else."""
    return control_answer(GOOD[0], case) or "Yes."


def control_answer(name: str, case: ReasonCase) -> str:
    """What the control of that name, one of GOOD and BAD, answers to a case."""
    wording = {**load_data("controls")["good"], **load_data("controls")["bad"]}[name]
    members = _members(case)
    lines = [line.format_map(member) for each, line in wording["lines"] for member in members[each]]
    return str(wording["between"].join(lines))


def _members(case: ReasonCase) -> dict[str, list[Member]]:
    """The lists of a case that the lines of a control are made for."""
    found = [(_extract(item, binding), item) for binding in case.bindings for item in _cited(case, binding.source)[:1]]
    first = [item for _, item in found] or case.evidence
    found += [(phrase, item) for phrase in case.expected_resolution[:1] for item in first[:1]]
    said = [_member(*one) for one in found or [(item.text, item) for item in first[:1]]]
    rivals = [_member(item.text, item) for binding in case.bindings for item in _cited(case, binding.rivals)[:1]]
    directs = (item for item in case.evidence if find_actions(read_note(item.text), Store([item], ""))["actions"])
    todo = [one for item in directs if (one := _member(item.text, item)) not in rivals]
    own = [term for expectation in case.expected.values() for term in expectation.terms]
    listed = [
        word for name in ("action", "provenance", "contradiction", "summary", "resolution") for word in terms(name)
    ]
    return {
        "findings": said,
        "todo": (todo or said)[:1],
        "outdated": rivals[:1] if case.forbidden else [],
        "rivals": rivals,
        "evidence": [_member(item.text, item) for item in case.evidence],
        "values": _texts(binding.value for binding in case.bindings),
        "signals": _texts([*own, *listed]),
        "forbidden": _texts(case.forbidden[:1]),
        "once": [{"id": case.evidence[0].id if case.evidence else "x"}],
    }


def _extract(item: Note, binding: Binding) -> str:
    """The sentence of the note that has the value, or the whole note."""
    value = read_phrase(binding.value).words
    return next((one.raw for one in read_note(item.text) if one.places(value)), item.text)


def _cited(case: ReasonCase, references: tuple[str, ...]) -> list[Note]:
    ids = {id_ for reference in references for id_ in Store(case.evidence, "").naming(reference)}
    return [item for item in case.evidence if item.id in ids]


def _member(text: str, item: Note) -> Member:
    place = f"{item.source}:{item.line}" if item.source and item.line is not None else f"[{item.id}]"
    return _texts([text.strip().rstrip(".")])[0] | {"id": item.id, "place": place}


def _texts(texts: Iterable[str]) -> list[Member]:
    return [{"said": text, "Said": text[:1].upper() + text[1:]} for text in texts]
