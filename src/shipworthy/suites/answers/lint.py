"""Gold sets: what in them can never pass or always passes, and which gates they are too small to prove."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, pairwise

import msgspec
from msgspec import UNSET

from ... import stats
from ...core.contracts import Gold
from ...core.gates import Gate, parse_gates
from ...core.sources import GoldSet, GoldSource, load_gold, read_texts, unknown_gold_keys
from ...errors import UsageError
from ...language.refusal import TOKEN
from ...text import first_few, fold, plural, visible
from .metrics import aliases, default_gates, metrics
from .options import Options

ALL_PAIRS = 1500  # up to here every pair of questions is compared, beyond it neighbours in the alphabet
NEAR = 92  # similarity in per cent from which two questions count as near-duplicates


class Finding(msgspec.Struct, frozen=True):
    """One remark about a gold set: an `error` can never be right, a `warning` is worth a look."""

    severity: str
    code: str
    where: str
    qid: str
    says: str

    def __str__(self) -> str:
        name = f"{self.qid}: " if self.qid else ""
        return f"{self.where}: {name}{self.says} [{self.code}]"


def lint(
    gold: GoldSource,
    *,
    gates: Iterable[str | Gate] = (),
    min_substr: int = 5,
    chunks: str | Mapping[str, str] | None = None,
    map: Iterable[str] = (),
) -> list[Finding]:
    """Everything worth saying about a gold set, errors first."""
    if min_substr < 1:
        raise UsageError("must be at least 1", where="min_substr", hint="Write 5, or 4 for years.", code="option-value")
    gold_set = load_gold(gold, map=map)
    known = None if chunks is None else read_texts(chunks, "chunks")[0]
    findings = [
        *_item_findings(gold_set, min_substr),
        *(_unknown_ids(gold_set, known) if known is not None else ()),
        *_duplicates(gold_set),
        *_unknown_keys(gold, gold_set.source.path, map),
        *_sizes(gold_set, list(gates)),
    ]
    return sorted(findings, key=lambda finding: finding.severity != "error")


def _item_findings(gold_set: GoldSet, min_substr: int) -> Iterator[Finding]:
    for qid, item in gold_set.items.items():
        where = f"{gold_set.source.path}:{gold_set.lines[qid]}"
        checks = _answerable_checks(item, min_substr) if item.answerable else _unanswerable_checks(item)
        for severity, code, says in [*checks, *_common_checks(item)]:
            yield Finding(severity, code, where, qid, says)


def _answerable_checks(item: Gold, min_substr: int) -> Iterator[tuple[str, str, str]]:
    folded = [fold(text) for text in item.substrings if item.match in ("any", "all")]
    long = [text for text in folded if len(text) >= min_substr]
    if item.gold_claim_substr is UNSET:
        yield (
            "error",
            "gold-no-substr",
            "gold_claim_substr is absent, so no claim can be right. Add a substring, or an empty list.",
        )
    elif not item.substrings:
        yield "warning", "gold-vacuous", "gold_claim_substr is empty, so every claim is right. Add a substring."
    if any(text and text in TOKEN for text in long):
        yield "error", "gold-token", f"a substring is part of the refusal token {TOKEN!r}. Choose another."
    if echoed := [text for text in long if text in fold(item.question)]:
        yield "warning", "gold-echo", f"the question itself contains {echoed[0]!r}: an answer that repeats it passes."
    if not item.citations:
        yield (
            "warning",
            "gold-uncited",
            "gold_citations is empty although answerable is true. Add an id, or set answerable to false.",
        )


def _unanswerable_checks(item: Gold) -> Iterator[tuple[str, str, str]]:
    if item.answerable is None:
        yield "error", "gold-answerable", 'it does not say whether it is answerable. Add "answerable": true or false.'
        return
    if item.citations:
        yield "warning", "gold-cited-refusal", "it is unanswerable and has gold_citations. Which is meant?"
    if item.substrings:
        yield "warning", "gold-cited-refusal", "it is unanswerable and has gold_claim_substr. Which is meant?"


def _common_checks(item: Gold) -> Iterator[tuple[str, str, str]]:
    if not item.question.strip() and not item.paraphrases:
        yield "warning", "gold-no-question", "there is no question."
    wordings = [fold(text) for text in (item.question, *item.paraphrases) if text.strip()]
    if len(set(wordings)) < len(wordings):
        yield "warning", "gold-paraphrase", "a paraphrase repeats the question or another paraphrase."
    relevant = {place if isinstance(place, str) else place.id for place in item.relevant} | set(item.citations)
    if both := sorted(relevant & set(item.negatives)):
        yield "error", "gold-negative", f"{both[0]!r} is relevant and a negative at once."


def _unknown_ids(gold_set: GoldSet, chunks: Mapping[str, str]) -> Iterator[Finding]:
    for qid, item in gold_set.items.items():
        where = f"{gold_set.source.path}:{gold_set.lines[qid]}"
        for name in dict.fromkeys([*item.citations, *item.negatives]):
            if name not in chunks:
                yield Finding("error", "gold-unknown-id", where, qid, f"{name!r} is not in the chunk file.")


def _unknown_keys(gold: GoldSource, path: str, map: Iterable[str]) -> Iterator[Finding]:
    """One remark with the keys that no suite reads, most frequent first."""
    if counted := unknown_gold_keys(gold, map):
        names = sorted(counted, key=lambda name: (-counted[name], name))
        listed = first_few([f"{visible(name, 60)} ({counted[name]})" for name in names])
        says = f"no suite reads these keys: {listed}. Check their spelling; fields to slice by are fine."
        yield Finding("warning", "gold-keys", path, "", says)


def _duplicates(gold_set: GoldSet) -> Iterator[Finding]:
    """Questions that are asked twice, letter for letter or nearly."""
    asked = sorted((fold(item.question), qid) for qid, item in gold_set.items.items() if item.question.strip())
    pairs: Iterable[tuple[tuple[str, str], tuple[str, str]]]
    pairs = combinations(asked, 2) if len(asked) <= ALL_PAIRS else pairwise(asked)
    similar = _similarity()
    for (first, one), (second, other) in pairs:
        if first == second:
            says, code = f"is the same question as {one}", "gold-duplicate"
        elif similar(first, second) >= NEAR:
            says = f"is nearly the same question as {one}: {gold_set.items[one].question!r}"
            code = "gold-near-duplicate"
        else:
            continue
        yield Finding("warning", code, f"{gold_set.source.path}:{gold_set.lines[other]}", other, says)


def _similarity() -> Callable[[str, str], float]:
    from rapidfuzz import fuzz

    return lambda first, second: fuzz.ratio(first, second, score_cutoff=NEAR)


def _sizes(gold_set: GoldSet, wanted: list[str | Gate]) -> Iterator[Finding]:
    """Gates that even a perfect run could not prove on this many items."""
    options = Options()
    chosen = {gate.key: gate for gate in default_gates()}
    chosen |= {gate.key: gate for gate in parse_gates(wanted, metrics(options), aliases(options))}
    answerable = sum(1 for item in gold_set.items.values() if item.answerable)
    unanswerable = len(gold_set.items) - answerable
    if not unanswerable:
        yield Finding(
            "warning",
            "gold-no-refusals",
            gold_set.source.path,
            "",
            "there is no unanswerable question, so refusals are not tested.",
        )
    for gate in chosen.values():
        about = unanswerable if gate.metric == "under_refusal" else answerable
        needed = _needed(gate)
        if needed is not None and about and about < needed and not gate.slice:
            kind = "unanswerable" if gate.metric == "under_refusal" else "answerable"
            says = (
                f"{gate} can't be proven with {plural(about, kind + ' item')}: even a perfect run needs {needed}, "
                f"{needed - about} more."
            )
            yield Finding("warning", "gold-size", gold_set.source.path, "", says)


def _needed(gate: Gate) -> int | None:
    """How many cases without a single failure prove the gate; None where it is not a rate, or is relative."""
    if gate.bound.sign or gate.metric.startswith(("missing", "scu_violations")) or not 0 < gate.bound.number < 1:
        return None
    return stats.smallest_n(gate.bound.number, 0, gate.op)  # type: ignore[arg-type]
