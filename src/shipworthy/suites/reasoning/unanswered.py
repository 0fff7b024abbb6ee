"""Unanswered: whether an answer to what the evidence does not tell says so, and gives nothing for it after all."""

from __future__ import annotations

import re

from .anchors import NoteIndex, find, find_citations
from .clauses import Clause, read
from .statements import statements
from .words import content

# Something is lacking, said of what was looked through or by who looked: `none was stolen` alone is an answer.
_LACKING = re.compile(
    r"\b(?:not|no|none|neither|nor|never|nothing|nobody|nowhere|without|lack\w*|missing|blank|unknown|undocumented"
    r"|silent|beyond"
    r"|outside|empty|zip|absent|unanswer\w*|unsupported|cannot|unable)\b|n't\b|\b(?:stays?|remains?|leave\w*"
    r"|left)(?: \w+){0,3} open\b"
    r"|\b(?:i'd|we'd|would|i) (?:need|ask)\b|\b(?:have|had) to ask\b|\ball (?:i|we) have\b|\bsomething else\b"
    r"|\bleaves? out\b"
    r"|\bopen question\b|\bdifferent matter\b|(?:^|, |; )ask \w+\b",
    re.IGNORECASE,
)
_LOOKED = re.compile(
    r"\b(?:notes?|found|that's all|record\w*|evidence|documents?|documentation|sources?|files?|material|metrics"
    r"|journal|entry|entries|data|given"
    r"|handed|i|i'd|i'm|i've|me|my|here|anywhere|nowhere|mention\w*|documented|undocumented|written|cover\w*|track\w*"
    r"|unknown"
    r"|answer\w*|unanswer\w*|blank|folder|paper\w*|question|context|can't|wrote|measur\w+)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"(?:where|if|when|unless|should|once|until)\b", re.IGNORECASE)
_WORKED_OUT = re.compile(
    r"\b(?:comes? to|works? out|amounts? to|adds? up|adding up|leaves \d|worked out|impl(?:y|ies)|gives? (?:about"
    r"|roughly|around|\d)|averag\w+|go with"
    r"|is the (?:figure|number|answer|one)|(?:price|rate|answer|figure|number|cost|discount|share|total) (?:is|was"
    r"|stands at))\b",
    re.IGNORECASE,
)
_CAUSED = re.compile(
    r"\b(?:because|due to|mostly|mainly|reasons? (?:is|are|was|were)|is the reason|caused by|thanks to|driven by)\b",
    re.I,
)


def leaves_unanswered(text: str, store: NoteIndex) -> bool:
    """Something is said to be lacking, and neither a value nor a cause is given for what only the question has."""
    reading = read(text)
    anchors = find(text, store)
    if anchors.unresolved or anchors.invented or not statements(reading, store):
        return False
    clauses = [clause for clause in reading.clauses if not clause.asked and not _SUPPOSED.match(clause.text)]
    lacking = any(_LACKING.search(clause.text) for clause in clauses) and bool(_LOOKED.search(text))
    asked = store.asked & content(store.prompt)
    new = {word for word in asked if not word[:1].isdigit()} - set().union(*store.words.values())
    return lacking and not any(_gives(clause, new, store) for clause in clauses)


def _gives(clause: Clause, new: set[str], store: NoteIndex) -> bool:
    """A number worked out or put to what was asked, or a cause of it."""
    if any(clause.negated) or _LACKING.search(clause.text):
        return False
    spans = [(citation.start, citation.end) for citation in find_citations(clause.text, store)]
    plain = [t for t in clause.tokens if not any(start <= t.start < end for start, end in spans)]
    numbers = [t for t in plain if t.raw[:1].isdigit() and "-" not in t.norm]
    counted = bool(numbers)
    asked_for = any(t.norm in new for t in plain)
    if any(t.norm.endswith("%") and t.norm not in store.known for t in numbers):  # a share that nobody gave
        return True
    if counted and (asked_for or _WORKED_OUT.search(clause.text)):
        return True
    return asked_for and not clause.hedged and bool(_CAUSED.search(clause.text))
