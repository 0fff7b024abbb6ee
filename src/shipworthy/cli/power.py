"""`shipworthy power`: how many questions the gates need."""

from __future__ import annotations

import click

from ._flags import many, print_json, text
from ._say import say, say_json


@click.command("power")
@click.argument("report", required=False)
@text("--config", "FILE", "Config whose suites and gates to use.  [default: the nearest]")
@many("--gates", "NAME>=VALUE", "Use only these gates, at the rates given with --rate. Repeatable.")
@many("--rate rates", "METRIC=RATE", "Assume this rate instead of the observed one. Repeatable.")
@click.option("--power", "wanted", type=click.FloatRange(0.5, 0.99), default=0.8, show_default=True, help="How likely.")
@print_json
def command(
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
    from fractions import Fraction

    from ..jobs.power import parse_rates, power_of_gates, power_of_report

    assumed, level = parse_rates(rates), Fraction(str(wanted))
    if gates:
        needs = power_of_gates([part for text in gates for part in text.split(",") if part.strip()], assumed, level)
    else:
        needs = power_of_report(_report(report, config), assumed, level)
    if as_json:
        import msgspec

        say_json([msgspec.to_builtins(one, enc_hook=float) for one in needs])
        return 0
    say(f"Items needed to prove each gate with {wanted:.0%} probability:")
    for one in needs:
        say(f"  {one.suite + ' ' if one.suite else ''}{one.line()}")
    return 0


def _report(report: str | None, config: str | None) -> dict[str, object]:
    if report is not None:
        from ..reading.reports import load_report

        return load_report(report)
    from ..errors import UsageError
    from ..jobs.check import check

    board = check(config, record=False)
    if not board.decisions:
        why = next(iter(board.failures.values()), "")
        raise UsageError(f"no suite could be run: {why}", hint="Use --gates and --rate.", code="power-nothing")
    return board.report()
