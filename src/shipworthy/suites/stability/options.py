"""Options of the stability suite, and the bars that single questions must clear."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, NamedTuple

from ...core.gates import Gate, exact
from ...core.metrics import Better
from ...core.options import Opt
from ..answers.options import Accuracy, By, JudgingOptions, Profile


class Bar(NamedTuple):
    """A metric of one question that a gate may set a bar for."""

    description: str
    better: Better
    on: str  # which questions it is about: answerable, unanswerable


BARS = {
    "acr": Bar("runs whose answer contains the expected text", "higher", "answerable"),
    "cghc": Bar("runs that cite an expected source that was retrieved", "higher", "answerable"),
    "css": Bar("sources cited by every answered run, as a share of those cited by any", "higher", "answerable"),
    "ned50": Bar("median edit distance between two answers", "lower", "answerable"),
    "scu_cons": Bar("1 if every answer keeps the constraints, else 0", "higher", "answerable"),
    "refusal_rate": Bar("runs that refuse", "higher", "unanswerable"),
    "iaa": Bar("pairs of answers with the same wording", "higher", "answerable"),
    "jaccard": Bar("mean overlap of the citations of two answers", "higher", "answerable"),
    "css_all": Bar("citations that all runs share, refusals included", "higher", "answerable"),
}
CITING = ("cghc", "css", "css_all", "jaccard")  # bars on what runs cite
ACCURACY = ("acr", "cghc", "scu_cons", "refusal_rate")  # bars that a question misses also by being wrong every time
DEFAULT_BARS = ("acr >= 0.95", "cghc >= 0.95", "css >= 0.70", "ned50 <= 0.20", "scu_cons >= 1", "refusal_rate >= 0.98")


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
    return {bar.metric: bar for bar in map(Gate.parse, DEFAULT_BARS)}


def names_rcr(gates: Iterable[str | Gate]) -> bool:
    """Whether somebody set a bar on rcr, which is taken for one on refusal_rate."""
    return any("rcr" in str(gate).replace("mean_rcr", "") for gate in gates)
