"""Wording: a command of the user's words the questions; what it gives is checked like anything from outside."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError
from ..text import visible

SECONDS = 60  # for one candidate
MOST = 1 << 20  # characters of a reply


def command_wording(command: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Asks a command: one JSON object on its standard input, {"question", "expected"} or a plain question back.

    A candidate that it fails on, or takes too long for, keeps the wording that it had.
    """
    words = shlex.split(command)
    if not words:
        raise UsageError("is empty", where="--word", hint="Name a command, such as ./word.sh.", code="word-command")

    def ask(draft: Mapping[str, Any]) -> Mapping[str, Any]:
        anchor, given = draft["anchor"], draft["draft"]
        sent = {
            "passage": anchor["text"],
            "expected": draft["gold_claim_substr"][0],
            "document": anchor["doc"],
            "section": anchor.get("section", ""),
            "hint": given["hint"],
            "question": draft["question"],
        }
        try:
            done = subprocess.run(
                words, input=json.dumps(sent), capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except OSError as error:
            raise UsageError(
                f"can't be started: {error.strerror or error}",
                where=f"--word {visible(words[0])}",
                hint="Check its spelling.",
                code="word-command",
            ) from None
        except (subprocess.TimeoutExpired, UnicodeDecodeError):
            return {}
        reply = done.stdout[:MOST].strip()
        if done.returncode or not reply:
            return {}
        try:
            value = json.loads(reply)
        except (ValueError, RecursionError):
            value = reply
        return value if isinstance(value, dict) else {"question": value}

    return ask
