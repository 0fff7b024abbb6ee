"""Proposals: where claim, retrieved ids, texts and citations are in a record of any shape, by form before name.

The claim is the text that differs between an answered and an unanswerable question; what was retrieved is the list of
objects whose texts hold the answer; ids are distinct. Names break ties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..text import fold, visible
from .idmap import mismatch
from .listings import (
    CALLED_CITED,
    LIKE_A_NAME,
    PLAIN_LISTS,
    Listing,
    all_ids,
    begins,
    blanks,
    id_column,
    id_columns,
    ids_beside,
    is_simple,
    kind_of,
    last_name,
    listings_of,
    plainly,
    speaks,
    tier_of,
    walk,
    words_in,
    written,
)
from .mapping import FieldMap, JsonPath, OfKind, Step, answer_text
from .markers import Read, is_number, read_markers, resolved
from .values import MapError, flat, json_in_cell

_SHOWN = 12  # fields that a message lists
_LEAST = 0.9  # likeness of a claim
_NEAR = 2.0  # a text whose likeness is less than that below the claim's may be the answer too

# Names, best first. They break ties between places of the same form, here and in imports.
CLAIM_NAMES = (
    *("claim", "answer", "response", "output", "result", "actual_output", "completion", "content", "text"),
    *("final_answer", "generated_text", "generated_answer", "output_text", "reply", "replies", "prediction"),
    *("summary", "message", "choices", "generations", "candidates"),
)
CITED_NAMES = ("citations", "sources", "source_documents", "source_nodes", "references", "cited_ids")
RETRIEVED_AS_CITED = ("source_documents", "source_nodes")  # LangChain and LlamaIndex list here all that was retrieved
# What a service shows under these names is what it cites.
_SHOWN_AS_SOURCES = ("sources", "references", "source", "reference")
_ASIDE = re.compile(
    r"reason|think|thought|prompt|quer(y|ies)|question|input|instruct|system|debug|log|trace|title|name|model|"
    r"context|status|error|warning|role|type|url|lang|(^|_)id$|time|date|version|session|suggest|follow",
    re.IGNORECASE,
)
_BESIDE_IT = re.compile(r"log|thought|debug|suggest|follow|activit|entit", re.IGNORECASE)
_LIKE_SOURCES = re.compile(r"source|doc|ref|chunk|passage|hit|search|retriev|knowledge|context|cit", re.IGNORECASE)
_NO_SOURCE = re.compile(r"image|icon|logo|avatar|audio|self|next|prev|host|model|version|session|request|trace", re.I)
_ADDRESS = re.compile(r"\]\([^)]*\)|\bhttps?://\S+")
# XML; what has no blank: base64, a token; a number of a job or a session
_NO_TEXT = re.compile(r"\s*(?:<\?xml\b|[!-~]{60,}\s*\Z|[A-Za-z]{0,12}[-_]\d{6,}[\w-]*\s*\Z)")
_ASKERS = ("user", "human", "system", "tool", "developer", "function")
_SPEAKERS = ("assistant", "ai", "model", "bot", "agent")
_INDEX = re.compile(r"ind(ex|ices)|rank|position|number|source|chunk|doc|ref|cit", re.IGNORECASE)
_SPAN = re.compile(r"start|end|begin|offset|len", re.IGNORECASE)
_REFUSES = re.compile(
    r"refus|no_?(result|answer|match|context|info|evidence)|not_?(found|answer|in)|abstain|unanswer|insufficient|"
    r"fallback|out_?of_?scope|declin",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"answer(ed|able|_?found|_?generated)|has_?answer|is_?answer|found|grounded|in_?scope", re.I)
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
    cited: tuple[str, ...] = ()  # the ids that the gold file has for it


class _Leaf(NamedTuple):
    steps: tuple[Step, ...]
    value: str
    holder: Mapping[str, Any] | None  # the object whose field it is


class _Claim(NamedTuple):
    path: str
    text: str
    steps: tuple[Step, ...] = ()  # to one of its parts


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
    listings = listings_of(record)
    claim = _given(record, claim_path) or _claim(record, listings, asked)
    if claim is None and asked.other is not None:  # nothing that differs: names have to do
        claim = _claim(record, listings, asked._replace(other=None, expected=()))
    refused = _flag(record, asked)
    if claim and not claim_path:
        claim, empty = _with_other(record, claim, asked)
        refused = refused or empty
    if claim:
        found["claim"] = claim.path
    found |= _sources(record, claim, listings, asked)
    beside = claim and "citations" in found and not found["citations"].endswith(f"markers@{claim.path}")
    known = _values(record, found.get("retrieved_ids", ""))
    if claim and beside and not claim_path and read_markers(claim.text, known).names:
        found["claim"] = f"bare@{claim.path}"
    return found | _plain(record, _PLAIN["trace"], set()) | refused


def rivals(record: object, asked: Asked, mapping: Mapping[str, str]) -> list[tuple[str, str]]:
    """Path and text of what may be the answer too, by nearly as much: texts that say something else than the claim."""
    if not isinstance(record, Mapping):
        return []
    ranked = _claims(record, listings_of(record), asked)
    taken = mapping.get("claim", "").removeprefix("bare@")
    claim = _text_at(record, taken) if taken else ""
    most = max((score for score, one in ranked if one.path in taken.split("||")), default=0.0)
    found: dict[str, str] = {}
    for score, one in ranked:
        said = {_words(text) for text in (claim, *found.values()) if isinstance(text, str)}
        if score >= most - _NEAR and not any(_words(one.text) in text for text in said):
            found[one.path] = one.text
    return list(found.items())


def _words(text: str) -> str:
    return re.sub(r"\W+", " ", fold(read_markers(text).text))


def doubt(claim: str, refusal: str, question: str, texts: Iterable[str] = ()) -> str:
    """Why what was read may hold more than the answer; nothing where it is prose alone."""
    folded, there = fold(claim), set(_sentences(refusal))
    if found := re.search(r"^#{1,6} .*|^[ \t]*[-=_*]{3,}[ \t]*$|</?[a-z][^<>]*>|\{\s*\"|```", claim, re.MULTILINE):
        return f"it holds markup: {found[0].strip()}"
    if found := re.search(r"\[\^?[\w:,. -]{1,60}\](?!\()|【[^】]*】|https?://\S+", claim):
        return f"it holds what may be a citation: {found[0]}"
    if fold(question) in folded and len(folded) > len(fold(question)):
        return "it holds the question"
    if sum(fold(text) in folded for text in set(texts) if len(text) > 20) > 1:
        return "it holds several of the documents"
    if shared := [one for one in _sentences(claim) if one in there] if fold(refusal) != folded else []:
        return f"to a question that can't be answered, this stands there too: {shared[0]}"
    return ""


def _sentences(text: str) -> list[str]:
    """Sentences of four words and more, and the labels with which lines begin."""
    sentences = [one.strip() for one in re.split(r"(?<=[.!?])\s+|\n+", text) if one.count(" ") > 2]
    return [*re.findall(r"(?m)^[ \t*_]*[^\W\d_][\w ]{1,24}:", text), *sentences]


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


def _claim(record: Any, listings: list[Listing], asked: Asked) -> _Claim | None:
    """The answer: the text that is most like one."""
    return next((claim for _, claim in _claims(record, listings, asked)), None)


def _claims(record: Any, listings: list[Listing], asked: Asked) -> list[tuple[float, _Claim]]:
    """Texts that may be the answer, the likeliest first."""
    documents = [one for one in listings if _is_documents(one)]
    texts = {fold(text) for one in documents if not _is_cited(one) for text in one.texts if len(text) > 20}
    inside = [
        one.steps if len(one.elements) > 1 else (*one.steps, *(one.text or ()))
        for one in documents
        if len(one.elements) > 1 or plainly(last_name(one.steps)) in PLAIN_LISTS
    ]
    scored: dict[str, tuple[float, _Claim]] = {}
    for leaf in _texts(record):
        if not leaf.value.strip() or fold(leaf.value) == fold(asked.question) or _NO_TEXT.match(leaf.value):
            continue
        path, text = _general(record, leaf, asked)
        score = _likeness(leaf, text, path, asked)
        folded = fold(text)
        if any(begins(leaf.steps, steps) for steps in inside) or sum(one in folded for one in texts) > 1:
            score -= 8
        elif asked.other is not None and texts:
            score += _drawn_from(_ADDRESS.sub(" ", folded), texts, asked)
        if score > scored.get(path, (_LEAST,))[0]:
            scored[path] = score, _Claim(path, text, leaf.steps)
    return sorted(scored.values(), key=lambda pair: -pair[0])


def _drawn_from(text: str, documents: Collection[str], asked: Asked) -> float:
    """How much a text is drawn from the documents beside it, as answers are and messages of a service are not."""
    words = words_in(text, 3)
    if len(words) < 3 or asked.refuses(text):
        return 0
    shares = [len(words & words_in(one, 3)) / len(words) for one in (*documents, fold(asked.question))]
    return 4 if max(shares) > 0.6 else -2 if max(shares) == 0 else 0


def _likeness(leaf: _Leaf, text: str, path: str, asked: Asked) -> float:
    """How much a text is like an answer: first by what it says and whether it differs, then by where it is."""
    names = [step for step in leaf.steps if isinstance(step, str)]
    last = names[-1] if names else ""
    score = 1.5 if re.search(r"\s", text.strip()) or blanks(text) else -0.5
    score -= 0.15 * len(leaf.steps)
    for weight, name in ((1.0, last), *((0.5, name) for name in names[-3:-1])):
        if (plain := plainly(name)) in _CLAIMS:
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
            refuses = asked.refuses(text)
            if fold(other) == folded:
                score += 3 if refuses else -3  # it may refuse both questions; what else is the same is no answer
            else:
                score += 5 if asked.refuses(other) and not refuses else 2
    return score


def _general(record: Any, leaf: _Leaf, asked: Asked) -> tuple[str, str]:
    """The path to a text as it is likely to hold for other responses too, and what is there."""
    steps: list[Step] = []
    value = record
    for place, step in enumerate(leaf.steps):
        value = json_in_cell(value) if isinstance(value, str) else value
        if isinstance(step, int) and isinstance(value, list):
            steps += _of_list(value, step, leaf.steps[place + 1 :])
        else:
            steps.append(step)
        value = value[step]
    path = written(steps)
    text = _text_at(record, path)
    if isinstance(text, str) and text.strip() and (text == leaf.value or not _has_more(record, path, asked)):
        return path, text
    path = written(step for step in _from_the_end(record, leaf.steps))
    return path, leaf.value


def _has_more(record: Any, path: str, asked: Asked) -> bool:
    """Whether the parts at a path hold something else than an answer: the question, or what stands there anyway."""
    parts = _parts(record, path)
    always = set(_parts(asked.other, path)) if asked.other is not None else set()
    return len(parts) > 1 and any(fold(one) == fold(asked.question) or one in always for one in parts if one.strip())


def _parts(record: Any, path: str) -> list[str]:
    value = JsonPath.parse(path).of(record, json_in_cell)
    return [one for one in flat(value) if isinstance(one, str)] if isinstance(value, list) else []


def _from_the_end(record: Any, steps: Iterable[Step]) -> Iterator[Step]:
    """The way to a text, where the last of a list of objects is called so: there may be more before it next time."""
    value: Any = record
    for step in steps:
        value = json_in_cell(value) if isinstance(value, str) else value
        last = isinstance(value, list) and len(value) > 1 and step == len(value) - 1 and isinstance(value[-1], Mapping)
        yield -1 if last else step
        value = value[step]


def _of_list(values: list[Any], index: int, rest: tuple[Step, ...]) -> tuple[Step, ...]:
    """How to name an element: parts of a text by kind or all of them, the last message of its role, else by place."""
    element, last = values[index], index == len(values) - 1
    if not isinstance(element, Mapping):
        return (None if len(values) > 1 and all(isinstance(one, str) for one in values) else index,)
    kind = kind_of(element)
    if _is_in_pieces(values, rest):
        alike = [one for one in values if kind_of(one) == kind]
        return (kind if kind and len(alike) < len(values) and _is_in_pieces(alike, rest) else None,)
    role = next((key for key in ("role", "sender", "author") if key in element), "")
    spoken = role or (kind and kind.value.casefold() in _SPEAKERS)
    if len(rest) == 1 and kind and not spoken:
        return (kind,)
    if len(rest) == 1 and len(values) > 1 and not spoken and all(_same_keys(one, element) for one in values):
        return (None,)
    if kind and len(values) > 1 and [kind_of(one) for one in values].count(kind) == 1:
        return (kind if not spoken or not last else -1,)
    if role and not last and isinstance(element[role], str):
        alike = [one for one in values if isinstance(one, Mapping) and one.get(role) == element[role]]
        return (OfKind(role, element[role]), -1) if alike[-1] is element else (index,)
    return (-1 if len(values) > 1 and last else index,)


def _is_in_pieces(values: list[Any], rest: tuple[Step, ...]) -> bool:
    """Whether elements of a list hold pieces of one text at a place: it goes on in the middle of a sentence."""
    path = written(rest)
    texts = [_text_at(one, path) for one in values if isinstance(one, Mapping)] if rest and rest[0] is not None else []
    pieces = [one for one in texts if isinstance(one, str) and one]
    return len(pieces) > 1 and any(
        re.search(r"[\w,]\s*\0\s*[\w(]", f"{before}\0{after}") and (before[-1].isspace() or after[0].isspace())
        for before, after in pairwise(pieces)
    )


def _with_other(record: Any, claim: _Claim, asked: Asked) -> tuple[_Claim, dict[str, str]]:
    """The claim so that it is read in a refusal too: at another place, or as a field that is left empty."""
    there = _text_at(asked.other, claim.path) if asked.other is not None else claim.text
    if isinstance(there, str) and there.strip():
        return claim, {}
    if JsonPath.parse(claim.path).is_empty(asked.other, json_in_cell):
        return claim, {"refused": f"empty@{claim.path}"}
    for _, rival in _claims(asked.other, listings_of(asked.other), Asked(refuses=asked.refuses)):
        if asked.refuses(rival.text):
            return claim._replace(path=f"{claim.path}||{rival.path}"), {}
    return claim, {}


def _flag(record: Any, asked: Asked) -> dict[str, str]:
    """How the service says that it refuses: a flag, or a word such as NO_ANSWER, that differs where it can't answer."""
    for steps, value in walk(record) if asked.other is not None else ():
        name = last_name(steps)
        if not steps or not isinstance(steps[-1], str) or not (isinstance(value, (bool, str)) or value is None):
            continue
        path = written(steps)
        other = JsonPath.parse(path).of(asked.other, json_in_cell)
        if value is False and other is True and _REFUSES.search(name):
            return {"refused": path}
        if value is True and other is False and _ANSWERS.search(name) and not _REFUSES.search(name):
            return {"refused": f"not@{path}"}
        if isinstance(other, str) and other != value and re.fullmatch(r"[\w-]{4,40}", other) and _REFUSES.search(other):
            return {"refused": f"re:^{other}$@{path}"}
    return {}


