"""Other tools: their exports become traces, and results go back to the traces of a platform."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from ..errors import UsageError
from ..importers import CHOICES, Importer, Options
from ..importers.coverage import as_json as built
from ..importers.coverage import lines
from ..importers.platforms import Address, Window, is_platform, pulled
from ..jobs.push import push
from ..reading.files import replaced, write_whole
from ..text import plural
from ._flags import switch, text
from ._say import say, say_json
from ._target import map_flag


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILES…")
@text("-o --out", "FILE", "Where to save the traces, such as runs/trace.jsonl.")
@text("--gold", "FILE", "Gold set: runs without a question id are matched by their question.")
@text("--chunks", "FILE", "Chunk file: documents without an id are named by their text.")
@switch("--dry-run", "Print what would be imported; write nothing.")
@text(
    "--from format",
    "FORMAT",
    "Format of the files, instead of guessing it. `--from list` prints the formats.",
    default="",
)
@text("--draft-gold", "FILE", "Also write candidates for a gold set, to be completed by a person.")
@map_flag
@click.option("--sep", "separator", default=";", show_default=True, help="Tables: what separates the ids in a cell.")
@text("--qid qid_path", "PATH", "Where the question id is, such as metadata.case.", default="")
@text("--document-id", "KEY", "Metadata key that holds the id of a document.", default="")
@text("--retriever", "NAME", "Step that retrieves, where steps have no kinds (Weave).", default="")
@text("--since", "TIME", "Platforms: from this time on, such as 2026-11-01 or 24h ago.", default="")
@text("--until", "TIME", "Platforms: up to this time.  [default: now]", default="")
@text("--tag", "TAG", "Platforms: only traces with this tag.", default="")
@click.option(
    "--deadline", type=click.FloatRange(1), default=600, show_default=True, help="Platforms: seconds the pull may take."
)
@switch("--resume", "Platforms: go on with a pull that was cut off.")
@switch("--json as_json", "Print the coverage as JSON.")
def command(
    files: tuple[str, ...],
    out: str | None,
    gold: str | None,
    chunks: str | None,
    dry_run: bool,
    draft_gold: str | None,
    deadline: float,
    resume: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Turn exports of tracing and evaluation tools into traces that can be scored.

    \b
    shipworthy import traces.json --gold gold.jsonl --out runs/trace.jsonl
    shipworthy import spans.jsonl logs.jsonl --gold gold.jsonl --dry-run
    shipworthy import results.csv --map question=prompt --map claim=answer --out runs/trace.jsonl
    shipworthy import phoenix://localhost:6006/default --since 24h --gold gold.jsonl --out runs/trace.jsonl

    Reads OpenTelemetry, OpenInference, Phoenix, Langfuse, LangSmith, MLflow, Braintrust, ragas, deepeval, promptfoo,
    Inspect, TruLens, Weave, Opik, Haystack, LlamaIndex, Azure AI and Bedrock evaluation, BEIR, TREC and tables. The
    format is recognised by content. A run without an answer becomes a failed run, never an empty answer.
    phoenix://HOST/PROJECT, mlflow://HOST/EXPERIMENT, langfuse://HOST and langsmith://HOST/PROJECT are pulled over
    their API.
    """
    form = given["format"]
    if form == "list":
        say(" ".join(CHOICES))
        return 0
    if form and form not in CHOICES:
        raise UsageError(
            f"there is no format {form!r}", hint=f"Choose from: {', '.join(CHOICES)}.", code="import-format"
        )
    if not (out or dry_run or draft_gold):
        raise UsageError(
            "no output file was given", where="import", hint="Add --out FILE or --dry-run.", code="run-no-out"
        )
    window = tuple(given.pop(name) for name in ("since", "until", "tag"))
    options = Options(drafts=bool(draft_gold), maps=given.pop("mapping"), **given)
    place = "" if dry_run else out or draft_gold or ""
    with _here(files, place, window, deadline, resume) as found:
        importer = Importer(found, gold=gold, chunks=chunks, options=options)
        for read, name in zip(importer.coverage.files, files, strict=True):
            read.path = name
        _write(importer, None if dry_run else out, as_json, only_drafts=bool(draft_gold) and not out)
        if draft_gold and not dry_run:
            _write_drafts(importer, draft_gold)
    return 0


