"""`shipworthy gold build`, `review` and what keeps a gold set true."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..gold.build import Wording

_docs = click.option("--docs", metavar="PATH", help="Folder of documents (Markdown, text, HTML, PDF), or a chunk file.")
_chunks = click.option("--chunks", metavar="FILE", help="Your system's chunks, with id and text: what it cites.")
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws others.")


@click.command("build")
@_docs
@click.option("--traces", metavar="FILE", help="Real questions: traces, or an export that `import` reads.")
@click.option("--out", required=True, metavar="FILE", help="Where to write the candidates.")
@click.option("--count", type=click.IntRange(1), default=100, show_default=True, help="How many candidates at most.")
@_seed
@_chunks
@click.option("--word", metavar="CMD", help="Command that words the questions: JSON in, a question back.")
@click.option("--force", is_flag=True, help="Replace the file of --out.")
@map_flag
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
def build_command(
    docs: str | None,
    traces: str | None,
    out: str,
    count: int,
    seed: int,
    chunks: str | None,
    word: str | None,
    force: bool,
    mapping: tuple[str, ...],
    as_json: bool,
) -> int:
    """Propose questions from documents or from real traffic. A person decides about each: `gold review`.

    \b
    shipworthy gold build --docs handbook/ --out draft.jsonl
    shipworthy gold build --traces export.json --out draft.jsonl

    From documents, expected text, citation and place are known and only the question's wording is missing. The same
    seed gives the same candidates. Nothing leaves this machine.
    """
    import msgspec

    from ..core.sources import read_texts
    from ..gold.build import build
    from ..gold.runs import draft_runs
    from ..reading.files import write_whole
    from ..text import plural

    if (docs is None) == (traces is None):
        raise UsageError(
            "give --docs or --traces, one of them",
            where="gold build",
            hint="Run it twice for both.",
            code="gold-sources",
        )
    if os.path.exists(out) and not force:
        raise UsageError(
            "is there already", where=out, hint="Choose another --out, or add --force.", code="gold-draft-exists"
        )
    if docs is not None:
        from ..documents import read_documents, summary

        documents = read_documents(docs)
        for line in documents.remarks():
            say(line, err=True)
        texts = read_texts(chunks, "chunks")[0] if chunks else None
        drafts = build(documents, count=count, seed=seed, chunks=texts, word=_wording(word))
        source = summary(documents)
    else:
        assert traces is not None
        drafts, source = draft_runs(traces, count=count, seed=seed, map=mapping), "traces"
    write_whole(out, b"".join(msgspec.json.encode(draft) + b"\n" for draft in drafts))
    kinds = Counter(draft["draft"].get("stratum") or draft["draft"]["kind"] for draft in drafts)
    if as_json:
        say_json({"candidates": len(drafts), "kinds": dict(kinds), "out": out})
        return 0
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    say(f"{out}: {plural(len(drafts), 'candidate')} from {source} ({told})")
    given = f" --docs {docs}" if docs else ""
    say(f"Next: shipworthy gold review {out}{given} --out gold.jsonl")
    return 0


def _wording(command: str | None) -> Wording | None:
    if command is None:
        return None
    from ..gold.wording import command_wording

    return command_wording(command)
