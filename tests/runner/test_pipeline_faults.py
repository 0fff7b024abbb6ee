"""A pipeline that is named by text can't end, hang, forge or silence the judge: whatever it does is one failed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_lines
from conftest import gold as gold_item
from shipworthy import run
from shipworthy.errors import UsageError
from shipworthy.runner import RunSummary, TargetOptions
from shipworthy.runner.reasoner import ask_all, reasoner_target
from shipworthy.suites.reasoning.contracts import parse_fixture
from waiting import FOREVER, is_running, wait_until

QUESTIONS = 5

MODULE = """
import asyncio, ctypes, os, signal, subprocess, sys, threading, time

GOOD = {"answer_json": {"claim": "The right answer.", "citations": ["d1"]}, "retrieved_ids": ["d1"]}

class Silent(Exception):
    def __str__(self): sys.exit(0)

class Evil(dict):
    def __iter__(self): sys.exit(0)
    keys = items = __iter__

def fault():
    FAULT

def answer(question):
    result = fault() if "q2" in question else None
    return result or GOOD

async def later(question):
    return answer(question)
"""

# What the function does when it is asked for q2, the kind of the failed run, and a part of its text.
FAULTS = {
    "sys.exit(0)": ("sys.exit(0)", "python", "SystemExit: 0"),
    "sys.exit(text)": ("sys.exit('bye')", "python", "SystemExit: bye"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "python", "KeyboardInterrupt"),
    "GeneratorExit": ("raise GeneratorExit", "python", "GeneratorExit"),
    "BaseException": ("raise BaseException('odd')", "python", "BaseException: odd"),
    "CancelledError": ("raise asyncio.CancelledError", "python", "CancelledError"),
    "StopIteration": ("raise StopIteration", "python", "StopIteration"),
    "MemoryError": ("raise MemoryError", "python", "MemoryError"),
    "RecursionError": ("return fault()", "python", "RecursionError"),
    "an exception that exits": ("raise Silent", "python", "Silent"),
    "half a surrogate pair": (r"raise ValueError('\\ud800')", "python", r"ValueError: \ud800"),
    "a usage error of ours": (
        "from shipworthy.errors import UsageError; raise UsageError('no', code='target')",
        "python",
        "UsageError: no",
    ),
    "a result that exits": ("return Evil(a=1)", "python", "SystemExit"),
    "a result without a JSON form": ("return {'answer_json': object()}", "wrong-shape", "no JSON form"),
    "a number": ("return 42", "wrong-shape", "int"),
    "a huge result": ("return {'answer_json': {'claim': 'x' * 5_000_000}}", "too-large", "4,000,000"),
    "os._exit(0)": ("os._exit(0)", "crash", "exit code 0"),
    "os._exit in a thread": ("threading.Thread(target=os._exit, args=[3]).start(); time.sleep(999)", "crash", "code 3"),
    "segmentation fault": ("ctypes.string_at(0)", "crash", "SIGSEGV"),
    "abort": ("os.abort()", "crash", "SIGABRT"),
    "SIGKILL": ("os.kill(os.getpid(), 9)", "crash", "SIGKILL"),
    "SIGTERM to its group": ("os.killpg(0, 15); time.sleep(999)", "crash", "SIGTERM"),
    "SIGINT": ("os.kill(os.getpid(), 2); time.sleep(999)", "python", "KeyboardInterrupt"),
    "closed files": ("os.closerange(0, 4096)", "crash", "closed the connection"),
    "closed and opened files": (
        "os.closerange(0, 4096); [open('scrap', 'w') for _ in range(3)] and None",
        "crash",
        "closed the connection",
    ),
    "other files in place": (
        "fd = os.open('scrap', os.O_CREAT | os.O_WRONLY); [os.dup2(fd, n) for n in range(3, 256) if n != fd] and None",
        "crash",
        "closed the connection",
    ),
}
HANGS = {
    "an endless loop": "while True: pass",
    "a call that sleeps": "time.sleep(10 ** 6)",
    "a deaf process": "signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN); time.sleep(10 ** 6)",
    "one that catches everything": (
        "while True:\n        try: time.sleep(10 ** 6)\n        except BaseException: pass"
    ),
    "one that stops itself": "os.kill(os.getpid(), 19)",
}
# What disturbs nobody.
HARMLESS = {
    "noise": "print('x' * 100_000); print('::error::forged', file=sys.stderr); os.write(1, b'NO-SHIP\\n')",
    "standard streams closed": "os.close(0); os.close(1); os.close(2)",
    "sys.stdout gone": "sys.stdout = sys.stderr = None",
    "another folder": "os.chdir('/')",
    "a fork that comes back": "pid = os.fork(); pid and os.waitpid(pid, 0)",
    "a path wiped": "sys.path.clear(); sys.modules.clear()",
    "a timer left behind": "threading.Timer(600, os._exit, [0]).start()",
}

Pipeline = Callable[..., str]


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Write a module whose function misbehaves on q2, in the working directory; its place, as a target names it."""

    def make(fault: str = "return None", function: str = "answer", head: str = "") -> str:
        (tmp_path / "faulty.py").write_text(head + MODULE.replace("FAULT", fault), "utf-8")
        return f"py:faulty:{function}"

    monkeypatch.chdir(tmp_path)
    return make


