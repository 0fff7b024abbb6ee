"""`shipworthy score` as a user types it: output, formats, exit codes, and what goes wrong in which words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, Ran, gold, refusal, trace, unanswerable, write_lines

Cli = Callable[..., Ran]
SHIPWORTHY = [sys.executable, "-m", "shipworthy"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    golds = [gold(f"A{n}") for n in range(6)] + [unanswerable("U0"), unanswerable("U1")]
    rows = [trace(f"A{n}") for n in range(6)] + [refusal("U0"), refusal("U1")]
    return write_lines(tmp_path / "gold.jsonl", golds), write_lines(tmp_path / "trace.jsonl", rows)


def test_ship_is_zero_and_says_so_first(cli: Cli, files: tuple[Path, Path]) -> None:
    ran = cli("score", "--gold", files[0], "--trace", files[1])
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[:2] == [
        "SHIP  all 5 gates pass; 4 of them are not statistically certain",
        "  answers · 8 questions · 6 answered · 2 refused",
    ]
    assert lines[-1] == "SHIP  answers: 5 of 5 gates pass"
    assert "correct and cited (precision) 1.000" in ran.out
    assert "\x1b" not in ran.out  # piped: no colour
    assert ran.err == ""


def test_no_ship_is_one_with_the_reason_in_counts(cli: Cli, files: tuple[Path, Path]) -> None:
    write_lines(
        files[1],
        [trace(f"A{n}", "wrong" if n < 3 else "right answer") for n in range(6)] + [refusal("U0"), refusal("U1")],
    )
    ran = cli("score", "--gold", files[0], "--trace", files[1])
    assert ran.code == 1
    assert ran.out.startswith("NO-SHIP  3 of 6 answers were correct and correctly cited; at least 5 must be")
    assert "Failing items, worst first (3 of 3)" in ran.out
    assert "To pass precision >= 0.80, fix 2 of the 3 that fail. Closest to passing: A0, A1, A2." in ran.out


def test_verbose_shows_passing_gates_and_what_they_mean(cli: Cli, files: tuple[Path, Path]) -> None:
    brief, verbose = (cli("score", "--gold", files[0], "--trace", files[1], *more).out for more in ((), ("-v",)))
    assert "(precision) >= 0.80" in verbose and "(precision) >= 0.80" not in brief
    assert "the share answered correctly" in verbose and "the share answered correctly" not in brief
    assert "not statistically certain: 8 more passing questions would prove it" in verbose
    assert "Intervals are 95 %" in verbose and "Intervals are 95 %" not in brief


def test_the_numbers_of_the_original_scripts_are_for_those_who_ask(cli: Cli, files: tuple[Path, Path]) -> None:
    write_lines(files[1], [trace(f"A{n}") for n in range(5)] + [refusal("U0"), refusal("U1")])
    calls = [("score", "--gold", files[0], "--trace", files[1], *more) for more in ((), ("-v",))]
    brief, verbose = (cli(*call).out for call in calls)
    assert "reference scripts would print other numbers" in " ".join(verbose.split())
    assert "reference scripts" not in brief


@pytest.mark.parametrize("extra", [(), ("-v",)])
def test_the_layout_holds_at_eighty_columns(files: tuple[Path, Path], extra: tuple[str, ...]) -> None:
    from shipworthy import evaluate
    from shipworthy.report import terminal

    write_lines(files[1], [trace(f"A{n}", "wrong " * 40 if n < 3 else "right answer") for n in range(6)])
    decision = evaluate(str(files[0]), str(files[1]), gates="recall@5[type=a very long slice name of a field]=0.9")
    lines = terminal.render(decision, width=80, verbose=bool(extra)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith(decision.verdict)


def test_missing_traces_are_three(cli: Cli, files: tuple[Path, Path]) -> None:
    write_lines(files[1], [trace("A0")])
    ran = cli("score", "--gold", files[0], "--trace", files[1])
    assert ran.code == 3
    assert ran.out.startswith("NO VERDICT")


def test_an_empty_trace_file_is_no_pass(cli: Cli, files: tuple[Path, Path]) -> None:
    files[1].write_bytes(b"")
    assert cli("score", "--gold", files[0], "--trace", files[1]).code == 3


def test_json_keeps_its_keys_at_the_top(cli: Cli, files: tuple[Path, Path]) -> None:
    report = cli("score", "--gold", files[0], "--trace", files[1], "--json", "--k", "1,5").json
    expected = {
        "answered": 6,
        "refused": 2,
        "answerable": 6,
        "unanswerable": 2,
        "precision": 1.0,
        "chr": 1.0,
        "under_refusal": 0.0,
        "over_refusal": 0.0,
        "under": 0.0,
        "over": 0.0,
        "recall@k": 1.0,
        "k": [1, 5],
        "pass": True,
        "decision": "SHIP",
    }
    assert {key: report[key] for key in expected} == expected
    assert report["gates"]["precision"] == "0.80"
    assert report["gates"]["under"] == "0.05"
    assert report["metrics"]["precision"]["numerator"] == 6
    assert report["metrics"]["precision"]["interval95"] == [0.609666, 1.0]
    assert len(report["inputs"]["trace"]["sha256"]) == 64


def test_json_is_byte_identical_across_hash_seeds_locales_and_zones(files: tuple[Path, Path]) -> None:
    seen = set()
    for seed, locale, zone in [
        ("0", "C", "UTC"),
        ("1", "C.UTF-8", "Asia/Tokyo"),
        ("random", "POSIX", "America/New_York"),
    ]:
        env = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone}
        done = subprocess.run(
            [sys.executable, "-m", "shipworthy", "score", "--gold", files[0], "--trace", files[1], "--json"],
            capture_output=True,
            env=env,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_tsv_has_its_first_columns_and_no_formula(cli: Cli, files: tuple[Path, Path]) -> None:
    write_lines(files[0], [gold("=1+1"), gold("A\tB")])
    write_lines(files[1], [trace("=1+1"), trace("A\tB", "wrong")])
    lines = cli("score", "--gold", files[0], "--trace", files[1], "--format", "tsv").out.splitlines()
    assert lines[0].startswith("qid\tstatus\tcorrect\tcontained\tcited\tconstraint\trecall_rank\treason\t")
    assert lines[1].startswith("'=1+1\tshipped\ttrue\ttrue\ttrue\t\t1\t\t")
    assert lines[2].startswith("A\\tB\tshipped\tfalse\tfalse\ttrue\t\t1\tcontainment")


@pytest.mark.parametrize(
    "gates",
    [
        ["--gates", "precision=0.80,chr=0.75,under=0.05,over=0.10"],
        ["--gates", "precision=0.80", "chr=0.75", "under_refusal=0.05", "over_refusal=0.10"],
        ["--gates", "precision>=0.80 chr>=0.75", "--gates", "under<=0.05,over<=0.10"],
    ],
)
def test_both_gate_syntaxes(cli: Cli, files: tuple[Path, Path], gates: list[str]) -> None:
    report = cli("score", "--gold", files[0], "--trace", files[1], "--json", *gates).json
    assert report["gates"] == {"precision": "0.80", "chr": "0.75", "under": "0.05", "over": "0.10", "missing": "0"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--gates", "precison=0.8"], 2, "Did you mean precision?"),
        (["--gates", "precision=8"], 2, "out of range"),
        (["--k", "0"], 2, "at least 1"),
        (["--k", "five"], 2, "not a number"),
        (["stray"], 2, "unexpected argument"),
        (["--nonsense"], 2, "No such option"),
        (["--gold", "/"], 2, "directory"),
        (["--trace", "nothing.jsonl"], 2, "no such file"),
        (["--refusal-phrases", "nothing.txt"], 2, "nothing.txt"),
        (["--id-map", "drop-everything"], 2, "drop-"),
        (["-o", "report.docx"], 2, "names no report format"),
        (["-o", "/proc/no/such/report.json"], 4, "can't be written"),  # after the verdict was printed
    ],
)
def test_mistakes_are_told_in_one_line_with_their_exit_code(
    cli: Cli, files: tuple[Path, Path], arguments: list[str], code: int, words: str
) -> None:
    ran = cli("score", "--gold", files[0], "--trace", files[1], *arguments)
    assert ran.code == code
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_bad_lines_stop_and_lenient_goes_on_saying_so(cli: Cli, files: tuple[Path, Path]) -> None:
    files[1].write_bytes(files[1].read_bytes() + b"{oops\n")
    strict = cli("score", "--gold", files[0], "--trace", files[1])
    assert strict.code == 3
    assert f"{files[1]}:9: not JSON" in strict.err
    assert strict.out == ""
    lenient = cli("score", "--gold", files[0], "--trace", files[1], "--lenient")
    assert lenient.code == 0
    assert "partial data" in lenient.out
    assert "trace:9: not JSON" in lenient.out


def test_where_the_files_lie_does_not_change_what_a_report_says(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Bad lines, remarks and all: they are named by the input, as in `trace:9`."""
    numbered = {**trace("7"), "qid": 7}
    files[1].write_bytes(files[1].read_bytes() + b"{oops\n" + json.dumps(numbered).encode() + b"\n")
    elsewhere = tmp_path / "deep" / "down"
    elsewhere.mkdir(parents=True)
    moved = [elsewhere / path.name for path in files]
    for path, copy in zip(files, moved, strict=True):
        copy.write_bytes(path.read_bytes())
    reports = [
        cli("score", "--gold", folder[0], "--trace", folder[1], "--lenient", "--json").json for folder in (files, moved)
    ]
    assert reports[0]["digest"] == reports[1]["digest"]
    assert reports[0]["inputs"]["trace"]["problems"][0].startswith("trace:9: not JSON")
    assert reports[0]["warnings"][0].startswith("trace:10: the qid 7 is a number")
    assert str(tmp_path) not in json.dumps({key: value for key, value in reports[0].items() if key != "run"})


