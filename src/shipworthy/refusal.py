"""Refusals: the exact token that gates count, claims that nearly say it, and wider rules one may declare."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from shipworthy.errors import UsageError

if TYPE_CHECKING:
    import os
    import re

TOKEN = "not in context"
MODES = ("exact", "natural", "phrases")
LONGEST_PHRASE = 1000
LONGEST_LABEL = 6  # words before a colon that only name what follows
OF_SOURCE = ("about", "reported", "silence")  # clauses about the source: what "it" is after them
REFUSING = ("unanswered", "hedge", "silence")
# Letters of other scripts that look like those of the token; NFKD sees to accents and full-width letters.
LOOKALIKES = {"c": "сϲⲥ", "e": "еεⲉ", "i": "іιıⲓ", "n": "пոռ", "o": "оοօⲟ", "t": "тτⲧ", "x": "хχⲭ"}


def is_exact(claim: str) -> bool:
    """The default rule, and the one that precision is gated on: the token, after strip and case fold."""
    return claim.strip().casefold() == TOKEN


def is_drifted(claim: str) -> bool:
    """A refusal whose bytes are not exactly the token: other case, or white space around it."""
    return claim != TOKEN and is_exact(claim)


def is_near(claim: str) -> bool:
    """The claim has the token in it, whatever its case, spacing, punctuation or letters, but is not it."""
    if claim.isascii() and "context" not in claim.lower():  # nothing to disguise, and not there
        return False
    return not is_exact(claim) and f" {TOKEN} " in f" {_skeleton(claim)} "


class RefusalRule(msgspec.Struct, frozen=True):
    """A declared rule: the exact token always matches, and whatever else the rule calls a refusal."""

    name: str
    whole: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()

    def matches(self, claim: str) -> bool:
        if is_exact(claim):
            return True
        return _natural(claim) if self.name == "natural" else _has_phrase(claim, self.whole, self.starts)


def opens_refusing(claim: str) -> bool:
    """Whether a claim in natural words begins by refusing, however much it then tells of what there is instead."""
    if not _has_cue(claim):
        return False
    rules = _natural_rules()
    found = _unless_content(rules.kinds_of(_clauses(claim[: rules.characters])), "answer" in claim.lower())
    if found is None:
        return False
    kinds = [kind for kind, _ in found]
    if "guess" in kinds or any(kind == "content" and _gives_value(words) for kind, words in found):
        return False
    return "verdict" in kinds or _opening(kinds) in REFUSING


def load_rule(mode: str, phrases: Iterable[str] = ()) -> RefusalRule:
    """The rule `exact` (nothing wider), `natural` (the phrases shipped here) or `phrases` (those given)."""
    if mode not in MODES:
        hint = f"Use one of {', '.join(MODES)}."
        raise UsageError(f"{mode!r} is not a refusal rule", hint=hint, code="refusal-rule-unknown")
    if mode != "phrases":
        return RefusalRule(mode)
    checked = [_checked(phrase, where="") for phrase in phrases]
    whole = frozenset(_canonical(phrase) for phrase in checked if not phrase.endswith("*"))
    starts = sorted({_canonical(phrase) for phrase in checked if phrase.endswith("*")})
    return RefusalRule("phrases", whole, tuple(starts))


def read_phrases(path: str | os.PathLike[str]) -> list[str]:
    """The phrases of a file: one a line, `#` starts a comment line, blank lines are skipped."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(
            f"the phrases can't be read: {reason}",
            where=str(path),
            hint="Give a UTF-8 text file with one phrase a line.",
            code="refusal-phrases-unreadable",
        ) from None
    phrases = [
        _checked(line, where=f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ]
    if not phrases:
        raise UsageError(
            "no phrase in the file",
            where=str(path),
            hint="Write one refusal wording a line, or drop the option to use the exact token only.",
            code="refusal-phrases-empty",
        )
    return phrases


# --- near: a skeleton of the text, made one character at a time so that hostile input stays linear ---


class _Skeleton(dict[int, str]):
    """What each character looks like: a plain lower-case letter, a space, or nothing at all."""

    def __missing__(self, point: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(point)).casefold()
        look = "".join(_look(character) for character in plain)
        if len(self) < 10_000:  # text in every script of the world must not make the table a leak
            self[point] = look
        return look


def _look(character: str) -> str:
    if character.isalnum():
        return next((letter for letter, alike in LOOKALIKES.items() if character in alike), character)
    # Marks (accents) and format characters (zero-width joiners, direction marks) are not seen.
    return "" if unicodedata.category(character) in ("Mn", "Me", "Cf") else " "


_SKELETONS = _Skeleton()


def _skeleton(text: str) -> str:
    return " ".join(text.translate(_SKELETONS).split())


# --- phrases: the whole claim, or its beginning where the phrase ends in `*` ---


def _has_phrase(claim: str, whole: frozenset[str], starts: tuple[str, ...]) -> bool:
    # Phrases are short, so the claim's beginning decides and a huge claim costs nothing.
    text = claim.strip()
    head = _canonical(text[: 8 * LONGEST_PHRASE])
    if len(text) <= 8 * LONGEST_PHRASE and head in whole:
        return True
    return any(head.startswith(start) and not head[len(start) : len(start) + 1].isalnum() for start in starts)


def _checked(phrase: str, where: str) -> str:
    phrase = phrase.strip()
    if len(phrase) <= LONGEST_PHRASE and _canonical(phrase):
        return phrase
    raise UsageError(
        f"a refusal phrase needs letters or digits and at most {LONGEST_PHRASE:,} characters",
        where=where,
        hint="Write the wording as the system says it; end it with * to match how a claim begins.",
        code="refusal-phrase-invalid",
    )


def _canonical(text: str) -> str:
    """NFC, case folded, white space collapsed, straight apostrophes, without punctuation at the end."""
    folded = unicodedata.normalize("NFC", text).replace("\u2019", "'").casefold()
    words = " ".join(folded.split())
    end = len(words)
    while end and not words[end - 1].isalnum():
        end -= 1
    return words[:end]


# --- natural: clauses, the kind of each, and what the kinds add up to ---


def _natural(claim: str) -> bool:
    if not _has_cue(claim):
        return False
    rules = _natural_rules()
    text = claim.strip()
    if len(text) > rules.characters:
        return False
    found = _unless_content(rules.kinds_of(_clauses(text)), "answer" in text.lower())
    return found is not None and rules.refuses(found)


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
    """The first kind that answers or refuses; what a source is reported to say answers, unless the speaker then can't tell."""
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
    """Plain words, and what they are in the claim: asked, listed, a label, a condition, a reason, or nothing special."""

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
    import re

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
    import re

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
    "accurately", "actually", "also", "clearly", "confidently", "currently", "definitively", "directly",
    "entirely", "explicitly", "fully", "hence", "hmm", "honestly", "kindly", "quite", "really", "simply",
    "specifically", "still", "therefore", "thus", "unfortunately", "well",
}  # fmt: skip
# The main clause begins after the last comma before a pronoun or an article, or else after the first comma.
_SUBORDINATE = (
    r"\s*(?:but |and )?(?:although|though|while|as|since|because|if|when|unless|after|based on|according to|in|within|from|given"
    r"|without|regarding)\b(?:.*,(?= (?:it|they|there|i|we|he|she|this|that|the|you|no|none)\b)|[^,]*,)"
)
# "but not ..." keeps its first words: what follows them is what is lacking.
_CUT = (
    r"([,;]? ?\b(?:but(?! (?:not|no|neither|nothing|never)\b)|however|although|though|nevertheless)\b"
    r"|,? (?:because|since)\b|, as(?= (?:the|it|they|i|we|this|that|there|no|none)\b)|, (?:so|which|therefore)\b"
    r"| [\u2013\u2014-]+ |[,;]? ?(?=\bbut (?:not|no|neither|nothing|never)\b)| and(?= (?:it |they )?(?:do|does|did) not\b)"
    r"|, and(?= (?:i|it|they|the|there|neither|no|none)\b))"
)


