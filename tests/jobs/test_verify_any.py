"""Whatever the options, a report can be computed again from what it says of itself: `verify` always agrees."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from conftest import EFFORT
from golden.runner import INPUTS
from shipworthy import Gate, ShipworthyError, evaluate, verify
from shipworthy.core.decision import encode
from shipworthy.core.options import Field, fields_of
from shipworthy.suites import SUITES, load_suite

Strategy = st.SearchStrategy[Any]
Options = dict[str, Any]


class Drawn(NamedTuple):
    """A suite: what it may be run on, each with the options that those files need, and what its own options may be."""

    suite: str
    inputs: tuple[tuple[dict[str, str], Options], ...]
    options: dict[str, Strategy]
    gates: tuple[str | Gate, ...]


def some(*values: Any) -> Strategy:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


SHARES = st.sampled_from(["0", "0.3", "0.50", "1/3", 0.65, 1])
JUDGING = {
    "refusal_phrases": some("no idea*", "the documents do not say"),
    "lang": st.sampled_from(["en", "de", "sv"]),
    "id_map": st.sampled_from(["casefold", "drop-extension,casefold", str(INPUTS / "answers" / "id_map.tsv")]),
    "closed": st.just(False),  # the inputs have traces of unknown questions
    "by": some("type", "lang", "nowhere"),
    "where": st.just(("answerable=true",)),
    "quarantine": some("Q1", "S1", "nobody"),
    "custom_metrics": st.just({"kept": {"from": "scores.kept", "at_least": 0.5, "missing": "fail"}}),
}
ANSWERS = {"gold": "answers/gold.jsonl"}
WARNED = Gate.parse("chr >= 0.9", severity="warn", on_unproven="fail")

SUITES_DRAWN = [
    Drawn(
        "answers",
        (
            (ANSWERS | {"trace": "answers/trace.jsonl"}, {}),
            (ANSWERS | {"trace": "answers/whole.jsonl", "chunks": "answers/chunks.jsonl"}, {}),
            (ANSWERS | {"trace": "answers/bad.jsonl"}, {"lenient": True}),
            ({"gold": "answers/ids_gold.jsonl", "trace": "answers/ids_trace.jsonl"}, {}),
            ({"gold": "answers/frozen.jsonl", "trace": "answers/good.jsonl"}, {}),
        ),
        JUDGING
        | {
            "k": st.lists(st.integers(1, 7), min_size=1, max_size=3),
            "on_duplicate": st.sampled_from(["first", "worst"]),
        },
        ("precision=0.5", "precision[type=table]>=0.75", "over<=0.3, under=0.2", WARNED, "missing<=100"),
    ),
    Drawn(
        "stability",
        (
            ({"gold": "stability/gold.jsonl", "runs": "stability/runs.jsonl"}, {}),
            ({"gold": "stability/gold.jsonl", "runs": "stability/runs.jsonl"}, {"sweep": "old"}),
            ({"gold": "stability/gold.jsonl", "runs": "stability/steady.jsonl"}, {}),
            ({"gold": "stability/gold.jsonl", "runs": "stability/holes.jsonl"}, {"lenient": True}),
            ({"gold": "stability/para_gold.jsonl", "runs": "stability/para_runs.jsonl"}, {"arm": "large"}),
            ({"gold": "stability/para_gold.jsonl", "runs": "stability/para_runs.jsonl"}, {"arm": "small"}),
        ),
        JUDGING
        | {
            "seeds": some(0, 1, 2, 3),
            "jitters": some("none", "ws", "punct"),
            "sweep": st.just("all"),
            "arm": st.none(),
        },
        ("acr=0.5", "ned50=0.9", "mean_iaa=0.1", "css=0.4", Gate.parse("acr>=0.99", severity="info")),
    ),
    Drawn(
        "latency",
        (
            ({"gold": "latency/gold.jsonl", "trace": "latency/trace.jsonl"}, {}),
            ({"gold": "latency/gold.jsonl", "trace": "latency/trace.jsonl"}, {"arm": "quick", "sweep": "s2"}),
            ({"gold": "latency/gold.jsonl", "trace": "latency/slower.jsonl", "baseline": "latency/baseline.json"}, {}),
            ({"gold": "latency/gold.jsonl", "trace": "latency/plain.jsonl"}, {"arms": ["quick", "deep"]}),
            ({"gold": "latency/gold.jsonl", "trace": "latency/summed.jsonl"}, {"lenient": True}),
        ),
        JUDGING
        | {
            "k": some(1, 3, 5),
            "budget_ms": st.sampled_from([700, "1500", 2000.5]),
            "relaxed_budget_ms": st.sampled_from([3000, "4000"]),
            "arms": st.none(),
            "arm": st.none(),
            "sweep": st.just("all"),
            "doubts": st.none(),
        },
        ("p95[load=5]<=1500", "p50=900", "cost_per_correct=0.01", "p95<=baseline*1.10"),
    ),
    Drawn(
        "agreement",
        (
            ({"pairs": "agreement/pairs.jsonl"}, {}),
            ({"pairs": "agreement/bad.jsonl"}, {"lenient": True}),
            (
                {
                    "scholar": "agreement/scholar.jsonl",
                    "auditor": "agreement/auditor.jsonl",
                    "trace": "answers/whole.jsonl",
                },
                {},
            ),
            (ANSWERS | {"trace": "answers/whole.jsonl"}, {}),
        ),
        JUDGING | dict.fromkeys(("pa_gate", "kappa_gate", "abstain_gate"), st.sampled_from(["0.5", "0.75", 0.9])),
        ("kappa=0.1", "percent_agreement=0.3", "review_rate=0.2", "flagged_agreements=2"),
    ),
    Drawn(
        "raters",
        (
            ({"ratings": "agreement/ratings.jsonl"}, {"labels": [1, 2, 3, 4, 5, 6], "weights": None}),
            ({"ratings": "agreement/ratings.jsonl"}, {"weights": None}),
            ({"ratings": "agreement/two_raters.jsonl"}, {"labels": ["low", "mid", "high"]}),
        ),
        {"labels": st.none()},
        ("alpha=0.67", "percent_agreement=0.5"),
    ),
    Drawn(
        "retrieval",
        (
            ({"gold": "retrieval/gold.jsonl", "shadow": "retrieval/shadow.jsonl"}, {}),
            (
                {
                    "gold": "retrieval/gold.jsonl",
                    "shadow": "retrieval/shadow.jsonl",
                    "live": "retrieval/live.jsonl",
                    "sections": "retrieval/sections.jsonl",
                },
                {},
            ),
            (
                {"gold": "retrieval/gold.jsonl", "shadow": "retrieval/recut.jsonl", "texts": "retrieval/texts.jsonl"},
                {"match": "text"},
            ),
            ({"gold": "retrieval/gold.jsonl", "shadow": "retrieval/bad.jsonl"}, {"lenient": True}),
            ({"qrels": "retrieval/qrels.txt", "run": "retrieval/run.txt"}, {"match": "ids", "rel_level": 2}),
        ),
        {
            "k": st.sampled_from([[3], [1, 3], [3, 5]]),
            "by": some("lang", "type"),
            "min_overlap": st.sampled_from(["0.25", 0.5, "1"]),
            "duplicates": st.sampled_from(["first", "occupy_slot"]),
            "missing_query": st.sampled_from(["zero", "skip"]),
            "no_relevant": st.sampled_from(["zero", "skip"]),
            "rel_level": st.none(),
            "metrics": st.none(),
            "embedder": st.just("lexical"),
            "embed_url": st.none(),
            "embed_model": st.none(),
            "embed_key_env": st.none(),
            "embed_cache": st.none(),
            "score_bits": st.sampled_from([32, 64]),
        },
        ("coverage=0.5", "recall@3=0.5", "recall@3[type=table]>=baseline-0.02", "mrr=0.5"),
    ),
    Drawn(
        "reasoning",
        (
            ({"fixture": "reasoning/fixture.json", "answers": "reasoning/answers.jsonl"}, {}),
            ({"fixture": "reasoning/fixture.json", "answers": "reasoning/better.jsonl"}, {}),
            ({"answers": "reasoning/bundled.jsonl"}, {"max_cases": 4}),
        ),
        {},
        ("pass_rate=0.8", "pass_rate[preset=audit]=0.9", "errors=1"),
    ),
    Drawn(
        "guard",
        (({"report": "reasoning/report.json"}, {}), ({"report": "reasoning/better_report.json"}, {})),
        {},
        (),
    ),
    Drawn(
        "outcomes",
        (
            ({"outcomes": "outcomes/rows.jsonl"}, {}),
            ({"outcomes": "outcomes/rows.jsonl", "report": "reasoning/report.json"}, {}),
        ),
        {},
        ("samples>=3", "accept_rate[model=m1]=0.9", "edited_rate=0.5"),
    ),
]


def strategy_of(field: Field, own: Mapping[str, Strategy]) -> Strategy:
    """What an option may be: as the suite's line says, or else by its kind."""
    if field.name in own:
        return own[field.name]
    if field.choices:
        return st.sampled_from(field.choices)
    least = field.opt.least or 0
    pairs = st.just(("trace.error=failure", "gold.notes=remark"))
    kinds = {"flag": st.booleans(), "whole": st.integers(least, least + 6), "number": SHARES, "pairs": pairs}
    return kinds[field.kind]


