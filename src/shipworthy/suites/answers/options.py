"""Options of the answers suite, and those that every suite that judges answers shares."""

# No postponed annotations: they are what options are made from, and to evaluate them as texts costs at every start.

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ...core.custom import Custom
from ...core.gates import Gate
from ...core.options import AllowMissing, Mapped, Opt, ReadingOptions
from ...errors import UsageError
from ...language.refusal import RefusalRule, load_rule

if TYPE_CHECKING:
    from ...reading.idmap import IdMap

Profile = Annotated[
    Literal["strict", "reference"], Opt("`reference` prints what the original scripts print.", shown=False)
]
Accuracy = Annotated[
    Literal["gate", "refer"],
    Opt(
        "Who decides about wrong answers: this suite's gates, or those of the answers suite. `check` refers to the "
        "answers suite where it runs both.  [default: gate]",
        shown=False,
        cli=False,
    ),
]
By = Annotated[tuple[str, ...], Opt("Also report by a field of the gold item, such as type.", "FIELD")]


class JudgingOptions(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How an answer is judged, in every suite that judges answers."""

    min_substr: Annotated[
        int, Opt("Kept for older configs: expected text of any length matches whole words.", least=1)
    ] = 5
    allow_missing: AllowMissing = 0
    closed: Annotated[bool, Opt("A trace for a question that the gold set does not have is an error.")] = False
    refusal: Annotated[
        Literal["exact", "natural"],
        Opt("What counts as a refusal: only the token `not in context`, or also natural wordings."),
    ] = "exact"
    refusal_phrases: Annotated[
        tuple[str, ...], Opt("File with more refusal wordings, one per line.", "FILE", kind="lines")
    ] = ()
    lang: Annotated[
        str, Opt("Language of the answers, such as de. Otherwise each answer's own words tell.", "LANG", shown=False)
    ] = ""
    require_language: Annotated[
        bool,
        Opt("No verdict where an answer is in a language that denials and refusals can't be read in.", shown=False),
    ] = False
    where: Annotated[
        tuple[str, ...],
        Opt(
            "Judge only questions with this field, such as tier=smoke. The report says that it is a subset.",
            "FIELD=VALUE",
            kind="pairs",
            shown=False,
            config=False,
        ),
    ] = ()
    quarantine: Annotated[
        tuple[str, ...],
        Opt(
            "Questions that are judged and shown, and that no gate counts.", "QID", shown=False, cli=False, config=False
        ),
    ] = ()
    map: Mapped = ()
    cites: Annotated[
        bool,
        Opt(
            "Declare that answers cite no sources (cites = false): they are judged by what they say.",
            flags=("--no-cites",),
            shown=False,
        ),
    ] = True
    logs_retrieval: Annotated[
        bool,
        Opt(
            "Declare that traces do not say what was retrieved (logs_retrieval = false): that is not judged.",
            flags=("--no-retrieval-log",),
            shown=False,
        ),
    ] = True
    id_map: Annotated[
        str | None, Opt("How trace ids map to gold ids, such as drop-extension,casefold, or a file.", "NAMES|FILE")
    ] = None

    @property
    def rule_name(self) -> str:
        """Phrases that were given are the rule."""
        return "phrases" if self.refusal_phrases else self.refusal

    @property
    def declared(self) -> bool:
        """Whether a wider rule than the token counts as a refusal; else it is only watched."""
        return self.rule_name != "exact"

    def rule(self) -> RefusalRule:
        return load_rule(self.rule_name if self.declared else "natural", self.refusal_phrases)

    def mapped_ids(self) -> "IdMap | None":
        if self.id_map is None:
            return None
        from ...reading.idmap import parse_id_map

        return parse_id_map(self.id_map)


class Options(JudgingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the answers suite."""

    k: Annotated[tuple[int, ...], Opt("Depth of recall@k: one number or a list.", "N[,N…]")] = (5,)
    scu_enforced: Annotated[
        bool, Opt("Count constraint violations in precision, and gate on them.", flags=("--scu_enforced",))
    ] = False
    on_duplicate: Annotated[
        Literal["last", "first", "worst", "error"], Opt("Which trace counts, if a question has several.")
    ] = "last"
    on_denied: Annotated[
        Literal["fail", "flag", "off"], Opt("How to treat an answer that contains the expected text but denies it.")
    ] = "fail"
    match_citations: Annotated[
        Literal["ids", "place", "text"],
        Opt("What a citation is compared by: its id, its place in the documents, or its text.", shown=False),
    ] = "ids"
    by: By = ()
    custom_metrics: Annotated[
        tuple[Custom, ...],
        Opt(
            "TOML file with your own metrics, in tables [metrics.NAME].",
            "FILE",
            kind="metrics",
            shown=False,
            config=False,
            inert=False,
        ),
    ] = ()
    profile: Profile = "strict"

    def __post_init__(self) -> None:
        check_depths(self.k)


def check_depths(k: Iterable[int]) -> None:
    depths = list(k)
    if not depths or any(depth < 1 for depth in depths):
        raise UsageError("k must be at least 1", hint="Write --k 5 or --k 1,3,5,10.", code="k-range")


def slice_fields(by: Iterable[str], gates: Iterable[str | Gate]) -> tuple[str, ...]:
    """The fields to slice by: those asked for, and those that a gate names."""
    named = [field for gate in gates for field in re.findall(r"\[(\w+)=", str(gate))]
    return tuple(dict.fromkeys([*by, *named]))


def sliced(options: Options) -> Options:
    """The options with every field that a gate slices by among the fields to report by."""
    return msgspec.structs.replace(
        options, k=tuple(dict.fromkeys(options.k)), by=slice_fields(options.by, options.gates)
    )


def reviewed_note(reviewed: int, items: int) -> str:
    """How many questions a person has decided about."""
    return f"{reviewed} of {items} questions reviewed by a person"


def id_map_file(options: JudgingOptions) -> str | None:
    """The file of an id map, where it is one."""
    given = options.id_map
    return given if given is not None and os.path.isfile(given) else None
