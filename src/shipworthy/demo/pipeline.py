"""The demo pipeline: retrieve, rerank, answer, guard — a small grounded QA system without a model, and its faults.

question ─ lexical ∩ semantic, knee ─▶ blocks ─ rerank ─▶ candidates ─ pick ─▶ claim ─ guard ─▶ trace
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from ..errors import UsageError
from .answerer import REFUSAL, Candidate, GuardResult, check, constraints_echo, rerank, views
from .retrieval import EMBEDDER, INDEXES, Index, Scored, cut_at_knee, distance, fuse, lexical, normalise, semantic
from .retrieval import index as built_index

Trace = dict[str, object]
MAX_K, MAX_KNOB = 50, 10_000
TRIED = 3  # how many candidates the guard is shown before the pipeline refuses


@dataclass(frozen=True, slots=True)
class Knobs:
    """What a user may turn to trade accuracy for time."""

    k_lex: int = 20
    k_sem: int = 20
    intersect: bool = True
    rerank_depth: int = 12
    knee: bool = True
    slow_ms: int = 2400  # how long slow_tail waits


KNOBS = tuple(field.name for field in fields(Knobs))


def answer(
    question: str,
    *,
    qid: str = "",
    seed: int = 0,
    jitter: str = "none",
    knobs: Mapping[str, object] | None = None,
    faults: Collection[str] = (),
) -> Trace:
    """Answer one question or refuse it, and say everything about how: the trace of one run."""
    settings, struck = knobs_from(knobs), striking(checked(faults), question)
    trace, candidates = _run(question, built_index("live"), settings, struck)
    run = {"q": question, "seed": seed, "jitter": jitter, "knobs": dict(knobs or {})}
    return {**({"qid": qid} if qid else {}), **run, **trace, **_listed(candidates)}


def retrieve(question: str, *, index: str = "live", k: int = 10, seed: int = 0) -> Trace:
    """One line of a retrieval log: the first k blocks of an index, their ΔS, and what the answer would cite."""
    if index not in INDEXES:
        hint = f"Choose from: {', '.join(INDEXES)}."
        raise UsageError(f"unknown index {index!r}", hint=hint, code="demo-unknown-index")
    if not 1 <= k <= MAX_K:
        raise UsageError(f"k is {k}", hint=f"Ask for 1 to {MAX_K} blocks.", code="demo-bad-k")
    where = built_index(index)
    knobs = Knobs(k_lex=4 * k, k_sem=4 * k, intersect=False, knee=False)
    trace, shown = _run(question, where, knobs, k=k)
    delta_s = [distance(where, question, views(candidate)) for candidate in shown]
    return {"q": question, "seed": seed, **trace, **_listed(shown), "delta_s": delta_s, "embedder": EMBEDDER}


def knobs_from(given: Mapping[str, Any] | None) -> Knobs:
    """Knobs from a mapping; an unknown name or a value of the wrong kind is an error."""
    kinds = {field.name: field.type for field in fields(Knobs)}
    for name, value in (given or {}).items():
        if name not in kinds:
            hint = f"Choose from: {', '.join(kinds)}."
            raise UsageError(f"unknown knob {name!r}", hint=hint, code="demo-unknown-knob")
        if kinds[name] == "bool" and type(value) is not bool:
            raise UsageError(f"knob {name} is {value!r}", hint="Give true or false.", code="demo-bad-knob")
        if kinds[name] == "int" and not (type(value) is int and 1 <= value <= MAX_KNOB):
            hint = f"Give a whole number from 1 to {MAX_KNOB}."
            raise UsageError(f"knob {name} is {value!r}", hint=hint, code="demo-bad-knob")
    return Knobs(**(given or {}))


def _run(
    question: str, where: Index, knobs: Knobs, faults: frozenset[str] = frozenset(), k: int | None = None
) -> tuple[Trace, list[Candidate]]:
    clock = [time.perf_counter()]
    hits = _hits(question, where, knobs)
    if "drop_evidence" in faults:
        hits = hits[1:]
    clock.append(time.perf_counter())
    candidates = rerank(where, question, hits, knobs.rerank_depth)[:k]
    clock.append(time.perf_counter())
    drafts = candidates[:TRIED]
    if "slow_tail" in faults:
        time.sleep(knobs.slow_ms / 1000)
    clock.append(time.perf_counter())
    best, verdict = _pick(question, where, drafts)
    answered = _answered(best, _faulty(verdict, best, faults), candidates, faults)
    clock.append(time.perf_counter())
    return {**answered, "index_hash": where.hash, **_timed(clock)}, candidates


def _hits(question: str, where: Index, knobs: Knobs) -> Scored:
    lex = lexical(where, question, knobs.k_lex)
    sem = semantic(where, question, knobs.k_sem)
    fused = fuse(lex, sem, knobs.intersect)
    return cut_at_knee(fused) if knobs.knee else fused


def _pick(question: str, where: Index, drafts: list[Candidate]) -> tuple[Candidate | None, GuardResult]:
    """The first draft that the guard accepts, else the best one with the guard's objection to it."""
    if not drafts:
        return None, check(where, question, None)
    verdicts = [(draft, check(where, question, draft)) for draft in drafts]
    return next((pair for pair in verdicts if pair[1].ok), verdicts[0])


