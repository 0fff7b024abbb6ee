"""Inputs: what is scored follows from which files are given; a flag without effect on them is refused."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...core.options import fields_of
from ...core.suite import Sources
from ...errors import UsageError
from ..answers.options import slice_fields
from .options import Options, at_depths, canary_depth, choices_of, resolved

_PLACES = (
    "match",
    "min_overlap",
    "window",
    "offset_match",
    "delta_s_limit",
    "min_seeds",
    "by",
    "sections",
    "texts",
    "embedder",
    "embed_url",
    "embed_model",
    "embed_key_env",
    "embed_cache",
    "profile",
)


def complete(options: Options, sources: Sources) -> Options:
    """The options with what the inputs decide: preset, metrics, fields to slice by, and live's gate for TREC files."""
    check_inputs(options, sources)
    trec, compared, plain = _given(sources, "qrels"), _given(sources, "live"), is_plain(sources)
    preset = options.preset or ("trec" if trec else "native")
    changes: dict[str, object] = {"by": _beyond_type(options), "preset": preset}
    if trec and compared:
        gates = options.gates or (f"recall@{canary_depth(options.k)}>=baseline-0.02",)
        changes |= {"gates": gates, "only_gates": True}  # a run has ids alone, and the other gates ask for more
    elif trec and options.metrics is None:
        changes["metrics"] = at_depths(choices_of(options).k)
    if not compared and (trec or plain or options.metrics is not None):
        changes["only_gates"] = False  # there are no default gates to leave out
    return resolved(msgspec.structs.replace(options, **changes))


def is_plain(sources: Sources) -> bool:
    """One log or run against a gold set: how good is it? Nothing is compared, and no canary gate is in force."""
    return _given(sources, "gold") and _given(sources, "run")


def _given(sources: Sources, name: str) -> bool:
    return sources.get(name) is not None


def _beyond_type(options: Options) -> tuple[str, ...]:
    """The fields to slice by; the type is always one, from the relevant blocks."""
    return tuple(name for name in slice_fields(options.by, options.gates) if name != "type")


def check_inputs(options: Options, sources: Sources) -> None:
    """Two files that belong together, and no flag that would be without effect."""
    gold, shadow, qrels, run = (_given(sources, name) for name in ("gold", "shadow", "qrels", "run"))
    if gold == qrels or shadow == run or (qrels and shadow):
        raise UsageError(
            "retrieval needs a gold set (or qrels) and a result log",
            hint="Give --gold with --run; --gold with --shadow and --live to compare two; or --qrels with --run.",
            code="retrieval-inputs",
        )
    if is_plain(sources) and _given(sources, "live"):
        raise UsageError(
            "--live needs --shadow to compare with", hint="Write --shadow instead of --run.", code="retrieval-inputs"
        )
    if options.metrics is not None and _given(sources, "live"):
        raise UsageError(
            "--metrics measures a single log", hint="Leave out --live, or --metrics.", code="retrieval-inputs"
        )
    chosen = set(_chosen(options, sources))
    if qrels:
        _refuse(chosen, "with --qrels, which has only ids", *_PLACES, "lenient", "map")
    else:
        _refuse(chosen, "with --gold, which has no grades", "rel_level")
    if options.metrics is not None:
        _refuse(chosen, "with --metrics, which compares ids and names its own depths", *_PLACES, "k")


def _chosen(options: Options, sources: Sources) -> Iterator[str]:
    """Options that are not as they are by themselves, and inputs that are there."""
    yield from (name for name, field in fields_of(Options).items() if getattr(options, name) != field.default)
    yield from (name for name in sources if _given(sources, name))


def _refuse(chosen: set[str], why: str, *names: str) -> None:
    for name in names:
        if name in chosen:
            raise UsageError(
                f"has no effect {why}",
                where=f"--{name.replace('_', '-')}",
                hint="Leave it out.",
                code="retrieval-inputs",
            )
