"""Ask an HTTP service every question under several seeds and rewordings, then see whether its answers hold still."""

import json
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from shipworthy import Gold, evaluate, run

GOLD = [
    Gold(
        qid="Q1",
        question="How long is the warranty?",
        answerable=True,
        gold_claim_substr=["24 months"],
        gold_citations=["manual#3"],
    ),
    Gold(qid="Q2", question="Who won the cup in 1954?", answerable=False),
]


class Service(BaseHTTPRequestHandler):
    """Stands in for your own service: POST a question, get an answer."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["q"]
        known = "warranty" in asked
        answer = (
            {"claim": "The warranty lasts 24 months.", "citations": ["manual#3"]}
            if known
            else {"claim": "not in context", "citations": []}
        )
        body = json.dumps({"retrieved_ids": ["manual#3"], "answer_json": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as folder:
    out = str(Path(folder) / "runs.jsonl")
    url = f"http://127.0.0.1:{server.server_port}/qa"
    summary = run(GOLD, url, out, seeds=[0, 1, 2], jitters=["none", "ws", "punct"])
    decision = evaluate("stability", gold=GOLD, runs=out)
server.shutdown()
server.server_close()
print(f"{summary.finished} runs, {summary.distinct_prompts} distinct prompts")
print(decision.verdict, "; ".join(decision.reasons))
