"""A refusal that only looks like the token is no refusal, and is listed by name."""

from __future__ import annotations

import pytest

from conftest import trace, unanswerable
from shipworthy import evaluate, report

LOOKALIKES = {
    "cyrillic": "n\u043et in \u0441\u043entext",
    "greek": "n\u03bft in c\u03bfntext",
    "armenian": "\u0578ot in context",
    "small capitals": "\u0274\u1d0f\u1d1b \u026a\u0274 \u1d04\u1d0f\u0274\u1d1b\u1d07x\u1d1b",
    "full width": "\uff4e\uff4f\uff54 \uff49\uff4e \uff43\uff4f\uff4e\uff54\uff45\uff58\uff54",
    "dotless": "not \u0131n context",
    "digit": "n0t in c0ntext",
    "ell": "not ln context",
    "accent": "no\u0301t in context",
    "zero width space": "not in con\u200btext",
    "joiner": "n\u200dot in context",
    "soft hyphen": "not in con\u00adtext",
    "direction": "\u202enot in context",
    "byte order mark": "\ufeffnot in context",
    "tag": "not in context\U000e0041",
    "selector": "not\ufe0f in context",
    "control": "not in con\x00text",
    "filler": "not\u3164in context",
    "no-break space": "not\u00a0in\u00a0context",
    "line separator": "not\u2028in context",
    "full stop": "Not in context.",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_lookalike_is_an_answer_and_is_listed(name: str) -> None:
    found = evaluate([unanswerable(name)], [trace(name, LOOKALIKES[name], cite=())])
    assert found.counts["refused"] == 0 and found.measures["under_refusal"].k == 1
    assert found.named["near_refusals"] == [name] and found.measures["near_refusals"].value == 1
    shown = " ".join(report.render(found, "text").decode().split())
    assert "1 answer with other text around the refusal token" in shown
    assert name in report.render(found, "html").decode()


@pytest.mark.parametrize(
    "claim", ["It is not in the context of war.", "Contexts matter.\nNothing.", "no", "10 l of milk"]
)
def test_other_claims_are_not(claim: str) -> None:
    assert not evaluate([unanswerable("q")], [trace("q", claim, cite=())]).named.get("near_refusals")
