"""Reports: read back from disk and checked; their rows, and which of them pass."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, BinaryIO, NamedTuple, Protocol

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible
from .limits import BLOCK, MAX_DEPTH
from .strict import Refused, strict_json

_HINT = "Give the report that --json or -o FILE.json wrote."


def row_name(row: Mapping[str, object]) -> str:
    """What a row is about: its question, with the arm where there are several."""
    name = str(row.get("qid", row.get("id", row.get("prompt_id", ""))))
    return f"{name} ({row['arm']})" if row.get("arm") else name


class Passing(NamedTuple):
    """How a row tells whether its item passed: a field, and its value if it did. Without the field nothing failed."""

    field: str = "reason"
    value: object = ""

    def __call__(self, row: Any) -> bool:
        given = row.get(self.field, self.value) if isinstance(row, Mapping) else getattr(row, self.field, self.value)
        return bool(given == self.value)


def reason_of(row: Mapping[str, Any]) -> str:
    """Why an item fails, under whichever name its suite has for that."""
    return str(row.get("reason") or row.get("failed") or row.get("state") or "")


def passing(report: Mapping[str, Any], passes: Passing) -> dict[str, bool]:
    """Which items of a report pass, by name."""
    return {row_name(row): passes(row) for row in report.get("items", [])}


def passing_in(report: str | bytes, passes: Passing) -> dict[str, bool] | None:
    """Which items of a report as text pass; no more of it is decoded. None where that takes the whole."""
    import msgspec

    from .shapes import results_type

    try:
        return passing({"items": msgspec.json.decode(report, type=results_type(passes.field)).items}, passes)
    except (ValueError, RecursionError):
        return None


_EXACT = r"-?\d{1,400}(?:/0*[1-9]\d{0,400})?"


def exact_value(measure: object) -> Fraction | None:
    """A metric of a report exactly; None where it has no value. Numbers that would take for ever have none."""
    if not isinstance(measure, Mapping):
        return None
    over, under, value = measure.get("numerator"), measure.get("denominator"), measure.get("value")
    if isinstance(over, int) and isinstance(under, int) and under > 0:
        return Fraction(over, under)
    if (written := exact_text(measure.get("exact"))) is not None:
        return written
    finite = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return Fraction(str(value)) if finite else None


def exact_text(text: object) -> Fraction | None:
    """`3/4` or `-12` as a fraction; None for anything else."""
    return Fraction(text) if isinstance(text, str) and re.fullmatch(_EXACT, text, re.ASCII) else None


def reports_of(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The reports of single suites: all of a board, or the one."""
    return list(report["suites"].values()) if "suites" in report else [report]


class Keeper(Protocol):
    """What takes of a report's rows what it needs, some at a time."""

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None: ...


