"""Live: a `check --run` that is under way, as its journal tells it: what is saved, and what fails first.

A question is judged by its own suite, once all of its planned runs are saved. No more is judged than it takes to show
the first that fail, and at each look no more than a few hundred questions.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from ..config import Config, SuiteConfig
from ..core.decision import Decision
from ..core.run_options import of_config
from ..core.sources import read_gold
from ..core.suite import Suite
from ..errors import ShipworthyError
from ..runner.journal import beside
from ..runner.plan import make_plan
from ..suites import load_suite, reason_words
from .render import At, Page, brief, page

FIRST = 20  # failures that are shown
AT_ONCE = 400  # questions that are judged at one look
MOST_WAITING = 20_000_000  # bytes of lines whose question is not whole
_BLOCK = 1 << 20

Judge = Callable[..., Decision]  # as `run_suite` is called: a suite, its sources, its options


class _Line(msgspec.Struct):
    qid: str = ""
    error: str | None = None


class FailingAnswer(msgspec.Struct):
    """An answer that fails."""

    qid: str
    reason: str
    question: str
    answer: str


class Sweep(msgspec.Struct):
    """A file of traces that is being written."""

    suite: str
    target: str
    planned: int
    done: int
    failed: int
    failures: list[tuple[str, str]]  # question and error, the first ones
    started: str
    judged: int = 0  # questions; once enough fail, no more are
    answers: list[FailingAnswer] = []  # the first that fail
    unjudged: str = ""  # why they can't be judged

    @property
    def share(self) -> int:
        return 100 * self.done // self.planned if self.planned else 0


class _Follower:
    """What was read of one journal; nothing is read or judged twice."""

    def __init__(self, path: str, suite: SuiteConfig, judge: Judge | None, redact: bool) -> None:
        self.path, self.suite, self._judge, self._redact = path, suite, judge, redact
        self.at = self.done = self.failed = self.judged = 0
        self.failures: list[tuple[str, str]] = []
        self.answers: list[FailingAnswer] = []
        self.unjudged = ""
        self._lines: dict[str, list[bytes]] = {}  # of questions that are not judged yet
        self._waiting = 0
        self._gold: dict[str, Any] = {}

    def look(self) -> Sweep:
        header = json.loads(_read(os.fspath(beside(self.path)), _BLOCK))
        with open(self.path, "rb") as stream:
            stream.seek(self.at)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # not whole yet
                self.at += len(line)
                self.done += 1
                self._add(line)
        if self._judge and self._lines and len(self.answers) < FIRST:
            self._look_at_answers(self._judge)
        return Sweep(
            self.suite.name,
            brief(header.get("target", ""), 80),
            int(header.get("planned", 0)),
            self.done,
            self.failed,
            self.failures,
            brief(header.get("created", ""), 40),
            self.judged,
            self.answers,
            self.unjudged,
        )

    def _add(self, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if found.error:
            self.failed += 1
            self.failures = [*self.failures, (brief(found.qid, 60), brief(found.error, 200))][:FIRST]
        elif len(self.answers) < FIRST and self._waiting < MOST_WAITING:
            self._lines.setdefault(found.qid, []).append(line)
            self._waiting += len(line)

    def _runs_of(self, qid: str) -> int:
        """How many runs of a question are planned."""
        return sum(1 for _ in make_plan([self._gold[qid]], **of_config(self.suite.driving)))

    def _look_at_answers(self, judge: Judge) -> None:
        try:
            self._gold = self._gold or {
                str(item.qid): item for item in read_gold(self.suite.inputs["gold"], self.suite.options.get("map", ()))
            }
            waiting = (qid for qid in self._lines if qid in self._gold)
            whole = list(islice((qid for qid in waiting if len(self._lines[qid]) >= self._runs_of(qid)), AT_ONCE))
            if whole:
                self._judge_some(judge, whole)
            self.unjudged = ""
        except ShipworthyError as error:  # they wait: a gold set may be mended meanwhile
            self.unjudged = brief(error, 300)
        except Exception as error:  # whatever is wrong with a line, the page is there
            self.unjudged = brief(f"{type(error).__name__}: {error}", 300)

    def _judge_some(self, judge: Judge, names: list[str]) -> None:
        rows = [msgspec.json.decode(line) for name in names for line in self._lines[name]]
        suite, given = load_suite(self.suite.name), {**self.suite.options, "offenders": FIRST, "lenient": True}
        given = {key: value for key, value in given.items() if key not in ("by", "where", "closed")}
        sources = self.suite.inputs | {"gold": [self._gold[name] for name in names], self.suite.driven: rows}
        decision = judge(suite, sources, given, reports=False)
        failing = {str(card.get("qid")): card for card in reversed(decision.cards or decision.offenders)}
        self.answers += [self._failing(failing[name]) for name in names if name in failing]
        del self.answers[FIRST:]
        self.judged += len(names)
        for name in names:
            self._waiting -= sum(map(len, self._lines.pop(name)))

    def _failing(self, card: Mapping[str, Any]) -> FailingAnswer:
        return FailingAnswer(
            brief(card.get("qid", ""), 60),
            brief(reason_words(self.suite.name, str(card.get("reason", ""))), 80),
            brief(card.get("question") or "", 200),
            "" if self._redact else brief(card.get("claim") or "", 400),
        )


class Live:
    """What the suites of a config are being sent."""

    def __init__(self, config: Config | None, judge: Judge | None = None, redact: bool = False) -> None:
        self._suites: dict[str, SuiteConfig] = {}
        for one in config.suites if config else ():
            driven = config is not None and one.driving.get("target", "") in config.targets and one.driven in one.inputs
            if driven and not (one.inputs[one.driven] in self._suites and _refers(one)):
                self._suites[one.inputs[one.driven]] = one
        self._judge, self._redact = judge, redact
        self._followers: dict[str, _Follower] = {}
        self._lock = threading.Lock()  # one look at a time: what one reader has read, the next has too

    def sweeps(self) -> list[Sweep]:
        """Those that are under way now."""
        found = []
        for path, suite in self._suites.items():
            for name in (f"{path}.rerun", path):
                with suppress(OSError, ValueError, TypeError):
                    if _is_written(name):
                        found.append(self._follower(name, suite).look())
                        break
        return found

    def _follower(self, path: str, suite: SuiteConfig) -> _Follower:
        known = self._followers.get(path)
        if known is None or os.path.getsize(path) < known.at:  # begun anew
            self._followers[path] = known = _Follower(path, suite, self._judge, self._redact)
        return known

    def page(self) -> Page:
        with self._lock:
            found = self.sweeps()
        data = [msgspec.to_builtins(sweep) | {"share": sweep.share} for sweep in found]
        return page("live", At("live/index.html"), {"running": data}, sweeps=found)


def _refers(suite: SuiteConfig) -> bool:
    """Whether another suite decides about wrong answers."""
    loaded: Suite = load_suite(suite.name)
    return bool(loaded.refers_to)


def _is_written(path: str) -> bool:
    """Whether a process that still runs holds the journal; its note says which."""
    note = json.loads(_read(f"{path}.lock", 1000))
    if note["host"] != platform.node():
        return os.path.exists(path)
    try:
        os.kill(int(note["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return os.path.exists(path)


def _read(path: str, most: int) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(most)