# What was retrieved, and what is cited


def _sources(record: Any, claim: _Claim | None, listings: list[Listing], asked: Asked) -> dict[str, str]:
    text = claim.text if claim else ""
    values = (one for listing in listings for column in listing.columns.values() for one in flat(column))
    labels = {str(one) for one in values if f"[{one}]" in text and f"[{one}]:" not in text}
    marked = read_markers(text, [*(str(one) for listing in listings for one in all_ids(listing)), *labels])
    scored = sorted(((_relevance(one, marked.text, claim, asked), one) for one in listings), key=lambda pair: -pair[0])
    documents = [one for score, one in scored if score >= 1.9]
    numbered = bool(marked.names) and all(is_number(name) is not None for name in marked.names)
    retrieved = next((one for one in documents if not _is_cited(one, claim)), None)
    if retrieved is None:  # a list that comes with a refusal too, or that markers count, is what was retrieved
        shown = (one for one in documents if _in_a_refusal(one, asked))
        retrieved = next(shown, next(iter(documents), None) if marked.names else None)
    if retrieved is not None:  # a list of which that is a part
        retrieved = next((one for one in documents if _is_chosen(retrieved, one, _known(one))), retrieved)
    cited = [one for one in listings if _is_cited(one, claim) and one is not retrieved]
    cited.sort(key=lambda one: one.steps[:1] == ("events",))  # what a stream ends with says it best
    if retrieved is not None:
        cited += [one for one in listings if one not in cited and _is_chosen(one, retrieved, _known(retrieved))]
    found: dict[str, str] = {}
    ids: list[str] = []
    if retrieved is not None:
        column = _golden_column(retrieved, asked.cited) or id_column(
            retrieved, [] if numbered else marked.names, _shared_column(retrieved, cited)
        )
        beside = ids_beside(retrieved, listings) if column is None or retrieved.text == () else None
        if beside is not None:
            found["retrieved_ids"], ids = beside
        elif column is not None:
            found["retrieved_ids"] = written((*retrieved.steps, *column))
            ids = [str(one) for one in retrieved.columns[column] if one is not None]
        elif retrieved.text is not None and retrieved.text != ():
            found["retrieved_ids"] = f"digest@{written((*retrieved.steps, *retrieved.text))}"
            ids = _values(record, found["retrieved_ids"])
        if retrieved.text is not None:
            found["evidence"] = written((*retrieved.steps, *retrieved.text))
        cited += [one for one in listings if one not in cited and _is_chosen(one, retrieved, [set(ids)])]
    return found | (
        _citations(claim, marked, ids, retrieved, cited)
        or _named_in_a_text(record, ids, retrieved, claim, asked)
        or _shown_as_sources(claim, retrieved, found, asked)
    )


