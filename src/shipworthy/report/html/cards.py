"""Cards: a failing item with question, answer, expected text and evidence side by side."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...core.decision import Decision
from ...core.evidence import Row
from ...history.items import changed_words
from ...text import fold, visible
from .. import views
from .rich import CLOSE, OPEN, mark
from .tables import figure, spoken

LONGEST = 8000  # characters shown of one text
# Characters of texts that one page holds: fewer of each text are shown where many items fail.
BUDGET, BUDGET_ITEMS, BUDGET_MORE = 700_000, 400, 500
_LIMITS = (LONGEST, 4000, 2000, 1000, 500, 250, 120)
_RUNS = re.compile(r"(?:^| \| )(\d+ of \d+ runs \([^()]*\)): ")  # as the stability suite tells different answers
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_SHOWN = {
    "qid",
    "reason",
    "also",
    "says",
    "question",
    "claim",
    "citations",
    "retrieved_ids",
    "gold_rank",
    "gold_claim_substr",
    "gold_found",
    "gold_citations",
    "constraints",
    "evidence",
}


class Chip(NamedTuple):
    """An id, and what there is to say of it."""

    text: str
    note: str = ""
    tone: str = ""


Text = str  # marked by `rich.mark`
Shown = list[tuple[Chip, Text]]


class Card(NamedTuple):
    """A failing item; the page's script reads the same fields in the same order."""

    anchor: str
    name: str
    reason: str
    says: str
    question: str
    claim: Text | None
    cited: list[Chip] | None  # None where the suite says nothing of citations
    substrings: list[Chip]
    wanted: list[Chip]
    constraints: list[str]
    retrieved: list[Chip]
    evidence: Shown  # what is gold or cited of it, or the first where none is
    others: Shown  # the rest, folded away
    more: list[tuple[str, str]]
    slices: list[str]
    also: str  # a second reason, by which it can be found too
    since: str = ""  # new, or since which run it fails
    answers: list[tuple[str, Text]] = []  # answers that differ, each with the runs that gave it
    suite: str = ""
    link: str = ""  # to the question over time, where there is such a page


def anchor(name: str, prefix: str = "") -> str:
    """The fragment that leads to an item: its name where that is plain, else a digest of it."""
    slug = name if _PLAIN.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"item-{prefix}{slug}"


def failing_cards(
    decision: Decision,
    prefix: str,
    share: int = 1,
    budget: int = BUDGET,
    link_to: Callable[[str], str] = lambda name: "",
) -> list[Card]:
    """Every failing item, worst first; `share` is how many suites the page has, which share its budget."""
    given = views.cards(decision)
    limit = _limit(given, share, budget)
    names = {str(offender.get("qid", "")) for offender in given} if decision.slices else set()
    named = ((str(row.get("qid")), row) for row in decision.items) if names else ()
    slices = {name: slices_of(row) for name, row in named if name in names}
    refusal, arm = _refusal_rule(decision.options), decision.headline.get("arm")
    seen: set[str] = set()
    found = []
    for offender in given:
        name = str(offender.get("qid", ""))
        link = anchor(f"{arm}:{name}" if arm else name, prefix)
        card = _card(offender, limit, refusal)._replace(
            anchor=link,
            slices=slices.get(name, []),
            since=views.since(decision, name),
            suite=visible(decision.suite, 60),
            link=link_to(name),
        )
        found.append(card._replace(anchor="") if card.anchor in seen else card)  # an id stands once in a page
        seen.add(card.anchor)
    return found


def _limit(given: Sequence[Row], share: int, budget: int) -> int:
    """As many characters of each text as the page has room for."""
    room = (budget + BUDGET_MORE * max(len(given) - BUDGET_ITEMS, 0)) // max(share, 1)
    texts = {str(block.get("text", "")) for one in given for block in one.get("evidence") or ()}
    sizes = [len(text) for text in texts]
    sizes += [len(str(one.get(name) or "")) for one in given for name in ("claim", "question")]
    return next((limit for limit in _LIMITS if sum(min(size, limit) for size in sizes) <= room), _LIMITS[-1])


def slices_of(row: Mapping[str, object]) -> list[str]:
    """`type=table` and the like, as the row says it."""
    if isinstance(found := row.get("slices"), list):
        return [visible(str(name), 80) for name in found]
    return [f"type={visible(str(row['type']), 80)}"] if row.get("type") else []


def _refusal_rule(options: Mapping[str, object]) -> str:
    """What a question that can't be answered should get, as the options say it."""
    rule = str(options.get("refusal") or "exact")
    return "not in context" if rule == "exact" else f"a refusal ({visible(rule, 80)})"


