"""Keys of gold items and traces: misspelt ones are refused, the user's own are not, repeated ones never hide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, REAL_DATA, Cli, gold, trace, write_lines
from shipworthy import evaluate
from shipworthy.core.contracts import Trace, gold_keys, trace_keys
from shipworthy.core.sources import Input, load_gold, stream_traces
from shipworthy.errors import ShipworthyError
from shipworthy.reading.jsonl import BadLines, Problems, Reader
from shipworthy.reading.limits import MAX_KEYS
from shipworthy.reading.strict import Refused, strict_object


def renamed(record: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in record.items()}


GOLD = gold("A", constraints=["cite the page"], paraphrases=["Which?"])
TRACE = trace("A", echo=["cite the page"])

MISSPELT_GOLD = [
    ("gold_citations", "gold_citation"),
    ("gold_citations", "goldCitations"),
    ("gold_claim_substr", "gold_claim_substring"),
    ("constraints", "constraint"),
    ("constraints", "Constraints"),
    ("answerable", "answerible"),
    ("paraphrases", "paraphrase"),
]
MISSPELT_TRACE = [
    ("retrieved_ids", "retreived_ids"),
    ("retrieved_ids", "retrieved-ids"),
    ("answer_json", "answer_jsn"),
    ("answer_json", "answerJson"),
]


@pytest.mark.parametrize(("known", "written"), MISSPELT_GOLD)
@pytest.mark.parametrize("rows_before", [0, 3])
def test_a_misspelt_key_of_a_gold_item_is_an_error(known: str, written: str, rows_before: int, tmp_path: Path) -> None:
    rows = [gold(f"B{n}") for n in range(rows_before)] + [renamed(GOLD, known, written)]
    with pytest.raises(BadLines, match=f"unknown key '{written}'. Did you mean {known}") as caught:
        load_gold(write_lines(tmp_path / "gold.jsonl", rows))
    assert caught.value.code == "unknown-key"
    assert caught.value.where.endswith(f":{rows_before + 1}")
    with pytest.raises(BadLines, match="unknown key"):
        load_gold(rows)


@pytest.mark.parametrize(("known", "written"), MISSPELT_TRACE)
@pytest.mark.parametrize("rows_before", [0, 3])
def test_a_misspelt_key_of_a_trace_is_an_error(known: str, written: str, rows_before: int, tmp_path: Path) -> None:
    rows = [trace(f"B{n}") for n in range(rows_before)] + [renamed(TRACE, known, written)]
    path = write_lines(tmp_path / "trace.jsonl", rows)
    with pytest.raises(BadLines, match=f"unknown key '{written}'. Did you mean {known}"):
        list(stream_traces(path, Input()))


@pytest.mark.parametrize(("known", "written"), [("citations", "citation"), ("constraints_echo", "constraint_echo")])
def test_a_misspelt_key_of_an_answer_is_an_error(known: str, written: str, tmp_path: Path) -> None:
    row = TRACE | {"answer_json": renamed(TRACE["answer_json"], known, written)}
    with pytest.raises(BadLines, match=f"unknown key '{written}'. Did you mean {known}"):
        list(stream_traces(write_lines(tmp_path / "t.jsonl", [trace("B"), row]), Input()))


OWN = {
    "team": "a",
    "lang": "en",
    "unanswerable": True,
    "gold_claim": "The right answer.",
    "tolerance": 1,
    "answer": "x",
}
OF_TOOLS = {"errors": [], "evidences": [], "retrieved_docs": [], "latency_s": 3, "scores": [1], "top_k": 5, "id": "7"}


def test_fields_of_the_users_own_are_no_mistakes(tmp_path: Path) -> None:
    golds, rows = [GOLD | OWN, gold("B") | OWN], [TRACE | OF_TOOLS, trace("B") | OF_TOOLS]
    decision = evaluate(write_lines(tmp_path / "g.jsonl", golds), write_lines(tmp_path / "t.jsonl", rows))
    assert [item["status"] for item in decision.items] == ["shipped", "shipped"]


def test_a_near_key_beside_the_known_one_is_the_users_own(tmp_path: Path) -> None:
    rows = [GOLD | {"constraint": "x"}, gold("B") | {"gold_citation": []}]
    assert len(load_gold(write_lines(tmp_path / "g.jsonl", [rows[0]])).items) == 1
    assert len(load_gold(write_lines(tmp_path / "h.jsonl", [rows[1]])).items) == 1


def test_a_field_to_slice_by_may_have_any_name(tmp_path: Path) -> None:
    rows = [GOLD | {"team": "a"}, gold("B") | {"team": "b", "constraint": "x"}]
    with pytest.raises(BadLines, match="unknown key 'constraint'"):
        load_gold(write_lines(tmp_path / "g.jsonl", rows), by=["team"])


def test_a_file_that_makes_up_keys_costs_a_bounded_number_of_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import difflib

    compared = 0

    def counting(*args: Any) -> list[str]:
        nonlocal compared
        compared += 1
        return real(*args)

    real = difflib.get_close_matches
    monkeypatch.setattr(difflib, "get_close_matches", counting)
    rows = [trace(f"Q{n}") | {f"made_up_{n}_{m}": 1 for m in range(20)} for n in range(500)]
    assert len(list(stream_traces(write_lines(tmp_path / "t.jsonl", rows), Input()))) == 500
    assert compared <= MAX_KEYS


def test_no_file_of_another_tool_has_a_misspelt_key() -> None:
    """Records of 17 tools and data sets that nobody here wrote: not one key is taken for a misspelt one of ours."""
    folders = [REAL_DATA, REAL_DATA.parent / "exports"]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip("shared data and exports are not on this machine (SHIPWORTHY_DATA)")
    gold_side, trace_side = gold_keys(), trace_keys()
    objects = 0
    for path in (path for folder in folders for path in sorted(folder.rglob("*.jsonl"))):
        for line in path.read_bytes().split(b"\n")[:300]:
            try:
                value = strict_object(line.strip())
            except Refused:
                continue
            objects += 1
            assert not [name for name in value if gold_side.meant(name) or trace_side.meant(name)], path
    assert objects > 1000


# --- repeated keys ---

REPEATS = {
    "at the top": b'{"qid":"A","error":"boom","error":null}',
    "of a key that nobody reads": b'{"qid":"A","x":1,"x":2}',
    "in an answer": b'{"qid":"A","answer_json":{"claim":"bad","claim":"good"}}',
    "deep inside": b'{"qid":"A","knobs":{"a":[{"b":1,"c":2,"b":3}]}}',
    "with blanks before the colon": b'{"qid" :"B","qid":"A"}',
    "with a tab before the colon": b'{"qid"\t:"B","qid" : "A"}',
    "with an escaped letter": b'{"qid":"B","\\u0071id":"A"}',
    "with an escape and a blank": b'{"\\u0071id" :"B","qid":"A"}',
    "hidden by an escaped colon": b'{"qid":"A","q":"x\\u003ay","error":"boom","error":null}',
    "hidden by an escaped quote": b'{"qid":"A","q":"x\\u0022:y","error":"boom","error":null}',
    "of one block": b'{"qid":"A","topk":[{"id":"d1","id":"d2"},{"id":"d3"}]}',
    "of a key with a colon": b'{"qid":"A","a:b":1,"a:b":2}',
    "of the empty key": b'{"qid":"A","":1,"":2}',
    "of a key beyond ASCII": '{"qid":"A","λ":"→","λ":"×"}'.encode(),
    "in capitals of the escape": b'{"qid":"A","x\\u00E9":1,"x\\u00e9":2}',
    "escaped beyond ASCII": '{"qid":"A","é":1,"\\u00e9":2}'.encode(),
}


@pytest.mark.parametrize("name", REPEATS)
@pytest.mark.parametrize("record", [Trace, dict])
def test_a_repeated_key_is_refused_wherever_it_stands(name: str, record: type[Any], tmp_path: Path) -> None:
    good = json.dumps(trace("G")).encode()
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join([good, REPEATS[name], good]) + b"\n")
    problems = Problems()
    assert len(list(Reader(path, record, problems))) == 2
    assert [(problem.line, problem.code) for problem in problems.first] == [(2, "repeated-key")]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", ":", '"', "\\", '":', "é", "\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(st.sampled_from("ab:é"), inner), max_size=3),
    max_leaves=6,
)


def written(value: Any, blank: str) -> str:
    """JSON of nested lists and lists of pairs, which may repeat a key."""
    if isinstance(value, list) and value and all(isinstance(part, tuple) for part in value):
        return "{" + ",".join(f"{json.dumps(k)}{blank}:{written(v, blank)}" for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(part, blank) for part in value) + "]"
    return json.dumps(value)


@settings(max_examples=167 * EFFORT, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.sampled_from("abc"), values), max_size=4),
    blank=st.sampled_from(["", " ", "\t"]),
    noise=st.binary(max_size=3),
)
def test_the_fast_path_reads_what_the_definition_reads(
    pairs: Any, blank: str, noise: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Objects with and without repeated keys, some of them damaged: the same value as the strict parser, or refused."""
    line = (written(pairs, blank) if pairs else "{}").encode()
    line = line.replace(b",", b"," + noise.replace(b"\n", b""), 1)
    path = tmp_path_factory.mktemp("agree") / "t.jsonl"
    path.write_bytes(b'{"first":1}\n' + line + b"\n")
    problems = Problems()
    found = [value for _, value in Reader(path, dict, problems)][1:]
    try:
        wanted = [strict_object(line.strip())]
    except Refused:
        wanted = []
    assert found == wanted
    assert problems.total == 1 - len(wanted)


