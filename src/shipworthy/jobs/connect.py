"""Connect: send one question to a service, see what comes back, and propose the config that reads it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from ..core.contracts import Gold
from ..core.options import fields_of as fields_of_options
from ..core.sources import PLACEHOLDER, read_gold
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..language.refusal import is_exact, load_rule
from ..net.blocking import ask, fetch, run_blocking
from ..net.client import RequestFailed
from ..reading.files import create_new, write_whole
from ..reading.idmap import mismatch
from ..reading.listings import walk
from ..reading.proposal import Asked, doubt, fields_of, propose, rivals
from ..reading.values import json_in_cell
from ..runner.failures import AskFailed
from ..runner.plan import Ask
from ..runner.redact import SENSITIVE_NAME, Secrets, headers_from
from ..runner.targets.base import TargetOptions
from ..runner.targets.http import FORM, HttpTarget
from ..suites import load_suite
from ..text import visible

QUESTION = "What can you tell me about this?"
UNANSWERABLE = "What colour are the lanterns in the harbour of Qzxvj?"
CONFIG = "shipworthy.toml"
TIMEOUT = 60.0  # that of `run`, so that a config need not say it
GOLD = ("gold.jsonl", "gold.csv", "gold.json", "gold.tsv", "eval/gold.jsonl")
TRACE = "runs/trace.jsonl"
OURS = {"answer_json"}
PHRASES = "refusals.txt"
MOST_REQUESTS = 30  # that are tried until one is answered
MOST_OTHERS = 6  # that are tried where the same answer came to both questions
_REFUSED_REQUEST = ("http-400", "http-405", "http-415", "http-422", "http-500", "error-200")
_NO_POST = ("http-405", "http-404")  # some frameworks know no path for a method that it does not take
_ADVICE = {
    "http-401": "It wants credentials: add --header 'Authorization=Bearer ${TOKEN}'.",
    "http-403": "It wants credentials: add --header 'Authorization=Bearer ${TOKEN}'.",
    "http-404": "Check the path of the URL.",
    "http-405": "POST and GET were tried with the usual names. Say what it takes: --method, --query or --body.",
    "http-429": "It limits how often it is asked: wait, then run this again. Later, set rate under [target].",
    "bad-json": "Give the URL of the API, not of a page, and check whether it needs --header or --body.",
    "timeout": "Give it longer: --timeout-sec 300.",
    "too-large": "Let it return less, such as no embeddings or debug output. `run` and `check` take more with "
    "max_response_bytes under [target].",
    "bad-encoding": "Let it send its responses uncompressed.",
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
    searches: bool = False  # whether it only retrieves, and answers nothing
    same: bool = False  # whether it answered both questions with the same words
    doubt: str = ""  # why what was read may hold more than the answer
    rivals: list[tuple[str, str]] = []  # path and text of what may be the answer too
    fixed: bool = False  # whether it refuses with the same words whatever it is asked
    lacks_claim: bool = False  # whether nothing was read where it was asked what it can't answer
    answered: bool = True  # whether the question got an answer rather than a refusal
    id_map: str = ""  # what makes the ids that came those of the gold file
    gold: str = ""  # the gold file that exists already
    timeout: float = TIMEOUT  # seconds that an answer may take


def connect(
    url: str, options: TargetOptions, *, question: str = "", gold: str = "", timeout: float = TIMEOUT
) -> Connection:
    """Send one question, and one that can't be answered to see a refusal; nothing is written."""
    first, unanswerable = _questions(gold)
    asked = question or (first.question if first else "") or QUESTION
    beyond = [*unanswerable[:2], UNANSWERABLE]
    expected = tuple(first.gold_claim_substr or ()) if first and asked == first.question else ()
    cited = tuple(map(str, first.gold_citations or ())) if first and expected else ()
    known = Asked(asked, None, expected, load_rule("natural").matches, cited)
    kept, problem = None, None
    for response, used in _responses(url, options, asked, timeout):
        try:
            found = _beside_a_refusal(url, used, response, known, beyond, timeout)
        except UsageError as error:
            problem = problem or error
            continue
        if kept is None or not found.same:
            kept = found
        if not found.same:  # else the question may not have reached the service
            break
    if kept is None:
        raise problem or UsageError("no answer", where=options.secrets.hide(url), code="init-response")
    if kept.refused_with and not (kept.refusal or kept.same or is_exact(kept.refused_with)):
        again, _ = _sent(url, kept.options, UNANSWERABLE if len(beyond) > 1 else QUESTION + " Qzxvj?", timeout)
        kept.fixed = _claim_of(kept.options, again) == kept.refused_with
    seen = [str(one) for name in ("citations", "retrieved_ids") for one in kept.fields.get(name) or ()]
    differ = mismatch(cited, seen)
    kept.id_map = differ.scheme.name if differ else ""
    kept.gold, kept.timeout = gold, timeout
    return kept


