"""Badge: the verdict as a small SVG for a README, with nothing in it that is not ours; and as data for shields.io."""

from __future__ import annotations

from html import escape

from . import views
from .json import dumps

LABEL = "shipworthy"
COLOURS = {"SHIP": "#2ea44f", "NO-SHIP": "#cf222e", "NO VERDICT": "#9a6700", "MEASURED": "#57606a"}
_WIDE = 7.1  # pixels of a character, at the most, in the font's size
_PAD = 12


def render(shown: views.Shown) -> str:
    """A flat badge. Sizes are worked out from the texts, so that no font has to be measured."""
    message = words(shown)
    left, right = (round(len(text) * _WIDE) + _PAD for text in (LABEL, message))
    total = left + right
    title = escape(f"{LABEL}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{total}" height="20" rx="3" fill="#24292f"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="{COLOURS[shown.verdict]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text></g></svg>\n'
    )


def words(shown: views.Shown) -> str:
    """The verdict, and how many gates hold where some do not: `NO-SHIP 3/5 gates`."""
    pairs = [views.gates_held(decision) for decision in views.decisions(shown)]
    held, among = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return shown.verdict if held == among else f"{shown.verdict} {held}/{among} gates"


def shields(shown: views.Shown) -> bytes:
    """The same badge as the JSON that an endpoint badge of shields.io reads."""
    colour = COLOURS[shown.verdict].removeprefix("#")
    badge = {"schemaVersion": 1, "label": LABEL, "message": words(shown), "color": colour}
    return dumps(badge | ({"isError": True} if shown.verdict == "NO VERDICT" else {})) + b"\n"