def test_the_fast_path_agrees_with_the_definition_on_a_public_suite(tmp_path: Path) -> None:
    """JSONTestSuite as the value of a key: what the definition refuses is refused by the reader too."""
    folder = REAL_DATA / "badinput" / "JSONTestSuite" / "test_parsing"
    if not folder.is_dir():
        pytest.skip("JSONTestSuite is not on this machine (SHIPWORTHY_DATA)")
    seen = 0
    for case in sorted(folder.glob("*.json")):
        content = case.read_bytes()
        if b"\n" in content or len(content) > 100_000:
            continue
        line = b'{"x":' + content + b"}"
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"{}\n" + line + b"\n")
        problems = Problems()
        found = [value for _, value in Reader(path, dict, problems)][1:]
        try:
            wanted = [strict_object(line)]
        except Refused:
            wanted = []
        assert (found, problems.total) == (wanted, 1 - len(wanted)), case.name
        seen += 1
    assert seen > 250


# --- what a gold item expects ---


@pytest.mark.parametrize("field", ["gold_claim_substr", "gold_citations", "constraints"])
@pytest.mark.parametrize("blank", ["", "  ", "\t\u00a0", "\u200b", "\u2060 \ufeff"])
def test_blank_expectations_are_refused(field: str, blank: str, tmp_path: Path) -> None:
    row = gold("A", constraints=["c"])
    row[field] = [*row[field], blank]
    with pytest.raises(BadLines, match=f"{field} has a blank entry") as caught:
        load_gold(write_lines(tmp_path / "g.jsonl", [row]))
    assert caught.value.code == "gold-blank"


