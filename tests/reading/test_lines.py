"""Lines: each is read as it would be read alone; one that counts is checked in full, one that is replaced is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy import evaluate
from shipworthy.core.contracts import Trace
from shipworthy.core.inputs import Input
from shipworthy.core.sources import load_gold, stream_traces
from shipworthy.errors import DataError

USUAL = {"qid": "q1", "q": "Why?", "retrieved_ids": ["d1", "d2"], "answer_json": {"claim": "so", "citations": ["d1"]}}
ODD = (
    '{"qid": "a", "qid": "b", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid" : "a", "qid": "b", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid"\t: "a", "q": "x", "q": "y", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x: \\"y\\": z", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "\\":", "retreived_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "q": "\\u003a", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "\\u003a", "retreived_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": ":", "q": "::", "retrieved_ids": [":"], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "retrieved_ids": [{"id": "d1"}], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "retrieved_ids": ["d1"], "answer_json": {"claim": "c", "claim": "d"}}',
    '{"qid": "a", "q": "x", "retrieved_ids": ["d1"], "answer_json": null}',
    '{"qid": "a", "q_id": "b", "answer_json": {"claim": "c"}}',
    '{"q_id": "a", "retreived_ids": [], "answer_json": {"claim": "c"}}',
    '{"qid": "", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": 7, "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": 7, "answer_json": {"claim": "c"}}',
    '{"meta": {"qid": "n"}, "qid": "a", "answer_json": {"claim": "c"}}',
    '{"qid": "a", "q": "\\ud800", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"q": "x", "answer_json": {"citations": [], "claim": "Größe: 5"}, "retrieved_ids": [], "qid": "z"}',
    '{"qid": "a", "q": "x", "retrieved_ids": ' + "[" * 300 + "]" * 300 + ', "answer_json": {"claim": "c"}}',
    '{"q\\u0069d": "a", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "mine": {"x": [1, {"y": 2}]}, "claim": "flat", "citations": ["d1"]}',
    "",
    "  ",
    "{",
    '{"qid": "a"} {}',
)


def read(path: Path, text: str) -> tuple[list[tuple[int, Trace]], list[str]]:
    """The records with their lines, and what is wrong with the others."""
    path.write_text(text, "utf-8")
    found = Input()
    records = list(stream_traces(path, found, lenient=True))
    return records, [f"{problem.line} {problem.what} {problem.code}" for problem in found.found.first]


@settings(max_examples=60 * EFFORT)
@given(lines=st.lists(st.one_of(st.just(json.dumps(USUAL)), st.sampled_from(ODD)), max_size=19))
def test_a_line_is_read_as_if_it_were_alone(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    alone: tuple[list[Any], list[str]] = ([], [])
    for number, line in enumerate(lines):
        records, problems = read(path, "\n" * number + line)
        alone[0].extend(records)
        alone[1].extend(problems)
    assert read(path, "\n".join(lines)) == alone
    many = [json.dumps(USUAL)] * 90
    records, problems = read(path, "\n".join(many + lines))
    assert [record for _, record in records[90:]] == [record for _, record in alone[0]]
    assert len(problems) == len(alone[1])


GOLD = [{"qid": "a", "question": "?", "answerable": True, "gold_claim_substr": ["so"], "gold_citations": ["d1"]}]
ANSWER = '"retrieved_ids": ["d1"], "answer_json": {"claim": "so", "citations": ["d1"]}'
NO_LINE = [  # wrong wherever it stands: it is no JSON in UTF-8 that names one question
    b'{"qid": "a", "q": "\xff", %b}' % ANSWER.encode(),
    b'{"qid": "a", "retrieved_ids": ["\xc3("], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "qid": "a", %b}' % ANSWER.encode(),
    b'{"qid": "a", %b} {}' % ANSWER.encode(),
    b'{"qid": "a", "retrieved_ids": [NaN]}',
    b'{"qid": "a", "q_id": "b", %b}' % ANSWER.encode(),
    b"{%b}" % ANSWER.encode(),
]
NO_TRACE = [  # wrong where it counts
    b'{"qid": "a", "q": "x", "q": "y", %b}' % ANSWER.encode(),
    b'{"qid": "a", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citation": []}}',
    b'{"qid": "a", "retrieved_ids": ["d"], "answer_json": {"claim": 1, "citations": []}}',
]


def evaluated(tmp_path: Path, lines: list[bytes], **options: Any) -> Any:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return evaluate(GOLD, path, **options)


@pytest.mark.parametrize("line", NO_LINE)
@pytest.mark.parametrize("more", [0, 500])
def test_what_names_no_question_is_an_error_wherever_it_stands(tmp_path: Path, line: bytes, more: int) -> None:
    usual = b'{"qid": "a", %b}' % ANSWER.encode()
    with pytest.raises(DataError) as raised:
        evaluated(tmp_path, [usual] * more + [line] + [usual] * (more + 1))
    assert str(raised.value.where).endswith(f"t.jsonl:{more + 1}")


@pytest.mark.parametrize("line", NO_TRACE)
@pytest.mark.parametrize("more", [0, 500])
def test_a_line_is_checked_in_full_where_it_counts_and_only_there(tmp_path: Path, line: bytes, more: int) -> None:
    usual = b'{"qid": "a", %b}' % ANSWER.encode()
    found = evaluated(tmp_path, [usual] * more + [line] + [usual] * (more + 1))
    assert found.counts["superseded"] == 2 * more + 1
    with pytest.raises(DataError) as raised:
        evaluated(tmp_path, [usual] * more + [line])
    assert str(raised.value.where).endswith(f"t.jsonl:{more + 1}")


@pytest.mark.parametrize("line", [*NO_LINE, *NO_TRACE])
def test_a_bad_line_that_is_left_out_replaces_no_good_one(tmp_path: Path, line: bytes) -> None:
    """With --lenient the last good line counts: lines are checked in full before one replaces another."""
    usual = b'{"qid": "a", %b}' % ANSWER.encode()
    found = evaluated(tmp_path, [usual, line], lenient=True)
    assert found.counts["missing"] == 0 and found.measures["precision"].value == 1
    assert found.inputs["trace"]["bad"] == 1 and found.inputs["trace"]["records"] == 1


def test_what_a_gold_set_means_does_not_hang_on_where_in_the_file_an_item_is(tmp_path: Path) -> None:
    rows = [{"qid": f"q{n}", "question": "?", "answerable": True, "notes": "", "mine": n} for n in range(2000)]
    digests = set()
    for name, ordered in (("one", rows), ("other", rows[::-1])):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in ordered), "utf-8")
        digests.add(load_gold(path).source.content)
        digests.add(evaluate(path, [{"qid": "q1", "claim": "x"}]).inputs["gold"]["content"])
    bare = [{key: value for key, value in row.items() if key not in ("mine", "notes")} for row in rows]
    digests.add(load_gold(bare).source.content)
    assert len(digests) == 1
