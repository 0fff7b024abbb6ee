"""Routes: every page of a history, and the one at an address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from ..history import SHORT
from .addresses import is_cut, name_of, part
from .data import Branch, Source
from .questions import all_item_pages, item, items
from .render import Page, base_of, numbered
from .standards import gate, gold
from .views import check_pages, compare, feed, overview, projects, run, runs

Maker = Callable[[], Page | None]
_NUMBERED = re.compile(r"index\.html|page-([2-9]|[1-9]\d{1,4})\.html")
_RUN = re.compile(rf"[0-9a-zA-Z_.-]{{4,{SHORT}}}")


def every(source: Source) -> Iterator[tuple[str, str, Maker]]:
    """Every page of a site: its path, what its content follows from (blank: all of the history), and what makes it.

    Those that others lead to come first.
    """
    for project, name in source.names:
        branch = source.branch(project, name)
        if branch.checks:
            yield from _branch_pages(branch)
    yield "index.html", "", partial(projects, source)


def _branch_pages(branch: Branch) -> Iterator[tuple[str, str, Maker]]:
    base = base_of(branch.project, branch.name)
    together = {one.seq: check for check in branch.checks for one in check.runs}
    gates = {suite: ",".join(key for one, key in branch.gates if one == suite) for suite in branch.series}
    for found in branch.runs.values():
        before = branch.before(found)
        same = " ".join(one.id[:SHORT] for one in together[found.seq].runs)
        sign = f"{found.id} {before.id if before else ''} {same} {branch.first} {gates[found.suite]}"
        yield f"{base}/runs/{found.id[:SHORT]}/index.html", sign, partial(run, branch, found)
        if before:
            path = f"{base}/compare/{before.id[:SHORT]}..{found.id[:SHORT]}/index.html"
            yield path, sign, partial(compare, branch, before, found)
    for suite, qid in branch.known_items():
        yield f"{base}/items/{part(suite)}/{part(qid)}/index.html", "", partial(item, branch, suite, qid)
    for suite, key in branch.gates:
        yield f"{base}/gates/{part(f'{suite}.{key}')}/index.html", "", partial(gate, branch, suite, key)
    for number in range(1, len(all_item_pages(branch)) + 1):
        yield f"{base}/items/{numbered(number)}", "", partial(items, branch, number)
    for number in range(1, check_pages(branch) + 1):
        yield f"{base}/runs/{numbered(number)}", "", partial(runs, branch, number)
    yield f"{base}/gold/index.html", "", partial(gold, branch)
    yield f"{base}/feed.xml", "", partial(feed, branch)
    yield f"{base}/index.html", "", partial(overview, branch)


def find(source: Source, path: str) -> Page | None:
    """The page at a path from the root; None where there is none."""
    parts = path.split("/")
    if parts == ["index.html"]:
        return projects(source)
    if len(parts) < 4 or parts[0] != "p":
        return None
    named = next((name for name in source.names if [part(one) for one in name] == parts[1:3]), None)
    branch = source.branch(*named) if named else None
    if branch is None or not branch.checks:
        return None
    match parts[3:]:
        case ["index.html"]:
            return overview(branch)
        case ["feed.xml"]:
            return feed(branch)
        case ["gold", "index.html"]:
            return gold(branch)
        case ["runs" | "items" as kind, last] if found := _NUMBERED.fullmatch(last):
            return (runs if kind == "runs" else items)(branch, int(found[1] or 1))
        case ["runs", name, "index.html"]:
            return _run_page(branch, name)
        case ["compare", pair, "index.html"]:
            return _compare_page(branch, pair)
        case ["items", suite, qid, "index.html"]:
            return _item_page(branch, suite, qid)
        case ["gates", name, "index.html"]:
            keys = ((suite, key) for suite, key in branch.gates if part(f"{suite}.{key}") == name)
            return next((gate(branch, *key) for key in keys), None)
    return None


def _run_page(branch: Branch, name: str) -> Page | None:
    found = branch.find(name) if len(name) == SHORT and _RUN.fullmatch(name) else None
    return run(branch, found) if found else None


def _compare_page(branch: Branch, pair: str) -> Page | None:
    names = pair.split("..")
    if len(names) != 2 or not all(len(name) == SHORT and _RUN.fullmatch(name) for name in names):
        return None
    a, b = map(branch.find, names)
    return compare(branch, a, b) if a and b and a.suite == b.suite else None


def _item_page(branch: Branch, suite_part: str, qid_part: str) -> Page | None:
    suite = next((one for one in branch.series if part(one) == suite_part), None)
    if suite is None:
        return None
    qid = branch.cut_name(suite, lambda name: part(name) == qid_part) if is_cut(qid_part) else name_of(qid_part)
    return item(branch, suite, qid) if qid is not None else None
