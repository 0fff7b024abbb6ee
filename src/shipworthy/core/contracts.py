"""Contracts: what a gold item and a trace are, and what makes a record invalid."""

from collections.abc import Iterable
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, UnsetType

from ..reading.keys import Keys
from ..reading.values import declare

Offsets = tuple[int, int]
NO_BLOCKS = "topk: expected the retrieved blocks, found neither topk nor retrieved_ids"
NO_QID = "qid: expected a name for the question, found none"


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


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the evidence of a question stands in the documents: characters start to end of a document's text."""

    doc: str
    start: int
    end: int
    sha256: str  # of the passage
    before: str = ""  # 40 characters on each side
    after: str = ""
    text: str = ""  # the passage itself, to show what changed
    section: str = ""
    head: str = ""  # of a row: the header of its table
    copies: int = 1  # how often the documents have the passage


def ids_of(places: Iterable[str | Place]) -> list[str]:
    """The ids; where there is nothing else, the list itself, which nobody changes."""
    if type(places) is list:
        try:
            "".join(places)  # the quickest look at whether all of them are strings
        except TypeError:
            pass
        else:
            return cast(list[str], places)
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
    match: Literal["any", "all", "regex", "number", "yesno"] = "any"
    tolerance: float | str = 0  # of a number: absolute, or such as 5%
    gold_claim: str = ""  # a correct answer in one sentence
    forbidden: list[str] = []  # statements that a correct answer does not make
    exact_list: bool = False  # with match all: an answer that lists anything further is wrong
    about: list[str] = []  # one of these stands in the sentence with the expected text, or in the one before
    lang: str = ""  # the language of question and answer, such as de
    anchor: Anchor | list[Anchor] | None = None  # where in the documents the evidence is
    reviewed_by: str = ""  # who decided about the item
    provenance: str = ""  # built, trace, hand
    history: list[Any] = []  # earlier turns of the conversation, sent along where a target's template asks for them
    fields: dict[str, str] = {}  # further string fields, for segmentation

    def __post_init__(self) -> None:
        if not self.qid or self.qid.isspace() or self.q_id is not UNSET or self.id is not UNSET:
            self.qid = _one_qid(self.qid, self.q_id, self.id)

    def __reduce__(self) -> tuple[object, ...]:
        """By its fields: what is left out when it is written is told by identity, which plain pickling loses."""
        return _gold_of, (msgspec.to_builtins(self),)

    @property
    def citations(self) -> list[str]:
        return [] if self.gold_citations is UNSET else ids_of(self.gold_citations)

    @property
    def substrings(self) -> list[str]:
        return [] if self.gold_claim_substr is UNSET else self.gold_claim_substr


def _gold_of(fields: dict[str, Any]) -> Gold:
    return msgspec.convert(fields, Gold)


class Answer(msgspec.Struct, omit_defaults=True):
    """What the pipeline said. An empty claim or list that it gave is told from one that is not there."""

    given: str | UnsetType = msgspec.field(name="claim", default=UNSET)
    citations: list[str | Place] = msgspec.field(default=())  # type: ignore[arg-type]  # never decoded as a tuple
    constraints_echo: list[str] = []

    @property
    def claim(self) -> str:
        return "" if self.given is UNSET else self.given

    @property
    def says_what_it_cites(self) -> bool:
        return self.citations != ()  # type: ignore[comparison-overlap] # unless it is the default


class Passage(msgspec.Struct, omit_defaults=True):
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
    sweep_id: str | None = None  # the plan that the run belongs to, and how many runs it has
    planned_runs: int | None = None
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
    evidence: list[Passage] | None = None
    confidence: float | None = None
    score: float | None = None
    # What judges, people and scripts said of the run, and who they are, by name. Tools use these names for other things
    # too, so that their shape is checked only where a metric reads them.
    scores: Any = None
    score_sources: Any = None
    warmup: bool | None = None
    reused_from: str | None = None  # the run whose response this is: it was not sent, so it has no latency

    def __post_init__(self) -> None:
        if not self.qid or self.q_id is not UNSET:
            self.qid = _one_qid(self.qid, self.q_id)
        if self.answer_json is None:
            self.answer_json = UNSET

    @property
    def answer(self) -> Answer:
        return self.answer_json if isinstance(self.answer_json, Answer) else _NO_ANSWER

    @property
    def gives_claim(self) -> bool:
        """Whether it has an answer, if only an empty one."""
        return isinstance(self.answer_json, Answer) and self.answer_json.given is not UNSET

    @property
    def asked(self) -> str:
        return self.q or self.query or self.question or ""

    @property
    def retrieved(self) -> list[str]:
        """Retrieved ids in rank order, as they were logged."""
        if self.retrieved_ids is not UNSET:
            return ids_of(self.retrieved_ids)
        return [] if self.topk is UNSET else [place.id for place in self.topk]

    @property
    def logs_retrieval(self) -> bool:
        """Whether it says what was retrieved, if only nothing."""
        return self.retrieved_ids is not UNSET or self.topk is not UNSET


_NO_ANSWER = Answer()
declare("trace", Trace.__annotations__)


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
                f"delta_s has {len(self.delta_s)} values, but topk has {len(self.topk)} blocks; expected one for each"
            )


# Keys whose loss could change a verdict unseen, and keys of other tools that look like ours and are none.
_DECISIVE_GOLD = (
    "answerable",
    "gold_claim_substr",
    "gold_citations",
    "constraints",
    "paraphrases",
    "relevant",
    "negatives",
    "anchor_section",
    "match",
    "tolerance",
    "gold_claim",
    "forbidden",
    "exact_list",
    "about",
)
_DECISIVE_TRACE = (
    "retrieved_ids",
    "answer_json",
    "answer_citations",
    "evidence",
    "error",
    "lambda_state",
    "delta_s",
    "sweep_id",
    "planned_runs",
    "stage_ms",
    "e2e_ms",
    "warmup",
    "reused_from",
)
_OTHERS = ("errors", "evidences", "unanswerable")


def gold_keys() -> Keys:
    """What tells a misspelt key of a gold item from a field of the user's own; one for each reading."""
    return Keys(known_gold_keys(), _DECISIVE_GOLD, _OTHERS)


def known_gold_keys() -> list[str]:
    return list(Gold.__struct_fields__)


def trace_keys() -> Keys:
    """What tells a misspelt key of a trace from a field of the user's own; one for each reading."""
    known = DetailedTrace.__struct_encode_fields__
    inner = {"answer_json": Keys(Answer.__struct_encode_fields__, Answer.__struct_encode_fields__)}
    return Keys(known, _DECISIVE_TRACE, _OTHERS, inner)


LAMBDA_STATES = {
    "→": "→",
    "->": "→",
    "convergent": "→",
    "←": "←",
    "<-": "←",
    "backward": "←",
    "<>": "<>",
    "split": "<>",
    "×": "×",
    "x": "×",
    "collapse": "×",
}


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
        raise ValueError(NO_QID)
    if any(name != given[0] for name in given):
        raise ValueError(f"qid: two names for one record, {given[0]!r} and {given[-1]!r}")
    return given[0]
