"""What the answers suite counts, the metrics that divide those counts, and the gates that hold by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Protocol

import msgspec

from ...core.custom import Custom, metric_of
from ...core.evidence import Counts
from ...core.gates import Gate, gate_of
from ...core.metrics import Count, Measure, Metric, Rate, Words, without
from ...core.tally import HAS, Fact, Tally, group, lacks_of, more_held
from .judge import CITES, CLAIM, LANGUAGE, VALUES, Context, Outline
from .reference import REFERENCE

ALIASES = {
    "under": "under_refusal",
    "over": "over_refusal",
    "near_refusal": "near_refusals",
    "error": "errors",
}


SOURCED = "sourced"  # gold items that name citations
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


def facts(outline: tuple[Any, ...], context: Context) -> Iterator[Counts]:
    """What is counted of all verdicts of one outline, and what the original script would count."""
    answer, slices, reference, custom = outline
    own: tuple[Fact, ...] = ()
    named = [name for name, applies in _named(answer) if applies]
    if context.custom:
        own, failing, has, lacks = custom
        answer = msgspec.structs.replace(answer, held=more_held(answer.held, has, lacks))
        named += failing
    named += lacks_of(answer.held)
    yield Counts((*answer_facts(answer, context.options.k), *own), slices, named=named)
    if reference:
        yield Counts(reference, (), REFERENCE)


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
    names |= {HAS + value for value in (*VALUES, LANGUAGE)} | {"unread *"}
    defined: tuple[Custom, ...] = getattr(options, "custom_metrics", ())
    for spec in defined:
        names |= {spec.name, f"{spec.name}: *", HAS + spec.value}
    return names


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
    if verdict.unread:
        yield f"unread {verdict.unread}"
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
        yield "confident_right" if verdict.correct else "confident_wrong", Fraction(verdict.confidence)


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
            _precision(options.cites),
            of="correct",
            among="answered",
            could="answerable",
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
            Words(
                "cited right",
                "Of the questions that were answered, the share that cites at least one expected source, and "
                "only sources that were retrieved.",
                "answers that cite a gold source and nothing that was not retrieved / answered questions",
                "answers",
                "were correctly cited",
                "chr >= 0.75",
            ),
            of="citation_hit",
            among="citable",
            takes=SOURCED,
            without=_NO_SOURCES,
            against=("leak", "out-of-scope", "wrong-citation", "empty"),
        ),
        Rate(
            "under_refusal",
            Words(
                "answered when it should refuse",
                "Of the questions that have no answer in the documents, the share that was answered anyway.",
                "unanswerable questions that were answered / unanswerable questions",
                "unanswerable questions",
                "were answered",
                "under_refusal <= 0.05",
            ),
            "lower",
            of="under_refused",
            among="unanswerable",
            could="unanswerable",
            against=("leak",),
        ),
        Rate(
            "over_refusal",
            Words(
                "refused when it should answer",
                "Of the questions that have an answer in the documents, the share that was refused.",
                "answerable questions that were refused / answerable questions",
                "answerable questions",
                "were refused",
                "over_refusal <= 0.10",
            ),
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
                RECALL.fill(k=k),
                of=f"recalled@{k}",
                among="recallable",
                could="recallable",
                takes=LOGGED,
                without=_NOT_LOGGED,
            ),
            Known(
                f"recall_any@{k}",
                _RECALL_ANY.fill(k=k),
                of=f"recalled_any@{k}",
                among="recallable",
                could="recallable",
                takes=LOGGED,
                without=_NOT_LOGGED,
            ),
            Known(
                f"chr@{k}",
                _CHR_AT_BEST.fill(k=k),
                of=f"citable@{k}",
                among="citable",
                takes=SOURCED,
                without=_NO_SOURCES,
            ),
        ]
    listed += [
        Known(
            "citation_precision",
            Words(
                "citation precision",
                "Of the sources that answers cite, the share that is expected. Who cites everything has a low one.",
                "cited ids that are gold / cited ids, of answers to questions whose gold names sources",
                "cited sources",
                "were expected",
            ),
            of=CITED_GOLD,
            among=CITED,
            groups=CITED_TOGETHER,
            takes=SOURCED,
            without=_NO_SOURCES,
            against=("out-of-scope", "wrong-citation"),
        ),
        Rate(
            "scu",
            Words(
                "constraint integrity",
                "Of the answers to questions with locked constraints, the share that repeats and respects all of them.",
                "answers that echo every constraint and contradict none / answers to questions with constraints",
                "answers to questions with constraints",
                "repeated and respected them",
            ),
            of="constraint_kept",
            among="constrained",
            could="constrained",
        ),
        Rate(
            "cite_support",
            Words(
                "citation support",
                "Of the answers whose cited text is known, the share whose cited text contains what the answer says.",
                "answers whose cited text has the expected text, or the answer's numbers and names / such answers",
                "answers with cited text to check",
                "were supported by it",
            ),
            of="supported",
            among="supportable",
            could="supportable",
        ),
        Count(
            "missing",
            Words(
                "questions without a usable response",
                "Gold questions that have no trace, or only a trace of a failed run.",
                "count of such questions",
                "gold questions",
                "had no usable response",
                "missing <= 0",
            ),
            "lower",
            high=None,
            of=("absent",),
            completes=True,
            against=("missing",),
        ),
        *(Count(name, words, "lower", high=None, of=(of,)) for name, words, of in _COUNTS),
    ]
    # A run without a claim is no refusal, no denial and no error: whatever counts those needs to know what was said.
    said = (CLAIM, LANGUAGE) if getattr(options, "require_language", False) else (CLAIM,)
    needs = dict.fromkeys(("out_of_scope_citations", "cite_support", "citation_precision"), (CLAIM, CITES))
    listed = [
        msgspec.structs.replace(metric, needs=needs.get(metric.name, said), optional=metric.name in needs)
        for metric in listed
    ]
    listed = without(listed, absent_metrics(options))
    defined: tuple[Custom, ...] = getattr(options, "custom_metrics", ())
    return {metric.name: metric for metric in (*listed, *map(metric_of, defined))}


def _precision(cites: bool) -> Words:
    return Words(
        "correct and cited",
        "Of the questions that were answered, the share answered correctly and with a correct citation.",
        "correct answers with a citation hit / answered questions",
        "answers",
        "were correct and correctly cited" if cites else "were correct",
        "precision >= 0.80",
    )


RECALL = Words(
    "recall at {k}",
    "Of the answerable questions, the share whose expected sources are all among the first {k} retrieved.",
    "answerable questions with all gold citations in the first {k} / answerable questions with gold citations",
    "answerable questions with expected sources",
    "had all of them among the first {k} retrieved",
    family="recall@{k}",
)
_RECALL_ANY = Words(
    "recall of any source at {k}",
    "Of the answerable questions, the share with at least one expected source among the first {k} retrieved.",
    "answerable questions with a gold citation in the first {k} / answerable questions with gold citations",
    "answerable questions with expected sources",
    "had at least one of them among the first {k} retrieved",
    family="recall_any@{k}",
)
_CHR_AT_BEST = Words(
    "cited right at best",
    "The highest share cited right that retrieval allows: answers with an expected source among the first {k}.",
    "answers with a gold citation in the first {k} retrieved / answered questions",
    "answers",
    "had an expected source among the first {k} retrieved",
    family="chr@{k}",
)
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
    ("errors", Words("failed runs", "Gold questions whose run failed.", "count of such questions"), "error"),
    ("empty", Words("empty answers", "Responses without any answer text.", "count of such answers"), "empty"),
    (
        "scu_violations",
        Words(
            "constraint violations",
            "Answers that break a locked constraint or do not repeat it.",
            "count of such answers",
            gate="scu_violations <= 0, with --scu-enforced",
        ),
        "constraint_broken",
    ),
    (
        "refusal_drift",
        Words(
            "refusals spelled differently",
            "Refusals that differ from the refusal token in case, spaces or punctuation.",
            "count of such refusals",
        ),
        "refusal_drift",
    ),
    (
        "near_refusals",
        Words(
            "near refusals",
            "Answers that contain the refusal token together with other text; they count as answers.",
            "count of such answers",
        ),
        "near",
    ),
    (
        "wider_refusals",
        Words(
            "refusals in other words",
            "Answers that refuse in their own words rather than with the refusal token.",
            "count of such answers",
        ),
        "wider_refusal",
    ),
    (
        "doubtful_refusals",
        Words(
            "doubtful refusals",
            "Answers that say that they can't answer, and then something that may be one; they count against the "
            "pipeline.",
            "count of such answers",
        ),
        "doubtful_refusal",
    ),
    (
        "out_of_scope_citations",
        Words(
            "citations that were not retrieved",
            "Answers that cite a source which retrieval did not return.",
            "count of such answers",
        ),
        "out_of_scope",
    ),
    (
        "denied_claims",
        Words("denied answers", "Answers that contain the expected text but deny it.", "count of such answers"),
        "denied",
    ),
    ("uncited", Words("answers without a citation", "Answers that cite nothing.", "count of such answers"), "uncited"),
    (
        "vacuous_containment",
        Words(
            "answers without expected text",
            "Answers to gold questions whose list of expected texts is empty, so that any text counts as correct.",
            "count of such answers",
        ),
        "vacuous",
    ),
    (
        "unknown_qids",
        Words("traces of unknown questions", "Traces whose question is not in the gold set.", "count of such traces"),
        "unknown_qid",
    ),
    (
        "duplicates",
        Words(
            "duplicate traces", "Trace lines that another line for the same question replaced.", "count of such lines"
        ),
        "superseded",
    ),
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


_ANSWERED = ("shipped", "empty")
Rule = Callable[[Mapping[str, Any]], bool | None]


# --- what a row says about a rate, for a comparison of two reports question by question ---


def tells(name: str) -> Rule | None:
    """What a row says about a metric; None if it is not among the metric's items."""
    fixed: dict[str, Rule] = {
        "precision": lambda row: bool(row.get("correct")) if row.get("status") in _ANSWERED else None,
        "chr": lambda row: (
            bool(row["cited"]) if row.get("cited") is not None and row.get("status") in _ANSWERED else None
        ),
        "under_refusal": lambda row: row.get("reason") == "leak" if _unanswerable(row) else None,
        "over_refusal": lambda row: None if _unanswerable(row) else row.get("reason") == "over-refusal",
    }
    kind, at, depth = name.partition("@")
    if not at or not depth.isdecimal() or kind not in ("chr", "recall", "recall_any"):
        return fixed.get(name)
    most = int(depth)

    def ranked(row: Mapping[str, Any]) -> bool | None:
        told = row.get("cited") is not None
        if not (told if kind == "chr" else (told or row.get("status") not in _ANSWERED) and not _unanswerable(row)):
            return None
        # Where as many items have any gold id as have all of them, these are the same items: the counts show that.
        rank = row.get("recall_rank")
        return rank is not None and rank <= most

    return ranked


def _unanswerable(row: Mapping[str, Any]) -> bool:
    reason = row.get("reason")
    return reason == "leak" or (not reason and row.get("status") == "refused")
