"""Candidates from documents and from traces: true by construction, spread, the same for the same seed."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import ROOT, Cli, write_lines
from shipworthy.documents import read_documents
from shipworthy.gold.build import build
from shipworthy.gold.runs import draft_runs

CORPUS = ROOT / "src" / "shipworthy" / "demo" / "corpus"


def drafts(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_expected_text_stands_at_its_place() -> None:
    documents = read_documents(CORPUS)
    made = [draft for draft in build(documents, count=300) if draft["draft"]["proposal"] == "answerable"]
    assert len(made) > 80
    for draft in made:
        anchor = draft["anchor"]
        text = documents.by_name[anchor["doc"]].text
        passage = text[anchor["start"] : anchor["end"]]
        assert draft["gold_claim_substr"][0] in passage
        assert hashlib.sha256(passage.encode()).hexdigest() == anchor["sha256"]
        assert text[: anchor["start"]].endswith(anchor["before"]) and len(anchor["before"]) <= 40
        assert text[anchor["end"] :].startswith(anchor["after"]) and len(anchor["after"]) <= 40
        assert draft["answerable"] is None, "a person decides"


def test_at_most_two_candidates_a_section_and_every_document_has_some() -> None:
    made = [draft["anchor"] for draft in build(CORPUS, count=60) if "anchor" in draft]
    sections = Counter((anchor["doc"], anchor["section"]) for anchor in made)
    assert max(sections.values()) <= 2
    shares = Counter(anchor["doc"] for anchor in made)
    assert len(shares) == 3 and min(shares.values()) >= 10


def test_the_same_seed_gives_the_same_candidates_and_another_one_others(cli: Cli, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        ran = cli("gold", "build", "--docs", CORPUS, "--out", tmp_path / name, "--seed", seed, "--count", 30)
        assert ran.code == 0 and "30 candidates from 3 documents" in ran.out
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b and a != c


def test_a_draft_is_not_replaced_unless_that_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "draft.jsonl"
    out.write_text("under review")
    ran = cli("gold", "build", "--docs", CORPUS, "--out", out)
    assert ran.code == 2 and "[gold-draft-exists]" in ran.err and out.read_text() == "under review"
    assert cli("gold", "build", "--docs", CORPUS, "--out", out, "--force").code == 0


def test_kinds_of_facts_and_their_expected_texts() -> None:
    page = """# Fees

## How long is the notice period?

The notice period is 30 days for every plan.

## Prices

| Plan | Price | Seats |
|---|---|---|
| Basic | $10 a month | 5 seats |
| Team | $40 a month | 25 seats |

Support hours: 08:00 to 17:00

## History

The company was founded in March 1998 in the town of Brookfield.

## People

The head of the support department is Maria Lindholm at the moment.
"""
    made = {d["gold_claim_substr"][0]: d for d in build({"fees.md": page}, count=30) if "anchor" in d}
    assert made["30 days"]["question"] == "How long is the notice period?"
    assert made["March 1998"]["draft"]["kind"] == "date"
    assert "Maria Lindholm" in made
    cell = next(draft for draft in made.values() if draft["draft"]["kind"] == "cell")
    assert cell["question"].startswith("What is the ") and cell["anchor"]["head"] == "| Plan | Price | Seats |"
    assert {draft["provenance"] for draft in made.values()} == {"built"}


def test_what_sections_say_line_by_line_is_asked_of_one_that_lacks_it() -> None:
    page = """# Machines

## Drill press

- **Power:** 900 W
- **Weight:** 45 kg

## Band saw

- **Power:** 1,100 W
- **Weight:** 60 kg
- **Blade:** 10 mm

## Lathe

- **Power:** 750 W

A lathe turns round parts.
"""
    made = [d for d in build({"a.md": page}, count=30) if d["draft"]["proposal"] == "unanswerable"]
    assert [d["question"] for d in made] == ["What is the weight of Lathe?"]  # only one thing has a blade at all
    assert "Machines" in made[0]["draft"]["hint"]


def test_an_unanswerable_candidate_asks_what_no_document_says() -> None:
    page = """# Plans

## Prices

| Plan | Monthly price |
|---|---|
| Basic | $10 |
| Team | $40 |

## Offices

| Office | Floor area |
|---|---|
| Brookfield | 900 m2 |
| Eastport | 400 m2 |

