"""`shipworthy compare`: two runs on the same gold set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ._flags import many, switch, text
from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..jobs.compare import Change, Comparison

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
    from ..core.evaluate import gc_paused
    from ..errors import UsageError
    from ..jobs.compare import compare_loaded, comparison_dict, narrowed

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
            _scored(name, gold, mapping) if gold else _side(name, suite, url, bool(output)) for name in (base, head)
        ]
        found = compare_loaded(*map(narrowed, sides), **how)
    if output:
        from ..report.html.compare import render
        from ._output import write_beside

        page = render(comparison_dict(found), sides, (base, head))
        if not write_beside(output, page.encode("utf-8", "backslashreplace")):
            return 4
    if as_json:
        say_json(comparison_dict(found))
    else:
        _print(found)
    return 1 if found.verdict == "regressed" or (require_proof and not found.proven) else 0


def _scored(name: str, gold: str, mapping: tuple[str, ...]) -> dict[str, Any]:
    from ..core.decision import report
    from ..jobs.evaluate import evaluate

    return report(evaluate("answers", gold=gold, trace=name, map=mapping))


def _side(name: str, suite: str, url: str, whole: bool = False) -> dict[str, Any]:
    """A report of one suite, from a file or from the history; `whole` with the texts of its rows."""
    from ..errors import DataError, ShipworthyError, UsageError
    from ..jobs.compare import Rows
    from ..reading.reports import check_report, load_report
    from .history import open_history

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
    from ..errors import UsageError

    if not os.path.exists(name) and _is_file_name(name):
        hint = "Check the path, or name a run of the history."
        raise UsageError("no such file", where=name, hint=hint, code="no-file")


def _is_file_name(name: str) -> bool:
    """Whether somebody meant a file: a run of the history is an id, a label or `last`."""
    return os.sep in name or name.endswith((".json", ".jsonl", ".gz", ".zst", ".csv", ".tsv", ".parquet"))


def _slips(given: tuple[str, ...]) -> dict[str, Any]:
    from fractions import Fraction

    from ..errors import UsageError

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
    from ..jobs.compare import chance, sentence
    from ..text import plural, visible

    say(f"{found.verdict.upper()}  {found.suite}: {_finding(found)}")
    moved = [change for change in found.changes if _moved(change)]
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
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            say(f"{title} ({len(names)}): {', '.join(visible(name, 60) for name in names[:SHOWN])}{more}")
    if found.lost or found.gained:
        luck = f"; chance of this many losses by luck: {chance(found.p)} (exact McNemar)" if found.lost else ""
        say(f"All questions: {len(found.lost)} lost, {len(found.gained)} gained{luck}")
    for note in found.notes:
        say(f"- {note}")


def _finding(found: Comparison) -> str:
    """The finding in counts: how many questions changed, and which metrics regressed."""
    from ..text import first_few, plural

    changed = f"{len(found.gained)} better, {len(found.lost)} worse of {plural(found.items, 'question')}"
    regressed = f"; {first_few(found.regressed)} regressed" if found.regressed else ""
    return changed + regressed


def _moved(change: Change) -> bool:
    return bool(change.worse or change.lost or change.gained or change.answer == "regressed")


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
