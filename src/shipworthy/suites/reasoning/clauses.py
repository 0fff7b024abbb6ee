"""Clauses: who is asserted, who is denied and who gave way to whom, one clause at a time."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from .words import FUNCTION_STEMS, Token, straight, tokens, vocabulary

_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*•+]\s+|\d+[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|;\s*|(?<=[。！？])|\t|\s\|\s")
_PARTICLE = re.compile(r"^(?:yes|no)\s*[,:.–—-]\s*", re.IGNORECASE)
_AUXILIARY = (
    r"(?:is|are|was|were|be|been|do|does|did|should|must|will|would|can|could|may|might|has|have|had|shall|ought)"
)
_SPLIT = re.compile(
    r"\s+[–—]\s+|(?<!\d)\s+-\s+|\s+-\s+(?!\d)|,\s+(?!(?:i\.e\.|e\.g\.|that is|namely)\W)|(?<!\ball)\s+(?=(?:but"
    r"|whereas|while|although|though|however|so)\b)"
    rf"|\s+and\s+(?=(?:[\w']+\s+){{0,3}}{_AUXILIARY}(?:n't)?\b)",
    re.IGNORECASE,
)
_PREDICATE_NEGATION = re.compile(
    rf"\b{_AUXILIARY}\s+(?:\w+\s+)?(?:not|never)\b(?!\s+only)|\b\w+n't\b|\bcannot\b|\bnever\b", re.IGNORECASE
)
_RIGHT_NEGATION = re.compile(
    r"\b(?:no(?!\s+(?:longer|more than|later than|less than|fewer than))|not(?!\s+(?:only|later than|more than|before))"
    r"|without|neither|nor|none|nothing|nobody|lacks?)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:on|in|at|from|because|since|until|with|by)\b", re.IGNORECASE)
_ACTIVE = re.compile(
    r"\b(?:supersed(?:es?|ing)\b|replac(?:es|ing)|overrid(?:es?|ing)\b|overrul(?:es?|ing)\b|outranks?\b|beats?\b"
    r"|corrects"
    r"|(?:takes?|has|taking) precedence over|(?:wins|prevails) over|ranks? above|trumps?\b|outdates\b|obsoletes\b"
    r"|t(?:akes?|ook|aking) the place of|newer than|more recent than|outweighs?\b|(?:trust|prefer|favou?r|pick"
    r"|choose)s?(?: \S+){1,4} over|instead of|rather than|in place of|as opposed to"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbeen )(?:superseded|replaced|overrode)(?=\s+(?:the|that"
    r"|this|his|her|its|their|\d|\[)))",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"\b(?:superseded|replaced|overridden|overruled|overtaken|corrected|outranked|beaten)\s+by\b(?!\s+(?:\d{2,4}-"
    r"|the \d|then\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day))"
    r"|\b(?:gives way|gave way|yields|yielded|loses)\s+to\b",
    re.IGNORECASE,
)
_STALE = re.compile(
    r"\b(?:superseded|outdated|out[ -]of[ -]date|stale|obsolete|older(?! than)"
    r"|(?<![-/.])(?<!months )(?<!weeks )(?<!days )(?<!years )old(?![-/]|\.\w)|former|formerly|previous|previously"
    r"|no longer|deprecated|overtaken|overridden|overruled|retired|expired|wrong|incorrect|invalid|untrue|false"
    r"|used to|(?:is|are|lags?) behind|(?:is|are) history|one-off|only a proposal|predates?|ignor(?:e|es|ed|ing)"
    r"|forget|taken out|disregard(?:ed)?|discard(?:ed)?|void|leftover|str(?:ike|iking|uck)(?=.{0,40}\bfrom\b)"
    r"|earlier(?! than| dates| figures| versions| notes| entries)|(?<!be )(?<!get )(?<!gets )replaced|withdrawn"
    r"|undated|no date|revoked|lapsed)\b",
    re.IGNORECASE,
)
_NEVER_CHANGED = re.compile(
    r"\b(?:(?:has|have|had|was|were)(?: not|n't)(?: yet)?(?: been)?|never(?: got)?(?: been)?|(?:nobody|no one)(?:'s"
    r"| has| had)?(?: ever)?) "
    r"(?:updated?|changed|edited|touched|corrected|amended|adjusted|revised|caught up)\b"
    r"|\bfrom before\b|\b(?:printed|written|published|issued|drawn up|recorded) before (?:that|this|it|the)\b"
    r"|\btime before\b|\bhas(?:n't| not) been refreshed\b|\bbefore (?:that|the|this) (?:change|move|handover|switch"
    r"|decision|update)\b",
    re.IGNORECASE,
)
_MODIFIES = re.compile(r"\bwith $", re.IGNORECASE)
_CALLS = re.compile(
    r"\b(?:calls?|called|marks?|marked|declares?|declared|considers?|treats?|regards?)\b", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"(?:older|old|former|previous|earlier) [a-z]+s\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"(?:that|this|it|they|these|those)(?:'s| is| are| has| have| was| were)\b|(?:old|outdated|stale|superseded"
    r"|obsolete|out of date|no longer|expired|wrong)\b(?!.*:| \w+ [–—])"
    r"|(?:ignore|disregard|forget) (?:it|that|this)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:rose|risen|rises|fell|fallen|falls|raised|lowered|cut|reduced|increased|decreased|lengthened|shortened"
    r"|extended|grew|grown|shrank|shrunk"
    r"|dropped|climbed|jumped|changed|moved|went|gone|goes|down|up|brought|switched)\b",
    re.IGNORECASE,
)
_FORMER = re.compile(r"\bfrom (\d[\d.,]*%?(?: [a-z]+)?) (?:down to|up to|to)\b(?! \d\d:)", re.IGNORECASE)
COLON = re.compile(r":\s")
_ASKS_WRONG = re.compile(
    r"\b(?:not|no longer|n't) (?:hold|apply|count|stand|be used)|\b(?:outdated|stale|wrong|superseded)\b.*\?",
    re.IGNORECASE,
)
_SEGMENT = re.compile(r":\s|\bbecause\b(?! of\b)", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|after|following|as of)\b", re.IGNORECASE)
_BACK = re.compile(r" ?(?:it|that|this|them)\b(?! \w)", re.IGNORECASE)
_AGAINST = re.compile(r"(?:but|yet|however|though|and)\b", re.IGNORECASE)
_BACKWARD = re.compile(r"(?:yet|but|and|though|it|that|this|which)\b", re.IGNORECASE)
_LIMIT = re.compile(
    r"\b(?:before|until|unless|except|since|earlier than|later than)\b|\b(?:above|over|below|under|beyond|more than"
    r"|less than)(?= \d)",
    re.IGNORECASE,
)
_RELATIVE_BEFORE = re.compile(r"\b(?:that|which|who) $", re.IGNORECASE)
_REPLACED_WITH = re.compile(r"\breplac(?:ed|es|ing)\b(?P<gone>.{0,80}?)\bwith\b(?! effect)", re.IGNORECASE)
_STALE_LABEL = re.compile(
    r"^(?:superseded|outdated|stale|old|obsolete|ignore|disregard|wrong|deprecated|replaced|overruled|out of date"
    r"|no longer valid"
    r"|not in force|retired|don't use|do not use)\b[^:.]{0,40}:",
    re.IGNORECASE,
)
WRITTEN = (
    r"(?:runbook|page|file|entry|line|note|docs?|documentation|handbook|manual|policy|table|register|wiki|sheet|list"
    r"|config|plan|drawing|memo|protocol|notice|poster|card|leaflet|flyer|brochure|booklet|guide|timetable|website)s?"
)
_WRITTEN = re.compile(rf"\b{WRITTEN}\b|[\w-]\.[a-z]{{2,5}}\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"\b(?:whether|uncertain|unclear|unknown|might|could be(?= (?:a|an|the|due|that|because|wrong|about|related"
    r"|caused)\b)|may be|possibly|perhaps|maybe|either|probably|presumably)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:says?|said|states?|stated|reports?|reported|shows?|showed|lists?|listed|claims?|claimed|reads|names?|named"
    r"|gives?|gave|allows?|allowed|puts?|records?|recorded|mentions?|mentioned|speaks?|spoke|promises?|promised"
    r"|quotes?|quoted)\b",
    re.IGNORECASE,
)
_STILL = re.compile(
    r"\b(?:still|which|that|who|whose) (?:has|have|had|gives?|gave|claims?|claimed|lists?|says?|said|shows?|carr(?:y"
    r"|ies)|names?|lets?|reads?|holds?|speaks?|mentions?|quotes?|refers?|permits?|allows?)\b"
    r"|\byou(?:'ll| will| may| might| can)?(?: still)? (?:have found|find|see|stumble|come across|read)\b"
    rf"|\b{WRITTEN} still \w+s\b(?<!holds)(?<!applies)(?<!stands)(?<!counts)|^(?:they|it) (?:do|does)\b"
    r"|\b(?:given|named|stated|quoted|listed|mentioned|found|written|printed|shown)(?: as (?:the )?\w+)? (?:in|on|by)\b"
    r"|\b(?:is|are|stands?) (?:still )?written\b|\b(?:comes?|stems?) from\b|\bclaim:|\bsays?:|\bwith its\b"
    r"|\bkeeps? (?:listing|saying|naming|showing|claiming|giving)\b",
    re.IGNORECASE,
)
_POSSESSION = re.compile(r"\b(?:has|have|had)\b(?! to)", re.IGNORECASE)
_RELATIVE = re.compile(r"^(?:which|whose|who|where)\b", re.IGNORECASE)
_VERDICT = re.compile(r"\b(?:true|valid|correct|right|current)\b", re.IGNORECASE)
_SUMS_UP = re.compile(r"(?:verdict|answer|result|conclusion|claim|status|finding)\b", re.IGNORECASE)
_FOLLOWS = re.compile(
    r"^(?:which|that|this|these|those|and|now|since|both|it|but|is|was|are|were|long|should|must|needs?|has|have"
    r"|can)\b",
    re.IGNORECASE,
)
_VERB = re.compile(rf"\b{_AUXILIARY}\b", re.IGNORECASE)
FRAGMENT = 6  # words of what is no clause by itself
RELATIVE = 3  # words that the negation of a relative clause denies
WITHOUT = 3  # words that `without` denies
HEAP, LEAST_GRAMMAR = 20, 15  # words, and how many of a hundred belong to grammar in the barest of notes
LONGEST_LABEL = 4  # words
LONGEST_CLAUSE = 200  # words; nobody follows a longer one
_OPENERS, _CLOSERS = "([{", ")]}"


class Clause(msgspec.Struct):
    """A stretch of a sentence with, for each word, whether it is negated and whether it was retracted."""

    text: str
    tokens: list[Token]
    negated: list[bool]
    retracted: list[bool]
    hedged: bool = False
    word_list: bool = False  # words in a row that say nothing
    sentence: int = 0
    asked: bool = False  # part of a question

    def reports(self, position: int, named_before: bool) -> bool:
        """Whether the word is handed on as what someone says: `the runbook says 3 times`, `n101 has 3 times`."""
        before = self.text[: self.tokens[position].start]
        return bool(_REPORT.search(before)) or (named_before and bool(_POSSESSION.search(before)))

    @property
    def hands_on(self) -> bool:
        """`still has`, `which says`: someone's word, named or not."""
        return bool(_STILL.search(self.text))

    def asserts(self, position: int) -> bool:
        """Whether the word at this position is said to hold."""
        return self.negated[position] == self.retracted[position]


