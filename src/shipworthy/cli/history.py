"""History: the recorded runs, named baselines, and the pages that show them, in a folder or over HTTP."""

from __future__ import annotations

import os
from typing import Any

import click
import msgspec

from ..config import HISTORY, find_config, load_config
from ..history import SHORT, History
from ..history.flaky import flaky
from ..history.items import as_json as item_as_json
from ..history.items import spans
from ..history.nightly import nightly_of
from ..reading.jsonl import read_objects
from ..reading.reports import load_report, reports_of
from ..text import plural, visible
from ._flags import many, print_json, switch, text, whole
from ._say import say, say_json

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
    history = open_history(url)
    found, left_out = nightly_of(history, suite=suite, branch=branch, project=project, since=since)
    if as_json:
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
    from ..jobs.commit import known_of_run

    history, known = open_history(url), known_of_run(label=label)
    for path in reports:
        for report in reports_of(load_report(path)):
            say(history.record(report, **known)[:SHORT])


@command.command("prune")
@URL
@click.option("--keep", type=click.IntRange(1), required=True, help="Runs to keep of each suite and branch.")
def prune_command(url: str, keep: int) -> None:
    """Delete old runs; baselines are kept."""
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
    say(f"{plural(open_history(url).import_runs(row for _, row in read_objects(file)), 'run')} read")


@click.group("baseline")
def baseline_command() -> None:
    """Baselines: save one as a file to commit, bless a run by name, or list them."""


@baseline_command.command("save")
@click.argument("file", default="baseline.json")
@text("--report", "REPORT", "Take this report (JSON) instead of judging the traces of the config.")
@text("--config", "FILE", "Config file.  [default: shipworthy.toml or pyproject.toml here or above]")
def save_command(file: str, report: str | None, config: str | None) -> int:
    """Judge the traces as `check` does, and write the report to FILE. Commit it: it needs no database.

    \b
    shipworthy check --run
    shipworthy baseline save
    shipworthy check --run --baseline baseline.json
    """
    from ..jobs.baselines import save_baseline
    from ..jobs.check import check

    if report is None:
        alone = msgspec.structs.replace(load_config(config), baseline="")  # not compared with the one before
        found = check(alone, record=False).report()
    else:
        found = load_report(report)
    for line in save_baseline(file, found):
        say(line)
    return 0


@baseline_command.command("bless")
@click.argument("name")
@click.argument("run")
@text("--by", "WHO", "Who sets the baseline.", required=True)
@text("--reason", "WHY", "Why it is good enough to compare with.", required=True)
@URL
def bless_command(name: str, run: str, by: str, reason: str, url: str) -> None:
    """Make RUN (an id, a label, a number or `last`) the baseline NAME of its suite.

    \b
    shipworthy baseline bless main last --by Ada --reason "release 2026.11"
    shipworthy check --baseline main
    """
    found = open_history(url).bless(name, run, by=by, reason=reason)
    say(f"{found.name} is now {found.run_id[:SHORT]} for {found.suite}, set by {found.blessed_by}")


@baseline_command.command("list")
@URL
@print_json
def list_baselines_command(url: str, as_json: bool) -> None:
    """List every baseline, oldest first; the last of each name and suite is in force."""
    found = open_history(url).baselines()
    if as_json:
        return say_json(msgspec.to_builtins(found))
    latest = {(one.name, one.suite): one for one in found}
    for one in found:
        mark = "*" if latest[one.name, one.suite] is one else " "
        say(
            f"{mark} {one.name:<12} {one.suite:<10} {one.run_id[:SHORT]}  {one.blessed_at[:16]}  "
            f"{one.blessed_by}: {one.reason}"
        )


