"""Natural: refusals in English, by the clauses of a claim, the kind of each, and what the kinds add up to."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

LONGEST_LABEL = 6  # words before a colon that only name what follows
OF_SOURCE = ("about", "reported", "silence")  # clauses about the source: what "it" is after them
REFUSING = ("unanswered", "hedge", "silence")


def refuses(claim: str) -> bool:
    """Whether a claim in natural words refuses, and does not answer after all."""
    if not _has_cue(claim):
        return False
    rules = _natural_rules()
    text = claim.strip()
    if len(text) > rules.characters:
        return False
    found = _unless_content(rules.kinds_of(_clauses(text)), "answer" in text.lower())
    return found is not None and rules.refuses(found)


def opens_refusing(claim: str) -> bool:
    """Whether a claim in natural words begins by refusing, however much it then tells of what there is instead."""
    kinds = _kinds_without_value(claim)
    return "verdict" in kinds or _opening(kinds) in REFUSING


def _kinds_without_value(claim: str) -> list[str]:
    """The kinds of the clauses; none where a value is given or guessed."""
    if not _has_cue(claim):
        return []
    rules = _natural_rules()
    found = list(rules.kinds_of(_clauses(claim[: rules.characters])))
    kinds = [kind for kind, _ in found]
    gives = "guess" in kinds or any(kind == "content" and _gives_value(words) for kind, words in found)
    return [] if gives else kinds


def _has_cue(claim: str) -> bool:
    lowered = f" {' '.join(claim.lower().split())} "
    return lowered == " na " or any(cue in lowered for cue in _CUES)


def _unless_content(found: Iterable[tuple[str, str]], verdict: bool) -> list[tuple[str, str]] | None:
    """All clauses with their kinds; None as soon as content opens, for that answers, unless a verdict may follow."""
    clauses: list[tuple[str, str]] = []
    for kind, words in found:
        if kind in ("content", "guess") and not verdict and all(earlier not in REFUSING for earlier, _ in clauses):
            return None
        clauses.append((kind, words))
    return clauses


class _Phrase(msgspec.Struct, frozen=True):
    """A phrase of refusals.toml: its kind, the words it can't do without (of each set one), its pattern."""

    kind: str
    needs: tuple[frozenset[str], ...]
    pattern: str

    def stands_in(self, clause: str, words: set[str]) -> bool:
        # Most phrases lack a word, and their patterns are neither compiled nor tried.
        if any(need.isdisjoint(words) for need in self.needs):
            return False
        return _compiled(self.pattern).search(f" {clause} ") is not None


class _NaturalRules(msgspec.Struct, frozen=True):
    characters: int
    after_unanswered: int
    after_silence: int
    phrases: list[_Phrase]  # the first kind that has a phrase in a clause is the clause's
    places: dict[str, list[int]]  # of the phrases by a word that each has; those that need none under ""

    def kinds_of(self, clauses: Iterable[_Clause]) -> Iterator[tuple[str, str]]:
        """The kind of each clause with its words; an apology before something else stands for itself."""
        lead = last = "content"  # the kind of what introduces a list, and of the clause before
        for clause in clauses:
            kinds = self._kinds(clause)
            if last in OF_SOURCE and kinds == ["content"]:  # "it" may be the source
                kinds = [kind if kind in (*REFUSING, "about") else "content" for kind in self._kinds(clause.of_text())]
            aside = clause.role == "asked" or (clause.role == "listed" and lead in (*OF_SOURCE, *REFUSING))
            aside = aside or (kinds == ["content"] and _explains(clause.role, last))
            kinds = ["filler"] if aside else kinds
            lead, last = lead if clause.role == "listed" else kinds[-1], kinds[-1]
            yield from ((kind, clause.words) for kind in kinds)

    def _kinds(self, clause: _Clause) -> list[str]:
        kind = self._kind(clause.words, clause.role == "condition")
        if kind != "apology":
            return [kind]
        rest = _without_apology(clause.words)
        if rest.startswith("to hear"):  # sympathy, not a refusal
            return ["filler"]
        return ["apology", self._kind(rest)] if rest else ["apology"]

    def _kind(self, clause: str, condition: bool = False) -> str:
        words = set(clause.split())
        near = sorted({place for word in [*words, ""] for place in self.places.get(word, ())})
        phrase = next((found for found in map(self.phrases.__getitem__, near) if found.stands_in(clause, words)), None)
        kind = phrase.kind if phrase else "content"
        return "content" if condition and kind in REFUSING else kind

    def refuses(self, clauses: Sequence[tuple[str, str]]) -> bool:
        """A verdict anywhere, or an opening that refuses and no more content than such an opening allows."""
        kinds = [kind for kind, _ in clauses]
        if "verdict" in kinds:
            return True
        opening = _opening(kinds)
        if opening is None:
            return "apology" in kinds
        if opening in ("content", "guess", "reported"):
            return False
        strong = opening == "unanswered" or kinds[0] == "apology"
        # Who lacks only the full answer goes on to give what the source has.
        telling = ("content", "guess", *(OF_SOURCE if opening == "hedge" else ()))
        content = sum(len(words.split()) for kind, words in clauses if kind in telling)
        refusing = sum(len(words.split()) for kind, words in clauses if kind in REFUSING)
        return 10 * content <= (self.after_unanswered if strong else self.after_silence) * refusing


