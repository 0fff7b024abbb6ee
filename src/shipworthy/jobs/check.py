"""Check: every suite of the config, one board, one verdict; then, and only then, history."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ..config import Config, SuiteConfig, TargetConfig, load_config
from ..core.board import Board
from ..core.decision import encode
from ..core.decision import report as report_of
from ..core.gates import Gate
from ..core.options import fields_of
from ..core.policy import apply_policy, check_waivers, quarantine_notes, waiver_notes, with_incomplete
from ..core.run_options import of_config
from ..core.subset import choose, parse_where
from ..core.temporary import parse_size
from ..engines import engine as engine_named
from ..errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from ..reading.archives import KEPT, sharing
from ..reading.files import Files, expanded, write_whole
from ..reading.jsonl import Problems, Reader, read_objects
from ..reading.plans import Planned, Plans, add_plans, note_runs
from ..reading.reports import load_report, reports_of
from ..suites import load_suite, passing_rule
from ..text import first_few, plural, visible
from .baselines import Reports, against_baseline, baseline_values, load_baseline, renewal, why_not_compared
from .evaluate import run_suite
from .record import note_since, record_board
from .verify import policy_block

_NAME_ONE = "Save one (`shipworthy baseline save`) and use --baseline baseline.json, or bless a run by name."
_PLAN = ("sweep_id", "planned_runs")  # what a run says of its plan


def check(
    config: Config | str | os.PathLike[str] | None = None,
    *,
    suites: Iterable[str] = (),
    baseline: str = "",
    require_proof: bool = False,
    where: Iterable[str] = (),
    record: bool | None = None,
    label: str = "",
    today: datetime.date | None = None,
    engine: str = "auto",
    jobs: int | None = None,
    scheduler: str | None = None,
    memory_limit: str | int | None = None,
) -> Board:
    """Run the config's suites and decide. One suite that fails, or can't be run, does not hide another.

    `engine` does the work of each suite, in so many `jobs`, or on the cluster of the `scheduler`; within the
    `memory_limit`, or else that of the config.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    limit = memory_limit or settings.memory_limit or None
    how = {"jobs": jobs, "scheduler": scheduler, "memory_limit": limit}
    engine_named(engine, **how)  # a misspelt one is an error of the call, not of each suite
    if limit is not None:
        parse_size(limit)
    day = today or datetime.datetime.now(datetime.UTC).date()
    chosen = _chosen(settings, suites, tuple(where), day)
    board = Board([], run={"config": settings.path})
    if left := [suite.name for suite in settings.suites if suite.name not in {one.name for one in chosen}]:
        board.notes += [f"not run, because they take no --where: {', '.join(left)}"] if where and not suites else []
    name = baseline or settings.baseline
    blessed = _blessed(board, settings, name, bool(baseline))  # first, because a misspelt name should not cost a run
    with sharing(_shared_files(chosen), KEPT if limit is None else 0):
        for suite in chosen:
            _run(board, suite, require_proof, engine, how)
    _apply_policy(board, settings, name, blessed, day)
    _refuse_changed(board)
    _note_quarantine(board, settings, day, complete=not where)
    if settings.controls:
        _run_controls(board, settings)
    note_since(board, settings, label)
    if settings.record if record is None else record:
        record_board(board, settings, label)
    return board


@contextmanager
def driving(config: Config, suites: Iterable[str] = ()) -> Iterator[None]:
    """Keep other checks from writing the same traces, until these are written and judged."""
    from ..runner.journal import LOCK, held

    with ExitStack() as locks:
        for out in sorted(
            {suite.inputs[suite.driven] for suite in choose_suites(config, suites) if _target_of(suite, config)}
        ):
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
            locks.enter_context(held(Path(out + LOCK), "another check --run is writing it"))
        yield


def _target_of(suite: SuiteConfig, config: Config) -> TargetConfig | None:
    return config.targets.get(suite.driving.get("target", ""))


