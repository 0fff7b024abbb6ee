"""`shipworthy history`: the recorded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ._flags import print_json, text, whole
from ._say import say, say_json

if TYPE_CHECKING:
    from ..history import History

URL = text(
    "--history url",
    "URL",
    "SQLite file or postgresql:// URL.  [default: the config's, else .shipworthy/history.db]",
    default="",
)
_SUITE = text("--suite", "NAME", "Only this suite.", default="")
_BRANCH = text("--branch", "NAME", "Only this branch.", default="")
_PROJECT = text("--project", "NAME", "Only this project of those in the history.", default="")


@click.group("history")
def command() -> None:
    """The recorded runs: list, show, one question over time, trend, nightly evidence, gate health, page, prune, export.

    \b
    shipworthy history list
    shipworthy history item Q07
    shipworthy history show last
    shipworthy history trend precision
    shipworthy history report -o eval/report.md
    """


def open_history(url: str = "") -> History:
    """The history that was named, or the config's, or the default one."""
    import os

    from ..config import HISTORY, find_config, load_config
    from ..history import History

    if url or not find_config():
        return History(url or os.environ.get("SHIPWORTHY_HISTORY", HISTORY))
    config = load_config()
    return History(config.history_url(), texts=config.texts)


@command.command("list")
@URL
@_SUITE
@_BRANCH
@whole("--limit", 1, "How many runs.", default=20)
@print_json
def list_command(url: str, suite: str, branch: str, limit: int, as_json: bool) -> None:
    """List the last runs, newest last."""
    import msgspec

    from ..history import SHORT

    runs = open_history(url).runs(suite=suite, branch=branch, limit=limit)
    if as_json:
        return say_json(msgspec.to_builtins(runs))
    for run in runs:
        where = " ".join(part for part in (run.commit[:SHORT], run.branch, run.label) if part)
        line = f"{run.seq:>5}  {run.id[:SHORT]}  {run.recorded_at[:16]}  {run.suite:<10} {run.decision:<10}"
        say(f"{line} {where}".rstrip())
    if not runs:
        say("no recorded run matches" if suite or branch else "no run is recorded yet; `shipworthy check` records runs")


@command.command("show")
@click.argument("run")
@URL
@print_json
def show_command(run: str, url: str, as_json: bool) -> None:
    """Show one run: decision, reasons and gates; with --json the whole report. RUN is an id, a label, a number or
    `last`.
    """

    history = open_history(url)
    found, report = history.find(run), history.report(run)
    if as_json:
        return say_json(report)
    where = f"{found.commit} {found.branch} {found.label}"
    say(f"{report['decision']}  {found.suite}  {found.recorded_at}  {where}")
    say(f"  run {found.id}")
    say(f"  report {found.digest}")
    for reason in report.get("reasons", []):
        say(f"  {reason}")
    for outcome in report.get("outcomes", []):
        say(f"  {outcome['state']:<18} {outcome['says']}")


@command.command("trend")
@click.argument("metric")
@URL
@_SUITE
@_BRANCH
@whole("--limit", 1, "How many runs.", default=30)
@print_json
def trend_command(metric: str, url: str, suite: str, branch: str, limit: int, as_json: bool) -> None:
    """Show a metric over the last runs, oldest first, also of a slice.

    \b
    shipworthy history trend precision
    shipworthy history trend 'precision[type=table]'
    """
    from ..history.page import sparkline

    points = open_history(url).trend(metric, suite=suite, branch=branch, limit=limit)
    if as_json:
        return say_json(
            [
                {
                    "run": point.run.id,
                    "recorded_at": point.run.recorded_at,
                    "numerator": point.num,
                    "denominator": point.den,
                    "value": None if point.value is None else float(point.value),
                    "decision": point.run.decision,
                }
                for point in points
            ]
        )
    say(f"{metric}  {sparkline([point.value for point in points])}")
    for point in points:
        say(f"  {point.run.recorded_at[:16]}  {point.run.suite:<10} {point!s:<24} {point.run.decision}")


@command.command("item")
@click.argument("qid")
@URL
@_SUITE
@_BRANCH
@_PROJECT
@whole("--last", 1, "Only the last N runs.  [default: all]", metavar="N")
@print_json
def item_command(qid: str, url: str, suite: str, branch: str, project: str, last: int | None, as_json: bool) -> None:
    """One question over time: since when it fails, at which commit, and what it answered.

    \b
    shipworthy history item Q07
    shipworthy history item Q07 --branch main --json
    """
    from ..history.items import as_json as item_as_json

    found = open_history(url).item(qid, suite=suite, branch=branch, project=project, limit=last)
    if as_json:
        return say_json([item_as_json(one) for one in found])
    for number, one in enumerate(found):
        if number:
            say("")
        for line in one.lines():
            say(line)


