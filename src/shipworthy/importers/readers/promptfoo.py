"""promptfoo: results of an evaluation, and the config or a file of tests, which become gold candidates."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from ...errors import DataError
from ...text import first_few, plural, visible
from ..container import Records
from ..spans import ExpectedAnswer, Item, Score, Span, paired
from ..values import first, given, loosened, mapping, number, sequence, text_of

# promptfoo: results of an evaluation, as JSON, JSON Lines or a shared evaluation


PROMPTFOO_VERSIONS = ("1", "2", "3", "4")
_CRASHED = 2  # failureReason: 0 none, 1 an assertion, 2 an error of the run


def matches_promptfoo(record: Mapping[str, object]) -> bool:
    return _rows(record) is not None or _is_row(record)


def version_promptfoo(record: Mapping[str, object]) -> str:
    holder = mapping(record.get("data")) or record
    return text_of(first(mapping(holder.get("results")), ("version",)) or holder.get("version"))


def _rows(record: Mapping[str, object]) -> list[object] | None:
    """The rows of an evaluation: `results.results` of the file, of a share, or `results` of a newer share."""
    holder = record.get("data") if isinstance(record.get("data"), Mapping) else record
    results = holder.get("results") if isinstance(holder, Mapping) else None
    rows = results.get("results") if isinstance(results, Mapping) else results
    return rows if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) and _is_row(rows[0]) else None


def _is_row(record: Mapping[str, object]) -> bool:
    answered = "response" in record or "providerResponse" in record or "error" in record
    return answered and "prompt" in record and ("vars" in record or "testCase" in record) and "success" in record


def read_promptfoo(records: Records) -> Iterator[Item]:
    seen: dict[str, set[int]] = {}
    numbers = count(1)  # a long list of rows comes in pieces
    for where, record in records:
        rows = _rows(record)
        for row in [record] if rows is None else rows:
            number_ = next(numbers)
            if not isinstance(row, Mapping) or not _is_row(row):
                what = f"row {number_} is not a promptfoo result like the first one"
                raise DataError(what, where=visible(where), hint="Export it again.", code="import-mixed")
            yield _span(row, where, seen)


def _span(row: Mapping[str, object], where: str, seen: dict[str, set[int]]) -> Span:
    case, answered = mapping(row.get("testCase")), mapping(first(row, ("response", "providerResponse")))
    asked = {**mapping(case.get("vars")), **mapping(row.get("vars"))}
    told = {**mapping(case.get("metadata")), **mapping(row.get("metadata")), **mapping(answered.get("metadata"))}
    output = answered.get("output")
    failed = row.get("failureReason") == _CRASHED or (output is None and "failureReason" not in row)
    usage = mapping(first(answered, ("tokenUsage",)) or row.get("tokenUsage"))
    span = Span(
        trace="",
        where=where,
        inputs=[value for value in (asked, mapping(row.get("prompt")).get("raw")) if value],
        outputs=given(output),
        meta={**asked, **told},
        names=[name for name in [text_of(case.get("description"))] if name],
        arm=_arm(row, seen),
        e2e_ms=number(row.get("latencyMs")),
        cost=number(first(row, ("cost",)) or answered.get("cost")),
        tokens_in=number(usage.get("prompt")),
        tokens_out=number(usage.get("completion")),
        scores=list(_scores(row)),
        expected=_expected(case, asked, told),
    )
    if failed or (output is None and row.get("error")):
        span.error = text_of(first(answered, ("error",)) or row.get("error")) or "failed"
    span.documents = _documents({**asked, **told})
    return span


def _expected(case: Mapping[str, object], asked: Mapping[str, object], told: Mapping[str, object]) -> ExpectedAnswer:
    expected = expected_of(sequence(case.get("assert")), asked)
    expected.citations = [name for name in map(text_of, sequence(told.get("gold_citations"))) if name]
    return expected


def _documents(told: Mapping[str, object]) -> list[object] | None:
    """What a provider says it retrieved: ids and texts side by side, or either."""
    ids = [text_of(name) for name in sequence(first(told, ("retrieved_ids", "retrieved_context_ids")))]
    texts = loosened(first(told, ("context", "contexts", "documents", "retrieved_contexts")))
    listed = [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []
    return paired(ids, listed if all(isinstance(text, str) for text in listed) else ()) or listed or None


def _arm(row: Mapping[str, object], seen: dict[str, set[int]]) -> str:
    """The provider's label; with the number of the prompt where one provider has several."""
    provider = row.get("provider")
    told = mapping(provider)
    label = text_of(first(told, ("label", "id"))) or text_of(provider)
    index = row.get("promptIdx")
    prompts = seen.setdefault(label, set())
    if isinstance(index, int):
        prompts.add(index)
    return label if len(prompts) < 2 else f"{label} × prompt {index}"


