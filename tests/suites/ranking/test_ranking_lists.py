"""Lists of ids: JSON lines ranked by the metrics named, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_helpers import METRICS, measure, measure_ids, values

from conftest import EFFORT, write_lines
from counting import calls
from shipworthy.core.sources import read_gold
from shipworthy.errors import DataError, UsageError
from shipworthy.suites.ranking.metrics import parse_wanted
from shipworthy.suites.retrieval.log import LogLine


def test_metrics_are_named_in_both_spellings_and_unknown_ones_refused() -> None:
    assert parse_wanted("P@5,R@10 nDCG@10,MRR,MAP") == parse_wanted("P_5 recall_10 ndcg_cut_10 recip_rank map")
    for text in ("P", "bpref", "P@0", "P@-1", "", "P@x"):
        with pytest.raises(UsageError, match=r"\[retrieval-metric\]"):
            parse_wanted(text)


def test_json_lines_of_ids_say_what_is_wrong(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q", "relevant": ["a", {"id": "b"}, "a"]}\n')
    log.write_text('{"qid": "q", "retrieved_ids": ["a", "x"]}\n{"qid": "q", "topk": [{"id": "b", "score": 1}]}\n')
    found = measure_ids(gold, log, "R@5,P@1")
    assert values(found) == {"recall@5": 0.5, "precision@1": 1.0, "missing": 0.0}
    log.write_text('{"qid": "q"}\n{"retrieved_ids": []}\n{"qid": "q", "retrieved_ids": [1]}\n')
    with pytest.raises(DataError) as caught:
        measure_ids(gold, log, "R@5")
    text = str(caught.value)
    assert ":1: topk: expected the retrieved blocks" in text and ":2: qid" in text and ":3: retrieved_ids" in text
    lenient = measure_ids(gold, log, "R@5", lenient=True)
    assert lenient.partial and lenient.inputs["shadow"]["bad"] == 3 and lenient.inputs["gold"]["bad"] == 0
    gold.write_text('{"qid": "q"}\n{"qid": "q"}\n')
    with pytest.raises(DataError, match=r"gold\.jsonl:2.*\[gold-repeated\]"):
        measure_ids(gold, log, "R@5")
    with pytest.raises(DataError, match=r"\[retrieval-no-score\]"):
        gold.write_text('{"qid": "q", "relevant": ["a"]}\n')
        log.write_text('{"qid": "q", "retrieved_ids": ["a"]}\n')
        measure_ids(gold, log, "R@5", preset="trec")


@settings(max_examples=17 * EFFORT, deadline=None)
@given(st.lists(st.booleans(), max_size=12), st.integers(0, 4))
def test_values_stay_within_bounds(hits: list[bool], missed: int) -> None:
    from shipworthy.suites.ranking.metrics import Ranked, Wanted, value

    ranks = tuple(rank for rank, hit in enumerate(hits, 1) if hit)
    ranked = Ranked(len(hits), len(ranks) + missed, ranks)
    for kind in ("precision", "recall", "ndcg", "mrr", "map", "success"):
        for k in (1, 3, 10, None):
            if k is not None or kind in ("ndcg", "mrr", "map"):
                assert 0 <= value(Wanted(kind, k), ranked) <= Fraction(1) + Fraction(1, 10**12)


def test_an_empty_list_in_json_lines_is_a_list_that_found_nothing(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a b"]}\n{"qid": "q2", "relevant": ["b"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a b"}]}\n{"qid": "q2", "topk": []}\n')
    found = measure_ids(gold, log, "P@5,R@5")
    assert (values(found)["precision@5"], values(found)["recall@5"]) == (0.5, 0.5)  # and an id may have a space
    assert found.counts["missing"] == 0


def test_missing_lists_leave_native_gates_without_a_verdict(tmp_path: Path) -> None:
    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a"]}\n{"qid": "q2", "relevant": ["b"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a"}]}\n')
    found = measure_ids(gold, log, "R@5", gates="R@5>=0.4")
    lost = "1 of 2 questions could not be judged, because the run is missing or failed: q2"
    assert found.verdict == "NO VERDICT"
    assert found.incomplete == [f"{lost}. Run them again, or allow them with --allow-missing 1"]
    skipped = {"gates": "R@5>=0.4", "missing_query": "skip"}
    assert measure_ids(gold, log, "R@5", **skipped).verdict == "NO VERDICT"
    assert measure_ids(gold, log, "R@5", **skipped, allow_missing=1).verdict == "SHIP"


def test_a_gold_set_that_changed_since_it_was_frozen_has_no_verdict(tmp_path: Path) -> None:
    from shipworthy.reading.lock import freeze

    gold, log = tmp_path / "gold.jsonl", tmp_path / "log.jsonl"
    gold.write_text('{"qid": "q1", "relevant": ["a"], "answerable": true, "gold_citations": ["a"]}\n')
    log.write_text('{"qid": "q1", "topk": [{"id": "a"}]}\n')
    freeze(gold, "1.0", "Ada")
    assert measure_ids(gold, log, "R@5", gates="R@5>=0.4").verdict == "SHIP"
    gold.write_text('{"qid": "q1", "relevant": ["a", "b"], "answerable": true, "gold_citations": ["a"]}\n')
    found = measure_ids(gold, log, "R@5", gates="R@5>=0.4")
    assert found.verdict == "NO VERDICT" and any("signed off" in sentence for sentence in found.incomplete)


def test_records_in_memory_are_ranked_as_files_are(tmp_path: Path) -> None:
    gold = [{"qid": "q1", "relevant": ["a", {"id": "b"}]}, {"qid": "q2", "gold_citations": ["c"]}]
    log = [{"qid": "q1", "topk": [{"id": "b", "score": 1}]}, {"qid": "q2", "retrieved_ids": ["x", "c"]}]
    files = write_lines(tmp_path / "gold.jsonl", gold), write_lines(tmp_path / "log.jsonl", log)
    typed = list(read_gold(files[0])), [msgspec.convert(line, LogLine) for line in log]
    expected = measure_ids(*files, METRICS)
    assert measure_ids(gold, log, METRICS).measures == measure_ids(*typed, METRICS).measures == expected.measures
    assert measure_ids(gold, log, METRICS).items == expected.items
    assert not measure_ids(gold, log, METRICS, per_question=False).items


def test_lists_that_many_questions_share_are_valued_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shipworthy.suites.ranking import metrics

    asked: list[Any] = []
    chosen = metrics.rule

    def rule(*arguments: Any) -> Any:
        valued = chosen(*arguments)
        return lambda ranked: (asked.append(ranked), valued(ranked))[1]

    monkeypatch.setattr(metrics, "rule", rule)
    names = [f"q{number}" for number in range(500)]
    gold = [{"qid": name, "relevant": ["a"]} for name in names]
    log = [{"qid": name, "retrieved_ids": ["x", "a"] if number % 2 else ["a"]} for number, name in enumerate(names)]
    found = measure_ids(gold, log, "P@1,MRR", per_question=False)
    assert values(found) == {"precision@1": 0.5, "mrr": 0.75, "missing": 0}
    assert len(asked) == 4  # two metrics of two lists, whoever has them


def test_work_grows_with_the_number_of_queries_and_no_faster(tmp_path: Path) -> None:
    def work(queries: int) -> int:
        folder = tmp_path / str(queries)
        folder.mkdir()
        qrels, run = folder / "qrels.txt", folder / "run.txt"
        qrels.write_text("".join(f"q{n} 0 d{n % 30} 1\nq{n} 0 d{n * 7 % 30} 1\n" for n in range(queries)))
        run.write_text("".join(f"q{n} Q0 d{rank} {rank} {30 - rank} t\n" for n in range(queries) for rank in range(20)))
        return calls(lambda: measure(qrels, run, METRICS))

    work(10)  # whatever is done once
    assert work(800) < 4.4 * work(200)


def test_without_rows_the_numbers_are_the_same(tmp_path: Path) -> None:
    """Questions with the same list are judged once; those that lack something are named one by one."""
    gold = [{"qid": f"q{number}", "relevant": ["a", "b"][: number % 3]} for number in range(40)]
    log = [
        {"qid": f"q{number % 37}", "retrieved_ids": ["x", "a", "b"][number % 2 :]} for number in range(60)
    ]  # some have two lists, three have none
    whole, brief = (measure_ids(gold, log, METRICS, per_question=rows) for rows in (True, False))
    assert brief.measures == whole.measures and brief.counts == whole.counts and brief.named == whole.named
    assert brief.reasons == whole.reasons and whole.counts["missing"] == 3 and whole.counts["no_relevant"] == 14


@pytest.mark.one_process
def test_rows_are_made_only_for_an_output_that_shows_them(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shipworthy.suites.ranking import suite

    made: list[Any] = []
    whole = suite.row_of
    monkeypatch.setattr(suite, "row_of", lambda *given: made.append(given) or whole(*given))
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q1 0 a 1\nq2 0 b 1\n")
    run.write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\n")
    call = ("retrieval", "score", "--qrels", qrels, "--run", run, "--metrics", "P@5,MRR")
    printed = cli(*call).out
    assert not made
    assert len(cli(*call, "--json").json["items"]) == len(made) == 2
    assert cli(*call, "-o", tmp_path / "report.json").out == printed and len(made) == 4