def load_report(
    path: str | os.PathLike[str], *, edited: bool = False, keep: Callable[[Mapping[str, Any]], Keeper] | None = None
) -> dict[str, Any]:
    """A report from disk, as it was written; `edited` is for who says of a changed one what is wrong with it.

    `keep` makes, of a report without its items, what keeps some of them: in its place as `items`, if the file is laid
    out as ours are. No more than a piece of it is in memory then.
    """
    where = visible(os.fspath(path))
    try:
        with open(path, "rb") as stream:
            if keep is not None and stream.seekable():
                if (found := _in_pieces(stream, keep)) is not None:
                    return found
                stream.seek(0)
            data = stream.read()
    except FileNotFoundError:
        raise UsageError("no such file", where=where, hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be read: {error.strerror}", where=where, code="unreadable") from None
    return report_of_bytes(data, where, edited=edited)


def _in_pieces(stream: BinaryIO, keep: Callable[[Mapping[str, Any]], Keeper]) -> dict[str, Any] | None:
    """The report, of whose items `keep` has what it needs; None for anything but a report of ours as it was written."""
    with contextlib.suppress(ValueError, LookupError, AttributeError, TypeError, RecursionError, DataError):
        return _pieced(stream, keep)  # what is wrong with it is for the strict reader to say
    return None


_OPENS = {b"  " * depth + b'"items": [\n': depth for depth in (1, 3)}  # of a suite's report, of a suite in a board
MOST_SUITES = 20  # of a board that is read in pieces: for each, all that comes before is decoded


def _pieced(stream: BinaryIO, keep: Callable[[Mapping[str, Any]], Keeper]) -> dict[str, Any]:
    """A string in JSON has no line breaks of its own: a line that opens the items, closes them or ends a row does that.

    How deep it stands shows when what is around it is closed and decoded.
    """
    outside, lines = b"", list[bytes]()
    kept, seals = dict[str, Keeper](), dict[str, str]()
    for line in iter(stream.readline, b""):
        if (depth := _OPENS.get(line)) is None:
            lines.append(line)
            continue
        outside += b"".join((*lines, line[:-1]))
        lines.clear()
        value = _value(outside + b"]" + b"".join(b"\n" + b"  " * level + b"}" for level in reversed(range(depth))))
        name, body = ("", value) if depth == 1 else [*value["suites"].items()][-1]
        if body.popitem() != ("items", []) or len(kept) == MOST_SUITES:
            raise ValueError
        kept[name] = keep(body)
        seals[name] = digest({**body, "items": _batches(stream, depth, kept[name])})
    if not kept:
        raise ValueError
    report = check_report(_value(outside + b"".join(lines)), edited=True)
    suites = report.get("suites", {"": report})
    for name, one in suites.items():
        if one["digest"] != (seals.get(name) or digest(one)) or [*one][-3:] != ["items", "digest", "run"]:
            raise ValueError
    if not kept.keys() <= suites.keys() or ("suites" in report and digest(report) != report["digest"]):
        raise ValueError
    for name, rows in kept.items():
        suites[name]["items"] = rows
    return report


def _batches(stream: BinaryIO, depth: int, keeper: Keeper) -> Iterator[list[dict[str, Any]]]:
    """The rows of the array that is open, many at a time; then the stream is where it closes."""
    ends, ends_row = b"\n" + b"  " * depth + b"]", b"\n" + b"  " * depth + b"  },\n"
    data = b""
    while block := stream.read(max(BLOCK, len(data))):  # of a large row twice as much each time
        data += block
        stop, last = data.find(ends), data.rfind(ends_row)
        if stop < 0 and last < 0:  # not one whole row
            continue
        cut = stop if stop >= 0 else last + len(ends_row) - 2
        rows = _rows_in(data[:cut], depth)
        keeper.add(rows)
        yield rows
        data = data[cut + 1 :]
        if stop >= 0:
            stream.seek(2 * depth - len(data), os.SEEK_CUR)
            return
    raise ValueError


def _rows_in(data: bytes, depth: int) -> list[dict[str, Any]]:
    """Rows as they stand in an array that is so deep in a report."""
    levels = range(depth + 1)
    opened, closed = (b"".join(b"  " * n + b"[\n" for n in levels), [b"\n" + b"  " * n + b"]" for n in levels])
    rows = _value(opened + data + b"".join(reversed(closed)))
    for _ in range(depth):
        (rows,) = rows
    if not all(type(row) is dict for row in rows):
        raise ValueError
    return rows  # type: ignore[no-any-return]


def _value(data: bytes) -> Any:
    """What JSON says, strictly read; fast where it is laid out as ours is."""
    found = _as_written(data)
    return strict_json(data) if found is None else found


def report_of_bytes(data: bytes, where: str, *, edited: bool = False) -> dict[str, Any]:
    """The report that a file holds."""
    if not edited and (written := _as_written(data)) is not None:
        with contextlib.suppress(DataError):  # what is wrong with it is for the strict reader to say
            return check_report(written, where)
    try:
        value = strict_json(data)
    except Refused as refusal:
        raise DataError(f"is not a report: {refusal.what}", where=where, hint=_HINT, code="report-invalid") from None
    return check_report(value, where, edited=edited)


def _as_written(data: bytes) -> object:
    """The JSON value of a file that is laid out as ours are, by the fast decoder; None where it is not.

    A repeated key shows in the number of colons after quotes, to which texts can only add.
    """
    import msgspec

    try:
        if msgspec.json.format(data, indent=2) != memoryview(data)[: len(data) - data.endswith(b"\n")]:
            return None
        value = msgspec.json.decode(data)
        plain = data.count(b'":') == _keys(value)
    except (ValueError, RecursionError):
        return None
    return value if plain else None


def _keys(value: object) -> int:
    """How many keys all objects in a value have together; -1 where it is nested too deep."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                count += len(one)
                one = one.values()
            elif not isinstance(one, list):
                continue
            below += [part for part in one if type(part) is dict or type(part) is list]
        if not below:
            return count
        level = below
    return -1


def check_report(value: object, where: str = "<report>", *, edited: bool = False) -> dict[str, Any]:
    """The value as a report that is as it was written, or one clear error that says what is wrong with it and where."""
    if not isinstance(value, dict) or not isinstance(value.get("shipworthy"), dict):
        raise DataError("is not a report", where=where, hint=_HINT, code="report-invalid")
    import msgspec

    from .jsonl import field_first
    from .shapes import BoardReport, SuiteReport

    try:
        msgspec.convert(value, BoardReport if "suites" in value else SuiteReport)
    except (ValueError, RecursionError) as error:  # ValueError: what does not fit, and text that is no Unicode
        what = f"is not a report: {visible(field_first(str(error)), 200)}"
        raise DataError(what, where=where, hint=_HINT, code="report-invalid") from None
    if not edited:
        refuse_edited(value, where)
    return value


def refuse_edited(report: Mapping[str, Any], where: str = "") -> None:
    """Every door that takes a report's word asks here: one that was changed could say SHIP, or hide what got worse."""
    if is_edited(report):
        raise DataError(
            "the report was edited after it was written: its digest does not match its content",
            where=where,
            hint="Score again, and give the new report.",
            code="report-edited",
        )


def is_edited(report: Mapping[str, Any]) -> bool:
    """Whether a report, or one of its suites, says anything else than when its digest was taken."""
    parts = [report, *reports_of(report)] if "suites" in report else [report]
    return any(digest_of(one) != one["digest"] for one in parts)


def digest_of(report: Mapping[str, Any]) -> str:
    """The digest of what a report says, whatever digest it states."""
    try:
        return digest(report)
    except RecursionError:
        raise DataError("is nested too deep for a report", where="<report>", code="report-invalid") from None


def digest(body: Mapping[str, Any]) -> str:
    """sha256 of a report's meaning: sorted keys, without the `run` block and the digest itself.

    Items may come as an iterator of many at a time.
    """
    kept = {key: value for key, value in body.items() if key not in ("run", "digest")}
    if "suites" in kept:
        kept["suites"] = {name: suite["digest"] for name, suite in kept["suites"].items()}
    found = hashlib.sha256(b"{")
    for number, key in enumerate(sorted(kept)):
        found.update(b", " * bool(number) + canonical(key) + b": ")
        value = kept[key]
        if key != "items" or not isinstance(value, (list, Iterator)):
            found.update(canonical(value))
            continue
        found.update(b"[")  # rows may be many: some at a time
        for place, rows in enumerate(_some_at_a_time(value) if isinstance(value, list) else value):
            found.update(b", " * bool(place) + canonical(rows)[1:-1])
        found.update(b"]")
    found.update(b"}")
    return found.hexdigest()


def _some_at_a_time(rows: list[Any]) -> Iterator[list[Any]]:
    return (rows[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER))


TOGETHER = 200  # rows
# What may be a number that msgspec and the standard library write in two ways: those with an exponent in either.
ODD_NUMBER = re.compile(rb"0\.0000|\de-?\d")


def _is_plain(rows: object) -> bool:
    """Whether these are rows without any fraction."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return False
    types = {type(value) for row in rows for value in row.values()}
    if list in types:
        types.remove(list)  # one inside of another is found again
        types |= {type(one) for row in rows for value in row.values() if type(value) is list for one in value}
    return types <= {str, int, bool, type(None)}


def canonical(value: object) -> bytes:
    """JSON with sorted keys as the standard library writes it, by the faster one where they agree."""
    import msgspec

    try:
        data = msgspec.json.encode(value, order="sorted")
        if _is_plain(value) or ODD_NUMBER.search(data) is None:
            return msgspec.json.format(data, indent=0)
    except (UnicodeEncodeError, OverflowError, TypeError):
        pass
    import json  # no small score needs it

    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace")
