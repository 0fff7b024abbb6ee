"""The flags of verbs that judge many answers to each question by the answers suite's rules: stability and latency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ._shared import deciding_flags

F = TypeVar("F", bound=Callable[..., Any])


def judging_flags(command: F) -> F:
    """How answers are judged, what is read, and how much is shown."""
    command = deciding_flags(command)
    for option in (
        click.option("--id-map", metavar="NAMES|FILE", help="How trace ids map to gold ids."),
        click.option("--refusal", type=click.Choice(["exact", "natural"]), default="exact", show_default=True,
                     help="What counts as a refusal."),
        click.option("--closed", is_flag=True, help="A trace of a question that the gold set does not have is an error."),
        click.option("--min-substr", type=click.IntRange(1), default=5, show_default=True,
                     help="Shortest gold substring that counts."),
    ):  # fmt: skip
        command = option(command)
    return command


def gold_flag(command: F) -> F:
    return click.option("--gold", required=True, metavar="FILE", help="Gold set, JSON lines.")(command)


def sweep_flag(command: F) -> F:
    says = "Which sweep of the file; `all` mixes them.  [default: that of the last line]"
    return click.option("--sweep", metavar="ID", help=says)(command)
