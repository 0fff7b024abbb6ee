"""Sections: what an id says about its place, and how far two sections are apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.errors import DataError
from shipworthy.suites.retrieval.places import (
    distance,
    document_of_id,
    inside,
    parse_section,
    read_sections,
    section_of,
    section_of_id,
    type_of_id,
)


@pytest.mark.parametrize(
    ("block", "section"),
    [
        ("S.4.2.p.Bk011a", "S.4.2"),
        ("S.4.2.p.Bk011", "S.4.2"),
        ("S.12.t.Bk001b", "S.12"),
        ("4.2.c.Bk7", "4.2"),
        ("A.3.1.bk012", "A.3.1"),
        ("doc|r=2024-01|s=4.2|p=003|b=007", "4.2"),
        ("manual|s=A.1", "A.1"),
        ("p12#2", "p12"),
        ("chunk-17", None),
        ("S.4.2", None),
        ("p12", None),
        ("", None),
        ("S..p.Bk1", None),
        ("Ｓ.4.2.p.Bk011", None),
        ("S.٤.p.Bk011", None),
        ("doc|r=1|b=7", None),
        ("S.4.2.p.Bk011a extra", None),
        ("S.4.2.p.Bk011a\n", None),
    ],
)
def test_the_grammar_finds_the_section_or_says_nothing(block: str, section: str | None) -> None:
    assert section_of_id(block) == section


def test_a_section_that_is_given_wins_over_the_table_and_the_table_over_the_grammar() -> None:
    known = {"S.4.2.p.Bk011": "9.9"}
    assert section_of("S.4.2.p.Bk011", "7.1", known) == parse_section("7.1")
    assert section_of("S.4.2.p.Bk011", None, known) == parse_section("9.9")
    assert section_of("S.4.2.p.Bk011", None, {}) == parse_section("4.2")
    assert section_of("chunk-17", None, {}) is None
    assert section_of("chunk-17", "  ", {}) is None


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [
        ("4.2", "4.2", 0),
        ("S.4.2", "4.2", 0),
        ("4.02", "4.2", 0),
        ("4.2", "4", 1),
        ("4.2.1", "4.2", 1),
        ("4.1", "4.2", 2),
        ("4.2", "5.1", 4),
        ("A.3.1", "3.1", 5),
        ("p12", "p13", 2),
        ("p12", "p12", 0),
    ],
)
def test_distance_in_the_title_tree(one: str, other: str, steps: int) -> None:
    assert distance(parse_section(one), parse_section(other)) == steps


def test_numbers_compare_as_numbers() -> None:
    names = ["1.10", "1.2", "p10", "p9", "10", "S.2", "1.1.1"]
    assert sorted(names, key=parse_section) == ["1.1.1", "1.2", "1.10", "S.2", "10", "p9", "p10"]


_names = st.lists(st.integers(0, 30), min_size=1, max_size=5).map(lambda parts: ".".join(map(str, parts)))


@given(_names, _names, _names)
def test_distance_is_a_metric(one: str, other: str, third: str) -> None:
    a, b, c = map(parse_section, (one, other, third))
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert inside(a, b) == (distance(a, b) == len(a) - len(b))


@given(st.text(max_size=40))
def test_no_text_breaks_the_parsers(text: str) -> None:
    parse_section(text)
    section_of(text, text, {})
    type_of_id(text)
    document_of_id(text)


def test_a_number_too_long_for_an_integer_is_a_name() -> None:
    assert distance(parse_section("9" * 5000), parse_section("9" * 5000)) == 0


def test_type_and_document_of_an_id() -> None:
    assert [type_of_id(f"S.1.{letter}.Bk1") for letter in "pctfx"] == ["prose", "code", "table", "figure", None]
    assert document_of_id("guide|r=1|s=2|b=3") == "guide"
    assert document_of_id("S.1.p.Bk1") is None


def test_a_table_of_sections_is_read_and_a_bad_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sections.jsonl"
    rows = [{"id": "b7", "section_id": "4.2"}, {"id": "b8", "section": "5"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sections, read = read_sections(path)
    assert sections == {"b7": "4.2", "b8": "5"} and (read.records, len(read.digest)) == (2, 64)
    path.write_text('{"id": "b7", "section_id": 4}\n')
    with pytest.raises(DataError, match=r"sections\.jsonl:1.*\[sections-row\]"):
        read_sections(str(path))
