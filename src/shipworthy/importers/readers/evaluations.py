"""Evaluation tools: ragas, deepeval, Inspect, Azure AI, Bedrock; and what pipelines return (Haystack, LlamaIndex)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import DataError
from ...text import visible
from ..container import Records
from ..dialects import kind_of
from ..documents import document_list
from ..messages import said_text
from ..spans import ExpectedAnswer, Item, Joined, Score, Span, paired
from ..values import (
    cell,
    first,
    given,
    last_line,
    mapping,
    nanoseconds,
    number,
    objects,
    refuse_formula,
    sequence,
    text_of,
    texts_in,
)

# ragas: evaluation datasets and results, with the column names of today and of 0.1


_ANSWERS = ("response", "answer")
_QUESTIONS = ("user_input", "question")
_CONTEXTS = ("retrieved_contexts", "contexts")
_REFERENCES = ("reference", "ground_truth", "ground_truths", "grading_notes")
_KNOWN = {
    *_ANSWERS,
    *_QUESTIONS,
    *_CONTEXTS,
    *_REFERENCES,
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "id",
    "qid",
}


def matches_ragas(record: Mapping[str, object]) -> bool:
    current = "user_input" in record and ({"response", "retrieved_contexts", "reference"} & set(record))
    older = (
        "question" in record and "contexts" in record and ({"answer", "ground_truth", "ground_truths"} & set(record))
    )
    dataset = {"id", "question", "grading_notes"} <= set(record)
    return bool(current or older or dataset)


def read_ragas(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _ragas_span(record, where)


def _ragas_span(record: Mapping[str, object], where: str) -> Span:
    asked = first(record, _QUESTIONS)
    if isinstance(cell(asked, where), list):
        raise DataError(
            "a multi-turn conversation: `user_input` is a list of messages",
            where=visible(where),
            hint="One question and one answer are scored. Export single turns.",
            code="import-multi-turn",
        )
    answer = first(record, _ANSWERS)
    texts = texts_in(first(record, _CONTEXTS), where)
    ids = texts_in(record.get("retrieved_context_ids"), where)
    span = Span("", where, inputs=given(asked), outputs=given(answer))
    span.names = [name for name in [text_of(record.get("id"))] if name]
    span.meta = {"qid": record.get("qid")}
    span.documents = paired(ids, texts) or list(texts) or None
    span.dataset = answer is None and not texts and not ids
    references = texts_in(first(record, _REFERENCES), where)
    cited = texts_in(record.get("reference_context_ids"), where)
    span.expected = ExpectedAnswer(citations=cited, reference=references[0] if references else "")
    span.scores = [
        Score(name, value)
        for name, part in record.items()
        if name and name not in _KNOWN and (value := _score(part)) is not None
    ]
    return span


def _score(part: object) -> float | None:
    return number(part) if not isinstance(part, str) or part.strip()[:1].isdigit() else None


# deepeval: goldens, test runs, evaluation results and traces


_CASES = ("testCases", "test_results", "test_cases")
_TREE = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")
_ANSWER = ("actual_output", "actualOutput")
_RETRIEVED = ("retrieval_context", "retrievalContext")
_REFERENCE = ("expected_output", "expectedOutput")


def matches_deepeval(record: Mapping[str, object]) -> bool:
    return any(isinstance(record.get(key), list) for key in _CASES) or _is_case(record) or _is_tree(record)


def _is_case(record: Mapping[str, object]) -> bool:
    named = any(key in record for key in (*_ANSWER, *_RETRIEVED, *_REFERENCE))
    return "input" in record and named


def _is_tree(record: Mapping[str, object]) -> bool:
    return "uuid" in record and sum(isinstance(record.get(key), list) for key in _TREE) > 1


def read_deepeval(records: Records) -> Iterator[Item]:
    for where, record in records:
        if _is_tree(record):
            yield from _tree(record, where)
            continue
        cases = first(record, _CASES)
        for case in objects(cases if isinstance(cases, list) else [record]):
            yield _deepeval_span(case, where, records.shape == "table")


def _deepeval_span(case: Mapping[str, object], where: str, in_table: bool) -> Span:
    asked, answer = case.get("input"), first(case, _ANSWER)
    if in_table:
        for text in (asked, answer):
            refuse_formula(text_of(text), where)
    told = cell(first(case, ("additional_metadata", "additionalMetadata", "metadata")), where)
    cited = first(case, _RETRIEVED)
    span = Span("", where, inputs=[asked] if asked else [], outputs=[answer] if answer else [])
    # deepeval joins contexts with | in CSV and in JSON Lines; the sign may also be part of one
    span.documents = Joined(cited, "|") if isinstance(cited, str) and cited else sequence(cited) or None
    if cited is None:  # it may stand in the trace of the case
        steps = sequence(mapping(case.get("trace")).get("retrieverSpans"))
        span.documents = [one for step in steps for one in sequence(mapping(step).get("output"))] or None
    span.meta = mapping(told)
    span.names = [name for name in [text_of(case.get("name"))] if name]
    span.dataset = answer is None and cited is None
    span.expected = ExpectedAnswer(reference=text_of(first(case, _REFERENCE)))
    span.cost = number(first(case, ("token_cost", "tokenCost")))
    spent = number(first(case, ("completion_time", "completionTime")))
    span.e2e_ms = None if spent is None else spent * 1000
    span.tokens_in = number(first(case, ("input_token_count", "inputTokenCount")))
    span.tokens_out = number(first(case, ("output_token_count", "outputTokenCount")))
    span.scores = [
        Score(text_of(metric.get("name")), scored, "LLM" if first(metric, _JUDGES) else "CODE")
        for metric in objects(first(case, ("metricsData", "metrics_data")))
        if (scored := number(metric.get("score"))) is not None
    ]
    return span


_JUDGES = ("evaluationModel", "evaluation_model")


def _tree(record: Mapping[str, object], where: str) -> Iterator[Span]:
    """A trace whose spans stand in lists by their kind."""
    name = text_of(record.get("uuid"))
    top = _step(record, name, where)
    top.id, top.root = f"trace:{name}", True
    yield top
    for key in _TREE:
        for entry in objects(record.get(key)):
            span = _step(entry, name, where)
            span.parent = text_of(entry.get("parentUuid")) or top.id
            span.kind = kind_of(entry.get("type")) or kind_of(key.removesuffix("Spans"))
            yield span


def _step(entry: Mapping[str, object], trace: str, where: str) -> Span:
    failed = text_of(entry.get("status")).upper() in ("ERRORED", "ERROR")
    return Span(
        trace,
        where,
        id=text_of(entry.get("uuid")),
        name=text_of(entry.get("name")),
        start=nanoseconds(entry.get("startTime")),
        end=nanoseconds(entry.get("endTime")),
        error=(text_of(entry.get("error")) or "failed") if failed else "",
        inputs=given(cell(entry.get("input"), where)),
        outputs=given(cell(entry.get("output"), where)),
        documents=sequence(first(entry, _RETRIEVED)) or None,
        model=text_of(entry.get("model")),
        tokens_in=number(entry.get("inputTokenCount")),
        tokens_out=number(entry.get("outputTokenCount")),
        meta=mapping(entry.get("metadata")),
    )


# Inspect (inspect_ai): logs of evaluations, `.eval` or `.json`

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer
_LONGEST = 8  # words of a target that an answer can be expected to contain


def matches_inspect(record: Mapping[str, object]) -> bool:
    told = record.get("eval")
    return isinstance(told, Mapping) and "task" in told and isinstance(record.get("samples"), list)


def read_inspect(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from (_inspect_span(sample, where) for sample in objects(record.get("samples")))


def _inspect_span(sample: Mapping[str, object], where: str) -> Span:
    output, told = mapping(sample.get("output")), mapping(sample.get("metadata"))
    choice = mapping(next(iter(sequence(output.get("choices"))), None))
    answer = text_of(output.get("completion")) or said_text(mapping(choice.get("message")).get("content"))
    usage, name = mapping(output.get("usage")), sample.get("id")
    spent = number(sample.get("total_time"))
    epoch = number(sample.get("epoch"))
    return Span(
        "",
        where,
        qid=name if isinstance(name, str) else "",  # a number is a place in the dataset, not a name
        names=[text_of(name)],
        inputs=[sample["input"]] if sample.get("input") else [],
        outputs=[answer] if answer else [],
        documents=document_list(told) or document_list(sample.get("store")),
        start=nanoseconds(sample.get("started_at")),
        end=nanoseconds(sample.get("completed_at")),
        e2e_ms=None if spent is None else round(spent * 1000, 3),
        error=last_line(text_of(mapping(sample.get("error")).get("message"))),
        meta=told,
        scores=list(_scores(sample)),
        expected=_expected(sample),
        model=text_of(output.get("model")),
        tokens_in=number(usage.get("input_tokens")),
        tokens_out=number(usage.get("output_tokens")),
        seed=None if epoch is None else int(epoch),
    )


def _scores(sample: Mapping[str, object]) -> Iterator[Score]:
    for name, score in mapping(sample.get("scores")).items():
        value = first(mapping(score), ("value",))
        graded = _GRADES.get(value) if isinstance(value, str) else None
        if isinstance(value, bool) or graded is not None or number(value) is not None:
            yield Score(
                name, value if isinstance(value, bool) else graded if graded is not None else number(value) or 0
            )


def _expected(sample: Mapping[str, object]) -> ExpectedAnswer:
    target = sample.get("target")
    targets = [text for text in map(text_of, target if isinstance(target, list) else [target]) if text]
    if sample.get("choices"):
        return ExpectedAnswer(notes=["multiple choice: the target is a letter"], dropped=["target of multiple choice"])
    short = [text for text in targets if len(text.split()) <= _LONGEST]
    return ExpectedAnswer(substrings=short, reference="" if short or not targets else targets[0])


# Outputs that pipelines give back: Haystack, LlamaIndex, LangChain

_PARTS = ("documents", "replies", "answers")


def matches_haystack(record: Mapping[str, object]) -> bool:
    """`Pipeline.run` gives one object a component."""
    parts = [part for part in record.values() if isinstance(part, Mapping)]
    return any(isinstance(part.get(key), list) for part in parts for key in _PARTS)


def matches_llamaindex(record: Mapping[str, object]) -> bool:
    return "response" in record and isinstance(record.get("source_nodes"), list)


def matches_langchain(record: Mapping[str, object]) -> bool:
    """What retrieval chains give back: `answer` with `context`, or `result` with `source_documents`."""
    chain = "answer" in record and isinstance(record.get("context"), list)
    return (chain and ("question" in record or "input" in record)) or (
        "result" in record and isinstance(record.get("source_documents"), list)
    )


def read_outputs(records: Records) -> Iterator[Item]:
    for where, record in records:
        failure = record.get("error")
        given = {key: value for key, value in record.items() if isinstance(value, str) and key != "error"}
        asked = {key: given[key] for key in ("question", "query", "q", "user_input", "input", "prompt") if key in given}
        answered = {key: value for key, value in record.items() if key not in {*asked, "error", "qid", "id"}}
        yield Span(
            "",
            where,
            inputs=[asked] if asked else [],
            outputs=[answered] if answered else [],
            meta={"qid": record.get("qid"), "seed": record.get("seed")},
            names=[name for name in [text_of(record.get("id"))] if name],
            error=last_line(text_of(failure)) if failure else "",
        )


# Azure: the results of `evaluate`, with a prefix before each column, or the data that goes in

_DETAILS = ("_reason", "_result", "_threshold", "_passed", "_status", "_properties", "_tokens", "_model")


def matches_azure(record: Mapping[str, object]) -> bool:
    rows = record.get("rows")
    if isinstance(rows, list):
        return bool(rows) and isinstance(rows[0], Mapping) and _is_result(rows[0])
    data = "query" in record and "response" in record and ("context" in record or "ground_truth" in record)
    return _is_result(record) or data or "conversation" in record


def _is_result(row: Mapping[str, object]) -> bool:
    return any(key in row for key in ("inputs.query", "inputs.response", "outputs.response", "inputs.conversation"))


def read_azure(records: Records) -> Iterator[Item]:
    for where, record in records:
        rows = record.get("rows")
        yield from (_azure(row, where) for row in objects(rows if isinstance(rows, list) else [record]))


def _azure(row: Mapping[str, object], where: str) -> Span:
    plain = {key.removeprefix("inputs."): value for key, value in row.items() if not key.startswith("outputs.")}
    if plain.get("conversation") is not None:
        raise _conversation(where)
    answer = first(row, ("outputs.response",)) or plain.get("response")
    context = first(row, ("outputs.context",)) or plain.get("context")
    scores = [
        Score(_metric(key), value)
        for key, part in row.items()
        if key.startswith("outputs.") and not _is_detail(key, row) and (value := number(part)) is not None
    ]
    return Span(
        "",
        where,
        inputs=given(plain.get("query")),
        outputs=given(answer),
        documents=Joined(context, "\n\n", whole=True)
        if isinstance(context, str) and context
        else sequence(context) or None,
        meta={key: plain[key] for key in ("qid", "q_id", "question_id") if key in plain},
        names=[name for name in [text_of(plain.get("id"))] if name],
        expected=ExpectedAnswer(reference=text_of(plain.get("ground_truth"))),
        scores=scores,
        dataset=answer is None and context is None,
    )


def _is_detail(key: str, row: Mapping[str, object]) -> bool:
    """What stands beside a score: why, by which threshold, at what cost, and the score again."""
    return key.endswith(_DETAILS) or (key.endswith("_score") and key.removesuffix("_score") in row)


def _metric(key: str) -> str:
    """`outputs.groundedness.groundedness` is groundedness; `outputs.f1.f1_score` stays f1.f1_score."""
    evaluator, _, name = key.removeprefix("outputs.").partition(".")
    return evaluator if name in ("", evaluator) else f"{evaluator}.{name}"


def _conversation(where: str) -> DataError:
    return DataError(
        "a conversation of several turns",
        where=visible(where),
        hint="One question and one answer are scored. Export single turns.",
        code="import-multi-turn",
    )


# Bedrock: jobs of models and of knowledge bases, results or the data that goes in


def matches_bedrock(record: Mapping[str, object]) -> bool:
    if isinstance(record.get("conversationTurns"), list):
        return True
    source = mapping(record.get("inputRecord")) or record
    answered = "modelResponses" in record or "modelResponses" in source or "automatedEvaluationResult" in record
    return "prompt" in source and (answered or "referenceResponse" in source)


def read_bedrock(records: Records) -> Iterator[Item]:
    for where, record in records:
        turns = record.get("conversationTurns")
        if isinstance(turns, list):
            if len(turns) > 1:
                raise _conversation(where)
            yield from (_turn(mapping(turn), where) for turn in turns)
        else:
            yield from _responses(record, where)


def _turn(turn: Mapping[str, object], where: str) -> Span:
    """A question to a knowledge base."""
    asked, output = mapping(turn.get("inputRecord")) or turn, mapping(turn.get("output"))
    listed = mapping(first(output, ("retrievedPassages", "retrievedResults")))
    passages = [_passage(mapping(one)) for one in sequence(listed.get("retrievalResults"))]
    references = [
        one for part in sequence(output.get("citations")) for one in sequence(mapping(part).get("retrievedReferences"))
    ]
    answer: object = text_of(output.get("text"))
    if answer and "citations" in output:
        answer = {"claim": answer, "citations": [_passage(mapping(one)) for one in references]}
    return Span(
        "",
        where,
        inputs=[text for text in [_content(asked.get("prompt"))] if text],
        outputs=[answer] if answer else [],
        documents=passages or [_passage(mapping(one)) for one in references] or None,
        expected=ExpectedAnswer(reference=_content(next(iter(sequence(asked.get("referenceResponses"))), None))),
        scores=list(_score_list(turn.get("results"))),
        model=text_of(output.get("modelIdentifier")),
        arm=text_of(output.get("knowledgeBaseIdentifier")),
        dataset=not output,
    )


def _passage(found: Mapping[str, object]) -> dict[str, object]:
    told = mapping(found.get("metadata"))
    named = text_of(told.get("x-amz-bedrock-kb-chunk-id")) or text_of(found.get("name"))
    text = text_of(mapping(found.get("content")).get("text"))
    return {"id": named, "text": text} if named else {"text": text, "metadata": told}


def _responses(record: Mapping[str, object], where: str) -> Iterator[Span]:
    """A prompt to models: one run each."""
    asked = mapping(record.get("inputRecord")) or record
    responses = sequence(first(record, ("modelResponses",)) or asked.get("modelResponses"))
    for response in responses or [{}]:
        told = mapping(response)
        answer = text_of(told.get("response"))
        model = text_of(told.get("modelIdentifier"))
        yield Span(
            "",
            where,
            inputs=[text for text in [_content(asked.get("prompt"))] if text],
            outputs=[answer] if answer else [],
            expected=ExpectedAnswer(reference=_content(asked.get("referenceResponse"))),
            scores=list(_score_list(mapping(record.get("automatedEvaluationResult")).get("scores"))),
            model=model,
            arm=model,
            dataset=not responses,
        )


def _content(value: object) -> str:
    return value if isinstance(value, str) else said_text(mapping(value).get("content"))


def _score_list(listed: object) -> Iterator[Score]:
    for entry in sequence(listed):
        told = mapping(entry)
        if (value := number(told.get("result"))) is not None:
            yield Score(text_of(told.get("metricName")), value, "LLM" if told.get("evaluatorDetails") else "CODE")
