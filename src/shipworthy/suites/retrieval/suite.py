"""Retrieval: does it find the right text, and may the shadow index replace the live one?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from ...core.contracts import Gold
from ...core.inputs import Input, Numbered, Records, Stream, Table, raise_later
from ...core.join import Case, Nothing
from ...core.sources import BLOCKS, gold_stream, read_texts, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ..answers.judge import slices_of
from .controls import controls
from .embedders import make_embedder
from .explain import baseline, explain, shown
from .inputs import complete, is_plain
from .judge import Context, Expected, ListVerdict, judge
from .lists import gold_slots, log_lists, qrels_slots, relevant_counts, run_lists, trec_lists
from .log import LogLine, runs_of
from .matching import prepare
from .metrics import LIVE_REFERENCE, REFERENCE, aliases, compared, fact_names, facts, gates, metrics, wanted_gates
from .options import Choices, Options, choices_of
from .ranking import Ranked, RankedList, default_metrics, parse_wanted
from .reference import reference
from .remarks import review
from .rows import offences, rows
from .sections import read_sections
from .settle import settle
from .survey import LogSurvey
from .trec import is_run_file, one_file
from .trec_logs import gold_of_qrels, log_of_run


def read(sources: Sources, options: Options) -> Material:
    """Gold made ready once, logs as streams; of lists of ids only their ranks."""
    if options.metrics is None:
        return _read_logs(sources, options, choices_of(options))
    return _read_lists(sources, options, choices_of(options))


def _read_lists(sources: Sources, options: Options, choices: Choices) -> Material:
    gold, log = Input(), Input()
    counts, stream = _lists(sources, options, choices, gold, log)
    assert options.metrics is not None
    wanted = tuple(parse_wanted(options.metrics))
    return Material(
        context=Context(options=options, choices=choices, wanted=wanted, plain=is_plain(sources), ids_only=True),
        gold=Stream(counts, gold, Table(), raise_later),
        streams={"shadow": stream},
        reads={"gold": gold, "shadow": log},
        incomplete=lock_problems(sources.get("gold"), options.map),
    )


def _lists(
    sources: Sources, options: Options, choices: Choices, gold: Input, log: Input
) -> tuple[Mapping[str, int], Stream]:
    """How much there is to find for each question, and what was found."""
    qrels, run = sources.get("qrels"), sources.get("run", sources.get("shadow"))
    if qrels is not None:
        slots = qrels_slots(os.fspath(qrels), gold, choices)
        return relevant_counts(slots), _whole(one_file(run), log, partial(run_lists, slots=slots, choices=choices))
    slots = gold_slots(sources["gold"], gold, options.map)
    if is_run_file(run):
        gold.found.raise_any()
        return relevant_counts(slots), _whole(os.fspath(run), log, partial(trec_lists, slots=slots, choices=choices))
    return relevant_counts(slots), log_lists(run, log, slots, choices, gold, options)


def _whole(path: str, read: Input, lists: Callable[[Any, Input], Iterator[Numbered]]) -> Stream:
    """A TREC file, which is read from end to end."""
    return Stream(path, read, Records(lists, attrgetter("qid")), whole=True)


def _read_logs(sources: Sources, options: Options, choices: Choices) -> Material:
    reads: dict[str, Input] = {}
    context = _context(sources, options, choices, reads)
    gold = Input()
    given = {"shadow": sources.get("run", sources.get("shadow")), "live": sources.get("live")}
    logs = {name: Input() for name, source in given.items() if source is not None}
    return Material(
        context=context,
        gold=_gold(sources, gold, options, choices),
        ready=partial(_ready, choices=choices, texts=context.texts),
        streams={
            name: _whole(one_file(given[name]), log, log_of_run)
            if sources.get("qrels") is not None or is_run_file(given[name])
            else stream_traces(given[name], log, record=LogLine, lenient=options.lenient, map=options.map, needs=BLOCKS)
            for name, log in logs.items()
        },
        runs=dict.fromkeys(logs, attrgetter("key")),
        reads={"gold": gold} | logs | reads,
        incomplete=lock_problems(sources.get("gold"), options.map),
    )


def _context(sources: Sources, options: Options, choices: Choices, reads: dict[str, Input]) -> Context:
    """What judging takes besides gold and logs: sections and texts of blocks, and what makes distances."""
    sections: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    if sources.get("sections") is not None:
        sections, reads["sections"] = read_sections(sources["sections"])
    if sources.get("texts") is not None:
        texts, reads["texts"] = read_texts(sources["texts"], "texts")
    plain = is_plain(sources)
    made_by = "precomputed" if plain and options.embedder == "lexical" else options.embedder  # no ΔS unasked
    embedder = make_embedder(
        made_by,
        url=options.embed_url,
        model=options.embed_model,
        key_env=options.embed_key_env,
        cache=options.embed_cache,
    )
    return Context(
        options=options,
        choices=choices,
        wanted=default_metrics(choices.k),
        plain=plain,
        sections=sections,
        texts=texts,
        embedder=embedder,
    )


def _gold(sources: Sources, read: Input, options: Options, choices: Choices) -> Stream:
    if sources.get("qrels") is not None:
        return gold_of_qrels(os.fspath(sources["qrels"]), read, choices.rel_level)
    return gold_stream(sources["gold"], read, lenient=options.lenient, by=choices.by, map=options.map)


def _ready(item: Gold, place: int, choices: Choices, texts: Mapping[str, str]) -> Expected:
    target = prepare(item, choices, texts)
    types = tuple(f"type={name}" for name in target.types)
    return Expected(item, place, target, types + slices_of(item, choices.by))


def survey(context: Context) -> LogSurvey | Nothing | None:
    """Of lists of ids nothing has to be noticed, but that they are all there where anything else is an error."""
    if not context.ids_only:
        return LogSurvey()
    return Nothing() if "error" in (context.choices.missing_query, context.choices.no_relevant) else None


def unjudged(case: Case, verdict: object) -> bool:
    """A question that a log has no run of, or a run that failed and was not made again."""
    if not all(case.records.values()):
        return True
    if isinstance(verdict, ListVerdict):
        return False
    runs = (run for lines in case.records.values() for run in runs_of(lines))
    return any(run.error for run in runs)


def alike(case: Case, context: Context) -> Ranked | None:
    """Questions with one list that hits at the same ranks, where nobody asked for their rows."""
    if not context.ids_only or context.options.per_question or not case.gold:
        return None
    records: list[RankedList] = case.records["shadow"]
    return records[0].ranked if len(records) == 1 else None


SUITE = Suite(
    name="retrieval",
    description="Does retrieval find the right text, and may a new index replace the live one?",
    inputs=(
        InputSpec("gold", "Gold set with relevant (or gold_citations) for each question.", False),
        InputSpec("run", "What was retrieved: traces, a retrieval log, or a TREC run.", False, driven=True, many=True),
        InputSpec(
            "shadow", "Log of a new index, to be compared with --live or judged by the canary gates.", False, many=True
        ),
        InputSpec(
            "live", "Log of the index in production, on the same questions (a run with --qrels).", False, many=True
        ),
        InputSpec("qrels", "TREC judgements in place of --gold.", False),
        InputSpec("sections", "Sections of blocks: JSON lines with id and section_id.", False, table=True),
        InputSpec("texts", "Texts of blocks: JSON lines with id and text.", False, table=True),
    ),
    options=Options,
    complete=complete,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    alike=alike,
    unjudged=unjudged,
    fact_names=fact_names,
    facts=facts,
    compared=compared,
    asides=(REFERENCE, LIVE_REFERENCE),
    rows=rows,
    offences=offences,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted_gates,
    baseline=baseline,
    review=review,
    explain=explain,
    shown=shown,
    reference=reference,
    controls=controls,
)
