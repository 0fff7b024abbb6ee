"""Mapping: paths, patterns, citations and refusals, whatever the record looks like."""

from __future__ import annotations

from typing import Any

import pytest

from shipworthy.errors import UsageError
from shipworthy.language.refusal import TOKEN
from shipworthy.reading import mapping as module
from shipworthy.reading.mapping import FieldMap, JsonPath
from shipworthy.reading.proposal import fields_of, flags, foreign, propose
from shipworthy.reading.values import REFUSED, MapError

SOURCES = {"sources": [{"id": "doc1", "text": "a"}, {"id": "doc2", "text": "b"}]}


def answer(record: dict[str, Any], *pairs: str) -> dict[str, Any]:
    found: dict[str, Any] = FieldMap.parse(pairs).trace(record)["answer_json"]
    return found


@pytest.mark.parametrize(
    ("text", "pattern", "claim", "citations"),
    [
        ("It costs $49 [doc1].", r"\[(\w+)\]", "It costs $49.", ["doc1"]),
        ("It costs [1] $49 [2], [9].", r"\[(\d+)\]", "It costs $49,.", ["doc1", "doc2", "9"]),
        ("It costs $49 [doc1, doc2].", r"\[([^\]]+)\]", "It costs $49.", ["doc1", "doc2"]),
        ("It costs $49 (source: doc2)", r"\(source:\s*([^)]+)\)", "It costs $49", ["doc2"]),
        ("It costs $49.", r"\[(\w+)\]", "It costs $49.", []),
        ("[doc1][doc1] Both.", r"\[(\w+)\]", "Both.", ["doc1"]),
        ("Keeps  its   blanks.", r"\[(\w+)\]", "Keeps  its   blanks.", []),
    ],
)
def test_inline_markers_become_citations_and_leave_the_claim(
    text: str, pattern: str, claim: str, citations: list[str]
) -> None:
    record = {"answer": text, **SOURCES}
    pairs = ("claim=answer", "retrieved_ids=sources[*].id", f"citations=re:{pattern}@answer")
    assert answer(record, *pairs) == {"claim": claim, "citations": citations}


def test_a_number_that_is_an_id_is_not_a_rank() -> None:
    record = {"a": "x [2]", "ids": ["7", "2"]}
    assert answer(record, "claim=a", "retrieved_ids=ids", r"citations=re:\[(\d+)\]@a")["citations"] == ["2"]


def test_markers_stay_where_the_claim_is_another_text() -> None:
    record = {"a": "x [d]", "cited": "see [d]"}
    assert answer(record, "claim=a", r"citations=re:\[(\w)\]@cited") == {"claim": "x [d]", "citations": ["d"]}


def test_a_refusal_flag_is_the_token() -> None:
    assert REFUSED == TOKEN
    assert answer({"a": "sorry", "no": True}, "claim=a", "refused=no")["claim"] == TOKEN
    assert answer({"a": "yes", "no": False}, "claim=a", "refused=no")["claim"] == "yes"
    assert answer({"a": "yes", "s": "no_answer"}, "claim=a", "refused=re:^no_answer$@s")["claim"] == TOKEN
    with pytest.raises(MapError, match="expected true or false"):
        answer({"a": "yes", "no": "true"}, "claim=a", "refused=no")


def test_retrieved_texts_are_evidence_by_id_or_by_rank() -> None:
    pairs = ("claim=a", "evidence=sources[*].text")
    record = {"a": "x", **SOURCES}
    assert FieldMap.parse((*pairs, "retrieved_ids=sources[*].id")).trace(record)["evidence"][1] == {
        "id": "doc2",
        "text": "b",
    }
    assert FieldMap.parse(pairs).trace(record)["evidence"][1] == {"id": "2", "text": "b"}


def test_ids_from_numbers_objects_and_lists_of_lists() -> None:
    record = {"a": "x", "hits": [{"ids": [1, 2]}, {"ids": [3]}], "docs": [{"doc_id": "p"}], "odd": [{"name": "x"}]}
    assert FieldMap.parse(["claim=a", "retrieved_ids=hits[*].ids"]).trace(record)["retrieved_ids"] == ["1", "2", "3"]
    assert FieldMap.parse(["claim=a", "retrieved_ids=docs"]).trace(record)["retrieved_ids"] == ["p"]
    with pytest.raises(MapError, match=r"objects with name; add the key to the path"):
        FieldMap.parse(["claim=a", "retrieved_ids=odd"]).trace(record)


def test_gold_and_trace_take_their_own_fields() -> None:
    pairs = ("claim=answer", "gold_claim_substr=expected", "gold.qid=id", "trace.qid=question_id")
    row = FieldMap.parse(pairs, "gold").row({"id": 7, "expected": "x", "answerable": True})
    assert row == {"qid": "7", "gold_claim_substr": ["x"], "expected": "x", "answerable": True}
    assert FieldMap.parse(pairs, "trace").row({"question_id": "q", "answer": "y"})["qid"] == "q"


