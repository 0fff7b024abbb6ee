"""Trees: the spans of a run put together, in whatever order they came; what is no tree is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from ..core.temporary import disk_failure, pack, unpack
from ..errors import DataError
from ..text import visible
from .spans import Late, Span

if TYPE_CHECKING:
    import sqlite3


class Run(msgspec.Struct):
    """The steps of one run in time order, and the one that stands for all of it."""

    root: Span
    spans: list[Span]

    def of_kind(self, kind: str) -> list[Span]:
        return [span for span in self.spans if span.kind == kind]

    def outermost(self, spans: list[Span]) -> list[Span]:
        """Those of the spans that do not stand inside of another one of them."""
        chosen = {span.id for span in spans}
        parents = {span.id: span.parent for span in self.spans}
        return [span for span in spans if not any(name in chosen for name in _above(span.id, parents))]


_TABLES = (
    "PRAGMA journal_mode = OFF",
    "BEGIN",
    "CREATE TABLE traces (number INTEGER PRIMARY KEY, name BLOB UNIQUE)",
    "CREATE TABLE spans (number INTEGER PRIMARY KEY, trace INTEGER, id BLOB, data BLOB, UNIQUE (trace, id))",
    "CREATE TABLE late (number INTEGER PRIMARY KEY, data BLOB)",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, unstarted INTEGER, epoch INTEGER, start INTEGER, data BLOB)",
)
_EPOCH = 1 << 62  # nanoseconds; SQLite's whole numbers have 64 bits, times in an export may have more


class Forest:
    """Spans gathered by trace, across files and in any order, and what arrives late for them.

    Any line may be the last one of a trace, so that none is complete before all files are read. They are kept in a
    database without a name, which SQLite keeps on disk beyond a few megabytes: one trace at a time is in memory.
    """

    def __init__(self) -> None:
        import sqlite3

        self.repeated = 0
        self._database = sqlite3.connect("", isolation_level=None)
        self._latest = ("", -1)  # a trace's name and number: spans of one trace mostly follow each other
        for statement in _TABLES:
            self._rows(statement)

    def add(self, span: Span) -> None:
        """Keep a span. The same span twice is one; two different ones with one id are an error."""
        trace = self._trace(span.trace)
        if (found := self._span(trace, span.id)) is None:
            self._insert(trace, span)
            return
        other = found[1]
        if msgspec.structs.replace(span, where="") == msgspec.structs.replace(other, where=""):
            self.repeated += 1
        else:
            raise DataError(
                f"two different spans have the id {visible(span.id, 60)!r}, the first at {other.where}",
                where=span.where,
                hint="Give each export once.",
                code="import-duplicate",
            )

    def add_late(self, late: Late) -> None:
        self._rows("INSERT INTO late (data) VALUES (?)", pack(late))

    def runs(self) -> Iterator[Run]:
        """The runs, by start time; those without one keep their order and come last."""
        self._join()
        for (trace,) in self._rows("SELECT number FROM traces ORDER BY number"):
            for run in _runs([span for _, span in self._spans(trace)]):
                epoch, start = divmod(run.root.start or 0, _EPOCH)
                place = (run.root.start is None, max(-_EPOCH, min(epoch, _EPOCH)), start)
                self._rows("INSERT INTO runs (unstarted, epoch, start, data) VALUES (?, ?, ?, ?)", *place, pack(run))
        for (data,) in self._rows("SELECT data FROM runs ORDER BY unstarted, epoch, start, number"):
            yield unpack(data)
        self._database.close()

    def _join(self) -> None:
        """Give what arrived late to its span, or to the root of its trace; a log record alone becomes a span."""
        self._rows("CREATE INDEX spans_by_id ON spans (id)")
        for (data,) in self._rows("SELECT data FROM late ORDER BY number"):
            late: Late = unpack(data)
            trace = self._known(late.trace)
            found = None if trace is None else self._span(trace, late.span)
            found = found or self._span_anywhere(late.span)
            if found is None and trace is not None:
                spans = self._spans(trace)
                root = _root([span for _, span in spans])
                found = next(pair for pair in spans if pair[1] is root)
            if found is None and late.inputs + late.outputs:
                target = Span(late.trace, late.where, late.span or late.where, kind=late.kind, start=late.time)
                found = self._insert(self._trace(late.trace), target), target
            if found is not None:
                number, target = found
                target.inputs = [*late.inputs, *target.inputs] if late.kind else [*target.inputs, *late.inputs]
                target.outputs = [*late.outputs, *target.outputs]
                target.scores = [*target.scores, *late.scores]
                self._rows("UPDATE spans SET data = ? WHERE number = ?", pack(target), number)

    def _trace(self, name: str) -> int:
        """The number of a trace, in the order in which they came."""
        if self._latest[0] != name or self._latest[1] < 0:
            known = self._known(name)
            added = (
                known if known is not None else self._rows("INSERT INTO traces (name) VALUES (?)", _key(name)).lastrowid
            )
            self._latest = name, added or 0
        return self._latest[1]

    def _known(self, name: str) -> int | None:
        found = self._rows("SELECT number FROM traces WHERE name = ?", _key(name)).fetchone()
        return None if found is None else int(found[0])

    def _insert(self, trace: int, span: Span) -> int:
        row = trace, _key(span.id), pack(span)
        return self._rows("INSERT INTO spans (trace, id, data) VALUES (?, ?, ?)", *row).lastrowid or 0

    def _span(self, trace: int, name: str) -> tuple[int, Span] | None:
        found = self._rows("SELECT number, data FROM spans WHERE trace = ? AND id = ?", trace, _key(name)).fetchone()
        return None if found is None else (found[0], unpack(found[1]))

    def _span_anywhere(self, name: str) -> tuple[int, Span] | None:
        sql = "SELECT number, data FROM spans WHERE id = ? ORDER BY trace DESC LIMIT 1"
        found = self._rows(sql, _key(name)).fetchone()
        return None if found is None else (found[0], unpack(found[1]))

    def _spans(self, trace: int) -> list[tuple[int, Span]]:
        rows = self._rows("SELECT number, data FROM spans WHERE trace = ? ORDER BY number", trace)
        return [(number, unpack(data)) for number, data in rows]

    def _rows(self, sql: str, *values: Any) -> sqlite3.Cursor:
        import sqlite3

        try:
            return self._database.execute(sql, values)
        except sqlite3.OperationalError as error:
            raise disk_failure("written", "the temporary folder", str(error)) from None


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # SQLite refuses half of a surrogate pair


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
