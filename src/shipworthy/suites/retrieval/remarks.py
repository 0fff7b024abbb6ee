"""Remarks: what the data lacks to be judged, and what a reader should know before believing the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.gates import Outcome
from ...core.suite import Findings
from ...core.tally import Tally
from ...errors import DataError
from ...text import plural, visible
from .hints import hardly_any
from .judge import Context
from .metrics import LIVE
from .survey import log_warnings, noticed_in, pair_warnings


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """What makes the data unfit to judge."""
    context: Context = findings.context
    lacking = _lacking_lists(findings) if context.ids_only else list(_lacking(findings))
    return findings.outcomes, list(lacking)


def _lacking_lists(findings: Findings) -> list[str]:
    tally: Tally = findings.tally
    if not tally["scored"]:
        others = findings.gathered.unknown_of("shadow").lines
        raise DataError(
            f"no question is left to score: of {tally['items']}, {tally['missing']} have no list and "
            f"{tally['no_relevant']} nothing relevant; {plural(others, 'list')} of other questions",
            where=findings.material.reads["shadow"].path,
            hint="Check that the two files belong together.",
            code="log-empty",
        )
    return []


def _lacking(findings: Findings) -> Iterator[str]:
    """What live lacks to be a baseline even where questions may go missing, and what the grid of runs lacks."""
    holes = findings.evidence.part(LIVE)["missing"]
    if 0 < holes <= findings.context.options.allow_missing and any(gate.bound.sign for gate in findings.gates):
        among = plural(findings.tally["items"], "question")
        yield f"{holes} of {among} have no line in live's log, so live is not a fair baseline"
    yield from seeds_lacking(findings)
    if any(gate.metric == "lambda_convergent" for gate in findings.gates):
        yield from _holes(findings.tally, len(noticed_in(findings.gathered, "shadow").seeds))


def seeds_lacking(findings: Findings) -> Iterator[str]:
    for name, seeds in _seeds(findings).items():
        if seeds < (least := findings.context.options.min_seeds):
            yield f"the log {name} has {plural(seeds, 'seed')}; --min-seeds asks for {least}"


def _seeds(findings: Findings) -> dict[str, int]:
    return {name: len(noticed_in(findings.gathered, name).seeds) for name in findings.context.logs}


def _holes(tally: Tally, seeds: int) -> Iterator[str]:
    if undecided := tally["groups_undecided"]:
        groups = plural(undecided, "group")
        yield f"{groups} of paraphrases are too small to say whether they converge"
    run = tally["groups_converged"] + tally["groups_split"] + undecided
    if holes := seeds * tally["grouped"] - run:
        yield f"{holes} of {seeds * tally['items']} groups of paraphrases were not run"


def list_remarks(findings: Findings) -> Iterator[str]:
    """What is to be said of lists of ids: those that are not there."""
    context: Context = findings.context
    if missing := findings.tally["missing"]:
        how = "counts as 0" if context.choices.missing_query == "zero" else "is left out"
        lists = plural(missing, "question")
        yield f"shadow: {lists} without a list; each {how} (--missing-query) [retrieval-missing]"


def remarks(findings: Findings) -> Iterator[str]:
    context: Context = findings.context
    shadow, superseded = noticed_in(findings.gathered, "shadow"), findings.tally["superseded_lines"]
    yield from log_warnings("run" if context.plain else "shadow", shadow, superseded, context.choices)
    yield from _about_gold(findings, context)
    few = [name for name, seeds in _seeds(findings).items() if seeds == 1]
    if few and any(gate.metric == "lambda_convergent" for gate in findings.gates):
        yield (
            f"{' and '.join(few)}: only one seed, so nothing shows whether another seed finds the same. "
            "Run at least two (--min-seeds 2 insists on it) [seeds-few]"
        )
    made_with = context.logs["shadow"].made_with
    if len(shadow.embedders) > 1:
        yield f"the log has distances of several embedders: {made_with} [delta-mixed]"
    if any(gate.severity == "warn" and gate.metric.startswith("delta_s_") for gate in findings.gates):
        yield (
            f"semantic distance (ΔS) was computed with {made_with}; the default thresholds are for a sentence model "
            "and don't block. Find your own with `retrieval calibrate` [delta-uncalibrated]"
        )
    if context.compared:
        yield from _about_live(findings, context)


def _about_gold(findings: Findings, context: Context) -> Iterator[str]:
    """Where gold and log don't fit together."""
    tally, choices = findings.tally, context.choices
    if choices.match == "ids" and hardly_any(tally):
        yield (
            "gold ids occur in fewer than a tenth of the lists. After re-chunking, use --match offsets or --match text "
            "[ids-hardly-match]"
        )
    if placeless := tally["placeless"]:
        yield (
            f"{placeless} questions have relevant blocks without what --match {choices.match} needs; they are left out "
            "[gold-placeless]"
        )
    if unknown := tally["unknown_section"]:
        first = tally.named("unknown_sections")[0].partition(" ")[2]
        yield (
            f"the section of {plural(unknown, 'retrieved block')} is unknown ({visible(first, 60)!r} is the first); "
            "they don't count as inside the anchor. Log section_id, or give --sections [section-unknown]"
        )
    for field in choices.by:
        if not any(name.startswith(f"{field}=") for name in findings.slices):
            yield f"no gold item has the field {visible(field, 60)!r} that --by names [by-unknown]"


def _about_live(findings: Findings, context: Context) -> Iterator[str]:
    live, superseded = noticed_in(findings.gathered, "live"), findings.evidence.part(LIVE)["superseded_lines"]
    yield from log_warnings("live", live, superseded, context.choices)
    yield from pair_warnings(noticed_in(findings.gathered, "shadow"), live)
    made_with = {name: log.made_with for name, log in context.logs.items()}
    if made_with["shadow"] != made_with["live"]:
        yield (
            f"semantic distance (ΔS) is not compared: shadow has {made_with['shadow']}, live {made_with['live']} "
            "[delta-embedders]"
        )