def _opening(kinds: Sequence[str]) -> str | None:
    """The first kind that answers or refuses.

    What a source is reported to say answers, unless the speaker then can't tell.
    """
    aside = ("apology", "about", "filler", *(("reported",) if "unanswered" in kinds else ()))
    return next((kind for kind in kinds if kind not in aside), None)


def _gives_value(words: str) -> bool:
    """`it is 12 hours`: a value for what was asked, whatever was said before."""
    subject, _, rest = words.partition(" ")
    subject, rest = rest.split(" ", 1) if subject == "the" and " " in rest else (subject, rest)
    asked = subject in ("it", "they", "that", "this", "answer", "figure", "number", "rate", "value", "reason")
    return (
        asked and rest.split(" ")[0] in ("is", "are", "was", "were", "takes", "costs") and any(map(str.isdigit, rest))
    )


class _Clause(msgspec.Struct, frozen=True):
    """Plain words, and what they are in the claim: asked, listed, a label, a condition, a reason, or none of these."""

    words: str
    role: str = ""

    def of_text(self) -> _Clause:
        """The clause with the source in place of a pronoun at its start."""
        first, _, rest = self.words.partition(" ")
        if first == "there" and rest.startswith(("is no ", "are no ", "was no ", "were no ")):
            return _Clause(f"text has {rest.partition(' ')[2]}", self.role)
        return _Clause(f"text {rest}", self.role) if first in ("it", "they", "which") else self


def _explains(role: str, last: str) -> bool:
    """A reason for what was just refused, or a label of what comes."""
    return role == "label" or (role == "reason" and last in REFUSING)


def _clauses(text: str) -> Iterator[_Clause]:
    """The claim as plain words, cut at sentence ends, lines, contrasts and reasons, contractions spelled out."""
    folded = unicodedata.normalize("NFKC", text).translate(_STRAIGHT).casefold()
    # What someone else is quoted as saying is not the answer's own refusal, unless the quotes wrap the whole.
    bare = folded.strip('" ')
    folded = re.sub(r'"[^"]{1,400}"', " quoted ", folded) if '"' in bare else bare
    for short, long in _SPELLED_OUT:
        folded = folded.replace(short, long)
    folded = re.sub(r"\b(it|that|there|this|what|here)'s\b", r"\1 is", folded).replace("'s", "")
    folded = re.sub(r"'(m|re|ve|ll|d)\b", lambda match: _SPELLED[match[1]], folded)
    if re.match(r"\s*(?:yes|no|nope|yep)\s*[,.!:\u2013\u2014-]", folded):
        yield _Clause("yes or no", "said")
    for marked in folded.split("\n"):
        heading = re.fullmatch(r"\s*(?:#{1,6} .*|\*\*[^*]{1,80}\*\*:?)\s*", marked)
        line = re.sub(r"[*_#`>]+(?=\S)|(?<=\S)[*_#`]+|^\s*#+ ", "", marked)
        item = re.match(r"\s*(?:[-*\u2022]|\d{1,2}[.)])\s", line)
        pieces = re.split(r"([.!?;:\u2026]+(?=\s|$))", line[item.end() :] if item else line)
        for piece, mark in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            role = "label" if heading else "asked" if "?" in mark else "listed" if item else ""
            yield from (clause for clause in _parts(piece, role, mark) if any(map(str.isalpha, clause.words)))


def _parts(sentence: str, role: str, mark: str) -> Iterator[_Clause]:
    """A sentence cut where it turns, gives its reason, or where a leading subordinate clause ends."""
    sentence = sentence.replace(", however,", "")
    opening = re.match(_SUBORDINATE, sentence)
    heads = [sentence[: opening.end()], sentence[opening.end() :]] if opening else [sentence]
    for head in heads:
        because = ""
        parts = re.split(_CUT, head)
        for number, part in enumerate(parts):
            if number % 2:
                because = "reason" if part and part.strip(" ,") in ("because", "since", "as") else ""
                continue
            words = " ".join(word for word in re.findall(r"\w+", part) if word not in _ADVERBS)
            words = re.sub(r"^(?:(?:and|although|though|while|as|since|because|so|yet)(?! per| far| an) )+", "", words)
            words = f"i {words[3:]}" if words.startswith("we ") else words
            condition = words.startswith(("if ", "when ", "whenever ", "unless ", "in case "))
            is_label = ":" in mark and head is heads[-1] and number == len(parts) - 1 and _is_label(words)
            yield _Clause(words, "label" if is_label else role or because or ("condition" if condition else ""))


def _is_label(words: str) -> bool:
    """A few words before a colon name what follows; `it does not:` answers."""
    return len(words.split()) <= LONGEST_LABEL and not words.endswith(" not")


