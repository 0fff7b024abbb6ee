"""Every export of the public tools: how many rows come of it, and the decision that they lead to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shipworthy
from shipworthy.errors import ShipworthyError
from shipworthy.importers import Importer
from shipworthy.importers.coverage import remarks

EXPORTS = Path(__file__).parent / "exports"
GOLD, CHUNKS = EXPORTS / "expected" / "gold.jsonl", EXPORTS / "expected" / "chunks.jsonl"
SAME = "3/5 3/5 1/2 1/6"  # precision, citation hit rate, under- and over-refusal of the pipeline that was exported

# files, then rows, with an answer, with retrieved ids, with citations, failed, without an answer, counts
COMPLETE = [
    ("azure/data.jsonl", 9, 8, 9, 6, 0, 1),
    ("azure/results.json", 9, 8, 9, 6, 0, 1),
    ("bedrock/knowledge_base_output.jsonl", 9, 8, 9, 6, 0, 1),
    ("braintrust/experiment.jsonl", 9, 8, 9, 6, 1, 0),
    ("deepeval/evaluation_result.json", 8, 8, 8, 6, 0, 0),  # deepeval leaves out the run that failed
    ("deepeval/goldens.csv", 9, 8, 9, 6, 0, 1),
    ("deepeval/goldens.json", 9, 8, 9, 6, 0, 1),
    ("deepeval/goldens.jsonl", 9, 8, 9, 6, 0, 1),
    ("deepeval/goldens_with_test_cases.json", 17, 16, 17, 12, 0, 1),
    ("deepeval/results/test_run_20261116_055743.json", 8, 8, 8, 6, 0, 0),
    ("haystack/pipeline_run_outputs.jsonl", 9, 8, 8, 6, 1, 0),
    ("inspect/rag.eval", 8, 7, 7, 5, 1, 0),  # each question once; a run that fails logs no metadata
    ("inspect/rag.json", 8, 7, 7, 5, 1, 0),
    ("langchain/run_collector.jsonl", 9, 8, 8, 6, 1, 0),
    ("langfuse/sdk5_spans.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("langfuse/sdk5_spans.otlp.jsonl langfuse/sdk5_ingestion_scores.jsonl", 9, 8, 9, 6, 1, 0),
    ("langsmith/ingest_runs.jsonl", 9, 8, 9, 6, 1, 0),
    ("langsmith/list_runs.jsonl", 9, 8, 9, 6, 1, 0),
    ("mlflow/search_traces.csv", 9, 8, 9, 6, 1, 0),
    ("mlflow/search_traces_df.json", 9, 8, 9, 6, 1, 0),
    ("mlflow/traces.jsonl", 9, 8, 9, 6, 1, 0),
    ("openinference/haystack.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("openinference/langchain.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("openinference/langchain_no_ids.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("openinference/llamaindex.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("opik/spans.jsonl", 9, 8, 9, 6, 1, 0),
    ("opik/traces.jsonl opik/spans.jsonl opik/feedback_scores.jsonl", 9, 8, 9, 6, 1, 0),
    ("otel/genai_1_41.console.json", 9, 8, 9, 6, 1, 0),
    ("otel/genai_1_41.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("otel/genai_1_41_structured.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("otel/traceloop_old.otlp.jsonl", 9, 8, 9, 6, 1, 0),
    ("phoenix/get_spans.jsonl", 9, 8, 9, 6, 1, 0),
    ("phoenix/get_spans.jsonl phoenix/span_annotations.jsonl", 9, 8, 9, 6, 1, 0),
    ("phoenix/spans_dataframe.csv", 9, 8, 9, 6, 1, 0),
    ("phoenix/spans_dataframe.parquet", 9, 8, 9, 6, 1, 0),
    ("promptfoo/results.json", 16, 14, 14, 10, 2, 0),  # two providers, each question once
    ("promptfoo/results.jsonl", 16, 14, 14, 10, 2, 0),
    ("ragas/evaluation_dataset.csv", 9, 8, 9, 6, 0, 1),
    ("ragas/evaluation_dataset.jsonl", 9, 8, 9, 6, 0, 1),
    ("ragas/evaluation_dataset.parquet", 9, 8, 9, 6, 0, 1),
    ("ragas/evaluation_dataset_no_ids.jsonl", 9, 8, 9, 6, 0, 1),
    ("ragas/v01_columns.jsonl", 9, 8, 9, 6, 0, 1),
    ("trulens/events.csv", 9, 8, 9, 6, 1, 0),
    ("trulens/events.jsonl", 9, 8, 9, 6, 1, 0),
    ("weave/calls.jsonl", 9, 8, 9, 6, 1, 0),
]
# the same, and what the coverage says is missing
INCOMPLETE = [
    ("beir/results.json", 8, 0, 8, 0, 0, 0, "rankings only"),
    ("beir/results.json beir/corpus.jsonl beir/queries.jsonl beir/qrels/test.tsv", 8, 0, 8, 0, 0, 0, "rankings only"),
    ("bedrock/model_output.jsonl", 8, 8, 0, 0, 0, 0, "retrieved documents in 8 rows"),
    ("opik/traces.jsonl", 9, 8, 0, 6, 1, 0, "retrieved documents in 9 rows"),
    ("otel/genai_events_logs.otlp.jsonl", 3, 3, 0, 0, 0, 0, "retrieved documents in 3 rows"),
    (
        "otel/genai_events_spans.otlp.jsonl otel/genai_events_logs.otlp.jsonl",
        3,
        3,
        0,
        0,
        0,
        0,
        "retrieved documents in 3 rows",
    ),
    ("ragas/evaluate_result.csv", 6, 6, 6, 5, 0, 0, ""),  # ragas drops rows without a reference
    ("trec/run.txt", 8, 0, 8, 0, 0, 0, "rankings only"),
    ("trec/run.txt trec/qrels.txt", 8, 0, 8, 0, 0, 0, "rankings only"),
    ("trulens/records_and_feedback.json", 9, 8, 0, 0, 0, 1, "retrieved documents in 9 rows"),
]
# files that hold no runs, the code of the error, and a word that says what they are
REFUSED = [
    ("bedrock/prompts.jsonl", "import-no-content", "a dataset"),
    ("beir/corpus.jsonl", "import-no-runs", "BEIR corpus"),
    ("beir/qrels/test.tsv", "import-no-runs", "relevance judgements"),
    ("beir/queries.jsonl", "import-no-runs", "BEIR queries"),
    ("braintrust/dataset.jsonl", "import-no-content", "a dataset"),
    ("langchain/astream_events_v2.jsonl", "import-format", "stream of LangChain events"),
    ("langfuse/sdk5_ingestion_scores.jsonl", "import-no-runs", "Langfuse scores"),
    ("mlflow/genai_eval_data.jsonl", "import-no-content", "a dataset"),
    ("opik/feedback_scores.jsonl", "import-no-runs", "Opik feedback scores"),
    ("otel/genai_events_spans.otlp.jsonl", "import-no-content", "content capture"),
    ("otel/genai_no_content.otlp.jsonl", "import-no-content", "content capture"),
    ("phoenix/span_annotations.jsonl", "import-no-runs", "Phoenix annotations"),
    ("promptfoo/promptfooconfig.json", "import-no-content", "a dataset"),
    ("promptfoo/promptfooconfig.yaml", "import-no-content", "a dataset"),
    ("promptfoo/results.csv", "import-format", "promptfoo's CSV"),
    ("promptfoo/results.junit.xml", "import-format", "XML"),
    ("ragas/datasets/harbour.csv", "import-no-content", "a dataset"),
    ("ragas/multi_turn.jsonl", "import-multi-turn", "multi-turn"),
    ("trec/qrels.txt", "import-no-runs", "relevance judgements"),
]


def imported(files: str, **options: object) -> tuple[Importer, list[dict]]:
    paths = [str(EXPORTS / name) for name in files.split()]
    importer = Importer(paths, gold=str(GOLD), chunks=str(CHUNKS), **options)
    traces = list(importer.traces())
    importer.refuse_nothing()
    return importer, traces


def counts(importer: Importer) -> tuple[int, ...]:
    read = importer.coverage
    return read.rows, read.answer, read.ids, read.citations, read.errors, read.no_answer


def expected_traces() -> dict[str, dict]:
    lines = (EXPORTS / "expected" / "trace.jsonl").read_text("utf-8").splitlines()
    return {trace["qid"]: trace for trace in map(json.loads, lines)}


def test_every_file_is_in_a_table():
    named = {name for files, *_ in [*COMPLETE, *INCOMPLETE, *REFUSED] for name in files.split()}
    held = {str(path.relative_to(EXPORTS)) for path in EXPORTS.rglob("*") if path.is_file()}
    assert {name for name in held if not name.startswith("expected/") and name != "README.md"} == named


@pytest.mark.parametrize(("files", "wanted"), [(files, tuple(wanted)) for files, *wanted in COMPLETE])
def test_complete_exports_give_the_same_traces_and_the_same_decision(files, wanted):
    importer, traces = imported(files)
    assert counts(importer) == wanted
    expected = expected_traces()
    for trace in traces:
        model = expected[trace["qid"]]
        assert trace["q"] == model["q"]
        assert trace.get("answer_json") == model.get("answer_json")
        assert ("error" in trace) == ("error" in model)
        assert trace.get("retrieved_ids") in (model["retrieved_ids"], None)
        assert "retrieved_ids" in trace or "error" in trace
    decision = shipworthy.evaluate("answers", gold=str(GOLD), trace=traces)
    measured = [decision.measures[name] for name in ("precision", "chr", "under_refusal", "over_refusal")]
    assert " ".join(f"{one.k}/{one.n}" for one in measured) == SAME
    assert decision.verdict == "NO-SHIP"


def test_the_expected_traces_themselves_give_these_counts():
    decision = shipworthy.evaluate("answers", gold=str(GOLD), trace=str(EXPORTS / "expected" / "trace.jsonl"))
    measured = [decision.measures[name] for name in ("precision", "chr", "under_refusal", "over_refusal")]
    assert " ".join(f"{one.k}/{one.n}" for one in measured) == SAME


@pytest.mark.parametrize(("files", "wanted", "missing"), [(one[0], tuple(one[1:7]), one[7]) for one in INCOMPLETE])
def test_incomplete_exports_say_what_is_missing(files, wanted, missing):
    importer, _ = imported(files)
    assert counts(importer) == wanted
    assert missing in " ".join(remarks(importer.coverage))


@pytest.mark.parametrize(("files", "code", "recognised"), REFUSED)
def test_files_without_runs_are_refused_by_what_they_are(files, code, recognised):
    with pytest.raises(ShipworthyError) as refusal:
        imported(files)
    assert refusal.value.code == code
    assert recognised in str(refusal.value)


def test_without_chunks_texts_get_digests_which_are_counted():
    importer = Importer([str(EXPORTS / "ragas" / "v01_columns.jsonl")], gold=str(GOLD))
    traces = list(importer.traces())
    assert importer.coverage.id_from == {"digest": 27}
    assert importer.coverage.citations == 0
    assert traces[0]["retrieved_ids"][0].startswith("sha256:")
    assert "--chunks" in " ".join(remarks(importer.coverage))


def test_joined_contexts_are_split_only_where_every_piece_is_known():
    importer = Importer([str(EXPORTS / "deepeval" / "goldens.jsonl")], gold=str(GOLD))
    list(importer.traces())
    assert importer.coverage.ids == 0
    assert any("not split" in note for note in importer.coverage.guessed)


def test_scores_come_with_who_gave_them():
    _, traces = imported("phoenix/get_spans.jsonl phoenix/span_annotations.jsonl")
    scored = next(trace for trace in traces if trace["qid"] == "H1")
    assert scored["scores"] == {"correct": 1.0, "faithfulness": 1.0}
    assert scored["score_sources"] == {"correct": "HUMAN", "faithfulness": "LLM"}


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ("langfuse/sdk5_spans.otlp.jsonl langfuse/sdk5_ingestion_scores.jsonl", {"faithfulness", "human_ok"}),
        ("mlflow/traces.jsonl", {"faithfulness", "ok"}),
        ("opik/traces.jsonl opik/spans.jsonl opik/feedback_scores.jsonl", {"faithfulness"}),
        ("otel/genai_1_41.otlp.jsonl", {"faithfulness"}),
        ("promptfoo/results.jsonl", {"cites_gold"}),
        ("deepeval/evaluation_result.json", {"Exact Match"}),
        ("azure/results.json", {"f1.f1_score"}),
        ("bedrock/knowledge_base_output.jsonl", {"Builtin.Correctness"}),
        ("braintrust/experiment.jsonl", {"Factuality"}),
        ("inspect/rag.eval", {"includes"}),
        ("ragas/evaluate_result.csv", {"id_based_context_recall", "id_based_context_precision"}),
    ],
)
def test_scores_of_each_tool(files, names):
    _, traces = imported(files)
    assert {name for trace in traces for name in trace.get("scores", {})} == names


def test_times_tokens_and_model():
    _, traces = imported("otel/genai_1_41.otlp.jsonl")
    first = traces[0]
    assert first["e2e_ms"] == pytest.approx(6.712, abs=0.01)
    assert set(first["stage_ms"]) == {"retrieval", "llm"}
    assert first["tokens"] == {"in": 100, "out": 20}
    assert first["model"] == "harbour-1"
    assert first["seed"] == 0
    _, traces = imported("promptfoo/results.json")
    assert {trace["arm"] for trace in traces} == {"prose", "structured"}
    assert traces[0]["cost_usd"] == 0.0001


def test_runs_come_in_the_order_of_time():
    _, traces = imported("phoenix/get_spans.jsonl")  # which has the newest first
    assert [trace["qid"] for trace in traces] == ["H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8", "H1"]


def test_no_environment_of_the_machine_is_copied():
    _, traces = imported("langsmith/list_runs.jsonl")
    assert "LANGSMITH" not in json.dumps(traces)


def test_drafts_never_say_whether_a_question_is_answerable():
    importer, _ = imported("ragas/evaluation_dataset.jsonl")
    drafts = importer.drafts.items
    assert {item["answerable"] for item in drafts.values()} == {None}
    assert drafts["H1"]["gold_claim_substr"] == ["30 days"]
    assert drafts["H1"]["gold_citations"] == ["policy#1"]
    assert "gold_claim_substr" not in drafts["H3"]


def test_drafts_of_retrieval_sets_have_their_judgements():
    importer, _ = imported("beir/results.json beir/corpus.jsonl beir/queries.jsonl beir/qrels/test.tsv")
    assert importer.drafts.items["H5"]["relevant"] == ["ship#2"]
    assert importer.drafts.items["H5"]["question"].startswith("What does delivery")


def test_drafts_of_mlflow_and_promptfoo():
    importer, _ = imported("mlflow/traces.jsonl")
    assert importer.drafts.items["H1"]["gold_claim_substr"] == ["30 days"]
    importer, _ = imported("promptfoo/results.json")
    assert importer.drafts.items["H1"]["gold_claim_substr"] == ["30 days"]
    assert "assertion not imported: python" in importer.drafts.items["H1"]["notes"]
