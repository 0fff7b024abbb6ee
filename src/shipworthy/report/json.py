"""The canonical JSON report."""

from __future__ import annotations

import re

from ..core.board import Board
from ..core.decision import Decision, encode

# A CI system that reads its log would obey `##[`, `##vso[` and `##teamcity[`; escaped, the value is the same.
_COMMAND = re.compile(rb"##(?=\w*\[)")


def render(shown: Decision | Board) -> bytes:
    return _COMMAND.sub(rb"\\u0023#", encode(shown.report())) + b"\n"
