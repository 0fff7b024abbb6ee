"""TREC files: qrels and runs, many lines taken apart at once and read one query at a time."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from array import array
from collections.abc import Callable, Iterator
from itertools import compress, islice
from operator import methodcaller, ne
from typing import BinaryIO, TypeVar

import msgspec

from ...core.inputs import Input
from ...errors import DataError, ShipworthyError, UsageError
from ...reading.files import Files
from ...reading.jsonl import open_binary
from ...text import visible

Judged = tuple[bytes, ...] | dict[bytes, int]  # documents of a query, with their grades unless these are all 1
Block = tuple[bytes, list[bytes], list[float]]  # a query, documents and their scores, in the order of the file
Number = TypeVar("Number", int, float)
Columns = tuple[list[bytes], list[bytes], list[Number]]
Row = tuple[bytes, bytes, Number]

PIECE = 1 << 15  # bytes that are taken apart at once: what comes of them should fit in the cache of a core
_QRELS = "qid iteration docno relevance"
_BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
_RUN = "qid Q0 docno rank score tag"


class Scattered(Exception):
    """The lines of one query don't stand together, so that the run can't be read query by query."""


name_of: Callable[[bytes], str] = methodcaller("decode", "utf-8", "backslashreplace")


# --- qrels ---


def read_qrels(path: str, read: Input) -> dict[bytes, Judged]:
    """Documents of a grade above zero by query; a query with none of them is there, and empty.

    A document with two grades is an error.
    """
    judged: dict[bytes, Judged] = {}
    pieces = _columns(path, read, _regular_grades, _grade)
    for qid, names, levels in (span for columns in pieces for span in _spans(columns, _edges(columns[0]))):
        if qid not in judged and levels.count(1) == len(levels) and len(set(names)) == len(names):
            judged[qid] = tuple(names)
            continue
        grades = judged[qid] = grades_of(judged.get(qid, ()))
        for name, level in zip(names, levels, strict=True):
            if level > 0 and grades.setdefault(name, level) != level:
                what = f"document {_text(name)!r} has two grades for query {_text(qid)!r}"
                raise DataError(what, where=path, hint="Keep one of the lines.", code="qrels-repeated")
    if not judged:
        what, hint = "there is no judgement in the qrels", f"Write lines of: {_QRELS}."
        raise DataError(what, where=path, hint=hint, code="qrels-empty")
    return judged


def grades_of(judged: Judged) -> dict[bytes, int]:
    return judged if isinstance(judged, dict) else dict.fromkeys(judged, 1)


def _regular_grades(parts: list[bytes], lines: int) -> Columns[int] | None:
    if len(parts) != 4 * lines or parts[1::4].count(parts[1]) != lines:
        return None  # among others the three columns of BEIR
    return parts[0::4], parts[2::4], _numbers(parts[3::4], int)


def _grade(path: str, number: int, line: bytes) -> Row[int] | None:
    parts = line.split()
    if number == 1 and parts == _BEIR_HEADER:
        return None
    try:
        qid, *iteration, name, grade = parts  # BEIR leaves the iteration out
        if len(iteration) < 2:
            return qid, name, int(grade)
    except ValueError:
        pass
    raise _problem(path, number, line, _QRELS, "relevance", "an integer", "qrels-line")


# --- runs ---


def read_run(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """The run's queries one after the other; a query that turns up again later is Scattered."""
    # By hash: to keep one of many small objects that are made together would keep the memory of all of them in use.
    seen: set[int] = set()
    for block in run_spans(path, read, bits):
        if (key := hash(block[0])) in seen:
            raise Scattered
        seen.add(key)
        yield block


