"""`/live/`: a check that is under way, what it has saved and which answers fail first."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from planting import plant
from test_serve import running

from shipworthy.config import load_config
from shipworthy.jobs.evaluate import run_suite
from shipworthy.pages.live import FIRST, Live
from shipworthy.runner.journal import Header, Journal
from waiting import wait_until


def test_the_live_page_counts_what_a_running_check_saves_and_its_first_failures(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"qid": "Q1", "question": "a?", "answerable": false, "gold_citations": []}\n')
    (tmp_path / "shipworthy.toml").write_text(
        '[target]\nurl = "http://127.0.0.1:9/ask"\n[suites.answers]\ngold = "gold.jsonl"\ntrace = "runs/trace.jsonl"\n'
    )
    (tmp_path / "runs").mkdir()
    url = plant(str(tmp_path / "history.db"), [1])
    with running(url, cwd=tmp_path) as found:
        assert found.ask("/live/index.json").json["running"] == []
        with Journal(tmp_path / "runs" / "trace.jsonl.rerun", header(4)) as journal:
            journal.append({"qid": "Q1", "run_id": "a", "answer_json": {"claim": "the word error"}})
            journal.append({"qid": "Q<2>", "run_id": "b", "error": "http-500: <b>down</b>"})
            (one,) = found.ask("/live/index.json").json["running"]
            assert (one["suite"], one["planned"], one["done"], one["failed"], one["share"]) == ("answers", 4, 2, 1, 50)
            assert one["failures"] == [["Q<2>", "http-500: <b>down</b>"]]
            assert [(answer["qid"], answer["answer"]) for answer in one["answers"]] == [("Q1", "the word error")]
            journal.append({"qid": "Q3", "run_id": "c"})
            page = found.ask("/live/").body.decode()
            assert "3 of 4 responses saved (75 %)" in page and "&lt;b&gt;down" in page and "<b>" not in page
        assert found.ask("/live/index.json").json["running"] == []


def live_config(folder: Path, suite: str, traces: str, more: str = "") -> Any:
    (folder / "shipworthy.toml").write_text(
        f'[target]\nurl = "http://127.0.0.1:9/ask"\n[suites.{suite}]\n{more}'
        f'gold = "gold.jsonl"\n{traces} = "runs.jsonl"\n'
    )
    return load_config(folder / "shipworthy.toml")


def header(planned: int) -> Header:
    return Header(config_digest="c", gold_digest="g", sweep_id="s", created="2026-01-01", planned=planned, target="t")


def write_gold(folder: Path, count: int) -> None:
    items = [
        {"qid": f"Q{n}", "question": f"How long is {n}?", "answerable": True, "gold_claim_substr": ["thirty days"]}
        for n in range(count)
    ]
    (folder / "gold.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))


def line(number: int, claim: str, **more: object) -> dict[str, object]:
    answer = {"claim": claim, "citations": []}
    return {"qid": f"Q{number}", "run_id": f"{number}{more}", "sweep_id": "s", "answer_json": answer} | more


def test_the_live_page_shows_the_first_answers_that_fail_and_judges_none_twice(tmp_path: Path) -> None:
    write_gold(tmp_path, 60)
    looked = list[int]()

    def judge(suite: Any, sources: Any, given: Any, **more: Any) -> Any:
        looked.append(len(sources["trace"]))
        return run_suite(suite, sources, given, **more)

    live = Live(live_config(tmp_path, "answers", "trace"), judge)
    with Journal(tmp_path / "runs.jsonl", header(60)) as journal:
        journal.append(line(0, "It is thirty days."))
        journal.append(line(1, "It is sixty days."))
        with open(tmp_path / "runs.jsonl", "ab", buffering=0) as stream:  # a line that is just being written
            whole = json.dumps(line(2, "It is sixty days.")).encode() + b"\n"
            stream.write(whole[:20])
            (one,) = live.sweeps()
            assert (one.done, one.judged, [answer.qid for answer in one.answers]) == (2, 2, ["Q1"])
            stream.write(whole[20:])
        assert [answer.qid for answer in live.sweeps()[0].answers] == ["Q1", "Q2"]
        for number in range(3, 60):
            journal.append(line(number, "It is sixty days."))
        (one,) = live.sweeps()
        assert len(one.answers) == FIRST and one.answers[-1].question == f"How long is {FIRST}?"
        (again,) = live.sweeps()
    assert looked == [2, 1, 57] and again.answers == one.answers


def test_answers_that_can_not_be_judged_yet_leave_the_page_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text("not a gold set\n")
    live = Live(live_config(tmp_path, "answers", "trace"), run_suite)
    with Journal(tmp_path / "runs.jsonl", header(2)) as journal:
        journal.append(line(0, "It is sixty days."))
        page = live.page().html.decode()
        assert "1 of 2 responses saved" in page and "The answers can't be judged yet: " in page
        write_gold(tmp_path, 2)
        page = live.page().html.decode()
        assert "be judged yet" not in page and "<blockquote>It is sixty days.</blockquote>" in page
        journal.append({"qid": "Q1", "run_id": "x", "sweep_id": "s", "answer_json": ["odd"], "citations": 5})
        page = live.page().html.decode()
        assert "2 of 2 responses saved" in page
    without = Live(live_config(tmp_path, "answers", "trace"), run_suite, redact=True)
    with Journal(tmp_path / "runs.jsonl", header(2), resume=True):
        page = without.page().html.decode()
        assert "sixty" not in page and "How long is 0?" in page


def test_a_question_is_judged_when_all_its_runs_are_there(tmp_path: Path) -> None:
    write_gold(tmp_path, 2)
    live = Live(live_config(tmp_path, "stability", "runs", 'seeds = [0, 1, 2, 3]\njitters = ["none"]\n'), run_suite)
    with Journal(tmp_path / "runs.jsonl", header(8)) as journal:
        for seed in range(4):
            (one,) = live.sweeps()
            assert (one.judged, one.answers) == (0, [])
            journal.append(line(0, f"It is {'thirty' if seed % 2 else 'sixty'} days.", seed=seed, jitter="none"))
        (one,) = live.sweeps()
        assert one.unjudged == "" and one.judged == 1 and [answer.qid for answer in one.answers] == ["Q0"]


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
    questions = ["first?", "broken?", "wrong?", "last?"]
    gold = [
        {
            "qid": f"Q{n}",
            "question": question,
            "answerable": True,
            "gold_claim_substr": ["60 days" if question == "wrong?" else "30 days"],
        }
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
        assert one["judged"] == 2 and one["unjudged"] == ""
        assert [(answer["qid"], answer["reason"], answer["answer"]) for answer in one["answers"]] == [
            ("Q2", "wrong answer (containment)", "It is 30 days.")
        ]
        assert "wrong answer (containment)" in page and "<blockquote>It is 30 days.</blockquote>" in page
        assert found.ask("/live/index.json").json["running"] == []
    assert "NO-SHIP" in said  # one answer is wrong, one is missing
