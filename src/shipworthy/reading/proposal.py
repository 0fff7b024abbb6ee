"""Proposals: where claim, retrieved ids, texts and citations are in a record of any shape, by form before name.

The claim is the text that differs between an answered and an unanswerable question; what was retrieved is the list of
objects whose texts hold the answer; ids are distinct. Names break ties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..text import fold, visible
from .mapping import FieldMap, JsonPath, OfKind, Step, answer_text
from .markers import Read, is_number, read_markers, resolved
from .values import MapError, flat, json_in_cell

_DEPTH = 10  # levels that are looked into
_NODES = 20_000  # values that are looked at
_SHOWN = 12  # fields that a message lists
_LEAST = 0.9  # likeness of a claim

# Names, best first. They break ties between places of the same form, here and in imports.
CLAIM_NAMES = (
    *("claim", "answer", "response", "output", "result", "actual_output", "completion", "content", "text"),
    *("final_answer", "generated_text", "generated_answer", "output_text", "reply", "replies", "prediction"),
    *("summary", "message", "choices", "generations", "candidates"),
)
LIST_NAMES = (
    *("documents", "context", "contexts", "source_documents", "source_nodes", "retrieved_contexts", "docs", "nodes"),
    *("results", "matches", "chunks", "passages", "retrieved_documents", "retrieved_docs", "hits", "retrieved"),
    *("sources", "references", "search_results", "retrieval_results", "source_chunks", "resources"),
)
CITED_NAMES = ("citations", "sources", "source_documents", "source_nodes", "references", "cited_ids")
RETRIEVED_AS_CITED = ("source_documents", "source_nodes")  # LangChain and LlamaIndex list here all that was retrieved
OWN_IDS = ("id", "_id", "chunk_id", "doc_id", "node_id", "id_", "document_id", "source_id", "uuid", "doc_key")
NAMED_AFTER = (
    *("source", "file_name", "filename", "file", "file_path", "document_name", "doc_name", "document_title", "title"),
    *("name", "uri", "url", "link", "path", "source_uri", "key", "doc", "document"),
)
TEXT_NAMES = ("content", "page_content", "text", "document", "page_content", "chunk", "passage", "body", "snippet")
_SHOWN_AS_SOURCES = ("sources", "references")  # what a service shows under these names is what it cites
_CITED = re.compile(r"cit(ation|ed)|annotation|grounding_?support|attribution|footnote", re.IGNORECASE)
_ASIDE = re.compile(
    r"reason|think|thought|prompt|quer(y|ies)|question|input|instruct|system|debug|log|trace|title|name|model|"
    r"context|status|error|warning|role|type|url|lang|(^|_)id$|time|date|version|session|suggest|follow",
    re.IGNORECASE,
)
_BESIDE_IT = re.compile(r"log|thought|debug|suggest|follow|activit|message|entit", re.IGNORECASE)
_LIKE_SOURCES = re.compile(r"source|doc|ref|chunk|passage|hit|search|retriev|knowledge|context|cit", re.IGNORECASE)
_ASKERS = ("user", "human", "system", "tool", "developer", "function")
_SPEAKERS = ("assistant", "ai", "model", "bot", "agent")
_INDEX = re.compile(r"ind(ex|ices)|rank|position|number|source|chunk|doc|ref|cit", re.IGNORECASE)
_SPAN = re.compile(r"start|end|begin|offset|len", re.IGNORECASE)
_REFUSES = re.compile(
    r"refus|no_?(result|answer|match)|not_?found|abstain|unanswer|fallback|out_?of_?scope", re.IGNORECASE
)
_PLAIN: dict[str, dict[str, tuple[tuple[str, ...], type | tuple[type, ...]]]] = {
    "trace": {
        "e2e_ms": (("e2e_ms", "latency_ms", "elapsed_ms", "duration_ms", "took_ms"), (int, float)),
        "cost_usd": (("cost_usd", "cost", "total_cost"), (int, float)),
        "refused": (("refused", "refusal", "is_refusal", "no_answer", "abstained"), bool),
    },
    "gold": {
        "gold_claim_substr": (
            (
                *("expected", "expected_answer", "expected_output", "expected_response", "reference", "ground_truth"),
                *("ground_truths", "reference_answer", "gold_answer", "correct_answer", "ideal_answer", "ideal"),
                *("answer", "answers", "target", "solution"),
            ),
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


class Asked(NamedTuple):
    """What is known about a response beside itself: it tells an answer from everything else that came."""

    question: str = ""
    other: Any = None  # the response to a question that can't be answered
    expected: tuple[str, ...] = ()  # texts that a correct answer has
    refuses: Callable[[str], bool] = lambda text: False


class _Leaf(NamedTuple):
    steps: tuple[Step, ...]
    value: str
    holder: Mapping[str, Any] | None  # the object whose field it is


class _Claim(NamedTuple):
    path: str
    text: str
    steps: tuple[Step, ...] = ()  # to one of its parts


class _Listing(NamedTuple):
    """Lists at one path, put together, and their columns: relative path → one value an element, or None."""

    steps: tuple[Step, ...]
    elements: list[Any]
    columns: dict[tuple[Step, ...], list[Any]]
    text: tuple[Step, ...] | None

    @property
    def texts(self) -> list[str]:
        return (
            [value if isinstance(value, str) else "" for value in self.columns[self.text]]
            if self.text is not None
            else []
        )


def propose(
    record: object, kind: str = "trace", file: bool = False, claim_path: str = "", asked: Asked | None = None
) -> dict[str, str]:
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
    asked = asked or Asked()
    listings = _listings(record)
    claim = _given(record, claim_path) or _claim(record, listings, asked)
    if claim is None and asked.other is not None:  # nothing that differs: names have to do
        claim = _claim(record, listings, asked._replace(other=None, expected=()))
    if claim:
        found["claim"] = claim.path
    found |= _sources(record, claim, listings)
    beside = claim and "citations" in found and not found["citations"].endswith(f"markers@{claim.path}")
    known = _values(record, found.get("retrieved_ids", ""))
    if claim and beside and not claim_path and read_markers(claim.text, known).names:
        found["claim"] = f"bare@{claim.path}"
    return found | _plain(record, _PLAIN["trace"], set()) | _flag(record, asked)


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


# The claim


def _given(record: object, path: str) -> _Claim | None:
    if not path or path.startswith("re:"):
        return None
    text = answer_text(JsonPath.parse(path.rpartition("@")[2]).of(record, json_in_cell))
    return _Claim(path, text) if isinstance(text, str) else None


def _claim(record: Any, listings: list[_Listing], asked: Asked) -> _Claim | None:
    """The answer: the text that is most like one."""
    documents = [one for one in listings if _is_documents(one)]
    texts = [fold(text) for one in documents for text in one.texts if len(text) > 20]
    inside = [one.steps for one in documents if len(one.elements) > 1 or _plainly(_last_name(one.steps)) in _LISTS]
    best, most = None, _LEAST
    for leaf in _texts(record):
        if not leaf.value.strip() or fold(leaf.value) == fold(asked.question):
            continue
        path, text = _general(record, leaf)
        score = _likeness(leaf, text, path, asked)
        folded = fold(text)
        if any(_begins(leaf.steps, steps) for steps in inside) or sum(one in folded for one in set(texts)) > 1:
            score -= 8
        if score > most:
            best, most = _Claim(path, text, leaf.steps), score
    return best


def _likeness(leaf: _Leaf, text: str, path: str, asked: Asked) -> float:
    """How much a text is like an answer: first by what it says and whether it differs, then by where it is."""
    names = [step for step in leaf.steps if isinstance(step, str)]
    last = names[-1] if names else ""
    score = 1.5 if re.search(r"\s", text.strip()) else -0.5
    score -= 0.15 * len(leaf.steps)
    for weight, name in ((1.0, last), *((0.5, name) for name in names[-3:-1])):
        if (plain := _plainly(name)) in _CLAIMS:
            score += weight * (2.5 - 0.05 * _CLAIMS.index(plain))
            break
    else:
        score -= 0 if asked.other is not None else 1
    if any(_ASIDE.search(name) for name in names[-2:]):
        score -= 2.5
    role = str((leaf.holder or {}).get("role") or (leaf.holder or {}).get("type") or "").casefold()
    score += -8 if role in _ASKERS else 1 if role in _SPEAKERS else 0
    folded = fold(text)
    if any(fold(one) in folded for one in asked.expected if one.strip()):
        score += 4
    if asked.other is not None:
        other = _text_at(asked.other, path)
        if isinstance(other, str) and other.strip():
            score += -3 if fold(other) == folded else 5 if asked.refuses(other) and not asked.refuses(text) else 2
    return score


def _general(record: Any, leaf: _Leaf) -> tuple[str, str]:
    """The path to a text as it is likely to hold for other responses too, and what is there."""
    steps: list[Step] = []
    value = record
    for place, step in enumerate(leaf.steps):
        value = json_in_cell(value) if isinstance(value, str) else value
        if isinstance(step, int) and isinstance(value, list):
            rest = leaf.steps[place + 1 :]
            steps.append(_of_list(value, step, rest))
        else:
            steps.append(step)
        value = value[step]
    path = _written(steps)
    text = _text_at(record, path)
    return (path, text) if isinstance(text, str) and text.strip() else (_written(leaf.steps), leaf.value)


def _of_list(values: list[Any], index: int, rest: tuple[Step, ...]) -> Step:
    """How to name an element: parts of a text by their kind or all of them, the last message, else by its place."""
    element = values[index]
    kinds = [one.get("type") if isinstance(one, Mapping) else None for one in values]
    if not isinstance(element, Mapping):
        return None if len(values) > 1 and all(isinstance(one, str) for one in values) else index
    spoken = any(key in element for key in ("role", "sender")) or str(element.get("type")).casefold() in _SPEAKERS
    kind = element.get("type")
    if len(rest) == 1 and isinstance(kind, str) and not spoken and re.fullmatch(r"[\w.-]+", kind):
        return OfKind("type", kind)
    if len(rest) == 1 and len(values) > 1 and not spoken and all(_same_keys(one, element) for one in values):
        return None
    if isinstance(kind, str) and kinds.count(kind) == 1 and len(values) > 1 and re.fullmatch(r"[\w.-]+", kind):
        return OfKind("type", kind) if not spoken or index != len(values) - 1 else -1
    return -1 if len(values) > 1 and index == len(values) - 1 else index


def _flag(record: Any, asked: Asked) -> dict[str, str]:
    """A flag by which the service says that it refuses: false here, true where it can't answer."""
    for steps, value in _walk(record):
        if value is False and steps and isinstance(steps[-1], str) and _REFUSES.search(steps[-1]):
            path = _written(steps)
            if asked.other is not None and JsonPath.parse(path).of(asked.other) is True:
                return {"refused": path}
    return {}


