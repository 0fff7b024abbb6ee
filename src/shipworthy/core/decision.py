"""Decision: all the gates of a suite taken together, with reasons, offenders and what it was based on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ..reading.reports import ODD_NUMBER, Passing, canonical, digest
from . import notebook
from .gates import Outcome, certainty, sentence
from .metrics import Measure, Words
from .rows import TOGETHER, Rows, batched

DEFINITIONS = "1"  # 1: the first published definitions
REPORT = 1  # 1: the first published report format

EXIT = {"SHIP": 0, "NO-SHIP": 1, "NO VERDICT": 3, "MEASURED": 0}  # measured: no gate was asked for


UNJUDGED = "could not be judged"
NOTHING_JUDGED = ": "  # after UNJUDGED: the cause that all questions have in common


class Display(msgspec.Struct, frozen=True, kw_only=True):
    """How reports show a suite, as data."""

    item: str = "question"  # what is judged
    counts: Mapping[str, str] = {}  # counts that the first line names → the word behind each
    passes: Passing = Passing()  # how a row tells whether its item passed
    reasons: Mapping[str, Words] = {}  # why an item fails, as rows and cards write it
    pictures: Mapping[str, str] = {}  # section → the kind of picture (report/html/pictures.py); others become tables
    production: bool = False  # it judges production traffic, not a gold set
    # metric → what a row says about it, where no column has its name; None where the row is not one of its items
    tells: Callable[[str], Callable[[Mapping[str, Any]], bool | None] | None] | None = None


class Decision(msgspec.Struct):
    """Everything that a reader of the verdict may ask for; every report is printed from this."""

    suite: str
    profile: str
    verdict: str
    reasons: list[str]
    outcomes: list[Outcome]
    measures: dict[str, Measure]
    slices: dict[str, dict[str, Measure]] = {}
    counts: dict[str, int] = {}
    named: dict[str, Sequence[str]] = {}
    diagnosis: list[str] = []
    offenders: list[dict[str, Any]] = []
    cards: Sequence[dict[str, Any]] = []  # every failing item in detail, worst first; not part of the JSON report
    items: Sequence[dict[str, Any]] = []  # one row per item
    sections: dict[str, Any] = {}  # what only this suite has: a matrix, a curve, a table
    headline: dict[str, Any] = {}  # keys that stand at the top level of the JSON report
    options: dict[str, Any] = {}
    inputs: dict[str, dict[str, Any]] = {}
    compat: dict[str, Any] | None = None
    warnings: list[str] = []
    incomplete: list[str] = []  # what else made the data unfit to judge, in sentences
    # what is not judged, and what the user allowed to be lost: the first of the reasons, whatever else they become
    tolerated: list[str] = []
    partial: bool = False
    run: dict[str, Any] = {}  # clocks, paths, versions: outside the digest
    display: Display = Display()  # the suite's; no part of the report
    library: str = ""  # of the tables that came in, for `frame`

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]

    @property
    def ships(self) -> bool:
        return self.verdict == "SHIP"

    @property
    def nothing_judged(self) -> bool:
        """Whether every question was lost: there is one cause to tell, and nothing else."""
        return any(f" {UNJUDGED}{NOTHING_JUDGED}" in reason for reason in self.incomplete)

    def report(self) -> dict[str, Any]:
        """The canonical report as plain values."""
        return report(self)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Every item that fails, in detail, the worst first."""
        return notebook.failures(self)

    def item(self, name: str) -> dict[str, Any]:
        """The row of one item, with what is known about its failure."""
        return notebook.item(self, name)

    def frame(self, library: str = "") -> Any:
        """The rows of all items as a table of pandas, polars, pyarrow or datasets: of the one that came in."""
        from ..reading.frames import frame_of

        return frame_of(plain_items(self), library or self.library or "pandas")

    def _repr_html_(self) -> str:
        return notebook.decision_html(self)


