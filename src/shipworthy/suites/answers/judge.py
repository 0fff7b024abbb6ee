"""The judge of the answers suite: one case in, the facts about it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from ...core.contracts import Anchor, Gold, Trace, ids_of
from ...core.evidence import Judged, brief
from ...core.join import Case
from ...core.tally import Fact, held, more_held
from ...language import natural, refusal
from ...language.packs import is_read, language
from ...text import tidy
from . import matching
from .options import JudgingOptions, Options

if TYPE_CHECKING:
    from ...language.contradiction import Rules
    from ...reading.idmap import IdMap
    from .citing import Citing
    from .custom import Ready

# reasons, the most severe first: what an answer says comes before what it cites
SEVERITY = {
    reason: rank
    for rank, reason in enumerate(
        (
            "leak",
            "constraint",
            "constraint-echo",
            "forbidden",
            "contradicts-gold",
            "denied",
            "unclear",
            "containment",
            "out-of-scope",
            "wrong-citation",
            "over-refusal",
            "empty",
            "missing",
        )
    )
}


CITING = ("out-of-scope", "wrong-citation")  # reasons that are about citations alone
RETRIEVED_IDS = 10  # that the row of a failing item shows
CONFIDENCE_PLACES = 4  # of a confidence, by which answers are put together: ten thousand points make a curve
REFUSALS = "refusals"  # texts that refuse unanswerable questions in other words
_LONGEST_REFUSAL = 200  # characters that are kept of one, to quote it


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to judge an answer, made ready from the options: rules loaded, tables read."""

    rule: refusal.RefusalRule  # the wider rule: the declared one, or the bundled one that is only watched
    declared: bool = False  # whether the wider rule counts as a refusal
    min_substr: int = 5
    on_denied: str = "fail"
    lang: str = ""  # of all answers, unless a gold item names another
    require_language: bool = False
    scu_enforced: bool = False
    cites: bool = True  # else nobody asks what an answer cites
    logs_retrieval: bool = True  # else nobody asks whether it was retrieved
    id_map: IdMap | None = None  # how ids are rewritten before they are compared
    rules: Rules | None = None  # of the contradiction rule, when the bundled ones are not enough
    chunks: Mapping[str, str] | None = None
    citing: Citing | None = None  # how citations are matched with places, where that is not by id

    @classmethod
    def of(
        cls,
        options: JudgingOptions,
        rules: Rules | None = None,
        chunks: Mapping[str, str] | None = None,
        citing: Citing | None = None,
    ) -> Judging:
        return cls(
            rule=options.rule(),
            declared=options.declared,
            min_substr=options.min_substr,
            on_denied=getattr(options, "on_denied", "fail"),
            lang=options.lang,
            require_language=options.require_language,
            scu_enforced=getattr(options, "scu_enforced", False),
            cites=options.cites,
            logs_retrieval=options.logs_retrieval,
            id_map=options.mapped_ids(),
            rules=rules,
            chunks=chunks,
            citing=citing,
        )


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    judging: Judging
    compat: bool = True  # whether the reference's numbers are counted along
    custom: tuple[Ready, ...] = ()  # metrics that the config defines


class Expected(msgspec.Struct, frozen=True):
    """A gold item made ready for comparing: what its claim is matched with, citations as a set."""

    gold: Gold
    wanted: matching.Wanted
    vacuous: bool  # an explicitly empty list: every claim contains it
    citations: frozenset[str]
    places: tuple[Anchor, ...] = ()  # of the evidence, where citations are matched with places


class ItemRow(msgspec.Struct, gc=False):
    """The verdict on one question, as a report has it."""

    qid: str
    status: str  # shipped, refused, empty, missing, error
    correct: bool | None  # undefined where there is no answer
    contained: bool | None  # C
    cited: bool | None  # H; None where the gold item has no citation to hit
    constraint: str  # "", ok, echo, contradiction
    recall_rank: int | None  # rank of the first gold id among the retrieved ids
    reason: str
    answerable: bool
    all_rank: int | None  # rank by which every gold id was retrieved
    question: str
    claim: str  # what was answered; nothing where the run failed
    also: str | UnsetType = UNSET  # what is wrong with its citations, where the reason is another
    retrieved_ids: tuple[str, ...] | UnsetType = UNSET  # the first few, of what failed
    slices: tuple[str, ...] | UnsetType = UNSET


