"""Embedders: what a text's distance is measured with; each has an id, and distances of two ids are never compared.

precomputed  the distances that the log carries
lexical      character 3- to 5-grams, exact integers, no download; near in wording, not in meaning
http         POST {url}/embeddings as OpenAI's API has it, or an Ollama server's /api/embed
local        a static embedding model on this machine, read with model2vec (extra `embed`)

Beside these, `py:module:function` names a function that makes an embedder of your own. Every embedder can be pickled:
with the vectors that it has, without what is open (a cache's file) or large (a model).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...errors import DataError, EnvironmentFailure, UsageError
from ...text import fold, visible
from ..ranking.options import check_embedder

if TYPE_CHECKING:
    import sqlite3

PLACES = 4  # distances are recorded rounded to so many places
BATCH = 64
_DIGITS = Context(prec=40)


class Embedder(Protocol):
    """A way to say how far two texts are apart."""

    @property
    def id(self) -> str: ...

    def prepare(self, texts: Iterable[str]) -> None:
        """Make the vectors of many texts at once, where that is cheaper."""

    def distance(self, one: str, other: str) -> Fraction:
        """ΔS = 1 − cosine, clipped to 0 … 1, to four places; 1 where either text is empty."""


class Lexical:
    """Cosine of counted character n-grams of the folded words: the same number on every machine."""

    id = "lexical:char3-5"

    def prepare(self, texts: Iterable[str]) -> None:
        """Nothing is cheaper at once."""

    def distance(self, one: str, other: str) -> Fraction:
        (left, left_length), (right, right_length) = _grams(one), _grams(other)
        if not left or not right:
            return Fraction(1)
        small, large = (left, right) if len(left) < len(right) else (right, left)
        dot = sum(count * large[gram] for gram, count in small.items() if gram in large)
        cosine = _DIGITS.divide(Decimal(dot), _DIGITS.sqrt(Decimal(left_length * right_length)))
        return _recorded(1 - Fraction(cosine))


@lru_cache(maxsize=4096)
def _grams(text: str) -> tuple[Counter[str], int]:
    """Counts of 3- to 5-grams of each word between its borders, and the squared length of that vector."""
    grams: Counter[str] = Counter()
    for word in fold(text).split():
        padded = f"_{word}_"
        for size in (3, 4, 5):
            grams.update(padded[start : start + size] for start in range(len(padded) - size + 1))
    return grams, sum(count * count for count in grams.values())


class Dense:
    """An embedder whose vectors come from a model; they are kept by the digest of model and text."""

    id = "dense"

    def __init__(self, cache: str | None = None) -> None:
        self._cache = VectorCache(cache)

    def prepare(self, texts: Iterable[str]) -> None:
        wanted = [text for text in dict.fromkeys(texts) if text.strip() and self._cache.get(self.id, text) is None]
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            for text, vector in zip(batch, self._checked(batch), strict=True):
                self._cache.put(self.id, text, vector)

    def distance(self, one: str, other: str) -> Fraction:
        if not one.strip() or not other.strip():
            return Fraction(1)
        self.prepare((one, other))
        left, right = self._cache.get(self.id, one), self._cache.get(self.id, other)
        assert left is not None and right is not None
        if len(left) != len(right):
            raise DataError(
                f"{self.id} gave vectors of {len(left)} and {len(right)} numbers",
                code="embedding-shape",
                hint="If the model changed under the same name, use a new --embed-cache.",
            )
        return _recorded(1 - Fraction(_cosine(left, right)))

    def _checked(self, texts: Sequence[str]) -> list[array[float]]:
        vectors = [array("d", vector) for vector in self.vectors(texts)]
        if len(vectors) != len(texts) or any(
            not len(vector) or not all(map(math.isfinite, vector)) for vector in vectors
        ):
            raise DataError(
                f"{self.id} did not return one vector of finite numbers per text",
                code="embedding-shape",
                hint="Check what the server returns.",
            )
        return vectors

    def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise NotImplementedError


class Http(Dense):
    """An embedding server. Only asked where it was configured, and only for texts that the cache does not hold."""

    def __init__(self, url: str, model: str, key: str = "", cache: str | None = None, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")) or not model:
            raise UsageError(
                "the http embedder needs a URL and a model",
                code="embedder-setting",
                hint="Add --embed-url http://127.0.0.1:11434/v1 --embed-model NAME.",
            )
        super().__init__(cache)
        self.id = f"http:{model}"
        self._url = url if url.rstrip("/").endswith(("/embeddings", "/api/embed")) else f"{url.rstrip('/')}/embeddings"
        self._model, self._key, self._timeout = model, key, timeout

    def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        from ...web.once import post_json

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        status, body = post_json(self._url, {"model": self._model, "input": list(texts)}, headers, self._timeout)
        if status != 200:
            raise EnvironmentFailure(
                f"the embedding server answers {status}: {visible(body.decode('utf-8', 'replace'), 200)}"
                if status
                else f"the embedding server can't be reached: {visible(body.decode(), 200)}",
                where=self._url,
                hint="Check URL, model and key." if status else "Check that it is running.",
                code="embedder-http",
            )
        try:
            return _vectors_in(json.loads(body), self._url)
        except (ValueError, RecursionError):
            raise DataError(
                "the embedding server did not answer with JSON", where=self._url, code="embedding-shape"
            ) from None


def _vectors_in(answer: Any, url: str) -> list[list[float]]:
    """`data[].embedding` in the order of `index`, or `embeddings[]`."""
    try:
        if "embeddings" in answer:
            vectors = answer["embeddings"]
        else:
            vectors = [row["embedding"] for row in sorted(answer["data"], key=lambda row: int(row.get("index", 0)))]
        return [[float(number) for number in vector] for vector in vectors]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(
            "the embedding server's answer has neither data[].embedding nor embeddings[]",
            where=url,
            hint="Use an OpenAI-compatible /v1/embeddings or Ollama's /api/embed.",
            code="embedding-shape",
        ) from None


class Local(Dense):
    """A static embedding model of model2vec: from a folder, or by its name from the model cache of this machine."""

    def __init__(self, model: str, cache: str | None = None) -> None:
        if not model:
            raise UsageError(
                "the local embedder needs a model",
                code="embedder-setting",
                hint="Add --embed-model FOLDER, or the name of a model that is in the local model cache.",
            )
        super().__init__(cache)
        self._name = model
        self._model: StaticModel | None = None
        self.id = f"local:{_digest_of_model(model, self._loaded())}"

    def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[float(number) for number in vector] for vector in self._loaded().encode(list(texts))]

    def _loaded(self) -> StaticModel:
        if self._model is None:
            self._model = _load_static(self._name)
        return self._model

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_model": None}


class StaticModel(Protocol):
    """What is used of a model2vec model."""

    embedding: Any  # the matrix of token vectors

    def encode(self, sentences: list[str]) -> Iterable[Iterable[float]]: ...


def _load_static(name: str) -> StaticModel:
    """The model from a folder or from the cache on this machine; nothing is ever downloaded here."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the library is imported
    try:
        from model2vec import StaticModel as Model2Vec
    except ImportError:
        raise UsageError(
            "the local embedder needs model2vec, which is not installed",
            code="embedder-missing",
            hint="Install it: pip install 'shipworthy[embed]'.",
        ) from None
    try:
        return cast(StaticModel, Model2Vec.from_pretrained(name, force_download=False))
    except Exception as error:  # whatever a missing, foreign or broken model makes the library raise
        raise EnvironmentFailure(
            f"the embedding model can't be loaded: {visible(str(error), 200)}",
            where=visible(name, 200),
            code="embedder-model",
            hint="Name the folder of a model2vec model. Models are not downloaded while scoring.",
        ) from None


