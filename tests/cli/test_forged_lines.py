"""Nothing that a command prints can be forged by what it reads: payload × command × stream, error paths included."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import pytest

from conftest import ROOT, Cli, Ran, gold, refusal, trace, unanswerable, write_lines
from report_helpers import PAYLOADS
from sinks import check_format, check_text

SHARP = [
    "escape", "c1", "control", "command", "set-output", "older-command", "azure", "teamcity", "late-command",
    "carriage", "line", "stop", "bidi", "surrogate", "separator",
]  # fmt: skip
each = pytest.mark.parametrize("name", SHARP)


def written(name: str) -> str:
    """The payload as a file, an argument or a name may hold it."""
    return PAYLOADS[name].encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "")


def check_streams(ran: Ran) -> None:
    for text in (ran.out, ran.err):
        check_text(text)
        assert "Traceback" not in text


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHIPWORTHY_HISTORY", raising=False)
    return tmp_path


def fill(project: Path, text: str) -> None:
    """A gold set, two sets of traces and a config, all named and worded by somebody hostile."""
    items = [gold(f"{text}{n}", question=text, type=text, notes=text) for n in range(3)]
    write_lines(project / "gold.jsonl", [*items, unanswerable(f"{text}u")])
    good = [trace(f"{text}{n}", found=["d1", text]) for n in range(3)]
    write_lines(project / "good.jsonl", [*good, refusal(f"{text}u")])
    bad = [trace(f"{text}{n}", text, [text], [text]) for n in range(2)]
    write_lines(project / "bad.jsonl", [*bad, {"qid": f"{text}2", "error": text}, trace(f"{text}u", text)])
    config = {"gold": "gold.jsonl", "trace": "bad.jsonl", "by": ["type"]}
    body = "".join(f"{name} = {json.dumps(value)}\n" for name, value in config.items())
    (project / "shipworthy.toml").write_text(f"[suites.answers]\n{body}", "utf-8")


@each
def test_scores_checks_and_what_comes_of_them(cli: Cli, project: Path, name: str) -> None:
    text = written(name)
    fill(project, text)
    score = ("score", "--gold", "gold.jsonl", "--by", "type")
    for flags in (
        (*score, "--trace", "good.jsonl", "-o", "base.json"),
        (*score, "--trace", "bad.jsonl", "-o", "head.json"),
        ("check", "--label", text),
        ("check", "--label", f"{text} again", "-o", "page.html"),
        ("compare", "base.json", "head.json"),
        ("verify", "base.json"),
        ("verify", "base.json", "--trace", "bad.jsonl"),
        ("controls", "--gold", "gold.jsonl", "--suite", "answers"),
        ("gold", "lint", "gold.jsonl"),
        ("gold", "freeze", "gold.jsonl", "--release", text, "--signed-off-by", text, "--reason", text),
        ("gold", "verify", "gold.jsonl"),
        ("run", "--gold", "gold.jsonl", "--target", "demo", "--dry-run"),
    ):
        ran = cli(*flags)
        assert ran.code in (0, 1, 3), ran.err
        check_streams(ran)
    write_lines(project / "other.jsonl", [gold(f"{text}new")])
    check_streams(cli("gold", "diff", "gold.jsonl", "other.jsonl"))
    check_format("html", (project / "page.html").read_bytes())


@each
def test_history_and_baselines(cli: Cli, project: Path, name: str) -> None:
    text = written(name)
    fill(project, text)
    for label in (text, "plain"):
        assert cli("check", "--label", label).code in (1, 3)
    for flags in (
        ("history", "list"),
        ("history", "show", "last"),
        ("history", "show", "1"),
        ("history", "trend", "precision"),
        ("history", "trend", f"precision[type={text}]"),
        ("history", "gates", "--least", "1"),
        ("history", "nightly"),
        ("history", "report", "-o", "history.md"),
        ("history", "record", "nothing.json"),
        ("history", "show", text),
        ("baseline", "bless", text, "last", "--by", text, "--reason", text),
        ("baseline", "list"),
        ("check", "--baseline", text),
        ("check", "--baseline", f"{text}?"),
        ("history", "list", "--branch", text),
        ("history", "prune", "--keep", "1"),
    ):
        check_streams(cli(*flags))
    assert cli("history", "list").out


@each
def test_json_on_standard_output(cli: Cli, project: Path, name: str) -> None:
    text = written(name)
    fill(project, text)
    cli("score", "--gold", "gold.jsonl", "--trace", "good.jsonl", "-o", "base.json")
    cli("score", "--gold", "gold.jsonl", "--trace", "bad.jsonl", "-o", "head.json")
    cli("check", "--label", text)
    cli("baseline", "bless", text, "last", "--by", text, "--reason", text)
    for flags in (
        ("check", "--json"),
        ("compare", "base.json", "head.json", "--json"),
        ("verify", "head.json", "--json"),
        ("controls", "--gold", "gold.jsonl", "--suite", "answers", "--json"),
        ("gold", "lint", "gold.jsonl", "--json"),
        ("gold", "diff", "gold.jsonl", "good.jsonl", "--json"),
        ("history", "list", "--json"),
        ("history", "show", "last", "--json"),
        ("history", "trend", f"precision[type={text}]", "--json"),
        ("history", "gates", "--json"),
        ("baseline", "list", "--json"),
    ):
        ran = cli(*flags)
        check_text(ran.err)
        if ran.out:
            check_format("json", ran.out.encode())
    for flags in (("history", "export"), ("run", "--gold", "gold.jsonl", "--target", "demo", "--dry-run")):
        lines = cli(*flags).out.splitlines()
        assert lines
        for line in lines:
            check_format("json", line.encode())


@each
def test_hidden_characters_in_json_leave_values_and_digest_as_they_are(cli: Cli, project: Path, name: str) -> None:
    text = written(name)
    fill(project, text)
    cli("score", "--gold", "gold.jsonl", "--trace", "bad.jsonl", "-o", "head.json")
    report = json.loads((project / "head.json").read_bytes())
    assert f"{text}0" in [item["qid"] for item in report["items"]]
    assert cli("verify", "head.json").code == 0


# Errors


@each
def test_arguments_that_are_quoted(cli: Cli, project: Path, name: str) -> None:
    text = written(name)
    fill(project, "x")
    score = ("score", "--gold", "gold.jsonl", "--trace", "good.jsonl")
    for flags in (
        (text,),
        ("history", text),
        (f"--{text}",),
        (*score, text),
        (*score, f"--{text}"),
        (*score, "--format", text),
        (*score, "--k", text),
        (*score, "--gates", text),
        (*score, "--gates", f"{text}=0.5"),
        (*score, "--gates", f"precision[{text}]=0.5"),
        (*score, "--by", text),
        (*score, "-o", text),
        (*score, "-o", f"{text}.pdf"),
        (*score, "--refusal", text),
        (*score, "--id-map", text),
        ("score", "--gold", text, "--trace", text),
        ("check", "--config", text),
        ("check", "--suite", text),
        ("compare", text, text),
        ("compare", "good.jsonl", "good.jsonl", "--gold", "gold.jsonl", "--slip", text),
        ("verify", text),
        ("verify", "good.jsonl", "--input", text),
        ("run", "--gold", "gold.jsonl", "--target", text, "--out", "out.jsonl"),
        ("run", "--gold", "gold.jsonl", "--target", f"py:{text}", "--out", "out.jsonl"),
        ("schema", text),
        ("demo", "--fault", text),
        ("reason", "score", "--answers", text),
        ("latency", "score", "--gold", "gold.jsonl", "--trace", "good.jsonl", "--arm", text),
    ):
        ran = cli(*flags)
        assert ran.code != 0 or "--by" in flags, (flags, ran)
        check_streams(ran)


@each
def test_files_with_such_names(cli: Cli, project: Path, name: str) -> None:
    text = written(name).replace("/", "_")[:80]
    fill(project, "x")
    for old in ("gold", "good"):
        os.link(f"{old}.jsonl", f"{text}{old}.jsonl")
    write_lines(project / f"{text}broken.jsonl", ["no object"])
    flags = ("score", "--gold", f"{text}gold.jsonl")
    for ran in (
        cli(*flags, "--trace", f"{text}good.jsonl", "-o", f"{text}.json"),
        cli(*flags, "--trace", f"{text}broken.jsonl"),
        cli(*flags, "--trace", f"{text}broken.jsonl", "--lenient"),
        cli(*flags, "--trace", f"{text}absent.jsonl"),
        cli("verify", f"{text}.json"),
        cli("gold", "lint", f"{text}gold.jsonl"),
        cli("gold", "freeze", f"{text}gold.jsonl", "--release", "1", "--signed-off-by", "Ada"),
        cli("score", "--gold", "gold.jsonl", "--trace", "good.jsonl", "-o", f"{text}gold.jsonl/x.json"),
        cli("init", f"{text}project"),
    ):
        check_streams(ran)
    check_format("json", (project / f"{text}.json").read_bytes())


@each
@pytest.mark.parametrize(
    "line",
    [
        '{"qid": PAYLOAD, "question": 7}',
        '{"qid": "x", PAYLOAD: 1, "answerable": "maybe"}',
        '{"qid": "x", "question": PAYLOAD, "answerable": PAYLOAD}',
        "[PAYLOAD]",
        "PAYLOAD",
        '{"qid": PAYLOAD} RAW',
        "RAW",
    ],
)
def test_lines_that_can_not_be_read(cli: Cli, project: Path, name: str, line: str) -> None:
    fill(project, "x")
    text = line.replace("PAYLOAD", json.dumps(written(name))).replace("RAW", written(name).replace("\n", " "))
    with open(project / "gold.jsonl", "a", encoding="utf-8") as stream:
        stream.write(f"{text}\n")
    for flags in (("--trace", "good.jsonl"), ("--trace", "gold.jsonl", "--lenient")):
        ran = cli("score", "--gold", "gold.jsonl", *flags)
        assert ran.code in (1, 3)
        check_streams(ran)
    check_streams(cli("gold", "lint", "gold.jsonl"))


@each
@pytest.mark.parametrize(
    "body",
    [
        "[suites.PAYLOAD]\ngold = 'gold.jsonl'\n",
        "[suites.answers]\ngold = 'gold.jsonl'\ntrace = PAYLOAD\n",
        "[suites.answers]\ngold = 'gold.jsonl'\ntrace = 'good.jsonl'\nPAYLOAD = 1\n",
        "[suites.answers]\ngold = 'gold.jsonl'\ntrace = 'good.jsonl'\ngates = [PAYLOAD]\n",
        "baseline = PAYLOAD\n[suites.answers]\ngold = 'gold.jsonl'\ntrace = 'good.jsonl'\n",
        "[suites.answers]\ngold = 'gold.jsonl'\ntrace = 'good.jsonl'\n[[waivers]]\ngate = PAYLOAD\nreason = PAYLOAD\n",
        "[targets.PAYLOAD]\nurl = PAYLOAD\n[suites.answers]\ngold = 'gold.jsonl'\ntrace = 'good.jsonl'\n",
    ],
)
def test_values_of_a_config(cli: Cli, project: Path, name: str, body: str) -> None:
    fill(project, "x")
    quoted = json.dumps(written(name)).replace("\\ud", "\\\\ud").replace("\x7f", "")  # as TOML writes it
    (project / "shipworthy.toml").write_text(body.replace("PAYLOAD", quoted), "utf-8")
    for flags in ((), ("--run",), ("--json",)):
        ran = cli("check", *flags)
        assert ran.code in (0, 2, 3, 4)
        check_text(ran.err)
        check_format("json", ran.out.encode()) if ran.out and flags == ("--json",) else check_text(ran.out)


@each
def test_what_a_target_raises(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fill(project, "x")
    text = PAYLOADS[name]
    (project / "hostile_target.py").write_text(
        f"def answer(prompt, **_):\n    raise RuntimeError({text!r})\n"
        f"def say(prompt, **_):\n    print({text!r}, flush=True)\n    return {{'claim': {text!r}, 'citations': []}}\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(project)
    for target in ("answer", "say"):
        run = ("run", "--gold", "gold.jsonl", "--target", f"py:hostile_target:{target}", "--out", f"{target}.jsonl")
        ran = cli(*run, "--retries", "0")
        assert ran.code in (0, 3, 4), ran.err
        check_streams(ran)
        check_streams(cli("score", "--gold", "gold.jsonl", "--trace", f"{target}.jsonl"))
        check_streams(cli("reason", "run", "--python", f"hostile_target:{target}", "--answers", "a.jsonl"))


def test_a_fault_of_ours_is_told_in_lines_of_ours(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: object) -> None:
        raise ValueError("\n::error::forged\n\x1b[2J")

    monkeypatch.setattr("shipworthy.cli.check.load_config", broken)
    ran = cli("check")
    assert ran.code == 4 and "[internal]" in ran.err
    check_text(ran.err)


def test_a_program_that_asks_to_end_is_no_verdict(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(path: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr("shipworthy.cli.check.load_config", leave)
    assert cli("check").code == 4


# One way out

CLI = ROOT / "src" / "shipworthy" / "cli"
ALLOWED = {"_say.py"}


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda path: path.name)
def test_no_command_prints_by_itself(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "click.echo", "click.secho", "click.echo_via_pager", "os.write", "click.confirm"):
                found.append((node.lineno, called))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in (
            "sys.stdout.write",
            "sys.stdout.buffer",
            "sys.stderr.write",
            "sys.stderr.buffer",
            "sys.__stdout__",
        ):
            found.append((node.lineno, ast.unparse(node)))
    assert path.name in ALLOWED or not found
