"""Send the runs of a trace file to Phoenix, as an instrumented pipeline does. Runs in Phoenix's own environment."""

import json
import sys

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode

KIND = "openinference.span.kind"
provider = TracerProvider(resource=Resource({"openinference.project.name": "harbour"}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{sys.argv[1]}/v1/traces")))
tracer = provider.get_tracer("harbour")
with open(sys.argv[2], encoding="utf-8") as lines:
    for number, run in enumerate(map(json.loads, lines)):
        told = {"input.value": run["q"], "metadata": json.dumps({"qid": run["qid"]})}
        told |= {"tag.tags": ["nightly"] if number < 4 else ["other"]}
        with tracer.start_as_current_span("rag", attributes={KIND: "CHAIN", **told}) as root:
            found = {
                f"retrieval.documents.{rank}.document.{name}": one[key]
                for rank, one in enumerate(run["topk"])
                for name, key in (("id", "id"), ("content", "text"), ("score", "score"))
            }
            with tracer.start_as_current_span(
                "search", attributes={KIND: "RETRIEVER", "input.value": run["q"], **found}
            ):
                pass
            if "error" in run:
                root.set_status(Status(StatusCode.ERROR, run["error"]))
            else:
                root.set_attribute("output.value", json.dumps(run["answer_json"]))
                root.set_attribute("output.mime_type", "application/json")
provider.force_flush()
