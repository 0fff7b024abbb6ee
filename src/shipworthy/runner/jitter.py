"""Jitters: harmless rewordings of a question, as pure functions of its text.

`strict` never changes what is asked: digits, code spans and URLs stay as they are, no word is lost.
`reference` repeats the transforms of the original scripts, mistakes included, for those who compare numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..errors import UsageError

JITTERS = ("none", "ws", "punct", "syn", "order", "para")
PROFILES = ("strict", "reference")

SYNONYMS = {"explain": "describe", "list": "enumerate", "compare": "contrast", "show": "display"}

# A span of code ends at as many backticks as it began with. The lookbehinds keep the search linear in the text.
_CODE = r"~~~.*?~~~|(?<!`)(?P<ticks>`{1,8})(?!`).*?(?<!`)(?P=ticks)(?!`)"
_HOST = r"[A-Za-z][A-Za-z0-9+.\-]*://|www\.|[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+/"
_URL = rf"(?<![A-Za-z0-9+.\-])(?:{_HOST})[^\s`]*[^\s`?.,:;!'\")\]]"
_KEPT = rf"(?P<kept>{_CODE}|{_URL})"
_SPACE = r"[^\S\n]"
_COMMA = rf"(?P<comma>{_SPACE}*,{_SPACE}*)"
_COLON = rf"(?P<colon>{_SPACE}+:(?={_SPACE}*(?P<next>\S?)))(?=\s|$)"
_SPACING = re.compile(rf"{_KEPT}|{_COMMA}|{_COLON}|{_SPACE}+", re.DOTALL)
_DASHES = re.compile(rf"{_KEPT}|[–—]", re.DOTALL)
_FINAL_MARK = re.compile(r"(?<=[^\s?])(\?+)\Z")
_TERMINAL = (".", "!", "?", "…", "。", "！", "？", "؟", "‽")
_CLOSERS = "\"')]}»”’"
_POLITE = r"(?:please\s+|(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
# After these the word was a noun ("List is empty", "list price") or has an object of its own ("show me").
_OF_A_NOUN = r"(?:is|are|was|were|has|vs|me|us|price|comprehension|length|size|type|index|view|item|element)\b"
_LEADING_VERB = re.compile(
    rf"(?P<before>\s*{_POLITE})(?P<verb>{'|'.join(SYNONYMS)})(?=\s+(?!{_OF_A_NOUN})\S)",
    re.IGNORECASE,
)
_CLAUSE = (
    r"with\s+(?:citations|sources|references)|in\s+(?:one|a\s+single|two|three)\s+(?:sentences?|paragraphs?|words?)"
)
_TWO_CLAUSES = re.compile(
    rf"(?P<base>.*\S)(?P<first_gap>\s*,\s*|\s+)(?P<first>{_CLAUSE})(?P<second_gap>\s*,?\s+(?:and\s+)?)"
    rf"(?P<second>{_CLAUSE})(?P<end>\s*[?.!]*\s*)",
    re.IGNORECASE | re.DOTALL,
)


def jitter(question: str, name: str, profile: str = "strict", *, paraphrases: Sequence[str] = (), turn: int = 0) -> str:
    """The question as the jitter `name` words it; `para` takes the gold item's paraphrases, one after the other."""
    if name == "para":
        return paraphrases[turn % len(paraphrases)] if paraphrases else question
    try:
        return _TRANSFORMS[profile][name](question)
    except KeyError:
        known, given = (PROFILES, profile) if profile not in PROFILES else (JITTERS, name)
        raise UsageError(
            f"{given!r} is not known", where="jitters", hint=f"Known are: {', '.join(known)}.", code="jitter-unknown"
        ) from None


def _same(question: str) -> str:
    return question


def _ws(question: str) -> str:
    """One space after a comma, none before a comma or colon, no runs of spaces."""
    return _SPACING.sub(_respaced, question).strip()


def _respaced(match: re.Match[str]) -> str:
    if match["kept"] is not None:
        return match["kept"]
    if match["comma"] is None and match["colon"] is None:
        return " "
    before = match.string[match.start() - 1 : match.start()]
    after = match["next"] or match.string[match.end() : match.end() + 1]
    if before.isdigit() and after.isdigit():
        return match[0]  # 1,000 is one number, 3 : 4 one ratio
    if match["colon"] is not None:
        return ":"
    spaced = match["comma"][-1] != "," and after not in ("", "\n")
    return ", " if spaced or after.isalnum() else ","


def _punct(question: str) -> str:
    """A space before a final "?", hyphens for dashes, and a final "?" where no mark ends the question."""
    if not question.strip():
        return question
    hyphened = _DASHES.sub(lambda match: match["kept"] or "-", question.rstrip())
    if hyphened.endswith("?"):
        return _FINAL_MARK.sub(r" \1", hyphened)
    return hyphened if hyphened.rstrip(_CLOSERS).endswith(_TERMINAL) else hyphened + "?"


def _syn(question: str) -> str:
    """The leading request verb by its synonym; the same word further on may be a noun and is left alone."""
    match = _LEADING_VERB.match(question)
    if match is None:
        return question
    return match["before"] + _cased(SYNONYMS[match["verb"].lower()], match["verb"]) + question[match.end() :]


def _cased(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


def _order(question: str) -> str:
    """Two trailing request clauses change places; commas and the final mark stay where they are."""
    match = _TWO_CLAUSES.fullmatch(question)
    if match is None:
        return question
    parts = ("base", "first_gap", "second", "second_gap", "first", "end")
    return "".join(match[part] for part in parts)


# The reference transforms. Their mistakes are the point: digits are split at commas, every "?" is moved, nouns are
# replaced, and text after the two clauses is lost.
_REFERENCE_CLAUSE = re.compile(r"\s+with\s+citations\s*,?\s*|\s*,?\s*in\s+one\s+sentence\s*", re.IGNORECASE)
_REFERENCE_SPACING = ((r"\s+,", ","), (r",\s*", ", "), (r"\s+:", ": "), (r"\s{2,}", " "))


def _reference_ws(question: str) -> str:
    for pattern, spaced in _REFERENCE_SPACING:
        question = re.sub(pattern, spaced, question)
    return question.strip()


def _reference_punct(question: str) -> str:
    for old, new in (("?", " ?"), ("  ", " "), ("—", "-"), ("–", "-")):
        question = question.replace(old, new)
    return question + "?" if question and not question.endswith((".", "!", "?")) else question


def _reference_syn(question: str) -> str:
    for verb, synonym in SYNONYMS.items():
        question = re.sub(rf"\b{verb}\b", synonym, question, flags=re.IGNORECASE)
    return question


def _reference_order(question: str) -> str:
    match, lowered = _REFERENCE_CLAUSE.search(question), question.lower()
    if match is None or "with citations" not in lowered or "in one sentence" not in lowered:
        return question
    return f"{question[: match.start()].strip()} in one sentence, with citations"


_TRANSFORMS: dict[str, dict[str, Callable[[str], str]]] = {
    "strict": {"none": _same, "ws": _ws, "punct": _punct, "syn": _syn, "order": _order},
    "reference": {
        "none": _same,
        "ws": _reference_ws,
        "punct": _reference_punct,
        "syn": _reference_syn,
        "order": _reference_order,
    },
}