# What was retrieved, and what is cited


def _sources(record: Any, claim: _Claim | None, listings: list[_Listing]) -> dict[str, str]:
    text = claim.text if claim else ""
    marked = read_markers(text, [str(one) for listing in listings for one in _all_ids(listing)])
    scored = sorted(((_relevance(one, marked.text, claim), one) for one in listings), key=lambda pair: -pair[0])
    documents = [one for score, one in scored if score >= 2]
    numbered = bool(marked.names) and all(is_number(name) is not None for name in marked.names)
    retrieved = next((one for one in documents if not _is_cited(one, claim)), None)
    cited = [one for one in listings if _is_cited(one, claim) and one is not retrieved]
    if retrieved is None and marked.names and cited:
        retrieved = next((one for one in documents if one in cited), None)  # the list that its markers count
    found: dict[str, str] = {}
    ids: list[str] = []
    if retrieved is not None:
        column = _id_column(retrieved, [] if numbered else marked.names)
        beside = _beside(retrieved, listings) if column is None or retrieved.text == () else None
        if beside is not None:
            found["retrieved_ids"], ids = beside
        elif column is not None:
            found["retrieved_ids"] = _written((*retrieved.steps, *column))
            ids = [str(one) for one in retrieved.columns[column] if one is not None]
        elif retrieved.text is not None and retrieved.text != ():
            found["retrieved_ids"] = f"digest@{_written((*retrieved.steps, *retrieved.text))}"
            ids = _values(record, found["retrieved_ids"])
        if retrieved.text is not None:
            found["evidence"] = _written((*retrieved.steps, *retrieved.text))
    return found | (_citations(claim, marked, ids, retrieved, cited, found) or _named_in_a_text(record, ids))


