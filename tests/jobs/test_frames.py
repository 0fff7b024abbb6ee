"""Tables of pandas, Polars, pyarrow and Hugging Face in and out, and what a decision shows in a notebook."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import shipworthy
from conftest import ROOT
from shipworthy import DataError, UsageError, evaluate

HELLO = ROOT / "examples" / "hello"
pa = pytest.importorskip("pyarrow")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HELLO / name).read_text("utf-8").splitlines()]


GOLD, TRACES = lines("gold.jsonl"), lines("trace.jsonl")


def table(library: str, rows: list[dict[str, Any]]) -> Any:
    module = pytest.importorskip(library)
    if library == "pandas":
        return module.DataFrame(rows)
    if library == "polars":
        return module.DataFrame(rows, infer_schema_length=None)
    if library == "pyarrow":
        return module.Table.from_pylist(rows)
    return module.Dataset.from_list(rows)


def digest(decision: shipworthy.Decision) -> dict[str, Any]:
    report = decision.report()
    return {name: report[name] for name in ("decision", "metrics", "items", "offenders", "counts")}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])
def test_a_table_is_judged_as_its_rows_are_and_comes_back(library):
    plain = evaluate(GOLD, TRACES)
    decision = evaluate(table(library, GOLD), table(library, TRACES))
    assert digest(decision) == digest(plain)
    frame = decision.frame()
    assert type(frame).__module__.startswith(library)
    assert [str(name) for name in frame["qid"]] == [row["qid"] for row in plain.items]
    assert type(evaluate(GOLD, TRACES).frame(library)) is type(frame)


@pytest.mark.parametrize("library", ["", "pandas", "polars", "pyarrow"])
def test_questions_are_asked_from_a_table(library, tmp_path):
    gold = table(library, GOLD) if library else GOLD
    summary = shipworthy.run(gold, "demo", tmp_path / "t.jsonl")
    asked = [json.loads(line)["q"] for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines()]
    assert summary.planned == len(GOLD) and sorted(asked) == sorted(item["question"] for item in GOLD)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])
def test_other_suites_take_tables_too(library):
    runs = [trace | {"seed": seed, "jitter": "none"} for trace in TRACES for seed in (0, 1, 2)]
    plain = evaluate("stability", gold=GOLD, runs=runs)
    assert digest(evaluate("stability", gold=table(library, GOLD), runs=table(library, runs))) == digest(plain)


def test_any_iterable_of_mappings(tmp_path):
    from types import MappingProxyType

    plain = digest(evaluate(GOLD, TRACES))
    assert digest(evaluate((MappingProxyType(row) for row in GOLD), iter(TRACES))) == plain
    assert digest(evaluate(tuple(GOLD), dict(enumerate(TRACES)).values())) == plain


def test_anything_that_speaks_arrow(tmp_path):
    class Relation:
        def __init__(self, rows: list[dict[str, Any]]) -> None:
            self.rows = rows

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.Table.from_pylist(self.rows).__arrow_c_stream__(requested_schema)

    decision = evaluate(Relation(GOLD), pa.Table.from_pylist(TRACES).to_reader())
    assert digest(decision) == digest(evaluate(GOLD, TRACES))
    assert isinstance(decision.frame(), pa.Table)


def test_pandas_with_all_that_is_odd_in_it(tmp_path):
    """A frame as read_csv gives it: texts for lists, floats for whole numbers, NaN for what is not there."""
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "gold.csv"
    path.write_text(
        "qid,question,answerable,gold_claim_substr,gold_citations,team\n"
        '1,How long?,true,30 days,"[""a""]",x\n2,Who?,false,,,\n3,When?,true,9:00;nine,b,y\n',
        "utf-8",
    )
    frame = pandas.read_csv(path)
    frame["team"] = frame["team"].astype("category")
    traces = pandas.DataFrame(
        {
            "qid": ["1", "2", "3"],
            "claim": ["30 days", "not in context", "at nine"],
            "citations": [numpy.array(["a"]), [], ["b"]],
            "retrieved_ids": [["a"], ["c"], numpy.array(["b", "c"])],
            "seed": [0, None, 1],
            "e2e_ms": [numpy.float64(1.5), float("nan"), pandas.NA],
            "ts": pandas.to_datetime(["2026-01-01", "2026-01-02", None]),
        }
    )
    decision = evaluate(frame, traces, by="team")
    assert decision.measures["precision"].k == 2
    assert {"team=x", "team=y"} <= set(decision.slices)
    assert digest(evaluate(frame.set_index("qid"), traces.set_index("qid"), by="team")) == digest(decision)
    assert digest(evaluate(str(path), traces, by="team")) == digest(decision)


def test_an_empty_answer_stays_one():
    polars = pytest.importorskip("polars")
    rows = [{"qid": row["qid"], "claim": "", "citations": [], "retrieved_ids": ["a"]} for row in GOLD]
    assert digest(evaluate(GOLD, polars.DataFrame(rows, schema_overrides=SCHEMA))) == digest(evaluate(GOLD, rows))


try:
    import polars

    SCHEMA: Any = {"citations": polars.List(polars.String)}
except ImportError:
    SCHEMA = None


def refusals() -> list[tuple[str, Any, str]]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    twice = pandas.DataFrame([["1", "a", "b"]], columns=["qid", "question", "question"])
    return [
        ("twice", twice, "two columns named 'question'"),
        ("arrow twice", pa.Table.from_arrays([pa.array(["1"])] * 2, names=["qid", "qid"]), "two columns named 'qid'"),
        ("nested names", pandas.DataFrame([["1"]], columns=pandas.MultiIndex.from_tuples([("a", "qid")])), "no text"),
        ("numbered", pandas.DataFrame([["1", "a"]]), "named 0"),
        ("infinite", pandas.DataFrame({"qid": ["1"], "weight": [float("inf")]}), "weight: a number is not finite"),
        ("object", pandas.DataFrame({"qid": ["1"], "extra": [object()]}), "extra: a object has no place"),
        ("lazy", polars.LazyFrame({"qid": ["1"]}), ".collect()"),
        ("series", pandas.Series(["1"], name="qid"), "a single column"),
        ("column", pa.chunked_array([["1"]]), "a single column"),
        ("index", pandas.DataFrame({"qid": ["1"]}, index=pandas.Index(["2"], name="qid")), "an index and a column"),
        ("cell", pandas.DataFrame({"qid": ["1"], "answerable": ["perhaps"]}), "answerable"),
    ]


@pytest.mark.parametrize("name", ["twice", "arrow twice", "nested names", "numbered", "infinite", "object", "lazy"])
def test_tables_that_can_not_be_read_say_why(name):
    _refused(name)


@pytest.mark.parametrize("name", ["series", "column", "index", "cell"])
def test_other_tables_that_can_not_be_read_say_why(name):
    _refused(name)


def _refused(name: str) -> None:
    source, said = next((source, said) for known, source, said in refusals() if known == name)
    with pytest.raises(DataError) as refusal:
        evaluate(source, TRACES)
    assert refusal.value.code == "frame"
    assert said in str(refusal.value)
    assert "<gold>" in str(refusal.value)


def test_a_dataset_with_splits_is_refused():
    datasets = pytest.importorskip("datasets")
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_list(GOLD)})
    with pytest.raises(DataError, match="several splits: train"):
        evaluate(splits, TRACES)


def test_a_frame_of_no_library_is_an_error():
    with pytest.raises(UsageError, match="Use one of pandas, polars, pyarrow, datasets"):
        evaluate(GOLD, TRACES).frame("excel")


# what a decision says to people who program

BAD = [
    {**TRACES[0], "answer_json": {"claim": "<script>alert(1)</script> & never", "citations": ["x"]}},
    *TRACES[1:],
]


def test_failures_and_items_by_name():
    decision = evaluate(GOLD, BAD)
    worst = decision.failures[0]
    assert worst["qid"] == GOLD[0]["qid"] and worst["reason"] and worst["says"]
    assert decision.item(worst["qid"]) == worst
    passing = next(row for row in decision.items if row["reason"] == "")
    assert decision.item(passing["qid"]) == passing
    assert [row["qid"] for row in decision.failures] == [row["qid"] for row in decision.items if row["reason"]]
    with pytest.raises(UsageError, match=f"Did you mean {worst['qid']}"):
        decision.item(worst["qid"].lower())
    arms = [trace | {"arm": arm, "e2e_ms": 5} for trace in TRACES for arm in ("a", "b")]
    by_arm = evaluate("latency", gold=GOLD, trace=arms, only_gates=True, gates="missing<=0")
    several = [row for row in by_arm.items if row["qid"] == GOLD[0]["qid"]]
    if len(several) > 1:
        with pytest.raises(UsageError, match="several rows"):
            by_arm.item(GOLD[0]["qid"])


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


def test_a_notebook_shows_verdict_gates_and_failing_questions_and_nothing_that_runs(tmp_path):
    decision = evaluate(GOLD, BAD)
    shown = decision._repr_html_()
    parsed = Tags()
    parsed.feed(shown)
    assert not parsed.attributes
    assert parsed.tags <= {"div", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert decision.verdict in shown and "correct and cited (precision)" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; never" in shown
    assert "None" not in re.sub(r"<[^>]+>", " ", shown)
    (tmp_path / "shipworthy.toml").write_text(
        f'[suites.answers]\ngold = "{HELLO}/gold.jsonl"\ntrace = "{HELLO}/trace.jsonl"\n'
        '[suites.stability]\ngold = "none.jsonl"\nruns = "none.jsonl"\n'
    )
    board = shipworthy.check(tmp_path / "shipworthy.toml", record=False)._repr_html_()
    assert "stability could not be run" in board and "SHIP" in board


def test_the_notebook_in_examples_runs_cell_by_cell(tmp_path, monkeypatch):
    """By the standard library: code cells in order, and what the last line of each shows."""
    import ast

    notebook = json.loads((ROOT / "examples" / "notebook.ipynb").read_text("utf-8"))
    assert notebook["nbformat"] == 4 and not any(cell.get("outputs") for cell in notebook["cells"])
    monkeypatch.chdir(ROOT / "examples")
    space: dict[str, Any] = {"__name__": "__main__"}
    shown: list[Any] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "notebook", "exec"), space)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), space))
    kinds = [getattr(value, "_repr_html_", SimpleNamespace)() for value in shown]
    assert any(isinstance(kind, str) and "NO-SHIP" in kind for kind in kinds)
    assert len(shown) >= 4


def test_nothing_is_imported_without_a_table():
    import subprocess
    import sys

    program = (
        "import sys, json\nfrom shipworthy import evaluate\n"
        f"evaluate({str(HELLO / 'gold.jsonl')!r}, {str(HELLO / 'trace.jsonl')!r})._repr_html_()\n"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'datasets', 'numpy'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    assert Path(HELLO).exists()
