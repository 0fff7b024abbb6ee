"""Matching: does a claim assert the expected text? The plain search goes first, one spelling only where it misses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice

import msgspec

from ...core.contracts import Gold
from ...errors import DataError
from ...language.edges import around, cut, prefixed
from ...language.packs import Glance, base, glance, language
from ...language.tables import roughly
from ...text import fold

PHONE = 9  # digits of a number that people write with whatever signs between them
PLACES = 500  # where a text stands in a claim; whoever repeats it more often has not stated it once
TIME_LIMIT = 0.5  # seconds for one regular expression on one claim
ABSENT, INSIDE, ELSEWHERE, EXTRA = "missing", "inside", "elsewhere", "extra"  # from worst to best
UNCLEAR, DENIED, FOUND = "unclear", "denied", "found"
_RANK = {state: rank for rank, state in enumerate((ABSENT, INSIDE, ELSEWHERE, EXTRA, UNCLEAR, DENIED, FOUND))}
_QUANTITY = r"(?<![\w.,])([$€£]?) ?(-?\d+(?:\.\d+)?)(?![\d]) ?(%|[^\W\d_]+)?"  # few gold sets ask for numbers
_WHETHER = re.compile(r"\s*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|may|must)\b", re.I)
_DIGITS = "0123456789"
_DENIAL = re.compile(r"(?:un|in|im|ir|il|non-?|not )([a-z]{4,})")
_PREFIX = re.compile(r"(?<!\w)(?:un|in|im|ir|il|non-?)\Z")
_PHONE = re.compile(r"\+?\d[\d\s()./-]{6,}\d")
YES_OR_NO = {"yes": "yes", "no": "no", "true": "yes", "false": "no"}


class Needle(msgspec.Struct, frozen=True, gc=False):
    """An expected text made ready: folded, and whether it is just yes or no."""

    text: str
    written: str
    answer: str = ""

    @property
    def denies(self) -> bool:
        """Whether it has a word of denial; few expected texts have."""
        return glance(self.text).denies


class Wanted(msgspec.Struct, frozen=True):
    """What a gold item expects of a claim."""

    gold: Gold
    mode: str
    needles: tuple[Needle, ...]
    tolerance: str = "0"
    forbidden: tuple[Needle, ...] = ()
    guarded: bool = True  # whether a denied text is not found
    plain: bool = False  # any one of some texts, and nothing else to ask of the claim
    about: tuple[str, ...] = ()
    lang: str = ""


def wanted(gold: Gold, on_denied: str = "fail", lang: str = "") -> Wanted:
    """The gold item's expectations, made ready once for all its runs; the language is that of the config."""
    mode, lang = gold.match, base(gold.lang or lang) if gold.lang or lang else ""
    needles = _needles(gold.substrings, mode)
    plain = mode == "any" and not gold.about
    for needle in needles:
        plain = plain and not needle.answer and len(needle.text) > 1
    if plain and on_denied != "off" and not (gold.forbidden or lang or gold.tolerance):
        return Wanted(gold, mode, needles, plain=True)
    return Wanted(
        gold,
        mode,
        needles,
        str(gold.tolerance) if gold.tolerance else "0",
        _needles(gold.forbidden, "") if gold.forbidden else (),
        on_denied != "off",
        plain,
        tuple(gold.about) if gold.about else (),
        lang,
    )


def _needles(texts: Sequence[str], mode: str) -> tuple[Needle, ...]:
    needles = []
    for each in texts:
        written = each if mode == "regex" else _stated(each)
        if text := fold(written):
            needles.append(Needle(text, written, _answer(text, mode) if len(text) < 7 else ""))
    return tuple(needles)


def _stated(text: str) -> str:
    """An expected text without the word that only says that its number is rounded: about 376,000."""
    if text[:1].isdigit() or not _counts(text):
        return text
    words, pattern = roughly()
    return pattern.sub("", text, count=1) if text.lower().startswith(words) else text


def _answer(text: str, mode: str) -> str:
    """Yes or no, where the expected text is just that."""
    return YES_OR_NO.get(text.rstrip(".!"), "") if mode in ("any", "all", "yesno") else ""


