"""Retrieval: the distance (ΔS) of what is cited, its bands and limits, and how many seeds there are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from retrieval_helpers import line, question, score, value

from conftest import write_lines
from shipworthy.core.decision import report
from shipworthy.errors import UsageError


def distances(*each: float, **more: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A question and a log line for each distance, whose first block is cited."""
    names = [f"q{number}" for number in range(len(each))]
    gold = [question(name) for name in names]
    return gold, [line(name, delta_s=[distance, 1.0, 1.0], **more) for name, distance in zip(names, each, strict=True)]


def test_the_share_within_the_limit_and_the_largest_are_shown_and_gated_on_request() -> None:
    gold, log = distances(0.10, 0.45, 0.4501, 0.90)
    shown = score(gold, log)
    assert (value(shown, "delta_s_within"), value(shown, "delta_s_max")) == (Fraction(1, 2), Fraction(9, 10))
    assert not {"delta_s_within", "delta_s_max"} & {outcome.gate.metric for outcome in shown.outcomes}
    assert (report(shown)["delta_s_within"], report(shown)["delta_s_max"]) == (0.5, 0.9)
    wider = score(gold, log, delta_s_limit="0.4501")
    assert value(wider, "delta_s_within") == Fraction(3, 4)
    for gates, verdict in {
        "delta_s_within=0.5": "SHIP",
        "delta_s_within=0.51": "NO-SHIP",
        "delta_s_max=0.9": "SHIP",
        "delta_s_max=0.89": "NO-SHIP",
    }.items():
        assert score(gold, log, gates=gates, only_gates=True).verdict == verdict, gates
    failed = score(gold, log, gates="delta_s_within=0.75", only_gates=True)
    assert failed.reasons[0] == (
        "2 of 4 answered questions were near their cited text; at least 3 must be (delta_s_within 0.500 < 0.75)"
    )


@pytest.mark.parametrize("limit", ["-0.1", "1.01", "near", ""])
def test_a_limit_is_a_distance(limit: str) -> None:
    with pytest.raises(UsageError, match=r"delta-s-limit must be between 0 and 1.*\[retrieval-option\]"):
        score(question(), line(), delta_s_limit=limit)


def test_bands_and_bad_questions_at_exactly_040_and_060() -> None:
    gold, log = distances(0.3999, 0.40, 0.5999, 0.60, 0.6001)
    body = report(score(gold, log))
    assert body["delta_s"]["bands"] == {"stable": 1, "transitional": 2, "risk": 2}
    assert body["bad_qids"] == ["q4"]
    assert [row["qid"] for row in body["items"] if row["reason"] == "far"] == ["q4"]


def test_why_there_is_no_distance_is_told_as_it_is() -> None:
    def told(gold: Any, log: Any) -> set[str]:
        measures = score(gold, log).measures
        names = ("delta_s_median", "delta_s_p90", "delta_s_within", "delta_s_max")
        return {measures[name].missing.split(",")[0] for name in names}

    nothing_cited = {"no answer to an answerable question cites anything"}
    assert told([question("q")], [line("q", cites=(), delta_s=[0.1] * 3)]) == nothing_cited
    both = [question("q"), question("u", relevant=[], answerable=False)]
    leak = [line("q", cites=(), delta_s=[0.1] * 3), line("u", cites=("x",), delta_s=[0.1] * 3)]
    assert told(both, leak) == nothing_cited
    assert told([question("q")], [line("q")]) == {"the log has no delta_s"}
    unsaid = {key: part for key, part in line("q", delta_s=[0.1] * 3).items() if key != "answer_citations"}
    assert told([question("q")], [unsaid]) == {"no line of the log says what its answer cites (answer_citations)"}


def test_one_seed_is_pointed_out_and_is_too_few_on_request() -> None:
    def seeded(*seeds: Any) -> list[dict[str, Any]]:
        return [line(delta_s=[0.1] * 3, paraphrase=number, seed=seed) for number in range(3) for seed in seeds]

    def warned(decision: Any) -> list[str]:
        return [warning for warning in decision.warnings if "[seeds-few]" in warning]

    gold = question(paraphrases=["One?", "Two?"])
    one, two, three = seeded(7), seeded(7, 8), seeded(7, 8, 9)
    assert warned(score(gold, one))[0].startswith("shadow: only one seed")
    assert score(gold, one).verdict == "SHIP" and not warned(score(gold, two))
    assert warned(score(gold, two, one))[0].startswith("live: only one seed")
    unnamed = [line(delta_s=[0.1] * 3, paraphrase=number) for number in range(3)]
    assert warned(score(gold, unnamed))
    few = score(gold, one, min_seeds=2)
    assert few.verdict == "NO VERDICT" and few.reasons[0] == "the log shadow has 1 seed; --min-seeds asks for 2"
    assert score(gold, two, min_seeds=2).verdict == "SHIP" and score(gold, three, min_seeds=2).verdict == "SHIP"
    assert score(gold, two, min_seeds=3).verdict == "NO VERDICT"
    assert score(gold, two, one, min_seeds=2).reasons[0].startswith("the log live has 1 seed")
    assert not warned(score(gold, one, only_gates=True, gates="coverage=0.5"))  # nothing depends on seeds


def test_the_flags_of_distance_and_seeds(cli: Any, tmp_path: Any) -> None:
    gold, log = distances(0.2, 0.5)
    files = ("--gold", write_lines(tmp_path / "g.jsonl", gold), "--shadow", write_lines(tmp_path / "s.jsonl", log))
    ran = cli("retrieval", "score", *files, "--delta-s-limit", "0.2", "--min-seeds", 2, "--json")
    assert ran.code == 3 and ran.json["delta_s_within"] == 0.5 and ran.json["options"]["delta_s_limit"] == "0.20"
    shown = cli("retrieval", "score", *files, "--metrics", "R@5", "--min-seeds", 2)
    assert shown.code == 2 and "has no effect with --metrics" in shown.err
