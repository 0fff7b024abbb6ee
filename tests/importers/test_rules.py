"""The assembler's rules, one at a time, through small files as the tools write them."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from typing import Any

import pytest
from importer_exports import otlp, span, write

from shipworthy.errors import EnvironmentFailure
from shipworthy.importers import Importer, Options


def oi(kind: str, **more: Any) -> dict[str, Any]:
    return {"openinference__span__kind": kind, **more}


def documents(prefix: str, names: str) -> dict[str, str]:
    return {f"{prefix}.{index}.document.id": name for index, name in enumerate(names)}


def traces(path: str | list[str], **options: Any) -> list[dict[str, Any]]:
    gold = options.pop("gold", None)
    chunks = options.pop("chunks", None)
    paths = [path] if isinstance(path, str) else path
    return list(Importer(paths, gold=gold, chunks=chunks, options=Options(**options)).traces())


def rag(answer: str, names: str = "abc", question: str = "Why?") -> dict[str, Any]:
    retrieved = documents("retrieval.documents", names)
    return otlp(
        span("a1", "f0", 5, **oi("RETRIEVER", **retrieved)),
        span("f0", **oi("CHAIN", input__value=question, output__value=answer)),
    )


def test_the_last_reranking_wins_over_what_was_retrieved(tmp_path):
    record = otlp(
        span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "abc"))),
        span("a2", "f0", 2, **oi("RERANKER", **documents("reranker.output_documents", "ca"))),
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    assert traces(write(tmp_path, record))[0]["retrieved_ids"] == ["c", "a"]


def test_a_reranker_that_dropped_the_ids_gets_those_of_the_same_texts(tmp_path):
    retrieved = {"retrieval.documents.0.document.id": "a", "retrieval.documents.0.document.content": "Alpha."}
    record = otlp(
        span("a1", "f0", 1, **oi("RETRIEVER", **retrieved)),
        span("a2", "f0", 2, **oi("RERANKER", **{"reranker.output_documents.0.document.content": "alpha. "})),
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    assert traces(write(tmp_path, record))[0]["retrieved_ids"] == ["a"]


def test_two_retrievals_are_put_together_in_time_order_each_id_once(tmp_path):
    record = otlp(
        span("a2", "f0", 9, **oi("RETRIEVER", **documents("retrieval.documents", "cad"))),
        span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "ab"))),
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    importer = Importer([write(tmp_path, record)])
    assert next(iter(list(importer.traces())))["retrieved_ids"] == ["a", "b", "c", "d"]
    assert importer.coverage.guessed == {"documents of several retrievals, put together": 1}


def test_a_retriever_inside_of_a_retriever_counts_once(tmp_path):
    record = otlp(
        span("a2", "a1", 2, **oi("RETRIEVER", **documents("retrieval.documents", "cba"))),
        span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "ab"))),
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    trace = traces(write(tmp_path, record))[0]
    assert trace["retrieved_ids"] == ["a", "b"]
    assert trace["stage_ms"] == {"retrieval": 1.0}


@pytest.mark.parametrize(
    ("answer", "claim", "cited", "how"),
    [
        ("So it is [a].", "So it is.", ["a"], "inline ids"),
        ("So it is [a, c] and [b].", "So it is and.", ["a", "c", "b"], "inline ids"),
        ("So it is [2] [1].", "So it is.", ["b", "a"], "inline ranks"),
        ("So it is [0].", "So it is [0].", [], None),
        ("So it is [3] and [4].", "So it is [3] and [4].", [], None),
        ("So it is [3].", "So it is.", ["c"], "inline ranks"),
        ("In [2024] it was [1].", "In [2024] it was [1].", [], None),
        ("See [the manual].", "See [the manual].", [], None),
        ("See [a] and [the manual].", "See and [the manual].", ["a"], "inline ids"),
        ('{"claim": "So.", "citations": ["c"]}', "So.", ["c"], "field citations"),
        ('"{\\"answer\\": \\"So.\\", \\"sources\\": [{\\"id\\": \\"b\\"}]}"', "So.", ["b"], "field sources"),
        ('{"colour": "red"}', '{"colour": "red"}', [], None),
    ],
)
def test_citations(tmp_path, answer, claim, cited, how):
    trace = traces(write(tmp_path, rag(answer)))[0]
    assert trace["answer_json"] == {"claim": claim, "citations": cited}
    assert trace["source"].get("citations") == how


def test_numbers_read_as_ranks_are_a_guess(tmp_path):
    importer = Importer([write(tmp_path, rag("So [1]."))])
    list(importer.traces())
    assert importer.coverage.guessed == {"citations: numbers read as ranks": 1}


@pytest.mark.parametrize(
    "given",
    [
        "Why?",
        '"Why?"',
        '{"question": "Why?", "k": 3}',
        '{"inputs": {"query": "Why?"}}',
        '{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Why?"}]}',
        '[{"role": "user", "content": "Hi"}, {"role": "ai", "content": "Yes"}, {"role": "user", "content": "Why?"}]',
        '{"input": [{"type": "human", "content": [{"type": "text", "text": "Why?"}]}]}',
        '{"messages": [[{"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Why?"}}]]}',
        '{"data": {"retriever": {"query": "Why?"}, "prompt_builder": {"query": "Why?"}}}',
        '{"args": [], "kwargs": {"user_query": "Why?"}}',
        '{"contents": [{"role": "user", "parts": [{"text": "Why?"}]}]}',
        '{"query_bundle": {"query_str": "Why?"}}',
    ],
)
def test_questions_in_their_shapes(tmp_path, given):
    assert traces(write(tmp_path, rag("So.", question=given)))[0]["q"] == "Why?"


@pytest.mark.parametrize(
    "output",
    [
        "So.",
        '{"result": "So."}',
        '{"output": {"answer": "So."}}',
        '{"generator": {"replies": ["So.", "Or so."]}, "retriever": {"documents": []}}',
        '{"choices": [{"message": {"role": "assistant", "content": "So."}}]}',
        '{"generations": [[{"text": "So."}]]}',
        '{"messages": [{"type": "human", "content": "Why?"}, {"type": "ai", "content": "So."}]}',
        '{"candidates": [{"content": {"role": "model", "parts": [{"text": "So."}]}}]}',
        '[{"role": "assistant", "parts": [{"type": "text", "content": "So."}]}]',
    ],
)
def test_answers_in_their_shapes(tmp_path, output):
    assert traces(write(tmp_path, rag(output)))[0]["answer_json"]["claim"] == "So."


@pytest.mark.parametrize(
    "output", ["", "   ", "null", '{"messages": [{"role": "user", "content": "Why?"}]}', "[]", "{}"]
)
def test_no_answer_is_a_failed_run_and_never_an_empty_claim(tmp_path, output):
    record = rag(output)
    if output in ("null", "{}"):
        record["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"].pop()
    trace = traces(write(tmp_path, record))[0]
    assert "answer_json" not in trace
    assert trace["error"] == "no answer in the source"


def test_a_failed_step_beside_an_answer_is_only_a_remark(tmp_path):
    record = rag("So.")
    record["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["status"] = {"code": 2, "message": "slow"}
    importer = Importer([write(tmp_path, record)])
    assert "error" not in next(iter(list(importer.traces())))
    assert importer.coverage.guessed == {"runs that answered although a step failed": 1}


def test_a_traceback_is_cut_to_its_last_line(tmp_path):
    record = rag("")
    failed = record["resourceSpans"][0]["scopeSpans"][0]["spans"][1]
    failed["status"] = {"code": 2, "message": "E()Traceback (most recent call last):\n  File x\nValueError: no\n"}
    assert traces(write(tmp_path, record))[0]["error"] == "ValueError: no"


def test_sessions_and_traces_are_never_question_ids(tmp_path):
    record = otlp(span("f0", session__id="s1", input__value="Why?", output__value="So."))
    trace = traces(write(tmp_path, record))[0]
    assert trace["qid"].startswith("q-")
    assert trace["source"]["qid"] == "digest"


def test_gold_gives_the_question_its_id_but_not_when_two_are_alike(tmp_path):
    gold = write(
        tmp_path,
        {"qid": "1", "question": "WHY ?"},
        {"qid": "2", "question": "Why?"},
        {"qid": "3", "question": "why?"},
        {"qid": "4", "question": "How  come?"},
        name="gold.jsonl",
    )
    path = write(tmp_path, rag("So.", question="why?"), {**rag("So.", question="how come?"), "n": 2})
    path = write(tmp_path, rag("So.", question="how come?"))
    assert traces(path, gold=gold)[0]["qid"] == "4"
    path = write(tmp_path, rag("So.", question="why?"))
    assert traces(path, gold=gold)[0]["qid"].startswith("q-")


def test_names_that_only_the_gold_set_makes_ids(tmp_path):
    run = {"id": "r", "run_type": "chain", "trace_id": "t", "inputs": {"input": "Why?"}, "outputs": {"output": "So."}}
    path = write(tmp_path, {**run, "reference_example_id": "case-1"})
    gold = write(tmp_path, {"qid": "case-1", "question": "?"}, name="gold.jsonl")
    assert traces(path, gold=gold)[0]["qid"] == "case-1"
    assert traces(path)[0]["qid"].startswith("q-")


def test_the_user_says_where_the_question_id_is(tmp_path):
    record = otlp(span("f0", metadata='{"case": {"name": "c7"}, "qid": "x"}', input__value="Why?", output__value="So."))
    assert traces(write(tmp_path, record), qid_path="case.name")[0]["qid"] == "c7"


def test_one_trace_with_several_questions_is_several_runs(tmp_path):
    spans = [span("f0", **oi("CHAIN"))]
    for name in ("b1", "b2"):
        spans.append(span(name, "f0", int(name[1]), eval__qid=name, input__value=f"{name}?", output__value=f"{name}!"))
        spans.append(span(f"c{name}", name, 3, **oi("RETRIEVER", **documents("retrieval.documents", name[1]))))
    found = traces(write(tmp_path, otlp(*spans)))
    assert [(one["qid"], one["q"], one["retrieved_ids"]) for one in found] == [
        ("b1", "b1?", ["1"]),
        ("b2", "b2?", ["2"]),
    ]


def test_spans_of_a_run_may_be_spread_over_files(tmp_path):
    one = otlp(span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "a"))))
    two = otlp(span("f0", **oi("CHAIN", input__value="Why?", output__value="So [a].")))
    paths = [write(tmp_path, one, name="1.json"), write(tmp_path, two, name="2.json")]
    for order in (paths, paths[::-1]):
        assert traces(order)[0]["answer_json"]["citations"] == ["a"]


def test_older_genai_events_on_the_span_and_in_logs(tmp_path):
    chat = span("f0", gen_ai__system="x", eval__qid="Q")
    chat["events"] = [
        {"name": "gen_ai.system.message", "attributes": [{"key": "content", "value": {"stringValue": "Be brief."}}]},
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Why?"}}]},
        {"name": "gen_ai.choice", "attributes": [{"key": "message", "value": {"stringValue": '{"content": "So."}'}}]},
    ]
    assert traces(write(tmp_path, otlp(chat)))[0]["answer_json"]["claim"] == "So."
    logs = [
        {
            "traceId": "1" * 32,
            "spanId": "f0".ljust(16, "0"),
            "eventName": name,
            "body": {"kvlistValue": {"values": [pair]}},
        }
        for name, pair in (
            ("gen_ai.user.message", {"key": "content", "value": {"stringValue": "Why?"}}),
            (
                "gen_ai.choice",
                {
                    "key": "message",
                    "value": {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "So."}}]}},
                },
            ),
        )
    ]
    bare = write(tmp_path, otlp(span("f0", gen_ai__system="x", eval__qid="Q")), name="spans.json")
    held = write(tmp_path, {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}, name="logs.json")
    trace = traces([bare, held])[0]
    assert (trace["qid"], trace["q"], trace["answer_json"]["claim"]) == ("Q", "Why?", "So.")


def test_ids_in_base64_and_in_hexadecimal_are_the_same(tmp_path):
    parent = span("f0", **oi("CHAIN", input__value="Why?", output__value="So."))
    child = span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "a")))
    parent |= {"traceId": "ERERERERERERERERERERGR==", "spanId": "8AAAAAAAAAA="}
    child |= {"traceId": "ERERERERERERERERERERGR==", "parentSpanId": "f000000000000000"}
    assert traces(write(tmp_path, otlp(parent, child)))[0]["retrieved_ids"] == ["a"]


def test_weave_retrievers_by_name(tmp_path):
    call = {
        "op_name": "weave:///p/op/search:1",
        "id": "1",
        "trace_id": "t",
        "parent_id": "0",
        "started_at": "2026-01-01",
    }
    root = {
        **call,
        "op_name": "weave:///p/op/rag:1",
        "id": "0",
        "parent_id": None,
        "inputs": {"q": "Why?"},
        "output": "So.",
    }
    path = write(tmp_path, {**call, "output": ["Alpha.", "Beta."]}, root)
    assert "retrieved_ids" not in traces(path)[0]
    assert len(traces(path, retriever="search")[0]["retrieved_ids"]) == 2


def test_a_metadata_key_may_be_chosen_for_the_id(tmp_path):
    record = {
        "query": "Why?",
        "result": "So.",
        "source_documents": [{"id": "uuid", "metadata": {"slug": "a"}, "page_content": "A"}],
    }
    assert traces(write(tmp_path, record), document_id="slug")[0]["retrieved_ids"] == ["a"]
    assert traces(write(tmp_path, record))[0]["retrieved_ids"] == ["uuid"]


def test_llamaindex_responses(tmp_path):
    node = {"node": {"id_": "a", "text": "Alpha."}, "score": 0.5}
    record = {"query": "Why?", "response": "So [a].", "source_nodes": [node]}
    trace = traces(write(tmp_path, record))[0]
    assert trace["topk"] == [{"id": "a", "score": 0.5, "text": "Alpha."}]
    assert trace["answer_json"]["claim"] == "So."


def test_langfuse_downloads_have_json_inside_of_texts(tmp_path):
    observation = {
        "id": "o",
        "traceId": "t",
        "type": "RETRIEVER",
        "startTime": "2026-01-01T00:00:00Z",
        "parentObservationId": None,
    }
    listing = json.dumps([{"id": "a", "page_content": "Alpha.", "metadata": {}}])
    record = {
        "trace": {
            "id": "t",
            "input": '"Why?"',
            "output": '"{\\"answer\\": \\"So.\\"}"',
            "metadata": '{"qid": "\\"Q\\""}',
        },
        "observations": [{**observation, "output": listing}],
    }
    trace = traces(write(tmp_path, record))[0]
    assert (trace["qid"], trace["q"], trace["answer_json"]["claim"], trace["retrieved_ids"]) == (
        "Q",
        "Why?",
        "So.",
        ["a"],
    )


def test_promptfoo_assertions_that_fail_are_no_failed_runs(tmp_path):
    row = {
        "prompt": {"raw": "Why?"},
        "vars": {"question": "Why?"},
        "success": False,
        "error": "Expected output to contain",
    }
    failed = {**row, "response": {"output": "So."}, "failureReason": 1}
    crashed = {**row, "response": {"error": "503"}, "failureReason": 2, "error": "503"}
    one, two = traces(write(tmp_path, failed, crashed))
    assert one["answer_json"]["claim"] == "So."
    assert two["error"] == "503"


def test_tables_with_a_mapping(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text('case,prompt,reply,ctx\n1,Why?,So [a].,"[""a"", ""b""]"\n2,How?,,a;b\n', "utf-8")
    maps = ("qid=case", "q=prompt", "claim=reply", "retrieved_ids=ctx")
    one, two = traces(str(path), maps=maps)
    assert one["answer_json"] == {"claim": "So.", "citations": ["a"]}
    assert two["retrieved_ids"] == ["a", "b"]
    assert two["error"] == "no answer in the source"


def test_tables_with_paths_into_objects(tmp_path):
    record = {"in": {"text": "Why?"}, "out": {"reply": "So."}, "ctx": [{"id": "a"}, {"id": "b"}]}
    path = write(tmp_path, record)
    maps = ("q=in.text", "claim=out.reply", "retrieved_ids=ctx[*].id")
    assert traces(path, maps=maps)[0]["retrieved_ids"] == ["a", "b"]


@pytest.mark.parametrize("shape", ["lines", "array", "pretty", "gzip", "bom"])
def test_the_shape_of_a_file_does_not_matter(tmp_path, shape):
    records = [rag("So."), otlp(span("f0", trace="2" * 32, input__value="How?", output__value="Thus."))]
    text = "\n".join(map(json.dumps, records))
    if shape == "array":
        text = json.dumps(records, indent=2)
    elif shape == "pretty":
        text = "\n".join(json.dumps(record, indent=4) for record in records)
    elif shape == "bom":
        text = "\ufeff" + text
    path = tmp_path / ("x.json.gz" if shape == "gzip" else "x")
    path.write_bytes(gzip.compress(text.encode()) if shape == "gzip" else text.encode())
    assert [one["q"] for one in traces(str(path))] == ["Why?", "How?"]


def test_numbers_that_are_none_are_absent(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"user_input": "Why?", "response": "So.", "retrieved_contexts": ["A"], "faithfulness": NaN}\n')
    assert "scores" not in traces(str(path))[0]


def test_langfuse_lists_of_traces_and_of_observations(tmp_path):
    """Blob exports and the API keep them apart, in snake_case or in camelCase."""
    trace = {"id": "t", "project_id": "p", "timestamp": "2026-01-01T00:00:00Z", "input": "Why?", "output": "So [a]."}
    listing = [{"id": "a", "page_content": "Alpha.", "metadata": {}}]
    step = {"id": "o", "project_id": "p", "trace_id": "t", "type": "RETRIEVER", "start_time": "2026-01-01T00:00:01Z"}
    paths = [
        write(tmp_path, trace, name="traces.jsonl"),
        write(tmp_path, {**step, "output": json.dumps(listing)}, name="observations.jsonl"),
    ]
    for order in (paths, paths[::-1]):
        (run,) = traces(order)
        assert (run["q"], run["answer_json"]) == ("Why?", {"claim": "So.", "citations": ["a"]})
    page = {"data": [{**trace, "projectId": "p", "observations": ["o"], "scores": ["s"]}], "meta": {"page": 1}}
    assert traces(write(tmp_path, page))[0]["q"] == "Why?"


def test_observations_alone_have_the_root_that_is_marked(tmp_path):
    root = {"id": "r", "traceId": "t", "type": "SPAN", "startTime": "2026-01-01T00:00:05Z", "isRootObservation": True}
    step = {"id": "s", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:01Z"}
    path = write(tmp_path, {**step, "input": "P", "output": "X"}, {**root, "input": '"Why?"', "output": '"So."'})
    (run,) = traces(path)
    assert (run["q"], run["answer_json"]["claim"]) == ("Why?", "So.")


def test_nested_runs_of_langsmith(tmp_path):
    documents_ = [{"page_content": "Alpha.", "metadata": {"chunk_id": "a"}, "type": "Document"}]
    child = {"id": "c", "run_type": "retriever", "inputs": {"query": "Why?"}, "outputs": {"documents": documents_}}
    root = {
        "id": "r",
        "run_type": "chain",
        "trace_id": "r",
        "inputs": {"question": "Why?"},
        "outputs": {"answer": "So [a]."},
    }
    (run,) = traces(write(tmp_path, {**root, "child_runs": [child], "feedback_stats": {"ok": {"avg": 0.5, "n": 2}}}))
    assert run["retrieved_ids"] == ["a"]
    assert run["scores"] == {"ok": 0.5}


def test_opik_exports_hold_a_trace_and_its_spans(tmp_path):
    step = {"id": "s", "trace_id": "t", "type": "tool", "start_time": "2026-01-01T00:00:00Z", "project_name": "p"}
    record = {
        "trace": {
            "id": "t",
            "start_time": "2026-01-01T00:00:00Z",
            "input": {"question": "Why?"},
            "output": {"answer": "So."},
        },
        "spans": [{**step, "output": {"documents": [{"id": "a", "content": "Alpha."}]}}],
    }
    (run,) = traces(write(tmp_path, record))
    assert run["retrieved_ids"] == ["a"]


def test_of_two_rerankings_the_last_wins(tmp_path):
    record = otlp(
        span("a3", "f0", 3, **oi("RERANKER", **documents("reranker.output_documents", "ba"))),
        span("a1", "f0", 1, **oi("RETRIEVER", **documents("retrieval.documents", "abc"))),
        span("a2", "f0", 2, **oi("RERANKER", **documents("reranker.output_documents", "ca"))),
        span("a4", "f0", 4, **oi("RERANKER")),  # lists nothing
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    assert traces(write(tmp_path, record))[0]["retrieved_ids"] == ["b", "a"]


def test_tokens_and_cost_of_nested_steps_count_once(tmp_path):
    """A chain sums up the models inside of it; another model stands beside the chain."""

    def counted(prompt, completion, cost):
        counts = {"llm.token_count.prompt": prompt, "llm.token_count.completion": completion}
        return counts | {"llm.cost.total": cost}

    record = otlp(
        span("a1", "f0", 1, **oi("CHAIN", **counted(30, 7, 50))),
        span("a2", "a1", 2, **oi("LLM", **counted(10, 3, 20))),
        span("a3", "a1", 3, **oi("LLM", **counted(20, 4, 30))),
        span("a4", "f0", 4, **oi("LLM", **counted(5, 1, 2))),
        span("f0", **oi("CHAIN", input__value="Why?", output__value="So.")),
    )
    trace = traces(write(tmp_path, record))[0]
    assert trace["tokens"] == {"in": 35, "out": 8} and trace["cost_usd"] == 52


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_time_without_a_zone_is_utc_wherever_it_is_imported(tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        run = {"id": "r", "trace_id": "r", "name": "n", "run_type": "chain", "inputs": {"question": "Why?"}}
        times = {"start_time": "2026-01-02T03:04:05.000001", "end_time": "2026-01-02T04:04:06+01:00"}
        record = run | {"outputs": {"answer": "So."}, "dotted_order": "x"} | times
        trace = traces(write(tmp_path, record))[0]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert trace["ts"] == 1767323045.000001 and trace["e2e_ms"] == 999.999


@pytest.mark.parametrize("shape", ["trec", "beir"])
def test_documents_of_equal_scores_keep_the_order_of_the_file(tmp_path, shape):
    ranked = {"z": 1.5, "a": 1.5, "m": 2.5, "b": 1.5}
    path = tmp_path / "run"
    if shape == "trec":
        path.write_text("".join(f"q1 Q0 {name} 1 {score} x\n" for name, score in ranked.items()))
    else:
        path.write_text(json.dumps({"q1": ranked}))
    assert traces(str(path))[0]["retrieved_ids"] == ["m", "z", "a", "b"]


def test_what_comes_late_finds_its_span_in_any_trace(tmp_path):
    """Scores may name a span without its trace; of two spans of one id the one of the later trace has it."""
    spans = [span("f0", trace=name * 32, **oi("CHAIN", input__value="Why?", output__value="So.")) for name in "12"]
    score = {"name": "good", "span_id": spans[0]["spanId"], "result": {"score": 1.0}, "annotator_kind": "HUMAN"}
    record, other = map(otlp, spans)
    files = [write(tmp_path, record, other), write(tmp_path, score, name="annotations.jsonl")]
    assert [trace.get("scores") for trace in traces(files)] == [None, {"good": 1.0}]


def long_export(folder, count):
    """Runs whose last span comes after all other runs have begun."""
    roots = []
    path = folder / f"{count}.jsonl"
    with path.open("w") as file:
        for number in range(count):
            trace = f"{number:032x}"
            retrieved = {
                "retrieval.documents.0.document.id": "a",
                "retrieval.documents.0.document.content": "long " * 400,
            }
            file.write(json.dumps(otlp(span("a1", "f0", number, trace, **oi("RETRIEVER", **retrieved)))) + "\n")
            asked = oi("CHAIN", input__value=f"Question {number}?", output__value="So [a].")
            roots.append(otlp(span("f0", "", count - number, trace, **asked)))
        file.writelines(json.dumps(root) + "\n" for root in roots)
    return str(path)


def test_a_longer_export_takes_no_more_memory(tmp_path):
    """Every span of a file was held until its end, two to three bytes for each of the file."""
    peaks = {}
    for count in (250, 1500):
        path = long_export(tmp_path, count)
        tracemalloc.start()
        names = [trace["q"] for trace in Importer([path], options=Options(drafts=False)).traces()]
        peaks[count] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert names == [f"Question {number}?" for number in reversed(range(count))]  # by start
    assert peaks[1500] < peaks[250] + 1_000_000


def test_a_full_disk_says_so(tmp_path, monkeypatch):
    """What does not fit in memory is on disk; SQLite says that it is full."""
    import sqlite3

    connect = sqlite3.connect

    def small(*given, **options):
        database = connect(*given, **options)
        database.execute("PRAGMA max_page_count = 40")
        return database

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(EnvironmentFailure, match="Free some space, or name another folder in TMPDIR"):
        traces(long_export(tmp_path, 200))
