"""Every value that a gate may need: bad runs that lose it don't ship, and would if nobody looked for that very value.

The list is held against what the suites declare (`Metric.needs`), so that a value which is new there has to stand here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from conftest import gold, refusal, trace
from shipworthy import evaluate
from shipworthy.core.options import make_options
from shipworthy.core.tally import Tally
from shipworthy.suites import SUITES, load_suite

Row = dict[str, Any]
QUESTIONS, BAD = 12, 3


class Loss(NamedTuple):
    """A gate, a run that passes it, one that does not, and the field that the bad one loses to its gain."""

    gate: str
    good: Row
    bad: Row
    field: str  # `answer_json.claim`; a name without a point is lost wherever it stands
    source: str = "trace"
    options: Row = {}
    twice: str = ""  # what else keeps the run from shipping, where something does


def without(value: Any, field: str) -> Any:
    outer, point, inner = field.partition(".")
    if isinstance(value, list):
        return [without(part, field) for part in value]
    if not isinstance(value, dict):
        return value
    if point:
        return {name: without(part, inner) if name == outer else part for name, part in value.items()}
    return {name: without(part, field) for name, part in value.items() if name != field}


SAID, REFUSED = trace("q"), refusal("q")
STRAY, ASIDE = trace("q", cite=("d9",)), trace("q", cite=("d2",))  # not retrieved, and not what is asked for
NEAR, FAR = ({"id": "S.4.2.p.Bk001", "offsets": place, "section_id": "4.2"} for place in ([100, 150], [900, 950]))
AWAY = {"id": "b2", "offsets": [100, 150], "section_id": "9.1"}
LATE, FAST = {"e2e_ms": 900, "load_rps": 5}, {"e2e_ms": 100, "load_rps": 5}


def staged(stage: str) -> Loss:
    slow, fast = ({**SAID, **FAST, "stage_ms": {stage: took}} for took in (900, 20))
    return Loss(f"{stage}_p95<=100", fast, slow, f"stage_ms.{stage}")


def log(place: Row, distance: float = 0.1) -> Row:
    return {"topk": [place], "delta_s": [distance], "answer_citations": [place]}


def flagged(name: str) -> Loss:
    pair = {"scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}
    flags = {"provenance_violation": False, "constraints_mismatch": False}
    raised = pair | {"flags": flags | {name: True}}
    return Loss("flagged_agreements<=0", pair | {"flags": flags}, raised, f"flags.{name}", "pairs")


def noted(source: str) -> Row:
    return {"content": f"Set the port to 8080 [{source}].", "evidence": [NOTES[0]]}


def result(**more: Any) -> Row:
    scores = dict.fromkeys(("actionability", "factual_grounding", "contradiction_handling", "usefulness"), 1)
    fine = {"passed": True, "overall_score": 1, "hard_failures": [], "answer": "Yes.", "dimension_scores": scores}
    return fine | more


def scored(name: str) -> Loss:
    low = result(dimension_scores=result()["dimension_scores"] | {name: 0})
    return Loss(f"{name}>=0.9", result(), low, f"dimension_scores.{name}", "report")


NOTES = [{"id": name, "source": "plan", "text": "The port is 8080."} for name in ("n1", "n9")]
CLAIM, CITES = "answer_json.claim", "answer_json.citations"
LOSSES: dict[tuple[str, str], Loss] = {
    ("answers", CLAIM): Loss("over_refusal<=0.1", SAID, REFUSED, CLAIM),
    ("answers", CITES): Loss("out_of_scope_citations<=0", SAID, STRAY, CITES),
    ("stability", CLAIM): Loss("mean_rcr>=1", SAID, REFUSED, CLAIM, "runs"),
    ("stability", CITES): Loss("lambda_split<=0", SAID, ASIDE, CITES, "runs"),
    ("latency", CLAIM): Loss("over_refusal<=0.1", SAID | FAST, REFUSED | FAST, CLAIM),
    ("latency", CITES): Loss("out_of_scope_citations<=0", SAID | FAST, STRAY | FAST, CITES),
    ("latency", "e2e_ms"): Loss("p95<=500", SAID | FAST, SAID | LATE, "e2e_ms"),
    ("latency", "load_rps"): Loss("p95[load=5]<=500", SAID | FAST, SAID | LATE, "load_rps"),
    ("latency", "cost_usd"): Loss(
        "cost_per_correct<=0.02",
        SAID | FAST | {"cost_usd": 0.01},
        SAID | FAST | {"cost_usd": 9},
        "cost_usd",
        twice="a sum without some of its costs has no value",
    ),
    **{("latency", f"stage_ms.{stage}"): staged(stage) for stage in ("retrieval", "rerank", "llm", "guard")},
    ("retrieval", "answer_citations"): Loss("coverage>=0.9", log(NEAR), log(AWAY), "answer_citations", "shadow"),
    ("retrieval", "delta_s"): Loss("delta_s_p90<=0.5", log(NEAR), log(NEAR, 0.9), "delta_s", "shadow"),
    ("retrieval", "offsets"): Loss("citation_accuracy>=0.9", log(NEAR), log(FAR), "offsets", "shadow"),
    ("retrieval", "section_id"): Loss("anchor_proximity<=0", log(NEAR), log(AWAY), "section_id", "shadow"),
    ("agreement", CLAIM): Loss("percent_agreement>=0.9", SAID, ASIDE, CLAIM),
    ("agreement", CITES): Loss("percent_agreement>=0.9", SAID, ASIDE, CITES),
    ("agreement", "retrieved_ids"): Loss("percent_agreement>=0.9", SAID, ASIDE, "retrieved_ids"),
    ("agreement", "flags.provenance_violation"): flagged("provenance_violation"),
    ("agreement", "flags.constraints_mismatch"): flagged("constraints_mismatch"),
    ("reasoning", "answers.evidence"): Loss("pass_rate>=0.9", noted("n1"), noted("n9"), "evidence", "answers"),
    ("guard", "overall_score"): Loss(
        "average_overall>=0.9", result(), result(overall_score=0), "overall_score", "report"
    ),
    ("guard", "hard_failures"): Loss(
        "hard_failure_rate<=0", result(), result(hard_failures=["empty"]), "hard_failures", "report"
    ),
    **{("guard", f"dimension_scores.{name}"): scored(name) for name in result()["dimension_scores"]},
}


def decided(suite: str, loss: Loss, lost: bool = False) -> tuple[str, str]:
    """The verdict on a few bad runs among good ones, which have the field or have lost it, and the first reason."""
    bad = without(loss.bad, loss.field) if lost else loss.bad
    names = [f"q{number:02}" for number in range(QUESTIONS)]
    rows = [{**(bad if place >= QUESTIONS - BAD else loss.good), "qid": name} for place, name in enumerate(names)]
    places = [{"id": NEAR["id"], "offsets": [100, 200]}] if suite == "retrieval" else ["d1"]
    inputs: Row = {loss.source: rows, "gold": [gold(name, relevant=places, anchor_section="4.2") for name in names]}
    if suite == "stability":  # only the last of three runs is bad
        inputs["runs"] = [{**row, "seed": 2, "jitter": "none"} for row in rows]
        inputs["runs"] += [{**loss.good, "qid": name, "seed": n, "jitter": "none"} for name in names for n in (0, 1)]
    elif loss.source == "pairs":
        del inputs["gold"]
    elif suite == "reasoning":
        case = {"prompt": "Which port?", "bindings": [{"value": "8080"}], "evidence": NOTES}
        answers = {row["qid"]: {key: value for key, value in row.items() if key != "qid"} for row in rows}
        inputs = {"fixture": {"cases": [{"id": name, **case} for name in names]}, "answers": answers}
    elif suite == "guard":
        told = [row["overall_score"] for row in rows if "overall_score" in row]
        summary = {"total_cases": len(rows), "passed_cases": len(rows), "error_cases": 0, "failed_cases": 0}
        summary |= {"pass_rate": 1, "average_overall_score": sum(told) / len(told)}
        inputs = {"report": {"summary": summary, "results": [{"id": row.pop("qid"), **row} for row in rows]}}
    found = evaluate(suite, **inputs, only_gates=True, gates=loss.gate, **loss.options)
    return found.verdict, found.reasons[0]


@pytest.mark.parametrize(("suite", "value"), sorted(LOSSES))
def test_bad_runs_that_lost_a_value_do_not_ship(suite: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = LOSSES[suite, value]
    assert decided(suite, loss)[0] == "NO-SHIP"
    verdict, reason = decided(suite, loss, lost=True)
    assert verdict == "NO VERDICT" and f"{value} is missing for {BAD} of {QUESTIONS} " in reason
    lacking = Tally.lacking

    def overlooked(tally: Tally, values: Iterable[str]) -> dict[str, int]:
        return lacking(tally, [one for one in values if one != value])

    monkeypatch.setattr(Tally, "lacking", overlooked)  # the loss is worth something, so that the test can fail
    assert decided(suite, loss, lost=True)[0] == ("NO VERDICT" if loss.twice else "SHIP")


def test_every_value_that_a_suite_declares_stands_here() -> None:
    declared = set()
    for name in SUITES:
        suite = load_suite(name)
        for metric in suite.metrics(make_options(suite.options, {})).values():
            declared |= {(name, value) for value in metric.needs}
        declared |= {(name, value) for value in suite.slice_values.values()}
    assert declared == set(LOSSES)
