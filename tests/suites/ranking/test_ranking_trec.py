"""TREC files: the numbers that trec_eval prints, and those of the tools that wrap it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_helpers import METRICS, measure, measure_ids, values

from conftest import EFFORT, write_lines
from shipworthy.core.decision import report
from shipworthy.core.sources import Input, read_gold
from shipworthy.errors import DataError, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.ranking.lists import PIECE
from shipworthy.suites.retrieval.log import LogLine, gold_of_qrels, log_of_run, qrels_lines, run_lines

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
    found = measure(folder / qrels, folder / run, ",".join(names), **choices)
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
PEERS = {
    "P_1": "P@1",
    "P_3": "P@3",
    "P_5": "P@5",
    "recall_1": "R@1",
    "recall_3": "R@3",
    "recall_10": "R@10",
    "ndcg": "nDCG",
    "ndcg_cut_3": "nDCG@3",
    "ndcg_cut_10": "nDCG@10",
    "recip_rank": "RR",
    "map": "AP",
    "success_3": "Success@3",
}


@settings(max_examples=20 * EFFORT, deadline=None)
@given(collections)
def test_agrees_with_ir_measures_on_ties_duplicates_and_grades(tmp_path_factory: Any, data: dict[str, Any]) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    folder = tmp_path_factory.mktemp("trec")
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text(
        "".join(f"{qid} 0 {name} {grade}\n" for qid, (held, _) in data.items() for name, grade in held.items())
    )
    run.write_text(
        "".join(
            f"{qid} Q0 {name} {rank} {score!r} t\n"
            for qid, (_, listed) in data.items()
            for rank, (name, score) in enumerate(listed, 1)
        )
    )
    best = {qid: _best(listed) for qid, (_, listed) in data.items()}
    found = measure(qrels, run, METRICS, preset="trec-c", duplicates="first")
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


QRELS = "q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 x 2 0.8 t\nq1 Q0 b 3 0.7 t\n"


def test_a_short_list_divides_by_k_or_by_what_was_returned(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    assert values(measure(*paths, "P@5"))["P_5"] == pytest.approx(0.4)
    native = measure(*paths, "P@5", preset="native", missing_query="skip")
    assert values(native)["precision@5"] == pytest.approx(2 / 3)


def test_missing_queries_are_skipped_zero_or_an_error_and_always_said(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    skipped, zero = measure(*paths, "R@5"), measure(*paths, "R@5", preset="trec-c")
    assert (values(skipped)["recall_5"], values(zero)["recall_5"]) == (1.0, 0.5)
    assert skipped.named["missing"] == zero.named["missing"] == ["q2"]
    assert any("[retrieval-missing]" in warning for warning in skipped.warnings)
    with pytest.raises(DataError, match=r"q2.*\[retrieval-missing\]"):
        measure(*paths, "R@5", missing_query="error")


def test_ties_score_order_and_32_bit_scores(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 b 1\n", "q Q0 b 1 .5 t\nq Q0 c 2 .5 t\nq Q0 a 3 .5 t\n")
    assert values(measure(*paths, "P@1"))["P_1"] == 0.0
    assert values(measure(*paths, "P@1", ties="list"))["P_1"] == 1.0
    paths = write(tmp_path, "q 0 b 1\n", "q Q0 b 1 .1 t\nq Q0 c 2 .9 t\n")
    assert values(measure(*paths, "P@1"))["P_1"] == 0.0
    assert values(measure(*paths, "P@1", order="list"))["P_1"] == 1.0
    paths = write(tmp_path, "q 0 a 1\n", "q Q0 a 1 .10000000001 t\nq Q0 b 2 .1 t\n")
    assert values(measure(*paths, "P@1"))["P_1"] == 0.0
    assert values(measure(*paths, "P@1", score_bits=64))["P_1"] == 1.0


def test_scores_in_any_spelling_of_a_number(tmp_path: Path) -> None:
    plain = measure(*write(tmp_path, "q 0 b 1\n", "q Q0 a 1 10 t\nq Q0 b 2 5 t\nq Q0 c 3 0.5 t\n"), METRICS)
    for scores in (("+10", "5.", ".5"), ("1e1", "05", "5E-1"), ("1_0", "5", "0.50"), ("10", "-0", "-0.5")):
        run = "".join(f"q Q0 {name} 1 {score} t\n" for name, score in zip("abc", scores, strict=True))
        assert measure(*write(tmp_path, "q 0 b +1\n", run), METRICS).measures == plain.measures


def test_lines_of_a_query_that_stand_apart_in_the_qrels_count_together(tmp_path: Path) -> None:
    together = measure(*write(tmp_path, "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\n", RUN), METRICS)
    apart = measure(*write(tmp_path, "q1 0 a 1\nq2 0 c 1\nq1 0 z 0\nq1 0 b 2\nq1 0 a 1\n", RUN), METRICS)
    assert apart.measures == together.measures
    with pytest.raises(DataError, match=r"\[qrels-repeated\]"):
        measure(*write(tmp_path, "q1 0 a 1\nq2 0 c 1\nq1 0 a 2\n", RUN), METRICS)


def test_a_repeated_document_is_an_error_or_counts_once(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 a 1\nq 0 b 1\n", "q Q0 a 1 .9 t\nq Q0 a 2 .8 t\nq Q0 x 3 .7 t\nq Q0 b 4 .6 t\n")
    with pytest.raises(DataError, match=r"'a' twice.*\[retrieval-duplicate\]"):
        measure(*paths, "P@3")
    first = measure(*paths, "P@3,R@3", duplicates="first")
    assert (values(first)["P_3"], values(first)["recall_3"]) == (pytest.approx(2 / 3), 1.0)
    slots = measure(*paths, "P@3,R@3", duplicates="occupy_slot")
    assert (values(slots)["P_3"], values(slots)["recall_3"]) == (pytest.approx(1 / 3), 0.5)


def test_queries_without_relevant_documents_and_unknown_ones(tmp_path: Path) -> None:
    paths = write(tmp_path, "q 0 a 1\nnone 0 a 0\n", "q Q0 a 1 .9 t\nnone Q0 a 1 .9 t\nq9 Q0 a 1 .9 t\n")
    zero = measure(*paths, "R@5")
    assert values(zero)["recall_5"] == 0.5
    assert (zero.counts["no_relevant"], zero.counts["unknown_qid"]) == (1, 1)
    assert values(measure(*paths, "R@5", no_relevant="skip"))["recall_5"] == 1.0
    with pytest.raises(DataError, match=r"\[retrieval-no-relevant\]"):
        measure(*paths, "R@5", no_relevant="error")


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
        (QRELS, "q1 Q0 a 1 1e400 t\n", r"run\.txt:1: score: expected a finite number.*\[run-score\]"),
        (QRELS, "q1 Q0 a 1 0,9 t\n", r"run\.txt:1: score: expected a number, got '0,9'.*\[run-line\]"),
        (QRELS, 'q1 Q0 a 1 "9" t\n', r"run\.txt:1: score: expected a number.*\[run-line\]"),
        ("q 0 a 1.5\n", RUN, r"qrels\.txt:1: relevance: expected an integer, got '1\.5'.*\[qrels-line\]"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, qrels: str, run: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        measure(*write(tmp_path, qrels, run), "P@1")


def test_mixed_queries_and_long_files_give_the_same_numbers(tmp_path: Path) -> None:
    rows = [f"q{query} Q0 d{rank} {rank} {1 / rank!r} t\n" for rank in range(1, 40) for query in range(400)]
    assert sum(map(len, rows)) > PIECE
    qrels = "".join(f"q{query} 0 d{query % 45} 1\n" for query in range(400))
    mixed = measure(*write(tmp_path, qrels, "".join(rows)), METRICS)
    apart = measure(*write(tmp_path, qrels, "".join(sorted(rows))), METRICS)
    assert mixed.measures == apart.measures
    assert mixed.items == apart.items


def test_compressed_files_and_remarks_after_the_tag(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN.replace("0.9 t\n", "0.9 t a remark\n"))
    plain = measure(qrels, run, "P@3,MAP")
    packed = tmp_path / "run.txt.gz"
    packed.write_bytes(gzip.compress(run.read_bytes()))
    assert measure(qrels, packed, "P@3,MAP").measures == plain.measures


def test_numbers_without_a_gate_decide_nothing_and_with_one_they_do(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    assert measure(*paths, "P@5").verdict == "MEASURED"
    assert measure(*paths, "P@5", gates="P_5>=0.4", allow_missing=1).verdict == "SHIP"
    lost = measure(*paths, "P@5", gates="P_5>=0.4")
    assert lost.verdict == "NO VERDICT" and lost.reasons[0].startswith("1 of 2 questions could not be judged")
    assert measure(*paths, "P@5", gates="precision@5>=0.5").verdict == "NO-SHIP"
    with pytest.raises(UsageError, match=r"\[gate-unknown\]"):
        measure(*paths, "P@5", gates="nothing>=0.5")


def test_the_options_are_in_the_report_and_in_its_digest(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    one, same, other = (report(measure(*paths, "R@5", **choices)) for choices in ({}, {}, {"preset": "trec-c"}))
    assert one == same
    assert "missing_query skip" in one["settings"] and one["options"]["missing_query"] == "skip"
    assert one["digest"] != other["digest"]
    with pytest.raises(UsageError, match=r"\[option-value\]"):
        measure(*paths, "R@5", order="random")


def test_json_lines_and_trec_files_agree(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN)
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    write_lines(gold, map(msgspec.to_builtins, gold_of_qrels(str(qrels), Input()).source))
    write_lines(log, (msgspec.to_builtins(line) for _, line in log_of_run(str(run), Input())))
    for preset in ("native", "trec", "trec-c"):
        theirs = {
            name.replace("precision@", "P_"): value
            for name, value in values(measure(qrels, run, METRICS, preset=preset)).items()
        }
        ours = {
            name.replace("precision@", "P_"): value
            for name, value in values(measure_ids(gold, log, METRICS, preset=preset)).items()
        }
        assert ours == theirs


def test_written_files_are_read_back_to_the_same_numbers(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a", "b"]}\n{"qid": "q2", "relevant": [{"id": "c"}]}\n')
    log = [LogLine(qid="q1", retrieved_ids=["a", "x", "b"]), LogLine(qid="q2", retrieved_ids=["y", "c"])]
    paths = write(tmp_path, "".join(qrels_lines(read_gold(gold))), "".join(run_lines(log, "t")))
    found = values(measure(*paths, "P@1,MRR"))
    assert (found["P_1"], found["recip_rank"]) == (0.5, 0.75)
    with pytest.raises(DataError, match=r"white space.*\[trec-space\]"):
        list(run_lines([LogLine(qid="q 1", retrieved_ids=["a"])], "t"))


def test_the_input_is_named_in_the_record(tmp_path: Path) -> None:
    from shipworthy.suites.ranking.lists import read_qrels

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
    (
        "repeated id: precision",
        "q 0 a 1\nq 0 b 1\n",
        "a .9, a .8, x .7, b .6",
        "P@3",
        {NATIVE: 2 / 3, TREC: REFUSED, TREC_C: REFUSED},
    ),
    (
        "repeated id: recall",
        "q 0 a 1\nq 0 b 1\n",
        "a .9, a .8, x .7, b .6",
        "R@3",
        {NATIVE: 1.0, TREC: REFUSED, TREC_C: REFUSED},
    ),
    (
        "repeated id, far apart",
        "q 0 a 1\n",
        "a .9, x .8, y .7, a .1",
        "P@1",
        {NATIVE: 1.0, TREC: REFUSED, TREC_C: REFUSED},
    ),
    ("ties", "q 0 b 1\n", "b .5, c .5, a .5", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("order against score", "q 0 b 1\n", "b .1, c .9", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("not a number", "q 0 a 1\n", "a nan, b .9", "P@1", {NATIVE: REFUSED, TREC: REFUSED, TREC_C: REFUSED}),
    ("nearly equal scores", "q 0 a 1\n", "a .10000000001, b .1", "P@1", {NATIVE: 1.0, TREC: 0.0, TREC_C: 0.0}),
    ("a space in an id", "q 0 a 1\n", "my\u0020doc .9", "P@1", {NATIVE: REFUSED, TREC: REFUSED, TREC_C: REFUSED}),
    (
        "queries in another order",
        "q 0 a 1\nq2 0 b 1\n",
        "/ q2 b .9 / q a .9",
        "P@1",
        {NATIVE: 1.0, TREC: 1.0, TREC_C: 1.0},
    ),
    (
        "graded: gain",
        "q 0 a 1\nq 0 b 3\n",
        "a .9, b .8",
        "nDCG@2",
        {NATIVE: 0.7967075809905066, TREC: 0.7967075809905066, TREC_C: 0.7967075809905066},
    ),
    ("graded: relevance", "q 0 a 1\nq 0 b 3\n", "a .9, b .8", "MAP", {NATIVE: 1.0, TREC: 1.0, TREC_C: 1.0}),
]


@pytest.mark.parametrize("preset", [NATIVE, TREC, TREC_C])
@pytest.mark.parametrize(("name", "qrels", "run", "metric", "expected"), DISAGREEMENTS, ids=lambda part: str(part)[:30])
def test_where_tools_disagree_each_preset_has_its_answer(
    tmp_path: Path, name: str, qrels: str, run: str, metric: str, expected: dict[str, float | str], preset: str
) -> None:
    paths = write(tmp_path, qrels, "".join(_run_lines(run)))
    if expected[preset] == REFUSED:
        with pytest.raises(DataError):
            measure(*paths, metric, preset=preset)
        return
    found = measure(*paths, metric, preset=preset)
    assert float(next(iter(found.measures.values())).value or 0) == pytest.approx(expected[preset], abs=1e-12)


def _run_lines(text: str) -> Any:
    """`a .9, b .8 / q2 c .5`: the list of q, then that of q2."""
    for part in text.split("/"):
        named = part.split()[0].startswith("q") if part.strip() else False
        qid, listed = part.split(maxsplit=1) if named else ("q", part)
        for rank, pair in enumerate(filter(None, (entry.strip() for entry in listed.split(","))), 1):
            name, score = pair.rsplit(maxsplit=1)
            yield f"{qid} Q0 {name} {rank} {score} t\n"


def test_gates_take_every_spelling_of_a_metric(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    for gate in ("P@5>=0.4", "p@5>=0.4", "P_5>=0.4", "precision@5>=0.4"):
        assert measure(*paths, "P@5", gates=gate, allow_missing=1).verdict == "SHIP", gate
    assert measure(*paths, "nDCG@10,MRR", gates=["nDCG@10>=0.999", "MRR>=1"]).verdict == "NO-SHIP"


def test_without_metrics_every_depth_is_measured_in_the_names_of_trec_eval(tmp_path: Path) -> None:
    found = measure(*write(tmp_path, QRELS, RUN), None, k=[5, 1])
    assert [*found.measures] == [
        *("P_1", "P_5", "recall_1", "recall_5", "ndcg_cut_1", "ndcg_cut_5"),
        *("recip_rank", "map", "missing"),
    ]
    assert found.options["metrics"] == "P@1,P@5,R@1,R@5,nDCG@1,nDCG@5,MRR,MAP"


def test_a_live_run_is_the_baseline_and_every_file_has_its_digest(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN)
    poor = tmp_path / "poor.txt"
    poor.write_text(RUN.replace(" b ", " y "))
    found = evaluate("retrieval", qrels=qrels, run=poor, live=run)
    assert found.verdict == "NO-SHIP" and "recall@5 0.500 < baseline-0.02 = 0.98" in found.reasons[0]
    assert [row["qid"] for row in found.sections["comparison"]["worse"]] == ["q1"]
    assert all(len(found.inputs[name]["sha256"]) == 64 for name in ("gold", "shadow", "live"))
    assert evaluate("retrieval", qrels=qrels, run=run, live=poor).verdict == "NO VERDICT"
    allowed = evaluate("retrieval", qrels=qrels, run=run, live=poor, allow_missing=1)
    assert allowed.verdict == "NO VERDICT" and "live is not a fair baseline" in allowed.reasons[1]
    named = evaluate("retrieval", qrels=qrels, run=poor, live=run, gates="recall@1>=baseline")
    assert [str(outcome.gate) for outcome in named.outcomes] == ["recall@1 >= baseline"]  # no other gate applies


def test_queries_nobody_judged_are_counted_once_however_the_run_is_ordered(tmp_path: Path) -> None:
    lines = (RUN + "q8 Q0 a 1 .9 t\nq9 Q0 a 1 .9 t\n").splitlines(keepends=True)
    apart = measure(*write(tmp_path, QRELS, "".join(lines)), "R@5")
    mixed = measure(*write(tmp_path, QRELS, "".join([lines[3], lines[0], lines[4], *lines[1:3]])), "R@5")
    assert apart.counts == mixed.counts and apart.counts["unknown_qid"] == 2
    assert apart.named == mixed.named and apart.measures == mixed.measures


def test_ids_beside_places_that_only_logs_have_are_refused_from_the_library_too(tmp_path: Path) -> None:
    paths = write(tmp_path, QRELS, RUN)
    for useless in ({"sections": {"a": "1"}}, {"window": 3}, {"embed_cache": "x"}):
        with pytest.raises(UsageError, match=r"has no effect with --qrels.*\[retrieval-inputs\]"):
            measure(*paths, "P@1", **useless)
    with pytest.raises(UsageError, match=r"a gold set .or qrels. and a result log.*\[retrieval-inputs\]"):
        evaluate("retrieval", qrels=paths[0], shadow=[])
