"""`shipworthy demo`: the built-in pipeline, run and judged; `demo serve` puts it behind HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from ..core.board import Board
from ..core.contracts import Gold
from ..core.decision import Decision, report
from ..core.sources import read_gold
from ..demo import gold_path, retrieve
from ..demo.pipeline import FAULTS
from ..demo.reasoner import load_notes, reason
from ..errors import EnvironmentFailure, UsageError
from ..jobs.commit import stamp
from ..jobs.evaluate import evaluate
from ..report import render, write
from ..runner import run, run_load
from ..runner.reasoner import ask_all, reasoner_target
from ..suites.reasoning.contracts import answer_row, read_fixture
from ._flags import many, text, whole
from ._output import show, write_beside
from ._say import say

DEGRADED = "degraded_index"
FORMS = ("html", "json")  # of the reports that are written


class Tour(NamedTuple):
    """What the steps of the demo share."""

    folder: str
    faults: tuple[str, ...]
    golds: list[Gold]
    gold: str
    accuracy: str  # `refer` where the answers suite runs too and decides about wrong answers, as in `check`

    @property
    def target(self) -> str:
        """The pipeline with its faults; a degraded index is a fault of the retrieval step alone."""
        faults = ",".join(fault for fault in self.faults if fault != DEGRADED)
        return f"demo:{faults}" if faults else "demo"

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)


@click.group("demo", invoke_without_command=True)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Break the pipeline and see the right gate fail: drop_evidence, wrong_citation, leak_refusal, "
    "unlock_constraint, jitter_flip, slow_tail, degraded_index.",
)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    type=click.Choice(["answers", "stability", "latency", "agreement", "retrieval", "reasoning"]),
    help="Only these suites.  [default: all]",
)
@text("--out", "DIR", "Where traces and reports go.", default="runs/demo")
@click.pass_context
def command(context: click.Context, faults: tuple[str, ...], suites: tuple[str, ...], out: str) -> int:
    """Score a built-in pipeline with every suite and print one decision.

    Nothing leaves this machine: no model, no key, no download.

    \b
    shipworthy demo                          # healthy: SHIP
    shipworthy demo --fault leak_refusal     # answers questions that it should refuse: NO-SHIP
    shipworthy demo serve --port 8080        # the same pipeline at POST /qa
    """
    if context.invoked_subcommand:
        return 0

    check_faults(faults)
    gold = os.fspath(gold_path())
    chosen = suites or tuple(STEPS)
    tour = Tour(out, faults, read_gold(gold), gold, "refer" if "answers" in chosen else "gate")
    board = Board([STEPS[name](tour) for name in chosen])
    stamp(board, label=" ".join(["demo", *faults]), judged_here=False)
    done = [show(board, "text"), *(write_beside(tour.path(f"report.{form}"), render(board, form)) for form in FORMS)]
    if all(done):
        say(f"Report: {tour.path('report.html')}")
    if not suites and all(done):
        say(f"History: {_planted_site(tour)}")
    return board.exit_code if all(done) else EnvironmentFailure.exit_code


def _planted_site(tour: Tour) -> str:
    """Pages over a planted history: a question that broke, a coin, an outage. The page to open."""
    from ..demo.planted import NIGHTS, nights
    from ..history import History
    from ..pages.site import write_site

    history = History(tour.path("history.db"))
    if not os.path.exists(history.url) or len(history.runs()) != NIGHTS:
        _say(f"writing {NIGHTS} nights of history with three causes to find")
        gold = [json.loads(line) for line in _lines(tour.gold)]
        judged: dict[str, dict[str, Any]] = {}  # most nights are alike
        for night in nights(gold):
            key = json.dumps([night.gold, night.traces])
            if key not in judged:
                judged[key] = report(evaluate("answers", gold=night.gold, trace=night.traces, by=["type"]))
            history.record(judged[key], **night.known)
    write_site(history.url, tour.path("site"))
    return tour.path("site/index.html")


def check_faults(faults: tuple[str, ...]) -> None:
    """An unknown fault is refused before anything is sent; the message lists every fault."""
    known = (*FAULTS, DEGRADED)
    for fault in faults:
        if fault not in known:
            raise UsageError(
                f"unknown fault {fault!r}",
                where="--fault",
                hint=f"Choose from: {', '.join(known)}.",
                code="demo-unknown-fault",
            )


@command.command("serve", short_help="Serve the built-in pipeline over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Other addresses need a token.")
@whole("--port", 0, "0 picks a free port.", most=65535, default=8080)
@click.option("--token", envvar="SHIPWORTHY_DEMO_TOKEN", show_envvar=True, help="Bearer token that clients must send.")
@many("--fault faults", "NAME", "Fault for every request. Repeatable.")
def serve_command(host: str, port: int, token: str | None, faults: tuple[str, ...]) -> int:
    """Serve the built-in pipeline: POST /qa, POST /retrieve, GET /healthz, GET /openapi.json.

    \b
    shipworthy demo serve --port 8080
    shipworthy run --gold gold.jsonl --target http://localhost:8080/qa --out runs/trace.jsonl
    """
    from ..demo.server import serve

    serve(host=host, port=port, token=token, faults=faults, said=_say)
    return 0


def _answers(tour: Tour) -> Decision:
    return evaluate("answers", gold=tour.gold, trace=_asked(tour, "trace.jsonl"), scu_enforced=True, by=["type"])


def _stability(tour: Tour) -> Decision:
    runs = _asked(tour, "stability.jsonl", seeds=(0, 1), jitters=("none", "ws", "punct", "syn"))
    # Six questions are wrong in every run, healthy or not; where stability decides about them it allows for that.
    allowed = "0" if tour.accuracy == "refer" else "0.05"
    return evaluate("stability", gold=tour.gold, runs=runs, max_fail_rate=allowed, accuracy=tour.accuracy)


def _latency(tour: Tour) -> Decision:
    _say(f"measuring latency: {len(tour.golds)} requests at 40 per second")
    summary = run_load(tour.golds, tour.target, tour.path("latency.jsonl"), loads=(40,), overwrite=True)
    return evaluate("latency", gold=tour.gold, trace=summary.out, accuracy=tour.accuracy)


def _agreement(tour: Tour) -> Decision:
    return evaluate("agreement", gold=tour.gold, trace=_asked(tour, "trace.jsonl"))


def _retrieval(tour: Tour) -> Decision:
    answerable = [item for item in tour.golds if item.answerable]
    shadow = "shadow-degraded" if DEGRADED in tour.faults else "shadow"
    _say(f"sending {len(answerable)} questions in all their wordings to the live and the {shadow} index")
    logs = {index: _retrieved(tour, index, answerable) for index in ("live", shadow)}
    golds = tour.path("retrieval-gold.jsonl")
    _write_lines(golds, (row for row in map(json.loads, _lines(tour.gold)) if row["answerable"]))
    return evaluate("retrieval", gold=golds, shadow=logs[shadow], live=logs["live"], match="offsets", by=["type"])


def _reasoning(tour: Tour) -> Decision:
    cases, notes = read_fixture(None).cases, load_notes()
    _say(f"sending {len(cases)} prompts to the built-in reasoner")
    answers = ask_all(cases, reasoner_target(function=lambda prompt, **_: reason(prompt, notes)))
    path = tour.path("answers.jsonl")
    _write_lines(path, (answer_row(id_, answer) for id_, answer in answers.items()))
    return evaluate("reasoning", answers=path)


STEPS: dict[str, Callable[[Tour], Decision]] = {
    "answers": _answers,
    "stability": _stability,
    "latency": _latency,
    "agreement": _agreement,
    "retrieval": _retrieval,
    "reasoning": _reasoning,
}


def _asked(tour: Tour, name: str, **plan: Any) -> str:
    """Send the whole plan to the pipeline, with a progress bar; the responses stay in a file."""
    runs = len(tour.golds) * len(plan.get("seeds", "0")) * len(plan.get("jitters", "0"))
    _say(f"sending {runs:,} questions to the built-in pipeline")
    run(tour.golds, tour.target, tour.path(name), overwrite=True, progress=sys.stderr.isatty(), **plan)
    return tour.path(name)


def _retrieved(tour: Tour, index: str, golds: list[Gold]) -> str:
    path = tour.path(f"{index}.jsonl")
    _write_lines(
        path,
        (
            retrieve(wording, index=index) | {"qid": item.qid, "paraphrase": number, "seed": 0}
            for item in golds
            for number, wording in enumerate([item.question, *item.paraphrases][:3])
        ),
    )
    return path


def _write_lines(path: str, rows: Any) -> None:
    write(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as stream:
        return stream.read().splitlines()


def _say(text: str) -> None:
    say(f"… {text}", err=True)