def _only_with_an_answer(listing: Listing, claim: str, asked: Asked) -> bool:
    """Whether every text of a list holds the answer, and a question that can't be answered brings none."""
    holds = bool(listing.texts) and all(_overlap(claim, text) > 0.5 for text in listing.texts)
    return holds and asked.other is not None and not _in_a_refusal(listing, asked)


def _in_a_refusal(listing: Listing, asked: Asked) -> bool:
    """Whether a question that can't be answered brings such a list too: then it is not what an answer cites."""
    there = JsonPath.parse(written(listing.steps)).of(asked.other, json_in_cell) if asked.other is not None else None
    return isinstance(there, list) and len(flat(there)) > 0


def _golden_column(retrieved: Listing, cited: Sequence[str]) -> tuple[Step, ...] | None:
    """The ids of what was retrieved by which the gold file names it: as they are, else once they are rewritten."""
    columns = {column: [str(one) for one in retrieved.columns[column]] for column in id_columns(retrieved)}
    same = (column for column, values in columns.items() if set(cited) & set(values))
    return next(same, None) or next((column for column in columns if mismatch(cited, columns[column])), None)


def _shared_column(retrieved: Listing, cited: Iterable[Listing]) -> tuple[Step, ...] | None:
    """The ids of what was retrieved by which it is cited."""
    names = [set(map(str, one.columns[column])) for one in cited for column in id_columns(one)]
    columns = ((column, set(map(str, retrieved.columns[column]))) for column in id_columns(retrieved))
    return next((column for column, values in columns if any(one and one <= values for one in names)), None)


