"""Formats: which reader a file needs, seen from the keys of its records, never from its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ..errors import DataError, UsageError
from ..text import first_few, visible
from .container import Record, Records
from .readers import evaluations, platforms, promptfoo, tables, telemetry, trackers
from .spans import Item

Match = Callable[[Mapping[str, Any]], bool]
Read = Callable[[Records], Iterator[Item]]


class Format(NamedTuple):
    """One kind of file: how it is recognised and read, and whose files may be imported together with it."""

    name: str
    title: str
    matches: Match
    read: Read
    family: str
    version: Callable[[Mapping[str, Any]], str] | None = None
    known_versions: tuple[str, ...] = ()


# The order decides where two could match: the more telling one first.
FORMATS = (
    Format("otlp", "OpenTelemetry spans or logs (OTLP JSON)", telemetry.matches_otlp, telemetry.read_otlp, "spans"),
    Format("sdk", "OpenTelemetry spans (console or Phoenix)", telemetry.matches_sdk, telemetry.read_sdk, "spans"),
    Format(
        "phoenix-annotations", "Phoenix annotations", telemetry.matches_annotation, telemetry.read_annotations, "spans"
    ),
    Format("trulens", "TruLens event table", trackers.matches_trulens, trackers.read_trulens, "trulens"),
    Format("trulens-records", "TruLens records", trackers.matches_records, trackers.read_records, "trulens-records"),
    Format(
        "mlflow",
        "MLflow traces",
        platforms.matches_mlflow,
        platforms.read_mlflow,
        "mlflow",
        platforms.version_mlflow,
        platforms.MLFLOW_VERSIONS,
    ),
    Format(
        "mlflow-dataset", "MLflow evaluation data", platforms.matches_dataset, platforms.read_dataset, "mlflow-dataset"
    ),
    Format(
        "langsmith", "LangSmith or LangChain runs", platforms.matches_langsmith, platforms.read_langsmith, "langsmith"
    ),
    Format("weave", "Weave calls", trackers.matches_weave, trackers.read_weave, "weave"),
    Format("langfuse", "Langfuse traces or observations", platforms.matches_langfuse, platforms.read_langfuse, "spans"),
    Format("opik", "Opik traces or spans", trackers.matches_opik, trackers.read_opik, "opik"),
    Format("opik-scores", "Opik feedback scores", trackers.matches_scores, trackers.read_scores, "opik"),
    Format("langfuse-scores", "Langfuse scores", platforms.matches_scores, platforms.read_scores, "spans"),
    Format(
        "promptfoo",
        "promptfoo results",
        promptfoo.matches_promptfoo,
        promptfoo.read_promptfoo,
        "promptfoo",
        promptfoo.version_promptfoo,
        promptfoo.PROMPTFOO_VERSIONS,
    ),
    Format(
        "promptfoo-config",
        "promptfoo config",
        promptfoo.matches_promptfoo_config,
        promptfoo.read_promptfoo_config,
        "promptfoo-config",
    ),
    Format(
        "promptfoo-tests",
        "promptfoo tests",
        promptfoo.matches_tests,
        promptfoo.read_tests,
        "promptfoo-config",
    ),
    Format("inspect", "an Inspect log", evaluations.matches_inspect, evaluations.read_inspect, "inspect"),
    Format("braintrust", "Braintrust events", trackers.matches_braintrust, trackers.read_braintrust, "braintrust"),
    Format("bedrock", "Bedrock evaluation data", evaluations.matches_bedrock, evaluations.read_bedrock, "bedrock"),
    Format("deepeval", "deepeval test cases", evaluations.matches_deepeval, evaluations.read_deepeval, "deepeval"),
    Format(
        "llamaindex", "LlamaIndex responses", evaluations.matches_llamaindex, evaluations.read_outputs, "llamaindex"
    ),
    Format("ragas", "ragas dataset", evaluations.matches_ragas, evaluations.read_ragas, "ragas"),
    Format("azure", "Azure AI evaluation data", evaluations.matches_azure, evaluations.read_azure, "azure"),
    Format(
        "langchain-outputs",
        "LangChain outputs",
        evaluations.matches_langchain,
        evaluations.read_outputs,
        "langchain-outputs",
    ),
    Format("haystack", "Haystack pipeline outputs", evaluations.matches_haystack, evaluations.read_outputs, "haystack"),
    Format("beir-corpus", "BEIR corpus", tables.matches_corpus, tables.read_corpus, "ranking"),
    Format("beir-queries", "BEIR queries", tables.matches_queries, tables.read_queries, "ranking"),
    Format("qrels", "relevance judgements (BEIR, TREC)", tables.matches_qrels, tables.read_qrels, "ranking"),
    Format("beir", "BEIR results", tables.matches_results, tables.read_results, "ranking"),
    Format("trec", "TREC run", tables.matches_trec_run, tables.read_trec_run, "ranking"),
)
BY_NAME = {one.name: one for one in FORMATS}
# What people call it → the formats in which it is written
ALIASES = {
    "otel": ("otlp", "sdk"),
    "openinference": ("otlp", "sdk"),
    "phoenix": ("sdk", "phoenix-annotations"),
    "langchain": ("langsmith", "langchain-outputs"),
    "langfuse": ("langfuse", "langfuse-scores", "otlp"),
    "trulens": ("trulens", "trulens-records"),
    "mlflow": ("mlflow", "mlflow-dataset"),
    "opik": ("opik", "opik-scores"),
    "promptfoo": ("promptfoo", "promptfoo-config", "promptfoo-tests"),
    "llamaindex": ("llamaindex", "otlp", "sdk"),
    "haystack": ("haystack", "otlp", "sdk"),
    "beir": ("beir", "beir-corpus", "beir-queries", "qrels"),
    "trec": ("trec", "qrels"),
}
CHOICES = tuple(sorted({*BY_NAME, *ALIASES, "table"}))


def recognise(records: Records, wanted: str = "") -> Format | None:
    """The format of a file; None for a table that needs a mapping. What is known but no run is refused by name."""
    few = records.peek()
    if not few:
        raise DataError(
            "there is no record in it", where=visible(records.path), hint="Export it again.", code="import-empty"
        )
    candidates = [BY_NAME[name] for name in ALIASES.get(wanted, (wanted,)) if name in BY_NAME] if wanted else FORMATS
    if wanted == "table":
        return None
    for one in candidates:
        if one.matches(few[0]):
            return _of_known_version(records, few[0], one, wanted)
    if wanted:
        known = next((one for one in FORMATS if one.matches(few[0])), None)
        looks = f"it looks like {known.title}" if known else f"it has {_keys(few[0])}"
        raise UsageError(
            f"is not {wanted}: {looks}", where=visible(records.path), hint="Leave out --from.", code="import-format"
        )
    _refuse_known_others(records, few[0])
    return None


def checked(records: Records, one: Format) -> Records:
    """The same records, of which each must be of the format: a file of two kinds was put together by accident."""
    names = set(records.peek(1)[0])

    def rows() -> Iterator[Record]:
        for line, record in chain(records.head, records.rows):
            _refuse_other(records.path, line, record, one, names)
            yield line, record

    return Records(records.path, records.shape, rows())


def _refuse_other(path: str, line: int, record: dict[str, object], one: Format, names: set[str]) -> None:
    if not record or one.matches(record):
        return
    other = next((other for other in FORMATS if other.matches(record)), None)
    if other is None and names & set(record):  # exports leave out what is null
        return
    raise DataError(
        f"begins as {one.title}, but this record is {other.title if other else 'something else'}, with {_keys(record)}",
        where=f"{visible(path)}:{line}",
        hint="Put each export into its own file.",
        code="import-mixed",
    )


def _of_known_version(records: Records, record: dict[str, object], one: Format, wanted: str) -> Format:
    if one.version is not None and not wanted:
        version = one.version(record)
        if version and version not in one.known_versions:
            raise DataError(
                f"is {one.title} of version {visible(version, 20)}; known are {', '.join(one.known_versions)}",
                where=visible(records.path),
                hint=f"To read it anyway, add --from {one.name}.",
                code="import-version",
            )
    return one


def _refuse_known_others(records: Records, record: dict[str, object]) -> None:
    where = visible(records.path)
    if platforms.matches_events(record):
        hint = "Collect the runs with RunCollectorCallbackHandler, or export them from LangSmith."
        raise DataError(
            "is a stream of LangChain events, not an export of runs", where=where, hint=hint, code="import-format"
        )
    if {"Status", "Grader Reason"} <= set(record):
        hint = "Its outputs are under the names of prompts. Export JSON: promptfoo eval -o results.json."
        raise DataError("is promptfoo's CSV", where=where, hint=hint, code="import-format")
    if "answer_json" in record or ("qid" in record and "retrieved_ids" in record):
        hint = "Score it: shipworthy score --gold gold.jsonl --trace FILE."
        raise DataError("is a shipworthy trace already", where=where, hint=hint, code="import-format")
    if "answerable" in record and "qid" in record:
        raise DataError(
            "is a gold set, not a file of runs", where=where, hint="Give it as --gold.", code="import-format"
        )


def unknown_table(records: Records, record: Mapping[str, object]) -> DataError:
    """A table nobody can read without being told which column is which."""
    return DataError(
        f"is not recognised: no known format has these fields; found {_keys(record)}",
        where=visible(records.path),
        hint="Name the columns: --map question=COLUMN --map claim=COLUMN --map retrieved_ids=COLUMN.",
        code="import-format",
    )


def _keys(record: object) -> str:
    return visible(first_few(sorted(map(str, record))), 300) if isinstance(record, Mapping) else "no fields"
