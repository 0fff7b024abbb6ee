"""Connect: send one question to a service, see what comes back, and propose the config that reads it."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..core.sources import read_gold
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..language.refusal import is_exact, load_rule
from ..reading.files import create_new, write_whole
from ..reading.proposal import fields_of, propose
from ..runner.failures import AskFailed
from ..runner.plan import Ask
from ..runner.redact import SENSITIVE_NAME, Secrets
from ..runner.targets.base import TargetOptions
from ..runner.targets.http import HttpTarget
from ..text import visible
from ..web.blocking import run_blocking

QUESTION = "What can you tell me about this?"
UNANSWERABLE = "What colour are the lanterns in the harbour of Qzxvj?"
CONFIG = "shipworthy.toml"
GOLD = ("gold.jsonl", "gold.csv", "gold.json", "gold.tsv", "eval/gold.jsonl")
TRACE = "runs/trace.jsonl"
PLACEHOLDER = "replace this: the shortest text that every correct answer contains"
# Bodies that services commonly take, tried in turn while the service refuses the request itself.
_FIELDS = ("question", "query", "q", "input", "prompt", "message", "text")
_CHAT = {"messages": [{"role": "user", "content": "{question}"}]}
_CHAT_PATH = re.compile(r"/(chat/)?completions/?$|/chat/?$")
_REFUSED_REQUEST = ("http-400", "http-405", "http-415", "http-422", "http-500")
_ADVICE = {
    "http-401": "It wants credentials: add --header 'Authorization=Bearer ${TOKEN}'.",
    "http-403": "It wants credentials: add --header 'Authorization=Bearer ${TOKEN}'.",
    "http-404": "Check the path of the URL.",
    "http-405": "POST and GET were tried with the usual names. Say what it takes: --method, --query or --body.",
    "bad-json": "Give the URL of the API, not of a page, and check whether it needs --header or --body.",
    "redirect": "Give the URL that it redirects to.",
    "timeout": "Give it longer: --timeout-sec 300.",
}


class Connection(msgspec.Struct, kw_only=True):
    """What was sent, what came back, and what was understood of it."""

    url: str
    body: Any
    options: TargetOptions
    question: str
    response: dict[str, Any]
    mapping: dict[str, str]
    fields: dict[str, Any]  # what each mapped field got
    refusal: str = ""  # the rule that is proposed: natural, or nothing where the token is used
    refused_with: str = ""  # how the service answered a question that it can't answer
    answered: bool = True  # whether the question got an answer rather than a refusal
    gold: str = ""  # the gold file that exists already


def connect(
    url: str, options: TargetOptions, *, question: str = "", gold: str = "", timeout: float = 60.0
) -> Connection:
    """Send one question, and one that can't be answered to see a refusal; nothing is written."""
    answerable, unanswerable = _questions(gold)
    asked = question or answerable or QUESTION
    response, used = _first_response(url, options, asked, timeout)
    given = dict(_given(options))
    proposed = propose(response, claim_path=given.get("claim", given.get("answer", "")))
    mapping = given if {"answer_json"} & set(given) else {**proposed, **given}
    if not {"claim", "answer", "answer_json", "refused"} & set(mapping) and "answer_json" not in response:
        raise UsageError(
            f"the response has no field that looks like an answer; it has {fields_of(response)}",
            where=options.secrets.hide(url),
            hint="Say which it is: --map claim=PATH.",
            code="init-response",
        )
    used = msgspec.structs.replace(used, mapping=mapping)
    fields, answer = _asked(url, used, asked, timeout, response)
    rule = load_rule("natural")
    if rule.matches(answer) and "citations" not in given and mapping.get("citations") == mapping.get("retrieved_ids"):
        mapping.pop("citations", None)  # a refusal cites nothing, so it does not show how citations are written
    _, claim = _asked(url, used, unanswerable or UNANSWERABLE, timeout)
    claim = options.secrets.hide(claim)  # a service may say back what it was sent
    natural = bool(claim) and not is_exact(claim) and rule.matches(claim)
    return Connection(
        url=url,
        body=used.body,
        options=used,
        question=asked,
        response=response,
        mapping=mapping,
        fields=fields,
        refusal="natural" if natural else "",
        refused_with=claim,
        answered=not rule.matches(answer),
        gold=gold,
    )


