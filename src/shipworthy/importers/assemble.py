"""Assemble: one run of any tool becomes one trace. Every rule about what counts as what is in here, once."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ..reading.mapping import JsonPath
from ..reading.markers import read_markers, resolved
from ..reading.proposal import CITED_NAMES, RETRIEVED_AS_CITED
from ..text import fold
from .documents import Document, Library, distinct, document_list, documents_of, filled
from .messages import Picked, answer_in, question_in
from .spans import ExpectedAnswer, Span
from .tree import Run
from .values import last_line, loosened, number, text_of, whole

NO_ANSWER = "no answer in the source"
_QID_KEYS = ("qid", "q_id", "question_id", "eval.qid", "shipworthy.qid")
_ERROR_LENGTH = 500
_SILENT = ("retriever", "reranker", "embedding")  # what these give back is no answer


class Questions(msgspec.Struct):
    """The gold set as far as the import needs it: the names of its questions, and the questions by text."""

    names: set[str] = set()
    by_text: dict[str, str] = {}
    ambiguous: set[str] = set()
    given: bool = False

    def add(self, qid: str, question: str) -> None:
        self.names.add(qid)
        folded = fold(question)
        if folded and self.by_text.setdefault(folded, qid) != qid:
            self.ambiguous.add(folded)

    def named(self, question: str) -> str:
        folded = fold(question)
        return "" if folded in self.ambiguous else self.by_text.get(folded, "")


class Assembled(msgspec.Struct):
    """A trace as it is written, and how each part of it was found."""

    trace: dict[str, Any]
    facts: dict[str, str]
    documents: list[Document]
    notes: Counter[str]
    expected: ExpectedAnswer | None = None
    dataset: bool = False


class Assembler:
    """Makes traces of runs. The question ids come from the source, else from the gold set."""

    def __init__(self, questions: Questions, library: Library, *, qid_path: str = "", retriever: str = "") -> None:
        self.questions, self.library = questions, library
        self.qid_path, self.retriever = JsonPath.parse(qid_path, "--qid") if qid_path else None, retriever
        self.texts: dict[str, str] = {}  # questions by id, from a file of queries

    def run(self, run: Run) -> Assembled:
        """One trace. Nothing in it is empty: what was not found is not there."""
        notes: Counter[str] = Counter()
        facts: dict[str, str] = {}
        self._mark_retrievers(run)
        documents = self._documents(run, notes)
        question = self._question(run)
        qid, facts["qid"] = self._qid(run, question.text if question else "")
        text = question.text if question else self.texts.get(qid, "")
        if question and question.guessed:
            notes[question.guessed] += 1
        trace: dict[str, object] = {"qid": qid}
        if text:
            trace["q"] = text
            facts["question"] = "yes"
        if run.root.start is not None:
            trace["ts"] = round(run.root.start / 1e9, 6)
        trace |= _retrieved(documents)
        self._answer(run, documents, trace, facts, notes)
        trace |= _measured(run) | _scored(run)
        trace["source"] = _source(run, facts)
        return Assembled(trace, facts, documents, notes, _expected(run), run.root.dataset)

    # what was asked

    def _question(self, run: Run) -> Picked | None:
        for value in run.root.inputs:
            if picked := question_in(value):
                return picked
        for span in run.of_kind("retriever"):
            if span.query or (span.inputs and (picked := question_in(span.inputs[0]))):
                return Picked(span.query or picked.text)  # type: ignore[union-attr]  # the second holds where the first does not
        for span in run.of_kind("llm"):
            for value in span.inputs:
                if picked := question_in(value):
                    return picked
        return None

    def _chosen_qid(self, run: Run) -> str:
        """The id at the path that somebody named, in the metadata or in the input."""
        if self.qid_path is None:
            return ""
        holder = {"meta": run.root.meta, **run.root.meta, "input": _first(run.root)}
        return text_of(loosened(self.qid_path.of(holder, loosened)))

    def _qid(self, run: Run, question: str) -> tuple[str, str]:
        """The question's id, and how it is known. Sessions, conversations and traces are never taken for it."""
        if chosen := self._chosen_qid(run):
            return chosen, "chosen"
        spans = [run.root, *run.spans]
        for span in spans:
            if name := span.qid or _named(span.meta):
                return name, "source"
        inputs = loosened(_first(run.root))
        for holder in (inputs, inputs.get("kwargs") if isinstance(inputs, Mapping) else None):
            if isinstance(holder, Mapping) and (name := _named(holder)):
                return name, "source"
        for span in spans:
            for name in span.names:
                if name in self.questions.names:
                    return name, "source"
        if name := self.questions.named(question):
            return name, "gold question"
        if not question:
            return "", "none"
        return f"q-{hashlib.sha256(fold(question).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}", "digest"

    # what was retrieved

    def _mark_retrievers(self, run: Run) -> None:
        """Tools without span kinds: the retriever is named by the user, or gives back a list of documents."""
        for span in run.spans:
            short = span.name.rsplit("/", 1)[-1].partition(":")[0]
            chosen = bool(self.retriever) and self.retriever in (span.name, short)
            unsaid = span is not run.root and span.kind in ("", "tool")
            if chosen or (unsaid and _gives_documents(span)):
                span.kind = "retriever"

    def _documents(self, run: Run, notes: Counter[str]) -> list[Document]:
        return self._same_names(run, self._last_documents(run, notes))

    def _same_names(self, run: Run, documents: list[Document]) -> list[Document]:
        """A reranker often drops the ids that the retriever gave: the same text in one run has the same id."""
        if not any(document.source == "digest" for document in documents):
            return documents
        steps = [*run.of_kind("retriever"), *run.of_kind("reranker")]
        logged = [one for span in steps for one in self._of_span(span, Counter())]
        names = {fold(one.text): one.id for one in reversed(logged) if one.source != "digest" and one.text}
        for document in documents:
            if document.source == "digest" and (name := names.get(fold(document.text))):
                document.id, document.source = name, "own"
        return distinct(documents)

    def _last_documents(self, run: Run, notes: Counter[str]) -> list[Document]:
        """The last reranking; else what was retrieved, in the order of time; else what the run's output lists."""
        rerankers = [documents for span in run.of_kind("reranker") if (documents := self._of_span(span, notes))]
        if rerankers:
            return distinct(rerankers[-1])
        retrievers = [span for span in run.of_kind("retriever") if self._of_span(span, Counter())]
        found = [one for span in run.outermost(retrievers) for one in self._of_span(span, notes)]
        if len(run.outermost(retrievers)) > 1:
            notes["documents of several retrievals, put together"] += 1
        if found:
            return distinct(found)
        if run.root.documents is not None:
            return distinct(documents_of(run.root.documents, self.library, notes))
        for value in run.root.outputs:
            if (listing := document_list(value)) is not None:
                return distinct(documents_of(listing, self.library, notes))
        return []

    def _of_span(self, span: Span, notes: Counter[str]) -> list[Document]:
        if span.documents is not None:
            logged = span.documents
            if isinstance(logged, list):
                for value in span.outputs:
                    logged = filled(logged, value)
            return documents_of(logged, self.library, notes)
        for value in span.outputs:
            listing = document_list(value, known=True)
            decoded = loosened(value)
            if listing is None and isinstance(decoded, list) and all(isinstance(one, str) for one in decoded):
                listing = decoded
            if listing is not None:
                return documents_of(listing, self.library, notes)
        return []

    # what was answered

    def _answer(
        self, run: Run, documents: list[Document], trace: dict[str, object], facts: dict[str, str], notes: Counter[str]
    ) -> None:
        picked = None if run.root.error else _answer_of(run)
        failures = [span.error for span in run.spans if span.error]
        if picked is None:
            if run.root.ranked_only and not run.root.error:
                facts["answer"] = "not expected"
                return
            facts["answer"] = "error" if failures or run.root.error else "missing"
            trace["error"] = last_line(run.root.error or next(iter(failures), NO_ANSWER))[:_ERROR_LENGTH] or NO_ANSWER
            return
        if failures:
            notes["runs that answered although a step failed"] += 1
        if picked.guessed:
            notes[picked.guessed] += 1
        found = cited(picked.text, picked.holder, documents, self.library)
        if found.guessed:
            notes[found.guessed] += 1
        facts["answer"] = "yes"
        facts["citations"] = found.how if found.ids else ""
        trace["answer_json"] = {"claim": found.claim or picked.text, "citations": found.ids}


