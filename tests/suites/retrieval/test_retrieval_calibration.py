"""Calibration: bars for ΔS from relevant blocks and hard negatives."""

from __future__ import annotations

import msgspec
import pytest

from shipworthy.core.contracts import Gold
from shipworthy.errors import DataError
from shipworthy.suites.retrieval.embedders import Lexical, calibrate


def test_calibration_suggests_bars_from_relevant_blocks_and_negatives() -> None:
    gold = [
        Gold(qid=f"q{number}", question="How heavy is the crate?", relevant=["a"], negatives=["n"])
        for number in range(30)
    ]
    texts = {"a": "The crate is heavy: 12 kg.", "n": "Opening hours are nine to five."}
    found = calibrate(gold, texts, Lexical())
    assert found.auc == 1 and found.relevant_median == found.delta_s_median == found.risk < found.negative_median
    assert (found.relevant, found.negative, found.without_text) == (30, 30, 0)
    with pytest.raises(DataError, match=r"\[calibrate-texts\]"):
        calibrate(gold, {}, Lexical())


def test_calibration_takes_citations_for_relevant_and_says_what_it_lacks() -> None:
    gold = [Gold(qid="q", question="How heavy is a lantern?", gold_citations=["a"], answerable=True)]
    texts = {"a": "A lantern is three kilograms heavy.", "n": "Ships sail on Monday."}
    with pytest.raises(DataError, match=r"no negative block.*as negatives in the gold set.*\[calibrate-texts\]"):
        calibrate(gold, texts, Lexical())
    found = calibrate([msgspec.structs.replace(gold[0], negatives=["n"])], texts, Lexical())
    assert (found.relevant, found.negative, found.without_text) == (1, 1, 0)
    assert found.relevant_median < found.negative_median