def _is_chosen(listing: Listing, retrieved: Listing, known: list[set[str]]) -> bool:
    """A list of some of what was retrieved and of nothing else, whatever it is called: what the answer rests on."""
    if all(one == other for one, other in zip(listing.steps, retrieved.steps, strict=False)):
        return False  # one of them holds the other
    if all(type(one) is int and 0 <= one <= len(retrieved.elements) for one in listing.elements):
        return True
    return any(one < other for one in _known(listing, all_texts=True) for other in known)


def _known(listing: Listing, all_texts: bool = False) -> list[set[str]]:
    """What may be the ids of a list, column by column."""
    columns = listing.columns if all_texts else id_columns(listing)
    return [set(map(str, values)) for column in columns if any(values := [v for v in listing.columns[column] if v])]


def _citations(
    claim: _Claim | None, marked: Read, ids: list[str], retrieved: Listing | None, cited: list[Listing]
) -> dict[str, str]:
    """Markers that name what was retrieved, else a list of what is cited, else those that are flagged as cited."""
    texts = retrieved.texts if retrieved else []
    if claim and marked.names:
        start = _start(marked.names, texts, marked.text)
        got = resolved(marked.names, ids, start, True)
        if by := _labels(retrieved, marked.names, ids):
            return {"citations": f"markers@{claim.path} by {by}"}
        if set(got) & set(ids) or not cited:
            return {"citations": f"{'from0:' if start == 0 and ids else ''}markers@{claim.path}"}
    for listing in cited:
        for column in dict.fromkeys((*id_columns(listing), *(listing.columns if ids else ()))):
            values = [str(one) for one in listing.columns[column] if one is not None]
            if values and (set(values) <= set(ids) or not ids):
                return {"citations": written((*listing.steps, *column))}
    for listing in cited:
        for column, values in listing.columns.items():
            if by := _labels(retrieved, [str(one) for one in values if one is not None], ids):
                return {"citations": f"{written((*listing.steps, *column))} by {by}"}
    counted = _counted(cited, ids, texts, marked.text)
    if counted := counted or (_flagged(retrieved, ids, marked.text) if retrieved and ids else None):
        return {"citations": counted}
    for listing in cited:
        best = id_column(listing, []) if _is_cited(listing) or not ids else None  # what names nothing that is known
        if best is not None:
            return {"citations": written((*listing.steps, *best))}
    return {}