def _scores(row: Mapping[str, object]) -> Iterator[Score]:
    for name, value in mapping(row.get("namedScores")).items():
        if (scored := number(value)) is not None:
            yield Score(name, scored, "CODE")


# The config, and files of tests

_ONE_OF = ("contains-any", "icontains-any")
_EACH_OF = ("contains", "icontains", "equals", "starts-with", "contains-all", "icontains-all")
_NONE_OF = tuple(f"not-{kind}" for kind in ("contains", "icontains", "contains-any", "icontains-any"))
_REFERENCES = ("similar", "factuality", "model-graded-factuality", "context-recall", "rouge-n", "bleu", "levenshtein")
_MOST_COMBINATIONS = 1000  # of lists of variables, of which promptfoo asks each with each
_VARIABLE = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%")
_EXPECTED = re.compile(r"__expected\d*$")
_WRITTEN = re.compile(r"(not-)?([a-z][a-z-]*)(?:\(([\d.]+)\))?:\s*(.*)", re.DOTALL)
_CODE = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}


def matches_promptfoo_config(record: Mapping[str, object]) -> bool:
    tests = "tests" in record or "scenarios" in record
    return tests and any(name in record for name in ("prompts", "providers", "targets"))


def matches_tests(record: Mapping[str, object]) -> bool:
    if any(_EXPECTED.match(key) for key in record):
        return True
    return isinstance(record.get("vars"), (Mapping, str)) and not {"success", "response", "error"} & set(record)


def read_promptfoo_config(records: Records) -> Iterator[Item]:
    for where, record in records:
        tests = record.get("tests")
        cases = tests if isinstance(tests, list) else [tests] if tests else []
        elsewhere = [text_of(case) or "a generator" for case in cases if not _is_case(case)]
        elsewhere += ["scenarios"] if record.get("scenarios") else []
        if elsewhere and not any(map(_is_case, cases)):
            raise DataError(
                f"the tests are not in this file: {visible(first_few(elsewhere), 200)}",
                where=visible(where),
                hint="Import the file of tests by itself (CSV, YAML, JSON). What a program makes can't be imported.",
                code="import-reference",
            )
        dropped = [f"tests in {visible(name, 80)}" for name in elsewhere]
        for case in filter(_is_case, cases):
            for span in _spans(case, record, where):
                if span.expected is not None:
                    span.expected.dropped = [*span.expected.dropped, *dropped]
                dropped = []
                yield span


def read_tests(records: Records) -> Iterator[Item]:
    """A file of tests: objects, or the rows of a table."""
    for where, record in records:
        case = _of_row(record) if records.shape == "table" else record
        yield from _spans(case, {}, where)


def _is_case(case: object) -> bool:
    return isinstance(case, Mapping) and "path" not in case


def _of_row(row: Mapping[str, object]) -> dict[str, object]:
    asserts = [_of_cell(text_of(value)) for key, value in row.items() if _EXPECTED.match(key) and text_of(value)]
    meta = {key.partition(":")[2]: value for key, value in row.items() if key.startswith("__metadata:")}
    given = {key: value for key, value in row.items() if not key.startswith("__") and value is not None}
    return {"vars": given, "assert": asserts, "metadata": meta, "description": row.get("__description")}


def _of_cell(text: str) -> dict[str, object]:
    """`contains-any: a, b`, as tables write assertions; a text without a type is what the output must equal."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None or (match[2] not in (*_EACH_OF, *_ONE_OF, *_REFERENCES, *_CODE, *_OTHERS)):
        return {"type": "equals", "value": text}
    kind, value = _CODE.get(match[2], match[2]), match[4]
    several = kind.endswith(("-any", "-all"))
    return {"type": (match[1] or "") + kind, "value": [part.strip() for part in value.split(",")] if several else value}


_OTHERS = ("regex", "is-refusal", "is-json", "contains-json", "javascript", "python", "llm-rubric", "latency", "cost")


def _spans(case: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Iterator[Span]:
    """A test, or several where its variables are lists."""
    default = mapping(config.get("defaultTest"))
    given = {**mapping(default.get("vars")), **mapping(case.get("vars"))}
    lists = {name: value for name, value in given.items() if isinstance(value, list) and value}
    count = 1
    for value in lists.values():
        count *= len(value)
    if count > _MOST_COMBINATIONS:
        what = f"the lists of variables make {plural(count, 'test')} of one"
        raise DataError(what, where=visible(where), hint="Write the tests out.", code="import-too-large")
    told = {**mapping(default.get("metadata")), **mapping(case.get("metadata"))}
    prompts = sequence(config.get("prompts"))
    asserts = [*sequence(case.get("assert")), *sequence(default.get("assert"))]
    for chosen in itertools.product(*lists.values()):
        values = {**given, **dict(zip(lists, chosen, strict=True))}
        dropped = [f"variable {visible(name, 40)} in a file" for name, value in values.items() if _is_file(value)]
        dropped += ["vars in a file"] if _is_file(case.get("vars")) else []
        values = {name: value for name, value in values.items() if not _is_file(value)}
        prompt = _filled(_text(prompts[0]), values) if len(prompts) == 1 else None
        expected = expected_of(asserts, values, mapping(config.get("assertionTemplates")))
        expected.dropped += dropped
        expected.citations = [name for name in map(text_of, sequence(told.get("gold_citations"))) if name]
        yield Span(
            "",
            where,
            inputs=[part for part in (values, prompt) if part],
            meta={**values, **told},
            names=[name for name in [text_of(case.get("description"))] if name],
            expected=expected,
            dataset=True,
        )


def _is_file(value: object) -> bool:
    return isinstance(value, str) and value.startswith("file://")


def _text(value: object) -> str:
    """A value as promptfoo puts it into a text."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _filled(text: str, values: Mapping[str, object]) -> str | None:
    """A text with its variables; None where it is code, a file, or has anything but plain variables."""
    filled = _VARIABLE.sub(lambda match: _text(values[match[1]]) if match[1] in values else match[0], text)
    return None if _is_file(text) or _TEMPLATE.search(filled) else filled


