"""Documents: the texts that answers come from, read from a folder or a chunk file, cut into sections and passages.

A document is its text in NFC with LF line ends; every place counts characters of that text. HTML and PDF become plain
text first, with headings and tables written as in Markdown.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from ..errors import DataError, UsageError
from ..language.sentences import sentences
from ..reading.formats import raw_rows
from ..reading.jsonl import Problems
from ..text import first_few, plural, visible

MAX_DOCUMENT = 32 << 20  # bytes of one file; a larger one is left out, and named
MARKDOWN, PLAIN, HTML, PDF = (".md", ".markdown", ".mdx"), (".txt", ".text", ".rst"), (".html", ".htm"), (".pdf",)
TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".gz", ".zst")
ENDINGS = (*MARKDOWN, *PLAIN, *HTML, *PDF)

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_SETEXT = re.compile(r"^(?![ \t]*$)(?!\|)([^\n]{1,120})\n(=+|-{3,})[ \t]*$", re.MULTILINE)
_TITLE_LINE = re.compile(r"(?:\A|(?<=\n\n))([A-Z0-9][^\n]{1,70}[^\s.,;:!?])\n(?=\n)")
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*")
KEY_VALUE = re.compile(
    r"[ \t]*(?:[-*+•][ \t]+)?(?:\*\*|__)?([A-Z][^:|\n*]{1,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]+(\S[^\n]*)"
)


class Passage(NamedTuple):
    """A piece of a document that can answer something: a sentence, a row of a table, a `key: value` line."""

    start: int
    end: int
    kind: str  # sentence, row, pair, code
    head: str = ""  # of a row: the header of its table


class Section(NamedTuple):
    """The text from one heading to the next."""

    title: str
    level: int
    start: int  # of the heading
    body: int  # behind it
    end: int


class Chunk(NamedTuple):
    """A piece of a document that has an id of its own in a chunk file."""

    id: str
    start: int
    end: int


class Document(msgspec.Struct, dict=True):
    """One document: its name, which is its path below the folder, and its text."""

    name: str
    text: str
    kind: str = "markdown"  # markdown, plain, pages, chunks
    marks: list[tuple[int, str]] = []  # where pages or chunks begin, and what they are called
    chunks: list[Chunk] = []

    @cached_property
    def sections(self) -> list[Section]:
        """The sections in order; one without a title for what stands before the first heading."""
        found = self._headings()
        if not found or found[0][0] > 0:
            found.insert(0, (0, 0, "", 0))
        ends = [start for start, *_ in found[1:]] + [len(self.text)]
        return [
            Section(title, level, start, body, end)
            for (start, body, title, level), end in zip(found, ends, strict=True)
            if title or self.text[body:end].strip()
        ]

    def _headings(self) -> list[tuple[int, int, str, int]]:
        if self.kind in ("pages", "chunks"):
            return [(start, start, title, 1) for start, title in self.marks]
        fenced = [match.span() for match in _FENCE.finditer(self.text)]
        found = [(m.start(), m.end(), m[2], len(m[1])) for m in _HEADING.finditer(self.text)]
        found += [
            (m.start(), m.end(), m[1].strip(), 1 if m[2][0] == "=" else 2)
            for m in _SETEXT.finditer(self.text)
            if not m[1].startswith(("#", "---", "- "))
        ]
        if self.kind == "plain" and not found:
            found = [(m.start(), m.end(), m[1], 1) for m in _TITLE_LINE.finditer(self.text)]
        front = match.end() if (match := _FRONT.match(self.text)) else 0
        inside = _Inside(fenced)
        return sorted(one for one in found if one[0] >= front and not inside(one[0]))

    def section_at(self, place: int) -> Section | None:
        """The section that a place is in."""
        from bisect import bisect_right

        starts = [section.start for section in self.sections]
        at = bisect_right(starts, place) - 1
        return self.sections[at] if at >= 0 else None

    def chunk_at(self, start: int, end: int) -> str:
        """The id of the chunk that holds a range, or nothing."""
        return next((one.id for one in self.chunks if one.start <= start and end <= one.end), "")

    def passages(self, section: Section) -> list[Passage]:
        """The passages of a section in order. Code is one passage, which nobody takes apart."""
        found: list[Passage] = []
        for start, end, kind in self._blocks(section.body, section.end):
            if kind == "table":
                found += self._rows(start, end)
            elif kind == "code":
                found.append(Passage(start, end, "code"))
            else:
                found += self._prose(start, end)
        return found

    def _blocks(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Runs of lines: tables, fenced code, and everything else."""
        position, block, kind = start, start, ""
        fence = False
        for line in self.text[start:end].splitlines(keepends=True):
            mark = line.lstrip()[:3] in ("```", "~~~")
            now = "code" if fence or mark else "table" if line.lstrip().startswith("|") else "prose"
            if now != kind and position > block:
                yield block, position, kind
                block = position
            kind, fence = now, fence ^ mark
            position += len(line)
        if position > block:
            yield block, position, kind

    def _rows(self, start: int, end: int) -> list[Passage]:
        rows, position = [], start
        for line in self.text[start:end].splitlines(keepends=True):
            rows.append((position, position + len(line.rstrip())))
            position += len(line)
        ruled = len(rows) > 1 and _RULE.fullmatch(self.text[slice(*rows[1])]) is not None
        head = self.text[slice(*rows[0])].strip() if ruled else ""
        return [Passage(*row, "row", head) for row in rows[2 if ruled else 0 :]]

    def _prose(self, start: int, end: int) -> Iterator[Passage]:
        for span in sentences(self.text[start:end]):
            kind = "pair" if KEY_VALUE.fullmatch(span.text) and "\n" not in span.text else "sentence"
            yield Passage(start + span.start, start + span.end, kind)

    def passage_at(self, start: int, end: int) -> Passage | None:
        """The passage that holds a range; None where it crosses from one to another."""
        section = self.section_at(start)
        if section is None:
            return None
        return next((one for one in self.passages(section) if one.start <= start and end <= one.end), None)


