"""`shipworthy agreement`: do two validators, or any number of raters, say the same?"""

from __future__ import annotations

from collections.abc import Iterable

import click

from ..errors import EnvironmentFailure
from ..report.tsv import cell
from ..suites import load_suite
from ..suites.agreement.suite import COLUMNS, disagreements
from ._flags import score_suite, scoring_command, scoring_flags, text
from ._output import emit, write_beside

SUITE = load_suite("agreement")


@click.group("agreement")
def command() -> None:
    """Do two validators, or any number of raters, agree beyond chance?"""


@command.command("score")
@text(
    "--disagreements --tsv disagreements",
    "FILE",
    "Write the disagreements as TSV (qid, scholar, auditor, final, why), even if there are none.",
)
@scoring_flags(SUITE)
def score(disagreements: str | None, form: str, outputs: tuple[str, ...], **given: object) -> int:
    """Score the labels of two validators and decide.

    \b
    shipworthy agreement score --pairs eval/consistency_pairs.jsonl
    shipworthy agreement score --scholar scholar.jsonl --auditor auditor.jsonl --trace runs/trace.jsonl
    shipworthy agreement score --gold gold.jsonl --trace runs/trace.jsonl
    """
    decision = score_suite(SUITE, given)
    code = emit(decision, form, outputs)
    if disagreements and not write_beside(disagreements, _rows(decision.items)):
        return EnvironmentFailure.exit_code
    return code


command.add_command(scoring_command("raters", "raters"))


def _rows(items: Iterable[dict[str, object]]) -> bytes:
    rows: list[list[object]] = [list(COLUMNS), *([item[name] for name in COLUMNS] for item in disagreements(items))]
    return "".join("\t".join(map(cell, row)) + "\n" for row in rows).encode("utf-8", "backslashreplace")
