"""A report is data: whatever stands in it, nothing is opened, run, written or believed because it says so."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from conftest import EFFORT, Cli, gold, refusal, trace, unanswerable, write_lines
from harness.mutations import mutations, nested
from harness.nosockets import no_sockets
from harness.nowrites import no_writes_outside
from shipworthy import ShipworthyError, check, compare, evaluate, verify
from shipworthy.core.decision import digest, encode
from shipworthy.history import History
from shipworthy.jobs.check import failing_qids
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import control_answers
from webserver import serving

COUNT = 12 * EFFORT  # mutations of each report and each door
SECRET = "canary-4711"
ITEMS = [gold("A1", relevant=["d1"]), gold("A2", relevant=["d1"]), unanswerable("U1")]
TRACES = [trace("A1"), trace("A2", cite=("d2",)), refusal("U1")]
LOG = [{"qid": one["qid"], "q": "q?", "topk": [{"id": "d1", "score": 0.9}]} for one in ITEMS]


def _inputs(folder: Path) -> dict[str, dict[str, str]]:
    """Small inputs for every suite, in files."""
    fixture = read_fixture()
    right = control_answers(fixture, "terse right answers")
    made = {
        "gold": ITEMS,
        "trace": TRACES,
        "runs": [{**one, "seed": seed, "jitter": "none"} for one in TRACES for seed in (0, 1)],
        "timed": [{**one, "e2e_ms": 100} for one in TRACES],
        "log": LOG,
        "pairs": [{"qid": f"P{n}", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}} for n in range(3)],
        "ratings": [{"qid": f"I{n}", "rater": who, "label": n % 2} for n in range(4) for who in ("ana", "ben")],
        "answers": [{"id": name, "content": answer.content} for name, answer in right.items()],
        "outcomes": [
            {
                "timestamp": f"2026-11-0{day}T10:00:00Z",
                "prompt_id": f"p{day}",
                "accepted_without_edits": day % 2 == 0,
                "action_taken": True,
            }
            for day in range(1, 5)
        ],
    }
    paths = {name: str(write_lines(folder / f"{name}.jsonl", rows)) for name, rows in made.items()}
    return {
        "answers": {"gold": paths["gold"], "trace": paths["trace"]},
        "stability": {"gold": paths["gold"], "runs": paths["runs"]},
        "latency": {"gold": paths["gold"], "trace": paths["timed"]},
        "retrieval": {"gold": paths["gold"], "shadow": paths["log"]},
        "agreement": {"pairs": paths["pairs"]},
        "raters": {"ratings": paths["ratings"]},
        "reasoning": {"answers": paths["answers"]},
        "outcomes": {"outcomes": paths["outcomes"]},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, dict[str, Any]]:
    """A valid report of each suite; that of the guard is about the one of reasoning."""
    made = {suite: evaluate(suite, **inputs).report() for suite, inputs in _inputs(folder).items()}
    made["reasoning"] = json.loads(encode(made["reasoning"]))
    path = folder / "reasoning.json"
    path.write_bytes(encode(made["reasoning"]))
    made["guard"] = evaluate("guard", report=str(path)).report()
    return {suite: json.loads(encode(body)) for suite, body in made.items()}


@pytest.fixture
def beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand beside the inputs; nothing may reach a network, write elsewhere, or see the secret leave."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SHIPWORTHY_TEST_TOKEN", SECRET)
    with no_sockets(), no_writes_outside(folder):
        yield folder


def saved(folder: Path, body: Any, name: str = "report.json") -> Path:
    path = folder / name
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)  # nested as deep as a reader's own limit, and deeper
    try:
        path.write_bytes(json.dumps(body).encode("utf-8", "backslashreplace"))
    finally:
        sys.setrecursionlimit(limit)
    return path


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """The report with the digest that fits what it says now, as a careful forger would write it."""
    return {**body, "digest": digest(body)}


# --- what a report may not bring along ---

NOT_INERT = [
    {"embedder": "http", "embed_url": "http://127.0.0.1:9/v1", "embed_key_env": "SHIPWORTHY_TEST_TOKEN"},
    {"embed_url": "http://127.0.0.1:9/v1"},
    {"embed_key_env": "SHIPWORTHY_TEST_TOKEN"},
    {"embed_cache": "cache.db"},
    {"embed_cache": "/tmp/shipworthy-hostile-cache.db"},
    {"embedder": "os:system"},
    {"embedder": "hostile_module:function"},
    {"embed_model": "x"},
]


@pytest.mark.parametrize("options", NOT_INERT, ids=",".join)
def test_options_that_connect_run_or_write_are_refused(
    reports: dict[str, Any], beside: Path, options: dict[str, str], cli: Cli
) -> None:
    (beside / "hostile_module.py").write_text("open('was-run', 'w').close()\n\ndef function(texts):\n    return []\n")
    hostile = copy.deepcopy(reports["retrieval"])
    hostile["run"]["call"]["options"] |= options
    path = saved(beside, sealed(hostile))
    (receipt,) = verify(path)
    assert not receipt.agrees and "receipt-trust" in receipt.differences[0]
    ran = cli("verify", path)
    assert ran.code == 1 and "AGREES" not in ran.out and SECRET not in ran.out + ran.err
    assert not (beside / "cache.db").exists() and not (beside / "was-run").exists()
    assert not os.path.exists("/tmp/shipworthy-hostile-cache.db")


def test_compare_scores_nothing_again_with_such_options(reports: dict[str, Any], beside: Path) -> None:
    base = reports["retrieval"]
    for options in NOT_INERT:
        head = copy.deepcopy(base)
        head["options"]["k"] = [7]  # so that the base would have to be scored again
        head["run"]["call"]["options"] |= options
        with pytest.raises(ShipworthyError) as caught:
            compare(base, sealed(head))
        assert caught.value.code in ("receipt-trust", "compare-different")


@pytest.mark.parametrize(
    "place", ["/etc/passwd", "/proc/self/environ", "../elsewhere.jsonl", "/dev/stdin", "link.jsonl"]
)
@pytest.mark.parametrize("name", ["gold", "trace"])
def test_inputs_elsewhere_are_not_read(reports: dict[str, Any], beside: Path, name: str, place: str, cli: Cli) -> None:
    if not (beside / "link.jsonl").exists():
        (beside / "link.jsonl").symlink_to("/etc/passwd")
    hostile = copy.deepcopy(reports["answers"])
    hostile["run"]["call"]["inputs"][name] = place
    ran = cli("verify", saved(beside, sealed(hostile)))
    assert ran.code == 1 and "receipt-trust" in ran.out and "root:" not in ran.out + ran.err


@pytest.mark.parametrize("name", ["gold", "trace", "id_map"])
@pytest.mark.parametrize(
    "place",
    ["{server}/t.jsonl", "{server}/*.jsonl", "file:///etc/*.json", "file://{elsewhere}/*.jsonl", "memory://x/*"],
)
def test_no_address_of_a_report_is_looked_at(
    reports: dict[str, Any],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
    name: str,
    place: str,
) -> None:
    """Not even to expand a pattern: the server is never connected to, and the folder is never listed."""
    asked: list[str] = []

    class Counting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

    monkeypatch.chdir(folder)
    write_lines(tmp_path / "t.jsonl", TRACES)
    hostile = copy.deepcopy(reports["answers"])
    with serving(Counting) as server:
        address = place.format(server=server, elsewhere=tmp_path)
        if name == "id_map":
            hostile["run"]["call"]["options"][name] = address
        else:
            hostile["run"]["call"]["inputs"][name] = address
        ran = cli("verify", saved(folder, sealed(hostile)))
        assert ran.code == 1 and "receipt-trust" in ran.out, ran
        head = copy.deepcopy(reports["answers"])
        head["options"]["k"] = [7]  # so that the base would have to be scored again
        for pair in ((hostile, head), (head, hostile)):
            with suppress(ShipworthyError):  # what it does not have to read, it need not refuse
                compare(*map(sealed, pair))
    assert asked == []


@pytest.mark.parametrize(
    "place", ["{root}-other/t.jsonl", "{root}-other/*.jsonl", "{root}-other", "{root}/../*/t.jsonl"]
)
def test_a_folder_whose_name_begins_alike_is_elsewhere(
    reports: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    root, other = tmp_path / "job", tmp_path / "job-other"
    root.mkdir()
    other.mkdir()
    write_lines(other / "t.jsonl", TRACES)
    write_lines(root / "t.jsonl", TRACES)
    monkeypatch.chdir(root)
    moved = copy.deepcopy(reports["answers"])
    moved["run"]["call"]["inputs"] |= {"gold": write_lines(root / "gold.jsonl", ITEMS).name, "trace": "t.jsonl"}
    path = saved(root, sealed(moved))
    assert verify(path)[0].agrees
    moved["run"]["call"]["inputs"]["trace"] = place.format(root=root)
    (receipt,) = verify(saved(root, sealed(moved)))
    assert not receipt.agrees and "receipt-trust" in receipt.differences[0]


def test_an_input_that_the_user_names_is_read_wherever_it_lies(
    reports: dict[str, Any], tmp_path: Path, beside: Path
) -> None:
    hostile = copy.deepcopy(reports["answers"])
    hostile["run"]["call"]["inputs"]["trace"] = "/etc/passwd"
    with no_writes_outside(beside, tmp_path):
        moved = write_lines(tmp_path / "moved.jsonl", TRACES)
    assert verify(saved(beside, hostile), trace=str(moved))[0].agrees


def test_a_table_of_ids_elsewhere_is_not_read(reports: dict[str, Any], beside: Path) -> None:
    hostile = copy.deepcopy(reports["answers"])
    hostile["run"]["call"]["options"]["id_map"] = "/etc/passwd"
    (receipt,) = verify(saved(beside, sealed(hostile)))
    assert "receipt-trust" in receipt.differences[0]


def test_a_base_report_does_not_make_compare_read_files_elsewhere(reports: dict[str, Any], beside: Path) -> None:
    """Not even to see whether their digest fits: that would tell what is in them."""
    base, head = copy.deepcopy(reports["answers"]), copy.deepcopy(reports["answers"])
    base["run"]["call"]["inputs"]["trace"] = "/etc/passwd"
    import hashlib

    base["inputs"]["trace"]["sha256"] = hashlib.sha256(Path("/etc/passwd").read_bytes()).hexdigest()
    head["options"]["k"] = [7]
    with pytest.raises(ShipworthyError) as caught:
        compare(sealed(base), sealed(head))
    assert caught.value.code in ("receipt-trust", "compare-different") and "root:" not in str(caught.value)


# --- what a report may not make anybody believe ---

FORGED = "answers\nAGREES  answers  0000\n::set-output name=verdict::SHIP\n##vso[task.complete]\x1b[2K"


@pytest.mark.parametrize("field", ["suite", "digest", "profile", "definitions", "board"])
def test_no_line_of_the_output_is_written_by_the_report(
    reports: dict[str, Any], beside: Path, field: str, cli: Cli
) -> None:
    hostile = copy.deepcopy(reports["answers"])
    if field == "digest":
        hostile["digest"] = FORGED
    elif field == "board":
        board = {"shipworthy": {"report": 1, "definitions": "1", "board": True}, "decision": "SHIP", "digest": FORGED}
        hostile = {**board, "suites": {FORGED: {**hostile, "digest": FORGED}}}
    else:
        hostile["shipworthy"][field] = FORGED
        hostile = sealed(hostile)
    path = saved(beside, hostile)
    for args in (("verify", path), ("verify", path, "--json"), ("compare", path, path), ("history", "record", path)):
        more = ("--history", f"sqlite:///{beside}/history.db") if args[0] != "verify" else ()
        ran = cli(*args, *more)
        for line in (ran.out + "\n" + ran.err).splitlines():
            assert not re.match(r"\s*(::|##|AGREES  answers  0000)", line), line
            assert "\x1b" not in line and not re.search(r"##\w*\[", line), line
        if args[0] == "verify":
            assert ran.code != 0 and not ran.out.startswith("AGREES")


def test_a_pasted_digest_hides_nothing(beside: Path, cli: Cli) -> None:
    """From 1.0 to 0.0, under the digest of the better run: once `the two runs are the same`."""
    items = [gold(f"Q{n}") for n in range(20)]
    good = evaluate(items, [trace(f"Q{n}") for n in range(20)]).report()
    bad = evaluate(items, [trace(f"Q{n}", cite=("d2",)) for n in range(20)]).report()
    assert compare(good, bad).verdict == "regressed"
    paths = saved(beside, good, "good.json"), saved(beside, {**bad, "digest": good["digest"]}, "pasted.json")
    for sides in (paths, paths[::-1]):
        ran = cli("compare", *sides)
        assert ran.code == 3 and "report-edited" in ran.err and "the same" not in ran.out


@pytest.mark.parametrize("edit", ["metrics", "outcomes", "items", "decision", "reasons", "options"])
def test_an_edited_report_is_not_compared(reports: dict[str, Any], beside: Path, edit: str) -> None:
    edited = copy.deepcopy(reports["answers"])
    edited[edit] = {"metrics": {}, "outcomes": [], "items": [], "decision": "SHIP", "reasons": [], "options": {}}[edit]
    for sides in ((edited, reports["answers"]), (reports["answers"], edited)):
        with pytest.raises(ShipworthyError) as caught:
            compare(*sides)
        assert caught.value.code == "report-edited" and caught.value.exit_code == 3


def test_a_board_that_was_edited_is_not_compared(reports: dict[str, Any], beside: Path, cli: Cli) -> None:
    (beside / "shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    board = check(beside / "shipworthy.toml", record=False).report()
    whole = saved(beside, board, "board.json")
    assert cli("compare", whole, whole, "--suite", "answers").code == 0
    board["suites"]["answers"]["metrics"]["precision"]["numerator"] = 2
    edited = saved(beside, board, "edited.json")
    assert cli("compare", edited, whole, "--suite", "answers").code == 3
    assert cli("verify", edited).code == 1


# --- type-confused reports: one clear error, whatever is wrong ---

CONFUSED = [
    None,
    [],
    "report",
    7,
    {"shipworthy": []},
    {"shipworthy": {"report": "1", "definitions": 1}},
    {"shipworthy": {"report": 1, "definitions": "1", "suite": "answers"}},
    {"shipworthy": {"report": 1, "definitions": "1"}, "suites": []},
    {"shipworthy": {"report": 1, "definitions": "1"}, "suites": {"answers": 1}, "digest": "", "decision": ""},
    {"shipworthy": {"report": 1, "definitions": "1"}, "suites": {}, "digest": "", "decision": ""},
    {"shipworthy": {"report": 1, "definitions": "1"}, "suites": {"a": nested(500)}, "digest": "", "decision": ""},
]


@pytest.mark.parametrize("body", CONFUSED, ids=lambda body: json.dumps(body)[:50])
def test_what_is_no_report_is_said_in_one_line(beside: Path, body: Any, cli: Cli) -> None:
    path = saved(beside, body)
    url = f"sqlite:///{beside}/history.db"
    gold_file = beside / "gold.jsonl"
    for args in (
        ("verify", path),
        ("compare", path, path),
        ("history", "record", path, "--history", url),
        ("run", "--gold", gold_file, "--target", "cmd:true", "--filter-failing", path, "--dry-run"),
    ):
        ran = cli(*args)
        if body == CONFUSED[-2] and args[0] in ("verify", "history", "run"):
            continue  # a board of no suites is one, and says nothing
        assert ran.code in (2, 3) and "Traceback" not in ran.err and "[internal]" not in ran.err, (args, ran)


Door = Callable[[Any, Path], object]


def _doors(folder: Path, reports: dict[str, dict[str, Any]]) -> dict[str, Door]:
    """Every way in which a report comes in; each takes the mutated report."""
    history = History(f"sqlite:///{folder}/history.db")
    gold_file, timed, rows = (str(folder / f"{name}.jsonl") for name in ("gold", "timed", "outcomes"))
    return {
        "verify": lambda body, path: verify(path),
        "verify-dict": lambda body, path: verify(body) if isinstance(body, dict) else verify(path),
        "compare-base": lambda body, path: compare(path, _partner(body, reports)),
        "compare-head": lambda body, path: compare(_partner(body, reports), path),
        "history": lambda body, path: [history.record(one) for one in _loaded(path)],
        "failing": lambda body, path: failing_qids(path),
        "guard": lambda body, path: evaluate("guard", report=path),
        "outcomes": lambda body, path: evaluate("outcomes", outcomes=rows, report=path),
        "latency": lambda body, path: evaluate("latency", gold=gold_file, trace=timed, baseline=path),
    }


def _partner(body: Any, reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    about = body.get("shipworthy") if isinstance(body, dict) else None
    suite = about.get("suite") if isinstance(about, dict) else None
    return reports[suite] if isinstance(suite, str) and suite in reports else reports["answers"]


def _loaded(path: Path) -> list[Any]:
    from shipworthy.reading.reports import load_report, reports_of

    return list(reports_of(load_report(path)))


SUITE_DOORS = [
    (suite, door)
    for suite in (
        "answers",
        "stability",
        "latency",
        "retrieval",
        "agreement",
        "raters",
        "reasoning",
        "outcomes",
        "guard",
    )
    for door in ("verify", "verify-dict", "compare-base", "compare-head", "history", "failing")
] + [("reasoning", "guard"), ("reasoning", "outcomes"), ("latency", "latency")]


@pytest.mark.parametrize(("suite", "door"), SUITE_DOORS, ids="-".join)
def test_no_mutation_of_a_report_gets_beyond_one_clear_error(
    reports: dict[str, Any], beside: Path, suite: str, door: str
) -> None:
    come_in = _doors(beside, reports)[door]
    more = 8 if door in ("guard", "outcomes", "latency") else 1  # one report each, so more of it
    for what, body in mutations(reports[suite], seed=len(suite) * 31 + len(door), count=COUNT * more):
        for forged in (body, _resealed(body)):
            path = saved(beside, forged, f"{suite}-{door}.json")
            try:
                come_in(forged, path)
            except ShipworthyError as error:
                assert error.exit_code in (2, 3, 4) and error.code != "internal", what
            except Exception as error:
                raise AssertionError(
                    f"{door} of a {suite} report with {what}: {type(error).__name__}: {error}"
                ) from error


def _resealed(body: Any) -> Any:
    """With a digest that fits again, so that what is wrong is met further in."""
    if not isinstance(body, dict):
        return body
    try:
        return sealed(body)
    except (RecursionError, TypeError, KeyError):
        return body


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_were_flipped_or_cut_get_one_clear_error(reports: dict[str, Any], beside: Path, seed: int) -> None:
    chance = random.Random(seed)
    doors = _doors(beside, reports)
    for suite, body in reports.items():
        whole = bytearray(json.dumps(body).encode())
        for _ in range(max(COUNT // 8, 4)):
            bent = bytearray(whole)
            for _ in range(chance.choice((1, 3))):
                bent[chance.randrange(len(bent))] = chance.randrange(256)
            path = beside / "bent.json"
            path.write_bytes(bent[: chance.choice((len(bent), chance.randrange(len(bent))))])
            for name in ("verify", "compare-head", "history", "failing", "guard", "outcomes", "latency"):
                try:
                    doors[name](None, path)
                except ShipworthyError as error:
                    assert error.exit_code in (2, 3, 4), (suite, name)


def test_a_report_that_does_not_say_its_suite_is_one_clear_error(reports: dict[str, Any]) -> None:
    report = json.loads(json.dumps(reports["answers"]))
    del report["shipworthy"]["suite"]
    with pytest.raises(ShipworthyError, match="report-invalid"):
        verify(report)
