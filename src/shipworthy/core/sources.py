"""Sources: gold and traces read from files or iterables, with their digests and what was wrong with them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..errors import DataError
from ..reading.files import Files
from ..reading.jsonl import Problem, Problems, Reader, Refused
from ..reading.lock import item_digest, rows_of, set_digest
from ..reading.plans import note_runs
from ..reading.strict import as_record
from .contracts import NO_BLOCKS, NO_QID, Gold, Trace, known_gold_keys
from .goldset import Answerable, GoldSet, require_answerable, require_expected, wrong
from .inputs import Input, Refusal, Refusals, Stream, Warned
from .records import Contract, is_path, path_of

__all__ = ["Answerable", "GoldSet", "Input", "Stream", "Warned", "require_answerable", "require_expected"]

Record = TypeVar("Record")


GoldSource = str | os.PathLike[str] | Iterable[Gold | Mapping[str, Any]]
TraceSource = str | os.PathLike[str] | Iterable[Trace | Mapping[str, Any]]


ANSWERS = ("answer_json", "error")  # what at least one trace has that answers are judged by
BLOCKS = ("topk", "retrieved_ids", "error")  # … and retrieval


def read_gold(source: GoldSource, map: Iterable[str] = (), by: Iterable[str] = ()) -> list[Gold]:
    """The gold items, with the fields in `by`; any bad line is an error."""
    return list(load_gold(source, map=map, by=by).items.values())


def gold_stream(
    source: GoldSource,
    read: Input,
    *,
    lenient: bool = False,
    by: Iterable[str] = (),
    map: Iterable[str] = (),
) -> Stream:
    """The lines of a gold set; bad ones are raised together when all of it was read."""
    fields = tuple(name for name in by if name not in Gold.__struct_fields__)
    contract = Contract("gold", Gold, map=tuple(map), fields=fields)
    read.path = path_of(source, "gold")
    return Stream(source, read, contract, partial(close_gold, lenient=lenient))


def close_gold(source: GoldSource, read: Input, *, lenient: bool) -> None:
    """What only the whole set tells: whether paths matched, whether it is one of questions, which lines are bad."""
    check_mapping(read)
    if not read.items:
        raise_misfit(source, "gold", read.found)
    read.close(read.found, lenient)
    if not read.items:
        raise DataError(
            "the gold set has no questions", where=read.path, hint="Write at least one question.", code="gold-empty"
        )


def load_gold(
    source: GoldSource,
    *,
    lenient: bool = False,
    last_wins: bool = False,
    by: Iterable[str] = (),
    map: Iterable[str] = (),
) -> GoldSet:
    """Read gold from a file or an iterable. Repeated qids are errors that name both lines, unless `last_wins`."""
    read = Input()
    stream = gold_stream(source, read, lenient=lenient, by=by, map=map)
    items, lines, refusals = dict[str, Gold](), dict[str, int](), Refusals()
    for places, _, texts in stream.blocks():
        records = stream.format.records(list(zip(places, texts, strict=True)), refusals.add)
        for place, item in zip(places, records, strict=True):
            if item is None:
                continue
            if what := wrong(item, lines.get(item.qid), last_wins):
                refusals.add(Refusal(place, *what, counted=True))
                continue
            items.pop(item.qid, None)
            items[item.qid], lines[item.qid] = item, place
    read.items = len(items)
    read.content = set_digest({qid: item_digest(item) for qid, item in items.items()})
    stream.close(refusals)
    return GoldSet(items, lines, read)


def unknown_gold_keys(source: GoldSource, map: Iterable[str] = ()) -> Counter[str]:
    """How many gold items have each key that no suite reads; an iterator, which was read already, has none."""
    rows: Iterable[tuple[int, object]] = ()
    if isinstance(source, (str, os.PathLike)):
        rows = rows_of(source)
    elif isinstance(source, Sequence):
        rows = enumerate(source, 1)
    counted: Counter[str] = Counter()
    for _, row in rows:
        counted.update(row.keys() if isinstance(row, Mapping) else ())
    known = {*known_gold_keys(), *_mapped_names(map)}
    return Counter({name: count for name, count in counted.items() if name not in known})


def _mapped_names(map: Iterable[str]) -> Iterator[object]:
    """The names that a mapping reads from."""
    from ..reading.mapping import FieldMap

    for source in FieldMap.parse(map, "gold").sources.values():
        yield from (source.path.written, source.path.steps[0])


def stream_traces(
    source: TraceSource,
    read: Input,
    *,
    record: type[Trace] = Trace,
    lenient: bool = False,
    unnamed: bool = False,
    map: Iterable[str] = (),
    needs: Sequence[str] = (),
    check: Callable[[Any], tuple[str, str, str] | None] | None = None,
) -> Stream:
    """Traces as lines; bad ones are raised together when all of them were read.

    `unnamed` drops traces without a qid, as the reference scripts did, instead of refusing them. A file none of whose
    traces has any of the fields in `needs` is a file of something else, and an error. `check` says what else is wrong
    with a trace.
    """
    contract = Contract(
        "trace", record, map=tuple(map), unnamed=unnamed, needs=tuple(needs), check_first=lenient, check=check
    )
    read.path = path_of(source, "trace")
    return Stream(source, read, contract, partial(close_traces, lenient=lenient, needs=bool(needs)))


def close_traces(source: TraceSource, read: Input, *, lenient: bool, needs: bool) -> None:
    """What only all traces tell: whether paths matched, whether each file is one of traces, which lines are bad."""
    check_mapping(read)
    for path, fits in read.fits.items():
        if not fits:
            raise_misfit(path if is_path(source) else source, "trace", read.found)
    if needs and not read.fits and read.found.total:
        raise_misfit(_first_path(source), "trace", read.found)
    read.close(read.found, lenient)


def check_mapping(read: Input) -> None:
    if read.mapped is not None:
        from .mapped import check_matched

        check_matched(read.mapped, read.path)


def _first_path(source: object) -> object:
    return source.paths[0] if isinstance(source, Files) else source


def raise_misfit(source: object, kind: str, problems: Problems) -> None:
    """None of the records fits: say what the file has, unless its lines can't be read at all."""
    lacking = {problem.what for problem in problems.first}
    if not all(what.startswith((NO_QID, NO_BLOCKS)) for what in lacking):
        return
    from ..reading.misfit import misfit

    error = misfit(source, kind, "no record has retrieved_ids or topk" if NO_BLOCKS in lacking else "")
    if error is not None:
        raise error


