"""Flags: made from declared options, of suites and of runs alike, or declared by verbs; and scoring with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from ..core.options import Field, fields_of
from ..engines import BEFORE, ENGINES, SETTINGS, unknown_engine
from ..errors import UsageError
from ..report import FORMATS, form_of
from ..suites import load_suite
from ._output import VERBOSE, Ticker, emit, shows_items
from ._say import say

if TYPE_CHECKING:
    from ..core.decision import Decision
    from ..core.suite import InputSpec, Suite

F = TypeVar("F", bound=Callable[..., object])


def together(flags: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    """Several flags as one, in this order."""
    listed = list(flags)

    def decorate(command: F) -> F:
        for flag in reversed(listed):
            command = flag(command)
        return command

    return decorate


def text(
    names: str, metavar: str, help: str, *, default: str | None = None, required: bool = False
) -> Callable[[F], F]:
    """A flag that takes a text, such as a file; `names` are its spellings, perhaps with the argument's."""
    if required:  # without a default: None would be one, and the flag could be left out
        return click.option(*names.split(), metavar=metavar, help=help, required=True)
    shown = default not in (None, "")
    return click.option(*names.split(), metavar=metavar, help=help, default=default, show_default=shown)


def many(names: str, metavar: str, help: str) -> Callable[[F], F]:
    """A flag that may be given several times."""
    return click.option(*names.split(), metavar=metavar, help=help, multiple=True)


def switch(names: str, help: str) -> Callable[[F], F]:
    return click.option(*names.split(), help=help, is_flag=True)


def whole(
    names: str,
    least: int,
    help: str,
    *,
    most: int | None = None,
    default: int | None = None,
    metavar: str | None = None,
) -> Callable[[F], F]:
    """A flag that takes a whole number."""
    kind, shown = click.IntRange(least, most), default is not None
    return click.option(*names.split(), type=kind, help=help, default=default, show_default=shown, metavar=metavar)


print_json = switch("--json as_json", "Print JSON.")


def flag_of(field: Field, **changes: Any) -> Callable[[F], F]:
    """The flag of an option; `changes` are what click shall be told otherwise, such as the default."""
    kinds: dict[str, dict[str, Any]] = {
        "flag": {"is_flag": True, "flag_value": field.default is not True},
        "whole": {"type": click.IntRange(field.opt.least, field.opt.most)},
        "amount": {"type": click.FloatRange(0, min_open=True)},
        "amounts": {"type": AmountList()},
        "numbers": {"type": NumberList()},
        "words": {"multiple": True, "callback": _words},
        "gates": {"multiple": True, "metavar": "NAME=VALUE,…"},
        "pairs": {"multiple": True},
        "texts": {"multiple": True, "callback": _pairs},
        "mapping": {"multiple": True, "callback": _mapping},
    }
    kind = {"type": click.Choice(field.choices)} if field.choices else kinds.get(field.kind, {})
    names = (*dict.fromkeys((field.flag, *field.opt.flags)), field.name)
    return click.option(*names, **{"metavar": field.opt.metavar or None, "help": field.opt.help, **kind, **changes})


def _pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE options as a dict. A bad one is not shown: it may be a secret."""
    if any("=" not in pair or not pair.partition("=")[0].strip() for pair in given):
        raise click.BadParameter(f"expected {option.metavar}.")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in given)}


def _words(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _mapping(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """A mapping that can't be read is refused before anything is sent."""
    from ..reading.mapping import FieldMap

    try:
        FieldMap.parse(given)
    except UsageError as error:
        raise click.BadParameter(f"{error.what}. {error.hint} [{error.code}]", context, option) from None
    return given


class NumberList(click.ParamType[tuple[int, ...]]):
    """`5`, `1,3,5,10` or `0-4`."""

    name = "N[,N…]"
    most = 10_000  # 0-999999999 is a slip of the finger

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        numbers: list[int] = []
        try:
            for part in str(value).replace(",", " ").split():
                first, dash, last = part.partition("-")
                numbers += range(int(first), min(int(last), int(first) + self.most) + 1) if dash else [int(first)]
        except ValueError:
            self.fail(f"{value!r} is not a number or a list of numbers such as 1,3,5.", param, ctx)
        if len(numbers) > self.most:
            self.fail(f"more than {self.most} numbers.", param, ctx)
        return tuple(numbers)


