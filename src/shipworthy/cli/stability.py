"""`shipworthy stability`: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from ._shared import emit, gate_arguments, output_options
from ._suite import gold_flag, judging_flags, sweep_flag
from ._target import numbers, run_target, target_flags

if TYPE_CHECKING:
    from ..decision import Decision

F = TypeVar("F", bound=Callable[..., Any])
SEEDS, JITTERS = "0,1,2,3,4", "none,ws,punct,syn"


def _seeds(context: click.Context, option: click.Parameter, given: str | None) -> tuple[int, ...]:
    return numbers(context, option, given) if given else ()


def _jitters(context: click.Context, option: click.Parameter, given: str) -> tuple[str, ...]:
    """`none,ws,punct`: jitters by name."""
    if not given:
        return ()
    from ..runner.jitter import JITTERS as known

    names = tuple(name.strip() for name in given.split(",") if name.strip())
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise click.BadParameter(f"there is no jitter {(unknown or [given])[0]!r}; there are {', '.join(known)}")
    return names


def _scoring_flags(command: F) -> F:
    """What shapes the verdict, for `score` and for `run`."""
    for option in (
        click.option("--by", multiple=True, metavar="FIELD", help="Also report by a field of the gold item, such as type."),
        click.option("--profile", type=click.Choice(["strict", "reference"]), default="strict", show_default=True,
                     help="`reference` prints what the original scripts print."),
        click.option("--max-fail-rate", default="0", show_default=True, metavar="SHARE",
                     help="Most questions that may miss a bar."),
        click.option("--gates", multiple=True, metavar="NAME=VALUE,…",
                     help="Bars that each question must clear, such as acr=0.95,cghc=0.95,css=0.70,ned50=0.20,rcr=0.98 (the "
                          "defaults); also gates on the whole, such as mean_iaa=0.80 or pass^3=0.90."),
        gold_flag,
    ):  # fmt: skip
        command = option(command)
    return command


class ByMode(click.Group):
    """`stability --mode score …` is `stability score …`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for place, arg in enumerate(args):
            if arg == "--mode" or arg.startswith("--mode="):
                _, given, mode = arg.partition("=")
                rest = args[place + 1 :] if given else args[place + 2 :]
                mode = mode if given else "".join(args[place + 1 : place + 2])
                if mode not in ("run", "score"):
                    raise UsageError(
                        f"--mode {mode!r} is not a mode", hint="Write --mode run or --mode score.", code="mode"
                    )
                args = [mode, *args[:place], *rest]
                break
        return super().parse_args(ctx, args)


@click.group("stability", cls=ByMode, context_settings={"max_content_width": 100})
def command() -> None:
    """Do seeds and harmless rewording change the answer?

    `--mode run` and `--mode score` are other spellings of the two commands.
    """


@command.command("score", context_settings={"max_content_width": 100})
@click.option("--stability", "--runs", "runs", required=True, metavar="FILE", help="The runs, JSON lines.")
@click.option(
    "--seeds",
    callback=_seeds,
    metavar="N[,N…]",
    help="Seeds that the grid must have, such as 0,1,2 or 0-4.  [default: all that occur]",
)
@click.option(
    "--jitters",
    default="",
    callback=_jitters,
    metavar="NAME[,NAME…]",
    help="Jitters that it must have.  [default: all that occur]",
)
@sweep_flag
@click.option("--arm", metavar="NAME", help="Which arm, where the runs are of several.")
@_scoring_flags
@judging_flags
@output_options
def score(form: str, outputs: Sequence[str], **given: Any) -> int:
    """Compare the runs of each question with each other and decide.

    \b
    shipworthy stability score --gold gold.jsonl --stability runs/stability.jsonl
    shipworthy stability score --gold gold.jsonl --stability runs/stability.jsonl --gates acr=0.95,ned50=0.30
    """
    return emit(_score(**given), form, outputs)


@command.command("run", context_settings={"max_content_width": 100})
@target_flags
@click.option(
    "--stability",
    "--out",
    "runs",
    default="runs/stability.jsonl",
    show_default=True,
    metavar="FILE",
    help="Journal of runs to write.",
)
@click.option("--seeds", default=SEEDS, show_default=True, callback=_seeds, metavar="N[,N…]", help="Seeds to run.")
@click.option(
    "--jitters",
    default=JITTERS,
    show_default=True,
    callback=_jitters,
    metavar="NAME[,NAME…]",
    help="Rewordings to run, of none, ws, punct, syn, order, para.",
)
@click.option("--paraphrases", is_flag=True, help="Ask each paraphrase of the gold set too.")
@_scoring_flags
@judging_flags
@output_options
def run(form: str, outputs: Sequence[str], seeds: tuple[int, ...], jitters: tuple[str, ...], paraphrases: bool,
        runs: str, **given: Any) -> int:  # fmt: skip
    """Ask a target every question under every seed and jitter, then score the runs.

    \b
    shipworthy stability run --gold gold.jsonl --http http://localhost:8080/qa --stability runs/stability.jsonl
    """
    run_target(given, runs, seeds=seeds, jitters=jitters, paraphrases=paraphrases, profile=given["profile"])
    return emit(_score(runs=runs, seeds=seeds, jitters=jitters, **given), form, outputs)


def _score(gold: str, runs: str, gates: Sequence[str], more: Sequence[str], **given: Any) -> Decision:
    from ..scoring.stability import evaluate_stability

    return evaluate_stability(gold, runs, gates=gate_arguments(gates, more), **given)