def _beside_a_refusal(
    url: str, used: TargetOptions, response: dict[str, object], known: Asked, beyond: list[str], timeout: float
) -> Connection:
    """What a response means beside one to a question that can't be answered: the first of these that is refused."""
    found = list[Connection]()
    for question in beyond:
        other, _ = _sent(url, used, question, timeout)
        found.append(_understood(url, used, response, known._replace(other=other or None), question))
        refused = found[-1].refusal or is_exact(found[-1].refused_with)
        if refused or found[-1].same or found[-1].searches or not found[-1].refused_with:
            break  # else it may be one that it should have refused
    return found[-1] if refused else found[0]


def _understood(url: str, used: TargetOptions, response: dict[str, object], known: Asked, beyond: str) -> Connection:
    """What a response means, and the refusal beside it."""
    given, secrets = dict(_given(used)), used.secrets
    claim_path = given.get("claim", given.get("answer", ""))
    proposed = propose(response, claim_path=claim_path, asked=known)
    mapping = given if {"answer_json"} & set(given) else {**proposed, **given}
    searches = "retrieved_ids" in mapping and not {"claim", "answer", "answer_json", "refused"} & set(mapping)
    if not {"claim", "answer", "answer_json", "refused", "retrieved_ids"} & set(mapping) and not OURS & set(response):
        raise UsageError(
            f"nothing in the response reads like an answer; it has {fields_of(response)}",
            where=secrets.hide(url),
            hint="Say which field is the answer: --map claim=PATH. If that is empty, send another --question.",
            code="init-response",
        )
    used = msgspec.structs.replace(used, mapping=mapping)
    fields, answer = _read(used, response)
    if not answer.strip() and not searches and not OURS & set(response) and "refused" not in given:
        raise UsageError(
            f"the answer that was read is empty; the response has {fields_of(response)}",
            where=secrets.hide(url),
            hint="Say where it is: --map claim=PATH.",
            code="init-response",
        )
    rule = load_rule("natural")
    refused, cited = rule.matches(answer, known.question), mapping.get("citations")
    if refused and "citations" not in given and cited == mapping.get("retrieved_ids"):
        mapping.pop("citations", None)  # a refusal cites nothing, so it does not show how citations are written
    claim = _claim_of(used, known.other)
    natural = bool(claim) and not is_exact(claim) and rule.matches(claim, beyond)
    return Connection(
        url=url,
        body=used.body,
        options=used,
        question=known.question,
        response=response,
        mapping=mapping,
        fields=fields,
        refusal="natural" if natural else "",
        refused_with=claim,
        searches=searches,
        same=bool(claim) and secrets.hide(answer) == claim,
        answered=not refused,
        doubt="" if claim_path or refused else doubt(answer, claim, known.question, _texts(fields)),
        rivals=[] if claim_path or searches else rivals(response, known, mapping),
        lacks_claim=known.other is not None and not claim and not searches and not OURS & set(response),
    )


def _texts(fields: Mapping[str, Any]) -> list[str]:
    return [str(one.get("text", "")) for one in fields.get("evidence") or () if isinstance(one, dict)]


def _claim_of(options: TargetOptions, response: Any) -> str:
    """The answer in a response, without secrets: a service may say back what it was sent."""
    try:
        return options.secrets.hide(_read(options, response)[1]) if response else ""
    except UsageError:
        return ""  # what can't be answered may come back in another shape


