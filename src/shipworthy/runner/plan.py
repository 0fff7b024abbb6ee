"""The plan: questions × seeds × jitters × paraphrases × arms, in a fixed order, one Ask each."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from ..core.options import make_options
from ..core.run_options import RunOptions
from ..errors import DataError, UsageError
from .jitter import jitter


class Question(Protocol):
    """What the runner needs to know of a gold item."""

    @property
    def qid(self) -> object: ...
    @property
    def question(self) -> str: ...
    @property
    def paraphrases(self) -> Sequence[str]: ...


class Arm(NamedTuple):
    """One configuration of the pipeline: a name and the knobs that are sent along."""

    name: str
    knobs: dict[str, Any]


class Ask(msgspec.Struct, frozen=True):
    """One question to be asked once."""

    qid: str
    run_id: str
    seed: int
    jitter: str
    paraphrase: int  # 0 is the question itself
    arm: str
    question: str
    knobs: dict[str, Any] = {}
    temperature: float | None = None
    history: list[Any] = []  # earlier turns of the conversation


NO_ARM = Arm("", {})
_RESERVED = frozenset("#;%")


class Plan(msgspec.Struct, frozen=True):
    """Everything that will be asked. Iterating makes the Asks anew each time; none is kept in memory."""

    questions: tuple[Any, ...]
    seeds: tuple[int, ...] = (0,)
    jitters: tuple[str, ...] = ("none",)
    paraphrases: bool = False
    arms: tuple[Arm, ...] = (NO_ARM,)
    profile: str = "strict"
    temperatures: tuple[float | None, ...] = (None,)

    def __len__(self) -> int:
        wordings = sum(len(_wordings(item, self.paraphrases)) for item in self.questions)
        return wordings * len(self.seeds) * len(self.jitters) * len(self.arms) * len(self.temperatures)

    def __iter__(self) -> Iterator[Ask]:
        for item in self.questions:
            yield from self.asks_of(item)

    def asks_of(self, item: Question) -> Iterator[Ask]:
        wordings = _wordings(item, self.paraphrases)
        for turn, seed in enumerate(self.seeds):
            for name in self.jitters:
                for paraphrase, wording in wordings:
                    sent = jitter(wording, name, self.profile, paraphrases=item.paraphrases, turn=turn)
                    worded = turn % len(item.paraphrases) + 1 if name == "para" and item.paraphrases else paraphrase
                    for arm, heat in product(self.arms, self.temperatures):
                        shown = arm.name if len(self.arms) > 1 else ""
                        further = {} if heat is None else {"t": f"{heat:g}"}
                        run_id = run_id_of(str(item.qid), seed, name, paraphrase, shown, **further)
                        yield Ask(
                            *(str(item.qid), run_id, seed, name, worded, arm.name, sent, arm.knobs, heat),
                            history=getattr(item, "history", []),
                        )

    def requests(self, finished: Collection[str] = (), *, alike: bool = False) -> Iterator[list[Ask]]:
        """The runs that are not finished, together where one request does for all: the first of them is sent.

        With `alike`, runs of a question that differ in the name of the jitter alone ask the same thing. Seeds,
        temperatures and arms never share a request: repeating those is how instability shows.
        """
        for item in self.questions:
            shared: dict[object, list[Ask]] = {}
            for ask in self.asks_of(item):
                if ask.run_id not in finished:
                    same = (ask.question, ask.seed, ask.temperature, ask.arm) if alike else ask.run_id
                    shared.setdefault(same, []).append(ask)
            yield from shared.values()

    def distinct_prompts(self) -> int:
        """How many different texts are sent, so that 20 runs of 2 prompts don't look like 20."""
        return sum(len(set(self._prompts(item))) for item in self.questions)

    def _prompts(self, item: Question) -> Iterator[str]:
        """Seeds and arms send the same text again, but for para, which takes its turns with the seeds."""
        for name in self.jitters:
            for turn in range(len(self.seeds) if name == "para" else 1):
                for _, wording in _wordings(item, self.paraphrases):
                    yield jitter(wording, name, self.profile, paraphrases=item.paraphrases, turn=turn)


