"""Score the agreement of any number of raters: who gave which label to which item, ratings missing or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from .. import stats
from ..contracts import Input, Warned
from ..decision import Decision
from ..engines import inline
from ..errors import DataError, UsageError
from ..evaluation import choose_gates, inputs, measure_all, warnings
from ..gates import Gate
from ..jsonl import Problem, Problems
from ..suites import raters as suite
from ..suites.raters import Item, Options, Rating
from ..text import fold
from ._common import Source, decide_or_measure, read_records

_KEYS = (b'"qid"', b'"item"', b'"rater"', b'"label"')
Given = dict[str, dict[str, tuple[int, str | int]]]  # qid → rater → line and label


def evaluate_raters(
    ratings: Source,
    *,
    gates: str | Iterable[str | Gate] = (),
    weights: str | None = None,
    labels: str | Sequence[str | int] | None = None,
    lenient: bool = False,
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Measure how well raters agree; with gates, decide whether that is well enough.

    `ratings` is a path or an iterable of {"qid", "rater", "label"}. `labels` names all labels in their order, as a list
    or as "1,2,3"; `weights` ("linear", "quadratic") makes Cohen's kappa count how far two labels are apart.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    declared = _declared(labels)
    if weights not in (None, "linear", "quadratic"):
        raise UsageError(f"there are no weights {weights!r}", hint="Use linear or quadratic.", code="weights")
    known = suite.metrics(Options())
    chosen = choose_gates([], wanted, known, suite.ALIASES, require_proof=require_proof) if wanted else []
    read = Input()
    found = _read(ratings, declared, read, lenient)
    options = Options(raters=_raters(found, read), labels=_labels(found, declared, weights, read),
                      declared=bool(declared), weights=cast(stats.Weights, weights))  # fmt: skip
    items = (Item(qid, {rater: str(label) for rater, (_, label) in given.items()}) for qid, given in found.items())
    tally, verdicts = inline.tally(items, lambda item: suite.judge(item, options),
                                   lambda verdict: suite.facts(verdict, options), suite.slices)  # fmt: skip
    measures, outcomes = measure_all(tally, suite.metrics(options), chosen)
    verdict, reasons = decide_or_measure(outcomes, [])
    return Decision(
        "raters", "strict", verdict, reasons, outcomes, measures,
        counts=suite.counts(tally, options),
        named=suite.named(verdicts),
        diagnosis=suite.diagnose(outcomes, measures, tally, options),
        offenders=suite.offenders(verdicts, options, offenders),
        items=suite.items(verdicts, options),
        sections=suite.sections(tally, options),
        headline=suite.headline(measures, tally, options, chosen),
        options=options.shown(),
        inputs=inputs(ratings=read),
        warnings=warnings(read),
        partial=read.bad > 0,
        run={"ratings": read.path},
    )  # fmt: skip


def _declared(labels: str | Sequence[str | int] | None) -> tuple[str, ...]:
    """The labels that were named, in their order; none where nothing was said of them."""
    if labels is None:
        return ()
    named = [label.strip() for label in labels.split(",")] if isinstance(labels, str) else [str(one) for one in labels]
    repeated = sorted({label for label in named if named.count(label) > 1})
    wrong = (
        f"the label {repeated[0]!r} stands twice" if repeated
        else "a label is blank" if not all(label.strip() for label in named)
        else "there is one label alone, on which nobody can differ" if len(named) < 2
        else ""
    )  # fmt: skip
    if wrong:
        raise UsageError(wrong, where="--labels", hint="Write each label once, in order, such as 1,2,3.", code="labels")
    return tuple(named)


def _read(source: Source, declared: tuple[str, ...], read: Input, lenient: bool) -> Given:
    """Ratings by item and rater; a rating that stands twice is a problem that names both lines."""
    problems, found = Problems(), cast(Given, {})
    for number, rating in read_records(source, Rating, read, "ratings", problems, guarded=_KEYS):
        qid, rater, label = str(rating.qid), str(rating.rater), str(rating.label)
        given = found.setdefault(qid, {})
        if declared and label not in declared:
            what = f"label: expected one of {', '.join(declared)}, got {label!r}"
            problems.add(Problem(read.path, number, what, "Correct it, or add it to --labels.", "rating-label"))
        elif rater in given:
            what = f"rater {rater!r} rated {qid!r} in line {given[rater][0]} already"
            problems.add(Problem(read.path, number, what, "Keep one of the two.", "rating-repeated"))
        else:
            given[rater] = number, rating.label
    read.close(problems, lenient)
    return {qid: given for qid, given in found.items() if given}


def _raters(found: Given, read: Input) -> dict[str, int]:
    """Each rater's place; an error where nobody could agree with anybody."""
    names = sorted({rater for given in found.values() for rater in given})
    if not names:
        raise DataError("there is no rating to compare", where=read.path, code="ratings-none",
                        hint='Each line is one rating: {"qid": …, "rater": …, "label": …}.')  # fmt: skip
    if len(names) == 1:
        raise DataError(f"every rating is by {names[0]!r}, and agreement takes two raters", where=read.path,
                        hint="Add the ratings of another rater.", code="raters-one")  # fmt: skip
    if all(len(given) < 2 for given in found.values()):
        raise DataError(f"no item was rated by two of the {len(names)} raters", where=read.path, code="raters-apart",
                        hint="Do the files of the raters name their items alike?")  # fmt: skip
    return {name: place for place, name in enumerate(names)}


def _labels(found: Given, declared: tuple[str, ...], weights: str | None, read: Input) -> dict[str, int]:
    """Each label's place: in the declared order, else numbers by size and strings by their letters."""
    seen = {label for given in found.values() for _, label in given.values()}
    words = sorted({label for label in seen if isinstance(label, str)})
    if declared:
        ordered = list(declared)
    elif words:
        ordered = sorted({str(label) for label in seen})
    else:
        ordered = [str(number) for number in sorted(label for label in seen if isinstance(label, int))]
    if weights and words and not declared:
        raise UsageError(f"{weights} weights need an order, and {words[0]!r} is a string", where="--weights",
                         hint=f"Name the labels in their order: --labels {','.join(ordered[:5])}.", code="weights-order")  # fmt: skip
    _remark_alike(ordered, read)
    return {label: place for place, label in enumerate(ordered)}


def _remark_alike(labels: Iterable[str], read: Input) -> None:
    """`Good` and `good` are two labels, and hardly meant to be."""
    spelt: dict[str, str] = {}
    for label in labels:
        first = spelt.setdefault(fold(label), label)
        if first != label:
            what = f"the labels {first!r} and {label!r} differ in case or white space alone, and count as two"
            read.warnings.append(Warned(read.path, what, "label-alike"))
