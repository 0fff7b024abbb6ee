"""Ranked lists: TREC files and JSON lines of ids, read in one pass into what the metrics need of them, and no more."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, islice
from operator import attrgetter, methodcaller, ne
from typing import BinaryIO, TypeGuard, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ...core.contracts import NO_BLOCKS, gold_keys, trace_keys
from ...core.inputs import Input, Numbered, Records, Stream
from ...core.records import is_other_format, mapped_records
from ...core.sources import check_mapping, raise_misfit, read_records
from ...errors import DataError, ShipworthyError, UsageError
from ...reading.files import Files
from ...reading.jsonl import Problem, Problems, Reader, open_binary
from ...reading.keys import Keys
from ...reading.limits import MAX_SHOWN
from ...reading.values import shaped, without_nulls
from ...text import visible
from .metrics import Duplicate, Ranked, RankedList, arrange, fall, sort_keys
from .options import Choices, Options

# --- TREC files: many lines taken apart at once and read one query at a time ---

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


Source = str | os.PathLike[str] | Iterable[object]  # a file, or the records themselves
Name = str | bytes  # bytes as a TREC file has them, text as JSON lines have it
Record = TypeVar("Record", bound=msgspec.Struct)


class Slot(msgspec.Struct, gc=False):
    """What one question has to find."""

    name: str  # the question's, as reports have it
    wanted: tuple[Name, ...]
    grades: dict[bytes, int] | None = None  # only where relevance is graded, as TREC files can say
    line: int = 0  # of a gold set


class _Name(msgspec.Struct):
    id: str


class _GoldIds(msgspec.Struct):
    qid: str | int = ""
    q_id: str | int | UnsetType = UNSET
    id: str | int | UnsetType = UNSET
    relevant: list[str | _Name] = []
    gold_citations: list[str | _Name] = []


class _Scored(msgspec.Struct):
    id: str
    score: float | None = None


class _LogIds(msgspec.Struct):
    qid: str | int = ""
    q_id: str | int | UnsetType = UNSET
    retrieved_ids: list[str | _Scored] | UnsetType = UNSET
    topk: list[_Scored] | UnsetType = UNSET
    error: str | None = None
    sweep_id: str | None = None
    run_id: str | None = None
    planned_runs: int | None = None


Slots = dict[Name, Slot]  # by qid
Listed = tuple[Name, Sequence[Name], Sequence[float] | None]  # a question, its list, and scores where there are any
Lists = Iterator[tuple[int, Listed]]  # with their places
_NAMELESS = (UNSET, "")
FEW = 16  # names that are looked for in a list one by one, before a table of all its names is worth making
_NOTHING = Ranked(0, 0, ())  # stands for the list of a question that nobody asked about


def relevant_counts(slots: Slots) -> dict[str, int]:
    """How much there is to find for each question: all that is left of it once the lists are ranked."""
    return {slot.name: len(slot.wanted) for slot in slots.values()}


# --- lists of TREC files ---


def slots_of(judgements: Mapping[bytes, Judged], choices: Choices) -> Slots:
    """What there is to find for each query of qrels."""
    slots: Slots = {}
    for qid, judged in judgements.items():
        if isinstance(judged, tuple) and choices.rel_level == 1:
            slots[qid] = Slot(name_of(qid), judged)
            continue
        grades = grades_of(judged)
        graded = choices.rel_level > 1 or max(grades.values(), default=0) > 1
        names = [name for name, level in grades.items() if level >= choices.rel_level] if graded else list(grades)
        slots[qid] = Slot(name_of(qid), tuple(names), grades if graded else None)
    return slots


def run_lists(path: str, read: Input, slots: Slots, choices: Choices, text: bool = False) -> Iterator[Numbered]:
    """The lists of a run. It is read anew where the lines of a query don't stand together, before any list is told.

    With `text` names are decoded, as a gold set of JSON lines has them.
    """
    bits, rounded = choices.score_bits, msgspec.structs.replace(choices, score_bits=64)  # they are rounded once

    def lists(blocks: Iterable[Block]) -> list[Numbered]:
        decoded = ((name_of(qid), [*map(name_of, names)], scores) for qid, names, scores in blocks) if text else blocks
        return list(ranked_lists(slots, enumerate(decoded, 1), rounded))

    try:
        yield from lists(read_run(path, read, bits))
    except Scattered:
        yield from lists(read_whole_run(path, read, bits))


# --- lists of JSON lines ---

ONE_EACH = "Give each question its own qid."


def gold_slots(source: Source, read: Input, map: tuple[str, ...] = ()) -> Slots:
    """What there is to find for each question; bad lines are in `read`, and told together with those of the log."""
    slots, repeated = dict[Name, Slot](), Problems()
    for line, item in _records(source, _GoldIds, read, "gold", gold_keys(), map):
        qid = item.qid or (item.q_id if item.q_id is not UNSET else item.id)
        if qid in _NAMELESS:
            read.found.add(Problem(read.path, line, "the qid is missing", ONE_EACH, "gold-repeated"))
            continue
        slot = Slot(str(qid), tuple(dict.fromkeys(_names(item.relevant or item.gold_citations))), None, line)
        first = slots.setdefault(slot.name, slot)
        if first is not slot:
            what = f"duplicate qid {slot.name!r} (first on line {first.line})"
            repeated.add(Problem(read.path, line, what, ONE_EACH, "gold-repeated"))
    read.found.total += repeated.total
    read.found.first = sorted([*read.found.first, *repeated.first], key=attrgetter("line"))[:MAX_SHOWN]
    read.records = len(slots)
    check_mapping(read)
    read.bad, read.problems = read.found.total, [str(problem) for problem in read.found.first]
    if not slots and not read.bad:
        what, hint = "the gold set has no questions", "Write at least one question."
        raise DataError(what, where=read.path, hint=hint, code="gold-empty")
    return slots


def log_lists(source: Source, read: Input, slots: Slots, choices: Choices, gold: Input, options: Options) -> Stream:
    """The lists of a log; bad lines, the gold's among them, are raised together when it is exhausted."""
    records = partial(ranked_records, slots=slots, choices=choices, map=options.map)
    close = partial(close_lists, gold=gold, lenient=options.lenient)
    return Stream(source, read, Records(records, attrgetter("qid")), close)


