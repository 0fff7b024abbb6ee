"""Platforms: traces that live in Phoenix, MLflow, Langfuse or LangSmith, page by page over their public API.

What was pulled is kept in a journal until the import is complete, so that a pull that was cut off goes on where it was.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

import msgspec

from ..errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from ..net.blocking import ask
from ..reading.files import write_whole
from ..reading.strict import Refused, strict_json
from ..text import visible
from .values import sequence

SCHEMES = ("phoenix", "mlflow", "langfuse", "langsmith")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)})(\+https?)?://([^/?#\s]+)(/[^?#\s]*)?")
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
PER_REQUEST = 60.0  # seconds that one answer may take
PAGE = 100
MOST_PAGES = 100_000
TRIES = 4


class Address(NamedTuple):
    """Which platform, where its API is, and the project there."""

    kind: str
    base: str
    project: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """`phoenix://localhost:6006/project`: https, unless it is this machine or `phoenix+http://` says otherwise."""
        match, shown = _ADDRESS.fullmatch(text), visible(re.sub(r"//.*@", "//…@", text), 80)
        if match is None or "@" in match[3]:
            hint = (
                "Write phoenix://HOST/PROJECT, mlflow://HOST/EXPERIMENT, langfuse://HOST or langsmith://HOST/PROJECT. "
                "Keys come from variables."
            )
            raise UsageError("is not an address of a platform", where=shown, hint=hint, code="platform-address")
        secure = match[2] != "+http" if match[2] else not _LOOPBACK.fullmatch(match[3])
        project = unquote((match[4] or "").strip("/"))
        if not project and match[1] != "langfuse":
            raise UsageError("names no project", where=shown, hint=f"Write {shown}/PROJECT.", code="platform-address")
        return cls(match[1], f"{'https' if secure else 'http'}://{match[3]}", project)


class Window(msgspec.Struct, frozen=True):
    """Which traces: from when to when, and with which tag."""

    since: str = ""
    until: str = ""
    tag: str = ""


def is_platform(text: str) -> bool:
    return re.match(rf"(?:{'|'.join(SCHEMES)})(?:\+https?)?://", text) is not None


def moment(text: str, where: str) -> str:
    """A time in UTC: a date, a time, or how long ago, such as 24h or 7d."""
    if ago := _AGO.fullmatch(text):
        when = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    else:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            hint = "Write 2026-11-01, 2026-11-01T08:00:00Z, 24h or 7d."
            raise UsageError(
                "is not a time", where=f"{where} {visible(text, 40)}", hint=hint, code="platform-time"
            ) from None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class NotThere(EnvironmentFailure):
    """404: no such project, or no such part of the API."""


class Api:
    """Requests to one platform until a deadline; what is down, slow, or no API is said so."""

    def __init__(self, address: Address, seconds: float) -> None:
        self.address, self.seconds = address, seconds
        self._end, self._answers = time.monotonic() + seconds, 0
        self._headers = _credentials(address.kind)
        self.where = f"{address.kind} at {visible(address.base, 100)}"

    def get(self, path: str, **query: object) -> Any:
        words = [(name, str(one)) for name, value in query.items() for one in _listed(value)]
        return self.ask("GET", f"{path}?{urlencode(words)}" if words else path, None)

    def ask(self, method: str, path: str, body: object) -> Any:
        url, wait = self.address.base + path, 0.5
        answer: tuple[int, Mapping[str, str], bytes] | None = None
        for _ in range(TRIES):
            left = self._end - time.monotonic()
            if left <= 0:
                break
            answer = status, headers, _ = ask(method, url, body, self._headers, min(PER_REQUEST, left))
            if status not in (0, 429, 500, 502, 503, 504):
                break
            after = headers.get("Retry-After", "")
            wait = float(after) if after.isdecimal() else wait * 2
            time.sleep(max(0.0, min(wait, 60.0, self._end - time.monotonic())))
        if answer is None or (answer[0] == 0 and self._answers and time.monotonic() >= self._end):
            what = f"it took longer than {self.seconds:g} s, for {self._answers} answers"
            raise self._failure(what, "Raise --deadline; an import goes on with --resume.")
        self._answers += 1
        return self._value(*answer, path)

    def _value(self, status: int, headers: Mapping[str, str], data: bytes, path: str) -> Any:
        text = visible(data[:200].decode("utf-8", "replace"), 120)
        if status == 0:
            raise self._failure(f"no answer: {text}", "Is it running, and the address right?")
        if status in (401, 403):
            raise self._failure(f"refused the request ({status})", f"Set {_VARIABLES[self.address.kind]}.")
        if status == 404:
            what = f"has no {visible(path.partition('?')[0], 120)} (404)"
            raise NotThere(what, where=self.where, hint="Check address and project.", code="platform")
        if not 200 <= status < 300:
            hint = (
                "It is not followed: give the address that it leads to." if 300 <= status < 400 else "Try again later."
            )
            raise self._failure(f"answered {status}: {text}", hint)
        if not data.strip():
            return None
        if data.lstrip()[:1] == b"<" or "text/html" in headers.get("Content-Type", ""):
            raise self._failure("answered with a page of HTML, not with JSON", "Is this the address of the API?")
        try:
            return strict_json(data, nonfinite_is_null=True)
        except Refused as refusal:
            raise self._failure(f"answered with something that is no JSON: {refusal.what}", "Try again.") from None

    def _failure(self, what: str, hint: str) -> ShipworthyError:
        return EnvironmentFailure(what, where=self.where, hint=hint, code="platform")


_VARIABLES = {
    "phoenix": "PHOENIX_API_KEY",
    "mlflow": "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
    "langfuse": "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
    "langsmith": "LANGSMITH_API_KEY",
}


def _credentials(kind: str) -> dict[str, str]:
    """Headers from the variables that the platform's own libraries read; nothing else takes a secret."""
    if kind == "langfuse":
        pair = [os.environ.get(name, "") for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")]
        if not all(pair):
            hint = f"Set {_VARIABLES[kind]}."
            raise UsageError("needs a public and a secret key", where="langfuse", hint=hint, code="platform-key")
        return _basic(pair)
    if kind == "mlflow":
        pair = [os.environ.get(name, "") for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")]
        token = os.environ.get("MLFLOW_TRACKING_TOKEN", "")
        return {"Authorization": f"Bearer {token}"} if token else _basic(pair) if all(pair) else {}
    key = os.environ.get(_VARIABLES[kind], "")
    if kind == "langsmith":
        if not key:
            raise UsageError("needs a key", where="langsmith", hint="Set LANGSMITH_API_KEY.", code="platform-key")
        return {"x-api-key": key}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _basic(pair: list[str]) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(":".join(pair).encode()).decode()}


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value in ("", None) else [value]


# --- one page of each ---

Page = tuple[list[dict[str, Any]], str]  # records, and the cursor of the next page; blank at the end


def _phoenix(api: Api, window: Window, cursor: str) -> Page:
    path = f"/v1/projects/{quote(api.address.project, safe='')}"
    asked = {"limit": PAGE, "cursor": cursor, "start_time": window.since, "end_time": window.until}
    answer = _object(api, api.get(f"{path}/spans", **asked))
    spans = _records(api, answer, "data")
    _annotate(api, path, "span", spans)
    _annotate(api, path, "trace", [span for span in spans if not span.get("parent_id")])
    return spans, str(answer.get("next_cursor") or "")


def _annotate(api: Api, path: str, kind: str, spans: list[dict[str, Any]]) -> None:
    """Give spans what people, judges and scripts said of them, or of the trace that they are the root of."""
    named: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        context = span.get("context")
        name = str(context.get(f"{kind}_id", "")) if isinstance(context, Mapping) else ""
        named.setdefault(name, []).append(span)
    cursor, asked = "", {f"{kind}_ids": list(filter(None, named)), "limit": 1000}
    for _ in range(MOST_PAGES if asked[f"{kind}_ids"] else 0):
        try:
            answer = _object(api, api.get(f"{path}/{kind}_annotations", cursor=cursor, **asked))
        except NotThere:  # a release that does not list them
            return
        for one in _records(api, answer, "data"):
            for span in named.get(str(one.get(f"{kind}_id")), []):
                span.setdefault("annotations", []).append(one)
        following = str(answer.get("next_cursor") or "")
        if not following:
            return
        if following == cursor:
            raise _changed(api, "it gives the same page again")
        cursor = following


def _mlflow(api: Api, window: Window, cursor: str) -> Page:
    experiment, _, token = cursor.partition(" ")
    if not experiment:
        named = api.get("/api/2.0/mlflow/experiments/search", max_results=1, filter=f"name = '{api.address.project}'")
        found = _records(api, {"experiments": []} | _object(api, named), "experiments")
        experiment = str(found[0].get("experiment_id", "")) if found else ""
        if not experiment:
            raise _unknown(api, "experiment")
    name, equals, value = window.tag.partition("=")
    if window.tag and (not (name and equals) or set("`'") & set(window.tag)):
        hint = "Tags of MLflow have a name and a value: --tag kind=nightly."
        raise UsageError("is no tag of MLflow", where=f"--tag {visible(window.tag, 40)}", hint=hint, code="platform")
    conditions = [f"tags.`{name}` = '{value}'"] if window.tag else []
    for sign, moment in ((">=", window.since), ("<=", window.until)):
        if moment:
            conditions.append(f"timestamp_ms {sign} {int(datetime.fromisoformat(moment).timestamp() * 1000)}")
    body: dict[str, object] = {
        "locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}],
        "filter": " AND ".join(conditions),
        "max_results": PAGE,
        "order_by": ["timestamp_ms ASC"],
    }
    if token:
        body["page_token"] = token
    answer = _object(api, api.ask("POST", "/api/3.0/mlflow/traces/search", body))
    traces = []
    for info in _records(api, {"traces": []} | answer, "traces"):  # without any, it leaves the list out
        spans = api.get("/ajax-api/2.0/mlflow/get-trace-artifact", request_id=info.get("trace_id"))
        traces.append({"info": info, "data": _object(api, spans)})
    following = answer.get("next_page_token")
    return traces, f"{experiment} {following}" if following else ""


def _langfuse(api: Api, window: Window, cursor: str) -> Page:
    number, _, before = cursor.partition(" ")
    page = int(number or 1)
    found = _object(
        api,
        api.get(
            "/api/public/traces",
            page=page,
            limit=PAGE,
            fromTimestamp=window.since,
            toTimestamp=window.until,
            tags=window.tag,
            orderBy="timestamp.asc",
        ),
    )
    names = [quote(str(one.get("id", "")), safe="") for one in _records(api, found, "data")]
    traces = [_object(api, api.get(f"/api/public/traces/{name}")) for name in names]
    meta = found.get("meta")
    total, items = (meta.get(name) if isinstance(meta, Mapping) else None for name in ("totalPages", "totalItems"))
    if not isinstance(total, int) or not isinstance(items, int):
        raise _changed(api, "its list of traces does not say how many pages there are")
    if before and items < int(before):  # pages are numbered: after a deletion the next one begins too late
        what = f"traces were deleted while they were pulled: {items} of {before} are left"
        raise DataError(what, where=api.where, hint="Pull again, without --resume.", code="platform-answer")
    return traces, f"{page + 1} {items}" if page < total else ""


def _langsmith(api: Api, window: Window, cursor: str) -> Page:
    session, _, cursor = cursor.partition(" ")
    if not session:
        listed = api.get("/api/v1/sessions", name=api.address.project)
        named = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        session = next((str(one.get("id")) for one in named if one.get("name") == api.address.project), "")
        if not session:
            raise _unknown(api, "project")
    body: dict[str, object] = {"session": [session], "limit": PAGE, "order": "asc"}
    body |= {name: value for name, value in (("start_time", window.since), ("end_time", window.until)) if value}
    if window.tag:
        body["trace_filter"] = f"has(tags, {json.dumps(window.tag)})"
    if cursor:
        body["cursor"] = cursor
    answer = _object(api, api.ask("POST", "/api/v1/runs/query", body))
    following = (answer.get("cursors") or {}).get("next") if isinstance(answer.get("cursors"), Mapping) else None
    return _records(api, answer, "runs"), f"{session} {following}" if following else ""


_PAGES: dict[str, Callable[[Api, Window, str], Page]] = {
    "phoenix": _phoenix,
    "mlflow": _mlflow,
    "langfuse": _langfuse,
    "langsmith": _langsmith,
}


def _object(api: Api, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _changed(api, "it did not answer with an object")
    return value


def _records(api: Api, answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = answer.get(name)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise _changed(api, f"its answer has no list {name!r}")
    return listed


def _unknown(api: Api, what: str) -> UsageError:
    name = visible(api.address.project, 60)
    return UsageError(f"there is no {what} {name!r}", where=api.where, hint="Check its name.", code="platform")


def _changed(api: Api, what: str) -> DataError:
    return DataError(what, where=api.where, hint="Is it a version that this release knows?", code="platform-answer")


# --- the pull ---


def pull(address: Address, chosen: Window, journal: str, *, seconds: float, resume: bool) -> Iterator[dict[str, Any]]:
    """Every record once. Pages are written to the journal as they come; with `resume` it goes on after the last."""
    head = {"address": list(address), "since": chosen.since, "until": chosen.until, "tag": chosen.tag}
    pages, window = _kept(journal, head) if resume else ([], None)
    api = Api(address, seconds)
    if window is None:  # what comes while it is pulled waits for the next time
        since = moment(chosen.since, "--since") if chosen.since else ""
        window = Window(since, moment(chosen.until or "0m", "--until"), chosen.tag)
        write_whole(journal, _line(head | {"window": [window.since, window.until, window.tag]}))
    seen, cursors, cursor = set[str](), set[str](), ""
    for page, cursor in pages:
        cursors.add(cursor)
        yield from _new(page, seen)
    ended = bool(pages) and not cursor
    with open(journal, "ab") as stream:
        while not ended:
            page, following = _PAGES[address.kind](api, window, cursor)
            if following and (following in cursors or len(cursors) >= MOST_PAGES):
                raise _changed(api, "it gives the same page again" if following in cursors else "its pages have no end")
            stream.write(_line({"records": page, "next": following}))
            stream.flush()
            yield from _new(page, seen)
            cursors.add(following)
            cursor, ended = following, not following


def _new(page: list[dict[str, Any]], seen: set[str]) -> Iterator[dict[str, Any]]:
    """The records of a page that were on none before it: pages shift when something is deleted."""
    for record in page:
        context, info = record.get("context"), record.get("info")
        own = context.get("span_id") if isinstance(context, Mapping) else record.get("id")
        name = str(info.get("trace_id") if isinstance(info, Mapping) and "data" in record else own)
        if name not in seen:
            seen.add(name)
            yield record


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def _kept(journal: str, head: Mapping[str, Any]) -> tuple[list[Page], Window | None]:
    """The whole pages of a journal, and the window that it was begun with; half of a page is cut off."""
    try:
        with open(journal, "rb") as stream:
            lines = [line for line in stream if line.endswith(b"\n")]
        first, *pages = [json.loads(line) for line in lines] or [{}]
    except FileNotFoundError:
        return [], None
    except ValueError:
        raise DataError(
            "is damaged", where=visible(journal), hint="Leave out --resume.", code="platform-journal"
        ) from None
    if {name: first.get(name) for name in head} != head:
        what = "belongs to another pull: address, time or tag differ"
        raise UsageError(what, where=visible(journal), hint="Leave out --resume.", code="platform-journal")
    os.truncate(journal, sum(map(len, lines)))
    return [(page["records"], page["next"]) for page in pages], Window(*first["window"])


def pulled(
    address: Address, chosen: Window, folder: str, journal: str, *, seconds: float = 600, resume: bool = False
) -> str:
    """A file in the folder with what was pulled, as the platform's own exports have it."""
    path, tagged = os.path.join(folder, f"{address.kind}.jsonl"), set[str]()
    with open(path, "wb") as stream:
        for record in pull(address, chosen, journal, seconds=seconds, resume=resume):
            stream.write(_line(record))
            if address.kind == "phoenix" and chosen.tag in _tags(record):
                tagged.add(_trace_of(record))
    if address.kind == "phoenix" and chosen.tag:  # its API has no filter for them
        with open(path, "rb") as stream, open(f"{path}.tagged", "wb") as out:
            out.writelines(line for line in stream if _trace_of(json.loads(line)) in tagged)
        os.replace(f"{path}.tagged", path)
    if not os.path.getsize(path):
        where = f"{address.kind} at {visible(address.base, 100)}"
        hint = "Check project, --since, --until and --tag."
        raise DataError("there is no trace", where=where, hint=hint, code="import-empty")
    return path


def _tags(record: Mapping[str, Any]) -> list[str]:
    """The tags of a span by OpenInference: `tag.tags`, a list, or JSON of one."""
    attributes = record.get("attributes")
    value = attributes.get("tag.tags") if isinstance(attributes, Mapping) else None
    return [str(one) for one in sequence(value)]


def _trace_of(record: Mapping[str, Any]) -> str:
    context = record.get("context")
    return str(context.get("trace_id")) if isinstance(context, Mapping) else ""
