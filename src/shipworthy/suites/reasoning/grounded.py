"""Profile `grounded`: the four dimensions from what can be checked against the evidence; what decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from ...core.evidence import Row
from ...language.refusal import is_exact
from ...language.refusal.natural import opens_refusing
from .actions import Action, find_actions, proposes
from .affirmed import Standing, affirms, first_affirming, occurrences, settles, standing
from .anchors import Anchors, NoteIndex, find
from .attribution import misattributed
from .clauses import read
from .copying import is_dump, strip_echo
from .fixture import DIMENSIONS, Fixture, Note, ReasonCase
from .opposites import turned_round
from .signals import contradiction_required
from .spelling import Spelling
from .statements import Statement, statements
from .unanswered import leaves_unanswered
from .verdict import ReasonerAnswer, Verdict, below_minimum, passes, weighted
from .words import content, is_within, norms, tokens

LONGEST = 20_000  # characters that are read; nobody reads more
BAND = 800  # words; a longer answer is not useful
FABRICATION_CAP = Fraction(35, 100)
MISBOUND_CAP = Fraction(45, 100)
# A value right and given as its source's word; right with its source cited elsewhere; right without a source.
CREDIT: Mapping[Standing, Fraction] = {
    "bound": Fraction(1),
    "elsewhere": Fraction(9, 10),
    "uncited": Fraction(85, 100),
    "misbound": Fraction(0),
    "denied": Fraction(0),
    "doubted": Fraction(0),
    "absent": Fraction(0),
}
WRONG: frozenset[Standing] = frozenset(("misbound", "denied", "doubted"))
_DAY = re.compile(r"(?:\d{4}-)?\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)")
# The refusal rule knows documents; a reasoner speaks of its notes.
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{2,400})[\"\u201d]")
_STORE_WORDS = re.compile(r"\b(?:notes?|memor(?:y|ies)|note store|evidence)\b", re.IGNORECASE)


class Examined(msgspec.Struct, frozen=True):
    """What was found in one answer, before any score."""

    on_topic: Sequence[Statement]
    anchors: Anchors
    standings: Sequence[Standing]
    actions: Sequence[Action]
    resolved: bool
    forbidden: tuple[str, ...]
    other_side: bool
    relevance: Fraction
    coverage: Fraction
    dump: bool
    words: int
    proposals: Sequence[Statement] = ()
    misattributed: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()

    @property
    def misbound(self) -> int:
        return sum(kind in WRONG for kind in self.standings)

    @property
    def invented(self) -> tuple[str, ...]:
        """Numbers that neither evidence nor question has, nor a difference of theirs; days may be proposed."""
        proposed = {t.raw for s in self.proposals for t in s.clause.tokens if _DAY.fullmatch(t.raw)}
        return tuple(text for text in self.anchors.invented if text not in proposed)


def judge(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture) -> Verdict:
    """Facts and scores of one answer."""
    blank = not answer.content.strip()
    if not blank and _refuses(case, answer):
        return _refused(case, answer, fixture)
    if not case.answerable:
        kind, status = ("empty", "empty") if blank else ("under_refusal", "answered")
        nothing = dict.fromkeys(DIMENSIONS)
        return Verdict(
            case.id, status, nothing, Fraction(0), (kind, *_degraded(answer)), False, {"under_refusal": True}
        )
    if blank:
        return _verdict(case, answer, fixture, "empty", _zeros(case), ("empty",), {})
    evidence = case.evidence if answer.evidence is None else answer.evidence
    if not evidence:
        return _verdict(case, answer, fixture, "answered", _zeros(case), ("no_evidence",), {})
    findings = examine(case, answer.content[:LONGEST], evidence)
    return _verdict(case, answer, fixture, "answered", score(case, findings), _failures(findings), _facts(findings))


def is_refusal(text: str) -> bool:
    """The token, or a refusal in other words; it may go on to tell what the evidence has instead."""
    return is_exact(text.strip().rstrip(".")) or opens_refusing(_STORE_WORDS.sub("documents", text))


def _refuses(case: ReasonCase, answer: ReasonerAnswer) -> bool:
    """A refusal, with what the case knows: who gives every bound value has answered, however it sounds."""
    text = answer.content[:LONGEST]
    if case.answerable:
        return is_refusal(text) and not (case.bindings and _gives_all(case, answer))
    evidence = case.evidence if answer.evidence is None else answer.evidence
    case, text, evidence = _in_one_spelling(case, text, evidence)
    return is_exact(text.strip().rstrip(".")) or leaves_unanswered(text, NoteIndex(evidence, case.prompt))


def _gives_all(case: ReasonCase, answer: ReasonerAnswer) -> bool:
    evidence = case.evidence if answer.evidence is None else answer.evidence
    findings = examine(case, answer.content[:LONGEST], evidence)
    return all(CREDIT[kind] for kind in findings.standings)


def examine(case: ReasonCase, text: str, evidence: Sequence[Note]) -> Examined:
    """Everything that the scores are made of."""
    case, text, evidence = _in_one_spelling(case, text, evidence)
    store = NoteIndex(evidence, case.prompt)
    said = statements(read(strip_echo(_without_quoted_question(text, case.prompt), case.prompt)), store)
    on_topic, counted = _on_topic(said, store)
    prompt_words = content(case.prompt)
    anchors = find(text, store)
    standings = [standing(binding, said, store) for binding in case.bindings]
    in_conflict = [kind for binding, kind in zip(case.bindings, standings, strict=True) if binding.rivals]
    rivals = frozenset(item for binding in case.bindings for ref in binding.rivals for item in store.naming(ref))
    resolved, forbidden = _sides(case, said, standings, prompt_words, rivals)
    if not case.expected_resolution and in_conflict:
        resolved = all(CREDIT[kind] for kind in in_conflict)
    return Examined(
        on_topic=on_topic,
        anchors=anchors,
        standings=standings,
        actions=find_actions(said, store),
        resolved=resolved,
        forbidden=forbidden,
        other_side=_other_side(case, said, anchors, store),
        relevance=Fraction(len(on_topic), counted) if counted else Fraction(0),
        coverage=_coverage(case, on_topic, store),
        dump=is_dump(text, evidence),
        words=len(norms(text)),
        proposals=[statement for statement in said if proposes(statement.clause.text)],
        misattributed=tuple(misattributed(said, store)),
        turned=tuple(turned_round(said, [item for item in store.evidence if item.id not in rivals], case.prompt)),
    )


def _without_quoted_question(text: str, prompt: str) -> str:
    """What is quoted from the question is the question's word: `Audit: "kept for 90 days"`."""
    return _QUOTED.sub(lambda match: " " if is_within(match[1], prompt) else match[0], text)