@click.command("site")
@text("-o --output", "DIR", "Where the pages go.", default="public")
@switch("--redact", "Leave answers out; questions, reasons and commits stay.")
@URL
def site_command(output: str, redact: bool, url: str) -> int:
    """Write the history as static pages: what is red, since when, and what each question answered.

    Open index.html in a browser, keep the folder as an artifact, or publish it. The pages need no server, no script and
    no network. Only what changed is written again.

    \b
    shipworthy site -o public/
    shipworthy site -o public/ --redact
    """
    from ..pages.site import write_site

    done = write_site(open_history(url).url, output, redact=redact)
    say(
        f"{visible(output).rstrip('/')}/index.html  {plural(done.pages, 'page')}, {done.size / 1e6:.1f} MB; "
        f"{plural(done.changed, 'file')} written, {done.removed} removed"
    )
    shown = "questions" if redact else "questions and answers"
    say(f"shipworthy: the pages show {shown}: publish them only where everybody may read these.", err=True)
    return 0


@click.group("serve", invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Other addresses need a token.")
@whole("--port", 0, "Where to listen; 0 picks any.  [default: the first free from 8765 on]", most=65535)
@click.option("--token", envvar="SHIPWORTHY_TOKEN", show_envvar=True, help="What readers must send or type in.")
@many("--allow-host names", "NAME", "Host name of a proxy before it. Repeatable.")
@switch("--redact", "Leave answers out; questions, reasons and commits stay.")
@whole("--uploads-per-minute per_minute", 1, "With one token.", default=120)
@switch("--quiet", "Log no requests.")
@text("--config", "FILE", "Config whose runs /live/ shows.  [default: shipworthy.toml or pyproject.toml]")
@URL
@click.pass_context
def serve_command(context: click.Context, /, quiet: bool, config: str | None, url: str, **given: Any) -> int:
    """Serve the pages of the history, live: the same as `shipworthy site` writes.

    /live/ shows a `check --run` that is under way; POST /api/runs adds reports.

    \b
    shipworthy serve
    shipworthy serve token add --project acme/qa
    SHIPWORTHY_TOKEN=… shipworthy serve --host 0.0.0.0 --allow-host quality.example.com
    """
    if context.invoked_subcommand:
        return 0
    from ..jobs.evaluate import run_suite
    from ..pages.serve import serve

    settings = load_config(config) if config or find_config() else None
    serve(
        open_history(url).url,
        config=settings,
        judge=run_suite,
        said=lambda where: say(f"{where} shows the history; Ctrl-C ends it", err=True),
        log=(lambda line: None) if quiet else (lambda line: say(line, err=True)),
        **given,
    )
    return 0


@serve_command.group("token")
def token_group() -> None:
    """Tokens for uploads: each adds runs to one project, until it is revoked."""


@token_group.command("add")
@click.option("--project", required=True, help="The project that it may add runs to.")
@click.option("--name", default="", help="Whose it is.")
@URL
def add_command(project: str, name: str, url: str) -> None:
    """Make a token and print it, once: the history keeps only its digest."""
    from ..pages.tokens import add_token

    token, secret = add_token(open_history(url).url, project, name)
    say(secret)
    say(f"token {token.id} adds runs to {token.project}; keep it, it can't be shown again", err=True)


@token_group.command("list")
@URL
@print_json
def list_tokens_command(url: str, as_json: bool) -> None:
    """List all tokens, without their secrets."""
    from ..pages.tokens import list_tokens

    found = list_tokens(open_history(url).url)
    if as_json:
        return say_json(msgspec.to_builtins(found))
    for token in found:
        state = f"revoked {token.revoked_at[:16]}" if token.revoked_at else "in force"
        say(f"{token.id}  {token.project:<24} {token.created_at[:16]}  {state}  {token.name}".rstrip())


@token_group.command("revoke")
@click.argument("token")
@URL
def revoke_command(token: str, url: str) -> None:
    """Revoke a token by its id: from now on it adds nothing."""
    from ..pages.tokens import revoke_token

    found = revoke_token(open_history(url).url, token)
    say(f"token {found.id} of {found.project} is revoked")