class Reading(msgspec.Struct):
    """A text as clauses; sentences are lists of indexes into them."""

    clauses: list[Clause] = []
    sentences: list[list[int]] = []
    seeks_wrong: bool = False  # the last sentence asked for what does not hold

    def siblings(self, clause: Clause) -> list[Clause]:
        return [self.clauses[index] for index in self.sentences[clause.sentence]]


def read(text: str) -> Reading:
    """The clauses of a text, sentence by sentence."""
    reading = Reading()
    under_stale_heading = False
    for line in straight(text).splitlines():
        body, is_heading = _strip_layout(line)
        if is_heading:
            under_stale_heading = bool(_STALE.search(body)) and len(body.split()) <= 4 and not _SUMS_UP.match(body)
        for sentence in _SENTENCE.split(body):
            _add_sentence(reading, sentence, under_stale_heading and not is_heading, is_heading)
    _mark_word_heap(reading)
    return reading


def _mark_word_heap(reading: Reading) -> None:
    """A text that hardly has a word of grammar strings words together, however it is cut by commas."""
    words = [t for clause in reading.clauses for t in clause.tokens if not t.is_anchor and not t.is_name]
    grammar = sum(token.norm in FUNCTION_STEMS for token in words)
    if len(words) >= HEAP and 100 * grammar < LEAST_GRAMMAR * len(words):
        for clause in reading.clauses:
            clause.word_list = True


