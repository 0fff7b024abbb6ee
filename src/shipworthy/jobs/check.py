"""Check: every suite of the config, one board, one verdict; then, and only then, history."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from ..config import Config, SuiteConfig, TargetConfig, load_config
from ..core.board import Board
from ..core.decision import Decision, encode
from ..core.decision import report as report_of
from ..core.gates import Gate
from ..core.policy import apply_policy, check_waivers, waiver_notes, with_incomplete, with_regressions
from ..core.run_options import of_config
from ..core.subset import choose, parse_where
from ..core.temporary import parse_size
from ..engines import engine as engine_named
from ..errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from ..history import SHORT, History, exact_value
from ..reading.archives import KEPT, sharing
from ..reading.files import write_whole
from ..reading.jsonl import Problems, Reader, read_objects
from ..reading.plans import Planned, Plans, add_plans, note_runs
from ..reading.reports import is_edited, passing
from ..suites import load_suite, passing_rule
from ..text import first_few, plural, visible
from .baselines import Reports, is_file, load_baseline
from .commit import about_commit, links, release_of, where_from
from .compare import Comparison, compare_reports, incomparable, sentence, worse_than
from .evaluate import run_suite
from .narrowing import narrowed, note_quarantine, refuse_changed, shared_files, without_quarantined
from .since import note_since
from .verify import policy_block

_NAME_ONE = "Save one (`shipworthy baseline save`) and use --baseline baseline.json, or bless a run by name."
_PLAN = ("sweep_id", "planned_runs")  # what a run says of its plan
HISTORY_TIMEOUT = 5.0  # a verdict does not wait longer for its place in history

Result = tuple[Decision | None, str, int]  # a decision, or why there is none and the exit code of that


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
    chosen = narrowed(choose_suites(settings, suites), tuple(where))
    chosen = [without_quarantined(suite, settings, day) for suite in chosen]
    board = Board([], run={"config": settings.path})
    if left := [suite.name for suite in settings.suites if suite.name not in {one.name for one in chosen}]:
        board.notes += [f"not run, because they take no --where: {', '.join(left)}"] if where and not suites else []
    name = baseline or settings.baseline
    blessed = _blessed(board, settings, name, bool(baseline))  # first, because a misspelt name should not cost a run
    with sharing(shared_files(chosen), KEPT if limit is None else 0):
        for suite in _referring(chosen):
            decision, why, code = _run(suite, require_proof, engine, how)
            if decision is None:
                board.failures[suite.name], board.exit_codes[suite.name] = why, code
            else:
                board.decisions.append(decision)
    _apply_policy(board, settings, name, blessed, day)
    refuse_changed(board)
    note_quarantine(board, settings, day, complete=not where)
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
    from .flips import flips
    from .power import power_of_report

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


def _referring(suites: Sequence[SuiteConfig]) -> list[SuiteConfig]:
    """The suites, with accuracy left to the suite that is about it where that runs too: one fault, one red suite."""
    running = {suite.name for suite in suites}
    return [
        msgspec.structs.replace(suite, options={"accuracy": "refer"} | suite.options)
        if load_suite(suite.name).refers_to in running
        else suite
        for suite in suites
    ]


def _run(suite: SuiteConfig, require_proof: bool, engine: str, settings: Mapping[str, Any]) -> Result:
    options = suite.options | {"gates": suite.gates} | ({"require_proof": True} if require_proof else {})
    try:
        return run_suite(load_suite(suite.name), suite.inputs, options, engine=engine, **settings), "", 0
    except ShipworthyError as error:
        error.where = error.where or _place(suite, error)
        error.hint = _how_to_make(suite, error) or error.hint
        return None, str(error), error.exit_code
    except Exception as error:  # a fault of ours in one suite must not take the others' verdicts along
        return None, f"{type(error).__name__}: {error} [internal]", 4


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
        board.failures["baseline"], board.exit_codes["baseline"] = str(error), error.exit_code
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
        bounds = _bounds(base, decision) if base else None
        judged = apply_policy(
            decision, waivers=config.waivers, policies=policies[decision.suite], baseline=bounds, today=day
        )
        judged.run = judged.run | {"policy": policy_block(config.waivers, policies[decision.suite], bounds, day)}
        board.decisions[index] = judged
        if blessed is not None:
            board.notes += _against_baseline(board, index, name, base, config)
        elif not name and any(outcome.gate.bound.sign and outcome.bound is None for outcome in judged.outcomes):
            board.notes.append(
                f"{judged.suite}: a gate compares with a baseline, but no baseline is named. {_NAME_ONE}"
            )
    board.notes += waiver_notes(config.waivers, board.decisions, day)


def _bounds(base: Mapping[str, Any], decision: Decision) -> dict[str, Fraction] | None:
    """The baseline's value for each gate; None where it was made on other terms."""
    head = report_of(decision)
    if is_edited(base) or set(incomparable(base, head)) - {"gates"}:
        return None
    found = {}
    for outcome in decision.outcomes:
        gate = outcome.gate
        measures = base.get("slices", {}).get(gate.slice, {}) if gate.slice else base["metrics"]
        value = exact_value(measures.get(gate.metric, {}))
        if value is not None:
            found[gate.key] = value
    return found


