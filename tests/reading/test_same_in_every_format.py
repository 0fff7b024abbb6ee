"""The same records give the same report from JSON lines, a JSON array, CSV, TSV, Parquet and an iterable."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conftest import EFFORT, ENGINE
from shipworthy import DataError, ShipworthyError
from shipworthy.core.contracts import Passage, Place
from shipworthy.core.decision import Decision
from shipworthy.core.sources import Input, load_gold, stream_traces
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.retrieval.log import LogLine

Records = list[dict[str, Any]]


def as_lines(path: Path, records: Records) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def as_array(path: Path, records: Records) -> None:
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False), "utf-8")


def as_table(path: Path, records: Records) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if path.suffix == ".tsv" else ",")
    names = names_of(records)
    writer.writerow(names)
    writer.writerows([[as_cell(record.get(name)) for name in names] for record in records])
    path.write_text(text.getvalue(), "utf-8", newline="")


def as_cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_columns(path: Path, records: Records) -> None:
    pyarrow, parquet = parquet_packages()
    columns = {name: pyarrow.array([record.get(name) for record in records]) for name in names_of(records)}
    parquet.write_table(pyarrow.table(columns), path)


@cache
def parquet_packages() -> tuple[Any, Any]:
    return pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")


def names_of(records: Records) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record))


FORMATS: dict[str, Callable[[Path, Records], None]] = {
    "jsonl": as_lines,
    "json": as_array,
    "csv": as_table,
    "tsv": as_table,
    "parquet": as_columns,
}


def written(folder: Path, name: str, records: Records, ending: str) -> Path:
    path = folder / f"{name}.{ending}"
    FORMATS[ending](path, records)
    return path


def told(suite: str, **given: Any) -> object:
    """The report but for what depends on the bytes of files, or the error."""
    try:
        decision: Decision = evaluate(suite, **given)
    except ShipworthyError as error:
        return type(error).__name__
    report = decision.report()
    for block in report["inputs"].values():
        del block["sha256"]
    report["options"].pop("map", None)
    return {name: part for name, part in report.items() if name not in ("run", "digest", "call")}


# --- random records ---

WORDS = st.sampled_from(
    [
        *("It is 49 dollars.", "not in context", " Not in context", "I can't answer that.", "49 dollars", "d1"),
        *("  ", "a;b", "[d1]", "{", "1", "true", "null", "=1+1", "two\nlines", 'a "word"', "tab\there", " x "),
    ]
)
# A blank cell is an absent field, so that a table has no empty text.
TEXTS = WORDS | st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6)
IDS = st.lists(st.sampled_from(["d1", "d2", "d3", "s#4", "7"]), max_size=3)
NUMBERS = st.floats(0, 5000, allow_nan=False) | st.integers(0, 5000)
NOTHING = st.none()


def some(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Records that have each of the fields, or null for it, or not at all."""
    return st.fixed_dictionaries({}, optional={name: value | NOTHING for name, value in fields.items()})