def drive(
    config: Config,
    *,
    suites: Iterable[str] = (),
    failing: set[str] | None = None,
    where: Iterable[str] = (),
    dedupe: bool = True,
    announce: Callable[[str], None] | None = None,
    resume: bool = False,
    moves: list[Callable[[], None]] | None = None,
) -> list[str]:
    """Ask the targets of the suites that name one, and write their traces; a line for each about what was asked.

    With `failing`, only those questions are asked again, and their new traces replace the old ones; with `where`, only
    the questions that it chooses. `dedupe` and `announce` are those of `run`. `resume` goes on with what an interrupted
    call has sent. With `moves`, new traces take the place of the old ones when these are called.
    """
    sending = {"dedupe": dedupe, "announce": announce, "resume": resume, "overwrite": not resume}
    later = moves if moves is not None else []
    lines = []
    for suite in choose_suites(config, suites):
        if target := _target_of(suite, config):
            lines.append(_ask(suite, target, failing, parse_where(where), sending, later))
            if moves is None:
                later.pop()()
    if not lines:
        raise UsageError(
            "there is no target to send the questions to",
            where=config.path,
            code="run-no-target",
            hint="Write a table [target] with the url of your service: shipworthy init --url URL --force.",
        )
    return lines


def repeated(config: Config, number: int) -> Config:
    """The config with the traces of its targets in files beside, for another run in which nothing was changed."""
    suites = []
    for suite in config.suites:
        if _target_of(suite, config):
            beside = {suite.driven: f"{suite.inputs[suite.driven]}.repeat{number}"}
            suite = msgspec.structs.replace(suite, inputs=suite.inputs | beside)
        suites.append(suite)
    return msgspec.structs.replace(config, suites=suites)


def noise(config: Config, boards: Sequence[Board]) -> list[str]:
    """What runs of the same pipeline tell of the next one: whether it would decide so, and what to gate on."""
    from .power import flips, power_of_report

    notes = []
    for suite in config.suites:
        runs = [report_of(one) for board in boards for one in board.decisions if one.suite == suite.name]
        if not _target_of(suite, config) or len(runs) < len(boards):
            continue
        found = flips(*runs)
        notes.append(
            f"{suite.name}: sent {len(runs)} times ({', '.join(found.decisions)}). Another run of the same pipeline "
            f"would ship in {float(found.ships):.1%} of cases; two runs would decide differently in "
            f"{float(found.flips):.1%}"
        )
        unsteady = f"unsteady questions: {first_few(found.differ)}" if found.differ else "no question is unsteady"
        notes.append(f"{suite.name}: {unsteady} ({len(found.differ)} of {found.questions})")
        notes += [f"{suite.name}: {one.gate}: {words}" for one in found.gates if (words := one.thresholds())]
        notes += [
            f"{suite.name}: to prove {need.line()}"
            for need in power_of_report(runs[0], {})
            if need.items is not None and need.items > (need.n or 0)
        ]
    return notes


def _ask(
    suite: SuiteConfig,
    target: TargetConfig,
    failing: set[str] | None,
    where: Mapping[str, Sequence[str]],
    sending: dict[str, Any],
    moves: list[Callable[[], None]],
) -> str:
    from ..core.sources import read_gold
    from ..runner import run
    from ..runner.journal import beside
    from ..runner.plan import make_plan

    out = suite.inputs[suite.driven]
    fields = suite.options.get("map", ())
    questions = choose(read_gold(suite.inputs["gold"], fields, where), where)
    gold = [item for item in questions if failing is None or str(item.qid) in failing]
    if failing is not None and not os.path.exists(out):
        raise UsageError(
            "there are no traces yet",
            where=out,
            hint="Leave out --filter-failing: check --run sends every question.",
            code="check-filter",
        )
    if not gold:
        moves.append(lambda: None)
        return f"{suite.name}: nothing failed, so nothing was sent"
    grid = of_config(suite.driving)
    options = {"mapping": fields} | of_config(target.options) | grid
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    fresh = f"{out}.rerun"  # beside them, so that the old traces stay until the new ones are whole
    summary = run(gold, target.spec, fresh, **options, **sending)
    summary.check_mapping("[map]")

    def move() -> None:
        if not os.path.exists(fresh):
            return  # two suites that share a file
        if failing is None and not (where and os.path.exists(out)):
            os.replace(fresh, out)
            os.replace(beside(fresh), beside(out))
        else:
            every = {ask.run_id for ask in make_plan(read_gold(suite.inputs["gold"], fields), **grid)}
            _replace_traces(out, fresh, {str(item.qid) for item in gold}, every)

    moves.append(move)
    saved = plural(summary.finished, "response")
    resumed = f", {summary.resumed} resumed" if summary.resumed else ""
    return f"{suite.name}: {saved} saved in {_from_here(out)}, {summary.failed} failed{resumed}"


