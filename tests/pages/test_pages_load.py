"""Many readers and uploaders at once, on SQLite and on PostgreSQL: nothing is lost, and nobody gets an error."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from planting import known, plant, report
from test_serve import BRANCH, PROJECT, running

from shipworthy.history import History
from shipworthy.pages.tokens import add_token
from waiting import wait_until

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed
EFFORT = int(os.environ.get("SHIPWORTHY_EFFORT", "1"))
SECONDS, READERS, UPLOADERS = 2.0 * EFFORT, 8 * EFFORT, 3 * EFFORT


def test_nothing_is_lost_while_many_read_and_add(url: str) -> None:
    plant(url, [1, 2])
    _, token = add_token(url, PROJECT)
    end = time.monotonic() + SECONDS
    added, read, wrong = list[str](), list[int](), list[object]()

    with running(url, "--uploads-per-minute", "1000000", "--quiet") as found:

        def add(name: str) -> None:
            number = 0
            while time.monotonic() < end or not number:
                label = f"{name}-{number}"
                answer = found.upload(token, {"report": report(number + 3, questions=6), **known(3, label=label)})
                (added if answer.status == 201 else wrong).append(label)  # type: ignore[attr-defined]
                number += 1

        def look() -> None:
            paths = ["/", f"{BRANCH}/", f"{BRANCH}/items/", f"{BRANCH}/items/answers/Q01/", f"{BRANCH}/runs/"]
            connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=60)
            count = 0
            while time.monotonic() < end or not count:
                connection.request("GET", paths[count % len(paths)])
                response = connection.getresponse()
                body = response.read()
                whole = response.status == 200 and body.rstrip().endswith(b"</html>")
                (read if whole else wrong).append(response.status)  # type: ignore[attr-defined]
                count += 1
            connection.close()

        crowd = [threading.Thread(target=look) for _ in range(READERS)]
        crowd += [threading.Thread(target=add, args=(f"u{number}",)) for number in range(UPLOADERS)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        shown = json.loads(found.ask(f"{BRANCH}/index.json").body)
    assert wrong == [] and len(read) >= READERS
    runs = History(url).runs()
    assert sorted(run.label for run in runs[2:]) == sorted(added)
    assert shown["suites"][0]["run"] == runs[-1].seq


def test_the_live_page_counts_what_a_running_check_saves_and_its_first_failures(tmp_path: Path) -> None:
    from shipworthy.runner.journal import Header, Journal

    (tmp_path / "gold.jsonl").write_text('{"qid": "Q1", "question": "a?", "answerable": false, "gold_citations": []}\n')
    (tmp_path / "shipworthy.toml").write_text(
        '[target]\nurl = "http://127.0.0.1:9/ask"\n[suites.answers]\ngold = "gold.jsonl"\ntrace = "runs/trace.jsonl"\n'
    )
    (tmp_path / "runs").mkdir()
    url = plant(str(tmp_path / "history.db"), [1])
    with running(url, cwd=tmp_path) as found:
        assert found.ask("/live/index.json").json["running"] == []
        header = Header(
            config_digest="c", gold_digest="g", sweep_id="s", created="2026-01-01", planned=4, target="demo"
        )
        with Journal(tmp_path / "runs" / "trace.jsonl.rerun", header) as journal:
            journal.append({"qid": "Q1", "run_id": "a", "answer_json": {"claim": "the word error"}})
            journal.append({"qid": "Q<2>", "run_id": "b", "error": "http-500: <b>down</b>"})
            (one,) = found.ask("/live/index.json").json["running"]
            assert (one["suite"], one["planned"], one["done"], one["failed"], one["share"]) == ("answers", 4, 2, 1, 50)
            assert one["failures"] == [["Q<2>", "http-500: <b>down</b>"]]
            journal.append({"qid": "Q3", "run_id": "c"})
            page = found.ask("/live/").body.decode()
            assert "3 of 4 responses saved (75 %)" in page and "&lt;b&gt;down" in page and "<b>" not in page
        assert found.ask("/live/index.json").json["running"] == []


def test_the_live_page_follows_a_check_that_is_under_way(tmp_path: Path) -> None:
    held, asked = threading.Event(), []

    class Pipeline(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
            asked.append(question)
            if question == "last?":
                held.wait(60)
            body = json.dumps({"answer": "It is 30 days."}).encode()
            self.send_response(500 if question == "broken?" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pipeline)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    questions = ["first?", "broken?", "third?", "last?"]
    gold = [
        {"qid": f"Q{n}", "question": question, "answerable": True, "gold_claim_substr": ["30 days"]}
        for n, question in enumerate(questions)
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(item) + "\n" for item in gold))
    (tmp_path / "shipworthy.toml").write_text(
        f'[target]\nurl = "http://127.0.0.1:{server.server_port}/ask"\nbody = {{ question = "{{question}}" }}\n'
        'map = { claim = "answer" }\nretries = 0\nconcurrency = 1\n[history]\nurl = "history.db"\n'
        '[suites.answers]\ngold = "gold.jsonl"\ntrace = "runs/trace.jsonl"\ncites = false\nlogs_retrieval = false\n'
    )
    url = plant(str(tmp_path / "history.db"), [1])
    with running(url, cwd=tmp_path) as found:
        check = subprocess.Popen(
            [sys.executable, "-m", "shipworthy", "check", "--run"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        try:
            wait_until(lambda: "last?" in asked or check.poll() is not None)
            (one,) = found.ask("/live/index.json").json["running"]
            page = found.ask("/live/").body.decode()
        finally:
            held.set()
            said, _ = check.communicate(timeout=60)
            server.shutdown()
            server.server_close()
        assert (one["planned"], one["done"], one["failed"]) == (4, 3, 1), said
        assert [name for name, _ in one["failures"]] == ["Q1"] and "3 of 4 responses saved (75 %)" in page
        assert found.ask("/live/index.json").json["running"] == []
    assert "NO VERDICT" in said  # one answer is missing
