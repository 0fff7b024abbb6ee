"""Uploads: `POST /api/runs` adds reports to the history. What comes in is data: checked, bounded, recorded once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ..errors import DataError, ShipworthyError
from ..history import SHORT, History
from ..history.records import run_id
from ..history.store import KNOWN
from ..reading.reports import check_report, reports_of
from ..reading.strict import Refused, strict_json
from ..text import visible
from .tokens import project_of

LARGEST = 64 << 20  # bytes of an upload
SLOWEST = 120.0  # seconds that one may take to arrive
_NAMES = 500  # characters of a commit, a label and the like


class Rejection(Exception):
    """Why a request is not served: its status, a code, and what to do."""

    def __init__(self, status: int, code: str, message: str, retry: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry = status, code, message, retry


class Bucket:
    """So many a minute for each name, evenly refilled; the names of those that are full again are forgotten."""

    def __init__(self, per_minute: int) -> None:
        self._rate, self._most = per_minute / 60, float(per_minute)
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> int:
        """0, or in how many seconds to come again."""
        now = time.monotonic()
        if len(self._left) > 10_000:
            self._left = {
                key: one for key, one in self._left.items() if one[0] + (now - one[1]) * self._rate < self._most
            }
        left, at = self._left.get(name, (self._most, now))
        left = min(left + (now - at) * self._rate, self._most)
        if left < 1:
            self._left[name] = (left, now)
            return max(round((1 - left) / self._rate), 1)
        self._left[name] = (left - 1, now)
        return 0


class Uploads:
    """The door for runs."""

    def __init__(self, url: str, *, per_minute: int, largest: int = LARGEST, at_once: int = 4) -> None:
        self._history, self._largest = History(url, 30.0), largest
        self._tokens, self._guesses = Bucket(per_minute), Bucket(30)
        self._places = asyncio.Semaphore(at_once)  # so that many large uploads don't fill the memory

    async def __call__(self, request: Request) -> tuple[int, dict[str, Any]]:
        """The status and the answer."""
        name, project = await self._allowed(request)
        if wait := self._tokens.take(name):
            raise Rejection(429, "too-many-uploads", "This token adds runs too often.", wait)
        self._check_length(request)
        async with self._places:
            body = await self._body(request)
            return await run_in_threadpool(self._recorded, body, project)

    async def _allowed(self, request: Request) -> tuple[str, str]:
        """The token's id and project."""
        client = request.client.host if request.client else ""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        found = await run_in_threadpool(project_of, self._history, secret.strip()) if kind.lower() == "bearer" else None
        if found is None:
            if wait := self._guesses.take(client):
                raise Rejection(429, "too-many-guesses", "Too many requests without a valid token.", wait)
            raise Rejection(401, "unauthorized", "Send the header Authorization: Bearer TOKEN with a token in force.")
        return found

    def _check_length(self, request: Request) -> None:
        """Refuse by what the client says, before a byte of it is read."""
        length = request.headers.get("content-length", "")
        if length and (not length.isdecimal() or len(length) > 15 or int(length) > self._largest):
            raise Rejection(413, "upload-too-large", f"A report of more than {self._largest >> 20} MB is not taken.")

    async def _body(self, request: Request) -> bytes:
        parts, size = [], 0
        try:
            async with asyncio.timeout(SLOWEST):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self._largest:
                        raise Rejection(
                            413, "upload-too-large", f"A report of more than {self._largest >> 20} MB is not taken."
                        )
                    parts.append(chunk)
        except TimeoutError:
            raise Rejection(408, "upload-too-slow", f"The upload took longer than {SLOWEST:.0f} seconds.") from None
        return b"".join(parts)

    def _recorded(self, body: bytes, project: str) -> tuple[int, dict[str, Any]]:
        report, known = _read(body, project)
        reports = reports_of(report)
        known |= {"recorded_at": known["recorded_at"] or datetime.now(UTC).isoformat(timespec="microseconds")}
        runs = []
        for one in reports:
            place = (visible(known[key]) for key in ("commit", "branch", "label"))
            before = self._history.read(
                "SELECT project FROM shipworthy_runs WHERE id = ?", (run_id(str(one["digest"]), *place),)
            )
            if before and before[0][0] != visible(project, _NAMES):
                raise Rejection(409, "other-project", "The same run is recorded already, in another project.")
            name = self._history.record(one, **known)
            runs.append({"id": name, "short": name[:SHORT], "suite": one["shipworthy"]["suite"], "new": not before})
        return (201 if any(run["new"] for run in runs) else 200), {"project": project, "runs": runs}


def _read(body: bytes, project: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The report, and what is known of its run: a report alone, or one with what is known beside it."""
    try:
        value = strict_json(body)
    except Refused as refusal:
        raise Rejection(400, "not-json", f"The body is not JSON that we take: {refusal.what}.") from None
    except (ValueError, RecursionError):
        raise Rejection(400, "not-json", "The body is not JSON.") from None
    wrapped = isinstance(value, dict) and "report" in value and "shipworthy" not in value
    try:
        report = check_report(value["report"] if wrapped else value, "report")
        if not reports_of(report):
            raise DataError("has no suite", where="report", code="report-invalid")
    except ShipworthyError as error:
        raise Rejection(422, error.code, visible(str(error), 500)) from None
    given = value if wrapped else _of_build(report)
    known = {}
    for key in KNOWN:
        text = given.get(key, "")
        if not isinstance(text, str) or len(text) > _NAMES:
            raise Rejection(422, "field-invalid", f"{key} must be a text of at most {_NAMES} characters.")
        known[key] = text
    if known["project"] not in ("", project):
        raise Rejection(403, "wrong-project", "This token adds runs to another project.")
    return report, known | {"project": project, "recorded_at": _time(known["recorded_at"])}


def _of_build(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of its own build."""
    run = report.get("run")
    build = run.get("build") if isinstance(run, Mapping) else None
    if not isinstance(build, Mapping):
        return {}
    known = {key: build.get(key, "") for key in KNOWN if key not in ("project", "recorded_at")}
    return {key: text for key, text in known.items() if isinstance(text, str)}


def _time(text: str) -> str:
    """A time in UTC; blank where it is none, or one to come: the newest run must not stay the newest for ever."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    return at.isoformat() if at <= datetime.now(UTC) else ""
