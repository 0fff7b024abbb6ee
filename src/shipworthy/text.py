"""Text rules: how two strings are compared, written once and used by every suite."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def fold(text: str) -> str:
    """NFC, case fold, white space collapsed: the form in which claims and gold substrings are compared."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
    if "  " not in folded and folded.isprintable():  # as most texts: no white space to collapse but at the ends
        return folded.strip()
    return " ".join(folded.split())


def tidy(text: str) -> str:
    """NFC and stripped: the form in which echoed constraints are compared."""
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def canon(claim: str) -> str:
    """NFC, case fold, punctuation and symbols to spaces (not inside a number), collapsed and stripped."""
    text = unicodedata.normalize("NFC", claim).casefold()
    if text.isascii() and text.replace(" ", "").isalnum():
        return " ".join(text.split())
    return " ".join("".join(_spaced(text)).split())


def _spaced(text: str) -> list[str]:
    last = len(text) - 1
    out = []
    for position, char in enumerate(text):
        if unicodedata.category(char)[0] not in "PS":
            out.append(char)
            continue
        before = text[position - 1] if position else " "
        after = text[position + 1] if position < last else " "
        out.append(char if _inside_number(before, char, after) else " ")
    return out


def _inside_number(before: str, char: str, after: str) -> bool:
    """A separator between digits (1,000 · 3.14 · 10:30) or a sign that starts a number (-5 · +3)."""
    if not after.isdigit():
        return False
    return (before.isdigit() and char in ".,:'’·/") or (char in "+-−±" and not before.isalnum())


# How a cell begins that a spreadsheet would take for a formula; some take the full-width signs too.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def visible(text: str, limit: int | None = None) -> str:
    """The text with every control, format and surrogate character spelled out, cut to `limit` characters."""
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _harmless(char) else _spelled(char) for char in text)


def _harmless(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def _spelled(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# What a CI system reads as an order to itself: `::name::` after leading blanks and colours; `##[`, `##vso[` and
# `##teamcity[` anywhere in a line.
_OPENS_COMMAND = r"(?m)^((?:[^\S\n]|\x1b\[[0-9;]*m)*):(?=:)"
_INNER_COMMAND = r"##(?=\w*\[)"


def inert(text: str, colon: str = r"\x3a", hash_sign: str = r"\x23") -> str:
    """Lines that no CI system reads as commands to itself, whatever text they carry.

    The sign that makes the command is written in the way of the format: spelled out, or as an entity of markup.
    """
    if "::" in text:
        text = re.sub(_OPENS_COMMAND, lambda found: found[1] + colon, text)
    return re.sub(_INNER_COMMAND, lambda _: f"#{hash_sign}", text) if "##" in text else text


def one_line(text: str, limit: int | None = None) -> str:
    """Text as a single line of a terminal or a CI log: nothing in it moves a cursor, hides, or gives an order."""
    return inert(visible(text, limit))


def plural(count: int, noun: str) -> str:
    """`1 item`, `2 items`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def first_few(names: Sequence[str], few: int = 8, total: int | None = None) -> str:
    """The first few names, and how many more there are of the total."""
    others = (len(names) if total is None else total) - few
    more = f" and {others} more" if others > 0 else ""
    return ", ".join(names[:few]) + more
