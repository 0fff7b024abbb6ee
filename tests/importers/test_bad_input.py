"""Damaged, foreign and hostile exports: an error that says what was recognised, and nothing written."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from importer_exports import EXPORTS, otlp, span, write

from shipworthy.cli import main
from shipworthy.codes import CODES
from shipworthy.errors import ShipworthyError
from shipworthy.importers import Importer, Options
from shipworthy.reading import mapping

SPANS = EXPORTS / "otel" / "genai_1_41.otlp.jsonl"
LINES = SPANS.read_text("utf-8").splitlines()


def refused(*paths: str | Path, **options: Any) -> ShipworthyError:
    with pytest.raises(ShipworthyError) as refusal:
        importer = Importer([str(path) for path in paths], options=Options(**options))
        list(importer.traces())
        importer.refuse_nothing()
    return refusal.value


def placed(folder: Path, text: str | bytes, name: str = "x.json") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "import-empty"),
        ("  \n ", "import-empty"),
        ("[]", "import-empty"),
        (LINES[0][:-9], "truncated"),
        (LINES[0] + "\n" + LINES[1][:300], "truncated"),
        ("[" + LINES[0], "truncated"),
        (LINES[0][:-40] + "\n" + LINES[1], "truncated"),
        (LINES[0] + "\n42\n", "json"),
        ("[1, 2]", "json"),
        (LINES[0] + ",\n" + LINES[1], "json"),
        ('{"resourceSpans": [], "resourceSpans": []}', "repeated-key"),
        ('{"a": "' + "[" * 10 + '"}', "import-format"),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + "}", "too-deep"),
        (b'{"a": "\xff"}', "encoding"),
        ("<testsuites/>", "import-format"),
        ("interactions:\n- request: 1\n", "import-format"),
        ("just some words, with a comma\n", "import-empty"),
        ('q,a\n"cut off', "truncated"),
        ("user_input,response\nonly one cell\n", "truncated"),
        ("H1 Q0 d1 1 0.5 run\nH1 Q0 d2\n", "truncated"),
        ("PAR1 but not really", "parquet"),
    ],
)
def test_files_that_can_not_be_read(tmp_path, text, code):
    assert refused(placed(tmp_path, text)).code == code


def test_errors_name_the_line(tmp_path):
    error = refused(placed(tmp_path, "\n".join([*LINES[:3], LINES[3][:200]])))
    assert error.where.endswith("x.json:4")


def test_a_file_of_two_formats_is_refused_wherever_they_meet(tmp_path):
    run = {"id": "r", "run_type": "chain", "trace_id": "t", "inputs": {"input": "Why?"}}
    for lines in ([*LINES[:2], json.dumps(run)], [*LINES * 2, json.dumps(run)], [json.dumps(run), LINES[0]]):
        error = refused(placed(tmp_path, "\n".join(lines)))
        assert error.code == "import-mixed"
        assert "OpenTelemetry" in str(error)
        assert "LangSmith" in str(error)


def test_files_of_two_tools_are_not_imported_together():
    error = refused(SPANS, EXPORTS / "ragas" / "v01_columns.jsonl")
    assert error.code == "import-mixed"
    assert "ragas dataset" in str(error)


def test_a_wrong_format_that_was_asked_for(tmp_path):
    error = refused(SPANS, format="ragas")
    assert error.code == "import-format"
    assert "OpenTelemetry" in str(error)


def test_spans_may_come_in_any_order(tmp_path):
    backwards = placed(tmp_path, "\n".join(reversed(LINES)))
    one, two = (list(Importer([str(path)]).traces()) for path in (SPANS, backwards))
    assert one == two


def test_a_span_that_is_exported_twice_is_one(tmp_path):
    importer = Importer([str(placed(tmp_path, "\n".join([*LINES, *LINES[:5]])))])
    assert len(list(importer.traces())) == 9
    assert importer.coverage.repeated == 5


def test_two_different_spans_with_one_id_are_refused(tmp_path):
    error = refused(write(tmp_path, otlp(span("f0", input__value="a")), otlp(span("f0", input__value="b"))))
    assert error.code == "import-duplicate"
    assert "export.jsonl:1" in str(error)
    assert error.where.endswith(":2")


@pytest.mark.parametrize(
    "parents", [{"a0": "a0"}, {"a0": "b0", "b0": "a0"}, {"f0": "", "a0": "b0", "b0": "c0", "c0": "a0"}]
)
def test_parents_in_a_circle_are_refused(tmp_path, parents):
    spans = [span(name, parent, input__value="Why?", output__value="So.") for name, parent in parents.items()]
    assert refused(write(tmp_path, otlp(*spans))).code == "import-cycle"


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (
            {
                "results": {
                    "version": 9,
                    "results": [{"prompt": {}, "vars": {"q": "?"}, "response": {"output": "x"}, "success": True}],
                }
            },
            "promptfoo",
        ),
        ({"info": {"trace_metadata": {"mlflow.trace_schema.version": "17"}}, "data": {"spans": []}}, "mlflow"),
    ],
)
def test_versions_nobody_knows(tmp_path, record, name):
    path = write(tmp_path, record)
    error = refused(path)
    assert error.code == "import-version"
    assert f"--from {name}" in str(error)
    assert Importer([path], options=Options(format=name)).coverage.files[0].format == name


@pytest.mark.parametrize(
    "cell",
    [
        "['Alpha.' 'Beta.']",  # NumPy: Python would read one text
        "[array(['Alpha.'], dtype=object)]",
        "[Document(page_content='Alpha.')]",
        "['cut off, 'here']",
    ],
)
def test_reprs_that_can_not_be_read_back(tmp_path, cell):
    path = placed(tmp_path, f'user_input,response,retrieved_contexts\nWhy?,So.,"{cell}"\n')
    assert refused(path).code == "import-repr"


@pytest.mark.parametrize("cell", ["=SUM(A1:A3)", "=B2", '=HYPERLINK(""http://x"")', "=$A$1&B2"])
def test_formulas_are_not_answers(tmp_path, cell):
    path = placed(tmp_path, f'question,answer\nWhy?,"{cell}"\n')
    assert refused(path, maps=("q=question", "claim=answer")).code == "import-formula"


@pytest.mark.parametrize("cell", ["= is a sign", "=5", "-3 °C", "+49 30", "@home"])
def test_answers_that_only_begin_like_formulas(tmp_path, cell):
    path = placed(tmp_path, f'question,answer\nWhy?,"{cell}"\n')
    traces = Importer([str(path)], options=Options(maps=("q=question", "claim=answer"))).traces()
    assert next(iter(list(traces)))["answer_json"]["claim"] == cell


def test_a_literal_in_a_cell_is_never_run(tmp_path):
    marker = tmp_path / "ran"
    cell = f"[__import__('pathlib').Path('{marker}').touch()]"
    refused(placed(tmp_path, f'user_input,response,retrieved_contexts\nWhy?,So.,"{cell}"\n'))
    assert not marker.exists()


@pytest.mark.parametrize(
    ("mapped", "code"),
    [
        ("nothing", "map-path"),
        ("colour=answer", "map-field"),
        ("claim=", "map-path"),
        ("claim=re:(@answer", "map-pattern"),
        ("claim=no_such_column", "map-nothing"),
        ("seed=answer", "import-map"),
    ],
)
def test_mappings_that_name_nothing(tmp_path, mapped, code):
    path = placed(tmp_path, "question,answer\nWhy?,So.\n")
    assert refused(path, maps=(mapped,)).code == code


def test_a_pattern_that_takes_too_long_is_told_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(mapping, "PATTERN_SECONDS", 0.01)
    path = placed(tmp_path, f"question,answer\nWhy?,{'a' * 4000}\n")
    problem = refused(path, maps=("claim=re:(a|aa)+$b@answer",))
    assert problem.code == "map-value" and ":2" in str(problem)


def test_an_unknown_table_lists_what_it_has(tmp_path):
    error = refused(placed(tmp_path, "topic,words\nWhy?,So.\n"))
    assert error.code == "import-format"
    assert "topic, words" in str(error)
    assert "--map" in str(error)


def test_our_own_files_are_recognised():
    assert "gold set" in str(refused(EXPORTS / "expected" / "gold.jsonl"))
    assert "shipworthy trace already" in str(refused(EXPORTS / "expected" / "trace.jsonl"))


def test_nothing_is_written_when_an_export_breaks_off(tmp_path, capsys):
    out = tmp_path / "trace.jsonl"
    out.write_text("before")
    broken = placed(tmp_path, "\n".join([*LINES, LINES[0][:99]]))
    assert main(["import", str(broken), "--out", str(out)]) == 3
    assert "[truncated]" in capsys.readouterr().err
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.jsonl", "x.json"]


def test_nothing_is_written_where_there_is_nothing_to_judge(tmp_path, capsys):
    out = tmp_path / "trace.jsonl"
    assert main(["import", str(EXPORTS / "otel" / "genai_no_content.otlp.jsonl"), "--out", str(out)]) == 3
    assert "content capture" in capsys.readouterr().err
    assert not out.exists()


def test_a_large_array_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "large.json"
    row = json.dumps({"user_input": "Why?", "response": "So.", "retrieved_contexts": ["x" * 9_000]})
    with path.open("w") as stream:
        stream.write("[")
        for index in range(6_000):
            stream.write(f"{',' if index else ''}\n{row}")
        stream.write("]")
    if not os.path.exists("/proc/self/status"):
        pytest.skip("there is no /proc to read the peak from")
    code = (  # not getrusage: its peak begins with that of the process that started this one
        "import sys; from shipworthy.cli import main; "
        "code = main(['import', sys.argv[1], '--out', sys.argv[2]]); "
        "print('peak', open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path), str(tmp_path / "out.jsonl")], capture_output=True, text=True, check=True
    )
    peak = int(run.stdout.rsplit("peak", 1)[1]) * 1024
    assert "6000 of 6000" in run.stdout
    assert peak < max(path.stat().st_size, 1) * 3
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 6_000


@pytest.mark.slow
def test_one_value_that_is_too_large_is_refused(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.write(b'{"input": "')
        for _ in range(300):
            stream.write(b"x" * 1_000_000)
        stream.write(b'", "actual_output": ""}')
    assert refused(path).code == "import-too-large"


# Every export, mutated: nothing but errors that were meant

_ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "{",
    '"',
    "[]",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"": None},
]


def _mutated(value: Any, draw: random.Random, left: list[int]) -> Any:
    """The same value with a few of its parts replaced, dropped or doubled."""
    if left[0] > 0 and draw.random() < 0.05:
        left[0] -= 1
        return draw.choice(_ODD)
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if draw.random() > 0.01}
        return {key: _mutated(part, draw, left) for key, part in kept.items()}
    if isinstance(value, list):
        parts = [_mutated(part, draw, left) for part in value]
        return parts + parts[:1] if draw.random() < 0.02 else parts
    if isinstance(value, str) and value[:1] in '{["' and draw.random() < 0.2:
        return value[: draw.randrange(len(value) + 1)]
    return value


def _variants(path: Path, draw: random.Random) -> list[bytes]:
    data = path.read_bytes()
    if path.suffix != ".parquet" and len(data) > 30_000 and path.name.endswith("jsonl"):
        data = b"\n".join(data.split(b"\n")[:12])
    variants = [data[: draw.randrange(len(data))] for _ in range(2)]
    for _ in range(3):
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 6)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        variants.append(bytes(damaged))
    try:
        lines = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    except ValueError:
        try:
            lines = [json.loads(data)]
        except ValueError:
            return variants
    for _ in range(6):
        variants.append("\n".join(json.dumps(_mutated(line, draw, [3])) for line in lines).encode())
        draw.shuffle(lines)
    return variants


FILES = sorted(path for path in EXPORTS.rglob("*") if path.is_file() and path.name != "README.md")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPORTS)))
def test_mutated_exports_end_in_traces_or_in_errors_that_were_meant(tmp_path, path):
    draw = random.Random(str(path.relative_to(EXPORTS)))
    chunks = str(EXPORTS / "expected" / "chunks.jsonl")
    for number, data in enumerate(_variants(path, draw)):
        damaged = placed(tmp_path, data, f"{number}{path.suffix}")
        try:
            importer = Importer([str(damaged)], chunks=chunks)
            for trace in importer.traces():
                assert trace["qid"]
                assert "answer_json" not in trace or trace["answer_json"]["claim"].strip()
            importer.refuse_nothing()
        except ShipworthyError as refusal:
            assert refusal.code in CODES
