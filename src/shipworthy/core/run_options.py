"""Run options: how a system is asked. Flags, config keys, JSON Schema and docs tables come from this one Struct."""

# No postponed annotations, as in `options`.

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, Literal

import msgspec

from ..errors import UsageError
from .options import MAP_HELP, Field, Opt, fields_of


class RunOptions(msgspec.Struct, kw_only=True):
    """What is sent (`grid`), how fast and how far (`limits`), what becomes of the file (`file`), how (`request`)."""

    seeds: Annotated[tuple[int, ...], Opt("Seeds to send.", "0,1,2|0-4", group="grid")] = (0,)
    jitters: Annotated[
        tuple[str, ...],
        Opt("Rewordings to send, of none, ws, punct, syn, order, para.", "NAME[,NAME…]", group="grid"),
    ] = ("none",)
    paraphrases: Annotated[bool, Opt("Also send each paraphrase of the gold set.", group="grid")] = False
    arms: Annotated[
        Any,  # Arms, or knobs by name
        Opt("TOML file with one table [arms.NAME] of knobs per arm.", "FILE", kind="table", group="grid", config=False),
    ] = None
    profile: Annotated[
        Literal["strict", "reference"],
        Opt("`reference` uses the original scripts' rewordings, mistakes included.", group="grid", config=False),
    ] = "strict"
    temperatures: Annotated[
        tuple[float, ...],
        Opt("Sampling temperatures to run with, sent as `temperature`.", "T[,T…]", group="grid", config=False),
    ] = ()

    concurrency: Annotated[int, Opt("Requests in flight.", group="limits", least=1, most=10_000)] = 8
    rate: Annotated[float | None, Opt("Most requests per second.", group="limits")] = None
    timeout: Annotated[
        float, Opt("Timeout of one attempt, to the last byte.", flag="--timeout-sec", key="timeout_sec", group="limits")
    ] = 60.0
    retries: Annotated[int, Opt("Retries on 429, 5xx and lost connections.", group="limits", least=0, most=100)] = 3
    max_requests: Annotated[
        int | None, Opt("Stop after this many requests.", group="limits", least=1, config=False)
    ] = None
    max_seconds: Annotated[float | None, Opt("Send nothing after this many seconds.", group="limits", config=False)] = (
        None
    )
    max_cost_usd: Annotated[
        Decimal | float | str | None,
        Opt("Stop once the reported cost_usd reaches this sum.", kind="amount", group="limits", config=False),
    ] = None
    warmup: Annotated[
        int, Opt("Warm-up questions, sent first and not saved.", group="limits", least=0, config=False)
    ] = 0
    # What only a program sets.
    backoff: Annotated[float, Opt("Seconds before the second attempt; they double.", cli=False, config=False)] = 0.5
    longest_wait: Annotated[float, Opt("Cap of a backoff and of Retry-After.", cli=False, config=False)] = 30.0
    breaker: Annotated[
        int, Opt("Unanswered runs in a row after which the target counts as gone.", cli=False, config=False)
    ] = 10
    connections: Annotated[
        int, Opt("Processes of a Python function at most; 0: as many as calls under way.", cli=False, config=False)
    ] = 0
    start_seconds: Annotated[
        float, Opt("Seconds for a process to import a Python function.", cli=False, config=False)
    ] = 120.0

    resume: Annotated[
        bool, Opt("Send only the questions that the file does not have yet.", group="file", config=False)
    ] = False
    overwrite: Annotated[bool, Opt("Replace the runs in the file.", group="file", config=False)] = False
    dedupe: Annotated[
        bool,
        Opt(
            "Send a question again even if a rewording did not change it.",
            flag="--no-dedupe",
            group="file",
            config=False,
        ),
    ] = True

    mapping: Annotated[
        Mapping[str, str] | Sequence[str],
        Opt(MAP_HELP, "FIELD=PATH", flag="--map", key="map", kind="mapping", group="request"),
    ] = {}
    method: Annotated[str, Opt("HTTP method.  [default: POST, or GET with --query]", "VERB", group="request")] = ""
    body: Annotated[
        Any,  # JSON text, @FILE or a parsed tree; None sends the runner's own request
        Opt(
            "Request body, JSON or @FILE. It may contain {question}, {qid}, {seed}, {temperature}, {history}.",
            "JSON",
            kind="template",
            group="request",
        ),
    ] = None
    query: Annotated[
        Mapping[str, str],
        Opt(
            "Query parameter of the URL. The value may contain {question} and other placeholders. Repeatable.",
            "NAME=VALUE",
            kind="texts",
            group="request",
        ),
    ] = {}
    headers: Annotated[
        Mapping[str, str],
        Opt(
            "Header to send with each request. ${ENV} is replaced by that variable and never written to a file.",
            "NAME=VALUE",
            flag="--header",
            kind="texts",
            group="request",
        ),
    ] = {}
    proxy: Annotated[str, Opt("Send requests through this proxy.", "URL", group="request")] = ""
    trust_env: Annotated[bool, Opt("Use the proxies in HTTPS_PROXY and NO_PROXY.", group="request")] = False
    ca_file: Annotated[
        str, Opt("PEM file with certificates to trust besides the system's.", "FILE", group="request")
    ] = ""
    model: Annotated[str, Opt("Model of a chat target.", group="target")] = ""
    evidence: Annotated[str, Opt("Evidence by qid for a chat target, JSON lines.", "FILE", group="target")] = ""
    allow_redirects: Annotated[bool, Opt("Follow redirects (307, 308) on the same host.", group="target")] = False
    max_response_bytes: Annotated[int, Opt("A larger response is a failed run.", group="target", least=1)] = 4_000_000

    def __post_init__(self) -> None:
        """A budget of NaN or infinity would never end."""
        for name in ("concurrency", "timeout", "rate", "max_requests", "max_seconds", "max_cost_usd"):
            value = getattr(self, name)
            if value is not None and not (isfinite(float(value)) and float(value) > 0):
                raise UsageError(f"{name} is {value}", hint="Give a number over 0.", code="limit")


def run_fields(*groups: str) -> dict[str, Field]:
    """The run options of these groups by name, all that have one where none is named."""
    return {
        name: field
        for name, field in fields_of(RunOptions).items()
        if (field.opt.group in groups if groups else field.opt.group)
    }


def of_config(table: Mapping[str, Any]) -> dict[str, Any]:
    """The run options that a table of a config file sets, by name."""
    return {name: table[field.key] for name, field in run_fields().items() if field.key in table}