class Outline(msgspec.Struct, frozen=True, gc=False):
    """All that counts about an answer: those that agree in it have the same facts."""

    status: str
    answerable: bool
    correct: bool
    contained: bool | None = None
    cited: bool | None = None
    constraint: str = ""
    wrong: str = ""  # why an answer is wrong whatever it contains: forbidden, contradicts-gold
    denied: bool = False  # the claim has the expected text and denies it
    vacuous: bool = False
    has_citations: bool = False  # the gold item names evidence
    logged: bool = False  # its trace says what was retrieved, if only an empty list
    any_rank: int | None = None
    all_rank: int | None = None
    out_of_scope: bool = False
    drifted: bool = False  # a refusal whose bytes are not the token
    near: bool = False  # an answer that contains the token
    wider: bool = False  # a refusal by the wider rule alone
    doubtful: bool = False  # one that then says something that may be an answer
    unread: str = ""  # the language of an answer that denials and refusals can't be read in
    supported: bool | None = None
    uncited: bool = False  # shipped without any citation
    ids_cited: int = 0  # how many different ids it cites, where its gold item names some
    ids_hit: int = 0  # how many of them are gold
    confidence: float | None = None
    held: tuple[Fact, ...] = ()  # which values that gates may need its trace has and lacks


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """A run of a question, judged."""

    row: ItemRow
    outline: Outline
    trace: Trace | None = None
    retrieved: Sequence[str] = ()  # the ids of the trace, as it has them
    citations: Sequence[str] = ()

    @property
    def badness(self) -> int:
        return SEVERITY.get(self.row.reason, len(SEVERITY))


def expect(gold: Gold, judging: Judging) -> Expected:
    """The gold item made ready, once for all its runs."""
    places = judging.citing.anchors(gold) if judging.citing is not None else ()
    cited: Iterable[str]
    cited = gold.citations if judging.id_map is None else map(judging.id_map.gold, gold.citations)
    return Expected(
        gold,
        matching.wanted(gold, judging.on_denied, judging.lang),
        gold.gold_claim_substr == [],
        frozenset(judging.citing.names(places) if judging.citing and places else cited),
        places,
    )


def contained(expected: Expected, claim: str) -> bool:
    """C: the claim asserts what the gold item expects."""
    return expected.vacuous or matching.state(expected.wanted, claim) == matching.FOUND


def wrong(expected: Expected, claim: str, rules: Rules | None = None) -> tuple[str, str]:
    """Why an answer is wrong whatever it contains, and what shows it: a forbidden statement, or gold contradicted."""
    if statement := matching.forbidden(expected.wanted, claim) if expected.wanted.forbidden else "":
        return "forbidden", statement
    if expected.gold.gold_claim:
        from ...language.contradiction import contradicts

        if contradiction := contradicts(expected.gold.gold_claim, claim, rules):
            return "contradicts-gold", contradiction.why
    return "", ""


def constraint(expected: Expected, claim: str, echo: Sequence[str], rules: Rules | None = None) -> tuple[str, str]:
    """K: `ok` when the locked constraints are echoed and not contradicted, else what is wrong and why."""
    from ...language.contradiction import contradicts  # most gold sets have few constraints

    for locked in expected.gold.constraints:
        if contradiction := contradicts(locked, claim, rules):
            return "contradiction", f"{contradiction.why}: {locked}"
    locked_list, echoed = Counter(map(tidy, expected.gold.constraints)), Counter(map(tidy, echo))
    if locked_list == echoed:
        return "ok", ""
    dropped = "; ".join(locked_list - echoed) or "; ".join(echoed - locked_list)
    return "echo", dropped


def judge(case: Case, context: Context) -> tuple[Judged]:
    """What is known of a question: of its trace, or of the worst of its traces where that was asked for."""
    expected = expect(case.gold, context.judging)
    verdict = judge_traces(expected, case.records["trace"], context.judging)
    row, outline, trace = verdict.row, verdict.outline, verdict.trace
    slices: tuple[str, ...] = ()
    if context.options.by and (slices := slices_of(case.gold, context.options.by)):
        row.slices = slices
    shown: Any = row
    custom: tuple[Any, ...] = ()
    if context.custom:
        from .custom import judge_custom

        shown, custom = judge_custom(context.custom, row, trace, case.gold)
    by_reference = reference_facts(verdict, expected, context) if context.compat else ()
    worst = ((kind_of(row), (SEVERITY[row.reason], row.qid)),) if row.reason else ()
    seen: tuple[Any, ...] = ()
    if outline.wider and not outline.answerable and trace is not None:
        seen = ((REFUSALS, (trace.answer.claim[:_LONGEST_REFUSAL],)),)
    counted = (outline, slices, by_reference, custom)
    return (Judged(shown, counted, (row.qid,), worst, row.status in ("missing", "error"), seen),)