def decide(outcomes: list[Outcome], incomplete: list[str] | None = None) -> tuple[str, list[str]]:
    """The verdict and its reasons. One gate that fails decides, even where other data is missing.

    `incomplete` names what else makes the data unfit to judge, such as holes in a grid.
    """
    blocking = [outcome for outcome in outcomes if outcome.gate.severity == "block" and not outcome.waived]
    failed = [outcome for outcome in blocking if not outcome.holds and outcome.state != "NO-DATA"]
    empty = [outcome for outcome in blocking if outcome.state == "NO-DATA"]
    if failed:
        return "NO-SHIP", [*(_reason(outcome) for outcome in failed), *(incomplete or [])]
    if empty or incomplete:
        sentences = [sentence(outcome) for outcome in empty if not is_explained(outcome, incomplete or ())]
        return "NO VERDICT", [*(incomplete or []), *sentences]
    if not any(outcome.state != "NOT-APPLICABLE" for outcome in blocking):
        return "NO VERDICT", ["no gate applies to this data"]
    gates = sum(1 for outcome in blocking if outcome.state != "NOT-APPLICABLE")
    unsure = sum(1 for outcome in blocking if outcome.state == "PASS-BUT-UNPROVEN")
    if gates == 1:
        return "SHIP", ["the gate passes, but not with statistical certainty" if unsure else "the gate passes"]
    doubt = f"; {unsure} of them {'is' if unsure == 1 else 'are'} not statistically certain" if unsure else ""
    return "SHIP", [f"all {gates} gates pass{doubt}"]


def is_explained(outcome: Outcome, incomplete: Iterable[str]) -> bool:
    """Whether an outcome without data follows from questions that were lost, which is said already."""
    lost = [reason for reason in incomplete if UNJUDGED in reason]
    every = any(f" {UNJUDGED}{NOTHING_JUDGED}" in reason for reason in lost)
    return outcome.state == "NO-DATA" and bool(lost) and (every or outcome.measure.value is not None)


def _reason(outcome: Outcome) -> str:
    if outcome.met:
        return f"{sentence(outcome)}, but this is {certainty(outcome)}"
    return sentence(outcome)


def report(decision: Decision) -> dict[str, Any]:
    """The canonical report: plain values, the same for the same input, with its digest."""
    plain: dict[str, Any] = body_of(decision)
    plain["items"] = list(plain_items(decision))
    plain["digest"] = digest(plain)
    plain["run"] = decision.run
    return plain


def plain_items(decision: Decision) -> Iterator[dict[str, object]]:
    """The rows of the items as plain values, one after the other."""
    if isinstance(decision.items, Rows):  # which keeps nothing else
        return iter(decision.items)
    return (msgspec.to_builtins(item, enc_hook=_plain) for item in decision.items)


def body_of(decision: Decision) -> dict[str, object]:
    """The report as plain values, without its items, its digest and what is no part of it."""
    body: dict[str, object] = {
        "shipworthy": {
            "report": REPORT,
            "definitions": DEFINITIONS,
            "suite": decision.suite,
            "profile": decision.profile,
        },
        "decision": decision.verdict,
        "exit_code": decision.exit_code,
        "pass": decision.exit_code == 0,
        "partial": decision.partial,
        "reasons": decision.reasons,
        "incomplete": decision.incomplete,
        **decision.headline,
        "metrics": {name: measure_dict(measure) for name, measure in decision.measures.items()},
        "outcomes": [outcome_dict(outcome) for outcome in decision.outcomes],
        "slices": {
            name: {metric: measure_dict(measure) for metric, measure in measures.items()}
            for name, measures in decision.slices.items()
        },
        "counts": decision.counts,
        "named": decision.named,
        "diagnosis": decision.diagnosis,
        "offenders": decision.offenders,
        **decision.sections,
        "options": decision.options,
        "inputs": decision.inputs,
        "compat": decision.compat,
        "warnings": decision.warnings,
    }
    return msgspec.to_builtins(body, enc_hook=_plain)  # type: ignore[no-any-return]


def digest_of(decision: Decision) -> str:
    """The digest of the report, of whose items one at a time is in memory."""
    body = body_of(decision) | {"items": ()}
    found = hashlib.sha256()
    for number, key in enumerate(sorted(body.keys() - {"run", "digest"})):
        found.update(f"{', ' if number else '{'}".encode() + canonical(key) + b": ")
        if key == "items":
            found = _with_items(found, decision)
            continue
        found.update(canonical(body[key]))
    found.update(b"}")
    return found.hexdigest()


