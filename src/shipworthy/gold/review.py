"""Review: people decide about candidates, one by one. Each decision is on disk before the next candidate is shown.

Beside `gold.jsonl` stands `gold.review.jsonl`, to which every decision is appended: who, what, when. It alone says what
was decided, so that a killed server loses nothing and two reviewers can work on one draft.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from ..core.contracts import Anchor, Gold
from ..core.gates import Gate
from ..documents import Document, Documents, Section, read_documents
from ..documents.places import anchor_of, find, place
from ..errors import DataError, UsageError
from ..language.words import stem
from ..reading.files import write_whole
from ..suites.answers.lint import lint, proof_sizes
from ..text import fold, plural, visible

AROUND = 1_500  # characters of a document that are shown on each side of a passage
LABELS = {"accept": "answerable", "unanswerable": "unanswerable", "drop": "drop", "later": "later"}
SAW = "the reviewer saw the system's answer before deciding"
_SET_CODES = ("gold-size", "gold-no-refusals", "gold-keys", "gold-language")  # remarks that are about a whole set
_MOST_TEXTS = 12  # retrieved texts, or sections, that are shown


class Refused(Exception):
    """Why a decision is not taken, in words for the reviewer."""


class Decision(msgspec.Struct, omit_defaults=True):
    """One line of the record of a review."""

    qid: str
    label: str  # answerable, unanswerable, drop, later, undo, saw
    rater: str
    at: float = 0.0
    seconds: float = 0.0
    item: dict[str, Any] | None = None
    about: str = ""  # which candidate of that name: an item whose evidence changed is a candidate anew
    before: dict[str, Any] | None = None  # what the gold set had of it, which undo brings back


class Shown(msgspec.Struct):
    """A text that a reviewer can select in: where it comes from and, where that is known, its place in a document."""

    id: str
    title: str
    text: str
    doc: str = ""
    offset: int = 0
    focus: tuple[int, int] | None = None  # the passage, in characters of the text
    mark: tuple[int, int] | None = None  # the expected text


def record_path(out: str | os.PathLike[str]) -> str:
    """`gold.review.jsonl` beside `gold.jsonl`."""
    return os.fspath(out).removesuffix(".jsonl") + ".review.jsonl"


class Review:
    """A draft under review by one person."""

    def __init__(
        self,
        draft: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        docs: Documents | Mapping[str, str] | str | os.PathLike[str] | None = None,
        chunks: Mapping[str, str] | None = None,
        reviewer: str = "reviewer",
        gates: Iterable[str | Gate] = (),
    ) -> None:
        self.draft, self.out, self.reviewer = os.fspath(draft), os.fspath(out), reviewer.strip() or "reviewer"
        if not self.out.endswith(".jsonl"):
            hint = "A review is written line by line: gold.jsonl."
            raise UsageError("must end in .jsonl", where=f"--out {visible(self.out)}", hint=hint, code="review-out")
        self.message = ""
        self.chunks = dict(chunks or {})
        self._docs = docs
        self.documents = Documents("", {}) if docs is None else read_documents(docs)
        self._stats = self._document_stats()
        self._index: Index | None = None
        self._needs = list(proof_sizes(gates))
        self._draft_stat: tuple[int, int] | None = None
        self.items: dict[str, dict[str, Any]] = {}
        self._read_draft()
        self.decisions: list[Decision] = []
        self._state: dict[tuple[str, str], Decision] = {}  # (qid, rater) → what counts
        self._saw: set[tuple[str, str]] = set()
        self._read_bytes = 0
        self._shown_at = time.monotonic()
        self._catch_up()
        self._complete_last()
        self._questions = {qid: fold(str(row.get("question", ""))) for qid, row in self._gold_rows().items()}

    # --- the draft, which somebody may edit meanwhile ---

    def _read_draft(self) -> None:
        try:
            stat = os.stat(self.draft)
        except OSError as error:
            if not self.items:
                hint = "shipworthy gold build --docs FOLDER --out draft.jsonl makes one."
                raise UsageError(
                    f"can't be read: {error.strerror}", where=visible(self.draft), hint=hint, code="no-file"
                ) from None
            self.message = f"{self.draft} is gone; going on with what was read of it"
            return
        signature = (stat.st_mtime_ns, stat.st_size)
        if signature == self._draft_stat:
            return
        self._draft_stat = signature
        try:
            self.items = read_draft(self.draft)
            self.message = ""
        except DataError as error:
            if not self.items:
                raise
            self.message = f"the draft was edited and can't be read, so this is how it was before: {error}"

    # --- the record ---

    def _catch_up(self) -> None:
        """Read what was appended since, by this server or another one. A line without an end is not written yet."""
        path = record_path(self.out)
        try:
            with open(path, "rb") as stream:
                stream.seek(self._read_bytes)
                data = stream.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in whole.splitlines():
            try:
                self._meet(msgspec.json.decode(line, type=Decision))
            except msgspec.DecodeError:
                if line.strip():  # the torn end of a write that was cut off: nobody was told that it was saved
                    self.message = f"{path}: a line that was not written whole is left out"

    def _meet(self, decision: Decision) -> None:
        self.decisions.append(decision)
        key = (decision.qid, decision.rater)
        if decision.label == "saw":
            self._saw.add(key)
        elif decision.label == "undo":
            self._state.pop(key, None)
        else:
            self._state[key] = decision

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While this lasts no other reviewer's server writes the record or the gold set."""
        import fcntl

        handle = os.open(record_path(self.out) + ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _append(self, decision: Decision) -> None:
        """On disk, or an error: the reviewer is told that a decision is saved only after this."""
        path = record_path(self.out)
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, (b"\n" if torn else b"") + msgspec.json.encode(decision) + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)

    # --- the gold set ---

    def _gold_rows(self) -> dict[str, dict[str, Any]]:
        return {str(row.get("qid")): row for row in _lines(self.out)} if os.path.exists(self.out) else {}

    def _put(self, qid: str, item: dict[str, Any] | None) -> None:
        """Write, replace or remove one item; every other line stays as it is, byte for byte."""
        line = b"" if item is None else msgspec.json.encode(item) + b"\n"
        if not os.path.exists(self.out):
            if item is not None:
                write_whole(self.out, line)
            return
        with open(self.out, "rb") as stream:
            lines = stream.read().splitlines(keepends=True)
        kept = [one for one in lines if _qid_of(one) != qid]
        if len(kept) == len(lines):
            if item is None:
                return
            with open(self.out, "ab") as stream:
                stream.write((b"\n" if lines and not lines[-1].endswith(b"\n") else b"") + line)
                stream.flush()
                os.fsync(stream.fileno())
            return
        place_of = next(at for at, one in enumerate(lines) if _qid_of(one) == qid)
        kept.insert(min(place_of, len(kept)), line)
        write_whole(self.out, [one for one in kept if one])

    def _complete_last(self) -> None:
        """A server that died between the record and the gold set left the last decision in the record alone."""
        last = next((one for one in reversed(self.decisions) if one.label not in ("saw", "later")), None)
        if last is None:
            return
        row = self._gold_rows().get(last.qid)
        with self._alone():
            if last.item is not None and row == last.before:
                self._put(last.qid, self._first_item(last.qid) or last.item)
            elif last.label in ("undo", "drop") and row is not None and row.get("reviewed_by") == last.rater:
                about = (one for one in reversed(self.decisions) if one.qid == last.qid and one.label != "undo")
                restored = next(about, last).before if last.label == "undo" else None
                self._put(last.qid, self._first_item(last.qid) or restored)

    def _first_item(self, qid: str) -> dict[str, Any] | None:
        """The item as the first of the people who judged it wrote it."""
        judged = {one.rater: one for one in self._counting() if one.qid == qid}
        for one in self.decisions:
            if one.qid == qid and judged.get(one.rater) is one:
                return one.item
        return None

    def _counting(self) -> list[Decision]:
        """The decisions that are about the candidates of this draft and were not taken back."""
        return [one for one in self._state.values() if one.qid not in self.items or one.about == self._about(one.qid)]

    def _about(self, qid: str) -> str:
        item = self.items[qid]
        return f"{item.get('draft', {}).get('kind', '')} {(item.get('anchor') or {}).get('sha256', '')[:12]}".strip()

    # --- what comes next ---

    def waiting(self) -> list[str]:
        """What is left for this reviewer: nobody's first, then what others judged, then what was put off."""
        counting = self._counting()
        mine = {one.qid: one.label for one in counting if one.rater == self.reviewer}
        others = {one.qid for one in counting if one.rater != self.reviewer and one.label != "later"}
        left = [qid for qid in self.items if mine.get(qid, "later") == "later"]
        fresh = [qid for qid in left if qid not in mine and qid not in others]
        again = [qid for qid in left if qid not in mine and qid in others]
        put_off = {one.qid: at for at, one in enumerate(self.decisions) if one.label == "later"}
        return fresh + again + sorted((qid for qid in left if qid in mine), key=lambda qid: put_off.get(qid, 0))

    def next(self) -> dict[str, Any]:
        """The next candidate as the page shows it, or that none is left."""
        self._read_draft()
        self._catch_up()
        waiting = self.waiting()
        self._shown_at = time.monotonic()
        shown = self.view(waiting[0]) if waiting else {"item": None}
        return shown | {"progress": self.progress(), "message": self.message}

    def view(self, qid: str) -> dict[str, Any]:
        """One candidate: its question, the texts, and what the draft expects."""
        item = self.items[qid]
        draft, answer = item.get("draft", {}), item.get("draft", {}).get("answer", "")
        texts = self.texts_of(item)
        return {
            "item": {
                "qid": qid,
                "question": item.get("question", ""),
                "expected": item.get("gold_claim_substr", []),
                "stale": self._placed(item)[0] in ("changed", "gone"),
                **{name: draft.get(name, "") for name in ("kind", "hint", "proposal", "stratum", "count")},
            },
            "texts": [msgspec.to_builtins(one) for one in texts],
            "has_answer": bool(answer),
            "saw_answer": (qid, self.reviewer) in self._saw,
        }

    def texts_of(self, item: Mapping[str, Any]) -> list[Shown]:
        """What a reviewer reads: the passage in its section, else what was retrieved, else the sections that fit."""
        if (anchor := item.get("anchor")) and anchor["doc"] in self.documents.by_name:
            expected = (item.get("gold_claim_substr") or [""])[0]
            document = self.documents.by_name[anchor["doc"]]
            return [_around(document, anchor["start"], anchor["end"], expected)]
        if anchor and anchor.get("text"):
            return [
                Shown(anchor["doc"], f"{anchor['doc']} (as it was)", anchor["text"], focus=(0, len(anchor["text"])))
            ]
        retrieved = item.get("draft", {}).get("retrieved", [])
        texts = [one for block in retrieved[:_MOST_TEXTS] if (one := self._retrieved(block)) is not None]
        return texts or self.search(item.get("question", ""))

    def _placed(self, item: Mapping[str, Any]) -> tuple[str, Anchor | None]:
        """What became of the place that the draft names, and where it is now, or may be."""
        if not item.get("anchor") or not self.documents:
            return "none", None
        anchor = msgspec.convert(item["anchor"], Anchor)
        document = self.documents.by_name.get(anchor.doc)
        if document is not None and anchor.text and document.text[anchor.start : anchor.end] == anchor.text:
            return "unchanged", anchor  # as nearly always, and without a look at every document
        found = find(anchor, self.documents)
        return found.state, found.anchor

    def _retrieved(self, block: Mapping[str, str]) -> Shown | None:
        name, text = block["id"], block.get("text") or self.chunks.get(block["id"], "")
        if name in self.documents.chunk_of:
            owner, chunk = self.documents.chunk_of[name]
            document = self.documents.by_name[owner]
            return Shown(name, name, document.text[chunk.start : chunk.end], owner, chunk.start)
        if not text:
            return None
        places = [(one.name, at) for one in self.documents if (at := one.text.find(text)) >= 0]
        if len(places) == 1:
            return Shown(name, name, text, *places[0])
        return Shown(name, name, text)

    def search(self, words: str) -> list[Shown]:
        """The sections of the documents that have most of the words."""
        if not words.strip():
            return []
        if self._index is None:
            self._index = Index(self.documents)
        return [_shown(document, section.start, section.end) for document, section in self._index.best(words)]

    # --- decisions ---

    def decide(
        self, qid: str, decision: str, *, question: str = "", selection: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Save a decision; the item that it wrote, if any. Refused: why it can't be taken."""
        if qid not in self.items:
            raise Refused("this candidate is no longer in the draft")
        label = LABELS[decision]
        item = self._item(qid, label, " ".join(question.split()), selection)
        taken = min(time.monotonic() - self._shown_at, 3600.0)
        with self._alone():
            self._catch_up()
            before = self._gold_rows().get(qid)
            now, spent = round(time.time(), 3), round(taken, 1)
            self._append(Decision(qid, label, self.reviewer, now, spent, item, self._about(qid), before))
            self._catch_up()
            mine = before is not None and (before.get("reviewed_by") == self.reviewer or self._is_stale(qid))
            if item is not None or (label == "drop" and mine):
                self._write(qid, self._first_item(qid))
        return item or {}

    def undo(self) -> str:
        """Take back this reviewer's last decision; the question that it was about, or nothing."""
        with self._alone():
            self._catch_up()
            counting = {id(one) for one in self._counting() if one.rater == self.reviewer}
            mine = [one for one in self.decisions if id(one) in counting]
            if not mine:
                return ""
            qid, before = mine[-1].qid, mine[-1].before
            self._append(Decision(qid, "undo", self.reviewer, round(time.time(), 3)))
            self._catch_up()
            if mine[-1].label != "later":
                self._write(qid, self._first_item(qid) or before)
        return qid

    def _write(self, qid: str, item: dict[str, Any] | None) -> None:
        self._put(qid, item)
        self._questions[qid] = fold(str(item["question"])) if item else ""

    def _is_stale(self, qid: str) -> bool:
        """Whether it is an item of the gold set that came back to be judged anew."""
        return self.items[qid].get("draft", {}).get("kind") in ("stale", "unplaced")

    def show_answer(self, qid: str) -> dict[str, Any]:
        """The system's own answer; from now on the item says that it was seen."""
        draft = self.items[qid].get("draft", {})
        with self._alone():
            if (qid, self.reviewer) not in self._saw:
                self._append(Decision(qid, "saw", self.reviewer, round(time.time(), 3)))
                self._catch_up()
        return {"answer": draft.get("answer", ""), "cited": draft.get("cited", [])}

    def _item(self, qid: str, label: str, question: str, selection: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if label not in ("answerable", "unanswerable"):
            return None
        if not question:
            raise Refused("Word the question first (e).")
        made: dict[str, Any] = {"qid": qid, "question": question, "answerable": label == "answerable"}
        if label == "answerable":
            made |= self._evidence(qid, selection)
        draft = self.items[qid]
        kept = ("match", "tolerance", "gold_claim", "forbidden", "about", "lang", "type", "notes", "constraints")
        made |= {name: draft[name] for name in kept if draft.get(name) and label == "answerable"}
        if (qid, self.reviewer) in self._saw:
            made["notes"] = "; ".join(filter(None, (made.get("notes", ""), SAW)))
        return made | {"reviewed_by": self.reviewer, "provenance": draft.get("provenance") or "hand"}

    def _evidence(self, qid: str, selection: Mapping[str, Any] | None) -> dict[str, Any]:
        """Expected text, citation and place: those of the selection, else those of the draft."""
        item = self.items[qid]
        self._refuse_stale(item, selection)
        if selection is None:
            state, anchor = self._placed(item)
            if not item.get("gold_claim_substr") or state in ("changed", "gone"):
                raise Refused("Select the text that answers the question.")
            kept = {name: item[name] for name in ("gold_claim_substr", "gold_citations", "anchor") if item.get(name)}
            if anchor is not None:
                document = self.documents.by_name[anchor.doc]
                whole = anchor_of(self.documents, document, anchor.start, anchor.end)  # with its copies counted
                return kept | {"anchor": msgspec.to_builtins(whole)}
            return kept if "anchor" in kept else kept | self._place(kept)
        found = self._selected(selection)
        start, end = selection["start"], selection["end"]
        text = found.text[start:end]
        while text[:1].isspace():
            start, text = start + 1, text[1:]
        text = text.rstrip()
        if not text:
            raise Refused("The selection is blank. Select the text that answers the question.")
        made: dict[str, Any] = {"gold_claim_substr": [" ".join(text.split())]}
        named = found.id if found.id != found.doc else ""
        if found.doc:
            document = self.documents.by_name[found.doc]
            low, high = found.offset + start, found.offset + start + len(text)
            first, last = document.passage_at(low, low + 1), document.passage_at(max(low, high - 1), high)
            low, high = first.start if first else low, last.end if last else high
            made["anchor"] = msgspec.to_builtins(anchor_of(self.documents, document, low, high))
            named = named or self._cited(item, document, low, high)
        return made | {"gold_citations": [named or found.id]}

    def _cited(self, item: Mapping[str, Any], document: Document, low: int, high: int) -> str:
        """The id by which the system cites a place: of a chunk, else what the draft says, else the document."""
        from .build import citation

        text = document.text[low:high]
        chunk = next((name for name, body in self.chunks.items() if text in body), "")
        return chunk or document.chunk_at(low, high) or citation(document, document.passage_at(low, high))

    def _place(self, item: Mapping[str, Any]) -> dict[str, Any]:
        gold = msgspec.convert({"qid": "x", "answerable": True} | dict(item), Gold)
        anchor = place(gold, self.documents, self.chunks).anchor
        return {"anchor": msgspec.to_builtins(anchor)} if anchor else {}

    def _selected(self, selection: Mapping[str, Any]) -> Shown:
        """The text that was selected in, as it is now: the page sends back what it showed."""
        doc, offset, text = selection.get("doc", ""), selection.get("offset", 0), selection["text"]
        if doc:
            here = self.documents.by_name.get(doc)
            if here is None or here.text[offset : offset + len(text)] != text:
                raise Refused("The document changed while you read it. It is shown anew; select again.")
        if not 0 <= selection["start"] < selection["end"] <= len(text):
            raise Refused("Select within one text.")
        return Shown(selection.get("id", ""), "", text, doc, offset)

    def _document_stats(self) -> dict[str, tuple[int, int]]:
        if not os.path.isdir(self.documents.path):
            return {}
        return {name: _written(os.path.join(self.documents.path, name)) for name in self.documents.by_name}

    def _refuse_stale(self, item: Mapping[str, Any], selection: Mapping[str, Any] | None) -> None:
        """Documents that changed since they were read are read anew, and nothing is decided about what is gone."""
        name = (selection or {}).get("doc") or (item.get("anchor") or {}).get("doc", "")
        if not name or name not in self._stats:
            return
        if _written(os.path.join(self.documents.path, name)) == self._stats[name]:
            return
        before = self.documents.by_name[name].text
        self.documents = read_documents(self._docs)  # type: ignore[arg-type]
        self._stats, self._index = self._document_stats(), None
        after = self.documents.by_name.get(name)
        if after is None or after.text != before:
            raise Refused(f"{name} changed while you read it. It is shown anew; look again.")

    # --- what the page says beside ---

    def lint(self, qid: str, question: str, expected: str, answerable: bool = True) -> list[str]:
        """What `gold lint` would say of the item, and whether the question was asked already."""
        if not question.strip():
            return []
        item = {"qid": qid, "question": question, "answerable": answerable}
        if answerable:
            item |= {"gold_claim_substr": [expected] if expected else [], "gold_citations": ["x"]}
        found = [one.says for one in lint([item]) if one.code not in _SET_CODES and one.severity != "info"]
        from rapidfuzz import fuzz

        asked = fold(question)
        for other, text in self._questions.items():
            if other != qid and text and fuzz.ratio(asked, text, score_cutoff=92):
                return [*found, f"nearly the same question as {other}: {visible(text, 120)}"]
        return found

    def progress(self) -> dict[str, Any]:
        """How far it is, how long an item takes, and what the gates still need."""
        labels = [one.label for one in self._latest().values()]
        mine = [
            one for (_, rater), one in self._state.items() if rater == self.reviewer and one.seconds > 0 and one.item
        ]
        rows = list(self._gold_rows().values())
        having = {
            "answerable": sum(row.get("answerable") is True for row in rows),
            "unanswerable": sum(row.get("answerable") is False for row in rows),
        }
        needs: dict[str, tuple[int, list[str]]] = {}
        for gate, kind, needed in self._needs:
            name = "unanswerable" if kind.startswith("un") else "answerable"
            most, gates = needs.get(name, (0, []))
            needs[name] = (max(most, needed), [*gates, str(gate)])
        return {
            "total": len(self.items),
            "done": sum(label in ("answerable", "unanswerable", "drop") for label in labels),
            "left": len(self.waiting()),
            **{name: labels.count(name) for name in ("answerable", "unanswerable", "drop", "later")},
            "seconds": round(statistics.median(one.seconds for one in mine), 1) if mine else None,
            "reviewer": self.reviewer,
            "enough": [
                {"kind": name, "have": having[name], "need": need, "gates": gates}
                for name, (need, gates) in sorted(needs.items())
            ],
            "differ": len(self.differing()),
        }

    def _latest(self) -> dict[str, Decision]:
        """One decision a candidate: the first that counts, of whoever made it."""
        found: dict[str, Decision] = {}
        counting = {id(one) for one in self._counting()}
        for one in self.decisions:
            if id(one) in counting:
                before = found.get(one.qid)
                found[one.qid] = one if before is None or before.label == "later" else before
        return {qid: one for qid, one in found.items() if qid in self.items}

    def differing(self) -> list[str]:
        """What two people judged differently."""
        labels: dict[str, set[str]] = {}
        for (qid, _), one in self._state.items():
            if one.label != "later":
                labels.setdefault(qid, set()).add(one.label)
        return sorted(qid for qid, given in labels.items() if len(given) > 1)

    def ratings(self) -> list[dict[str, str]]:
        """Who gave which label to what, as `agreement` reads it."""
        return [
            {"qid": qid, "rater": rater, "label": one.label}
            for (qid, rater), one in sorted(self._state.items())
            if one.label != "later"
        ]

    def summary(self) -> str:
        """One line for the terminal."""
        now = self.progress()
        counted = f"{now['answerable']} answerable, {now['unanswerable']} unanswerable, {now['drop']} dropped"
        pace = f", {now['seconds']:g} s an item" if now["seconds"] else ""
        return f"{self.out}: {now['done']} of {plural(now['total'], 'candidate')} reviewed ({counted}){pace}"


def _written(path: str) -> tuple[int, int]:
    """When a file was written, and its size: by these an edit is noticed. Zeros where it is gone."""
    try:
        stat = os.stat(path)
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def read_draft(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """The candidates of a draft by qid; any bad line is an error that names it."""
    found: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(_lines(path), 1):
        where = f"{visible(os.fspath(path))}:{number}"
        qid = row.get("qid")
        wrong = "" if isinstance(qid, str) and qid else "there is no qid"
        wrong = wrong or ("" if qid not in found else f"duplicate qid {qid!r}")
        for name, kind in (("question", str), ("draft", dict), ("anchor", dict), ("gold_claim_substr", list)):
            if row.get(name) is not None and not isinstance(row[name], kind):
                wrong = wrong or f"{name} is not {'a list' if kind is list else 'text' if kind is str else 'an object'}"
        if wrong:
            hint = "Write drafts with `gold build`, or correct the line."
            raise DataError(wrong, where=where, hint=hint, code="draft-line")
        found[str(qid)] = {name: value for name, value in row.items() if value is not None} | {"qid": str(qid)}
    if not found:
        raise DataError("the draft is empty", where=visible(os.fspath(path)), hint="Build one.", code="draft-line")
    return found


def _lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf"))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                where = f"{visible(os.fspath(path))}:{number}"
                raise DataError(
                    f"is not JSON: {error}", where=where, hint="Correct the line.", code="draft-line"
                ) from None
            if isinstance(row, dict):
                yield row


def _qid_of(line: bytes) -> str:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(row.get("qid", "")) if isinstance(row, dict) else ""


def _around(document: Document, start: int, end: int, expected: str) -> Shown:
    """A passage with what stands around it, within its section where that is long enough."""
    section = document.section_at(start)
    low, high = (section.start, section.end) if section else (0, len(document.text))
    low, high = max(low, start - AROUND), min(max(high, end), end + AROUND)
    shown = _shown(document, low, high)
    shown.focus = (start - low, end - low)
    at = document.text.find(expected, start, end) if expected else -1
    shown.mark = (at - low, at - low + len(expected)) if at >= 0 else None
    return shown


def _shown(document: Document, low: int, high: int) -> Shown:
    section = document.section_at(low)
    title = " · ".join(filter(None, (document.name, section.title if section else "")))
    name = document.chunk_at(low, high) or document.name
    return Shown(name, title, document.text[low : min(high, low + 2 * AROUND)], document.name, low)


# --- search: enough for a reviewer to look things up ---

_WORD = re.compile(r"\w{2,}")


class Index:
    """Words of sections, in memory, and how rare each word is."""

    def __init__(self, documents: Documents) -> None:
        self._sections: list[tuple[Document, Section]] = []
        self._having: dict[str, dict[int, int]] = {}
        for document in documents:
            for section in document.sections:
                number = len(self._sections)
                self._sections.append((document, section))
                words = Counter(_words(document.text[section.start : section.end]))
                for word, count in words.items():
                    self._having.setdefault(word, {})[number] = count

    def best(self, question: str, most: int = 5) -> list[tuple[Document, Section]]:
        """The sections that share most with a question, rare words counting more."""
        scores: Counter[int] = Counter()
        for word in set(_words(question)):
            having = self._having.get(word, {})
            weight = math.log(1 + len(self._sections) / (1 + len(having)))
            for number, count in having.items():
                scores[number] += round(1000 * weight * (1 + math.log(count)))
        ranked = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        return [self._sections[number] for number, _ in ranked[:most]]


def _words(text: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(text.casefold())]
