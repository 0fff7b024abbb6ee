"""Profile `grounded`: the four dimensions from what can be checked against the evidence; what decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from ...core.evidence import Row
from ...language.natural import refuses
from ...language.refusal import is_exact
from .actions import Action, find_actions, listed
from .asserted import Bound, Standing, asserts, standing
from .citations import Citation, by_sentence, find_citations, without
from .copying import is_dump, lacks_grammar, strip_echo
from .fixture import DIMENSIONS, Fixture, Note, ReasonCase
from .notes import suspicions
from .numbers import Numbers, check_numbers
from .reading import Sentence, Store, read_note, read_text
from .signals import contradiction_required
from .support import Support, measure
from .verdict import ReasonerAnswer, Verdict, below_minimum, passes, weighted

LONGEST = 20_000  # characters that are read; whatever is longer is beyond BAND as well
BAND = 800  # words; a longer answer is not useful
FABRICATION_CAP = Fraction(35, 100)
FALSE_CAP = Fraction(45, 100)
ON_TOPIC_FROM = 3  # content words from which an answer should share one with the evidence
ZERO = Fraction(0)


class Examined(msgspec.Struct, frozen=True):
    """What was found in one answer, before any score."""

    support: Support
    citations: Sequence[Citation]
    numbers: Numbers
    standings: Sequence[Standing]
    actions: Sequence[Action]
    resolved: bool
    other_side: bool
    forbidden: tuple[str, ...]
    relevance: Fraction
    taken_up: int  # words of the evidence
    words: int
    faults: tuple[str, ...]  # why it is no answer at all
    notes: tuple[str, ...] = ()

    @property
    def unresolved(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(citation.text for citation in self.citations if not citation.notes))

    @property
    def failures(self) -> tuple[str, ...]:
        kinds = (
            ("fabrication", self.unresolved),
            ("denied", "denied" in self.standings),
            ("misbound", "misbound" in self.standings),
            ("invented", self.numbers.invented),
            ("forbidden", self.forbidden),
        )
        return (*(name for name, found in kinds if found), *self.faults)

    @property
    def earned(self) -> Fraction:
        """The share of the bound values that are given; all of none."""
        given = sum(kind == "given" for kind in self.standings)
        return Fraction(given, len(self.standings)) if self.standings else Fraction(1)


def judge(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture) -> Verdict:
    """Facts and scores of one answer."""
    evidence = case.evidence if answer.evidence is None else answer.evidence
    text = strip_echo(answer.content[:LONGEST], case.prompt)
    if not answer.content.strip():
        return _empty(case, answer, fixture)
    examined = examine(case, text, evidence) if evidence else None
    if _refuses(case, answer, examined):
        return _refused(case, answer, fixture)
    if not case.answerable:
        return _leaked(case, answer, "under_refusal", "answered")
    if examined is None:
        return _verdict(case, answer, fixture, "answered", _zeros(case), ("no_evidence",), {})
    return _verdict(case, answer, fixture, "answered", score(case, examined), examined.failures, _facts(examined))


def _refuses(case: ReasonCase, answer: ReasonerAnswer, found: Examined | None) -> bool:
    """The shared rule; but who gives every bound value, or a number or source that nobody gave, has answered."""
    text = answer.content[:LONGEST]
    if not (is_exact(text.strip().rstrip(".")) or refuses(text)):
        return False
    gives = found is not None and bool(found.unresolved or found.numbers.invented)
    return not gives and not (found is not None and case.bindings and found.earned == 1)


def examine(case: ReasonCase, text: str, evidence: Sequence[Note]) -> Examined:
    """Everything that the scores are made of."""
    store = Store(evidence, case.prompt)
    citations = find_citations(text, store)
    said = read_text(without(text, [citation for citation in citations if not citation.inline]))
    cited = by_sentence(said, citations)
    bound = [Bound(binding, store) for binding in case.bindings]
    standings = [standing(one, [other for other in bound if other is not one], said, cited, store) for one in bound]
    forbidden, both = _wrong_sides(case, said)
    named = {note for notes in cited for note in notes}
    return Examined(
        support=measure(said, store),
        citations=citations,
        numbers=check_numbers(said, store),
        standings=standings,
        actions=find_actions(said, store) if is_required(case, "actionability") else (),
        resolved=_resolves(case, said, standings),
        other_side=any(named & one.rivals for one in bound) or bool(both),
        forbidden=forbidden,
        relevance=_relevance(said, cited, store),
        taken_up=len({word for sentence in said for word in sentence.content} & store.topic),
        words=sum(len(sentence.tokens) for sentence in said),
        faults=_faults(said, store),
        notes=(*both, *suspicions(said, cited, store)),
    )


def _resolves(case: ReasonCase, said: Sequence[Sentence], standings: Sequence[Standing]) -> bool:
    """Whether the right side is taken: in the author's words, or by giving every value that others dispute."""
    if any(asserts(one, phrase) for one in said for phrase in case.expected_resolution):
        return True
    disputed = [kind for b, kind in zip(case.bindings, standings, strict=True) if b.rivals or b.rivals_values]
    return bool(disputed) and all(kind == "given" for kind in disputed)


