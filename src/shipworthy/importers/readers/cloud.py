"""Evaluations of cloud providers: Azure AI evaluation and Amazon Bedrock evaluation jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import DataError
from ...text import visible
from ..container import Records
from ..messages import said_text
from ..spans import ExpectedAnswer, Item, Joined, Score, Span
from ..values import first, given, mapping, number, objects, sequence, text_of

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
        scores=list(_scores(turn.get("results"))),
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
            scores=list(_scores(mapping(record.get("automatedEvaluationResult")).get("scores"))),
            model=model,
            arm=model,
            dataset=not responses,
        )


def _content(value: object) -> str:
    return value if isinstance(value, str) else said_text(mapping(value).get("content"))


def _scores(listed: object) -> Iterator[Score]:
    for entry in sequence(listed):
        told = mapping(entry)
        if (value := number(told.get("result"))) is not None:
            yield Score(text_of(told.get("metricName")), value, "LLM" if told.get("evaluatorDetails") else "CODE")
