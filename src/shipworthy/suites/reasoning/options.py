"""Options of the reasoning suite."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from ...core.gates import exact
from ...core.options import AllowMissing, Opt, SuiteOptions


class Options(SuiteOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the reasoning suite."""

    profile: Annotated[
        Literal["grounded", "signals"], Opt("grounded decides; signals is the original format lint.", shown=False)
    ] = "grounded"
    case_min_overall: Annotated[str | None, Opt("Replace the fixture's case minimum.", "SHARE", kind="number")] = None
    suite_min_pass_rate: Annotated[
        str | None, Opt("Replace the fixture's suite minimum.", "SHARE", kind="number", shown=False)
    ] = None
    fail_on_errors: Annotated[bool, Opt("Any case that ended in an error stops the suite.")] = False
    allow_missing: AllowMissing = 0
    max_cases: Annotated[int | None, Opt("Only the first so many cases.", least=1)] = None

    def __post_init__(self) -> None:
        self.bars()

    def bars(self) -> dict[str, Fraction]:
        """The fixture's thresholds that were overwritten, exactly as they were written."""
        names = ("case_min_overall", "suite_min_pass_rate")
        return {name: exact(name, given) for name in names if (given := getattr(self, name)) is not None}
