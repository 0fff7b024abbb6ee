"""Sources: gold and traces read from files or iterables, what is wrong with a gold item, what suites ask of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import msgspec
from msgspec import UNSET

from ..errors import DataError
from ..reading.files import Files
from ..reading.jsonl import Problem, Problems, Reader, Refused
from ..reading.lock import item_digest, rows_of, set_digest
from ..reading.plans import note_runs
from ..reading.strict import as_record
from .contracts import NO_BLOCKS, NO_QID, Gold, Place, Trace, known_gold_keys
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
    if read.mapped is not None:
        check_mapping(read)
    if not read.items:
        raise_misfit(source, "gold", read.found, read)
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
    for places, _, texts in stream.blocks(decode=True):
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
    if read.mapped is not None:
        check_mapping(read)
    for path, fits in read.fits.items():
        if not fits:
            raise_misfit(path if is_path(source) else source, "trace", read.found, read)
    if needs and not read.fits and read.found.total:
        raise_misfit(_first_path(source), "trace", read.found, read)
    read.close(read.found, lenient)


def check_mapping(read: Input) -> None:
    if read.mapped is not None:
        from .mapped import check_matched

        check_matched(read.mapped, read.path)


def _first_path(source: object) -> object:
    return source.paths[0] if isinstance(source, Files) else source


def raise_misfit(source: object, kind: str, problems: Problems, read: Input) -> None:
    """None of the records fits: say what the file has, unless its lines can't be read at all."""
    lacking = {problem.what for problem in problems.first}
    if not all(what.startswith((NO_QID, NO_BLOCKS)) for what in lacking):
        return
    from ..reading.misfit import misfit

    missing = "no record has retrieved_ids or topk" if NO_BLOCKS in lacking else ""
    error = misfit(source, kind, missing, () if read.mapped is None else read.mapped.pairs)
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


# --- gold items ---


class Watch(Protocol):
    """Told of every item with its line, in any order; what two of them were told adds up."""

    def meet(self, item: Gold, line: int) -> object:
        """False where the item can't be judged: `require` then says why."""

    def __iadd__(self, other: Any) -> Any: ...
    def require(self, source: Input) -> None:
        """Raise what is wrong with the set as a whole."""

    def warnings(self) -> list[str]: ...


class GoldSet(msgspec.Struct):
    """The gold items by qid, in file order, and what was noticed while reading them."""

    items: dict[str, Gold]
    lines: Mapping[str, int]
    source: Input

    def placed(self) -> Iterator[tuple[Gold, int]]:
        """The items with their lines."""
        return ((item, self.lines[qid]) for qid, item in self.items.items())


def shows(gold: Gold) -> bool:
    """A quick look at whether all that the item expects can be seen: each text begins with a letter or a digit."""
    for texts in (gold.gold_claim_substr, gold.gold_citations, gold.constraints):
        for text in texts or ():
            if not isinstance(text, str) or not text[:1].isalnum():
                return False
    return True


def wrong(gold: Gold, before: int | None, last_wins: bool) -> tuple[str, str, str] | None:
    """What is wrong with a gold item, the hint and the code; `before` is the line of one with the same qid."""
    if before is not None and not last_wins:
        what = f"duplicate qid {gold.qid!r} (first on line {before})"
        return what, "Give each question its own qid.", "gold-repeated"
    if blank := _blank_field(gold):
        what = f"{blank} has a blank entry, which every answer would meet or none"
        return what, "Write it, or remove it.", "gold-blank"
    return None


def _blank_field(gold: Gold) -> str:
    """The field of a gold item that expects nothing visible: blanks, or characters that print as nothing."""
    for name in ("gold_claim_substr", "gold_citations", "constraints"):
        for entry in getattr(gold, name) or ():
            text = entry.id if isinstance(entry, Place) else entry
            if not text or not (text[0].isalnum() or any(map(str.isprintable, "".join(text.split())))):
                return name
    return ""


# --- what suites ask of every item ---


PLACEHOLDER = "replace this: the shortest text that every correct answer contains"


class Answerable:
    """Whether every item says whether it is answerable, found out while they go by."""

    def __init__(self) -> None:
        self._starter: tuple[int, str] | None = None  # the first whose expected text nobody has written yet
        self._some = False
        self._first: tuple[int, str] | None = None  # line and qid of the first that does not say

    def meet(self, item: Gold, line: int) -> object:
        if item.answerable is None:
            self._first = min(self._first or (line, item.qid), (line, item.qid))
        else:
            self._some = True
            if item.gold_claim_substr == [PLACEHOLDER]:
                self._starter = min(self._starter or (line, item.qid), (line, item.qid))
        return True

    def __iadd__(self, other: Self) -> Self:
        self._some |= other._some
        self._first = min(filter(None, (self._first, other._first)), default=None)
        self._starter = min(filter(None, (self._starter, other._starter)), default=None)
        return self

    def require(self, source: Input) -> None:
        """An item that does not say can't be judged, and nobody guesses."""
        if self._starter is not None:
            line, qid = self._starter
            raise DataError(
                f"the expected text of qid {qid!r} is still the placeholder that `init` wrote",
                where=f"{source.path}:{line}",
                hint="Write the shortest text that every correct answer contains.",
                code="gold-placeholder",
            )
        if self._first is None:
            return
        if not self._some and os.path.isfile(source.path):
            from ..reading.misfit import misfit

            pairs = () if source.mapped is None else source.mapped.pairs
            error = misfit(source.path, "gold", "no question says whether it is answerable", pairs)
            if error is not None:
                raise error
        line, qid = self._first
        raise DataError(
            f"qid {qid!r} does not say whether it is answerable",
            where=f"{source.path}:{line}",
            hint='Add "answerable": true or false.',
            code="gold-answerable",
        )

    def warnings(self) -> list[str]:
        return []


def require_answerable(gold: GoldSet) -> None:
    """Refuse a set with an item that does not say whether it is answerable."""
    noticed = Answerable()
    for item, line in gold.placed():
        noticed.meet(item, line)
    noticed.require(gold.source)


class ExpectedTexts(Answerable):
    """Whether answerable items name expected texts, too: under another name they are no lack of them."""

    def __init__(self) -> None:
        super().__init__()
        self._expects = False  # some answerable item does
        self._lacks = False  # … and some does not

    def meet(self, item: Gold, line: int) -> object:
        if item.answerable:
            self._lacks |= item.gold_claim_substr is UNSET
            self._expects |= item.gold_claim_substr is not UNSET
        return super().meet(item, line)

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self._expects |= other._expects
        self._lacks |= other._lacks
        return self

    def require(self, source: Input) -> None:
        super().require(source)
        if self._lacks:
            require_expected(source, none=not self._expects)


def require_expected(source: Input, none: bool) -> None:
    """Say how to read expected texts that the set has under another name. `none`: no answerable item has any.

    Called for sets in which some answerable items lack them.
    """
    from ..reading.misfit import renamed

    given: Collection[str] = ()
    if source.mapped is not None:
        from ..reading.mapping import FieldMap

        given = FieldMap.parse(source.mapped.pairs, "gold").sources
    if error := renamed(source.path, given, none):
        raise error
