"""The judge of the agreement suite: its options, pairs as they are read, and what becomes of each answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal, NamedTuple

import msgspec

from ...core.contracts import Answer, Place, Trace, ids_of
from ...core.evidence import Judged, Order, Row, brief
from ...core.inputs import Input, Records, Stream, raise_later
from ...core.join import Case, Once
from ...core.sources import read_records
from ...core.tally import Fact, held
from ...language import refusal
from ...reading.jsonl import Problem
from ..answers.judge import RETRIEVED, Judging, expect, held_by, judge_trace
from ..answers.judge import Outline as Answered
from ..answers.options import JudgingOptions, Profile
from ..bars import share


class Options(JudgingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the agreement suite."""

    profile: Profile = "strict"
    pa_gate: Annotated[
        str | None, share("Lowest share of equal labels allowed.  [default: 0.90]", flags=("--pa_gate",))
    ] = None
    kappa_gate: Annotated[
        str | None, share("Lowest kappa allowed.  [default: 0.75]", "NUMBER", flags=("--kappa_gate",))
    ] = None
    abstain_gate: Annotated[
        str | None,
        share("Highest abstention rate allowed for either validator.  [default: 0.02]", flags=("--abstain_gate",)),
    ] = None

    @property
    def short_gates(self) -> list[str]:
        """The gates that have an option of their own, as they are written under `gates`."""
        given = {"percent_agreement": self.pa_gate, "kappa": self.kappa_gate, "abstain_rate": self.abstain_gate}
        return [f"{metric}={bound}" for metric, bound in given.items() if bound is not None]


# --- pairs: what two validators said about one answer, and the shapes in which that arrives ---

LABELS = ("VALID", "NOT_IN_CONTEXT", "REJECT", "ABSTAIN")
_READ_AS = {"INVALID": "REJECT"} | {label: label for label in LABELS}


class Judgement(msgspec.Struct):
    """A validator's word on one answer."""

    label: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.label not in _READ_AS:
            raise ValueError(f"label: expected one of {', '.join(LABELS)}, got {self.label!r}")
        self.label = _READ_AS[self.label]


FLAGS = ("provenance_violation", "constraints_mismatch")


class Flags(msgspec.Struct):
    """What disqualifies an answer whatever the validators say."""

    provenance_violation: bool | None = None
    constraints_mismatch: bool | None = None


def merged(one: Flags | None, other: Flags | None) -> Flags | None:
    """A flag that either validator raises is raised."""
    if one is None or other is None:
        return one or other
    return Flags(*(_either(getattr(one, name), getattr(other, name)) for name in FLAGS))


def _either(one: bool | None, other: bool | None) -> bool | None:
    return other if one is None else one if other is None else one or other


class Pair(msgspec.Struct):
    """One answer with both judgements."""

    qid: str | int
    scholar: Judgement
    auditor: Judgement
    answer_json: Answer | None = None
    retrieved_ids: list[str | Place] | None = None
    flags: Flags | None = None

    @property
    def hard_flag(self) -> bool:
        return self.flags is not None and any(getattr(self.flags, name) for name in FLAGS)

    @property
    def citations(self) -> list[str]:
        return ids_of(self.answer_json.citations) if self.answer_json else []

    @property
    def out_of_scope(self) -> bool:
        """Some citation is not among what was retrieved; unknown where the pair has no answer."""
        return not set(self.citations) <= set(ids_of(self.retrieved_ids or []))

    @property
    def agreed(self) -> bool:
        return self.scholar.label == self.auditor.label


class OneSided(msgspec.Struct):
    """A line of one validator's own file: the judgement stands in the line, or under the validator's name."""

    qid: str | int
    label: str | None = None
    reason: str = ""
    scholar: Judgement | None = None
    auditor: Judgement | None = None
    flags: Flags | None = None

    def judgement(self, role: str) -> Judgement:
        nested: Judgement | None = getattr(self, role)
        if nested is not None:
            return nested
        if self.label is None:
            raise ValueError(f"label: expected one of {', '.join(LABELS)}, found none")
        return Judgement(self.label, self.reason)


class SideLine(msgspec.Struct, frozen=True):
    """The same made ready. The reference lists disagreements in the order of the file, so its place comes along."""

    qid: str
    place: int
    judgement: Judgement
    flags: Flags | None = None


def stream_pairs(source: object, read: Input) -> Stream:
    """Pairs one by one; bad lines are raised together when all of them are known."""
    return Stream(source, read, Records(_pairs, _name), raise_later)


def stream_side(source: object, role: str, read: Input) -> Stream:
    """One validator's labels, likewise."""
    return Stream(source, read, Records(partial(_side, role=role), _name), raise_later)


