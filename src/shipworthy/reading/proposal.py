"""Proposals: the mapping that a record of another shape probably needs, and which tool's record it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..text import visible

_DEPTH = 4  # levels of objects that are looked into
_CHAT = "choices[0].message"  # where chat services put what they say, and what they base it on
_SHOWN = 12  # fields that a message lists
_CLAIM = (
    *("answer", "claim", "response", "output", "text", "result", "completion", "reply", "generated_text"),
    *("output_text", "prediction", "actual_output", "message", "content"),
)
_LISTS = (
    *("sources", "contexts", "context", "documents", "docs", "retrieved", "retrieved_documents", "retrieved_docs"),
    *("source_documents", "retrieved_contexts", "chunks", "passages", "hits", "matches", "references", "results"),
)
_CITED = ("citations", "cited", "cited_ids", "references")
_SHOWN_AS_SOURCES = ("sources", "references")  # what a service shows under these names is what it cites
_ID = (
    *("id", "doc_id", "document_id", "chunk_id", "source_id", "source", "metadata.id", "metadata.doc_id"),
    *("metadata.source", "document.id", "node.id", "doc", "document", "key", "title", "url"),
)
_TEXT = ("text", "content", "page_content", "snippet", "passage", "body")
_PLAIN: dict[str, dict[str, tuple[tuple[str, ...], type | tuple[type, ...]]]] = {
    "trace": {
        "e2e_ms": (("e2e_ms", "latency_ms", "elapsed_ms", "duration_ms", "took_ms"), (int, float)),
        "cost_usd": (("cost_usd", "cost", "total_cost"), (int, float)),
        "refused": (("refused", "refusal", "is_refusal", "no_answer", "abstained"), bool),
    },
    "gold": {
        "gold_claim_substr": (
            ("expected", "expected_answer", "expected_output", "reference", "ground_truth", "gold_answer", "answer"),
            (str, list),
        ),
        "gold_citations": (
            ("expected_ids", "expected_sources", "relevant_ids", "reference_context_ids", "sources", "citations"),
            (str, list),
        ),
        "answerable": (("is_answerable", "has_answer"), bool),
    },
}
_FILE = {
    "qid": (("id", "question_id", "query_id", "qid", "q_id", "case_id", "prompt_id", "name"), (str, int)),
    "question": (("question", "query", "prompt", "input", "user_input"), str),
}
# Inline markers, as they are told from other brackets: ids that were retrieved, ranks, or names with a number.
MARKERS = (
    (r"\[([\w.#:/-]+)\]", re.compile(r"\[([\w.#:/-]+)\]")),
    (r"\(source:\s*([^)]+)\)", re.compile(r"\(source:\s*([^)]+)\)", re.IGNORECASE)),
)
_LIKE_AN_ID = re.compile(r"\d{1,3}|[A-Za-z]+[-_#:/.]?\d[\w.#:/-]*")


def propose(record: object, kind: str = "trace", file: bool = False, claim_path: str = "") -> dict[str, str]:
    """field → path, for the fields that are recognised.

    `file`: the record brings its own qid and question. `claim_path`: where the answer is, if that is known.
    """
    if not isinstance(record, Mapping):
        return {}
    found: dict[str, str] = {}
    if file:
        found |= _plain(record, _FILE, {"qid", "question"} & set(record))
    if kind == "gold":
        return found | _plain(record, _PLAIN["gold"], set(record))
    given = _at(record, claim_path) if claim_path and not claim_path.startswith("re:") else None
    claim = (claim_path, given) if isinstance(given, str) else _claim(record)
    if claim:
        found["claim"] = claim[0]
    found |= _retrieved(record)
    found |= _citations(record, claim, found)
    return found | _plain(record, _PLAIN["trace"], set())


def flags(mapping: Mapping[str, str]) -> str:
    """A mapping as it is typed."""
    return visible(" ".join(f"--map {_quoted(f'{field}={path}')}" for field, path in mapping.items()))


def fields_of(record: object, most: int = _SHOWN) -> str:
    """The fields of a record, for a message: `answer, sources[*].id, sources[*].text`."""
    names = [path for path, _ in _leaves(record)]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return visible(", ".join(names[:most]), 400) + more if names else "nothing"


def foreign(record: object) -> str:
    """The tool whose rows look like this; nothing where none is recognised."""
    if not isinstance(record, Mapping):
        return ""
    names = set(record)
    if {"evalId", "results"} <= names or {"promptIdx", "testIdx"} & names or {"vars", "testCase"} <= names:
        return "promptfoo"
    if {"user_input", "response"} <= names or "retrieved_contexts" in names:
        return "ragas"
    if {"question", "answer", "contexts"} <= names and {"ground_truth", "ground_truths", "reference"} & names:
        return "ragas"
    if {"input", "actual_output"} <= names or "retrieval_context" in names:
        return "deepeval"
    return ""


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.=/:-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def _claim(record: Mapping[str, object]) -> tuple[str, str] | None:
    """Path and text of the answer: the best name nearest to the top."""
    for path in (f"{_CHAT}.content", "choices[0].text"):
        if isinstance(text := _at(record, path), str):
            return path, text
    level: list[tuple[str, Mapping[str, Any]]] = [("", record)]
    for _ in range(_DEPTH):
        for key in _CLAIM:
            for prefix, inner in level:
                if name := _named(inner, (key,), str):
                    return f"{prefix}{name}", inner[name]
        level = [
            (f"{prefix}{name}.", value)
            for prefix, inner in level
            for name, value in inner.items()
            if isinstance(value, Mapping) and _simple(name)
        ]
    return None


def _retrieved(record: Mapping[str, object]) -> dict[str, str]:
    for path, values in _lists(record, (*_LISTS, "citations")):
        found = _of_list(path, values)
        if found:
            return found
    return {}


def _of_list(path: str, values: list[object]) -> dict[str, str]:
    first = values[0]
    if isinstance(first, str):
        as_ids = all(isinstance(one, str) and len(one) <= 64 and " " not in one for one in values)
        return {"retrieved_ids": path} if as_ids else {"evidence": path}
    if not isinstance(first, Mapping):
        return {}
    id_key, text_key = _named(first, _ID, (str, int)), _named(first, _TEXT, str)
    found = {"retrieved_ids": f"{path}[*].{id_key}"} if id_key else {}
    return found | ({"evidence": f"{path}[*].{text_key}"} if text_key else {})


def _citations(record: Mapping[str, object], claim: tuple[str, str] | None, found: Mapping[str, str]) -> dict[str, str]:
    """Inline markers in the answer, else a list that is called citations, else what is shown as its sources."""
    if claim:
        known = {str(name) for name in _values(record, found.get("retrieved_ids", ""))}
        for pattern, search in MARKERS:
            names = search.findall(claim[1])
            if any(name in known or _LIKE_AN_ID.fullmatch(name.strip()) for name in names):
                return {"citations": f"re:{pattern}@{claim[0]}"}
    for path, values in _lists(record, _CITED):
        ids = _of_list(path, values).get("retrieved_ids")
        if ids:
            return {"citations": ids}
    ids = found.get("retrieved_ids", "")
    return {"citations": ids} if ids.partition("[*]")[0].rpartition(".")[2] in _SHOWN_AS_SOURCES else {}


def _plain(record: Mapping[str, Any], wanted: Mapping[str, Any], own: set[str]) -> dict[str, str]:
    """Fields by name and type, at the top or one level down; those that the record has under our name are left."""
    found = {}
    for field, (names, types) in wanted.items():
        if field in own:
            continue
        for name in names:
            value = record.get(name)
            if isinstance(value, types) and (types is bool or not isinstance(value, bool)) and _simple(name):
                found[field] = name
                break
    return found


def _lists(record: Mapping[str, object], names: Iterable[str]) -> Iterator[tuple[str, list[object]]]:
    """Lists with something in them under any of the names: at the top first, then one and two levels down."""
    level: list[tuple[str, Mapping[str, Any]]] = [("", record)]
    if isinstance(message := _at(record, _CHAT), Mapping):
        level.append((f"{_CHAT}.", message))
    for _ in range(3):
        for key in names:
            for prefix, inner in level:
                if (name := _named(inner, (key,), list)) and inner[name]:
                    yield f"{prefix}{name}", inner[name]
        level = [
            (f"{prefix}{name}.", value)
            for prefix, inner in level
            for name, value in inner.items()
            if isinstance(value, Mapping) and _simple(name)
        ]


def _values(record: object, path: str) -> list[object]:
    """The values at a path with [*] in it."""
    if not path:
        return []
    from .mapping import JsonPath
    from .values import flat

    value = JsonPath.parse(path).of(record)
    return [] if value is None else flat(value)


def _at(record: object, path: str) -> object:
    from .mapping import JsonPath

    return JsonPath.parse(path).of(record)


def _leaves(value: object, prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, object]]:
    """Every path to something that is not an object; of a list the first element stands for all."""
    if isinstance(value, Mapping) and value and depth:
        for name, inner in value.items():
            step = str(name) if _simple(name) else f'["{name}"]'
            yield from _leaves(inner, f"{prefix}.{step}" if prefix and _simple(name) else f"{prefix}{step}", depth - 1)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping) and depth:
        yield from _leaves(value[0], f"{prefix}[*]", depth - 1)
    elif prefix:
        yield prefix, value


def _named(record: Mapping[str, Any], keys: Iterable[str], types: type | tuple[type, ...]) -> str:
    """The first of the keys that the record has with such a value, in the record's own spelling."""
    spelled = {_plainly(name): name for name in record if _simple(name)}
    names = (spelled.get(_plainly(key), key) for key in keys)
    return next((name for name in names if isinstance(_at(record, name), types)), "")


def _plainly(name: str) -> str:
    """A name without case and joints: docId, doc_id and DocID are one."""
    return re.sub(r"[_-]", "", name).casefold()


def _simple(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r'[^.\[\]"]+', name) is not None