def expects_yes_or_no(gold: Gold) -> bool:
    expected = wanted(gold)
    lang = expected.lang or language(gold.question)
    return any(needle.answer for needle in (expected if lang == "en" else _localised(expected, lang)).needles)


def state(expected: Wanted, claim: str, lang: str = "") -> str:
    """Whether the claim asserts what is expected: found, denied, unclear, inside another word or number, or missing.

    The language is told by those who know it.
    """
    lang = lang or expected.lang or language(claim, expected.gold.question)
    if lang != "en":
        expected = _localised(expected, lang)
    elif expected.plain and _plainly(expected, _look(claim)):
        return FOUND
    if expected.mode == "regex":
        return FOUND if any(_searches(needle.written, claim) for needle in expected.needles) else ABSENT
    if expected.about:
        return _about(expected, claim)
    states = _states(expected, claim, expected.needles)
    if expected.mode == "all":
        worst = min(states, key=_RANK.__getitem__, default=ABSENT)
        return EXTRA if worst == FOUND and expected.gold.exact_list and extra(expected, claim) else worst
    best = ABSENT
    for each in states:
        if each == FOUND:
            return FOUND
        best = max(best, each, key=_RANK.__getitem__)
    return best


def _localised(expected: Wanted, lang: str) -> Wanted:
    """What is expected of a claim in another language than English: its own yes and no, and its own reader."""
    from ...language.packs import pack

    found = pack(lang)
    replies = {word: said for said in ("yes", "no") for word in found.words(said)} if found else {}
    needles = expected.needles
    if expected.mode in ("any", "all", "yesno") and replies:
        needles = (
            tuple(
                Needle(
                    needle.text,
                    needle.written,
                    needle.answer or replies.get(found.fold(needle.text).rstrip(".!。"), ""),
                )
                for needle in needles
            )
            if found
            else needles
        )
    return msgspec.structs.replace(expected, needles=needles, lang=lang, plain=False)


def _plainly(expected: Wanted, look: Glance) -> bool:
    """Whether one of the texts stands as it is in a claim that denies nothing, which answers most questions."""
    if look.denies:
        return False
    claim = look.folded
    for needle in expected.needles:
        place = claim.find(needle.text)
        if place >= 0 and not (cut(claim, place, place + len(needle.text)) or prefixed(claim, place)):
            return True
    return False


def _about(expected: Wanted, claim: str) -> str:
    """The state of those sentences that are about one of the terms; what only the others say stands elsewhere."""
    from ...language.sentences import sentences

    terms = _needles(expected.about, "")
    free = msgspec.structs.replace(expected, about=(), guarded=False)
    said = [span.text for span in sentences(claim)]
    named = [any(each == FOUND for each in _states(free, text, terms)) for text in said]
    kept = [text for n, text in enumerate(said) if named[n] or (n and named[n - 1])]
    free = msgspec.structs.replace(expected, about=())
    found = state(free, "\n\n".join(kept))
    return ELSEWHERE if found != FOUND and state(free, claim) == FOUND else found


def states(expected: Wanted, claim: str) -> dict[str, str]:
    """The same for each expected text, as it was written."""
    expected = _localised(expected, expected.lang or language(claim, expected.gold.question))
    if expected.mode == "regex":
        return {each.written: FOUND if _searches(each.written, claim) else ABSENT for each in expected.needles}
    found = _states(expected, claim, expected.needles)
    if expected.about:
        alone = (msgspec.structs.replace(expected, mode="any", needles=(each,)) for each in expected.needles)
        found = (_about(each, claim) for each in alone)
    return {needle.written: each for needle, each in zip(expected.needles, found, strict=True)}


def extra(expected: Wanted, claim: str) -> str:
    """The first item of the claim's list that is none of the expected texts, or nothing."""
    from ...language.lists import items

    free = msgspec.structs.replace(expected, mode="any", guarded=False)
    return next((item for item in items(claim, lambda text: state(free, text) == FOUND)), "")


def forbidden(expected: Wanted, claim: str) -> str:
    """The first forbidden statement that the claim asserts, or nothing."""
    plain = _localised(expected, expected.lang or language(claim, expected.gold.question))
    plain = msgspec.structs.replace(plain, mode="any")
    found = zip(expected.forbidden, _states(plain, claim, expected.forbidden), strict=True)
    return next((needle.written for needle, each in found if each == FOUND), "")


