"""Packs: what the reader knows of a language, one TOML file each, and which language a text is in.

A word list is text with blanks between its words. In a word, `_` stands for a blank, `*` for any letters, `{gap}` for a
few words, `{name}` for any word of that list. Scripts without spaces are searched for the letters alone.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Set
from functools import cache, cached_property, lru_cache
from struct import Struct
from typing import Any, NamedTuple

from ..text import fold
from .edges import is_hangul, is_spaceless
from .spelling import letters
from .tables import quick_words

FOLDER = os.path.join(os.path.dirname(__file__), "packs")
FEW = 40  # characters that `{gap}` may be
KEY = 3  # letters of a word by which its lists are looked up
SHORT = 4  # words in which a language can't be told with certainty
READ = 600  # characters of a text that tell its language
LETTER = r"\w\u0900-\u0903\u093a-\u094f"  # marks of Devanagari are letters of theirs
WORD = re.compile(r"[^\W\d_]+(?:[\u0900-\u0903\u093a-\u094f]+[^\W\d_]*)*")
_MARKUP = re.compile(r"\S*[/\\<>()\[\]{}=_*|@#]\S*")  # links, code and tables: no words of a language
_NAMED = re.compile(r"\\\{(\w+)\\\}")
_LISTED = re.compile(r"\{(\w+)\}")
ASCII_LETTERS = bytes(  # by which translating leaves letters and blanks
    byte if chr(byte).isalpha() and byte < 0x80 else 0x20 for byte in range(256)
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_VARIES = re.compile(r"[*{'’]")  # where a word of a list need not stand in a text as it is written
_STUCK = "[\u0648\u0641\u0628\u0644\u0643]?"  # one-letter words that Arabic writes before a word
# Scripts that one language of a pack is written in, by first and last letter; the marks of others come first.
SCRIPTS = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7a3"),
    ("zh", "\u3400", "\u9fff"),
    ("th", "\u0e00", "\u0e7f"),
    ("ar", "\u0600", "\u06ff"),
    ("hi", "\u0900", "\u097f"),
    ("ru", "\u0400", "\u04ff"),
    ("he", "\u0590", "\u05ff"),
    ("el", "\u0370", "\u03ff"),
)
_SCRIPTS_BEGIN = min(first for _, first, _ in SCRIPTS)


def words_in(text: str) -> list[str]:
    """The words of a text: its runs of letters."""
    return text.encode().translate(ASCII_LETTERS).decode().split() if text.isascii() else WORD.findall(text)


class Pack:
    """The lists of one language, each made into an expression when it is first asked for."""

    def __init__(self, lang: str, lists: Mapping[str, Any]) -> None:
        self.lang, self.lists = lang, lists
        self.decimal, self.order = lists.get("decimal", "."), lists.get("order", "dmy")
        self.concord = bool(lists.get("concord"))  # two negations of one clause are one
        self.spellings = [tuple(pair.split("=")) for pair in lists.get("spellings", "").split()]
        sample = "".join(lists["words"].split())
        self.hangul = is_hangul(sample[0])
        self.spaced = not (self.hangul or is_spaceless(sample[0]))
        self.capitals = lang != "de" and letters(sample[0]) < "\u0500"  # a capital inside of a sentence is a name
        self._made: dict[str, re.Pattern[str]] = {}
        self._words: dict[str, list[str]] = {}

    def fold(self, text: str) -> str:
        """Letters as they are compared in this language."""
        text = letters(text)
        for written, read in self.spellings:
            text = text.replace(written, read)
        return text

    def words(self, name: str) -> list[str]:
        """The words of a list, folded."""
        if name not in self._words:
            self._words[name] = [self.fold(word).replace("_", " ") for word in self.lists.get(name, "").split()]
        return self._words[name]

    def slot(self, name: str) -> re.Pattern[str]:
        """Any word of a list, the longest first."""
        if name not in self._made:
            by_edges: dict[tuple[str, str], list[str]] = {}
            for word in self.words(name):
                by_edges.setdefault(self._edges(word), []).append(word.strip("*"))
            parts = [before + self._any(words) + after for (before, after), words in by_edges.items()]
            self._made[name] = re.compile("|".join(parts) or r"(?!)")
        return self._made[name]

    def _edges(self, word: str) -> tuple[str, str]:
        """What may stand before and after a word of a list."""
        if not self.spaced:
            return (r"(?<!\w)" if word.endswith(" ") else ""), ""
        stuck = _STUCK if "\u0600" <= word[0] <= "\u06ff" else ""
        before = r"(?<=\w)" if word[0] == "*" else rf"(?<![{LETTER}]){stuck}"
        return before, "" if word[-1] in "*'-." else rf"(?![{LETTER}])"

    def _any(self, words: list[str]) -> str:
        """Any of the words; what they begin with in common is tried once, which is many times as fast."""
        named = [_NAMED.sub(self._named, re.escape(word)) for word in words if "{" in word]
        plain = {word for word in words if "{" not in word}
        return f"(?:{'|'.join(filter(None, [branches(plain), *named]))})"

    def _named(self, match: re.Match[str]) -> str:
        """A few letters, or any word of another list."""
        if match[1] == "gap":
            return rf"[^.!?;]{{0,{FEW}}}?"
        return f"(?:{'|'.join(re.escape(word) for word in self.words(match[1]))})"

    def present(self, text: str) -> frozenset[str] | set[str]:
        """The lists that a text may have a word of: a quick look before it is read."""
        always, entries, short = self._entries
        words = set(words_in(text)) if entries else ()
        found = set(always)
        for word in entries.keys() & words:
            found.update(name for entry, name in entries[word] if entry in text)
        for beginning in short.keys() & {word[:KEY] for word in words} if short else ():
            found.update(short[beginning])
        return found

    @cached_property
    def _entries(self) -> tuple[frozenset[str], dict[str, list[tuple[str, str]]], dict[str, set[str]]]:
        """The lists that any text may have a word of; words by the word that they begin with, each with its list; and
        the lists of those that may go on with any letters, by the first few."""
        always: set[str] = set()
        entries: dict[str, list[tuple[str, str]]] = {}
        short: dict[str, set[str]] = {}
        for name in (name for name, value in self.lists.items() if isinstance(value, str) and name != "words"):
            for word in self.words(name):
                named = _LISTED.match(word)
                for each in self.words(named[1]) if named else [word]:
                    run = WORD.match(each)
                    if run is None or not self.spaced or "\u0600" <= each[0] <= "\u06ff":
                        always.add(name)
                    elif each[run.end() :][:1] not in ("*", "{"):
                        entries.setdefault(run[0], []).append((_VARIES.split(each)[0], name))
                    elif len(run[0]) >= KEY:
                        short.setdefault(run[0][:KEY], set()).add(name)
                    else:
                        always.add(name)
        return frozenset(always), entries, short

    def has(self, name: str, text: str) -> str:
        """The first word of the list that stands in the text, or nothing."""
        match = self.slot(name).search(text)
        return match[0] if match else ""

    @cached_property
    def common(self) -> frozenset[str]:
        return frozenset(self.words("words"))


def branches(words: set[str]) -> str:
    by_first: dict[str, set[str]] = {}
    for word in filter(None, words):
        by_first.setdefault(word[0], set()).add(word[1:])
    parts = []
    for first, rests in sorted(by_first.items()):
        char = "['’]" if first == "'" else re.escape(first)
        rest = branches(rests)
        parts.append(char + (f"(?:{rest})?" if rest and "" in rests else f"(?:{rest})" if "|" in rest else rest))
    return "|".join(parts)


@cache
def pack(lang: str) -> Pack | None:
    """The pack of a language, or nothing where there is none."""
    import tomllib  # English is read without

    if not (lang.isalpha() and lang in names()):
        return None
    with open(os.path.join(FOLDER, f"{lang}.toml"), "rb") as stream:
        return Pack(lang, tomllib.load(stream))


@cache
def english(name: str) -> frozenset[str]:
    """The words of a list of the English pack."""
    return frozenset(pack_of("en").words(name))


def pack_of(lang: str) -> Pack:
    """The pack of a language that has one."""
    found = pack(lang)
    assert found is not None, lang
    return found


@cache
def names() -> frozenset[str]:
    """The languages that there is a pack of."""
    return frozenset(name.removesuffix(".toml") for name in os.listdir(FOLDER) if name.endswith(".toml"))


def is_read(lang: str) -> bool:
    """Whether denials and refusals can be read in a language."""
    return lang in names()


# --- the language of a text ---


@lru_cache(maxsize=64)
def base(lang: str) -> str:
    """The language of a tag such as zh-Hant or pt_BR."""
    return re.split("[-_]", lang.strip().lower(), maxsplit=1)[0]


def language(text: str, question: str = "", lang: str = "") -> str:
    """What was declared; else what the text is in; where that is short or mixed, what the question is in; English
    without either.

    A text in none of the languages with a pack is called by its code, or `other`.
    """
    if lang:
        return base(lang)
    text = text[:READ]
    return "en" if glance(text).english else _told_of(text, question[:READ]) or "en"


class Glance(NamedTuple):
    """A quick look at a text: most answers are in English, lack nothing and deny nothing, and need no other."""

    folded: str
    english: bool  # it has clearly most of the words of ASCII letters, whatever the others are
    lacks: bool  # if it is, it may say that there is no answer
    denies: bool  # … may deny, take back, leave open or ask something


@lru_cache(maxsize=4)  # a claim is looked at for its language, for refusals, and for denials
def glance(text: str) -> Glance:
    folded, plain = fold(text), text.isascii()
    known, digits = _quickly_known()
    words = known.keys() & folded.encode("utf-8", "surrogatepass").translate(ASCII_LETTERS).split()
    counts = sum(map(known.__getitem__, words)).to_bytes(digits.size, "little")
    signs, telling, english, *others = digits.unpack(counts)
    doubt = 0 if plain else len(set(_NOT_ASCII.findall(text)))
    short = "n't" in folded or "n’t" in folded
    lacks = signs > 0 or short or "n/a" in folded or ("*" in folded and glance(folded.replace("*", "")).lacks)
    # letters may only look different from those of a negation
    odd = not plain and ("ʼ" in folded or not unicodedata.is_normalized("NFKC", folded))
    denies = short or odd or "?" in folded or (telling > 0 and _has_telling(folded, words))
    return Glance(folded, english > 1 and english > max(others) + doubt, lacks, denies)


def _has_telling(text: str, words: Set[bytes]) -> bool:
    phrases = _phrases()
    for word in words:
        for phrase in phrases.get(word, ()):
            if phrase in text:
                return True
    return False


@cache
def _phrases() -> dict[bytes, list[str]]:
    """By the word that they begin with, the wordings that tell of a denial; an empty one where the word alone does."""
    found: dict[bytes, list[str]] = {}
    for entry in sorted(quick_words("telling")):
        first, _, more = entry.partition("_")
        found.setdefault(first.encode(), []).extend([f"{first} {more}"] if more else [""])
    return found


@cache
def _quickly_known() -> tuple[dict[bytes, int], Struct]:
    """Words of ASCII letters: whether they tell of a lack, of a denial, and the languages that they are common in."""
    found = {word.encode(): tongues << 2 * _DIGIT for word, tongues in _languages_of().items() if word.isascii()}
    for sign in quick_words("signs"):
        if "/" not in sign:
            word = sign.partition("_")[0].encode()
            found[word] = found.get(word, 0) | 1
    for word in _phrases():
        found[word] = found.get(word, 0) | 1 << _DIGIT
    return found, Struct(f"<{2 + len(_common_words())}H")


@lru_cache(maxsize=16)
def _told_of(text: str, question: str) -> str:
    return _told(text, question)


def _told(text: str, question: str) -> str:
    """The language of a text, if its letters and common words tell, or else those of text and question together."""
    if not text.isascii() and max(text) >= _SCRIPTS_BEGIN and (found := _by_script(text, question)):
        return found
    scores = _scores(text)
    if found := _most(scores, 2):
        return found
    size = len(WORD.findall(_MARKUP.sub(" ", text)))
    if size <= SHORT and not question and (found := _most(scores, 1)):
        return found
    asked = _scores(question)
    if size > 3 * SHORT and max(_counts(scores)) * 12 < size:  # a list, a command or a table may be in any language
        return _most(asked, 2) or "other"
    return _most(2 * scores + asked, 2 if scores else 1) or (_told(question, "") if question and not asked else "")


def _by_script(text: str, question: str) -> str:
    """The language whose script most letters are of, if they are of one."""
    counts = {name: sum(first <= char <= last for char in text) for name, first, last in SCRIPTS}
    if counts["ja"] and counts["ja"] * 8 >= counts["zh"]:
        counts["ja"] += counts.pop("zh")
    best = max(counts, key=lambda name: counts[name])
    if 2 * counts[best] < sum(map(str.isalpha, text)) - sum(counts.values()) or not counts[best]:  # terms may be Latin
        return ""
    if best == "zh" and any("\u3040" <= char <= "\u30ff" for char in question):
        return "ja"
    rivals = {name: own for name, (script, own, _) in _others().items() if script == best}
    own = (name for name, chars in rivals.items() if not set(chars).isdisjoint(text.lower()))
    if found := next(own, ""):
        return found
    counts = dict(zip(_languages(), _counts(_scores(text)), strict=True))
    return max([best, *rivals], key=counts.__getitem__)


# How many words each language has is one number with a digit for each of them, so that adding words up is quick.
_DIGIT = 16  # bits


def _scores(text: str) -> int:
    """How many words and letters of the text each language has among its common ones."""
    low, known = letters(text), _languages_of()
    found = set(words_in(low))
    if not low.isascii():
        found.update(_NOT_ASCII.findall(low))
    return sum(map(known.__getitem__, known.keys() & found))


def _counts(scores: int) -> tuple[int, ...]:
    """The digits, in the order of the languages."""
    digits = _digits()
    return digits.unpack(scores.to_bytes(digits.size, "little"))


@cache
def _digits() -> Struct:
    return Struct(f"<{len(_common_words())}H")


def _most(scores: int, least: int) -> str:
    """The language that clearly has most of the words, or nothing."""
    counts = _counts(scores)
    most = max(counts)
    if most < least or counts.count(most) > 1:
        return ""
    return _languages()[counts.index(most)]


@cache
def _languages() -> tuple[str, ...]:
    """Those that can be told, English first: the order of the digits."""
    return tuple(_common_words())


@cache
def _languages_of() -> dict[str, int]:
    """The languages that each common word is one of."""
    found: dict[str, int] = {}
    for at, common in enumerate(_common_words().values()):
        for word in common:
            found[word] = found.get(word, 0) + (1 << at * _DIGIT)
    return found


@cache
def _common_words() -> dict[str, frozenset[str]]:
    """The common words of every language, English first: the first line of each pack, and of those without one."""
    common = {}
    for name in sorted(names(), key=lambda name: (name != "en", name)):
        with open(os.path.join(FOLDER, f"{name}.toml"), encoding="utf-8") as stream:
            common[name] = frozenset(letters(stream.readline().partition('"')[2].rstrip('"\n')).split())
    return common | {name: frozenset(own) | words for name, (_, own, words) in _others().items()}


@cache
def _others() -> dict[str, tuple[str, str, frozenset[str]]]:
    """Languages without a pack, to be called by name: the script's language, letters of their own, common words."""
    found = {}
    with open(os.path.join(FOLDER, "others.txt"), encoding="utf-8") as stream:
        for line in stream:
            name, script, own, *words = line.split()
            found[name] = (script, own.strip("-"), frozenset(map(letters, words)))
    return found
