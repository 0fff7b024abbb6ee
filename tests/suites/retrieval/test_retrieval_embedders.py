"""Embedders: distances that are the same everywhere, a real server, a cache, and clear words where one is missing."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scattered import scattered

from shipworthy.core import evaluate as core
from shipworthy.core.options import make_options
from shipworthy.engines.memory import run
from shipworthy.errors import DataError, EnvironmentFailure, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.retrieval.embedders import Dense, Http, Lexical, make_embedder
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
    with pytest.raises(
        UsageError, match=r"environment variable SHIPWORTHY_NO_SUCH_KEY is not set.*\[embedder-setting\]"
    ):
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


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """A static model of eight words in three subjects, made here: nothing is downloaded."""
    numpy, tokenizers = pytest.importorskip("numpy"), pytest.importorskip("tokenizers")
    model2vec = pytest.importorskip("model2vec")
    subjects = {"refund": 0, "return": 0, "money": 0, "phone": 1, "call": 1, "support": 1, "weather": 2, "sunny": 2}
    names = ["[PAD]", "[UNK]", *subjects]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(dict(zip(names, range(10), strict=True)), "[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = numpy.zeros((len(names), 3), dtype=numpy.float32)
    for place, name in enumerate(names):
        if name in subjects:
            vectors[place, subjects[name]] = 1
    model2vec.StaticModel(vectors, tokenizer, config={"normalize": False}).save_pretrained(str(tmp_path / "tiny"))
    return tmp_path / "tiny"


def test_the_local_model_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(UsageError, match=r"pip install 'shipworthy\[embed\]'.*\[embedder-missing\]"):
        make_embedder("local", model="some/where")


def test_the_local_model_needs_a_name_and_a_real_model(tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    with pytest.raises(UsageError, match=r"--embed-model FOLDER.*\[embedder-setting\]"):
        make_embedder("local")
    for name in (tmp_path / "absent", tmp_path):
        with pytest.raises(EnvironmentFailure, match=r"can't be loaded.*\[embedder-model\]"):
            make_embedder("local", model=str(name))


def test_a_name_that_is_not_on_this_machine_is_not_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("model2vec")
    with pytest.raises(EnvironmentFailure, match=r"not downloaded while scoring. \[embedder-model\]"):
        make_embedder("local", model="nobody/has-this-model")


def test_the_local_model_separates_an_answer_from_another_subject(tiny_model: Path) -> None:
    local = make_embedder("local", model=str(tiny_model))
    assert local is not None
    assert local.distance("Refund", "money return") == 0
    assert local.distance("refund", "sunny weather") == 1
    assert 0 < local.distance("refund", "phone refund") < 1
    assert local.id.startswith("local:tiny:")


def test_the_command_line_takes_a_local_model_and_a_function(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_embedder.py").write_text(
        "from shipworthy.suites.retrieval.embedders import Lexical\n\n\ndef make():\n    return Lexical()\n"
    )
    named = {"embedder": "local", "embed_model": str(tiny_model)}
    made = [
        evaluate("retrieval", gold=GOLD, shadow=LOG, live=LOG, **choice).sections["delta_s"]["embedder"]
        for choice in (named, {"embedder": "py:own_embedder:make"}, {"embedder": "own_embedder:make"})
    ]
    assert made[0].startswith("local:tiny:")
    assert made[1:] == ["lexical:char3-5", "lexical:char3-5"]


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"py:no_such_module:make.*\[embedder-setting\]"):
        make_embedder("py:no_such_module:make")


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


def test_the_local_model_stays_where_it_is_and_is_loaded_again_where_it_is_needed(
    tiny_model: Path, tmp_path: Path
) -> None:
    first = make_embedder("local", model=str(tiny_model))
    assert first is not None
    first.prepare(["refund", "money"])
    packed = pickle.dumps(first)
    assert len(packed) < 2000  # the vectors that it has, not the model
    tiny_model.rename(tmp_path / "moved")
    again = pickle.loads(packed)
    assert again.distance("refund", "money") == first.distance("refund", "money")
    with pytest.raises(EnvironmentFailure, match=r"\[embedder-model\]"):
        again.distance("refund", "phone")


def test_all_texts_are_asked_for_at_once_before_anything_is_judged(server: Server) -> None:
    gold = [{**GOLD[0], "qid": f"q{number}", "question": f"How heavy is {number}?"} for number in range(30)]
    log = [{**LOG[0], "qid": item["qid"]} for item in gold]
    named = {"embedder": "http", "embed_url": server.url, "embed_model": "m"}
    sources, options = {"gold": gold, "shadow": log, "live": log}, make_options(SUITE.options, named)
    for engine in (run, scattered(1), scattered(2)):
        server.asked.clear()
        core.evaluate(SUITE, sources, options, engine)
        assert [len(call["input"]) for call in server.asked] == [31]
