"""Options of the stability suite, and the bars that single questions must clear."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated

from ...core.gates import Gate, exact
from ...core.metrics import Words
from ...core.options import Opt
from ..answers.options import Accuracy, By, JudgingOptions, Profile

# The metrics of one question that a gate may set a bar for.
BARS = {
    "acr": Words(
        "answer correctness rate",
        "Of the runs of one answerable question, the share whose answer contains the expected text.",
        "runs with the expected text / runs of the question",
        gate="acr >= 0.95",
    ),
    "cghc": Words(
        "citation hit consistency",
        "Of the runs of one answerable question, the share that cites an expected source.",
        "runs with a citation hit / runs of the question",
        gate="cghc >= 0.95",
    ),
    "css": Words(
        "citation-set stability",
        "Of the sources cited by any answered run of a question, the share cited by all of them.",
        "sources cited by every answered run / sources cited by any answered run",
        gate="css >= 0.70",
    ),
    "ned50": Words(
        "typical difference in wording",
        "The median edit distance between two answers to the same question: 0 is the same text, 1 is all different.",
        "median over pairs of answers of edit distance / length of the longer answer",
        gate="ned50 <= 0.20",
    ),
    "scu_cons": Words(
        "constraint consistency",
        "Whether every answer to a question repeats and respects its constraints: 1 if so, else 0.",
        "1 if all answered runs keep the constraints, else 0",
        gate="scu_cons >= 1",
    ),
    "refusal_rate": Words(
        "refusal rate",
        "Of the runs of one unanswerable question, the share that refuses.",
        "runs that refuse / runs of the question",
        gate="refusal_rate >= 0.98",
    ),
    "iaa": Words(
        "identical-answer agreement",
        "Of all pairs of answers to one question, the share with the same wording.",
        "pairs of answers with equal text / pairs of answers",
    ),
    "jaccard": Words(
        "citation overlap",
        "The average overlap of the citations of two answers to one question.",
        "mean over pairs of answers of shared sources / all their sources",
    ),
    "css_all": Words(
        "citation-set stability with refusals",
        "Citation-set stability over all runs of a question, refusals included.",
        "sources cited by every run / sources cited by any run",
    ),
}
ON_UNANSWERABLE = ("refusal_rate",)  # all others are about answerable questions
LOWER = ("ned50",)  # of all others more is better
KS = (1, 2, 3, 5)  # of pass^k
CITING = ("cghc", "css", "css_all", "jaccard")  # bars on what runs cite
ACCURACY = ("acr", "cghc", "scu_cons", "refusal_rate")  # bars that a question misses also by being wrong every time


class Options(JudgingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the stability suite."""

    gates: Annotated[
        tuple[str | Gate, ...],
        Opt(
            "Thresholds for each question, such as acr=0.95,cghc=0.95,css=0.70,ned50=0.20,rcr=0.98 (the defaults); "
            "also gates over all questions, such as mean_iaa=0.80 or pass^3=0.90.",
            shown=False,
        ),
    ] = ()
    max_fail_rate: Annotated[str, Opt("Share of questions that may miss a threshold.", "SHARE", kind="number")] = "0"
    seeds: Annotated[
        tuple[int, ...],
        Opt("Seeds that the grid must have, such as 0,1,2 or 0-4.  [default: all that occur]", "N[,N…]"),
    ] = ()
    jitters: Annotated[
        tuple[str, ...], Opt("Rewordings (jitters) that the grid must have.  [default: all that occur]", "NAME[,NAME…]")
    ] = ()
    sweep: Annotated[
        str | None,
        Opt("The sweep to judge, or `all` to mix them.  [default: the sweep of the last line]", "ID", shown=False),
    ] = None
    arm: Annotated[str | None, Opt("The arm to judge, if the file has several.", "NAME", shown=False)] = None
    accuracy: Accuracy = "gate"
    by: By = ()
    profile: Profile = "strict"

    def __post_init__(self) -> None:
        exact("max_fail_rate", self.max_fail_rate)

    @property
    def most_failing(self) -> Fraction:
        """The share of questions that may miss a bar."""
        return exact("max_fail_rate", self.max_fail_rate)


def default_bars() -> dict[str, Gate]:
    """The bars whose words name a default."""
    return {name: Gate.parse(words.gate) for name, words in BARS.items() if words.gate}


def names_rcr(gates: Iterable[str | Gate]) -> bool:
    """Whether somebody set a bar on rcr, which is taken for one on refusal_rate."""
    return any("rcr" in str(gate).replace("mean_rcr", "") for gate in gates)
