"""Contracts: what a gold item and a trace are, and what makes a record invalid."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .errors import DataError
from .jsonl import Problem, Problems, Reader, field_first
from .parquet import ParquetRows

Offsets = tuple[int, int]

__all__ = [
    "UNSET", "Answer", "DetailedTrace", "Evidence", "Gold", "GoldSet", "GoldSource", "Input", "Place", "Trace", "TraceSource",
    "UnsetType", "Warned", "ids_of", "load_gold", "read_gold", "stream_traces",
]  # fmt: skip


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """A block or a citation: an id, and where it stands in its document."""

    id: str
    offsets: Offsets | None = None
    section_id: str | None = None
    type: str | None = None
    score: float | None = None
    text: str | None = None
    doc: str | None = None

    def __post_init__(self) -> None:
        if self.offsets is not None and not 0 <= self.offsets[0] <= self.offsets[1]:
            raise ValueError(f"offsets {list(self.offsets)} are reversed or negative, expected [start, end] in bytes")


def ids_of(places: Iterable[str | Place]) -> list[str]:
    return [place if isinstance(place, str) else place.id for place in places]


class Gold(msgspec.Struct, omit_defaults=True):
    """One question, and what is known about its answer."""

    qid: str = ""
    q_id: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    question: str = ""
    answerable: bool | None = None
    gold_claim_substr: list[str] | UnsetType = UNSET
    gold_citations: list[str | Place] | UnsetType = UNSET
    constraints: list[str] = []
    notes: str = ""
    paraphrases: list[str] = []
    relevant: list[str | Place] = []
    anchor_section: str | None = None
    negatives: list[str] = []
    type: str | None = None
    match: Literal["any", "all"] = "any"
    fields: dict[str, str] = {}  # further string fields, for segmentation

    def __post_init__(self) -> None:
        self.qid = _one_qid(self.qid, self.q_id, self.id)

    @property
    def citations(self) -> list[str]:
        return [] if self.gold_citations is UNSET else ids_of(self.gold_citations)

    @property
    def substrings(self) -> list[str]:
        return [] if self.gold_claim_substr is UNSET else self.gold_claim_substr


class Answer(msgspec.Struct, omit_defaults=True):
    """What the pipeline said."""

    claim: str = ""
    citations: list[str | Place] = []
    constraints_echo: list[str] = []


class Evidence(msgspec.Struct, omit_defaults=True):
    """What the answerer was shown."""

    id: str
    text: str = ""


class Trace(msgspec.Struct, omit_defaults=True):
    """One run of one question."""

    qid: str = ""
    q_id: str | UnsetType = UNSET
    q: str | None = None
    query: str | None = None
    question: str | None = None
    ts: float | str | None = None
    retrieved_ids: list[str | Place] | UnsetType = UNSET
    answer_json: Answer | UnsetType | None = UNSET
    ok: bool | None = None
    reason: str | None = None
    run_id: str | None = None
    sweep_id: str | None = None
    seed: int | None = None
    jitter: str | None = None
    paraphrase: int | str | None = None
    temperature: float | None = None
    arm: str | None = None
    knobs: dict[str, Any] | None = None
    e2e_ms: float | None = None
    stage_ms: dict[str, float] | None = None
    latency_ms: float | dict[str, float] | None = None
    latency_total_ms: float | None = None
    tokens: dict[str, float] | None = None
    cost_usd: float | None = None
    load_rps: float | None = None
    topk: list[Place] | UnsetType = UNSET
    delta_s: list[float] | None = None
    lambda_state: str | None = None
    anchor: str | None = None
    index_hash: str | None = None
    answer_citations: list[str | Place] | UnsetType = UNSET
    error: str | None = None
    evidence: list[Evidence] | None = None
    confidence: float | None = None
    score: float | None = None
    warmup: bool | None = None

    def __post_init__(self) -> None:
        if not self.qid or self.q_id is not UNSET:
            self.qid = _one_qid(self.qid, self.q_id)
        if self.answer_json is None and not self.error:
            raise ValueError("answer_json: expected object, got null")

    @property
    def answer(self) -> Answer:
        return self.answer_json if isinstance(self.answer_json, Answer) else _NO_ANSWER

    @property
    def asked(self) -> str:
        return self.q or self.query or self.question or ""

    @property
    def retrieved(self) -> list[str]:
        """Retrieved ids in rank order, as they were logged."""
        if self.retrieved_ids is not UNSET:
            return ids_of(self.retrieved_ids)
        return [] if self.topk is UNSET else [place.id for place in self.topk]


_NO_ANSWER = Answer()


class DetailedTrace(Trace):
    """A trace with the names that retrieval logs use for distance and state."""

    delta_greek: list[float] | None = msgspec.field(name="ΔS", default=None)
    delta_increment: list[float] | None = msgspec.field(name="∆S", default=None)
    delta_camel: list[float] | None = msgspec.field(name="deltaS", default=None)
    delta_list: list[float] | None = msgspec.field(name="ΔS_list", default=None)
    lambda_greek_state: str | None = msgspec.field(name="λ_state", default=None)
    lambda_greek: str | None = msgspec.field(name="λ", default=None)
    lambda_observe: str | None = msgspec.field(name="λ_observe", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        deltas = (self.delta_s, self.delta_greek, self.delta_increment, self.delta_camel, self.delta_list)
        self.delta_s = next((delta for delta in deltas if delta is not None), None)
        states = (self.lambda_state, self.lambda_greek_state, self.lambda_greek, self.lambda_observe)
        self.lambda_state = _lambda(next((state for state in states if state is not None), None))
        if self.delta_s is not None and self.topk is not UNSET and len(self.delta_s) != len(self.topk):
            raise ValueError(
                f"delta_s has {len(self.delta_s)} values and topk {len(self.topk)} blocks, expected as many"
            )


LAMBDA_STATES = {
    "→": "→", "->": "→", "convergent": "→",
    "←": "←", "<-": "←", "backward": "←",
    "<>": "<>", "split": "<>",
    "×": "×", "x": "×", "collapse": "×",
}  # fmt: skip


def _lambda(state: str | None) -> str | None:
    if state is None:
        return None
    try:
        return LAMBDA_STATES[state.strip().casefold()]
    except KeyError:
        raise ValueError(f"lambda_state: expected one of → ← <> ×, got {state!r}") from None


def _one_qid(qid: str, *aliases: str | UnsetType) -> str:
    given = [name for name in (qid, *aliases) if name is not UNSET and name != ""]
    if not given or not given[0].strip():
        raise ValueError("qid: expected a name for the question, found none")
    if any(name != given[0] for name in given):
        raise ValueError(f"qid: two names for one record, {given[0]!r} and {given[-1]!r}")
    return given[0]


class Warned(msgspec.Struct, frozen=True):
    """Something harmless that a reader should know."""

    where: str
    what: str
    code: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.code}]"


class Input(msgspec.Struct):
    """One thing that was read: its digest, how much of it, and what was wrong with it."""

    path: str = ""
    digest: str = ""
    records: int = 0
    bad: int = 0
    problems: list[str] = []
    warnings: list[Warned] = []

    def warn(self, line: int, what: str, code: str) -> None:
        """Keep a few of each kind: a million numeric qids are one remark, not a million."""
        if sum(1 for warned in self.warnings if warned.code == code) < 3:
            self.warnings.append(Warned(f"{self.path}:{line}", what, code))

    def close(self, problems: Problems, lenient: bool) -> None:
        """Keep what was wrong; unless lenient, raise it."""
        self.bad, self.problems = problems.total, [str(problem) for problem in problems.first]
        if not lenient:
            problems.raise_any()


class GoldSet(msgspec.Struct):
    """The gold items by qid, in file order, and what was noticed while reading them."""

    items: dict[str, Gold]
    lines: dict[str, int]
    source: Input


GoldSource = str | os.PathLike[str] | Iterable[Gold | Mapping[str, Any]]
TraceSource = str | os.PathLike[str] | Iterable[Trace | Mapping[str, Any]]

_GOLD_KEYS = tuple(f'"{key}"'.encode() for key in ("qid", "answerable", "gold_claim_substr", "gold_citations"))
_TRACE_KEYS = tuple(f'"{key}"'.encode() for key in ("qid", "claim", "citations", "retrieved_ids", "answer_json"))


def read_gold(path: str | os.PathLike[str]) -> list[Gold]:
    """The gold items of a file; any bad line is an error."""
    return list(load_gold(path).items.values())


def load_gold(source: GoldSource, *, lenient: bool = False, last_wins: bool = False, by: Iterable[str] = ()) -> GoldSet:
    """Read gold from a file or an iterable. Repeated qids are errors that name both lines, unless `last_wins`."""
    problems, read = Problems(), Input(path=_path_of(source, "gold"))
    fields = [name for name in by if name not in Gold.__struct_fields__]
    items: dict[str, Gold] = {}
    lines: dict[str, int] = {}
    for number, gold in _records(source, Gold, problems, read, _GOLD_KEYS, fields):
        name = gold.qid
        if name in items and not last_wins:
            what = f"qid {name!r} stands in line {lines[name]} already"
            problems.add(Problem(read.path, number, what, "Give each question its own qid.", "gold-repeated"))
            continue
        items.pop(name, None)
        items[name], lines[name] = gold, number
    read.close(problems, lenient)
    if not items:
        raise DataError("there is no gold item to judge by", where=read.path, hint="Write at least one question.",
                        code="gold-empty")  # fmt: skip
    return GoldSet(items, lines, read)


def stream_traces(
    source: TraceSource, read: Input, *, record: type[Trace] = Trace, lenient: bool = False, unnamed: bool = False
) -> Iterator[tuple[int, Trace]]:
    """Traces one by one with their line numbers; bad lines are raised together when the source is exhausted.

    `unnamed` drops traces without a qid, as the reference scripts did, instead of refusing them.
    """
    problems = Problems()
    read.path = _path_of(source, "trace")
    yield from _records(source, record, problems, read, _TRACE_KEYS, (), unnamed)
    read.close(problems, lenient)


def _records(
    source: Any, record: type[Any], problems: Problems, read: Input, keys: tuple[bytes, ...],
    fields: Iterable[str] = (), unnamed: bool = False,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    amend = partial(_name_as_text, read)
    if not isinstance(source, (str, os.PathLike)):
        yield from _converted(enumerate(source, 1), record, problems, read, fields, unnamed)
    elif os.fspath(source).endswith(".parquet"):
        rows = ParquetRows(os.fspath(source))
        yield from _converted(rows, record, problems, read, fields, unnamed)
        read.digest = rows.digest
    elif fields or unnamed:
        reader = Reader(source, dict, problems, guarded=keys, warn=read.warn)
        yield from _converted(reader, record, problems, read, fields, unnamed)
        read.digest = reader.digest
    else:
        typed = Reader(source, record, problems, guarded=keys, warn=read.warn, amend=amend)
        yield from typed
        read.digest, read.records = typed.digest, typed.records


def _converted(
    numbered: Iterable[tuple[int, Any]], record: type[Any], problems: Problems, read: Input,
    fields: Iterable[str], unnamed: bool,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    """Records of an iterable, or of a file whose further fields are wanted."""
    for number, value in numbered:
        read.records += 1
        if isinstance(value, record):
            yield number, value
            continue
        if unnamed and isinstance(value, Mapping) and not (value.get("qid") or value.get("q_id")):
            continue
        try:
            if isinstance(value, Mapping):
                value = dict(value)
                _name_as_text(read, number, value)
            found = msgspec.convert(value, record)
        except msgspec.ValidationError as error:
            problems.add(Problem(read.path, number, field_first(str(error)), "", "type"))
            continue
        if fields:
            found.fields = {name: str(value[name]) for name in fields if value.get(name) is not None}
        yield number, found


def _name_as_text(read: Input, number: int, value: dict[str, Any]) -> None:
    """A number for a qid is read as its decimal string, with a warning."""
    for key in ("qid", "q_id", "id"):
        name = value.get(key)
        if type(name) is int:
            value[key] = str(name)
            read.warn(number, f"the {key} {name} is a number; it was read as a string", "qid-number")


def _path_of(source: object, name: str) -> str:
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else f"<{name}>"
