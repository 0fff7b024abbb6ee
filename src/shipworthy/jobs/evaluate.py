"""Evaluate: the one door to a suite, for the command line, check, controls, verify and the library."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from typing import Any

from ..core import evaluate as core
from ..core.decision import Decision
from ..core.options import SuiteOptions, fields_of, make_options, recorded
from ..core.sources import GoldSource, TraceSource
from ..core.suite import InputSpec, Suite
from ..engines import engine as engine_named
from ..errors import UsageError
from ..reading.files import expanded, is_remote
from ..suites import load_suite, suite_for


def evaluate(
    suite: str | Suite | GoldSource,
    traces: TraceSource | None = None,
    /,
    *more: object,
    tick: core.Tick | None = None,
    engine: str = "memory",
    jobs: int | None = None,
    scheduler: str | None = None,
    memory_limit: str | int | None = None,
    **given: object,
) -> Decision:
    """Score with a suite, and decide.

    `evaluate("stability", gold=…, runs=…, gates="css=0.8")`: a suite by name, its inputs and its options by theirs.
    `evaluate(gold, traces, k=5)`: the answers suite. Inputs are paths, iterables of dicts or of typed records, or
    tables of pandas, Polars, pyarrow and Hugging Face; of traces a glob or a folder will do as well. `engine="auto"`
    uses all cores where that pays, `jobs` says how many; `engine="dask"` uses the cluster of the `scheduler`.
    `memory_limit="512MB"` works within so much memory, and puts the rest in a temporary folder.
    """
    if traces is not None and not more:
        given = {"gold": suite, "trace": traces} | given
        suite = "answers"
    elif more or not isinstance(suite, (str, Suite)):
        raise UsageError(
            "evaluate takes a suite and its inputs by name, or gold and traces",
            hint='Write evaluate("stability", gold=…, runs=…), or evaluate(gold, traces).',
            code="evaluate-arguments",
        )
    chosen = load_suite(suite) if isinstance(suite, str) else suite
    names = {spec.name for spec in chosen.inputs}
    sources = {name: given.pop(name) for name in list(given) if name in names}
    settings: dict[str, Any] = {"jobs": jobs, "scheduler": scheduler, "memory_limit": memory_limit}
    return run_suite(chosen, sources, given, tick=tick, engine=engine, **settings)


def run_suite(
    suite: Suite,
    sources: Mapping[str, object],
    given: Mapping[str, object],
    *,
    tick: core.Tick | None = None,
    engine: str = "memory",
    reports: bool = True,
    **settings: Any,
) -> Decision:
    """Run a suite; what it was called with stands in the decision's `run`, so that it can be computed again.

    Without `reports` the decision may lack what only they show: the rows of items that pass, the digest of gold.
    """
    options = make_options(suite.options, given, suite.name)
    sources = {name: source for name, source in sources.items() if source is not None}
    check_inputs(suite, sources)
    library, sources = _without_tables(sources)
    many = {spec.name for spec in suite.inputs if spec.many}
    sources = {name: expanded(source) if name in many else source for name, source in sources.items()}
    suite = suite_for(suite, options, sources)
    chosen = engine_named(engine, **settings)
    decision = core.evaluate(suite, sources, options, chosen, tick, reports=reports)
    decision.library = library
    paths = {
        name: _whole(os.fspath(source)) for name, source in sources.items() if isinstance(source, (str, os.PathLike))
    }
    if engine not in ("memory", "auto"):
        decision.run = decision.run | {"engine": engine}
    call: dict[str, object] = {"inputs": paths, "options": recorded(options) | _files(options, decision)}
    # How letters fold depends on Python's Unicode tables: a report says by which it was made, outside its digest.
    decision.run = decision.run | {"call": call | {"unicode": unicodedata.unidata_version}}
    return decision


def _without_tables(sources: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Tables of other libraries as rows, and the first of these libraries."""
    if all(isinstance(source, (str, os.PathLike)) or type(source) in (list, dict) for source in sources.values()):
        return "", sources
    from ..reading.frames import library_of, rows_of

    libraries = {name: library for name, source in sources.items() if (library := library_of(source))}
    rows = {name: rows_of(sources[name], name) for name in libraries}
    return next(iter(libraries.values()), ""), {**sources, **rows}


def _whole(path: str) -> str:
    """The path from the root, by which it is found again; an address is one already."""
    return path if is_remote(path) else os.path.abspath(path)


def _files(options: SuiteOptions, decision: Decision) -> dict[str, str]:
    """The options that were read as a file, such as an id map, by their whole path."""
    read = {name: decision.run.get(name) for name in options.__struct_fields__}
    return {name: os.path.abspath(path) for name, path in read.items() if isinstance(path, str)}


def check_inputs(suite: Suite, sources: Mapping[str, object]) -> None:
    """Every required input is there, and nothing that the suite does not read."""
    known = {spec.name: spec for spec in suite.inputs}
    for name in sources:
        if name not in known:
            raise UsageError(
                f"{suite.name} does not read {name!r}", hint=f"It reads: {', '.join(known)}.", code="input-unknown"
            )
    missing = [spec for spec in suite.inputs if spec.required and spec.name not in sources]
    if missing:
        raise UsageError(
            f"{suite.name} needs {missing[0].name}",
            hint=f"{missing[0].help} Give {_flag(missing[0])}.",
            code="input-missing",
        )


def _flag(spec: InputSpec) -> str:
    return f"{(spec.flags or ('--' + spec.name,))[0]} FILE"


def parameters(suite: Suite) -> set[str]:
    """The names of a suite's inputs and options."""
    return {spec.name for spec in suite.inputs} | set(fields_of(suite.options))
