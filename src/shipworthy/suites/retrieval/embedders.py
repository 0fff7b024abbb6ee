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
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from ... import stats
from ...core.contracts import Gold, ids_of
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
            what = f"{self.id} gave vectors of {len(left)} and {len(right)} numbers"
            hint = "If the model changed under the same name, use a new --embed-cache."
            raise DataError(what, hint=hint, code="embedding-shape")
        return _recorded(1 - Fraction(_cosine(left, right)))

    def _checked(self, texts: Sequence[str]) -> list[array[float]]:
        vectors = [array("d", vector) for vector in self.vectors(texts)]
        if len(vectors) != len(texts) or not all(len(one) and all(map(math.isfinite, one)) for one in vectors):
            what = f"{self.id} did not return one vector of finite numbers per text"
            raise DataError(what, hint="Check what the server returns.", code="embedding-shape")
        return vectors

    def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise NotImplementedError


class Http(Dense):
    """An embedding server. Only asked where it was configured, and only for texts that the cache does not hold."""

    def __init__(self, url: str, model: str, key: str = "", cache: str | None = None, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")) or not model:
            hint = "Add --embed-url http://127.0.0.1:11434/v1 --embed-model NAME."
            raise UsageError("the http embedder needs a URL and a model", hint=hint, code="embedder-setting")
        super().__init__(cache)
        self.id = f"http:{model}"
        self._url = url if url.rstrip("/").endswith(("/embeddings", "/api/embed")) else f"{url.rstrip('/')}/embeddings"
        self._model, self._key, self._timeout = model, key, timeout

    def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        from ...net.blocking import ask

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = {"model": self._model, "input": list(texts)}
        status, _, body = ask("POST", self._url, request, headers, self._timeout, "--embed-url")
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
            what = "the embedding server did not answer with JSON"
            raise DataError(what, where=self._url, code="embedding-shape") from None


def _vectors_in(answer: Any, url: str) -> list[list[float]]:
    """`data[].embedding` in the order of `index`, or `embeddings[]`."""
    try:
        if "embeddings" in answer:
            vectors = answer["embeddings"]
        else:
            vectors = [row["embedding"] for row in sorted(answer["data"], key=lambda row: int(row.get("index", 0)))]
        return [[float(number) for number in vector] for vector in vectors]
    except (KeyError, TypeError, ValueError, AttributeError):
        what = "the embedding server's answer has neither data[].embedding nor embeddings[]"
        hint = "Use an OpenAI-compatible /v1/embeddings or Ollama's /api/embed."
        raise DataError(what, where=url, hint=hint, code="embedding-shape") from None


class Local(Dense):
    """A static embedding model of model2vec: from a folder, or by its name from the model cache of this machine."""

    def __init__(self, model: str, cache: str | None = None) -> None:
        if not model:
            hint = "Add --embed-model FOLDER, or the name of a model that is in the local model cache."
            raise UsageError("the local embedder needs a model", hint=hint, code="embedder-setting")
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
        what = "the local embedder needs model2vec, which is not installed"
        raise UsageError(what, hint="Install it: pip install 'shipworthy[embed]'.", code="embedder-missing") from None
    try:
        return cast(StaticModel, Model2Vec.from_pretrained(name, force_download=False))
    except Exception as error:  # whatever a missing, foreign or broken model makes the library raise
        what = f"the embedding model can't be loaded: {visible(str(error), 200)}"
        hint = "Name the folder of a model2vec model. Models are not downloaded while scoring."
        raise EnvironmentFailure(what, where=visible(name, 200), hint=hint, code="embedder-model") from None


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
        what, hint = f"the cache can't be opened: {error}", "Name another file with --embed-cache."
        raise EnvironmentFailure(what, where=visible(path), hint=hint, code="embedding-cache") from None
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
        hint = "Add --embedder http (or local, for --embed-model), or leave it out."
        raise UsageError(f"has no effect with the embedder {name!r}", where=flag, hint=hint, code="embedder-setting")
    if name == "precomputed":
        return None
    if name == "lexical":
        return Lexical()
    if name == "local":
        return Local(model, cache)
    return _own(name) if ":" in name else Http(url, model, _key(key_env), cache)


def _key(variable: str | None) -> str:
    if variable and variable not in os.environ:
        what = f"the environment variable {variable} is not set"
        hint = "Set it to the server's key, or leave out --embed-key-env."
        raise UsageError(what, where="embed-key-env", hint=hint, code="embedder-setting")
    return os.environ.get(variable or "", "")


def _own(place: str) -> Embedder:
    """What the function `py:module:function` gives back."""
    from importlib import import_module

    module, _, function = place.removeprefix("py:").partition(":")
    try:
        make = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what, hint = f"the embedder {place!r} can't be imported: {error}", "Write py:package.module:function."
        raise UsageError(what, hint=hint, code="embedder-setting") from None
    embedder: Embedder = make()
    return embedder


# --- calibration: bars for one embedder, from the gold set's own relevant blocks against its hard negatives ---


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far relevant and negative blocks lie from their questions, and the bars that follow."""

    embedder: str
    relevant: int
    negative: int
    relevant_median: float
    relevant_p90: float
    negative_median: float
    auc: float | None  # how often a negative is farther than a relevant block
    delta_s_median: float  # suggested: the most that the median of relevant blocks may be, 95 %
    delta_s_p90: float
    risk: float  # separates the two best
    without_text: int

    @property
    def gates(self) -> str:
        return f"delta_s_median<={self.delta_s_median},delta_s_p90<={self.delta_s_p90}"


def calibrate(gold: Iterable[Gold], texts: Mapping[str, str], embedder: Embedder) -> Calibration:
    """Distances of every question to its relevant blocks and to its negatives, and bars between them."""
    near, far, without = _pairs(gold, texts)
    if not near or not far:
        what, field = ("relevant", "relevant") if not near else ("negative", "negatives")
        hint = f"Name blocks as {field} in the gold set, and give their texts by id with --texts."
        raise DataError(f"no {what} block has a text to measure", hint=hint, code="calibrate-texts")
    embedder.prepare(text for pair in [*near, *far] for text in pair)
    relevant = sorted(embedder.distance(*pair) for pair in near)
    negative = sorted(embedder.distance(*pair) for pair in far)
    area = stats.auc([float(-value) for value in relevant], [float(-value) for value in negative])
    return Calibration(
        embedder=embedder.id,
        relevant=len(relevant),
        negative=len(negative),
        relevant_median=_percentile(relevant, 50),
        relevant_p90=_percentile(relevant, 90),
        negative_median=_percentile(negative, 50),
        auc=None if area is None else round(float(area), 4),
        delta_s_median=_bound(relevant, Fraction(1, 2)),
        delta_s_p90=_bound(relevant, Fraction(9, 10)),
        risk=float(_separating(relevant, negative)),
        without_text=without,
    )


def _pairs(gold: Iterable[Gold], texts: Mapping[str, str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]], int]:
    near: list[tuple[str, str]] = []
    far: list[tuple[str, str]] = []
    without = 0
    for item in gold:
        question = item.question or next(iter(item.paraphrases), "")
        own = {place.id: place.text for place in item.relevant if not isinstance(place, str) and place.text is not None}
        for names, pairs in ((ids_of(item.relevant) or item.citations, near), (item.negatives, far)):
            for name in names:
                text = own.get(name) or texts.get(name)
                if text and question:
                    pairs.append((question, text))
                else:
                    without += 1
    return near, far, without


def _percentile(values: Sequence[Fraction], p: int) -> float:
    value = stats.percentile(values, p)
    assert value is not None
    return round(float(value), 4)


def _bound(values: Sequence[Fraction], q: Fraction) -> float:
    """The order statistic that bounds the quantile from above (95 %), or the largest value where there are too few."""
    rank = stats.upper_rank(len(values), q)
    return float(values[-1] if rank is None else values[rank - 1])


def _separating(relevant: Sequence[Fraction], negative: Sequence[Fraction]) -> Fraction:
    """The smallest distance at which relevant blocks kept plus negatives refused, as shares, is largest."""

    def worth(bar: Fraction) -> Fraction:
        kept = Fraction(sum(value <= bar for value in relevant), len(relevant))
        return kept + Fraction(sum(value > bar for value in negative), len(negative))

    return max(sorted({*relevant, *negative}), key=lambda bar: (worth(bar), -bar))
