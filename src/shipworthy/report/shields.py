"""Shields: the same badge as the JSON that an endpoint badge of shields.io reads."""

from __future__ import annotations

from . import views
from .badge import COLOURS, LABEL, words
from .json import dumps


def render(shown: views.Shown) -> bytes:
    colour = COLOURS[shown.verdict].removeprefix("#")
    badge = {"schemaVersion": 1, "label": LABEL, "message": words(shown), "color": colour}
    return dumps(badge | ({"isError": True} if shown.verdict == "NO VERDICT" else {})) + b"\n"