def find_gold(folder: str) -> str:
    """A gold file that is there already, by its usual names; the starter that nobody has filled in is none."""
    paths = ((name, os.path.join(folder, name)) for name in GOLD)
    return next((name for name, path in paths if os.path.isfile(path) and not _is_starter(path)), "")


def _is_starter(path: str) -> bool:
    with open(path, "rb") as stream:
        return PLACEHOLDER.encode() in stream.read(10_000)


def _questions(gold: str) -> tuple[Gold | None, list[str]]:
    """The first item that can be answered, and the questions that can't, of a gold file that can be read."""
    try:
        items = [one for one in read_gold(gold) if one.question] if gold else []
    except ShipworthyError:
        return None, []
    answerable = next((one for one in items if one.answerable), items[0] if items else None)
    return answerable, [one.question for one in items if one.answerable is False]


def _given(options: TargetOptions) -> Mapping[str, str]:
    given = options.mapping
    return given if isinstance(given, Mapping) else dict(pair.split("=", 1) for pair in given)


def _responses(
    url: str, options: TargetOptions, question: str, timeout: float
) -> Iterator[tuple[dict[str, object], TargetOptions]]:
    """Responses that are answers, and the requests that got them."""
    guessing = options.body is None and not options.query and "{" not in url.replace("${", "")
    waiting, failures = list(_usual(url, options)) if guessing else [options], list[AskFailed]()
    tried: list[object] = []
    most, answered = MOST_REQUESTS, False
    while waiting and len(tried) < most:
        used = waiting.pop(0)
        request = [used.method, used.body, dict(used.query), dict(used.headers)]
        if request in tried:
            continue
        if failures and not options.method and (used.method == "GET") != (failures[0].kind in _NO_POST):
            continue  # a service that takes no POST is asked by GET, and no other is
        tried.append(request)
        response, failed = _sent(url, used, question, timeout)
        failed = failed or _error_in(response)
        if failed is None:
            yield response, used
            most = most if answered else min(MOST_REQUESTS, len(tried) + MOST_OTHERS)
            answered = True
            continue
        if failures and failed.kind in ("unreachable", "reset"):
            continue  # this guess was too much for it; what it said of the others counts
        failures.append(failed)
        takes_get = failed.kind == "http-404" and used.method != "GET" and not options.method
        if not guessing or (failed.kind not in _REFUSED_REQUEST and not answered and not takes_get):
            break
        found = list(_found(failed, used, options))
        if len(failures) == 1:
            found += _described(url, options, timeout)
        if re.search(r"\bmodel\b", failed.seen):
            found += _with_a_model(url, used if _is_built(used.body) else options, timeout)
        waiting = found + waiting
    if answered:
        return
    if failures[0].kind == "http-404" and failures[-1].kind not in _REFUSED_REQUEST:
        failures = failures[:1]
    elif failures[-1].kind in _REFUSED_REQUEST:  # the first that says more than that the method is wrong
        failures = [one for one in failures if one.kind not in _NO_POST][:1] or failures
    raise _no_response(url, options.secrets, failures[-1])


def _usual(url: str, options: TargetOptions) -> Iterator[TargetOptions]:
    """What services commonly take: by POST, then by GET."""
    bodies: list[object] = [{field: _Q} for field in FIELDS]
    bodies = [CHAT, *bodies] if CHAT_PATH.search(url) else [*bodies, CHAT]
    if options.method.upper() != "GET":
        for body in bodies:
            yield msgspec.structs.replace(options, body=body)
    if not options.method or options.method.upper() == "GET":
        for field in FIELDS:
            yield msgspec.structs.replace(options, method="GET", query={field: _Q})


