"""What docs/writing-gold.md promises about expected text, kept."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import gold, trace
from shipworthy import evaluate

MATCHES = [
    (["30 days"], {}, "You have thirty days.", True),
    (["30 days"], {}, "It is **30** days.", True),
    (["30 days"], {}, "It is 130 days.", False),
    (["30 days"], {}, "It is not 30 days; it is 60 days.", False),
    (["$1200"], {}, "It costs $1,200.00 a year.", True),
    (["$49"], {}, "The plan is $49.", True),
    (["Ines Averell", "Tomasz Birk"], {"match": "all"}, "Tomasz Birk and Ines Averell founded it.", True),
    (["Ines Averell", "Tomasz Birk"], {"match": "all"}, "Tomasz Birk founded it.", False),
    (["3.5 kg"], {"match": "number", "tolerance": "2%"}, "It weighs 3.52 kg.", True),
    (["3.5 kg"], {"match": "number", "tolerance": "2%"}, "It weighs 3.9 kg.", False),
    ([r"\bv?2\.\d+\b"], {"match": "regex"}, "Use v2.14 or later.", True),
]


@pytest.mark.parametrize(("expected", "fields", "answer", "contained"), MATCHES)
def test_expected_text(expected: list[str], fields: dict[str, Any], answer: str, contained: bool) -> None:
    rows = evaluate([gold("A", expected, **fields)], [trace("A", answer)]).items
    assert [row["contained"] for row in rows] == [contained]
