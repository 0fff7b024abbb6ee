"""The judge of the agreement suite: what becomes of an answer that two validators looked at."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...core.contracts import Answer, Gold, Trace, ids_of
from ...core.join import Case
from ...core.tally import Fact, held
from ...language import refusal
from ..answers.judge import RETRIEVED, Judging, Outline, expect, held_by, judge_trace
from .options import Options
from .pairs import FLAGS, Flags, Judgement, Pair, PairLine, SideLine, merged

Source = Literal["pairs", "two files", "derived"]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    source: Source  # where the labels come from: pairs, joined from two files, or derived from gold and traces
    judging: Judging | None = None  # where they are derived


class Verdict(msgspec.Struct):
    """The facts about one pair, or what it lacks to be one."""

    qid: str
    scholar: str = ""
    auditor: str = ""
    final: str = ""  # VALID, NOT_IN_CONTEXT, REJECT, REVIEW
    why: str = ""
    hard_flag: bool = False
    claim: str = ""
    citations: list[str] = []
    reasons: tuple[str, str] = ("", "")
    answered: bool = False  # the answer is known, so that its citations could be looked at
    place: int = 0  # in the file whose order counts
    compared: bool = True  # both labels are there
    question: str = ""
    cites: bool | None = None  # whether a derived answer cites anything; None where it is none
    held: tuple[Fact, ...] = ()  # which values that gates may need it has and lacks
    unread: str = ""  # the language of a derived answer, where denials and refusals can't be read in it
    lacks: str = ""  # scholar_only, auditor_only, gold_only; without_trace is compared all the same

    @property
    def agreed(self) -> bool:
        return self.scholar == self.auditor

    @property
    def flagged_agreement(self) -> bool:
        """Both accepted something that a hard flag forbids."""
        return self.agreed and self.scholar in ("VALID", "NOT_IN_CONTEXT") and self.hard_flag


def verdict_on(case: Case, context: Context) -> Verdict:
    if context.source == "pairs":
        line: PairLine = case.records["pairs"][0]
        pair = line.pair
        if pair.answer_json is None and context.options.profile == "reference":
            pair = msgspec.structs.replace(pair, answer_json=Answer())  # the script reads no answer as one without text
        return judge_pair(pair, context.options, line.place)
    return _derived(case, context) if context.source == "derived" else _joined(case, context)


def _joined(case: Case, context: Context) -> Verdict:
    """Two lines of one qid; a trace that nobody labelled is no concern of this suite."""
    scholar: list[SideLine] = case.records["scholar"]
    auditor: list[SideLine] = case.records["auditor"]
    if not scholar or not auditor:
        lacks = "scholar_only" if scholar else "auditor_only" if auditor else ""
        return Verdict(case.key, compared=False, lacks=lacks)
    one, other = scholar[0], auditor[0]
    traces: list[Trace] | None = case.records.get("trace")
    pair = Pair(case.key, one.judgement, other.judgement, flags=merged(one.flags, other.flags))
    if traces:
        pair.answer_json, pair.retrieved_ids = traces[0].answer, list(traces[0].retrieved)
    verdict = judge_pair(pair, context.options, one.place)
    verdict.question = traces[0].asked if traces else ""
    verdict.lacks = "without_trace" if traces == [] else ""
    return verdict


def _derived(case: Case, context: Context) -> Verdict:
    gold: Gold = case.gold
    traces: list[Trace] = case.records["trace"]
    if not traces:
        return Verdict(case.key, compared=False, lacks="gold_only")
    assert context.judging is not None
    answer = judge_trace(expect(gold, context.judging), traces[0], context.judging).outline
    pair = derive(gold.qid, answer, traces[0], context.judging)
    verdict = judge_pair(pair, context.options, case.place)
    verdict.cites = not answer.uncited if answer.status in ("shipped", "empty") else None
    verdict.unread = answer.unread
    verdict.question = gold.question or traces[0].asked
    if not traces[0].error:
        verdict.held = held_by(traces[0], refused=refusal.is_exact(traces[0].answer.claim))
    verdict.citations = ids_of(traces[0].answer.citations)  # as they were logged, whatever they are compared as
    return verdict


def judge_pair(pair: Pair, options: Options, place: int = 0) -> Verdict:
    """The verdict on a pair that has both labels."""
    final, why = arbitrate(pair, options)
    return Verdict(
        str(pair.qid),
        pair.scholar.label,
        pair.auditor.label,
        final,
        why,
        pair.hard_flag,
        pair.answer_json.claim if pair.answer_json else "",
        pair.citations,
        (pair.scholar.reason, pair.auditor.reason),
        answered=pair.answer_json is not None,
        place=place,
        held=_held(pair),
    )


def _held(pair: Pair) -> tuple[Fact, ...]:
    """A flag that is written as not raised somewhere is written everywhere; only raised ones may stand alone."""
    raised = {f"flags.{name}": getattr(pair.flags, name, None) for name in FLAGS}
    has = [name for name, value in raised.items() if value is False]
    lacks = [name for name, value in raised.items() if value is None]
    if pair.citations:
        (lacks if pair.retrieved_ids is None else has).append(RETRIEVED)
    return tuple(held(has, lacks))


def arbitrate(pair: Pair, options: Options) -> tuple[str, str]:
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
    if pair.answer_json is not None and not pair.citations and options.cites:
        return "REJECT", "uncited"
    if scholar == "NOT_IN_CONTEXT" and options.profile == "strict":
        return "REVIEW", "scholar_refuses"
    return "VALID", "auditor_ok"


# --- labels derived by rule, where no validator has spoken ---


def derive(qid: str, verdict: Outline, trace: Trace, judging: Judging) -> Pair:
    """Both labels from gold and trace: scholar by C and H, auditor by scope, constraints and token discipline."""
    flags = Flags(verdict.out_of_scope, verdict.constraint not in ("", "ok"))
    answer, retrieved = _mapped(trace, judging)
    if not judging.cites:
        answer = msgspec.structs.replace(answer, citations=[])
    elif not judging.logs_retrieval:
        retrieved = ids_of(answer.citations)  # nothing to hold them against
    return Pair(qid, _scholar(verdict), _auditor(verdict, flags, judging), answer, list(retrieved), flags)


def _mapped(trace: Trace, judging: Judging) -> tuple[Answer, list[str]]:
    """The answer and what was retrieved, under the ids by which they are compared."""
    if judging.id_map is None:
        return trace.answer, trace.retrieved
    rename = judging.id_map.trace
    answer = msgspec.structs.replace(trace.answer, citations=list(map(rename, ids_of(trace.answer.citations))))
    return answer, list(map(rename, trace.retrieved))


def _scholar(verdict: Outline) -> Judgement:
    """Is it right? By what the gold set knows."""
    if verdict.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if verdict.status == "refused":
        if verdict.answerable:
            return Judgement("REJECT", "refused an answerable question")
        return Judgement("NOT_IN_CONTEXT", "correctly refused")
    if verdict.answerable and verdict.contained and verdict.cited is not False:
        return Judgement("VALID", "correct and correctly cited")
    why = (
        "should have refused"
        if not verdict.answerable
        else "wrong answer"
        if not verdict.contained
        else "wrong citation"
    )
    return Judgement("REJECT", why)


def _auditor(verdict: Outline, flags: Flags, judging: Judging) -> Judgement:
    """Is it in order? By what can be seen without the gold claim."""
    if verdict.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if verdict.status == "refused":
        if verdict.drifted or verdict.wider:
            return Judgement("REJECT", "the refusal is not the exact token")
        return Judgement("NOT_IN_CONTEXT", "exact refusal")
    troubles = (
        (verdict.status == "empty", "no answer text"),
        (flags.provenance_violation, "cites a source that was not retrieved"),
        (flags.constraints_mismatch, "breaks a constraint"),
        (verdict.near, "mixes an answer with a refusal"),
        (verdict.uncited and judging.cites, "cites nothing"),
    )
    why = next((words for applies, words in troubles if applies), "")
    return Judgement("REJECT", why) if why else Judgement("VALID", "no problem found")