def judge_traces(expected: Expected, traces: Sequence[Trace], judging: Judging) -> Verdict:
    if len(traces) == 1:
        return judge_trace(expected, traces[0], judging)
    if traces:
        return min((judge_trace(expected, trace, judging) for trace in traces), key=attrgetter("badness"))
    return _unanswered(expected, None)


def _unanswered(expected: Expected, trace: Trace | None) -> Verdict:
    """A question without a run, or whose run failed."""
    gold, status = expected.gold, "missing" if trace is None else "error"
    row = ItemRow(gold.qid, status, None, None, None, "", None, "missing", bool(gold.answerable), None, "", "")
    row.question = brief(gold.question or (trace.asked if trace else ""))
    row.retrieved_ids = tuple(trace.retrieved[:RETRIEVED_IDS]) if trace else ()
    logged = trace is not None and trace.logs_retrieval
    outline = Outline(status, row.answerable, False, has_citations=bool(expected.citations), logged=logged)
    if trace is None:
        return Verdict(row, outline)
    return Verdict(row, outline, trace, trace.retrieved, ids_of(trace.answer.citations))


def _comparable(expected: Expected, trace: Trace, judging: Judging) -> tuple[list[str], list[str]]:
    """What was retrieved and cited, as the gold item names it: by mapped ids, or by the places that chunks hold."""
    retrieved, citations = trace.retrieved, ids_of(trace.answer.citations)
    if judging.id_map is not None:
        retrieved, citations = list(map(judging.id_map.trace, retrieved)), list(map(judging.id_map.trace, citations))
    if judging.citing is not None and expected.places:
        inside = set(retrieved) if judging.logs_retrieval else set(citations)  # what was not retrieved keeps its id
        scoped = [name for name in citations if name in inside]
        strays = [name for name in citations if name not in inside]
        citations = [*judging.citing.named(expected.places, scoped, trace), *strays]
        retrieved = judging.citing.named(expected.places, retrieved, trace)
    return retrieved, citations


def judge_trace(expected: Expected, trace: Trace, judging: Judging) -> Verdict:
    """The verdict on one run."""
    if trace.error:
        return _unanswered(expected, trace)
    gold, answer, wanted = expected.gold, trace.answer, expected.citations
    answerable, asked = bool(gold.answerable), gold.question or trace.asked
    claim = answer.claim
    retrieved, citations = listed, cited_ids = trace.retrieved, ids_of(answer.citations)
    exact = refusal.is_exact(claim)
    spoken = "" if exact else language(claim, asked, expected.wanted.lang)
    read_as = natural.ANSWER if exact else judging.rule.reads(claim, asked, spoken)
    # what is in doubt counts against the pipeline: it is no refusal where it should refuse
    wider = refusal.counts(read_as, in_doubt=answerable)
    refused = exact or (wider and judging.declared)
    empty = not (claim and claim.strip())
    status = "refused" if refused else "empty" if empty else "shipped"
    if judging.id_map is not None or expected.places:
        retrieved, citations = _comparable(expected, trace, judging)
    unread = "" if exact or empty or is_read(spoken) else spoken
    values = held_by(trace, refused)
    if unread and judging.require_language:
        values = more_held(values, lacks=(LANGUAGE,))
    any_rank, all_rank = _ranks(wanted, retrieved)
    contained, denied, unclear, near, against, support = _NOTHING_SAID
    cited, out_of_scope, ids_cited, ids_hit = _NOTHING_CITED
    constrained = ""
    if not refused:
        if judging.cites:
            scope = retrieved if judging.logs_retrieval else citations
            cited, out_of_scope, ids_cited, ids_hit = _cite(wanted, answerable, citations, scope)
        if gold.constraints:
            constrained = constraint(expected, claim, answer.constraints_echo, judging.rules)[0]
        if empty:
            contained, cited = False, None if cited is None else False
        else:
            contained, denied, unclear, near, against, support = _compare(
                expected, claim, cited_ids if expected.places else citations, judging, spoken
            )
    kept = constrained in ("", "ok")
    correct = answerable and contained is True and cited is not False and not against
    correct = correct and (kept or not judging.scu_enforced)
    reason = citing = ""
    if not (correct and kept and not out_of_scope):  # else nothing is held against it
        if status == "shipped":
            citing = "out-of-scope" if out_of_scope else "wrong-citation" if answerable and cited is False else ""
        reason = _reason(status, answerable, constrained, against, contained, denied, unclear) or citing
    row = ItemRow(
        gold.qid,
        status,
        None if refused else correct,
        contained,
        cited,
        constrained,
        any_rank,
        reason,
        answerable,
        all_rank,
        brief(asked),
        brief(claim),
    )
    if reason:
        row.retrieved_ids = tuple(listed[:RETRIEVED_IDS])
        if citing and citing != reason:
            row.also = citing
    outline = Outline(
        status,
        answerable,
        correct,
        contained,
        cited,
        constrained,
        against,
        denied,
        expected.vacuous and not refused,
        bool(wanted),
        trace.logs_retrieval,
        any_rank,
        all_rank,
        out_of_scope,
        exact and refusal.is_drifted(claim),
        near,
        wider,
        read_as == natural.DOUBTFUL,
        unread,
        support,
        not (refused or citations),
        ids_cited,
        ids_hit,
        None if trace.confidence is None else round(trace.confidence, CONFIDENCE_PLACES),
        values,
    )
    return Verdict(row, outline, trace, listed, cited_ids)


