"""Every key that a config file may have: what it takes and what it means; the JSON Schema is made from the same tables."""

from __future__ import annotations

from typing import Any, NamedTuple


class Key(NamedTuple):
    """What a key takes: text, path, flag, whole, number, numbers, words, texts (name → text), gates, day, table."""

    kind: str
    says: str
    choices: tuple[str, ...] = ()
    required: bool = False


GATE = {
    "gate": Key("text", "The gate, such as precision >= 0.80.", required=True),
    "severity": Key(
        "text", "What a miss does: block stops the ship, warn and info only show it.", ("block", "warn", "info")
    ),
    "on_unproven": Key("text", "Whether a gate that is met without proof holds.", ("pass", "fail")),
}

_COMMON = {
    "gates": Key("gates", "Gates of this suite, each a text or a table with gate, severity and on_unproven."),
    "only_gates": Key("flag", "Decide by the gates named here alone, without the suite's own."),
    "require_proof": Key("flag", "A gate that is met without proof does not hold."),
    "offenders": Key("whole", "How many offenders the report shows."),
}
_READING = {
    "lenient": Key("flag", "Skip bad lines, and say that the decision rests on partial data."),
    "profile": Key("text", "The definitions in force.", ("strict", "reference")),
}
_ANSWERS = {
    "min_substr": Key("whole", "Shortest gold substring that counts."),
    "closed": Key("flag", "A trace for a question that the gold set does not have is an error."),
    "refusal": Key("text", "What counts as a refusal: the token alone, or natural wordings too.", ("exact", "natural")),
    "refusal_phrases": Key("path", "Further refusal wordings, one a line."),
    "id_map": Key("text", "How trace ids map to gold ids: names such as drop-extension,casefold, or a file."),
}
_DRIVEN = {
    "target": Key("text", "The [targets.NAME] that `check --run` asks to write the traces first."),
    "seeds": Key("numbers", "Seeds to ask with."),
    "jitters": Key("words", "Rewordings to ask with: none, ws, punct, syn, order, para."),
    "paraphrases": Key("flag", "Ask each paraphrase of the gold set too."),
}
_GOLD = Key("path", "The gold set, JSON lines.", required=True)

# suite → its inputs: what it is judged on
INPUTS: dict[str, dict[str, Key]] = {
    "answers": {
        "gold": _GOLD,
        "trace": Key("path", "Traces, JSON lines, one run a line.", required=True),
        "chunks": Key("path", "Texts of the chunks (id, text), to see whether citations support claims."),
    },
    "stability": {"gold": _GOLD, "runs": Key("path", "Runs of every question under seeds and jitters.", required=True)},
    "retrieval": {
        "gold": _GOLD,
        "shadow": Key("path", "The log of the index under test.", required=True),
        "live": Key("path", "The log of the index in use, to compare with."),
        "sections": Key("path", "Sections by id, where the ids don't tell."),
        "texts": Key("path", "Texts by id, to compute distances that the log does not have."),
    },
    "latency": {
        "gold": _GOLD,
        "trace": Key("path", "Timed traces of one or more arms.", required=True),
        "baseline": Key("path", "An earlier latency report to hold this one against."),
    },
    "agreement": {
        "pairs": Key("path", "Rows with both validators' labels."),
        "scholar": Key("path", "The first validator's labels, to be joined with the auditor's."),
        "auditor": Key("path", "The second validator's labels."),
        "gold": Key("path", "Gold set, to derive both labels by rule."),
        "trace": Key("path", "Traces, to derive both labels by rule or to see the answers."),
    },
    "reasoning": {
        "fixture": Key("path", "The fixture with the cases; the bundled one where absent."),
        "answers": Key("path", "Recorded answers, JSON lines, one case a line.", required=True),
    },
    "outcomes": {
        "outcomes": Key("path", "What people did with the answers, JSON lines.", required=True),
        "report": Key("path", "An evaluation report to join with."),
    },
}