def _found(failed: AskFailed, used: TargetOptions, options: TargetOptions) -> Iterator[TargetOptions]:
    """Requests that have what a service says is missing."""
    if used.method == "GET":
        names = (place[-1] for place in named_missing(failed.seen))
        yield from (msgspec.structs.replace(used, query={name: _Q}) for name in names if name.isidentifier())
    else:
        sent = used.body if isinstance(used.body, dict) else {}
        if any(place[-1] in sent and isinstance(sent[place[-1]], str) for place in named_missing(failed.seen)):
            yield msgspec.structs.replace(used, headers={**used.headers, "Content-Type": FORM})  # it reads no JSON
        yield from (msgspec.structs.replace(options, body=body) for body in _bodies_for(failed.seen, used.body))


def _error_in(response: dict[str, Any]) -> AskFailed | None:
    """An error that comes with status 200: it says so itself, and brings nothing else."""
    if OURS & set(response):
        return None
    code = response.get("code", response.get("status"))
    failed = (type(code) is int and code not in (0, 200)) or str(code).casefold() in ("error", "failed", "failure")
    failed = failed or response.get("success") is False or bool(response.get("error")) or bool(response.get("errors"))
    rest = {"code", "status", "success", "error", "errors", "message", "msg", "detail", "request_id", "id", "type"}
    if not failed or any(value for name, value in response.items() if name not in rest):
        return None
    said = json.dumps({name: value for name, value in response.items() if value}, ensure_ascii=False)
    return AskFailed("error-200", "the response is an error with status 200", shown=visible(said, 200), seen=said)


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


def _sent(
    url: str, options: TargetOptions, question: str, timeout: float
) -> tuple[dict[str, object], AskFailed | None]:
    """What comes back for a question, as it is."""
    target = HttpTarget(url, msgspec.structs.replace(options, mapping={}))
    return run_blocking(_raw(target, question, timeout))


def _read(options: TargetOptions, response: dict[str, object]) -> tuple[dict[str, object], str]:
    """The fields that the mapping picks out of a response, and its claim."""
    from ..reading.values import MapError
    from ..runner.shape import parse_mapping

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
    if kind in _REFUSED_REQUEST and (CHAT_PATH.search(url) or re.search(r"\bmodel\b", failure.what)):
        advice = f"Say what it takes: --body '{json.dumps({'model': 'MODEL', **CHAT})}'."
    elif kind in _REFUSED_REQUEST and re.search("graphql", url + failure.seen, re.IGNORECASE):
        advice = f"It takes GraphQL. Say which query: --body '{GRAPHQL}'."
    elif kind in ("http-400", "http-422") and (named := named_missing(failure.seen)):
        body = json.dumps({named[0][-1]: "{question}"})
        advice = (
            f"A body with {named[0][-1]} was refused too. Give all that its documentation asks for: --body '{body}'."
        )
    elif kind == "redirect":
        advice = _redirected(url, secrets, failure.what.partition(" to ")[2].partition(";")[0])
    elif kind == "bad-json" and "not UTF-8" in failure.what:
        advice = "Let it send UTF-8, or name its charset in Content-Type."
    elif kind == "http-500" or (kind == "error-200" and not named_missing(failure.seen)):
        advice = f"Its log says why. {advice}"
    elif re.fullmatch(r"http-5\d\d", kind):
        advice = "The service is not ready: look at its log, then run this again."
    return UsageError(failure.what, where=secrets.hide(url), hint=advice, code="init-response")


def _redirected(url: str, secrets: Secrets, place: str) -> str:
    """What to do about a redirect: often it adds the slash at the end of the path, or leads to a login."""
    here, there = urlsplit(url), urlsplit(urljoin(secrets.hide(url), place))
    if there.path == here.path and there.netloc == here.netloc:
        return "It redirects to itself: check the path and whether it wants credentials (--header)."
    if here.path.strip("/") and here.path in unquote(there.query):
        return "That is a page to log in: add --header 'Authorization=Bearer ${TOKEN}', or another that it wants."
    return f"Give the URL that it redirects to: --url {visible(there.geturl(), 200)}"


# --- what is written ---