def _strip_layout(line: str) -> tuple[str, bool]:
    """The words of a line without list, heading and emphasis marks; whether it is a heading."""
    stripped = line.strip()
    if stripped.startswith("|") and stripped.endswith("|"):  # a row is what its first cell names and the others say
        label, *cells = (cell.strip() for cell in stripped[1:-1].split("|"))
        line = ": ".join(filter(None, (label, " – ".join(cells))))
    body = _MARKER.sub("", line, count=1).replace("**", "").replace("__", "").replace("`", "").strip(" |")
    heading = stripped.startswith("#") or (stripped.startswith("**") and stripped.rstrip(":").endswith("**"))
    return body, heading


def _add_sentence(reading: Reading, sentence: str, stale: bool, is_heading: bool) -> None:
    sentence = _PARTICLE.sub("", sentence.strip())
    stale = stale or bool(_STALE_LABEL.match(sentence))
    parts = [clause for clause in map(_clause, _cut(sentence)) if clause.tokens]
    if not parts:
        return
    if _is_enumeration(parts):
        for clause in parts:
            clause.word_list = True
    _retract_within(parts)
    if reading.sentences and not is_heading and _POINTS_BACK.match(sentence):
        before = [reading.clauses[index] for index in reading.sentences[-1]]
        if _retracts_previous(before[-1], parts[0]):
            _retract(before)
    first = len(reading.clauses)
    for clause in parts:
        clause.asked = sentence.endswith("?")
        clause.sentence = len(reading.sentences)
    if stale or (reading.seeks_wrong and not parts[0].asked):
        _retract(parts)
    reading.seeks_wrong = parts[0].asked and bool(_ASKS_WRONG.search(sentence))
    reading.clauses += parts
    reading.sentences.append(list(range(first, first + len(parts))))