def _answer_of(run: Run) -> Picked | None:
    """The answer of the whole run; else of the last model that spoke."""
    if run.root.kind not in _SILENT:
        for value in run.root.outputs:
            if picked := answer_in(value):
                return picked
    spoken = [picked for span in run.of_kind("llm") for value in span.outputs[:1] if (picked := answer_in(value))]
    return spoken[-1] if spoken else None


def _first(span: Span) -> object:
    return span.inputs[0] if span.inputs else None


def _named(holder: Mapping[str, object]) -> str:
    return next((name for key in _QID_KEYS if (name := text_of(loosened(holder.get(key))).strip())), "")


def _gives_documents(span: Span) -> bool:
    return span.documents is not None or any(document_list(value) is not None for value in span.outputs)


def _retrieved(documents: list[Document]) -> dict[str, object]:
    if not documents:
        return {}
    topk: list[dict[str, object]] = []
    for document in documents:
        place: dict[str, object] = {"id": document.id}
        if document.score is not None:
            place["score"] = document.score
        if document.text:
            place["text"] = document.text
        topk.append(place)
    return {"retrieved_ids": [document.id for document in documents], "topk": topk}


def _measured(run: Run) -> dict[str, object]:
    """Times, tokens, cost, model and seed, as far as the source has them."""
    root, measured = run.root, dict[str, Any]()
    e2e = root.e2e_ms if root.e2e_ms is not None else _milliseconds([root])
    if e2e is not None:
        measured["e2e_ms"] = e2e
    kinds = {"retrieval": "retriever", "rerank": "reranker", "llm": "llm"}
    stages = {name: _milliseconds(run.outermost(run.of_kind(kind))) for name, kind in kinds.items()}
    if len(run.spans) > 1 and (known := {name: spent for name, spent in stages.items() if spent is not None}):
        measured["stage_ms"] = known
    tokens = {"in": _total(run, "tokens_in"), "out": _total(run, "tokens_out")}
    if counted := {name: count for name, count in tokens.items() if count is not None}:
        measured["tokens"] = counted
    if (cost := _total(run, "cost")) is not None and cost >= 0:
        measured["cost_usd"] = cost
    if model := next((span.model for span in [*run.of_kind("llm"), root] if span.model), ""):
        measured["model"] = model
    seed = next((span.seed for span in run.spans if span.seed is not None), None)
    seed = whole(root.meta.get("seed")) if seed is None else seed
    if seed is not None:
        measured["seed"] = seed
    if root.arm:
        measured["arm"] = root.arm
    return measured


