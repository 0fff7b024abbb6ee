"""What people can choose about raters, and what a run takes from its ratings instead."""

from __future__ import annotations

from typing import Any

import pytest

from engines.scattered import scattered
from shipworthy.core import evaluate as core
from shipworthy.core.options import fields_of, make_options, recorded, shown
from shipworthy.errors import UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.raters.suite import SUITE

RATINGS = [
    {"qid": f"q{item}", "rater": rater, "label": label}
    for item, labels in enumerate(((9, 10), (10, 10), (9, 9), (11, 9)))
    for rater, label in zip(("ana", "ben"), labels, strict=True)
]


@pytest.mark.parametrize(
    "labels", ["9,10,11", " 9, 10 ,11", ["9", "10", "11"], [9, 10, 11], (9, "10", 11), ["9,10,11"]]
)
def test_labels_may_be_a_list_or_one_text_and_are_the_same_thereafter(labels: Any) -> None:
    options = make_options(SUITE.options, {"labels": labels})
    assert shown(options) == {"weights": None, "labels": ["9", "10", "11"]}
    assert recorded(options) == {"labels": ["9", "10", "11"]}
    assert make_options(SUITE.options, recorded(options)) == options
    decision = evaluate("raters", ratings=RATINGS, labels=labels, weights="linear")
    assert decision.options == {"weights": "linear", "labels": ["9", "10", "11"]}
    assert [row["label"] for row in decision.sections["labels"]] == ["9", "10", "11"]


def test_a_label_in_a_list_may_hold_a_comma() -> None:
    rows = [{"qid": 1, "rater": rater, "label": label} for rater, label in (("ana", "yes, but"), ("ben", "no"))]
    assert evaluate("raters", ratings=rows, labels=["no", "yes, but"]).options["labels"] == ["no", "yes, but"]


def test_raters_and_labels_that_occur_are_taken_from_the_ratings_and_are_no_options() -> None:
    assert {"raters", "scale"}.isdisjoint(fields_of(SUITE.options))
    with pytest.raises(UsageError, match=r"raters has no option 'scale'.*\[option-unknown\]"):
        evaluate("raters", ratings=RATINGS, scale=("a", "b"))
    decision = evaluate("raters", ratings=RATINGS)
    assert decision.options == {"weights": None, "labels": None}
    assert decision.run["call"]["options"] == {}


@pytest.mark.parametrize("options", [{}, {"weights": "quadratic"}, {"labels": "11,10,9", "gates": "alpha=0.2"}])
def test_places_are_the_same_in_any_split(options: dict[str, Any]) -> None:
    whole = evaluate("raters", ratings=RATINGS, **options).report()["digest"]
    for seed in range(10):
        parts = core.evaluate(SUITE, {"ratings": RATINGS}, make_options(SUITE.options, options), scattered(seed))
        assert parts.report()["digest"] == whole


def test_numbers_written_as_text_are_ordered_as_text_and_have_no_weights() -> None:
    written = [row | {"label": str(row["label"])} for row in RATINGS]
    assert [row["label"] for row in evaluate("raters", ratings=written).sections["labels"]] == ["10", "11", "9"]
    with pytest.raises(
        UsageError,
        match=r"linear weights need ordered labels, and labels such as '10' have no order.*\[weights-order\]",
    ):
        evaluate("raters", ratings=written, weights="linear")


def test_it_has_no_gates_of_its_own_and_no_place_in_a_config() -> None:
    assert evaluate("raters", ratings=RATINGS).verdict == "MEASURED"
    assert len(evaluate("raters", ratings=RATINGS, gates="alpha=0.2", only_gates=True).outcomes) == 1
    assert not SUITE.configurable