def test_reports_are_written_whole_beside_the_board(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report.json"
    ran = cli("score", "--gold", files[0], "--trace", files[1], "-o", out, "-o", tmp_path / "items.tsv")
    assert ran.out.startswith("SHIP")
    assert json.loads(out.read_text())["decision"] == "SHIP"
    assert (tmp_path / "items.tsv").read_text().startswith("qid\t")
    assert not list(tmp_path.glob("**/.report*"))


def test_the_reference_profile_prints_its_numbers(cli: Cli, files: tuple[Path, Path]) -> None:
    report = cli("score", "--gold", files[0], "--trace", files[1], "--json", "--profile", "reference").json
    assert report["precision"] == 1.0
    assert report["shipworthy"]["profile"] == "reference"


def test_hostile_text_reaches_the_terminal_as_text(cli: Cli, files: tuple[Path, Path]) -> None:
    claims = ["\x1b[2J\x1b]0;x\x07PASS", "\x9b31m", "\u202egnissap", "a\n::error::x", "\x08\x08", "[bold]x[/bold]"]
    write_lines(files[1], [trace(f"A{n}", claim) for n, claim in enumerate(claims)] + [refusal("U0"), refusal("U1")])
    out = cli("score", "--gold", files[0], "--trace", files[1]).out
    assert not any(char in out for char in "\x1b\x07\x9b\x08\u202e")
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
    assert "\\x1b[2J" in out


def test_colour_is_for_people(files: tuple[Path, Path]) -> None:
    command = [*SHIPWORTHY, "score", "--gold", files[0], "--trace", files[1]]
    plain = {**os.environ, "FORCE_COLOR": "1", "NO_COLOR": "1"}
    forced = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"FORCE_COLOR": "1"}
    assert b"\x1b" not in subprocess.run(command, capture_output=True, env=plain, check=True).stdout
    assert b"\x1b[1;32mSHIP" in subprocess.run(command, capture_output=True, env=forced, check=True).stdout


