"""Real runs of real systems: published numbers are reproduced, broken runs do not ship, causes are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shipworthy import evaluate

Find = Callable[[str], Path]
NAMES = {"S": "answered", "A": "answerable", "U": "unanswerable"}


@pytest.mark.parametrize("system", ["bert", "nlnet", "bidaf_elmo"])
def test_squad_gives_its_expected_numbers(system: str, real_data: Find) -> None:
    folder = real_data("squad_mini")
    expected = json.loads((folder / "expected.json").read_text())[system]
    report = evaluate(folder / "gold.jsonl", folder / f"trace.{system}.jsonl").report()
    assert {name: report[NAMES.get(name, name)] for name in expected} == expected


BROKEN = ["badprompt_ignoresources_1", "no_semantic_ranker_prompt_piglatin", "generalprompt_1"]


@pytest.mark.parametrize("run", BROKEN)
def test_broken_runs_do_not_ship_and_the_cause_is_named(run: str, real_data: Find) -> None:
    folder = real_data("azure_rag/northwind200")
    decision = evaluate(folder / "gold.jsonl", folder / "runs" / run / "trace.jsonl")
    baseline = evaluate(folder / "gold.jsonl", folder / "runs" / "baseline" / "trace.jsonl")
    assert decision.verdict == "NO-SHIP"
    # This gold set names no expected text, so nothing is claimed about what the answers say.
    assert decision.reasons[0].startswith("no answer cites a source, so none counts as correctly cited. If")
    assert decision.diagnosis != baseline.diagnosis
    assert not any("cites a source" in reason for reason in baseline.reasons)


def test_document_ids_for_page_ids_are_a_scheme_mismatch(real_data: Find) -> None:
    folder = real_data("azure_rag/northwind200")
    trace = folder / "runs" / "baseline_4" / "trace.jsonl"
    decision = evaluate(folder / "gold.jsonl", trace)
    assert decision.measures["chr"].k == 0
    assert "drop-page" in decision.diagnosis[0]
    assert (evaluate(folder / "gold.jsonl", trace, id_map="drop-page").measures["chr"].k or 0) > 150


@pytest.mark.parametrize("system", ["gpt", "llama", "mistral"])
def test_refusals_in_natural_language_are_counted_when_declared(system: str, real_data: Find) -> None:
    folder = real_data("clapnq_rag")
    expected = json.loads((folder / "expected.json").read_text())[system]
    trace = folder / f"trace.{system}.jsonl"
    asked = {json.loads(line)["qid"] for line in trace.read_text("utf-8").splitlines()}
    golds = [
        row
        for line in (folder / "gold.jsonl").read_text("utf-8").splitlines()
        if (row := json.loads(line))["qid"] in asked
    ]
    exact = evaluate(golds, trace).measures["under_refusal"].value
    natural = evaluate(golds, trace, refusal="natural").measures["under_refusal"].value
    assert exact == 1  # none of them knows the token
    assert natural is not None
    assert abs(float(natural) - expected["under_refusal"]) <= 0.11