def ranked_records(
    source: Source, read: Input, slots: Slots, choices: Choices, map: tuple[str, ...]
) -> Iterator[Numbered]:
    """The lists of a log, or of a part of one."""
    return ranked_lists(slots, read_lists(source, read, map), choices)


def close_lists(source: Source, read: Input, gold: Input, lenient: bool) -> None:
    """What only the whole log tells."""
    check_mapping(read)
    read.bad, read.problems = read.found.total, [str(problem) for problem in read.found.first]
    problems = Problems()
    problems += gold.found
    problems += read.found
    if read.bad == read.records:
        raise_misfit(source, "trace", problems, read)
    if not lenient:
        problems.raise_any()


def read_lists(source: Source, read: Input, map: tuple[str, ...]) -> Lists:
    for line, run in _records(source, _LogIds, read, "trace", trace_keys(), map):
        qid = run.qid or run.q_id
        given: Sequence[str | _Scored] | UnsetType = run.topk if run.topk is not UNSET else run.retrieved_ids
        if qid in _NAMELESS or (given is UNSET and not run.error):
            lacking = NO_BLOCKS if given is UNSET else "qid: expected a name for the question, found none"
            read.found.add(Problem(read.path, line, lacking, "", "type"))
            continue
        places = [] if given is UNSET else given
        if _all_strings(places):
            yield line, (str(qid), places, None)
        else:
            scores = [score for place in places if (score := getattr(place, "score", None)) is not None]
            yield line, (str(qid), _names(places), scores if len(scores) == len(places) else None)