def _labels(retrieved: Listing | None, names: Sequence[str], ids: Sequence[str]) -> str:
    """Where documents have the names by which they are cited, if these are neither their ids nor their places."""
    for column, given in retrieved.columns.items() if retrieved and names and not set(names) & set(ids) else ():
        values = [str(one) for one in given]
        ranks = any(values == [str(place + start) for place in range(len(values))] for start in (0, 1))
        if set(names) <= set(values) and len(set(values)) == len(values) == len(ids) and not ranks:
            return written((*retrieved.steps, *column)) if retrieved else ""
    return ""


def _flagged(retrieved: Listing, ids: Sequence[str], claim: str) -> str | None:
    """What was retrieved and has a flag that says that it is cited: by its name, or because its text has the answer."""
    column = next((one for one in id_columns(retrieved) if [str(v) for v in retrieved.columns[one]] == ids), None)
    if column is None:
        return None
    for flag, values in retrieved.columns.items():
        chosen = [place for place, value in enumerate(values) if value is True]
        if len(flag) != 1 or not chosen or not all(value is None or isinstance(value, bool) for value in values):
            continue
        overlaps = [_overlap(claim, text) for text in retrieved.texts] if len(chosen) < len(values) else []
        named = re.search(r"cite|citation|used|referenced|support", str(flag[0]), re.IGNORECASE)
        if named or (overlaps and max(overlaps) == max(overlaps[place] for place in chosen)):
            return written((*retrieved.steps[:-1], OfKind(str(flag[0]), "true"), *column))
    return None


