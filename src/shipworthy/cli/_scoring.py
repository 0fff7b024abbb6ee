"""Scoring commands: flags made from a suite's inputs and options, one call, one decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..core.evaluate import gc_paused
from ..core.options import Field, fields_of
from ..engines import SETTINGS
from ..errors import UsageError
from ..suites import load_suite
from ._flags import F, flag_of, together
from ._output import Ticker, emit, engine_flags, output_flags, shows_items
from ._say import say

if TYPE_CHECKING:
    from ..core.decision import Decision
    from ..core.suite import InputSpec, Suite

_LAST = ("only_gates", "require_proof", "offenders", "lenient")  # what every suite has comes after its own


def scoring_flags(suite: Suite, *, without: Iterable[str] = ()) -> Callable[[F], F]:
    """A flag for each input and each option of a suite, gates as arguments, and where the decision goes."""
    left_out = set(without)
    options = [field for field in _ordered(suite) if field.opt.cli and field.name not in left_out]
    return together(
        [
            *(_input_flag(spec) for spec in suite.inputs if spec.name not in left_out),
            *(_option_flag(field, suite) for field in options),
            click.argument("more", nargs=-1, metavar="[NAME=VALUE]..."),
            engine_flags,
            output_flags,
        ]
    )


def _ordered(suite: Suite) -> Iterator[Field]:
    fields = fields_of(suite.options)
    yield from (field for name, field in fields.items() if name not in _LAST)
    yield from (fields[name] for name in _LAST if name in fields)


def _input_flag(spec: InputSpec) -> Callable[[F], F]:
    names = spec.flags or (f"--{spec.name.replace('_', '-')}",)
    return click.option(*names, spec.name, required=spec.required, metavar="FILE", help=spec.help)


def _option_flag(field: Field, suite: Suite) -> Callable[[F], F]:
    """None is what the suite takes for its default."""
    if field.kind == "flag":
        return flag_of(field, default=None)
    return flag_of(field, help=_gate_help(field, suite) if field.kind == "gates" else _help(field))


def _help(field: Field) -> str:
    default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
    return field.opt.help if default in (None, "") else f"{field.opt.help}  [default: {default}]"


def _gate_help(field: Field, suite: Suite) -> str:
    names = list(suite.metrics(suite.options()))
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{field.opt.help} Metrics: {', '.join(names[:8])}{more}."


def only_flags(suite: Suite, names: Iterable[str]) -> Callable[[F], F]:
    """The flags of a few options, for a verb beside the scoring one."""
    return together(_option_flag(fields_of(suite.options)[name], suite) for name in names)


def option_flags(suites: Iterable[Suite]) -> Callable[[F], F]:
    """A flag for each option that any of the suites has, once."""
    return together(_option_flag(field, suite) for field, suite in _merged(suites).values())


def table_flags(suites: Iterable[Suite]) -> Callable[[F], F]:
    """A flag for each table that any of the suites reads, once."""
    specs = {spec.name: spec for suite in suites for spec in suite.inputs if spec.table}
    return together(map(_input_flag, specs.values()))


def option_values(suites: Iterable[Suite], given: Mapping[str, object]) -> dict[str, object]:
    """What was written of those flags."""
    fields = _merged(suites)
    values = {name: _value(fields[name][0], value) if name in fields else value for name, value in given.items()}
    return {name: value for name, value in values.items() if value is not None}


def _merged(suites: Iterable[Suite]) -> dict[str, tuple[Field, Suite]]:
    """Options by name; where suites differ in the choices, all of them."""
    merged: dict[str, tuple[Field, Suite]] = {}
    for suite in suites:
        for field in _ordered(suite):
            if not field.opt.cli:
                continue
            known, first = merged.get(field.name, (field, suite))
            choices = tuple(dict.fromkeys([*known.choices, *field.choices]))
            default = known.default if known.kind == "flag" else None
            merged[field.name] = msgspec.structs.replace(known, choices=choices, default=default), first
    return merged


def score(suite: Suite, given: dict[str, Any], reports: bool = True) -> Decision:
    """Run the suite on what the flags say; without `reports`, the rows of items that pass are not made."""
    from ..jobs.evaluate import run_suite

    given["gates"] = gate_arguments(given.get("gates") or (), given.pop("more", ()))
    sources = {spec.name: given.pop(spec.name) for spec in suite.inputs if spec.name in given}
    options = {
        name: _value(field, given.pop(name)) for name, field in fields_of(suite.options).items() if name in given
    }
    engine = given.pop("engine", "auto")
    settings = {name: given.pop(name, None) for name in SETTINGS}
    _tell_without_effect(sources.get("trace"), options.get("map") or ())
    ticker = Ticker.for_people("records")
    try:
        return run_suite(suite, sources, options | given, tick=ticker, engine=engine, reports=reports, **settings)
    finally:
        if ticker is not None:
            ticker.close()


def _value(field: Field, value: Any) -> object:
    """A flag's value as the option takes it: a file of lines is read."""
    if field.kind == "lines" and isinstance(value, str):
        from ..language.refusal import read_phrases

        return read_phrases(value)
    if field.kind == "metrics" and isinstance(value, str):
        from ..config.metrics import read_metrics

        return read_metrics(value)
    return None if field.kind in ("words", "gates", "pairs") and not value else value