class AmountList(click.ParamType[tuple[float, ...]]):
    """`0.2` or `0,0.2,1`."""

    name = "N[,N…]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            amounts = tuple(float(part) for part in str(value).replace(",", " ").split())
        except ValueError:
            amounts = (-1.0,)
        if not all(0 <= amount < float("inf") for amount in amounts):
            self.fail(f"expected numbers like 0,0.2, got {str(value)[:80]!r}.", param, ctx)
        return amounts


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
    text = field.opt.help
    if field.kind == "gates":
        names = list(suite.metrics(suite.options()))
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        text += f" Metrics: {', '.join(names[:8])}{more}."
    elif field.default not in (None, "", ()):
        shown = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        text += f"  [default: {shown}]"
    return flag_of(field, help=text)


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


def score_suite(suite: Suite, given: dict[str, Any], reports: bool = True) -> Decision:
    """Run the suite on what the flags say; without `reports`, the rows of items that pass are not made."""
    from ..jobs.evaluate import run_suite

    given["gates"] = gate_arguments(given.get("gates") or (), given.pop("more", ()))
    sources = {spec.name: given.pop(spec.name) for spec in suite.inputs if spec.name in given}
    options = {
        name: _value(field, given.pop(name)) for name, field in fields_of(suite.options).items() if name in given
    }
    engine = given.pop("engine", "auto")
    settings = {name: given.pop(name, None) for name in SETTINGS}
    if pairs := options.get("map"):
        _tell_without_effect(sources.get("trace"), pairs)
    ticker = Ticker() if sys.stderr.isatty() else None  # a pipe wants no progress, and no cost for it
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
        from ..config.values import read_metrics

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
        from ..core.evaluate import gc_paused

        trace, pairs, cites = given.get("trace"), given.get("map") or (), given.get("cites") is not False
        with gc_paused():  # until the report is written: the collector would look at each of its rows
            decision = score_suite(suite, given, reports=shows_items(form, outputs))
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
    from ..reading.misfit import without_effect

    if useless := without_effect(trace, pairs):
        say(
            f"shipworthy: {trace}: `shipworthy run` wrote these traces and mapped them already, so {useless} has no "
            f"effect. To map the responses differently, send the questions again with it.",
            err=True,
        )


def output_flags(command: F) -> F:
    """--json, --format, --output: where the decision goes."""
    for option in (
        click.option(
            "-o",
            "--output",
            "outputs",
            multiple=True,
            metavar="FILE",
            callback=_check_endings,
            help="Also write a report; the ending chooses the format (.html .json .md .tsv .txt .xml for JUnit, "
            ".svg for a badge, .badge.json for shields, .prom for OpenMetrics, .csv and .parquet for rows, "
            ".otlp.json for OpenTelemetry, .mlflow.json for MLflow). Repeatable.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(list(FORMATS)),
            default="text",
            show_default=True,
            help="What to print on standard output; `github` prints workflow annotations.",
        ),
        click.option("--json", "form", flag_value="json", help="Short for --format json."),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_keep_verbose,
            help="Also show gates that pass, and what each metric means.",
        ),
    ):
        command = option(command)
    return command


def _keep_verbose(ctx: click.Context, _param: click.Parameter, verbose: bool) -> None:
    """Only printing asks for it, so that no command has to pass it on."""
    ctx.meta[VERBOSE] = verbose


class _EngineName(click.Choice):  # type: ignore[type-arg]  # which older releases do not have
    """A name that an engine had before is answered with the one that it has now."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in BEFORE:
            raise unknown_engine(value)
        return super().convert(value, param, ctx)


def engine_flags(command: F) -> F:
    """--engine and its settings: how the work is done, which changes no byte of what comes out."""
    return together(
        (
            click.option(
                "--engine",
                type=_EngineName(list(ENGINES)),
                default="auto",
                show_default=True,
                help="How to run: `auto` uses all cores if the files are large.",
            ),
            whole("--jobs", 1, SETTINGS["jobs"], metavar="N"),
            text("--scheduler", "ADDRESS", SETTINGS["scheduler"]),
            text("--memory-limit", "SIZE", SETTINGS["memory_limit"]),
        )
    )(command)


def _check_endings(_ctx: click.Context, _param: click.Parameter, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """An ending that names no format is an error before anything is sent or scored."""
    for path in outputs:
        form_of(path)
    return outputs