def _shown_as_sources(
    claim: _Claim | None, retrieved: Listing | None, found: Mapping[str, str], asked: Asked
) -> dict[str, str]:
    """Where nothing says what is cited: all that is shown under a name such as sources, beside the answer."""
    if claim is None or retrieved is None or "retrieved_ids" not in found:
        return {}
    beside = len(retrieved.steps) - 1 <= claim.path.count(".") + 1
    if (
        _is_cited(retrieved)
        or _only_with_an_answer(retrieved, claim.text, asked)
        or (beside and plainly(last_name(retrieved.steps)) in _SHOWN_AS_SOURCES)
    ):
        return {"citations": found["retrieved_ids"]}
    return {}


def _counted(cited: list[Listing], ids: list[str], texts: list[str], claim: str) -> str | None:
    """Where what is cited is given as places in what was retrieved."""
    for listing in cited if ids else ():
        for column, values in listing.columns.items():
            numbers = [str(one) for one in flat(values) if type(one) is int or (isinstance(one, str) and one.isdigit())]
            name = last_name((*listing.steps, *column))
            counts = not column or len(name) < 3 or _INDEX.search(name)
            if numbers and counts and not _SPAN.match(name) and max(map(int, numbers)) <= len(ids):
                start = "from0:" if _start(numbers, texts, claim) == 0 else ""
                return f"{start}{written((*listing.steps, *column))}"
    return None