def gate_arguments(gates: Iterable[str], more: Iterable[str]) -> list[str]:
    """`--gates a=1 b=2` without quotes: the second one arrives as an argument of its own."""
    for text in more:
        if not any(sign in text for sign in "=<>≥≤"):
            raise UsageError(f"unexpected argument {text!r}", hint="Gates are written name=value.", code="argument")
    return [*gates, *more]


# What `--help` says where a suite's own description would not do.
_HELP = {
    "answers": """Score answers against a gold set and decide.

    \b
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --k 1,3,5 --gates precision=0.85,recall@5=0.90
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --json -o verdicts.tsv
    """,
    "outcomes": """Acceptance, action and usefulness rates by week, model and preset. Exits 1 when a gate fails.

    \b
    shipworthy outcomes --input outcomes.jsonl
    shipworthy outcomes --input outcomes.jsonl --report report.json -o outcomes.html
    """,
    "raters": """Measure how well any number of raters agree, ratings missing or not; with gates, decide.

    \b
    shipworthy agreement raters --ratings ratings.jsonl
    shipworthy agreement raters --ratings ratings.jsonl --weights quadratic --labels 1,2,3,4,5
    shipworthy agreement raters --ratings ratings.jsonl --gates alpha=0.67 --require-proof
    """,
    "reasoning": """Score answers from a file and decide. Exits 0 on SHIP, 1 on NO-SHIP.

    \b
    shipworthy reason score --answers answers.jsonl
    shipworthy reason score --fixture cases.json --answers answers.jsonl --gates under_refusal=0 -o report.html
    """,
    "guard": """Check a finished report against guardrails. Exits 0 when all pass, 1 when one fails.

    \b
    shipworthy reason guard --report report.json --min-cases 50
    """,
}


def scoring_command(name: str, command_name: str) -> click.Command:
    """The command of a suite that needs nothing but its own inputs and options."""
    suite = load_suite(name)
    text = _HELP.get(name, suite.description)

    @click.command(command_name, help=text)
    @scoring_flags(suite)
    def command(form: str, outputs: tuple[str, ...], **given: Any) -> int:
        trace, pairs, cites = given.get("trace"), given.get("map") or (), given.get("cites") is not False
        with gc_paused():  # until the report is written: the collector would look at each of its rows
            decision = score(suite, given, reports=shows_items(form, outputs))
            if pairs and cites and not decision.ships:
                _tell_unmapped(trace, pairs)
            return emit(decision, form, outputs)

    return command


def _tell_unmapped(trace: object, pairs: Iterable[str]) -> None:
    """Where a mapping reads the answers only, say how the file's sources are read too."""
    from ..reading.misfit import unmapped

    if more := unmapped(trace, pairs):
        say(f"shipworthy: {trace}: sources are not mapped, so citations fail. Add {more}", err=True)


def _tell_without_effect(trace: object, pairs: Any) -> None:
    """Traces that our own runner wrote are never mapped again; who asks for it should know."""
    if not pairs:
        return
    from ..reading.misfit import without_effect

    if useless := without_effect(trace, pairs):
        say(
            f"shipworthy: {trace}: `shipworthy run` wrote these traces and mapped them already, so {useless} has no "
            f"effect. To map the responses differently, send the questions again with it.",
            err=True,
        )