def one_each(lenient: bool) -> Once:
    """One line for an answer: a repeated qid is a problem that names both lines."""
    return Once(_qid, "duplicate qid {!r}", "Give each answer one line.", "pair-repeated", lenient)


def _pairs(source: object, read: Input) -> Iterator[tuple[int, Pair]]:
    return read_records(source, Pair, read, "pairs", read.found, label_code="label")


def _side(source: object, read: Input, role: str) -> Iterator[tuple[int, SideLine]]:
    for place, line in read_records(source, OneSided, read, role, read.found, label_code="label"):
        try:
            judgement = line.judgement(role)
        except ValueError as error:
            read.found.add(Problem(read.path, place, str(error), "", "label"))
            continue
        yield place, SideLine(str(line.qid), place, judgement, line.flags)


def _name(line: Pair | SideLine) -> str:
    return str(line.qid)


def _qid(line: Pair | SideLine) -> tuple[str]:
    return (str(line.qid),)


# --- judge ---

# The rule that decided about a pair, in words.
WHY = {
    "hard_flag": "a hard flag is set (wrong citation or broken constraint)",
    "citation_out_of_scope": "cites a source that was not retrieved",
    "both_refuse": "both say that the context has no answer",
    "auditor_veto": "the auditor does not accept it",
    "incoherent_pair": "the auditor accepts it, the scholar does not",
    "uncited": "the answer cites nothing",
    "scholar_refuses": "the scholar finds no answer in the context, the auditor accepts it",
    "auditor_ok": "the auditor accepts it",
}
Source = Literal["pairs", "two files", "derived"]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    source: Source  # where the labels come from: pairs, joined from two files, or derived from gold and traces
    judging: Judging | None = None  # where they are derived


class PairRow(msgspec.Struct, gc=False):
    """The verdict on one pair, as a report has it."""

    qid: str
    scholar: str
    auditor: str
    final: str  # VALID, NOT_IN_CONTEXT, REJECT, REVIEW
    why: str
    passed: bool  # the labels are the same, and no hard flag forbids what both accept
    question: str
    claim: str


class Outline(NamedTuple):
    """All that counts about a pair, or the side that a question lacks to be one."""

    scholar: str = ""
    auditor: str = ""
    final: str = ""
    flagged: bool = False  # both accepted something that a hard flag forbids
    answered: bool = False  # the answer is known, so that its citations could be looked at
    cites: bool | None = None  # whether a derived answer cites anything; None where it is none
    unread: str = ""  # the language of a derived answer, where denials and refusals can't be read in it
    held: tuple[Fact, ...] = ()  # which values that gates may need it has and lacks
    lacks: str = ""  # scholar_only, auditor_only, gold_only; without_trace is compared all the same


def judge(case: Case, context: Context) -> tuple[Judged]:
    """The row of a pair, by qid; the reference goes through them in the order of the file."""
    options, traces = context.options, case.records.get("trace")
    # A gold item without a trace, or whose run failed: two validators who abstain would agree about nothing.
    lost = case.gold is not None and (not traces or bool(traces[0].error))
    pair, answer = _pair_of(case, context)
    if pair is None:
        return (Judged(None, Outline(lacks=_side_of(case)), lost=lost),)
    final, why = arbitrate(pair, options)
    scholar, auditor, agreed = pair.scholar.label, pair.auditor.label, pair.agreed
    flagged = agreed and scholar in ("VALID", "NOT_IN_CONTEXT") and pair.hard_flag
    claim = pair.answer_json.claim if pair.answer_json else ""
    question = _question(case)
    row = PairRow(case.key, scholar, auditor, final, why, agreed and not flagged, brief(question), brief(claim))
    outline = Outline(scholar, auditor, final, flagged, pair.answer_json is not None, held=_held(pair))
    if answer is None:
        outline = outline._replace(lacks="without_trace" if traces == [] else "")
    else:
        cites = not answer.uncited if answer.status in ("shipped", "empty") else None
        outline = outline._replace(cites=cites, unread=answer.unread)
        if traces and not traces[0].error:
            refused = refusal.is_exact(traces[0].answer.claim)
            outline = outline._replace(held=held_by(traces[0], refused))
    # Flagged agreements first, then disagreements in which an answer was accepted by one side.
    accepted = "VALID" in (scholar, auditor)
    worst = () if row.passed else (("", (not flagged, not accepted, case.key)),)
    place = (
        0 if options.profile != "reference" else case.records["scholar"][0].place if _is_joined(case) else case.place
    )
    return (Judged(row, outline, (place, case.key), worst, lost),)


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    """Both labels with their reasons, and the resulting label with the rule behind it."""
    pair, _ = _pair_of(case, context)
    assert pair is not None
    final, why = arbitrate(pair, context.options)
    traces = case.records.get("trace")
    # Citations as they were logged, whatever they are compared as.
    citations = ids_of(traces[0].answer.citations) if traces else pair.citations
    sides = ("scholar", pair.scholar), ("auditor", pair.auditor)
    said = ", ".join(f"{role} {one.label}{f' ({one.reason})' if one.reason else ''}" for role, one in sides)
    return {
        "qid": case.key,
        "reason": "flagged-agreement" if pair.agreed else "disagreement",
        "says": f"{said}; result {final}: {WHY[why]}",
        "question": _question(case),
        "claim": (pair.answer_json.claim if pair.answer_json else "") or None,
        "citations": citations,
    }