class _Inside:
    """Whether a place lies in one of the ranges, asked in any order."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._starts, self._ends = [start for start, _ in ranges], [end for _, end in ranges]

    def __call__(self, place: int) -> bool:
        from bisect import bisect_right

        at = bisect_right(self._starts, place) - 1
        return at >= 0 and place < self._ends[at]


def cells(row: str) -> list[tuple[str, int]]:
    """The cells of a row with their places in it."""
    found, position = [], 0
    for part in re.split(r"(?<!\\)\|", row):
        text = part.strip()
        found.append((text, position + len(part) - len(part.lstrip())))
        position += len(part) + 1
    inner = found[1:] if row.lstrip().startswith("|") else found
    return inner[:-1] if inner and not inner[-1][0] and row.rstrip().endswith("|") else inner


class Documents(msgspec.Struct, dict=True):
    """The documents by name, and which files were left out and why."""

    path: str
    by_name: dict[str, Document]
    left_out: list[tuple[str, str]] = []
    others: dict[str, int] = {}  # endings of files that are no documents, with their numbers

    def __iter__(self) -> Iterator[Document]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    @cached_property
    def digest(self) -> str:
        """sha256 over all names and texts, whatever order the file system has."""
        whole = hashlib.sha256()
        for name in sorted(self.by_name):
            whole.update(f"{name}\0{hashlib.sha256(encoded(self.by_name[name].text)).hexdigest()}\n".encode())
        return whole.hexdigest()

    @cached_property
    def chunk_of(self) -> dict[str, tuple[str, Chunk]]:
        """Chunks by id, each with the name of its document."""
        return {chunk.id: (document.name, chunk) for document in self for chunk in document.chunks}

    def remarks(self) -> list[str]:
        """What was left out, in sentences."""
        lines = [f"{visible(name)}: left out, {why}" for name, why in self.left_out[:20]]
        if len(self.left_out) > 20:
            lines.append(f"{len(self.left_out) - 20} more files were left out")
        if self.others:
            kinds = [
                f"{count} {ending}" for ending, count in sorted(self.others.items(), key=lambda one: (-one[1], one))
            ]
            lines.append(f"not documents, left out: {first_few(kinds)}")
        return lines


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def normal(text: str) -> str:
    """The text that places count in: no byte order mark, LF, NFC."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def read_documents(source: Documents | Mapping[str, str] | str | os.PathLike[str]) -> Documents:
    """The documents of a folder, of one file, of a chunk file, or of a mapping of names to texts."""
    if isinstance(source, Documents):
        return source
    if isinstance(source, Mapping):
        found = {name: Document(name, normal(text), _kind(name)) for name, text in source.items()}
        return Documents("<documents>", found)
    path = os.fspath(source)
    if not os.path.exists(path):
        raise UsageError(
            "there is no such folder or file", where=visible(path), hint="Check --docs.", code="docs-absent"
        )
    documents = Documents(path, {}, [], {})
    if os.path.isdir(path):
        _read_folder(path, documents)
    elif path.lower().endswith(TABLES):
        documents.by_name.update(_chunk_file(path))
    else:
        _add(documents, os.path.basename(path), path)
    if not documents.by_name:
        raise DataError(
            "; ".join(["there is no document to read", *documents.remarks()]),
            where=visible(path),
            hint=f"Documents end in {' '.join(ENDINGS)}, or are one chunk file (.jsonl).",
            code="docs-empty",
        )
    return documents


def _read_folder(path: str, documents: Documents) -> None:
    root, seen = os.path.realpath(path), set[str]()
    others: Counter[str] = Counter()
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for folder in [name for name in folders if os.path.islink(os.path.join(parent, name))]:
            documents.left_out.append((_below(path, os.path.join(parent, folder)), "a folder that is a symbolic link"))
        for name in sorted(names):
            file = os.path.join(parent, name)
            if name.startswith("."):
                continue
            if not name.lower().endswith(ENDINGS):
                others[os.path.splitext(name)[1].lower() or "without an ending"] += 1
                continue
            real = os.path.realpath(file)
            if os.path.islink(file) and not real.startswith(root + os.sep):
                documents.left_out.append((_below(path, file), "a symbolic link that leads out of the folder"))
            elif real not in seen:
                seen.add(real)
                _add(documents, _below(path, file), file)
    documents.others.update(others)