# suite → its options: how it judges
OPTIONS: dict[str, dict[str, Key]] = {
    "answers": {
        **_COMMON, **_READING, **_ANSWERS, **_DRIVEN,
        "k": Key("numbers", "Depth of recall@k: one number or a list."),
        "scu_enforced": Key("flag", "Constraints count: in precision, and as a gate."),
        "on_duplicate": Key("text", "Which of several traces of a question counts.", ("last", "first", "worst", "error")),
        "by": Key("words", "Fields of the gold item to report by, such as type."),
    },
    "stability": {
        **_COMMON, **_READING, **_ANSWERS, **_DRIVEN,
        "max_fail_rate": Key("number", "Share of questions that may fail."),
        "by": Key("words", "Fields of the gold item to report by, such as type."),
        "sweep": Key("text", "The sweep to score where the file has several."),
        "arm": Key("text", "The arm to score where the file has several."),
    },
    "retrieval": {
        **_COMMON, **_READING,
        "k": Key("numbers", "Depths of precision@k and recall@k."),
        "by": Key("words", "Fields of the gold item to report by."),
        "preset": Key("text", "The choices of another tool.", ("native", "trec", "trec-c")),
        "match": Key("text", "What makes a block relevant.", ("ids", "offsets", "text")),
        "min_overlap": Key("number", "Share of a gold range that a block must cover when offsets are matched."),
        "denominator": Key("text", "What precision@k divides by.", ("returned", "k")),
        "order": Key("text", "What ranks the blocks.", ("list", "score")),
        "ties": Key("text", "How equal scores are ordered.", ("list", "docid_desc")),
        "duplicates": Key("text", "What a repeated id does.", ("first", "occupy_slot", "error")),
        "missing_query": Key("text", "What a question without a log line counts as.", ("zero", "skip", "error")),
        "no_relevant": Key("text", "What a question without relevant blocks counts as.", ("skip", "zero", "error")),
        "recall": Key("text", "What recall@k counts.", ("fraction", "all", "any")),
        "rel_level": Key("whole", "Grade from which a block is relevant."),
        "depth": Key("whole", "How many ranks are looked at."),
        "window": Key("whole", "Bytes by which a gold range is widened on each side."),
        "offset_match": Key("text", "When a citation hits a range.", ("overlap", "contained", "endpoints")),
        "embedder": Key("text", "What makes ΔS where the log has none.", ("precomputed", "lexical", "http", "local")),
        "embed_url": Key("text", "Address of the http embedder."),
        "embed_model": Key("text", "Model of the http embedder."),
        "embed_key_env": Key("text", "Name of the variable that holds the key of the http embedder."),
        "embed_cache": Key("text", "File that keeps embeddings by text digest."),
    },
    "latency": {
        **_COMMON, **_ANSWERS,
        "lenient": _READING["lenient"],
        "k": Key("numbers", "Depth of recall@k: one number or a list."),
        "scu_enforced": Key("flag", "Constraints count: in precision, and as a gate."),
        "budget_ms": Key("number", "The p95 budget in milliseconds."),
        "relaxed_budget_ms": Key("number", "The budget for batch work."),
        "arms": Key("words", "Arms that must have traces."),
        "arm": Key("text", "The arm to decide about."),
        "sweep": Key("text", "The sweep to score where the file has several."),
    },
    "agreement": {**_COMMON, **_READING, "min_substr": _ANSWERS["min_substr"]},
    "reasoning": {
        **_COMMON,
        "profile": Key("text", "What is checked, or how it is laid out.", ("grounded", "signals")),
        "case_min_overall": Key("number", "Score from which a case passes."),
        "suite_min_pass_rate": Key("number", "Share of cases that must pass."),
        "max_cases": Key("whole", "Judge only the first so many cases."),
        "fail_on_errors": Key("flag", "A case that ended in an error stops the ship."),
    },
    "outcomes": {
        **_COMMON,
        "min_samples": Key("whole", "Fewest different rows."),
        "min_accept_rate": Key("number", "Least share of answers that were taken without edits."),
        "min_action_rate": Key("number", "Least share of answers that somebody acted on."),
        "min_useful_rate": Key("number", "Least share of answers called useful, among rows that say."),
        "require_useful": Key("flag", "The useful rate must be there to be judged."),
    },
}  # fmt: skip

