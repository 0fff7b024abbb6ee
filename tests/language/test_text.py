"""Text rules: what compares equal, and what a reader gets to see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.text import canon, fold, tidy, visible


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("cafe\u0301 au  lait", "Café au\tlait"),
        ("ΟΔΟΣ", "οδος"),
        ("\u00a0thirty\u2003days ", "thirty days"),
    ],
)
def test_fold_makes_the_same_words_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text())
def test_fold_is_the_same_when_done_by_the_book(text: str) -> None:
    assert fold(text) == " ".join(unicodedata.normalize("NFC", text).casefold().split())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_ascii_shortcut_changes_nothing(text: str) -> None:
    assert fold(text) == " ".join(text.casefold().split())


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("It is 1,000.50 EUR!", "it is 1,000.50 eur"),
        ("«Yes» — really…", "yes really"),
        ("minus -5 and 3-4", "minus -5 and 3 4"),
        ("a.b", "a b"),
        ("", ""),
        ("?!", ""),
        ("At 10:30, on 2024/05/01", "at 10:30 on 2024/05/01"),
    ],
)
def test_canon_keeps_numbers_and_drops_the_rest(claim: str, expected: str) -> None:
    assert canon(claim) == expected


@given(st.text())
def test_canon_is_idempotent_on_what_it_returns(text: str) -> None:
    once = canon(text)
    assert canon(once) == canon(canon(once))
    assert once == once.strip()


def test_tidy_compares_constraints_by_letter() -> None:
    assert tidy(" Cafe\u0301 only ") == "Café only"
    assert tidy("Only A") != tidy("only a")


@given(st.text(alphabet=st.characters(codec=None)))
def test_visible_text_can_be_written_anywhere(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown)


def test_visible_spells_out_and_cuts() -> None:
    assert visible("a\x1b[2Jb\u202ec\n") == "a\\x1b[2Jb\\u202ec\\n"
    assert visible("abcdef", 4) == "abc…"
