"""Diagnosis: which way to look, from the pattern of gates that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from ...core.contracts import ids_of
from ...core.gates import Outcome
from ...core.metrics import decimal
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural, visible
from .judge import CITING, REFUSALS, Judging
from .metrics import CITED, LOGGED, MISSED, NOT_CITING, NOT_LOGGING, SOURCED
from .options import JudgingOptions

SAMPLED = 2_000  # or somewhat more gold items whose ids are compared with those of the traces; more would say the same

RECALL_IS_HIGH = 0.80  # a guide for the words below, not a gate
FEW_ARE_GOLD = Fraction(1, 2)  # of the cited ids; fewer are named
MANY_REFUSALS = 4  # one in so many unanswerable questions refused in other words is a large part


def diagnose(findings: Findings, k: Sequence[int], judging: Judging) -> list[str]:
    outcomes, tally = findings.outcomes, findings.tally
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    recall = findings.measures[f"recall@{max(k)}"].value
    told = not first_lines(findings).keys().isdisjoint(CITING)  # the first line says why no citation counts
    scheme = (_ids(findings, judging) or _cited_ids(findings, judging)) if failed else []
    hints = [*_unmeasured(tally, judging, told), *scheme, *_uncited(tally, judging, told)]
    if told:
        failed.discard("chr")
    bound = next((outcome.bound for outcome in outcomes if outcome.gate.key == "chr"), None)
    if "chr" in failed and bound is not None and not hints:
        hints += _unreachable(tally, max(k), bound)
    # Ids that can't match explain low recall and missed citations; nothing else is worth saying about them.
    known_recall = None if recall is None or scheme else float(recall)
    other = _other_refusals(findings, judging)
    if other and tally["under_refused"] == _refused_in_other_words(tally):
        failed.discard("under_refusal")  # no question was really answered
    if "precision" in failed and _only_leaks(findings):
        failed.discard("precision")
        hints.append(_leaks(tally))
    elif "precision" in failed and "chr" not in failed:
        enforced = getattr(findings.context.options, "scu_enforced", False)
        cause, words = _cause(tally, enforced=enforced, cited=judging.cites and not told)
        hints += words
        if cause == "constraints":
            failed -= {"scu", "scu_violations"}  # said already
    wrong = tally["answered"] - tally["under_refused"] - tally["correct"]
    said = _said_wrong(tally) if {"precision", "chr"} <= failed and not hints else []
    grounded = bool(hints) or 2 * tally[MISSED] < wrong  # most of the wrong answers state the expected text
    hints += [words for applies, words in _patterns(failed, known_recall, bool(hints), grounded) if applies]
    few = _few_are_gold(findings, explained=told or bool(scheme))
    said = said if grounded else []  # else a pattern says that answers are wrong
    return [*other, *said, *hints, *few, *_side_remarks(tally, judging, bool(other))]


def _only_leaks(findings: Findings) -> bool:
    """Whether precision would pass if the unanswerable questions had been refused."""
    tally = findings.tally
    bound = next((outcome.bound for outcome in findings.outcomes if outcome.gate.key == "precision"), None)
    answerable = tally["answered"] - tally["under_refused"]
    return bound is not None and bool(answerable) and tally["correct"] >= bound * answerable


def _cause(tally: Tally, *, enforced: bool, cited: bool) -> tuple[str, list[str]]:
    """What makes most answers to answerable questions wrong where citations are good enough, and how to say it.

    `cited`: whether citations are worth a word.
    """
    answered, leaks, missed = tally["answered"], tally["under_refused"], tally[MISSED]
    broken = tally["constraint_broken"] if enforced else 0
    miscited = max(tally["citable"] - leaks - tally["citation_hit"], 0) if cited else 0
    denied = min(tally["denied"], missed)
    # What is wrong for no other reason contradicts the gold claim, or says what is forbidden.
    opposed = denied + max(answered - leaks - tally["said_right"] - tally["right_unchecked"] - missed, 0)
    causes = {"text": missed - denied, "constraints": broken, "citations": miscited, "opposed": opposed}
    cause = max(causes, key=lambda name: causes[name])
    if not causes[cause]:
        return "", []
    if cause == "constraints":
        return cause, [_unkept(broken, tally["constraint_unechoed"], answered)]
    but = " although citations are right" if tally[SOURCED] and cited else ""
    words = {
        "text": f"Precision is low{but}: answers miss the expected text. Check the answer format, or the gold set.",
        "citations": (
            f"Precision is low because {miscited} of {answered} answers cite none of the expected sources, or one "
            "that was not retrieved. Check how the prompt asks for citations."
        ),
        "opposed": (
            f"Precision is low{but}: {opposed} of {answered} answers deny the expected text, contradict it, or "
            "say what is forbidden. Read them before you change the gold set."
        ),
    }
    return cause, [words[cause]]


def _unkept(broken: int, unechoed: int, answered: int) -> str:
    low = "Precision is low because"
    if unechoed == broken:
        return (
            f"{low} {broken} of {answered} answers do not repeat their locked constraints in constraints_echo; none "
            "contradicts one. Log constraints_echo, and repeat the constraints at each stage."
        )
    return (
        f"{low} {broken} of {answered} answers do not keep their locked constraints: {broken - unechoed} contradict "
        f"one, {unechoed} do not repeat them in constraints_echo. Lock them, and repeat them at each stage."
    )


def _said_wrong(tally: Tally) -> list[str]:
    """Wrong answers come before wrong citations, also where there are fewer of them."""
    wrong = tally["answered"] - tally["under_refused"] - tally["said_right"] - tally["right_unchecked"]
    if not wrong:
        return []
    return [
        f"{wrong} of {plural(tally['answered'], 'answer')} do not say what is expected: look at what they say first."
    ]


def _leaks(tally: Tally) -> str:
    leaks, answered = tally["under_refused"], tally["answered"]
    return (
        f"Precision is low because {leaks} of {answered} answers went to unanswerable questions; "
        f"{tally['correct']} of the other {answered - leaks} are correct."
    )


def _patterns(failed: set[str], recall: float | None, explained: bool, grounded: bool) -> list[tuple[bool, str]]:
    precision, hits = "precision" in failed, "chr" in failed
    high = recall is not None and recall >= RECALL_IS_HIGH
    low = recall is not None and not high
    return [
        (
            hits and high and not explained,
            "The expected evidence is retrieved, but other sources are cited. Check how the prompt asks for citations.",
        ),
        (
            precision and hits and not grounded,
            "Precision and citation hit rate are both low: answers are not grounded. Check the guard, retrieval "
            "(lexical and semantic together) and the reranker.",
        ),
        (low and bool(failed), "Recall is low: check the index, its manifest and the chunking."),
        ("under_refusal" in failed, "Unanswerable questions are answered: the refusal rule is too weak."),
        (
            "over_refusal" in failed and high,
            "Answerable questions are refused although their evidence is retrieved: the guard is too strict.",
        ),
        (
            "over_refusal" in failed and low,
            "Answerable questions are refused and their evidence is not retrieved: facts are split across chunks, or "
            "retrieval misses them.",
        ),
        (
            "scu_violations" in failed or "scu" in failed,
            "Constraints are dropped or contradicted: lock them, and repeat them at each stage.",
        ),
    ]


def _other_refusals(findings: Findings, judging: Judging) -> list[str]:
    """The first thing to say where the pipeline refuses, but not with the token."""
    tally = findings.tally
    refused = _refused_in_other_words(tally)
    unanswerable = tally["unanswerable"]
    if judging.declared or not refused or refused * MANY_REFUSALS < unanswerable:
        return []
    text = min(findings.evidence.seen.get(REFUSALS, ()), key=lambda text: (len(text), text), default="")
    example = f", such as {visible(text, 80)!r}" if text else ""
    return [
        f"{refused} of {unanswerable} unanswerable questions were refused in other words{example}, and count as "
        'answered. Accept natural refusals with --refusal natural (refusal = "natural" in the config), or list '
        "your wording with --refusal-phrases FILE."
    ]


def _refused_in_other_words(tally: Tally) -> int:
    return int(tally["wider unanswerable refused"] - tally["exact unanswerable refused"])


def _unreachable(tally: Tally, k: int, bound: Fraction) -> list[str]:
    """Where the answers that could cite gold evidence meet the gate, citing is not what is wrong: say what is."""
    hits, reachable = tally["citation_hit"], tally[f"citable@{k}"]
    if not reachable or hits < bound * reachable:
        return []
    leaks = tally["under_refused"]
    lost = max(tally["citable"] - leaks - reachable, 0)
    causes = []
    if lost:
        missed = f"{plural(lost, 'answer')} had no expected evidence in the first {k}"
        causes.append(f"{missed}: check retrieval, or whether the gold set names the right sources")
    if leaks:
        causes.append(f"{plural(leaks, 'answer')} went to unanswerable questions, which have nothing to cite")
    share = f"{100 * min(hits, reachable) / reachable:.0f} %"
    cited = f"{min(hits, reachable)} of {reachable} answers whose evidence was retrieved cite it"
    return [f"{cited} ({share}): citing works." + "".join(f" {cause[0].upper()}{cause[1:]}." for cause in causes)]


def first_lines(findings: Findings) -> dict[str, str]:
    """What of a service is not judged, or can't be, for the report's first lines; see `lines`."""
    tally, failing = findings.tally, {one.gate.metric for one in findings.outcomes if _stops(one)}
    checked = tally["answered"] - tally["right_unchecked"]
    said = tally["said_right"]
    right = f"; {said} of {plural(checked, 'answer')} {'says' if said == 1 else 'say'} what is expected"
    found = lines(
        findings.context.options,
        answered=tally["answered"],
        citing=tally["answered"] - tally["uncited"],
        logged=bool(tally[LOGGED]),
        judged=tally["citable"] > tally["under_refused"] and not failing.isdisjoint(("precision", "chr")),
        right=right if checked else "",
    )
    return found | unread_lines(tally)


def unread_lines(tally: Tally) -> dict[str, str]:
    """How many answers are in languages without a pack, and in which."""
    prefix = "unread "
    counts = {str(fact)[len(prefix) :]: n for fact, n in tally.counts.items() if str(fact).startswith(prefix)}
    if not counts:
        return {}
    names = ", ".join(sorted(counts, key=lambda name: (-counts[name], name)))
    answers = plural(sum(counts.values()), "answer")
    unread = f"denials and natural refusals can't be read in {answers} ({names})"
    return {"language": f"{unread}: expected text and numbers are still found. See docs/languages.md"}


def _stops(outcome: Outcome) -> bool:
    return outcome.state.startswith("FAIL") and outcome.gate.severity == "block"


def lines(
    options: JudgingOptions, *, answered: int, citing: int, logged: bool, judged: bool, right: str = ""
) -> dict[str, str]:
    """By what they are about: what was declared, or the reason that all answers share because nothing was.

    `judged`: whether citations decide against the run.
    """
    found = {}
    if not options.cites:
        but = f", although {citing} of {plural(answered, 'answer')} cite something" if citing else ""
        found["cites"] = f"citations are {NOT_CITING}{but}"
    elif judged and answered and not citing:
        found["wrong-citation"] = (
            f"no answer cites a source, so none counts as correctly cited{right}. If your service does not cite, "
            "declare it: --no-cites (cites = false in the config)"
        )
    if not options.logs_retrieval:
        found["logs_retrieval"] = f"what was retrieved is {NOT_LOGGING}"
    elif judged and citing and not logged:
        found["out-of-scope"] = (
            f"no trace says what was retrieved (retrieved_ids), so no citation can be confirmed{right}. Log it, map "
            "it (--map 'retrieved_ids=PATH'), or declare that it is not there: --no-retrieval-log (logs_retrieval = "
            "false in the config)"
        )
    return found


def _few_are_gold(findings: Findings, explained: bool) -> list[str]:
    """Answers that cite much more than what supports them: a gate on hits alone lets them pass."""
    found = findings.measures["citation_precision"]
    if explained or found.value is None or found.value >= FEW_ARE_GOLD:
        return []
    return [
        f"Of {plural(found.n, 'cited id')}, {found.k} {'is' if found.k == 1 else 'are'} expected (citation_precision "
        f"{decimal(found.value)}): answers cite sources that do not support them. To gate it: --gates "
        "citation_precision=0.5."
    ]


def _unmeasured(tally: Tally, judging: Judging, told: bool) -> list[str]:
    """What can't be measured with this gold set and these traces, and what that means for the rest."""
    remarks = []
    if not judging.cites or told:
        return []
    if tally["items"] and not tally[SOURCED]:
        remarks.append(
            "No gold question names citations: the citation hit rate (chr) is n/a, and precision counts correct "
            "answers whatever they cite. Add gold_citations to check sources."
        )
    elif tally["answered"] and not tally[LOGGED] and judging.logs_retrieval:
        remarks.append(
            "No trace says what was retrieved, so recall is n/a and no citation can be confirmed. Log retrieved_ids, "
            "or map the field that has them: --map 'retrieved_ids=PATH'. If your system can't tell, declare it: "
            "--no-retrieval-log (logs_retrieval = false in the config)."
        )
    return remarks


