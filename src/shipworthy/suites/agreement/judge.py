"""The judge of the agreement suite: what becomes of an answer that two validators looked at."""

from __future__ import annotations

import msgspec

from ...contracts import Gold, Trace
from .. import answers
from .pairs import Flags, Judgement, Pair


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a verdict; it is printed in the report and is part of its digest."""

    profile: str = "strict"
    source: str = "pairs"  # pairs, joined from two files, or derived from gold and traces

    def shown(self) -> dict[str, object]:
        return {"source": self.source}


class Verdict(msgspec.Struct):
    """The facts about one pair."""

    qid: str
    scholar: str
    auditor: str
    final: str  # VALID, NOT_IN_CONTEXT, REJECT, REVIEW
    why: str
    hard_flag: bool
    claim: str = ""
    citations: list[str] = []
    reasons: tuple[str, str] = ("", "")

    @property
    def agreed(self) -> bool:
        return self.scholar == self.auditor

    @property
    def flagged_agreement(self) -> bool:
        """Both accepted something that a hard flag forbids."""
        return self.agreed and self.scholar in ("VALID", "NOT_IN_CONTEXT") and self.hard_flag


def judge(pair: Pair, options: Options) -> Verdict:
    final, why = arbitrate(pair, options.profile)
    claim = pair.answer_json.claim if pair.answer_json else ""
    said = (pair.scholar.reason, pair.auditor.reason)
    return Verdict(
        str(pair.qid), pair.scholar.label, pair.auditor.label, final, why, pair.hard_flag, claim, pair.citations, said
    )


def arbitrate(pair: Pair, profile: str = "strict") -> tuple[str, str]:
    """The final word and why; every row gets one, also where the validators agree."""
    scholar, auditor = pair.scholar.label, pair.auditor.label
    if pair.hard_flag:
        return "REJECT", "hard_flag"
    if pair.out_of_scope:
        return "REJECT", "citation_out_of_scope"
    if scholar == auditor == "NOT_IN_CONTEXT":
        return "NOT_IN_CONTEXT", "both_refuse"
    if auditor != "VALID":
        return "REJECT", "auditor_veto"
    if scholar not in ("VALID", "NOT_IN_CONTEXT"):
        return "REJECT", "incoherent_pair"
    if pair.answer_json is not None and not pair.citations:
        return "REJECT", "uncited"
    if scholar == "NOT_IN_CONTEXT" and profile == "strict":
        return "REVIEW", "scholar_refuses"
    return "VALID", "auditor_ok"


# --- labels derived by rule, where no validator has spoken ---


def derive(gold: Gold, trace: Trace, found: answers.Verdict) -> Pair:
    """Both labels from gold and trace: scholar by C and H, auditor by scope, constraints and token discipline."""
    flags = Flags(found.out_of_scope, found.constraint not in ("", "ok"))
    return Pair(str(gold.qid), _scholar(found), _auditor(found, flags), trace.answer, list(trace.retrieved), flags)


def _scholar(found: answers.Verdict) -> Judgement:
    """Is it right? By what the gold set knows."""
    if found.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if found.status == "refused":
        if found.answerable:
            return Judgement("REJECT", "refused although it is answerable")
        return Judgement("NOT_IN_CONTEXT", "rightly refused")
    if found.answerable and found.contained and found.cited is not False:
        return Judgement("VALID", "contained and cited")
    why = "should have refused" if not found.answerable else "claim" if not found.contained else "citation"
    return Judgement("REJECT", why)


def _auditor(found: answers.Verdict, flags: Flags) -> Judgement:
    """Is it in order? By what can be seen without the gold claim."""
    if found.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if found.status == "refused":
        if found.drifted or found.wider:
            return Judgement("REJECT", "the refusal is not the exact token")
        return Judgement("NOT_IN_CONTEXT", "exact refusal")
    troubles = ((found.status == "empty", "no claim"), (flags.provenance_violation, "cites what was not retrieved"),
                (flags.constraints_mismatch, "breaks a constraint"), (found.near, "mixes an answer with a refusal"),
                (found.uncited, "cites nothing"))  # fmt: skip
    why = next((words for applies, words in troubles if applies), "")
    return Judgement("REJECT", why) if why else Judgement("VALID", "in order")
