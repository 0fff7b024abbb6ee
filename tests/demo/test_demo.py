"""The demo: its corpus, its gold set, and that each fault is seen by the gate that should see it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy import UsageError, evaluate
from shipworthy.demo import FAULTS, INDEXES, Knobs, answer, gold_path, retrieve
from shipworthy.demo.retrieval import blocks, document, locked_rules
from shipworthy.runner.jitter import jitter

GOLD: list[dict[str, Any]] = [json.loads(line) for line in gold_path().read_text("utf-8").splitlines()]
FRESH: list[dict[str, Any]] = [json.loads(line) for line in gold_path(fresh=True).read_text("utf-8").splitlines()]
ANSWERABLE = [item for item in GOLD if item["answerable"]]
UNANSWERABLE = [item for item in GOLD if not item["answerable"]]
REFUSAL = "not in context"
BLOCK_ID = re.compile(r"S(\.\d+)+\.[pctf]\.Bk\d{3}[a-z]?")


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def without_clock(trace: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trace.items() if name not in ("stage_ms", "e2e_ms")}


@cache
def outcomes(faults: tuple[str, ...] = ()) -> dict[str, Any]:
    traces = [answer(item["question"], qid=item["qid"], faults=faults) for item in GOLD]
    decision = evaluate(str(gold_path()), traces, scu_enforced=True)
    return {outcome.gate.metric: outcome for outcome in decision.outcomes}


def failing(faults: tuple[str, ...] = ()) -> set[str]:
    return {name for name, outcome in outcomes(faults).items() if outcome.state == "FAIL"}


# corpus


@pytest.mark.parametrize("index", INDEXES)
def test_block_ids_follow_the_grammar_and_are_unique(index: str) -> None:
    ids = [block.id for block in blocks(index)]
    assert len(ids) == len(set(ids))
    assert all(BLOCK_ID.fullmatch(block_id) for block_id in ids)


def test_offsets_point_at_the_text_of_each_live_block() -> None:
    for block in blocks("live"):
        assert document()[block.start : block.end].decode() == block.text


def test_the_corpus_has_sixty_sections_and_every_type() -> None:
    assert len({block.section_id for block in blocks()}) == 60
    assert {block.type for block in blocks()} == {"prose", "table", "code", "figure"}


def test_shadow_has_other_ids_but_covers_every_live_block() -> None:
    live, shadow = blocks("live"), blocks("shadow")
    assert not {block.id for block in live} & {block.id for block in shadow}
    for block in live:
        covered = sum(max(0, min(block.end, other.end) - max(block.start, other.start)) for other in shadow)
        assert covered >= (block.end - block.start) / 2, block.id


def test_degraded_shadow_differs_in_tables_only() -> None:
    pairs = list(zip(blocks("shadow"), blocks("shadow-degraded"), strict=True))
    assert {good.type for good, bad in pairs if good != bad} == {"table"}


# gold set


def test_counts_of_the_gold_set() -> None:
    types = [item["type"] for item in ANSWERABLE]
    assert len(GOLD) >= 160
    assert len(UNANSWERABLE) >= 60
    assert types.count("table") >= 15
    assert types.count("code") >= 15
    assert "figure" in types
    assert sum("constraints" in item for item in GOLD) >= 15
    assert sum(len(item.get("paraphrases", [])) == 3 for item in GOLD) >= 60


def test_gold_is_clean() -> None:
    ids = {block.id: block for block in blocks()}
    texts = [fold(text) for item in GOLD + FRESH for text in [item["question"], *item.get("paraphrases", [])]]
    assert len(texts) == len(set(texts)), "a question or paraphrase is asked twice"
    assert len({item["qid"] for item in GOLD}) == len(GOLD)
    for item in ANSWERABLE:
        assert item["gold_claim_substr"]
        assert all(len(fold(part)) >= 5 for part in item["gold_claim_substr"]), item["qid"]
        assert item["gold_citations"]
        assert all(cited in ids for cited in [*item["gold_citations"], *item["negatives"]])
        assert len(item["negatives"]) == 2
        assert not set(item["negatives"]) & set(item["gold_citations"])
    for item in UNANSWERABLE:
        assert item["gold_citations"] == []
        assert item["notes"]


def test_relevant_blocks_and_constraints_agree_with_the_corpus() -> None:
    ids = {block.id: block for block in blocks()}
    for item in [*ANSWERABLE, *(item for item in FRESH if item["answerable"])]:
        for place in item["relevant"]:
            block = ids[place["id"]]
            current = {"id": block.id, "offsets": block.offsets, "section_id": block.section_id, "type": block.type}
            assert place == current, f"{item['qid']}: the corpus has changed under the gold set"
        assert item["anchor_section"] == item["relevant"][0]["section_id"]
        assert tuple(item.get("constraints", ())) == locked_rules().get(item["anchor_section"], ())


# the healthy pipeline


def test_healthy_pipeline_ships_and_is_proven_on_the_default_gates() -> None:
    healthy = outcomes()
    assert {name: outcome.state for name, outcome in healthy.items()} == dict.fromkeys(healthy, "PASS")
    assert {"precision", "chr", "under_refusal", "over_refusal", "scu_violations"} <= set(healthy)


def test_healthy_pipeline_holds_every_gate_with_proof_demanded() -> None:
    traces = [answer(item["question"], qid=item["qid"]) for item in GOLD]
    assert evaluate(str(gold_path()), traces, require_proof=True, scu_enforced=True).verdict == "SHIP"


def test_fresh_questions_do_not_ship_because_too_many_are_refused() -> None:
    """The set that nothing was tuned on keeps the demo honest: few leaks, but unfamiliar wording is refused."""
    traces = [answer(item["question"], qid=item["qid"]) for item in FRESH]
    decision = evaluate(FRESH, traces)
    assert decision.verdict == "NO-SHIP"
    assert {o.gate.metric for o in decision.outcomes if o.state == "FAIL"} == {"over_refusal"}


@pytest.mark.parametrize("name", ["ws", "punct", "syn", "order"])
@pytest.mark.parametrize("profile", ["strict", "reference"])
def test_jitter_never_changes_an_answer(name: str, profile: str) -> None:
    for number, item in enumerate(GOLD):
        tail = " with citations, in one sentence" if number % 2 else ""
        changed = jitter(item["question"] + tail, name, profile)
        assert answer(changed)["answer_json"] == plainly(item["question"]), changed


@cache
def plainly(question: str) -> Any:
    return answer(question)["answer_json"]


def test_paraphrases_mostly_cite_the_same_section() -> None:
    groups = [item for item in ANSWERABLE if item.get("paraphrases")]
    sections = [[_section(answer(text)) for text in item["paraphrases"]] for item in groups]
    same = sum(set(cited) == {item["anchor_section"]} for item, cited in zip(groups, sections, strict=True))
    assert same / len(groups) >= 0.95
    leaks = [text for item in UNANSWERABLE for text in item.get("paraphrases", []) if answer(text)["ok"]]
    assert len(leaks) <= 1


def _section(trace: dict[str, Any]) -> str | None:
    return trace["answer_citations"][0]["section_id"] if trace["answer_citations"] else None


def test_same_question_same_trace() -> None:
    for item in GOLD[::10]:
        assert without_clock(answer(item["question"])) == without_clock(answer(item["question"]))


def test_answers_do_not_depend_on_the_hash_seed_or_on_the_gold_set() -> None:
    """In fresh interpreters: same answers under other hash seeds, the gold set never opened, no web server imported."""
    script = """if True:
        import json, sys
        opened = []
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        from shipworthy.demo import answer, retrieve
        questions = ["How heavy is one lantern?", "Which region takes the writes?", "Who leads the Marketing team?"]
        traces = [answer(q) for q in questions] + [retrieve(q, index="shadow") for q in questions]
        assert not any(name.endswith("gold.jsonl") for name in opened)
        assert "starlette" not in sys.modules and "uvicorn" not in sys.modules
        print(json.dumps([{k: v for k, v in t.items() if k not in ("stage_ms", "e2e_ms")} for t in traces]))
    """
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert json.loads(runs[0])[0]["answer_json"]["claim"].startswith("A lantern weighs 3.4 kg")


def test_trace_has_what_the_contract_asks_for() -> None:
    trace = answer("Which region takes the writes?", qid="D1", seed=3, jitter="ws", knobs={"k_lex": 9})
    assert (trace["qid"], trace["seed"], trace["jitter"], trace["knobs"]) == ("D1", 3, "ws", {"k_lex": 9})
    assert trace["answer_json"]["claim"].startswith("Norrby takes the writes")
    assert trace["answer_json"]["constraints_echo"] == ["Writes must go to one region only."]
    assert set(trace["answer_json"]["citations"]) <= set(trace["retrieved_ids"])
    assert trace["retrieved_ids"] == [hit["id"] for hit in trace["topk"]]
    assert set(trace["stage_ms"]) == {"retrieval", "rerank", "llm", "guard"}
    assert trace["e2e_ms"] == pytest.approx(sum(trace["stage_ms"].values()), abs=0.01)
    assert "Norrby takes the writes" in trace["evidence"][0]["text"]
    assert 0 < trace["confidence"] <= 1
    assert trace["ok"] is True


def test_refusal_cites_nothing_and_says_why() -> None:
    trace = answer("Who leads the Marketing team?")
    assert trace["answer_json"] == {"claim": REFUSAL, "citations": [], "constraints_echo": []}
    assert trace["ok"] is False
    assert "market" in trace["reason"]


@pytest.mark.parametrize(
    "question", ["", "   ", "?", "???", "the", "🙂🙂", "\x00", "¿Quién dirige el equipo?", "x" * 4000]
)
def test_odd_questions_are_refused_and_nothing_breaks(question: str) -> None:
    assert (
        answer(question, faults=tuple(set(FAULTS) - {"slow_tail", "leak_refusal"}))["answer_json"]["claim"] == REFUSAL
    )
    assert retrieve(question)["answer_json"]["claim"] == REFUSAL


@settings(max_examples=20 * EFFORT, deadline=None)
@given(st.text(max_size=80), st.sampled_from(INDEXES), st.integers(1, 50))
def test_any_text_gives_a_well_formed_log_line(question: str, index: str, k: int) -> None:
    line = retrieve(question, index=index, k=k)
    assert len(line["topk"]) == len(line["delta_s"]) <= k
    assert all(0 <= distance <= 1 for distance in line["delta_s"])
    cited = {place["id"] for place in line["answer_citations"]}
    assert cited <= set(line["retrieved_ids"])


# knobs


def test_unknown_knobs_faults_and_indexes_are_named() -> None:
    for call, code in (
        (lambda: answer("q", knobs={"k_lexx": 1}), "demo-unknown-knob"),
        (lambda: answer("q", knobs={"k_lex": 0}), "demo-bad-knob"),
        (lambda: answer("q", knobs={"k_lex": True}), "demo-bad-knob"),
        (lambda: answer("q", knobs={"intersect": 1}), "demo-bad-knob"),
        (lambda: answer("q", faults=["drop"]), "demo-unknown-fault"),
        (lambda: retrieve("q", index="dead"), "demo-unknown-index"),
        (lambda: retrieve("q", k=0), "demo-bad-k"),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.code == code


def test_knobs_change_how_much_is_retrieved_and_starving_them_costs_answers() -> None:
    question = "How many replicas does ember-query have?"
    assert len(answer(question, knobs={"knee": False})["topk"]) > len(answer(question)["topk"])
    wide = answer(question, knobs={"knee": False, "intersect": False})
    assert len(wide["topk"]) >= len(answer(question, knobs={"knee": False})["topk"])
    starved = {"k_lex": 1, "k_sem": 1, "intersect": False, "rerank_depth": 1}
    assert sum(answer(item["question"], knobs=starved)["ok"] for item in ANSWERABLE) < sum(
        answer(item["question"])["ok"] for item in ANSWERABLE
    )
    assert Knobs().knee is True


# faults


@pytest.mark.parametrize(
    ("fault", "gates"),
    [
        ("drop_evidence", {"over_refusal"}),
        ("wrong_citation", {"precision", "chr"}),
        ("leak_refusal", {"under_refusal"}),
        ("unlock_constraint", {"scu_violations"}),
        ("jitter_flip", set()),
    ],
)
def test_a_fault_fails_its_own_gate_and_no_other(fault: str, gates: set[str]) -> None:
    assert failing((fault,)) == gates


def test_dropped_evidence_lowers_recall() -> None:
    def recalled(faults: tuple[str, ...]) -> int:
        traces = [answer(item["question"], faults=faults) for item in ANSWERABLE]
        return sum(
            set(item["gold_citations"]) <= set(trace["retrieved_ids"][:5])
            for item, trace in zip(ANSWERABLE, traces, strict=True)
        )

    assert recalled(()) == len(ANSWERABLE)
    assert recalled(("drop_evidence",)) < 0.75 * len(ANSWERABLE)


def test_jitter_flip_changes_answers_under_punct_only_when_switched_on() -> None:
    shipped = [item for item in ANSWERABLE if answer(item["question"])["ok"]]
    jittered = [jitter(item["question"], "punct") for item in shipped]
    flipped = [text for text in jittered if not answer(text, faults=["jitter_flip"])["ok"]]
    assert len(flipped) > 0.9 * len(shipped)
    assert all(answer(text)["ok"] for text in jittered)


@pytest.mark.parametrize(("faults", "verdict", "failing"), [((), "SHIP", 6), (("jitter_flip",), "NO-SHIP", 137)])
def test_the_stability_gate_sees_jitter_flip(faults: tuple[str, ...], verdict: str, failing: int) -> None:
    runs = [
        answer(jitter(item["question"], name), qid=item["qid"], jitter=name, faults=faults)
        for item in GOLD
        for name in ("none", "ws", "punct", "syn")
    ]
    decision = evaluate("stability", gold=str(gold_path()), runs=runs, max_fail_rate="0.05")
    assert decision.verdict == verdict
    assert next(o for o in decision.outcomes if o.gate.metric == "fail_rate").measure.k == failing


class Clock:
    """Time that passes only when it is looked at, a millisecond each time, or slept."""

    now = 0.0

    def perf_counter(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_slow_tail_moves_p95_and_leaves_the_median_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipworthy.demo.pipeline.time", Clock())
    knobs = {"slow_ms": 60}
    traces = [answer(item["question"], faults=["slow_tail"], knobs=knobs) for item in GOLD]
    times = sorted(trace["e2e_ms"] for trace in traces)
    assert times[len(times) // 2] < 60 <= times[int(0.95 * (len(times) - 1))]
    slow = [trace for trace in traces if trace["e2e_ms"] >= 60]
    assert 0.05 < len(slow) / len(traces) < 0.15
    assert all(trace["stage_ms"]["llm"] >= 60 for trace in slow)
    again = [answer(trace["q"], faults=["slow_tail"], knobs=knobs)["e2e_ms"] >= 60 for trace in slow[:3]]
    assert all(again)


# two indexes


def hit_at_5(index: str, item: dict[str, Any]) -> bool:
    """Whether one of the first five blocks lies at the gold place, whatever its id."""
    start, end = item["relevant"][0]["offsets"]
    for hit in retrieve(item["question"], index=index, k=5)["topk"]:
        first, last = hit["offsets"]
        overlap = min(end, last) - max(start, first)
        if 2 * overlap >= end - start or 2 * overlap >= last - first:
            return True
    return False


@cache
def recall_by_type(index: str) -> dict[str, tuple[int, int]]:
    recall: dict[str, tuple[int, int]] = {}
    for item in ANSWERABLE:
        hits, of = recall.get(item["type"], (0, 0))
        recall[item["type"]] = (hits + hit_at_5(index, item), of + 1)
    return recall


def test_the_shadow_index_is_as_good_as_live_and_the_degraded_one_is_worse_on_tables_only() -> None:
    live, shadow, degraded = (recall_by_type(index) for index in INDEXES)
    assert shadow == live
    assert degraded["table"][0] <= live["table"][0] - 5
    assert {name: value for name, value in degraded.items() if name != "table"} == {
        name: value for name, value in live.items() if name != "table"
    }


def test_index_hashes_tell_the_indexes_apart() -> None:
    assert len({retrieve("lantern", index=index)["index_hash"] for index in INDEXES}) == 3


def test_retrieval_log_meets_the_canary_bars_on_live() -> None:
    lines = [(item, retrieve(item["question"])) for item in ANSWERABLE]
    answered = [(item, line) for item, line in lines if line["answer_citations"]]
    right = sum(_section(line) == item["anchor_section"] for item, line in answered)
    cited = sorted(
        line["delta_s"][line["retrieved_ids"].index(line["answer_citations"][0]["id"])] for _, line in answered
    )
    assert right / len(answered) >= 0.95
    assert right / len(lines) >= 0.70
    assert cited[len(cited) // 2] <= 0.40
    assert cited[int(0.9 * (len(cited) - 1))] <= 0.55


# the page


def test_the_page_states_the_figures_that_are_measured() -> None:
    page = (Path(__file__).parents[2] / "docs" / "demo.md").read_text("utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("|")}
    healthy = outcomes()
    for name in ("precision", "chr", "under_refusal", "over_refusal"):
        assert f"{healthy[name].measure.k}/{healthy[name].measure.n}" in rows[name]
    for fault, gate in (
        ("drop_evidence", "over_refusal"),
        ("wrong_citation", "chr"),
        ("wrong_citation", "precision"),
        ("leak_refusal", "under_refusal"),
    ):
        measure = outcomes((fault,))[gate].measure
        assert f"→ {measure.k}/{measure.n}" in rows[fault]
    assert f"→ {outcomes(('unlock_constraint',))['scu_violations'].measure.k} " in rows["unlock_constraint"]
    for index in INDEXES:
        for hits, of in recall_by_type(index).values():
            assert f"{hits}/{of}" in rows[index]
    assert set(FAULTS) <= set(rows)
