"""Small things that people run into: a file that is not there, a fault that does not exist, three-column qrels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli, write_lines


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.json", "a.json: no such file."),
        ("runs/a", "runs/a: no such file."),
        ("a", "a: is neither a file nor a recorded run"),
    ],
)
def test_compare_says_that_a_file_is_missing(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.json").write_text("not looked at before the other is known to be there")
    ran = cli("compare", *(("there.json", name) if name != "a" else (name, "there.json")))
    assert ran.code == 2 and said in ran.err and "[no-file]" in ran.err


def test_an_unknown_fault_lists_them_all_before_anything_is_asked(tmp_path: Path, cli: Cli) -> None:
    ran = cli("demo", "--fault", "foo", "--out", tmp_path / "demo")
    assert ran.code == 2 and "slow_tail, degraded_index" in ran.err
    assert not (tmp_path / "demo").exists()


def test_qrels_of_three_columns_are_read(tmp_path: Path, cli: Cli) -> None:
    run = tmp_path / "run.txt"
    run.write_text("1 Q0 d1 1 0.9 t\n2 Q0 d3 1 0.8 t\n")
    four, three = tmp_path / "four.txt", tmp_path / "three.tsv"
    four.write_text("1 0 d1 1\n2 0 d2 0\n2 0 d3 2\n")
    three.write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t0\n2\td3\t2\n")
    reports = [cli("retrieval", "score", "--qrels", path, "--run", run, "--json").json for path in (four, three)]
    assert reports[0]["metrics"] == reports[1]["metrics"]
    three.write_text("1\td1\n")
    ran = cli("retrieval", "score", "--qrels", three, "--run", run)
    assert ran.code == 3 and "[qrels-line]" in ran.err


def test_temperatures_are_sent_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "echo.py").write_text(
        "import json, sys\n"
        "asked = json.load(sys.stdin)\n"
        'print(json.dumps({"answer_json": {"claim": f"at {asked.get(\'temperature\')}", "citations": []}}))\n'
    )
    gold = write_lines(
        tmp_path / "gold.jsonl", [{"qid": "A", "question": "x?", "answerable": True, "gold_claim_substr": ["at 0"]}]
    )
    given = ("--target", f"cmd:{sys.executable} echo.py", "--seeds", "0", "--jitters", "none", "--out", "runs.jsonl")
    cli("stability", "run", "--gold", gold, *given, "--temperatures", "0,0.2")
    runs = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert sorted((row["temperature"], row["answer_json"]["claim"]) for row in runs) == [
        (0.0, "at 0.0"),
        (0.2, "at 0.2"),
    ]
    assert cli("stability", "run", "--gold", gold, *given, "--temperatures", "warm").code == 2


def test_a_reasoner_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text('def answer(prompt, **settings):\n    return {"content": "x"}\n')
    code = (
        "from shipworthy.cli import main; import sys; "
        "sys.exit(main(['reason', 'run', '--python', 'beside:answer', '--max-cases', '1']))"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1, 3), ran.stderr
    assert "answered" in ran.stderr