def _retract_within(parts: list[Clause]) -> None:
    """What a later clause of the sentence takes back, and what it says of what was taken back."""
    for earlier, later in pairwise(parts):
        if _retracts_previous(earlier, later):
            _retract(_fragments_up_to(earlier, parts))
        elif earlier.retracted[-1] and (later.hands_on or later.text.startswith("whose ")):  # `…, which had 65`
            _retract([later])


def _retract(clauses: list[Clause]) -> None:
    for clause in clauses:
        clause.retracted = [True] * len(clause.tokens)


def _fragments_up_to(last: Clause, parts: list[Clause]) -> list[Clause]:
    """A clause with the fragments right before it: `14 days – policy page, outdated` is one thing said."""
    end = next(i for i, part in enumerate(parts) if part is last)
    start = end
    while start and all(_is_fragment(part) for part in parts[start - 1 : end + 1]):
        start -= 1
    return parts[start : end + 1]


def _is_fragment(clause: Clause) -> bool:
    return len(clause.tokens) <= FRAGMENT and not _VERB.search(clause.text)


def _cut(sentence: str) -> list[str]:
    """Cut at commas and conjunctions that stand outside brackets and quotes."""
    pieces: list[str] = []
    start = position = depth = quotes = 0
    for match in _SPLIT.finditer(sentence):
        passed = sentence[position : match.start()]
        position = match.start()
        depth += sum(passed.count(c) for c in _OPENERS) - sum(passed.count(c) for c in _CLOSERS)
        quotes += passed.count('"')
        if depth <= 0 and quotes % 2 == 0:
            pieces.append(sentence[start : match.start()])
            start = match.end()
    return [*pieces, sentence[start:]]


