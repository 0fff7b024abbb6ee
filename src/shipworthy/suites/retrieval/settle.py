"""What only whole logs can tell: whether they fit the gold set, what they cite, and what makes their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from ...core.join import Case
from ...core.suite import Material
from ...errors import DataError
from .judge import Context, Expected, LogContext, delta_texts, in_order
from .log import LogLine, runs_of
from .options import Choices
from .survey import Noticed, noticed_in

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with what is known of each log; errors of the data as a whole are raised here."""
    if context.ids_only:
        _check_lists(gathered, context)
        return context
    logs = {}
    for name in material.streams:
        noticed = noticed_in(gathered, name)
        _check_log(name, noticed, gathered, context, material)
        logs[name] = _log_context(name, noticed, gathered, context)
    return msgspec.structs.replace(context, logs=logs)


def _first_error(gathered: Gathered, check: Callable[[Case], None]) -> None:
    """Check every question, and raise the error of the first of them, as the gold set has them."""
    found: dict[int, DataError] = {}
    for case, place in gathered.placed_cases():
        try:
            check(case)
        except DataError as error:
            found[place] = error
    if found:
        raise found[min(found)]


def _check_lists(gathered: Gathered, context: Context) -> None:
    """A question without a list, or with nothing to find, where that was called an error."""
    choices = context.choices

    def check(case: Case) -> None:
        rules = (
            (not case.records["shadow"], choices.missing_query, "no list", "retrieval-missing"),
            (not case.gold, choices.no_relevant, "no relevant block", "retrieval-no-relevant"),
        )
        _, rule, lacking, code = next((one for one in rules if one[0] and one[1] != "zero"), (False, "", "", ""))
        if rule == "error":
            raise DataError(f"qid {case.key!r} has {lacking}", hint="Add it, or choose skip or zero.", code=code)

    _first_error(gathered, check)


def _check_log(name: str, noticed: Noticed, gathered: Gathered, context: Context, material: Material) -> None:
    path = material.reads[name].path
    if not noticed.lines:
        others = gathered.unknown_of(name).lines
        about = f"; its {others} lines are about other questions" if others else ""
        raise DataError(
            f"the log has no line for any question of the gold set{about}",
            where=path,
            hint="Check that gold set and log belong together.",
            code="log-empty",
        )
    choices = context.choices
    if choices.match == "offsets":
        _check_offsets(gathered, material.reads["gold"].path, noticed, path)
    if _strict(choices):
        _first_error(gathered, lambda case: _check_question(case.gold, runs_of(case.records[name]), choices))


def _check_offsets(gathered: Gathered, gold: str, noticed: Noticed, log: str) -> None:
    relevant = (place for case in gathered.cases() for place in case.gold.gold.relevant if not isinstance(place, str))
    if not any(place.offsets is not None for place in relevant):
        raise DataError(
            "no relevant block has offsets to match by",
            where=gold,
            code="retrieval-no-offsets",
            hint='Write relevant as {"id": …, "offsets": [start, end]}, or use --match ids.',
        )
    if not noticed.has_offsets:
        raise DataError(
            "no retrieved block has offsets to match by",
            where=log,
            code="retrieval-no-offsets",
            hint="Log topk with offsets in bytes, or use --match ids.",
        )


def _strict(choices: Choices) -> bool:
    """Whether something about a question can be an error. It is looked for here, so that the first is always told."""
    return choices.order == "score" or "error" in (choices.missing_query, choices.no_relevant, choices.duplicates)


def _check_question(item: Expected, runs: Sequence[LogLine], choices: Choices) -> None:
    qid = item.gold.qid
    if not runs and choices.missing_query == "error":
        raise DataError(
            f"qid {qid!r} has no log line",
            hint="Run it, or choose --missing-query zero or skip.",
            code="retrieval-missing",
        )
    if not item.target.places and choices.no_relevant == "error":
        raise DataError(
            f"qid {qid!r} has no relevant block",
            hint="Add one, or choose --no-relevant skip or zero.",
            code="retrieval-no-relevant",
        )
    for line in runs:
        in_order(line, choices)


def _log_context(name: str, noticed: Noticed, gathered: Gathered, context: Context) -> LogContext:
    """ΔS is made where the log has none at all; logged and made distances are never mixed."""
    if noticed.read_deltas:
        return LogContext(cites=noticed.cites, made_with=noticed.embedder_names)
    embedder = context.embedder
    if embedder is None or not noticed.cites:  # nothing is cited, and to look for it takes another pass
        return LogContext(cites=noticed.cites)
    pairs = [pair for _, pair in sorted(_pairs(name, gathered, context), key=itemgetter(0))]
    if not pairs:
        return LogContext(cites=noticed.cites)
    embedder.prepare(text for pair in pairs for text in pair)
    return LogContext(cites=noticed.cites, embedder=embedder, made_with=embedder.id)


def _pairs(name: str, gathered: Gathered, context: Context) -> Iterator[tuple[int, tuple[str, str]]]:
    """The question and the first cited text of each run, where both are at hand, with the question's place."""
    for case, place in gathered.placed_cases():
        for line in runs_of(case.records[name]):
            pair = delta_texts(line, case.gold.gold, context.texts)
            if pair is not None:
                yield place, pair