def _in_one_spelling(case: ReasonCase, text: str, evidence: Sequence[Note]) -> tuple[ReasonCase, str, tuple[Note, ...]]:
    """Everything with dates, numbers and durations written as the evidence and the question write them."""
    texts = [case.prompt, *(item.text for item in evidence)]
    spelling = Spelling(texts, [item.source for item in evidence])
    spelled = replace(
        case,
        prompt=spelling.of(case.prompt),
        bindings=tuple(replace(binding, value=spelling.of(binding.value)) for binding in case.bindings),
        expected_resolution=tuple(map(spelling.of, case.expected_resolution)),
        forbidden=tuple(map(spelling.of, case.forbidden)),
    )
    return spelled, spelling.of(text), tuple(replace(item, text=spelling.of(item.text)) for item in evidence)


def _sides(
    case: ReasonCase,
    said: list[Statement],
    standings: Sequence[Standing],
    prompt_words: frozenset[str],
    rivals: frozenset[str],
) -> tuple[bool, tuple[str, ...]]:
    """Whether the right side is taken, and which forbidden phrases are affirmed.

    A phrase that is only handed on ("the runbook says 3") takes no side if the answer itself takes the right one.
    """
    right = {affirms(phrase, said, prompt_words) for phrase in case.expected_resolution}
    since = first_affirming(case.expected_resolution, said, prompt_words)
    wrong = {phrase: affirms(phrase, said, prompt_words, rivals, since, whole=True) for phrase in case.forbidden}
    if "yes" in right:
        return True, tuple(phrase for phrase, kind in wrong.items() if kind == "yes")
    value_given = any(
        binding.rivals
        and kind in ("bound", "elsewhere")
        and any(occurrences(binding.value, tokens(p)) for p in case.expected_resolution)
        for binding, kind in zip(case.bindings, standings, strict=True)
    )
    # Both sides handed on: one of them is taken if the answer takes something back.
    sided = (value_given or "reported" in right) and any(
        any(s.clause.retracted) or settles(s.clause.text) for s in said
    )
    return (
        value_given or "reported" in right,
        tuple(phrase for phrase, kind in wrong.items() if kind == "yes" or (kind == "reported" and not sided)),
    )


