"""Denial: the words that show that a text which stands in a sentence is not stated by it. One reader for every pack.

text → sentence → clauses → negated? called false? so once? corrected? left open? asked?
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from .packs import WORD, Pack
from .words import stem_in

REACH = 400  # characters on either side of a place in which its sentence is looked for
FEW = 3  # words of a clause that only introduces or judges the next, and words that "without" reaches
NEAR = 30  # characters between words that belong together
ITEM = 4  # words that an item of a list "A, B, or C" may have
ASKING = ("?", "？", "؟")
# A text without a word of these is read no further.
NEGATING = ("negators", "nominal", "except", "after", "next")
_FALSE, _ONCE = ("false", "falsely"), ("past", "until", "from")
_BELIEVED, _OPEN = ("unreal", "believed", "corrects"), ("either", "maybe")
DENYING = (*NEGATING, *_FALSE, *_ONCE, *_BELIEVED, *_OPEN)
STOP = re.compile(r"[.!?;](?![^\W_])|[。！？؟।\n]")
_BREAK = re.compile(r"[,;:()\[\]—–،、，；：「」]| -+ ")
_BLANK = re.compile(r"[\s\"'*_)`]*")
_TOKEN = re.compile(r"\w+")


@lru_cache(maxsize=16)  # a claim that fails is looked at once more, to say why
def denied(text: str, start: int, end: int, pack: Pack, question: str = "") -> str:
    """The words that show that what stands at this place is not stated there; nothing where it is."""
    low, high = sentence_at(text, start, end)
    if text[high : high + 1] in ASKING:
        return text[high]
    following = text[high : high + 3 * NEAR]
    here = pack.present(text[low : high + 3 * NEAR])
    if here.isdisjoint(DENYING):
        return ""
    sentence, start, end = _plain(text[low:high], pack, here), start - low, end - low
    clause = _Clause(sentence, start, end, pack, here)
    if not here.isdisjoint(NEGATING):
        if words := clause.negation(question):
            return words
        if clause.cancelled:
            return ""
    is_called_false = not here.isdisjoint(_FALSE) and not pack.has("false", pack.fold(question))
    if is_called_false and (words := clause.falsity(following)):
        return words
    if not here.isdisjoint(_ONCE) and (words := _outdated(clause, question)):
        return words
    if not here.isdisjoint(_BELIEVED) and (words := clause.correction(following)):
        return words
    return "" if here.isdisjoint(_OPEN) else clause.choice()


def negated(text: str, start: int, end: int, pack: Pack) -> str:
    """The negation that reaches a place, or nothing."""
    low, high = sentence_at(text, start, end)
    here = pack.present(text[low:high])
    if here.isdisjoint(NEGATING):
        return ""
    return _Clause(_plain(text[low:high], pack, here), start - low, end - low, pack, here).negation("")


@lru_cache(maxsize=8192)
def negates(text: str, pack: Pack) -> bool:
    """Whether an expected text is a denial itself."""
    plain = pack.slot("idioms").sub("", pack.fold(text))
    return any(pack.has(name, plain) for name in ("negators", "nominal", "after", "false"))


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around a place, as far as it lies within reach."""
    low, high = max(0, start - REACH), min(len(text), end + REACH)
    for stop in STOP.finditer(text, low, start):
        low = stop.end()
    after = STOP.search(text, end, high)
    return low, after.start() if after else high


def _plain(sentence: str, pack: Pack, here: frozenset[str] | set[str]) -> str:
    """The sentence without wordings that have a negation in them and deny nothing."""
    if "idioms" not in here:
        return sentence
    return pack.slot("idioms").sub(lambda match: "·" * len(match[0]), sentence)


