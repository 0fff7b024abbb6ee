"""The glossary: every metric of every suite has its words, and gates are told in them."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from shipworthy import stats
from shipworthy.core.gates import Gate, compare, sentence, state_in_words
from shipworthy.core.metrics import Count, Mean, Measure, Metric, Rate, Words
from shipworthy.core.tally import Tally
from shipworthy.glossary import find_term, find_terms, reasons, terms
from shipworthy.suites import SUITES, load_suite
from shipworthy.suites.answers.metrics import default_gates
from shipworthy.suites.retrieval.metrics import CANARY


@pytest.mark.parametrize("name", SUITES)
def test_every_metric_of_a_suite_has_a_term_of_that_suite(name: str) -> None:
    suite = load_suite(name)
    for metric in suite.metrics(suite.options()):
        term = find_term(metric, name)
        assert term is not None, metric
        assert term.words.plain and term.words.formula, metric
        assert name in {suite for one in find_terms(metric) for suite in one.suites}, metric


@pytest.mark.parametrize("name", SUITES)
def test_every_rate_says_what_it_is_a_share_of(name: str) -> None:
    suite = load_suite(name)
    for metric in suite.metrics(suite.options()).values():
        if isinstance(metric, Rate):
            assert metric.words.cases, metric.name
            assert metric.words.did, metric.name


def test_definitions_are_one_short_sentence() -> None:
    for term in (*terms(), *reasons()):
        assert term.words.definition.endswith("."), term.name
        assert "\n" not in term.words.definition and "{" not in term.words.definition
        assert len(term.words.definition.split()) <= 25, term.name


def test_default_gates_are_those_in_force() -> None:
    gates = {str(gate) for gate in default_gates()} | set(CANARY)
    gates |= {"acr >= 0.95", "cghc >= 0.95", "css >= 0.70", "ned50 <= 0.20", "scu_cons >= 1", "refusal_rate >= 0.98"}
    told = {term.words.gate for term in terms()}
    assert gates <= told


def test_a_name_with_a_number_is_found_and_filled_in() -> None:
    recall = find_term("recall@7", "answers")
    assert recall is not None
    assert recall.name == "recall@7"
    assert "first 7" in recall.words.definition
    assert plain("llm_p99", "latency") == "99th-percentile time in llm"
    assert plain("llm_p75", "latency") == "75th-percentile time in llm"
    assert plain("css_failing", "stability") == "missed citation-set stability"
    assert plain("pass^1", "stability") == "chance that all of 1 run pass"
    assert plain("p²", "latency") == plain("recall@", "answers") == ""


def plain(metric: str, suite: str) -> str:
    found = find_term(metric, suite)
    return found.words.plain if found else ""


def test_a_family_is_in_the_glossary_once_under_its_general_name() -> None:
    named = [term.name for term in terms() if "answers" in term.suites]
    assert [name for name in named if name.startswith("recall")] == ["recall@k", "recall_any@k"]
    assert "first k retrieved" in next(term for term in terms() if term.name == "recall@k").words.definition


def test_one_name_in_two_suites_has_two_meanings() -> None:
    assert [term.suites[0] for term in find_terms("recall@5")] == ["answers", "retrieval"]
    assert find_terms("no such thing") == []


def words_of(metric: str, suite: str) -> Words:
    term = find_term(metric, suite)
    assert term is not None, metric
    return term.words


def of_rate(metric: str, op: str, bound: str, k: int, n: int, suite: str = "answers") -> str:
    measure = Measure(metric, "rate", Fraction(k, n), n, k, stats.wilson(k, n), words=words_of(metric, suite))
    better = "higher" if op == ">=" else "lower"
    rate = Rate(metric, Words(), better, of="a", among="b")  # type: ignore[arg-type]
    return sentence(compare(Gate.parse(f"{metric} {op} {bound}"), rate, measure, True))


def test_a_failing_rate_is_told_in_counts_first() -> None:
    assert of_rate("under_refusal", "<=", "0.05", 16, 87) == (
        "16 of 87 unanswerable questions were answered; at most 4 may be (under_refusal 0.184 > 0.05)"
    )
    assert of_rate("precision", ">=", "0.80", 71, 120) == (
        "71 of 120 answers were correct and correctly cited; at least 96 must be (precision 0.592 < 0.80)"
    )
    assert of_rate("chr", ">=", "0.75", 88, 120) == (
        "88 of 120 answers were correctly cited; at least 90 must be (chr 0.733 < 0.75)"
    )


def test_one_case_and_no_allowance_read_well() -> None:
    assert of_rate("under_refusal", "<=", "0.05", 1, 9) == (
        "1 of 9 unanswerable questions was answered; none may be (under_refusal 0.111 > 0.05)"
    )


def test_a_value_next_to_its_bound_is_not_shown_as_the_bound() -> None:
    assert "(precision 0.79995 < 0.80)" in of_rate("precision", ">=", "0.80", 15999, 20000)


def test_means_and_counts_are_told_by_their_plain_names() -> None:
    count = Measure("missing", "count", Fraction(3), 10, 3, words=words_of("missing", "answers"))
    metric = Count("missing", Words(), "lower", high=None, of=("absent",))
    assert sentence(compare(Gate.parse("missing <= 0"), metric, count, True)) == (
        "3 of 10 gold questions had no usable response; none may (missing 3 > 0)"
    )
    mean = Measure("mrr", "mean", Fraction(1, 2), 10, words=words_of("mrr", "retrieval"))
    assert sentence(compare(Gate.parse("mrr >= 0.70"), Mean("mrr", Words(), of="mrr"), mean, True)) == (
        "mean reciprocal rank is 0.500; at least 0.70 is needed (mrr 0.500 < 0.70)"
    )


def test_a_gate_on_a_slice_and_against_a_baseline_says_so() -> None:
    measure = Measure("recall@5", "rate", Fraction(6, 10), 10, 6, words=words_of("recall@5", "answers"))
    gate = Gate.parse("recall@5[type=table] >= baseline - 0.02")
    told = sentence(compare(gate, Rate("recall@5", Words(), of="a", among="b"), measure, True, Fraction(9, 10)))
    assert told == (
        "6 of 10 answerable questions with expected sources with type=table had all of them among the first 5 "
        "retrieved; at least 9 must (recall@5[type=table] 0.600 < baseline - 0.02 = 0.88)"
    )


def test_an_unknown_metric_is_told_by_its_name() -> None:
    measure = Measure("own", "mean", Fraction(1, 2), 10)
    assert sentence(compare(Gate.parse("own >= 0.7"), Metric("own"), measure, True)) == (
        "own is 0.500; at least 0.70 is needed (own 0.500 < 0.7)"
    )


def test_what_has_no_value_says_why() -> None:
    rate = Rate("cite_support", words_of("cite_support", "answers"), of="supported", among="supportable")
    measure = msgspec.structs.replace(rate.measure(Tally({})), words=rate.words)  # type: ignore[arg-type]
    outcome = compare(Gate.parse("cite_support >= 0.5"), rate, measure, False)
    assert sentence(outcome) == "citation support (cite_support) is n/a: there are no answers with cited text to check"
    assert state_in_words(outcome) == "n/a"


def test_states_are_shown_as_people_read_them() -> None:
    def shown(k: int, n: int) -> str:
        measure = Measure(
            "precision", "rate", Fraction(k, n), n, k, stats.wilson(k, n), words=words_of("precision", "answers")
        )
        return state_in_words(
            compare(Gate.parse("precision >= 0.80"), Rate("precision", Words(), of="a", among="b"), measure, True)
        )

    assert shown(100, 100) == "PASS"
    assert shown(2, 2) == "PASS (not statistically certain: 12 more passing questions would prove it)"
    assert shown(7, 10) == "FAIL (within noise)"
    assert shown(1, 100) == "FAIL"