def _ids(findings: Findings, judging: Judging) -> list[str]:
    """Hardly any id in common, and one transformation that would explain it."""
    if judging.id_map is not None:
        return []
    from ...reading.idmap import HARDLY_ANY, meet, mismatch

    wanted, seen = {name for item in findings.gathered.golds(SAMPLED) for name in item.citations}, set[str]()
    for count, ids in enumerate(_used(findings) if wanted else (), 1):
        seen.update(ids)
        if not count & (count - 1) and len(wanted & seen) >= HARDLY_ANY * len(wanted):
            return []  # looked at now and then: once enough are shared, more traces can't change that
    if not wanted or meet(len(wanted), len(seen), len(wanted & seen)):
        return []
    explained = mismatch(wanted, seen)
    return [explained.sentence] if explained else []


def _cited_ids(findings: Findings, judging: Judging) -> list[str]:
    """The same where sources are retrieved under the ids of gold, and cited by title, address or file."""
    tally = findings.tally
    if judging.id_map is not None or "ids" in findings.evidence.seen or tally["citation_hit"] or not tally[CITED]:
        return []
    from ...reading.idmap import mismatch

    wanted = {name for item in findings.gathered.golds(SAMPLED) for name in item.citations}
    cases = findings.gathered.cases(SAMPLED)
    cited = {name for case in cases for trace in case.records["trace"] for name in ids_of(trace.answer.citations)}
    explained = mismatch(wanted, cited)
    return [explained.sentence] if explained else []


