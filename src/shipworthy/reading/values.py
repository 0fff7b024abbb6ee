"""Values: the fields of a record, what is found at a mapped place or in a cell as a field takes it, and its shape."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..text import visible
from .strict import Refused, strict_json

_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "source_id", "source")
_TEXT_KEYS = ("text", "content", "page_content", "snippet")


REFUSED = "not in context"  # what a mapped refusal flag makes of the claim: the contract's refusal token

# field → how its value is read
SHARED = {"qid": "text", "question": "text"}
TRACE = SHARED | {
    "claim": "text",
    "citations": "ids",
    "constraints_echo": "texts",
    "refused": "flag",
    "retrieved_ids": "ids",
    "evidence": "passages",
    "error": "text",
    "e2e_ms": "number",
    "latency_ms": "number",  # or times by stage
    "latency_total_ms": "number",
    "cost_usd": "number",
    "confidence": "number",
    "score": "number",
    "temperature": "number",
    "load_rps": "number",
    "seed": "whole",
    "paraphrase": "whole",
    "planned_runs": "whole",
    "stage_ms": "object",
    "tokens": "object",
    "knobs": "object",
    "answer_json": "object",
    "topk": "list",
    "delta_s": "numbers",
    "answer_citations": "list",
    "ok": "flag",
    "warmup": "flag",
    "scores": "any",
    "score_sources": "any",
    **dict.fromkeys(
        ("run_id", "sweep_id", "jitter", "arm", "ts", "reason", "lambda_state", "anchor", "index_hash", "reused_from"),
        "text",
    ),
}
GOLD = SHARED | {
    "answerable": "flag",
    "gold_claim_substr": "texts",
    "gold_claim": "text",
    "gold_citations": "ids",
    "forbidden": "texts",
    "match": "text",
    "tolerance": "amount",
    "constraints": "texts",
    "paraphrases": "texts",
    "relevant": "ids",
    "negatives": "ids",
    "anchor_section": "text",
    "type": "text",
    "notes": "text",
    "history": "list",
}
KINDS = {"trace": TRACE, "gold": GOLD}
_ANSWER = ("claim", "citations", "constraints_echo")
FLAT = frozenset((*_ANSWER, "refused"))  # of a trace: what `nested` takes from the top level
MOVED = FLAT | {"evidence"}
# How cells of a table are read under a record's own names: ids and places as they are, for the contract to check.
OWN_CELLS = {
    kind: {name: "list" if taken == "ids" else taken for name, taken in fields.items()}
    | dict.fromkeys(("ΔS", "∆S", "deltaS", "ΔS_list"), "numbers")
    for kind, fields in KINDS.items()
}
_UNMAPPED = ("q_id", "q", "query")  # other names of mapped fields
_BY_TYPE = {"str": "text", "float": "number", "int": "whole", "bool": "flag", "dict": "object", "list": "list"}


def declare(kind: str, fields: Mapping[str, object]) -> None:
    """Let fields of a contract be mapped that the tables above don't have; each is read by its type."""
    for name, type in fields.items():
        if name not in KINDS[kind] and name not in _UNMAPPED:
            written = getattr(type, "__name__", str(type))
            taken = _BY_TYPE.get(re.split(r"\W", written, maxsplit=1)[0], "any")
            KINDS[kind][name] = OWN_CELLS[kind][name] = taken


class MapError(ValueError):
    """A mapped value that the field can't take."""


def convert(value: object, kind: str, field: str, cells: bool = False) -> object:
    """A value as its field takes it; `cells`: a text of a table, where a blank is nothing. None: nothing is there."""
    if cells and isinstance(value, str):
        read_cell = _CELLS.get(kind)
        if read_cell is None:
            return value or None
        return read_cell(value.strip(), field) if value.strip() else None
    read_value = _VALUES.get(kind)
    return read_value(value, field) if read_value else value


def _shown(value: object) -> str:
    import json  # no small score needs it

    return visible(json.dumps(value, default=str), 40)


def _text(value: object, field: str) -> object:
    """A name may be written as a number; whether a claim is a text is for the contract to say."""
    return str(value) if field in ("qid", "run_id") and type(value) is int else value


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise MapError(f"{field}: expected true or false, found {_shown(value)}")
    return value


def _ids(value: object, field: str) -> list[object] | None:
    return None if _is_blank(value) else [_id(one, field) for one in flat(value)]


def _id(value: object, field: str) -> str:
    if isinstance(value, dict):
        inner = next((value[key] for key in _ID_KEYS if isinstance(value.get(key), (str, int))), None)
        if inner is None:
            keys = visible(", ".join(map(str, value)), 80) or "nothing"
            raise MapError(f"{field}: expected ids, found objects with {keys}; add the key to the path: …[*].KEY")
        value = inner
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise MapError(f"{field}: expected ids, found {_shown(value)}")
    return str(value)


def _texts(value: object, field: str) -> list[object] | None:
    return None if _is_blank(value) else flat(value)


def _is_blank(value: object) -> bool:
    """A text without anything in it, in the place of a list: nothing, as a blank cell is."""
    return isinstance(value, str) and not value.strip()


def _passages(value: object, field: str) -> list[object]:
    """Texts, or objects with an id and a text under one of the usual names."""
    return [_passage(one, place, field) for place, one in enumerate(flat(value), 1)]


def _passage(value: object, place: int, field: str) -> object:
    if not isinstance(value, dict):
        if not isinstance(value, str):
            raise MapError(f"{field}: expected texts, found {_shown(value)}")
        return value
    name = next((value[key] for key in _ID_KEYS if isinstance(value.get(key), (str, int))), place)
    text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)), "")
    return {"id": str(name), "text": text}


