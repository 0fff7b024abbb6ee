"""Ranked lists of ids against what there was to find: read, judge, count, explain."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, cast

import msgspec

from ...core.decision import Display, number
from ...core.evidence import Counts, Judged, Row
from ...core.gates import Outcome
from ...core.inputs import Input, Records, Stream, Table, raise_later
from ...core.join import Case, Nothing, first_error
from ...core.suite import Explanation, Findings, Material, Sources, Suite
from ...core.tally import Fact
from ...errors import DataError
from ...reading.lock import lock_problems
from ...text import plural
from . import metrics
from . import options as declared
from .lists import gold_slots, is_run_file, log_lists, one_file, read_qrels, relevant_counts, run_lists, slots_of
from .metrics import LISTS, Ranked, Wanted, at_depths, parse_wanted, ratio
from .options import INPUTS, Choices, Options, choices_of, choices_shown

if TYPE_CHECKING:
    from ...core.evaluate import Gathered
    from ...core.inputs import Numbered


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    choices: Choices
    wanted: tuple[Wanted, ...]  # the metrics, in the order of the report


# --- read ---


def complete(options: Options, sources: Sources) -> Options:
    """The options with the metrics of TREC files where none are named; there are no default gates to leave out."""
    named = options.metrics if options.metrics is not None else at_depths(choices_of(options).k)
    return declared.complete(options, sources, metrics=named, only_gates=False)


def read(sources: Sources, options: Options) -> Material:
    """How much there is to find for each question, and of each list the ranks at which it hits."""
    gold, log, choices = Input(), Input(), choices_of(options)
    counts, lists = _read(sources, options, choices, gold, log)
    return Material(
        context=Context(options=options, choices=choices, wanted=tuple(parse_wanted(options.metrics or ""))),
        gold=Stream(counts, gold, Table(), raise_later),
        streams={"shadow": lists},
        reads={"gold": gold, "shadow": log},
        incomplete=lock_problems(sources.get("gold"), options.map),
    )


def _read(
    sources: Sources, options: Options, choices: Choices, gold: Input, log: Input
) -> tuple[Mapping[str, int], Stream]:
    qrels, run = sources.get("qrels"), sources.get("run", sources.get("shadow"))
    if qrels is not None:
        slots = slots_of(read_qrels(os.fspath(qrels), gold), choices)
        return relevant_counts(slots), _run(one_file(run), log, partial(run_lists, slots=slots, choices=choices))
    slots = gold_slots(sources["gold"], gold, options.map)
    if is_run_file(run):
        gold.found.raise_any()
        lists = partial(run_lists, slots=slots, choices=choices, text=True)
        return relevant_counts(slots), _run(os.fspath(run), log, lists)
    return relevant_counts(slots), log_lists(run, log, slots, choices, gold, options)


def _run(path: str, read: Input, lists: Callable[[str, Input], Iterator[Numbered]]) -> Stream:
    """A TREC run, which is read from end to end."""
    return Stream(path, read, Records(lists, attrgetter("qid")), whole=True)


def survey(context: Context) -> Nothing | None:
    """All lists are looked at first where one that is not there is an error."""
    return Nothing() if "error" in (context.choices.missing_query, context.choices.no_relevant) else None


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """An error for a question without a list, or with nothing to find, where that was called one."""
    choices = context.choices

    def check(case: Case) -> None:
        rules = (
            (not case.records["shadow"], choices.missing_query, "no list", "retrieval-missing"),
            (not case.gold, choices.no_relevant, "no relevant block", "retrieval-no-relevant"),
        )
        _, rule, lacking, code = next((one for one in rules if one[0] and one[1] != "zero"), (False, "", "", ""))
        if rule == "error":
            raise DataError(f"qid {case.key!r} has {lacking}", hint="Add it, or choose skip or zero.", code=code)

    first_error(gathered.cases(), check)
    return context


# --- judge and count ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """What counts about a question is its lists themselves, of which the metrics make numbers."""
    relevant, choices = case.gold, context.choices
    lists = tuple([record.ranked for record in case.records["shadow"]])
    scored = (bool(lists) or choices.missing_query == "zero") and (relevant > 0 or choices.no_relevant == "zero")
    named = [name for name, there in (("missing", lists), ("no_relevant", relevant)) if not there]
    facts = ("items", *named, *(("scored", cast(Fact, (LISTS, lists))) if scored else ()))
    row = row_of(case, lists, scored, context) if context.options.per_question else None
    return (Judged(row, (Counts(facts, named=named),), (0, case.key), lost=not lists),)


def row_of(case: Case, lists: Sequence[Ranked], scored: bool, context: Context) -> Row:
    choices, returned = context.choices, max((ranked.returned for ranked in lists), default=0)
    row: Row = {"qid": case.key, "relevant": case.gold, "returned": returned}
    for one in context.wanted:
        part, whole = ratio(one, lists, choices.denominator, choices.recall)
        row[one.name(choices.preset)] = part / whole if scored else None
    return row


# --- explain ---


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    tally = findings.tally
    if not tally["scored"]:
        others = findings.gathered.unknown_of("shadow").lines
        raise DataError(
            f"no question is left to score: of {tally['items']}, {tally['missing']} have no list and "
            f"{tally['no_relevant']} nothing relevant; {plural(others, 'list')} of other questions",
            where=findings.material.reads["shadow"].path,
            hint="Check that the two files belong together.",
            code="log-empty",
        )
    return findings.outcomes, []


def explain(findings: Findings) -> Explanation:
    context: Context = findings.context
    tally, unknown, choices = findings.tally, findings.gathered.unknown_of("shadow"), context.choices
    names = [one.name(choices.preset) for one in context.wanted]
    warnings = []
    if tally["missing"]:
        how = "counts as 0" if choices.missing_query == "zero" else "is left out"
        missing = plural(tally["missing"], "question")
        warnings = [f"shadow: {missing} without a list; each {how} (--missing-query) [retrieval-missing]"]
    return Explanation(
        counts={name: tally[name] for name in ("items", "scored", "missing", "no_relevant")}
        | {"unknown_qid": unknown.lines},
        named={name: tally.named(name) for name in ("missing", "no_relevant")} | {"unknown_qids": unknown.names},
        headline={name: number(findings.measures[name].value) for name in names} | {"settings": choices.header},
        warnings=warnings,
    )


SUITE = Suite(
    name="retrieval",  # the name that users know: reports, flags and config keys of both suites are the same
    description="How good are these lists of ids?",
    inputs=INPUTS,
    options=Options,
    complete=complete,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    fact_names=metrics.fact_names,
    metrics=metrics.metrics,
    aliases=metrics.aliases,
    wanted=metrics.named_gates,
    review=review,
    explain=explain,
    shown=choices_shown,
    display=Display(counts={"missing": "missing"}),
)