def _states(expected: Wanted, claim: str, needles: Sequence[Needle]) -> Iterator[str]:
    for needle in needles:
        if needle.answer:
            yield _yes_or_no(needle, expected, claim)
        elif expected.mode == "number":
            yield _number(needle, claim, expected)
        else:
            yield _text(needle, expected, claim)


def _yes_or_no(needle: Needle, expected: Wanted, claim: str) -> str:
    from ...language.packs import pack
    from ...language.polarity import polarity

    found = pack(expected.lang or "en")
    if found is None:
        return UNCLEAR
    said = polarity(claim, expected.gold.question, found)
    if not said and expected.gold.gold_claim and (agrees := polarity(claim, expected.gold.gold_claim, found)):
        said = needle.answer if agrees == "yes" else ""
    return FOUND if said == needle.answer else DENIED if said else UNCLEAR


def _text(needle: Needle, expected: Wanted, claim: str) -> str:
    """One expected text: as it is written, in one spelling, with its amounts in one form, and word by word."""
    if len(needle.text) == 1 and needle.text.isalpha() and needle.text.isascii():
        return _cased(_letter(needle.written.strip()), needle, expected, claim)
    best = _asked(needle, expected, claim) if expected.lang in ("", "en") else ABSENT
    if best != ABSENT:
        return best
    for text, said in _pairs(needle, expected, claim):
        best = max(best, _search(text, said, needle, expected), key=_RANK.__getitem__)
        if best in (FOUND, DENIED):
            return best
    if needle.text and needle.text in _shown(claim):
        best = max(best, INSIDE, key=_RANK.__getitem__)
    best = max(best, _worded(needle, expected, claim), key=_RANK.__getitem__)
    if best == ABSENT and _reordered(needle, expected, claim):
        return FOUND
    if best == ABSENT and (short := _acronym(needle.written)):
        return _cased(rf"(?<!\w){short}(?!\w)", needle, expected, claim)
    if best in (ABSENT, INSIDE) and expected.guarded and expected.lang in ("", "en") and _says_opposite(needle, claim):
        return FOUND
    if best == ABSENT and _PHONE.fullmatch(needle.text) and len(digits := re.findall(r"\d", needle.text)) >= PHONE:
        return _cased(r"(?<![\w.])" + r"[\s()./-]*".join(digits) + r"(?!\w)", needle, expected, claim)
    return best


def _reordered(needle: Needle, expected: Wanted, claim: str) -> bool:
    """Whether the text is a list, and the claim has all of its items in another order."""
    from ...language.lists import enumerated, lists_alike
    from ...language.packs import pack

    found = pack(expected.lang or "en")
    items = enumerated(needle.written, found) if found else []
    if not found or not items:
        return False
    free = msgspec.structs.replace(expected, mode="any", guarded=False)

    def states(item: str, text: str) -> bool:
        return any(each == FOUND for each in _states(free, text, _needles([item], "")))

    kept = msgspec.structs.replace(expected, mode="any")
    return any(
        all(each == FOUND for each in _states(kept, text, _needles(items, "")))
        for text in lists_alike(claim, items, found, states)
    )


def _says_opposite(needle: Needle, claim: str) -> bool:
    """Whether the text is a denial that the claim makes in another way: unavailable, not available."""
    match = _DENIAL.fullmatch(needle.text)
    if match is None:
        return False
    from ...language.denial import negated
    from ...language.packs import pack_of

    said, place = _claim_spelled(claim), -1
    for _ in range(PLACES):
        place = said.find(match[1], place + 1)
        if place < 0:
            return False
        end = place + len(match[1])
        if needle.text.startswith("not ") and _PREFIX.search(said[max(0, place - 6) : place]):
            return True
        if not cut(said, place, end) and negated(said, place, end, pack_of("en")):
            return True
    return False


def _letter(letter: str) -> str:
    """A grade, a vitamin or a type: not the article, not an initial, not C++."""
    one = rf"[{letter}{letter.upper()}]" if letter.islower() else letter
    return rf"\({letter.lower()}\)|(?<![\w+#'’.-]){one}(?![\w+#'’-])(?!\. ?[A-Z][a-z])" + (
        "(?! [a-z])" if letter in "AIai" else ""
    )


