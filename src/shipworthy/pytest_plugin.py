"""pytest plugin: `pytest --shipworthy` runs the config's suites, one test a gate and one a gold item.

Without the flag nothing but pytest is imported, and nothing is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .core.decision import Decision

_CASES = pytest.StashKey[list[dict[str, str]]]()
_HANDED_OVER = "shipworthy_cases"  # the name under which workers of xdist get what was judged once


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shipworthy")
    group.addoption("--shipworthy", action="store_true", help="Run `shipworthy check`: a test a gate and a gold item.")
    group.addoption(
        "--shipworthy-config", metavar="FILE", help="Its config. [default: shipworthy.toml or pyproject.toml]"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Judge once, before anything is collected; a config that is wrong ends the session with its message."""
    if not config.getoption("--shipworthy") or config.getoption("help", False):
        return
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    config.stash[_CASES] = _judged(config) if given is None else json.loads(given[_HANDED_OVER])


def _judged(config: pytest.Config) -> list[dict[str, str]]:
    import msgspec

    from .errors import ShipworthyError
    from .jobs.check import check
    from .report.cases import cases

    try:
        board = check(config.getoption("--shipworthy-config"), record=False)
    except ShipworthyError as error:
        raise pytest.UsageError(str(error)) from None
    listed: list[dict[str, str]] = msgspec.to_builtins(list(cases(board)))
    return listed


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist: workers get the cases, and judge nothing themselves."""
    if _CASES in node.config.stash:
        node.workerinput[_HANDED_OVER] = json.dumps(node.config.stash[_CASES])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test a case; first, so that -k and -m choose among them too."""
    if _CASES in config.stash:
        made = list(_items(session, config.stash[_CASES]))
        items.extend(made)
        report = pytest.CollectReport("shipworthy", "passed", None, [*made])  # so that "collected N items" counts them
        session.ihook.pytest_collectreport(report=report)


def _items(session: pytest.Session, cases: list[dict[str, str]]) -> Iterator[pytest.Item]:
    from .text import one_line

    groups: dict[str, _Group] = {}
    taken: dict[str, int] = {}
    for case in cases:
        path = f"shipworthy/{case['suite']}::{case['group']}"
        if path not in groups:
            groups[path] = _Group.from_parent(session, name=path, nodeid=path)
        name = one_line(case["name"], 200).replace("::", ":\\x3a")
        full = f"{path}::{name}"
        taken[full] = taken.get(full, 0) + 1
        unique = name if taken[full] == 1 else f"{name} ({taken[full]})"
        yield _CaseItem.from_parent(groups[path], name=unique, case=case)


class _Group(pytest.Collector):
    """The gates or the items of a suite. There is nothing in it to collect: the tests are made from the board."""

    def collect(self) -> list[pytest.Item]:
        return []


class _CaseItem(pytest.Item):
    """A gate or a gold item."""

    def __init__(self, *, case: dict[str, str], **known: Any) -> None:
        super().__init__(**known)
        self.case = case

    def runtest(self) -> None:
        from .text import one_line

        if self.case["kind"] == "skipped":
            pytest.skip(one_line(self.case["message"] or "excused"))
        if self.case["kind"]:
            raise _Stopped(_shown(self.case))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong with the answer, not where in this file it was raised."""
        return str(excinfo.value) if isinstance(excinfo.value, _Stopped) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        return f"shipworthy/{self.case['suite']}", None, f"{self.case['group']}: {self.name}"


class _Stopped(Exception):
    """A case that fails; its text is all there is to say."""


def _shown(case: dict[str, str]) -> str:
    from .text import inert, visible

    lines = [case["message"], *case["text"].split("\n")]
    return inert("\n".join(visible(line) for line in dict.fromkeys(lines) if line))


class ShortDecision:
    """A decision whose repr is short enough to be read in a failed assertion."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def __getattr__(self, name: str) -> object:
        return getattr(self.decision, name)

    def __repr__(self) -> str:
        from .text import one_line

        reasons = "; ".join(self.decision.reasons[:5])
        return f"<{self.decision.verdict} {self.decision.suite}: {one_line(reasons, 600)}>"


@pytest.fixture(scope="session")
def shipworthy() -> Callable[..., ShortDecision]:
    """Judge in a test of your own: `assert shipworthy(gold, traces).ships`."""

    def judge(gold: object, traces: object, *, suite: str = "answers", **options: Any) -> ShortDecision:
        from .jobs.evaluate import evaluate

        return ShortDecision(evaluate(suite, gold=gold, trace=traces, **options))

    return judge
