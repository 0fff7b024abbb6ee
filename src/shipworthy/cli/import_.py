"""`shipworthy import`: exports of other tools become traces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..importers import Importer


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILES…")
@click.option("--out", metavar="FILE", help="Where to save the traces, such as runs/trace.jsonl.")
@click.option("--gold", metavar="FILE", help="Gold set: runs without a question id are matched by their question.")
@click.option("--chunks", metavar="FILE", help="Chunk file: documents without an id are named by their text.")
@click.option("--dry-run", is_flag=True, help="Print what would be imported; write nothing.")
@click.option(
    "--from",
    "form",
    default="",
    metavar="FORMAT",
    help="Format of the files, instead of guessing it. `--from list` prints the formats.",
)
@click.option("--draft-gold", metavar="FILE", help="Also write candidates for a gold set, to be completed by a person.")
@map_flag
@click.option("--sep", default=";", show_default=True, help="Tables: what separates the ids in a cell.")
@click.option("--qid", "qid_path", default="", metavar="PATH", help="Where the question id is, such as metadata.case.")
@click.option("--document-id", default="", metavar="KEY", help="Metadata key that holds the id of a document.")
@click.option("--retriever", default="", metavar="NAME", help="Step that retrieves, where steps have no kinds (Weave).")
@click.option("--json", "as_json", is_flag=True, help="Print the coverage as JSON.")
def command(
    files: tuple[str, ...],
    out: str | None,
    gold: str | None,
    chunks: str | None,
    dry_run: bool,
    form: str,
    draft_gold: str | None,
    mapping: tuple[str, ...],
    sep: str,
    qid_path: str,
    document_id: str,
    retriever: str,
    as_json: bool,
) -> int:
    """Turn exports of tracing and evaluation tools into traces that can be scored.

    \b
    shipworthy import traces.json --gold gold.jsonl --out runs/trace.jsonl
    shipworthy import spans.jsonl logs.jsonl --gold gold.jsonl --dry-run
    shipworthy import results.csv --map question=prompt --map claim=answer --out runs/trace.jsonl

    Reads OpenTelemetry, OpenInference, Phoenix, Langfuse, LangSmith, MLflow, Braintrust, ragas, deepeval, promptfoo,
    Inspect, TruLens, Weave, Opik, Haystack, LlamaIndex, Azure AI and Bedrock evaluation, BEIR, TREC and tables. The
    format is recognised by content. A run without an answer becomes a failed run, never an empty answer.
    """
    from ..errors import UsageError
    from ..importers import CHOICES, Importer, Options

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
    options = Options(form, mapping, sep, qid_path, retriever, document_id, bool(draft_gold))
    importer = Importer(files, gold=gold, chunks=chunks, options=options)
    _write(importer, None if dry_run else out, as_json, only_drafts=bool(draft_gold) and not out)
    if draft_gold and not dry_run:
        _write_drafts(importer, draft_gold)
    return 0


def _write(importer: Importer, out: str | None, as_json: bool, only_drafts: bool) -> None:
    """Write the traces as they come, to a file that takes its name only when all of them are in it."""
    from ..reading.files import replaced

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
    import json

    import msgspec

    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
        return json.dumps(value).encode("ascii") + b"\n"


def _show(importer: Importer, as_json: bool) -> None:
    from ..importers.coverage import as_json as built
    from ..importers.coverage import lines

    if as_json:
        say_json(built(importer.coverage))
        return
    for line in lines(importer.coverage):
        say(line)


def _write_drafts(importer: Importer, path: str) -> None:
    from ..reading.files import write_whole
    from ..text import plural

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