def _with_items(found: Any, decision: Decision) -> Any:
    """The hash with the items in it. Every format has the digest: what came out is kept for the next."""
    before, items = found.digest(), decision.items
    if isinstance(items, Rows) and items.hashed[:2] == (before, len(items)):
        return items.hashed[2].copy()
    for piece in joined(map(_inside, item_batches(decision, ordered=True)), b"[", b", ", b"]"):
        found.update(piece)
    if isinstance(items, Rows):
        items.hashed = before, len(items), found.copy()
    return found


def joined(batches: Iterable[bytes], start: bytes, between: bytes, end: bytes) -> Iterator[bytes]:
    """Batches of elements, or of members, as one array or object."""
    before = start
    for batch in batches:
        yield before + batch
        before = between
    yield end if before is between else start + end.strip()


def _inside(batch: bytes) -> bytes:
    """What an array or an object holds, on one line."""
    return one_line(batch)[1:-1]


def item_batches(decision: Decision, *, ordered: bool = False) -> Iterator[bytes]:
    """The items as JSON arrays of many, in compact form, perhaps with sorted keys."""
    items = decision.items
    if isinstance(items, Rows) and (batches := items.as_json(ordered=ordered)) is not None:
        return batches
    return (in_json(batch, ordered) for batch in batched(plain_items(decision), TOGETHER))


def in_json(value: object, ordered: bool = False) -> bytes:
    try:
        data = msgspec.json.encode(value, order="sorted" if ordered else None)
        if ODD_NUMBER.search(data) is None:
            return data
    except (UnicodeEncodeError, OverflowError):
        pass
    return encode(value, sort_keys=ordered, indent=None)


def one_line(data: bytes) -> bytes:
    """JSON of text and whole numbers as the standard library writes it: a blank after each comma and colon."""
    try:
        return msgspec.json.format(data, indent=0)
    except msgspec.DecodeError:  # half of a surrogate pair
        import json

        return canonical(json.loads(data))


def encode(value: object, *, sort_keys: bool = False, indent: int | None = 2) -> bytes:
    """JSON as bytes: readable text, valid UTF-8 even for a lone surrogate (which stays a JSON escape)."""
    import json

    if indent:  # the standard library indents in Python, one token after the other; this only adds the blanks
        try:
            return msgspec.json.format(encode(value, sort_keys=sort_keys, indent=None), indent=indent)
        except msgspec.DecodeError:  # half of a surrogate pair
            pass
    text = json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, indent=indent, default=_plain)
    return text.encode("utf-8", "backslashreplace")


def measure_dict(measure: Measure) -> dict[str, object]:
    shown: dict[str, object] = {"kind": measure.kind, "value": number(measure.value), "n": measure.n}
    if measure.kind == "rate":
        shown |= {"numerator": measure.k, "denominator": measure.n}
    elif measure.value is not None:
        shown["exact"] = str(measure.value)
    if measure.better:
        shown["better"] = measure.better
    if measure.interval is not None:
        shown["interval95"] = [round(edge, 6) for edge in measure.interval]
    if measure.bounds != (None, None):
        shown["bounds95"] = [None if edge is None else round(edge, 6) for edge in measure.bounds]
    if measure.unit:
        shown["unit"] = measure.unit.strip()
    if measure.missing:
        shown["undefined"] = measure.missing
    return shown


def outcome_dict(outcome: Outcome) -> dict[str, object]:
    gate = outcome.gate
    shown = {
        "gate": str(gate),
        "metric": gate.metric,
        "slice": gate.slice,
        "severity": gate.severity,
        "on_unproven": gate.on_unproven,
        "state": outcome.state,
        "holds": outcome.holds,
        "bound": number(outcome.bound),
        "value": number(outcome.measure.value),
        "n": outcome.measure.n,
        "k": outcome.measure.k,
        "says": sentence(outcome),
        "certainty": certainty(outcome),
        "waived": outcome.waived,
    }
    if outcome.capped:
        shown["capped"] = outcome.capped
    best, rate = outcome.more
    p_prove = None if outcome.p_prove is None else round(outcome.p_prove, 6)
    certain = {"p_prove": p_prove, "more_best": best, "more_at_rate": rate, "turn": outcome.turn}
    return shown | {name: value for name, value in certain.items() if value is not None}


def number(value: Fraction | None) -> float | int | None:
    """A fraction as the nearest JSON number; whole numbers stay whole."""
    if value is None:
        return None
    part, whole = value.as_integer_ratio()
    return part if whole == 1 and abs(part) > 1 else part / whole


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return number(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