def make_plan(gold: Iterable[Question], options: RunOptions | None = None, **given: Any) -> Plan:
    """Check the parts of a plan, which are run options, and put them together."""
    options = options or make_options(RunOptions, given, "a plan")
    questions = tuple(gold)
    _check_questions(questions)
    seeds, jitters, temperatures = options.seeds, options.jitters, options.temperatures
    for what, values in (("seeds", seeds), ("jitters", jitters), ("temperatures", temperatures or (0,))):
        if not values or len(set(values)) != len(values):
            raise UsageError(
                f"{what} must name each value once, and at least one", hint=f"Given: {list(values)}.", code="plan-grid"
            )
    for name in jitters:
        jitter("", name, options.profile)  # an unknown name is refused here, before anything is asked
    if options.paraphrases and "para" in jitters:
        raise UsageError(
            "the jitter para already sends the paraphrases",
            where="--paraphrases",
            hint="Leave out one of the two.",
            code="plan-grid",
        )
    heats = tuple(map(float, temperatures)) or (None,)
    return Plan(questions, seeds, jitters, options.paraphrases, _arms(options.arms), options.profile, heats)


def run_id_of(qid: str, seed: int, jitter: str, paraphrase: int = 0, arm: str = "", **further: object) -> str:
    """`QID#seed=2;j=punct`, with `;p=1` and `;arm=name` where those vary."""
    parts = [f"seed={seed}", f"j={jitter}"]
    parts += [f"p={paraphrase}"] if paraphrase else []
    parts += [f"arm={_escaped(arm)}"] if arm else []
    parts += [f"{key}={value}" for key, value in further.items()]
    return f"{_escaped(qid)}#{';'.join(parts)}"


def read_arms(path: str | Path) -> tuple[Arm, ...]:
    """Arms of a TOML file: one table `[arms.NAME]` each, its keys are the knobs."""
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"can't be read: {why}", where=str(path), hint="Write one table [arms.NAME] an arm.", code="arms-file"
        ) from None
    arms = tables.get("arms", tables)
    if not isinstance(arms, dict) or not arms or not all(isinstance(knobs, dict) for knobs in arms.values()):
        raise UsageError("no arms found", where=str(path), hint="Write one table [arms.NAME] an arm.", code="arms-file")
    return _arms(arms)


def digest_of(value: object) -> str:
    """A digest of plain data that does not depend on the order of keys."""
    try:
        written = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half a surrogate pair: JSON has an escape for it
        written = json.dumps(msgspec.to_builtins(value), sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()


def gold_digest(questions: Iterable[Question]) -> str:
    """A digest of what is asked: the other fields of a gold item don't change a run."""
    return digest_of([_asked(item) for item in questions])


def _asked(item: Question) -> list[object]:
    history = getattr(item, "history", None)
    return [str(item.qid), item.question, list(item.paraphrases), *([history] if history else [])]


def _arms(arms: Sequence[Arm] | Mapping[str, Mapping[str, object]] | None) -> tuple[Arm, ...]:
    if not arms:
        return (NO_ARM,)
    listed = [Arm(name, dict(knobs)) for name, knobs in (arms.items() if isinstance(arms, Mapping) else arms)]
    if len({arm.name for arm in listed}) < len(listed) or not all(arm.name for arm in listed):
        raise UsageError("each arm needs its own name", where="arms", code="arms-file")
    return tuple(listed)


def _check_questions(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for item in questions:
        qid = str(item.qid)
        if qid in seen:
            raise DataError(
                f"qid {qid!r} occurs twice in the gold set",
                hint="Give each question its own qid.",
                code="gold-repeated",
            )
        if not item.question.strip() and not item.paraphrases:
            raise DataError(
                f"{qid!r} has no question to send",
                hint="Write one, or map the field that has it: --map question=NAME.",
                code="gold-no-question",
            )
        seen.add(qid)
    if not questions:
        raise DataError("the gold set has no question to send", hint="Write at least one question.", code="gold-empty")


def _wordings(item: Question, paraphrases: bool) -> list[tuple[int, str]]:
    """The question as number 0 and its paraphrases from 1; a set without questions is asked by paraphrases."""
    wordings = [(0, item.question)] if item.question.strip() else []
    if paraphrases or not wordings:
        wordings += list(enumerate(item.paraphrases, 1))[: None if paraphrases else 1]
    return wordings


def _escaped(name: str) -> str:
    """Keep `#`, `;` and what could break a line out of a run_id; everything readable stays readable."""
    if name.isprintable() and not _RESERVED & set(name):
        return name
    return "".join(
        quote(char, errors="surrogatepass") if char in _RESERVED or not char.isprintable() else char for char in name
    )
