"""Render: one page and its JSON twin from data, with links that work from a server and from a disk alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .._version import __version__
from ..glossary import find_term, metric_title
from ..history import SHORT, RecordedRun
from ..report.html import source as report_source
from ..report.views import legible
from ..suites import reason_words
from ..text import visible
from .addresses import link, part

if TYPE_CHECKING:
    from jinja2 import Environment

    from .data import Branch

FORMAT = 1  # of the JSON beside every page
LARGEST = 300_000  # bytes of a page
ROOM = 200_000  # bytes of rows on a page
TEXTS = 130_000  # bytes of texts on a page
TEXT = 2000  # characters of an answer or a question
ASSETS = ("style.css", "script.js", "report.css", "report.js")  # the last two of the report of a run
MOODS = {"SHIP": "good", "NO-SHIP": "bad", "NO VERDICT": "odd", "MEASURED": "dim"}


GATE_MOODS = {"FAIL": "bad", "FAIL-BUT-CLOSE": "bad", "NO-DATA": "odd", "NOT-APPLICABLE": "dim"}  # others are good


class Page(NamedTuple):
    """A page by its path from the root, and the same for programs."""

    path: str
    html: bytes
    data: bytes

    @property
    def files(self) -> dict[str, bytes]:
        return {self.path: self.html, twin(self.path): self.data} if self.data else {self.path: self.html}


def twin(path: str) -> str:
    """Where the JSON of a page is."""
    return path.removesuffix(".html") + ".json"


class At:
    """Where a page is, and the way from there to all others."""

    def __init__(self, path: str, branch: Branch | None = None) -> None:
        """`path` is that from the root, or within the branch."""
        self.project, self.branch = (branch.project, branch.name) if branch else ("", "")
        self.base = base_of(self.project, self.branch)
        self.here = f"{self.base}/{path}" if branch else path
        self._branch, self.has_branch = branch, branch is not None

    def has(self, run: RecordedRun) -> bool:
        """Whether there is a page of that run: those before the window have none."""
        return self._branch is not None and run.seq in self._branch.runs

    def has_compare(self, before: RecordedRun, after: RecordedRun) -> bool:
        """Whether there is a page that compares them also where pages are files."""
        return self._branch is not None and self.has(before) and self._branch.before(after) == before

    def has_gate(self, suite: str, key: str) -> bool:
        return self._branch is not None and (suite, key) in self._branch.gates

    def to(self, path: str) -> str:
        return link(self.here, path)

    def in_branch(self, path: str) -> str:
        return self.to(f"{self.base}/{path}")

    def run(self, run: RecordedRun) -> str:
        return self.in_branch(f"runs/{run.id[:SHORT]}/index.html")

    def item(self, suite: str, qid: str) -> str:
        return self.in_branch(f"items/{part(suite)}/{part(qid)}/index.html")

    def compare(self, before: RecordedRun, after: RecordedRun) -> str:
        return self.in_branch(f"compare/{before.id[:SHORT]}..{after.id[:SHORT]}/index.html")

    def gate(self, suite: str, key: str) -> str:
        return self.in_branch(f"gates/{part(f'{suite}.{key}')}/index.html")

    def page(self, kind: str, number: int) -> str:
        """Of a list that goes over several pages."""
        return self.in_branch(f"{kind}/{numbered(number)}")

    def branch_of(self, project: str, branch: str) -> str:
        return self.to(f"{base_of(project, branch)}/index.html")

    @property
    def json(self) -> str:
        return self.to(twin(self.here))


def base_of(project: str, branch: str) -> str:
    return f"p/{part(project)}/{part(branch)}"


def numbered(number: int) -> str:
    return "index.html" if number == 1 else f"page-{number}.html"


def page(kind: str, at: At, data: Mapping[str, Any], **shown: Any) -> Page:
    """The page of a kind: `data` is its JSON, with `shown` what its template shows."""
    html = rendered(kind, at=at, kind=kind, version=__version__, has_branch=at.has_branch, **{**data, **shown})
    where = {"project": at.project, "branch": at.branch} if at.has_branch else {}
    body = {"shipworthy_page": FORMAT, "kind": kind, **where, **data}
    return Page(at.here, html.encode("utf-8", "backslashreplace"), encoded(body))


def rendered(template: str, **values: Any) -> str:
    return _environment().get_template(f"{template}.html.j2").render(**values)


def encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.format(msgspec.json.encode(body), indent=1) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only spell out
        return json.dumps(msgspec.to_builtins(body), indent=1).encode() + b"\n"


@cache
def asset(name: str) -> bytes:
    """The style and the script of all pages; a report has those that its file has, and a frame as all pages have."""
    own = b"" if name == "report.js" else files(__package__).joinpath(name).read_bytes()
    if not name.startswith("report."):
        return own
    return (
        report_source(name.replace("report.css", "style.css").replace("report.js", "script.js")).encode() + b"\n" + own
    )


def mood(decision: str) -> str:
    return MOODS.get(decision.removesuffix(" (subset)"), "dim")


def brief(text: object, limit: int = 60) -> str:
    """Text for a cell: one line, and short also in bytes once it is escaped, so that no text makes a page large."""
    shown = visible(str(text), limit)[: 2 * limit]
    while len(escape(shown).encode("utf-8", "replace")) > 3 * limit + 40:
        shown = shown[: len(shown) * 2 // 3].rstrip("…") + "…"
    return shown


def cut(text: object, limit: int) -> str:
    """A text of several lines, cut by its size in the page."""
    shown = str(text)[:limit]
    while shown and len(escape(legible(shown)).encode("utf-8", "replace")) > 3 * limit:
        shown = shown[: len(shown) * 2 // 3]
    rest = len(str(text)) - len(shown)
    return legible(shown) + (f"… ({rest:,} more characters)" if rest > 0 else "")


def weight(values: Iterable[object]) -> int:
    """How many bytes texts take in a page."""
    return sum(len(escape(str(value)).encode("utf-8", "replace")) for value in values)


def metric_words(suite: str, key: str) -> str:
    """`cited right (chr)`; a metric without other words stays as it is."""
    name, sign, rest = key.partition("[")
    return metric_title(name, suite) + sign + rest


def definition(suite: str, key: str) -> str:
    """What a metric counts."""
    found = find_term(key.partition("[")[0], suite)
    return found.words.definition if found else ""


def run_json(run: RecordedRun) -> dict[str, Any]:
    """A run as every JSON of a page has it."""
    names = ("id", "suite", "decision", "recorded_at", "commit", "subject", "label")
    return {"run": run.seq, **{name: getattr(run, name) for name in names}}


def when(text: str) -> str:
    """`2026-11-18 09:30`."""
    return visible(text[:16].replace("T", " "))


def run_name(run: RecordedRun) -> str:
    return brief(run.label, 40) or f"run {run.seq}"


def some(names: Sequence[str], most: int = 20) -> tuple[Sequence[str], int]:
    """The first of them, and how many more there are."""
    return names[:most], max(len(names) - most, 0)


def web_address(text: str) -> str:
    """An address that a link may lead to; blank for anything but http and https."""
    return text if text.startswith(("https://", "http://")) and text.isascii() and text.isprintable() else ""


def _shown(value: object) -> object:
    return legible(value) if type(value) is str else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files(__package__).joinpath("templates")
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals |= {
        "mood": mood,
        "brief": brief,
        "when": when,
        "run_name": run_name,
        "reason_words": reason_words,
        "metric_words": metric_words,
        "web_address": web_address,
        "some": some,
        "marks": {"good": "✓", "bad": "✗", "odd": "?", "dim": "="},
    }
    return environment
