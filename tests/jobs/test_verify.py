"""Receipts: a report follows from its inputs, or says where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable
from conftest import write_lines as write
from shipworthy import check, evaluate, verify
from shipworthy.core.decision import digest, encode, report
from shipworthy.jobs.check import failing_qids
from shipworthy.reading.reports import load_report

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
    assert not receipt.agrees and "--input trace=FILE" in receipt.differences[0]
    assert verify(path, trace=str(moved))[0].agrees


def test_a_table_of_ids_that_moved_can_be_named_too(files: dict[str, str], tmp_path: Path) -> None:
    table = tmp_path / "ids.tsv"
    table.write_text("d2\td1\n")
    path = saved(tmp_path, report(evaluate(files["gold"], files["trace"], id_map=str(table))))
    assert verify(path)[0].agrees
    moved = table.rename(tmp_path / "moved.tsv")
    (receipt,) = verify(path)
    assert not receipt.agrees and "id-map-unreadable" in receipt.differences[0]
    assert verify(path, id_map=str(moved))[0].agrees


def test_an_input_that_is_named_for_a_board_goes_to_the_suites_that_read_it(
    files: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
        '[suites.stability]\ngold = "gold.jsonl"\nruns = "trace.jsonl"\n'
    )
    path = saved(tmp_path, check(tmp_path / "shipworthy.toml", record=False).report())
    moved = Path(files["trace"]).rename(tmp_path / "moved.jsonl")
    receipts = verify(path, trace=str(moved))
    assert {receipt.suite: receipt.agrees for receipt in receipts} == {"answers": True, "stability": False}
    assert all(receipt.agrees for receipt in verify(path, trace=str(moved), runs=str(moved)))


def test_a_report_made_from_records_says_that_its_inputs_are_not_known(tmp_path: Path) -> None:
    made = report(evaluate(ITEMS, [trace("A1"), trace("A2"), refusal("U1")]))
    (receipt,) = verify(saved(tmp_path, made))
    assert not receipt.agrees and "the gold of the report was not read from a file" in receipt.differences[0]


def test_a_report_that_does_not_say_how_it_was_made(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    del made["run"]["call"]
    (receipt,) = verify(saved(tmp_path, made))
    assert not receipt.agrees and "receipt-call" in receipt.differences[0]


def test_what_a_report_would_open_or_run_is_refused_unless_it_is_trusted(tmp_path: Path, cli: Cli) -> None:
    """A report is data: verifying somebody else's must not reach a server or write a file that it names."""
    items = [{"qid": "R1", "question": "q?", "relevant": ["b1"]}]
    log = [{"qid": "R1", "q": "q?", "topk": [{"id": "b1", "score": 0.9}]}]
    inputs = {"gold": write(tmp_path / "gold.jsonl", items), "shadow": write(tmp_path / "shadow.jsonl", log)}
    made = report(evaluate("retrieval", **inputs))
    made["run"]["call"]["options"]["embed_cache"] = str(tmp_path / "cache.db")
    path = saved(tmp_path, made)
    (receipt,) = verify(path)
    assert not receipt.agrees and "receipt-trust" in receipt.differences[0]
    assert not (tmp_path / "cache.db").exists()
    assert verify(path, trust=True)[0].agrees
    assert [cli("verify", path).code, cli("verify", path, "--trust").code] == [1, 0]


def test_twenty_metrics_are_named_and_no_more(files: dict[str, str], tmp_path: Path) -> None:
    depths = tuple(range(1, 31))
    path = saved(tmp_path, report(evaluate(files["gold"], files["trace"], k=depths)))
    write(Path(files["trace"]), [trace("A1", found=("d9",)), trace("A2", found=("d9",)), refusal("U1")])
    (receipt,) = verify(path)
    changed, *metrics = receipt.differences
    assert changed.startswith("trace is another file")
    assert len(metrics) == 20 and all(" was " in line and ", it is " in line for line in metrics)


def test_metrics_that_differ_are_named_and_what_follows_from_them_is_not(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    forged = made | {"metrics": made["metrics"] | {"precision": made["metrics"]["chr"] | {"value": 0.9}}}
    forged |= {"decision": "SHIP", "reasons": []}
    forged["digest"] = digest(forged)
    (receipt,) = verify(saved(tmp_path, forged))
    assert receipt.differences == ["precision was 0.9 (1/2), it is 0.5 (1/2)"]


def test_other_parts_are_named_where_no_metric_differs(files: dict[str, str], tmp_path: Path) -> None:
    forged = report(evaluate(files["gold"], files["trace"])) | {"reasons": [], "decision": "SHIP"}
    forged["digest"] = digest(forged)
    (receipt,) = verify(saved(tmp_path, forged))
    assert receipt.differences == ["these parts differ: decision, reasons"]


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
    unstable = {"shipworthy": {"suite": "stability"}, "items": [{"qid": "A1", "state": "fail"}]}
    assert failing_qids({"suites": {"answers": made, "stability": unstable}}) == {
        "A1",
        "A2",
    }


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"shipworthy": 1, "digest": ""}', b"[" * 100_000])
def test_what_is_not_a_report(tmp_path: Path, content: bytes, cli: Cli) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    ran = cli("verify", path)
    assert ran.code == 3 and "report-invalid" in ran.err


def test_the_command_line(files: dict[str, str], tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "report.json"
    cli("score", "--gold", files["gold"], "--trace", files["trace"], "-o", path)
    ran = cli("verify", path)
    assert ran.code == 0 and ran.out == f"AGREES  answers  {load_report(path)['digest']}\n"
    write(Path(files["gold"]), ITEMS[:2])
    ran = cli("verify", path)
    assert ran.code == 1 and "gold is another file" in ran.out
    assert cli("verify", path, "--input", "gold").code == 2


def test_other_unicode_tables_are_named_where_the_result_differs(files: dict[str, str], tmp_path: Path) -> None:
    made = report(evaluate(files["gold"], files["trace"]))
    assert made["run"]["call"]["unicode"]
    made["run"]["call"]["unicode"] = "1.1.5"
    assert verify(saved(tmp_path, made))[0].agrees  # nothing differs, so there is nothing to explain
    write(Path(files["trace"]), [trace("A1"), trace("A2"), refusal("U1")])
    (receipt,) = verify(saved(tmp_path, made))
    assert any(line.startswith("it was made with Unicode 1.1.5; this Python has ") for line in receipt.differences)
