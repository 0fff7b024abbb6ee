"""Finished reports: two of them compared or mixed, one computed again, and what its gates need."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import click
import msgspec

from ..core.decision import report
from ..core.evaluate import gc_paused
from ..errors import DataError, ShipworthyError, UsageError
from ..jobs.compare import Change, Comparison, Rows, chance, compare_loaded, comparison_dict, narrowed, sentence
from ..jobs.evaluate import evaluate
from ..jobs.power import flips, parse_rates, power_of_gates, power_of_report
from ..jobs.verify import verify
from ..reading.reports import check_report, load_report, reports_of
from ..text import first_few, plural, visible
from ._flags import many, print_json, switch, text
from ._output import write_beside
from ._say import say, say_json
from ._target import map_flag
from .history import open_history

SHOWN = 20


@click.command("compare")
@click.argument("base")
@click.argument("head")
@text("--gold", "FILE", "BASE and HEAD are trace files: score both against this gold set.", default="")
@map_flag
@text("--suite", "NAME", "Which suite to compare, if the report has several.", default="")
@many(
    "--slip slips",
    "METRIC=NUMBER",
    "How much worse a metric may get (default 0.02 for rates, 15 % for percentiles). Repeatable.",
)
@many("--metric only", "NAME", "Compare only this metric. Repeatable.")
@text("--history url", "URL", "History to look BASE and HEAD up in when they are not files.", default="")
@switch("--no-rescore", "Never score BASE again, even if its traces still exist.")
@switch("--require-proof --proven", "Also exit 1 if a regression can't be ruled out.")
@text("-o --output", "FILE", "Also write a page (.html) with the answers side by side.", default="")
@switch("--json as_json", "Print the comparison as JSON.")
def command(
    base: str,
    head: str,
    gold: str,
    mapping: tuple[str, ...],
    suite: str,
    url: str,
    require_proof: bool,
    output: str,
    as_json: bool,
    **how: Any,
) -> int:
    """Compare two runs: which metrics and questions got better or worse, and is it noise?

    The answer is one of: improved, regressed, no regression beyond the slip, unchanged, inconclusive.

    BASE and HEAD are reports (JSON), trace files with --gold, or runs of the history (an id, a label, `last`).

    \b
    shipworthy compare last.json now.json
    shipworthy compare old.jsonl new.jsonl --gold gold.jsonl
    shipworthy compare main last -o compare.html

    Exits 0 when nothing regressed, 1 when something did, 3 when the two can't be compared.
    """
    if mapping and not gold:
        raise UsageError("has no effect without --gold", where="--map", hint="Add --gold FILE.", code="map-field")
    for name in (base, head):
        _check_there(name)
    how = {"slips": _slips(how["slips"]), "only": how["only"], "rescore": not how["no_rescore"]}
    if output and not output.lower().endswith((".html", ".htm")):
        hint = "Name a file that ends in .html; --json prints JSON."
        raise UsageError("the page is HTML", where=output, hint=hint, code="report-format")
    with gc_paused():  # the collector would look at each of their rows
        sides = [
            report(evaluate("answers", gold=gold, trace=name, map=mapping))
            if gold
            else _of_suite(name, suite, url, bool(output))
            for name in (base, head)
        ]
        found = compare_loaded(*map(narrowed, sides), **how)
    if output:
        from ..report.html.compare import render

        page = render(comparison_dict(found), sides, (base, head))
        if not write_beside(output, page.encode("utf-8", "backslashreplace")):
            return 4
    if as_json:
        say_json(comparison_dict(found))
    else:
        _print(found)
    return 1 if found.verdict == "regressed" or (require_proof and not found.proven) else 0


def _of_suite(name: str, suite: str, url: str, whole: bool = False) -> dict[str, Any]:
    """A report of one suite, from a file or from the history; `whole` with the texts of its rows."""
    try:
        report = (
            load_report(name, keep=None if whole else Rows)
            if os.path.exists(name)
            else check_report(open_history(url).report(name), name)
        )
    except ShipworthyError as error:
        if error.code == "report-invalid" and not name.endswith(".json"):
            error.hint = "To compare two trace files, add --gold FILE."
        if error.code != "history-no-run" and (url or error.code != "history-absent"):
            raise
        hint = "Check the path; `shipworthy history list` shows the runs."
        raise UsageError("is neither a file nor a recorded run", where=name, hint=hint, code="no-file") from None
    if "suites" not in report:
        return report
    suites = report["suites"]
    chosen = suite or (next(iter(suites)) if len(suites) == 1 else "")
    if chosen not in suites:
        raise DataError(
            "is a board of several suites",
            where=name,
            hint=f"Name one with --suite: {', '.join(suites)}.",
            code="compare-board",
        )
    return suites[chosen]  # type: ignore[no-any-return]


def _check_there(name: str) -> None:
    """A file that was named and is not there is said before the other one is read."""
    if not os.path.exists(name) and _is_file_name(name):
        hint = "Check the path, or name a run of the history."
        raise UsageError("no such file", where=name, hint=hint, code="no-file")


def _is_file_name(name: str) -> bool:
    """Whether somebody meant a file: a run of the history is an id, a label or `last`."""
    return os.sep in name or name.endswith((".json", ".jsonl", ".gz", ".zst", ".csv", ".tsv", ".parquet"))


def _slips(given: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for slip in given:
        name, _, number = slip.partition("=")
        try:
            found[name.strip()] = Fraction(number.strip())
        except (ValueError, ZeroDivisionError):
            raise UsageError(
                f"{slip!r} is not a slip", hint="Write --slip precision=0.01.", code="compare-slip"
            ) from None
    return found


def _print(found: Comparison) -> None:
    say(f"{found.verdict.upper()}  {found.suite}: {_finding(found)}")
    moved = [one for one in found.changes if one.worse or one.lost or one.gained or one.answer == "regressed"]
    for change in sorted(moved, key=lambda change: _ORDER.index(change.answer)):
        say(f"  {_MARKS[change.answer]} {sentence(change)}")
    if still := [change for change in found.changes if change not in moved]:
        say(f"  = {plural(len(still), 'metric')} unchanged{_doubt(still)}")
    for title, names in (
        ("Passed before, fail now", found.lost),
        ("Failed before, pass now", found.gained),
        ("In BASE but not in HEAD", found.absent),
        ("Only in HEAD", found.new),
    ):
        if names:
            say(f"{title} ({len(names)}): {first_few([visible(name, 60) for name in names], SHOWN)}")
    if found.lost or found.gained:
        luck = f"; chance of this many losses by luck: {chance(found.p)} (exact McNemar)" if found.lost else ""
        say(f"All questions: {len(found.lost)} lost, {len(found.gained)} gained{luck}")
    for note in found.notes:
        say(f"- {note}")


def _finding(found: Comparison) -> str:
    """The finding in counts: how many questions changed, and which metrics regressed."""
    changed = f"{len(found.gained)} better, {len(found.lost)} worse of {plural(found.items, 'question')}"
    regressed = f"; {first_few(found.regressed)} regressed" if found.regressed else ""
    return changed + regressed


_ORDER = ("regressed", "inconclusive", "no regression beyond the slip", "improved", "unchanged", None)
_MARKS = {
    "regressed": "✗",
    "inconclusive": "?",
    "no regression beyond the slip": "✓",
    "improved": "✓",
    "unchanged": "=",
    None: "·",
}


def _doubt(still: list[Change]) -> str:
    """What an unchanged number does not show, said once for all of them."""
    unsure = [change for change in still if change.excluded is False]
    needed = max((change.n_needed or 0 for change in unsure), default=0)
    return f" (about {needed} questions are needed to rule out a drop beyond the slip)" if needed else ""


@click.command("aa")
@click.argument("run1")
@click.argument("run2")
@text("--gold", "FILE", "RUN1 and RUN2 are trace files: score both by this gold set.", default="")
@map_flag
@many("--gates", "NAME>=VALUE", "With --gold: gates to decide by. Repeatable.")
@text("--suite", "NAME", "Which suite to compare, if the report has several.", default="")
@print_json
def aa_command(
    run1: str, run2: str, gold: str, mapping: tuple[str, ...], gates: tuple[str, ...], suite: str, as_json: bool
) -> int:
    """How often would the decision flip if the same pipeline ran again?

    RUN1 and RUN2 are reports (JSON) of two runs in which nothing was changed, or trace files with --gold. Every
    question is taken from one of the two runs with equal chance: all mixtures where few questions differ, 10,000 drawn
    ones where many do. The same runs always give the same answer.

    \b
    shipworthy aa monday.json tuesday.json
    shipworthy aa runs/a.jsonl runs/b.jsonl --gold gold.jsonl --gates precision=0.85

    Exits 0: it measures, and decides nothing.
    """
    found = flips(*(_run_of(run, gold, mapping, gates, suite) for run in (run1, run2)))
    if as_json:
        say_json({**msgspec.to_builtins(found, enc_hook=float), "flips": float(found.flips)})
        return 0
    for line in found.lines():
        say(line)
    return 0


def _run_of(run: str, gold: str, mapping: tuple[str, ...], gates: tuple[str, ...], suite: str) -> dict[str, object]:
    if gold:
        return evaluate("answers", gold=gold, trace=run, map=mapping, gates=list(gates)).report()

    reports = reports_of(load_report(run))
    named = [one for one in reports if suite in ("", one["shipworthy"].get("suite"))]
    if len(named) != 1:
        names = ", ".join(str(one["shipworthy"].get("suite")) for one in reports)
        raise UsageError("which suite?", where=os.path.basename(run), hint=f"Add --suite: {names}.", code="aa-suite")
    return dict(named[0])


@click.command("power")
@click.argument("report", required=False)
@text("--config", "FILE", "Config whose suites and gates to use.  [default: the nearest]")
@many("--gates", "NAME>=VALUE", "Use only these gates, at the rates given with --rate. Repeatable.")
@many("--rate rates", "METRIC=RATE", "Assume this rate instead of the observed one. Repeatable.")
@click.option("--power", "wanted", type=click.FloatRange(0.5, 0.99), default=0.8, show_default=True, help="How likely.")
@print_json
def power_command(
    report: str | None, config: str | None, gates: tuple[str, ...], rates: tuple[str, ...], wanted: float, as_json: bool
) -> int:
    """How many questions it takes to prove each gate, at the rate that was observed or is assumed.

    The gates and rates are those of REPORT (JSON), or of the config's suites, which are run for it. With --gates there
    is nothing to run.

    \b
    shipworthy power report.json
    shipworthy power --rate precision=0.9
    shipworthy power --gates 'precision>=0.8' --rate precision=0.9
    """
    assumed, level = parse_rates(rates), Fraction(str(wanted))
    if gates:
        needs = power_of_gates([part for text in gates for part in text.split(",") if part.strip()], assumed, level)
    else:
        needs = power_of_report(_board_of(report, config), assumed, level)
    if as_json:
        say_json([msgspec.to_builtins(one, enc_hook=float) for one in needs])
        return 0
    say(f"Items needed to prove each gate with {wanted:.0%} probability:")
    for one in needs:
        say(f"  {one.suite + ' ' if one.suite else ''}{one.line()}")
    return 0


def _board_of(report: str | None, config: str | None) -> dict[str, object]:
    if report is not None:
        return load_report(report)
    from ..jobs.check import check

    board = check(config, record=False)
    if not board.decisions:
        why = next(iter(board.failures.values()), "")
        raise UsageError(f"no suite could be run: {why}", hint="Use --gates and --rate.", code="power-nothing")
    return board.report()


@click.command("verify")
@click.argument("report")
@many("--input given", "NAME=FILE", "Where an input is now, such as gold=eval/gold.jsonl. Repeatable.")
@text("--gold", "FILE", "Short for --input gold=FILE.", default="")
@text("--trace", "FILE", "Short for --input trace=FILE.", default="")
@switch("--trust", "The report is your own: let it reach the embedding server and cache that it names.")
@switch("--json as_json", "Print the receipts as JSON.")
def verify_command(report: str, given: tuple[str, ...], gold: str, trace: str, trust: bool, as_json: bool) -> int:
    """Compute REPORT again from its inputs and say whether the bytes agree.

    \b
    shipworthy verify report.json
    shipworthy verify report.json --gold eval/gold.jsonl --trace eval/trace.jsonl

    Exits 0 when they agree, 1 when they don't.
    """
    inputs = {"gold": gold, "trace": trace}
    for pair in given:
        name, sign, path = pair.partition("=")
        if not sign or not path:
            raise UsageError(f"{pair!r} names no file", hint="Write --input gold=FILE.", code="argument")
        inputs[name] = path
    receipts = verify(report, trust=trust, **{name: path for name, path in inputs.items() if path})
    if as_json:
        say_json(msgspec.to_builtins(receipts))
    else:
        for receipt in receipts:
            told = f"{visible(receipt.suite, 60)}  {visible(receipt.stated, 80)}"
            say(f"{'AGREES' if receipt.agrees else 'DIFFERS'}  {told}")
            for difference in receipt.differences:
                say(f"  {visible(difference)}")
    return 0 if all(receipt.agrees for receipt in receipts) else 1
