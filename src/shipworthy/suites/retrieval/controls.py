"""Controls of the retrieval suite: echo, reversed, random, worse than live; and the perfect ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ...core.contracts import Gold, ids_of
from ...core.contracts import Place as Block
from ...core.control import Control, Setup, draws, with_gold
from ...core.evidence import Row
from ...language.refusal import TOKEN
from .places import inside, parse_section, section_of, wordings_needed

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
