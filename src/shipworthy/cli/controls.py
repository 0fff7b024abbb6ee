"""`shipworthy controls`: would this configuration stop a pipeline that is known to be bad?"""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ..config import find_config, load_config
from ..errors import UsageError
from ..jobs.check import choose_suites
from ..jobs.controls import ControlResult, Results, run_controls, with_controls
from ..report import write
from ..report.json import dumps
from ..suites import load_suite
from ..text import one_line
from ._flags import gate_arguments, many, option_flags, option_values, print_json, table_flags, text
from ._say import write_out

SUITES = [load_suite(name) for name in with_controls()]


@click.command("controls")
@click.option("--suite", type=click.Choice([suite.name for suite in SUITES]), help="Only this suite.")
@text("--gold", "FILE", "Make the runs from this gold set (default: the config's, else the demo's).")
@table_flags(SUITES)
@option_flags(SUITES)
@text("--config", "FILE", "Use the suites of this config (default: the nearest config).")
@print_json
@many(
    "-o --output outputs",
    "FILE",
    "Also write the results, as JSON to a .json file and as text to any other. Repeatable.",
)
@click.argument("more", nargs=-1, metavar="[NAME=VALUE]...")
def command(suite: str | None, config: str | None, as_json: bool, outputs: tuple[str, ...], **flags: object) -> int:
    """Score runs that are known to be good or bad: do your gates tell them apart?

    A configuration that lets a bad one ship, or stops a good one, is broken: exit 1. A control that can't be made from
    the gold set is listed as skipped.

    \b
    shipworthy controls
    shipworthy controls --gold gold.jsonl -o controls.json
    shipworthy controls --suite answers --gold gold.jsonl --gates precision=0.85 --scu-enforced
    """
    source, results = _run(suite, config, flags)
    write_out(_json(source, results) if as_json else _text(source, results))
    for path in outputs:
        write(path, (_json if path.lower().endswith(".json") else _text)(source, results))
    return 3 if not results.ran else 0 if results.sound else 1


def _run(suite: str | None, config: str | None, flags: dict[str, Any]) -> tuple[str, Results]:
    """By the config where that is asked for, or where there is one and nothing else was said."""
    gold, gates = flags.pop("gold"), gate_arguments(flags.pop("gates"), flags.pop("more"))
    options = option_values(SUITES, flags)
    if config and (gold or gates or options):
        raise UsageError(
            "a config already names its gold set, gates and options",
            code="controls-option",
            hint="Leave out --config or the other flags; --suite may stay.",
        )
    path = config or (None if gold or gates or options else find_config())
    if path is not None:
        settings = load_config(path)
        chosen = choose_suites(settings, [suite] if suite else [])
        return str(path), run_controls(msgspec.structs.replace(settings, suites=chosen))
    sources = [gold or "the demo's gold set"] if suite != "reasoning" else []
    if suite in (None, "reasoning"):
        sources.append(options.get("fixture") or "the bundled reasoning cases")
    return " and ".join(sources), run_controls(suite, gold=gold, gates=gates, options=options)


def _json(source: str, results: Results) -> bytes:
    return dumps({"made_from": source} | results.report()) + b"\n"


def _text(source: str, results: Results) -> bytes:
    lines = [f"Controls made from {source}"]
    width = max((len(one.name) for one in results), default=0)
    for name in dict.fromkeys(one.suite for one in results):
        lines += ["", name]
        for one in results:
            if one.suite == name:
                state = "skipped" if one.skipped else "BROKEN" if one.broken else "ok"
                verdict = "" if one.skipped else one.verdict
                lines.append(f"  {state:<8}{verdict:<12}{one.name:<{width}}  {_why(one)}".rstrip())
    return "".join(f"{one_line(line)}\n" for line in [*lines, "", str(results)]).encode()


def _why(one: ControlResult) -> str:
    """The gates that stopped a bad run; all that is known of what is broken or was skipped."""
    if one.broken or one.skipped or (not one.good and not one.stopped_by):
        return one.why
    return f"stopped by {', '.join(one.stopped_by)}" if one.stopped_by else ""