def find_gold(folder: str) -> str:
    """A gold file that is there already, by its usual names; the starter that nobody has filled in is none."""
    paths = ((name, os.path.join(folder, name)) for name in GOLD)
    return next((name for name, path in paths if os.path.isfile(path) and not _is_starter(path)), "")


def _is_starter(path: str) -> bool:
    with open(path, "rb") as stream:
        return PLACEHOLDER.encode() in stream.read(10_000)


def _questions(gold: str) -> tuple[str, str]:
    """The first question of each kind in a gold file that can be read."""
    try:
        items = read_gold(gold) if gold else []
    except ShipworthyError:
        return "", ""
    asked = {kind: next((one.question for one in items if one.answerable is kind), "") for kind in (True, False)}
    return asked[True] or next((one.question for one in items if one.question), ""), asked[False]


def _given(options: TargetOptions) -> Mapping[str, str]:
    given = options.mapping
    return given if isinstance(given, Mapping) else dict(pair.split("=", 1) for pair in given)


def _first_response(
    url: str, options: TargetOptions, question: str, timeout: float
) -> tuple[dict[str, object], TargetOptions]:
    """The first response that is an answer, and the request that got it."""
    failures: list[AskFailed] = []
    for used in _requests(url, options):
        if failures and not options.method and (used.method == "GET") != (failures[0].kind == "http-405"):
            continue  # a service that takes no POST is asked by GET, and no other is
        target = HttpTarget(url, msgspec.structs.replace(used, mapping={}))
        response, failed = run_blocking(_raw(target, question, timeout))
        if failed is None:
            return response, used
        failures.append(failed)
        if failed.kind not in _REFUSED_REQUEST or options.body is not None:
            break
    if failures[-1].kind in _REFUSED_REQUEST:  # the first that says more than that the method is wrong
        failures = [one for one in failures if one.kind != "http-405"][:1] or failures
    raise _no_response(url, options.secrets, failures[-1])


def _requests(url: str, options: TargetOptions) -> Iterator[TargetOptions]:
    """What the user said should be sent, else what services commonly take: by POST, then by GET."""
    if options.body is not None or options.query or "{" in url.replace("${", ""):
        yield options
        return
    bodies: list[object] = [*({field: "{question}"} for field in _FIELDS), _CHAT]
    if _CHAT_PATH.search(url):
        bodies = [_CHAT]
    if options.method.upper() != "GET":
        for body in bodies:
            yield msgspec.structs.replace(options, body=body)
    if not options.method or options.method.upper() == "GET":
        for field in _FIELDS:
            yield msgspec.structs.replace(options, method="GET", query={field: "{question}"})


async def _raw(target: HttpTarget, question: str, timeout: float) -> tuple[dict[str, object], AskFailed | None]:
    try:
        async with asyncio.timeout(timeout):
            return await target.raw(Ask("init", "init", 0, "none", 0, "", question)), None
    except AskFailed as failed:
        return {}, failed
    except TimeoutError:
        return {}, AskFailed("timeout", f"no whole answer within {timeout:g} s")
    finally:
        await target.close()


def _asked(
    url: str, options: TargetOptions, question: str, timeout: float, response: dict[str, object] | None = None
) -> tuple[dict[str, object], str]:
    """The fields that the mapping picks out of a response, and its claim."""
    from ..reading.values import MapError
    from ..runner.shape import parse_mapping

    if response is None:
        target = HttpTarget(url, msgspec.structs.replace(options, mapping={}))
        response, failure = run_blocking(_raw(target, question, timeout))
        if failure is not None:
            return {}, ""
    try:
        trace = parse_mapping(options.mapping).trace(response) or response
    except MapError as error:
        raise UsageError(str(error), where="--map", hint="Correct the mapping.", code="init-response") from None
    answer = trace.get("answer_json")
    answer = answer if isinstance(answer, dict) else {}
    fields = {name: value for name, value in {**trace, **answer}.items() if name != "answer_json"}
    claim = answer.get("claim")
    return fields, claim if isinstance(claim, str) else ""