def _named_in_a_text(
    record: Any, ids: Sequence[str], retrieved: Listing | None, claim: _Claim | None, asked: Asked
) -> dict[str, str]:
    """A text that is a list of what was retrieved and nothing else: `sources: "a.md, b.md"`."""
    for leaf in _texts(record):
        if (retrieved and begins(leaf.steps, retrieved.steps)) or not _is_alone(record, leaf.steps):
            continue
        names, path = set(re.split(r"\s*[,;\n]\s*", leaf.value.strip())), written(leaf.steps)
        name = plainly(last_name(leaf.steps))
        called = name in _SHOWN_AS_SOURCES or CALLED_CITED.search(name)
        other = _text_at(asked.other, path) if claim and asked.other is not None else leaf.value
        if not ids:  # a file or an address that only comes with an answer
            if other in (None, "") and LIKE_A_NAME.fullmatch(leaf.value) and not _NO_SOURCE.search(name):
                return {"citations": path}
        elif names <= set(ids) and (called or (other != leaf.value and len(names) < len(ids))):
            return {"citations": path}
    return {}


def _is_alone(record: Any, steps: Sequence[Step]) -> bool:
    """Whether no list on the way to a value has another element."""
    for step in steps:
        record = json_in_cell(record) if isinstance(record, str) else record
        if isinstance(record, list) and len(record) > 1:
            return False
        record = record[step]
    return True


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


def _relevance(listing: Listing, claim: str, place: _Claim | None, asked: Asked) -> float:
    """How much a list is like what was retrieved: by whether its texts hold the answer; names break ties."""
    if speaks(listing) or (place and _is_answer(listing, place)):
        return -10.0  # a conversation, or the parts of the answer itself
    if place and listing.text is not None and _repeats(listing, listing.text, place, asked):
        return -10.0
    names = [step if isinstance(step, str) else step.value for step in listing.steps if isinstance(step, (str, OfKind))]
    named = any(plainly(name) in PLAIN_LISTS for name in names[-2:])
    score = 1.0 * named + 0.5 * (len(listing.elements) > 1) - 0.05 * len(listing.steps)
    beside = any(_BESIDE_IT.search(name) for name in names[-2:]) or "message" in "".join(names[-1:]).casefold()
    score -= 1.5 * beside + 0.7 * (listing.steps[:2] == ("events", None))  # what hangs on a message may be documents
    columns = list(id_columns(listing))
    if listing.text is not None:
        most = max((_overlap(claim, text) for text in listing.texts), default=0)
        if len(listing.elements) == 1 and not named and most < 0.3:
            return -1.0
        score += 1.5 + 3 * most
        score += 0.5 if columns else 0
        score += 0.4 if any("score" in last_name(column).casefold() for column in listing.columns) else 0
        return score
    names = [*names[-2:], *(step for column in columns[:1] for step in column if isinstance(step, str))]
    if not (named or any(_LIKE_SOURCES.search(name) for name in names)):
        values = [str(one) for column in columns for one in listing.columns[column]]
        if sum(bool(LIKE_A_NAME.fullmatch(one)) for one in values) < max(2, len(listing.elements)):
            return -1.0
        score += 0.5  # files or addresses
    if isinstance(listing.elements[0], str):
        as_ids = all(isinstance(one, str) and len(one) <= 200 and " " not in one.strip() for one in listing.elements)
        return score + (1.2 if as_ids else -1)
    if (
        len(listing.elements) == 1
        and not named
        and not any(LIKE_A_NAME.fullmatch(one) for one in map(str, all_ids(listing)))
    ):
        return -1.0  # a step of the work, such as a search, rather than what it brought
    return score + (2.2 if columns and tier_of(columns[0]) < 3 else -2)


