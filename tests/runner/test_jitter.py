"""Jitters: the reference vectors exactly, and what a strict jitter never does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy.errors import UsageError
from shipworthy.runner.jitter import JITTERS, jitter
from waiting import FOREVER

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "jitters.json").read_text("utf-8"))

WORDS = st.sampled_from(
    [
        "list",
        "List",
        "explain",
        "show",
        "the",
        "plan",
        "1,000",
        "12:30",
        "a , b",
        "x:y",
        "key :",
        "`a , b — c`",
        "https://a.b/c?d=1,2",
        "—",
        "–",
        "?",
        "??",
        ".",
        "with citations",
        "in one sentence",
        ",",
        "in two words",
        "what's",
        "ß",
        "İ",
        "Straße",
        "日本",
        "e\u0301",
        "\u200b",
        "  ",
        "\n",
        "10 , 20",
        "(",
        ")",
        '"quoted?"',
    ]
)
QUESTIONS = st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=40))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['jitter']}:{vector['question']}")
def test_reference_vectors(vector: dict[str, str]) -> None:
    assert jitter(vector["question"], vector["jitter"], "reference") == vector["reference"]


@pytest.mark.parametrize(
    ("name", "question", "expected"),
    [
        ("ws", "What is 1,000 plus 2 ?", "What is 1,000 plus 2 ?"),
        ("ws", "Explain the alpha protocol ,with   citations", "Explain the alpha protocol, with citations"),
        ("ws", "List the owners : and run `a , b  c` at 12:30", "List the owners: and run `a , b  c` at 12:30"),
        ("ws", "Is https://a.b/c?d=1,2 allowed?", "Is https://a.b/c?d=1,2 allowed?"),
        ("ws", "std::vector or 'a,' then", "std::vector or 'a,' then"),
        ("ws", "Keep ``a , `b`  c`` and ~~~d  e~~~ ,as is", "Keep ``a , `b`  c`` and ~~~d  e~~~, as is"),
        ("ws", "See docs.example.com/a,b  ,then", "See docs.example.com/a,b, then"),
        ("ws", "key : ,x", "key:, x"),
        ("ws", "Is 3 : 4 the ratio : yes", "Is 3 : 4 the ratio: yes"),
        ("punct", "Does X support null keys?", "Does X support null keys ?"),
        ("punct", "Really??", "Really ??"),
        ("punct", "Compare A — B", "Compare A - B?"),
        ("punct", "Run `a—b` now", "Run `a—b` now?"),
        ("punct", "Tell me.", "Tell me."),
        ("punct", 'Who said "why?"', 'Who said "why?"'),
        ("punct", "", ""),
        ("punct", "  ", "  "),
        ("syn", "List the owners", "Enumerate the owners"),
        ("syn", "EXPLAIN it", "DESCRIBE it"),
        ("syn", "Could you please compare A and B", "Could you please contrast A and B"),
        ("syn", "What is a linked list?", "What is a linked list?"),
        ("syn", "Listing all", "Listing all"),
        ("syn", "List price of the Orchard plan?", "List price of the Orchard plan?"),
        ("syn", "List prices of all plans", "Enumerate prices of all plans"),
        ("syn", "Show me the owners", "Show me the owners"),
        ("syn", "Compare-and-swap is what?", "Compare-and-swap is what?"),
        ("order", "Compare X and Y in one sentence with citations", "Compare X and Y with citations in one sentence"),
        ("order", "Explain A, with citations, in one sentence?", "Explain A, in one sentence, with citations?"),
        (
            "order",
            "Explain, with citations, why in one sentence it fails",
            "Explain, with citations, why in one sentence it fails",
        ),
    ],
)
def test_strict_examples(name: str, question: str, expected: str) -> None:
    assert jitter(question, name) == expected


@given(QUESTIONS)
@settings(max_examples=100 * EFFORT, deadline=None)
def test_strict_jitters_keep_what_is_asked(question: str) -> None:
    for name in ("ws", "syn", "order", "punct"):
        changed = jitter(question, name)
        assert re.findall(r"\d+", changed) == re.findall(r"\d+", question)
        for span in re.findall(r"`a , b — c`|https://\S+=1,2", question):
            assert span in changed
    assert _letters(jitter(question, "ws")) == _letters(question)
    assert sorted(jitter(question, "order")) == sorted(question)
    if not re.match(r"\W*(please|can|could|would|will|explain|list|compare|show)\b", question, re.IGNORECASE):
        assert jitter(question, "syn") == question


@given(QUESTIONS)
@settings(max_examples=100 * EFFORT, deadline=None)
def test_idempotence(question: str) -> None:
    for name in ("none", "ws", "syn"):
        once = jitter(question, name)
        assert jitter(once, name) == once
    assert jitter(jitter(question, "order"), "order") == question
    marked = jitter(question, "punct")
    again = jitter(marked, "punct")
    assert jitter(again, "punct") == again
    if question.rstrip().endswith("?"):
        assert again == marked


@given(st.text(max_size=60), st.sampled_from(JITTERS), st.sampled_from(["strict", "reference"]))
@settings(max_examples=67 * EFFORT, deadline=None)
def test_any_text_is_jittered(question: str, name: str, profile: str) -> None:
    assert jitter(question, name, profile) == jitter(question, name, profile)


def test_para_takes_the_paraphrases_in_turn() -> None:
    words = ("b", "c")
    assert [jitter("a", "para", paraphrases=words, turn=turn) for turn in range(4)] == ["b", "c", "b", "c"]
    assert jitter("a", "para") == "a"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="jitter-unknown"):
        jitter("a", "shuffle")
    with pytest.raises(UsageError, match="strict, reference"):
        jitter("a", "ws", "loose")


def _letters(text: str) -> str:
    return "".join(text.split())


HOSTILE = """
from shipworthy.runner.jitter import jitter
for text, times in (("`", 400_000), ("`a ", 150_000), ("a", 400_000), ("a.", 200_000), (" :", 200_000), ("~", 400_000)):
    for name in ("ws", "punct", "syn", "order"):
        assert len(jitter(text * times, name)) > times / 2
"""


def test_hostile_text_is_no_trap() -> None:
    """Anything quadratic in the length would take hours."""
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=FOREVER)
