"""Matching: one spelling, number edges, whole words, negation, and the other ways to expect a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import evaluate
from shipworthy.errors import DataError


def judged(claim: str, substr: list[str], options: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return evaluate([gold("A", substr, **fields)], [trace("A", claim)], **options or {}).items[0]


def card(claim: str, substr: list[str], **fields: Any) -> dict[str, Any]:
    return evaluate([gold("A", substr, **fields)], [trace("A", claim)]).offenders[0]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The fee is $1,200.00 a year.", "$1200"),
        ("Logs are kept for thirty days.", "30 days"),
        ("There is a 30-day limit.", "30 days"),
        ("It opened on March 18th, 2025.", "2025-03-18"),
        ("It opened on 18 March 2025.", "March 2025"),
        ("Use **two gigabytes** of memory.", "2 GB"),
        ("It’s the “blue” one", 'the "blue" one'),
        ("The price is $49.", "$49"),
        ("It began in 1998, I think.", "1998"),
        ("See [the handbook](https://example.com).", "the handbook"),
        ("It must not exceed 30 days.", "30 days"),
        ("Returns are not accepted after 30 days.", "30 days"),
        ("It is not refundable.", "not refundable"),
    ],
)
def test_an_asserted_text_is_found(claim: str, text: str) -> None:
    assert judged(claim, [text])["contained"]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It takes 130 days.", "30 days"),
        ("It takes 1,030 days.", "30 days"),
        ("It measures 11.5 cm.", "1.5 cm"),
        ("It costs $1.50.", "$1"),
        ("This is a category.", "cat"),
        ("In 19981 it began.", "1998"),
        ("The version is 3.10.", "version is 3.1"),
    ],
)
def test_a_part_of_a_number_or_a_short_word_is_not(claim: str, text: str) -> None:
    found = card(claim, [text])
    assert found["reason"] == "containment"
    assert "inside a longer number or word" in found["says"]
    assert "none of" not in found["says"]


def test_a_denied_text_is_a_reason_of_its_own() -> None:
    claim = "It is not 30 days; it is 60 days."
    decision = evaluate([gold("A", ["30 days"])], [trace("A", claim)])
    assert decision.items[0]["reason"] == "denied"
    assert decision.items[0]["contained"] is False
    assert decision.measures["denied_claims"].value == 1
    assert decision.offenders[0]["says"] == "contains the expected text but denies it"
    assert decision.offenders[0]["gold_found"] == {"30 days": "denied"}
    assert judged(claim, ["60 days"])["contained"]


@pytest.mark.parametrize(("choice", "correct", "denied"), [("fail", False, 1), ("flag", True, 1), ("off", True, 0)])
def test_what_a_denial_costs_is_a_setting(choice: str, correct: bool, denied: int) -> None:
    decision = evaluate([gold("A", ["30 days"])], [trace("A", "It is not 30 days.")], on_denied=choice)
    assert decision.items[0]["correct"] is correct
    assert decision.measures["denied_claims"].value == denied


def test_all_names_what_is_lacking() -> None:
    found = card("alpha one", ["alpha one", "beta two"], match="all")
    assert found["says"] == "the answer lacks 'beta two'"


def test_a_regular_expression_is_searched_in_the_claim_as_written() -> None:
    assert judged("Ref AB-1234 applies.", [r"[A-Z]{2}-\d{4}"], match="regex")["contained"]
    assert not judged("ref ab-1234 applies.", [r"[A-Z]{2}-\d{4}"], match="regex")["contained"]
    assert "does not match the expected pattern" in card("nothing", [r"\d+"], match="regex")["says"]


def test_a_regular_expression_that_runs_away_is_stopped() -> None:
    assert not judged("a" * 60 + "!", [r"(a|aa)+$"], match="regex")["contained"]


def test_a_bad_expression_names_its_line(tmp_path: Path, cli: Cli) -> None:
    path = write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B", ["(open"], match="regex")])
    traces = write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B")])
    ran = cli("score", "--gold", str(path), "--trace", str(traces))
    assert ran.code == 3
    assert "gold.jsonl:2" in ran.err
    assert "gold-regex" in ran.err


@pytest.mark.parametrize(
    ("claim", "tolerance", "found"),
    [
        ("About 31 days.", 1, True),
        ("About 31 days.", 0, False),
        ("Some 31.5 days.", "5%", True),
        ("Thirty days.", 0, True),
        ("It takes 30 hours.", 0, False),
        ("It is not 30 days.", 0, False),
        ("Between 10 and 30 days.", 0, True),
    ],
)
def test_a_number_within_its_tolerance(claim: str, tolerance: float | str, found: bool) -> None:
    assert judged(claim, ["30 days"], match="number", tolerance=tolerance)["contained"] is found


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"match": "number"}, "gold-number"),
        ({"tolerance": "five"}, "gold-tolerance"),
    ],
)
def test_what_can_not_be_read_is_an_error(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(DataError) as caught:
        judged("x", ["no digits"], **fields)
    assert caught.value.code == code


def test_a_forbidden_statement_is_wrong_however_right_the_rest() -> None:
    fields = {"forbidden": ["90 days", "are duplicates"]}
    assert judged("It is 30 days.", ["30 days"], **fields)["correct"]
    found = card("It is 30 days, or 90 days on request.", ["30 days"], **fields)
    assert (found["reason"], found["says"]) == ("forbidden", "makes a forbidden statement (90 days)")
    assert judged("It is 30 days; they are not duplicates.", ["30 days"], **fields)["correct"]


def test_the_opposite_of_the_gold_claim_is_wrong() -> None:
    fields = {"gold_claim": "The service rejects null keys."}
    assert judged("Null keys: the service rejects them.", ["null keys"], **fields)["correct"]
    found = card("The service accepts null keys.", ["null keys"], **fields)
    assert (found["reason"], found["says"]) == (
        "contradicts-gold",
        "says the opposite of the correct answer (rejects ↔ accepts)",
    )


def test_the_reference_keeps_its_own_rule() -> None:
    golds, traces = [gold("A", ["30 days"])], [trace("A", "It takes 130 days.")]
    decision = evaluate(golds, traces)
    assert decision.measures["precision"].value == 0
    compat = decision.report()["compat"]
    assert "precision" in compat["differs"]
    assert compat["reference"]["precision"] == 1
    assert evaluate(golds, traces, profile="reference").report()["precision"] == 1


def test_score_warns_of_gold_that_no_claim_can_match() -> None:
    item = {key: value for key, value in gold("A").items() if key != "gold_claim_substr"}
    decision = evaluate([item, unanswerable("U")], [trace("A"), refusal("U")])
    assert "no answer can be correct without gold_claim_substr (1 item: A)" in " ".join(decision.warnings)
    assert "names no expected text" in decision.offenders[0]["says"]


def test_the_plain_path_needs_no_stemmer(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = write_lines(tmp_path / "gold.jsonl", [gold(f"Q{n}") for n in range(30)])
    traces = write_lines(tmp_path / "trace.jsonl", [trace(f"Q{n}") for n in range(30)])
    code = f"""
import sys
from shipworthy import evaluate
evaluate({str(path)!r}, {str(traces)!r}).report()
sys.exit(bool({{"snowballstemmer", "regex"}} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
