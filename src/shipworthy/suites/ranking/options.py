"""Options of `shipworthy retrieval`, one set for the two suites behind it, and what the inputs decide about them.

The choices that make retrieval tools disagree have names, are printed, and are part of the digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec

from ...core.gates import as_written
from ...core.options import AllowMissing, Mapped, Opt, ReadingOptions, fields_of
from ...core.suite import InputSpec, Sources
from ...errors import UsageError
from ..answers.options import check_depths, slice_fields

INPUTS = (
    InputSpec("gold", "Gold set with relevant (or gold_citations) for each question.", False),
    InputSpec("run", "What was retrieved: traces, a retrieval log, or a TREC run.", False, driven=True, many=True),
    InputSpec(
        "shadow", "Log of a new index, to be compared with --live or judged by the canary gates.", False, many=True
    ),
    InputSpec("live", "Log of the index in production, on the same questions (a run with --qrels).", False, many=True),
    InputSpec("qrels", "TREC judgements in place of --gold.", False),
    InputSpec("sections", "Sections of blocks: JSON lines with id and section_id.", False, table=True),
    InputSpec("texts", "Texts of blocks: JSON lines with id and text.", False, table=True),
)
EMBEDDERS = ("precomputed", "lexical", "http", "local")
_TREC: dict[str, str | int] = {
    "denominator": "k",
    "order": "score",
    "ties": "docid_desc",
    "duplicates": "error",
    "missing_query": "skip",
    "no_relevant": "zero",
    "score_bits": 32,
}
PRESETS: dict[str, dict[str, str | int]] = {
    "native": {},
    "trec": _TREC,  # trec_eval as it is called without -c
    "trec-c": _TREC | {"missing_query": "zero"},
}
_PRESET = "  [default: the preset's]"


class Options(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the retrieval suite; None leaves it to the preset."""

    map: Mapped = ()
    preset: Annotated[
        Literal["native", "trec", "trec-c"] | None,
        Opt("Preset for the choices below.  [default: native; trec with --qrels]"),
    ] = None
    k: Annotated[tuple[int, ...], Opt("Depths of precision@k and recall@k.", "N[,N…]")] = (1, 3, 5, 10)
    match: Annotated[
        Literal["ids", "offsets", "text"],
        Opt("What makes a block relevant: its id, its byte range, or its text. The last two survive a re-chunking."),
    ] = "ids"
    min_overlap: Annotated[
        str,
        Opt(
            "With --match offsets or text: share of the gold range, or of the block, that must overlap.",
            "SHARE",
            kind="number",
        ),
    ] = "0.5"
    denominator: Annotated[
        Literal["returned", "k"] | None, Opt(f"What precision divides by: blocks returned, or k.{_PRESET}")
    ] = None
    order: Annotated[Literal["list", "score"] | None, Opt(f"Rank by list order or by score.{_PRESET}")] = None
    ties: Annotated[
        Literal["list", "docid_desc"] | None,
        Opt(f"Order of equal scores: as listed, or by descending id like trec_eval.{_PRESET}"),
    ] = None
    duplicates: Annotated[
        Literal["first", "occupy_slot", "error"] | None,
        Opt(f"Repeated ids: count the first, let each take a rank, or fail.{_PRESET}"),
    ] = None
    missing_query: Annotated[
        Literal["zero", "skip", "error"] | None,
        Opt(f"A question without a result list scores 0, is skipped, or is an error.{_PRESET}"),
    ] = None
    no_relevant: Annotated[
        Literal["skip", "zero", "error"] | None,
        Opt(f"A question without relevant blocks scores 0, is skipped, or is an error.{_PRESET}"),
    ] = None
    recall: Annotated[
        Literal["fraction", "all", "any"] | None,
        Opt(f"What recall counts: the share of relevant blocks found, all of them, or any.{_PRESET}"),
    ] = None
    rel_level: Annotated[int, Opt("Lowest grade that counts as relevant, with --qrels.", "N", least=1)] = 1
    score_bits: Annotated[
        int | None, Opt("Bits in which scores are compared: 32 or 64.", least=1, cli=False, config=False)
    ] = None
    depth: Annotated[int | None, Opt("Use only the first N ranks.", "N", least=1)] = None
    window: Annotated[int, Opt("Widen each gold range by this many bytes.", "N", least=0)] = 30
    offset_match: Annotated[
        Literal["overlap", "contained", "endpoints"], Opt("How a cited range must fit the widened gold range.")
    ] = "overlap"
    delta_s_limit: Annotated[
        str, Opt("What delta_s_within counts as near: a semantic distance (ΔS) up to this.", "NUMBER", kind="number")
    ] = "0.45"
    min_seeds: Annotated[int, Opt("NO VERDICT where a log has fewer seeds than this.", "N", least=1)] = 1
    profile: Annotated[
        Literal["strict", "reference"], Opt("`reference` computes what the original pseudocode describes.")
    ] = "strict"
    allow_missing: AllowMissing = 0
    by: Annotated[tuple[str, ...], Opt("Also report by this field of the gold item, such as type.", "FIELD")] = ()
    metrics: Annotated[str | None, Opt("Only these ranking metrics: P@5,R@10,nDCG@10,MRR,MAP,success@5.", "LIST")] = (
        None
    )
    embedder: Annotated[
        str,
        Opt(
            "What computes semantic distance (ΔS) where the log has none and texts are given: "
            f"{', '.join(EMBEDDERS)}, or py:module:function.",
            "NAME",
            shown=False,
            inert=False,
        ),
    ] = "lexical"
    embed_url: Annotated[
        str, Opt("Embedding server: …/v1, or Ollama's …/api/embed.", "URL", shown=False, inert=False)
    ] = ""
    embed_model: Annotated[
        str, Opt("Model of the http embedder, or folder of the local one.", "NAME", shown=False, inert=False)
    ] = ""
    embed_key_env: Annotated[
        str | None, Opt("Environment variable that holds the server's key.", "NAME", shown=False, inert=False)
    ] = None
    embed_cache: Annotated[str | None, Opt("Keep vectors in this SQLite file.", "FILE", shown=False, inert=False)] = (
        None
    )
    per_question: Annotated[
        bool, Opt("Keep a row for each question in the report.", shown=False, cli=False, config=False)
    ] = True

    def __post_init__(self) -> None:
        check_depths(self.k)
        as_share(self.min_overlap)
        distance_limit(self.delta_s_limit)
        check_embedder(self.embedder)


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a number of this suite, with the preset's choices in place."""

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
        return canary_depth(self.k)

    def shown(self) -> dict[str, object]:
        plain: dict[str, object] = {field: getattr(self, field) for field in self.__struct_fields__}
        return plain | {"k": list(self.k), "by": list(self.by), "min_overlap": float(self.min_overlap)}

    @property
    def header(self) -> str:
        """The choices in a line, for the head of a report."""
        names = ("denominator", "order", "ties", "duplicates", "missing_query", "no_relevant", "recall", "rel_level")
        return f"preset {self.preset}, match {self.match}: " + ", ".join(
            f"{name} {getattr(self, name)}" for name in names
        )


