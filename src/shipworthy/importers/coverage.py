"""Coverage: what an import found, how, and what is missing, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..text import plural
from .assemble import Assembled


class FileRead(msgspec.Struct):
    """One file: what it was taken for and how much came of it."""

    path: str
    format: str
    title: str
    records: int = 0
    items: int = 0


class Coverage(msgspec.Struct):
    """Counts over all rows, and the remarks that follow from them."""

    files: list[FileRead] = []
    rows: int = 0  # runs found
    written: int = 0  # of them: traces, those that can be named
    question: int = 0
    answer: int = 0
    ids: int = 0  # rows with retrieved ids
    citations: int = 0
    matched: int = 0  # rows whose question is in the gold set
    errors: int = 0  # rows whose run failed
    no_answer: int = 0  # rows without an answer and without an error of their own
    ranked_only: int = 0
    datasets: int = 0  # questions that nobody answered yet
    with_scores: int = 0
    gold_given: bool = False
    gold_items: int = 0
    gold_seen: int = 0
    qid_from: dict[str, int] = {}
    id_from: dict[str, int] = {}  # documents, by where their id is from
    citations_from: dict[str, int] = {}
    guessed: dict[str, int] = {}
    repeated: int = 0  # spans that were in the export twice
    dropped: dict[str, int] = {}  # what the source says about right answers and gold can't say

    def add(self, assembled: Assembled, in_gold: bool) -> None:
        facts, trace = assembled.facts, assembled.trace
        self.rows += 1
        self.datasets += assembled.dataset
        self.question += "q" in trace
        self.answer += facts["answer"] == "yes"
        self.errors += facts["answer"] == "error"
        self.no_answer += facts["answer"] == "missing" and not assembled.dataset
        self.ranked_only += facts["answer"] == "not expected"
        self.ids += bool(assembled.documents)
        self.citations += bool(facts.get("citations"))
        self.matched += in_gold
        self.with_scores += "scores" in trace
        _count(self.qid_from, facts["qid"])
        for document in assembled.documents:
            _count(self.id_from, document.source)
        if facts.get("citations"):
            _count(self.citations_from, facts["citations"])
        for note, count in assembled.notes.items():
            self.guessed[note] = self.guessed.get(note, 0) + count
        for what in assembled.expected.dropped if assembled.expected is not None else ():
            _count(self.dropped, what)

    @property
    def empty(self) -> bool:
        """Whether there is nothing that any suite could judge. A pipeline that failed throughout can be judged."""
        all_failed = self.errors == self.rows and self.question > 0
        return not (self.answer or self.ids or all_failed)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


_QID = {
    "source": "named by the source",
    "chosen": "taken from --qid",
    "gold question": "matched to gold by the question",
    "digest": "made from the question",
    "none": "without any name",
}
_ID = {
    "own": "the document's own id",
    "metadata": "an id in its metadata",
    "chosen": "the key of --document-id",
    "chunks": "by its text, through --chunks",
    "digest": "a digest of its text",
}


def lines(coverage: Coverage) -> Iterator[str]:
    """The table for people."""
    for read in coverage.files:
        yield f"{read.path}: {read.title}, {plural(read.records, 'record')}"
    rows = coverage.rows
    yield ""
    yield f"rows           {rows:>6}"
    yield f"  question     {_share(coverage.question, rows)}"
    yield f"  answer       {_share(coverage.answer, rows)}{_failures(coverage)}"
    yield f"  retrieved    {_share(coverage.ids, rows)}{_sources(coverage.id_from, _ID, 'document')}"
    yield f"  citations    {_share(coverage.citations, rows)}{_sources(coverage.citations_from, {}, 'row')}"
    if coverage.with_scores:
        yield f"  scores       {_share(coverage.with_scores, rows)}"
    named = rows - coverage.qid_from.get("none", 0)
    yield f"  question id  {_share(named, rows)}{_sources(coverage.qid_from, _QID, 'row')}"
    if coverage.gold_given:
        seen = f"   {coverage.gold_seen} of {plural(coverage.gold_items, 'gold question')} have a run"
        yield f"  in gold      {_share(coverage.matched, rows)}{seen}"
    for note, count in sorted(guesses(coverage).items()):
        yield f"guessed        {count:>6}   {note}"
    for what, count in sorted(coverage.dropped.items()):
        yield f"not carried over {count:>4}   {what}"
    for remark in remarks(coverage):
        yield f"missing: {remark}"


def guesses(coverage: Coverage) -> dict[str, int]:
    """All that is not said by the source: places that were guessed, and names that were made."""
    made = dict(coverage.guessed)
    if count := coverage.id_from.get("digest", 0):
        made["documents named by a digest of their text"] = count
    if count := coverage.qid_from.get("digest", 0):
        made["questions named by a digest of their text"] = count
    return made


def remarks(coverage: Coverage) -> Iterator[str]:
    """What is missing, and where to get it."""
    rows = coverage.rows
    if rows and coverage.datasets == rows:
        yield "answers: this is a dataset, not a file of runs. Write a draft of a gold set with --draft-gold FILE."
        return
    if rows and not coverage.question and not coverage.answer and not coverage.ranked_only:
        yield (
            "content: the spans hold no questions and no answers. Switch on content capture in the instrumentation "
            "(for OpenTelemetry GenAI: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true) and export again."
        )
    elif coverage.no_answer:
        yield f"an answer in {plural(coverage.no_answer, 'row')}: they count as failed runs, never as empty answers."
    if coverage.ranked_only:
        yield "answers: rankings only. Judge them with `shipworthy retrieval score`."
    if rows and coverage.ids < rows - coverage.errors - coverage.datasets:
        yield f"retrieved documents in {plural(rows - coverage.ids, 'row')}: their citations can't be recognised."
    if coverage.id_from.get("digest"):
        yield "ids of documents: give the chunks with --chunks FILE, so that texts get their ids back."
    if coverage.gold_given and coverage.matched < rows:
        unknown = plural(rows - coverage.matched, "row")
        yield f"a gold question for {unknown}: neither the id nor the text is in the gold set."
    if count := coverage.qid_from.get("none", 0):
        yield f"a question and its id in {plural(count, 'row')}: not imported."


def _share(count: int, rows: int) -> str:
    return f"{count:>6} of {rows}"


def _failures(coverage: Coverage) -> str:
    parts = []
    if coverage.errors:
        parts.append(f"{coverage.errors} failed")
    if coverage.no_answer:
        parts.append(f"{coverage.no_answer} without an answer")
    return f"   {', '.join(parts)}" if parts else ""


def _sources(counts: dict[str, int], names: dict[str, str], noun: str) -> str:
    listed = [f"{names.get(name, name)} {count}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1])]
    return f"   {noun}s: {', '.join(listed)}" if listed else ""


def as_json(coverage: Coverage) -> dict[str, object]:
    built: dict[str, object] = msgspec.to_builtins(coverage)
    return {**built, "guessed": guesses(coverage), "missing": list(remarks(coverage))}
