"""The rules of text, sentence by sentence, from sentences_of_the_rules.toml; what wraps or disguises an answer."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipworthy.core.contracts import Gold
from shipworthy.language.refusal import load_rule
from shipworthy.suites.answers import matching

RULES = tomllib.loads(Path(__file__).with_name("sentences_of_the_rules.toml").read_text("utf-8"))["rule"]
NATURAL = load_rule("natural")


def examples(*kinds: str) -> list[Any]:
    rows = [(rule["says"], kind, row.split(" | ")) for rule in RULES for kind in kinds for row in rule.get(kind, ())]
    return [pytest.param(kind, cells, id=f"{says}: {kind}: {' | '.join(cells)}") for says, kind, cells in rows]


@pytest.mark.parametrize(("kind", "cells"), examples("found", "absent", "denied", "unclear"))
def test_an_expected_text_counts_as_a_reader_would_say(kind: str, cells: list[str]) -> None:
    lang, expected, claim, *question = cells
    item = {
        "qid": "q",
        "question": "".join(question),
        "answerable": True,
        "gold_claim_substr": [expected],
        "lang": lang,
    }
    state = matching.state(matching.wanted(msgspec.convert(item, Gold)), claim)
    assert (state if state in ("found", "denied", "unclear") else "absent") == kind


@pytest.mark.parametrize(("kind", "cells"), examples("refusal", "answer"))
def test_a_refusal_gives_no_answer(kind: str, cells: list[str]) -> None:
    lang, claim, question = cells
    assert NATURAL.reads(claim, question, lang) == kind


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["says"])
def test_every_sentence_has_examples_in_two_languages_or_is_about_one(rule: dict[str, Any]) -> None:
    langs = {row.split(" | ")[0] for kind, rows in rule.items() if kind != "says" for row in rows}
    assert len(langs) > 1 or "Hangul" in rule["says"]