def _clause(text: str) -> Clause:
    words = tokens(text)
    clause = Clause(text, words, [False] * len(words), [False] * len(words))
    if len(words) > LONGEST_CLAUSE:
        clause.word_list = True
        return clause
    clause.hedged = bool(_HEDGE.search(text))
    clause.word_list = _says_nothing(words)
    _mark_negation(clause)
    _mark_retraction(clause)
    return clause


def _mark_negation(clause: Clause) -> None:
    # `Not there yet: p95 is 810 ms` denies nothing behind the colon.
    # Nor is what came of it denied in `it dropped because the vent did not close`.
    edges = [0, *(match.start() for match in _SEGMENT.finditer(clause.text)), len(clause.text)]
    for start, end in pairwise(edges):
        _mark_segment(clause, start, end)


def _mark_segment(clause: Clause, start: int, end: int) -> None:
    silent = [match.span() for match in _NEVER_CHANGED.finditer(clause.text, start, end)]
    predicates = [m for m in _PREDICATE_NEGATION.finditer(clause.text, start, end) if not _within(m.start(), silent)]
    if len(predicates) % 2:
        limit = _LIMIT.search(clause.text, predicates[0].end(), end)  # `not out before 7 July` names the day
        until = limit.start() if limit else end
        verb = predicates[0].start()
        relative = _RELATIVE_BEFORE.search(clause.text, start, verb)  # `a pipe that was not on the map was hit`
        if relative:
            start = relative.start()
            after = [token.start for token in clause.tokens if token.start >= predicates[0].end()]
            until = min(until, after[RELATIVE] if len(after) > RELATIVE else end)
        for position, token in enumerate(clause.tokens):
            # `14 of 62 cars could not be rented` counts them all the same
            if start <= token.start < until and not (token.start < verb and token.norm[:1].isdigit()):
                clause.negated[position] = True
    for match in _RIGHT_NEGATION.finditer(clause.text, start, end):
        if _within(match.start(), [p.span() for p in predicates] + silent):
            continue
        until = _end_of_negation(clause, match, start, end)
        for position, token in enumerate(clause.tokens):
            if match.end() <= token.start < until:
                clause.negated[position] = not clause.negated[position]


def _end_of_negation(clause: Clause, match: re.Match[str], start: int, end: int) -> int:
    """How far a negation to the right of its word goes."""
    word = match.group().casefold()
    after = [token.start for token in clause.tokens if token.start >= match.end()]
    if _MODIFIES.search(clause.text, start, match.start()):  # `searches with no result fell`
        return after[1] if len(after) > 1 else end
    if word in ("without", "nothing"):  # `searches without any result fell` denies the result alone
        return after[WITHOUT] if len(after) > WITHOUT else end
    # `no room left on the disk` says nothing against the disk, `nobody looked since March` nothing against March
    limit = _PLACE if word == "no" else _LIMIT if word == "nobody" else None
    found = limit.search(clause.text, match.end(), end) if limit else None
    return found.start() if found else end


