"""Controls of the retrieval suite: echo, reversed, random, worse than live; and the perfect ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..contracts import Gold, ids_of
from ..contracts import Place as Block
from ..refusal import TOKEN
from ..suites.retrieval.lambda_states import wordings_needed
from ..suites.retrieval.sections import inside, parse_section, section_of
from .material import draws
from .results import Control

Blocks = list[dict[str, Any]]
NEAR, FAR = 0.1, 0.9  # distance of a right and of a wrong block from the question
DEPTH = 10
NOWHERE = 10**12  # bytes from which no gold block stands


def build(items: Iterable[Gold], options: Mapping[str, Any], compared: bool = True) -> Iterator[Control]:
    """Logs that cite what they rank first; beside a perfect live log where the configuration compares."""
    made = list(items)
    depth = max([DEPTH, *_depths(options)])
    perfect = {item.qid: relevant(item) for item in made}
    best = _log(made, perfect)
    live = {"live": best} if compared else {}
    asked = [item for item in made if perfect[item.qid]]
    none = "" if asked else "no answerable question of the gold set names a relevant block or an anchor section"
    yield Control(name="perfect ranking", good=True, data={"shadow": best, **live})
    yield Control(name="echo of the query", data={"shadow": _log(made, {item.qid: _echo(item) for item in asked}), **live},
                  skip=none)  # fmt: skip
    last = {item.qid: [*_fillers(depth), *reversed(perfect[item.qid])] for item in asked}
    yield Control(name="reversed ranks", data={"shadow": _log(made, last), **live}, skip=none)
    drawn = _drawn(asked, perfect)
    hits = sum(_hits(item, drawn[item.qid][0], perfect[item.qid]) for item in asked)
    few = "" if 2 * hits <= len(asked) else f"{hits} of {len(asked)} draws are right by chance: there are too few ids"
    yield Control(name="random ids", data={"shadow": _log(made, drawn), **live}, skip=none or few)
    # Every other list lacks what the answer cites all the same: only a comparison with live sees that.
    half = {item.qid: _fillers(depth) if number % 2 == 0 else perfect[item.qid] for number, item in enumerate(asked)}
    yield Control(name="live better than shadow", data={"shadow": _log(made, half, perfect), **live},
                  skip=none or ("" if compared else "the configuration names no live log to compare with"))  # fmt: skip


def relevant(item: Gold) -> Blocks:
    """What an answer should cite, with as much of its place as the gold set knows; nothing where it should refuse."""
    if item.answerable is False:
        return []
    given: Sequence[str | Block] = item.relevant or item.citations
    found: Blocks = [{"id": place} if isinstance(place, str) else dict(msgspec.to_builtins(place)) for place in given]
    if not found and item.anchor_section:
        found = [{"id": "control-anchor-block", "section_id": item.anchor_section}]
    for block in found:
        if item.anchor_section and section_of(block["id"], block.get("section_id"), {}) is None:
            block["section_id"] = item.anchor_section
    return found


def _echo(item: Gold) -> Blocks:
    """The question itself comes back: as near to the question as can be, and no evidence."""
    return [{"id": "control-echo", "text": item.question or "?"}]


def _fillers(count: int) -> Blocks:
    return [{"id": f"control-filler-{number}", "offsets": [NOWHERE + 10 * number, NOWHERE + 10 * number + 9]}
            for number in range(1, count + 1)]  # fmt: skip


def _drawn(items: Sequence[Gold], perfect: Mapping[str, Blocks]) -> dict[str, Blocks]:
    """Blocks of the whole gold set, drawn for each question without looking at it."""
    known = list({block["id"]: block for item in items for block in perfect[item.qid]}.values())
    picks = iter(draws(DEPTH * len(items), len(known)))
    drawn = {}
    for item in items:
        own = [known[next(picks)] for _ in range(DEPTH)]
        drawn[item.qid] = list({block["id"]: block for block in own}.values())
    return drawn


def _hits(item: Gold, block: Mapping[str, Any], own: Blocks) -> bool:
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


def _line(item: Gold, blocks: Blocks, cited: Blocks) -> dict[str, Any]:
    scored = [block | {"score": round(1 - rank / 1000, 3)} for rank, block in enumerate(blocks, 1)]
    return {
        "qid": item.qid, "q": item.question, "seed": 1, "topk": scored,
        "delta_s": [_distance(item, block) for block in blocks], "embedder": "control",
        "answer_json": {"claim": "; ".join(item.substrings) or "?" if cited else TOKEN, "citations": cited},
    }  # fmt: skip


def _distance(item: Gold, block: Mapping[str, Any]) -> float:
    own = {*item.citations, *ids_of(item.relevant), "control-anchor-block"}
    return 0.0 if block["id"] == "control-echo" else NEAR if block["id"] in own else FAR


def _depths(options: Mapping[str, Any]) -> list[int]:
    k = options.get("k") or DEPTH
    return [k] if isinstance(k, int) else list(k)
