"""Stability: bad input, files, and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from stability_helpers import grid, score

from conftest import gold, trace, unanswerable, write_lines
from shipworthy.errors import DataError
from shipworthy.reading.jsonl import BadLines


def test_ill_typed_runs_are_refused_with_their_line(tmp_path: Any) -> None:
    rows = [*grid("a"), {"qid": "a", "seed": "two", "answer_json": {"claim": "x"}}, {"qid": "a", "answer_json": []}]
    path = write_lines(tmp_path / "runs.jsonl", rows)
    with pytest.raises(BadLines) as error:
        score([gold("a")], str(path))
    assert "runs.jsonl:10" in str(error.value) and "runs.jsonl:11" in str(error.value)
    lenient = score([gold("a")], str(path), lenient=True)
    assert lenient.partial and lenient.verdict == "SHIP"


def test_gold_must_say_whether_it_is_answerable() -> None:
    with pytest.raises(DataError, match="gold-answerable"):
        score([{"qid": "a", "question": "?"}], grid("a"))


@pytest.fixture
def files(tmp_path: Any) -> tuple[str, str]:
    items = write_lines(tmp_path / "gold.jsonl", [gold("a"), unanswerable("u")])
    runs = write_lines(tmp_path / "runs.jsonl", grid("a") + grid("u", "not in context"))
    return str(items), str(runs)


def test_the_command_scores_and_mode_is_another_spelling(cli: Any, files: tuple[str, str]) -> None:
    items, runs = files
    ran = cli("stability", "score", "--gold", items, "--stability", runs, "--json")
    assert ran.code == 0 and {"totals", "gates", "pass", "details"} <= ran.json.keys()
    other = cli("stability", "--mode", "score", "--gold", items, "--stability", runs, "--json")
    assert other.json["digest"] == ran.json["digest"]
    spelled = cli(
        "stability",
        "--gold",
        items,
        "--mode=score",
        "--stability",
        runs,
        "--gates",
        "acr=0.95,cghc=0.95,css=0.70,ned50=0.20,rcr=0.98",
    )
    assert spelled.code == 0 and spelled.out.startswith("SHIP")


@pytest.mark.parametrize(
    "wrong",
    [["--jitters", "none,punkt"], ["--seeds", "one"], ["--gates", "acr=2"], ["--max-fail-rate", "x"], ["--mode", "x"]],
)
def test_wrong_arguments_are_usage_errors(cli: Any, files: tuple[str, str], wrong: list[str]) -> None:
    mode = wrong if wrong[0] == "--mode" else ["score", *wrong]
    ran = cli("stability", *mode, "--gold", files[0], "--stability", files[1])
    assert ran.code == 2 and not ran.out


def test_the_table_has_a_row_a_question(cli: Any, files: tuple[str, str], tmp_path: Any) -> None:
    out = tmp_path / "rows.tsv"
    cli("stability", "score", "--gold", files[0], "--stability", files[1], "-o", out)
    rows = [line.split("\t") for line in out.read_text("utf-8").splitlines()]
    assert rows[0][:2] == ["qid", "state"] and [row[:2] for row in rows[1:]] == [["a", "pass"], ["u", "pass"]]


def test_run_asks_the_whole_grid_and_scores_it(cli: Any, tmp_path: Any) -> None:
    items = write_lines(
        tmp_path / "gold.jsonl", [gold("a", substr=["founded in 2014"], question="When was it founded?")]
    )
    replay = write_lines(tmp_path / "replay.jsonl", [trace("a", "It was founded in 2014.", e2e_ms=5)])
    ran = cli(
        "stability",
        "run",
        "--gold",
        items,
        "--target",
        f"replay:{replay}",
        "--seeds",
        "0,1",
        "--jitters",
        "none,punct",
        "--out",
        tmp_path / "new" / "runs.jsonl",
        "--json",
    )
    assert ran.code == 0, ran.err
    assert ran.json["details"]["a"]["runs"] == 4
    again = cli("stability", "score", "--gold", items, "--stability", tmp_path / "new" / "runs.jsonl", "--json")
    assert again.json["details"] == ran.json["details"]
    assert cli("stability", "run", "--gold", items).code == 2


def test_reading_the_suite_does_not_import_the_edit_distance() -> None:
    loads = "import sys, shipworthy.suites.stability.suite"
    code = f"{loads}; sys.exit(not {{'rapidfuzz', 'aiohttp'}}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_four_published_runs_of_one_configuration(real_data: Any) -> None:
    folder = real_data("azure_rag/northwind50")
    rows = []
    for number, path in enumerate(sorted(folder.glob("runs/*/trace.jsonl"))):
        rows += [
            {**json.loads(line), "seed": number, "jitter": "none"} for line in path.read_text("utf-8").splitlines()
        ]
    decision = score(str(folder / "gold.jsonl"), rows)
    assert decision.verdict == "NO-SHIP"
    identical, worded = decision.measures["identical_citations"], decision.measures["identical_answers"]
    assert (identical.k, identical.n, worded.k) == (15, 50, 0)
    assert float(decision.measures["mean_css"].value or 0) == pytest.approx(0.585, abs=0.001)
    assert float(decision.measures["mean_ned50"].value or 0) == pytest.approx(0.449, abs=0.001)
