"""A gold set that stays true: places, what edits do to them, re-chunking, coverage."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import ROOT, Cli, gold, trace, write_lines
from shipworthy import evaluate
from shipworthy.core.contracts import Anchor
from shipworthy.core.sources import read_gold
from shipworthy.documents import read_documents
from shipworthy.documents.places import anchor_of, find, refresh
from shipworthy.gold.upkeep import anchor, coverage, coverage_gates, write_anchors

CORPUS = ROOT / "src" / "shipworthy" / "demo" / "corpus"
GOLD = ROOT / "src" / "shipworthy" / "demo" / "gold.jsonl"


@pytest.fixture
def placed(tmp_path: Path) -> tuple[Path, Path]:
    """The demo's gold set with its places, and a copy of its documents."""
    docs, path = tmp_path / "docs", tmp_path / "gold.jsonl"
    shutil.copytree(CORPUS, docs)
    shutil.copy(GOLD, path)
    write_anchors(str(path), anchor(path, docs).anchors)
    return path, docs


# Anchor


def test_a_place_is_the_one_passage_that_has_the_expected_text(placed: tuple[Path, Path]) -> None:
    path, docs = placed
    documents = read_documents(docs)
    found = anchor(GOLD, docs)
    assert len(found.placed) >= 120 and not found.already
    for item in read_gold(path):
        if item.anchor is not None:
            text = documents.by_name[item.anchor.doc].text[item.anchor.start : item.anchor.end]
            assert text == item.anchor.text and any(one.casefold() in text.casefold() for one in item.substrings)
    assert len(anchor(path, docs).already) == len(found.placed), "a place that is there is kept"


@pytest.mark.parametrize(
    ("item", "state"),
    [
        (gold("q", ["30 days"], ["a.md"]), "placed"),
        (gold("q", ["30 days"], ["a"]), "placed"),
        (gold("q", ["30 days"], ["a.md#Fees"]), "placed"),
        (gold("q", ["30 days"], ["elsewhere.md"]), "absent"),
        (gold("q", ["30 days"], ["a.md#Other"]), "absent"),
        (gold("q", ["5 days"], ["a.md"]), "ambiguous"),
        (gold("q", ["0 days"], ["a.md"]), "absent"),  # not within 30
        (gold("q", ["30 days"], ["c7"]), "placed"),  # by the text of a chunk
        (gold("q", [], ["a.md"]), "absent"),
        (gold("q", ["30 days"], []), "absent"),
    ],
)
def test_exactly_one_place_or_none(item: dict[str, Any], state: str) -> None:
    docs = {"a.md": "# Fees\n\nThe limit is 30 days. A check takes 5 days. Mail takes 5 days.\n\n# Other\n\nNothing.\n"}
    found = anchor([item], docs, chunks={"c7": "The limit is 30 days."})
    assert getattr(found, state) == ["q"]


def test_anchor_writes_places_and_leaves_other_lines_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# T\n\nThe limit is 30 days here.\n")
    other = '{ "qid":"z", "question": "?", "answerable": false }\n'
    path = tmp_path / "gold.jsonl"
    path.write_text(other + json.dumps(gold("q", ["30 days"], ["a.md"])) + "\n")
    ran = cli("gold", "anchor", path, "--docs", tmp_path / "a.md", "--json")
    assert ran.code == 0 and ran.json == {"placed": ["q"], "already": [], "ambiguous": [], "absent": []}
    assert path.read_text().startswith(other) and read_gold(path)[1].anchor.text == "The limit is 30 days here."


# Refresh, under edits whose effect is known


def sections_of(text: str) -> list[str]:
    return re.split(r"(?m)^(?=## )", text)


def edited(docs: Path, edit: Any) -> None:
    for path in sorted(docs.glob("*.md")):
        path.write_text(edit(path.read_text("utf-8"), random.Random(path.name)), "utf-8")


def swap(text: str, order: random.Random) -> str:
    head, *rest = sections_of(text)
    order.shuffle(rest)
    return head + "".join(one if one.endswith("\n\n") else one.rstrip("\n") + "\n\n" for one in rest)


def delete(text: str, order: random.Random) -> str:
    head, *rest = sections_of(text)
    return head + "".join(one for one in rest if order.random() > 0.3)