def _citations(
    claim: _Claim | None,
    marked: Read,
    ids: list[str],
    retrieved: _Listing | None,
    cited: list[_Listing],
    found: Mapping[str, str],
) -> dict[str, str]:
    """Markers that name what was retrieved, else a list of what is cited, else what is shown as sources."""
    texts = retrieved.texts if retrieved else []
    if claim and marked.names:
        start = _start(marked.names, texts, marked.text)
        got = resolved(marked.names, ids, start, True)
        if set(got) & set(ids) or not cited:
            return {"citations": f"{'from0:' if start == 0 and ids else ''}markers@{claim.path}"}
    for listing in cited:
        for column in _id_columns(listing):
            values = [str(one) for one in listing.columns[column] if one is not None]
            if values and (set(values) <= set(ids) or not ids):
                return {"citations": _written((*listing.steps, *column))}
    for listing in cited:
        for column, values in listing.columns.items():
            numbers = [int(one) for one in flat(values) if type(one) is int or (isinstance(one, str) and one.isdigit())]
            if _SPAN.match(_last_name(column)):
                continue
            if ids and numbers and _INDEX.search(_last_name((*listing.steps, *column))) and max(numbers) <= len(ids):
                start = _start([str(one) for one in numbers], texts, marked.text)
                return {"citations": f"{'from0:' if start == 0 else ''}{_written((*listing.steps, *column))}"}
    for listing in cited:
        if (best := _id_column(listing, [])) is not None:
            return {"citations": _written((*listing.steps, *best))}
    beside = claim is not None and retrieved is not None and len(retrieved.steps) - 1 <= claim.path.count(".") + 1
    if beside and retrieved is not None and _plainly(_last_name(retrieved.steps)) in _SHOWN_AS_SOURCES:
        return {"citations": found["retrieved_ids"]} if "retrieved_ids" in found else {}
    return {}


