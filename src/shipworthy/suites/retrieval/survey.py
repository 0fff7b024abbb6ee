"""The survey of retrieval logs: what only whole logs tell, whether they fit the gold set, and what makes distances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ...core.join import Case, Sums, first_error
from ...core.suite import Material
from ...errors import DataError
from ..ranking.options import Choices
from .judge import Context, LogContext, delta_texts, in_order
from .log import LogLine, runs_of
from .places import prepare

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


class LogNotes(Sums):
    """What is worth noting about one log; it adds up in any order."""

    def __init__(self) -> None:
        self.lines = 0
        self.cites = False  # some line says what its answer cites
        self.has_offsets = False
        self.hashes: Counter[str] = Counter()
        self.rerankers: Counter[str] = Counter()
        self.embedders: Counter[str] = Counter()
        self.read_deltas = 0
        self.negative_scores = 0
        self.out_of_order = 0  # lines whose scores rise along the list
        self.seeds: set[str] = set()

    def add(self, line: LogLine) -> None:
        self.lines += 1
        self.seeds.add(line.key[1])
        self.cites = self.cites or line.says_what_it_cites
        for name, counter in ((line.index_hash, self.hashes), (line.reranker_name, self.rerankers)):
            if name is not None:
                counter[name] += 1
        if line.delta_s is not None:
            self.read_deltas += 1
            self.embedders[line.embedder or ""] += 1
        if line.topk is UNSET:
            return
        scores = [place.score for place in line.topk if place.score is not None]
        rising = any(after > before for before, after in pairwise(scores))
        self.out_of_order += rising
        self.negative_scores += rising and any(score < 0 for score in scores)  # falling ones are a reranker's
        self.has_offsets = self.has_offsets or any(place.offsets is not None for place in line.topk)

    @property
    def embedder_names(self) -> str:
        """What made the distances that the log carries."""
        named = sorted(name for name in self.embedders if name)
        return f"precomputed: {', '.join(named)}" if named else "precomputed (the log does not name it)"


class LogSurvey:
    """What is worth noting about each log, in lines about questions of the gold set."""

    def __init__(self, context: object) -> None:
        self.logs: dict[str, LogNotes] = {}

    def add(self, source: str, place: int, record: LogLine, known: bool) -> None:
        if known:
            self.of(source).add(record)

    def of(self, source: str) -> LogNotes:
        return self.logs.setdefault(source, LogNotes())

    def __iadd__(self, other: LogSurvey) -> LogSurvey:
        for source, notes in other.logs.items():
            own = self.of(source)
            own += notes
        return self


def notes_on(gathered: Gathered, source: str) -> LogNotes:
    assert isinstance(gathered.survey, LogSurvey)
    return gathered.survey.of(source)


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with what is known of each log; errors of the data as a whole are raised here."""
    logs = {}
    for name in material.streams:
        notes = notes_on(gathered, name)
        _check_log(name, notes, gathered, context, material)
        logs[name] = _log_context(name, notes, gathered, context)
    return msgspec.structs.replace(context, logs=logs)


def _check_log(name: str, notes: LogNotes, gathered: Gathered, context: Context, material: Material) -> None:
    path = material.reads[name].path
    if not notes.lines:
        others = gathered.unknown_of(name).lines
        about = f"; its {others} lines are about other questions" if others else ""
        what = f"the log has no line for any question of the gold set{about}"
        raise DataError(what, where=path, hint="Check that gold set and log belong together.", code="log-empty")
    choices = context.choices
    if choices.match == "offsets":
        _check_offsets(gathered, material.reads["gold"].path, notes, path)
    if _strict(choices):
        first_error(gathered.cases(), lambda case: _check_question(case, runs_of(case.records[name]), context))


def _check_offsets(gathered: Gathered, gold: str, notes: LogNotes, log: str) -> None:
    relevant = (place for case in gathered.cases() for place in case.gold.relevant if not isinstance(place, str))
    if not any(place.offsets is not None for place in relevant):
        hint = 'Write relevant as {"id": …, "offsets": [start, end]}, or use --match ids.'
        raise DataError("no relevant block has offsets to match by", where=gold, hint=hint, code="retrieval-no-offsets")
    if not notes.has_offsets:
        hint = "Log topk with offsets in bytes, or use --match ids."
        raise DataError("no retrieved block has offsets to match by", where=log, hint=hint, code="retrieval-no-offsets")


def _strict(choices: Choices) -> bool:
    """Whether something about a question can be an error. It is looked for here, so that the first is always told."""
    return choices.order == "score" or "error" in (choices.missing_query, choices.no_relevant, choices.duplicates)


def _check_question(case: Case, runs: Sequence[LogLine], context: Context) -> None:
    qid, choices = case.key, context.choices
    if not runs and choices.missing_query == "error":
        hint = "Run it, or choose --missing-query zero or skip."
        raise DataError(f"qid {qid!r} has no log line", hint=hint, code="retrieval-missing")
    if choices.no_relevant == "error" and not prepare(case.gold, choices, context.texts).places:
        hint = "Add one, or choose --no-relevant skip or zero."
        raise DataError(f"qid {qid!r} has no relevant block", hint=hint, code="retrieval-no-relevant")
    for line in runs:
        in_order(line, choices)


def _log_context(name: str, notes: LogNotes, gathered: Gathered, context: Context) -> LogContext:
    """ΔS is made where the log has none at all; logged and made distances are never mixed."""
    if notes.read_deltas:
        return LogContext(cites=notes.cites, made_with=notes.embedder_names)
    embedder = context.embedder
    # Where nothing is cited, to look for it takes another pass.
    pairs = _pairs(name, gathered, context) if embedder is not None and notes.cites else []
    if embedder is None or not pairs:
        return LogContext(cites=notes.cites)
    embedder.prepare(text for pair in pairs for text in pair)
    return LogContext(cites=notes.cites, embedder=embedder, made_with=embedder.id)


def _pairs(name: str, gathered: Gathered, context: Context) -> list[tuple[str, str]]:
    """The question and the first cited text of each run, where both are at hand, in the order of the gold set."""
    placed: list[tuple[int, tuple[str, str]]] = []
    for case in gathered.cases():
        pairs = (delta_texts(line, case.gold, context.texts) for line in runs_of(case.records[name]))
        placed += [(case.place, pair) for pair in pairs if pair is not None]
    return [pair for _, pair in sorted(placed, key=itemgetter(0))]