def _no_response(url: str, secrets: Secrets, failure: AskFailed) -> ShipworthyError:
    kind = failure.kind
    if kind in ("unreachable", "reset"):
        return EnvironmentFailure(
            f"no answer: {failure.what}",
            where=secrets.hide(url),
            hint="Start the service, then run this again.",
            code="target-unreachable",
        )
    advice = _ADVICE.get(kind, """Say what it takes: --body '{"question": "{question}"}'.""")
    if kind in _REFUSED_REQUEST and _CHAT_PATH.search(url):
        advice = f"Say what it takes: --body '{json.dumps({'model': 'MODEL', **_CHAT})}'."
    return UsageError(failure.what, where=secrets.hide(url), hint=advice, code="init-response")


# What is written


def config_text(found: Connection) -> str:
    """The config as TOML."""
    target = {"url": found.url}
    if found.options.method:
        target["method"] = found.options.method
    lines = ["# What `shipworthy check --run` sends and reads. Every key: docs/config.md", "", "[target]"]
    lines += [f"{name} = {_toml(value)}" for name, value in target.items()]
    for name, table in (("query", found.options.query), ("headers", found.options.headers)):
        lines += [f"{name} = {_inline(table)}"] if table else []
    if found.body is not None:
        body = found.body if isinstance(found.body, str) else json.dumps(found.body, ensure_ascii=False)
        lines.append(f"body = {_toml(body)}")
    if found.mapping:
        lines += ["", "[map]", *(f"{name} = {_toml(path)}" for name, path in found.mapping.items())]
    lines += ["", "[suites.answers]", f"gold = {_toml(found.gold or GOLD[0])}", f"trace = {_toml(TRACE)}"]
    if found.refusal:
        lines.append(f"refusal = {_toml(found.refusal)}  # it refuses in its own words: {_comment(found.refused_with)}")
    return "\n".join(lines) + "\n"


def write_config(found: Connection, folder: str, force: bool) -> list[tuple[str, bool]]:
    """Write config and, where there is none, a starter gold file; path and whether it was written."""
    for name, value in found.options.headers.items():
        if SENSITIVE_NAME.search(name) and "${" not in value:
            raise UsageError(
                f"the header {visible(name, 40)} holds a secret that would be written into {CONFIG}",
                where="--header",
                hint=f"Put it into the environment and write --header '{visible(name, 40)}=${{NAME}}'.",
                code="header",
            )
    path, text = os.path.join(folder, CONFIG), config_text(found).encode("utf-8", "backslashreplace")
    if force:
        write_whole(path, text)
    elif not create_new(path, text):
        raise UsageError(
            "exists already; the proposal above was not written", where=path, hint="Add --force.", code="init-exists"
        )
    written = [(path, True)]
    if not found.gold:
        gold = os.path.join(folder, GOLD[0])
        if os.path.isfile(gold) and _is_starter(gold):
            os.unlink(gold)
        written.append((gold, create_new(gold, starter_gold(found))))
    create_new(os.path.join(folder, ".shipworthy", ".gitignore"), b"*\n")
    return written


def starter_gold(found: Connection) -> bytes:
    """Two questions to begin with: the one that was sent, and one that can't be answered."""
    cited = found.fields.get("citations")
    first = {
        "qid": "Q1",
        "question": found.question,
        "answerable": True,
        "gold_claim_substr": [PLACEHOLDER],
        "gold_citations": cited if isinstance(cited, list) and found.answered else [],
    }
    if not first["gold_citations"]:
        del first["gold_citations"]
    second = {"qid": "U1", "question": UNANSWERABLE, "answerable": False, "gold_claim_substr": [], "gold_citations": []}
    rows = (json.dumps(row, ensure_ascii=False) for row in (first, second))
    return ("\n".join(rows) + "\n").encode("utf-8", "backslashreplace")


def _toml(value: object) -> str:
    """A TOML string: literal where that reads better, else with escapes."""
    text = str(value)
    if "'" not in text and ("\\" in text or '"' in text) and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _inline(table: Mapping[str, str]) -> str:
    inner = ", ".join(f"{json.dumps(name)} = {_toml(value)}" for name, value in table.items())
    return "{ " + inner + " }"


def _comment(text: str) -> str:
    return re.sub(r"\s+", " ", visible(text, 80))
