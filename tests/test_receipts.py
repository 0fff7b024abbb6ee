"""Receipts: a report follows from its inputs, or says where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, refusal, trace, unanswerable
from conftest import write_lines as write
from shipworthy import evaluate
from shipworthy.check import check
from shipworthy.decision import digest, encode, report
from shipworthy.items import failing_qids, load_report
from shipworthy.receipts import verify

ITEMS = [gold("A1"), gold("A2", type="table"), unanswerable("U1")]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    traces = [trace("A1"), trace("A2", cite=("d2",)), refusal("U1")]
    return {"gold": str(write(tmp_path / "gold.jsonl", ITEMS)), "trace": str(write(tmp_path / "trace.jsonl", traces))}


def saved(tmp_path: Path, made: dict[str, Any]) -> Path:
    path = tmp_path / "report.json"
    path.write_bytes(encode(made))
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": (1, 3), "gates": ["precision[type=table] >= 0.5", "recall@3 >= 0.9"]},
        {"only_gates": True, "gates": "chr>=0.1", "require_proof": True},
        {"scu_enforced": True, "min_substr": 3, "by": ["type"], "offenders": 1, "closed": True},
        {"refusal": "natural", "on_duplicate": "worst"},
        {"profile": "reference"},
    ],
)
def test_a_report_agrees_with_its_inputs(files: dict[str, str], tmp_path: Path, options: dict[str, Any]) -> None:
    made = report(evaluate(files["gold"], files["trace"], **options))
    assert [(one.agrees, one.differences) for one in verify(saved(tmp_path, made))] == [(True, [])]


def test_a_lenient_report_agrees(files: dict[str, str], tmp_path: Path) -> None:
    with open(files["trace"], "a") as stream:
        stream.write("{broken\n")
    made = report(evaluate(files["gold"], files["trace"], lenient=True))
    assert verify(saved(tmp_path, made))[0].agrees


def test_a_changed_input_is_named_with_what_it_changed(files: dict[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, report(evaluate(files["gold"], files["trace"])))
    write(Path(files["trace"]), [trace("A1"), trace("A2"), refusal("U1")])
    (receipt,) = verify(path)
    assert not receipt.agrees and receipt.computed != receipt.stated
    assert receipt.differences[0].startswith("trace is another file: sha256")
    assert any(line.startswith("precision was 0.5 (1/2), it is 1.0 (2/2)") for line in receipt.differences)


def test_inputs_that_moved_can_be_named(files: dict[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, report(evaluate(files["gold"], files["trace"])))
    moved = Path(files["trace"]).rename(tmp_path / "moved.jsonl")
    (receipt,) = verify(path)
    assert not receipt.agrees and "--trace FILE" in receipt.differences[0]
    assert verify(path, trace=str(moved))[0].agrees


def test_an_edited_report_is_caught_even_with_a_new_digest(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    made["decision"] = "SHIP"
    (receipt,) = verify(saved(tmp_path, made))
    assert "edited" in receipt.differences[0] and any("decision" in line for line in receipt.differences)
    made["digest"] = digest(made)
    assert not verify(saved(tmp_path, made))[0].agrees


def test_other_definitions_are_named(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    made["shipworthy"]["definitions"] = "0"
    made["digest"] = digest(made)
    assert any("definitions 0" in line for line in verify(saved(tmp_path, made))[0].differences)


def test_a_board_with_waivers_and_severities_agrees(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\nk = [1, 5]\n'
        'gates = [{gate = "chr >= 0.75", severity = "warn"}]\n'
        '[[waivers]]\ngate = "precision"\nowner = "Ada"\nreason = "later"\nexpires = 2099-01-01\n'
    )
    board = check(tmp_path / "shipworthy.toml", record=False)
    assert board.verdict == "SHIP"
    path = saved(tmp_path, board.report())
    assert [one.agrees for one in verify(path)] == [True]
    forged = json.loads(path.read_bytes())
    forged["decision"] = "NO-SHIP"
    assert [one.suite for one in verify(saved(tmp_path, forged)) if not one.agrees] == ["board"]


def test_what_failed_is_to_be_asked_again(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    assert failing_qids(made) == {"A2"} == failing_qids(saved(tmp_path, made))
    assert failing_qids({"suites": {"answers": made, "stability": {"items": [{"qid": "A1", "state": "fail"}]}}}) == {
        "A1",
        "A2",
    }


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"shipworthy": 1, "digest": ""}', b"[" * 100_000])
def test_what_is_not_a_report(tmp_path: Path, content: bytes, cli) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "report.json"
    path.write_bytes(content)
    ran = cli("verify", path)
    assert ran.code == 3 and "report-invalid" in ran.err


def test_the_command_line(files: dict[str, str], tmp_path: Path, cli) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "report.json"
    cli("score", "--gold", files["gold"], "--trace", files["trace"], "-o", path)
    ran = cli("verify", path)
    assert ran.code == 0 and ran.out == f"AGREES  answers  {load_report(path)['digest']}\n"
    write(Path(files["gold"]), ITEMS[:2])
    ran = cli("verify", path)
    assert ran.code == 1 and "gold is another file" in ran.out
    assert cli("verify", path, "--input", "gold").code == 2
