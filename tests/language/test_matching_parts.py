"""What matching is made of: edges of words and numbers, amounts in one form, yes and no; and that it is quick."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.language.amounts import compared
from shipworthy.language.denial import denied
from shipworthy.language.edges import cut
from shipworthy.language.packs import names, pack_of
from shipworthy.language.polarity import polarity
from shipworthy.language.spelling import said, spelled
from shipworthy.language.wording import places, worded


@pytest.mark.parametrize(
    ("text", "part", "lang", "inside"),
    [
        ("unavailable", "available", "", True),
        ("refunds", "refund", "", False),
        ("3-5 days", "5 days", "", False),
        ("at -5 days", "5 days", "", True),
        ("3-5 days", "-5 days", "", True),
        ("costs .5 mg", "5 mg", "", True),
        ("10^23", "10", "", True),
        ("v1.2", "1.2", "", False),
        ("x1.2", "1.2", "", True),
        ("snake_case", "case", "", True),
        ("rückgabefrist", "frist", "de", False),
        ("rückgabefrist", "frist", "", True),
        ("unschuldig", "schuldig", "de", True),
        ("東京都", "京", "", False),
        ("ภาษาไทย", "ไทย", "", False),
        ("학교에서", "학교", "", False),
        ("초등학교", "학교", "", True),
        ("二百三十", "三十", "", True),
        ("हिन्दी", "हिन्द", "", True),
        ("книги", "книг", "", False),
        ("книголюб", "книг", "", True),
        ("הספר", "ספר", "", False),
    ],
)
def test_where_a_word_begins_and_ends(text: str, part: str, lang: str, inside: bool) -> None:
    start = text.index(part)
    assert cut(text, start, start + len(part), lang) is inside


@given(st.text(max_size=40), st.integers(0, 39), st.integers(1, 40), st.sampled_from(sorted(names())))
def test_any_place_of_any_text_is_read(text: str, start: int, size: int, lang: str) -> None:
    if start < len(text):
        cut(text, start, min(start + size, len(text)))
        denied(text, start, min(start + size, len(text)), pack_of(lang), text)


@given(st.text(max_size=60))
def test_any_text_has_one_form(text: str) -> None:
    compared(text)
    polarity(text, text, pack_of("en"))
    list(places(worded(text, spelled(text)), spelled(text)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("45.16 km", "45,160 m"),
        ("2 GB", "2000 megabytes"),
        ("1 hour 30 minutes", "90 min"),
        ("½ cup", "1/2 cup"),
        ("two thirds", "2/3"),
        ("from 3 to 5", "3–5"),
        ("from 9:00 until 17:00", "9:00-17:00"),
        ("from 9 am through 5 pm", "9 am to 5 pm"),
        ("$1.5m", "$1,500,000"),
        ("noon at 12 pm", "noon at 12:00"),
        ("12 am", "0:00"),
        ("5 lakh", "500,000"),
        ("100 requests per minute", "100 requests/min"),
    ],
)
def test_the_same_amount_has_one_form(one: str, other: str) -> None:
    assert compared(one) == compared(other)


@pytest.mark.parametrize(("one", "other"), [("1 year", "365 days"), ("$5", "€5"), ("5 GB", "5 g"), ("3 pm", "3 am")])
def test_another_amount_has_another(one: str, other: str) -> None:
    assert compared(one) != compared(other)


def test_what_is_said_leaves_out_what_is_not() -> None:
    assert said("~~old~~ [new](http://x/y) ![i](z)").split() == ["new"]
    assert said("a < b and c > d") == "a < b and c > d"
    assert said("x <5 days") == "x <5 days"


@pytest.mark.parametrize("answer", ["", "?", "Is it?", "…", "Perhaps it is open.", "Yes and no, it depends."])
def test_what_can_not_be_told_is_neither(answer: str) -> None:
    assert polarity(answer, "Is it open?", pack_of("en")) == ""


@pytest.mark.parametrize(
    ("answer", "question", "said"),
    [
        ("I'm afraid not.", "Is it open?", "no"),
        ("It's a no.", "Is it open?", "no"),
        ("Maybe not.", "Is it open?", ""),
        ("The tariff is nonrefundable.", "Is the tariff refundable?", "no"),
        ("It is unavailable.", "Is it available?", "no"),
        ("It is not unavailable.", "Is it available?", "yes"),
    ],
)
def test_a_short_answer_and_a_word_with_its_opposites_prefix_are_read(answer: str, question: str, said: str) -> None:
    assert polarity(answer, question, pack_of("en")) == said


HOSTILE = ["1" * 200_000, "1," * 100_000, "1.111" * 40_000, "\\frac{" * 40_000, "<a " * 60_000, "~~x" * 60_000]


@pytest.mark.parametrize("text", HOSTILE, ids=["digits", "commas", "groups", "latex", "tags", "struck"])
def test_long_texts_are_read_in_time(text: str) -> None:
    code = "import sys\nfrom shipworthy.language.amounts import compared\ncompared(sys.stdin.read())"
    subprocess.run([sys.executable, "-c", code], input=text, text=True, check=True, timeout=60)
