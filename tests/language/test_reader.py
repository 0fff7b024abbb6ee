"""The shared reader of English: words, one spelling, sentences, and what a clause denies or asks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import calls
from shipworthy.language.clauses import clauses, denies, negated_at
from shipworthy.language.sentences import sentences
from shipworthy.language.spelling import spelled
from shipworthy.language.words import content_stems, is_content, stem, tokens

SAME = [
    ("$1,200.00", "$1200", "USD 1,200", "1200 dollars"),
    ("thirty days", "30 days", "30-day", "30‑day", "30 day"),
    ("one hundred and twenty", "120", "a hundred twenty"),
    ("two thousand ten", "2010", "2,010"),
    ("1.5 million", "1,500,000", "1500000.0"),
    ("18 March 2025", "March 18th, 2025", "2025-03-18", "Mar. 18, 2025", "18th of March 2025"),
    ("2 GB", "2GB", "two gigabytes"),
    ("5 %", "5 percent", "5 per cent"),
    ("5:30 p.m.", "5:30pm", "5:30 PM"),
    ("it’s “fine”", 'it\'s "fine"'),
    ("**bold** and `code`", "bold and code"),
    ("see [the docs](https://example.com/a_b)", "see the docs"),
    ("- one item", "one item", "# one item"),
    ("a\u00a0b\u200b c", "a b c"),
    ("Straße", "STRASSE"),
]


@pytest.mark.parametrize("wordings", SAME)
def test_wordings_of_one_thing_have_one_spelling(wordings: tuple[str, ...]) -> None:
    assert len({spelled(text) for text in wordings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("version 3.10", "version 3.1"),
        ("130 days", "30 days"),
        ("1.2.0", "1.2"),
        ("1,2,3", "123"),
        ("the 1990s", "1990 seconds"),
        ("snake_case", "snakecase"),
        ("18 March 2025", "19 March 2025"),
    ],
)
def test_different_things_stay_apart(one: str, other: str) -> None:
    assert spelled(one) != spelled(other)


FRAGMENTS = [*"-,.$%*_`[)#’–½€ſﬁ٣x:/0vsha\n\u00ad\u200b", "thirty", "two", "hundred", "and", "thousand", "million"]
FRAGMENTS += ["3", "10", "000", ",000", ".00", ".50", "2025", "18th", "of", "march", "may", "**", "~~", "](", "python"]
FRAGMENTS += ["GB", "days", "usd", "dollars", "percent", "pm", "p.m.", "dozen"]
MIXED = st.lists(st.sampled_from(FRAGMENTS), max_size=12)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), MIXED.map("".join), MIXED.map(" ".join)))
def test_a_spelling_is_its_own_spelling(text: str) -> None:
    once = spelled(text)
    assert spelled(once) == once


def test_tokens_know_their_place_and_number() -> None:
    text = "Café prices rose 1,200.50 in thirty days, don’t they?"
    found = tokens(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert [token.number for token in found if token.number] == ["1200.5", "30"]
    assert "don't" in [token.norm for token in found]
    assert not is_content(next(token for token in found if token.norm == "they"))


def test_content_is_stems_and_numbers() -> None:
    assert content_stems("The retries were logged for thirty days.") == content_stems("Retry logging: 30 days")
    assert stem("retention") == stem("retentions")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $3.50. It is cheap.", ["It costs $3.50.", "It is cheap."]),
        ("Dr. Lee met e.g. J. Doe. They left!", ["Dr. Lee met e.g. J. Doe.", "They left!"]),
        ("# Title\n- first\n- second. More.", ["# Title", "- first", "- second.", "More."]),
        ("a line that\ngoes on here.\nAnother", ["a line that\ngoes on here.", "Another"]),
        ("1. First step\n2. Second step", ["1. First step", "2. Second step"]),
        ("Version 1.2.3 is out", ["Version 1.2.3 is out"]),
        ("真的吗？是的。", ["真的吗？", "是的。"]),
        (" \n\n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    spans = sentences(text)
    assert [span.text for span in spans] == expected
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize(
    ("text", "part", "denied"),
    [
        ("it is not 30 days; it is 60 days", "30 days", True),
        ("it is not 30 days; it is 60 days", "60 days", False),
        ("The limit is 60 days, not 30 days.", "60 days", False),
        ("The limit is 60 days, not 30 days.", "30 days", True),
        ("The term is not 30 but 60 days", "60 days", False),
        ("60 days instead of 30 days", "30 days", True),
        ("Returns are not accepted after 30 days", "30 days", False),
        ("Files must not exceed 30 MB", "30 MB", False),
        ("no later than 30 days", "30 days", False),
        ("It is not only 30 days", "30 days", False),
        ("It never fails to ship in 30 days", "30 days", False),
        ("It does not support A, B, or C", "B", True),
        ("Neither A nor B works", "B", True),
        ("No, it is 30 days", "30 days", False),
        ("30 days isn’t right", "30 days", True),
        ("There is no doubt that it is 30 days", "30 days", False),
        ("It works without a key", "key", True),
        ("It lacks a lid", "lid", True),
        ("A switch without an owner is removed after 90 days.", "90 days", False),
        ("No releases are made from 20 March to 5 May.", "20 March", False),
        ("Not all plans cost $30", "$30", False),
    ],
)
def test_what_a_negation_reaches(text: str, part: str, denied: bool) -> None:
    start = text.rindex(part)
    assert negated_at(text, start, start + len(part)) is denied


def test_clauses_know_polarity_and_questions() -> None:
    read = clauses("The cache never stores keys, but it logs them. Does it expire?")
    assert [(clause.negated, clause.question) for clause in read] == [(True, False), (False, False), (False, True)]
    assert denies("not refundable")
    assert not denies("refundable within 30 days")


HOSTILE = [
    "[",
    "[a](b",
    "* ",
    "twenty ",
    "hundred and ",
    "1,000",
    "1,",
    ". ",
    "not ",
    "a, ",
    "a, or ",
    "9",
    "9.",
    "may 1 ",
]
HOSTILE += ["\na", "_", " ", "1-", "a.b.", "1 million ", "`", "''", "n't ", "(", "neither nor "]


@pytest.mark.parametrize("text", HOSTILE)
def test_twice_the_text_is_at_most_twice_the_work(text: str) -> None:
    """Steps are calls, counted; a regular expression that reads twice would show in the test of a hundred kilobytes."""
    for read in (spelled, sentences, clauses, content_stems):
        read(text * 10)
        half, whole = calls(read, text * 500), calls(read, text * 1000)
        assert whole <= 2 * half + 50
        read(text * (100_000 // len(text)))


def test_a_place_is_read_in_its_sentence_alone() -> None:
    """However long the text, only what is near the place is read."""
    text = "The key is not 30 days old. " * 4000
    place = len(text) // 2
    negated_at(text, 0, 5)
    assert calls(negated_at, text, place, place + 5) <= 2 * calls(negated_at, text[:2000], 1000, 1005) + 50


def test_importing_the_reader_reads_nothing() -> None:
    code = "import sys, shipworthy.language.clauses; sys.exit(bool({'tomllib', 'snowballstemmer'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