def _against_baseline(board: Board, index: int, name: str, base: Mapping[str, Any] | None, config: Config) -> list[str]:
    """What changed since the baseline; a regression of a gated metric, or a lost case, stops the ship."""
    decision = board.decisions[index]
    head = report_of(decision)
    if what := _why_not(name, base, head, decision):
        return _not_compared(board, index, what, _shared_items(base, head) if base and _DIFFER in what else [], config)
    assert base is not None
    gated = _gated(decision)
    found = compare_reports({**base, "outcomes": head["outcomes"]}, head, gated)
    board.changes[decision.suite] = {"lost": found.lost, "gained": found.gained}
    reasons = _regressions(found, name)
    if reasons and config.on_regression == "block":
        board.decisions[index] = with_regressions(decision, reasons)
        reasons = []  # said there
    quiet = [
        f"{decision.suite}: {sentence(change)} against the baseline {name}"
        for change in found.changes
        if change.answer != "regressed" and change.worse
    ]
    return (
        [f"{decision.suite}: {reason}" for reason in reasons]
        + quiet
        + [f"{decision.suite}: {note}" for note in found.notes]
    )


_DIFFER = "not compared with the baseline"


def _why_not(name: str, base: Mapping[str, Any] | None, head: Mapping[str, Any], decision: Decision) -> str:
    """Why a run, or one without traces yet, can't be compared with the baseline; nothing where it can."""
    if base is None:
        return f"the baseline {name} has no run of this suite"
    if is_edited(base):
        return f"the report of the baseline {name} was edited"
    if differences := [one for one in incomparable(base, head) if one != "gates"]:
        return f"{_DIFFER} {name}, because the {' and '.join(differences)} differ"
    if lacking := sorted({metric for metric in _gated(decision) if metric not in base["metrics"]}):
        return f"the baseline {name} has no {', '.join(lacking)}, which a gate of this run needs"
    return ""


def _gated(decision: Decision) -> list[str]:
    return [
        outcome.gate.metric for outcome in decision.outcomes if outcome.gate.severity == "block" and not outcome.waived
    ]


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
    chosen = [
        without_quarantined(suite, config, day) for suite in narrowed(choose_suites(config, suites), tuple(where))
    ]
    for suite in _referring(chosen):
        if not suite.driven or _target_of(suite, config) is None or config.on_incomparable == "warn":
            continue
        empty = msgspec.structs.replace(suite, inputs=suite.inputs | {suite.driven: ()})
        decision, _, _ = _run(empty, False, "memory", {})
        if decision is None:
            continue  # what is wrong with the suite is for the check to say
        policed = apply_policy(decision, waivers=config.waivers, policies=suite.policies, today=day)
        if what := _why_not(name, blessed.get(suite.name), report_of(decision), policed):
            raise DataError(
                f"{suite.name}: {what}. Nothing was sent",
                where=config.path,
                hint=f"Compare with another one, or make it new: {_renewed(name)}.",
                code="baseline-different",
            )


