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
    from ..gold.review import Review

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


@click.command("review")
@click.argument("draft", metavar="DRAFT")
@click.option("--out", required=True, metavar="FILE", help="The gold set that accepted questions go to, a .jsonl file.")
@_docs
@_chunks
@click.option("--reviewer", metavar="NAME", help="Who decides.  [default: git's user]")
@click.option("--gates", multiple=True, metavar="NAME=VALUE,…", help="Gates that the set should be able to prove.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option("--ratings", metavar="FILE", help="Write who judged what, for `agreement raters`, and stop.")
def review_command(
    draft: str,
    out: str,
    docs: str | None,
    chunks: str | None,
    reviewer: str | None,
    gates: tuple[str, ...],
    port: int,
    no_browser: bool,
    ratings: str | None,
) -> int:
    """Decide about candidates in the browser, with the keyboard. Each decision is saved before the next is shown.

    \b
    shipworthy gold review draft.jsonl --docs handbook/ --out gold.jsonl

    Mark the answering text: that is the expected text, the citation and its place. Stop at any time with Ctrl-C; the
    same command goes on where you stopped.
    """
    from ..core.sources import read_texts
    from ..gold.review import Review
    from ..gold.server import serve

    review = Review(
        draft,
        out,
        docs=docs,
        chunks=read_texts(chunks, "chunks")[0] if chunks else None,
        reviewer=reviewer or _git_user(),
        gates=gates,
    )
    if ratings is not None:
        return _write_ratings(review, ratings)
    for line in review.documents.remarks() if review.documents else ():
        say(line, err=True)
    say(f"{review.progress()['left']} candidates to review as {review.reviewer}. Ctrl-C ends it; everything is saved.")
    serve(review, port=port, listening=lambda address: _open(address, no_browser))
    say(review.summary())
    return 0


def _write_ratings(review: Review, path: str) -> int:
    from ..reading.files import write_whole
    from ..text import plural

    rows = review.ratings()
    write_whole(path, b"".join(_line(row) for row in rows))
    raters = {row["rater"] for row in rows}
    say(f"{path}: {plural(len(rows), 'rating')} by {plural(len(raters), 'reviewer')}")
    say(f"judged differently: {', '.join(review.differing()) or 'none'}")
    if len(raters) > 1:
        say(f"Then: shipworthy agreement raters --ratings {path}")
    return 0


def _line(row: object) -> bytes:
    import msgspec

    return msgspec.json.encode(row) + b"\n"


def _open(address: str, no_browser: bool) -> None:
    say(f"Open {address}")
    if not no_browser:
        import webbrowser

        webbrowser.open(address)


def _git_user() -> str:
    import getpass

    from ..jobs.commit import git_user

    try:
        return git_user() or getpass.getuser()
    except (OSError, KeyError):  # a container without accounts
        return "reviewer"
