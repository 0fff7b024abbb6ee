"""Any split, order and engine gives the same bytes, for every suite and every pinned case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scattered import cut
from under import ENGINES, use_engine

from conftest import EFFORT, gold, refusal, trace, write_lines
from golden.runner import Case, load_cases, produce
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.jobs import evaluate as door
from shipworthy.suites.ranking import divided

SCORING = ("score", "stability", "latency", "retrieval", "agreement", "reason", "outcomes", "check")
CASES = [case for case in load_cases() if case.run.split()[0] in SCORING and not case.plain]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    use_engine(request.param, monkeypatch)


_whole: dict[str, dict[str, str]] = {}


@pytest.fixture
def whole(case: Case) -> dict[str, str]:
    """What one process makes of a case."""
    if case.name not in _whole:
        _whole[case.name] = produce(case)
    return _whole[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_engine(case: Case, whole: dict[str, str], engine: None) -> None:
    assert produce(case) == whole


LINES = st.lists(
    st.one_of(
        st.builds(trace, st.sampled_from(["q0", "q1", "q2", "q3", "unknown"]), ts=st.integers(0, 9)),
        st.builds(refusal, st.sampled_from(["q0", "q1", "q2", "q3"])),
        st.sampled_from(["", "not json", "[]", '{"qid": 7, "q": "Straße 東京", "claim": 5}']),
    ),
    min_size=1,
    max_size=30,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("split")
    write_lines(made / "gold.jsonl", [gold(f"q{number}") for number in range(4)])
    yield made


@settings(max_examples=25 * EFFORT)
@given(
    lines=LINES,
    files=st.integers(1, 3),
    ends=st.sampled_from(["\n", "\r\n"]),
    part=st.integers(1, 2_000),
    seed=st.integers(0, 99),
    keep=st.sampled_from(["last", "first", "worst"]),
)
def test_any_cut_and_any_order_of_reading_gives_the_same_report(
    folder: Path, lines: list[Any], files: int, ends: str, part: int, seed: int, keep: str
) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    for number in range(3):
        some = texts[number * len(texts) // files : (number + 1) * len(texts) // files]
        (folder / f"{number}.log.jsonl").write_bytes(ends.join(some).encode())  # the last line has no end

    def made() -> dict[str, Any] | str:
        try:
            decision = evaluate(
                "answers", gold=folder / "gold.jsonl", trace=folder / "*.log.jsonl", lenient=True, on_duplicate=keep
            )
        except Exception as error:  # whatever one process says, any other engine says too
            return str(error)
        return report(decision)

    whole = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "engine_named", lambda name, **settings: cut(part, seed))
        assert made() == whole


LABELS = st.sampled_from(["VALID", "REJECT", "NOT_IN_CONTEXT", "INVALID", "PERHAPS"])
NAMES = st.sampled_from(["q0", "q1", "q2", "q3", 7, "Straße"])


def _pair(qid: object, one: str, other: str) -> dict[str, object]:
    return {"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}}


def _rating(qid: object, rater: object, label: object) -> dict[str, object]:
    return {"qid": qid, "rater": rater, "label": label}


RATINGS = st.builds(_rating, NAMES, st.sampled_from(["ann", "bob", 7]), st.sampled_from([1, 2, "2", "", "good"]))
KINDS: dict[str, tuple[str, st.SearchStrategy[dict[str, object]]]] = {
    "pairs": ("agreement", st.builds(_pair, NAMES, LABELS, LABELS)),
    "ratings": ("raters", RATINGS),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25 * EFFORT)
@given(data=st.data(), part=st.integers(1, 400), seed=st.integers(0, 99), lenient=st.booleans())
def test_what_may_stand_once_is_told_alike_wherever_it_is_repeated(
    folder: Path, kind: str, data: st.DataObject, part: int, seed: int, lenient: bool
) -> None:
    """Pairs and ratings, of which the first of a kind counts and each other one is a bad line that names it."""
    suite, lines = KINDS[kind]
    path = folder / f"{kind}.jsonl"
    write_lines(path, data.draw(st.lists(lines, min_size=1, max_size=40)))

    def made() -> dict[str, Any] | str:
        try:
            return report(evaluate(suite, **{kind: path}, lenient=lenient))
        except Exception as error:
            return str(error)

    whole = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "engine_named", lambda name, **settings: cut(part, seed))
        assert made() == whole
    with pytest.MonkeyPatch.context() as patch:
        use_engine("spilled", patch)
        assert made() == whole


QUERIES = st.sampled_from(["q0", "q1", "q2", "q3", "Straße", "q'x"])
DOCUMENTS = st.sampled_from(["a", "b", "c", "d", "é"])
JUDGED = st.lists(st.tuples(QUERIES, DOCUMENTS, st.sampled_from([0, 1, 1, 1, 2])), min_size=1, max_size=25)
FOUND = st.lists(st.tuples(QUERIES, DOCUMENTS, st.sampled_from([3, 2.5, 2, 1, 0.5])), min_size=1, max_size=40)


@settings(max_examples=40 * EFFORT)
@given(
    judged=JUDGED,
    found=FOUND,
    together=st.booleans(),
    bad=st.sampled_from(["", "", "", "q1 Q0", "q1 0 a b"]),
    more=st.sampled_from(
        [{}, {"rel_level": 2}, {"duplicates": "error"}, {"missing_query": "error"}, {"no_relevant": "error"}]
    ),
)
def test_lists_that_are_ranked_from_disk_are_those_that_are_ranked_in_memory(
    folder: Path,
    judged: list[tuple[str, str, int]],
    found: list[tuple[str, str, float]],
    together: bool,
    bad: str,
    more: dict[str, Any],
) -> None:
    """TREC files whose queries stand together or don't; JSON lines of the same; with errors of every kind."""
    found = sorted(found, key=lambda one: one[0]) if together else found
    files = {name: folder / name for name in ("qrels", "run", "ids.jsonl", "lists.jsonl")}
    files["qrels"].write_text("".join(f"{qid} 0 {name} {grade}\n" for qid, name, grade in judged) + bad + "\n", "utf-8")
    lines = (f"{qid} Q0 {name} {rank} {score} x\n" for rank, (qid, name, score) in enumerate(found))
    files["run"].write_text("".join(lines) + bad + "\n", "utf-8")
    items = [{"qid": qid, "relevant": [name] * grade} for qid, name, grade in judged]
    write_lines(files["ids.jsonl"], [*items, {}] if bad else {item["qid"]: item for item in items}.values())
    topk = [{"qid": qid, "topk": [{"id": "z", "score": 2}, {"id": name, "score": score}]} for qid, name, score in found]
    write_lines(files["lists.jsonl"], [*topk, {}] if bad else topk)
    lists = {"metrics": "nDCG@3,MAP,P@2", "per_question": True} | more
    given: list[dict[str, Any]] = [
        {"qrels": files["qrels"], "run": files["run"], **lists},
        {"qrels": files["qrels"], "run": files["run"], "live": files["run"]},
        {"gold": files["ids.jsonl"], "run": files["run"]},
        *({"gold": files["ids.jsonl"], "run": files["run"], "lenient": lenient, **lists} for lenient in (False, True)),
        *(
            {"gold": files["ids.jsonl"], "run": files["lists.jsonl"], "lenient": lenient, **lists}
            for lenient in (False, True)
        ),
    ]

    def made(options: dict[str, Any]) -> dict[str, Any] | str:
        try:
            return report(evaluate("retrieval", **options))
        except Exception as error:
            return f"{type(error)} {error}"

    whole = list(map(made, given))
    with pytest.MonkeyPatch.context() as patch:
        use_engine("spilled", patch)
        patch.setattr(divided, "GROWTH_OF_LISTS", 10**6)
        assert list(map(made, given)) == whole
