"""Answerer: picks the sentence, table row or lines of code that says most of what was asked; and its guard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ..language.sentences import sentences
from .retrieval import (
    LOCKED,
    CorpusBlock,
    Index,
    Scored,
    concept,
    key_terms,
    leading_terms,
    locked_rules,
    normalise,
    ranked,
    tokens,
)

# A term found in the unit itself counts whole, in its heading less, elsewhere in the block least;
# the label of a table row is what the row is about, so a term found there counts more.
LABEL, UNIT, HEADING, BLOCK = 1.3, 1.0, 0.6, 0.3
NUMBER_BONUS, WHEN_BONUS, RULE_MALUS = 2.0, 2.5, 1.5
_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|often|far|old|large|high|fast|soon|heavy|frequently)\b|\b(?:what|the) number\b"
)
_COUNT = re.compile(r"\bhow (?:many|much)\b|\b(?:what|the) number\b")
_COUNTED = re.compile(r"\b(?:how many|(?:what|the) number of) (.+)")
_CARDINAL = re.compile(r"\d[\d.]*(?: million)?|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b")
_WHEN = re.compile(r"\b(?:when|why)\b")
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|every|once|twice)\b|"
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
)
_SPANS = r"(?:second|minute|hour|day|week|month|year)s?\b"
# A word that asks for a kind of value is answered by a value of that kind.
_KINDS = {
    "year": r"\b(?:19|20)\d\d\b",
    "time": rf"\d\d:\d\d|{_SPANS}|\bat noon\b",
    "take": _SPANS,
    "last": _SPANS,
    "day": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
    "week": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
    "date": r"\b(?:january|march|april|may|june|july|september|october)\b",
    "interval": rf"\bevery .{{1,20}}{_SPANS}",
    "share": r"\bpercent\b",
    "price": r"\beuros?\b",
    "distance": r"\b(?:metres|km)\b",
    "deadline": r"\bwithin\b",
    "condition": r"\b(?:when|if|unless)\b",
    "minimum": r"\bno fewer than\b",
    "maximum": r"\blimit\b|\blimited to\b|\bno more than\b",
    "limit": r"\bat most\b|\bup to\b",
    "value": r"\d",
    "simultaneously": r"\bat the same time\b",
    "location": r"\b(?:is|are|stands?) in [a-z]+",
    "hash": r"\bsha-?\d+",
    "team": r"\b(?:intake|ember|beacon|field crew|grower desk)\b",
    "language": r"\b(?:go|rust|elixir|python|javascript|ruby)\b",
}
KINDS = {concept(word): re.compile(pattern) for word, pattern in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class Statement:
    """The smallest thing that can be an answer, with the words around it."""

    text: str
    type: str
    label: frozenset[str]
    own: frozenset[str]
    heading: frozenset[str]
    around: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A block and the unit in it that fits the question best."""

    block: CorpusBlock
    unit: Statement
    score: float


def rerank(where: Index, question: str, hits: Scored, depth: int) -> list[Candidate]:
    """The first `depth` blocks in the order of their best units; the rest follow as they were."""
    terms, asked = key_terms(question), normalise(question)
    best = {}
    for block, score in hits[:depth]:
        fits = [(_fit(where, terms, asked, unit), -n) for n, unit in enumerate(units(block))]
        fit, position = max(fits)
        best[block.id] = Candidate(block, units(block)[-position], round(fit + 0.5 * score, 9))
    order = ranked((candidate.block, candidate.score) for candidate in best.values())
    rest = [Candidate(block, units(block)[0], 0.0) for block, _ in hits[depth:]]
    return [best[block.id] for block, _ in order] + rest


def asks_count(question: str) -> bool:
    return _COUNT.search(normalise(question)) is not None


def has_number(unit: Statement) -> bool:
    """Whether the unit states a number; the digits in a line of code are not a statement."""
    return unit.type != "code" and _NUMBER.search(unit.text.casefold()) is not None


def counts(unit: Statement, question: str) -> bool:
    """Whether the unit counts what is asked for: a number beside the thing, or in the column of that name."""
    counted = _COUNTED.search(normalise(question))
    things = leading_terms(counted[1]) if counted else set()
    return not things or any(not things.isdisjoint(tokens(near)) for near in _beside_numbers(unit))


def mentions(unit: Statement, term: str) -> bool:
    """Whether the unit has the term, or a value of the kind that the term asks for."""
    return term in unit.own or (term in KINDS and KINDS[term].search(unit.text.casefold()) is not None)


def views(candidate: Candidate) -> list[str]:
    """The ways to read a unit: alone, under its title, and a row as its label with one cell at a time."""
    text, title = candidate.unit.text, candidate.block.title.partition(": ")[2]
    label, *cells = text.split("; ") if candidate.unit.type == "table" else [text]
    return [
        text,
        f"{text} {title}",
        *(f"{label} {cell}" for cell in cells),
        *(f"{title} {label} {cell}" for cell in cells),
    ]


@cache
def units(block: CorpusBlock) -> tuple[Statement, ...]:
    """Sentences of prose, rows of a table, commented steps of code, the caption of a figure."""
    texts, heading = _CUTS[block.type](block.text)
    title = frozenset(tokens(f"{block.title} {heading}"))
    # A row of a table stands alone; a sentence leans on its neighbours.
    around = title if block.type == "table" else frozenset(tokens(block.text))
    kind = "rule" if block.text.startswith(LOCKED) else block.type
    labels = [text.split(";")[0].partition(": ")[2] if kind == "table" else "" for text in texts]
    return tuple(
        Statement(text, kind, frozenset(tokens(label)), frozenset(tokens(text)), title, around)
        for text, label in zip(texts, labels, strict=True)
    )


