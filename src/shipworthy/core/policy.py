"""Policy: waivers, quarantine and baselines applied to a decision, and what would make it pass."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from ..errors import UsageError
from ..reading.reports import Passing, row_name
from ..text import first_few, plural, visible
from .decision import Decision, decide
from .gates import Gate, Outcome, compare
from .metrics import EVERY, Metric
from .rows import Row, failing_rows

NEAREST = 5  # how many of the items closest to passing are named


class Waiver(msgspec.Struct, frozen=True):
    """A gate that may fail until a date, with an owner who answers for it."""

    gate: str  # a gate's key, such as precision or precision[type=table]; suite:key for one suite alone
    owner: str
    reason: str
    expires: datetime.date

    def expired(self, today: datetime.date) -> bool:
        """It is valid through its last day."""
        return today > self.expires

    def names(self, suite: str, key: str) -> bool:
        return self.gate in (key, f"{suite}:{key}")

    def __str__(self) -> str:
        return f"waived by {self.owner} until {self.expires}: {self.reason}"


class Quarantined(msgspec.Struct, frozen=True):
    """A question that need not pass until a day, because somebody answers for it."""

    qid: str
    owner: str
    reason: str
    expires: datetime.date

    def expired(self, today: datetime.date) -> bool:
        """It holds through its last day."""
        return today > self.expires


def apply_policy(
    decision: Decision,
    *,
    waivers: Sequence[Waiver] = (),
    policies: Sequence[Gate] = (),
    baseline: Mapping[str, Fraction] | None = None,
    today: datetime.date | None = None,
) -> Decision:
    """The decision with bounds taken from the baseline, severities and waivers laid on its gates, decided anew.

    Only a gate that fails is waived; an expired waiver changes nothing and is named in the reasons. What would make
    the decision pass is worked out again, because a waived gate no longer has to.
    """
    day = today or datetime.datetime.now(datetime.UTC).date()
    judged = [_against(outcome, baseline) for outcome in _with_policies(decision, policies)]
    outcomes = [_waived(outcome, decision.suite, waivers, day) for outcome in judged]
    if outcomes == decision.outcomes:
        return _with_nearest(decision)
    verdict, reasons = decide(outcomes, decision.incomplete)
    used = [f"{outcome.gate.key} fails, but is {outcome.waived}" for outcome in outcomes if outcome.waived]
    expired = [
        note for outcome in outcomes if not outcome.holds for note in _expired(outcome, decision.suite, waivers, day)
    ]
    reasons = [*decision.tolerated, *reasons, *used, *expired]
    return _with_nearest(_decided(decision, verdict, reasons, outcomes=outcomes))


def _decided(decision: Decision, verdict: str, reasons: list[str], **more: object) -> Decision:
    """The decision with another verdict, which a headline may repeat for readers of the original scripts' reports."""
    ships, headline = verdict == "SHIP", dict(decision.headline)
    if "passed" in headline:
        headline["passed"] = ships
    if "passed" in headline.get("summary", ()):
        headline["summary"] = headline["summary"] | {"passed": ships, "reasons": [] if ships else reasons}
    return msgspec.structs.replace(decision, verdict=verdict, reasons=reasons, headline=headline, **more)


def _with_nearest(decision: Decision) -> Decision:
    found = nearest_to_passing(decision)
    if found == decision.sections.get("turns", []):
        return decision
    sections = {name: part for name, part in decision.sections.items() if name != "turns"}
    return msgspec.structs.replace(decision, sections=sections | ({"turns": found} if found else {}))


def with_incomplete(decision: Decision, sentences: Sequence[str]) -> Decision:
    """The decision with more that makes the data unfit to judge, decided anew."""
    if not sentences:
        return decision
    incomplete = [*decision.incomplete, *sentences]
    verdict, reasons = decide(decision.outcomes, incomplete)
    known = decision.run.get("policy", {})
    policy = {**known, "incomparable": [*known.get("incomparable", ()), *sentences]}
    reasons = [*decision.tolerated, *reasons]
    return _decided(decision, verdict, reasons, incomplete=incomplete, run={**decision.run, "policy": policy})


