"""`shipworthy gold build`, `review` and what keeps a gold set true."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..documents import Documents
    from ..gold.build import Wording
    from ..gold.review import Review

_must_docs = click.option(
    "--docs", required=True, metavar="PATH", help="Folder of documents (Markdown, text, HTML, PDF), or a chunk file."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
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
        from ..documents import summary

        documents = _documents(docs)
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


@click.command("anchor")
@click.argument("gold", metavar="GOLD")
@_must_docs
@_chunks
@click.option("--out", metavar="FILE", help="Write there instead of changing the gold set.")
@click.option("--draft", metavar="FILE", help="Write ambiguous items there, for `gold review`.")
@_json
def anchor_command(gold: str, docs: str, chunks: str | None, out: str | None, draft: str | None, as_json: bool) -> int:
    """Find where in the documents each item's evidence is: exactly one place or none, never a guess.

    \b
    shipworthy gold anchor gold.jsonl --docs handbook/

    A citation may name a chunk (of --chunks, or of a chunk file as --docs), a document, a page (report.pdf#page=3) or
    a section. Items that have a place keep it.
    """
    import msgspec

    from ..core.sources import read_gold, read_texts
    from ..gold.upkeep import anchor, write_anchors
    from ..text import first_few, plural

    texts = read_texts(chunks, "chunks")[0] if chunks else None
    found = anchor(gold, _documents(docs), chunks=texts)
    if found.placed or out:
        write_anchors(gold, found.anchors, out or "")
    if draft is not None:
        items = {item.qid: msgspec.to_builtins(item) for item in read_gold(gold)}
        hint = {"proposal": "answerable", "kind": "unplaced", "hint": "several passages have the expected text"}
        _write_drafts(draft, [items[qid] | {"answerable": None, "draft": hint} for qid in found.ambiguous])
    if as_json:
        say_json({name: getattr(found, name) for name in ("placed", "already", "ambiguous", "absent")})
        return 0
    say(f"{out or gold}: {plural(len(found.placed), 'place')} found, {len(found.already)} there already")
    for what, qids in (("ambiguous", found.ambiguous), ("not found", found.absent)):
        if qids:
            say(f"{what}: {first_few(qids, 20)}")
    return 0


@click.command("refresh")
@click.argument("gold", metavar="GOLD")
@_must_docs
@click.option("--dry-run", is_flag=True, help="Only say what became of the items; write nothing.")
@click.option("--draft", metavar="FILE", help="Write changed and gone items there, for `gold review`.")
@_json
def refresh_command(gold: str, docs: str, dry_run: bool, draft: str | None, as_json: bool) -> int:
    """After the documents were edited: which items are unchanged, moved, changed or gone.

    \b
    shipworthy gold refresh gold.jsonl --docs handbook/ --draft stale.jsonl
    shipworthy gold review stale.jsonl --docs handbook/ --out gold.jsonl

    The places of moved items are updated. Exits 3 when items are changed or gone: a person must look at them.
    """
    from ..core.sources import read_gold
    from ..gold.upkeep import differences, drafts, refresh, write_anchors
    from ..reading.lock import locks_of
    from ..text import first_few, visible

    found = refresh(gold, _documents(docs))
    items = {item.qid: item for item in read_gold(gold)}
    if found.moved and not dry_run:
        write_anchors(gold, {qid: found.now[qid] for qid in found.moved})
    if draft is not None:
        _write_drafts(draft, drafts(items, found))
    code = 3 if found.changed or found.gone else 0
    states = ("unchanged", "moved", "changed", "gone")
    if as_json:
        say_json({name: getattr(found, name) for name in (*states, "unplaced")})
        return code
    say(", ".join(f"{len(getattr(found, name))} {name}" for name in states))
    for qid in found.changed:
        say(f"changed  {visible(qid)}")
        for line in differences(items[qid], found.now[qid]):
            say(f"         {visible(line, 300)}")
    for qid in found.gone:
        say(f"gone     {visible(qid)}")
    if found.unplaced:
        say(f"{len(found.unplaced)} without a place: {first_few(found.unplaced)}. Find them with gold anchor.")
    if found.moved and not dry_run and locks_of(gold):
        say("The gold set is frozen: sign the new places off with gold freeze.")
    return code


@click.command("coverage")
@click.argument("gold", metavar="GOLD")
@_must_docs
@click.option("--since", metavar="COMMIT", help="Mark sections that are new or edited since this commit.")
@click.option("--gates", multiple=True, metavar="GATE", help='Fail below a share: "coverage[new] >= 0.5".')
@_json
def coverage_command(gold: str, docs: str, since: str | None, gates: tuple[str, ...], as_json: bool) -> int:
    """Which sections of the documents no question touches. Exits 1 when a gate of --gates fails.

    \b
    shipworthy gold coverage gold.jsonl --docs handbook/ --since main --gates "coverage[new] >= 0.5"
    """
    import msgspec

    from ..gold.upkeep import coverage, coverage_gates
    from ..text import plural, visible

    documents = _documents(docs)
    before = None
    if since is not None:
        from ..jobs.commit import documents_at

        before = documents_at(documents, since)
    found = coverage(gold, documents, before=before)
    judged = coverage_gates(found, gates)
    code = 0 if all(holds for *_, holds in judged) else 1
    shares = {"coverage": found.share(), "coverage[new]": found.share(new=True) if since else None}
    if as_json:
        say_json(
            {
                **{name: None if share is None else float(share) for name, share in shares.items()},
                "sections": msgspec.to_builtins(found.sections),
                "unplaced": found.unplaced,
                "gates": [{"gate": str(gate), "holds": holds} for gate, _, holds in judged],
            }
        )
        return code
    for name, (sections, covered, questions) in found.documents().items():
        say(f"{visible(name)}: {covered} of {plural(sections, 'section')}, {plural(questions, 'question')}")
    bare = found.bare(new=since is not None)
    if bare:
        say(f"{'new or edited sections' if since else 'sections'} without a question:")
        for one in bare[:20]:
            say(f"  {visible(one.doc)} · {visible(one.section or 'before the first heading')}")
        if len(bare) > 20:
            say(f"  and {len(bare) - 20} more")
    for gate, share, holds in judged:
        value = "no such section" if share is None else f"{float(share):.3f}"
        say(f"{'PASS' if holds else 'FAIL'}  {gate} ({value})")
    return code


def _documents(path: str) -> Documents:
    from ..documents import read_documents

    documents = read_documents(path)
    for line in documents.remarks():
        say(line, err=True)
    return documents


def _write_drafts(path: str, rows: Sequence[object]) -> None:
    from ..reading.files import write_whole
    from ..text import plural

    write_whole(path, b"".join(map(_line, rows)))
    say(f"{path}: {plural(len(rows), 'item')} to review", err=True)


@click.command("next")
@click.option("--traces", required=True, metavar="FILE", help="Unlabelled traces, or an export that `import` reads.")
@click.option("--gates", multiple=True, required=True, metavar="NAME=VALUE,…", help="Gates to decide.")
@click.option("--out", default="labels.jsonl", show_default=True, metavar="FILE", help="Where labels go: a gold set.")
@_docs
@_chunks
@_seed
@click.option("--steer", default="", metavar="SCORE", help="A score of the traces: low ones are drawn more often.")
@click.option("--refusal", type=click.Choice(["natural", "exact"]), default="natural", show_default=True)
@click.option("--reviewer", metavar="NAME", help="Who decides.  [default: git's user]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option("--status", is_flag=True, help="Only say what the labels so far decide.")
@map_flag
def next_command(
    traces: str,
    gates: tuple[str, ...],
    out: str,
    docs: str | None,
    chunks: str | None,
    seed: int,
    steer: str,
    refusal: str,
    reviewer: str | None,
    port: int,
    no_browser: bool,
    status: bool,
    mapping: tuple[str, ...],
) -> int:
    """Label answers in an order drawn at random, until the gates are proven or refuted.

    \b
    shipworthy gold next --traces export.json --gates under_refusal=0.05 --docs handbook/

    The chance of a false decision is at most 5 %, however often you look. Exits 0 when all gates are proven, 1 when
    one is refuted, 3 when labels are still needed.
    """
    from ..core.sources import read_texts
    from ..gold.next import Next
    from ..gold.server import serve

    labelling = Next(
        traces,
        out,
        gates=gates,
        seed=seed,
        steer=steer,
        map=mapping,
        judging={"refusal": refusal},
        docs=docs,
        chunks=read_texts(chunks, "chunks")[0] if chunks else None,
        reviewer=reviewer or _git_user(),
    )
    if not status and labelling.waiting():
        serve(labelling, port=port, listening=lambda address: _open(address, no_browser))
    for line in labelling.verdicts():
        say(line)
    return labelling.exit_code
