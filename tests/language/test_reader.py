"""Sentences as suites compare them: where words occur, what is denied, and what is asserted."""

from __future__ import annotations

import pytest

from shipworthy.language.reader import names_of, read_phrase, read_text


def test_words_are_stems_and_numbers_in_one_spelling():
    (sentence,) = read_text("1. Twelve gateways retried on 2025-03-14.")
    assert sentence.words[:3] == ["12", "gateway", "retri"] and sentence.places(["14", "march"])


@pytest.mark.parametrize(
    ("text", "affirmed"),
    [
        ("15 May instead of 12 May.", False),
        ("It is 12 May.", True),
        ("12 May is not right.", False),
        ("Not 15 May; 12 May.", True),
    ],
)
def test_words_are_affirmed_where_no_negation_reaches_them(text, affirmed):
    (sentence,) = read_text(text)
    assert sentence.places(["12", "may"]) and sentence.affirms(["12", "may"]) is affirmed


@pytest.mark.parametrize(
    ("text", "phrase", "asserted"),
    [
        ("The two accounts are duplicates.", "the accounts are duplicates", True),
        ("The two accounts are not duplicates.", "the accounts are duplicates", False),
        ("The two accounts are not duplicates.", "the accounts are not duplicates", True),
        ("Are the two accounts duplicates?", "the accounts are duplicates", False),
        ("The accounts differ.", "the accounts are duplicates", False),
        ("The accounts differ.", "it is so", False),
    ],
)
def test_a_phrase_is_asserted_with_its_words_and_its_polarity(text, phrase, asserted):
    (sentence,) = read_text(text)
    assert sentence.asserts(phrase) is asserted


def test_names_are_capitalised_words_that_do_not_only_open_the_sentence():
    assert names_of("Priya Nair told the gateway team that Kenji's disk is full.") == {"priya", "nair", "kenji"}
    assert names_of("The disk is full.") == set()


def test_a_phrase_is_read_once():
    assert read_phrase("a phrase") is read_phrase("a phrase")