def read_records(
    source: object,
    record: type[Record],
    read: Input,
    name: str,
    problems: Problems,
    *,
    label_code: str = "type",
) -> Iterator[tuple[int, Record]]:
    """Records of a file or an iterable with their lines; a bad one is a problem. `name` stands for a missing path."""
    for number, value in _numbered(source, read, name, problems):
        read.records += 1
        try:
            converted = value if isinstance(value, record) else as_record(value, record)
        except Refused as refusal:
            code = label_code if refusal.code == "type" and "label" in refusal.what else refusal.code
            problems.add(Problem(read.path, number, refusal.what, refusal.hint, code))
            continue
        note_runs(read.plans, [value])
        yield number, converted


def _numbered(source: Any, read: Input, name: str, problems: Problems) -> Iterator[tuple[int, Any]]:
    read.path = path_of(source, name)
    if not is_path(source):
        yield from enumerate(source, 1)
        return
    reader = Reader(source, dict, problems, warn=read.warn)
    yield from reader
    read.learn(reader)


def read_texts(source: Any, name: str) -> tuple[Mapping[str, str], Input]:
    """Texts by id, from a mapping or from JSON lines with `id` and `text`."""
    read = Input(path=path_of(source, name))
    if isinstance(source, Mapping):
        read.records = len(source)
        return source, read
    problems, texts = Problems(), {}
    reader = Reader(source, dict, problems)
    for line, row in reader:
        if not isinstance(row.get("id"), str) or not isinstance(row.get("text"), str):
            where = f"{read.path}:{line}"
            raise DataError("a chunk needs an id and a text, both strings", where=where, code="chunk")
        texts[row["id"]] = row["text"]
    problems.raise_any()
    read.digest, read.records = reader.digest, reader.records
    return texts, read


def file_input(path: str | os.PathLike[str], records: int = 1) -> Input:
    """A small file that is read whole, by its digest."""
    import hashlib

    with open(path, "rb") as stream:
        return Input(path=os.fspath(path), digest=hashlib.file_digest(stream, "sha256").hexdigest(), records=records)