def _within(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


def _mark_retraction(clause: Clause) -> None:
    _mark_retracted(clause)
    # `lengthened from 4 hours to 9`: the first one was.
    if _CHANGED.search(clause.text) and (former := _FORMER.search(clause.text)):
        for position, token in enumerate(clause.tokens):
            if former.start(1) <= token.start < former.end(1):
                clause.retracted[position] = True


def _mark_retracted(clause: Clause) -> None:
    passive, active = _PASSIVE.search(clause.text), _ACTIVE.search(clause.text)
    exchanged = _REPLACED_WITH.search(clause.text)
    if exchanged:
        clause.retracted = [exchanged.start("gone") <= token.start < exchanged.end("gone") for token in clause.tokens]
    elif active and (gone := _stale(clause.text[: active.start()])):  # `the 30 s is stale and Sam corrects it`
        start, _ = _said_with(clause.text, gone)
        clause.retracted = [start <= token.start < active.start() for token in clause.tokens]
    elif passive:
        start, _ = _said_with(clause.text, passive)
        clause.retracted = [start <= token.start < passive.start() for token in clause.tokens]
    elif active:
        until = clause.text.find(":", active.end())
        until = len(clause.text) if until < 0 else until
        clause.retracted = [active.end() <= token.start < until for token in clause.tokens]
    elif stale := _stale(clause.text):
        start, end = _said_with(clause.text, stale)
        if called := _CALLS.search(clause.text, start, stale.start()):  # `the report calls the sheet outdated`
            start = called.end()
        if _ATTRIBUTE.match(clause.text, stale.start()):  # `lets older limits lapse` takes back what follows
            start = stale.start()
        if since := _SINCE.search(clause.text, stale.end(), end):  # `outdated since 27 February`: that day holds
            end = since.start()
        clause.retracted = [start <= token.start < end for token in clause.tokens]


def _stale(text: str) -> re.Match[str] | None:
    """Where a clause says that something is out of date, unless it denies that."""
    found = _STALE.search(text)
    if found and re.search(r"(?:\bnot|n't)(?: \w+)? $", text[: found.start()]):
        return None
    if found is None and _WRITTEN.search(text):
        return _NEVER_CHANGED.search(text)
    return found


def _said_with(text: str, match: re.Match[str]) -> tuple[int, int]:
    """The part between colons that a word stands in; a label before a colon goes for what follows it."""
    edges = [0, *(colon.end() for colon in COLON.finditer(text)), len(text)]
    start, end = next((one, other) for one, other in pairwise(edges) if one <= match.start() < max(other, one + 1))
    is_label = start == 0 and len(text[:end].split()) <= LONGEST_LABEL and not _VERDICT.search(text[:end])
    is_label = is_label and not _BACKWARD.match(text)  # `but it's superseded: …` is about what stands before
    return (0, len(text)) if is_label else (start, end)


def _retracts_previous(earlier: Clause, clause: Clause) -> bool:
    """`…, which is superseded`: a predicate without a subject of its own is about what stands before."""
    passive = _PASSIVE.search(clause.text)
    stale = _STALE.search(clause.text)
    if stale is None and _WRITTEN.search(earlier.text):  # only what is written can lack an update
        stale = _NEVER_CHANGED.search(clause.text)
    active = _ACTIVE.search(clause.text)
    if active and _RELATIVE.match(clause.text) and not clause.text[active.end() :].strip(" .!,)"):
        return True  # `…, which the decision supersedes`
    if active and _AGAINST.match(clause.text) and _BACK.match(clause.text, active.end()):
        return True  # `…, but the decision overrides it`
    cue = passive or (None if active else stale)
    if cue is None:
        return False
    subject = clause.text[: cue.start()]
    bare = not subject.strip() or bool(_FOLLOWS.match(subject))
    has_own_words = any(token.is_content for token in tokens(subject)) or (
        not passive and sum(t.is_content and not t.is_anchor for t in tokens(clause.text[cue.end() :])) > 1
    )
    return bare and not has_own_words


def _says_nothing(words: list[Token]) -> bool:
    plain = sum(not token.is_anchor and not token.is_name for token in words)
    if plain < 8:
        return False
    grammar = sum(token.norm in FUNCTION_STEMS for token in words)
    least = 12 if len(words) < 15 else 6  # a short note may do with hardly any grammar, a long one can't
    return least * grammar < len(words) or _is_scrambled(words)


def _is_scrambled(words: list[Token]) -> bool:
    """Articles followed by what can't follow an article: words drawn from a hat."""
    articles = [i for i, token in enumerate(words[:-1]) if token.norm in ("the", "a", "an")]
    wrong = sum(words[i + 1].norm in _NEVER_AFTER_ARTICLE for i in articles)
    return wrong >= 2 and 3 * wrong >= len(articles)


def _is_enumeration(parts: list[Clause]) -> bool:
    """A long list of bare words between commas."""
    bare = [p for p in parts if len(p.tokens) <= 3 and not any(t.norm in FUNCTION_STEMS for t in p.tokens)]
    return len(parts) >= 7 and 5 * len(bare) >= 4 * len(parts)


_NEVER_AFTER_ARTICLE = vocabulary("the a an of is are was were to and or in by for at on with from be has have not")