def score(case: ReasonCase, findings: Examined) -> dict[str, Fraction | None]:
    """The scores of the dimensions that the case asks for."""
    values = {
        "actionability": _actionability(case, findings),
        "factual_grounding": _grounding(case, findings),
        "contradiction_handling": _contradiction(case, findings),
        "usefulness": _usefulness(case, findings),
    }
    return {name: values[name] if is_required(case, name) else None for name in DIMENSIONS}


def is_required(case: ReasonCase, dimension: str) -> bool:
    if dimension == "contradiction_handling":
        return contradiction_required(case)
    return case.expectation(dimension).required is not False


def _actionability(case: ReasonCase, findings: Examined) -> Fraction:
    """One sound action carries it; a second one (or the case's own terms), an owner and a time add to it."""
    actions = findings.actions
    if not actions or findings.dump:  # what is handed on unread proposes nothing
        return Fraction(0)
    more = len(actions) > 1 or _has_terms(case, "actionability", findings.on_topic)
    gained = 60 + 10 * more + 15 * any(a.owned for a in actions) + 15 * any(a.timed for a in actions)
    return Fraction(gained, 100)


def _grounding(case: ReasonCase, findings: Examined) -> Fraction:
    """Bound values and citations, times the share of anchors that the evidence bears out."""
    anchors = findings.anchors
    cited = Fraction(any(c.items for c in anchors.citations))
    bound = _mean([CREDIT[kind] for kind in findings.standings]) if case.bindings else findings.relevance
    support = Fraction(anchors.supported, anchors.total) if anchors.total else Fraction(1)
    base = Fraction(6, 10) * bound + Fraction(4, 10) * cited * min(Fraction(1), 2 * findings.relevance)
    value = base * support**2  # one invented number casts doubt on the others
    if anchors.unresolved:
        value = min(value, FABRICATION_CAP)
    return min(value, MISBOUND_CAP) if _is_false(findings) else value


def _is_false(findings: Examined) -> bool:
    lacking = "absent" in findings.standings
    return bool(lacking or findings.misbound or findings.misattributed or findings.invented or findings.turned)


def _contradiction(case: ReasonCase, findings: Examined) -> Fraction:
    """The right side affirmed; the wrong one not; that there was another side, said."""
    rivalled = [k for b, k in zip(case.bindings, findings.standings, strict=True) if b.rivals]
    if findings.forbidden or any(kind in WRONG for kind in rivalled):
        return Fraction(0)
    if not (case.expected_resolution or rivalled):
        return Fraction(1, 2) * findings.other_side + Fraction(1, 2) * _has_terms(
            case, "contradiction_handling", findings.on_topic
        )
    return Fraction(6, 10) * findings.resolved + Fraction(4, 10) * (findings.resolved and findings.other_side)


def _usefulness(case: ReasonCase, findings: Examined) -> Fraction:
    """The values asked for, without what is beside the point; what is false, dumped or endless is of no use."""
    if _failures(findings) or findings.words > BAND:
        return Fraction(0)
    given = _mean([Fraction(bool(CREDIT[kind])) for kind in findings.standings]) if case.bindings else findings.coverage
    return Fraction(5, 10) * given + Fraction(3, 10) * findings.relevance + Fraction(2, 10) * findings.coverage


