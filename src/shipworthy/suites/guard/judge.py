"""The guard takes a report's word for each result; what is judged is the whole of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...core.join import Case
from .options import Options
from .results import Result


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options


def judge(case: Case, context: Context) -> Sequence[Result]:
    """The results under one id; a sound report has one."""
    results: list[Result] = case.records["report"]
    return results
