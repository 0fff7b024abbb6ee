"""Formats: which reader a file needs, seen from the keys of its records, never from its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ..errors import DataError, UsageError
from ..text import first_few, visible
from .container import Record, Records
from .readers import (
    braintrust,
    cloud,
    deepeval,
    inspect,
    langfuse,
    langsmith,
    mlflow,
    opik,
    otlp,
    outputs,
    promptfoo,
    promptfoo_config,
    ragas,
    ranking,
    sdk,
    trulens,
    weave,
)
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
    Format("otlp", "OpenTelemetry spans or logs (OTLP JSON)", otlp.matches, otlp.read, "spans"),
    Format("sdk", "OpenTelemetry spans (console or Phoenix)", sdk.matches, sdk.read, "spans"),
    Format("phoenix-annotations", "Phoenix annotations", sdk.matches_annotation, sdk.read_annotations, "spans"),
    Format("trulens", "TruLens event table", trulens.matches, trulens.read, "trulens"),
    Format("trulens-records", "TruLens records", trulens.matches_records, trulens.read_records, "trulens-records"),
    Format("mlflow", "MLflow traces", mlflow.matches, mlflow.read, "mlflow", mlflow.version, mlflow.KNOWN_VERSIONS),
    Format("mlflow-dataset", "MLflow evaluation data", mlflow.matches_dataset, mlflow.read_dataset, "mlflow-dataset"),
    Format("langsmith", "LangSmith or LangChain runs", langsmith.matches, langsmith.read, "langsmith"),
    Format("weave", "Weave calls", weave.matches, weave.read, "weave"),
    Format("langfuse", "Langfuse traces or observations", langfuse.matches, langfuse.read, "spans"),
    Format("opik", "Opik traces or spans", opik.matches, opik.read, "opik"),
    Format("opik-scores", "Opik feedback scores", opik.matches_scores, opik.read_scores, "opik"),
    Format("langfuse-scores", "Langfuse scores", langfuse.matches_scores, langfuse.read_scores, "spans"),
    Format(
        "promptfoo",
        "promptfoo results",
        promptfoo.matches,
        promptfoo.read,
        "promptfoo",
        promptfoo.version,
        promptfoo.KNOWN_VERSIONS,
    ),
    Format("promptfoo-config", "promptfoo config", promptfoo_config.matches, promptfoo_config.read, "promptfoo-config"),
    Format(
        "promptfoo-tests",
        "promptfoo tests",
        promptfoo_config.matches_tests,
        promptfoo_config.read_tests,
        "promptfoo-config",
    ),
    Format("inspect", "an Inspect log", inspect.matches, inspect.read, "inspect"),
    Format("braintrust", "Braintrust events", braintrust.matches, braintrust.read, "braintrust"),
    Format("bedrock", "Bedrock evaluation data", cloud.matches_bedrock, cloud.read_bedrock, "bedrock"),
    Format("deepeval", "deepeval test cases", deepeval.matches, deepeval.read, "deepeval"),
    Format("llamaindex", "LlamaIndex responses", outputs.matches_llamaindex, outputs.read, "llamaindex"),
    Format("ragas", "ragas dataset", ragas.matches, ragas.read, "ragas"),
    Format("azure", "Azure AI evaluation data", cloud.matches_azure, cloud.read_azure, "azure"),
    Format("langchain-outputs", "LangChain outputs", outputs.matches_langchain, outputs.read, "langchain-outputs"),
    Format("haystack", "Haystack pipeline outputs", outputs.matches_haystack, outputs.read, "haystack"),
    Format("beir-corpus", "BEIR corpus", ranking.matches_corpus, ranking.read_corpus, "ranking"),
    Format("beir-queries", "BEIR queries", ranking.matches_queries, ranking.read_queries, "ranking"),
    Format("qrels", "relevance judgements (BEIR, TREC)", ranking.matches_qrels, ranking.read_qrels, "ranking"),
    Format("beir", "BEIR results", ranking.matches_results, ranking.read_results, "ranking"),
    Format("trec", "TREC run", ranking.matches_trec_run, ranking.read_trec_run, "ranking"),
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
    if langsmith.matches_events(record):
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
