"""With --json an error is an object too, and `pass` is true exactly where the exit code is 0."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from conftest import Cli, Ran, gold, refusal, trace, unanswerable, write_lines
from shipworthy.cli import group
from shipworthy.codes import CODES


def commands(command: click.Command = group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of the program with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from commands(inner, *path, name)


IN_JSON = [path for path, command in commands() if any("--json" in one.opts for one in command.params)]


def the_error(ran: Ran, exit_code: int, **stated: str) -> dict[str, Any]:
    """The error that was printed: an object of the agreed shape, beside the sentence for people."""
    found = ran.json
    assert found.keys() == {"decision", "pass", "exit_code", "error"}
    assert (found["decision"], found["pass"], found["exit_code"], ran.code) == (
        "NO VERDICT",
        False,
        exit_code,
        exit_code,
    )
    assert list(found["error"]) == ["code", "where", "what", "hint"]
    assert found["error"]["code"] in CODES and found["error"]["what"]
    assert found["error"] | stated == found["error"]
    assert found["error"]["what"].rstrip(".") in ran.err
    return found


def test_the_verbs_that_print_json_are_found() -> None:
    assert {("score",), ("check",), ("compare",), ("verify",), ("reason", "guard"), ("stability", "score")} <= {
        *IN_JSON
    }


@pytest.mark.parametrize("path", IN_JSON, ids=" ".join)
def test_a_wrong_flag_is_an_object_from_every_verb(cli: Cli, path: tuple[str, ...]) -> None:
    ran = cli(*path, "--json", "--no-such-flag")
    told = the_error(ran, 2, code="usage")["error"]
    assert (
        "No such option '--no-such-flag'." in told["what"]
        and told["where"].endswith(" ".join(path))
        and "--help" in told["hint"]
    )


@pytest.mark.parametrize("path", IN_JSON, ids=" ".join)
def test_a_file_that_is_not_there_passes_from_no_verb(
    cli: Cli, path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else the verb misses: where it fails, it prints an object whose `pass` is not true."""
    monkeypatch.chdir(tmp_path)
    command = dict(commands())[path]
    needed = [one for one in command.params if one.required]
    flags = [word for one in needed if isinstance(one, click.Option) for word in (one.opts[0], "nowhere.jsonl")]
    ran = cli(*path, *flags, *("nowhere.json" for one in needed if isinstance(one, click.Argument)), "--json")
    if ran.code:
        the_error(ran, ran.code)


def test_the_recipe_of_the_documents_stops_on_every_kind_of_error(cli: Cli, tmp_path: Path) -> None:
    golds, traces = tmp_path / "gold.jsonl", tmp_path / "trace.jsonl"
    write_lines(golds, [gold("A"), gold("B"), unanswerable("U")])
    write_lines(traces, [trace("A"), trace("B"), refusal("U")])
    call = ("score", "--gold", golds, "--json", "--trace")
    assert cli(*call, traces).json["pass"] is True
    the_error(cli(*call, tmp_path / "absent.jsonl"), 2, code="no-file", where=str(tmp_path / "absent.jsonl"))
    traces.write_text("{]\n")
    the_error(cli(*call, traces), 3, code="json", where=f"{traces}:1")
    traces.write_text("")
    assert cli(*call, traces).json["pass"] is False
    the_error(cli("history", "list", "--history", "postgresql://127.0.0.1:1/none", "--json"), 4)
    the_error(cli("check", "--config", tmp_path / "none.toml", "--json"), 2)


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
@pytest.mark.parametrize(
    ("traces", "code"), [("good.jsonl", 0), ("absent.jsonl", 1), ("bad.jsonl", 1), ("good.jsonl --no-such-flag", 1)]
)
def test_the_recipe_in_a_shell(tmp_path: Path, traces: str, code: int) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold("A"), unanswerable("U")])
    write_lines(tmp_path / "good.jsonl", [trace("A"), refusal("U")])
    (tmp_path / "bad.jsonl").write_text("{]\n")
    script = f"{sys.executable} -m shipworthy score --gold gold.jsonl --trace {traces} --json | tee r.json"
    recipe = f"{script}; jq -e '.pass == true' r.json"
    done = subprocess.run(["bash", "-c", recipe], check=False, cwd=tmp_path, capture_output=True)
    assert done.returncode == code, done


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        (["--json"], True),
        (["--format", "json"], True),
        (["--format=json"], True),
        (["--json", "--format", "text"], False),
        (["--format", "text", "--json"], True),
        (["--format", "markdown"], False),
        ([], False),
        (["--", "--json"], False),
    ],
)
def test_only_those_who_asked_for_json_get_it(cli: Cli, tmp_path: Path, flags: list[str], printed: bool) -> None:
    ran = cli("score", "--gold", tmp_path / "none", "--trace", tmp_path / "none", *flags)
    assert ran.code == 2 and bool(ran.out) is printed and ran.err


def test_text_of_the_data_gives_no_orders_from_an_error(cli: Cli, tmp_path: Path) -> None:
    golds = tmp_path / "gold.jsonl"
    golds.write_text('{"qid": "##vso[task.complete]", "answerable": "\\u202eno"}\n')
    ran = cli("score", "--gold", golds, "--trace", golds, "--json")
    the_error(ran, 3)
    assert "##vso" not in ran.out and "\u202e" not in ran.out


def test_an_interrupted_command_says_so_in_json(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gold.jsonl")
    write_lines(tmp_path / "trace.jsonl", [trace("A")])
    process = subprocess.Popen(
        [sys.executable, "-m", "shipworthy", "score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (tmp_path / "gold.jsonl").open("wb"):  # which waits until it is opened for reading
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    the_error(Ran(process.returncode, out, err), 130, code="interrupted")


def test_measurements_without_a_gate_pass_as_their_exit_code_says(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "ratings.jsonl"
    write_lines(log, [{"item": f"i{n}", "rater": rater, "label": "x"} for n in range(4) for rater in "ab"])
    ran = cli("agreement", "raters", "--ratings", log, "--json")
    assert (ran.json["decision"], ran.json["exit_code"], ran.code, ran.json["pass"]) == ("MEASURED", 0, 0, True)


def test_a_board_of_a_suite_that_fails_does_not_pass(cli: Cli, tmp_path: Path) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold("A"), unanswerable("U")])
    config = tmp_path / "shipworthy.toml"
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    ran = cli("check", "--config", config, "--no-record", "--json")
    assert (ran.json["pass"], ran.json["exit_code"], ran.code) == (False, 2, 2)
    assert json.loads(ran.out)["failures"]


REQUIRED = [
    (path, param.opts[-1])
    for path, command in commands()
    for param in command.params
    if isinstance(param, click.Option) and param.required
]


@pytest.mark.parametrize(("path", "flag"), REQUIRED, ids=lambda value: " ".join(value) if value is not str else value)
def test_a_flag_that_is_needed_can_not_be_left_out(path: tuple[str, ...], flag: str, cli: Cli) -> None:
    """Every command with one, without any: it says which, and nothing is begun."""
    ran = cli(*path)
    assert ran.code == 2 and "Missing" in ran.err and "[internal]" not in ran.err, ran.err
    assert ("gold build", "--out") in {(" ".join(path), name) for path, name in REQUIRED}
