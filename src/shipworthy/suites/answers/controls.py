"""Controls of the answers suite: refusing, inventing, miscited, citing all, incomplete; and a copy of the gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...core.control import Control, Setup, draws, with_gold
from ...core.evidence import Row
from .material import UNKNOWN, ControlAnswers, evidence_of, least_length
from .metrics import NOT_CITING, NOT_LOGGING

CONSTRAINT_METRICS = ("scu", "scu_violations")


def controls(setup: Setup) -> Iterator[Control]:
    """The runs, the good one first."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made = ControlAnswers(setup.gold, least_length(setup.options))
    yield Control(name="copy of the gold", good=True, data=_run(made.right(item) for item in made.items))
    yield from _refusals(made)
    yield from _claims(made)
    yield from _citations(made, setup.options)
    yield _constraints(made, bool(setup.options.get("scu_enforced")))
    yield Control(name="missing traces", data=_run(made.right(item) for item in made.items[1::2]))


def _refusals(made: ControlAnswers) -> Iterator[Control]:
    none = "" if made.answerable else "the gold set has no answerable question"
    yield Control(name="all-refuse", data=_run(map(made.refusal, made.items)), skip=none)
    kept = {item.qid for item in made.answerable[::10]}
    few = "" if len(made.answerable) > 1 else "the gold set has fewer than two answerable questions"
    rows = (made.right(item) if item.qid in kept else made.refusal(item) for item in made.items)
    yield Control(name="refuses nine in ten", data=_run(rows), skip=few)
    rows = (made.right(item) if item.answerable else made.wrong(item) for item in made.items)
    absent = "" if made.unanswerable else "the gold set has no unanswerable question"
    yield Control(name="all-answer", data=_run(rows), skip=absent)


def _claims(made: ControlAnswers) -> Iterator[Control]:
    for name, every in (("wrong claim with right citation", 1), ("half the claims wrong", 2)):
        rows, skip = made.claims_wrong(every)
        yield Control(name=name, data=_run(rows), skip=skip)
    rows = [made.trace(item, "", evidence_of(item)) if item.answerable else made.refusal(item) for item in made.items]
    skip = "" if made.answerable else "the gold set has no answerable question"
    yield Control(name="empty claims", data=_run(rows), skip=skip)


def _citations(made: ControlAnswers, options: Mapping[str, object]) -> Iterator[Control]:
    cited = [item for item in made.answerable if item.citations]
    skip = NOT_CITING if options.get("cites") is False else ""
    skip = skip or made.too_few(len(cited), "name the evidence that an answer should cite")
    unlogged = NOT_LOGGING if options.get("logs_retrieval") is False else ""
    wrong = {item.qid: made.others(item)[:1] for item in made.answerable}
    yield Control(name="right claim with wrong citation", data=_cited(made, wrong), skip=skip)
    invented = {item.qid: [*item.citations, UNKNOWN] for item in made.answerable}
    yield Control(name="invented citation", data=_cited(made, invented), skip=skip or unlogged)
    everything = {item.qid: made.everything(item) for item in cited}
    yield Control(name="cites-everything", data=_cited(made, everything), skip=skip, needs=("citation_precision",))
    picks = dict(zip((item.qid for item in cited), draws(len(cited), len(made.ids)), strict=True))
    chance = {item.qid: [made.ids[picks[item.qid]]] for item in cited}
    missed = sum(chance[item.qid][0] not in item.citations for item in cited)
    yield Control(
        name="cites at random",
        data=_cited(made, chance),
        skip=skip or made.too_few(missed, "are miscited by chance: there are too few ids to draw from"),
    )


def _cited(made: ControlAnswers, citations: Mapping[str, list[str]]) -> dict[str, list[Row]]:
    """Right claims under other citations; an id of the gold set counts as retrieved."""
    rows = []
    for item in made.items:
        row = made.right(item)
        if item.qid in citations:
            cited = citations[item.qid]
            row["answer_json"]["citations"] = cited
            row["retrieved_ids"] = list(dict.fromkeys([*row["retrieved_ids"], *(x for x in cited if x != UNKNOWN)]))
        rows.append(row)
    return _run(rows)


def _constraints(made: ControlAnswers, enforced: bool) -> Control:
    constrained = [item for item in made.answerable if item.constraints]
    rows = [made.right(item) for item in made.items]
    for row in rows:
        row["answer_json"]["constraints_echo"] = []
    skip = "" if constrained else "no answerable question of the gold set has constraints"
    return Control(name="constraint dropped", data=_run(rows), skip=skip, needs=() if enforced else CONSTRAINT_METRICS)


def _run(rows: Iterable[Row]) -> dict[str, list[Row]]:
    return {"trace": list(rows)}