def config_text(found: Connection) -> str:
    """The config as TOML."""
    target = {"url": found.url}
    if found.options.method:
        target["method"] = found.options.method
    lines = ["# What `shipworthy check --run` sends and reads. Every key: docs/config.md", "", "[target]"]
    lines += [f"{name} = {_toml(value)}" for name, value in target.items()]
    lines += [f"timeout_sec = {found.timeout:g}"] if found.timeout != TIMEOUT else []
    for name, table in (("query", found.options.query), ("headers", found.options.headers)):
        lines += [f"{name} = {_inline(table)}"] if table else []
    if found.body is not None:
        body = found.body if isinstance(found.body, str) else json.dumps(found.body, ensure_ascii=False)
        lines.append(f"body = {_toml(body)}")
    if found.mapping:
        lines += ["", "[map]", *(f"{name} = {_toml(path)}" for name, path in found.mapping.items())]
    suite, traces = ("retrieval", "run") if found.searches else ("answers", "trace")
    lines += ["", f"[suites.{suite}]", f"gold = {_toml(found.gold or GOLD[0])}", f"{traces} = {_toml(TRACE)}"]
    if found.searches:
        return "\n".join([*lines, 'target = "target"  # it retrieves and does not answer']) + "\n"
    lines += _declared(found)
    if found.id_map:
        lines.append(f"id_map = {_toml(found.id_map)}  # it names its sources otherwise than {found.gold} does")
    if found.refusal:
        said = re.sub(r"\s+", " ", visible(found.refused_with, 80))
        lines.append(f"refusal = {_toml(found.refusal)}  # it refuses in its own words: {said}")
    elif found.fixed:
        lines.append(f"refusal_phrases = {_toml(PHRASES)}  # it says the same to whatever it can't answer")
    return "\n".join(lines) + "\n"


def _declared(found: Connection) -> list[str]:
    """What the service does not give, where the suite can be told so: it is judged on the rest."""
    known, got = fields_of_options(load_suite("answers").options), {**found.response, **found.mapping}
    lacking = {"cites": "citations", "logs_retrieval": "retrieved_ids"} if found.answered and not found.searches else {}
    said = {"cites": "it was not seen to cite", "logs_retrieval": "it does not say what it retrieved"}
    return [
        f"{name} = false  # {said[name]}"
        for name, field in lacking.items()
        if name in known and field not in got and not OURS & set(found.response)
    ]


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
    if found.fixed:
        phrase = re.sub(r"\s+", " ", found.refused_with).strip()
        lines = f"# What the service says when it refuses, one wording a line.\n{phrase}\n"
        phrases = os.path.join(folder, PHRASES)
        written.append((phrases, create_new(phrases, lines.encode("utf-8", "backslashreplace"))))
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


# --- the body or the query that a service takes, found by what it describes and by what it says is missing ---

FIELDS = ("question", "query", "q", "input", "prompt", "message", "text")
CHAT = {"messages": [{"role": "user", "content": "{question}"}]}
GRAPHQL = '{"query": "query($q: String!) { FIELD(question: $q) { answer } }", "variables": {"q": "{question}"}}'
CHAT_PATH = re.compile(r"/(chat/)?completions/?$|/chat/?$")
_Q = "{question}"
_QUESTION = re.compile(r"quer|question|prompt|input|message|utterance|ask|search|content|text|^q$", re.IGNORECASE)
_LOC = re.compile(r"""["']loc["']\s*:\s*[\[(]([^\])]*)[\])]""")
_NAMES = (
    r"""["'](\w+)["'] (?:is|must|failed|can|should|parameter)""",
    r"""Either ["'](\w+)["'] or ["'](\w+)["']""",
    r"([A-Z]\w+ \w+) (?:is|are) (?:required|missing)",
    r"([\w.]*\w) (?:is|are) (?:a )?(?:required|missing|mandatory)",
    r"(\w+) (?:is|are) not (?:specified|given|provided|set)",
    r"""(?:field|parameter|property|argument)(?: called| named)? ["'`](\w+)["'`]""",
    r"""["']pointer["']\s*:\s*["']/([\w/]+)["']""",
    r"(?:required|missing)[\w ]*: *[\"']?(\w+(?:-\w+)*)",
    r"(\w+): [Ff]ield required",
    r"""["']field_errors["']\s*:\s*\{\s*["'](\w+)""",
    r"(?:provide|specify|send) (?:a|an|the) ([\w ]+?)(?: parameter| field|[.\"]|$)",
    r"[Nn]o ([\w ]+?) (?:received|given|provided|found)",
)
_DEEPEST = 6


