"""Faults: ways to break the demo on purpose, each of which one gate should notice."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Collection

from shipworthy.demo.answerer import Candidate
from shipworthy.demo.words import normalise
from shipworthy.errors import UsageError

FAULTS = {
    "drop_evidence": "the best block is lost before the answerer sees it, on two questions in five",
    "wrong_citation": "the answer is right but cites another retrieved block",
    "leak_refusal": "one refusal in four is answered all the same",
    "unlock_constraint": "the locked rules are not repeated in the answer",
    "jitter_flip": "a stray space, dash or doubled mark in the question makes the answer a refusal",
    "slow_tail": "about eight requests in a hundred wait in the answerer",
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


def share(key: str, of: int) -> int:
    """A number below `of` that depends on the text alone: the same requests are hit every time."""
    return zlib.crc32(key.encode()) % of


def drops_evidence(question: str) -> bool:
    return share(f"drop {normalise(question)}", 5) < 2


def leaks(question: str) -> bool:
    return share(f"leak {normalise(question)}", 4) == 0


def is_untidy(question: str) -> bool:
    return _UNTIDY.search(question) is not None


def cite_another(candidates: list[Candidate]) -> Candidate:
    """The best candidate from another section, else the last one."""
    home = candidates[0].block.section_id
    others = [candidate for candidate in candidates if candidate.block.section_id != home]
    return others[0] if others else candidates[-1]


def wait_in_tail(question: str, seed: int, slow_ms: int) -> None:
    if share(f"slow {seed} {normalise(question)}", 100) < 8:
        time.sleep(slow_ms / 1000)