@pytest.mark.parametrize(
    ("pair", "code"),
    [
        ("clam=answer", "map-field"),
        ("claim", "map-path"),
        ("claim=a..b", "map-path"),
        ("claim=re:(@answer", "map-pattern"),
        ("claim=re:x", "map-path"),
        ("other.claim=a", "map-field"),
        ("gold.claim=a", "map-field"),
    ],
)
def test_a_mapping_that_can_not_be_is_refused(pair: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        FieldMap.parse([pair])
    assert caught.value.code == code


def test_a_pattern_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATTERN_SECONDS", 0.05)
    record = {"a": "a" * 5000 + "b"}
    with pytest.raises(MapError, match="took longer"):
        FieldMap.parse([r"claim=re:(a|b|ab)*(?=c)@a"]).trace({"a": "ab" * 20_000})
    assert FieldMap.parse(["claim=re:a+b@a"]).trace(record)["answer_json"]["claim"] == record["a"]


def test_objects_under_their_ids_flags_and_the_last_of_a_kind() -> None:
    record = {
        "passages": {"p1": {"text": "One.", "used": False}, "p2": {"text": "Two.", "used": True}},
        "docs": [{"id": 1, "used": False}, {"id": 2, "used": True}],
        "said": [{"role": "bot", "t": "One moment."}, {"role": "bot", "t": "Two."}, {"role": "user", "t": "Thanks."}],
        "answered": True,
    }
    mapping = {"retrieved_ids": "keys@passages", "evidence": "passages.*.text", "claim": "said[role=bot][-1].t"}
    trace = FieldMap.parse({**mapping, "citations": "docs[used=true].id", "refused": "not@answered"}).trace(record)
    assert trace["evidence"] == [{"id": "p1", "text": "One."}, {"id": "p2", "text": "Two."}]
    assert trace["answer_json"] == {"claim": "Two.", "citations": ["p2"]}  # the second of what was retrieved
    assert FieldMap.parse({"claim": "a", "refused": "not@b"}).trace({"b": False})["answer_json"]["citations"] == []


@pytest.mark.parametrize("record", [{"a": {"b": ""}}, {"a": {"b": None}}, {"a": None}, {"a": []}, {"a": {}}])
def test_nothing_where_the_answer_is_may_be_a_refusal(record: Any) -> None:
    assert FieldMap.parse({"refused": "empty@a.b"}).trace(record)["answer_json"]["claim"] == "not in context"


def test_paths_step_into_nothing_without_harm() -> None:
    value = {"a": [{"b": 1}, {"b": None}, {}], "t": "text"}
    assert JsonPath.parse("a[*].b").of(value) == [1]
    assert JsonPath.parse("t.x").of(value) is None
    assert JsonPath.parse("a[7].b").of(value) is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"answer": "x"}, {"claim": "answer"}),
        ({"choices": [{"message": {"content": "x"}}]}, {"claim": "choices[0].message.content"}),
        ({"result": {"text": "x"}, "question": "q"}, {"claim": "result.text"}),
        ({"response": "x", "contexts": ["a long passage of text"]}, {"claim": "response", "evidence": "contexts"}),
        ({"output": "x", "retrieved": ["d1", "d2"]}, {"claim": "output", "retrieved_ids": "retrieved"}),
        (
            {"answer": "x [d1]", "documents": [{"metadata": {"id": "d1"}, "page_content": "t"}]},
            {
                "claim": "answer",
                "retrieved_ids": "documents[*].metadata.id",
                "evidence": "documents[*].page_content",
                "citations": "markers@answer",
            },
        ),
        (
            {"text": "x", "citations": [{"doc_id": 1}], "contexts": [{"id": "a"}], "refused": False, "cost_usd": 0.1},
            {
                "claim": "text",
                "retrieved_ids": "contexts[*].id",
                "citations": "citations[*].doc_id",
                "cost_usd": "cost_usd",
                "refused": "refused",
            },
        ),
        ({"nothing": 1}, {}),
        (["a"], {}),
    ],
)
def test_common_shapes_are_proposed(record: Any, expected: dict[str, str]) -> None:
    assert propose(record) == expected
    if expected:
        FieldMap.parse(expected).trace(record)  # what is proposed can be applied


def test_hostile_names_are_shown_escaped() -> None:
    record = {"\x1b[31m\n": {"answer": "x"}}
    assert flags(propose(record)).isprintable() and fields_of(record).isprintable()


def test_proposals_are_typed_as_a_shell_takes_them() -> None:
    assert (
        flags({"claim": "answer", "citations": r"re:\[(\w)\]@a"})
        == r"--map claim=answer --map 'citations=re:\[(\w)\]@a'"
    )
    assert fields_of({"a": {"b.c": 1}, "d": [{"e": 1}], "f": []}) == 'a["b.c"], d[*].e, f'


@pytest.mark.parametrize(
    ("row", "tool"),
    [
        ({"user_input": "q", "response": "a", "retrieved_contexts": []}, "ragas"),
        ({"question": "q", "answer": "a", "contexts": [], "ground_truth": "g"}, "ragas"),
        ({"input": "q", "actual_output": "a"}, "deepeval"),
        ({"evalId": "e", "results": {}}, "promptfoo"),
        ({"question": "q", "answer": "a", "contexts": []}, ""),
        ({"qid": "q", "answer_json": {}}, ""),
    ],
)
def test_rows_of_other_tools_are_named(row: dict[str, Any], tool: str) -> None:
    assert foreign(row) == tool