TARGET = {
    "url": Key("text", "An HTTP endpoint: POST one JSON object, get one back."),
    "chat": Key("text", "An OpenAI-compatible chat endpoint."),
    "cmd": Key("text", "A command, started once a question."),
    "py": Key("text", "A Python function, package.module:function."),
    "replay": Key("path", "A trace file whose traces are given again."),
    "demo": Key("text", "The embedded pipeline, with faults separated by commas, or an empty text."),
    "headers": Key("texts", "Sent with each request; ${NAME} is filled in from the environment and never written."),
    "map": Key("texts", 'Where a field stands in the answer: claim = "data.answer.text".'),
    "model": Key("text", "Model of a chat target."),
    "concurrency": Key("whole", "Questions asked at a time."),
    "rate": Key("number", "Requests per second at most."),
    "timeout_sec": Key("number", "For one attempt, to the last byte."),
    "retries": Key("whole", "On 429, 5xx and lost connections."),
}
TARGET_KINDS = ("url", "chat", "cmd", "py", "replay", "demo")

WAIVER = {
    "gate": Key("text", "The gate's name: precision, precision[type=table], or answers:precision.", required=True),
    "owner": Key("text", "Who answers for it.", required=True),
    "reason": Key("text", "Why it may be missed for now.", required=True),
    "expires": Key("day", "The last day on which it holds: 2026-12-31.", required=True),
}

# one-off tables of the file
SECTIONS: dict[str, dict[str, Key]] = {
    "history": {
        "url": Key("text", "SQLite file or postgresql:// URL; ${NAME} is filled in from the environment."),
        "record": Key("flag", "Whether `check` records its runs. True where absent."),
    },
    "baseline": {
        "name": Key("text", "The blessed baseline that `check` compares with."),
        "on_regression": Key("text", "What a regression against it does.", ("block", "warn")),
    },
    "controls": {"run": Key("flag", "Run the known-good and known-bad controls through these gates.")},
    "refusal": {
        "rule": Key("text", "What counts as a refusal in every suite that does not say.", ("exact", "natural")),
        "phrases": Key("path", "Further refusal wordings, one a line."),
    },
    "contradiction": {
        "rules": Key("path", "Extra rules for the contradiction check of the answers suite, a TOML file.")
    },
}


def schema() -> dict[str, Any]:
    """The JSON Schema of a config file, for editors."""
    suites = {name: _object({**INPUTS[name], **OPTIONS[name]}) for name in INPUTS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shipworthy.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "suites": {"type": "object", "additionalProperties": False, "properties": suites},
            "targets": {"type": "object", "additionalProperties": _object(TARGET)},
            "waivers": {"type": "array", "items": _object(WAIVER)},
            **{name: _object(keys) for name, keys in SECTIONS.items()},
        },
    }


def _object(keys: dict[str, Key]) -> dict[str, Any]:
    required = [name for name, key in keys.items() if key.required]
    properties = {name: _property(key) for name, key in keys.items()}
    shown: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return shown | ({"required": required} if required else {})


def _property(key: Key) -> dict[str, Any]:
    shapes: dict[str, dict[str, Any]] = {
        "text": {"type": "string"}, "path": {"type": "string"}, "flag": {"type": "boolean"},
        "whole": {"type": "integer", "minimum": 0}, "number": {"type": "number", "minimum": 0},
        "numbers": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "words": {"type": "array", "items": {"type": "string"}},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
        "day": {"type": "string", "format": "date"},
    }  # fmt: skip
    if key.kind == "gates":
        shape = {"type": "array", "items": {"anyOf": [{"type": "string"}, _object(GATE)]}}
    else:
        shape = shapes[key.kind]
    chosen = {"enum": list(key.choices)} if key.choices else {}
    return {**shape, **chosen, "description": key.says}