def _named_in_a_text(record: Any, ids: Sequence[str]) -> dict[str, str]:
    """A text that is a list of what was retrieved and nothing else: `sources: "a.md, b.md"`."""
    for leaf in _texts(record) if ids else ():
        name = _plainly(_last_name(leaf.steps))
        names = set(re.split(r"\s*[,;\n]\s*", leaf.value.strip()))
        if names <= set(ids) and len(leaf.steps) < 4 and (name in _SHOWN_AS_SOURCES or _CITED.search(name)):
            return {"citations": _written(leaf.steps)}
    return {}


def _start(names: Sequence[str], texts: Sequence[str], claim: str) -> int:
    """Whether numbers count from 0 or from 1: by which of the texts the claim is taken from."""
    numbers = [number for name in names if (number := is_number(name)) is not None]
    if not numbers or 0 in numbers:
        return 0 if numbers else 1
    fits = {
        start: sum(_overlap(claim, texts[number - start]) for number in numbers if 0 <= number - start < len(texts))
        for start in (0, 1)
    }
    return 0 if fits[0] > fits[1] else 1


def _relevance(listing: _Listing, claim: str, place: _Claim | None) -> float:
    """How much a list is like what was retrieved: by whether its texts hold the answer; names break ties."""
    if _speaks(listing) or (place and listing.text is not None and _begins(place.steps, listing.steps)):
        return -10.0  # a conversation, or the parts of the answer itself
    names = [step if isinstance(step, str) else step.value for step in listing.steps if isinstance(step, (str, OfKind))]
    named = any(_plainly(name) in _LISTS for name in names[-2:])
    score = 1.0 * named + 0.5 * (len(listing.elements) > 1) - 0.05 * len(listing.steps)
    score -= 1.5 * any(_BESIDE_IT.search(name) for name in names) + 0.7 * (listing.steps[:2] == ("events", None))
    columns = list(_id_columns(listing))
    if listing.text is not None:
        score += 1.5 + 3 * max((_overlap(claim, text) for text in listing.texts), default=0)
        score += 0.5 if columns else 0
        score += 0.4 if any("score" in _last_name(column).casefold() for column in listing.columns) else 0
        return score
    if not (named or any(_LIKE_SOURCES.search(name) for name in names[-2:])):
        return -1.0  # names alone don't make a list of documents
    if isinstance(listing.elements[0], str):
        as_ids = all(isinstance(one, str) and len(one) <= 200 and " " not in one.strip() for one in listing.elements)
        return score + (1.2 if as_ids else -1)
    return score + (2.2 if columns and _tier(columns[0]) < 3 else -2)


