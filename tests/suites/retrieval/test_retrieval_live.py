"""Retrieval: the shadow index beside the live one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retrieval_helpers import demo_gold, line, question, score


def test_live_is_the_baseline_and_changes_are_named_with_paired_tests() -> None:
    gold = [
        question(f"q{number:02}", relevant=[{"id": "a", "type": "table" if number < 5 else "prose"}])
        for number in range(20)
    ]
    live = [line(f"q{number:02}", found=["a"]) for number in range(20)]
    shadow = [line(f"q{number:02}", found=["x" if number < 5 else "a"]) for number in range(20)]
    found = score(gold, shadow, live, only_gates=True, gates="recall@5>=baseline-0.02")
    assert found.verdict == "NO-SHIP" and "recall@5 0.750 < baseline-0.02 = 0.98" in found.reasons[0]
    compared = found.sections["comparison"]
    assert [row["qid"] for row in compared["worse"]] == [f"q0{number}" for number in range(5)] == compared["hits_lost"]
    assert compared["mcnemar_two_sided_p"] == 2 / 2**5 == compared["permutation_p"]
    assert compared["slices"] == {
        "type=prose": {"shadow": 1.0, "live": 1.0},
        "type=table": {"shadow": 0.0, "live": 1.0},
    }
    assert any("Only table fails" in hint for hint in found.diagnosis)
    sliced = score(gold, shadow, live, only_gates=True, gates="recall@5[type=prose]>=baseline-0.02")
    assert sliced.verdict == "SHIP"


def test_a_drop_of_exactly_the_slip_holds() -> None:
    gold = [question(f"q{number:02}", relevant=["a"]) for number in range(50)]
    live = [line(f"q{number:02}", found=["a"]) for number in range(50)]
    for lost, verdict in ((1, "SHIP"), (2, "NO-SHIP")):
        shadow = [line(f"q{number:02}", found=["x" if number < lost else "a"]) for number in range(50)]
        assert score(gold, shadow, live, only_gates=True, gates="recall@5>=baseline-0.02").verdict == verdict


def test_a_live_log_with_holes_is_no_baseline() -> None:
    gold = [question(name) for name in ("q1", "q2")]
    both = [line(name, delta_s=[0.1, 0.1, 0.1]) for name in ("q1", "q2")]
    poor = [line("q1", ["x"], delta_s=[0.1]), line("q2", delta_s=[0.1] * 3)]
    assert score(gold, both, both).verdict == "SHIP"
    found = score(gold, poor, both[1:], only_gates=True, gates="recall@5>=baseline-0.02")
    assert found.verdict == "NO VERDICT" and "1 of 2 questions could not be judged" in found.incomplete[0]
    allowed = score(gold, poor, both[1:], only_gates=True, gates="recall@5>=baseline-0.02", allow_missing=1)
    assert allowed.verdict == "NO VERDICT" and "1 of 2 questions have no line in live's log" in allowed.incomplete[0]
    absolute = {"only_gates": True, "gates": "recall@5>=0.9"}
    assert score(gold, both, both[1:], **absolute).verdict == "NO VERDICT"
    assert score(gold, both, both[1:], **absolute, allow_missing=1).verdict == "SHIP"


def test_indexes_and_rerankers_are_watched() -> None:
    gold = [question("q1"), question("q2")]
    shadow = [line("q1", index_hash="h1", reranker="r1"), line("q2", index_hash="h2", reranker="r1")]
    live = [line("q1", index_hash="h1", knobs={"reranker": "r2"}), line("q2", index_hash="h1")]
    text = " ".join(score(gold, shadow, live).warnings)
    for code in ("index-mixed", "index-same", "reranker-differs"):
        assert f"[{code}]" in text


def test_distances_of_different_embedders_are_not_compared() -> None:
    shadow, live = line(delta_s=[0.1, 0.2, 0.3], embedder="m1"), line(delta_s=[0.2, 0.2, 0.3], embedder="m2")
    found = score(question(), shadow, [live])
    assert "delta_s_median" not in found.sections["comparison"]["metrics"]
    assert any("[delta-embedders]" in warning for warning in found.warnings)
    same = score(question(), shadow, [line(delta_s=[0.2, 0.2, 0.3], embedder="m1")])
    assert same.sections["comparison"]["metrics"]["delta_s_median"] == {"shadow": 0.1, "live": 0.2}


def test_details_are_lines_of_the_decision_without_control_characters() -> None:
    gold = question("q\x1b[31m", type="ta\x1b]0;x\x07ble")
    found = score(gold, line("q\x1b[31m", ["x"], delta_s=[0.1]), [line("q\x1b[31m", delta_s=[0.1] * 3)])
    assert any(text.startswith("Settings: preset native") for text in found.sections["details"])
    assert not any("\x1b" in text or "\x07" in text for text in found.sections["details"])


def demo_log(index: str, path: Path) -> Path:
    from shipworthy.demo.pipeline import retrieve

    with path.open("w") as file:
        for item in demo_gold():
            for number, text in enumerate([item.question, *item.paraphrases]):
                found = retrieve(text, index=index, k=10, seed=0)
                file.write(json.dumps({"paraphrase": number, **found, "qid": item.qid}) + "\n")
    return path


def test_the_demo_index_is_eligible_when_healthy_and_refused_when_tables_break(tmp_path: Path) -> None:
    pytest.importorskip("shipworthy.demo.pipeline")
    gold = demo_gold()
    live, shadow, broken = (
        demo_log(index, tmp_path / f"{index}.jsonl") for index in ("live", "shadow", "shadow-degraded")
    )
    healthy = score(gold, shadow, live, match="offsets")
    assert healthy.verdict == "SHIP", healthy.reasons
    degraded = score(gold, broken, live, match="offsets")
    assert degraded.verdict == "NO-SHIP"
    slices = degraded.sections["comparison"]["slices"]
    fallen = [name for name, pair in slices.items() if pair["live"] - pair["shadow"] > 0.02]
    assert fallen == ["type=table"]
    assert any("Only table fails" in hint for hint in degraded.diagnosis)
    by_ids = score(gold, shadow, live)
    assert by_ids.verdict == "NO-SHIP" and any("[ids-hardly-match]" in warning for warning in by_ids.warnings)