def _card(offender: Row, limit: int, refusal: str) -> Card:
    name = str(offender.get("qid", ""))
    substrings = _strings(offender.get("gold_claim_substr"))
    cited, wanted = _strings(offender.get("citations")), _strings(offender.get("gold_citations"))
    retrieved = _strings(offender.get("retrieved_ids"))
    claim, found = offender.get("claim"), offender.get("gold_found") or {}
    if answers := _answers(claim, limit):
        claim = None
    shown, others = _evidence(offender.get("evidence") or [], wanted, cited, substrings, limit)
    place = _Places(
        cited if "citations" in offender else None,
        retrieved if "retrieved_ids" in offender else None,
        wanted,
        offender.get("gold_rank"),
    )
    return Card(
        "",
        visible(name, 120),
        visible(str(offender.get("reason", "")), 60),
        visible(str(offender.get("says", "")), 1000),
        views.legible(str(offender.get("question") or ""), limit),
        mark(str(claim), [one for one in substrings if found.get(one) in (None, "found", "denied")], limit)
        if claim or (claim == "" and substrings)
        else None,
        [place.cited(one) for one in cited] if "citations" in offender else None,
        [_substring(one, claim, found.get(one)) for one in substrings] or _refusal(offender, refusal),
        [place.wanted(one) for one in wanted],
        [views.legible(one, 1000) for one in _strings(offender.get("constraints"))],
        [
            Chip(visible(one, 200), "expected" if one in wanted else "", "good" if one in wanted else "")
            for one in retrieved[:20]
        ],
        shown,
        others,
        [
            (spoken(key), figure(value))
            for key, value in offender.items()
            if key not in _SHOWN and value not in (None, "", []) and not _told(value, offender)
        ],
        [],
        visible(str(offender.get("also", "")), 60),
        "",
        answers,
    )


def _answers(claim: object, limit: int) -> list[tuple[str, Text]]:
    """The answers that differ from run to run, the commonest first; in the others, words that it lacks are marked."""
    parts = _RUNS.split(claim) if isinstance(claim, str) else []
    if len(parts) < 5 or parts[0]:
        return []
    told = [(parts[place], views.legible(parts[place + 1], limit)) for place in range(1, len(parts), 2)]
    first = told[0][1]
    others = [
        (
            label,
            " ".join(
                f"{OPEN}{words}{CLOSE}" if kind == "come" else words
                for kind, words in changed_words(first, text)
                if kind != "gone"
            )
            or text,
        )
        for label, text in told[1:]
    ]
    return [(visible(label, 120), text) for label, text in (told[0], *others)]


class _Places(NamedTuple):
    """Where gold and cited ids stand; nothing is said of what the suite does not tell (None)."""

    citations: Sequence[str] | None
    retrieved: Sequence[str] | None
    gold: Sequence[str]
    gold_rank: int | None

    @property
    def renamed(self) -> bool:
        """Gold was found, though not under its own id: the blocks were cut or named anew, and ids prove nothing."""
        return bool(self.gold_rank) and not any(name in (self.retrieved or ()) for name in self.gold)

    def cited(self, name: str) -> Chip:
        if name in self.gold:
            return Chip(visible(name, 200), "expected", "good")
        note = "not retrieved" if self.retrieved and name not in self.retrieved else "not expected" if self.gold else ""
        return Chip(visible(name, 200), *((note, "bad") if note and not self.renamed else ("", "")))

    def wanted(self, name: str) -> Chip:
        if self.renamed:
            return Chip(visible(name, 200), f"found under another id, first at rank {self.gold_rank}")
        notes = []
        if self.citations is not None:
            notes.append("cited" if name in self.citations else "not cited")
        if self.retrieved is not None:
            notes.append(f"rank {self.retrieved.index(name) + 1}" if name in self.retrieved else "not retrieved")
        tone = ("good" if name in (self.citations or ()) else "bad") if notes else ""
        return Chip(visible(name, 200), ", ".join(notes), tone)


def _told(value: object, offender: Row) -> bool:
    """Whether the sentence above repeats it; a short value may stand there by chance."""
    return len(figure(value)) > 8 and figure(value) in str(offender.get("says", ""))


def _refusal(offender: Row, refusal: str) -> list[Chip]:
    return [Chip(refusal, "the question is unanswerable")] if offender.get("reason") == "leak" else []


def _substring(text: str, claim: object, state: str | None) -> Chip:
    """An expected text, and what the judge found of it; by the plain rule where a suite does not say."""
    if claim is None:
        return Chip(visible(text, 500))
    state = state or ("found" if fold(text) in fold(str(claim)) else "missing")
    return Chip(visible(text, 500), _STATES[state], "good" if state == "found" else "bad")


_STATES = {
    "found": "in the answer",
    "denied": "in the answer, but denied",
    "unclear": "can't be told from the answer",
    "elsewhere": "in the answer, but about something else",
    "inside": "only inside a longer number or word",
    "missing": "not in the answer",
}


def _evidence(
    found: Sequence[Row], wanted: Sequence[str], cited: Sequence[str], substrings: Sequence[str], limit: int
) -> tuple[Shown, Shown]:
    """The texts that are gold or cited, or the first where none is; then the others."""
    told: dict[bool, Shown] = {True: [], False: []}
    for one in found:
        name = str(one.get("id", ""))
        notes = [note for note, names in (("expected", wanted), ("cited", cited)) if name in names]
        chip = Chip(visible(name, 200), ", ".join(notes), "good" if name in wanted else "")
        told[bool(notes)].append((chip, mark(str(one.get("text", "")), substrings, limit)))
    return (told[True], told[False]) if told[True] else (told[False][:1], told[False][1:])


def _strings(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []
