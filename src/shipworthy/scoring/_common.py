"""What the scoring functions of several suites share: how answers are judged, profiles, and lists of names cut short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import UsageError
from ..evaluation import PROFILES
from ..idscheme import parse_id_map
from ..refusal import load_rule
from ..suites import answers

SHOWN = 8  # names in a sentence; the report has more of them


def judging(refusal: str, refusal_phrases: Iterable[str], id_map: str | None, **more: Any) -> answers.Options:
    """The options of the answers suite's judge, from what a caller writes."""
    return answers.Options(
        declared=refusal != "exact",
        rule=load_rule("natural" if refusal == "exact" else refusal, refusal_phrases),
        id_map=parse_id_map(id_map) if id_map else None,
        **more,
    )


def check_profile(profile: str) -> None:
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}", hint=f"Use {' or '.join(PROFILES)}.", code="profile")


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
