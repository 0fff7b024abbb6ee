"""Inspect (inspect_ai): logs of evaluations, `.eval` or `.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..documents import document_list
from ..messages import said_text
from ..spans import ExpectedAnswer, Item, Score, Span
from ..values import first, last_line, mapping, nanoseconds, number, objects, sequence, text_of

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer
_LONGEST = 8  # words of a target that an answer can be expected to contain


def matches(record: Mapping[str, object]) -> bool:
    told = record.get("eval")
    return isinstance(told, Mapping) and "task" in told and isinstance(record.get("samples"), list)


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from (_span(sample, where) for sample in objects(record.get("samples")))


def _span(sample: Mapping[str, object], where: str) -> Span:
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
