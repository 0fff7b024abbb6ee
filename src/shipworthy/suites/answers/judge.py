"""The judge of the answers suite: one case in, the facts about it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from ... import refusal
from ...cases import Case, Keep
from ...contracts import UNSET, Gold, Trace, ids_of
from ...text import fold, tidy
from .support import supported


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a verdict; it is printed in the report and is part of its digest."""

    k: tuple[int, ...] = (5,)
    min_substr: int = 5
    scu_enforced: bool = False
    keep: Keep = "last"
    closed: bool = False
    by: tuple[str, ...] = ()
    rule: refusal.RefusalRule  # the wider rule: the declared one, or the bundled one that is only watched
    declared: bool = False  # whether the wider rule counts as a refusal
    id_map: Any = None  # an IdMap: how ids are rewritten before they are compared
    rules: Any = None  # Rules of the contradiction rule, when the bundled ones are not enough
    chunks: Mapping[str, str] | None = None

    def shown(self) -> dict[str, object]:
        return {
            "k": list(self.k), "min_substr": self.min_substr, "scu_enforced": self.scu_enforced,
            "on_duplicate": self.keep, "closed": self.closed, "by": list(self.by), "refusal": self.rule.name if self.declared else "exact",
            "id_map": str(self.id_map) if self.id_map else None, "chunks": len(self.chunks) if self.chunks else None,
        }  # fmt: skip


class Expected(msgspec.Struct, frozen=True):
    """A gold item made ready for comparing: folded substrings, citations as a set."""

    substrings: tuple[str, ...]
    vacuous: bool  # an explicitly empty list: every claim contains it
    match_all: bool
    citations: frozenset[str]
    constraints: tuple[str, ...]


class Verdict(msgspec.Struct):
    """The facts about one question."""

    qid: str
    status: str  # shipped, refused, empty, missing, error
    answerable: bool
    contained: bool | None = None  # C
    cited: bool | None = None  # H; None where the gold item has no citation to hit
    constraint: str = ""  # "", ok, echo, contradiction
    correct: bool = False
    vacuous: bool = False
    has_citations: bool = False  # the gold item names evidence
    any_rank: int | None = None  # rank of the first gold id among the retrieved ids
    all_rank: int | None = None  # rank by which every gold id was retrieved
    out_of_scope: bool = False
    drifted: bool = False  # a refusal whose bytes are not the token
    near: bool = False  # an answer that contains the token
    wider: bool = False  # a refusal by the wider rule alone
    supported: bool | None = None
    uncited: bool = False  # shipped without any citation
    confidence: float | None = None
    reason: str = ""
    why: str = ""
    slices: tuple[str, ...] = ()
    trace: Trace | None = None


def expect(gold: Gold, options: Options) -> Expected:
    folded = tuple(text for text in map(fold, gold.substrings) if len(text) >= options.min_substr)
    cited = gold.citations if options.id_map is None else map(options.id_map.gold, gold.citations)
    return Expected(
        folded,
        gold.gold_claim_substr is not UNSET and not gold.substrings,
        gold.match == "all",
        frozenset(cited),
        tuple(gold.constraints),
    )


def contained(expected: Expected, claim: str) -> bool:
    """C: the claim contains a gold substring (all of them where the item says so)."""
    if expected.vacuous:
        return True
    if not expected.substrings:
        return False
    folded = fold(claim)
    found = (text in folded for text in expected.substrings)
    return all(found) if expected.match_all else any(found)


def hit(expected: Expected, citations: Collection[str], retrieved: Collection[str]) -> bool:
    """H: some citation is gold, and none lies outside what was retrieved."""
    return not expected.citations.isdisjoint(citations) and all(cited in retrieved for cited in citations)


def constraint(expected: Expected, claim: str, echo: Sequence[str], rules: Any = None) -> tuple[str, str]:
    """K: `ok` when the locked constraints are echoed and not contradicted, else what is wrong and why."""
    if not expected.constraints:
        return "", ""
    from ...contradiction import contradicts  # most gold sets have few constraints, and the rule has many words

    for locked in expected.constraints:
        if found := contradicts(locked, claim, rules):
            return "contradiction", f"{found.why}: {locked}"
    locked_list, echoed = Counter(map(tidy, expected.constraints)), Counter(map(tidy, echo))
    if locked_list == echoed:
        return "ok", ""
    dropped = "; ".join(locked_list - echoed) or "; ".join(echoed - locked_list)
    return "echo", f"not echoed as locked: {dropped}"