def _speaks(listing: _Listing) -> bool:
    """Whether it is a conversation rather than documents."""
    keys = ("role", "sender")
    return any(
        isinstance(one, Mapping) and any(isinstance(one.get(key), str) for key in keys) for one in listing.elements
    )


def _is_cited(listing: _Listing, claim: _Claim | None) -> bool:
    """A list of what the answer cites: it is called so, has places in the text, or hangs on a part of the answer."""
    names = [step for step in listing.steps if isinstance(step, str)]
    spans = {_plainly(_last_name(column)) for column in listing.columns}
    if any(_CITED.search(name) for name in names) or {"start", "end"} <= spans or "citedtext" in spans:
        return True
    return any(isinstance(step, OfKind) and _CITED.search(step.value) for step in listing.steps)


def _is_documents(listing: _Listing) -> bool:
    first = listing.elements[0]
    if isinstance(first, str):
        return _plainly(_last_name(listing.steps)) in _LISTS
    if _speaks(listing):
        return False
    return listing.text is not None and next(_id_columns(listing), None) is not None


def _beside(listing: _Listing, listings: list[_Listing]) -> tuple[str, list[str]] | None:
    """Path and values of the ids that stand beside a list of texts, one for one."""
    for other in listings:
        same = other.steps[:-2] == listing.steps[:-2] and other is not listing
        if not same or len(other.elements) != len(listing.elements) or other.text == ():
            continue
        if (column := next(_id_columns(other), None)) is not None:
            return _written((*other.steps, *column)), [str(one) for one in other.columns[column]]
    return None


def _id_column(listing: _Listing, names: Sequence[str]) -> tuple[Step, ...] | None:
    """The column of the ids: the one that has what the markers name, else the best of those that are distinct."""
    columns = list(_id_columns(listing))
    for column in columns:
        if names and set(names) & {str(one) for one in listing.columns[column]}:
            return column
    return columns[0] if columns else None


def _id_columns(listing: _Listing) -> Iterator[tuple[Step, ...]]:
    """Columns that may be ids, best first: own ids, then the names of sources, then anything that is distinct."""
    ranked = []
    for place, (column, values) in enumerate(listing.columns.items()):
        known = [
            one for one in values if isinstance(one, (str, int)) and not isinstance(one, bool) and str(one).strip()
        ]
        tier = _tier(column)
        if column == listing.text or not known or len(known) < len(values) or tier > 3:
            continue
        if any(isinstance(one, str) and (len(one) > 300 or one.count(" ") > 8) for one in known):
            continue
        distinct = len(set(map(str, known)))
        number = all(str(one).isdigit() and int(one) <= len(known) for one in known if len(str(one)) < 5)
        if len(known) > 1 and distinct == 1 and (number or tier == 3):
            continue
        if number and all(len(str(one)) < 5 for one in known) and (tier or len(known) > 1):
            tier = 2.5  # a place in the list rather than an id
        elif (
            tier < 1
            and len(known) > 1
            and all(re.fullmatch(rf"\D{{0,2}}0*{rank}", str(one)) for rank, one in enumerate(known, 1))
        ):
            tier = 1.5  # r1, r2, r3: perhaps a place, where there is another id
        ranked.append((distinct < len(known), tier, len(column), place, column))
    yield from (one[-1] for one in sorted(ranked, key=lambda one: one[:4]))


def _all_ids(listing: _Listing) -> list[Any]:
    columns = [listing.columns[column] for column in _id_columns(listing)]
    return [one for values in columns for one in values if isinstance(one, str) and not one.isdigit()]