class _Carried:
    """Assertions as gold: all of them must hold, which gold says with one `match` for all of its texts."""

    def __init__(self, values: Mapping[str, object], templates: Mapping[str, object]) -> None:
        self.values, self.templates = values, templates
        self.each: list[str] = []
        self.groups: list[list[str]] = []  # of which any is enough
        self.patterns: list[str] = []
        self.answerable: set[bool] = set()
        self.found = ExpectedAnswer()

    def add(self, entry: object) -> None:
        told = mapping(entry)
        if reference := text_of(told.get("$ref")):
            told = mapping(self.templates.get(reference.rpartition("/")[2])) or {"type": f"$ref {reference}"}
        kind = text_of(told.get("type"))
        if kind == "assert-set" and told.get("threshold") is None:
            for inner in sequence(told.get("assert")):
                self.add(inner)
        elif kind and not self._carried(kind, told):
            self.drop(kind)

    def drop(self, kind: str) -> None:
        self.found.dropped.append(f"assertion {visible(kind, 60)}")
        self.found.notes.append(f"assertion not imported: {visible(kind, 60)}")

    def _carried(self, kind: str, told: Mapping[str, object]) -> bool:
        if number(told.get("weight")) == 0 or told.get("transform"):
            return False
        if kind in ("is-refusal", "not-is-refusal"):
            self.answerable.add(kind != "is-refusal")
            return True
        value = told.get("value")
        texts = [_filled(_text(part), self.values) for part in (value if isinstance(value, list) else [value])]
        plain = [text for text in texts if text and text.strip()]
        if len(plain) < len(texts) or not plain or isinstance(value, Mapping):
            return False
        if kind in _EACH_OF:
            self.each += plain
        elif kind in _ONE_OF:
            self.groups.append(plain)
        elif kind in _NONE_OF:
            self.found.forbidden += plain
        elif kind == "regex" and _compiles(plain[0]):
            self.patterns += plain
        elif kind in _REFERENCES:
            self.found.reference = self.found.reference or plain[0]
            return False  # the measure itself is not carried over, only what it compares with
        else:
            return False
        self.answerable |= {True} if kind not in _NONE_OF else set()
        return True

    def result(self) -> ExpectedAnswer:
        found = self.found
        # one kind of match fits: each text, one of the texts, or a pattern; what is left over is listed
        self.each += [group[0] for group in self.groups if len(group) == 1]
        groups = [group for group in self.groups if len(group) > 1]
        if self.each:
            found.substrings, found.match = list(dict.fromkeys(self.each)), "all"
        elif groups:
            found.substrings = groups.pop(0)
        elif len(self.patterns) == 1:
            found.substrings, found.match = [self.patterns.pop()], "regex"
        for _ in groups:
            self.drop("contains-any beside other assertions")
        for _ in self.patterns:
            self.drop("regex beside other assertions")
        if self.answerable == {True, False}:
            found.notes.append("the source expects a text and a refusal")
        elif self.answerable:
            found.answerable = self.answerable.pop()
        return found


def expected_of(
    asserts: list[object], values: Mapping[str, object], templates: Mapping[str, object] | None = None
) -> ExpectedAnswer:
    """What assertions say about the right answer; those that say nothing of the kind are listed."""
    carried = _Carried(values, templates or {})
    for entry in asserts:
        carried.add(entry)
    return carried.result()


def _compiles(pattern: str) -> bool:
    try:
        return bool(re.compile(pattern))
    except (re.error, OverflowError, RecursionError):
        return False