def questions(folder: Path) -> Path:
    items = [gold_item(f"q{number}") for number in range(QUESTIONS)]
    return write_lines(folder / "gold.jsonl", items)


def ran(folder: Path, target: str, **given: Any) -> tuple[RunSummary, list[dict[str, Any]]]:
    out = folder / "runs.jsonl"
    summary = run(questions(folder), target, out, overwrite=True, **({"timeout": FOREVER} | given))
    return summary, [json.loads(line) for line in out.read_text("utf-8").splitlines()]


AS_COROUTINES = ("sys.exit(0)", "KeyboardInterrupt", "CancelledError", "os._exit(0)", "segmentation fault", "SIGINT")


@pytest.mark.parametrize(
    ("name", "function"), [*((name, "answer") for name in FAULTS), *((name, "later") for name in AS_COROUTINES)]
)
def test_a_fault_is_one_failed_run(tmp_path: Path, pipeline: Pipeline, name: str, function: str) -> None:
    fault, kind, text = FAULTS[name]
    summary, records = ran(tmp_path, pipeline(fault, function), concurrency=1)
    assert summary.complete and summary.failed == 1 and summary.errors == {kind: 1}
    assert {record["qid"] for record in records} == {f"q{number}" for number in range(QUESTIONS)}
    (failed,) = [record for record in records if "error" in record]
    assert failed["qid"] == "q2" and text in failed["error"] and failed["error"].isprintable()
    assert "answer_json" not in failed


@pytest.mark.parametrize(("name", "function"), [*((name, "answer") for name in HANGS), ("an endless loop", "later")])
def test_a_hang_ends_at_the_deadline(tmp_path: Path, pipeline: Pipeline, name: str, function: str) -> None:
    target = pipeline(f"open('pid', 'w').write(str(os.getpid()))\n    {HANGS[name]}", function)
    summary, records = ran(tmp_path, target, concurrency=1, timeout=1.5)
    assert summary.complete and summary.errors == {"timeout": 1}
    assert [record["qid"] for record in records if "error" in record] == ["q2"]
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("name", HARMLESS)
def test_what_disturbs_nobody(tmp_path: Path, pipeline: Pipeline, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    summary, records = ran(tmp_path, pipeline(HARMLESS[name]), concurrency=1)
    assert (summary.finished, summary.failed) == (QUESTIONS, 0)
    assert all(record["answer_json"]["claim"] == "The right answer." for record in records)
    assert capfd.readouterr() == ("", "")


def test_a_crash_says_what_the_process_said_last(tmp_path: Path, pipeline: Pipeline) -> None:
    summary, _ = ran(tmp_path, pipeline("print('no \\\\x1b[31m GPU', file=sys.stderr, flush=True); os._exit(9)"))
    assert summary.first_error == (
        r"q2: crash: the function's process ended with exit code 9 before it answered: no \x1b[31m GPU"
    )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("import sys; sys.exit(0)\n", "can't be imported: SystemExit: 0"),
        ("raise KeyboardInterrupt\n", "can't be imported: KeyboardInterrupt"),
        ("import os; os._exit(0)\n", "can't be imported: the function's process ended with exit code 0"),
        ("import ctypes; ctypes.string_at(0)\n", "can't be imported: the function's process was ended by SIGSEGV"),
        ("undefined\n", "can't be imported: NameError: name 'undefined' is not defined"),
        ("import no_such_package\n", "can't be imported: ModuleNotFoundError: No module named 'no_such_package'"),
        ("this is no Python\n", "can't be imported: SyntaxError"),
    ],
)
def test_a_module_that_ends_at_import_is_a_usage_error(
    tmp_path: Path, pipeline: Pipeline, cli: Cli, head: str, message: str
) -> None:
    target = pipeline(head=head)
    result = cli("run", "--gold", questions(tmp_path), "--target", target, "--out", tmp_path / "t.jsonl")
    assert result.code == 2 and result.out == ""
    assert result.err.count(message) == 1 and "[target]" in result.err
    assert not (tmp_path / "t.jsonl").exists()


