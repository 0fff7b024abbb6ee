"""Answers: precision, refusals, citation hit rate, constraints, recall@k."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import UNSET

from ...core.contracts import Gold
from ...core.decision import Display
from ...core.join import Nothing
from ...core.sources import (
    ANSWERS,
    Answerable,
    Input,
    file_input,
    gold_stream,
    read_texts,
    require_expected,
    stream_traces,
)
from ...core.suite import InputSpec, Material, Sources, Suite
from ...core.tally import NAMED
from ...errors import DataError
from ...language.refusal import TOKEN, in_token
from ...reading.lock import lock_problems
from ...text import first_few, fold, plural
from . import explain, matching
from .judge import Context, ItemRow, Judging, judge
from .metrics import aliases, fact_names, facts, gates, metrics, tells
from .options import Options, id_map_file, reviewed_note, sliced
from .reference import REFERENCE

if TYPE_CHECKING:
    from ...core.control import Control, Setup
    from ...core.evaluate import Gathered
    from ...core.gates import Outcome
    from ...core.suite import Findings
    from ...documents import Documents
    from .custom import Ready


def read(sources: Sources, options: Options) -> Material:
    """Gold and traces as lines."""
    options = sliced(options)
    as_reference = options.profile == "reference"
    reads: dict[str, Input] = {}
    documents, stale = _documents(sources, options, reads)
    judging = _judging(sources, options, reads, documents)
    gold, trace = Input(), Input()
    return Material(
        context=Context(
            options=options,
            judging=judging,
            compat=as_reference or options.on_duplicate == "last",
            custom=_defined(options, reads),
        ),
        gold=gold_stream(sources["gold"], gold, lenient=options.lenient, by=options.by, map=options.map),
        # the original script knows but one way to match
        watch=partial(Remarks, checked=not as_reference, placed=options.match_citations != "ids"),
        last_wins=as_reference,
        streams={
            "trace": stream_traces(
                sources["trace"],
                trace,
                lenient=options.lenient,
                unnamed=as_reference,
                map=options.map,
                needs=ANSWERS,
            ),
        },
        reads={"gold": gold, "trace": trace} | reads,
        keep={"trace": "last" if as_reference else options.on_duplicate},
        closed=options.closed,
        incomplete=[*lock_problems(sources["gold"], options.map), *stale],
    )


def _documents(sources: Sources, options: Options, reads: dict[str, Input]) -> tuple[Documents | None, list[str]]:
    """The documents, and what became of the evidence of questions in them that makes the data unfit to judge."""
    if sources.get("docs") is None:
        return None, []
    from ...documents import read_documents
    from ...documents.places import refresh

    documents = read_documents(sources["docs"])
    reads["docs"] = Input(path=documents.path, digest=documents.digest, records=len(documents))
    gold = sources["gold"]
    again = isinstance(gold, (str, os.PathLike, list, tuple))  # what can be read twice
    return documents, refresh(gold, documents, map=options.map).sentences() if again else []


def _defined(options: Options, reads: dict[str, Input]) -> tuple[Ready, ...]:
    """The metrics that the config defines, made ready. Most runs have none, and start sooner without their code."""
    if not options.custom_metrics:
        return ()
    from .custom import prepare

    return prepare(options.custom_metrics, _taken(options), reads)


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    if not findings.context.custom:
        return findings.outcomes, []
    from .custom import review as reviewed

    return reviewed(findings)


def _taken(options: Options) -> set[str]:
    """The names that reports have for something else."""
    own = metrics(msgspec.structs.replace(options, custom_metrics=()))
    return {*own, *aliases(options), *ItemRow.__struct_fields__, *explain.NAMED_FACTS}


def survey(context: Context) -> Nothing | None:
    """Functions of the config are run twice on a sample, and how large that is takes a look at the whole set."""
    return Nothing() if any(one.source is not None for one in context.custom) else None


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    from .custom import sampled

    return msgspec.structs.replace(context, custom=sampled(context.custom, material.reads["gold"].items))


class Remarks(Answerable):
    """What is wrong with gold items, or worth a warning: what nobody can read, and what no claim can match."""

    def __init__(self, checked: bool = True, placed: bool = False) -> None:
        super().__init__()
        self._checked, self._places = checked, placed  # whether citations are matched with places
        self._unplaced = Placed()
        self._items = self._reviewed = 0
        self._unread: tuple[int, Gold] | None = None  # the first item whose expectations can't be read, and its line
        self._absent = Placed()
        self._expects = False  # whether any answerable item names expected text
        self._token = Placed()

    def meet(self, item: Gold, line: int) -> bool:
        super().meet(item, line)
        self._items += 1
        self._reviewed += bool(item.reviewed_by)
        if item.answerable:
            self._meet_answerable(item, line)
        if self._checked and not matching.is_plain(item):
            try:
                matching.check(item, "")
            except DataError:
                if self._unread is None or line < self._unread[0]:
                    self._unread = line, item
                return False
        return True

    def _meet_answerable(self, item: Gold, line: int) -> None:
        if self._places and item.anchor is None and item.citations:
            self._unplaced.add(line, item.qid)
        if item.gold_claim_substr is UNSET:
            self._absent.add(line, item.qid)
            return
        self._expects = True
        if item.match == "any":
            for text in item.gold_claim_substr:
                if in_token(fold(text)):
                    self._token.add(line, item.qid)
                    break

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self._unread = min(filter(None, (self._unread, other._unread)), default=None, key=itemgetter(0))
        self._absent += other._absent
        self._expects |= other._expects
        self._token += other._token
        self._unplaced += other._unplaced
        self._items += other._items
        self._reviewed += other._reviewed
        return self

    def require(self, source: Input) -> None:
        super().require(source)
        if self._absent.total and self._checked:
            require_expected(source, none=not self._expects)
        if self._unread is not None:
            matching.check(self._unread[1], f"{source.path}:{self._unread[0]}")

    def warnings(self) -> list[str]:
        """Gold that no claim can match, or that a refusal would."""
        told = [
            ("no answer can be correct without gold_claim_substr", self._absent),
            (f"the expected text is part of the refusal token {TOKEN!r}: choose another", self._token),
            ("citations are compared by id where the gold item has no place (gold anchor)", self._unplaced),
        ]
        reviewed = [reviewed_note(self._reviewed, self._items)] if self._reviewed else []
        return reviewed + [
            f"{what} ({plural(qids.total, 'item')}: {first_few(qids.names(), total=qids.total)}). See gold lint."
            for what, qids in told
            if qids.total
        ]


class Placed:
    """Names with their lines: how many there are, and the first of them."""

    def __init__(self) -> None:
        self.total = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, name: str) -> None:
        self.total += 1
        self._first.append((line, name))
        self._first = sorted(self._first)[:NAMED]

    def names(self) -> list[str]:
        return [name for _, name in self._first]

    def __iadd__(self, other: Self) -> Self:
        self.total += other.total
        self._first = sorted([*self._first, *other._first])[:NAMED]
        return self


def _judging(sources: Sources, options: Options, reads: dict[str, Input], documents: Documents | None) -> Judging:
    """With what is read besides gold and traces: texts of chunks, rules of contradiction, a table of ids."""
    chunks, rules = None, None
    if sources.get("chunks") is not None:
        chunks, reads["chunks"] = read_texts(sources["chunks"], "chunks")
    if sources.get("rules") is not None:
        from ...language.contradiction import read_rules

        rules, reads["rules"] = read_rules(sources["rules"]), file_input(sources["rules"])
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    citing = None
    if options.match_citations != "ids":
        from .citing import citing as by_place

        citing = by_place(options.match_citations, chunks, documents)
    return Judging.of(options, rules, chunks, citing)


def controls(setup: Setup) -> Iterable[Control]:
    from .controls import controls as made  # scoring starts sooner without them

    return made(setup)


SUITE = Suite(
    name="answers",
    description="Are the answers correct, correctly cited, and refused when they should be?",
    inputs=(
        InputSpec("gold", "Gold set, JSON lines (.gz and .zst are read as they are)."),
        InputSpec("trace", "Traces, JSON lines, one run a line.", driven=True, many=True),
        InputSpec("chunks", "Texts by chunk id: reports whether citations support claims.", False, table=True),
        InputSpec(
            "docs",
            "Documents with the evidence: questions whose passage was edited are named.",
            False,
            table=True,
        ),
        InputSpec("rules", "Extra rules of the contradiction check, a TOML file.", False, table=True),
    ),
    options=Options,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    fact_names=fact_names,
    facts=facts,
    asides=(REFERENCE,),
    card=explain.card,
    brief=True,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    explain=explain.explain,
    shown=explain.shown,
    reference=explain.reference,
    review=review,
    controls=controls,
    display=Display(
        counts=explain.SCOPE,
        reasons=explain.REASONS,
        pictures={"refusals": "answered or refused", "risk_coverage": "risk by coverage"},
        tells=tells,
    ),
)