CLAIM, CITES, RETRIEVED = "answer_json.claim", "answer_json.citations", "retrieved_ids"
VALUES = (CLAIM, CITES, RETRIEVED)
LANGUAGE = "a language that can be read"  # where it is required


def held_by(trace: Trace, refused: bool) -> tuple[Fact, ...]:
    """Which of the values that gates may need a run has; a refusal need not say that it cites nothing."""
    cites = trace.answer.says_what_it_cites
    return _held(trace.gives_claim, None if refused and not trace.answer.citations else cites, trace.logs_retrieval)


@cache
def _held(claim: bool, cites: bool | None, retrieved: bool) -> tuple[Fact, ...]:
    there = dict(zip(VALUES, (claim, cites, retrieved), strict=True))
    return tuple(held((name for name in VALUES if there[name]), [name for name in VALUES if there[name] is False]))


_NOTHING_CITED: tuple[bool | None, bool, int, int] = None, False, 0, 0
_NOTHING_SAID: tuple[bool | None, bool, bool, bool, str, bool | None] = None, False, False, False, "", None


def _cite(
    wanted: frozenset[str], answerable: bool, citations: Sequence[str], scope: Sequence[str]
) -> tuple[bool | None, bool, int, int]:
    """H, whether something beyond the scope is cited, how many ids are cited, and how many of those are gold.

    H: some citation is gold, and none lies outside what was retrieved. An answerable item without gold citations has
    nothing to hit; an unanswerable one is a miss when answered.
    """
    out_of_scope = False
    for name in citations:
        if name not in scope:
            out_of_scope = True
            break
    different = citations if len(citations) == 1 else set(citations)
    hits = len(wanted.intersection(different)) if wanted else 0
    cited = bool(hits) and not out_of_scope if wanted or not answerable else None
    return cited, out_of_scope, len(different) if wanted else 0, hits


def _compare(
    expected: Expected, claim: str, citations: Sequence[str], judging: Judging, spoken: str
) -> tuple[bool | None, bool, bool, bool, str, bool | None]:
    """What an answer says beside what its gold item expects: C, denied, unclear, nearly a refusal, wrong, supported."""
    gold = expected.gold
    # a question that only the trace has tells how a refusal is meant, and not what is expected
    lang = spoken if gold.question else ""
    state = matching.FOUND if expected.vacuous else matching.state(expected.wanted, claim, lang)
    denied = state == matching.DENIED
    contained = state == matching.FOUND or (denied and judging.on_denied == "flag")
    against = wrong(expected, claim, judging.rules)[0] if gold.gold_claim or expected.wanted.forbidden else ""
    support = None
    if judging.chunks is not None and judging.cites:
        from .support import supported

        support = supported(claim, citations, gold.substrings, judging.chunks)
    return contained, denied, state == matching.UNCLEAR, refusal.is_near(claim), against, support