def _fit(where: Index, terms: list[str], asked: str, unit: Statement) -> float:
    total = 0.0
    for term in terms:
        places = (
            (LABEL, term in unit.label),
            (UNIT, mentions(unit, term)),
            (HEADING, term in unit.heading),
            (BLOCK, term in unit.around),
        )
        share = next((weight for weight, present in places if present), 0.0)
        total += share * where.idf.get(term, 1.0)
    total += NUMBER_BONUS * (_QUANTITY.search(asked) is not None and has_number(unit))
    total += WHEN_BONUS * (_WHEN.search(asked) is not None and " when " in unit.text)
    return total - RULE_MALUS * (unit.type == "rule")


def _beside_numbers(unit: Statement) -> Iterator[str]:
    """The words next to each number: three after it, one before it, or the name of its column."""
    for clause in normalise(unit.text).split("; ") if unit.type == "table" else [normalise(unit.text)]:
        column, _, cell = clause.partition(": ")
        if unit.type == "table" and _CARDINAL.match(cell):
            yield column
        for number in _CARDINAL.finditer(clause):
            yield " ".join(clause[number.end() :].split()[:3])
            yield " ".join(clause[: number.start()].split()[-1:])


def _sentences(text: str) -> tuple[list[str], str]:
    """Sentences; a locked rule loses its label, and the caption of a figure is kept whole."""
    if text.startswith("Figure: "):
        return [text.removeprefix("Figure: ")], "figure"
    lines = [line.removeprefix(LOCKED) for line in text.split("\n")]
    return [span.text for line in lines for span in sentences(line)], ""


def _rows(text: str) -> tuple[list[str], str]:
    """Each row as `column: cell; column: cell`; without a header line the cells alone."""
    lines = text.split("\n")
    rule = next((n for n, line in enumerate(lines) if line.startswith("|---")), None)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    if rule is None:
        return ["; ".join(row) for row in rows], ""
    header = rows[0]
    texts = ["; ".join(f"{name}: {cell}" for name, cell in zip(header, row, strict=True)) for row in rows[2:]]
    return texts, lines[0].removeprefix("Table:")


def _steps(text: str) -> tuple[list[str], str]:
    """Runs of lines that begin with a comment: what the lines are for, and the lines."""
    lines = [line for line in text.split("\n") if line and not line.startswith("```")]
    language = text.split("\n", 1)[0].removeprefix("```") if text.startswith("```") else ""
    steps: list[list[str]] = []
    for line in lines:
        comment = line.startswith(("# ", "-- "))
        after_comment = bool(steps) and steps[-1][-1].startswith(("# ", "-- "))
        if not steps or (comment and not after_comment):
            steps.append([])
        steps[-1].append(line)
    return ["\n".join(step) for step in steps], f"code {language}"


_CUTS = {"prose": _sentences, "figure": _sentences, "table": _rows, "code": _steps}


# --- guard: ships an answer only if the evidence covers the question, and repeats the locked rules ---

REFUSAL = "not in context"
UNKNOWN_WEIGHT = 6.0  # a word that the corpus never uses weighs as much as its rarest word
NEARBY = 0.30  # at most this share of the question may be covered by the rest of the block only
_NAME = re.compile(r"[^\W_]+(?:[-_.][^\W_]+)+")  # ember-query, leaf_wetness, LF-1310: whole or not at all
_ABSENT = re.compile(r"\b(?:without|no) ([^\W_]+)")


@dataclass(frozen=True, slots=True)
class GuardResult:
    """Whether the answer may leave, why not, and how well the evidence covers the question (0 to 1)."""

    ok: bool
    reason: str
    confidence: float


def check(where: Index, question: str, best: Candidate | None) -> GuardResult:
    """The first objection to answering with this candidate, or none."""
    terms = key_terms(question)
    if best is None or not terms:
        return GuardResult(False, "no evidence was found", 0.0)
    unit = best.unit
    weights = {term: where.idf.get(term, UNKNOWN_WEIGHT) for term in terms}
    close = [term for term in terms if mentions(unit, term) or term in unit.heading]
    named = {part for name in _NAME.findall(normalise(question)) for part in tokens(name)}
    missing = [term for term in terms if term not in close and (term in named or term not in unit.around)]
    confidence = round(sum(weights[term] for term in close) / sum(weights.values()), 4)
    if missing:
        return GuardResult(False, f"the evidence does not speak of: {', '.join(missing)}", confidence)
    if confidence < 1 - NEARBY:
        return GuardResult(False, "the evidence speaks of it only in passing", confidence)
    if asks_count(question) and not has_number(unit):
        return GuardResult(False, "a number is asked for and the evidence has none", confidence)
    if not counts(unit, question):
        return GuardResult(False, "the evidence does not count what is asked for", confidence)
    if denied := _denied(question, unit.text):
        return GuardResult(False, f"the evidence only says that there is no {denied}", confidence)
    return GuardResult(True, "supported by the cited evidence", confidence)


def constraints_echo(candidate: Candidate) -> list[str]:
    """The locked rules of the section that is cited, word for word."""
    return list(locked_rules().get(candidate.block.section_id, ()))


def _denied(question: str, evidence: str) -> str:
    """The thing whose amount is asked for although the evidence says that there is none."""
    asked = normalise(question)
    if not asks_count(question) or _ABSENT.search(asked):
        return ""
    terms = set(key_terms(question))
    absent = (word for word in _ABSENT.findall(normalise(evidence)) if terms & set(tokens(word)))
    return next(absent, "")