def _without_apology(words: str) -> str:
    import re

    lead = r"(?:i am |i do |i must |we are |please accept |my |very |so |really |sincerely |sorry|apolog\w*|unfortunately|regrettably|for the \w+|about that|to say(?: that)?|that )"
    return re.sub(rf"^(?:{lead}\s*)+", "", f"{words} ").strip()


_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00ab\u00bb", '\'\'""""')
_SPELLED_OUT = (
    ("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("n't", " not"), ("dunno", "do not know"),
)  # fmt: skip
_SPELLED = {"m": " am", "re": " are", "ve": " have", "ll": " will", "d": " would"}


# Nothing reads like a refusal without one of these; most answers have none, and cost next to nothing.
_CUES = (
    " no ", " not", "cannot", "n't", "n’t", " none", " nowhere", "neither", " without ", " can only ", " could only ", " am just ",
    " am only ", " are just ", " are only ", " was just ", " was only ", " were just ", " were only ", " need more ", " need some ",
    " need additional ", " need further ", " hard to ", " hard for ",
    "difficult", "afraid", "sorry", " silent", " vague", "ambiguous", " beyond ", " out of ", " outside ", "n/a", "as an ai", "unable", "unsure", "unaware", "unanswer", "unclear",
    "unknown", "unspecified", "unrelated", "unfortunately", "impossible", "insufficient", "inadequate", "incomplete",
    "irrelevant", "lack", "apolog", "regret", "never", "missing", "beats me", "dunno", " leaves ", " leave ", " left ", "unexplained", "unmentioned",
    "unstated", "open ", " fail to ", " fails to ", " failed to ", "neglect",
)  # fmt: skip


@cache
def _natural_rules() -> _NaturalRules:
    """The bundled phrases, read at first use so that importing this module stays cheap."""
    import os
    import tomllib

    # Plain open: importlib.resources would cost more than all of the rest.
    with open(os.path.join(os.path.dirname(__file__), "data", "refusals.toml"), "rb") as stream:
        data: dict[str, Any] = tomllib.load(stream)
    phrases = [_phrase(kind, text.split(), data["words"]) for kind, listed in data["kinds"].items() for text in listed]
    places: dict[str, list[int]] = {}
    for place, phrase in enumerate(phrases):
        for word in min(phrase.needs, key=len, default=[""]):
            places.setdefault(word, []).append(place)
    return _NaturalRules(**data["limits"], phrases=phrases, places=places)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    import re

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