def judge(case: Case, options: Options) -> Verdict:
    """The verdict on a question: that of its trace, or of the worst of its traces where that was asked for."""
    expected = expect(case.gold, options)
    if not case.traces:
        return _explained(_blank(case.gold, expected, "missing"), options)
    verdicts = [_explained(_judge_trace(case.gold, expected, trace, options), options) for trace in case.traces]
    return verdicts[0] if len(verdicts) == 1 else min(verdicts, key=_badness)


def _blank(gold: Gold, expected: Expected, status: str) -> Verdict:
    return Verdict(gold.qid, status, bool(gold.answerable), has_citations=bool(expected.citations))


def _judge_trace(gold: Gold, expected: Expected, trace: Trace, options: Options) -> Verdict:
    if trace.error:
        verdict = _blank(gold, expected, "error")
        verdict.trace, verdict.why = trace, trace.error
        return verdict
    answer, retrieved = trace.answer, trace.retrieved
    citations = ids_of(answer.citations)
    if options.id_map is not None:
        retrieved, citations = list(map(options.id_map.trace, retrieved)), list(map(options.id_map.trace, citations))
    exact = refusal.is_exact(answer.claim)
    wider = not exact and options.rule.matches(answer.claim)
    refused = exact or (wider and options.declared)
    empty = not answer.claim.strip()
    verdict = _blank(gold, expected, "refused" if refused else "empty" if empty else "shipped")
    verdict.trace, verdict.confidence, verdict.wider = trace, trace.confidence, wider
    _rank(verdict, expected, retrieved)
    if refused:
        verdict.drifted = exact and refusal.is_drifted(answer.claim)
        return verdict
    verdict.vacuous = expected.vacuous
    verdict.contained = not empty and contained(expected, answer.claim)
    verdict.cited = (not empty and hit(expected, citations, retrieved)) if _hittable(verdict) else None
    verdict.out_of_scope = any(cited not in retrieved for cited in citations)
    verdict.uncited = not citations
    verdict.near = not empty and refusal.is_near(answer.claim)
    verdict.constraint, verdict.why = constraint(expected, answer.claim, answer.constraints_echo, options.rules)
    if options.chunks is not None and not empty:
        verdict.supported = supported(answer.claim, citations, expected.substrings, options.chunks)
    verdict.correct = verdict.answerable and verdict.contained and verdict.cited is not False
    return verdict


def _hittable(verdict: Verdict) -> bool:
    """An answerable item without gold citations has nothing to hit; an unanswerable one is a miss when answered."""
    return verdict.has_citations or not verdict.answerable


def _rank(verdict: Verdict, expected: Expected, retrieved: Sequence[str]) -> None:
    """Ranks of the first and the last gold id, each retrieved id counted once at its first place."""
    if not expected.citations:
        return
    rank, wanted = 0, set(expected.citations)
    for rank, found in enumerate(dict.fromkeys(retrieved), 1):
        if found in wanted:
            verdict.any_rank = verdict.any_rank or rank
            wanted.discard(found)
            if not wanted:
                verdict.all_rank = rank
                return


def _explained(verdict: Verdict, options: Options) -> Verdict:
    """Add the one reason, the most severe that applies, and settle whether constraints count."""
    kept = verdict.constraint in ("", "ok")
    if options.scu_enforced and not kept:
        verdict.correct = False
    if verdict.status in ("missing", "error", "empty"):
        verdict.reason = "empty" if verdict.status == "empty" else "missing"
    elif verdict.status == "refused":
        verdict.reason = "over-refusal" if verdict.answerable else ""
    elif not verdict.answerable:
        verdict.reason = "leak"
    elif not kept:
        verdict.reason = "constraint"
    elif verdict.out_of_scope:
        verdict.reason = "out-of-scope"
    elif verdict.cited is False:
        verdict.reason = "wrong-citation"
    elif not verdict.contained:
        verdict.reason = "containment"
    return verdict


def _badness(verdict: Verdict) -> int:
    from .offenders import SEVERITY

    return SEVERITY.get(verdict.reason, len(SEVERITY))
