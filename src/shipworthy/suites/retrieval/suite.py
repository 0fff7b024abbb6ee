"""Retrieval: does it find the right text, and may the shadow index replace the live one?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec

from ...core.contracts import Gold, ids_of
from ...core.contracts import Place as Block
from ...core.control import Control, Setup, draws, with_gold
from ...core.decision import Display
from ...core.evidence import Row
from ...core.inputs import Input, Records, Stream
from ...core.sources import BLOCKS, gold_stream, read_texts, stream_traces
from ...core.suite import Material, Sources, Suite
from ...language.refusal import TOKEN
from ...reading.lock import lock_problems
from ..ranking import options as declared
from ..ranking.lists import is_run_file, one_file
from ..ranking.metrics import default_metrics, terms
from ..ranking.options import Choices, Options, canary_depth, choices_of, is_given, is_plain, ranks_ids
from . import explain, metrics
from .embedders import make_embedder
from .judge import REASONS, Context, card, judge
from .log import LogLine, gold_of_qrels, log_of_run
from .places import inside, parse_section, read_sections, section_of, wordings_needed
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


# --- controls: echo, reversed, random, worse than live; and the perfect ranking ---

Blocks = list[Row]
NEAR, FAR = 0.1, 0.9  # distance of a right and of a wrong block from the question
DEPTH = 10
NOWHERE = 10**12  # bytes from which no gold block stands


def controls(setup: Setup) -> Iterator[Control]:
    """Logs that cite what they rank first; beside a perfect live log where the configuration compares."""
    if not setup.named and "gold" in setup.inputs and not any(item.relevant for item in setup.gold):
        why = "no item of the gold set has relevant blocks; name the suite to judge by gold_citations"
        return iter([Control(name="all", skip=why)])
    return with_gold(setup.gold, _controls(setup))


def _compares(setup: Setup) -> bool:
    """Whether there is a live log; where no log is configured at all, the comparison is tried too."""
    return not setup.options.get("metrics") and ("live" in setup.inputs or "shadow" not in setup.inputs)


def _controls(setup: Setup) -> Iterator[Control]:
    items: list[Gold] = list(setup.gold)
    perfect = {item.qid: relevant(item) for item in items}
    best, compared = _log(items, perfect), _compares(setup)
    live = {"live": best} if compared else {}
    asked = [item for item in items if perfect[item.qid]]
    none = "" if asked else "no answerable question of the gold set names a relevant block or an anchor section"
    yield Control(name="perfect ranking", good=True, data={"shadow": best, **live})
    for name, log, skip in _wrong(items, asked, perfect, max([DEPTH, *_depths(setup.options.get("k") or DEPTH)])):
        yield Control(name=name, data={"shadow": log, **live}, skip=none or skip)
    # Every other list lacks what the answer cites all the same: only a comparison with live sees that.
    fillers = _fillers(max([DEPTH, *_depths(setup.options.get("k") or DEPTH)]))
    half = {item.qid: fillers if number % 2 == 0 else perfect[item.qid] for number, item in enumerate(asked)}
    yield Control(
        name="live better than shadow",
        data={"shadow": _log(items, half, perfect), **live},
        skip=none or ("" if compared else "the configuration names no live log to compare with"),
    )


def _wrong(
    items: Sequence[Gold], asked: Sequence[Gold], perfect: Mapping[str, Blocks], depth: int
) -> Iterator[tuple[str, Blocks, str]]:
    """Logs that find the wrong blocks, and why they would be right all the same."""
    yield "echo of the query", _log(items, {item.qid: _echo(item) for item in asked}), ""
    last = {item.qid: [*_fillers(depth), *reversed(perfect[item.qid])] for item in asked}
    yield "reversed ranks", _log(items, last), ""
    drawn = _drawn(asked, perfect)
    hits = sum(_hits(item, drawn[item.qid][0], perfect[item.qid]) for item in asked)
    few = "" if 2 * hits <= len(asked) else f"{hits} of {len(asked)} draws are right by chance: there are too few ids"
    yield "random ids", _log(items, drawn), few


def relevant(item: Gold) -> Blocks:
    """What an answer should cite, with as much of its place as the gold set knows; nothing where it should refuse."""
    if item.answerable is False:
        return []
    given: Sequence[str | Block] = item.relevant or item.citations
    blocks: Blocks = [{"id": place} if isinstance(place, str) else dict(msgspec.to_builtins(place)) for place in given]
    if not blocks and item.anchor_section:
        blocks = [{"id": "control-anchor-block", "section_id": item.anchor_section}]
    for block in blocks:
        if item.anchor_section and section_of(block["id"], block.get("section_id"), {}) is None:
            block["section_id"] = item.anchor_section
    return blocks


def _echo(item: Gold) -> Blocks:
    """The question itself comes back: as near to the question as can be, and no evidence."""
    return [{"id": "control-echo", "text": item.question or "?"}]


def _fillers(count: int) -> Blocks:
    return [
        {"id": f"control-filler-{number}", "offsets": [NOWHERE + 10 * number, NOWHERE + 10 * number + 9]}
        for number in range(1, count + 1)
    ]


def _drawn(items: Sequence[Gold], perfect: Mapping[str, Blocks]) -> dict[str, Blocks]:
    """Blocks of the whole gold set, drawn for each question without looking at it."""
    known = list({block["id"]: block for item in items for block in perfect[item.qid]}.values())
    picks = iter(draws(DEPTH * len(items), len(known)))
    drawn = {}
    for item in items:
        own = [known[next(picks)] for _ in range(DEPTH)]
        drawn[item.qid] = list({block["id"]: block for block in own}.values())
    return drawn


def _hits(item: Gold, block: Row, own: Blocks) -> bool:
    """Whether a block happens to be right: the same, or in the anchor section."""
    section = section_of(block["id"], block.get("section_id"), {})
    anchor = parse_section(item.anchor_section) if item.anchor_section else None
    anchored = section is not None and anchor is not None and inside(section, anchor)
    return anchored or block["id"] in {one["id"] for one in own}


def _log(items: Iterable[Gold], ranked: Mapping[str, Blocks], cited: Mapping[str, Blocks] | None = None) -> Blocks:
    """A line for each wording that convergence asks for; the answer cites what stands first, or `cited`."""
    rows = []
    for item in items:
        blocks = ranked.get(item.qid, [])
        own = (cited or {}).get(item.qid) or _first(item, blocks)
        row = _line(item, blocks, own if item.answerable is not False else [])
        rows += [row | {"paraphrase": number} for number in range(wordings_needed(len(item.paraphrases)))]
    return rows


def _first(item: Gold, blocks: Blocks) -> Blocks:
    """All that is right where the first is right, else the first."""
    own = {*item.citations, *ids_of(item.relevant)}
    return [block for block in blocks if block["id"] in own] if blocks and blocks[0]["id"] in own else blocks[:1]


def _line(item: Gold, blocks: Blocks, cited: Blocks) -> Row:
    scored = [block | {"score": round(1 - rank / 1000, 3)} for rank, block in enumerate(blocks, 1)]
    return {
        "qid": item.qid,
        "q": item.question,
        "seed": 1,
        "topk": scored,
        "delta_s": [_distance(item, block) for block in blocks],
        "embedder": "control",
        "answer_json": {"claim": "; ".join(item.substrings) or "?" if cited else TOKEN, "citations": cited},
    }


def _distance(item: Gold, block: Row) -> float:
    own = {*item.citations, *ids_of(item.relevant), "control-anchor-block"}
    return 0.0 if block["id"] == "control-echo" else NEAR if block["id"] in own else FAR


def _depths(k: int | Sequence[int]) -> list[int]:
    return [k] if isinstance(k, int) else list(k)


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
