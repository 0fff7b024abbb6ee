"""Faults: ways to break the demo on purpose, each of which one gate should notice."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection

from ..errors import UsageError
from .answerer import Candidate
from .words import normalise

FAULTS = {
    "drop_evidence": "the best block is lost before the answerer sees it, on two questions in five",
    "wrong_citation": "two answers in five cite another retrieved block",
    "leak_refusal": "one refusal in four is answered anyway",
    "unlock_constraint": "one answer in four does not repeat the locked rules",
    "jitter_flip": "a stray space, dash or doubled mark in the question makes the answer a refusal",
    "slow_tail": "about eight questions in a hundred wait in the answerer",
}
# How many questions a fault strikes, of how many; jitter_flip looks at the question's spelling instead.
SHARES = {
    "drop_evidence": (2, 5),
    "wrong_citation": (2, 5),
    "leak_refusal": (1, 4),
    "unlock_constraint": (1, 4),
    "slow_tail": (8, 100),
}
_UNTIDY = re.compile(r"\s[?,:;.]|\s{2,}|[–—]|[?]{2,}|^\s|\s$")


def checked(faults: Collection[str]) -> frozenset[str]:
    """The faults as a set, or an error that names the one we don't know."""
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(
                f"unknown fault {fault!r}",
                hint=f"Choose from: {', '.join(FAULTS)}.",
                code="demo-unknown-fault",
            )
    return frozenset(faults)


def striking(faults: frozenset[str], question: str) -> frozenset[str]:
    """Those of the faults that strike this question."""
    untidy = _UNTIDY.search(question) is not None
    asked = normalise(question)
    return frozenset(
        fault
        for fault in faults
        if (untidy if fault == "jitter_flip" else _draw(f"{fault} {asked}", SHARES[fault][1]) < SHARES[fault][0])
    )


def cite_another(candidates: list[Candidate]) -> Candidate:
    """The best candidate from another section, else the last one."""
    home = candidates[0].block.section_id
    others = [candidate for candidate in candidates if candidate.block.section_id != home]
    return others[0] if others else candidates[-1]


def _draw(key: str, of: int) -> int:
    """A number below `of` that depends on the text alone, so that the same requests are hit every time."""
    return zlib.crc32(key.encode("utf-8", "replace")) % of