def test_a_reader_who_leaves_is_no_crash(files: tuple[Path, Path]) -> None:
    command = f"'{sys.executable}' -m shipworthy score --gold '{files[0]}' --trace '{files[1]}' --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


def test_a_full_disk_is_the_environments_fault(files: tuple[Path, Path]) -> None:
    command = f"'{sys.executable}' -m shipworthy score --gold '{files[0]}' --trace '{files[1]}' --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 4
    assert b"Traceback" not in done.stderr


def test_an_unknown_verb_suggests_the_nearest(cli: Cli) -> None:
    ran = cli("scor")
    assert ran.code == 2
    assert "Did you mean 'score'?" in ran.err


def test_the_hello_example_is_what_the_readme_says(cli: Cli) -> None:
    hello = ROOT / "examples" / "hello"
    report = cli("score", "--gold", hello / "gold.jsonl", "--trace", hello / "trace.jsonl", "--json").json
    counts = {
        name: (report["metrics"][name]["numerator"], report["metrics"][name]["denominator"])
        for name in ("precision", "chr", "under_refusal", "over_refusal")
    }
    assert counts == {"precision": (2, 2), "chr": (2, 2), "under_refusal": (0, 1), "over_refusal": (0, 2)}
    assert report["decision"] == "SHIP"


HEAVY = ("rich", "jinja2", "numpy", "asyncio", "aiohttp", "starlette", "sqlite3", "rapidfuzz", "psycopg", "tomllib")


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--gold", "G", "--trace", "T"]], ids=["help", "score"])
def test_small_runs_import_nothing_heavy(arguments: list[str], files: tuple[Path, Path]) -> None:
    paths = {"G": str(files[0]), "T": str(files[1])}
    script = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print(*sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr))\n"
        "from shipworthy.cli import main\nmain(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, *(paths.get(argument, argument) for argument in arguments)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr.strip() == ""


def test_the_process_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    items = [gold(f"Q{n}") for n in range(3000)]
    golds = write_lines(tmp_path / "gold.jsonl", items)
    traces = write_lines(tmp_path / "trace.jsonl", [trace(item["qid"]) for item in items])
    command = [*SHIPWORTHY, "score", "--gold", golds, "--trace", traces, "--format"]
    listed = subprocess.run([*command, "tsv"], capture_output=True, text=True, check=False)
    assert (listed.returncode, listed.stdout.count("\n")) == (0, 3001)
    whole = subprocess.run([*command, "json"], capture_output=True, text=True, check=False)
    assert json.loads(whole.stdout)["decision"] == "SHIP"
    wrong = subprocess.run([*SHIPWORTHY, "score", "--gold", "G", "--trace", "T"], capture_output=True, check=False)
    assert (wrong.returncode, wrong.stderr.count(b"\n"), wrong.stdout) == (2, 1, b"")


def test_a_profiler_gets_to_print_what_it_saw(files: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "cProfile", *SHIPWORTHY[1:], "score", "--gold", files[0], "--trace", files[1]]
    assert "function calls" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
