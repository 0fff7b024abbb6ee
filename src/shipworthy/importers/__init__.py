"""Importers: exports of other tools become traces. Readers give neutral spans, one assembler makes traces of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from ..core.sources import load_gold, read_texts
from ..errors import DataError, UsageError
from ..text import plural, visible
from .assemble import Assembled, Assembler, Questions
from .container import Records, open_records
from .coverage import Coverage, FileRead, remarks
from .documents import Library
from .drafts import Drafts
from .formats import CHOICES, Format, checked, recognise, unknown_table
from .readers import tables
from .spans import Item, Late, Query, RelevantDocument, Span, Text
from .tree import Forest, Run

__all__ = ["CHOICES", "Coverage", "Importer", "remarks"]


_EMBEDDINGS = "traces of embeddings only, left out"


class Options(msgspec.Struct, frozen=True):
    """How an import reads its files."""

    format: str = ""
    maps: tuple[str, ...] = ()
    separator: str = ";"
    qid_path: str = ""
    retriever: str = ""
    document_id: str = ""
    drafts: bool = True  # gold candidates are held until the end, one a question


class Importer:
    """Reads exports and gives traces one by one; coverage and gold drafts gather on the way."""

    def __init__(
        self,
        files: Iterable[str],
        *,
        gold: str | None = None,
        chunks: str | None = None,
        options: Options | None = None,
    ) -> None:
        self.options = options or Options()
        self.mapped = tables.parse_map(self.options.maps)
        self.coverage, self.drafts = Coverage(), Drafts()
        self.questions, self.library = Questions(), Library(id_key=self.options.document_id)
        self._read_gold(gold)
        if chunks is not None:
            for name, text in read_texts(chunks, "chunks")[0].items():
                self.library.add(name, text)
        self.sources = [self._open(path) for path in files]
        if not self.sources:
            raise UsageError("there is no file to import", hint="Name at least one.", code="import-empty")
        self._refuse_strangers()
        self.assembler = Assembler(
            self.questions, self.library, qid_path=self.options.qid_path, retriever=self.options.retriever
        )

    def _read_gold(self, gold: str | None) -> None:
        if gold is None:
            return
        items = load_gold(gold).items
        for qid, item in items.items():
            self.questions.add(qid, item.question)
        self.questions.given = self.coverage.gold_given = True
        self.coverage.gold_items = len(items)

    def _open(self, path: str) -> tuple[Format | None, Records, FileRead]:
        records = open_records(path)
        wanted = "table" if self.mapped and not self.options.format else self.options.format
        one = recognise(records, wanted)
        if one is None and not self.mapped and self.options.format != "table":
            raise unknown_table(records, records.peek(1)[0])
        read = FileRead(path, one.name if one else "table", one.title if one else "a table")
        self.coverage.files.append(read)
        return one, checked(records, one) if one else records, read

    def _refuse_strangers(self) -> None:
        """Files of several tools hold the same runs twice, or runs that have nothing to do with each other."""
        families = {one.family if one else "table": read for one, _, read in self.sources}
        if len(families) > 1:
            kinds = ", ".join(f"{visible(read.path)} is {read.title}" for read in families.values())
            hint = "Import each by itself."
            raise DataError(f"the files are of several tools: {kinds}", hint=hint, code="import-mixed")

    def traces(self) -> Iterator[dict[str, object]]:
        """Every trace that has a name. Rows come as they are read, runs of several spans by their start time."""
        forest, seen = Forest(), set[str]()
        for assembled in self._assembled(forest):
            qid = assembled.trace["qid"]
            in_gold = qid in self.questions.names
            seen |= {qid} & self.questions.names
            self.coverage.add(assembled, in_gold)
            if self.options.drafts:
                self.drafts.add(assembled)
            if qid and not assembled.dataset:
                self.coverage.written += 1
                yield assembled.trace
        self.coverage.repeated, self.coverage.gold_seen = forest.repeated, len(seen)

    def _assembled(self, forest: Forest) -> Iterator[Assembled]:
        for item in self._items():
            if isinstance(item, Span) and not item.trace:
                yield self.assembler.run(Run(item, [item]))
            elif isinstance(item, Span):
                forest.add(item)
            elif isinstance(item, Late):
                forest.add_late(item)
            else:
                self._learn(item)
        for run in forest.runs():
            if all(span.kind == "embedding" for span in run.spans):
                self.coverage.guessed[_EMBEDDINGS] = self.coverage.guessed.get(_EMBEDDINGS, 0) + 1
            else:
                yield self.assembler.run(run)

    def _items(self) -> Iterator[Item]:
        """What the files hold; corpora and queries come before the rankings that need them."""
        for one, records, read in sorted(self.sources, key=lambda source: _is_ranking(source[0])):
            for item in one.read(records) if one else tables.read_table(records, self.mapped, self.options.separator):
                read.items += 1
                yield item
            read.records = records.count

    def _learn(self, item: Text | Query | RelevantDocument) -> None:
        if isinstance(item, Text):
            self.library.add(item.id, item.text)
        elif isinstance(item, Query):
            self.assembler.texts[item.qid] = item.text
            self.drafts.ask(item.qid, item.text)
        else:
            self.drafts.judge(item, self.assembler.texts.get(item.qid, ""))

    def refuse_nothing(self) -> None:
        """After reading: an import of which nothing can be judged is an error that says what was recognised."""
        coverage = self.coverage
        recognised = "; ".join(f"{os.path.basename(read.path)}: {read.title}" for read in coverage.files)
        if not coverage.rows:
            hint = "Give the file that holds the runs too."
            raise DataError(f"no run was found ({visible(recognised)})", hint=hint, code="import-no-runs")
        if coverage.datasets == coverage.rows or coverage.empty or not coverage.written:
            missing = next(iter(remarks(coverage)), "an answer or a ranking")
            rows = f"nothing to judge in {plural(coverage.rows, 'row')} ({visible(recognised)})"
            raise DataError(f"{rows}; missing: {missing}", hint="Nothing was written.", code="import-no-content")


def _is_ranking(one: Format | None) -> bool:
    return one is not None and one.name in ("beir", "trec")
