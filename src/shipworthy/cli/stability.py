"""`shipworthy stability`: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

import click

from ..errors import UsageError
from ..suites import load_suite
from ._flags import score_suite, scoring_flags, text
from ._output import emit
from ._target import run_flags, run_target, target_flags

SUITE = load_suite("stability")
SEEDS, JITTERS = {"default": "0,1,2,3,4"}, {"default": ["none,ws,punct,syn"]}


def _known_jitters(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """`none,ws,punct`: jitters by name."""
    from ..runner.jitter import JITTERS as known

    names = tuple(name.strip() for text in given for name in text.split(",") if name.strip())
    if unknown := [name for name in names if name not in known]:
        raise click.BadParameter(f"there is no jitter {unknown[0]!r}; there are {', '.join(known)}")
    return names


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


@click.group("stability", cls=ByMode)
def command() -> None:
    """Do seeds and harmless rewording change the answers?

    `--mode run` and `--mode score` are other spellings of the two commands.
    """


@command.command("score")
@click.option(
    "--jitters",
    multiple=True,
    callback=_known_jitters,
    metavar="NAME[,NAME…]",
    help="Rewordings (jitters) that the grid must have.  [default: all that occur]",
)
@scoring_flags(SUITE, without=["jitters"])
def score(form: str, outputs: tuple[str, ...], **given: object) -> int:
    """Compare the runs of each question with each other and decide.

    \b
    shipworthy stability score --gold gold.jsonl --stability runs/stability.jsonl
    shipworthy stability score --gold gold.jsonl --stability runs/stability.jsonl --gates acr=0.95,ned50=0.30
    """
    return emit(score_suite(SUITE, given), form, outputs)


@command.command("run")
@target_flags
@run_flags("limits", "file")
@text("--stability --out runs", "FILE", "Journal of runs to write.", default="runs/stability.jsonl")
@run_flags(only=["seeds", "jitters", "temperatures", "paraphrases"], seeds=SEEDS, jitters=JITTERS)
@scoring_flags(SUITE, without=["runs", "seeds", "jitters", "sweep", "arm", "map"])
def run(form: str, outputs: tuple[str, ...], runs: str, paraphrases: bool, **given: object) -> int:
    """Send every question under every seed and rewording to your system, then score the runs.

    \b
    shipworthy stability run --gold gold.jsonl --http http://localhost:8080/qa --stability runs/stability.jsonl
    """
    grid = {name: given[name] for name in ("seeds", "jitters")} | {"temperatures": given.pop("temperatures")}
    run_target(given, runs, paraphrases=paraphrases, profile=given["profile"] or "strict", **grid)
    return emit(score_suite(SUITE, given | {"runs": runs}), form, outputs)