def _digest_of_model(name: str, model: StaticModel) -> str:
    """The model's own name with a digest of its vectors, so that distances of two models are never compared."""
    digest = hashlib.sha256(model.embedding.tobytes()).hexdigest()
    return f"{os.path.basename(name.rstrip('/')) or name}:{digest[:12]}"


class VectorCache:
    """Vectors by the digest of model and text, in a SQLite file or in memory."""

    def __init__(self, path: str | None) -> None:
        self._known: dict[bytes, array[float]] = {}
        self._path = path
        self._open: sqlite3.Connection | None = None
        self._file()  # a cache that can't be opened is told of before anything is asked

    def _file(self) -> sqlite3.Connection | None:
        if self._open is None and self._path is not None:
            self._open = _opened(self._path)
        return self._open

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": None}

    def get(self, model: str, text: str) -> array[float] | None:
        key = _digest(model, text)
        if key not in self._known and (file := self._file()) is not None:
            row = file.execute("SELECT numbers FROM vectors WHERE digest = ?", (key,)).fetchone()
            if row:
                self._known[key] = array("d", row[0])
        return self._known.get(key)

    def put(self, model: str, text: str, vector: array[float]) -> None:
        key = _digest(model, text)
        self._known[key] = vector
        if (file := self._file()) is not None:
            file.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, vector.tobytes()))


