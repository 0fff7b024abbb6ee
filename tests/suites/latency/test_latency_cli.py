"""`shipworthy latency`: score files, generate load and score that."""

from __future__ import annotations

from typing import Any

from latency_runs import GOLD, served

from conftest import write_lines


def test_the_command_scores_writes_and_compares(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD)
    traces = write_lines(tmp_path / "t.jsonl", served(1000, cost_usd=0.01))
    last, rows = tmp_path / "last.json", tmp_path / "rows.tsv"
    ran = cli("latency", "score", "--gold", items, "--trace", traces, "--budget-ms", 2000, "-o", last, "-o", rows)
    assert ran.code == 0 and ran.out.startswith("SHIP  all 6 gates pass")
    assert rows.read_text("utf-8").startswith("arm\tqid\tstatus")
    slower = write_lines(tmp_path / "u.jsonl", served(1200, cost_usd=0.01))
    again = cli("latency", "score", "--gold", items, "--trace", slower, "--baseline", last, "--json")
    assert again.code == 1 and again.json["arm"] == "default" and {"arms", "choice", "curve"} <= again.json.keys()
    assert cli("latency", "score", "--gold", items, "--trace", traces, "--arms", "x,y").code == 3
    assert cli("latency", "score", "--gold", items, "--trace", traces, "--budget-ms", "soon").code == 2


def test_the_deciding_arms_numbers_are_at_the_top_of_the_report(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD)
    runs = served(lambda number: 100 + number, 30, "hasty") + served(lambda number: 400 + number, 3, "good")
    runs += served(400, 3, "good", load_rps=5)
    command = ("latency", "score", "--gold", items, "--trace", write_lines(tmp_path / "t.jsonl", runs), "--json")
    body = cli(*command).json
    assert body["arm"] == "good" and body["samples"] == 140
    names = ["p50", "p90", "p95", "p99", "precision", "chr", "under_refusal", "over_refusal"]
    assert {name: body[name] for name in names} == {name: body["metrics"][name]["value"] for name in names}
    assert (body["under"], body["over"]) == (body["under_refusal"], body["over_refusal"])
    assert (body["answered"], body["refused"], body["precision"]) == (60, 10, 0.95)
    asked = cli(*command, "--arm", "hasty").json
    assert asked["arm"] == "hasty" and asked["p95"] < 200 and asked["precision"] == 0.5 and asked["samples"] == 70
    untimed = [{name: value for name, value in run.items() if name != "e2e_ms"} for run in runs[:70]]
    empty = cli("latency", "score", "--gold", items, "--trace", write_lines(tmp_path / "u.jsonl", untimed), "--json")
    assert empty.json["p95"] is None and empty.json["samples"] == 0 and empty.json["pass"] is False


def test_run_generates_load_and_scores_it(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD[:8])
    replay = write_lines(tmp_path / "replay.jsonl", served()[:8])
    arms = tmp_path / "arms.toml"
    arms.write_text("[arms.small]\nk = 5\n[arms.large]\nk = 20\n", "utf-8")
    out = tmp_path / "runs" / "latency.jsonl"
    ran = cli(
        "latency",
        "run",
        "--gold",
        items,
        "--target",
        f"replay:{replay}",
        "--rps",
        "100",
        "--duration",
        60,
        "--arms",
        arms,
        "--out",
        out,
        "--warmup",
        1,
        "--json",
    )
    assert ran.code == 0, ran.err
    assert {row["arm"] for row in ran.json["arms"]} == {"small", "large"}
    assert all(row["n"] == 8 for row in ran.json["arms"])
    assert (tmp_path / "runs" / "latency.csv").read_text("utf-8").count("\n") == 17
    assert cli("latency", "run", "--gold", items, "--target", "demo", "--rps", "0", "--out", out).code == 2
    again = cli("latency", "run", "--gold", items, "--target", "demo", "--rps", "100", "--out", out)
    assert again.code == 2 and "Add --overwrite to drop them, or give another --out." in again.err, again.err
    assert "[journal-exists]" in again.err and "--resume" not in again.err  # which it does not have


def test_where_every_request_fails_there_is_nothing_to_judge(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD[:2])
    failed = cli(
        "latency",
        "run",
        "--gold",
        items,
        "--target",
        "py:json:loads",
        "--rps",
        "200",
        "--warmup",
        "0",
        "--trace",
        tmp_path / "latency.jsonl",
    )
    assert failed.code == 4 and "run-all-failed" in failed.err