def _below(folder: str, file: str) -> str:
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _add(documents: Documents, name: str, path: str) -> None:
    """Read one file; what can't be read is left out, with the reason."""
    name = os.fsencode(name).decode("utf-8", "replace")
    try:
        document = _read(name, path)
    except _LeftOut as reason:
        documents.left_out.append((name, str(reason)))
        return
    except OSError as error:
        documents.left_out.append((name, f"it can't be read: {error.strerror or error}"))
        return
    if document.text.strip():
        documents.by_name[name] = document
    else:
        why = "no page has text; is it a scan?" if document.kind == "pages" else "it is empty"
        documents.left_out.append((name, why))


class _LeftOut(Exception):
    """Why a file is no document."""


def _read(name: str, path: str) -> Document:
    if not os.path.isfile(path):
        raise _LeftOut("it is not a regular file")
    if (size := os.path.getsize(path)) > MAX_DOCUMENT:
        raise _LeftOut(f"it has {size >> 20} MB, and the limit is {MAX_DOCUMENT >> 20} MB; split it")
    if name.lower().endswith(PDF):
        from .formats import pages_of

        try:
            pages = pages_of(path)
        except ImportError:
            raise _LeftOut("reading PDF needs `pip install 'shipworthy[docs]'`") from None
        except ValueError as error:
            raise _LeftOut(str(error)) from None
        return _paged(name, pages)
    with open(path, "rb") as stream:
        data = stream.read()
    if name.lower().endswith(HTML):
        from .formats import text_of

        return Document(name, normal(text_of(_decoded(data, html=True))))
    return Document(name, normal(_decoded(data)), _kind(name))


def _kind(name: str) -> str:
    return "plain" if name.lower().endswith(PLAIN) else "markdown"


_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([A-Za-z0-9_-]+)", re.IGNORECASE)


def _decoded(data: bytes, html: bool = False) -> str:
    """The text of a file: UTF-8, whatever its byte order mark names, or what an HTML page declares. Never guessed."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if not encoding and b"\0" in data:
        raise _LeftOut("it is binary")
    if not encoding and html and (declared := _CHARSET.search(data[:4096])):
        encoding = declared[1].decode("ascii")
    try:
        return data.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        raise _LeftOut(
            f"it is not {visible(encoding or 'UTF-8', 20)}; convert it, such as with iconv -f windows-1252 -t utf-8"
        ) from None


def _paged(name: str, pages: list[str]) -> Document:
    text, marks = "", []
    for number, page in enumerate(pages, 1):
        text += "\n\n" if text else ""
        marks.append((len(text), f"page {number}"))
        text += normal(page)
    return Document(name, text, "pages", marks)


def _chunk_file(path: str) -> dict[str, Document]:
    """The documents of a chunk file: chunks that name the same `doc` one after another, any other by itself."""
    problems, parts = Problems(), dict[str, list[tuple[str, str, str]]]()
    for line, row in raw_rows(path, problems):
        name, text = row.get("id"), row.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            where = f"{visible(path)}:{line}"
            raise DataError("a chunk needs an id and a text, both strings", where=where, code="chunk")
        owner, title = _first(row, "doc", "document", "source"), _first(row, "title", "section_id", "section")
        parts.setdefault(owner or name, []).append((name, normal(text), title))
    problems.raise_any()
    return {name: _joined(name, chunks) for name, chunks in parts.items() if any(text.strip() for _, text, _ in chunks)}


def _first(row: Mapping[str, object], *keys: str) -> str:
    return next((value for key in keys if isinstance(value := row.get(key), str)), "")


def _joined(name: str, parts: list[tuple[str, str, str]]) -> Document:
    """One text of the chunks of a document; what two neighbours share at the seam stands in it once."""
    text, marks, chunks = "", [], []
    for chunk_id, part, title in parts:
        shared = seam(text, part)
        start = len(text) - shared
        if text and not shared:
            text += "\n\n"
            start = len(text)
        text += part[shared:]
        marks.append((start, title or chunk_id))
        chunks.append(Chunk(chunk_id, start, start + len(part)))
    return Document(name, text, "chunks", marks, chunks)


def seam(text: str, part: str, least: int = 20) -> int:
    """How many characters the end of one chunk and the beginning of the next have in common."""
    probe, tail = part[:least], text[-len(part) :]
    place = tail.find(probe) if len(part) >= least else -1
    while place >= 0:
        if part.startswith(tail[place:]):
            return len(tail) - place
        place = tail.find(probe, place + 1)
    return 0


def summary(documents: Documents) -> str:
    """`3 documents, 68 sections`."""
    return f"{plural(len(documents), 'document')}, {plural(sum(len(one.sections) for one in documents), 'section')}"