def _from_here(path: str) -> str:
    """A path below the working directory from there, any other whole."""
    return os.path.abspath(path).removeprefix(os.getcwd() + os.sep)


def _replace_traces(out: str, fresh: str, asked: set[str], every: set[str]) -> None:
    """The old traces of what was not asked again, then the new ones.

    The new ones belong to the sweep of those that they stand beside, so that the file is judged as one. Its plan then
    has them in the place of the runs that they replace; what it lacks besides, it still lacks. `every` is what the
    config would ask in all, by which a plan is known to be of the same runs.
    """
    from ..runner.journal import beside

    problems, plans = Problems(), Plans()
    reader = Reader(out, dict, problems)
    old = [row for _, row in reader]  # without the header of an older file
    problems.raise_any()
    add_plans(plans, reader.plans)
    note_runs(plans, old)
    kept = [row for row in old if str(row.get("qid", row.get("q_id"))) not in asked]
    new = [row for _, row in read_objects(fresh)]
    sweep = kept[-1].get("sweep_id") if kept else None
    names = {row["run_id"] for row in new}
    for plan, known in plans.items():
        runs = {row.get("run_id") for row in old if row.get("sweep_id") == plan}
        gone = runs - {row.get("run_id") for row in kept if row.get("sweep_id") == plan}
        if plan == sweep:
            gone |= names if known.planned == len(every) and runs <= every else set()
        if known.planned:
            known.planned += (len(new) if plan == sweep else 0) - len(gone)
    if kept:
        new = [{name: value for name, value in row.items() if name not in _PLAN} for row in new]
        new = [row | ({"sweep_id": sweep} if sweep else {}) for row in new]
    for row in [*kept, *(new if kept else [])]:
        if planned := plans.get(row.get("sweep_id") or "", Planned()).planned:
            row["planned_runs"] = planned
    write_whole(out, b"".join(encode(row, indent=None) + b"\n" for row in [*kept, *new]))
    for path in (fresh, beside(fresh), beside(out)):
        Path(path).unlink(missing_ok=True)


def choose_suites(config: Config, names: Iterable[str]) -> list[SuiteConfig]:
    """The suites of these names, all where none is named."""
    known, names = {suite.name: suite for suite in config.suites}, list(names)
    for name in names:
        if name not in known:
            raise UsageError(
                f"the config has no suite {name!r}",
                where=config.path,
                hint=f"It has: {', '.join(known)}.",
                code="suite-unknown",
            )
    return [known[name] for name in names] or config.suites


def _chosen(config: Config, names: Iterable[str], where: tuple[str, ...], day: datetime.date) -> list[SuiteConfig]:
    """The suites as they are judged: on the questions that --where chooses, gates without those in quarantine.

    Accuracy is left to the suite that is about it where that runs too: one fault, one red suite.
    """
    suites = _narrowed(choose_suites(config, names), where)
    running = {suite.name for suite in suites}
    quarantine = tuple(entry.qid for entry in config.quarantine if not entry.expired(day))
    found = []
    for suite in suites:
        loaded, options = load_suite(suite.name), suite.options
        if quarantine and "quarantine" in fields_of(loaded.options) and "gold" in suite.inputs:
            options = options | {"quarantine": quarantine}
        if loaded.refers_to in running:
            options = {"accuracy": "refer"} | options
        found.append(msgspec.structs.replace(suite, options=options))
    return found