@lru_cache(maxsize=8192)
def _acronym(written: str) -> str:
    """The first letters of a name of three words or more."""
    capitals = [word[0] for word in re.split(r"[\s-]+", written) if word[:1].isupper()]
    small = all(word[:1].isupper() or len(word) <= 3 for word in written.split())
    return "".join(capitals) if len(capitals) > 2 and small and written.isascii() else ""


def _cased(pattern: str, needle: Needle, expected: Wanted, claim: str) -> str:
    """The best of all the places where a pattern stands in the claim as it is written."""
    said = _said(claim)
    low, best = said.lower(), ABSENT
    for match in islice(re.finditer(pattern, said), PLACES):
        if not (expected.guarded and _denied(low, *match.span(), needle.written, expected)):
            return FOUND
        best = DENIED
    return best


def _asked(needle: Needle, expected: Wanted, claim: str) -> str:
    """Where the question asks whether, and the text only denies what is asked ("cannot"): whether the claim says no."""
    question = expected.gold.question
    if not needle.denies or not _WHETHER.match(question) or " or " in question:
        return ABSENT
    from ...language.denial import matter, negates
    from ...language.packs import pack_of
    from ...language.polarity import polarity

    english = pack_of("en")
    if not negates(needle.written, english):
        return ABSENT
    own = matter(english.slot("negators").sub("", needle.text), english)
    if not own <= matter(question, english):
        return ABSENT
    said = polarity(claim, question, english)
    return FOUND if said == "no" else DENIED if said and not own else ABSENT


def _pairs(needle: Needle, expected: Wanted, claim: str) -> Iterator[tuple[str, str]]:
    """The text and the claim in each of the forms in which they are compared, the quickest first."""
    if expected.lang not in ("", "en"):
        from ...language.numerals import is_ambiguous

        lang = expected.lang
        if not _counts(_canonical(needle.written, lang)):
            yield _canonical(needle.text, lang, plain=True), _claim_canonical(claim, lang, plain=True)
        for other in (False, True)[: 1 + is_ambiguous(needle.written)]:
            for reading in (False, True)[: 1 + is_ambiguous(claim)]:
                for based in (False, True):
                    text = _canonical(needle.written, lang, other, based)
                    yield text, _claim_canonical(claim, lang, reading, based)
        return
    yield needle.text, _shown(claim)
    yield _spelled(needle.written), _claim_spelled(claim)
    amounts, grouped = _amounts(needle.written)
    if not amounts or not _may_count(_claim_spelled(claim)):
        return
    yield amounts, _claim_amounts(claim, False)
    if grouped != amounts:  # a lone separator before three digits may be either
        yield grouped, _claim_amounts(claim, False)
    if (said := _claim_amounts(claim, True)) != _claim_amounts(claim, False):
        yield amounts, said
        yield grouped, said


def _worded(needle: Needle, expected: Wanted, claim: str) -> str:
    """The same words in other forms, or a name as people shorten it."""
    from ...language.wording import places, worded

    if expected.lang in ("", "en"):
        text, said, titles = _spelled(needle.written), _claim_spelled(claim), None
    else:
        lang = expected.lang
        text, said, titles = _canonical(needle.written, lang), _claim_canonical(claim, lang, False), _titles(lang)
    best = ABSENT
    for start, end in islice(places(worded(needle.written, text, titles), said, expected.lang), PLACES):
        if cut(said, start, end, expected.lang):
            best = max(best, INSIDE, key=_RANK.__getitem__)
        elif expected.guarded and _denied(said, start, end, needle.written, expected):
            best = DENIED
        else:
            return FOUND
    return best


# --- one text in another ---


def _look(claim: str) -> Glance:
    """A quick look at the claim, without what it does not say."""
    return glance(_said(claim) if "~~" in claim or "](" in claim or "<" in claim else claim)


def _shown(claim: str) -> str:
    """The claim folded, without what it does not say."""
    return _look(claim).folded


