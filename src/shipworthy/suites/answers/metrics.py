"""What the answers suite counts, the metrics that divide those counts, and the gates that hold by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from operator import attrgetter
from typing import Protocol

import msgspec

from ...core.custom import Custom, metric_of
from ...core.evidence import Alike, Counted
from ...core.gates import Gate, gate_of
from ...core.metrics import Count, Measure, Metric, Rate, without
from ...core.tally import HAS, Fact, Tally, group, lacks_of, more_held
from .judge import CITES, CLAIM, VALUES, Context, Outline, Verdict
from .reference import REFERENCE, facts_of

ALIASES = {
    "under": "under_refusal",
    "over": "over_refusal",
    "near_refusal": "near_refusals",
    "error": "errors",
}


SOURCED = "sourced"  # gold items that name citations
CONFIDENCE_PLACES = 4  # of a confidence, by which answers are put together: ten thousand points make a curve
MISSED = "missed"  # answers to answerable questions that do not state the expected text
LOGGED = "retrieval_logged"  # traces that say what was retrieved, if only an empty list
CITED, CITED_GOLD = "id_cited", "gold_id_cited"  # each id that an answer cites, where its gold item names some
CITED_TOGETHER = "ids_of_answer"  # (gold, all) of an answer with several: they are no independent cases


class Known(Rate, frozen=True, kw_only=True):
    """A rate that has no value where no item has the fact that it takes, and then does not apply."""

    takes: str
    without: str  # why there is no value

    def measure(self, tally: Tally) -> Measure:
        if tally["items"] and not tally[self.takes]:
            return Measure(self.name, "rate", None, 0, 0, missing=self.without)
        return super().measure(tally)

    def applies(self, tally: Tally) -> bool:
        return super().applies(tally) and tally[self.takes] > 0


class Depths(Protocol):
    """The options of any suite that has these metrics."""

    @property
    def k(self) -> tuple[int, ...]: ...
    @property
    def cites(self) -> bool: ...
    @property
    def logs_retrieval(self) -> bool: ...


def aliases(options: Depths) -> dict[str, str]:
    first = options.k[0]
    short = {"recall": f"recall@{first}", "recall@k": f"recall@{first}", "recall_any@k": f"recall_any@{first}"}
    return ALIASES | short | {"chr@k": f"chr@{first}"}


def facts(verdict: Verdict, context: Context) -> list[Counted] | Alike:
    """What is counted of a verdict: what it shares with all that have its outline, and facts of its own."""
    if context.custom:
        _hold_custom(verdict, context)
    alike, named = _known_facts(verdict, context)
    own: tuple[Fact, ...] = tuple(own_facts(verdict))
    if context.custom:
        from .custom import failing

        own += _custom_facts(verdict, context)
        named += tuple(failing(verdict))
    if not (own or named or verdict.slices):
        return alike
    shared, *reference = alike.counted
    return [Counted((*shared.facts, *own), verdict.slices, "", verdict.qid, named), *reference]


def _hold_custom(verdict: Verdict, context: Context) -> None:
    """The values of custom metrics that are there or not, beside those of the trace: one fact says what it lacks."""
    from .custom import held as custom_held

    has, lacks = custom_held(context.custom, verdict)
    verdict.held = more_held(verdict.held, has, lacks)


def own_facts(verdict: Verdict) -> Iterable[Fact]:
    """Facts that hang on more than the outline of a verdict, such as the words of its claim: none so far."""
    return ()


def verdict_facts(verdict: Verdict, k: tuple[int, ...]) -> tuple[Fact, ...]:
    """All that `metrics` divides, for suites that judge answers too."""
    return (*answer_facts(verdict, k), *own_facts(verdict))


def fact_names(options: Depths) -> set[str]:
    """Every fact that is counted of an answer."""
    names = {"answerable", "unanswerable", "shipped", "refused", "empty", "missing", "error", "absent", "answered"}
    names |= {SOURCED, LOGGED, MISSED, "recallable", "wider_refusal", "over_refused", "refusal_drift", "correct"}
    names |= {"under_refused", "citable", "citation_hit", "constrained", "constraint_kept", "constraint_broken"}
    names |= {"constraint_unechoed", "doubtful_refusal", "said_right", CITED, CITED_GOLD, CITED_TOGETHER}
    names |= {"supportable", "supported", "vacuous", "right_unchecked", "out_of_scope", "near", "uncited", "denied"}
    names |= {"confident_right", "confident_wrong", "exact *", "wider *"}
    for depth in options.k:
        names |= {f"recalled@{depth}", f"recalled_any@{depth}", f"citable@{depth}"}
    names |= {HAS + value for value in VALUES}
    defined: tuple[Custom, ...] = getattr(options, "custom_metrics", ())
    for spec in defined:
        names |= {spec.name, f"{spec.name}: *", HAS + spec.value}
    return names


def _custom_facts(verdict: Verdict, context: Context) -> tuple[Fact, ...]:
    from .custom import facts as custom_facts

    return tuple(custom_facts(context.custom, verdict))


def _known_facts(verdict: Verdict, context: Context) -> tuple[Alike, tuple[str, ...]]:
    """The facts of a verdict, and those whose items are named. Verdicts are much alike: most were met before."""
    reference = facts_of(verdict, context) if context.compat else ()
    values, k = _OUTLINE(verdict), context.options.k
    met = _MET.get((k, values, reference))
    if met is None:
        if len(_MET) >= MOST_MET:
            _MET.clear()
        outline = Outline(*values)
        named = tuple(name for name, applies in _named(outline) if applies)
        met = _MET[k, values, reference] = Alike(_counted(tuple(answer_facts(outline, k)), reference)), named
    return met


def _counted(found: tuple[Fact, ...], reference: tuple[str, ...]) -> list[Counted]:
    """The facts, and what the original script would count."""
    return [Counted(found), Counted(reference, (), REFERENCE)] if reference else [Counted(found)]


_OUTLINE = attrgetter(*Outline.__struct_fields__)
_MET: dict[tuple[object, ...], tuple[Alike, tuple[str, ...]]] = {}
MOST_MET = 10_000


def _named(verdict: Outline) -> tuple[tuple[str, bool], ...]:
    """The facts whose items somebody will want to look up."""
    return (
        ("refusal_drift", verdict.drifted),
        ("near_refusals", verdict.near),
        ("wider_refusals", verdict.wider),
        ("doubtful_refusals", verdict.doubtful),
        ("denied_claims", verdict.denied),
        ("out_of_scope_citations", verdict.out_of_scope),
        ("missing", verdict.status in ("missing", "error")),
        *((fact, True) for fact in lacks_of(verdict.held)),
    )


def answer_facts(verdict: Outline, k: tuple[int, ...]) -> Iterator[Fact]:
    """The facts of a verdict under the names that the metrics use."""
    yield "items"
    answerable, status = verdict.answerable, verdict.status
    side = "answerable" if answerable else "unanswerable"
    yield side
    yield status
    if verdict.has_citations:
        yield SOURCED
    if verdict.logged:
        yield LOGGED
    yield from verdict.held
    if status in ("missing", "error"):
        yield "absent"
    else:
        yield from _matrix(verdict, side)
    if answerable and verdict.has_citations:
        yield "recallable"
        for depth in k:
            if verdict.all_rank is not None and verdict.all_rank <= depth:
                yield f"recalled@{depth}"
            if verdict.any_rank is not None and verdict.any_rank <= depth:
                yield f"recalled_any@{depth}"
    if verdict.wider:
        yield "wider_refusal"
    if verdict.doubtful:
        yield "doubtful_refusal"
    if status == "refused":
        yield from _refused(verdict)
    elif status in ("shipped", "empty"):
        yield from _answered(verdict, k)


def _matrix(verdict: Outline, side: str) -> Iterator[Fact]:
    """Answerable by refused, for the exact rule and for the wider one."""
    exact = verdict.status == "refused" and not verdict.wider
    yield f"exact {side} {'refused' if exact else 'answered'}"
    yield f"wider {side} {'refused' if exact or verdict.wider else 'answered'}"


def _refused(verdict: Outline) -> Iterator[Fact]:
    if verdict.answerable:
        yield "over_refused"
    if verdict.drifted:
        yield "refusal_drift"


def _answered(verdict: Outline, k: tuple[int, ...]) -> Iterator[Fact]:
    yield "answered"
    if verdict.correct:
        yield "correct"
    if verdict.answerable and verdict.contained and not verdict.wrong:
        yield "right_unchecked" if verdict.vacuous else "said_right"  # no text is named that an answer could miss
    if not verdict.answerable:
        yield "under_refused"
    elif not verdict.contained:
        yield MISSED
    if verdict.cited is not None:
        yield from _citable(verdict, k)
    if verdict.constraint:
        yield "constrained"
        yield "constraint_kept" if verdict.constraint == "ok" else "constraint_broken"
        if verdict.constraint == "echo":
            yield "constraint_unechoed"
    if verdict.supported is not None:
        yield "supportable"
        if verdict.supported:
            yield "supported"
    for name in ("vacuous", "out_of_scope", "near", "uncited", "denied"):
        if getattr(verdict, name):
            yield name
    if verdict.confidence is not None:
        confidence = Fraction(round(verdict.confidence, CONFIDENCE_PLACES))
        yield "confident_right" if verdict.correct else "confident_wrong", confidence


def _citable(verdict: Outline, k: tuple[int, ...]) -> Iterator[Fact]:
    yield "citable"
    if verdict.cited:
        yield "citation_hit"
    for depth in k:
        if verdict.any_rank is not None and verdict.any_rank <= depth:
            yield f"citable@{depth}"
    yield from (CITED,) * verdict.ids_cited
    yield from (CITED_GOLD,) * verdict.ids_hit
    if verdict.ids_cited > 1:
        yield group(CITED_TOGETHER, (verdict.ids_hit, verdict.ids_cited))


def metrics(options: Depths) -> dict[str, Metric]:
    """Every metric of the suite by name, in the order of the report."""
    listed: list[Metric] = [
        Rate(
            "precision",
            "answers that are correct and correctly cited",
            of="correct",
            among="answered",
            could="answerable",
            did="" if options.cites else "were correct",
            against=(
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
                "empty",
            ),
        ),
        Known(
            "chr",
            "citation hit rate: answers that cite gold evidence within what was retrieved",
            of="citation_hit",
            among="citable",
            takes=SOURCED,
            without=_NO_SOURCES,
            against=("leak", "out-of-scope", "wrong-citation", "empty"),
        ),
        Rate(
            "under_refusal",
            "unanswerable questions that were answered",
            "lower",
            of="under_refused",
            among="unanswerable",
            could="unanswerable",
            against=("leak",),
        ),
        Rate(
            "over_refusal",
            "answerable questions that were refused",
            "lower",
            of="over_refused",
            among="answerable",
            could="answerable",
            against=("over-refusal",),
        ),
    ]
    for k in options.k:
        listed += [
            Known(
                f"recall@{k}",
                f"answerable questions with all gold evidence in the first {k}",
                of=f"recalled@{k}",
                among="recallable",
                could="recallable",
                takes=LOGGED,
                without=_NOT_LOGGED,
            ),
            Known(
                f"recall_any@{k}",
                f"answerable questions with some gold evidence in the first {k}",
                of=f"recalled_any@{k}",
                among="recallable",
                could="recallable",
                takes=LOGGED,
                without=_NOT_LOGGED,
            ),
            Known(
                f"chr@{k}",
                f"answers that could cite gold evidence from the first {k}",
                of=f"citable@{k}",
                among="citable",
                takes=SOURCED,
                without=_NO_SOURCES,
            ),
        ]
    listed += [
        Known(
            "citation_precision",
            "cited ids that are expected ones, of all ids that answers cite",
            of=CITED_GOLD,
            among=CITED,
            groups=CITED_TOGETHER,
            takes=SOURCED,
            without=_NO_SOURCES,
            against=("out-of-scope", "wrong-citation"),
        ),
        Rate(
            "scu",
            "constrained answers that echo and keep their constraints",
            of="constraint_kept",
            among="constrained",
            could="constrained",
        ),
        Rate(
            "cite_support",
            "answers whose cited text contains what they say",
            of="supported",
            among="supportable",
            could="supportable",
        ),
        Count(
            "missing",
            "gold items without a usable trace: none at all, or one that says the run failed",
            "lower",
            high=None,
            of=("absent",),
            completes=True,
            against=("missing",),
        ),
        *(Count(name, description, "lower", high=None, of=(of,)) for name, description, of in _COUNTS),
    ]
    # A run without a claim is no refusal, no denial and no error: whatever counts those needs to know what was said.
    needs = dict.fromkeys(("out_of_scope_citations", "cite_support", "citation_precision"), (CLAIM, CITES))
    listed = [
        msgspec.structs.replace(metric, needs=needs.get(metric.name, (CLAIM,)), optional=metric.name in needs)
        for metric in listed
    ]
    listed = without(listed, absent_metrics(options))
    defined: tuple[Custom, ...] = getattr(options, "custom_metrics", ())
    return {metric.name: metric for metric in (*listed, *map(metric_of, defined))}


NOT_CITING = "not judged, as declared (cites = false)"
NOT_LOGGING = "not judged, as declared (logs_retrieval = false)"


def absent_metrics(options: Depths) -> dict[str, str]:
    """The metrics of what the service does not give, and why they do not apply."""
    found: dict[str, str] = {}
    if not options.logs_retrieval:
        found |= {f"{name}@{k}": NOT_LOGGING for k in options.k for name in ("recall", "recall_any", "chr")}
        found["out_of_scope_citations"] = NOT_LOGGING
    if not options.cites:
        names = ["chr", "citation_precision", "cite_support", "out_of_scope_citations", "uncited"]
        found |= dict.fromkeys([*names, *(f"chr@{k}" for k in options.k)], NOT_CITING)
    return found


_NO_SOURCES = "no gold question names citations"
_NOT_LOGGED = "no trace says what was retrieved (retrieved_ids)"
_COUNTS = (
    ("errors", "gold items whose run failed", "error"),
    ("empty", "answers without a claim", "empty"),
    ("scu_violations", "constrained answers that break or don't echo a constraint", "constraint_broken"),
    ("refusal_drift", "refusals whose bytes are not exactly the token", "refusal_drift"),
    ("near_refusals", "answers that contain the refusal token but are not it", "near"),
    ("wider_refusals", "answers that only the wider refusal rule takes for refusals", "wider_refusal"),
    ("doubtful_refusals", "refusals that go on to say something that may be an answer", "doubtful_refusal"),
    ("out_of_scope_citations", "answers that cite something that was not retrieved", "out_of_scope"),
    ("denied_claims", "answers that contain the expected text and deny it", "denied"),
    ("uncited", "answers without any citation", "uncited"),
    ("vacuous_containment", "answers to items with an explicitly empty list of substrings", "vacuous"),
    ("unknown_qids", "traces for questions that the gold set does not have", "unknown_qid"),
    ("duplicates", "trace lines that another line for the same question superseded", "superseded"),
)


def gates(context: Context) -> list[Gate]:
    """The default gates."""
    return default_gates(context.options.scu_enforced, context.options.allow_missing)


def default_gates(scu_enforced: bool = False, allow_missing: int = 0) -> list[Gate]:
    bars = [("precision", ">=", Fraction(4, 5)), ("chr", ">=", Fraction(3, 4))]
    bars += [("under_refusal", "<=", Fraction(1, 20)), ("over_refusal", "<=", Fraction(1, 10))]
    bars.append(("missing", "<=", Fraction(allow_missing)))
    if scu_enforced:
        bars.append(("scu_violations", "<=", Fraction(0)))
    return [gate_of(*bar) for bar in bars]