def _renewed(name: str) -> str:
    if not is_file(name):
        return f"check --run, then shipworthy baseline bless {visible(name, 60)} last --by WHO --reason WHY"
    return f"check --run, then shipworthy baseline save {visible(name, 60)}"


def _not_compared(board: Board, index: int, what: str, shared: list[str], config: Config) -> list[str]:
    """A baseline that was asked for and can't be compared with decides nothing, unless the config says to go on."""
    decision = board.decisions[index]
    if config.on_incomparable != "warn":
        board.decisions[index] = with_incomplete(decision, [what])
        return [f"{decision.suite}: {note}" for note in shared]
    return [f"{decision.suite}: {note}" for note in (what, *shared)]


def _shared_items(base: Mapping[str, object], head: Mapping[str, object]) -> list[str]:
    """What became of the items that both sides have."""
    before, after = passing(base, passing_rule(base)), passing(head, passing_rule(head))
    both = sorted(name for name in before if name in after)
    lost = [name for name in both if before[name] and not after[name]]
    gained = [name for name in both if after[name] and not before[name]]
    words = (("lost", lost), ("gained", gained))
    changes = "; ".join(f"{kind}: {first_few(names)}" for kind, names in words if names) or "none changed"
    return [f"of {plural(len(both), 'item')} that both have, {changes}"] if both else []


def _regressions(found: Comparison, name: str) -> list[str]:
    regressed = (change for change in found.changes if change.answer == "regressed")
    reasons = worse_than(regressed, name, found.suite)
    if found.absent:
        named = ", ".join(found.absent[:10]) + (" …" if len(found.absent) > 10 else "")
        reasons.append(f"{plural(len(found.absent), 'case')} of the baseline {name} missing from this run: {named}")
    return reasons


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
        board.failures["controls"], board.exit_codes["controls"] = str(results), UsageError.exit_code


def record_board(board: Board, config: Config, label: str = "") -> None:
    """Each decision into history, and what history tells onto the board. Whatever goes wrong is a warning."""
    try:
        history = History(config.history_url(), HISTORY_TIMEOUT, config.texts)
    except ShipworthyError as error:
        board.run = board.run | {"history": {}, "warnings": [f"the run is not in history: {error}"]}
        return
    place = where_from(config.folder)
    known = {**place, **about_commit(place["commit"], config.folder, author=config.author), **links(place["commit"])}
    known |= {"label": label, "gold_release": release_of(board)}
    ids, warnings = history.record_all([_without_since(report_of(one)) for one in board.decisions], **known)
    if not warnings:
        with suppress(ShipworthyError):  # a picture is not worth a warning
            for decision in board.decisions:
                board.trends |= _trends(history, decision, place["branch"], known["project"])
    suites = [decision.suite for decision in board.decisions]
    board.run = board.run | {
        "history": dict(zip(suites, ids, strict=True)),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _without_since(report: dict[str, Any]) -> dict[str, Any]:
    """What history itself told is not recorded again."""
    return {**report, "run": {name: value for name, value in report["run"].items() if name != "since"}}


def _trends(history: History, decision: Decision, branch: str, project: str) -> dict[str, list[dict[str, Any]]]:
    """The gated metrics over the last runs of the suite in this project and branch, this one last."""
    found = {}
    if "subset" in decision.sections:
        return {}  # the trend is that of the whole gold set
    for key in dict.fromkeys(outcome.gate.key for outcome in decision.outcomes):
        points = history.trend(key, suite=decision.suite, branch=branch, project=project)
        found[f"{decision.suite} {key}"] = [
            {
                "value": None if point.value is None else float(point.value),
                "label": point.run.label or point.run.id[:SHORT],
                "recorded_at": point.run.recorded_at,
                "commit": point.run.commit,
                "decision": point.run.decision,
            }
            for point in points
        ]
    return found