def with_regressions(decision: Decision, regressions: Sequence[str]) -> Decision:
    """The decision stopped by what got worse since the baseline."""
    if not regressions:
        return decision
    own = decision.tolerated if decision.verdict == "SHIP" else decision.reasons
    policy = {**decision.run.get("policy", {}), "regressions": list(regressions)}
    return _decided(decision, "NO-SHIP", [*own, *regressions], run={**decision.run, "policy": policy})


def waiver_notes(waivers: Iterable[Waiver], decisions: Iterable[Decision], today: datetime.date) -> list[str]:
    """Every waiver in words: used, not needed, or expired."""
    outcomes = [(decision.suite, outcome) for decision in decisions for outcome in decision.outcomes]
    return [
        _note(waiver, [outcome for suite, outcome in outcomes if waiver.names(suite, outcome.gate.key)], today)
        for waiver in waivers
    ]


def check_waivers(waivers: Iterable[Waiver], decisions: Sequence[Decision]) -> None:
    """A waiver for a gate that no suite has is a mistake."""
    from difflib import get_close_matches

    keys = sorted(
        {
            name
            for decision in decisions
            for outcome in decision.outcomes
            for name in (outcome.gate.key, f"{decision.suite}:{outcome.gate.key}")
        }
    )
    for waiver in waivers:
        if waiver.gate not in keys:
            near = get_close_matches(waiver.gate, keys, 1, 0.5)
            hint = f"Did you mean {near[0]}?" if near else f"Gates: {', '.join(keys)}."
            raise UsageError(
                f"no gate is called {waiver.gate!r}", where="[[waivers]]", hint=hint, code="waiver-unknown"
            )


def nearest_to_passing(decision: Decision) -> list[dict[str, object]]:
    """For each blocking gate that fails: how many cases would make it pass, and the items closest to passing."""
    failing = [
        outcome
        for outcome in decision.outcomes
        if outcome.gate.severity == "block" and not outcome.waived and not outcome.holds and outcome.turn
    ]
    return [
        {
            "gate": str(outcome.gate),
            "turn": outcome.turn,
            "nearest": nearest(decision.items, outcome, decision.display.passes),
        }
        for outcome in failing
    ]


def nearest(items: Iterable[Row], outcome: Outcome, passes: Passing) -> list[str]:
    """Failing items that lack least: one check away before two, gold evidence ranked high before low, then by name.

    A row does not say which slices it is in, so a gate on a slice names none.
    """
    against = outcome.measure.against
    if outcome.gate.slice or not against:
        return []
    failing = (row for row in failing_rows(items, passes) if row.get("correct") is not True)
    counted = (row for row in failing if against == EVERY or {row.get("reason"), row.get("also")} & {*against})
    from heapq import nsmallest  # not for every start

    return [row_name(row) for row in nsmallest(NEAREST, counted, key=_distance)]


def _distance(row: Mapping[str, object]) -> tuple[int, int, str]:
    lacking = sum(1 for check in ("contained", "cited") if row.get(check) is False)
    rank = row.get("recall_rank")
    return lacking, rank if isinstance(rank, int) else 1 << 30, str(row.get("qid", ""))


def _with_policies(decision: Decision, policies: Iterable[Gate]) -> list[Outcome]:
    """The outcomes, each under the severity and the need for proof that its gate was given."""
    named = {gate.key: gate for gate in policies}
    known = {outcome.gate.key for outcome in decision.outcomes}
    if strange := [key for key in named if key not in known]:
        raise UsageError(
            f"{decision.suite} has no gate {strange[0]!r}",
            code="gate-policy",
            hint=f"Use one of its gates: {', '.join(sorted(known))}.",
        )
    return [_with_policy(outcome, named.get(outcome.gate.key)) for outcome in decision.outcomes]


def _with_policy(outcome: Outcome, policy: Gate | None) -> Outcome:
    if policy is None:
        return outcome
    severity = "warn" if outcome.capped and policy.severity == "block" else policy.severity
    gate = msgspec.structs.replace(outcome.gate, severity=severity, on_unproven=policy.on_unproven)
    return msgspec.structs.replace(outcome, gate=gate)


