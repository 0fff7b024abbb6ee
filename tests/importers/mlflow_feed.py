"""Send the runs of a trace file to MLflow, as an instrumented pipeline does. Runs in MLflow's own environment."""

import json
import sys

import mlflow
from mlflow.entities import Document, SpanStatusCode, SpanType

mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("harbour")
with open(sys.argv[2], encoding="utf-8") as lines:
    for number, run in enumerate(map(json.loads, lines)):
        with mlflow.start_span("rag", SpanType.CHAIN) as root:
            root.set_inputs({"question": run["q"], "qid": run["qid"]})
            mlflow.update_current_trace(tags={"kind": "nightly" if number < 4 else "other"})
            with mlflow.start_span("search", SpanType.RETRIEVER) as search:
                search.set_inputs({"query": run["q"]})
                found = [(one["text"], {"score": one["score"]}, one["id"]) for one in run["topk"]]
                search.set_outputs([Document(text, more, name) for text, more, name in found])
            if "error" in run:
                root.record_exception(RuntimeError(run["error"]))
                root.set_status(SpanStatusCode.ERROR)
            else:
                root.set_outputs(run["answer_json"])
mlflow.flush_trace_async_logging()
