"""`shipworthy outcomes`: what people did with the answers."""

from __future__ import annotations

import json
from typing import Any

import click

from ._shares import SHARE


@click.command("outcomes")
@click.option("--input", "path", required=True, metavar="FILE", help="Outcomes, one JSON object a line.")
@click.option("--min-samples", type=click.IntRange(0), help="[default: 20]")
@click.option("--min-accept-rate", type=SHARE, help="[default: 0.70]")
@click.option("--min-action-rate", type=SHARE, help="[default: 0.55]")
@click.option("--min-useful-rate", type=SHARE, help="[default: 0.65]")
@click.option("--report", metavar="FILE", help="An evaluation report: does its score foresee what people accept?")
@click.option("-o", "--output", metavar="FILE", help="Write the JSON summary here.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON summary.")
def command(path: str, report: str | None, output: str | None, as_json: bool, **bars: Any) -> int:
    """Accept, action and useful rates by week, model and preset, against their gates. Exits 1 when a gate fails."""
    from fractions import Fraction

    from ..report import write
    from ..suites.outcomes import read_outcomes, summarise
    from ..suites.reasoning.guard import load_report

    gates = {name: Fraction(value) for name, value in bars.items() if value is not None}
    found = summarise(read_outcomes(path), gates, load_report(report) if report else None)
    if output:
        write(output, (json.dumps(found, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace"))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=True, indent=2))
    else:
        _print(found)
    return 0 if found["passed"] else 1


def _print(found: dict[str, Any]) -> None:
    click.echo(f"{found['samples']} outcomes ({found['repeated_rows']} repeated rows counted once)")
    for name, rate in found["rates"].items():
        click.echo(f"{name:<12} {_rate(rate)}")
    click.echo("")
    for week in found["weeks"]:
        click.echo(
            f"{week['week']}  n={week['n']:<4} accept {_rate(week['accept_rate'])}  action {_rate(week['action_rate'])}"
        )
    click.echo(f"trend: {found['trend']['direction']}")
    for title in ("by_model", "by_preset"):
        for name, rates in found[title].items():
            click.echo(f"{title.replace('_', ' ')} {_plain(name)}: accept {_rate(rates['accept_rate'])}")
    if found["calibration"]:
        _print_calibration(found["calibration"])
    for gate in found["gates"]:
        value = "undefined" if gate["value"] is None else f"{gate['value']:.4f}"
        click.echo(f"{'ok  ' if gate['holds'] else 'FAIL'}  {gate['gate']}: {value} (n={gate['n']})")
    click.echo("SHIP" if found["passed"] else "NO-SHIP")


def _print_calibration(calibration: dict[str, Any]) -> None:
    area = "undefined" if calibration["auc"] is None else f"{calibration['auc']:.4f}"
    click.echo(f"score against acceptance: AUC {area} over {calibration['joined']} outcomes; {calibration['says']}")
    for band in calibration["table"]:
        rate = _rate(band["accept_rate"])
        click.echo(f"  score {band['from']:.1f}-{band['to']:.1f}: mean {band['mean_score']:.4f}, accepted {rate}")


def _rate(rate: dict[str, Any]) -> str:
    if rate["rate"] is None:
        return "0/0 (undefined)"
    low, high = rate["interval"]
    return f"{rate['count']}/{rate['n']} ({rate['rate']:.4f}, 95% {low:.3f}-{high:.3f})"


def _plain(text: str) -> str:
    from ..text import visible

    return visible(text)
