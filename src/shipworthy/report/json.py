"""The canonical JSON report."""

from __future__ import annotations

from ..decision import Decision, encode, report


def render(decision: Decision) -> bytes:
    return encode(report(decision)) + b"\n"
