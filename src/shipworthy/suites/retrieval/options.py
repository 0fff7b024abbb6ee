"""Options: the choices that make retrieval tools disagree, each with a name, printed and part of the digest."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal

import msgspec

from ...errors import UsageError

Match = Literal["ids", "offsets", "text"]
OffsetMatch = Literal["overlap", "contained", "endpoints"]

CHOICES: dict[str, tuple[str, ...]] = {
    "match": ("ids", "offsets", "text"),
    "denominator": ("returned", "k"),
    "order": ("list", "score"),
    "ties": ("list", "docid_desc"),
    "duplicates": ("first", "occupy_slot", "error"),
    "missing_query": ("zero", "skip", "error"),
    "no_relevant": ("skip", "zero", "error"),
    "recall": ("fraction", "all", "any"),
    "offset_match": ("overlap", "contained", "endpoints"),
    "profile": ("strict", "reference"),
}

_TREC = {
    "denominator": "k", "order": "score", "ties": "docid_desc", "duplicates": "error", "missing_query": "skip",
    "no_relevant": "zero", "score_bits": 32,
}  # fmt: skip
PRESETS: dict[str, dict[str, Any]] = {
    "native": {},
    "trec": _TREC,  # trec_eval as it is called without -c
    "trec-c": _TREC | {"missing_query": "zero"},
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a number of this suite."""

    preset: str = "native"
    k: tuple[int, ...] = (1, 3, 5, 10)
    match: str = "ids"
    min_overlap: Fraction = Fraction(1, 2)
    denominator: str = "returned"
    order: str = "list"
    ties: str = "list"
    duplicates: str = "first"
    missing_query: str = "zero"
    no_relevant: str = "skip"
    recall: str = "fraction"
    rel_level: int = 1
    score_bits: int = 64  # trec_eval 9 and what wraps it compare scores as 32-bit numbers
    depth: int | None = None  # how many ranks are looked at; everything when None
    window: int = 30
    offset_match: str = "overlap"
    profile: str = "strict"
    by: tuple[str, ...] = ()

    @property
    def canary_k(self) -> int:
        """The depth at which shadow and live are compared: 5 where it is measured, else the deepest."""
        return 5 if 5 in self.k else max(self.k)

    def shown(self) -> dict[str, Any]:
        plain: dict[str, Any] = {field: getattr(self, field) for field in self.__struct_fields__}
        return plain | {"k": list(self.k), "by": list(self.by), "min_overlap": float(self.min_overlap)}

    @property
    def header(self) -> str:
        """The choices in a line, for the head of a report."""
        names = ("denominator", "order", "ties", "duplicates", "missing_query", "no_relevant", "recall", "rel_level")
        return f"preset {self.preset}, match {self.match}: " + ", ".join(
            f"{name} {getattr(self, name)}" for name in names
        )


def make_options(preset: str = "native", **given: Any) -> Options:
    """A preset with what was asked for in its place; None leaves the preset's choice."""
    if preset not in PRESETS:
        raise UsageError(
            f"there is no preset {preset!r}", hint=f"Use one of {', '.join(PRESETS)}.", code="retrieval-option"
        )
    chosen = PRESETS[preset] | {name: value for name, value in given.items() if value is not None}
    for name, known in CHOICES.items():
        if chosen.get(name, known[0]) not in known:
            raise UsageError(f"{name.replace('_', '-')} can't be {chosen[name]!r}", hint=f"Use one of {', '.join(known)}.",
                             code="retrieval-option")  # fmt: skip
    chosen["k"] = _depths(chosen.get("k", (1, 3, 5, 10)))
    chosen["min_overlap"] = Fraction(str(chosen.get("min_overlap", "1/2")))
    if not 0 < chosen["min_overlap"] <= 1:
        raise UsageError("min-overlap must be above 0 and at most 1", hint="0.5 is half.", code="retrieval-option")
    for name, least in (("window", 0), ("rel_level", 1), ("depth", 1)):
        if chosen.get(name) is not None and chosen[name] < least:
            raise UsageError(f"{name.replace('_', '-')} must be at least {least}", code="retrieval-option")
    return Options(preset=preset, **chosen)


def _depths(k: int | Iterable[int]) -> tuple[int, ...]:
    depths = (k,) if isinstance(k, int) else tuple(sorted(set(k)))
    if not depths or depths[0] < 1:
        raise UsageError("k must be at least 1", hint="Write --k 5 or --k 1,3,5,10.", code="k-range")
    return depths
