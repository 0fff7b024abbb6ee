"""`shipworthy gold build`, `review` and what keeps a gold set true."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ._flags import F, many, switch, text, together, whole
from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..documents import Documents
    from ..gold.review import Review

_must_docs = text("--docs", "PATH", "Folder of documents (Markdown, text, HTML, PDF), or a chunk file.", required=True)
_json = switch("--json as_json", "Print the result as JSON.")
_docs = text("--docs", "PATH", "Folder of documents (Markdown, text, HTML, PDF), or a chunk file.")
_chunks = text("--chunks", "FILE", "Your system's chunks, with id and text: what it cites.")
_reviewer = text("--reviewer", "NAME", "Who decides.  [default: git's user]")
_PORT = "Port on 127.0.0.1.  [default: a free one]"
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws others.")


@click.command("build")
@_docs
@text("--traces", "FILE", "Real questions: traces, or an export that `import` reads.")
@text("--out", "FILE", "Where to write the candidates.", required=True)
@whole("--count", 1, "How many candidates at most.", default=100)
@_seed
@_chunks
@text("--word", "CMD", "Command that words the questions: JSON in, a question back.")
@switch("--force", "Replace the file of --out.")
@map_flag
@switch("--json as_json", "Print what was built as JSON.")
def build_command(
    docs: str | None,
    traces: str | None,
    out: str,
    chunks: str | None,
    word: str | None,
    force: bool,
    mapping: tuple[str, ...],
    as_json: bool,
    **drawn: int,
) -> int:
    """Propose questions from documents or from real traffic. A person decides about each: `gold review`.

    \b
    shipworthy gold build --docs handbook/ --out draft.jsonl
    shipworthy gold build --traces export.json --out draft.jsonl

    From documents, expected text, citation and place are known and only the question's wording is missing. The same
    seed gives the same candidates. Nothing leaves this machine.
    """
    from ..gold.build import build
    from ..gold.runs import draft_runs
    from ..gold.wording import command_wording
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
        drafts = build(documents, chunks=_texts(chunks), word=command_wording(word) if word else None, **drawn)
        source = summary(documents)
    else:
        assert traces is not None
        drafts, source = draft_runs(traces, map=mapping, **drawn), "traces"
    write_whole(out, b"".join(map(_line, drafts)))
    kinds = Counter(draft["draft"].get("stratum") or draft["draft"]["kind"] for draft in drafts)
    if as_json:
        say_json({"candidates": len(drafts), "kinds": dict(kinds), "out": out})
        return 0
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    say(f"{out}: {plural(len(drafts), 'candidate')} from {source} ({told})")
    given = f" --docs {docs}" if docs else ""
    say(f"Next: shipworthy gold review {out}{given} --out gold.jsonl")
    return 0


def _texts(chunks: str | None) -> Mapping[str, str] | None:
    from ..core.sources import read_texts

    return read_texts(chunks, "chunks")[0] if chunks else None


def _page_flags(command: F) -> F:
    """Who decides in the browser, and where it is opened."""
    port = click.option("--port", type=click.IntRange(0, 65535), default=0, help=_PORT)
    return together([_reviewer, port, switch("--no-browser", "Print the address instead of opening it.")])(command)


@click.command("review")
@click.argument("draft", metavar="DRAFT")
@text("--out", "FILE", "The gold set that accepted questions go to, a .jsonl file.", required=True)
@_docs
@_chunks
@many("--gates", "NAME=VALUE,…", "Gates that the set should be able to prove.")
@_page_flags
@text("--ratings", "FILE", "Write who judged what, for `agreement raters`, and stop.")
def review_command(draft: str, out: str, ratings: str | None, port: int, no_browser: bool, **given: Any) -> int:
    """Decide about candidates in the browser, with the keyboard. Each decision is saved before the next is shown.

    \b
    shipworthy gold review draft.jsonl --docs handbook/ --out gold.jsonl

    Mark the answering text: that is the expected text, the citation and its place. Stop at any time with Ctrl-C; the
    same command goes on where you stopped.
    """
    from ..gold.review import Review
    from ..gold.server import serve

    review = Review(draft, out, **_reviewed(given))
    if ratings is not None:
        return _write_ratings(review, ratings)
    for line in review.documents.remarks() if review.documents else ():
        say(line, err=True)
    say(f"{review.progress()['left']} candidates to review as {review.reviewer}. Ctrl-C ends it; everything is saved.")
    serve(review, port=port, listening=lambda address: _open(address, no_browser))
    say(review.summary())
    return 0


def _reviewed(given: dict[str, Any]) -> dict[str, Any]:
    """The flags as a review takes them."""
    return given | {"chunks": _texts(given["chunks"]), "reviewer": given["reviewer"] or _git_user()}


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
@text("--out", "FILE", "Write there instead of changing the gold set.")
@text("--draft", "FILE", "Write ambiguous items there, for `gold review`.")
@_json
def anchor_command(gold: str, docs: str, chunks: str | None, out: str | None, draft: str | None, as_json: bool) -> int:
    """Find where in the documents each item's evidence is: exactly one place or none, never a guess.

    \b
    shipworthy gold anchor gold.jsonl --docs handbook/

    A citation may name a chunk (of --chunks, or of a chunk file as --docs), a document, a page (report.pdf#page=3) or
    a section. Items that have a place keep it.
    """
    import msgspec

    from ..core.sources import read_gold
    from ..gold.upkeep import anchor, write_anchors
    from ..text import first_few, plural

    found = anchor(gold, _documents(docs), chunks=_texts(chunks))
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
@switch("--dry-run", "Only say what became of the items; write nothing.")
@text("--draft", "FILE", "Write changed and gone items there, for `gold review`.")
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
@text("--since", "COMMIT", "Mark sections that are new or edited since this commit.")
@many("--gates", "GATE", 'Fail below a share: "coverage[new] >= 0.5".')
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
@text("--traces", "FILE", "Unlabelled traces, or an export that `import` reads.", required=True)
@click.option("--gates", multiple=True, required=True, metavar="NAME=VALUE,…", help="Gates to decide.")
@text("--out", "FILE", "Where labels go: a gold set.", default="labels.jsonl")
@_docs
@_chunks
@_seed
@text("--steer", "SCORE", "A score of the traces: low ones are drawn more often.", default="")
@click.option("--refusal", type=click.Choice(["natural", "exact"]), default="natural", show_default=True)
@_page_flags
@switch("--status", "Only say what the labels so far decide.")
@map_flag
def next_command(
    traces: str,
    out: str,
    refusal: str,
    port: int,
    no_browser: bool,
    status: bool,
    mapping: tuple[str, ...],
    **given: Any,
) -> int:
    """Label answers in an order drawn at random, until the gates are proven or refuted.

    \b
    shipworthy gold next --traces export.json --gates under_refusal=0.05 --docs handbook/

    The chance of a false decision is at most 5 %, however often you look. Exits 0 when all gates are proven, 1 when
    one is refuted, 3 when labels are still needed.
    """
    from ..gold.next import Next
    from ..gold.server import serve

    labelling = Next(traces, out, map=mapping, judging={"refusal": refusal}, **_reviewed(given))
    if not status and labelling.waiting():
        serve(labelling, port=port, listening=lambda address: _open(address, no_browser))
    for line in labelling.verdicts():
        say(line)
    return labelling.exit_code
