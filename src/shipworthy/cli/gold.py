"""Gold: make a gold set from documents or traces, review it, and keep it true."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..core.sources import read_gold, read_texts
from ..errors import ShipworthyError, UsageError
from ..reading.files import write_whole
from ..reading.lock import Changes, changes, diff, freeze, item_digests, lock_path, locks_of, read_lock, verify
from ..text import first_few, plural, visible
from ._flags import F, many, switch, text, together, whole
from ._output import show_findings
from ._say import say, say_json
from ._target import map_flag

if TYPE_CHECKING:
    from ..documents import Documents
    from ..gold.review import Review


@click.group("gold")
def command() -> None:
    """Make a gold set from documents or traces, review it, and keep it true."""


@command.command("lint")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@many("--gates", "NAME=VALUE,…", "Gates that the gold set should be large enough to prove.")
@whole("--min-substr", 1, "Shorter expected text may be in the question.", default=5)
@text("--chunks", "FILE", "Chunk file: cited ids must be in it.")
@map_flag
@switch("--strict", "Warnings count as errors.")
@switch("--json as_json", "Print the findings as JSON.")
def lint_command(files: tuple[str, ...], mapping: tuple[str, ...], strict: bool, as_json: bool, **given: Any) -> int:
    """Find questions that can never pass or always pass, and gates that the set is too small to prove.

    \b
    shipworthy gold lint eval/gold.jsonl --gates precision=0.85

    Exits 1 when there are errors (with --strict, warnings too), else 0.
    """
    from ..suites.answers.lint import lint

    findings = [one for gold in files for one in lint(gold, map=mapping, **given)]
    return show_findings(findings, strict, as_json)


@command.command("freeze")
@click.argument("gold", metavar="FILE")
@text("--release", "NAME", "Release of this gold set.", required=True)
@text("--signed-off-by", "WHO", "Who signs it off.", required=True)
@text("--reason", "WHY", "Why it changed.", default="")
@map_flag
def freeze_command(gold: str, release: str, signed_off_by: str, reason: str, mapping: tuple[str, ...]) -> None:
    """Write a lock beside the gold set. Scoring then fails if the gold set was changed since.

    \b
    shipworthy gold freeze eval/gold.jsonl --release 2026.11 --signed-off-by Ada --reason "first frozen set"
    """
    read_gold(gold, mapping)  # what can't be scored can't be signed off
    path = lock_path(gold)
    before = read_lock(path).items if os.path.exists(path) else {}
    freeze(gold, release, signed_off_by, reason, map=mapping)
    lock = read_lock(path)
    found = changes(before, item_digests(gold, mapping))
    say(f"{path}: {plural(lock.count, 'item')} frozen for {release}, signed off by {signed_off_by}")
    if before:
        say(f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed since the last lock")


@command.command("verify")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@map_flag
@switch("--json as_json", "Print the changes as JSON.")
def verify_command(files: tuple[str, ...], mapping: tuple[str, ...], as_json: bool) -> int:
    """Show what changed since the gold set was frozen. Exits 3 when anything did."""
    return max(_verify(gold, mapping, as_json) for gold in files)


def _verify(gold: str, mapping: tuple[str, ...], as_json: bool) -> int:
    found = verify(gold, mapping)
    if not as_json and not found:
        lock = read_lock(lock_path(gold))
        say(f"{plural(lock.count, 'item')} as signed off by {lock.signed_off_by} for {lock.release}")
        return 0
    fields = {} if as_json else _frozen_fields(gold, locks_of(gold)[0], mapping, set(found.changed))
    return _show_changes(found, as_json, fields, True)


@command.command("diff")
@click.argument("old")
@click.argument("new")
@map_flag
@switch("--json as_json", "Print the changes as JSON.")
def diff_command(old: str, new: str, mapping: tuple[str, ...], as_json: bool) -> int:
    """Show the differences between two gold sets; either may be a lock. Exits 1 when there are any.

    \b
    shipworthy gold diff eval/gold.lock eval/gold.jsonl
    """
    found, locks = diff(old, new, mapping), [path for path in (old, new) if path.endswith(".lock")]
    if len(locks) == 2:
        return min(_show_changes(found, as_json), 1)
    names = set(found.changed)
    gold = new if old in locks else old
    fields = _frozen_fields(gold, locks[0], mapping, names) if locks else _fields_changed(old, new, mapping, names)
    return min(_show_changes(found, as_json, fields, bool(locks)), 1)


def _frozen_fields(gold: str, lock: str, mapping: tuple[str, ...], names: set[str]) -> dict[str, list[str]]:
    """What changed in each item since it was frozen: the lock has digests, so git is asked for the items that fit."""
    import tempfile

    from ..jobs.commit import earlier_versions

    digests, found = read_lock(lock).items, dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(gold))
        for content in earlier_versions(gold) if names else ():
            with open(path, "wb") as file:
                file.write(content)
            try:
                then = item_digests(path, mapping)
                fitting = {qid for qid in names - found.keys() if then.get(qid) == digests.get(qid)}
                found |= _fields_changed(path, gold, mapping, fitting)
            except ShipworthyError:
                continue  # a version that can't be read tells nothing
            if found.keys() == names:
                break
    return found


def _fields_changed(old: str, new: str, mapping: tuple[str, ...], names: set[str]) -> dict[str, list[str]]:
    """What changed in each item, field by field."""
    if not names:
        return {}
    before, after = (
        {item.qid: msgspec.to_builtins(item) for item in read_gold(path, mapping) if item.qid in names}
        for path in (old, new)
    )
    return {
        qid: [
            f"{field}: {visible(str(before[qid].get(field)), 100)} → {visible(str(after[qid].get(field)), 100)}"
            for field in dict.fromkeys((*before[qid], *after[qid]))
            if before[qid].get(field) != after[qid].get(field)
        ]
        for qid in names
        if qid in before and qid in after
    }


def _show_changes(
    found: Changes, as_json: bool, fields: Mapping[str, Sequence[str]] | None = None, locked: bool = False
) -> int:
    if as_json:
        say_json(msgspec.to_builtins(found))
        return 3 if found else 0
    for kind in ("added", "removed", "changed"):
        for qid in getattr(found, kind):
            say(f"{kind:<8} {qid}")
            for line in (fields or {}).get(qid, ()) if kind == "changed" else ():
                say(f"         {line}")
    if locked and set(found.changed) - set(fields or {}):
        say("A lock holds digests only. What changed in an item is shown where git has the frozen version of the file.")
    if not found:
        say("no differences")
    return 3 if found else 0


_must_docs = text("--docs", "PATH", "Folder of documents (Markdown, text, HTML, PDF), or a chunk file.", required=True)
_json = switch("--json as_json", "Print the result as JSON.")
_docs = text("--docs", "PATH", "Folder of documents (Markdown, text, HTML, PDF), or a chunk file.")
_chunks = text("--chunks", "FILE", "Your system's chunks, with id and text: what it cites.")
_reviewer = text("--reviewer", "NAME", "Who decides.  [default: git's user]")
_PORT = "Port on 127.0.0.1.  [default: a free one]"
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws others.")


@command.command("build")
@_docs
@text("--traces", "FILE", "Real questions: traces, or an export that `import` reads.")
@text("-o --out", "FILE", "Where to write the candidates.", required=True)
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
    from ..gold.build import build, command_wording
    from ..gold.runs import draft_runs

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
    return read_texts(chunks, "chunks")[0] if chunks else None


def _page_flags(command: F) -> F:
    """Who decides in the browser, and where it is opened."""
    port = click.option("--port", type=click.IntRange(0, 65535), default=0, help=_PORT)
    return together([_reviewer, port, switch("--no-browser", "Print the address instead of opening it.")])(command)


@command.command("review")
@click.argument("draft", metavar="DRAFT")
@text("-o --out", "FILE", "The gold set that accepted questions go to, a .jsonl file.", required=True)
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
    for line in review.documents.remarks():
        say(line, err=True)
    say(f"{review.progress()['left']} candidates to review as {review.reviewer}. Ctrl-C ends it; everything is saved.")
    serve(review, port=port, listening=lambda address: _open(address, no_browser))
    say(review.summary())
    return 0


def _reviewed(given: dict[str, Any]) -> dict[str, Any]:
    """The flags as a review takes them."""
    return given | {"chunks": _texts(given["chunks"]), "reviewer": given["reviewer"] or _git_user()}


def _write_ratings(review: Review, path: str) -> int:
    rows = review.ratings()
    write_whole(path, b"".join(_line(row) for row in rows))
    raters = {row["rater"] for row in rows}
    say(f"{path}: {plural(len(rows), 'rating')} by {plural(len(raters), 'reviewer')}")
    say(f"judged differently: {', '.join(review.differing()) or 'none'}")
    if len(raters) > 1:
        say(f"Then: shipworthy agreement raters --ratings {path}")
    return 0


def _line(row: object) -> bytes:
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


@command.command("anchor")
@click.argument("gold", metavar="GOLD")
@_must_docs
@_chunks
@text("-o --out", "FILE", "Write there instead of changing the gold set.")
@text("--draft", "FILE", "Write ambiguous items there, for `gold review`.")
@_json
def anchor_command(gold: str, docs: str, chunks: str | None, out: str | None, draft: str | None, as_json: bool) -> int:
    """Find where in the documents each item's evidence is: exactly one place or none, never a guess.

    \b
    shipworthy gold anchor gold.jsonl --docs handbook/

    A citation may name a chunk (of --chunks, or of a chunk file as --docs), a document, a page (report.pdf#page=3) or
    a section. Items that have a place keep it.
    """
    from ..gold.upkeep import anchor, write_anchors

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


@command.command("refresh")
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
    from ..gold.upkeep import differences, drafts, refresh, write_anchors

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


@command.command("coverage")
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
    from ..gold.upkeep import coverage, coverage_gates

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
    write_whole(path, b"".join(map(_line, rows)))
    say(f"{path}: {plural(len(rows), 'item')} to review", err=True)


@command.command("next")
@text("--traces", "FILE", "Unlabelled traces, or an export that `import` reads.", required=True)
@click.option("--gates", multiple=True, required=True, metavar="NAME=VALUE,…", help="Gates to decide.")
@text("-o --out", "FILE", "Where labels go: a gold set.", default="labels.jsonl")
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
