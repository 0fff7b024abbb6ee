"""The reference profile: the original pseudocode made runnable, one log per question, its choices kept.

Differs from the strict numbers: only the answer's first citation counts; coverage and citation accuracy are over all
gold items; ΔS is over everything retrieved; repeated ids keep their slots; a gold item without relevant ids scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ... import stats
from ...contracts import Gold
from . import citations
from .judge import Context
from .log import LogLine
from .matching import prepare
from .options import Options


def reference(
    items: Sequence[tuple[Gold, Sequence[LogLine]]], options: Options, sections: Mapping[str, str]
) -> dict[str, Fraction | None]:
    """Every number of the pseudocode, exactly; None where there was no value at all."""
    last = [(gold, runs[-1] if runs else None) for gold, runs in items]
    found: dict[str, Fraction | None] = {}
    for k in options.k:
        found[f"precision@{k}"] = _mean([_precision(gold, line, k) for gold, line in last])
        found[f"recall@{k}"] = _mean([_recall(gold, line, k) for gold, line in last])
    context = Context(options, sections)
    found["coverage"] = _mean([Fraction(_covered(gold, line, context)) for gold, line in last])
    found["citation_accuracy"] = _mean([Fraction(_accurate(gold, line, context)) for gold, line in last])
    distances = [sorted(Fraction(str(number)) for number in line.delta_s) for _, line in last if line and line.delta_s]
    for name, p in (("delta_s_median", 50), ("delta_s_p90", 90)):
        each = sorted(value for values in distances if (value := stats.percentile(values, p)) is not None)
        found[name] = stats.percentile(each, 50)
    logged = [line for _, line in last if line and line.lambda_state is not None]
    found["lambda_convergent"] = _mean([Fraction(line.lambda_state == "→") for line in logged]) if logged else None
    return found


def _hits(gold: Gold, line: LogLine | None, k: int) -> tuple[int, int, int]:
    wanted = {place if isinstance(place, str) else place.id for place in gold.relevant} or set(gold.citations)
    retrieved = [block.id for block in line.blocks[:k]] if line else []
    return len(wanted & set(retrieved)), len(retrieved), len(wanted)


def _precision(gold: Gold, line: LogLine | None, k: int) -> Fraction:
    hits, returned, _ = _hits(gold, line, k)
    return Fraction(hits, max(1, returned))


def _recall(gold: Gold, line: LogLine | None, k: int) -> Fraction:
    hits, _, wanted = _hits(gold, line, k)
    return Fraction(hits, max(1, wanted))


def _covered(gold: Gold, line: LogLine | None, context: Context) -> bool:
    target = prepare(gold, context.options, {})
    first = line.cited[:1] if line else []
    return citations.covers_gold(target, first, context.options, context.sections, {})


def _accurate(gold: Gold, line: LogLine | None, context: Context) -> bool:
    target = prepare(gold, context.options, {})
    first = line.cited[:1] if line else []
    return citations.accurate(target, first, context.options, context.sections) is True


def _mean(values: Sequence[Fraction]) -> Fraction:
    return Fraction(sum(values, Fraction(0)), len(values)) if values else Fraction(0)
