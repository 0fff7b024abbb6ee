"""One spelling for dates, numbers, durations and amounts; and what is caught once they can be compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.suites.reasoning.fixture import parse_fixture
from shipworthy.suites.reasoning.judge import judge_answer
from shipworthy.suites.reasoning.spelling import Spelling
from shipworthy.suites.reasoning.verdict import ReasonerAnswer

SPELLING = Spelling(
    [
        (
            "212 requests, 37 older than 10 days, by 2025-03-18. p95 is 810 ms. 63 USD. 15 minutes. On 7 June. "
            "2,318 backers."
        )
    ],
    ["journal/2025-03-22.md"],
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("by Tue 18 March", "by Tue 2025-03-18"),
        ("March 18th, 2025", "2025-03-18"),
        ("on 18 March. Next", "on 2025-03-18. Next"),
        ("on 18.03.2025.", "on 2025-03-18."),
        ("release 1.2.2025.1", "release 1.2.2025.1"),
        ("on 18 Mar. 2025", "on 2025-03-18"),
        ("due March 18th: done", "due 2025-03-18: done"),
        ("pruned every night", "pruned nightly"),
        ("18 March 2031", "2031-03-18"),
        ("by the 22nd", "by 2025-03-22"),
        ("the 4th of these", "the 4th of these"),
        ("on June 7", "on 06-07"),
        ("on 2025-06-07", "on 06-07"),
        ("17 to 18 March", "03-17 to 2025-03-18"),
        ("two hundred and twelve", "212"),
        ("Thirty-seven of them", "37 of them"),
        ("fifty-one ten-minute records", "51 ten-minute records"),
        ("seven of nine", "seven of nine"),
        ("2318 backers", "2318 backers"),
        ("0.81 s", "810 ms"),
        ("a quarter of an hour", "15 minutes"),
        ("half an hour", "half an hour"),
        ("$63", "63 USD"),
        ("63 dollars a day, 40/day", "63 USD a day, 40 / day"),
        ("at noon, at 3 p.m.", "at 12:00, at 15:00"),
        ("7/9 flags", "7 of 9 flags"),
        ("policy/refunds.md (line 9)", "policy/refunds.md:9"),
        ("decisions/2025-02.md:31", "decisions/2025-02.md:31"),
        ('"18 March" is quoted', '"18 March" is quoted'),
        ("you may 5 times", "you may 5 times"),
    ],
)
def test_one_spelling(written: str, read: str) -> None:
    assert SPELLING.of(written) == read


@given(st.text(max_size=200))
def test_any_text_has_a_spelling_that_stays(text: str) -> None:
    once = SPELLING.of(text)
    assert isinstance(once, str)
    assert SPELLING.of("18 March") == "2025-03-18"


PUMP = {
    "id": "pump",
    "prompt": "Why did the pump stop, how much was lost, and what is next?",
    "evidence": [
        {
            "id": "w1",
            "source": "log/pump.md",
            "line": 3,
            "text": "The pump stopped at 04:10 on 2025-05-02 after 46 alarms, 19 of them critical.",
        },
        {
            "id": "w2",
            "source": "metrics.csv",
            "line": 8,
            "text": "Output fell from 78 to 51 litres per second, and 900 cubic metres were lost.",
        },
        {"id": "w3", "source": "todo.md", "line": 2, "text": "Ana Ruiz to replace the seal of the pump by 2025-05-09."},
        {
            "id": "w4",
            "source": "shifts.md",
            "line": 5,
            "text": "Jo Lind takes over the night shift from Max Ott on 2025-05-04.",
        },
    ],
    "bindings": [{"value": "900 cubic metres", "source": ["w2"]}, {"value": "Ana Ruiz", "source": ["w3"]}],
}
FIXTURE = parse_fixture({"cases": [PUMP]})
RIGHT = (
    "The pump stopped at 04:10 on 2 May [w1]; 900 cubic metres were lost [w2]. Ana Ruiz replaces the seal by the "
    "9th [w3]."
)


def verdict(text: str) -> Any:
    return judge_answer(FIXTURE.cases[0], ReasonerAnswer(text), FIXTURE)


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        (
            "Stopped 4:10 a.m., 2 May (log/pump.md:3). Loss: nine hundred cubic metres (metrics.csv:8). Next: new "
            "seal, Ana Ruiz, due 9 May (todo.md:2)."
        ),
        (
            f"{RIGHT} Output went from 78 down to 51, which is 27 litres less [w2], and 41% of the alarms were "
            "critical [w1]."
        ),
        f"{RIGHT} I'd look at the seal again on 12 May.",
        f"{RIGHT} Of the 46 alarms 27 were not critical [w1].",
    ],
)
def test_right_answers_in_other_spellings_pass(text: str) -> None:
    found = verdict(text)
    assert found.passed, (found.hard_failures, found.facts)


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        (f"{RIGHT} The repair costs 4,200 EUR.", "invented"),
        (RIGHT.replace("04:10", "04:50"), "invented"),
        (RIGHT.replace("were lost [w2]", "were lost [w1]"), "misattributed"),
        (
            RIGHT.replace("Ana Ruiz replaces the seal by the 9th [w3]", "Ana Ruiz replaces the seal by the 9th [w4]"),
            "misattributed",
        ),
        (f"{RIGHT} 17 of 46 alarms were critical [w1].", "invented"),
        (f"{RIGHT} Output rose from 51 to 78 litres [w2].", "turned"),
        (f"{RIGHT} Max Ott takes over the night shift from Jo Lind [w4].", "turned"),
        (f"{RIGHT} 19 alarms came first, 46 of them critical [w1].", "turned"),
        (
            (
                "The pump did not stop at 04:10 on 2025-05-02 after 46 alarms [w1]. 900 cubic metres were lost "
                "[w2]. Ana Ruiz replaces the seal by the 9th [w3]."
            ),
            "turned",
        ),
        (RIGHT.replace("900 cubic metres were lost", "water was lost"), "factual_grounding"),
    ],
)
def test_false_ones_made_of_true_words_fail(said: str, failure: str) -> None:
    found = verdict(said)
    assert not found.passed
    assert failure in found.hard_failures, (found.hard_failures, found.facts)