@command.command("nightly")
@URL
@text("--suite", "NAME", "Which suite.", default="answers")
@_BRANCH
@_PROJECT
@text(
    "--since",
    "RUN",
    "The first run that counts.  [default: the first that can be compared with the newest]",
    default="",
)
@print_json
def nightly_command(url: str, suite: str, branch: str, project: str, since: str, as_json: bool) -> int:
    """Did repeated runs of the same questions get worse? Exits 1 on an alarm.

    Runs of the newest run's project, branch and gold set count. They are compared by how many items pass. If nothing
    changed, they could have come in any order; the evidence E says how much likelier a change makes the order that was
    seen. Without a change E ever reaches 20, which is an alarm, in
    at most 1 history of 20, however flaky items are. The first evidence comes with the sixth run.
    """
    from ..history.nightly import nightly_of

    history = open_history(url)
    found, left_out = nightly_of(history, suite=suite, branch=branch, project=project, since=since)
    if as_json:
        import msgspec

        plain = msgspec.to_builtins(found, enc_hook=float)
        say_json({"alarm": found.alarm, "left_out": left_out, **plain})
        return 1 if found.alarm else 0
    for line in found.lines(left_out):
        say(line)
    return 1 if found.alarm else 0


@command.command("flaky")
@URL
@text("--suite", "NAME", "Which suite.", default="answers")
@_BRANCH
@_PROJECT
@whole("--last", 2, "How many of the latest runs to look at.", default=20)
@whole("--failures", 1, "List questions that failed at least this many separate times.", default=3)
@print_json
def flaky_command(url: str, suite: str, branch: str, project: str, last: int, failures: int, as_json: bool) -> None:
    """Questions whose result keeps changing: three separate failures or more. Two may be a break and its fix.

    Runs of the newest run's project, branch and gold set count. Runs in which an unusual share failed are left out.
    To exclude a question from the gates until a given day, use [[quarantine]] in the config.
    """
    import msgspec

    from ..history.flaky import flaky
    from ..history.items import spans
    from ..text import plural, visible

    history = open_history(url)
    found = flaky(history, suite=suite, branch=branch, project=project, last=last, failures=failures)
    out = [run.seq for run in found.outages]
    if as_json:
        runs = [run.seq for run in found.runs]
        return say_json({"runs": runs, "outages": out, "flaky": msgspec.to_builtins(found.items)})
    for one in found.items:
        told = f"passed {one.passed} of {one.runs}, failed {one.failures} separate times"
        say(f"{visible(one.qid, 60):<24} {one.strip}  {told}")
    if not found.items:
        say(f"no question failed {failures} separate times in {plural(len(found.runs), 'comparable run')}")
    if out:
        say(f"· left out, because an unusual share failed: run {spans(out)}")


@command.command("gates")
@URL
@whole("--least", 1, "Only gates with at least this many runs.", default=5)
@print_json
def gates_command(url: str, least: int, as_json: bool) -> None:
    """Find gates that never failed or never passed: such a gate measures nothing."""
    import msgspec

    found = open_history(url).gate_health(least=least)
    if as_json:
        return say_json([{**msgspec.to_builtins(one), "says": one.says} for one in found])
    for one in found:
        say(f"{one.suite:<10} {one.gate:<32} passed {one.held} of {one.runs}{f'  {one.says}' if one.says else ''}")
    if not found:
        say(f"no gate has {least} runs yet")


@command.command("report")
@URL
@_SUITE
@_BRANCH
@whole("--limit", 1, "How many runs.", default=20)
@text("-o --output", "FILE", "The page to write.", default="eval/report.md")
def report_command(url: str, suite: str, branch: str, limit: int, output: str) -> None:
    """Write a Markdown page with the last runs and a trend chart for each gated metric."""
    from ..history.page import write_page

    for path in write_page(open_history(url), output, suite=suite, branch=branch, limit=limit):
        say(path)


@command.command("record")
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...")
@URL
@click.option("--label", default="", help="Label of the run.")
def record_command(reports: tuple[str, ...], url: str, label: str) -> None:
    """Add reports (JSON) to the history; a report that is already there is skipped."""
    from ..history import SHORT
    from ..jobs.commit import about_commit, links, where_from
    from ..reading.reports import load_report, reports_of

    history, place = open_history(url), where_from()
    known = {**place, **about_commit(place["commit"]), **links(place["commit"]), "label": label}
    for path in reports:
        for report in reports_of(load_report(path)):
            say(history.record(report, **known)[:SHORT])


@command.command("prune")
@URL
@click.option("--keep", type=click.IntRange(1), required=True, help="Runs to keep of each suite and branch.")
def prune_command(url: str, keep: int) -> None:
    """Delete old runs; baselines are kept."""
    from ..text import plural

    say(f"{plural(open_history(url).prune(keep), 'run')} deleted")


@command.command("export")
@URL
def export_command(url: str) -> None:
    """Print every run with its report as JSON lines."""
    for row in open_history(url).export():
        say_json(row, indent=None)


@command.command("import")
@click.argument("file")
@URL
def import_command(file: str, url: str) -> None:
    """Add exported runs to the history; runs that are already there are skipped."""
    from ..reading.jsonl import read_objects
    from ..text import plural

    say(f"{plural(open_history(url).import_runs(row for _, row in read_objects(file)), 'run')} read")
