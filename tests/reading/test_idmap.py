"""Gold and trace that name the same things differently: named, never applied unasked."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy.errors import UsageError
from shipworthy.reading.idmap import STEPS, mismatch, parse_id_map

MEETING = [  # gold, trace, the --id-map that makes them meet
    (["Doc-A", "Doc-B"], ["doc-a", "doc-b"], "casefold"),
    (["a.pdf", "b.pdf"], ["a", "b", "c"], "drop-extension"),
    (["a.pdf", "b.pdf"], ["a.txt", "b.txt"], "drop-extension"),
    (["HR.pdf", "b.pdf"], ["hr", "b"], "casefold,drop-extension"),
    (["x.pdf#page=4", "y.pdf#page=5"], ["x.pdf", "y.pdf"], "drop-page"),
    (["x.pdf#4", "y.pdf#5"], ["x.pdf", "y.pdf"], "drop-page"),
    (["x-3.pdf", "y-4.pdf"], ["x.pdf", "y.pdf"], "drop-page"),
    (["x-3.pdf", "y-4.pdf"], ["x.pdf#page=4", "y.pdf#page=5"], "drop-page"),
    (["x", "y"], ["x_p12", "x_p13", "y_p1"], "drop-page"),
    (["x", "y"], ["x:12", "y:3"], "drop-page"),
    (["x", "y"], ["x/3", "y/1"], "drop-page"),
    (["doc:x", "doc:y"], ["x", "y"], "drop-prefix=doc:"),
    (["x", "y"], ["s3://bucket/x", "s3://bucket/y"], "drop-prefix=s3://bucket/"),
    (["docs/x", "docs/y"], ["s3://b/x", "s3://b/y"], "drop-prefix=s3://b/,drop-prefix=docs/"),
    (
        ["docs/guide-x", "docs/guide-y"],
        ["s3://b/guide-x", "s3://b/guide-y"],
        "drop-prefix=s3://b/,drop-prefix=docs/",
    ),
    (["hr/x.pdf", "it/y.pdf"], ["x.pdf", "y.pdf"], "drop-path"),
    (["a b.pdf", "c d.pdf"], ["a%20b.pdf", "c%20d.pdf"], "url-decode"),
    (["caf\u00e9", "na\u00efve"], ["cafe\u0301", "nai\u0308ve"], "normalise"),
    (["d-001", "d-002"], ["d-1", "d-2"], "drop-zeros"),
    (["A%20B.pdf#page=1", "C%20D.pdf#page=2"], ["a b.pdf", "c d.pdf"], "url-decode,casefold,drop-page"),
]


@pytest.mark.parametrize(("gold", "trace", "name"), MEETING)
def test_the_rewriting_is_named_and_does_what_it_says(gold: list[str], trace: list[str], name: str) -> None:
    found = mismatch(gold, trace)
    assert found is not None
    assert found.scheme.name == name
    assert found.share_now == (0, len(gold))
    assert found.share_after == (len(gold), len(gold))
    id_map = parse_id_map(found.scheme.name)
    assert {id_map.gold(id) for id in gold} <= {id_map.trace(id) for id in trace}
    trace_id, gold_id = found.example
    assert id_map.trace(trace_id) == id_map.gold(gold_id)
    assert f"--id-map {name}" in found.sentence
    assert "Nothing was rewritten" in found.sentence


@pytest.mark.parametrize(
    ("gold", "trace"),
    [
        ([], ["a"]),
        (["a"], []),
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["alpha", "beta"], ["gamma", "delta"]),
        ([""], ["#3"]),
        ([f"faq-{n}" for n in range(20)], [f"wiki-{n}" for n in range(30)]),
        ([f"faq-{n}.pdf" for n in range(20)], [f"wiki-{n}.pdf" for n in range(30)]),
        ([f"doc-{n}" for n in range(20)], [f"doc-{n}" for n in range(100, 200)]),
        (["x.pdf#page=1", "y.pdf#page=2"], ["x.pdf#page=7", "y.pdf#page=8"]),
    ],
)
def test_no_mismatch_is_made_up(gold: list[str], trace: list[str]) -> None:
    assert mismatch(gold, trace) is None


def test_one_id_in_twenty_found_is_no_mismatch() -> None:
    gold = [f"Doc-{n}a" for n in range(20)]
    lower = [id.lower() for id in gold]
    assert mismatch(gold, lower) is not None
    assert mismatch(gold, [gold[0], *lower[1:]]) is None


def test_a_rewriting_needs_a_clear_majority() -> None:
    gold = [f"Doc {word}" for word in ("one", "two", "three", "four", "five")]
    assert mismatch(gold, ["doc one", "doc two", "other"]) is None
    assert mismatch(gold, ["doc one", "doc two", "doc three", "other"]) is not None


def test_a_page_suffix_dropped_is_said_to_be_coarser() -> None:
    gold = [f"handbook.pdf#page={n}" for n in range(1, 8)]
    found = mismatch(gold, ["handbook.pdf", "other.pdf"])
    assert found is not None
    assert "coarser: 7 gold ids become 1" in found.sentence
    assert "gold ids have a page or chunk suffix that the trace ids lack" in found.scheme.words


def test_the_other_side_is_named_when_it_carries_the_suffix() -> None:
    found = mismatch(["x.pdf", "y.pdf"], ["x.pdf#page=1", "x.pdf#page=2", "y.pdf#page=1"])
    assert found is not None
    assert "trace ids have a page or chunk suffix that the gold ids lack" in found.scheme.words
    assert "coarser: 3 trace ids become 2" in found.sentence


def test_many_ids_are_searched_by_sample_and_counted_in_full() -> None:
    gold = [f"docs/Guide-{n}.PDF" for n in range(1000)]
    found = mismatch(gold, [f"s3://b/guide-{n}.txt" for n in range(20_000)])
    assert found is not None
    assert found.share_after == (1000, 1000)
    assert found.scheme.name == "casefold,drop-prefix=s3://b/,drop-prefix=docs/,drop-extension"


@settings(max_examples=20 * EFFORT, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=8), st.lists(st.text(max_size=20), max_size=8))
def test_any_ids_are_survived_and_order_does_not_matter(gold: list[str], trace: list[str]) -> None:
    assert mismatch(gold, trace) == mismatch(gold[::-1], trace[::-1] + trace)


@settings(max_examples=20 * EFFORT, deadline=None)
@given(st.sampled_from(sorted(STEPS)), st.text(max_size=40))
def test_a_step_never_fails(name: str, id: str) -> None:
    step = "drop-prefix=a/" if name == "drop-prefix" else name
    assert isinstance(parse_id_map(step).trace(id), str)


# --- --id-map ---


def test_steps_apply_to_both_sides_in_the_order_given() -> None:
    id_map = parse_id_map("url-decode, casefold, drop-prefix=docs/, drop-page, drop-extension")
    assert id_map.gold("docs/A%20B.pdf#page=3") == "a b"
    assert id_map.trace("A b.PDF") == "a b"
    assert pickle.loads(pickle.dumps(id_map)) == id_map


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.jsonl", '{"trace": "t1", "gold": "g1"}\n\n{"trace": "ü 2", "gold": "g2"}\n'),
        ("map.tsv", "\ufefft1\tg1\r\nü 2\tg2\r\n"),
        ("map", "t1\tg1\nü 2\tg2\nt1\tg1\n"),
    ],
)
def test_a_table_maps_trace_ids_to_gold_ids(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    id_map = parse_id_map(str(path))
    assert [id_map.trace(id) for id in ("t1", "ü 2", "unmapped")] == ["g1", "g2", "unmapped"]
    assert id_map.gold("t1") == "t1"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("casefolt", "id-map-unknown", "Did you mean casefold?"),
        ("casefold,drop-extensions", "id-map-unknown", "Did you mean drop-extension?"),
        ("", "id-map-unknown", "Known are"),
        ("zzz", "id-map-unknown", "Known are"),
        ("drop-prefix", "id-map-value", "drop-prefix=docs/"),
        ("casefold=1", "id-map-value", "take no value"),
        ("no-such-file.jsonl", "id-map-unreadable", "no-such-file.jsonl"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, code: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_id_map(text)
    assert error.value.code == code
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("only one column", "id-map-row"),
        ('{"trace": "a"}', "id-map-row"),
        ('{"trace": 1, "gold": "b"}', "id-map-row"),
        ('{"trace": "a", "gold": ', "id-map-row"),
        ("a\tb\tc", "id-map-row"),
        ("\tb", "id-map-row"),
        ("ok\tother", "id-map-conflict"),
    ],
)
def test_a_bad_row_is_named_by_line(tmp_path: Path, row: str, code: str) -> None:
    path = tmp_path / "map.tsv"
    path.write_text(f"ok\tgold\n{row}\n", encoding="utf-8")
    with pytest.raises(UsageError) as error:
        parse_id_map(str(path))
    assert error.value.code == code
    assert "map.tsv:2" in str(error.value)


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.tsv"
    path.write_bytes(b"a\t\xff\n")
    with pytest.raises(UsageError, match="UTF-8"):
        parse_id_map(str(path))


# --- published runs ---


def test_published_runs(real_data: Callable[[str], Path]) -> None:
    folder = real_data("azure_rag/northwind200")

    def cited(run: str) -> set[str]:
        lines = (folder / "runs" / run / "trace.jsonl").read_text(encoding="utf-8").splitlines()
        return {name for line in lines for name in json.loads(line)["answer_json"]["citations"]}

    lines = (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines()
    gold = {name for line in lines for name in json.loads(line)["gold_citations"]}
    found = mismatch(gold, cited("baseline_4"))
    assert found is not None
    assert found.scheme.name == "drop-page"
    assert (found.share_now, found.share_after) == ((0, 38), (38, 38))
    assert mismatch(gold, cited("baseline")) is None
    assert mismatch(gold, cited("badprompt_ignoresources_1")) is None