def named_missing(error: str) -> list[tuple[str, ...]]:
    """Where the fields are that an error says are missing, outermost name first; `query:` marks those of the URL."""
    places = [tuple(re.findall(r"[\w.-]+", found)) for found in _LOC.findall(error.replace('\\"', '"'))]
    if places:
        outer = [
            ("query:", *place[1:]) if place[0] == "query" and len(place) > 1 else place for place in places if place
        ]
        return list(
            dict.fromkeys(place[1:] if place[0] == "body" else place for place in outer if place[-1:] != ("body",))
        )
    if keyed := _keyed_by_field(json_in_cell(error)):
        return [(name,) for name in keyed]
    words = [word for pattern in _NAMES for found in re.findall(pattern, error) for word in _each(found)]
    spelled = [form for word in words for form in ([word] if " " not in word else [word.replace(" ", "_").lower()])]
    named = [name for name in dict.fromkeys(spelled) if name.lower() not in _PROSE]
    return [tuple(re.split(r"[./]", name)) for name in named or _quoted(json_in_cell(error))]


def _keyed_by_field(said: Any) -> list[str]:
    """Fields under which an error lists what is wrong with each: `{"errors": {"q": ["is required"]}}`."""
    for steps, part in walk(said):
        fields = part if isinstance(part, dict) and (steps or len(part) == 1) else {}
        if fields and all(isinstance(one, list) and " " in str(one[:1]) for one in fields.values()):
            return [name for name in fields if name.isidentifier()]
    return []


def _quoted(said: Any) -> list[str]:
    """What an error puts in quotation marks, in any language: a field, if it is a word."""
    texts = [text for _, text in walk(said) if isinstance(text, str)]
    marks = r"""["'`«‹“„‚‘「『]\s?([^\W\d]\w*)\s?["'`»›”“’‘」』]"""
    return [name for text in texts for name in re.findall(marks, text) if name.lower() not in _PROSE][:3]


_PROSE = {
    "field",
    "value",
    "it",
    "body",
    "json",
    "request",
    "argument",
    "arguments",
    "parameter",
    "member",
    "api",
    "key",
}


def _bodies_for(error: str, sent: object) -> Iterator[object]:
    """Bodies that have what the error names, built upon what was sent where that had some of it already."""
    places = [place for place in named_missing(error) if place and place[0] != "query:"]
    wanted = [place for place in places if place[-1] != "model"]
    if not wanted:
        return
    kept: Any = sent if isinstance(sent, dict) and _is_built(sent) else {}
    body: Any = dict(kept)
    for place in wanted:
        if all(re.fullmatch(r"\w+(-\w+)*", name) for name in place):
            body = _with(body, place, _value(place[-1], _QUESTION.search(place[-1]) is not None or not _asks(body)))
    if _asks(body):
        yield body
    for place in wanted[:3]:
        if len(place) == 1 and place[0] != "messages":
            name = place[0]
            yield from ({**kept, name: form} for form in ({"text": _Q}, {name: _Q}, [{"input": _Q}], [_Q]))


def _described(url: str, options: TargetOptions, seconds: float) -> Iterator[TargetOptions]:
    """Requests by the service's own description at /openapi.json."""
    parts, sink = urlsplit(url), io.BytesIO()
    try:
        status, _ = fetch(f"{parts.scheme}://{parts.netloc}/openapi.json", sink, min(seconds, 5.0))
        api = json.loads(sink.getvalue()) if status == 200 else {}
    except (RequestFailed, ShipworthyError, ValueError, RecursionError, OSError):
        return
    paths = api.get("paths") if isinstance(api, dict) else None
    operations = paths.get(parts.path) or paths.get(parts.path.rstrip("/")) if isinstance(paths, dict) else None
    for method, operation in operations.items() if isinstance(operations, dict) else ():
        if isinstance(operation, dict) and options.method.upper() in ("", method.upper()):
            yield from _of_operation(method.upper(), operation, api, options)


