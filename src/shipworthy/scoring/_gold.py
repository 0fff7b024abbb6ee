"""What every suite that compares answers with gold asks of the gold set."""

from __future__ import annotations

from ..contracts import GoldSet
from ..errors import DataError


def require_answerable(gold: GoldSet) -> None:
    """An item that does not say whether it is answerable can't be judged, and nobody guesses."""
    for qid, item in gold.items.items():
        if item.answerable is None:
            raise DataError(f"qid {qid!r} does not say whether it is answerable",
                            where=f"{gold.source.path}:{gold.lines[qid]}", hint='Add "answerable": true or false.',
                            code="gold-answerable")  # fmt: skip
