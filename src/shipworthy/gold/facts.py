"""Facts: what a passage says that can be asked for. Each fact is words of the passage, found without knowing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..documents import KEY_VALUE, Document, Passage, Section, cells
from ..language.words import is_content, tokens

WORDS = range(6, 45)  # of a sentence that can be understood by itself
LONGEST_VALUE = 60  # characters of an expected text


class Fact(NamedTuple):
    """One thing that a passage says: where it stands in the document, and what kind of thing it is."""

    kind: str  # amount, date, time, name, definition, cell, value, answer
    start: int
    end: int
    question: str = ""  # where the document brings one
    hint: str = ""  # what to ask for
    weak: bool = False  # asked for only where there is nothing better: a name in passing, a small count


_NUMBER_WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty"
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|"
    "novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_DIGITS = r"\d{1,3}(?:[,.'\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?(?:{_MONTHS})(?:\s?,?\s\d{{4}})?|"
    rf"(?:{_MONTHS})\s\d{{1,2}}(?:st|nd|rd|th)?(?:\s?,?\s\d{{4}})?\b|(?:{_MONTHS})\s\d{{4}}|\d{{4}}-\d\d-\d\d|"
    r"(?<=\b[Ii]n\s)(?:1[0-9]|20)\d\d|(?<=[Ss]ince\s)(?:1[0-9]|20)\d\d)\b"
)
_TIME = re.compile(r"\b(?:[01]?\d|2[0-3]):[0-5]\d\b(?:\s?[ap]\.?m\.?)?|\b(?:1[0-2]|[1-9])\s?[ap]\.?m\b\.?")
_AMOUNT = re.compile(
    rf"(?<![\w.,/#§–-])(?:[$€£¥]\s?(?:{_DIGITS})(?:\s(?:million|billion|thousand))?|"
    rf"(?:{_DIGITS})(?:\s?%|\s?°[CF]?|\s(?:million|billion|thousand|hundred))?"
    r"(?:[ -][^\W\d_]{1,20}(?:/[a-z]{1,5})?(?:(?<![s%])\s[a-z]{3,20}s\b)?)?|"
    rf"\b(?:{_NUMBER_WORDS})\s[a-z]{{3,20}})(?![\w/–-])",
    re.IGNORECASE,
)
_BARE = re.compile(rf"(?:{_DIGITS})")
_NAME = re.compile(
    r"(?<![\w.#@/-])[A-ZÀ-ÖØ-Þ][\w'’-]*[a-z][\w'’-]*(?:\s(?:(?:of|de|van|von|the|der|la)\s)?[A-ZÀ-ÖØ-Þ][\w'’-]+){0,5}(?![\w@/])"
)
_MEASURES = re.compile(
    r"(?:second|minute|hour|day|week|month|quarter|year|decade|time|percent|point|mile|meter|metre|kilomet|gram|kilo|ton|"
    r"litre|liter|degree|dollar|euro|pound|cent|people|person|employee|user|member|visit|page|character|word|byte)s?$"
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_LED = re.compile(r"\b(?:is|are|was|were|by|in|at|from|to|through|called|named)\s(?:the\s)?$")
_RANGE_BEFORE = re.compile(r"\b(?:between|from|or|×)\s(?:the\s|about\s|around\s)?$|\d[^.,;]{0,20}\s(?:and|to)\s$", re.I)
_RANGE_AFTER = re.compile(r"\s?(?:to|and|or|until|–|--)\s(?:the\s)?[$€£]?\d")
_RUN_ON = re.compile(r"[.?!][A-Z][a-z]|\b[Ff]or example\b|\be\.g\.")  # no blank between two sentences; an example
_GLUED = re.compile(  # a heading before a sentence
    r"[a-z)]\s+(?:It|The|This|These|When|If|You|We|In|An|Our|Your|They|For)\s[a-z]"
)
_SHOUTED = re.compile(r"\b[A-Z]{3,}\W+[A-Z]{3,}\W+[A-Z]{3,}\b")  # a heading in capitals
_CALLED = re.compile(
    r"\b(?:called|known as|named|stands for|referred to as)\s(?:the\s|an?\s)?([^,.;:()]{3,50}?)"
    r"(?=[,.;:()]|\s(?:and|which|that|in|by)\b|$)"
)
_DEFINED = re.compile(
    r"^(?:An?|The)?\s?([A-Z]?[\w -]{2,40}?)\s(?:is|are|means|denotes)\s((?:an?|the)\s[a-z][^,.;:()]{8,55}?)"
    r"(?=[,.;:()]|\s(?:and|which|that|who|where|of)\b|$)"
)
_ELLIPTICAL = re.compile(
    r"(?:[-*+•]\s*)?(?:it|its|they|their|them|this|that|these|those|he|she|his|her|such|both|here|there|then|otherwise|"
    r"however|also|and|but|or|so|instead|in this|in that|for example|e\.g|see|note)\b",
    re.IGNORECASE,
)
_NO_UNIT = re.compile(
    r"and|or|of|in|on|at|to|the|a|an|is|are|was|were|by|for|with|from|as|that|which|who|has|have|had|than"
    r"|then|but|not|if|when|may|can|must|will|would|should|also|per|each|it|its|into|before|after|during"
    r"|between|until|where|do|does|did|only|alone|more|less|down|up|out|ago|about|later|earlier|there"
)
_LABEL = re.compile(
    r"(?:figure|table|page|section|chapter|step|appendix|version|v|no|nr|item|line|level|part)\.?\s?$", re.I
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|may|must|can|will|shall|should|does|do|did|need|needs|takes?|costs?|gets?|"
    r"[a-zà-ÿ]{3,}(?:ed|s|es|t|en|it|ait|ent))\b"
)
_PLAIN_CAPITAL = re.compile(
    r"(?:I|The|A|An|In|On|At|If|For|From|When|Where|While|As|To|By|We|You|He|She|It|They|This|That|Other|Our|Your)\b"
)


def facts_of(document: Document, section: Section) -> Iterator[tuple[Passage, Fact]]:
    """The facts of a section, passage by passage."""
    passages = document.passages(section)
    asked = _question(section.title)
    if asked and passages:
        first = next((one for one in passages if one.kind == "sentence"), None)
        if first is not None and (found := _best(document, first, answer=True)):
            yield first, found._replace(kind="answer", question=asked)
    for place, passage in enumerate(passages):
        text = document.text[passage.start : passage.end]
        if passage.kind == "row":
            yield from ((passage, fact) for fact in _cells(passage, text))
        elif passage.kind == "pair":
            yield from ((passage, fact) for fact in _pair(passage, text))
        elif passage.kind == "sentence":
            following = passages[place + 1] if place + 1 < len(passages) else None
            if text.endswith("?") and following is not None and (pair := _faq(document, text, following)):
                yield following, pair
            elif found := _best(document, passage):
                yield passage, found


def _question(title: str) -> str:
    """A heading that asks; what stands before it, such as its number, is not part of the question."""
    title = re.sub(r"^(?:Q\s?[:.\d)]+|[\dA-Z]+(?:\.\d+)*[.)]?)\s+(?=[A-Z])", "", title).strip(" *_")
    return title if title.endswith("?") and len(title.split()) > 2 else ""


def _faq(document: Document, text: str, following: Passage) -> Fact | None:
    asked = re.sub(r"^(?:\*\*|__)?(?:Q|Question|F|Frage)\s?[:.\d)]+\s*|[*_]", "", text).strip()
    if following.kind != "sentence" or len(asked.split()) < 3 or len(asked) > 200:
        return None
    fact = _best(document, following, answer=True)
    return fact._replace(kind="answer", question=asked) if fact else None


def _best(document: Document, passage: Passage, answer: bool = False) -> Fact | None:
    """The fact of a sentence that is asked for, the rarest kind first. An answer may be short, or begin with `It`."""
    text = document.text[passage.start : passage.end]
    words = len(text.split())
    if not answer and (
        words not in WORDS or _ELLIPTICAL.match(text) or text[-1:] not in ".!" or not text[:1].isupper()
    ):
        return None
    if (
        _RUN_ON.search(text)
        or _GLUED.search(text)
        or _SHOUTED.search(text)
        or text.count('"') % 2
        or text.count("(") != text.count(")")
    ):
        return None
    if text.endswith("?") or not (answer or _VERB.search(text)) or sum(map(str.isalpha, text)) < 0.6 * len(text):
        return None
    found = [fact for fact in _in_sentence(text) if _usable(text, fact)]
    if not found:
        return None
    start, end, kind, weak = min(found, key=lambda one: (one[3], _RANK.index(one[2]), one[0]))
    return Fact(kind, passage.start + start, passage.start + end, hint=_HINTS[kind], weak=weak)


_RANK = ("date", "time", "amount", "definition", "name")
_HINTS = {
    "date": "when",
    "time": "at what time",
    "amount": "how much or how many",
    "definition": "what it is or is called",
    "name": "who, what or where",
}


_Part = tuple[int, int, str, bool]  # where it stands in the sentence, its kind, whether it is weak


def _in_sentence(text: str) -> Iterator[_Part]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in (("date", _DATE), ("time", _TIME), ("amount", _AMOUNT)):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < high and low < end for low, high in taken):
                continue
            taken.append((start, end))
            number = _BARE.match(text, start)
            ends = (end, number.end()) if number else (end,)
            ranged = _RANGE_BEFORE.search(text[:start]) or any(_RANGE_AFTER.match(text, at) for at in ends)
            if kind != "time" and ranged:
                continue  # one end of a range, or one of several, answers half a question
            if kind != "amount":
                yield start, end, kind, False
            elif found := _amount(text, match):
                yield found
    for match in _CALLED.finditer(text):
        yield (*match.span(1), "definition", False)
    if (defined := _DEFINED.search(text)) and defined[2].count(" ") > 1 and defined[1].casefold() not in _NO_SUBJECT:
        yield (*defined.span(2), "definition", True)
    for match in _NAME.finditer(text):
        inside = any(match.start() < high and low < match.end() for low, high in taken)
        if (
            match.start() > 0
            and not _PLAIN_CAPITAL.match(match[0])
            and not inside
            and not re.search("['’]s?\\b", match[0])
        ):
            led = _LED.search(text[: match.start()]) is not None
            if led or " " in match[0]:
                yield (*match.span(), "name", not (led and " " in match[0]))


_NO_SUBJECT = ("it", "this", "that", "there", "what")


def _amount(text: str, match: re.Match[str]) -> _Part | None:
    """An amount with its unit. A bare number tells too little, unless it is a year; small counts in words are weak."""
    start, body = match.start(), match[0]
    if _LABEL.search(text[:start]) or text[match.end() :][:1] in ("]", ")") or re.match("0[0-9]", body):
        return None
    if (year := _YEAR.match(body)) and not re.match(r"[.,]?\d", body[4:]):
        return start, start + year.end(), "date", False
    unit = re.search(r"[ -]([^\W\d_][^ ]*(?: [a-z]+)?)$", body)
    if unit is not None and _NO_UNIT.fullmatch(unit[1].split()[0].casefold()):
        body, unit = body[: unit.start()], None
    if unit is not None and "illion" in body and not body.endswith("s"):
        body, unit = body[: unit.start()], None
    sure = body[0] in "$€£¥" or "%" in body or "°" in body
    if unit is None:
        return (start, start + len(body), "amount", False) if sure or re.search("\\d[,.]\\d{3}|illion", body) else None
    if body[0].isalpha():
        return (start, match.end(), "amount", not _MEASURES.search(body)) if body.endswith("s") else None
    return start, start + len(body), "amount", False


def _usable(text: str, fact: _Part) -> bool:
    """Words that a sentence has once, on one line, short enough to be expected of an answer, with something besides."""
    start, end, kind, _ = fact
    value = text[start:end]
    if "\n" in value or not 2 <= len(value) <= LONGEST_VALUE or text.count(value) != 1 or value[-1:] in " ,;:-":
        return False
    if kind == "name" and (len(value) < 4 or value.isupper() or re.search("[a-z]{3}[A-Z][a-z]", value)):
        return False
    rest = text[:start] + text[end:]
    return sum(is_content(token) for token in tokens(rest)) >= 3


def _cells(passage: Passage, row: str) -> Iterator[Fact]:
    """Each cell behind the first, asked for by its row and its column."""
    columns = [name for name, _ in cells(passage.head)] if passage.head else []
    values = cells(row)
    if len(columns) != len(values) or len(values) < 2 or not columns[1:] or not _says(values[0][0]):
        return
    entity = plain(values[0][0])
    for column, (value, place) in zip(columns[1:], values[1:], strict=True):
        if _says(column) and _says(value) and len(value) <= LONGEST_VALUE and row.count(value) == 1:
            start = passage.start + place
            yield Fact(
                "cell",
                start,
                start + len(value),
                hint=f"{plain(column)} of {entity}",
                question=wording(plain(column), entity),
            )


NO_NOUN = re.compile(
    r"(?i)^(?:what|how|when|may|then|condition|example|meaning|notes?|description)\b|\b(?:for|at|after|by|to|in)$|\bto\b"
)


def wording(name: str, entity: str) -> str:
    """A question for a property of a thing in the plainest words, which a person may better; none for a column that is
    no noun.
    """
    if NO_NOUN.search(name):
        return ""
    return f"What is the {name[:1].lower() + name[1:] if name[1:2].islower() else name} of {entity}?"


def plain(text: str) -> str:
    """Without the marks of Markdown."""
    return re.sub(r"[*`]|(?<!\w)_|_(?!\w)|\[([^\]]*)\]\([^)]*\)", r"\1", text).strip()


def _says(cell: str) -> bool:
    return (
        bool(re.search(r"\w", cell))
        and cell.casefold() not in ("n/a", "none", "tbd", "yes", "no", "x")
        and "\\|" not in cell
    )


_LABELS = re.compile(r"note|notes|example|examples|figure|table|warning|tip|see|caption|source|todo|locked|rule")


def is_label(name: str) -> bool:
    """Whether what stands before a colon names no property, as in `Note: …`."""
    return _LABELS.fullmatch(name.split(maxsplit=1)[0].casefold()) is not None


def _pair(passage: Passage, text: str) -> Iterator[Fact]:
    match = KEY_VALUE.fullmatch(text)
    if match is None or is_label(match[1]) or len(match[1].split()) > 3:
        return
    value = match[2].rstrip(" .*_")
    if (
        _says(value)
        and len(value) > 2
        and value[0].isalnum()
        and len(value.split()) <= 6
        and text.count(value) == 1
        and "://" not in value
    ):
        start = passage.start + match.start(2)
        yield Fact("value", start, start + len(value), hint=match[1])
