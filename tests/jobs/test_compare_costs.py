"""What comparing costs, and that reading reports fast reads them as strictly as before."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, Cli, gold, trace, write_lines
from counting import calls
from shipworthy import evaluate
from shipworthy.core.board import Board
from shipworthy.errors import DataError
from shipworthy.jobs.compare import Rows
from shipworthy.reading.reports import digest, load_report
from shipworthy.report import render
from shipworthy.report.json import dumps

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
    | st.sampled_from(["1e5", "0.00001", 'a": 1', "\ud800", "\x7f\u2028</script>", "é"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@settings(max_examples=30 * EFFORT, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(["qid", "claim", "n", "é"]), VALUES, max_size=4), max_size=5),
    st.dictionaries(st.sampled_from(["metrics", "decision", "zeta"]), VALUES),
    st.integers(1, 3),
)
def test_a_digest_is_that_of_the_sorted_json(items: list[Any], rest: dict[str, Any], times: int) -> None:
    body = {**rest, "items": items * times, "run": {"at": 1}, "digest": "x"}
    kept = {key: value for key, value in body.items() if key not in ("run", "digest")}
    text = json.dumps(kept, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace")
    assert digest(body) == hashlib.sha256(text).hexdigest()


def reports(folder: Path, cli: Cli, items: int) -> tuple[Path, Path]:
    """Two reports of one gold set; in the second a tenth of the answers cites something else."""
    golds = write_lines(folder / "gold.jsonl", [gold(f"Q{index:05d}") for index in range(items)])
    for name, every in (("base", items + 1), ("head", 10)):
        rows = [trace(f"Q{index:05d}", cite=("d2",) if index % every == 0 else ("d1",)) for index in range(items)]
        write_lines(folder / f"{name}.jsonl", rows)
        cli("score", "--gold", golds, "--trace", folder / f"{name}.jsonl", "-o", folder / f"{name}.json")
    return folder / "base.json", folder / "head.json"


def test_an_item_takes_few_calls_to_compare(tmp_path: Path, cli: Cli) -> None:
    """Every value was a fraction, and every row was asked about every metric: seven hundred calls an item."""
    work = {}
    for items in (200, 600):
        sides = reports(tmp_path, cli, items)
        cli("compare", *sides)  # imports, and what the statistics remember
        work[items] = calls(cli, "compare", *sides)
    assert (work[600] - work[200]) / 400 < 200


def test_of_an_item_no_more_than_a_few_bytes_are_held(tmp_path: Path, cli: Cli) -> None:
    """Each report was decoded in full, for its digest: two thousand bytes an item."""
    peaks = {}
    for items in (1000, 5000):
        sides = reports(tmp_path, cli, items)
        assert cli("compare", *sides).code == 1
        tracemalloc.start()
        cli("compare", *sides)
        peaks[items] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (peaks[5000] - peaks[1000]) / 4000 < 100  # of which the names of those that got worse are the most


UGLY = [
    'a "key": in a text',
    "half \ud800 a pair",
    "##vso[task] \u2028 \x7f",
    "  ],\n    },\n    {",
    "x" * 300_000,  # more than is read at once
]


def on_one_line(path: Path) -> Path:
    """The same report in a layout that is read as a whole."""
    other = path.with_name(f"line-{path.name}")
    other.write_text(json.dumps(json.loads(path.read_text("utf-8"))), "utf-8")
    return other


def test_what_is_read_in_pieces_is_what_is_read_as_a_whole(tmp_path: Path, cli: Cli) -> None:
    """Items that are gone, new, never run and out of order, texts of every kind, numbers that have two spellings."""
    both = [f"Q{index:03d}" for index in range(400)]
    asked = [gold(qid) for qid in (*both, "gone", "new")]
    write_lines(tmp_path / "gold.jsonl", asked)
    for name, only, every in (("base", "gone", 7), ("head", "new", 5)):
        rows = [trace(qid, cite=("d2",) if n % every == 0 else ("d1",)) for n, qid in enumerate((*both, only))]
        rows += [trace(f"Q{n:03d}", f"The right answer. {text}") for n, text in enumerate(UGLY)]
        write_lines(tmp_path / f"{name}.jsonl", rows)
        cli(
            "score",
            "--gold",
            tmp_path / "gold.jsonl",
            "--trace",
            tmp_path / f"{name}.jsonl",
            "-o",
            tmp_path / f"{name}.json",
        )
        report = load_report(tmp_path / f"{name}.json")
        for number, row in enumerate(report["items"]):
            row["seen"] = [1e-7, 1e22, 0.5, {"deep": [number]}]
        report["items"] = [row for row in report["items"] if row["qid"] not in {"gone", "new"} - {only}]
        report["digest"] = digest(report)
        (tmp_path / f"{name}.json").write_bytes(dumps(report) + b"\n")
        report["items"].reverse()
        report["digest"] = digest(report)
        (tmp_path / f"{name}-reversed.json").write_bytes(dumps(report) + b"\n")
    found = cli("compare", tmp_path / "base.json", tmp_path / "head.json", "--json")
    assert found.code == 1 and found.json["absent"] == ["gone"] and found.json["new"] == ["new"]
    assert found.json["lost"] and found.json["gained"] and found.json["items"] == 400
    sides = [[tmp_path / f"{name}{kind}.json" for kind in ("", "-reversed")] for name in ("base", "head")]
    for base, head in product(*([*side, *map(on_one_line, side)] for side in sides)):
        assert cli("compare", base, head, "--json") == found


@settings(max_examples=60 * EFFORT, deadline=None)
@given(st.data())
def test_an_edit_is_refused_in_the_same_words(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Lines of a report, or of a board, that are lost, repeated, moved or changed."""
    path = tmp_path_factory.mktemp("edit") / "report.json"
    lines = data.draw(st.sampled_from(written()), label="report").split(b"\n")
    whole = b"\n".join(lines)
    for _ in range(data.draw(st.integers(0, 2), label="edits")):
        at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        edit = data.draw(st.sampled_from(["lose", "repeat", "move", "swap", "cut", "blank", "word"]))
        if edit in ("lose", "move"):
            line = lines.pop(at)
            lines[to:to] = [line] if edit == "move" else []
        elif edit == "repeat":
            lines.insert(to, lines[at])
        elif edit == "swap":
            lines[at], lines[to] = lines[to], lines[at]
        elif edit == "cut":
            lines[at] = lines[at][:-1]
        else:
            lines[at] = lines[at].replace(b'": ', b'" : ') if edit == "blank" else lines[at].replace(b"a", b"b")
    path.write_bytes(b"\n".join(lines))
    found = []
    for how in ({}, {"keep": Rows}):
        try:
            found.append(load_report(path, **how)["digest"])
        except DataError as error:
            found.append(str(error))
    assert found[0] == found[1]
    if b"\n".join(lines) == whole:
        assert found[0] == json.loads(whole)["digest"]