def _run(board: Board, suite: SuiteConfig, require_proof: bool, engine: str, settings: Mapping[str, Any]) -> None:
    """Put the suite's decision on the board, or why there is none."""
    options = suite.options | {"gates": suite.gates} | ({"require_proof": True} if require_proof else {})
    try:
        board.decisions.append(run_suite(load_suite(suite.name), suite.inputs, options, engine=engine, **settings))
    except ShipworthyError as error:
        error.where = error.where or _place(suite, error)
        error.hint = _how_to_make(suite, error) or error.hint
        _fail(board, suite.name, str(error), error.exit_code)
    except Exception as error:  # a fault of ours in one suite must not take the others' verdicts along
        _fail(board, suite.name, f"{type(error).__name__}: {error} [internal]", EnvironmentFailure.exit_code)


def _fail(board: Board, name: str, why: str, code: int) -> None:
    board.failures[name], board.exit_codes[name] = why, code


def _how_to_make(suite: SuiteConfig, error: ShipworthyError) -> str:
    """What writes the traces that are not there yet."""
    path = suite.inputs.get(suite.driven, "")
    if error.code != "no-file" or not path or os.path.exists(path):
        return ""
    if suite.driving.get("target"):
        return "Add --run to send the questions to the target and write it."
    return "Write it with `shipworthy run`, or connect your service with `shipworthy init --url URL`."


def _place(suite: SuiteConfig, error: ShipworthyError) -> str:
    """The line of the config whose gate the error is about."""
    if not error.code.startswith("gate-"):
        return ""
    about = (
        place
        for text, place in suite.places.items()
        if error.what.startswith(text) or repr(Gate.parse(text).metric) in error.what
    )
    return next(about, "")


def _blessed(board: Board, config: Config, name: str, given: bool) -> Reports | None:
    """The baseline's reports by suite; None where none is asked for, or where it can't be read, which is a failure."""
    try:
        return load_baseline(config, name, given) if name else None
    except EnvironmentFailure as error:
        _fail(board, "baseline", str(error), error.exit_code)
        return None


def _apply_policy(
    board: Board, config: Config, name: str, blessed: Mapping[str, Mapping[str, object]] | None, day: datetime.date
) -> None:
    """Severities, waivers and the baseline, laid on every decision."""
    if len(board.decisions) == len(config.suites):  # else the waived gate may be one of a suite that did not run
        check_waivers(config.waivers, board.decisions)
    policies = {suite.name: suite.policies for suite in config.suites}
    for index, decision in enumerate(board.decisions):
        base = (blessed or {}).get(decision.suite)
        bounds = baseline_values(base, decision) if base else None
        judged = apply_policy(
            decision, waivers=config.waivers, policies=policies[decision.suite], baseline=bounds, today=day
        )
        judged.run = judged.run | {"policy": policy_block(config.waivers, policies[decision.suite], bounds, day)}
        board.decisions[index] = judged
        if blessed is not None:
            board.notes += against_baseline(board, index, name, base, config)
        elif not name and any(outcome.gate.bound.sign and outcome.bound is None for outcome in judged.outcomes):
            board.notes.append(
                f"{judged.suite}: a gate compares with a baseline, but no baseline is named. {_NAME_ONE}"
            )
    board.notes += waiver_notes(config.waivers, board.decisions, day)


