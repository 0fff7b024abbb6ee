"""The reference profile: what the original script prints; κ of one label is 0, and abstentions are scholar's."""

from __future__ import annotations

from fractions import Fraction
from operator import itemgetter

from ... import stats
from ...core.metrics import Measure
from ...core.suite import Findings, Reference
from ...core.tally import Tally
from .metrics import gate_numbers, table
from .sides import incomplete


def numbers(tally: Tally) -> tuple[dict[str, float], dict[str, Fraction]]:
    """The reference's numbers to four places, and unrounded. They are made of the same counts as ours."""
    n = tally["items"]
    exact = {
        "percent_agreement": Fraction(tally["agreed"], n),
        "kappa": stats.kappa(table(tally)) or Fraction(0),
        "abstain_rate": Fraction(tally["scholar_abstained"], n),
    }
    # The script divides in floating point and rounds that; rounding the fraction could differ in the last place.
    shown = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return {"n": n, **shown}, exact


def reference(findings: Findings) -> Reference:
    """The decision on the reference's numbers; gates on what it does not know are left out."""
    shown, exact = numbers(findings.tally)
    gates = [gate for gate in findings.gates if gate.metric in exact]
    rows = findings.evidence.rows  # in the order of the file
    arbitration = [[row["qid"], row["final"], row["why"]] for row in rows if row["scholar"] != row["auditor"]]
    return Reference(
        measures={name: Measure(name, "coefficient", value, findings.tally["items"]) for name, value in exact.items()},
        headline=shown | {"disagreements": len(arbitration), "gates": gate_numbers(gates)},
        gates=gates,
        sections={"arbitration": arbitration},
        items=sorted(rows, key=itemgetter("qid")),
        incomplete=incomplete(findings),
    )


def compat(findings: Findings) -> dict[str, object]:
    """The reference's numbers, and which of them are not ours."""
    shown, exact = numbers(findings.tally)
    differs = sorted(name for name, value in exact.items() if findings.measures[name].value != value)
    return {"agrees": not differs, "differs": differs, "reference": shown}
