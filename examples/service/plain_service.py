"""A question-answering service as many teams have one: ten documents, JSON over HTTP, prose with [doc1] in it.

python examples/service/plain_service.py 8000

It knows nothing of shipworthy; docs/tutorial.md connects it.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DOCUMENTS = {
    "doc1": "The Pro plan costs 49 dollars per month.",
    "doc2": "Refunds are possible within 30 days of purchase.",
    "doc3": "Support answers on weekdays from 9 to 17 o'clock.",
    "doc4": "The free plan includes 2000 megabytes of storage.",
    "doc5": "Customer data is stored in Frankfurt.",
    "doc6": "Passwords need at least 12 characters.",
    "doc7": "Invoices are sent on the first day of each month.",
    "doc8": "The API allows 100 requests per minute.",
    "doc9": "Inactive accounts are deleted after 90 days.",
    "doc10": "The company was founded in Bergen.",
}
UNKNOWN = "I don't know based on the provided documents."
COMMON = {"the", "a", "an", "is", "are", "of", "on", "in", "to", "at", "what", "how", "does", "do", "which", "who"}


def words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in COMMON}


def answer(question: str) -> dict[str, Any]:
    """The best document as an answer, the best three as sources."""
    asked = words(question)
    ranked = sorted(DOCUMENTS, key=lambda name: -len(asked & words(DOCUMENTS[name])))[:3]
    best = ranked[0]
    known = len(asked & words(DOCUMENTS[best])) >= 2
    text = f"{DOCUMENTS[best].removesuffix('.')} [{best}]." if known else UNKNOWN
    return {"answer": text, "sources": [{"id": name, "text": DOCUMENTS[name]} for name in ranked]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            status, reply = 200, answer(body["question"])
        except (ValueError, KeyError, TypeError):
            status, reply = 422, {"detail": "send a JSON object with a question"}
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def serve(port: int) -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8000).serve_forever()