def _milliseconds(spans: Iterable[Span]) -> float | None:
    spent = [span.end - span.start for span in spans if span.start is not None and span.end is not None]
    return round(max(sum(spent), 0) / 1e6, 3) if spent else None


def _total(run: Run, field: str) -> float | None:
    """The root's own figure, else the sum of those steps that no counted step contains."""
    own = number(getattr(run.root, field))
    if own is not None:
        return own
    counted = [span for span in run.spans if getattr(span, field) is not None]
    return sum(getattr(span, field) for span in run.outermost(counted)) if counted else None


def _scored(run: Run) -> dict[str, object]:
    every = (score for span in run.spans for score in span.scores)
    scores = {score.name: score for score in every if not score.name.startswith("shipworthy.")}  # of an earlier push
    if not scores:
        return {}
    scored: dict[str, object] = {"scores": {name: score.value for name, score in scores.items()}}
    if kinds := {name: score.kind for name, score in scores.items() if score.kind}:
        scored["score_sources"] = kinds
    return scored


def _source(run: Run, facts: dict[str, str]) -> dict[str, str]:
    source = {"trace": run.root.trace, "qid": facts["qid"], "citations": facts.get("citations", "")}
    return {name: value for name, value in source.items() if value}


def _expected(run: Run) -> ExpectedAnswer | None:
    return next((span.expected for span in [run.root, *run.spans] if span.expected is not None), None)


_MARKER = re.compile(r"\s*\[([^\[\]\n]{1,300})\]")
_BETWEEN = re.compile(r"\s*[,;]\s*")


class Cited(NamedTuple):
    """The claim without its markers, what it cites, how that was found, and what of it is a guess."""

    claim: str
    ids: list[str]
    how: str = ""
    guessed: str = ""


def cited(claim: str, holder: Mapping[str, object] | None, documents: list[Document], library: Library) -> Cited:
    """What an answer cites: the first rule that applies."""
    for key in CITED_NAMES:
        value = loosened(holder.get(key)) if holder is not None else None
        if isinstance(value, list):
            ids = _listed(value, documents, library)
            guessed = f"citations: {key} may list all that was retrieved" if key in RETRIEVED_AS_CITED else ""
            return Cited(_without(claim, {document.id for document in documents}), ids, f"field {key}", guessed)
    known = {document.id for document in documents}
    pieces = [piece for marker in _MARKER.findall(claim) for piece in _BETWEEN.split(marker.strip())]
    if ids := _once(piece for piece in pieces if piece in known):
        return Cited(_without(claim, known), ids, "inline ids")
    if pieces and all(re.fullmatch(r"\d{1,4}", piece) and 1 <= int(piece) <= len(documents) for piece in pieces):
        ids = _once(documents[int(piece) - 1].id for piece in pieces)
        return Cited(_MARKER.sub("", claim).strip(), ids, "inline ranks", "citations: numbers read as ranks")
    names = [document.id for document in documents]
    marked = read_markers(claim, names)
    found = [str(one) for one in resolved(marked.names, names, labels=True)]
    if found and all(one in known for one in found):
        return Cited(marked.text, found, "markers", "citations: markers read as ids or ranks")
    return Cited(claim, [])


def _listed(values: list[object], documents: list[Document], library: Library) -> list[str]:
    """Ids from a field: ids as they are, objects by their id, texts by the document that has the same text."""
    by_text = {fold(document.text): document.id for document in documents if document.text}
    ids = []
    for value in values:
        if isinstance(value, Mapping):
            ids += [document.id for document in documents_of([value], library, Counter())]
        elif text := text_of(value):
            ids.append(by_text.get(fold(text), text))
    return _once(ids)


def _without(claim: str, known: set[str]) -> str:
    """The claim without markers all of whose pieces are known ids."""

    def kept(marker: re.Match[str]) -> str:
        return "" if all(piece in known for piece in _BETWEEN.split(marker[1].strip())) else marker[0]

    return _MARKER.sub(kept, claim).strip()


def _once(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