def _on_topic(said: Sequence[Statement], store: NoteIndex) -> tuple[list[Statement], int]:
    """The clauses that touch the evidence, and how many clauses have something to say."""
    topic = {word for item in store.evidence for word in content(item.text)}
    touching: list[Statement] = []
    beside = 0
    for statement in said:
        words = {t.norm for t in statement.clause.tokens if t.is_content}
        shared = words & topic
        if len(shared) >= 2 or any(c.items for c in statement.citations) or _touches_anchor(statement, shared):
            touching.append(statement)
        else:
            beside += len(words) > 2
    return touching, len(touching) + beside


def _touches_anchor(statement: Statement, shared: set[str]) -> bool:
    return any(t.is_anchor and t.norm in shared for t in statement.clause.tokens)


def _coverage(case: ReasonCase, said: Sequence[Statement], store: NoteIndex) -> Fraction:
    """How many of the evidence's words the answer takes up, up to three, or the case's own terms."""
    if _has_terms(case, "usefulness", said):
        return Fraction(1)
    topic = {word for item in store.evidence for word in content(item.text)}
    taken = {t.norm for s in said for i, t in enumerate(s.clause.tokens) if t.norm in topic and not s.clause.negated[i]}
    return min(Fraction(1), Fraction(len(taken), 3))


def _has_terms(case: ReasonCase, dimension: str, said: Sequence[Statement]) -> bool:
    """Whether enough of the case's terms are there as whole words, not negated; nested terms count once."""
    expectation = case.expectation(dimension)
    hits: set[tuple[str, ...]] = set()
    for term in expectation.terms:
        wanted = tuple(norms(term))
        if wanted and any(_holds(statement, wanted) for statement in said):
            hits.add(wanted)
    outer = [h for h in hits if not any(h != o and _within(h, o) for o in hits)]
    return bool(expectation.terms) and len(outer) >= expectation.min_hits


def _holds(statement: Statement, wanted: tuple[str, ...]) -> bool:
    clause = statement.clause
    words = [token.norm for token in clause.tokens]
    size = len(wanted)
    return any(
        tuple(words[i : i + size]) == wanted and not any(clause.negated[i : i + size])
        for i in range(len(words) - size + 1)
    )


def _within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return any(outer[i : i + len(inner)] == inner for i in range(len(outer) - len(inner) + 1))


def _other_side(case: ReasonCase, said: Sequence[Statement], anchors: Anchors, store: NoteIndex) -> bool:
    """Whether the answer shows that someone said otherwise: a rival cited, or something retracted."""
    rivals = {item for binding in case.bindings for ref in binding.rivals for item in store.naming(ref)}
    cited = {item for citation in anchors.citations for item in citation.items}
    if any(any(s.clause.retracted) for s in said) or cited & rivals:
        return True
    return not rivals and len(cited) > 1


def _failures(findings: Examined) -> tuple[str, ...]:
    kinds = (
        ("fabrication", findings.anchors.unresolved),
        ("misbound", findings.misbound),
        ("misattributed", findings.misattributed),
        ("invented", findings.invented),
        ("turned", findings.turned),
        ("forbidden", findings.forbidden),
        ("evidence_dump", findings.dump),
    )
    return tuple(name for name, found in kinds if found)


def _facts(findings: Examined) -> Row:
    anchors = findings.anchors
    return {
        "citations": sorted({item for c in anchors.citations for item in c.items}),
        "unresolved": list(anchors.unresolved),
        "unsupported_anchors": list(anchors.unsupported),
        "misattributed": list(findings.misattributed),
        "turned": list(findings.turned),
        "anchors": anchors.total,
        "bindings": list(findings.standings),
        "resolved": findings.resolved,
        "forbidden": list(findings.forbidden),
        "actions": len(findings.actions),
        "relevance": findings.relevance,
        "evidence_dump": findings.dump,
        "words": findings.words,
    }


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
    return {name: Fraction(0) if is_required(case, name) else None for name in DIMENSIONS}


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
