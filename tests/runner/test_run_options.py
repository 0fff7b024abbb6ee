"""Run options are declared once: the command line, the config, its schema and the library all have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, trace, write_lines
from faultserver import FaultServer
from shipworthy import run
from shipworthy.config import load_config, schema
from shipworthy.core.run_options import RunOptions, run_fields
from shipworthy.errors import UsageError

SUITE = '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'


def test_every_option_is_a_flag_of_run_and_an_argument_of_the_library(cli: Cli) -> None:
    shown = cli("run", "--help").out
    for name, field in run_fields().items():
        assert f" {field.flag} " in shown.replace("\n", " \n"), name
        assert name in RunOptions.__struct_fields__


def test_every_option_of_a_target_is_a_key_of_the_config_and_of_its_schema() -> None:
    table = schema()["properties"]["target"]["properties"]
    for field in run_fields("limits", "request", "target").values():
        assert (field.key in table) == field.opt.config, field.name
    assert {"timeout_sec", "map", "headers", "evidence", "max_response_bytes"} <= table.keys()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": [1]}, "a run has no option 'seed'. Did you mean seeds?"),
        ({"concurrency": "many"}, "--concurrency: can't be 'many'. Write a whole number of at least 1."),
        ({"retries": 1000}, "--retries: can't be '1000'"),
        ({"headers": ["a"]}, "--header: can't be"),
        ({"mapping": {"claim": 1}}, "--map: can't be"),
        ({"profile": "odd"}, "--profile: can't be 'odd'. Write one of strict, reference."),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"max_cost_usd": "cheap"}, "--max-cost-usd: can't be 'cheap'"),
        ({"temperatures": [0.1, "warm"]}, "--temperatures: can't be"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_written(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    questions = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    with pytest.raises(UsageError) as error:
        run(questions, "demo", tmp_path / "out.jsonl", **given)
    assert message in str(error.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_one_value_stands_for_a_list_of_one(tmp_path: Path) -> None:
    questions = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    summary = run(questions, "demo", tmp_path / "out.jsonl", seeds=7, jitters="ws", temperatures=0.2, max_cost_usd="1")
    assert summary.complete
    (record,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert (record["seed"], record["jitter"], record["temperature"]) == (7, "ws", 0.2)


def test_a_config_sets_what_the_flags_set(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chat target needs evidence, which only the command line could give."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    folder = tmp_path / "eval"
    folder.mkdir()
    write_lines(folder / "evidence.jsonl", [{"qid": "q1", "evidence": [{"id": "d1", "text": "The right answer."}]}])
    with FaultServer() as server:
        (folder / "shipworthy.toml").write_text(
            f'[target]\nchat = "{server.url("")}"\nmodel = "small"\nevidence = "evidence.jsonl"\n'
            f"retries = 0\nmax_response_bytes = 5\n{SUITE.replace('gold.jsonl', '../gold.jsonl')}"
        )
        ran = cli("check", "--run", "--config", "eval/shipworthy.toml")
    assert "1 failed" in ran.err and ran.code == 3, ran
    (record,) = [json.loads(line) for line in (folder / "trace.jsonl").read_text("utf-8").splitlines()]
    assert record["error"] == "too-large: the response is larger than 5 bytes"


@pytest.mark.parametrize("key", ["seed = 1", "resume = true", "connections = 3", "timeout = 5", "evidence = 3"])
def test_a_key_that_a_target_does_not_have_is_a_mistake(tmp_path: Path, key: str) -> None:
    path = tmp_path / "shipworthy.toml"
    path.write_text(f'[target]\nurl = "http://127.0.0.1:9/"\n{key}\n{SUITE}')
    with pytest.raises(UsageError, match=r"shipworthy\.toml:3"):
        load_config(path)


def test_stability_can_ask_a_chat_target(tmp_path: Path, cli: Cli) -> None:
    questions = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    evidence = write_lines(tmp_path / "e.jsonl", [trace("q1") | {"evidence": [{"id": "d1", "text": "x"}]}])
    with FaultServer() as server:
        target = ("--target", f"chat:{server.url('')}", "--model", "small", "--evidence", evidence)
        ran = cli("stability", "run", "--gold", questions, *target, "--seeds", "0-1", "--out", tmp_path / "s.jsonl")
    assert "8 of 8 runs" in ran.err, ran
