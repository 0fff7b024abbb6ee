"""Misfits: what a file is that does not have the fields it was read for, and how it can be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from ..errors import DataError, ShipworthyError
from ..text import visible
from .formats import foreign_rows, raw_rows
from .listings import blanks
from .mapping import FieldMap
from .proposal import Asked, fields_of, flags, foreign, propose

_LOOKED_AT = 50  # rows
_ASKS = ("?", "？", "؟")
_SWAPPED = {
    "gold": (("answer_json", "retrieved_ids"), "This looks like a trace file: are --gold and --trace swapped?"),
    "trace": (
        ("answerable", "gold_claim_substr", "gold_citations"),
        "This looks like a gold file: are --gold and --trace swapped?",
    ),
}
_CODES = {"gold": "gold-fields", "trace": "trace-fields"}
_WANTED = {"gold": ("qid", "question", "answerable"), "trace": ("qid", "claim")}
_MISSING = {"gold": "no record has qid and answerable", "trace": "no record has an answer (answer_json)"}


Row = Mapping[str, object]


def misfit(source: object, kind: str, missing: str = "", given: Iterable[str] = ()) -> DataError | None:
    """Why none of a file's records fits; None where the file has no objects to look at. `given`: the mapping so far."""
    rows = _first_rows(source)
    if not rows:
        return None
    where = visible(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else f"<{kind}>"
    merged = _merged(rows)
    if isinstance(source, (str, os.PathLike)) and (tool := foreign(merged)):
        return foreign_rows(os.fspath(source), tool)
    names, hint = _SWAPPED[kind]
    if set(names) & set(merged) and not _looks_like(merged, kind):
        return DataError(f"found {fields_of(merged)}", where=where, hint=hint, code="files-swapped")
    mapped = dict(pair.removeprefix(f"{kind}.").split("=", 1) for pair in given if "=" in pair)
    free = {name: value for name, value in merged.items() if name not in mapped.values()}
    likely = propose(free, kind, file=True, asked=_asked(merged, rows))
    if kind == "gold":
        likely |= _by_form([row for _, row in rows], likely | mapped)
    what = f"{missing or _missing(merged, kind, likely | mapped)}; found {fields_of(merged)}"
    hint = _hint(merged, kind, where, likely | mapped, mapped)
    return DataError(what, where=f"{where}:{rows[0][0]}", hint=hint, code=_CODES[kind])


def _asked(row: Row, rows: Sequence[tuple[int, Row]]) -> Asked:
    """What tells the answer from the rest of a row: it differs from row to row, and is not the question."""
    question = next((text for text in row.values() if isinstance(text, str) and text.endswith(_ASKS)), "")
    return Asked(question, other=rows[-1][1] if len(rows) > 1 else None)


def _by_form(rows: Sequence[Row], known: Mapping[str, str]) -> dict[str, str]:
    """What the columns of a gold set are whose names say nothing, as in another language: questions end in their sign,
    sources and ids have no blanks, and the one text that is left is what is expected."""
    if any(name.strip().endswith(_ASKS) for row in rows for name in row):
        return {}  # the first line is no header
    taken = {*known.values(), "answerable", "gold_claim_substr", "gold_citations", "qid"}
    texts: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.items():
            if name not in taken and isinstance(value, str) and value.strip():
                texts.setdefault(name, []).append(value.strip())
    found: dict[str, str] = {}
    asked = {name: sum(text.endswith(_ASKS) for text in each) for name, each in texts.items()}
    if "question" not in known and (most := max(asked.values(), default=0)) * 2 >= len(rows):
        found["question"] = next(name for name in texts if asked[name] == most)
    for field, is_one in (("qid", _is_id), ("gold_citations", _is_source)):
        left = [name for name in texts if field not in known and name not in found.values()]
        fit = [name for name in left if all(map(is_one, texts[name]))]
        if fit and (field != "qid" or len(set(texts[fit[0]])) == len(rows) > 1):
            found[field] = fit[0]
    left = [name for name in texts if name not in found.values() and not _is_yes_or_no(texts[name])]
    if len(left) == 1 and "gold_claim_substr" not in known:
        found["gold_claim_substr"] = left[0]
    return found


def _is_name(text: str) -> bool:
    return len(text) <= 40 and not any(map(str.isspace, text)) and not blanks(text)


def _is_id(text: str) -> bool:
    return _is_name(text) and text.isascii() and re.search(r"[\d_-]", text) is not None


def _is_yes_or_no(texts: Sequence[str]) -> bool:
    """Two words and no more, in whatever language: whether it is answerable, not what the answer is."""
    return len(texts) > 2 and len(set(texts)) == 2 and all(map(_is_name, texts))


def _is_source(text: str) -> bool:
    """Names of files, addresses or chunks: plain letters with signs between."""
    return all(_is_name(each.strip()) and re.search(r"\w[./#:_-]+\w", each, re.A) for each in re.split("[,;|]", text))


def renamed(source: object, mapped: Collection[str], every: bool) -> DataError | None:
    """Why a gold set is refused whose answerable questions lack expected text: they have it under another name.

    `mapped`: the fields of gold that a mapping gives. `every`: no answerable question has expected text.
    """
    rows = _first_rows(source, _lacks_text) if "gold_claim_substr" not in mapped else []
    merged = _merged(rows)
    if not _filled(merged.get(propose(merged, "gold").get("gold_claim_substr", ""))):
        return None
    where = visible(str(source))
    which = "no answerable question has" if every else "some answerable questions lack"
    what = f"{which} gold_claim_substr, the expected text; found {fields_of(merged)}"
    return DataError(
        what,
        where=f"{where}:{rows[0][0]}",
        hint=_hint(merged, "gold", where, propose(merged, "gold", file=True)),
        code=_CODES["gold"],
    )


def _lacks_text(row: Mapping[str, object]) -> bool:
    return not _filled(row.get("gold_claim_substr")) and row.get("answerable") not in (False, "false", "False")


def _filled(value: object) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


_QID = ("qid", "q_id", "id")


def _missing(row: Mapping[str, object], kind: str, likely: Collection[str]) -> str:
    if _is_nameless(row, kind, likely):
        return "no record has a qid, which " + ("names it" if kind == "gold" else "says which question it answers")
    return _MISSING[kind]


def _is_nameless(row: Row, kind: str, likely: Collection[str]) -> bool:
    """Whether records lack the id alone: what is not recognised at all may have no header."""
    known = kind == "trace" or {"question", "gold_claim_substr"} & set(likely)
    return bool(known) and not set(_QID) & set(row) and "qid" not in likely


def _hint(
    row: Mapping[str, object], kind: str, where: str, likely: Mapping[str, str], given: Collection[str] = ()
) -> str:
    """The mapping that would read the file, or what else is probably wrong with it; `given` is mapped already."""
    if len(row) == 1 and (layout := _about_layout(row, where)):
        return layout  # a file that holds nothing but a list of records, not one record that holds a list
    wanted = {field: path for field, path in likely.items() if field != path}
    more = ""
    if kind == "gold" and "answerable" not in {*row, *likely} and "gold_claim_substr" in wanted:
        text = wanted["gold_claim_substr"]
        wanted["answerable"] = rf"re:\S@{text}"
        more = f". A question without {text} is then unanswerable."
    if kind == "trace" and not set(_QID) & set(row) and "qid" not in likely and likely:
        rest = f" Then map the rest: {flags(wanted)}" if wanted else ""
        return f"Add the qid of its gold question to each record.{rest}"
    answers = propose(row, "trace", file=True) if kind == "gold" else {}
    if {"claim", "retrieved_ids"} <= set(answers) and "answerable" not in row:
        return f"These look like responses: are --gold and --trace swapped? If not, map them: {flags(wanted)}{more}"
    wanted = {field: path for field, path in wanted.items() if field not in given}
    if kind == "gold" and _is_nameless(row, kind, likely):
        rest = f" Then map the rest: {flags({**likely, **wanted})}" if wanted or given else ""
        return f"Add a column qid with a name for each question, such as q1.{rest}{more}"
    if wanted:
        return f"Map {'these too' if given else 'them'}: {flags(wanted)}{more}"
    return _about_layout(row, where) or f"Needed: {', '.join(_WANTED[kind])}."


def _about_layout(row: Mapping[str, object], where: str) -> str:
    """What is wrong with the layout of a file: another separator, no header, records within an object."""
    names = list(row)
    if where.endswith((".csv", ".tsv")):
        other = next((sign for sign in ";\t|," if len(names) == 1 and sign in names[0]), "")
        if other:
            shown = "tabs" if other == "\t" else f"{other!r}"
            return f"The cells are separated by {shown}: save the file with commas, or with tabs as .tsv."
        return "Is the first line a header? Write the field names there, such as qid,question,answerable."
    inner = [name for name, value in row.items() if isinstance(value, list) and value and isinstance(value[0], Mapping)]
    if len(inner) == 1 and _plain_name(inner[0]) and where.endswith(".json"):
        return f"The records are inside {inner[0]}. Save that list alone: jq .{inner[0]} {where} > records.json"
    return ""


def _plain_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name.isascii()


def unmapped(source: object, pairs: Iterable[str]) -> str:
    """The flags that would also read the sources of a trace file whose mapping leaves them out; nothing if none."""
    given = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    rows = _first_rows(source) if given else []
    if not rows:
        return ""
    merged = _merged(rows)
    inner = merged.get("answer_json")
    own = {*given, *merged, *(name.removeprefix("trace.") for name in given)}
    own |= set(inner) if isinstance(inner, dict) else set()
    claim = given.get("claim", given.get("answer", ""))
    likely = propose(merged, "trace", file=True, claim_path=claim)
    return flags({name: likely[name] for name in ("retrieved_ids", "citations") if name in likely and name not in own})


def without_effect(source: object, pairs: Iterable[str]) -> str:
    """The flags that map fields of traces only, where `run` wrote all traces of the file and mapped them already."""
    ours = [pair for pair in pairs if pair.startswith("trace.") or not FieldMap.parse([pair], "gold")]
    rows = _first_rows(source) if ours else []
    if not rows or not all(row.get("sweep_id") for _, row in rows):
        return ""
    return flags(dict(pair.split("=", 1) for pair in ours))


def _looks_like(row: Mapping[str, object], kind: str) -> bool:
    other = "trace" if kind == "gold" else "gold"
    return bool(set(_SWAPPED[other][0]) & set(row))


def _first_rows(source: object, wanted: Callable[[Row], bool] = bool) -> list[tuple[int, dict[str, object]]]:
    try:
        if isinstance(source, (str, os.PathLike)):
            if not os.path.isfile(source):
                return []
            rows = (pair for pair in raw_rows(source) if "shipworthy_journal" not in pair[1] and wanted(pair[1]))
            return list(islice(rows, _LOOKED_AT))
    except ShipworthyError:
        pass
    return []


def _merged(rows: list[tuple[int, dict[str, object]]]) -> dict[str, object]:
    """All fields of the rows; of each the first value that is not empty."""
    merged: dict[str, object] = {}
    for _, row in rows:
        for name, value in row.items():
            if not merged.get(name):
                merged[name] = value
    return merged
