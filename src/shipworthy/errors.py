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
    "answer-id": "A line of an answers file has no id. Give it the id of its case in the fixture.",
    "fixture-duplicate-id": "Two cases of a reasoning fixture have the same id. Give every case an id of its own.",
    "fixture-field": "A field of a reasoning fixture has the wrong type or range. The message names the case and the field.",
    "fixture-negative-weight": "A dimension weight is negative. Give weights of 0 or more that sum to 1.",
    "fixture-no-cases": "A reasoning fixture has no cases. Add a non-empty list named cases (or prompts).",
    "fixture-not-json": "A reasoning fixture is not JSON. Check it with a JSON linter.",
    "fixture-unknown-dimension": "A name is none of the four reasoning dimensions. Use one of those in the message.",
    "fixture-unreadable": "The reasoning fixture can't be opened. Check the path and the permission.",
    "fixture-weights-sum": "The dimension weights don't sum to exactly 1, as they are written. Change them so that they do.",
    "outcome-date": "The timestamp of an outcome is not ISO-8601. Write 2025-03-11T09:30:00Z.",
    "outcome-field": "A field of an outcome has the wrong type. The message names it.",
    "outcome-flag": "A yes-or-no field of an outcome is neither. Write true or false (or 1/0, yes/no, y/n).",
    "outcome-missing": "An outcome lacks a required field. Add timestamp, prompt_id, accepted_without_edits and action_taken.",
    "reason-binary-missing": "The program given with --binary does not exist. Give an executable file or a command on the PATH.",
    "reason-callable": "The callable given with --python can't be imported. Write module:function, importable from here.",
    "reason-target": "reason run needs exactly one reasoner. Give one of --binary, --url, --python.",
    "reason-url": "The address given with --url is none. Start it with http:// or https://.",
    "report-disagrees": "The summary of a reasoning report is not what its results add up to. Run the evaluation again.",
    "report-unreadable": "A reasoning report can't be opened, is not JSON or lacks its summary or results. Give the file that reason run wrote.",
    "arms-file": "The file of arms can't be read, or an arm has no name of its own. Write one TOML table [arms.NAME] an arm.",
    "contradiction-rule": "An added contradiction rule has an unknown table or the wrong shape. The message shows the shape.",
    "demo-bad-k": "k is out of range for the demo's retrieval. Ask for 1 to 50 blocks.",
    "demo-bad-knob": "A knob of the demo has a value of the wrong kind. The message says which kind it takes.",
    "demo-token-required": "The demo server was to listen beyond this machine without a token. Give one, or bind 127.0.0.1.",
    "demo-unknown-fault": "The demo has no such fault. Use one of the names in the message.",
    "demo-unknown-index": "The demo has no such index. Use live, shadow or shadow-degraded.",
    "demo-unknown-knob": "The demo has no such knob. Use one of the names in the message.",
    "disk-full": "The disk is full; finished runs are whole and kept. Make room and go on with --resume.",
    "env-unset": "A ${NAME} in a header or a target is not set, or holds a line break. Export it before the run.",
    "evidence-empty": "The evidence file of a chat target has no evidence in it. Write {qid, evidence: [{id, text}]} lines.",
    "gold-no-question": "A gold item has neither a question nor paraphrases, so nothing can be asked. Give it one.",
    "header": "A header has a name or value that can't be sent. Write NAME=VALUE without line breaks.",
    "id-map-conflict": "An --id-map file maps one trace id to two gold ids. Keep one line for each trace id.",
    "id-map-row": "A line of an --id-map file is not a pair of ids. Write a JSON object or two columns.",
    "id-map-unknown": "--id-map names a step that does not exist. Use one of the names in the message.",
    "id-map-unreadable": "The --id-map file can't be opened or is not UTF-8. Check path and encoding.",
    "id-map-value": "drop-prefix needs a value (drop-prefix=docs/), and the other --id-map steps take none.",
    "jitter-unknown": "There is no jitter or profile of that name. Use one of the names in the message.",
    "journal-damaged": "A line in the middle of a journal is not a trace: something else changed the file. Start anew.",
    "journal-exists": "The file holds finished runs. Go on with --resume, drop them with --overwrite, or write elsewhere.",
    "journal-foreign": "The file is not a journal of this version and is left alone. Give another --out.",
    "journal-locked": "Another process is writing the journal; the message names it. Wait, or give another --out.",
    "journal-mismatch": "The journal was begun with another gold set, grid or target, so a resume would mix two sweeps. Write elsewhere.",
    "load": "A load is a number of requests per second, more than 0.",
    "map-path": "A --map path can't be read, or the mapping has no claim. Write claim=data.answer.text, citations=docs[*].id.",
    "plan-grid": "Seeds or jitters are empty or repeated, or paraphrases are asked for twice. Name each value once.",
    "refusal-phrase-invalid": "A declared refusal phrase has no letters or is too long. Shorten it.",
    "refusal-phrases-empty": "A file of refusal phrases has no phrase in it. Write one wording a line.",
    "refusal-phrases-unreadable": "A file of refusal phrases can't be read as UTF-8. Check the path.",
    "refusal-rule-unknown": "The refusal rule is none of exact, natural, phrases. Use one of these.",
    "replay-empty": "The trace file to be replayed has no trace in it.",
    "run-all-failed": "No run of the plan succeeded. Mend what the first error says, then run again with --overwrite.",
    "run-no-out": "`run` was not told where to write. Add --out FILE.jsonl.",
    "target": "The target can't be understood, found or imported. The message says how targets are written.",
    "target-address": "The target's URL is not asked: not http(s), link-local or metadata, with a password, or in disguise.",
    "target-unreachable": "The target did not answer, or stopped answering. Start it, then go on with --resume.",
    "write-failed": "A file can't be written. Check the path and its permissions.",
}
