"""Exports of strangers' pipelines: what comes of each. They are not part of the repository."""

from __future__ import annotations

import pytest

from conftest import REAL_DATA
from shipworthy.errors import ShipworthyError
from shipworthy.importers import Importer

FOLDER = REAL_DATA / "trace_exports"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs SHIPWORTHY_DATA with trace_exports")

# file, rows, with a question, with an answer, with retrieved ids, failed
IMPORTED = [
    ("made_by_real_tools/langsmith_runs.jsonl", 1, 1, 1, 1, 0),
    ("made_by_real_tools/mlflow_trace.json", 1, 1, 1, 1, 0),
    ("made_by_real_tools/otel_sdk_console.jsonl", 2, 2, 2, 2, 0),
    ("made_by_real_tools/otlp_traces.json", 2, 2, 2, 2, 0),
    ("made_by_real_tools/promptfoo_results_v3.json", 2, 2, 2, 2, 0),
    ("deepeval/goldens.csv", 15, 15, 15, 0, 0),
    ("deepeval/goldens.json", 15, 15, 15, 15, 0),
    ("deepeval/langchain.json", 1, 1, 1, 0, 0),
    ("deepeval/test_run_sample.json", 1, 1, 1, 1, 0),
    ("openinference/all-spans.json", 8, 8, 8, 0, 0),
    ("promptfoo/llama4-scout.output.json", 10, 10, 10, 0, 0),
    ("promptfoo/redteam_tracing_results.json", 10, 10, 10, 0, 0),
    ("promptfoo/sample-export.json", 4, 4, 4, 0, 0),
    ("promptfoo/simple-cli.output.json", 8, 8, 8, 0, 0),
    ("promptfoo/v3evalToShare.json", 8, 8, 8, 0, 0),
    ("promptfoo/v4evalToShare.json", 8, 8, 8, 0, 0),
    ("trulens/test_otel_feedback_computation__test_feedback_computation.csv", 1, 1, 1, 1, 0),
    ("trulens/test_otel_tru_chain__test_smoke.csv", 1, 1, 1, 1, 0),
    ("trulens/test_otel_tru_custom__test_smoke.csv", 2, 2, 2, 0, 0),
    ("trulens/test_otel_tru_llama__test_smoke.csv", 1, 1, 1, 1, 0),
]
REFUSED = [
    ("openinference/test_retrieve.yaml", "import-format"),
    ("otlp/otlp-trace.json", "import-no-content"),
    ("otlp/otlp-logs.json", "import-no-runs"),
    ("promptfoo/openai-evals-items.jsonl", "import-format"),
    ("promptfoo/simple-cli.output.csv", "import-format"),
    ("ragas/annotated_data.json", "import-format"),
    ("ragas/ground_truth_kg.json", "import-format"),
    ("ragas/ragas-wikiqa.csv", "import-format"),
    ("trulens/eval_root_span.json", "import-no-runs"),
]


@pytest.mark.parametrize(("name", "wanted"), [(name, tuple(wanted)) for name, *wanted in IMPORTED])
def test_imported(name, wanted):
    importer = Importer([str(FOLDER / name)])
    list(importer.traces())
    importer.refuse_nothing()
    read = importer.coverage
    assert (read.rows, read.question, read.answer, read.ids, read.errors) == wanted


@pytest.mark.parametrize(("name", "code"), REFUSED)
def test_refused(name, code):
    with pytest.raises(ShipworthyError) as refusal:
        importer = Importer([str(FOLDER / name)])
        list(importer.traces())
        importer.refuse_nothing()
    assert refusal.value.code == code


def test_downloads_of_langfuse():
    """Agents of twenty frameworks: a question in each, an answer in all but the one that ends in a tool call."""
    questions = answers = 0
    files = sorted((FOLDER / "langfuse").glob("*.json"))
    for path in files:
        (trace,) = Importer([str(path)]).traces()
        questions += "q" in trace
        answers += "answer_json" in trace
    assert (len(files), questions, answers) == (20, 20, 19)
