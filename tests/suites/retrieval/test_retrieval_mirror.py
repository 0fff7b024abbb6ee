"""Mirror: both endpoints are asked the same questions, and each has its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retrieval_helpers import demo_gold, score, value

from shipworthy.core.contracts import Gold
from shipworthy.errors import UsageError
from waiting import wait_until


def test_mirror_asks_both_endpoints_and_writes_two_logs(tmp_path: Path, cli: Any) -> None:
    import socket
    import threading

    uvicorn = pytest.importorskip("uvicorn")
    server_module = pytest.importorskip("shipworthy.demo.server")
    from shipworthy.runner.mirror import mirror, questions_of_log

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(server_module.create_app(), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    url, gold = f"http://127.0.0.1:{port}/retrieve", demo_gold()[:2]
    live, shadow = tmp_path / "live.jsonl", tmp_path / "shadow.jsonl"
    try:
        done = mirror(gold, url, url, live, shadow, live_index="live", shadow_index="shadow", seeds=(0, 1))
        assert [summary.complete and summary.failed == 0 for summary in done] == [True, True]
        wrong = mirror(gold[:1], url, url, tmp_path / "a.jsonl", tmp_path / "b.jsonl", live_index="nowhere", retries=0)
        assert wrong[0].failed == wrong[0].planned
        asked = ("--from-log", live, "--live", url, "--shadow", url, "--shadow-index", "shadow")
        assert cli("retrieval", "mirror", *asked, "--out", tmp_path / "t", "--format", "trec").code == 0
        written = (tmp_path / "t" / "shadow.run.txt").read_text().splitlines()
        assert {row.split()[0] for row in written} == {item.qid for item in gold}
        assert all(len(row.split()) == 6 for row in written)
    finally:
        server.should_exit = True
        thread.join(10)
    found = score(gold, shadow, live, match="offsets")
    assert found.counts["missing"] == 0 and value(found, "recall@5") == 1
    assert found.counts["runs"] == sum(2 * (1 + len(item.paraphrases)) for item in gold)
    again = questions_of_log(str(live))
    assert {item.qid for item in again} == {item.qid for item in gold}
    assert all(len(item.paraphrases) == 3 for item in again)


def test_both_addresses_are_looked_at_before_anything_is_asked(tmp_path: Path) -> None:
    from shipworthy.runner.mirror import mirror

    with pytest.raises(UsageError, match=r"--shadow.*\[target-address\]"):
        mirror([Gold(qid="q", question="?")], "http://127.0.0.1:1/x", "ftp://x", tmp_path / "live", tmp_path / "shadow")
    assert not list(tmp_path.iterdir())
