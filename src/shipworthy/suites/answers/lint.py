"""Gold sets: what in them can never pass or always passes, and which gates they are too small to prove."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, pairwise

import msgspec
from msgspec import UNSET

from ... import stats
from ...core.contracts import Gold, ids_of
from ...core.gates import Gate, parse_gates
from ...core.metrics import Mean, Metric, Rate
from ...core.sources import GoldSet, GoldSource, load_gold, read_texts, unknown_gold_keys
from ...core.tally import Tally
from ...errors import UsageError
from ...language.packs import is_read, language
from ...language.refusal import TOKEN, in_token
from ...text import first_few, fold, plural, visible
from .. import load_suite
from .matching import expects_yes_or_no
from .metrics import aliases, default_gates, metrics
from .options import Options, reviewed_note

ALL_PAIRS = 1500  # up to here every pair of questions is compared, beyond it neighbours in the alphabet
NEAR = 92  # similarity in per cent from which two questions count as near-duplicates


GROUPS = 5  # of duplicate questions, and of near-duplicates, that are told one by one
RETRIEVAL_FIELDS = ("relevant", "paraphrases", "anchor_section", "negatives")
RETRIEVAL_SIZE = range(200, 401)
PARAPHRASES = 3


class Finding(msgspec.Struct, frozen=True):
    """One remark about a gold set: an `error` can never be right, a `warning` is worth a look, an `info` is neither."""

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
    retrieval = is_for_retrieval(gold_set)
    findings = [
        *_item_findings(gold_set, min_substr, retrieval),
        *(_unknown_ids(gold_set, known) if known is not None else ()),
        *_duplicates(gold_set),
        *_yes_or_no(gold_set),
        *(() if retrieval else _uncited(gold_set)),
        *(() if retrieval else _unread(gold_set)),
        *_unknown_keys(gold, gold_set.source.path, map),
        *_reviewed(gold_set),
        *(_retrieval_findings(gold_set, list(gates)) if retrieval else _sizes(gold_set, list(gates))),
    ]
    return sorted(findings, key=lambda finding: ("info", "error", "warning").index(finding.severity))


def is_for_retrieval(gold_set: GoldSet) -> bool:
    """No item says whether it is answerable or what an answer contains, and some item says what to retrieve."""
    items = gold_set.items.values()
    if any(item.answerable is not None or item.gold_claim_substr is not UNSET for item in items):
        return False
    return any(getattr(item, name) for item in items for name in RETRIEVAL_FIELDS)


def _item_findings(gold_set: GoldSet, min_substr: int, retrieval: bool) -> Iterator[Finding]:
    cites = any(item.citations for item in gold_set.items.values())
    for qid, item in gold_set.items.items():
        where = f"{gold_set.source.path}:{gold_set.lines[qid]}"
        checks: Iterable[tuple[str, str, str]] = ()
        if not retrieval:
            checks = _answerable_checks(item, min_substr, cites) if item.answerable else _unanswerable_checks(item)
        for severity, code, says in [*checks, *_common_checks(item)]:
            yield Finding(severity, code, where, qid, says)


def _answerable_checks(item: Gold, min_substr: int, cites: bool) -> Iterator[tuple[str, str, str]]:
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
    if any(map(in_token, long)):
        yield "error", "gold-token", f"a substring is part of the refusal token {TOKEN!r}. Choose another."
    if echoed := [text for text in long if text in fold(item.question)]:
        yield "warning", "gold-echo", f"the question itself contains {echoed[0]!r}: an answer that repeats it passes."
    if item.match == "any" and len(folded) > 1 and _SEVERAL.search(item.question):
        says = 'the question asks for several things, and one text is enough. Add "match": "all" to ask for each.'
        yield "warning", "gold-several", says
    if cites and not item.citations:
        yield (
            "warning",
            "gold-uncited",
            "gold_citations is empty although answerable is true. Add an id, or set answerable to false.",
        )


_SEVERAL = re.compile(
    r"\b(?:which|what|name|give|list)\b[^?.]{0,40}\b(?:two|three|four|five|six|[2-9])\b|^\W*list\b|\b(?:who|what|which)\b.*\band\b",
    re.I,
)


def _uncited(gold_set: GoldSet) -> Iterator[Finding]:
    """One remark where no question names sources, which is right for a service that does not cite."""
    answerable = [item for item in gold_set.items.values() if item.answerable]
    if answerable and not any(item.citations for item in gold_set.items.values()):
        says = (
            "no question names gold_citations, so citations can't be judged. Right where the service does not cite "
            "(cites = false); else add the ids of its sources."
        )
        yield Finding("info", "gold-uncited", gold_set.source.path, "", says)


def _yes_or_no(gold_set: GoldSet) -> Iterator[Finding]:
    """One remark about the questions that expect just yes or no, and have nothing else that tells."""
    short = [qid for qid, item in gold_set.items.items() if item.answerable and expects_yes_or_no(item)]
    if names := [qid for qid in short if not gold_set.items[qid].gold_claim]:
        says = (
            f"{plural(len(names), 'question')} expect just yes or no: {first_few(names)}. Add gold_claim, a correct "
            "answer in one sentence, where answers are worded freely."
        )
        yield Finding("info", "gold-yes-or-no", gold_set.source.path, "", says)


def _unread(gold_set: GoldSet) -> Iterator[Finding]:
    """One remark about the questions in languages that there is no pack of."""
    unread: dict[str, list[str]] = {}
    for qid, item in gold_set.items.items():
        lang = language(item.question, item.gold_claim or "", item.lang)
        if not is_read(lang):
            unread.setdefault(lang, []).append(qid)
    for lang, qids in sorted(unread.items()):
        says = (
            f"{plural(len(qids), 'question')} in a language without a pack ({lang}): {first_few(qids)}. Expected text "
            "and numbers are found, denials and natural refusals are not read. Declare refusals with --refusal-phrases."
        )
        yield Finding("warning", "gold-language", gold_set.source.path, "", says)


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
    relevant = {*ids_of(item.relevant), *item.citations}
    if both := sorted(relevant & set(item.negatives)):
        yield "error", "gold-negative", f"{both[0]!r} is relevant and a negative at once."


def _unknown_ids(gold_set: GoldSet, chunks: Mapping[str, str]) -> Iterator[Finding]:
    for qid, item in gold_set.items.items():
        where = f"{gold_set.source.path}:{gold_set.lines[qid]}"
        for name in dict.fromkeys([*item.citations, *ids_of(item.relevant), *item.negatives]):
            if name not in chunks:
                yield Finding("error", "gold-unknown-id", where, qid, f"{name!r} is not in the chunk file.")


def _reviewed(gold_set: GoldSet) -> Iterator[Finding]:
    """How many questions a person has decided about, where any says so."""
    items = gold_set.items.values()
    if reviewed := sum(bool(item.reviewed_by) for item in items):
        origins = Counter(item.provenance or "hand" for item in items if item.reviewed_by)
        told = ", ".join(f"{count} {name}" for name, count in origins.most_common())
        says = f"{reviewed_note(reviewed, len(items))} ({told})."
        yield Finding("info", "gold-reviewed", gold_set.source.path, "", says)


def _unknown_keys(gold: GoldSource, path: str, map: Iterable[str]) -> Iterator[Finding]:
    """One remark with the keys that no suite reads, most frequent first."""
    if counted := unknown_gold_keys(gold, map):
        names = sorted(counted, key=lambda name: (-counted[name], name))
        listed = first_few([f"{visible(name, 60)} ({counted[name]})" for name in names])
        says = f"no suite reads these keys: {listed}. Check their spelling; fields to slice by are fine."
        yield Finding("warning", "gold-keys", path, "", says)


def _duplicates(gold_set: GoldSet) -> Iterator[Finding]:
    """Questions that are asked twice, letter for letter or nearly; each group of them is one remark."""
    alike: dict[str, list[str]] = {}
    for qid, item in gold_set.items.items():
        if item.question.strip():
            alike.setdefault(fold(item.question), []).append(qid)
    yield from _group_findings(
        gold_set, [qids for qids in alike.values() if len(qids) > 1], "the same", "gold-duplicate"
    )
    groups = [[alike[text][0] for text in texts] for texts in _near_groups(list(alike))]
    yield from _group_findings(gold_set, groups, "nearly the same", "gold-near-duplicate")


def _near_groups(texts: list[str]) -> list[list[str]]:
    """Texts that are alike, directly or by way of others, in the order in which they were given."""
    group = {text: text for text in texts}  # each with another of its group, in the end with the first

    def first_of(text: str) -> str:
        while group[text] != text:
            group[text] = text = group[group[text]]
        return text

    places, similar = {text: place for place, text in enumerate(texts)}, _similarity()
    for one, other in combinations(texts, 2) if len(texts) <= ALL_PAIRS else pairwise(sorted(texts)):
        first, second = sorted((first_of(one), first_of(other)), key=places.__getitem__)
        if first != second and similar(one, other) >= NEAR:
            group[second] = first
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(first_of(text), []).append(text)
    return [members for members in found.values() if len(members) > 1]


def _group_findings(gold_set: GoldSet, groups: list[list[str]], alike: str, code: str) -> Iterator[Finding]:
    """The largest groups, one remark each, and one for the rest."""
    groups = sorted(groups, key=len, reverse=True)
    for qids in groups[:GROUPS]:
        first, second = qids[:2]
        others = f"; so are {first_few(qids[2:])}" if len(qids) > 2 else ""
        says = f"is {alike} question as {first}: {visible(gold_set.items[first].question, 200)!r}{others}"
        yield Finding("warning", code, f"{gold_set.source.path}:{gold_set.lines[second]}", second, says)
    if rest := groups[GROUPS:]:
        says = f"{len(rest)} more groups of {sum(map(len, rest))} questions are {alike}."
        yield Finding("warning", code, gold_set.source.path, "", says)


def _similarity() -> Callable[[str, str], float]:
    from rapidfuzz import fuzz

    return lambda first, second: fuzz.ratio(first, second, score_cutoff=NEAR)


def _sizes(gold_set: GoldSet, wanted: list[str | Gate]) -> Iterator[Finding]:
    """Gates that even a perfect run could not prove on this many items."""
    items = gold_set.items.values()
    about = {
        "unanswerable item": sum(item.answerable is False for item in items),
        "answerable item": sum(item.answerable is True for item in items),
        "cited answerable item": sum(item.answerable is True and bool(item.citations) for item in items),
    }
    if not about["unanswerable item"]:
        yield Finding(
            "warning",
            "gold-no-refusals",
            gold_set.source.path,
            "",
            "there is no unanswerable question, so refusals are not tested.",
        )
    for gate, kind, needed in proof_sizes(wanted):
        yield from _too_few(gate, needed, about[kind], kind, gold_set.source.path)


def proof_sizes(wanted: Iterable[str | Gate] = ()) -> Iterator[tuple[Gate, str, int]]:
    """Each gate, the default ones among them, with the kind and the number of items without a failure that prove it."""
    options = Options()
    known = metrics(options)
    chosen = {gate.key: gate for gate in default_gates()}
    chosen |= {gate.key: gate for gate in parse_gates(list(wanted), known, aliases(options))}
    for gate in chosen.values():
        kind = "unanswerable item" if gate.metric == "under_refusal" else "answerable item"
        if gate.metric.startswith(("chr", "recall")):
            kind = "cited answerable item"
        needed = _needed(gate, known[gate.metric])
        if needed is not None and not gate.slice:
            yield gate, kind, needed


def _retrieval_findings(gold_set: GoldSet, wanted: list[str | Gate]) -> Iterator[Finding]:
    """What a set for the retrieval suite lacks, one remark for all questions that lack it."""
    path, total = gold_set.source.path, len(gold_set.items)
    used = [name for name in RETRIEVAL_FIELDS if any(getattr(item, name) for item in gold_set.items.values())]
    says = f"checked as a retrieval gold set: items have {', '.join(used)}, and neither answerable nor expected text."
    yield Finding("info", "gold-retrieval", path, "", says)
    if total not in RETRIEVAL_SIZE:
        wanted_size = f"{RETRIEVAL_SIZE[0]} to {RETRIEVAL_SIZE[-1]}"
        says = f"{plural(total, 'question')}: a retrieval gold set should have {wanted_size}."
        yield Finding("warning", "gold-size", path, "", says)
    for code, lacks, what in _RETRIEVAL_CHECKS:
        if names := [qid for qid, item in gold_set.items.items() if lacks(item)]:
            says = f"{len(names)} of {plural(total, 'question')} {what}: {first_few(names)}."
            yield Finding("warning", code, path, "", says)
    suite = load_suite("retrieval")
    known = suite.metrics(suite.options())
    for gate in parse_gates(wanted, known, suite.aliases(suite.options())):
        yield from _unprovable(gate, known[gate.metric], total, "question", path)


def _lacks_offsets(item: Gold) -> bool:
    ranges = [None if isinstance(place, str) else place.offsets for place in item.relevant]
    return any(found is None or found[0] == found[1] for found in ranges)


_RETRIEVAL_CHECKS: tuple[tuple[str, Callable[[Gold], bool], str], ...] = (
    ("gold-no-relevant", lambda item: not item.relevant, "have no relevant block, so recall leaves them out"),
    (
        "gold-no-offsets",
        _lacks_offsets,
        "have a relevant block without offsets, so citation_accuracy and --match offsets can't check it",
    ),
    (
        "gold-few-paraphrases",
        lambda item: len(item.paraphrases) < PARAPHRASES,
        f"have fewer than {PARAPHRASES} paraphrases, so lambda_convergent says little",
    ),
    ("gold-no-negatives", lambda item: not item.negatives, "have no hard negative, so negative_rate tests nothing"),
    ("gold-no-anchor", lambda item: not item.anchor_section, "have no anchor_section, so anchor_hit can't check it"),
)


def _unprovable(gate: Gate, metric: Metric, about: int, kind: str, path: str) -> Iterator[Finding]:
    needed = _needed(gate, metric)
    if needed is not None and not gate.slice:
        yield from _too_few(gate, needed, about, kind, path)


def _too_few(gate: Gate, needed: int, about: int, kind: str, path: str) -> Iterator[Finding]:
    if 0 < about < needed:
        says = (
            f"{gate} can't be proven with {plural(about, kind)}: even a perfect run needs {needed}, "
            f"{needed - about} more."
        )
        yield Finding("warning", "gold-size", path, "", says)


def _needed(gate: Gate, metric: Metric) -> int | None:
    """How many cases without a single failure prove the gate; None where it is not a rate, or is relative."""
    if gate.bound.sign or not _is_rate(metric) or not 0 < gate.bound.number < 1:
        return None
    return stats.smallest_n(gate.bound.number, 0, gate.op)  # type: ignore[arg-type]


def _is_rate(metric: Metric) -> bool:
    """Whether a run without a failure is judged as k of n, by the exact test."""
    if isinstance(metric, Mean):  # some means are rates where each question is 0 or 1
        return metric.measure(Tally({(metric.of, 1): 1})).kind == "rate"
    return isinstance(metric, Rate)