@cache
def written() -> list[bytes]:
    """Reports of ours: of one suite, and a board of two."""
    answers = evaluate([gold("A"), gold("B"), gold("C")], [trace("A"), trace("B", "Wrong."), trace("C", cite=("d2",))])
    pairs = [{"qid": qid, "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}} for qid in "PQR"]
    board = Board([answers, evaluate("agreement", pairs=pairs)])
    return [render(answers, "json"), render(board, "json")]


def test_a_suite_of_a_board_is_read_in_pieces_too(tmp_path: Path, cli: Cli) -> None:
    sides = []
    for name, wrong in (("base", "none"), ("head", "Q0007")):
        golds = [gold(f"Q{index:04d}") for index in range(600)]
        rows = [trace(one["qid"], "Wrong." if one["qid"] == wrong else "The right answer.") for one in golds]
        pairs = [{"qid": qid, "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}} for qid in "PQR"]
        board = Board([evaluate("agreement", pairs=pairs), evaluate(golds, rows)])
        sides.append(tmp_path / f"{name}.json")
        sides[-1].write_bytes(render(board, "json"))
    found = cli("compare", *sides, "--suite", "answers", "--json")
    assert found.json["lost"] == ["Q0007"] and found.json["items"] == 600
    assert cli("compare", *map(on_one_line, sides), "--suite", "answers", "--json") == found
    assert "the two runs are identical" in cli("compare", *sides, "--suite", "agreement").out


@pytest.mark.parametrize("layout", ["as written", "on one line", "with blanks before colons"])
def test_a_repeated_key_is_refused_in_every_layout(tmp_path: Path, cli: Cli, layout: str) -> None:
    base, head = reports(tmp_path, cli, 3)
    text = head.read_text("utf-8")
    report = json.loads(text)
    if layout == "as written":
        text = text.replace('  "decision": ', '  "decision": "SHIP",\n  "decision": ', 1)
    else:
        text = json.dumps(report).replace('"decision": ', '"decision": "SHIP", "decision": ', 1)
        if layout == "with blanks before colons":
            text = text.replace('"decision": "SHIP"', '"decision"  : "SHIP"', 1)
    head.write_text(text, "utf-8")
    with pytest.raises(DataError, match="the key 'decision' occurs twice"):
        load_report(head)
    assert cli("compare", base, head).code == 3


def test_reports_in_any_layout_are_read_alike(tmp_path: Path, cli: Cli) -> None:
    _, head = reports(tmp_path, cli, 3)
    found = load_report(head)
    for indent in (None, 1, 4):
        head.write_text(json.dumps(found, indent=indent), "utf-8")
        assert load_report(head) == found