def test_a_blank_expectation_never_ships(tmp_path: Path, cli: Cli) -> None:
    golds = write_lines(tmp_path / "g.jsonl", [gold("A", [""])])
    traces = write_lines(tmp_path / "t.jsonl", [trace("A", "anything")])
    for more in ((), ("--profile", "reference")):
        ran = cli("score", "--gold", golds, "--trace", traces, "--gates", "precision=0.5", *more)
        assert ran.code == 3 and "gold-blank" in ran.err


def test_min_substr_of_zero_is_refused(tmp_path: Path, cli: Cli) -> None:
    from shipworthy.suites.answers.lint import lint

    golds, traces = write_lines(tmp_path / "g.jsonl", [GOLD]), write_lines(tmp_path / "t.jsonl", [TRACE])
    assert cli("score", "--gold", golds, "--trace", traces, "--min-substr", "0").code == 2
    with pytest.raises(ShipworthyError, match="at least 1"):
        evaluate(golds, traces, min_substr=0)
    with pytest.raises(ShipworthyError, match="at least 1"):
        lint(golds, min_substr=0)


def test_lint_lists_the_keys_that_no_suite_reads(tmp_path: Path, cli: Cli) -> None:
    rows = [gold("A", team="x", difficulty=3), gold("B", team="y"), gold("C", ["other words"])]
    ran = cli("gold", "lint", write_lines(tmp_path / "g.jsonl", rows))
    assert "no suite reads these keys: team (2), difficulty (1)." in ran.out
    assert ran.out.count("[gold-keys]") == 1
    assert "[gold-keys]" not in cli("gold", "lint", write_lines(tmp_path / "h.jsonl", [GOLD])).out
