"""Messages: the question and the answer inside the many shapes in which frameworks pass them around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..reading.proposal import CITED_NAMES, CLAIM_NAMES
from .documents import document_list
from .values import loosened

QUESTION_KEYS = ("question", "query", "q", "user_input", "input", "prompt", "user_query", "query_str", "contents")
_WRAPPERS = ("kwargs", "inputs", "data", "query_bundle", "item", "vars", "request")
_NOT_A_QUESTION = ("id", "qid", "session_id", "user_id", "thread_id", "conversation_id", "model", "role", "type")
_ASKERS = ("user", "human")
_SPEAKERS = ("assistant", "ai", "model", "aimessagechunk")
DEEPEST = 6  # objects inside each other that are looked into


class Picked(NamedTuple):
    """A text that was found, the object in which it stands, and whether the place had to be guessed."""

    text: str
    holder: Mapping[str, Any] | None = None
    guessed: str = ""


def question_in(value: object, depth: int = 0) -> Picked | None:
    """The question in what a step was given."""
    value = _unwrapped(loosened(value))
    if isinstance(value, str):
        return Picked(value) if value.strip() else None
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return _last_said(value, _ASKERS) or (question_in(value[0], depth + 1) if _single(value) else None)
    if not isinstance(value, Mapping):
        return None
    if (said := _last_said([value], _ASKERS)) or (said := _last_said(value.get("messages"), _ASKERS)):
        return said
    for key in (*QUESTION_KEYS, *_WRAPPERS):
        if value.get(key) is not None and (picked := question_in(value[key], depth + 1)):
            return picked._replace(holder=value)
    return _guessed_question(value, depth)


def _guessed_question(value: Mapping[str, object], depth: int) -> Picked | None:
    """The only text, or the one question that the components of a pipeline share."""
    if isinstance(args := value.get("args"), list) and _single(args) and (picked := question_in(args[0], depth + 1)):
        return picked._replace(guessed="question: the only argument")
    if "role" in value or "messages" in value:
        return None
    parts = [part for part in value.values() if isinstance(part, Mapping)]
    picks = [picked for part in parts if (picked := question_in(part, depth + 1))]
    if picks:
        differ = len({picked.text for picked in picks}) > 1
        return picks[0]._replace(guessed="question: the first of several" if differ else picks[0].guessed)
    texts = [text for key, text in value.items() if isinstance(text, str) and key not in _NOT_A_QUESTION]
    return Picked(texts[0], value, "question: the only text") if _single(texts) and texts[0].strip() else None


def answer_in(value: object, depth: int = 0) -> Picked | None:
    """The answer in what a step gave back; the object that held it may hold citations too."""
    text = value if isinstance(value, str) else None
    value = _unwrapped(loosened(value))
    if isinstance(value, str):
        return Picked(value) if value.strip() else None
    if depth > DEEPEST:
        return None
    picked = _answer_inside(value, depth)
    if picked is None and text is not None and not depth and _is_own_object(value):
        return Picked(text, None, "answer: an object, unchanged")
    return picked


def _is_own_object(value: object) -> bool:
    """An object of the user's own: neither a question, a message, nor what was retrieved."""
    if not isinstance(value, Mapping) or any(key in value for key in (*QUESTION_KEYS, "role", "messages")):
        return False
    return bool(value) and document_list(value) is None


def _answer_inside(value: object, depth: int) -> Picked | None:
    if isinstance(value, list):
        if any(_role(entry) for entry in value):
            return _last_said(value, _SPEAKERS)
        several = len(value) > 1 and not depth  # a list of ids or texts is no answer; a list of replies has a name
        return answer_in(value[0], depth + 1) if value and not several else None
    if not isinstance(value, Mapping):
        return None
    if role := _role(value):
        return _last_said([value], _SPEAKERS) if role in _SPEAKERS else None
    if said := _last_said(value.get("messages"), _SPEAKERS):
        return said._replace(holder=value)
    for key in CLAIM_NAMES:
        if value.get(key) is not None and (picked := answer_in(value[key], depth + 1)):
            return picked if picked.holder is not None and _cites(picked.holder) else picked._replace(holder=value)
    parts = [part for part in value.values() if isinstance(part, Mapping)]
    picks = [picked for part in parts if (picked := answer_in(part, depth + 1))]
    if not picks:
        return None
    differ = len({picked.text for picked in picks}) > 1
    return picks[-1]._replace(guessed="answer: the last of several") if differ else picks[0]


def _cites(holder: Mapping[str, object]) -> bool:
    return any(holder.get(key) is not None for key in CITED_NAMES)


def _last_said(messages: object, roles: tuple[str, ...]) -> Picked | None:
    """The last message of a role that has a text."""
    texts = [text for role, text in _messages(loosened(messages)) if role in roles and text.strip()]
    if not texts:
        return None
    picked = texts[-1]
    decoded = loosened(picked)
    if isinstance(decoded, Mapping) and (inner := answer_in(decoded, 1)) and roles is _SPEAKERS:
        return inner
    return Picked(picked)


def _messages(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and depth < 3:  # LangChain passes batches: a list of lists
        for entry in value:
            yield from _messages(entry, depth + 1)
    elif role := _role(value):
        value = _unwrapped(value)
        content = next(
            (value[key] for key in ("content", "parts", "message.content") if value.get(key) is not None), ""
        )
        if not content and "message.contents.0.message_content.text" in value:
            content = [part for key, part in value.items() if key.endswith("message_content.text")]
        yield role, said_text(content)


def said_text(content: object) -> str:
    """The text of a message: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text", "input_text"):
            text = part.get("text") or part.get("content") or part.get("message_content.text")
            parts.append(text if isinstance(text, str) else "")
    return "\n".join(filter(None, parts))


def _role(value: object) -> str:
    """Who speaks in a message; nothing where the object is no message."""
    if not isinstance(value, Mapping):
        return ""
    constructor = value.get("id")
    if value.get("type") == "constructor" and isinstance(constructor, list) and constructor:
        name = str(constructor[-1])
        return name.removesuffix("Chunk").removesuffix("Message").casefold() if "Message" in name else ""
    role = value.get("role") or value.get("message.role")
    if not role and ("content" in value or "parts" in value):
        role = value.get("type")
    text = role.casefold() if isinstance(role, str) else ""
    return text if text in (*_ASKERS, *_SPEAKERS, "system", "tool", "developer", "function", "chat") else ""


def _unwrapped(value: object) -> object:
    """LangChain's serialised objects carry their fields under `kwargs`; OpenInference's under `message`."""
    if isinstance(value, Mapping):
        if value.get("lc") == 1 and isinstance(value.get("kwargs"), Mapping):
            return {**value["kwargs"], "type": value.get("type"), "id": value.get("id")}
        if "message.role" not in value and isinstance(value.get("message"), Mapping) and len(value) == 1:
            return value["message"]
    return value


def _single(values: list[Any]) -> bool:
    return len(values) == 1