@contextmanager
def _here(
    files: tuple[str, ...], out: str, window: tuple[str, ...], seconds: float, resume: bool
) -> Iterator[tuple[str, ...]]:
    """The files, with a file here for every platform among them, until they are imported."""
    if not any(map(is_platform, files)):
        if any(window) or resume:
            hint = "Give an address, such as phoenix://localhost:6006/default."
            raise UsageError(
                "--since, --until, --tag and --resume are for platforms", hint=hint, code="platform-address"
            )
        yield files
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="shipworthy-") as folder:
        found, journals = [], []
        for number, name in enumerate(files):
            if not is_platform(name):
                found.append(name)
                continue
            own = os.path.join(folder, str(number))
            os.mkdir(own)
            journals.append(f"{out or os.path.join(folder, 'dry')}.pull{number or ''}")
            address = Address.parse(name)
            found.append(pulled(address, Window(*window), own, journals[-1], seconds=seconds, resume=resume))
        yield tuple(found)
        for journal in journals:
            os.unlink(journal)


def _write(importer: Importer, out: str | None, as_json: bool, only_drafts: bool) -> None:
    """Write the traces as they come, to a file that takes its name only when all of them are in it."""
    if out is None:
        for _ in importer.traces():
            pass
        _show(importer, as_json)
        if not only_drafts:
            importer.refuse_nothing()
        return
    with replaced(out) as stream:
        for trace in importer.traces():
            stream.write(_line(trace))
        _show(importer, as_json)
        importer.refuse_nothing()
    if not as_json:
        say(f"wrote {importer.coverage.written} traces to {out}")


def _line(value: object) -> bytes:
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
        return json.dumps(value).encode("ascii") + b"\n"


def _show(importer: Importer, as_json: bool) -> None:
    if as_json:
        say_json(built(importer.coverage))
        return
    for line in lines(importer.coverage):
        say(line)


def _write_drafts(importer: Importer, path: str) -> None:
    drafts = importer.drafts
    write_whole(path, b"".join(map(_line, drafts.items.values())))
    say(f"wrote {plural(len(drafts.items), 'gold candidate')} to {path}")
    if drafts.unfinished or drafts.undecided:
        say(
            f"{drafts.unfinished} need expected text, {drafts.undecided} a person who says whether they are answerable."
        )
        reviewed = "gold.jsonl" if os.path.basename(path) != "gold.jsonl" else "reviewed.jsonl"
        say(f"Then: shipworthy gold review {path} --out {reviewed}")
    else:
        say(f"Then: shipworthy gold lint {path}")


@click.command("push")
@click.argument("report")
@click.argument("address", metavar="PLATFORM")
@text("--trace", "FILE", "Traces that `shipworthy import` wrote from the platform.", required=True)
@click.option("--deadline", type=click.FloatRange(1), default=600, show_default=True, help="Seconds it may take.")
def push_command(report: str, address: str, trace: str, deadline: float) -> None:
    """Write the results of a report back to the traces that they are about.

    \b
    shipworthy import phoenix://localhost:6006/default --gold gold.jsonl --out runs/trace.jsonl
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl -o report.json
    shipworthy push report.json phoenix://localhost:6006/default --trace runs/trace.jsonl

    Each trace gets pass or fail with the verdict and the reason: an annotation in Phoenix, an assessment in MLflow, a
    score in Langfuse, feedback in LangSmith. A push that is repeated writes nothing twice. Keys come from the
    platform's own variables.
    """
    place = Address.parse(address)
    count = push(report, trace, place, seconds=deadline)
    say(f"wrote {plural(count, 'result')} to {place.kind}")