def places(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    named = {"id": st.sampled_from(["d1", "d2", "d3"]), "score": NUMBERS}
    return st.lists(st.fixed_dictionaries(named, optional=more), max_size=3, unique_by=lambda place: place["id"])


ANSWER: dict[str, st.SearchStrategy[Any]] = {
    "claim": TEXTS,
    "citations": IDS,
    "constraints_echo": st.lists(st.sampled_from(["never guess", "cite"]), max_size=2),
}
RUN: dict[str, st.SearchStrategy[Any]] = {
    "question": TEXTS,
    "q": TEXTS,
    "ts": st.floats(1.7e9, 1.8e9),
    "error": st.sampled_from(["timeout", "  "]),
    "ok": st.booleans(),
    "reason": TEXTS,
    "refused": st.booleans(),
    "seed": st.integers(0, 2),
    "jitter": st.sampled_from(["none", "punct"]),
    "paraphrase": st.integers(0, 1),
    "temperature": st.sampled_from([0.0, 0.5]),
    "arm": st.sampled_from(["a", "b"]),
    "knobs": st.fixed_dictionaries({"k": st.integers(0, 2)}, optional={"rerank": TEXTS | NOTHING}),
    "e2e_ms": NUMBERS,
    "latency_total_ms": NUMBERS,
    "stage_ms": st.fixed_dictionaries({"llm": NUMBERS}, optional={"guard": NUMBERS | NOTHING}),
    "tokens": st.fixed_dictionaries({"in": st.integers(0, 9)}, optional={"out": st.integers(0, 9) | NOTHING}),
    "cost_usd": NUMBERS,
    "load_rps": NUMBERS,
    "lambda_state": st.sampled_from(["→", "<>", "x"]),
    "anchor": TEXTS,
    "index_hash": st.sampled_from(["h1", "h2"]),
    "confidence": st.floats(0, 1),
    "answer_citations": places(),
    "warmup": st.booleans(),
    "topic": TEXTS,  # a field of the user's own
}
QUESTION: dict[str, st.SearchStrategy[Any]] = {
    "question": TEXTS,
    "gold_claim_substr": st.lists(st.sampled_from(["49 dollars", "dollars", "x"]), max_size=2),
    "gold_citations": IDS,
    "match": st.sampled_from(["any", "all"]),
    "tolerance": st.sampled_from([0, 0.5]),
    "gold_claim": st.just("It is 49 dollars."),
    "forbidden": st.lists(st.just("free of charge"), max_size=1),
    "constraints": st.lists(st.sampled_from(["never guess", "cite"]), max_size=2),
    "notes": TEXTS,
    "paraphrases": st.lists(st.sampled_from(["How much?", "What price?"]), max_size=2),
    "anchor_section": st.just("s1"),
    "negatives": IDS,
    "type": st.sampled_from(["prose", "table"]),
    "topic": TEXTS,
}


@st.composite
def gold_sets(draw: st.DrawFn) -> Records:
    objects = draw(st.booleans())
    relevant = places(section_id=st.just("s1") | NOTHING) if objects else IDS
    fields = some(QUESTION | {"relevant": relevant})
    return [{"qid": qid, "answerable": qid != "Q3", **draw(fields)} for qid in ("Q1", "Q2", "Q3")]


@st.composite
def trace_files(draw: st.DrawFn) -> Records:
    """Traces of one kind of writer: the answer nested or flat, retrieved texts as texts or as objects."""
    nested, blocks, texts = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    passages = st.lists(TEXTS, max_size=2) if texts else places(text=TEXTS | NOTHING)
    retrieval = {"topk": places(section_id=TEXTS | NOTHING)} if blocks else {"retrieved_ids": IDS}
    traces = []
    for qid in draw(st.permutations(["Q1", "Q2", "Q3", "Q4", "Q1"])):
        trace = {"qid": qid, **draw(some(RUN | {"evidence": passages})), **draw(st.fixed_dictionaries(retrieval))}
        answer = draw(some(ANSWER))
        traces.append(trace | ({"answer_json": answer | {"claim": answer.get("claim")}} if nested else answer))
    return traces


SUITES: dict[str, tuple[str, dict[str, Any]]] = {
    "answers": ("trace", {"by": ("topic",)}),
    "agreement": ("trace", {}),
    "latency": ("trace", {"sweep": "all"}),
    "stability": ("runs", {"sweep": "all"}),
    "retrieval": ("run", {}),
}


@pytest.mark.every_engine
@pytest.mark.parametrize("suite", SUITES)
@settings(max_examples=4 if ENGINE else 20 * EFFORT, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(gold=gold_sets(), traces=trace_files())
def test_the_same_records_give_the_same_report_in_every_format(
    suite: str, gold: Records, traces: Records, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("same")
    role, options = SUITES[suite]
    expected = None
    for ending in FORMATS:
        paths = {"gold": written(folder, "gold", gold, ending), role: written(folder, "trace", traces, ending)}
        found = told(suite, **paths, **options)
        mapped = told(suite, **paths, **options, map=("cost_usd=cost_usd",))
        expected = found if expected is None else expected
        assert found == expected, ending
        assert mapped == expected, f"{ending} with a mapping"
    if not isinstance(expected, str):  # records that are no file are not asked whose they are
        assert told(suite, gold=gold, **{role: traces}, **options) == expected


# --- nulls ---

GOLD_FIELDS: dict[str, Any] = {
    "question": "Price?",
    "gold_claim_substr": ["49 dollars"],
    "gold_citations": ["d1"],
    "match": "all",
    "tolerance": 0.5,
    "gold_claim": "It is 49 dollars.",
    "forbidden": ["free of charge"],
    "constraints": ["cite"],
    "notes": "for people",
    "paraphrases": ["How much?"],
    "relevant": ["d1"],
    "anchor_section": "s1",
    "negatives": ["d9"],
    "type": "prose",
    "history": ["earlier"],
    "q_id": "Q1",
    "id": "Q1",
}
TRACE_FIELDS: dict[str, Any] = {
    "q": "Price?",
    "query": "Price?",
    "question": "Price?",
    "q_id": "Q1",
    "ts": 1.75e9,
    "retrieved_ids": ["d1"],
    "answer_json": {"claim": "x"},
    "claim": "It is 49 dollars.",
    "citations": ["d1"],
    "constraints_echo": ["cite"],
    "refused": False,
    "ok": True,
    "reason": "sure",
    "run_id": "r1",
    "sweep_id": "s1",
    "seed": 1,
    "jitter": "none",
    "paraphrase": 1,
    "temperature": 0.5,
    "arm": "a",
    "knobs": {"k": 3},
    "e2e_ms": 12.5,
    "stage_ms": {"retrieval": 1.5, "llm": 9.5},
    "latency_ms": 12.5,
    "latency_total_ms": 12.5,
    "tokens": {"in": 3, "out": 4},
    "cost_usd": 0.5,
    "load_rps": 2.5,
    "topk": [{"id": "d1", "score": 0.5, "offsets": [0, 9], "type": "prose", "section_id": "s1"}],
    "delta_s": [0.25],
    "ΔS": [0.25],
    "∆S": [0.25],
    "deltaS": [0.25],
    "ΔS_list": [0.25],
    "lambda_state": "→",
    "λ_state": "→",
    "λ": "→",
    "λ_observe": "→",
    "anchor": "s1",
    "index_hash": "h1",
    "answer_citations": [{"id": "d1", "offsets": [0, 9], "section_id": "s1"}],
    "error": "timeout",
    "evidence": [{"id": "d1", "text": "49"}],
    "confidence": 0.5,
    "score": 0.5,
    "scores": {"faithful": 0.5},
    "score_sources": {"faithful": "LLM"},
    "warmup": True,
    "reused_from": "r0",
}


def read_gold_as(path: Path) -> list[object]:
    return list(load_gold(path).items.values())


def read_log_as(path: Path) -> list[object]:
    return [trace for _, trace in stream_traces(path, Input(), record=LogLine)]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("field", GOLD_FIELDS)
def test_a_null_in_gold_is_an_absent_field(field: str, ending: str, tmp_path: Path) -> None:
    others = {name: value for name, value in GOLD_FIELDS.items() if name != field and name not in ("q_id", "id")}
    absent = [{"qid": "Q1", "answerable": True, **others}, {"qid": "Q2", "answerable": False, **others}]
    null = [record | {field: None} for record in absent]
    set_on_one = [absent[0] | {field: GOLD_FIELDS[field]}, null[1]]
    expected = read_gold_as(written(tmp_path, "absent", absent, "jsonl"))
    assert read_gold_as(written(tmp_path, "null", null, ending)) == expected
    assert read_gold_as(written(tmp_path, "one", set_on_one, ending))[1] == expected[1]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("field", TRACE_FIELDS)
def test_a_null_in_a_trace_is_an_absent_field(field: str, ending: str, tmp_path: Path) -> None:
    base = {"retrieved_ids": ["d1", "d2"], "citations": ["d1"], "claim": "It is 49 dollars."}
    others = {name: value for name, value in base.items() if name != field} | {"error": "late"}
    others |= {} if field != "error" else {"error": None}
    absent = [{"qid": qid, **others} for qid in ("Q1", "Q2", "Q3")]
    null = [record | {field: None} for record in absent]
    topped = {"topk": TRACE_FIELDS["topk"]} if "delta" in field or "S" in field else {}
    set_on_two = [absent[0], absent[1] | topped | {field: TRACE_FIELDS[field]}, null[2]]
    expected = read_log_as(written(tmp_path, "absent", absent, "jsonl"))
    assert read_log_as(written(tmp_path, "null", null, ending)) == expected
    if field != "q_id":  # two names of one record
        read = read_log_as(written(tmp_path, "two", set_on_two, ending))
        assert (read[0], read[2]) == (expected[0], expected[2])
        assert read[1] != expected[1] or field in ("refused", "answer_json")


@pytest.mark.parametrize("ending", [*FORMATS, "records"])
@pytest.mark.parametrize(
    "answer",
    [
        {"claim": "not in context", "citations": None, "constraints_echo": None},
        {"claim": None, "citations": []},
        {"claim": "x", "citations": [{"id": "d1", "offsets": None, "section_id": None}]},
    ],
)
def test_nulls_within_an_answer_are_absent(answer: dict[str, Any], ending: str, tmp_path: Path) -> None:
    records = [{"qid": "Q1", "retrieved_ids": ["d1"], "answer_json": answer, "stage_ms": {"llm": 3, "guard": None}}]
    source: Any = records if ending == "records" else written(tmp_path, "t", records, ending)
    ((_, trace),) = stream_traces(source, Input())
    assert trace.answer.claim == (answer["claim"] or "")
    assert list(trace.answer.citations) == ([Place("d1")] if answer["claim"] == "x" else [])
    assert trace.answer.constraints_echo == []
    assert trace.stage_ms == {"llm": 3.0}


# --- an answer at the top level ---


@pytest.mark.parametrize("mapped", [(), ("cost_usd=price",)], ids=["plain", "mapped"])
@pytest.mark.parametrize("ending", [*FORMATS, "records"])
def test_an_answer_at_the_top_level_is_read_like_a_nested_one(
    ending: str, mapped: tuple[str, ...], tmp_path: Path
) -> None:
    records: Records = [
        {"qid": "Q1", "claim": "It is 49 dollars.", "citations": ["d1"], "retrieved_ids": ["d1", "d2"]},
        {"qid": "Q2", "claim": "Gladly.", "refused": True, "citations": ["d1"], "retrieved_ids": ["d1"]},
        {"qid": "Q3", "claim": "No flag.", "refused": False, "retrieved_ids": []},
        {"qid": "Q4", "answer_json": {"claim": "Nested."}, "claim": "Beside.", "citations": ["d1"]},
        {"qid": "Q5", "answer_json": {"claim": "Nested."}, "refused": True, "retrieved_ids": ["d1"]},
        {"qid": "Q6", "claim": "x", "retrieved_ids": ["d1", "d2"], "evidence": ["first", "second"]},
    ]
    source: Any = records if ending == "records" else written(tmp_path, "t", records, ending)
    read = [trace for _, trace in stream_traces(source, Input(), map=mapped)]
    assert [(trace.answer.claim, list(trace.answer.citations)) for trace in read] == [
        ("It is 49 dollars.", ["d1"]),
        ("not in context", []),
        ("No flag.", []),
        ("Nested.", ["d1"]),
        ("not in context", []),
        ("x", []),
    ]
    assert read[5].evidence == [Passage("d1", "first"), Passage("d2", "second")]


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "csv"])
def test_a_refusal_flag_is_true_or_false(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t", [{"qid": "Q1", "claim": "x", "refused": "yes"}], ending)
    with pytest.raises(DataError, match="refused: expected true or false, found") as caught:
        list(stream_traces(path, Input()))
    assert caught.value.code == "map-value"


def test_a_long_file_whose_later_lines_are_flat_is_read_alike(tmp_path: Path) -> None:
    """Lines are checked many at a time: those of another shape are told from the others."""
    nested = [{"qid": f"A{n}", "retrieved_ids": ["d1"], "answer_json": {"claim": "x"}} for n in range(3000)]
    flat = [{"qid": f"B{n}", "retrieved_ids": ["d1"], "claim": "y"} for n in range(3000)]
    for records in (nested + flat, flat + nested):
        path = written(tmp_path, "t", records, "jsonl")
        read = [trace for _, trace in stream_traces(path, Input())]
        assert {(trace.qid[0], trace.answer.claim) for trace in read} == {("A", "x"), ("B", "y")}
        assert len(read) == 6000


# --- what a table must not hide ---


@pytest.mark.parametrize("reads", [lambda path: list(stream_traces(path, Input())), load_gold])
def test_a_parquet_column_that_occurs_twice_is_refused(reads: Callable[[Path], object], tmp_path: Path) -> None:
    pyarrow, parquet = parquet_packages()
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table([["Q1"], ["bad"], ["good"]], names=["qid", "claim", "claim"]), path)
    with pytest.raises(DataError, match="'claim' occurs twice") as caught:
        reads(path)
    assert caught.value.code == "repeated-key"


def test_a_parquet_field_of_an_object_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    pyarrow, parquet = parquet_packages()
    text = pyarrow.string()
    kind = pyarrow.struct([("claim", text), ("claim", text)])
    parts = [pyarrow.array(["bad"]), pyarrow.array(["good"])]
    answers = pyarrow.StructArray.from_arrays(parts, fields=list(kind))
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table([pyarrow.array(["Q1"]), answers], names=["qid", "answer_json"]), path)
    with pytest.raises(DataError, match=r"'answer_json\.claim' occurs twice") as caught:
        list(stream_traces(path, Input()))
    assert caught.value.code == "repeated-key"


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("answer_json", '{"claim": "bad", "claim": "good"}'),
        ("e2e_ms", "nan"),
        ("e2e_ms", "inf"),
        ("e2e_ms", "1_000"),
        ("e2e_ms", "\u0661\u0662"),
        ("seed", "\u00b2"),
        ("stage_ms", '{"llm": NaN}'),
        ("retrieved_ids", "[1, 2]"),
        ("knobs", "[" * 600 + "]" * 600),
    ],
)
def test_a_cell_is_read_as_strictly_as_a_line(column: str, cell: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t", [{"qid": "Q1", column: cell}], "csv")
    with pytest.raises(DataError) as caught:
        list(stream_traces(path, Input()))
    assert caught.value.code in ("map-value", "type")
    assert column in str(caught.value)


def test_tables_keep_offsets_times_by_stage_and_lists_of_numbers(tmp_path: Path) -> None:
    relevant = [{"id": "d1", "offsets": [3, 9]}]
    gold = load_gold(written(tmp_path, "g", [{"qid": "Q1", "answerable": True, "relevant": relevant}], "csv"))
    assert gold.items["Q1"].relevant == [Place("d1", (3, 9))]
    record = {"qid": "Q1", "topk": [{"id": "d1"}, {"id": "d2"}], "latency_ms": {"llm": 4.5}, "ΔS": "0.1; 0.25"}
    ((_, line),) = stream_traces(written(tmp_path, "t", [record], "csv"), Input(), record=LogLine)
    assert (line.latency_ms, line.delta_s) == ({"llm": 4.5}, [0.1, 0.25])


def test_a_table_of_our_own_runs_is_read_by_its_columns(tmp_path: Path) -> None:
    record = {"qid": "Q1", "sweep_id": "s1", "answer_json": {"claim": "x"}, "e2e_ms": 3.5, "note": "y"}
    ((_, trace),) = stream_traces(written(tmp_path, "t", [record], "csv"), Input(), map=("claim=note",))
    assert (trace.answer.claim, trace.e2e_ms, trace.sweep_id) == ("x", 3.5, "s1")


def test_a_parquet_column_that_begins_with_nulls_is_read(tmp_path: Path) -> None:
    records: Iterable[dict[str, Any]] = ({"qid": f"Q{n}", "delta_s": [0.5] if n > 1 else None} for n in range(4))
    read = [trace.delta_s for _, trace in stream_traces(written(tmp_path, "t", list(records), "parquet"), Input())]
    assert read == [None, None, [0.5], [0.5]]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_slice_has_the_same_name_in_every_format(ending: str, tmp_path: Path) -> None:
    gold = [{"qid": f"Q{n}", "answerable": True, "hard": n > 1, "level": n} for n in (1, 2)]
    traces = [{"qid": f"Q{n}", "claim": "x"} for n in (1, 2)]
    paths = written(tmp_path, "gold", gold, ending), written(tmp_path, "trace", traces, ending)
    assert set(evaluate(*paths, by=("hard", "level")).slices) == {"hard=true", "hard=false", "level=1", "level=2"}