The monthly price of Brookfield is a secret that this sentence mentions.
"""
    made = [d for d in build({"a.md": page}, count=30) if d["draft"]["proposal"] == "unanswerable"]
    asked = {d["question"] for d in made}
    assert "What is the floor area of Basic?" in asked or "What is the floor area of Team?" in asked
    assert "What is the monthly price of Brookfield?" not in asked, "the documents mention both together"
    assert all(d["answerable"] is None and "gold_claim_substr" not in d for d in made)


def test_near_duplicates_are_left_out() -> None:
    same = "The warranty of the red pump model lasts for {n} months after the day of purchase.\n"
    pages = {f"p{n}.md": f"# Pump\n\n{same.format(n=12)}" for n in range(20)}
    assert len(build(pages, count=30)) == 1


def test_a_command_may_word_the_questions_and_is_not_believed(cli: Cli, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    facts = ["The red pump weighs 41 kilograms when it is empty.", "A blue crane can be rented for 52 euros a day."]
    facts += ["Green barrels hold up to 63 litres of clean water.", "No more than 74 litres fit into the grey tank."]
    for number, fact in enumerate(facts):
        (docs / f"{number}.md").write_text(f"# Pump {number}\n\n{fact}\n")
    (docs / "copy.md").write_text("# Copy\n\nElsewhere it is said that 74 litres is the most that fits.\n")
    script = tmp_path / "word.py"
    script.write_text(
        "import json, sys\n"
        "got = json.load(sys.stdin)\n"
        "if '41' in got['expected']: print(json.dumps({'question': 'How heavy is the red pump?'}))\n"
        "elif '52' in got['expected']: print(json.dumps({'question': 'Is it 52 euros?'}))\n"
        "elif '63' in got['expected']: print(json.dumps({'question': 'How much?', 'expected': '99 litres'}))\n"
        "else: print('How much does the tank hold?')\n"
    )
    out = tmp_path / "draft.jsonl"
    ran = cli("gold", "build", "--docs", docs, "--out", out, "--word", f"{sys.executable} {script}", "--count", 9)
    assert ran.code == 0, ran.err
    questions = {draft["gold_claim_substr"][0]: draft["question"] for draft in drafts(out)}
    assert questions["41 kilograms"] == "How heavy is the red pump?"
    assert questions["52 euros"] == "", "the question gives the answer away"
    assert questions["63 litres"] == "", "the expected text is not in the passage"
    assert questions["74 litres"] == "", "two passages have it"
    ran = cli("gold", "build", "--docs", docs, "--out", tmp_path / "x", "--word", "no-such-command-here")
    assert ran.code == 2 and "[word-command]" in ran.err


# From traces


def run_of(number: int, claim: str, cited: list[str], found: list[str], question: str = "") -> dict:
    return {
        "qid": f"r{number}",
        "q": question or f"Question about topic {number} {'abcdefghij'[number % 10] * 9}?",
        "retrieved_ids": found,
        "topk": [{"id": one, "text": f"text of {one}"} for one in found],
        "answer_json": {"claim": claim, "citations": cited},
    }


def test_real_questions_are_merged_and_drawn_by_stratum(tmp_path: Path) -> None:
    runs = [run_of(n, "It is 30 days.", ["d1"], ["d1", "d2"]) for n in range(10)]
    runs += [run_of(n, "It is 30 days.", [], ["d1"]) for n in range(10, 12)]
    runs += [run_of(n, "not in context", [], ["d1"]) for n in range(12, 14)]
    runs += [run_of(n, "It is 40 days.", [], []) for n in range(14, 15)]
    runs += [run_of(20 + n, "It is 9.", ["d1"], ["d1"], "How long is the refund period?" + "?" * n) for n in range(3)]
    made = draft_runs(write_lines(tmp_path / "t.jsonl", runs), count=8)
    assert Counter(d["draft"]["stratum"] for d in made) == {
        "refused": 2,
        "answered and uncited": 2,
        "nothing retrieved": 1,
        "answered and cited": 3,
    }
    everything = {d["question"]: d for d in draft_runs(tmp_path / "t.jsonl", count=99)}
    merged = next(d for text, d in everything.items() if text.startswith("How long"))
    assert len(everything) == 16 and merged["draft"]["count"] == 3
    assert merged["draft"]["answer"] == "It is 9." and merged["draft"]["retrieved"] == [
        {"id": "d1", "text": "text of d1"}
    ]
    refused = [d for d in everything.values() if d["draft"]["stratum"] == "refused"]
    assert all(d["draft"]["proposal"] == "unanswerable" and d["answerable"] is None for d in refused)


def test_an_export_of_another_tool_is_read_as_import_reads_it(cli: Cli, tmp_path: Path) -> None:
    export = next((ROOT / "tests" / "importers" / "exports").glob("ragas/*"))
    out = tmp_path / "draft.jsonl"
    ran = cli("gold", "build", "--traces", export, "--out", out)
    assert ran.code == 0, ran.err
    assert all(draft["question"] and draft["provenance"] == "trace" for draft in drafts(out))


def test_drafts_of_import_have_what_a_reviewer_needs(cli: Cli, tmp_path: Path) -> None:
    export, out = tmp_path / "rows.csv", tmp_path / "draft.jsonl"
    rows = 'question,answer,docs\nHow long?,"It is 30 days [d1].",d1;d2\n'
    export.write_text(rows)
    maps = ("--map", "question=question", "--map", "claim=answer", "--map", "retrieved_ids=docs")
    ran = cli("import", export, *maps, "--draft-gold", out)
    assert ran.code == 0, ran.err
    (draft,) = drafts(out)
    assert draft["answerable"] is None and "30 days" in draft["draft"]["answer"]
    assert [one["id"] for one in draft["draft"]["retrieved"]] == ["d1", "d2"]


def test_documents_or_traces_not_both_not_none(cli: Cli, tmp_path: Path) -> None:
    for flags in ((), ("--docs", CORPUS, "--traces", CORPUS / "x")):
        assert "[gold-sources]" in cli("gold", "build", "--out", tmp_path / "x", *flags).err


@pytest.mark.parametrize("name", ["squad_mini", "clapnq_rag", "azure_rag/northwind200"])
def test_real_chunk_files(real_data, name: str) -> None:
    documents = read_documents(real_data(name) / "chunks.jsonl")
    for draft in build(documents, count=100):
        if anchor := draft.get("anchor"):
            text = documents.by_name[anchor["doc"]].text
            assert draft["gold_claim_substr"][0] in text[anchor["start"] : anchor["end"]]
            assert draft["gold_citations"][0] in documents.chunk_of or os.path.basename(anchor["doc"])