def _used(findings: Findings) -> Iterator[Iterable[str]]:
    """The ids that traces use; where another suite asks, those that it has seen."""
    if "ids" in findings.evidence.seen:
        yield findings.evidence.seen["ids"]
        return
    for case in findings.gathered.cases():
        for trace in case.records["trace"]:
            yield trace.retrieved
            yield ids_of(trace.answer.citations)


def _uncited(tally: Tally, judging: Judging, told: bool) -> list[str]:
    uncited, answered = tally["uncited"], tally["answered"]
    if told or not judging.cites or not answered or 2 * uncited < answered or not tally[SOURCED]:
        return []
    return [
        f"{uncited} of {answered} answers cite nothing: the model ignores its sources, or its citations are not logged."
    ]


def _side_remarks(tally: Tally, judging: Judging, told: bool) -> list[str]:
    """What else is worth a look; `told`: refusals in other words were mentioned before."""
    remarks = []
    if wide := tally["wider_refusal"]:
        if judging.declared:
            remarks.append(
                f"{plural(wide, 'refusal')} in the pipeline's own words, accepted by the rule {judging.rule.name!r}."
            )
        elif not told:
            remarks.append(
                f"{plural(wide, 'answer')} read like a refusal in other words, but counted as answers. If they are "
                "refusals, use the exact token or --refusal natural."
            )
    if near := tally["near"]:
        remarks.append(f"{plural(near, 'answer')} with other text around the refusal token counted as answers.")
    return remarks