def _is_answer(listing: Listing, claim: _Claim) -> bool:
    """Whether the answer is an element of a list, and not something that came with the first of its documents."""
    if listing.text is None or not begins(claim.steps, listing.steps):
        return False
    return len(listing.elements) == 1 or begins(claim.steps, (*listing.steps, *listing.text))


def _repeats(listing: Listing, text: tuple[Step, ...], claim: _Claim, asked: Asked) -> bool:
    """Whether a list holds the answer once more, here and where the question can't be answered."""
    if len(listing.elements) != 1 or fold(listing.texts[0]) != fold(claim.text):
        return False
    path = written((*listing.steps, *text))
    other = asked.other
    return other is None or _text_at(other, path) == _text_at(other, claim.path)


def _is_cited(listing: Listing, claim: _Claim | None = None) -> bool:
    """A list of what the answer cites: it is called so, has places in the text, or hangs on a part of the answer."""
    names = [step for step in listing.steps if isinstance(step, str)]
    spans = {plainly(last_name(column)) for column in listing.columns}
    if any(CALLED_CITED.search(name) for name in names) or {"start", "end"} <= spans or "citedtext" in spans:
        return True
    if any(isinstance(step, OfKind) and CALLED_CITED.search(step.value) for step in listing.steps):
        return True
    *path, last = listing.steps
    if claim is None or not isinstance(last, OfKind) or len(claim.steps) != len(listing.steps) + 1:
        return False
    beside = all(isinstance(one, Mapping) and claim.steps[-1] not in one for one in listing.elements)
    return beside and begins(claim.steps, (*path, None))  # in the parts of the answer, and none of its text


def _is_documents(listing: Listing) -> bool:
    first = listing.elements[0]
    if isinstance(first, str):
        return plainly(last_name(listing.steps)) in PLAIN_LISTS
    if speaks(listing):
        return False
    return listing.text is not None and next(id_columns(listing), None) is not None


def _overlap(claim: str, text: str) -> float:
    """The share of the claim's words that a text has."""
    words = words_in(fold(claim), 2)
    return len(words & words_in(fold(text), 2)) / len(words) if words else 0.0


# Walking


def _texts(record: Any) -> Iterator[_Leaf]:
    holders: dict[tuple[Step, ...], Mapping[str, Any]] = {}
    for steps, value in walk(record):
        if isinstance(value, Mapping):
            holders[steps] = value
        elif isinstance(value, str):
            yield _Leaf(steps, value, holders.get(steps[:-1]) or holders.get(steps[:-2]))


def _text_at(record: object, path: str) -> object:
    return answer_text(JsonPath.parse(path).of(record, json_in_cell))


def _same_keys(one: object, other: Mapping[str, Any]) -> bool:
    return isinstance(one, Mapping) and set(one) == set(other)


def _plain(record: Mapping[str, Any], wanted: Mapping[str, Any], own: set[str]) -> dict[str, str]:
    """Fields by name and type at the top; those that the record has under our name are left."""
    found = {}
    for field, (names, types) in wanted.items():
        if field in own:
            continue
        for name in names:
            spelled = {plainly(one): one for one in record if is_simple(one)}.get(plainly(name), name)
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
            step = str(name) if is_simple(name) else f'["{name}"]'
            yield from _leaves(
                inner, f"{prefix}.{step}" if prefix and is_simple(name) else f"{prefix}{step}", depth - 1
            )
    elif isinstance(value, list) and value and isinstance(value[0], Mapping) and depth:
        yield from _leaves(value[0], f"{prefix}[*]", depth - 1)
    elif prefix:
        yield prefix, value


_CLAIMS = [plainly(name) for name in CLAIM_NAMES]
