"""Errors: the ways we say no, each with where, what, what next and a stable code.

    ShipworthyError
    ├── UsageError          exit 2   a flag, a gate or the config is wrong
    ├── DataError           exit 3   the data can't be judged
    └── EnvironmentFailure  exit 4   disk, permission, lock, database, unreachable target
"""

from __future__ import annotations


class ShipworthyError(Exception):
    """A refusal to go on, written for the person who has to fix it."""

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str) -> None:
        self.where, self.what, self.hint, self.code = where, what, hint, code
        super().__init__(str(self))

    def __str__(self) -> str:
        what = self.what if self.what.endswith((".", "?", "!")) else self.what + "."
        parts = [f"{self.where}: {what}" if self.where else what, self.hint, f"[{self.code}]"]
        return " ".join(part for part in parts if part)


class UsageError(ShipworthyError):
    exit_code = 2


class DataError(ShipworthyError):
    exit_code = 3


class EnvironmentFailure(ShipworthyError):
    exit_code = 4


# Every code that an error or a warning can carry; docs/errors.md is made from this table.
CODES: dict[str, str] = {
    "demo-bad-k": "k is out of range for the demo's retrieval. Ask for 1 to 50 blocks.",
    "demo-bad-knob": "A knob of the demo has a value of the wrong kind. The message says which kind it takes.",
    "demo-token-required": "The demo server was to listen beyond this machine without a token. Give one, or bind 127.0.0.1.",
    "demo-unknown-fault": "The demo has no such fault. Use one of the names in the message.",
    "demo-unknown-index": "The demo has no such index. Use live, shadow or shadow-degraded.",
    "demo-unknown-knob": "The demo has no such knob. Use one of the names in the message.",
    "id-map-conflict": "An --id-map file maps one trace id to two gold ids. Keep one line for each trace id.",
    "id-map-row": "A line of an --id-map file is not a pair of ids. Write a JSON object or two columns.",
    "id-map-unknown": "--id-map names a step that does not exist. Use one of the names in the message.",
    "id-map-unreadable": "The --id-map file can't be opened or is not UTF-8. Check path and encoding.",
    "id-map-value": "drop-prefix needs a value (drop-prefix=docs/), and the other --id-map steps take none.",
    "refusal-phrase-invalid": "A declared refusal phrase has no letters or is too long. Shorten it.",
    "refusal-phrases-empty": "A file of refusal phrases has no phrase in it. Write one wording a line.",
    "refusal-phrases-unreadable": "A file of refusal phrases can't be read as UTF-8. Check the path.",
    "refusal-rule-unknown": "The refusal rule is none of exact, natural, phrases. Use one of these.",
}