def _ranks(wanted: frozenset[str], retrieved: Sequence[str]) -> tuple[int | None, int | None]:
    """Ranks of the first and the last gold id, each retrieved id counted once at its first place."""
    if wanted.isdisjoint(retrieved):
        return None, None
    if len(wanted) == 1:
        (only,) = wanted
        place = retrieved.index(only)
        rank = len(set(retrieved[:place])) + 1 if place else 1
        return rank, rank
    ranks = [rank for rank, name in enumerate(dict.fromkeys(retrieved), 1) if name in wanted]
    return ranks[0], ranks[-1] if len(ranks) == len(wanted) else None


def _reason(
    status: str, answerable: bool, constrained: str, against: str, contained: bool | None, denied: bool, unclear: bool
) -> str:
    """What is held against it besides its citations, the most severe first; nothing where nothing is."""
    if status == "empty":
        return "empty"
    if status == "refused":
        return "over-refusal" if answerable else ""
    if not answerable:
        return "leak"
    if constrained not in ("", "ok"):
        return "constraint" if constrained == "contradiction" else "constraint-echo"
    if against:
        return against
    if not contained:
        return "denied" if denied else "unclear" if unclear else "containment"
    return ""


def kind_of(row: ItemRow) -> str:
    """The kind of a failing item: what is wrong in citations alone is apart, as one cause may be behind all of it."""
    return row.reason if row.reason in CITING else ""


def slices_of(gold: Gold, by: Collection[str]) -> tuple[str, ...]:
    """`type=table` for each of the fields that the item has."""
    if not by:
        return ()
    values = ((field, getattr(gold, field, None) or gold.fields.get(field)) for field in by)
    return tuple(f"{field}={value}" for field, value in values if isinstance(value, str))


# --- how the original script reads an item ---

LEAST = 5  # the shortest text that the original script looks for, once it is in lower case


def reference_facts(verdict: Verdict, expected: Expected, context: Context) -> tuple[str, ...]:
    """The reference's own reading of an item: a missing trace is a shipped empty answer there."""
    outline, trace, retrieved = verdict.outline, verdict.trace, verdict.retrieved
    claim = trace.answer.claim if trace is not None else ""
    # A table of ids is the strict profile's own; the original compares ids as they are written.
    wanted = expected.citations if context.judging.id_map is None else frozenset(expected.gold.citations)
    if _refused_there(outline, claim):
        if not outline.answerable:
            return _REFUSED
        return _OVER_RECALLED if wanted.issubset(retrieved[: context.options.k[0]]) else _OVER
    if not outline.answerable:
        return _UNDER
    found = 2 if wanted.issubset(retrieved[: context.options.k[0]]) else 0
    if not _hit_there(verdict, wanted, context):
        return _ANSWERED[found]
    right = expected.vacuous or _contains_there(claim.strip().lower(), expected.gold.substrings)
    return _HIT[found + right]


_REFUSED, _UNDER = ("unanswerable", "refused"), ("unanswerable", "answered", "under")
_OVER, _OVER_RECALLED = ("answerable", "refused", "over"), ("answerable", "refused", "recalled", "over")
_ANSWERED = {0: ("answerable", "answered"), 2: ("answerable", "answered", "recalled")}
_HIT = {  # not recalled, recalled; each not correct, correct
    found + right: (*_ANSWERED[found], "hit", *("correct",) * right) for found in (0, 2) for right in (0, 1)
}


def _refused_there(outline: Outline, claim: str) -> bool:
    """Whether the claim is the token to the original, which lowers letters and does not fold them."""
    if claim.isascii() and outline.status in ("shipped", "refused"):
        return outline.status == "refused" and not outline.wider
    return claim.strip().lower() == refusal.TOKEN


def _contains_there(claim: str, texts: Iterable[str]) -> bool:
    """Whether the claim has one of the texts, of those that are long enough."""
    for text in texts:
        lowered = text.lower()
        if len(lowered) >= LEAST and lowered in claim:
            return True
    return False


def _hit_there(verdict: Verdict, wanted: frozenset[str], context: Context) -> bool:
    """Whether some citation is gold and all were retrieved; without gold citations, whether nothing is cited."""
    outline, citations = verdict.outline, verdict.citations
    if not wanted:
        return not citations
    if outline.status == "shipped" and context.judging.id_map is None:
        return bool(outline.cited)  # the judge applied the same rule to the same ids
    return not wanted.isdisjoint(citations) and all(map(verdict.retrieved.__contains__, citations))