def _search(text: str, claim: str, needle: Needle, expected: Wanted) -> str:
    """The best of all the places where the text stands."""
    best = ABSENT
    place, looked = claim.find(text) if text else -1, 0
    while place >= 0 and looked < PLACES:
        looked += 1
        end = place + len(text)
        if cut(claim, place, end, expected.lang):
            best = max(best, INSIDE, key=_RANK.__getitem__)
        elif expected.guarded and _denied(claim, place, end, needle.written, expected):
            best = DENIED
        else:
            return FOUND
        place = claim.find(text, place + 1)
    return best


def _denied(claim: str, start: int, end: int, written: str, expected: Wanted) -> bool:
    return bool(_denial(claim, start, end, written, expected))


def denial(expected: Wanted, claim: str) -> str:
    """The words that deny an expected text, or nothing."""
    expected = _localised(expected, expected.lang or language(claim, expected.gold.question))
    for needle in expected.needles:
        for text, said in ((needle.text, _shown(claim)), *_pairs(needle, expected, claim)):
            place = said.find(text) if text else -1
            if place >= 0 and (words := _denial(said, place, place + len(text), needle.written, expected)):
                return words.strip()
    return ""


def _denial(claim: str, start: int, end: int, written: str, expected: Wanted) -> str:
    """The words that deny what stands at this place; nothing where they stand in the text itself."""
    if start > 2 and claim[start - 2] in "ni" and (words := prefixed(claim, start)):  # as non-, un- and anti- end
        return words
    if expected.lang in ("", "en") and not glance(claim).denies:
        return ""
    from ...language.denial import denied, negates  # most claims deny nothing, and need no reader
    from ...language.packs import pack

    found = pack(expected.lang or "en")
    words = denied(claim, start, end, found, expected.gold.question) if found else ""
    return "" if words and found and negates(written, found) else words


def longer(written: str, claim: str) -> str:
    """The longer word or number of the claim in which an expected text stands, if it stands there as it is written."""
    text, said = fold(written), _shown(claim)
    place = said.find(text)
    return around(said, place, place + len(text)) if text and place >= 0 else ""


@lru_cache(maxsize=8192)
def _canonical(text: str, lang: str, other: bool = False, based: bool = True, plain: bool = False) -> str:
    from ...language.numerals import canonical, localised
    from ...language.packs import pack
    from ...language.spelling import said

    if plain:
        found = pack(lang)
        return found.fold(said(text)) if found else fold(said(text))
    return canonical(text, lang, other) if based else localised(text, lang, other)


@lru_cache(maxsize=8)
def _claim_canonical(claim: str, lang: str, other: bool = False, based: bool = True, plain: bool = False) -> str:
    return _canonical.__wrapped__(claim, lang, other, based, plain)


def _titles(lang: str) -> frozenset[str]:
    from ...language.packs import pack

    found = pack(lang)
    return frozenset(word.rstrip(".") for word in found.words("titles")) if found else frozenset()


@lru_cache(maxsize=8192)
def _spelled(text: str) -> str:
    from ...language.spelling import said, spelled  # where the plain search finds everything, nothing is spelled

    return spelled(said(text))


@lru_cache(maxsize=8192)
def _amounts(text: str) -> tuple[str, str]:
    """The text with its amounts in one form, in both readings of a lone separator; nothing where it has none."""
    from ...language.amounts import compared
    from ...language.tables import words_of

    form = compared(text)
    return (form, compared(text, True)) if _counts(form) or form in words_of("words", "months") else ("", "")


def _counts(text: str) -> bool:
    """Whether there is a digit in it."""
    return any(map(text.__contains__, _DIGITS))


def _may_count(text: str) -> bool:
    """Whether there is a digit in a text in one spelling, an ordinal, a half or a short month."""
    from ...language.tables import words_of

    if _counts(text) or " half" in text or any(map(text.__contains__, words_of("words", "ordinals"))):
        return True
    return "." in text and any(f"{name[:3]}." in text for name in words_of("words", "months"))


@lru_cache(maxsize=8)  # a claim that fails is looked at once more, to say why
def _claim_spelled(claim: str) -> str:
    from ...language.spelling import said, spelled

    return spelled(said(claim))