def flat(value: object) -> list[object]:
    """A list without lists in it; one value is a list of one."""
    if not isinstance(value, list):
        return [value]
    return [part for one in value for part in (flat(one) if isinstance(one, list) else [one])]


def _number_cell(text: str, field: str) -> object:
    if text.startswith("{"):  # times by stage
        return _json_cell(text, field)
    number = _number(text)
    if number is None:
        raise MapError(f"{field}: expected a number, found {visible(text, 40)!r}")
    return number


def _number(text: str) -> int | float | None:
    """A finite number in plain digits; None where the text is none."""
    if not text.isascii() or "_" in text:
        return None
    try:
        number = int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _amount_cell(text: str, field: str) -> object:
    """A number, or a text such as 5%."""
    number = _number(text)
    return text if number is None else number


def _numbers_cell(text: str, field: str) -> object:
    if text.startswith("["):
        return _json_cell(text, field)
    return [_number_cell(part.strip(), field) for part in text.split(";") if part.strip()]


def _whole_cell(text: str, field: str) -> object:
    return int(text) if text.isascii() and text.lstrip("-").isdigit() and len(text) < 19 else text


def _flag_cell(text: str, field: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise MapError(f"{field}: expected true or false, found {visible(text, 40)!r}")
    return text.lower() == "true"


def _list_cell(text: str, field: str) -> object:
    """A list as JSON, or separated by semicolons."""
    if text.startswith("["):
        return _json_cell(text, field)
    return [part.strip() for part in text.split(";") if part.strip()]


def _ids_cell(text: str, field: str) -> object:
    return _ids(_list_cell(text, field), field)


def json_in_cell(text: str, field: str = "") -> object:
    """The list or object that a cell holds as JSON; else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return _json_cell(text, field)
    except MapError:
        return text


def _json_cell(text: str, field: str) -> object:
    """As strictly read as a line: a repeated key would make readers disagree about its value."""
    try:
        return strict_json(text.encode("utf-8", "surrogatepass"))
    except Refused as refusal:
        raise MapError(f"{field}: expected JSON, found {visible(text, 40)!r}: {refusal.what}") from None


_VALUES: dict[str, Callable[[Any, str], Any]] = {
    "text": _text,
    "flag": _flag,
    "ids": _ids,
    "texts": _texts,
    "passages": _passages,
}
_CELLS: dict[str, Callable[[str, str], Any]] = {
    "flag": _flag_cell,
    "ids": _ids_cell,
    "texts": _list_cell,
    "passages": _list_cell,
    "list": _list_cell,
    "numbers": _numbers_cell,
    "number": _number_cell,
    "amount": _amount_cell,
    "whole": _whole_cell,
    "object": _json_cell,
    "any": json_in_cell,
}


_SCALARS = frozenset((str, int, float, bool))  # looked at here, because a call for each value takes longer


def without_nulls(value: Any) -> Any:
    """The value without its nulls at any depth: a field that is null is absent. Elements of lists stay as they are."""
    if isinstance(value, dict):
        return {
            key: part if type(part) in _SCALARS else without_nulls(part)
            for key, part in value.items()
            if part is not None
        }
    if isinstance(value, list):
        return [part if type(part) in _SCALARS else without_nulls(part) for part in value]
    return value


# --- a record in the contract's shape ---


def shaped(record: Mapping[str, object], kind: str) -> dict[str, object]:
    """A record in the contract's shape: a null is an absent field, and a trace's answer is in answer_json."""
    bare: dict[str, object] = without_nulls(dict(record))
    if kind != "trace":
        return bare
    return nested(named(bare)) if not MOVED.isdisjoint(bare) else named(bare)


def named(trace: dict[str, object]) -> dict[str, object]:
    """A trace that says in `id` alone which question it answers, as gold items may; else `id` is the run's own."""
    if {"qid", "q_id"} & trace.keys() or not isinstance(trace.get("id"), (str, int)):
        return trace
    return {"qid": trace["id"], **trace}


def nested(fields: Mapping[str, object], mapped: Collection[str] = ()) -> dict[str, object]:
    """Flat fields as a trace has them: claim and citations within answer_json, passages with their ids.

    What answer_json has counts more than a field of that name beside it, unless that was `mapped`. A refusal flag is a
    refusal, whatever the claim says.
    """
    trace = {name: value for name, value in fields.items() if name not in FLAT}
    inner = trace.get("answer_json", {})
    if not isinstance(inner, dict) and mapped:
        inner = {}
    if isinstance(inner, dict):
        flat = {name: fields[name] for name in _ANSWER if name in fields and (name in mapped or name not in inner)}
        if _is_refusal(fields.get("refused", False)):
            flat |= {"claim": REFUSED, "citations": []}
        if flat:
            trace["answer_json"] = inner | flat
    evidence = trace.get("evidence")
    if isinstance(evidence, list) and any(isinstance(one, str) for one in evidence):
        ids = trace.get("retrieved_ids")
        names = ids if isinstance(ids, list) and len(ids) == len(evidence) else range(1, len(evidence) + 1)
        trace["evidence"] = [
            {"id": _name_of(name), "text": text} if isinstance(text, str) else text
            for name, text in zip(names, evidence, strict=True)
        ]
    return trace


def _is_refusal(flag: object) -> bool:
    return convert(flag, "flag", "refused") is True


def _name_of(block: object) -> str:
    return str(block.get("id", "")) if isinstance(block, dict) else str(block)
