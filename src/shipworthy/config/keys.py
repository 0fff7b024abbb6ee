"""Every key that a config file may have, what it takes and what it means; the JSON Schema is made from the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ..core.custom import CALIBRATION, KEYS
from ..core.options import Field, fields_of
from ..core.run_options import run_fields
from ..engines import SETTINGS
from ..suites import SUITES, load_suite


class Key(NamedTuple):
    """What a key takes: text, path, flag, whole, number, numbers, words, texts (name → text), template, gates, day."""

    kind: str
    says: str
    choices: tuple[str, ...] = ()
    required: bool = False
    least: int = 0  # of whole numbers


GATE = {
    "gate": Key("text", "The gate, such as precision >= 0.80.", required=True),
    "severity": Key(
        "text", "What a miss does: block stops the ship, warn and info only show it.", ("block", "warn", "info")
    ),
    "on_unproven": Key("text", "Whether a gate passes that is met but not statistically certain.", ("pass", "fail")),
}


def _keys(fields: Mapping[str, Field]) -> dict[str, Key]:
    """Those of the declared options that a config may set."""
    kinds = {"amount": "number", "mapping": "texts"}
    return {
        field.key: Key(
            "path" if field.opt.metavar == "FILE" else kinds.get(field.kind, field.kind),
            field.opt.help.removesuffix(" Repeatable."),
            field.choices,
            least=field.opt.least or 0,
        )
        for field in fields.values()
        if field.opt.config
    }


DRIVING = {
    "target": Key("text", "The [targets.NAME] that `check --run` sends the questions to; else [target]."),
    **_keys(run_fields("grid")),
}


@cache
def inputs_of(suite: str) -> dict[str, Key]:
    """What a suite is judged on."""
    return {spec.name: Key("path", spec.help, required=spec.required) for spec in load_suite(suite).inputs}


@cache
def options_of(suite: str) -> dict[str, Key]:
    """How a suite judges, and how its traces are made first where a target can make them."""
    loaded = load_suite(suite)
    return _keys(fields_of(loaded.options)) | (DRIVING if any(spec.driven for spec in loaded.inputs) else {})


def configurable() -> list[str]:
    """The suites that a config may name."""
    return [name for name in SUITES if load_suite(name).configurable]


# What a target is: one of these.
KINDS = {
    "url": Key("text", "An HTTP endpoint: send one question, get one JSON object or a stream of events back."),
    "chat": Key("text", "An OpenAI-compatible chat endpoint."),
    "cmd": Key("text", "A command, started once a question."),
    "py": Key("text", "A Python function, package.module:function."),
    "replay": Key("path", "A trace file whose traces are given again."),
    "demo": Key("text", "The embedded pipeline, with faults separated by commas, or an empty text."),
}
ASKING = _keys(run_fields("request", "target", "limits")) | {
    "map": Key("texts", "As [map], for this target's responses alone.")
}
TARGET = KINDS | ASKING
METRIC = {name: Key(key.kind, key.says, key.choices) for name, key in KEYS.items()}
CALIBRATED = {
    name: Key(key.kind, key.says, required=name == "labels", least=int(name == "items"))
    for name, key in CALIBRATION.items()
}
MAP = 'Where fields are in responses, traces and gold: claim = "answer", retrieved_ids = "sources[*].id".'

DOCS = "Documents that gold sets' places are in: questions whose evidence changed count as missing data."

WAIVER = {
    "gate": Key("text", "The gate's name: precision, precision[type=table], or answers:precision.", required=True),
    "owner": Key("text", "Who answers for it.", required=True),
    "reason": Key("text", "Why it may be missed for now.", required=True),
    "expires": Key("day", "The last day on which it is valid: 2026-12-31.", required=True),
}

QUARANTINE = {
    "qid": Key("text", "The question.", required=True),
    "owner": WAIVER["owner"],
    "reason": Key("text", "Why it may fail for now.", required=True),
    "expires": WAIVER["expires"],
}

# one-off tables of the file
SECTIONS: dict[str, dict[str, Key]] = {
    "history": {
        "url": Key("text", "SQLite file or postgresql:// URL; ${NAME} is filled in from the environment."),
        "record": Key("flag", "Whether `check` records its runs. True where absent."),
        "texts": Key(
            "text",
            "Which answers are kept beside each run's results: failing where absent. Reports have them all.",
            ("none", "failing", "all"),
        ),
        "author": Key("flag", "Whether a run keeps the name of its commit's author. False where absent."),
    },
    "baseline": {
        "name": Key("text", "The baseline that `check` compares with: a report file (.json), or a name."),
        "on_incomparable": Key("text", "What a baseline that can't be compared with does.", ("no-verdict", "warn")),
        "on_regression": Key("text", "What a regression against it does.", ("block", "warn")),
    },
    "engine": {"memory_limit": Key("text", SETTINGS["memory_limit"])},
    "controls": {"run": Key("flag", "Run the known-good and known-bad controls through these gates.")},
    "refusal": {
        "rule": Key("text", "What counts as a refusal in every suite that does not say.", ("exact", "natural")),
        "phrases": Key("path", "Further refusal wordings, one a line."),
    },
    "contradiction": {
        "rules": Key("path", "Extra rules for the contradiction check of the answers suite, a TOML file.")
    },
}


def schema() -> dict[str, object]:
    """The JSON Schema of a config file, for editors."""
    suites = {name: _object({**inputs_of(name), **options_of(name)}) for name in configurable()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shipworthy.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "suites": {"type": "object", "additionalProperties": False, "properties": suites},
            "target": _object(TARGET),
            "docs": {"type": "string", "description": DOCS},
            "map": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]
                },
                "description": MAP,
            },
            "targets": {"type": "object", "additionalProperties": _object(TARGET)},
            "metrics": {"type": "object", "additionalProperties": _metric()},
            "waivers": {"type": "array", "items": _object(WAIVER)},
            "quarantine": {"type": "array", "items": _object(QUARANTINE)},
            **{name: _object(keys) for name, keys in SECTIONS.items()},
        },
    }


def _metric() -> dict[str, object]:
    table = _object(METRIC)
    properties: dict[str, object] = {**{name: _property(key) for name, key in METRIC.items()}}
    return table | {"properties": properties | {"calibration": _object(CALIBRATED)}}


def _object(keys: dict[str, Key]) -> dict[str, object]:
    required = [name for name, key in keys.items() if key.required]
    properties = {name: _property(key) for name, key in keys.items()}
    shown: dict[str, object] = {"type": "object", "additionalProperties": False, "properties": properties}
    return shown | ({"required": required} if required else {})


def _property(key: Key) -> dict[str, object]:
    shapes: dict[str, dict[str, object]] = {
        "text": {"type": "string"},
        "path": {"type": "string"},
        "flag": {"type": "boolean"},
        "whole": {"type": "integer", "minimum": key.least},
        "number": {"type": "number", "minimum": 0},
        "real": {"type": "number"},
        "numbers": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "words": {"type": "array", "items": {"type": "string"}},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
        "template": {"type": ["string", "object", "array"]},
        "day": {"type": "string", "format": "date"},
    }
    if key.kind == "gates":
        shape: dict[str, object] = {"type": "array", "items": {"anyOf": [{"type": "string"}, _object(GATE)]}}
    else:
        shape = shapes[key.kind]
    chosen = {"enum": list(key.choices)} if key.choices else {}
    return {**shape, **chosen, "description": key.says}