class _Clause:
    """The clause around a place: what stands before it and after it, and the clauses on either side."""

    def __init__(self, sentence: str, start: int, end: int, pack: Pack, here: Collection[str]) -> None:
        self.pack, self.sentence, self.start, self.end = pack, sentence, start, end
        self.here = here  # the lists that the sentence may have a word of; no other is searched for
        self.cuts = [0, *cuts(sentence, pack, here), len(sentence)]
        self.left = max(cut for cut in self.cuts if cut <= start)
        self.right = min((cut for cut in self.cuts if cut >= end and cut > start), default=len(sentence))
        while pack.spaced and end < self.right and sentence[end].isalpha():  # another form of the word
            end += 1
        self.before, self.after = sentence[self.left : start], sentence[end : self.right]
        self.cancelled = False  # two negations, or one of a word that calls it false

    def lead(self) -> str:
        """The clause before, if it only introduces this one: "formerly, it was X", "the former chair, X, left"."""
        if not self.left:
            return ""
        low = max((cut for cut in self.cuts if cut < self.left), default=0)
        text = self.sentence[low : self.left]
        short = len(WORD.findall(text)) <= FEW if self.pack.spaced else len(text) < 2 * FEW
        return text if short or not WORD.search(self.before + self.after) else ""

    def negation(self, question: str) -> str:
        """The negation that reaches the place, if their number is odd; in some languages two are one."""
        pack, here, before, after = self.pack, self.here, self.before, self.after
        reaching = [
            match
            for name, most in (("negators", 0), ("nominal", FEW), ("except", FEW))
            for match in (pack.slot(name).finditer(before) if name in here else ())
            if self._reaches(match, most)
        ]
        if len(reaching) > 1 and "nor" in pack.lists:  # "neither X nor Y" denies once
            reaching = [match for match in reaching if match[0] not in pack.words("nor")] or reaching[:1]
        following = list(pack.slot("after").finditer(after)) if "after" in here else []
        begins = _BLANK.match(after).end() if "next" in here else 0  # type: ignore[union-attr]
        if "next" in here and (match := pack.slot("next").match(after, begins)):
            following.append(match)
        called = sum(self._is_false(match, before) for match in reaching)
        called += sum(self._is_false(match, after) for match in following)
        behind = [match[0] for match in following] or list(filter(None, [self._denied_of_it(question)]))
        count = len(reaching) + len(behind) - called
        if not count and not called and pack.has("true", after) and (word := pack.has("negators", after)):
            return word
        if count and (pack.concord or count % 2):
            words = [match[0] for match in reaching] + behind
            return " … ".join([words[0].strip(), *filter(None, [self._instead() if reaching else ""])])
        self.cancelled = bool(reaching or behind)
        return ""

    def _instead(self) -> str:
        """ "but 60 days": the word that tells of what is right instead, and the next two."""
        start = _BLANK.match(self.sentence, self.right).end()  # type: ignore[union-attr]
        match = self.pack.slot("but").match(self.sentence, start)
        words = _TOKEN.findall(self.sentence[match.end() : match.end() + 2 * NEAR])[:2] if match else []
        return " ".join([match[0].strip(), *words]) if match else ""

    def _reaches(self, match: re.Match[str], most: int = 0) -> bool:
        """Whether nothing ends the reach of a negation: "not accepted after 30 days" states 30 days."""
        pack, between = self.pack, self.before[match.end() :]
        if most and (len(_TOKEN.findall(between)) > most or pack.has("be", between)):
            return False
        if pack.has("bounds", between):
            return False
        ends = pack.slot("ends").search(between)
        return ends is None or not (most or WORD.search(between[: ends.start()]))

    def _is_false(self, match: re.Match[str], text: str) -> bool:
        """Whether a negation is one of falsity: "it is not wrong that"."""
        found = self.pack.slot("false").search(text, match.end(), match.end() + NEAR)
        return found is not None and len(_TOKEN.findall(text[match.end() : found.start()])) < FEW

    def _denied_of_it(self, question: str) -> str:
        """ "X does not inherit", "X failed to inherit" to "Who inherits?" denies what was asked."""
        pack, after = self.pack, self.after.lstrip()
        denies = pack.slot("negators").search(after, 0, NEAR) if question and pack.spaced else None
        if denies is None or len(_TOKEN.findall(after[: denies.start()])) > 1:
            return ""
        verb = " ".join(_TOKEN.findall(after[denies.end() :])[:4])
        return "" if matter(question, pack).isdisjoint(matter(verb, pack)) else after[: denies.end()]

    def falsity(self, following: str) -> str:
        """The words that call it false: "X is wrong", "wrongly X", "it is a myth that X", "X. That is a myth.\""""
        pack, lists = self.pack, self.pack.lists
        falsely = "falsely" if "falsely" in lists else "false"
        if word := self._unless_denied(falsely, (self.lead() + self.before)[-2 * NEAR :]):
            return word
        if "be" not in lists:
            tail = self.sentence[self.right :]
            ends = (cut - self.right for cut in self.cuts if WORD.search(self.sentence[self.right : cut]))
            tail = tail[: min(ends, default=0)]
            tail = tail if len(WORD.findall(tail)) <= FEW + 2 else ""
            return self._unless_denied("false", f"{self.after} {tail}")
        is_it = pack.slot("be").match(self.after.lstrip(" '\""))
        if is_it and (word := self._unless_denied("false", self.after, FEW + 2)):
            return word
        rest, after = self.sentence[self.end :], following[1:].lstrip()
        pointed = [(rest, pack.slot("this").search(rest)), (after, pack.slot("this").match(after))]
        judged = (self._unless_denied("false", text[at.end() :], FEW + 1) for text, at in pointed if at)
        return next(filter(None, judged), "")

    def _unless_denied(self, name: str, text: str, most: int = 0) -> str:
        match = self.pack.slot(name).search(text)
        if match is None or (most and len(_TOKEN.findall(text[: match.start()])) >= most):
            return ""
        return "" if self.pack.slot("negators").search(text, max(0, match.start() - NEAR), match.start()) else match[0]

    def correction(self, following: str) -> str:
        """The words that tell what people wrongly think, where the truth follows; what would be so if; and a correction
        that follows."""
        pack, rest = self.pack, self.sentence[self.right :] + following
        if word := pack.has("unreal", self.before[-2 * NEAR :]):
            return word
        if match := pack.slot("corrects").match(following[1:].lstrip("*_ \n")):
            return match[0]
        word = pack.has("believed", self.sentence[: self.start][-3 * NEAR :] + " " + self.after)
        return word if word and pack.has("openers", self.after + rest) else ""

    def choice(self) -> str:
        """The words that leave it open: either … or, or maybe; where one may choose, both hold."""
        pack, sentence = self.pack, self.sentence
        near = sentence[max(0, self.start - NEAR) : self.start], sentence[self.end : self.end + NEAR]
        if any(pack.has("or", part) and pack.has("maybe", part) for part in near):
            return pack.has("maybe", " ".join(near))
        if "either" not in pack.lists or pack.has("choices", sentence):
            return ""
        either = pack.slot("either").search(sentence, 0, self.start)
        other = pack.slot("or").search(sentence, either.end()) if either else None
        return f"{either[0]} … {other[0]}" if either and other else ""


