"""shipworthy beside the batch interfaces of other tools, on the same gold items with one trace each.

    python benchmarks/peers.py [--items 100000] [--repeats 3] [--tools ragas,deepeval] [--home .bench]

Each peer runs in an environment of its own, made here from the package registry; one that can't be installed is skipped
by name. Start and reading of the files are counted for everyone, CPU is that of the whole process tree. What they do is
not the same: ragas gives five metrics without a model, deepeval an exact match, Polars and DuckDB the counts of the
plain script; shipworthy judges, decides and writes a report with a row for each item. Peers that take minutes run once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from environments import HOME, interpreter
from million import make, yardstick

from engines import Ran, measured, race, scored

LOAD = """
import json, sys
gold = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
rows = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
"""
RAGAS = f"""{LOAD}
from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics import (
    ExactMatch, IDBasedContextPrecision, IDBasedContextRecall, NonLLMStringSimilarity, StringPresence
)
samples = [
    SingleTurnSample(
        user_input=item["question"], response=row["answer_json"]["claim"], reference=item["gold_claim_substr"][0],
        retrieved_context_ids=row["retrieved_ids"], reference_context_ids=item["gold_citations"],
    )
    for item, row in zip(gold, rows)
]
metrics = [
    IDBasedContextRecall(), IDBasedContextPrecision(), ExactMatch(), StringPresence(), NonLLMStringSimilarity()
]
print(evaluate(EvaluationDataset(samples), metrics=metrics, show_progress=False))
"""
DEEPEVAL = f"""{LOAD}
import contextlib, io
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase
cases = [
    LLMTestCase(
        input=item["question"], actual_output=row["answer_json"]["claim"], expected_output=item["gold_claim_substr"][0]
    )
    for item, row in zip(gold, rows)
]
with contextlib.redirect_stdout(io.StringIO()):
    found = evaluate(
        cases, [ExactMatchMetric()], async_config=AsyncConfig(run_async=False),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
print(sum(one.success for one in found.test_results))
"""
POLARS = """
import sys, polars as pl
gold = pl.scan_ndjson(sys.argv[1])
rows = pl.scan_ndjson(sys.argv[2]).unnest("answer_json").group_by("qid", maintain_order=True).last()
shipped = pl.col("claim").str.strip_chars().str.to_lowercase() != "not in context"
hit = pl.col("gold_citations").list.set_intersection("citations").list.len() > 0
holds = pl.col("claim").str.to_lowercase().str.contains(
    pl.col("gold_claim_substr").list.first().str.to_lowercase(), literal=True
)
recalled = pl.col("gold_citations").list.set_difference(pl.col("retrieved_ids").list.head(5)).list.len() == 0
counts = gold.join(rows, on="qid").select(
    shipped.sum().alias("S"), (shipped & hit).sum().alias("hits"),
    (shipped & hit & holds & pl.col("answerable")).sum().alias("correct"),
    (shipped & ~pl.col("answerable")).sum().alias("under"), (~shipped & pl.col("answerable")).sum().alias("over"),
    (recalled & pl.col("answerable")).sum().alias("recalled"),
)
print(counts.collect())
"""
DUCKDB = """
import sys, duckdb
print(duckdb.execute('''
    with rows as (select distinct on (qid) qid, retrieved_ids, answer_json.claim as claim,
                         answer_json.citations as cited
                  from read_json(?, format='newline_delimited') order by qid, ts desc),
         judged as (select answerable, lower(trim(claim)) <> 'not in context' as shipped,
                           len(list_intersect(gold_citations, cited)) > 0 as hit,
                           contains(lower(claim), lower(gold_claim_substr[1])) as holds,
                           list_has_all(retrieved_ids[1:5], gold_citations) as recalled
                    from read_json(?, format='newline_delimited') join rows using (qid))
    select count(*) filter (shipped), count(*) filter (shipped and hit),
           count(*) filter (shipped and hit and holds and answerable), count(*) filter (shipped and not answerable),
           count(*) filter (answerable and not shipped), count(*) filter (recalled and answerable) from judged
''', [sys.argv[2], sys.argv[1]]).fetchall())
"""
PEERS: dict[str, str] = {"polars": POLARS, "duckdb": DUCKDB, "ragas": RAGAS, "deepeval": DEEPEVAL}
SLOW = ("ragas", "deepeval")  # they take minutes, and run once
QUIET = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_FILE_SYSTEM": "READ_ONLY"}


def contenders(tools: list[str], home: Path, gold: Path, trace: Path) -> dict[str, list[str]]:
    """The command of each tool that can be installed."""
    found = {tool: interpreter(tool, home) for tool in tools}
    given = [str(gold), str(trace)]
    return {tool: [python, "-W", "ignore", "-c", PEERS[tool], *given] for tool, python in found.items() if python}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tools", default=",".join(PEERS))
    parser.add_argument("--home", type=Path, default=HOME, help="where the peers' environments are kept")
    chosen = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ |= QUIET
    with tempfile.TemporaryDirectory() as folder:
        gold, trace = make(Path(folder), chosen.items, chosen.items)
        peers = contenders(chosen.tools.split(","), chosen.home, gold, trace)
        own = {
            "shipworthy, inline": scored(Path(folder), gold, trace, "memory"),
            **dict([yardstick(gold, trace)]),
        }
        quick = own | {tool: command for tool, command in peers.items() if tool not in SLOW}
        best = race(f"{chosen.items:,} gold items with one trace each", quick, chosen.items, chosen.repeats)
        for tool in peers.keys() & set(SLOW):
            show(tool, measured(peers[tool]), best["shipworthy, inline"], chosen.items)


def show(tool: str, ran: Ran, ours: Ran, items: int) -> None:
    ratios = f"{ours.cpu / ran.cpu:.4f} | {ran.seconds:.2f} | {ours.seconds / ran.seconds:.4f}"
    print(f"| {tool}, once | {ran.cpu:.2f} | {ratios} | {ran.megabytes:.0f} | {items / ran.cpu:,.0f} |", flush=True)
    print(f"shipworthy's CPU goes {ran.cpu / ours.cpu:.1f} times into that of {tool}", flush=True)


if __name__ == "__main__":
    main()