def _records(
    source: Source, record: type[Record], read: Input, name: str, keys: Keys, map: tuple[str, ...]
) -> Iterator[tuple[int, Record]]:
    """Records of a file, decoded at once, or of an iterable."""
    if not isinstance(source, (str, os.PathLike)):
        plain = (msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value for value in source)
        bare = (without_nulls(dict(value)) if isinstance(value, Mapping) else value for value in plain)
        yield from read_records(bare, record, read, name, read.found)
        return
    if map or is_other_format(source):
        yield from mapped_records(source, record, read, keys, name, map)
        return
    read.path = os.fspath(source)
    reader = Reader(source, record, read.found, keys=lambda: keys, shaped=partial(shaped, kind=name))
    yield from reader
    read.learn(reader)
    read.records = reader.records


def _names(places: Sequence[str | _Name | _Scored]) -> list[str]:
    return places if _all_strings(places) else [place if isinstance(place, str) else place.id for place in places]


def _all_strings(places: Sequence[object]) -> TypeGuard[list[str]]:
    try:
        "".join(places)  # type: ignore[arg-type]  # nothing else looks at all of them so quickly
    except TypeError:
        return False
    return True


# --- lists of either kind ---


def ranked_lists(slots: Slots, lists: Iterable[tuple[int, Listed]], choices: Choices) -> Iterator[Numbered]:
    """What each list hits; lists of questions that the gold does not have are passed on without their ids."""
    shared: dict[tuple[int, ...], Ranked] = {}
    by_score = choices.order == "score"
    for place, (qid, names, scores) in lists:
        slot = slots.get(qid)
        if slot is None:
            yield place, RankedList(shown(qid), _NOTHING)
            continue
        known = set(names)
        as_listed = not by_score or (scores is not None and fall(sort_keys(scores, choices)))
        if len(known) < len(names) or not as_listed or choices.depth is not None:
            order = arrange_list(shown(qid), names, scores, choices)
            names = names if order is None else [names[place] for place in order]
            known = set(names)
        if slot.grades is not None:
            yield place, RankedList(slot.name, _graded(slot, slot.grades, names))
            continue
        found = known.intersection(slot.wanted)
        places = sorted(map(names.index, found)) if len(found) <= FEW else _places(found, names)
        key = (len(names), len(slot.wanted), *places)
        ranked = shared.get(key)
        if ranked is None:
            ranked = shared[key] = Ranked(len(names), len(slot.wanted), tuple([rank + 1 for rank in key[2:]]))
        yield place, RankedList(slot.name, ranked)


def arrange_list(qid: str, names: Sequence[Name], scores: Sequence[float] | None, choices: Choices) -> list[int] | None:
    """The order of a question's list; an error where its choices can't be followed."""
    if choices.order == "score" and scores is None:
        what, hint = f"a block of qid {qid!r} has no score", "Give each topk block a score, or use --order list."
        raise DataError(what, hint=hint, code="retrieval-no-score")
    try:
        return arrange(names, scores, choices)
    except Duplicate as repeated:
        what = f"qid {qid!r} retrieved {shown(repeated.args[0])!r} twice"
        hint = "Remove it, or choose --duplicates first or occupy_slot."
        raise DataError(what, code="retrieval-duplicate", hint=hint) from None


def _places(found: set[Name], names: Sequence[Name]) -> list[int]:
    """Where names stand that are all in the list, from 0 on; one that is repeated at the first of its places."""
    places = {name: place for place, name in reversed([*enumerate(names)])}
    return sorted(map(places.__getitem__, found))


def _graded(slot: Slot, grades: dict[bytes, int], names: Sequence[Name]) -> Ranked:
    places = {name: rank for rank, name in reversed([*enumerate(names, 1)])}
    hits = sorted([places[name] for name in slot.wanted if name in places])
    gained = {places[name]: grade for name, grade in grades.items() if grade and name in places}
    gains = [gained.get(rank, 0) for rank in range(1, max(gained, default=0) + 1)]
    ideal = tuple(sorted(grades.values(), reverse=True))
    return Ranked(len(names), len(slot.wanted), tuple(hits), (), tuple(gains), ideal)


def shown(qid: str | bytes) -> str:
    return name_of(qid) if isinstance(qid, bytes) else qid
