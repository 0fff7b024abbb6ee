"""Markers: every form is taken out of the claim whole, and names what was retrieved, by id or by rank."""

from __future__ import annotations

import pytest

from shipworthy.reading.mapping import FieldMap
from shipworthy.reading.proposal import doubt

IDS = ["pricing.md", "policy.md", "hosting.md"]
CLAIM = "Refunds take 30 days."


@pytest.mark.parametrize(
    "text",
    [
        "Refunds take 30 days [2].",
        "Refunds take 30 days[2].",
        "Refunds take 30 days [policy.md].",
        "Refunds take 30 days (policy.md).",
        "Refunds take 30 days (source: policy.md).",
        "Refunds take 30 days (policy, p. 4).",
        "Refunds take 30 days (policy.md; S. 4-6).",
        "Refunds take 30 days 【policy.md】.",
        "Refunds take 30 days（policy.md）.",
        "Refunds take 30 days [doc2].",
        "Refunds take 30 days [Source 2].",
        "Refunds take 30 days 【2†source】.",
        "Refunds take 30 days 【4:0†policy.md】.",
        "Refunds take 30 days [[2]](https://x.example/policy).",
        "Refunds take 30 days [2](https://x.example/policy).",
        "Refunds take 30 days <sup>2</sup>.",
        "Refunds take 30 days [^1].\n\n[^1]: policy.md",
        "Refunds take 30 days.\n\nSources: policy.md",
        "Refunds take 30 days.\n\n### References\n\n- [2] policy.md",
        "Refunds take 30 days <ref>[2]</ref>.",
        "Refunds take 30 days <cite id='policy.md'/>.",
        "Refunds take 30 days.²",
        "Refunds take 30 days.¹\n\n¹ policy.md",
        "Refunds take 30 days [1].\n\n----\n[1] policy.md, section 4",
        "Refunds take 30 days.SOURCES: policy.md",
        "Refunds take 30 days.\n\nNachzulesen in: policy.md",
        "<p>Refunds take <b>30&nbsp;days</b>.<sup><a href='#s2'>2</a></sup></p>",
        "<answer><text>Refunds take 30 days.</text><sources><source>2</source></sources></answer>",
        "<think>Is it 14? See [1].</think>Refunds take 30 days [2].",
    ],
)
def test_every_form_is_read_and_taken_out(text: str) -> None:
    mapping = FieldMap.parse({"claim": "a", "citations": "markers@a", "retrieved_ids": "ids"})
    answer = mapping.trace({"a": text, "ids": IDS})["answer_json"]
    assert answer | {"claim": answer["claim"].replace("\xa0", " ")} == {"claim": CLAIM, "citations": ["policy.md"]}


@pytest.mark.parametrize(
    ("text", "claim", "cited"),
    [
        ("See [our offer] (for free).", "See [our offer] (for free).", []),  # brackets that name nothing
        ("It is fast (policy within 30 days).", "It is fast (policy within 30 days).", []),
        ("It is [D9].", "It is.", ["D9"]),  # an id of its own, not the ninth
        ("It has 30 m² (x²).", "It has 30 m² (x²).", []),
        ("Reach us at: any time you like", "Reach us at: any time you like", []),
        ("Use <b> for bold text.", "Use <b> for bold text.", []),
        ("[1] is the first step.", "is the first step.", ["pricing.md"]),
        ("It is [1, 3].", "It is.", ["pricing.md", "hosting.md"]),
        ("It is [7].", "It is.", ["7"]),  # no such rank: a citation of something that was not retrieved
        ("Sources: we have many, and they are good.", "Sources: we have many, and they are good.", []),
    ],
)
def test_what_is_no_marker_stays(text: str, claim: str, cited: list[str]) -> None:
    mapping = FieldMap.parse({"claim": "a", "citations": "markers@a", "retrieved_ids": "ids"})
    assert mapping.trace({"a": text, "ids": IDS})["answer_json"] == {"claim": claim, "citations": cited}


def test_numbers_may_count_from_0_and_the_claim_may_be_bare() -> None:
    record = {
        "a": "So it is [0].",
        "ids": IDS,
        "cited": [{"index": 2}],
        "parts": [{"type": "t", "x": "a "}, {"type": "u"}],
    }
    mapping = FieldMap.parse({"claim": "a", "citations": "from0:markers@a", "retrieved_ids": "ids"})
    assert mapping.trace(record)["answer_json"] == {"claim": "So it is.", "citations": ["pricing.md"]}
    mapping = FieldMap.parse({"claim": "bare@a", "citations": "from0:cited[*].index", "retrieved_ids": "ids"})
    assert mapping.trace(record)["answer_json"] == {"claim": "So it is.", "citations": ["hosting.md"]}
    assert FieldMap.parse({"claim": "parts[type=t].x"}).trace(record)["answer_json"]["claim"] == "a "
    assert FieldMap.parse({"claim": "a", "retrieved_ids": "ids[-1]"}).trace(record)["retrieved_ids"] == ["hosting.md"]


@pytest.mark.parametrize(
    "text",
    ["\n" + " " * 40_000, "<p>" + "<sup>" * 5000 + "</p>", "\n[1] a " * 3000, "\nword: x" * 4000, "<cite =" * 4000],
    ids=["blanks", "tags", "footnotes", "labels", "attributes"],
)
def test_long_texts_without_an_end_are_read(text: str) -> None:
    assert FieldMap.parse({"claim": "a", "citations": "markers@a"}).trace({"a": text})["answer_json"]
    assert isinstance(doubt(text, text + ".", "Which?"), str)
