"""What the agreement suite counts: the table of two labels; and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import msgspec

from ... import stats
from ...core.decision import number
from ...core.evidence import Counts
from ...core.gates import Gate, parse_gates
from ...core.metrics import EVERY, Computed, Count, Measure, Metric, Rate, Words
from ...core.tally import HAS, Fact, Tally, lacks_of
from ..answers.judge import CITES, RETRIEVED, VALUES
from .judge import FLAGS, LABELS, Context, Options, Outline

SIDES = "sides"  # the part of the evidence that counts questions without one of the two labels
FINALS = ("VALID", "NOT_IN_CONTEXT", "REJECT", "REVIEW")
_RAISED = tuple(f"flags.{name}" for name in FLAGS)
_ABSTAINED = ("scholar_abstained", "auditor_abstained")
ALIASES = {"pa": "percent_agreement", "k": "kappa", "abstain": "abstain_rate", "flagged": "flagged_agreements"}
_SHORT = {"percent_agreement": "pa", "abstain_rate": "abstain", "flagged_agreements": "flagged"}
Table = list[list[int]]


def facts(outline: Outline, context: Context) -> Iterator[Counts]:
    if outline.scholar:
        named = [fact for fact in pair_facts(outline) if fact in ("flagged_agreement", "final_REVIEW")]
        yield Counts((*pair_facts(outline), *outline.held), named=[*map(str, named), *lacks_of(outline.held)])
    if outline.lacks:
        yield Counts((outline.lacks,), part=SIDES, named=(outline.lacks,))


def pair_facts(outline: Outline) -> Iterator[Fact]:
    yield "items"
    yield cell(outline.scholar, outline.auditor)
    yield "agreed" if outline.scholar == outline.auditor else "disagreed"
    yield f"final_{outline.final}"
    if outline.flagged:
        yield "flagged_agreement"
    if not outline.answered:
        yield "unanswered"
    if outline.cites is not None:
        yield "derived"
        if outline.cites:
            yield "citing"
    if outline.unread:
        yield f"unread {outline.unread}"
    for role, label in (("scholar", outline.scholar), ("auditor", outline.auditor)):
        if label == "ABSTAIN":
            yield f"{role}_abstained"


def fact_names(options: Options) -> set[str]:
    cells = {cell(scholar, auditor) for scholar in LABELS for auditor in LABELS}
    finals = {f"final_{final}" for final in FINALS}
    values = {HAS + value for value in (*VALUES, *_RAISED)}
    return (
        cells
        | finals
        | values
        | {"agreed", "disagreed", "flagged_agreement", "unanswered", "derived", "citing", "unread *", *_ABSTAINED}
    )


def cell(scholar: str, auditor: str) -> str:
    return f"{scholar}/{auditor}"


def table(tally: Tally) -> Table:
    """The confusion matrix, scholar by auditor, in the order of the labels."""
    return [[tally[cell(scholar, auditor)] for auditor in LABELS] for scholar in LABELS]


class Kappa(Computed, frozen=True, kw_only=True):
    """κ has nothing to say where one label is all there is: chance agreement is 1, and so is agreement."""

    def applies(self, tally: Tally) -> bool:
        return not any(tally[cell(label, label)] == tally["items"] for label in LABELS)


def metrics(options: Options) -> dict[str, Metric]:
    listed: list[Metric] = [
        Rate(
            "percent_agreement",
            Words(
                "percent agreement",
                "How often two raters gave the same item the same label.",
                "pairs with equal labels / pairs",
                "pairs",
                "were labelled alike",
                "percent_agreement >= 0.90",
            ),
            of="agreed",
            among="items",
            against=EVERY,
        ),
        Kappa(
            "kappa",
            Words(
                "Cohen's kappa",
                "Agreement of two raters beyond chance: 0 is chance, 1 is perfect.",
                "(observed agreement − chance agreement) / (1 − chance agreement)",
                gate="kappa >= 0.75",
            ),
            low=Fraction(-1),
            formula=_kappa,
        ),
        Computed(
            "ac1",
            Words(
                "Gwet's AC1",
                "Agreement beyond chance that stays meaningful when one label dominates.",
                "(observed agreement − Gwet's chance agreement) / (1 − Gwet's chance agreement)",
            ),
            low=Fraction(-1),
            formula=_ac1,
        ),
        Computed(
            "abstain_rate",
            Words(
                "abstention rate",
                "Of all pairs, the share on which the validator that abstains more often gave no label.",
                "max over validators of abstentions / pairs",
                "pairs",
                "were left without a label by one validator",
                "abstain_rate <= 0.02",
            ),
            "lower",
            formula=_abstained,
        ),
        Count(
            "flagged_agreements",
            Words(
                "answers accepted despite a hard flag",
                "Pairs that both validators accept although a hard flag is set: a wrong citation or a broken "
                "constraint.",
                "count of such pairs",
                gate="flagged_agreements <= 0",
            ),
            "lower",
            of=("flagged_agreement",),
        ),
        Count(
            "disagreements",
            Words("disagreements", "Pairs with different labels.", "count of such pairs"),
            "lower",
            of=("disagreed",),
        ),
        Rate(
            "review_rate",
            Words(
                "review rate",
                "The share of pairs that a person must review.",
                "pairs that end in REVIEW / pairs",
                "pairs",
                "need a person's review",
            ),
            "lower",
            of="final_REVIEW",
            among="items",
        ),
    ]
    absent = [*([] if options.cites else [CITES]), *([] if options.logs_retrieval else [RETRIEVED])]
    values = tuple(value for value in VALUES if value not in absent)
    needs = {"flagged_agreements": _RAISED}
    listed = [msgspec.structs.replace(one, needs=needs.get(one.name, values), optional=True) for one in listed]
    return {metric.name: metric for metric in listed}


def _kappa(tally: Tally) -> Measure:
    counted, n = table(tally), tally["items"]
    value, spread = stats.kappa(counted), stats.kappa_spread(counted)
    if value is None or spread is None:  # both or neither
        return Measure(
            "kappa",
            "coefficient",
            None,
            n,
            missing="every pair has the same label, so agreement beyond chance can't be measured",
        )
    return Measure("kappa", "coefficient", value, n, interval=spread.interval, bounds=spread.bounds)


def _ac1(tally: Tally) -> Measure:
    return Measure("ac1", "coefficient", stats.gwet_ac1(table(tally)), tally["items"])


def _abstained(tally: Tally) -> Measure:
    k, n = max(tally["scholar_abstained"], tally["auditor_abstained"]), tally["items"]
    # The larger of two shares is too large by luck twice as often as one: a miss is proven at half the level.
    least = stats.clopper_pearson_lower(k, n, 0.025)
    return Measure("abstain_rate", "rate", Fraction(k, n) if n else None, n, k, stats.wilson(k, n), (least, None))


# --- gates ---


def aliases(options: Options) -> Mapping[str, str]:
    return ALIASES


def gates(context: Context) -> list[Gate]:
    """Those that the words of the metrics name."""
    return [Gate.parse(one.words.gate) for one in metrics(context.options).values() if one.words.gate]


def wanted(options: Options) -> list[Gate]:
    """The short gates, then those that are named, which replace them."""
    return parse_gates([*options.short_gates, *options.gates], metrics(options), ALIASES)


def gate_numbers(chosen: Iterable[Gate]) -> dict[str, object]:
    """Bounds as numbers, under the short names of old."""
    return {_SHORT.get(gate.key, gate.key): number(gate.bound.number) for gate in chosen}
