"""`shipworthy retrieval`: score one retriever, compare a new index with the live one, calibrate ΔS."""

from __future__ import annotations

import os
from typing import Any

import click
import msgspec

from ..core.options import make_options
from ..core.sources import read_gold, read_texts
from ..errors import UsageError
from ..report import write
from ..suites import load_suite
from ..suites.retrieval.embedders import calibrate as suggest
from ..suites.retrieval.embedders import make_embedder
from ..suites.retrieval.log import qrels_text, run_text
from ._flags import only_flags, print_json, score_suite, scoring_flags, text
from ._output import emit, shows_items
from ._say import say, say_json
from ._target import run_flags

SUITE = load_suite("retrieval")
EMBEDDER = ("embedder", "embed_url", "embed_model", "embed_key_env", "embed_cache")


@click.group("retrieval")
def command() -> None:
    """Does retrieval find the right text, and may a new index replace the live one?

    \b
    shipworthy retrieval score --gold gold.jsonl --run runs/trace.jsonl                                 # how good?
    shipworthy retrieval mirror --gold gold.jsonl --live http://…/retrieve --shadow http://…/retrieve   # log both
    shipworthy retrieval score --gold gold.jsonl --shadow runs/shadow.jsonl --live runs/live.jsonl      # may it ship?
    shipworthy retrieval score --qrels qrels.txt --run run.txt --metrics P@5,R@10,nDCG@10,MRR,MAP       # TREC files
    """


@command.command("score")
@scoring_flags(SUITE)
@text("--write-trec", "DIR", "Also write qrels.txt and run.txt there.")
def score(form: str, outputs: tuple[str, ...], write_trec: str | None, **given: Any) -> int:
    """Score what was retrieved against a gold set; with --shadow and --live decide whether a new index may ship.

    \b
    shipworthy retrieval score --gold gold.jsonl --run runs/trace.jsonl --gates recall@5=0.90
    shipworthy retrieval score --gold gold.jsonl --shadow shadow.jsonl --live live.jsonl --match offsets
    shipworthy retrieval score --qrels qrels.txt --run run.txt --metrics P@5,R@10,nDCG@10,MRR,MAP
    """
    gold, log = given["gold"], given["shadow"] or given["run"]
    if write_trec and given["qrels"]:
        raise UsageError(
            "has no effect with --qrels, which are TREC files already",
            where="--write-trec",
            hint="Leave it out.",
            code="retrieval-inputs",
        )
    if given["metrics"]:
        given["per_question"] = shows_items(form, outputs)
    decision = score_suite(SUITE, given)
    if write_trec:
        _write_trec(write_trec, gold, {"run.txt": log})
    return emit(decision, form, outputs)


def _write_trec(folder: str, gold: str | None, logs: dict[str, str]) -> None:
    """A gold set as qrels.txt and logs as runs; where a question has several lists the first is written."""
    if gold:
        write(os.path.join(folder, "qrels.txt"), qrels_text(gold))
    for name, log in logs.items():
        write(os.path.join(folder, name), run_text(log))


@command.command("mirror")
@text("--gold", "FILE", "Gold set: questions with their paraphrases.")
@text("--from-log", "FILE", "Send the questions of this log again, in place of --gold.")
@text("--live", "URL", "Endpoint of the live index: POST {q, qid, seed, index} gives a log line.", required=True)
@text("--shadow", "URL", "Endpoint of the shadow index.", required=True)
@text("--live-index", "NAME", "Sent as `index` to the live endpoint.", default="")
@text("--shadow-index", "NAME", "Sent as `index` to the shadow endpoint.", default="")
@text("--out", "DIR", "Where live.jsonl and shadow.jsonl go.", default="runs")
@run_flags(only=["seeds", "headers", "concurrency", "timeout", "retries", "resume", "overwrite"])
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "trec"]),
    default="jsonl",
    show_default=True,
    help="`trec` also writes qrels.txt, live.run.txt and shadow.run.txt.",
)
def mirror(
    gold: str | None,
    from_log: str | None,
    live: str,
    shadow: str,
    out: str,
    form: str,
    **given: Any,
) -> int:
    """Send the same questions to both endpoints and save a log of each.

    \b
    shipworthy retrieval mirror --gold gold.jsonl --live http://127.0.0.1:8080/retrieve --live-index live \\
        --shadow http://127.0.0.1:8080/retrieve --shadow-index shadow --seeds 0,1
    """
    from ..runner.mirror import mirror as ask_both
    from ..runner.mirror import questions_of_log

    if bool(gold) == bool(from_log):
        raise UsageError("there are no questions to send", hint="Give --gold, or --from-log.", code="retrieval-inputs")
    os.makedirs(out, exist_ok=True)
    asked = read_gold(gold) if gold else questions_of_log(from_log or "")
    paths = [os.path.join(out, f"{side}.jsonl") for side in ("live", "shadow")]
    done = ask_both(asked, live, shadow, *paths, **given)
    if form == "trec":
        _write_trec(out, gold, {"live.run.txt": paths[0], "shadow.run.txt": paths[1]})
    for summary in done:
        say(f"{summary.resumed + summary.finished} of {summary.planned} runs in {summary.out}: {summary.failed} failed")
    return 0 if all(summary.complete for summary in done) else 3


@command.command("calibrate")
@text("--gold", "FILE", "Gold set with relevant and negatives.", required=True)
@text("--texts", "FILE", "Texts of blocks: JSON lines with id and text.")
@only_flags(SUITE, EMBEDDER)
@print_json
def calibrate(gold: str, texts: str | None, as_json: bool, **given: object) -> int:
    """Suggest thresholds for semantic distance (ΔS) from the gold set's relevant blocks and negatives.

    \b
    shipworthy retrieval calibrate --gold gold.jsonl --texts blocks.jsonl
    """
    options: Any = make_options(SUITE.options, given, SUITE.name)
    used = make_embedder(
        options.embedder,
        url=options.embed_url,
        model=options.embed_model,
        key_env=options.embed_key_env,
        cache=options.embed_cache,
    )
    if used is None:
        raise UsageError(
            "precomputed distances can't be calibrated", hint="Choose another --embedder.", code="embedder-setting"
        )
    bars = suggest(read_gold(gold), read_texts(texts, "texts")[0] if texts else {}, used)
    if as_json:
        say_json(msgspec.to_builtins(bars))
        return 0
    say(
        f"{bars.embedder}: {bars.relevant} relevant blocks, median distance {bars.relevant_median} "
        f"(p90 {bars.relevant_p90}); {bars.negative} negatives, median {bars.negative_median}; "
        f"{bars.without_text} blocks without text"
    )
    say(
        f"A negative is farther away than a relevant block with probability {bars.auc}; "
        f"the best threshold between them is {bars.risk}."
    )
    say(f"--gates '{bars.gates}'")
    return 0