@lru_cache(maxsize=8)
def _claim_amounts(claim: str, grouped: bool) -> str:
    from ...language.amounts import compared, is_ambiguous

    if not grouped:
        return compared(claim)
    return compared(claim, True) if is_ambiguous(claim) else _claim_amounts(claim, False)


@lru_cache(maxsize=8)
def _said(claim: str) -> str:
    from ...language.spelling import said

    return said(claim)


# --- numbers and regular expressions ---


def _number(needle: Needle, claim: str, expected: Wanted) -> str:
    """Whether the claim states a number within the tolerance of the expected one, with the same unit."""
    goal = quantity(needle.written)
    if goal is None:
        return ABSENT
    best = _quantified(goal, _slack(expected.tolerance, goal[0]), _claim_spelled(claim), needle, expected)
    same = quantity(needle.written, True)
    if best == ABSENT and same and goal[0]:  # the same amount in another unit, or with a scale
        slack = abs(_slack(expected.tolerance, goal[0]) * same[0] / goal[0])
        best = _quantified(same, slack, _claim_amounts(claim, False), needle, expected)
    return best


def _quantified(goal: tuple[Decimal, str], slack: Decimal, claim: str, needle: Needle, expected: Wanted) -> str:
    value, unit = goal
    best = ABSENT
    for match in re.finditer(_QUANTITY, claim):
        if abs(Decimal(match[2]) - value) > slack or (unit and unit not in (match[1], match[3])):
            continue
        if not (expected.guarded and _denied(claim, match.start(2), match.end(2), needle.written, expected)):
            return FOUND
        best = DENIED
    return best


@lru_cache(maxsize=8192)
def quantity(written: str, based: bool = False) -> tuple[Decimal, str] | None:
    """The number and unit of an expected text such as `30 days`, `$1,200` or `5%`."""
    match = re.search(_QUANTITY, _amounts(written)[0] if based else _spelled(written))
    return (Decimal(match[2]), match[1] or match[3] or "") if match else None


def _slack(tolerance: str, value: Decimal) -> Decimal:
    if tolerance.endswith("%"):
        return abs(value) * Decimal(tolerance[:-1]) / 100
    return Decimal(tolerance)


def _searches(pattern: str, claim: str) -> bool:
    """Whether the pattern stands in the claim; one that takes too long does not."""
    import regex  # only gold sets with regular expressions need it

    try:
        return regex.compile(pattern).search(claim, timeout=TIME_LIMIT) is not None
    except TimeoutError:
        return False


def is_plain(gold: Gold) -> bool:
    """Whether its expectations are texts, about which nothing can be wrong."""
    return gold.match in ("any", "all") and gold.tolerance == 0 and not gold.exact_list


def check(gold: Gold, where: str) -> None:
    """An error for what can't be read: a pattern that does not compile, a text without a number, a bad tolerance."""
    for text in gold.substrings if gold.match == "regex" else ():
        try:
            re.compile(text)
        except re.error as problem:
            hint = "Correct the expression, or use another match."
            message = f"gold_claim_substr {text!r} is not a regular expression: {problem}"
            raise DataError(message, where=where, hint=hint, code="gold-regex") from None
    for text in gold.substrings if gold.match == "number" else ():
        if quantity(text) is None:
            message = f"gold_claim_substr {text!r} has no number, and match is number"
            raise DataError(message, where=where, hint="Write a number with its unit: 30 days.", code="gold-number")
    for text in gold.substrings if gold.match == "yesno" else ():
        if not _answer(fold(text), gold.match):
            message = f"gold_claim_substr {text!r} is neither yes nor no, and match is yesno"
            raise DataError(message, where=where, hint='Write ["yes"] or ["no"].', code="gold-yesno")
    if gold.exact_list and gold.match != "all":
        message = (
            f"exact_list is true, and match is {gold.match}: further items are refused only where all are expected"
        )
        raise DataError(message, where=where, hint='Add "match": "all".', code="gold-exact-list")
    if (tolerance := str(gold.tolerance)) != "0" and not re.fullmatch(r"\d+(\.\d+)?%?", tolerance):
        message = f"tolerance is {gold.tolerance!r}, expected a number or a percentage"
        raise DataError(message, where=where, hint='Write 0.5 or "5%".', code="gold-tolerance")
