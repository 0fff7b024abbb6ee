"""TREC files: qrels and runs, read one query at a time, and written from gold sets and logs."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import compress, islice, repeat
from operator import le, methodcaller, ne
from typing import BinaryIO, TypeVar

import msgspec

from ...core.contracts import Gold
from ...core.sources import Input, read_gold, stream_traces
from ...errors import DataError, ShipworthyError, UsageError
from ...reading.files import Files
from ...reading.jsonl import open_binary
from ...text import visible
from .log import LogLine

Block = tuple[bytes, list[bytes], list[float]]  # a query, its documents and their scores, in the order of the file

FALLING: list[float] = []  # stands for the scores of a list in the order of its scores, no two of them equal
Judged = tuple[bytes, ...] | dict[bytes, int]  # documents of a query, with their grades unless these are all 1
JudgedSpan = tuple[
    bytes, tuple[bytes, ...], list[int] | None
]  # a query, documents, their grades unless these are all 1
Rows = tuple[list[bytes], list[bytes], list[float]]
Value = TypeVar("Value", bytes, float)
Number = TypeVar("Number", int, float)
Grades = tuple[list[bytes], list[bytes], list[int]]

PIECE = 1 << 15  # bytes that are taken apart at once: what comes of them should fit in the cache of a core
_QRELS = "qid iteration docno relevance"
_BEIR_HEADER = (b"query-id", b"corpus-id", b"score")
_RUN = "qid Q0 docno rank score tag"


class Scattered(Exception):
    """The lines of one query don't stand together, so that the run can't be read query by query."""


def read_qrels(path: str, read: Input) -> dict[bytes, Judged]:
    """Documents of a grade above zero by query; a query with none of them is there, and empty."""
    judged = judged_of(path, judged_spans(path, read))
    if not judged:
        raise no_judgements(path)
    return judged


def judged_spans(path: str, read: Input) -> Iterator[JudgedSpan]:
    """What lines that stand together say about a query."""
    for qids, names, levels in _judgements(path, read):
        plain = levels.count(1) == len(levels)
        for start, end, qid in _spans(qids, [*_starts(qids), len(qids)]):
            yield qid, tuple(names[start:end]), None if plain else levels[start:end]


def judged_of(path: str, spans: Iterable[JudgedSpan]) -> dict[bytes, Judged]:
    """What all lines say about each query; a document with two grades is an error."""
    judged: dict[bytes, Judged] = {}
    for qid, found, levels in spans:
        if levels is None and qid not in judged and len(set(found)) == len(found):
            judged[qid] = found
            continue
        grades = grades_of(judged.get(qid, ()))
        _add_grades(path, qid, grades, zip(found, levels or repeat(1), strict=False))
        judged[qid] = grades
    return judged


def no_judgements(path: str) -> DataError:
    return DataError(
        "there is no judgement in the qrels", where=path, hint=f"Write lines of: {_QRELS}.", code="qrels-empty"
    )


def grades_of(judged: Judged) -> dict[bytes, int]:
    return judged if isinstance(judged, dict) else dict.fromkeys(judged, 1)


def _spans(qids: list[bytes], edges: list[int]) -> Iterator[tuple[int, int, bytes]]:
    """Where the lines of each query begin and end."""
    return zip(edges, islice(edges, 1, None), map(qids.__getitem__, edges), strict=False)


def _starts(qids: list[bytes]) -> list[int]:
    """Where a query begins whose lines stand together."""
    return [0, *_where(ne, qids)] if qids else []


def _where(differs: Callable[[Value, Value], bool], column: list[Value]) -> Iterator[int]:
    """Where a value and the one before it are in a relation."""
    return compress(_counting(len(column).bit_length()), map(differs, column, islice(column, 1, None)))


@lru_cache(maxsize=1)
def _counting(bits: int) -> list[int]:
    """Numbers from 1 on, kept because it takes longer to make one than to compare two columns."""
    return list(range(1, 1 << bits))


def _add_grades(path: str, qid: bytes, grades: dict[bytes, int], lines: Iterable[tuple[bytes, int]]) -> None:
    for name, level in lines:
        if level > 0 and grades.setdefault(name, level) != level:
            raise DataError(
                f"document {_text(name)!r} has two grades for query {_text(qid)!r}",
                where=path,
                hint="Keep one of the lines.",
                code="qrels-repeated",
            )


def _judgements(path: str, read: Input) -> Iterator[Grades]:
    """Queries, documents and grades, the lines of a piece at a time."""
    number = 0
    with _opened(path, read) as stream:
        for piece in _pieces(stream):
            lines = piece.count(b"\n")
            parts = piece.split()
            try:
                if len(parts) != 4 * lines or parts[1::4].count(parts[1]) != lines:
                    raise ValueError  # among others the three columns of BEIR
                yield parts[0::4], parts[2::4], _numbers(parts[3::4], int)
            except ValueError:
                rows = list(_judgements_slowly(path, number, piece))
                yield [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
            number += lines
    read.records = number


def _judgements_slowly(path: str, before: int, piece: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    for number, line in enumerate(piece.splitlines(), before + 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        parts = line.split()
        if number == 1 and tuple(parts) == _BEIR_HEADER:
            continue
        try:
            qid, *iteration, name, grade = parts  # BEIR leaves the iteration out
            if len(iteration) > 1:
                raise ValueError
            yield qid, name, int(grade)
        except ValueError:
            raise _problem(path, number, line, _QRELS, "relevance", "an integer", "qrels-line") from None


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    while piece := stream.read(PIECE):
        piece += stream.readline()
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def read_run(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """The run's queries one after the other; a query that turns up again later is Scattered.

    Scores are rounded to 32 bits where asked for. Where they fall along the list they are left out, as its order says
    it all.
    """
    # By hash: to keep one of many small objects that are made together would keep the memory of all of them in use.
    seen: set[int] = set()
    for edges, qids, names, scores in _queries(path, read, bits):
        uneven = _uneven(scores, edges)
        hashes = [hash(qids[start]) for start in edges[:-1]]
        before = len(seen)
        seen.update(hashes)
        if len(seen) - before < len(hashes):
            raise Scattered
        for start, end, qid in _spans(qids, edges):
            yield qid, names[start:end], scores[start:end] if start in uneven else FALLING


def _uneven(scores: list[float], starts: list[int]) -> set[int]:
    """The starts of those lists whose scores don't fall all along."""
    steps = set(_where(le, scores)).difference(starts)
    return {starts[bisect_right(starts, step) - 1] for step in steps}


