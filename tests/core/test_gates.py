"""Gates: written, parsed, compared exactly, explained."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.core.decision import decide
from shipworthy.core.gates import Gate, Outcome, certainty, check_gate, compare, parse_gates, sentence
from shipworthy.core.metrics import Count, Mean, Measure, Metric, Percentile, Rate, Words, decimal
from shipworthy.core.tally import Tally
from shipworthy.errors import UsageError
from shipworthy.suites.answers.metrics import metrics as default_metrics
from shipworthy.suites.answers.options import Options

SHARED = default_metrics(Options())
PRECISION = Rate("precision", SHARED["precision"].words, of="correct", among="answered")
UNDER = Rate(
    "under_refusal", SHARED["under_refusal"].words, "lower", of="leak", among="unanswerable", could="unanswerable"
)
MISSING = Count("missing", Words("absent"), "lower", high=None, of=("absent",), completes=True)
METRICS: dict[str, Metric] = {metric.name: metric for metric in (PRECISION, UNDER, MISSING)}
ALIASES = {"under": "under_refusal"}


def outcome(gate: str, k: int, n: int) -> Outcome:
    parsed = check_gate(Gate.parse(gate), METRICS, ALIASES)
    metric = METRICS[parsed.metric]
    tally = Tally({"correct": k, "answered": n, "leak": k, "unanswerable": n, "items": max(n, 1), "absent": k})
    measure = msgspec.structs.replace(metric.measure(tally), words=metric.words)
    return compare(parsed, metric, measure, metric.applies(tally))


@pytest.mark.parametrize(
    "text",
    [
        "precision >= 0.80",
        "recall@5 >= 0.90",
        "precision[type=table] >= 0.75",
        "recall@5 >= baseline - 0.02",
        "p95 <= baseline * 1.15",
        "missing <= 0",
        "under_refusal <= .05",
    ],
)
def test_the_written_form_is_the_object(text: str) -> None:
    assert str(Gate.parse(text)) == text
    assert Gate.parse(str(Gate.parse(text))) == Gate.parse(text)


@given(st.sampled_from(sorted(METRICS)), st.decimals(0, 1, places=4), st.sampled_from(["", "type=a b", "lang=de"]))
def test_parsing_what_was_printed_gives_it_back(metric: str, bound: Any, part: str) -> None:
    text = f"{metric}[{part}]" if part else metric
    gate = Gate.parse(f"{text} {METRICS[metric].op} {bound}")
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    "texts",
    [
        ["precision=0.80,under=0.05"],
        ["precision=0.80 under_refusal=0.05"],
        ["precision>=0.80, under<=0.05"],
        ["precision = 0.80", "under = 0.05"],
        [" precision ≥ 0.80 ,\n under ≤ 0.05 "],
    ],
)
def test_all_spellings_of_a_list_are_the_same(texts: list[str]) -> None:
    assert [str(gate) for gate in parse_gates(texts, METRICS, ALIASES)] == [
        "precision >= 0.80",
        "under_refusal <= 0.05",
    ]


def test_lists_may_hold_slices_and_baselines() -> None:
    gates = parse_gates(["precision[type=table]>=0.7,precision>=baseline - 0.02 missing=0"], METRICS, ALIASES)
    assert [str(gate) for gate in gates] == [
        "precision[type=table] >= 0.7",
        "precision >= baseline - 0.02",
        "missing <= 0",
    ]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("precison=0.8", "gate-unknown", "Did you mean precision?"),
        ("precision=1.2", "gate-range", "between 0 and 1"),
        ("precision=80", "gate-range", "0.80 for 80 %"),
        ("precision<=0.8", "gate-direction", "precision >= 0.8"),
        ("precision", "gate-syntax", "name=value"),
        ("precision=high", "gate-bound", "0.80"),
        ("missing=-1", "gate-bound", "bound"),
        ("zzz=1", "gate-unknown", "Known:"),
    ],
)
def test_a_mistake_says_what_would_be_right(text: str, code: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gates([text], METRICS, ALIASES)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("k", "n", "state"),
    [(24, 30, "PASS-BUT-UNPROVEN"), (28, 30, "PASS"), (22, 30, "FAIL-BUT-CLOSE"), (18, 30, "FAIL"), (0, 0, "NO-DATA")],
)
def test_five_states(k: int, n: int, state: str) -> None:
    assert outcome("precision >= 0.80", k, n).state == state


def test_equality_holds_exactly() -> None:
    assert outcome("precision >= 0.80", 8, 10).met
    assert not outcome("precision >= 0.80", 15999, 20000).met


def test_a_failing_number_never_looks_like_its_bound() -> None:
    assert "0.79995" in sentence(outcome("precision >= 0.80", 15999, 20000))
    assert decimal(Fraction(15999, 20000), against=Fraction(4, 5)) == "0.79995"
    assert decimal(Fraction(4, 5), against=Fraction(4, 5)) == "0.800"


@given(st.integers(0, 3000), st.integers(1, 3000), st.integers(0, 1000))
def test_shown_numbers_stay_on_their_side(k: int, n: int, thousandth: int) -> None:
    value, bound = Fraction(min(k, n), n), Fraction(thousandth, 1000)
    shown = Fraction(decimal(value, against=bound))
    assert (shown < bound) == (value < bound)
    assert (shown > bound) == (value > bound)


def test_sentences_lead_with_counts_and_say_what_is_allowed() -> None:
    assert sentence(outcome("precision >= 0.75", 88, 120)) == (
        "88 of 120 answers were correct and correctly cited; at least 90 must be (precision 0.733 < 0.75)"
    )
    assert sentence(outcome("under <= 0.05", 4, 60)) == (
        "4 of 60 unanswerable questions were answered; at most 3 may be (under_refusal 0.067 > 0.05)"
    )
    assert certainty(outcome("precision >= 0.80", 26, 30)) == (
        "not statistically certain: 14 more passing questions, or about 82 at this rate, would prove it"
    )


def test_undefined_is_said_and_not_applicable_only_without_such_items() -> None:
    empty = Tally({"items": 3})
    gate = Gate.parse("under_refusal <= 0.05")
    assert compare(gate, UNDER, UNDER.measure(empty), UNDER.applies(empty)).state == "NOT-APPLICABLE"
    undefined = outcome("precision >= 0.80", 0, 0)
    assert sentence(undefined) == "correct and cited (precision) has no value: there are no answers"
    assert str(undefined.measure) == "n/a"


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 100), st.integers(0, 100), st.sampled_from([">=", "<="]))
def test_raising_a_bar_never_turns_no_ship_into_ship(k: int, n: int, one: int, other: int, op: str) -> None:
    k = min(k, n)
    metric = "precision" if op == ">=" else "under_refusal"
    easy, hard = sorted((Fraction(one, 100), Fraction(other, 100)), reverse=op == "<=")
    verdicts = [decide([outcome(f"{metric} {op} {float(bound):.2f}", k, n)])[0] for bound in (easy, hard)]
    assert verdicts != ["NO-SHIP", "SHIP"]


def test_a_failing_gate_decides_even_where_data_is_missing() -> None:
    failing, missing = outcome("precision >= 0.80", 1, 30), outcome("missing <= 0", 2, 30)
    assert missing.state == "NO-DATA"
    assert decide([missing, failing])[0] == "NO-SHIP"
    assert decide([missing, outcome("precision >= 0.80", 30, 30)])[0] == "NO VERDICT"
    assert decide([])[0] == "NO VERDICT"


def test_a_percentile_is_proven_by_its_order_statistic() -> None:
    p95 = Percentile(
        "p95", Words("latency"), "lower", high=None, unit=" ms", of="us", p=Fraction(95), scale=Fraction(1, 1000)
    )
    few, many = Tally({("us", 1000): 58}), Tally({("us", 1000): 59})
    gate = Gate.parse("p95 <= 2")
    assert compare(gate, p95, p95.measure(few), True).state == "PASS-BUT-UNPROVEN"
    assert compare(gate, p95, p95.measure(many), True).state == "PASS"
    assert p95.measure(Tally({("us", n * 1000): 1 for n in (1, 2, 3, 4)})).value == Fraction("3.85")


def test_a_mean_is_exact() -> None:
    mean = Mean("recall", Words("mean recall"), of="recall")
    assert mean.measure(Tally({("recall", Fraction(1, 3)): 3, ("recall", 1): 1})).value == Fraction(1, 2)
    assert mean.measure(Tally()) == Measure("recall", "mean", None, 0, missing="no value of recall")
