"""Options of the agreement suite; those of the answers suite shape labels that are derived from gold and traces."""

from __future__ import annotations

from typing import Annotated

from ...core.options import Opt
from ..answers.options import JudgingOptions, Profile


class Options(JudgingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the agreement suite."""

    profile: Profile = "strict"
    pa_gate: Annotated[
        str | None,
        Opt(
            "Lowest share of equal labels allowed.  [default: 0.90]",
            "SHARE",
            flags=("--pa_gate",),
            kind="number",
            shown=False,
        ),
    ] = None
    kappa_gate: Annotated[
        str | None,
        Opt("Lowest kappa allowed.  [default: 0.75]", "NUMBER", flags=("--kappa_gate",), kind="number", shown=False),
    ] = None
    abstain_gate: Annotated[
        str | None,
        Opt(
            "Highest abstention rate allowed for either validator.  [default: 0.02]",
            "SHARE",
            flags=("--abstain_gate",),
            kind="number",
            shown=False,
        ),
    ] = None

    @property
    def short_gates(self) -> list[str]:
        """The gates that have an option of their own, as they are written under `gates`."""
        given = {"percent_agreement": self.pa_gate, "kappa": self.kappa_gate, "abstain_rate": self.abstain_gate}
        return [f"{metric}={bound}" for metric, bound in given.items() if bound is not None]
