"""Diagnosis: which way to look, from what went wrong with retrieval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ...core.metrics import Measure, decimal
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from .judge import LogVerdict, band
from .pairs import Fallen

HARDLY = Fraction(1, 10)  # a smaller share of questions with any gold id in the log is no retrieval, but other ids

_DRIFT = (
    "{n} of {all} answered runs cite the right section, but at offsets outside every gold range. "
    "Offsets may have shifted (OCR, normalisation), or are not in bytes."
)
_MEANING = "{n} cited a similar but wrong text. The embeddings do not separate the topics well enough."
_ORDER = "{n} had the relevant block at different ranks from run to run. Check the reranker."
_LEAK = "{n} cited a section next to or below the right one. Check section detection and chunk boundaries."
_TYPED = "Only {slices} {verb}. Index tables, code and figures as blocks of their own type, not as prose."
_MIGRATED = "Hardly any gold id is in the log. If the index has new ids, migrate the gold set, or use --match offsets."


HINTED = ("searched", "retrieved", "near_but_wrong", "order_flips", "leaks")


def hint_facts(verdict: LogVerdict) -> Iterator[str]:
    """What the hints below count."""
    if verdict.ranked and verdict.lines:
        yield "searched"
        if any(line.ranked.hits for line in verdict.lines):
            yield "retrieved"
    for name, applies in (("near_but_wrong", _near_but_wrong), ("order_flips", _order_flips), ("leaks", _leaks)):
        if applies(verdict):
            yield name


def _near_but_wrong(verdict: LogVerdict) -> bool:
    return any(
        line.cited and not line.covered and line.delta is not None and band(line.delta) == "stable"
        for line in verdict.lines
    )


def _order_flips(verdict: LogVerdict) -> bool:
    """One wording, several seeds, and another rank each time: the question did not change, the order did."""
    ranks: dict[str, set[tuple[int, ...]]] = {}
    for line in verdict.lines:
        if not line.failed:
            ranks.setdefault(line.paraphrase, set()).add(line.ranked.hits[:1])
    return any(len(first) > 1 for first in ranks.values())


def _leaks(verdict: LogVerdict) -> bool:
    return any(line.proximity in (1, 2) and not line.covered for line in verdict.lines)


def diagnose(findings: Findings, fallen: Sequence[Fallen]) -> list[str]:
    """What the pattern of failures points to, in words."""
    tally: Tally = findings.tally
    failed = any(outcome.state.startswith("FAIL") for outcome in findings.outcomes)
    hints = [_MIGRATED] if findings.context.choices.match == "ids" and hardly_any(tally) else []
    hints += _fallen(fallen, findings.slices)
    drifted, answered = tally["drifted_runs"], tally["answered_runs"]
    if drifted and 10 * drifted >= answered:
        hints.append(_DRIFT.format(n=drifted, all=answered))
    for fact, words in (("near_but_wrong", _MEANING), ("order_flips", _ORDER), ("leaks", _LEAK)):
        if tally[fact] and failed and 20 * tally[fact] >= tally["items"]:
            hints.append(words.format(n=plural(tally[fact], "question")))
    return hints


def _fallen(fallen: Sequence[Fallen], slices: Mapping[str, Mapping[str, Measure]]) -> list[str]:
    """The slices that fell against live; where these are types, the others stand, and the type is the cause."""
    hints = [f"{name} fell from {decimal(before)} (live) to {decimal(now)} (shadow)." for name, now, before in fallen]
    types = [name for name, _, _ in fallen if name.startswith("type=")]
    known = [name for name in slices if name.startswith("type=")]
    blamed = [name.removeprefix("type=") for name in types]
    if blamed and len(types) < len(known) and {"table", "code", "figure"} >= set(blamed):
        hints.append(_TYPED.format(slices=" and ".join(blamed), verb="fail" if len(blamed) > 1 else "fails"))
    return hints


def hardly_any(tally: Tally) -> bool:
    """Whether gold ids turn up in fewer than a tenth of the questions that have some."""
    return tally["searched"] > 0 and tally["retrieved"] < HARDLY * tally["searched"]
