"""Next: which answer to label next, and when enough are labelled to decide a gate.

Questions are drawn at random with known chances, so that a gate over all of them can be decided from a few. For a gate
such as under_refusal <= 0.05, each labelled question is worth k - 0.05·n, where k of n is its part in the metric: the
gate holds exactly if the mean of these over all questions is at most 0. Whether it is, is asked after every label, by
bets that stay valid at every look (`stats.means.evidence`). A judge's score may make some draws likelier; each value
is then divided by how much likelier, which leaves the mean as it is.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ..core.contracts import Gold, Trace
from ..core.evaluate import evaluate
from ..core.gates import Gate, parse_gates
from ..core.options import make_options
from ..engines import engine as engine_named
from ..errors import DataError, UsageError
from ..reading.files import write_whole
from ..stats.means import evidence
from ..stats.rates import ALPHA
from ..suites import load_suite
from ..text import plural
from .review import Review
from .runs import Asked, draft, questions, read_runs

_PARTS = 2  # half of the draws stay uniform, so that no weight is above 2


class Bet:
    """Whether a gate over a whole population holds, from draws with known weights. Asked after every one of them."""

    def __init__(self, gate: Gate, population: int, alpha: Fraction = ALPHA, heaviest: int = 1) -> None:
        self.gate, self.answer = gate, ""  # proven, refuted
        self._most, self._level = max(population, 1_000), -math.log(alpha)
        bound = gate.bound.number
        self._low, self._high = -bound * heaviest, (1 - bound) * heaviest
        self._values: Counter[Fraction] = Counter()

    def value(self, part: int, whole: int, weight: Fraction = Fraction(1)) -> Fraction:
        """What k of n is worth."""
        return (part - self.gate.bound.number * whole) * weight

    def add(self, value: Fraction) -> None:
        """One more draw. A gate that is decided stays so."""
        if self.answer:
            return
        self._values[value] += 1
        above, below = evidence(self._values, self._low, self._high, 0, self._most)
        if self.gate.op == ">=":
            above, below = below, above
        if below >= self._level:  # it is not at most 0, or with >= not at least 0
            self.answer = "proven"
        elif above >= self._level:
            self.answer = "refuted"


def chances(asked: Sequence[Asked], steer: str = "") -> list[Fraction]:
    """How likely each question is drawn. With a score to steer by, low ones are likelier, and none is left out."""
    uniform = Fraction(1, len(asked))
    if not steer:
        return [uniform] * len(asked)
    doubts = [_doubt(one.trace, steer) for one in asked]
    total = sum(doubts, Fraction(0))
    if not total:
        return [uniform] * len(asked)
    return [(uniform + doubt / total) / _PARTS for doubt in doubts]


def _doubt(trace: Trace, name: str) -> Fraction:
    given = trace.scores.get(name) if isinstance(trace.scores, Mapping) else None
    score = float(given) if isinstance(given, (bool, int, float)) and math.isfinite(float(given)) else 0.5
    return 1 - Fraction(min(max(score, 0.0), 1.0)).limit_denominator(1000)


def draws(count: int, chance: Sequence[Fraction], seed: int) -> Iterator[int]:
    """Numbers of questions, drawn for ever, one after the other and each by its chance."""
    order = random.Random(seed)
    weights = [float(one) for one in chance]
    while True:
        yield from order.choices(range(count), weights, k=256)


class Next(Review):
    """A review that asks for the labels that the gates need, and ends when they are decided."""

    def __init__(
        self,
        traces: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        gates: Iterable[str | Gate],
        seed: int = 0,
        steer: str = "",
        map: Iterable[str] = (),
        judging: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        asked = [one for one in questions(read_runs(traces, map)) if one.stratum != "failed"]
        if not asked:
            raise DataError("no run has a question and an answer", where=os.fspath(traces), code="next-empty")
        suite = load_suite("answers")
        self._suite, self._judging = suite, {"refusal": "natural"} | dict(judging or {})
        options = make_options(suite.options, self._judging, "answers")
        self.gates = parse_gates(list(gates), suite.metrics(options), suite.aliases(options))
        if not self.gates or any(gate.slice or gate.bound.sign or gate.op == "=" for gate in self.gates):
            hint = "Write --gates under_refusal=0.05."
            raise UsageError("gold next needs gates on plain rates", where="--gates", hint=hint, code="next-gates")
        rows = [draft(one) for one in asked]
        self._asked = dict(zip((row["qid"] for row in rows), asked, strict=True))
        self._names, chance = list(self._asked), chances(asked, steer)
        self._weights = [Fraction(1, len(asked)) / one for one in chance]
        heaviest = math.ceil(max(self._weights))
        alpha = ALPHA / len(self.gates)
        self.bets = [Bet(gate, len(asked), alpha, heaviest) for gate in self.gates]
        self._draws = draws(len(asked), chance, seed)
        self._drawn: int | None = None
        self.labelled = 0
        self._parts: dict[str, list[tuple[int, int]]] = {}
        path = os.fspath(out).removesuffix(".jsonl") + ".draft.jsonl"
        write_whole(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        super().__init__(path, out, gates=self.gates, **more)
        self._needs = []

    @property
    def decided(self) -> bool:
        return all(bet.answer for bet in self.bets)

    def waiting(self) -> list[str]:
        """The question that was drawn and has no label yet; none when every gate is decided."""
        self._advance()
        return [] if self.decided or self._drawn is None else [self._names[self._drawn]]

    def _advance(self) -> None:
        """Count draws as long as they are labelled. What was labelled is not asked again when it is drawn again."""
        rows = self._gold_rows()
        dropped = {qid for (qid, _), one in self._state.items() if one.label == "drop"}
        labels = {qid for qid in self._names if qid in rows or qid in dropped}
        self.labelled = len(labels)
        if len(labels) == len(self._names):
            self._decide_exactly(rows)
            return
        while not self.decided:
            number = self._drawn if self._drawn is not None else next(self._draws)
            self._drawn = number
            qid = self._names[number]
            if qid not in labels:
                return
            for bet, (part, whole) in zip(self.bets, self._part(qid, rows.get(qid)), strict=True):
                bet.add(bet.value(part, whole, self._weights[number]))
            self._drawn = None

    def _decide_exactly(self, rows: Mapping[str, Any]) -> None:
        """Everything is labelled: the rate is known, and nothing is left to chance."""
        for at, bet in enumerate(self.bets):
            parts = [self._part(qid, rows.get(qid))[at] for qid in self._names]
            off = sum((bet.value(part, whole) for part, whole in parts), Fraction(0))
            holds = off <= 0 if bet.gate.op == "<=" else off >= 0
            bet.answer = bet.answer or ("proven" if holds else "refuted")
        self._drawn = None

    def _part(self, qid: str, row: Mapping[str, Any] | None) -> list[tuple[int, int]]:
        """The question's part in each gate's metric, k of n; a dropped question has none."""
        if row is None:
            return [(0, 0)] * len(self.gates)
        if qid not in self._parts:
            item = msgspec.convert({name: row[name] for name in row if name in Gold.__struct_fields__}, Gold)
            run = msgspec.structs.replace(self._asked[qid].trace, qid=qid, q_id=msgspec.UNSET)
            options = make_options(self._suite.options, self._judging, "answers")
            memory = engine_named("memory")
            found = evaluate(self._suite, {"gold": [item], "trace": [run]}, options, memory, None)
            measures = [found.measures[gate.metric] for gate in self.gates]
            self._parts[qid] = [(one.k or 0, one.n) for one in measures]
            if any(n > 1 for _, n in self._parts[qid]):
                what = "a gate of gold next is on a rate of questions"
                raise UsageError(what, where="--gates", hint="Write --gates under_refusal=0.05.", code="next-gates")
        return self._parts[qid]

    def undo(self) -> str:
        """A label that was counted can't be taken back: the draws that followed hang on it."""
        return ""

    def verdicts(self) -> list[str]:
        """One sentence a gate: `31 answers labelled: under_refusal <= 0.05 is refuted`."""
        self._advance()
        told = f"{plural(self.labelled, 'answer')} labelled of {len(self._names)}"
        return [f"{told}: {bet.gate} is {bet.answer or 'not decided yet'}" for bet in self.bets]

    def progress(self) -> dict[str, Any]:
        told = self.verdicts()
        found = super().progress() | {"headline": " · ".join(told), "title": "The gates are decided"}
        return found | {"done": self.labelled, "total": len(self._names)}

    @property
    def exit_code(self) -> int:
        """0 all proven, 1 some refuted, 3 some not decided yet."""
        answers = [bet.answer for bet in self.bets]
        return 1 if "refuted" in answers else 0 if all(answers) else 3