def refuse_incomparable(
    config: Config, *, baseline: str = "", suites: Iterable[str] = (), where: Iterable[str] = ()
) -> None:
    """Before anything is sent: an error where what will come back could not be compared with the baseline.

    The gold set, judged without a trace, has all that a comparison hangs on but the answers.
    """
    name = baseline or config.baseline
    if not name:
        return
    blessed = load_baseline(config, name, bool(baseline))
    day = datetime.datetime.now(datetime.UTC).date()
    for suite in _chosen(config, suites, tuple(where), day):
        if not suite.driven or _target_of(suite, config) is None or config.on_incomparable == "warn":
            continue
        empty = msgspec.structs.replace(suite, inputs=suite.inputs | {suite.driven: ()})
        board = Board([])  # what is wrong with the suite is for the check to say
        _run(board, empty, False, "memory", {})
        for decision in board.decisions:
            policed = apply_policy(decision, waivers=config.waivers, policies=suite.policies, today=day)
            if what := why_not_compared(name, blessed.get(suite.name), report_of(decision), policed):
                raise DataError(
                    f"{suite.name}: {what}. Nothing was sent",
                    where=config.path,
                    hint=f"Compare with another one, or make it new: {renewal(name)}.",
                    code="baseline-different",
                )


def _run_controls(board: Board, config: Config) -> None:
    """Known-bad runs must be stopped and known-good ones shipped; gates that fail at that make the config wrong."""
    from .controls import run_controls

    try:
        results = run_controls(config)
    except ShipworthyError as error:
        board.notes.append(f"the controls could not be run: {error}")
        return
    if results.sound:
        board.notes.append(str(results))
    else:
        _fail(board, "controls", str(results), UsageError.exit_code)


def _narrowed(suites: list[SuiteConfig], where: tuple[str, ...]) -> list[SuiteConfig]:
    """The suites on the questions that --where chooses; those that read no gold set can't be narrowed."""
    if not where:
        return suites
    parse_where(where)  # a slip is told once, and not as a failure of every suite
    able = [one for one in suites if "where" in fields_of(load_suite(one.name).options) and "gold" in one.inputs]
    if not able:
        raise UsageError("none of the suites takes --where", hint="Leave it out.", code="where-gold")
    return [msgspec.structs.replace(one, options=one.options | {"where": where}) for one in able]


def _note_quarantine(board: Board, config: Config, day: datetime.date, complete: bool) -> None:
    """Each quarantine in a note; one of a question that no suite has is a mistake, as with waivers."""
    notes, unknown = quarantine_notes(config.quarantine, board.decisions, day)
    board.notes = [*notes, *board.notes]
    if unknown and complete and len(board.decisions) == len(config.suites):
        what = f"there is no question {visible(unknown[0], 60)!r} to quarantine"
        raise UsageError(what, where="[[quarantine]]", hint="Check the qid, or remove it.", code="quarantine-unknown")


def failing_qids(report: Mapping[str, object] | str | os.PathLike[str]) -> set[str]:
    """The questions to ask again: those that failed in the report, in any suite of a board."""
    found = load_report(report) if isinstance(report, (str, os.PathLike)) else report
    return {
        str(row.get("qid", row.get("id", "")))
        for one in reports_of(found)
        for passes in (passing_rule(one),)
        for row in one.get("items", [])
        if not passes(row)
    } - {""}


def _shared_files(suites: Sequence[SuiteConfig]) -> set[str]:
    """The files that several suites read."""
    named = Counter(path for suite in suites for path in set(map(str, suite.inputs.values())))
    found: set[str] = set()
    for path, times in named.items():
        if times > 1:
            with suppress(ShipworthyError):  # the suites say what is wrong with it
                files = expanded(path)
                found.update(files.paths if isinstance(files, Files) else (str(files),))
    return found


def _refuse_changed(board: Board) -> None:
    """Suites that read a file too large to share may find it changed in between: then they judge different runs."""
    found: dict[str, set[object]] = {}
    for decision in board.decisions:
        for name, block in decision.inputs.items():
            found.setdefault(decision.run.get(name, ""), set()).add(block["sha256"])
    changed = {path for path, digests in found.items() if path and len(digests) > 1}
    for index, decision in enumerate(board.decisions):
        for name in decision.inputs:
            if decision.run.get(name) in changed:
                what = f"{name} changed while the suites were reading it: run check again when nothing writes to it"
                board.notes.append(f"{decision.suite}: {what}")
                if decision.verdict == "SHIP":
                    board.decisions[index] = with_incomplete(decision, [what])