def _tier(column: tuple[Step, ...]) -> float:
    """How much a field is called like an id: 0 an own id, 1 another id, 2 the name of a source, 3 perhaps, 9 not."""
    plain = _plainly(_last_name(column))
    if not plain or plain in _IDS:
        return 0 if len(column) < 2 else 0.5
    if plain in _AFTER or (plain.startswith(("doc", "source", "file", "chunk")) and plain.endswith(("name", "title"))):
        return 2
    if re.search(
        r"type|score|lang|session|owner|user|collection|dataset|corpus|run|index|count|model|date|time|icon", plain
    ):
        return 9
    if plain.endswith(("id", "key", "identifier")):
        return 1
    return 3 if re.search(r"uri|url|source|file|title|name|doc|ref|link|page", plain) else 9


def _overlap(claim: str, text: str) -> float:
    """The share of the claim's words that a text has."""
    words = set(re.findall(r"\w{2,}", fold(claim)))
    return len(words & set(re.findall(r"\w{2,}", fold(text)))) / len(words) if words else 0.0


def _listings(record: Any) -> list[_Listing]:
    """Every list in a record, those at one path together; of objects of several kinds also each kind by itself."""
    groups: dict[tuple[Step, ...], list[Any]] = {}
    for steps, value in _walk(record):
        if not isinstance(value, list) or not value:
            continue
        path = tuple(None if isinstance(step, int) else step for step in steps)
        groups.setdefault((*path, None), []).extend(value)
        kinds = {str(one.get("type")) for one in value if isinstance(one, Mapping) and "type" in one}
        for kind in sorted(kinds) if len(kinds) > 1 else ():
            if re.fullmatch(r"[\w.-]+", kind):
                chosen = [one for one in value if isinstance(one, Mapping) and one.get("type") == kind]
                groups.setdefault((*path, OfKind("type", kind)), []).extend(chosen)
    return [listing for steps, elements in groups.items() if (listing := _listing(steps, elements)) is not None]


def _listing(steps: tuple[Step, ...], elements: list[Any]) -> _Listing | None:
    first = elements[0]
    if all(isinstance(one, str) for one in elements):
        prose = sum(" " in one.strip() and len(one) > 15 for one in elements) * 2 > len(elements)
        return _Listing(steps, elements, {(): elements}, () if prose else None)
    if all(type(one) is int for one in elements):
        return _Listing(steps, elements, {(): elements}, None)
    if all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in elements):
        columns: dict[tuple[Step, ...], list[Any]] = {(place,): [one[place] for one in elements] for place in (0, 1)}
        texts = all(isinstance(one, str) for one in columns[1,])
        return _Listing(steps, elements, {(0,): columns[0,], (1,): columns[1,]}, (1,)) if texts else None
    if not isinstance(first, Mapping) or not all(isinstance(one, Mapping) for one in elements):
        return None
    found: dict[tuple[Step, ...], list[Any]] = {}
    for place, element in enumerate(elements):
        for inner, value in _columns(element):
            found.setdefault(inner, [None] * len(elements))[place] = value
    return _Listing(steps, elements, found, _text_column(found))


