"""`shipworthy retrieval`: score a shadow index beside the live one, mirror questions to both, calibrate ΔS."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from ._shared import Numbers, Ticker, emit, gate_arguments, output_options

if TYPE_CHECKING:
    from ..decision import Decision

F = TypeVar("F", bound=Callable[..., Any])

_CHOICES = (
    ("--denominator", ("returned", "k"), "What precision divides by: blocks returned, or k."),
    ("--order", ("list", "score"), "Ranks by the list's order, or by score."),
    ("--ties", ("list", "docid_desc"), "Equal scores: as listed, or by id downwards as trec_eval has it."),
    (
        "--duplicates",
        ("first", "occupy_slot", "error"),
        "A repeated id: first place counts, keeps its slots, or is an error.",
    ),
    ("--missing-query", ("zero", "skip", "error"), "A question without a list."),
    ("--no-relevant", ("skip", "zero", "error"), "A question without relevant blocks."),
    ("--recall", ("fraction", "all", "any"), "What recall asks for."),
    ("--offset-match", ("overlap", "contained", "endpoints"), "How a cited range must fit the widened gold range."),
)


@click.group("retrieval", context_settings={"max_content_width": 100})
def command() -> None:
    """Is the shadow index allowed to replace the live one?

    \b
    shipworthy retrieval mirror --gold gold.jsonl --live http://…/retrieve --shadow http://…/retrieve   # ask both
    shipworthy retrieval score --gold gold.jsonl --shadow runs/shadow.jsonl --live runs/live.jsonl      # decide
    shipworthy retrieval score --qrels qrels.txt --run run.txt --metrics P@5,R@10,nDCG@10,MRR,MAP       # measure
    """


def _choice_options(function: F) -> F:
    for name, values, says in reversed(_CHOICES):
        function = click.option(name, type=click.Choice(values), default=None, help=f"{says}  [default: the preset's]")(
            function
        )
    return function


def _embedder_options(function: F) -> F:
    for option in (
        click.option("--embed-cache", metavar="FILE", help="Keep vectors in this SQLite file."),
        click.option("--embed-key-env", metavar="NAME", help="Environment variable that holds the server's key."),
        click.option("--embed-model", metavar="NAME", default="", help="Model of the http embedder."),
        click.option("--embed-url", metavar="URL", default="", help="Embedding server: …/v1, or Ollama's …/api/embed."),
        click.option("--embedder", type=click.Choice(["precomputed", "lexical", "http", "local"]), default="lexical",
                     show_default=True, help="What makes ΔS where the log has none and texts are given."),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command("score", context_settings={"max_content_width": 100})
@click.option(
    "--gold", metavar="FILE", help="Gold set, JSON lines with relevant, anchor_section, paraphrases, negatives."
)
@click.option("--shadow", metavar="FILE", help="Log of the index that wants to ship, JSON lines.")
@click.option(
    "--live", metavar="FILE", help="Log of the index that serves now, on the same questions (a run with --qrels)."
)
@click.option("--qrels", metavar="FILE", help="TREC judgements in place of --gold.")
@click.option("--run", metavar="FILE", help="TREC run in place of --shadow.")
@click.option("--metrics", metavar="LIST", help="Only these ranking metrics: P@5,R@10,nDCG@10,MRR,MAP,success@5.")
@click.option("--k", type=Numbers(), default=(1, 3, 5, 10), help="Depths.  [default: 1,3,5,10]")
@click.option(
    "--match",
    type=click.Choice(["ids", "offsets", "text"]),
    default="ids",
    show_default=True,
    help="What makes a block relevant: its id, its byte range, or its text. The last two survive a re-chunking.",
)
@click.option(
    "--min-overlap", type=float, help="Share of a gold range, or of a block, that must be covered.  [default: 0.5]"
)
@click.option(
    "--preset",
    type=click.Choice(["native", "trec", "trec-c"]),
    help="Named set of the choices below.  [default: native; trec with --qrels]",
)
@_choice_options
@click.option("--rel-level", type=click.IntRange(1), help="Lowest grade that is relevant, with --qrels.  [default: 1]")
@click.option("--depth", type=click.IntRange(1), help="Look at so many ranks at most.")
@click.option("--window", type=click.IntRange(0), help="Bytes by which a gold range is widened.  [default: 30]")
@click.option("--by", multiple=True, metavar="FIELD", help="Also report by a field of the gold item.")
@click.option("--sections", metavar="FILE", help="Sections of blocks: JSON lines with id and section_id.")
@click.option("--texts", metavar="FILE", help="Texts of blocks: JSON lines with id and text.")
@_embedder_options
@click.option(
    "--gates",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Bars to clear, such as coverage=0.80,recall@5>=baseline-0.02. Baseline is live.",
)
@click.option("--only-gates", is_flag=True, help="Decide by the gates named here alone.")
@click.option(
    "--profile",
    type=click.Choice(["strict", "reference"]),
    default="strict",
    show_default=True,
    help="`reference` computes what the original pseudocode describes.",
)
@click.option("--lenient", is_flag=True, help="Skip bad lines, and say that the decision rests on partial data.")
@click.option("--offenders", type=click.IntRange(0), default=10, show_default=True, help="How many offenders to show.")
@click.option("--require-proof", "--proven", is_flag=True, help="A gate that is met but not proven does not hold.")
@click.option("--write-trec", metavar="DIR", help="Also write qrels.txt and run.txt there.")
@click.argument("more", nargs=-1, metavar="[NAME=VALUE]...")
@output_options
def score(
    gold: str | None, shadow: str | None, form: str, outputs: tuple[str, ...], write_trec: str | None, **given: Any
) -> int:
    """Score a retrieval log against a gold set, beside live's, and decide.

    \b
    shipworthy retrieval score --gold gold.jsonl --shadow shadow.jsonl --live live.jsonl --match offsets
    shipworthy retrieval score --qrels qrels.txt --run run.txt --metrics P@5,R@10,nDCG@10,MRR,MAP
    """
    given["gates"] = gate_arguments(given["gates"], given.pop("more"))
    _check_inputs(gold, shadow, given)
    decision = _scored(gold, shadow, given)
    if write_trec:
        _write_trec(write_trec, gold, {"run.txt": shadow or ""})
    return emit(decision, form, outputs)


_PLACES = ("match", "min_overlap", "window", "offset_match", "by", "sections", "texts", "embedder", "embed_url", "embed_model",
           "embed_key_env", "embed_cache", "profile")  # fmt: skip


def _check_inputs(gold: str | None, shadow: str | None, given: dict[str, Any]) -> None:
    """Two files that belong together, and no flag that would be without effect."""
    trec, metrics, live = given["qrels"], given["metrics"], given["live"]
    if bool(gold) == bool(trec) or bool(gold) != bool(shadow) or bool(trec) != bool(given["run"]):
        raise UsageError(
            "what shall be scored?", hint="Give --gold with --shadow, or --qrels with --run.", code="retrieval-inputs"
        )
    if metrics is not None and live:
        raise UsageError("--metrics measures one log", hint="Leave out --live, or --metrics.", code="retrieval-inputs")
    if trec:
        _refuse(given, "with --qrels, which has ids and nothing else", *_PLACES, "lenient", "write_trec")
    else:
        _refuse(given, "with --gold, which has no grades", "rel_level")
    if metrics is not None:
        _refuse(given, "with --metrics, which looks at ids and names its depths", *_PLACES, "k")


def _refuse(given: dict[str, Any], why: str, *names: str) -> None:
    context = click.get_current_context()
    for name in names:
        written = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if written and (name, given.get(name)) != ("match", "ids"):
            raise UsageError(f"has no effect {why}", where=f"--{name.replace('_', '-')}", hint="Leave it out.",
                             code="retrieval-inputs")  # fmt: skip


def _scored(gold: str | None, shadow: str | None, given: dict[str, Any]) -> Decision:
    from ..scoring.retrieval import evaluate_ids, evaluate_retrieval, evaluate_trec

    qrels, run, metrics, live = (given.pop(name) for name in ("qrels", "run", "metrics", "live"))
    names = (
        "denominator",
        "order",
        "ties",
        "duplicates",
        "missing_query",
        "no_relevant",
        "recall",
        "rel_level",
        "depth",
    )
    choices = {name: given.pop(name) for name in names}
    preset = given.pop("preset") or ("trec" if qrels else "native")
    plain = {"preset": preset, "gates": given["gates"], "require_proof": given["require_proof"], **choices}
    if qrels and not live:
        return evaluate_trec(qrels, run, _metrics(given["k"]) if metrics is None else metrics, **plain)
    if metrics is not None and not live:
        return evaluate_ids(gold or "", shadow or "", metrics, lenient=given["lenient"], **plain)
    ticker = Ticker.for_people("log lines")
    if qrels:
        from ..suites.retrieval.trec import gold_of_qrels, log_of_run

        level = choices.get("rel_level") or 1
        gates = given.pop("gates") or [f"recall@{5 if 5 in given['k'] else max(given['k'])}>=baseline-0.02"]
        found = evaluate_retrieval(gold_of_qrels(qrels, level), log_of_run(run), log_of_run(live), preset=preset, gates=gates,
                                   tick=ticker, **given | {"only_gates": True}, **choices)  # fmt: skip
    else:
        found = evaluate_retrieval(gold or "", shadow or "", live, preset=preset, tick=ticker, **given, **choices)
    if ticker is not None:
        ticker.close()
    return found


def _metrics(depths: Iterable[int]) -> str:
    from ..suites.retrieval import make_options

    depths = make_options(k=depths).k
    return ",".join([f"{kind}@{k}" for kind in ("P", "R", "nDCG") for k in depths] + ["MRR", "MAP"])


def _write_trec(folder: str, gold: str | None, logs: dict[str, str]) -> None:
    """A gold set as qrels.txt and logs as runs; a log with paraphrases or seeds has several lists a question: the first."""
    from ..contracts import Input, read_gold, stream_traces
    from ..report import write
    from ..suites.retrieval import LogLine
    from ..suites.retrieval.trec import qrels_lines, run_lines

    if gold:
        write(os.path.join(folder, "qrels.txt"), "".join(qrels_lines(read_gold(gold))).encode())
    for name, log in logs.items():
        first: dict[str, LogLine] = {}
        for _, line in stream_traces(log, Input(), record=LogLine):
            assert isinstance(line, LogLine)
            first.setdefault(str(line.qid), line)
        write(os.path.join(folder, name), "".join(run_lines(first.values(), "shipworthy")).encode())


@command.command("mirror", context_settings={"max_content_width": 100})
@click.option("--gold", metavar="FILE", help="Questions with their paraphrases, JSON lines.")
@click.option("--from-log", metavar="FILE", help="Ask what this live log asked, in place of --gold.")
@click.option(
    "--live",
    required=True,
    metavar="URL",
    help="Endpoint of the live index: POST {q, qid, seed, index} gives a log line.",
)
@click.option("--shadow", required=True, metavar="URL", help="Endpoint of the shadow index.")
@click.option("--live-index", default="", metavar="NAME", help="Sent as `index` to the live endpoint.")
@click.option("--shadow-index", default="", metavar="NAME", help="Sent as `index` to the shadow endpoint.")
@click.option("--out", default="runs", show_default=True, metavar="DIR", help="Where live.jsonl and shadow.jsonl go.")
@click.option("--seeds", type=Numbers(), default=(0,), help="Seeds, such as 0,1.  [default: 0]")
@click.option(
    "--header", "headers", multiple=True, metavar="NAME=VALUE", help="Sent with each request; ${ENV} is filled in."
)
@click.option("--concurrency", type=click.IntRange(1, 1000), default=8, show_default=True, help="Asked at a time.")
@click.option(
    "--timeout-sec",
    "timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="For one attempt.",
)
@click.option(
    "--retries", type=click.IntRange(0, 100), default=3, show_default=True, help="On 429, 5xx, lost connections."
)
@click.option("--format", "form", type=click.Choice(["jsonl", "trec"]), default="jsonl", show_default=True,
              help="`trec` also writes qrels.txt, live.run.txt and shadow.run.txt.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Ask only what the logs don't hold yet.")
@click.option("--overwrite", is_flag=True, help="Drop what the logs hold.")
def mirror(
    gold: str | None, from_log: str | None, live: str, shadow: str, out: str, headers: tuple[str, ...], form: str, **given: Any
) -> int:  # fmt: skip
    """Ask both endpoints the same questions and write a log of each.

    \b
    shipworthy retrieval mirror --gold gold.jsonl --live http://127.0.0.1:8080/retrieve --live-index live \\
        --shadow http://127.0.0.1:8080/retrieve --shadow-index shadow --seeds 0,1
    """
    from ..contracts import read_gold
    from ..runner.mirror import mirror as ask_both
    from ..runner.mirror import questions_of_log

    if bool(gold) == bool(from_log):
        raise UsageError("what shall be asked?", hint="Give --gold, or --from-log.", code="retrieval-inputs")
    for pair in headers:
        if "=" not in pair:
            raise UsageError("a header is written NAME=VALUE", where="--header", code="retrieval-inputs")
    os.makedirs(out, exist_ok=True)
    asked = read_gold(gold) if gold else questions_of_log(from_log or "")
    paths = [os.path.join(out, f"{side}.jsonl") for side in ("live", "shadow")]
    done = ask_both(asked, live, shadow, *paths, headers=dict(pair.split("=", 1) for pair in headers), **given)
    if form == "trec":
        _write_trec(out, gold, {"live.run.txt": paths[0], "shadow.run.txt": paths[1]})
    for summary in done:
        click.echo(
            f"{summary.resumed + summary.finished} of {summary.planned} runs in {summary.out}: {summary.failed} failed"
        )
    return 0 if all(summary.complete for summary in done) else 3


@command.command("calibrate", context_settings={"max_content_width": 100})
@click.option("--gold", required=True, metavar="FILE", help="Gold set with relevant and negatives.")
@click.option("--texts", metavar="FILE", help="Texts of blocks: JSON lines with id and text.")
@_embedder_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def calibrate(gold: str, texts: str | None, as_json: bool, embedder: str, **given: Any) -> int:
    """Suggest bars for ΔS from the gold's own relevant blocks against its negatives.

    \b
    shipworthy retrieval calibrate --gold gold.jsonl --texts blocks.jsonl
    """
    import msgspec

    from ..contracts import read_gold
    from ..embedders import make_embedder
    from ..scoring.calibration import calibrate as suggest
    from ..scoring.retrieval import read_texts

    used = make_embedder(embedder, **{name.removeprefix("embed_"): value for name, value in given.items()})
    if used is None:
        raise UsageError(
            "precomputed distances can't be calibrated", hint="Choose another --embedder.", code="embedder-setting"
        )
    found = suggest(read_gold(gold), read_texts(texts), used)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
        return 0
    click.echo(f"{found.embedder}: {found.relevant} relevant blocks at median {found.relevant_median} (p90 {found.relevant_p90}), "
               f"{found.negative} negatives at {found.negative_median}; {found.without_text} blocks without text")  # fmt: skip
    click.echo(
        f"A negative is farther than a relevant block with probability {found.auc}; the two separate best at {found.risk}."
    )
    click.echo(f"--gates '{found.gates}'")
    return 0
