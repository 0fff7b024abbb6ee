"""The judge of the answers suite: one case in, the facts about it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from ...core.contracts import Anchor, Gold, Trace, ids_of
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
    from .custom import Ready, Value

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


class Outline(msgspec.Struct):
    """What counting asks of a verdict: those that agree in it have the same facts, which are shared between them."""

    status: str  # shipped, refused, empty, missing, error
    answerable: bool
    contained: bool | None = None  # C
    cited: bool | None = None  # H; None where the gold item has no citation to hit
    constraint: str = ""  # "", ok, echo, contradiction
    correct: bool = False
    denied: bool = False  # the claim has the expected text and denies it
    unclear: bool = False  # the claim may say yes as well as no
    wrong: str = ""  # why an answer is wrong whatever it contains: forbidden, contradicts-gold
    vacuous: bool = False
    has_citations: bool = False  # the gold item names evidence
    logged: bool = False  # its trace says what was retrieved, if only an empty list
    any_rank: int | None = None  # rank of the first gold id among the retrieved ids
    all_rank: int | None = None  # rank by which every gold id was retrieved
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
    reason: str = ""
    held: tuple[Fact, ...] = ()  # which values that gates may need its trace has and lacks


class Verdict(Outline, kw_only=True):
    """The facts about one question, and what they are about."""

    qid: str
    why: str = ""
    also: str = ""  # the reason in its citations, where a worse one is in what it says
    slices: tuple[str, ...] = ()
    trace: Trace | None = None
    claim: str = ""  # what was answered; nothing where the run failed
    retrieved: Sequence[str] = ()  # the ids of the trace as it has them
    citations: Sequence[str] = ()
    expected: Expected | None = None
    custom: dict[str, Value] = {}  # what the metrics of the config say of it


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


def judge(case: Case, context: Context) -> Verdict:
    """The verdict on a question: that of its trace, or of the worst of its traces where that was asked for."""
    traces = case.records["trace"]
    if len(traces) == 1:
        verdict = judge_trace(case.gold, traces[0], context.judging)
    else:
        verdict = judge_traces(case.gold, traces, context.judging)
    if context.options.by:
        verdict.slices = slices_of(case.gold.gold, context.options.by)
    if context.custom:
        from .custom import values

        verdict.custom = values(context.custom, verdict)
    return verdict


def judge_traces(expected: Expected, traces: Sequence[Trace], judging: Judging) -> Verdict:
    if not traces:
        return _explained(_blank(expected, "missing"), judging)
    return min((judge_trace(expected, trace, judging) for trace in traces), key=badness)


def judge_trace(expected: Expected, trace: Trace, judging: Judging) -> Verdict:
    """The verdict on one run."""
    return _explained(_judged(expected, trace, judging), judging)


def _blank(expected: Expected, status: str) -> Verdict:
    """What is known of a question before any claim is read."""
    gold = expected.gold
    return Verdict(
        status, bool(gold.answerable), qid=gold.qid, has_citations=bool(expected.citations), expected=expected
    )


def _judged(expected: Expected, trace: Trace, judging: Judging) -> Verdict:
    if trace.error:
        verdict = _blank(expected, "error")
        verdict.trace, verdict.why, verdict.logged = trace, trace.error, trace.logs_retrieval
        verdict.retrieved, verdict.citations = trace.retrieved, ids_of(trace.answer.citations)
        return verdict
    answer = trace.answer
    claim, retrieved, citations = answer.claim, trace.retrieved, ids_of(answer.citations)
    exact = refusal.is_exact(claim)
    asked, lang = expected.gold.question or trace.asked, expected.wanted.lang
    read_as = natural.ANSWER if exact else judging.rule.reads(claim, asked, lang)
    # what is in doubt counts against the pipeline: it is no refusal where it should refuse
    wider = refusal.counts(read_as, in_doubt=bool(expected.gold.answerable))
    refused = exact or (wider and judging.declared)
    empty = not (claim and claim.strip())
    verdict = _blank(expected, "refused" if refused else "empty" if empty else "shipped")
    verdict.trace, verdict.claim, verdict.confidence, verdict.wider = trace, claim, trace.confidence, wider
    verdict.doubtful = read_as == natural.DOUBTFUL
    verdict.vacuous = expected.vacuous and not refused
    verdict.retrieved, verdict.citations, verdict.logged = retrieved, citations, trace.logs_retrieval
    if judging.id_map is not None:
        retrieved, citations = list(map(judging.id_map.trace, retrieved)), list(map(judging.id_map.trace, citations))
    if judging.citing is not None and expected.places:
        inside = set(retrieved) if judging.logs_retrieval else set(citations)  # what was not retrieved keeps its id
        scoped = [name for name in citations if name in inside]
        strays = [name for name in citations if name not in inside]
        citations = [*judging.citing.named(expected.places, scoped, trace), *strays]
        retrieved = judging.citing.named(expected.places, retrieved, trace)
    verdict.held = held_by(trace, refused)
    if not (exact or empty) and (spoken := language(claim, asked, lang)) != "en" and not is_read(spoken):
        verdict.unread = spoken
        verdict.held = more_held(verdict.held, lacks=(LANGUAGE,)) if judging.require_language else verdict.held
    _rank(verdict, expected.citations, retrieved)
    if refused:
        verdict.drifted = exact and refusal.is_drifted(claim)
    else:
        verdict.uncited = not citations
        if judging.cites:
            _cite(verdict, expected, retrieved if judging.logs_retrieval else citations, citations)
        if expected.gold.constraints:
            verdict.constraint, verdict.why = constraint(expected, claim, answer.constraints_echo, judging.rules)
        if empty:
            verdict.contained = False
        else:
            _compare(verdict, expected, citations, judging)
    return verdict


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


def _cite(verdict: Verdict, expected: Expected, retrieved: Sequence[str], citations: Sequence[str]) -> None:
    """What an answer cites, beside what was retrieved and what its gold item names."""
    out_of_scope = False
    for name in citations:
        if name not in retrieved:
            out_of_scope = verdict.out_of_scope = True
            break
    if verdict.has_citations and citations:
        cited = citations if len(citations) == 1 else set(citations)
        verdict.ids_cited, verdict.ids_hit = len(cited), len(expected.citations.intersection(cited))
    if verdict.has_citations or not verdict.answerable:
        # H: some citation is gold, and none lies outside what was retrieved. An answerable item without gold citations
        # has nothing to hit; an unanswerable one is a miss when answered.
        hit = not (out_of_scope or expected.citations.isdisjoint(citations))
        verdict.cited = hit and verdict.status != "empty"


def _compare(verdict: Verdict, expected: Expected, citations: Sequence[str], judging: Judging) -> None:
    """What an answer says, beside what its gold item expects."""
    gold, claim = expected.gold, verdict.claim
    found = matching.FOUND if expected.vacuous else matching.state(expected.wanted, claim)
    if found == matching.FOUND:
        verdict.contained = True
    else:
        verdict.denied, verdict.unclear = found == matching.DENIED, found == matching.UNCLEAR
        verdict.contained = verdict.denied and judging.on_denied == "flag"
    verdict.near = refusal.is_near(claim)
    if gold.gold_claim or expected.wanted.forbidden:
        verdict.wrong, shown = wrong(expected, claim, judging.rules)
        verdict.why = verdict.why or shown
    if judging.chunks is not None and judging.cites:
        from .support import supported

        verdict.supported = supported(claim, citations, gold.substrings, judging.chunks)
    verdict.correct = verdict.answerable and verdict.contained and verdict.cited is not False and not verdict.wrong


def _rank(verdict: Verdict, wanted: frozenset[str], retrieved: Sequence[str]) -> None:
    """Ranks of the first and the last gold id, each retrieved id counted once at its first place."""
    if wanted.isdisjoint(retrieved):
        return
    if len(wanted) == 1:
        (only,) = wanted
        place = retrieved.index(only)
        verdict.any_rank = verdict.all_rank = len(set(retrieved[:place])) + 1 if place else 1
        return
    ranks = [rank for rank, name in enumerate(dict.fromkeys(retrieved), 1) if name in wanted]
    verdict.any_rank = ranks[0]
    verdict.all_rank = ranks[-1] if len(ranks) == len(wanted) else None


def _explained(verdict: Verdict, judging: Judging) -> Verdict:
    """Add the one reason, the most severe that applies, and apply constraints where they are enforced."""
    kept = verdict.constraint in ("", "ok")
    if judging.scu_enforced and not kept:
        verdict.correct = False
    if verdict.correct and kept and not verdict.out_of_scope:
        return verdict  # an answer with nothing against it
    citing = _citing_reason(verdict) if verdict.status == "shipped" else ""
    verdict.reason = _reason(verdict, kept) or citing
    verdict.also = citing if verdict.reason != citing else ""
    return verdict


def _citing_reason(verdict: Verdict) -> str:
    """What is wrong with the citations of an answer; where there is nothing to cite, a miss is no finding."""
    if verdict.out_of_scope:
        return "out-of-scope"
    return "wrong-citation" if verdict.answerable and verdict.cited is False else ""


def _reason(verdict: Verdict, kept: bool) -> str:
    """What is held against it besides its citations, the most severe first; nothing where nothing is."""
    if verdict.status in ("missing", "error", "empty"):
        return "empty" if verdict.status == "empty" else "missing"
    if verdict.status == "refused":
        return "over-refusal" if verdict.answerable else ""
    if not verdict.answerable:
        return "leak"
    if not kept:
        return "constraint" if verdict.constraint == "contradiction" else "constraint-echo"
    if verdict.wrong:
        return verdict.wrong
    if not verdict.contained:
        return "denied" if verdict.denied else "unclear" if verdict.unclear else "containment"
    return ""


def unjudged(case: Case, verdict: Verdict) -> bool:
    """A run that failed says as little about the question as one that was never made."""
    return verdict.status in ("missing", "error")


def badness(verdict: Verdict) -> int:
    return SEVERITY.get(verdict.reason, len(SEVERITY))


def slices_of(gold: Gold, by: Collection[str]) -> tuple[str, ...]:
    """`type=table` for each of the fields that the item has."""
    if not by:
        return ()
    values = ((field, getattr(gold, field, None) or gold.fields.get(field)) for field in by)
    return tuple(f"{field}={value}" for field, value in values if isinstance(value, str))