def _columns(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    for name, part in value.items():
        if isinstance(part, Mapping) and len(steps) < 3:
            yield from _columns(part, (*steps, name))
        elif isinstance(part, list) and len(part) == 1 and isinstance(part[0], str):
            yield (*steps, name, None), part[0]
        elif isinstance(part, (str, int)) or (
            isinstance(part, list) and part and all(type(one) is int for one in part)
        ):
            yield (*steps, name), part


def _text_column(columns: Mapping[tuple[Step, ...], list[Any]]) -> tuple[Step, ...] | None:
    """The column of texts: prose, by name, then by length."""
    best, most = None, (0.0, 0.0)
    for column, values in columns.items():
        texts = [one for one in values if isinstance(one, str) and one.strip()]
        if len(texts) * 2 <= len(values) or (_tier(column) in (0, 0.5, 1) and not any(" " in one for one in texts)):
            continue
        named = _plainly(_last_name(column)) in _TEXTS
        prose = sum(one.count(" ") >= 2 for one in texts) * 2 > len(texts)
        if not prose and not (named and len(column) == 1 and _tier(column) >= 3):
            continue
        rank = (2.0 if named else 0.0) + prose - 0.1 * len(column), sum(map(len, texts)) / len(texts)
        if rank > most:
            best, most = column, rank
    return best


# Walking


def _walk(
    value: Any, steps: tuple[Step, ...] = (), left: list[int] | None = None
) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every value with the way to it, also inside JSON that stands in a text."""
    left = left if left is not None else [_NODES]
    left[0] -= 1
    if left[0] < 0 or len(steps) > _DEPTH:
        return
    yield steps, value
    inner = json_in_cell(value) if isinstance(value, str) else value
    if isinstance(inner, Mapping):
        for name, part in inner.items():
            if isinstance(name, str) and name and '"' not in name:
                yield from _walk(part, (*steps, name), left)
    elif isinstance(inner, list):
        for place, part in enumerate(inner):
            yield from _walk(part, (*steps, place), left)


def _texts(record: Any) -> Iterator[_Leaf]:
    holders: dict[tuple[Step, ...], Mapping[str, Any]] = {}
    for steps, value in _walk(record):
        if isinstance(value, Mapping):
            holders[steps] = value
        elif isinstance(value, str) and not isinstance(json_in_cell(value), (dict, list)):
            yield _Leaf(steps, value, holders.get(steps[:-1]) or holders.get(steps[:-2]))


def _written(steps: Iterable[Step]) -> str:
    path = ""
    for step in steps:
        if isinstance(step, OfKind):
            path += f"[{step.name}={step.value}]"
        elif isinstance(step, str):
            path += (f".{step}" if path else step) if _simple(step) else f'["{step}"]'
        else:
            path += "[*]" if step is None else f"[{step}]"
    return path.removesuffix("[*]") if path.count("[*]") == 1 else path


def _text_at(record: object, path: str) -> object:
    return answer_text(JsonPath.parse(path).of(record, json_in_cell))


def _begins(steps: tuple[Step, ...], start: tuple[Step, ...]) -> bool:
    """Whether a way leads into a list, whichever of its elements."""
    pairs = zip(steps, start, strict=False)
    return len(steps) >= len(start) and all(
        isinstance(one, int) if other is None or isinstance(other, OfKind) else one == other for one, other in pairs
    )


def _same_keys(one: object, other: Mapping[str, Any]) -> bool:
    return isinstance(one, Mapping) and set(one) == set(other)


def _last_name(steps: Iterable[Step]) -> str:
    return next((step for step in reversed(list(steps)) if isinstance(step, str)), "")


def _plain(record: Mapping[str, Any], wanted: Mapping[str, Any], own: set[str]) -> dict[str, str]:
    """Fields by name and type at the top; those that the record has under our name are left."""
    found = {}
    for field, (names, types) in wanted.items():
        if field in own:
            continue
        for name in names:
            spelled = {_plainly(one): one for one in record if _simple(one)}.get(_plainly(name), name)
            value = record.get(spelled)
            if isinstance(value, types) and (types is bool or not isinstance(value, bool)):
                found[field] = spelled
                break
    return found


def _values(record: object, path: str) -> list[str]:
    """The ids at a path, as a mapping reads them."""
    if not path:
        return []
    try:
        return [str(one) for one in FieldMap.parse({"retrieved_ids": path}).picked(record)["retrieved_ids"]]  # type: ignore[attr-defined]
    except (MapError, KeyError):
        return []


def _leaves(value: object, prefix: str = "", depth: int = 4) -> Iterator[tuple[str, object]]:
    """Every path to something that is not an object; of a list the first element stands for all."""
    if isinstance(value, Mapping) and value and depth:
        for name, inner in value.items():
            step = str(name) if _simple(name) else f'["{name}"]'
            yield from _leaves(inner, f"{prefix}.{step}" if prefix and _simple(name) else f"{prefix}{step}", depth - 1)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping) and depth:
        yield from _leaves(value[0], f"{prefix}[*]", depth - 1)
    elif prefix:
        yield prefix, value


def _plainly(name: str) -> str:
    """A name without case and joints: docId, doc_id and DocID are one."""
    return re.sub(r"[_-]", "", name).casefold()


def _simple(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r'[^.\[\]"]+', name) is not None


_CLAIMS = [_plainly(name) for name in CLAIM_NAMES]
_LISTS = {_plainly(name) for name in LIST_NAMES}
_IDS = {_plainly(name) for name in OWN_IDS}
_AFTER = {_plainly(name) for name in NAMED_AFTER}
_TEXTS = {_plainly(name) for name in TEXT_NAMES}