def read_whole_run(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """As read_run, with all scores, for a file whose queries are mixed: it is held in memory whole."""
    held: dict[bytes, Block] = {}
    for block in run_spans(path, read, bits):
        add_block(held, block)
    yield from held.values()


def run_spans(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """Lines that stand together and are of one query, with all scores; there may be more of it."""
    for edges, qids, names, scores in _queries(path, read, bits):
        for start, end, qid in _spans(qids, edges):
            yield qid, names[start:end], scores[start:end]


def add_block(held: dict[bytes, Block], block: Block) -> None:
    """Add such lines to what is known of the queries."""
    known = held.setdefault(block[0], block)
    if known is not block:
        known[1].extend(block[1])
        known[2].extend(block[2])


def _queries(path: str, read: Input, bits: int) -> Iterator[tuple[list[int], list[bytes], list[bytes], list[float]]]:
    """The columns of many lines at a time, and where in them queries begin or end; the last of them may go on."""
    rest: Rows = [], [], []
    for qids, names, scores in _rows(path, read, bits):
        qids[:0], names[:0], scores[:0] = rest
        edges = _starts(qids)
        yield edges, qids, names, scores
        last = edges[-1] if edges else 0
        rest = qids[last:], names[last:], scores[last:]
    if rest[0]:
        yield [0, len(rest[0])], *rest


def _rows(path: str, read: Input, bits: int) -> Iterator[Rows]:
    """The columns of a piece at a time; regular lines are taken apart many at once."""
    number = 0
    with _opened(path, read) as stream:
        for piece in _pieces(stream):
            lines = piece.count(b"\n")
            qids, names, scores = _regular(piece, lines) or _irregular(path, number, piece)
            _check_finite(path, number, piece, scores)
            yield qids, names, array("f", scores).tolist() if bits == 32 else scores
            number += lines
    read.records = number


def _regular(piece: bytes, lines: int) -> Rows | None:
    """The columns of lines that all have six, `Q0` as the second of each; None when they must be read one by one."""
    parts = piece.split()
    if len(parts) != 6 * lines or parts[1::6].count(b"Q0") != lines:
        return None
    try:
        return parts[0::6], parts[2::6], _numbers(parts[4::6], float)
    except ValueError:
        return None


def _numbers(column: list[bytes], kind: type[Number]) -> list[Number]:
    """A column of numbers. Nearly all are written as JSON writes them, which is read four times as fast."""
    try:
        found = msgspec.json.decode(b"[" + b",".join(column) + b"]", type=list[kind])  # type: ignore[valid-type]
        if len(found) == len(column):  # or a comma was part of a number
            return found
    except msgspec.DecodeError:
        pass
    return list(map(kind, column))


def _irregular(path: str, before: int, piece: bytes) -> Rows:
    lines = enumerate(piece.splitlines(), before + 1)
    rows = [row for number, line in lines if (row := _columns(path, number, line))]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _columns(path: str, number: int, line: bytes) -> tuple[bytes, bytes, float] | None:
    """Query, document and score of a line; None for an empty one or a comment; extra columns are ignored."""
    if not line.strip() or line.startswith(b"#"):
        return None
    parts = line.split()
    try:
        if len(parts) == 6 or (len(parts) > 6 and int(parts[3]) >= 0):  # a space in an id would shift the rank
            return parts[0], parts[2], float(parts[4])
    except ValueError:
        pass
    raise _problem(path, number, line, _RUN, "score", "a number", "run-line")


def _check_finite(path: str, before: int, piece: bytes, scores: list[float]) -> None:
    """A sum is finite only if all its numbers are."""
    if math.isfinite(sum(scores)):
        return
    for number, line in enumerate(piece.splitlines(), before + 1):
        row = _columns(path, number, line)
        if row and not math.isfinite(row[2]):
            raise DataError(
                f"score: expected a finite number, got {row[2]} for document {_text(row[1])!r}",
                where=f"{visible(path)}:{number}",
                hint=f"Write: {_RUN}.",
                code="run-score",
            )


@contextlib.contextmanager
def _opened(path: str, read: Input) -> Iterator[BinaryIO]:
    """The file as a stream of lines; its digest is in `read` once it is closed."""
    digest = hashlib.sha256()
    read.path = path
    with open_binary(path, digest.update) as stream:
        yield stream
    read.digest = digest.hexdigest()


def _problem(path: str, number: int, line: bytes, columns: str, field: str, kind: str, code: str) -> DataError:
    """Which column is missing or ill-typed, and what was expected."""
    names, parts = columns.split(), line.split()
    if len(parts) == len(names):
        what = f"{field}: expected {kind}, got {_text(parts[names.index(field)])!r}"
    elif len(parts) < len(names):
        what = f"{len(parts)} columns, expected {len(names)}: {names[len(parts)]} is missing"
    else:
        what = f"{len(parts)} columns, expected {len(names)}; an id in a TREC file can't contain a space"
    return DataError(what, where=f"{visible(path)}:{number}", hint=f"Write: {columns}.", code=code)


def _text(raw: bytes) -> str:
    return visible(raw.decode("utf-8", "backslashreplace"), 80)


def is_run_file(source: object) -> bool:
    """Whether a file is a TREC run: its first line has the six columns of one and is no JSON."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        return False  # a pipe can be read once only
    try:
        with open_binary(os.fspath(source), len) as stream:
            first = stream.readline(4096).split()
    except (OSError, EOFError, ShipworthyError):
        return False  # the reader will say what is wrong with it
    return len(first) == 6 and not first[0].startswith((b"{", b"[")) and first[1] == b"Q0" and first[3].isdigit()


def one_file(run: object) -> str:
    """The path of a run; the queries of a run stand in one file."""
    if isinstance(run, Files):
        raise UsageError(
            f"{len(run.paths)} files, but a TREC run is one file",
            where=visible(run.pattern),
            hint="Name the file of one run.",
            code="retrieval-inputs",
        )
    assert isinstance(run, (str, os.PathLike))
    return os.fspath(run)


name_of: Callable[[bytes], str] = methodcaller("decode", "utf-8", "backslashreplace")


def qrels_text(gold: str) -> bytes:
    """A file of gold items as qrels."""
    return "".join(qrels_lines(read_gold(gold))).encode()


def run_text(log: str, tag: str = "shipworthy") -> bytes:
    """A log as a run; where paraphrases or seeds give several lists a question, the first."""
    first: dict[str, LogLine] = {}
    for _, line in stream_traces(log, Input(), record=LogLine):
        assert isinstance(line, LogLine)
        first.setdefault(line.qid, line)
    return "".join(run_lines(first.values(), tag)).encode()


def qrels_lines(gold: Iterable[Gold]) -> Iterator[str]:
    """Gold items as qrels; ids with white space can't be written."""
    for item in gold:
        places = item.relevant or item.citations
        for place in places:
            name = place if isinstance(place, str) else place.id
            yield f"{_column(str(item.qid))} 0 {_column(name)} 1\n"


def run_lines(log: Iterable[LogLine], tag: str) -> Iterator[str]:
    """Log lines as a run, one list a question; a list without scores gets falling ones, so that its order is kept."""
    for line in log:
        blocks = line.blocks
        scored = all(block.score is not None for block in blocks)
        for rank, block in enumerate(blocks, 1):
            score = block.score if scored else len(blocks) - rank + 1
            yield f"{_column(str(line.qid))} Q0 {_column(block.id)} {rank} {score!r} {tag}\n"


def _column(name: str) -> str:
    if name.split() != [name]:
        raise DataError(
            f"the id {visible(name, 80)!r} has white space, which a TREC file can't represent",
            hint="Rename it, or keep to JSON lines.",
            code="trec-space",
        )
    return name