def _question(case: Case) -> str:
    traces = case.records.get("trace")
    return (case.gold.question if case.gold else "") or (traces[0].asked if traces else "")


def _is_joined(case: Case) -> bool:
    return "scholar" in case.records


def _side_of(case: Case) -> str:
    """The only side that there is; a trace that nobody labelled is no concern of this suite."""
    if case.gold is not None:
        return "gold_only"
    return next((f"{role}_only" for role in ("scholar", "auditor") if case.records[role]), "")


def _pair_of(case: Case, context: Context) -> tuple[Pair | None, Answered | None]:
    """Both labels of a question, None where one is missing; with the answer that they were derived from."""
    traces: list[Trace] = case.records.get("trace", [])
    if case.gold is not None:
        if not traces:
            return None, None
        assert context.judging is not None
        answer = judge_trace(expect(case.gold, context.judging), traces[0], context.judging).outline
        return derive(case.key, answer, traces[0], context.judging), answer
    if _is_joined(case):
        scholar: list[SideLine] = case.records["scholar"]
        auditor: list[SideLine] = case.records["auditor"]
        if not scholar or not auditor:
            return None, None
        one, other = scholar[0], auditor[0]
        pair = Pair(case.key, one.judgement, other.judgement, flags=merged(one.flags, other.flags))
        if traces:
            pair.answer_json, pair.retrieved_ids = traces[0].answer, list(traces[0].retrieved)
        return pair, None
    pair = case.records["pairs"][0]
    if pair.answer_json is None and context.options.profile == "reference":
        pair = msgspec.structs.replace(pair, answer_json=Answer())  # the script reads no answer as one without text
    return pair, None


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


def derive(qid: str, outline: Answered, trace: Trace, judging: Judging) -> Pair:
    """Both labels from gold and trace: scholar by C and H, auditor by scope, constraints and token discipline."""
    flags = Flags(outline.out_of_scope, outline.constraint not in ("", "ok"))
    answer, retrieved = trace.answer, trace.retrieved
    if judging.id_map is not None:  # the ids by which they are compared
        rename = judging.id_map.trace
        answer = msgspec.structs.replace(answer, citations=list(map(rename, ids_of(answer.citations))))
        retrieved = list(map(rename, retrieved))
    if not judging.cites:
        answer = msgspec.structs.replace(answer, citations=[])
    elif not judging.logs_retrieval:
        retrieved = ids_of(answer.citations)  # nothing to hold them against
    return Pair(qid, _scholar(outline), _auditor(outline, flags, judging), answer, list(retrieved), flags)


def _scholar(answer: Answered) -> Judgement:
    """Is it right? By what the gold set knows."""
    if answer.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if answer.status == "refused":
        if answer.answerable:
            return Judgement("REJECT", "refused an answerable question")
        return Judgement("NOT_IN_CONTEXT", "correctly refused")
    if answer.answerable and answer.contained and answer.cited is not False:
        return Judgement("VALID", "correct and correctly cited")
    why = (
        "should have refused" if not answer.answerable else "wrong answer" if not answer.contained else "wrong citation"
    )
    return Judgement("REJECT", why)


def _auditor(answer: Answered, flags: Flags, judging: Judging) -> Judgement:
    """Is it in order? By what can be seen without the gold claim."""
    if answer.status == "error":
        return Judgement("ABSTAIN", "the run failed")
    if answer.status == "refused":
        if answer.drifted or answer.wider:
            return Judgement("REJECT", "the refusal is not the exact token")
        return Judgement("NOT_IN_CONTEXT", "exact refusal")
    troubles = (
        (answer.status == "empty", "no answer text"),
        (flags.provenance_violation, "cites a source that was not retrieved"),
        (flags.constraints_mismatch, "breaks a constraint"),
        (answer.near, "mixes an answer with a refusal"),
        (answer.uncited and judging.cites, "cites nothing"),
    )
    why = next((words for applies, words in troubles if applies), "")
    return Judgement("REJECT", why) if why else Judgement("VALID", "no problem found")
