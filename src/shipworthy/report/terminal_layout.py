"""Layout: styles, width and wrapped lines of the terminal board."""

from __future__ import annotations

import textwrap

import msgspec

LONGEST = 2000  # characters of one remark
STYLES = {
    "SHIP": "1;32",
    "NO-SHIP": "1;31",
    "NO VERDICT": "1;33",
    "MEASURED": "1",
    "good": "32",
    "bad": "31",
    "odd": "33",
    "dim": "2",
    "bold": "1",
}


class Paint:
    """Styles, or nothing where there is no colour."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour and text else text


class Layout(msgspec.Struct, frozen=True):
    """How the board is laid out: its styles, its width, and whether passing gates and definitions are shown."""

    paint: Paint
    width: int
    verbose: bool = False


def wrapped(text: str, indent: str, width: int, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=True,
        break_on_hyphens=False,
    ) or [""]
