"""A command line that is nearly right: the message names the exact command, and that command works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, trace, write_lines


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with small inputs in it."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B")])
    write_lines(tmp_path / "trace.jsonl", [trace(qid, e2e_ms=9) for qid in "AB"])
    judged = {"label": "VALID", "reason": "fine"}
    pairs = [{"qid": qid, "scholar": judged, "auditor": judged} for qid in "AB"]
    write_lines(
        tmp_path / "pairs.jsonl", [pair | {"answer_json": {"claim": "x", "citations": ["d1"]}} for pair in pairs]
    )
    write_lines(tmp_path / "ratings.jsonl", [{"qid": "A", "rater": who, "label": "good"} for who in ("ana", "bo")])
    (tmp_path / "lock").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("latency --gold gold.jsonl --trace trace.jsonl", "latency score --gold gold.jsonl --trace trace.jsonl"),
        ("latency --gold gold.jsonl score --trace trace.jsonl", "latency score --gold gold.jsonl --trace trace.jsonl"),
        (
            "latency --gold gold.jsonl --target replay:trace.jsonl --rps 200 --warmup 0",
            "latency run --gold gold.jsonl --target replay:trace.jsonl --rps 200 --warmup 0",
        ),
        (
            "agreement --pairs pairs.jsonl --pa_gate 0.9 --kappa_gate 0.75 --abstain_gate 0.02",
            "agreement score --pairs pairs.jsonl --pa_gate 0.9 --kappa_gate 0.75 --abstain_gate 0.02",
        ),
        ("agreement --ratings ratings.jsonl", "agreement raters --ratings ratings.jsonl"),
        ("reason --binary my-reasoner --dry-run", "reason run --binary my-reasoner --dry-run"),
        ("gold lint --gold gold.jsonl", "gold lint gold.jsonl"),
        ("gold lint --strict --gold=gold.jsonl --json", "gold lint --strict gold.jsonl --json"),
        (
            "gold freeze --gold gold.jsonl --release 1 --signed-off-by 'A B'",
            "gold freeze gold.jsonl --release 1 --signed-off-by 'A B'",
        ),
        ("--gold gold.jsonl --trace trace.jsonl", "score --gold gold.jsonl --trace trace.jsonl"),
    ],
)
def test_the_command_that_was_meant_is_named_and_works(cli: Cli, files: Path, typed: str, meant: str) -> None:
    ran = cli(*shlex.split(typed))
    assert ran.code == 2 and ran.err.rstrip().endswith(f"Did you mean: shipworthy {meant}")
    named = cli(*shlex.split(ran.err.rpartition("shipworthy ")[2]))
    assert named.code != 2 and "No such option" not in named.err, named.err


@pytest.mark.parametrize(
    "typed",
    ["gold lint gold.jsonl --frob", "gold lint gold.jsonl --frob x", "gold lint --frob", "gold --frob gold.jsonl"],
)
def test_where_nothing_is_nearly_right_nothing_is_suggested(cli: Cli, files: Path, typed: str) -> None:
    ran = cli(*shlex.split(typed))
    assert ran.code == 2 and ran.err.rstrip().endswith("Error: No such option '--frob'.")


def test_the_hint_is_in_the_json_of_the_error_too(cli: Cli, files: Path) -> None:
    body = json.loads(cli("latency", "--gold", "gold.jsonl", "--json").out)
    assert body["error"]["hint"] == "Did you mean: shipworthy latency score --gold gold.jsonl --json"


def test_a_group_without_a_command_shows_its_commands(cli: Cli) -> None:
    ran = cli("latency")
    assert ran.code == 2 and not ran.err and "Error" not in ran.out
    assert "\n  score  Score latency" in ran.out


def test_the_program_alone_prints_its_help_as_help_does(cli: Cli) -> None:
    ran, asked = cli(), cli("--help")
    assert ran.code == 2 and not ran.err and ran.out == asked.out


def scored(cli: Cli, *words: object) -> Any:
    return cli("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", *words)


def test_a_gate_at_another_depth_names_the_flag_that_measures_it(cli: Cli, files: Path) -> None:
    for asked, depths in (("recall@3", "3,5"), ("recall_any@10", "5,10"), ("chr@1", "1,5")):
        ran = scored(cli, "--gates", f"{asked}=0.5")
        assert ran.code == 2 and f"--k {depths} " in ran.err and "Did you mean" not in ran.err
        assert scored(cli, "--gates", f"{asked}=0.5", "--k", depths).code == 0
    assert "--k 1,3,5 " in scored(cli, "--gates", "recall@3=0.5", "--k", "5,1").err
    for asked in ("recall@0", "recall@x", "recal@5"):
        assert "Did you mean recall@" in scored(cli, "--gates", f"{asked}=0.5").err


def test_retrieval_names_the_flag_that_is_in_force(cli: Cli, files: Path) -> None:
    log = ("retrieval", "score", "--gold", "gold.jsonl", "--run", "trace.jsonl")
    assert "--k 1,3,5,7,10 " in cli(*log, "--gates", "recall@7=0.5").err
    assert cli(*log, "--gates", "recall@7=0.5", "--k", "1,3,5,7,10").code == 0
    assert "Name it in --metrics too." in cli(*log, "--metrics", "R@5", "--gates", "recall@7=0.5").err
    assert cli(*log, "--metrics", "R@5,R@7", "--gates", "recall@7=0.5").code == 0
    (files / "qrels.txt").write_text("A 0 d1 1\nB 0 d1 1\n", "utf-8")
    (files / "run.txt").write_text("A Q0 d1 1 0.9 x\nB Q0 d1 1 0.9 x\n", "utf-8")
    trec = ("retrieval", "score", "--qrels", "qrels.txt", "--run", "run.txt", "--gates", "R@7=0.5")
    assert "--k 1,3,5,7,10 " in cli(*trec).err and cli(*trec, "--k", "1,3,5,7,10").code == 0