def _with_a_model(url: str, options: TargetOptions, seconds: float) -> Iterator[TargetOptions]:
    """The first of the models that stand beside a chat endpoint, at …/models."""
    path = CHAT_PATH.sub("/models", urlsplit(url).path)
    if not path.endswith("/models") or _at(options.body, "model"):
        return
    place = options.secrets.filled(urlsplit(url)._replace(path=path, query="").geturl(), "--url")
    status, _, raw = ask("GET", place, None, headers_from(options.headers, options.secrets), min(seconds, 5.0))
    models = _at(json_in_cell(raw.decode("utf-8", "replace")), "data") if status == 200 else None
    name = _at(models[0], "id") if isinstance(models, list) and models else None
    if isinstance(name, str):
        yield msgspec.structs.replace(options, body={"model": name, **(options.body or CHAT)})


def _of_operation(
    method: str, operation: Mapping[str, Any], api: Mapping[str, Any], options: TargetOptions
) -> Iterator[TargetOptions]:
    content = _at(operation, "requestBody", "content", "application/json", "schema")
    if isinstance(content, dict):
        body = _example(content, api, "", 0)
        if isinstance(body, dict) and body:
            asks = body if _asks(body) else body | {_best(body): _Q}
            yield msgspec.structs.replace(options, method="" if method == "POST" else method, body=asks)
    parameters = operation.get("parameters")
    names = [
        one["name"] for one in parameters or () if isinstance(one, dict) and one.get("in") == "query" and "name" in one
    ]
    if names and not content:
        yield msgspec.structs.replace(options, method=method, query={_best(names): _Q})


def _example(schema: Mapping[str, Any], api: Mapping[str, Any], name: str, depth: int) -> Any:
    """A value that a schema accepts, with the question where it belongs."""
    if isinstance(ref := schema.get("$ref"), str):
        inner = _at(api, *ref.removeprefix("#/").split("/"))
        return _example(inner, api, name, depth + 1) if isinstance(inner, dict) and depth < _DEEPEST else {}
    for key in ("default", "const"):
        if schema.get(key) is not None and not _QUESTION.search(name):
            return schema[key]
    kind, properties = schema.get("type"), schema.get("properties")
    if isinstance(properties, dict) and properties and depth < _DEEPEST:
        required = schema.get("required")
        needed = required if isinstance(required, list) and required else [_best(properties)]
        return {
            one: _example(properties[one], api, one, depth + 1)
            for one in needed
            if isinstance(properties.get(one), dict)
        }
    if kind == "array":
        return CHAT["messages"] if name == "messages" else []
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return False
    return _value(name, _QUESTION.search(name) is not None) if kind == "string" else {}


def _value(name: str, asks: bool) -> Any:
    if name == "messages":
        return CHAT["messages"]
    known = {"stream": False, "max_tokens": 300, "temperature": 0, "top_k": 5, "k": 5}
    return known.get(name, _Q if asks else "shipworthy")


def _with(body: Any, place: tuple[str, ...], value: Any) -> Any:
    """The body with a value at a place in it."""
    if not place:
        return value
    if place[0].isdigit():
        return [_with(body[0] if isinstance(body, list) and body else {}, place[1:], value)]
    return {
        **(body if isinstance(body, dict) else {}),
        place[0]: _with(body.get(place[0]) if isinstance(body, dict) else {}, place[1:], value),
    }


def _asks(body: object) -> bool:
    return _Q in json.dumps(body)


def _is_built(body: Mapping[str, Any]) -> bool:
    """Whether a body was made from what a service said, rather than one that was tried at first."""
    return len(body) > 1 or next(iter(body), "") not in (*FIELDS, "messages")


def _best(names: Iterable[str]) -> str:
    listed = list(names)
    return min(
        listed,
        key=lambda one: (one not in FIELDS, FIELDS.index(one) if one in FIELDS else 0, not _QUESTION.search(one)),
    )


def _each(found: str | tuple[str, ...]) -> Iterable[str]:
    return [found] if isinstance(found, str) else [one for one in found if one]


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
