"""Templates: a request as JSON whose texts may hold {question}, {qid}, {seed}, {temperature} and {history}.

Placeholders are filled in the parsed tree, never by pasting text: a question can't change what the JSON means. A text
that is one placeholder and nothing else becomes the value itself: a number, a list or null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import UsageError
from ..reading.strict import Refused, strict_json
from ..text import visible
from .plan import Ask

NAMES = ("question", "qid", "seed", "temperature", "history")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HINT = f"Placeholders are {', '.join(f'{{{name}}}' for name in NAMES)}; a literal brace is written twice."


def parse_body(given: object, where: str = "--body") -> object:
    """A body template, checked: JSON text, @FILE, or the parsed tree of a config."""
    tree = given
    if isinstance(given, str):
        text = _file(given[1:], where) if given.startswith("@") else given.encode("utf-8", "surrogatepass")
        try:
            tree = strict_json(text)
        except Refused as refusal:
            raise UsageError(
                refusal.what,
                where=where,
                hint="""Write it like '{"question": "{question}"}'.""",
                code="body-json",
            ) from None
    check(tree, where)
    return tree


def check(tree: object, where: str) -> None:
    """Refuse a placeholder that does not exist."""
    for text in texts_in(tree):
        for match in _PLACEHOLDER.finditer(text):
            if match[1] and match[1] not in NAMES:
                raise UsageError(
                    f"there is no placeholder {match[0]}", where=where, hint=_HINT, code="body-placeholder"
                )


def asks_question(*trees: object) -> bool:
    """Whether the question goes out with a request made from these."""
    names = {match[1] for text in texts_in(list(trees)) for match in _PLACEHOLDER.finditer(text)}
    return bool(names & {"question", "history"})


def texts_in(tree: object) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    if isinstance(tree, Mapping):
        return [text for value in tree.values() for text in texts_in(value)]  # keys are literal
    return [text for value in tree for text in texts_in(value)] if isinstance(tree, list) else []


def fill(tree: object, ask: Ask) -> object:
    """The template with an Ask's values in it."""
    return _filled(tree, {name: getattr(ask, name) for name in NAMES})


def _filled(tree: object, values: Mapping[str, object]) -> object:
    if isinstance(tree, str):
        whole = _PLACEHOLDER.fullmatch(tree)
        if whole and whole[1]:
            return values[whole[1]]
        if "{{" not in tree and not any(match[1] for match in _PLACEHOLDER.finditer(tree)):
            return tree  # nothing to fill: }} closes what a query of GraphQL opened
        return _PLACEHOLDER.sub(lambda match: _written(match, values), tree)
    if isinstance(tree, Mapping):
        return {name: _filled(value, values) for name, value in tree.items()}
    return [_filled(value, values) for value in tree] if isinstance(tree, list) else tree


def _written(match: re.Match[str], values: Mapping[str, object]) -> str:
    if not match[1]:
        return match[0][0]
    value = values[match[1]]
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _file(path: str, where: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"can't be read: {error.strerror}", where=visible(path), hint=f"Check {where}.", code="no-file"
        ) from None