def read_whole_run(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """The queries of a file that has them mixed: it is held in memory whole."""
    blocks: dict[bytes, Block] = {}
    for block in run_spans(path, read, bits):
        known = blocks.setdefault(block[0], block)
        if known is not block:
            known[1].extend(block[1])
            known[2].extend(block[2])
    yield from blocks.values()


def run_spans(path: str, read: Input, bits: int = 64) -> Iterator[Block]:
    """Lines that stand together and are of one query; there may be more of it. Scores are rounded to so many bits."""
    rest: Columns[float] = [], [], []
    for qids, names, scores in _columns(path, read, _regular_scores, _score):
        if bits == 32:
            scores = array("f", scores).tolist()
        qids[:0], names[:0], scores[:0] = rest
        edges = _edges(qids)
        yield from _spans((qids, names, scores), edges[:-1])
        last = edges[-2] if edges else 0  # the last query may go on in the next piece
        rest = qids[last:], names[last:], scores[last:]
    yield from _spans(rest, _edges(rest[0]))


def _regular_scores(parts: list[bytes], lines: int) -> Columns[float] | None:
    if len(parts) != 6 * lines or parts[1::6].count(b"Q0") != lines:
        return None
    scores = _numbers(parts[4::6], float)
    # A sum is finite only if all its numbers are.
    return (parts[0::6], parts[2::6], scores) if math.isfinite(sum(scores)) else None


def _score(path: str, number: int, line: bytes) -> Row[float]:
    """Query, document and score of a line; extra columns are ignored."""
    parts = line.split()
    try:
        regular = len(parts) == 6 or (len(parts) > 6 and int(parts[3]) >= 0)  # a space in an id would shift the rank
        score = float(parts[4]) if regular else None
    except ValueError:
        score = None
    if score is None:
        raise _problem(path, number, line, _RUN, "score", "a number", "run-line")
    if not math.isfinite(score):
        what = f"score: expected a finite number, got {score} for document {_text(parts[2])!r}"
        raise DataError(what, where=f"{visible(path)}:{number}", hint=f"Write: {_RUN}.", code="run-score")
    return parts[0], parts[2], score


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
        what, hint = f"{len(run.paths)} files, but a TREC run is one file", "Name the file of one run."
        raise UsageError(what, where=visible(run.pattern), hint=hint, code="retrieval-inputs")
    assert isinstance(run, (str, os.PathLike))
    return os.fspath(run)


# --- columns of either kind ---


def _columns(
    path: str,
    read: Input,
    regular: Callable[[list[bytes], int], Columns[Number] | None],
    row_of: Callable[[str, int, bytes], Row[Number] | None],
) -> Iterator[Columns[Number]]:
    """The columns of a piece of the file at a time. Lines that are not regular are read one by one."""
    number, digest = 0, hashlib.sha256()
    read.path = path
    with open_binary(path, digest.update) as stream:
        for piece in _pieces(stream):
            lines, columns = piece.count(b"\n"), None
            with contextlib.suppress(ValueError):
                columns = regular(piece.split(), lines)
            if columns is None:
                numbered = enumerate(piece.splitlines(), number + 1)
                filled = ((at, line) for at, line in numbered if line.strip() and not line.startswith(b"#"))
                rows = [row for at, line in filled if (row := row_of(path, at, line)) is not None]
                columns = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
            yield columns
            number += lines
    read.digest, read.records = digest.hexdigest(), number


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    while piece := stream.read(PIECE):
        piece += stream.readline()
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def _numbers(column: list[bytes], kind: type[Number]) -> list[Number]:
    """A column of numbers. Nearly all are written as JSON writes them, which is read four times as fast."""
    try:
        found = msgspec.json.decode(b"[" + b",".join(column) + b"]", type=list[kind])  # type: ignore[valid-type]
        if len(found) == len(column):  # or a comma was part of a number
            return found
    except msgspec.DecodeError:
        pass
    return list(map(kind, column))


def _edges(qids: list[bytes]) -> list[int]:
    """Where the lines of a query begin that stand together, and where the last of them end."""
    if not qids:
        return []
    return [0, *compress(range(1, len(qids)), map(ne, qids, islice(qids, 1, None))), len(qids)]


def _spans(columns: Columns[Number], edges: list[int]) -> Iterator[tuple[bytes, list[bytes], list[Number]]]:
    qids, names, numbers = columns
    for start, end in zip(edges, islice(edges, 1, None), strict=False):
        yield qids[start], names[start:end], numbers[start:end]


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
