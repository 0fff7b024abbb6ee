"""Trees: the spans of a run put together, in whatever order they came; what is no tree is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ..errors import DataError
from ..text import visible
from .spans import Late, Span


class Run(msgspec.Struct):
    """The steps of one run in time order, and the one that stands for all of it."""

    root: Span
    spans: list[Span]
    scores_without_span: int = 0

    def of_kind(self, kind: str) -> list[Span]:
        return [span for span in self.spans if span.kind == kind]

    def outermost(self, spans: list[Span]) -> list[Span]:
        """Those of the spans that do not stand inside of another one of them."""
        chosen = {span.id for span in spans}
        parents = {span.id: span.parent for span in self.spans}
        return [span for span in spans if not any(name in chosen for name in _above(span.id, parents))]


class Forest:
    """Spans gathered by trace, across files and in any order, and what arrives late for them."""

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Span]] = {}
        self.late: list[Late] = []
        self.repeated = 0

    def add(self, span: Span) -> None:
        """Keep a span. The same span twice is one; two different ones with one id are an error."""
        group = self.spans.setdefault(span.trace, {})
        other = group.get(span.id)
        if other is None:
            group[span.id] = span
        elif msgspec.structs.replace(span, where="") == msgspec.structs.replace(other, where=""):
            self.repeated += 1
        else:
            raise DataError(
                f"two different spans have the id {visible(span.id, 60)!r}, the first at {other.where}",
                where=span.where,
                hint="Give each export once.",
                code="import-duplicate",
            )

    def runs(self) -> Iterator[Run]:
        """The runs, by start time; those without one keep their order and come last."""
        self._join()
        runs = [run for group in self.spans.values() for run in _runs(list(group.values()))]
        yield from sorted(runs, key=lambda run: (run.root.start is None, run.root.start or 0))

    def _join(self) -> None:
        """Give what arrived late to its span, or to the root of its trace; a log record alone becomes a span."""
        by_span = {span.id: span for group in self.spans.values() for span in group.values()}
        for late in self.late:
            target = self.spans.get(late.trace, {}).get(late.span) or by_span.get(late.span)
            if target is None and late.trace in self.spans:
                target = _root(list(self.spans[late.trace].values()))
            if target is None and late.inputs + late.outputs:
                target = Span(late.trace, late.where, late.span or late.where, kind=late.kind, start=late.time)
                self.spans.setdefault(late.trace, {})[target.id] = target
                by_span[target.id] = target
            if target is not None:
                target.inputs = [*late.inputs, *target.inputs] if late.kind else [*target.inputs, *late.inputs]
                target.outputs = [*late.outputs, *target.outputs]
                target.scores = [*target.scores, *late.scores]
        self.late = []


def _runs(spans: list[Span]) -> Iterator[Run]:
    """One run a trace; several where parts of it say that they are about different questions."""
    _refuse_cycles(spans)
    ordered = sorted(spans, key=lambda span: (span.start is None, span.start or 0))
    judged = [span for span in ordered if span.kind != "evaluator"] or ordered
    tops = _tops_by_question(judged)
    if len({span.qid for span in tops}) < 2:
        yield Run(_root(judged), judged)
        return
    parents = {span.id: span.parent for span in judged}
    for top in tops:
        below = [span for span in judged if span is top or top.id in _above(span.id, parents)]
        yield Run(top, below)


def _tops_by_question(spans: list[Span]) -> list[Span]:
    """The spans that name a question and stand in no other span that does."""
    named = {span.id for span in spans if span.qid}
    parents = {span.id: span.parent for span in spans}
    return [span for span in spans if span.qid and not any(name in named for name in _above(span.id, parents))]


def _root(spans: list[Span]) -> Span:
    """The span marked as root; else the earliest without a parent in the file."""
    known = {span.id for span in spans}
    marked = [span for span in spans if span.root]
    tops = [span for span in spans if not span.parent or span.parent not in known]
    candidates = marked or tops or spans
    return min(candidates, key=lambda span: (span.start is None, span.start or 0))


def _above(name: str, parents: dict[str, str]) -> Iterable[str]:
    above = parents.get(name, "")
    while above and above in parents:
        yield above
        above = parents[above]


def _refuse_cycles(spans: list[Span]) -> None:
    parents = {span.id: span.parent for span in spans}
    safe: set[str] = set()
    for span in spans:
        path: set[str] = set()
        name = span.id
        while name in parents and name not in safe:
            if name in path:
                raise DataError(
                    f"the parents of span {visible(name, 60)!r} form a circle ({len(spans)} spans in its trace)",
                    where=span.where,
                    hint="The export is damaged: write it again.",
                    code="import-cycle",
                )
            path.add(name)
            name = parents[name]
        safe |= path