def reword(text: str, order: random.Random) -> str:
    """Change a word or a number in every third line of prose or table."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.strip() and not line.startswith(("#", "|-")) and order.random() < 0.35:
            lines[at] = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), line)
            lines[at] += "" if line.startswith("|") else " Indeed."
    return "\n".join(lines)


def split(text: str, order: random.Random) -> str:
    return re.sub(r"\n\n(?=[A-Z])", lambda _: "\n\n## A new heading\n\n" if order.random() < 0.4 else "\n\n", text)


def merge(text: str, order: random.Random) -> str:
    return re.sub(r"(?m)^## .*\n\n", lambda found: "" if order.random() < 0.5 else found[0], text)


def rewrap(text: str, order: random.Random) -> str:
    kept = ("#", "|", "`")
    return "\n".join(line if line.startswith(kept) else line.replace(", ", ",\n") for line in text.split("\n"))


@pytest.mark.parametrize(
    ("edit", "recall"), [(swap, 1.0), (delete, 1.0), (reword, 0.97), (split, 0.95), (merge, 0.95), (rewrap, 0.9)]
)
def test_what_is_called_unchanged_or_moved_is(placed: tuple[Path, Path], edit: Any, recall: float) -> None:
    path, docs = placed
    edited(docs, edit)
    whole = " ".join("\n".join(one.text for one in read_documents(docs)).split())
    found = refresh(path, docs)
    sure, items = {*found.unchanged, *found.moved}, {item.qid: item for item in read_gold(path)}
    there = {qid for qid, item in items.items() if item.anchor and " ".join(item.anchor.text.split()) in whole}
    assert sure <= there, "precision 1.0"
    assert len(sure) >= recall * len(there)
    assert sure | {*found.changed, *found.gone} == {qid for qid, item in items.items() if item.anchor}
    for qid in found.moved:
        (now,) = found.now[qid]
        assert now.text.split() == items[qid].anchor.text.split()


def place_of(text: str, words: str, **others: str) -> tuple[Anchor, Any]:
    documents = read_documents({"a.md": text, **others})
    document = documents.by_name["a.md"]
    start = document.text.index(words)
    return anchor_of(documents, document, start, start + len(words)), documents


def test_a_copy_elsewhere_is_never_taken_for_the_deleted_passage() -> None:
    sentence = "Claims that are older than 60 days are never paid out."
    before = f"# A\n\n## Refunds\n\nOne. {sentence} Two.\n"
    anchored, _ = place_of(before, sentence, **{"b.md": before})
    gone = read_documents({"a.md": "# A\n\n## Refunds\n\nOne. Two.\n", "b.md": before})
    assert find(anchored, gone).state in ("changed", "gone")


def test_a_row_that_moved_to_another_table_says_something_else() -> None:
    table = "| Plan | {} |\n|---|---|\n| Basic | 10 euros |\n"
    anchored, _ = place_of("# A\n\n## Prices\n\n" + table.format("Price"), "| Basic | 10 euros |")
    after = read_documents({"a.md": "# A\n\n## Fines\n\n" + table.format("Fine")})
    assert find(anchored, after).state == "changed"


def test_an_edit_elsewhere_leaves_a_place_unchanged_and_one_before_it_moves_it() -> None:
    text = "# A\n\nFirst sentence of the page. The limit is 30 days for everyone. Last sentence of the page.\n"
    anchored, _ = place_of(text, "The limit is 30 days for everyone.")
    assert find(anchored, read_documents({"a.md": text + "\nMore text.\n"})).state == "unchanged"
    moved = find(anchored, read_documents({"a.md": text.replace("First", "The very first")}))
    assert moved.state == "moved" and moved.anchor.start == anchored.start + 9
    assert find(anchored, read_documents({"other.md": text})).state == "moved", "the file has another name"
    assert find(anchored, read_documents({"a.md": text.replace("30 days", "31 days")})).state == "changed"
    assert find(anchored, read_documents({"a.md": "# A\n\nSomething else altogether.\n"})).state == "gone"


def test_refresh_updates_moved_places_shows_diffs_and_drafts_the_rest(cli: Cli, placed: tuple[Path, Path]) -> None:
    path, docs = placed
    one = docs / "1-handbook.md"
    text = one.read_text("utf-8").replace("has 27 days of paid", "has 28 days of paid")
    one.write_text(
        "# Preface\n\nThis is new here.\n\n" + re.sub(r"(?s)## S\.4\.3 Laptops.*?(?=## )", "", text), "utf-8"
    )
    ran = cli("gold", "refresh", path, "--docs", docs, "--json", "--dry-run")
    told = ran.json
    assert ran.code == 3 and set(told) == {"unchanged", "moved", "changed", "gone", "unplaced"}
    changed = [item.qid for item in read_gold(path) if item.anchor and "27 days" in item.anchor.text]
    assert set(changed) <= set(told["changed"])
    draft = path.parent / "stale.jsonl"
    ran = cli("gold", "refresh", path, "--docs", docs, "--draft", draft)
    assert ran.code == 3 and "[-27-]{+28+} days" in ran.out
    again = cli("gold", "refresh", path, "--docs", docs, "--json").json
    assert again["moved"] == [] and again["changed"] == told["changed"], "moved places were updated"
    assert {json.loads(line)["qid"] for line in draft.read_text().splitlines()} == {*told["changed"], *told["gone"]}
    from shipworthy.gold.review import Review

    review = Review(draft, path, docs=docs, reviewer="Ada")
    qid = changed[0]
    shown = review.view(qid)["texts"][0]
    start = shown["text"].index("28 days")
    picked = {name: shown[name] for name in ("id", "doc", "offset", "text")} | {"start": start, "end": start + 7}
    review.decide(qid, "accept", question="How many days of holiday?", selection=picked)
    assert qid in cli("gold", "refresh", path, "--docs", docs, "--json").json["unchanged"]


# A gate does not count what its documents no longer say


def test_changed_evidence_is_missing_data_until_it_is_reviewed(cli: Cli, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    page = "# Fees\n\nThe limit for refunds is 30 days after the purchase.\n"
    (docs / "fees.md").write_text(page)
    anchored, _ = place_of(page, "The limit for refunds is 30 days after the purchase.")
    item = gold("Q1", ["30 days"], ["d1"], anchor=msgspec.to_builtins(msgspec.structs.replace(anchored, doc="fees.md")))
    write_lines(tmp_path / "gold.jsonl", [item])
    write_lines(tmp_path / "trace.jsonl", [trace("Q1", "It is 30 days.")])
    config = 'docs = "docs"\n[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n[history]\nrecord = false\n'
    (tmp_path / "shipworthy.toml").write_text(config)
    check = ("check", "--config", tmp_path / "shipworthy.toml")
    assert cli(*check).code == 0
    (docs / "fees.md").write_text("# New\n\nOne more thing.\n\n" + page)
    assert cli(*check).code == 0, "a passage that moved is still there"
    (docs / "fees.md").write_text(page.replace("30", "60"))
    ran = cli(*check)
    assert (
        ran.code == 3
        and "NO VERDICT" in ran.out
        and "evidence was edited since it was reviewed: Q1" in " ".join(ran.out.split())
    )
    (docs / "fees.md").write_text("# Fees\n\nAsk us.\n")
    assert "no longer in the documents since it was reviewed: Q1" in " ".join(cli(*check).out.split())
    (tmp_path / "shipworthy.toml").write_text(config.replace('"docs"', "3"))
    assert "[config-type]" in cli(*check).err


# Re-chunking


def cut(documents: Any, size: int, overlap: int) -> tuple[dict[str, str], Any]:
    """Chunks of so many characters, and the id of the chunk around a place."""
    chunks, spans = {}, []
    for document in documents:
        for number, start in enumerate(range(0, len(document.text), size - overlap)):
            name = f"{size}-{document.name}-{number}"
            chunks[name] = document.text[start : start + size]
            spans.append((document.name, start, min(start + size, len(document.text)), name))

    def around(doc: str, at: int) -> str:
        return next(name for owner, start, end, name in spans if owner == doc and start <= at < end)

    return chunks, around


@pytest.mark.parametrize("way", ["place", "text"])
def test_precision_and_chr_do_not_depend_on_the_chunks(placed: tuple[Path, Path], way: str) -> None:
    path, docs = placed
    documents = read_documents(docs)
    items = [item for item in read_gold(path) if item.anchor is not None]
    seen = set()
    for size, overlap in ((200, 0), (300, 60), (500, 0), (800, 200), (1500, 0)):
        chunks, around = cut(documents, size, overlap)
        runs = []
        for number, item in enumerate(items):
            middle = (item.anchor.start + item.anchor.end) // 2
            length = len(documents.by_name[item.anchor.doc].text)
            far = (middle + length // 2) % length
            right, wrong = around(item.anchor.doc, middle), around(item.anchor.doc, far)
            cited = [wrong] if number % 5 == 0 else [right]
            runs.append(trace(item.qid, f"It is {item.substrings[0]}.", cited, [wrong, right]))
        found = evaluate(
            "answers", gold=items, trace=runs, chunks=chunks, docs=documents, match_citations=way, offenders=0
        )
        measures = found.measures
        shown = [measures[name] for name in ("precision", "chr", "recall@5")]
        seen.add(tuple((one.k, one.n) for one in shown))
        ids = evaluate("answers", gold=items, trace=runs, offenders=0)
        assert ids.measures["chr"].k == 0, "no id fits any more"
    assert len(seen) == 1, seen
    ((_, chr_, recall),) = seen
    assert chr_[0] == len(items) - len(items[::5]) and recall[0] == recall[1]


def test_a_cited_chunk_that_was_not_retrieved_stays_out_of_scope(placed: tuple[Path, Path]) -> None:
    path, docs = placed
    item = next(item for item in read_gold(path) if item.anchor)
    chunks = {"a": item.anchor.text, "b": f"Before. {item.anchor.text}"}
    runs = [trace(item.qid, f"It is {item.substrings[0]}.", ["b"], ["a"])]
    found = evaluate("answers", gold=[item], trace=runs, chunks=chunks, docs=docs, match_citations="text")
    assert found.measures["chr"].k == 0


def test_places_need_documents_and_items_without_one_are_named(
    placed: tuple[Path, Path], cli: Cli, tmp_path: Path
) -> None:
    _, docs = placed
    runs = write_lines(tmp_path / "t.jsonl", [trace("Q1")])
    one = write_lines(tmp_path / "g.jsonl", [gold("Q1")])
    score = ("score", "--gold", one, "--trace", runs, "--match-citations", "place")
    assert "[match-citations]" in cli(*score).err
    ran = cli(*score, "--docs", docs)
    assert ran.code == 0 and "compared by id where the gold item has no place" in ran.out + ran.err


# Coverage


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_coverage_counts_sections_and_what_is_new_since_a_commit(cli: Cli, placed: tuple[Path, Path]) -> None:
    path, docs = placed
    whole = coverage(path, docs)
    assert len(whole.sections) == 60 and whole.share() is not None and 0.9 < whole.share() < 1
    assert {one.section for one in whole.bare()} == {"S.3.3 Who may buy what"}
    git(docs, "init", "-q", "-b", "main")
    git(docs, "add", ".")
    git(docs, "commit", "-qm", "docs")
    one = docs / "2-api.md"
    text = one.read_text("utf-8")
    moved = "".join(reversed(sections_of(text + "\n")))  # moved, not new
    one.write_text(moved + "\n## Brand new\n\nNobody asks about this yet.\n", "utf-8")
    (docs / "4-more.md").write_text("# More\n\nA new file.\n")
    gate = ("--gates", "coverage[new] >= 0.5")
    ran = cli("gold", "coverage", path, "--docs", docs, "--since", "HEAD", *gate)
    assert ran.code == 1 and "2-api.md · Brand new" in ran.out and "4-more.md · More" in ran.out
    assert "FAIL  coverage[new] >= 0.5 (0.000)" in ran.out and "S.3.3" not in ran.out
    told = cli("gold", "coverage", path, "--docs", docs, "--since", "HEAD", "--json").json
    assert told["coverage[new]"] == 0 and sum(one["changed"] for one in told["sections"]) == 2
    assert cli("gold", "coverage", path, "--docs", docs, "--since", "no-such").code == 2
    git(docs, "add", ".")
    git(docs, "commit", "-qm", "more")
    assert cli("gold", "coverage", path, "--docs", docs, "--since", "HEAD", *gate).code == 0, "nothing is new"


def test_a_gate_that_is_none_is_refused(placed: tuple[Path, Path]) -> None:
    found = coverage(*placed)
    assert [holds for *_, holds in coverage_gates(found, ["coverage >= 0.5", "coverage >= 0.999"])] == [True, False]
    for text in ("precision >= 0.5", "coverage[old] >= 0.5", "coverage <= 0.5"):
        with pytest.raises(Exception, match="coverage-gate"):
            coverage_gates(found, [text])
