"""Quick lines: whatever is learnt from lines before, a line is read as it would be read alone."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy.core.contracts import DetailedTrace, Gold, Trace, trace_keys
from shipworthy.core.sources import load_gold
from shipworthy.errors import DataError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.reading import jsonl
from shipworthy.reading.jsonl import Problems, Reader
from shipworthy.reading.quick import learn

USUAL = {"qid": "q1", "q": "Why?", "retrieved_ids": ["d1", "d2"], "answer_json": {"claim": "so", "citations": ["d1"]}}
ODD = (
    '{"qid": "a", "qid": "b", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid" : "a", "qid": "b", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid"\t: "a", "q": "x", "q": "y", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x: \\"y\\": z", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "\\":", "retreived_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "q": "\\u003a", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": ":", "q": "::", "retrieved_ids": [":"], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "retrieved_ids": [{"id": "d1"}], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "x", "retrieved_ids": ["d1"], "answer_json": {"claim": "c", "claim": "d"}}',
    '{"qid": "a", "q": "x", "retrieved_ids": ["d1"], "answer_json": null}',
    '{"qid": "", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": 7, "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"qid": "a", "q": "\\ud800", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    '{"q": "x", "answer_json": {"citations": [], "claim": "Größe: 5"}, "retrieved_ids": [], "qid": "z"}',
    '{"qid": "a", "q": "x", "retrieved_ids": ' + "[" * 300 + "]" * 300 + ', "answer_json": {"claim": "c"}}',
    '{"q\\u0069d": "a", "q": "x", "retrieved_ids": [], "answer_json": {"claim": "c", "citations": []}}',
    "",
    "{",
)


def values(record: Any) -> Trace:
    """The record itself, whatever it was learnt from."""
    plain = pickle.loads(pickle.dumps(record))
    assert type(plain) is Trace
    return plain


def one_by_one(path: Path, lines: list[str]) -> tuple[list[Any], list[str]]:
    """Each line as the only one of a file, which learns nothing."""
    problems, records = Problems(), []
    for number, line in enumerate(lines, 1):
        path.write_text(line, "utf-8")
        found = Problems()
        for _, record in Reader(path, Trace, found, keys=trace_keys()):
            records.append((number, values(record)))
        problems += Problems() if not found.total else found
    return records, [problem.what for problem in problems.first]


@settings(max_examples=40 * EFFORT)
@given(st.lists(st.sampled_from([json.dumps(USUAL), json.dumps(USUAL | {"mine": 1.5}), *ODD]), max_size=30))
def test_a_line_is_read_as_if_it_were_alone(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("quick") / "trace.jsonl"
    alone = one_by_one(path, lines)
    path.write_text("\n".join([json.dumps(USUAL), *lines]) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "BLOCK", 150)  # a line or two, so that there are blocks after the one that is learnt from
        problems = Problems()
        found = list(Reader(path, Trace, problems, keys=trace_keys()))
    assert [(number - 1, values(record)) for number, record in found[1:]] == alone[0]
    assert [problem.what for problem in problems.first] == alone[1]


def test_usual_lines_are_read_quickly_and_pickled_as_they_are() -> None:
    shape = learn(USUAL | {"mine": [1, "x"]}, Trace, trace_keys())
    assert shape is not None
    line = json.dumps(USUAL | {"mine": [2], "q": "at 10:30"}).encode()
    records = shape.read(line, [line])
    assert records is not None
    again = pickle.loads(pickle.dumps(records[0]))
    assert type(again) is Trace
    assert again == msgspec.convert(USUAL | {"q": "at 10:30"}, Trace)


@pytest.mark.parametrize("text", ["at 10:30", 'the "limit": thirty', "a: b", ":", "Größe: 中"])
def test_a_colon_in_a_text_is_not_taken_for_a_key(text: str) -> None:
    """So that logs with quotations are read as quickly as others."""
    shape = learn(USUAL, Trace, trace_keys())
    assert shape is not None
    for value in (USUAL | {"q": text}, USUAL | {"retrieved_ids": [text]}, USUAL | {"answer_json": {"claim": text}}):
        line = json.dumps(value | {"answer_json": {"citations": [text]} | dict(value["answer_json"])}).encode()
        records = shape.read(line, [line])
        assert records is not None and values(records[0]) == msgspec.json.decode(line, type=Trace)


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (USUAL | {"topk": [{"id": "a"}]}, Trace),
        (USUAL | {"stage_ms": {"a": 1.0}}, Trace),
        (USUAL | {"ΔS": [0.1]}, DetailedTrace),
        ({"qid": "a", "history": []}, Gold),
        (USUAL | {"retreived_ids": []}, Trace),
        (USUAL | {"not a name": 1}, Trace),
        (USUAL, dict),
    ],
)
def test_what_could_hide_something_has_no_shape(value: dict[str, Any], record: type[Any]) -> None:
    shape = learn(value, record, trace_keys())
    line = json.dumps(value).encode()
    assert shape is None or shape.read(line + b"\n" + line, [line, line]) is None or "topk" in value


HIDDEN = [
    b'{"qid": "a", "q": "\xff", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "q": "x", "retrieved_ids": ["\xc3("], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": 7, "q": "x", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "qid": "a", "q": "x", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "q": "x", "q": "\\u003a", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "q": ":", "q": "x: y", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}}',
    b'{"qid": "a", "q": "x", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citation": []}}',
    b'{"qid": "a", "q": "x", "retrieved_ids": ["d"], "answer_json": {"claim": 1, "citations": []}}',
    b'{"qid": "a", "q": "x", "retrieved_ids": ["d"], "answer_json": {"claim": "c", "citations": []}} {}',
    b'{"qid": "a", "q": "x", "retrieved_ids": [NaN], "answer_json": {"claim": "c", "citations": []}}',
]


@pytest.mark.parametrize("line", HIDDEN)
def test_a_line_among_many_of_one_shape_is_checked_though_a_later_one_counts(tmp_path: Path, line: bytes) -> None:
    """Only the last trace of a question is judged, and what is wrong with the others is told all the same."""
    usual = json.dumps(USUAL | {"qid": "a"}).encode()
    gold = [{"qid": "a", "question": "?", "answerable": True, "gold_claim_substr": ["so"], "gold_citations": ["d1"]}]
    many, alone = tmp_path / "many.jsonl", tmp_path / "alone.jsonl"
    many.write_bytes(b"\n".join([usual] * 500 + [line] + [usual] * 500) + b"\n")
    alone.write_bytes(b"\n".join([line, usual]) + b"\n")
    told = [_told(gold, path) for path in (many, alone)]
    assert told[0][0] == told[1][0] and told[0][0] != []
    assert told[0][1] == 501 and told[1][1] == 1


def _told(gold: list[dict[str, Any]], path: Path) -> tuple[list[str], int]:
    """What is wrong or worth a warning, and on which line."""
    try:
        warnings = evaluate(gold, str(path)).warnings
    except DataError as error:
        return [error.code, error.what], int(str(error.where).rpartition(":")[2])
    found = [warning for warning in warnings if warning.startswith("trace:")]
    return [re.sub(r"^trace:\d+", "", warning) for warning in found], int(found[0].split(":")[1])


def test_what_a_gold_set_means_does_not_hang_on_where_in_the_file_an_item_is(tmp_path: Path) -> None:
    rows = [{"qid": f"q{n}", "question": "?", "answerable": True, "notes": "", "mine": n} for n in range(2000)]
    digests = set()
    for name, ordered in (("one", rows), ("other", rows[::-1])):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in ordered), "utf-8")
        digests.add(load_gold(path).source.content)
    bare = [{key: value for key, value in row.items() if key not in ("mine", "notes")} for row in rows]
    digests.add(load_gold(bare).source.content)
    assert len(digests) == 1