def test_a_module_that_never_ends_to_import_is_a_usage_error(tmp_path: Path, pipeline: Pipeline) -> None:
    target = pipeline(head="while True: pass\n")
    with pytest.raises(UsageError, match=r"can't be imported: the import took longer than 0\.5 s"):
        ran(tmp_path, target, start_seconds=0.5)


CONFIG = """
[targets.mine]
py = "{target}"

[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
target = "mine"
"""


def verbs(folder: Path, target: str) -> dict[str, list[object]]:
    """Every command that asks a Python function."""
    gold = questions(folder)
    (folder / "shipworthy.toml").write_text(textwrap.dedent(CONFIG.format(target=target.removeprefix("py:"))), "utf-8")
    fixture = {"cases": [{"id": f"q{n}", "prompt": f"Question q{n}?"} for n in range(QUESTIONS)]}
    (folder / "fixture.json").write_text(json.dumps(fixture), "utf-8")
    return {
        "check": ["check", "--run"],
        "run": ["run", "--gold", gold, "--target", target, "--out", folder / "run.jsonl"],
        "stability": ["stability", "run", "--gold", gold, "--target", target, "--stability", folder / "s.jsonl"],
        "latency": ["latency", "run", "--gold", gold, "--target", target, "--rps", 50, "--trace", folder / "l.jsonl"],
        "reason": ["reason", "run", "--python", target.removeprefix("py:"), "--fixture", folder / "fixture.json"],
    }


@pytest.mark.parametrize("fault", ["sys.exit(0)", "os._exit(0)", "raise KeyboardInterrupt", "ctypes.string_at(0)"])
@pytest.mark.parametrize("verb", ["check", "run", "stability", "latency", "reason"])
def test_no_verb_exits_0_because_the_pipeline_did(
    tmp_path: Path, pipeline: Pipeline, cli: Cli, verb: str, fault: str
) -> None:
    target = pipeline(fault)
    result = cli(*verbs(tmp_path, target)[verb])
    if verb == "run":  # judges nothing
        assert result.code == 0 and "1 failed" in result.out
    else:
        assert result.code in (1, 3), result
        assert "SHIP" in result.out or "NO VERDICT" in result.out


@pytest.mark.parametrize("verb", ["check", "run", "stability", "latency", "reason"])
def test_no_verb_exits_0_because_the_import_did(tmp_path: Path, pipeline: Pipeline, cli: Cli, verb: str) -> None:
    result = cli(*verbs(tmp_path, pipeline(head="import sys; sys.exit(0)\n"))[verb])
    assert result.code == 2, result
    assert "can't be imported: SystemExit: 0" in result.err


def test_when_every_run_fails_it_is_exit_4(tmp_path: Path, pipeline: Pipeline, cli: Cli) -> None:
    pipeline()
    (tmp_path / "faulty.py").write_text("import sys\ndef answer(question): sys.exit(0)\n")
    for verb in ("run", "stability", "latency"):
        result = cli(*verbs(tmp_path, "py:faulty:answer")[verb])
        assert result.code == 4 and "[run-all-failed]" in result.err, result