def _against(outcome: Outcome, baseline: Mapping[str, Fraction] | None) -> Outcome:
    """A gate relative to the baseline, compared with it; every other outcome as it is."""
    gate = outcome.gate
    if not gate.bound.sign or outcome.bound is not None or outcome.state == "NOT-APPLICABLE":
        return outcome  # absolute, or compared already with what the suite itself takes for its baseline
    if baseline is None or gate.key not in baseline:
        return outcome
    return compare(gate, Metric(gate.metric), outcome.measure, True, baseline[gate.key])


def _waived(outcome: Outcome, suite: str, waivers: Iterable[Waiver], day: datetime.date) -> Outcome:
    if outcome.holds or outcome.waived:
        return outcome
    for waiver in waivers:
        if waiver.names(suite, outcome.gate.key) and not waiver.expired(day):
            return msgspec.structs.replace(outcome, waived=str(waiver))
    return outcome


def _expired(outcome: Outcome, suite: str, waivers: Iterable[Waiver], day: datetime.date) -> list[str]:
    return [
        f"the waiver of {waiver.gate} by {waiver.owner} expired on {waiver.expires}: {waiver.reason}"
        for waiver in waivers
        if waiver.names(suite, outcome.gate.key) and waiver.expired(day)
    ]


def _note(waiver: Waiver, outcomes: Sequence[Outcome], today: datetime.date) -> str:
    if waiver.expired(today):
        blocks = " and blocks" if any(not outcome.holds for outcome in outcomes) else ""
        return f"waiver of {waiver.gate} expired on {waiver.expires}{blocks} ({waiver.owner}: {waiver.reason})"
    used = "is in use" if any(outcome.waived for outcome in outcomes) else "was not needed"
    return f"waiver of {waiver.gate} {used}; it expires on {waiver.expires} ({waiver.owner}: {waiver.reason})"


# --- quarantine: questions that no gate counts for a while; they are judged, shown, and named in the first line ---


def set_apart(counted: Decision, whole: Decision, quarantined: Iterable[str]) -> Decision:
    """The decision without the quarantined questions, with what they did and what the gates say of all questions."""
    apart = set(quarantined)
    rows = [row for row in whole.items if str(row.get("qid", row_name(row))) in apart]
    if not rows:
        return counted
    names = list(dict.fromkeys(str(row.get("qid", row_name(row))) for row in rows))
    failing = sum(not whole.display.passes(row) for row in rows)
    note = (
        f"{plural(len(names), 'question')} quarantined and counted by no gate: "
        f"{first_few([visible(name, 60) for name in names])}; {failing} of {len(rows)} fail; "
        f"with them the decision is {whole.verdict}"
    )
    block: dict[str, object] = {
        "questions": len(names),
        "failing": failing,
        "decision_on_all": whole.verdict,
        "items": rows,
    }
    return msgspec.structs.replace(
        counted,
        reasons=[note, *counted.reasons],
        tolerated=[note, *counted.tolerated],
        counts=counted.counts | {"quarantined": len(names)},
        named=counted.named | {"quarantined": names},
        sections=counted.sections | {"quarantine": block},
        options=counted.options | {"quarantine": sorted(names)},
    )


def quarantine_notes(
    entries: Iterable[Quarantined], decisions: Sequence[Decision], today: datetime.date
) -> tuple[list[str], list[str]]:
    """Every quarantine in words, the expired ones first; and the questions that no suite has."""
    passed: dict[str, bool] = {}
    counted: dict[str, bool] = {}
    for one in decisions:
        apart = one.sections.get("quarantine", {}).get("items", [])
        for into, rows in ((passed, apart), (counted, one.items)):
            into |= {str(row.get("qid", row_name(row))): one.display.passes(row) for row in rows}
    expired, running, unknown = [], [], []
    for entry in entries:
        who = f"({entry.owner}: {entry.reason})"
        if entry.expired(today):
            state = "" if counted.get(entry.qid, True) else " and fails"
            expired.append(f"quarantine of {entry.qid} EXPIRED on {entry.expires}: it counts again{state} {who}")
        elif entry.qid in passed:
            state = "passes" if passed[entry.qid] else "fails"
            running.append(f"quarantine of {entry.qid}, which {state} now, until {entry.expires} {who}")
        else:
            unknown.append(entry.qid)
    return expired + running, unknown
