"""Dialects: the attribute names under which tracing conventions log what went in, came out and was retrieved.

OpenTelemetry GenAI (current and older), OpenInference, Traceloop, Langfuse, MLflow, TruLens and the Vercel AI SDK. A
span may speak several at once; the names never collide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .spans import Score, Span
from .values import first, last_line, loosened, mapping, number, text_of, whole

Attributes = Mapping[str, Any]

_KIND_NAMES = (
    "openinference.span.kind",
    "langfuse.observation.type",
    "mlflow.spanType",
    "ai.observability.span_type",
    "gen_ai.operation.name",
    "ai.operationId",
    "traceloop.span.kind",
    "llm.request.type",
)
_KINDS = {
    "retriever": "retriever retrieval",
    "reranker": "reranker rerank reranking",
    "llm": "llm chat_model chat generation generate_content text_completion completion chatcompletion",
    "embedding": "embedding embeddings embedder",
    "tool": "tool execute_tool function",
    "evaluator": "evaluator eval eval_root evaluation guardrail",
    "chain": "chain agent workflow task span event record_root invoke_agent invoke_workflow create_agent base general "
    "parser prompt memory",
}
KINDS = {name: kind for kind, names in _KINDS.items() for name in names.split()}

_VERCEL = {
    "dogenerate": "llm",
    "dostream": "llm",
    "toolcall": "tool",
    "embed": "embedding",
    "embedmany": "embedding",
    "doembed": "embedding",
}

_INPUTS = (
    "input.value",
    "langfuse.observation.input",
    "traceloop.entity.input",
    "mlflow.spanInputs",
    "ai.observability.record_root.input",
    "ai.prompt",
    "langfuse.trace.input",
)
_OUTPUTS = (
    "output.value",
    "langfuse.observation.output",
    "traceloop.entity.output",
    "mlflow.spanOutputs",
    "ai.observability.record_root.output",
    "ai.response.text",
    "ai.response.object",
    "langfuse.trace.output",
    "ai.observability.call.return",
)
_MESSAGES_IN = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages")
_MESSAGES_OUT = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
_DOCUMENTS = (
    "reranker.output_documents",
    "gen_ai.retrieval.documents",
    "retrieval.documents",
    "ai.observability.retrieval.retrieved_contexts",
)
_QUERIES = ("gen_ai.retrieval.query.text", "ai.observability.retrieval.query_text", "reranker.query")
_QIDS = ("eval.qid", "shipworthy.qid", "test.case.name")
_METADATA = ("metadata", "langfuse.trace.metadata", "langfuse.observation.metadata")
_METADATA_BELOW = (*_METADATA, "traceloop.association.properties", "ai.telemetry.metadata")
_TOKENS_IN = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_TOKENS_OUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_USAGE = ("langfuse.observation.usage_details", "mlflow.chat.tokenUsage")
_MODELS = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "langfuse.observation.model.name")
_CALL_ARGUMENTS = "ai.observability.call.kwargs"


def kind_of(name: object) -> str:
    """The kind of a step, from what a convention calls it; nothing where it is unknown."""
    text = text_of(loosened(name)).casefold()
    if text.startswith("ai."):  # Vercel: ai.generateText wraps ai.generateText.doGenerate
        inner = text.rsplit(".", 1)[-1]
        return _VERCEL.get(inner, "chain")
    return KINDS.get(text, "")


def describe(span: Span, attributes: Attributes, events: Iterable[tuple[str, Attributes]] = ()) -> None:
    """Fill a span from its attributes and events."""
    span.kind = span.kind or next(filter(None, (kind_of(attributes.get(name)) for name in _KIND_NAMES)), "")
    inputs = [value for name in _INPUTS if (value := attributes.get(name)) is not None]
    outputs = [value for name in _OUTPUTS if (value := attributes.get(name)) is not None]
    messages_in = [value for name in _MESSAGES_IN if (value := listed(attributes, name))]
    messages_out = [value for name in _MESSAGES_OUT if (value := listed(attributes, name))]
    results: list[Attributes] = []
    for name, content in events:
        if name == "db.query.result":
            results.append({key.removeprefix("db.query.result."): part for key, part in content.items()})
            continue
        received, said, score = event_content(name, content)
        messages_in = received + messages_in  # the last message is the one that counts
        messages_out = said + messages_out
        span.scores = [*span.scores, *score]
    speaks = span.kind == "llm"  # its messages are more telling than how a framework wrapped them
    span.inputs = [*span.inputs, *(messages_in + inputs if speaks else inputs + messages_in)]
    span.outputs = [*span.outputs, *(messages_out + outputs if speaks else outputs + messages_out)]
    if arguments := below(attributes, _CALL_ARGUMENTS):
        span.inputs.append(arguments)
    _describe_retrieval(span, attributes, results)
    _describe_run(span, attributes)
    _describe_usage(span, attributes)
    span.scores = [*span.scores, *_attribute_scores(attributes)]


def _describe_retrieval(span: Span, attributes: Attributes, results: list[Attributes]) -> None:
    for name in _DOCUMENTS:
        if documents := listed(attributes, name):
            span.documents = documents
            break
    else:
        if results:  # the number may be a distance, which falls where a score rises: the order is what counts
            span.documents = [{**one, "distance": None} for one in results]
    if span.documents is not None and not span.kind:
        span.kind = "retriever"
    if span.kind == "" and (listed(attributes, "gen_ai.completion") or "gen_ai.system" in attributes):
        span.kind = "llm"
    span.query = span.query or text_of(first(attributes, _QUERIES))


def _describe_run(span: Span, attributes: Attributes) -> None:
    span.root = span.root or attributes.get("langfuse.internal.is_app_root") in (True, "true")
    meta: dict[str, object] = dict(span.meta)
    for name in _METADATA:
        meta.update(mapping(attributes.get(name)))
    for name in _METADATA_BELOW:
        meta.update({key: loosened(value) for key, value in below(attributes, name).items()})
    span.meta = meta
    span.qid = span.qid or text_of(first(attributes, _QIDS))
    if dataset_item := text_of(first(attributes, ("langfuse.dataset.item.id", "ai.observability.input_id"))):
        span.names = [*span.names, dataset_item]
    if attributes.get("langfuse.observation.level") == "ERROR":
        span.error = span.error or text_of(attributes.get("langfuse.observation.status_message")) or "failed"
    if failure := attributes.get("ai.observability.call.error"):
        span.error = span.error or last_line(text_of(failure))


def _describe_usage(span: Span, attributes: Attributes) -> None:
    usage = {key: value for name in _USAGE for key, value in mapping(attributes.get(name)).items()}
    span.tokens_in = number(first(attributes, _TOKENS_IN))
    span.tokens_out = number(first(attributes, _TOKENS_OUT))
    if span.tokens_in is None:
        span.tokens_in = number(first(usage, ("input", "input_tokens")))
    if span.tokens_out is None:
        span.tokens_out = number(first(usage, ("output", "output_tokens")))
    cost = mapping(attributes.get("langfuse.observation.cost_details")).get("total")
    span.cost = number(first(attributes, ("llm.cost.total", "gen_ai.usage.cost")) if cost is None else cost)
    span.model = span.model or text_of(first(attributes, _MODELS))
    span.seed = whole(attributes.get("gen_ai.request.seed")) if span.seed is None else span.seed


def event_content(name: str, content: Attributes) -> tuple[list[Any], list[Any], list[Score]]:
    """What an event carries: what the model received, what it said, and scores. Log records have the same names."""
    if name == "gen_ai.client.inference.operation.details":
        return _some(content, "gen_ai.input.messages"), _some(content, "gen_ai.output.messages"), []
    if name == "gen_ai.evaluation.result":
        return [], [], list(evaluation(content, "gen_ai.evaluation.", "gen_ai.evaluation.score.value"))
    if name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
        key = name.replace("content.", "")
        return (_some(content, key), [], []) if key.endswith("prompt") else ([], _some(content, key), [])
    role = re.fullmatch(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice", name)
    if role is None:
        return [], [], []
    body = mapping(content.get("message")) or dict(content)
    said = [[{"role": "assistant", "content": first(body, ("content", "parts", "gen_ai.completion"))}]]
    if name == "gen_ai.choice":
        return [], said, []
    return [[{"role": role[1], "content": first(body, ("content", "parts", "gen_ai.prompt"))}]], [], []


def _some(content: Attributes, name: str) -> list[object]:
    return [] if content.get(name) is None else [content[name]]


def _attribute_scores(attributes: Attributes) -> Iterable[Score]:
    for list_name, prefix in (("annotations", "annotation."), ("evaluations", "evaluation.")):
        for at in ("", "trace."):
            for entry in listed(attributes, at + list_name):
                if isinstance(entry, Mapping):
                    yield from evaluation(entry, prefix, f"{prefix}score")


def evaluation(entry: Attributes, prefix: str, value_name: str) -> Iterable[Score]:
    """One score: a number, else the label; who gave it, where that is said."""
    name = text_of(entry.get(f"{prefix}name"))
    value = number(entry.get(value_name))
    label = first(entry, (f"{prefix}score.label", f"{prefix}label"))
    kind = text_of(first(entry, (f"{prefix}annotator_kind", f"{prefix}kind"))).upper()
    if name and (value is not None or isinstance(label, (str, bool))):
        yield Score(name, label if value is None else value, kind)


# Lists and objects that are spelled out in the names: `documents.0.document.id`, `metadata.qid`


def listed(attributes: Attributes, name: str) -> list[object]:
    """A list attribute, whether it is structured, JSON inside a text, or flattened into numbered names."""
    if (value := attributes.get(name)) is not None:
        value = loosened(value)
        return list(value) if isinstance(value, (list, tuple)) else [value] if value else []
    entries: dict[int, dict[str, object]] = {}
    for key, part in attributes.items():
        if key.startswith(f"{name}.") and (match := re.fullmatch(r"(\d{1,6})\.(.+)", key[len(name) + 1 :])):
            entries.setdefault(int(match[1]), {})[match[2]] = part
    return [entries[index] for index in sorted(entries)]


def below(attributes: Attributes, name: str) -> dict[str, object]:
    """The names that begin with this one, without it."""
    return {key[len(name) + 1 :]: value for key, value in attributes.items() if key.startswith(f"{name}.")}
