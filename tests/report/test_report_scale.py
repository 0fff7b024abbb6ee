"""Reports of very many items: written bit by bit, and a page that says what it has no room for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import gold, trace
from shipworthy import evaluate
from shipworthy.core.board import Board
from shipworthy.core.decision import Decision, encode
from shipworthy.core.rows import Rows
from shipworthy.reading.files import write_whole
from shipworthy.report import pieces, render
from shipworthy.report.html import items
from shipworthy.report.json import digest_of, dumps

ODD = "ünï \u202e ##vso[task] \ud800 </script>"


def decision(count: int = 30, wrong: int = 10) -> Decision:
    golds = [gold(f"q{number:03}", question=ODD if number == 3 else "") for number in range(count)]
    claims = ["wrong" if number < wrong else "The right answer." for number in range(count)]
    return evaluate(golds, [trace(item["qid"], claim) for item, claim in zip(golds, claims, strict=True)])


def whole(shown: Decision | Board) -> bytes:
    """The report encoded in one go, which is its definition."""
    return dumps(shown.report()) + b"\n"


@pytest.mark.parametrize("count", [1, 30])
def test_json_in_pieces_is_the_report_encoded_in_one_go(count: int) -> None:
    shown = decision(count)
    assert render(shown, "json") == whole(shown)
    assert digest_of(shown) == json.loads(render(shown, "json"))["digest"]
    board = Board([shown, shown], failures={"latency": "no trace"}, notes=["ü"], run={"config": "x"})
    assert render(board, "json") == whole(board)
    assert digest_of(board) == board.report()["digest"]
    assert render(Board([]), "json") == whole(Board([]))
    shown.items = []
    assert render(shown, "json") == whole(shown)
    assert encode(shown.report()) == encode(json.loads(render(shown, "json")))


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e-4, 9.9e-5, 1e-7, 1e15, 1e16, -0.0, 5e-324, 2**70]),
)
VALUES = st.one_of(
    NUMBERS, st.text(), st.sampled_from([ODD, "3e5", "0.0000"]), st.none(), st.lists(NUMBERS, max_size=3)
)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=5))
def test_rows_of_any_values_are_the_report_encoded_in_one_go(rows: list[dict[str, Any]]) -> None:
    """Numbers among them that two writers of JSON write in two ways."""
    for kept in (rows, Rows(((number,), row) for number, row in enumerate(rows))):
        shown = Decision("answers", "strict", "SHIP", [], [], {}, items=kept)
        assert render(shown, "json") == whole(shown)
        assert digest_of(shown) == shown.report()["digest"]


def stable(count: int) -> Decision:
    golds = [gold("q\ud800" if number == 3 else f"q{number:04}") for number in range(count)]
    runs = [trace(item["qid"]) | {"seed": seed, "jitter": "none"} for item in golds for seed in (0, 1)]
    return evaluate("stability", gold=golds, runs=runs)


def test_a_long_table_by_question_is_written_bit_by_bit() -> None:
    few, many = (max(map(len, pieces(stable(count), "json"))) for count in (300, 1500))
    assert many < 1.2 * few
    for count in (0, 4, 300):
        shown = stable(count) if count else decision(1)
        shown.headline = shown.headline if count else {"details": {}}
        assert render(shown, "json") == whole(shown)
        assert digest_of(shown) == json.loads(render(shown, "json"))["digest"]
    details = shown.headline["details"]
    assert details == json.loads(render(shown, "json"))["details"] and len(details) == 300
    assert list(details.values())[1] == details["q0001"] and "q9999" not in details


def beside_live(count: int) -> Decision:
    """Of four questions one got worse and one better, and all of them cite something wrong."""
    qids = ["q\ud800" if number == 3 else f"q{number:04}" for number in range(count)]
    golds = [{"qid": qid, "question": "?", "relevant": ["a", "b"]} for qid in qids]
    found = [["a", "b"], ["b", "x"], ["x"], ["a"]]
    logs = [
        [
            {"qid": qid, "topk": [{"id": one} for one in found[number % 4 - shift]], "answer_citations": ["x"]}
            for number, qid in enumerate(qids)
        ]
        for shift in (0, 2)
    ]
    return evaluate("retrieval", gold=golds, shadow=logs[0], live=logs[1])


def test_the_questions_that_live_answered_differently_are_written_bit_by_bit() -> None:
    few, many = (max(map(len, pieces(beside_live(count), "json"))) for count in (1200, 6000))
    assert many < 1.2 * few
    for count in (1, 30):
        shown = beside_live(count)
        assert render(shown, "json") == whole(shown)
        assert digest_of(shown) == json.loads(render(shown, "json"))["digest"]
    report = json.loads(render(shown, "json"))
    compared = report["comparison"]
    assert compared["worse"][0]["qid"] == "q0002" == compared["hits_lost"][0]
    assert compared["worse"][1] == {
        "qid": "q0006",
        "type": [],
        "shadow": 0.0,
        "live": 1.0,
        "hit": [True, False],
        "rank": [1, None],
    }
    assert report["bad_qids"] == report["named"]["bad_qids"] == sorted(row["qid"] for row in report["items"])
    page = render(shown, "html").decode()
    assert "7 questions got worse and 8 better" in page and "… and" not in page


@pytest.mark.parametrize("form", ["json", "tsv", "csv"])
def test_no_piece_grows_with_the_number_of_items(form: str, tmp_path: Path) -> None:
    few, many = (max(map(len, pieces(decision(count, 2), form))) for count in (300, 1500))  # in batches of 256
    assert many < 1.2 * few
    path = tmp_path / f"report.{form}"
    write_whole(path, pieces(decision(), form))
    assert path.read_bytes() == render(decision(), form)


def test_a_file_whose_pieces_fail_half_way_is_not_written(tmp_path: Path) -> None:
    def half() -> Any:
        yield b"half"
        raise ValueError

    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(ValueError):
        write_whole(path, half())
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_page_of_very_many_items_has_the_failing_ones_first_and_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(items, "MOST", 14)
    page = render(decision(), "html").decode()
    assert "16 passing items of 30 left out of this page" in page and ">Other questions <" in page
    monkeypatch.setattr(items, "MOST", 4)
    assert "20 passing items of 30 left out" in render(decision(), "html").decode()
    monkeypatch.setattr(items, "MOST", 30)
    page = render(decision(), "html").decode()
    assert "left out of this page" not in page and ">Other questions <" in page