def _opened(path: str) -> sqlite3.Connection:
    import sqlite3

    try:
        if folder := os.path.dirname(path):
            os.makedirs(folder, exist_ok=True)
        file = sqlite3.connect(path, timeout=30, isolation_level=None)
        file.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, numbers BLOB NOT NULL)")
    except (sqlite3.Error, OSError) as error:
        raise EnvironmentFailure(
            f"the cache can't be opened: {error}",
            where=visible(path),
            code="embedding-cache",
            hint="Name another file with --embed-cache.",
        ) from None
    return file


def _digest(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    dot = math.fsum(one * other for one, other in zip(left, right, strict=True))
    lengths = math.sqrt(math.fsum(one * one for one in left)) * math.sqrt(math.fsum(one * one for one in right))
    return dot / lengths if lengths else 0.0


def _recorded(distance: Fraction) -> Fraction:
    return round(min(max(distance, Fraction(0)), Fraction(1)), PLACES)


def make_embedder(
    name: str, *, url: str = "", model: str = "", key_env: str | None = None, cache: str | None = None
) -> Embedder | None:
    """The embedder of a name; None for `precomputed`, which makes no distances of its own.

    `py:module:function`, or `module:function`, names a function without arguments that makes an embedder of your own.
    `key_env` names the environment variable that holds the server's key.
    """
    check_embedder(name)
    unused = {"embed-url": url, "embed-key-env": key_env} if name != "http" else {}
    unused |= {"embed-model": model} if name not in ("http", "local") else {}
    if flag := next((flag for flag, value in unused.items() if value), ""):
        raise UsageError(
            f"has no effect with the embedder {name!r}",
            where=flag,
            hint="Add --embedder http (or local, for --embed-model), or leave it out.",
            code="embedder-setting",
        )
    if name == "precomputed":
        return None
    if name == "lexical":
        return Lexical()
    if name == "local":
        return Local(model, cache)
    return _own(name) if ":" in name else Http(url, model, _key(key_env), cache)


def _key(variable: str | None) -> str:
    if variable and variable not in os.environ:
        raise UsageError(
            f"the environment variable {variable} is not set",
            where="embed-key-env",
            code="embedder-setting",
            hint="Set it to the server's key, or leave out --embed-key-env.",
        )
    return os.environ.get(variable or "", "")


def _own(place: str) -> Embedder:
    """What the function `py:module:function` gives back."""
    from importlib import import_module

    module, _, function = place.removeprefix("py:").partition(":")
    try:
        make = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"the embedder {place!r} can't be imported: {error}",
            hint="Write py:package.module:function.",
            code="embedder-setting",
        ) from None
    embedder: Embedder = make()
    return embedder