# They change how strongly something is said, not what.
_ADVERBS = {
    "accurately",
    "actually",
    "also",
    "clearly",
    "confidently",
    "currently",
    "definitively",
    "directly",
    "entirely",
    "explicitly",
    "fully",
    "hence",
    "hmm",
    "honestly",
    "kindly",
    "quite",
    "really",
    "simply",
    "specifically",
    "still",
    "therefore",
    "thus",
    "unfortunately",
    "well",
}
# The main clause begins after the last comma before a pronoun or an article, or else after the first comma.
_SUBORDINATE = (
    r"\s*(?:but |and )?(?:although|though|while|as|since|because|if|when|unless|after|based on|according to|in|within"
    r"|from|given|without|regarding)\b(?:.*,(?= (?:it|they|there|i|we|he|she|this|that|the|you|no|none)\b)|[^,]*,)"
)
# "but not ..." keeps its first words: what follows them is what is lacking.
_CUT = (
    r"([,;]? ?\b(?:but(?! (?:not|no|neither|nothing|never)\b)|however|although|though|nevertheless)\b"
    r"|,? (?:because|since)\b|, as(?= (?:the|it|they|i|we|this|that|there|no|none)\b)|, (?:so|which|therefore)\b"
    r"| [\u2013\u2014-]+ |[,;]? ?(?=\bbut (?:not|no|neither|nothing|never)\b)"
    r"| and(?= (?:it |they )?(?:do|does|did) not\b)"
    r"|, and(?= (?:i|it|they|the|there|neither|no|none)\b))"
)


def _without_apology(words: str) -> str:
    lead = (
        r"(?:i am |i do |i must |we are |please accept |my |very |so |really |sincerely |sorry|apolog\w*|unfortunately"
        r"|regrettably|for the \w+|about that|to say(?: that)?|that )"
    )
    return re.sub(rf"^(?:{lead}\s*)+", "", f"{words} ").strip()


_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb", '\'\'""""')
_SPELLED_OUT = (
    ("can't", "can not"),
    ("cannot", "can not"),
    ("won't", "will not"),
    ("n't", " not"),
    ("dunno", "do not know"),
)
_SPELLED = {"m": " am", "re": " are", "ve": " have", "ll": " will", "d": " would"}


# Nothing reads like a refusal without one of these; most answers have none, and cost next to nothing.
_CUES = (
    " no ",
    " not",
    "cannot",
    "n't",
    "n’t",
    " none",
    " nowhere",
    "neither",
    " without ",
    " can only ",
    " could only ",
    " am just ",
    " am only ",
    " are just ",
    " are only ",
    " was just ",
    " was only ",
    " were just ",
    " were only ",
    " need more ",
    " need some ",
    " need additional ",
    " need further ",
    " hard to ",
    " hard for ",
    "difficult",
    "afraid",
    "sorry",
    " silent",
    " vague",
    "ambiguous",
    " beyond ",
    " out of ",
    " outside ",
    "n/a",
    "as an ai",
    "unable",
    "unsure",
    "unaware",
    "unanswer",
    "unclear",
    "unknown",
    "unspecified",
    "unrelated",
    "unfortunately",
    "impossible",
    "insufficient",
    "inadequate",
    "incomplete",
    "irrelevant",
    "lack",
    "apolog",
    "regret",
    "never",
    "missing",
    "beats me",
    "dunno",
    " leaves ",
    " leave ",
    " left ",
    "unexplained",
    "unmentioned",
    "unstated",
    "open ",
    " fail to ",
    " fails to ",
    " failed to ",
    "neglect",
)


@cache
def _natural_rules() -> _NaturalRules:
    """The bundled phrases, read at first use so that importing this module stays cheap."""
    import tomllib

    # Plain open: importlib.resources would cost more than all of the rest.
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "refusals.toml"), "rb") as stream:
        data = tomllib.load(stream)
    phrases = [_phrase(kind, text.split(), data["words"]) for kind, listed in data["kinds"].items() for text in listed]
    places: dict[str, list[int]] = {}
    for place, phrase in enumerate(phrases):
        for word in min(phrase.needs, key=len, default=[""]):
            places.setdefault(word, []).append(place)
    return _NaturalRules(**data["limits"], phrases=phrases, places=places)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _phrase(kind: str, parts: list[str], words: dict[str, list[str]]) -> _Phrase:
    """A phrase as a pattern over ` word word word `, each word with the space before it."""
    marks = {"^": "^", "$": " $", "..": r"(?: \w+){0,4}?"}
    needs, pattern = [], ""
    for part in parts:
        if part in marks:
            pattern += marks[part]
            continue
        options, optional = _options(part, words), part.startswith("[")
        either = "|".join(options).replace("*", r"\w*")
        pattern += f"(?: (?:{either})){'?' if optional else ''}"
        if not optional and "*" not in part:
            needs.append(frozenset(option.split()[0] for option in options))
    return _Phrase(kind, tuple(needs), pattern if pattern.endswith(" $") else pattern + "(?= )")


def _options(part: str, words: dict[str, list[str]]) -> list[str]:
    """The words that may stand in one place of a phrase."""
    listed = (words[option[1:-1]] if option.startswith("{") else [option] for option in part.strip("[]").split("|"))
    return [word for options in listed for word in options]