def _outdated(clause: _Clause, question: str) -> str:
    """The words that say that it was so once, unless that was asked."""
    pack, before, after = clause.pack, clause.before, clause.after
    word = pack.has("past", f"{clause.lead()}{before} \n {after[: 2 * NEAR]}")
    if not word and (was := pack.has("was", f"{before} {after}")):
        opens = pack.slot("until").match(clause.sentence.lstrip())
        behind = pack.slot("until").search(after, 0, 2 * NEAR)
        word = f"{was} … {(behind or opens)[0]}" if behind or (opens and clause.start > opens.end()) else ""  # type: ignore[index]
    if not word and (match := pack.slot("from").search(before[-2 * NEAR :])):
        word = match[0] if len(_TOKEN.findall(before[-2 * NEAR :][match.end() :])) < 2 else ""
    asks = "asks_past" if "asks_past" in pack.lists else "past"
    return "" if word and pack.has(asks, pack.fold(question)) else word


def cuts(sentence: str, pack: Pack, here: Collection[str] = ("or", "openers")) -> list[int]:
    """Where one clause ends and the next begins: at signs, and before words that open a clause of their own."""
    found, listed = [], len(sentence) + 1
    for match in reversed(list(_BREAK.finditer(sentence))):
        if match[0] == "," and pack.spaced:  # those of a list "A, B, or C" part nothing
            follows = pack.slot("or").match(sentence, match.end() + 1) if "or" in here else None
            if follows or (listed <= len(sentence) and len(_TOKEN.findall(sentence[match.end() : listed])) <= ITEM):
                listed = match.start()
                continue
            listed = len(sentence) + 1
        found.append(match.end())
    for match in pack.slot("openers").finditer(sentence) if "openers" in here else ():
        # where negations follow what they deny, the word that opens a clause may be one, and ends the one before
        found.append(match.end() if pack.slot("after").search(match[0]) else match.start())
    return sorted(found)


@lru_cache(maxsize=1024)
def matter(text: str, pack: Pack) -> frozenset[str]:
    """What a text is about: stems of its words, or pairs of letters where there are no words."""
    words = [word for word in WORD.findall(pack.fold(text)) if word not in pack.common]
    if pack.spaced:
        return frozenset(stem_in(word, pack.lang) for word in words if len(word) > 2)
    return frozenset(one + other for word in words for one, other in pairwise(word))
