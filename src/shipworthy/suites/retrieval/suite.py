"""Retrieval: does it find the right text, and may the shadow index replace the live one?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter

from ...core.decision import Display
from ...core.inputs import Input, Records, Stream
from ...core.sources import BLOCKS, gold_stream, read_texts, stream_traces
from ...core.suite import Material, Sources, Suite
from ...reading.lock import lock_problems
from ..ranking import options as declared
from ..ranking.lists import is_run_file, one_file
from ..ranking.metrics import default_metrics, terms
from ..ranking.options import Choices, Options, canary_depth, choices_of, is_given, is_plain, ranks_ids
from . import explain, metrics
from .controls import controls
from .embedders import make_embedder
from .judge import REASONS, Context, card, judge
from .log import LogLine, gold_of_qrels, log_of_run
from .places import read_sections
from .survey import LogSurvey, settle


def complete(options: Options, sources: Sources) -> Options:
    """The options with live's gate for TREC files, and for one log none by itself."""
    assert not ranks_ids(options, sources), "lists of ids are judged by the ranking suite (suite_for)"
    if is_given(sources, "qrels"):  # beside live: a run has ids alone, and the other gates ask for more
        gates = options.gates or (f"recall@{canary_depth(options.k)}>=baseline-0.02",)
        return declared.complete(options, sources, gates=gates, only_gates=True)
    only_gates = options.only_gates and not is_plain(sources)
    return declared.complete(options, sources, only_gates=only_gates)


def read(sources: Sources, options: Options) -> Material:
    """Gold and logs as lines."""
    choices, reads = choices_of(options), dict[str, Input]()
    context = _context(sources, options, choices, reads)
    gold = Input()
    given = {"shadow": sources.get("run", sources.get("shadow")), "live": sources.get("live")}
    logs = {name: Input() for name, source in given.items() if source is not None}
    return Material(
        context=context,
        gold=_gold(sources, gold, options, choices),
        streams={
            name: Stream(one_file(given[name]), log, Records(log_of_run, attrgetter("qid")), whole=True)
            if is_given(sources, "qrels") or is_run_file(given[name])
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
    if is_given(sources, "sections"):
        sections, reads["sections"] = read_sections(sources["sections"])
    if is_given(sources, "texts"):
        texts, reads["texts"] = read_texts(sources["texts"], "texts")
    plain = is_plain(sources)
    return Context(
        options=options,
        choices=choices,
        wanted=default_metrics(choices.k),
        plain=plain,
        sections=sections,
        texts=texts,
        embedder=make_embedder(
            "precomputed" if plain and options.embedder == "lexical" else options.embedder,  # no ΔS unasked
            url=options.embed_url,
            model=options.embed_model,
            key_env=options.embed_key_env,
            cache=options.embed_cache,
        ),
    )


def _gold(sources: Sources, read: Input, options: Options, choices: Choices) -> Stream:
    if is_given(sources, "qrels"):
        return gold_of_qrels(os.fspath(sources["qrels"]), read, choices.rel_level)
    return gold_stream(sources["gold"], read, lenient=options.lenient, by=choices.by, map=options.map)


SUITE = Suite(
    name="retrieval",
    description="Does retrieval find the right text, and may a new index replace the live one?",
    inputs=declared.INPUTS,
    options=Options,
    complete=complete,
    read=read,
    survey=LogSurvey,
    settle=settle,
    judge=judge,
    card=card,
    fact_names=metrics.fact_names,
    facts=metrics.facts,
    compared=metrics.compared,
    asides=(metrics.REFERENCE, metrics.LIVE_REFERENCE),
    metrics=metrics.metrics,
    aliases=metrics.aliases,
    gates=metrics.gates,
    baseline=explain.baseline,
    review=explain.review,
    explain=explain.explain,
    shown=declared.choices_shown,
    reference=explain.reference,
    controls=controls,
    terms=terms,
    display=Display(counts={"missing": "missing"}, reasons=REASONS, pictures={"comparison": "two sides"}),
)