def _wrong_sides(case: ReasonCase, said: Sequence[Sentence]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The forbidden phrases that are asserted; and sentences with both sides, which only people can read."""
    forbidden, both = [], []
    for phrase in case.forbidden:
        for sentence in (one for one in said if asserts(one, phrase)):
            if any(asserts(sentence, right) for right in case.expected_resolution):
                both.append(f"both sides: {sentence.raw}")
            else:
                forbidden.append(phrase)
    return tuple(dict.fromkeys(forbidden)), tuple(dict.fromkeys(both))


def _relevance(said: Sequence[Sentence], cited: Sequence[set[str]], store: Store) -> Fraction:
    """The share of sentences that touch the evidence, among those that say something."""
    touching = [bool(notes) or not store.topic.isdisjoint(one.content) for one, notes in zip(said, cited, strict=True)]
    counted = [touches for touches, one in zip(touching, said, strict=True) if touches or len(one.content) > 2]
    return Fraction(sum(counted), len(counted)) if counted else ZERO


def _faults(said: Sequence[Sentence], store: Store) -> tuple[str, ...]:
    content = [word for sentence in said for word in sentence.content]
    off_topic = len(content) >= ON_TOPIC_FROM and store.topic.isdisjoint(content)
    kinds = (("evidence_dump", is_dump(said, store)), ("no_grammar", lacks_grammar(said)), ("off_topic", off_topic))
    return tuple(name for name, found in kinds if found)


# --- scores ---


def is_required(case: ReasonCase, dimension: str) -> bool:
    """Actions only where they are asked for, sides only where somebody wrote down which one is right."""
    asked = case.expectation(dimension).required
    if dimension == "contradiction_handling":
        checkable = (
            case.expected_resolution or case.forbidden or any(b.rivals or b.rivals_values for b in case.bindings)
        )
        return contradiction_required(case) and bool(asked or checkable)
    if dimension == "actionability":
        return asked is not False and bool(case.actions or dimension in case.expected)
    return asked is not False


def score(case: ReasonCase, found: Examined) -> dict[str, Fraction | None]:
    """The scores of the dimensions that the case asks for."""
    formulas = (_actionability, _grounding, _contradiction, _usefulness)
    return {
        name: formula(case, found) if is_required(case, name) else None
        for name, formula in zip(DIMENSIONS, formulas, strict=True)
    }


def _actionability(case: ReasonCase, found: Examined) -> Fraction:
    """One sound action carries it; a second one, an owner and a time add to it."""
    if found.faults or not found.actions:
        return ZERO
    base = Fraction(6 + (len(found.actions) > 1), 10)
    owned, timed = any(a.owned for a in found.actions), any(a.timed for a in found.actions)
    return base + Fraction(3, 20) * (owned + timed)


def _grounding(case: ReasonCase, found: Examined) -> Fraction:
    """Support, times the bound values that are given and the numbers that the evidence has."""
    total, invented = found.numbers.total, len(found.numbers.invented)
    known = 1 - min(Fraction(1), Fraction(invented, total)) if total else Fraction(1)
    value = found.support.value
    if case.bindings:  # what the author wrote down weighs as much as the choice of words
        value = found.earned * (1 + value) / 2
    value *= known
    if asks_for_citations(case) and not any(citation.notes for citation in found.citations):
        value *= Fraction(4, 5)
    if found.unresolved:
        return min(value, FABRICATION_CAP)
    return min(value, FALSE_CAP) if found.failures else value


def asks_for_citations(case: ReasonCase) -> bool:
    return any(not listed("cite_words").isdisjoint(one.words) for one in read_note(case.prompt))


def _contradiction(case: ReasonCase, found: Examined) -> Fraction:
    """The right side taken; the wrong one not; that there was another side, shown."""
    if found.faults or found.forbidden or not {"misbound", "denied"}.isdisjoint(found.standings):
        return ZERO
    if not case.expected_resolution:
        return found.earned if case.bindings else found.support.value
    return (Fraction(7, 10) + Fraction(3, 10) * found.other_side) * found.resolved


def _usefulness(case: ReasonCase, found: Examined) -> Fraction:
    """The values asked for, without what is beside the point; no answer at all and an endless one are of no use."""
    if found.faults or found.words > BAND:
        return ZERO
    given = found.earned if case.bindings else min(Fraction(1), Fraction(found.taken_up, 3))
    return Fraction(7, 10) * given + Fraction(3, 10) * found.relevance


# --- verdicts ---


def _facts(found: Examined) -> Row:
    support = found.support
    return {
        "support": support.value,
        "new_words": support.new_words,
        "weakest_sentence": support.weakest_sentence,
        "shared_pairs": support.shared_pairs,
        "unsupported_sentences": list(support.unsupported),
        "citations": sorted({note for citation in found.citations for note in citation.notes}),
        "unresolved": list(found.unresolved),
        "unsupported_anchors": list(found.numbers.invented),
        "anchors": found.numbers.total,
        "bindings": list(found.standings),
        "resolved": found.resolved,
        "forbidden": list(found.forbidden),
        "actions": len(found.actions),
        "relevance": found.relevance,
        "words": found.words,
        "suspicions": list(found.notes),
    }


def _empty(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture) -> Verdict:
    if not case.answerable:
        return _leaked(case, answer, "empty", "empty")
    return _verdict(case, answer, fixture, "empty", _zeros(case), ("empty",), {})


def _leaked(case: ReasonCase, answer: ReasonerAnswer, kind: str, status: str) -> Verdict:
    hard = (kind, *_degraded(answer))
    return Verdict(case.id, status, dict.fromkeys(DIMENSIONS), ZERO, hard, False, {"under_refusal": True})


def _refused(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture) -> Verdict:
    facts = {"over_refusal": case.answerable, "exact_refusal": is_exact(answer.content)}
    if case.answerable:
        return _verdict(case, answer, fixture, "refused", _zeros(case), ("over_refusal",), facts)
    hard = _degraded(answer)
    return Verdict(case.id, "refused", dict.fromkeys(DIMENSIONS), Fraction(1), hard, not hard, facts)


def _verdict(
    case: ReasonCase,
    answer: ReasonerAnswer,
    fixture: Fixture,
    status: str,
    scores: Mapping[str, Fraction | None],
    hard: tuple[str, ...],
    facts: Row,
) -> Verdict:
    failures = hard + _degraded(answer) + below_minimum(case, scores)
    overall = weighted(scores, fixture.weights)
    return Verdict(case.id, status, scores, overall, failures, passes(fixture, overall, failures), facts)


def _degraded(answer: ReasonerAnswer) -> tuple[str, ...]:
    return tuple(name for name in ("repaired", "degraded") if getattr(answer, name))


def _zeros(case: ReasonCase) -> dict[str, Fraction | None]:
    return {name: ZERO if is_required(case, name) else None for name in DIMENSIONS}