def choices_of(options: Options) -> Choices:
    """The preset with what was asked for in its place; None leaves the preset's choice."""
    given = {name: value for name in Choices.__struct_fields__ if (value := getattr(options, name)) is not None}
    chosen: dict[str, Any] = {"preset": "native"} | PRESETS[options.preset or "native"] | given
    chosen["k"] = tuple(sorted(set(options.k)))
    chosen["min_overlap"] = as_share(options.min_overlap)
    return Choices(**chosen)


def choices_shown(context: Any) -> dict[str, object]:
    """Every choice, those of the preset among them."""
    choices: Choices = context.choices
    return choices.shown()


def canary_depth(k: Iterable[int]) -> int:
    depths = set(k)
    return 5 if 5 in depths else max(depths)


def as_share(text: str) -> Fraction:
    share = as_written(text)
    if share is None or not 0 < share <= 1:
        raise UsageError("min-overlap must be above 0 and at most 1", hint="0.5 is half.", code="retrieval-option")
    return share


def distance_limit(text: str) -> Fraction:
    limit = as_written(text)
    if limit is None or not 0 <= limit <= 1:
        raise UsageError("delta-s-limit must be between 0 and 1", hint="0.45 is usual.", code="retrieval-option")
    return limit


def check_embedder(name: str) -> None:
    """There is an embedder of that name, or it names a function."""
    if name not in EMBEDDERS and not all(name.removeprefix("py:").partition(":")):
        hint = f"Use one of {', '.join(EMBEDDERS)}, or py:module:function."
        raise UsageError(f"unknown embedder {name!r}", hint=hint, code="embedder-setting")


# --- what the inputs decide ---


def ranks_ids(options: Options, sources: Sources) -> bool:
    """Whether nothing but ids is to be compared, so that the ranking suite judges."""
    return options.metrics is not None or (is_given(sources, "qrels") and not is_given(sources, "live"))


def is_given(sources: Sources, name: str) -> bool:
    return sources.get(name) is not None


def is_plain(sources: Sources) -> bool:
    """One log or run against a gold set: how good is it? Nothing is compared, and no canary gate is in force."""
    return is_given(sources, "gold") and is_given(sources, "run")


def complete(options: Options, sources: Sources, **more: object) -> Options:
    """The options with what inputs and preset decide written out, so that every report shows it."""
    check_inputs(options, sources)
    preset = options.preset or ("trec" if is_given(sources, "qrels") else "native")
    by = tuple(name for name in slice_fields(options.by, options.gates) if name != "type")  # by which is always sliced
    options = msgspec.structs.replace(options, preset=preset, by=by, **more)
    choices = choices_of(options)
    left = {name: getattr(choices, name) for name in Choices.__struct_fields__ if getattr(options, name) is None}
    return msgspec.structs.replace(options, **left)


_PLACES = (
    *("match", "min_overlap", "window", "offset_match", "delta_s_limit", "min_seeds", "by", "sections", "texts"),
    *("embedder", "embed_url", "embed_model", "embed_key_env", "embed_cache", "profile"),
)


def check_inputs(options: Options, sources: Sources) -> None:
    """Two files that belong together, and no flag that would be without effect."""
    gold, shadow, qrels, run, live = (is_given(sources, name) for name in ("gold", "shadow", "qrels", "run", "live"))
    what = hint = ""
    if gold == qrels or shadow == run or (qrels and shadow):
        what = "retrieval needs a gold set (or qrels) and a result log"
        hint = "Give --gold with --run; --gold with --shadow and --live to compare two; or --qrels with --run."
    elif gold and run and live:
        what, hint = "--live needs --shadow to compare with", "Write --shadow instead of --run."
    elif options.metrics is not None and live:
        what, hint = "--metrics measures a single log", "Leave out --live, or --metrics."
    if what:
        raise UsageError(what, hint=hint, code="retrieval-inputs")
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
    yield from (name for name in sources if is_given(sources, name))


def _refuse(chosen: set[str], why: str, *names: str) -> None:
    if flag := next((f"--{name.replace('_', '-')}" for name in names if name in chosen), ""):
        raise UsageError(f"has no effect {why}", where=flag, hint="Leave it out.", code="retrieval-inputs")
