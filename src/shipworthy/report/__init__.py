"""Reports: one decision, many readers."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, needs_extra
from ..reading.files import write_whole as write
from ..text import visible

if TYPE_CHECKING:
    from ..core.board import Board
    from ..core.decision import Decision

__all__ = ["FORMATS", "form_of", "pieces", "render", "summary", "write"]


class Format(NamedTuple):
    """A module with `render(decision or board)`, the ending of its files, and whether people may want it printed.

    One that may be long has `pieces` instead, which gives bytes bit by bit. `made_by` names another function.
    """

    module: str
    ending: str = ""
    printed: bool = False
    made_by: str = ""


_ALL = {
    "text": Format("terminal", ".txt", printed=True),
    "json": Format("json", ".json", printed=True),
    "tsv": Format("tsv", ".tsv", printed=True),
    "markdown": Format("markdown", ".md", printed=True),
    "junit": Format("junit", ".xml", printed=True),
    "github": Format("github", printed=True),
    "html": Format("html", ".html", printed=True),
    "badge": Format("badge", ".svg"),
    "shields": Format("badge", ".badge.json", made_by="shields"),
    "openmetrics": Format("openmetrics", ".prom"),
    "csv": Format("tsv", ".csv", made_by="csv_pieces"),
    "parquet": Format("tsv", ".parquet", made_by="parquet"),
    "otlp": Format("otlp", ".otlp.json"),
    "mlflow": Format("mlflow", ".mlflow.json"),
}
FORMATS = tuple(name for name, form in _ALL.items() if form.printed)
SUMMARY_LIMIT = 900_000  # bytes; a job summary of more than 1 MiB is thrown away whole


def render(shown: Decision | Board, form: str) -> bytes:
    """A decision or a board in one of the formats, as UTF-8 that any reader accepts."""
    if form not in _ALL:
        raise UsageError(f"there is no format {form!r}", hint=f"Use one of {', '.join(FORMATS)}.", code="report-format")
    return b"".join(pieces(shown, form))


def pieces(shown: Decision | Board, form: str) -> Iterable[bytes]:
    """The report bit by bit where the format allows it, so that a report of a million items takes little memory."""
    module: Any = import_module(f".{_ALL[form].module}", __name__)
    made_by = _ALL[form].made_by or ("pieces" if hasattr(module, "pieces") else "render")
    made: str | bytes | Iterable[bytes] = getattr(module, made_by)(shown)
    if isinstance(made, str):
        made = made.encode("utf-8", "backslashreplace")
    return [made] if isinstance(made, bytes) else made


def summary(shown: Decision | Board, already: int = 0) -> bytes:
    """Markdown for a job summary that holds `already` bytes, cut at a line where it would be too long."""
    text = render(shown, "markdown") + b"\n"
    room = SUMMARY_LIMIT - already
    if len(text) <= room:
        return text
    kept = text[: max(text.rfind(b"\n", 0, room - 200), 0)] if room > 200 else b""
    return kept + b"\n\nThe rest did not fit into this summary: see the report.\n"


def form_of(path: str) -> str:
    """The format that a file's name asks for."""
    endings = {form.ending: name for name, form in _ALL.items() if form.ending}
    for ending, name in sorted(endings.items(), key=lambda pair: -len(pair[0])):
        if path.lower().endswith(ending):
            if name == "parquet":
                _check_parquet(path)
            return name
    raise UsageError(
        f"the ending of {visible(path)!r} names no report format",
        hint=f"Use one of {', '.join(sorted(endings))}.",
        code="report-format",
    )


def _check_parquet(path: str) -> None:
    """A package that is not there is told before anything is scored."""
    try:
        import pyarrow  # noqa: F401 — only to see whether it is there
    except ImportError:
        raise needs_extra("Parquet files need the package pyarrow", "parquet", visible(path)) from None