def test_calls_run_side_by_side_up_to_the_limit(tmp_path: Path, pipeline: Pipeline) -> None:
    """Each call waits until two are under way, so that one worker alone would wait for ever."""
    pipeline()
    (tmp_path / "faulty.py").write_text(
        "import os, time\n"
        "def answer(question):\n"
        "    open(f'in-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir('.') if n.startswith('in-')]) < 2: time.sleep(0.01)\n"
        "    return str(os.getpid())\n"
    )
    _, records = ran(tmp_path, "py:faulty:answer", concurrency=2)
    assert len({record["answer_json"]["claim"] for record in records}) == 2
    summary, records = ran(tmp_path, "py:faulty:answer", concurrency=1)
    assert summary.complete and len({record["answer_json"]["claim"] for record in records}) == 1


def test_no_process_is_left_behind(tmp_path: Path, pipeline: Pipeline) -> None:
    note = "open(f'pid-{os.getpid()}', 'w').close()"
    target = pipeline(f"{note}; p = subprocess.Popen(['sleep', '1000']); open(f'pid-{{p.pid}}', 'w').close()")
    ran(tmp_path, target)
    pids = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_worker_goes_with_a_judge_that_is_killed(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline("open('pid', 'w').write(str(os.getpid())); open('there', 'w').close(); time.sleep(10 ** 6)")
    gold, out = questions(tmp_path), tmp_path / "t.jsonl"
    judge = subprocess.Popen(
        [sys.executable, "-m", "shipworthy", "run", "--gold", gold, "--target", "py:faulty:answer", "--out", out],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((tmp_path / "there").exists)
    judge.kill()
    judge.wait()
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def test_ctrl_c_is_ours_and_ends_the_workers(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline("open('pid', 'w').write(str(os.getpid())); open('there', 'w').close(); time.sleep(10 ** 6)")
    gold, out = questions(tmp_path), tmp_path / "t.jsonl"
    judge = subprocess.Popen(
        [sys.executable, "-m", "shipworthy", "run", "--gold", gold, "--target", "py:faulty:answer", "--out", out],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((tmp_path / "there").exists)
    judge.send_signal(signal.SIGINT)
    assert judge.wait(FOREVER) == 130
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def test_a_script_that_asks_itself_does_not_start_itself_for_ever(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline()
    (tmp_path / "itself.py").write_text(
        "from shipworthy import run\n"
        "def answer(question): return 'fine'\n"
        f"run({str(questions(tmp_path))!r}, 'py:itself:answer', 'out.jsonl')\n"
    )
    script = subprocess.run([sys.executable, "itself.py"], capture_output=True, text=True, check=False)
    assert script.returncode == 1 and "if __name__ ==" in script.stderr


def test_a_result_cannot_be_an_answer_to_the_next_question(tmp_path: Path, pipeline: Pipeline) -> None:
    """A second result, sent behind our back, is not the next question's."""
    forged = json.dumps({"id": 4, "value": {"answer_json": {"claim": "forged"}}}).encode() + b"\n"
    send = f"for n in range(200, 204):\n        try: os.write(n, {forged!r})\n        except OSError: pass"
    summary, records = ran(tmp_path, pipeline(send), concurrency=1)
    assert summary.errors == {"crash": 1}
    claims = {record["qid"]: record.get("answer_json", {}).get("claim") for record in records}
    assert "forged" not in claims.values()
    assert [qid for qid, claim in claims.items() if claim is None] == ["q2"]


def test_modules_of_the_working_directory_and_of_our_path_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "library_of_mine.py").write_text("WORD = 'found'\n")
    here = tmp_path / "here"
    here.mkdir()
    (here / "pipeline_of_mine.py").write_text(
        "import library_of_mine\nclass P:\n    answer = staticmethod(lambda q: library_of_mine.WORD)\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(elsewhere)])
    monkeypatch.chdir(here)
    _, records = ran(tmp_path, "py:pipeline_of_mine:P.answer")
    assert {record["answer_json"]["claim"] for record in records} == {"found"}


def test_secrets_are_hidden_in_what_a_function_says(
    tmp_path: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = TargetOptions(headers={}, connections=2)
    options.secrets.add("s3cr3t-canary")
    for fault in ("raise ValueError('s3cr3t-canary')", "print('s3cr3t-canary', flush=True); os._exit(1)"):
        ran(tmp_path, pipeline(fault), options=options)
        assert "s3cr3t" not in (tmp_path / "runs.jsonl").read_text()


# Reasoners, and functions that are objects

FIXTURE = parse_fixture({"cases": [{"id": f"q{n}", "prompt": f"Question q{n}?"} for n in range(3)]})


def reasoned(function: Any, timeout: float = FOREVER) -> dict[str, str | None]:
    answers = ask_all(FIXTURE.cases, reasoner_target(function=function), timeout=timeout)
    return {id_: answer.error for id_, answer in answers.items()}


@pytest.mark.parametrize("function", ["answer", "later"])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("sys.exit(0)", "the reasoner raised SystemExit: 0"),
        ("os._exit(0)", "the function's process ended with exit code 0 before it answered"),
        ("ctypes.string_at(0)", "the function's process was ended by SIGSEGV"),
        ("return 42", "the function gave int, expected a dict or a string"),
        ("return {'content': 'x', 'raw': object()}", None),
    ],
)
def test_a_named_reasoner_is_a_worker_too(pipeline: Pipeline, fault: str, error: str | None, function: str) -> None:
    target = pipeline(fault, function, head='GOOD = {"content": "fine"}\n')
    Path("faulty.py").write_text(Path("faulty.py").read_text().replace('GOOD = {"answer_json"', 'BAD = {"answer_json"'))
    assert reasoned(target.removeprefix("py:")) == {"q0": None, "q1": None, "q2": error}


def objects(body: str) -> list[Callable[[str], Any]]:
    space: dict[str, Any] = {}
    exec(
        "import asyncio, sys, threading, time\n"
        f"def sync(prompt):\n    if 'q1' in prompt: {body}\n    return 'fine'\n"
        f"async def later(prompt):\n    if 'q1' in prompt: {body}\n    return 'fine'\n",
        space,
    )
    return [space["sync"], space["later"]]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("sys.exit(0)", "the reasoner raised SystemExit: 0"),
        ("raise KeyboardInterrupt", "the reasoner raised KeyboardInterrupt"),
        ("raise asyncio.CancelledError", "the reasoner raised CancelledError"),
        ("raise GeneratorExit", "the reasoner raised GeneratorExit"),
        ("raise StopIteration", "the reasoner raised "),
        ("raise TimeoutError('mine')", "the reasoner raised TimeoutError: mine"),
    ],
)
def test_a_function_object_cannot_end_us_either(body: str, error: str) -> None:
    for function in objects(body):
        errors = reasoned(function)
        assert (errors["q0"], errors["q2"]) == (None, None)
        assert (errors["q1"] or "").startswith(error)


def test_a_coroutine_that_blocks_blocks_only_itself() -> None:
    blocked = objects("threading.Event().wait()")
    for function in blocked:
        assert reasoned(function, 4) == {"q0": None, "q1": "no answer within 4 seconds", "q2": None}


class Raises:
    """A target of the user's own making."""

    name, replays = "mine", False

    def __init__(self, what: Any) -> None:
        self.what = what

    async def ask(self, ask: Any) -> Any:
        if ask.qid == "q2":
            if isinstance(self.what, BaseException):
                raise self.what
            return self.what
        return {"answer_json": {"claim": "fine"}}

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("what", "error"),
    [
        (SystemExit(0), "python: SystemExit: 0"),
        (KeyboardInterrupt(), "python: KeyboardInterrupt"),
        (ValueError("odd"), "python: ValueError: odd"),
        (TimeoutError("mine"), "python: TimeoutError: mine"),
        (["a", "list"], "wrong-shape: the target gave list, expected a dict"),
        ({"answer_json": object()}, "wrong-shape: the trace has no JSON form"),
    ],
)
def test_a_target_object_cannot_end_us_either(tmp_path: Path, what: Any, error: str) -> None:
    summary, records = ran(tmp_path, Raises(what))  # type: ignore[arg-type]
    assert summary.complete and summary.failed == 1
    (failed,) = [record for record in records if "error" in record]
    assert failed["qid"] == "q2" and failed["error"].startswith(error)


def test_workers_inherit_the_environment(tmp_path: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SETTING", "set")
    pipeline()
    (tmp_path / "faulty.py").write_text("import os\ndef answer(question): return os.environ['MY_SETTING']\n")
    _, records = ran(tmp_path, "py:faulty:answer")
    assert {record["answer_json"]["claim"] for record in records} == {"set"}
    assert os.environ["MY_SETTING"] == "set"