def _faulty(verdict: GuardResult, best: Candidate | None, faults: frozenset[str]) -> GuardResult:
    if "leak_refusal" in faults and not verdict.ok and best is not None:
        return GuardResult(True, "guard skipped", verdict.confidence)
    if "jitter_flip" in faults and verdict.ok:
        return GuardResult(False, "unreadable question", verdict.confidence)
    return verdict


def _answered(
    best: Candidate | None, verdict: GuardResult, candidates: list[Candidate], faults: frozenset[str]
) -> Trace:
    """The answer with its citation and locked rules, or the refusal token with neither."""
    common = {"ok": verdict.ok, "reason": verdict.reason, "confidence": verdict.confidence}
    if best is None or not verdict.ok:
        claim = {"claim": REFUSAL, "citations": [], "constraints_echo": []}
        return {"answer_json": claim, "answer_citations": [], **common}
    echo = [] if "unlock_constraint" in faults else constraints_echo(best)
    cited = cite_another(candidates) if "wrong_citation" in faults else best
    claim = {"claim": best.unit.text, "citations": [cited.block.id], "constraints_echo": echo}
    place = {"id": cited.block.id, "offsets": cited.block.offsets, "section_id": cited.block.section_id}
    return {"answer_json": claim, "answer_citations": [place], **common}


def _listed(candidates: list[Candidate]) -> Trace:
    topk = [
        {
            "id": candidate.block.id,
            "score": round(candidate.score, 6),
            "offsets": candidate.block.offsets,
            "type": candidate.block.type,
            "section_id": candidate.block.section_id,
        }
        for candidate in candidates
    ]
    evidence = [{"id": candidate.block.id, "text": candidate.block.text} for candidate in candidates[:TRIED]]
    return {"retrieved_ids": [hit["id"] for hit in topk], "topk": topk, "evidence": evidence}


def _timed(clock: list[float]) -> Trace:
    stages = ("retrieval", "rerank", "llm", "guard")
    spans = [round(1000 * (after - before), 3) for before, after in pairwise(clock)]
    return {
        "stage_ms": dict(zip(stages, spans, strict=True)),
        "e2e_ms": round(1000 * (clock[-1] - clock[0]), 3),
    }


# --- faults: ways to break it on purpose, each of which one gate should notice ---

FAULTS = {
    "drop_evidence": "the best block is lost before the answerer sees it, on two questions in five",
    "wrong_citation": "two answers in five cite another retrieved block",
    "leak_refusal": "one refusal in four is answered anyway",
    "unlock_constraint": "one answer in four does not repeat the locked rules",
    "jitter_flip": "a stray space, dash or doubled mark in the question makes the answer a refusal",
    "slow_tail": "about eight questions in a hundred wait in the answerer",
}
# How many questions a fault strikes, of how many; jitter_flip looks at the question's spelling instead.
SHARES = {
    "drop_evidence": (2, 5),
    "wrong_citation": (2, 5),
    "leak_refusal": (1, 4),
    "unlock_constraint": (1, 4),
    "slow_tail": (8, 100),
}
_UNTIDY = re.compile(r"\s[?,:;.]|\s{2,}|[–—]|[?]{2,}|^\s|\s$")


def checked(faults: Collection[str]) -> frozenset[str]:
    """The faults as a set, or an error that names the one we don't know."""
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(
                f"unknown fault {fault!r}",
                hint=f"Choose from: {', '.join(FAULTS)}.",
                code="demo-unknown-fault",
            )
    return frozenset(faults)


def striking(faults: frozenset[str], question: str) -> frozenset[str]:
    """Those of the faults that strike this question."""
    untidy = _UNTIDY.search(question) is not None
    asked = normalise(question)
    return frozenset(
        fault
        for fault in faults
        if (untidy if fault == "jitter_flip" else _draw(f"{fault} {asked}", SHARES[fault][1]) < SHARES[fault][0])
    )


def cite_another(candidates: list[Candidate]) -> Candidate:
    """The best candidate from another section, else the last one."""
    home = candidates[0].block.section_id
    others = [candidate for candidate in candidates if candidate.block.section_id != home]
    return others[0] if others else candidates[-1]


def _draw(key: str, of: int) -> int:
    """A number below `of` that depends on the text alone, so that the same requests are hit every time."""
    return zlib.crc32(key.encode("utf-8", "replace")) % of