@st.composite
def calls(draw: st.DrawFn, drawn: Drawn) -> tuple[dict[str, str], Options]:
    """Inputs and options of a suite."""
    fields = fields_of(load_suite(drawn.suite).options)
    own = drawn.options | {"gates": some(*drawn.gates) if drawn.gates else st.none()}
    chosen = draw(st.fixed_dictionaries({}, optional={name: strategy_of(field, own) for name, field in fields.items()}))
    if not chosen.get("gates"):
        chosen.pop("only_gates", None)  # no gate would be left
    inputs, needed = draw(st.sampled_from(drawn.inputs))
    return {name: str(INPUTS / path) for name, path in inputs.items()}, chosen | needed


@pytest.mark.parametrize("drawn", SUITES_DRAWN, ids=lambda drawn: drawn.suite)
def test_a_report_made_with_any_options_is_verified(drawn: Drawn) -> None:
    @settings(
        max_examples=15 * EFFORT,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    @given(calls(drawn))
    def check(call: tuple[dict[str, str], Options]) -> None:
        inputs, options = call
        try:
            report = evaluate(drawn.suite, **inputs, **options).report()
        except ShipworthyError:  # options that do not go together are refused, and make no report
            reject()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            path.write_bytes(encode(report))
            assert [(receipt.agrees, receipt.differences) for receipt in verify(path)] == [(True, [])]

    check()


def test_every_suite_is_drawn() -> None:
    assert {drawn.suite for drawn in SUITES_DRAWN} == set(SUITES)
