"""TREC files: the numbers that trec_eval prints, and those of the tools that wrap it."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipworthy.contracts import Input, read_gold
from shipworthy.decision import report
from shipworthy.errors import DataError, UsageError
from shipworthy.scoring.rankings import evaluate_ids, evaluate_trec
from shipworthy.suites.retrieval import LogLine
from shipworthy.suites.retrieval.ranking import parse_wanted
from shipworthy.suites.retrieval.trec import PIECE, gold_of_qrels, log_of_run, qrels_lines, run_lines

PRINTED = re.compile(r"P_\d+|recall_\d+|map|map_cut_\d+|recip_rank|ndcg|ndcg_cut_\d+|success_\d+")
CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("out.test", "qrels.test", "results.test", {}),
    ("out.test.aq", "qrels.test", "results.test", {}),
    ("out.test.aqc", "qrels.test", "results.trunc", {"preset": "trec-c"}),
    ("out.test.aqcM", "qrels.test", "results.trunc", {"preset": "trec-c", "depth": 100}),
    ("out.test.aql", "qrels.rel_level", "results.test", {"rel_level": 2}),
    ("out.test.meas_params", "qrels.test", "results.test", {}),
    ("out.comment.test", "qrels.comment.test", "results.comment.test", {}),
    ("out.test.aq", "qrels.test.with-comments", "results.test", {}),
]


@pytest.mark.parametrize(
    ("out", "qrels", "run", "choices"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_number_that_trec_eval_prints(
    out: str, qrels: str, run: str, choices: dict[str, Any], real_data: Any
) -> None:
    folder = real_data("trec/trec_eval_test")
    printed = {
        (name, qid): value.strip()
        for name, qid, value in (line.split(None, 2) for line in (folder / out).read_text().splitlines())
    }
    names = [name for name, qid in printed if qid == "all" and PRINTED.fullmatch(name)]
    found = evaluate_trec(folder / qrels, folder / run, ",".join(names), **choices)
    assert len(names) >= 9
    for name in names:
        value = found.measures[name].value
        assert value is not None
        assert f"{float(value):.4f}" == printed[name, "all"], name
        for item in found.items:
            if (name, item["qid"]) in printed:
                assert f"{item[name]:.4f}" == printed[name, item["qid"]], (name, item["qid"])


ids = st.sampled_from([f"d{number}" for number in range(12)])
# Grades below 0 are left to trec_eval's own files: pytrec_eval never returns from a query that has no other.
grades = st.dictionaries(ids, st.integers(0, 3), min_size=1, max_size=8)
lists = st.lists(st.tuples(ids, st.sampled_from([0.5, 0.25, -1.0, 0.1, 0.10000000001, 3e38, 1e-9])), max_size=10)
collections = st.dictionaries(st.sampled_from(["q1", "q2", "q10", "é"]), st.tuples(grades, lists), min_size=1)
METRICS = "P@1,P@3,P@5,R@1,R@3,R@10,nDCG,nDCG@3,nDCG@10,MRR,MAP,success@3"
PEERS = {
    "P_1": "P@1", "P_3": "P@3", "P_5": "P@5", "recall_1": "R@1", "recall_3": "R@3", "recall_10": "R@10", "ndcg": "nDCG",
    "ndcg_cut_3": "nDCG@3", "ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "map": "AP", "success_3": "Success@3",
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(collections)
def test_agrees_with_ir_measures_on_ties_duplicates_and_grades(tmp_path_factory: Any, data: dict[str, Any]) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    folder = tmp_path_factory.mktemp("trec")
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text(
        "".join(f"{qid} 0 {name} {grade}\n" for qid, (held, _) in data.items() for name, grade in held.items())
    )
    run.write_text("".join(f"{qid} Q0 {name} {rank} {score!r} t\n" for qid, (_, listed) in data.items()
                           for rank, (name, score) in enumerate(listed, 1)))  # fmt: skip
    best = {qid: _best(listed) for qid, (_, listed) in data.items()}
    found = evaluate_trec(qrels, run, METRICS, preset="trec-c", duplicates="first")
    wanted = [ir_measures.parse_measure(name) for name in PEERS.values()]
    judged = {qid: held for qid, (held, _) in data.items()}
    ranked = {qid: listed for qid, listed in best.items() if listed}
    if not ranked:
        return
    theirs = ir_measures.calc_aggregate(wanted, judged, ranked)
    for ours, name in PEERS.items():
        value = found.measures[ours].value
        assert value is not None
        assert abs(float(value) - theirs[ir_measures.parse_measure(name)]) < 1e-9, ours


def _best(listed: list[tuple[str, float]]) -> dict[str, float]:
    """A repeated id at its best score, which is its first rank."""
    best: dict[str, float] = {}
    for name, score in listed:
        best[name] = max(score, best.get(name, score))
    return best


def write(folder: Path, qrels: str, run: str) -> tuple[Path, Path]:
    (folder / "qrels.txt").write_text(qrels)
    (folder / "run.txt").write_text(run)
    return folder / "qrels.txt", folder / "run.txt"


def values(decision: Any) -> dict[str, float | None]:
    return {
        name: None if measure.value is None else float(measure.value) for name, measure in decision.measures.items()
    }


QRELS = "q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 x 2 0.8 t\nq1 Q0 b 3 0.7 t\n"


def test_a_short_list_divides_by_k_or_by_what_was_returned(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    assert values(evaluate_trec(*paths, "P@5"))["P_5"] == pytest.approx(0.4)
    native = evaluate_trec(*paths, "P@5", preset="native", missing_query="skip")
    assert values(native)["precision@5"] == pytest.approx(2 / 3)


def test_missing_queries_are_skipped_zero_or_an_error_and_always_said(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    skipped, zero = evaluate_trec(*paths, "R@5"), evaluate_trec(*paths, "R@5", preset="trec-c")
    assert (values(skipped)["recall_5"], values(zero)["recall_5"]) == (1.0, 0.5)
    assert skipped.named["missing"] == zero.named["missing"] == ["q2"]
    assert any("[retrieval-missing]" in warning for warning in skipped.warnings)
    with pytest.raises(DataError, match=r"q2.*\[retrieval-missing\]"):
        evaluate_trec(*paths, "R@5", missing_query="error")


def test_ties_score_order_and_32_bit_scores(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 b 1\n", "q Q0 b 1 .5 t\nq Q0 c 2 .5 t\nq Q0 a 3 .5 t\n")
    assert values(evaluate_trec(*paths, "P@1"))["P_1"] == 0.0
    assert values(evaluate_trec(*paths, "P@1", ties="list"))["P_1"] == 1.0
    paths = write(tmp_path, "q 0 b 1\n", "q Q0 b 1 .1 t\nq Q0 c 2 .9 t\n")
    assert values(evaluate_trec(*paths, "P@1"))["P_1"] == 0.0
    assert values(evaluate_trec(*paths, "P@1", order="list"))["P_1"] == 1.0
    paths = write(tmp_path, "q 0 a 1\n", "q Q0 a 1 .10000000001 t\nq Q0 b 2 .1 t\n")
    assert values(evaluate_trec(*paths, "P@1"))["P_1"] == 0.0
    assert values(evaluate_trec(*paths, "P@1", score_bits=64))["P_1"] == 1.0


def test_a_repeated_document_is_an_error_or_counts_once(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 a 1\nq 0 b 1\n", "q Q0 a 1 .9 t\nq Q0 a 2 .8 t\nq Q0 x 3 .7 t\nq Q0 b 4 .6 t\n")
    with pytest.raises(DataError, match=r"'a' twice.*\[retrieval-duplicate\]"):
        evaluate_trec(*paths, "P@3")
    first = evaluate_trec(*paths, "P@3,R@3", duplicates="first")
    assert (values(first)["P_3"], values(first)["recall_3"]) == (pytest.approx(2 / 3), 1.0)
    slots = evaluate_trec(*paths, "P@3,R@3", duplicates="occupy_slot")
    assert (values(slots)["P_3"], values(slots)["recall_3"]) == (pytest.approx(1 / 3), 0.5)


def test_queries_without_relevant_documents_and_unknown_ones(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 a 1\nnone 0 a 0\n", "q Q0 a 1 .9 t\nnone Q0 a 1 .9 t\nq9 Q0 a 1 .9 t\n")
    zero = evaluate_trec(*paths, "R@5")
    assert values(zero)["recall_5"] == 0.5
    assert (zero.counts["no_relevant"], zero.counts["unknown_qid"]) == (1, 1)
    assert values(evaluate_trec(*paths, "R@5", no_relevant="skip"))["recall_5"] == 1.0
    with pytest.raises(DataError, match=r"\[retrieval-no-relevant\]"):
        evaluate_trec(*paths, "R@5", no_relevant="error")


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ("q 0 a\n", RUN, r"qrels\.txt:1: 3 columns, expected 4: relevance is missing.*\[qrels-line\]"),
        ("q 0 a yes\n", RUN, r"qrels\.txt:1: relevance: expected an integer, got 'yes'.*\[qrels-line\]"),
        ("q 0 a 1\nq 0 a 2\n", RUN, r"'a' has two grades.*\[qrels-repeated\]"),
        ("", RUN, r"\[qrels-empty\]"),
        ("# nothing\n\n", RUN, r"\[qrels-empty\]"),
        (QRELS, "q1 Q0 a 1 0.9\n", r"run\.txt:1: 5 columns, expected 6: tag is missing.*\[run-line\]"),
        (
            QRELS,
            "q1 Q0 a 1 .9 t\nq1 Q0 b 2 high t\n",
            r"run\.txt:2: score: expected a number, got 'high'.*\[run-line\]",
        ),
        (QRELS, "q1 Q0 my doc 1 0.9 t\n", r"run\.txt:1: 7 columns.*a space.*\[run-line\]"),
        (
            QRELS,
            "q1 Q0 a 1 nan t\n",
            r"run\.txt:1: score: expected a finite number, got nan for document 'a'.*\[run-score\]",
        ),
        (QRELS, "# top\n\n" + RUN + "q2 Q0 c 1 -inf t\n", r"run\.txt:6: score: expected a finite number, got -inf"),
        (QRELS, "q9 Q0 a 1 .9 t\n", r"no question is left.*2 have no list.*1 list of other questions.*\[log-empty\]"),
        (QRELS, "", r"no question is left.*\[log-empty\]"),
        (QRELS, "q1 Q0 a 1 inf t\n", r"\[run-score\]"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, qrels: str, run: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_trec(*write(tmp_path, qrels, run), "P@1")


def test_mixed_queries_and_long_files_give_the_same_numbers(tmp_path: Path) -> None:
    rows = [f"q{query} Q0 d{rank} {rank} {1 / rank!r} t\n" for rank in range(1, 40) for query in range(400)]
    assert sum(map(len, rows)) > PIECE
    qrels = "".join(f"q{query} 0 d{query % 45} 1\n" for query in range(400))
    mixed = evaluate_trec(*write(tmp_path, qrels, "".join(rows)), METRICS)
    apart = evaluate_trec(*write(tmp_path, qrels, "".join(sorted(rows))), METRICS)
    assert mixed.measures == apart.measures
    assert mixed.items == apart.items


def test_compressed_files_and_remarks_after_the_tag(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN.replace("0.9 t\n", "0.9 t a remark\n"))
    plain = evaluate_trec(qrels, run, "P@3,MAP")
    packed = tmp_path / "run.txt.gz"
    packed.write_bytes(gzip.compress(run.read_bytes()))
    assert evaluate_trec(qrels, packed, "P@3,MAP").measures == plain.measures


def test_metrics_are_named_in_both_spellings_and_unknown_ones_refused() -> None:
    assert parse_wanted("P@5,R@10 nDCG@10,MRR,MAP") == parse_wanted("P_5 recall_10 ndcg_cut_10 recip_rank map")
    for text in ("P", "bpref", "P@0", "P@-1", "", "P@x"):
        with pytest.raises(UsageError, match=r"\[retrieval-metric\]"):
            parse_wanted(text)


def test_numbers_without_a_gate_decide_nothing_and_with_one_they_do(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    assert evaluate_trec(*paths, "P@5").verdict == "MEASURED"
    assert evaluate_trec(*paths, "P@5", gates="P_5>=0.4").verdict == "SHIP"
    assert evaluate_trec(*paths, "P@5", gates="precision@5>=0.5").verdict == "NO-SHIP"
    with pytest.raises(UsageError, match=r"\[gate-unknown\]"):
        evaluate_trec(*paths, "P@5", gates="nothing>=0.5")


def test_the_options_are_in_the_report_and_in_its_digest(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    one, same, other = (report(evaluate_trec(*paths, "R@5", **choices)) for choices in ({}, {}, {"preset": "trec-c"}))
    assert one == same
    assert "missing_query skip" in one["settings"] and one["options"]["missing_query"] == "skip"
    assert one["digest"] != other["digest"]
    with pytest.raises(UsageError, match=r"\[retrieval-option\]"):
        evaluate_trec(*paths, "R@5", order="random")


def test_json_lines_and_trec_files_agree(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN)
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text("".join(json.dumps(item) + "\n" for item in gold_of_qrels(str(qrels))))
    log.write_text("".join(json.dumps(line) + "\n" for line in log_of_run(str(run))))
    for preset in ("native", "trec", "trec-c"):
        theirs = {
            name.replace("precision@", "P_"): value
            for name, value in values(evaluate_trec(qrels, run, METRICS, preset=preset)).items()
        }
        ours = {
            name.replace("precision@", "P_"): value
            for name, value in values(evaluate_ids(gold, log, METRICS, preset=preset)).items()
        }
        assert ours == theirs


def test_json_lines_of_ids_say_what_is_wrong(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q", "relevant": ["a", {"id": "b"}, "a"]}\n')
    log.write_text('{"qid": "q", "retrieved_ids": ["a", "x"]}\n{"qid": "q", "topk": [{"id": "b", "score": 1}]}\n')
    found = evaluate_ids(gold, log, "R@5,P@1")
    assert values(found) == {"recall@5": 0.5, "precision@1": 1.0, "missing": 0.0}
    log.write_text('{"qid": "q"}\n{"retrieved_ids": []}\n{"qid": "q", "retrieved_ids": [1]}\n')
    with pytest.raises(DataError) as caught:
        evaluate_ids(gold, log, "R@5")
    text = str(caught.value)
    assert ":1: topk: expected the retrieved blocks" in text and ":2: qid" in text and ":3: retrieved_ids" in text
    lenient = evaluate_ids(gold, log, "R@5", lenient=True)
    assert lenient.partial and lenient.inputs["shadow"]["bad"] == 3 and lenient.inputs["gold"]["bad"] == 0
    gold.write_text('{"qid": "q"}\n{"qid": "q"}\n')
    with pytest.raises(DataError, match=r"gold\.jsonl:2.*\[gold-repeated\]"):
        evaluate_ids(gold, log, "R@5")
    with pytest.raises(DataError, match=r"\[retrieval-no-score\]"):
        gold.write_text('{"qid": "q", "relevant": ["a"]}\n')
        log.write_text('{"qid": "q", "retrieved_ids": ["a"]}\n')
        evaluate_ids(gold, log, "R@5", preset="trec")


def test_written_files_are_read_back_to_the_same_numbers(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a", "b"]}\n{"qid": "q2", "relevant": [{"id": "c"}]}\n')
    log = [LogLine(qid="q1", retrieved_ids=["a", "x", "b"]), LogLine(qid="q2", retrieved_ids=["y", "c"])]
    paths = write(tmp_path, "".join(qrels_lines(read_gold(gold))), "".join(run_lines(log, "t")))
    found = values(evaluate_trec(*paths, "P@1,MRR"))
    assert (found["P_1"], found["recip_rank"]) == (0.5, 0.75)
    with pytest.raises(DataError, match=r"white space.*\[trec-space\]"):
        list(run_lines([LogLine(qid="q 1", retrieved_ids=["a"])], "t"))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), max_size=12), st.integers(0, 4))
def test_values_stay_within_bounds(hits: list[bool], missed: int) -> None:
    from shipworthy.suites.retrieval.ranking import Ranked, Wanted, value

    ranks = tuple(rank for rank, hit in enumerate(hits, 1) if hit)
    ranked = Ranked(len(hits), len(ranks) + missed, ranks)
    for kind in ("precision", "recall", "ndcg", "mrr", "map", "success"):
        for k in (1, 3, 10, None):
            if k is not None or kind in ("ndcg", "mrr", "map"):
                assert 0 <= value(Wanted(kind, k), ranked) <= Fraction(1) + Fraction(1, 10**12)


def test_the_input_is_named_in_the_record(tmp_path: Path) -> None:
    from shipworthy.suites.retrieval.trec import read_qrels

    read = Input()
    read_qrels(str(write(tmp_path, QRELS, RUN)[0]), read)
    assert (read.records, len(read.digest)) == (3, 64)


NATIVE, TREC, TREC_C = "native", "trec", "trec-c"
REFUSED = "refused"
DISAGREEMENTS: list[tuple[str, str, str, str, dict[str, float | str]]] = [
    # name, qrels, run, metric, what each preset says
    ("short list", "q 0 a 1\nq 0 b 1\n", "a .9, x .8, b .7", "P@5", {NATIVE: 2 / 3, TREC: 0.4, TREC_C: 0.4}),
    ("absent list: precision", "q 0 a 1\nq2 0 b 1\n", "a .9", "P@5", {NATIVE: 0.5, TREC: 0.2, TREC_C: 0.1}),
    ("absent list: recall", "q 0 a 1\nq2 0 b 1\n", "a .9", "R@5", {NATIVE: 0.5, TREC: 1.0, TREC_C: 0.5}),
    ("query that is not judged", "q 0 a 1\n", "a .9 / q9 z .9", "R@5", {NATIVE: 1.0, TREC: 1.0, TREC_C: 1.0}),
    ("only grades of 0", "q 0 a 1\nq2 0 b 0\n", "a .9 / q2 b .9", "R@5", {NATIVE: 1.0, TREC: 0.5, TREC_C: 0.5}),
    ("repeated id: precision", "q 0 a 1\nq 0 b 1\n", "a .9, a .8, x .7, b .6", "P@3", {NATIVE: 2 / 3, TREC: REFUSED, TREC_C: REFUSED}),
    ("repeated id: recall", "q 0 a 1\nq 0 b 1\n", "a .9, a .8, x .7, b .6", "R@3", {NATIVE: 1.0, TREC: REFUSED, TREC_C: REFUSED}),
    ("repeated id, far apart", "q 0 a 1\n", "a .9, x .8, y .7, a .1", "P@1", {NATIVE: 1.0, TREC: REFUSED, TREC_C: REFUSED}),
    ("ties", "q 0 b 1\n", "b .5, c .5, a .5", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("order against score", "q 0 b 1\n", "b .1, c .9", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("not a number", "q 0 a 1\n", "a nan, b .9", "P@1", {NATIVE: REFUSED, TREC: REFUSED, TREC_C: REFUSED}),
    ("nearly equal scores", "q 0 a 1\n", "a .10000000001, b .1", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("a space in an id", "q 0 a 1\n", "my\u0020doc .9", "P@1", {NATIVE: REFUSED, TREC: REFUSED, TREC_C: REFUSED}),
    ("queries in another order", "q 0 a 1\nq2 0 b 1\n", "/ q2 b .9 / q a .9", "P@1", {NATIVE: 1.0, TREC: 1.0, TREC_C: 1.0}),
    ("graded: gain", "q 0 a 1\nq 0 b 3\n", "a .9, b .8", "nDCG@2", {NATIVE: 0.7967075809905066, TREC: 0.7967075809905066, TREC_C: 0.7967075809905066}),
    ("graded: relevance", "q 0 a 1\nq 0 b 3\n", "a .9, b .8", "MAP", {NATIVE: 1.0, TREC: 1.0, TREC_C: 1.0}),
]  # fmt: skip


@pytest.mark.parametrize("preset", [NATIVE, TREC, TREC_C])
@pytest.mark.parametrize(("name", "qrels", "run", "metric", "expected"), DISAGREEMENTS, ids=lambda part: str(part)[:30])
def test_where_tools_disagree_each_preset_has_its_answer(
    tmp_path: Path, name: str, qrels: str, run: str, metric: str, expected: dict[str, float | str], preset: str
) -> None:
    paths = write(tmp_path, qrels, "".join(_run_lines(run)))
    if expected[preset] == REFUSED:
        with pytest.raises(DataError):
            evaluate_trec(*paths, metric, preset=preset)
        return
    found = evaluate_trec(*paths, metric, preset=preset)
    assert float(next(iter(found.measures.values())).value or 0) == pytest.approx(expected[preset], abs=1e-12)


def _run_lines(text: str) -> Any:
    """`a .9, b .8 / q2 c .5`: the list of q, then that of q2."""
    for part in text.split("/"):
        named = part.split()[0].startswith("q") if part.strip() else False
        qid, listed = part.split(maxsplit=1) if named else ("q", part)
        for rank, pair in enumerate(filter(None, (entry.strip() for entry in listed.split(","))), 1):
            name, score = pair.rsplit(maxsplit=1)
            yield f"{qid} Q0 {name} {rank} {score} t\n"


def test_an_empty_list_in_json_lines_is_a_list_that_found_nothing(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a b"]}\n{"qid": "q2", "relevant": ["b"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a b"}]}\n{"qid": "q2", "topk": []}\n')
    found = evaluate_ids(gold, log, "P@5,R@5")
    assert (values(found)["precision@5"], values(found)["recall@5"]) == (0.5, 0.5)  # and an id may have a space
    assert found.counts["missing"] == 0


def test_gates_take_every_spelling_of_a_metric(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    for gate in ("P@5>=0.4", "p@5>=0.4", "P_5>=0.4", "precision@5>=0.4"):
        assert evaluate_trec(*paths, "P@5", gates=gate).verdict == "SHIP", gate
    assert evaluate_trec(*paths, "nDCG@10,MRR", gates=["nDCG@10>=0.999", "MRR>=1"]).verdict == "NO-SHIP"


def test_missing_lists_leave_native_gates_without_a_verdict(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a"]}\n{"qid": "q2", "relevant": ["b"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a"}]}\n')
    found = evaluate_ids(gold, log, "R@5", gates="R@5>=0.4")
    assert found.verdict == "NO VERDICT" and found.incomplete == ["1 of 2 questions have no list, and count as 0"]
    assert evaluate_ids(gold, log, "R@5", gates="R@5>=0.4", missing_query="skip").verdict == "SHIP"


def test_a_gold_set_that_changed_since_it_was_frozen_has_no_verdict(tmp_path: Path) -> None:
    from shipworthy.goldlock import freeze

    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a"], "answerable": true, "gold_citations": ["a"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a"}]}\n')
    freeze(gold, "1.0", "Ada")
    assert evaluate_ids(gold, log, "R@5", gates="R@5>=0.4").verdict == "SHIP"
    gold.write_text('{"qid": "q1", "relevant": ["a", "b"], "answerable": true, "gold_citations": ["a"]}\n')
    found = evaluate_ids(gold, log, "R@5", gates="R@5>=0.4")
    assert found.verdict == "NO VERDICT" and any("signed off" in sentence for sentence in found.incomplete)
